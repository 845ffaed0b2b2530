"""The block that large language models of 2023 are made of: RMSNorm, SwiGLU and rotary positions.

Shapes: B batch, H heads, T length, D = d_model, d_k = D / H width of a head, V vocabulary. Masks are
bool, True = may attend.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask


class RMSNorm(nn.Module):
    """Divide each position by the root of its mean square, then scale each feature.

    y = x / √(mean(x²) + ε) · weight, the mean over the last axis

    In contrast to layer norm no mean is subtracted and nothing is added.

    Args:
        features: size of the last axis.
        eps: ε, which keeps the root away from zero.

    Source: Zhang and Sennrich (2019), eq. 4; ε as in the code of Touvron et al. (2023).
    """

    def __init__(self, features: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.eps = eps

    def forward(self, x: Float[Tensor, "... features"]) -> Float[Tensor, "... features"]:
        """Normalise the last axis."""
        mean_square = x.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


def apply_rotary(
    x: Float[Tensor, "B H T d_k"],
    positions: Int[Tensor, "T"] | Int[Tensor, "B T"],
    base: float = 10000.0,
    factor: float = 1.0,
) -> Float[Tensor, "B H T d_k"]:
    """Turn each pair of neighbouring features by an angle that grows with the position.

    (x_2k, x_2k+1) ↦ (x_2k cos a - x_2k+1 sin a, x_2k sin a + x_2k+1 cos a),
    a = position / factor / base^(2k / d_k)

    Apply it to queries and keys, not to values. Their dot product then depends on the difference of
    the two positions alone. Each row keeps its length.

    Args:
        x: queries or keys; d_k is even.
        positions: for all sentences or with a row for each; every position is 0 or more, in any order.
        base: how much slower each pair turns than the one before it.
        factor: by how much all positions are pressed together (position interpolation), 1 or more.

    Raises:
        ValueError: d_k is odd.

    Source: Su et al. (2021), section 3.4.2, eq. 34; Chen et al. (2023), section 2.3, for the factor.
    """
    d_k = x.shape[-1]
    if d_k % 2 != 0:
        raise ValueError(f"features are turned in pairs, but the width d_k = {d_k} is odd")
    exponents = torch.arange(0, d_k, 2, device=x.device, dtype=torch.float64) / d_k  # (d_k / 2,)
    angles = positions.double().unsqueeze(-1) / factor / base**exponents  # (..., T, d_k / 2)
    if positions.dim() == 2:
        angles = angles.unsqueeze(1)  # (B, 1, T, d_k / 2): all heads share them
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]  # (B, H, T, d_k / 2)
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(start_dim=-2)  # (B, H, T, d_k / 2, 2) → (B, H, T, d_k)


class SwiGLU(nn.Module):
    """A feed-forward network whose inner features are multiplied by a learned gate.

    w_down(SiLU(w_gate(x)) · w_up(x)),  SiLU(a) = a / (1 + e^(-a))

    It has three maps instead of two, so at equal size d_ff is two thirds of what it was.

    Args:
        d_model: width of input and output.
        d_ff: width between the maps.

    Source: Shazeer (2020), eq. 6; Touvron et al. (2023), section 2.2.
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        """Transform each position."""
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))


class ModernBlock(nn.Module):
    """One layer: attention with rotary positions, then SwiGLU, each normed at its entrance.

    h = x + w_o(attention(norm1(x))),  y = h + feed_forward(norm2(h))

    Args:
        d_model, num_heads, d_ff: widths D and d_ff and the number of heads H; D / H is even.
        base, factor: of the angles, see `apply_rotary`.
        eps: of both norms.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Touvron et al. (2023), section 2.2.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        base: float = 10000.0,
        eps: float = 1e-6,
        factor: float = 1.0,
    ):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(
                f"d_model must split evenly into heads, but d_model = {d_model} and "
                f"num_heads = {num_heads}"
            )
        self.num_heads, self.base, self.factor = num_heads, base, factor
        self.norm1, self.norm2 = RMSNorm(d_model, eps), RMSNorm(d_model, eps)
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
        self.feed_forward = SwiGLU(d_model, d_ff)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "..."] | None = None,
        positions: Int[Tensor, "T"] | Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Pass a sequence through the block.

        Args:
            mask: broadcasts to (B, H, T, T); None hides nothing.
            positions: as for `apply_rotary`; None is 0 … T - 1.
        """
        context, _ = self.attend(self.norm1(x), mask, positions)
        x = x + self.w_o(merge_heads(context))
        return x + self.feed_forward(self.norm2(x))

    def attend(
        self,
        normed: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "..."] | None = None,
        positions: Int[Tensor, "T"] | Int[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B H T d_k"], Float[Tensor, "B H T T"]]:
        """What each head takes in, before the heads are merged, and from where.

        `normed` comes from `norm1`; mask and positions are as for `forward`.
        """
        if positions is None:
            positions = torch.arange(normed.shape[1], device=normed.device)
        query, key, value = (
            split_heads(w(normed), self.num_heads) for w in (self.w_q, self.w_k, self.w_v)
        )  # (B, H, T, d_k) each
        query, key = (
            apply_rotary(part, positions, self.base, self.factor) for part in (query, key)
        )
        return scaled_dot_product_attention(query, key, value, mask)


class ModernLanguageModel(nn.Module):
    """A causal language model of such blocks; its last map is the embedding itself, unless asked otherwise.

    h_0 = dropout(E[u]),  h_l = layer_l(h_(l - 1)),  logits = norm(h_L) Eᵀ

    Nothing is added for positions, and there is no factor √D, because a norm comes next.

    Args:
        vocab_size: V, the number of words.
        d_model, num_heads, num_layers, d_ff: D, heads, layers L, inner width.
        dropout: probability of a zero in the embedded words, in training.
        base, eps, factor: of all blocks, see `ModernBlock`; eps is that of the last norm, too.
        tied: whether the last map is the embedding; if not, it is a matrix of its own, `head`.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Touvron et al. (2023), section 2.2; Press and Wolf (2017) for the shared embedding.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        dropout: float = 0.0,
        *,
        base: float = 10000.0,
        eps: float = 1e-6,
        factor: float = 1.0,
        tied: bool = True,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            ModernBlock(d_model, num_heads, d_ff, base, eps, factor) for _ in range(num_layers)
        )
        self.norm = RMSNorm(d_model, eps)
        # With this spread the logits, products of D entries each, begin with a size of about 1.
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.head = None if tied else nn.Linear(d_model, vocab_size, bias=False)

    def embed(self, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """The stream before the first layer."""
        return self.dropout(self.embedding(token_ids))

    def unembed(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Logits from a stream."""
        last = self.embedding if self.head is None else self.head
        return self.norm(x) @ last.weight.T

    def forward(self, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Score every word of the vocabulary as the next one, at every place: logits, without softmax."""
        mask = causal_mask(token_ids.shape[1], token_ids.device)
        x = self.embed(token_ids)  # (B, T, D)
        for layer in self.layers:
            x = layer(x, mask)  # (B, T, D)
        return self.unembed(x)


def attention_maps(
    model: ModernLanguageModel, token_ids: Int[Tensor, "B T"]
) -> Float[Tensor, "L B H T T"]:
    """Which word each head of each layer looks at. Dropout is off while the model is looked at."""
    mask = causal_mask(token_ids.shape[1], token_ids.device)
    maps = []
    with evaluating(model):
        x = model.embed(token_ids)  # (B, T, D)
        for layer in model.layers:
            _, weights = layer.attend(layer.norm1(x), mask)
            maps.append(weights)
            x = layer(x, mask)
    return torch.stack(maps)
