"""Answers to assignment 4, a file for each part."""

from assignments.a4_masks.answers import causal_mask, decoder_mask, padding_mask, shift_right  # noqa: F401 (each fills the bank)
from assignments.a4_masks.answers.bank import BANK  # noqa: F401
