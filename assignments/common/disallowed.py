"""Names of PyTorch that would be an answer itself in more than one assignment."""

TRANSFORMERS = (
    "Transformer", "TransformerEncoder", "TransformerEncoderLayer",
    "TransformerDecoder", "TransformerDecoderLayer",
)  # fmt: skip
ATTENTION = (
    "scaled_dot_product_attention", "_scaled_dot_product_attention", "flex_attention",
    "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu",
    "MultiheadAttention", "multi_head_attention_forward", "_native_multi_head_attention",
    "TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerDecoder", "Transformer",
)  # fmt: skip
