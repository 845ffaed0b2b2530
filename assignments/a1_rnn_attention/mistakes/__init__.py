"""The right answers of assignment 1 in steps, and wrong ones by the step that they take otherwise."""

from assignments.a1_rnn_attention.mistakes import annotations, bahdanau_attention  # noqa: F401
