"""The bank of answers to assignment 13."""

from autograder.bank.answers import Bank

BANK = Bank("a13_looking_inside")
