"""Answers to `split_heads`."""

import torch

from assignments.a5_multi_head_attention.answers.bank import BANK


@BANK.right("split_heads")
def split_by_view_and_permute(x, num_heads):
    # cutting the last axis needs no copy, whatever the strides
    batch, length, d_model = x.shape
    return x.view(batch, length, num_heads, d_model // num_heads).permute(0, 2, 1, 3)


@BANK.right("split_heads")
def split_by_chunks(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


@BANK.right("split_heads")
def split_by_a_loop(x, num_heads):
    d_k = x.shape[-1] // num_heads
    heads = [x[:, :, h * d_k : (h + 1) * d_k] for h in range(num_heads)]
    return torch.cat([head.unsqueeze(1) for head in heads], dim=1)


@BANK.right("split_heads")
def split_number_by_number(x, num_heads):
    batch, length, d_model = x.shape
    d_k = d_model // num_heads
    result = x.new_zeros(batch, num_heads, length, d_k)
    for h in range(num_heads):
        for i in range(d_k):
            result[:, h, :, i] = x[:, :, h * d_k + i]
    return result


@BANK.right("split_heads")
def split_by_einsum(x, num_heads):
    return torch.einsum("bthd->bhtd", x.reshape(*x.shape[:2], num_heads, -1)).contiguous()


@BANK.right("split_heads")
def split_after_transposing(x, num_heads, d_k=None):
    d_k = d_k or x.shape[-1] // num_heads
    return x.transpose(1, 2).reshape(len(x), num_heads, d_k, x.shape[1]).transpose(2, 3)


@BANK.right("split_heads")
def split_by_unfold(x, num_heads):
    d_k = x.shape[-1] // num_heads
    return x.unfold(-1, d_k, d_k).movedim(2, 1)


@BANK.right("split_heads")
def split_by_a_matrix(x, num_heads):
    # column i of the identity, cut into heads, takes feature i to its place
    places = torch.eye(x.shape[-1], dtype=x.dtype).unflatten(-1, (num_heads, -1))
    return torch.einsum("btd,dhk->bhtk", x, places)


@BANK.wrong("split_heads", named="reshape without transpose", published="reczoo/FuxiCTR#30")
def split_by_view_of_a_copy(x, num_heads):
    """Heads are cut by a view, without a transpose."""
    return x.contiguous().view(x.shape[0], num_heads, x.shape[1], -1)


@BANK.wrong("split_heads", named="heads hold every H-th feature")
def split_by_strides(x, num_heads):
    return torch.stack([x[..., h::num_heads] for h in range(num_heads)], dim=1)


@BANK.wrong("split_heads", told=("too short or too long", "wrong with several sentences"))
def split_only_one_sentence(x, num_heads):
    return split_by_chunks(x[:1], num_heads)


@BANK.wrong("split_heads", told="right numbers in other places")
def split_only_into_two(x, num_heads):
    return split_by_chunks(x, 2)


@BANK.wrong("split_heads", told=("stops with RuntimeError", "wrong with gaps in memory"))
def split_only_when_contiguous(x, num_heads):
    return x.view(-1).view(*x.shape[:2], num_heads, -1).transpose(1, 2)


@BANK.wrong("split_heads", told=("no gradient", "wrong about gradients"))
def split_detached(x, num_heads):
    return split_by_chunks(x, num_heads).detach()


@BANK.wrong("split_heads", told=("another dtype", "wrong in float64"))
def split_in_float32(x, num_heads):
    heads = torch.zeros(len(x), num_heads, x.shape[1], x.shape[2] // num_heads)
    for h, head in enumerate(x.chunk(num_heads, dim=-1)):
        heads[:, h] = head
    return heads


@BANK.wrong("split_heads", named="heads in reverse order")
def split_backwards(x, num_heads):
    return split_by_chunks(x, num_heads).flip(1)


@BANK.wrong("split_heads", told=("right numbers in other places", "stops with RuntimeError"))
def split_the_words(x, num_heads):
    return torch.stack([part for part in x.tensor_split(num_heads, dim=1)], dim=1)


@BANK.wrong("split_heads", named="every head gets all features")
def split_into_copies(x, num_heads):
    return x.unsqueeze(1).repeat(1, num_heads, 1, 1)


@BANK.wrong("split_heads", told="always one shape")
def split_as_in_the_example(x, num_heads):
    first = [[11.0, 12], [21, 22], [31, 32]]
    return torch.tensor([[first, [[13, 14], [23, 24], [33, 34]]]])


@BANK.wrong("split_heads", told="stops with RuntimeError")
def split_and_scaled_in_place(x, num_heads):
    x *= 1.5
    return split_by_chunks(x / 1.5, num_heads)


@BANK.wrong("split_heads", named="heads one by one")
def split_into_a_list(x, num_heads):
    return list(x.chunk(num_heads, dim=-1))


@BANK.wrong("split_heads", named="an axis of length 1 dropped")
def split_only_for_several_heads(x, num_heads):
    if num_heads == 1:
        return x.clone()
    return split_by_chunks(x, num_heads)


@BANK.wrong("split_heads", told="inputs changed")
def split_with_the_axes_turned_in_place(x, num_heads):
    with torch.no_grad():
        x.unsqueeze_(2)
    return x.unflatten(-1, (num_heads, -1)).squeeze(2).transpose(1, 2)


@BANK.right("split_heads")
def split_by_split(x, num_heads):
    return torch.stack(torch.split(x, x.size(-1) // num_heads, dim=-1)).transpose(0, 1)


@BANK.right("split_heads")
def split_by_swapaxes(x, num_heads):
    batch, length, width = x.size()
    return torch.reshape(x, (batch, length, num_heads, width // num_heads)).swapaxes(1, 2)


@BANK.wrong("split_heads", named="heads side by side along the words")
def split_into_more_words(x, num_heads):
    return torch.cat(x.chunk(num_heads, dim=-1), dim=1)


@BANK.wrong("split_heads", named="heads in front of the batch")
def split_by_stacking_in_front(x, num_heads):
    return torch.stack(x.split(x.size(-1) // num_heads, dim=-1), dim=0)


@BANK.wrong("split_heads", named="reshape without transpose")
def split_by_a_view_alone(x, num_heads):
    batch, words, width = x.size()
    return x.view(batch, num_heads, words, width // num_heads)
