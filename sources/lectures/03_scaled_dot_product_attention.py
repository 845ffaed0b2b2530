# ---
# jupyter:
#   course:
#     assignment: a3_scaled_dot_product_attention
#     minutes: 75
#     summary: Learned queries, keys and values, and why the scores are divided by √d_k.
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
# # Lecture 3: Scaled dot-product attention
#
# The attention of lecture 2 had nothing to learn, and every word mostly found itself. In this
# lecture each word gets three learned roles: it asks as a *query*, it is compared as a *key*, and
# it is mixed in as a *value*. One small factor comes along, $1/\sqrt{d_k}$. We shall see exactly
# what it is for, and train a model that fails without it.
#
# **Afterwards you will be able to**
#
# - compute queries, keys, values, scores, weights and context vectors, by loop and by matrix;
# - write the function for any number of leading axes, and compare it with PyTorch's own;
# - write a softmax that cannot overflow;
# - derive the variance of a dot product, and say what happens to weights and gradients without the
#   scale;
# - say what the scale does *not* do.
#
# **Time** about 75 minutes. **Needs** [lecture 2](02_basic_self_attention.ipynb), variance, the
# chain rule.

# %%
import math

import ipywidgets as widgets
import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course_utils import attention, plotting

plotting.use_course_style()
torch.set_num_threads(1)  # matrices this small are faster on one core than shared between several

# %% [markdown]
# ## 1. A soft dictionary
#
# The words query, key and value come from databases. A Python dictionary compares your query with
# its keys. One key fits, and you get all of its value.
#
# Attention does the same softly. Query and keys are vectors, so *every* key fits to some degree.
# The degrees become weights, and you get a share of every value.
#
# ![Two panels. Left, a dictionary: the query rice meets the keys milk, rice, tea with the values 10,
# 20, 30. An arrow leads to the key rice, on to its value 20, and the result is 20, all of one
# value. Right, attention: the query vector (1, 1) meets the keys (2, 0), (1, 2) and (minus 1, 1);
# arrows of different thickness lead to all three. Their weights are 0.306, 0.620 and 0.074, each
# multiplies its value 10, 20 or 30, and the result is 17.7, a share of every value, added
# up.](../figures/soft_lookup.svg)
#
# Check the right side by hand: the dot products are 2, 3 and 0. They are divided by $\sqrt{2}$,
# since the vectors have two entries (section 6 tells why), and then the softmax is taken. A soft
# lookup can be differentiated, so gradient descent can work on it.
#
# In lecture 2 a word used the *same* vector for all three roles. Two things followed:
#
# - as a rule a word fits itself best, so that it nearly copied itself;
# - scores are symmetric: "me" fits "help" exactly as well as "help" fits "me".
#
# So we give each role a vector of its own.

# %% [markdown]
# ## 2. Three maps
#
# Three matrices map each word vector to its query, its key and its value:
#
# $$q^{(i)} = U_q\, x^{(i)} \qquad k^{(i)} = U_k\, x^{(i)} \qquad v^{(i)} = U_v\, x^{(i)}$$
#
# The same three matrices serve all words. They are what is learned; such maps are also called
# *projections*. The rest is lecture 2, with one step more: the scores are divided by $\sqrt{d_k}$,
# so that they do not start larger in a wider network (section 6).
#
# ![Flow diagram, all matrices drawn to scale. On the left the matrix X with one row for each of the
# words can, you, help, me; the row of you is framed here and in every other matrix. Three arrows
# lead to the maps U q, U k and U v. Out come the queries Q and the keys K, both T times d k, and
# the values V, T times d v. Step 1, similarity: Q and K meet in the scores Omega equals Q K
# transposed, T times T. Step 2, normalise: the scores are divided by the root of d k, then a
# softmax over each row gives the weights A, shaded from light to dark. Step 3, weighted sum: A
# times V gives the context vectors Z, T times d v. The values skip the comparison. Only the three
# maps are learned.](../figures/qkv_dataflow.svg)
#
# | symbol | meaning | shape | in the code |
# |---|---|---|---|
# | $T$, $d$ | number of words, width of a word vector ($D$ in lecture 2) | | 8, 16 |
# | $d_k$, $d_v$ | width of queries and keys; width of values | | 16, 16 |
# | $x^{(i)}$ | vector of word $i$, a row of $X$ | $d$ | `x[i - 1]` |
# | $U_q$, $U_k$, $U_v$ | the learned maps | $d_k \times d$, $d_k \times d$, $d_v \times d$ | `U_query` … |
# | $q^{(i)}$, $k^{(i)}$, $v^{(i)}$ | query, key, value of word $i$ | $d_k$, $d_k$, $d_v$ | `queries[i - 1]` … |
# | $\omega_{ij} = q^{(i)} \cdot k^{(j)}$ | **score** of key $j$ for query $i$ | $T \times T$ | `scores` |
# | $\omega_{ij}/\sqrt{d_k}$ | **scaled score** | $T \times T$ | `scaled_scores` |
# | $\alpha_{ij}$ | weight: softmax over $j$ of the scaled scores | $T \times T$ | `weights` |
# | $z^{(i)} = \sum_j \alpha_{ij} v^{(j)}$ | context vector of word $i$ | $d_v$ | `z_2` for word 2 |
#
# Query and key must have the same width, for their dot product. The value may have another one.
#
# ### The running example
#
# The sentence and the embedding are those of lecture 2. The example is printed elsewhere, and we
# want the same numbers. So the three matrices are drawn with `torch.rand`, from the same seed, and
# all widths are 16. Section 3 tells why you should not start with `rand`.

# %%
words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
sentence = torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])  # (T,)

torch.manual_seed(123)
x = nn.Embedding(10, 16)(sentence).detach()  # (T, d)

torch.manual_seed(123)  # once more, as in the printed example
T, d = x.shape
U_query = torch.rand(d, d)  # (d_k, d)
U_key = torch.rand(d, d)  # (d_k, d)
U_value = torch.rand(d, d)  # (d_v, d)
print(x.shape, U_query.shape)

# %% [markdown]
# First one word. Word 2, "you", is `x[1]`.

# %%
x_2 = x[1]  # (d,)
query_2 = U_query @ x_2  # (d_k, d) @ (d,) -> (d_k,)
key_2 = U_key @ x_2  # (d_k,)
value_2 = U_value @ x_2  # (d_v,)

print("first entries of query 2:", [f"{entry:.3f}" for entry in query_2[:4].tolist()])
print("first entries of key 2:  ", [f"{entry:.3f}" for entry in key_2[:4].tolist()])
print("first entries of value 2:", [f"{entry:.3f}" for entry in value_2[:4].tolist()])

# %% [markdown]
# Every word is also a key and a value for the others, so we need all of them. A loop says what is
# meant. The matrix form does it in one product: words are *rows* of $X$, so the map stands
# transposed on the right, $K = X U_k^\top$.

# %%
keys_by_loop = torch.stack([U_key @ x_j for x_j in x])  # (T, d_k)
values_by_loop = torch.stack([U_value @ x_j for x_j in x])  # (T, d_v)

queries = x @ U_query.T  # (T, d) @ (d, d_k) -> (T, d_k)
keys = x @ U_key.T  # (T, d_k)
values = x @ U_value.T  # (T, d_v)

assert torch.allclose(keys, keys_by_loop, atol=1e-5)
assert torch.allclose(values, values_by_loop, atol=1e-5)
assert torch.allclose(queries[1], query_2, atol=1e-5)
assert torch.allclose(keys[1], key_2, atol=1e-5)
assert torch.allclose(values[1], value_2, atol=1e-5)
print("loops and matrices agree:", torch.allclose(keys, keys_by_loop, atol=1e-5))

# %% [markdown]
# > **Two notations.** $q = U_q x$ with $U_q$ of shape $d_k \times d$ treats a word as a column.
# > Code and papers often treat words as rows and write $Q = X W_q$ with $W_q$ of shape $d \times
# > d_k$. It is the same map: $W_q = U_q^\top$. `nn.Linear(d, d_k)` stores $U$: its `weight` is
# > `(d_k, d)`.
#
# **Step 1, similarity.** The score of word 3 for the query of word 2, then all eight scores:

# %%
omega_23 = torch.dot(query_2, keys[2])
assert torch.allclose(omega_23, torch.tensor(14.3667), rtol=1e-4)
print(f"omega_23 = {omega_23:.4f}")

omega_2 = keys @ query_2  # (T, d_k) @ (d_k,) -> (T,)
expected = [-25.1623, 9.3602, 14.3667, 32.1482, 53.8976, 46.6626, -1.2131, -32.9392]
assert torch.allclose(omega_2, torch.tensor(expected), rtol=1e-4)
for word, score in zip(words, omega_2, strict=True):
    print(f"{word:>9}  {score:8.2f}")

# %% [markdown]
# **Step 2, normalise.** Divide by $\sqrt{d_k} = 4$. The softmax of the scaled scores gives the
# weights.

# %%
d_k = keys.shape[1]
weights_2 = F.softmax(omega_2 / math.sqrt(d_k), dim=0)  # (T,)

# fmt: off
expected = [
    2.2317e-09, 1.2499e-05, 4.3696e-05, 3.7242e-03,
    8.5596e-01, 1.4026e-01, 8.8897e-07, 3.1935e-10,
]
# fmt: on
assert torch.allclose(weights_2, torch.tensor(expected), rtol=2e-3, atol=0)
assert torch.allclose(weights_2.sum(), torch.tensor(1.0))
for word, weight in zip(words, weights_2, strict=True):
    print(f"{word:>9}  {weight:.4f}")

# %% [markdown]
# "you" no longer copies itself: it looks at "to". Section 3 asks why.
#
# **Step 3, weighted sum**, of the *values*:

# %%
z_2 = torch.zeros(values.shape[1])
for weight, value in zip(weights_2, values, strict=True):
    z_2 += weight * value

assert torch.allclose(z_2, weights_2 @ values, atol=1e-5)
# fmt: off
expected = [
    -1.2226, -3.4387, -4.3928, -5.2125, -1.1249, -3.3041, -1.4316, -3.2765,
    -2.5114, -2.6105, -1.5793, -2.8433, -2.4142, -0.3998, -1.9917, -3.3499,
]
# fmt: on
assert torch.allclose(z_2, torch.tensor(expected), rtol=1e-3, atol=1e-3)
print([f"{entry:.3f}" for entry in z_2.tolist()])

# %% [markdown]
# The scores, the weights and the context vector agree with the printed example. (Some copies of it
# have lost the cell that computes `key_2` and `value_2`; now you have it.)
#
# > **You may have read** that self-attention computes "the weighted average of the input
# > sequence". With $U_v$ it is the weighted average of the **values**, and what is compared are
# > queries with keys. That makes a difference: $z$ can now leave the region between the words,
# > which it could not in lecture 2 (the grey triangle there).
#
# > **You may have read** that there is "a single learned projection". There are three, and they
# > differ from the first random draw on. (Libraries may store them stacked, as one matrix.)

# %% [markdown]
# ## 3. Do not start with `rand`
#
# The largest score above is 54. Let us look at all 64 of them, and at the weights.

# %%
scores = queries @ keys.T  # (T, T)
scaled_scores = scores / math.sqrt(d_k)
weights = F.softmax(scaled_scores, dim=-1)  # (T, T)

assert abs(scores.std() - 38) < 1 and abs(scores.max() - 92) < 1
print(f"standard deviation of the scores: {scores.std():.0f}")
for word, row in zip(words, weights, strict=True):
    print(f"{word:>9} looks most at {words[row.argmax()]:<9}  weight {row.max():.2f}")

# %% [markdown]
# A standard deviation of 38 is a lot: a good start, further down, gives about 4. And the words do
# not look for different things: they look at "to", at "translate" or at "sentence". Why these?
#
# `torch.rand` draws between 0 and 1, with mean ½. So each entry of $U$ is ½ plus a deviation. Let
# $s_i = \sum_l x^{(i)}_l$ be the sum of the entries of word $i$. The ½ adds **the same number**,
# $s_i/2$, to every entry of its query, and of its key too. With the ½ alone the score would be
#
# $$\omega_{ij} = d_k \cdot \frac{s_i}{2} \cdot \frac{s_j}{2} = 4\, s_i\, s_j \qquad (d_k = 16)$$
#
# By this rule a word with negative sum looks most at the word with the most negative sum, a word
# with positive sum at the one with the most positive. (Between two close ones the deviations may
# decide, as they do for "to".) Measure it:

# %%
sums = x.sum(dim=1)  # (T,)
common = d_k / 4 * torch.outer(sums, sums)  # (T, T): what the mean of 1/2 contributes
without_mean = (x @ (U_query - 0.5).T) @ (x @ (U_key - 0.5).T).T  # (T, T)

correlation = torch.corrcoef(torch.stack([scores.flatten(), common.flatten()]))[0, 1]
print(f"correlation of the scores with 4 s_i s_j:  {correlation:.2f}")
print(f"standard deviation of 4 s_i s_j:          {common.std():5.1f}")
print(f"standard deviation without the mean:      {without_mean.std():5.1f}")
print("sums:", ", ".join(f"{word} {total:.1f}" for word, total in zip(words, sums, strict=True)))
assert correlation > 0.95 and abs(common.std() - 37.8) < 0.5
assert abs(without_mean.std() - 6.5) < 0.2
assert words[sums.argmin()] == "to" and words[sums.argmax()] == "sentence"

# %% [markdown]
# So nearly all of the spread comes from the ½, and the three favourites are the three words with
# the most extreme sums.
#
# The rule for a good start: **mean zero, and variance $1/d$**. Then a query entry, a sum of $d$
# terms, has about the variance of a word's entry. Glorot and Bengio (2010) give the argument.
# PyTorch's `nn.Linear` draws evenly between $\pm 1/\sqrt{d}$, which has variance $1/(3d)$: a
# little smaller, of the same kind.


# %%
def start(kind):
    """A first U of shape (d, d), by several recipes."""
    if kind == "rand":
        return torch.rand(d, d)
    if kind == "rand - 0.5":
        return torch.rand(d, d) - 0.5
    if kind == "randn":
        return torch.randn(d, d)
    if kind == "randn / √d":
        return torch.randn(d, d) / math.sqrt(d)
    return nn.Linear(d, d, bias=False).weight.detach()


torch.manual_seed(0)
spread = {}
for kind in ["rand", "rand - 0.5", "randn", "randn / √d", "nn.Linear"]:
    draws = [((x @ start(kind).T) @ (x @ start(kind).T).T).std().item() for _ in range(200)]
    spread[kind] = float(np.median(draws))
    print(f"{kind:<11} standard deviation of the scores, median of 200: {spread[kind]:3.0f}")

# %% [markdown]
# `rand - 0.5` looks good as well, but only at this width: its variance, 1/12, happens to be close
# to 1/16. Here are the weights for the first recipe and for the last:

# %%
assert 25 < spread["rand"] < 50 and 45 < spread["randn"] < 95
assert 3 < spread["randn / √d"] < 6 and 1 < spread["nn.Linear"] < 2

torch.manual_seed(123)
good_queries, good_keys = x @ start("nn.Linear").T, x @ start("nn.Linear").T  # (T, d_k) each
good_weights = F.softmax(good_queries @ good_keys.T / math.sqrt(d), dim=-1)  # (T, T)
assert good_weights.min() > 0.05 and good_weights.max() < 0.3

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.3))
plotting.attention_map(weights, words, words, left, limit=1.0)
plotting.attention_map(good_weights, words, words, right, limit=1.0)
left.set_title("rand: three favourites")
right.set_title("like nn.Linear: open to all, ready to learn")
plotting.show(
    figure,
    alt="Two maps of attention weights, the eight words as queries in rows and as keys in columns. "
    "Left, with rand: most rows put most of their weight on three columns, to, translate and "
    "sentence; single weights reach 1.00. Right, with a start like nn.Linear: all weights lie "
    "between 0.06 and 0.26, and no column collects most of them.",
)

# %% [markdown]
# From here on, every projection that this course trains starts with mean zero and a variance of the
# order of $1/d$.

# %% [markdown]
# ## 4. The function
#
# In matrices, with all queries as rows of $Q$, keys of $K$ and values of $V$, this is equation 1 of
# Vaswani et al. (2017):
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# The softmax runs along each row. The loops first. Queries and keys may come from two sequences, of
# lengths $T$ and $S$ (lecture 8 needs that), so we choose sizes that all differ: then nothing fits
# by accident.


# %%
def attention_by_loops(query, key, value):
    """Context vectors (T, d_v); query is (T, d_k), key (S, d_k), value (S, d_v)."""
    rows = []
    for q in query:
        scaled_scores = [torch.dot(q, k) / math.sqrt(len(q)) for k in key]
        exponentials = [torch.exp(score) for score in scaled_scores]
        total = sum(exponentials)
        z = torch.zeros(value.shape[1])
        for exponential, v in zip(exponentials, value, strict=True):
            z = z + exponential / total * v
        rows.append(z)
    return torch.stack(rows)


def scaled_dot_product_attention(query, key, value):
    """Output (..., T, d_v) and weights (..., T, S), for any leading axes."""
    d_k = query.shape[-1]
    scores = query @ key.transpose(-2, -1)  # (..., T, S)
    scaled_scores = scores / math.sqrt(d_k)
    weights = scaled_scores.softmax(dim=-1)  # (..., T, S)
    return weights @ value, weights  # (..., T, d_v), (..., T, S)


# %% [markdown]
# `@` treats the last two axes as matrices and everything before them as a stack. So one function
# serves a sentence, a batch, or a batch with one axis more. (Lecture 5 will need that one, $H$ for
# *heads*: several attentions side by side.) Hold it against three others: our loops, the course's
# reference, and PyTorch's own, which returns the output only.

# %%
generator = torch.Generator().manual_seed(3)
query = torch.randn(2, 7, 3, 4, generator=generator)  # (B, H, T, d_k)
key = torch.randn(2, 7, 5, 4, generator=generator)  # (B, H, S, d_k)
value = torch.randn(2, 7, 5, 6, generator=generator)  # (B, H, S, d_v)

output, weights = scaled_dot_product_attention(query, key, value)
assert output.shape == (2, 7, 3, 6) and weights.shape == (2, 7, 3, 5)
assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 7, 3))

for b in range(2):
    for h in range(7):
        by_loops = attention_by_loops(query[b, h], key[b, h], value[b, h])
        assert torch.allclose(output[b, h], by_loops, atol=1e-5)

reference, reference_weights = attention.scaled_dot_product_attention(query, key, value)
assert torch.allclose(output, reference, atol=1e-6)
assert torch.allclose(weights, reference_weights, atol=1e-6)
assert torch.allclose(output, F.scaled_dot_product_attention(query, key, value), atol=1e-6)
print("loops, course_utils and PyTorch agree:", tuple(output.shape))

# %% [markdown]
# > **You may have read** a version of this function that computes `np.dot(query, key.T)` and then
# > calls `F.softmax`. It cannot run: one half is NumPy, the other PyTorch. Its `.T` is a second
# > trap: on a batch it reverses *all* axes. `np.dot` is a third: it multiplies every matrix of one
# > batch with every matrix of the other. You will repair it in the assignment.

# %%
try:
    F.softmax(np.ones(3), dim=-1)
except AttributeError as error:
    print("AttributeError:", error)

batch = np.zeros((2, 5, 4))  # (B, S, d_k)
print(batch.shape, "-> .T ->", batch.T.shape, "   wanted:", np.swapaxes(batch, -2, -1).shape)
assert batch.T.shape == (4, 5, 2)
assert np.dot(batch, np.swapaxes(batch, -2, -1)).shape == (2, 5, 2, 5)  # wanted: (2, 5, 5)

# %% [markdown]
# ### An example that is too kind
#
# A common first example has two words, and queries and keys that are both the identity. Its
# scaled scores are $1/\sqrt{2} \approx 0.71$ on the diagonal and 0 beside it:

# %%
identity = torch.eye(2)  # both queries and keys
output, weights = scaled_dot_product_attention(identity, identity, 10 * identity)

assert torch.allclose(weights, torch.tensor([[0.6698, 0.3302], [0.3302, 0.6698]]), atol=1e-4)
assert torch.allclose(output, torch.tensor([[6.6976, 3.3024], [3.3024, 6.6976]]), atol=1e-4)
print(weights)
print(output)

# %% [markdown]
# Good for checking by hand, and a poor test. Here are five wrong ways to compute weights. How
# many of them does this example catch?


# %%
def key_not_transposed(query, key):
    return (query @ key / math.sqrt(key.shape[-1])).softmax(dim=-1)


def query_and_key_swapped(query, key):
    return (key @ query.T / math.sqrt(key.shape[-1])).softmax(dim=-1)


def columns_sum_to_one(query, key):
    return (query @ key.T / math.sqrt(key.shape[-1])).softmax(dim=0)


def root_of_the_length(query, key):
    return (query @ key.T / math.sqrt(key.shape[0])).softmax(dim=-1)


def not_scaled(query, key):
    return (query @ key.T).softmax(dim=-1)


# %%
def is_caught(mistake, query, key):
    """Does the mistake crash, or give weights that differ from the right ones?"""
    right = scaled_dot_product_attention(query, key, key)[1]
    try:
        wrong = mistake(query, key)
    except RuntimeError:  # the shapes do not fit
        return True
    return wrong.shape != right.shape or not torch.allclose(wrong, right, atol=1e-4)


mistakes = [key_not_transposed, query_and_key_swapped, columns_sum_to_one, root_of_the_length]
mistakes.append(not_scaled)

caught = {"2 × 2 identity": [], "3 queries, 5 keys, width 4": []}  # the second from above
for mistake in mistakes:
    caught["2 × 2 identity"].append(is_caught(mistake, identity, identity))
    caught["3 queries, 5 keys, width 4"].append(is_caught(mistake, query[0, 0], key[0, 0]))

for example, found in caught.items():
    print(f"{example}: {sum(found)} of {len(mistakes)} mistakes are caught")
assert sum(caught["2 × 2 identity"]) == 1 and all(caught["3 queries, 5 keys, width 4"])

# %% [markdown]
# One of five: `not_scaled`. The other four slip through, one reason for each: the identity is its
# own transpose, query and key are equal, the weights are symmetric, and the number of words equals
# their width. Use random numbers and sizes that all differ.
#
# ### Learnable
#
# The tensors of section 2 were fixed numbers. To be learned, the maps must be *parameters*.
# `nn.Linear` without bias is exactly such a map, and it starts well.


# %%
class SelfAttention(nn.Module):
    """Scaled dot-product self-attention: x (..., T, d) -> (..., T, d_v)."""

    def __init__(self, d, d_k, d_v):
        super().__init__()
        self.U_query = nn.Linear(d, d_k, bias=False)
        self.U_key = nn.Linear(d, d_k, bias=False)
        self.U_value = nn.Linear(d, d_v, bias=False)

    def forward(self, x):
        query, key, value = self.U_query(x), self.U_key(x), self.U_value(x)
        return scaled_dot_product_attention(query, key, value)


torch.manual_seed(3)
layer = SelfAttention(d=16, d_k=5, d_v=7)
z, weights = layer(x)  # (T, d_v), (T, T)
z.square().sum().backward()  # any loss will do, to see whom the gradient reaches

for name, parameter in layer.named_parameters():
    assert parameter.grad.abs().max() > 0
    print(f"{name:<15} {tuple(parameter.shape)!s:>8}   reached by the gradient")
assert z.shape == (8, 7) and sum(p.numel() for p in layer.parameters()) == 16 * (5 + 5 + 7)
scores = layer.U_query(x) @ layer.U_key(x).T  # (T, T)
assert not torch.allclose(scores, scores.T, atol=0.1)  # no longer symmetric

# %% [markdown]
# The number of parameters, $d\,(2 d_k + d_v)$, does not depend on the length of the sentence.
# That is why one layer can read sentences of any length.
#
# ### A mask, in brief
#
# Some keys must not be seen, such as the padding behind a short sentence. So the assignment gives
# the function a fourth argument, `mask`: bool, True = may attend, the same meaning as in
# `F.scaled_dot_product_attention`. A hidden key's scaled score becomes $-\infty$ before the
# softmax, because $\exp(-\infty) = 0$. [Lecture 4](04_masked_attention.ipynb) teaches which masks
# are needed, and how to put one in.
#
# Here is what a correct one *does*: a hidden key gets weight exactly zero, the visible weights
# still sum to one, and a query that may attend to nothing gets zeros, not NaN.

# %%
mask = torch.ones(3, 5, dtype=torch.bool)  # (T, S), the same for all sentences and heads
mask[:, 4] = False  # nobody may look at key 5
_, weights = attention.scaled_dot_product_attention(query, key, value, mask)
assert (weights[..., 4] == 0).all()
assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 7, 3))

mask[1] = False  # and query 2 may look at nothing
output, weights = attention.scaled_dot_product_attention(query, key, value, mask)
assert (weights[..., 1, :] == 0).all() and (output[..., 1, :] == 0).all()
rounded = [[round(weight, 2) for weight in row] for row in weights[0, 0].tolist()]
print(*rounded, sep="\n")

# %% [markdown]
# ## 5. A softmax that cannot overflow
#
# The exponential grows fast. Beyond about 88.7 in float32, and 709.8 in float64, it overflows to
# infinity, and infinity divided by infinity is NaN, not a number. Scores of that size are no exotic
# case: the largest of section 3 is 92. Dividing by 4 saves it, but word vectors twice as long make
# the scores four times as large, and then the largest *scaled* score is 92.
#
# The softmax does not know whether its row was scaled. In this section, `scores` and $\omega_j$ are
# whatever goes in. Here is the formula, taken literally, in NumPy:


# %%
def literal_softmax(scores):
    """Weights of one row of scores (S,), as the formula says: overflows."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum()


small, large = np.array([2.0, 1.0, 0.0]), np.array([1002.0, 1001.0, 1000.0])
with np.errstate(over="ignore", invalid="ignore"):  # the warnings that NumPy would print
    print("scores 2, 1, 0:         ", literal_softmax(small).round(4))
    print("scores 1002, 1001, 1000:", literal_softmax(large))
    assert np.isnan(literal_softmax(large)).all()

# %% [markdown]
# Both rows have the same differences, so they should have the same weights. For any number $c$,
#
# $$\frac{\exp(\omega_j - c)}{\sum_k \exp(\omega_k - c)}
# = \frac{\exp(-c)\,\exp(\omega_j)}{\exp(-c)\,\sum_k \exp(\omega_k)}
# = \frac{\exp(\omega_j)}{\sum_k \exp(\omega_k)}$$
#
# The factor cancels. Choose $c$ as the **largest score of the row**. Then the largest exponent is
# 0, no exponential exceeds 1, and the sum is at least 1: neither overflow nor division by zero.
# What lies more than about 745 below the maximum becomes 0 in float64. Its true weight is below
# $10^{-323}$, and nothing is lost.


# %%
def softmax_of_row(scores):
    """Weights of one row of scores (S,); the largest exponent is 0."""
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


assert np.allclose(softmax_of_row(small), literal_softmax(small))
assert np.allclose(softmax_of_row(large), softmax_of_row(small))
assert np.allclose(softmax_of_row(np.array([-1e4, 0.0, 1e4])), [0, 0, 1])
print(softmax_of_row(large).round(4))

# %% [markdown]
# `torch.softmax` does this inside. In NumPy you do it yourself. Here is self-attention in NumPy,
# row by row. Words are rows, so the maps are $W = U^\top$. The input is 100 times too large on
# purpose.

# %%
rng = np.random.default_rng(3)
X = 100 * rng.standard_normal((2, 3))  # (T, d): two words
Wq, Wk = rng.standard_normal((2, 3, 4)) / math.sqrt(3)  # (d, d_k) each, not square
Wv = rng.standard_normal((3, 5)) / math.sqrt(3)  # (d, d_v)

Q, K, V = X @ Wq, X @ Wk, X @ Wv  # (T, d_k), (T, d_k), (T, d_v)
scaled_scores = Q @ K.T / math.sqrt(K.shape[1])  # (T, T)
stable = np.stack([softmax_of_row(row) for row in scaled_scores])  # (T, T)
with np.errstate(over="ignore", invalid="ignore"):
    literal = np.stack([literal_softmax(row) for row in scaled_scores])

output, weights = attention.numpy_self_attention(X, Wq, Wk, Wv)
assert np.allclose(stable, weights) and np.allclose(stable @ V, output)
assert np.abs(scaled_scores).max() > 710 and np.isnan(literal).any()
print("rows of weights that are NaN, literal softmax:", int(np.isnan(literal).any(axis=1).sum()))
print("rows of weights that are NaN, stable softmax: ", int(np.isnan(stable).any(axis=1).sum()))

# %% [markdown]
# > **You may have read** a NumPy version that divides `np.exp(scores)` by its row sums, tried on
# > random 3 × 3 maps between 0 and 1. With inputs 100 times as large it gives NaN. Square maps
# > hide a forgotten transpose, numbers that are never negative hide a lost sign, and without a
# > seed nobody sees the same output twice. What sums to one is each **row** of the weights.
#
# In the assignment you write it for arrays of any number of axes. Two hints: which axis does the
# maximum belong to, and what must its shape be so that the subtraction broadcasts?

# %% [markdown]
# ## 6. Why $1/\sqrt{d_k}$
#
# ### The variance of a dot product
#
# Let the entries of a query and of a key be independent, with mean 0 and variance 1. That is
# roughly what a good start gives. The score is a sum of $d_k$ products:
#
# $$\omega = q \cdot k = \sum_{l=1}^{d_k} q_l k_l$$
#
# 1. Each product has mean $\mathbb{E}[q_l k_l] = \mathbb{E}[q_l]\,\mathbb{E}[k_l] = 0$, because
#    the two are independent.
# 2. So its variance is $\mathbb{E}[q_l^2 k_l^2] = \mathbb{E}[q_l^2]\,\mathbb{E}[k_l^2] = 1 \cdot
#    1 = 1$.
# 3. The $d_k$ products are independent, so their variances add up: $\mathrm{Var}(\omega) = d_k$.
#
# The standard deviation of a score is $\sqrt{d_k}$: 8 at $d_k = 64$. Dividing a quantity by $c$
# divides its variance by $c^2$, so dividing by $\sqrt{d_k}$ gives
#
# $$\mathrm{Var}\!\left(\frac{\omega}{\sqrt{d_k}}\right) = \frac{d_k}{d_k} = 1$$
#
# at *every* width. Measured on 10 000 pairs for each of five seeds:


# %%
def score_variance(width, seed, pairs=10_000):
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(pairs, width, generator=generator)
    key = torch.randn(pairs, width, generator=generator)
    return (query * key).sum(dim=1).var().item()


print(" d_k   variance of q·k, five seeds             of q·k/√d_k")
for width in [4, 64, 512]:
    variances = [score_variance(width, seed) for seed in range(5)]
    scaled = [variance / width for variance in variances]
    assert all(0.9 < variance < 1.1 for variance in scaled)
    listed = "  ".join(f"{variance:6.1f}" for variance in variances)
    print(f"{width:4d}   {listed}   {min(scaled):.2f} to {max(scaled):.2f}")

# %% [markdown]
# > **You may have read** that scaling keeps "the Euclidean length of the weight vectors" in the
# > same range, or that it makes scores "accurate and reliable". Scaling changes no information:
# > it divides all scores by one number. Queries and keys stay as long as they were, about
# > $\sqrt{d_k}$, and so do the rows of $U_q$ and $U_k$. What it keeps steady is the **variance of
# > the scores** (hence also the length of a row of scores, if that is meant), and through it how
# > sharp the weights are.
#
# ### Saturation
#
# Why care about large scores? Here again, $\omega_j$ is whatever enters the softmax: with the
# scale, the scaled score. Take only two keys. The softmax then depends on one number, the
# difference $\delta = \omega_1 - \omega_2$:
#
# $$\alpha_1 = \frac{1}{1 + \exp(-\delta)}, \qquad
# \frac{\partial \alpha_1}{\partial \delta} = \alpha_1 (1 - \alpha_1)$$
#
# The slope is ¼ at $\delta = 0$ and falls off exponentially. How large is $\delta$? The variances
# of the two scores add up to $2 d_k$, so without the scale its standard deviation is
# $\sqrt{2 d_k}$.

# %%
delta = torch.linspace(-36, 50, 861)
alpha = torch.sigmoid(delta)
typical = {"scaled, any d_k": math.sqrt(2)}
typical |= {f"not scaled, d_k = {d_k}": math.sqrt(2 * d_k) for d_k in (4, 64, 512)}

figure, ax = plt.subplots(figsize=(10, 5.2))
ax.plot(delta, alpha, label="weight α₁", marker="")
ax.plot(delta, alpha * (1 - alpha), label="slope α₁(1 − α₁)", marker="")
for level, (name, reach) in enumerate(typical.items()):
    y = -0.14 - 0.12 * level
    ax.barh(y, 2 * reach, left=-reach, height=0.045, color="black")
    ax.text(reach + 0.8, y, name, va="center", fontsize=12)
ax.text(-35, -0.3, "typical δ, ±\none standard\ndeviation", va="center", fontsize=12)
ax.set(
    xlabel="difference of two scores δ",
    xlim=(-36, 50),
    ylim=(-0.6, 1.05),
    yticks=[0, 0.25, 0.5, 0.75, 1],
)
ax.legend(loc="upper left")
plotting.show(
    figure,
    alt="Weight of the first of two keys against the difference of the scores: an S-shaped curve "
    "that climbs from 0 to 1 between about -5 and 5. Its slope is a narrow bell of height one "
    "quarter, nearly zero beyond ±6. Below, black bars show one standard deviation of the "
    "difference: ±1.4 when scaled, ±2.8 for d_k = 4, ±11.3 for d_k = 64, ±32 for d_k = 512. The "
    "last two reach far beyond the bell.",
)
slope_at_11 = torch.sigmoid(torch.tensor(11.3)) * torch.sigmoid(torch.tensor(-11.3))
assert slope_at_11 < 2e-5

# %% [markdown]
# At $d_k = 64$ a typical difference is 11, and the slope there is about 0.00001. The weight is as
# good as 0 or 1, and changing the scores a little changes next to nothing. The softmax is
# **saturated**.
#
# For many keys the same holds. Let $g = \partial L / \partial z$ be the gradient of the loss $L$ at
# the output. Since $z = \sum_k \alpha_k v^{(k)}$, the gradient at the weight of key $k$ is
# $g \cdot v^{(k)}$. When $\omega_j$ changes, its own weight follows with slope
# $\alpha_j (1 - \alpha_j)$, as above, and the weight of any other key $k$ with slope
# $-\alpha_j \alpha_k$. The chain rule adds all of this up:
#
# $$\frac{\partial L}{\partial \omega_j}
# = \alpha_j\, g \cdot v^{(j)} - \alpha_j \sum_k \alpha_k\, g \cdot v^{(k)}
# = \alpha_j \left( g \cdot v^{(j)} - g \cdot z \right)$$
#
# If one weight is 1, then $z = v^{(j)}$ for that key and its bracket vanishes; for all other keys,
# $\alpha_j$ vanishes. So no score gets any gradient, *whether the choice was right or wrong*.
#
# ### Variance, entropy, gradient: measured
#
# For each width we draw 100 sentences with 10 queries and 16 keys each, values, and a random
# gradient $g$ at the output, with five seeds. We look at three numbers, for scaled and unscaled
# scores:
#
# - the **variance** of the scores;
# - the **entropy** of the weights, $-\sum_j \alpha_j \ln \alpha_j$. It is 0 if one key gets
#   everything, and $\ln 16 \approx 2.77$ if all sixteen get the same;
# - the **gradient** that reaches the scores of a query: the length of the vector
#   $\partial L / \partial \omega$. Median *and* mean over the queries; they will differ.

# %%
num_keys = 16


def measure_scores(scores, value, upstream):
    """Variance, entropy, median and mean gradient length for scores (sentences, T, S)."""
    scores = scores.clone().requires_grad_()
    weights = scores.softmax(dim=-1)  # (sentences, T, S)
    loss = ((weights @ value) * upstream).sum()  # its gradient at the output is `upstream`
    (gradient,) = torch.autograd.grad(loss, scores)
    lengths = gradient.norm(dim=-1)  # (sentences, T)
    entropy = -torch.special.xlogy(weights, weights).sum(dim=-1).mean()  # 0 ln 0 = 0
    numbers = [scores.var(), entropy, lengths.median(), lengths.mean()]
    return [number.item() for number in numbers]


def measure_width(d_k, seed):
    """The four numbers for unscaled scores and for scaled ones: (2, 4)."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(100, 10, d_k, generator=generator)
    key = torch.randn(100, num_keys, d_k, generator=generator)
    value = torch.randn(100, num_keys, 6, generator=generator)
    upstream = torch.randn(100, 10, 6, generator=generator) / math.sqrt(6)  # length about 1
    scores = query @ key.transpose(-2, -1)  # (100, T, S)
    scaled = scores / math.sqrt(d_k)
    return [measure_scores(variant, value, upstream) for variant in (scores, scaled)]


# %%
widths = [2**k for k in range(2, 11)]  # 4, 8, ..., 1024
measured = torch.tensor([[measure_width(d_k, seed) for d_k in widths] for seed in range(5)])
unscaled, scaled = measured.unbind(dim=2)  # each (seeds, widths, 4)

print("        not scaled                     scaled          (medians over seeds)")
print(" d_k    var.  entropy  gradient       var.  entropy  gradient")
for d_k, row in zip(widths, measured.median(dim=0).values.tolist(), strict=True):
    (variance, entropy, gradient, _), (variance_s, entropy_s, gradient_s, _) = row
    print(f"{d_k:4d}  {variance:6.0f}     {entropy:4.1f}   {gradient:7.0e}", end="")
    print(f"     {variance_s:6.1f}     {entropy_s:4.1f}      {gradient_s:4.2f}")

ends = measured[:, [0, -1]]  # (seeds, d_k = 4 and 1024, variant, number)
assert ((scaled[..., 0] > 0.9) & (scaled[..., 0] < 1.1)).all()
assert ((scaled[..., 1] > 2.2) & (scaled[..., 1] < 2.5)).all()
assert (scaled[..., 2] > 0.2).all() and (scaled[..., 2] < 0.35).all()
assert ((ends[:, 1, 0, 0] > 900) & (ends[:, 1, 0, 0] < 1150)).all()
assert (ends[:, 0, 0, 1] > 1.6).all() and (ends[:, 1, 0, 1] < 0.15).all()
assert (ends[:, 1, 0, 2] < 1e-4).all() and (ends[:, 1, 0, 3] > 0.02).all()

drop = unscaled[:, widths.index(64), 3] / unscaled[:, -1, 3]  # mean gradient, d_k = 64 and 1024
assert ((drop > 2.5) & (drop < 5.5)).all()  # the root of 1024 / 64 is 4

# %%
figure, axes = plt.subplots(1, 3, figsize=(14, 4.9))
titles = ["variance of the scores", "entropy of the weights", "gradient at the scores: median"]
for ax, title, number in zip(axes, titles, [0, 1, 2], strict=True):
    plotting.seed_curves(widths, scaled[..., number], "scaled", ax)
    plotting.seed_curves(widths, unscaled[..., number], "not scaled", ax)
    ax.set(xscale="log", xlabel="width d_k", title=title)
    ax.set_xticks(widths[::2], widths[::2])
    ax.minorticks_off()
plotting.seed_curves(widths, unscaled[..., 3], "not scaled, mean", axes[2])
axes[0].set_yscale("log")
axes[1].axhline(math.log(num_keys), color="#5F5F5F", linewidth=1.2)
axes[1].annotate("all 16 equal", (4, math.log(num_keys)), xytext=(0, 5), textcoords="offset points")
axes[1].set_ylim(0, 3.1)
axes[2].set(yscale="log", ylim=(2e-6, 2))
axes[0].legend(loc="upper left")
axes[2].legend(loc="lower left")
plotting.show(
    figure,
    alt="Three panels over the width d_k from 4 to 1024, medians and ranges of five seeds. "
    "Variance of the scores, logarithmic: constant at 1 when scaled, a straight line from 4 "
    "to 1024 when not. Entropy of the weights: constant near 2.35 when scaled, not far below "
    "the line for sixteen equal weights at 2.77; falling from 1.8 to 0.1 when not. Gradient "
    "at the scores, logarithmic: scaled it stays near 0.25; the unscaled median falls from "
    "0.25 to about 0.00001, while the unscaled mean falls only to about 0.04.",
)

# %% [markdown]
# With the scale, all three are flat: attention of width 1024 starts like attention of width 4.
# Without it, the weights become all or nothing, and the gradient of a typical query vanishes.
#
# The mean without the scale tells the rest of the story. In wide networks it falls only about like
# $1/\sqrt{d_k}$. In some rows the two largest scores happen to be close, and these rows still
# learn; at $d_k = 1024$ they carry practically all of the gradient. The others are blind.
#
# And the queries? On its way from the scores to them, the gradient is multiplied by keys, of length
# $\sqrt{d_k} = 32$. With the scale, the division by 32 cancels that. Without it, the typical row
# gets thirty-two times almost nothing, which is still almost nothing. The few rows that learn get a
# lot: they lift the mean to $32 \cdot 0.04$, more than with the scale. So the gradient has not
# become small everywhere. It has become very uneven.
#
# ### Temperature
#
# Dividing scores by a number $\tau$ before the softmax is an old idea with a name from physics:
# **temperature**. Hot means even weights, cold means all or nothing. $\sqrt{d_k}$ is the
# temperature that fits the width.
#
# Try it: one query, eight keys. Find, for each $d_k$, a temperature at which the entropy is about
# 1.7. How does it grow with $d_k$? (The dotted line marks eight equal weights. Their entropy is
# $\ln 8 \approx 2.1$.)

# %%
generator = torch.Generator().manual_seed(6)
one_query = torch.randn(1024, generator=generator)
eight_keys = torch.randn(8, 1024, generator=generator)
sizes = [4, 16, 64, 256, 1024]


def weights_at(d_k, temperature):
    """Weights of eight random keys of width d_k for a random query."""
    scores = eight_keys[:, :d_k] @ one_query[:d_k]  # (8,)
    return F.softmax(scores / temperature, dim=0)


def draw_weights(ax, d_k, temperature, title):
    """Bars of the eight weights, with their entropy."""
    weights = weights_at(d_k, temperature)
    entropy = -torch.special.xlogy(weights, weights).sum()
    ax.bar(range(1, 9), weights, color="#0072B2")
    ax.axhline(1 / 8, color="#5F5F5F", linewidth=1.2, linestyle=":")
    ax.set(title=title, ylim=(0, 1.25), xticks=range(1, 9), yticks=[0, 0.5, 1])
    ax.annotate(f"entropy {entropy:.1f}", (0.97, 0.88), xycoords="axes fraction", ha="right")


# %% tags=["interactive"]
def explore(d_k, temperature):
    figure, ax = plt.subplots(figsize=(7.5, 3.6))
    draw_weights(ax, d_k, temperature, f"d_k = {d_k}, scores divided by {temperature:g}")
    ax.set(xlabel="key", ylabel="weight")
    largest = weights_at(d_k, temperature).max()
    plotting.show(
        figure,
        alt=f"Eight weights as bars, d_k {d_k}, temperature {temperature}, largest {largest:.2f}.",
    )


_ = widgets.interact(
    explore,
    d_k=widgets.SelectionSlider(options=sizes, value=64, description="d_k"),
    temperature=widgets.SelectionSlider(
        options=[2**k for k in range(11)], value=1, description="temperature"
    ),
)

# %% [markdown]
# The same as a picture: three widths, three temperatures.

# %%
figure, axes = plt.subplots(3, 3, figsize=(13, 8.2), sharex=True, sharey=True)
for row, d_k in zip(axes, [4, 64, 1024], strict=True):
    temperatures = {"1": 1, "√d_k": math.sqrt(d_k), "d_k": d_k}
    for ax, (name, temperature) in zip(row, temperatures.items(), strict=True):
        draw_weights(ax, d_k, temperature, f"d_k = {d_k}, τ = {name}")
    row[0].set_ylabel("weight")
for ax in axes[-1]:
    ax.set_xlabel("key")
plotting.show(
    figure,
    alt="Nine bar charts of the weights of eight keys; rows are d_k = 4, 64, 1024, columns are "
    "scores divided by 1, by the root of d_k and by d_k. Divided by 1, the weights get sharper "
    "from row to row until one key has everything. Divided by d_k, they get more even until all "
    "are near one eighth. Divided by the root of d_k, all three rows are uneven to a similar "
    "degree.",
)
entropies = {
    (d_k, power): torch.special.entr(weights_at(d_k, d_k**power)).sum().item()
    for d_k in (4, 1024)
    for power in (0, 0.5, 1)
}
assert entropies[1024, 0] < 0.3 and entropies[1024, 1] > 2.0
assert all(1.2 < entropies[d_k, 0.5] < 2.0 for d_k in (4, 1024))

# %% [markdown]
# In the middle column the entropy hardly depends on the width: the temperature that you looked for
# grows like $\sqrt{d_k}$. Dividing by $d_k$ overshoots at the start: in a wide network, every query
# then gets nearly the plain average of all values, and the comparison hardly matters.

# %% [markdown]
# ## 7. Does it matter for learning? A price list
#
# Queries without a gradient at the start are a warning. Whether they spoil the training has to be
# tried. The task is the dictionary of section 1, with a twist:
#
# - A list names 32 goods in English. Behind each stands a price, one of eight, **drawn anew for
#   every list**. So prices cannot be learned by heart.
# - A customer asks for every good in German, and wants its price.
# - The German names become the queries, the English names the keys, the prices the values. The
#   vectors of the English and of the German names are random and unrelated. Which query belongs to
#   which key has to be learned: it is the only thing that stays the same.
#
# Guessing is right in one of eight cases, 0.125.
#
# Everything is learned by plain gradient descent: $U_q$, $U_k$, $U_v$, and a map $U_o$ from the
# context vector to eight logits, one for each price. All start with variance $1/d$. Five runs, each
# with its own start and its own prices, stand side by side on a leading axis: one call trains all
# five. To take the scale out again, we multiply the queries by $\sqrt{d_k}$ before the function
# divides by it.
#
# Reading the code: `.mT` transposes the last two axes, short for `transpose(-2, -1)`. Two settings
# are for later questions, so pass over them now: `lists` other than `"full"`, and `shrink` other
# than 1.

# %%
num_goods, num_prices, width, num_runs, num_lists = 32, 8, 32, 5, 16

generator = torch.Generator().manual_seed(3)
german = torch.randn(num_goods, width, generator=generator)  # (goods, d): what is asked
english = torch.randn(num_goods, width, generator=generator)  # (goods, d): what is listed
price_vectors = torch.randn(num_prices, width, generator=generator)  # (prices, d)


def start_maps(d_k, shrink):
    """U_q, U_k, U_v, U_o for all runs; U_q and U_k are divided by `shrink`."""
    generator = torch.Generator().manual_seed(7)
    shapes = [(d_k, width), (d_k, width), (width, width), (num_prices, width)]
    divisors = [shrink, shrink, 1.0, 1.0]
    maps = []
    for shape, divisor in zip(shapes, divisors, strict=True):
        draw = torch.randn(num_runs, 1, *shape, generator=generator) / math.sqrt(width)
        maps.append((draw / divisor).requires_grad_())
    return maps


# %%
def draw_lists(generator, lists):
    """Goods on the lists (lists or 1, goods), prices (runs, lists, goods)."""
    goods = torch.arange(num_goods).unsqueeze(0)  # (1, goods): the same for all lists
    if lists == "same half":
        goods = goods[:, : num_goods // 2]  # (1, goods / 2)
    if lists == "own halves":  # a random half of the goods for each list
        order = torch.rand(num_lists, num_goods, generator=generator).argsort(dim=-1)
        goods = order[:, : num_goods // 2]  # (lists, goods / 2)
    shape = (num_runs, num_lists, goods.shape[1])
    return goods, torch.randint(num_prices, shape, generator=generator)


def guess_prices(maps, goods, prices, scaled):
    """Logits of the prices (runs, lists, goods, prices), and attention weights."""
    U_query, U_key, U_value, U_out = maps
    query = german[goods] @ U_query.mT  # (runs, lists or 1, goods, d_k)
    key = english[goods] @ U_key.mT  # (runs, lists or 1, goods, d_k)
    value = price_vectors[prices] @ U_value.mT  # (runs, lists, goods, d)
    if not scaled:
        query = query * math.sqrt(query.shape[-1])  # undoes the division inside
    z, weights = attention.scaled_dot_product_attention(query, key, value)
    return z @ U_out.mT, weights


# %% [markdown]
# The lists of each step have never been seen before, so the accuracy *during* training is honest:
# it is measured before the step learns from them. The result of a run will be the mean over its
# last 30 steps.


# %%
def train(d_k, scaled, step, num_steps=300, lists="full", shrink=1.0, optimizer=torch.optim.SGD):
    """Returns accuracy (runs, steps) and the last weights (runs, lists or 1, goods, goods)."""
    generator = torch.Generator().manual_seed(11)
    maps = start_maps(d_k, shrink)
    to_query_and_key = {"params": maps[:2], "lr": step / shrink**2}
    optimizer = optimizer([to_query_and_key, {"params": maps[2:]}], lr=step)
    accuracy = []
    for _ in range(num_steps):
        goods, prices = draw_lists(generator, lists)
        guess, weights = guess_prices(maps, goods, prices, scaled)
        # cross_entropy averages over the runs too; times their number, each learns as if alone
        loss = num_runs * F.cross_entropy(guess.flatten(0, 2), prices.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy.append((guess.argmax(dim=-1) == prices).float().mean(dim=(1, 2)))
    return torch.stack(accuracy, dim=1), weights.detach()


# %% [markdown]
# To be fair, each variant may choose its best step size out of four, at every width. The cell
# may take a minute.

# %%
steps = [0.03, 0.1, 0.3, 1.0]
key_widths = [4, 16, 64, 256, 1024]
curves = {}  # (d_k, scaled, step) -> accuracy (runs, steps)
for d_k in key_widths:
    for is_scaled in (True, False):
        for step in steps:
            curves[d_k, is_scaled, step], _ = train(d_k, is_scaled, step)


def result(curve):
    """Mean accuracy of each run over the last 30 steps: (runs,)."""
    return curve[:, -30:].mean(dim=1)


def best_step(d_k, is_scaled):
    """The step size with the best mean result over the runs."""
    return max(steps, key=lambda step: result(curves[d_k, is_scaled, step]).mean())


# %% tags=["nbval-ignore-output"]
print("accuracy, mean of five runs; a row for each d_k, a column for each step size")
print("            not scaled                     scaled")
print(" d_k  " + "  |".join("".join(f"{step:7}" for step in steps) for _ in range(2)))
for d_k in key_widths:
    halves = []
    for flag in (False, True):
        cells = [result(curves[d_k, flag, step]).mean() for step in steps]
        halves.append("".join(f"{cell:7.2f}" for cell in cells))
    print(f"{d_k:4d}  " + "  |".join(halves))

# %%
best = {
    (d_k, flag): result(curves[d_k, flag, best_step(d_k, flag)])
    for d_k in key_widths
    for flag in (True, False)
}
for d_k in (16, 64, 256, 1024):  # with the scale: every run, and not only at one step size
    assert result(curves[d_k, True, 0.3]).min() > 0.9
    assert result(curves[d_k, True, 1.0]).min() > 0.95
assert best[4, False].mean() > 0.7 and best[4, True].mean() > 0.85  # narrow: little difference
assert best[16, False].mean() > 0.85
assert best[64, False].mean() < 0.7
for d_k in (256, 1024):  # wide, without the scale: little better than 0.125 at every step size
    assert max(result(curves[d_k, False, step]).mean() for step in steps) < 0.35
    assert curves[d_k, True, 0.3][:, 200:].mean(dim=1).min() > 0.98

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5))
at = torch.arange(10, 301, 10)
for is_scaled, name in [(True, "scaled"), (False, "not scaled")]:
    curve = curves[256, is_scaled, 0.3].unflatten(1, (30, 10)).mean(dim=2)  # (runs, 30)
    plotting.seed_curves(at, curve, name, left)
    ends = torch.stack([best[d_k, is_scaled] for d_k in key_widths], dim=1)  # (runs, widths)
    plotting.seed_curves(key_widths, ends, name, right)
left.set(xlabel="training step", ylabel="accuracy", title="d_k = 256, step size 0.3")
right.set(xscale="log", xlabel="width d_k", ylabel="accuracy at the end")
right.set_title("each at its best step size")
right.set_xticks(key_widths, key_widths)
right.minorticks_off()
for ax in (left, right):
    ax.axhline(1 / num_prices, color="#5F5F5F", linewidth=1.2)
    ax.set_ylim(0, 1.05)
left.text(300, 0.06, "guessing", ha="right")
left.legend(loc="center right")
plotting.show(
    figure,
    alt="Accuracy on the price lists, medians and ranges of five runs. Left, over 300 training "
    "steps at d_k = 256: with the scale it rises to 1 within about 120 steps; without it, it "
    "stays near 0.2, a little above guessing, 0.125. Right, at the end, each variant at its "
    "best step size, over d_k from 4 to 1024: with the scale 1 at every width, in the median; "
    "without it nearly 1 at 4 and 16, around 0.5 at 64, and near guessing at 256 and 1024.",
)

# %% [markdown]
# - **Narrow** ($d_k = 4$ and 16): little difference. Both learn; at 16 the unscaled one does so at
#   fewer step sizes.
# - **Wide** ($d_k \ge 256$): with the scale and a step size of 0.3, every run has learned all
#   prices after about 150 steps. Without it, none of the four step sizes helps.
# - With the scale, the *same* step sizes, 0.3 and 1, work at every width from 16 to 1024.
#
# Would patience help? Four times as many steps:

# %%
patient, _ = train(256, False, 0.3, num_steps=1200)
assert result(patient).mean() < 0.35
print("unscaled, d_k = 256, 1200 steps: still below 0.35")

# %% [markdown]
# Where do the two look after training? The right answer is the diagonal. (Section 8 will need the
# last two numbers.)

# %%
_, weights_scaled = train(256, True, 0.3)
_, weights_unscaled = train(256, False, 0.3)
maps = [weights_scaled[0, 0], weights_unscaled[0, 0]]  # run 1, (goods, goods) each

on_diagonal = [(weights.argmax(dim=-1) == torch.arange(num_goods)).sum().item() for weights in maps]
sharp = [(weights.max(dim=-1).values > 0.99).float().mean().item() for weights in maps]
right_weight = weights_scaled.diagonal(dim1=-2, dim2=-1).mean()
log_weights = weights_scaled.log()  # in each row: the scaled scores, up to a constant
spread_of_scores = log_weights.var(dim=-1).mean()
assert 0.7 < right_weight < 0.87 and 2 < spread_of_scores < 5
assert on_diagonal[0] == num_goods and on_diagonal[1] < num_goods / 3
assert sharp[1] > 0.5
print("scaled: goods found:", on_diagonal[0], "of", num_goods)
print("unscaled: fewer than a third of the goods are found:", on_diagonal[1] < num_goods / 3)
print(f"scaled: mean weight on the right good: about {right_weight:.1f}")
print(f"scaled: variance of the scaled scores within a row: about {spread_of_scores:.0f}")

# %%
names = [str(k + 1) if k % 5 == 4 else "" for k in range(num_goods)]
figure, axes = plt.subplots(1, 2, figsize=(12.5, 5.4))
for ax, weights, title in zip(axes, maps, ["scaled", "not scaled"], strict=True):
    plotting.attention_map(
        weights,
        names,
        names,
        ax,
        limit=1.0,
        query_label="good asked for",
        key_label="good on the list",
    )
    ax.set_title(f"{title}, d_k = 256, after 300 steps")
plotting.show(
    figure,
    alt="Attention weights after training, 32 goods asked for in rows, 32 goods on the list in "
    "columns. Left, scaled: a clean dark diagonal, every good finds its own price. Right, not "
    "scaled: nearly every row has a single, even darker cell, but they are scattered, several in "
    "one column; hardly any lies on the diagonal.",
)

# %% [markdown]
# The unscaled model is not undecided: it is sure, and wrong. To see how it got there, look at its
# weights *before* the first step.

# %%
with torch.no_grad():
    U_query, U_key, _, _ = start_maps(256, shrink=1.0)
    scores = (german @ U_query.mT) @ (english @ U_key.mT).mT  # (runs, 1, goods, goods)
    at_start = scores.softmax(dim=-1)[:, 0]  # (runs, goods, goods), not scaled
at_end = weights_unscaled[:, 0]

sharp_at_start = (at_start.amax(dim=-1) > 0.99).float().mean().item()
sharp_at_end = (at_end.amax(dim=-1) > 0.99).float().mean().item()
first, last = at_start.argmax(dim=-1), at_end.argmax(dim=-1)  # (runs, goods)
kept = (first == last).float().mean().item()
still_wrong = (last != torch.arange(num_goods))[first != last].float().mean().item()
on_right_good = at_start.diagonal(dim1=-2, dim2=-1).median()
assert 0.4 < sharp_at_start < 0.65 and sharp_at_end > 0.75
assert 0.25 < kept < 0.6 and still_wrong > 0.7
assert on_right_good < 1e-8
print("goods with one weight above 0.99 before training: about half")
print("goods with one weight above 0.99 after training:  more than 0.75")
print("median weight of the right good before training: below 1e-8")

# %% [markdown]
# Before training, about half of the goods stare at a single, random good. On the right one lies, in
# the median, less than a hundred-millionth of the weight. The gradient at its score is proportional
# to that weight, so practically nothing says that it should be more. After training about four in
# ten goods still look where they looked at the start. Of the others, most ended at a wrong good
# again, and now nearly nine in ten stare.
#
# ### Is the optimiser to blame?
#
# Adam divides each gradient by its usual size. If the gradient of $U_q$ were merely tiny, Adam
# would cure that. So first measure that gradient, then train with Adam:


# %%
def gradient_length(scaled):
    """Length of the gradient of U_q before the first step, at d_k = 256: (runs,)."""
    maps = start_maps(256, shrink=1.0)
    goods, prices = draw_lists(torch.Generator().manual_seed(11), "full")
    guess, _ = guess_prices(maps, goods, prices, scaled)
    loss = num_runs * F.cross_entropy(guess.flatten(0, 2), prices.flatten())
    (gradient,) = torch.autograd.grad(loss, maps[:1])
    return gradient.flatten(1).norm(dim=1)


assert (gradient_length(False) / gradient_length(True)).min() > 4
print("gradient of U_q, unscaled against scaled: more than four times as long in every run")

with_adam = {
    flag: [result(train(256, flag, step, optimizer=torch.optim.Adam)[0]) for step in (0.001, 0.003)]
    for flag in (True, False)
}
assert min(runs.min() for runs in with_adam[True]) > 0.95
assert max(runs.mean() for runs in with_adam[False]) < 0.35
print("Adam, scaled: all runs above 0.95;  unscaled: both step sizes below 0.35 on average")

# %% [markdown]
# The gradient is not too short: it comes from the few keys that already have weight, and it speaks
# of them only. Adam can make a step longer, but it cannot know a direction that the gradient does
# not contain.
#
# ### Is it always so bad?
#
# No. Let every list name only **half** of the goods, a random half for each. Then the good at
# which a query stares is missing from about every second list, and the query has to look elsewhere.
# More of the keys get a gradient. Half a list is also a shorter list, so to compare, another model
# gets lists of 16 goods too, but always the *same* half.

# %%
own_unscaled = [result(train(256, False, step, lists="own halves")[0]) for step in (0.3, 1.0)]
same_unscaled = [result(train(256, False, step, lists="same half")[0]) for step in (0.3, 1.0)]
own_scaled = result(train(256, True, 0.3, lists="own halves")[0])

assert own_scaled.min() > 0.97
assert 0.45 < max(runs.mean() for runs in own_unscaled) < 0.9  # with full lists below 0.35
assert max(runs.mean() for runs in same_unscaled) < 0.35
print("half lists, scaled: all runs above 0.97")
print("half lists, unscaled, the better step size: between 0.45 and 0.9")
print("the same half every time, unscaled, the better step size: below 0.35")

# %% [markdown]
# With changing halves the unscaled model gets about six prices of ten right after the same 300
# steps, against two of ten with full lists, or with short ones that never change. The scaled one
# learns all of them. So remember the result with its conditions:
# wide queries, a start of variance $1/d$, and little variety in what competes for attention.
# PyTorch's `nn.Linear` starts with a third of the variance in queries and in keys. Its scores
# have standard deviation $\sqrt{d_k}/3$, which is ours at one ninth of the width. So there the
# weights become all or nothing only in wider layers.

# %% [markdown]
# ## 8. What the scale is not
#
# **It is no new ability.** Take an unscaled model and let $U_q$ and $U_k$ start $d_k^{1/4}$ times
# as small. That divides the scores by $\sqrt{d_k}$, so at the start the softmax gets the same
# numbers as in the scaled model.
#
# To keep it so, each step of $U_q$ and $U_k$ must be $d_k^{1/4}$ times as small too. But their
# gradients are $d_k^{1/4}$ times as large, since the same change counts for more in a smaller
# matrix. So divide the step size of these two by $\sqrt{d_k}$. Then the two models stay equal for
# ever, but for rounding. Test it, with `shrink` $= d_k^{1/4}$:

# %%
accuracy_scaled, weights_scaled = train(256, True, 0.1)
accuracy_shrunk, weights_shrunk = train(256, False, 0.1, shrink=256**0.25)

assert torch.allclose(accuracy_scaled[:, -30:], accuracy_shrunk[:, -30:], atol=0.02)
assert torch.allclose(weights_scaled, weights_shrunk, atol=0.02)
print("scaled, and unscaled with a smaller start and smaller steps: the same model")

# %% [markdown]
# So $1/\sqrt{d_k}$ chooses a good start and a good step size, for every width, without your
# thinking about it. That is much for one division. It is no more than that. (The rule for the step
# size holds for plain gradient descent. Adam's steps do not grow with the gradient, so there
# $d_k^{1/4}$ takes the place of $\sqrt{d_k}$.)
#
# **It is no cure for self-copying.** Lecture 2 measured how much weight a word gives itself among
# eight random words. Without projections, query and key are the same vector. Its score with itself
# is about $d$, and divided by $\sqrt{d}$ still $\sqrt{d}$, against ±1 for the others: the
# self-weight is 0.77 at $d = 16$ and 1.00 at $d = 256$. The scale only delays the copying. What
# ends it is *separate maps* for query and key: about 1/8, one share of eight. The derivation in
# section 6 says why: it needs $q$ and $k$ to be **independent**.
#
# **It is no promise for later.** Training makes queries and keys *dependent*: that is its purpose.
# The trained model above puts about four fifths of each row's weight on the diagonal: within a row
# its scaled scores have variance 3, no longer 1. The scale ensures that it could get there. For
# very wide networks, Yang et al. (2022) argue for $1/d_k$ for this very reason.
#
# ## Summary
#
# - $q = U_q x$, $k = U_k x$, $v = U_v x$: three learned maps, the same for all words. The output
#   is the weighted average of the *values*.
# - $\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V$, the softmax along each row, for any leading axes.
#   Query and key share the width $d_k$, key and value share the length $S$.
# - Start with mean zero and variance about $1/d$. `rand` makes all words look at the same few.
# - Subtract the largest score before the exponential.
# - A dot product of independent entries with mean 0 and variance 1 has variance $d_k$. Without the
#   scale, weights become all or nothing and the gradient of a typical query vanishes.
# - On the price lists: little difference at $d_k = 4$; learned or not learned at $d_k = 256$.
#
# **Now you:**
# [assignment a3, scaled dot-product attention](../exercises/a3_scaled_dot_product_attention/a3_scaled_dot_product_attention.ipynb).

# %% [markdown]
# ## Check yourself
#
# **1.** Queries have width 64, values have width 80. By what do you divide the scores?
#
# <details><summary>Answer</summary>
#
# By $\sqrt{64} = 8$. The score is a sum over the entries of query and key; the values take no
# part in it.
#
# </details>
#
# **2.** A sentence has $T = 8$ words, and $d_k = 8$. Why is that a bad size for a test?
#
# <details><summary>Answer</summary>
#
# The scores are 8 × 8, and so are the queries' and the keys' matrices. Dividing by the root of the
# length looks right, and a forgotten transpose raises no error. Use sizes that all differ.
#
# </details>
#
# **3.** You add 5 to all scores of a row. What happens to the weights? And if you multiply them
# by 5?
#
# <details><summary>Answer</summary>
#
# Adding changes nothing: the factor $\exp(5)$ cancels, as in section 5. Multiplying multiplies all
# differences by 5 too, so that the weights get sharper, unless the scores were all equal. It is a
# temperature of 1/5.
#
# </details>
#
# **4.** Where is the mistake: `F.softmax(query @ key.transpose(-2, -1), dim=-1) / math.sqrt(d_k)`?
#
# <details><summary>Answer</summary>
#
# The division comes after the softmax. The rows then sum to $1/\sqrt{d_k}$, and the softmax was as
# saturated as ever. Scale the scores, not the weights.
#
# </details>
#
# **5.** Entries of queries and keys have variance 4 instead of 1. What is the variance of a
# scaled score?
#
# <details><summary>Answer</summary>
#
# Each product has variance $4 \cdot 4 = 16$, the sum $16\, d_k$, the scaled score 16. The scale
# repairs the width, not a bad start.
#
# </details>
#
# **6.** One weight is 1 and it is on the wrong key. What gradient do the scores get?
#
# <details><summary>Answer</summary>
#
# None. All $\alpha_j$ but one are 0, and for the one with $\alpha_j = 1$ the bracket $g \cdot
# v^{(j)} - g \cdot z$ is 0, because $z = v^{(j)}$. The values still get a gradient, the scores do
# not.
#
# </details>
#
# **7.** Why can `help` now look for `me` without `me` looking for `help`?
#
# <details><summary>Answer</summary>
#
# $\omega_{ij} = q^{(i)} \cdot k^{(j)}$ and $\omega_{ji} = q^{(j)} \cdot k^{(i)}$ use different
# vectors. With $q = k = x$ they were the same number.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez,
#   Łukasz Kaiser, Illia Polosukhin (2017). *Attention Is All You Need.* NeurIPS. Section 3.2.1,
#   equation 1 and footnote 4: the variance argument.
# - Minh-Thang Luong, Hieu Pham, Christopher D. Manning (2015). *Effective Approaches to
#   Attention-based Neural Machine Translation.* EMNLP. Section 3.1: the unscaled dot product, and a
#   learned map between query and key ("general").
# - Xavier Glorot, Yoshua Bengio (2010). *Understanding the difficulty of training deep feedforward
#   neural networks.* AISTATS. Section 4.2.1: how large random weights should be.
# - Ian Goodfellow, Yoshua Bengio, Aaron Courville (2016). *Deep Learning.* MIT Press. Section 4.1:
#   overflow, underflow and the softmax.
# - Geoffrey Hinton, Oriol Vinyals, Jeff Dean (2015). *Distilling the Knowledge in a Neural
#   Network.* arXiv:1503.02531. Section 2: the softmax with a temperature.
# - Greg Yang, Edward J. Hu, Igor Babuschkin, Szymon Sidor, Xiaodong Liu, David Farhi, Nick Ryder,
#   Jakub Pachocki, Weizhu Chen, Jianfeng Gao (2022). *Tensor Programs V: Tuning Large Neural
#   Networks via Zero-Shot Hyperparameter Transfer.* arXiv:2203.03466. Definition 4.1: $1/d$
#   instead of $1/\sqrt{d}$.
