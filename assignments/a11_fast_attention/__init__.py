"""Assignment 11: attention that saves work and memory."""

from assignments.a11_fast_attention import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a11_fast_attention.rubric import cached, group_attention, online, sliding
from assignments.common.disallowed import ATTENTION
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a11_fast_attention",
    parts=(cached, sliding, group_attention, online),
    disallowed=ATTENTION,
    allowed_modules=("course_utils.attention", "course_utils.masks", "course_utils.signoff"),
)
