"""What a transformer layer is made of: feed-forward network, layer norm, dropout, residuals.

Shapes: B batch, T length, S length of the memory, D = d_model, d_ff inner width, H heads,
d_k = d_model / H. Masks are bool, True = may attend, see `course_utils.attention`.
"""

import math

import torch
from torch import nn

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

    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        """Transform each position: (..., D) float tensor → (..., D)."""
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

    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        """Normalise the last axis: (..., features) float tensor → the same shape."""
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

    def __init__(self, features, dropout_rate=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout_rate)
        self.layer_norm = LayerNorm(features)

    def forward(self, query, key, value):
        """Attend, drop, average, normalise.

        Args:
            query: (B, T, d_k) float tensor.
            key: (B, S, d_k) float tensor.
            value: (B, S, features) float tensor.

        Returns:
            (B, T, features) tensor.
        """
        scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])  # (B, T, S)
        weights = self.dropout(scores.softmax(dim=-1))  # (B, T, S)
        return self.layer_norm(weights @ value)  # (B, T, features)


def row_sums_under_dropout(weights, rate, draws, generator=None):
    """Sum each row of weights after inverted dropout, and tell mean and spread over many draws.

    Over all draws, the sum of row i has the mean Σ_j w_ij and the variance p / (1 − p) · Σ_j w_ij².

    Args:
        weights: (T, S) float tensor.
        rate: p, the probability of a zero, at least 0 and less than 1.
        draws: number of masks, 1 or more; every weight of every mask is drawn independently.
        generator: a `torch.Generator` to draw from; None takes torch's own.

    Returns:
        mean, std: (T,) tensors, over the draws; the variance is divided by their number.

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

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, norm_first=False):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        # PyTorch's layer norm gives the numbers of the class above and is computed in one go.
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        """Pass a sequence through the layer.

        Args:
            x: (B, T, D) float tensor.
            mask: bool tensor that broadcasts to (B, H, T, T), True = may attend.

        Returns:
            (B, T, D) tensor.
        """
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

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.layer_norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        """Pass a sequence through the layer.

        Args:
            x: (B, T, D) float tensor.
            memory: (B, S, D) float tensor, the encoder's output.
            self_mask: bool, broadcasts to (B, H, T, T). None hides nothing, not even the future.
            memory_mask: bool, broadcasts to (B, H, T, S).

        Returns:
            (B, T, D) tensor.
        """
        attended, _ = self.self_attn(x, x, x, self_mask)  # (B, T, D)
        x = self.layer_norm1(x + self.dropout(attended))
        attended, _ = self.cross_attn(x, memory, memory, memory_mask)  # (B, T, D)
        x = self.layer_norm2(x + self.dropout(attended))
        return self.layer_norm3(x + self.dropout(self.feed_forward(x)))

    def step(self, x, past, memory_heads, self_mask=None, memory_mask=None):
        """`forward` for one further position, with what earlier steps computed kept in a cache.

        Causal self-attention makes this possible: a position never changes when more follow.

        Args:
            x: (B, 1, D) float tensor, the new position.
            past: key and value heads of the positions before it, two (B, H, t, d_k) tensors;
                None at the first position.
            memory_heads: `cross_attn.project_memory(memory, memory)`, two (B, H, S, d_k) tensors.
            self_mask: bool, broadcasts to (B, H, 1, t + 1).
            memory_mask: bool, broadcasts to (B, H, 1, S).

        Returns:
            x: (B, 1, D) tensor.
            past: two (B, H, t + 1, d_k) tensors for the next step.
        """
        heads = self.self_attn.project_memory(x, x)  # two (B, H, 1, d_k)
        if past is not None:
            heads = [torch.cat(pair, dim=2) for pair in zip(past, heads, strict=True)]
        attended, _ = self.self_attn.attend(x, *heads, self_mask)  # (B, 1, D)
        x = self.layer_norm1(x + self.dropout(attended))
        attended, _ = self.cross_attn.attend(x, *memory_heads, memory_mask)  # (B, 1, D)
        x = self.layer_norm2(x + self.dropout(attended))
        return self.layer_norm3(x + self.dropout(self.feed_forward(x))), heads
