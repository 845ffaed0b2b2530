"""Mistakes that real projects made in what assignment 12 asks for."""

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a12_modern_block.answers import modern_block, rms_norm, swiglu
from assignments.a12_modern_block.answers.apply_rotary import angles_of, tables, turned
from assignments.a12_modern_block.answers.bank import BANK
from course_utils.attention import merge_heads, scaled_dot_product_attention


@BANK.wrong("RMSNorm", named="ε outside the root", published="allenai/OLMo#281")
class LengthOverTheRootOfTheWidth(rms_norm.Base):
    """The root mean square is taken from the length of the token, and ε is added behind it."""

    def forward(self, x):
        length = x.norm(2, dim=-1, keepdim=True)
        return self.weight * x / (length * x.shape[-1] ** -0.5 + self.eps)


@BANK.wrong("RMSNorm", named="multiplied instead of divided", published="mosaicml/llm-foundry#371")
class DividedByRsqrt(rms_norm.Base):
    """`torch.rsqrt` is one over the root already, so dividing by it multiplies by the root."""

    def forward(self, x):
        return x / torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


@BANK.wrong(
    "apply_rotary",
    named="neighbours' angles on the halves",
    published="raiyanyahya/how-to-train-your-gpt#6",
)
def tables_for_neighbours_and_partners_from_the_halves(x, positions, base=10000.0, factor=1.0):
    """Angles stand twice side by side, as for neighbours, but partners come from the other half."""
    angles = angles_of(x, positions, base, factor).repeat_interleave(2, dim=-1)
    first, second = x.chunk(2, dim=-1)
    partner = torch.cat([-second, first], dim=-1)
    return x * angles.cos().to(x.dtype) + partner * angles.sin().to(x.dtype)


@BANK.wrong("apply_rotary", named="halves for neighbours", published="karpathy/nanochat#264")
def first_half_with_second_half(x, positions, base=10000.0, factor=1.0):
    """Feature k is paired with feature k + d_k / 2, and the rows of W_q and W_k stay in their order."""
    cos, sin = tables(x, positions, base, factor)
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@BANK.wrong("apply_rotary", named="positions ignored", published="pytorch/executorch#2010")
def counted_from_zero(x, positions, base=10000.0, factor=1.0):
    """The table is cut from its beginning, although with a cache the words begin further on."""
    return turned(x, *tables(x, torch.arange(x.shape[2]), base, factor))


@BANK.wrong("SwiGLU", named="SiLU on w_up", published="ml-explore/mlx-lm#767")
class BranchesExchanged(swiglu.Base):
    """SiLU acts on the values instead of the gate, after an argument had changed its place."""

    def forward(self, x):
        return self.w_down(self.w_gate(x) * F.silu(self.w_up(x)))


@BANK.wrong("SwiGLU", named="SiLU on the product", published="Nijikadesu/breakdown-minimind#3")
class ABracketTooFar(swiglu.Base):
    """One bracket stands too far right, so SiLU acts on the product of both maps."""

    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x) * self.w_up(x)))


@BANK.wrong("SwiGLU", named="no gate", published="google-research/timesfm#493")
class SiluUnderTheNameOfSwiglu(swiglu.Base):
    """The activation is called SwiGLU and is SiLU, so nothing is multiplied."""

    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)))


@BANK.wrong(
    "SwiGLU",
    told="wrong about what a new module holds",
    published="bkitano/llama-from-scratch#7",
)
class LearnedSlope(swiglu.Base):
    """SiLU has a slope β of its own that is learned, so the module has a parameter too many."""

    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.beta = nn.Parameter(torch.ones(1))

    def forward(self, x):
        gate = self.w_gate(x)
        return self.w_down(gate * torch.sigmoid(self.beta * gate) * self.w_up(x))


@BANK.wrong(
    "ModernBlock",
    named=("the normed x is added after attention", "the normed h is added"),
    published="pytorch/pytorch#61165",
)
class BothResidualsNormed(modern_block.Base):
    """No copy is kept before either norm, so both residuals start behind one."""

    def forward(self, x, mask=None, positions=None):
        x = self.norm1(x)
        x = x + self.attend(x, mask, positions)
        x = self.norm2(x)
        return x + self.feed_forward(x)


@BANK.wrong(
    "ModernBlock",
    told="all the same",
    published="probml/pml-book#709",
)
class XAddedBeforeTheSublayers(modern_block.Base):
    """The formula in the book puts x inside the sublayer, attn(LN(x) + x), so nothing goes around it."""

    def forward(self, x, mask=None, positions=None):
        h = self.attend(self.norm1(x) + x, mask, positions)
        return self.feed_forward(self.norm2(h) + h)


@BANK.wrong(
    "ModernBlock",
    named="norm1 for queries only",
    published="facebookresearch/xformers#233",
)
class OnlyTheFirstInputNormed(modern_block.Base):
    """The norm acts on what the queries are made of, and keys and values come from x as it is."""

    def attend(self, z, mask, positions):
        q, _, _ = self.heads(z)
        _, k, v = self.heads(self.before)
        q, k, v = self.turn(q, k, v, self.where(z, positions))
        context, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(merge_heads(context))

    def forward(self, x, mask=None, positions=None):
        self.before = x
        return super().forward(x, mask, positions)
