"""The bank that all answers to this assignment go into."""

from autograder.bank.answers import Bank

BANK = Bank("a10_language_models")
