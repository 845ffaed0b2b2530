# ---
# jupyter:
#   course:
#     assignment: a3_scaled_dot_product_attention
#     deeper: 30
#     minutes: 48
#     summary: Learned queries, keys and values, and why the scores are divided by √dₖ.
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
# The self-attention of lecture 2 has nothing to learn, and among random vectors each word attends mostly to itself,
# because query and key are the same vector. In this lecture three learned maps turn each word into a **query**, a
# **key** and a **value**. The scores are then divided by $\sqrt{d_k}$. You will derive this factor, and train models
# with and without it.
#
# **By the end of this lecture you will be able to**
#
# <!-- slide: What you will be able to do -->
#
# - compute queries, keys, values, scores, weights and context vectors, with loops and with matrices;
# - implement scaled dot-product attention for any number of leading axes, and as a module with parameters;
# - derive the variance of a dot product, predict what large scores do to a softmax, and say when a model fails without
#   the scale;
# - implement a softmax that cannot overflow.
#
# **Time** about 48 minutes with views and questions, and 30 for going deeper.
# **Needs** [lecture 2](02_basic_self_attention.ipynb), variance, the chain rule.

# %%
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course_utils import attention
from lecture_kit import live, plotting, questions
from lecture_kit.trained import learned

plotting.use_course_style()
torch.set_num_threads(1)  # matrices this small are faster on one core than shared between several
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1. A soft dictionary
#
# A Python dictionary compares your query with its keys and returns the value of the key that equals it. Attention is
# a soft version of this lookup. Query and keys are vectors, so every key fits to some degree. How well each key fits
# becomes its weight, and the result is a weighted mixture of the values.
#
# <!-- slide: Attention is a soft dictionary -->
#
# ![Two panels. Left, a dictionary: the query rice is compared with the keys milk, rice, tea with the values 10,
# 20, 30. An arrow leads to the key rice, on to its value 20, and the result is 20, all of one
# value. Right, attention: the query vector (1, 1) is compared with the keys (2, 0), (1, 2) and (minus 1, 1);
# arrows of different thickness lead to all three. Their weights are 0.306, 0.620 and 0.074, each
# multiplies its value 10, 20 or 30, and the result is 17.7, a share of every value, added
# up.](../figures/soft_lookup.svg)
#
# *A dictionary returns one value, while attention returns a share of every value.*
#
# You can check the right side by hand. The dot products are 2, 3 and 0. Divide them by $\sqrt{2}$, because the
# vectors have two entries, and take the softmax. Every step is differentiable, so gradient descent can learn which keys
# should fit which queries.
#
# In lecture 2 one vector was query and key at once, so "me" fitted "help" exactly as well as "help" fitted "me". Giving
# each word a separate query and key removes this limit too.

# %% [markdown]
# ## 2. Three maps
#
# A word vector $x^{(i)}$ is a row of $d_\text{model}$ numbers. Three matrices map it to its query, its key and
# its value:
#
# <!-- slide: Three learned maps turn a word into query, key and value -->
#
# $$q^{(i)} = x^{(i)} W_q \qquad k^{(i)} = x^{(i)} W_k \qquad v^{(i)} = x^{(i)} W_v$$
#
# These matrices are the **parameters** of attention, and the maps are also called *projections*. All words share them,
# so one product $Q = X W_q$ maps all rows of $X$ at once.
#
# <!-- slide: Queries and keys are compared, values are mixed -->
#
# ![Flow diagram, all matrices drawn to scale. On the left the matrix X with one row for each of the
# words can, you, help, me; the row of you is framed here and in every other matrix. Three arrows
# lead to the maps W q, W k and W v. Out come the queries Q and the keys K, both T times d k, and
# the values V, T times d v. Step 1, similarity: Q and K give the scores Omega equals Q K
# transposed, T times T. Step 2, normalise: the scores are divided by the root of d k, then a
# softmax over each row gives the weights A, shaded from faint to strong. Step 3, weighted sum: A
# times V gives the context vectors Z, T times d v. The values skip the comparison. Only the three
# maps are learned.](../figures/qkv_dataflow.svg)
#
# *Queries and keys are compared; values are mixed.*
#
# <!-- slide: A score is scaled before it becomes a weight -->
#
# | symbol | meaning | all words |
# |---|---|---|
# | $\omega_{ij} = q^{(i)} \cdot k^{(j)}$ | **score** of key $j$ for query $i$ | `(T, T)` |
# | $\omega_{ij}/\sqrt{d_k}$ | **scaled score** | `(T, T)` |
# | $\alpha_{ij}$ | weight, the softmax over $j$ of the scaled scores | `(T, T)` |
# | $z^{(i)} = \sum_j \alpha_{ij} v^{(j)}$ | context vector | `(T, d_v)` |
#
# Query and key need the same width $d_k$ for their dot product. The values may have another, $d_v$.

# %% [markdown]
# ### The running example
#
# The sentence, its embedding and all numbers come from Raschka, Liu and Mirjalili (2022), chapter 16. They write
# words as columns, hence the `.T`. Their widths are all 16, poor sizes for a test (section 7), and `torch.rand` is a poor
# initialisation (section 6).

# %%
words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
sentence = torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])  # (T,)
torch.manual_seed(123)
x = nn.Embedding(10, 16)(sentence).detach()  # (T, D)

torch.manual_seed(123)  # once more, as in the book
w_q = torch.rand(16, 16).T  # (D, d_k)
w_k = torch.rand(16, 16).T  # (D, d_k)
w_v = torch.rand(16, 16).T  # (D, d_v)

# %% [markdown]
# We begin with one word, "you", or `x[1]`, which needs its own query and all keys and values.

# %% slide="“you” needs its own query, and the keys and values of all words"
query_2 = x[1] @ w_q  # (D,) @ (D, d_k) -> (d_k,)
keys = x @ w_k  # (T, D) @ (D, d_k) -> (T, d_k): row j is the key of word j
values = x @ w_v  # (T, d_v)
print("query 2 begins", query_2[:4])
print("key 2 begins  ", keys[1, :4])
print("value 2 begins", values[1, :4])

# %% [markdown]
# **Step 1, similarity.** The score of word 3 for the query of word 2, and then all eight scores:

# %% slide="Step 1: one dot product for each key"
omega_23 = torch.dot(query_2, keys[2])
print(f"omega_23 = {omega_23:.4f}")
omega_2 = keys @ query_2  # (T, d_k) @ (d_k,) -> (T,)
print(omega_2)

# %% [markdown]
# **Step 2, normalise.** Divide by $\sqrt{d_k} = 4$ and take the softmax.

# %% slide="Step 2: divide by $\\sqrt{d_k}$, then take the softmax"
weights_2 = F.softmax(omega_2 / math.sqrt(keys.shape[1]), dim=0)  # (T,)
print(weights_2)

# %% [markdown]
# "you" no longer copies itself, since most of its weight is on word 5, "to". **Step 3, weighted sum.** Now we mix the
# *values*:

# %% slide="Step 3: the weights mix the values"
z_2 = torch.zeros(16)
for weight, value in zip(weights_2, values, strict=True):
    z_2 += weight * value
print(z_2)

# %% tags=["hide-input"]
# fmt: off
expected_scores = torch.tensor([  # the numbers of the book
    -25.1623, 9.3602, 14.3667, 32.1482, 53.8976, 46.6626, -1.2131, -32.9392,
])
expected_weights = torch.tensor([
    2.2317e-09, 1.2499e-05, 4.3696e-05, 3.7242e-03,
    8.5596e-01, 1.4026e-01, 8.8897e-07, 3.1935e-10,
])
expected_z_2 = torch.tensor([
    -1.2226, -3.4387, -4.3928, -5.2125, -1.1249, -3.3041, -1.4316, -3.2765,
    -2.5114, -2.6105, -1.5793, -2.8433, -2.4142, -0.3998, -1.9917, -3.3499,
])
# fmt: on
assert torch.allclose(omega_23, torch.tensor(14.3667), rtol=1e-4)
assert torch.allclose(omega_2, expected_scores, rtol=1e-4)
assert torch.allclose(weights_2, expected_weights, rtol=2e-3, atol=0)
assert torch.allclose(z_2, expected_z_2, rtol=1e-3, atol=1e-3)
print("scores, weights and context vector are those of the book")

# %% [markdown]
# Self-attention is often called an average of the input. Strictly, it averages the values. For all words at once, the
# vectors become matrices:

# %% slide="All words at once are two matrix products"
queries = x @ w_q  # (T, D) @ (D, d_k) -> (T, d_k)
scores = queries @ keys.T  # (T, d_k) @ (d_k, T) -> (T, T)
weights = F.softmax(scores / math.sqrt(keys.shape[1]), dim=-1)  # (T, T), each row sums to one
z = weights @ values  # (T, T) @ (T, d_v) -> (T, d_v)

print("row 2 is what we had:", torch.allclose(z[1], z_2, atol=1e-5))

# %% slide="One row of weights for each query" tags=["hide-input"]
assert torch.allclose(weights[1], weights_2, atol=1e-6) and torch.allclose(z[1], z_2, atol=1e-5)
assert abs(scores.std() - 38) < 1 and abs(scores.max() - 92) < 1  # as large as the text says
assert {words[row.argmax()] for row in weights} == {"to", "translate", "sentence"}

figure, ax = plotting.panels(1, height=4.6)
plotting.attention_map(weights, words, words, ax, limit=1.0)
ax.axhspan(0.5, 1.5, fill=False, edgecolor=plotting.INK, linewidth=2.5)
plotting.picture(
    figure,
    caption="The weights of all eight words, a row for each query. The framed row, “you”, is the one computed above.",
    alt="Attention weights of the eight words, queries in rows and keys in columns, each row with a sum of one. The "
    "framed row of you has 0.86 on to and 0.14 on translate. Most other rows have most of their weight on the same "
    "three columns, to, translate and sentence.",
)

# %% [markdown]
# ## 3. The function
#
# In matrices this is equation 1 of Vaswani et al. (2017), with the softmax along each row:
#
# <!-- slide: The whole mechanism is one line -->
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# Queries and keys may come from two sequences, of lengths $T$ and $S$, as in lecture 8.


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
    weights = (scores / math.sqrt(d_k)).softmax(dim=-1)  # (..., T, S)
    return weights @ value, weights  # (..., T, d_v), (..., T, S)


# %% [markdown]
# `@` treats the last two axes as matrices and everything before them as a stack, so one function serves a sentence
# or a batch. To test it we choose sizes that all differ, so that no shapes match by accident.

# %% slide="One function serves a sentence or a stack of them"
generator = torch.Generator().manual_seed(3)
query = torch.randn(2, 7, 3, 4, generator=generator)  # (2, 7, T, d_k)
key = torch.randn(2, 7, 5, 4, generator=generator)  # (2, 7, S, d_k)
value = torch.randn(2, 7, 5, 6, generator=generator)  # (2, 7, S, d_v)

output, weights = scaled_dot_product_attention(query, key, value)
by_pytorch = F.scaled_dot_product_attention(query, key, value)  # returns the output only
print("PyTorch agrees:", torch.allclose(output, by_pytorch, atol=1e-6))

# %% tags=["hide-input"]
assert output.shape == (2, 7, 3, 6) and weights.shape == (2, 7, 3, 5)
assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 7, 3))
assert torch.allclose(output, by_pytorch, atol=1e-6)
for b in range(2):
    for h in range(7):
        by_loops = attention_by_loops(query[b, h], key[b, h], value[b, h])
        assert torch.allclose(output[b, h], by_loops, atol=1e-5)
reference, reference_weights = attention.scaled_dot_product_attention(query, key, value)
assert torch.allclose(output, reference, atol=1e-6)
assert torch.allclose(weights, reference_weights, atol=1e-6)
print("loops, course_utils and PyTorch agree on all 14 matrices")

# %% [markdown]
# ### A mask, in brief
#
# Some keys must not be seen, such as padding. The assignment therefore gives the function a fourth argument, `mask`, a
# bool tensor in which True means *may attend*. The scaled score of a hidden key is set to $-\infty$, so that its weight
# is 0. A query that may attend to nothing gets zeros, not NaN ([lecture 4](04_masked_attention.ipynb)).

# %% tags=["hide-input"]
# a hidden key gets weight 0, a query with nothing to attend to gets zeros, the other rows sum to one
mask = torch.ones(3, 5, dtype=torch.bool)  # (T, S), the same for all leading axes
mask[:, 4] = False
mask[1] = False
masked_output, masked_weights = attention.scaled_dot_product_attention(query, key, value, mask)
assert (masked_weights[..., 4] == 0).all()
assert (masked_weights[..., 1, :] == 0).all() and (masked_output[..., 1, :] == 0).all()
assert torch.allclose(masked_weights[..., [0, 2], :].sum(dim=-1), torch.ones(2, 7, 2))

# %% [markdown]
# ### The three maps as a module
#
# In a module, each map is an `nn.Linear` without bias. It stores a `weight` of shape `(d_k, d_model)`, which is
# our $W_q^\top$.


# %% slide="In a module, the three maps are parameters"
class SelfAttention(nn.Module):
    """Scaled dot-product self-attention: x (..., T, D) -> (..., T, d_v)."""

    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        return scaled_dot_product_attention(self.w_q(x), self.w_k(x), self.w_v(x))


# %% tags=["hide-input"]
torch.manual_seed(3)
layer = SelfAttention(d_model=16, d_k=5, d_v=7)
layer_z, layer_weights = layer(x)  # (T, d_v), (T, T)
layer_z.square().sum().backward()  # any loss will do: does the gradient reach all three maps?
print("shape and length of the gradient, for D = 16, d_k = 5, d_v = 7")
for name, parameter in layer.named_parameters():
    print(f"{name:<11} {tuple(parameter.shape)!s:>8}  {parameter.grad.norm():.2f}")
assert layer_z.shape == (8, 7) and layer_weights.shape == (8, 8)
assert sum(p.numel() for p in layer.parameters()) == 16 * (5 + 5 + 7)
assert all(p.grad.abs().max() > 0 for p in layer.parameters())
scores_5 = layer.w_q(x) @ layer.w_k(x).T  # (T, T)
assert not torch.allclose(scores_5, scores_5.T, atol=0.1)
assert torch.linalg.matrix_rank(layer.w_q.weight.T @ layer.w_k.weight) == 5
print("16 · (5 + 5 + 7) = 272 parameters; the scores are not symmetric; W_q W_kᵀ has rank 5")

# %% [markdown]
# The three maps stay separate even where a library stores them as one matrix. Their shapes do not depend on $T$, so
# one layer handles sentences of any length.
#
# Only the product of two maps acts on the scores, $\omega_{ij} = x^{(i)} W_q W_k^\top x^{(j)\top}$. This product need
# not be symmetric, so "me" can attend to "help" while "help" attends elsewhere. Its rank is at most $d_k$, so a narrow
# head compares words by only a few features.

# %% tags=["hide-input"]
questions.ask("03", "swapped-maps")

# %% [markdown]
# What can such maps learn? Here is one attention **head**, a set of three maps, in the translator that lecture 8
# trains. Its queries come from the English side, its keys and values from the German words.

# %% slide="After training, a head finds the word to be translated" tags=["hide-input"]
example = learned.sentence("help")
head = next(head for head in example.heads if head.kind == "cross")
_, learned_weights = scaled_dot_product_attention(head.query, head.key, head.value)  # (T, S)
english_words, german_words = example.words("cross")
counted = learned.measure("rendering")
print(
    f"largest weight on a translation of the next word, {counted.cases} cases in {counted.sentences} new "
    f"sentences: {counted.trained:.0%}, before training {counted.untrained:.0%}, chance {counted.chance:.0%}"
)

random_weights = example.weights(head.kind, head.layer, head.head, untrained=True)
assert torch.allclose(learned_weights, example.weights(head.kind, head.layer, head.head), atol=2e-3)
most = {
    word: german_words[row.argmax()]
    for word, row in zip(english_words, learned_weights, strict=True)
}
assert most["help"] == "helfen" and most["me"] == "mir" and most["translate"] == "übersetzen"
to, zu = english_words.index("to"), german_words.index("zu")
assert learned_weights[to].max() < 0.3 and abs(learned_weights[to, zu] - 0.12) < 0.01
assert random_weights.max() < 0.2
assert (counted.kind, counted.layer, counted.head) == (head.kind, head.layer, head.head)
assert counted.sentences == 200 and counted.cases > 2500
assert abs(counted.trained - 0.83) < 0.01
assert abs(counted.untrained - 0.08) < 0.01 and abs(counted.chance - 0.08) < 0.01

figure = plotting.attention_maps(
    [random_weights, learned_weights],
    ["before training", "after training"],
    english_words,
    german_words,
    limit=1.0,
    numbers=False,
    query_label="the next English word",
    key_label="German word",
)
plotting.picture(
    figure,
    caption="Rows are named after the word that is predicted next. Random maps attend to everything; after "
    "training, this head attends mostly to that word's translation.",
    alt="Two maps of attention weights. Ten rows, the positions of the decoder, each named after the word "
    "that comes next; eleven German words as columns. Left, before training: all weights lie between "
    "0.05 and 0.17. Right, after training: you on du 1.0, help on helfen 0.9, me on mir 1.0, translate "
    "on übersetzen 0.9, this on diesen 1.0, sentence on satz 0.9; can has 0.50 on kannst and 0.45 on "
    "du; to has no weight above 0.3, and 0.1 on zu.",
)

# %% [markdown]
# We picked this head for its clear map. On 200 other sentences, in 83 % of the cases its largest weight falls on a German
# word whose translation is the next English word. Every English token is a case, and the grammar behind our corpus knows
# its translations.

# %% [markdown]
# ## 4. Why $1/\sqrt{d_k}$
#
# ### The variance of a dot product
#
# In practice a dot product is faster than the additive score of lecture 1, but in wide heads it works less well
# unless it is scaled (Britz et al., 2017). Vaswani et al. (2017, section 3.2.1) suspect that large scores push the
# softmax to where its gradients are extremely small, which section 8 tests. **The wider the vectors, the farther
# apart the scores lie, and a softmax of scores far apart gives nearly all the weight to one key.** We justify the two
# halves of this sentence in turn.
#
# Let the entries of a query and of a key be independent, with mean 0 and variance 1. The score is a sum of $d_k$
# products, $\omega = q \cdot k = \sum_{l=1}^{d_k} q_l k_l$.
#
# <!-- slide: The variance of a dot product grows with the width -->
#
# 1. Each product has mean $\mathbb{E}[q_l k_l] = \mathbb{E}[q_l]\,\mathbb{E}[k_l] = 0$, because the two are
#    independent.
# 2. So its variance is $\mathbb{E}[q_l^2 k_l^2] = \mathbb{E}[q_l^2]\,\mathbb{E}[k_l^2] = 1 \cdot 1 = 1$.
# 3. The $d_k$ products are independent, so their variances add up to $\mathrm{Var}(\omega) = d_k$.
#
# A score thus has standard deviation $\sqrt{d_k}$, or 8 at $d_k = 64$. Dividing by $c$ divides a variance by $c^2$, so
# dividing by $\sqrt{d_k}$ gives a scaled score of variance $d_k / d_k = 1$ at *every* width. A check on 10 000 pairs:

# %%
torch.manual_seed(0)
for d_k in [4, 64, 512]:
    q, k = torch.randn(2, 10_000, d_k)
    print(f"d_k = {d_k:3d}: variance of the scores {(q * k).sum(dim=1).var():.1f}")

# %% tags=["hide-input"]
# within 5 % of the width, with five seeds
for d_k in [4, 64, 512]:
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        q, k = torch.randn(2, 10_000, d_k, generator=generator)
        assert 0.95 * d_k < (q * k).sum(dim=1).var() < 1.05 * d_k

# %% [markdown]
# Scaling makes no score more accurate. It keeps the **variance of the scaled scores** constant, and through it how
# peaked the weights are.

# %% tags=["hide-input"]
questions.ask("03", "a-louder-query")

# %% [markdown]
# ### Saturation
#
# Now the second half. We write $\tau$ for the divisor, which is 1 without the scale and $\sqrt{d_k}$ with it. The
# weights of two keys depend only on the difference of their scores, $\delta = \omega_1 - \omega_2$, because the softmax
# gives the first one $\alpha_1 = 1/(1 + \exp(-\delta/\tau))$. This curve is steep only near a tie. How far from a tie
# are two random keys?


# %% slide="Without the scale, half of all differences at $d_k = 64$ exceed 7.5 in absolute value" tags=["hide-input"]
def differences(d_k, tau):
    """δ/τ for the scores of two random keys and a random query: (10000,)."""
    generator = torch.Generator().manual_seed(0)
    q, key_1, key_2 = torch.randn(3, 10_000, d_k, generator=generator)
    return (q * (key_1 - key_2)).sum(dim=1) / tau


def product_at(delta):
    """α₁(1 − α₁) where δ/τ is `delta`."""
    return torch.sigmoid(delta) * torch.sigmoid(-delta)


undivided, divided = differences(64, 1), differences(64, 8)
assert abs(undivided.abs().median() - 7.5) < 0.2 and abs(divided.abs().median() - 0.94) < 0.03
assert product_at(torch.tensor(7.5)) < 0.0006 and torch.sigmoid(torch.tensor(7.5)) > 0.999
assert abs((product_at(undivided) < 0.01).float().mean() - 0.68) < 0.02

figure, ax = plotting.panels(1, height=5)
ax.set(xlim=(-25, 25), ylim=(-0.78, 1.05), yticks=[0, 0.25, 0.5, 0.75, 1])
ax.set(xlabel="what the softmax receives, δ/τ")
axis = torch.linspace(-25, 25, 801)
(curve,) = ax.plot(axis, torch.sigmoid(axis), marker="")
ax.text(6.5, 0.9, "weight α₁", color=curve.get_color())
(curve,) = ax.plot(axis, product_at(axis), marker="")
ax.text(3.4, 0.19, "its slope, α₁(1 − α₁)", color=curve.get_color())
bars = [("scaled", 64, 8), ("not scaled", 4, 1), ("not scaled", 64, 1), ("not scaled", 512, 1)]
for number, (name, d_k, tau) in enumerate(bars):
    reach = differences(d_k, tau).abs().median()
    y = -0.2 - 0.17 * number
    ax.barh(y, 2 * reach, left=-reach, height=0.05, color=plotting.MUTED)
    text = f"{name}, {plotting.symbol('d_k')} = {d_k}: ±{reach:.1f}"
    ax.text(0, y + 0.035, text, ha="center", va="bottom", fontsize=11)
plotting.picture(
    figure,
    caption="Where the softmax of two keys still responds; half of all differences lie within the bars.",
    alt="Weight of the first of two keys against the difference that the softmax receives: an S-shaped "
    "curve that climbs from 0 to 1 between about -5 and 5. Its slope, the product of both weights, is a narrow bell "
    "of height one quarter, nearly zero beyond ±6. Below, bars show within which bounds half of all "
    "differences lie: ±0.9 for d_k = 64 scaled, ±1.6 for d_k = 4 not scaled, ±7.5 for d_k = 64 not "
    "scaled, ±21.6 for d_k = 512 not scaled. The last two reach beyond the bell.",
)

# %% [markdown]
# Without the scale, at $d_k = 64$, half of all differences exceed 7.5 in absolute value, and beyond 7.5 the larger
# weight is above 0.999. The softmax is **saturated**: one key has nearly all the weight, and small changes in the
# scores barely change the weights.
#
# ### Temperature
#
# The divisor $\tau$ is called the **temperature**: the higher it is, the flatter the weights. Try it on six random
# queries and eight random keys, whose width the menu *attention* sets; $\tau$ starts at 1.
#
# <!-- slide: Two things to try in the view on the next slide -->
#
# 1. **Saturation.** Go through the widths 4, 16 and 64. In how many of the six rows does one key get more than 0.9?
# 2. **The cure.** At $d_k = 64$ press √dₖ, then dₖ. How large is the largest weight of the map now?

# %% slide="Try it: random queries and keys at any temperature" tags=["hide-input"]
generator = torch.Generator().manual_seed(6)
one_query = torch.randn(1024, generator=generator)
eight_keys = torch.randn(8, 1024, generator=generator)
six_queries = torch.cat([one_query.unsqueeze(0), torch.randn(5, 1024, generator=generator)])
eight_values = torch.randn(8, 4, generator=generator)


def random_attention(d_k):
    """The six queries and eight keys, cut to width d_k; section 4's assumptions hold for them."""
    vectors = (six_queries[:, :d_k], eight_keys[:, :d_k], eight_values)
    return live.Attention(
        *(numbers.round(decimals=3) for numbers in vectors),
        [f"q{number}" for number in range(1, 7)],
        [f"k{number}" for number in range(1, 9)],
        model=f"dₖ = {d_k}",
        sentence="six random queries, eight random keys",
    )


def six_rows(d_k, temperature):
    """Weights (6, 8) of the eight keys for each query, at width d_k."""
    return F.softmax(six_queries[:, :d_k] @ eight_keys[:, :d_k].T / temperature, dim=-1)


certain = [int((six_rows(d_k, 1).amax(dim=-1) > 0.9).sum()) for d_k in (4, 16, 64)]
assert certain == [0, 2, 4]
assert abs(six_rows(64, 8).max() - 0.47) < 0.005 and abs(six_rows(64, 64).max() - 0.16) < 0.005

live.attention_view(
    *(random_attention(d_k) for d_k in (4, 16, 64)),
    caption="Random queries and keys of width 4, 16 or 64, at a temperature of your choice",
    temperature=1.0,
    controls=True,
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# - One key gets more than 0.9 in none of the rows at width 4, in two at 16 and in four at 64.
# - Divided by 8, no weight is above 0.47. Divided by 64, none is above 0.16, close to the uniform 1/8.
#
# </details>

# %% tags=["hide-input"]
questions.ask("03", "what-the-root-does")

# %% [markdown]
# ### Does it matter for learning?
#
# A model that starts saturated may still learn, so we train one with the scale and one without. The task is the
# dictionary of section 1. A list names 32 items in English, each with one of eight prices **drawn anew for every
# list**, so prices cannot be memorised. A customer asks for each item in German, and the model has to learn which query
# belongs to which key: item $i$ in German matches item $i$ in English.
#
# German words become queries, English words keys and prices values. A fourth map turns each context vector into
# **logits**, one number for each price.

# %%
num_items, num_prices, width = 32, 8, 32
generator = torch.Generator().manual_seed(3)
german_vectors = torch.randn(num_items, width, generator=generator)  # what is asked for
english_vectors = torch.randn(num_items, width, generator=generator)  # what is listed
price_vectors = torch.randn(num_prices, width, generator=generator)  # (prices, D)


class PriceList(nn.Module):
    """prices (lists, items) -> logits (lists, items, prices) and weights (items, items)."""

    def __init__(self, d_k, divisor):
        super().__init__()
        self.w_q = nn.Linear(width, d_k, bias=False)
        self.w_k = nn.Linear(width, d_k, bias=False)
        self.w_v = nn.Linear(width, width, bias=False)
        self.w_o = nn.Linear(width, num_prices, bias=False)
        self.divisor = divisor

    def forward(self, prices):
        query, key = self.w_q(german_vectors), self.w_k(english_vectors)  # (items, d_k) each
        weights = (query @ key.T / self.divisor).softmax(dim=-1)  # (items, items), for every list
        value = self.w_v(price_vectors[prices])  # (lists, items, D)
        return self.w_o(weights @ value), weights  # broadcast over the lists


# %% [markdown]
# We train each model for 300 steps of plain gradient descent. Here is the accuracy of three seeds, averaged over the
# last 30 steps.


# %%
def train(model, rate, steps=300):
    """Accuracy at each step (steps,), on lists that the model has not learned from yet."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    accuracy = []
    for _ in range(steps):
        prices = torch.randint(num_prices, (16, num_items))  # 16 new lists
        logits, _ = model(prices)
        loss = F.cross_entropy(logits.flatten(0, 1), prices.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy.append((logits.argmax(dim=-1) == prices).float().mean())
    return torch.stack(accuracy)


# %% slide="Trained without the scale, width 256 learns half of the prices" tags=["hide-input", "nbval-ignore-output"] seconds=8
accuracy = {}
for d_k in [64, 256]:
    for name, divisor in [("scaled", math.sqrt(d_k)), ("not scaled", 1)]:
        runs = []
        for seed in range(3):
            torch.manual_seed(seed)
            runs.append(train(PriceList(d_k, divisor), rate=0.3)[-30:].mean().item())
        accuracy[d_k, name] = runs
        print(f"d_k = {d_k:3d}, {name:<10}", *[f"{run:.2f}" for run in runs])

# %% tags=["hide-input"]
# accuracies that sources/recorded/price_list.py recorded, of five seeds for each setting
RECORDED = """\
opt.  initialisation scaled   d_k  steps   rate  accuracy of five seeds
SGD   nn.Linear      yes        4    300    0.3  0.94  0.84  0.92  0.98  0.99
SGD   nn.Linear      yes       16    300    0.3  1.00  1.00  1.00  1.00  1.00
SGD   nn.Linear      yes       64    300    0.3  1.00  1.00  1.00  1.00  1.00
SGD   nn.Linear      yes      256    300    0.3  1.00  1.00  1.00  1.00  1.00
SGD   nn.Linear      yes     1024    300    0.3  1.00  1.00  1.00  1.00  1.00
SGD   nn.Linear      no         4    300    0.3  0.93  0.92  0.92  0.90  0.92
SGD   nn.Linear      no        16    300    0.3  1.00  1.00  1.00  1.00  1.00
SGD   nn.Linear      no        64    300    0.1  0.95  0.97  0.97  0.97  0.97
SGD   nn.Linear      no       256    300    0.3  0.50  0.63  0.62  0.58  0.51
SGD   nn.Linear      no      1024    300    0.1  0.37  0.23  0.26  0.18  0.32
SGD   unit variance  yes        4    300    0.3  0.94  0.95  1.00  0.94  0.77
SGD   unit variance  yes       16    300    0.3  1.00  1.00  1.00  1.00  1.00
SGD   unit variance  yes       64    300    0.3  1.00  1.00  1.00  1.00  1.00
SGD   unit variance  yes      256    300    0.3  1.00  1.00  1.00  1.00  1.00
SGD   unit variance  yes     1024    300    0.3  1.00  1.00  1.00  1.00  1.00
SGD   unit variance  no         4    300    0.3  0.97  0.96  0.97  0.97  0.86
SGD   unit variance  no        16    300    0.3  1.00  0.97  1.00  1.00  1.00
SGD   unit variance  no        64    300    0.3  0.42  0.45  0.33  0.45  0.37
SGD   unit variance  no       256    300    0.1  0.12  0.29  0.13  0.21  0.21
SGD   unit variance  no      1024    300    1.0  0.18  0.12  0.16  0.13  0.23
Adam  nn.Linear      no       256    300 0.0003  0.13  0.60  0.68  0.51  0.51
SGD   nn.Linear      no       256   1200    0.3  0.62  0.65  0.65  0.59  0.62
Adam  unit variance  no        64    300  0.001  0.36  0.43  0.38  0.51  0.28
SGD   unit variance  no        64   1200    0.3  0.87  0.86  0.75  0.73  0.86
Adam  unit variance  no       256    300 0.0003  0.12  0.30  0.15  0.18  0.21
SGD   unit variance  no       256   1200    0.1  0.18  0.37  0.12  0.21  0.23
"""
recorded = {}  # (optimiser, start, scaled, d_k, steps) -> accuracy of five seeds
for line in RECORDED.splitlines()[1:]:
    name, scaled, d_k, steps, _, *by_seed = line.rsplit(maxsplit=9)
    optimiser, start = name.split(maxsplit=1)
    recorded[optimiser, start.strip(), scaled == "yes", int(d_k), int(steps)] = torch.tensor(
        [float(share) for share in by_seed]
    )
assert all(len(accuracy) == 5 for accuracy in recorded.values())

# %% slide="A missing scale hurts wide heads and large initialisations" tags=["hide-input"]
key_widths = [4, 16, 64, 256, 1024]
for start in ("nn.Linear", "unit variance"):
    assert all(recorded["SGD", start, True, d_k, 300].min() > 0.99 for d_k in key_widths[1:])
    assert recorded["SGD", start, False, 4, 300].min() > 0.8
    assert recorded["SGD", start, False, 16, 300].min() > 0.95
linear = {d_k: recorded["SGD", "nn.Linear", False, d_k, 300] for d_k in key_widths}
unit = {d_k: recorded["SGD", "unit variance", False, d_k, 300] for d_k in key_widths}


def reach(by_seed):
    """The worst and the best of the seeds."""
    return round(by_seed.min().item(), 2), round(by_seed.max().item(), 2)


def right_at_first(d_k, divisor):
    """The weight of the right key before training: the median over the items, for five models."""
    medians = []
    for seed in range(5):
        torch.manual_seed(seed)
        with torch.no_grad():
            _, weights = PriceList(d_k, divisor)(torch.zeros(1, num_items, dtype=torch.long))
        medians.append(weights.diagonal().median())
    return torch.stack(medians)


assert reach(linear[64]) == (0.95, 0.97) and reach(linear[256]) == (0.50, 0.63)
assert reach(linear[1024]) == (0.18, 0.37) and reach(unit[64]) == (0.33, 0.45)
assert unit[256].median() < 0.22 and unit[1024].max() < 0.25
assert abs(sum(accuracy[256, "not scaled"]) / 3 - linear[256][:3].mean()) < 0.05
assert min(accuracy[64, "scaled"] + accuracy[256, "scaled"]) > 0.99
longer = {
    (start, d_k): recorded["SGD", start, False, d_k, 1200]
    for start, d_k in (("nn.Linear", 256), ("unit variance", 64), ("unit variance", 256))
}
adam = [recorded["Adam", start, False, d_k, 300] for start, d_k in longer]
assert 0.002 < right_at_first(64, 1).min() and right_at_first(64, 1).max() < 0.004
assert right_at_first(256, 1).max() < 1e-4 and right_at_first(1024, 1).max() < 1e-7
for d_k in key_widths[1:]:
    assert ((right_at_first(d_k, math.sqrt(d_k)) - 0.0275).abs() < 0.004).all()
assert [reach(one) for one in longer.values()] == [(0.59, 0.65), (0.73, 0.87), (0.12, 0.37)]
assert [reach(one) for one in adam] == [(0.13, 0.68), (0.28, 0.51), (0.12, 0.30)]
short = [linear[256], unit[64], unit[256]]  # as many steps as Adam takes
assert all(one.mean() < other.mean() + 0.005 for one, other in zip(adam, short, strict=True))

figure, axes = plotting.panels(2, height=4.6, sharey=True)
look = {"xscale": "log", "xlabel": f"width {plotting.symbol('d_k')}", "ylim": (0, 1.05)}
for ax, start in zip(axes, ("nn.Linear", "unit variance"), strict=True):
    lines = {
        name: torch.stack([recorded["SGD", start, flag, d_k, 300] for d_k in key_widths], dim=1)
        for name, flag in (("scaled", True), ("not scaled", False))
    }
    plotting.curves(ax, key_widths, lines, **look)
    ax.set_title(start)
    plotting.ticks_at(ax, x=key_widths)
    plotting.level(ax, 1 / num_prices, "guessing" if start == "nn.Linear" else "")
axes[0].set_ylabel("right prices")
plotting.picture(
    figure,
    caption="Right prices after 300 steps from two initialisations: medians and ranges of five seeds, each "
    "setting at the best of five learning rates.",
    alt="Right prices over d_k from 4 to 1024, two panels. Left, from nn.Linear: with the scale 0.94 at 4 and 1 "
    "beyond; without it 0.92 at 4, 1 at 16, 0.97 at 64, 0.58 at 256 and 0.26 at 1024. Right, from unit "
    "variance: with the scale the same; without it 0.97 at 4, 1 at 16, 0.42 at 64, 0.21 at 256 and 0.16 at "
    "1024, where guessing gives 0.125.",
)

# %% [markdown]
# <!-- slide: From `nn.Linear`, width 64 survives without the scale, 256 does not -->
#
# - **With the scale**, every run from width 16 to 1024 gets more than 99 % of the prices right, from both initialisations
#   and at the same learning rate, 0.3.
# - **Without it, from `nn.Linear`**, width 64, the head width of BERT and GPT-2, loses little. Width 256 falls to 0.50 to
#   0.63.
# - **Without it, from unit variance**, where all four maps, and so queries and keys too, start $\sqrt{3}$ times as
#   large, even width 64 gets at most about half of the prices right. The scaled models start from the same maps and do
#   not suffer.
#
# So here a missing scale hurts where scores start out large, in wide heads or after a large initialisation. We have
# not tested a full transformer. More steps help in some settings; Adam does no better (section 8). The figure shows
# runs recorded by `sources/recorded/price_list.py`.

# %% [markdown]
# ## 5. A softmax that cannot overflow
#
# Large scores also break the arithmetic. Beyond 11.1 in float16, 88.7 in float32 and 709.8 in float64, the
# exponential overflows to infinity, and infinity divided by infinity is NaN, not a number. The largest score of
# section 2 was 92. Unscaled, it overflows in float32; divided by 4 it is 23, which overflows only in float16. Taken
# literally in NumPy, the formula is:


# %% slide="Taken literally, the softmax overflows"
def literal_softmax(scores):
    """Weights of one row of scores (S,), as the formula says: overflows."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum()


low, high = np.array([2.0, 1.0, 0.0]), np.array([1002.0, 1001.0, 1000.0])
with np.errstate(over="ignore", invalid="ignore"):  # the warnings that NumPy would print
    print("scores 2, 1, 0:         ", literal_softmax(low).round(4))
    print("scores 1002, 1001, 1000:", literal_softmax(high))

# %% [markdown]
# Both rows have the same differences, so they should have the same weights. For any number $c$,
#
# <!-- slide: Subtracting one number from all scores changes no weight -->
#
# $$\frac{\exp(\omega_j - c)}{\sum_k \exp(\omega_k - c)}
# = \frac{\exp(-c)\,\exp(\omega_j)}{\exp(-c)\,\sum_k \exp(\omega_k)}
# = \frac{\exp(\omega_j)}{\sum_k \exp(\omega_k)}$$
#
# The factor cancels, so we may choose $c$ as the **largest score of the row**. Then the largest exponent is 0, no
# exponential exceeds 1, and the sum is at least 1, so neither overflow nor division by zero can happen, as long as
# the largest score of the row is finite (lecture 4 treats a row without one).


# %% slide="Subtract the largest score, and nothing overflows"
def softmax_of_row(scores):
    """Weights of one row of scores (S,); the largest exponent is 0."""
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


print(softmax_of_row(high).round(4))

# %% tags=["hide-input"]
assert np.allclose(softmax_of_row(low), literal_softmax(low))
assert np.allclose(softmax_of_row(high), softmax_of_row(low))
assert np.allclose(softmax_of_row(np.array([-1e4, 0.0, 1e4])), [0, 0, 1])
print("the same weights as for 2, 1, 0; and scores of -10000, 0, 10000 give 0, 0, 1")

# %% [markdown]
# `torch.softmax` does this inside. In the assignment you implement it in NumPy, for any number of axes, where the
# maximum needs a shape that broadcasts.

# %% tags=["hide-input"]
questions.ask("03", "one-maximum-for-all-rows")

# %% [markdown]
# ## Summary
#
# <!-- slide: Summary -->
#
# - Attention is $\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V$, with the softmax along each row. $Q$, $K$ and $V$ come from
#   three learned maps.
# - A dot product of independent entries with mean 0 and variance 1 has variance $d_k$, and a scaled one has variance 1.
#   Without the scale, the softmax of a wide head starts saturated.
# - With the scale, 300 steps of gradient descent suffice for the price lists at every width from 16 to 1024. Without
#   it, width 256 gets far fewer prices right, and so does width 64 after a large initialisation.
# - Subtract the largest score of the row before the exponential.
#
# **Now you:** [assignment a3, scaled dot-product
# attention](../exercises/a3_scaled_dot_product_attention/a3_scaled_dot_product_attention.ipynb). Sections 6 to 9 go
# deeper, and you can skip them.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 3, 4 and 5 can be checked on the spot. Answer this one in your own words before you look.
#
# Where is the mistake in `F.softmax(query @ key.transpose(-2, -1), dim=-1) / math.sqrt(d_k)`?
#
# <details><summary>Answer</summary>
#
# The division comes after the softmax. The rows then sum to $1/\sqrt{d_k}$, and the softmax is as saturated as
# ever. Scale the scores, not the weights.
#
# </details>

# %% [markdown]
# ## 6. Going deeper: do not start with `rand`
#
# The scores of section 2 had a standard deviation of 38. Why so large? `torch.rand` draws between 0 and 1, with mean
# ½, so each entry of $W$ is ½ plus a deviation. Let $s_i = \sum_l x^{(i)}_l$ be the sum of the entries of word $i$.
# The ½ adds **the same number**, $s_i/2$, to every entry of its query and of its key. On its own it would give the
# score
#
# <!-- slide: `rand` adds one large number to every score -->
#
# $$\omega_{ij} = d_k \cdot \frac{s_i}{2} \cdot \frac{s_j}{2} = 4\, s_i\, s_j \qquad (d_k = 16)$$

# %%
sums = x.sum(dim=1)  # (T,)
common = 4 * torch.outer(sums, sums)  # (T, T): what the mean of 1/2 contributes
without_mean = (x @ (w_q - 0.5)) @ (x @ (w_k - 0.5)).T  # (T, T)
both = torch.stack([scores.flatten(), common.flatten()])
print(f"correlation of the scores with 4 s_i s_j: {torch.corrcoef(both)[0, 1]:.2f}")
print(f"standard deviation: scores {scores.std():.1f}, 4 s_i s_j {common.std():.1f}, ", end="")
print(f"without the mean {without_mean.std():.1f}")

# %% [markdown]
# Nearly all of the spread comes from the ½, and the largest weight of every word is on one of the three words with the
# most extreme sums.
#
# A good initialisation has **mean zero and variance $1/d_\text{model}$**, or some constant times that. Then the
# variance of a query's entry does not depend on the width (Glorot and Bengio, 2010). `nn.Linear` uses a third of this
# variance, which makes the scores a third as large; section 4 shows how much this constant can matter.

# %% slide="With `rand`, three words are everybody's favourites" tags=["hide-input"]
assert torch.corrcoef(both)[0, 1] > 0.97 and abs(common.std() - 37.8) < 0.1
assert abs(without_mean.std() - 6.5) < 0.1
favourites = {words[row.argmax()] for row in scores}
assert favourites == {"to", "translate", "sentence"}
assert favourites == {words[j] for j in sums.abs().topk(3).indices}
spread = {"nn.Linear": [], "variance 1/16": []}
for seed in range(200):
    torch.manual_seed(seed)
    w_1, w_2 = (nn.Linear(16, 16, bias=False).weight.detach().T for _ in range(2))
    spread["nn.Linear"].append(((x @ w_1) @ (x @ w_2).T).std().item())
    w_1, w_2 = torch.randn(2, 16, 16) / 4
    spread["variance 1/16"].append(((x @ w_1) @ (x @ w_2).T).std().item())
spread = {name: float(np.median(draws)) for name, draws in spread.items()}
assert 1.2 < spread["nn.Linear"] < 1.6 and 2.7 < spread["variance 1/16"] / spread["nn.Linear"] < 3.3

torch.manual_seed(123)
good_queries, good_keys = (nn.Linear(16, 16, bias=False)(x).detach() for _ in range(2))
good_weights = scaled_dot_product_attention(good_queries, good_keys, good_keys)[1]
assert good_weights.min() > 0.05 and good_weights.max() < 0.3
figure = plotting.attention_maps(
    [(scores / 4).softmax(dim=-1), good_weights],
    ["rand: three favourites", "nn.Linear: open to all"],
    words,
    words,
    limit=1.0,
)
plotting.picture(
    figure,
    caption="The same eight words with two initialisations: rand prefers three words, nn.Linear none.",
    alt="Two maps of attention weights, the eight words as queries in rows and as keys in columns. "
    "Left, with rand: most rows put most of their weight on three columns, to, translate and "
    "sentence; single weights reach 1.00. Right, with nn.Linear: all weights lie between 0.06 and 0.26, "
    "and no column collects most of them.",
)

# %% [markdown]
# **Check yourself.** A colleague initialises with `torch.rand(512, 512)` and divides the scores by $\sqrt{512}$. Does
# the scale help?
#
# <details><summary>Answer</summary>
#
# Hardly. The ½ alone adds $d_k\, s_i s_j / 4$ to every score, and the sums $s_i$ of 512 entries are about ±23.
# Scores of $512 \cdot 23^2/4 \approx 68\,000$, divided by 23, are still in the thousands. The scale assumes queries
# and keys of mean 0 and variance near 1.
#
# </details>

# %% [markdown]
# ## 7. Going deeper: a test that is too forgiving
#
# A popular first test takes two words whose queries and keys are both the identity. The scaled scores are
# $1/\sqrt{2} \approx 0.71$ on the diagonal and 0 elsewhere:

# %% slide="The identity is easy to check by hand, and a poor test"
identity = torch.eye(2)  # both queries and keys
mixed, shares = scaled_dot_product_attention(identity, identity, 10 * identity)
print(shares, mixed, sep="\n")

# %% tags=["hide-input"]
# the weights are 0.6698 and 0.3302, the output 6.6976 and 3.3024
assert torch.allclose(shares, torch.tensor([[0.6698, 0.3302], [0.3302, 0.6698]]), atol=1e-4)
assert torch.allclose(mixed, torch.tensor([[6.6976, 3.3024], [3.3024, 6.6976]]), atol=1e-4)

# %% [markdown]
# It is easy to check by hand, but it is a poor test. Here are five wrong ways to compute weights. How many does it
# catch?


# %%
def wrong_weights(query, key):
    """What five mistakes give; None where the shapes do not fit."""
    root = math.sqrt(key.shape[-1])
    fits = query.shape[-1] == key.shape[-2]
    return {
        "key not transposed": (query @ key / root).softmax(dim=-1) if fits else None,
        "query and key swapped": (key @ query.T / root).softmax(dim=-1),
        "columns sum to one": (query @ key.T / root).softmax(dim=0),
        "root of the length": (query @ key.T / math.sqrt(len(key))).softmax(dim=-1),
        "not scaled": (query @ key.T).softmax(dim=-1),
    }


def caught(query, key):
    right = scaled_dot_product_attention(query, key, key)[1]
    return [
        name
        for name, wrong in wrong_weights(query, key).items()
        if wrong is None
        or wrong.shape != right.shape
        or not torch.allclose(wrong, right, atol=1e-4)
    ]


generator = torch.Generator().manual_seed(3)
three, five = torch.randn(3, 4, generator=generator), torch.randn(5, 4, generator=generator)
print("2 × 2 identity:            ", caught(identity, identity))
print("3 queries, 5 keys, width 4:", len(caught(three, five)), "of 5")

# %% tags=["hide-input"]
assert caught(identity, identity) == ["not scaled"] and len(caught(three, five)) == 5
rng = np.random.default_rng(3)
X = rng.standard_normal((2, 3))  # (T, D)
Wq, Wk = rng.standard_normal((2, 3, 4))
Wv = rng.standard_normal((3, 5))
reference, rows = attention.numpy_self_attention(X, Wq, Wk, Wv)
scaled_scores = (X @ Wq) @ (X @ Wk).T / 2
by_row = np.stack([softmax_of_row(row) for row in scaled_scores])
assert np.allclose(by_row, rows) and np.allclose(by_row @ (X @ Wv), reference)
print("self-attention in NumPy, row by row, gives what course_utils gives")

# %% [markdown]
# It catches one of five. The identity is its own transpose, query and key are equal, the weights are symmetric, and
# the number of words equals their width. So use seeded random numbers of both signs and sizes that all differ, since
# positive numbers would hide a lost sign, and square maps would hide a forgotten transpose.
#
# Three more traps lie in mixing NumPy and PyTorch, as in `F.softmax(np.dot(query, key.T))`, a function that you will
# repair in the assignment. `F.softmax` takes no arrays, `.T` reverses *all* axes of a batch, and `np.dot` multiplies
# every matrix of one batch with every matrix of the other:

# %%
try:
    F.softmax(np.ones(3), dim=-1)
except AttributeError as error:
    print("AttributeError:", error)
batch = np.zeros((2, 5, 4))  # (B, S, d_k)
swapped = np.swapaxes(batch, -2, -1)
print(".T of", batch.shape, "gives", batch.T.shape, "but we want", swapped.shape)
print("np.dot gives", np.dot(batch, swapped).shape, "but we want", (batch @ swapped).shape)

# %% tags=["hide-input"]
# the shapes of .T, swapaxes, np.dot and @ on a batch
assert batch.T.shape == (4, 5, 2) and swapped.shape == (2, 4, 5)
assert np.dot(batch, swapped).shape == (2, 5, 2, 5) and (batch @ swapped).shape == (2, 5, 5)

# %% [markdown]
# **Check yourself.** A sentence has $T = 8$ words, and $d_k = 8$. Why is that a bad size for a test?
#
# <details><summary>Answer</summary>
#
# The scores are 8 × 8, and so are the matrices of queries and keys. Dividing by the root of the length looks right,
# and a forgotten transpose raises no error.
#
# </details>

# %% [markdown]
# ## 8. Going deeper: how the unscaled model fails
#
# ### The gradient for many keys
#
# Attention is often said to need the scale because gradients vanish without it. That is half of the story. For the two
# keys of section 4 the slope is $\partial \alpha_1 / \partial \delta = \alpha_1 (1 - \alpha_1) / \tau$. It vanishes far
# from a tie, but the factor $1/\tau$ of the scale makes every gradient smaller as well. With more keys it is the same.
#
# Let $g = \partial L / \partial z$ be the gradient of the loss at the output. A change of $\omega_j$ moves $\alpha_j$
# with slope $\alpha_j(1-\alpha_j)/\tau$ and every other $\alpha_k$ with slope $-\alpha_j \alpha_k/\tau$, and each
# $\alpha_k$ moves the loss with slope $g \cdot v^{(k)}$. Summed over $k$, with $z = \sum_k \alpha_k v^{(k)}$, this
# gives
#
# <!-- slide: A key's gradient is proportional to its weight -->
#
# $$\frac{\partial L}{\partial \omega_j} = \frac{\alpha_j}{\tau} \Big( g \cdot v^{(j)} - \sum_k \alpha_k\, g \cdot
# v^{(k)} \Big) = \frac{\alpha_j}{\tau} \left( g \cdot v^{(j)} - g \cdot z \right)$$
#
# If one weight is 1, then $z = v^{(j)}$ for that key and its bracket vanishes, while all other $\alpha_j$ are 0, so no
# score gets any gradient.
#
# ### Entropy and gradient, measured
#
# **With the scale, attention starts alike at every width; without it, the gradient of a wide head goes to few of its
# queries.** We draw 1000 queries with 16 keys each. The **entropy** of their weights, $-\sum_j \alpha_j \ln \alpha_j$,
# is 0 if one key gets everything and $\ln 16 \approx 2.77$ if all get the same. The gradient is the one that arrives at
# the query, from which $W_q$ learns.


# %% tags=["hide-input"]
def attend_at_random(d_k, tau, seed, variance=1.0):
    """Entropy of the weights, and length of the gradient, for 100 sequences of 10 random queries."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(100, 10, d_k, generator=generator) * math.sqrt(variance)
    key = torch.randn(100, 16, d_k, generator=generator) * math.sqrt(variance)
    value = torch.randn(100, 16, 6, generator=generator)  # d_v = 6
    g = torch.randn(100, 10, 6, generator=generator) / math.sqrt(6)  # ∂L/∂z, of length about 1
    query.requires_grad_()
    weights = (query @ key.transpose(-2, -1) / tau).softmax(dim=-1)  # (100, 10, 16)
    (gradient,) = torch.autograd.grad(weights @ value, query, grad_outputs=g)  # ∂L/∂q
    entropy = torch.special.entr(weights).sum(dim=-1)  # entr(α) is -α ln α
    return entropy.detach(), gradient.norm(dim=-1)


# %% slide="With the scale, attention starts alike at every width" tags=["hide-input"]
widths = [2**k for k in range(2, 11)]  # 4, 8, ..., 1024


def over_widths(scaled, variance=1.0):
    """Mean entropy, median gradient and mean gradient: (seeds, widths, 3)."""
    rows = []
    for seed in range(5):
        for d_k in widths:
            tau = math.sqrt(d_k) if scaled else 1
            entropy, gradient = attend_at_random(d_k, tau, seed, variance)
            rows.append([entropy.mean(), gradient.median(), gradient.mean()])
    return torch.tensor(rows).reshape(5, len(widths), 3)


with_scale, without = over_widths(True), over_widths(False)
at = {d_k: number for number, d_k in enumerate(widths)}
assert ((with_scale[..., 0] - 2.36).abs() < 0.06).all()
assert ((with_scale[..., 1] - 0.25).abs() < 0.04).all()
assert (without[:, at[1024], 0] < 0.12).all()
typical, average = without[..., 1] / with_scale[..., 1], without[..., 2] / with_scale[..., 2]
assert (typical[:, : at[64] + 1] > 1.25).all()  # more gradient without the scale up to 64
assert ((typical[:, at[128]] > 0.7) & (typical[:, at[128]] < 0.9)).all()
assert ((typical[:, at[256]] > 0.15) & (typical[:, at[256]] < 0.21)).all()
assert (typical[:, at[1024]] < 0.002).all()
assert (average > 1.8).all() and (average[:, at[64] :] > 3.5).all()
table = {16: (0.65, 0.9), 64: (0.40, 1.1), 128: (0.21, 1.2), 256: (0.04, 1.2), 1024: (0.0002, 1.3)}
for d_k, (in_median, in_mean) in table.items():
    assert abs(without[:, at[d_k], 1].median() - in_median) < 0.15 * in_median
    assert abs(without[:, at[d_k], 2].median() - in_mean) < 0.06
shares_of_close = []  # what the tenth with the closest best scores gets, at 256
for seed in range(5):
    _, gradient = attend_at_random(256, 1, seed)
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(100, 10, 256, generator=generator)
    k = torch.randn(100, 16, 256, generator=generator)
    best, second = (q @ k.transpose(-2, -1)).topk(2, dim=-1).values.flatten(0, 1).T
    closest = (best - second).argsort()[:100]
    shares_of_close.append(gradient.flatten()[closest].sum() / gradient.sum())
assert 0.41 < min(shares_of_close) and max(shares_of_close) < 0.52
like_linear = [over_widths(scaled, variance=1 / 3) for scaled in (False, True)]
advantage = like_linear[0][..., 1] / like_linear[1][..., 1]  # (seeds, widths)
assert (advantage > 2).all() and (advantage < 9).all()

figure, (left, right) = plotting.panels(2, height=4.8)
look = {"xscale": "log", "xlabel": f"width {plotting.symbol('d_k')}"}
entropies = {"scaled": with_scale[..., 0], "not scaled": without[..., 0]}
plotting.curves(left, widths, entropies, ylim=(0, 2.9), **look)
gradients = {
    "scaled": with_scale[..., 1],
    "not scaled": without[..., 1],
    "not scaled:\nmean": without[..., 2],
}
plotting.curves(right, widths, gradients, yscale="log", ylim=(1e-4, 4), **look)
left.set_title("entropy of the weights")
right.set_title("gradient at the query")
for ax in (left, right):
    plotting.ticks_at(ax, x=widths[::2])
plotting.picture(
    figure,
    caption="Without the scale the weights become all or nothing, and the typical query loses its gradient "
    "beyond width 128, while the mean grows.",
    alt="Two panels over the width d_k from 4 to 1024, medians and ranges of five seeds. Left, the entropy: "
    "scaled it stays near 2.4; not scaled it falls from 1.8 at width 4 to 0.1 at 1024. Right, the gradient at "
    "the query, both axes logarithmic: scaled the median stays near 0.25; not scaled it rises from 0.41 to "
    "0.65 at 16, is 0.40 at 64, crosses the scaled one near 128 and falls to 0.04 at 256 and 0.0002 at 1024, "
    "while the mean without the scale rises from 0.5 to about 1.2.",
)

# %% [markdown]
# With the scale both curves are nearly flat. Without it, the typical query gets *more* gradient up to $d_k = 64$, where
# it is 0.40 against 0.25, and from 128 onwards less, falling steeply. The *mean* is larger without the scale at every
# width, because no gradient is divided by $\sqrt{d_k}$. So **the gradient becomes uneven**. At 256 the tenth of the
# queries whose two best scores are closest gets about half of it.
#
# This holds for entries of variance 1. With ordinary inputs, the queries and keys of a new `nn.Linear` have variance
# 1/3, and the typical query gets two to nine times as much gradient *without* the scale, at every width up to 1024.
#
# **Check yourself.** "At $d_k = 64$ attention needs the scale because the gradient vanishes without it." Is that true?
#
# <details><summary>Answer</summary>
#
# No. At unit variance the typical query even gets more gradient without the scale, and with the variance of `nn.Linear`
# it gets eight times as much. What the scale prevents at this width, mainly at unit variance, is an uneven gradient.
#
# </details>
#
# ### The weights, before and after
#
# The typical gradient does not explain why accuracy falls to 0.50–0.63 at 256 and not at 64, since from `nn.Linear`
# it is larger without the scale at both. A likelier reason is the weight of the *right* key at the start, to which
# its gradient is proportional. In the median it is 0.003 at width 64, below 0.0001 at 256 and below $10^{-7}$ at
# 1024; with the scale, it is 0.024 to 0.031 at every width from 16 on, close to 1/32.
#
# At $d_k = 256$ and unit variance, the unscaled model hardly learns, not even at 0.1, the best of five rates, where it
# gets 0.12 to 0.29 of the prices right. Here both models train at 0.3, the best rate of the scaled one. Compare the
# weights before the first step and after the last, in five runs:


# %%
def with_unit_variance(model):
    """nn.Linear has variance 1/(3 d_model); three times that is 1/d_model."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(math.sqrt(3))
    return model


weights_of = {}  # scaled or not -> weights (runs, items, items) before and after
any_prices = torch.zeros(1, num_items, dtype=torch.long)  # weights do not depend on prices
for name, divisor in [("scaled", 16), ("not scaled", 1)]:
    before, after = [], []
    for seed in range(5):
        torch.manual_seed(seed)
        model = with_unit_variance(PriceList(256, divisor))
        before.append(model(any_prices)[1].detach())
        train(model, rate=0.3)
        after.append(model(any_prices)[1].detach())
    weights_of[name] = torch.stack(before), torch.stack(after)

# %% tags=["nbval-ignore-output"]
before, after = weights_of["not scaled"]
first, last = before.argmax(dim=-1), after.argmax(dim=-1)  # (runs, items): the favourite key
true_of = {
    "one weight above 0.99 before training": before.amax(dim=-1) > 0.99,
    "one weight above 0.99 after training": after.amax(dim=-1) > 0.99,
    "after training on the right key": last == torch.arange(num_items),
    "after training on the same key as before": last == first,
}
for what, which in true_of.items():
    by_run = which.float().mean(dim=1)  # (runs,)
    print(f"{what:<41} {by_run.min():.0%} to {by_run.max():.0%} of the items")
print(f"median weight of the right key before: {before.diagonal(dim1=1, dim2=2).median():.0e}")

# %% slide="The unscaled model is confident and wrong" tags=["hide-input"]
share_of = {what: which.float().mean() for what, which in true_of.items()}
assert abs(share_of["one weight above 0.99 before training"] - 0.47) < 0.05
assert abs(share_of["one weight above 0.99 after training"] - 0.88) < 0.07
assert share_of["after training on the right key"] < 0.15
assert abs(share_of["after training on the same key as before"] - 0.46) < 0.1
assert before.diagonal(dim1=1, dim2=2).median() < 1e-13
assert (weights_of["scaled"][1].argmax(dim=-1) == torch.arange(num_items)).all()

names = [str(k + 1) if k % 5 == 4 else "" for k in range(num_items)]
figure = plotting.attention_maps(
    [weights_of["scaled"][1][0], after[0]],
    ["scaled", "not scaled"],
    names,
    names,
    limit=1.0,
    size=(10, 4.8),
    query_label="item requested",
    key_label="item on the list",
)
plotting.picture(
    figure,
    caption="After 300 steps at width 256 and unit variance: one model finds every item, the other is "
    "confident and wrong.",
    alt="Attention weights after training, 32 items requested in rows, 32 items on the list in "
    "columns. Left, scaled: a clean strong diagonal, every item finds its own price. Right, not "
    "scaled: nearly every row has a single, even stronger cell, but they are scattered, several in "
    "one column; hardly any lies on the diagonal.",
)

# %% [markdown]
# Before training, about half of the queries put nearly all their weight on one random key, and the median weight of the
# right key is below $10^{-13}$. Its gradient is proportional to that weight, so almost nothing tells the model to raise
# it. Training makes more queries confident but hardly any of them right.
#
# ### More steps, another optimiser
#
# Here are all recorded runs, each setting at the best of its learning rates. On another computer, rounding alone can
# change an accuracy by 0.2 at width 4, and by 0.04 at width 256 without the scale.

# %%
print(RECORDED)

# %% [markdown]
# Four times as many steps help a great deal at width 64 from unit variance, and little elsewhere. Adam, at the best
# of six rates, does no better than plain gradient descent. It would cure a gradient that is small for all queries
# alike, but it cannot equalise queries that share $W_q$ and $W_k$. That suggests that the gradient is not merely
# small, but carries almost no information about the right keys.

# %% [markdown]
# ## 9. Going deeper: what the scale is not
#
# **The scale is not a new ability.** Take an unscaled model and divide the initial $W_q$ and $W_k$ by $d_k^{1/4}$. That
# divides the scores by $\sqrt{d_k}$, so the softmax receives the same numbers as in the scaled model. The gradients of
# these two are then $d_k^{1/4}$ times as large, because the same change counts for more in a smaller matrix. For plain
# gradient descent, dividing their learning rate by $\sqrt{d_k}$ makes up for both. We test it at $d_k = 256$, where
# $d_k^{1/4} = 4$:

# %% seconds=1
torch.manual_seed(0)
scaled_model = PriceList(256, divisor=16)
torch.manual_seed(0)
smaller_start = PriceList(256, divisor=1)
with torch.no_grad():
    smaller_start.w_q.weight /= 4
    smaller_start.w_k.weight /= 4

groups = [
    {"params": [smaller_start.w_q.weight, smaller_start.w_k.weight], "lr": 0.3 / 16},
    {"params": [smaller_start.w_v.weight, smaller_start.w_o.weight], "lr": 0.3},
]
for model, optimizer in [
    (scaled_model, torch.optim.SGD(scaled_model.parameters(), lr=0.3)),
    (smaller_start, torch.optim.SGD(groups)),
]:
    torch.manual_seed(1)  # the same lists
    for _ in range(100):
        prices = torch.randint(num_prices, (16, num_items))
        loss = F.cross_entropy(model(prices)[0].flatten(0, 1), prices.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
gap = (scaled_model(any_prices)[1] - smaller_start(any_prices)[1]).abs().max()
print(f"after 100 steps the weights differ by at most {gap:g}")

# %% tags=["hide-input"]
assert gap < 1e-5
right = weights_of["scaled"][1].diagonal(dim1=1, dim2=2).mean()
spread = weights_of["scaled"][1].log().var(dim=-1).mean()  # scaled scores, up to a constant
assert abs(right - 0.78) < 0.03 and abs(spread - 3.4) < 0.4


def self_weight(width, maps, scaled, seed):
    """The mean weight that eight random words give themselves."""
    torch.manual_seed(seed)
    x = torch.randn(8, width)
    w_1, w_2 = torch.randn(2, width, width) / math.sqrt(width)
    q, k = (x @ w_1, x @ w_2) if maps else (x, x)
    weights = (q @ k.T / (math.sqrt(width) if scaled else 1)).softmax(dim=-1)
    return weights.diagonal().mean().item()


own = {
    (width, maps): float(np.mean([self_weight(width, maps, True, seed) for seed in range(200)]))
    for width in (16, 256)
    for maps in (False, True)
}
assert abs(own[16, False] - 0.79) < 0.01 and own[256, False] > 0.99
assert all(abs(own[width, True] - 1 / 8) < 0.02 for width in (16, 256))
print(
    f"with the scale, the right item ends at a weight of {right:.2f}, and scaled scores vary by {spread:.1f}"
)
print(
    f"self-weight with the scale, width 16 and 256: {own[16, False]:.2f}, {own[256, False]:.2f}",
    end="",
)
print(f"; with separate maps: {own[16, True]:.2f}, {own[256, True]:.2f}")

# %% [markdown]
# For plain gradient descent, that is all the division does: it amounts to smaller initial $W_q$ and $W_k$ and a smaller
# learning rate for them, chosen so that one rate fitted every width from 16 to 1024 here. With Adam, whose steps do not
# depend on the size of the gradient, the rate would be divided by $d_k^{1/4}$ instead. With weight decay a third change
# is needed: for plain gradient descent, the decay of these two maps must be multiplied by $\sqrt{d_k}$.
#
# **The scale does not cure self-copying.** Without maps, a word's score with itself is about $d_\text{model}$, and
# after the division still $\sqrt{d_\text{model}}$, against ±1 for the others. What ends the copying is *separate
# maps* for query and key, which bring the self-weight of eight random words to about 1/8. They make query and key
# **independent** at the start, as the derivation in section 4 assumes.
#
# **The scale guarantees nothing after training.** Training makes queries and keys *dependent*, on purpose. The scaled
# models of section 8 end with scaled scores of variance 3.4, no longer 1. For very wide networks, Yang et al. (2022)
# argue for $1/d_k$ for this very reason.
#
# **Check yourself.** After training, queries and keys point the same way wherever they belong together. How do
# their scores then grow with $d_k$, and what does $1/\sqrt{d_k}$ leave of that growth?
#
# <details><summary>Answer</summary>
#
# Aligned vectors with entries of size 1 have a dot product of about $d_k$, not $\sqrt{d_k}$, as a word has with itself
# in lecture 2. The scale leaves $\sqrt{d_k}$.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz Kaiser,
#   Illia Polosukhin (2017). *[Attention Is All You Need.](https://arxiv.org/abs/1706.03762)* NeurIPS.
#   Section 3.2.1, equation 1 and footnote 4: the variance argument.
# - Sebastian Raschka, Yuxi (Hayden) Liu, Vahid Mirjalili (2022). *[Machine Learning with PyTorch and
#   Scikit-Learn.](https://github.com/rasbt/machine-learning-book)* Packt. Chapter 16, on parameterising
#   self-attention: the running example.
# - Minh-Thang Luong, Hieu Pham, Christopher D. Manning (2015). *[Effective Approaches to Attention-based
#   Neural Machine Translation.](https://arxiv.org/abs/1508.04025)* EMNLP. Section 3.1: the unscaled dot
#   product, and a learned map between query and key ("general").
# - Denny Britz, Anna Goldie, Minh-Thang Luong, Quoc Le (2017). *[Massive Exploration of Neural Machine
#   Translation Architectures.](https://arxiv.org/abs/1703.03906)* EMNLP. On attention mechanisms: the
#   additive score against the unscaled dot product.
# - Xavier Glorot, Yoshua Bengio (2010). *[Understanding the difficulty of training deep feedforward neural
#   networks.](https://proceedings.mlr.press/v9/glorot10a.html)* AISTATS. Section 4.2.1: how large random
#   weights should be.
# - Ian Goodfellow, Yoshua Bengio, Aaron Courville (2016). *[Deep
#   Learning.](https://www.deeplearningbook.org)* MIT Press. Section 4.1: overflow, underflow and the
#   softmax.
# - Geoffrey Hinton, Oriol Vinyals, Jeff Dean (2015). *[Distilling the Knowledge in a Neural
#   Network.](https://arxiv.org/abs/1503.02531)* arXiv:1503.02531. Section 2: the softmax with a
#   temperature.
# - Greg Yang, Edward J. Hu, Igor Babuschkin, Szymon Sidor, Xiaodong Liu, David Farhi, Nick Ryder, Jakub
#   Pachocki, Weizhu Chen, Jianfeng Gao (2022). *[Tensor Programs V: Tuning Large Neural Networks via
#   Zero-Shot Hyperparameter Transfer.](https://arxiv.org/abs/2203.03466)* arXiv:2203.03466. Definition 4.1:
#   $1/d_k$ instead of $1/\sqrt{d_k}$.
