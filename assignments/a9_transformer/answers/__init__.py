"""Answers to assignment 9, a file for each part."""

from assignments.a9_transformer.answers import (  # noqa: F401 (each fills the bank)
    decoder_layer,
    greedy_decode,
    published,
    right_at_first,
    slow,
    transformer,
)
from assignments.a9_transformer.answers.bank import BANK  # noqa: F401
