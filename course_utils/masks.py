"""Masks: who may attend to whom, and the shift that makes a training target out of a sentence.

A mask is bool. True in row i and column j means: query i may attend to key j. This is the
convention of `torch.nn.functional.scaled_dot_product_attention`, and the opposite of
`torch.nn.MultiheadAttention`, where True means "hide".

Shapes: B batch, T target length, S source length. The axis of length 1 in second place stands
for the heads, so that one mask serves all of them.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def causal_mask(
    size: int, device: torch.device | str | None = None
) -> Bool[Tensor, "{size} {size}"]:
    """A position sees itself and what came before it, never the future.

    mask[i, j] = (j ≤ i)

    A device of None is PyTorch's default device.

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


def padding_mask(token_ids: Int[Tensor, "B S"], pad_id: int = 0) -> Bool[Tensor, "B 1 1 S"]:
    """No query may attend to padding.

    mask[b, 0, 0, j] = (token_ids[b, j] ≠ pad_id)

    Only keys are masked: a pad's own row is dropped later, by the loss. `pad_id` is the id that
    fills up short sentences. The mask is on the ids' device.

    Raises:
        ValueError: token_ids does not have the two axes (B, S).
    """
    _check_ids(token_ids)
    return (token_ids != pad_id)[:, None, None, :]


def decoder_mask(token_ids: Int[Tensor, "B T"], pad_id: int = 0) -> Bool[Tensor, "B 1 T T"]:
    """What a decoder may see of its input: neither the future nor padding.

    mask[b, 0, i, j] = (j ≤ i) and (token_ids[b, j] ≠ pad_id)

    `pad_id` and the device are as for `padding_mask`.

    Raises:
        ValueError: token_ids does not have the two axes (B, T).

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    not_padding = padding_mask(token_ids, pad_id)  # (B, 1, 1, T)
    not_future = causal_mask(token_ids.shape[1], token_ids.device)  # (T, T)
    return not_padding & not_future  # (B, 1, T, T)


def shift_right(target_ids: Int[Tensor, "B T"], bos_id: int) -> Int[Tensor, "B T"]:
    """The decoder's input during training: each position holds the word before its target.

    shifted[b, 0] = bos_id,  shifted[b, t] = target_ids[b, t - 1]

    Args:
        target_ids: the words to be predicted, T ≥ 1.
        bos_id: the id that begins every sentence.

    Returns:
        Ids in new memory. The last target is left out: nothing follows it.

    Raises:
        ValueError: target_ids does not have the two axes (B, T).

    Source: Vaswani et al. (2017), section 3.1 ("offset by one position").
    """
    _check_ids(target_ids)
    begin = target_ids.new_full((target_ids.shape[0], 1), bos_id)  # (B, 1)
    return torch.cat([begin, target_ids[:, :-1]], dim=1)  # (B, T)


def _check_ids(token_ids: Tensor) -> None:
    if token_ids.dim() != 2:
        raise ValueError(
            f"token ids need two axes, (batch, length), but have the shape "
            f"{tuple(token_ids.shape)}; give a single sentence as token_ids.unsqueeze(0)"
        )
