# ---
# jupyter:
#   course:
#     assignment: a7_dropout_and_layer_norm
#     deeper: 34
#     minutes: 45
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
# Stack a few untrained attention layers on top of each other, and all words of a sentence end up as nearly the same
# vector. Attention layers by themselves do not stack well. This lecture adds the parts that make deep stacks work, builds
# the layer as a class, and measures which order of the parts is easier to train.
#
# <!-- slide: A layer is more than attention: build it, and choose its order -->
#
# **By the end of this lecture you will be able to**
#
# - compute layer norm by loops and in matrix form, and get its axis, its variance and its ε right;
# - implement the feed-forward network and dropout, and say what each is for;
# - implement the whole encoder layer, post-LN and pre-LN;
# - explain the two things that a residual connection does, and choose between the two orders with evidence.
#
# **Time** about 45 minutes with views and questions, and 34 for going deeper.
# **Needs** [lecture 5](05_multi_head_attention.ipynb) and
# [lecture 6](06_positional_encoding.ipynb).

# %%
import itertools

import torch
import torch.nn.functional as F
from torch import nn

from course_utils import layers
from course_utils.attention import MultiHeadAttention
from course_utils.evaluation import evaluating
from lecture_kit import data, live, plotting, questions
from lecture_kit.experiments.layer_orders import Reverser, accuracy_after_training

plotting.use_course_style()
torch.set_printoptions(precision=4, sci_mode=False)
torch.set_num_threads(1)  # small tensors: threads would wait for each other longer than they work

# %% [markdown]
# ## 1. The layer at a glance
#
# <!-- slide: The same parts come in two orders: post-LN and pre-LN -->
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
# <!-- slide: Four parts surround attention in a layer -->
#
# | part | what it does | section |
# |---|---|---|
# | layer norm | brings each token to mean 0 and variance 1, then scales and shifts | 2 |
# | feed-forward network | transforms each token separately | 3 |
# | dropout | sets random entries to zero in training | 3 |
# | residual connection | keeps the input and adds a change to it | 4 and 5 |
#
# Multi-head attention and the feed-forward network are the two **sublayers**. The thick line that leads past them is
# the **residual stream**. LN is short for layer norm.

# %% [markdown]
# ## 2. Layer norm, one token at a time
#
# Nothing in a network keeps its activations at a fixed scale. The size of a sublayer's output depends on its weights,
# which change at every step. Layer norm fixes the scale. It subtracts from each token $x$ the mean of its
# $d_\text{model}$ features, divides by their standard deviation, and then gives each feature a learned scale and a
# learned shift:
#
# <!-- slide: Layer norm gives each token mean 0 and variance 1, then scales and shifts -->
#
# $$\mu = \frac{1}{d_\text{model}} \sum_{k=1}^{d_\text{model}} x_k \qquad
# \sigma^2 = \frac{1}{d_\text{model}} \sum_{k=1}^{d_\text{model}} (x_k - \mu)^2 \qquad
# y_k = \gamma_k\, \frac{x_k - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta_k$$
#
# The mean and the variance belong to *one* token. The learned $\gamma$ and $\beta$ have one entry per feature and are
# the same for all tokens, and $\varepsilon$ is a small constant that keeps the root away from zero. Here is one token of
# four features, with $\gamma_k = 2$ and $\beta_k = 1$:
#
# <!-- slide: One token, step by step -->
#
# | | | | | |
# |---|---|---|---|---|
# | $x$, with $\mu = 3$ | 2 | 10 | −4 | 4 |
# | $x - \mu$, with $\sigma = 5$ | −1 | 7 | −7 | 1 |
# | divided by $\sigma$ | −0.2 | 1.4 | −1.4 | 0.2 |
# | times $\gamma$, plus $\beta$ | 0.6 | 3.8 | −1.8 | 1.4 |
#
# Now we compute the same in loops, over sentences, tokens and features, with random γ and β.

# %% slide="Three loops: each token has a mean and a variance of its own"
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

# %% [markdown]
# The module normalises all tokens at once. `keepdim=True` keeps the last axis with size 1, so each token is compared
# with its own mean.


# %% slide="As a module: the mean is over the last axis"
class LayerNorm(nn.Module):
    """Give each token mean 0 and variance 1 over its features, then scale and shift."""

    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))  # γ
        self.bias = nn.Parameter(torch.zeros(features))  # β

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)  # (..., D) - (..., 1)
        variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return self.weight * centred / (variance + self.eps).sqrt() + self.bias


# %%
for module in (LayerNorm(D), nn.LayerNorm(D), layers.LayerNorm(D)):
    module.load_state_dict({"weight": gamma, "bias": beta})
    assert torch.allclose(module(x), by_loop, atol=1e-5)
print("loops, our module, PyTorch's and the course's agree")

# %% [markdown]
# Layer norm treats each token separately, so a token's output depends neither on the words around it nor on the other
# sentences of the batch. Batch norm, the older relative from image networks, averages over both (section 6). An early
# explanation of batch norm was that it steadies the inputs of the next layer; experiments have not borne this out
# (section 9).
#
# ### Three details that are easy to get wrong
#
# - **The variance divides by $d_\text{model}$, not by $d_\text{model} - 1$** as PyTorch's `var()` and `std()` do unless
#   told otherwise. With five features σ comes out 12 % too large, and training may never show it, since γ can absorb
#   it.
# - **ε belongs inside the root.** With $\sigma + \varepsilon$ as the divisor, a token whose features are all equal gets a
#   gradient that is huge or NaN (section 10).
# - **γ and β are part of the layer.** Each must be an `nn.Parameter`, because an optimiser never sees a plain tensor, and
#   `model.to(device)` leaves it behind.
#
# After the division every token has mean 0 and length $\sqrt{d_\text{model}}$, up to ε. The token's original mean and
# scale are lost, since $10 x - 4$ gives the same as $x$, and γ and β, which are the same for all tokens, cannot restore
# them.

# %% tags=["hide-input"]
# the token of the text; mean 0 and length √d_model for every token, and the same for 10 x - 4
plain = LayerNorm(D)  # γ = 1, β = 0
normed = plain(x)
worked = 2 * LayerNorm(4)(torch.tensor([2.0, 10, -4, 4])) + 1
assert torch.allclose(worked, torch.tensor([0.6, 3.8, -1.8, 1.4]), atol=1e-5)
assert torch.isclose(x[0, 0].std() / x[0, 0].std(correction=0), torch.tensor((5 / 4) ** 0.5))
assert abs((5 / 4) ** 0.5 - 1.12) < 0.005
assert torch.allclose(normed.mean(dim=-1), torch.zeros(B, T), atol=1e-6)
assert torch.allclose(normed.norm(dim=-1), torch.full((B, T), D**0.5), atol=1e-3)
assert torch.allclose(plain(10 * x - 4), normed, atol=1e-4)

# %% tags=["hide-input"]
questions.ask("07", "a-token-of-two-features")

# %% [markdown]
# ## 3. The feed-forward network, and dropout
#
# ### The position-wise feed-forward network
#
# Attention moves information between tokens, but what arrives is only a weighted sum of linearly mapped tokens. The
# second half of the layer does more with it, on each token separately:
#
# <!-- slide: The feed-forward network transforms each token separately -->
#
# $$\mathrm{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2$$
#
# There are two linear maps, from $d_\text{model}$ up to $d_\text{ff}$ and back, with **one** ReLU, the maximum with 0,
# *between* them. The picture follows one word through such a network in lecture 8's translator. Most hidden units are off
# for this word, and another word need not use the same units.
#
# <!-- slide: For “helfen” 22 of 128 hidden units are on -->
#
# ![From top to bottom: the 64 numbers of the word helfen as a strip of purple and ochre bands; a box x W 1
# plus b 1, then what is below 0 becomes 0; a strip of 128 hidden units, nearly all blank, with one strong
# and about ten faint purple bands, 22 of 128 units are on; a box hidden W 2 plus b 2; the 64 numbers of the
# output, fainter than the input. A grey line passes the network on the right and meets the output at a plus
# sign.](../figures/feed_forward.svg)


# %% slide="Two linear maps, with one ReLU between them"
class PositionwiseFeedForward(nn.Module):
    """The same two-layer network for each token by itself."""

    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        hidden = torch.relu(self.w_1(x))  # (..., d_ff)
        return self.w_2(self.dropout(hidden))  # (..., D)


# %%
torch.manual_seed(11)
ffn = PositionwiseFeedForward(d_model=5, d_ff=13, dropout=0.0)
one_by_one = torch.stack([ffn(token) for token in x.flatten(0, 1)])  # (B * T, D)
assert torch.allclose(ffn(x).flatten(0, 1), one_by_one, atol=1e-6)

# %% [markdown]
# **Position-wise** means that no token sees another, so the network gives each token the same result alone as in a
# sentence.
#
# Why is there one ReLU, and not one for each map? With none, the two maps would collapse into a single one, with the
# matrix $W_1 W_2$. With a second one at the end, the network could only ever *add* to the residual stream and never
# take away.
#
# In the paper $d_\text{ff} = 4\, d_\text{model}$, so two thirds of an encoder layer's parameters are in this network.
# Its job is capacity, not regularisation.

# %% tags=["hide-input"]
# no ReLU gives one linear map, and two thirds of the paper's parameters are in the network
without_relu = ffn.w_2(ffn.w_1(x))
one_map = x @ (ffn.w_2.weight @ ffn.w_1.weight).T + ffn.w_2(ffn.w_1.bias)
assert torch.allclose(without_relu, one_map, atol=1e-5)
assert (ffn(x) < 0).any() and (ffn(x) > 0).any()
full = layers.TransformerLayer(512, 8, 2048)
sizes = [sum(p.numel() for p in part.parameters()) for part in (full.feed_forward, full)]
assert abs(sizes[0] / sizes[1] - 2 / 3) < 0.01

# %% [markdown]
# ### Dropout
#
# A network can come to rely on one or two entries that give the answer away in its training data and nowhere else.
# Dropout makes every entry unreliable. In training it sets each to zero with probability $p$ and divides the others by
# $1 - p$:
#
# <!-- slide: Dropout sets entries to zero and enlarges the others -->
#
# $$\tilde{x}_k = \frac{m_k}{1 - p}\, x_k, \qquad m_k = 0 \text{ with probability } p
# \text{, else } 1$$
#
# The division keeps the expectation, since $\mathbb{E}[\tilde{x}_k] = \frac{1-p}{1-p}\,x_k = x_k$. So in evaluation
# dropout does nothing at all.


# %% slide="Zeros and twos, and 1 on average"
def drop(x, p):
    """Dropout by hand: zero with probability p, otherwise divided by 1 - p."""
    kept = torch.rand(x.shape) >= p
    return x * kept / (1 - p)


torch.manual_seed(0)
print("once:   ", drop(torch.ones(8), 0.5))
print("average:", drop(torch.ones(20_000, 8), 0.5).mean(dim=0))

# %% tags=["hide-input"]
# by hand and as a module: zeros and twos, 1 on average, and nothing in evaluation
for f in (lambda ones: drop(ones, 0.5), nn.Dropout(0.5)):
    entries = f(torch.ones(20_000, 8))
    assert torch.equal(entries.unique(), torch.tensor([0.0, 2.0]))
    assert torch.allclose(entries.mean(dim=0), torch.ones(8), atol=0.05)
assert torch.equal(nn.Dropout(0.5).eval()(torch.ones(8)), torch.ones(8))

# %% [markdown]
# A model with dropout has **two modes**, and PyTorch does not guess which one you mean. Call `model.train()` before
# training and `model.eval()` before everything else.
#
# Our layer follows the paper (section 5.4) and drops entries of each sublayer's output before it is added to the
# residual stream. The dropout after the ReLU is not in that text. Many models drop attention weights, too (section 8).

# %% tags=["hide-input"]
questions.ask("07", "an-entry-that-survives")

# %% [markdown]
# ## 4. The whole layer
#
# Now assemble the parts. No sublayer replaces its input; it adds to it, and that is the **residual connection**. Post-LN,
# the order of the original paper, normalises each sum. Pre-LN normalises what goes *into* each sublayer and leaves the
# sum alone:
#
# <!-- slide: Post-LN normalises each sum, pre-LN what enters each branch -->
#
# $$\begin{aligned}
# \text{post-LN:} \quad x &\leftarrow \mathrm{LN}_1\bigl(x + \mathrm{SelfAttention}(x)\bigr) \\
# x &\leftarrow \mathrm{LN}_2\bigl(x + \mathrm{FFN}(x)\bigr) \\
# \text{pre-LN:} \quad x &\leftarrow x + \mathrm{SelfAttention}(\mathrm{LN}_1(x)) \\
# x &\leftarrow x + \mathrm{FFN}(\mathrm{LN}_2(x))
# \end{aligned}$$
#
# Dropout acts on the branch and not on the sum, since otherwise it would punch holes in the residual stream.
# There are two norms, each with its own γ and β.


# %% slide="The whole layer, in both orders"
class TransformerLayer(nn.Module):
    """Self-attention, then the feed-forward network: (B, T, D) -> (B, T, D)."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, norm_first=False):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.layer_norm1, self.layer_norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:  # pre-LN
            normed = self.layer_norm1(x)
            attended, _ = self.self_attn(normed, normed, normed, mask)
            x = x + self.dropout(attended)
            return x + self.dropout(self.feed_forward(self.layer_norm2(x)))
        attended, _ = self.self_attn(x, x, x, mask)
        x = self.layer_norm1(x + self.dropout(attended))
        return self.layer_norm2(x + self.dropout(self.feed_forward(x)))


# %% tags=["hide-input"]
# the numbers of `course_utils.layers.TransformerLayer`, and a sentence does not notice the pad after it
torch.manual_seed(5)
x = torch.randn(2, 3, 8)  # (B, T, D)
mask = torch.tensor([[True, True, True], [True, True, False]])[:, None, None, :]  # (B, 1, 1, S)
for norm_first in (False, True):
    ours, theirs = (
        made(8, 2, 11, norm_first=norm_first).eval()
        for made in (TransformerLayer, layers.TransformerLayer)
    )
    theirs.load_state_dict(ours.state_dict())
    assert torch.allclose(ours(x, mask), theirs(x, mask), atol=1e-5)
    assert torch.allclose(ours(x[1:, :2]), ours(x, mask)[1:, :2], atol=1e-5)

# %% [markdown]
# In post-LN each sum is scaled back to variance 1, before γ and β. Pre-LN never rescales the sum, so the residual stream
# grows from the bottom of a stack to its top, and a pre-LN stack gets **one more norm at its end**.

# %% tags=["hide-input"]
questions.ask("07", "half-a-pre-ln-layer")

# %% [markdown]
# ## 5. What residual connections and norms do
#
# ### A way for the gradient
#
# Adding to the input keeps the identity in the derivative:
#
# <!-- slide: A residual connection adds the identity to the derivative -->
#
# $$y = x + f(x) \qquad\Longrightarrow\qquad
# \frac{\partial y}{\partial x} = I + \frac{\partial f}{\partial x}$$
#
# On its way down a stack, the gradient is multiplied by one such matrix per sublayer. Multiply out $(I + J_1)(I +
# J_2) \cdots$, where $J_n = \partial f_n / \partial x$, and one term is $I$ alone, a path on which no sublayer
# multiplies the gradient. In pre-LN this is exact up to the one norm at the top of the stack. In post-LN a layer norm
# follows every sum, so its Jacobian stands on the path as well.
#
# How much of a random gradient reaches the input of a stack of feed-forward networks?


# %% tags=["hide-input"]
def surviving_gradient(depth, seed, residual, with_norm):
    """Length of the gradient at the input, relative to its length at the output."""
    torch.manual_seed(seed)
    x = torch.randn(16, 12, 32, requires_grad=True)  # (B, T, D)
    stream = x
    for _ in range(depth):
        network = PositionwiseFeedForward(32, 128, dropout=0.0)  # with fresh initial weights
        change = network(stream)
        stream = stream + change if residual else change
        if with_norm:
            stream = F.layer_norm(stream, (32,))
    from_above = torch.randn_like(stream)  # stands in for the gradient of a loss further up
    stream.backward(from_above)
    return (x.grad.norm() / from_above.norm()).item()


# %% slide="A residual connection keeps the gradient; a norm nearly does" tags=["hide-input"]
STACKS = {
    "plain": {"residual": False, "with_norm": False},
    "plain + norm": {"residual": False, "with_norm": True},
    "residual": {"residual": True, "with_norm": False},
    "residual + norm": {"residual": True, "with_norm": True},
}
depths = [1, 2, 4, 8, 16, 32]
surviving = {
    name: torch.tensor([[surviving_gradient(n, seed, **how) for n in depths] for seed in range(5)])
    for name, how in STACKS.items()
}  # (seeds, depths)
at_8, at_32 = ({name: shares[:, k] for name, shares in surviving.items()} for k in (3, 5))
assert (at_32["plain"] < 1e-15).all() and (at_8["plain"] < 3e-5).all()
both = surviving["residual + norm"]
assert ((both > 0.75) & (both < 1.1)).all() and ((both.median(dim=0).values - 1).abs() < 0.02).all()
assert ((at_32["residual"] > 1.8) & (at_32["residual"] < 3)).all()
assert 0.2 < at_32["plain + norm"].median() < 0.6 and at_32["plain + norm"].min() < 0.1
assert surviving["plain + norm"][:, 3].min() > 0.5  # at depth 8
assert ((surviving["plain"][:, 0] > 0.2) & (surviving["plain"][:, 0] < 0.3)).all()

figure, (left, right) = plotting.panels(2, height=4.2)
axes = {"xscale": "log", "yscale": "log", "xlabel": "networks on top of each other"}
plotting.level(left, 1, "nothing is lost", at=0.3)
plotting.curves(
    left,
    depths,
    {"plain": surviving["plain"]},
    ylim=(1e-23, 1e3),
    ylabel="share of the gradient that arrives",
    **axes,
)
left.set_title("plain stack")
plotting.level(right, 1, "", at=0)
names = ["residual", "residual + norm", "plain + norm"]
plotting.curves(right, depths, {name: surviving[name] for name in names}, ylim=(0.02, 6), **axes)
right.set_title("with one repair, or with both")
for ax in (left, right):
    plotting.ticks_at(ax, x=depths)
plotting.ticks_at(right, y=[0.1, 0.3, 1, 3])
plotting.picture(
    figure,
    caption="With PyTorch's initial weights a plain stack loses the gradient; a residual connection prevents "
    "this, a norm nearly does. Medians of five seeds, with ranges.",
    alt="The share of the gradient that reaches the input against the depth from 1 to 32, both "
    "axes logarithmic, medians over five seeds with bands for the range. Left, the plain stack "
    "falls to about 5 times 10 to the minus 21. Right, on another scale, the other three. With both a "
    "residual connection and a layer norm the curve stays at 1, and its band between 0.78 and 1.07. With the residual alone it rises "
    "to 2 at depth 32, with the norm alone it sinks to 0.4, where its band reaches below 0.1.",
)

# %% [markdown]
# With PyTorch's initial weights, each network of a plain stack loses three quarters of the gradient. A residual
# connection prevents this, and **layer norm alone nearly does** down to about eight networks, because it divides by the
# standard deviation in the backward pass, too. At 32 its median is 0.4 and its worst seed below 0.1. Vanishing gradients
# are not the whole reason for residual connections.
#
# ### Words stay apart
#
# The other reason is what the residual stream *carries*. Attention averages, and averaging makes words alike. Before
# training, every word attends to all words about equally, so all get nearly the same average. We measure the average
# cosine between the vectors of a sentence, in a stack of attention with layer norm.


# %%
def similarity(x):
    """Average cosine between different tokens of the same sentence; x is (B, T, D)."""
    directions = F.normalize(x, dim=-1)
    cosines = directions @ directions.mT  # (B, T, T)
    others = ~torch.eye(x.shape[1], dtype=torch.bool)  # (T, T), no token with itself
    return cosines[:, others].mean().item()


# %% slide="Without residuals, six layers of attention make all words alike"
def similarity_by_depth(residual, seed):
    """The similarity of random words, and after each of six attention layers."""
    torch.manual_seed(seed)
    x = torch.randn(16, 12, 32)  # (B, T, D)
    found = [similarity(x)]
    for _ in range(6):
        change, _ = MultiHeadAttention(32, 4)(x, x, x)
        x = F.layer_norm(x + change if residual else change, (32,))
        found.append(similarity(x))
    return found


for residual in (False, True):
    seeds = torch.tensor([similarity_by_depth(residual, seed) for seed in range(5)])  # (5, 7)
    print("with residual:   " if residual else "without residual:", seeds.median(dim=0).values)

# %% tags=["hide-input"]
# without residuals tokens become alike, above 0.95; with them they stay below 0.4, for each seed
for seed in range(5):
    assert similarity_by_depth(False, seed)[2] > 0.95 and similarity_by_depth(True, seed)[-1] < 0.4
# what the question below says: with norms alone, about half of the gradient gets through the attention
shares = []
for seed in range(5):
    torch.manual_seed(seed)
    stream = bottom = torch.randn(16, 12, 32, requires_grad=True)  # (B, T, D)
    for _ in range(6):
        stream = F.layer_norm(MultiHeadAttention(32, 4)(stream, stream, stream)[0], (32,))
    from_above = torch.randn_like(stream)
    stream.backward(from_above)
    shares.append(bottom.grad.norm() / from_above.norm())
assert 0.45 < min(shares) and max(shares) < 0.9 and abs(torch.stack(shares).median() - 0.5) < 0.03

# %% [markdown]
# Without residual connections, all words are nearly the same vector after two untrained layers, in spite of the norms.
# With them, each word keeps its own vector and adds to it what it gathers from the others. Dong et al. (2021) prove that
# attention alone loses the differences doubly exponentially fast in the depth.

# %% tags=["hide-input"]
questions.ask("07", "a-stack-without-the-plus")

# %% [markdown]
# ### Which learning rates work?
#
# Does the order matter for training, or whether there is a norm at all? A stack of six layers has to **reverse** eight
# digits, so each position must attend to its mirror image. `Reverser` is that stack, between an embedding with
# positions and a linear map to the ten digits. We try three learning rates and five seeds.


# %%
def right_digits(seed, norm_first, rate):
    """The share of right digits in 256 fresh sequences, after 120 steps of 16 sequences."""
    torch.manual_seed(seed)
    model = Reverser(norm_first)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    for _ in range(120):
        ids = torch.randint(0, 10, (16, 8))  # (B, T)
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ids = torch.randint(0, 10, (256, 8))
    return (model(ids).argmax(dim=-1) == ids.flip(1)).float().mean().item()


# %% tags=["nbval-ignore-output"] seconds=27
RATES, ORDERS = [0.003, 0.01, 0.03], {"post-LN": False, "pre-LN": True}
default = {
    order: torch.tensor([[right_digits(seed, first, rate) for rate in RATES] for seed in range(5)])
    for order, first in ORDERS.items()
}  # order -> (seeds, rates)

# %% [markdown]
# Two more things are **recorded**, by `sources/recorded/layer_orders.py`: a stack with residual connections and **no
# norm** at all, and all three with **warm-up**, where the rate rises over the first 50 steps. The thin line is what
# knowing the digits, but not their positions, would give.

# %% slide="At 0.03 only pre-LN learns, and only with warm-up" tags=["nbval-ignore-output", "hide-input"]
RECORDED = """\
default  no norm 0 0.98 0.90 0.11
default  no norm 1 0.96 0.92 0.11
default  no norm 2 0.82 0.85 0.10
default  no norm 3 0.94 0.87 0.09
default  no norm 4 0.93 0.96 0.11
warm-up  post-LN 0 0.97 0.94 0.09
warm-up  post-LN 1 0.73 0.89 0.14
warm-up  post-LN 2 0.71 0.97 0.12
warm-up  post-LN 3 0.88 0.96 0.12
warm-up  post-LN 4 0.64 0.91 0.09
warm-up  pre-LN  0 0.97 0.98 1.00
warm-up  pre-LN  1 0.97 0.95 0.98
warm-up  pre-LN  2 0.92 0.97 0.83
warm-up  pre-LN  3 0.93 0.93 0.99
warm-up  pre-LN  4 0.88 0.97 0.94
warm-up  no norm 0 0.91 0.98 0.10
warm-up  no norm 1 0.76 0.88 0.11
warm-up  no norm 2 0.53 0.94 0.09
warm-up  no norm 3 0.77 0.90 0.11
warm-up  no norm 4 0.53 0.88 0.11
Xavier   post-LN 0 0.28 0.14 0.10
Xavier   post-LN 1 0.29 0.16 0.10
Xavier   post-LN 2 0.26 0.13 0.09
Xavier   post-LN 3 0.28 0.10 0.10
Xavier   post-LN 4 0.28 0.12 0.11
Xavier   pre-LN  0 0.63 0.96 0.18
Xavier   pre-LN  1 0.40 0.94 0.18
Xavier   pre-LN  2 0.54 0.99 0.17
Xavier   pre-LN  3 0.36 0.99 0.16
Xavier   pre-LN  4 0.34 1.00 0.17
Xavier   no norm 0 0.27 0.21 0.10
Xavier   no norm 1 0.20 0.10 0.10
Xavier   no norm 2 0.21 0.16 0.09
Xavier   no norm 3 0.17 0.12 0.09
Xavier   no norm 4 0.20 0.11 0.09
both     post-LN 0 0.28 0.25 0.13
both     post-LN 1 0.31 0.22 0.15
both     post-LN 2 0.29 0.25 0.10
both     post-LN 3 0.30 0.25 0.10
both     post-LN 4 0.31 0.24 0.12
both     pre-LN  0 0.39 0.98 0.97
both     pre-LN  1 0.32 0.67 0.28
both     pre-LN  2 0.44 0.83 0.93
both     pre-LN  3 0.34 0.64 0.94
both     pre-LN  4 0.31 0.90 0.98
both     no norm 0 0.26 0.27 0.10
both     no norm 1 0.21 0.19 0.09
both     no norm 2 0.20 0.23 0.11
both     no norm 3 0.21 0.24 0.12
both     no norm 4 0.21 0.14 0.11
"""


def shares_of(table):
    """The shares in the lines of a table: setting -> order -> (seeds, rates)."""
    found = {}
    for line in table.splitlines():
        setting, *order, _, low, middle, high = line.split()
        rows = found.setdefault(setting, {}).setdefault(" ".join(order), [])
        rows.append([float(share) for share in (low, middle, high)])
    return {
        setting: {order: torch.tensor(rows) for order, rows in by_order.items()}
        for setting, by_order in found.items()
    }


recorded = shares_of(RECORDED)
default |= recorded["default"]
# the recorded models were trained as above
assert abs(default["pre-LN"][0, 1] - accuracy_after_training(0, True, 0.01)) < 1e-6
counts = F.one_hot(torch.randint(0, 10, (10_000, 8)), 10).sum(dim=1)  # (sequences, digits)
which_not_where = counts.amax(dim=1).float().mean().item() / 8  # always the most frequent digit
assert 0.27 < which_not_where < 0.33


def draw_rates(settings, note):
    """A panel for each setting, name -> order -> (seeds, rates), and the medians as a text."""
    figure, axes = plotting.panels(len(settings), height=4.4, sharey=True)
    axes = axes if len(settings) > 1 else [axes]
    for ax, (setting, by_order) in zip(axes, settings.items(), strict=True):
        plotting.level(ax, which_not_where, "which, not where" if ax is axes[0] else "", at=0.03)
        look = {"xscale": "log", "xlabel": "learning rate", "ylim": (0, 1.05), "title": setting}
        plotting.curves(ax, RATES, by_order, **look)
        plotting.ticks_at(ax, x=RATES)
    axes[0].set_ylabel("right digits")
    medians = " ".join(
        f"{setting}, {order}: {', '.join(f'{value:.2f}' for value in rows.median(dim=0).values)}."
        for setting, by_order in settings.items()
        for order, rows in by_order.items()
    )
    plotting.picture(
        figure,
        caption=note,
        alt="Share of right digits after 120 steps against the learning rate 0.003, 0.01, 0.03; medians "
        "over five seeds with bands for the range; a thin line marks 0.3, knowing which digits but not "
        f"where. {medians}",
    )


draw_rates(
    {"no warm-up": default, "warm-up": recorded["warm-up"]},
    "After 120 steps post-LN lags at 0.01 without warm-up, and at 0.03 only pre-LN has learned, with warm-up.",
)

# %% [markdown]
# <!-- slide: One small learning rate would have hidden it all -->
#
# - **A norm in the right place makes larger rates usable.** With warm-up, pre-LN's median at 0.03 is 0.98, where
#   post-LN and the stack without a norm get about 0.1.
# - **At 0.01 without warm-up, post-LN is far behind after 120 steps.** On two machines its median was below 0.3, though
#   one seed got 0.86; pre-LN's worst seed is above 0.9. After 480 steps it has caught up (section 7).
# - **At a small rate there may be no difference.** If 0.003 without warm-up is the only setting you try, neither the
#   order nor the norm seems to matter.
#
# **Which order should you use?** Pre-LN wherever a stack is deep, as most recent large models do. It trains at more
# rates, and wherever both orders worked, pre-LN did at least as well. But this was one toy task, and whether post-LN
# ends up better once it trains is disputed (Liu et al., 2020). With two layers and warm-up, as in lecture 8, it does
# well.
#
# ## Summary
#
# <!-- slide: What to remember of the layer -->
#
# - Layer norm computes $y = \gamma\,(x - \mu)/\sqrt{\sigma^2 + \varepsilon} + \beta$ for each **token** over its
#   features.
# - The feed-forward network works on each token separately. Dropout sets entries to zero in training, keeps their
#   expectation, and does nothing in evaluation.
# - A residual connection gives the gradient a path past every sublayer, and keeps words apart that attention would
#   make alike.
# - In our experiment pre-LN with warm-up learned at a rate at which neither post-LN nor a stack without a norm did. Use
#   **pre-LN** for deep stacks, with one more norm at the end.
#
# **Now you:** [assignment a7, dropout and layer
# norm](../exercises/a7_dropout_and_layer_norm/a7_dropout_and_layer_norm.ipynb), and then [assignment a8, the
# transformer layer](../exercises/a8_transformer_layer/a8_transformer_layer.ipynb). After that, [lecture
# 8](08_transformer.ipynb) puts the layers together. This is the end of the core.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 2, 3, 4 and 5 can be checked on the spot. Those below are open ones.
#
# **1.** You multiply weights and bias of a sublayer's last linear map by 10. A layer norm follows directly. How
# does its output change?
#
# <details><summary>Answer</summary>
#
# It does not change, up to ε, because the map's output is 10 times as large and layer norm does not see a common
# factor. With a residual connection in between, the factor does not cancel, and in $\mathrm{LN}(x + 10 f(x))$ the
# branch outweighs the residual stream.
#
# </details>
#
# **2.** A colleague computes `x.std(dim=-1, keepdim=True) + eps` as the divisor. Name two mistakes.
#
# <details><summary>Answer</summary>
#
# `std` divides by $d_\text{model} - 1$, and ε is outside the root, so tokens whose features hardly vary come out
# much larger than they should. Where all features are equal, PyTorch's own `std` returns a slope of zero; a root that
# you take yourself gives NaN, as in section 10.
#
# </details>
#
# **3.** By mistake the dropout with $p = 0.1$ acts on the sum $x + f(x)$, in each of twelve sublayers of a pre-LN
# stack. How likely is it that an entry of the input arrives at the top without having been set to zero?
#
# <details><summary>Answer</summary>
#
# It has to survive twelve times, so the probability is $0.9^{12} \approx 0.28$. With dropout on the branches alone it
# is 1.
#
# </details>
#
# **4.** In one layer, training has set γ and β of both norms to zero. What does the layer do to its input in pre-LN,
# and what in post-LN?
#
# <details><summary>Answer</summary>
#
# In pre-LN each sublayer reads zeros, so it returns what its biases make of them, the same vector for every word.
# The layer adds this vector to the residual stream, and the words stay as far apart as before. In post-LN the norm is
# on the stream itself. Every word comes out as zeros, and everything is lost.
#
# </details>

# %% [markdown]
# ## 6. Going deeper: which axes, and why not batch norm?
#
# Before layer norm there was batch norm (Ioffe and Szegedy, 2015), first shown on image networks. It has the same
# formula but other axes. A batch of sentences has three axes, $(B, T, D)$, and the question is always **which
# entries share one mean.**
#
# <!-- slide: Batch norm averages a column, layer norm a row -->
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
# Layer norm is sometimes said to work "for each training example". That fits where an example is a single vector,
# but in a transformer it works **for each token**. A simple test tells the choices apart. Change one token, and see
# which outputs change.


# %% slide="Change one token: under layer norm only that token moves"
B, T, D, eps = 2, 3, 5, 1e-5


def normalise(x, axes):
    """Mean 0 and variance 1 over the given axes of x (B, T, D)."""
    centred = x - x.mean(dim=axes, keepdim=True)
    return centred / (centred.square().mean(dim=axes, keepdim=True) + eps).sqrt()


x = torch.randn(B, T, D) * 3 + 2  # (B, T, D)
changed = x.clone()
changed[0, 1] += torch.tensor([1.0, -2.0, 0.5, 3.0, 0.0])  # token 2 of sentence 1
moved = {}
for name, axes in {
    "layer norm, D": (2,),
    "batch norm, B T": (0, 1),
    "sentence, T D": (1, 2),
}.items():
    difference = (normalise(changed, axes) - normalise(x, axes)).abs()  # (B, T, D)
    moved[name] = int((difference.amax(dim=2) > 1e-4).sum())
print("tokens that changed, of 6:", moved)

# %% tags=["hide-input"]
# one token, all of them, or those of one sentence; PyTorch's own norms give the same numbers
assert list(moved.values()) == [1, B * T, T]
assert torch.allclose(normalise(x, (2,)), nn.LayerNorm(D)(x), atol=1e-5)
assert torch.allclose(normalise(x, (1, 2)), nn.LayerNorm((T, D))(x), atol=1e-5)
assert torch.allclose(normalise(x, (0, 1)), nn.BatchNorm1d(D)(x.mT).mT, atol=1e-5)

# %% [markdown]
# Choose the axes yourself, for a batch of two sentences whose pads are zeros. Around the framed number, the 4.8 of
# feature 3 of "you", a line encloses every number that takes part in its mean, before the norm and after it.
#
# - **Who shares?** Tick B and T instead of D. How many numbers share one mean now, and what would the mean be
#   without the zeros of pads?
# - **Who moves?** Change 4.8 to −4.8, and see which tokens get a Δ. Under which choices of axes does even a pad move?
# - **What is lost?** Press *numbers as given*, tick D alone, and press *10 x − 4*. Every number of "you" is
#   multiplied by ten and lowered by four. What moves after the norm? Find a choice of axes under which something does.

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
# both B and T are ticked, since only then does it share a mean with the word "you", which is in another sentence and
# at another position. The factor 10 is lost under D, because nothing moves after the norm. With B and T, for example,
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
# Batch norm is awkward in a transformer for four reasons.
#
# **1. The future leaks.** In training, batch norm averages over all positions of the sentence, and later words
# are among them. A causal mask in the attention cannot help, because the leak is in the norm.

# %% slide="Batch norm leaks the future into the first word"
torch.manual_seed(0)
sentence = torch.randn(1, 8, 16)  # one sentence of eight words
other_ending = sentence.clone()
other_ending[0, 7] = torch.randn(16)
norm = nn.BatchNorm1d(16)  # in training mode; it expects (B, D, T), hence .mT
leak = (norm(sentence.mT) - norm(other_ending.mT)).mT[0, 0].abs().max().item()
print(f"the last word changed, and the first word's output moves by {leak:.2f}")

# %% [markdown]
# **2. One entry has no variance.** A decoder generates one token at a time. With a single sentence each feature has one
# entry at the first token, and at every token with a cache. `nn.BatchNorm1d` then raises a `ValueError` in training
# mode. It needs a second mode that takes mean and variance from elsewhere.
#
# **3. The two modes disagree.** In evaluation a sentence must not depend on which others happen to be in its batch,
# so batch norm uses averages that it collected in training, the *running statistics*. The same words come out
# differently in the two modes, and the smaller the batch, the larger the difference.
#
# **4. Pads count.** How many pads a sentence gets depends on its longest neighbour. If they are zeros, they pull the
# mean towards zero and, unless the mean was large, shrink the variance.
#
# We measure 3 and 4 for batch norm on German sentences from lecture 1's corpus, with random word vectors. For layer
# norm both differences are 0 by its definition. All are relative to the size of the output.

# %% slide="Small batches and pads change batch norm's output" tags=["hide-input"]
assert leak > 0.05
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
    norm = nn.BatchNorm1d(16, momentum=None, affine=False)  # no γ, no β, a plain average
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


batch_sizes, shares = [1, 4, 16, 64], [0.0, 0.2, 0.4, 0.6]
with torch.no_grad():
    mode_gaps = torch.tensor([[mode_gap(n, seed) for n in batch_sizes] for seed in range(5)])
    pad_gaps = torch.tensor([[pad_gap(share, seed) for share in shares] for seed in range(5)])
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
# estimate. While a transformer is trained, the statistics of its batches fluctuate much more than those of a network
# for images (Shen et al., 2020), and Wang et al. (2022) find the gap between the two modes to be the main reason why batch norm
# does worse on text.
#
# Is parallel training a reason against batch norm? Not by itself. Networks with batch norm have been trained on 256
# GPUs at once (Goyal et al., 2017), where each GPU uses its own part of the batch for the statistics.
#
# **Check yourself.** All sentences of your batches are equally long, and the batches are large. Which of the four
# points are left for a decoder?
#
# <details><summary>Answer</summary>
#
# The leak remains, and it is the worst problem in training. The second is left in generation, where batch norm needs
# its evaluation mode. The third is small in large batches, and the fourth is gone.
#
# </details>

# %% [markdown]
# ## 7. Going deeper: why is post-LN harder to train?
#
# ### Warm-up and larger initial weights
#
# Section 5 used PyTorch's initial weights. The larger ones of Glorot and Bengio (2010), usually called **Xavier**
# weights, keep the variance of the input if input and output are equally wide; PyTorch's default reduces it to a third.

# %% slide="With Xavier's weights only pre-LN trains within 120 steps" tags=["hide-input"]
draw_rates(
    {"Xavier weights": recorded["Xavier"], "Xavier weights, warm-up": recorded["both"]},
    "With Xavier's weights only pre-LN trains within 120 steps, with warm-up and without.",
)

# %% tags=["hide-input"]
# the statements around the figures, for each of five seeds unless they speak of the middle
post, pre, none = (default[order] for order in ("post-LN", "pre-LN", "no norm"))  # (seeds, rates)
assert post[:, 0].median() > 0.8 and pre[:, 0].median() > 0.8
assert abs(post[:, 0].median() - pre[:, 0].median()) < 0.1
assert post[:, 1].median() < 0.5 and pre[:, 1].min() > 0.9  # single seeds differ by machine
assert pre[:, 0].median() > post[:, 0].median() - 0.005
assert none[:, :2].min() > 0.8 and none[:, 2].max() < 0.12
post, pre, none = recorded["warm-up"].values()
assert post[:, 1].min() > 0.88 and pre[:, 2].min() > 0.8 and post[:, 2].max() < 0.3
assert none[:, 1].min() > 0.85 and none[:, 2].max() < 0.12
assert abs(post[:, 0].median() - 0.73) < 0.005 and abs(none[:, 0].median() - 0.76) < 0.005
post, pre, none = recorded["Xavier"].values()
assert post.max() < 0.35 and pre[:, 1].min() > 0.8 and none.max() < 0.3
post, pre, none = recorded["both"].values()
assert post.max() < 0.35 and none.max() < 0.3
assert pre[:, 1].min() > 0.6 and (pre[:, 2] > 0.9).sum() == 4
# four times the steps: what has changed, and what has not
LONGER = """\
default  post-LN 0 1.00 0.99 0.09
default  post-LN 1 1.00 1.00 0.10
default  pre-LN  0 1.00 1.00 0.16
default  pre-LN  1 1.00 1.00 0.16
default  no norm 0 1.00 0.09 0.10
default  no norm 1 1.00 0.96 0.11
warm-up  post-LN 0 1.00 1.00 0.11
warm-up  post-LN 1 1.00 1.00 0.10
warm-up  pre-LN  0 1.00 1.00 0.97
warm-up  pre-LN  1 1.00 1.00 0.98
warm-up  no norm 0 1.00 0.09 0.11
warm-up  no norm 1 1.00 0.09 0.11
Xavier   post-LN 0 0.34 0.09 0.11
Xavier   post-LN 1 0.32 0.10 0.09
Xavier   pre-LN  0 1.00 1.00 0.17
Xavier   pre-LN  1 1.00 1.00 0.17
Xavier   no norm 0 0.32 0.13 0.11
Xavier   no norm 1 0.23 0.11 0.10
both     post-LN 0 0.92 0.26 0.11
both     post-LN 1 0.33 0.27 0.15
both     pre-LN  0 1.00 1.00 1.00
both     pre-LN  1 1.00 1.00 1.00
both     no norm 0 0.30 0.89 0.10
both     no norm 1 0.26 0.12 0.08
"""
longer = shares_of(LONGER)
SETTINGS = {
    "default": "PyTorch's",
    "warm-up": "PyTorch's, warm-up",
    "Xavier": "Xavier",
    "both": "Xavier, warm-up",
}
print("right digits after 480 steps, two seeds each")
print(f"{'initial weights':<20}{'order':<9}" + "".join(f"{rate:>12}" for rate in RATES))
for setting, by_order in longer.items():
    for order, rows in by_order.items():
        cells = (f"{one:.2f} {other:.2f}" for one, other in rows.T)
        print(f"{SETTINGS[setting]:<20}{order:<9}" + "".join(f"{cell:>12}" for cell in cells))
assert longer["default"]["post-LN"][:, :2].min() > 0.98
gone = torch.cat([longer[setting]["no norm"][:, 1] for setting in ("default", "warm-up")])
assert (gone < 0.12).sum() == 3
assert longer["Xavier"]["post-LN"].max() < 0.35 and longer["Xavier"]["no norm"].max() < 0.35
assert [(longer["both"][order] > 0.5).sum() for order in ("post-LN", "no norm")] == [1, 1]
at_the_top_rate = {
    (setting, order): rows[:, 2]
    for setting, by_order in longer.items()
    for order, rows in by_order.items()
}
learned = {key for key, shares in at_the_top_rate.items() if shares.min() > 0.9}
assert learned == {("warm-up", "pre-LN"), ("both", "pre-LN")}
# of a random gradient, more than half reaches the embeddings through six layers of post-LN
for seed, xavier in itertools.product(range(5), (False, True)):
    torch.manual_seed(seed)
    streams = Reverser(norm_first=False, xavier=xavier).streams(torch.randint(0, 10, (16, 8)))
    at_the_top = torch.randn_like(streams[-1])
    (at_the_bottom,) = torch.autograd.grad(streams[-1], streams[0], at_the_top)
    assert 0.5 < at_the_bottom.norm() / at_the_top.norm() < 0.9

# %% [markdown]
# <!-- slide: Only pre-LN widens the range that works -->
#
# - **Only pre-LN widens the range that works.** It alone learns at 0.03, with warm-up, and within 120 steps it alone
#   learns with Xavier's weights. In these 120 steps post-LN works at no setting at which the stack without a norm
#   fails.
# - **Warm-up makes larger rates usable, and small ones slower.** Post-LN copes with 0.01, and pre-LN with 0.03. At 0.003
#   accuracy falls, from 0.97 to 0.73 for post-LN, because 50 of the 120 steps are taken at smaller rates.
# - **The initial weights can decide everything.** With Xavier's, no post-LN model gets noticeably beyond "which, not
#   where" in 120 steps, the accuracy you reach by knowing which digits occur, but not where.
# - **Four times the steps change some of this,** as the table shows. Post-LN has caught up at 0.01, where three of the
#   four models without a norm have lost what they had learned. With Xavier's weights and warm-up, one post-LN model
#   learns at 0.003, and one without a norm at 0.01. At 0.03, only pre-LN with warm-up learns, as before.
#
# ### Words that become alike
#
# Gradients that vanish **at the start** are not what makes post-LN harder to train. Before training, between 0.5 and
# 0.9 of a random gradient reaches the bottom of these stacks, with either kind of initial weights. What differs before
# training is the stream itself. How large is it in an untrained model, and how alike are its words?

# %%
INITS = {"PyTorch's default": False, "Xavier": True}


def at_start(norm_first, xavier, seed):
    """Standard deviation and similarity of the stream after six untrained layers."""
    torch.manual_seed(seed)
    with evaluating(Reverser(norm_first, xavier)) as model:  # eval mode, no gradients
        top = model.streams(torch.randint(0, 10, (64, 8)))[-1]  # (B, T, D)
        return [top.std().item(), similarity(top)]


untrained = {}  # initial weights, order -> (seeds, 2)
print(f"{'initial weights':<19}{'order':<10}{'deviation':>9}{'similarity':>12}")
for (init, xavier), (order, norm_first) in itertools.product(INITS.items(), ORDERS.items()):
    found = torch.tensor([at_start(norm_first, xavier, seed) for seed in range(5)])
    untrained[init, order] = found
    deviation, alike = found.median(dim=0).values
    print(f"{init:<19}{order:<10}{deviation:>9.2f}{alike:>12.2f}")

# %% tags=["hide-input"]
# the standard deviation stays 1 in post-LN and grows in pre-LN; how alike the words are, within a range
top = {key: found.median(dim=0).values for key, found in untrained.items()}
assert all(abs(top[init, "post-LN"][0] - 1) < 1e-3 for init in INITS)
assert 1.3 < top["PyTorch's default", "pre-LN"][0] < 1.6 and 2.5 < top["Xavier", "pre-LN"][0] < 3.1
assert (untrained["Xavier", "post-LN"][:, 1] > 0.9).all()
assert (untrained["Xavier", "pre-LN"][:, 1] < 0.85).all()
assert abs(top["PyTorch's default", "post-LN"][1] - top["PyTorch's default", "pre-LN"][1]) < 0.1

# %% [markdown]
# With Xavier's larger weights, the words of a sentence are almost the same vector at the top of a post-LN stack. An
# untrained attention layer adds nearly the same vector $c$ to every word, and post-LN then divides by the standard
# deviation $\sigma$ of the sum. What is left of the difference between two words is
#
# <!-- slide: With large initial weights, post-LN makes words alike -->
#
# $$\frac{(x^{(i)} + c) - (x^{(j)} + c)}{\sigma} = \frac{x^{(i)} - x^{(j)}}{\sigma}$$
#
# The sum is larger than the word alone, so $\sigma > 1$, and the differences shrink in layer after layer. In pre-LN
# nothing is divided. The stream grows, so each new common vector counts for less. With PyTorch's smaller weights
# post-LN's words are no more alike than pre-LN's, so this cannot be why post-LN is slow at 0.01 in section 5. We have not
# found out why it is.
#
# ### How large are the initial weights?
#
# Multiply the variance of a map's weights by the number of its inputs, and you get roughly the factor by which the map
# changes the variance of its input. `nn.Linear` starts small, with a factor of one third. The rule of Glorot and
# Bengio (2010) has a factor of one between equal widths. `nn.Transformer` follows that rule, but stores the maps for
# queries, keys and values as one matrix, three times as high as wide. The rule then sees three times as many outputs,
# and these maps get a factor of one half.

# %% tags=["hide-input"]
# a third for `nn.Linear`, one for Xavier, a half for the library's queries, keys and values
torch.manual_seed(0)
square = nn.Linear(64, 64).weight
library = nn.Transformer(64, 4, 1, 1, 128, batch_first=True).encoder.layers[0].self_attn
for weight, factor in [
    (square, 1 / 3),
    (library.out_proj.weight, 1),
    (library.in_proj_weight, 0.5),
]:
    assert abs(weight.var() * weight.shape[1] - factor) < 0.05

# %% [markdown]
# ### How large are the gradients?
#
# Another suspect is the size of the first gradients, because where they are large, the first steps may be too large.
# Theorem 1 of Xiong et al. (2020) bounds the gradient in the feed-forward network of the *last* layer, with weights of
# Xavier's size. In post-LN the bound does not depend on the number of layers $L$. In pre-LN it falls like
# $1/\sqrt{L}$, since the last norm divides by the standard deviation of the stream, which grows.


# %%
def gradient_of_the_last_layer(norm_first, num_layers, seed):
    """Length of the loss's gradient for W_2 of the last layer, with Xavier's weights."""
    torch.manual_seed(seed)
    model = Reverser(norm_first, xavier=True, num_layers=num_layers)
    ids = torch.randint(0, 10, (64, 8))
    F.cross_entropy(model(ids).flatten(0, 1), ids.flip(1).flatten()).backward()  # reversed digits
    return model.layers[-1].feed_forward.w_2.weight.grad.norm().item()


of_last = {
    order: torch.tensor(
        [[gradient_of_the_last_layer(first, n, seed) for n in (2, 16)] for seed in range(10)]
    )
    for order, first in ORDERS.items()
}  # (seeds, stack sizes) each
for order, found in of_last.items():
    print(f"{order:<8} in the last of 2 and of 16 layers:", found.median(dim=0).values)

# %% tags=["hide-input"]
# pre-LN falls, post-LN does not, and with 16 layers the ranges of ten models are apart
post, pre = (of_last[order].quantile(0.5, dim=0) for order in ORDERS)
assert 1.5 < pre[0] / pre[1] < 2 and post[1] > post[0]
assert 1.4 < post[0] / pre[0] < 2.4 and 3.5 < post[1] / pre[1] < 5.5
assert of_last["post-LN"][:, 1].min() > of_last["pre-LN"][:, 1].max()

# %% [markdown]
# In direction, this agrees with the theorem. From 2 to 16 layers the gradient of pre-LN shrinks, while that of post-LN
# does not, so their ratio rises from about 2 to about 4. Does a large gradient matter? Plain gradient descent turns it
# into a large step. Adam divides each gradient by its typical size, so for Adam the size alone explains little. Words
# that have become alike are a different problem: no rescaling of gradients can tell them apart again.

# %% [markdown]
# ## 8. Going deeper: dropout
#
# ### What happens to rows that summed to one
#
# Many models drop attention weights, too. The rows no longer sum to one, and the output is no longer a weighted
# *average* of the values. On average over many draws each sum is still one. How far a single sum strays depends on how
# the row spreads its weight. After dropout a weight $\alpha_{ij}$ is 0 or $\alpha_{ij}/(1-p)$, which has the variance
# $\frac{p}{1-p}\,\alpha_{ij}^2$. Each weight is dropped independently, so the variances add up:
#
# <!-- slide: After dropout, weights sum to one only on average -->
#
# $$\operatorname{Var}\Bigl[\sum_j \tilde{\alpha}_{ij}\Bigr] = \frac{p}{1-p} \sum_j \alpha_{ij}^2$$
#
# A row that attends to one word only has $\sum_j \alpha_{ij}^2 = 1$, so at $p = 0.5$ its sum is 0 or 2. A row that
# spreads evenly over $S$ words has $\sum_j \alpha_{ij}^2 = 1/S$.

# %% slide="A row that attends to one word is all or nothing"
torch.manual_seed(0)
rows = {"one word": torch.eye(16)[0], "sixteen words alike": torch.full((16,), 1 / 16)}
for name, row in rows.items():
    sums = drop(row.expand(20_000, 16), 0.5).sum(dim=-1)
    print(f"{name:<20} mean {sums.mean():.2f}, standard deviation {sums.std():.2f}")

# %% tags=["hide-input"]
# the formula, within what 20 000 draws allow
for row in rows.values():
    sums = drop(row.expand(20_000, 16), 0.5).sum(dim=-1)
    assert abs(sums.mean() - 1) < 0.04 and abs(sums.std() - row.square().sum().sqrt()) < 0.03

# %% [markdown]
# A row can lose **everything**, with probability $p^n$ for $n$ weights above zero, and its word then receives nothing
# from the others. Drop the *weights*, not the *scores*. A score of zero is not a weight of zero, because $\exp(0) = 1$,
# and the softmax would make every row sum to one again. Assignment a7 returns to both.

# %% [markdown]
# ### Dropout on a task that is easy to overfit
#
# "Try several dropout rates" needs a model, data, a measure, more than one seed, and something to compare with.
# `sources/recorded/dropout_rates.py` has them. The data are sequences of eleven letters, and the label says whether
# most of them are among the first ten of the alphabet. About 15 % of all labels are wrong, so on average nobody can be
# right more than 85 % of the time, and a model of two layers has only 200 sequences to train on.
#
# Dropout has a rival, **early stopping**, which keeps the model of the step at which the loss on a validation set is
# smallest. It is not free: our script evaluates every 40 steps on 1 000 sequences, five times as many as it trains on.
# How good the choice is has to be measured on a third set, the test set. The table gives medians of ten seeds at one
# learning rate, 0.003.

# %% tags=["hide-input"]
RECORDED = """\
0.0  0 1.051 0.735 0.541 0.764
0.0  1 1.599 0.652 0.570 0.729
0.0  2 1.169 0.693 0.563 0.739
0.0  3 1.436 0.649 0.576 0.714
0.0  4 1.496 0.681 0.692 0.715
0.0  5 1.154 0.704 0.564 0.733
0.0  6 1.467 0.697 0.581 0.728
0.0  7 1.667 0.671 0.732 0.637
0.0  8 1.126 0.705 0.536 0.753
0.0  9 1.460 0.665 0.578 0.709
0.3  0 0.580 0.781 0.502 0.800
0.3  1 0.640 0.699 0.559 0.740
0.3  2 0.673 0.705 0.567 0.732
0.3  3 0.721 0.684 0.592 0.715
0.3  4 0.639 0.747 0.589 0.735
0.3  5 0.591 0.735 0.567 0.752
0.3  6 0.666 0.707 0.558 0.731
0.3  7 0.821 0.674 0.657 0.694
0.3  8 0.568 0.731 0.543 0.762
0.3  9 0.605 0.699 0.546 0.735
0.7  0 0.607 0.737 0.529 0.765
0.7  1 0.633 0.732 0.590 0.713
0.7  2 0.610 0.704 0.577 0.712
0.7  3 0.636 0.705 0.636 0.705
0.7  4 0.599 0.734 0.587 0.690
0.7  5 0.608 0.702 0.583 0.710
0.7  6 0.605 0.720 0.558 0.745
0.7  7 0.770 0.676 0.655 0.657
0.7  8 0.526 0.762 0.526 0.762
0.7  9 0.577 0.707 0.577 0.707
"""
found = {}  # rate -> (seeds, 4): loss and accuracy after 200 steps, loss and accuracy stopped early
for line in RECORDED.splitlines():
    rate, _, *numbers = line.split()
    found.setdefault(float(rate), []).append([float(number) for number in numbers])
found = {rate: torch.tensor(rows) for rate, rows in found.items()}
print("test set     after 200 steps   stopped early")
print("             loss   right      loss   right")
for rate, rows in found.items():
    end_loss, end_right, early_loss, early_right = rows.quantile(0.5, dim=0).tolist()
    print(
        f"p = {rate}      {end_loss:.2f}   {end_right:.3f}      {early_loss:.2f}   {early_right:.3f}"
    )

none, some = found[0.0], found[0.3]
assert len(none) == len(some) == 10
assert none[:, 0].min() > 1 and abs(none[:, 0].quantile(0.5) - 1.45) < 0.01
gained = some[:, 1] - none[:, 1]
assert gained.min() > 0 and gained.max() < 0.07 and abs(gained.quantile(0.5) - 0.03) < 0.005
assert (none[:, 2] < some[:, 0]).sum() == 9 and (none[:, 3] > some[:, 1]).sum() == 6
on_top = some[:, 3] - none[:, 3]
assert (on_top > 0).sum() == 9 and abs(on_top.quantile(0.5) - 0.015) < 0.004

# %% [markdown]
# <!-- slide: Early stopping does as well as dropout on this small task -->
#
# - **Dropout tempers overconfidence.** Without it, the test loss after 200 steps is 1.45, twice the 0.69 of a model
#   that always predicts "fifty-fifty", although 69 % of its answers are right. With $p = 0.3$ it is 0.64.
# - **It also makes a few more answers right.** With each of ten seeds the accuracy is higher, by 0.3 to 6.6 percentage
#   points and by 3 in the median.
# - **Early stopping does just as well.** Without any dropout, the model of the best step has a smaller loss than the one
#   with dropout after step 200, with nine of ten seeds. In accuracy neither is ahead. Dropout on top of early
#   stopping still adds 1.5 points in the median of pairs with the same seed, nine of ten of them positive. If you
#   compare only the models after step 200, you credit dropout with what early stopping achieves by itself.
#
# The best rate depends on the task, the model and the amount of data. The paper used 0.1 for its base model, with
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
# ## 9. Going deeper: why does normalising help at all?
#
# Batch norm was motivated by "internal covariate shift" (Ioffe and Szegedy, 2015). Each layer's inputs keep
# changing their distribution while the layers below learn, and the norm would hold them still. As an explanation
# it has not held up. Santurkar et al. (2018) added random noise *after* batch norm, so that the distributions shifted
# more than without any norm, and the networks trained about as well as with batch norm alone. What they found instead
# is that the loss and its gradients change more smoothly, so a step can be larger.
#
# Their experiments are about batch norm in image networks. For layer norm, Xu et al. (2019) found that the gradients
# through the mean and the variance matter more than the normalised outputs themselves, and that several models do as
# well without γ and β.
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
# ## 10. Going deeper: where ε belongs
#
# What do three forms of layer norm make of five features that hardly vary, which may be nothing but noise? And which
# gradient do they return for a flat token, whose features are all equal?


# %% tags=["hide-input"]
def inside_root(x, eps=1e-5):
    centred = x - x.mean()
    return centred / (centred.square().mean() + eps).sqrt()


def outside_root(x, eps=1e-5):
    centred = x - x.mean()
    return centred / (centred.square().mean().sqrt() + eps)  # a root taken by hand


def outside_std(x, eps=1e-5):
    return (x - x.mean()) / (x.std(correction=0) + eps)  # PyTorch's own


noise = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0]) / 2**0.5  # mean 0, σ = 1
print(f"{'σ of the token':<16}{'0.01':>8}{'0.001':>8}{'0.0001':>8}   gradient of a flat token")
for norm in (inside_root, outside_root, outside_std):
    after = [norm(3 + sigma * noise).std(correction=0) for sigma in (1e-2, 1e-3, 1e-4)]
    flat = torch.full((5,), 3.0, requires_grad=True)  # all features equal
    norm(flat)[0].backward()
    largest = flat.grad.abs().max()
    print(f"{norm.__name__:<16}" + "".join(f"{one:>8.2f}" for one in after) + f"   {largest:.0f}")

# %% [markdown]
# Inside the root, amplification stops below $\sigma \approx \sqrt{\varepsilon} = 0.003$; outside, only below
# $\sigma \approx \varepsilon = 0.00001$. For a flat token the root's slope is infinite, so a root taken by hand gives NaN.
# PyTorch's `std` returns a slope of zero there, and a gradient of 80 000 remains.

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
