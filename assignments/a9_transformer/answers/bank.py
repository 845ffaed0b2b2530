"""The bank that all answers to this assignment go into."""

from assignments.bank import Bank

BANK = Bank("a9_transformer")
