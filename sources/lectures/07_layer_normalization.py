# ---
# jupyter:
#   course:
#     assignment: a7_dropout_and_layer_norm
#     minutes: 100
#     summary: What surrounds attention in a layer, and why a deep stack of layers can be trained.
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
# # Lecture 7: Layer norm, residuals, dropout and the feed-forward network
#
# Attention mixes the words of a sentence. Stack a few untrained attentions on top of each other,
# and all words of a sentence end up as nearly the same vector: section 5 measures it. This lecture
# adds the four plain parts that turn attention into a layer that can be stacked.
#
# **Afterwards you will be able to**
#
# - compute layer norm by loop and by matrix, and say over which axis, with which variance, and
#   where ε belongs;
# - say what batch norm does instead, and measure why that is awkward for sentences;
# - explain what a residual connection does to gradients, and what it does not;
# - say what dropout does to attention weights that summed to one;
# - build the whole encoder layer, post-LN and pre-LN, and choose between them with evidence.
#
# **Time** about 100 minutes. **Needs** [lecture 5](05_multi_head_attention.ipynb) and
# [lecture 6](06_positional_encoding.ipynb).

# %%
import itertools
import math

import ipywidgets as widgets
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from course_utils import data, layers, plotting
from course_utils.attention import MultiHeadAttention
from course_utils.evaluation import evaluating
from course_utils.positional import PositionalEncoding, positional_encoding

plotting.use_course_style()
torch.set_num_threads(1)  # small tensors: threads would wait for each other longer than they work

# %% [markdown]
# ## 1. The layer at a glance
#
# ![Two encoder layers, each drawn from bottom to top. A thick blue stream starts at the input x.
# Left, post-LN, 2017: a branch leaves the stream, passes self-attention and dropout, and is added
# back at a plus sign; a layer norm sits on the stream after the plus. Then the same with
# feed-forward and dropout, a plus and a second layer norm: every sum is normalised. Right, pre-LN:
# the layer norms sit at the start of the two branches, before self-attention and before
# feed-forward; on the stream itself there are only the two plus signs, it runs through
# unnormalised.](../figures/encoder_layer.svg)
#
# | part | what it does | section |
# |---|---|---|
# | layer norm | brings each token to mean 0 and variance 1, then scales and shifts | 2 to 4 |
# | residual connection, the plus | keeps the input and adds a change to it | 5 |
# | dropout | sets random entries to zero in training | 6 |
# | feed-forward network | transforms each token by itself | 7 |
#
# Self-attention is the multi-head attention of lecture 5. It and the feed-forward network are the
# two **sublayers**. The thick blue line that leads past them is the **stream**. Lecture 8 builds an
# encoder from such layers, hence the name *encoder layer*.
#
# LN is short for layer norm. Post-LN has it after each plus, pre-LN before each sublayer; the parts
# are the same. Sections 8 to 10 measure what the order decides.

# %% [markdown]
# ## 2. Layer norm, one token at a time
#
# How large are the numbers that one sublayer hands to the next? That depends on its weights, and
# they change with every training step. Layer norm brings each token to a known size.
#
# A token is a vector $x$ of $D$ numbers. Layer norm subtracts their mean, divides by their spread
# (the standard deviation σ), and then lets the model choose a new scale and a new centre for each
# feature:
#
# $$\mu = \frac{1}{D} \sum_{k=1}^{D} x_k \qquad
# \sigma^2 = \frac{1}{D} \sum_{k=1}^{D} (x_k - \mu)^2 \qquad
# y_k = \gamma_k\, \frac{x_k - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta_k$$
#
# | symbol | meaning | here |
# |---|---|---|
# | $D$ | number of features of a token, `d_model` | 5 |
# | $\mu$, $\sigma^2$ | mean and variance of *one* token over its features | a pair per token |
# | $\gamma$, $\beta$ | learned scale and shift per feature, same for all tokens | `gamma`, `beta` |
# | $\varepsilon$ | a small constant that keeps the root away from zero | $10^{-5}$ |
#
# Slowly first: a loop over sentences, tokens and features. γ and β are random here, as if training
# had chosen them, so the token does not come out with mean 0.

# %%
torch.manual_seed(7)
B, T, D = 2, 3, 5
x = torch.randn(B, T, D) * 3 + 2  # (B, T, D)
gamma, beta = torch.randn(D), torch.randn(D)  # (D,) each
eps = 1e-5

by_loop = torch.empty(B, T, D)
for b in range(B):
    for t in range(T):
        mean = sum(x[b, t, k] for k in range(D)) / D
        variance = sum((x[b, t, k] - mean) ** 2 for k in range(D)) / D
        for k in range(D):
            by_loop[b, t, k] = gamma[k] * (x[b, t, k] - mean) / (variance + eps).sqrt() + beta[k]

print("token 1 of sentence 1, before:", [f"{value:.2f}" for value in x[0, 0].tolist()])
print("                       after: ", [f"{value:.2f}" for value in by_loop[0, 0].tolist()])

# %% [markdown]
# Now all tokens at once. `keepdim=True` keeps the last axis with size 1, so that each token meets
# its own mean. The numbers agree with PyTorch's module and with the course's.


# %%
def layer_norm(x, gamma, beta, eps=1e-5):
    """Normalise the last axis, then scale and shift; x is (..., D), gamma and beta are (D,)."""
    centred = x - x.mean(dim=-1, keepdim=True)  # (..., D) - (..., 1)
    variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
    return gamma * centred / (variance + eps).sqrt() + beta


y = layer_norm(x, gamma, beta)
assert torch.allclose(y, by_loop, atol=1e-5)
for module in (nn.LayerNorm(D), layers.LayerNorm(D)):
    module.load_state_dict({"weight": gamma, "bias": beta})  # PyTorch's names for γ and β
    assert torch.allclose(module(x), y, atol=1e-5)
print("loop, matrix form, nn.LayerNorm and course_utils agree:", y.shape)

# %% [markdown]
# ### Three details that are easy to get wrong
#
# **The variance divides by $D$, not by $D - 1$.** PyTorch's `tensor.var()` and `tensor.std()`
# divide by $D - 1$ unless told otherwise. With five features the spread then comes out 12 % too
# large, with 512 it is 0.1 %. γ can learn such a factor away, so training may never show it; a
# comparison of numbers does.

# %%
for width in (5, 512):
    token = torch.randn(width)
    ratio = token.std() / token.std(correction=0)
    assert torch.isclose(ratio, torch.tensor((width / (width - 1)) ** 0.5), atol=1e-5)
    print(f"D = {width:3d}: dividing by D - 1 makes the spread {100 * (ratio - 1):.1f} % larger")

# %% [markdown]
# **ε stands inside the root.** $\sqrt{\sigma^2 + \varepsilon}$ and $\sigma + \varepsilon$ look
# alike. They differ for a faint token, one whose features hardly vary. With $\sigma = 0.001$ the
# variance is $10^{-6}$, ten times *less* than ε: inside the root, ε keeps the token faint; outside,
# the token is blown up to nearly full size.
#
# And if the features do not vary at all, the form with ε outside takes the slope of $\sqrt{\ }$ at
# zero, which is infinite. Its output is still fine, but its *gradient* is NaN.


# %%
def with_eps_outside(token):
    """The wrong form: ε is added to σ after the root."""
    centred = token - token.mean()
    return centred / (centred.square().mean().sqrt() + eps)


flat = torch.full((D,), 3.0)  # all features equal
faint = 1e-3 * x[0, 0] / x[0, 0].std(correction=0)  # σ = 0.001
gradients, spreads = {}, {}
for place, norm in [("inside", layers.LayerNorm(D)), ("outside", with_eps_outside)]:
    token = flat.clone().requires_grad_()
    norm(token)[0].backward()
    gradients[place] = token.grad
    spreads[place] = norm(faint).std(correction=0).item()
    gradient = "finite" if token.grad.isfinite().all() else "NaN"
    print(f"ε {place:>7}: the faint token's spread {spreads[place]:.2f}", end=", ")
    print(f"the flat token's gradient {gradient}")
assert gradients["inside"].isfinite().all()
assert gradients["outside"].isnan().any()
assert spreads["inside"] < 0.5 and spreads["outside"] > 0.9

# %% [markdown]
# **γ and β belong to it.** After the division every token has mean 0 and, up to ε, length
# $\sqrt{D}$. Two numbers of each token, its centre and its size, are gone for good. That is what we
# wanted: $10 x - 4$ gives the same as $x$.
#
# γ and β do not bring these two numbers back, since they are the same for all tokens. They let
# training choose a size and a centre for each *feature*, and start at one and zero. In a module
# they must be an `nn.Parameter` each: an optimiser never sees a plain tensor, and
# `model.to(device)` leaves it behind. (Whether a model needs them is another question: Xu et al.,
# 2019, found that several models do as well or better without.)

# %%
plain = layers.LayerNorm(D)  # γ = 1, β = 0
normed = plain(x)

assert torch.allclose(normed.mean(dim=-1), torch.zeros(B, T), atol=1e-6)
assert torch.allclose(normed.norm(dim=-1), torch.full((B, T), D**0.5), atol=1e-3)
assert torch.allclose(plain(10 * x - 4), normed, atol=1e-4)
print("lengths:", normed.norm(dim=-1).flatten().detach(), f"and √D = {D**0.5:.4f}")
print("the same for 10 x - 4:", torch.allclose(plain(10 * x - 4), normed, atol=1e-4))

# %% [markdown]
# ## 3. Which axes?
#
# Before layer norm there was batch norm (Ioffe and Szegedy, 2015), first shown on image networks. It
# has the same formula and other axes. A batch of sentences has three axes, $(B, T, D)$, and the
# question is always: **which entries share one mean?**
#
# ![Three panels, each with the same two sentences as grids, one row per token and one column per
# feature: can you help me, and i read followed by two hatched pads. Filled cells share one mean.
# Batch norm: the third column in both sentences, pads too; one mean for each feature, D means.
# Layer norm: the row of the token you alone; one mean for each token, B times T means. Third panel,
# titled not in a transformer: all cells of the first sentence; one mean for each sentence, B
# means.](../figures/norm_axes.svg)
#
# | | averaged over | means | learned parameters |
# |---|---|---|---|
# | batch norm | $B$ and $T$ | one per feature: $D$ | γ, β: a pair per feature |
# | layer norm in a transformer | $D$ | one per token: $B \cdot T$ | γ, β: a pair per feature |
#
# Again by loop, now for batch norm. `nn.BatchNorm1d` wants the features on axis 1.

# %%
batch_by_loop = torch.empty(B, T, D)
for k in range(D):
    column = [x[b, t, k] for b in range(B) for t in range(T)]
    mean = sum(column) / len(column)
    variance = sum((entry - mean) ** 2 for entry in column) / len(column)
    batch_by_loop[:, :, k] = (x[:, :, k] - mean) / (variance + eps).sqrt()

batch_norm = nn.BatchNorm1d(D)
by_module = batch_norm(x.transpose(1, 2)).transpose(1, 2)  # (B, D, T) inside, (B, T, D) outside

assert torch.allclose(by_module, batch_by_loop, atol=1e-5)
assert not torch.allclose(by_module, normed, atol=1e-1)
print("loop equals nn.BatchNorm1d:", torch.allclose(by_module, batch_by_loop, atol=1e-5))

# %% [markdown]
# > **You may have read** that layer norm computes mean and standard deviation "for each training
# > example". In a transformer it is **for each token**. The words fit where an example is a single
# > vector. Ba et al. (2016) speak of a single training case, too, but for recurrent networks they
# > compute mean and spread at each time step. `nn.LayerNorm(D)` normalises the last axis;
# > `nn.LayerNorm((T, D))` would be the version per sentence, and then a word's output would depend
# > on the words around it.
#
# A simple test tells the three apart: change one token, and see which outputs change.


# %%
def normalise(x, axes):
    """Mean 0 and variance 1 over the given axes of x (B, T, D)."""
    centred = x - x.mean(dim=axes, keepdim=True)
    return centred / (centred.square().mean(dim=axes, keepdim=True) + eps).sqrt()


changed_input = x.clone()
changed_input[0, 1] += torch.tensor([1.0, -2.0, 0.5, 3.0, 0.0])  # token 2 of sentence 1

expected = {"layer norm, D": 1, "batch norm, B T": B * T, "sentence, T D": T}
for (name, number), axes in zip(expected.items(), [(2,), (0, 1), (1, 2)], strict=True):
    moved = (normalise(changed_input, axes) - normalise(x, axes)).abs().amax(dim=2) > 1e-4  # (B, T)
    print(f"{name:<16} tokens that changed: {moved.sum():d} of {B * T}")
    assert moved.sum() == number and moved[0, 1]
assert torch.allclose(normalise(x, (2,)), nn.LayerNorm(D)(x), atol=1e-5)
assert torch.allclose(normalise(x, (1, 2)), nn.LayerNorm((T, D))(x), atol=1e-5)
assert torch.allclose(normalise(x, (0, 1)), by_module, atol=1e-5)

# %% [markdown]
# Only under layer norm is each token on its own. Under batch norm the whole batch moves.
#
# Choose the axes yourself. The picture marks, for the framed entry (feature 3 of "you"), every
# entry of the batch that takes part in its mean. The name of your choice stands above it.

# %%
AXES = ("B", "T", "D")
CHOICES = {
    (): "no axis: each entry minus itself, nothing is left",
    ("D",): "D: layer norm, as transformers use it",
    ("B", "T"): "B and T: batch norm",
    ("T", "D"): "T and D: one mean per sentence",
    ("T",): "T: instance norm, one mean per sentence and feature",
    ("B",): "B: one mean per place and feature",
    ("B", "D"): "B and D: one mean per place",
    ("B", "T", "D"): "B, T and D: one mean for everything",
}


# %%
SENTENCES = [["can", "you", "help", "me"], ["i", "read", "‹pad›", "‹pad›"]]


def draw_choice(chosen, axes_of_figure):
    """Mark the entries that share a mean with feature 3 of token 2 of sentence 1."""
    cells = torch.zeros(2, 4, 6)  # (B, T, D)
    entry = {"B": 0, "T": 1, "D": 2}  # where the framed entry is on each axis
    # A chosen axis is taken whole, any other only at the framed entry's place.
    cells[tuple(slice(None) if axis in chosen else place for axis, place in entry.items())] = 1.0
    for sentence, ax in enumerate(axes_of_figure):
        ax.pcolormesh(cells[sentence], cmap="Blues", vmin=0, vmax=1.3, edgecolors="#5F5F5F", lw=1.2)
        ax.set_yticks([0.5, 1.5, 2.5, 3.5], SENTENCES[sentence])
        ax.set_xticks([])
        ax.set(ylim=(4, 0), aspect="equal")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    axes_of_figure[0].add_patch(plt.Rectangle((2, 1), 1, 1, fill=False, lw=4, ec="#D55E00"))
    axes_of_figure[1].set_xlabel("features")


# %% tags=["interactive"]
def explore(over_batch, over_tokens, over_features):
    ticked = [over_batch, over_tokens, over_features]
    chosen = tuple(axis for axis, on in zip(AXES, ticked, strict=True) if on)
    figure, axes_of_figure = plt.subplots(2, 1, figsize=(5.2, 5.6))
    draw_choice(chosen, axes_of_figure)
    figure.suptitle(CHOICES[chosen])
    size = {"B": 2, "T": 4, "D": 6}
    entries = math.prod(size[axis] for axis in chosen)
    plotting.show(figure, alt=f"Averaged over {CHOICES[chosen]}. {entries} entries share a mean.")
    print(f"entries that share a mean: {entries}, means: {48 // entries}")


_ = widgets.interact(
    explore,
    over_batch=widgets.Checkbox(value=False, description="average over B"),
    over_tokens=widgets.Checkbox(value=False, description="average over T"),
    over_features=widgets.Checkbox(value=True, description="average over D"),
)

# %% [markdown]
# Four of the eight choices, side by side. (Instance norm is another one from image networks. We
# shall not need it.)

# %%
figure, grid = plt.subplots(2, 4, figsize=(14, 5.2))
shown = [("D",), ("B", "T"), ("T", "D"), ("T",)]
for column, chosen in enumerate(shown):
    draw_choice(chosen, grid[:, column])
    name, description = CHOICES[chosen].split(": ")
    grid[0, column].set_title(f"{name}:\n{description.split(',')[0]}")
plotting.show(
    figure,
    alt="Four panels with two sentences each, tokens as rows and six features as columns. The "
    "third feature of you is framed; dark cells take part in its mean. Over D, layer norm: "
    "the row of you. Over B and T, batch norm: the third column in both sentences, pads too. "
    "Over T and D: the whole first sentence. Over T, instance norm: the third column of the "
    "first sentence only.",
)

# %% [markdown]
# ## 4. Why not batch norm?
#
# Batch norm works well for images. In a transformer four things make it awkward. All four can be
# measured.
#
# **1. The future leaks.** In training, batch norm averages over all positions of the sentence, and
# later words are among them. A causal mask in the attention cannot help: the leak is in the norm.

# %%
torch.manual_seed(0)
norm = nn.BatchNorm1d(16)  # in training mode
words = torch.randn(1, 8, 16)  # one sentence of eight words
other_ending = words.clone()
other_ending[0, 7] = torch.randn(16)

leak_batch = (norm(words.mT) - norm(other_ending.mT)).mT[0, 0].abs().max()
leak_layer = (nn.LayerNorm(16)(words) - nn.LayerNorm(16)(other_ending))[0, 0].abs().max()
assert leak_batch > 0.05 and leak_layer == 0
print("the last word changed; the first word's output moves")
print(f"under batch norm by {leak_batch:.2f}")
print(f"under layer norm by {leak_layer:.2f}")

# %% [markdown]
# **2. One entry has no spread.** A decoder writes one word at a time. With a single sentence, each
# feature then has one entry, and there is no spread to divide by: batch norm as used in training
# refuses. It needs a second mode that takes mean and variance from elsewhere. Layer norm does not
# even notice.

# %%
one_word = torch.randn(1, 16)
try:
    nn.BatchNorm1d(16)(one_word)
except ValueError as error:
    print("batch norm:", str(error).split(",")[0])
else:
    raise AssertionError("batch norm accepted one entry per feature")
print("layer norm:", nn.LayerNorm(16)(one_word).shape)

# %% [markdown]
# **3. Two modes that disagree.** In training, batch norm uses mean and variance of the batch at
# hand. In evaluation a sentence must not depend on which others happen to be translated with it, so
# batch norm uses averages that it collected in training, the *running statistics*. The same words
# come out differently in the two modes, the more so the smaller the batch.
#
# **4. Pads count.** How many pads a sentence gets depends on its longest neighbour. If they are
# zeros, they pull the mean towards zero and, unless the mean was large, shrink the variance.
#
# We measure 3 and 4 on German sentences from lecture 1's corpus, with random word vectors. The
# running statistics are a plain average (`momentum=None`) over 100 batches without pads. That is a
# mild case: in real training the vectors move, and an average over old batches is out of date.

# %%
corpus = data.sample_pairs(2_000, seed=0)
german, english = data.vocabularies(corpus)
table = data.collate(corpus, german, english).source  # (2000, S) padded to the longest


def some_words(batch_size):
    """Ids of the real words of a random batch, without pads: (words,)."""
    ids = table[torch.randint(len(table), (batch_size,))]
    return ids[ids != data.PAD_ID]


# %% [markdown]
# The two measurements: training against evaluation mode, and with pads against without. Both
# differences are relative to the size of the output.


# %%
def mode_gap(batch_size, seed):
    """Difference between training and evaluation mode, relative to the output."""
    torch.manual_seed(seed)
    embedding = nn.Embedding(len(german), 16)
    norm = nn.BatchNorm1d(16, momentum=None, affine=False)  # no γ, no β
    for _ in range(100):
        norm(embedding(some_words(batch_size)))
    norm.eval()  # from here on it uses the running statistics
    difference, size = 0.0, 0.0
    for _ in range(20):
        entries = embedding(some_words(batch_size))  # (words, 16)
        in_training = F.batch_norm(entries, None, None, training=True)  # this batch's own
        difference += (in_training - norm(entries)).norm() ** 2
        size += norm(entries).norm() ** 2
    return (difference / size).sqrt().item()


def pad_gap(share, seed):
    """How far 16 sentences' words move when pads, zero vectors, make up this share."""
    torch.manual_seed(seed)
    entries = nn.Embedding(len(german), 16)(some_words(16))  # (words, 16)
    pads = torch.zeros(round(len(entries) * share / (1 - share)), 16)
    without, with_pads = (
        F.batch_norm(torch.cat(rows), None, None, training=True)[: len(entries)]
        for rows in ([entries], [entries, pads])
    )
    return ((with_pads - without).norm() / without.norm()).item()


# %%
batch_sizes, shares = [1, 4, 16, 64], [0.0, 0.2, 0.4, 0.6]
with torch.no_grad():
    mode_gaps = torch.tensor([[mode_gap(n, seed) for n in batch_sizes] for seed in range(5)])
    pad_gaps = torch.tensor([[pad_gap(share, seed) for share in shares] for seed in range(5)])

for size, gap in zip(batch_sizes, mode_gaps.median(dim=0).values, strict=True):
    print(f"{size:2d} sentences: the modes differ by {100 * gap:3.0f} %")
for share, gap in zip(shares, pad_gaps.median(dim=0).values, strict=True):
    print(f"{100 * share:2.0f} % pads: the words move by {100 * gap:3.0f} %")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8))
plotting.seed_curves(batch_sizes, 100 * mode_gaps, "batch norm", left)
left.plot(batch_sizes, [0] * len(batch_sizes), label="layer norm: no modes")
left.set(xscale="log", xlabel="sentences in a batch", ylabel="difference in %", ylim=(-2, 45))
left.set_xticks(batch_sizes, batch_sizes)
left.minorticks_off()
left.set_title("training against evaluation mode")
plotting.seed_curves([100 * share for share in shares], 100 * pad_gaps, "batch norm", right)
right.plot([100 * share for share in shares], [0] * len(shares), label="layer norm: no neighbours")
right.set(xlabel="pads among the entries in %", ylabel="difference in %")
right.set_title("with pads against without")
left.legend()
right.legend()
plotting.show(
    figure,
    alt="Two panels, medians over five seeds with bands for the range; layer norm lies at 0 in "
    "both. Left: how far batch norm's training mode differs from its evaluation mode, against"
    " the sentences in a batch: about 33 % at 1, 16 % at 4, 8 % at 16 and 4 % at 64. Right: "
    "how far the words of 16 sentences move when pads are added, against the share of pads: 0"
    " without pads, about 12 % at 20 %, 30 % at 40 %, 60 % at 60 %.",
)
at_1, at_64 = mode_gaps[:, 0], mode_gaps[:, -1]
assert ((at_1 > 0.2) & (at_1 < 0.5)).all() and ((at_64 > 0.02) & (at_64 < 0.08)).all()
assert ((at_1 / at_64 > 5) & (at_1 / at_64 < 12)).all()  # one over the root of 64 would give 8
assert ((pad_gaps[:, -1] > 0.5) & (pad_gaps[:, -1] < 0.7)).all()

# %% [markdown]
# (Here and below, a line is the median over the seeds, and the band around it their range.)
#
# The gap between the modes falls like one over the root of the batch size: a mean of few words is a
# rough estimate. Shen et al. (2020) looked into transformers in training, and found that the
# statistics of a batch fluctuate much more there than in a network for images. Wang et al. (2022)
# found that the gap between the two modes is the main reason why batch norm does worse on text.
#
# Awkward is not impossible. A mask keeps pads out of the statistics, and large batches make them
# steadier. (The leak stays, wherever the future must be hidden.) Layer norm needs none of this:
# each token is on its own, in training as in evaluation. (It normalises pads too. They do no harm
# there, but attention still needs its mask.)
#
# > **You may have read** that the original transformer has no inputs of varying length, because
# > sentences are padded. Padding makes the tensor rectangular, not the sentences equally long; mask
# > and layer norm together see to it that a sentence does not notice how many pads follow it. (The
# > last `assert` in section 8's first cell checks this for a whole layer.)
#
# > **You may have read** that transformers avoid batch norm because large text corpora need
# > parallel computation. We found nothing that supports this. Networks with batch norm have been
# > trained on 256 GPUs at once (Goyal et al., 2017): each GPU uses its own part of the batch for
# > the statistics. `nn.SyncBatchNorm` shares them between GPUs, at the price of some communication.
# > The dependence between examples is real. It hurts for the reasons measured above.

# %% [markdown]
# ## 5. Residual connections
#
# Every sublayer $f$, attention or feed-forward, does not replace its input but adds to it:
#
# $$y = x + f(x) \qquad\Longrightarrow\qquad
# \frac{\partial y}{\partial x} = I + \frac{\partial f}{\partial x}$$
#
# On its way from the top of a stack to the bottom, the gradient is multiplied by one such matrix
# per sublayer. Without the $I$, each of them shrinks it, at least with PyTorch's initial weights.
# With the $I$, multiply out $(I + J_1)(I + J_2) \cdots$, where $J_k$ is the second summand
# for sublayer $k$: one term is $I$ alone. There is always one way down on which nothing is
# multiplied at all. (A norm that stands on this way, as in post-LN, multiplies again. Section 8
# comes back to it.)
#
# We send a random gradient down a stack of feed-forward networks (two linear maps with a ReLU
# between them, section 7), and see how much of it reaches the input. Four variants: with and
# without residual, with and without a layer norm after each.


# %%
def surviving_gradient(depth, residual, norm, seed):
    """Length of the gradient at the input, relative to its length at the output."""
    torch.manual_seed(seed)
    x = torch.randn(16, 12, 32, requires_grad=True)  # (B, T, D)
    stream = x
    for _ in range(depth):
        change = layers.PositionwiseFeedForward(32, 128, dropout=0.0)(stream)
        stream = stream + change if residual else change
        if norm:
            stream = F.layer_norm(stream, (32,))
    from_above = torch.randn_like(stream)
    stream.backward(from_above)  # as if a loss further up had sent this gradient
    return (x.grad.norm() / from_above.norm()).item()


depths = [1, 2, 4, 8, 16, 32]
surviving = {}
for residual, norm in itertools.product([False, True], repeat=2):
    name = ("residual" if residual else "plain") + (" + norm" if norm else "")
    surviving[name] = torch.tensor(
        [[surviving_gradient(depth, residual, norm, seed) for depth in depths] for seed in range(5)]
    )  # (seeds, depths)
assert (surviving["plain"][:, -1] < 1e-15).all()
for name in ("residual", "residual + norm"):
    assert ((surviving[name] > 0.5) & (surviving[name] < 5)).all()
assert ((surviving["plain + norm"] > 1e-2) & (surviving["plain + norm"] < 5)).all()
print("plain, depth 32:     less than 10^-15 of the gradient arrives")
print("with residual or norm: between 10^-2 and 5 times the gradient, at every depth")

# %%
figure, ax = plt.subplots(figsize=(8.5, 4.8))
for name, values in surviving.items():
    plotting.seed_curves(depths, values, name, ax)
ax.set(xscale="log", yscale="log", xlabel="networks on top of each other")
ax.set_ylabel("gradient at the input\n/ gradient at the output")
ax.set_xticks(depths, depths)
ax.minorticks_off()
ax.legend(loc="lower left")
plotting.show(
    figure,
    alt="The share of the gradient that reaches the input against the depth from 1 to 32, both "
    "axes logarithmic, medians over five seeds with bands for the range. Plain falls to about "
    "10 to the minus 20. With both a residual connection and a layer norm the curve stays at 1. "
    "With the residual alone it rises to 2 at depth 32, with the norm alone it sinks to 0.4, "
    "where its band reaches below 0.1.",
)

# %% [markdown]
# A plain stack loses three quarters of the gradient in each network; at depth 8 one part in 100 000
# is left. The residual connection repairs that. But look at the curve "plain + norm": **so, nearly,
# does layer norm alone.** It divides by the spread, in the backward pass too, and undoes the
# shrinking. So vanishing gradients are not the whole reason for the plus.
#
# The other reason is what the stream *carries*. Attention averages, and averaging makes words
# alike: before training, every word looks at all words about equally, so all get nearly the same
# average. We stack attention with layer norm, and measure how similar different words of a sentence
# are, as the average cosine between their vectors.


# %%
def similarity(x):
    """Average cosine between different tokens of the same sentence; x is (B, T, D)."""
    directions = F.normalize(x, dim=-1)
    cosines = directions @ directions.mT  # (B, T, T)
    return cosines[:, ~torch.eye(x.shape[1], dtype=torch.bool)].mean().item()


def similarity_by_depth(residual, seed):
    torch.manual_seed(seed)
    x = torch.randn(16, 12, 32)  # (B, T, D)
    found = [similarity(x)]
    for _ in range(6):
        change, _ = MultiHeadAttention(32, 4)(x, x, x)
        x = F.layer_norm(x + change if residual else change, (32,))
        found.append(similarity(x))
    return found


with torch.no_grad():
    for name, residual in [("without residual", False), ("with residual", True)]:
        alike = torch.tensor([similarity_by_depth(residual, seed) for seed in range(5)])
        print(f"{name:<17}", "".join(f"{value:6.2f}" for value in alike.median(dim=0).values))
        if residual:
            assert (alike[:, -1] < 0.4).all()
        else:
            assert (alike[:, 2] > 0.95).all()

# %% [markdown]
# The first column is the input, each further one is one attention higher. Without the plus, all
# words of a sentence are nearly the same vector after two untrained attentions, in spite of the
# layer norms: hardly anything is left to tell them apart. With the plus, each word keeps itself and
# adds what it heard from the others.
#
# Dong et al. (2021) prove that stacks of attention alone, with neither residuals nor feed-forward
# networks, lose the differences between words doubly exponentially fast in the depth: each layer
# shrinks them by a larger factor than the one before.

# %% [markdown]
# ## 6. Dropout
#
# A network can come to rely on single telling entries that mean nothing outside its training data.
# Dropout is meant to prevent that: any entry may be missing. In training it sets each entry to zero
# with probability $p$ and divides the others by $1 - p$:
#
# $$\tilde{x}_k = \frac{m_k}{1 - p}\, x_k, \qquad m_k = 0 \text{ with probability } p
# \text{, else } 1$$
#
# The division keeps the *expectation*: $\mathbb{E}[\tilde{x}_k] = \frac{1-p}{1-p}\,x_k = x_k$. So
# in evaluation there is nothing to correct, and dropout does nothing at all.
#
# First by hand. (Which entries PyTorch's own dropout picks, with the same seed, depends on the
# processor. The numbers here should be the same on yours.)


# %%
def drop(x, p):
    """Dropout by hand: zero with probability p, otherwise divided by 1 - p."""
    kept = torch.rand(x.shape) >= p
    return x * kept / (1 - p)


ones = torch.ones(8)
torch.manual_seed(0)
print("training:  ", drop(ones, 0.5))
average = torch.stack([drop(ones, 0.5) for _ in range(20_000)]).mean(dim=0)
print("average:   ", [f"{value:.1f}" for value in average.tolist()])
assert torch.allclose(average, ones, atol=0.05)

dropout = nn.Dropout(0.5)  # PyTorch's module: the same rule
entries = torch.stack([dropout(ones) for _ in range(20_000)])
assert torch.equal(entries.unique(), torch.tensor([0.0, 2.0]))
assert torch.allclose(entries.mean(dim=0), ones, atol=0.05)
dropout.eval()
print("evaluation:", dropout(ones))
assert torch.equal(dropout(ones), ones)

# %% [markdown]
# A model with dropout has **two modes**, and PyTorch does not guess which one you mean:
# `model.train()` before training, `model.eval()` before everything else.
#
# ### What happens to rows that summed to one
#
# In section 1's picture dropout stands behind each sublayer. Many models drop attention weights,
# too. Lecture 2 was proud of rows that sum to one. Here are four of them with $p = 0.5$.

# %%
torch.manual_seed(13)
words = ["can", "you", "help", "me"]
weights = torch.randn(4, 4).softmax(dim=-1)  # (T, T), each row sums to one
dropped = drop(weights, 0.5)

assert torch.allclose(weights.sum(dim=-1), torch.ones(4))
assert dropped[1].sum() > 1.2 and dropped[2].sum() < 0.8 and dropped[3].sum() == 0
kept = dropped > 0
assert torch.allclose(dropped[kept], 2 * weights[kept])
print("row sums before:", [f"{total:.2f}" for total in weights.sum(dim=-1).tolist()])
print("row sums after: ", [f"{total:.2f}" for total in dropped.sum(dim=-1).tolist()])

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2))
for ax, rows, title in [(left, weights, "softmax"), (right, dropped, "after dropout, p = 0.5")]:
    names = [f"{word}, sum {total:.2f}" for word, total in zip(words, rows.sum(-1), strict=True)]
    plotting.attention_map(rows, names, words, ax, limit=1.5, query_label="query, sum of its row")
    ax.set_title(title)
plotting.show(
    figure,
    alt="Two maps of attention weights with the queries and keys can, you, help, me. Left, after "
    "the softmax: every row sums to 1, the largest weight is 0.71, of me for itself. Right, "
    "after dropout with p = 0.5: eleven of sixteen weights are 0, the others are twice as "
    "large, the largest 1.12; the rows sum to 1.12, 1.44, 0.55 and, for me, 0.00.",
)

# %% [markdown]
# The rows no longer sum to one, and the output is no longer a weighted *average* of the values.
# Here "me" has lost every weight and hears nothing at all.
#
# Averaged over many draws each sum is still one. How far a single sum strays depends on how the row
# spreads its weight. Let $\alpha_{ij}$ be the weight of word $j$ in row $i$. After dropout it is 0
# or $\alpha_{ij}/(1-p)$, which has the variance $\frac{p}{1-p}\,\alpha_{ij}^2$. Each weight is
# dropped independently of the others, so the variances add up:
#
# $$\operatorname{Var}\Bigl[\sum_j \tilde{\alpha}_{ij}\Bigr] = \frac{p}{1-p} \sum_j \alpha_{ij}^2$$
#
# A row that looks at one word only has $\sum_j \alpha_{ij}^2 = 1$: at $p = 0.5$ its sum is 0 or 2.
# A row that spreads evenly over $S$ words has $\sum_j \alpha_{ij}^2 = 1/S$. The spread in the table
# is the root of the variance.

# %%
torch.manual_seed(3)
rows = {
    "one word": F.one_hot(torch.tensor(0), 16).float(),
    "four words alike": torch.tensor([0.25] * 4 + [0.0] * 12),
    "sixteen words alike": torch.full((16,), 1 / 16),
}
print("p = 0.5              mean  spread  predicted")
sums = {}
for name, row in rows.items():
    sums[name] = drop(row.expand(20_000, 16), 0.5).sum(dim=-1)
    predicted = row.square().sum().sqrt()  # p / (1 - p) = 1
    print(f"{name:<20} {sums[name].mean():.2f}   {sums[name].std():.2f}    {predicted:.2f}")
    assert abs(sums[name].mean() - 1) < 0.04
    assert abs(sums[name].std() - predicted) < 0.03

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True)
for ax, (name, totals) in zip(axes, sums.items(), strict=True):
    # Rounded, so that equal sums count as equal.
    values, counts = totals.mul(1000).round().div(1000).unique(return_counts=True)
    ax.bar(values, counts / len(totals), width=0.09, color="#0072B2")
    ax.axvline(1, color="#D55E00", linestyle="--", linewidth=2)
    ax.set(title=name, xlabel="sum of the row", xlim=(-0.15, 2.15))
axes[0].set_ylabel("share of the draws")
plotting.show(
    figure,
    alt="Three bar charts of the sum of a row of weights after dropout with p = 0.5, over 20000 "
    "draws; a dashed line marks 1. All weight on one word: half of the sums are 0, half are "
    "2. Four words alike: 0, 0.5, 1, 1.5 and 2 with shares of 1, 4, 6, 4 and 1 sixteenth. "
    "Sixteen words alike: a narrow bell around 1.",
)

# %% [markdown]
# Three consequences.
#
# - A row can lose **everything**, with probability $p^S$ for $S$ weights: for $S = 4$ and
#   $p = 0.5$, one row in sixteen. Then the word hears nothing in this step.
# - Drop the *weights*, not the *scores*. A score of zero is not a weight of zero: $\exp(0) = 1$,
#   and the softmax would make every row sum to one again, with the wrong words in it.
# - In evaluation all rows sum to one again, except those that may attend to nothing: they are zero.
#   If yours do not, ask first whether somebody forgot `model.eval()`.
#
# The course's `TransformerLayer` follows the paper's text instead: dropout on each sublayer's
# output, before it is added to the stream (Vaswani et al., 2017, section 5.4). The feed-forward
# network has one more, after its ReLU, which the text does not mention. Dropping weights as well is
# common and left to you.
#
# > **You may have read** a class for attention with dropout that normalises over `features` without
# > ever defining it, uses `nn` without importing it, and does not divide its scores by
# > $\sqrt{d_k}$. The first two stop it at once. The third lets it run and only makes it worse. You
# > repair it in assignment a7.
#
# Two questions to take along to a7: how wide is the vector that the norm sees, and which steps of
# lecture 3 have to come before the dropout?

# %% [markdown]
# ## 7. The position-wise feed-forward network
#
# Attention moves information between tokens. What arrives is a weighted sum of linearly mapped
# tokens, and nothing more is done with it. The second half of the layer does more, on each token by
# itself:
#
# $$\mathrm{FFN}(x) = W_2\, \max(0,\, W_1 x + b_1) + b_2$$
#
# Two linear maps with weights $W_1$, $W_2$ and biases $b_1$, $b_2$, from $d_{model}$ up to $d_{ff}$
# and back, with **one** ReLU, the maximum with 0, *between* them.

# %%
torch.manual_seed(11)
ffn = layers.PositionwiseFeedForward(d_model=5, d_ff=13, dropout=0.0)
x = torch.randn(2, 3, 5)  # (B, T, D)

token_by_token = torch.empty(2, 3, 5)
for b in range(2):
    for t in range(3):
        hidden = ffn.w_1.weight @ x[b, t] + ffn.w_1.bias  # (d_ff,)
        token_by_token[b, t] = ffn.w_2.weight @ hidden.clamp(min=0) + ffn.w_2.bias

assert torch.allclose(ffn(x), token_by_token, atol=1e-5)
print("token by token equals all at once:", torch.allclose(ffn(x), token_by_token, atol=1e-5))

# %% [markdown]
# "Position-wise" means that no token sees another. Change one, and only its own output changes.
# Permute them, and the outputs move along. Attention passes the second test too (lecture 2), but
# not the first.

# %%
changed_input = x.clone()
changed_input[0, 1] += 1.0  # token 2 of sentence 1
attend = MultiHeadAttention(5, 1)
order = torch.tensor([2, 0, 1])

for name, f in [("feed-forward", ffn), ("attention", lambda x: attend(x, x, x)[0])]:
    moved = (f(changed_input) - f(x)).abs().amax(dim=-1) > 1e-5  # (B, T)
    equivariant = torch.allclose(f(x[:, order]), f(x)[:, order], atol=1e-5)
    print(f"{name:<13} tokens that changed: {moved.sum():d}, permutes along: {equivariant}")
    assert moved.sum() == (1 if f is ffn else 3) and equivariant

# %% [markdown]
# > **You may have read** "two linear transformations, each with a ReLU". There is one ReLU. With
# > none, the two maps would collapse into a single one, with the matrix $W_2 W_1$. With a second
# > one at the end, the network could only ever *add* to the stream, never take away.

# %%
without_relu = ffn.w_2(ffn.w_1(x))
one_map = x @ (ffn.w_2.weight @ ffn.w_1.weight).T + ffn.w_2(ffn.w_1.bias)  # W₂ b₁ + b₂
assert torch.allclose(without_relu, one_map, atol=1e-5)
assert (ffn(x) < 0).any()
assert not (torch.relu(ffn(x)) < 0).any()
print("no ReLU: one linear map   one ReLU: both signs   trailing ReLU: nothing below zero")

# %% [markdown]
# > **You may have read** that the feed-forward network is "a form of regularisation" against
# > overfitting. The opposite is nearer the truth: it holds most of a layer's parameters, and a
# > model can memorise with it.
#
# We count the parameters for the sizes of the paper, and then let single tokens with **random**
# labels be learned by heart: 128 tokens of width 16, 8 classes, with and without a feed-forward
# network.


# %%
def memorised(use_ffn, seed):
    """Share of 128 random labels that a classifier knows after 300 steps."""
    torch.manual_seed(seed)
    tokens, labels = torch.randn(128, 16), torch.randint(0, 8, (128,))
    head = nn.Linear(16, 8)
    ffn = layers.PositionwiseFeedForward(16, 64, dropout=0.0)
    model = nn.Sequential(ffn, head) if use_ffn else head
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(300):
        optimiser.zero_grad()
        F.cross_entropy(model(tokens), labels).backward()
        optimiser.step()
    return (model(tokens).argmax(dim=-1) == labels).float().mean().item()


layer = layers.TransformerLayer(512, 8, 2048)
parts = {"attention": layer.self_attn, "feed-forward": layer.feed_forward, "layer": layer}
for name, part in parts.items():
    print(f"{name:<13}{sum(parameter.numel() for parameter in part.parameters()):>10,d} parameters")
by_heart = {use: [memorised(use, seed) for seed in range(3)] for use in (False, True)}
assert max(by_heart[False]) < 0.6 and min(by_heart[True]) > 0.95
print("random labels known by heart: linear map below 60 %, feed-forward network above 95 %")

# %% [markdown]
# A regulariser would make memorising harder. Dropout is one (section 11 measures it); the network
# itself is capacity. Two thirds of a layer's parameters are in it, because $d_{ff} = 4\, d_{model}$
# in the paper: two matrices with $4\, d_{model}^2$ entries each, against four with $d_{model}^2$.

# %% [markdown]
# ## 8. The whole layer
#
# All parts are on the table. Post-LN, the order of the original paper, normalises each sum:
#
# $$x \leftarrow \mathrm{LN}_1\bigl(x + \mathrm{dropout}(\mathrm{SelfAttention}(x))\bigr) \qquad
# x \leftarrow \mathrm{LN}_2\bigl(x + \mathrm{dropout}(\mathrm{FFN}(x))\bigr)$$
#
# Pre-LN normalises what goes *into* each sublayer and leaves the sum alone:
#
# $$x \leftarrow x + \mathrm{dropout}\bigl(\mathrm{SelfAttention}(\mathrm{LN}_1(x))\bigr) \qquad
# x \leftarrow x + \mathrm{dropout}\bigl(\mathrm{FFN}(\mathrm{LN}_2(x))\bigr)$$
#
# We put both together from the parts of `course_utils.layers.TransformerLayer` and compare. The
# last word of the second sentence is a pad, so there is a mask; `True` means "may be attended to".
# In eval mode dropout does nothing, so we can leave it out.

# %%
torch.manual_seed(5)
x = torch.randn(2, 3, 8)  # (B, T, D)
mask = torch.tensor([[True, True, True], [True, True, False]])[:, None, None, :]  # (B, 1, 1, S)

for norm_first in (False, True):
    layer = layers.TransformerLayer(8, 2, 11, dropout=0.1, norm_first=norm_first).eval()
    attend, ffn, ln1, ln2 = (
        layer.self_attn,
        layer.feed_forward,
        layer.layer_norm1,
        layer.layer_norm2,
    )
    if norm_first:
        h = ln1(x)
        h = x + attend(h, h, h, mask)[0]
        by_hand = h + ffn(ln2(h))
    else:
        h = ln1(x + attend(x, x, x, mask)[0])
        by_hand = ln2(h + ffn(h))
    assert torch.allclose(layer(x, mask), by_hand, atol=1e-6)
    assert torch.allclose(layer(x[1:, :2]), by_hand[1:, :2], atol=1e-5)  # the same without the pad
    print("pre-LN " if norm_first else "post-LN", "by hand equals TransformerLayer:", by_hand.shape)

# %% [markdown]
# Two norms, not one that is shared: each has its own γ and β. And the dropout acts on the branch,
# not on the sum: otherwise the stream itself would be full of holes.
#
# What does the order do to the stream? In post-LN, each sum is scaled back to spread 1, and with it
# the input's part in it. In pre-LN nothing is scaled back, and from the bottom of an untrained
# stack to its top the stream grows. So a pre-LN stack needs **one more norm at its end**.
#
# For this and for the next two sections we need a small model, six layers deep, and a task. The
# task is to **reverse** a sequence of eight digits: each output position must find its partner with
# attention.
#
# The initial weights are a choice, too. PyTorch's `nn.Linear` starts with small ones: the variance
# of its output is about a third of its input's. `nn.Transformer` uses larger ones, named after
# Xavier Glorot (Glorot and Bengio, 2010): between equal widths they about keep the variance. We
# shall need both.


# %%
class Reverser(nn.Module):
    """Transformer layers that read eight digits and write them in reverse order."""

    def __init__(self, norm_first, xavier=False, num_layers=6, d_model=32):
        super().__init__()
        self.embedding = nn.Embedding(10, d_model)
        self.register_buffer("positions", positional_encoding(8, d_model))
        self.layers = nn.ModuleList(
            layers.TransformerLayer(d_model, 2, 2 * d_model, dropout=0.0, norm_first=norm_first)
            for _ in range(num_layers)
        )
        self.last_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.generator = nn.Linear(d_model, 10)
        if xavier:
            for parameter in self.layers.parameters():
                if parameter.dim() == 2:
                    nn.init.xavier_uniform_(parameter)

    def streams(self, ids):
        """The stream before the first layer and after each layer, a list of (B, T, D)."""
        found = [self.embedding(ids) + self.positions]
        for layer in self.layers:
            found.append(layer(found[-1]))
        return found

    def forward(self, ids):
        return self.generator(self.last_norm(self.streams(ids)[-1]))  # (B, T, 10)


# %%
ORDERS = {"post-LN": False, "pre-LN": True}
INITS = {"PyTorch's default": False, "Xavier": True}
seeds = range(5)


def at_start(norm_first, xavier, seed):
    """Spread and similarity of the tokens after each layer of an untrained model."""
    torch.manual_seed(seed)
    with evaluating(Reverser(norm_first, xavier)) as model:  # eval mode, no gradients
        found = model.streams(torch.randint(0, 10, (64, 8)))
        return [[x.std().item(), similarity(x)] for x in found]


top = {}
for (init, xavier), (order, norm_first) in itertools.product(INITS.items(), ORDERS.items()):
    found = torch.tensor([at_start(norm_first, xavier, seed) for seed in seeds])
    spread, alike = found.unbind(dim=-1)  # (seeds, 1 + layers) each
    print(f"{init:<18} {order:<8} spread", "".join(f"{v:6.2f}" for v in spread.median(0).values))
    print(" " * 27, "alike ", "".join(f"{v:6.2f}" for v in alike.median(0).values))

    if order == "post-LN":
        assert torch.allclose(spread[:, 1:], torch.ones(len(seeds), 6), atol=1e-3)
    else:
        assert (spread[:, -1] > spread[:, 0]).all()
    top[init, order] = alike[:, -1]  # (seeds,)
assert (top["Xavier", "post-LN"] > 0.9).all()
assert (top["Xavier", "pre-LN"] < 0.85).all()

# %% [markdown]
# The first column is the input, each further one is one layer higher; "alike" is section 5's
# similarity. Two things to keep in mind for the experiments:
#
# - Post-LN holds the spread at 1. Pre-LN lets it grow in six layers, to about 1.4 with PyTorch's
#   weights and to about 2.8 with Xavier's.
# - With Xavier's larger weights, the words of a sentence are **almost the same vector** at the top
#   of a post-LN stack: similarity about 0.97. Section 5 shows why. An untrained attention adds
#   much the same vector to every word (0.94 alike in section 5, with PyTorch's smaller weights).
#   Post-LN scales the sum back, so that a word's own part shrinks at each of twelve norms. In
#   pre-LN nothing shrinks it; only the common part grows beside it, to a similarity of about 0.71.
#
# ## 9. Gradients at the start
#
# Does the order matter for training? One suspect is the size of the first gradients: where they are
# large, the first steps may be too large. Xiong et al. (2020) computed it. Their theorem 1 is an
# upper bound for the gradient in the feed-forward network of the *last* layer, with weights of
# Xavier's size. In post-LN the bound does not depend on the number of layers $L$, in pre-LN it
# falls like $1/\sqrt{L}$: the last norm divides by the spread of the stream, which we just saw
# growing.
#
# A bound is not yet a size, so we measure ten random models each.


# %%
def gradient_by_layer(norm_first, xavier, num_layers, seed):
    """Length of the loss's gradient for W_2 of each layer's feed-forward network."""
    torch.manual_seed(seed)
    model = Reverser(norm_first, xavier, num_layers)
    ids = torch.randint(0, 10, (64, 8))
    F.cross_entropy(model(ids).flatten(0, 1), ids.flip(1).flatten()).backward()  # reversed digits
    return [layer.feed_forward.w_2.weight.grad.norm().item() for layer in model.layers]


by_layer = {
    (init, order): torch.tensor([gradient_by_layer(first, xavier, 6, seed) for seed in range(10)])
    for (init, xavier), (order, first) in itertools.product(INITS.items(), ORDERS.items())
}  # (seeds, layers) each
stack_sizes = [2, 4, 8, 16]
of_last = {
    order: torch.tensor(
        [[gradient_by_layer(first, True, n, seed)[-1] for n in stack_sizes] for seed in range(10)]
    )
    for order, first in ORDERS.items()
}  # (seeds, stack sizes) each

# %%
figure, axes = plt.subplots(1, 3, figsize=(14, 4.8), sharey=True)
for ax, init in zip(axes, INITS, strict=False):
    for order in ORDERS:
        plotting.seed_curves(range(1, 7), by_layer[init, order], order, ax)
    ax.set(xlabel="layer, counted from the input", title=f"six layers, {init}")
for order in ORDERS:
    plotting.seed_curves(stack_sizes, of_last[order], order, axes[2])
axes[2].set(xlabel="number of layers", title="the last layer, Xavier", xscale="log")
axes[2].set_xticks(stack_sizes, stack_sizes)
axes[2].minorticks_off()
axes[0].set(ylabel="length of the gradient for W₂", ylim=(0, None))
axes[0].legend(loc="upper left")
plotting.show(
    figure,
    alt="Length of the gradient for W2 of the feed-forward network in untrained models, medians "
    "over ten seeds with wide bands for the range. Left, six layers with PyTorch's default: "
    "post-LN is level at 0.18, pre-LN falls from 0.16 to 0.12. Middle, six layers with "
    "Xavier: post-LN is level near 0.29, pre-LN falls from 0.21 to 0.11. Right, the last "
    "layer of stacks of 2, 4, 8 and 16 layers, Xavier: post-LN stays between 0.25 and 0.4, "
    "pre-LN falls from 0.14 to 0.08.",
)

# %%
median_of = {key: values.median(dim=0).values for key, values in by_layer.items()}
for init, (low, high) in zip(INITS, [(1.1, 2.0), (1.7, 3.5)], strict=True):
    ratio = median_of[init, "post-LN"] / median_of[init, "pre-LN"]
    assert low < ratio[-1] < high
    print(f"{init:<18} post-LN / pre-LN in layer 6 of 6: {ratio[-1]:.1f}")
trend = of_last["post-LN"].median(dim=0).values / of_last["pre-LN"].median(dim=0).values
assert 1.2 < trend[0] < 2.6 and 3 < trend[-1] < 6
print("Xavier, last of 2, 4, 8, 16 layers: ", "".join(f"{ratio:5.1f}" for ratio in trend))

# %% [markdown]
# The direction is the theorem's: the last layer's gradient in pre-LN shrinks as the stack grows, in
# post-LN it does not, so that their ratio rises from about 2 to about 4. The size is not exactly
# the bound's: from 2 to 16 layers $1/\sqrt{L}$ would fall by a factor of 2.8, pre-LN's gradient
# falls by less than 2. From bottom to top, pre-LN's gradients fall and post-LN's stay level.
#
# These are medians. Single models scatter widely. Only at the top of Xavier stacks of six layers or
# more do the bands part, and at eight only just; elsewhere they overlap, and a single seed proves
# nothing.
#
# And it depends on the initialisation. With PyTorch's smaller weights the branches are faint, each
# layer changes little, and the two orders differ less: at the top 1.5-fold instead of 2.5-fold.
#
# Does a large gradient matter? Plain gradient descent makes a large step of it. Adam divides each
# gradient by its typical size, so for Adam the size alone explains little. A stack in which all
# words look alike is another matter: no rescaling of gradients tells them apart. So let us train.

# %% [markdown]
# ## 10. Which learning rates work?
#
# Six layers, 120 steps of 16 sequences, three learning rates, five seeds, and three settings:
#
# - PyTorch's default initialisation;
# - the same with **warm-up**: the learning rate rises from zero to its full value over the first 50
#   steps;
# - Xavier's initialisation, without warm-up.
#
# Both orders together, that is 90 models. Five of the same shape train *side by side*:
# `stack_module_state` gives each parameter a new first axis with one slice per model,
# `functional_call` runs a model with parameters that are handed to it, and `vmap` does so for every
# slice. No model sees another, and Adam treats each number by itself. So this is training them one
# by one, only faster. (`randomness="different"` matters in section 11: each model draws its own
# dropout.)


# %%
def train_together(models, draw, num_steps, learning_rate, warmup=1):
    """Train N models side by side; returns a function: inputs (N, ...) to outputs (N, ...)."""
    parameters, buffers = torch.func.stack_module_state(models)  # a new first axis, N

    def one_model(parameters, buffers, inputs):
        return torch.func.functional_call(models[0], (parameters, buffers), (inputs,))

    def all_models(inputs):
        return torch.vmap(one_model, randomness="different")(parameters, buffers, inputs)

    optimiser = torch.optim.Adam(parameters.values(), lr=learning_rate, fused=True)
    for step in range(1, num_steps + 1):
        optimiser.param_groups[0]["lr"] = learning_rate * min(1.0, step / warmup)
        inputs, targets = draw()
        loss = F.cross_entropy(all_models(inputs).flatten(0, -2), targets.flatten())
        optimiser.zero_grad()
        (len(models) * loss).backward()  # the loss is a mean over all models; undo their number
        optimiser.step()
    return all_models


# Without a step of training: side by side gives the same logits as one by one.
pair = [Reverser(norm_first=False), Reverser(norm_first=False)]
ids = torch.randint(0, 10, (2, 16, 8))  # (N, B, T)
together = train_together(pair, draw=None, num_steps=0, learning_rate=0.0)(ids)
for model, own_ids, logits in zip(pair, ids, together, strict=True):
    assert torch.allclose(model(own_ids), logits, atol=1e-5)


# %% [markdown]
# The sweep takes about a minute.


# %%
def reversing_accuracy(norm_first, learning_rate, warmup=1, xavier=False):
    """Share of right digits in 256 fresh sequences for each seed, after 120 steps."""
    models = []
    for seed in seeds:
        torch.manual_seed(seed)
        models.append(Reverser(norm_first, xavier))

    def draw(batch_size=16):
        ids = torch.randint(0, 10, (len(models), batch_size, 8))  # (N, B, T)
        return ids, ids.flip(-1)

    trained = train_together(models, draw, 120, learning_rate, warmup)
    with torch.no_grad():
        ids, targets = draw(256)
        return (trained(ids).argmax(dim=-1) == targets).float().mean(dim=(1, 2))  # (N,)


# %% tags=["nbval-ignore-output"]
learning_rates = [0.003, 0.01, 0.03]
settings = {
    "PyTorch's default": {},
    "default, warm-up of 50 steps": {"warmup": 50},
    "Xavier, no warm-up": {"xavier": True},
}
accuracy = {}
print(" " * 38, "".join(f"{rate:7}" for rate in learning_rates))
for (setting, options), (order, norm_first) in itertools.product(settings.items(), ORDERS.items()):
    accuracy[setting, order] = torch.stack(
        [reversing_accuracy(norm_first, rate, **options) for rate in learning_rates], dim=-1
    )  # (seeds, learning rates)
    medians = accuracy[setting, order].median(dim=0).values
    print(f"{setting:<30}{order:<9}", "".join(f"{value:7.2f}" for value in medians))

# %% [markdown]
# Some of these numbers are low. For comparison: how good is a model that knows *which* digits
# occur, but not where? Its best guess is the most frequent digit, everywhere.

# %%
torch.manual_seed(0)
counts = F.one_hot(torch.randint(0, 10, (10_000, 8)), 10).sum(dim=1)  # (sequences, digits)
most_frequent = counts.amax(dim=1)  # how often it occurs, (sequences,)
which_not_where = most_frequent.float().mean().item() / 8
assert 0.27 < which_not_where < 0.33
print(f"knows which, not where: {which_not_where:.2f}     knows nothing: 0.10")

# %%
figure, axes = plt.subplots(1, 3, figsize=(14, 4.8), sharey=True)
for ax, setting in zip(axes, settings, strict=True):
    for order in ORDERS:
        plotting.seed_curves(learning_rates, accuracy[setting, order], order, ax)
    ax.axhline(which_not_where, color="#5F5F5F", linewidth=1.2)
    ax.set(xscale="log", xlabel="learning rate", title=setting)
    ax.set(xlim=(0.0025, 0.036), ylim=(0, 1.05))
    ax.set_xticks(learning_rates, learning_rates)
    ax.minorticks_off()
axes[0].set_ylabel("right digits")
axes[0].legend(loc="lower left", bbox_to_anchor=(0, 0.06))
axes[2].annotate("which, not where", (0.0042, which_not_where + 0.02), fontsize=12)
plotting.show(
    figure,
    alt="Share of right digits after 120 steps against the learning rate 0.003, 0.01, 0.03; "
    "medians over five seeds with bands for the range; a thin line marks 0.3, knowing which digits "
    "but not where. Left, PyTorch's default: at 0.003 both orders are near 1, at 0.01 pre-LN stays "
    "near 1 while post-LN falls to about 0.25, at 0.03 both fail. Middle, with warm-up: at 0.003 "
    "post-LN is near 0.8 with a wide band, at 0.01 both are above 0.9, at 0.03 pre-LN is still "
    "near 1 and post-LN fails. Right, Xavier: post-LN never gets above the thin line, pre-LN is "
    "near 0.45 at 0.003, near 1 at 0.01 and fails at 0.03.",
)

# %%
median = {key: values.median(dim=0).values for key, values in accuracy.items()}  # (rates,)
default, warm, xavier = settings

post, pre = median[default, "post-LN"], median[default, "pre-LN"]
assert post[0] > 0.8 and pre[0] > 0.8  # 0.003: no difference
assert post[1] < 0.6 and pre[1] > 0.8  # 0.01: pre-LN only
assert post[2] < 0.3 and pre[2] < 0.45  # 0.03: neither

post, pre = median[warm, "post-LN"], median[warm, "pre-LN"]
assert post[1] > 0.7 and pre[1] > 0.8  # with warm-up, post-LN copes with 0.01
assert post[2] < 0.3 and pre[2] > 0.7  # and pre-LN with 0.03

post, pre = median[xavier, "post-LN"], median[xavier, "pre-LN"]
assert accuracy[xavier, "post-LN"].max() < 0.4  # no seed, no rate
assert pre[1] > 0.8

# %% [markdown]
# What we found, and what we did not:
#
# - **Pre-LN works over a wider range of learning rates**, in all three settings. That agrees with
#   Xiong et al. (2020).
# - **At the right learning rate and with small initial weights, post-LN is just as good.** At 0.003
#   without warm-up there is nothing between the two. Who tries only this will see no difference.
# - **Warm-up widens the range for both**, by one step of our grid. It is not a remedy for post-LN
#   alone. It has a price: 50 of 120 steps are slower, and at 0.003 some post-LN models are not done
#   in time.
# - **The initialisation can decide everything.** With Xavier's weights and no warm-up, post-LN does
#   not get beyond "which, not where" at any of the three rates within these 120 steps. That fits
#   section 8: its words are alike at the top from the start, and attention up there has little by
#   which to find the partner's place.
#
# This is one toy task, one width, one short budget. In large models, the final quality of the two
# orders is disputed; that pre-LN is easier to train is not (Xiong et al., 2020; Liu et al., 2020).

# %% [markdown]
# ## 11. Dropout on a task that is easy to overfit
#
# > **You may have read** the advice to try several dropout rates and see what happens to the
# > performance. That needs a model, data, a measure, and more than one seed. Here they are.
#
# Our data: sequences of eleven letters from an alphabet of twenty; the label says whether most of
# them are among the first ten of the alphabet. There are only 200 sequences to train on, for a
# model of two layers.
#
# In the first version, about 15 % of all labels are wrong, in training and in validation. A wrong
# label follows no rule, it can only be learned by heart, and on average nobody can be right more
# than 85 % of the time. In the second version, all labels are right.


# %%
def voting_task(size, noise, generator):
    """Sequences (*size, 11) and labels (*size), a share of which is flipped."""
    ids = torch.randint(0, 20, (*size, 11), generator=generator)
    labels = ((ids < 10).sum(dim=-1) > 5).long()
    flipped = torch.rand(size, generator=generator) < noise
    return ids, torch.where(flipped, 1 - labels, labels)


class Voter(nn.Module):
    """Two transformer layers, the mean over the tokens, two classes."""

    def __init__(self, dropout):
        super().__init__()
        self.embedding = nn.Embedding(20, 32)
        self.positions = PositionalEncoding(32, dropout, max_len=11)
        self.layers = nn.Sequential(
            *[layers.TransformerLayer(32, 4, 64, dropout=dropout) for _ in range(2)]
        )
        self.head = nn.Linear(32, 2)

    def forward(self, ids):
        x = self.layers(self.positions(self.embedding(ids)))  # (B, T, D)
        return self.head(x.mean(dim=1))  # (B, 2)


# %% [markdown]
# We measure two things, on training and on validation data: the *accuracy*, and the *loss*
# (cross-entropy), which also asks how sure the model is of its wrong answers. Three rates, two
# versions, five seeds side by side: 30 models, about half a minute. The rate is the same
# everywhere: on the input, on each sublayer's output and after the ReLU.


# %%
def overfit(dropout, noise):
    """Loss and accuracy on 200 training sequences, then on 1000 others: (seeds, 4)."""
    generator = torch.Generator().manual_seed(0)
    models = []
    for seed in seeds:
        torch.manual_seed(seed)
        models.append(Voter(dropout))
    N = len(models)  # each model has training and validation data of its own
    training, validation = (voting_task((N, size), noise, generator) for size in (200, 1000))
    row = torch.arange(N)[:, None]  # model n picks from row n, its own data

    def draw():
        picked = torch.randint(0, 200, (N, 32), generator=generator)
        return training[0][row, picked], training[1][row, picked]  # (N, 32, 11), (N, 32)

    trained = train_together(models, draw, 200, learning_rate=0.003)
    measured = []
    with evaluating(models[0]):  # its mode decides for all of them
        for ids, labels in (training, validation):
            logits = trained(ids)  # (N, sequences, 2)
            # `cross_entropy` wants the classes on axis 1.
            loss = F.cross_entropy(logits.mT, labels, reduction="none").mean(dim=1)
            measured += [loss, (logits.argmax(dim=-1) == labels).float().mean(dim=1)]
    return torch.stack(measured, dim=-1)


# %% tags=["nbval-ignore-output"]
rates = [0.0, 0.3, 0.7]
measures = ["training loss", "training accuracy", "validation loss", "validation accuracy"]
sweep = {
    noise: torch.stack([overfit(p, noise) for p in rates], dim=1) for noise in (0.15, 0.0)
}  # (seeds, rates, 4) each
for noise, values in sweep.items():
    print(f"{f'{100 * noise:.0f} % wrong labels, p =':<24}", "".join(f"{p:6.1f}" for p in rates))
    for name, row in zip(measures, values.median(dim=0).values.T, strict=True):
        print(f"{name:<24}", "".join(f"{value:6.2f}" for value in row))

# %%
figure, axes = plt.subplots(1, 4, figsize=(14, 4.4))
for (noise, values), pair in zip(sweep.items(), axes.reshape(2, 2), strict=True):
    for k, measure in enumerate(["loss", "accuracy"]):
        plotting.seed_curves(rates, values[:, :, k], "training", pair[k])
        plotting.seed_curves(rates, values[:, :, k + 2], "validation", pair[k])
        pair[k].set(xlabel="dropout p", ylabel=measure, xticks=rates)
        pair[k].set_title(f"{100 * noise:.0f} % wrong labels")
        pair[k].set_ylim(*[(0, 1.9), (0.5, 1.03)][k])
axes[0].legend()
plotting.show(
    figure,
    alt="Four panels against the dropout rate 0, 0.3, 0.7; medians over five seeds with "
    "bands; training solid, validation dashed. With 15 % wrong labels: the training loss "
    "rises from 0 to 0.5 while the validation loss falls steeply from about 1.4 to 0.7; the "
    "training accuracy falls from 1 to 0.8 while the validation accuracy stays near 0.7, with"
    " a slight maximum at 0.3. Without wrong labels: the training loss rises from 0 to 0.2, the "
    "validation loss is about 0.15 at 0 and at 0.3 and 0.33 at 0.7; the training accuracy is 1 "
    "at 0 and at 0.3 and 0.93 at 0.7, the validation accuracy about 0.95, 0.96 and 0.87.",
)

# %%
noisy, clean = sweep[0.15], sweep[0.0]  # columns as in `measures`
middle_noisy, middle_clean = noisy.median(dim=0).values, clean.median(dim=0).values  # (rates, 4)
assert noisy[:, 0, 1].min() > 0.9  # p = 0: known by heart, wrong labels included,
assert middle_noisy[0, 2] > 0.9  # and worse than "fifty-fifty", which has the loss 0.69
assert middle_noisy[1, 2] < 0.75 * middle_noisy[0, 2]  # p = 0.3: much less sure
assert -0.02 < middle_noisy[1, 3] - middle_noisy[0, 3] < 0.1  # and a little better
assert middle_clean[2, 3] < middle_clean[1, 3] - 0.02  # p = 0.7: too much
for middle in (middle_noisy, middle_clean):
    assert middle[2, 0] > middle[0, 0] + 0.1  # the training loss rises

# %% [markdown]
# Without dropout and with wrong labels, the model knows its 200 sequences by heart, wrong labels
# included, and its validation loss is about 1.4. Saying "fifty-fifty" every time would give 0.69.
#
# - **Dropout mostly cures overconfidence.** At $p = 0.3$ the validation loss is about half of what
#   it was. The accuracy gains a few points at most: where the model does not know, it still does
#   not know, but it no longer shouts.
# - **More is not better.** Without wrong labels, $p = 0.3$ changes little, and $p = 0.7$ costs
#   accuracy, in training too: within these 200 steps the model no longer quite fits what it sees.
# - **The training loss says nothing about this.** It rises with $p$ throughout. With wrong labels
#   it is smallest where the validation loss is largest.
#
# The best rate belongs to the task, the model and the amount of data. The paper used 0.1 for its
# base model, with millions of sentences.

# %% [markdown]
# ## 12. Why does normalising help at all?
#
# > **You may have read** that layer norm helps by "reducing internal covariate shift": each layer's
# > inputs would keep changing their distribution while the layers below learn, and the norm would
# > hold them still. That was the motivation of batch norm (Ioffe and Szegedy, 2015). As an
# > explanation it has not held up.
#
# Santurkar et al. (2018) added random noise *after* batch norm, so that the distributions shifted
# more than without any norm, and the networks trained about as well as with batch norm alone. What
# they found instead: the loss and its gradients change more smoothly, so a step can be larger.
#
# Their experiments are about batch norm in image networks. For layer norm, Xu et al. (2019) found
# that the gradients through the mean and the variance matter more than the normalised outputs
# themselves.
#
# What you have *seen* in this lecture is more modest, and enough to build with: the size of a
# sublayer's input no longer depends on what came before (section 2), gradients survive depth
# (section 5), and where the norm stands decides which learning rates work (section 10).

# %% [markdown]
# ## Summary
#
# - Layer norm: $y = \gamma\,(x - \mu)/\sqrt{\sigma^2 + \varepsilon} + \beta$, for each **token**
#   over its features. Variance divided by $D$, ε inside the root.
# - Batch norm averages over sentences and positions. In training it leaks the future and counts
#   pads unless told not to, and its two modes disagree in small batches.
# - A residual connection gives gradients a way down on which nothing is multiplied, and keeps words
#   apart that attention would make alike.
# - Dropout keeps each entry's expectation. Rows of attention weights then sum to one on average
#   only, with variance $\frac{p}{1-p}\sum_j \alpha_{ij}^2$. In evaluation it does nothing.
# - Feed-forward: two linear maps, one ReLU between them, each token by itself, two thirds of the
#   parameters where $d_{ff} = 4\, d_{model}$. It is capacity, not a regulariser.
# - In our task pre-LN bears a wider range of learning rates than post-LN. How much wider depends on
#   the initial weights.
#
# **Now you:**
# [assignment a7, dropout and layer norm](../exercises/a7_dropout_and_layer_norm/a7_dropout_and_layer_norm.ipynb),
# then
# [assignment a8, the transformer layer](../exercises/a8_transformer_layer/a8_transformer_layer.ipynb).
# After that, [lecture 8](08_transformer.ipynb) puts the layers together.

# %% [markdown]
# ## Check yourself
#
# **1.** `x` has the shape $(32, 20, 512)$. How many means does layer norm compute, how many batch
# norm, and how many entries do their γ have?
#
# <details><summary>Answer</summary>
#
# Layer norm one per token: $32 \cdot 20 = 640$. Batch norm one per feature: 512. γ has 512 entries
# in both.
#
# </details>
#
# **2.** You multiply weights and bias of a sublayer's last linear map by 10. A layer norm follows
# directly. How does its output change?
#
# <details><summary>Answer</summary>
#
# Not at all, up to ε: the map's output is 10 times as large, and layer norm does not see a common
# factor. With a residual in between it does not cancel: in $\mathrm{LN}(x + 10 f(x))$ the branch
# drowns the stream.
#
# </details>
#
# **3.** A colleague computes `x.std(dim=-1, keepdim=True) + eps` as the divisor. Name two mistakes.
#
# <details><summary>Answer</summary>
#
# `std` divides by $D - 1$, and ε is outside the root, so that tokens whose features hardly vary
# come out much larger than they should. (Where all features are equal, PyTorch's own `std` returns
# a slope of zero. A root that you take yourself gives NaN, as in section 2.)
#
# </details>
#
# **4.** A row of weights is $(0.5, 0.5)$, and $p = 0.5$. Which sums are possible after dropout, and
# how often?
#
# <details><summary>Answer</summary>
#
# 0, 1 and 2 with probabilities 1/4, 1/2, 1/4: each weight becomes 0 or 1. The mean is 1, the
# variance $\frac{0.5}{0.5}(0.25 + 0.25) = 0.5$.
#
# </details>
#
# **5.** Somebody evaluates a model twice on the same sentence and gets two results. What was
# forgotten?
#
# <details><summary>Answer</summary>
#
# `model.eval()`: dropout is still active. Layer norm is innocent, it has no modes.
#
# </details>
#
# **6.** How do you test in three lines whether a network is position-wise?
#
# <details><summary>Answer</summary>
#
# Change one token, compare the outputs, and check that only this token's output changed. Permuting
# is not enough: attention permutes along as well.
#
# </details>
#
# **7.** Why does a pre-LN stack need a norm after its last layer, and a post-LN stack not?
#
# <details><summary>Answer</summary>
#
# In pre-LN the stream is a sum that is never normalised and grows with depth. In post-LN each layer
# ends with a norm.
#
# </details>
#
# **8.** A friend trains a six-layer post-LN model with `nn.Linear`'s own initialisation at one
# learning rate, sees no difference to pre-LN, and concludes that the order does not matter. What
# would you ask for?
#
# <details><summary>Answer</summary>
#
# Several learning rates, several seeds, and another initialisation. In section 10 the two orders
# tie at 0.003 with PyTorch's default. At 0.01 post-LN fails without warm-up, and with Xavier's
# weights it fails at each of the three rates.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Jimmy Lei Ba, Jamie Ryan Kiros, Geoffrey E. Hinton (2016). *Layer Normalization.*
#   arXiv:1607.06450. Section 3, equations 3 and 4.
# - Sergey Ioffe, Christian Szegedy (2015). *Batch Normalization: Accelerating Deep Network Training
#   by Reducing Internal Covariate Shift.* ICML. Algorithms 1 and 2: training and inference.
# - Sheng Shen, Zhewei Yao, Amir Gholami, Michael W. Mahoney, Kurt Keutzer (2020). *PowerNorm:
#   Rethinking Batch Normalization in Transformers.* ICML. Batch statistics of text and of images.
# - Jiaxi Wang, Ji Wu, Lei Huang (2022). *Understanding the Failure of Batch Normalization for
#   Transformers in NLP.* NeurIPS. The gap between the two modes, measured.
# - Priya Goyal, Piotr Dollár, Ross Girshick, Pieter Noordhuis, Lukasz Wesolowski, Aapo Kyrola,
#   Andrew Tulloch, Yangqing Jia, Kaiming He (2017). *Accurate, Large Minibatch SGD: Training
#   ImageNet in 1 Hour.* arXiv:1706.02677. Batch norm on 256 GPUs.
# - Kaiming He, Xiangyu Zhang, Shaoqing Ren, Jian Sun (2016). *Deep Residual Learning for Image
#   Recognition.* CVPR. Section 3.
# - Yihe Dong, Jean-Baptiste Cordonnier, Andreas Loukas (2021). *Attention Is Not All You Need: Pure
#   Attention Loses Rank Doubly Exponentially with Depth.* ICML.
# - Nitish Srivastava, Geoffrey Hinton, Alex Krizhevsky, Ilya Sutskever, Ruslan Salakhutdinov
#   (2014). *Dropout: A Simple Way to Prevent Neural Networks from Overfitting.* Journal of Machine
#   Learning Research 15. Section 4. (Their $p$ is the probability of *keeping* an entry, and they
#   scale the weights in evaluation instead of the entries in training.)
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz
#   Kaiser, Illia Polosukhin (2017). *Attention Is All You Need.* NeurIPS. Sections 3.1, 3.3, 5.3
#   (warm-up) and 5.4 (dropout).
# - Ruibin Xiong, Yunchang Yang, Di He, Kai Zheng, Shuxin Zheng, Chen Xing, Huishuai Zhang, Yanyan
#   Lan, Liwei Wang, Tie-Yan Liu (2020). *On Layer Normalization in the Transformer Architecture.*
#   ICML. Theorem 1.
# - Liyuan Liu, Xiaodong Liu, Jianfeng Gao, Weizhu Chen, Jiawei Han (2020). *Understanding the
#   Difficulty of Training Transformers.* EMNLP. What goes wrong in post-LN beyond the size of
#   gradients.
# - Xavier Glorot, Yoshua Bengio (2010). *Understanding the Difficulty of Training Deep Feedforward
#   Neural Networks.* AISTATS. Equation 16.
# - Shibani Santurkar, Dimitris Tsipras, Andrew Ilyas, Aleksander Mądry (2018). *How Does Batch
#   Normalization Help Optimization?* NeurIPS. Sections 2 and 3.
# - Jingjing Xu, Xu Sun, Zhiyuan Zhang, Guangxiang Zhao, Junyang Lin (2019). *Understanding and
#   Improving Layer Normalization.* NeurIPS.
