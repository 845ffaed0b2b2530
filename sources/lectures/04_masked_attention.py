# ---
# jupyter:
#   course:
#     assignment: a4_masks
#     deeper: 29
#     minutes: 93
#     summary: Causal and padding masks, −∞ before the softmax, and how to find a leak.
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
# # Lecture 4: Masked attention
#
# Attention lets every word look at every word, and in two cases that is too much. A model that learns to *write*
# must not look at the words that it is about to write, and no word should look at padding, the filler that makes
# the sentences of a batch equally long. A **mask** says who may look at whom. It takes one line of code, and if
# that line shows too much, it gives the most beautiful training curves of your life.
#
# **Afterwards you will be able to**
#
# - say why a decoder may not see the future, and what a shifted target is;
# - build causal and padding masks, combine them, and predict their shapes;
# - explain why −∞ goes in *before* the softmax, and what goes wrong with zeros after it;
# - handle a row with nothing to attend to, in the output and in the gradient;
# - tell PyTorch's two opposite mask conventions apart;
# - look for a leak of future words in a model without training it.
#
# **Time** about 93 minutes with views and questions, and 29 for going deeper.
# **Needs** queries, keys, values and the scale of [lecture
# 3](03_scaled_dot_product_attention.ipynb).

# %%
import warnings
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course_utils import attention, masks
from lecture_kit import data, live, plotting, questions
from lecture_kit.trained import learned

plotting.use_course_style()
torch.set_printoptions(precision=4, sci_mode=False)
torch.set_num_threads(1)  # models this small gain little from two, and lose much on a busy machine

# %% [markdown]
# ## 1. What a decoder may know
#
# A decoder writes one word after the other. When it chooses word 3, words 1 and 2 are written and word 4 does not
# exist yet.
#
# In training the whole sentence is there. That is convenient, because one pass through the network can predict *all*
# words side by side, each from the true words before it. Giving the model the true words instead of its own is
# **teacher forcing** (Williams and Zipser, 1989), as in lecture 1.
#
# It is also dangerous, because the answers are in the same tensor as the questions.
#
# ![Three rows of five boxes. Below, the shifted input: bos, can, you, help, me, at positions 1 to 5.
# In the middle the outputs z1 to z5. On top the targets: can, you, help, me, eos. Solid
# arrows lead from inputs 1, 2 and 3, bos, can and you, to output 3: the past and itself may be
# seen. Dashed arrows from inputs 4 and 5, help and me, to output 3 are crossed out: they are
# the future. Input 4, help, and target 3, help, have the same colour: input 4 is the answer that
# output 3 must give.](../figures/shifted_targets.svg)
#
# *Output 3 must say "help". It may look at inputs 1 to 3, while input 4 is the answer.*
#
# | symbol | meaning | in the picture |
# |---|---|---|
# | $y^{(i)}$ | target: the word that position $i$ must say | $y^{(3)}$ = help |
# | $x^{(i)}$ | input at position $i$, the *shifted* target: $x^{(i)} = y^{(i-1)}$, $x^{(1)}$ = `<bos>` | $x^{(3)}$ = you |
# | $z^{(i)}$ | output at position $i$, from which $y^{(i)}$ is predicted | $z^{(3)}$ |
# | $T$ | number of positions | 5 |
#
# `<bos>` and `<eos>` mark the beginning and the end of a sentence.
#
# The rule is that **position $i$ may attend to position $j$ if $j \le i$.** That includes position $i$ itself. No
# harm is done, because the input at position $i$ is the word *before* its target. One position further,
# $x^{(i+1)} = y^{(i)}$ is the answer. A path from the answer to the output that must give it is called a
# **leak**.
#
# So the mask hides whatever lies ahead, which is $T-1$ words for the first position and none for the last. It is only
# the decoder that looks in one direction. An encoder reads a sentence that is finished, and may look both ways.

# %% [markdown]
# ## 2. Shifted targets
#
# The next cell writes the shift as a plain loop, which puts a `<bos>` in front, moves every word one place later,
# and leaves the last target out, because nothing follows it. `masks.shift_right` does the same without a loop.
# (The second sentence is shorter and is filled up with `<pad>`, which is the subject of section 6.)

# %%
words = ["<pad>", "<bos>", "<eos>", "can", "you", "help", "me", "thanks"]
PAD, BOS, EOS = 0, 1, 2
target_ids = torch.tensor([[3, 4, 5, 6, EOS], [7, EOS, PAD, PAD, PAD]])  # (B, T)
B, T = target_ids.shape

shifted_by_loop = torch.empty_like(target_ids)
for b in range(B):
    for i in range(T):
        shifted_by_loop[b, i] = BOS if i == 0 else target_ids[b, i - 1]

shifted = masks.shift_right(target_ids, BOS)  # (B, T)
assert torch.equal(shifted, shifted_by_loop)
for name, row in [("input", shifted[0]), ("target", target_ids[0])]:
    print(f"{name:>7}: " + " ".join(f"{words[k]:>6}" for k in row))

# %% [markdown]
# Read the two rows as five small exercises. Given `<bos>`, say "can"; given `<bos> can`, say "you"; and so on.
# One sentence with $T$ positions is $T$ training examples.
#
# If you count *target* words, position $i$ is given words 1 to $i-1$. If you count *inputs*, it sees positions 1
# to $i$. Both are right, and the difference between them is the shift. Hiding position $i$ from itself as well,
# "to be safe", takes away the latest word and leaves position 1 with nothing at all.

# %% [markdown]
# ## 3. The causal mask
#
# ### First without a mask
#
# What do we want? The output at position $i$ should be what it would be if the sentence ended there. So we let it
# end there. This loop never touches the future, which is why we trust it. (Random vectors stand for the queries,
# keys and values of five words.)

# %%
generator = torch.Generator().manual_seed(4)
d_k, d_v = 4, 6
query = torch.randn(T, d_k, generator=generator)
key = torch.randn(T, d_k, generator=generator)
value = torch.randn(T, d_v, generator=generator)

output_by_loop = torch.empty(T, d_v)
for i in range(T):
    keys_so_far, values_so_far = key[: i + 1], value[: i + 1]  # (i + 1, d_k), (i + 1, d_v)
    scores = keys_so_far @ query[i] / d_k**0.5  # (i + 1,)
    output_by_loop[i] = scores.softmax(dim=0) @ values_so_far

print("one output each for sentences of 1, 2, 3, 4 and 5 words:", tuple(output_by_loop.shape))

# %% [markdown]
# ### Then the mask
#
# A mask is a `bool` tensor with one row per query and one column per key. In this course **`True` means *may
# attend***. Here are three ways to write the causal mask:

# %%
by_loop = torch.empty(T, T, dtype=torch.bool)
for i in range(T):
    for j in range(T):
        by_loop[i, j] = j <= i

position = torch.arange(T)
by_comparison = position[None, :] <= position[:, None]  # (1, T) with (T, 1) -> (T, T)
by_tril = torch.ones(T, T, dtype=torch.bool).tril()  # the lower triangle, diagonal included

assert torch.equal(by_comparison, by_loop)
assert torch.equal(by_tril, by_loop)
assert torch.equal(masks.causal_mask(T), by_loop)
print(by_tril.int())

# %% [markdown]
# The comparison is the most useful of the three. It is the rule $j \le i$ itself, so you can check it by reading
# it, and you can change it. With `by_comparison & (position[:, None] - position[None, :] < 3)` each word sees a
# window of three words, itself and the two before it.

# %% tags=["hide-input"]
questions.ask("04", "how-many-cells-are-visible")

# %% [markdown]
# ## 4. −∞ before the softmax
#
# A hidden key must get the weight 0, and the visible ones must still sum to one. The softmax does both if the
# hidden *score* is −∞, because $\exp(-\infty) = 0$ and zeros add nothing to the sum. (Section 5 looks at rows in
# which *every* score is −∞.) The weights are then
#
# $$\alpha_{ij} = \frac{\exp(\omega_{ij} + m_{ij})}{\sum_{k=1}^{T} \exp(\omega_{ik} + m_{ik})}
# \qquad m_{ij} = \begin{cases} 0 & \text{if } i \text{ may attend to } j \\
# -\infty & \text{if not} \end{cases}$$
#
# Here $\omega_{ij} = q^{(i)} \cdot k^{(j)} / \sqrt{d_k}$ is the scaled score of lecture 3. The code writes −∞
# *over* the hidden scores instead of adding it, which is the same for finite scores.

# %%
mask = masks.causal_mask(T)  # (T, T)
scores = query @ key.T / d_k**0.5  # (T, T): all at once, the future among them
# masked_fill writes where its mask is True, so it is told what is hidden: ~mask
weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)  # (T, T)
output = weights @ value  # (T, d_v)

assert torch.allclose(output, output_by_loop, atol=1e-6)
gap = (output - output_by_loop).abs().max()
print(f"largest difference to the five shorter sentences: {gap:.6f}")
print(f"largest hidden weight: {weights[~mask].max():g}")

# %% tags=["hide-input"]
assert (weights[~mask] == 0).all()
reference_output, reference_weights = attention.scaled_dot_product_attention(
    query, key, value, mask
)
assert torch.allclose(output, reference_output, atol=1e-6)
assert torch.allclose(weights, reference_weights, atol=1e-6)
print("agrees with course_utils.attention")

# %% [markdown]
# One pass gives what five passes gave, and this is why decoders are trained with a mask and not with a loop.
# Comparing the two with `allclose` tests the mask both ways, since no word of the future may get in and no word of
# the past may be lost.

# %% tags=["hide-input"]
questions.ask("04", "where-the-mask-goes")

# %% tags=["hide-input"]
questions.ask("04", "zero-for-hidden-scores")

# %% [markdown]
# ### On real words
#
# So far the words have been random vectors. Here is the mask in a network that has learned something, the
# course's translator ([lecture 8](08_transformer.ipynb)) while it writes "can you help me to translate this
# sentence ?". Each of its attention layers has several heads, which work side by side (lecture 5). This is one of
# them, before training and after.

# %%
example = learned.sentence("help")
before = example.weights("decoder", layer=2, head=4, untrained=True)  # (T, T)
after = example.weights("decoder", layer=2, head=4)

asking = example.target.index("this")
for name, head in [("before", before), ("after", after)]:
    strongest = head[asking].argmax()
    print(f"{name:>6}: this -> {example.target[strongest]:<10} {head[asking, strongest]:.2f}")

objects = learned.measure("object")  # counted on sentences that were not trained on
print(f"in all {objects.cases} objects of {objects.sentences} sentences, on the verb:", end=" ")
print(f"before {objects.untrained:.0%}, after {objects.trained:.0%}, blindly {objects.chance:.0%}")

# %% tags=["hide-input"]
verb = example.target.index("translate")
future = ~masks.causal_mask(len(example.target))
assert (before[future] == 0).all() and (after[future] == 0).all()
assert after[asking, verb] > 0.95 and before[asking].max() < 0.3
assert objects.trained > 0.8 and objects.untrained < objects.chance < 0.2
assert (objects.cases, objects.sentences) == (219, 168)

figure = plotting.attention_maps(
    [before, after],
    ["before training", "after training"],
    example.target,
    example.target,
    hidden=future,
    limit=1.0,
    decimals=1,
    size=(10, 5.4),
    colour_label="weight α",
    query_label="query",
    key_label="key",
)
for ax in figure.axes[:2]:
    plotting.outline_cell(ax, asking, verb)
plotting.picture(
    figure,
    caption="One head of the decoder: the triangle is given, what happens inside it is learned.",
    alt="Two maps of masked self-attention over bos can you help me to translate this sentence and "
    "the question mark; all cells above the diagonal are hatched. Before training, the rows are "
    "spread over all words that they may see, at most 0.2 in the row of this. After training, the "
    "framed cell in the row of this and the column of translate is 1.0.",
)

# %% [markdown]
# Both maps have the same triangle, because the mask is given and nobody had to learn it. What happens inside the
# triangle is learned. "this" begins the object of "translate", and nearly all of its weight is on that verb. One map
# proves little, so we counted on 168 sentences that were not trained on. The strongest weight of an object's first
# word is on its verb in 87 % of 219 cases. A blind pick among the visible words would hit the verb in 12 %. Before
# training the head hits it in 3 %, which is less, because random maps prefer some words to others, too, and these are
# not the verbs. (The head was chosen because its map is easy to read. Other heads look elsewhere.)
#
# ### Four ways to do it, two of them wrong
#
# Take one query with four keys, of which the first two may be seen and the last two are the future.

# %%
row_scores = torch.tensor([1.0, 0.0, 2.0, 1.0])
row_mask = torch.tensor([True, True, False, False])


def zero_score(scores, mask):
    return (scores * mask).softmax(dim=-1)


def mask_after_softmax(scores, mask):
    return scores.softmax(dim=-1) * mask


def mask_and_renormalise(scores, mask):
    weights = mask_after_softmax(scores, mask)
    return weights / weights.sum(dim=-1, keepdim=True)


def minus_infinity(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


# %%
ways = {
    "score set to 0": zero_score,
    "mask after the softmax": mask_after_softmax,
    "mask after, renormalised": mask_and_renormalise,
    "−∞ before the softmax": minus_infinity,
}
results = {name: way(row_scores, row_mask) for name, way in ways.items()}

print(f"{'':<26}   word 1  word 2  word 3  word 4     sum")
for name, row in results.items():
    numbers = "".join(f"{weight:8.3f}" for weight in [*row, row.sum()])
    print(f"{name:<26} {numbers}")

# %% tags=["hide-input"]
# −∞ and renormalising give the same weights; the other two leave 0.35 on the future, or a sum of 0.27
right = results["−∞ before the softmax"]
assert abs(right.sum() - 1) < 1e-6 and (right[2:] == 0).all()
assert abs(results["score set to 0"][2:].sum() - 0.35) < 0.005
assert abs(results["mask after the softmax"].sum() - 0.27) < 0.005
assert torch.allclose(results["mask after, renormalised"], right)

# %% [markdown]
# - **A score of 0 hides nothing**, because $\exp(0) = 1$, and the future keeps 35 % of the weight.
# - **The mask after the softmax** leaves rows that no longer sum to one. The softmax had already given most of the
#   weight away, and only 27 % of it is left.
# - **That mask also leaks**, which is worse, because the future is still in the denominator of the softmax. If
#   the score of word 3 grows, the weights of words 1 and 2 shrink, so the size of the visible weights tells
#   something about the hidden word.

# %%
louder = row_scores.clone()
louder[2] = 6.0  # only a hidden score changes

visible_sums = {}
for name in ["mask after the softmax", "−∞ before the softmax"]:
    before, after = ways[name](row_scores, row_mask), ways[name](louder, row_mask)
    visible_sums[name] = before[:2].sum(), after[:2].sum()
    print(f"{name:<23} sum of the visible: {before[:2].sum():.3f} -> {after[:2].sum():.3f}")

# %% tags=["hide-input"]
# a hidden score changes nothing with −∞, and more than 0.2 with the mask after the softmax
leaking, tight = visible_sums["mask after the softmax"], visible_sums["−∞ before the softmax"]
assert leaking[0] - leaking[1] > 0.2 and tight[0] == tight[1]

# %% [markdown]
# Dividing by the sum of the row afterwards mends both, and the third line of the table equals the fourth. On
# paper it always does, and section 10 measures where the computer disagrees. −∞ *before* the softmax needs no
# such care, because it never looks at what it hides.
#
# ## 5. Rows with nothing to attend to
#
# What *should* a row give in which every key is hidden? With −∞ everywhere, the softmax is $0/0$:

# %%
nothing_visible = torch.zeros(4, dtype=torch.bool)
all_hidden = minus_infinity(row_scores, nothing_visible)

assert all_hidden.isnan().all()
print(all_hidden)

# %% [markdown]
# Such rows do occur, in an empty sentence, in a sentence padded on the left under a causal mask, or when the diagonal
# is hidden. And one NaN does not stay where it is. All rows share the matrices $W_q$, $W_k$ and $W_v$, so one NaN row
# can make the gradient of a *whole matrix* NaN, and after the next step the model is gone. Leaving the row out of the
# loss does not help. The row then gets the gradient 0, but the backward pass multiplies it by the NaN, and $0 \cdot
# \mathrm{NaN} = \mathrm{NaN}$.
#
# The rule of this course is that **a query that may attend to nothing gets weights and output zero, with finite
# gradients.** One way to achieve it, to which the hints of assignments 1 and 3 lead as well, is to fill before the
# softmax and again after it.


# %%
def masked_softmax(scores, mask):
    """Softmax over the visible keys; a row with nothing visible gives zeros."""
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)  # changes empty rows only: elsewhere it was 0 already


# %% [markdown]
# Does the gradient stay finite as well? We take five words, of which the first may attend to nothing:

# %%
x = torch.randn(T, d_k, generator=generator)  # (T, d_k)
one_row_empty = mask.clone()
one_row_empty[0] = False


def what_stays_finite(way):
    """Whether the output, the gradient of W_q and the gradient of W_v are finite."""
    w_q, w_v = (torch.eye(d_k, requires_grad=True) for _ in range(2))
    # to keep it short, the keys are x itself and nothing is scaled
    output = way((x @ w_q) @ x.T, one_row_empty) @ (x @ w_v)  # (T, d_k)
    output[1:].square().sum().backward()  # the loss leaves the empty row out
    return [bool(t.isfinite().all()) for t in (output, w_q.grad, w_v.grad)]


print(f"{'':<16} output   gradient of W_q   gradient of W_v")
for way in (minus_infinity, masked_softmax):
    found = ["finite" if good else "NaN" for good in what_stays_finite(way)]
    print(f"{way.__name__:<16} {found[0]:<8} {found[1]:<17} {found[2]}")

# %% tags=["hide-input"]
assert what_stays_finite(minus_infinity) == [False, True, False]
assert what_stays_finite(masked_softmax) == [True, True, True]
ours = masked_softmax(scores, one_row_empty)
assert torch.allclose(ours, attention.masked_softmax(scores, one_row_empty), atol=1e-6)
assert (ours[0] == 0).all() and (ours[~one_row_empty] == 0).all()
assert torch.allclose(ours[1:].sum(dim=-1), torch.ones(T - 1))
print("sums of the rows:", *[f"{total:.3f}" for total in ours.sum(dim=-1).tolist()])

# %% [markdown]
# In the first line the NaN weights spoil the output and, by $0 \cdot \mathrm{NaN}$, the gradient of `W_v`. In the
# second line neither is spoiled, because the NaN weights have become zeros before they meet a value. ($W_q$ is safe
# in both lines, for a reason that section 11 gives.) Section 11 compares other ways, one of which has a clean output
# and a NaN gradient.
#
# ### Click on a mask
#
# The map below has a row for each query and a column for each key, and hatched cells are hidden. (The queries,
# keys and values are the random ones of section 3, so the weights mean nothing.) Click on a cell or walk there
# with the arrow keys, and press the space bar to hide or show it. Your browser computes the rest. Predict first,
# and then try:
#
# 1. Hide "you" from "me", in the last row. What happens to the *other* weights of this row? And to the other
#    rows?
# 2. Open *temperature and mask*, press *as given*, and hide the whole first row, which is one cell. What are its
#    weights and its output?
# 3. Press *as given*, and hide the diagonal, cell by cell. What does the row of "can" look at now?
# 4. **Find the leak.** Under *attention* there are three more masks, A, B and C, that somebody wrote for this
#    decoder. One of them leaks. Through which cell? One leaves a position with nothing to see. And one is safe,
#    but hides more than it must.

# %% tags=["hide-input"]
inputs = ["<bos>", "can", "you", "help", "me"]
PRESETS = {
    "causal": masks.causal_mask(T),
    "off by one": torch.ones(T, T, dtype=torch.bool).tril(diagonal=1),
    "diagonal hidden": torch.ones(T, T, dtype=torch.bool).tril(diagonal=-1),
}
one_more_hidden = masks.causal_mask(T)
one_more_hidden[4, 2] = False
one_leak = masks.causal_mask(T)
one_leak[2, 3] = True  # the row that must say "help" sees "help"
shown = {
    "causal": PRESETS["causal"],
    "mask A": one_leak,
    "mask B": PRESETS["diagonal hidden"],
    "mask C": by_tril & ~by_tril.tril(diagonal=-2),  # itself and the word before
}

rows_of_me = [attention.masked_softmax(scores, m)[4] for m in (PRESETS["causal"], one_more_hidden)]
growth = (rows_of_me[1] / rows_of_me[0])[one_more_hidden[4]]  # (4,), one factor for all
assert torch.allclose(growth, growth[0]) and abs(growth[0] - 1.47) < 0.005
assert abs(attention.masked_softmax(scores, one_leak)[2, 3] - 0.07) < 0.005
for letter, leaks_somewhere, leaves_nothing in [("A", 1, 0), ("B", 0, 1), ("C", 0, 0)]:
    chosen = shown[f"mask {letter}"]
    assert (chosen & ~PRESETS["causal"]).sum() == leaks_somewhere
    assert (~chosen.any(dim=-1)).sum() == leaves_nothing

vectors = [numbers.round(decimals=3) for numbers in (query, key, value)]
_, rounded = attention.scaled_dot_product_attention(*vectors, mask)
assert torch.allclose(rounded, weights, atol=2e-3)  # the view shows what section 4 computed

live.attention_view(
    *(
        live.Attention(*vectors, inputs, mask=chosen, model=name, sentence=" ".join(inputs))
        for name, chosen in shown.items()
    ),
    caption="Five words under a mask of your choice, with random queries, keys and values",
    query=4,
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# Every row is a softmax of its own. Hiding a cell makes the weights that stay visible in *that row* larger, all
# by the same factor, here 1.47, and changes no other row. The weights of "help" and "me" grow visibly, and those
# of `<bos>` and "can" grow too, but from 0.02. A row that sees nothing has weights and output zero. With the
# diagonal hidden, which is mask B, that happens to the first row, and "can" can only look at `<bos>`.
#
# The leak is in mask A, because the row of "you" must say "help" and it sees "help". The weight is only 0.07, but
# that is no comfort. Looking at the answer lowers the loss, so training would raise that weight. Mask C shows each
# word itself and the one before, so it does not leak but has a short memory.
#
# </details>
#
# Here are the masks as a picture:

# %% tags=["hide-input"]
answers = {
    "causal": PRESETS["causal"],
    "1: “me” may not see “you”": one_more_hidden,
    "A: “you” sees the answer": one_leak,
    "3 and B: diagonal hidden": PRESETS["diagonal hidden"],
}
figure = plotting.attention_maps(
    [attention.masked_softmax(scores, chosen) for chosen in answers.values()],
    list(answers),
    inputs,
    inputs,
    hidden=[~chosen for chosen in answers.values()],
    limit=1.0,
    columns=2,
    size=(10, 8),
    colour_label="weight α",
    query_label="query",
    key_label="key",
)
plotting.outline_cell(figure.axes[2], 2, 3)
plotting.picture(
    figure,
    caption="Hiding or showing a cell changes its own row only; hatched cells are hidden, the frame is a leak.",
    alt="Four maps of attention weights for bos, can, you, help, me; hidden cells are hatched. "
    "Causal: the lower triangle is filled, the first row is 1.00 on bos. With the cell of me and "
    "you hidden as well: only the last row changes, help and me get more. Mask A: one cell above the "
    "diagonal is filled and framed, row you, column help, 0.07. Diagonal hidden: the first row has no "
    "visible cell and all its weights are 0; the second row is 1.00 on bos.",
)

# %% [markdown]
# ## 6. Padding
#
# Sentences in a batch have different lengths, so short ones are filled up with `<pad>`, and nobody should attend to
# it. This is the second mask. Which keys it hides depends on the words and not on the position of the query.
#
# - **Only keys are masked.** The row of a pad may compute whatever it likes, since the loss leaves out every
#   position whose *target* is a pad. If you hide the row as well, you have made an empty row for nothing.
# - **Masks combine by `&`**, because a key may be seen only if *every* mask says so.
# - **Shapes do the rest.** Scores are $(B, H, T, S)$, with the batch, the heads (lecture 5; for now think of
#   one), $T$ queries and $S$ keys, where $S = T$ in self-attention. Where a mask is the same all along an axis,
#   it has length 1 there, and broadcasting stretches it. Leading axes of length 1 may be left out.
#
# ![Two sentences, bos can you help me and bos thanks eos pad pad. On the left the padding mask of
# shape B, 1, 1, S: one row of five cells for each sentence, all visible in the first, the last two
# hidden in the second. In the middle the causal mask of shape T, T, a lower triangle of five by
# five cells, one for all sentences. Joined by the and sign they give, on the right, the decoder
# mask of shape B, 1, T, T: for the first sentence the lower triangle; for the second the lower
# triangle with the columns of both pads hidden, so that its last three rows all see bos, thanks
# and eos. Hidden cells are hatched.](../figures/mask_broadcast.svg)
#
# *Each axis of length 1 is stretched, and hatched cells are hidden. The last three rows at the bottom right are
# equal, because the last two of them add nothing but pads.*

# %%
not_padding = masks.padding_mask(shifted, PAD)  # (B, 1, 1, T)
decoder = not_padding & masks.causal_mask(T)  # (B, 1, 1, T) & (T, T) -> (B, 1, T, T)

decoder_by_loop = torch.empty(B, 1, T, T, dtype=torch.bool)
for b in range(B):
    for i in range(T):
        for j in range(T):
            decoder_by_loop[b, 0, i, j] = j <= i and shifted[b, j] != PAD

assert torch.equal(decoder, decoder_by_loop)
assert torch.equal(decoder, masks.decoder_mask(shifted, PAD))
print(tuple(not_padding.shape), "&", (T, T), "->", tuple(decoder.shape))

# %% [markdown]
# | where | who asks whom | mask | shape |
# |---|---|---|---|
# | encoder, self-attention | source asks source | padding of the source | $(B, 1, 1, S)$ |
# | decoder, self-attention | target asks target | padding of the target `&` causal | $(B, 1, T, T)$ |
# | decoder, cross-attention (lecture 8) | target asks source | padding of the source | $(B, 1, 1, S)$ |
#
# One test shows what the padding mask is for. A sentence must mean the same whether it is alone or next to a
# longer one. Each word gets a random vector, which is query, key and value at once.

# %%
H = 1
vectors = torch.randn(len(words), d_k, generator=generator)[shifted].unsqueeze(1)  # (B, H, T, d_k)
alone = vectors[1:, :, :3]  # "<bos> thanks <eos>", without padding
unpadded, _ = attention.scaled_dot_product_attention(alone, alone, alone)  # (1, H, 3, d_k)

moved = {}
for name, chosen in [("no mask", None), ("padding mask", not_padding)]:
    padded, _ = attention.scaled_dot_product_attention(vectors, vectors, vectors, chosen)
    moved[name] = (padded[1, :, :3] - unpadded[0]).abs().max().item()
    print(f"{name:>12}: outputs of the short sentence move by up to {moved[name]:.3f}")
assert moved["no mask"] > 0.05 and moved["padding mask"] < 1e-6

# %% [markdown]
# ### The trap: a mask of shape (B, S)
#
# It is tempting to leave the axes of length 1 out. Broadcasting aligns shapes from the *right*, so a mask $(B, S)$
# against scores $(B, H, T, S)$ is read as $(T, S)$, with one row per *query* instead of one per sentence. Usually
# that stops with an error. But if a batch happens to have as many sentences as there are queries, nothing complains,
# and in *every* sentence query 1 gets the padding of sentence 1, query 2 that of sentence 2, and so on.

# %%
ids = torch.tensor([[3, 4, 5, 6, 3], [7, 4, PAD, PAD, PAD], [3, 5, 6, PAD, PAD]])  # (B, S) = (3, 5)
flat_mask = ids != PAD  # (3, 5)

all_scores = torch.randn(3, 2, 4, 5, generator=generator)  # (B, H, T, S) with T = 4
try:
    attention.masked_softmax(all_scores, flat_mask)
except ValueError as error:
    print("T = 4:", error)

all_scores = torch.randn(3, 2, 3, 5, generator=generator)  # T = 3 = B
weights_by_shape = {
    "(B, S)": attention.masked_softmax(all_scores, flat_mask),
    "(B, 1, 1, S)": attention.masked_softmax(all_scores, masks.padding_mask(ids, PAD)),
}
is_pad = (ids == PAD)[:, None, None, :]  # (B, 1, 1, S)
on_padding = {}
for shape, weights in weights_by_shape.items():
    on_padding[shape] = (weights * is_pad).sum() / weights.sum()
    print(f"T = 3: mask {shape:<12} puts {100 * on_padding[shape]:.0f} % of the weight on padding")
assert on_padding["(B, S)"] > 0.05 and on_padding["(B, 1, 1, S)"] == 0

# %% tags=["hide-input"]
questions.ask("04", "a-flat-padding-mask")

# %% [markdown]
# ### Gallery
#
# Here are the masks of this lecture side by side. Rows are queries and columns are keys. Filled cells may be
# seen, hatched ones are hidden, and a frame marks what is visible by mistake.

# %% tags=["hide-input"]
causal, second_sentence = PRESETS["causal"], not_padding[1, 0].expand(T, T)
gallery = {
    "causal": causal,
    "padding: two pads": second_sentence,
    "decoder: both, by &": decoder[1, 0],
    "off by one: a leak": PRESETS["off by one"],
    "diagonal hidden: row 1 empty": PRESETS["diagonal hidden"],
    "cross: T = 3, S = 5": second_sentence[:3],
}
figure, axes = plt.subplots(2, 3, figsize=(10, 7.8))
for number, (ax, (title, shown_mask)) in enumerate(zip(axes.flat, gallery.items(), strict=True)):
    plotting.mask_map(
        shown_mask,
        ax=ax,
        query_label="" if number % 3 else "query",
        key_label="key" if number >= 3 else "",
    )
    ax.set_yticks(range(len(shown_mask)), range(1, len(shown_mask) + 1))
    ax.set_xticks(range(T), range(1, T + 1))
    ax.set(title=title, aspect="equal", anchor="N")
for i, j in (PRESETS["off by one"] & ~causal).nonzero().tolist():
    plotting.outline_cell(axes[1, 0], i, j)
    axes[1, 0].patches[-1].set_clip_on(False)
plotting.picture(
    figure,
    caption="Six masks: filled cells may be seen, hatched ones are hidden, framed ones leak.",
    alt="Six masks as grids, queries as rows, keys as columns, filled where a query may attend, "
    "hatched where it may not. Causal: lower triangle with its diagonal. Padding: all rows equal, "
    "keys 4 and 5 hidden. Decoder: lower triangle with keys 4 and 5 hidden. Off by one: lower "
    "triangle and one diagonal above it, whose four cells are framed as a leak. Diagonal hidden: "
    "lower triangle without diagonal, row 1 is empty. Cross-attention: three rows and five columns, "
    "keys 4 and 5 hidden.",
)

# %% [markdown]
# ## 7. PyTorch has two conventions, and they are opposite
#
# PyTorch comes with its own attention, as a function like ours and as a module that also contains the maps for
# queries, keys and values (lecture 5; here with one head). The two read the same mask in opposite ways:
#
# | call | argument | a `True` means |
# |---|---|---|
# | `F.scaled_dot_product_attention` | `attn_mask` | **may attend**, as in this course |
# | `nn.MultiheadAttention` | `attn_mask`, `key_padding_mask` | **hide** |
# | `nn.Transformer` and its layers | `src_mask`, `tgt_mask`, …, `…_key_padding_mask` | **hide** |
#
# The table is about `bool` masks. No call complains about the other's mask, so we measure. The same causal mask
# goes to both, first as it is and then inverted. To see the same weights in both, we set the module's maps to the
# unit matrix, so that query, key and value are the word itself.

# %%
sentence = torch.randn(1, T, d_k, generator=generator)  # (B, T, d_k)
module = nn.MultiheadAttention(d_k, num_heads=1, batch_first=True)
with torch.no_grad():
    module.in_proj_weight.copy_(torch.eye(d_k).repeat(3, 1))  # W_q, W_k and W_v, stacked
    reference = attention.scaled_dot_product_attention(sentence, sentence, sentence, mask)[1][0]


def by_function(mask):
    # it returns no weights; with the unit matrix as values, its output is the weights
    unit = torch.eye(T).unsqueeze(0)
    return F.scaled_dot_product_attention(sentence, sentence, unit, attn_mask=mask)[0]


def by_module(mask):
    _, weights = module(sentence, sentence, sentence, attn_mask=mask)
    return weights[0].detach()  # (T, T)


for name, given in [("mask", mask), ("~mask", ~mask)]:
    for call in (by_function, by_module):
        right = torch.allclose(call(given), reference, atol=1e-6)
        print(f"{call.__name__:<12} attn_mask={name:<6} {'right' if right else 'WRONG'}")

# %% tags=["hide-input"]
assert torch.allclose(by_function(mask), reference, atol=1e-6)
assert torch.allclose(by_module(~mask), reference, atol=1e-6)
future = ~mask[:-1]
for wrong in (by_function(~mask), by_module(mask)):
    assert (wrong[:-1][~future] == 0).all() and (wrong[:-1][future] > 0).all()

given_mask = [by_function(mask), by_module(mask).nan_to_num(0.0)]
figure = plotting.attention_maps(
    given_mask,
    ["F.scaled_dot_product_attention", "nn.MultiheadAttention"],
    inputs,
    inputs,
    hidden=[weights == 0 for weights in given_mask],
    limit=1.0,
    size=(10, 4.6),
    colour_label="weight α",
    query_label="query",
    key_label="key",
)
plotting.picture(
    figure,
    caption="The same causal mask, given to both: the module shows the future and nothing else.",
    alt="Two maps of weights under the same causal mask; cells without weight are hatched. "
    "F.scaled_dot_product_attention fills the lower triangle with the diagonal, which is right. "
    "nn.MultiheadAttention fills only the cells above the diagonal, the future, and its last row, "
    "me, has nothing to attend to.",
)

# %% [markdown]
# The wrong picture is not "a bit off". It shows the future and nothing else. There are two ways out of the trap:
#
# - **Float masks mean the same in both.** A float mask is *added* to the scores, so 0 shows and −∞ hides. (The
#   functions of this course take `bool` only and refuse a float mask with an error.)
# - **Name your masks after what `True` means**, such as `may_attend` or `is_pad`. The name `mask` alone says
#   nothing, and this course can use it only because it says the convention on every page.
#
# Section 12 measures what PyTorch makes of the empty row, and shows two more traps.

# %% [markdown]
# ## 8. Finding a leak without training
#
# A parameter called `mask` proves little. It may be inverted, come after the softmax, or never be used. What
# counts is what the *model* does, so we ask the model:
#
# > **Change word $j$. Which outputs move? None before $j$ may.**
#
# We need a model to ask. Here is a small language model with word vectors, learned position vectors (lecture 6),
# and two layers of attention with one head, each followed by a small network that works on each word on its own
# ([lecture 7](07_layer_normalization.ipynb)). For now one thing matters. Attention is the only place where a word
# learns of other words, and a function that we pass in decides what may be seen there.


# %%
class Layer(nn.Module):
    """Attention with one head, then a small network per word. Each adds to what came in."""

    def __init__(self, d_model, softmax):
        super().__init__()
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, d_model) for _ in range(3))
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, d_model)
        )
        self.softmax = softmax

    def forward(self, x, mask):  # (B, T, D), (B, T, T)
        query, key, value = self.w_q(x), self.w_k(x), self.w_v(x)  # (B, T, D) each
        scores = query @ key.transpose(1, 2) / query.shape[-1] ** 0.5  # (B, T, T)
        x = x + self.softmax(scores, mask) @ value  # (B, T, D)
        return x + self.feed_forward(x)


# %% [markdown]
# The model stacks two such layers. It has a method `read` of its own, so that we can put in word vectors as well
# as words (for section 13).


# %%
class LanguageModel(nn.Module):
    """Scores for the word that each position must say: (B, T) ids -> (B, T, vocabulary)."""

    def __init__(self, vocabulary_size, length, may_attend, softmax=masked_softmax, d_model=64):
        super().__init__()
        self.may_attend = may_attend
        self.word_vectors = nn.Embedding(vocabulary_size, d_model)
        self.position_vectors = nn.Embedding(length, d_model)
        self.layers = nn.ModuleList(Layer(d_model, softmax) for _ in range(2))
        self.to_words = nn.Linear(d_model, vocabulary_size)

    def forward(self, ids):  # (B, T)
        return self.read(self.word_vectors(ids), self.may_attend(ids))

    def read(self, x, mask):  # (B, T, D), (B, T, T)
        x = x + self.position_vectors.weight[: x.shape[1]]
        for layer in self.layers:
            x = layer(x, mask)
        return self.to_words(x)  # (B, T, vocabulary)


# %% [markdown]
# Three masks compete. All three hide padding, also the one called "no mask", so they differ only in what they do
# about time.


# %%
def right_mask(ids):
    """j ≤ i: the past and itself. (B, T, T)"""
    return masks.decoder_mask(ids, PAD).squeeze(1)


def off_by_one(ids):
    """j ≤ i + 1: one word too many. (B, T, T)"""
    size = ids.shape[1]
    return masks.padding_mask(ids, PAD).squeeze(1) & torch.ones(size, size).tril(diagonal=1).bool()


def no_mask(ids):
    """Every word that is not padding. (B, T, T)"""
    size = ids.shape[1]
    return masks.padding_mask(ids, PAD).squeeze(1).expand(-1, size, size)


# %% [markdown]
# The diagnostic itself treats the model as a black box from ids to scores, so it does not matter what is inside.
# (But use eval mode, because otherwise dropout, lecture 7, moves everything.) An *untrained* model is enough,
# since the mask does not depend on the weights.
#
# A leak that the test finds is proof. Finding none proves something for these words and weights only, and even that
# only if every output responds to its own input.


# %%
@torch.no_grad()
def moved_outputs(model, ids, other):
    """moved[i, j]: how far output i moves when word j becomes `other`. ids (1, T) -> (T, T)."""
    before = model(ids)[0]  # (T, vocabulary)
    length = ids.shape[1]
    moved = torch.empty(length, length)
    for j in range(length):
        changed = ids.clone()
        changed[0, j] = other
        moved[:, j] = (model(changed)[0] - before).abs().amax(dim=-1)
    return moved


def leaks(moved):
    """The pairs (i, j) with j after i where the future got through."""
    return moved.triu(diagonal=1) > 1e-6


# %% [markdown]
# We ask four models, one for each mask and one with the right mask in the wrong place, after the softmax (section
# 4).

# %%
probe = torch.tensor([[BOS, 3, 4, 5, 6, 8, 9]])  # (1, T): seven different ids, none is padding
settings = {
    "right mask": (right_mask, masked_softmax),
    "no mask": (no_mask, masked_softmax),
    "off by one": (off_by_one, masked_softmax),
    "mask after the softmax": (right_mask, mask_after_softmax),
}
models = {}
for name, (may_attend, softmax) in settings.items():
    torch.manual_seed(5)
    models[name] = LanguageModel(
        vocabulary_size=30, length=11, may_attend=may_attend, softmax=softmax
    )
    moved = moved_outputs(models[name], probe, other=7)
    found = leaks(moved)
    assert (moved.diagonal() > 1e-3).all()  # else nothing moves, and the test tests nothing
    # seven words have 7 · 6 / 2 = 21 pairs in which one is in the future of the other
    print(f"{name:<23} {int(found.sum()):2d} of 21 pairs leak, position 1 learns of", end=" ")
    print([j + 1 for j in found[0].nonzero().flatten().tolist()])
    reach = {"right mask": 0, "off by one": 2}.get(name, 6)  # words after its own, at most
    assert torch.equal(found, torch.ones(7, 7).triu(1).tril(reach).bool())

# %% [markdown]
# Look at "off by one". Its mask shows *one* word too many, but position 1 learns of two, because each layer
# passes the next word on. Position 1 sees position 2, which in the layer below has seen position 3. With $L$
# layers the leak is $L$ words deep, as far as the sentence reaches.
#
# The last line shows why you should test models and not masks, because its mask is perfectly right. Keep this
# test. A training curve can at best raise a suspicion, whereas two short functions in your test suite,
# `moved_outputs` and `leaks`, name the pair of words. (Section 13 does the same with derivatives.)
#
# ## 9. What a leak looks like when you train
#
# Now comes the experiment. The same model learns the English side of the course's corpus three times, with the
# right mask, with no mask, and off by one. Everything else is equal, with 150 steps, the same batches and three
# seeds.

# %%
LONGEST = 10  # words, the full stop among them
drawn = [pair.target for pair in data.sample_pairs(30_000, seed=0, part="train")]
sentences = list(dict.fromkeys(text for text in drawn if len(text.split()) <= LONGEST))
vocabulary = data.Vocabulary.from_sentences(sentences)


def encode(texts):
    """Word ids, <eos>, padding: (B, LONGEST + 1)."""
    rows = [[*vocabulary.encode(text), data.EOS_ID] for text in texts]
    return torch.tensor([row + [data.PAD_ID] * (LONGEST + 1 - len(row)) for row in rows])


assert (PAD, BOS, EOS) == (data.PAD_ID, data.BOS_ID, data.EOS_ID)
held_out, train_ids = encode(sentences[:300]), encode(sentences[300:])
print(f"{len(train_ids)} sentences to train, {len(held_out)} held out, {len(vocabulary)} words")
print("for example:", sentences[0])


# %%
def train(may_attend, seed, steps=150):
    """A trained model, and the loss at every step."""
    torch.manual_seed(seed)
    model = LanguageModel(len(vocabulary), LONGEST + 1, may_attend)
    batches = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=steps)
    losses = []
    for _ in range(steps):
        target = train_ids[torch.randint(len(train_ids), (32,), generator=batches)]  # (B, T)
        logits = model(masks.shift_right(target, BOS))  # (B, T, vocabulary)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
        losses.append(loss.item())
    return model, losses


# %% [markdown]
# We measure each model three times, and the questions get stricter:
#
# 1. **Teacher-forced.** The whole held-out sentence goes in, and each position names its word. This is how
#    validation scores are usually computed.
# 2. **Word by word.** The model gets the same true words, but only those that are already there. Position $i$ is
#    asked when the input ends with $x^{(i)}$, so nothing can be looked up.
# 3. **Free-running.** The model gets three words and writes the rest itself. We call its sentence *well-formed*
#    if it comes to an end and every pair of neighbours in it also occurs somewhere in the training sentences.


# %%
@torch.no_grad()
def teacher_forced(model, target):
    """Share of words that are right when the whole sentence is visible to the code."""
    said = model(masks.shift_right(target, BOS)).argmax(dim=-1)  # (B, T)
    return (said == target)[target != PAD].float().mean().item()


@torch.no_grad()
def word_by_word(model, target):
    """Share of words that are right when the future does not exist yet."""
    shifted = masks.shift_right(target, BOS)  # (B, T)
    steps = range(1, target.shape[1] + 1)
    said = [model(shifted[:, :step])[:, -1].argmax(dim=-1) for step in steps]  # T times (B,)
    return (torch.stack(said, dim=1) == target)[target != PAD].float().mean().item()


@torch.no_grad()
def continue_sentences(model, target, given=3):
    """Keep the first words, let the model write the others: (B, T)."""
    written = masks.shift_right(target, BOS)[:, : given + 1]  # (B, given + 1), <bos> in front
    while written.shape[1] <= target.shape[1]:
        next_word = model(written)[:, -1].argmax(dim=-1, keepdim=True)  # (B, 1)
        written = torch.cat([written, next_word], dim=1)
    return written[:, 1:]  # (B, T), without <bos>


# %% [markdown]
# How good is "well-formed"? Real sentences are the yardstick, and even some of them contain a pair that training
# never showed.


# %% tags=["hide-input"]
def neighbours(row):
    """The pairs of words that follow each other, from <bos> to <eos>."""
    ids = [BOS, *row]
    ids = ids[: ids.index(EOS) + 1] if EOS in ids else ids
    return set(pairwise(ids))


known_pairs = set().union(*(neighbours(row) for row in train_ids.tolist()))


def well_formed(rows):
    """Share of sentences that end and hold only known pairs of neighbours."""
    good = [EOS in row and neighbours(row) <= known_pairs for row in rows.tolist()]
    return sum(good) / len(good)


real = well_formed(held_out)
assert 0.90 < real < 1.0
print(f"real held-out sentences that pass: {100 * real:.0f} %")

# %% [markdown]
# For the first two questions, the yardstick is a table of counts that always names the most frequent follower of
# the last word. It needs no network. And how much can anybody know? To find out, we count the words that follow
# one and the same beginning.

# %% tags=["hide-input"]
# counts[a, b]: how often word b follows word a
counts = torch.zeros(len(vocabulary), len(vocabulary))
counts.index_put_(
    (masks.shift_right(train_ids, BOS), train_ids), torch.ones(train_ids.shape), accumulate=True
)
said = counts.argmax(dim=-1)[masks.shift_right(held_out, BOS)]  # (B, T)
table_of_counts = (said == held_out)[held_out != PAD].float().mean().item()
assert 0.30 < table_of_counts < 0.42
print(f"table of counts: {100 * table_of_counts:.0f} % of the words are right")

begun = "you want to "
followers = {text.split()[3] for text in sentences[300:] if text.startswith(begun)}
assert len(followers) > 15
print(f"the training sentences continue “{begun}…” with {len(followers)} different words")

# %% [markdown]
# The next cell trains nine models, which takes about ten seconds.

# %% seconds=11
SEEDS = [0, 1, 2]
competitors = {"right mask": right_mask, "off by one": off_by_one, "no mask": no_mask}
measurements = ["teacher-forced", "word by word", "free-running"]

trained, losses, scores_of = {}, {}, {}
for name, may_attend in competitors.items():
    for seed in SEEDS:
        model, losses[name, seed] = train(may_attend, seed)
        trained[name, seed] = model
        scores_of[name, seed] = [
            teacher_forced(model, held_out),
            word_by_word(model, held_out),
            well_formed(continue_sentences(model, held_out)),
        ]
table = {name: np.array([scores_of[name, seed] for seed in SEEDS]) for name in competitors}

# %% tags=["hide-input"]
# These ranges must hold for every seed, or the notebook fails.
forced, stepwise, free = table["right mask"].T
assert ((forced > 0.38) & (forced < 0.50)).all() and (forced > table_of_counts).all()
assert (abs(stepwise - forced) < 0.003).all()  # no future, no difference
assert (free > 0.85).all()
for name in ["off by one", "no mask"]:
    forced, stepwise, free = table[name].T
    assert (forced > 0.98).all()
    assert (stepwise < 0.30).all() and (stepwise < table_of_counts).all()
    assert (free < 0.20).all()

figure, ax = plotting.panels(1, height=4.8)
measured = {
    name: [rows[:, number] for rows in table.values()] for number, name in enumerate(measurements)
}
plotting.bars(
    ax,
    list(table),
    {name: np.array(groups).T for name, groups in measured.items()},
    ylabel="share",
    ylim=(0, 1.12),
)
plotting.level(ax, table_of_counts, "table of counts", at=0.48)
plotting.picture(
    figure,
    caption="Words right (teacher-forced, word by word) and sentences well-formed (free-running): "
    "medians, a dot for each seed.",
    alt="Bars for three masks with three measurements each, a dot per seed. Right mask: "
    "teacher-forced accuracy about 0.43, word by word the same, well-formed free-running sentences "
    "about 0.96. Off by one: teacher-forced 1.00, word by word about 0.13, free-running about 0. No "
    "mask: 1.00, about 0.15, about 0.01. The spread over seeds is a few hundredths. A line "
    "marks the table of counts at 0.36.",
)

# %% [markdown]
# Judged by the first bar alone, both leaking models are perfect and the right one is poor. Judged by what they
# are for, it is the other way round.
#
# - **Teacher-forced, the leaking models read the answer off.** They have learned to copy the next input, as a
#   test below shows.
# - **Word by word, there is nothing to copy**, and they do worse than the table of counts, the thin line. For the
#   right model the number does not change, because its outputs never depended on what follows. That is what
#   causal means.
# - **0.43 is not bad.** It is more than the table of counts has, and it cannot be 1, because "you want to" goes
#   on in 21 ways and nobody can know which one a sentence happens to take. A perfect score where perfection is
#   impossible is a symptom.
# - **Free-running, only the right model writes sentences.** (It passes as often as real sentences do, which is
#   not surprising, because it always takes the likeliest word, while real sentences take a rare word now and
#   then.)
#
# Do the leaking models copy? We put any word of the vocabulary, drawn at random, in the place of the next input.
# A model that reads its answer off will often name that word, however little sense it makes.


# %% tags=["hide-input"]
@torch.no_grad()
def share_copied(model, target):
    """How often position i names a random word that has been put at position i + 1."""
    draw = torch.Generator().manual_seed(0)
    shifted = masks.shift_right(target, BOS)  # (B, T)
    named = []
    for i in range(target.shape[1] - 1):
        changed = shifted.clone()
        changed[:, i + 1] = torch.randint(EOS + 1, len(vocabulary), (len(target),), generator=draw)
        said = model(changed)[:, i].argmax(dim=-1)  # (B,)
        named.append((said == changed[:, i + 1])[shifted[:, i + 1] != PAD])
    return torch.cat(named).float().mean().item()


# %% tags=["nbval-ignore-output"]
copied = {
    name: [share_copied(trained[name, seed], held_out) for seed in SEEDS] for name in competitors
}
print("how often a random next word is named, by seed")
for name, shares in copied.items():
    print(f"{name:<12}", *[f"{100 * share:4.0f} %" for share in shares])

# %% [markdown]
# Look at the loss, as one does while training:

# %% tags=["hide-input"]
assert max(copied["right mask"]) < 0.03
assert min(copied["off by one"] + copied["no mask"]) > 0.25
final_loss = {name: [np.mean(losses[name, seed][-20:]) for seed in SEEDS] for name in competitors}
assert 1.3 < min(final_loss["right mask"]) and max(final_loss["right mask"]) < 2.2
assert max(final_loss["off by one"]) < 0.05 and max(final_loss["no mask"]) < 0.05

every = 5  # steps that are averaged to one point
series = {
    name: np.array([losses[name, seed] for seed in SEEDS])
    .reshape(len(SEEDS), -1, every)
    .mean(axis=-1)
    for name in competitors
}
points = np.arange(1, series["no mask"].shape[1] + 1) * every
figure, ax = plotting.panels(1)
plotting.curves(
    ax, points, series, yscale="log", xlabel="training step", ylabel="loss", ylim=(1e-3, 8)
)
plotting.ticks_at(ax, y=[0.01, 0.1, 1])
plotting.picture(
    figure,
    caption="The broken models learn beautifully: their training loss falls and falls.",
    alt="Training loss on a logarithmic axis over 150 steps, with bands for three seeds. "
    "With the right mask it falls to about 1.9 and is almost flat at the end. Off by one and with "
    "no mask it falls on, to about a hundredth or less, off by one the faster.",
)

# %% [markdown]
# Nothing stops with an error. The loss falls, and the teacher-forced accuracy on held-out sentences is as good as it
# can be, which is itself the only warning. So read what the models write. Three words were given, and the others are
# the model's own.

# %% tags=["nbval-ignore-output"]
for name in competitors:
    print(name)
    for row in continue_sentences(trained[name, 0], held_out[:4]).tolist():
        given, own = vocabulary.decode(row[:3]), vocabulary.decode(row[3:])
        print(f"    {given} | {own}")

# %% [markdown]
# | symptom | what it may mean |
# |---|---|
# | loss near zero, accuracy near one, on a task with real uncertainty | the answer is in the input |
# | validation as perfect as training | the leak is in the model or in the data, not overfitting |
# | teacher-forced good, generation repeats itself or is nonsense | the model relies on what is not there when it writes |
# | teacher-forced and word-by-word accuracy differ (by more than rounding, in eval mode, with **every prefix run from
# the start**) | proof of a leak |
#
# The condition in the last line matters. `word_by_word` puts every prefix through the same model from the start,
# so the only thing that can differ is what comes after the prefix. Code that writes faster keeps the keys and
# values of earlier words instead (a *key/value cache*, lecture 8, section 12). If *its* numbers differ, the fault
# may as well be there, in a position counted wrongly or a mask in the wrong corner. And equal numbers prove
# nothing, because a model can see the future and make little use of it. The test of section 8 is stricter, and it
# needs no trained model.
#
# Even without a leak, teacher forcing is easier than writing, because a model in training never meets its own
# mistakes. This is called exposure bias (Ranzato et al., 2016), and it is a matter of degree. A leak is a bug.

# %% [markdown]
# ## Summary
#
# - A decoder may see the past and itself, $j \le i$. "Itself" is the word before its target, because the input is
#   the target, shifted by one.
# - One masked pass equals one pass per prefix. This makes training parallel, and it is a test.
# - Hide by −∞ before the softmax. A score of 0 hides nothing, and a mask after the softmax breaks the sum and
#   still leaks.
# - A row with nothing to attend to gets zeros, with finite gradients, if you fill before and after.
# - Padding hides keys and has the shape $(B, 1, 1, S)$; with `&` it combines with the causal mask to $(B, 1, T,
#   T)$.
# - In `F.scaled_dot_product_attention`, `True` shows, while in `nn.MultiheadAttention`, `True` hides.
# - Change a future word, and if an earlier output moves, the model leaks. The leaking models looked best in
#   training and could not write.
#
# **Now you:** [assignment a4, masks](../exercises/a4_masks/a4_masks.ipynb). After that comes [lecture
# 5](05_multi_head_attention.ipynb), with several heads at once. This is the end of the core. Sections 10 to 13 go
# deeper, and you can skip them.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 3, 4 and 6 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** Your mask is right, but you feed the targets *unshifted*. What happens?
#
# <details><summary>Answer</summary>
#
# Position $i$ sees itself, and itself is now the answer. So the model leaks although the mask is right, just as
# it does with a right shift and an off-by-one mask. Mask and shift belong together.
#
# </details>
#
# **2.** To be safe, somebody hides the diagonal too. All scores are equal, there are two layers, nothing is added to
# what attention returns, and a row that may attend to nothing is zero. What has word 3 read in the end?
#
# <details><summary>Answer</summary>
#
# Word 1 alone, and half as strongly as it should. In the first layer row 1 is empty, row 2 is word 1, and row 3 is the
# mean of words 1 and 2. In the second layer row 3 is the mean of the new rows 1 and 2, which are zero and word 1. So
# neither its own word nor word 2 gets there. (In the layers of section 8 the sum `x + …` would bring them.)
#
# </details>
#
# **3.** Why is multiplying the weights by the mask after the softmax a leak, although all hidden
# weights are zero?
#
# <details><summary>Answer</summary>
#
# The visible weights were divided by a sum that contains the hidden scores. A future word changes that sum, and
# with it every output of the row.
#
# </details>
#
# **4.** Why does the padding mask have the shape $(B, 1, 1, S)$ and not $(B, 1, S, 1)$?
#
# <details><summary>Answer</summary>
#
# The last axis is the keys. A mask $(B, 1, S, 1)$ would hide *queries*, so each pad would get an empty row, and
# every word would still attend to the pads.
#
# </details>
#
# **5.** Does an encoder leak, because it has no causal mask?
#
# <details><summary>Answer</summary>
#
# No, because a leak is a path from the answer to the output that must give it. The encoder reads the source, and
# the answer is in the target. BERT (Devlin et al., 2019) sees both sides of a word too, but there the words to be
# guessed are replaced in the *input*, nine times out of ten. This is called "masked" as well, but it is another
# kind of mask.
#
# </details>
#
# **6.** A model with six layers has the off-by-one mask in one of them and the right mask in the other five. How many
# future words can reach output $i$? Does it matter which layer it is?
#
# <details><summary>Answer</summary>
#
# One, whichever layer it is. That layer passes on one word more, and the others pass on nothing from the right.
#
# </details>
#
# **7.** You replace `F.scaled_dot_product_attention(…, attn_mask=m)` by `nn.MultiheadAttention` with
# `attn_mask=m`. The shapes fit and nothing complains. What does the model see now?
#
# <details><summary>Answer</summary>
#
# It sees exactly what was hidden before. With a causal `m`, each word sees the future only, and the last one sees
# nothing. Give `~m`, or an additive float mask.
#
# </details>
#
# **8.** A colleague trains a language model on short sentences and reports 99.9 % next-word accuracy
# on held-out text. Which two tests do you ask for?
#
# <details><summary>Answer</summary>
#
# Replace a future word and compare the earlier outputs, and compute the same accuracy word by word, with each
# whole prefix run again through the same model. If the first moves or the second differs, the model leaks. (With
# a faster writer that keeps earlier keys and values, a difference may be that writer's fault. If neither test
# finds anything, look at the data and ask whether the held-out sentences are really new.)
#
# </details>

# %% [markdown]
# ## 10. Going deeper: dividing by the sum afterwards
#
# Take one row with the scores $\omega_j$, and let $V$ be the set of its visible keys. If you mask after the
# softmax and then divide by what is left, the denominator $N$ of the full softmax cancels.
#
# $$\frac{\exp(\omega_j) / N}{\sum_{k \in V} \exp(\omega_k) / N}
# = \frac{\exp(\omega_j)}{\sum_{k \in V} \exp(\omega_k)} \qquad j \in V$$
#
# On a computer it does not always cancel. If a *hidden* score is far ahead, the visible weights underflow, which
# means that they are so small that they are rounded to zero before you divide, and in the end you divide zero by
# zero. How far ahead must it be? We take three visible scores, and one hidden score that runs away:


# %%
def error_of(way, lead, dtype):
    """Largest error of the weights when the hidden score is `lead` above the largest visible."""
    visible = torch.tensor([1.0, 0.0, 0.5])
    scores = torch.cat([visible, visible.max() + torch.tensor([float(lead)])]).to(dtype)
    weights = way(scores, torch.tensor([True, True, True, False]))
    return (weights[:3].double() - visible.double().softmax(dim=0)).abs().max().item()


# %% tags=["nbval-ignore-output"]
LEADS = [0, 6, 12, 18, 60, 90, 100, 120]
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
errors = {}
print("hidden lead", *[f"{lead:>5}" for lead in LEADS])
for way in (mask_and_renormalise, minus_infinity):
    print(way.__name__)
    for dtype in DTYPES:
        errors[way, dtype] = np.array([error_of(way, lead, dtype) for lead in LEADS])
        shown = [f"{error:5.0e}".replace("nan", "  NaN") for error in errors[way, dtype]]
        print(f"  {str(dtype).removeprefix('torch.'):<9}", *shown)

# %% tags=["hide-input"]
# division by the rest is NaN from leads of 18, 100 and 120 on, by type; −∞ stays exact to 0.004
half, brain, full = (errors[mask_and_renormalise, dtype] for dtype in DTYPES)
assert np.isnan(half[LEADS.index(18) :]).all() and not np.isnan(half[: LEADS.index(18)]).any()
assert (brain[: LEADS.index(60) + 1] < 4e-3).all() and np.isnan(brain[-2:]).all()
assert (full[: LEADS.index(60) + 1] < 1e-6).all() and np.isnan(full[-1])
assert not np.isnan(brain[LEADS.index(90)]) and not np.isnan(full[LEADS.index(100)])
assert half[LEADS.index(12)] > 5 * errors[minus_infinity, torch.float16].max()
for dtype, bound in zip(DTYPES, (1e-3, 4e-3, 1e-6), strict=True):
    assert (errors[minus_infinity, dtype] < bound).all()

# %% [markdown]
# With −∞ before the softmax, the error is the ordinary rounding of the number format, at every lead. Renormalised
# afterwards, a lead of 18 gives NaN in `float16`, whose smallest positive number is about $\exp(-16.6)$. It is
# the *range* that counts and not the number of bits, because `bfloat16` has 16 bits too, but nearly the range of
# `float32`. It is right at 18 and at 60, within its own coarse rounding, and NaN comes only beyond 90; in
# `float32` it comes beyond 100.
#
# Do such leads occur? Between random queries and keys they do not, because scaled scores then have a standard
# deviation of 1 (lecture 3). In trained models we can measure it. Here are the right models of section 9, on all
# held-out sentences:

# %%
leads = []


def note_leads(scores, mask):
    """masked_softmax that notes how far the best hidden score is ahead of the best visible one."""
    hidden, visible = scores.masked_fill(mask, -torch.inf), scores.masked_fill(~mask, -torch.inf)
    leads.append(hidden.amax(dim=-1) - visible.amax(dim=-1))  # (B, T)
    return masked_softmax(scores, mask)


# %% tags=["nbval-ignore-output"]
for seed in SEEDS:
    for layer in trained["right mask", seed].layers:
        layer.softmax = note_leads
    with torch.no_grad():
        trained["right mask", seed](masks.shift_right(held_out, BOS))
    for layer in trained["right mask", seed].layers:
        layer.softmax = masked_softmax

largest = [max(leads[k].max().item() for k in (2 * n, 2 * n + 1)) for n in range(len(SEEDS))]
print("largest lead of a hidden score, by seed:", *[f"{lead:.1f}" for lead in largest])

# %% tags=["hide-input"]
# every largest lead is between 4 and 17
assert all(4 < lead < 17 for lead in largest)

# %% [markdown]
# No lead reaches 18. In these models, dividing afterwards would have given no NaN, even in `float16`, and only an
# error some ten times the rounding where a lead is above ten. So this will not bite you every day. The point is
# that one version needs no thought, because training decides how far scores run apart, and a score that was
# overwritten with −∞ no longer matters.
#
# ### −1e9 for −∞
#
# *The Annotated Transformer* (Rush, 2018; its function `attention`) writes `-1e9` for −∞, and much code follows
# it. With at least one visible key, 32 bits and scores of ordinary size it gives the same weights. In `float16`
# the number does not exist (the largest is 65 504), and a row with nothing visible becomes a calm average over
# everything that was to be hidden:

# %%
quietly_wrong = row_scores.masked_fill(~nothing_visible, -1e9).softmax(dim=-1)

assert torch.finfo(torch.float16).max == 65504
assert torch.allclose(quietly_wrong, torch.full((4,), 0.25))
print("−1e9 with nothing visible:", quietly_wrong)

# %% [markdown]
# **Check yourself.** You train in `bfloat16`, and dividing afterwards has never given a NaN. You switch to
# `float16`, which has more digits. What may happen?
#
# <details><summary>Answer</summary>
#
# It has more digits but a smaller range, so NaN may appear in every row in which a hidden score leads by about 17
# or more, where `bfloat16` had room up to about 90.
#
# </details>

# %% [markdown]
# ## 11. Going deeper: five ways through an empty row
#
# Section 5 filled before and after the softmax. Here are three other ways, and two further questions. Does a NaN
# that comes from *somewhere else*, and should be seen, stay visible? And does a NaN appear on the way? PyTorch's
# anomaly detection, which looks for the first NaN in a backward pass, stops there.


# %%
def fill_then_repair(scores, mask):
    """Replace hidden scores by −∞, and any NaN by 0 when the damage is done."""
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).nan_to_num(0.0)


def add_then_fill(scores, mask):
    """Like `masked_softmax`, but −∞ is added to the scores, as in the formula of section 4."""
    penalty = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    return (scores + penalty).softmax(dim=-1).masked_fill(~mask, 0.0)


def never_divide(scores, mask):
    """Never compute 0 / 0: leave an empty row open, then multiply it by zero."""
    sees_something = mask.any(dim=-1, keepdim=True)  # (..., T, 1)
    hidden = ~mask & sees_something  # nothing is hidden in an empty row
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) * sees_something


def shows_a_foreign_nan(way):
    """Whether a NaN among the visible scores is still there in the weights."""
    broken = scores.clone()
    broken[2, 1] = torch.nan
    return bool(way(broken, one_row_empty).isnan().any())


def makes_no_nan(way):
    """Whether the backward pass gets by without any NaN."""
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(action="ignore"):
        try:
            what_stays_finite(way)
        except RuntimeError:
            return False
    return True


# %%
five_ways = (minus_infinity, fill_then_repair, add_then_fill, masked_softmax, never_divide)
columns = ["output", "grad W_q", "grad W_v", "foreign", "on the way"]
answers = {}
print(f"{'':<17}", *[f"{column:<8}" for column in columns])
for way in five_ways:
    answers[way] = [*what_stays_finite(way), shows_a_foreign_nan(way), makes_no_nan(way)]
    said = ["finite" if good else "NaN" for good in answers[way][:3]]
    said += ["shown" if answers[way][3] else "LOST", "no NaN" if answers[way][4] else "NaN"]
    print(f"{way.__name__:<17}", *[f"{word:<8}" for word in said])

# %% tags=["hide-input"]
# every word of this table, and that the last way gives the rows of course_utils.attention
assert answers == {
    minus_infinity: [False, True, False, True, False],
    fill_then_repair: [True, True, True, False, False],
    add_then_fill: [True, False, True, True, False],
    masked_softmax: [True, True, True, True, False],
    never_divide: [True, True, True, True, True],
}
reference_rows = attention.masked_softmax(scores, one_row_empty)
assert torch.allclose(never_divide(scores, one_row_empty), reference_rows, atol=1e-6)

# %% [markdown]
# - **`fill_then_repair`** turns *every* NaN into 0, also one that comes from a broken weight two layers below and
#   should have stopped you. Filling by the mask, as in section 5, touches hidden cells only.
# - **`add_then_fill`** has a clean output and a loss that is a number, but the gradient of `W_q` is NaN all the
#   same. The backward pass of the softmax multiplies by its own result, which *was* NaN. `masked_fill` writes
#   zeros over those NaNs on their way back, whereas an addition passes them on.
# - **`masked_softmax`**, the way of assignments 1 and 3, is right in output and gradient. It makes a NaN for a
#   moment and clears it, so anomaly detection stops at it.
# - **`never_divide`** makes none, and `course_utils.attention.masked_softmax` works like it.
#
# **Check yourself.** A colleague's model has clean outputs and a finite loss. After the first step, all weights
# of `W_q` and `W_k` are NaN, but those of `W_v` are not. Where do you look first?
#
# <details><summary>Answer</summary>
#
# Look at a row with nothing to attend to, and at how −∞ got into the scores. Was it added, as in `add_then_fill`?
# The gradient of `W_v` comes through the repaired weights and is finite, while those of `W_q` and `W_k` come
# through the softmax.
#
# </details>

# %% [markdown]
# ## 12. Going deeper: three more traps in PyTorch
#
# **The empty row.** In section 7, the last word of the wrong map had nothing to attend to. No convention says
# what comes out there, since it depends on the call, on its arguments and on the version of PyTorch. We ask the
# one that runs here:

# %% tags=["nbval-ignore-output"]
with torch.no_grad():
    without_weights, _ = module(sentence, sentence, sentence, attn_mask=mask, need_weights=False)
empty_rows = {
    "F.scaled_dot_product_attention": by_function(~mask)[-1],
    "nn.MultiheadAttention, need_weights=True": by_module(mask)[-1],
    "nn.MultiheadAttention, need_weights=False": without_weights[0, -1],
}
print(f"a row with nothing to attend to, torch {torch.__version__.split('+')[0]}")
for call, row in empty_rows.items():
    assert (row.nan_to_num(0.0) == 0).all()  # zeros or NaN, whatever the version
    print(f"  {call:<42} {'NaN' if row.isnan().any() else 'zeros'}")

# %% [markdown]
# With torch 2.13 the function gives zeros. The module gives NaN when it is asked for the weights, which is its
# default, and zeros when it is not, because it then calls the function. (A last linear map follows in the module,
# the output projection of lecture 5. It adds its bias to the zeros, which is 0 in a new module.) Older versions
# of the function gave NaN too (pytorch/pytorch #103963), and NaN gradients of the module have been reported since
# 2020 (#41508), so that may change as well. Rely on neither, but give every row something to attend to, or use a
# softmax like the one of section 5.
#
# **Padding.** `key_padding_mask` wants `True` at the pads. (Its shape is $(B, S)$, and for this argument that is
# right.)

# %%
short = shifted[1:]  # (1, T): <bos> thanks <eos> <pad> <pad>
is_pad = short == PAD
with torch.no_grad():
    _, hidden_pads = module(sentence, sentence, sentence, key_padding_mask=is_pad)
    _, only_pads = module(sentence, sentence, sentence, key_padding_mask=~is_pad)

assert hidden_pads[0][:, is_pad[0]].sum() == 0
assert torch.allclose(only_pads[0][:, is_pad[0]].sum(dim=-1), torch.ones(T))
print(f"key_padding_mask = (ids == pad): weight on pads {hidden_pads[0][0, is_pad[0]].sum():.2f}")
print(f"key_padding_mask = (ids != pad): weight on pads {only_pads[0][0, is_pad[0]].sum():.2f}")

# %% [markdown]
# **The corner.** A decoder that writes word by word asks with the newest word only. In
# `F.scaled_dot_product_attention`, `is_causal=True` puts the triangle into the *top left* corner. A single new
# query with five keys is then taken for word 1, and sees only the first key.

# %%
unit = torch.eye(T).unsqueeze(0)
last_query = F.scaled_dot_product_attention(sentence[:, -1:], sentence, unit, is_causal=True)

assert last_query[0, 0].tolist() == [1, 0, 0, 0, 0]
print("one query, five keys, is_causal=True:", last_query[0, 0])

# %% tags=["hide-input"]
# a mask of 0 and −∞ that is added gives the same weights, by function and by module
additive = torch.zeros(T, T).masked_fill(~mask, -torch.inf)  # 0 shows, -inf hides
for weights in (by_function(additive), by_module(additive)):
    assert torch.allclose(weights, reference, atol=1e-6)

# %% [markdown]
# **Check yourself.** Which mask does this newest word need, if all five keys are already written?
#
# <details><summary>Answer</summary>
#
# It needs none as far as time goes, because everything that exists is the past or itself. Only padding must be
# hidden.
#
# </details>

# %% [markdown]
# ## 13. Going deeper: finding a leak by derivatives
#
# If nothing leads from input $j$ to output $i$, the derivative of the output with respect to the input is exactly
# zero. If something does, it is usually not zero. One call gives all pairs:
#
# $$J_{ij} = \left\lVert \frac{\partial\, \text{output}^{(i)}}{\partial\, x^{(j)}} \right\rVert$$
#
# where $x^{(j)}$ is the word vector at position $j$, $\text{output}^{(i)}$ the scores of all words at position
# $i$, and the norm runs over all derivatives of the one with respect to the other. Compared with replacing words,
# the advantage is that nobody has to choose a replacement.


# %%
def dependence(model, ids):
    """J[i, j]: size of the derivative of output i by word vector j. ids (1, T) -> (T, T)."""
    mask = model.may_attend(ids)
    x = model.word_vectors(ids).detach()  # (1, T, D)

    def outputs(x):
        return model.read(x, mask)[0]  # (T, vocabulary)

    # all derivatives of all outputs by all entries of x: (T, vocabulary, 1, T, D)
    jacobian = torch.autograd.functional.jacobian(outputs, x, vectorize=True)
    return jacobian.squeeze(2).pow(2).sum(dim=(1, 3)).sqrt()  # (T, vocabulary, T, D) -> (T, T)


matrices = {name: dependence(model, probe) for name, model in models.items()}
for name, matrix in matrices.items():
    found_by_derivative = matrix.triu(diagonal=1) > 0
    assert torch.equal(found_by_derivative, leaks(moved_outputs(models[name], probe, 7)))
print("derivatives and replaced words find the same leaks")

# %% tags=["hide-input"]
shares = [matrix / matrix.sum(dim=-1, keepdim=True) for matrix in matrices.values()]
figure = plotting.attention_maps(
    shares,
    list(matrices),
    hidden=[matrix == 0 for matrix in matrices.values()],
    limit=0.6,
    columns=2,
    size=(10, 8.4),
    query_label="output at position",
    key_label="input at position",
    colour_label="share of the derivative",
)
right_of, step = np.repeat(np.arange(7) + 0.5, 2)[:-1], np.repeat(np.arange(7) - 0.5, 2)[1:]
for ax in figure.axes[:4]:
    ax.plot(right_of, step, color="white", marker="", linewidth=7)
    ax.plot(right_of, step, color="black", linestyle="-", marker="", linewidth=3)
    ax.set_xticks(range(7), range(1, 8))
    ax.set_yticks(range(7), range(1, 8))
plotting.picture(
    figure,
    caption="How much each output depends on each input; right of the stairs lies the future.",
    alt="Four dependence matrices, outputs 1 to 7 as rows, inputs 1 to 7 as columns, each row as "
    "shares of its sum; exact zeros are hatched, and stairs above the diagonal divide past and "
    "future. Right mask: all 21 cells of the future are hatched, the diagonal is largest. No mask: "
    "none of them is. Off by one: two diagonals of the future hold numbers. Mask after the softmax: "
    "all 21 hold numbers again, small ones.",
)

# %% [markdown]
# Each row is divided by its sum. Beyond the stairs, every cell should be hatched, which means exactly zero. A
# cell with neither number nor stripes holds less than 0.005, which is small but not zero.
#
# **Check yourself.** Beyond the stairs, all cells of a row are without a number and none is hatched. Is that a
# leak?
#
# <details><summary>Answer</summary>
#
# Yes, it is. Each number is only too small to be shown, and its size depends on the weights of this moment.
# Training can make a small path larger, because a path to the answer lowers the loss.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Ronald J. Williams, David Zipser (1989). *[A Learning Algorithm for Continually Running Fully Recurrent
#   Neural Networks.](https://doi.org/10.1162/neco.1989.1.2.270)* Neural Computation 1(2). The section on
#   teacher forcing.
# - Mathieu Germain, Karol Gregor, Iain Murray, Hugo Larochelle (2015). *[MADE: Masked Autoencoder for
#   Distribution Estimation.](https://arxiv.org/abs/1502.03509)* ICML. Section 4: masks that make any order
#   of prediction honest.
# - Aäron van den Oord, Nal Kalchbrenner, Koray Kavukcuoglu (2016). *[Pixel Recurrent Neural
#   Networks.](https://arxiv.org/abs/1601.06759)* ICML. Section 3.4: masked convolutions, for pictures;
#   whether a colour of the present pixel may see itself is the question of the diagonal.
# - Marc'Aurelio Ranzato, Sumit Chopra, Michael Auli, Wojciech Zaremba (2016). *[Sequence Level Training
#   with Recurrent Neural Networks.](https://arxiv.org/abs/1511.06732)* ICLR. Names exposure bias.
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz Kaiser,
#   Illia Polosukhin (2017). *[Attention Is All You Need.](https://arxiv.org/abs/1706.03762)* NeurIPS.
#   Section 3.1: the offset by one position; section 3.2.3: illegal connections set to −∞ before the
#   softmax.
# - Jacob Devlin, Ming-Wei Chang, Kenton Lee, Kristina Toutanova (2019). *[BERT: Pre-training of Deep
#   Bidirectional Transformers for Language Understanding.](https://arxiv.org/abs/1810.04805)* NAACL.
#   Section 3.1: masked words, the other meaning of the word.
