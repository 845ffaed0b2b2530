"""The right answers of assignment 12 in steps, and wrong ones by the step that they take otherwise."""

from assignments.a12_modern_block.mistakes import (  # noqa: F401
    apply_rotary,
    modern_block,
    rms_norm,
    swiglu,
)
