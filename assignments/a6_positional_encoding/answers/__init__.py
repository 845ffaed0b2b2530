"""Answers to assignment 6, a file for each part."""

from assignments.a6_positional_encoding.answers import (  # noqa: F401 (each fills the bank)
    positional_encoding,
    positional_encoding_module,
    published,
    slow,
    visualize_positional_encodings,
)
from assignments.a6_positional_encoding.answers.bank import BANK  # noqa: F401
