"""What a transformer layer is made of: feed-forward network, layer norm, dropout, residuals.

Shapes: B batch, T length, S length of the memory, D = d_model, d_ff inner width, H heads,
d_k = d_model / H. Masks are bool, True = may attend, see `course_utils.attention`.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_utils.attention import MultiHeadAttention


class PositionwiseFeedForward(nn.Module):
    """The same two-layer network for each position by itself.

    FFN(x) = W_2 dropout(max(0, W_1 x + b_1)) + b_2

    Args:
        d_model: width of input and output.
        d_ff: width between the two maps.
        dropout: probability of a zero after the ReLU, in training.

    Source: Vaswani et al. (2017), section 3.3, eq. 2.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        """Transform each position."""
        hidden = torch.relu(self.w_1(x))  # (..., d_ff)
        return self.w_2(self.dropout(hidden))  # (..., D)


class LayerNorm(nn.Module):
    """Give each position mean 0 and variance 1 over its features, then scale and shift.

    y = (x - μ) / √(σ² + ε) · γ + β,  μ and σ² over the last axis, σ² divided by its size

    γ is the parameter `weight`, β is `bias`.

    Args:
        features: size of the last axis.
        eps: ε, which keeps the root away from zero where all features are equal.

    Source: Ba, Kiros and Hinton (2016), eq. 3 and 4.
    """

    def __init__(self, features: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: Float[Tensor, "... features"]) -> Float[Tensor, "... features"]:
        """Normalise the last axis."""
        centred = x - x.mean(dim=-1, keepdim=True)  # (..., features)
        variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias


class SelfAttentionWithDropoutAndNorm(nn.Module):
    """Scaled dot-product attention with dropout on its weights and layer norm on its output.

    output = LayerNorm(dropout(softmax(Q Kᵀ / √d_k)) V)

    Args:
        features: d_v, the width of the values, over which the output is normalised.
        dropout_rate: probability of a zero among the weights, in training. What is left is
            divided by 1 - dropout_rate, so that rows sum to one only on average.

    Source: Vaswani et al. (2017), eq. 1; Srivastava et al. (2014), section 4; Ba et al. (2016).
    """

    def __init__(self, features: int, dropout_rate: float = 0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout_rate)
        self.layer_norm = LayerNorm(features)

    def forward(
        self,
        query: Float[Tensor, "B T d_k"],
        key: Float[Tensor, "B S d_k"],
        value: Float[Tensor, "B S features"],
    ) -> Float[Tensor, "B T features"]:
        """Attend, drop, average, normalise."""
        scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])  # (B, T, S)
        weights = self.dropout(scores.softmax(dim=-1))  # (B, T, S)
        return self.layer_norm(weights @ value)  # (B, T, features)


def row_sums_under_dropout(
    weights: Float[Tensor, "T S"],
    rate: float,
    draws: int,
    generator: torch.Generator | None = None,
) -> tuple[Float[Tensor, "T"], Float[Tensor, "T"]]:
    """Sum each row of weights after inverted dropout, and tell mean and spread over many draws.

    Over all draws, the sum of row i has the mean Σ_j w_ij and the variance p / (1 − p) · Σ_j w_ij².

    Args:
        rate: p, the probability of a zero, at least 0 and less than 1.
        draws: number of masks, 1 or more; every weight of every mask is drawn independently.
        generator: what to draw from; None takes torch's own.

    Returns:
        Mean and standard deviation over the draws; the variance is divided by their number.

    Source: Srivastava et al. (2014), section 4; the variance is derived in lecture 7.
    """
    numbers = torch.rand(draws, *weights.shape, generator=generator, device=weights.device)
    sums = (weights * (numbers >= rate) / (1 - rate)).sum(dim=-1)  # (draws, T)
    return sums.mean(dim=0), sums.std(dim=0, correction=0)


class TransformerLayer(nn.Module):
    """One layer of the encoder: self-attention, then the feed-forward network.

    x ← LayerNorm(x + dropout(SelfAttention(x)))
    x ← LayerNorm(x + dropout(FFN(x)))

    This is post-LN, as in the paper. With norm_first=True it is pre-LN, x + f(LayerNorm(x)):
    then nothing normalises the sum itself, and a stack of such layers needs one norm at its end.

    Args:
        d_model, num_heads, d_ff: widths D and d_ff and the number of heads H.
        dropout: probability of a zero in each sublayer's output and after the ReLU, in training.
        norm_first: pre-LN instead of post-LN.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Vaswani et al. (2017), section 3.1 and figure 1, left; Xiong et al. (2020), table 1.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        norm_first: bool = False,
    ):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        # PyTorch's layer norm gives the numbers of the class above and is computed in one go.
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(
        self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "B T D"]:
        """Pass a sequence through the layer. The mask broadcasts to (B, H, T, T), True = may attend."""
        if self.norm_first:
            normed = self.layer_norm1(x)  # (B, T, D)
            attended, _ = self.self_attn(normed, normed, normed, mask)  # (B, T, D)
            x = x + self.dropout(attended)
            return x + self.dropout(self.feed_forward(self.layer_norm2(x)))

        attended, _ = self.self_attn(x, x, x, mask)  # (B, T, D)
        x = self.layer_norm1(x + self.dropout(attended))
        return self.layer_norm2(x + self.dropout(self.feed_forward(x)))


class DecoderLayer(nn.Module):
    """One layer of the decoder: self-attention, cross-attention, feed-forward network. Post-LN.

    x ← LayerNorm(x + dropout(SelfAttention(x)))
    x ← LayerNorm(x + dropout(CrossAttention(query = x, key = value = memory)))
    x ← LayerNorm(x + dropout(FFN(x)))

    Args:
        d_model, num_heads, d_ff: widths D and d_ff and the number of heads H.
        dropout: probability of a zero in each sublayer's output and after the ReLU, in training.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Vaswani et al. (2017), section 3.1 and figure 1, right.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.layer_norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        self_mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Pass a sequence through the layer.

        Args:
            memory: the encoder's output.
            self_mask: broadcasts to (B, H, T, T). None hides nothing, not even the future.
            memory_mask: broadcasts to (B, H, T, S).
        """
        attended, _ = self.self_attn(x, x, x, self_mask)  # (B, T, D)
        x = self.layer_norm1(x + self.dropout(attended))
        attended, _ = self.cross_attn(x, memory, memory, memory_mask)  # (B, T, D)
        x = self.layer_norm2(x + self.dropout(attended))
        return self.layer_norm3(x + self.dropout(self.feed_forward(x)))

    def step(
        self,
        x: Float[Tensor, "B 1 D"],
        past: Sequence[Float[Tensor, "B H t d_k"]] | None,
        memory_heads: tuple[Float[Tensor, "B H S d_k"], Float[Tensor, "B H S d_k"]],
        self_mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "B 1 D"], Sequence[Float[Tensor, "B H longer d_k"]]]:
        """`forward` for one further position, with what earlier steps computed kept in a cache.

        Causal self-attention makes this possible: a position never changes when more follow.

        Args:
            past: key and value heads of the t positions before it; None at the first position.
            memory_heads: `cross_attn.project_memory(memory, memory)`.
            self_mask: broadcasts to (B, H, 1, t + 1).
            memory_mask: broadcasts to (B, H, 1, S).

        Returns:
            x, and the past of the next step, which is longer by one position.
        """
        heads = self.self_attn.project_memory(x, x)  # two (B, H, 1, d_k)
        if past is not None:
            heads = [torch.cat(pair, dim=2) for pair in zip(past, heads, strict=True)]  # type: ignore[assignment]
        attended, _ = self.self_attn.attend(x, *heads, self_mask)  # (B, 1, D)
        x = self.layer_norm1(x + self.dropout(attended))
        attended, _ = self.cross_attn.attend(x, *memory_heads, memory_mask)  # (B, 1, D)
        x = self.layer_norm2(x + self.dropout(attended))
        return self.layer_norm3(x + self.dropout(self.feed_forward(x))), heads
