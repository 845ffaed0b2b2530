"""The bank that all answers to this assignment go into."""

from assignments.bank import Bank

BANK = Bank("a7_dropout_and_layer_norm")
