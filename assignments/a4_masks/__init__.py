"""Assignment 4: causal and padding masks, both at once, and the shift that belongs to them."""

from assignments.a4_masks import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a4_masks.rubric import causal, decoder, padding, shift
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a4_masks",
    parts=(causal, padding, decoder, shift),
    disallowed=(
        "generate_square_subsequent_mask", "_generate_square_subsequent_mask",
        "causal_upper_left", "causal_lower_right", "CausalBias",
    ),
    allowed_modules=("course_utils.signoff",),
)  # fmt: skip
