"""Answers to assignment 3, a file for each part."""

from assignments.a3_scaled_dot_product_attention.answers import (  # noqa: F401 (each fills the bank)
    numpy_self_attention,
    published,
    right_at_first,
    scaled_dot_product_attention,
    slow,
    stable_softmax,
)
from assignments.a3_scaled_dot_product_attention.answers.bank import BANK  # noqa: F401
