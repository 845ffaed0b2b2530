# ---
# jupyter:
#   course:
#     lecture: 03_scaled_dot_product_attention
#     minutes: 80
#     summary: a softmax that cannot overflow, self-attention in NumPy, and scaled attention with a mask
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
# # Assignment 3: scaled dot-product attention
#
# You write the attention of [lecture 3](../../lectures/03_scaled_dot_product_attention.ipynb). You begin with its
# softmax, for which no score will be too large, and go on to self-attention of one sentence in NumPy. At the end
# you find out why a printed PyTorch function does not work, and write one that works for any batch and any mask.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `stable_softmax` | 3 | 15 min | ●●○ medium |
# | 2 | `numpy_self_attention` | 3 | 15 min | ●○○ easy |
# | 3 | `scaled_dot_product_attention` | 6 | 50 min | ●●● hard |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other lengths and widths, more axes, large scores, masks and gradients. Your points
#   are decided later by the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right. You may use loops, `einsum`, helper functions in cells of your
#   own, and further arguments that have default values.
# - Anything that would be the answer itself is barred. In all parts these are `F.scaled_dot_product_attention`,
#   `nn.MultiheadAttention` and their functional forms, and everything in `course_utils` except `signoff`. In part 1
#   every softmax, log-softmax, logsumexp or cross-entropy of a library is barred as well, but NumPy's `np.logaddexp` is
#   welcome. In part 3 PyTorch's softmax is welcome.
# - A function never changes its inputs.
# - Part 2 may call `stable_softmax`. If that one is not right, part 2 is decided with our version of it, so that
#   no error is charged twice.
# - The score of two words is their dot product $q \cdot k$. **Here it is always divided by $\sqrt{d_k}$**, the
#   root of the width of queries and keys.

# %%
import math

import numpy as np
import torch
import torch.nn.functional as F

# %% [markdown]
# ## 1. A softmax that cannot overflow
#
# The weights of a row of $S$ scores $\omega_1, \dots, \omega_S$ are
#
# $$\alpha_j = \frac{\exp(\omega_j)}{\sum_{k=1}^{S} \exp(\omega_k)}$$
#
# Taken literally, this formula fails when a score is large, because in float64 $\exp(710)$ is infinite, and
# infinity divided by infinity is NaN. [Lecture 3, section
# 5](../../lectures/03_scaled_dot_product_attention.ipynb#5.-A-softmax-that-cannot-overflow) shows what may be
# subtracted from a whole row without changing its weights, and does so for one row. Here the rows may lie along
# any axis of any array.
#
# **Write** `stable_softmax(scores, axis=-1)`, in NumPy:
#
# | | what | shape |
# |---|---|---|
# | `scores` | array of floats, any number of axes from one on | any |
# | `axis` | one whole number, the axis that the rows lie along; negative ones count from the end | |
# | result | array of weights; along `axis` they sum to one | that of `scores` |
#
# - Every finite score is allowed, and rows may be far apart, with one near $-1000$ and one near $1000$ in the
#   same array.
# - A score of $-\infty$ gets weight $0$. Along `axis` there is always at least one finite score.
# - Only the values count here and not the dtype, so the result for a float32 array may be float32 or float64.
#
# **By hand.** For the scores $1002, 1001, 1000$ subtract $1002$. What remains is $0, -1, -2$, with the
# exponentials $1, 0.368, 0.135$. Their sum is $1.503$, so the weights are $0.665, 0.245, 0.090$.
#
# <details><summary>Hint</summary>
#
# Each row needs its own maximum, and each row is divided by its own sum. For `scores` of shape `(3, 5)` and
# `axis=1` there are three of them. Which shape must these three numbers have so that NumPy spreads them along the
# rows? `max` and `sum` have an argument that keeps the axis along which they run.
#
# </details>


# %% solution="stable_softmax"
def stable_softmax(scores, axis=-1):
    """Softmax of a NumPy array along one axis, for scores of any size; same shape as scores."""
    ### BEGIN SOLUTION
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))  # none above 1
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
    ### END SOLUTION


# %% test="stable_softmax"
def test_stable_softmax():
    weights = stable_softmax(np.array([1002.0, 1001.0, 1000.0]))
    assert np.allclose(weights, [0.6652, 0.2447, 0.0900], atol=1e-4)
    columns = stable_softmax(np.ones((3, 5)), axis=0)
    assert columns.shape == (3, 5) and np.allclose(columns.sum(axis=0), 1)


check("stable_softmax")

# %% check="stable_softmax"

# %% [markdown]
# ## 2. Self-attention of one sentence, in NumPy
#
# One sentence is a matrix $X$ with one word per row. Three matrices project each word to its query, its key and
# its value, and the results are weighted averages of the values:
#
# $$Q = X W_q, \quad K = X W_k, \quad V = X W_v, \qquad
# A = \operatorname{softmax}\!\left(\frac{Q K^{\top}}{\sqrt{d_k}}\right), \qquad \text{output} = A\,V$$
#
# where the softmax runs along each row, and $d_k$ is the width of a key.
#
# **Write** `numpy_self_attention(X, Wq, Wk, Wv)`, which returns the pair `(output, weights)` in this order:
#
# | array | shape | rows are |
# |---|---|---|
# | `X` | `(T, D)` | the $T$ words |
# | `Wq`, `Wk` | `(D, d_k)` | |
# | `Wv` | `(D, d_v)` | |
# | `output` | `(T, d_v)` | one context vector a word |
# | `weights` | `(T, T)` | row $i$: how word $i$ shares out its attention; sums to one |
#
# All of them are arrays of floats, and again only the values count and not the dtype. The result holds no NaN
# even if `X` is a hundred times as large.
#
# **By hand.** Let $X$ be the $2 \times 2$ identity, so that $Q = W_q$, $K = W_k$ and $V = W_v$. Let the queries
# be $(2, 0, 0, 0)$ and $(0, 2, 0, 0)$, the keys $(1, 1, 0, 0)$ and $(0, 2, 0, 0)$, and the values $(10)$ and
# $(20)$. The scores are $\begin{pmatrix}2 & 0\\ 2 & 4\end{pmatrix}$, and divided by $\sqrt{4}$ they are
# $\begin{pmatrix}1 & 0\\ 1 & 2\end{pmatrix}$. So the weights are $\begin{pmatrix}0.731 & 0.269\\ 0.269 &
# 0.731\end{pmatrix}$ and the output is $12.69$ and $17.31$.
#
# <details><summary>Hint</summary>
#
# Write down the shape after each step. Four numbers could be under the root, which are $T$, $D$, $d_k$ and $d_v$.
# The right one is the number of terms that a single dot product adds up.
#
# </details>


# %% solution="numpy_self_attention"
def numpy_self_attention(X, Wq, Wk, Wv):
    """Scaled self-attention of X (T, D): (output (T, d_v), weights (T, T))."""
    ### BEGIN SOLUTION
    query, key, value = X @ Wq, X @ Wk, X @ Wv  # (T, d_k), (T, d_k), (T, d_v)
    weights = stable_softmax(query @ key.T / math.sqrt(Wk.shape[1]))  # (T, T)
    return weights @ value, weights
    ### END SOLUTION


# %% test="numpy_self_attention"
def test_numpy_self_attention():
    X = np.eye(2)
    Wq = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    Wk = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    Wv = np.array([[10.0], [20.0]])
    output, weights = numpy_self_attention(X, Wq, Wk, Wv)
    assert np.allclose(weights, [[0.7311, 0.2689], [0.2689, 0.7311]], atol=1e-4)
    assert np.allclose(output, [[12.6894], [17.3106]], atol=1e-3)


check("numpy_self_attention")

# %% check="numpy_self_attention"

# %% [markdown]
# ## 3. A function to repair
#
# Here is a function of a kind that has been printed and copied many times. It is meant to be attention for
# PyTorch, but it does not run. Read it, and do not repair it yet.


# %% editable=false deletable=false
def printed_attention(query, key, value):
    similarity = np.dot(query, key.T)
    similarity = similarity / np.sqrt(key.shape[-1])
    shares = F.softmax(similarity, dim=-1)
    mixed = np.dot(shares, value)
    return mixed, shares


# %% [markdown]
# The same pages call it like this, a few lines further on:
#
# ```python
# mixed, shares = printed_attention(query, key, value, mask)
# ```
#
# Find out what is wrong before you write your own. The cell below is for trying things out, so change it as you
# like.
#
# 1. Which line stops, and what does the error say? What is the type of `similarity`, and which type does that
#    line want? Try it with tensors too, such as `torch.ones(3, 4)`.
# 2. Suppose that line were repaired. Give `key` the shape `(2, 5, 4)`, for two sentences. What is the shape of
#    `key.T`? Which shape would you need? And what would be the shape of `np.dot` of a `(2, 3, 4)` array and a
#    `(2, 4, 5)` array?
# 3. The second line divides. It takes the root of which number? Is that right?
# 4. Suppose somebody repaired it by `.detach().numpy()` on the three inputs and `torch.from_numpy` at the end.
#    All values would be right. What would be lost, and when would you notice?
# 5. The call has four arguments. What happens? And if the function simply accepted a fourth one, what would still
#    be missing?

# %%
three_words, five_words = np.ones((3, 4)), np.ones((5, 4))  # (T, d_k), (S, d_k)
try:
    printed_attention(three_words, five_words, np.ones((5, 6)))
except (AttributeError, RuntimeError, TypeError, ValueError) as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown]
# <details><summary>What there is to find</summary>
#
# 1. `F.softmax` stops, because it asks its argument for a method that only tensors have, and `np.dot` has made a
#    NumPy array, even of tensors. Half of the function is NumPy and half is PyTorch.
# 2. `.T` reverses *all* axes and gives `(4, 5, 2)`, while only the last two should change places, `(2, 4, 5)`.
#    `np.dot` would multiply every sentence by every other one and give `(2, 3, 2, 5)`.
# 3. It divides by the root of the width of a key. This line is right.
# 4. The gradient would be lost, because NumPy does not record any. Nothing could be trained through this
#    function, and you would notice when the loss does not fall.
# 5. There is a TypeError. A mask that is merely accepted hides nothing, because it has to act on the scores.
#
# </details>

# %% [markdown]
# ### Now yours
#
# $$\text{Attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{Q K^{\top}}{\sqrt{d_k}}\right) V$$
#
# **Write** `scaled_dot_product_attention(query, key, value, mask=None)` in PyTorch. It returns the pair
# `(output, weights)`, in this order:
#
# | tensor | shape | what it is |
# |---|---|---|
# | `query` | `(..., T, d_k)` | what the $T$ words ask |
# | `key` | `(..., S, d_k)` | what the $S$ words are compared by |
# | `value` | `(..., S, d_v)` | what is averaged |
# | `mask` | broadcasts to `(..., T, S)` | `bool`, **True = may attend**; `None` hides nothing |
# | `output` | `(..., T, d_v)` | weighted averages of the values |
# | `weights` | `(..., T, S)` | each row sums to one over the $S$ keys |
#
# - **Axes.** The dots stand for any leading axes, or for none, so `(T, d_k)` is one sentence, `(B, T, d_k)` is a
#   batch, and there may be `(B, H, T, d_k)` and more. Query, key and value have the same ones. $T$ and $S$ may
#   differ, and so may $d_k$ and $d_v$.
# - **What a mask is for.** Some keys should not be attended to, such as padding that fills up a short sentence,
#   or words that have not been said yet. The mask has `True` where a query may attend to a key and `False` where
#   the key is *hidden* from it. ([Lecture
#   3](../../lectures/03_scaled_dot_product_attention.ipynb#A-mask,-in-brief) shows it, and lecture 4 builds
#   masks.)
# - **Shape of the mask.** It may have fewer axes than the scores, or axes of length 1, and is spread over them by
#   PyTorch's own broadcasting, which lines up shapes from the right. So a mask `(S,)` hides the same keys from
#   everyone, and against scores `(B, T, S)`, a mask `(B, 1, S)` has its own keys for each sentence. With heads,
#   such a mask comes as `(B, 1, 1, S)`, so you need not guess what an axis means. Hidden weights are exactly $0$,
#   and the visible ones still sum to one. What is hidden has no effect at all, whatever finite numbers the hidden
#   keys and values hold.
# - **Nothing to attend to.** Where a row of the mask is all False, the weights and the output of that query are
#   $0$ and not NaN, and the gradients stay finite.
# - **Large scores.** Scaled scores between $-100\,000$ and $100\,000$ give no NaN.
# - **Tensors.** The inputs are all float32 or all float64, and may lie in memory in any order. The results have
#   the dtype and the device of `query`. Gradients flow back to `query`, `key` and `value`.
# - You need not check what you are given, because no wrong shapes and no other kinds of mask will come.
#
# **By hand.** Let $d_k = 4$, with one query $(1, 1, 1, 1)$ and three keys $(2, 0, 0, 0)$, $(1, -1, 0, 0)$ and
# $(9, 9, 9, 9)$ with the values $10$, $20$ and $1000$. The mask hides the third key. The scores of the other two
# are $2$ and $0$, and divided by $\sqrt{4}$ they are $1$ and $0$. So the weights are $0.731$, $0.269$ and $0$,
# and the output is $12.69$.
#
# <details><summary>Hint 1: axes</summary>
#
# `@` takes the last two axes as matrices and everything before them as a stack. Name the axes of the transpose
# and of the softmax from the end, as $-1$ and $-2$, so that it does not matter how many come before.
#
# </details>
#
# <details><summary>Hint 2: mask</summary>
#
# Hide a key *before* the softmax, so that the others share all of the weight. Which score has the exponential
# $0$? Two functions put a number wherever a bool tensor says so, and broadcast, namely `masked_fill` and
# `torch.where`. Which places does each of them fill, the True ones or the False ones?
#
# </details>
#
# <details><summary>Hint 3: a query with nothing to attend to</summary>
#
# If all scores of a row are $-\infty$, its softmax is $0/0$. Such rows need a second look after the softmax,
# because the mask knows where a weight must be $0$. Multiplying does not help, since $0$ times NaN is NaN, but
# filling does. Fill in the $-\infty$ as well instead of adding it to the scores, because what was filled in has
# no gradient that could carry a NaN back.
#
# </details>


# %% solution="scaled_dot_product_attention"
def scaled_dot_product_attention(query, key, value, mask=None):
    """Attention with 1/√d_k: (output (..., T, d_v), weights (..., T, S)); True in mask = may attend."""
    ### BEGIN SOLUTION
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])  # (..., T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)  # (..., T, S), NaN where nothing is visible
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights  # (..., T, d_v), (..., T, S)
    ### END SOLUTION


# %% test="scaled_dot_product_attention"
def test_scaled_dot_product_attention():
    query = torch.ones(1, 4)  # (T, d_k)
    key = torch.tensor([[2.0, 0, 0, 0], [1, -1, 0, 0], [9, 9, 9, 9]])  # (S, d_k)
    value = torch.tensor([[10.0], [20.0], [1000.0]])  # (S, d_v)
    mask = torch.tensor([True, True, False])  # (S,)
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    assert torch.allclose(weights, torch.tensor([[0.7311, 0.2689, 0.0]]), atol=1e-4)
    assert torch.allclose(output, torch.tensor([[12.6894]]), atol=1e-3)
    nothing = torch.tensor([False, False, False])  # to attend to
    output, weights = scaled_dot_product_attention(query, key, value, nothing)
    assert (weights == 0).all() and (output == 0).all()


check("scaled_dot_product_attention")

# %% check="scaled_dot_product_attention"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a3_scaled_dot_product_attention.ipynb`.
# You find it in `workspace/exercises/a3_scaled_dot_product_attention/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
