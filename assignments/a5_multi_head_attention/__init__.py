"""Assignment 5: cut features into heads, merge them again, and multi-head attention."""

from assignments.a5_multi_head_attention import mistakes  # noqa: F401 (its names become the parts' own)
from assignments.a5_multi_head_attention.rubric import merge, multi_head, split
from autograder.verdict.check import Assignment

ASSIGNMENT = Assignment(
    "a5_multi_head_attention",
    parts=(split, merge, multi_head),
    barred=(
        "scaled_dot_product_attention", "_scaled_dot_product_attention", "flex_attention",
        "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu",
        "MultiheadAttention", "multi_head_attention_forward", "_native_multi_head_attention",
        "TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder",
        "TransformerDecoder", "Transformer",
    ),
    allowed_modules=("course_utils.signoff",),
)  # fmt: skip
