# ---
# jupyter:
#   course:
#     assignment: a12_modern_block
#     deeper: 8
#     minutes: 50
#     summary: RMSNorm, gates, rotary positions, no biases. Which of them helps, over five seeds?
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
# # Lecture 11: The block of today
#
# If you open a language model of the LLaMA family, you find the block of [lecture 7](07_layer_normalization.ipynb)
# again, but nearly every part of it has been exchanged. The norm subtracts no mean, the ReLU has given way to a gated
# unit, positions turn queries and keys, and biases and dropout are gone. In this lecture you build each part by hand,
# put the block together, and then ask which of these changes can be seen to help, in models small enough that each can
# be trained five times.
#
# **Afterwards you will be able to**
#
# - write RMSNorm, SwiGLU and rotary positions, and say how each differs from its predecessor;
# - read the code of a current model, and load its weights although it pairs the features in another way;
# - compare two models fairly, with paired seeds and a spread, and say when no difference can be claimed;
# - name a change that comes along unnoticed, and whose effect is credited to another.
#
# **Time** about 50 minutes with views and questions, and 8 for going deeper.
# **Needs** lectures [6](06_positional_encoding.ipynb), [7](07_layer_normalization.ipynb) and
# [9](09_one_half_alone.ipynb).

# %%
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_utils.masks import causal_mask
from course_utils.modern import ModernBlock, RMSNorm, SwiGLU, apply_rotary
from course_utils.positional import positional_encoding, rotate
from lecture_kit import live, plotting, questions
from lecture_kit.experiments import block_variants
from lecture_kit.experiments.block_variants import Variant

plotting.use_course_style()
torch.set_num_threads(1)  # models this small gain little from two, and lose much on a busy machine

# %% [markdown]
# ## 1. Two blocks
#
# Both blocks below are pre-LN, so each branch begins with a norm and the stream itself is never normalised. The one on
# the right is that of LLaMA (Touvron et al., 2023). Mistral, Qwen2 and SmolLM have kept it with small changes, such as
# the shared key heads of lecture 10.
#
# ![Two blocks side by side, each a stream that goes up and two branches that leave it and come back at a plus sign. Left,
# 2017 with the norm first: layer norm, maps with biases, attention, a map with bias; then layer norm, a map up with
# bias, ReLU, a map down with bias. Below it, embedding times the root of d model, plus positions. Right, 2023: RMSNorm,
# maps, turn queries and keys, attention, a map; then RMSNorm, gate and up, SiLU of the gate times up, down. Below it,
# the embedding alone. All boxes but attention are marked as different.](../figures/two_blocks.svg)
#
# *Attention is the only box that stays the same.*

# %% [markdown]
# ## 2. RMSNorm: a norm without a mean
#
# Layer norm does two things to a token. It subtracts the mean of its features, and it divides by their spread. Zhang
# and Sennrich (2019) asked whether the first of these is needed, and left it out. What remains is a division by the
# root of the mean square, which is where the name **RMSNorm** comes from:
#
# $$y_k = \gamma_k \, \frac{x_k}{\sqrt{\frac{1}{d_\text{model}} \sum_j x_j^2 + \varepsilon}}$$
#
# Here $d_\text{model}$ is the number of features, γ is learned and starts at one, and there is no β. (The paper's
# equation has no ε. PyTorch and other libraries have it, inside the root as in layer norm.)

# %%
by_hand = [value / math.sqrt((3**2 + 4**2) / 2) for value in (3, 4)]
print("RMSNorm of (3, 4):", *[f"{value:.4f}" for value in by_hand])


def rms_norm(x, weight, eps=1e-6):
    """Divide each token by the root of its mean square; x is (..., D), weight is (D,)."""
    mean_square = x.square().mean(dim=-1, keepdim=True)  # (..., 1)
    return weight * x / (mean_square + eps).sqrt()


torch.manual_seed(3)
B, T, D = 2, 4, 6
x = torch.randn(B, T, D) * 3 + 2  # (B, T, D)
weight = torch.randn(D)
theirs = F.rms_norm(x, (D,), weight, eps=1e-6)
print("PyTorch agrees:", torch.allclose(rms_norm(x, weight), theirs, atol=1e-6))

# %% [markdown]
# How are the two norms related? If we subtract the mean first and then take RMSNorm, we have layer norm without its
# β. So the two differ exactly for tokens whose mean is not zero. We add the same number to all features of a token, and
# then multiply all of them, and see which norm notices.

# %%
ones = torch.ones(D)
centred = x - x.mean(dim=-1, keepdim=True)
same = torch.allclose(rms_norm(centred, ones, 1e-5), F.layer_norm(x, (D,)), atol=1e-5)
print("RMSNorm without the mean is layer norm:", same)
for name, norm in [
    ("layer norm", lambda x: F.layer_norm(x, (D,))),
    ("RMSNorm", lambda x: rms_norm(x, ones)),
]:
    for change, changed in [("x + 5", x + 5), ("10 x", 10 * x)]:
        notices = not torch.allclose(norm(changed), norm(x), atol=1e-4)
        print(f"{name:<11}notices {change}: {notices}")

# %% tags=["hide-input"]
assert torch.allclose(torch.tensor(by_hand), torch.tensor([0.8485, 1.1314]), atol=1e-4)
assert torch.allclose(rms_norm(x, weight), theirs, atol=1e-6) and same
module = RMSNorm(D)
module.load_state_dict({"weight": weight})
assert torch.allclose(module(x), theirs, atol=1e-6)
assert not torch.allclose(rms_norm(x + 5, ones), rms_norm(x, ones), atol=0.1)
assert torch.allclose(rms_norm(10 * x, ones), rms_norm(x, ones), atol=1e-4)
assert torch.allclose(F.layer_norm(x + 5, (D,)), F.layer_norm(x, (D,)), atol=1e-4)
print("by hand, PyTorch and course_utils agree; only RMSNorm notices a shift")

# %% [markdown]
# What is gained? One sum over the features instead of two, and half as many parameters. Zhang and Sennrich measured 7 %
# to 64 % less running time in their models, and about the same quality. So RMSNorm is meant to be cheaper and not
# better. We do not measure the time, which depends on the machine and the program, but section 7 looks at the quality.

# %% tags=["hide-input"]
questions.ask("11", "rms-of-two-features")

# %% [markdown]
# ## 3. SwiGLU: a feed-forward network with a gate
#
# In the feed-forward network of lecture 7, a hidden unit looks at the token through one row of $W_1$, and the ReLU
# decides whether it fires. In a *gated* network each unit has two rows. The gate says how far the unit opens, *up* says
# how much passes and with which sign, and the two numbers are multiplied (Shazeer, 2020):
#
# $$\mathrm{SwiGLU}(x) = W_\text{down} \bigl( \mathrm{SiLU}(W_\text{gate}\, x) \odot W_\text{up}\, x \bigr), \qquad
# \mathrm{SiLU}(a) = \frac{a}{1 + e^{-a}}$$
#
# The sign ⊙ means that entries are multiplied one by one, and there are no biases. SiLU is a smooth relative of the
# ReLU. It is also called *Swish*, and SwiGLU joins that name with *GLU*, the gated linear unit of Dauphin et al.
# (2017).

# %%
torch.manual_seed(5)
gated = SwiGLU(D, 4)
with torch.no_grad():
    token = x[0, 0]  # (D,)
    output = torch.zeros(D)
    for unit in range(4):
        gate = gated.w_gate.weight[unit] @ token
        up = gated.w_up.weight[unit] @ token
        output += gate / (1 + torch.exp(-gate)) * up * gated.w_down.weight[:, unit]
    print("unit by unit equals SwiGLU:", torch.allclose(output, gated(token), atol=1e-6))

# %% tags=["hide-input"]
assert torch.allclose(output, gated(token), atol=1e-6)
a = torch.linspace(-4, 4, 200)
figure, (left, right) = plotting.panels(2, height=4.2)
for name, function in [("ReLU", F.relu), ("GELU", F.gelu), ("SiLU", F.silu)]:
    left.plot(a, function(a), marker="", label=name)
left.set(xlabel="a", title="three activations")
left.legend()
for up in (2.0, 1.0, -1.0):
    right.plot(a, F.silu(a) * up, marker="", label=f"up = {up:.0f}".replace("-", "−"))
right.set(xlabel="gate", title="a gated unit: SiLU(gate) · up")
right.legend()
plotting.picture(
    figure,
    caption="SiLU bends smoothly and dips below zero, and up decides how much of it passes and with which sign.",
    alt="Two panels. Left, ReLU, GELU and SiLU from minus 4 to 4: all near 0 on the left and near the diagonal on the "
    "right; GELU dips a little below zero around minus 1, SiLU a little more. Right, SiLU of the gate times up for up "
    "2, 1 and minus 1: the same curve stretched, as it is, and upside down.",
)

# %% [markdown]
# Three matrices instead of two would make the network half as large again. For a fair comparison Shazeer gives each
# of them two thirds of the width, so $d_\text{ff} = 4\, d_\text{model}$ becomes $\frac{8}{3}\, d_\text{model}$. With
# the 48 features and 192 hidden units of the models below, we get these numbers:

# %%
print("two maps:  ", 2 * 48 * 192, "weights")
print("three maps:", 3 * 48 * (2 * 192 // 3), "weights, with", 2 * 192 // 3, "hidden units")
assert 2 * 48 * 192 == 3 * 48 * 128

# %% tags=["hide-input"]
questions.ask("11", "two-thirds")

# %% [markdown]
# ## 4. Rotary positions, in place
#
# Lecture 6 added a vector to each word to say where it stands. **Rotary encoding** (Su et al., 2021; *RoPE* for
# short) adds nothing. Instead, each layer turns its queries and keys, pair of features by pair of features, by an
# angle that grows with the position:
#
# $$\begin{pmatrix} x_{2k} \\ x_{2k+1} \end{pmatrix} \mapsto
# \begin{pmatrix} \cos a & -\sin a \\ \sin a & \cos a \end{pmatrix}
# \begin{pmatrix} x_{2k} \\ x_{2k+1} \end{pmatrix}, \qquad
# a = \frac{\text{position}}{10000^{2k / d_k}}$$
#
# with features counted from 0. The first pair turns by one radian a word, and later pairs turn more and more slowly.
# Section 5 of lecture 6 derives it.

# %%
query = torch.tensor([1.0, 0.0, 1.0, 0.0]).view(1, 1, 1, 4)  # (B, H, T, d_k)
turned = apply_rotary(query, positions=torch.tensor([1]))
print("(1, 0, 1, 0) at position 1:", *[f"{value:.5f}" for value in turned.flatten()])

torch.manual_seed(6)
queries, keys = torch.randn(2, 1, 1, 1, 8)  # two of (B, H, T, d_k)
print("query at  key at  score")
for first, second in [(3, 0), (8, 5), (93, 90), (6, 5)]:
    score = (
        apply_rotary(queries, torch.tensor([first])) @ apply_rotary(keys, torch.tensor([second])).mT
    )
    print(f"{first:8d}{second:8d}{score.item():7.3f}")

# %% tags=["hide-input"]
assert torch.allclose(turned.flatten(), torch.tensor([0.5403, 0.8415, 0.99995, 0.01]), atol=1e-4)
scores = [
    (apply_rotary(queries, torch.tensor([m + 3])) @ apply_rotary(keys, torch.tensor([m])).mT).item()
    for m in (0, 5, 90)
]
assert max(scores) - min(scores) < 1e-4
sequence = torch.randn(2, 3, 7, 8)
assert torch.allclose(apply_rotary(sequence, torch.arange(7)), rotate(sequence), atol=1e-5)
print("the score depends on the distance alone, and the turn is that of lecture 6")

# %% [markdown]
# The score is the same wherever the two words stand, as long as the key stands three places before the query. Values are
# not turned, because they carry what a word says and not where it stands.
#
# Here are a query and a key with eight features, as two hands in each of four pairs.
#
# 1. Press *both one word on* a few times. What moves, and what does not?
# 2. Set the query to 128 and move the key alone, from 127 down to 28, so that it is first one word and then a hundred
#    words before the query. Which pairs change quickly, and which can still tell 100 from 50?
# 3. The slider *factor* divides every position by its number. Set it to 8. What happens to the curve of the score
#    against the distance? (The distance of a key before the query is negative there.) At which distance is the score
#    now what it was at −3?

# %% tags=["hide-input"]
some_query = [1.0, 0.5, -0.3, 0.8, 0.6, -1.0, 0.4, 0.9]
some_key = [0.2, 1.0, 0.7, -0.4, 0.9, 0.3, 1.1, -0.2]
live.rotary_view(some_query, some_key, positions=(10, 7))

# %% [markdown]
# <details><summary>What you should see</summary>
#
# 1. All hands turn, the fast pairs more than the slow ones. But the two hands of a pair turn together, so the angle
#    between them, what each pair adds, and the score all stay the same.
# 2. The first pair goes round in a little more than six words, so it looks much the same at many distances. The third
#    one turns by half a radian between 50 and 100 and tells them apart, while the last one hardly moves.
# 3. The curve is stretched to eight times its width. What was at distance −3 is now at −24.
#
# </details>

# %% tags=["hide-input"]
vectors = [torch.tensor(vector).double().view(1, 1, 1, 8) for vector in (some_query, some_key)]


def score_at(first, second, factor=1.0):
    """Score of the view's query and key at two positions."""
    both = zip(vectors, (first, second), strict=True)
    one, other = (apply_rotary(x, torch.tensor([at]), factor=factor) for x, at in both)
    return (one * other).sum().item()


assert abs(score_at(10, 7) - score_at(110, 107)) < 1e-9
assert abs(score_at(10, 7) - score_at(34, 10, factor=8.0)) < 1e-9
assert abs((100 - 50) / 10000 ** (4 / 8) - 0.5) < 1e-9 and 100 / 10000 ** (6 / 8) < 0.11
print("only the distance counts, and a factor of 8 stretches it by 8")

# %% [markdown]
# ### Two ways to pair the features
#
# Su et al. pair neighbours, features 0 and 1, 2 and 3, and so on. Many libraries pair feature $k$ with feature $k +
# d_k / 2$ instead, so that the first *half* of the vector is turned together with the second. Do these models compute
# something else? We put the features in another order first, and compare.


# %%
def turn_halves(x, positions):
    """Like `apply_rotary`, but feature k is turned together with feature k + d_k / 2."""
    half = x.shape[-1] // 2
    angles = positions.unsqueeze(-1) / 10000 ** (torch.arange(half) / half)  # (T, d_k / 2)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


positions = torch.arange(7)
order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])  # even features first, then odd ones
halves = turn_halves(sequence[..., order], positions)
neighbours = apply_rotary(sequence, positions)
print(
    "halves, without the order:",
    torch.allclose(turn_halves(sequence, positions), neighbours, atol=1e-5),
)
print("halves, with the order:   ", torch.allclose(halves, neighbours[..., order], atol=1e-5))

# %% tags=["hide-input"]
assert torch.allclose(halves, neighbours[..., order], atol=1e-5)
assert not torch.allclose(turn_halves(sequence, positions), neighbours, atol=0.1)
print("the two pairings differ by an order of the features, and by nothing else")

# %% tags=["hide-input"]
questions.ask("11", "which-pairing")

# %% [markdown]
# A dot product does not care about the order of the features, as long as query and key have the same one. So a model
# that was trained with halves becomes one with neighbours when the rows of $W_q$ and $W_k$ are put in another order,
# head by head. If you forget it, all shapes fit and the model talks nonsense. Only the logits at the first place stay
# right, because the first word can attend to nothing but itself. If you have the weights of such a model on your disk,
# the page [Load published weights](../docs/published_weights.md) shows how to put them into the block of this lecture.

# %% [markdown]
# ## 5. No biases, and one factor less
#
# Two smaller changes are easily overlooked.
#
# **Biases.** The maps of the new block have none. That saves less than two weights in a hundred here, and section 7
# finds no difference that could be claimed.
#
# **The factor.** In lecture 8 the embeddings were multiplied by $\sqrt{d_\text{model}}$, because positions were added
# to them and would otherwise have drowned the words. Where nothing is added, this reason for the factor is gone, and
# the block of 2023 leaves it out. How long are the two vectors?

# %%
D_MODEL = block_variants.D_MODEL
torch.manual_seed(0)
words = torch.randn(1000, D_MODEL) * D_MODEL**-0.5  # as embeddings are initialised here
places = positional_encoding(48, D_MODEL)
print(f"word:           {words.norm(dim=-1).mean():.2f}")
print(f"word × √d_model: {(math.sqrt(D_MODEL) * words).norm(dim=-1).mean():.2f}")
print(f"position:       {places.norm(dim=-1).mean():.2f}")

# %% tags=["hide-input"]
assert abs(words.norm(dim=-1).mean() - 1) < 0.02
assert torch.allclose(places.norm(dim=-1), torch.full((48,), math.sqrt(D_MODEL / 2)), atol=1e-3)
first = ModernBlock(D_MODEL, num_heads=4, d_ff=128)
added = [first.attend(first.norm1(words[None, :9] * factor))[0] for factor in (1, D_MODEL**0.5)]
assert torch.allclose(*added, atol=1e-4)
print(
    "a position is nearly five times as long as a word, and with the factor it is the shorter one"
)

# %% [markdown]
# A factor at the very bottom looks harmless, since the first norm takes it away again. But the norm sits on the branch,
# and the stream keeps the factor. With rotary positions the first attention sublayer adds the same vector either way,
# if the weights are the same. Where the word is √48 ≈ 7 times as long, this addition changes the stream only a seventh as
# much. So if you exchange sinusoids for rotations and drop the factor on the way, you have made *two* changes. Keep that
# in mind for section 7.

# %% [markdown]
# ## 6. The block
#
# Now we put the parts together, in six lines, and compare with `course_utils.modern.ModernBlock`.

# %%
torch.manual_seed(8)
block = ModernBlock(d_model=16, num_heads=2, d_ff=24)
x = torch.randn(2, 5, 16)  # (B, T, D)
mask = causal_mask(5)

with torch.no_grad():
    normed = rms_norm(x, block.norm1.weight)
    query, key, value = (split_heads(w(normed), 2) for w in (block.w_q, block.w_k, block.w_v))
    query, key = apply_rotary(query, torch.arange(5)), apply_rotary(key, torch.arange(5))
    context, _ = scaled_dot_product_attention(query, key, value, mask)  # (B, H, T, d_k)
    h = x + block.w_o(merge_heads(context))
    y = h + block.feed_forward(rms_norm(h, block.norm2.weight))
    print("by hand equals ModernBlock:", torch.allclose(y, block(x, mask), atol=1e-6))
assert torch.allclose(y, block(x, mask), atol=1e-6)

# %% [markdown]
# ## 7. Which of it helps?
#
# We train small language models on the English sentences of our grammar, one after the other in a single long text.
# They have two layers, 48 features and four heads, and the last map is the embedding again (Press and Wolf, 2017),
# which makes about 65 000 weights. Most variants differ from the block of 2017 in a single thing. How do we compare
# them fairly?
#
# - **The same size,** within 2 %. The gated network has two thirds of the width, as in section 3.
# - **The same data.** With the same seed, all variants get the same windows of text in the same order. So we compare
#   *pairs* of runs, seed by seed, and luck with the data may cancel.
# - **The same training.** A step takes 16 windows of 48 words out of a text of 82 319. The rate rises to 0.003 in 30
#   steps and then falls in a straight line, nearly to 0 at the last one. We tuned it for no variant, so one that
#   prefers another rate is at a disadvantage.
# - **New sentences.** The loss is measured on 1500 sentences, of which training has seen 4.

# %%
VARIANTS = {
    "RMSNorm": Variant(rms_norm=True),
    "SwiGLU": Variant(feed_forward="swiglu"),
    "rotary": Variant(rotary=True),
}
SEEDS = (0, 1, 2)  # try others


def losses_of(variant):
    """Loss on new sentences after 200 steps, one for each seed."""
    models = (block_variants.train(variant, seed) for seed in SEEDS)
    return torch.tensor([block_variants.held_out_loss(model) for model in models])


# %% tags=["nbval-ignore-output"] seconds=27
of_2017 = losses_of(Variant())
print("2017, norm first", *[f"{loss:9.4f}" for loss in of_2017])
differences = {name: losses_of(variant) - of_2017 for name, variant in VARIANTS.items()}
for name, values in differences.items():
    print(f"{name:<16}", *[f"{value:+9.4f}".replace("-", "−") for value in values])

# %% tags=["hide-input"]
assert (differences["SwiGLU"] < 0).all() and (differences["rotary"] < -0.04).all()
assert differences["RMSNorm"].abs().max() < 0.04
print("SwiGLU and rotary positions have the smaller loss with every seed; RMSNorm hardly differs")

# %% [markdown]
# Three seeds and one length of training are little. So here are five seeds, more variants, and up to six lengths of
# training, from 50 steps to 1000. Each length is a run of its own, whose learning rate falls nearly to 0 at its own
# end. The numbers are **recorded**, and `sources/recorded/block_variants.py` prints them in about 20 minutes. "All
# four" are RMSNorm, SwiGLU, rotary positions and no biases together, and "no biases" takes the β of layer norm away,
# too. Every variant keeps the biases unless its name says otherwise, so SwiGLU and bilinear have 64 more weights in
# each layer than the ReLU network.

# %% tags=["hide-input"]
RECORDED = """\
variant              weights steps  seed 0  seed 1  seed 2  seed 3  seed 4
2017, norm first       65232    50  4.1718  4.2390  4.1422  4.1820  4.1573
2017, norm first       65232   100  3.0555  3.1438  3.0680  3.1063  3.0401
2017, norm first       65232   200  2.2949  2.3303  2.3024  2.3133  2.3027
2017, norm first       65232   400  1.9802  1.9954  2.0228  1.9896  2.0221
2017, norm first       65232   600  1.7916  1.8069  1.8223  1.8060  1.8166
2017, norm first       65232  1000  1.6726  1.6791  1.6668  1.6820  1.6725
RMSNorm                64992    50  4.1639  4.2434  4.1539  4.2153  4.2475
RMSNorm                64992   100  3.0675  3.1577  3.1256  3.1628  3.1545
RMSNorm                64992   200  2.3001  2.3241  2.3119  2.3215  2.3036
RMSNorm                64992   400  1.9840  1.9738  2.0210  1.9853  2.0057
RMSNorm                64992   600  1.8011  1.7848  1.8296  1.7969  1.8108
RMSNorm                64992  1000  1.6823  1.6701  1.6728  1.6746  1.6766
no biases              64128   100  3.0810  3.2015  3.0448  3.0709  2.8858
no biases              64128   200  2.3084  2.3265  2.3088  2.3093  2.2820
no biases              64128   600  1.7989  1.8156  1.8326  1.8572  1.8229
GELU                   65232   100  2.8596  2.9994  2.8740  2.9337  2.8979
GELU                   65232   200  2.2744  2.3131  2.2779  2.2970  2.2795
GELU                   65232   600  1.7932  1.7970  1.8056  1.7917  1.8003
SwiGLU                 65360    50  3.8189  4.0572  3.9309  3.9498  4.0576
SwiGLU                 65360   100  2.6909  2.8372  2.7747  2.7773  2.7851
SwiGLU                 65360   200  2.2532  2.2860  2.2605  2.2727  2.2558
SwiGLU                 65360   400  1.9656  1.9980  1.9997  1.9960  1.9853
SwiGLU                 65360   600  1.7963  1.8042  1.7974  1.8481  1.8171
SwiGLU                 65360  1000  1.6757  1.6851  1.6657  1.6822  1.6764
bilinear               65360    50  3.5160  3.7330  3.6785  3.6827  3.7276
bilinear               65360   100  2.5708  2.6446  2.6232  2.6375  2.6233
bilinear               65360   200  2.2386  2.2542  2.2392  2.2538  2.2375
bilinear               65360   400  1.9551  1.9527  1.9585  1.9802  1.9782
bilinear               65360   600  1.7697  1.7645  1.7627  1.7820  1.8051
bilinear               65360  1000  1.6543  1.6575  1.6578  1.6640  1.6650
rotary                 65232    50  4.1580  4.0601  4.0319  4.0490  4.1854
rotary                 65232   100  3.0819  2.9792  2.9834  2.9711  3.0025
rotary                 65232   200  2.2183  2.2057  2.2194  2.1915  2.1704
rotary                 65232   400  1.8390  1.8275  1.8500  1.8344  1.8342
rotary                 65232   600  1.7270  1.7206  1.7223  1.7143  1.7171
rotary                 65232  1000  1.6277  1.6447  1.6317  1.6351  1.6375
all four               64128    50  3.6481  3.6718  3.6650  3.6851  3.7265
all four               64128   100  2.6546  2.6485  2.6521  2.6779  2.6618
all four               64128   200  2.2048  2.2210  2.2012  2.2199  2.2100
all four               64128   400  1.8706  1.8772  1.9116  1.8801  1.8859
all four               64128   600  1.7375  1.7215  1.7616  1.7629  1.7465
all four               64128  1000  1.6302  1.6392  1.6443  1.6528  1.6430
no factor              65232   100  3.8672  4.2475  3.9726  3.9738  4.1898
no factor              65232   200  2.4045  2.5418  2.4403  2.4625  2.5480
no factor              65232   600  1.8156  1.8619  1.8138  1.8107  1.8494
rotary, no factor      65232   100  2.4333  2.4972  2.4060  2.3982  2.4754
rotary, no factor      65232   200  2.0383  2.0565  2.0220  1.9946  2.0614
rotary, no factor      65232   600  1.6571  1.6658  1.6585  1.6626  1.6691
all four, no factor    64128   100  2.4613  2.4376  2.4228  2.4557  2.4544
all four, no factor    64128   200  2.0917  2.1145  2.0962  2.1038  2.1127
all four, no factor    64128   600  1.6811  1.6869  1.6752  1.6826  1.6923
"""
recorded = {}  # variant -> steps -> losses (seeds,)
for line in RECORDED.splitlines()[1:]:
    name, _, steps, *losses = line.rsplit(maxsplit=7)
    recorded.setdefault(name.strip(), {})[int(steps)] = torch.tensor([float(x) for x in losses])
base = recorded.pop("2017, norm first")
paired = {  # variant -> steps -> differences (seeds,)
    name: {steps: losses - base[steps] for steps, losses in by_steps.items()}
    for name, by_steps in recorded.items()
}
CURVES = ["RMSNorm", "SwiGLU", "bilinear", "rotary", "all four"]
LENGTHS = list(base)

figure, axes = plotting.panels(2, height=5.2)
for ax, lengths in zip(axes, (LENGTHS, LENGTHS[2:]), strict=True):
    ax.axhline(0, color=plotting.MUTED, linewidth=1)
    for k, name in enumerate(CURVES):
        at = [steps * 1.025 ** (k - 2) for steps in lengths]  # beside each other
        means = [paired[name][steps].mean() for steps in lengths]
        spreads = [paired[name][steps].std() for steps in lengths]
        colour = plotting.SERIES[k]
        ax.plot(at, means, color=colour, label=name)
        ax.errorbar(at, means, spreads, fmt="none", color=colour, capsize=3)
    ax.set(xscale="log", xlabel="steps of training", title=f"from {lengths[0]} steps on")
    ax.set_xticks(lengths, lengths)
    ax.minorticks_off()
axes[0].set_ylabel("difference in nats a word")
plotting.label_ends(axes[1])
plotting.picture(
    figure,
    caption="Below 0 is better than the block of 2017. A point is the mean over five pairs of runs, a bar their standard "
    "deviation.",
    alt="The difference in loss to the block of 2017 against the steps of training, a curve for each of five variants, "
    "on the right enlarged. "
    + " ".join(
        f"{name}: "
        + ", ".join(
            f"{values.mean():+.3f} ± {values.std():.3f} at {steps}"
            for steps, values in paired[name].items()
        )
        + "."
        for name in CURVES
    ).replace("-", "−"),
)

# %% [markdown]
# The same as numbers, for all variants. A star stands where $t$, the mean divided by its standard error, lies beyond
# ±2.78. Five pairs without any difference get there once in twenty times, so among as many numbers as these a star or
# two may be due to chance.


# %% tags=["hide-input"]
def t_value(values):
    """Mean difference over its standard error."""
    return (values.mean() / values.std() * math.sqrt(len(values))).item()


columns = (100, 200, 600, 1000)
print("difference to 2017  " + "  ".join(f"{steps:>7} steps  " for steps in columns).rstrip())
for name, by_steps in paired.items():
    cells = []
    for values in (by_steps[steps] for steps in columns if steps in by_steps):
        star = "*" if abs(t_value(values)) > 2.78 else " "
        cells.append(f"{values.mean():+.3f} ± {values.std():.3f} {star}".replace("-", "−"))
    print(f"{name:<20}" + " ".join(cells).rstrip())
print("mean ± standard deviation over five seeds")

# %% tags=["hide-input"]
print("spread after 200 steps   seed by seed   without pairing")
for name in ("SwiGLU", "rotary"):
    losses = recorded[name][200]
    unpaired = (losses.var() + base[200].var()).sqrt()
    print(f"{name:<22}{paired[name][200].std():15.3f}{unpaired:18.3f}")

# %% [markdown]
# Each length is a run of its own, with its own fall of the learning rate. So the curves do not show how one model
# goes on, but what you would report after so many steps. (The 30 steps of warm-up are more than half of the shortest run,
# and in the longest one the model reads the text nine times.) Six things can be read from this.
#
# - **For RMSNorm and no biases no difference can be claimed** from 200 steps on. Their means stay below one spread and none
#   has a star. (RMSNorm after 100 steps and no biases after 600 are behind with every seed, and their $t$ of 2.7 and 1.9
#   is short of the mark.) No gain was promised either, as both are there to save something.
# - **A lead after a few steps may be gone after many.** SwiGLU is ahead by 0.31 nats in runs of 100 steps and by 0.04
#   in runs of 200. From 400 steps on, what is left is within the spread. If we had tried 200 steps only, we would have
#   reported a gate that helps beyond doubt.
# - **The gate without SiLU,** called *bilinear*, is further ahead in short runs and keeps some of its lead, 0.03 nats
#   after 600 steps and 0.015 after 1000, with every seed. GELU in place of the ReLU is ahead too, by 0.17, 0.02 and
#   0.01 after 100, 200 and 600 steps.
# - **Rotary positions help most,** with every seed from 200 steps on. How much they help depends on the number of steps
#   again, with 0.11 nats after 200, 0.17 after 400, 0.09 after 600 and 0.04 after 1000.
# - **Improvements need not add up.** After 200 steps the four changes would add up to 0.15 nats, and together they give
#   0.10. From there on, all four together are no better than rotary positions alone, and after 400 and 600 steps they
#   are worse with every seed.
# - **Pairing helps sometimes.** After 200 steps, the difference between SwiGLU and the block of 2017 has a spread of
#   0.003 seed by seed. With runs that have nothing in common, we would expect 0.019. For rotary positions the two numbers
#   are alike.
#
# ### The change that comes along
#
# The variants above keep the factor $\sqrt{d_\text{model}}$ of section 5, and the block of 2023 does not have it.
# What happens if it is left out, as the rest of the lecture would suggest?

# %%
print("difference to 2017    after 100      200      600 steps")
for name in ("no factor", "rotary", "rotary, no factor", "all four", "all four, no factor"):
    means = [f"{paired[name][steps].mean():+9.3f}".replace("-", "−") for steps in (100, 200, 600)]
    print(f"{name:<22}", *means)

# %% tags=["hide-input"]
for name in ("RMSNorm", "no biases"):
    later = [values for steps, values in paired[name].items() if steps >= 200]
    assert all(values.mean().abs() < values.std() for values in later)
    assert all(abs(t_value(values)) < 2.78 for values in later)
    assert min(values.mean() for values in later) < 0 < max(values.mean() for values in later)
swiglu, bilinear, rotary, all_four = (paired[name] for name in CURVES[1:])
assert (swiglu[100] < -0.25).all() and (swiglu[200] < -0.03).all()
assert all(swiglu[steps].mean().abs() < swiglu[steps].std() for steps in (400, 600, 1000))
gelu, no_biases = paired["GELU"], paired["no biases"]
for steps, lead in zip((100, 200, 600), (0.17, 0.02, 0.01), strict=True):
    assert abs(gelu[steps].mean() + lead) < 0.006 and t_value(gelu[steps]) < -2.78
assert (no_biases[600] > 0).all() and 1.85 < t_value(no_biases[600]) < 1.95
parts = ("RMSNorm", "SwiGLU", "rotary", "no biases")
assert abs(sum(paired[name][200].mean() for name in parts) + 0.15) < 0.005
assert -0.10 < all_four[200].mean() < -0.09
assert all((bilinear[steps] < swiglu[steps]).all() for steps in LENGTHS)
assert (bilinear[600] < 0).all() and (bilinear[1000] < 0).all()
assert -0.035 < bilinear[600].mean() < -0.025 and -0.0155 < bilinear[1000].mean() < -0.0145
assert (paired["RMSNorm"][100] > 0).all() and 2.65 < t_value(paired["RMSNorm"][100]) < 2.75
for steps, lead in zip(LENGTHS[2:], (0.11, 0.17, 0.09, 0.04), strict=True):
    assert (rotary[steps] < 0).all() and abs(rotary[steps].mean() + lead) < 0.006
    assert all_four[steps].mean() > rotary[steps].mean() < bilinear[steps].mean()
assert all((all_four[steps] > rotary[steps]).all() for steps in (400, 600))
assert swiglu[200].std() < 0.2 * (recorded["SwiGLU"][200].var() + base[200].var()).sqrt()
assert (paired["no factor"][200] > 0.09).all() and 0.9 < paired["no factor"][100].mean() < 1
assert 0.02 < paired["no factor"][600].mean() < paired["no factor"][600].std()
bare = paired["rotary, no factor"]
assert all((bare[steps] < rotary[steps]).all() for steps in (200, 600))
assert 2.3 < bare[200].mean() / rotary[200].mean() < 2.7
assert all((paired["all four, no factor"][steps] > bare[steps]).all() for steps in (200, 600))
assert 1.5 < bare[600].mean() / rotary[600].mean() < 1.8
print("signs, spreads and orders are as the text says")

# %% [markdown]
# With sinusoids, leaving out the factor raises the loss by nearly a whole nat after 100 steps and by 0.17 after 200.
# After 600 steps 0.02 of it is left, which is less than its spread. With rotary positions it is the other way round.
# Without the factor, their lead after 200 steps is 0.27 nats instead of 0.11, so it looks two and a half times as
# large, and after 600 steps it is 0.15 instead of 0.09. (All four together stay behind rotary positions alone here,
# too, after 200 and 600 steps with every seed.) If you replace one block by the other and report the sum, you give the
# rotation the credit for both changes.
#
# ### What large models say
#
# Shazeer (2020, table 1) compared the feed-forward networks in a model thousands of times as large. After 65 536 steps
# the loss was 1.997 with ReLU, 1.983 with GELU, 1.960 with a gate without SiLU ("bilinear") and 1.944 with SwiGLU, with
# standard deviations of 0.010 or less over four runs. After 524 288 steps the four losses were 1.677, 1.679, 1.648 and
# 1.636. So the lead of GELU over ReLU was gone, while the gates kept theirs. There SwiGLU is ahead of the bilinear
# gate, and here it is behind. Both can be true, because a ranking holds for its model, its data and its number of
# steps.

# %% tags=["hide-input"]
questions.ask("11", "no-difference")

# %% [markdown]
# ## 8. Longer than in training
#
# In long texts, a rotary model that was trained on short ones has to deal with angles that it has never seen. Chen et
# al. (2023) press the positions together instead. If the text is four times as long, every position is divided by 4, so
# all angles stay in the range of training. This is **position interpolation**, and we call the 4 its *compression*. (In
# the code and in the slider of section 4 it is named `factor`. It has nothing to do with $\sqrt{d_\text{model}}$.)
#
# The short sentences of our grammar cannot show whether that works. So we take a task that has to look far back. A
# block of random tokens is repeated again and again, and from the second copy on the model has to say what comes next.
# (Its first token counts as well, although it is hardly more than a guess.) Four models of two such layers, with 64
# features, were trained for 800 steps on rows of 32 tokens, with blocks of 6 to 16. We test them on rows of 128 tokens,
# 200 for each of three lengths of block, 12, 30 and 60, so they have to look back that far. Then we train them for 20
# or 60 more steps on rows of 128, with blocks of 6 to 64, and test them again. The numbers are **recorded**, and
# `sources/recorded/interpolation.py` prints them in about two minutes.

# %% tags=["hide-input"]
INTERPOLATED = """\
seed factor steps    12    30    60
   0      1     0  0.42  0.07  0.03
   0      1    20  0.90  0.77  0.56
   0      1    60  0.97  0.93  0.90
   0      4     0  0.16  0.12  0.11
   0      4    20  0.89  0.88  0.86
   0      4    60  0.98  0.97  0.96
   1      1     0  0.44  0.14  0.02
   1      1    20  0.90  0.79  0.62
   1      1    60  0.98  0.96  0.95
   1      4     0  0.16  0.11  0.10
   1      4    20  0.91  0.91  0.90
   1      4    60  0.97  0.97  0.96
   2      1     0  0.65  0.26  0.02
   2      1    20  0.91  0.78  0.67
   2      1    60  0.92  0.80  0.77
   2      4     0  0.14  0.09  0.09
   2      4    20  0.74  0.69  0.65
   2      4    60  0.97  0.95  0.94
   3      1     0  0.61  0.46  0.06
   3      1    20  0.89  0.79  0.53
   3      1    60  0.90  0.77  0.72
   3      4     0  0.11  0.07  0.06
   3      4    20  0.20  0.16  0.15
   3      4    60  0.43  0.39  0.35
"""
right = {}  # (factor, further steps) -> shares (seeds, distances)
for line in INTERPOLATED.splitlines()[1:]:
    _, factor, steps, *shares = line.split()
    right.setdefault((int(factor), int(steps)), []).append([float(share) for share in shares])
right = {setting: torch.tensor(rows) for setting, rows in right.items()}
distances = (12, 30, 60)

figure, axes = plotting.panels(3, height=4.2, sharey=True)
for ax, steps in zip(axes, (0, 20, 60), strict=True):
    for factor, colour, style in ((1, plotting.SERIES[0], "-"), (4, plotting.SERIES[1], "--")):
        for seed, shares in enumerate(right[factor, steps]):
            name = f"compression {factor}" if seed == 0 else None
            ax.plot(distances, shares, style, marker="o", color=colour, alpha=0.8, label=name)
    ax.set(xlabel="length of the block", ylim=(0, 1.05), xticks=distances)
    ax.set_title("at once" if steps == 0 else f"after {steps} more steps")
axes[0].set_ylabel("share of right tokens")
axes[0].legend()
plotting.picture(
    figure,
    caption="A line is a model. After 20 steps the share falls by at most 0.09 with compression 4, by 0.24 to 0.36 "
    "with compression 1.",
    alt="Share of right tokens against the length of the block, 12, 30 and 60, four lines for each compression. "
    "Medians: "
    + " ".join(
        f"{'At once' if steps == 0 else f'After {steps} more steps'}, compression {factor}: "
        + ", ".join(f"{value:.2f}" for value in right[factor, steps].median(dim=0).values)
        + "."
        for steps in (0, 20, 60)
        for factor in (1, 4)
    ),
)

# %% tags=["hide-input"]
at_once, soon, later = (
    {factor: right[factor, steps] for factor in (1, 4)} for steps in (0, 20, 60)
)  # each: factor -> (seeds, distances)
assert (at_once[1][:, 2] < 0.1).all() and (at_once[4] < 0.2).all()
fall = soon[1][:, 0] - soon[1][:, 2]
assert 0.235 < fall.min() and fall.max() < 0.365 and (soon[4][:, 0] - soon[4][:, 2] < 0.095).all()
assert (soon[1][:, 0] > 0.88).all() and 0.5 < soon[1][:, 2].median() < 0.65
assert (soon[4][:2] > 0.85).all()
assert (later[4][:3] > 0.93).all() and (later[4][3] < 0.5).all() and (later[1][3] > 0.7).all()
fall = later[1][:, 0] - later[1][:, 2]
assert (fall[:2] < 0.075).all() and (fall[2:] > 0.145).all()
print("who finds what, and when, as the text says")

# %% [markdown]
# **At once, neither works well.** With positions as they are (compression 1), about half of the tokens are right with a
# block of 12, and no more than 6 in 100 with one of 60. With positions pressed together (compression 4), even near
# tokens are missed, perhaps because all angles that the heads had learned have changed.
#
# **After 20 more steps** on rows of 128 the two behave differently. With compression 1 the share of right tokens falls
# as the distance grows, from 0.9 at 12 tokens to 0.6 at 60. With compression 4 it depends little on the distance, and
# in two of the four models it is about as high as compression 1 gets for the nearest tokens. **After 60 steps** with
# compression 4, three of the four models are right in 0.94 or more of the cases at every distance. With compression 1,
# two models still lose 0.15 and more between 12 and 60 tokens, and two lose 0.07 or less.
#
# The fourth model is a counterexample. With compression 4 it is still at 0.4 after 60 steps, when compression 1 has
# reached 0.7 to 0.9. So what these runs show is that with pressed positions the share of right tokens depends little on
# the distance after only 20 steps. They do not show that pressed positions are better in every model.

# %% [markdown]
# ## Summary
#
# - RMSNorm divides by the root of the mean square and subtracts no mean. Its authors found it faster than layer norm,
#   and from 200 steps on no difference in quality can be claimed here.
# - In a gated feed-forward network two maps of the token are multiplied, one of them after an activation. With two
#   thirds of the width it has as many weights as before.
# - Rotary positions turn queries and keys in every layer, so that scores depend on distances. Whether neighbours or
#   halves are paired is a matter of the order of features, which [Load published
#   weights](../docs/published_weights.md) takes care of.
# - Differences are paired by seed, shown with their spread, and hold only for the number of steps at which they were
#   measured. A lead after a few steps may be gone after many.
# - Leaving out $\sqrt{d_\text{model}}$ is a change of its own.
# - Position interpolation brings far positions back into the range of training. After a few more steps it worked in
#   three of four models.
#
# **Now you:** [assignment a12, the block of today](../exercises/a12_modern_block/a12_modern_block.ipynb). The [next
# lecture](12_looking_inside.ipynb) looks inside trained models of this block and asks which part does what. This is the
# end of the core. Section 9 goes deeper, into networks of which only a part works for each token, and you can skip it.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 2, 3, 4 and 7 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** A token has the features (2, 2, 2, 2). What does layer norm make of it, and what RMSNorm, both with γ = 1?
#
# <details><summary>Answer</summary>
#
# Layer norm subtracts the mean, so nothing is left but zeros. RMSNorm divides by 2, which gives (1, 1, 1, 1).
#
# </details>
#
# **2.** In a gated network somebody forgets the SiLU. Which function of the token is each hidden unit then, and is the
# network as a whole still able to do more than a single linear map?
#
# <details><summary>Answer</summary>
#
# Each unit is the product of two linear functions, so a quadratic one. That is not linear, so the network does more
# than one map. It is the "bilinear" variant of section 7.
#
# </details>
#
# **3.** All positions of a text are counted from 100 instead of 0. What changes in a model with rotary positions, and
# what in one with sinusoids that are added?
#
# <details><summary>Answer</summary>
#
# With rotary positions nothing changes, since queries and keys are turned by the same further angle. With sinusoids the
# words get other vectors, which the model may never have seen in training.
#
# </details>
#
# **4.** A report says that a new norm improves the loss by 0.004, with one run each. Which number do you ask for first?
#
# <details><summary>Answer</summary>
#
# Ask how much the loss differs between seeds of the *same* model. In section 7 runs of one variant differ by more than
# 0.01 even after 1000 steps, so a single pair of runs with 0.004 says nothing.
#
# </details>

# %% [markdown]
# ## 9. Going deeper: experts
#
# A feed-forward network of four times the size costs four times the work, unless only a quarter of it works for each
# token. In a **mixture of experts** there are several feed-forward networks, and a linear map, the *router*, followed
# by a softmax gives each expert $e$ a probability $p_e$. Only the expert with the largest one works for this token. Its
# output is multiplied by its $p_e$, so that the router gets a gradient (Fedus et al., 2021).


# %%
class Experts(nn.Module):
    """Several gated networks, of which a router picks one for each token."""

    def __init__(self, d_model, d_ff, number):
        super().__init__()
        self.router = nn.Linear(d_model, number, bias=False)
        self.experts = nn.ModuleList(SwiGLU(d_model, d_ff) for _ in range(number))

    def forward(self, x):
        """(B, T, D) -> (B, T, D); `shares` and `balance` are about the tokens of this call."""
        p = self.router(x).softmax(dim=-1)  # (B, T, E)
        largest, chosen = p.max(dim=-1)  # (B, T) each
        output = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            its = chosen == number  # (B, T)
            output[its] = largest[its].unsqueeze(-1) * expert(x[its])
        self.shares = F.one_hot(chosen, len(self.experts)).float().mean(dim=(0, 1))  # (E,)
        self.balance = len(self.experts) * (self.shares * p.mean(dim=(0, 1))).sum()
        return output


# %% [markdown]
# There is a trap. An expert that is chosen often gets more training, and may then be chosen more often still. So a
# second loss is added. With $f_e$ for the share of tokens that expert $e$ gets, and $P_e$ for its mean probability over
# all tokens, it is
#
# $$\alpha \cdot E \sum_{e} f_e P_e$$
#
# with $E$ experts. It is α when all are used alike, and nearly $\alpha E$ when one expert gets every token with a
# probability near 1. Fedus et al. take $\alpha = 0.01$. We train with four experts of 64 hidden units in each of two
# layers, for 150 steps at one learning rate, without this loss and with it. The share is that of the busiest expert in the
# last batch, in whichever layer it is larger.


# %%
def train_experts(alpha, seed):
    """The loss on new sentences, and the largest share of an expert in the last batch."""
    vocabulary, text, _ = block_variants.english_text()
    torch.manual_seed(seed)
    model = block_variants.VariantModel(len(vocabulary), Variant(rms_norm=True, rotary=True))
    for layer in model.layers:
        layer.feed_forward = Experts(D_MODEL, 64, number=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(150):
        starts = torch.randint(len(text) - 48, (16, 1), generator=generator)
        windows = text[starts + torch.arange(49)]  # (B, T + 1)
        loss = F.cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
        balance = sum(layer.feed_forward.balance for layer in model.layers)
        optimizer.zero_grad()
        (loss + alpha * balance).backward()
        optimizer.step()
    largest = max(layer.feed_forward.shares.max().item() for layer in model.layers)
    return block_variants.held_out_loss(model), largest


# %% tags=["nbval-ignore-output"] seconds=20
by_alpha = {alpha: [train_experts(alpha, seed) for seed in SEEDS] for alpha in (0.0, 0.01)}
for alpha, found in by_alpha.items():
    print(f"α = {alpha:<5} loss", *[f"{loss:.3f}" for loss, _ in found], end="   ")
    print("largest share", *[f"{share:.2f}" for _, share in found])

# %% tags=["hide-input"]
unbalanced, balanced = ([share for _, share in by_alpha[alpha]] for alpha in (0.0, 0.01))
assert sum(unbalanced) / 3 > sum(balanced) / 3 + 0.08
print("with the second loss the tokens are divided more evenly, on average over the seeds")

# %% [markdown]
# Even shares would be 0.25. Without the second loss, in our runs one expert takes half of the tokens or more, and with
# it 0.33 to 0.43 of them. So the imbalance appears even at this size, but we cannot see that it costs anything. With
# the second loss, new sentences even surprise our three models a little more, by 0.006 to 0.029 nats a word, which is
# too little to claim anything from three pairs. (As the learning rate does not fall here, the losses cannot be compared
# with those of section 7.) In large models the experts sit on different machines, and one that is idle is paid for all
# the same.

# %% [markdown]
# ## Further reading
#
# - Biao Zhang, Rico Sennrich (2019). *[Root Mean Square Layer Normalization.](https://arxiv.org/abs/1910.07467)*
#   NeurIPS. Equation 4.
# - Noam Shazeer (2020). *[GLU Variants Improve Transformer.](https://arxiv.org/abs/2002.05202)* arXiv:2002.05202.
#   Section 2, equation 6, and table 1.
# - Jianlin Su, Yu Lu, Shengfeng Pan, Ahmed Murtadha, Bo Wen, Yunfeng Liu (2021). *[RoFormer: Enhanced Transformer with
#   Rotary Position Embedding.](https://arxiv.org/abs/2104.09864)* arXiv:2104.09864. Section 3.4.2, equation 34.
# - Hugo Touvron and others (2023). *[LLaMA: Open and Efficient Foundation Language
#   Models.](https://arxiv.org/abs/2302.13971)* arXiv:2302.13971. Section 2.2: the block.
# - Shouyuan Chen, Sherman Wong, Liangjian Chen, Yuandong Tian (2023). *[Extending Context Window of Large Language
#   Models via Positional Interpolation.](https://arxiv.org/abs/2306.15595)* arXiv:2306.15595. Section 2.3.
# - Yann Dauphin, Angela Fan, Michael Auli, David Grangier (2017). *[Language Modeling with Gated Convolutional
#   Networks.](https://arxiv.org/abs/1612.08083)* ICML. Section 2: the gated linear unit.
# - William Fedus, Barret Zoph, Noam Shazeer (2021). *[Switch Transformers: Scaling to Trillion Parameter Models with
#   Simple and Efficient Sparsity.](https://arxiv.org/abs/2101.03961)* arXiv:2101.03961. Section 2.2, equation 4.
# - Ofir Press, Lior Wolf (2017). *[Using the Output Embedding to Improve Language
#   Models.](https://arxiv.org/abs/1608.05859)* EACL. Weight tying.
