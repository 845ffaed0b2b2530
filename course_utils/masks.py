"""Masks: who may attend to whom, and the shift that makes a training target out of a sentence.

A mask is bool. True in row i and column j means: query i may attend to key j. This is the
convention of `torch.nn.functional.scaled_dot_product_attention`, and the opposite of
`torch.nn.MultiheadAttention`, where True means "hide".

Shapes: B batch, T target length, S source length. The axis of length 1 in second place stands
for the heads, so that one mask serves all of them.
"""

import torch


def causal_mask(size, device=None):
    """A position sees itself and what came before it, never the future.

    mask[i, j] = (j ≤ i)

    Args:
        size: T, the number of positions.
        device: where to put the mask; None is PyTorch's default device.

    Returns:
        (T, T) bool tensor, True on and below the diagonal.

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


def padding_mask(token_ids, pad_id=0):
    """No query may attend to padding.

    mask[b, 0, 0, j] = (token_ids[b, j] ≠ pad_id)

    Only keys are masked: a pad's own row is dropped later, by the loss.

    Args:
        token_ids: (B, S) int64 tensor.
        pad_id: the id that fills up short sentences.

    Returns:
        (B, 1, 1, S) bool tensor on the same device.

    Raises:
        ValueError: token_ids does not have the two axes (B, S).
    """
    _check_ids(token_ids)
    return (token_ids != pad_id)[:, None, None, :]


def decoder_mask(token_ids, pad_id=0):
    """What a decoder may see: neither the future nor padding.

    mask[b, 0, i, j] = (j ≤ i) and (token_ids[b, j] ≠ pad_id)

    Args:
        token_ids: (B, T) int64 tensor, the decoder's input.
        pad_id: the id that fills up short sentences.

    Returns:
        (B, 1, T, T) bool tensor on the same device.

    Raises:
        ValueError: token_ids does not have the two axes (B, T).

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    not_padding = padding_mask(token_ids, pad_id)  # (B, 1, 1, T)
    not_future = causal_mask(token_ids.shape[1], token_ids.device)  # (T, T)
    return not_padding & not_future  # (B, 1, T, T)


def shift_right(target_ids, bos_id):
    """The decoder's input during training: each position holds the word before its target.

    shifted[b, 0] = bos_id,  shifted[b, t] = target_ids[b, t - 1]

    Args:
        target_ids: (B, T) int64 tensor, T ≥ 1: the words to be predicted.
        bos_id: the id that begins every sentence.

    Returns:
        (B, T) int64 tensor in new memory. The last target is left out: nothing follows it.

    Raises:
        ValueError: target_ids does not have the two axes (B, T).

    Source: Vaswani et al. (2017), section 3.1 ("offset by one position").
    """
    _check_ids(target_ids)
    begin = target_ids.new_full((target_ids.shape[0], 1), bos_id)  # (B, 1)
    return torch.cat([begin, target_ids[:, :-1]], dim=1)  # (B, T)


def _check_ids(token_ids):
    if token_ids.dim() != 2:
        raise ValueError(
            f"token ids need two axes, (batch, length), but have the shape "
            f"{tuple(token_ids.shape)}; give a single sentence as token_ids.unsqueeze(0)"
        )
