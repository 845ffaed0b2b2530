"""Answers to assignment 7, a file for each part: right ones, and slips as edits of them."""

from assignments.a7_dropout_and_layer_norm.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    layer_norm,
    row_sums_under_dropout,
    self_attention_with_dropout_and_norm,
)
from assignments.a7_dropout_and_layer_norm.answers.bank import BANK  # noqa: F401
