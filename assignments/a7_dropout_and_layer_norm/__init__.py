"""Assignment 7: layer norm, attention with dropout and a norm, and the sums of rows under dropout."""

from assignments.a7_dropout_and_layer_norm import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a7_dropout_and_layer_norm.rubric import attention, norm, row_sums
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a7_dropout_and_layer_norm",
    parts=(norm, attention, row_sums),
    disallowed=(
        "scaled_dot_product_attention", "_scaled_dot_product_attention", "flex_attention",
        "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu",
        "MultiheadAttention", "multi_head_attention_forward", "_native_multi_head_attention",
        "TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder",
        "TransformerDecoder", "Transformer",
    ),
    allowed_modules=("course_utils.signoff",),
)  # fmt: skip
