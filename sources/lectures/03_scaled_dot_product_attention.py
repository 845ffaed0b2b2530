# ---
# jupyter:
#   course:
#     assignment: a3_scaled_dot_product_attention
#     deeper: 36
#     minutes: 99
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
# The attention of lecture 2 had nothing to learn, and every word mostly found itself. In this lecture each word
# gets three learned roles. It asks as a *query*, it is compared as a *key*, and it is mixed in as a *value*. One
# small factor comes along, $1/\sqrt{d_k}$, and we will see exactly what it is for and train a model that fails
# without it.
#
# **Afterwards you will be able to**
#
# - compute queries, keys, values, scores, weights and context vectors, with loops and with matrices;
# - write the function for any number of leading axes, and compare it with PyTorch's own;
# - derive the variance of a dot product, and say what happens to weights and gradients without the scale, and at
#   which widths;
# - write a softmax that cannot overflow;
# - say, if you go deeper, what the scale does *not* do.
#
# **Time** about 99 minutes with views and questions, and 36 for going deeper.
# **Needs** [lecture 2](02_basic_self_attention.ipynb),
# variance, the chain rule.

# %%
import math

import matplotlib.pyplot as plt
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
# The words query, key and value come from databases. A Python dictionary compares your query with its keys, and if
# your query equals one of the keys, you get the value of that key.
#
# Attention does the same softly. Query and keys are vectors, so *every* key fits to some degree. The degrees
# become weights, and you get a share of every value.
#
# ![Two panels. Left, a dictionary: the query rice meets the keys milk, rice, tea with the values 10,
# 20, 30. An arrow leads to the key rice, on to its value 20, and the result is 20, all of one
# value. Right, attention: the query vector (1, 1) meets the keys (2, 0), (1, 2) and (minus 1, 1);
# arrows of different thickness lead to all three. Their weights are 0.306, 0.620 and 0.074, each
# multiplies its value 10, 20 or 30, and the result is 17.7, a share of every value, added
# up.](../figures/soft_lookup.svg)
#
# *A dictionary returns one value, while attention returns a share of every value.*
#
# You can check the right side by hand. The dot products are 2, 3 and 0. They are divided by $\sqrt{2}$, since the
# vectors have two entries (section 4 tells why), and then the softmax is taken. Because such a soft lookup can be
# differentiated, gradient descent can work on it.
#
# A dot product is also the product of the two lengths and the cosine of the angle between the vectors, so a key
# scores high when it is long and points the query's way.
#
# ![Three planes with the query (1, 1) as a blue arrow and one key each as an orange arrow; a dotted line
# drops the key onto the query's direction. Key (2, 0): angle 45 degrees, 1.41 times 2.00 times the
# cosine, score 2, weight 0.306. Key (1, 2): angle 18 degrees, 1.41 times 2.24 times the cosine, score
# 3, weight 0.620. Key (minus 1, 1): angle 90 degrees, score 0, weight
# 0.074.](../figures/dot_product_angle.svg)
#
# *The same three keys are drawn as arrows. What counts is how far a key reaches in the query's direction.*
#
# In lecture 2 a word used the *same* vector for all three roles, and two things followed from that:
#
# - a word usually fits itself best, so it nearly copied itself;
# - scores are symmetric, so "me" fits "help" exactly as well as "help" fits "me".
#
# So we give each role a vector of its own.

# %% [markdown]
# ## 2. Three maps
#
# A word vector $x^{(i)}$ is a row of $d_\text{model}$ numbers. Three matrices map it to its query, its key and
# its value:
#
# $$q^{(i)} = x^{(i)} W_q \qquad k^{(i)} = x^{(i)} W_k \qquad v^{(i)} = x^{(i)} W_v$$
#
# The same three matrices serve all words, so with a word in each row of $X$, one product maps them all, as in $Q
# = X W_q$. The three matrices are what is learned, and such maps are also called *projections*.
#
# Other texts transpose these maps. Some write words as columns, $q = W_q x$, and `nn.Linear(d_model, d_k)` stores
# its `weight` as `(d_k, d_model)`, which is our $W_q^\top$. It is the same map each time.
#
# The rest is lecture 2 with one more step. The scores are divided by $\sqrt{d_k}$, so that they do not start
# larger in a wider network (section 4).
#
# ![Flow diagram, all matrices drawn to scale. On the left the matrix X with one row for each of the
# words can, you, help, me; the row of you is framed here and in every other matrix. Three arrows
# lead to the maps W q, W k and W v. Out come the queries Q and the keys K, both T times d k, and
# the values V, T times d v. Step 1, similarity: Q and K meet in the scores Omega equals Q K
# transposed, T times T. Step 2, normalise: the scores are divided by the root of d k, then a
# softmax over each row gives the weights A, shaded from faint to strong. Step 3, weighted sum: A
# times V gives the context vectors Z, T times d v. The values skip the comparison. Only the three
# maps are learned.](../figures/qkv_dataflow.svg)
#
# *Queries are compared with keys to make the scores, and the values wait until the weights are there.*
#
# | symbol | meaning | shape | in the code |
# |---|---|---|---|
# | $T$, $d_\text{model}$ | number of words, width of a word vector | | 8, 16 |
# | $d_k$, $d_v$ | width of queries and keys; width of values | | 16, 16 |
# | $W_q$, $W_k$, $W_v$ | the learned maps | `(D, d_k)`, `(D, d_k)`, `(D, d_v)` | `w_q`, `w_k`, `w_v` |
# | $q^{(i)}$, $k^{(i)}$, $v^{(i)}$ | query, key, value of word $i$ | `(d_k,)`, `(d_k,)`, `(d_v,)` | `queries[i - 1]` … |
# | $\omega_{ij} = q^{(i)} \cdot k^{(j)}$ | **score** of key $j$ for query $i$ | `(T, T)` | `scores` |
# | $\omega_{ij}/\sqrt{d_k}$ | **scaled score** | `(T, T)` | `scaled_scores` |
# | $\alpha_{ij}$ | weight: softmax over $j$ of the scaled scores | `(T, T)` | `weights` |
# | $z^{(i)} = \sum_j \alpha_{ij} v^{(j)}$ | context vector of word $i$ | `(d_v,)` | `z_2` for word 2 |
#
# Query and key must have the same width, because we take their dot product. The value may have another one.

# %% tags=["hide-input"]
questions.ask("03", "the-width-of-a-context-vector")

# %% [markdown]
# ### The running example
#
# The sentence and the embedding are those of lecture 2. The example, with its numbers, is that of Raschka, Liu
# and Mirjalili (2022), chapter 16. To get the same numbers we draw as they do, with `torch.rand` and from the
# same seed, and all widths are 16. They write words as columns, hence the `.T`.

# %%
words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
sentence = torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])  # (T,)

torch.manual_seed(123)
x = nn.Embedding(10, 16)(sentence).detach()  # (T, D)

torch.manual_seed(123)  # once more, as in the book
T, d_model = x.shape
w_q, w_k, w_v = (torch.rand(d_model, d_model).T for _ in range(3))  # (D, d_k) twice, (D, d_v)
print(x.shape, w_q.shape)

# %% [markdown]
# We begin with one word. Word 2, "you", is `x[1]`. It asks, so we need its query. It compares itself with *all*
# words and mixes all of them, so we also need every key and every value, which takes one product each.

# %%
query_2 = x[1] @ w_q  # (D,) @ (D, d_k) -> (d_k,)
keys = x @ w_k  # (T, D) @ (D, d_k) -> (T, d_k): row j is the key of word j
values = x @ w_v  # (T, d_v)

print("query 2 begins", query_2[:4])
print("key 2 begins  ", keys[1, :4])
print("value 2 begins", values[1, :4])

# %% [markdown]
# **Step 1, similarity.** We compute the score of word 3 for the query of word 2, and then all eight scores:

# %%
omega_23 = torch.dot(query_2, keys[2])
print(f"omega_23 = {omega_23:.4f}")

omega_2 = keys @ query_2  # (T, d_k) @ (d_k,) -> (T,)
for word, score in zip(words, omega_2, strict=True):
    print(f"{word:>9}  {score:8.2f}")

# %% [markdown]
# **Step 2, normalise.** We divide by $\sqrt{d_k} = 4$, and the softmax of the scaled scores gives the weights.

# %%
d_k = keys.shape[1]
weights_2 = F.softmax(omega_2 / math.sqrt(d_k), dim=0)  # (T,)

for word, weight in zip(words, weights_2, strict=True):
    print(f"{word:>9}  {weight:.4f}")

# %% [markdown]
# "you" no longer copies itself but looks at "to".
#
# **Step 3, weighted sum.** Now we mix the *values*:

# %%
z_2 = torch.zeros(values.shape[1])
for weight, value in zip(weights_2, values, strict=True):
    z_2 += weight * value
print(z_2)

# %% tags=["hide-input"]
# fmt: off
expected_scores = torch.tensor([  # known values of this example, to check against
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
print("the known scores, weights and context vector of this example are met")

# %% [markdown]
# Self-attention is often said to average the input. With $W_v$ it averages the *values*; what it compares are
# queries and keys. That makes a difference, because $z$ can now leave the region between the words, which it
# could not in lecture 2 (the grey triangle there).
#
# We do the same for all words at once. With every query as a row, the vectors become matrices:

# %%
queries = x @ w_q  # (T, D) @ (D, d_k) -> (T, d_k)
scores = queries @ keys.T  # (T, d_k) @ (d_k, T) -> (T, T)
weights = F.softmax(scores / math.sqrt(d_k), dim=-1)  # (T, T), each row sums to one
z = weights @ values  # (T, T) @ (T, d_v) -> (T, d_v)

print("row 2 is what we had:", torch.allclose(z[1], z_2, atol=1e-5))
print(f"scores: standard deviation {scores.std():.0f}, largest {scores.max():.0f}")
for word, row in zip(words, weights, strict=True):
    print(f"{word:>9} looks most at {words[row.argmax()]:<9}  weight {row.max():.2f}")

# %% tags=["hide-input"]
assert torch.allclose(weights[1], weights_2, atol=1e-6) and torch.allclose(z[1], z_2, atol=1e-5)
assert abs(scores.std() - 38) < 1 and abs(scores.max() - 92) < 1
favourites = {words[row.argmax()] for row in weights}
assert favourites == {"to", "translate", "sentence"}
print("they look at", " or ".join(sorted(favourites)))

# %% [markdown]
# These weights mean nothing, because the maps are random. They are extreme because `rand` draws between 0 and 1, with
# mean ½. This mean adds a common part to all entries, so the scores spread ten times as far as with **mean zero and
# variance $1/d_\text{model}$**, which is the rule for a good start. (`nn.Linear` starts with a third of that
# variance.) (Section 7 compares them and shows what the ½ does.)

# %% [markdown]
# ## 3. The function
#
# With all queries as rows of $Q$, all keys as rows of $K$ and all values as rows of $V$, this is equation 1 of
# Vaswani et al. (2017):
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# The softmax runs along each row. We write the loops first. Queries and keys may come from two sequences, of
# lengths $T$ and $S$ (lecture 8 needs that), so we choose sizes that all differ, and then nothing fits by
# accident.


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
# `@` treats the last two axes as matrices and everything before them as a stack. So one function serves a
# sentence, a batch, or a batch with one axis more. (Lecture 5 will need such an axis, $H$ for *heads*, which work
# side by side.) We check the function against our loops and against PyTorch's own, which returns the output only.

# %%
generator = torch.Generator().manual_seed(3)
query = torch.randn(2, 7, 3, 4, generator=generator)  # (B, H, T, d_k)
key = torch.randn(2, 7, 5, 4, generator=generator)  # (B, H, S, d_k)
value = torch.randn(2, 7, 5, 6, generator=generator)  # (B, H, S, d_v)

output, weights = scaled_dot_product_attention(query, key, value)
by_pytorch = F.scaled_dot_product_attention(query, key, value)
by_loops = attention_by_loops(query[1, 2], key[1, 2], value[1, 2])  # one sentence, one head

print(tuple(output.shape), tuple(weights.shape))
print("PyTorch agrees:", torch.allclose(output, by_pytorch, atol=1e-6))
print("loops agree:   ", torch.allclose(output[1, 2], by_loops, atol=1e-5))

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
print("loops, course_utils and PyTorch agree for all 14 sentences and heads")

# %% [markdown]
# ### Learnable
#
# The tensors of section 2 were fixed numbers. To be learned, the maps must be *parameters*. `nn.Linear` without
# bias is exactly such a map, and it starts well.


# %%
class SelfAttention(nn.Module):
    """Scaled dot-product self-attention: x (..., T, D) -> (..., T, d_v)."""

    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        return scaled_dot_product_attention(self.w_q(x), self.w_k(x), self.w_v(x))


torch.manual_seed(3)
layer = SelfAttention(d_model=16, d_k=5, d_v=7)
z, weights = layer(x)  # (T, d_v), (T, T)
z.square().sum().backward()  # any loss will do, to see whom the gradient reaches

for name, parameter in layer.named_parameters():
    assert parameter.grad.abs().max() > 0
    print(f"{name:<11} {tuple(parameter.shape)!s:>8}   reached by the gradient")

# %% tags=["hide-input"]
assert z.shape == (8, 7) and sum(p.numel() for p in layer.parameters()) == 16 * (5 + 5 + 7)
scores = layer.w_q(x) @ layer.w_k(x).T  # (T, T)
assert not torch.allclose(scores, scores.T, atol=0.1)
print("16 · (5 + 5 + 7) = 272 parameters; the scores are no longer symmetric")

# %% [markdown]
# The number of parameters, $d_\text{model}\,(2 d_k + d_v)$, does not depend on the length of the sentence, and
# that is why one layer can read sentences of any length. There are three separate maps, even where a library
# stores them stacked as one matrix.
#
# ### What such maps can learn
#
# The course's own translator, which lecture 8 builds and trains, has such maps. Here is one of its heads, which
# takes its keys and values from the German words (*cross-attention*), with $d_k = 16$. Its queries come from the
# English side. The query that predicts "help" is made where the decoder has just read "can you", and we label its
# row with the word to come, "help". Our function turns the stored queries, keys and values into weights:

# %%
example = learned.sentence("help")
head = next(head for head in example.heads if head.kind == "cross")
_, weights = scaled_dot_product_attention(head.query, head.key, head.value)  # (T, S)

english_words, german_words = example.words("cross")
for word, row in zip(english_words, weights, strict=True):
    print(f"next {word:>9}: looks most at {german_words[row.argmax()]:<10}  weight {row.max():.2f}")

counted = learned.measure("rendering")
print(f"strongest weight on a German word that the next word renders, in {counted.cases} rows")
print(
    f"of {counted.sentences} new sentences: {counted.trained:.0%}, before training "
    f"{counted.untrained:.0%}, picked blindly {counted.chance:.0%}"
)

# %% tags=["hide-input"]
before = example.weights(head.kind, head.layer, head.head, untrained=True)
after = example.weights(head.kind, head.layer, head.head)
assert torch.allclose(weights, after, atol=2e-3)
most = {word: german_words[row.argmax()] for word, row in zip(english_words, weights, strict=True)}
assert most["help"] == "helfen" and most["me"] == "mir" and most["translate"] == "übersetzen"
assert before.max() < 0.2 and (after.max(dim=-1).values > 0.8).sum() >= 6
to, zu = english_words.index("to"), german_words.index("zu")
assert after[to].max() < 0.3 and abs(after[to, zu] - 0.12) < 0.01
assert (counted.kind, counted.layer, counted.head) == (head.kind, head.layer, head.head)
assert counted.sentences == 200 and counted.cases > 2000
assert abs(counted.trained - 0.83) < 0.01
assert abs(counted.untrained - 0.08) < 0.01 and abs(counted.chance - 0.08) < 0.01

figure = plotting.attention_maps(
    [before, weights],
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
    caption="Rows are named after the word said next: random maps look everywhere, trained ones mostly "
    "at the German word that it renders.",
    alt="Two maps of attention weights. Ten rows, the places of the decoder, each named after the word "
    "that is said next; eleven German words as columns. Left, before training: all weights lie between "
    "0.05 and 0.17. Right, after training: you on du 1.0, help on helfen 0.9, me on mir 1.0, translate "
    "on übersetzen 0.9, this on diesen 1.0, sentence on satz 0.9; can has 0.50 on kannst and 0.45 on "
    "du; to has no weight above 0.3, and 0.1 on zu.",
)

# %% [markdown]
# Nobody told the model which German word belongs to which English one. Before it says "help" it looks at
# "helfen", and before "me" it looks at "mir", although the two German words come in another order. Before "to" it
# is undecided, and "zu" gets 0.12. One sentence proves little, and this head was chosen because it is clear, so
# we counted on 200 other sentences. The decoder reads the right translation, and at each place we ask whether the
# strongest weight is on a German word that the next English word renders. It is in 83 of 100 cases. Before
# training it was in 8, as if picked blindly.
#
# Here is the trained map once more, with every number between a query and its output. Your browser computes them,
# so no kernel is needed. The divisor is called $\tau$ and is set to $\sqrt{d_k} = 4$, and section 4 will change
# it.
#
# 1. Row "help" is open. Go through its six steps with *next step*. Its product with "helfen" is 28.5, and the
#    next largest, with "kannst", is 13.5. After the division by 4 they differ by 3.75, so "helfen" gets $e^{3.75}
#    \approx 43$ times the weight of "kannst".
# 2. Choose row "to". Which two words share the lead, and by how much do their products differ?
# 3. Go back to row "help" and take the tick from "helfen" in the column *mask*. Who gets its weight? Does any
#    other row change?

# %% tags=["hide-input"]
help_, to = english_words.index("help"), english_words.index("to")
products = head.query @ head.key.T  # (T, S)
lead = {row: products[row].topk(2) for row in (help_, to)}
assert (products[help_, [3, 0]] * 10).round().tolist() == [285, 135]
assert lead[help_].indices.tolist() == [3, 0] and german_words[0] == "kannst"
assert abs(lead[help_].values.diff() / 4 + 3.75) < 0.01
assert abs(weights[help_, 3] / weights[help_, 0] - 43) < 1
assert [german_words[k] for k in lead[to].indices] == ["diesen", ","]
assert abs(lead[to].values.diff() + 0.1) < 0.01
all_but_helfen = torch.arange(len(german_words)) != german_words.index("helfen")
_, without = scaled_dot_product_attention(
    head.query[help_], head.key[all_but_helfen], head.value[all_but_helfen]
)
assert without.topk(2).indices.tolist() == [0, 3]  # "kannst", then the comma
assert abs(without[0] - 0.36) < 0.005 and abs(without[3] - 0.32) < 0.005

live.attention_view(
    live.Attention(
        head.query,
        head.key,
        head.value,
        english_words,
        german_words,
        sentence=" ".join(example.source),
    ),
    caption="The course's translator looks from the next English word to the German ones",
    query=help_,
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# In row "to", the score of "diesen" is only 0.1 above that of the comma, so no word stands out and the weight is
# spread. Without "helfen", row "help" falls back on "kannst" with 0.36 and the comma with 0.32, because the weights
# sum to one even where nothing fits well. Every row has a softmax of its own, so the others stay as they were.
#
# </details>
#
# ### A mask, in brief
#
# Some keys must not be seen, such as the padding after a short sentence. So the assignment gives the function a
# fourth argument, `mask`, which is a bool tensor where True means *may attend*, as in
# `F.scaled_dot_product_attention`. The scaled score of a hidden key becomes $-\infty$ before the softmax, because
# $\exp(-\infty) = 0$. [Lecture 4](04_masked_attention.ipynb) teaches which masks are needed and how to put one
# in.
#
# This is what the course's function *does*. A hidden key gets weight exactly zero, the visible weights still sum
# to one, and a query that may attend to nothing gets zeros, not NaN.

# %%
mask = torch.ones(3, 5, dtype=torch.bool)  # (T, S), the same for all sentences and heads
mask[:, 4] = False  # nobody may look at key 5
mask[1] = False  # and query 2 may look at nothing
output, weights = attention.scaled_dot_product_attention(query, key, value, mask)
for row in weights[0, 0]:
    print(*[f"{weight:.2f}" for weight in row])

# %% tags=["hide-input"]
assert (weights[..., 4] == 0).all()
assert (weights[..., 1, :] == 0).all() and (output[..., 1, :] == 0).all()
assert torch.allclose(weights[..., [0, 2], :].sum(dim=-1), torch.ones(2, 7, 2))
print("key 5 and query 2 have no weight; the other rows sum to one")

# %% [markdown]
# ## 4. Why $1/\sqrt{d_k}$
#
# ### The variance of a dot product
#
# Let the entries of a query and of a key be independent, with mean 0 and variance 1, which is roughly what a good
# start gives. The score is a sum of $d_k$ products:
#
# $$\omega = q \cdot k = \sum_{l=1}^{d_k} q_l k_l$$
#
# 1. Each product has mean $\mathbb{E}[q_l k_l] = \mathbb{E}[q_l]\,\mathbb{E}[k_l] = 0$, because the two are
#    independent.
# 2. So its variance is $\mathbb{E}[q_l^2 k_l^2] = \mathbb{E}[q_l^2]\,\mathbb{E}[k_l^2] = 1 \cdot 1 = 1$.
# 3. The $d_k$ products are independent, so their variances add up to $\mathrm{Var}(\omega) = d_k$.
#
# The standard deviation of a score is therefore $\sqrt{d_k}$, which is 8 at $d_k = 64$. Dividing a quantity by
# $c$ divides its variance by $c^2$, so dividing by $\sqrt{d_k}$ gives
#
# $$\mathrm{Var}\!\left(\frac{\omega}{\sqrt{d_k}}\right) = \frac{d_k}{d_k} = 1$$
#
# at *every* width. We measure it on 10 000 pairs for each of five seeds:


# %%
def score_variance(d_k, seed, pairs=10_000):
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, pairs, d_k, generator=generator)
    return (query * key).sum(dim=1).var().item()


print(" d_k   variance of q·k, five seeds             of q·k/√d_k")
for d_k in [4, 64, 512]:
    variances = [score_variance(d_k, seed) for seed in range(5)]
    scaled = [variance / d_k for variance in variances]
    assert all(0.9 < variance < 1.1 for variance in scaled)
    listed = "  ".join(f"{variance:6.1f}" for variance in variances)
    print(f"{d_k:4d}   {listed}   {min(scaled):.2f} to {max(scaled):.2f}")

# %% [markdown]
# Scaling makes no score more accurate, since it divides all of them by one number. Nor does it touch the length
# of queries and keys, which stays at about $\sqrt{d_k}$. What it keeps steady is the **variance of the scores**,
# and through it how sharp the weights are.

# %% tags=["hide-input"]
questions.ask("03", "a-louder-query")

# %% [markdown]
# ### Saturation
#
# Why should we care about large scores? In the following, $\omega_j$ is whatever enters the softmax, so with the
# scale it is the scaled score. Take only two keys. The softmax then depends on one number, the difference $\delta
# = \omega_1 - \omega_2$:
#
# $$\alpha_1 = \frac{1}{1 + \exp(-\delta)}, \qquad
# \frac{\partial \alpha_1}{\partial \delta} = \alpha_1 (1 - \alpha_1)$$
#
# The slope is ¼ at $\delta = 0$ and falls off exponentially. How large is $\delta$? The two scores are
# uncorrelated, so their variances add up to $2 d_k$, and without the scale the standard deviation of $\delta$ is
# $\sqrt{2 d_k}$. We measure it on 10 000 pairs of keys:


# %%
def differences(d_k, scaled):
    """Differences of the scores of two random keys for a random query: (10000,)."""
    generator = torch.Generator().manual_seed(0)
    query, key_1, key_2 = torch.randn(3, 10_000, d_k, generator=generator)
    delta = (query * (key_1 - key_2)).sum(dim=1)
    return delta / math.sqrt(d_k) if scaled else delta


def slope_at(delta):
    """How fast the first weight changes with the difference of the two scores."""
    return torch.sigmoid(delta) * torch.sigmoid(-delta)


half_within = {}  # name -> half of all differences are smaller than this
print("                        std. dev.  median  slope at δ:  share")
print("                             of δ   of |δ|      median  < 0.01")
for d_k, is_scaled in [(64, True), (4, False), (64, False), (512, False)]:
    name = f"{'scaled' if is_scaled else 'not scaled'}, d_k = {d_k}"
    delta = differences(d_k, is_scaled)
    half_within[name] = delta.abs().median()
    flat = (slope_at(delta) < 0.01).float().mean()
    print(f"{name:<23}{delta.std():10.1f}{half_within[name]:9.2f}", end="")
    print(f"{slope_at(delta).median():12.1g}{100 * flat:6.0f} %")

# %% tags=["hide-input"]
delta = differences(64, False)
assert 11 < delta.std() < 11.6 and 7.3 < delta.abs().median() < 7.9
assert 3e-4 < slope_at(delta).median() < 8e-4
assert slope_at(torch.tensor(11.3)) < 2e-5
assert 0.65 < (slope_at(delta) < 0.01).float().mean() < 0.73
assert (slope_at(differences(64, True)) < 0.01).float().mean() < 0.01
assert slope_at(differences(64, True)).median() > 0.18

figure, ax = plotting.panels(1, height=5)
ax.set(xlim=(-25, 25), ylim=(-0.78, 1.05), yticks=[0, 0.25, 0.5, 0.75, 1])
ax.set(xlabel="difference of two scores δ")
axis = torch.linspace(-25, 25, 801)
(curve,) = ax.plot(axis, torch.sigmoid(axis), marker="")
ax.text(6.5, 0.9, "weight α₁", color=curve.get_color())
(curve,) = ax.plot(axis, slope_at(axis), marker="")
ax.text(3.4, 0.19, "slope α₁(1 − α₁)", color=curve.get_color())
for place, (name, reach) in enumerate(half_within.items()):
    y = -0.2 - 0.17 * place
    ax.barh(y, 2 * reach, left=-reach, height=0.05, color=plotting.MUTED)
    text = f"{name.replace('d_k', plotting.symbol('d_k'))}: ±{reach:.1f}"
    ax.text(0, y + 0.035, text, ha="center", va="bottom", fontsize=11)
plotting.picture(
    figure,
    caption="Where the softmax still has a slope, and how far half of all differences reach.",
    alt="Weight of the first of two keys against the difference of the scores: an S-shaped curve "
    "that climbs from 0 to 1 between about -5 and 5. Its slope is a narrow bell of height one "
    "quarter, nearly zero beyond ±6. Below, bars show within which bounds half of all differences "
    "lie: ±0.9 when scaled, ±1.6 for d_k = 4 not scaled, ±7.5 for d_k = 64, ±21.6 for d_k = 512. "
    "The last two reach beyond the bell.",
)

# %% [markdown]
# At $d_k = 64$ half of all differences are larger than 7.5, and from there on the slope is below 0.0006. (At one
# standard deviation, 11.3, it is 0.00001.) For two pairs of keys in three the slope is below 0.01, which means
# that the weight is as good as 0 or 1 and that a small change of the scores changes next to nothing. The softmax
# is **saturated**.
#
# The same holds for many keys. Let $g = \partial L / \partial z$ be the gradient of the loss $L$ at the output.
# Since $z = \sum_k \alpha_k v^{(k)}$, the gradient at the weight of key $k$ is $g \cdot v^{(k)}$. When $\omega_j$
# changes, its own weight follows with slope $\alpha_j (1 - \alpha_j)$, as above, and the weight of any other key
# $k$ with slope $-\alpha_j \alpha_k$. The chain rule adds all of this up:
#
# $$\frac{\partial L}{\partial \omega_j}
# = \alpha_j\, g \cdot v^{(j)} - \alpha_j \sum_k \alpha_k\, g \cdot v^{(k)}
# = \alpha_j \left( g \cdot v^{(j)} - g \cdot z \right)$$
#
# Autograd should find the same. We give it five random scores and values, and a loss whose gradient at $z$ is $g$:

# %%
generator = torch.Generator().manual_seed(4)
five_scores = torch.randn(
    5, generator=generator, requires_grad=True
)  # (S,) what enters the softmax
five_values = torch.randn(5, 3, generator=generator)  # (S, d_v)
g = torch.randn(3, generator=generator)  # (d_v,)

alpha = five_scores.softmax(dim=0)
z = alpha @ five_values
(by_autograd,) = torch.autograd.grad(z @ g, five_scores)
by_formula = alpha * (five_values @ g - z @ g)  # (S,)

assert torch.allclose(by_formula, by_autograd, atol=1e-6)
print("formula: ", *[f"{number:6.3f}" for number in by_formula.tolist()])
print("autograd:", *[f"{number:6.3f}" for number in by_autograd.tolist()])

# %% [markdown]
# If one weight is 1, then $z = v^{(j)}$ for that key and its bracket vanishes, while for all other keys
# $\alpha_j$ vanishes. So no score gets any gradient, *whether the choice was right or wrong*.
#
# ### Entropy and gradient, measured
#
# For each width we draw 100 sentences with 10 queries and 16 keys each, values, and a random gradient $g$ at the
# output, with five seeds. We look at two quantities, with the scale and without, and take the median of the second
# over all queries, so that it is the gradient of a typical one. The table then shows the median over the five seeds:
#
# - the **entropy** of the weights, $-\sum_j \alpha_j \ln \alpha_j$, which is 0 if one key gets everything and
#   $\ln 16 \approx 2.77$ if all sixteen get the same;
# - the gradient **at the scores** of a query, that is, the length of the vector $\partial L / \partial \omega$, where
#   $\omega$ is still what enters the softmax.

# %%
num_keys = 16


def attend_at_random(d_k, seed, scaled):
    """Weights, and the length of the gradient at the scores and at the query, of 1000 random queries."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(100, 10, d_k, generator=generator).requires_grad_()
    key = torch.randn(100, num_keys, d_k, generator=generator)
    value = torch.randn(100, num_keys, 6, generator=generator)
    upstream = torch.randn(100, 10, 6, generator=generator) / math.sqrt(6)  # length about 1

    scores = query @ key.transpose(-2, -1)  # (100, T, S)
    if scaled:
        scores = scores / math.sqrt(d_k)
    weights = scores.softmax(dim=-1)  # (100, T, S)
    loss = ((weights @ value) * upstream).sum()  # its gradient at the output is `upstream`
    gradients = torch.autograd.grad(loss, (scores, query))
    at_scores, at_query = (gradient.norm(dim=-1) for gradient in gradients)  # (100, T) each
    return weights.detach(), at_scores, at_query


def measure(d_k, seed, scaled):
    """Mean entropy, and median gradient at the scores."""
    weights, at_scores, _ = attend_at_random(d_k, seed, scaled)
    entropy = torch.special.entr(weights).sum(dim=-1).mean()
    return [entropy.item(), at_scores.median().item()]


# %%
widths = [2**k for k in range(2, 11)]  # 4, 8, ..., 1024
unscaled, scaled = (
    torch.tensor([[measure(d_k, seed, flag) for d_k in widths] for seed in range(5)])
    for flag in (False, True)
)  # (seeds, widths, 2) each

print("medians      not scaled             scaled")
print(" d_k    entropy  at scores    entropy  at scores")
for place, d_k in enumerate(widths):
    numbers = [half[:, place].median(dim=0).values.tolist() for half in (unscaled, scaled)]
    print(
        f"{d_k:4d} ",
        "   ".join(f"{entropy:8.2f}{at_scores:11.2g}" for entropy, at_scores in numbers),
    )

# %% tags=["hide-input"]
at = {d_k: place for place, d_k in enumerate(widths)}
assert ((scaled[..., 0] > 2.2) & (scaled[..., 0] < 2.5)).all()
assert (unscaled[:, at[4], 0] > 1.6).all() and (unscaled[:, at[1024], 0] < 0.15).all()
assert ((scaled[..., 1] > 0.2) & (scaled[..., 1] < 0.28)).all()
assert (unscaled[:, at[64], 1] < 0.25 * scaled[:, at[64], 1]).all()
assert (unscaled[:, at[256], 1] < 0.02 * scaled[:, at[256], 1]).all()
assert (unscaled[:, at[1024], 1] < 1e-4).all()

figure, (left, right) = plotting.panels(2, height=4.8)
look = {"xscale": "log", "xlabel": f"width {plotting.symbol('d_k')}"}
for ax, which in [(left, 0), (right, 1)]:
    lines = {"scaled": scaled[..., which], "not scaled": unscaled[..., which]}
    limits = {"ylim": (0, 2.9)} if which == 0 else {"yscale": "log", "ylim": (3e-6, 4)}
    plotting.curves(ax, widths, lines, **limits, **look)
    plotting.ticks_at(ax, x=widths[::2])
left.set_title("entropy of the weights")
right.set_title("length of the gradient at the scores")
plotting.picture(
    figure,
    caption="Without the scale the weights become all or nothing, and the typical gradient at the scores fades.",
    alt="Two panels over the width d_k from 4 to 1024, medians and ranges of five seeds. Left, the entropy: "
    "scaled it stays near 2.3; not scaled it falls from 1.8 at width 4 to 0.1 at 1024. Right, the gradient at "
    "the scores, both axes logarithmic: scaled it stays at 0.25; not scaled it falls from 0.25 to 0.05 at 64, "
    "0.003 at 256 and below 0.00001 at 1024.",
)

# %% [markdown]
# With the scale both curves are flat, so attention of width 1024 starts like attention of width 4. Without it the
# weights become all or nothing, and the typical gradient at the scores vanishes. At $d_k = 64$ it is a fifth of what
# it is with the scale, and at 256 it is a hundredth. (This is the gradient where the softmax begins. On its way back
# to the products $q \cdot k$ the scaled one is divided by $\sqrt{d_k}$ once more, and section 11 follows both to the
# queries.)
#
# But a typical row is not every row. Because of the factor $\alpha_j$ in the formula, whatever gradient is left
# reaches only keys that already have weight, and the wider the queries are, the fewer such keys there are.
#
# ### Temperature
#
# Dividing scores by a number $\tau$ before the softmax is an old idea with a name from physics, **temperature**.
# Hot means even weights, and cold means all or nothing. $\sqrt{d_k}$ is the temperature that fits the width.
#
# Try it on six random queries, q1 to q6, and eight random keys. The menu *attention* sets their width, and at every
# width the view starts undivided, at $\tau = 1$.
#
# 1. **Saturation.** Go through the widths 4, 16 and 64. In how many of the six rows does one key get more than
#    0.9?
# 2. **Its cure.** At $d_k = 64$ press √dₖ, then dₖ. How large is the largest weight of the map now?
# 3. **What fits.** Still at 64, let the view *compare with* dₖ = 4, which stays at $\tau = 1$. At which $\tau$
#    is your map A about as uneven as B? Predict it from the standard deviations of the two scores.
# 4. **A gradient that is gone.** At 64 and $\tau = 1$, choose row q3 and raise the first number of this query by
#    1, under *number by number*. What do its weights do? Press √dₖ, and change the number back and forth.

# %% tags=["hide-input"]
generator = torch.Generator().manual_seed(6)
one_query = torch.randn(1024, generator=generator)
eight_keys = torch.randn(8, 1024, generator=generator)
six_queries = torch.cat([one_query.unsqueeze(0), torch.randn(5, 1024, generator=generator)])
eight_values = torch.randn(8, 4, generator=generator)
key_names = [str(number) for number in range(1, 9)]


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


def six_rows(d_k, temperature, query=six_queries):
    """Weights (6, 8) of the eight keys for each query, at width d_k."""
    return F.softmax(query[:, :d_k] @ eight_keys[:, :d_k].T / temperature, dim=-1)


certain = [int((six_rows(d_k, 1).amax(dim=-1) > 0.9).sum()) for d_k in (4, 16, 64)]
assert certain == [0, 2, 4]
assert abs(six_rows(64, 8).max() - 0.47) < 0.005 and abs(six_rows(64, 64).max() - 0.16) < 0.005
unevenness = [torch.special.entr(six_rows(*at)).sum(dim=-1).mean() for at in [(4, 1), (64, 4)]]
assert abs(unevenness[0] - unevenness[1]) < 0.1
raised = six_queries.clone()
raised[2, 0] += 1
change = {tau: (six_rows(64, tau, raised) - six_rows(64, tau))[2].abs().max() for tau in (1, 8)}
assert change[1] < 0.005 and abs(change[8] - 0.07) < 0.01

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
# - Divided by 8, no weight is above 0.47. Divided by 64, none is above 0.16, where eight equal ones would have
#   0.125.
# - The scores spread four times as far at width 64 as at width 4, so $\tau = 4$ makes up for it.
# - At $\tau = 1$ no weight of q3 moves in the second decimal, so it would learn next to nothing. Divided by 8,
#   the same step moves its largest weight by 0.07.
#
# </details>
#
# The next picture goes wider still, with the first of these queries at three widths and three temperatures. The
# bars are the entropies, and that of eight equal weights is $\ln 8 \approx 2.1$.


# %% tags=["hide-input"]
def weights_at(d_k, temperature):
    """Weights (8,) of the eight keys for the first query, at width d_k."""
    return six_rows(d_k, temperature)[0]


def entropy_at(d_k, temperature):
    """Entropy of the eight weights."""
    return torch.special.entr(weights_at(d_k, temperature)).sum().item()


assert entropy_at(1024, 1) < 0.3 and entropy_at(1024, 1024) > 2.0
assert all(1.5 < entropy_at(d_k, math.sqrt(d_k)) < 2.0 for d_k in (4, 16, 64, 256, 1024))

shown_widths = (4, 64, 1024)
width_names = [f"{plotting.symbol('d_k')} = {d_k}" for d_k in shown_widths]
powers = {
    "1": 0.0,
    plotting.symbol("√d_k"): 0.5,
    plotting.symbol("d_k"): 1.0,
}  # τ = d_k to this power
look = {"limit": 1.0, "bar": False, "query_label": "", "key_label": ""}
figure, axes = plt.subplots(3, 2, figsize=(9.5, 6.6), width_ratios=[3, 1])
for (left, right), (name, power) in zip(axes, powers.items(), strict=True):
    rows = torch.stack([weights_at(d_k, d_k**power) for d_k in shown_widths])
    plotting.attention_map(rows, width_names, key_names, left, **look)
    left.set_xticks(range(8), key_names, rotation=0, ha="center")
    left.set_title(f"weights at τ = {name}")
    entropies = [entropy_at(d_k, d_k**power) for d_k in shown_widths]
    right.barh(range(3), entropies, height=0.55)
    for row, entropy in enumerate(entropies):
        right.text(2.25, row, f"{entropy:.1f}", va="center")
    right.axvline(math.log(8), color=plotting.MUTED, linewidth=1.2, zorder=0)
    right.set(xlim=(0, 2.7), ylim=(2.5, -0.5), xticks=[], yticks=[])
    right.grid(False)
axes[0, 1].set_title("entropy")
axes[2, 0].set_xlabel("key")
axes[2, 1].set_xlabel("line: eight equal weights")
plotting.picture(
    figure,
    caption="Divided by the root of the width, weights stay about as uneven at every width.",
    alt="Three maps of the weights of eight keys, each with the widths 4, 64 and 1024 as rows, and beside "
    "each row its entropy as a bar, with a line at 2.1, the entropy of eight equal weights. At τ = 1 the "
    "weights get sharper from row to row until one key has everything, and the bar shrinks to almost "
    "nothing. At the root of the width all three bars have a similar length. At τ = the width, the weights "
    "get more even until all are near one eighth, and the bar reaches the line.",
)

# %% [markdown]
# In the middle map the entropy hardly depends on the width, because the temperature that fits grows like
# $\sqrt{d_k}$. Dividing by $d_k$ overshoots at the start. In a wide network every query then gets nearly the
# plain average of all values, and the comparison hardly matters.

# %% tags=["hide-input"]
questions.ask("03", "what-the-root-does")

# %% [markdown]
# ## 5. A softmax that cannot overflow
#
# The exponential grows fast. Beyond about 88.7 in float32, and 709.8 in float64, it overflows to infinity, and
# infinity divided by infinity is NaN, not a number. Scores of that size are not exotic, since the largest of
# section 2 was 92. Dividing by 4 saved it, but word vectors twice as long make the scores four times as large,
# and then the largest *scaled* score is 92.
#
# The softmax does not know whether its row was scaled, so in this section `scores` and $\omega_j$ are whatever
# goes in. Here is the formula, taken literally, in NumPy:


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
# The factor cancels, so we may choose $c$ as the **largest score of the row**. Then the largest exponent is 0, no
# exponential exceeds 1, and the sum is at least 1, so there is neither overflow nor division by zero. What is
# more than about 745 below the maximum becomes 0 in float64. Its true weight is below $10^{-323}$, so nothing is
# lost.


# %%
def softmax_of_row(scores):
    """Weights of one row of scores (S,); the largest exponent is 0."""
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


print(softmax_of_row(large).round(4))

# %% tags=["hide-input"]
assert np.allclose(softmax_of_row(small), literal_softmax(small))
assert np.allclose(softmax_of_row(large), softmax_of_row(small))
assert np.allclose(softmax_of_row(np.array([-1e4, 0.0, 1e4])), [0, 0, 1])
print("the same weights as for 2, 1, 0; and scores of -10000, 0, 10000 give 0, 0, 1")

# %% [markdown]
# `torch.softmax` does this inside, but in NumPy you do it yourself. The next cell computes self-attention in
# NumPy, row by row. Its input is 100 times too large on purpose, has both signs, and no two sizes are equal,
# because positive numbers and square maps would hide a lost sign or a forgotten transpose.

# %%
rng = np.random.default_rng(3)
X = 100 * rng.standard_normal((2, 3))  # (T, D): two words
Wq, Wk = rng.standard_normal((2, 3, 4)) / math.sqrt(3)  # (D, d_k) each
Wv = rng.standard_normal((3, 5)) / math.sqrt(3)  # (D, d_v)

Q, K, V = X @ Wq, X @ Wk, X @ Wv  # (T, d_k), (T, d_k), (T, d_v)
scaled_scores = Q @ K.T / math.sqrt(K.shape[1])  # (T, T)
stable = np.stack([softmax_of_row(row) for row in scaled_scores])  # (T, T)
with np.errstate(over="ignore", invalid="ignore"):
    literal = np.stack([literal_softmax(row) for row in scaled_scores])

output = stable @ V  # (T, d_v)
print("rows of weights that are NaN, literal softmax:", int(np.isnan(literal).any(axis=1).sum()))
print("rows of weights that are NaN, stable softmax: ", int(np.isnan(stable).any(axis=1).sum()))

# %% tags=["hide-input"]
reference, weights = attention.numpy_self_attention(X, Wq, Wk, Wv)
assert np.allclose(stable, weights) and np.allclose(output, reference)
assert np.abs(scaled_scores).max() > 710 and np.isnan(literal).any()
assert not np.isnan(stable).any()
print("agrees with course_utils.attention")

# %% [markdown]
# What sums to one is each **row** of the weights. In the assignment you write the softmax for arrays of any
# number of axes. Ask yourself which axis the maximum belongs to, and what its shape must be so that the
# subtraction broadcasts.

# %% tags=["hide-input"]
questions.ask("03", "one-maximum-for-all-rows")

# %% [markdown]
# ## 6. Does it matter for learning? A price list
#
# Uneven gradients at the start are a warning, but only a trial can show whether they spoil the training. The task
# is the dictionary of section 1, with a twist:
#
# - A list names 32 goods in English. Next to each is a price, one of eight, **drawn anew for every list**, so
#   prices cannot be learned by heart.
# - A customer names each item in German and wants its price.
# - The German names become the queries, the English names the keys, and the prices the values. The vectors of the
#   English and of the German names are random and unrelated. Which query belongs to which key has to be learned,
#   because it is the only thing that stays the same.
#
# Guessing is right in one of eight cases, 0.125.
#
# Plain gradient descent learns $W_q$, $W_k$, $W_v$, and a map $W_o$ from the context vector to eight logits, one for
# each price. Word vectors have width $d_\text{model} = 32$, and all maps start with variance $1/d_\text{model}$. Five
# runs, each with its own start and its own prices, are stacked on a leading axis, so one call trains all five. To
# take the scale out again, we multiply the queries by $\sqrt{d_k}$ before the function divides by it.

# %%
num_goods, num_prices, width, num_runs, num_lists = 32, 8, 32, 5, 16

generator = torch.Generator().manual_seed(3)
german = torch.randn(num_goods, width, generator=generator)  # (goods, D): what is asked
english = torch.randn(num_goods, width, generator=generator)  # (goods, D): what is listed
price_vectors = torch.randn(num_prices, width, generator=generator)  # (prices, D)


def start_maps(d_k):
    """W_q, W_k, W_v, W_o for all runs, (runs, 1, D, …) each."""
    generator = torch.Generator().manual_seed(7)
    shapes = [(width, d_k), (width, d_k), (width, width), (width, num_prices)]
    draws = [torch.randn(num_runs, 1, *shape, generator=generator) for shape in shapes]
    return [(draw / math.sqrt(width)).requires_grad_() for draw in draws]


def guess_prices(maps, goods, prices, scaled):
    """Logits of the prices (runs, lists, goods, prices), and attention weights."""
    w_q, w_k, w_v, w_o = maps
    query, key = german[goods] @ w_q, english[goods] @ w_k  # (runs, lists or 1, goods, d_k)
    value = price_vectors[prices] @ w_v  # (runs, lists, goods, D)
    if not scaled:
        query = query * math.sqrt(query.shape[-1])  # undoes the division inside
    z, weights = attention.scaled_dot_product_attention(query, key, value)
    return z @ w_o, weights


def loss_of(guess, prices):
    # cross_entropy averages over the runs too; times their number, each learns as if alone
    return num_runs * F.cross_entropy(guess.flatten(0, 2), prices.flatten())


# %% [markdown]
# The lists of each step have never been seen before, so the accuracy *during* training is honest. It is measured
# before the step learns from them. The result of a run will be the mean over its last 30 steps.


# %%
def all_goods(generator):
    """Which goods are on the lists, (lists or 1, goods): here all of them, on every list."""
    return torch.arange(num_goods).unsqueeze(0)


def train(maps, scaled, optimizer, num_steps=300, draw_goods=all_goods):
    """Returns accuracy (runs, steps) and the last weights (runs, lists or 1, goods, goods)."""
    generator = torch.Generator().manual_seed(11)
    accuracy = []
    for _ in range(num_steps):
        goods = draw_goods(generator)
        shape = (num_runs, num_lists, goods.shape[1])
        prices = torch.randint(num_prices, shape, generator=generator)
        guess, weights = guess_prices(maps, goods, prices, scaled)
        loss = loss_of(guess, prices)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy.append((guess.argmax(dim=-1) == prices).float().mean(dim=(1, 2)))
    return torch.stack(accuracy, dim=1), weights.detach()


def descend(d_k, scaled, step, **how):
    """`train` by plain gradient descent from a fresh start."""
    maps = start_maps(d_k)
    return train(maps, scaled, torch.optim.SGD(maps, lr=step), **how)


def result(accuracy):
    """Mean accuracy of each run over the last 30 steps: (runs,)."""
    return accuracy[:, -30:].mean(dim=1)


# %% [markdown]
# To be fair, each variant may choose its best step size out of four, at every width. The cell may take a minute.

# %% tags=["nbval-ignore-output"] seconds=40
steps = [0.03, 0.1, 0.3, 1.0]
key_widths = [4, 16, 64, 256, 1024]
trained = {  # (d_k, scaled, step) -> accuracy (runs, steps)
    (d_k, flag, step): descend(d_k, flag, step)[0]
    for d_k in key_widths
    for flag in (False, True)
    for step in steps
}

print("accuracy, mean of five runs; rows: d_k, columns: step size")
print("            not scaled                     scaled")
print(" d_k  " + "  |".join("".join(f"{step:7}" for step in steps) for _ in range(2)))
for d_k in key_widths:
    halves = []
    for flag in (False, True):
        means = [result(trained[d_k, flag, step]).mean() for step in steps]
        halves.append("".join(f"{mean:7.2f}" for mean in means))
    print(f"{d_k:4d}  " + "  |".join(halves))

# %% tags=["hide-input"]
best = {}  # (d_k, scaled) -> result of each run at the step size with the best mean: (runs,)
for d_k in key_widths:
    for flag in (False, True):
        results = [result(trained[d_k, flag, step]) for step in steps]
        best[d_k, flag] = max(results, key=torch.mean)

for d_k in (16, 64, 256, 1024):  # with the scale: every run, and not only at one step size
    assert result(trained[d_k, True, 0.3]).min() > 0.9
    assert result(trained[d_k, True, 1.0]).min() > 0.95
assert best[4, False].mean() > 0.7 and best[16, False].mean() > 0.85
for d_k, most in [(4, 0.2), (16, 0.1)]:  # narrow: little difference
    assert abs(best[d_k, True].mean() - best[d_k, False].mean()) < most
assert best[64, False].mean() < 0.55
for d_k in (256, 1024):  # wide, without the scale: little better than 0.125 at every step size
    assert max(result(trained[d_k, False, step]).mean() for step in steps) < 0.3
    assert trained[d_k, True, 0.3][:, 150:].mean(dim=1).min() > 0.99

figure, (left, right) = plotting.panels(2, height=4.6, sharey=True)
every_ten = torch.arange(10, 301, 10)
during, at_the_end = {}, {}
for flag, name in [(True, "scaled"), (False, "not scaled")]:
    during[name] = trained[256, flag, 0.3].unflatten(1, (30, 10)).mean(dim=2)  # (runs, 30)
    at_the_end[name] = torch.stack([best[d_k, flag] for d_k in key_widths], dim=1)
plotting.curves(left, every_ten, during, xlabel="training step", ylabel="accuracy", ylim=(0, 1.05))
look = {"xscale": "log", "xlabel": f"width {plotting.symbol('d_k')}", "ylim": (0, 1.05)}
plotting.curves(right, key_widths, at_the_end, **look)
left.set_title(f"{plotting.symbol('d_k')} = 256, step size 0.3")
right.set_title("at the end, best step size")
plotting.ticks_at(right, x=key_widths)
for ax in (left, right):
    plotting.level(ax, 1 / num_prices, "")
left.text(300, 0.05, "guessing", ha="right", color=plotting.MUTED)
plotting.picture(
    figure,
    caption="With the scale every width learns the price list; without it only narrow queries do.",
    alt="Accuracy on the price lists, medians and ranges of five runs. Left, over 300 training "
    "steps at d_k = 256: with the scale it rises to 1 within about 120 steps; without it, it "
    "stays near 0.17, a little above guessing, 0.125. Right, at the end, each variant at its "
    "best step size, over d_k from 4 to 1024: with the scale 0.98 at 4 and 1 beyond; without it 0.94 "
    "at 4, 1 at 16, 0.35 at 64 with runs from 0.12 to 0.54, and about 0.2 at 256 and 1024.",
)

# %% [markdown]
# - In **narrow** networks ($d_k = 4$ and 16) there is little difference. Both learn, although at 16 the unscaled
#   one does so at fewer step sizes.
# - In **wide** ones ($d_k \ge 256$), with the scale and a step size of 0.3, every run finds the right price for every
#   item after about 150 steps. Without the scale, none of the four step sizes helps.
# - In **between** ($d_k = 64$), little is learned without the scale, although a typical query gets enough gradient
#   there (section 11). This gradient reaches only keys that happen to have weight.
# - With the scale, the *same* step sizes, 0.3 and 1, work at every width from 16 to 1024.
#
# Where do the two models look after training? The right answer is the diagonal.

# %% tags=["nbval-ignore-output"]
_, weights_scaled = descend(256, True, 0.3)
_, weights_unscaled = descend(256, False, 0.3)
maps = [weights_scaled[0, 0], weights_unscaled[0, 0]]  # run 1, (goods, goods) each

for name, weights in zip(["scaled", "not scaled"], maps, strict=True):
    found = (weights.argmax(dim=-1) == torch.arange(num_goods)).sum()
    sharp = (weights.amax(dim=-1) > 0.99).float().mean()
    print(
        f"{name:<10}  finds {found:2d} of 32 goods; one weight above 0.99 for {100 * sharp:.0f} %"
    )

# %% tags=["hide-input"]
assert (maps[0].argmax(dim=-1) == torch.arange(num_goods)).all()
assert (maps[1].argmax(dim=-1) == torch.arange(num_goods)).sum() < num_goods / 3
assert (maps[1].amax(dim=-1) > 0.99).float().mean() > 0.5

names = [str(k + 1) if k % 5 == 4 else "" for k in range(num_goods)]
figure = plotting.attention_maps(
    maps,
    ["scaled", "not scaled"],
    names,
    names,
    limit=1.0,
    size=(10, 4.8),
    query_label="good asked for",
    key_label="good on the list",
)
plotting.picture(
    figure,
    caption="After 300 steps at width 256: the scaled model finds every good, the other is sure and wrong.",
    alt="Attention weights after training, 32 goods asked for in rows, 32 goods on the list in "
    "columns. Left, scaled: a clean strong diagonal, every good finds its own price. Right, not "
    "scaled: nearly every row has a single, even stronger cell, but they are scattered, several in "
    "one column; hardly any lies on the diagonal.",
)

# %% [markdown]
# The unscaled model is not undecided but sure, and wrong. The right item has almost no weight. The gradient at
# its score is proportional to that weight, so almost nothing tells the model to raise it. (Section 9 looks
# closer, at other optimisers and at lists that help.)
#
# ## Summary
#
# - $q = x W_q$, $k = x W_k$ and $v = x W_v$ are three learned maps, the same for all words. The output is the
#   weighted average of the *values*.
# - The function is $\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V$, with the softmax along each row, for any leading
#   axes. Query and key share the width $d_k$, and key and value share the length $S$.
# - Start with mean zero and a variance of the size of $1/d_\text{model}$; `nn.Linear` takes a third of it.
# - A dot product of independent entries with mean 0 and variance 1 has variance $d_k$. Without the scale, weights
#   become all or nothing. The gradient of a typical row vanishes at the scores, and what is left reaches only keys
#   that already have weight.
# - Subtract the largest score before the exponential.
# - On the price lists, the scale makes little difference at $d_k = 4$ and all the difference at $d_k = 256$.
#
# **Now you:** [assignment a3, scaled dot-product
# attention](../exercises/a3_scaled_dot_product_attention/a3_scaled_dot_product_attention.ipynb). This is the end
# of the core. Sections 7 to 11 go deeper, and you can skip them.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 2, 4 and 5 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** Queries have width 64 and values have width 80. By what do you divide the scores?
#
# <details><summary>Answer</summary>
#
# By $\sqrt{64} = 8$. The score is a sum over the entries of query and key, and the values take no part in it.
#
# </details>
#
# **2.** Why can `help` now look for `me` without `me` looking for `help`?
#
# <details><summary>Answer</summary>
#
# $\omega_{ij} = q^{(i)} \cdot k^{(j)}$ and $\omega_{ji} = q^{(j)} \cdot k^{(i)}$ use different vectors. With $q =
# k = x$ they were the same number.
#
# </details>
#
# **3.** You add 5 to all scores of a row. What happens to the weights? What happens if you multiply the scores by
# 5?
#
# <details><summary>Answer</summary>
#
# Adding changes nothing, because the factor $\exp(5)$ cancels, as in section 5. Multiplying the scores multiplies
# all differences by 5 too, so the weights get sharper, unless the scores were all equal. It is a temperature of
# 1/5.
#
# </details>
#
# **4.** Where is the mistake in `F.softmax(query @ key.transpose(-2, -1), dim=-1) / math.sqrt(d_k)`?
#
# <details><summary>Answer</summary>
#
# The division comes after the softmax. The rows then sum to $1/\sqrt{d_k}$, and the softmax is as saturated as
# ever. Scale the scores, not the weights.
#
# </details>
#
# **5.** The entries of queries and keys have variance 4 instead of 1. What is the variance of a scaled score?
#
# <details><summary>Answer</summary>
#
# Each product has variance $4 \cdot 4 = 16$, so the sum has $16\, d_k$ and the scaled score has 16. The scale
# makes up for the width but not for a bad start.
#
# </details>
#
# **6.** One weight is 1, and it is on the wrong key. What gradient do the scores get?
#
# <details><summary>Answer</summary>
#
# They get none. All $\alpha_j$ but one are 0, and for the one with $\alpha_j = 1$ the bracket $g \cdot v^{(j)} -
# g \cdot z$ is 0, because $z = v^{(j)}$. The values still get a gradient, but the scores do not.
#
# </details>
#
# %% [markdown]
# ## 7. Going deeper: do not start with `rand`
#
# The scores of section 2 had a standard deviation of 38, and all eight words looked at "to", at "translate" or at
# "sentence". Why these?
#
# `torch.rand` draws between 0 and 1, with mean ½, so each entry of $W$ is ½ plus a deviation. Let $s_i = \sum_l
# x^{(i)}_l$ be the sum of the entries of word $i$. The ½ adds **the same number**, $s_i/2$, to every entry of its
# query, and of its key too. With the ½ alone the score would be
#
# $$\omega_{ij} = d_k \cdot \frac{s_i}{2} \cdot \frac{s_j}{2} = 4\, s_i\, s_j \qquad (d_k = 16)$$
#
# By this rule a word with a negative sum looks most at the word with the most negative sum, and a word with a
# positive sum at the one with the most positive. (Between two close ones the deviations may decide, as they do
# for "to".) We measure it:

# %%
scores = queries @ keys.T  # (T, T), of the running example
sums = x.sum(dim=1)  # (T,)
common = keys.shape[1] / 4 * torch.outer(sums, sums)  # (T, T): what the mean of 1/2 contributes
without_mean = (x @ (w_q - 0.5)) @ (x @ (w_k - 0.5)).T  # (T, T)

correlation = torch.corrcoef(torch.stack([scores.flatten(), common.flatten()]))[0, 1]
print(f"correlation of the scores with 4 s_i s_j:  {correlation:.2f}")
print(f"standard deviation of 4 s_i s_j:          {common.std():5.1f}")
print(f"standard deviation without the mean:      {without_mean.std():5.1f}")
print("sums:", ", ".join(f"{word} {total:.1f}" for word, total in zip(words, sums, strict=True)))

# %% [markdown]
# So nearly all of the spread comes from the ½, and the three favourites are the three words with the most extreme
# sums.
#
# The rule for a good start is **mean zero and variance $1/d_\text{model}$**. Then a query entry, a sum of
# $d_\text{model}$ terms, has about the variance of a word's entry. Glorot and Bengio (2010) give the argument.
# PyTorch's `nn.Linear` draws evenly between $\pm 1/\sqrt{d_\text{model}}$, which has variance
# $1/(3d_\text{model})$, a third of that at every width.

# %%
starts = {
    "rand": lambda: torch.rand(16, 16),
    "rand - 0.5": lambda: torch.rand(16, 16) - 0.5,
    "randn": lambda: torch.randn(16, 16),
    "randn / √16": lambda: torch.randn(16, 16) / 4,
    "nn.Linear": lambda: nn.Linear(16, 16, bias=False).weight.detach().T,
}
torch.manual_seed(0)
spread = {}
for name, draw in starts.items():
    draws = [((x @ draw()) @ (x @ draw()).T).std().item() for _ in range(200)]
    spread[name] = float(np.median(draws))
    print(f"{name:<11} standard deviation of the scores, median of 200: {spread[name]:4.1f}")

# %% tags=["hide-input"]
assert correlation > 0.95 and abs(common.std() - 37.8) < 0.5
assert abs(without_mean.std() - 6.5) < 0.2
assert words[sums.argmin()] == "to" and words[sums.argmax()] == "sentence"
assert 25 < spread["rand"] < 50 and 45 < spread["randn"] < 95
assert 3 < spread["randn / √16"] < 6 and 1 < spread["nn.Linear"] < 2

torch.manual_seed(123)
good_queries, good_keys = (x @ starts["nn.Linear"]() for _ in range(2))  # (T, d_k) each
good_weights = scaled_dot_product_attention(good_queries, good_keys, good_keys)[1]
assert good_weights.min() > 0.05 and good_weights.max() < 0.3
figure = plotting.attention_maps(
    [(scores / math.sqrt(16)).softmax(dim=-1), good_weights],
    ["rand: three favourites", "like nn.Linear: open to all"],
    words,
    words,
    limit=1.0,
)
plotting.picture(
    figure,
    caption="The same eight words with two starts: rand has chosen already, nn.Linear can learn.",
    alt="Two maps of attention weights, the eight words as queries in rows and as keys in columns. "
    "Left, with rand: most rows put most of their weight on three columns, to, translate and "
    "sentence; single weights reach 1.00. Right, with a start like nn.Linear: all weights lie "
    "between 0.06 and 0.26, and no column collects most of them.",
)

# %% [markdown]
# `rand - 0.5` looks good as well, but only at this width, because its variance of 1/12 happens to be close to
# 1/16.
#
# **Check yourself.** A colleague starts with `torch.rand(512, 512)` and divides the scores by $\sqrt{512}$. Does
# the scale help?
#
# <details><summary>Answer</summary>
#
# No, it does not. The ½ alone adds $d_k\, s_i s_j / 4$ to every score, and the sums $s_i$ of 512 entries are
# about ±23. Scores of $512 \cdot 23^2/4 \approx 68\,000$, divided by 23, are still in the thousands. The scale
# assumes queries and keys of mean 0 and variance 1.
#
# </details>

# %% [markdown]
# ## 8. Going deeper: an example that is too kind
#
# Suppose that somebody tries the function on two words, with queries and keys that are both the identity. The
# scaled scores are $1/\sqrt{2} \approx 0.71$ on the diagonal and 0 elsewhere:

# %%
identity = torch.eye(2)  # both queries and keys
output, weights = scaled_dot_product_attention(identity, identity, 10 * identity)
print(weights)
print(output)

# %% tags=["hide-input"]
assert torch.allclose(weights, torch.tensor([[0.6698, 0.3302], [0.3302, 0.6698]]), atol=1e-4)
assert torch.allclose(output, torch.tensor([[6.6976, 3.3024], [3.3024, 6.6976]]), atol=1e-4)
print("the known values of this example are met")

# %% [markdown]
# This is good for checking by hand, but it is a poor test. Here are five wrong ways to compute weights. How many
# of them does this example catch?


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


def is_caught(mistake, query, key):
    """Does the mistake crash, or give weights that differ from the right ones?"""
    right = scaled_dot_product_attention(query, key, key)[1]
    try:
        wrong = mistake(query, key)
    except RuntimeError:  # the shapes do not fit
        return True
    return wrong.shape != right.shape or not torch.allclose(wrong, right, atol=1e-4)


# %%
mistakes = [key_not_transposed, query_and_key_swapped, columns_sum_to_one, root_of_the_length]
mistakes.append(not_scaled)
examples = {
    "2 × 2 identity": (identity, identity),
    "3 queries, 5 keys, width 4": (query[0, 0], key[0, 0]),  # those of section 3
}
caught = {
    name: sum(is_caught(mistake, *example) for mistake in mistakes)
    for name, example in examples.items()
}
for name, number in caught.items():
    print(f"{name}: {number} of {len(mistakes)} mistakes are caught")
assert list(caught.values()) == [1, 5]

# %% [markdown]
# It catches one of five, `not_scaled`. The other four slip through, for one reason each. The identity is its own
# transpose, query and key are equal, the weights are symmetric, and the number of words equals their width. So
# use random numbers with a seed, of both signs, and sizes that all differ.
#
# Three more traps lie in mixing NumPy and PyTorch, as `F.softmax(np.dot(query, key.T))` does, and you will repair
# such a function in the assignment. `F.softmax` takes no arrays, `.T` reverses *all* axes of a batch, and
# `np.dot` multiplies every matrix of one batch with every matrix of the other:

# %%
try:
    F.softmax(np.ones(3), dim=-1)
except AttributeError as error:
    print("AttributeError:", error)

batch = np.zeros((2, 5, 4))  # (B, S, d_k)
swapped = np.swapaxes(batch, -2, -1)
print(".T of", batch.shape, "gives", batch.T.shape, "and wanted is", swapped.shape)
print("np.dot gives", np.dot(batch, swapped).shape, "and wanted is", (batch @ swapped).shape)

# %% tags=["hide-input"]
assert batch.T.shape == (4, 5, 2) and swapped.shape == (2, 4, 5)
assert np.dot(batch, swapped).shape == (2, 5, 2, 5) and (batch @ swapped).shape == (2, 5, 5)
print("these shapes are asserted")

# %% [markdown]
# **Check yourself.** A sentence has $T = 8$ words, and $d_k = 8$. Why is that a bad size for a test?
#
# <details><summary>Answer</summary>
#
# The scores are 8 × 8, and so are the matrices of queries and keys. Dividing by the root of the length looks
# right, and a forgotten transpose raises no error. Use sizes that all differ.
#
# </details>

# %% [markdown]
# ## 9. Going deeper: how the unscaled model fails
#
# At $d_k = 256$ the unscaled model had learned next to nothing in 300 steps. Would patience help? We give it four
# times as many steps:

# %% tags=["nbval-ignore-output"] seconds=4
patient, _ = descend(256, False, 0.3, num_steps=1200)
print(f"unscaled, d_k = 256, 1200 steps: mean accuracy {result(patient).mean():.2f}")

# %% [markdown]
# Look at its weights *before* the first step and after the last.

# %% tags=["nbval-ignore-output"]
with torch.no_grad():
    w_query, w_key, _, _ = start_maps(256)
    scores = (german @ w_query) @ (english @ w_key).transpose(-2, -1)  # (runs, 1, goods, goods)
    at_start = scores.softmax(dim=-1)[:, 0]  # (runs, goods, goods), not scaled
at_end = weights_unscaled[:, 0]

first, last = at_start.argmax(dim=-1), at_end.argmax(dim=-1)  # (runs, goods)
shares = {
    "one weight above 0.99 before training": at_start.amax(dim=-1) > 0.99,
    "one weight above 0.99 after training": at_end.amax(dim=-1) > 0.99,
    "after training, most weight where it was": first == last,
    "of the others, at a wrong good again": (last != torch.arange(num_goods))[first != last],
}
for what, which in shares.items():
    print(f"{what:<42} {100 * which.float().mean():3.0f} % of the goods")
on_right_good = at_start.diagonal(dim1=-2, dim2=-1).median()
print(f"median weight of the right good before training: {on_right_good:.0e}")

# %% tags=["hide-input"]
share = [which.float().mean() for which in shares.values()]
assert result(patient).mean() < 0.35
assert 0.3 < share[0] < 0.55 and share[1] > 0.75
assert 0.25 < share[2] < 0.6 and share[3] > 0.7
assert on_right_good < 1e-8
print("still below 0.35; more goods stare than at the start; the right good had less than 1e-8")

# %% [markdown]
# Before training, four queries in ten put nearly all their weight on one random item. In the median, the right item
# has less than a hundred-millionth of the weight, so it gets almost no gradient. Training makes more queries do the
# same. Many still look at the item that they looked at in the beginning, and of those that moved, most look at a
# wrong item again.
#
# **Is the optimiser to blame?** Adam divides each gradient by its usual size, so if the gradient of $W_q$ were
# merely tiny, Adam would cure that. We first measure that gradient and then train with Adam:


# %% tags=["nbval-ignore-output"] seconds=5
def gradient_length(scaled):
    """Length of the gradient of W_q before the first step, at d_k = 256: (runs,)."""
    maps = start_maps(256)
    generator = torch.Generator().manual_seed(11)
    prices = torch.randint(num_prices, (num_runs, num_lists, num_goods), generator=generator)
    guess, _ = guess_prices(maps, all_goods(generator), prices, scaled)
    (gradient,) = torch.autograd.grad(loss_of(guess, prices), maps[:1])
    return gradient.flatten(1).norm(dim=1)


def with_adam(scaled, step):
    maps = start_maps(256)
    return result(train(maps, scaled, torch.optim.Adam(maps, lr=step))[0])


ratio = gradient_length(False) / gradient_length(True)
print(f"gradient of W_q, unscaled against scaled: {ratio.min():.0f} times as long, or more")
adam = {(flag, step): with_adam(flag, step) for flag in (True, False) for step in (0.001, 0.003)}
for (flag, step), runs in adam.items():
    print(f"Adam, {'scaled' if flag else 'not scaled'}, step {step}: {runs.mean():.2f}")

# %% tags=["hide-input"]
assert ratio.min() > 4
assert min(runs.min() for (flag, _), runs in adam.items() if flag) > 0.95
assert max(runs.mean() for (flag, _), runs in adam.items() if not flag) < 0.35
print("scaled: all runs above 0.95; not scaled: both step sizes below 0.35 on average")

# %% [markdown]
# The gradient of $W_q$, a sum over all goods, is not too short. But it comes from the few keys that already have
# weight, and it contains almost nothing about the others. Adam can make a step longer, but it cannot know a direction
# that the gradient does not contain.
#
# **Is it always so bad?** No. Let every list name only **half** of the goods, a random half for each. Then the
# item on which a query puts its weight is missing from about every second list, so the query has to look
# elsewhere and more of the keys get a gradient. Half a list is also a shorter list. As a comparison, another
# model therefore gets lists of 16 goods too, but always the *same* half.


# %% tags=["nbval-ignore-output"] seconds=7
def own_half(generator):
    """A random half of the goods for each list: (lists, goods / 2)."""
    order = torch.rand(num_lists, num_goods, generator=generator).argsort(dim=-1)
    return order[:, : num_goods // 2]


def same_half(generator):
    """The first half of the goods, on every list: (1, goods / 2)."""
    return torch.arange(num_goods // 2).unsqueeze(0)


half_lists = {}
for draw_goods in (own_half, same_half):
    runs = [result(descend(256, False, step, draw_goods=draw_goods)[0]) for step in (0.3, 1.0)]
    half_lists[draw_goods] = max(runs, key=torch.mean)  # the better step size
    print(f"{draw_goods.__name__}, unscaled: {half_lists[draw_goods].mean():.2f}")
own_scaled = result(descend(256, True, 0.3, draw_goods=own_half)[0])
print(f"own_half, scaled:    {own_scaled.mean():.2f}")

# %% tags=["hide-input"]
assert own_scaled.min() > 0.97
assert 0.45 < half_lists[own_half].mean() < 0.9  # with full lists below 0.3
assert half_lists[same_half].mean() < 0.35
print("changing halves: 0.45 to 0.9; the same half: below 0.35; with the scale: above 0.97")

# %% [markdown]
# With changing halves the unscaled model gets about half of the prices right, or more, after the same 300 steps,
# while it gets about two of ten with full lists, or with short ones that never change. The scaled one learns all
# of them. So remember the result with its conditions, which are wide queries, a start of variance
# $1/d_\text{model}$, and little variety in what competes for attention. PyTorch's `nn.Linear` starts with a third
# of the variance in queries and in keys. Its scores have standard deviation $\sqrt{d_k}/3$, which is ours at one
# ninth of the width, so there the weights become all or nothing only in wider layers.
#
# **Check yourself.** Would it help the unscaled model at $d_k = 256$ to clip long gradients?
#
# <details><summary>Answer</summary>
#
# There is no reason to hope so. Clipping makes steps shorter and keeps their direction, and it is the direction
# that says nothing about the right goods.
#
# </details>

# %% [markdown]
# ## 10. Going deeper: what the scale is not
#
# **The scale is not a new ability.** Take an unscaled model and let $W_q$ and $W_k$ start $d_k^{1/4}$ times as
# small. That divides the scores by $\sqrt{d_k}$, so at the start the softmax gets the same numbers as in the
# scaled model.
#
# To keep it so, each step of $W_q$ and $W_k$ must be $d_k^{1/4}$ times as small too. But their gradients are
# $d_k^{1/4}$ times as large, since the same change counts for more in a smaller matrix. So we divide the step
# size of these two by $\sqrt{d_k}$. Then the two models stay equal for ever, up to rounding. We test it at $d_k =
# 256$, where $d_k^{1/4} = 4$:

# %% tags=["nbval-ignore-output"]
small = [(one.detach() / 4).requires_grad_() for one in start_maps(256)[:2]]  # W_q, W_k
others = start_maps(256)[2:]
optimizer = torch.optim.SGD([{"params": small, "lr": 0.1 / 16}, {"params": others}], lr=0.1)
accuracy_small, weights_small = train([*small, *others], False, optimizer)
accuracy_scaled, weights_of_scaled = descend(256, True, 0.1)

gap = (weights_of_scaled - weights_small).abs().max()
print(f"scaled, and unscaled with a smaller start and smaller steps: weights differ by {gap:.4f}")

# %% tags=["hide-input"]
assert torch.allclose(accuracy_scaled[:, -30:], accuracy_small[:, -30:], atol=0.02)
assert gap < 0.02
right_weight = weights_scaled.diagonal(dim1=-2, dim2=-1).mean()  # of section 6
spread_of_scores = weights_scaled.log().var(dim=-1).mean()  # scaled scores, up to a constant
assert 0.7 < right_weight < 0.87 and 2 < spread_of_scores < 5
print(f"scaled, after training: mean weight on the right good about {right_weight:.1f}")
print(f"scaled, after training: variance of a row's scaled scores about {spread_of_scores:.0f}")

# %% [markdown]
# So $1/\sqrt{d_k}$ chooses a good start and a good step size, for every width, without your thinking about it.
# That is a lot for one division, and it is all that the division does. (The rule for the step size holds for
# plain gradient descent. Adam's steps do not grow with the gradient, so there $d_k^{1/4}$ takes the place of
# $\sqrt{d_k}$.)
#
# **The scale does not cure self-copying.** Lecture 2 measured how much weight a word gives itself among eight random
# words. Without maps, query and key are the same vector. Its score with itself is about $d_\text{model}$, and after
# the division still $\sqrt{d_\text{model}}$, against ±1 for the others, so the self-weight is 0.77 at width 16 and
# 1.00 at 256. The scale only delays the copying. What ends it are *separate maps* for query and key, which bring the
# self-weight to about 1/8, one share of eight. Such a query and key start **independent** of each other, which is
# what the derivation in section 4 asks for.
#
# **The scale promises nothing for later.** Training makes queries and keys *dependent*, which is its purpose. The
# scaled model of section 6 ends with about four fifths of each row's weight on the diagonal, and within a row its
# scaled scores have variance 3, no longer 1. The scale makes sure that it can get there. For very wide networks,
# Yang et al. (2022) argue for $1/d_k$ for this very reason.
#
# **Check yourself.** After training, queries and keys point the same way wherever they belong together. How do
# their scores then grow with $d_k$, and what does $1/\sqrt{d_k}$ leave of that growth?
#
# <details><summary>Answer</summary>
#
# Aligned vectors with entries of size 1 have a dot product of about $d_k$, not $\sqrt{d_k}$, as a word had with
# itself in lecture 2. The scale leaves $\sqrt{d_k}$.
#
# </details>

# %% [markdown]
# ## 11. Going deeper: the gradient at the queries
#
# $W_q$ learns from the gradient at the queries, $\partial L / \partial q$. Without the scale, is it as small as the
# gradient at the scores? On its way from the scores to a query the gradient is multiplied by keys, whose length is
# $\sqrt{d_k}$. The scale would cancel this factor, but without it the gradient grows again. So we measure the
# length of the gradient at 1000 queries, its median and its mean.

# %%
at_queries = {
    flag: torch.stack(
        [
            torch.stack([attend_at_random(d_k, seed, flag)[2].flatten() for d_k in widths])
            for seed in range(5)
        ]
    )
    for flag in (False, True)
}  # scaled or not -> (seeds, widths, queries)
median = {flag: lengths.median(dim=-1).values for flag, lengths in at_queries.items()}
mean = {flag: lengths.mean(dim=-1) for flag, lengths in at_queries.items()}  # (seeds, widths)

print("at the query    not scaled         scaled")
print(" d_k         median    mean   median    mean")
for place, d_k in enumerate(widths):
    numbers = [part[flag][:, place].median() for flag in (False, True) for part in (median, mean)]
    print(f"{d_k:4d}      ", "".join(f"{number:9.2g}" for number in numbers))

# %% tags=["hide-input"]
assert ((median[True] > 0.2) & (median[True] < 0.28)).all()
assert (median[False][:, : at[64] + 1] > 1.25 * median[True][:, : at[64] + 1]).all()
assert abs(median[False][:, at[64]].median() - 0.40) < 0.01
assert ((median[False][:, at[128]] / median[True][:, at[128]] - 0.8).abs() < 0.15).all()
assert abs(median[False][:, at[256]].median() - 0.04) < 0.01
assert (median[False][:, at[256]] < 0.25 * median[True][:, at[256]]).all()
assert (median[False][:, at[1024]] < 0.002 * median[True][:, at[1024]]).all()
assert (mean[False] > 1.8 * mean[True]).all()  # at every width
assert (mean[False][:, at[64] :] > 3.5 * mean[True][:, at[64] :]).all()

figure, ax = plotting.panels(1, height=4.8)
lines = {"scaled": median[True], "not scaled": median[False], "not scaled:\nmean": mean[False]}
look = {"xscale": "log", "yscale": "log", "xlabel": f"width {plotting.symbol('d_k')}"}
plotting.curves(ax, widths, lines, ylim=(1e-4, 4), **look)
plotting.ticks_at(ax, x=widths[::2])
ax.set_title("length of the gradient at the query")
plotting.picture(
    figure,
    caption="Without the scale the typical query loses its gradient from width 128 on, but the mean even grows.",
    alt="The gradient at the query over the width d_k from 4 to 1024, both axes logarithmic, medians and ranges "
    "of five seeds. Scaled it stays near 0.25; the unscaled median rises from 0.41 to 0.65 at 16, is still 0.40 "
    "at 64, crosses the scaled one near 128 and falls to 0.04 at 256 and 0.0002 at 1024, while the unscaled mean "
    "rises from 0.5 to about 1.2.",
)

# %% [markdown]
# Up to $d_k = 64$ the typical query gets *more* gradient without the scale than with it, 0.40 against 0.25. At 128
# the two are nearly equal, at 256 it is 0.04 against 0.25, and at 1024 there is next to nothing left. The *mean* is
# larger without the scale at every width. In some rows the two largest scores happen to be close, and these rows
# get a lot, while the others get almost nothing.
#
# So "the gradient vanishes" is not the whole story. It becomes very uneven.
#
# **Check yourself.** "At $d_k = 64$ attention needs the scale because the gradient at its queries vanishes." Is that
# true?
#
# <details><summary>Answer</summary>
#
# Not as it is put. At a typical query the gradient is even larger without the scale. What is small is the gradient at
# the entries of the softmax, a fifth of what it is with the scale. And it is uneven, with much for rows in which two
# scores happen to be close and nothing for keys without weight. At $d_k = 256$ the sentence fits the typical query,
# but not the mean.
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
