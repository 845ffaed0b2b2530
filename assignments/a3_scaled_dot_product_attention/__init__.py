"""Assignment 3: a softmax that cannot overflow, self-attention in NumPy, then in PyTorch."""

from assignments.a3_scaled_dot_product_attention import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a3_scaled_dot_product_attention.rubric import ATTENTION, in_numpy, scaled, stable
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a3_scaled_dot_product_attention",
    parts=(stable, in_numpy, scaled),
    disallowed=ATTENTION,
    allowed_modules=("course_utils.signoff",),
)
