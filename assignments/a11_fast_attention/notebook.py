# ---
# jupyter:
#   course:
#     lecture: 10_fast_attention
#     minutes: 115
#     summary: a cache, a sliding window, shared key heads, and a softmax in one pass
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Assignment 11: fast attention
#
# [Lecture 10](../../lectures/10_fast_attention.ipynb) shows four ways to get the same attention, or nearly the same,
# with less work or less memory. Here you write them.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `cached_attention` | 3 | 30 min | ●●○ medium |
# | 2 | `sliding_window_mask` | 2 | 15 min | ●○○ easy |
# | 3 | `GroupedQueryAttention` | 4 | 30 min | ●●○ medium |
# | 4 | `online_softmax_attention` | 3 | 40 min | ●●● hard |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the test cell below it. A test that passes
#   prints only a tick, and one that fails says what it expected and what it found.
# - The tests that you see earn no points, because they only catch the usual slips on small inputs. Your points
#   are decided later on other inputs, such as other sizes, masks, `float64`, large scores and gradients.
# - Any code that does what the text says is right.
# - You may import `course_utils.attention` and `course_utils.masks`, where `split_heads`, `merge_heads` and
#   `masked_softmax` are as you know them. Import by module, `from course_utils.attention import …`.
# - Anything that would be the answer itself is barred. Here that is PyTorch's own attention in every form, such as
#   `F.scaled_dot_product_attention`, `nn.MultiheadAttention` and `nn.Transformer`, what bears one of these names in the
#   course, and the course's other modules. Softmax, `repeat_interleave`, `tril`, `einsum` and the like are welcome.
# - Inputs are never changed, and a cache is an input, too. Results have the dtype of the inputs (`float32` or
#   `float64`), and gradients flow to every floating input and weight.
# - Masks are `bool`, and True means *may attend*.
#
# In the tables, $B$ is the batch, $H$ the number of query heads, $T$ the number of words that ask, $P$ the number of
# words in the cache and $S$ the number of keys.

# %%
import torch
from torch import nn

# %% [markdown]
# ## 1. A cache of keys and values
#
# A model that writes needs the keys and values of all words before, and they do not change. So it keeps them, and
# computes with the new words alone.
#
# **Write** `cached_attention(query, key, value, cache=None)` for tensors that are cut into heads already:
#
# | tensor | shape | |
# |---|---|---|
# | `query`, `key` | `(B, H, T, d_k)` | of the $T$ new words |
# | `value` | `(B, H, T, d_v)` | of the new words |
# | `cache` | None, or a pair `(B, H, P, d_k)`, `(B, H, P, d_v)` | keys and values of the words before |
# | first result | `(B, H, T, d_v)` | the output, for the new words |
# | second result | a pair `(B, H, P + T, d_k)`, `(B, H, P + T, d_v)` | keys and values of all words |
#
# - New word $i$ stands at place $P + i$. It attends to all cached words and to the new words 0 to $i$.
# - Scores are divided by $\sqrt{d_k}$. The keys of the cache are kept as they came, and are not divided.
# - Handing the second result to the next call gives what one call with all words would give, wherever the text is cut.
#   $P$ may be 0.
# - The cache that was given stays as it was, so that one beginning can be continued in two ways.
#
# **By hand.** Let all keys be 0, so that all visible words get the same weight. The cached values are 2 and 4, the new
# ones 6 and 8. The first new word sees 2, 4 and 6 and gets 4, and the second one sees all and gets 5.
#
# <details><summary>Hint</summary>
#
# `torch.cat` makes new tensors. For the mask, draw three cached and two new words on paper, and ask where the diagonal
# of `tril` has to begin.
#
# </details>


# %% solution="cached_attention"
def cached_attention(query, key, value, cache=None):
    """Causal attention of new words, after those in the cache."""
    ### BEGIN SOLUTION
    if cache is not None:
        key = torch.cat([cache[0], key], dim=-2)  # (B, H, P + T, d_k)
        value = torch.cat([cache[1], value], dim=-2)  # (B, H, P + T, d_v)
    T, S = query.shape[-2], key.shape[-2]
    shown = torch.ones(T, S, dtype=torch.bool, device=query.device).tril(S - T)
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (B, H, T, S)
    weights = scores.masked_fill(~shown, -torch.inf).softmax(dim=-1)
    return weights @ value, (key, value)
    ### END SOLUTION


# %% test="cached_attention"
def test_cached_attention_by_hand():
    zeros = torch.zeros(1, 1, 2, 3)
    old = torch.zeros(1, 1, 2, 3), torch.tensor([2.0, 4.0]).reshape(1, 1, 2, 1)
    new = torch.tensor([6.0, 8.0]).reshape(1, 1, 2, 1)
    result = cached_attention(zeros, zeros, new, old)
    assert isinstance(result, tuple | list) and len(result) == 2, (
        "expected the pair (output, cache)"
    )
    output, cache = result
    assert output.shape == (1, 1, 2, 1), f"expected shape (1, 1, 2, 1), got {tuple(output.shape)}"
    assert torch.allclose(output.flatten(), torch.tensor([4.0, 5.0])), (
        f"for the example above expected 4 and 5, got {output.flatten().tolist()}. Where does the triangle "
        "of the mask begin?"
    )
    assert len(cache) == 2, "the cache is a pair (keys, values)"
    assert cache[1].flatten().tolist() == [2, 4, 6, 8], (
        f"the cached values should be 2, 4, 6, 8, got {cache[1].flatten().tolist()}"
    )


def test_cached_attention_in_pieces():
    torch.manual_seed(11)
    query, key, value = (torch.randn(2, 3, 6, width) for width in (4, 4, 5))
    whole, cache = cached_attention(query, key, value)
    one = torch.stack([value[:, :, 0], (query[:, :, 1:2] @ key[:, :, :2].mT / 2).softmax(-1)
                       .matmul(value[:, :, :2])[:, :, 0]], dim=2)  # fmt: skip
    assert torch.allclose(whole[:, :, :2], one, atol=1e-5), (
        "the first two words of a prompt: the first sees only itself, the second both, with scores divided "
        "by the root of d_k"
    )
    assert torch.equal(cache[0], key) and torch.equal(cache[1], value), (
        "keys and values are kept as they came"
    )
    pieces, cache = [], None
    for start, end in ((0, 3), (3, 4), (4, 6)):
        part = slice(start, end)
        output, cache = cached_attention(
            query[:, :, part], key[:, :, part], value[:, :, part], cache
        )
        pieces.append(output)
    assert torch.equal(cache[0], key) and torch.equal(cache[1], value), (
        "the cache holds all words, old ones first"
    )
    assert torch.allclose(torch.cat(pieces, dim=2), whole, atol=1e-5), (
        "3, 1 and 2 words one after the other should give what all 6 give at once"
    )
    empty = key[:, :, :0], value[:, :, :0]
    assert torch.allclose(cached_attention(query, key, value, empty)[0], whole, atol=1e-5), (
        "P may be 0"
    )
    _, start = cached_attention(query[:, :, :2], key[:, :, :2], value[:, :, :2])
    kept = [half.clone() for half in start]
    rest = query[:, :, 2:], key[:, :, 2:], value[:, :, 2:]
    first, second = cached_attention(*rest, start)[0], cached_attention(*rest, start)[0]
    assert all(torch.equal(*pair) for pair in zip(start, kept, strict=True)), (
        "the cache given was changed"
    )
    assert torch.allclose(first, whole[:, :, 2:], atol=1e-5), "words 2 to 5 after a cache of two"
    assert torch.allclose(first, second), (
        "one beginning, continued twice in the same way, gave two results"
    )
    new, old = torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 1098, 2)
    assert cached_attention(new, new, new, (old, old))[0].shape == new.shape, (
        "a text may have 1100 words"
    )
    large = cached_attention(500 * query, key, value)[0]
    assert large.isfinite().all(), "large scores should give finite results"


test_cached_attention_by_hand()
test_cached_attention_in_pieces()
print("✓ cached_attention")

# %% check="cached_attention"

# %% [markdown]
# ## 2. A sliding window
#
# With a window of $W$ words, a query sees itself and the $W - 1$ words before it. What it no longer sees, no cache has
# to keep.
#
# **Write** `sliding_window_mask(query_length, key_length, window)`, a `torch.bool` tensor of shape `(query_length,
# key_length)`.
#
# - The queries are the **last** `query_length` of `key_length` words, so query $i$ stands at $p$ = `key_length` −
#   `query_length` + $i$. It sees key $j$ exactly when $p - W < j \le p$.
# - So the window counts the word itself. (The formula of Beltagy et al., 2020, counts one word more than their
#   figure 1, and we follow the figure.)
# - The window may be longer than the text, and then the mask is causal.
# - A ValueError says that there are more queries than keys, or that the window is below 1.
#
# **By hand.** For 2 queries, 4 keys and a window of 2, the queries stand at 2 and 3. They see the keys 1, 2 and 2, 3, so
# the rows are 0110 and 0011.
#
# <details><summary>Hint</summary>
#
# Two comparisons between a column of $p$ and a row of $j$ say it all.
#
# </details>


# %% solution="sliding_window_mask"
def sliding_window_mask(query_length, key_length, window):
    """-> bool (query_length, key_length), True = may attend."""
    ### BEGIN SOLUTION
    if query_length > key_length:
        raise ValueError(f"{query_length} queries cannot be the last of {key_length} words")
    if window < 1:
        raise ValueError(f"expected a window of 1 or more, found {window}")
    p = torch.arange(key_length - query_length, key_length).unsqueeze(1)
    j = torch.arange(key_length)
    return (p - window < j) & (j <= p)
    ### END SOLUTION


# %% test="sliding_window_mask"
def test_sliding_window_mask():
    examples = {
        (2, 4, 2): ["0110", "0011"],
        (4, 4, 2): ["1000", "1100", "0110", "0011"],
        (3, 3, 1): ["100", "010", "001"],
        (1, 5, 3): ["00111"],
        (3, 5, 9): ["11100", "11110", "11111"],
        (5, 5, 3): ["10000", "11000", "11100", "01110", "00111"],
    }
    for sizes, expected in examples.items():
        mask = sliding_window_mask(*sizes)
        assert isinstance(mask, torch.Tensor) and mask.dtype == torch.bool, "expected a bool tensor"
        assert mask.shape == sizes[:2], (
            f"{sizes}: expected shape {sizes[:2]}, got {tuple(mask.shape)}"
        )
        rows = ["".join(str(int(cell)) for cell in row) for row in mask]
        assert rows == expected, f"sliding_window_mask{sizes}: expected {expected}, got {rows}"
    for sizes in ((4, 3, 2), (3, 3, 0), (3, 3, -1)):
        try:
            sliding_window_mask(*sizes)
        except ValueError:
            continue
        raise AssertionError(f"expected a ValueError for {sizes}, and none came")


test_sliding_window_mask()
print("✓ sliding_window_mask")

# %% check="sliding_window_mask"

# %% [markdown]
# ## 3. Shared key heads
#
# Keys and values are what a cache has to hold, so fewer of their heads make it smaller. Here `num_heads` query heads
# share `num_kv_heads` key heads and as many value heads. With as many as query heads it is assignment 5, and with a
# single one all query heads look at the same keys.
#
# **Write** the module `GroupedQueryAttention(d_model, num_heads, num_kv_heads)`, where $d_k$ = `d_model` / `num_heads`:
#
# | attribute | what it is |
# |---|---|
# | `w_q`, `w_o` | `nn.Linear(d_model, d_model)` |
# | `w_k`, `w_v` | `nn.Linear(d_model, num_kv_heads · d_k)` |
#
# and `forward(query, key, value, mask=None)`:
#
# | tensor | shape | |
# |---|---|---|
# | `query` | `(B, T, d_model)` | |
# | `key`, `value` | `(B, S, d_model)` | |
# | `mask` | broadcasts to `(B, H, T, S)` | $H$ = `num_heads` |
# | first result | `(B, T, d_model)` | the output, after `w_o` |
# | second result | `(B, H, T, S)` | the weights of every query head |
#
# - Query head $h$ uses key head and value head $h$ // (`num_heads` / `num_kv_heads`), so neighbours share.
# - Heads are cut and merged as in assignment 5, with the features of a head beside each other. Scores are divided by
#   $\sqrt{d_k}$.
# - A hidden weight is exactly 0. A query that may attend to nothing gets weights of 0 and the bias of `w_o` as its
#   output.
# - Where `num_heads` does not divide `d_model`, or `num_kv_heads` does not divide `num_heads`, the constructor raises a
#   ValueError that holds the two numbers.
# - There are no further parameters.
#
# **By hand.** With four query heads and two key heads, heads 0 and 1 use key head 0, and heads 2 and 3 use key head 1.
#
# <details><summary>Hint</summary>
#
# `repeat_interleave` repeats each entry, and `repeat` the whole. Which of the two puts copies of one head beside each
# other?
#
# </details>


# %% solution="GroupedQueryAttention"
class GroupedQueryAttention(nn.Module):
    """Multi-head attention with fewer key and value heads than query heads."""

    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % num_heads:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        if num_heads % num_kv_heads:
            raise ValueError(
                f"num_kv_heads = {num_kv_heads} does not divide num_heads = {num_heads}"
            )
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        d_k = d_model // num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, num_kv_heads * d_k)
        self.w_v = nn.Linear(d_model, num_kv_heads * d_k)
        self.w_o = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, query, key, value, mask=None):
        """-> output (B, T, d_model), weights (B, H, T, S)."""
        ### BEGIN SOLUTION
        B, T, d_model = query.shape
        S, group = key.shape[1], self.num_heads // self.num_kv_heads
        queries = self.w_q(query).view(B, T, self.num_heads, -1).transpose(1, 2)
        keys, values = (
            made.view(B, S, self.num_kv_heads, -1).transpose(1, 2).repeat_interleave(group, dim=1)
            for made in (self.w_k(key), self.w_v(value))
        )  # (B, H, S, d_k) each
        scores = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5  # (B, H, T, S)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        merged = (weights @ values).transpose(1, 2).reshape(B, T, d_model)
        return self.w_o(merged), weights
        ### END SOLUTION


# %% test="GroupedQueryAttention"
def numbered(module):
    """The module with weights that depend on their names alone."""
    for name, parameter in module.named_parameters():
        numbers = torch.cos(torch.arange(parameter.numel()) + sum(map(ord, name)))
        with torch.no_grad():
            parameter.copy_(numbers.reshape(parameter.shape))
    return module.eval()


def head_by_head(module, query, key, value, mask=None):
    """What the weights and the output should be, computed for each query head by itself."""
    d_k, weights, contexts = query.shape[-1] // 4, [], []
    for head in range(4):
        own, shared = (
            slice(d_k * head, d_k * (head + 1)),
            slice(d_k * (head // 2), d_k * (head // 2 + 1)),
        )
        scores = module.w_q(query)[..., own] @ module.w_k(key)[..., shared].mT / d_k**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[:, head], -torch.inf)
        weights.append(scores.softmax(dim=-1).nan_to_num(0.0))
        contexts.append(weights[-1] @ module.w_v(value)[..., shared])
    return module.w_o(torch.cat(contexts, dim=-1)), torch.stack(weights, dim=1)


def test_grouped_query_attention():
    torch.manual_seed(3)
    module = numbered(GroupedQueryAttention(d_model=12, num_heads=4, num_kv_heads=2))
    shapes = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    assert shapes.get("w_k.weight") == (6, 12), (
        f"w_k has 2 heads of width 3, so its weight is (6, 12): {shapes}"
    )
    for name in ("w_q", "w_k", "w_v", "w_o"):
        assert f"{name}.bias" in shapes, (
            f"{name} should have a bias, as nn.Linear makes it: {shapes}"
        )
    other = GroupedQueryAttention(d_model=12, num_heads=6, num_kv_heads=2)
    assert other.w_k.weight.shape == (4, 12), (
        "six query heads of width 2 share two key heads: (4, 12)"
    )
    query, key, value = torch.randn(2, 3, 12), torch.randn(2, 5, 12), torch.randn(2, 5, 12)
    mask = torch.rand(2, 4, 3, 5) < 0.6
    mask[0, 1, 2] = False  # this head may attend to nothing here
    with torch.no_grad():
        for hidden in (None, mask):
            expected = head_by_head(module, query, key, value, hidden)
            got = module(query, key, value, hidden)
            assert isinstance(got, tuple | list) and len(got) == 2, (
                "expected the pair (output, weights)"
            )
            assert got[1].shape == (2, 4, 3, 5), (
                f"weights of every query head, (2, 4, 3, 5): {tuple(got[1].shape)}"
            )
            for head in range(4):
                assert torch.allclose(got[1][:, head], expected[1][:, head], atol=1e-5), (
                    f"the weights of query head {head} are not those with key head {head // 2}"
                    + ", under the mask" * (hidden is not None)
                )
            assert torch.allclose(got[0], expected[0], atol=1e-5), (
                "the weights are right, and the output is not"
            )
        for shape in ((3, 5), (2, 1, 1, 5), (4, 1, 5)):
            part = torch.rand(shape) < 0.7
            expected = head_by_head(module, query, key, value, part.expand(2, 4, 3, 5))
            assert torch.allclose(module(query, key, value, part)[1], expected[1], atol=1e-5), (
                f"a mask of shape {shape} broadcasts to (B, H, T, S)"
            )
        large = module(300 * query, key, value)
        assert large[0].isfinite().all(), "large scores should give finite results"
    query.requires_grad_(True)
    module(query, key, value, mask)[0].sum().backward()
    assert query.grad.isfinite().all(), (
        "a head that may attend to nothing should not make the gradients NaN"
    )


def test_grouped_query_attention_refuses():
    for numbers, named in (((10, 4, 2), (10, 4)), ((12, 6, 4), (6, 4))):
        try:
            GroupedQueryAttention(*numbers)
        except ValueError as error:
            assert all(str(number) in str(error) for number in named), (
                f"the error should name {named}: {error}"
            )
        except AssertionError:
            raise AssertionError(
                f"GroupedQueryAttention{numbers}: a ValueError, no bare assert"
            ) from None
        else:
            raise AssertionError(f"GroupedQueryAttention{numbers}: expected a ValueError")


test_grouped_query_attention()
test_grouped_query_attention_refuses()
print("✓ GroupedQueryAttention")

# %% check="GroupedQueryAttention"

# %% [markdown]
# ## 4. Softmax in one pass
#
# A softmax seems to need all scores of a row at once, because it divides by their sum. But it can be computed block by
# block, if three things are kept for each query. These are the largest score so far, $m$, the sum of powers,
# $\ell = \sum_j \exp(\omega_j - m)$, and the sum of values, $o = \sum_j \exp(\omega_j - m)\, v^{(j)}$. A block that brings
# a larger maximum $m'$ multiplies both sums by $\exp(m - m')$ before its own keys are added. In the end, $o / \ell$ is
# the output.
#
# **Write** `online_softmax_attention(query, key, value, block_size, mask=None)`:
#
# | tensor | shape | |
# |---|---|---|
# | `query` | `(…, T, d_k)` | any leading axes, or none |
# | `key` | `(…, S, d_k)` | |
# | `value` | `(…, S, d_v)` | |
# | `mask` | broadcasts to `(…, T, S)` | in any of its axes |
# | result | `(…, T, d_v)` | the output alone |
#
# - It equals scaled dot-product attention for every `block_size` from 1 on, also for one that does not divide $S$ or is
#   larger.
# - Scores may be far above 0, far below 0, and far apart.
# - A mask may hide a whole block, the first one, or everything from a row. Such a row gives zeros.
# - **At no time may new tensors together hold as many numbers as all leading axes times $S$.** So neither the scores of
#   a query with all keys, in one tensor or in a list, nor a copy of the keys. Views, such as slices, are free, and what
#   no name leads to any more does not count. This is measured where $S$ is large, without gradients.
#
# **By hand.** For one query with the scores 0, $\ln 3$, $\ln 4$, the values 8, 4, 2 and blocks of one key, $(m, \ell, o)$
# is $(0, 1, 8)$ after the first key, $(\ln 3, \tfrac43, \tfrac{20}3)$ after the second and $(\ln 4, 2, 7)$ after the third.
# The output is 3.5.
#
# <details><summary>Hint</summary>
#
# Begin with $m = -\infty$ and sums of 0, and write the loop without a mask first. With a mask, $m$ may still be
# $-\infty$ after a block, and $-\infty - (-\infty)$ is NaN. What may stand in its place, where every power is 0 anyway?
#
# </details>


# %% solution="online_softmax_attention"
def online_softmax_attention(query, key, value, block_size, mask=None):
    """(…, T, d_k), (…, S, d_k), (…, S, d_v) -> (…, T, d_v), in blocks of keys."""
    ### BEGIN SOLUTION
    query = query / query.shape[-1] ** 0.5
    m = torch.full_like(query[..., :1], -torch.inf)  # (…, T, 1)
    total, output = torch.zeros_like(m), 0.0
    for start in range(0, key.shape[-2], block_size):
        block = slice(start, start + block_size)
        scores = query @ key[..., block, :].transpose(-2, -1)  # (…, T, block)
        if mask is not None:
            shown = mask[..., block] if mask.shape[-1] > 1 else mask
            scores = scores.masked_fill(~shown, -torch.inf)
        larger = torch.maximum(m, scores.detach().amax(dim=-1, keepdim=True))
        finite = larger.masked_fill(larger == -torch.inf, 0.0)
        old, powers = (m - finite).exp(), (scores - finite).exp()
        total = total * old + powers.sum(dim=-1, keepdim=True)
        output = output * old + powers @ value[..., block, :]
        m = larger
    return output / total.masked_fill(total == 0, 1.0)
    ### END SOLUTION


# %% test="online_softmax_attention"
def plain(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1).nan_to_num(0.0) @ value


def test_online_softmax_attention_by_hand():
    keys = torch.tensor([1.0, 3.0, 4.0]).log().reshape(3, 1)
    values = torch.tensor([[8.0], [4.0], [2.0]])
    result = online_softmax_attention(torch.ones(1, 1), keys, values, 1)
    assert result.shape == (1, 1), f"expected shape (1, 1), got {tuple(result.shape)}"
    assert abs(result.item() - 3.5) < 1e-4, (
        f"for the example above expected 3.5, got {result.item():.4f}"
    )


def test_online_softmax_attention():
    torch.manual_seed(5)
    query, key, value = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 10, 5), torch.randn(2, 3, 10, 6)
    for block_size in (1, 3, 5, 10, 64):
        got = online_softmax_attention(query, key, value, block_size)
        assert got.shape == (2, 3, 4, 6), f"expected shape (2, 3, 4, 6), got {tuple(got.shape)}"
        assert torch.allclose(got, plain(query, key, value), atol=1e-5), (
            f"with 10 keys and block_size={block_size}, the result is not that of attention"
        )
    rising = key + torch.arange(10.0)[:, None]
    assert torch.allclose(
        online_softmax_attention(query.abs(), rising, value, 3),
        plain(query.abs(), rising, value),
        atol=1e-4,
    ), "scores that rise from block to block"
    for what, loud, shift in (("large", 200.0, 0.0), ("far below 0", 1.0, -300.0)):
        asks, keys = loud * query, key + shift
        asks = asks.abs() if shift else asks
        got = online_softmax_attention(asks, keys, value, 4)
        assert torch.allclose(got, plain(asks, keys, value), atol=1e-3), f"scores that are {what}"
    several = torch.tensor([1.0, 300.0, 1.0, 1.0])[:, None] * query.abs()
    keys = key + 10
    assert torch.allclose(
        online_softmax_attention(several, keys, value, 4), plain(several, keys, value), atol=1e-3
    ), "rows whose scores differ in size: each row has a maximum of its own"


def test_online_softmax_attention_masks():
    torch.manual_seed(6)
    query, key, value = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 9, 5), torch.randn(2, 3, 9, 6)
    causal = torch.ones(4, 9, dtype=torch.bool).tril(5)
    late = torch.arange(9) > 4
    nothing = causal.clone()
    nothing[1] = False
    column = torch.tensor([True, False, True, True])[:, None]
    for what, mask in {
        "causal": causal, "the first keys hidden": late, "a row that sees nothing": nothing, "one column": column,
    }.items():  # fmt: skip
        for block_size in (2, 4):
            got = online_softmax_attention(query, key, value, block_size, mask)
            assert torch.allclose(got, plain(query, key, value, mask), atol=1e-5), (
                f"mask ({what}) of shape {tuple(mask.shape)}, block_size={block_size}"
            )
    asks, loud, early = query.abs(), key + 300 * (torch.arange(9) > 6)[:, None], torch.arange(9) < 7
    got = online_softmax_attention(asks, loud, value, 4, early)
    assert torch.allclose(got, plain(asks, loud, value, early), atol=1e-4), (
        "a hidden key whose score lies far above the visible ones"
    )


class NumbersHeld(torch.utils._python_dispatch.TorchDispatchMode):
    """Notes how many numbers new tensors hold together at a time, at most; views are free."""

    _should_skip_dynamo = classmethod(lambda cls: False)  # or PyTorch imports its compiler first

    def __init__(self, *given):
        super().__init__()
        self.most, self.held = 0, {}
        self.given = [one.untyped_storage().data_ptr() for one in given]

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        made = operation(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor):
            storage = made.untyped_storage()
            if storage.data_ptr() not in self.given:
                weak = torch.multiprocessing.reductions.StorageWeakRef(storage)
                self.held[weak] = storage.nbytes() // made.element_size()
        self.held = {one: size for one, size in self.held.items() if not one.expired()}
        self.most = max(self.most, sum(self.held.values()))
        return made


def test_online_softmax_attention_memory():
    query, key, value = torch.randn(2, 1, 3), torch.randn(2, 200, 3), torch.randn(2, 200, 3)
    for mask in (None, torch.arange(200) < 100):
        with torch.no_grad(), NumbersHeld(query, key, value, *[mask] * (mask is not None)) as watch:
            online_softmax_attention(query, key, value, 2, mask)
        assert watch.most < 2 * 200, (
            f"new tensors held {watch.most} numbers at a time{', with a mask' * (mask is not None)}; there "
            "are 2 · 200 keys, and fewer numbers are allowed"
        )


test_online_softmax_attention_by_hand()
test_online_softmax_attention()
test_online_softmax_attention_masks()
test_online_softmax_attention_memory()
print("✓ online_softmax_attention")

# %% check="online_softmax_attention"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a11_fast_attention.ipynb`. You find it in
# `workspace/exercises/a11_fast_attention/` of the course folder.
#
# **No instructor?** Save the notebook, and run this in a new cell:
#
# ```sh
# !python -m autograder check a11_fast_attention.ipynb
# ```
#
# It decides every part as it would be decided in a class, and gives the same reasons.
#
# The last cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work.

# %%
from course_utils.signoff import signoff

signoff()
