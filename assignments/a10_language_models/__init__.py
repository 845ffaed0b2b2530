"""Assignment 10: a language model of one half of the transformer, and how it learns, writes and spells."""

from assignments.a10_language_models import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a10_language_models.rubric import (
    language_model,
    loss,
    masking,
    merging,
    sampling,
)
from assignments.common.disallowed import TRANSFORMERS
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a10_language_models",
    parts=(language_model, loss, sampling, masking, merging),
    disallowed=TRANSFORMERS,
    allowed_modules=(
        "course_utils.attention", "course_utils.layers", "course_utils.masks",
        "lecture_kit.plotting", "course_utils.positional", "course_utils.signoff",
    ),
)  # fmt: skip
