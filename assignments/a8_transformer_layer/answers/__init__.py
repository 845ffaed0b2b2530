"""Answers to assignment 8, a file for each part: right ones, and slips as edits of them."""

from assignments.a8_transformer_layer.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    positionwise_feed_forward,
    transformer_layer,
)
from assignments.a8_transformer_layer.answers.bank import BANK  # noqa: F401
