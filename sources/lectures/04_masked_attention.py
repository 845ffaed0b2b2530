# ---
# jupyter:
#   course:
#     assignment: a4_masks
#     minutes: 75
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
# Attention lets every word look at every word. In two cases that is too much: a model that learns to
# *write* must not look at the words that it is about to write, and no word should look at padding,
# the filler that makes the sentences of a batch equally long. A **mask** says who may look at whom.
# It is one line of code, and one that shows too much gives the most beautiful training curves of
# your life.
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
# **Time** about 75 minutes. **Needs**
# [lecture 3](03_scaled_dot_product_attention.ipynb): queries, keys, values, the scale.

# %%
from itertools import pairwise

import ipywidgets as widgets
import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.patches import Rectangle
from torch import nn

from course_utils import attention, data, masks, plotting

plotting.use_course_style()
torch.set_num_threads(1)  # models this small gain little from two, and lose much on a busy machine

# %% [markdown]
# ## 1. What a decoder may know
#
# A decoder writes one word after the other. When it chooses word 3, words 1 and 2 are written and
# word 4 does not exist.
#
# In training the whole sentence is there. That is convenient: one pass through the network can
# predict *all* words side by side, each from the true words before it. Giving the model the true
# words instead of its own is called **teacher forcing** (Williams and Zipser, 1989).
#
# It is also dangerous. The answers lie in the same tensor as the questions.
#
# ![Three rows of five boxes. Below, the shifted input: bos, can, you, help, me, at positions 1 to 5.
# In the middle the outputs z1 to z5. On top the targets: can, you, help, me, eos. Solid blue
# arrows lead from inputs 1, 2 and 3, bos, can and you, to output 3: the past and itself may be
# seen. Dashed orange arrows from inputs 4 and 5, help and me, to output 3 are crossed out: they are
# the future. Input 4, help, and target 3, help, have the same colour: input 4 is the answer that
# output 3 must give.](../figures/shifted_targets.svg)
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
# The rule: **position $i$ may attend to position $j$ if $j \le i$.** That includes position $i$
# itself. No harm is done, because the input at position $i$ is the word *before* its target. One
# position further, $x^{(i+1)} = y^{(i)}$ is the answer. A path from the answer to the output that
# must give it is called a **leak**.
#
# > **You may have read** that masked attention hides "a certain number of words". Not a number: a
# > direction. From position $i$ everything after $i$ is hidden: $T-1$ words from the first position,
# > none from the last.
#
# > **You may have read** that in the decoder each position attends "to all the other positions".
# > That is the encoder, which reads in both directions. In the decoder's self-attention a position
# > attends to the earlier positions and to itself: one direction only.

# %% [markdown]
# ## 2. Shifted targets
#
# The shift, as a loop that says it plainly: a `<bos>` in front, every word one place later, and the
# last target left out, because nothing follows it. `masks.shift_right` does the same without a loop.
# (The second sentence is shorter and is filled up with `<pad>`. Section 6 is about that.)

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
# Read the two rows as five small exercises: given `<bos>`, say "can"; given `<bos> can`, say "you";
# and so on. One sentence with $T$ positions is $T$ training examples.
#
# > **You may have read** that position $i$ is given "the words 1 to $i-1$", and elsewhere that the
# > mask shows positions "1 to $i$". Both are right. The first counts *target* words, the second
# > *input* positions, and between them lies the shift. Hiding position $i$ from itself as well, "to
# > be safe", takes away the latest word and leaves position 1 with nothing at all.

# %% [markdown]
# ## 3. The causal mask
#
# ### First without a mask
#
# What do we want? The output at position $i$ shall be computed as if the sentence ended there. So
# let it end there. This loop never touches the future, and we trust it for that reason. (Random
# vectors stand for the queries, keys and values of five words.)

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
# A mask is a `bool` tensor with one row per query and one column per key. In this course **`True`
# means: may attend**. Three ways to write the causal one:

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
# The comparison is the most useful of the three. It is the rule $j \le i$ itself, so it can be
# checked by reading it, and it can be changed. With
# `by_comparison & (position[:, None] - position[None, :] < 3)` each word sees a window of three words,
# itself and the two before it.
#
# ## 4. −∞ before the softmax
#
# A hidden key must get the weight 0, and the visible ones must still sum to one. The softmax does
# both if the hidden *score* is −∞, because $\exp(-\infty) = 0$ and zeros add nothing to the sum
# (section 5 looks at rows where *every* score is −∞):
#
# $$\alpha_{ij} = \frac{\exp(s_{ij} + m_{ij})}{\sum_{k=1}^{T} \exp(s_{ik} + m_{ik})}
# \qquad m_{ij} = \begin{cases} 0 & \text{if } i \text{ may attend to } j \\
# -\infty & \text{if not} \end{cases}$$
#
# Here $s_{ij} = q^{(i)} \cdot k^{(j)} / \sqrt{d_k}$ is the scaled score of lecture 3. The code writes
# −∞ *over* the hidden scores instead of adding it. For finite scores that is the same.

# %%
mask = masks.causal_mask(T)  # (T, T)
scores = query @ key.T / d_k**0.5  # (T, T): all at once, the future among them
# masked_fill writes where its mask is True, so it is told what is hidden: ~mask
weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)  # (T, T)
output = weights @ value  # (T, d_v)

assert torch.allclose(output, output_by_loop, atol=1e-6)
assert (weights[~mask] == 0).all()
reference_output, reference_weights = attention.scaled_dot_product_attention(
    query, key, value, mask
)
assert torch.allclose(output, reference_output, atol=1e-6)
assert torch.allclose(weights, reference_weights, atol=1e-6)
print("one masked pass equals five shorter sentences, hidden weights are exactly 0")

# %% [markdown]
# One pass gives what five passes gave. This is why decoders are trained with a mask and not with a
# loop. And `allclose` with the loop tests both sides of a causal mask: nothing of the future gets
# in, and nothing of the past is lost.
#
# ### Four ways to do it, two of them wrong
#
# Take one query with four keys. The first two may be seen, the last two are the future.

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

right = results["−∞ before the softmax"]
assert abs(right.sum() - 1) < 1e-6 and (right[2:] == 0).all()
assert abs(results["score set to 0"][2:].sum() - 0.35) < 0.005
assert abs(results["mask after the softmax"].sum() - 0.27) < 0.005
assert torch.allclose(results["mask after, renormalised"], right)

# %% [markdown]
# - **A score of 0 hides nothing.** $\exp(0) = 1$: the future keeps 35 % of the weight.
# - **The mask after the softmax** leaves rows that no longer sum to one. The softmax had already
#   given most of the weight away, and 27 % are left.
# - **And that mask leaks**, which is worse. The future is still in the denominator of the softmax.
#   Make word 3 louder, and the weights of words 1 and 2 shrink: the hidden word speaks through the
#   size of the others.

# %%
louder = row_scores.clone()
louder[2] = 6.0  # only a hidden score changes

for name in ["mask after the softmax", "−∞ before the softmax"]:
    before, after = ways[name](row_scores, row_mask)[:2], ways[name](louder, row_mask)[:2]
    moved = (after - before).abs().max()
    print(f"{name:<23} sum of the visible: {before.sum():.3f} -> {after.sum():.3f}")
    assert (moved == 0) == (name == "−∞ before the softmax")

# %% [markdown]
# ### Is it enough to divide by the sum afterwards?
#
# In exact arithmetic, yes. Take one row with the scores $s_j$, and let $V$ be the set of its visible
# keys. The denominator $N$ of the full softmax cancels:
#
# $$\frac{\exp(s_j) / N}{\sum_{k \in V} \exp(s_k) / N}
# = \frac{\exp(s_j)}{\sum_{k \in V} \exp(s_k)} \qquad j \in V$$
#
# On a computer it does not always cancel. If a *hidden* score is far ahead, the visible weights
# underflow: they are so small that they are rounded to zero before you divide, and in the end you
# divide zero by zero. How far ahead? Three visible scores, and one hidden score that runs away:


# %%
def error_of(way, lead, dtype):
    """Largest error of the weights when the hidden score is `lead` above the largest visible."""
    visible = torch.tensor([1.0, 0.0, 0.5])
    scores = torch.cat([visible, visible.max() + torch.tensor([float(lead)])]).to(dtype)
    weights = way(scores, torch.tensor([True, True, True, False]))
    return (weights[:3].double() - visible.double().softmax(dim=0)).abs().max().item()


leads = list(range(0, 121, 3))
errors = {
    (way, dtype): np.array([error_of(way, lead, dtype) for lead in leads])
    for way in (mask_and_renormalise, minus_infinity)
    for dtype in (torch.float32, torch.float16)
}
renormalised_32 = errors[mask_and_renormalise, torch.float32]
renormalised_16 = errors[mask_and_renormalise, torch.float16]
assert (renormalised_32[: leads.index(75)] < 1e-6).all()
assert np.isnan(renormalised_32[leads.index(114) :]).all()
assert (renormalised_16[: leads.index(9)] < 1e-3).all()
assert np.isnan(renormalised_16[leads.index(18) :]).all()
assert (errors[minus_infinity, torch.float32] < 1e-6).all()
assert (errors[minus_infinity, torch.float16] < 1e-3).all()

# %% tags=["nbval-ignore-output"]
figure, ax = plt.subplots(figsize=(10.5, 4.8))
curves = [(torch.float16, "float16", "#D55E00"), (torch.float32, "float32", "#0072B2")]
first_nan = {}
for dtype, name, colour in curves:
    look = {"color": colour, "marker": "", "linewidth": 3}
    afterwards = errors[mask_and_renormalise, dtype]
    ax.plot(leads, afterwards, linestyle="-", label=f"renormalised, {name}", **look)
    before = np.maximum(errors[minus_infinity, dtype], 1e-8)  # a zero has no logarithm
    ax.plot(leads, before, linestyle=":", label=f"−∞ before, {name}", **look)
    last = int(np.isnan(afterwards).argmax()) - 1
    end = leads[last], afterwards[last]
    first_nan[name] = leads[last + 1]
    ax.plot(*end, "X", color=colour, markersize=13)
    ax.annotate(f"{name}: then NaN", end, xytext=(0, 14), textcoords="offset points", ha="center")
ax.set(yscale="log", xlabel="lead of the hidden score over the largest visible score")
ax.set(ylabel="largest error of a weight", ylim=(4e-9, 8))
ax.set_title("dividing afterwards holds until the hidden score is far ahead")
ax.legend(loc="upper left", bbox_to_anchor=(1.0, 0.8))
plotting.show(
    figure,
    alt="Largest error of a weight, on a logarithmic axis, against the lead of the hidden score "
    "from 0 to 120. With minus infinity before the softmax the error stays at rounding: about 1e-8 "
    "to 1e-7 in float32 and 1e-4 in float16, at every lead. Renormalised afterwards, float16 stays "
    "below 1e-3 up to a lead of about 10; then the error rises steeply, and from "
    f"{first_nan['float16']} on it is NaN. float32 stays at rounding to beyond 80, and from "
    f"{first_nan['float32']} on it is NaN.",
)

# %% [markdown]
# In 16 bits a lead of 18 is enough for NaN, in 32 bits it takes around 100. Unscaled scores easily
# have a lead of 18: if the entries of queries and keys are independent with variance 1, the standard
# deviation of a score is $\sqrt{d_k}$, about 23 at $d_k = 512$ (lecture 3). −∞ written *over* the
# hidden score never looks at it, so it cannot be hurt by it.
#
# > **You may have read** code that writes `-1e9` for −∞. With at least one visible key, 32 bits and
# > scores of ordinary size it gives the same weights. In `float16` the number does not exist (the
# > largest is 65 504), and in 32 bits a row with nothing visible becomes a calm average over
# > everything that was to be hidden:

# %%
nothing_visible = torch.zeros(4, dtype=torch.bool)
quietly_wrong = row_scores.masked_fill(~nothing_visible, -1e9).softmax(dim=-1)
assert torch.allclose(quietly_wrong, torch.full((4,), 0.25))
assert torch.finfo(torch.float16).max == 65504
print("−1e9 with nothing visible:", quietly_wrong)

# %% [markdown]
# ## 5. Rows with nothing to attend to
#
# What *should* such a row give? With −∞ everywhere, the softmax is $0/0$:

# %%
all_hidden = minus_infinity(row_scores, nothing_visible)
assert all_hidden.isnan().all()
print(all_hidden)

# %% [markdown]
# It happens: an empty sentence, a sentence padded on the left under a causal mask, a hidden
# diagonal. And one NaN does not stay where it is. All rows share the matrices $W_q$, $W_k$ and $W_v$,
# so one NaN row can make the gradient of a *whole matrix* NaN, and after the next step the model is
# gone. Leaving the row out of the loss does not help. The row then gets the gradient 0, but the
# backward pass multiplies it by the NaN, and $0 \cdot \mathrm{NaN} = \mathrm{NaN}$.
#
# The rule of this course: **a query that may attend to nothing gets weights and output zero, with
# finite gradients.** Zeros are easy to get in the output. The gradient is the hard part. Four
# candidates: `minus_infinity` from section 4, and three new ones.


# %%
def fill_then_repair(scores, mask):
    """Replace hidden scores by −∞, and the NaN by 0 when the damage is done."""
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).nan_to_num(0.0)


def add_then_repair(scores, mask):
    """The same, but −∞ is added to the scores, as in the formula of section 4."""
    penalty = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    return (scores + penalty).softmax(dim=-1).nan_to_num(0.0)


def masked_softmax(scores, mask):
    """Never compute 0 / 0: leave an empty row open, then multiply it by zero."""
    sees_something = mask.any(dim=-1, keepdim=True)  # (..., T, 1)
    hidden = ~mask & sees_something  # nothing is hidden in an empty row
    weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
    return weights * sees_something


# %%
x = torch.randn(T, d_k, generator=generator)  # (T, d_k)
one_row_empty = mask.clone()
one_row_empty[0] = False

finite = {}
print(f"{'':<17} output   gradient of W_q   gradient of W_v")
for way in (minus_infinity, fill_then_repair, add_then_repair, masked_softmax):
    w_q, w_v = (torch.eye(d_k, requires_grad=True) for _ in range(2))
    # to keep it short, the keys are x itself and nothing is scaled
    output = way((x @ w_q) @ x.T, one_row_empty) @ (x @ w_v)  # (T, d_k)
    output[1:].square().sum().backward()  # the loss leaves the empty row out
    finite[way] = [bool(t.isfinite().all()) for t in (output, w_q.grad, w_v.grad)]
    seen = ["finite" if good else "NaN" for good in finite[way]]
    print(f"{way.__name__:<17} {seen[0]:<8} {seen[1]:<17} {seen[2]}")

# %% [markdown]
# In the first line the NaN weights spoil the output, and by $0 \cdot \mathrm{NaN}$ the gradient of
# `W_v`.
#
# Look at the third line. The output is clean, the loss is a number, and the gradient of `W_q` is NaN
# all the same: the backward pass of the softmax multiplies by its own result, which *was* NaN. The
# second line gets away with it, because `masked_fill` passes no gradient to the cells that it has
# filled, and writes zeros over those NaNs. An added mask does not. And both repairs hide a NaN that
# comes from somewhere else and should have been seen.
#
# The fourth never makes a NaN. `course_utils.attention.masked_softmax` works like it.

# %%
assert finite[minus_infinity] == [False, True, False]
assert finite[fill_then_repair] == [True, True, True]
assert finite[add_then_repair] == [True, False, True]
assert finite[masked_softmax] == [True, True, True]

ours = masked_softmax(scores, one_row_empty)
assert torch.allclose(ours, attention.masked_softmax(scores, one_row_empty), atol=1e-6)
assert (ours[0] == 0).all() and (ours[~one_row_empty] == 0).all()
assert torch.allclose(ours[1:].sum(dim=-1), torch.ones(T - 1))
print("sums of the rows:", ours.sum(dim=-1))

# %% [markdown]
# ### Click on a mask
#
# Below, each row of buttons is a query and each button a cell of the mask: a word is visible, a × is
# hidden. Click, and watch the weights. (The scores are the random ones of section 3, so the weights
# mean nothing.) Try to predict first: what happens to the *other* weights of the row when a cell is
# hidden? And to the other rows?
#
# The next three cells only draw. You may skip their code.

# %%
inputs = ["<bos>", "can", "you", "help", "me"]
PRESETS = {
    "causal": masks.causal_mask(T),
    "no mask": torch.ones(T, T, dtype=torch.bool),
    "off by one": torch.ones(T, T, dtype=torch.bool).tril(diagonal=1),
    "diagonal hidden": torch.ones(T, T, dtype=torch.bool).tril(diagonal=-1),
}


def hatch(ax, hidden):
    """Cover the hidden cells of an attention map, numbers included."""
    for i, j in hidden.nonzero().tolist():
        patch = Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor="#EDEDED", edgecolor="#9A9A9A")
        patch.set(hatch="///", linewidth=0, zorder=2.5)
        ax.add_patch(patch)
    for text in ax.texts:
        column, row = (round(place) for place in text.get_position())
        text.set_visible(not hidden[row, column])


def draw_weights(ax, mask):
    """The weights of our five words under a mask; hidden cells are hatched."""
    weights = attention.masked_softmax(scores, mask)
    plotting.attention_map(weights, inputs, inputs, ax, limit=1.0, key_label="key")
    hatch(ax, ~mask)


# %%
wide = widgets.Layout(width="68px", height="34px")
buttons = [widgets.ToggleButton(value=j <= i, layout=wide) for i in range(T) for j in range(T)]
preset = widgets.Dropdown(options=list(PRESETS), description="start from")
picture = widgets.Output()
rows = [[widgets.Label(word), *buttons[T * i : T * i + T]] for i, word in enumerate(inputs)]
board = widgets.VBox([preset, *map(widgets.HBox, rows)])


# %% tags=["interactive"]
def redraw(_=None):
    mask = torch.tensor([button.value for button in buttons]).reshape(T, T)
    for button, word in zip(buttons, inputs * T, strict=True):
        button.description = word if button.value else "×"
        button.button_style = "info" if button.value else ""
    figure, ax = plt.subplots(figsize=(7, 4.6))
    draw_weights(ax, mask)
    picture.clear_output(wait=True)
    with picture:
        plotting.show(figure, alt=f"Attention weights under the mask {mask.int().tolist()}.")


def load(change):
    for button, value in zip(buttons, PRESETS[change["new"]].flatten().tolist(), strict=True):
        button.unobserve_all("value")  # one picture for all cells, not one for each
        button.value = value
        button.observe(redraw, "value")
    redraw()


load({"new": "causal"})
preset.observe(load, "value")
display(widgets.HBox([board, picture]))

# %% [markdown]
# The same as a picture, for four masks.

# %%
one_more_hidden = masks.causal_mask(T)
one_more_hidden[4, 2] = False
figure, axes = plt.subplots(2, 2, figsize=(10.6, 8.6))
shown = {
    "causal": PRESETS["causal"],
    "causal, and “me” may not see “you”": one_more_hidden,
    "off by one: the next word is visible": PRESETS["off by one"],
    "diagonal hidden: first row empty": PRESETS["diagonal hidden"],
}
for ax, (title, chosen) in zip(axes.flat, shown.items(), strict=True):
    draw_weights(ax, chosen)
    ax.set_title(title)
rows_of_me = [attention.masked_softmax(scores, m)[4] for m in (PRESETS["causal"], one_more_hidden)]
growth = (rows_of_me[1] / rows_of_me[0])[one_more_hidden[4]]  # (4,), one factor for all
assert torch.allclose(growth, growth[0]) and growth[0] > 1
plotting.show(
    figure,
    alt="Four maps of attention weights for bos, can, you, help, me; hidden cells are hatched. "
    "Causal: the lower triangle is filled, the first row is 1.00 on bos. With the cell of me and "
    "you hidden as well: only the last row changes, help and me get more. Off by one: a "
    "further diagonal above the main one is filled. Diagonal hidden: the first row has no visible "
    "cell and all its weights are 0; the second row is 1.00 on bos.",
)

# %% [markdown]
# Every row is a softmax of its own. Hiding a cell makes the weights that stay visible in *that row*
# larger, all by the same factor, and changes no other row. In the picture the weights of "help" and
# "me" grow visibly; those of `<bos>` and "can" grow too, but from 0.02.
#
# ## 6. Padding
#
# Sentences in a batch have different lengths, so short ones are filled up with `<pad>`. Nobody
# should attend to it. This is the second mask, and it is not about time: it depends on the words.
#
# - **Only keys are masked.** A pad's own row may compute what it likes: the loss leaves out every
#   position whose *target* is a pad. Hide the row as well, and you have made an empty row for nothing.
# - **Masks combine by `&`**: a key may be seen if *every* mask says so.
# - **Shapes do the rest.** Scores are $(B, H, T, S)$: batch, heads (lecture 5; think of one), $T$
#   queries, $S$ keys; in self-attention $S = T$. Where a mask is the same all along an axis, it has
#   length 1 there, and broadcasting stretches it. Leading axes of length 1 may be left out.
#
# ![Two sentences, bos can you help me and bos thanks eos pad pad. On the left the padding mask of
# shape B, 1, 1, S: one row of five cells for each sentence, all visible in the first, the last two
# hidden in the second. In the middle the causal mask of shape T, T, a lower triangle of five by
# five cells, one for all sentences. Joined by the and sign they give, on the right, the decoder
# mask of shape B, 1, T, T: for the first sentence the lower triangle; for the second the lower
# triangle with the columns of both pads hidden, so that its last three rows all see bos, thanks
# and eos.](../figures/mask_broadcast.svg)

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
# What the padding mask is for, in one test: a sentence must mean the same alone and beside a longer
# one. Each word gets a random vector, which is query, key and value at once.

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
# It is tempting to leave the axes of length 1 out. Broadcasting aligns shapes from the *right*, so a
# mask $(B, S)$ against scores $(B, H, T, S)$ is read as $(T, S)$: one row per *query* instead of one
# per sentence. Usually that is an error. If a batch happens to have as many sentences as there are
# queries, it is not, and in *every* sentence query 1 gets the padding of sentence 1, query 2 that of
# sentence 2, and so on.

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

# %% [markdown]
# ### Gallery
#
# The masks of this lecture beside each other. Rows are queries, columns are keys. Blue may be seen,
# × is hidden, hatched orange is visible by mistake.


# %%
def draw_mask(ax, mask, title, leaks=None):
    """Blue: may attend. White with a cross: hidden. Orange and hatched: visible by mistake."""
    for (i, j), visible in np.ndenumerate(mask.numpy()):
        leak = leaks is not None and bool(leaks[i, j])
        cell = Rectangle((j, i), 1, 1, edgecolor="#1A1A1A", linewidth=1.3, clip_on=False)
        cell.set_facecolor("#F5B183" if leak else "#0072B2" if visible else "white")
        cell.set_hatch("///" if leak else "")
        ax.add_patch(cell)
        if not visible:
            ax.text(j + 0.5, i + 0.5, "×", ha="center", va="center", color="#5F5F5F")
    rows, columns = mask.shape
    ax.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", title=title)
    ax.set_xticks(np.arange(columns) + 0.5, range(1, columns + 1))
    ax.set_yticks(np.arange(rows) + 0.5, range(1, rows + 1))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(False)


# %%
causal, second_sentence = PRESETS["causal"], not_padding[1, 0].expand(T, T)
gallery = [
    (causal, "causal", None),
    (second_sentence, "padding: two pads", None),
    (decoder[1, 0], "decoder: both, by &", None),
    (PRESETS["off by one"], "off by one: a leak", PRESETS["off by one"] & ~causal),
    (PRESETS["diagonal hidden"], "diagonal hidden: empty row", None),
    (second_sentence[:3], "cross-attention, T = 3, S = 5", None),
]
figure, axes = plt.subplots(2, 3, figsize=(12, 8.2))
for ax, (shown_mask, title, leaks) in zip(axes.flat, gallery, strict=True):
    draw_mask(ax, shown_mask, title, leaks)
for ax in axes[:, 0]:
    ax.set_ylabel("query")
for ax in axes[1]:
    ax.set_xlabel("key")
plotting.show(
    figure,
    alt="Six masks as grids, queries as rows, keys as columns, blue where a query may attend, a "
    "cross where it may not. Causal: lower triangle with its diagonal. Padding: all rows equal, "
    "keys 4 and 5 hidden. Decoder: lower triangle with keys 4 and 5 hidden. Off by one: lower "
    "triangle and one diagonal above it, hatched in orange as a leak. Diagonal hidden: lower "
    "triangle without diagonal, row 1 is empty. Cross-attention: three rows and five columns, keys "
    "4 and 5 hidden.",
)

# %% [markdown]
# ## 7. PyTorch has two conventions, and they are opposite
#
# PyTorch brings its own attention: a function like ours, and a module that also holds the maps for
# queries, keys and values (lecture 5; here with one head). They read the same mask in opposite ways:
#
# | call | argument | a `True` means |
# |---|---|---|
# | `F.scaled_dot_product_attention` | `attn_mask` | **may attend**, as in this course |
# | `nn.MultiheadAttention` | `attn_mask`, `key_padding_mask` | **hide** |
# | `nn.Transformer` and its layers | `src_mask`, `tgt_mask`, …, `…_key_padding_mask` | **hide** |
#
# The table is about `bool` masks. No call complains about the other's mask. So we measure: the same
# causal mask goes to both, first as it is, then inverted. (If the values are the unit matrix, the
# output of attention *is* its weights. This is how we look into a function that does not return
# them.)

# %%
module = nn.MultiheadAttention(d_k, num_heads=1, batch_first=True)
torch.nn.init.normal_(module.in_proj_weight, std=0.7, generator=generator)
sentence = torch.randn(1, T, d_k, generator=generator)  # (B, T, d_k)

with torch.no_grad():
    # the module keeps its three maps stacked in one matrix
    projected = F.linear(sentence, module.in_proj_weight, module.in_proj_bias)  # (B, T, 3 d_k)
    q, k, _ = projected.chunk(3, dim=-1)  # the query and key of the module: (B, T, d_k) each
    measured = {}
    for name, given in [("mask", mask), ("~mask", ~mask)]:
        measured["F.scaled_dot_product_attention", name] = F.scaled_dot_product_attention(
            q, k, torch.eye(T).unsqueeze(0), attn_mask=given
        )[0]
        measured["nn.MultiheadAttention", name] = module(
            sentence, sentence, sentence, attn_mask=given
        )[1][0]  # the module returns (output, weights)
    # any values would do for the reference: only its weights are kept
    reference = attention.scaled_dot_product_attention(q, k, q, mask)[1][0]  # (T, T)

print("right weights?")
for (call, name), weights in measured.items():
    print(f"  {call:<31} attn_mask={name:<6} {torch.allclose(weights, reference, atol=1e-6)}")

# %% tags=["nbval-ignore-output"]
figure, axes = plt.subplots(2, 2, figsize=(10.6, 9))
for ax, ((call, name), weights) in zip(axes.T.flat, measured.items(), strict=True):
    plotting.attention_map(weights.nan_to_num(0.0), inputs, inputs, ax, limit=1.0, key_label="key")
    hatch(ax, weights == 0)
    for i in weights.isnan().any(dim=-1).nonzero().flatten().tolist():
        ax.add_patch(Rectangle((-0.5, i - 0.5), T, 1, facecolor="#F5B183", zorder=3))
        ax.text((T - 1) / 2, i, "NaN", ha="center", va="center", fontsize=16, zorder=4)
    verdict = "right" if torch.allclose(weights, reference, atol=1e-6) else "wrong"
    ax.set_title(f"{call.split('.')[1]}\nattn_mask={name}: {verdict}")
last_row = {  # of the two wrong ones; it depends on the version of PyTorch
    call: "NaN" if weights[-1].isnan().any() else "zero" for call, weights in measured.items()
}
plotting.show(
    figure,
    alt="Four maps of weights, cells with weight 0 hatched. Given the course's mask, "
    "F.scaled_dot_product_attention fills the lower triangle, which is right; "
    "nn.MultiheadAttention fills only the cells above the diagonal, the future, and its last row "
    f"is {last_row['nn.MultiheadAttention', 'mask']}. Given the inverted mask it is the other way "
    "round: scaled_dot_product_attention sees only the future and its last row is "
    f"{last_row['F.scaled_dot_product_attention', '~mask']}, MultiheadAttention fills the lower "
    "triangle, which is right.",
)
assert torch.allclose(measured["F.scaled_dot_product_attention", "mask"], reference, atol=1e-6)
assert torch.allclose(measured["nn.MultiheadAttention", "~mask"], reference, atol=1e-6)
future = ~mask[:-1]
assert (measured["F.scaled_dot_product_attention", "~mask"][:-1][~future] == 0).all()
assert (measured["nn.MultiheadAttention", "mask"][:-1][~future] == 0).all()

# %% [markdown]
# The two wrong pictures are not "a bit off". They show the future and nothing else.
#
# The last row has nothing to attend to. What comes out there is no convention at all: it depends on
# the call, on its arguments and on the version of PyTorch. Ask the one that runs here:

# %% tags=["nbval-ignore-output"]
with torch.no_grad():
    without_weights, _ = module(sentence, sentence, sentence, attn_mask=mask, need_weights=False)
empty_rows = {
    "F.scaled_dot_product_attention": measured["F.scaled_dot_product_attention", "~mask"][-1],
    "nn.MultiheadAttention, need_weights=True": measured["nn.MultiheadAttention", "mask"][-1],
    "nn.MultiheadAttention, need_weights=False": without_weights[0, -1],
}
print(f"a row with nothing to attend to, torch {torch.__version__.split('+')[0]}")
for call, row in empty_rows.items():
    assert (row.nan_to_num(0.0) == 0).all()  # zeros or NaN, whatever the version
    print(f"  {call:<42} {'NaN' if row.isnan().any() else 'zeros'}")

# %% [markdown]
# With torch 2.13 the function gives zeros. The module gives NaN when it is asked for the weights,
# which is its default, and zeros when it is not, because it then calls the function. (A last linear
# map follows in the module, the output projection of lecture 5. It adds its bias to the zeros, which
# is 0 in a new module.)
#
# Older versions of the function
# gave NaN too (pytorch/pytorch #103963), and NaN gradients of the module have been reported since 2020
# (#41508), so that may change as well. Rely on neither: give every row something to attend to, or use
# a softmax like the one of section 5.
#
# The same trap with padding: `key_padding_mask` wants `True` at the pads. (Its shape is $(B, S)$, and
# for this argument that is right.)

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
# Two ways out of the trap:
#
# - **Float masks mean the same in both.** A float mask is *added* to the scores, so 0 shows and −∞
#   hides. (The functions of this course take `bool` only, and refuse a float mask with an error.)
# - **Name your masks after what `True` means**: `may_attend`, `is_pad`. The name `mask` alone says
#   nothing, and this course can use it only because it says the convention on every page.
#
# And one more trap, for decoders that write word by word and ask with the newest word only: in
# `F.scaled_dot_product_attention`, `is_causal=True` puts the triangle into the *top left* corner. A
# single new query beside five keys is then taken for word 1, and sees only the first key.

# %%
additive = torch.zeros(T, T).masked_fill(~mask, -torch.inf)  # 0 shows, -inf hides
with torch.no_grad():
    _, from_module = module(sentence, sentence, sentence, attn_mask=additive)
    unit = torch.eye(T).unsqueeze(0)
    from_function = F.scaled_dot_product_attention(q, k, unit, attn_mask=additive)
    last_query = F.scaled_dot_product_attention(q[:, -1:], k, unit, is_causal=True)
assert torch.allclose(from_module[0], reference, atol=1e-6)
assert torch.allclose(from_function[0], reference, atol=1e-6)
assert last_query[0, 0].tolist() == [1, 0, 0, 0, 0]
print("one query, five keys, is_causal=True:", last_query[0, 0].tolist())

# %% [markdown]
# ## 8. Finding a leak without training
#
# A mask argument proves little. It may be inverted, come after the softmax, or never be used. What
# counts is what the *model* does, so ask the model:
#
# > **Change word $j$. Which outputs move? None before $j$ may.**
#
# > **You may have read** a class that takes a `mask` and passes it on to an attention function with
# > no place for it. The call fails. Adding the parameter silences the error; it does not yet apply
# > the mask. This test tells the difference.
#
# We need a model to ask. Here is a small language model: word vectors, learned position vectors
# (lecture 6), two layers of attention with one head, each followed by a small network that works on
# each word by itself ([lecture 7](07_layer_normalization.ipynb)). For now one thing matters: attention is the only place where words
# meet, and what may be seen there is decided by a function that we pass in.


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
# The model stacks two of them. It has a method `read` of its own, so that we can put in word vectors
# as well as words. We shall need that for the gradients.


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
# Three masks compete. All three hide padding, also the one called "no mask"; they differ only in what
# they do about time.


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
# The diagnostic itself. It treats the model as a black box from ids to scores, so it does not care
# what is inside. (But use eval mode, or dropout, lecture 7, moves everything.) An *untrained* model is
# enough: the mask does not depend on the weights.
#
# A leak that it finds is proof. Finding none says: none with these words and these weights. So make
# sure that something moves at all, at least each output by its own input.


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
# Look at "off by one". Its mask shows *one* word too many, but position 1 learns of two. Each layer
# passes the next word on: position 1 sees position 2, which in the layer below has seen position 3.
# With $L$ layers the leak is $L$ words deep, as far as the sentence reaches.
#
# ### The same with gradients
#
# If nothing leads from input $j$ to output $i$, the derivative of the output by the input is exactly
# zero. If something does, it is as a rule not zero. One call gives all pairs:
#
# $$D_{ij} = \left\lVert \frac{\partial\, \text{output}^{(i)}}{\partial\, x^{(j)}} \right\rVert$$
#
# where $x^{(j)}$ is the word vector at position $j$, $\text{output}^{(i)}$ the scores of all words at
# position $i$, and the norm runs over all derivatives of the one by the other. The advantage over
# replacing words: nobody has to choose a replacement.


# %%
def dependence(model, ids):
    """D[i, j]: size of the derivative of output i by word vector j. ids (1, T) -> (T, T)."""
    mask = model.may_attend(ids)
    x = model.word_vectors(ids).detach()  # (1, T, D)

    def outputs(x):
        return model.read(x, mask)[0]  # (T, vocabulary)

    # all derivatives of all outputs by all entries of x: (T, vocabulary, 1, T, D)
    jacobian = torch.autograd.functional.jacobian(outputs, x, vectorize=True)
    return jacobian.squeeze(2).pow(2).sum(dim=(1, 3)).sqrt()  # (T, vocabulary, T, D) -> (T, T)


matrices = {name: dependence(model, probe) for name, model in models.items()}
for name, matrix in matrices.items():
    found_by_gradient = matrix.triu(diagonal=1) > 0
    assert torch.equal(found_by_gradient, leaks(moved_outputs(models[name], probe, 7)))
print("derivatives and replaced words find the same leaks")

# %%
figure, axes = plt.subplots(2, 2, figsize=(10.8, 10))
numbers = range(1, 8)
names = {"query_label": "output at position", "key_label": "input at position"}
names["colour_label"] = "share of the derivative"
for ax, (name, matrix) in zip(axes.flat, matrices.items(), strict=True):
    share = matrix / matrix.sum(dim=-1, keepdim=True)
    plotting.attention_map(share, numbers, numbers, ax, limit=0.6, **names)
    ax.set_xticks(range(7), numbers, rotation=0, ha="center")
    hatch(ax, matrix == 0)
    for i, j in (matrix.triu(diagonal=1) > 0).nonzero().tolist():
        frame = Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, edgecolor="#D55E00")
        frame.set(linewidth=2.4, zorder=3)
        ax.add_patch(frame)
    ax.set_title(name)
plotting.show(
    figure,
    alt="Four dependence matrices, outputs 1 to 7 as rows, inputs 1 to 7 as columns, each row as "
    "shares of its sum; exact zeros are hatched, all other cells above the diagonal are framed. "
    "Right mask: lower triangle only, no frames, the diagonal largest. No mask: all 21 cells above "
    "the diagonal are framed. Off by one: two diagonals above the main one are framed. Mask after "
    "the softmax: all 21 are framed again, with small numbers.",
)

# %% [markdown]
# Each row is divided by its sum. An orange frame marks the future that gets through. A framed 0.00 is
# small, not zero. Only a hatched cell is exactly zero.
#
# Keep this test. A training curve can at best raise a suspicion. Two short functions in your test
# suite, `moved_outputs` and `leaks`, name the pair of words. And the fourth panel shows why you test
# models and not masks: its mask is perfectly right.
#
# ## 9. What a leak looks like when you train
#
# Now the experiment. The same model learns the English side of the course's corpus, three times: with
# the right mask, with no mask, and off by one. Everything else is equal: 200 steps, the same
# batches, five seeds.

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
def train(may_attend, seed, steps=200):
    """A trained model, and the loss at every step."""
    torch.manual_seed(seed)
    model = LanguageModel(len(vocabulary), LONGEST + 1, may_attend)
    batches = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=4e-3)
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.05, total_iters=steps)
    losses = []
    for _ in range(steps):
        target = train_ids[torch.randint(len(train_ids), (64,), generator=batches)]  # (B, T)
        logits = model(masks.shift_right(target, BOS))  # (B, T, vocabulary)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        decay.step()
        losses.append(loss.item())
    return model, losses


# %% [markdown]
# We measure each model three times. The questions get stricter:
#
# 1. **Teacher-forced**: the whole held-out sentence goes in, and each position names its word. This
#    is how validation scores are usually computed.
# 2. **Word by word**: the same true words, but only those that are already there. Position $i$ is
#    asked when the input ends with $x^{(i)}$, so nothing can be looked up.
# 3. **Free-running**: the model gets three words and writes the rest itself. We call its sentence
#    *well-formed* if it comes to an end and every pair of neighbours in it stands side by side
#    somewhere in the training sentences.


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


# %%
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
# A yardstick for the first two: a table of counts that always names the most frequent follower of the
# last word. It needs no network. And how much can anybody know? We count the words that follow one
# and the same beginning.

# %%
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
# Fifteen models are trained in the next cell. It takes about half a minute.

# %%
SEEDS = [0, 1, 2, 3, 4]
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

# %% tags=["nbval-ignore-output"]
print(f"{'':<12} seed   " + "   ".join(measurements))
for name, rows in table.items():
    for seed, row in zip(SEEDS, rows, strict=True):
        print(f"{name:<12} {seed:>4}   {row[0]:14.3f}   {row[1]:12.3f}   {row[2]:12.3f}")

# %% [markdown]
# These ranges must hold for every seed, or the notebook fails.

# %%
forced, stepwise, free = table["right mask"].T
assert ((forced > 0.38) & (forced < 0.50)).all()
assert (abs(stepwise - forced) < 0.003).all()  # no future, no difference
assert (free > 0.85).all()
for name in ["off by one", "no mask"]:
    forced, stepwise, free = table[name].T
    assert (forced > 0.98).all()
    assert (stepwise < 0.30).all() and (stepwise < table_of_counts).all()
    assert (free < 0.20).all()
print("as stated, for all seeds")

# %%
figure, ax = plt.subplots(figsize=(12, 5.2))
explained = [
    "words right, teacher-forced",
    "words right, word by word",
    "free-running, well-formed",
]
looks = [{"color": "#A6CDE7"}, {"color": "#0072B2"}, {"color": "#F0A56B", "hatch": "//"}]
above = {"xytext": (0, 8), "textcoords": "offset points", "ha": "center", "fontsize": 12}
for k, look in enumerate(looks):
    for group, rows in enumerate(table.values()):
        place, median = group + 0.27 * (k - 1), np.median(rows[:, k])
        name = explained[k] if group == 0 else None
        ax.bar(place, median, 0.25, edgecolor="#1A1A1A", label=name, **look)
        ax.plot([place] * len(SEEDS), rows[:, k], "o", color="black", markersize=6)
        ax.annotate(f"{median:.2f}", (place, rows[:, k].max()), **above)
counted = {"color": "#5F5F5F", "linestyle": "--", "zorder": 0.5}
ax.axhline(table_of_counts, label="words right, table of counts", **counted)
ax.set_xticks(range(3), table)
ax.set(ylim=(0, 1.12), ylabel="share", title="bars: median of five seeds, dots: each seed")
ax.grid(axis="x", visible=False)
ax.legend(loc="upper left", bbox_to_anchor=(1.0, 0.7))
plotting.show(
    figure,
    alt="Bars for three masks with three measurements each, a dot per seed. Right mask: "
    "teacher-forced accuracy about 0.44, word by word the same, well-formed free-running sentences "
    "about 0.97. Off by one: teacher-forced 1.00, word by word about 0.14, free-running about 0. No "
    "mask: 1.00, about 0.15, about 0.01. The spread over seeds is a few hundredths. A dashed line "
    f"marks the table of counts at {table_of_counts:.2f}.",
)

# %% [markdown]
# Judged by the first bar alone, both leaking models are perfect and the right one is poor. Judged by
# what they are for, it is the other way round.
#
# - **Teacher-forced, the leaking models read the answer off.** They have learned to copy the next
#   input. (The cell below tests that.)
# - **Word by word, there is nothing to copy**, and they do worse than the table of counts, the dashed
#   line. For the right model the number does not change: its outputs never depended on what follows.
#   That is what causal means.
# - **0.44 is not bad.** It is more than the table of counts has, and it cannot be near 1: after "you
#   want to" about twenty words are possible, and nobody can know which one the sentence happens to
#   hold. A perfect score where perfection is impossible is a symptom.
# - **Free-running, only the right model writes sentences.** (That it passes as often as real sentences
#   do is no miracle: it always takes the likeliest word, and real ones take a rare word now and then.)
#
# Do they copy? Put any word of the vocabulary, drawn by chance, in the place of the next input. A model
# that reads its answer off will often name that word, however little sense it makes.


# %%
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


copied = {
    name: [share_copied(trained[name, seed], held_out) for seed in SEEDS] for name in competitors
}
assert max(copied["right mask"]) < 0.03
assert min(copied["off by one"] + copied["no mask"]) > 0.3
print("a random next word is named: right mask under 3 %, leaking models over 30 % of the time")

# %% [markdown]
# Look at the loss, as one does while training:

# %%
figure, ax = plt.subplots(figsize=(9.5, 4.8))
for name in competitors:
    curves = np.array([losses[name, seed] for seed in SEEDS])  # (seeds, steps)
    smooth = curves.reshape(len(SEEDS), -1, 5).mean(axis=-1)  # (seeds, steps / 5)
    plotting.seed_curves(np.arange(5, curves.shape[1] + 1, 5), smooth, name, ax)
for line in ax.lines:
    line.set_markevery(4)
ax.set(yscale="log", xlabel="training step", ylabel="loss")
ax.set_title("the broken models learn beautifully")
ax.legend()
plotting.show(
    figure,
    alt="Training loss on a logarithmic axis over 200 steps, with bands for five seeds. "
    "With the right mask it falls to about 1.8 and is almost flat at the end. Off by one and with "
    "no mask it falls on, to a few thousandths, off by one the faster; their bands are jagged.",
)
final_loss = {name: [np.mean(losses[name, seed][-20:]) for seed in SEEDS] for name in competitors}
assert 1.3 < min(final_loss["right mask"]) and max(final_loss["right mask"]) < 2.2
assert max(final_loss["off by one"]) < 0.05 and max(final_loss["no mask"]) < 0.05

# %% [markdown]
# No warning anywhere: the loss falls, and the teacher-forced accuracy on held-out sentences is as good
# as it can be. So read what the models write. Three words were given; the others are the model's own.

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
# | teacher-forced and word-by-word accuracy differ (in eval mode, by more than rounding explains) | **proof** of a leak |
#
# The last line needs a trained model. The test of section 8 does not.
#
# One honest remark. Even without a leak, teacher forcing is easier than writing: a model in training
# never meets its own mistakes. This smaller gap is called exposure bias (Ranzato et al., 2016). It
# is a matter of degree. A leak is a bug.

# %% [markdown]
# ## Summary
#
# - A decoder may see the past and itself: $j \le i$. "Itself" is the word before its target, because
#   the input is the target, shifted by one.
# - One masked pass equals one pass per prefix. This makes training parallel, and it is a test.
# - Hide by −∞ before the softmax. A score of 0 hides nothing. A mask after the softmax breaks the sum
#   and still leaks; renormalising is right on paper and can be NaN in the computer.
# - A row with nothing to attend to gets zeros. Repairing NaN afterwards can leave the gradient NaN.
# - Padding hides keys, shape $(B, 1, 1, S)$; combine with `&` to $(B, 1, T, T)$.
# - `F.scaled_dot_product_attention`: `True` shows. `nn.MultiheadAttention`: `True` hides. What they
#   make of an empty row depends on the version.
# - Change a future word: if an earlier output moves, the model leaks. The leaking models looked best
#   in training and could not write.
#
# **Now you:** [assignment a4, masks](../exercises/a4_masks/a4_masks.ipynb). Next:
# [lecture 5](05_multi_head_attention.ipynb), several heads at once.

# %% [markdown]
# ## Check yourself
#
# **1.** Your mask is right, but you feed the targets *unshifted*. What happens?
#
# <details><summary>Answer</summary>
#
# Position $i$ sees itself, and itself is now the answer. The mask is right, the model leaks
# nevertheless, as with a right shift and an off-by-one mask. Mask and shift belong together.
#
# </details>
#
# **2.** To be safe, somebody hides the diagonal too. Name two consequences.
#
# <details><summary>Answer</summary>
#
# Position 1 has nothing to attend to, so its row is empty (NaN in many implementations). And attention
# no longer reaches the latest word, the one before the target, which often says most about it. In the
# layers of section 8 only the sum `x + …` still brings it (a residual connection, lecture 7).
#
# </details>
#
# **3.** Why is multiplying the weights by the mask after the softmax a leak, although all hidden
# weights are zero?
#
# <details><summary>Answer</summary>
#
# The visible weights were divided by a sum that contains the hidden scores. A future word changes
# that sum, and with it every output of the row.
#
# </details>
#
# **4.** Why does the padding mask have the shape $(B, 1, 1, S)$ and not $(B, 1, S, 1)$?
#
# <details><summary>Answer</summary>
#
# The last axis is the keys. $(B, 1, S, 1)$ would hide *queries*: each pad would get an empty row, and
# every word would still attend to the pads.
#
# </details>
#
# **5.** Does an encoder leak, because it has no causal mask?
#
# <details><summary>Answer</summary>
#
# No. A leak is a path from the answer to the output that must give it. The encoder reads the source,
# and the answer is in the target. BERT (Devlin et al., 2019) sees both sides of a word too; there the
# words to be guessed are replaced in the *input*, nine times out of ten. It is called "masked" as
# well, but it is another kind of mask.
#
# </details>
#
# **6.** A model with six layers uses the off-by-one mask. How many future words can reach output
# $i$?
#
# <details><summary>Answer</summary>
#
# Six, or as many as the sentence still has: each layer passes on one word more.
#
# </details>
#
# **7.** You replace `F.scaled_dot_product_attention(…, attn_mask=m)` by `nn.MultiheadAttention` with
# `attn_mask=m`. The shapes fit and nothing complains. What does the model see now?
#
# <details><summary>Answer</summary>
#
# Exactly what was hidden before. With a causal `m`, each word sees the future only, and the last one
# sees nothing. Give `~m`, or an additive float mask.
#
# </details>
#
# **8.** A colleague trains a language model on short sentences and reports 99.9 % next-word accuracy
# on held-out text. Which two tests do you ask for?
#
# <details><summary>Answer</summary>
#
# Replace a future word and compare the earlier outputs; and compute the same accuracy word by word.
# If the first moves or the second differs, the model leaks. (If neither does, look at the data: are
# the held-out sentences really new?)
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Ronald J. Williams, David Zipser (1989). *A Learning Algorithm for Continually Running Fully
#   Recurrent Neural Networks.* Neural Computation 1(2). The section on teacher forcing.
# - Mathieu Germain, Karol Gregor, Iain Murray, Hugo Larochelle (2015). *MADE: Masked Autoencoder for
#   Distribution Estimation.* ICML. Section 4: masks that make any order of prediction honest.
# - Aäron van den Oord, Nal Kalchbrenner, Koray Kavukcuoglu (2016). *Pixel Recurrent Neural Networks.*
#   ICML. Section 3.4: masked convolutions, for pictures; whether a colour of the present pixel may
#   see itself is the question of the diagonal.
# - Marc'Aurelio Ranzato, Sumit Chopra, Michael Auli, Wojciech Zaremba (2016). *Sequence Level Training
#   with Recurrent Neural Networks.* ICLR. Names exposure bias.
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz
#   Kaiser, Illia Polosukhin (2017). *Attention Is All You Need.* NeurIPS. Section 3.1: the offset by
#   one position; section 3.2.3: illegal connections set to −∞ before the softmax.
# - Jacob Devlin, Ming-Wei Chang, Kenton Lee, Kristina Toutanova (2019). *BERT: Pre-training of Deep
#   Bidirectional Transformers for Language Understanding.* NAACL. Section 3.1: masked words, the other
#   meaning of the word.
