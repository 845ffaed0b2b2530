"""Assignment 13: a look inside a language model."""

from assignments.a13_looking_inside import mistakes  # noqa: F401 (its names become the parts' own)
from assignments.a13_looking_inside.rubric import ablation, looking, patching, score
from autograder.verdict.check import Assignment

ASSIGNMENT = Assignment(
    "a13_looking_inside",
    parts=(score, ablation, patching, looking),
    allowed_modules=(
        "course_utils.attention", "course_utils.block_variants", "course_utils.corpus",
        "course_utils.data", "course_utils.evaluation", "course_utils.fast_attention",
        "course_utils.known_language", "course_utils.language_models", "course_utils.layers",
        "course_utils.learned", "course_utils.masks", "course_utils.modern", "course_utils.plotting",
        "course_utils.positional", "course_utils.repeated_tokens", "course_utils.rnn",
        "course_utils.signoff", "course_utils.transformer", "course_utils.translators",
    ),
)  # fmt: skip
