"""Answers to assignment 11, a file for each part."""

from assignments.a11_fast_attention.answers import (  # noqa: F401 (each fills the bank)
    cached_attention,
    grouped_query_attention,
    online_softmax_attention,
    published,
    right_at_first,
    sliding_window_mask,
    slow,
)
from assignments.a11_fast_attention.answers.bank import BANK  # noqa: F401
