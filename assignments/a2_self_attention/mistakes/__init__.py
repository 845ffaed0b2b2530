"""The right answers of assignment 2 in steps, and wrong ones by the step that they take otherwise."""

from assignments.a2_self_attention.mistakes import (  # noqa: F401
    attention_weights,
    basic_self_attention,
    is_permutation_equivariant,
    self_attention,
)
