"""Answers to assignment 9, a file for each part."""

from assignments.a9_transformer.answers import decoder_layer, greedy_decode, transformer  # noqa: F401 (each fills the bank)
from assignments.a9_transformer.answers.bank import BANK  # noqa: F401
