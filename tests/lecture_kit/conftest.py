"""Sentence pairs that several test files look at."""

import pytest

from lecture_kit import data


@pytest.fixture(scope="session")
def large_corpus():
    return data.sample_pairs(100_000, seed=0)


@pytest.fixture(scope="session")
def corpus(large_corpus):
    return large_corpus[:20_000]
