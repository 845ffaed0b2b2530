# ---
# jupyter:
#   course:
#     lecture: 11_block_of_today
#     minutes: 100
#     summary: RMSNorm, rotary positions and a gated network, put together to the block of today
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
# # Assignment 12: the block of today
#
# [Lecture 11](../../lectures/11_block_of_today.ipynb) changes the block of 2017 piece by piece until it is the block of
# 2023. Here you write the pieces, and then the block.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `RMSNorm` | 2 | 15 min | ●○○ easy |
# | 2 | `apply_rotary` | 3 | 40 min | ●●● hard |
# | 3 | `SwiGLU` | 2 | 15 min | ●○○ easy |
# | 4 | `ModernBlock` | 3 | 30 min | ●●○ medium |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other sizes, positions, masks, `float64` and gradients. Your points are decided
#   later by the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right.
# - You may import `course_utils.attention` and `course_utils.masks`, where `split_heads`, `merge_heads` and
#   `scaled_dot_product_attention` are as you know them. Import by module, `from course_utils.attention import …`.
# - Anything that would be the answer itself is barred. These are `nn.RMSNorm` and `F.rms_norm`, layer norms in every
#   form, `nn.MultiheadAttention`, `nn.Transformer` and its layers, and the course's other modules.
# - `F.silu`, `F.scaled_dot_product_attention`, complex numbers and the like are welcome.
# - Inputs are never changed. They may lie in memory in any way, as they do after a transpose. Results have the dtype
#   and the precision of the inputs (`float32` or `float64`), and gradients flow to every floating input and weight.
#   Only angles may be computed in `float32`. What is turned by them may be off by 0.0002, and by 0.001 at positions
#   in the thousands, in `float64` as well.
# - Nothing is remembered from one call to the next.
# - Masks are `bool`, and True means *may attend*.
#
# In the tables, $B$ is the batch, $H$ the number of heads, $T$ the number of words, and $d_k$ the width of a head.

# %%
import torch
from torch import nn

# %% [markdown]
# ## 1. A norm without a mean
#
# **Write** the module `RMSNorm(features, eps=1e-6)` for inputs with any leading axes, `(…, features)`:
#
# $$y = \frac{x}{\sqrt{\operatorname{mean}(x^2) + \varepsilon}} \cdot \gamma$$
#
# - The mean is taken over the features of one token, so each token is divided by a number of its own.
# - γ is `weight`, an `nn.Parameter` of shape `(features,)` that begins with ones. There is no other parameter.
# - ε is `eps`, and it stands under the root. A token of zeros gives zeros.
#
# **By hand.** For the token (3, 4) the mean of the squares is 12.5, whose root is 3.5355. So the result is
# (0.8485, 1.1314).
#
# <details><summary>Hint</summary>
#
# `keepdim=True` keeps the axis of the mean, so that the division fits whatever axes lead.
#
# </details>


# %% solution="RMSNorm"
class RMSNorm(nn.Module):
    """Divide each token by the root of its mean square, and scale its features."""

    def __init__(self, features, eps=1e-6):
        super().__init__()
        ### BEGIN SOLUTION
        self.weight = nn.Parameter(torch.ones(features))
        self.eps = eps
        ### END SOLUTION

    def forward(self, x):
        """(…, features) -> (…, features)."""
        ### BEGIN SOLUTION
        mean_square = (x**2).mean(dim=-1, keepdim=True)  # (…, 1)
        return self.weight * x / torch.sqrt(mean_square + self.eps)
        ### END SOLUTION


# %% test="RMSNorm"
def test_RMSNorm():
    norm = RMSNorm(2)
    assert torch.equal(norm.weight, torch.ones(2))
    result = norm(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))  # two tokens
    assert torch.allclose(result, torch.tensor([[0.8485, 1.1314], [0.0, 0.0]]), atol=1e-4)


check("RMSNorm")

# %% check="RMSNorm"

# %% [markdown]
# ## 2. Rotary positions
#
# A rotary encoding adds nothing to a word. It turns the features of queries and keys pair by pair, by an angle that
# grows with the position.
#
# **Write** `apply_rotary(x, positions, base=10000.0, factor=1.0)`:
#
# | tensor | shape | |
# |---|---|---|
# | `x` | `(B, H, T, d_k)` | queries or keys, cut into heads |
# | `positions` | `(T,)`, or `(B, T)` with a row for each sentence | int64, 0 or more, in any order |
# | result | `(B, H, T, d_k)` | |
#
# - Features $2k$ and $2k + 1$ form pair $k$, counted from 0. So neighbours belong together.
# - The pair is turned by the angle $a$ = position / `factor` / `base`$^{2k / d_k}$:
#
# $$x_{2k} \mapsto x_{2k} \cos a - x_{2k+1} \sin a, \qquad x_{2k+1} \mapsto x_{2k} \sin a + x_{2k+1} \cos a$$
#
# - All heads of a sentence share its positions.
# - Every position is divided by `factor`, which is 1 or more and need not be a whole number.
# - If $d_k$ is odd, a ValueError is raised whose message contains $d_k$.
#
# **By hand.** With $d_k = 4$, the vector (1, 0, 1, 0) at position 1 becomes (0.5403, 0.8415, 0.99995, 0.0100), because
# pair 0 turns by the angle 1 and pair 1 by 1/100.
#
# <details><summary>Hint</summary>
#
# `x[..., 0::2]` and `x[..., 1::2]` are the first and the second features of all pairs. Compute both new ones from the old
# ones, put them side by side in a new last axis, and flatten the last two axes. Write down the shape of the angles before
# you multiply. For `(B, T)` positions it needs an axis for the heads.
#
# </details>


# %% solution="apply_rotary"
def apply_rotary(x, positions, base=10000.0, factor=1.0):
    """(B, H, T, d_k), positions (T,) or (B, T) -> (B, H, T, d_k)."""
    ### BEGIN SOLUTION
    d_k = x.shape[-1]
    if d_k % 2:
        raise ValueError(f"features are turned in pairs, but d_k = {d_k} is odd")
    speeds = base ** (-torch.arange(0, d_k, 2, dtype=torch.float64, device=x.device) / d_k)
    angles = positions[..., None] / factor * speeds  # (T, d_k / 2) or (B, T, d_k / 2)
    if angles.dim() == 3:
        angles = angles[:, None]  # (B, 1, T, d_k / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)
    return pairs.flatten(-2)
    ### END SOLUTION


# %% test="apply_rotary"
def test_apply_rotary():
    x = torch.tensor([1.0, 0.0, 1.0, 0.0]).reshape(1, 1, 1, 4)
    expected = torch.tensor([0.5403, 0.8415, 0.99995, 0.0100])
    turned = apply_rotary(x, torch.tensor([1]))
    assert turned.shape == (1, 1, 1, 4)
    assert torch.allclose(turned.flatten(), expected, atol=1e-3)
    turned = apply_rotary(x, torch.tensor([[2]]), factor=2.0)  # a row for each sentence
    assert torch.allclose(turned.flatten(), expected, atol=1e-3)


check("apply_rotary")

# %% check="apply_rotary"

# %% [markdown]
# ## 3. A network with a gate
#
# **Write** the module `SwiGLU(d_model, d_ff)` for inputs with any leading axes, `(…, d_model)`:
#
# $$y = W_\text{down}\big(\operatorname{SiLU}(W_\text{gate}\, x) \cdot W_\text{up}\, x\big), \qquad
# \operatorname{SiLU}(a) = \frac{a}{1 + e^{-a}}$$
#
# | attribute | what it is |
# |---|---|
# | `w_gate`, `w_up` | `nn.Linear(d_model, d_ff, bias=False)` |
# | `w_down` | `nn.Linear(d_ff, d_model, bias=False)` |
#
# - The dot is a product feature by feature.
# - `d_ff` is taken as it is. That it becomes two thirds of the old width is the caller's business.
# - There is no dropout, and there are no further parameters.
#
# **By hand.** With a gate of 1 and an `up` of 3, one hidden unit is SiLU(1) · 3 = 0.7311 · 3 = 2.1932.
#
# <details><summary>Hint</summary>
#
# `F.silu` is there, and only one of the two maps goes through it.
#
# </details>


# %% solution="SwiGLU"
class SwiGLU(nn.Module):
    """A feed-forward network whose hidden units are multiplied by a gate."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        ### BEGIN SOLUTION
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)
        ### END SOLUTION

    def forward(self, x):
        """(…, d_model) -> (…, d_model)."""
        ### BEGIN SOLUTION
        gate = self.w_gate(x)  # (…, d_ff)
        return self.w_down(gate * torch.sigmoid(gate) * self.w_up(x))
        ### END SOLUTION


# %% test="SwiGLU"
def test_SwiGLU():
    network = SwiGLU(1, 1)
    with torch.no_grad():
        network.w_gate.weight.fill_(1.0)
        network.w_up.weight.fill_(3.0)
        network.w_down.weight.fill_(1.0)
    assert torch.allclose(network(torch.ones(1, 1)), torch.tensor([[2.1932]]), atol=1e-4)
    assert SwiGLU(5, 7).w_up.weight.shape == (7, 5)  # d_ff is taken as it is


check("SwiGLU")

# %% check="SwiGLU"

# %% [markdown]
# ## 4. The block
#
# **Write** the module `ModernBlock(d_model, num_heads, d_ff, base=10000.0, eps=1e-6)` with your three parts:
#
# $$h = x + W_o\, \text{attention}(\text{norm}_1(x)), \qquad y = h + \text{feed\_forward}(\text{norm}_2(h))$$
#
# | attribute | what it is |
# |---|---|
# | `w_q`, `w_k`, `w_v`, `w_o` | `nn.Linear(d_model, d_model, bias=False)` |
# | `norm1`, `norm2` | `RMSNorm(d_model, eps)` |
# | `feed_forward` | `SwiGLU(d_model, d_ff)` |
#
# and `forward(x, mask=None, positions=None)`:
#
# | tensor | shape | |
# |---|---|---|
# | `x` | `(B, T, d_model)` | |
# | `mask` | broadcasts to `(B, H, T, T)` | None hides nothing, not even the future |
# | `positions` | `(T,)` or `(B, T)` | None is 0 to $T - 1$ |
# | result | `(B, T, d_model)` | $y$ alone, without the weights |
#
# - Heads are cut and merged as in assignment 5. Queries and keys are turned **after** the cut, with the block's `base`, and
#   values are not turned.
# - Scores are divided by $\sqrt{d_k}$, where $d_k$ = `d_model` / `num_heads`, which is even here.
# - A head in which a word may attend to nothing gives it zeros, and all gradients are finite. Where this holds for all
#   heads, $h = x$.
# - Where `num_heads` does not divide `d_model`, the constructor raises a ValueError whose message contains both numbers.
# - There is no dropout, and there are no further parameters.
#
# **By hand.** In a sentence of one word the only weight is 1, so attention gives the word's own value. Let $D = 2$ with
# one head, let $W_v$ and $W_o$ change nothing, and let $W_\text{down}$ be zero. The norm of part 1 turns the word (3, 4)
# into (0.8485, 1.1314), so $h$ is (3.8485, 5.1314). The feed-forward network adds nothing, and $y$ is the same.
#
# If an earlier part of yours is not right, this one is graded with a right one in its place, so nothing is lost twice.
#
# <details><summary>Hint</summary>
#
# `norm1(x)` goes into all three maps, and the `x` that is added is the one before the norm. `scaled_dot_product_attention`
# of `course_utils.attention` gives a pair, the output and the weights.
#
# </details>


# %% solution="ModernBlock"
class ModernBlock(nn.Module):
    """Attention with rotary positions, then SwiGLU, each with a norm at its entrance."""

    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % num_heads:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads, self.base = num_heads, base
        self.norm1, self.norm2 = RMSNorm(d_model, eps), RMSNorm(d_model, eps)
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )
        self.feed_forward = SwiGLU(d_model, d_ff)
        ### END SOLUTION

    def forward(self, x, mask=None, positions=None):
        """(B, T, d_model) -> (B, T, d_model)."""
        ### BEGIN SOLUTION
        B, T, d_model = x.shape
        if positions is None:
            positions = torch.arange(T, device=x.device)
        normed = self.norm1(x)
        query, key, value = (
            made(normed).view(B, T, self.num_heads, -1).transpose(1, 2)
            for made in (self.w_q, self.w_k, self.w_v)
        )  # (B, H, T, d_k) each
        query, key = (apply_rotary(part, positions, self.base) for part in (query, key))
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (B, H, T, T)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        h = x + self.w_o((weights @ value).transpose(1, 2).reshape(B, T, d_model))
        return h + self.feed_forward(self.norm2(h))
        ### END SOLUTION


# %% test="ModernBlock"
def test_ModernBlock():
    block, x = ModernBlock(2, 1, 3), torch.tensor([[[3.0, 4.0]]])
    with torch.no_grad():
        block.w_v.weight.copy_(torch.eye(2))
        block.w_o.weight.copy_(torch.eye(2))
        block.feed_forward.w_down.weight.zero_()
    y = block(x)
    assert y.shape == (1, 1, 2)
    assert torch.allclose(y[0, 0], torch.tensor([3.8485, 5.1314]), atol=1e-3)
    assert torch.allclose(block(x, mask=torch.tensor([[False]])), x, atol=1e-4)


check("ModernBlock")

# %% check="ModernBlock"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a12_modern_block.ipynb`. You find it in
# `workspace/exercises/a12_modern_block/` of the course folder.
#
# **And then?** You have built the block that the models of today are made of. [Lecture 12](../../lectures/12_looking_inside.ipynb)
# trains models of one and of two such blocks and looks into them, and in assignment 13 you write the tools for that.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
