"""The right answers of assignment 7 in steps, and wrong ones by the step that they take otherwise."""

from assignments.a7_dropout_and_layer_norm.mistakes import (  # noqa: F401 (each names mistakes)
    attention,
    layer_norm,
    row_sums,
)
