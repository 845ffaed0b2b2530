# ---
# jupyter:
#   course:
#     assignment: a2_self_attention
#     deeper: 5
#     minutes: 66
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
# In [lecture 1](01_rnn_attention.ipynb) a decoder looked back at the words of another sentence. In this lecture
# the words of one sentence look at each other, and nothing else is left. There is no recurrence, and for now
# there is not a single parameter.
#
# **Afterwards you will be able to**
#
# - compute scores ω, weights α and context vectors z by hand, with loops and with matrix products;
# - say which sums are always one (rows) and which need not be (columns);
# - explain why this simplest form nearly copies its input, and measure how nearly;
# - show that self-attention is permutation-*equivariant*, and say why that is not *invariant*;
# - say what is still missing and, if you go deeper, what self-attention costs when a sentence gets longer.
#
# **Time** about 66 minutes with views and questions, and 5 for going deeper.
# **Needs** [lecture 1](01_rnn_attention.ipynb), dot products, softmax.

# %%
import math

import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_utils import attention
from lecture_kit import live, plotting, questions
from lecture_kit.trained import learned

plotting.use_course_style()
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## 1. From two networks to one sequence
#
# In lecture 1, attention connected two networks. A state of the decoder was compared with every annotation of the
# encoder, a softmax turned the comparison into weights, and the weights mixed the annotations into a context
# vector.
#
# You may want to be reminded of the names. The *encoder* reads the German words and leaves one vector for each of
# them, the *annotation* $h^{(j)}$. The *decoder* writes the English words, and $s^{(i-1)}$ is its state when it
# chooses word $i$. The matrices $W$ and $U$ and the vector $v$ are trained with the rest.
#
# Nothing in that recipe needs two networks. We can take the words of one sentence, let each of them ask, and let
# all of them answer. That is **self-attention**.
#
# ![Two panels. Left, between two networks, as in lecture 1: the decoder states s1, s2, s3 for can,
# you, help stand above the encoder annotations h1 to h4 for kannst, du, mir, helfen; both rows are
# chained by recurrent arrows, and arrows lead from s2 to all four annotations, to choose word 3.
# Right, within one sequence: the vectors x1 to x4 of can, you, help, me stand above the same four
# vectors; arrows lead from x2 in the upper row to all four in the lower row, x2 itself among them.
# No recurrent arrows.](../figures/two_kinds_of_attention.svg)
#
# *On the left a decoder asks and an encoder answers, while on the right the words of one sentence do both.*
#
# | | lecture 1 | self-attention |
# |---|---|---|
# | who asks (the *query*) | decoder state $s^{(i-1)}$ | word $x^{(i)}$ |
# | who is compared (the *keys*) | annotations $h^{(j)}$ | words $x^{(j)}$ of the same sentence |
# | what is mixed (the *values*) | annotations $h^{(j)}$ | words $x^{(j)}$ |
# | score | $v^\top \tanh(W s^{(i-1)} + U h^{(j)})$ | $x^{(i)} \cdot x^{(j)}$ |
# | computed | one step after the other | all words at once |
#
# Self-attention is older than the transformer of 2017. Cheng et al. (2016) called it intra-attention, Parikh et
# al. (2016) used it too, and Lin et al. (2017) used a relative of it in which trained vectors are the queries.
# What was new in 2017 was a translation model that connects its words by attention *alone*, without recurrence
# and without convolution.

# %% [markdown]
# ## 2. Three words by hand
#
# What is a *bank*? In "the river bank" it is land, whereas in "the money bank" it keeps savings, so the word needs
# its neighbours to be understood. Let us see how it can take up what they say. Every word gets a vector of two
# numbers that we set by hand, the first for how much the word has to do with water and the second for how much it
# has to do with money. On its own, "bank" has as much of the one as of the other.
#
# Every attention mechanism in this course has the same three steps:
#
# 1. **Similarity**: compare the query word with every word, itself included.
# 2. **Normalise**: turn the scores into positive weights that sum to one.
# 3. **Weighted sum**: mix the word vectors with these weights.
#
# With so few numbers you can follow each step with a pocket calculator. The query word is "bank".

# %%
by_hand = {"the": (0.2, 0.2), "river": (1.8, 0.2), "bank": (0.9, 0.9)}  # (water, money)
water, money = by_hand["bank"]

scores = {word: water * vector[0] + money * vector[1] for word, vector in by_hand.items()}

total = sum(math.exp(score) for score in scores.values())
weights = {word: math.exp(score) / total for word, score in scores.items()}

z_of_bank = [sum(weights[word] * by_hand[word][n] for word in by_hand) for n in (0, 1)]

for word, score in scores.items():
    print(f"{word:>6}   score {score:.2f}   exp {math.exp(score):.2f}   weight {weights[word]:.2f}")
print(f"bank alone ({water}, {money}), after the river ({z_of_bank[0]:.2f}, {z_of_bank[1]:.2f})")

# %% [markdown]
# The score is a **dot product**, which multiplies the vectors entry by entry and adds up. With "river" it is $0.9
# \cdot 1.8 + 0.9 \cdot 0.2 = 1.80$. Such a sum is the product of the two lengths and the cosine of the angle
# between the vectors, so it is large when both are long and point the same way. The vector of "the" points exactly
# where "bank" does, but it is short, and so its score is small.
#
# "River" gets the largest weight, 0.48, which is why the result has more to do with water than with money. If you
# put "money", (0.2, 1.8), in the place of "river", the two numbers of the result change places.

# %% tags=["hide-input"]
angle = math.degrees(math.atan2(0.9, 0.9) - math.atan2(0.2, 1.8))
assert abs(math.hypot(0.9, 0.9) * math.hypot(1.8, 0.2) * math.cos(math.radians(angle)) - 1.8) < 1e-9
assert abs(weights["river"] - 0.48) < 0.005 and max(weights.values()) == weights["river"]

figure, (left, right) = plotting.panels(2, height=3.7, sharex=True, sharey=True)
for ax, offset in [(left, (9, -14)), (right, (9, 7))]:
    plotting.words_in_plane(ax, by_hand, offset, xlabel="water")
    ax.set(aspect="equal", xlim=(0, 2.25), ylim=(0, 1.2), xticks=[0, 1, 2], yticks=[0, 1])
look = {"arrowstyle": "-|>", "linewidth": 2, "color": plotting.INK}
for vector in by_hand.values():
    left.annotate("", vector, xytext=(0, 0), arrowprops=look)
arc = [math.radians(degrees) for degrees in torch.linspace(45 - angle, 45, 20).tolist()]
left.plot([0.6 * math.cos(a) for a in arc], [0.6 * math.sin(a) for a in arc], marker="")
left.text(0.64, 0.28, f"{angle:.0f}°")
left.set(title="similarity: lengths and angle", ylabel="money")
right.fill(*zip(*by_hand.values(), strict=True), color=plotting.SHADE, zorder=0)
plotting.shift_arrow(right, by_hand["bank"], z_of_bank, "z of bank")
right.set_title("weighted sum: towards the river")
plotting.picture(
    figure,
    caption="The vector of bank before and after it has looked at its neighbours.",
    alt="Two panels with the words the, river and bank in a plane, water to the right, money upwards. Left, "
    "their vectors are arrows from the origin: the is short and points the same way as bank, river is long and "
    "lies 39 degrees below bank. Right, the three words are the corners of a shaded triangle, and an arrow leads "
    "from bank, at (0.9, 0.9), down to the right to its context vector at (1.25, 0.48), inside the triangle.",
)

# %% [markdown]
# The weights are positive and sum to one, so $z$ is an average and never leaves the grey triangle that has the
# words as its corners. To get outside, a model needs learned parts, which are a map of the values before they are
# mixed (lecture 3) and the layers around attention (lectures 7 and 8).
#
# ### Eight words, eight vectors
#
# Now we take a whole sentence, the English half of the pair from lecture 1, and wider vectors that nobody has set by
# hand. A vocabulary has given every word a number, and an embedding layer gives every number a vector.
#
# | symbol | meaning | here |
# |---|---|---|
# | $T$ | number of words | 8 |
# | $d_\text{model}$ | width of a word vector; its axis is `D` in shapes such as `(T, D)` | 16 |
# | $x^{(i)}$ | vector of word $i$, a row of the matrix $X$ | `x[i - 1]` |
# | $\omega_{ij}$ | score: how similar word $i$ is to word $j$ | `scores[i - 1, j - 1]` |
# | $\alpha_{ij}$ | weight: the share of word $j$ in the context of word $i$ | `weights[i - 1, j - 1]` |
# | $z^{(i)}$ | context vector of word $i$ | `z[i - 1]` |
#
# Formulas count from 1 and Python counts from 0, so word 2, "you", is `x[1]`.

# %%
words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
sentence = torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])  # (T,)

torch.manual_seed(123)
embedding = torch.nn.Embedding(10, 16)  # a vocabulary of 10 words, vectors of width 16
x = embedding(sentence).detach()  # (T, D): nothing is trained here, so no gradients are needed

T, d_model = x.shape
assert (T, d_model) == (8, 16)
print(sentence)
print(x.shape)

# %% [markdown]
# An embedding is a table with one row for each word of the vocabulary, and looking a word up means taking the row
# with its number. No two words share a row, and a word has the same row wherever it appears.
#
# ![From left to right: the eight words of the sentence stand below each other, each with its id, 0, 7,
# 1, 2, 5, 6, 4 and 3. A line leads from each id to the row of this number in a table of ten rows, whose
# sixteen cells are coloured by their numbers, and from that row to the vector of the word. The way of
# you is bold: id 7, row 7, second vector. Rows 8 and 9 belong to no word here. On the right, from
# lecture 6 on: the eight vectors plus eight position vectors give eight
# sums.](../figures/embedding_lookup.svg)
#
# *The number of a word chooses a row, and these rows, in the order of the words, are the vectors.*
#
# The embedding is random and untrained. So the *mechanics* below are real, but no similarity that we find between
# these vectors says anything about English.

# %% [markdown]
# ## 3. One word in three steps
#
# The three steps are those of section 2, now for the query word "you" among eight words of width 16.
#
# ![Flow diagram for the query word you. On top stand the eight words of the sentence with their
# vectors x1 to x8 drawn as strips, blank for 0, purple above and ochre below; you, word 2, is framed. A blue
# line carries x2 to every word, and each dot product gives a score: 1.73, 16.08, 9.06, minus 0.34,
# 1.14, 1.20, 1.65, minus 1.28. All scores enter one softmax over the eight words. Out come the
# weights: 0.999 for you, 0.001 for help, less than 0.001 for every other word. Each weight is
# multiplied by its word's vector, the products are added up, and the result is z2, the context
# vector of you, again a strip of sixteen cells.](../figures/words_to_context.svg)
#
# *Eight scores become eight weights, and the weights mix the vectors of all eight words into the context vector
# of "you".*
#
# ### Step 1: similarity
#
# The score is a dot product. If $x^{(j)}_n$ is entry $n$ of the vector $x^{(j)}$, it is
#
# $$\omega_{2j} = x^{(2)} \cdot x^{(j)} = \sum_{n=1}^{d_\text{model}} x^{(2)}_n x^{(j)}_n$$

# %%
query = x[1]  # (D,) "you"

scores_2 = x.new_empty(T)  # the dtype and device of x: float64 in, float64 out
for j in range(T):
    scores_2[j] = torch.dot(query, x[j])

for word, score in zip(words, scores_2, strict=True):
    print(f"{word:>9}  {score:7.4f}")

# %% [markdown]
# ### Step 2: normalise
#
# The softmax makes every score positive with the exponential, and then divides by the sum of all of them:
#
# $$\alpha_{2j} = \frac{\exp(\omega_{2j})}{\sum_{k=1}^{T} \exp(\omega_{2k})}$$
#
# The index of the sum is $k$, because $j$ is already taken by the word whose weight we want.

# %%
exponentials = torch.exp(scores_2)
weights_2 = exponentials / exponentials.sum()  # (T,)

assert torch.allclose(weights_2, F.softmax(scores_2, dim=0))
for word, weight in zip(words, weights_2, strict=True):
    text = f"{weight:.4f}" if weight >= 0.00005 else "<0.0001"  # small, but never zero
    print(f"{word:>9}  {text:>7}")
print(f"      sum  {weights_2.sum():7.4f}")

# %% [markdown]
# Keep that 0.9991 in mind, because section 6 asks where it comes from.
#
# ### Step 3: weighted sum
#
# $$z^{(2)} = \sum_{j=1}^{T} \alpha_{2j}\, x^{(j)}$$

# %%
z_2 = x.new_zeros(d_model)
for j in range(T):
    z_2 += weights_2[j] * x[j]

print(z_2)

# %% tags=["hide-input"]
# fmt: off
expected_z_2 = torch.tensor([  # known values of this example, to check against
    -9.3975e-01, -4.6856e-01, 1.0311e00, -2.8192e-01, 4.9373e-01, -1.2896e-02,
    -2.7327e-01, -7.6358e-01, 1.3958e00, -9.9543e-01, -7.1287e-04, 1.2449e00,
    -7.8077e-02, 1.2765e00, -1.4589e00, -2.1601e00,
])
# fmt: on
assert torch.allclose(z_2, expected_z_2, rtol=1e-4, atol=1e-6)
print("the known values of this example are met")

# %% [markdown]
# ## 4. All words: loops, then matrices
#
# Nothing was special about word 2, so two loops give all $T \times T$ scores. Loops say exactly what is meant,
# which is why we write them first and then check the fast form against them.

# %%
scores_by_loop = x.new_empty(T, T)
for i, x_i in enumerate(x):
    for j, x_j in enumerate(x):
        scores_by_loop[i, j] = torch.dot(x_i, x_j)

scores = x @ x.T  # (T, D) @ (D, T) -> (T, T)

assert torch.allclose(scores, scores_by_loop, atol=1e-5)
assert torch.allclose(scores, scores.T)
print("matrix product equals loops:", torch.allclose(scores, scores_by_loop, atol=1e-5))

# %% [markdown]
# $\Omega = X X^\top$ contains every dot product of two rows of $X$. It is symmetric, since "you" is as similar to
# "help" as "help" is to "you".
#
# Now we apply the softmax, once for each *query*. With `dim=1` PyTorch adds up along the second axis, so each row
# is normalised on its own.

# %%
weights = F.softmax(scores, dim=1)  # (T, T)

assert weights.shape == (8, 8)
assert torch.allclose(weights[1], weights_2)
print("rows:   ", *[f"{total:.3f}" for total in weights.sum(dim=1).tolist()])
print("columns:", *[f"{total:.3f}" for total in weights.sum(dim=0).tolist()])

# %% [markdown]
# Eight words give eight rows, and each of the eight rows sums to one. A column, in contrast, adds up weights that
# belong to different queries. Nothing normalises the columns, and their sums run from 0.952 to 1.048.
#
# Note that `sum(dim=1)` adds *along* a row. The softmax also breaks the symmetry, because it divides each row by
# a sum of its own, so in general $\alpha_{ij} \ne \alpha_{ji}$.
#
# Here are both matrices. Zero has the colour of the page, purple is above zero and ochre below.

# %% tags=["hide-input"]
column_sums = weights.sum(dim=0)
assert torch.allclose(weights.sum(dim=1), torch.ones(8))
assert abs(column_sums.min() - 0.952) < 0.001 and abs(column_sums.max() - 1.048) < 0.001
assert not torch.allclose(weights, weights.T, atol=1e-3)

figure, (left, right) = plotting.panels(2, height=4.6)
plotting.attention_map(scores, words, words, left, decimals=1, bar=False)
plotting.attention_map(weights, words, words, right, limit=1.0, bar=False, query_label="")
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

# %% [markdown]
# The third step, for all words at once, is one more matrix product. Let $A$ be the matrix of the weights
# $\alpha_{ij}$. Then row $i$ of $AX$ is $\sum_j \alpha_{ij} x^{(j)}$, which is $z^{(i)}$.

# %%
z = weights @ x  # (T, T) @ (T, D) -> (T, D)

assert z.shape == x.shape
assert torch.allclose(z[1], z_2, atol=1e-6)
print("context vector of 'you' equals the loop's:", torch.allclose(z[1], z_2, atol=1e-6))

# %% tags=["hide-input"]
questions.ask("02", "softmax-along-the-other-axis")

# %% [markdown]
# ## 5. The function
#
# Two products and a softmax are all of it. The course has its own reference code in `course_utils.attention`, and
# our function must agree with it, and with what we found by hand for the bank.


# %%
def attention_weights(x):
    """Weights (T, T) of every word for every word; x is (T, D)."""
    return F.softmax(x @ x.T, dim=1)


def basic_self_attention(x):
    """Context vectors (T, D) and weights (T, T); x is (T, D)."""
    weights = attention_weights(x)  # (T, T)
    return weights @ x, weights


z, weights = basic_self_attention(x)

# %% tags=["hide-input"]
assert torch.allclose(z[1], expected_z_2, rtol=1e-4, atol=1e-6)
reference_z, reference_weights = attention.basic_self_attention(x)
assert torch.allclose(z, reference_z, atol=1e-6)
assert torch.allclose(weights, reference_weights, atol=1e-6)
assert torch.allclose(weights, attention.attention_weights(x), atol=1e-6)
river_bank = torch.tensor([*by_hand.values()])  # (3, 2)
assert torch.allclose(basic_self_attention(river_bank)[0][2], torch.tensor(z_of_bank))
print("agrees with course_utils.attention, and with section 2 by hand")

# %% [markdown]
# Keep the two results apart. The *weights* are $T \times T$, whereas the *output* is $T \times d_\text{model}$
# and has one vector for each word. An embedding gives a word the same vector in every sentence, whereas its context
# vector depends on its neighbours.
#
# ### Three roles, and whole batches
#
# Each word plays three roles. As a query it asks, as a key it is compared, and as a value it is mixed in. Nothing
# forces the three to be the same tensor. With $T$ queries and $S$ keys, each key with its value, the weights are
# $T \times S$; in lecture 1, $T$ was English and $S$ German. Queries and keys are compared, so they have the same
# width, $d_k$, but the values may have another one, $d_v$.
#
# Models also process many sentences at once. We write $B$ for the number of sentences, the *batch size*.
# `torch.bmm` multiplies matrices pair by pair along the first axis, so sentences never mix. As an example, the
# next cell computes the scores of *two* sentences in one call, ours and another sequence of eight words.
# (Sentences of different lengths need padding and a mask, which come in lecture 4.)

# %%
other = torch.tensor([3, 4, 8, 9, 1, 2, 0, 5])
batch = embedding(torch.stack([sentence, other])).detach()  # (B, T, D)

batch_scores = torch.bmm(batch, batch.transpose(1, 2))  # (B, T, D) @ (B, D, T) -> (B, T, T)

assert batch_scores.shape == (2, 8, 8)
for one_sentence, one_matrix in zip(batch, batch_scores, strict=True):
    assert torch.allclose(one_sentence @ one_sentence.T, one_matrix, atol=1e-5)
print(batch.shape, "->", batch_scores.shape)

# %% [markdown]
# The new axis brings two traps.
#
# - **`.T` reverses all axes.** It would turn $(B, T, D)$ into $(D, T, B)$. Say which two axes you mean by
#   `transpose(1, 2)`, or by `transpose(-2, -1)`, which works for any number of leading axes.
# - **`dim=1` is no longer the keys.** In $(T, S)$ the keys are axis 1, but in $(B, T, S)$ they are axis 2. With
#   `dim=-1` you are right in both cases.

# %%
wrong = F.softmax(batch_scores, dim=1)  # normalises over queries: columns sum to one
right = F.softmax(batch_scores, dim=-1)  # normalises over keys: rows sum to one

assert torch.allclose(right.sum(dim=-1), torch.ones(2, 8))
assert not torch.allclose(wrong.sum(dim=-1), torch.ones(2, 8), atol=1e-2)
print("largest error of a row sum, dim=-1:", f"{(right.sum(dim=-1) - 1).abs().max():.3f}")
print("largest error of a row sum, dim=1: ", f"{(wrong.sum(dim=-1) - 1).abs().max():.3f}")

# %% [markdown]
# In the assignment you will write `self_attention(query, key, value)` for batches. The next cell computes what
# one row of its output must be, as slowly and plainly as we can say it.

# %%
generator = torch.Generator().manual_seed(2)
query = torch.randn(2, 3, 4, generator=generator)  # (B, T, d_k)
key = torch.randn(2, 5, 4, generator=generator)  # (B, S, d_k)
value = torch.randn(2, 5, 6, generator=generator)  # (B, S, d_v): its own width

b, i = 1, 2  # the second sentence, its third query
one_row = value.new_zeros(6)
total = sum(torch.exp(query[b, i] @ key[b, k]) for k in range(5))
for j in range(5):
    one_row += torch.exp(query[b, i] @ key[b, j]) / total * value[b, j]

output = attention.self_attention(query, key, value)  # (B, T, d_v)
assert output.shape == (2, 3, 6)
assert torch.allclose(output[b, i], one_row, atol=1e-5)
print(output.shape)

# %% [markdown]
# ## 6. Why the diagonal dominates
#
# Look at the weights again. How far is each context vector from the word that it belongs to?

# %%
moved = (z - x).norm(dim=1) / x.norm(dim=1)  # (T,)

print("word       self-weight   moved by")
for word, own, distance in zip(words, weights.diagonal(), moved, strict=True):
    print(f"{word:<9}       {own:.4f}     {100 * distance:4.1f} %")
assert weights.diagonal().min() > 0.95
assert moved.max() < 0.06

# %% [markdown]
# Every word keeps at least 95 % of the weight for itself, and no vector moves by more than 6 %. **On this
# sentence, basic self-attention nearly copies its input.** The reason lies in the size of the scores.
#
# Suppose that all entries of all vectors are independent and normally distributed with mean 0 and variance 1, as
# in a fresh `Embedding`. Then two different words have independent vectors.
#
# - For a word and **itself**, $\omega_{ii} = \sum_n (x^{(i)}_n)^2$ adds $d_\text{model}$ squares, and each is 1
#   on average. The sum is about $d_\text{model}$.
# - For a word and **another**, $\omega_{ij} = \sum_n x^{(i)}_n x^{(j)}_n$ adds as many products, and each has
#   mean 0 and variance 1. Positive and negative products mostly cancel, so the sum is about
#   $\pm\sqrt{d_\text{model}}$.
#
# At $d_\text{model} = 16$ this means 16 against ±4. The softmax looks at *differences* through an exponential,
# and $\exp(16 - 4) \approx 160\,000$. Against seven such rivals a word's weight for itself would be 0.99996.
#
# That number describes a typical row and not the average. The score of a word with itself varies as well, by
# about $\pm\sqrt{2 d_\text{model}} \approx 5.7$, because the square of a normally distributed number has variance
# 2. Rows in which this score happens to be small pull the average down, so expect 0.99 below.

# %% tags=["hide-input"]
questions.ask("02", "how-far-ahead-a-word-is-of-the-others")

# %% [markdown]
# ### Measured
#
# We vary the width $d_\text{model}$ from 1 to 256 and take 100 random sentences of eight words for each of seven
# seeds. Two changes may help, and we try each of them alone and both together so that we can tell them apart.
# That makes four variants of the score:
#
# 1. **plain**, $x^{(i)} \cdot x^{(j)}$ as above;
# 2. **scaled**, the same divided by $\sqrt{d_\text{model}}$, as lecture 3 will do;
# 3. **separate roles**, where one random matrix maps the queries and another one the keys before they are
#    compared, both with entries of variance $1/d_\text{model}$ (lecture 3 will train such matrices);
# 4. **both**.

# %%
widths = [2**k for k in range(9)]  # 1, 2, 4, ..., 256
num_seeds, num_sentences = 7, 100


def self_weight(scores):
    """Average weight that a word gives itself."""
    return scores.softmax(dim=-1).diagonal(dim1=-2, dim2=-1).mean().item()


def measure(width, seed):
    """Typical self-score, typical other score, and the self-weight of the four variants."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(num_sentences, 8, width, generator=generator)
    to_query, to_key = torch.randn(2, width, width, generator=generator) / width**0.5  # (D, D) each

    scores = x @ x.transpose(-2, -1)  # (sentences, T, T)
    own = scores.diagonal(dim1=-2, dim2=-1).mean().item()
    other = scores[:, ~torch.eye(8, dtype=torch.bool)].std().item()
    roles = (x @ to_query) @ (x @ to_key).transpose(-2, -1)
    variants = [scores, scores / width**0.5, roles, roles / width**0.5]
    largest = [variant.softmax(dim=-1).amax(dim=-1).mean().item() for variant in variants[2:]]
    return [own, other, *[self_weight(variant) for variant in variants], *largest]


# %%
results = torch.tensor(
    [[measure(width, seed) for width in widths] for seed in range(num_seeds)]
)  # (seeds, widths, 8)
own, other, plain, scaled, roles, both, largest_roles, largest_both = results.unbind(dim=-1)

print("medians over seeds: size of a score, then weight of a word for itself")
print("d_model  self  other   plain  scaled   roles    both")
for width, row in zip(widths, results.median(dim=0).values.tolist(), strict=True):
    shares = "".join(f"{share:8.2f}" for share in row[2:6])
    print(f"{width:7d} {row[0]:5.0f}  {row[1]:5.1f}{shares}")

# %% [markdown]
# The last question is about single rows. How large is the *largest* weight in a row, on average?

# %%
at_16, at_256 = widths.index(16), widths.index(256)
print(f"largest weight of a row at d_model = 256, roles: {largest_roles[:, at_256].median():.2f}")
print(f"largest weight of a row at d_model = 256, both:  {largest_both[:, at_256].median():.2f}")

# %% tags=["hide-input"]
# Every one of the seven seeds must lie in the range of each claim.
assert ((plain[:, at_16] > 0.97) & (plain[:, at_16] < 1.0)).all()
assert ((scaled[:, at_16] > 0.74) & (scaled[:, at_16] < 0.81)).all()
assert (scaled[:, at_256] > 0.99).all()
for variant in (roles, both):  # from width 16 on
    assert ((variant[:, at_16:] > 0.07) & (variant[:, at_16:] < 0.20)).all()
    assert ((variant[:, at_16:].median(dim=0).values - 1 / 8).abs() < 0.03).all()
assert (largest_roles[:, at_256] > 0.9).all()
assert ((largest_both[:, at_256] > 0.3) & (largest_both[:, at_256] < 0.42)).all()

figure, (left, right) = plotting.panels(2)
look = {"xscale": "log", "xlabel": f"width {plotting.symbol('d_model')}"}
scores_by_pair = {"with itself": own, "with another: spread": other}
shares = {"plain": plain, "scaled": scaled, "separate roles": roles, "both": both}
plotting.curves(left, widths, scores_by_pair, yscale="log", ylabel="size of the score ω", **look)
plotting.curves(right, widths, shares, ylabel="weight of a word for itself", ylim=(0, 1.05), **look)
left.set_title("self-scores grow like the width")
right.set_title("roles end the copying")
plotting.level(right, 1 / 8, "1/8", at=0.83)
plotting.ticks_at(left, x=widths[::2], y=[1, 4, 16, 64, 256])
plotting.ticks_at(right, x=widths[::2])
plotting.picture(
    figure,
    caption="The scale delays the copying; separate roles for query and key end it.",
    alt="Two panels over the width d_model from 1 to 256, medians over seven seeds with bands for "
    "their range. Left, on logarithmic axes: the score of a word with itself rises as a line from 1 "
    "to 256, the spread of its scores with other words from 1 to 16. Right, the average weight of a "
    "word for itself: plain, it rises from 0.23 to 0.99 at 16 and to 1 beyond; scaled, it rises "
    "more slowly, 0.77 at 16, and also reaches 1. With separate roles, without and with the scale, "
    "the medians stay between 0.10 and 0.15, near 1/8. Their bands are wide up to 8, between "
    "0.03 and 0.24, and narrow at 256, from 0.09 to 0.13.",
)

# %% [markdown]
# Three observations are worth remembering.
#
# - The prediction holds, with about $d_\text{model}$ for a word and itself and about $\sqrt{d_\text{model}}$ for
#   two different words.
# - Dividing by $\sqrt{d_\text{model}}$ **delays** the copying but does not end it. The score of a word with
#   itself is then about $\sqrt{d_\text{model}}$ and still grows, while the others stay at about ±1.
# - What ends the copying is that **query and key are different vectors**, with the scale or without. Then a word
#   has no head start with itself. From width 16 on, a word's weight for itself, averaged over random sentences,
#   is about 1/8, one share of eight, and training can change that.
#
# These are averages, and a single row is far from even. At width 256 the largest weight of a row is about 0.94
# without the scale, on some word or other, and about 0.36 with it. So separate roles end the copying, and the
# scale keeps a row from being all or nothing. Lecture 3 needs both.
#
# Nor does the diagonal always win. A longer vector in the same direction beats it, because $x^{(j)} = 2x^{(i)}$
# gives $\omega_{ij} = 2\,\omega_{ii}$. In one dimension, the average self-weight is only 0.23.
#
# ### What training decides
#
# Here is a network for which training has decided where to look, the translator that you will train in lecture 8.
# The part of it that reads German has eight *heads*, four in each of two layers, and each head has matrices of
# its own for queries and for keys. One head has learned something that we can name. The German word "sie" means
# "she" or "they", and where it is the subject, its verb tells which, since "sie kann" is "she can" and "sie
# können" is "they can".
#
# The sentence "sie kann das fenster zumachen", *she can close the window*, is new to the network. Its weights are
# stored with the course, both before training and after it, and `<eos>` marks the end.

# %%
example = learned.sentence("she")
before = example.weights("encoder", layer=2, head=3, untrained=True)  # (T, T)
after = example.weights("encoder", layer=2, head=3)  # (T, T)
count = learned.measure("sie")

print(f"weight from sie to kann: {before[0, 1]:.2f} before, {after[0, 1]:.2f} after")
print(f"largest weight on the verb, {count.cases} times sie, before: {count.untrained:.0%}")
print(f"after: {count.trained:.0%}; picked blindly: {count.chance:.0%}")
print(f"largest weight of a noun on its determiner, after: {learned.measure('noun').trained:.0%}")

# %% tags=["hide-input"]
sie, kann, das, fenster = range(4)
assert example.source[:4] == ["sie", "kann", "das", "fenster"]
assert before.min() > 0.08 and before.max() < 0.23
assert after[sie].argmax() == kann and after[sie, kann] > 0.8
assert after[fenster].argmax() == das and after[fenster, das] > 0.55
rest = after.clone()
rest[sie, kann] = rest[fenster, das] = 0
assert rest.max() < 0.5
assert count.cases == 67 and count.trained > 0.9 and count.untrained < 0.15 and count.chance < 0.1
assert 0.35 < learned.measure("noun").trained < 0.45

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
    caption="Before training, each row is nearly even; after it, sie looks at its verb kann.",
    alt="Two maps with the words of sie kann das fenster zumachen, the full stop and <eos> as rows "
    "(queries) and columns (keys). Left, before training: all weights lie between 0.09 and 0.22. "
    "Right, after training: sie gives 0.84 to kann, fenster 0.60 to its article das. No other weight "
    "reaches 0.5, and most rows are spread out.",
)

# %% [markdown]
# Before training, every row is nearly even, with weights around 1/7, one share of seven. After training, "sie"
# looks at its verb, and "fenster" (window) looks at its article "das". One sentence proves little, so we counted
# in 200 sentences that played no part in choosing this head. They contain 67 subjects "sie". The largest weight
# is on the verb for 97 % of them, while it was for 9 % before training, and a word picked blindly would be the
# verb for 8 %. Not every row can be read so well, because only 41 % of the nouns look most at their determiner
# (the, a, my, this). In another training run, other heads may share this work.
#
# The words are the same and so is the formula. What training has changed are the vectors that are compared.

# %% [markdown]
# ## 7. No order: equivariance
#
# Where in these formulas is the *position* of a word? It is nowhere, because a sum does not depend on the order
# of its terms. So what happens when we permute the words?
#
# ![Two panels. Left, equivariant, self-attention: the vectors of you, help, me are mapped to their
# context vectors in the same order. Below, the same inputs in the order me, you, help are mapped
# to the context vectors in the order me, you, help: permuting first or last gives the same, the
# outputs move with their words. Right, invariant, the mean of the words: both orders of the inputs
# give the same single vector, the output does not
# notice.](../figures/equivariance.svg)
#
# *If a function is equivariant, its outputs move with their words; if it is invariant, its output does not change
# at all.*
#
# Write $f$ for self-attention, $p$ for a new order of the positions and, as in Python, $x[p]$ for the words in
# that order. Two properties are easily confused:
#
# | | property | in words |
# |---|---|---|
# | **equivariant** | $f(x[p]) = f(x)[p]$ | permute the words, and the outputs are permuted alike |
# | **invariant** | $f(x[p]) = f(x)$ | permute the words, and the output stays as it was |
#
# Self-attention has the first property, and the proof is one line long. A permutation matrix $P$ turns $X$ into
# $PX$, so the scores become $PX(PX)^\top = P\,\Omega\,P^\top$. Rows and columns move together, which the softmax
# preserves, and $(PAP^\top)(PX) = P(AX)$ because $P^\top P = I$.

# %%
p = torch.tensor([5, 0, 3, 7, 1, 2, 6, 4])

z_of_permuted, weights_of_permuted = basic_self_attention(x[p])

gap_equivariant = (z_of_permuted - z[p]).abs().max()
gap_invariant = (z_of_permuted - z).abs().max()
assert gap_equivariant < 1e-5
assert torch.allclose(weights_of_permuted, weights[p][:, p], atol=1e-6)
assert gap_invariant > 1
print(" ".join(words[k] for k in p))
print(f"largest gap to the permuted output (equivariant?): {gap_equivariant:.4f}")
print(f"largest gap to the unpermuted output (invariant?): {gap_invariant:.2f}")

# %% [markdown]
# So self-attention is *not* permutation-invariant, although you will often read that it is, because its queries
# move with the words. If one query is *fixed*, the order of the key–value pairs leaves no trace, and the output
# for that query is invariant. If the outputs of all words are pooled, for instance by their mean, the whole is
# invariant as well.
#
# Try it with our sentence, unscaled ($\tau = 1$). Below the buttons, a strip shows each output as colours.
#
# - Press *reverse*. Compare each strip with the old one of the same *word*, and then with the old one at the same
#   *place*. Where do they agree? The line below the strips says by how much they differ.
# - Bring "me" to the front with its arrow ▲. In the map its row *and* its column move, and so does the weight of
#   0.05 that it gives to "translate". Under *compare with*, choose *itself, unchanged* to put the old map next to
#   the new one, and look at their difference, word by word.
# - Click the cell where "me" looks at "me", and press the space bar. The only other word that resembles "me" now
#   gets nearly everything, so "translate" has weight 1.00. (*as given*, under *temperature and mask*, brings "me"
#   back.)

# %% tags=["hide-input"]
vectors = (x * 10_000).round() / 10_000  # four decimals, so that the page is small
order = torch.arange(T).flip(0)  # (T,) positions, the last word first
assert (basic_self_attention(x[order])[0] - z[order]).abs().max() < 1e-5
assert (basic_self_attention(x[order])[0] - z).abs().max() > 1
me, translate = words.index("me"), words.index("translate")
assert 0.045 < weights[me, translate] < 0.055
others = [j for j in range(T) if j != me]
without_me = (x[me] @ x[others].T).softmax(dim=-1)  # (T - 1,)
assert others[without_me.argmax()] == translate and without_me.max() > 0.995

live.attention_view(
    live.Attention(vectors, vectors, vectors, words),
    caption="Self-attention without parameters, with the words in any order",
    temperature=1,
    permute=True,
    query=me,
)

# %% [markdown]
# The next picture shows the same with scores, for the sentence and for the sentence reversed.

# %% tags=["hide-input"]
orders = [torch.arange(T), order]
names = [[words[k] for k in positions] for positions in orders]
maps = [x[positions] @ x[positions].T for positions in orders]
assert (maps[1] - maps[0][order][:, order]).abs().max() < 1e-5
figure = plotting.attention_maps(
    maps, ["as written", "reversed"], names, names, decimals=1, colour_label="score ω"
)
for ax, labels in zip(figure.axes, names, strict=False):
    plotting.outline_cell(ax, labels.index("me"), labels.index("translate"))
plotting.picture(
    figure,
    caption="The sentence and the sentence reversed: rows and columns move, no score changes.",
    alt="Score maps of the sentence as written (left) and reversed (right). The right map is the "
    "left one with rows and columns in reverse order. The framed score of me with translate, 11.0, "
    "moves from row 4, column 6 to row 5, column 3, and keeps its value.",
)

# %% [markdown]
# Equivariance has a price. If the same word appears twice, it gets the same context vector both times, so without
# positions the two cannot be told apart.

# %%
twice = torch.tensor([2, 1, 7, 2])  # "me help you me"
z_twice, _ = basic_self_attention(embedding(twice).detach())

assert torch.allclose(z_twice[0], z_twice[3], atol=1e-6)
print("first 'me' and last 'me' are equal:", torch.allclose(z_twice[0], z_twice[3], atol=1e-6))

# %% [markdown]
# Word order has to come in from outside, and [lecture 6](06_positional_encoding.ipynb) adds it.

# %% tags=["hide-input"]
questions.ask("02", "a-mean-over-the-words")

# %% [markdown]
# ## 8. What is missing
#
# | missing | what follows | lecture |
# |---|---|---|
# | parameters for query, key, value | nothing can be learned; a word mostly finds itself | [3](03_scaled_dot_product_attention.ipynb) |
# | the scale $1/\sqrt{d_k}$ | scores grow with the width, weights become all or nothing | [3](03_scaled_dot_product_attention.ipynb) |
# | a mask | every word sees the future and the padding | [4](04_masked_attention.ipynb) |
# | several heads | one set of weights per word, one kind of relation | [5](05_multi_head_attention.ipynb) |
# | positions | word order is invisible | [6](06_positional_encoding.ipynb) |
#
# ## Summary
#
# - Self-attention has three steps. The scores are $\omega_{ij} = x^{(i)} \cdot x^{(j)}$, a softmax over $j$ turns
#   them into weights $\alpha_{ij}$, and the context vectors are $z^{(i)} = \sum_j \alpha_{ij} x^{(j)}$.
# - In matrices, $Z = \mathrm{softmax}(XX^\top)\,X$ with the softmax along each row. Rows sum to one, but columns
#   in general do not.
# - The score of a word with itself is about $d_\text{model}$, and other scores are about
#   $\pm\sqrt{d_\text{model}}$, so for random vectors of width 16 the output nearly copies the input. Separate
#   queries and keys cure that, while the scale alone does not.
# - Training decides where a row looks, as the trained head shows in which "sie" looks at its verb.
# - Permuting the words permutes the outputs, so self-attention is equivariant and not invariant. It does not see
#   order.
# - Work and memory grow with $T^2$ (section 9).
#
# **Now you:** [assignment a2, self-attention](../exercises/a2_self_attention/a2_self_attention.ipynb). This is
# the end of the core. Section 9 goes deeper, and you can skip it.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 4, 6 and 7 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** `weights.sum(dim=0)` gives 1.048 for the column of "translate". What does this number say?
#
# <details><summary>Answer</summary>
#
# It is the total attention that "translate" receives from all eight words, about 1.00 from itself and 0.05 from
# "me". A column sum above one means that a word is looked at more than on average.
#
# </details>
#
# **2.** All words of a sentence are the same word. What are the weights and the outputs?
#
# <details><summary>Answer</summary>
#
# All scores in a row are equal, so every weight is $1/T$. The output is the average of equal vectors, which is
# the input itself.
#
# </details>
#
# **3.** You multiply all embeddings by 10. What happens to the weights?
#
# <details><summary>Answer</summary>
#
# Every score is multiplied by 100, and so is every difference between scores. The softmax then puts nearly all
# the weight on the largest score of each row. This shows that the weights depend on the length of the vectors and
# not only on their directions.
#
# </details>
#
# **4.** Can a word give another word more weight than itself?
#
# <details><summary>Answer</summary>
#
# Yes, it can when $x^{(i)} \cdot x^{(j)} > x^{(i)} \cdot x^{(i)}$, that is, when the other vector points roughly
# the same way and is longer. Among random vectors this is common in few dimensions and rare in many.
#
# </details>
#
# **5.** Somebody tests equivariance by comparing `f(x[p])` with `f(x)` and finds them different. Is that a test
# of equivariance? Does it help to choose `p` as the identity?
#
# <details><summary>Answer</summary>
#
# No, because this comparison tests invariance, which self-attention does not have. The identity makes both tests
# pass for *every* deterministic function, so it tests nothing. Compare `f(x[p])` with the old output in the new
# order, `f(x)[p]`.
#
# </details>
#
# **6.** You write `dim=1` in the softmax for a batch of scores $(B, T, S)$. Which check finds it, and why does no
# check of shapes?
#
# <details><summary>Answer</summary>
#
# The softmax keeps the shape whatever the axis is, so no test of shapes can find the mistake, whether $T = S$ or
# not. Check that the rows sum to one, or compare the result with a loop, as in section 5.
#
# </details>

# %% [markdown]
# ## 9. Going deeper: what it costs
#
# Every word looks at every word, so the work grows with $T^2$. We let PyTorch count it. On the device `meta`,
# tensors have shapes but no numbers, so that counting costs nothing even for a long text.


# %%
def count(length, width):
    """Operations (one product and one addition are two) and bytes for the weights."""
    with FlopCounterMode(display=False) as counter:
        _, weights = basic_self_attention(torch.empty(length, width, device="meta"))
    return counter.get_total_flops(), weights.numel() * weights.element_size()


print("words T   operations (d_model = 64)    weights in memory")
for length in [8, 64, 512, 4096, 32768]:
    operations, size = count(length, 64)
    assert operations == 4 * length**2 * 64 and size == 4 * length**2
    print(f"{length:7d}   {operations:25,d}   {size / 2**20:13.3f} MiB")

# %% [markdown]
# There are two products with $T^2 d_\text{model}$ multiplications each and as many additions, which makes $4T^2
# d_\text{model}$ operations. Twice as many words mean four times the work and four times the memory for the
# weights. (We leave out the softmax, which needs only a few operations for each of the $T^2$ scores. Kernels such
# as FlashAttention never store all weights at once, which saves the memory but not the work.)
#
# How do other layers compare?
#
# | one layer of width $d_\text{model}$, for $T$ words | operations | steps that wait for each other | layers until words $T$ apart meet |
# |---|--:|--:|--:|
# | self-attention of this lecture | $4T^2 d_\text{model}$ | 1 | 1 |
# | self-attention with maps for query, key, value and output | $4T^2 d_\text{model} + 8T d_\text{model}^2$ | 1 | 1 |
# | plain recurrent network, two maps in each step | $4T d_\text{model}^2$ | $T$ | 1, after $T$ steps |
# | GRU, six maps in each step | $12T d_\text{model}^2$ | $T$ | 1, after $T$ steps |
# | convolution over $k$ neighbours | $2kT d_\text{model}^2$ | 1 | about $T/k$ |
#
# Read the table by columns. In **operations**, attention is cheaper than the recurrent layer it is paired with as
# long as the sentence is shorter than the vectors are wide, $T < d_\text{model}$, and for both pairs the line is
# at $T = d_\text{model}$. In **waiting**, a recurrent network takes one step after the other, while attention
# computes all rows side by side. In **distance**, attention compares every pair directly, while elsewhere a
# message has to pass through everything in between. (A convolution whose gaps grow from layer to layer needs
# about $\log_k T$ layers. Vaswani et al., 2017, table 1, compares all three.)

# %% tags=["hide-input"]
lengths = [2**k for k in range(3, 14)]
width = 512
self_attention_cost = [count(length, width)[0] for length in lengths]
recurrent_cost = [4 * length * width**2 for length in lengths]

crossing = lengths.index(width)  # where T = d_model
assert self_attention_cost[crossing] == recurrent_cost[crossing]
assert recurrent_cost[0] == 64 * self_attention_cost[0]
assert self_attention_cost[-1] == 16 * recurrent_cost[-1]

map_cost = [2 * length * width**2 for length in lengths]  # one map of all words
with_four_maps = self_attention_cost[crossing] + 4 * map_cost[crossing]
assert with_four_maps == 6 * map_cost[crossing]  # a GRU: three gates, two maps each

figure, ax = plotting.panels(1)
costs = {"self-attention": self_attention_cost, "recurrent": recurrent_cost}
colours = {"self-attention": plotting.MODELS["attention"], **plotting.MODELS}
ax.axvline(width, color=plotting.MUTED, linewidth=1.2)
ax.annotate(
    f"T = {plotting.symbol('d_model')}", (width, 2e6), xytext=(8, 0), textcoords="offset points"
)
plotting.curves(
    ax, lengths, costs, colours, xscale="log", yscale="log", xlabel="words T", ylabel="operations"
)
plotting.ticks_at(ax, x=lengths)
ax.set_title(f"one layer of width {plotting.symbol('d_model')} = 512; attention without maps")
plotting.picture(
    figure,
    caption="Attention without maps is the cheaper one while the sentence is shorter than the vectors are wide.",
    alt="Operations against the number of words T from 8 to 8192, both axes logarithmic, for width "
    "512. Self-attention without maps rises twice as steeply as the recurrent network. It starts 64 times "
    "cheaper, the lines cross where T equals d_model = 512, and at 8192 words it costs 16 times as "
    "much.",
)

# %% [markdown]
# **Check yourself.** A text has twice as many words. By how much do the operations grow for self-attention
# without parameters, and by how much for a plain recurrent network? Which of the two is cheaper?
#
# <details><summary>Answer</summary>
#
# They grow by a factor of four ($T^2$) and of two ($T$). Between these two, attention is cheaper while $T <
# d_\text{model}$. Against a GRU, attention needs its maps as well, and the line is the same.
#
# </details>

# %% [markdown]
# ## Further reading
#
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
#   Section 4 and table 1: cost per layer, and the steps that must wait for each other.
# - Juho Lee, Yoonho Lee, Jungtaek Kim, Adam R. Kosiorek, Seungjin Choi, Yee Whye Teh (2019). *[Set
#   Transformer: A Framework for Attention-based Permutation-Invariant Neural
#   Networks.](https://arxiv.org/abs/1810.00825)* ICML. Property 1: its attention blocks are equivariant.
#   Pooling then makes the whole invariant.
# - Tri Dao, Daniel Y. Fu, Stefano Ermon, Atri Rudra, Christopher Ré (2022). *[FlashAttention: Fast and
#   Memory-Efficient Exact Attention with IO-Awareness.](https://arxiv.org/abs/2205.14135)* NeurIPS. Section
#   3.1.
