"""Assignment 1: annotations of a bidirectional network, and additive attention over them."""

from assignments.a1_rnn_attention import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a1_rnn_attention.rubric import annotate, bahdanau
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a1_rnn_attention",
    parts=(annotate, bahdanau),
    allowed_modules=("course_utils.signoff",),
)
