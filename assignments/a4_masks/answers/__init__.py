"""Answers to assignment 4, a file for each part."""

from assignments.a4_masks.answers import (  # noqa: F401 (each fills the bank)
    causal_mask,
    decoder_mask,
    padding_mask,
    published,
    right_at_first,
    shift_right,
    slow,
)
from assignments.a4_masks.answers.bank import BANK  # noqa: F401
