"""Answers to `merge_heads`."""

import torch
import torch.nn.functional as F

from assignments.a5_multi_head_attention.answers.bank import BANK


@BANK.right("merge_heads")
def merge_by_contiguous_view(x):
    batch, heads, length, d_k = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(batch, length, heads * d_k)


@BANK.right("merge_heads")
def merge_by_cat(x):
    return torch.cat(list(x.unbind(dim=1)), dim=-1)


@BANK.right("merge_heads")
def merge_by_reshape(x):
    return x.transpose(2, 1).reshape(x.size(0), x.size(2), -1)


@BANK.right("merge_heads")
def merge_by_a_loop(x):
    batch, heads, length, d_k = x.shape
    result = torch.empty(batch, length, heads * d_k, dtype=x.dtype, device=x.device)
    for h in range(heads):
        result[:, :, h * d_k : (h + 1) * d_k] = x[:, h]
    return result


@BANK.right("merge_heads")
def merge_by_hstack(x):
    sentences = [torch.hstack([head for head in sentence]) for sentence in x]
    return torch.stack(sentences)


@BANK.right("merge_heads")
def merge_by_einsum(x):
    return torch.einsum("bhti->bthi", x).flatten(-2)


@BANK.wrong(
    "merge_heads", named="reshape without transpose", published="jsbaan/transformer-from-scratch#6"
)
def merge_by_one_reshape(x):
    """Heads are merged by a reshape, without a transpose."""
    return x.reshape(x.size(0), x.size(2), -1)


@BANK.wrong("merge_heads", named="view of a transposed tensor")
def merge_by_view_of_a_permutation(x):
    return x.permute(0, 2, 1, 3).view(x.size(0), x.size(2), -1)


@BANK.wrong("merge_heads", told="right numbers in other places")
def merge_when_heads_are_words(x):
    return x.reshape(x.size(0), x.size(1), -1)


@BANK.wrong("merge_heads", told="too short or too long")
def merge_one_sentence(x):
    return merge_by_cat(x)[:1]


@BANK.wrong("merge_heads")
def merge_two_heads(x):
    return torch.cat([x[:, 0], x[:, -1]], dim=-1)


@BANK.wrong("merge_heads", named="heads in reverse order")
def merge_backwards(x):
    return merge_by_cat(x.flip(1))


@BANK.wrong("merge_heads", told=("no gradient", "wrong about gradients"))
def merge_without_gradient(x):
    return torch.tensor(merge_by_cat(x).tolist(), dtype=x.dtype)


@BANK.wrong("merge_heads", told=("another dtype", "wrong in float64"))
def merge_in_float32(x):
    return merge_by_cat(x).float()


@BANK.wrong("merge_heads", told="always one shape")
def merge_as_in_the_example(x):
    return torch.tensor([[[11.0, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]])


@BANK.wrong("merge_heads", told="each row has a factor of its own")
def merge_and_normalise(x):
    return F.normalize(merge_by_cat(x), dim=-1)


@BANK.wrong("merge_heads", told="wrong with gaps in memory")
def merge_memory_as_it_lies(x):
    batch, heads, length, d_k = x.shape
    strides = (heads * length * d_k, d_k, length * d_k, 1)
    return torch.as_strided(x, (batch, length, heads, d_k), strides).flatten(2)


@BANK.wrong("merge_heads", told="wrong by a constant factor")
def merge_in_place(x):
    return merge_by_cat(x.mul_(1.0 + 1e-3))


@BANK.right("merge_heads")
def merge_by_movedim(x):
    return x.movedim(1, 2).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


@BANK.wrong("merge_heads", named="words and features swapped")
def merge_into_columns(x):
    return x.transpose(2, 3).flatten(1, 2)


@BANK.wrong("merge_heads", named="heads joined along the sentence")
def merge_heads_below_each_other(x):
    return torch.cat(list(x.unbind(1)), dim=1)
