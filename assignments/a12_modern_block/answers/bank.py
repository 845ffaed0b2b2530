"""The bank that all answers to this assignment go into."""

from autograder.bank.answers import Bank

BANK = Bank("a12_modern_block")
