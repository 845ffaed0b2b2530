"""Answers to assignment 2, a file for each part."""

from assignments.a2_self_attention.answers import (  # noqa: F401 (each fills the bank)
    attention_weights,
    basic_self_attention,
    is_permutation_equivariant,
    published,
    right_at_first,
    self_attention,
    slow,
)
from assignments.a2_self_attention.answers.bank import BANK  # noqa: F401
