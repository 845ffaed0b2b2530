"""lecture_kit.experiments.repeated_tokens: what can be known, and that a model learns it."""

import pytest
import torch

from lecture_kit.experiments.repeated_tokens import (
    distinct,
    known,
    new_model,
    next_logits,
    repeated,
    share_right,
    train,
)


def drawn(number=50, length=32, periods=(6, 16)):
    return repeated(number, length, periods, torch.Generator().manual_seed(3))


def test_each_row_repeats_its_block():
    ids, period = drawn()
    assert ids.shape == (50, 32) and set(period.tolist()) == set(range(6, 17))
    for row, length in zip(ids, period.tolist(), strict=True):
        assert torch.equal(row[length:], row[:-length])


def test_known_is_what_has_been_seen():
    ids, period = drawn(number=8)
    asked = known(ids, period)
    for row, length, places in zip(ids, period.tolist(), asked, strict=True):
        # place t asks for token t + 1, which has been in the row if t + 1 is in a later copy
        assert places.tolist() == [t + 1 >= length for t in range(31)]
        assert all(row[t + 1] == row[t + 1 - length] for t in range(31) if places[t])


def test_factor_one_is_the_model_itself():
    model = new_model(0)
    ids, _ = drawn(number=3)
    torch.testing.assert_close(next_logits(model, ids), model(ids))
    assert not torch.allclose(next_logits(model, ids, factor=4.0), model(ids), atol=1e-4)


def test_a_model_that_copies_is_right_everywhere_and_an_untrained_one_by_chance():
    class Copies:
        def __init__(self, period):
            self.period, self.layers = period, []

        def embed(self, ids):
            return ids

        def unembed(self, ids):
            return torch.nn.functional.one_hot(ids.roll(self.period - 1, dims=1), 64).float()

    assert share_right(Copies(9), 9) == 1
    assert share_right(new_model(0), 9) < 0.1


@pytest.mark.slow
def test_two_layers_learn_to_look_back():
    assert share_right(train(new_model(1), 800, seed=1), 12) > 0.8


def test_a_block_of_distinct_tokens_comes_again():
    ids = distinct(5, 20, 8, torch.Generator().manual_seed(0))
    assert ids.shape == (5, 20) and ids.dtype == torch.int64
    assert all(len(set(row[:8].tolist())) == 8 for row in ids)
    assert torch.equal(ids[:, 8:], ids[:, :-8])
    assert not torch.equal(ids[0], ids[1])


def test_training_tells_how_many_steps_were_made():
    seen = []
    train(new_model(0), 3, 0, after_step=seen.append)
    assert seen == [1, 2, 3]


def test_one_layer_has_as_many_weights_as_two():
    one, two = (new_model(0, layers) for layers in (1, 2))
    assert [len(model.layers) for model in (one, two)] == [1, 2]
    sizes = {sum(part.numel() for part in model.parameters()) for model in (one, two)}
    assert sizes == {86_336}
