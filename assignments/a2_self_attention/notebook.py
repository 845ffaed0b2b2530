# ---
# jupyter:
#   course:
#     lecture: 02_basic_self_attention
#     minutes: 60
#     summary: attention weights, context vectors, attention on a batch, and a test for equivariance
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
# # Assignment 2: self-attention without parameters
#
# You write the attention of [lecture 2](../../lectures/02_basic_self_attention.ipynb) yourself, first for one
# sentence and then for a batch. At the end you write a test of what it can and cannot know about word order.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `attention_weights` | 3 | 10 min | ●○○ easy |
# | 2 | `basic_self_attention` | 2 | 5 min | ●○○ easy |
# | 3 | `self_attention` | 3 | 20 min | ●●○ medium |
# | 4 | `is_permutation_equivariant` | 2 | 25 min | ●●● hard |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other lengths and widths, batches, `float64` and gradients. Your points are decided
#   later by the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right. You may use loops, `einsum`, `torch.bmm`, and helper functions
#   in cells of your own.
# - Anything that would be the answer itself is barred. These are `F.scaled_dot_product_attention`,
#   `nn.MultiheadAttention` and their functional forms, and everything in `course_utils` except `signoff`.
# - A function never changes its inputs. In parts 1 to 3 the result has the dtype and the device of the input, so
#   make new tensors with `x.new_zeros(…)` and not with `torch.zeros(…)`. Gradients flow from the result back to
#   every input, which rules out `.detach()`, `.item()`, `.numpy()` and `no_grad` on the way.
# - A later part may call an earlier function by its name. If that function is wrong, the later part does not fail
#   with it, because it is decided with our version of the earlier one.
# - The lecture writes $x^{(i)}$ and $z^{(i)}$, for which we write $x_i$ and $z_i$ here.
# - **Nothing here is scaled.** The division by $\sqrt{d_k}$ comes in lecture 3.

# %%
import torch

# %% [markdown]
# ## 1. Attention weights
#
# One sentence is a tensor `x` of shape `(T, D)`, which holds $T$ words, each a vector of width $D$. The *score*
# of word $j$ for word $i$ is their dot product, and a softmax turns each row of scores into weights:
#
# $$\omega_{ij} = x_i \cdot x_j, \qquad
# \alpha_{ij} = \frac{\exp(\omega_{ij})}{\sum_{k=1}^{T} \exp(\omega_{ik})}$$
#
# **Write** `attention_weights(x)`, which takes `x` of shape `(T, D)` and returns $\alpha$ of shape `(T, T)`.
#
# **By hand.** For the two words $(1, 2)$ and $(0, 1)$ the scores are $\begin{pmatrix}5 & 2\\ 2 & 1\end{pmatrix}$.
# The first row of weights is $e^5/(e^5+e^2) \approx 0.953$ and $0.047$, and the second is $e^2/(e^2+e) \approx
# 0.731$ and $0.269$.
#
# <details><summary>Hint</summary>
#
# One matrix product of `x` with its own transpose gives all scores at once. The softmax has an argument that says
# along which axis the numbers should sum to one, and for word $i$ that is row $i$.
#
# </details>


# %% solution="attention_weights"
def attention_weights(x):
    """Weights with which each word attends to each word: x (T, D) -> (T, T), rows sum to one."""
    ### BEGIN SOLUTION
    scores = x @ x.T  # (T, T)
    return scores.softmax(dim=-1)
    ### END SOLUTION


# %% test="attention_weights"
def test_attention_weights():
    x = torch.tensor([[1.0, 2.0], [0.0, 1.0]])
    weights = attention_weights(x)
    expected = torch.tensor([[0.9526, 0.0474], [0.7311, 0.2689]])
    assert torch.allclose(weights, expected, atol=1e-4)


check("attention_weights")

# %% check="attention_weights"

# %% [markdown]
# ## 2. Context vectors
#
# With its weights, each word collects from all words what it needs. The result is its *context vector*
#
# $$z_i = \sum_{j=1}^{T} \alpha_{ij}\, x_j$$
#
# **Write** `basic_self_attention(x)`, which takes `x` of shape `(T, D)` and returns the pair `(z, weights)` of
# shapes `(T, D)` and `(T, T)`, in this order. You may call `attention_weights`.
#
# **By hand.** For the same two words, $z_1 = 0.953\,(1, 2) + 0.047\,(0, 1) = (0.953, 1.953)$.
#
# <details><summary>Hint</summary>
#
# You need the sum over $j$ of the weights in row $i$ times the rows of `x`. For all $i$ at once, this is a matrix
# product.
#
# </details>


# %% solution="basic_self_attention"
def basic_self_attention(x):
    """Context vectors and the weights behind them: x (T, D) -> (z (T, D), weights (T, T))."""
    ### BEGIN SOLUTION
    weights = attention_weights(x)  # (T, T)
    return weights @ x, weights
    ### END SOLUTION


# %% test="basic_self_attention"
def test_basic_self_attention():
    x = torch.tensor([[1.0, 2.0], [0.0, 1.0]])
    z, weights = basic_self_attention(x)
    assert torch.allclose(z, torch.tensor([[0.9526, 1.9526], [0.7311, 1.7311]]), atol=1e-4)
    assert torch.allclose(weights.sum(dim=1), torch.ones(2))


check("basic_self_attention")

# %% check="basic_self_attention"

# %% [markdown]
# ## 3. Attention on a batch
#
# So far, every word has played three roles. It asked (as $x_i$), it was compared (as $x_j$), and it was collected
# (as $x_j$ again). Now the three roles get tensors of their own, and there are $B$ sentences:
#
# $$\text{output}_b = \operatorname{softmax}\!\left(Q_b K_b^{\top}\right) V_b
# \qquad\text{for each sentence } b = 1, \dots, B$$
#
# where the softmax runs along each row, over the $S$ keys.
#
# **Write** `self_attention(query, key, value)`:
#
# | tensor | shape | rows are |
# |---|---|---|
# | `query` | `(B, T, d_k)` | the words that ask |
# | `key` | `(B, S, d_k)` | the words they are compared with |
# | `value` | `(B, S, d_v)` | what is collected |
# | result | `(B, T, d_v)` | the output alone, without the weights |
#
# $T$ and $S$ may differ, and so may $d_k$ and $d_v$. In *self*-attention all three come from one sentence, but
# the function need not know that. `torch.bmm` multiplies a batch of matrices by a batch of matrices, which suits
# this part well, but anything that gives the right result is right.
#
# **By hand.** Take one query $(1, 0)$, the keys $(1, 2)$ and $(0, 1)$, and the values $(10)$ and $(20)$. The
# scores are $1$ and $0$, so the weights are $0.731$ and $0.269$, and the output is $0.731 \cdot 10 + 0.269 \cdot
# 20 = 12.69$.
#
# <details><summary>Hint</summary>
#
# Write down the shape after each step. `query` is `(B, T, d_k)`, so for scores of shape `(B, T, S)` the second
# factor must be `(B, d_k, S)`. `.T` would reverse all three axes, whereas `.transpose(1, 2)` swaps the last two.
#
# </details>


# %% solution="self_attention"
def self_attention(query, key, value):
    """Unscaled attention: query (B, T, d_k), key (B, S, d_k), value (B, S, d_v) -> (B, T, d_v)."""
    ### BEGIN SOLUTION
    scores = torch.bmm(query, key.transpose(1, 2))  # (B, T, S)
    weights = scores.softmax(dim=-1)  # (B, T, S)
    return torch.bmm(weights, value)  # (B, T, d_v)
    ### END SOLUTION


# %% test="self_attention"
def test_self_attention():
    query = torch.tensor([[[1.0, 0.0]]])  # (1, 1, 2)
    key = torch.tensor([[[1.0, 2.0], [0.0, 1.0]]])  # (1, 2, 2)
    value = torch.tensor([[[10.0], [20.0]]])  # (1, 2, 1)
    output = self_attention(query, key, value)
    assert output.shape == (1, 1, 1)
    assert torch.allclose(output, torch.tensor(12.6894), atol=1e-3)


check("self_attention")

# %% check="self_attention"

# %% [markdown]
# ## 4. A test for equivariance
#
# If you reorder the words of a sentence, the context vectors of lecture 2 come out reordered in the same way. A
# function $f$ with this property is *permutation equivariant*. For a permutation $p$ of the rows,
#
# $$f(x[p]) = f(x)[p]$$
#
# Invariance is something else. It means $f(x[p]) = f(x)$, where the order leaves no trace at all.
#
# **Write** `is_permutation_equivariant(f, x, permutation)`, which says whether the equation holds for this `x`
# and this `permutation`.
#
# - `f` maps a `(T, D)` tensor to one tensor whose first axis is $T$, while its other axes may be anything.
# - `permutation` is a `LongTensor` of shape `(T,)`, and row $i$ of `x[permutation]` is row `permutation[i]` of
#   `x`.
# - Two results count as equal within a relative tolerance of $10^{-4}$ and an absolute one of $10^{-5}$, because
#   sums in another order differ in their last digits.
# - The result is a plain Python `bool`.
#
# **By hand.** Let $x$ have the rows $1, 2, 3$ and let $p = (2, 0, 1)$, so that $x[p] = 3, 1, 2$. For $f(x) = 2x$
# both sides are $6, 2, 4$, so it is equivariant. The running sum is not, because $f(x[p]) = 3, 4, 6$, but $f(x) =
# 1, 3, 6$ and therefore $f(x)[p] = 6, 1, 3$.
#
# <details><summary>Hint</summary>
#
# Compute the two sides of the equation separately, each in one line, and only then compare them.
# `torch.allclose` takes both tolerances.
#
# </details>


# %% solution="is_permutation_equivariant"
def is_permutation_equivariant(f, x, permutation):
    """Whether f(x[permutation]) equals f(x)[permutation], within rtol 1e-4 and atol 1e-5."""
    ### BEGIN SOLUTION
    reordered_before = f(x[permutation])
    reordered_after = f(x)[permutation]
    return torch.allclose(reordered_before, reordered_after, rtol=1e-4, atol=1e-5)
    ### END SOLUTION


# %% test="is_permutation_equivariant"
def test_is_permutation_equivariant():
    x = torch.tensor([[1.0], [2.0], [3.0]])
    p = torch.tensor([2, 0, 1])
    assert is_permutation_equivariant(lambda x: 2 * x, x, p) is True
    assert is_permutation_equivariant(lambda x: x.cumsum(dim=0), x, p) is False


check("is_permutation_equivariant")

# %% check="is_permutation_equivariant"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a2_self_attention.ipynb`. You find it in
# `workspace/exercises/a2_self_attention/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
