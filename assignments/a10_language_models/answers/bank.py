"""The bank of answers to assignment 10."""

from autograder.bank.answers import Bank

BANK = Bank("a10_language_models")
