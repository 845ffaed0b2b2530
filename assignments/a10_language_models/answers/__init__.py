"""Answers to assignment 10, a file for each part: right ones, and slips as edits of them."""

from assignments.a10_language_models.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    causal_language_model,
    learn_merges,
    mask_words,
    next_token_loss,
    sample_next,
)
from assignments.a10_language_models.answers.bank import BANK  # noqa: F401
