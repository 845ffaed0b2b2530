"""Assignment 13: a look inside a language model."""

from assignments.a13_looking_inside import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a13_looking_inside.rubric import ablation, looking, patching, score
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a13_looking_inside",
    parts=(score, ablation, patching, looking),
    allowed_modules=(
        "course_utils.attention", "lecture_kit.experiments.block_variants", "lecture_kit.corpus",
        "lecture_kit.data", "course_utils.evaluation", "course_utils.fast_attention",
        "lecture_kit.experiments.known_language", "course_utils.language_models", "course_utils.layers",
        "lecture_kit.trained.learned", "course_utils.masks", "course_utils.modern", "lecture_kit.plotting",
        "course_utils.positional", "lecture_kit.experiments.repeated_tokens", "course_utils.rnn",
        "course_utils.signoff", "course_utils.transformer", "lecture_kit.trained.translators",
    ),
)  # fmt: skip
