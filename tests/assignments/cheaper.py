"""Answers whose price differs from that of the mistakes in them, each with the reason."""

# by part, pairs of mistakes that cost less at once than the sum of both or than the dearer one
TWO_AT_ONCE: dict[str, dict[tuple[str, str], str]] = {
    "PositionwiseFeedForward": {
        (
            "trailing ReLU",
            "ReLU6",
        ): "both are about the same step, and are charged there; alone, only large inputs show ReLU6",
    },
}

# by part, answers of the bank that are called by one name and cost more than it does
DEARER: dict[str, dict[str, str]] = {
    "BahdanauAttention": {
        "SoftmaxInsideAndReluOutside": "a ReLU stands in the place of the softmax as well",
        "EvenWidthsOnly": "only at width 1 is it this mistake; at other odd widths a feature is lost",
    },
    "basic_self_attention": {
        "context_of_equal_weights": "1/T is rounded to float32 before it becomes float64",
    },
    "stable_softmax": {
        "softmax_to_base_two_and_one_maximum": "one maximum is subtracted from all rows as well",
    },
    "numpy_self_attention": {
        "sentence_that_scales_its_input": "its sentence is another after the call",
    },
    "scaled_dot_product_attention": {
        "attention_of_exponentials": "large scores overflow, also hidden ones",
    },
    "PositionalEncoding": {
        "WithTheEndOfTheTable": "in train mode, its dropout does not fall where that of the mistake does",
    },
    "LayerNorm": {
        "ScalesTokens": "where there are as many tokens as features, scale and shift are the tokens' as well",
    },
    "SelfAttentionWithDropoutAndNorm": {
        "MinusInfinityForDropped": "it draws numbers of its own, so no single draw is seen to be the mistake's",
    },
    "row_sums_under_dropout": {
        "sums_repaired": "its draws are its own, so no means are seen to be those of the mistake",
    },
    "sample_next": {
        "zeros_for_removed": "its draws are its own, so where one word alone may come, none is seen to be the mistake's",
    },
    "shift_right": {
        "shift_that_reads_a_copy_and_writes_the_targets": "it writes into the targets that it was given as well",
    },
    "greedy_decode": {
        "decoded_with_ends_that_cancel_out": "where ends come at once, it may also stop before max_len",
    },
    "patch_activation": {
        "patched_in_the_text_itself": "it writes into the corrupted text that it was given as well",
    },
}
