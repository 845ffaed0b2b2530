"""The right answers of assignment 13 in steps, and wrong ones by the step that they take otherwise."""

from assignments.a13_looking_inside.mistakes import (  # noqa: F401
    ablate_heads,
    induction_score,
    logit_lens,
    patch_activation,
)
