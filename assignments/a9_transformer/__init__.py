"""Assignment 9: the decoder layer, the whole transformer, and greedy decoding."""

from assignments.a9_transformer import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a9_transformer.rubric import decoder_layer, encoder_decoder, greedy
from assignments.common.disallowed import TRANSFORMERS
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a9_transformer",
    parts=(decoder_layer, encoder_decoder, greedy),
    disallowed=TRANSFORMERS,
    allowed_modules=(
        "course_utils.attention", "lecture_kit.data", "course_utils.evaluation",
        "course_utils.layers", "course_utils.masks", "lecture_kit.plotting",
        "course_utils.positional", "course_utils.rnn", "course_utils.signoff",
    ),
)  # fmt: skip
