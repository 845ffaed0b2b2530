"""Answers to assignment 4, a file for each part: right ones, and slips as edits of them."""

from assignments.a4_masks.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    causal_mask,
    decoder_mask,
    padding_mask,
    shift_right,
)
from assignments.a4_masks.answers.bank import BANK  # noqa: F401
