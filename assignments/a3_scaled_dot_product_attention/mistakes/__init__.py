"""The right answers of assignment 3 in steps, and wrong ones by the step that they take otherwise."""

from assignments.a3_scaled_dot_product_attention.mistakes import (  # noqa: F401
    numpy_self_attention,
    scaled_dot_product_attention,
    stable_softmax,
)
