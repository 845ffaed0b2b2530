"""Answers to assignment 1, a file for each part."""

from assignments.a1_rnn_attention.answers import (  # noqa: F401 (each fills the bank)
    annotations,
    bahdanau_attention,
    published,
    right_at_first,
    slow,
    wrong_bahdanau_attention,
    wrong_layers_and_sums,
)
from assignments.a1_rnn_attention.answers.bank import BANK  # noqa: F401
