# ---
# jupyter:
#   course:
#     lecture: 05_multi_head_attention
#     minutes: 85
#     summary: features cut into heads and merged again, and multi-head attention with masks
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
# # Assignment 5: multi-head attention
#
# You write the module at the heart of every transformer, the attention of [lecture
# 5](../../lectures/05_multi_head_attention.ipynb), with several heads, for one sequence or two, and with masks.
# First come the two small functions that make heads out of features and features out of heads. Most mistakes are
# made in these two, because a wrong one gives the right shapes.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `split_heads` | 3 | 15 min | ●○○ easy |
# | 2 | `merge_heads` | 2 | 10 min | ●○○ easy |
# | 3 | `MultiHeadAttention` | 10 | 60 min | ●●● hard |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other sizes, `float64`, masks of many shapes, large scores and gradients. Your points
#   are decided later by the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right. You may use loops over heads, `einsum`, and helper functions
#   in cells of your own above the cell that needs them.
# - Anything that would be the answer itself is barred in all three parts. These are `F.scaled_dot_product_attention`,
#   `nn.MultiheadAttention` and their functional forms, PyTorch's `nn.Transformer` and its layers, which contain such an
#   attention, and everything in `course_utils` except `signoff`.
# - You may bring a `scaled_dot_product_attention` of your own, say from assignment 3, if you copy it into a cell
#   above the one that calls it. A function that this notebook defines is yours, whatever its name.
# - Your code must not change its inputs. Results have the dtype (`float32` or `float64`) and the device of the
#   inputs, which may lie in memory in any layout. Gradients flow from every result back to every floating input
#   and weight, which rules out `.detach()`, `.item()`, `.numpy()` and `no_grad` on the way.
# - Part 3 may call the functions of parts 1 and 2 by their names. If one of them is wrong, part 3 does not fail
#   with it, because it is decided with our version of it.
#
# | letter | meaning |
# |---|---|
# | $B$ | number of sentences in the batch |
# | $T$ | length of the query: the words that ask |
# | $S$ | length of key and value: the words that are asked |
# | $H$, `num_heads` | number of heads |
# | $d_{model}$, `d_model` | width of the model: features of each word |
# | $d_k = d_{model} / H$ | width of a head |

# %%
import math

import torch
from torch import nn

# %% [markdown]
# ## 1. Splitting
#
# A head should look at *its share* of the features of *every* word. One projection makes the features of all
# heads at once, so a word's row holds them side by side. To let all heads attend in one product, each head needs
# its own matrix of words and features. So the heads become an axis of their own, in front of the words:
#
# $$x \in \mathbb{R}^{B \times T \times d_{model}} \;\longrightarrow\; \mathbb{R}^{B \times H \times T \times d_k},
# \qquad \text{result}[b, h, t, i] = x[b, t, h \cdot d_k + i]$$
#
# All indices count from 0, as in Python, so head $h$ holds the features $h \cdot d_k$ to $(h+1) \cdot d_k - 1$.
#
# **Write** `split_heads(x, num_heads)`:
#
# | tensor | shape |
# |---|---|
# | `x` | `(B, T, d_model)` |
# | result | `(B, H, T, d_k)` |
#
# You may count on `num_heads` dividing `d_model`. The constructor of part 3 takes care of everything else.
#
# **By hand.** Take one sentence of three words with four features, and two heads. Read 23 as the third feature of
# the second word.
#
# $$\begin{pmatrix}11 & 12 & 13 & 14\\ 21 & 22 & 23 & 24\\ 31 & 32 & 33 & 34\end{pmatrix}
# \;\longrightarrow\;
# \text{head 0: } \begin{pmatrix}11 & 12\\ 21 & 22\\ 31 & 32\end{pmatrix}, \quad
# \text{head 1: } \begin{pmatrix}13 & 14\\ 23 & 24\\ 33 & 34\end{pmatrix}$$
#
# <details><summary>Hint</summary>
#
# There are two steps. A reshape cuts every row where it is, so which shape does the tensor have then? Only after
# that do two axes change places. A single reshape to the final shape gives a tensor that looks right and is not.
# To see this, write the example above down number by number in reading order, and look where `21` ends up.
#
# ![Three words of six features as a grid of shape (T, d_model). It is cut into two heads: head 1 holds features 1 to
# 3 of all three words, head 2 features 4 to 6. Each head attends by itself, and the two results stand side by side
# again. Below, a wrong way, in which the cells of a word land in several
# heads.](../../figures/split_merge_shapes.svg)
#
# *Splitting and merging, by the shapes. A word keeps its own numbers. (The figure counts from 1.)*
#
# </details>


# %% solution="split_heads"
def split_heads(x, num_heads):
    """Give every head its share of the features: x (B, T, d_model) -> (B, H, T, d_k)."""
    ### BEGIN SOLUTION
    cut = x.unflatten(-1, (num_heads, -1))  # (B, T, H, d_k)
    return cut.transpose(1, 2)  # (B, H, T, d_k)
    ### END SOLUTION


# %% test="split_heads"
def test_split_heads():
    x = torch.tensor([[[11.0, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]])
    heads = split_heads(x, 2)
    assert heads.shape == (1, 2, 3, 2)
    assert torch.allclose(heads[0, 0], torch.tensor([[11.0, 12], [21, 22], [31, 32]]))
    assert torch.allclose(heads[0, 1], torch.tensor([[13.0, 14], [23, 24], [33, 34]]))


check("split_heads")

# %% check="split_heads"

# %% [markdown]
# ## 2. Merging
#
# When the heads are done, their results are put side by side again, so that one linear map can mix them:
#
# $$x \in \mathbb{R}^{B \times H \times T \times d_k} \;\longrightarrow\; \mathbb{R}^{B \times T \times H d_k},
# \qquad \text{result}[b, t, h \cdot d_k + i] = x[b, h, t, i]$$
#
# **Write** `merge_heads(x)`, the inverse of `split_heads`:
#
# | tensor | shape |
# |---|---|
# | `x` | `(B, H, T, d_k)` |
# | result | `(B, T, H · d_k)` |
#
# It gets a tensor of any memory layout, not only one that comes straight from `split_heads`.
#
# **By hand.** Read the example of part 1 from right to left.
#
# <details><summary>Hint</summary>
#
# To undo two steps, undo the last one first. If PyTorch complains about strides, remember that `view` refuses to
# move numbers in memory, while `reshape` and `flatten` move them where they must.
#
# </details>


# %% solution="merge_heads"
def merge_heads(x):
    """Put the heads side by side again: x (B, H, T, d_k) -> (B, T, H * d_k)."""
    ### BEGIN SOLUTION
    words_first = x.transpose(1, 2)  # (B, T, H, d_k)
    return words_first.flatten(start_dim=2)  # (B, T, H * d_k)
    ### END SOLUTION


# %% test="merge_heads"
def test_merge_heads():
    heads = torch.tensor([[[[11.0, 12], [21, 22], [31, 32]], [[13, 14], [23, 24], [33, 34]]]])
    merged = merge_heads(heads)
    assert merged.shape == (1, 3, 4)
    expected = torch.tensor([[11.0, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]])
    assert torch.allclose(merged[0], expected)


check("merge_heads")

# %% check="merge_heads"

# %% [markdown]
# ## 3. Multi-head attention
#
# Now comes the whole, which is to **project, split, attend, merge and project** again. With $Q$, $K$ and $V$ for
# query, key and value,
#
# $$\text{head}_h = \operatorname{softmax}\!\left(\frac{Q_h K_h^{\top}}{\sqrt{d_k}}\right) V_h,
# \qquad \text{output} = w_o\big(\operatorname{Concat}(\text{head}_0, \dots, \text{head}_{H-1})\big)$$
#
# Here $Q_h$ is the part of $w_q(Q)$ that belongs to head $h$, cut as in part 1, and so are $K_h$ of $w_k(K)$ and
# $V_h$ of $w_v(V)$. The softmax runs over the $S$ keys, in each head separately. $\sqrt{d_k}$ is the root of the
# width in which two vectors are compared, and that is the width of a head.
#
# ![Two flow charts. Left, inside one head: query and key are multiplied, divided by the root of d_k, masked if there
# is a mask, and go through a softmax; the weights are multiplied with the values. Right, outside: query, key and
# value go through their projections and are split, H heads attend, are merged, and pass the output
# projection.](../../figures/multi_head.svg)
#
# *On the left is what each head does, and on the right is what surrounds the heads.*
#
# **Write** the class `MultiHeadAttention(d_model, num_heads)`, an `nn.Module`. You may add methods.
#
# **The constructor** makes four layers, as attributes with exactly these names. Each is an `nn.Linear` from
# `d_model` to `d_model` as PyTorch makes it, with bias. (The grader sets the weights by these names, so the order
# in which you make the layers does not matter.)
#
# | attribute | maps |
# |---|---|
# | `w_q` | the query |
# | `w_k` | the key |
# | `w_v` | the value |
# | `w_o` | the merged heads, at the end |
#
# If `num_heads` does not divide `d_model`, the constructor raises a `ValueError` whose message contains **both
# numbers**, so that its reader knows what to change. A bare `assert` will not do, because Python leaves asserts
# out when it runs with `-O`.
#
# **`forward(query, key, value, mask=None)`** returns the pair `(output, weights)`, in this order:
#
# | tensor | shape | |
# |---|---|---|
# | `query` | `(B, T, d_model)` | |
# | `key`, `value` | `(B, S, d_model)` | $S$ may differ from $T$; `key` and `value` may hold different numbers |
# | `mask` | broadcasts to `(B, H, T, S)` | `bool`, `True` = may attend; `None` hides nothing |
# | `output` | `(B, T, d_model)` | |
# | `weights` | `(B, H, T, S)` | those of every head, after the softmax |
#
# - **The mask** comes ready to broadcast, so use it as it is. A causal mask is `(T, S)`, a mask per sentence is
#   `(B, 1, T, S)` or `(B, 1, 1, S)`, one per head is `(H, T, S)` or `(H, 1, S)`, and one for the keys alone is
#   `(S,)`.
# - **A hidden weight is exactly 0**, and the visible weights of a row sum to one.
# - **A query that may attend to nothing** gets weights of 0 in that head, so the head adds nothing for it. If
#   this is so in all heads, its output is $w_o(0)$, the bias of `w_o`. There is no NaN, in the results or in the
#   gradients.
# - **Large scores** give weights too, and no NaN. The softmax of PyTorch takes care of that. If you write one of
#   your own, subtract its largest score from every row first, as in assignment 3.
# - There is no dropout, so train mode and eval mode give the same. So does a second call, because nothing stays
#   behind in the module.
#
# **By hand.** Let $d_{model} = 2$ with two heads, so that $d_k = 1$, and let all four layers be the identity,
# with zero bias. Take one query $(1, 0)$, the keys $(1, 7)$ and $(0, 5)$, and the values $(10, 1)$ and $(20, 3)$.
#
# | | query | keys | scores | weights | values | context |
# |---|--:|--:|--:|--:|--:|--:|
# | head 0 | 1 | 1, 0 | 1, 0 | 0.731, 0.269 | 10, 20 | 12.69 |
# | head 1 | 0 | 7, 5 | 0, 0 | 0.5, 0.5 | 1, 3 | 2 |
#
# The output is $(12.69, 2)$, and `weights` has the shape `(1, 2, 1, 2)`. With the second key hidden, both heads
# give the first value, $(10, 1)$.
#
# <details><summary>Hint: the shapes on the way</summary>
#
# | step | shape |
# |---|---|
# | after `w_q`; after `w_k` and `w_v` | `(B, T, d_model)`; `(B, S, d_model)` |
# | split | `(B, H, T, d_k)`; `(B, H, S, d_k)` |
# | scores and weights | `(B, H, T, S)` |
# | weights times values | `(B, H, T, d_k)` |
# | merged, and after `w_o` | `(B, T, d_model)` |
#
# If you read a length or a width from a shape, ask yourself of *which* tensor, because key and value have a
# length of their own.
#
# </details>
#
# <details><summary>Hint: the mask</summary>
#
# Hide scores *before* the softmax, with minus infinity. For a row that is minus infinity throughout, the softmax
# is NaN, and a large negative number in its place would give $1/S$ to each hidden key. So after the softmax, set
# the hidden weights to 0 once more. `masked_fill` replaces what it hides, so no gradient flows through it,
# whereas *adding* minus infinity would let NaN flow back.
#
# </details>


# %% solution="MultiHeadAttention"
class MultiHeadAttention(nn.Module):
    """Attention in several heads at once, each on its own share of the projected features."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide d_model = {d_model} evenly")
        self.num_heads = num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, query, key, value, mask=None):
        """query (B, T, d_model), key and value (B, S, d_model) -> output, weights (B, H, T, S)."""
        ### BEGIN SOLUTION
        query = split_heads(self.w_q(query), self.num_heads)  # (B, H, T, d_k)
        key = split_heads(self.w_k(key), self.num_heads)  # (B, H, S, d_k)
        value = split_heads(self.w_v(value), self.num_heads)  # (B, H, S, d_k)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, H, T, S)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(dim=-1)  # (B, H, T, S)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)  # rows with nothing to see were NaN
        return self.w_o(merge_heads(weights @ value)), weights  # (B, T, d_model), (B, H, T, S)
        ### END SOLUTION


# %% test="MultiHeadAttention"
def test_MultiHeadAttention():
    module = MultiHeadAttention(2, 2)  # d_model, num_heads
    for layer in (module.w_q, module.w_k, module.w_v, module.w_o):
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    query, mask = torch.tensor([[[1.0, 0.0]]]), torch.tensor([True, False])
    key, value = torch.tensor([[[1.0, 7], [0, 5]]]), torch.tensor([[[10.0, 1], [20, 3]]])
    output, weights = module(query, key, value)
    assert weights.shape == (1, 2, 1, 2)
    assert torch.allclose(output, torch.tensor([[[12.6894, 2.0]]]), atol=1e-3)
    assert torch.allclose(module(query, key, value, mask)[0], value[:, :1], atol=1e-4)


check("MultiHeadAttention")

# %% check="MultiHeadAttention"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a5_multi_head_attention.ipynb`. You find
# it in `workspace/exercises/a5_multi_head_attention/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
