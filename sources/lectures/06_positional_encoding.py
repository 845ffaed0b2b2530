# ---
# jupyter:
#   course:
#     assignment: a6_positional_encoding
#     deeper: 38
#     minutes: 42
#     summary: How attention learns about word order, from sinusoids that are added to rotations in every layer.
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
# # Lecture 6: Positional encoding
#
# Attention compares tokens and mixes them, but it cannot see where a token stands. You will build the two remedies
# that matter most. The original transformer adds sinusoids to its embeddings, once, and most open large language
# models since LLaMA rotate their queries and keys.
#
# <!-- slide: By the end you can add positions, or rotate them in -->
#
# **By the end of this lecture you will be able to**
#
# - show that attention without positions cannot tell "Mary gives John a flower" from "John gives Mary a flower", and
#   compute the best score a model can reach without positions and without a causal mask;
# - implement sinusoids, with loops and as matrices, and the module that adds them;
# - read them as the hands of clocks, and derive that a shift is a rotation;
# - implement rotary encoding, and derive that its scores depend on the offset alone.
#
# **Time** about 42 minutes with views and questions, and 38 for going deeper.
# **Needs** lectures [2](02_basic_self_attention.ipynb), [3](03_scaled_dot_product_attention.ipynb) and
# [5](05_multi_head_attention.ipynb), and for going deeper also [lecture 4](04_masked_attention.ipynb).

# %%
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_utils import attention, masks, positional
from lecture_kit import live, plotting, questions

# %% tags=["hide-input"]
plotting.use_course_style()
torch.set_num_threads(1)  # networks this small run fastest on one thread

# only the drawings need these
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Circle

# %% [markdown]
# ## 1. What attention cannot see
#
# Here are two sentences with the same words and different meanings (Raschka, Liu and Mirjalili, 2022, chapter 16):
#
# <!-- slide: Same words, different meanings -->
#
# 1. Mary gives John a flower
# 2. John gives Mary a flower
#
# We let the tokens of each sentence attend to each other, and compare the two context vectors of each token, without
# and with position vectors, which section 2 explains.

# %%
first = ["Mary", "gives", "John", "a", "flower"]
second = ["John", "gives", "Mary", "a", "flower"]
torch.manual_seed(6)
vectors = dict(zip(sorted(first), torch.randn(5, 16), strict=True))  # one for each token


def embed(sentence):
    """Token vectors, (T, D)."""
    return torch.stack([vectors[token] for token in sentence])


def attend(x):
    """Context vectors, (T, D): the same vectors serve as query, key and value."""
    return attention.scaled_dot_product_attention(x, x, x)[0]


# %% slide="Without positions, Mary gives or receives: it is the same"
def gap(token, added):
    """Largest difference between the token's context vectors in the two sentences."""
    z_first, z_second = attend(embed(first) + added), attend(embed(second) + added)  # (T, D)
    return (z_first[first.index(token)] - z_second[second.index(token)]).abs().max()


position_vectors = positional.positional_encoding(5, 16)  # (T, D)
print("largest difference, without and with positions")
for token in first:
    print(f"{token:<6} {gap(token, 0):.2f} {gap(token, position_vectors):.2f}")

# %% tags=["hide-input"]
# equal without positions; all different with them
order = [second.index(token) for token in first]
assert torch.allclose(attend(embed(first)), attend(embed(second))[order], atol=1e-5)
moved = attend(embed(first) + position_vectors) - attend(embed(second) + position_vectors)[order]
assert (moved.abs().amax(dim=1) > 0.01).all()

# %% [markdown]
# Without positions "Mary" has the same context vector whether she gives the flower or receives it. The two sentences
# yield the same *set* of context vectors, only in another order. This is the equivariance of [lecture
# 2](02_basic_self_attention.ipynb#5.-No-order:-equivariance): attention without a mask, and every layer that treats
# each token on its own, is permutation-*equivariant*, whatever its parameters are. So training cannot repair it.

# %% slide="What can a model without positions still answer?" tags=["hide-input"]
questions.ask("06", "what-can-still-be-answered")

# %% [markdown]
# ## 2. Sinusoids
#
# What should the vector of a position look like? Each simple idea has a flaw.
#
# <!-- slide: Each simple idea has a flaw -->
#
# | idea | trouble |
# |---|---|
# | the number $pos$ itself, in every entry | grows without bound, and soon hides the token vectors |
# | $pos / T$, between 0 and 1 | the step from one token to the next depends on the length of the text |
# | $pos$ in binary digits | bounded and unique, but neighbours like 0111 and 1000 differ in every digit |
# | **sines and cosines of many speeds** | has none of these three flaws |
#
# Binary digits are nearly right, because the last one changes at every step, the one before it at every second step,
# and so on. **Sinusoids** do the same smoothly. The vector of a position consists of **pairs**, a sine and a cosine of
# the same angle:
#
# <!-- slide: Each pair of columns is a sine and a cosine of one angle -->
#
# $$PE_{(pos,\,2k)} = \sin\!\left(\frac{pos}{10000^{2k/d_\text{model}}}\right) \qquad
# PE_{(pos,\,2k+1)} = \cos\!\left(\frac{pos}{10000^{2k/d_\text{model}}}\right)$$
#
# | symbol | meaning |
# |---|---|
# | $pos$ | position, counted from 0: a row of the table |
# | $k$ | number of a pair of columns, $2k$ and $2k+1$, counted from 0 |
# | $\theta_k = 10000^{-2k/d_\text{model}}$ | frequency of pair $k$: how far its angle turns per token |
#
# The original paper calls the pair $i$, while others write $i$ for the position. Here $k$ counts pairs of columns and
# is unrelated to keys. We compute the table by a loop first.


# %% slide="The table, entry by entry"
def encoding_by_loop(length, d_model):
    """Sinusoidal encoding, (length, d_model), entry by entry."""
    table = torch.empty(length, d_model)
    for pos in range(length):
        for column in range(d_model):
            k = column // 2  # columns 0 and 1 are pair 0, columns 2 and 3 are pair 1, ...
            angle = pos / 10000 ** (2 * k / d_model)
            table[pos, column] = math.sin(angle) if column % 2 == 0 else math.cos(angle)
    return table


# %% [markdown]
# Without loops, all angles at once are the outer product of a column of positions and a row of frequencies.


# %% slide="The same table as an outer product of positions and frequencies"
def positional_encoding(length, d_model):
    """The same table without loops, for an even d_model."""
    pos = torch.arange(length).unsqueeze(1)  # (T, 1)
    frequencies = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (D / 2,): θ_k
    angles = pos * frequencies  # (T, 1) * (D / 2,) -> (T, D / 2)
    table = torch.empty(length, d_model)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
    return table


same = torch.allclose(positional_encoding(8, 16), encoding_by_loop(8, 16), atol=1e-6)
print("matrices equal the loop:", same)

# %% tags=["hide-input"]
# both agree with course_utils.positional; at position 5000, float32 angles are off by less than 0.001
assert same
for length, width in [(8, 16), (60, 64)]:
    table = positional.positional_encoding(length, width)
    assert torch.allclose(positional_encoding(length, width), table, atol=1e-5)
far = (positional_encoding(5000, 16) - positional.positional_encoding(5000, 16)).abs().max()
assert 1e-5 < far < 1e-3

# %% [markdown]
# Note that `torch.arange(0, d_model, 2)` is already $2k$, so multiplying it by two again gives wrong frequencies
# without any error.
#
# ### The whole table

# %% slide="Each row is the fingerprint of one position" tags=["hide-input"]
figure, ax = plotting.panels(1, height=4.8)
signed = plotting.signed_colours()
paler = ListedColormap(signed(np.linspace(0.2, 0.8, 256)))  # the ends of the scale are nearly black
positional.visualize_positional_encodings(60, 64, ax=ax, cmap=paler)
ax.grid(False)
ax.set_title("60 positions at width 64")
plotting.picture(
    figure,
    caption="Each column is a wave, fast on the left and slow on the right; each row is one position's vector.",
    alt="The table of encodings: 64 dimensions from left to right, positions 0 to 59 from top to "
    "bottom; purple is above zero, ochre below, and zero is blank. In the first columns the values change "
    "sign every few positions; further right the stripes grow longer, and the last third hardly "
    "changes: columns alternate between about 0 (sine, blank) and 1 (cosine, purple).",
)

# %% [markdown]
# Read along a column and you see a wave. Read along a row and you see the fingerprint of a position, which no other row
# of this table shares.
#
# ### The hands of many clocks
#
# Read each pair as a point in the plane. It lies on a circle of radius one, like the tip of the hand of a clock, which
# points up at position 0 and turns clockwise by the angle $\theta_k$ with every token.

# %% slide="Each pair of columns is the hand of a clock" tags=["hide-input"]
shown = [0, 1, 2, 3, 30]
hands = positional.positional_encoding(31, 8).reshape(31, 4, 2)  # (position, pair, (x, y))

figure, axes = plt.subplots(2, 5, figsize=(9.5, 4.2))
for k, row in enumerate(axes):
    for position, ax in zip(shown, row, strict=True):
        x_tip, y_tip = hands[position, k].tolist()
        ax.add_patch(
            Circle((0, 0), 1, facecolor=plotting.SHADE, edgecolor=plotting.MUTED, linewidth=1.6)
        )
        ax.plot([0, x_tip], [0, y_tip], color=plotting.SERIES[0], linewidth=4, marker="")
        ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        if k == 0:
            ax.set_title(f"position {position}")
    # At width 8 the formula gives 10000^(2k / 8) = 10^k.
    row[0].set_ylabel(f"pair {k}\nonce round in\n{2 * math.pi * 10**k:.0f} tokens")
plotting.picture(
    figure,
    caption="The first two pairs of columns as clocks: the lower hand turns ten times as slowly.",
    alt="Two rows of clock faces, one for each of the first two pairs of columns at width 8, one "
    "column for each of the positions 0, 1, 2, 3 and 30. At position 0 both hands point "
    "up. The hand of pair 0 turns by 57 degrees per word and goes round once in 6 words. Pair "
    "1 needs 63 words: at position 3 it has turned by 17 degrees, at 30 by almost half a "
    "circle.",
)

# %% [markdown]
# The **wavelength** of pair $k$, the number of tokens in which its hand goes round once, is $2\pi / \theta_k = 2\pi
# \cdot 10000^{2k/d_\text{model}}$. It begins at $2\pi$ and grows by the same *factor* from pair to pair, up to almost
# $10000 \cdot 2\pi$ at large widths.

# %% slide="How far has the hand of pair 1 turned?" tags=["hide-input"]
questions.ask("06", "the-hand-of-pair-one")

# %% [markdown]
# ## 3. A shift is a rotation
#
# Move $m$ tokens further, from any position. Every hand turns by the angle $\theta_k m$, **wherever it was before**.
# By the angle addition formulas, turning is a linear map:
#
# <!-- slide: A shift by $m$ turns each hand by the same angle, from anywhere -->
#
# $$\begin{pmatrix} \sin \theta_k (pos + m) \\ \cos \theta_k (pos + m) \end{pmatrix} =
# \underbrace{\begin{pmatrix} \cos \theta_k m & \sin \theta_k m \\ -\sin \theta_k m & \cos \theta_k m
# \end{pmatrix}}_{\text{does not contain } pos} \begin{pmatrix} \sin \theta_k pos \\ \cos \theta_k pos
# \end{pmatrix}$$
#
# With one such block per pair along the diagonal, a single $d_\text{model} \times d_\text{model}$ matrix $R(m)$ moves
# every position by $m$ tokens. Here $PE_{pos}$ is a column.


# %% slide="One matrix moves every position by $m$ tokens"
def shift_matrix(offset, d_model):
    """R(m): the (D, D) matrix that turns PE[pos] into PE[pos + m], for an even width."""
    angles = [offset * 10000 ** (-2 * k / d_model) for k in range(d_model // 2)]
    turns = [[[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]] for a in angles]
    return torch.block_diag(*torch.tensor(turns))  # (D / 2, 2, 2) -> (D, D)


table = positional_encoding(100, 16)  # (T, D)
R = shift_matrix(3, 16)
print("one matrix moves all 97:", torch.allclose(table[:-3] @ R.T, table[3:], atol=1e-5))

# %% tags=["hide-input"]
assert torch.allclose(table[:-3] @ R.T, table[3:], atol=1e-5)
assert torch.allclose(R @ R.T, torch.eye(16), atol=1e-6)  # a rotation keeps lengths
assert torch.allclose(shift_matrix(2, 16) @ R, shift_matrix(5, 16), atol=1e-6)  # 3 tokens, then 2

figure, (left, right) = plotting.panels(2, height=5)
left.add_patch(Circle((0, 0), 1, fill=False, edgecolor=plotting.MUTED, linewidth=1.4))
for start, colour, style in [(1, plotting.SERIES[0], "-"), (9, plotting.SERIES[1], "--")]:
    for position in (start, start + 4):  # pair 1 at width 16: about a third of a radian per token
        tip = table[position, 2:4].numpy()
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2.6, "ls": style}
        left.annotate("", tip, (0, 0), arrowprops=arrow)
        left.text(*1.14 * tip, f"{position}", ha="center", va="center", color=colour)
left.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal", xticks=[], yticks=[])
left.set(xlabel="sine, column 2", ylabel="cosine, column 3")
left.spines[:].set_visible(False)
left.set_title("pair 1: 4 tokens on,\nthe same turn")
plotting.attention_map(
    R,
    None,
    None,
    right,
    limit=1.5,  # beyond the entries, whose signs would otherwise both be nearly black
    numbers=False,
    colour_label="entry of R(3)",
    query_label="dimension of PE[pos + 3]",
    key_label="dimension of PE[pos]",
)
right.set_title("R(3) at width 16:\none rotation per pair")
plotting.picture(
    figure,
    caption="Four tokens turn the hand by the same angle from anywhere; R(3) turns every pair by its own.",
    alt="Left, a circle with four arrows from its centre, the hands of pair 1 at positions 1, 5, 9 "
    "and 13, clockwise. The arrows of 1 and 5 enclose the same angle, 72 degrees, as the "
    "dashed arrows of 9 and 13. Right, the 16 by 16 matrix R(3): zero, blank, except for eight "
    "2 by 2 blocks along the diagonal. The first block is a turn by 172 degrees, with minus "
    "one, ochre, on the diagonal; the second one by 54 degrees; the last ones are nearly the "
    "identity, with one, purple, on the diagonal.",
)

# %% [markdown]
# This is one of the paper's two reasons for sinusoids. Because $PE_{pos+m}$ is a linear map of $PE_{pos}$, the
# authors expected that a model would easily learn to attend by relative position. Their other reason was the hope that
# the model would extrapolate to longer texts, which section 7 tests.
#
# If two positions both move by $m$ tokens, $R(m)$ turns both of their vectors, which leaves the dot product of the two
# unchanged. So the dot product of two position vectors depends on their offset alone (section 9).

# %% [markdown]
# ## 4. Adding positions to tokens
#
# The input of the first layer is the sum of token vector and position vector. The module keeps the table as a *buffer*,
# which moves to the GPU with the model but is left alone by the optimiser. With `persistent=False` it is not saved with
# the parameters, since it can be computed again.


# %% slide="Positions are a buffer that is added to the tokens"
class PositionalEncoding(nn.Module):
    """Add the position's vector to each token's vector."""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)  # random zeros in training: lecture 7
        self.register_buffer("pe", positional_encoding(max_len, d_model), persistent=False)

    def forward(self, x):  # (B, T, D)
        T, max_len = x.shape[1], len(self.pe)
        if max_len < T:
            raise ValueError(f"a sequence of length {T} is longer than max_len = {max_len}")
        return self.dropout(x + self.pe[:T])  # (B, T, D)


encode = PositionalEncoding(d_model=16, max_len=50)
print("parameters:", len(list(encode.parameters())), " table:", tuple(encode.pe.shape))

# %% tags=["hide-input"]
# the same sums as course_utils.positional.PositionalEncoding, and the same refusal
theirs = positional.PositionalEncoding(d_model=16, max_len=50).eval()
batch = torch.randn(2, 3, 16)  # (B, T, D)
assert torch.allclose(encode.eval()(batch), theirs(batch), atol=1e-5)
assert list(encode.state_dict()) == list(theirs.state_dict()) == list(encode.parameters()) == []
for module in (encode, theirs):
    try:
        module(torch.zeros(2, 51, 16))
    except ValueError as error:
        assert "51" in str(error) and "50" in str(error)
    else:
        raise AssertionError("51 tokens do not fit a table of 50")

# %% [markdown]
# If a text is longer than the table, the module should raise an error that says so. Positions are added **once**, at
# the bottom of the stack of layers and not in every layer, because the residual connections of [lecture
# 7](07_layer_normalization.ipynb) carry them upwards.

# %% [markdown]
# ### Measured: reversing a sequence
#
# The task is to label position $i$ of twelve random digits, counted from 0, with the digit at position $11 - i$. The
# model uses only parts that you already know. As in the paper, its embeddings are multiplied by
# $\sqrt{d_\text{model}}$ (section 9).


# %%
class Tagger(nn.Module):
    """One label of ten for every token: ids (B, T) to logits (B, T, 10)."""

    def __init__(self, positions, num_tokens=10, d_model=32):
        super().__init__()
        self.embedding = nn.Embedding(num_tokens, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)  # small, hence the factor below
        self.positions = positions  # a module that adds positions, or nn.Identity()
        self.attention = attention.MultiHeadAttention(d_model, num_heads=4)
        self.output = nn.Linear(d_model, 10)

    def embed(self, ids):
        x = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)  # (B, T, D)
        return self.positions(x)

    def forward(self, ids, mask=None):
        x = self.embed(ids)
        z, _ = self.attention(x, x, x, mask)  # (B, T, D)
        return self.output(z)  # (B, T, 10)


# %%
NO_LABEL = -100  # ignored by cross_entropy: a position without a label


def train(model, task, length, steps, seed, mask=None):
    """Train on fresh batches; returns the accuracy on each batch before its step, (steps,)."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    accuracies = []
    for _ in range(steps):
        ids, labels = task(32, length, generator)  # (B, T), (B, T)
        logits = model(ids, mask)  # (B, T, 10)
        optimizer.zero_grad()
        F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=NO_LABEL).backward()
        optimizer.step()
        right = (logits.argmax(-1) == labels)[labels != NO_LABEL]
        accuracies.append(right.float().mean())
    return torch.stack(accuracies)


def reverse(batch, length, generator):
    """Random digits, and the same digits in reverse order."""
    ids = torch.randint(10, (batch, length), generator=generator)
    return ids, ids.flip(1)


# %% [markdown]
# How good can a model be without positions and without a mask? All tokens "3" of a sequence get the same output, and
# the mirror image of a given "3" is equally likely to be any of the other eleven digits. The best answer is the most
# frequent of these. If it occurs $c$ times, it is right in $c$ of 11 cases, so the ceiling is the average of $c / 11$.

# %% slide="Without positions, 0.27 is the best possible"
others = torch.randint(10, (200_000, 11), generator=torch.Generator().manual_seed(0))
counts = F.one_hot(others, 10).sum(dim=1)  # (throws, 10): how often each digit occurs
ceiling = counts.max(dim=1).values.float().mean().item() / 11
print(f"best possible without positions: {ceiling:.2f}")

# %% tags=["nbval-ignore-output"] seconds=8
progress, reversers = {}, {}
for name in ["no positions", "sinusoidal"]:
    runs = []
    for seed in range(5):
        torch.manual_seed(seed)
        positions = PositionalEncoding(32, dropout=0.0) if name == "sinusoidal" else nn.Identity()
        reversers[name] = Tagger(positions)
        runs.append(train(reversers[name], reverse, length=12, steps=250, seed=seed))
    progress[name] = torch.stack(runs).reshape(5, 10, 25).mean(dim=2)  # (5, 10), each of 25 steps

# %% slide="With positions nearly all digits are right" tags=["hide-input"]
assert abs(ceiling - 0.266) < 0.002
assert (progress["sinusoidal"][:, -1] > 0.98).all()
assert ((progress["no positions"][:, -5:].mean(dim=1) - ceiling).abs() < 0.02).all()

figure, ax = plotting.panels(1)
colours = {"sinusoidal": plotting.MODELS["attention"], **plotting.MODELS}
plotting.curves(
    ax,
    range(25, 251, 25),
    progress,
    colours,
    xlabel="training step",
    ylabel="digits right",
    ylim=(0, 1.04),
    xlim=(15, 251),
)
plotting.level(ax, ceiling, f"best possible without positions, {ceiling:.2f}", at=0.5)
ax.set_title("reversing 12 digits")
plotting.picture(
    figure,
    caption="With positions nearly all digits are right; without them 0.27 is the limit.",
    alt="Share of right digits against training steps from 25 to 250, medians over five seeds "
    "with bands from the lowest to the highest. With sinusoidal positions the curve rises from 0.20 "
    "to nearly 1. Without positions it rises from 0.20 to just below 0.27, the best possible without "
    "positions, drawn as a grey line, and stays there.",
)

# %% [markdown]
# In all five seeds the accuracy is above 0.98 with positions. Without them it comes within 0.02 of the best that any
# such model can do.
#
# What has the model with positions learned? Position $i$ should attend to position $11 - i$, so the weights should
# lie on the diagonal from the lower left to the upper right. We show each model's head with the most weight there, in
# the last of the five seeds.

# %% slide="With positions every digit attends to its mirror image" tags=["nbval-ignore-output", "hide-input"]
digits, _ = reverse(1, 12, torch.Generator().manual_seed(7))  # (1, T)
shown = {}
with torch.no_grad():
    for name, model in reversers.items():
        x = model.embed(digits)  # (1, T, D)
        heads = model.attention(x, x, x)[1][0]  # (H, T, T)
        mirrored = heads.flip(-1).diagonal(dim1=1, dim2=2).mean(dim=1)  # (H,)
        shown[name] = heads[mirrored.argmax()]
        assert (mirrored.max() > 0.4) if name == "sinusoidal" else (mirrored.max() < 0.2)
beside = [shown["sinusoidal"].flip(-1).diagonal(step).mean() for step in (-1, 1)]
assert min(beside) > 0.1  # the cells next to the diagonal have weight too

names = [str(digit) for digit in digits[0].tolist()]
figure = plotting.attention_maps(
    list(shown.values()),
    list(shown),
    [names] * 2,
    [names] * 2,
    limit=1.0,
    numbers=False,
    query_label="query",
    key_label="key",
)
plotting.picture(
    figure,
    caption="With positions every digit attends to its mirror image; without them equal digits have equal rows.",
    alt="Two maps of twelve queries by twelve keys, labelled with the digits. Left, no positions: the rows are "
    "nearly alike, and those of the same digit are equal; there is no diagonal. Right, sinusoidal: the diagonal "
    "from the lower left to the upper right is dark, the cells next to it are lighter, and the rest is nearly empty.",
)

# %% [markdown]
# The diagonal is there, and its neighbours get some weight too, because their sinusoids are similar.

# %% [markdown]
# ## 5. Rotary positions
#
# With sinusoids a score need not depend on the offset alone, because $W_q$ and $W_k$ come between the two position
# vectors, and because other terms of the score mix a position with a token (section 6). A model can learn to use
# offsets, but nothing forces it to. **Rotary encoding** (RoPE; Su et al., 2021) builds the offset in.
#
# ### Rotary: turn query and key
#
# Nothing is added to the token vectors. Instead, each head takes the features of its query in pairs and **turns** each
# pair by an angle that grows with the query's position. It does the same with its key. The frequencies are those of
# section 2, with the width $d_k$ of a head in place of $d_\text{model}$. At position $i$, a pair $(x, y)$ with
# frequency $\theta$ turns counter-clockwise by the angle $\varphi = i\,\theta$:
#
# <!-- slide: At position $i$, each pair of features turns by $i\,\theta$ -->
#
# $$(x,\ y) \;\mapsto\; (x \cos\varphi - y \sin\varphi,\ \ x \sin\varphi + y \cos\varphi)$$
#
# This is $R(-i)$, the shift matrix of section 3 run backwards, since the hands of our clocks turn clockwise.
#
# The score compares the query turned by $i$ with the key turned by $j$, both taken as columns. Now turn both of them
# back by the angle of $i$. This leaves the dot product unchanged. The query is then as it was, and the key has kept
# only the difference of the two turns:
#
# <!-- slide: Turned by their positions, query and key know only their offset -->
#
# $$\big(R(-i)\,q\big) \cdot \big(R(-j)\,k\big) = q \cdot R(i - j)\,k$$
#
# **For a given query and key, the score depends on their offset and on nothing else about where they stand.**
#
# <!-- slide: Both arrows turn, and the angle between them stays -->
#
# ![Three circles with a query and a key as arrows, thin and dashed before they are turned, bold after.
# Query at position 1 and key at position 2: the angle between the turned arrows is 23 degrees, their product
# 0.91. Query at position 3 and key at position 4: both arrows have turned on, the angle is again 23 degrees and
# the product 0.91. Query at position 3 and key at position 5, two words apart: 80 degrees and
# 0.17.](../figures/rotary_angle.svg)
#
# *Move both tokens on, and both arrows turn, but the angle between them stays the same. The first pair of features turns
# by 1 radian per token.*
#
# The table of section 2 supplies the sines and cosines of the turn.


# %% slide="Rotary encoding in six lines"
def rotate(x):
    """Turn each pair of features by the angle of its position: (..., T, d_k), same shape."""
    T, d_k = x.shape[-2:]
    table = positional_encoding(T, d_k).to(x)  # (T, d_k), on the device of x
    sin, cos = table[:, 0::2], table[:, 1::2]  # (T, d_k / 2)
    even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, d_k / 2)
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(start_dim=-2)  # (..., T, d_k / 2, 2) -> (..., T, d_k)


# %% slide="The same offset gives the same score, wherever it is"
torch.manual_seed(2)
query = torch.randn(8).expand(20, 8)  # (T, d_k): the same query at 20 positions
key = torch.randn(8).expand(20, 8)
scores = rotate(query) @ rotate(key).T  # (T, T)
for i, j in [(3, 0), (8, 5), (19, 16), (16, 0)]:
    print(f"query at {i}, key at {j}: score {scores[i, j]:.3f}")

# %% tags=["hide-input"]
# equal scores along every diagonal, equal lengths, and the same turn as course_utils.positional.rotate
for offset in range(-19, 20):
    diagonal = scores.diagonal(offset)
    assert torch.allclose(diagonal, diagonal[0], atol=1e-4)
assert torch.allclose(rotate(query).norm(dim=1), query.norm(dim=1))
heads = torch.randn(2, 4, 7, 8)  # (B, H, T, d_k)
assert torch.allclose(rotate(heads), positional.rotate(heads), atol=1e-5)
point = complex(*heads[0, 0, 3, 2:4]) * complex(math.cos(3 * 0.1), math.sin(3 * 0.1))
assert abs(point - complex(*rotate(heads)[0, 0, 3, 2:4])) < 1e-5  # pair 1 at position 3
back = torch.stack([shift_matrix(-i, 8) @ query[i] for i in range(20)])
assert torch.allclose(back, rotate(query), atol=1e-5)

# %% [markdown]
# Turning clockwise instead would flip the sign of the offset in every score, so a model trained with one must not be
# run with the other. Values are not turned, because they carry what a token means and not where it stands.
#
# In multi-head attention the turn comes after the split into heads, and it is repeated in every layer. Here is one
# layer of lecture 5 on six copies of one token. Without the turn, every weight would be $1/6$.

# %% slide="Six equal tokens get different weights"
torch.manual_seed(4)
layer = attention.MultiHeadAttention(16, num_heads=2)
x = torch.randn(16).expand(1, 6, 16)  # (B, T, D)
q, k, v = (attention.split_heads(w(x), 2) for w in (layer.w_q, layer.w_k, layer.w_v))
_, weights = attention.scaled_dot_product_attention(rotate(q), rotate(k), v)  # (B, H, T, T)
print("weights of the last token in head 1:", *[f"{weight:.2f}" for weight in weights[0, 0, -1]])

# %% tags=["hide-input"]
# without rotation the weights of equal tokens are all 1/6; with it, they differ
plain = attention.scaled_dot_product_attention(q, k, v)[1]
assert torch.allclose(plain, torch.full_like(plain, 1 / 6)) and weights[0, 0, -1].std() > 0.01

# %% [markdown]
# [Lecture 11](11_block_of_today.ipynb) shows a second way to pair the features.

# %% slide="What does rotary encoding turn?" tags=["hide-input"]
questions.ask("06", "what-rotary-turns")

# %% [markdown]
# ### Absolute and relative
#
# Two questions sort these encodings. Is a position **absolute** ("fifth token") or **relative** ("three to the left"),
# and where does it enter?
#
# <!-- slide: Two questions sort these encodings -->
#
# | kind | what it is | where it enters | known from |
# |---|---|---|---|
# | sinusoidal | absolute, fixed | added to the tokens, once | the transformer (Vaswani et al., 2017) |
# | learned | absolute, a vector per position | added to the tokens, once | BERT (Devlin et al., 2019) |
# | relative bias | relative, a learned number per offset | added to the scores, every layer | T5 (Raffel et al., 2020) |
# | ALiBi | relative, fixed | added to the scores, every layer | Press et al. (2022) |
# | rotary | relative, fixed | turns query and key, every layer | RoFormer (Su et al., 2021), LLaMA |
#
# *Learned absolute* positions, an `nn.Embedding` for positions, did as well as sinusoids in the transformer paper.
# *Relative* encodings give the same weights when the whole sentence moves and what was put in front of it is hidden. It
# does not follow that longer texts work. Beyond the training length most kinds fail, each in its own way (section 7).
#
# ## Summary
#
# <!-- slide: What to take home -->
#
# - Without positions or a causal mask, attention is equivariant, so accuracy in reversing 12 digits stops at 0.27,
#   the best possible. With positions nearly all digits are right.
# - Sinusoids are $\sin$ and $\cos$ of $pos / 10000^{2k/d_\text{model}}$, where $pos$ is the row and $k$ numbers the
#   pairs of columns. They are added once, below the first layer.
# - Moving on by $m$ tokens is one rotation $R(m)$ for all positions.
# - Rotary encoding turns queries and keys in every layer, so that for a given query and key the score depends on their
#   offset alone.
#
# **Now you:** [assignment a6, positional encoding](../exercises/a6_positional_encoding/a6_positional_encoding.ipynb),
# which also asks for odd widths (section 9) and for the picture of section 2. This is the end of the core. Sections 6
# to 9 go deeper, and you can skip them.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 1, 2 and 5 can be checked on the spot. Answer those below in your own words before you look.
#
# **1.** What are the 4 numbers of $PE_0$ at $d_\text{model} = 4$? And those of $PE_1$?
#
# <details><summary>Answer</summary>
#
# $PE_0 = (0, 1, 0, 1)$: sine and cosine of 0, twice. Pair 1 has the frequency $10000^{-2/4} = 0.01$, so $PE_1 = (\sin
# 1, \cos 1, \sin 0.01, \cos 0.01) \approx (0.841, 0.540, 0.010, 1.000)$.
#
# </details>
#
# **2.** Somebody puts all sines into the left half of the table and all cosines into the right half. Does the
# model lose anything? Does it matter for the assignment?
#
# <details><summary>Answer</summary>
#
# The model loses nothing, because the columns are only permuted, and the projections can learn in any order. Some
# libraries do so. But it is another table, which does not match formulas, tests or stored parameters that expect pairs
# side by side.
#
# </details>

# %% [markdown]
# ## 6. Going deeper: biases, and a sentence that moves
#
# Do token and position get mixed up when they are added? In the score their contributions are still separate terms. For
# the token at position $i$ as query and the one at $j$ as key, before scaling,
#
# <!-- slide: In the score, tokens and positions are four separate terms -->
#
# $$\begin{aligned} q^{(i)} \cdot k^{(j)} = {} & \underbrace{x^{(i)} W_q \cdot x^{(j)} W_k}_{\text{token, token}} +
# \underbrace{x^{(i)} W_q \cdot PE_j W_k}_{\text{token, position}} \\
# {} + {} & \underbrace{PE_i W_q \cdot x^{(j)} W_k}_{\text{position, token}} +
# \underbrace{PE_i W_q \cdot PE_j W_k}_{\text{position, position}} \end{aligned}$$
#
# The last term depends on positions only. Rotary encoding drops the last three and turns query and key of the first.
# Two other relative encodings put a single number in place of these three terms. This number depends only on the
# offset $j - i$ and is added to the scaled score:
#
# <!-- slide: A bias adds a number for the offset to the score -->
#
# $$\frac{\omega_{ij}}{\sqrt{d_k}} + b_{j - i}$$
#
# <!-- slide: Absolute positions enter once, biases and rotations in every layer -->
#
# ![Three columns, each with word vectors at the bottom, two layers above them and an output. Each
# layer has three boxes: query and key, scores, softmax and values. Left, absolute, sinusoidal or
# learned: one purple arrow labelled position enters, at a plus sign between the word vectors and the
# first layer, nothing higher up. Middle, bias, learned or ALiBi: a purple arrow labelled offset
# enters at the scores, in both layers. Right, rotary: a purple arrow labelled position enters at
# query and key, in both layers. Below each column stands its formula: x i plus P E i; omega i j over
# the root of d k, plus b of j minus i; R of minus i times q i, dot R of minus j times k j.](../figures/where_positions_enter.svg)
#
# *Absolute positions enter once, at the bottom, while biases and rotations enter in every layer.*
#
# ### A learned bias for each offset
#
# The numbers are learned, one for each offset and head. Beyond a maximum distance on either side, all offsets share
# one number, so every offset has a bias. This clipping is due to Shaw et al. (2018), who learn a vector per offset,
# while T5 learns numbers and lets ranges of offsets share one.


# %%
class RelativePositionBias(nn.Module):
    """A learned number for each head and each offset, to be added to the scores."""

    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Embedding(2 * max_distance + 1, num_heads)
        nn.init.zeros_(self.table.weight)  # at first, all offsets are alike

    def forward(self, num_queries, num_keys):
        queries, keys = torch.arange(num_queries), torch.arange(num_keys)
        offsets = keys - queries.unsqueeze(1)  # (T, S): j - i
        rows = offsets.clamp(-self.max_distance, self.max_distance) + self.max_distance
        return self.table(rows).permute(2, 0, 1)  # (T, S, H) -> (H, T, S)


# %% [markdown]
# ### ALiBi: attention with linear biases
#
# ALiBi learns nothing. Each head subtracts from the score a fixed multiple of the distance, its slope, so that near
# tokens count more. Some heads fade fast and others slowly, since head $h$ of $H$ has the slope $2^{-8h/H}$. The
# paper uses causal attention, where only keys to the left count; the absolute value is our extension.


# %% slide="ALiBi subtracts a multiple of the distance"
def alibi_bias(num_heads, num_queries, num_keys):
    """The bias of every head, (H, T, S)."""
    slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)  # (H,)
    queries, keys = torch.arange(num_queries), torch.arange(num_keys)
    distances = (keys - queries.unsqueeze(1)).abs()  # (T, S)
    return -slopes[:, None, None] * distances


print("subtracted by head 1 of 8 from the last query:", (-alibi_bias(8, 5, 5)[0, -1]).tolist())

# %% tags=["hide-input"]
# the same numbers as course_utils.positional
assert torch.equal(alibi_bias(4, 3, 5), positional.alibi_bias(4, 3, 5))
ours, theirs = RelativePositionBias(2, 2), positional.RelativePositionBias(2, 2)
nn.init.normal_(ours.table.weight)
theirs.load_state_dict(ours.state_dict())
assert torch.equal(ours(3, 5), theirs(3, 5))

# %% [markdown]
# All kinds fit into one class. The course's `MultiHeadAttention` projects keys and values into heads and then calls its
# method `attend`, so we replace that method by one whose scores know positions.


# %%
class PositionalAttention(attention.MultiHeadAttention):
    """Multi-head attention in which positions act inside, on the scores or on query and key."""

    def __init__(self, d_model, num_heads, kind):
        super().__init__(d_model, num_heads)
        self.kind = kind
        if kind == "relative bias":
            self.bias = RelativePositionBias(num_heads, max_distance=8)

    def scores(self, query_heads, key_heads):
        """(B, H, T, d_k) and (B, H, S, d_k) to (B, H, T, S)."""
        if self.kind == "rotary":
            query_heads, key_heads = rotate(query_heads), rotate(key_heads)
        scores = query_heads @ key_heads.transpose(-2, -1) / math.sqrt(query_heads.shape[-1])
        if self.kind == "relative bias":
            scores = scores + self.bias(*scores.shape[-2:])
        if self.kind == "ALiBi":
            scores = scores + alibi_bias(self.num_heads, *scores.shape[-2:])
        return scores

    def attend(self, query, key_heads, value_heads, mask=None):
        query_heads = attention.split_heads(self.w_q(query), self.num_heads)  # (B, H, T, d_k)
        weights = attention.masked_softmax(self.scores(query_heads, key_heads), mask)
        return self.w_o(attention.merge_heads(weights @ value_heads)), weights


# %% [markdown]
# ### Measured: what happens when a sentence moves?
#
# We put 3 or 40 filler tokens in front of "Mary gives John a flower", hide the filler with a mask, and compare the
# weights *among the tokens of the sentence* with those of the sentence alone. Nothing is trained here, so "learned"
# stands for random position vectors.


# %%
KINDS = ["none", "sinusoidal", "learned", "relative bias", "ALiBi", "rotary"]


def weights_after(kind, filler):
    """Weights (H, 5, 5) among the tokens of the sentence, with so many hidden ones in front."""
    torch.manual_seed(3)
    module = PositionalAttention(16, num_heads=2, kind=kind)
    table = torch.zeros(64, 16)
    if kind == "sinusoidal":
        table = positional_encoding(64, 16)
    if kind == "learned":
        table = math.sqrt(0.5) * torch.randn(64, 16)
    if kind == "relative bias":
        nn.init.normal_(module.bias.table.weight)
    x = torch.cat([torch.randn(filler, 16), embed(first)]) + table[: filler + 5]  # (T, D)
    visible = torch.arange(filler + 5) >= filler  # (S,): the filler is hidden from everyone
    _, weights = module(x[None], x[None], x[None], visible)  # a batch of one
    return weights.detach()[0, :, filler:, filler:]


# %% slide="Only the absolute kinds notice that the sentence has moved"
print("largest change of a weight after 3 and 40 filler tokens")
for kind in KINDS:
    changes = [(weights_after(kind, m) - weights_after(kind, 0)).abs().max() for m in (3, 40)]
    print(f"{kind:<14} {changes[0]:.3f}   {changes[1]:.3f}")

# %% tags=["hide-input"]
# the absolute kinds notice that the sentence has moved, the others do not
for kind in KINDS:
    for moved_by in (3, 40):
        change = (weights_after(kind, moved_by) - weights_after(kind, 0)).abs().max()
        assert change > 0.01 if kind in ("sinusoidal", "learned") else change < 1e-5

# %% [markdown]
# The three relative kinds do not notice that the sentence has moved. Both absolute kinds do. This holds when the
# **whole** sentence moves and the filler is hidden, while a token put into the *middle* changes offsets.

# %% [markdown]
# ## 7. Going deeper: longer than in training
#
# We train on 16 tokens and test on 64, with the causal mask of lecture 4. Two tasks need positions in different ways,
# as an exact offset and as "the nearest of a kind":
#
# <!-- slide: Two tasks need positions in different ways -->
#
# - In **three back**, the label at every position is the token three positions before.
# - In **most recent**, there are letters and digits in random order, and the label at every letter is the last digit so
#   far.


# %%
def three_back(batch, length, generator):
    """Tokens 0-9; the label is the token three positions before."""
    ids = torch.randint(10, (batch, length), generator=generator)
    labels = torch.full_like(ids, NO_LABEL)
    labels[:, 3:] = ids[:, :-3]
    return ids, labels


def newest_digit(ids):
    """Position of the last digit so far, (B, T), or -1: [3, 14, 7] gives [-1, 1, 1]."""
    return torch.where(ids >= 10, torch.arange(ids.shape[1]), -1).cummax(dim=1).values


def most_recent(batch, length, generator):
    """Letters (0-9) and digits (10-19, three in ten); letters ask for the last digit so far."""
    is_digit = torch.rand(batch, length, generator=generator) < 0.3
    ids = torch.randint(10, (batch, length), generator=generator) + 10 * is_digit
    newest = newest_digit(ids)  # (B, T)
    digit = ids.gather(1, newest.clamp(min=0)) - 10
    return ids, torch.where((newest >= 0) & ~is_digit, digit, NO_LABEL)


# %% [markdown]
# All models are the `Tagger` of section 4 with the attention of section 6, one layer and four heads, trained for 300
# steps at one learning rate, with three seeds. Under the causal mask, later tokens cannot change an output, so *one*
# test on 64 tokens includes the test on every shorter length. We count in groups of eight positions.


# %%
class LearnedPositions(nn.Module):
    """Adds a learned vector for each position, at first as long as sinusoids are."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(math.sqrt(0.5) * torch.randn(max_len, d_model))

    def forward(self, x):
        return x + self.table[: x.shape[1]]  # (B, T, D)


def build(kind):
    """A Tagger whose positions are of this kind."""
    model = Tagger(nn.Identity(), num_tokens=20)
    if kind == "sinusoidal":
        model.positions = PositionalEncoding(32, dropout=0.0, max_len=64)
    if kind == "learned":
        model.positions = LearnedPositions(64, 32)
    model.attention = PositionalAttention(32, 4, kind)
    return model


# %% tags=["hide-input"]
def accuracy_by_position(model, task):
    """Share of right labels in positions 1-8, 9-16, ..., 57-64: (8,)."""
    ids, labels = task(300, 64, torch.Generator().manual_seed(99))
    with torch.no_grad():
        predicted = model(ids, masks.causal_mask(64)).argmax(-1)  # (B, T)
    counted = labels != NO_LABEL
    right = ((predicted == labels) & counted).sum(dim=0).reshape(8, 8).sum(dim=1)
    return right / counted.sum(dim=0).reshape(8, 8).sum(dim=1)


# %%
results, trained = {}, {}


def compare(task_name, task, kinds):
    """Train three models of each of these kinds, and measure them by position."""
    for kind in kinds:
        models, runs = [], []
        for seed in range(3):
            torch.manual_seed(seed)
            model = build(kind)
            train(model, task, 16, 300, seed, masks.causal_mask(16))
            models.append(model.requires_grad_(False))
            runs.append(accuracy_by_position(model, task))
        results[task_name, kind] = torch.stack(runs)  # (seeds, groups)
        trained[task_name, kind] = models


# %% tags=["nbval-ignore-output"] seconds=30
for task_name, task in [("three back", three_back), ("most recent", most_recent)]:
    compare(task_name, task, KINDS)


# %% slide="Trained on 16 tokens, tested on 64: absolute kinds fall at once" tags=["hide-input", "nbval-ignore-output"]
def at(task_name, kind, last):
    """Accuracies (seeds,) in the group of eight positions that ends with `last`."""
    return results[task_name, kind][:, last // 8 - 1]


for kind in ["sinusoidal", "learned", "relative bias", "rotary"]:  # all four learn three back
    assert (at("three back", kind, 16) > 0.95).all()
assert (at("three back", "learned", 24) < 0.3).all()
for task_name in ("three back", "most recent"):
    assert (results[task_name, "sinusoidal"][:, 2:].mean(dim=1) < 0.5).all()
    assert (at(task_name, "rotary", 32) > 0.9).all() and (at(task_name, "rotary", 64) < 0.4).all()
    fallen = at(task_name, "relative bias", 64)
    assert ((fallen > 0.5) & (fallen < 0.9)).all()
assert at("three back", "sinusoidal", 40).median() > 0.5  # it rises once more
assert (at("three back", "relative bias", 24) > 0.9).all()
assert (at("three back", "ALiBi", 16) < 0.5).all()
for kind in KINDS[1:]:  # all but no positions learn most recent
    assert (at("most recent", kind, 16) > 0.85).all()
assert (at("most recent", "none", 16) < 0.6).all()
assert (at("most recent", "ALiBi", 64) > 0.8).all()
assert (at("most recent", "relative bias", 64) < at("most recent", "ALiBi", 64).min()).all()
for kind in ["sinusoidal", "learned", "rotary"]:
    assert (at("most recent", kind, 64) < 0.25).all()
model = build("rotary")  # a long test contains the shorter ones
ids = torch.randint(20, (2, 64), generator=torch.Generator().manual_seed(0))
with torch.no_grad():
    long, short = model(ids, masks.causal_mask(64)), model(ids[:, :24], masks.causal_mask(24))
assert torch.allclose(long[:, :24], short, atol=1e-5)

figure, axes = plt.subplots(2, 3, figsize=(10, 7), sharex=True, sharey=True)
ends = range(8, 65, 8)
for ax, kind in zip(axes.flat, KINDS, strict=True):
    ax.axvspan(4, 16, color=plotting.SHADE, zorder=0)
    ax.set(title=kind, ylim=(0, 1.08), xlim=(4, 67))
    for task_name in ("three back", "most recent"):
        plotting.seed_curves(ends, results[task_name, kind], task_name, ax)
    plotting.ticks_at(ax, x=range(16, 65, 16), y=[0, 0.2, 0.4, 0.6, 0.8, 1])
axes[0, 0].text(5, 0.04, "trained", ha="left")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
figure.supxlabel("position, in groups of 8 (last of the group)")
figure.supylabel("labels right")
plotting.picture(
    figure,
    caption="Trained on 16 tokens, tested on 64: absolute kinds fall at once, relative ones differ.",
    alt="Six panels, one for each kind: share of right labels against the position, from 8 to 64, a "
    "line for three back and one for most recent, medians over three seeds with bands; training "
    "covered positions up to 16, which are shaded. Sinusoidal and learned are at 1.0 up to 16 and "
    "drop at once: learned to 0.14, sinusoidal to between 0.25 and 0.6 in three back, both to 0.15 in "
    "most recent. No positions fall from 0.35 to 0.15 and from 0.75 to 0.2. Rotary stays at 1.0 up "
    "to 32 and falls to 0.1 by 64 in both tasks. The relative bias falls slowly to 0.75 in both. "
    "ALiBi stays at about 0.3 or below in three back, and between 0.95 and 0.89 throughout in most recent.",
)

# %% [markdown]
# Do sinusoids let a model read longer texts than it was trained on, as the paper hoped (section 3.5)? Here they do
# not. In both tasks and all runs, most answers in positions 17 to 64 are wrong. Press et al. (2022, figure 1) found
# the same for language models. No single encoding wins.
#
# <!-- slide: Beyond the training length most kinds fail, each in its own way -->
#
# | kind | beyond position 16 | likely reason |
# |---|---|---|
# | none | is low from the start in "three back" (0.35), and falls from 0.75 in "most recent" | the output reflects which tokens occurred but hardly where, so the model can only guess |
# | learned | falls within 16 positions | the vectors of positions 17 to 64 were never trained |
# | sinusoidal | falls within 16 positions, and in "three back" rises once more, to about 0.6 at 33 to 40, which we cannot explain | those positions were never seen, and nothing made the model use offsets |
# | relative bias | falls slowly | the bias is right, but more and more far tokens take a share of the weight |
# | ALiBi | holds in "most recent"; does not learn "three back" in 300 steps with one layer | its bias always favours the nearest token |
# | rotary | holds to about twice the length, then falls | in "three back", no untrained distance scores higher than the right one until about 41 tokens back |
#
# Section 8 tests two of these reasons, that for rotary only in "three back". The other four are not tested here. The
# models are small, and the ranking depends on the task. In larger decoders on other tasks, those without positions
# generalised best to longer texts (Kazemnejad et al., 2023), unlike ours.
#
# **Check yourself.** A model without any positions but with a causal mask is above blind guessing on "most
# recent". How can that be, when attention is equivariant?
#
# <details><summary>Answer</summary>
#
# The mask is not permuted with the tokens, so attention with a causal mask is *not* equivariant. Position 1 attends to
# one token and position 10 to ten, so early in the text few digits compete. Later the most frequent digit so far is
# still a better guess than a blind one. Deep causal models learn more from the mask (Haviv et al., 2022).
#
# </details>

# %% [markdown]
# ## 8. Going deeper: two reasons, tested
#
# ### Sinusoids: is it the unseen positions?
#
# If sinusoids fail because positions 17 to 64 are new, then showing them in training, still only 16 tokens at a
# time, must help. Each training step now starts its window at a random position from 0 to 48.


# %% tags=["nbval-ignore-output"] seconds=3
class RandomStart(PositionalEncoding):
    """In training, start at a random row of the table; in evaluation, at row 0."""

    def forward(self, x):
        T = x.shape[1]
        start = int(torch.randint(len(self.pe) - T + 1, ())) if self.training else 0
        return x + self.pe[start : start + T]


shifted = []
for seed in range(3):
    torch.manual_seed(seed)
    model = build("sinusoidal")
    model.positions = RandomStart(32, dropout=0.0, max_len=64)
    train(model, three_back, 16, 300, seed, masks.causal_mask(16))
    shifted.append(accuracy_by_position(model.eval(), three_back)[2:].mean().item())
plain = results["three back", "sinusoidal"][:, 2:].mean(dim=1).tolist()
print("right in positions 17 to 64, three seeds")
print("    training starts at 0:", *[round(share, 2) for share in plain])
print("    random starts:       ", *[round(share, 2) for share in shifted])

# %% tags=["hide-input"]
# every seed: above 0.75 with random starts, below 0.5 without
assert min(shifted) > 0.75 and max(plain) < 0.5

# %% [markdown]
# Random starts cure most of the failure. They show the model every position, but they also reward it for using offsets,
# so this test cannot tell which of the two helped. SHAPE (Kiyono et al., 2021) is a random start of this kind. Ruoss et
# al. (2023) go further and draw positions with random gaps.
#
# ### Rotary: what happens at distances that were never trained?
#
# We feed the trained rotary model random tokens, and average the scaled score over all pairs at the same distance.

# %% slide="Rotary scores are waves, and a later wave is higher" tags=["hide-input", "nbval-ignore-output"]
ids, _ = three_back(300, 64, torch.Generator().manual_seed(8))


def heads_by_distance(model, hands=range(4)):
    """Average scaled score of all pairs of tokens at each distance, from these hands: (H, distances)."""
    x, layer = model.embed(ids[:32]), model.attention  # (B, T, D)
    query_heads, key_heads = (attention.split_heads(w(x), 4) for w in (layer.w_q, layer.w_k))
    chosen = torch.isin(torch.arange(8) // 2, torch.tensor(list(hands)))  # features of these hands
    scores = layer.scores(query_heads * chosen, key_heads).mean(dim=0)  # (H, T, T)
    averages = [scores.diagonal(-m, dim1=1, dim2=2).mean(dim=1) for m in range(64)]
    return torch.stack(averages, dim=1)


for model in trained["three back", "rotary"]:
    by_distance = heads_by_distance(model)
    middle = by_distance.quantile(0.5, dim=0)  # (distances,)
    overtakes = int(
        (middle > middle[3]).nonzero()[0]
    )  # the first distance that scores higher than 3
    assert overtakes in (40, 41)
assert overtakes == 41 and middle[35] > 0.8 * middle[3]
assert middle[16:32].max() < 0.8 * middle[3] and middle[47] > middle[3] + 2
by_hand = torch.stack([heads_by_distance(model, [k]) for k in range(4)])
assert torch.allclose(by_hand.sum(dim=0), by_distance, atol=1e-3)  # (4, H, distances) summed
assert ((by_hand[0, :, 47] - by_hand[0, :, 3]).abs() < 1).all()
falls = by_hand[1, :, 15] < by_hand[1, :, 3] - 2  # (H,)
comes_back = by_hand[1, :, 47] > by_hand[1, :, 3] + 2  # (H,)
assert (falls & comes_back).sum() >= 3

figure, ax = plotting.panels(1)
ax.axvspan(0, 15.5, color=plotting.SHADE, zorder=0)
ax.text(9, 0.02, "trained", transform=ax.get_xaxis_transform(), ha="center", color=plotting.MUTED)
plotting.seed_curves(range(64), by_distance, "median", ax, markevery=[3, 35, 41, 47])
for m, label_at in [(3, 0.5), (35, 25.5), (47, 44.5)]:
    place = (label_at, by_distance[:, m].max() + 0.5)
    ax.text(*place, f"{m} back: {middle[m]:.0f}", ha="left", va="bottom")
plotting.ticks_at(ax, x=[3, 16, 35, 41, 47, 63])
ax.set(xlabel="distance to the left", ylabel="average scaled score, four heads")
ax.margins(y=0.12)
plotting.picture(
    figure,
    caption="Rotary scores are waves: up to 40 tokens back, 3 has the highest peak; the peaks from 41 on are higher.",
    alt="The average scaled score of the rotary model against the distance from 0 to 63, the median of four heads "
    "with a band for their range: a wave with a peak every six words, whose height itself rises and "
    "falls slowly. Up to 40 the peak at 3 is the highest, and the highest between 16 and 31 is far lower. "
    "The peaks at 41 and 47 are higher than the one at 3. Dots mark 3, 35, 41 and 47.",
)

# %% [markdown]
# Rotary scores are waves. Training texts did not contain distances of 16 to 31 either, but there the peaks stay well
# below the one at 3, so the model is right up to position 32, and mostly up to 40. At 41 and 47 the score is *higher*
# than at 3, which nothing in training forbade, and from there the model attends to the wrong tokens. In each of three
# seeds, of which one is shown, the first distance that overtakes is 40 or 41.
#
# Why 47? It is 3 + 44, and 44 tokens are almost exactly seven turns of the fastest hand, which cannot tell the two
# apart. In most heads of the model shown, the next slower hand can, but training used only the part of its circle on
# which the score falls, and further round the circle the score rises again. **Relative does not mean that longer
# texts work.** Models with rotary encoding are usually trained further on long texts, with slowed clocks (Chen et
# al., 2023).
#
# ## 9. Going deeper: odd widths, and whether positions are unique
#
# With 7 columns there are four sines and only three cosines. The loop of section 2 works for any width, and the last
# sine has no partner. The matrix version stops at odd widths from 3 on, because it has one cosine too many.

# %%
try:
    positional_encoding(8, 7)
except RuntimeError as error:
    print("RuntimeError:", error)

# %% tags=["hide-input"]
# loop and course_utils agree at width 7; at width 16, no position up to 4999 is nearer to 0 than position 1
assert torch.allclose(encoding_by_loop(8, 7), positional.positional_encoding(8, 7), atol=1e-6)
table = positional.positional_encoding(5000, 16)
one_clock = (table[1:, :2] - table[0, :2]).norm(dim=1)  # (4999,)
all_clocks = (table[1:] - table[0]).norm(dim=1)  # (4999,)
assert one_clock[43] < 0.02 and all_clocks.argmin() == 0 and all_clocks.min() > 0.9

# %% [markdown]
# Are all positions different? One hand alone is not enough, because position 44 is almost exactly seven turns of the
# fastest hand away from position 0. At width 16 we compare position 0 with the next 4999, using all eight hands. No
# other position is nearer to position 0 than position 1 is. Since the distance of two encodings depends on their offset
# alone, this holds for *all* pairs that are no further apart.
#
# Some code computes the frequencies as $\exp(-2k \cdot \ln 10000 / d_\text{model})$. The result is the same, and no
# more accurate.
#
# ### The dot product of two positions depends on their offset alone
#
# Two hands of length one have the cosine of the angle between them as their dot product. Summed over all pairs this
# gives $PE_i \cdot PE_j = \sum_{k} \cos \theta_k (i - j)$.

# %% tags=["hide-input"]
# the formula, for every offset
table = positional_encoding(64, 128)  # (T, D)
products = table @ table.T  # (T, T)
for offset in range(64):
    expected = sum(math.cos(offset * 10000 ** (-2 * k / 128)) for k in range(64))
    assert (products.diagonal(offset) - expected).abs().max() < 1e-4

# %% [markdown]
# Explore the table of width 16. Point at an entry, or walk there with the arrow keys, to see its pair as two waves and
# as a hand.
#
# <!-- slide: Three questions to two positions -->
#
# 1. **The offset alone.** Leave the offset at 6 and move the position. What happens to the dot product?
# 2. **Farther apart, yet more alike?** Compare the products at offsets 3 and 6. What does −3 give? The boxes, one for
#    each pair, show why.
# 3. **Wider.** Choose width 64. Which of the two offsets gives the larger product now?

# %% slide="Explore: which offsets are more alike?" tags=["hide-input"]
for width, alike_at in {16: {6: 6.445, 3: 5.543, -3: 5.543}, 64: {3: 25.587, 6: 23.559}}.items():
    rows = positional.positional_encoding(48, width).double()
    for offset, product in alike_at.items():
        assert round((rows[20] @ rows[20 + offset]).item(), 3) == product
assert round(math.cos(6), 2) == 0.96 and round(math.cos(3), 2) == -0.99

live.positions_view(
    d_model=16, position=20, offset=6, caption="Two positions: their dot product by offset"
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# The dot product stays at 6.445. At offset 3 it is only 5.543, because after 6 tokens the hand of pair 0 has almost
# gone round, while after 3 it points the other way. The offset −3 gives the same as 3. At width 64, positions 3 apart
# are more alike than positions 6 apart, because most of the 32 pairs are slow and the fast ones count for less.
#
# </details>
#
# ### How large are they?
#
# Each pair adds $\sin^2 + \cos^2 = 1$ to the squared length, so $\lVert PE_{pos} \rVert = \sqrt{d_\text{model}/2}$ at
# every position. Sinusoids are *bounded* but not small. At width 16 they have length 2.83, and the eight token vectors
# of lecture 2 have 4.08 on average.
#
# The paper multiplies embeddings by $\sqrt{d_\text{model}}$ before it adds positions. If they are initialised with the
# standard deviation $1/\sqrt{d_\text{model}}$, **a position is then $1/\sqrt2 \approx 0.71$ times as long as a token at
# every width**. PyTorch's `nn.Embedding` draws with the standard deviation 1, which gives the same ratio without the
# factor, so leave it out there.

# %% tags=["hide-input"]
# lengths of positions and of tokens, with and without the factor
torch.manual_seed(123)
x = nn.Embedding(10, 16)(torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])).detach()  # (T, D), lecture 2
p = positional.positional_encoding(8, 16)  # (T, D)
assert torch.allclose(p.norm(dim=1), torch.full((8,), math.sqrt(8)))
assert abs(x.norm(dim=1).mean() - 4.08) < 0.005
for width in (16, 64, 512):
    small = (torch.randn(1000, width) / math.sqrt(width)).norm(dim=1).mean()
    length = positional.positional_encoding(1, width).norm()
    assert abs(small - 1) < 0.03
    assert abs(length / (math.sqrt(width) * small) - math.sqrt(0.5)) < 0.03
numbered = x + torch.arange(8.0).unsqueeze(1)  # plain numbers hide the tokens, as section 2 says
_, weights = attention.scaled_dot_product_attention(numbered, numbered, numbered)
assert (weights[1:, -1] > 0.95).all()

# %% [markdown]
# ## Further reading
#
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz Kaiser, Illia
#   Polosukhin (2017). *[Attention Is All You Need.](https://arxiv.org/abs/1706.03762)* NeurIPS. Section 3.5: sinusoids;
#   section 3.4: the factor $\sqrt{d_\text{model}}$; table 3, row E: learned positions do as well.
# - Jonas Gehring, Michael Auli, David Grangier, Denis Yarats, Yann N. Dauphin (2017). *[Convolutional
#   Sequence to Sequence Learning.](https://arxiv.org/abs/1705.03122)* ICML. Section 3.1: learned positions,
#   before transformers.
# - Jacob Devlin, Ming-Wei Chang, Kenton Lee, Kristina Toutanova (2019). *[BERT: Pre-training of Deep
#   Bidirectional Transformers for Language Understanding.](https://arxiv.org/abs/1810.04805)* NAACL. Figure
#   2: words, segments and learned positions are added.
# - Peter Shaw, Jakob Uszkoreit, Ashish Vaswani (2018). *[Self-Attention with Relative Position
#   Representations.](https://arxiv.org/abs/1803.02155)* NAACL. Section 3.2: a learned vector per offset,
#   clipped.
# - Colin Raffel, Noam Shazeer, Adam Roberts, Katherine Lee, Sharan Narang, Michael Matena, Yanqi Zhou, Wei
#   Li, Peter J. Liu (2020). *[Exploring the Limits of Transfer Learning with a Unified Text-to-Text
#   Transformer.](https://arxiv.org/abs/1910.10683)* Journal of Machine Learning Research 21. Section 2.1: a
#   number per range of offsets and head, the same in all layers.
# - Jianlin Su, Yu Lu, Shengfeng Pan, Ahmed Murtadha, Bo Wen, Yunfeng Liu (2021). *[RoFormer: Enhanced
#   Transformer with Rotary Position Embedding.](https://arxiv.org/abs/2104.09864)* arXiv:2104.09864.
#   Sections 3.2.2 and 3.4.2.
# - Hugo Touvron et al. (2023). *[LLaMA: Open and Efficient Foundation Language
#   Models.](https://arxiv.org/abs/2302.13971)* arXiv:2302.13971. Section 2.2: rotary encoding at every
#   layer.
# - Ofir Press, Noah A. Smith, Mike Lewis (2022). *[Train Short, Test Long: Attention with Linear Biases
#   Enables Input Length Extrapolation.](https://arxiv.org/abs/2108.12409)* ICLR. Section 3: ALiBi; figure
#   1: four encodings on longer texts.
# - Adi Haviv, Ori Ram, Ofir Press, Peter Izsak, Omer Levy (2022). *[Transformer Language Models without
#   Positional Encodings Still Learn Positional Information.](https://arxiv.org/abs/2203.16634)* Findings of
#   EMNLP.
# - Amirhossein Kazemnejad, Inkit Padhi, Karthikeyan Natesan Ramamurthy, Payel Das, Siva Reddy (2023). *[The
#   Impact of Positional Encoding on Length Generalization in
#   Transformers.](https://arxiv.org/abs/2305.19466)* NeurIPS. The question of section 7, for larger models
#   and more tasks. There, models without positions did best, unlike ours.
# - Shun Kiyono, Sosuke Kobayashi, Jun Suzuki, Kentaro Inui (2021). *[SHAPE: Shifted Absolute Position Embedding for
#   Transformers.](https://arxiv.org/abs/2109.05644)* EMNLP. Section 3: a random start for each training text.
# - Anian Ruoss, Grégoire Delétang, Tim Genewein, Jordi Grau-Moya, Róbert Csordás, Mehdi Bennani, Shane
#   Legg, Joel Veness (2023). *[Randomized Positional Encodings Boost Length Generalization of
#   Transformers.](https://arxiv.org/abs/2305.16843)* ACL.
# - Shouyuan Chen, Sherman Wong, Liangjian Chen, Yuandong Tian (2023). *[Extending Context Window of Large
#   Language Models via Positional Interpolation.](https://arxiv.org/abs/2306.15595)* arXiv:2306.15595.
# - Sebastian Raschka, Yuxi (Hayden) Liu, Vahid Mirjalili (2022). *[Machine Learning with PyTorch and
#   Scikit-Learn.](https://github.com/rasbt/machine-learning-book)* Packt. Chapter 16: Mary, John and the
#   flower.
