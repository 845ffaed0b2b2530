"""Assignment 8: the position-wise feed-forward network and one layer of the encoder."""

from assignments.a8_transformer_layer import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a8_transformer_layer.rubric import encoder_layer, feed_forward
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a8_transformer_layer",
    parts=(feed_forward, encoder_layer),
    disallowed=(
        "Transformer", "TransformerEncoder", "TransformerEncoderLayer",
        "TransformerDecoder", "TransformerDecoderLayer", "_transformer_encoder_layer_fwd",
        "course_utils.layers", "course_utils.transformer",
    ),
    allowed_modules=("course_utils.attention", "course_utils.signoff"),
)  # fmt: skip
