"""The bank of answers to assignment 12."""

from assignments.bank import Bank

BANK = Bank("a12_modern_block")
