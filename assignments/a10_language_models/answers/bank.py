"""The bank of answers to assignment 10."""

from assignments.bank import Bank

BANK = Bank("a10_language_models")
