"""The models of lecture 7's sweep: both orders, their streams, and their initial weights."""

import pytest
import torch

from lecture_kit.experiments.layer_orders import Reverser, accuracy_after_training


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_stream_is_normalised_in_post_ln_alone(norm_first):
    torch.manual_seed(0)
    model = Reverser(norm_first, num_layers=3)
    ids = torch.randint(0, 10, (64, 8))
    streams = model.streams(ids)
    assert len(streams) == 4
    assert model(ids).shape == (64, 8, 10)
    spread = streams[-1].std(dim=-1, correction=0)
    assert torch.allclose(spread, torch.ones(64, 8), atol=1e-3) != norm_first


def test_xavier_keeps_the_variance_where_the_default_keeps_a_third():
    torch.manual_seed(0)
    for xavier, kept in ((False, 1 / 3), (True, 1)):
        weight = (
            Reverser(norm_first=False, xavier=xavier, d_model=64).layers[0].self_attn.w_o.weight
        )
        assert abs(weight.var() * 64 - kept) < 0.05


def test_more_steps_are_taken_where_they_are_asked_for():
    few, more = (accuracy_after_training(0, True, 0.01, steps=steps) for steps in (2, 60))
    assert few < 0.2 and more > 0.5
