"""The known language: its entropy, its beginnings, and models that are asked about all of them."""

import pytest
import torch

from course_utils.language_models import CausalLanguageModel
from lecture_kit import data
from lecture_kit.experiments import known_language as known


@pytest.fixture(scope="module")
def language():
    return known.known_language()


def test_it_is_a_distribution_with_a_known_entropy(language):
    assert len(language.sentences) == len(language.ids) == 70_678
    assert language.probability.sum().item() == pytest.approx(1)
    assert language.floor == pytest.approx(1.0208, abs=1e-4)


def test_two_tokens_share_a_number_if_and_only_if_what_precedes_them_is_equal(language):
    number_of = {}
    for row, numbers in zip(
        language.ids[::10].tolist(), known.beginnings()[::10].tolist(), strict=True
    ):
        for t in range(1, row.index(data.EOS_ID) + 1):
            assert number_of.setdefault(tuple(row[:t]), numbers[t - 1]) == numbers[t - 1]
    assert len(set(number_of.values())) == len(number_of)
    assert known.beginnings().max() == 156_798


def test_logits_of_beginnings_are_those_of_the_sentences(language):
    torch.manual_seed(0)
    size, longest = len(language.vocabulary), language.ids.shape[1]
    model = CausalLanguageModel(size + 1, 4, 1, 1, 4, dropout=0.0, max_len=longest)  # one id more
    logits = known.logits_of_beginnings(model)
    assert logits.shape == (156_799, size)
    some, targets = language.ids[::7000], language.ids[::7000, 1:]
    there = targets != data.PAD_ID
    expected = model(some)[:, :-1][there][:, :size]
    assert torch.allclose(logits[known.beginnings()[::7000][there]], expected, atol=1e-5)
