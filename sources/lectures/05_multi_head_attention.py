# ---
# jupyter:
#   course:
#     assignment: a5_multi_head_attention
#     deeper: 16
#     minutes: 92
#     summary: Several heads side by side, at the cost of one, and what one alone cannot do.
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
# # Lecture 5: Multi-head attention
#
# A single attention head gives every word one average of all words. Often a word needs two things at once, what
# comes before it *and* what comes after it. This lecture runs several attention heads side by side, and asks what
# they cost, what they gain and what they cannot do.
#
# **Afterwards you will be able to**
#
# - say why one softmax per query is a bottleneck, and when it is not;
# - compute all heads with one tensor, from the words to the output;
# - split features into heads and merge them again, and recognise the reshape that goes wrong;
# - use attention between two sequences, with the arguments in the right order;
# - count parameters and operations, and say why many heads cost as much as one;
# - measure what each head of a trained model attends to.
#
# **Time** about 92 minutes with views and questions, and 16 for going deeper.
# **Needs** [lecture 3](03_scaled_dot_product_attention.ipynb)
# and [lecture 4](04_masked_attention.ipynb).

# %%
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_utils import attention, masks
from lecture_kit import live, plotting, questions
from lecture_kit.trained import learned

plotting.use_course_style()
torch.set_printoptions(precision=4, sci_mode=False)
torch.set_num_threads(1)  # these tensors are so small that a second thread would only wait

# %% [markdown]
# ## 1. One softmax, one average
#
# For each query, attention returns *one* vector, the average of the values with weights that sum to one.
# Everything that the query wanted to know has to fit into that average.
#
# Take words as one-hot vectors, and let "you" look at both its neighbours, half and half.

# %%
can, you, help_, me = torch.eye(4)  # one-hot vectors of width 4

can_left = 0.5 * can + 0.5 * help_  # "can you help", seen from "you"
help_left = 0.5 * help_ + 0.5 * can  # "help you can", seen from "you"

assert torch.equal(can_left, help_left)
print("can you help:", can_left)
print("help you can:", help_left)

# %% [markdown]
# The average knows *which* words were there, but it does not know which was on the left and which on the right,
# because addition has no order.
#
# With two averages nothing is lost. One looks to the left, the other looks to the right, and their results are
# put side by side.

# %%
two_averages = torch.cat([can, help_])  # (8,) left neighbour, then right neighbour
two_averages_swapped = torch.cat([help_, can])

assert not torch.equal(two_averages, two_averages_swapped)
print("can you help:", *two_averages.int().tolist())
print("help you can:", *two_averages_swapped.int().tolist())

# %% [markdown]
# That is the idea of **multi-head attention**. A *head* has its own maps for query, key and value, so it has its
# own softmax and its own weights.
#
# Unequal shares, say ⅔ and ⅓, would not lose the order completely, because the larger entry could mean "left".
# Whether a model can use that is a question for the experiment in section 7.

# %% [markdown]
# ## 2. Eight heads as one tensor
#
# We take the sentence of lectures 2 and 3 and give it eight heads, each with its own three maps.
#
# | symbol | meaning | here |
# |---|---|---|
# | $H$ | number of heads; heads are counted from 1 to $H$ | 8 |
# | $d_\text{model}$ | width of a word vector | 16 |
# | $d_k$ | width of a query, key or value in one head | 16 here, less from section 3 on |
# | $W_{q,h}$ | query map of head $h$, $d_\text{model} \times d_k$ | `w_q[h - 1]` |
# | $q_h^{(i)} = x^{(i)} W_{q,h}$ | query of word $i$ in head $h$ | `queries[h - 1, i - 1]` |
#
# The same holds for keys and values. A head has three maps, so $H$ heads have $3H$, and one more map follows
# after all of them. Eight matrices of the same shape are one tensor with one more axis.
#
# The example continues that of Raschka, Liu and Mirjalili (2022, chapter 16) with the same random numbers, so
# that we can check ours. They write words as columns, hence the transpose.

# %%
sentence_words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
sentence = torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])  # (T,)

torch.manual_seed(123)
x = nn.Embedding(10, 16)(sentence).detach()  # (T, D)
T, d_model = x.shape
H, d_k = 8, 16

torch.manual_seed(123)
torch.rand(d_model, d_model)  # not used: the book draws one matrix first
w_q, w_k, w_v = (torch.rand(H, d_k, d_model).transpose(1, 2) for _ in range(3))  # (H, D, d_k)
print(w_k.shape)

# %% [markdown]
# The keys of all words in all heads are one product. PyTorch repeats it for each of the eight matrices, without
# copying the words eight times.

# %%
keys = x @ w_k  # (T, D) @ (H, D, d_k) -> (H, T, d_k)
queries, values = x @ w_q, x @ w_v

print(keys.shape)
print("key of 'you' in head 3:")
print(keys[2, 1])

# %% tags=["hide-input"]
# fmt: off
expected_key = torch.tensor([  # known values of this example, to check against
    -1.9619, -0.7701, -0.7280, -1.6840, -1.0801, -1.6778, 0.6763, 0.6547,
    1.4445, -2.7016, -1.1364, -1.1204, -2.4430, -0.5982, -0.8292, -1.4401,
])
# fmt: on
assert torch.allclose(keys[2, 1], expected_key, atol=1e-4)
print("the known values of this example are met")

# %% [markdown]
# Python counts from 0, so index 2 is the *third* head and index 1 the *second* word.
#
# ### Every head attends for itself
#
# Now each head does what lecture 3 did, with its own maps. We write a loop over the heads first, and then compute
# all of them at once. `scaled_dot_product_attention` accepts any leading axes, so an axis of heads needs no loop.

# %%
contexts_by_loop = torch.empty(H, T, d_k)
for h in range(H):
    query, key, value = x @ w_q[h], x @ w_k[h], x @ w_v[h]  # (T, d_k) each
    weights_of_head = F.softmax(query @ key.T / math.sqrt(d_k), dim=-1)  # (T, T)
    contexts_by_loop[h] = weights_of_head @ value

contexts, weights = attention.scaled_dot_product_attention(queries, keys, values)
print("contexts", tuple(contexts.shape), " weights", tuple(weights.shape))  # (H, T, d_k), (H, T, T)

z_2 = contexts[:, 1]  # (H, d_k): the context vector of "you" in every head
distances = torch.cdist(z_2, z_2)[~torch.eye(H, dtype=torch.bool)]  # pairs of different heads
print("equal to the loop:", torch.allclose(contexts, contexts_by_loop, atol=1e-4))
print(f"distance of two heads' context vectors: at least {distances.min():.1f}")

# %% tags=["hide-input"]
assert contexts.shape == (8, 8, 16) and weights.shape == (8, 8, 8)
assert torch.allclose(contexts, contexts_by_loop, atol=1e-4)
assert 2 < distances.min() < 3
largest = weights[:, 1].amax(dim=1)
assert (largest > 0.7).sum() == 7 and largest[7] < 0.6
assert weights[:, 1].argmax(dim=1).tolist() == [4, 5, 4, 4, 4, 4, 4, 4]

figure, ax = plotting.panels(1, height=4.8)
heads = range(1, H + 1)
plotting.attention_map(weights[:, 1], heads, sentence_words, ax, limit=1.0, query_label="head")
ax.set_title('where the word "you" looks')
plotting.picture(
    figure,
    caption="One word, eight heads: eight rows of weights, each of which makes a context vector of its own.",
    alt="A map with the eight heads as rows and the eight words as columns: the weights of the word you. Six "
    "heads give most to the word to (0.72 to 1.00), head 2 gives 0.91 to translate, head 8 spreads its "
    "weight over to, translate and me.",
)

# %% [markdown]
# Heads with the same recipe, reading the same sentence, give different results because their maps differ. Eight
# copies of one context vector would say no more than one.
#
# The maps are random, so nothing here is about English. Seven of the eight heads give one single word more than
# 0.7 of the weight, because `torch.rand` gives positive entries only, which makes the scores very large (lecture
# 3, section 7).
#
# ### Concatenate and project
#
# The eight vectors are put side by side, which makes $8 \cdot 16 = 128$ numbers, and one linear map brings them
# back to the width of a word.

# %%
concatenated = z_2.flatten()  # (H, d_k) -> (H * d_k,): head 1, then head 2, …
torch.manual_seed(123)
to_output = nn.Linear(H * d_k, d_model)
output_2 = to_output(concatenated)  # (128,) -> (16,)

print(tuple(concatenated.shape), "->", tuple(output_2.shape))

# %% [markdown]
# What does the last map do? Call it $W_o$ ($H d_k \times d_\text{model}$) and cut it into blocks of $d_k$ rows,
# one per head, from $W_{o,1}$ to $W_{o,H}$. With $z_h$ for the context vector of head $h$, the product splits
# into a **sum over heads**, $z_1 W_{o,1} + \dots + z_H W_{o,H}$, plus the bias. This is where the heads are
# combined.

# %%
w_o = to_output.weight.T  # nn.Linear keeps the transpose: here (H * d_k, D)
blocks = w_o.unflatten(0, (H, d_k))  # (H, d_k, D)
sum_over_heads = to_output.bias
for z_h, block in zip(z_2, blocks, strict=True):
    sum_over_heads = sum_over_heads + z_h @ block

assert torch.allclose(sum_over_heads, output_2, atol=1e-5)
print("one product equals a sum over heads:", torch.allclose(sum_over_heads, output_2, atol=1e-5))

# %% [markdown]
# The next picture shows the whole of it. So far queries, keys and values all start from one $x$, so there are as many
# keys as queries, $S = T$. Section 5 changes that.
#
# ![Two flow charts. Left, inside one head, scaled dot-product attention: Q of head h, T by d k, and
# K of head h, S by d k, are multiplied, divided by the root of d k, masked if there is a mask, and
# go through a softmax per row; the weights, T by S, are multiplied with V of head h and give the
# context of the head, T by d k. Right, outside, H heads: query, key and value each go through a pile
# of H matrices W, then into H scaled dot-product attentions. Four of them are shown by their maps, for
# the word she of a trained translator: heads 1 and 2 look at sie, with 0.78 and 0.77, head 3 at kann,
# with 0.99, head 4 at the full stop, with 0.84. The H contexts are concatenated to T by H times d k,
# and the matrix W o mixes the heads into the output, T by d model.](../figures/multi_head.svg)
#
# *On the left is what one head does. On the right are all heads, each with its own maps and its own attention,
# and one map after them. The four patterns are those of section 8, about to say "she".*

# %% [markdown]
# ## 3. Narrow heads
#
# In the example every head is as wide as the word itself, so eight heads mean eight times the work. Vaswani et
# al. (2017) make the heads **narrow** instead,
#
# $$d_k = \frac{d_\text{model}}{H}, \qquad
# \mathrm{head}_h = \mathrm{Attention}(X W_{q,h},\ X W_{k,h},\ X W_{v,h}), \qquad
# Z = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_H)\, W_o$$
#
# $\mathrm{Attention}$ is that of lecture 3, with the scale $1/\sqrt{d_k}$. $W_{q,h}$, $W_{k,h}$ and $W_{v,h}$ are
# now $d_\text{model} \times d_k$ with a small $d_k$, and $W_o$ is $d_\text{model} \times d_\text{model}$. With
# $d_\text{model} = 512$ and $H = 8$, each head is 64 wide.
#
# We write this as a loop over heads first. `w_q` contains the query maps of all heads side by side, and head $h$
# takes its own $d_k$ columns.


# %%
def multi_head_by_loop(x, w_q, w_k, w_v, w_o, num_heads):
    """Heads one after the other; x is (B, T, D), every matrix (D, D)."""
    d_k = x.shape[-1] // num_heads
    contexts = []
    for h in range(num_heads):
        own = slice(h * d_k, (h + 1) * d_k)  # the columns of this head
        query, key, value = x @ w_q[:, own], x @ w_k[:, own], x @ w_v[:, own]  # (B, T, d_k)
        context, _ = attention.scaled_dot_product_attention(query, key, value)
        contexts.append(context)
    return torch.cat(contexts, dim=-1) @ w_o  # (B, T, H * d_k) -> (B, T, D)


torch.manual_seed(5)
x = torch.randn(2, 7, 20)  # (B, T, D): all sizes differ, so that a mixed-up axis shows
w_q, w_k, w_v, w_o = torch.randn(4, 20, 20) / math.sqrt(20)
output_by_loop = multi_head_by_loop(x, w_q, w_k, w_v, w_o, num_heads=4)
print(output_by_loop.shape)

# %% [markdown]
# The query maps of the four heads, side by side, are *one* square matrix, and so are the key maps and the value maps.
# So one product each serves all heads at once, and head $h$ owns features $(h-1)\, d_k + 1$ to $h\, d_k$ of the
# result. What is left to do is to give the heads an axis of their own.
#
# In the picture, 24 is feature 4 of word 2. A prime marks what attention has made of it.
#
# ![Diagram with three words of six features; cell 24 is feature 4 of word 2. On top, split, attend,
# merge: the grid T by d model is reshaped to T by H by d k, which cuts every row in two halves, then
# transposed to H by T by d k: head 1 holds features 1 to 3 of all three words, head 2 features 4 to
# 6, on two sheets that have slid apart. Each head goes through attention, the two contexts are transposed and flattened back to T by d
# model, side by side, and W o mixes them. Below, with a cross, the trap: reshaping at once to H by T by
# d k gives a head 1 with the rows 11 12 13, 14 15 16, 21 22 23; they belong to word 1, word 1 and word
# 2.](../figures/split_merge_shapes.svg)
#
# *The upper row splits and merges by a reshape and a transpose. The lower row shows the trap, in which a reshape
# alone mixes words.*
#
# Here are the same numbers in code:

# %%
tens, ones = torch.tensor([10, 20, 30]), torch.arange(1, 7)
features = (tens.unsqueeze(1) + ones).unsqueeze(0)  # (B, T, D) = (1, 3, 6)

cut = features.reshape(1, 3, 2, 3)  # (B, T, H, d_k): every word's row is cut in two
heads = cut.transpose(1, 2)  # (B, H, T, d_k): heads in front of words
merged = heads.transpose(1, 2).flatten(start_dim=2)  # (B, T, D): all the way back

assert torch.equal(merged, features)
print("head 1:", heads[0, 0].tolist())
print("head 2:", heads[0, 1].tolist())

# %% [markdown]
# Both steps are needed. A `reshape` leaves the numbers in their order, read row by row, and only changes where
# rows end, so bringing the heads to the front needs the `transpose`. Without it the shape is right and the
# content is not:

# %%
trap = features.reshape(1, 2, 3, 3)  # (B, H, T, d_k), or so it seems

assert trap.shape == heads.shape and not torch.equal(trap, heads)
print("head 1:", trap[0, 0].tolist())
print("head 2:", trap[0, 1].tolist())

# %% tags=["hide-input"]
assert torch.equal(heads, attention.split_heads(features, 2))
assert torch.equal(merged, attention.merge_heads(heads))
print("split and merge agree with course_utils.attention, the trap does not")

# %% [markdown]
# No check of shapes finds this, and gradients flow as usual. Row 2 of the false head 1 is not word 2, so a causal
# mask hides the wrong things. Section 10 shows how the future leaks through the reshape.

# %% tags=["hide-input"]
questions.ask("05", "a-row-of-the-trap")

# %% [markdown]
# ## 4. The class
#
# You already have the parts for a first class. A head is the attention of lecture 3 with three narrow maps, and
# multi-head attention is a list of such heads with one more map after them.


# %%
class Head(nn.Module):
    """One head: attention of a sequence with itself, through maps of its own."""

    def __init__(self, d_model, d_k):
        super().__init__()
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, d_k) for _ in range(3))

    def forward(self, x, mask=None):  # (B, T, D)
        query, key, value = self.w_q(x), self.w_k(x), self.w_v(x)  # (B, T, d_k) each
        return attention.scaled_dot_product_attention(query, key, value, mask)[0]


class ListOfHeads(nn.Module):
    """Multi-head attention of a sequence with itself, one head after the other."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.heads = nn.ModuleList(Head(d_model, d_model // num_heads) for _ in range(num_heads))
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        return self.w_o(torch.cat([head(x, mask) for head in self.heads], dim=-1))  # (B, T, D)


# %% [markdown]
# That is easy to read, but a computer has to make $3H$ small products one after the other. For *self*-attention,
# query, key and value are made from the same $x$, so all the maps of all the heads can be one matrix, $d_\text{model}
# \to 3\, d_\text{model}$, and two linear layers contain everything that is learned.


# %%
class MultiHeadSelfAttention(nn.Module):
    """Multi-head attention of a sequence with itself; one matrix makes query, key and value."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(
                f"the heads share the width evenly, but d_model = {d_model} is not a multiple of "
                f"num_heads = {num_heads}"
            )
        self.num_heads = num_heads
        self.w_qkv = nn.Linear(d_model, 3 * d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        """x is (B, T, D); returns the output, same shape, and weights (B, H, T, T)."""
        projected = self.w_qkv(x).chunk(3, dim=-1)  # three of (B, T, D)
        query, key, value = (attention.split_heads(part, self.num_heads) for part in projected)
        context, weights = attention.scaled_dot_product_attention(query, key, value, mask)
        merged = attention.merge_heads(context)  # (B, H, T, d_k) -> (B, T, D)
        return self.w_o(merged), weights


# %% [markdown]
# A mask is broadcast to $(B, H, T, T)$ as in lecture 4, so every head obeys the same one. The two classes have the
# same parameters, and the second one, given those of the first, computes the same. (With the matrices of the loop,
# it gives the loop's result.)

# %%
listed, ours = ListOfHeads(20, 4), MultiHeadSelfAttention(20, 4)
for model in (listed, ours):
    print(
        f"{type(model).__name__:<23}",
        sum(part.numel() for part in model.parameters()),
        "parameters",
    )

with torch.no_grad():
    for part in ("weight", "bias"):  # all query maps, then all key maps, then all value maps
        maps = [getattr(head, name) for name in ("w_q", "w_k", "w_v") for head in listed.heads]
        getattr(ours.w_qkv, part).copy_(torch.cat([getattr(linear, part) for linear in maps]))
    ours.w_o.load_state_dict(listed.w_o.state_dict())

output, weights = ours(x)
print("output ", tuple(output.shape), " weights", tuple(weights.shape))
print("one matrix equals a list of heads:", torch.allclose(output, listed(x), atol=1e-5))

# %% [markdown]
# The next picture shows the tensors of section 3's example. The two axes in front, $B$ and $H$, only say which sheet
# is meant. Every sheet of $Q$ is multiplied by the sheet of $K$ that has the same sentence and the same head. So
# attention runs 2 · 4 times side by side, and no sheet has any effect on another until the heads are merged.
#
# ![Five steps from left to right, for two sentences in two rows; every number is a coloured cell. x,
# (2, 7, 20): for each sentence one sheet of seven rows, the words, with 20 cells. Then W q and split: Q,
# (2, 4, 7, 5), for each sentence a pile of four sheets, numbered 1 to 4, of seven rows with five cells.
# Then scores and softmax: weights, (2, 4, 7, 7), piles of four square sheets. Then times V:
# contexts, (2, 4, 7, 5), piles of four sheets like those of Q. Then merge and W o: output, (2, 7, 20),
# again one sheet for each sentence, of the size of x. No arrow leads from one sentence to the
# other.](../figures/head_sheets.svg)
#
# *The shapes are $(B, T, D)$, three times four axes, and $(B, T, D)$ again. The sheets of one sentence, from 1 in
# front to 4 behind, are its heads. $K$ and $V$ are split in the same way as $Q$.*
#
# Bad arguments deserve a `ValueError` that names them. A bare `assert d_model % num_heads == 0` in the constructor
# would name no numbers, and Python skips asserts when it runs with `-O`.

# %%
try:
    MultiHeadSelfAttention(20, 3)
except ValueError as error:
    print(error)
else:
    raise AssertionError("20 features do not make 3 heads")

# %% tags=["hide-input"]
# both shapes, the same as the list of heads, and, with the loop's matrices, the same as the loop
assert output.shape == (2, 7, 20) and weights.shape == (2, 4, 7, 7)
assert torch.allclose(output, listed(x), atol=1e-5)
assert len({sum(part.numel() for part in model.parameters()) for model in (listed, ours)}) == 1
with torch.no_grad():
    ours.w_qkv.weight.copy_(torch.cat([w_q, w_k, w_v], dim=1).T)  # nn.Linear keeps transposes
    ours.w_o.weight.copy_(w_o.T)
    ours.w_qkv.bias.zero_()
    ours.w_o.bias.zero_()
output, weights = ours(x)
assert torch.allclose(output, output_by_loop, atol=1e-5)

# %% tags=["hide-input"]
questions.ask("05", "through-the-heads")

# %% [markdown]
# ## 5. Two sequences: cross-attention
#
# Query and key need not come from the same sequence. In a transformer that translates (lecture 8), the words of
# the translation ask and the words of the source answer, as in lecture 1. This is **cross-attention**, in which
# the query has length $T$ while key and value have length $S$.
#
# Now three separate maps are needed, and the order of the arguments matters. In this course it is **query, key,
# value, mask**, as in PyTorch's `scaled_dot_product_attention`. The course's own class is
# `attention.MultiHeadAttention`, which assignment 5 asks you to write.

# %%
torch.manual_seed(7)
target = torch.randn(2, 3, 20)  # (B, T, D): the words that ask
source = torch.randn(2, 7, 20)  # (B, S, D): the words that are asked

cross = attention.MultiHeadAttention(20, 4)
output, weights = cross(target, source, source)
print("output ", tuple(output.shape))  # as long as the query
print("weights", tuple(weights.shape))  # (B, H, T, S)

# %% tags=["hide-input"]
assert output.shape == (2, 3, 20) and weights.shape == (2, 4, 3, 7)
assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 4, 3))
print("every row of weights sums to one")

# %% [markdown]
# Some code writes `forward(v, k, q, mask)` instead. If you call it in PyTorch's order, query and value change
# places. In self-attention all three are the same, so every test of it passes. In cross-attention the same call
# fails or, worse, does not fail:


# %%
def forward_vkq(v, k, q):
    """The other order of arguments, with the same weights."""
    return cross(q, k, v)


assert torch.equal(forward_vkq(source, source, source)[0], cross(source, source, source)[0])
print("self-attention: no difference")

try:
    forward_vkq(target, source, source)  # meant as query, key, value
except ValueError as error:
    print("T ≠ S:", error)
else:
    raise AssertionError("seven keys cannot share three values")

same_length = source[:, :3]  # S = T: now every shape fits
right, _ = cross(target, same_length, same_length)
wrong, _ = forward_vkq(target, same_length, same_length)
difference = (right - wrong).abs().max()
assert right.shape == wrong.shape and difference > 0.1
print(f"T = S: no error, but an output is wrong by {difference:.1f}")

# %% [markdown]
# With equal lengths nothing complains, although the source asks and the values come from the target. There are
# two remedies. Test with $T \ne S$, and pass the arguments by name, as in `cross(query=…, key=…, value=…)`.

# %% tags=["hide-input"]
questions.ask("05", "one-more-german-word")

# %% [markdown]
# ## 6. What it costs
#
# PyTorch counts for us, on `meta` tensors that have shapes but no numbers. One multiplication with its addition
# is two operations. We compare *narrow* heads, $d_k = d_\text{model}/H$, with heads of *full width*, $d_k =
# d_\text{model}$, as in section 2.


# %%
def count(num_heads, d_k, length=64, d_model=512):
    """Operations in the matrix products, parameters without biases, and attention weights."""
    with torch.device("meta"):
        x = torch.empty(length, d_model)
        w_q, w_k, w_v = torch.empty(3, num_heads, d_model, d_k)
        w_o = torch.empty(num_heads * d_k, d_model)
    with FlopCounterMode(display=False) as counter:
        context, weights = attention.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)
        context.transpose(0, 1).flatten(start_dim=1) @ w_o  # (T, H * d_k) -> (T, D)
    return counter.get_total_flops(), 4 * w_q.numel(), weights.numel()


head_counts = [1, 2, 4, 8, 16]
narrow = [count(num_heads, 512 // num_heads) for num_heads in head_counts]
full = [count(num_heads, 512) for num_heads in head_counts]

print("heads   million operations   million parameters   attention weights")
print("        narrow  full width    narrow  full width         either way")
for num_heads, few, many in zip(head_counts, narrow, full, strict=True):
    print(f"{num_heads:5d}  {few[0] / 1e6:7.1f}  {many[0] / 1e6:10.1f}", end="")
    print(f"  {few[1] / 1e6:8.2f}  {many[1] / 1e6:10.2f}  {few[2]:17,d}")

# %% tags=["hide-input"]
for num_heads, few, many in zip(head_counts, narrow, full, strict=True):
    assert few[0] == 8 * 64 * 512**2 + 4 * 64**2 * 512 and few[1] == 4 * 512**2
    assert many[0] == num_heads * few[0] and many[1] == num_heads * few[1]
    assert few[2] == many[2] == num_heads * 64 * 64
    module = attention.MultiHeadAttention(512, num_heads)  # narrow heads, with biases
    assert sum(p.numel() for p in module.parameters()) == few[1] + 4 * 512

figure, (left, right) = plotting.panels(2)
left.set_title("products: narrow heads cost as much as one")
operations = {"full width": full, "narrow": narrow}
plotting.curves(
    left,
    head_counts,
    {name: [counts[0] / 1e6 for counts in found] for name, found in operations.items()},
    xlabel="heads H",
    ylabel="million operations",
    ylim=(0, 2400),
)
right.set_title("attention weights: every head has its own")
right.plot(head_counts, [counts[2] / 1000 for counts in narrow], color=plotting.MUTED)
right.set(xlabel="heads H", ylabel="thousand weights", ylim=(0, None))
for ax in (left, right):
    plotting.ticks_at(ax, x=head_counts)
plotting.picture(
    figure,
    caption="Narrow heads cost as much as one head; only the attention weights grow.",
    alt="Two panels over the number of heads from 1 to 16, for 64 words of width 512. Left, million "
    "operations in matrix products: full-width heads rise as a straight line from 143 to 2282, "
    "narrow heads stay at 143. Right, the number of attention weights, for both kinds, rises as a "
    "straight line from 4 to 66 thousand.",
)

# %% [markdown]
# Narrow heads cost the same however many there are. The four maps take $2\,T d_\text{model}^2$ operations each.
# In every head, queries times keys and weights times values take $2\,T^2 d_k$ each, which over all heads makes $H
# \cdot 4T^2 d_k = 4T^2 d_\text{model}$. Full-width heads cost $H$ times as much.
#
# So multi-head attention is cheap because each head does one $H$-th of the work. You will also read that it is
# cheap because the heads can be computed in parallel, but that shortens the waiting and not the work.
#
# One thing does grow. Each head has weights of its own, so there are $H \cdot T \cdot S$ of them to normalise and
# to store. (The softmax is not among the operations counted above.)
#
# Narrow heads have their price too, because a head of width $d_k$ compares words in $d_k$ dimensions only.
# Bhojanapalli et al. (2020) prove that a head at least as wide as the sentence is long can produce any pattern of
# positive weights, if the word vectors are linearly independent. A much narrower head cannot produce all of them.
#
# How much does this matter in practice? Vaswani et al. (2017, table 3, rows A) found one head 0.9 BLEU worse than
# the best setting, and 32 heads worse as well. (BLEU scores translations from 0 to 100, and more is better.)

# %% tags=["hide-input"]
questions.ask("05", "parameters-of-five-heads")

# %% [markdown]
# ## 7. A task for two heads
#
# **The task.** In a random sequence of words, say for every word which word is on its *left* and which on its
# *right*. Both answers are read from the same output vector.
#
# To know exactly what we test, we keep three things apart:
#
# - **Where to look** depends on positions only. Query and key are made from position vectors, one for each place
#   in the sequence, whatever word is there.
# - **What is found** depends on words only, because the values are made from word vectors.
# - **The readout** is one linear layer on the output.
#
# ### What theory says
#
# Let $a$ be the word on the left of some position, $b$ the word on its right, and $v_a$, $v_b$ their values. With
# one head, the context is
#
# $$z = \lambda\, v_a + \mu\, v_b + r$$
#
# with shares $\lambda$ and $\mu$ that are the same whatever the words are, and a rest $r$ from the other
# positions. If $\lambda = \mu$, exchanging $a$ and $b$ changes nothing, so one of the two orders must be answered
# wrongly. If $\lambda \ne \mu$, the order is *in* $z$ as a difference of size. But a linear readout cannot use it
# for both answers, because the word with the smaller share cannot be named right every time. (Section 12 proves
# it.)
#
# Two heads with the same value map contain $\lambda_1 v_a + \mu_1 v_b$ *and* $\lambda_2 v_a + \mu_2 v_b$, if they
# give nothing to the rest. These are two equations with two unknowns, which a linear map can solve whenever
# $\lambda_1 \mu_2 \ne \lambda_2 \mu_1$. So the heads have to be different, but theory does not demand that each
# looks at one side only.
#
# ### The experiment
#
# Models with one, two and four heads have the same width, the same number of parameters and the same number of
# training steps. Each position gets a vector of its own. It consists of sixteen clock hands that turn at sixteen
# speeds, each stored as the cosine and the sine of its angle. Any distinct vectors would do here, and [lecture
# 6](06_positional_encoding.ipynb) explains why these are a good choice.
#
# The first and the last word have one neighbour only and get no answer.

# %%
NUM_WORDS, LENGTH, WIDTH = 10, 10, 32  # vocabulary, T, d_model

speeds = torch.arange(1, WIDTH // 2 + 1)  # (16,)
angles = torch.arange(LENGTH).unsqueeze(1) * speeds * math.pi / 16  # (T, 16)
positions = torch.cat([angles.cos(), angles.sin()], dim=1)  # (T, D)


class NeighbourReader(nn.Module):
    """Name the left and the right neighbour of every inner word."""

    def __init__(self, num_heads):
        super().__init__()
        self.words = nn.Embedding(NUM_WORDS, WIDTH)
        self.attention = attention.MultiHeadAttention(WIDTH, num_heads)
        self.readout = nn.Linear(WIDTH, 2 * NUM_WORDS)  # one score for each word on each side

    def attend(self, ids):
        """Output (B, T, D) and weights (B, H, T, T); ids is (B, T)."""
        place = positions.expand(len(ids), -1, -1)  # (B, T, D)
        return self.attention(query=place, key=place, value=self.words(ids))

    def forward(self, ids):
        """Scores (B, T - 2, 2, words) and weights (B, H, T, T); ids is (B, T)."""
        output, weights = self.attend(ids)
        return self.readout(output)[:, 1:-1].unflatten(-1, (2, NUM_WORDS)), weights


# %% [markdown]
# Every training step draws new random sequences, so there is nothing to learn by heart. We measure the answers
# "left" and "right" one by one, and also *both at once*, where a pair counts only if both words are right.


# %%
def sample(count, generator):
    """Random sequences (count, T) and their neighbours (count, T - 2, 2): left, right."""
    ids = torch.randint(NUM_WORDS, (count, LENGTH), generator=generator)
    return ids, torch.stack([ids[:, :-2], ids[:, 2:]], dim=-1)


def train(model, steps, seed):
    """Adam on fresh random sequences; the loss counts both answers alike."""
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)  # fused: faster
    for _ in range(steps):
        ids, neighbours = sample(64, generator)
        scores, _ = model(ids)
        loss = F.cross_entropy(scores.flatten(0, 2), neighbours.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def measure(model):
    """Share of right answers on 1000 new sequences: left, right, both at once."""
    ids, neighbours = sample(1000, torch.Generator().manual_seed(999))
    with torch.no_grad():
        right = model(ids)[0].argmax(dim=-1) == neighbours  # (1000, T - 2, 2)
    left_right = right.float().mean(dim=(0, 1)).tolist()
    return [*left_right, right.all(dim=-1).float().mean().item()]


# %% [markdown]
# We train with one, two and four heads, five seeds and 250 steps each, which takes some ten seconds.

# %% seconds=11
head_counts, seeds = [1, 2, 4], range(5)
models = {}
for num_heads in head_counts:
    for seed in seeds:
        torch.manual_seed(seed)
        models[num_heads, seed] = NeighbourReader(num_heads)
        train(models[num_heads, seed], 250, seed)

sizes = {sum(p.numel() for p in model.parameters()) for model in models.values()}
assert len(sizes) == 1  # as many parameters with one head as with four
print("parameters of every model:", sizes.pop())

# %% tags=["nbval-ignore-output"]
accuracy = torch.tensor([[measure(models[H, seed]) for seed in seeds] for H in head_counts])
left_right, both = accuracy[..., :2], accuracy[..., 2]  # (3, seeds, 2), (3, seeds)
better, worse = left_right.amax(dim=-1), left_right.amin(dim=-1)  # (3, seeds)

print("heads   better side    worse side     both sides     (ranges over five seeds)")
for H, *columns in zip(head_counts, better, worse, both, strict=True):
    ranges = [f"{column.min():.2f} to {column.max():.2f}" for column in columns]
    print(f"{H:5d}  ", "   ".join(ranges))
print("one head, left side, by seed:", *[f"{share:.2f}" for share in left_right[0, :, 0]])

# %% tags=["hide-input", "nbval-ignore-output"]
assert set(left_right[0].argmax(dim=-1).tolist()) == {0, 1}  # which side is right varies
assert (both[0] < 0.4).all() and (better[0] > 0.9).all() and (worse[0] < 0.4).all()
assert (both[1:] > 0.98).all()

figure, ax = plotting.panels(1)
plotting.bars(
    ax,
    ["1 head", "2 heads", "4 heads"],
    {"better side": better.T, "worse side": worse.T, "both at once": both.T},
    ylabel="share of right answers",
    ylim=(0, 1.15),
    xlim=(-0.5, 3.1),
)
plotting.level(ax, 1 / NUM_WORDS, "guessing one: 0.1", at=0.81)
plotting.picture(
    figure,
    caption="One head names one neighbour only; with two heads, both. A dot for each seed.",
    alt="Share of right answers for one, two and four heads, bars for the median and a dot for each "
    "of five seeds. With one head, the better of the two sides is mostly right, 0.9 or more in every "
    "seed, the worse one only in about a fifth of the cases, and so are both at once. With two "
    "and with four heads all bars and dots are at 1.",
)

# %% [markdown]
# With one head, the model answers one side well and the other one badly. Which side it is depends on the seed.
# What does it answer on the bad side? We count how often both answers name the same word although the two
# neighbours are different.

# %% tags=["nbval-ignore-output"]
ids, neighbours = sample(1000, torch.Generator().manual_seed(999))
differ = neighbours[..., 0] != neighbours[..., 1]  # (1000, T - 2)
same_word = []
for seed in seeds:
    with torch.no_grad():
        named = models[1, seed](ids)[0].argmax(dim=-1)  # (1000, T - 2, 2)
    same_word.append((named[..., 0] == named[..., 1])[differ].float().mean())
print("the same word twice, by seed:", *[f"{share:.2f}" for share in same_word])

# %% tags=["hide-input"]
# in every seed, more than half of these answers name one word twice
assert min(same_word) > 0.5

# %% [markdown]
# It mostly says the same word twice, so one side must be wrong. Two heads get everything right, and four heads
# cannot do better.
#
# ### What does each head look at?
#
# In these models the weights depend on positions only, so one map per head holds for *every* sequence. Here are
# the models with one head and with two, of seed 0.


# %%
def maps_of(model):
    """Weights of every head, (H, T, T): the same for every sequence, so any one will do."""
    with torch.no_grad():
        return model(torch.zeros(1, LENGTH, dtype=torch.long))[1][0]


# %% tags=["hide-input", "nbval-ignore-output"]
places = list(range(1, LENGTH + 1))


def draw_maps(maps, titles):
    """Maps over the ten positions, counted from 1."""
    figure = plotting.attention_maps(
        maps,
        titles,
        limit=1.0,
        numbers=False,
        size=(10, 3.9),
        query_label="query: position that looks",
        key_label="key: position",
    )
    for ax in figure.axes[: len(maps)]:
        ax.set_xticks(range(0, LENGTH, 3), places[::3])
        ax.set_yticks(range(0, LENGTH, 3), places[::3])
    return figure


plotting.picture(
    draw_maps([*maps_of(models[1, 0]), *maps_of(models[2, 0])], ["1 head", "1 of 2", "2 of 2"]),
    caption="One head looks both ways; of two heads, one looks to the left, one to the right.",
    alt="Three maps over ten positions. The only head of the first model has two half-strong stripes, "
    "one on either side of the diagonal. Head 1 of 2 has one strong stripe above the "
    "diagonal: every position from 2 to 9 looks at its right neighbour. Head 2 of 2 has one below: "
    "they look at the left neighbour. Rows 1 and 10, which were not trained, are blurred.",
)

# %% [markdown]
# There is one head per side. Is that always so? For every head of every model we measure the average weight on
# the left and on the right neighbour, so each head becomes a point. On the grey line, left and right add up to
# one, and at an end of the line, the head looks at one side only.

# %%
inner = torch.arange(1, LENGTH - 1)


def neighbour_weights(model):
    """Average weight of each head on the left and on the right neighbour: (H, 2)."""
    weights = maps_of(model)  # (H, T, T)
    on_left, on_right = weights[:, inner, inner - 1], weights[:, inner, inner + 1]  # (H, T - 2)
    return torch.stack([on_left.mean(dim=1), on_right.mean(dim=1)], dim=1)


looks = {key: neighbour_weights(model) for key, model in models.items()}

# %% tags=["hide-input", "nbval-ignore-output"]
for seed in seeds:
    assert looks[1, seed].min() > 0.2  # the only head looks at both sides
    two = looks[2, seed]
    assert two.amax(dim=1).min() > 0.8  # each head is on one side …
    assert sorted(two.argmax(dim=1).tolist()) == [0, 1]  # … and the two are on different sides
    assert (looks[4, seed].amax(dim=0) > 0.6).all()  # with four heads, both sides are covered
assert min(looks[4, seed].amax(dim=1).min() for seed in seeds) < 0.8  # not all of them are pure

figure, axes = plotting.panels(3, height=4.2, sharex=True, sharey=True)
for ax, H in zip(axes, head_counts, strict=True):
    ax.plot([0, 1], [1, 0], color=plotting.MUTED, linewidth=1.2, linestyle="-", marker="")
    for seed, marker in zip(seeds, ["o", "s", "^", "D", "v"], strict=True):
        colour = plotting.SERIES[seed]
        ax.plot(*looks[H, seed].T, marker, color=colour, markersize=8, alpha=0.8, linestyle="none")
    ax.set_title(f"{H} head{'s' if H > 1 else ''}")
    ax.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05))
axes[0].set_ylabel("weight on the right neighbour")
axes[1].set_xlabel("weight on the left neighbour")
plotting.picture(
    figure,
    caption="A point for each head, a marker for each seed: two heads specialise, in every seed.",
    alt="Three panels, one point per head: its average weight on the left neighbour against that on "
    "the right one, five seeds. One head: all points lie just below the middle of the line on which "
    "both add up to one, so the head divides itself between the sides. Two heads: one point per "
    "seed near left = 1, one near right = 1. Four heads: most points in the two corners, a few "
    "between them.",
)

# %% [markdown]
# - **One head** divides itself between the two sides. It looks at both, although the model then names only one of
#   them well.
# - **Two heads** specialise, one per side, in all five seeds, although nobody told them to.
# - **Four heads** cover both sides in all five seeds, but not every head is pure, that is, on one side only. A
#   few divide themselves, which does no harm, because others are pure and the linear map after the heads weighs
#   them all.
#
# Here are all heads of the three models of seed 0, with their queries, keys and values. Queries and keys belong
# to positions, and the values are those of one random sequence. You choose with *attention* and *head*, and your
# browser computes.
#
# 1. **One head.** Walk down its rows 2 to 9. Where are the two large weights, and is one of them larger? Make it
#    colder by setting $\tau$ to 0.2, under *temperature and mask*. Which side is left, and in how many rows?
# 2. **Two heads.** Choose head 1 and *compare with* head 2. What does the map of differences look like? Then
#    choose row 5 and look at the last table under *number by number*. Whose value is the output, nearly?
# 3. **Four heads.** Which of them divides itself between the sides, and which are pure?

# %% tags=["hide-input", "nbval-ignore-output"]
sequence, _ = sample(1, torch.Generator().manual_seed(997))  # (1, T), for the values


def heads_of(model):
    """Query, key and value of every head on that sequence, each (H, T, d_k)."""
    layer = model.attention
    words = model.words(sequence)[0]  # (T, D)
    maps = [(layer.w_q, positions), (layer.w_k, positions), (layer.w_v, words)]
    with torch.no_grad():
        return [attention.split_heads(w(x)[None], layer.num_heads)[0] for w, x in maps]


def live_heads(num_heads):
    """All heads of the model of seed 0, rounded; their weights are those of the maps above."""
    vectors = [x.round(decimals=3) for x in heads_of(models[num_heads, 0])]
    _, weights = attention.scaled_dot_product_attention(*vectors)
    assert torch.allclose(weights, maps_of(models[num_heads, 0]), atol=0.01)
    name = f"{num_heads} head{'s' if num_heads > 1 else ''}"
    return [
        live.Attention(
            *qkv, [str(place) for place in places], model=name, head=h, sentence="ten positions"
        )
        for h, qkv in enumerate(zip(*vectors, strict=True), start=1)
    ]


query, key, _ = heads_of(models[1, 0])
coldest = (query @ key.mT / 0.2).softmax(dim=-1)[0]  # (T, T)
cold_sides = torch.stack([coldest[inner, inner - 1], coldest[inner, inner + 1]])  # (2, T - 2)
assert (cold_sides > 0.8).all(dim=1).tolist() == (left_right[0, 0] > 0.9).tolist()
assert (looks[4, 0].amax(dim=1) > 0.95).sum() == 2  # pure heads

live.attention_view(
    *(one for num_heads in head_counts for one in live_heads(num_heads)),
    caption="The heads of three trained models, over the ten positions of a sequence",
    query=4,
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# In most rows the only head gives its two neighbours nearly the same weight, but not exactly. When it is made
# colder, the larger one takes all. That is the same side in every row, the one that this model names well. Two
# heads share the work, so the differences have one colour above the diagonal and the other one below it, and an
# output is almost exactly the value of one neighbour. Of the four heads, two are pure here.
#
# </details>
#
# The next picture says how four heads divide themselves, on average over the rows 2 to 9:

# %% tags=["hide-input", "nbval-ignore-output"]
titles = [
    f"head {h + 1}\nleft {on_left:.2f}, right {on_right:.2f}"
    for h, (on_left, on_right) in enumerate(looks[4, 0])
]
plotting.picture(
    draw_maps(maps_of(models[4, 0]), titles),
    caption="Four heads: the neighbours are covered, and not every head is on one side only.",
    alt="Four maps over ten positions. Head 1 has one strong stripe above the diagonal (right "
    "neighbour), head 4 one below it (left neighbour). Head 2 has stripes on both sides, the upper "
    "one stronger. Head 3 has one below, blurred in some rows.",
)

# %% [markdown]
# ### What one head can do after all
#
# Theory rested on three conditions, which are one head, shares that do not depend on the words, and a linear readout.
# If you drop one of them, it no longer applies. Two heads drop the first condition. The other two give us two cases
# in which one head might succeed:
#
# - **a nonlinear readout**, with a hidden layer of 128 ReLU units in place of the linear one;
# - **weights that depend on the words**, as in ordinary self-attention, where word *and* position enter query,
#   key and value, with the linear readout.
#
# As a comparison we train ordinary self-attention with two heads. Three seeds each take some ten seconds. (The
# hidden layer doubles the parameters, and the case with one head and words gets four times as many steps. So this
# shows what one head *can* do, not that it is cheaper.)


# %%
class WithHiddenLayer(NeighbourReader):
    """The readout has a hidden layer."""

    def __init__(self, num_heads):
        super().__init__(num_heads)
        self.readout = nn.Sequential(
            nn.Linear(WIDTH, 128), nn.ReLU(), nn.Linear(128, 2 * NUM_WORDS)
        )


class LooksAtWords(NeighbourReader):
    """Ordinary self-attention: words and positions in all three roles."""

    def attend(self, ids):
        x = self.words(ids) + positions  # (B, T, D)
        return self.attention(x, x, x)


# %% seconds=12
variants = {  # name: (class, heads, steps)
    "positions only, hidden layer": (WithHiddenLayer, 1, 250),
    "words too, linear, 250 steps": (LooksAtWords, 1, 250),
    "words too, linear, 1000 steps": (LooksAtWords, 1, 1000),
    "words too, linear, 2 heads": (LooksAtWords, 2, 250),
}
trained, both_right = {}, {"positions only, linear readout": both[0, :3].tolist()}
for name, (reader, num_heads, steps) in variants.items():
    for seed in range(3):
        torch.manual_seed(seed)
        trained[name, seed] = reader(num_heads)
        train(trained[name, seed], steps, seed)
    both_right[name] = [measure(trained[name, seed])[2] for seed in range(3)]

# %% tags=["nbval-ignore-output"]
for name, values in both_right.items():
    print(f"{name:<31}  both right: {min(values):.2f} to {max(values):.2f}")

# %% tags=["hide-input"]
# below 0.4 and 0.6 for the linear readouts after 250 steps; the others above 0.97, or 0.8 after 1000
linear, hidden, words_early, words_late, words_two_heads = both_right.values()
assert max(linear) < 0.4 and max(words_early) < 0.6
assert min(hidden) > 0.97 and min(words_late) > 0.8 and min(words_two_heads) > 0.97

# %% [markdown]
# In both cases one head *can* do it.
#
# - **With a hidden layer** it settles on unequal shares, about 0.7 and 0.3. The order of two words is in their
#   sizes, and ReLU units can tell a large share from a small one.
# - **With weights that depend on the words**, the shares themselves carry information. Even a linear readout can
#   learn to use them, but only slowly. After 250 steps it is still wrong most of the time, while two heads make next
#   to no mistakes.
#
# Here are the shares of one head in both cases. The first ones stay fixed, and the second ones move with the
# words.

# %% tags=["nbval-ignore-output"]
ids, _ = sample(1000, torch.Generator().manual_seed(998))
with torch.no_grad():
    shares = {name: trained[name, 0](ids)[1][:, 0, inner, inner - 1] for name in variants}

fixed = shares["positions only, hidden layer"]  # (1000, T - 2): weight on the left neighbour
moving = shares["words too, linear, 1000 steps"]
print("weight on the left neighbour of position 5, in three sequences:")
print("  positions only:", *[f"{share:.2f}" for share in fixed[:3, 3].tolist()])
print("  words too:     ", *[f"{share:.2f}" for share in moving[:3, 3].tolist()])

# %% tags=["hide-input"]
# the first shares stay fixed, the second move; the larger fixed one is between 0.6 and 0.8
assert fixed.std(dim=0).max() < 1e-4 and moving.std(dim=0).mean() > 0.05
for seed in range(3):
    larger_share = neighbour_weights(trained["positions only, hidden layer", seed]).max()
    assert 0.6 < larger_share < 0.8

# %% [markdown]
# So do not say "one head cannot look at two places", and do not say "more heads are always needed". What holds is
# that one head returns one average. To keep two things apart it must *encode* them, here in the sizes of its
# weights, and something after it must decode that. Two heads can keep them apart from the start. In a
# transformer, a feed-forward network with a hidden layer does follow the heads ([lecture
# 7](07_layer_normalization.ipynb)).

# %% [markdown]
# ## 8. What heads do in trained models
#
# ### Four heads of the course's translator
#
# Do the heads of a trained model divide such work among them? German "sie" means "she" or "they", and only the verb
# tells which, because "sie kann" is "she can" and "sie können" is "they can". So whoever translates "sie" needs both
# words. Here is the course's translator ([lecture 8](08_transformer.ipynb)) with the four heads of the
# cross-attention in its first layer, after training and about to write the first word.

# %%
examples = {"she": learned.sentence("she"), "they": learned.sentence("they")}
rows = {}  # what is about to be said -> (H, S): where each head looks
for word, example in examples.items():
    rows[word] = example.cross[0, :, example.says.index(word)]
    print(f"{' '.join(example.source)}\n   about to say '{word}':", end="")
    for h, weights in enumerate(rows[word]):
        print(f"  head {h + 1} -> {example.source[weights.argmax()]}", end="")
    print()
before = [example.untrained.cross[0, :, 0].max() for example in examples.values()]
print(f"largest weight of any head before training: {max(before):.2f}")

# %% tags=["hide-input"]
found = {word: [examples[word].source[k] for k in rows[word].argmax(dim=1)] for word in rows}
assert found == {"she": ["sie", "sie", "kann", "."], "they": ["sie", "sie", "können", "."]}
assert all(weights.amax(dim=1).min() > 0.7 for weights in rows.values())
assert max(before) < 0.25 and all(example.says[0] == word for word, example in examples.items())

figure = plotting.attention_maps(
    list(rows.values()),
    [f'about to say "{word}"' for word in rows],
    [[f"head {h}" for h in range(1, 5)]] * 2,
    [example.source for example in examples.values()],
    limit=1.0,
    size=(10, 3.6),
    colour_label="weight α",
    query_label="",
    key_label="key: German word",
)
plotting.picture(
    figure,
    caption="One word to be written, four looks: at the pronoun, at its verb, at the full stop.",
    alt="Two maps with four heads as rows and German words as columns. Before she: heads 1 and 2 give "
    "0.78 and 0.77 to sie, head 3 gives 0.99 to kann, head 4 gives 0.84 to the full stop. Before "
    "they: heads 1 and 2 give 0.81 and 0.74 to sie, head 3 gives 0.99 to können, head 4 gives "
    "0.79 to the full stop.",
)

# %% [markdown]
# Heads 1 and 2 look at the pronoun and head 3 looks at the verb, so two questions get two averages, side by side.
# Nobody assigned these parts, and before training no head gave any word of these two rows more than 0.25. (The second
# look is not strictly necessary. In lecture 2 a head of the encoder asked for the verb, too, so "sie" may carry it
# already.) Two sentences prove little, and this map, like those of lectures 3 and 4, was chosen because it is easy to
# read.
#
# ### What has been measured
#
# It is easy to say that one head learns syntax, another semantics and a third named entities. Each such claim has
# to be measured, head by head. What has been measured is more modest and more interesting:
#
# - **Voita et al. (2019)** examined the encoder of translation models. Some heads look at a neighbouring word, as
#   ours do, some follow particular syntactic relations more often than a baseline that knows only positions, and
#   one kind looks at the rarest word of the sentence. With a method that switches heads off while training goes
#   on, 38 of 48 encoder heads could go for a loss of 0.15 BLEU (English–Russian, WMT).
# - **Michel et al. (2019)** removed heads from trained models at test time. Many could go without a significant
#   loss, and some layers could be left with a single head. Cross-attention (they call it encoder–decoder
#   attention) needed its heads more than self-attention did.
# - **Clark et al. (2019)** compared the heads of BERT, a large model of English text, with annotated sentences.
#   Many look at fixed offsets or at separators, which are no words. Some single heads agree well with *one*
#   relation each, such as a verb's direct object, a noun's determiner, or an earlier mention of the same thing.
#
# In none of these models did anybody assign roles to heads. A role is what a measurement finds afterwards, in
# *some* heads of *one* trained model, and another seed may put it elsewhere, as it did in our experiment. A large
# weight shows where a head looked. Whether the model used what it found there is another question (Jain and
# Wallace, 2019; Wiegreffe and Pinter, 2019).

# %% [markdown]
# ## Summary
#
# - One softmax per query gives one weighted average. Several heads give several averages, side by side.
# - **Split, attend, concatenate, project.** $H$ maps are one tensor or one matrix. The way in, $(B, T, D) \to (B,
#   T, H, d_k) \to (B, H, T, d_k)$, is a reshape *and* a transpose, and the way out undoes both.
# - The final map is a sum over heads. Without it, this layer would not combine its heads.
# - With $d_k = d_\text{model}/H$, any number of heads costs the parameters and products of one. Only the
#   attention weights, $H \cdot T \cdot S$ of them, grow.
# - In cross-attention the query has length $T$, while key and value have length $S$. The order is query, key,
#   value.
# - With fixed shares and a linear readout, one head cannot name both neighbours, while two heads can, and
#   specialise. A nonlinear readout, or shares that depend on words, let one head do it as well.
# - What a head does is found by measuring it.
#
# **Now you:** [assignment a5, multi-head
# attention](../exercises/a5_multi_head_attention/a5_multi_head_attention.ipynb). This is the end of the core.
# Sections 9 to 12 go deeper, and you can skip them.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 3, 4, 5 and 6 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** A model has $d_\text{model} = 512$, $H = 8$, $T = 10$ and $B = 2$. What are the shapes of one head's
# query, of all weights, and of the merged context?
#
# <details><summary>Answer</summary>
#
# One head's query is (2, 10, 64). The weights are (2, 8, 10, 10), because each head has its own. The merged
# context is (2, 10, 512).
#
# </details>
#
# **2.** By which number are the scores divided in the model of question 1?
#
# <details><summary>Answer</summary>
#
# By $\sqrt{64} = 8$, the root of the head's width $d_k$. The root of $d_\text{model}$ would be 22.6, which is too
# much, because each score is a sum of 64 products only.
#
# </details>
#
# **3.** All heads have the same maps. What have you gained over one head of width $d_k$?
#
# <details><summary>Answer</summary>
#
# You have gained nothing. Every head computes the same average, so the final map could do the same with one
# block, the sum of its blocks. Only heads with different maps say different things.
#
# </details>
#
# **4.** In the model of question 1, the output of head 3 is set to zero. Which entries of $W_o$ no longer matter, and
# how many are there?
#
# <details><summary>Answer</summary>
#
# Head 3 fills the features 129 to 192 of the merged context, so the columns 129 to 192 of $W_o$ no longer matter, with
# $512 \cdot 64 = 32\,768$ entries. That is an eighth of the matrix.
#
# </details>
#
# **5.** A text has 1000 tokens. How much memory do the attention weights of one layer take in `float32` with 8 heads,
# and how much with 16 at the same $d_\text{model}$? What happens to the number of parameters?
#
# <details><summary>Answer</summary>
#
# There are $8 \cdot 1000 \cdot 1000$ weights of four bytes, which is 32 MB, and twice as much with 16 heads. The
# parameters stay as many as they were, because the heads only divide the same maps in another way.
#
# </details>
#
# **6.** Two heads have the same value map. Head 1 gives the neighbours the shares (0.8, 0.2), and head 2 gives
# them (0.2, 0.8). How does a linear map get the value $v_a$ of the left neighbour?
#
# <details><summary>Answer</summary>
#
# It solves two equations, which gives $(0.8 \cdot \mathrm{head}_1 - 0.2 \cdot \mathrm{head}_2) / 0.6 = v_a$. The
# heads need not be pure, only different.
#
# </details>
#
# **7.** A unit test calls a `forward(v, k, q)` with `(x, x, x)` and passes. What would you test?
#
# <details><summary>Answer</summary>
#
# Test cross-attention with $T \ne S$, and again with $T = S$ but different contents, compared with a trusted
# implementation.
#
# </details>

# %% [markdown]
# ## 9. Going deeper: a copy of the sentence for each head
#
# Section 2 let broadcasting multiply one sentence with eight maps. The book copies the sentence once for each
# head and multiplies two stacks of matrices, which `bmm` pairs one by one. With words as columns this is

# %%
torch.manual_seed(123)
x = nn.Embedding(10, 16)(sentence).detach()  # (T, D), as in section 2
torch.manual_seed(123)
torch.rand(16, 16)
_, key_maps, _ = torch.rand(3, 8, 16, 16)  # (H, d_k, D): as the book draws them

stacked = x.T.repeat(8, 1, 1)  # (D, T) -> (H, D, T), eight copies
products = torch.bmm(key_maps, stacked)  # (H, d_k, D) @ (H, D, T) -> (H, d_k, T)
rows = products.permute(0, 2, 1)  # (H, T, d_k): one row per word again

assert torch.allclose(rows, keys, atol=1e-5)
print(stacked.shape, products.shape, rows.shape)
print(rows[2, 1])

# %% tags=["hide-input"]
assert stacked.shape == products.shape == (8, 16, 8) and rows.shape == (8, 8, 16)
assert torch.allclose(rows[2, 1], expected_key, atol=1e-4)
print("the same key of 'you' in head 3")

# %% [markdown]
# **Check yourself.** `torch.bmm` wants two stacks of the same height. Why does `@` do without the copies?
#
# <details><summary>Answer</summary>
#
# It broadcasts its leading axes, so $(T, D)$ is treated as $(1, T, D)$, and the axis of length 1 is used for
# every head without being stored again.
#
# </details>

# %% [markdown]
# ## 10. Going deeper: the wrong reshape leaks
#
# The trap of section 3 split heads by a reshape alone, and the shape was right. One thing that breaks is a causal
# mask. Row 2 of the false head 1 is not word 2, so the mask hides the wrong things. We change word 4 of six and ask
# which outputs move. Only words 4, 5 and 6 may.


# %%
def split_without_transpose(x, num_heads):
    """The trap: (B, T, D) -> (B, H, T, d_k) by reshape alone."""
    batch, length, d_model = x.shape
    return x.reshape(batch, num_heads, length, d_model // num_heads)


def words_that_move(split):
    """Which outputs change, under a causal mask, when word 4 of 6 changes? Counted from 1."""
    before = torch.randn(1, 6, 8, generator=torch.Generator().manual_seed(0))
    after = before.clone()
    after[:, 3] += 1
    outputs = []
    for version in (before, after):
        part = split(version, 2)  # (B, H, T, d_k), here query, key and value at once
        context, _ = attention.scaled_dot_product_attention(part, part, part, masks.causal_mask(6))
        outputs.append(attention.merge_heads(context))
    moved = (outputs[0] - outputs[1]).abs().amax(dim=(0, 2)) > 1e-6
    return [word for word in range(1, 7) if moved[word - 1]]


print("reshape and transpose:", *words_that_move(attention.split_heads))
print("reshape alone:        ", *words_that_move(split_without_transpose))

# %% tags=["hide-input"]
# words 4, 5 and 6 move with the transpose, all six without
assert words_that_move(attention.split_heads) == [4, 5, 6]
assert words_that_move(split_without_transpose) == [1, 2, 3, 4, 5, 6]

# %% [markdown]
# In the trap, the false head 2 contains words 4 to 6. Merging puts its row 1, made from word 4, next to row 1 of
# the false head 1. So word 1 sees word 4, and the future leaks through the reshape.
#
# **Check yourself.** Somebody uses the reshape without the transpose on the way in *and* on the way out. Does the
# output leak the future through a causal mask?
#
# <details><summary>Answer</summary>
#
# No, and that makes it hard to find. With two heads and an even number of words, "head 1" then contains the first
# half of the sentence and "head 2" the second half, each in order, and both go back to where they came from. But
# the second half never sees the first.
#
# </details>

# %% [markdown]
# ## 11. Going deeper: against PyTorch's own
#
# We compare three modules with the same weights, the same random biases and a causal mask. They are ours, the
# course's `attention.MultiHeadAttention`, which keeps three separate maps, and PyTorch's `nn.MultiheadAttention`,
# whose mask means the opposite of ours (lecture 4).

# %%
torch.manual_seed(6)
ours = MultiHeadSelfAttention(20, 4)
course = attention.MultiHeadAttention(20, 4)
pytorch = nn.MultiheadAttention(20, 4, batch_first=True)
with torch.no_grad():
    matrices, biases = ours.w_qkv.weight.chunk(3), ours.w_qkv.bias.chunk(3)
    parts = (course.w_q, course.w_k, course.w_v)
    for part, matrix, bias in zip(parts, matrices, biases, strict=True):
        part.weight.copy_(matrix)
        part.bias.copy_(bias)
    course.w_o.load_state_dict(ours.w_o.state_dict())
    pytorch.in_proj_weight.copy_(ours.w_qkv.weight)  # one matrix for all three, like ours
    pytorch.in_proj_bias.copy_(ours.w_qkv.bias)
    pytorch.out_proj.load_state_dict(ours.w_o.state_dict())

x, mask = source, masks.causal_mask(7)  # (B, T, D); (T, T), True = may attend
results = {
    "ours": ours(x, mask),
    "course_utils": course(x, x, x, mask),
    "PyTorch": pytorch(x, x, x, attn_mask=~mask, average_attn_weights=False),
}
for name, (output, weights) in results.items():
    print(f"{name:<13} output {tuple(output.shape)}  weights {tuple(weights.shape)}")

# %% tags=["hide-input"]
for output, weights in results.values():
    assert torch.allclose(output, results["ours"][0], atol=1e-5)
    assert torch.allclose(weights, results["ours"][1], atol=1e-5)
crossed, _ = course(target, source, source)
assert torch.allclose(crossed, pytorch(target, source, source)[0], atol=1e-5)
print("outputs and weights are equal, and so are those of cross-attention")

# %% [markdown]
# Note `average_attn_weights=False`. By default PyTorch returns the *mean* of the weights over the heads, $(B, T,
# S)$, which hides what each head does. And its fourth argument is the *padding* mask, so pass masks to it by
# name.
#
# **Check yourself.** Somebody calls `pytorch(x, x, x, mask)` with the $(T, T)$ mask of this section. What does
# PyTorch take it for, and what helps you here?
#
# <details><summary>Answer</summary>
#
# It takes it for a `key_padding_mask`, which must have the shape $(B, S)$ and whose `True` hides. The shape $(7,
# 7)$ does not fit two sentences, so the call fails. With seven sentences in the batch it would run.
#
# </details>

# %% [markdown]
# ## 12. Going deeper: why one head fails
#
# The claim of section 7 is that one head of fixed shares with a linear readout cannot get every answer right, as soon
# as there are three or more words in the vocabulary.
#
# *Proof.* Keep all words but $a$ and $b$ fixed. Say $\lambda \ge \mu$ (otherwise exchange the sides) and look at
# the answer "right". Let $G_{uw}$ be what one full share of word $w$ adds to the score of answer $u$. Apart from
# a constant for each answer, the score of $u$ is $\lambda G_{ua} + \mu G_{ub}$.
#
# *First*, $b$ must beat $a$. Write that down for $(a, b)$ and for $(b, a)$, and add. The constants cancel, which
# leaves $(\lambda - \mu)(G_{ab} + G_{ba}) > (\lambda - \mu)(G_{aa} + G_{bb})$. For $\lambda = \mu$ this says $0 >
# 0$. So $\lambda > \mu$, and $G_{ab} + G_{ba} > G_{aa} + G_{bb}$. Now sum over the three pairs of three words.
# The sum of all six $G$ with different indices exceeds twice the sum of the three with equal ones.
#
# *Second*, $b$ must beat the third word $u$, so $\lambda G_{ba} + \mu G_{bb} > \lambda G_{ua} + \mu G_{ub}$ plus
# constants. Summed over all six ordered pairs, the terms with $\lambda$ cancel, the constants cancel, and what
# remains, divided by $\mu$, says that twice the sum with equal indices exceeds the sum with different ones. For
# $\mu > 0$ that contradicts the first step, and for $\mu = 0$ the same sum says $0 > 0$. ∎
#
# **Check yourself.** Why does the proof say nothing about shares that depend on the words?
#
# <details><summary>Answer</summary>
#
# It writes $\lambda$ and $\mu$ for the shares and exchanges the words. When the weights depend on the words, an
# exchange changes the shares as well, and the constants no longer cancel.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz Kaiser,
#   Illia Polosukhin (2017). *[Attention Is All You Need.](https://arxiv.org/abs/1706.03762)* NeurIPS.
#   Section 3.2.2: multi-head attention; table 3, rows A: the number of heads.
# - Elena Voita, David Talbot, Fedor Moiseev, Rico Sennrich, Ivan Titov (2019). *[Analyzing Multi-Head
#   Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be
#   Pruned.](https://arxiv.org/abs/1905.09418)* ACL. Section 5: what heads do; section 6: pruning.
# - Paul Michel, Omer Levy, Graham Neubig (2019). *[Are Sixteen Heads Really Better than
#   One?](https://arxiv.org/abs/1905.10650)* NeurIPS. Sections 3 and 4: removing heads; section 5:
#   encoder–decoder attention.
# - Kevin Clark, Urvashi Khandelwal, Omer Levy, Christopher D. Manning (2019). *[What Does BERT Look At? An
#   Analysis of BERT's Attention.](https://arxiv.org/abs/1906.04341)* BlackboxNLP workshop at ACL. Sections
#   3 and 4.
# - Srinadh Bhojanapalli, Chulhee Yun, Ankit Singh Rawat, Sashank J. Reddi, Sanjiv Kumar (2020). *[Low-Rank
#   Bottleneck in Multi-head Attention Models.](https://arxiv.org/abs/2002.07028)* ICML. Why $d_k =
#   d_\text{model}/H$ limits a head.
# - Noam Shazeer (2019). *[Fast Transformer Decoding: One Write-Head is All You
#   Need.](https://arxiv.org/abs/1911.02150)* arXiv:1911.02150. All heads share one set of keys and values,
#   so that decoding has less to read from memory.
# - Sarthak Jain, Byron C. Wallace (2019). *[Attention is not
#   Explanation.](https://arxiv.org/abs/1902.10186)* NAACL. And the reply: Sarah Wiegreffe, Yuval Pinter
#   (2019). *[Attention is not not Explanation.](https://arxiv.org/abs/1908.04626)* EMNLP.
# - Sebastian Raschka, Yuxi (Hayden) Liu, Vahid Mirjalili (2022). *[Machine Learning with PyTorch and
#   Scikit-Learn.](https://github.com/rasbt/machine-learning-book)* Packt. Chapter 16: the example of
#   section 2.
