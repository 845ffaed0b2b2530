"""Answers to assignment 11, a file for each part: right ones, and slips as edits of them."""

from assignments.a11_fast_attention.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    cached_attention,
    grouped_query_attention,
    online_softmax_attention,
    sliding_window_mask,
)
from assignments.a11_fast_attention.answers.bank import BANK  # noqa: F401
