# ---
# jupyter:
#   course:
#     assignment: a2_self_attention
#     deeper: 10
#     minutes: 43
#     summary: Self-attention without parameters, from two loops to two matrix products.
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
# # Lecture 2: Basic self-attention
#
# In [lecture 1](01_rnn_attention.ipynb) a decoder attended to the words of another sentence. In self-attention, the
# words of one sentence attend to each other. You will build its simplest form, two matrix products and a softmax
# without a single parameter, and find out why, with wide random vectors, it nearly copies its input, and what it
# cannot see.
#
# **By the end of this lecture you will be able to**
#
# <!-- slide: What you will be able to do -->
#
# - compute scores ω, weights α and context vectors z, with loops and with matrix products, and predict which sums are
#   one;
# - explain why self-attention without parameters nearly copies wide random vectors, and what cures that;
# - prove that self-attention is permutation-*equivariant*, and tell that from *invariant*;
# - name what is still missing.
#
# **Time** about 43 minutes with views and questions, and 10 for going deeper.
# **Needs** [lecture 1](01_rnn_attention.ipynb), dot products, softmax.

# %%
import math

import torch
import torch.nn.functional as F

from course_utils import attention
from lecture_kit import live, plotting, questions

plotting.use_course_style()
torch.set_num_threads(1)  # matrices this small are faster on one core than shared between several
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1. From two networks to one sequence
#
# In lecture 1, attention connected two networks. A state of the decoder was compared with every annotation of the
# encoder, a softmax turned the scores into weights, and the weights mixed the annotations. Nothing in that recipe needs
# two networks. In **self-attention**, each word of a sentence plays the role of the decoder, and all the words together
# play the role of the annotations.
#
# <!-- slide: In self-attention a sentence attends to itself -->
#
# ![Two panels. Left, between two networks, as in lecture 1: the decoder states s1, s2, s3 for can,
# you, help stand above the encoder annotations h1 to h4 for kannst, du, mir, helfen; both rows are
# chained by recurrent arrows, and arrows lead from s2 to all four annotations, to choose word 3.
# Right, within one sequence: the vectors x1 to x4 of can, you, help, me stand above the same four
# vectors; arrows lead from x2 in the upper row to all four in the lower row, x2 itself among them.
# No recurrent arrows.](../figures/two_kinds_of_attention.svg)
#
# *Left, a decoder asks and an encoder answers; right, the words of one sentence do both.*
#
# <!-- slide: Who asked and who answered are now the same words -->
#
# | | lecture 1 | self-attention |
# |---|---|---|
# | who asks (the *query*) | decoder state $s^{(i-1)}$ | word $x^{(i)}$ |
# | who is compared (the *keys*) | annotations $h^{(j)}$ | words $x^{(j)}$ of the same sentence |
# | what is mixed (the *values*) | annotations $h^{(j)}$ | words $x^{(j)}$ |
# | score | $v^\top \tanh(W s^{(i-1)} + U h^{(j)})$ | $x^{(i)} \cdot x^{(j)}$ |
# | computed | one step after the other | all words at once |
#
# **Why a dot product?** It is cheap, because all dot products of a sentence are one matrix product (section 6).

# %% [markdown]
# ## 2. Three words by hand
#
# What is a *bank*? In "the river bank" it is land; in "the savings bank" it is a place for money. To be understood,
# the word has to take something from its neighbours. We give each word two numbers by hand: how strongly it is
# associated with water, and with money.
#
# Every attention mechanism in this course has the same three steps:
#
# <!-- slide: Every attention mechanism has three steps -->
#
# 1. **Similarity**: compare the query with every key; here, the query word with every word, itself included.
# 2. **Normalise**: turn the scores into positive weights that sum to one.
# 3. **Weighted sum**: mix the values, here the word vectors, with these weights.
#
# In code, for the query word "bank":

# %% slide="“bank” gives almost half of its weight to “river”"
by_hand = {"the": (0.2, 0.2), "river": (1.8, 0.2), "bank": (0.9, 0.9)}  # (water, money)
water, money = by_hand["bank"]

bank_scores = {word: water * vector[0] + money * vector[1] for word, vector in by_hand.items()}

total = sum(math.exp(score) for score in bank_scores.values())
bank_weights = {word: math.exp(score) / total for word, score in bank_scores.items()}

z_water = sum(bank_weights[word] * by_hand[word][0] for word in by_hand)
z_money = sum(bank_weights[word] * by_hand[word][1] for word in by_hand)

for word, score in bank_scores.items():
    print(f"{word:>6}   score {score:.2f}   weight {bank_weights[word]:.2f}")
print(f"bank alone ({water}, {money}), after the river ({z_water:.2f}, {z_money:.2f})")

# %% [markdown]
# The score is a **dot product**, which multiplies the vectors entry by entry and adds up. With "river" it is $0.9 \cdot
# 1.8 + 0.9 \cdot 0.2 = 1.80$. It equals the product of the two lengths and the cosine of the angle between the vectors,
# so it is large when both are long and point the same way. The vector of "the" points exactly where "bank" does, but it
# is short, so its score is small.
#
# "River" gets the largest weight and moves the result towards water. With "money", $(0.2, 1.8)$, in its place, the
# result would move just as far the other way.

# %% slide="A river pulls the bank towards the water" tags=["hide-input"]
angle = math.degrees(math.atan2(0.9, 0.9) - math.atan2(0.2, 1.8))
assert abs(math.hypot(0.9, 0.9) * math.hypot(1.8, 0.2) * math.cos(math.radians(angle)) - 1.8) < 1e-9
assert abs(bank_weights["river"] - 0.48) < 0.005
assert max(bank_weights.values()) == bank_weights["river"]
assert abs(z_water - 1.25) < 0.005 and abs(z_money - 0.48) < 0.005

figure, (left, right) = plotting.panels(2, height=3.7, sharex=True, sharey=True)
for ax, offset in [(left, (9, -14)), (right, (9, 7))]:
    plotting.words_in_plane(ax, by_hand, offset, xlabel="water")
    ax.set(aspect="equal", xlim=(0, 2.25), ylim=(0, 1.2), xticks=[0, 1, 2], yticks=[0, 1])
arrow = {"arrowstyle": "-|>", "linewidth": 2, "color": plotting.INK}
for vector in by_hand.values():
    left.annotate("", vector, xytext=(0, 0), arrowprops=arrow)
arc = [math.radians(degrees) for degrees in torch.linspace(45 - angle, 45, 20).tolist()]
left.plot([0.6 * math.cos(a) for a in arc], [0.6 * math.sin(a) for a in arc], marker="")
left.text(0.64, 0.28, f"{angle:.0f}°")
left.set(title="similarity: lengths and angle", ylabel="money")
right.fill(*zip(*by_hand.values(), strict=True), color=plotting.SHADE, zorder=0)
plotting.shift_arrow(right, by_hand["bank"], (z_water, z_money), "z of bank")
right.set_title("weighted sum: towards the river")
plotting.picture(
    figure,
    caption="The vector of bank before and after it has taken something from its neighbours.",
    alt="Two panels with the words the, river and bank in a plane, water to the right, money upwards. Left, "
    "their vectors are arrows from the origin: the is short and points the same way as bank, river is long and "
    "lies 39 degrees below bank. Right, the three words are the corners of a shaded triangle, and an arrow leads "
    "from bank, at (0.9, 0.9), down to the right to its context vector at (1.25, 0.48), inside the triangle.",
)

# %% [markdown]
# The weights are positive and sum to one, so $z$ is an average and stays inside the grey triangle.

# %% [markdown]
# ## 3. Eight words: loops, then matrices
#
# ### Eight words, eight vectors
#
# Now we take the English half of lecture 1's example. It has $T = 8$ words, and each becomes a vector with
# $d_\text{model} = 16$ entries, an axis that shape comments call `D`. The ids and random numbers are those of
# Raschka, Liu and Mirjalili (2022, chapter 16), so that we can compare results. Word 2, "you", is `x[1]`.

# %% slide="The sentence becomes a matrix with one row per word"
words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
sentence = torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])  # (T,)

torch.manual_seed(123)
embedding = torch.nn.Embedding(10, 16)  # a vocabulary of 10 words, vectors of width 16
x = embedding(sentence).detach()  # (T, D): nothing is trained here, so no gradients are needed

T, d_model = x.shape
print(x.shape)

# %% [markdown]
# <!-- slide: An embedding looks up a row for each word -->
#
# ![From left to right: the eight words of the sentence stand below each other, each with its id, 0, 7,
# 1, 2, 5, 6, 4 and 3. A line leads from each id to the row of this number in a table of ten rows, whose
# sixteen cells are coloured by their numbers, and from that row to the vector of the word. The way of
# you is bold: id 7, row 7, second vector. Rows 8 and 9 belong to no word here. On the right, from
# lecture 6 on: the eight vectors plus eight position vectors give eight
# sums.](../figures/embedding_lookup.svg)
#
# *Each word's id selects a row of the table; the selected rows, in sentence order, are the word vectors.*
#
# The embedding is random and untrained, so no similarity between these vectors says anything about English.
#
# ### One word in three steps
#
# <!-- slide: Scores, weights, weighted sum: the whole way of “you” -->
#
# ![Flow diagram for the query word you. On top stand the eight words of the sentence with their
# vectors x1 to x8 drawn as strips, blank for 0, purple above and ochre below; you, word 2, is framed. A blue
# line carries x2 to every word, and each dot product gives a score: 1.73, 16.08, 9.06, minus 0.34,
# 1.14, 1.20, 1.65, minus 1.28. All scores enter one softmax over the eight words. Out come the
# weights: 0.999 for you, 0.001 for help, less than 0.001 for every other word. Each weight is
# multiplied by its word's vector, the products are added up, and the result is z2, the context
# vector of you, again a strip of sixteen cells.](../figures/words_to_context.svg)
#
# *Eight scores become eight weights, and the weights mix all eight words into the context vector of "you".*
#
# The **scores** compare "you", word 2, with every word $j$, over all entries $n$ of the two vectors:
#
# <!-- slide: Step 1: a dot product scores every word -->
#
# $$\omega_{2j} = x^{(2)} \cdot x^{(j)} = \sum_{n=1}^{d_\text{model}} x^{(2)}_n x^{(j)}_n$$
#
# The softmax makes every score positive with the exponential, and divides by the sum of all of them. This gives the
# **weights**:
#
# <!-- slide: Step 2: the weights sum to one because of the softmax -->
#
# $$\alpha_{2j} = \frac{\exp(\omega_{2j})}{\sum_{k=1}^{T} \exp(\omega_{2k})}$$
#
# The index of the sum is $k$, because $j$ is already taken. The **context vector** mixes all words with these
# weights:
#
# <!-- slide: Step 3: the weights mix the word vectors -->
#
# $$z^{(2)} = \sum_{j=1}^{T} \alpha_{2j}\, x^{(j)}$$

# %% slide="The three steps in code: 0.9991 of the weight stays with “you”"
query = x[1]  # (D,) "you"
scores_2, z_2 = torch.empty(T), torch.zeros(d_model)

for j in range(T):
    scores_2[j] = torch.dot(query, x[j])
weights_2 = torch.exp(scores_2) / torch.exp(scores_2).sum()  # (T,)
for j in range(T):
    z_2 += weights_2[j] * x[j]

print(weights_2)

# %% [markdown]
# Nearly all the weight falls on "you" itself; section 4 explains why.
#
# ### All words at once
#
# Nothing was special about word 2, so two loops give all $T \times T$ scores. One matrix product does the same, and much
# faster: $\Omega = X X^\top$ contains every dot product of two rows of $X$. There is one softmax for each *query*, that
# is, for each row; `dim=1` does this. If $A$ is the matrix of the weights, row $i$ of $AX$ is $\sum_j \alpha_{ij}
# x^{(j)}$, the context vector $z^{(i)}$. That is all: two matrix products and a softmax.


# %% slide="Self-attention is two matrix products and a softmax"
def attention_weights(x):
    """Weights (T, T) of every word for every word; x is (T, D)."""
    scores = x @ x.T  # (T, D) @ (D, T) -> (T, T)
    return F.softmax(scores, dim=1)


def basic_self_attention(x):
    """Context vectors (T, D) and weights (T, T); x is (T, D)."""
    weights = attention_weights(x)
    return weights @ x, weights


z, weights = basic_self_attention(x)
assert torch.allclose(weights[1], weights_2) and torch.allclose(z[1], z_2, atol=1e-6)

# %% tags=["hide-input"]
scores = x @ x.T
for i in range(T):
    for j in range(T):
        assert torch.isclose(scores[i, j], torch.dot(x[i], x[j]), atol=1e-5)

# fmt: off
expected_z_2 = torch.tensor([  # from the book
    -9.3975e-01, -4.6856e-01, 1.0311e00, -2.8192e-01, 4.9373e-01, -1.2896e-02,
    -2.7327e-01, -7.6358e-01, 1.3958e00, -9.9543e-01, -7.1287e-04, 1.2449e00,
    -7.8077e-02, 1.2765e00, -1.4589e00, -2.1601e00,
])
# fmt: on
assert (T, d_model) == (8, 16)
assert torch.allclose(z_2, expected_z_2, rtol=1e-4, atol=1e-6)
reference_z, reference_weights = attention.basic_self_attention(x)
assert torch.allclose(z, reference_z, atol=1e-6)
assert torch.allclose(weights, reference_weights, atol=1e-6)
assert torch.allclose(weights, attention.attention_weights(x), atol=1e-6)
river_bank = torch.tensor([*by_hand.values()])  # (3, 2)
assert torch.allclose(basic_self_attention(river_bank)[0][2], torch.tensor([z_water, z_money]))
print("equals the book, course_utils.attention, and the bank of section 2")

# %% slide="Rows of weights sum to one, columns do not"
print("rows:   ", weights.sum(dim=1))
print("columns:", weights.sum(dim=0))

# %% [markdown]
# Each of the eight rows sums to one. Nothing normalises the columns, and their sums run from 0.952 to 1.048. The scores
# are symmetric, since "you" is as similar to "help" as "help" is to "you". The weights are not, because the softmax
# divides each row by a sum of its own.

# %% slide="Scores are symmetric, weights are not" tags=["hide-input"]
column_sums = weights.sum(dim=0)
assert torch.allclose(weights.sum(dim=1), torch.ones(8))
assert abs(column_sums.min() - 0.952) < 0.001 and abs(column_sums.max() - 1.048) < 0.001
assert not torch.allclose(weights, weights.T, atol=1e-3)

figure, (left, right) = plotting.panels(2, height=4.6)
plotting.attention_map(
    scores,
    words,
    words,
    left,
    decimals=1,
    bar=False,
    query_label="query (asks)",
    key_label="key (is compared)",
)
plotting.attention_map(
    weights,
    words,
    words,
    right,
    limit=1.0,
    bar=False,
    query_label="",
    key_label="key (is compared)",
)
left.set_title("scores ω: symmetric")
right.set_title("weights α: each row sums to one")
plotting.picture(
    figure,
    caption="Scores and weights of the eight words: nearly all the weight lies on the diagonal.",
    alt="Two maps with the eight words as rows (queries) and as columns (keys). Left, the scores: "
    "symmetric, the diagonal from 9.8 to 24.7, the other scores between -6.9 and 11.0. Right, the "
    "weights: at least 0.95 everywhere on the diagonal, almost 0 elsewhere; the only other weights "
    "of at least 0.005 are 0.05, in the row of me and the column of translate, and 0.01, in "
    "the row of can and the column of help.",
)

# %% tags=["hide-input"]
questions.ask("02", "softmax-along-the-other-axis")

# %% [markdown]
# Do not confuse the two results. The *weights* are $T \times T$, and the output is $T \times d_\text{model}$, one
# vector for each word. An embedding gives a word the same vector in every sentence, whereas its context vector depends
# on its neighbours.

# %% [markdown]
# ## 4. Why the diagonal dominates
#
# How far has each context vector moved from its word?

# %% slide="On this sentence the output nearly copies the input"
moved = (z - x).norm(dim=1) / x.norm(dim=1)  # (T,)
for word, self_weight, distance in zip(words, weights.diagonal(), moved, strict=True):
    print(f"{word:>9}   self-weight {self_weight:.3f}   moved by {distance:.1%}")

# %% tags=["hide-input"]
# every self-weight is at least 0.95, and no vector moves by more than 6 %
assert weights.diagonal().min() > 0.95
assert moved.max() < 0.06

# %% [markdown]
# **On this sentence, basic self-attention nearly copies its input.** Every word keeps at least 95 % of the weight for
# itself. A layer that copies its input might as well be left out. The reason lies in the size of the scores.
#
# Suppose that all entries of all vectors are independent and normally distributed with mean 0 and variance 1, as in a
# fresh `Embedding`.
#
# <!-- slide: A word's score with itself is $d_\text{model}$, with others $\pm\sqrt{d_\text{model}}$ -->
#
# - For a word and **itself**, $\omega_{ii} = \sum_n (x^{(i)}_n)^2$ adds $d_\text{model}$ squares, and each is 1 on
#   average. The sum is about $d_\text{model}$.
# - For a word and **another**, $\omega_{ij} = \sum_n x^{(i)}_n x^{(j)}_n$ adds as many products with mean 0 and
#   variance 1. They mostly cancel, so the sum is about $\pm\sqrt{d_\text{model}}$.
#
# At $d_\text{model} = 16$ this means 16 against ±4. The softmax sees *differences*, through an exponential, so even a
# score of +4 leaves a factor of $\exp(16 - 4)$, about $160\,000$. In our sentence it is smallest for the query "me"
# with the key "translate", and still about 20.

# %% tags=["hide-input"]
questions.ask("02", "how-far-ahead-a-word-is-of-the-others")

# %% [markdown]
# ### Two remedies, measured
#
# Two changes could stop the copying. We can divide the scores by $\sqrt{d_\text{model}}$, as lecture 3 will do with
# $\sqrt{d_k}$. Or we can make a word's query and key with two different random matrices, which gives them **separate
# roles**. We try each alone, and both together.


# %%
KINDS = ["plain", "scaled", "separate roles", "both"]


def four_scores(x, generator):
    """The scores of each kind, (sentences, T, T), for random sentences x (sentences, T, D)."""
    width = x.shape[-1]
    root = width**0.5
    to_query, to_key = torch.randn(2, width, width, generator=generator) / root  # variance 1
    plain = x @ x.transpose(-2, -1)
    roles = (x @ to_query) @ (x @ to_key).transpose(-2, -1)
    return dict(zip(KINDS, [plain, plain / root, roles, roles / root], strict=True))


def self_weight_of(scores):
    """Average weight that a word gives itself."""
    return scores.softmax(dim=-1).diagonal(dim1=-2, dim2=-1).mean().item()


# %% [markdown]
# We draw 100 sentences of eight random words and one pair of maps for each width, and repeat this with seven seeds.

# %% slide="Separate roles stop the copying; the scale delays it" tags=["hide-input"]
widths = [2**k for k in range(9)]  # 1, 2, 4, ..., 256
runs = {name: torch.empty(7, len(widths)) for name in ["own", "others", *KINDS]}
largest = {name: torch.empty(7, len(widths)) for name in KINDS}  # weight of a row, on average
off_diagonal = ~torch.eye(8, dtype=torch.bool)
for seed in range(7):
    for n, width in enumerate(widths):
        generator = torch.Generator().manual_seed(seed)
        random_words = torch.randn(100, 8, width, generator=generator)
        drawn = four_scores(random_words, generator)
        runs["own"][seed, n] = drawn["plain"].diagonal(dim1=-2, dim2=-1).mean()
        runs["others"][seed, n] = drawn["plain"][:, off_diagonal].std()
        for name, kind in drawn.items():
            runs[name][seed, n] = self_weight_of(kind)
            largest[name][seed, n] = kind.softmax(dim=-1).amax(dim=-1).mean()

# Every one of the seven seeds must lie in the range of each claim.
at_16, at_256 = widths.index(16), widths.index(256)
sizes = torch.tensor(widths, dtype=torch.float32)
assert ((runs["own"] / sizes - 1).abs()[:, 2:] < 0.1).all()
assert ((runs["others"] / sizes.sqrt() - 1).abs()[:, 2:] < 0.1).all()
assert ((runs["plain"][:, at_16] > 0.98) & (runs["plain"][:, at_16] < 0.995)).all()
assert (runs["scaled"][:, at_256] > 0.99).all()
for name in ("separate roles", "both"):  # from width 16 on
    assert ((runs[name][:, at_16:] > 0.07) & (runs[name][:, at_16:] < 0.20)).all()
    assert ((runs[name][:, at_16:].median(dim=0).values - 1 / 8).abs() < 0.03).all()
assert ((largest["separate roles"][:, at_256] - 0.94).abs() < 0.03).all()
assert ((largest["both"][:, at_256] - 0.36).abs() < 0.06).all()
random_words = torch.randn(100, 8, 64, generator=torch.Generator().manual_seed(0))
shared = random_words @ (torch.randn(64, 64, generator=torch.Generator().manual_seed(1)) / 8)
assert self_weight_of(shared @ shared.mT) > 0.99  # one map for query and key

figure, (left, right) = plotting.panels(2)
look = {"xscale": "log", "xlabel": f"width {plotting.symbol('d_model')}"}
scores_by_pair = {"with itself": runs["own"], "with another: spread": runs["others"]}
plotting.curves(left, widths, scores_by_pair, yscale="log", ylabel="size of the score ω", **look)
plotting.curves(
    right,
    widths,
    {name: runs[name] for name in KINDS},
    ylabel="weight of a word for itself",
    ylim=(0, 1.05),
    **look,
)
left.set_title("self-scores grow like the width")
right.set_title("separate roles stop the copying")
plotting.level(right, 1 / 8, "1/8", at=0.83)
plotting.ticks_at(left, x=widths[::2], y=[1, 4, 16, 64, 256])
plotting.ticks_at(right, x=widths[::2])
plotting.picture(
    figure,
    caption="The scale delays the copying; separate roles for query and key stop it. Seven seeds.",
    alt="Two panels over the width d_model from 1 to 256, medians over seven seeds with bands for "
    "their range. Left, on logarithmic axes: the score of a word with itself rises as a line from 1 "
    "to 256, the spread of its scores with other words from 1 to 16. Right, the average weight of a "
    "word for itself: plain, it rises from 0.23 to 0.99 at 16 and to 1 beyond; scaled, it rises "
    "more slowly, 0.77 at 16, and also reaches 1. With separate roles, without and with the scale, "
    "the medians stay between 0.10 and 0.15, near 1/8. Their bands are wide up to 8, between "
    "0.03 and 0.24, and narrow at 256, from 0.09 to 0.13.",
)

# %% [markdown]
# <!-- slide: Unrelated maps for query and key end the head start -->
#
# - **The scale delays the copying, but does not stop it.** A self-score is then about $\sqrt{d_\text{model}}$ and still
#   grows with the width, while the others stay at about ±1.
# - **Separate roles stop it.** If query and key come from *unrelated* maps, not from a shared one, a word no longer
#   matches itself better than others. From width 16 on its average self-weight is about 1/8, one share of eight.
#
# Unrelated maps stop a word from copying itself; without the scale it then copies some word, usually another one,
# almost as completely. At width 256 the largest weight of a row is on average about 0.94 with separate roles alone,
# and about 0.36 with both. Lecture 3 therefore uses both, and trains the matrices, so that the *data* decide which
# words attend to which.

# %% [markdown]
# ## 5. No order: equivariance
#
# Where in these formulas is the *position* of a word? Nowhere, because a sum does not depend on the order of its
# terms. What happens when we permute the words?
#
# <!-- slide: Move the words, and the outputs move along -->
#
# ![Two panels. Left, equivariant, self-attention: the vectors of you, help, me are mapped to their
# context vectors in the same order. Below, the same inputs in the order me, you, help are mapped
# to the context vectors in the order me, you, help: permuting first or last gives the same, the
# outputs move with their words. Right, invariant, the mean of the words: both orders of the inputs
# give the same single vector, the output does not
# notice.](../figures/equivariance.svg)
#
# *Left, the outputs move with their words; right, the output does not change.*
#
# Write $f$ for self-attention, $p$ for a new order of the positions and, as in Python, $x[p]$ for the words in that
# order.
#
# <!-- slide: Self-attention is equivariant, not invariant -->
#
# | | permute the words |
# |---|---|
# | **equivariant** | $f(x[p]) = f(x)[p]$, the outputs are permuted in the same way |
# | **invariant** | $f(x[p]) = f(x)$, the output stays as it was |
#
# Self-attention has the first property, and the proof is short. In matrices, the new order $x[p]$ is $PX$, where $P$ is
# a permutation matrix. The scores become $PX(PX)^\top = P\,\Omega\,P^\top$. Each row still holds the same scores in
# another order, so its softmax holds the same weights in that order: $\mathrm{softmax}(P\Omega P^\top) = PAP^\top$. And
# $(PAP^\top)(PX) = P(AX)$, because $P^\top P = I$.

# %% slide="Permuting the words permutes the outputs" tags=["nbval-ignore-output"]
p = torch.tensor([5, 0, 3, 7, 1, 2, 6, 4])
z_of_permuted, weights_of_permuted = basic_self_attention(x[p])

print(" ".join(words[k] for k in p))
print(f"f(x[p]) against f(x)[p]: largest gap {(z_of_permuted - z[p]).abs().max():.0e}")
print(f"f(x[p]) against f(x):    largest gap {(z_of_permuted - z).abs().max():.2f}")

# %% tags=["hide-input"]
assert (z_of_permuted - z[p]).abs().max() < 1e-5
assert torch.allclose(weights_of_permuted, weights[p][:, p], atol=1e-6)
assert (z_of_permuted - z).abs().max() > 1
print("equivariant, not invariant")

# %% [markdown]
# Self-attention is sometimes called permutation-invariant. It is not, because the queries move with the words. If the
# query is held *fixed*, the order of the key–value pairs does not matter.
#
# Try it with our sentence, and leave the temperature and the mask to later lectures.
#
# - Press *reverse*. Below the buttons, a strip shows each output as colours. Where does it agree with the old one, at the
#   same *word* or at the same *position*?
# - Bring "me" to the front with its arrow ▲. In the map its row *and* its column move, and so does the weight of
#   0.05 that it gives to "translate".

# %% slide="Try it: put the words in any order" tags=["hide-input"]
vectors = (x * 10_000).round() / 10_000  # four decimals, so that the page is small
order = torch.arange(T).flip(0)  # (T,) positions, the last word first
assert (basic_self_attention(x[order])[0] - z[order]).abs().max() < 1e-5
assert (basic_self_attention(x[order])[0] - z).abs().max() > 1
me, translate = words.index("me"), words.index("translate")
assert 0.045 < weights[me, translate] < 0.055

live.attention_view(
    live.Attention(vectors, vectors, vectors, words),
    caption="Self-attention without parameters, with the words in any order",
    temperature=1,
    permute=True,
    query=me,
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# After *reverse*, the output agrees at the same word everywhere, and at the same position nowhere. The weight of 0.05
# moves too, but stays between "me" and "translate".
#
# </details>
#
# Equivariance has a price. If the same word appears twice, both occurrences get the same context vector.

# %% slide="The price: the same word twice gets the same vector"
twice = torch.tensor([2, 1, 7, 2])  # "me help you me"
z_twice, _ = basic_self_attention(embedding(twice).detach())
print("first 'me' equals last 'me':", torch.allclose(z_twice[0], z_twice[3], atol=1e-6))
assert torch.allclose(z_twice[0], z_twice[3], atol=1e-6)

# %% [markdown]
# Word order must be supplied from outside, which is the subject of [lecture 6](06_positional_encoding.ipynb).

# %% tags=["hide-input"]
questions.ask("02", "a-mean-over-the-words")

# %% [markdown]
# ### Three roles, and whole batches
#
# Each word plays three roles. As a query it asks, as a key it is compared, and as a value it is mixed in. Nothing
# forces the three to be the same tensor: with $T$ queries and $S$ keys, the weights form a $T \times S$ matrix.
#
# Models process many sentences at once. `torch.bmm` multiplies matrices pair by pair along the first axis, the batch
# of size $B$, so sentences never mix.

# %% slide="A batch of sentences is `torch.bmm`"
another = torch.tensor([0, 7, 1, 2, 5, 1, 7, 6])  # "can you help me to help you translate"
batch = embedding(torch.stack([sentence, another])).detach()  # (B, T, D)

batch_scores = torch.bmm(batch, batch.transpose(1, 2))  # (B, T, D) @ (B, D, T) -> (B, T, T)
batch_weights = F.softmax(batch_scores, dim=-1)  # (B, T, T)

assert torch.allclose(batch_weights[0], weights, atol=1e-6)
print(batch.shape, "->", batch_weights.shape)

# %% [markdown]
# The new axis brings two traps.
#
# <!-- slide: A batch brings two traps -->
#
# - **`.T` reverses all axes**, and on more than two it is deprecated. Name the two axes that you mean, with
#   `transpose(1, 2)` or, for any number of leading axes, `transpose(-2, -1)`.
# - **`dim=1` is no longer the keys.** In $(T, S)$ the keys are axis 1, but in $(B, T, S)$ they are axis 2. With
#   `dim=-1` you are right in both cases.

# %% tags=["hide-input"]
wrong_weights = F.softmax(batch_scores, dim=1)  # normalises over queries: columns sum to one
assert torch.allclose(batch_weights.sum(dim=-1), torch.ones(2, 8))
assert not torch.allclose(wrong_weights.sum(dim=-1), torch.ones(2, 8), atol=1e-2)
# attention.self_attention takes any three roles; one row of it, slowly and plainly
generator = torch.Generator().manual_seed(2)
q, k, v = (torch.randn(2, *shape, generator=generator) for shape in [(3, 4), (5, 4), (5, 6)])
row = (q[1, 2] @ k[1].T).softmax(dim=0) @ v[1]  # (d_v,)
assert torch.allclose(attention.self_attention(q, k, v)[1, 2], row, atol=1e-5)
print(
    f"with dim=1, the row sums of this batch would run up to {wrong_weights.sum(dim=-1).max():.2f}"
)

# %% [markdown]
# ### What is missing
#
# Self-attention is older than the transformer of 2017, and under the name intra-attention it appears in Cheng et al.
# (2016). What was new in 2017 was a translation model that connects its words by attention *alone*. Our layer still
# lacks five things that this model has:
#
# <!-- slide: What basic self-attention lacks, later lectures add -->
#
# | missing | consequence | lecture |
# |---|---|---|
# | parameters for query, key, value | the layer itself has nothing to learn, and its scores stay symmetric | [3](03_scaled_dot_product_attention.ipynb) |
# | the scale $1/\sqrt{d_k}$ | scores grow with the width, weights become all or nothing | [3](03_scaled_dot_product_attention.ipynb) |
# | a mask | every word sees the future and the padding | [4](04_masked_attention.ipynb) |
# | several heads | one set of weights per word | [5](05_multi_head_attention.ipynb) |
# | positions | word order is invisible | [6](06_positional_encoding.ipynb) |
#
# ## Summary
#
# <!-- slide: Summary -->
#
# - The scores are $\omega_{ij} = x^{(i)} \cdot x^{(j)}$, a softmax over $j$ turns them into weights $\alpha_{ij}$,
#   and the context vectors are $z^{(i)} = \sum_j \alpha_{ij} x^{(j)}$.
# - In matrices, $Z = \mathrm{softmax}(XX^\top)\,X$. Rows of weights sum to one, columns in general do not.
# - For random vectors, a self-score is about $d_\text{model}$ and other scores are about $\pm\sqrt{d_\text{model}}$,
#   so at width 16 the output nearly copies the input. Unrelated maps for query and key stop this; without the scale,
#   at large widths, a word then mostly copies another one.
# - Permuting the words permutes the outputs. Self-attention is equivariant, not invariant, and does not see order.
#
# **Now you:** [assignment a2, self-attention](../exercises/a2_self_attention/a2_self_attention.ipynb). You can skip
# sections 6 and 7, which go deeper.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 3, 4 and 5 can be checked on the spot. Answer those below in your own words before
# you unfold the answers.
#
# **1.** Can a word give another word more weight than itself?
#
# <details><summary>Answer</summary>
#
# Yes, if $x^{(i)} \cdot x^{(j)} > x^{(i)} \cdot x^{(i)}$, that is, if the part of $x^{(j)}$ that points in the
# direction of $x^{(i)}$ is longer than $x^{(i)}$ itself. Among random vectors this is common in low dimensions and
# rare in high ones. In one dimension, with eight words (an equal share is 0.125), the average self-weight is only
# 0.23.
#
# </details>
#
# **2.** Somebody tests equivariance by comparing `f(x[p])` with `f(x)` and finds them different. Is that a test of
# equivariance? Does it help to choose `p` as the identity?
#
# <details><summary>Answer</summary>
#
# No, because this comparison tests invariance, which self-attention does not have. The identity makes both tests
# pass for *every* deterministic function, so it tests nothing. Compare `f(x[p])` with the old output in the new
# order, `f(x)[p]`.
#
# </details>

# %% [markdown]
# ## 6. Going deeper: what it costs
#
# The additive score of lecture 1 and the dot product both need about $T^2 d_\text{model}$ operations for a sentence. Yet
# dot-product attention "is much faster and more space-efficient in practice" (Vaswani et al., 2017, section 3.2.1). We
# time the scores of one sentence of 512 words of width 64.

# %% tags=["nbval-ignore-output"]
import time

W, U, v = torch.randn(64, 64) / 8, torch.randn(64, 64) / 8, torch.randn(64)
long_text = torch.randn(512, 64)  # (T, D)


def additive_scores(x):
    hidden = torch.tanh((x @ W).unsqueeze(1) + (x @ U).unsqueeze(0))  # (T, T, D)
    return hidden @ v  # (T, T)


def milliseconds(function):
    """The best of ten runs, in milliseconds of processor time."""
    runs = []
    for _ in range(10):
        start = time.process_time()
        function()
        runs.append(1000 * (time.process_time() - start))
    return min(runs)


dot = milliseconds(lambda: long_text @ long_text.T)
additive = milliseconds(lambda: additive_scores(long_text))
print(f"dot products {dot:.1f} ms, additive scores {additive:.1f} ms")
assert additive > 50 * dot

# %% [markdown]
# Additive scores take more than fifty times as long, and about four hundred times in this run. The additive score
# writes $T \times T \times d_\text{model}$ numbers to memory and takes the tanh of each, while the dot products are
# one optimised matrix product, which stores only $T \times T$ numbers.
#
# Both grow with $T^2$. PyTorch can count the operations of self-attention, and on the device `meta`, where tensors have
# shapes but no numbers, counting costs nothing even for a long text.

# %% slide="Twice as many words cost four times the operations"
from torch.utils.flop_counter import FlopCounterMode


def count(length, width):
    """Operations (one product and one addition are two) and bytes for the weights."""
    with FlopCounterMode(display=False) as counter:
        _, weights = basic_self_attention(torch.empty(length, width, device="meta"))
    return counter.get_total_flops(), weights.numel() * weights.element_size()


for length in [8, 512, 32768]:
    operations, size = count(length, 64)
    print(f"{length:6d} words   {operations:17,d} operations   {size / 2**20:9.3f} MiB of weights")
    assert operations == 4 * length**2 * 64 and size == 4 * length**2

# %% [markdown]
# There are two products with $T^2 d_\text{model}$ multiplications each and as many additions, $4T^2 d_\text{model}$
# operations in all; the softmax adds only a few for each of the $T^2$ scores. Kernels such as FlashAttention never
# store all weights at once, which saves the memory but not the work.
#
# <!-- slide: Attention is cheap while $T < d_\text{model}$, and everything is one step away -->
#
# | one layer of width $d_\text{model}$, for $T$ words | operations | steps that wait for each other | steps on the path between words $T$ apart |
# |---|--:|--:|--:|
# | self-attention of this lecture | $4T^2 d_\text{model}$ | 1 | 1 |
# | self-attention with maps for query, key, value and output | $4T^2 d_\text{model} + 8T d_\text{model}^2$ | 1 | 1 |
# | plain recurrent network, two maps in each step | $4T d_\text{model}^2$ | $T$ | $T$ |
# | GRU, six maps in each step | $12T d_\text{model}^2$ | $T$ | $T$ |
# | convolution over $k$ neighbours | $2kT d_\text{model}^2$ | 1 | about $2T/(k-1)$ |
#
# Which is cheaper depends on the length. Self-attention without maps and the plain network cost the same at $T =
# d_\text{model}$, and so do attention with its four maps and the GRU; for shorter sentences, attention costs less.
#
# Attention computes all rows side by side and compares every pair directly, whereas in a recurrent network each step
# waits for the one before. Each layer of a convolution widens what a word sees by $(k-1)/2$ words on either side; with
# gaps that grow from layer to layer, about $\log_k T$ layers suffice. Vaswani et al. (2017, table 1) compare all three.

# %% tags=["hide-input"]
# at width 512, attention costs less at 256 words, the same at 512, and more at 1024
without_maps = {length: count(length, 512)[0] for length in (256, 512, 1024)}
a_map = {length: 2 * length * 512**2 for length in without_maps}
assert without_maps[256] < 2 * a_map[256] and without_maps[256] + 4 * a_map[256] < 6 * a_map[256]
assert without_maps[512] == 2 * a_map[512] and without_maps[512] + 4 * a_map[512] == 6 * a_map[512]
assert without_maps[1024] > 2 * a_map[1024]
assert without_maps[1024] + 4 * a_map[1024] > 6 * a_map[1024]
# a word reaches the one T = 30 further on after 30 convolutions over k = 3: 2T/(k - 1)
signal, layers = torch.eye(31)[:1], 0  # (1, T + 1): 1 at the first word
while signal[0, -1] == 0:
    signal, layers = F.conv1d(signal, torch.ones(1, 1, 3), padding=1), layers + 1
assert layers == 30

# %% [markdown]
# **Check yourself.** The text becomes twice as long. By what factor does the number of operations grow for self-attention
# without parameters, and by what factor for a plain recurrent network? Which of the two is cheaper?
#
# <details><summary>Answer</summary>
#
# They grow by a factor of four ($T^2$) and of two ($T$). Between these two, attention is cheaper while $T <
# d_\text{model}$. If attention is given its four maps and compared with a GRU, the break-even point is again
# $T = d_\text{model}$.
#
# </details>

# %% [markdown]
# ## 7. Going deeper: what training decides
#
# In the translator of lecture 8, training has decided where to attend. Its encoder, which reads German, has two
# layers of four *heads*; a head is self-attention with matrices of its own for queries, keys and values. One head has
# learned something that we can name.
#
# The German word "sie" means "she", "they" or, for feminine nouns, "it". When it is the subject, the verb shows which
# is meant, since "sie kann" is "she can" and "sie können" is "they can". The sentence "sie kann das
# fenster zumachen", *she can close the window*, was not in the training set. For this sentence the course has stored
# the attention weights, before and after training.

# %%
from lecture_kit.trained import learned

example = learned.sentence("she")
before = example.weights("encoder", layer=2, head=3, untrained=True)  # (T, T)
after = example.weights("encoder", layer=2, head=3)  # (T, T)
print(f"weight from sie to kann: {before[0, 1]:.2f} before training, {after[0, 1]:.2f} after")

# %% slide="Training taught a head to find the verb of “sie”" tags=["hide-input"]
counted = learned.measure("sie")  # in held-out sentences
nouns = learned.measure("noun")
print(f"largest weight on the verb, {counted.cases} times sie")
print(
    f"    before training {counted.untrained:.0%}, after {counted.trained:.0%}, by chance {counted.chance:.0%}"
)
print(f"largest weight of a noun on its article or other determiner, {nouns.cases} nouns")
print(
    f"    before training {nouns.untrained:.0%}, after {nouns.trained:.0%}, by chance {nouns.chance:.0%}"
)

sie, kann, das, fenster = range(4)
assert example.source[:4] == ["sie", "kann", "das", "fenster"]
assert before.min() > 0.08 and before.max() < 0.23
assert after[sie].argmax() == kann and after[sie, kann] > 0.8
assert after[fenster].argmax() == das and after[fenster, das] > 0.55
rest = after.clone()
rest[sie, kann] = rest[fenster, das] = 0
assert rest.max() < 0.5
assert counted.cases == 67 and counted.trained > 0.95
assert counted.untrained < 0.1 and counted.chance < 0.09
assert 0.39 < nouns.trained < 0.43 and nouns.untrained < 0.1 and nouns.chance < 0.09
assert 0.45 < after[das, sie] < 0.5

figure = plotting.attention_maps(
    [before, after],
    ["before training", "after training"],
    example.source,
    example.source,
    limit=1.0,
    size=(10, 5),
    colour_label="weight α",
)
plotting.picture(
    figure,
    caption="Before training, all weights lie between 0.09 and 0.22; afterwards, sie attends to its verb kann.",
    alt="Two maps with the words of sie kann das fenster zumachen, the full stop and <eos> as rows "
    "(queries) and columns (keys). Left, before training: all weights lie between 0.09 and 0.22. "
    "Right, after training: sie gives 0.84 to kann, fenster 0.60 to its article das. No other weight "
    "reaches 0.5, and most rows are spread out.",
)

# %% [markdown]
# After training, "sie" attends to its verb and "fenster" (window) to its article "das". In 200 sentences that played
# no part in choosing this head, nearly every subject "sie" attends most to its verb, which before training happened
# hardly more often than by chance. This encoder also adds position vectors (lecture 6), so the head may use the
# position as well as the word. But the position alone does not find the verb, which comes next in only 36 of the 67
# cases. Not every row is so clear. Fewer than half of the nouns attend most to their determiner, and we cannot say
# why "das" gives 0.47 to "sie". In another training run, or after a rounding difference on another computer, this job
# may fall to other heads.
#
# The words are the same as before training. Training has changed the vectors that are compared, through the
# embeddings, the first layer, and the matrices that make queries and keys.

# %% [markdown]
# ## Further reading
#
# - Sebastian Raschka, Yuxi (Hayden) Liu, Vahid Mirjalili (2022). *[Machine Learning with PyTorch and
#   Scikit-Learn.](https://github.com/rasbt/machine-learning-book)* Packt. Chapter 16, on self-attention
#   without parameters: the running example.
# - Dzmitry Bahdanau, Kyunghyun Cho, Yoshua Bengio (2015). *[Neural Machine Translation by Jointly Learning
#   to Align and Translate.](https://arxiv.org/abs/1409.0473)* ICLR. Section 3.1: the attention of lecture
#   1.
# - Minh-Thang Luong, Hieu Pham, Christopher D. Manning (2015). *[Effective Approaches to Attention-based
#   Neural Machine Translation.](https://arxiv.org/abs/1508.04025)* EMNLP. Section 3.1: the dot product as a
#   score.
# - Jianpeng Cheng, Li Dong, Mirella Lapata (2016). *[Long Short-Term Memory-Networks for Machine
#   Reading.](https://arxiv.org/abs/1601.06733)* EMNLP. Section 3: intra-attention, before transformers.
# - Ankur Parikh, Oscar Täckström, Dipanjan Das, Jakob Uszkoreit (2016). *[A Decomposable Attention Model
#   for Natural Language Inference.](https://arxiv.org/abs/1606.01933)* EMNLP. Section 3.4: intra-sentence
#   attention.
# - Zhouhan Lin, Minwei Feng, Cicero Nogueira dos Santos, Mo Yu, Bing Xiang, Bowen Zhou, Yoshua Bengio
#   (2017). *[A Structured Self-Attentive Sentence Embedding.](https://arxiv.org/abs/1703.03130)* ICLR.
#   Section 2.1.
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz Kaiser,
#   Illia Polosukhin (2017). *[Attention Is All You Need.](https://arxiv.org/abs/1706.03762)* NeurIPS.
#   Section 3.2.1: dot products against additive scores. Section 4 and table 1: cost per layer, and the steps that
#   must wait for each other.
# - Juho Lee, Yoonho Lee, Jungtaek Kim, Adam R. Kosiorek, Seungjin Choi, Yee Whye Teh (2019). *[Set
#   Transformer: A Framework for Attention-based Permutation-Invariant Neural
#   Networks.](https://arxiv.org/abs/1810.00825)* ICML. Property 1: its attention blocks are equivariant.
#   Pooling then makes the whole invariant.
# - Tri Dao, Daniel Y. Fu, Stefano Ermon, Atri Rudra, Christopher Ré (2022). *[FlashAttention: Fast and
#   Memory-Efficient Exact Attention with IO-Awareness.](https://arxiv.org/abs/2205.14135)* NeurIPS. Section
#   3.1.
