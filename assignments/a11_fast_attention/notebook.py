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
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other sizes, masks, `float64`, large scores and gradients. Your points are decided
#   later by the same checks, on inputs that are drawn anew.
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
def test_cached_attention():
    zeros = torch.zeros(1, 1, 2, 3)  # queries and keys
    old = torch.tensor([[[[2.0], [4.0]]]])  # (1, 1, 2, 1)
    new = torch.tensor([[[[6.0], [8.0]]]])
    output, (keys, values) = cached_attention(zeros, zeros, new, (zeros, old))
    assert output.shape == (1, 1, 2, 1)
    assert torch.allclose(output.flatten(), torch.tensor([4.0, 5.0]), atol=1e-4)
    assert keys.shape == (1, 1, 4, 3)
    assert values.flatten().tolist() == [2, 4, 6, 8]


check("cached_attention")

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
    mask = sliding_window_mask(2, 4, 2)  # query_length, key_length, window
    assert mask.dtype == torch.bool
    assert mask.int().tolist() == [[0, 1, 1, 0], [0, 0, 1, 1]]
    mask = sliding_window_mask(3, 3, 9)  # longer than the text
    assert mask.int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


check("sliding_window_mask")

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
# Let all queries be 1, let key head 0 hold the keys 1 and 0, and let key head 1 hold 0 and 1, so that $d_k$ is 1. Then
# the weights of heads 0 and 1 are 0.7311 and 0.2689, and those of heads 2 and 3 are 0.2689 and 0.7311.
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
def test_GroupedQueryAttention():
    module = GroupedQueryAttention(4, 4, 2)  # d_model, num_heads, num_kv_heads; heads of width 1
    with torch.no_grad():
        module.w_q.weight.fill_(1.0)
        module.w_q.bias.zero_()
        module.w_k.weight.copy_(torch.eye(2, 4))  # key head 0 reads feature 0, key head 1 feature 1
    words = torch.eye(2, 4).unsqueeze(0)  # two words, (1, 2, 4)
    output, weights = module(words[:, :1], words, words)
    assert output.shape == (1, 1, 4)
    key_0, key_1 = [0.7311, 0.2689], [0.2689, 0.7311]  # the weights with each key head
    assert weights[0, :, 0].allclose(torch.tensor([key_0, key_0, key_1, key_1]), atol=1e-4)


check("GroupedQueryAttention")

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
def test_online_softmax_attention():
    query, key = torch.ones(1, 1), torch.tensor([[1.0], [3.0], [4.0]]).log()
    value = torch.tensor([[8.0], [4.0], [2.0]])
    output = online_softmax_attention(query, key, value, block_size=1)
    assert torch.allclose(output, torch.tensor([[3.5]]), atol=1e-4)
    output = online_softmax_attention(query, key, value, block_size=2)
    assert torch.allclose(output, torch.tensor([[3.5]]), atol=1e-4)
    nothing = torch.tensor([False, False, False])
    assert online_softmax_attention(query, key, value, 2, nothing).tolist() == [[0.0]]


check("online_softmax_attention")

# %% check="online_softmax_attention"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a11_fast_attention.ipynb`. You find it in
# `workspace/exercises/a11_fast_attention/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
