"""Answers to assignment 8, a file for each part."""

from assignments.a8_transformer_layer.answers import positionwise_feed_forward, transformer_layer  # noqa: F401 (each fills the bank)
from assignments.a8_transformer_layer.answers.bank import BANK  # noqa: F401
