"""Answers to assignment 1, a file for each part: right ones, and slips as edits of them."""

from assignments.a1_rnn_attention.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    annotations,
    bahdanau_attention,
)
from assignments.a1_rnn_attention.answers.bank import BANK  # noqa: F401
