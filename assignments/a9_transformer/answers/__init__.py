"""Answers to assignment 9, a file for each part: right ones, and slips as edits of them."""

from assignments.a9_transformer.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    decoder_layer,
    greedy_decode,
    transformer,
)
from assignments.a9_transformer.answers.bank import BANK  # noqa: F401
