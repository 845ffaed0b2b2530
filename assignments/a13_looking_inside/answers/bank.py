"""The bank of answers to assignment 13."""

from assignments.bank import Bank

BANK = Bank("a13_looking_inside")
