"""Answers to assignment 5, a file for each part: right ones, and slips as edits of them."""

from assignments.a5_multi_head_attention.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    merge_heads,
    multi_head_attention,
    split_heads,
)
from assignments.a5_multi_head_attention.answers.bank import BANK  # noqa: F401
