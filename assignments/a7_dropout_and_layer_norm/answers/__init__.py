"""Answers to assignment 7, a file for each part."""

from assignments.a7_dropout_and_layer_norm.answers import (  # noqa: F401 (each fills the bank)
    layer_norm,
    published,
    right_at_first,
    row_sums_under_dropout,
    self_attention_with_dropout_and_norm,
    slow,
)
from assignments.a7_dropout_and_layer_norm.answers.bank import BANK  # noqa: F401
