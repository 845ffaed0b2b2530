"""Assignment 6: sinusoidal positions as a table, as a module, and as a picture."""

from assignments.a6_positional_encoding import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a6_positional_encoding.rubric import module, picture, table
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a6_positional_encoding",
    parts=(table, module, picture),
    allowed_modules=("course_utils.signoff",),
)
