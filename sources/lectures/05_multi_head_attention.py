# ---
# jupyter:
#   course:
#     assignment: a5_multi_head_attention
#     minutes: 75
#     summary: Several attentions side by side, at the cost of one, and what one alone cannot do.
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
# One attention gives every word one average of all words. Often a word needs two things at once:
# what stands before it *and* what stands after it. This lecture runs several attentions side by
# side, and asks what they cost, what they buy, and what they do not.
#
# **Afterwards you will be able to**
#
# - say why one softmax per query is a bottleneck, and when it is not;
# - compute all heads with one tensor, and their context vectors down to the output;
# - split features into heads and merge them again, and recognise the reshape that goes wrong;
# - use attention between two sequences, with the arguments in the right order;
# - count parameters and operations, and say why many heads cost as much as one;
# - measure what each head of a trained model attends to.
#
# **Time** about 75 minutes. **Needs** [lecture 3](03_scaled_dot_product_attention.ipynb) and
# [lecture 4](04_masked_attention.ipynb).

# %%
import math

import ipywidgets as widgets
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from matplotlib.lines import Line2D
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_utils import attention, masks, plotting

plotting.use_course_style()
torch.set_num_threads(1)  # these tensors are so small that a second thread would only wait

# %% [markdown]
# ## 1. One softmax, one average
#
# For each query, attention returns *one* vector: the average of the values, with weights that sum
# to one. Everything that the query wanted to know has to fit into that average.
#
# Take words as one-hot vectors, and let "you" look at both its neighbours, half and half.

# %%
one_hot = torch.eye(4)  # (4 words, 4): can, you, help, me
can, _, help_, _ = one_hot

can_left = 0.5 * can + 0.5 * help_  # "can you help", seen from "you"
help_left = 0.5 * help_ + 0.5 * can  # "help you can", seen from "you"

assert torch.equal(can_left, help_left)
print("can you help:", can_left.tolist())
print("help you can:", help_left.tolist())

# %% [markdown]
# The average knows *which* words stood there. Left and right are lost: addition has no order.
#
# With two averages nothing is lost. One looks to the left, one looks to the right, and their
# results stand side by side.

# %%
two_averages = torch.cat([can, help_])  # (8,) left neighbour, then right neighbour
two_averages_swapped = torch.cat([help_, can])

assert not torch.equal(two_averages, two_averages_swapped)
print("can you help:", two_averages.int().tolist())
print("help you can:", two_averages_swapped.int().tolist())

# %% [markdown]
# That is the idea of **multi-head attention**. A *head* is one attention with its own projections
# for query, key and value, so it has its own softmax and its own weights.
#
# Unequal shares, say ⅔ and ⅓, would not lose the order completely: the larger entry could mean
# "left". Whether a model can use that is a question for the experiment in section 7.

# %% [markdown]
# ## 2. Eight heads as one tensor
#
# We take the sentence of lectures 2 and 3 and give it eight heads, each with its own three matrices.
#
# | symbol | meaning | here |
# |---|---|---|
# | $H$ | number of heads (many texts write $h$ for it) | 8 |
# | $h$ | one head, $1 \le h \le H$ | index `h - 1` |
# | $d$, $d_{model}$ | width of a word vector | 16 |
# | $d_k$ | width of a query, key or value in one head | 16 here, less from section 3 on |
# | $U_{q,h}$ | query matrix of head $h$, $d_k \times d$ | `query_maps[h - 1]` |
# | $q_h^{(i)} = U_{q,h}\, x^{(i)}$ | query of word $i$ in head $h$ | `queries[h - 1, i - 1]` |
#
# Eight matrices of the same shape are one tensor with one more axis.
#
# > **You may have read** that ordinary attention has "a single learned projection" and multi-head
# > attention several. Ordinary attention already has **three**: query, key and value. With $H$ heads
# > there are $3H$, and one more behind them all.

# %%
sentence_words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
sentence = torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])  # (T,)

torch.manual_seed(123)
x = nn.Embedding(10, 16)(sentence).detach()  # (T, d)
T, d = x.shape
H = 8

torch.manual_seed(123)
torch.rand(d, d)  # not used: the printed example that we reproduce draws one matrix first
query_maps = torch.rand(H, d, d)
key_maps = torch.rand(H, d, d)
value_maps = torch.rand(H, d, d)
print(key_maps.shape)

# %% [markdown]
# The key of word 2, "you", in every head: first a loop over the heads, then one product. We check
# the third head's key against the printed example.

# %%
keys_of_you_by_loop = torch.empty(H, d)
for h in range(H):
    keys_of_you_by_loop[h] = key_maps[h] @ x[1]

keys_of_you = key_maps @ x[1]  # (H, d, d) @ (d,) -> (H, d)

assert torch.allclose(keys_of_you, keys_of_you_by_loop, atol=1e-5)
expected_key = torch.tensor(  # head 3, as printed there
    [
        *[-1.9619, -0.7701, -0.7280, -1.6840, -1.0801, -1.6778, 0.6763, 0.6547],
        *[1.4445, -2.7016, -1.1364, -1.1204, -2.4430, -0.5982, -0.8292, -1.4401],
    ]
)
assert torch.allclose(keys_of_you[2], expected_key, atol=1e-4)
print([f"{value:.4f}" for value in keys_of_you[2].tolist()])

# %% [markdown]
# Attention needs the keys of *all* words. There are two ways to write it. The first one copies the
# sentence once for each head and multiplies two stacks of matrices; `bmm` pairs them one by one.

# %%
stacked = x.T.repeat(H, 1, 1)  # (d, T) -> (H, d, T), eight copies
keys = torch.bmm(key_maps, stacked)  # (H, d, d) @ (H, d, T) -> (H, d, T)
keys = keys.permute(0, 2, 1)  # (H, T, d): one row per word again

assert keys.shape == (8, 8, 16)
assert torch.allclose(keys[2, 1], expected_key, atol=1e-4)
assert torch.allclose(keys[:, 1], keys_of_you, atol=1e-5)

# %% [markdown]
# > **You may have read** an index like `keys[2, 1]` explained as "2nd attention head, 2nd key".
# > Python counts from 0: index 2 is the **third** head, index 1 the second word.
#
# The second way lets broadcasting do it, without copies. The words stay in the rows, so each map
# stands transposed on the right, as in lecture 3.


# %%
def project(maps):
    """Apply every head's matrix to every word: (H, d, d) -> (H, T, d)."""
    return x @ maps.transpose(1, 2)  # (T, d) @ (H, d, d) -> (H, T, d)


queries, values = project(query_maps), project(value_maps)
assert torch.allclose(project(key_maps), keys, atol=1e-5)
print("with copies and without: equal:", torch.allclose(project(key_maps), keys, atol=1e-5))

# %% [markdown]
# ### Every head attends for itself
#
# Now each head does what lecture 3 did, on its own queries, keys and values. Again the loop comes
# first. `scaled_dot_product_attention` accepts any leading axes, so the heads need no loop.

# %%
contexts_by_loop = torch.empty(H, T, d)
for h in range(H):
    scores = queries[h] @ keys[h].T / math.sqrt(d)  # (T, T); d_k = d in this example
    contexts_by_loop[h] = F.softmax(scores, dim=-1) @ values[h]  # (T, d)

contexts, weights = attention.scaled_dot_product_attention(queries, keys, values)

assert contexts.shape == (8, 8, 16) and weights.shape == (8, 8, 8)  # (H, T, d), (H, T, T)
assert torch.allclose(contexts, contexts_by_loop, atol=1e-4)
z_2 = contexts[:, 1]  # (H, d): the context vector of word 2 in every head
distances = torch.cdist(z_2, z_2)[~torch.eye(H, dtype=torch.bool)]  # pairs of different heads
assert distances.min() > 2
print(f"distance between two heads' context vectors: at least {distances.min():.1f}")

# %% [markdown]
# > **You may have read** that these are "eight copies of $z^{(2)}$", with random numbers standing in
# > for them. They are eight *different* vectors, and we have just computed them. Copies would be
# > useless: eight times the same average says no more than once.

# %%
figure, (top, bottom) = plt.subplots(2, 1, figsize=(10, 9.4))
heads = [f"head {h + 1}" for h in range(H)]
plotting.attention_map(
    weights[:, 1], heads, sentence_words, top, limit=1.0, query_label='head, query word "you"'
)
top.set_title('weights of "you" in every head')
plotting.attention_map(
    z_2,
    heads,
    range(1, d + 1),
    bottom,
    decimals=0,
    colour_label="entry of the context vector",
    query_label="head",
    key_label="dimension",
)
bottom.set_title('eight context vectors of "you"')
for ax in (top, bottom):
    plt.setp(ax.get_xticklabels(), rotation=0, ha="center")
plotting.show(
    figure,
    alt="Two maps with the eight heads as rows. Above, the weights of the word you: six heads give "
    "most to the word to (0.72 to 1.00), head 2 gives 0.91 to translate, head 8 spreads its weight "
    "over to, translate and me. Below, the sixteen entries of each head's context vector, from "
    "about -5 to 0.5: every row is different.",
)

# %% [markdown]
# Heads with the same recipe, reading the same sentence, give different results because their
# matrices differ. The matrices are random, so nothing here is about English. Seven of the eight
# heads give one single word more than 0.7 of the weight, because `torch.rand` gives positive entries
# and makes the scores explode (lecture 3).
#
# ### Concatenate and project
#
# The eight vectors are put side by side, $8 \cdot 16 = 128$ numbers, and one linear map brings them
# back to the width of a word.

# %%
concatenated = z_2.flatten()  # (H, d) -> (H * d,)
torch.manual_seed(123)
to_output = nn.Linear(H * d, d)
output_2 = to_output(concatenated)  # (128,) -> (16,)

first_head, third_head = slice(0, d), slice(2 * d, 3 * d)
assert torch.equal(concatenated[first_head], z_2[0])
assert torch.equal(concatenated[third_head], z_2[2])
print(concatenated.shape, "->", output_2.shape)

# %% [markdown]
# What does the last map do? Cut its matrix into blocks of columns, one per head: $W_1$ to $W_H$.
# With $z_h$ for the context vector of head $h$, the product falls apart into a **sum over heads**,
# $W_1 z_1 + \dots + W_H z_H$. This is where the heads meet.

# %%
blocks = to_output.weight.reshape(d, H, d)  # (out, H, in): W_1 is blocks[:, 0]
sum_over_heads = to_output.bias.clone()
for h in range(H):
    sum_over_heads = sum_over_heads + blocks[:, h] @ z_2[h]

assert torch.allclose(sum_over_heads, output_2, atol=1e-5)
print("one product equals a sum over heads:", torch.allclose(sum_over_heads, output_2, atol=1e-5))

# %% [markdown]
# The whole of it in one picture. In it the words stand in the rows, so $W_{q,h}$ is the transpose
# of $U_{q,h}$, and likewise for key and value; $W_o$ is the last map. So far query, key and value
# all start from the same $x$, and $S = T$; in section 5 they will differ.
#
# ![Two flow charts. Left, inside one head, scaled dot-product attention: Q of head h, T by d k, and
# K of head h, S by d k, are multiplied, divided by the root of d k, masked if there is a mask, and
# go through a softmax per row; the weights, T by S, are multiplied with V of head h and give the
# context of the head, T by d k. Right, outside, H heads: query, key and value each go through a pile
# of H matrices W, then through a pile of H scaled dot-product attentions; the H contexts are
# concatenated to T by H times d k, and the matrix W o mixes the heads into the output, T by d
# model.](../figures/multi_head.svg)

# %% [markdown]
# ## 3. Narrow heads
#
# In the example every head is as wide as the word itself: eight heads, eight times the work. Vaswani
# et al. (2017) make the heads **narrow** instead,
#
# $$d_k = \frac{d_{model}}{H}, \qquad
# \mathrm{head}_h = \mathrm{Attention}(X W_{q,h},\ X W_{k,h},\ X W_{v,h}), \qquad
# Z = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_H)\, W_o$$
#
# Here $X$ ($T \times d_{model}$) holds the words in its rows, $W_{q,h}, W_{k,h}, W_{v,h}$ are
# $d_{model} \times d_k$, and $W_o$ is $d_{model} \times d_{model}$. $\mathrm{Attention}$ is that of
# lecture 3, with the scale $1/\sqrt{d_k}$. The steps are **split, attend, concatenate, project**.
# With $d_{model} = 512$ and $H = 8$, each head is 64 wide.
#
# As a loop over heads: `w_q` holds the query matrices of all heads, one below the other, and head
# $h$ takes its own $d_k$ rows. (Rows, because `nn.Linear` stores weights as (out, in).)


# %%
def multi_head_by_loop(x, w_q, w_k, w_v, w_o, num_heads):
    """Heads one after the other; x is (B, T, d_model), every matrix (d_model, d_model)."""
    d_k = x.shape[-1] // num_heads
    contexts = []
    for h in range(num_heads):
        rows = slice(h * d_k, (h + 1) * d_k)  # the outputs that belong to this head
        query, key, value = (x @ matrix[rows].T for matrix in (w_q, w_k, w_v))  # (B, T, d_k)
        context, _ = attention.scaled_dot_product_attention(query, key, value)
        contexts.append(context)
    return torch.cat(contexts, dim=-1) @ w_o.T  # (B, T, H * d_k) -> (B, T, d_model)


torch.manual_seed(5)
x = torch.randn(2, 7, 20)  # (B, T, d_model): all sizes differ, so that a mixed-up axis shows
w_q, w_k, w_v, w_o = torch.randn(4, 20, 20) / math.sqrt(20)
output_by_loop = multi_head_by_loop(x, w_q, w_k, w_v, w_o, num_heads=4)
print(output_by_loop.shape)

# %% [markdown]
# The query matrices of the four heads, stacked, are *one* square matrix, and so are the key and the
# value matrices. So one product each projects for all heads at once, and head $h$ owns features
# $(h-1)\, d_k + 1$ to $h\, d_k$ of the result. What is left is to give each head its own axis.
#
# In the picture, 24 is feature 4 of word 2. A prime marks what attention has made of it.
#
# ![Diagram with three words of six features; cell 24 is feature 4 of word 2. On top, split, attend,
# merge: the grid T by d model is reshaped to T by H by d k, which cuts every row in two halves, then
# transposed to H by T by d k: head 1 holds features 1 to 3 of all three words, head 2 features 4 to
# 6. Each head goes through attention, the two contexts are transposed and flattened back to T by d
# model, side by side, and W o mixes them. Below, the trap: reshaping at once to H by T by d k gives
# a head 1 with the rows 11 12 13, 14 15 16, 21 22 23; its second row still belongs to word
# 1.](../figures/split_merge_shapes.svg)
#
# The same numbers in code:

# %%
tens, ones = torch.tensor([10, 20, 30]), torch.arange(1, 7)
features = (tens.unsqueeze(1) + ones).unsqueeze(0)  # (B, T, d_model) = (1, 3, 6)

cut = features.reshape(1, 3, 2, 3)  # (B, T, H, d_k): every word's row is cut in two
heads = cut.transpose(1, 2)  # (B, H, T, d_k): heads in front of words
merged = heads.transpose(1, 2).flatten(start_dim=2)  # (B, T, d_model): all the way back

assert torch.equal(heads, attention.split_heads(features, 2))
assert torch.equal(merged, attention.merge_heads(heads)) and torch.equal(merged, features)
print("head 1:", heads[0, 0].tolist())
print("head 2:", heads[0, 1].tolist())

# %% [markdown]
# Both steps are needed. A `reshape` leaves the numbers in their order, read row by row; it only
# changes where rows end. Bringing the heads to the front needs the `transpose`. Without it the
# shape is right and the content is not:

# %%
trap = features.reshape(1, 2, 3, 3)  # (B, H, T, d_k), or so it seems

assert trap.shape == heads.shape and not torch.equal(trap, heads)
print("head 1:", trap[0, 0].tolist())
print("head 2:", trap[0, 1].tolist())

# %% [markdown]
# No check of shapes finds this, and gradients flow as usual. One thing that breaks is a causal
# mask: row 2 of the false head 1 is not word 2, so the mask hides the wrong things. We change word
# 4 of six and ask which outputs move. Only words 4, 5 and 6 may.


# %%
def split_without_transpose(x, num_heads):
    """The trap: (B, T, d_model) -> (B, H, T, d_k) by reshape alone."""
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


assert words_that_move(attention.split_heads) == [4, 5, 6]
assert words_that_move(split_without_transpose) == [1, 2, 3, 4, 5, 6]
print("reshape and transpose:", words_that_move(attention.split_heads))
print("reshape alone:        ", words_that_move(split_without_transpose))

# %% [markdown]
# With the trap, the false head 2 holds words 4 to 6. Merging puts its row 1, made from word 4,
# beside row 1 of the false head 1. So word 1 sees word 4: the future leaks through the reshape.

# %% [markdown]
# ## 4. The class
#
# For *self*-attention, query, key and value are made from the same $x$. Then even the three square
# matrices can be one, $d_{model} \to 3\, d_{model}$. Two linear layers hold everything that is
# learned.


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
        """x is (B, T, d_model); returns the output, same shape, and weights (B, H, T, T)."""
        projected = self.w_qkv(x).chunk(3, dim=-1)  # three of (B, T, d_model)
        query, key, value = (attention.split_heads(part, self.num_heads) for part in projected)
        context, weights = attention.scaled_dot_product_attention(query, key, value, mask)
        merged = attention.merge_heads(context)  # (B, H, T, d_k) -> (B, T, d_model)
        return self.w_o(merged), weights


# %% [markdown]
# With the loop's matrices it gives the loop's result.

# %%
ours = MultiHeadSelfAttention(20, 4)
with torch.no_grad():
    ours.w_qkv.weight.copy_(torch.cat([w_q, w_k, w_v]))  # (3 * d_model, d_model)
    ours.w_o.weight.copy_(w_o)
    ours.w_qkv.bias.zero_()
    ours.w_o.bias.zero_()

output, weights = ours(x)
assert output.shape == (2, 7, 20) and weights.shape == (2, 4, 7, 7)
assert torch.allclose(output, output_by_loop, atol=1e-5)
print("class equals loop over heads:", torch.allclose(output, output_by_loop, atol=1e-5))

# %% [markdown]
# > **You may have read** `assert d_model % num_heads == 0` in a constructor. Python leaves out
# > asserts when it runs with `-O`, and a bare one does not say which numbers were wrong. Bad
# > arguments deserve a `ValueError` that names them.

# %%
try:
    MultiHeadSelfAttention(20, 3)
except ValueError as error:
    print(error)
else:
    raise AssertionError("20 features do not make 3 heads")

# %% [markdown]
# Now we compare it with two others that get the same weights, this time with random biases and a
# causal mask: the course's `attention.MultiHeadAttention`, which keeps three separate maps, and
# PyTorch's `nn.MultiheadAttention`, whose mask means the opposite of ours (lecture 4).

# %%
torch.manual_seed(6)
ours = MultiHeadSelfAttention(20, 4)
course = attention.MultiHeadAttention(20, 4)
pytorch = nn.MultiheadAttention(20, 4, batch_first=True)
with torch.no_grad():
    names = ["w_q", "w_k", "w_v"]
    matrices, biases = ours.w_qkv.weight.chunk(3), ours.w_qkv.bias.chunk(3)
    for name, matrix, bias in zip(names, matrices, biases, strict=True):
        getattr(course, name).weight.copy_(matrix)
        getattr(course, name).bias.copy_(bias)
    course.w_o.load_state_dict(ours.w_o.state_dict())
    pytorch.in_proj_weight.copy_(ours.w_qkv.weight)  # one matrix for all three, like ours
    pytorch.in_proj_bias.copy_(ours.w_qkv.bias)
    pytorch.out_proj.load_state_dict(ours.w_o.state_dict())

# %%
mask = masks.causal_mask(7)  # (T, T), True = may attend
results = {
    "ours": ours(x, mask),
    "course_utils": course(x, x, x, mask),
    "PyTorch": pytorch(x, x, x, attn_mask=~mask, average_attn_weights=False),
}
for name, (output, weights) in results.items():
    assert torch.allclose(output, results["ours"][0], atol=1e-5)
    assert torch.allclose(weights, results["ours"][1], atol=1e-5)
    print(f"{name:<13} output {tuple(output.shape)}  weights {tuple(weights.shape)}")

# %% [markdown]
# All three agree, outputs and weights. Note `average_attn_weights=False`: by default PyTorch returns
# the *mean* of the weights over the heads, $(B, T, S)$, which hides what each head does.

# %% [markdown]
# ## 5. Two sequences: cross-attention
#
# Nothing says that query and key come from the same sequence. In a transformer that translates
# (lecture 8), the words of the translation ask and the words of the source answer, as in lecture 1.
# This is **cross-attention**: the query has length $T$, key and value have length $S$.
#
# Now three separate maps are needed, and the order of the arguments matters. In this course it is
# **query, key, value, mask**, as in PyTorch's `scaled_dot_product_attention`. In
# `nn.MultiheadAttention` the fourth argument is the padding mask, so pass its masks by name.

# %%
torch.manual_seed(7)
target = torch.randn(2, 3, 20)  # (B, T, d_model): the words that ask
source = torch.randn(2, 7, 20)  # (B, S, d_model): the words that are asked

output, weights = course(target, source, source)
assert output.shape == (2, 3, 20)  # as long as the query
assert weights.shape == (2, 4, 3, 7)  # (B, H, T, S)
assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 4, 3))

expected, _ = pytorch(target, source, source)
assert torch.allclose(output, expected, atol=1e-5)
print("output ", tuple(output.shape))
print("weights", tuple(weights.shape))

# %% [markdown]
# > **You may have read** code whose `forward` takes `(v, k, q, mask)`. Call it in PyTorch's order,
# > and query and value change places. With self-attention all three are the same, so every test
# > of it passes. In cross-attention the same call fails, or worse, does not fail:


# %%
def forward_vkq(v, k, q):
    """The other order of arguments, with the same weights."""
    return course(q, k, v)


assert torch.equal(forward_vkq(source, source, source)[0], course(source, source, source)[0])
print("self-attention: no difference")

try:
    forward_vkq(target, source, source)  # meant as query, key, value
except ValueError as error:
    print("T ≠ S:", error)
else:
    raise AssertionError("seven keys cannot share three values")

same_length = source[:, :3]  # S = T: now every shape fits
right, _ = course(target, same_length, same_length)
wrong, _ = forward_vkq(target, same_length, same_length)
difference = (right - wrong).abs().max()
assert right.shape == wrong.shape and difference > 0.1
print(f"T = S: no error, but an output is wrong by {difference:.1f}")

# %% [markdown]
# With equal lengths nothing complains: the source asks, and the values come from the target. Two
# remedies: test with $T \ne S$, and pass the arguments by name, `course(query=…, key=…, value=…)`.
#
# > **You may have read** copies of such a class in which lines have come apart: a name stands alone,
# > and the next line begins with `=`. Or a comment goes on in the next line without its `#`. Both
# > are a `SyntaxError`. Such faults are the harmless ones, because Python names the line.

# %% [markdown]
# ## 6. What it costs
#
# PyTorch counts again, as in lecture 2, on `meta` tensors that have shapes but no numbers. One
# multiplication with its addition is two operations. `narrow` is the course's module with
# $d_k = d_{model}/H$. `full` is the example of section 2, where every head keeps the full width.


# %%
def count_narrow(length, d_model, num_heads):
    """Operations in the matrix products, and parameters, of heads that share the width."""
    with torch.device("meta"):
        module = attention.MultiHeadAttention(d_model, num_heads)
        x = torch.empty(1, length, d_model)
    with FlopCounterMode(display=False) as counter:
        module(x, x, x)
    return counter.get_total_flops(), sum(p.numel() for p in module.parameters())


def count_full_width(length, d_model, num_heads):
    """The same for heads that each have the width d_model, without biases."""
    with torch.device("meta"):
        x = torch.empty(length, d_model)
        maps = torch.empty(3, num_heads, d_model, d_model)
        w_o = torch.empty(num_heads * d_model, d_model)
    with FlopCounterMode(display=False) as counter:
        query, key, value = (x @ matrices for matrices in maps)  # (H, T, d_model) each
        context, _ = attention.scaled_dot_product_attention(query, key, value)
        context.transpose(0, 1).flatten(start_dim=1) @ w_o  # (T, H * d_model) -> (T, d_model)
    return counter.get_total_flops(), maps.numel() + w_o.numel()


# %%
length, d_model = 64, 512
head_counts = [1, 2, 4, 8, 16]
narrow = [count_narrow(length, d_model, num_heads) for num_heads in head_counts]
full = [count_full_width(length, d_model, num_heads) for num_heads in head_counts]

print("heads      operations                parameters")
print("        narrow  full width        narrow  full width")
rows = zip(head_counts, narrow, full, strict=True)
for num_heads, (operations, size), (full_operations, full_size) in rows:
    assert operations == 8 * length * d_model**2 + 4 * length**2 * d_model
    assert size == 4 * (d_model**2 + d_model)
    assert full_operations == num_heads * operations and full_size == num_heads * 4 * d_model**2
    print(
        f"{num_heads:5d}  {operations / 1e6:5.1f} M   {full_operations / 1e6:7.1f} M"
        f"     {size / 1e6:5.2f} M   {full_size / 1e6:6.2f} M"
    )

# %% [markdown]
# Narrow heads cost the same however many there are. The four projections take $2\,T d_{model}^2$
# operations each. In every head, queries times keys and weights times values take $2\,T^2 d_k$
# each; over all heads that makes $H \cdot 4T^2 d_k = 4T^2 d_{model}$. Full-width heads cost $H$
# times as much.
#
# > **You may have read** that multi-head attention is cheap "because the heads can be computed in
# > parallel". Working in parallel shortens the waiting, not the work. It is cheap because
# > $d_k = d_{model}/H$: each head does one $H$-th of the work.
#
# One thing does grow. Each head has weights of its own, so there are $H \cdot T \cdot S$ of them to
# normalise and to store. The counter above sees matrix products only; softmax is not among them.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6))
left.plot(head_counts, [count[0] / 1e6 for count in full], label="full width: d_k = d_model")
left.plot(head_counts, [count[0] / 1e6 for count in narrow], label="narrow: d_k = d_model / H")
left.set(xlabel="heads H", ylabel="million operations", ylim=(0, None))
left.set_title("products: narrow heads cost as much as one")
left.legend()
right.plot(head_counts, [num_heads * length**2 / 1000 for num_heads in head_counts], color="black")
right.set(xlabel="heads H", ylabel="thousand weights", ylim=(0, None))
right.set_title("attention weights: every head has its own")
for ax in (left, right):
    ax.set_xticks(head_counts)
plotting.show(
    figure,
    alt="Two panels over the number of heads from 1 to 16, for 64 words of width 512. Left, million "
    "operations in matrix products: full-width heads rise as a straight line from 143 to 2282, "
    "narrow heads stay at 143. Right, the number of attention weights, for both kinds, rises as a "
    "straight line from 4 to 66 thousand.",
)

# %% [markdown]
# Narrow heads have their price too: a head of width $d_k$ compares words in $d_k$ dimensions only.
# Bhojanapalli et al. (2020) prove: a head at least as wide as the sequence is long can give
# linearly independent word vectors any pattern of positive weights. For a narrower head there are
# word vectors and patterns of weights that no query and key matrix can bring together.
#
# And in practice? Vaswani et al. (2017, table 3, rows A) found one head 0.9 BLEU worse than the
# best setting, and 32 heads worse as well. (BLEU scores translations from 0 to 100; more is
# better.)

# %% [markdown]
# ## 7. A task for two heads
#
# **The task.** In a random sequence of words, say for every word which word stands on its *left* and
# which on its *right*. Both answers are read from the same output vector.
#
# To know exactly what we test, we keep three things apart:
#
# - **where to look** depends on positions only: query and key are made from position vectors, one
#   for each place in the sequence, whatever word stands there;
# - **what is found** depends on words only: the values are made from word vectors;
# - **the readout** is one linear layer on the output.
#
# ### What theory says
#
# Let $a$ be the word on the left of some position, $b$ the word on its right, and $v_a$, $v_b$
# their values. With one head, the context is
#
# $$z = p\, v_a + q\, v_b + r$$
#
# with shares $p$ and $q$ that are the same whatever the words are, and a rest $r$ from the other
# positions. If $p = q$, exchanging $a$ and $b$ changes nothing, so one of the two orders must be
# answered wrongly. If $p \ne q$ the order is *in* $z$, as a difference of size. But a linear
# readout cannot use it for both answers: the word with the smaller share cannot be named right
# every time.
#
# <details><summary>Proof: with three or more words, no linear readout gets every answer right</summary>
#
# Keep all words but $a$ and $b$ fixed. Say $p \ge q$ (otherwise exchange the sides) and look at the
# answer "right". Let $R_{cw}$ be what one full share of word $w$ adds to the score of answer $c$.
# Apart from a constant for each answer, the score of $c$ is $p R_{ca} + q R_{cb}$.
#
# *First*, $b$ must beat $a$. Write that down for $(a, b)$ and for $(b, a)$, and add: the constants
# cancel, and $(p - q)(R_{ab} + R_{ba}) > (p - q)(R_{aa} + R_{bb})$. For $p = q$ this says $0 > 0$. So
# $p > q$, and $R_{ab} + R_{ba} > R_{aa} + R_{bb}$. Summed over the three pairs of three words: the
# sum of all six $R$ with different indices exceeds twice the sum of the three with equal ones.
#
# *Second*, $b$ must beat the third word $c$: $p R_{ba} + q R_{bb} > p R_{ca} + q R_{cb}$ plus
# constants. Summed over all six ordered pairs, the terms with $p$ cancel, the constants cancel, and
# what remains is $q$ times: twice the sum with equal indices exceeds the sum with different ones.
# For $q > 0$ that contradicts the first step, and for $q = 0$ it says $0 > 0$. ∎
#
# </details>
#
# Two heads with the same value matrix hold $p_1 v_a + q_1 v_b$ *and* $p_2 v_a + q_2 v_b$, if they
# give nothing to the rest. Two equations with two unknowns: a linear map can solve them whenever
# $p_1 q_2 \ne p_2 q_1$. The heads have to be different; theory does not demand that each looks at
# one side only.
#
# ### The experiment
#
# Models with one, two and four heads have the same width, the same number of parameters and the same
# number of training steps. Each position gets a vector of its own: sixteen clock hands that turn at
# sixteen speeds, each stored as the cosine and the sine of its angle.
# [Lecture 6](06_positional_encoding.ipynb) explains why that is a good choice.

# %%
NUM_WORDS, LENGTH, WIDTH = 10, 10, 32  # vocabulary, T, d_model

speeds = torch.arange(1, WIDTH // 2 + 1)  # (16,)
angles = torch.arange(LENGTH).unsqueeze(1) * speeds * math.pi / 16  # (T, 16)
positions = torch.cat([angles.cos(), angles.sin()], dim=1)  # (T, d_model)
assert positions.shape == (LENGTH, WIDTH)

# %% [markdown]
# The model. The first and the last word have one neighbour only and get no answer. Two switches are
# off for now: `hidden` puts a hidden layer into the readout, `look_at_words` lets the weights
# depend on words too. We need both later.


# %%
class NeighbourReader(nn.Module):
    """Name the left and the right neighbour of every inner word."""

    def __init__(self, num_heads, hidden=None, look_at_words=False):
        super().__init__()
        self.look_at_words = look_at_words
        self.words = nn.Embedding(NUM_WORDS, WIDTH)
        self.attention = attention.MultiHeadAttention(WIDTH, num_heads)
        scores = 2 * NUM_WORDS  # one for every word on the left, one for every word on the right
        self.readout = nn.Linear(WIDTH, scores)
        if hidden:
            self.readout = nn.Sequential(
                nn.Linear(WIDTH, hidden), nn.ReLU(), nn.Linear(hidden, scores)
            )

    def forward(self, ids):
        """ids (B, T) -> scores (B, T - 2, 2, words) and weights (B, H, T, T)."""
        value = self.words(ids)  # (B, T, d_model)
        place = positions.expand(len(ids), -1, -1)  # (B, T, d_model)
        if self.look_at_words:  # ordinary self-attention: words and positions in all three roles
            place = value = place + value
        output, weights = self.attention(place, place, value)
        return self.readout(output)[:, 1:-1].unflatten(-1, (2, NUM_WORDS)), weights


# %% [markdown]
# Every training step draws new random sequences, so there is nothing to learn by heart.


# %%
def sample(count, generator):
    """Random sequences (count, T) and their neighbours (count, T - 2, 2): left, right."""
    ids = torch.randint(NUM_WORDS, (count, LENGTH), generator=generator)
    return ids, torch.stack([ids[:, :-2], ids[:, 2:]], dim=-1)


def train(model, steps, seed):
    """Adam on fresh random sequences; the loss counts both answers alike."""
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(steps):
        ids, neighbours = sample(64, generator)
        scores, _ = model(ids)
        loss = F.cross_entropy(scores.flatten(0, 2), neighbours.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


# %% [markdown]
# We measure the answers "left" and "right" one by one, and *both at once*: such a pair counts only
# if both words are right.


# %%
def measure(model):
    """Share of right answers on 1000 new sequences: left, right, both at once."""
    ids, neighbours = sample(1000, torch.Generator().manual_seed(999))
    with torch.no_grad():
        right = model(ids)[0].argmax(dim=-1) == neighbours  # (1000, T - 2, 2)
    left_right = right.float().mean(dim=(0, 1)).tolist()
    return [*left_right, right.all(dim=-1).float().mean().item()]


# %% [markdown]
# One, two and four heads, five seeds, 500 steps each: about twenty seconds.

# %%
head_counts, seeds = [1, 2, 4], range(5)
models = {}
for num_heads in head_counts:
    for seed in seeds:
        torch.manual_seed(seed)
        models[num_heads, seed] = NeighbourReader(num_heads)
        train(models[num_heads, seed], 500, seed)

sizes = {sum(p.numel() for p in model.parameters()) for model in models.values()}
assert len(sizes) == 1  # as many parameters with one head as with four
print("parameters of every model:", sizes.pop())

# %% tags=["nbval-ignore-output"]
accuracy = torch.tensor([[measure(models[H, seed]) for seed in seeds] for H in head_counts])

print("heads   better side    worse side     both sides     (ranges over five seeds)")
for H, per_seed in zip(head_counts, accuracy, strict=True):
    sides, both = per_seed[:, :2], per_seed[:, 2]
    columns = [sides.amax(dim=1), sides.amin(dim=1), both]  # each (seeds,)
    print(
        f"{H:5d}  ", "   ".join(f"{column.min():.2f} to {column.max():.2f}" for column in columns)
    )

one_head, two_heads, four_heads = accuracy  # each (seeds, 3)
assert (one_head[:, 2] < 0.5).all()
assert (one_head[:, :2].amax(dim=1) > 0.8).all() and (one_head[:, :2].amin(dim=1) < 0.6).all()
assert (two_heads > 0.97).all() and (four_heads > 0.97).all()

# %% tags=["nbval-ignore-output"]
figure, ax = plt.subplots(figsize=(9, 4.8))
answers = [("left", "o", "#0072B2"), ("right", "s", "#D55E00"), ("both at once", "^", "black")]
for column, (_, marker, colour) in enumerate(answers):
    for place, per_seed in enumerate(accuracy):
        x_values = place + 0.22 * (column - 1) + torch.linspace(-0.06, 0.06, len(seeds))
        ax.plot(x_values, per_seed[:, column], marker, color=colour, markersize=8, alpha=0.8)
handles = [Line2D([], [], marker=m, color=c, linestyle="", label=n) for n, m, c in answers]
ax.legend(handles=handles, loc="center right", title="answer")
ax.axhline(1 / NUM_WORDS, color="#5F5F5F", linewidth=1.2)
ax.annotate("guessing one word: 0.1", (1.5, 0.1), xytext=(0, 5), textcoords="offset points")
ax.set_xticks(range(3), ["1 head", "2 heads", "4 heads"])
ax.set(ylabel="share of right answers", ylim=(0, 1.05), xlim=(-0.5, 2.5))
ax.set_title("one point per seed; same width, parameters and steps")
plotting.show(
    figure,
    alt="Share of right answers for one, two and four heads, five seeds each. With one head, in "
    "every seed one of the answers left and right is mostly right (0.91 or more), the other one "
    "only in about a quarter of the cases, and so are both at once. With two and with four heads "
    "all points are at 1.",
)

# %% [markdown]
# With one head, the model answers one side well and the other one badly. Which side it is depends
# on the seed. What does it answer on the bad side? We count how often both answers name the same
# word although the two neighbours are different.

# %% tags=["nbval-ignore-output"]
ids, neighbours = sample(1000, torch.Generator().manual_seed(999))
differ = neighbours[..., 0] != neighbours[..., 1]  # (1000, T - 2)
for seed in seeds:
    with torch.no_grad():
        named = models[1, seed](ids)[0].argmax(dim=-1)  # (1000, T - 2, 2)
    same = (named[..., 0] == named[..., 1])[differ].float().mean()
    assert same > 0.5
    print(f"seed {seed}: the same word twice in {same:.2f} of the cases")

# %% [markdown]
# Mostly it says the same word twice, so one side must be wrong. Two heads get everything right, and
# four heads cannot do better.
#
# ### What does each head look at?
#
# In these models the weights depend on positions only. So one map per head holds for *every*
# sequence. Here are the two heads of the model with seed 0.


# %%
def maps_of(model):
    """Weights of every head, (H, T, T): the same for every sequence, so any one will do."""
    with torch.no_grad():
        return model(torch.zeros(1, LENGTH, dtype=torch.long))[1][0]


# %% tags=["nbval-ignore-output"]
places = list(range(1, LENGTH + 1))
figure, axes = plt.subplots(1, 2, figsize=(11, 5))
for h, (ax, weights) in enumerate(zip(axes, maps_of(models[2, 0]), strict=True)):
    plotting.attention_map(weights, places, places, ax, limit=1.0, decimals=1)
    ax.set(xlabel="key: position looked at", ylabel="query: position that looks")
    plt.setp(ax.get_xticklabels(), rotation=0, ha="center")
    ax.set_title(f"head {h + 1} of 2")
plotting.show(
    figure,
    alt="Weights of the two heads over ten positions. In one head the dark cells, near 1, lie just "
    "below the diagonal from row 2 to row 9: every position looks at its left neighbour. In the "
    "other they lie just above the diagonal: every position looks at its right neighbour. Rows 1 and "
    "10, which were not trained, spread their weight over many positions.",
)

# %% [markdown]
# One head per side. Is that always so? For every head of every model we measure the average weight
# on the left and on the right neighbour. Then each head is a point. On the grey line, left and
# right add up to one; at an end of the line, the head looks at one side only.

# %%
inner = torch.arange(1, LENGTH - 1)


def neighbour_weights(model):
    """Average weight of each head on the left and on the right neighbour: (H, 2)."""
    weights = maps_of(model)  # (H, T, T)
    on_left, on_right = weights[:, inner, inner - 1], weights[:, inner, inner + 1]  # (H, T - 2)
    return torch.stack([on_left.mean(dim=1), on_right.mean(dim=1)], dim=1)


looks = {key: neighbour_weights(model) for key, model in models.items()}

for seed in seeds:
    assert looks[1, seed].min() > 0.2  # the only head looks at both sides
    two = looks[2, seed]
    assert two.amax(dim=1).min() > 0.8  # each head is on one side …
    assert sorted(two.argmax(dim=1).tolist()) == [0, 1]  # … and the two are on different sides
    assert (looks[4, seed].amax(dim=0) > 0.6).all()  # with four heads, both sides are covered

# %% tags=["nbval-ignore-output"]
figure, axes = plt.subplots(1, 3, figsize=(11, 4.3), sharex=True, sharey=True)
markers = ["o", "s", "^", "D", "v"]
for ax, H in zip(axes, head_counts, strict=True):
    for seed, marker in zip(seeds, markers, strict=True):
        on_left, on_right = looks[H, seed].T
        ax.plot(on_left, on_right, marker, markersize=9, alpha=0.8, label=f"seed {seed}")
    ax.plot([0, 1], [1, 0], color="#5F5F5F", linewidth=1.2, linestyle="-", marker="")
    ax.set_title(f"{H} head{'s' if H > 1 else ''}")
    ax.set(xlabel="weight on the left neighbour", xlim=(-0.05, 1.05), ylim=(-0.05, 1.05))
axes[0].set_ylabel("weight on the right neighbour")
axes[0].legend(loc="upper right")
plotting.show(
    figure,
    alt="Three panels, one point per head: its average weight on the left neighbour against that on "
    "the right one, five seeds. One head: all points lie just below the middle of the line on which "
    "both add up to one, so the head divides itself between the sides. Two heads: one point per "
    "seed near left = 1, one near right = 1. Four heads: many points in the two corners, some "
    "between them.",
)

# %% [markdown]
# - **One head** divides itself between the two sides. It looks at both, although the model then
#   names only one of them well.
# - **Two heads** specialise, one per side, in all five seeds. Nobody told them to.
# - **Four heads** cover both sides in all five seeds, but not every head is pure, that is, on one
#   side only: a few divide themselves. That does no harm, because others are pure and the linear
#   map behind the heads weighs them all.
#
# Pick a head and a position, and look at its weights.

# %%
choices = {f"head {h + 1} of {H}": (H, h) for H in head_counts for h in range(H)}


def draw_head(name, position):
    """The map of one head (seed 0) and the weights of one of its rows."""
    H, h = choices[name]
    weights = maps_of(models[H, 0])[h].numpy()  # (T, T)
    on_left, on_right = looks[H, 0][h]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8))
    left.imshow(weights, cmap="Blues", vmin=0, vmax=1)
    left.axhline(position - 1.5, color="black", linewidth=2)
    left.axhline(position - 0.5, color="black", linewidth=2)
    left.set_xticks(range(LENGTH), places)
    left.set_yticks(range(LENGTH), places)
    left.set(xlabel="key position", ylabel="query position", title=f"{name}")
    left.grid(False)
    right.bar(places, weights[position - 1], color="#0072B2")
    right.axvline(position, color="#D55E00", linewidth=2, linestyle="--")
    right.set(xlabel="key position", ylabel="weight", ylim=(0, 1.05), xticks=places)
    right.set_title(f"weights of position {position} (dashed)")
    figure.suptitle(f"on average: left neighbour {on_left:.2f}, right neighbour {on_right:.2f}")
    return figure


# %% tags=["interactive"]
def explore(name, position):
    plotting.show(draw_head(name, position), alt=f"Map of {name}, and its weights at {position}.")


_ = widgets.interact(
    explore,
    name=widgets.Dropdown(options=list(choices), value="head 1 of 2", description="head"),
    position=widgets.IntSlider(value=5, min=2, max=LENGTH - 1, description="position"),
)

# %% [markdown]
# The same as a picture: all seven heads of the three models with seed 0.

# %% tags=["nbval-ignore-output"]
figure, axes = plt.subplots(2, 4, figsize=(11, 6.6))
spots = [axes[0, 0], axes[0, 1], axes[0, 2], *axes[1]]
axes[0, 3].set_axis_off()
for (name, (H, h)), ax in zip(choices.items(), spots, strict=True):
    image = ax.imshow(maps_of(models[H, 0])[h].numpy(), cmap="Blues", vmin=0, vmax=1)
    on_left, on_right = looks[H, 0][h]
    ax.set_title(f"{name}\nleft {on_left:.2f}, right {on_right:.2f}")
    ax.set_xticks([0, 4, 9], [1, 5, 10])
    ax.set_yticks([0, 4, 9], [1, 5, 10])
    ax.grid(False)
axes[0, 0].set_ylabel("query position")
axes[1, 0].set_ylabel("query position")
for ax in axes[1]:
    ax.set_xlabel("key position")
figure.colorbar(image, ax=axes, label="attention weight", shrink=0.6)
plotting.show(
    figure,
    alt="Seven attention maps over ten positions. The only head of the first model has two "
    "half-dark stripes, one on either side of the diagonal. Of the two heads of the second "
    "model one has a dark stripe below the diagonal (left neighbour), the other one above it "
    "(right neighbour). Of the four heads of the third model, two have one dark stripe, head "
    "1 above the diagonal and head 4 below it; head 2 has stripes on both sides, the upper "
    "one darker; head 3 has one below, blurred in some rows.",
)

# %% [markdown]
# ### What one head can do after all
#
# The proof above rests on three conditions: one head, shares that do not depend on the words, and a
# linear readout. Drop one of them, and it no longer applies. A second head dropped the first. The
# other two give us two cases in which one head might succeed:
#
# - **a nonlinear readout**: a hidden layer of 128 ReLU units in place of the linear one;
# - **weights that depend on the words**: ordinary self-attention, where word *and* position stand in
#   query, key and value, with the linear readout.
#
# For comparison, ordinary self-attention with two heads. Three seeds each, about half a minute.

# %%
variants = {  # name: ((num_heads, hidden, look_at_words), steps)
    "positions only, hidden layer": ((1, 128), 500),
    "words too, linear, 500 steps": ((1, None, True), 500),
    "words too, linear, 2000 steps": ((1, None, True), 2000),
    "words too, linear, 2 heads": ((2, None, True), 500),
}
trained, both_right = {}, {"positions only, linear readout": one_head[:3, 2].tolist()}
for name, (arguments, steps) in variants.items():
    for seed in range(3):
        torch.manual_seed(seed)
        trained[name, seed] = NeighbourReader(*arguments)
        train(trained[name, seed], steps, seed)
    both_right[name] = [measure(trained[name, seed])[2] for seed in range(3)]

# %% tags=["nbval-ignore-output"]
for name, values in both_right.items():
    print(f"{name:<31}  both right: {min(values):.2f} to {max(values):.2f}")

linear, hidden, words_early, words_late, words_two_heads = both_right.values()
assert max(linear) < 0.5 and max(words_early) < 0.5
assert min(hidden) > 0.9 and min(words_late) > 0.8 and min(words_two_heads) > 0.97

# %% [markdown]
# In both cases one head *can* do it.
#
# - **With a hidden layer** it settles on unequal shares, about 0.7 and 0.3. The order of two words is
#   in their sizes, and ReLU units can tell a large share from a small one.
# - **With weights that depend on the words**, the shares themselves carry information, and even a
#   linear readout can learn to use them, but slowly: after 500 steps it is still wrong most of the
#   time, while two heads make next to no mistakes.
#
# Here are the shares of one head in both cases. The first ones stay fixed, the second ones move
# with the words.

# %% tags=["nbval-ignore-output"]
ids, _ = sample(1000, torch.Generator().manual_seed(998))
with torch.no_grad():
    shares = {name: trained[name, 0](ids)[1][:, 0, inner, inner - 1] for name in variants}

fixed = shares["positions only, hidden layer"]  # (1000, T - 2): weight on the left neighbour
moving = shares["words too, linear, 2000 steps"]
assert fixed.std(dim=0).max() < 1e-4 and moving.std(dim=0).mean() > 0.05
for seed in range(3):
    larger_share = neighbour_weights(trained["positions only, hidden layer", seed]).max()
    assert 0.6 < larger_share < 0.8
print("weight on the left neighbour of position 5, in three sequences:")
print("  positions only:", [f"{share:.2f}" for share in fixed[:3, 3].tolist()])
print("  words too:     ", [f"{share:.2f}" for share in moving[:3, 3].tolist()])

# %% [markdown]
# So do not say "one head cannot look at two places", and do not say "more heads are always needed".
# What holds is this: one head returns one average. To keep two things apart it must *encode* them,
# here in the sizes of its weights, and something behind it must decode that. Two heads can keep
# them apart from the start. In a transformer, a feed-forward network with a hidden layer does stand
# behind the heads ([lecture 7](07_layer_normalization.ipynb)).

# %% [markdown]
# ## 8. What heads do in large models
#
# > **You may have read** that one head learns syntax, another one semantics, a third one named
# > entities. Statements like these need a measurement for each head. What has been measured is more
# > modest, and more interesting:
#
# - **Voita et al. (2019)** examined the encoder of translation models. Some heads look at a
#   neighbouring word, as ours do, some follow particular syntactic relations more often than a
#   baseline that knows only positions, and one kind looks at the rarest word of the sentence. With a
#   method that switches heads off while training goes on, 38 of 48 encoder heads could go for a loss
#   of 0.15 BLEU (English–Russian, WMT).
# - **Michel et al. (2019)** removed heads from trained models at test time. Many could go without a
#   significant loss, and some layers could be left with a single head. Cross-attention (they call
#   it encoder–decoder attention) needed its heads more than self-attention did.
# - **Clark et al. (2019)** compared the heads of BERT, a large model of English text, with
#   annotated sentences. Many look at fixed offsets or at separators, which are no words. Some
#   single heads agree well with *one* relation each, such as a verb's direct object, a noun's
#   determiner, or an earlier mention of the same thing.
#
# In none of these models did anybody assign roles to heads. A role is what a measurement finds
# afterwards, in *some* heads of *one* trained model; another seed may put it elsewhere, as it did in
# our experiment. And a large weight shows where a head looked. Whether the model used what it found
# there is another question (Jain and Wallace, 2019; Wiegreffe and Pinter, 2019).

# %% [markdown]
# ## Summary
#
# - One softmax per query gives one weighted average. Several heads give several averages, which stand
#   side by side.
# - **Split, attend, concatenate, project**: $H$ projections are one tensor or one matrix. The way
#   in, $(B, T, d_{model}) \to (B, T, H, d_k) \to (B, H, T, d_k)$, is a reshape *and* a transpose.
#   The way out undoes both.
# - The final map is a sum over heads. Without it, the heads would not meet in this layer.
# - With $d_k = d_{model}/H$, any number of heads costs the parameters and products of one. Only the
#   attention weights, $H \cdot T \cdot S$ of them, grow.
# - Cross-attention: the query has length $T$, key and value have length $S$. The order is query, key,
#   value.
# - With fixed shares and a linear readout, one head cannot name both neighbours; two heads can, and
#   specialise. A nonlinear readout, or shares that depend on words, let one head do it as well.
# - What a head does is found by measuring it.
#
# **Now you:**
# [assignment a5, multi-head attention](../exercises/a5_multi_head_attention/a5_multi_head_attention.ipynb).

# %% [markdown]
# ## Check yourself
#
# **1.** $d_{model} = 512$, $H = 8$, $T = 10$, $B = 2$. What are the shapes of one head's query, of all
# weights, and of the merged context?
#
# <details><summary>Answer</summary>
#
# One head's query is (2, 10, 64). The weights are (2, 8, 10, 10): each head has its own. The merged
# context is (2, 10, 512).
#
# </details>
#
# **2.** By which number are the scores divided in the model of question 1?
#
# <details><summary>Answer</summary>
#
# By $\sqrt{64} = 8$, the root of the head's width $d_k$. The root of $d_{model}$ would be 22.6: too
# much, because each score is a sum of 64 products only.
#
# </details>
#
# **3.** Somebody uses the reshape without the transpose on the way in *and* on the way out. Does the
# output leak the future through a causal mask?
#
# <details><summary>Answer</summary>
#
# No, and that makes it hard to find. With two heads and an even number of words, "head 1" then
# holds the first half of the sentence and "head 2" the second half, each in order, and both go back
# to where they came from. But the second half never sees the first.
#
# </details>
#
# **4.** All heads have the same matrices. What have you gained over one head of width $d_k$?
#
# <details><summary>Answer</summary>
#
# Nothing. Every head computes the same average, so the final map could do the same with one block,
# the sum of its blocks. Only heads with different matrices say different things.
#
# </details>
#
# **5.** You leave out $W_o$. What is lost?
#
# <details><summary>Answer</summary>
#
# Feature 1 of the output then comes from head 1 alone, the last feature from head $H$ alone. No
# feature combines what two heads found. Whatever follows would have to do that.
#
# </details>
#
# **6.** Twice as many heads at the same $d_{model}$: what doubles?
#
# <details><summary>Answer</summary>
#
# The number of attention weights $H \cdot T \cdot S$, and with it the work of the softmax and the
# memory for the weights. Parameters and operations in the matrix products stay as they were.
#
# </details>
#
# **7.** Two heads have the same value matrix. Head 1 gives the neighbours the shares (0.8, 0.2),
# head 2 (0.2, 0.8). How does a linear map get the value $v_a$ of the left neighbour?
#
# <details><summary>Answer</summary>
#
# It solves two equations: $(0.8 \cdot \mathrm{head}_1 - 0.2 \cdot \mathrm{head}_2) / 0.6 = v_a$. The
# heads need not be pure, only different.
#
# </details>
#
# **8.** A unit test calls a `forward(v, k, q)` with `(x, x, x)` and passes. What would you test?
#
# <details><summary>Answer</summary>
#
# Cross-attention with $T \ne S$, and again with $T = S$ but different contents, compared with a
# trusted implementation.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz
#   Kaiser, Illia Polosukhin (2017). *Attention Is All You Need.* NeurIPS. Section 3.2.2: multi-head
#   attention; table 3, rows A: the number of heads.
# - Elena Voita, David Talbot, Fedor Moiseev, Rico Sennrich, Ivan Titov (2019). *Analyzing Multi-Head
#   Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned.* ACL. Section 5:
#   what heads do; section 6: pruning.
# - Paul Michel, Omer Levy, Graham Neubig (2019). *Are Sixteen Heads Really Better than One?* NeurIPS.
#   Sections 3 and 4: removing heads; section 5: encoder–decoder attention.
# - Kevin Clark, Urvashi Khandelwal, Omer Levy, Christopher D. Manning (2019). *What Does BERT Look
#   At? An Analysis of BERT's Attention.* BlackboxNLP workshop at ACL. Sections 3 and 4.
# - Srinadh Bhojanapalli, Chulhee Yun, Ankit Singh Rawat, Sashank J. Reddi, Sanjiv Kumar (2020).
#   *Low-Rank Bottleneck in Multi-head Attention Models.* ICML. Why $d_k = d_{model}/H$ limits a head.
# - Noam Shazeer (2019). *Fast Transformer Decoding: One Write-Head is All You Need.* arXiv:1911.02150.
#   All heads share one set of keys and values, so that decoding has less to read from memory.
# - Sarthak Jain, Byron C. Wallace (2019). *Attention is not Explanation.* NAACL. And the reply: Sarah
#   Wiegreffe, Yuval Pinter (2019). *Attention is not not Explanation.* EMNLP.
