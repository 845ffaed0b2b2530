"""Assignment 12: the parts of the block of today, and the block."""

from assignments.a12_modern_block import answers  # noqa: F401 (its slips become the parts' own)
from assignments.a12_modern_block.rubric import block, gated, rms, rotary
from assignments.common.disallowed import TRANSFORMERS
from autograder.checks.check import Assignment

ASSIGNMENT = Assignment(
    "a12_modern_block",
    parts=(rms, rotary, gated, block),
    disallowed=(
        "RMSNorm", "rms_norm", "_fused_rms_norm", "LayerNorm", "layer_norm", "native_layer_norm",
        *TRANSFORMERS, "MultiheadAttention", "multi_head_attention_forward",
        "_native_multi_head_attention",
    ),
    allowed_modules=("course_utils.attention", "course_utils.masks", "course_utils.signoff"),
)  # fmt: skip
