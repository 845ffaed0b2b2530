"""Attention, from the version without parameters to many heads.

Shapes stand in the types, in these letters:
    B  batch                      D, d_model  width of the model
    T  queries (target length)    d_k  width of a query or a key in one head
    S  keys (source length)       d_v  width of a value
    H  heads                      ...  any leading axes, the same for query, key and value

Masks are bool. True in row i and column j means: query i may attend to key j. They broadcast to
(..., T, S). A hidden weight is exactly 0, and a query that may attend to nothing gets weights
and an output of zero, with finite gradients.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

# ------------------------------------------------------------------ without parameters, unscaled


def attention_weights(x: Float[Tensor, "T D"]) -> Float[Tensor, "T T"]:
    """Similarity of every word of a sentence with every word, as weights.

    ω_ij = x_i · x_j,  α_ij = exp(ω_ij) / Σ_k exp(ω_ik)

    Row i of the result holds the weights of word i and sums to one; columns do not.

    Source: lecture 2; Luong et al. (2015), section 3.1, eq. 7 with the score "dot", where queries
        and keys are the same words.
    """
    scores = x @ x.transpose(-2, -1)  # (T, T)
    return scores.softmax(dim=-1)


def basic_self_attention(
    x: Float[Tensor, "T D"],
) -> tuple[Float[Tensor, "T D"], Float[Tensor, "T T"]]:
    """Self-attention without parameters: each word becomes a mixture of all words of its sentence.

    z_i = Σ_j α_ij x_j

    Returns:
        The context vectors z, and the weights, see `attention_weights`.

    Source: lecture 2.
    """
    weights = attention_weights(x)  # (T, T)
    return weights @ x, weights  # (T, D), (T, T)


def self_attention(
    query: Float[Tensor, "B T d_k"], key: Float[Tensor, "B S d_k"], value: Float[Tensor, "B S d_v"]
) -> Float[Tensor, "B T d_v"]:
    """Dot-product attention on a batch, without the scale.

    output = softmax(Q Kᵀ) V

    Source: Luong et al. (2015), section 3.1, eq. 7 with the score "dot".
    """
    scores = torch.bmm(query, key.transpose(1, 2))  # (B, T, S)
    return torch.bmm(scores.softmax(dim=-1), value)  # (B, T, d_v)


def is_permutation_equivariant(
    f: Callable[[Float[Tensor, "T D"]], Float[Tensor, "T ..."]],
    x: Float[Tensor, "T D"],
    permutation: Int[Tensor, "T"],
) -> bool:
    """Does permuting the words permute the result, and do nothing else?

    f(x[p]) = f(x)[p], within rtol 1e-4 and atol 1e-5

    Args:
        f: takes a sentence.
        permutation: an order of 0 … T - 1.

    Source: Zaheer et al. (2017), "Deep Sets", section 2.
    """
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)


# --------------------------------------------------------------------------------- in NumPy


def stable_softmax(
    scores: Float[np.ndarray, "*axes"], axis: int = -1
) -> Float[np.ndarray, "*axes"]:
    """Softmax that does not overflow, for NumPy arrays.

    softmax(s)_i = exp(s_i - max s) / Σ_j exp(s_j - max s)

    Subtracting the maximum changes nothing in exact arithmetic, because the factor exp(-max s)
    cancels; on a computer it keeps every exponent at or below zero.

    Args:
        scores: any shape, with at least one finite score along `axis`; -inf gets weight 0.
        axis: the axis that sums to one.

    Source: Goodfellow et al. (2016), "Deep Learning", section 4.1.
    """
    scores = np.asarray(scores)
    with np.errstate(over="ignore"):  # a difference beyond the float range is -inf: weight 0
        exponents = scores - scores.max(axis=axis, keepdims=True)
    unnormalised = np.exp(exponents)
    return unnormalised / unnormalised.sum(axis=axis, keepdims=True)


def numpy_self_attention(
    X: Float[np.ndarray, "T D"],
    Wq: Float[np.ndarray, "D d_k"],
    Wk: Float[np.ndarray, "D d_k"],
    Wv: Float[np.ndarray, "D d_v"],
) -> tuple[Float[np.ndarray, "T d_v"], Float[np.ndarray, "T T"]]:
    """Scaled dot-product self-attention of one sentence, in NumPy.

    Q = X Wq,  K = X Wk,  V = X Wv,  output = softmax(Q Kᵀ / √d_k) V

    Returns:
        The output, and the weights, of which each row sums to one.

    Source: Vaswani et al. (2017), section 3.2.1, eq. 1.
    """
    query, key, value = X @ Wq, X @ Wk, X @ Wv  # (T, d_k), (T, d_k), (T, d_v)
    scores = query @ key.T / math.sqrt(Wk.shape[1])  # (T, T)
    weights = stable_softmax(scores)  # (T, T)
    return weights @ value, weights  # (T, d_v), (T, T)


# ----------------------------------------------------------------------- scaled and masked


def masked_softmax(
    scores: Float[Tensor, "... S"], mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, "... S"]:
    """Softmax over the last axis in which hidden scores take no part.

    weight_j = exp(s_j) / Σ_(k visible) exp(s_k) where j is visible, and 0 where it is hidden

    Args:
        mask: broadcasts to the shape of `scores`, True = may attend; None hides nothing.

    Returns:
        Weights in the shape of `scores`. Hidden ones are exactly 0; a row with nothing visible is all 0.

    Raises:
        TypeError: the mask is not bool.
        ValueError: the mask does not broadcast to the shape of `scores`.

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    _check_mask(mask, scores.shape)

    # Softmax of a row of nothing but -inf is 0 / 0 = NaN. Such a row is therefore left open, so
    # that its softmax and its gradient are finite, and is multiplied by zero afterwards.
    sees_something = mask.any(dim=-1, keepdim=True)  # (..., 1)
    penalty = torch.zeros_like(mask, dtype=scores.dtype)  # the mask's shape, often far smaller
    penalty = penalty.masked_fill(sees_something & ~mask, -math.inf)
    weights = (scores + penalty).softmax(dim=-1)  # (..., S)
    if mask.is_cpu and sees_something.all():
        # It nearly always does, and this spares a pass over all weights. (On a GPU, asking would
        # mean waiting for it, which costs more than the pass.)
        return weights
    return weights * sees_something


def scaled_dot_product_attention(
    query: Float[Tensor, "... T d_k"],
    key: Float[Tensor, "... S d_k"],
    value: Float[Tensor, "... S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "... T d_v"], Float[Tensor, "... T S"]]:
    """Each query takes the average of the values, weighted by how well their keys match.

    output = softmax(Q Kᵀ / √d_k) V

    Args:
        query, key, value: with the same leading axes.
        mask: broadcasts to (..., T, S), True = may attend; None hides nothing.

    Returns:
        The output, and the weights, of which each row sums to one, or to zero if all of it is hidden.

    Raises:
        TypeError: the mask is not bool.
        ValueError: shapes do not fit together.

    Source: Vaswani et al. (2017), section 3.2.1, eq. 1.
    """
    d_k = query.shape[-1]
    if key.shape[-1] != d_k:
        raise ValueError(
            f"query and key need the same width d_k, but query is {tuple(query.shape)} and key is "
            f"{tuple(key.shape)}; project both to one width first"
        )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"every key needs one value, but key is {tuple(key.shape)} and value is "
            f"{tuple(value.shape)}; take both from the same sequence"
        )
    # Q Kᵀ / √d_k, divided before the product: that is less work, and large scores cannot overflow.
    scores = (query / math.sqrt(d_k)) @ key.transpose(-2, -1)  # (..., T, S)
    weights = masked_softmax(scores, mask)  # (..., T, S)
    return weights @ value, weights  # (..., T, d_v), (..., T, S)


def _check_mask(mask: Tensor, shape: torch.Size) -> None:
    """Raise unless `mask` is bool and broadcasts to `shape` without enlarging it."""
    if mask.dtype != torch.bool:
        raise TypeError(
            f"the mask must be bool with True = may attend, but it is {mask.dtype}; "
            "turn a 0/1 mask into mask.bool(), and a mask of 0 and -inf into mask == 0"
        )
    try:
        mask.expand(shape)
    except RuntimeError:
        raise ValueError(
            f"a mask of shape {tuple(mask.shape)} does not broadcast to the scores' shape "
            f"{tuple(shape)}; give it axes of length 1 where it is the same for all"
        ) from None


# ------------------------------------------------------------------------------ many heads


def split_heads(x: Float[Tensor, "B T d_model"], num_heads: int) -> Float[Tensor, "B H T d_k"]:
    """Cut the features into heads and move the heads in front of the positions.

    head h holds the features h · d_k … (h + 1) · d_k - 1, with d_k = d_model / num_heads

    H, which is `num_heads`, divides d_model.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    batch, length, d_model = x.shape
    x = x.reshape(batch, length, num_heads, d_model // num_heads)  # (B, T, H, d_k)
    return x.transpose(1, 2)  # (B, H, T, d_k)


def merge_heads(x: Float[Tensor, "B H T d_k"]) -> Float[Tensor, "B T H*d_k"]:
    """Put the heads side by side again: the inverse of `split_heads`.

    joined = Concat(head_1, …, head_H)

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    return x.transpose(1, 2).flatten(start_dim=2)  # (B, T, H · d_k)


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own projection of the input.

    head_h = Attention(query W_q^h, key W_k^h, value W_v^h)
    output = Concat(head_1, …, head_H) W_o

    All heads' projections are stored as one square map each: `w_q`, `w_k`, `w_v`, `w_o`.

    Args:
        d_model: width of queries, keys, values and output.
        num_heads: H, a divisor of d_model; each head has the width d_k = d_model / H.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Vaswani et al. (2017), section 3.2.2.
    """

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        if num_heads < 1 or d_model % num_heads != 0:
            raise ValueError(
                f"d_model must split evenly into heads, but d_model = {d_model} and "
                f"num_heads = {num_heads}; choose a divisor of {d_model}"
            )
        self.num_heads = num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B S d_model"],
        value: Float[Tensor, "B S d_model"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "B T d_model"], Float[Tensor, "B H T S"]]:
        """Let every query attend to every key that the mask allows.

        Args:
            mask: broadcasts to (B, H, T, S), True = may attend; None hides nothing. A mask per
                sentence has the shape (B, 1, T, S) or (B, 1, 1, S).

        Returns:
            The output, which is w_o's bias where nothing may be attended to, and each head's weights.

        Raises:
            TypeError: the mask is not bool.
            ValueError: shapes do not fit together.
        """
        key_heads, value_heads = self.project_memory(key, value)
        return self.attend(query, key_heads, value_heads, mask)

    def project_memory(
        self, key: Float[Tensor, "B S d_model"], value: Float[Tensor, "B S d_model"]
    ) -> tuple[Float[Tensor, "B H S d_k"], Float[Tensor, "B H S d_k"]]:
        """The half of `forward` that does not depend on the query, so that it can be cached."""
        key_heads = split_heads(self.w_k(key), self.num_heads)  # (B, H, S, d_k)
        value_heads = split_heads(self.w_v(value), self.num_heads)  # (B, H, S, d_k)
        return key_heads, value_heads

    def attend(
        self,
        query: Float[Tensor, "B T d_model"],
        key_heads: Float[Tensor, "B H S d_k"],
        value_heads: Float[Tensor, "B H S d_k"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "B T d_model"], Float[Tensor, "B H T S"]]:
        """The other half of `forward`: queries meet what `project_memory` made of keys and values."""
        query_heads = split_heads(self.w_q(query), self.num_heads)  # (B, H, T, d_k)
        context, weights = scaled_dot_product_attention(query_heads, key_heads, value_heads, mask)
        output = self.w_o(merge_heads(context))  # (B, H, T, d_k) → (B, T, d_model)
        return output, weights


# ----------------------------------------------------------------- additive, for recurrent nets


def annotations(
    forward_states: Float[Tensor, "B S d_h"], backward_states: Float[Tensor, "B S d_h"]
) -> Float[Tensor, "B S 2*d_h"]:
    """One vector per source word, from what a bidirectional RNN read before it and after it.

    h_j = [→h_j ; ←h_j]

    Args:
        forward_states: first word first, as in the result.
        backward_states: in the order in which the backward RNN produced them: last word first. All
            sentences have the full length S.

    Raises:
        ValueError: the two shapes differ.

    Source: Bahdanau et al. (2015), section 3.2.
    """
    if forward_states.shape != backward_states.shape:
        raise ValueError(
            "forward and backward states need the same shape (B, S, d_h), but they are "
            f"{tuple(forward_states.shape)} and {tuple(backward_states.shape)}"
        )
    backward_in_order = backward_states.flip(1)  # (B, S, d_h), first word first
    return torch.cat([forward_states, backward_in_order], dim=-1)  # (B, S, 2d_h)


class BahdanauAttention(nn.Module):
    """Additive attention: a small network scores each source word against the decoder's state.

    ω_j = vᵀ tanh(W s + U h_j),  α = softmax(ω),  context = Σ_j α_j h_j

    Args:
        decoder_dim: width of the state s.
        encoder_dim: width of an annotation h_j.
        attention_dim: width of the hidden layer that compares them.

    Source: Bahdanau et al. (2015), eq. 5 and 6 and appendix A.1.2.
    """

    def __init__(self, decoder_dim: int, encoder_dim: int, attention_dim: int):
        super().__init__()
        self.W = nn.Linear(decoder_dim, attention_dim, bias=False)
        self.U = nn.Linear(encoder_dim, attention_dim, bias=False)
        self.v = nn.Linear(attention_dim, 1, bias=False)

    def forward(
        self,
        state: Float[Tensor, "B decoder_dim"],
        annotations: Float[Tensor, "B S encoder_dim"],
        mask: Bool[Tensor, "B S"] | None = None,
    ) -> tuple[Float[Tensor, "B encoder_dim"], Float[Tensor, "B S"]]:
        """Summarise the source for one step of the decoder.

        Args:
            state: the decoder's state before this step.
            mask: True = may attend; None hides nothing.

        Returns:
            The context, and the weights. A row sums to one, or to zero if all of it is hidden.

        Raises:
            TypeError: the mask is not bool.
            ValueError: the mask's shape is not (B, S).
        """
        return self.attend(state, annotations, self.U(annotations), mask)

    def attend(
        self,
        state: Float[Tensor, "B decoder_dim"],
        annotations: Float[Tensor, "B S encoder_dim"],
        keys: Float[Tensor, "B S attention_dim"],
        mask: Bool[Tensor, "B S"] | None = None,
    ) -> tuple[Float[Tensor, "B encoder_dim"], Float[Tensor, "B S"]]:
        """`forward` with the keys U h_j given, because they stay the same over all steps of a decoder."""
        if mask is not None and mask.shape != annotations.shape[:2]:
            raise ValueError(
                f"the mask must have the shape (B, S) = {tuple(annotations.shape[:2])}, "
                f"but it has {tuple(mask.shape)}"
            )
        hidden = torch.tanh(self.W(state).unsqueeze(1) + keys)  # (B, S, attention_dim)
        scores = self.v(hidden).squeeze(-1)  # (B, S)
        weights = masked_softmax(scores, mask)  # (B, S)
        context = torch.bmm(weights.unsqueeze(1), annotations).squeeze(1)  # (B, encoder_dim)
        return context, weights
