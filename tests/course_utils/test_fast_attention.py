"""course_utils.fast_attention against the whole computation and against PyTorch."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.attention import MultiHeadAttention, scaled_dot_product_attention
from course_utils.fast_attention import (
    GroupedQueryAttention,
    cached_attention,
    online_softmax_attention,
    sliding_window_mask,
)
from course_utils.masks import causal_mask

B, H, T, S, D_K, D_V = 2, 3, 5, 7, 4, 6


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(17)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


# ----------------------------------------------------------------------------------------- cache


def test_the_cache_by_hand():
    values = torch.tensor([2.0, 4, 6, 8]).reshape(1, 1, 4, 1)
    old, new = values[:, :, :2], values[:, :, 2:]
    output, (keys, kept) = cached_attention(new, torch.zeros_like(new), new, (0 * old, old))
    assert output.flatten().tolist() == [4, 5]
    assert keys.shape == (1, 1, 4, 1) and torch.equal(kept, values)


@pytest.mark.parametrize("cuts", [[7], [1] * 7, [3, 1, 3], [1, 6]], ids=str)
def test_a_sentence_in_pieces_is_the_sentence_at_once(cuts):
    query, key, value = randn(B, H, S, D_K), randn(B, H, S, D_K), randn(B, H, S, D_V)
    whole, _ = scaled_dot_product_attention(query, key, value, causal_mask(S))
    cache, outputs = None, []
    for part in zip(*(tensor.split(cuts, dim=2) for tensor in (query, key, value)), strict=True):
        output, cache = cached_attention(*part, cache)
        outputs.append(output)
    together = torch.cat(outputs, dim=2)
    torch.testing.assert_close(together, whole)
    direction = torch.randn_like(whole)
    ours = torch.autograd.grad((together * direction).sum(), (query, key, value))
    theirs = torch.autograd.grad((whole * direction).sum(), (query, key, value))
    torch.testing.assert_close(ours, theirs)


def test_a_cache_stays_as_it_was():
    first = [randn(B, H, T, width) for width in (D_K, D_K, D_V)]
    _, cache = cached_attention(*first)
    before = [tensor.clone() for tensor in cache]
    for _ in range(2):
        cached_attention(*(randn(B, H, 2, width) for width in (D_K, D_K, D_V)), cache)
    assert all(map(torch.equal, cache, before))


# --------------------------------------------------------------------------------------- windows


def test_the_window_by_hand():
    assert sliding_window_mask(2, 4, 2).int().tolist() == [[0, 1, 1, 0], [0, 0, 1, 1]]


@pytest.mark.parametrize("window", [1, 2, 3, 6, 20])
@pytest.mark.parametrize("queries", [1, 4, 6])
def test_a_query_sees_its_own_word_and_those_before_it(queries, window):
    mask = sliding_window_mask(queries, 6, window)
    for i in range(queries):
        place = 6 - queries + i
        assert mask[i].tolist() == [place - window < j <= place for j in range(6)]


def test_windows_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="5 queries and only 4 keys"):
        sliding_window_mask(5, 4, 2)
    with pytest.raises(ValueError, match="found 0"):
        sliding_window_mask(2, 4, 0)


# ---------------------------------------------------------------------------------------- groups


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_groups_are_those_of_pytorch(groups):
    ours = GroupedQueryAttention(24, 6, groups).double()
    query, memory = randn(B, T, 24), randn(B, S, 24)
    mask = torch.rand(B, 1, T, S) < 0.7
    mask[..., 0] = True
    output, weights = ours(query, memory, memory, mask)
    heads = [
        linear(x).unflatten(-1, (-1, 4)).transpose(1, 2)
        for linear, x in [(ours.w_q, query), (ours.w_k, memory), (ours.w_v, memory)]
    ]
    theirs = F.scaled_dot_product_attention(*heads, attn_mask=mask, enable_gqa=True)
    torch.testing.assert_close(output, ours.w_o(theirs.transpose(1, 2).flatten(2)))
    assert weights.shape == (B, 6, T, S) and (weights[~mask.expand_as(weights)] == 0).all()


def test_as_many_groups_as_heads_are_multi_head_attention():
    grouped, whole = GroupedQueryAttention(24, 6, 6), MultiHeadAttention(24, 6)
    whole.load_state_dict(grouped.state_dict())
    x = torch.randn(B, T, 24)
    torch.testing.assert_close(grouped(x, x, x), whole(x, x, x))


def test_heads_that_do_not_share_evenly_are_refused():
    with pytest.raises(ValueError, match="d_model = 24 and num_heads = 5"):
        GroupedQueryAttention(24, 5, 1)
    with pytest.raises(ValueError, match="num_heads = 6 and num_kv_heads = 4"):
        GroupedQueryAttention(24, 6, 4)


# ----------------------------------------------------------------------------------------- tiles


def test_tiles_by_hand():
    key = torch.tensor([0.0, math.log(3), math.log(4)]).unsqueeze(1)
    value = torch.tensor([[8.0], [4.0], [2.0]])
    assert online_softmax_attention(torch.ones(1, 1), key, value, 1).item() == pytest.approx(3.5)


@pytest.mark.parametrize("size", [1, 30, 400], ids="times {}".format)
@pytest.mark.parametrize("block", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("leading", [(), (B,), (B, H)], ids=str)
def test_tiles_give_the_whole_result_and_its_gradients(leading, block, size):
    inputs = [randn(*leading, T, D_K), randn(*leading, S, D_K), randn(*leading, S, D_V)]
    mask = torch.rand(T, S) < 0.6
    mask[0] = False  # nothing to attend to
    mask[1, :3] = False  # the first blocks are hidden
    for shown in (None, mask, mask[:1] | True, mask[:, :1]):
        whole, _ = scaled_dot_product_attention(size * inputs[0], *inputs[1:], shown)
        tiled = online_softmax_attention(size * inputs[0], *inputs[1:], block, shown)
        torch.testing.assert_close(tiled, whole)
        direction = torch.randn_like(whole)
        ours = torch.autograd.grad((tiled * direction).sum(), inputs)
        theirs = torch.autograd.grad((whole * direction).sum(), inputs)
        torch.testing.assert_close(ours, theirs)


class LargestNew(TorchDispatchMode):
    """Sees how many numbers the largest tensor holds that an operation makes."""

    largest = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        known = {one.untyped_storage().data_ptr() for one in args if isinstance(one, torch.Tensor)}
        for tensor in result if isinstance(result, tuple) else (result,):
            if not isinstance(tensor, torch.Tensor):  # a number that Python reads
                continue
            if tensor.untyped_storage().data_ptr() not in known:
                self.largest = max(self.largest, tensor.untyped_storage().nbytes() // 4)
        return result


@pytest.mark.parametrize("mask", [None, torch.ones(5, 600) > 0, torch.ones(1, 600) > 0])
def test_tiles_hold_no_scores_of_all_keys(mask):
    query, key, value = (torch.randn(2, 3, *shape) for shape in [(5, 4), (600, 4), (600, 6)])
    with torch.no_grad(), LargestNew() as tiles:
        online_softmax_attention(query, key, value, 16, mask)
    with torch.no_grad(), LargestNew() as whole:
        scaled_dot_product_attention(query, key, value, mask)
    assert tiles.largest < 2 * 3 * 600 <= whole.largest
