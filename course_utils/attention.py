"""Attention, from the version without parameters to many heads.

Shapes:
    B  batch                      D, d_model  width of the model
    T  queries (target length)    d_k  width of a query or a key in one head
    S  keys (source length)       d_v  width of a value
    H  heads                      ...  any leading axes, the same for query, key and value

Masks are bool. True in row i and column j means: query i may attend to key j. They broadcast to
(..., T, S). A hidden weight is exactly 0, and a query that may attend to nothing gets weights
and an output of zero, with finite gradients.
"""

import math

import numpy as np
import torch
from torch import nn

# ------------------------------------------------------------------ without parameters, unscaled


def attention_weights(x):
    """Similarity of every word with every word, as weights.

    ω_ij = x_i · x_j,  α_ij = exp(ω_ij) / Σ_k exp(ω_ik)

    Args:
        x: (T, D) float tensor, one sentence.

    Returns:
        (T, T) tensor. Row i holds the weights of word i and sums to one; columns do not.

    Source: lecture 2; Luong et al. (2015), section 3.1, eq. 7 with the score "dot", where queries
        and keys are the same words.
    """
    scores = x @ x.transpose(-2, -1)  # (T, T)
    return scores.softmax(dim=-1)


def basic_self_attention(x):
    """Self-attention without parameters: each word becomes a mixture of all words.

    z_i = Σ_j α_ij x_j

    Args:
        x: (T, D) float tensor, one sentence.

    Returns:
        z: (T, D) context vectors.
        weights: (T, T), see `attention_weights`.

    Source: lecture 2.
    """
    weights = attention_weights(x)  # (T, T)
    return weights @ x, weights  # (T, D), (T, T)


def self_attention(query, key, value):
    """Dot-product attention on a batch, without the scale.

    output = softmax(Q Kᵀ) V

    Args:
        query: (B, T, d_k) float tensor.
        key: (B, S, d_k) float tensor.
        value: (B, S, d_v) float tensor.

    Returns:
        (B, T, d_v) tensor.

    Source: Luong et al. (2015), section 3.1, eq. 7 with the score "dot".
    """
    scores = torch.bmm(query, key.transpose(1, 2))  # (B, T, S)
    return torch.bmm(scores.softmax(dim=-1), value)  # (B, T, d_v)


def is_permutation_equivariant(f, x, permutation):
    """Does permuting the words permute the result, and do nothing else?

    f(x[p]) = f(x)[p], within rtol 1e-4 and atol 1e-5

    Args:
        f: function from a (T, D) tensor to a tensor whose first axis is T.
        x: (T, D) float tensor.
        permutation: (T,) int64 tensor, an order of 0 … T - 1.

    Returns:
        A Python bool.

    Source: Zaheer et al. (2017), "Deep Sets", section 2.
    """
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)


# --------------------------------------------------------------------------------- in NumPy


def stable_softmax(scores, axis=-1):
    """Softmax that does not overflow, for NumPy arrays.

    softmax(s)_i = exp(s_i - max s) / Σ_j exp(s_j - max s)

    Subtracting the maximum changes nothing in exact arithmetic, because the factor exp(-max s)
    cancels; on a computer it keeps every exponent at or below zero.

    Args:
        scores: float array of any shape with at least one finite score along `axis`.
        axis: the axis that sums to one.

    Returns:
        Array of the same shape. A score of -inf gets weight 0.

    Source: Goodfellow et al. (2016), "Deep Learning", section 4.1.
    """
    scores = np.asarray(scores)
    with np.errstate(over="ignore"):  # a difference beyond the float range is -inf: weight 0
        exponents = scores - scores.max(axis=axis, keepdims=True)
    unnormalised = np.exp(exponents)
    return unnormalised / unnormalised.sum(axis=axis, keepdims=True)


def numpy_self_attention(X, Wq, Wk, Wv):
    """Scaled dot-product self-attention of one sentence, in NumPy.

    Q = X Wq,  K = X Wk,  V = X Wv,  output = softmax(Q Kᵀ / √d_k) V

    Args:
        X: (T, D) float array.
        Wq, Wk: (D, d_k) float arrays.
        Wv: (D, d_v) float array.

    Returns:
        output: (T, d_v) array.
        weights: (T, T) array; each row sums to one.

    Source: Vaswani et al. (2017), section 3.2.1, eq. 1.
    """
    query, key, value = X @ Wq, X @ Wk, X @ Wv  # (T, d_k), (T, d_k), (T, d_v)
    scores = query @ key.T / math.sqrt(Wk.shape[1])  # (T, T)
    weights = stable_softmax(scores)  # (T, T)
    return weights @ value, weights  # (T, d_v), (T, T)


# ----------------------------------------------------------------------- scaled and masked


def masked_softmax(scores, mask=None):
    """Softmax over the last axis in which hidden scores take no part.

    weight_j = exp(s_j) / Σ_(k visible) exp(s_k) where j is visible, and 0 where it is hidden

    Args:
        scores: (..., S) float tensor.
        mask: bool tensor that broadcasts to the shape of `scores`, True = may attend; None hides
            nothing.

    Returns:
        Tensor like `scores`. Hidden weights are exactly 0; a row with nothing visible is all 0.

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


def scaled_dot_product_attention(query, key, value, mask=None):
    """Each query takes the average of the values, weighted by how well their keys match.

    output = softmax(Q Kᵀ / √d_k) V

    Args:
        query: (..., T, d_k) float tensor.
        key: (..., S, d_k) float tensor.
        value: (..., S, d_v) float tensor.
        mask: bool tensor that broadcasts to (..., T, S), True = may attend; None hides nothing.

    Returns:
        output: (..., T, d_v) tensor.
        weights: (..., T, S) tensor. Each row sums to one, or to zero if all of it is hidden.

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


def _check_mask(mask, shape):
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


def split_heads(x, num_heads):
    """Cut the features into heads and move the heads in front of the positions.

    head h holds the features h · d_k … (h + 1) · d_k - 1, with d_k = d_model / num_heads

    Args:
        x: (B, T, d_model) tensor; num_heads divides d_model.
        num_heads: H, how many heads.

    Returns:
        (B, H, T, d_k) tensor.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    batch, length, d_model = x.shape
    x = x.reshape(batch, length, num_heads, d_model // num_heads)  # (B, T, H, d_k)
    return x.transpose(1, 2)  # (B, H, T, d_k)


def merge_heads(x):
    """Put the heads side by side again: the inverse of `split_heads`.

    joined = Concat(head_1, …, head_H)

    Args:
        x: (B, H, T, d_k) tensor.

    Returns:
        (B, T, H · d_k) tensor.

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

    def __init__(self, d_model, num_heads):
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

    def forward(self, query, key, value, mask=None):
        """Let every query attend to every key that the mask allows.

        Args:
            query: (B, T, d_model) float tensor.
            key, value: (B, S, d_model) float tensors.
            mask: bool tensor that broadcasts to (B, H, T, S), True = may attend. A mask per
                sentence has the shape (B, 1, T, S) or (B, 1, 1, S).

        Returns:
            output: (B, T, d_model) tensor. Where nothing may be attended to it is w_o's bias.
            weights: (B, H, T, S) tensor.

        Raises:
            TypeError: the mask is not bool.
            ValueError: shapes do not fit together.
        """
        key_heads, value_heads = self.project_memory(key, value)
        return self.attend(query, key_heads, value_heads, mask)

    def project_memory(self, key, value):
        """The half of `forward` that does not depend on the query, so that it can be cached.

        Args:
            key, value: (B, S, d_model) float tensors.

        Returns:
            key_heads, value_heads: (B, H, S, d_k) tensors.
        """
        key_heads = split_heads(self.w_k(key), self.num_heads)  # (B, H, S, d_k)
        value_heads = split_heads(self.w_v(value), self.num_heads)  # (B, H, S, d_k)
        return key_heads, value_heads

    def attend(self, query, key_heads, value_heads, mask=None):
        """The other half of `forward`: queries meet keys and values that are already projected.

        Args:
            query: (B, T, d_model) float tensor.
            key_heads, value_heads: (B, H, S, d_k) tensors from `project_memory`.
            mask: as in `forward`.

        Returns:
            output (B, T, d_model) and weights (B, H, T, S), as in `forward`.
        """
        query_heads = split_heads(self.w_q(query), self.num_heads)  # (B, H, T, d_k)
        context, weights = scaled_dot_product_attention(query_heads, key_heads, value_heads, mask)
        output = self.w_o(merge_heads(context))  # (B, H, T, d_k) → (B, T, d_model)
        return output, weights


# ----------------------------------------------------------------- additive, for recurrent nets


def annotations(forward_states, backward_states):
    """One vector per source word, from what a bidirectional RNN read before it and after it.

    h_j = [→h_j ; ←h_j]

    Args:
        forward_states: (B, S, d_h) float tensor, first word first.
        backward_states: (B, S, d_h) float tensor in the order in which the backward RNN produced
            it: last word first. All sentences have the full length S.

    Returns:
        (B, S, 2d_h) tensor, first word first.

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

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.W = nn.Linear(decoder_dim, attention_dim, bias=False)
        self.U = nn.Linear(encoder_dim, attention_dim, bias=False)
        self.v = nn.Linear(attention_dim, 1, bias=False)

    def forward(self, state, annotations, mask=None):
        """Summarise the source for one step of the decoder.

        Args:
            state: (B, decoder_dim) float tensor, the decoder's state before this step.
            annotations: (B, S, encoder_dim) float tensor.
            mask: (B, S) bool tensor, True = may attend; None hides nothing.

        Returns:
            context: (B, encoder_dim) tensor.
            weights: (B, S) tensor. A row sums to one, or to zero if all of it is hidden.

        Raises:
            TypeError: the mask is not bool.
            ValueError: the mask's shape is not (B, S).
        """
        return self.attend(state, annotations, self.U(annotations), mask)

    def attend(self, state, annotations, keys, mask=None):
        """`forward` with U h_j given, because it stays the same over all steps of a decoder.

        Args:
            state, annotations, mask: as in `forward`.
            keys: (B, S, attention_dim) tensor, U(annotations).

        Returns:
            context (B, encoder_dim) and weights (B, S), as in `forward`.
        """
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
