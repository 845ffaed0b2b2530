"""The bank that all answers to this assignment go into."""

from autograder.bank.answers import Bank

BANK = Bank("a7_dropout_and_layer_norm")
