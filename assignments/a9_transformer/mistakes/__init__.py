"""The right answers of assignment 9 in steps, and wrong ones by the step that they take otherwise."""

from assignments.a9_transformer.mistakes import decoder_layer, greedy_decode, transformer  # noqa: F401
