"""Answers to assignment 12, a file for each part."""

from assignments.a12_modern_block.answers import (  # noqa: F401 (each fills the bank)
    apply_rotary,
    modern_block,
    published,
    right_at_first,
    rms_norm,
    slow,
    swiglu,
)
from assignments.a12_modern_block.answers.bank import BANK  # noqa: F401
