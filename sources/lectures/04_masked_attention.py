# ---
# jupyter:
#   course:
#     assignment: a4_masks
#     deeper: 19
#     minutes: 51
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
# A model that learns to generate text must not attend to the **tokens** it is about to predict. Tokens are the units that
# a model reads; ours are words, punctuation and marks such as `<bos>`. A **mask** decides which query may attend to which
# key. It takes one line of code, and if that line lets through too much, training looks perfect and the model is useless.
#
# <!-- slide: By the end you can build masks and find leaks -->
#
# **By the end of this lecture you will be able to**
#
# - explain why a decoder must not see the future, and build shifted targets;
# - build causal and padding masks, combine them, and predict their shapes;
# - explain why −∞ is written *before* the softmax, and handle a query that may attend to nothing;
# - find a leak in a model without training it, and say what this test cannot see.
#
# **Time** about 51 minutes with views and questions, and 19 for going deeper.
# **Needs** queries, keys, values and the scale of [lecture 3](03_scaled_dot_product_attention.ipynb).

# %%
import warnings
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course_utils import attention, masks
from lecture_kit import data, live, plotting, questions

plotting.use_course_style()
torch.set_printoptions(precision=4, sci_mode=False)
torch.set_num_threads(1)  # models this small gain little from two, and lose much on a busy machine

# %% [markdown]
# ## 1. What a decoder may know
#
# A decoder **generates** a sentence one token at a time. When it predicts token 3, neither token 3 nor any later one
# exists. In training they all exist, and token 3 is input 4. So one pass can predict all tokens in parallel, each
# from the true tokens before it, as in the **teacher forcing** of lecture 1 (Williams and Zipser, 1989). This is also
# dangerous, because the answers are in the same tensor as the questions.
#
# <!-- slide: Input 4 is the answer that output 3 must give -->
#
# ![Three rows of five boxes. Below, the shifted input: bos, can, you, help, me, at positions 1 to 5.
# In the middle the outputs z1 to z5. On top the targets: can, you, help, me, eos. Solid
# arrows lead from inputs 1, 2 and 3, bos, can and you, to output 3: the past and itself may be
# seen. Dashed arrows from inputs 4 and 5, help and me, to output 3 are crossed out: they are
# the future. Input 4, help, and target 3, help, have the same colour: input 4 is the answer that
# output 3 must give.](../figures/shifted_targets.svg)
#
# *Output 3 must predict "help". It may attend to inputs 1 to 3, while input 4 is the answer.*
#
# Let $y^{(1)}, \dots, y^{(T)}$ be the target tokens. The input at position $i$ is the token *before* the target,
# $y^{(i-1)}$, where $y^{(0)}$ is `<bos>`, the beginning of a sentence. From the output $z^{(i)}$ the model predicts
# $y^{(i)}$.
#
# So **position $i$ may attend to position $j$ if $j \le i$.** A position may attend to itself, because its input is
# $y^{(i-1)}$. Only the next input is the answer, $y^{(i)}$. Any path from an answer to the output that has to predict
# it is a **leak**. Only the decoder is restricted like this, because an encoder reads a sentence that is finished.

# %% [markdown]
# ## 2. Shifted targets
#
# The shift puts `<bos>` in front, moves every token one position to the right, and drops the last target, because
# nothing follows it. The second sentence is shorter and is filled up with `<pad>`.

# %% slide="The shift puts `<bos>` in front and drops the last target"
vocabulary = ["<pad>", "<bos>", "<eos>", "can", "you", "help", "me", "thanks"]
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
    print(f"{name:>7}: " + " ".join(f"{vocabulary[k]:>6}" for k in row))

# %% [markdown]
# Position $i$ sees inputs 1 to $i$. Since the inputs are shifted, these are `<bos>` and the targets 1 to $i-1$.

# %% [markdown]
# ## 3. The causal mask
#
# ### First without a mask
#
# The output at position $i$ should be what it would be if the sentence ended there. So we let it end there, in a loop
# that never touches the future. Random vectors stand for the queries, keys and values of five tokens.

# %% slide="A loop that never touches the future"
generator = torch.Generator().manual_seed(4)
d_k, d_v = 4, 6
query = torch.randn(T, d_k, generator=generator)
key = torch.randn(T, d_k, generator=generator)
value = torch.randn(T, d_v, generator=generator)

output_by_loop = torch.empty(T, d_v)
for i in range(T):
    scaled_scores = key[: i + 1] @ query[i] / d_k**0.5  # (i + 1,)
    output_by_loop[i] = scaled_scores.softmax(dim=0) @ value[: i + 1]

# %% [markdown]
# ### Then the mask
#
# A mask is a `bool` tensor with one row per query and one column per key. In this course **`True` means may
# attend**, while some of PyTorch's modules mean the opposite (section 8). Here are two ways to build the causal mask:

# %% slide="The causal mask is the rule $j \\le i$, written down"
position = torch.arange(T)
by_comparison = position[None, :] <= position[:, None]  # (1, T) with (T, 1) -> (T, T)
by_tril = torch.ones(T, T, dtype=torch.bool).tril()  # the lower triangle with its diagonal
print(by_tril.int())

# %% tags=["hide-input"]
for i in range(T):
    for j in range(T):
        assert by_comparison[i, j] == by_tril[i, j] == (j <= i)
assert torch.equal(masks.causal_mask(T), by_tril)
print("both are the mask of course_utils")

# %% [markdown]
# The comparison is the rule $j \le i$ itself, so it is easy to check and to change. With `& (position[:, None] -
# position[None, :] < 3)`, each token sees a window of three.

# %% slide="How many cells does a causal mask leave visible?" tags=["hide-input"]
questions.ask("04", "how-many-cells-are-visible")

# %% [markdown]
# ### −∞ before the softmax
#
# A hidden key must get the weight 0, and the visible weights must still sum to one. The softmax does both if the
# hidden *score* is −∞, because $\exp(-\infty) = 0$. With the scores $\omega_{ij} =
# q^{(i)} \cdot k^{(j)}$ of lecture 3, the weights are
#
# <!-- slide: A hidden score of −∞ becomes a weight of exactly 0 -->
#
# $$\alpha_{ij} = \frac{\exp(\omega_{ij} / \sqrt{d_k} + m_{ij})}{\sum_{k=1}^{T} \exp(\omega_{ik} / \sqrt{d_k} + m_{ik})}
# \qquad m_{ij} = \begin{cases} 0 & \text{if } i \text{ may attend to } j \\
# -\infty & \text{if not} \end{cases}$$
#
# Code usually writes −∞ *over* the hidden scores instead of adding it.


# %% slide="One masked pass equals one pass per prefix"
def masked_softmax(scores, mask):
    """Softmax over the visible keys; masked_fill writes where it is told True, so it gets ~mask."""
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


mask = masks.causal_mask(T)  # (T, T)
scaled_scores = query @ key.T / d_k**0.5  # (T, T): all at once, the future among them
weights = masked_softmax(scaled_scores, mask)  # (T, T)
output = weights @ value  # (T, d_v)
print("one masked pass gives what five passes gave:", torch.allclose(output, output_by_loop))

# %% tags=["hide-input"]
assert (weights[~mask] == 0).all() and torch.allclose(output, output_by_loop, atol=1e-6)
of_the_course = attention.scaled_dot_product_attention(query, key, value, mask)
assert torch.allclose(output, of_the_course[0], atol=1e-6)
assert torch.allclose(weights, of_the_course[1], atol=1e-6)
print("hidden weights are exactly 0; course_utils.attention agrees")

# %% [markdown]
# One masked pass replaces $T$ separate passes, which is why decoders are trained with a mask.
#
# ### A mask inside a module
#
# A causal mask is not a parameter, but it should move to the GPU with the model, and this is what **buffers** are
# for. The head below cuts its mask to the length of the input. Section 4 explains its argument `not_padding`; dropout
# on the weights comes in lecture 7.


# %% slide="In a module, the mask is a buffer"
class MaskedSelfAttention(nn.Module):
    """One head under a mask: x (B, T, D) -> (B, T, D)."""

    def __init__(self, d_model, may_attend):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.register_buffer("may_attend", may_attend)  # (max_len, max_len), bool
        self.softmax = masked_softmax

    def forward(self, x, not_padding=True):
        query, key, value = self.w_q(x), self.w_k(x), self.w_v(x)  # (B, T, D) each
        scaled_scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (B, T, T)
        T = x.shape[1]
        mask = self.may_attend[:T, :T] & not_padding
        return self.softmax(scaled_scores, mask) @ value


# %% tags=["hide-input"]
torch.manual_seed(4)
layer = MaskedSelfAttention(d_k, masks.causal_mask(8))
x = torch.randn(B, T, d_k)
expected, _ = attention.scaled_dot_product_attention(layer.w_q(x), layer.w_k(x), layer.w_v(x), mask)
assert torch.allclose(layer(x), expected, atol=1e-6)
assert [name for name, _ in layer.named_buffers()] == ["may_attend"]
assert len(list(layer.parameters())) == 3
print("the module gives what course_utils gives; its mask is a buffer and no parameter")

# %% [markdown]
# ### Four ways to do it, two of them wrong
#
# Take one query with four keys, of which the last two are the future.

# %% slide="Two of four ways to hide a key are wrong"
row_scores = torch.tensor([1.0, 0.0, 2.0, 1.0])
row_mask = torch.tensor([True, True, False, False])

after_softmax = row_scores.softmax(dim=-1) * row_mask
ways = {
    "score set to 0": (row_scores * row_mask).softmax(dim=-1),
    "mask after the softmax": after_softmax,
    "mask after, renormalised": after_softmax / after_softmax.sum(),
    "−∞ before the softmax": row_scores.masked_fill(~row_mask, -torch.inf).softmax(dim=-1),
}
for name, row in ways.items():
    print(f"{name:<25}", row, f"sum {row.sum():.2f}")

# %% tags=["hide-input"]
# −∞ and renormalising give the same weights; the other two leave 0.35 on the future, or a sum of 0.27
right = ways["−∞ before the softmax"]
assert abs(right.sum() - 1) < 1e-6 and (right[2:] == 0).all()
assert abs(ways["score set to 0"][2:].sum() - 0.35) < 0.005
assert abs(ways["mask after the softmax"].sum() - 0.27) < 0.005
assert torch.allclose(ways["mask after, renormalised"], right)
louder = torch.tensor([1.0, 0.0, 6.0, 1.0]).softmax(dim=-1)[:2].sum()
assert ways["mask after the softmax"].sum() - louder > 0.25

# %% [markdown]
# <!-- slide: Zeros hide nothing, and masking after the softmax leaks -->
#
# - **A score of 0 hides nothing**, because $\exp(0) = 1$, and the future keeps 35 % of the weight.
# - **The mask after the softmax** leaves a row that no longer sums to one. Worse, **it leaks**: the hidden scores are
#   still in the denominator, so tokens 1 and 2 lose weight when the score of token 3 grows.
# - **Renormalised**, the row is right on paper, and usually on a computer, too (section 7). −∞ before the softmax
#   needs no such care.

# %% slide="Where does the weight go if hidden scores are 0?" tags=["hide-input"]
questions.ask("04", "zero-for-hidden-scores")

# %% [markdown]
# ### Click on a mask
#
# The map has a row for each query and a column for each key. Click on a cell, or walk to it with the arrow keys and
# press the space bar, to hide or show it. Predict first, and then try:
#
# 1. Hide "you" from "me", in the last row. What happens to the other weights of this row, and to the other rows?
# 2. **Find the leak.** Under *attention* there are three more masks. One leaks, one leaves a position with nothing to
#    see, and one is safe but hides more than it must. Which is which, and through which cell does the answer get in?

# %% slide="Find the leak: which of three masks lets the answer through?" tags=["hide-input"]
inputs = ["<bos>", "can", "you", "help", "me"]
one_more_hidden = masks.causal_mask(T)
one_more_hidden[4, 2] = False
one_leak = masks.causal_mask(T)
one_leak[2, 3] = True  # the row that must predict "help" sees "help"
shown = {
    "causal": mask,
    "mask A": one_leak,
    "mask B": by_tril.tril(diagonal=-1),  # nobody sees itself
    "mask C": by_tril & ~by_tril.tril(diagonal=-2),  # itself and the token before
}

before, after = (
    attention.masked_softmax(scaled_scores, chosen)[4] for chosen in (mask, one_more_hidden)
)
growth = (after / before)[one_more_hidden[4]]  # (4,), one factor for all
assert torch.allclose(growth, growth[0]) and abs(growth[0] - 1.47) < 0.005
assert abs(attention.masked_softmax(scaled_scores, one_leak)[2, 3] - 0.07) < 0.005
for letter, leaks_somewhere, leaves_nothing in [("A", 1, 0), ("B", 0, 1), ("C", 0, 0)]:
    chosen = shown[f"mask {letter}"]
    assert (chosen & ~mask).sum() == leaks_somewhere
    assert (~chosen.any(dim=-1)).sum() == leaves_nothing

rounded_vectors = [numbers.round(decimals=3) for numbers in (query, key, value)]
_, rounded = attention.scaled_dot_product_attention(*rounded_vectors, mask)
assert torch.allclose(rounded, weights, atol=2e-3)  # the view shows what was computed above

live.attention_view(
    *(
        live.Attention(*rounded_vectors, inputs, mask=chosen, model=name, sentence=" ".join(inputs))
        for name, chosen in shown.items()
    ),
    caption="Five tokens under a mask of your choice, with random queries, keys and values",
    query=4,
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# - Hiding a cell multiplies the other visible weights of *that row* by one factor, here 1.47, and changes no other row.
# - Mask B hides the diagonal, so the first row sees nothing and gets zeros.
# - Mask A leaks, because the row of "you" must predict "help" and sees "help". The weight is only 0.07, but training
#   would raise it, since attending to the answer lowers the loss.
# - Mask C shows each token itself and the one before.
#
# </details>

# %% [markdown]
# ## 4. Padding
#
# Short sentences of a batch are filled up with `<pad>`, to which no query should attend.
#
# <!-- slide: Padding hides keys, never queries -->
#
# - **Only keys are masked.** The row of a pad may compute whatever it likes, since the loss leaves out every
#   position whose *target* is a pad.
# - **Masks combine by `&`**, because a key may be seen only if *every* mask allows it.
# - **Shapes do the rest.** Scores are $(B, H, T, S)$: batch, heads (for now one), queries and keys. Where a mask is the
#   same along an axis, it has length 1 there, and broadcasting stretches it.
#
# <!-- slide: Two masks combine to one of shape $(B, 1, T, T)$ -->
#
# ![Two sentences, bos can you help me and bos thanks eos pad pad. On the left the padding mask of
# shape B, 1, 1, S: one row of five cells for each sentence, all visible in the first, the last two
# hidden in the second. In the middle the causal mask of shape T, T, a lower triangle of five by
# five cells, one for all sentences. Joined by the and sign they give, on the right, the decoder
# mask of shape B, 1, T, T: for the first sentence the lower triangle; for the second the lower
# triangle with the columns of both pads hidden, so that its last three rows all see bos, thanks
# and eos. Hidden cells are hatched.](../figures/mask_broadcast.svg)
#
# *Each axis of length 1 is stretched, and hatched cells are hidden.*

# %% slide="Broadcasting stretches every axis of length 1"
not_padding = (shifted != PAD)[:, None, None, :]  # (B, 1, 1, T)
decoder_mask = not_padding & masks.causal_mask(T)  # (B, 1, 1, T) & (T, T) -> (B, 1, T, T)
print(tuple(not_padding.shape), "&", (T, T), "->", tuple(decoder_mask.shape))

# %% tags=["hide-input"]
assert torch.equal(not_padding, masks.padding_mask(shifted, PAD))
assert torch.equal(decoder_mask, masks.decoder_mask(shifted, PAD))
for b in range(B):
    for i in range(T):
        for j in range(T):
            assert decoder_mask[b, 0, i, j] == (j <= i and shifted[b, j] != PAD)
print("masks.padding_mask and masks.decoder_mask give the same")

# %% [markdown]
# The module of section 3 does this with `& not_padding`, of shape $(B, 1, T)$ because it has no axis for heads.

# %% tags=["hide-input"]
# the module joins both masks, too
expected, _ = attention.scaled_dot_product_attention(
    layer.w_q(x), layer.w_k(x), layer.w_v(x), decoder_mask[:, 0]
)
assert torch.allclose(layer(x, not_padding[:, 0]), expected, atol=1e-6)

# %% [markdown]
# The result for a sentence must not depend on which other sentences share its batch. We check this for "`<bos>`
# thanks `<eos>`", with random vectors:

# %% slide="Masked, a sentence does not notice its neighbours in the batch"
table = torch.randn(len(vocabulary), d_k, generator=generator)  # a vector for every token
vectors = table[shifted][:, None]  # (B, 1, T, d_k)
alone = vectors[1:, :, :3]  # "<bos> thanks <eos>", without padding
unpadded, _ = attention.scaled_dot_product_attention(alone, alone, alone)  # (1, 1, 3, d_k)
for name, chosen in [("no mask", None), ("padding mask", not_padding)]:
    padded, _ = attention.scaled_dot_product_attention(vectors, vectors, vectors, chosen)
    moved = (padded[1, :, :3] - unpadded[0]).abs().max()
    print(f"{name:>12}: next to a longer sentence, the outputs change by up to {moved:.3f}")

# %% tags=["hide-input"]
# with the mask, no output moves; without it, some move by more than 0.1
assert moved < 1e-6
without, _ = attention.scaled_dot_product_attention(vectors, vectors, vectors)
assert (without[1, :, :3] - unpadded[0]).abs().max() > 0.1

# %% [markdown]
# Under a causal mask, pads on the right are hidden already, because they stand after every token of their sentence,
# so the padding mask changes only the rows of the pads. A padding mask is needed where attention looks both ways, as
# in an encoder, or where padding stands on the left.
#
# Do not omit the axes of length 1. Broadcasting aligns shapes from the *right*, so a mask $(B, S)$ is read as $(T, S)$,
# with one row per *query* instead of one per sentence. Usually that stops with an error, but not always (section 8).

# %% slide="What does a padding mask without its axes of length 1 do?" tags=["hide-input"]
questions.ask("04", "a-flat-padding-mask")

# %% [markdown]
# ### Rows with nothing to attend to
#
# If all keys of a query are hidden, as when a sentence is padded on the left under a causal mask, the softmax is $0/0$:

# %% slide="With every key hidden, the softmax is NaN"
left_padded = masks.decoder_mask(torch.tensor([[PAD, PAD, BOS, 3]]), PAD)[0, 0]  # (4, 4)
print(left_padded.int())
empty_rows = masked_softmax(torch.zeros(4, 4), left_padded)
print(empty_rows)

values = torch.ones(4, 2, requires_grad=True)
(empty_rows @ values)[2:].sum().backward()  # the loss leaves out both empty rows
print("gradient of the values:", values.grad.flatten())

# %% [markdown]
# A NaN does not stay in its row. The loss leaves the empty rows out, so their gradient is 0, but the backward pass
# multiplies it by the NaN weights, and $0 \cdot \mathrm{NaN} = \mathrm{NaN}$. One optimiser step then ruins the model. In
# this course **a query that may attend to nothing gets weights and output zero, with finite gradients.** One way is to
# fill before the softmax and again after it, as the module does from now on.


# %% slide="Fill before the softmax and again after it"
def masked_softmax(scores, mask):
    """Softmax over the visible keys; a row with nothing visible gives zeros."""
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)  # changes empty rows only: elsewhere it was 0 already


# %% tags=["hide-input"]
# rows that see something are unchanged, empty rows are zero, as in course_utils.attention
one_row_empty = mask.clone()
one_row_empty[0] = False
ours = masked_softmax(scaled_scores, one_row_empty)
assert torch.allclose(ours, attention.masked_softmax(scaled_scores, one_row_empty), atol=1e-6)
assert (ours[0] == 0).all() and torch.allclose(ours[1:], weights[1:], atol=1e-6)
assert (masked_softmax(torch.zeros(4, 4), left_padded)[:2] == 0).all()

# %% [markdown]
# ## 5. Finding a leak
#
# ### Without training
#
# An argument called `mask` may be applied after the softmax, or ignored. So we test what the *model* does:
#
# <!-- slide: Test the model, not its mask -->
#
# > **Change token $j$. Which outputs change? None before $j$ may.**
#
# We test a small language model: two layers of masked attention, each followed by a small network, and logits for each
# possible next token. One line matters here, the call of `attend`, since no other line mixes positions. Position
# vectors come in lecture 6, and the sums `x + …`, **residual connections**, in lecture 7.


# %%
class LanguageModel(nn.Module):
    """Logits for the token that each position must predict: ids (B, T) -> (B, T, V)."""

    def __init__(self, vocabulary_size, may_attend, d_model=64):
        super().__init__()
        self.token_vectors = nn.Embedding(vocabulary_size, d_model)
        self.position_vectors = nn.Embedding(len(may_attend), d_model)
        self.attention, self.feed_forward = nn.ModuleList(), nn.ModuleList()
        for _ in range(2):
            wide, narrow = nn.Linear(d_model, 2 * d_model), nn.Linear(2 * d_model, d_model)
            self.attention.append(MaskedSelfAttention(d_model, may_attend))
            self.feed_forward.append(nn.Sequential(wide, nn.ReLU(), narrow))
        self.to_logits = nn.Linear(d_model, vocabulary_size)

    def forward(self, ids):
        x = self.token_vectors(ids) + self.position_vectors.weight[: ids.shape[1]]  # (B, T, D)
        for attend, feed_forward in zip(self.attention, self.feed_forward, strict=True):
            x = x + attend(x, (ids != PAD)[:, None, :])  # the only line that mixes positions
            x = x + feed_forward(x)
        return self.to_logits(x)  # (B, T, V)


# %% [markdown]
# The test treats the model as a black box from ids to logits. An *untrained* one is usually enough, because the mask does
# not depend on the parameters.


# %% slide="Change one token, and compare all outputs"
@torch.no_grad()
def changed_outputs(model, ids, other):
    """changed[i, j]: how much output i changes when token j becomes `other`. ids (1, T) -> (T, T)."""
    before = model(ids)[0]  # (T, V)
    changed = torch.empty(ids.shape[1], ids.shape[1])
    for j in range(ids.shape[1]):
        replaced = ids.clone()
        replaced[0, j] = other
        changed[:, j] = (model(replaced)[0] - before).abs().amax(dim=-1)
    return changed


def leaks(changed):
    """True at (i, j), j after i, where the future got through."""
    return changed.triu(diagonal=1) > 1e-6


# %% [markdown]
# We test four models, only the first of which is masked correctly.


# %%
def mask_after_softmax(scores, mask):
    return scores.softmax(dim=-1) * mask


VOCABULARY_SIZE = 30  # any size will do, since nothing is trained yet
max_len = 11
padding_only = torch.ones(max_len, max_len, dtype=torch.bool)
causal, off_by_one = padding_only.tril(), padding_only.tril(diagonal=1)

torch.manual_seed(5)
models = {
    "causal": LanguageModel(VOCABULARY_SIZE, causal),
    "off by one": LanguageModel(VOCABULARY_SIZE, off_by_one),
    "padding only": LanguageModel(VOCABULARY_SIZE, padding_only),
    "mask after the softmax": LanguageModel(VOCABULARY_SIZE, causal),
}
for attend in models["mask after the softmax"].attention:
    attend.softmax = mask_after_softmax

# %%
probe = torch.tensor([[BOS, 3, 4, 5, 6, 8, 9]])  # (1, T): seven different ids
UNUSED = 7  # an id that the probe does not contain
for name, model in models.items():
    found = leaks(changed_outputs(model, probe, other=UNUSED))
    print(f"{name:<23} {int(found.sum()):2d} of 21 pairs leak")

# %% slide="Two layers carry a leak of one token two tokens far" tags=["hide-input"]
figure, axes = plotting.panels(4, height=3.2)
for number, (ax, (name, model)) in enumerate(zip(axes, models.items(), strict=True)):
    reacts = changed_outputs(model, probe, other=UNUSED) > 1e-6
    names = [str(i) for i in range(1, 8)]
    plotting.mask_map(
        reacts,
        names,
        names,
        ax,
        query_label="" if number else "output i",
        key_label="changed token j",
    )
    for i, j in leaks(reacts.float()).nonzero().tolist():
        plotting.dot_cell(ax, i, j)
    ax.set_title(name.replace(" the ", "\nthe "), fontsize=12)
    ax.set_aspect("equal")
plotting.picture(
    figure,
    caption="Filled: output i changes when token j is replaced. A dot marks a leak, j after i.",
    alt="Four grids of seven outputs in rows and seven changed tokens in columns. Causal: the lower triangle with its "
    "diagonal is filled, no dots. Off by one: two further diagonals above it are filled and dotted, 11 leaks. Padding "
    "only and mask after the softmax: all cells are filled, and all 21 above the diagonal are dotted.",
)

# how far each model sees ahead: 0, 2, 6 and 6 tokens; and every output reacts to all tokens up to its own
past = torch.ones(7, 7, dtype=torch.bool).tril()
for model, reach in zip(models.values(), (0, 2, 6, 6), strict=True):
    changed = changed_outputs(model, probe, other=UNUSED)
    assert torch.equal(leaks(changed), torch.ones(7, 7).triu(1).tril(reach).bool())
    assert (changed[past] > 1e-4).all()

# %% [markdown]
# The off-by-one mask reveals only one extra token, yet output 1 depends on two: position 1 sees position 2, which in the
# layer below has already seen position 3. The mask of the last model is correct, which is why you test the model, not the
# mask.
#
# If the test finds a leak, that is proof, provided that `eval()` has switched off dropout. Finding none counts only
# if each output also reacts to the *earlier* tokens (section 6). **And the test sees the model, not the training
# pairs.** If you forget the shift, the test finds no leak, so also check that input $i$ is target $i-1$, not target
# $i$.
#
# ### What a leak looks like when you train
#
# Three of these models now learn the English side of our corpus. We measure each in three ways, on 300 held-out
# sentences, none of which is in the training data:
#
# <!-- slide: One model, measured in three ways -->
#
# 1. **Teacher-forced.** The whole sentence goes in, and each position predicts its token, as validation usually does.
# 2. **Token by token.** The input is cut off at position $i$ before the model predicts, so there is nothing to copy.
# 3. **Free-running.** The model gets three tokens and generates the rest. The result is **well-formed** if it ends and
#    all its pairs of neighbours occur in the training sentences.

# %% tags=["hide-input"]
drawn = [pair.target for pair in data.sample_pairs(30_000, seed=0, part="train")]
sentences = list(dict.fromkeys(text for text in drawn if len(text.split()) < max_len))
english = data.Vocabulary.from_sentences(sentences)
rows = [[*english.encode(text), EOS] for text in sentences]
ids = torch.tensor([row + [PAD] * (max_len - len(row)) for row in rows])  # (sentences, max_len)
held_out, train_ids = ids[:300], ids[300:]
assert (PAD, BOS, EOS) == (data.PAD_ID, data.BOS_ID, data.EOS_ID)
print(f"{len(train_ids)} sentences to train, {len(held_out)} held out, {len(english)} tokens")
print("for example:", sentences[0])


# %% tags=["hide-input"]
def train(may_attend, seed, steps=150):
    torch.manual_seed(seed)
    model = LanguageModel(len(english), may_attend)
    batches = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=steps)
    for _ in range(steps):
        target = train_ids[torch.randint(len(train_ids), (32,), generator=batches)]  # (B, T)
        logits = model(masks.shift_right(target, BOS))  # (B, T, V)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
    return model


# %% slide="Token by token, the answer is not in the input"
@torch.no_grad()
def teacher_forced(model, target):
    predicted = model(masks.shift_right(target, BOS)).argmax(dim=-1)  # (B, T)
    return (predicted == target)[target != PAD].float().mean().item()


@torch.no_grad()
def token_by_token(model, target):
    shifted = masks.shift_right(target, BOS)  # (B, T)
    predicted = torch.empty_like(target)
    for i in range(target.shape[1]):
        logits = model(shifted[:, : i + 1])  # (B, i + 1, V): the input ends at position i
        predicted[:, i] = logits[:, -1].argmax(dim=-1)
    return (predicted == target)[target != PAD].float().mean().item()


@torch.no_grad()
def continued(model, target, given=3):
    """Keep the first tokens, let the model generate the others: (B, T)."""
    generated = masks.shift_right(target, BOS)[:, : given + 1]  # (B, given + 1), <bos> in front
    while generated.shape[1] <= target.shape[1]:
        following = model(generated)[:, -1].argmax(dim=-1, keepdim=True)  # (B, 1)
        generated = torch.cat([generated, following], dim=1)
    return generated[:, 1:]  # (B, T), without <bos>


# %% [markdown]
# As a yardstick, a *table of counts* predicts whichever token most often follows the last one.


# %% tags=["hide-input"]
def neighbours(row):
    """The pairs of tokens that follow each other, from <bos> to <eos>."""
    ids = [BOS, *row]
    ids = ids[: ids.index(EOS) + 1] if EOS in ids else ids
    return set(pairwise(ids))


def well_formed(rows):
    """Share of sentences that end and hold only known pairs of neighbours."""
    good = [EOS in row and neighbours(row) <= known_pairs for row in rows.tolist()]
    return sum(good) / len(good)


known_pairs = set().union(*(neighbours(row) for row in train_ids.tolist()))

# counts[a, b]: how often token b follows token a
counts = torch.zeros(len(english), len(english))
counts.index_put_(
    (masks.shift_right(train_ids, BOS), train_ids), torch.ones(train_ids.shape), accumulate=True
)
predicted = counts.argmax(dim=-1)[masks.shift_right(held_out, BOS)]  # (B, T)
table_of_counts = (predicted == held_out)[held_out != PAD].float().mean().item()
assert 0.95 < well_formed(held_out) < 0.98 and abs(table_of_counts - 0.36) < 0.01
print(f"well-formed real sentences: {100 * well_formed(held_out):.0f} %")
print(f"table of counts, held-out sentences: {100 * table_of_counts:.0f} % of the tokens right")

# %% tags=["hide-input"] seconds=5
# three models, each measured in three ways
trained, results = {}, {}
for name, may_attend in [
    ("causal", causal),
    ("off by one", off_by_one),
    ("padding only", padding_only),
]:
    model = trained[name] = train(may_attend, seed=0)
    results[name] = [
        teacher_forced(model, held_out),
        token_by_token(model, held_out),
        well_formed(continued(model, held_out)),
    ]
assert all(0 <= measured <= 1 for one in results.values() for measured in one)

# %% slide="The leaking models look perfect and generate nothing" tags=["hide-input"]
forced, stepwise, free = results["causal"]
assert abs(forced - 0.42) < 0.015 and abs(stepwise - forced) < 0.002 and free > 0.92
for name in ["off by one", "padding only"]:
    forced, stepwise, free = results[name]
    assert forced > 0.99 and stepwise < 0.19 and free < 0.02

figure, ax = plotting.panels(1, height=4.8)
measurements = ["teacher-forced", "token by token", "free-running"]
plotting.bars(
    ax,
    list(results),
    dict(zip(measurements, np.array(list(results.values())).T, strict=True)),
    ylabel="share",
    ylim=(0, 1.12),
)
plotting.level(ax, table_of_counts, "table of counts", at=0.48)
plotting.picture(
    figure,
    caption="Tokens right (teacher-forced, token by token) and sentences well-formed (free-running), 150 steps, one seed.",
    alt="Bars for three masks with three measurements each. Causal: teacher-forced accuracy about 0.42, "
    "token by token the same, well-formed free-running sentences about 0.95. Off by one: teacher-forced "
    "1.00, token by token about 0.13, free-running 0. Padding only: 1.00, about 0.15 and 0. A line marks "
    "the table of counts at 0.36.",
)

# %% [markdown]
# By the first bar alone, both leaking models are perfect. Judged by what they are for, they are useless. Given the first
# three tokens of a held-out sentence, they generate this:

# %% slide="What the three models generate" tags=["nbval-ignore-output"]
generated = {name: continued(model, held_out[:1])[0] for name, model in trained.items()}
for name, row in {"held out": held_out[0], **generated}.items():
    before, end, _ = " ".join(english.words[k] for k in row).partition(" <eos>")
    print(f"{name:<13}", before + end)

# %% [markdown]
# - **Teacher-forced, the leaking models copy the answer.** When a random token is put at the next input, they predict
#   this very token in 61 to 67 % of the cases, and the causal model in 1 %, in recorded runs at this rate (section 6,
#   medians of five seeds).
# - **Token by token, there is nothing to copy**, and they do worse than the table of counts. The causal model shows
#   no gap between the two, and with dropout off, a gap beyond rounding is proof of a leak.
# - **Free-running, only the causal model generates well-formed sentences.** In recorded runs, the leaking models do so in
#   at most 5 % of the cases.
#
# **An accuracy of 0.42 is not poor**, because the same opening can continue in several ways. Even on the training
# sentences, a table that has memorised every prefix gets only 63 %, and new sentences begin in ways that it has never
# seen. With or without a leak, a model in training never reads its own mistakes. This **exposure bias** (Ranzato et
# al., 2016) is a matter of degree, whereas a leak is a bug.

# %% [markdown]
# ## Summary
#
# <!-- slide: What to take home -->
#
# - A decoder may see the past and itself, $j \le i$, because its input is the target shifted by one.
# - Hide a key by setting its score to −∞ before the softmax. A row with nothing to attend to gets zeros, with finite
#   gradients.
# - Padding hides keys and has the shape $(B, 1, 1, S)$; with `&` it combines with the causal mask to $(B, 1, T, T)$.
# - Change a future token. If an earlier output changes, the model leaks. Check the shift as well, which this test cannot
#   see.
#
# **Now you:** [assignment a4, masks](../exercises/a4_masks/a4_masks.ipynb), and then [lecture
# 5](05_multi_head_attention.ipynb). Sections 6 to 9 go deeper, and you can skip them.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 3 and 4 can be checked on the spot. Answer those below in your own words before you look.
#
# **1.** Your mask is right, but you feed the targets *unshifted*. What happens?
#
# <details><summary>Answer</summary>
#
# Position $i$ sees itself, and itself is now the answer. The model leaks although the mask is right, just as it does
# with the *correct* shift and an off-by-one mask. Changing a token does not show it, because the model is causal.
#
# </details>
#
# **2.** A colleague trains a language model on short sentences and reports 99.9 % next-token accuracy on held-out text.
# Which two tests do you ask for?
#
# <details><summary>Answer</summary>
#
# Replace a future token and compare the earlier outputs; and compute the same accuracy token by token, with each whole
# prefix run again through the same model, both with dropout off. If an output changes or the accuracies differ, the
# model leaks. If neither finds anything, first check that input and target are shifted against each other, since both
# tests pass when they are not; then ask whether the held-out sentences are new.
#
# </details>

# %% [markdown]
# ## 6. Going deeper: how far to trust the test and the numbers
#
# **A leak that the test misses.** Here is a leaking model whose attention starts at zero:

# %% slide="A layer that starts at zero hides the leak from the test"
silent = LanguageModel(VOCABULARY_SIZE, padding_only)
for attend in silent.attention:
    nn.init.zeros_(attend.w_v.weight)  # attention contributes nothing until it is trained
changed = changed_outputs(silent, probe, other=UNUSED)  # (T, T)
print("leaks:", int(leaks(changed).sum()))
print("outputs react to their own token:    ", bool((changed.diagonal() > 0).all()))
print("outputs react to any earlier token:  ", bool((changed.tril(diagonal=-1) > 0).any()))

# %% tags=["hide-input"]
# the test finds no leak in this model, although it has no causal mask: no output reacts to another token
assert not leaks(changed).any() and (changed.diagonal() > 1e-3).all()
assert (changed.tril(diagonal=-1) == 0).all()

# %% [markdown]
# The test finds nothing, although this model will leak as soon as it learns. Reacting to their own token is not enough,
# because a residual connection passes that on even if attention contributes nothing. So finding no leak counts only for
# these tokens and weights, and only if each output also reacts to the *earlier* tokens.
#
# **How much is possible?** A *table of whole prefixes* has memorised what follows each beginning of a training
# sentence, and predicts the most frequent continuation. On these same sentences, no model that sees only the prefix
# can do better.

# %% tags=["hide-input"]
followers = defaultdict(Counter)  # prefix -> how often each token follows it
for row in train_ids.tolist():
    row = row[: row.index(EOS) + 1]
    for i, token in enumerate(row):
        followers[tuple(row[:i])][token] += 1
most_frequent = sum(max(counted.values()) for counted in followers.values())
memorised = most_frequent / sum(sum(counted.values()) for counted in followers.values())
after_want_to = followers[tuple(english.encode("you want to"))]
print(f"table of whole prefixes, training sentences: {100 * memorised:.0f} % of the tokens right")
assert abs(memorised - 0.633) < 0.002 and len(after_want_to) == 21
assert abs(max(after_want_to.values()) / sum(after_want_to.values()) - 0.13) < 0.005

# %% [markdown]
# **Other seeds, a lower rate, longer training.** The table is **recorded** by `sources/recorded/leaks.py`. Each entry
# gives the median, the smallest and the largest of five seeds; `copied` is the share of random next tokens that are
# predicted.

# %% tags=["hide-input"]
RECORDED = """\
mask          rate steps   teacher-forced      token by token      free-running        copied
causal       0.006   150   0.430 0.406 0.436   0.430 0.406 0.436   0.960 0.930 0.970   0.008 0.006 0.009
causal       0.002   150   0.400 0.378 0.405   0.400 0.378 0.405   0.857 0.793 0.880   0.008 0.005 0.009
causal       0.002   600   0.451 0.442 0.464   0.451 0.442 0.464   0.980 0.967 0.980   0.006 0.006 0.008
off by one   0.006   150   0.999 0.997 1.000   0.135 0.121 0.150   0.000 0.000 0.000   0.667 0.633 0.675
off by one   0.002   150   0.987 0.987 0.991   0.139 0.128 0.146   0.000 0.000 0.000   0.453 0.424 0.456
off by one   0.002   600   1.000 1.000 1.000   0.121 0.105 0.133   0.000 0.000 0.003   0.667 0.653 0.680
padding only 0.006   150   0.999 0.997 1.000   0.155 0.139 0.172   0.000 0.000 0.010   0.606 0.593 0.646
padding only 0.002   150   0.973 0.947 0.978   0.172 0.159 0.183   0.013 0.000 0.050   0.347 0.231 0.363
padding only 0.002   600   1.000 1.000 1.000   0.148 0.136 0.156   0.003 0.000 0.037   0.641 0.590 0.649
"""
print(RECORDED)

by_mask = defaultdict(list)
for line in RECORDED.splitlines()[1:]:
    mask_name, *numbers = line.rsplit(maxsplit=14)
    by_mask[mask_name].append([float(number) for number in numbers[2:]])
ranges = {name: np.array(rows).reshape(-1, 4, 3) for name, rows in by_mask.items()}
assert ranges["causal"][:, 0, 2].max() < 0.47 and ranges["causal"][:, 3, 2].max() < 0.01
assert (ranges["causal"][:, 0] == ranges["causal"][:, 1]).all()
for name in ("off by one", "padding only"):
    assert ranges[name][:, 0, 1].min() > 0.94 and ranges[name][:, 1, 2].max() < 0.19
    assert ranges[name][:, 2, 2].max() <= 0.05
    assert ranges[name][0, 3, 1] > 0.59  # most random tokens are copied, at the rate of the page

# %% [markdown]
# ## 7. Going deeper: dividing by the sum afterwards
#
# Take one row with the scaled scores $u_j$. If you mask after the softmax and then divide by what is left, the
# denominator $N$ of the full softmax cancels.
#
# <!-- slide: On paper, dividing by the rest repairs the row -->
#
# $$\frac{\exp(u_j) / N}{\sum_{k \text{ visible}} \exp(u_k) / N}
# = \frac{\exp(u_j)}{\sum_{k \text{ visible}} \exp(u_k)} \qquad j \text{ visible}$$
#
# On a computer it does not always cancel. If a *hidden* score is far ahead, the visible weights underflow. They are so
# small that they are rounded to zero before you divide, and in the end you divide zero by zero. How far ahead must it
# be? We take three visible scores, and one hidden score that runs away:


# %%
def renormalised(scores, mask):
    weights = mask_after_softmax(scores, mask)
    return weights / weights.sum(dim=-1, keepdim=True)


def error_of(way, lead, dtype):
    """Largest error of the weights when the hidden score is `lead` above the largest visible one."""
    visible = torch.tensor([1.0, 0.0, 0.5])
    scores = torch.cat([visible, torch.tensor([1.0 + lead])]).to(dtype)
    weights = way(scores, torch.tensor([True, True, True, False]))
    return (weights[:3].double() - visible.double().softmax(dim=0)).abs().max().item()


# %% slide="On a computer, a hidden score far ahead gives NaN" tags=["nbval-ignore-output"]
LEADS = [0, 6, 12, 18, 60, 90, 100, 120]
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
errors = {}
print("hidden lead", *[f"{lead:>5}" for lead in LEADS])
for way in (renormalised, masked_softmax):
    print(way.__name__)
    for dtype in DTYPES:
        errors[way, dtype] = np.array([error_of(way, lead, dtype) for lead in LEADS])
        listed = [f"{error:5.0e}".replace("nan", "NaN") for error in errors[way, dtype]]
        print(f"  {str(dtype).removeprefix('torch.'):<9}", *listed)

# %% tags=["hide-input"]
# division by the rest is NaN from leads of 18, 100 and 120 on, by type; −∞ stays exact to 0.004
half, brain, full = (errors[renormalised, dtype] for dtype in DTYPES)
assert np.isnan(half[LEADS.index(18) :]).all() and not np.isnan(half[: LEADS.index(18)]).any()
assert (brain[: LEADS.index(60) + 1] < 4e-3).all() and np.isnan(brain[-2:]).all()
assert (full[: LEADS.index(60) + 1] < 1e-6).all() and np.isnan(full[-1])
assert not np.isnan(brain[LEADS.index(90)]) and not np.isnan(full[LEADS.index(100)])
for dtype, bound in zip(DTYPES, (1e-3, 4e-3, 1e-6), strict=True):
    assert (errors[masked_softmax, dtype] < bound).all()

# %% [markdown]
# With −∞ before the softmax, the error is the ordinary rounding of the number format, at every lead. Renormalised
# afterwards, a lead of 18 gives NaN in `float16`, whose smallest positive number is about $\exp(-16.6)$. What decides
# is the *range* of a format, not its number of bits. `bfloat16` has 16 bits too, but nearly the range of `float32`, and
# NaN comes only beyond 90. Leads like these are rare in small models, but nothing in training keeps scores from
# drifting that far apart.
#
# **−1e9 for −∞.** *The Annotated Transformer* (Rush, 2018; its function `attention`) writes `-1e9`, and much code
# follows it. With at least one visible key, 32 bits and scores of ordinary size it gives the same weights. In `float16`,
# whose largest value is 65 504, `masked_fill` with −1e9 stops with an error, and a row with nothing visible silently
# becomes an average over everything that it should have hidden:

# %%
nothing_visible = torch.zeros(4, dtype=torch.bool)
print("−1e9 with nothing visible:", row_scores.masked_fill(~nothing_visible, -1e9).softmax(dim=-1))

# %% tags=["hide-input"]
# 65504 is the largest float16, and −1e9 an error; the average has four equal weights
assert torch.finfo(torch.float16).max == 65504
try:
    row_scores.half().masked_fill(~nothing_visible, -1e9)
except RuntimeError:
    stopped = True
assert stopped
quietly_wrong = row_scores.masked_fill(~nothing_visible, -1e9).softmax(dim=-1)
assert torch.allclose(quietly_wrong, torch.full((4,), 0.25))

# %% [markdown]
# ## 8. Going deeper: four traps in PyTorch
#
# ### PyTorch has two conventions, and they are opposite
#
# PyTorch's function for attention and its modules read the same mask in opposite ways:
#
# <!-- slide: PyTorch's two conventions are opposite -->
#
# | call | argument | a `True` means |
# |---|---|---|
# | `F.scaled_dot_product_attention` | `attn_mask` | **may attend**, as in this course |
# | `nn.MultiheadAttention` | `attn_mask`, `key_padding_mask` | **hide** |
# | `nn.Transformer` and its layers | `src_mask`, `tgt_mask`, …, `…_key_padding_mask` | **hide** |
#
# No call complains about the other's mask. We give the causal mask to both, and its inverse to the module as well.
# The values are the rows of the identity matrix, so that the function's output shows its weights.

# %% slide="The same mask hides the past in one call and the future in the other"
tokens = torch.randn(1, T, d_k, generator=generator)  # (B, T, d_k)
identity_values = torch.eye(T)[None]  # (B, T, T)
by_function = F.scaled_dot_product_attention(tokens, tokens, identity_values, attn_mask=mask)

module = nn.MultiheadAttention(d_k, num_heads=1, batch_first=True)
module.in_proj_weight.data = torch.eye(d_k).repeat(3, 1)  # W_q, W_k, W_v, stacked: no change
_, by_module = module(tokens, tokens, tokens, attn_mask=mask)  # weights (B, T, T), the same mask
_, by_inverse = module(tokens, tokens, tokens, attn_mask=~mask)

print("function, last query but one:", by_function[0, -2])
print("module, the same mask:       ", by_module[0, -2].detach())
print("module, ~mask:               ", by_inverse[0, -2].detach())

# %% tags=["hide-input"]
_, (expected,) = attention.scaled_dot_product_attention(tokens, tokens, tokens, mask)
assert torch.allclose(by_function[0], expected, atol=1e-6)
assert torch.allclose(by_inverse[0], expected, atol=1e-6)
seen = by_module[0, :-1]  # (T - 1, T): its last row sees nothing
assert (seen[mask[:-1]] == 0).all() and (seen[~mask[:-1]] > 0).all()
with_ones, without = (
    F.scaled_dot_product_attention(tokens, tokens, identity_values, attn_mask=chosen)[0]
    for chosen in (mask.float(), None)
)
assert (with_ones > 0).all() and not torch.allclose(with_ones, without, atol=1e-2)
print("with the same mask, the module sees the future and nothing else; with ~mask it is right")

# %% [markdown]
# Two habits avoid the trap. **Float masks of 0 and −∞ mean the same in both**, because they are *added* to the scores.
# A mask of zeros and ones turned into floats hides nothing in either. And **a name can say what `True` means**, as
# `may_attend` and `is_pad` do.

# %% [markdown]
# ### The empty row
#
# Give `nn.MultiheadAttention` the course's causal mask, and its last query has nothing to attend to. No convention
# defines what comes out. It depends on the call, on its arguments, on the device and on the version of PyTorch. Here is
# what the installed version does:

# %% tags=["nbval-ignore-output"]
with torch.no_grad():
    by_default, weights_by_default = module(tokens, tokens, tokens, attn_mask=mask)
    without_weights, _ = module(tokens, tokens, tokens, attn_mask=mask, need_weights=False)
empty_rows = {
    "F.scaled_dot_product_attention": F.scaled_dot_product_attention(
        tokens, tokens, identity_values, attn_mask=~mask
    )[0, -1],
    "nn.MultiheadAttention, need_weights=True": weights_by_default[0, -1],
    "nn.MultiheadAttention, need_weights=False": without_weights[0, -1],
}
for call, row in empty_rows.items():
    print(f"{call:<42} {'NaN' if row.isnan().any() else 'zeros'}")

# %% tags=["hide-input"]
# zeros or NaN, whatever the version
assert all((row.nan_to_num(0.0) == 0).all() for row in empty_rows.values())

# %% [markdown]
# With torch 2.13 the function gives zeros. The module gives NaN when it is asked for the weights, which it is by
# default, and zeros when it is not, because it then calls the function. Older versions of the function gave NaN too
# (pytorch/pytorch #103963), and NaN gradients of the module have been reported since 2020 (#41508). Do not rely on
# either. Give every row something to attend to, or use a softmax like that of section 4.
#
# ### Pads
#
# `key_padding_mask` wants `True` at the pads. Its shape is $(B, S)$, which is right for this argument.

# %% slide="`key_padding_mask` wants `True` at the pads"
is_pad = shifted[1:] == PAD  # (1, T): <bos> thanks <eos> <pad> <pad>
_, right = module(tokens, tokens, tokens, key_padding_mask=is_pad)  # weights (B, T, T)
_, wrong = module(tokens, tokens, tokens, key_padding_mask=~is_pad)
print(f"key_padding_mask=is_pad:  each query puts {right[0, 0, is_pad[0]].sum():.2f} on pads")
print(f"key_padding_mask=~is_pad: each query puts {wrong[0, 0, is_pad[0]].sum():.2f} on pads")

# %% [markdown]
# For a mask that is combined with scores $(B, H, T, S)$, the same shape is a trap, because it is read as $(T, S)$.
# Usually the call stops with an error. But if a batch happens to have as many sentences as queries, nothing complains,
# and query $i$ gets the padding of sentence $i$. With a single query, as in generation, the call does not stop either:
# `masked_fill` enlarges the scores to one row per sentence.

# %%
three_sentences = torch.tensor([[3, 4, 5, 6, 3], [7, 4, PAD, PAD, PAD], [3, 5, 6, PAD, PAD]])
flat_mask = three_sentences != PAD  # (B, S) = (3, 5)
one_query = torch.zeros(3, 2, 1, 5)  # scores (B, H, T, S)
print(tuple(one_query.shape), "becomes", tuple(masked_softmax(one_query, flat_mask).shape))

# %% tags=["hide-input"]
# T = 4 queries and B = 3 sentences: an error. T = 3 = B: weight on padding, and none with (B, 1, 1, S)
stopped = 0
for softmax in (attention.masked_softmax, masked_softmax):
    try:
        softmax(torch.zeros(3, 2, 4, 5), flat_mask)
    except (ValueError, RuntimeError):
        stopped += 1
assert stopped == 2
three_queries = torch.randn(3, 2, 3, 5, generator=generator)  # (B, H, T, S) with T = 3 = B
on_pads = (three_sentences == PAD)[:, None, None, :]  # (B, 1, 1, S)
flat, stretched = (
    (attention.masked_softmax(three_queries, chosen) * on_pads).sum()
    for chosen in (flat_mask, masks.padding_mask(three_sentences, PAD))
)
assert flat > 1 and stretched == 0

# %% [markdown]
# ### `is_causal` with a single query
#
# A decoder that generates token by token passes only its newest token as the query. In
# `F.scaled_dot_product_attention`, `is_causal=True` aligns the triangle with the *top left* corner. A single new query
# with five keys is then taken for position 1, and sees only the first key.

# %% slide="`is_causal` takes one new query for position 1"
print(F.scaled_dot_product_attention(tokens[:, -1:], tokens, identity_values, is_causal=True)[0, 0])

# %% tags=["hide-input"]
# the newest query sees one key; a mask of 0 and −∞ that is added gives the same by function and by module
newest = F.scaled_dot_product_attention(tokens[:, -1:], tokens, identity_values, is_causal=True)
assert newest[0, 0].tolist() == [1, 0, 0, 0, 0]
additive = torch.zeros(T, T).masked_fill(~mask, -torch.inf)
_, (rows,) = module(tokens, tokens, tokens, attn_mask=additive)
assert torch.allclose(rows, expected, atol=1e-6)
by_function = F.scaled_dot_product_attention(tokens, tokens, identity_values, attn_mask=additive)[0]
assert torch.allclose(by_function, expected, atol=1e-6)

# %% [markdown]
# **Check yourself.** Which mask does this newest token need, if all five keys are already there?
#
# <details><summary>Answer</summary>
#
# It needs no causal mask, because every key that exists belongs to the past or to the token itself. Only padding must
# be hidden.
#
# </details>

# %% [markdown]
# ## 9. Going deeper: five ways through an empty row
#
# Section 4 fills before and after the softmax. Here it is with four others, judged by five questions. Are the output
# and the gradients of $W_q$ and $W_v$ finite? Does a NaN that comes from *somewhere else*, and should be seen, stay
# visible? And does the backward pass avoid NaN altogether, so that PyTorch's anomaly detection raises no error?


# %%
def minus_infinity(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


def fill_then_repair(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).nan_to_num(0.0)


def add_then_fill(scores, mask):
    penalty = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    return (scores + penalty).softmax(dim=-1).masked_fill(~mask, 0.0)


def never_divide(scores, mask):
    """Never compute 0 / 0: leave an empty row open, then multiply it by zero."""
    sees_something = mask.any(dim=-1, keepdim=True)  # (..., T, 1)
    hidden = ~mask & sees_something  # nothing is hidden in an empty row
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) * sees_something


# %% tags=["hide-input"]
x = torch.randn(T, d_k, generator=generator)  # (T, d_k)


def what_stays_finite(way):
    """Whether the output, the gradient of W_q and the gradient of W_v are finite."""
    w_q, w_v = (torch.eye(d_k, requires_grad=True) for _ in range(2))
    output = way((x @ w_q) @ x.T, one_row_empty) @ (x @ w_v)  # (T, d_k)
    output[1:].square().sum().backward()  # the loss leaves the empty row out
    return [bool(t.isfinite().all()) for t in (output, w_q.grad, w_v.grad)]


def shows_a_foreign_nan(way):
    """Whether a NaN among the visible scores is still there in the weights."""
    broken = scaled_scores.clone()
    broken[2, 1] = torch.nan
    return bool(way(broken, one_row_empty).isnan().any())


def makes_no_nan(way):
    """Whether the backward pass avoids NaN altogether."""
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(action="ignore"):
        try:
            what_stays_finite(way)
        except RuntimeError:
            return False
    return True


five_ways = (minus_infinity, fill_then_repair, add_then_fill, masked_softmax, never_divide)
columns = ["output", "grad W_q", "grad W_v", "foreign", "on the way"]
answers = {}
print(f"{'':<17}", *[f"{column:<10}" for column in columns])
for way in five_ways:
    answers[way] = [*what_stays_finite(way), shows_a_foreign_nan(way), makes_no_nan(way)]
    row = ["finite" if good else "NaN" for good in answers[way][:3]]
    row += ["shown" if answers[way][3] else "LOST", "no NaN" if answers[way][4] else "NaN"]
    print(f"{way.__name__:<17}", *[f"{word:<10}" for word in row])
assert answers == {
    minus_infinity: [False, True, False, True, False],
    fill_then_repair: [True, True, True, False, False],
    add_then_fill: [True, False, True, True, False],
    masked_softmax: [True, True, True, True, False],
    never_divide: [True, True, True, True, True],
}
of_the_course = attention.masked_softmax(scaled_scores, one_row_empty)
assert torch.allclose(never_divide(scaled_scores, one_row_empty), of_the_course, atol=1e-6)

# %% [markdown]
# <!-- slide: Five ways through an empty row -->
#
# - **`minus_infinity`** spoils the output and the gradient of $W_v$. That of $W_q$ survives, because `masked_fill`
#   writes zeros over the NaNs on their way back.
# - **`fill_then_repair`** turns *every* NaN into 0, including one that comes from a broken weight two layers below and
#   should have stopped you.
# - **`add_then_fill`** has a clean output and a finite loss, but the gradient of $W_q$ is NaN. The backward pass of the
#   softmax multiplies by its own result, which *was* NaN, and an addition passes that on.
# - **`masked_softmax`**, the way of assignments 1 and 3, is right in output and gradient. It makes a NaN for a moment
#   and clears it, so anomaly detection raises an error there.
# - **`never_divide`** never makes one. `course_utils.attention.masked_softmax` treats an empty row in the same way, and
#   adds −∞ elsewhere. A NaN in a hidden *value* gets through all of them, because 0 · NaN is NaN.
#
# **Check yourself.** A colleague's model has clean outputs and a finite loss. After the first step, all weights of
# `W_q` and `W_k` are NaN, but those of `W_v` are not. Where do you look first?
#
# <details><summary>Answer</summary>
#
# Look at a row with nothing to attend to, and at how −∞ got into the scores. Was it added, as in `add_then_fill`? Within
# this layer, the gradient of `W_v` comes through the repaired weights and is finite, while those of `W_q` and `W_k` come
# through the softmax. Everything *below* gets NaN through them, so look at the topmost layer that has any.
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
#   Section 3.1: hidden words, another meaning of *masked*.
