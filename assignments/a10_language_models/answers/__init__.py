"""Answers to assignment 10, a file for each part."""

from assignments.a10_language_models.answers import (  # noqa: F401 (each fills the bank)
    causal_language_model,
    learn_merges,
    mask_words,
    next_token_loss,
    published,
    right_at_first,
    sample_next,
    slow,
)
from assignments.a10_language_models.answers.bank import BANK  # noqa: F401
