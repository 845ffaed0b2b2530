"""Assignment 2: self-attention without parameters, and what makes it a function of sets."""

from assignments.a2_self_attention import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a2_self_attention.rubric import batch, context, equivariant, weights
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a2_self_attention",
    parts=(weights, context, batch, equivariant),
    disallowed=("scaled_dot_product_attention", "MultiheadAttention", "multi_head_attention_forward",
            "_scaled_dot_product_attention"),
    allowed_modules=("course_utils.signoff",),
)  # fmt: skip
