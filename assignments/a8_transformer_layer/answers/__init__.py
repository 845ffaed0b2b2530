"""Answers to assignment 8, a file for each part."""

from assignments.a8_transformer_layer.answers import (  # noqa: F401 (each fills the bank)
    positionwise_feed_forward,
    published,
    right_at_first,
    slow,
    transformer_layer,
)
from assignments.a8_transformer_layer.answers.bank import BANK  # noqa: F401
