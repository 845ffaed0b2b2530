"""The right answers of assignment 11 in steps, and wrong ones by the step that they take otherwise."""

from assignments.a11_fast_attention.mistakes import (  # noqa: F401
    cached_attention,
    grouped_query_attention,
    online_softmax_attention,
    sliding_window_mask,
)
