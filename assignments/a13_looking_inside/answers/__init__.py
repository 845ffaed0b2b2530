"""Answers to assignment 13, a file for each part."""

from assignments.a13_looking_inside.answers import (  # noqa: F401 (each fills the bank)
    ablate_heads,
    induction_score,
    logit_lens,
    patch_activation,
    published,
    slow,
    wrong_ablate_heads,
    wrong_patch_activation,
)
from assignments.a13_looking_inside.answers.bank import BANK  # noqa: F401
