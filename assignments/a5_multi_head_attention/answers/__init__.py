"""Answers to assignment 5, a file for each part."""

from assignments.a5_multi_head_attention.answers import (  # noqa: F401 (each fills the bank)
    merge_heads,
    multi_head_attention,
    published,
    right_at_first,
    slow,
    split_heads,
)
from assignments.a5_multi_head_attention.answers.bank import BANK  # noqa: F401
