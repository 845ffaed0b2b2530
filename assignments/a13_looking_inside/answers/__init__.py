"""Answers to assignment 13, a file for each part: right ones, and slips as edits of them."""

from assignments.a13_looking_inside.answers import (  # noqa: F401 (each fills the bank, and names mistakes)
    ablate_heads,
    induction_score,
    logit_lens,
    patch_activation,
)
from assignments.a13_looking_inside.answers.bank import BANK  # noqa: F401
