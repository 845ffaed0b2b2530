# ---
# jupyter:
#   course:
#     assignment: a7_dropout_and_layer_norm
#     deeper: 55
#     minutes: 85
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
# Attention mixes the words of a sentence. If you stack a few untrained attention layers on top of each other, all
# words of a sentence end up as nearly the same vector, as section 4 measures. This lecture adds the four plain
# parts that turn attention into a layer that can be stacked.
#
# **Afterwards you will be able to**
#
# - compute layer norm with loops and with matrices, and say over which axis it goes, with which variance, and
#   where ε belongs;
# - explain what a residual connection does to gradients, and what else it does;
# - say what dropout does to attention weights that summed to one;
# - build the whole encoder layer, post-LN and pre-LN, and choose between them with evidence;
# - if you go deeper, measure why batch norm is awkward for sentences, and what dropout cures.
#
# **Time** about 85 minutes with views and questions, and 55 for going deeper.
# **Needs** [lecture 5](05_multi_head_attention.ipynb) and
# [lecture 6](06_positional_encoding.ipynb).

# %%
import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_utils import layers
from course_utils.attention import MultiHeadAttention
from course_utils.evaluation import evaluating
from course_utils.positional import PositionalEncoding, positional_encoding
from lecture_kit import data, live, plotting, questions

plotting.use_course_style()
torch.set_printoptions(precision=4, sci_mode=False)
torch.set_num_threads(1)  # small tensors: threads would wait for each other longer than they work

# %% [markdown]
# ## 1. The layer at a glance
#
# ![Two encoder layers, each drawn from bottom to top. A thick purple stream starts at the input x.
# Left, post-LN, 2017: a branch leaves the stream, passes self-attention and dropout, and is added
# back at a plus sign; a layer norm sits on the stream after the plus. Then the same with
# feed-forward and dropout, a plus and a second layer norm: every sum is normalised. Right, pre-LN:
# the layer norms sit at the start of the two branches, before self-attention and before
# feed-forward; on the stream itself there are only the two plus signs, it runs through
# unnormalised.](../figures/encoder_layer.svg)
#
# *The same parts come in two orders. Post-LN normalises each sum, while pre-LN normalises what enters each
# branch.*
#
# | part | what it does | section |
# |---|---|---|
# | layer norm | brings each token to mean 0 and variance 1, then scales and shifts | 2 |
# | residual connection, the plus | keeps the input and adds a change to it | 3 and 4 |
# | dropout | sets random entries to zero in training | 5 and 6 |
# | feed-forward network | transforms each token separately | 7 |
#
# Self-attention is the multi-head attention of lecture 5. It and the feed-forward network are the two
# **sublayers**. The thick line that leads past them is the **stream**. Lecture 8 builds an encoder from such
# layers, hence the name *encoder layer*.
#
# LN is short for layer norm. Post-LN has it after each plus and pre-LN before each sublayer, while the parts are
# the same. Sections 8 and 9 measure what the order decides.

# %% [markdown]
# ## 2. Layer norm, one token at a time
#
# How large the numbers are that a sublayer hands on depends on its weights, and these change with every training
# step. The next sublayer would have to learn from inputs whose size never rests. So layer norm brings each token to a
# known size first.
#
# A token is a vector $x$ of $d_\text{model}$ numbers, its *features*. Layer norm subtracts their mean, divides by
# their spread (the standard deviation σ), and then lets the model choose a new scale and a new centre for each
# feature:
#
# $$\mu = \frac{1}{d_\text{model}} \sum_{k=1}^{d_\text{model}} x_k \qquad
# \sigma^2 = \frac{1}{d_\text{model}} \sum_{k=1}^{d_\text{model}} (x_k - \mu)^2 \qquad
# y_k = \gamma_k\, \frac{x_k - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta_k$$
#
# | symbol | meaning | here |
# |---|---|---|
# | $d_\text{model}$ | number of features of a token, the axis `D` | 5 |
# | $\mu$, $\sigma^2$ | mean and variance of *one* token over its features | a pair per token |
# | $\gamma$, $\beta$ | learned scale and shift per feature, same for all tokens | `gamma`, `beta` |
# | $\varepsilon$ | a small constant that keeps the root away from zero | $10^{-5}$ |
#
# We begin slowly, with a loop over sentences, tokens and features. γ and β are random here, as if training had
# chosen them. The third line that is printed is the token after the division, and it is this one that has mean 0.

# %%
torch.manual_seed(7)
B, T, D = 2, 3, 5
x = torch.randn(B, T, D) * 3 + 2  # (B, T, D)
gamma, beta = torch.randn(D), torch.randn(D)  # (D,) each
eps = 1e-5

by_loop, divided = torch.empty(B, T, D), torch.empty(B, T, D)
for b in range(B):
    for t in range(T):
        mean = sum(x[b, t, k] for k in range(D)) / D
        variance = sum((x[b, t, k] - mean) ** 2 for k in range(D)) / D
        for k in range(D):
            divided[b, t, k] = (x[b, t, k] - mean) / (variance + eps).sqrt()
            by_loop[b, t, k] = gamma[k] * divided[b, t, k] + beta[k]

print("token 1 of sentence 1: ", *[f"{value:6.2f}" for value in x[0, 0]])
print("mean and spread:       ", f"{x[0, 0].mean():6.2f} {x[0, 0].std(correction=0):6.2f}")
print("after the division:    ", *[f"{value:6.2f}" for value in divided[0, 0]])
print("γ:                     ", *[f"{value:6.2f}" for value in gamma])
print("β:                     ", *[f"{value:6.2f}" for value in beta])
print("γ times that, plus β:  ", *[f"{value:6.2f}" for value in by_loop[0, 0]])

# %% [markdown]
# Now we compute all tokens at once. With `keepdim=True` the last axis is kept with size 1, so that each token is
# compared with its own mean. The numbers agree with PyTorch's module and with the course's.


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
print("loop, matrix form, nn.LayerNorm and course_utils agree:", tuple(y.shape))

# %% [markdown]
# Each token is on its own, because its numbers depend neither on the words around it nor on the other sentences
# of the batch. Batch norm, the older relative from image networks, averages over words and sentences instead.
# Sections 10 and 11 compare the two.
#
# ### Three details that are easy to get wrong
#
# **The variance divides by $d_\text{model}$, not by $d_\text{model} - 1$.** PyTorch's `tensor.var()` and
# `tensor.std()` divide by one less than the number of features unless told otherwise. With five features the
# spread then comes out 12 % too large, and with 512 it is 0.1 %. γ can learn such a factor away, so training may
# never show it, but a comparison of numbers does.

# %%
for width in (5, 512):
    token = torch.randn(width)
    ratio = token.std() / token.std(correction=0)
    assert torch.isclose(ratio, torch.tensor((width / (width - 1)) ** 0.5), atol=1e-5)
    print(f"{width:3d} features: with one less the spread is {100 * (ratio - 1):.1f} % larger")

# %% [markdown]
# **ε belongs inside the root.** $\sqrt{\sigma^2 + \varepsilon}$ and $\sigma + \varepsilon$ look alike, but they
# differ for a faint token, one whose features hardly vary. With $\sigma = 0.001$ the variance is $10^{-6}$, ten
# times *less* than ε. With ε outside the root, such a token is blown up to nearly full size, and with ε inside, to
# less than a third of it. That is wanted, because differences as small as these may be no more than rounding errors,
# which should not look like information.
#
# If the features do not vary at all, the form with ε outside takes the slope of $\sqrt{\ }$ at zero, which is
# infinite. The chain rule multiplies it with the centred features, which are zero, and infinity times zero is NaN. So
# the output is still fine, but the *gradient* is not.


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

# %% tags=["hide-input"]
# ε inside keeps gradients finite and the spread below 0.5; outside, NaN and above 0.9
assert gradients["inside"].isfinite().all()
assert gradients["outside"].isnan().any()
assert spreads["inside"] < 0.5 and spreads["outside"] > 0.9

# %% [markdown]
# **γ and β are part of the layer.** After the division every token has mean 0 and, up to ε, length
# $\sqrt{d_\text{model}}$. Two numbers of each token, its centre and its size, are gone for good, so $10 x - 4$ gives
# the same as $x$. That was the aim, since the next sublayer should not depend on how large the weights before it are.
#
# γ and β do not bring these two numbers back, since they are the same for all tokens. They let training choose a
# size and a centre for each *feature*, and start at one and zero. In a module each must be an `nn.Parameter`,
# because an optimiser never sees a plain tensor, and `model.to(device)` leaves it behind. (Whether a model needs
# them is another question. Xu et al., 2019, found that several models do as well or better without.)

# %%
plain = layers.LayerNorm(D)  # γ = 1, β = 0
normed = plain(x)
print("lengths:", *[f"{length:.4f}" for length in normed.norm(dim=-1).flatten()])
print(f"the root of {D} is {D**0.5:.4f}")
print("the same for 10 x - 4:", torch.allclose(plain(10 * x - 4), normed, atol=1e-4))

# %% tags=["hide-input"]
# mean 0 and length √d_model for every token, and the same for 10 x - 4
assert torch.allclose(normed.mean(dim=-1), torch.zeros(B, T), atol=1e-6)
assert torch.allclose(normed.norm(dim=-1), torch.full((B, T), D**0.5), atol=1e-3)
assert torch.allclose(plain(10 * x - 4), normed, atol=1e-4)

# %% tags=["hide-input"]
questions.ask("07", "a-token-of-two-features")

# %% [markdown]
# ## 3. Residual connections: a way for the gradient
#
# Every sublayer $f$, attention or feed-forward, does not replace its input but adds to it:
#
# $$y = x + f(x) \qquad\Longrightarrow\qquad
# \frac{\partial y}{\partial x} = I + \frac{\partial f}{\partial x}$$
#
# On its way from the top of a stack to the bottom, the gradient is multiplied by one such matrix per sublayer.
# Without the $I$, each of these matrices shrinks the gradient, at least with PyTorch's initial weights. With the $I$,
# we can multiply out $(I + J_1)(I + J_2) \cdots$, where $J_n = \partial f_n / \partial x$ belongs to sublayer $n$,
# and one of the terms is $I$ alone. So there is always one path on which nothing multiplies the gradient. The other
# terms may add to it, and a stack of sums can make the gradient larger than it began. (A norm on this path, as in
# post-LN, multiplies again. Section 8 comes back to it.)
#
# We send a random gradient down a stack of feed-forward networks (two linear maps with a ReLU between them,
# section 7), and see how much of it reaches the input. There are four variants, with and without residual, and
# with and without a layer norm after each network.


# %%
def surviving_gradient(depth, residual, with_norm, seed):
    """Length of the gradient at the input, relative to its length at the output."""
    torch.manual_seed(seed)
    x = torch.randn(16, 12, 32, requires_grad=True)  # (B, T, D)
    stream = x
    for _ in range(depth):
        change = layers.PositionwiseFeedForward(32, 128, dropout=0.0)(stream)
        stream = stream + change if residual else change
        if with_norm:
            stream = F.layer_norm(stream, (32,))
    from_above = torch.randn_like(stream)
    stream.backward(from_above)  # as if a loss further up had sent this gradient
    return (x.grad.norm() / from_above.norm()).item()


depths = [1, 2, 4, 8, 16, 32]
surviving = {}
print(f"{'depth':<16}", *[f"{depth:9d}" for depth in depths])
for residual, with_norm in itertools.product([False, True], repeat=2):
    name = ("residual" if residual else "plain") + (" + norm" if with_norm else "")
    surviving[name] = torch.tensor(
        [
            [surviving_gradient(depth, residual, with_norm, seed) for depth in depths]
            for seed in range(5)
        ]
    )  # (seeds, depths)
    print(f"{name:<16}", *[f"{share:9.2g}" for share in surviving[name].median(dim=0).values])

# %% tags=["hide-input"]
at_8, at_32 = ({name: shares[:, k] for name, shares in surviving.items()} for k in (3, 5))
assert (at_32["plain"] < 1e-15).all() and (at_8["plain"] < 1e-4).all()
for name in ("residual", "residual + norm"):
    assert ((surviving[name] > 0.5) & (surviving[name] < 5)).all()
assert ((surviving["plain + norm"] > 1e-2) & (surviving["plain + norm"] < 2)).all()
assert (at_32["residual"] > 1.5 * at_32["residual + norm"]).all()
assert at_32["plain + norm"].median() < 0.7 * at_32["residual + norm"].median()

figure, (left, right) = plotting.panels(2, height=4.2)
axes = {"xscale": "log", "yscale": "log", "xlabel": "networks on top of each other"}
plotting.level(left, 1, "nothing is lost", at=0.3)
plotting.curves(
    left, depths, {"plain": surviving["plain"]}, ylim=(1e-23, 1e3), ylabel="share of it", **axes
)
left.set_title("the gradient that arrives: plain")
plotting.level(right, 1, "", at=0)
names = ["residual", "residual + norm", "plain + norm"]
plotting.curves(right, depths, {name: surviving[name] for name in names}, ylim=(0.02, 6), **axes)
right.set_title("with one repair, or with both")
for ax in (left, right):
    plotting.ticks_at(ax, x=depths)
plotting.ticks_at(right, y=[0.1, 0.3, 1, 3])
plotting.picture(
    figure,
    caption="A plain stack loses the gradient; the residual repairs it, the norm nearly so.",
    alt="The share of the gradient that reaches the input against the depth from 1 to 32, both "
    "axes logarithmic, medians over five seeds with bands for the range. Left, the plain stack "
    "falls to about 10 to the minus 20. Right, on another scale, the other three. With both a "
    "residual connection and a layer norm the curve stays at 1. With the residual alone it rises "
    "to 2 at depth 32, with the norm alone it sinks to 0.4, where its band reaches below 0.1.",
)

# %% [markdown]
# Here and below, a line is the median over the seeds, and the band around it is their range.
#
# A plain stack loses three quarters of the gradient in each network, so at depth 8 one part in 100 000 is left.
# The residual connection repairs that. But look at the curve "plain + norm", which shows that **layer norm alone
# nearly does so, too.** It divides by the spread, in the backward pass as well, and undoes most of the shrinking.
# So vanishing gradients are not the whole reason for the plus.
#
# ## 4. Residual connections: words stay apart
#
# The other reason is what the stream *carries*. Attention averages, and averaging makes words alike. Before
# training, every word looks at all words about equally, so all get nearly the same average. We stack attention
# with layer norm, and measure how similar different words of a sentence are by the average cosine between their
# vectors.


# %%
def similarity(x):
    """Average cosine between different tokens of the same sentence; x is (B, T, D)."""
    directions = F.normalize(x, dim=-1)
    cosines = directions @ directions.mT  # (B, T, T)
    return cosines[:, ~torch.eye(x.shape[1], dtype=torch.bool)].mean().item()


def similarity_by_depth(residual, seed):
    """The similarity of random words, and after each of six attentions."""
    torch.manual_seed(seed)
    x = torch.randn(16, 12, 32)  # (B, T, D)
    found = [similarity(x)]
    for _ in range(6):
        change, _ = MultiHeadAttention(32, 4)(x, x, x)
        x = F.layer_norm(x + change if residual else change, (32,))
        found.append(similarity(x))
    return found


alike = {}
print(f"{'attentions':<17}", *[f"{depth:5d}" for depth in range(7)])
with torch.no_grad():
    for name, residual in [("without residual", False), ("with residual", True)]:
        alike[name] = torch.tensor([similarity_by_depth(residual, seed) for seed in range(5)])
        print(f"{name:<17}", *[f"{value:5.2f}" for value in alike[name].median(dim=0).values])

# %% tags=["hide-input"]
# without residuals tokens get alike, above 0.95; with them they stay below 0.4
assert (alike["without residual"][:, 2] > 0.95).all()
assert (alike["with residual"][:, -1] < 0.4).all()

# %% [markdown]
# Without the plus, all words of a sentence are nearly the same vector after two untrained attention layers, in
# spite of the layer norms, and hardly anything is left to tell them apart. With the plus, each word keeps itself
# and adds what it took from the others.
#
# Dong et al. (2021) prove that stacks of attention alone, with neither residuals nor feed-forward networks, lose
# the differences between words doubly exponentially fast in the depth, because each layer shrinks them by a
# larger factor than the one before.

# %% tags=["hide-input"]
questions.ask("07", "a-stack-without-the-plus")

# %% [markdown]
# ## 5. Dropout
#
# A network can come to rely on one or two entries that happen to give the answer away in its training data and
# nowhere else. Dropout is meant to prevent that by making any entry unreliable. In training it sets each entry to
# zero with probability $p$ and divides the others by $1 - p$:
#
# $$\tilde{x}_k = \frac{m_k}{1 - p}\, x_k, \qquad m_k = 0 \text{ with probability } p
# \text{, else } 1$$
#
# The division keeps the *expectation*, since $\mathbb{E}[\tilde{x}_k] = \frac{1-p}{1-p}\,x_k = x_k$. So in
# evaluation there is nothing to correct, and dropout does nothing at all. (Strictly this holds for linear maps that
# follow. After a ReLU or a softmax, the mean of the outputs is only roughly the output of the mean.)
#
# We do it by hand first. (Which entries PyTorch's own dropout picks, with the same seed, depends on the
# processor. The numbers here should be the same on yours.)


# %%
def drop(x, p):
    """Dropout by hand: zero with probability p, otherwise divided by 1 - p."""
    kept = torch.rand(x.shape) >= p
    return x * kept / (1 - p)


ones = torch.ones(8)
torch.manual_seed(0)
print("training:  ", *[f"{value:.1f}" for value in drop(ones, 0.5)])
average = torch.stack([drop(ones, 0.5) for _ in range(20_000)]).mean(dim=0)
print("average:   ", *[f"{value:.1f}" for value in average])
assert torch.allclose(average, ones, atol=0.05)

dropout = nn.Dropout(0.5)  # PyTorch's module: the same rule
entries = torch.stack([dropout(ones) for _ in range(20_000)])
assert torch.equal(entries.unique(), torch.tensor([0.0, 2.0]))
assert torch.allclose(entries.mean(dim=0), ones, atol=0.05)
dropout.eval()
print("evaluation:", *[f"{value:.1f}" for value in dropout(ones)])
assert torch.equal(dropout(ones), ones)

# %% [markdown]
# A model with dropout has **two modes**, and PyTorch does not guess which one you mean. Call `model.train()`
# before training and `model.eval()` before everything else.

# %% tags=["hide-input"]
questions.ask("07", "a-weight-that-survives")

# %% [markdown]
# ## 6. Dropout on attention weights
#
# In the picture of section 1, dropout follows each sublayer. Many models drop attention weights, too.
#
# ### What happens to rows that summed to one
#
# Lecture 2 made a point of rows that sum to one. Here are four of them with $p = 0.5$.

# %%
torch.manual_seed(13)
words = ["can", "you", "help", "me"]
weights = torch.randn(4, 4).softmax(dim=-1)  # (T, T), each row sums to one
dropped = drop(weights, 0.5)
print("row sums before:", *[f"{total:.2f}" for total in weights.sum(dim=-1)])
print("row sums after: ", *[f"{total:.2f}" for total in dropped.sum(dim=-1)])

# %% tags=["hide-input"]
assert torch.allclose(weights.sum(dim=-1), torch.ones(4))
assert dropped[1].sum() > 1.2 and dropped[2].sum() < 0.8 and dropped[3].sum() == 0
kept = dropped > 0
assert torch.allclose(dropped[kept], 2 * weights[kept])

sums_to = [
    [f"{word}, sum {total:.2f}" for word, total in zip(words, rows.sum(dim=-1), strict=True)]
    for rows in (weights, dropped)
]
plotting.picture(
    plotting.attention_maps(
        [weights, dropped],
        ["after the softmax", "after dropout, p = 0.5"],
        sums_to,
        words,
        limit=1.2,
        query_label="query, sum of its row",
        colour_label="weight α",
        size=(10, 4),
    ),
    caption="Dropout leaves some rows with more than one, some with less, and one with nothing.",
    alt="Two maps of attention weights with the queries and keys can, you, help, me. Left, after "
    "the softmax: every row sums to 1, the largest weight is 0.71, of me for itself. Right, "
    "after dropout with p = 0.5: eleven of sixteen weights are 0, the others are twice as "
    "large, the largest 1.12; the rows sum to 1.12, 1.44, 0.55 and, for me, 0.00.",
)

# %% [markdown]
# The rows no longer sum to one, and the output is no longer a weighted *average* of the values. Here "me" has
# lost every weight, so it takes in nothing at all.
#
# Averaged over many draws each sum is still one. How far a single sum strays depends on how the row spreads its
# weight. After dropout a weight $\alpha_{ij}$ is 0 or $\alpha_{ij}/(1-p)$, which has the variance
# $\frac{p}{1-p}\,\alpha_{ij}^2$. Each weight is dropped independently of the others, so the variances add up:
#
# $$\operatorname{Var}\Bigl[\sum_j \tilde{\alpha}_{ij}\Bigr] = \frac{p}{1-p} \sum_j \alpha_{ij}^2$$
#
# A row that looks at one word only has $\sum_j \alpha_{ij}^2 = 1$, so at $p = 0.5$ its sum is 0 or 2. A row that
# spreads evenly over $S$ words has $\sum_j \alpha_{ij}^2 = 1/S$. The spread in the table is the root of the
# variance.

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

# %% tags=["hide-input"]
figure, axes = plotting.panels(3, height=3.6, sharey=True)
edges = [k / 8 - 1 / 16 for k in range(18)]  # every sum is a multiple of 1/8
for ax, (name, totals) in zip(axes, sums.items(), strict=True):
    plotting.histogram(ax, totals, bins=edges, title=name, xlabel="sum of the row", ylabel="")
    ax.set_xticks([0, 0.5, 1, 1.5, 2])
axes[0].set_ylabel("share of the draws")
plotting.picture(
    figure,
    caption="The more words a row looks at, the nearer to one its sum stays.",
    alt="Three bar charts of the sum of a row of weights after dropout with p = 0.5, over 20000 "
    "draws. All weight on one word: half of the sums are 0, half are "
    "2. Four words alike: 0, 0.5, 1, 1.5 and 2 with shares of 1, 4, 6, 4 and 1 sixteenth. "
    "Sixteen words alike: a narrow bell around 1.",
)

# %% [markdown]
# This has three consequences.
#
# - A row can lose **everything**, with probability $p^S$ for $S$ weights. For $S = 4$ and $p = 0.5$ this happens
#   to one row in sixteen, and then the word takes in nothing in this step.
# - Drop the *weights*, not the *scores*. A score of zero is not a weight of zero, because $\exp(0) = 1$, and the
#   softmax would make every row sum to one again and give weight to words that were meant to be dropped.
# - In evaluation all rows sum to one again, except those that may attend to nothing, which are zero. If yours do
#   not, ask first whether somebody forgot `model.eval()`.
#
# The course's `TransformerLayer` does not drop weights. It follows the text of the paper and applies dropout to each
# sublayer's output, before it is added to the stream (Vaswani et al., 2017, section 5.4). The feed-forward network has
# one more dropout, after its ReLU, which the text does not mention.
#
# In assignment a7 you repair a class for attention with dropout. Watch two things there, which are the width that you
# give to its layer norm, and that mask and softmax come before the dropout.

# %% [markdown]
# ## 7. The position-wise feed-forward network
#
# Attention moves information between tokens. What arrives is a weighted sum of linearly mapped tokens, and
# nothing more is done with it. The second half of the layer does more, on each token separately:
#
# $$\mathrm{FFN}(x) = W_2\, \max(0,\, W_1 x + b_1) + b_2$$
#
# There are two linear maps with weights $W_1$, $W_2$ and biases $b_1$, $b_2$, from $d_\text{model}$ up to
# $d_\text{ff}$ and back, with **one** ReLU, the maximum with 0, *between* them. (Here $x$ is a column, and the
# weights are as `nn.Linear` keeps them.)
#
# The picture follows one word through such a network of the translator that you will build in lecture 8. Most
# hidden units are off for this word, and another word switches on others.
#
# ![From top to bottom: the 64 numbers of the word helfen as a strip of purple and ochre bands; a box W 1 x
# plus b 1, then what is below 0 becomes 0; a strip of 128 hidden units, nearly all blank, with one strong
# and about ten faint purple bands, 22 of 128 units are on; a box W 2 hidden plus b 2; the 64 numbers of the
# output, fainter than the input. A grey line passes the network on the right and meets the output at a plus
# sign.](../figures/feed_forward.svg)

# %%
torch.manual_seed(11)
ffn = layers.PositionwiseFeedForward(d_model=5, d_ff=13, dropout=0.0)
x = torch.randn(2, 3, 5)  # (B, T, D)

token_by_token = torch.empty(2, 3, 5)
for b in range(2):
    for t in range(3):
        hidden = ffn.w_1.weight @ x[b, t] + ffn.w_1.bias  # (d_ff,)
        token_by_token[b, t] = ffn.w_2.weight @ hidden.clamp(min=0) + ffn.w_2.bias

print("token by token equals all at once:", torch.allclose(ffn(x), token_by_token, atol=1e-5))

# %% [markdown]
# "Position-wise" means that no token sees another. If you change one, only its own output changes, and if you
# permute them, the outputs move along. Attention passes the second test too (lecture 2), but not the first.

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
# Why is there one ReLU, and not one for each map? With none, the two maps would collapse into a single one, with
# the matrix $W_2 W_1$. With a second one at the end, the network could only ever *add* to the stream and never
# take away. (Many current models put a smoother function or a gate in the ReLU's place, and a simpler norm in layer
# norm's. [Lecture 8](08_transformer.ipynb) lists what has changed since 2017.)

# %%
without_relu = ffn.w_2(ffn.w_1(x))
one_map = x @ (ffn.w_2.weight @ ffn.w_1.weight).T + ffn.w_2(ffn.w_1.bias)  # W₂ b₁ + b₂
print("no ReLU is one linear map:", torch.allclose(without_relu, one_map, atol=1e-5))
print(f"one ReLU: outputs from {ffn(x).min():.2f} to {ffn(x).max():.2f}")
print(f"with a second one at the end: outputs from {torch.relu(ffn(x)).min():.2f}")

# %% tags=["hide-input"]
# without ReLU the two maps are one, and with it they are not
assert torch.allclose(without_relu, one_map, atol=1e-5)
assert (ffn(x) < 0).any() and (ffn(x) > 0).any()
assert not torch.allclose(ffn(x), one_map, atol=1e-2)

# %% [markdown]
# One sometimes reads that the feed-forward network guards against overfitting, as a regulariser does. The opposite is
# nearer the truth, because it contains most of a layer's parameters, and a model can memorise with it. We count the
# parameters for the sizes of the paper. Then a model, with or without a feed-forward network, has to learn **random**
# labels by heart, one of 8 classes for each of 128 tokens of width 16.


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
numbers = {name: sum(p.numel() for p in part.parameters()) for name, part in parts.items()}
for name, number in numbers.items():
    print(f"{name:<13}{number:>10,d} parameters")
by_heart = {use: [memorised(use, seed) for seed in range(3)] for use in (False, True)}
print("random labels known by heart, three seeds")
print("linear map alone:         ", *[f"{100 * share:.0f} %" for share in by_heart[False]])
print("with feed-forward network:", *[f"{100 * share:.0f} %" for share in by_heart[True]])

# %% tags=["hide-input"]
# below 60 % without the network, above 95 % with it; it holds two thirds of the layer's parameters
assert max(by_heart[False]) < 0.6 and min(by_heart[True]) > 0.95
assert 0.65 < numbers["feed-forward"] / numbers["layer"] < 0.68

# %% [markdown]
# A regulariser would make memorising harder. Dropout is meant to be one (section 13 tries it), whereas the
# network itself is capacity. Two thirds of a layer's parameters are in it, because $d_\text{ff} = 4\,
# d_\text{model}$ in the paper, which makes two matrices with $4\, d_\text{model}^2$ entries each, against four
# with $d_\text{model}^2$.

# %% [markdown]
# ## 8. The whole layer
#
# Now all parts are there. Post-LN, the order of the original paper, normalises each sum:
#
# $$x \leftarrow \mathrm{LN}_1\bigl(x + \mathrm{dropout}(\mathrm{SelfAttention}(x))\bigr) \qquad
# x \leftarrow \mathrm{LN}_2\bigl(x + \mathrm{dropout}(\mathrm{FFN}(x))\bigr)$$
#
# Pre-LN normalises what goes *into* each sublayer and leaves the sum alone:
#
# $$x \leftarrow x + \mathrm{dropout}\bigl(\mathrm{SelfAttention}(\mathrm{LN}_1(x))\bigr) \qquad
# x \leftarrow x + \mathrm{dropout}\bigl(\mathrm{FFN}(\mathrm{LN}_2(x))\bigr)$$
#
# As code, each order takes two or three lines. We take the parts from `course_utils.layers.TransformerLayer` and
# compare with the whole of it. The last word of the second sentence is a pad, so there is a mask in which `True` means
# *may be attended to*. In eval mode dropout does nothing, so we can leave it out. (In assignment a8 you write the layer
# as a class, with its dropout.)


# %%
def post_ln(layer, x, mask=None):
    """One layer that normalises each sum: (B, T, D) -> (B, T, D)."""
    x = layer.layer_norm1(x + layer.self_attn(x, x, x, mask)[0])
    return layer.layer_norm2(x + layer.feed_forward(x))


def pre_ln(layer, x, mask=None):
    """One layer that normalises what enters each sublayer: (B, T, D) -> (B, T, D)."""
    normed = layer.layer_norm1(x)
    x = x + layer.self_attn(normed, normed, normed, mask)[0]
    return x + layer.feed_forward(layer.layer_norm2(x))


torch.manual_seed(5)
x = torch.randn(2, 3, 8)  # (B, T, D)
mask = torch.tensor([[True, True, True], [True, True, False]])[:, None, None, :]  # (B, 1, 1, S)

for name, by_hand, norm_first in [("post-LN", post_ln, False), ("pre-LN", pre_ln, True)]:
    layer = layers.TransformerLayer(8, 2, 11, dropout=0.1, norm_first=norm_first).eval()
    output = by_hand(layer, x, mask)
    assert torch.allclose(layer(x, mask), output, atol=1e-6)
    assert torch.allclose(by_hand(layer, x[1:, :2]), output[1:, :2], atol=1e-5)  # without the pad
    print(f"{name}: by hand equals TransformerLayer")

# %% [markdown]
# There are two norms and not one that is shared, so each has its own γ and β. The dropout acts on the branch and
# not on the sum, because otherwise the stream itself would be full of holes. The second `assert` says what mask
# and layer norm achieve together, namely that a sentence does not notice the pad that follows it.
#
# What does the order do to the stream? In post-LN, each sum is scaled back to spread 1, so the input's share of the
# sum shrinks, too. In pre-LN nothing is scaled back, so from the bottom of an untrained stack to its top the stream
# grows. What reads the stream at the top should not have to cope with a size that depends on the depth, and this is why
# a pre-LN stack gets **one more norm at its end**.

# %% tags=["hide-input"]
questions.ask("07", "half-a-pre-ln-layer")

# %% [markdown]
# ### Two kinds of initial weights
#
# The next experiments use two kinds of initial weights. With PyTorch's default, each map leaves a third of its
# input's variance, and with the rule named after Xavier Glorot, a map between equal widths keeps all of it. (Section
# 12 measures both, but nothing of it is needed here. What matters is that the second kind is larger.) The model is
# small, six layers deep, and so is its task, which is to **reverse** a sequence of eight digits. Each output position
# must find its partner with attention.


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


# %% [markdown]
# Before any training, how large is the stream after each layer, and how alike are its words (the similarity of
# section 4)? We take medians over five seeds.

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


untrained = {}
print(f"{'after layer':<34}", *[f"{layer:5d}" for layer in range(7)])
for (init, xavier), (order, norm_first) in itertools.product(INITS.items(), ORDERS.items()):
    found = torch.tensor([at_start(norm_first, xavier, seed) for seed in seeds])
    untrained[init, order] = found  # (seeds, 1 + layers, 2)
    for name, values in zip(["spread", "alike"], found.median(dim=0).values.T, strict=True):
        print(f"{init:<18} {order:<8} {name:<6}", *[f"{value:5.2f}" for value in values])

# %% tags=["hide-input"]
# the spread stays 1 in post-LN and grows in pre-LN; how alike the tokens are after six layers, within a range
for (_, order), found in untrained.items():
    spread = found[:, :, 0]
    if order == "post-LN":
        assert torch.allclose(spread[:, 1:], torch.ones(len(seeds), 6), atol=1e-3)
    else:
        assert (spread[:, -1] > spread[:, 0]).all()
top = {key: found[:, -1] for key, found in untrained.items()}  # (seeds, 2)
assert 1.3 < top["PyTorch's default", "pre-LN"][:, 0].median() < 1.6
assert 2.5 < top["Xavier", "pre-LN"][:, 0].median() < 3.1
assert (top["Xavier", "post-LN"][:, 1] > 0.9).all()
assert (top["Xavier", "pre-LN"][:, 1] < 0.85).all()
assert (top["PyTorch's default", "post-LN"][:, 1] < 0.7).all()
assert abs(top["PyTorch's default", "post-LN"][:, 1].median() - 0.48) < 0.03
assert abs(top["PyTorch's default", "pre-LN"][:, 1].median() - 0.52) < 0.03
assert abs(alike["without residual"][:, 1].median() - 0.94) < 0.02

# %% [markdown]
# Layer 0 is the input. Keep two observations in mind for the experiment.
#
# - Post-LN holds the spread at 1, while pre-LN lets it grow in six layers, to about 1.4 with PyTorch's weights
#   and to about 2.8 with Xavier's.
# - With Xavier's larger weights, the words of a sentence are **almost the same vector** at the top of a post-LN
#   stack, with a similarity of about 0.97.
#
# The reason for the second lies in what section 4 showed. An untrained attention layer adds much the same vector to
# every word (the outputs of the attention without the plus were 0.94 alike in section 4, with PyTorch's smaller
# weights). What counts is how much this common vector weighs against the stream. Post-LN scales every sum back to
# size 1, so the next branch, which is as large as the one before, weighs as much as that one did, and each time the
# words lose another share of what is their own. In pre-LN the stream grows, so each new branch weighs less against it,
# and the similarity only rises to about 0.71. With PyTorch's smaller weights the branches weigh so little that there is
# no such difference. At the top it is 0.48 in post-LN and 0.52 in pre-LN.

# %% [markdown]
# ## 9. Which learning rates work?
#
# Does the order matter for training? We train six layers for 120 steps of 16 sequences, with three learning
# rates, three seeds, both orders, and three settings:
#
# - PyTorch's default initialisation;
# - the same with **warm-up**, where the learning rate rises from zero to its full value over the first 50 steps;
# - Xavier's initialisation, without warm-up.
#
# That makes 54 models, one after the other, in about a minute.


# %%
def train(model, learning_rate, warmup):
    """Train on 120 batches of 16 fresh sequences; the rate rises over `warmup` steps."""
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate, fused=True)
    for step in range(1, 121):
        optimiser.param_groups[0]["lr"] = learning_rate * min(1.0, step / warmup)
        ids = torch.randint(0, 10, (16, 8))  # (B, T)
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flip(1).flatten())  # reversed
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def accuracy_after_training(seed, norm_first, learning_rate, warmup=1, xavier=False):
    """Share of right digits in 256 fresh sequences."""
    torch.manual_seed(seed)
    model = Reverser(norm_first, xavier)
    train(model, learning_rate, warmup)
    with evaluating(model):
        ids = torch.randint(0, 10, (256, 8))
        return (model(ids).argmax(dim=-1) == ids.flip(1)).float().mean().item()


# %%
learning_rates = [0.003, 0.01, 0.03]


def sweep(**setting):
    """Accuracies of both orders, name -> (seeds, learning rates); prints their medians."""
    found = {}
    print(f"{'learning rate':<14}", *[f"{rate:6}" for rate in learning_rates])
    for order, norm_first in ORDERS.items():
        runs = [
            [accuracy_after_training(seed, norm_first, rate, **setting) for rate in learning_rates]
            for seed in range(3)
        ]
        found[order] = torch.tensor(runs)
        print(f"{order:<14}", *[f"{value:6.2f}" for value in found[order].median(dim=0).values])
    return found


# %% tags=["nbval-ignore-output"] seconds=17
accuracy = {"PyTorch's default": sweep()}

# %% [markdown]
# This is the result with warm-up:

# %% tags=["nbval-ignore-output"] seconds=16
accuracy["default, warm-up"] = sweep(warmup=50)

# %% [markdown]
# And this is the result with Xavier's weights, without warm-up:

# %% tags=["nbval-ignore-output"] seconds=16
accuracy["Xavier, no warm-up"] = sweep(xavier=True)

# %% [markdown]
# Some of these numbers are low. As a comparison, how good is a model that knows *which* digits occur, but not where?
# Its best guess is the most frequent digit of its own sequence, at every place.

# %%
torch.manual_seed(0)
counts = F.one_hot(torch.randint(0, 10, (10_000, 8)), 10).sum(dim=1)  # (sequences, digits)
most_frequent = counts.amax(dim=1)  # how often it occurs, (sequences,)
which_not_where = most_frequent.float().mean().item() / 8
print(f"knows which, not where: {which_not_where:.2f}     knows nothing: 0.10")

# %% tags=["hide-input"]
assert 0.27 < which_not_where < 0.33
figure, axes = plotting.panels(3, height=4.4, sharey=True)
for ax, (setting, by_order) in zip(axes, accuracy.items(), strict=True):
    plotting.level(ax, which_not_where, "which, not where" if ax is axes[2] else "", at=0.03)
    plotting.curves(
        ax,
        learning_rates,
        by_order,
        xscale="log",
        xlabel="learning rate",
        ylim=(0, 1.05),
        title=setting,
    )
    plotting.ticks_at(ax, x=learning_rates)
axes[0].set_ylabel("right digits")
plotting.picture(
    figure,
    caption="Pre-LN tolerates more learning rates; with Xavier's weights no post-LN model learns where.",
    alt="Share of right digits after 120 steps against the learning rate 0.003, 0.01, 0.03; "
    "medians over three seeds with bands for the range; a thin line marks 0.3, knowing which digits "
    "but not where. Left, PyTorch's default: at 0.003 both orders are near 1, at 0.01 pre-LN stays "
    "near 1 while post-LN falls to between 0.2 and 0.75, at 0.03 both fail. Middle, with warm-up: at 0.003 "
    "post-LN is near 0.73 with a wide band, at 0.01 both are above 0.9, at 0.03 pre-LN is still "
    "near 1 and post-LN fails. Right, Xavier: post-LN never gets above the thin line, pre-LN is "
    "near 0.5 at 0.003, near 1 at 0.01 and fails at 0.03.",
)

# %% tags=["hide-input"]
# which rates work, with and without warm-up, as the text says
median = {
    setting: [values.median(dim=0).values for values in by_order.values()]
    for setting, by_order in accuracy.items()
}  # post-LN, pre-LN: (rates,) each

post, pre = median["PyTorch's default"]
assert post[0] > 0.8 and pre[0] > 0.8 and abs(post[0] - pre[0]) < 0.1  # 0.003: no difference
by_order = accuracy["PyTorch's default"]
assert by_order["post-LN"][:, 1].max() < 0.85 < by_order["pre-LN"][:, 1].min()  # 0.01: pre-LN only
assert post[2] < 0.3 and pre[2] < 0.45  # 0.03: neither

post, pre = median["default, warm-up"]
assert post[1] > 0.7 and pre[1] > 0.8  # with warm-up, post-LN copes with 0.01
assert post[2] < 0.3 and pre[2] > 0.7  # and pre-LN with 0.03
assert accuracy["default, warm-up"]["post-LN"][:, 0].min() < 0.85  # 0.003: not done in time

post, pre = median["Xavier, no warm-up"]
assert accuracy["Xavier, no warm-up"]["post-LN"].max() < 0.4  # no seed, no rate
assert accuracy["Xavier, no warm-up"]["pre-LN"][:, 1].min() > 0.8

# %% [markdown]
# This is what we found, and what we did not find:
#
# - **Pre-LN works over a wider range of learning rates**, in all three settings. At 0.01 without warm-up even its
#   worst model is far better than post-LN's best. That agrees with Xiong et al. (2020).
# - **At the right learning rate and with small initial weights, post-LN is just as good.** At 0.003 without
#   warm-up the two do equally well. If this is the only rate you try, you will see no difference.
# - **Warm-up makes larger rates usable for both**, by one step of our grid, so it is not a remedy for post-LN alone.
#   For pre-LN that widens the range, while for post-LN it moves the range up. With warm-up 50 of the 120 steps are
#   smaller, and at 0.003 some post-LN models are no longer done in time.
# - **The initialisation can decide everything.** With Xavier's weights and no warm-up, post-LN does not get beyond
#   "which, not where" at any of the three rates within these 120 steps. That fits section 8. The words of this stack
#   are alike at the top from the start, which may be why attention does not find the partner there.
#
# This is one toy task, one width and one short budget. Which of the two orders ends up better in large models is
# disputed, while everybody agrees that pre-LN is easier to train (Xiong et al., 2020; Liu et al., 2020).
#
# ## Summary
#
# - Layer norm computes $y = \gamma\,(x - \mu)/\sqrt{\sigma^2 + \varepsilon} + \beta$ for each **token** over its
#   features, with the variance divided by $d_\text{model}$ and ε inside the root.
# - A residual connection gives the gradient a path on which nothing multiplies it, and keeps words apart that
#   attention would make alike.
# - Dropout keeps each entry's expectation. Rows of attention weights then sum to one on average only, with
#   variance $\frac{p}{1-p}\sum_j \alpha_{ij}^2$. In evaluation it does nothing.
# - The feed-forward network has two linear maps with one ReLU between them, works on each token separately, and
#   contains two thirds of the parameters where $d_\text{ff} = 4\, d_\text{model}$. It is capacity and not a
#   regulariser.
# - In our task pre-LN tolerates a wider range of learning rates than post-LN. How much wider depends on the
#   initial weights.
#
# **Now you:** [assignment a7, dropout and layer
# norm](../exercises/a7_dropout_and_layer_norm/a7_dropout_and_layer_norm.ipynb), and then [assignment a8, the
# transformer layer](../exercises/a8_transformer_layer/a8_transformer_layer.ipynb). After that, [lecture
# 8](08_transformer.ipynb) puts the layers together. This is the end of the core. Sections 10 to 14 go deeper
# (batch norm, gradients at the start, dropout rates, why norms help), and you can skip them.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 2, 4, 5 and 8 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** `x` has the shape $(32, 20, 512)$. How many means does layer norm compute, and how many
# entries does its γ have?
#
# <details><summary>Answer</summary>
#
# There is one mean per token, which makes $32 \cdot 20 = 640$. γ has 512 entries, one per feature.
#
# </details>
#
# **2.** You multiply weights and bias of a sublayer's last linear map by 10. A layer norm follows directly. How
# does its output change?
#
# <details><summary>Answer</summary>
#
# It does not change at all, up to ε, because the map's output is 10 times as large and layer norm does not see a
# common factor. With a residual in between the factor does not cancel, and in $\mathrm{LN}(x + 10 f(x))$ the
# branch drowns the stream.
#
# </details>
#
# **3.** A colleague computes `x.std(dim=-1, keepdim=True) + eps` as the divisor. Name two mistakes.
#
# <details><summary>Answer</summary>
#
# `std` divides by $d_\text{model} - 1$, and ε is outside the root, so tokens whose features hardly vary come out
# much larger than they should. (Where all features are equal, PyTorch's own `std` returns a slope of zero. A root
# that you take yourself gives NaN, as in section 2.)
#
# </details>
#
# **4.** A row of weights is $(0.5, 0.5)$, and $p = 0.5$. Which sums are possible after dropout, and how often do
# they occur?
#
# <details><summary>Answer</summary>
#
# The sums are 0, 1 and 2 with probabilities 1/4, 1/2 and 1/4, because each weight becomes 0 or 1. The mean is 1,
# and the variance is $\frac{0.5}{0.5}(0.25 + 0.25) = 0.5$.
#
# </details>
#
# **5.** In a pre-LN stack each branch adds a vector that is independent of the stream and has variance 1 in each
# feature. The stream begins with variance 1, too. What is its spread after six layers? After how many sublayers has the
# spread doubled?
#
# <details><summary>Answer</summary>
#
# Variances of independent vectors add up. Six layers have twelve sublayers, so the variance is 13 and the spread
# $\sqrt{13} \approx 3.6$. It has doubled when the variance is 4, which is after three sublayers.
#
# </details>
#
# **6.** How many parameters does an encoder layer with $d_\text{model} = 8$ and $d_\text{ff} = 11$ have?
#
# <details><summary>Answer</summary>
#
# It has 515. The four maps of the attention have $4 \cdot (8 \cdot 8 + 8) = 288$, the feed-forward network has
# $8 \cdot 11 + 11 + 11 \cdot 8 + 8 = 195$, and each of the two norms has $2 \cdot 8 = 16$.
#
# </details>
#
# **7.** By mistake the dropout with $p = 0.1$ acts on the sum $x + f(x)$, in each of twelve sublayers of a pre-LN
# stack. How likely is it that an entry of the input arrives at the top without having been set to zero?
#
# <details><summary>Answer</summary>
#
# It has to survive twelve times, so the probability is $0.9^{12} \approx 0.28$. With dropout on the branches alone it
# is 1.
#
# </details>
#
# **8.** In one layer, training has set γ and β of both norms to zero. What does the layer do to its input in pre-LN,
# and what in post-LN?
#
# <details><summary>Answer</summary>
#
# In pre-LN each sublayer reads zeros, so it returns what its biases make of them, which is the same vector for every
# word. The layer adds this vector to the stream, and the words stay as far apart as before. In post-LN the norm is on
# the stream itself. Every word comes out as zeros, and everything is lost.
#
# </details>

# %% [markdown]
# ## 10. Going deeper: which axes?
#
# Before layer norm there was batch norm (Ioffe and Szegedy, 2015), first shown on image networks. It has the same
# formula but other axes. A batch of sentences has three axes, $(B, T, D)$, and the question is always **which
# entries share one mean.**
#
# ![Three panels, each with the same two sentences as grids, one row per token and one column per
# feature: can you help me, and i read followed by two hatched pads. Filled cells share one mean.
# Batch norm: the third column in both sentences, pads too; one mean for each feature, D means.
# Layer norm: the row of the token you alone; one mean for each token, B times T means. Third panel,
# titled not in a transformer: all cells of the first sentence; one mean for each sentence, B
# means.](../figures/norm_axes.svg)
#
# *Batch norm averages a column over the whole batch, while layer norm averages a single row.*
#
# | | averaged over | means | learned parameters |
# |---|---|---|---|
# | batch norm | $B$ and $T$ | one per feature: $d_\text{model}$ | γ, β: a pair per feature |
# | layer norm in a transformer | the features | one per token: $B \cdot T$ | γ, β: a pair per feature |
#
# Here are both by loop, on the same tokens as in section 2. `nn.BatchNorm1d` wants the features on axis 1.

# %%
torch.manual_seed(7)
x = torch.randn(B, T, D) * 3 + 2  # (B, T, D), as in section 2

batch_by_loop = torch.empty(B, T, D)
for k in range(D):
    column = [x[b, t, k] for b in range(B) for t in range(T)]
    mean = sum(column) / len(column)
    variance = sum((entry - mean) ** 2 for entry in column) / len(column)
    batch_by_loop[:, :, k] = (x[:, :, k] - mean) / (variance + eps).sqrt()

batch_norm = nn.BatchNorm1d(D)
by_module = batch_norm(x.mT).mT  # (B, D, T) inside, (B, T, D) outside

assert torch.allclose(by_module, batch_by_loop, atol=1e-5)
assert not torch.allclose(by_module, normed, atol=1e-1)
print("loop equals nn.BatchNorm1d:", torch.allclose(by_module, batch_by_loop, atol=1e-5))

# %% [markdown]
# Layer norm is sometimes said to work "for each training example". That fits where an example is a single vector,
# but in a transformer it works **for each token**. `nn.LayerNorm(D)` normalises the last axis. `nn.LayerNorm((T,
# D))` would be the version per sentence, and then a word's output would depend on the words around it.
#
# A simple test tells the three apart. Change one token, and see which outputs change.


# %%
def normalise(x, axes):
    """Mean 0 and variance 1 over the given axes of x (B, T, D)."""
    centred = x - x.mean(dim=axes, keepdim=True)
    return centred / (centred.square().mean(dim=axes, keepdim=True) + eps).sqrt()


changed_input = x.clone()
changed_input[0, 1] += torch.tensor([1.0, -2.0, 0.5, 3.0, 0.0])  # token 2 of sentence 1

moved = {}
choices = {"layer norm, D": (2,), "batch norm, B T": (0, 1), "sentence, T D": (1, 2)}
for name, axes in choices.items():
    difference = (normalise(changed_input, axes) - normalise(x, axes)).abs()  # (B, T, D)
    moved[name] = difference.amax(dim=2) > 1e-4  # (B, T)
    print(f"{name:<16} tokens that changed: {moved[name].sum():d} of {B * T}")

# %% tags=["hide-input"]
# how many tokens change, and that PyTorch's own norms give the same
assert [rows.sum() for rows in moved.values()] == [1, B * T, T]
assert all(rows[0, 1] for rows in moved.values())
assert torch.allclose(normalise(x, (2,)), nn.LayerNorm(D)(x), atol=1e-5)
assert torch.allclose(normalise(x, (1, 2)), nn.LayerNorm((T, D))(x), atol=1e-5)
assert torch.allclose(normalise(x, (0, 1)), by_module, atol=1e-5)

# %% [markdown]
# Only under layer norm is each token on its own, whereas under batch norm the whole batch moves.
#
# Choose the axes yourself, for a batch of two sentences whose pads are zeros. Around the framed number (feature 3
# of "you") a line encloses every number that takes part in its mean, before the norm and after it.
#
# - **Who shares?** Tick B and T instead of D. How many numbers share one mean now, and what would the mean be
#   without the zeros of pads?
# - **Who moves?** Change 4.8 to −4.8, and see which tokens get a Δ. Under which choices of axes does even a pad move?
# - **What is lost?** Press *numbers as given*, tick D alone, and press *10 x − 4*. All of "you" becomes ten times
#   as large. What moves after the norm? Find a choice of axes under which something does.

# %% tags=["hide-input"]
sentences = [["can", "you", "help", "me"], ["i", "read", "<pad>", "<pad>"]]
torch.manual_seed(7)
batch = (torch.randn(2, 4, 6) * 3 + 2).round(decimals=1)  # (B, T, D)
batch[1, 2:] = 0

live.normalisation_view(
    batch, sentences, caption="Which numbers of a batch share one mean?", chosen=(0, 1, 2)
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# With B and T, 8 numbers share the mean 1.64, and two of them are zeros of pads, without which it would be 2.18.
# Under layer norm a pad is averaged only with itself and stays zero. After the change to −4.8, a pad moves whenever
# both B and T are ticked, since only then does it share a mean with the word "you", which is in another sentence and at
# another place. The factor 10 is lost under D, because nothing moves after the norm. With B and T, for example,
# something does.
#
# </details>

# %% tags=["hide-input"]
column = batch[:, :, 2].flatten()
assert abs(batch[0, 1, 2] - 4.8) < 1e-6
assert abs(column.mean() - 1.64) < 0.005 and abs(column[:6].mean() - 2.18) < 0.005
assert (normalise(batch, (2,))[1, 2:] == 0).all()
flipped, shifted = batch.clone(), batch.clone()
flipped[0, 1, 2] *= -1
shifted[0, 1] = 10 * shifted[0, 1] - 4
for axes in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]:
    difference = (normalise(flipped, axes) - normalise(batch, axes)).abs()
    assert (difference[1, 2:].max() > 1e-4) == ({0, 1} <= set(axes))
assert (normalise(shifted, (2,)) - normalise(batch, (2,))).abs().max() < 1e-4
assert (normalise(shifted, (0, 1)) - normalise(batch, (0, 1))).abs().max() > 1
print("the means, who moves and what is lost, as the text says")

# %% [markdown]
# The next picture shows four of the eight choices side by side. (Instance norm is another one from image
# networks, which we will not need.)

# %% tags=["hide-input"]
CHOICES = {
    ("D",): "layer norm",
    ("B", "T"): "batch norm",
    ("T", "D"): "one mean per sentence",
    ("T",): "instance norm",
}
PLACE = {"B": 0, "T": 1, "D": 2}  # of feature 3 of "you", on each axis
figure, ax = plotting.panels(1, height=3.8, width=10)
ax.remove()
grid = figure.subplots(2, 4)
for (chosen, name), (upper, lower) in zip(CHOICES.items(), grid.T, strict=True):
    takes_part = torch.zeros(2, 4, 6, dtype=torch.bool)  # (B, T, D)
    # A chosen axis is taken whole, any other only at that place.
    takes_part[tuple(slice(None) if axis in chosen else at for axis, at in PLACE.items())] = True
    for ax, cells, rows in zip((upper, lower), takes_part, sentences, strict=True):
        look = {"limit": 1.0, "numbers": False, "bar": False, "query_label": "", "key_label": ""}
        plotting.attention_map(torch.full((4, 6), 0.08), rows, None, ax, **look)  # faint
        for row, column in cells.nonzero().tolist():
            plotting.fill_cell(ax, row, column)
        ax.set(aspect="equal", xticks=[])
    plotting.outline_cell(upper, 1, 2)
    upper.set_title(f"{' and '.join(chosen)}:\n{name}")
    lower.set_xlabel("six features")
plotting.picture(
    figure,
    caption="Which entries share a mean with the framed one: four of the eight choices.",
    alt="Four panels with two sentences each, tokens as rows and six features as columns. The "
    "third feature of you is framed; filled cells take part in its mean. Over D, layer norm: "
    "the row of you. Over B and T, batch norm: the third column in both sentences, pads too. "
    "Over T and D: the whole first sentence. Over T, instance norm: the third column of the "
    "first sentence only.",
)

# %% [markdown]
# **Check yourself.** `x` has the shape $(32, 20, 512)$. How many means does batch norm compute, and how many does
# `nn.LayerNorm((20, 512))`?
#
# <details><summary>Answer</summary>
#
# Batch norm computes one per feature, 512. The version per sentence computes one per sentence, 32.
#
# </details>

# %% [markdown]
# ## 11. Going deeper: why not batch norm?
#
# Batch norm works well for images. In a transformer four things make it awkward, and all four can be measured.
#
# **1. The future leaks.** In training, batch norm averages over all positions of the sentence, and later words
# are among them. A causal mask in the attention cannot help, because the leak is in the norm.

# %%
torch.manual_seed(0)
norm = nn.BatchNorm1d(16)  # in training mode
sentence = torch.randn(1, 8, 16)  # one sentence of eight words
other_ending = sentence.clone()
other_ending[0, 7] = torch.randn(16)

leak_batch = (norm(sentence.mT) - norm(other_ending.mT)).mT[0, 0].abs().max()
leak_layer = (nn.LayerNorm(16)(sentence) - nn.LayerNorm(16)(other_ending))[0, 0].abs().max()
assert leak_batch > 0.05 and leak_layer == 0
print("the last word changed; the first word's output moves")
print(f"under batch norm by {leak_batch:.2f}")
print(f"under layer norm by {leak_layer:.2f}")

# %% [markdown]
# **2. One entry has no spread.** A decoder writes one word at a time. With a single sentence, each feature then
# has one entry, and there is no spread to divide by, so batch norm as used in training refuses. It needs a second
# mode that takes mean and variance from elsewhere. Layer norm does not even notice.

# %%
one_word = torch.randn(1, 16)
try:
    nn.BatchNorm1d(16)(one_word)
except ValueError as error:
    print("batch norm:", str(error).split(",")[0])
else:
    raise AssertionError("batch norm accepted one entry per feature")
print("layer norm:", tuple(nn.LayerNorm(16)(one_word).shape))

# %% [markdown]
# **3. The two modes disagree.** In training, batch norm uses mean and variance of the batch at hand. In
# evaluation a sentence must not depend on which others happen to be translated with it, so batch norm uses
# averages that it collected in training, the *running statistics*. The same words come out differently in the two
# modes, and the more differently, the smaller the batch is.
#
# **4. Pads count.** How many pads a sentence gets depends on its longest neighbour. If they are zeros, they pull
# the mean towards zero and, unless the mean was large, shrink the variance.
#
# We measure 3 and 4 on German sentences from lecture 1's corpus, with random word vectors. The running statistics
# are a plain average (`momentum=None`) over 100 batches without pads. That is a mild case, because in real
# training the vectors move, and an average over old batches is out of date. Both differences are relative to the
# size of the output.

# %%
corpus = data.sample_pairs(2_000, seed=0)
german, english = data.vocabularies(corpus)
table = data.collate(corpus, german, english).source  # (2000, S) padded to the longest


def some_words(batch_size):
    """Ids of the real words of a random batch, without pads: (words,)."""
    ids = table[torch.randint(len(table), (batch_size,))]
    return ids[ids != data.PAD_ID]


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

# %% tags=["hide-input"]
at_1, at_64 = mode_gaps[:, 0], mode_gaps[:, -1]
assert ((at_1 > 0.2) & (at_1 < 0.5)).all() and ((at_64 > 0.02) & (at_64 < 0.08)).all()
assert ((at_1 / at_64 > 5) & (at_1 / at_64 < 12)).all()  # one over the root of 64 would give 8
assert ((pad_gaps[:, -1] > 0.5) & (pad_gaps[:, -1] < 0.7)).all()

figure, (left, right) = plotting.panels(2, height=4.4)
plotting.curves(
    left,
    batch_sizes,
    {"batch norm": 100 * mode_gaps, "layer norm": [0] * 4},
    xscale="log",
    xlabel="sentences in a batch",
    ylabel="difference in %",
    ylim=(-2, 45),
    title="training against evaluation mode",
)
plotting.ticks_at(left, x=batch_sizes)
plotting.curves(
    right,
    [100 * share for share in shares],
    {"batch norm": 100 * pad_gaps, "layer norm": [0] * 4},
    xlabel="pads among the entries in %",
    title="with pads against without",
)
plotting.ticks_at(right, x=[0, 20, 40, 60])
plotting.picture(
    figure,
    caption="Batch norm: small batches and pads change the words. Layer norm: neither does.",
    alt="Two panels, medians over five seeds with bands for the range; layer norm lies at 0 in "
    "both. Left: how far batch norm's training mode differs from its evaluation mode, against"
    " the sentences in a batch: about 33 % at 1, 16 % at 4, 8 % at 16 and 4 % at 64. Right: "
    "how far the words of 16 sentences move when pads are added, against the share of pads: 0"
    " without pads, about 12 % at 20 %, 30 % at 40 %, 60 % at 60 %.",
)

# %% [markdown]
# The gap between the modes falls like one over the root of the batch size, because a mean of few words is a rough
# estimate. Shen et al. (2020) looked into transformers in training and found that the statistics of a batch
# fluctuate much more there than in a network for images. Wang et al. (2022) found that the gap between the two
# modes is the main reason why batch norm does worse on text.
#
# Awkward is not impossible. A mask keeps pads out of the statistics, and large batches make them steadier. (The
# leak stays, wherever the future must be hidden.) Layer norm needs none of this, because each token is on its
# own, in training as in evaluation. It normalises pads too, which does no harm there, but attention still needs
# its mask.
#
# Is parallel training a reason against batch norm? Not by itself. Networks with batch norm have been trained on 256
# GPUs at once (Goyal et al., 2017), where each GPU uses its own part of the batch for the statistics.
# `nn.SyncBatchNorm` shares them between GPUs, at the price of some communication. The examples of a batch do depend
# on one another, and that hurts for the reasons measured above.
#
# **Check yourself.** All sentences of your batches are equally long, and the batches are large. Which of the four
# points are left for a decoder?
#
# <details><summary>Answer</summary>
#
# The first, the leak, is left, and in training it is the worst. The second is left when the decoder writes word
# by word, because then batch norm needs its evaluation mode. The third is small in large batches, and the fourth
# is gone.
#
# </details>

# %% [markdown]
# ## 12. Going deeper: gradients at the start
#
# ### How large are the initial weights?
#
# The initial weights of a linear map are a choice. Multiply their variance by the number of inputs, and you get
# roughly the factor by which the map changes the variance of its input.


# %%
def gain(weight):
    """Roughly the factor by which a map changes the variance of its input; weight is (out, in)."""
    return (weight.var() * weight.shape[1]).item()


torch.manual_seed(0)
square = nn.Linear(64, 64).weight
library = nn.Transformer(64, 4, 1, 1, 128, batch_first=True).encoder.layers[0].self_attn
gains = {"nn.Linear": gain(square), "Xavier": gain(nn.init.xavier_uniform_(square))}
gains["nn.Transformer: output map"] = gain(library.out_proj.weight)
gains["nn.Transformer: Q, K, V"] = gain(library.in_proj_weight)
for name, value in gains.items():
    print(f"{name:<28}{value:.2f}")
print("one matrix for Q, K and V:", tuple(library.in_proj_weight.shape))

# %% tags=["hide-input"]
# a third for `nn.Linear`, one for Xavier, a half for the library's queries, keys and values
assert abs(gains["nn.Linear"] - 1 / 3) < 0.02
for name in ("Xavier", "nn.Transformer: output map"):
    assert abs(gains[name] - 1) < 0.05
assert abs(gains["nn.Transformer: Q, K, V"] - 0.5) < 0.03

# %% [markdown]
# PyTorch's `nn.Linear` starts small, since a third of the variance is left. The rule named after Xavier Glorot
# (Glorot and Bengio, 2010) gives the weights the variance one over the mean of the numbers of inputs and outputs,
# which keeps the variance between equal widths. `nn.Transformer` follows that rule. But it stores the maps for
# queries, keys and values as one matrix, three times as high as wide, and draws it as one. The rule then sees
# three times as many outputs, and these maps get half the variance.
#
# ### How large are the gradients?
#
# Why does post-LN fail where pre-LN does not? One suspect is the size of the first gradients, because where they are
# large, the first steps may be too large. Xiong et al. (2020) computed their size. Their theorem 1 is an upper bound
# for the gradient in the feed-forward network of the *last* layer, with weights of Xavier's size. In post-LN the
# bound does not depend on the number of layers $L$. In pre-LN it falls like $1/\sqrt{L}$, since the last norm divides
# by the spread of the stream, which section 8 saw growing.
#
# A bound is not yet a size, so we measure ten pairs of random models. The two models of a pair have the same
# initial weights and see the same digits, and only the order differs.


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
ratios = {init: by_layer[init, "post-LN"] / by_layer[init, "pre-LN"] for init in INITS}
stack_sizes = [2, 4, 8, 16]
of_last = {
    order: torch.tensor(
        [[gradient_by_layer(first, True, n, seed)[-1] for n in stack_sizes] for seed in range(10)]
    )
    for order, first in ORDERS.items()
}  # (seeds, stack sizes) each

print("post-LN / pre-LN, layers 1 to 6, medians of ten pairs")
for init, ratio in ratios.items():
    print(f"{init:<18}", *[f"{value:5.1f}" for value in ratio.quantile(0.5, dim=0)])
print("gradient in the last of 2, 4, 8, 16 layers, Xavier")
for order, lengths in of_last.items():
    print(f"{order:<18}", *[f"{value:5.2f}" for value in lengths.quantile(0.5, dim=0)])

# %% tags=["hide-input"]
lowest = {init: ratio.min(dim=0).values for init, ratio in ratios.items()}  # (layers,)
assert (lowest["PyTorch's default"] > 1).all()  # in each of ten pairs, in each layer
assert (lowest["Xavier"][4:] > 1.2).all() and (lowest["Xavier"][:2] < 0.9).all()
for init, (low, high) in zip(INITS, [(1.2, 1.7), (1.9, 3)], strict=True):
    assert low < ratios[init].quantile(0.5, dim=0)[-1] < high
# Without pairs: the ranges of the two orders part in layers 5 and 6, with Xavier's weights only.
parted = {
    init: by_layer[init, "post-LN"].min(dim=0).values > by_layer[init, "pre-LN"].max(dim=0).values
    for init in INITS
}
assert parted["Xavier"].tolist() == [False] * 4 + [True] * 2
assert not parted["PyTorch's default"].any()
post, pre = (of_last[order].quantile(0.5, dim=0) for order in ORDERS)
assert 1.5 < pre[0] / pre[-1] < 2 and post[-1] > post[0]  # pre-LN falls, post-LN does not
assert 1.4 < post[0] / pre[0] < 2.4 and 3.5 < post[-1] / pre[-1] < 5.5
assert of_last["post-LN"][:, -1].min() > of_last["pre-LN"][:, -1].max()  # 16 layers: parted
assert (of_last["post-LN"][:, :2].amin(dim=0) < of_last["pre-LN"][:, :2].amax(dim=0)).all()

figure, (left, right) = plotting.panels(2, height=4.6)
plotting.level(left, 1, "equal", at=0.8)
plotting.curves(
    left,
    range(1, 7),
    {"default": ratios["PyTorch's default"], "Xavier": ratios["Xavier"]},
    yscale="log",
    ylim=(0.5, 6),
    xlabel="layer, counted from the input",
    ylabel="gradient for W₂: post-LN / pre-LN",
    title="ten pairs, six layers",
)
plotting.ticks_at(left, x=range(1, 7), y=[0.5, 1, 2, 4])
plotting.curves(
    right,
    stack_sizes,
    of_last,
    xscale="log",
    ylim=(0, 0.65),
    xlabel="number of layers",
    ylabel="gradient for W₂",
    title="the last layer, Xavier",
)
plotting.ticks_at(right, x=stack_sizes)
plotting.picture(
    figure,
    caption="Post-LN has the larger first gradients, the more so near the top and in deep stacks.",
    alt="Two panels, medians over ten seeds with bands for the range. Left, post-LN's gradient for "
    "W2 of the feed-forward network divided by pre-LN's, layer by layer, on a logarithmic axis. "
    "With PyTorch's default it rises from 1.2 to 1.4, and the band stays above 1. With Xavier's "
    "weights it rises from 1.3 to 2.4; the band reaches below 1 in the first three layers and lies "
    "between 2 and 4.3 in layer 6. Right, the gradient in the last of 2, 4, 8 and 16 layers: post-LN "
    "stays between 0.25 and 0.39, pre-LN falls from 0.14 to 0.08; the bands overlap at 2 and 4 layers, "
    "touch at 8 and are apart at 16.",
)

# %% [markdown]
# The direction is that of the theorem. The last layer's gradient in pre-LN shrinks as the stack grows, while in
# post-LN it does not, so their ratio rises from about 2 to about 4. The size is not exactly that of the bound,
# because from 2 to 16 layers $1/\sqrt{L}$ would fall by a factor of 2.8, whereas pre-LN's gradient falls by less
# than 2.
#
# With PyTorch's default, post-LN has the larger gradient in each of the ten pairs and in each layer, but only by a
# little, 1.4-fold at the top. With Xavier's weights it is 2.4-fold at the top, while in the lower layers some pairs
# say the opposite. Without pairing we would see less, because single models scatter widely, and the ranges of the ten
# post-LN and the ten pre-LN gradients separate only in layers 5 and 6 of the Xavier stack (not drawn). One model of
# each kind proves nothing.
#
# Does a large gradient matter? Plain gradient descent makes a large step of it. Adam divides each gradient by its
# typical size, so for Adam the size alone explains little. A stack in which all words look alike is another
# matter, because no rescaling of gradients tells them apart.
#
# **Check yourself.** Why is the ratio within a pair steadier than the two gradients themselves?
#
# <details><summary>Answer</summary>
#
# Both models of a pair have the same weights and the same digits. Their effect on both gradients cancels in the
# ratio, so what is left is mostly the effect of where the norm stands.
#
# </details>

# %% [markdown]
# ## 13. Going deeper: dropout on a task that is easy to overfit
#
# "Try several dropout rates" needs a model, data, a measure, more than one seed, and something to compare with.
# Here they are.
#
# Our data are sequences of eleven letters from an alphabet of twenty, and the label says whether most of them are
# among the first ten of the alphabet. There are only 200 sequences to train on, for a model of two layers.
#
# In the first version, about 15 % of all labels are wrong, in training and elsewhere. A wrong label follows no
# rule, so it can only be learned by heart, and on average nobody can be right more than 85 % of the time. In the
# second version, all labels are right.


# %%
def votes(size, noise):
    """Sequences (size, 11) and their labels (size,), a share of which is flipped."""
    ids = torch.randint(0, 20, (size, 11))
    labels = ((ids < 10).sum(dim=-1) > 5).long()
    return ids, torch.where(torch.rand(size) < noise, 1 - labels, labels)


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
# The dropout rate is the same on the input, on each sublayer's output and after the ReLU. After every 40 of 200 steps
# we measure the *accuracy* and the *loss* (cross-entropy), which also asks how sure the model is of its answers,
# right and wrong. We do so on three sets, the 200 sequences for training, 1000 for **validation**, and 1000 for a
# **test**.
#
# Why do we need two further sets? Dropout has a cheap rival, **early stopping**, which keeps the model of the
# step at which the validation loss is smallest. That choice uses the validation set, so what it is worth must be
# read off the test set. The cell trains eighteen models in about half a minute.


# %%
def measure(model, sets):
    """Loss and accuracy on each set of data, one after the other."""
    found = []
    with evaluating(model):
        for ids, labels in sets:
            logits = model(ids)  # (B, 2)
            right = (logits.argmax(dim=-1) == labels).float().mean()
            found += [F.cross_entropy(logits, labels).item(), right.item()]
    return found


def watch(dropout, noise, seed):
    """Loss and accuracy on training, validation and test data, every 40 of 200 steps: (6, 6)."""
    torch.manual_seed(seed)  # same seed, same data and same initial weights, whatever the rate
    sets = [votes(size, noise) for size in (200, 1000, 1000)]
    model = Voter(dropout)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.003, fused=True)
    ids, labels = sets[0]
    found = [measure(model, sets)]
    for step in range(1, 201):
        picked = torch.randint(0, 200, (32,))
        optimiser.zero_grad()
        F.cross_entropy(model(ids[picked]), labels[picked]).backward()
        optimiser.step()
        if step % 40 == 0:
            found.append(measure(model, sets))
    return found


# %%
rates = [0.0, 0.3, 0.7]
TRAIN_LOSS, TRAIN_RIGHT, VALIDATION_LOSS, VALIDATION_RIGHT, TEST_LOSS, TEST_RIGHT = range(6)


def stopped_early(found):
    """What each model measured where its validation loss was smallest: (3, 6, 6) -> (3, 6)."""
    best = found[:, :, VALIDATION_LOSS].argmin(dim=1)  # one of six times for each seed, (3,)
    return found[torch.arange(3), best]


def compare_rates(noise):
    """Train three models for each rate and print their medians; rate -> (3, 6, 6)."""
    by_rate = {p: torch.tensor([watch(p, noise, seed) for seed in range(3)]) for p in rates}
    print("           after 200 steps: training        test         stopped early: test")
    print("medians                  loss  right     loss  right             loss  right")
    for p, found in by_rate.items():
        end, early = found[:, -1].median(dim=0).values, stopped_early(found).median(dim=0).values
        print(f"p = {p}    {end[TRAIN_LOSS]:20.2f}{end[TRAIN_RIGHT]:7.2f}", end="")
        print(f"{end[TEST_LOSS]:9.2f}{end[TEST_RIGHT]:7.2f}", end="")
        print(f"{early[TEST_LOSS]:17.2f}{early[TEST_RIGHT]:7.2f}")
    return by_rate


# %% tags=["nbval-ignore-output"] seconds=14
noisy = compare_rates(noise=0.15)

# %% [markdown]
# And here is the result with right labels only:

# %% tags=["nbval-ignore-output"] seconds=15
clean = compare_rates(noise=0.0)

# %% tags=["hide-input"]
end_0, end_3 = noisy[0.0][:, -1], noisy[0.3][:, -1]  # (3, 6) each
early, both = stopped_early(noisy[0.0]), stopped_early(noisy[0.3])
assert end_0[:, TRAIN_RIGHT].min() > 0.9  # p = 0: known by heart, wrong labels included,
assert end_0[:, TEST_LOSS].min() > 0.8  # and worse than "fifty-fifty", which has the loss 0.69
assert (end_3[:, TEST_LOSS] < 0.7 * end_0[:, TEST_LOSS]).all()  # p = 0.3: much less sure,
gained = (end_3 - end_0)[:, TEST_RIGHT]
assert 0 < gained.median() < 0.06  # and a little more often right
smaller = (end_3[:, TEST_LOSS].median(), early[:, TEST_LOSS].median())
assert smaller[1] < smaller[0] - 0.03  # but stopping early does more,
assert early[:, TEST_RIGHT].median() > end_3[:, TEST_RIGHT].median() + 0.01  # also here,
assert abs(both[:, TEST_LOSS].median() - smaller[1]) < 0.04  # and both together no better
for chosen in (lambda found: found[:, -1], stopped_early):  # right labels: 0.7 costs accuracy
    cost = (chosen(clean[0.3]) - chosen(clean[0.7]))[:, TEST_RIGHT]
    assert (cost > 0).all() and cost.median() > 0.03
helped = (stopped_early(clean[0.3]) - stopped_early(clean[0.0]))[:, TEST_RIGHT]
assert (helped > 0).all() and helped.median() > 0.015  # and 0.3 helps, stopped early, too
for by_rate in (noisy, clean):  # the training loss rises with p
    losses = torch.stack([found[:, -1, TRAIN_LOSS].median() for found in by_rate.values()])
    assert (losses.diff() > 0).all()

figure, (left, right) = plotting.panels(2, height=4.6)
plotting.level(left, math.log(2), "fifty-fifty", at=0.62)
plotting.curves(
    left,
    range(0, 201, 40),
    {f"p = {p}": noisy[p][:, :, VALIDATION_LOSS] for p in rates},
    xlabel="step",
    ylabel="validation loss",
    ylim=(0.4, 2.0),
    title="15 % wrong labels, while training",
)
plotting.bars(
    right,
    [f"p = {p}" for p in rates],
    {
        "after 200 steps": torch.stack([noisy[p][:, -1, TEST_RIGHT] for p in rates], dim=1),
        "stopped early": torch.stack(
            [stopped_early(noisy[p])[:, TEST_RIGHT] for p in rates], dim=1
        ),
    },
    ylabel="right in the test",
    ylim=(0, 1),
)
plotting.picture(
    figure,
    caption="With wrong labels the loss soon rises without dropout; stopping in time helps as much.",
    alt="Two panels for the version with 15 % wrong labels, three seeds. Left, the validation loss "
    "over 200 steps: without dropout it falls to about 0.6 within 40 steps and then rises to about "
    "1.2; at p = 0.3 and 0.7 it stays below 0.7; a line marks fifty-fifty at 0.69. Right, bars for "
    "the share right in the test, after 200 steps and stopped early: at p = 0, 0.69 and 0.74; at "
    "0.3, 0.70 and 0.74; at 0.7, 0.73 and 0.71.",
)

# %% [markdown]
# Without dropout and with wrong labels, the model knows its 200 sequences by heart, wrong labels included, and
# its test loss is about 1.2. Saying "fifty-fifty" every time would give 0.69.
#
# - **Dropout tempers overconfidence.** After 200 steps at $p = 0.3$ the test loss is little more than half of what
#   it was. The accuracy gains only a little, from 0.69 to 0.70 in the median. Where the model does not know the
#   answer, it still does not know it, but it is no longer so sure.
# - **So does stopping in time, and with these labels it does it better.** Without any dropout, the model of the best
#   step has a smaller loss, 0.56, and is right more often, 0.74. Dropout on top of that changes next to nothing. If
#   you compare only the models after step 200, you give dropout the credit for what early stopping can do.
# - **Where all labels are right, a little dropout does help.** At $p = 0.3$ the stopped models are right more
#   often than without dropout, with each of the three seeds, 0.96 against 0.94 in the median.
# - **More is not always better.** Where all labels are right, $p = 0.7$ costs accuracy, stopped early or not, because
#   within these 200 steps the model no longer quite fits what it sees. With wrong labels, $p = 0.7$ is right most
#   often of the three rates after step 200, but least often if all are stopped early.
# - **The training loss says nothing about this.** It rises with $p$ throughout.
#
# The best rate belongs to the task, the model and the amount of data. The paper used 0.1 for its base model, with
# millions of sentences (Vaswani et al., 2017, section 5.4).
#
# **Check yourself.** A friend reports that "dropout halves the validation loss after 200 steps". What do you ask
# for before you believe that the model needs dropout?
#
# <details><summary>Answer</summary>
#
# Ask for the loss over all steps. Stop the model without dropout where its validation loss is smallest, and
# compare the two on data that neither training nor this choice has seen, over several seeds.
#
# </details>

# %% [markdown]
# ## 14. Going deeper: why does normalising help at all?
#
# Batch norm was motivated by "internal covariate shift" (Ioffe and Szegedy, 2015). Each layer's inputs keep
# changing their distribution while the layers below learn, and the norm would hold them still. As an explanation
# it has not held up.
#
# Santurkar et al. (2018) added random noise *after* batch norm, so that the distributions shifted more than
# without any norm, and the networks trained about as well as with batch norm alone. What they found instead is
# that the loss and its gradients change more smoothly, so a step can be larger.
#
# Their experiments are about batch norm in image networks. For layer norm, Xu et al. (2019) found that the
# gradients through the mean and the variance matter more than the normalised outputs themselves.
#
# What you have *seen* in this lecture is more modest, and enough to build with. The size of a sublayer's input no
# longer depends on what came before (section 2), gradients survive depth (section 3), and the place of the norm
# decides which learning rates work (section 9).
#
# **Check yourself.** What would have to be true of the networks with added noise, if steady distributions were
# what helps?
#
# <details><summary>Answer</summary>
#
# They would have to train clearly worse than those with batch norm alone, but they did not.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Jimmy Lei Ba, Jamie Ryan Kiros, Geoffrey E. Hinton (2016). *[Layer
#   Normalization.](https://arxiv.org/abs/1607.06450)* arXiv:1607.06450. Section 3, equations 3 and 4.
# - Sergey Ioffe, Christian Szegedy (2015). *[Batch Normalization: Accelerating Deep Network Training by
#   Reducing Internal Covariate Shift.](https://arxiv.org/abs/1502.03167)* ICML. Algorithms 1 and 2:
#   training and inference.
# - Sheng Shen, Zhewei Yao, Amir Gholami, Michael W. Mahoney, Kurt Keutzer (2020). *[PowerNorm: Rethinking
#   Batch Normalization in Transformers.](https://arxiv.org/abs/2003.07845)* ICML. Batch statistics of text
#   and of images.
# - Jiaxi Wang, Ji Wu, Lei Huang (2022). *[Understanding the Failure of Batch Normalization for Transformers
#   in NLP.](https://arxiv.org/abs/2210.05153)* NeurIPS. The gap between the two modes, measured.
# - Priya Goyal, Piotr Dollár, Ross Girshick, Pieter Noordhuis, Lukasz Wesolowski, Aapo Kyrola, Andrew
#   Tulloch, Yangqing Jia, Kaiming He (2017). *[Accurate, Large Minibatch SGD: Training ImageNet in 1
#   Hour.](https://arxiv.org/abs/1706.02677)* arXiv:1706.02677. Batch norm on 256 GPUs.
# - Kaiming He, Xiangyu Zhang, Shaoqing Ren, Jian Sun (2016). *[Deep Residual Learning for Image
#   Recognition.](https://arxiv.org/abs/1512.03385)* CVPR. Section 3.
# - Yihe Dong, Jean-Baptiste Cordonnier, Andreas Loukas (2021). *[Attention Is Not All You Need: Pure
#   Attention Loses Rank Doubly Exponentially with Depth.](https://arxiv.org/abs/2103.03404)* ICML.
# - Nitish Srivastava, Geoffrey Hinton, Alex Krizhevsky, Ilya Sutskever, Ruslan Salakhutdinov (2014).
#   *[Dropout: A Simple Way to Prevent Neural Networks from
#   Overfitting.](https://jmlr.org/papers/v15/srivastava14a.html)* Journal of Machine Learning Research 15.
#   Section 4. (Their $p$ is the probability of *keeping* an entry, and they scale the weights in evaluation
#   instead of the entries in training.)
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz Kaiser,
#   Illia Polosukhin (2017). *[Attention Is All You Need.](https://arxiv.org/abs/1706.03762)* NeurIPS.
#   Sections 3.1, 3.3, 5.3 (warm-up) and 5.4 (dropout).
# - Ruibin Xiong, Yunchang Yang, Di He, Kai Zheng, Shuxin Zheng, Chen Xing, Huishuai Zhang, Yanyan Lan,
#   Liwei Wang, Tie-Yan Liu (2020). *[On Layer Normalization in the Transformer
#   Architecture.](https://arxiv.org/abs/2002.04745)* ICML. Theorem 1.
# - Liyuan Liu, Xiaodong Liu, Jianfeng Gao, Weizhu Chen, Jiawei Han (2020). *[Understanding the Difficulty
#   of Training Transformers.](https://arxiv.org/abs/2004.08249)* EMNLP. What goes wrong in post-LN beyond
#   the size of gradients.
# - Xavier Glorot, Yoshua Bengio (2010). *[Understanding the Difficulty of Training Deep Feedforward Neural
#   Networks.](https://proceedings.mlr.press/v9/glorot10a.html)* AISTATS. Equation 16.
# - Shibani Santurkar, Dimitris Tsipras, Andrew Ilyas, Aleksander Mądry (2018). *[How Does Batch
#   Normalization Help Optimization?](https://arxiv.org/abs/1805.11604)* NeurIPS. Sections 2 and 3.
# - Jingjing Xu, Xu Sun, Zhiyuan Zhang, Guangxiang Zhao, Junyang Lin (2019). *[Understanding and Improving
#   Layer Normalization.](https://arxiv.org/abs/1911.07013)* NeurIPS.
