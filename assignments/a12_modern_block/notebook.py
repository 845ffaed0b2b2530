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
# - Write your answer where it says so, run the cell, and then run the test cell below it. A test that passes
#   prints only a tick, and one that fails says what it expected and what it found.
# - The tests that you see earn no points, because they only catch the usual slips on small inputs. Your points
#   are decided later on other inputs, such as other sizes, positions, masks, `float64` and gradients.
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
def test_rms_norm_by_hand():
    norm = RMSNorm(2)
    names = [name for name, _ in norm.named_parameters()]
    assert names == ["weight"], f"the one parameter is `weight`, found {names}"
    assert torch.equal(norm.weight, torch.ones(2)), "`weight` begins with ones"
    got = norm(torch.tensor([3.0, 4.0]))
    assert torch.allclose(got, torch.tensor([0.8485, 1.1314]), atol=1e-3), (
        f"for (3, 4) expected (0.8485, 1.1314), got {got.tolist()}"
    )


def test_rms_norm():
    torch.manual_seed(1)
    norm, x = RMSNorm(6), 3 * torch.randn(2, 3, 6) + 1
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, -1.0, 2.0, 0.5, 1.0, 3.0]))
    kept = x.clone()
    got = norm(x)
    assert torch.equal(x, kept), "x was changed"
    assert got.shape == x.shape, f"expected shape {tuple(x.shape)}, got {tuple(got.shape)}"
    for b in range(2):
        for t in range(3):
            root = sum(value**2 for value in x[b, t].tolist()) / 6
            wanted = norm.weight * x[b, t] / root**0.5
            assert torch.allclose(got[b, t], wanted, atol=1e-4), (
                "each token is divided by the root of the mean of its own squares, and scaled by `weight`"
            )
    loose = RMSNorm(2, eps=0.5)(torch.tensor([[0.5, 0.5]]))
    assert torch.allclose(loose, torch.full((1, 2), 0.5 / 0.75**0.5), atol=1e-4), (
        f"0.5 / √(0.25 + ε) with ε = 0.5 is 0.5774, got {loose[0, 0].item():.4f}. Where does ε stand?"
    )
    zeros = norm(torch.zeros(1, 6))
    assert torch.equal(zeros, torch.zeros(1, 6)), (
        f"a token of zeros gives zeros, got {zeros.tolist()}"
    )
    fine = RMSNorm(2).double()(torch.tensor([3.0, 4.0], dtype=torch.float64))
    assert fine.dtype == torch.float64, "float64 in, float64 out"
    assert abs(fine[0].item() - 3 / 12.500001**0.5) < 1e-10, (
        "a float64 result has the digits of float64. Which step of yours is in float32?"
    )
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    (RMSNorm(2)(x) * torch.tensor([1.0, 2.0])).sum().backward()
    assert x.grad is not None and abs((x.grad * x).sum().item()) < 1e-3, (
        "a token that is twice as long has the same result, so the gradient is at right angles to it. The "
        "root depends on x, too"
    )


test_rms_norm_by_hand()
test_rms_norm()
print("✓ RMSNorm")

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
def turned_slowly(x, positions, base, factor):
    """Every feature by itself."""
    B, _, T, d_k = x.shape
    result = torch.empty_like(x)
    for b in range(B):
        for t in range(T):
            place = positions[t] if positions.dim() == 1 else positions[b, t]
            for k in range(d_k // 2):
                a = torch.tensor(place.item() / factor / base ** (2 * k / d_k))
                first, second = x[b, :, t, 2 * k], x[b, :, t, 2 * k + 1]
                result[b, :, t, 2 * k] = first * a.cos() - second * a.sin()
                result[b, :, t, 2 * k + 1] = first * a.sin() + second * a.cos()
    return result


def test_apply_rotary_by_hand():
    x = torch.tensor([1.0, 0.0, 1.0, 0.0]).reshape(1, 1, 1, 4)
    got = apply_rotary(x, torch.tensor([1]))
    assert got.shape == (1, 1, 1, 4), f"expected shape (1, 1, 1, 4), got {tuple(got.shape)}"
    wanted = torch.tensor([0.5403, 0.8415, 0.99995, 0.01])
    assert torch.allclose(got.flatten(), wanted, atol=1e-3), (
        f"for (1, 0, 1, 0) at position 1 expected {[round(v, 4) for v in wanted.tolist()]}, "
        f"got {[round(v, 4) for v in got.flatten().tolist()]}"
    )


def test_apply_rotary():
    torch.manual_seed(2)
    x = torch.randn(2, 3, 5, 8)
    kept, ordered = x.clone(), torch.arange(5)
    gaps, own = torch.tensor([9, 0, 4, 4, 30]), torch.tensor([[0, 1, 2, 3, 4], [7, 20, 3, 0, 1]])
    for what, positions, base, factor in (
        ("positions 0 to 4", ordered, 10000.0, 1.0),
        ("positions with gaps, in any order", gaps, 10000.0, 1.0),
        ("positions of each sentence, (B, T)", own, 10000.0, 1.0),
        ("base 100", gaps, 100.0, 1.0),
        ("factor 2.5", gaps, 10000.0, 2.5),
    ):
        got = apply_rotary(x, positions, base, factor)
        assert got.shape == x.shape, f"expected shape {tuple(x.shape)}, got {tuple(got.shape)}"
        assert torch.allclose(got, turned_slowly(x, positions, base, factor), atol=1e-3), (
            f"{what}: the result differs from turning each pair by itself"
        )
    assert torch.equal(x, kept), "x was changed"
    square = torch.randn(3, 3, 5, 8)
    own = torch.randint(20, (3, 5))
    assert torch.allclose(
        apply_rotary(square, own), turned_slowly(square, own, 10000.0, 1.0), atol=1e-3
    ), "with as many heads as sentences, positions still belong to the sentences"
    fine = torch.randn(2, 3, 1, 8, dtype=torch.float64)
    got = apply_rotary(fine, torch.tensor([0]))
    assert got.dtype == torch.float64, "float64 in, float64 out"
    assert torch.allclose(got, fine, rtol=0, atol=1e-12), (
        "position 0 turns nothing, so numbers in float64 come back with all their digits. Which step of yours, "
        "other than that of the angles, is in float32?"
    )
    asks = x.clone().requires_grad_()
    turned = apply_rotary(asks, gaps)
    assert turned.requires_grad, "no gradient can reach x"
    turned.square().sum().backward()
    assert torch.allclose(asks.grad, 2 * x, atol=1e-3), (
        "turning changes no length, so the gradient of all squares is 2x"
    )
    try:
        apply_rotary(torch.randn(1, 2, 3, 5), torch.arange(3))
    except ValueError as error:
        assert "5" in str(error), f"the error should name the width 5: {error}"
    else:
        raise AssertionError("expected a ValueError for the odd width 5, and none came")


test_apply_rotary_by_hand()
test_apply_rotary()
print("✓ apply_rotary")

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
def test_swiglu_by_hand():
    network = SwiGLU(1, 1)
    names = sorted(name for name, _ in network.named_parameters())
    assert names == ["w_down.weight", "w_gate.weight", "w_up.weight"], (
        f"expected three maps without biases, found the parameters {names}"
    )
    units = len(network.w_gate.weight)
    assert units == 1, f"SwiGLU(1, 1) has one inner feature, because d_ff is 1, found {units}"
    with torch.no_grad():
        for name, number in (("w_gate", 1.0), ("w_up", 3.0), ("w_down", 1.0)):
            getattr(network, name).weight.fill_(number)
        got = network(torch.ones(1, 1)).item()
    assert abs(got - 2.1932) < 1e-3, f"for the example above expected 2.1932, got {got:.4f}"


def test_swiglu():
    torch.manual_seed(3)
    network, x = SwiGLU(5, 7), torch.randn(2, 3, 5)

    def wanted_of(x):
        gate, up = x @ network.w_gate.weight.T, x @ network.w_up.weight.T
        return (gate / (1 + (-gate).exp()) * up) @ network.w_down.weight.T

    assert network.w_gate.weight.shape == network.w_up.weight.shape == (7, 5), (
        "`w_gate` and `w_up` lead from d_model to d_ff"
    )
    with torch.no_grad():
        wanted, got = wanted_of(x), network(x)
        assert got.shape == (2, 3, 5), f"expected shape (2, 3, 5), got {tuple(got.shape)}"
        assert torch.allclose(got, wanted, atol=1e-5), (
            "SiLU belongs on the output of `w_gate` alone, and the product comes before `w_down`"
        )
        assert torch.allclose(network(x[0, 0]), wanted[0, 0], atol=1e-5), (
            "a single token, (d_model,)"
        )
        fine = network.double()(x.double())
        assert fine.dtype == torch.float64, "float64 in, float64 out"
        assert torch.allclose(fine, wanted_of(x.double()), rtol=0, atol=1e-12), (
            "a float64 result has the digits of float64. Which step of yours is in float32?"
        )


test_swiglu_by_hand()
test_swiglu()
print("✓ SwiGLU")

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
def numbered(module):
    """The module with weights that depend on their names alone."""
    for name, parameter in module.named_parameters():
        numbers = torch.cos(torch.arange(parameter.numel()) + sum(map(ord, name)))
        with torch.no_grad():
            parameter.copy_(numbers.reshape(parameter.shape))
    return module


def normed(x, weight, eps):
    return weight * x / (x.square().mean(dim=-1, keepdim=True) + eps) ** 0.5


def turned_by_complex_numbers(x, positions, base):
    """x (B, T, d_k) of one head."""
    speeds = torch.tensor([base ** (-2 * k / x.shape[-1]) for k in range(x.shape[-1] // 2)])
    angles = positions.expand(x.shape[:2])[..., None] * speeds
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def word_by_word(block, x, shown, positions, base, eps, H):
    """What the block should give, head by head and word by word. shown: (B, H, T, T)."""
    d_k, z = x.shape[-1] // H, normed(x, block.norm1.weight, eps)
    contexts = torch.zeros_like(x)
    for h in range(H):
        own = slice(h * d_k, (h + 1) * d_k)
        query, key, value = (
            (z @ made.weight.T)[..., own] for made in (block.w_q, block.w_k, block.w_v)
        )
        query, key = (turned_by_complex_numbers(part, positions, base) for part in (query, key))
        scores = (query @ key.mT / d_k**0.5).masked_fill(~shown[:, h], -torch.inf)
        contexts[..., own] = scores.softmax(dim=-1).nan_to_num(0.0) @ value
    h = x + contexts @ block.w_o.weight.T
    network, z = block.feed_forward, normed(h, block.norm2.weight, eps)
    gate = z @ network.w_gate.weight.T
    hidden = gate * gate.sigmoid() * (z @ network.w_up.weight.T)
    return h, h + hidden @ network.w_down.weight.T


def test_modern_block():
    torch.manual_seed(4)
    x, everything = torch.randn(2, 5, 12), torch.ones(2, 3, 5, 5, dtype=torch.bool)
    some = torch.rand(2, 3, 5, 5) < 0.6
    some[0, 1, 2] = False  # this head may attend to nothing here
    ordered, own = torch.arange(5), torch.tensor([[3, 4, 5, 6, 7], [0, 9, 2, 30, 1]])
    block = numbered(ModernBlock(12, 3, 7))
    names = sorted(name for name, _ in block.named_parameters())
    expected = ["feed_forward.w_down.weight", "feed_forward.w_gate.weight", "feed_forward.w_up.weight",
                "norm1.weight", "norm2.weight", "w_k.weight", "w_o.weight", "w_q.weight", "w_v.weight"]  # fmt: skip
    assert names == expected, f"expected the parameters {expected}, found {names}"
    loose = numbered(ModernBlock(12, 3, 7, base=50.0, eps=0.5))
    with torch.no_grad():
        for what, made, arguments, shown, positions, base, eps in (
            ("no mask", block, (), everything, ordered, 1e4, 1e-6),
            ("a mask for each head", block, (some,), some, ordered, 1e4, 1e-6),
            ("positions of each sentence", block, (None, own), everything, own, 1e4, 1e-6),
            ("base 50 and eps 0.5", loose, (None, own), everything, own, 50.0, 0.5),
        ):
            half, whole = word_by_word(made, x, shown, positions, base, eps, 3)
            got = made(x, *arguments)
            assert isinstance(got, torch.Tensor), "the block returns a tensor, without the weights"
            assert got.shape == x.shape, f"expected shape {tuple(x.shape)}, got {tuple(got.shape)}"
            assert not torch.allclose(got, half, atol=1e-3), (
                f"{what}: attention is right, and the feed-forward network is missing"
            )
            if not torch.allclose(got, whole, atol=1e-3):
                made.feed_forward.w_down.weight.zero_()  # so that the second half adds nothing
                assert torch.allclose(made(x, *arguments), half, atol=1e-3), (
                    f"{what}: the first half, x plus attention, differs from computing it word by word"
                )
                raise AssertionError(f"{what}: the result differs from computing it word by word")
    with torch.no_grad():  # a word alone stands at position 0, where nothing is turned
        first, alone = x[:, :1].double(), everything[..., :1, :1]
        fine = block.double()(first)
        _, whole = word_by_word(block, first, alone, ordered[:1], 1e4, 1e-6, 3)
    assert fine.dtype == torch.float64, "float64 in, float64 out"
    assert torch.allclose(fine, whole, rtol=0, atol=1e-10), (
        "a float64 result has the digits of float64. Which step of yours is in float32?"
    )
    for numbers in ((10, 4, 8), (9, 2, 8)):
        try:
            ModernBlock(*numbers)
        except ValueError as error:
            assert all(str(number) in str(error) for number in numbers[:2]), (
                f"the error should name {numbers[0]} and {numbers[1]}: {error}"
            )
        else:
            raise AssertionError(f"ModernBlock{numbers}: expected a ValueError, and none came")


test_modern_block()
print("✓ ModernBlock")

# %% check="ModernBlock"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a12_modern_block.ipynb`. You find it in
# `workspace/exercises/a12_modern_block/` of the course folder.
#
# **No instructor?** Save the notebook, and run this in a new cell:
#
# ```sh
# !python -m autograder check a12_modern_block.ipynb
# ```
#
# It decides every part as it would be decided in a class, and gives the same reasons.
#
# **And then?** You have built the block that the models of today are made of. [Lecture 12](../../lectures/12_looking_inside.ipynb)
# trains models of one and of two such blocks and looks into them, and in assignment 13 you write the tools for that.
#
# The last cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work.

# %%
from course_utils.signoff import signoff

signoff()
