"""Telling positions apart: sinusoids, and three ways to encode the distance between two words.

Shapes: B batch, T queries, S keys, H heads, D model width, d_k width of a head.
"""

from typing import Any

import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor, nn

# ------------------------------------------------------------------------- absolute: sinusoids


def positional_encoding(length: int, d_model: int) -> Float32[Tensor, "{length} {d_model}"]:
    """One vector per position, counted from 0: sines and cosines from fast to slow.

    PE[pos, 2k] = sin(pos / 10000^(2k / d_model)),  PE[pos, 2k + 1] = cos of the same angle

    If d_model is odd, the last column is a sine without its cosine.

    Source: Vaswani et al. (2017), section 3.5.
    """
    # In float64, because in float32 the angle of position 5000 is already off by about 1e-4.
    positions = torch.arange(length, dtype=torch.float64).unsqueeze(1)  # (length, 1)
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model  # (⌈d_model / 2⌉,)
    angles = positions / 10000**exponents  # (length, ⌈d_model / 2⌉)

    encoding = torch.empty(length, d_model)
    encoding[:, 0::2] = torch.sin(angles)
    encoding[:, 1::2] = torch.cos(angles[:, : d_model // 2])
    return encoding


class PositionalEncoding(nn.Module):
    """Add the position's vector to each word's vector.

    output = dropout(x + PE[0 … T - 1])

    The table is the buffer `pe` (max_len, d_model): it moves with the module but is not trained,
    and it is not saved, because it can be computed again.

    Args:
        d_model: width of the words' vectors.
        dropout: probability with which an entry of the sum is set to zero in training.
        max_len: number of positions in the table.

    Source: Vaswani et al. (2017), sections 3.5 and 5.4.
    """

    pe: Float[Tensor, "max_len d_model"]

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", positional_encoding(max_len, d_model), persistent=False)

    def forward(self, x: Float[Tensor, "B T D"], start: int = 0) -> Float[Tensor, "B T D"]:
        """Encode the positions start … start + T - 1; start is above 0 only where words arrive one by one.

        The result has x's dtype; x itself is left as it was.

        Raises:
            ValueError: the sequence reaches beyond max_len.
        """
        end, max_len = start + x.shape[1], len(self.pe)
        if end > max_len:
            raise ValueError(
                f"a sequence of length {end} is longer than max_len = {max_len}; "
                "shorten it, or build the module with a larger max_len"
            )
        return self.dropout(x + self.pe[start:end].to(x.dtype))  # (B, T, D)


def visualize_positional_encodings(
    length: int, d_model: int = 512, ax: Any = None, cmap: str = "RdBu"
) -> Any:
    """Draw the table of encodings: dimensions from left to right, positions from top to bottom.

    Args:
        length: number of positions.
        d_model: number of dimensions.
        ax: matplotlib Axes to draw on; None opens a new figure.
        cmap: a matplotlib colour map for signed values, as they lie between -1 and 1.

    Returns:
        The Axes. Nothing is shown: call `plt.show()` or display the Axes' figure.
    """
    import matplotlib.pyplot as plt  # here, so that models need no drawing library

    if ax is None:
        _, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
    table = positional_encoding(length, d_model).numpy()
    # The values are signed, so the colours run from one hue over a pale one to another.
    image = ax.imshow(table, cmap=cmap, vmin=-1, vmax=1, aspect="auto")
    ax.set(xlabel="dimension", ylabel="position")
    ax.figure.colorbar(image, ax=ax, label="value")
    return ax


# ------------------------------------------------------- relative: a number added to each score


def relative_positions(
    query_length: int, key_length: int, device: torch.device | str | None = None
) -> Int[Tensor, "{query_length} {key_length}"]:
    """How far to the right of each query each key stands.

    offset[i, j] = j - i

    Source: Shaw et al. (2018), section 3.2.
    """
    queries = torch.arange(query_length, device=device).unsqueeze(1)  # (T, 1)
    keys = torch.arange(key_length, device=device)  # (S,)
    return keys - queries  # (T, S)


class RelativePositionBias(nn.Module):
    """A learned number for each head and each offset, to be added to the scores.

    bias[h, i, j] = table[clip(j - i, -max_distance, max_distance), h]

    Offsets beyond max_distance share the number at the edge, so any length has a bias.

    Args:
        num_heads: H, how many heads.
        max_distance: the largest offset with a number of its own.

    Source: Shaw et al. (2018), section 3.2 (clipping); Raffel et al. (2020), section 2.1 (one
        number per head instead of a vector).
    """

    def __init__(self, num_heads: int, max_distance: int):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Embedding(2 * max_distance + 1, num_heads)
        nn.init.zeros_(self.table.weight)  # at first, all offsets are alike

    def forward(
        self, query_length: int, key_length: int
    ) -> Float[Tensor, "H {query_length} {key_length}"]:
        """The bias for T queries and S keys, of the parameters' dtype."""
        offsets = relative_positions(query_length, key_length, self.table.weight.device)  # (T, S)
        rows = offsets.clamp(-self.max_distance, self.max_distance) + self.max_distance
        return self.table(rows).permute(2, 0, 1)  # (T, S, H) → (H, T, S)


def alibi_slopes(num_heads: int) -> Float32[Tensor, "{num_heads}"]:
    """How fast each head's attention fades with distance, without anything to learn.

    slope_h = 2^(-8 h / H),  h = 1 … H, steepest first

    The paper defines powers of two; the same formula serves any H here.

    Source: Press et al. (2022), section 3.
    """
    return 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)


def alibi_bias(
    num_heads: int, query_length: int, key_length: int
) -> Float32[Tensor, "{num_heads} {query_length} {key_length}"]:
    """Attention with linear biases: a penalty on the score that grows with distance.

    bias[h, i, j] = -slope_h · |j - i|

    The paper looks to the left only, where |j - i| = i - j.

    Source: Press et al. (2022), section 3.
    """
    distances = relative_positions(query_length, key_length).abs()  # (T, S)
    return -alibi_slopes(num_heads)[:, None, None] * distances  # (H, T, S)


# --------------------------------------------------- relative: queries and keys that are turned


def rotate(x: Float[Tensor, "... T d_k"], start: int = 0) -> Float[Tensor, "... T d_k"]:
    """Rotary encoding: turn each pair of features by an angle that grows with the position.

    (x_2k, x_2k+1) ↦ (x_2k cos a - x_2k+1 sin a, x_2k sin a + x_2k+1 cos a),
    a = pos / 10000^(2k / d_k), pos = start … start + T - 1

    Apply it to queries and keys, not to values. The dot product of a query turned by its
    position and a key turned by its own depends on the difference of the two positions alone.
    Each row keeps its length.

    Raises:
        ValueError: d_k is odd.

    Source: Su et al. (2021), section 3.2.2, eq. 15, and section 3.4.2, eq. 34.
    """
    length, d_k = x.shape[-2:]
    if d_k % 2 != 0:
        raise ValueError(f"features are turned in pairs, but the width d_k = {d_k} is odd")
    table = positional_encoding(start + length, d_k)[start:].to(x)  # (T, d_k)
    sin, cos = table[:, 0::2], table[:, 1::2]  # (T, d_k / 2)
    even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, d_k / 2)
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(start_dim=-2)  # (..., T, d_k / 2, 2) → (..., T, d_k)
