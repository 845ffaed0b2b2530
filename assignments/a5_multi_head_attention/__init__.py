"""Assignment 5: cut features into heads, merge them again, and multi-head attention."""

from assignments.a5_multi_head_attention import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a5_multi_head_attention.rubric import merge, multi_head, split
from assignments.common.disallowed import ATTENTION
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a5_multi_head_attention",
    parts=(split, merge, multi_head),
    disallowed=ATTENTION,
    allowed_modules=("course_utils.signoff",),
)
