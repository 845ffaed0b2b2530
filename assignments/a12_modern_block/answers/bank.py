"""The bank of answers to assignment 12."""

from autograder.bank.answers import Bank

BANK = Bank("a12_modern_block")
