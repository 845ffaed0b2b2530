# ---
# jupyter:
#   course:
#     assignment: a6_positional_encoding
#     minutes: 75
#     summary: How attention learns about word order, from sinusoids to biases and rotations.
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
# Attention compares words and mixes words. Where a word stands, it cannot see. In this lecture the
# positions come in, in five different ways, and we measure what each of them can do.
#
# **Afterwards you will be able to**
#
# - show that without positions "Mary gives John a flower" and "John gives Mary a flower" are the
#   same to attention, and compute how well a model can then do at best;
# - write down the sinusoidal encoding, by loop and as matrices, and say what every index means;
# - read it as the hands of many clocks, and a shift by some words as a rotation;
# - say how large positional vectors are beside words, and where they are added;
# - tell absolute from relative encodings, and compute a learned bias, ALiBi and rotary encoding;
# - say what happens to each of them in texts longer than those seen in training.
#
# **Time** about 75 minutes. **Needs** [lecture 2](02_basic_self_attention.ipynb) (equivariance),
# [lecture 3](03_scaled_dot_product_attention.ipynb) (query, key, scores),
# [lecture 4](04_masked_attention.ipynb) (the causal mask) and
# [lecture 5](05_multi_head_attention.ipynb) (heads).

# %%
import math
from itertools import permutations

import ipywidgets as widgets
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from matplotlib.patches import Rectangle
from torch import nn

from course_utils import attention, layers, masks, plotting, positional

plotting.use_course_style()
torch.set_num_threads(1)  # networks this small run fastest on one thread

# %% [markdown]
# ## 1. What attention cannot see
#
# Two sentences with the same words and opposite meanings:
#
# 1. Mary gives John a flower
# 2. John gives Mary a flower
#
# We give every word a vector and let the words of each sentence attend to each other. The same
# vectors serve as query, key and value, so `*[x] * 3` below stands for `x, x, x`.

# %%
first = ["Mary", "gives", "John", "a", "flower"]
second = ["John", "gives", "Mary", "a", "flower"]
vocabulary = sorted({*first, *second})

torch.manual_seed(6)
embedding = nn.Embedding(len(vocabulary), 16)


def embed(sentence):
    """Word vectors (T, D) of a list of words."""
    return embedding(torch.tensor([vocabulary.index(word) for word in sentence])).detach()


z_first, _ = attention.scaled_dot_product_attention(*[embed(first)] * 3)  # (T, D)
z_second, _ = attention.scaled_dot_product_attention(*[embed(second)] * 3)  # (T, D)

for word in first:
    gap = (z_first[first.index(word)] - z_second[second.index(word)]).abs().max()
    assert gap < 1e-5
    print(f"{word:>7}: largest difference between its two context vectors {gap:.4f}")

# %% [markdown]
# "Mary" has the same context vector whether she gives the flower or gets it. The two sentences give
# the same *set* of context vectors, only in another order. That is the equivariance of
# [lecture 2](02_basic_self_attention.ipynb#7.-No-order:-equivariance): permute the words, and the
# outputs are permuted alike.
#
# > **You may have read** that attention and fully connected layers are "permutation-*invariant*".
# > They are equivariant: the outputs move with their words. Invariant is what you get after pooling
# > the outputs, with a mean for instance.
#
# Now a position comes in. Section 3 explains the vectors; here they are just added to the words.

# %%
positions = positional.positional_encoding(5, 16)  # (T, D)
z_first, _ = attention.scaled_dot_product_attention(*[embed(first) + positions] * 3)
z_second, _ = attention.scaled_dot_product_attention(*[embed(second) + positions] * 3)

for word in first:
    gap = (z_first[first.index(word)] - z_second[second.index(word)]).abs().max()
    assert gap > 0.01
    print(f"{word:>7}: largest difference between its two context vectors {gap:.2f}")

# %% [markdown]
# Every context vector is now different, even those of "gives", "a" and "flower", which stand at the
# same place in both sentences: what they look at has moved.
#
# ### Measured: who gives?
#
# Can training make up for missing positions? We train a small network on sentences "A gives B a
# thing": attention, the mean over the words, and one linear map that names the giver. Two pairs of
# people are kept out of the training, Mary and John among them.

# %%
people = ["Mary", "John", "Anna", "Paul", "Lena", "Omar"]
things = ["flower", "book", "letter", "key"]
word_ids = {word: k for k, word in enumerate([*people, *things, "gives", "a"])}
kept_out = [{"Mary", "John"}, {"Anna", "Paul"}]


def sentences(pairs):
    """Ids (N, T) and the giver's number (N,) of all sentences of these pairs."""
    texts = [[giver, "gives", taker, "a", thing] for giver, taker in pairs for thing in things]
    ids = torch.tensor([[word_ids[word] for word in text] for text in texts])
    return ids, ids[:, 0]  # the first words of the dictionary are the people


pairs = list(permutations(people, 2))
train_ids, train_givers = sentences([pair for pair in pairs if set(pair) not in kept_out])
test_ids, test_givers = sentences([pair for pair in pairs if set(pair) in kept_out])
print(train_ids.shape, test_ids.shape)

# %% [markdown]
# The two networks that we compare differ in one line: whether positions are added to the words.


# %%
class WhoGives(nn.Module):
    """Attention, the mean over the words, one linear map: ids (N, T) to logits (N, people)."""

    def __init__(self, with_positions, d_model=16):
        super().__init__()
        self.embedding = nn.Embedding(len(word_ids), d_model)
        self.positions = nn.Identity()  # hands its input on
        if with_positions:
            self.positions = positional.PositionalEncoding(d_model, dropout=0.0, max_len=5)
        self.attention = attention.MultiHeadAttention(d_model, num_heads=2)
        self.output = nn.Linear(d_model, len(people))

    def forward(self, ids):
        x = self.positions(self.embedding(ids))  # (N, T, D)
        z, _ = self.attention(x, x, x)  # (N, T, D)
        return self.output(z.mean(dim=1))  # (N, people)


# %%
def learn_who_gives(with_positions, seed):
    torch.manual_seed(seed)
    model = WhoGives(with_positions)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(200):
        optimizer.zero_grad()
        F.cross_entropy(model(train_ids), train_givers).backward()
        optimizer.step()
    return model.requires_grad_(False)


# %% [markdown]
# With four seeds each we measure two things: how often the network names the giver, and how far its
# logits move when giver and taker change places.

# %%
swapped_ids = test_ids[:, [2, 1, 0, 3, 4]]  # giver and taker change places
accuracy, gaps = torch.empty(2, 4), torch.empty(2, 4)  # (without or with, seeds)
for with_positions in (False, True):
    for seed in range(4):
        model = learn_who_gives(with_positions, seed)
        logits = model(test_ids)  # (N, people)
        accuracy[int(with_positions), seed] = (logits.argmax(1) == test_givers).float().mean()
        gaps[int(with_positions), seed] = (logits - model(swapped_ids)).abs().max()

without, with_them = accuracy
assert (gaps[0] < 1e-4).all() and (without <= 0.55).all()
assert (gaps[1] > 1).all() and (with_them >= 0.9).all()
print("the logits notice that giver and taker are swapped")
print(f"    without positions: {bool((gaps[0] > 1e-4).any())}")
print(f"    with positions:    {bool((gaps[1] > 1e-4).all())}")
print("right on new pairs of people, every seed: at most half without, 90 % or more with")

# %% [markdown]
# Without positions a sentence and its swapped version have the same set of context vectors, so the
# same mean and the same logits, *whatever the parameters are*. The network gives both the same
# answer. They have different givers, so it is right in at most one of the two. No amount of
# training changes that. With positions, all four runs learned it for people that they never saw
# together. (That part is no law: another seed may do worse.)

# %% [markdown]
# ## 2. What should a position look like?
#
# The obvious idea is to add the number of the position. We try it with the eight words of
# lecture 2.

# %%
torch.manual_seed(123)
words = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
x = nn.Embedding(10, 16)(torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])).detach()  # (T, D)

numbered = x + torch.arange(8.0).unsqueeze(1)  # (T, D): every entry of word p grows by p
_, weights = attention.scaled_dot_product_attention(*[numbered] * 3)

print(f"average length of a word's vector:        {x.norm(dim=1).mean():6.2f}")
print(f"length of what position 7 adds to it:     {torch.full((16,), 7.0).norm():6.2f}")
print(f"length of what position 500 would add:    {torch.full((16,), 500.0).norm():6.2f}")
print("weight on the last word, words 2 to 8:   ", [f"{w:.3f}" for w in weights[1:, -1].tolist()])
assert (weights[1:, -1] > 0.95).all()

# %% [markdown]
# The numbers drown the words: every word but the first looks at almost nothing but the last one.
# For positions $p$ and $q$ alone add $16\,pq/\sqrt{16} = 4\,pq$ to the score of their two words.
# That is largest for the last word; only for the first one, with $p = 0$, it is zero throughout.
#
# What else?
#
# | idea | trouble |
# |---|---|
# | the number $pos$ itself | grows without bound |
# | $pos / T$, between 0 and 1 | the step from one word to the next depends on the length of the text |
# | $pos$ in binary digits | bounded, and unique; but neighbours like 0111 and 1000 differ in every digit |
# | **sines and cosines of many speeds** | none of these: bounded, unique in practice, and neighbours stay close |
#
# The binary digits are nearly right: the last one changes at every step, the one before it at every
# second step, and so on. **Sinusoids**, the common name for sines and cosines, do the same
# smoothly.

# %% [markdown]
# ## 3. Sinusoids
#
# The encoding of position $pos$ is a vector of $d_\text{model}$ numbers, made of **pairs**
# (sections 4 and 5 show why):
#
# $$PE_{(pos,\,2k)} = \sin\!\left(\frac{pos}{10000^{2k/d_\text{model}}}\right) \qquad
# PE_{(pos,\,2k+1)} = \cos\!\left(\frac{pos}{10000^{2k/d_\text{model}}}\right)$$
#
# | symbol | meaning | runs over |
# |---|---|---|
# | $pos$ | position of the word, counted from 0: a row of the table | $0, \dots, T - 1$ |
# | $k$ | number of a **pair of columns**, $2k$ and $2k+1$ | $0, \dots, d_\text{model}/2 - 1$ |
# | $d_\text{model}$ | width of the vector, the same as that of the words | 16 in the first cells below |
# | $\omega_k = 10000^{-2k/d_\text{model}}$ | frequency of pair $k$: how far its angle turns per word | from 1 downwards |
#
# > **You may have read** this formula with $PE_{(i, 2k)}$ on the left and $pos$ on the right, and
# > with "$k$ is the length of the encoding vector". Then $i$ and $pos$ are two names for one thing:
# > the position. And $k$ is no length. It counts the pairs of columns; the length is
# > $d_\text{model}$. (In the original paper the pair is called $i$. Look at the definitions before
# > you compare two texts.)
#
# First by loop, one entry at a time.


# %%
def encoding_by_loop(length, d_model):
    """Sinusoidal encoding, (length, d_model), entry by entry."""
    table = torch.empty(length, d_model)
    for pos in range(length):
        for column in range(d_model):
            k = column // 2  # columns 0 and 1 are pair 0, columns 2 and 3 are pair 1, ...
            angle = pos / 10000 ** (2 * k / d_model)
            is_even = column % 2 == 0
            table[pos, column] = math.sin(angle) if is_even else math.cos(angle)
    return table


by_loop = encoding_by_loop(8, 16)
print("position 0:", [f"{value:.3f}" for value in by_loop[0, :6].tolist()], "...")
print("position 1:", [f"{value:.3f}" for value in by_loop[1, :6].tolist()], "...")
assert torch.allclose(by_loop[0, 0::2], torch.zeros(8))  # sin 0
assert torch.allclose(by_loop[0, 1::2], torch.ones(8))  # cos 0

# %% [markdown]
# Now as matrices. The angles are an outer product: one column of positions times one row of
# frequencies. Sines go to the even columns and cosines to the odd ones.

# %%
length, d_model = 8, 16
pos = torch.arange(length).unsqueeze(1)  # (T, 1)
frequencies = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (D / 2,)
angles = pos * frequencies  # (T, 1) * (D / 2,) -> (T, D / 2)

table = torch.empty(length, d_model)
table[:, 0::2] = torch.sin(angles)
table[:, 1::2] = torch.cos(angles)

assert torch.allclose(table, by_loop, atol=1e-6)
assert torch.allclose(table, positional.positional_encoding(length, d_model), atol=1e-6)
print("matrices equal the loop:", torch.allclose(table, by_loop, atol=1e-6))
print("agrees with course_utils.positional")

# %% [markdown]
# `torch.arange(0, d_model, 2)` holds 0, 2, 4, …: it already is $2k$. Whoever multiplies it by two
# again, or divides $k$ itself by $d_\text{model}$, gets other frequencies, and no error.
#
# Some code writes the frequencies as $\exp(-2k \cdot \ln 10000 / d_\text{model})$: the same number,
# since $a^b = \exp(b \cdot \ln a)$, and no more exact.
#
# One more trap, for long texts: float32 keeps about seven digits. An angle of some thousand radians
# uses up four of them before the point. `course_utils` computes the angles in float64.

# %%
far_angles = torch.arange(5000).unsqueeze(1) * frequencies  # (5000, D / 2), float32
far_gap = (torch.sin(far_angles) - positional.positional_encoding(5000, 16)[:, 0::2]).abs().max()
assert 1e-5 < far_gap < 1e-3
print("largest error of float32 angles up to position 5000: between 0.00001 and 0.001")

# %% [markdown]
# ### Odd widths
#
# With 7 columns there are four sines and only three cosines. The loop does not mind: the last sine
# has no partner. Matrix code often forgets it.

# %% tags=["nbval-ignore-output"]
odd_angles = torch.arange(8).unsqueeze(1) * 10000.0 ** (-torch.arange(0, 7, 2) / 7)  # (8, 4)
odd_table = torch.empty(8, 7)
odd_table[:, 0::2] = torch.sin(odd_angles)
try:
    odd_table[:, 1::2] = torch.cos(odd_angles)
except RuntimeError as error:
    print("RuntimeError:", error)

assert torch.allclose(encoding_by_loop(8, 7), positional.positional_encoding(8, 7), atol=1e-6)
print("loop and course_utils agree at width 7; the last column is a sine")

# %% [markdown]
# > **You may have read** a `PositionalEncoding` class that fills its cosines in this way. It works
# > for every even width, and crashes for odd ones from 3 on. In the assignment yours must not.
#
# ### The whole table
#
# `visualize_positional_encodings` draws the table with dimensions to the right and positions
# downwards, the first on top, as text is read.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5))
sequential = positional.positional_encoding(60, 64)
image = left.imshow(sequential, cmap="viridis", aspect="auto")
figure.colorbar(image, ax=left, label="value")
left.set(xlabel="dimension", ylabel="position", title="sequential colours: where is zero?")
positional.visualize_positional_encodings(60, 64, ax=right)
right.set_title("diverging colours: white is zero")
for ax in (left, right):
    ax.grid(False)
figure.get_layout_engine().set(wspace=0.08)
plotting.show(
    figure,
    alt="The same table of encodings twice: 64 dimensions from left to right, positions 0 to 59 "
    "from top to bottom. In the first columns the values change sign every few positions; further "
    "right the stripes grow longer, and the last third hardly changes: columns alternate between "
    "about 0 (sine) and 1 (cosine). Left, in sequential colours from dark purple over blue-green "
    "to yellow, zero is a blue-green in the middle. Right, in blue, white and red, zero is white "
    "and the sign is seen at once.",
)

# %% [markdown]
# > **You may have read** code for this picture with the colours `viridis`. They run from dark to
# > bright and suit values from nothing to much. These values have a **sign**, and the zero matters:
# > diverging colours show both. That code also fixed the width to 512, returned nothing, and called
# > a `positional_encoding` that it never defined.

# %% [markdown]
# ## 4. The hands of many clocks
#
# Take one pair, $(\sin\omega_k pos,\ \cos\omega_k pos)$, as a point $(x, y)$. It lies on a circle
# of radius one. At position 0 it points up, and with every word it turns clockwise by the angle
# $\omega_k$. That is the hand of a clock. Pair 0 turns by one radian per word, the later pairs turn
# more and more slowly, as the hour hand does beside the minute hand.

# %%
shown = [0, 1, 2, 3, 30]
hands = positional.positional_encoding(31, 8).reshape(31, 4, 2)  # (position, pair, (x, y))

figure, axes = plt.subplots(4, 5, figsize=(10.5, 8.6))
for k, row in enumerate(axes):
    for position, ax in zip(shown, row, strict=True):
        x_tip, y_tip = hands[position, k].tolist()
        ax.add_patch(plt.Circle((0, 0), 1, facecolor="#F6F6F6", edgecolor="#1A1A1A", linewidth=1.6))
        ax.plot([0, x_tip], [0, y_tip], color="#D55E00", linewidth=4, linestyle="-", marker="")
        ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        if k == 0:
            ax.set_title(f"position {position}")
    # At width 8 the formula gives 10000^(2k / 8) = 10^k.
    row[0].set_ylabel(f"pair {k}\nonce round in\n{2 * math.pi * 10**k:.0f} words", fontsize=12)
plotting.show(
    figure,
    alt="A grid of clock faces, one row for each of the four pairs of columns at width 8, one "
    "column for each of the positions 0, 1, 2, 3 and 30. At position 0 all four hands point "
    "up. The hand of pair 0 turns by 57 degrees per word and goes round once in 6 words. Pair "
    "1 needs 63 words: at position 3 it has turned by 17 degrees, at 30 by almost half a "
    "circle. Pair 2 needs 628 words and at position 30 has turned by 17 degrees. Pair 3 needs "
    "6283 words and still points almost straight up.",
)

# %% [markdown]
# The **wavelength** of pair $k$ is the number of words in which its hand goes round once:
#
# $$\lambda_k = \frac{2\pi}{\omega_k} = 2\pi \cdot 10000^{2k/d_\text{model}}$$
#
# It begins at $2\pi$ and grows by the same *factor* from pair to pair. The paper says "from $2\pi$
# to $10000 \cdot 2\pi$". Let us see how close the last one comes.

# %%
print("width   first λ / 2π   last λ / 2π")
for d_model in [8, 16, 64, 512]:
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    wavelengths = 2 * math.pi * 10000**exponents  # (D / 2,)
    ratios = wavelengths[1:] / wavelengths[:-1]
    assert torch.allclose(ratios, ratios[0].expand_as(ratios))
    factors = wavelengths / (2 * math.pi)
    assert factors[0] == 1 and factors[-1] < 10000
    print(f"{d_model:5d}   {factors[0]:12.0f}   {factors[-1]:11.0f}")

# %% [markdown]
# The last pair is $k = d_\text{model}/2 - 1$, with the exponent
# $(d_\text{model} - 2)/d_\text{model}$. So $10000 \cdot 2\pi$ is never quite reached: 9647 of 10000
# at width 512, and 3162 at width 16. The number 10000 is a choice: it sets how slow the slowest
# hand is.
#
# Try it: choose a pair and a length, and find its two columns in the table.


# %%
def draw_pair(k, length, map_ax, curve_ax, d_model=32):
    """The table with the columns of pair k framed, and beside it these columns as curves."""
    table = positional.positional_encoding(length, d_model)
    map_ax.imshow(table, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    frame = Rectangle((2 * k - 0.5, -0.5), 2, length, fill=False, linewidth=3, zorder=3)
    frame.set_clip_on(False)
    map_ax.add_patch(frame)
    map_ax.grid(False)
    map_ax.set(xlabel="dimension", ylabel="position")

    wavelength = 2 * math.pi * 10000 ** (2 * k / d_model)
    marker_size = 5 if length <= 64 else 0
    curve_ax.plot(table[:, 2 * k], label=f"column {2 * k}: sine", markersize=marker_size)
    curve_ax.plot(table[:, 2 * k + 1], label=f"column {2 * k + 1}: cosine", markersize=marker_size)
    curve_ax.set(xlabel="position", ylabel="value", ylim=(-1.1, 1.6))
    curve_ax.set_title(f"pair k = {k}: once round in {wavelength:,.0f} words")
    curve_ax.legend(loc="upper right", ncols=2)


# %% tags=["interactive"]
def explore(k, length):
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), width_ratios=[2, 3])
    draw_pair(k, length, *axes)
    plotting.show(figure, alt=f"Table of {length} positions and the two columns of pair {k}.")


_ = widgets.interact(
    explore,
    k=widgets.IntSlider(value=2, min=0, max=15, description="pair k"),
    length=widgets.IntSlider(value=48, min=8, max=256, step=8, description="length"),
)

# %% [markdown]
# The same as a picture, for a fast pair and a slow one.

# %%
figure, axes = plt.subplots(2, 2, figsize=(12, 7.6), width_ratios=[2, 3])
draw_pair(1, 48, *axes[0])
draw_pair(6, 48, *axes[1])
plotting.show(
    figure,
    alt="Two rows, each with the table of 48 positions and 32 dimensions at the left and two of "
    "its columns as curves at the right. Above, pair 1: the frame is around columns 2 and 3; "
    "sine and cosine go round once in 11 words, four times in the picture. Below, pair 6: the "
    "frame is around columns 12 and 13; the wavelength is 199 words, and over 48 positions the "
    "sine rises from 0 to almost 1 while the cosine falls from 1 to almost 0.",
)

# %% [markdown]
# ## 5. A shift is a rotation
#
# Go $m$ words on, from any position. Every hand turns by the angle $\omega_k m$, **wherever it
# stood**. Turning is a linear map:
#
# $$\begin{pmatrix} \sin \omega_k (pos + m) \\ \cos \omega_k (pos + m) \end{pmatrix} =
# \underbrace{\begin{pmatrix} \cos \omega_k m & \sin \omega_k m \\ -\sin \omega_k m & \cos \omega_k m
# \end{pmatrix}}_{R_k(m)} \begin{pmatrix} \sin \omega_k pos \\ \cos \omega_k pos \end{pmatrix}$$
#
# This is the addition theorem of sine and cosine. The matrix does not contain $pos$. One such block
# per pair along the diagonal, and one $d_\text{model} \times d_\text{model}$ matrix $R(m)$ moves
# every position by $m$ words.


# %%
def shift_matrix(offset, d_model):
    """R(m): the (D, D) matrix that turns PE[pos] into PE[pos + m], for an even width."""
    blocks = []
    for k in range(d_model // 2):
        angle = torch.tensor(offset * 10000 ** (-2 * k / d_model))
        sin, cos = torch.sin(angle), torch.cos(angle)
        blocks.append(torch.stack([torch.stack([cos, sin]), torch.stack([-sin, cos])]))
    return torch.block_diag(*blocks)  # (D, D)


table = positional.positional_encoding(100, 16)  # (T, D)
R = shift_matrix(3, 16)

for pos in range(97):
    assert torch.allclose(R @ table[pos], table[pos + 3], atol=1e-5)
assert torch.allclose(table[:-3] @ R.T, table[3:], atol=1e-5)  # all positions at once
assert torch.allclose(R @ R.T, torch.eye(16), atol=1e-6)  # a rotation keeps lengths
assert torch.allclose(shift_matrix(2, 16) @ R, shift_matrix(5, 16), atol=1e-6)  # 3 words, then 2
print("one matrix moves all 97 positions by 3 words")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.4))
left.add_patch(plt.Circle((0, 0), 1, fill=False, edgecolor="#5F5F5F", linewidth=1.4))
for pos, colour, style in [(1, "#0072B2", "-"), (9, "#D55E00", "--")]:
    for place, name in [(pos, f"{pos}"), (pos + 4, f"{pos + 4}")]:
        # Pair 1 at width 16: about a third of a radian per word.
        tip = positional.positional_encoding(place + 1, 16)[place, 2:4].tolist()
        left.annotate(
            "",
            tip,
            (0, 0),
            arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2.6, "ls": style},
        )
        left.text(1.14 * tip[0], 1.14 * tip[1], name, ha="center", va="center", color=colour)
left.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal", xticks=[], yticks=[])
left.set(xlabel="sine, column 2", ylabel="cosine, column 3")
left.spines[:].set_visible(False)
left.set_title("pair 1, positions 1 to 5 and 9 to 13:\n4 words on, the same turn")
image = right.imshow(R, cmap="PuOr", vmin=-1, vmax=1)
figure.colorbar(image, ax=right, label="entry of R(3)")
right.grid(False)
right.set(xlabel="dimension of PE[pos]", ylabel="dimension of PE[pos + 3]")
right.set_title("R(3) at width 16:\none rotation per pair")
plotting.show(
    figure,
    alt="Left, a circle with four arrows from its centre, the hands of pair 1 at positions 1, 5, 9 "
    "and 13, clockwise. The arrows of 1 and 5 enclose the same angle, 72 degrees, as the "
    "dashed arrows of 9 and 13. Right, the 16 by 16 matrix R(3): zero, white, except for eight "
    "2 by 2 blocks along the diagonal. The first block is a turn by 172 degrees, with minus "
    "one on the diagonal; the second one by 54 degrees; the last ones are nearly the identity, "
    "with one on the diagonal.",
)

# %% [markdown]
# Left, both pairs of arrows enclose the same angle. Right, every block turns its own pair: the
# first ones far, the last ones hardly at all.
#
# The paper gives this as its reason for sinusoids: because $PE_{pos+m}$ is a linear map of
# $PE_{pos}$, the authors expected that a projection such as $U_q$ easily learns "look $m$ words
# back".
#
# ### The dot product of two positions depends on their distance alone
#
# Two hands of length one, turned by $\omega_k p$ and by $\omega_k q$, have the dot product
# $\cos \omega_k (p - q)$. Add up all pairs:
#
# $$PE_p \cdot PE_q = \sum_{k} \cos \omega_k (p - q)$$

# %%
table = positional.positional_encoding(64, 128)  # (T, D)
products = table @ table.T  # (T, T)

for offset in range(64):
    on_diagonal = products.diagonal(offset)  # all pairs of positions that stand so far apart
    expected = sum(math.cos(offset * 10000 ** (-2 * k / 128)) for k in range(64))
    assert torch.allclose(on_diagonal, torch.full_like(on_diagonal, expected), atol=1e-4)
print("same offset, same dot product: every diagonal of the matrix is constant")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5))
image = left.imshow(products, cmap="PuOr", vmin=-64, vmax=64)
figure.colorbar(image, ax=left, label="PE[p] · PE[q]")
left.grid(False)
left.set(xlabel="position q", ylabel="position p", title="width 128: constant along diagonals")

offsets = torch.arange(-63, 64)
for width, marker in [(16, "o"), (128, "s"), (512, "^")]:
    exponents = torch.arange(0, width, 2) / width
    curve = torch.cos(offsets[:, None] / 10000**exponents).sum(dim=1)  # (offsets,)
    right.plot(offsets, curve / (width / 2), label=f"width {width}", marker=marker, markevery=9)
right.set(xlabel="offset p − q", ylabel="dot product / (width / 2)", ylim=(0, 1.03))
right.set_title("closest at 0, symmetric, and wavy")
right.legend()
figure.get_layout_engine().set(wspace=0.08)
plotting.show(
    figure,
    alt="Left, the matrix of dot products of 64 positions with each other at width 128. It is "
    "darkest on the main diagonal, and every diagonal has one shade. Right, the dot product "
    "divided by half the width against the offset from -63 to 63, for widths 16, 128 and 512. "
    "All curves peak at 1 for offset 0 and are symmetric. At widths 128 and 512 they fall to "
    "0.75 within a few words and then slowly to about 0.48, with small waves at 128. At width "
    "16 the curve swings up and down between 0.2 and 0.8.",
)

# %% [markdown]
# The right panel divides by the value at offset 0, where every cosine is 1: the number of pairs,
# half the width. Three things to read from it:
#
# - Near positions have similar vectors; at large widths, far ones are on the whole less and less
#   similar.
# - The curve is **symmetric**: from the dot product alone, "three to the left" and "three to the
#   right" look alike. The projections for query and key can turn one of the two and so break the
#   tie.
# - It is **not monotone**: at width 16, some words further off are *more* similar than nearer ones.
#
# Are all positions different? One hand alone is not enough. With all of them, we compare position 0
# with the next 4999. By the formula above, how far apart two encodings lie depends on their offset
# alone, so this covers *all* pairs that are no further apart.

# %%
table = positional.positional_encoding(5000, 16)
one_clock = (table[1:, :2] - table[0, :2]).norm(dim=1)  # (4999,)
all_clocks = (table[1:] - table[0]).norm(dim=1)  # (4999,)

print(f"pair 0 alone, positions 0 and 44:  {one_clock[43]:.3f} apart")
print(f"all 8 pairs,  positions 0 and 44:  {all_clocks[43]:.3f} apart")
print(f"all 8 pairs,  nearest to position 0 is position {all_clocks.argmin() + 1}")
assert one_clock[43] < 0.02
assert all_clocks.argmin() == 0 and all_clocks.min() > 0.9

# %% [markdown]
# 44 words are almost exactly seven turns of the fastest hand ($44 / 7 \approx 2\pi$). The slower
# hands tell the two apart. At this width, no position among 5000 is closer to another than its
# neighbour is.

# %% [markdown]
# ## 6. Adding positions to words
#
# The input of the first layer is a sum: word vector plus position vector. How large is the second
# beside the first? Each pair contributes $\sin^2 + \cos^2 = 1$ to the squared length, and there are
# $d_\text{model}/2$ pairs:
#
# $$\lVert PE_{pos} \rVert = \sqrt{d_\text{model}/2} \qquad\text{for every position}$$
#
# Here beside the eight words of section 2:

# %%
position_lengths = positional.positional_encoding(8, 16).norm(dim=1)  # (T,)

print("positions:", [f"{value:.2f}" for value in position_lengths.tolist()])
print("words:    ", [f"{value:.2f}" for value in x.norm(dim=1).tolist()])
print(f"averages:  {position_lengths.mean():.2f} and {x.norm(dim=1).mean():.2f}")
assert torch.allclose(position_lengths, torch.full((8,), math.sqrt(16 / 2)))
assert abs(x.norm(dim=1).mean() - 4.08) < 0.005

# %% [markdown]
# > **You may have read** that "a vector of small values" is added and makes encodings "slightly
# > different". Here it is 2.83 long and a word is 4.08 long, so it is not small. It is *bounded*,
# > which is what sines are for: position 5000 is no longer than position 1.
#
# ### Why the embeddings are multiplied by √d_model
#
# How long a word's vector is depends on how the embedding was initialised. PyTorch draws from
# $N(0, 1)$: length about $\sqrt{d}$. Transformers often draw with the standard deviation
# $1/\sqrt{d}$: then a word has length about 1 at any width, and positions would be longer than
# words, the more so the wider the model.
#
# The paper multiplies embeddings by $\sqrt{d_\text{model}}$ before it adds positions. The table
# shows lengths with and without this factor; "spread" is the standard deviation.

# %%
torch.manual_seed(0)
print("width   position     word of spread     the same        word of spread")
print("                     1/√d               times √d        1, times √d")
for d_model in [16, 64, 512]:
    position = positional.positional_encoding(1, d_model).norm().item()
    plain = nn.Embedding(1000, d_model).weight.detach().norm(dim=1).mean().item()  # spread 1
    small, root = plain / math.sqrt(d_model), math.sqrt(d_model)
    print(
        f"{d_model:5d}   {position:8.2f}     {small:8.2f}      {root * small:12.1f}"
        f"  {root * plain:16.0f}"
    )
    assert abs(small - 1) < 0.03
    assert abs(position / (root * small) - math.sqrt(0.5)) < 0.03

# %% [markdown]
# - Spread $1/\sqrt{d}$ without the factor: at width 512, a position is 16 times as long as a word.
# - **With the factor: the ratio is $1/\sqrt2 \approx 0.71$ at every width.** This is what
#   lecture 8 uses.
# - PyTorch's own initialisation *and* the factor: at width 512, words are 512 long and
#   positions 16. Now positions really are small, 3 %, and learning has to dig them out.
#
# So "small or large" is a choice that you make with the initialisation, not a property of
# sinusoids.
#
# ### Does the sum not mix them up?
#
# It does. Yet the score still holds what words and positions say to each other, side by side. Write
# $x_i$ for a word, $p_i$ for its position, and $q_i = U_q (x_i + p_i)$, $k_j = U_k (x_j + p_j)$.
# The score, before it is scaled, has four terms:
#
# $$q_i \cdot k_j = \underbrace{U_q x_i \cdot U_k x_j}_{\text{word, word}} +
# \underbrace{U_q x_i \cdot U_k p_j}_{\text{word, position}} +
# \underbrace{U_q p_i \cdot U_k x_j}_{\text{position, word}} +
# \underbrace{U_q p_i \cdot U_k p_j}_{\text{position, position}}$$

# %%
torch.manual_seed(1)
to_query, to_key = torch.randn(2, 16, 16) / 4  # U_q and U_k transposed: words are rows
p = positional.positional_encoding(8, 16)  # (T, D)

whole = (x + p) @ to_query @ ((x + p) @ to_key).T  # (T, T)
terms = [(a @ to_query) @ (b @ to_key).T for a in (x, p) for b in (x, p)]  # four times (T, T)

assert torch.allclose(whole, sum(terms), atol=1e-4)
print("the score is the sum of its four terms:", torch.allclose(whole, sum(terms), atol=1e-4))

# %% [markdown]
# The last term knows about positions only. Keep it in mind: the relative biases of section 8
# replace it by something simpler.
#
# ### Added once, at the bottom
#
# A transformer stacks layers: the output of one attention layer is the input of the next. Positions
# are added below the first one only.
#
# > **You may have read** that positions are added "at the beginning of the encoder and decoder
# > *blocks*". They are added **once** under the stack of encoder layers and once under the stack of
# > decoder layers, not in every layer. What carries them upwards are the residual connections,
# > which add a layer's input to its output (lecture 7). Relative encodings are different: they act
# > inside the attention, so they act in every layer again.
#
# ![Three columns, each with word vectors at the bottom, two layers above them and an output. Each
# layer has three boxes: query and key, scores, softmax and values. Left, absolute, sinusoidal or
# learned: one blue arrow labelled position enters, at a plus sign between the word vectors and the
# first layer, nothing higher up. Middle, bias, learned or ALiBi: a blue arrow labelled offset
# enters at the scores, in both layers. Right, rotary: a blue arrow labelled position enters at
# query and key, in both layers.](../figures/where_positions_enter.svg)
#
# In code it is one line, `x + pe[:T]`, and the table is computed in advance for `max_len`
# positions. The module keeps it as a *buffer*: it moves to the GPU with the model, and the
# optimizer leaves it alone. Dropout (random zeros in training, [lecture 7](07_layer_normalization.ipynb)) acts on the sum.
#
# Two traps: with batches $(B, T, D)$ the length is `x.shape[1]`, not `x.shape[0]`; and a text
# longer than the table needs an error that says so. (The class that crashes for odd widths,
# section 3, has none: there PyTorch only complains about shapes.)

# %%
encode = positional.PositionalEncoding(d_model=16, dropout=0.1, max_len=50)
encode.eval()  # no dropout
batch = torch.zeros(2, 3, 16)  # (B, T, D)

assert torch.equal(encode(batch)[1], encode.pe[:3])
assert list(encode.parameters()) == []
print("parameters:", len(list(encode.parameters())), " table:", tuple(encode.pe.shape))
try:
    encode(torch.zeros(2, 51, 16))
except ValueError as error:
    print("ValueError:", error)

# %% [markdown]
# ## 7. Measured: reversing a sequence
#
# The task: read twelve random digits and write them in reverse order. The label at position $i$ is
# the digit at position $11 - i$, so it is all about positions.
#
# The model is an embedding, positions or none, one transformer layer from `course_utils` (attention
# and a small network per word, lecture 7) and a linear map to the labels. The embedding is
# initialised and multiplied as in section 6. Learned positions, `mask` and `start` are for
# section 9.


# %%
class Tagger(nn.Module):
    """One label for every token: ids (B, T) to logits (B, T, labels)."""

    def __init__(self, positions, num_tokens=10, num_labels=10, d_model=32, max_len=64):
        super().__init__()
        self.embedding = nn.Embedding(num_tokens, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.layer = layers.TransformerLayer(d_model, num_heads=4, d_ff=64, dropout=0.0)
        self.output = nn.Linear(d_model, num_labels)
        if positions == "sinusoidal":
            self.register_buffer("pe", positional.positional_encoding(max_len, d_model))
        elif positions == "learned":  # at first as large as sinusoids are
            self.pe = nn.Parameter(math.sqrt(0.5) * torch.randn(max_len, d_model))
        else:  # nothing is added to the words
            self.register_buffer("pe", torch.zeros(max_len, d_model))

    def forward(self, ids, mask=None, start=0):
        x = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)  # (B, T, D)
        x = x + self.pe[start : start + ids.shape[1]]
        return self.output(self.layer(x, mask))  # (B, T, labels)


# %% [markdown]
# Every step draws 32 new sequences, so the accuracy on a training batch is that on unseen
# sequences. Positions without a label carry the number `NO_LABEL` and count neither in the loss nor
# in the accuracy; we need that, and `last_start`, in section 9.

# %%
NO_LABEL = -100  # what cross_entropy ignores


def train(model, task, length, steps, seed, mask=None, last_start=0):
    """Train on fresh batches; the accuracy on each batch comes back, (steps,)."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    accuracies = []
    for _ in range(steps):
        ids, labels = task(32, length, generator)  # (B, T), (B, T)
        start = int(torch.randint(last_start + 1, (1,), generator=generator))
        logits = model(ids, mask, start)  # (B, T, labels)
        optimizer.zero_grad()
        F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=NO_LABEL).backward()
        optimizer.step()
        counted = labels != NO_LABEL
        accuracies.append((logits.argmax(-1) == labels)[counted].float().mean())
    return torch.stack(accuracies)


def reverse(batch, length, generator):
    """Random digits, and the same digits in reverse order."""
    ids = torch.randint(10, (batch, length), generator=generator)
    return ids, ids.flip(1)


# %% [markdown]
# ### How good can it get without positions?
#
# We need not guess. Without positions all tokens "3" of a sequence get the same output. What is
# mirrored to a certain "3" is one of the other eleven digits, each with the same chance. The best
# answer is the digit that is most frequent among these eleven, and it is right in
# (its count) of 11 cases.
#
# So the ceiling is the expected largest count when eleven throws fall into ten bins, divided by 11.

# %%
generator = torch.Generator().manual_seed(0)
others = torch.randint(10, (200_000, 11), generator=generator)  # eleven digits, many times
counts = F.one_hot(others, 10).sum(dim=1)  # (throws, 10)
ceiling = counts.max(dim=1).values.float().mean().item() / 11

assert abs(ceiling - 0.266) < 0.002
print(f"best possible without positions: {ceiling:.2f}")

# %% [markdown]
# Now train: three seeds without and three with sinusoidal positions (a few seconds each).

# %%
curves = {}
for kind in ["none", "sinusoidal"]:
    runs = []
    for seed in range(3):
        torch.manual_seed(seed)
        runs.append(train(Tagger(kind), reverse, length=12, steps=250, seed=seed))
    curves[kind] = torch.stack(runs).reshape(3, 10, 25).mean(dim=2)  # (seeds, steps / 25)

assert (curves["sinusoidal"][:, -1] > 0.97).all()
assert ((curves["none"][:, -5:].mean(dim=1) - ceiling).abs() < 0.03).all()
print("with positions, every seed: above 0.97 at the end")
print(f"without, every seed: within 0.03 of {ceiling:.2f}, the best possible")

# %%
figure, ax = plt.subplots(figsize=(8.5, 4.6))
steps = range(25, 251, 25)
plotting.seed_curves(steps, curves["sinusoidal"], "sinusoidal positions", ax)
plotting.seed_curves(steps, curves["none"], "no positions", ax)
ax.axhline(ceiling, color="#5F5F5F", linewidth=1.2)
ax.annotate("best possible without positions, 0.27", (250, ceiling + 0.03), ha="right", fontsize=12)
ax.set(xlabel="training step", ylabel="digits right", ylim=(0, 1.04))
ax.set_title("reversing 12 digits")
ax.legend(loc="center right")
plotting.show(
    figure,
    alt="Share of right digits against training steps from 25 to 250, medians over three seeds "
    "with bands from the lowest to the highest, at most 0.1 wide. With sinusoidal positions the "
    "curve rises from 0.16 to 1.0. Without positions it rises from 0.16 to just below 0.27, the "
    "best possible without positions, drawn as a grey line, and stays there.",
)

# %% [markdown]
# 1.00 against 0.27. The model without positions does not train badly: it reaches practically all
# that is possible for it.

# %% [markdown]
# ## 8. Five ways to say where
#
# Sinusoids are one member of a family. Two questions order it: is a position **absolute** ("fifth
# word") or **relative** ("three to the left")? And where does it enter?
#
# | kind | what it is | enters | learned? | known from |
# |---|---|---|---|---|
# | sinusoidal | absolute | added to the words, once | no | the transformer (Vaswani et al., 2017) |
# | learned | absolute | added to the words, once | a vector per position | BERT (Devlin et al., 2019) |
# | relative bias | relative | added to the scores, every layer | a number per offset and head | T5 (Raffel et al., 2020) |
# | ALiBi | relative | added to the scores, every layer | no | Press et al. (2022) |
# | rotary | relative | turns query and key, every layer | no | RoFormer (Su et al., 2021), LLaMA |
#
# ### Learned absolute positions
#
# An `nn.Embedding(max_len, d_model)` with the position as its id. In the transformer paper it did
# as well as sinusoids (table 3, row E: 25.7 against 25.8 BLEU). But a position that was never seen
# in training has a vector that was never trained.
#
# ### A learned bias for each offset
#
# Add nothing to the words. In place of the term "position, position", the score gets a number that
# depends on the offset $j - i$:
#
# $$\text{score}_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}} + b_{\,\mathrm{clip}(j - i)}$$
#
# The offsets are a matrix with one number per diagonal. On each side, all offsets beyond a largest
# distance share the number at the edge ("clip"), so that any length has a bias. Clipping is from
# Shaw et al. (2018), who learn a vector per offset; T5 learns numbers, and lets ranges of offsets
# share one.

# %%
offsets_by_loop = torch.empty(3, 5, dtype=torch.long)
for i in range(3):
    for j in range(5):
        offsets_by_loop[i, j] = j - i
assert torch.equal(positional.relative_positions(3, 5), offsets_by_loop)
print(offsets_by_loop)

bias = positional.RelativePositionBias(num_heads=2, max_distance=2)
nn.init.normal_(bias.table.weight, generator=torch.Generator().manual_seed(0))
assert bias.table.weight.shape == (2 * 2 + 1, 2)  # offsets -2 ... 2, one column for each head
assert torch.equal(bias(3, 5)[1, 0, 3], bias.table.weight[2 + 2, 1])  # offset 3, clipped to 2
print(tuple(bias(3, 5).shape), "= heads, queries, keys")

# %% [markdown]
# ### ALiBi: attention with linear biases
#
# No learning at all: each head subtracts from the score a fixed multiple of the distance, so that
# near words count more. The multiples, or slopes, $m_h$ differ: some heads fade fast with distance
# and others slowly. With $H = 8$ heads they are 1/2, 1/4, … to 1/256. (The paper looks to the left
# only, where the distance is $i - j$.)
#
# $$\text{score}_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}} - m_h\,\lvert i - j\rvert, \qquad
# m_h = 2^{-8h/H},\quad h = 1, \dots, H$$

# %%
alibi_by_loop = torch.empty(4, 3, 5)  # (H, T, S)
for h in range(1, 5):
    for i in range(3):
        for j in range(5):
            alibi_by_loop[h - 1, i, j] = -(2 ** (-8 * h / 4)) * abs(i - j)

assert torch.allclose(positional.alibi_bias(4, 3, 5), alibi_by_loop)
print("slopes of 4 heads:", positional.alibi_slopes(4).tolist())
print("penalty of head 1 at distances 0 to 4:", alibi_by_loop[0, 0].abs().tolist())

# %% [markdown]
# ### Rotary: turn query and key
#
# Do not add the clock hands: **turn** each pair of features of the query by the angle of its
# position, and each pair of the key by the angle of *its* position. (The angles are those of
# section 3, with the width $d_k$ of a head in place of $d_\text{model}$.) Turning both back by $i$
# changes no dot product, so it depends only on the *difference* of the two turns:
#
# $$\big(R(i)\,q\big) \cdot \big(R(j)\,k\big) = q \cdot R(j - i)\,k$$
#
# (Here the turn is counter-clockwise, as in the paper: the transpose of the matrix in section 5.
# For the difference of two turns that does not matter.) Values are not turned: they say what a word
# means, not where it stands. In code, with complex numbers, because multiplying by
# $e^{\mathrm{i}\theta}$ is turning by $\theta$:


# %%
def rotate_by_loop(x):
    """Turn pair k of row pos by the angle pos / 10000^(2k / d_k); x is (T, d_k)."""
    length, d_k = x.shape
    turned = torch.empty_like(x)
    for pos in range(length):
        for k in range(d_k // 2):
            point = complex(x[pos, 2 * k], x[pos, 2 * k + 1])
            angle = pos / 10000 ** (2 * k / d_k)
            point *= complex(math.cos(angle), math.sin(angle))
            turned[pos, 2 * k], turned[pos, 2 * k + 1] = point.real, point.imag
    return turned


torch.manual_seed(2)
query, key = torch.randn(2, 1, 8).expand(2, 20, 8)  # the same query and key at 20 positions
turned_query, turned_key = positional.rotate(query), positional.rotate(key)  # (T, d_k)
scores = turned_query @ turned_key.T  # (T, T)

assert torch.allclose(turned_query, rotate_by_loop(query), atol=1e-5)
assert torch.allclose(turned_query.norm(dim=1), query.norm(dim=1))
for offset in range(-19, 20):
    assert torch.allclose(scores.diagonal(offset), scores.diagonal(offset)[0], atol=1e-4)
print("rotary: the score of the same two words depends on their offset alone")

# %% [markdown]
# ### Four of them side by side
#
# What do *positions alone* contribute to the score? For the first picture we take the term
# "position, position" of sinusoids with two random projections, as at the start of a training; for
# the second, a bias table of random numbers. For rotary we put the same word at all 13 places.

# %%
torch.manual_seed(30)
p = positional.positional_encoding(13, 16)
to_query, to_key = torch.randn(2, 16, 16) / 4  # as in section 6
example_bias = positional.RelativePositionBias(num_heads=1, max_distance=4)
nn.init.normal_(example_bias.table.weight)
query, key = torch.randn(2, 1, 16).expand(2, 13, 16)

maps = {  # scores divided by √16 = 4, biases as they are
    "sinusoidal, projected": (p @ to_query) @ (p @ to_key).T / 4,
    "learned bias, clipped at 4": example_bias(13, 13)[0],
    "ALiBi, slope 1/4": positional.alibi_bias(4, 13, 13)[0],
    "rotary": positional.rotate(query) @ positional.rotate(key).T / 4,
}  # each (T, T)


def is_constant_on_diagonals(scores):
    return all(
        torch.allclose(scores.diagonal(k), scores.diagonal(k)[0], atol=1e-4) for k in range(-12, 13)
    )


for name, scores in maps.items():
    assert is_constant_on_diagonals(scores) == (name != "sinusoidal, projected")
    print(f"{name:<27} constant on diagonals: {is_constant_on_diagonals(scores)}")

# %%
figure, axes = plt.subplots(2, 2, figsize=(11.5, 9))
for ax, (name, scores) in zip(axes.flat, maps.items(), strict=True):
    numbers = [str(k) if k % 3 == 0 else "" for k in range(13)]
    plotting.attention_map(scores, numbers, numbers, ax, colour_label="score")
    plt.setp(ax.get_xticklabels(), rotation=0, ha="center", rotation_mode="default")
    ax.set(title=name, xlabel="position of the key", ylabel="position of the query")
plotting.show(
    figure,
    alt="Four maps of what positions add to the scores of 13 queries and 13 keys. Sinusoidal "
    "and projected: patches, not constant along the diagonals. Learned bias: stripes "
    "parallel to the main diagonal, one shade from four to the left on and one from four to "
    "the right on. ALiBi: zero on the main diagonal, falling evenly to -3 in both far corners. "
    "Rotary: stripes parallel to the main diagonal that change smoothly, not symmetric.",
)

# %% [markdown]
# The last three are relative by construction. The first is not: the *raw* dot product of two
# sinusoids depends on the offset alone (section 5), but the projections $U_q$ and $U_k$ stand
# between them, and $U_q p_i \cdot U_k p_j$ depends on both positions. A model *can* learn
# projections that respect offsets. Nothing forces it.
#
# ### Measured: what happens when a sentence moves?
#
# Relative encodings are said to be invariant when a sentence shifts. We take one attention module
# and the sentence "Mary gives John a flower", put 0, 3 or 40 filler words in front of it, hide the
# filler with a mask, and look at the weights *among the words of the sentence*.
#
# In `course_utils`, `MultiHeadAttention` first projects keys and values into heads and then calls
# its method `attend`. We replace `attend` by one whose scores know positions.


# %%
class PositionalAttention(attention.MultiHeadAttention):
    """Multi-head attention in which positions act inside, on the scores or on query and key."""

    def __init__(self, d_model, num_heads, positions, max_distance=8):
        super().__init__(d_model, num_heads)
        self.positions = positions
        if positions == "relative bias":
            self.bias = positional.RelativePositionBias(num_heads, max_distance)

    def scores(self, query_heads, key_heads):
        """(B, H, T, d_k) and (B, H, S, d_k) to (B, H, T, S)."""
        if self.positions == "rotary":
            query_heads, key_heads = positional.rotate(query_heads), positional.rotate(key_heads)
        scores = query_heads @ key_heads.transpose(-2, -1) / math.sqrt(query_heads.shape[-1])
        if self.positions == "relative bias":
            scores = scores + self.bias(*scores.shape[-2:])
        if self.positions == "ALiBi":
            scores = scores + positional.alibi_bias(self.num_heads, *scores.shape[-2:])
        return scores

    def attend(self, query, key_heads, value_heads, mask=None):
        query_heads = attention.split_heads(self.w_q(query), self.num_heads)  # (B, H, T, d_k)
        weights = attention.masked_softmax(self.scores(query_heads, key_heads), mask)
        return self.w_o(attention.merge_heads(weights @ value_heads)), weights


# %%
kinds = ["none", "sinusoidal", "learned", "relative bias", "ALiBi", "rotary"]


def weights_after(kind, filler):
    """Weights (H, 5, 5) among the words of the sentence, with so many hidden words in front."""
    torch.manual_seed(3)
    module = PositionalAttention(16, num_heads=2, positions=kind)
    table = {
        "sinusoidal": positional.positional_encoding(64, 16),
        "learned": math.sqrt(0.5) * torch.randn(64, 16),
    }.get(kind, torch.zeros(64, 16))
    if kind == "relative bias":
        nn.init.normal_(module.bias.table.weight)
    x = torch.cat([torch.randn(filler, 16), embed(first)]) + table[: filler + 5]  # (T, D)
    visible = torch.arange(filler + 5) >= filler  # (S,): the filler is hidden from everyone
    _, weights = module(x[None], x[None], x[None], visible)  # a batch of one
    return weights.detach()[0, :, filler:, filler:]


print("filler words in front:       3       40     (largest change of a weight)")
for kind in kinds:
    changes = [(weights_after(kind, m) - weights_after(kind, 0)).abs().max() for m in (3, 40)]
    assert all((change > 0.01) == (kind in ("sinusoidal", "learned")) for change in changes)
    assert all(change > 0.01 or change < 1e-5 for change in changes)
    print(f"{kind:<24} {changes[0]:8.3f} {changes[1]:8.3f}")

# %% [markdown]
# The three relative kinds (and, trivially, no positions at all) do not notice that the sentence has
# moved. Both absolute kinds do.
#
# Mind what this does *not* say. The invariance holds when the **whole** sentence moves and the
# filler is hidden. A word put into the *middle* changes offsets. And invariance to shifts does not
# promise that a *longer* text works: that is the next question.

# %% [markdown]
# ## 9. Measured: longer than in training
#
# Texts are often longer than those seen in training. We train on 16 tokens and test on 64, with the
# causal mask of lecture 4. Two tasks need positions in different ways:
#
# - **three back**: at every position, write the token that stood three positions before;
# - **most recent**: letters and digits in random order; at every position, write the last digit so
#   far.
#
# The first asks for an exact offset, the second for "the nearest of a kind".


# %%
def three_back(batch, length, generator):
    """Tokens 0-9; the label is the token three positions before."""
    ids = torch.randint(10, (batch, length), generator=generator)
    labels = torch.full_like(ids, NO_LABEL)
    labels[:, 3:] = ids[:, :-3]
    return ids, labels


def most_recent(batch, length, generator):
    """Letters (0-9) and digits (10-19, three in ten); the label is the last digit so far."""
    is_digit = torch.rand(batch, length, generator=generator) < 0.3
    ids = torch.randint(10, (batch, length), generator=generator) + 10 * is_digit
    place = torch.where(is_digit, torch.arange(length), -1)
    newest = place.cummax(dim=1).values  # (B, T): where the last digit stood, -1 if none
    digit = ids.gather(1, newest.clamp(min=0)) - 10
    return ids, torch.where(newest >= 0, digit, NO_LABEL)


ids, labels = most_recent(1, 10, torch.Generator().manual_seed(4))
print("tokens:", "".join("abcdefghij0123456789"[k] for k in ids[0]))
print("labels:", "".join("." if k == NO_LABEL else str(k.item()) for k in labels[0]))

# %% [markdown]
# (A dot marks a position without a label: no digit has come yet.)
#
# All six models are the `Tagger` of section 7 with one layer of width 32 and four heads; three of
# them get their positions from the attention of section 8. All train for 300 steps on 16 tokens.
#
# The causal mask makes testing simple. What follows a position cannot change its output, so *one*
# test on 64 tokens contains the test on every shorter length. We count in groups of eight
# positions.


# %%
def build(kind, seed, **options):
    """A Tagger whose positions are of this kind."""
    torch.manual_seed(seed)
    model = Tagger(kind, num_tokens=20)
    model.layer.self_attn = PositionalAttention(32, 4, kind, **options)
    return model


def accuracy_by_position(model, task, length=64):
    """Share of right labels in positions 1-8, 9-16, ..., 57-64: (length / 8,)."""
    ids, labels = task(300, length, torch.Generator().manual_seed(99))
    with torch.no_grad():
        predicted = model(ids, masks.causal_mask(length)).argmax(-1)  # (B, T)
    counted = labels != NO_LABEL
    right = ((predicted == labels) & counted).sum(dim=0).reshape(-1, 8).sum(dim=1)
    return right / counted.sum(dim=0).reshape(-1, 8).sum(dim=1)


# %%
def measure(kind, task, last_start=0, **options):
    """Accuracy by position, (seeds, groups), of three models, and the last model."""
    results = []
    for seed in range(3):
        model = build(kind, seed, **options)
        train(model, task, 16, 300, seed, masks.causal_mask(16), last_start)
        results.append(accuracy_by_position(model, task))
    return torch.stack(results), model.requires_grad_(False)


# %% [markdown]
# First the claim that a long test contains the shorter ones, on an untrained model.

# %%
model = build("rotary", 0)
ids = torch.randint(20, (2, 64), generator=torch.Generator().manual_seed(0))
with torch.no_grad():
    long, short = model(ids, masks.causal_mask(64)), model(ids[:, :24], masks.causal_mask(24))
assert torch.allclose(long[:, :24], short, atol=1e-5)
print("the first 24 outputs are the same in a text of 24 and in one of 64")

# %% [markdown]
# Two tasks, six kinds, three seeds: 36 small trainings, about a minute together. In the picture,
# lines are medians over the seeds and bands their range. With ten labels, blind guessing is right
# in 0.1 of the cases.

# %%
tasks = {"three back": three_back, "most recent": most_recent}
extrapolation, trained = {}, {}
for task_name, task in tasks.items():
    for kind in kinds:
        extrapolation[task_name, kind], trained[task_name, kind] = measure(kind, task)

# %% tags=["nbval-ignore-output"]
for task_name in tasks:
    print(f"{task_name:<14}  positions  1-8  9-16 17-24 25-32 33-40 41-48 49-56 57-64")
    for kind in kinds:
        medians = extrapolation[task_name, kind].median(dim=0).values.tolist()
        print(f"    {kind:<20}", " ".join(f"{value:5.2f}" for value in medians))

# %%
figure, axes = plt.subplots(1, 2, figsize=(13, 5.6), sharey=True)
ends = range(8, 65, 8)
for ax, task_name in zip(axes, tasks, strict=True):
    ax.axvspan(0, 16, color="#EFEFEF", zorder=0)
    ax.text(8, 1.06, "trained", ha="center", fontsize=12)
    for kind in kinds:
        plotting.seed_curves(ends, extrapolation[task_name, kind], kind, ax)
    ax.set(xlabel="position, in groups of 8 (last of the group)", xticks=[*ends], xlim=(4, 66))
    ax.set_title(task_name)
axes[0].set(ylabel="labels right", ylim=(0, 1.12), yticks=[0, 0.2, 0.4, 0.6, 0.8, 1.0])
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
plotting.show(
    figure,
    alt="Two panels: share of right labels against the position, from 8 to 64, for six kinds of "
    "positions, medians over three seeds with bands. Training covered positions up to 16. Task "
    "three back: sinusoidal, learned, relative bias and rotary are at 1.0 up to 16. Beyond, "
    "learned drops to 0.1 and sinusoidal to between 0.2 and 0.7 at once, rotary stays at 1.0 "
    "up to 32 and falls to 0.1 at 48, the relative bias falls slowly to about 0.7 at 64. ALiBi "
    "stays at about 0.3, no positions fall from 0.35 to 0.15. Task most recent: all but no "
    "positions are at about 0.95 or more at 16. ALiBi stays at 0.94 up to 64; the relative bias "
    "falls slowly to 0.8; rotary holds to 40 and falls to 0.4; sinusoidal and learned drop to "
    "0.6 and then 0.4; no positions fall from 0.9 to 0.45.",
)

# %% [markdown]
# What held in every run, as assertions. (On a first reading, go on below them.)


# %%
def at(task_name, kind, last):
    """Accuracies (seeds,) in the group of eight positions that ends with `last`."""
    return extrapolation[task_name, kind][:, last // 8 - 1]


for kind in ["sinusoidal", "learned", "relative bias", "rotary"]:  # all four learn three back
    assert (at("three back", kind, 16) > 0.95).all()
assert (at("three back", "learned", 24) < 0.3).all()
assert (at("three back", "sinusoidal", 24) < 0.5).all()
assert (at("three back", "sinusoidal", 64) < 0.65).all()
assert (at("three back", "rotary", 24) > 0.9).all() and (at("three back", "rotary", 64) < 0.4).all()
assert (at("three back", "relative bias", 24) > 0.9).all()
assert (
    (at("three back", "relative bias", 64) > 0.5) & (at("three back", "relative bias", 64) < 0.95)
).all()
assert (at("three back", "ALiBi", 16) < 0.7).all()

for kind in kinds[1:]:  # all but no positions learn most recent
    assert (at("most recent", kind, 16) > 0.85).all()
assert (at("most recent", "none", 16) < 0.75).all()
assert (at("most recent", "ALiBi", 64) > 0.85).all()
for kind in ["sinusoidal", "learned", "rotary"]:
    assert (at("most recent", kind, 64) < at("most recent", "ALiBi", 64).min() - 0.2).all()
print("every range asserted in this cell holds for each of three seeds")

# %% [markdown]
# > **You may have read** that sinusoids let a model read longer texts than it was trained on. The
# > paper offered it as a hope ("may allow"). Here it is not so: in "three back", in all three runs,
# > most answers are wrong already in positions 17 to 24. Press et al. (2022, figure 1) found that
# > language models with sinusoids fail beyond their training length too.
#
# Nor is there one winner. What you see is six different stories.
#
# | kind | what happens | why |
# |---|---|---|
# | none | right only while there is little to choose from | the causal mask tells a little about positions: the first word sees one word, the tenth sees ten |
# | learned | falls at once | the vectors of positions 17 to 64 are as random as on the first day |
# | sinusoidal | falls at once | those positions were never seen, and nothing made the model use offsets |
# | relative bias | falls slowly | the bias is right, but more and more far words share the rest of the weight |
# | ALiBi | holds, where fading is what the task needs; hardly learns "three back" | its bias always favours the nearest word; no head alone can point at the third |
# | rotary | holds to about twice the length, then falls | distances beyond 15 were never trained |
#
# Three of these reasons can be tested.

# %% [markdown]
# ### Test 1: is it the unseen positions?
#
# If sinusoids fail because positions 17 to 64 are new, then showing them in training, still only 16
# tokens at a time, must help. Each training step now starts its window at a random position from 0
# to 48.

# %%
shifted, _ = measure("sinusoidal", three_back, last_start=48)

plain = extrapolation["three back", "sinusoidal"]
assert (shifted[:, 2:].mean(dim=1) > 0.75).all()
assert (plain[:, 2:].mean(dim=1) < 0.6).all()
print("positions 17-64, every seed: trained at the start of the table only, below 0.6")
print("                             trained at random starts, above 0.75")

# %% [markdown]
# It was the unseen positions. The encoding was fine; the model had never been asked to use it
# there. (Ruoss et al., 2023, build a method on this idea.)
#
# ### Test 2: why does the relative bias fall slowly?
#
# If far words share more and more of the weight, less must be left for the right word. We read its
# weight, averaged over random texts, at position 16 and at position 64.

# %%
model = trained["three back", "relative bias"]
ids = torch.randint(10, (32, 64), generator=torch.Generator().manual_seed(8))
x = model.embedding(ids) * math.sqrt(32)  # (B, T, D)
_, weights = model.layer.self_attn(x, x, x, masks.causal_mask(64))  # (B, H, T, S)
on_third = weights.mean(dim=0).diagonal(-3, dim1=1, dim2=2)  # (H, T - 3): positions 4 to 64

# Column 12 is position 16, column 60 is position 64.
assert (on_third[:, 12] > 0.15).all() and (on_third[:, 60] < on_third[:, 12] / 2).all()
print("weight on the word three back, every head: above 0.15 at position 16,")
print("                                           at position 64 less than half of that")

# %% [markdown]
# The weight does fade. Could the choice of the clip make it worse? Ours was 8, and in 16 tokens
# there are enough offsets from 8 on to train the shared number. Clipped at 16, that number belongs
# to offsets from 16 on. In 16 tokens they never occur.

# %%
wide, wide_model = measure("relative bias", three_back, max_distance=16)

clipped = extrapolation["three back", "relative bias"]
assert (clipped[:, -1] > wide[:, -1] + 0.15).all()
wide_table = wide_model.layer.self_attn.bias.table.weight  # (offsets, H), row 0 is offset -16
edge = wide_table[0]  # (H,): offsets -16 and beyond
assert (wide_table[[*range(1, 13), 14, 15, 16]] < -0.1).all()  # offsets -15 to 0, but not -3
trained_edge = trained["three back", "relative bias"].layer.self_attn.bias.table.weight[0]
assert (edge == 0).all() and (trained_edge < -0.3).all()
print("labels right in positions 57-64, every seed: more than 0.15 lower with clip 16 than with 8")
print("number for all far words, clipped at 16:", edge.tolist())
print("clipped at 8: below −0.3 in every head: ", bool((trained_edge < -0.3).all()))

# %% [markdown]
# It does get worse. The number is still exactly the zero that it began with. That is higher than
# the number of every trained offset but the right one, so far words take the weight. **Choose the
# clip well inside the training length.**
#
# ### Test 3: what does rotary see at distances that it never met?
#
# We take the trained rotary model, feed it random tokens, and average the score over all pairs that
# are equally far apart.

# %%
model = trained["three back", "rotary"]
rotary = model.layer.self_attn
ids = torch.randint(10, (32, 64), generator=torch.Generator().manual_seed(8))
x = model.embedding(ids) * math.sqrt(32)  # (B, T, D)
query_heads, key_heads = (attention.split_heads(w(x), 4) for w in (rotary.w_q, rotary.w_k))
distances = range(64)


def score_by_distance(query_heads):
    """Average score of all pairs of words that are equally far apart, (H, distances)."""
    scores = rotary.scores(query_heads, key_heads).mean(dim=0)  # (H, T, T)
    averages = [scores.diagonal(-m, dim1=1, dim2=2).mean(dim=1) for m in distances]
    return torch.stack(averages, dim=1)


by_distance = score_by_distance(query_heads)
assert (by_distance[:, :16].argmax(dim=1) == 3).sum() >= 3
assert (by_distance[:, 47] > by_distance[:, 3] + 2).sum() >= 3
print("in at least three of the four heads:")
print("within the trained distances, 3 back has the highest score")
print("beyond them, 47 back scores higher still")

# %% [markdown]
# As pictures: the learned bias of test 2, and beside it these scores.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5))
table = trained["three back", "relative bias"].layer.self_attn.bias.table.weight  # (offsets, H)
for h in range(4):
    left.plot(range(9), table[:9, h].flip(0), label=f"head {h + 1}")  # row 0 is offset -8
    right.plot(distances, by_distance[h], label=f"head {h + 1}", marker="")
left.set(xlabel="distance to the left (8: and more)", ylabel="learned bias", title="relative bias")
right.axvspan(0, 15.5, color="#EFEFEF", zorder=0)
right.axvline(3, color="#5F5F5F", linewidth=1.2)
right.set(
    xlabel="distance to the left", ylabel="average score", title="rotary, trained on the grey part"
)
right.set_xticks([3, 15, 25, 35, 47, 55])
right.set_ylim(-36, 25)
left.legend(loc="upper right")
right.legend(loc="lower right", ncols=2)
plotting.show(
    figure,
    alt="Left, the learned bias of four heads against the distance from 0 to 8: between -0.3 and "
    "-1 at every distance but 3, where it is about +0.85. Right, the average score of the rotary "
    "model against the distance from 0 to 63, four heads that hardly differ: a wave with a peak "
    "every six words, whose height itself rises and falls slowly. Within the trained "
    "distances, up to 15, the peak at 3 is the highest, at about 13. The peaks then shrink to "
    "about 6 and grow again, to 20 at 47.",
)

# %% [markdown]
# Left, the bias says in plain numbers what the task is: three back. It gives each far word a little
# weight, and the more far words there are, the less is left for the right one.
#
# Right, rotary scores are waves. Among the distances of the training, 3 has the highest peak. But
# waves come back: 47 words back looks *better* than 3, and nothing in training forbade it.
#
# Why 47? It is 3 + 44, and 44 words are seven turns of the fastest hand (section 5). A head of
# width 8 has three slower hands, which go round in 63, 628 and 6283 words. A dot product is a sum
# over the features, so the score is a sum over the hands, and we can ask each of them.

# %%
pair = torch.arange(8) // 2  # which hand each feature of a head belongs to
by_hand = torch.stack([score_by_distance(query_heads * (pair == k)) for k in range(4)])

assert torch.allclose(by_hand.sum(dim=0), by_distance, atol=1e-3)  # (4, H, distances) summed
assert ((by_hand[0, :, 47] - by_hand[0, :, 3]).abs() < 1).all()
falls = by_hand[1, :, 15] < by_hand[1, :, 3] - 2  # (H,)
comes_back = by_hand[1, :, 47] > by_hand[1, :, 3] + 2  # (H,)
assert (falls & comes_back).sum() >= 3
print("fastest hand: 3 and 47 back score the same, to within 1")
print("second hand, in at least three of the four heads:")
print("              its score falls from 3 to 15 back, and is higher at 47 than at 3")

# %% [markdown]
# The fastest hand cannot tell 3 from 47. The second one can, and it points the wrong way. Training
# used the part of its circle on which the score falls: that puts the peak at 3 above those near 9
# and 15. Further round the circle the score rises again, and no training text was long enough to
# show it. So once a text is long enough for the next high peaks, at 35, 41 and 47, the model looks
# at the wrong words. **Relative does not mean that longer texts work.**
#
# (In practice, models with rotary encoding are trained further on long texts, with slowed clocks:
# Chen et al., 2023.)
#
# These are small models, one layer each, and 300 steps. In this setting ALiBi hardly learned "three
# back". Its heads fade at different speeds and can be combined: with several times as many steps it
# does better, in one layer or two. Try it: the ranking of encodings depends on the task and the
# training, and measuring takes minutes.

# %% [markdown]
# ## Summary
#
# - Without positions, attention is equivariant: sentences with the same words in another order give
#   the same set of outputs. Reversing 12 digits then stops at 0.27, the best possible; with
#   positions it reaches 1.00.
# - Sinusoids: $\sin$ and $\cos$ of $pos / 10000^{2k/d_\text{model}}$. $pos$ is the row, $k$ numbers
#   the pairs of columns: clock hands with wavelengths from $2\pi$ to almost $10000 \cdot 2\pi$.
# - Moving on by $m$ words is one rotation for all positions, and the dot product of two encodings
#   depends on their offset alone.
# - Their length is $\sqrt{d_\text{model}/2}$: bounded, not small. They are added once, under the
#   stack, to embeddings times $\sqrt{d_\text{model}}$.
# - Absolute: sinusoidal, learned. Relative, inside every attention: learned bias, ALiBi, rotary.
#   Of the five, only the relative kinds are sure to give the same weights when the whole sentence
#   moves.
# - Beyond the training length each kind behaves in its own way, and which one holds depends on the
#   task.
#
# **Now you:** [assignment a6, positional encoding](../exercises/a6_positional_encoding/a6_positional_encoding.ipynb).

# %% [markdown]
# ## Check yourself
#
# **1.** What are the 4 numbers of $PE_0$ at $d_\text{model} = 4$? And those of $PE_1$?
#
# <details><summary>Answer</summary>
#
# $PE_0 = (0, 1, 0, 1)$: sine and cosine of 0, twice. Pair 1 has the frequency
# $10000^{-2/4} = 0.01$, so $PE_1 = (\sin 1, \cos 1, \sin 0.01, \cos 0.01) \approx
# (0.841, 0.540, 0.010, 1.000)$.
#
# </details>
#
# **2.** Somebody puts all sines into the left half of the table and all cosines into the right
# half. Does the model lose anything? Does it matter for the assignment?
#
# <details><summary>Answer</summary>
#
# The model loses nothing: the columns are permuted, and the projections can learn in any order
# (some libraries do it so). But it is another table. It does not match formulas, tests or stored
# weights that expect pairs side by side.
#
# </details>
#
# **3.** Why must the optimizer not touch the sinusoidal table, and how does a module say so?
#
# <details><summary>Answer</summary>
#
# It is computed, not learned: every property of section 5 would be lost. `register_buffer` keeps
# the tensor with the module (device, dtype) without making it a parameter.
#
# </details>
#
# **4.** You train with `nn.Embedding` as PyTorch initialises it, width 512, and multiply by
# $\sqrt{512}$. How long are words, how long are positions?
#
# <details><summary>Answer</summary>
#
# Words: $\sqrt{512} \cdot \sqrt{512} = 512$. Positions: $\sqrt{256} = 16$. Positions are 3 % of the
# words. Initialise with the standard deviation $1/\sqrt{512}$, or leave the factor out.
#
# </details>
#
# **5.** The dot product $PE_p \cdot PE_q$ depends on $p - q$ alone. So is the sinusoidal
# transformer a relative model?
#
# <details><summary>Answer</summary>
#
# No. Between the two vectors stand the projections for query and key, and beside them stand the
# words. Section 8 measured that the weights change when the sentence moves.
#
# </details>
#
# **6.** Why does rotary encoding not turn the values?
#
# <details><summary>Answer</summary>
#
# The scores need only $j - i$, and they get it from query and key. A turned value would carry its
# absolute position into the output: the mixture would change when the sentence moves.
#
# </details>
#
# **7.** A model without any positions but with a causal mask is above blind guessing on "most
# recent". How can that be, when attention is equivariant?
#
# <details><summary>Answer</summary>
#
# The mask is not permuted with the words, so attention with a causal mask is *not* equivariant.
# Position 1 averages one word, position 10 averages ten, and early in the text few digits compete.
# Deep causal models learn quite a lot from this (Haviv et al., 2022).
#
# </details>
#
# **8.** You train on 512 tokens and want a relative bias that also serves 2048. Where do you clip?
#
# <details><summary>Answer</summary>
#
# Well below 512, so that the shared number for far words is trained on many examples. Then test on
# 2048: the number of far words still grows, and each takes a little weight.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz
#   Kaiser, Illia Polosukhin (2017). *Attention Is All You Need.* NeurIPS. Section 3.5: sinusoids;
#   section 3.4: the factor √d_model; table 3, row E: learned positions do as well.
# - Jonas Gehring, Michael Auli, David Grangier, Denis Yarats, Yann N. Dauphin (2017).
#   *Convolutional Sequence to Sequence Learning.* ICML. Section 3.1: learned positions, before
#   transformers.
# - Jacob Devlin, Ming-Wei Chang, Kenton Lee, Kristina Toutanova (2019). *BERT: Pre-training of Deep
#   Bidirectional Transformers for Language Understanding.* NAACL. Figure 2: words, segments and
#   learned positions are added.
# - Peter Shaw, Jakob Uszkoreit, Ashish Vaswani (2018). *Self-Attention with Relative Position
#   Representations.* NAACL. Section 3.2: a learned vector per offset, clipped.
# - Colin Raffel, Noam Shazeer, Adam Roberts, Katherine Lee, Sharan Narang, Michael Matena, Yanqi
#   Zhou, Wei Li, Peter J. Liu (2020). *Exploring the Limits of Transfer Learning with a Unified
#   Text-to-Text Transformer.* Journal of Machine Learning Research 21. Section 2.1: a number per
#   range of offsets and head, the same in all layers.
# - Jianlin Su, Yu Lu, Shengfeng Pan, Ahmed Murtadha, Bo Wen, Yunfeng Liu (2021). *RoFormer:
#   Enhanced Transformer with Rotary Position Embedding.* arXiv:2104.09864. Sections 3.2.2 and
#   3.4.2.
# - Hugo Touvron et al. (2023). *LLaMA: Open and Efficient Foundation Language Models.*
#   arXiv:2302.13971. Section 2.2: rotary encoding at every layer.
# - Ofir Press, Noah A. Smith, Mike Lewis (2022). *Train Short, Test Long: Attention with Linear
#   Biases Enables Input Length Extrapolation.* ICLR. Section 3: ALiBi; figure 1: four encodings on
#   longer texts.
# - Adi Haviv, Ori Ram, Ofir Press, Peter Izsak, Omer Levy (2022). *Transformer Language Models
#   without Positional Encodings Still Learn Positional Information.* Findings of EMNLP.
# - Amirhossein Kazemnejad, Inkit Padhi, Karthikeyan Natesan Ramamurthy, Payel Das, Siva Reddy
#   (2023). *The Impact of Positional Encoding on Length Generalization in Transformers.* NeurIPS.
#   The question of section 9, for larger models and more tasks.
# - Anian Ruoss, Grégoire Delétang, Tim Genewein, Jordi Grau-Moya, Róbert Csordás, Mehdi Bennani,
#   Shane Legg, Joel Veness (2023). *Randomized Positional Encodings Boost Length Generalization of
#   Transformers.* ACL.
# - Shouyuan Chen, Sherman Wong, Liangjian Chen, Yuandong Tian (2023). *Extending Context Window of
#   Large Language Models via Positional Interpolation.* arXiv:2306.15595.
