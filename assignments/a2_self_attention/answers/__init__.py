"""Answers to assignment 2, a file for each part: right ones, and slips as edits of them."""

from assignments.a2_self_attention.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    attention_weights,
    basic_self_attention,
    is_permutation_equivariant,
    self_attention,
)
from assignments.a2_self_attention.answers.bank import BANK  # noqa: F401
