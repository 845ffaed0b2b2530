"""Answers to assignment 6, a file for each part: right ones, and slips as edits of them."""

from assignments.a6_positional_encoding.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    positional_encoding,
    positional_encoding_module,
    visualize_positional_encodings,
)
from assignments.a6_positional_encoding.answers.bank import BANK  # noqa: F401
