# ---
# jupyter:
#   course:
#     lecture: 08_transformer
#     minutes: 45
#     summary: the position-wise feed-forward network and one whole layer of the encoder
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
# # Assignment 8: a transformer layer
#
# You have attention, norms and dropout. Two things are still missing for a layer of the encoder in [lecture
# 8](../../lectures/08_transformer.ipynb), namely the small network that works on each word separately, and the
# order in which everything is put together. You write both. [Lecture
# 7](../../lectures/07_layer_normalization.ipynb#The-position-wise-feed-forward-network) explains the parts.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `PositionwiseFeedForward` | 3 | 15 min | ●○○ easy |
# | 2 | `TransformerLayer` | 5 | 30 min | ●●○ medium |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other sizes, masks, train mode, `float64` and gradients. Your points are decided
#   later by the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right.
# - Nothing is trained here. The grader sets the weights **by name**, so the layers must be attributes with the
#   names of the text, with the shapes that PyTorch gives them. How the weights start, and what your module holds
#   besides these layers, is free.
# - You may import `course_utils.attention`, which has `MultiHeadAttention` as you wrote it in assignment 5, and
#   use everything of PyTorch that is not named in the next line, such as `nn.Linear`, `nn.Dropout` and
#   `nn.LayerNorm`.
# - Anything that would be the answer itself is barred in both parts. These are all classes of PyTorch whose names begin
#   with `nn.Transformer`, and all of `course_utils` except `attention` and `signoff`.
# - Masks are `bool`, and True means *may attend*. Inputs are never changed. Results have the dtype (`float32` or
#   `float64`) and the device of input and weights. Inputs may lie in memory in any layout. Gradients flow from
#   the result back to `x` and to every weight, which rules out `.detach()`, `.item()`, `.numpy()` and `no_grad`
#   on the way.
# - Part 2 may use your class of part 1. If that one is wrong, part 2 does not fail with it, because it is decided
#   with our version of it.
#
# | letter | meaning |
# |---|---|
# | $B$ | number of sentences in the batch |
# | $T$ | number of words in a sentence |
# | $D$, `d_model` | width of the model: features of each word |
# | $d_{ff}$, `d_ff` | width inside the feed-forward network |
# | $H$, `num_heads` | number of heads; it divides $D$ |

# %%
import torch
from torch import nn

from course_utils.attention import MultiHeadAttention

# %% [markdown]
# ## 1. The feed-forward network
#
# Attention brings words together, but what a word collects is only a weighted sum. The feed-forward network
# processes this sum, and it does so for each word (each *position*) on its own:
#
# $$\mathrm{FFN}(x_t) = W_2\,\mathrm{dropout}\big(\mathrm{ReLU}(W_1 x_t + b_1)\big) + b_2,
# \qquad \mathrm{ReLU}(a) = \max(0, a) \text{ for each number } a$$
#
# Here $x_t$ is the vector of one word, $W_1$ and $b_1$ are the weight and bias of a linear layer from $D$ to
# $d_{ff}$ features, and $W_2$ and $b_2$ those of a second one, from $d_{ff}$ back to $D$. All words of all
# sentences pass through the same two layers, and none of them sees another.
#
# **Write** the module `PositionwiseFeedForward(d_model, d_ff, dropout=0.1)` with these attributes:
#
# | attribute | what it is |
# |---|---|
# | `w_1` | `nn.Linear` with bias, from `d_model` to `d_ff` |
# | `w_2` | `nn.Linear` with bias, from `d_ff` to `d_model` |
#
# and `forward(x)`:
#
# | tensor | shape |
# |---|---|
# | `x` | `(B, T, d_model)` |
# | result | `(B, T, d_model)` |
#
# - `dropout` is the probability with which each of the $d_{ff}$ numbers inside becomes 0 in train mode, while the
#   others are divided by 1 − `dropout`, as `nn.Dropout` does it. In eval mode nothing is dropped.
# - It makes no difference whether you drop just before or just after the ReLU. (Why?)
# - Residual connection and norm are not part of this module, because they come in part 2.
#
# **By hand.** Take $D = 2$ and $d_{ff} = 3$, in eval mode, with
#
# $$W_1 = \begin{pmatrix}1 & 0\\ 0 & 1\\ 1 & 1\end{pmatrix},\quad b_1 = \begin{pmatrix}0\\ 0\\ 0\end{pmatrix},\quad
# W_2 = \begin{pmatrix}1 & 1 & 0\\ -2 & 0 & 1\end{pmatrix},\quad b_2 = \begin{pmatrix}0\\ 1\end{pmatrix}$$
#
# | word | after `w_1` | after the ReLU | after `w_2` |
# |---|---|---|---|
# | $(1, -2)$ | $(1, -2, -1)$ | $(1, 0, 0)$ | $(1, -1)$ |
# | $(0, 3)$ | $(0, 3, 3)$ | $(0, 3, 3)$ | $(3, 4)$ |
#
# A result may be negative. It will be added to the word, so it can also take something away from it.
#
# <details><summary>Hint</summary>
#
# `nn.Linear` works on the last axis and leaves all others alone, so you need neither a reshape nor a loop over
# words. Count the ReLUs in the formula, and look where the dropout is.
#
# </details>


# %% solution="PositionwiseFeedForward"
class PositionwiseFeedForward(nn.Module):
    """The same two linear layers for each word on its own, with a ReLU between them."""

    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        ### BEGIN SOLUTION
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x):
        """x (B, T, d_model) -> (B, T, d_model)."""
        ### BEGIN SOLUTION
        hidden = torch.relu(self.w_1(x))  # (B, T, d_ff)
        return self.w_2(self.dropout(hidden))  # (B, T, d_model)
        ### END SOLUTION


# %% test="PositionwiseFeedForward"
def test_PositionwiseFeedForward():
    network = PositionwiseFeedForward(d_model=2, d_ff=3).eval()
    with torch.no_grad():
        network.w_1.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [1, 1]]))
        network.w_1.bias.zero_()
        network.w_2.weight.copy_(torch.tensor([[1.0, 1, 0], [-2, 0, 1]]))
        network.w_2.bias.copy_(torch.tensor([0.0, 1.0]))
    result = network(torch.tensor([[[1.0, -2.0], [0.0, 3.0]]]))
    assert result.shape == (1, 2, 2)
    assert torch.allclose(result[0], torch.tensor([[1.0, -1.0], [3.0, 4.0]]), atol=1e-4)


check("PositionwiseFeedForward")

# %% check="PositionwiseFeedForward"

# %% [markdown]
# ## 2. The layer
#
# A layer of the encoder has two *sublayers*. In the first, words attend to each other, and in the second, each
# word goes through the feed-forward network. Neither replaces the word. Each output is **added** to what came in,
# so that the word is not lost and gradients have a straight way down. Then the sum is normalised, so that the
# numbers keep one size however many layers there are. The original paper does it in this order, which is called
# *post-LN*:
#
# $$\begin{aligned}
# x &\leftarrow \mathrm{LayerNorm}_1\big(x + \mathrm{dropout}(\mathrm{SelfAttention}(x))\big) \\
# x &\leftarrow \mathrm{LayerNorm}_2\big(x + \mathrm{dropout}(\mathrm{FFN}(x))\big)
# \end{aligned}$$
#
# The second line takes the $x$ of the first. $\mathrm{SelfAttention}(x)$ is multi-head attention in which query,
# key and value are all $x$, under the mask. The two norms have separate weights.
#
# ![Two encoder layers, from bottom to top. Left, post-LN, which you write: a stream starts at the input; a branch
# passes self-attention and dropout and is added back, then comes a layer norm; the same again with the
# feed-forward network. Right, pre-LN: each branch begins with its norm, and the stream has
# none.](../../figures/encoder_layer.svg)
#
# *The left one is yours, with a sum and then a norm, twice.*
#
# **Write** the module `TransformerLayer(d_model, num_heads, d_ff, dropout=0.1)` with these attributes:
#
# | attribute | what it is |
# |---|---|
# | `self_attn` | multi-head attention as in assignment 5, with the linear layers `w_q`, `w_k`, `w_v`, `w_o` |
# | `feed_forward` | the network of part 1, with `w_1` and `w_2` |
# | `layer_norm1` | the norm of the first line, as `nn.LayerNorm(d_model)` makes it ($\varepsilon = 10^{-5}$) |
# | `layer_norm2` | the norm of the second line, likewise |
#
# and `forward(x, mask=None)`:
#
# | tensor | shape | |
# |---|---|---|
# | `x` | `(B, T, D)` | |
# | `mask` | broadcasts to `(B, H, T, T)` | `bool`, True = may attend; `None` hides nothing |
# | result | `(B, T, D)` | the last $x$ alone, without the weights, so that layers can be stacked |
#
# - **The mask** comes ready to broadcast, as `(T, T)`, `(B, 1, 1, T)`, `(B, 1, T, T)` or `(B, H, T, T)`. The
#   layer makes none of its own, so with `None` every word sees every other.
# - Where the mask hides everything from a word, attention gives the bias of `w_o`, as
#   `course_utils.attention.MultiHeadAttention` does. There is no NaN, in results or in gradients.
# - **Dropout** acts in train mode only, with the probability `dropout`, in three places, which are the two of the
#   equations and the one inside the feed-forward network. Dropout on the attention weights is up to you.
#
# **By hand.** Let $D = 4$, and let all linear layers be zero, except for the bias of `self_attn.w_o`,
# $(0, 0, 4, 0)$, and that of `feed_forward.w_2`, $(-2, 2, 0, 0)$. The norms are new, with weights of 1 and biases
# of 0. Take a sentence of one word, $x = (4, 0, 0, 0)$.
#
# | | sublayer gives | sum | its mean, standard deviation | norm |
# |---|---|---|---|---|
# | attention | $(0, 0, 4, 0)$ | $(4, 0, 4, 0)$ | 2, 2 | $(1, -1, 1, -1)$ |
# | feed-forward | $(-2, 2, 0, 0)$ | $(-1, 1, 1, -1)$ | 0, 1 | $(-1, 1, 1, -1)$ |
#
# <details><summary>Hint</summary>
#
# Write one line of code for each equation. `MultiHeadAttention` is called with query, key, value, mask and
# returns the pair (output, weights). For every name on a line, ask whether it is the $x$ that entered the layer
# or the one that came out of the line before.
#
# </details>
#
# <details><summary>Hint on the dropout</summary>
#
# The dropout in the equations is applied to the sublayer's output, inside the sum. What comes in is never
# dropped, neither where it is read nor where it is added, so with a dropout of nearly 1 each line would give the
# norm of its $x$. One `nn.Dropout` may serve in several places, since it draws anew each time. The dropout inside
# the feed-forward network is made by that network. Where does the network get its probability from?
#
# </details>


# %% solution="TransformerLayer"
class TransformerLayer(nn.Module):
    """Self-attention, then the feed-forward network, each with residual and norm (post-LN)."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x, mask=None):
        """x (B, T, d_model), mask broadcasting to (B, H, T, T) -> (B, T, d_model)."""
        ### BEGIN SOLUTION
        attended, _ = self.self_attn(x, x, x, mask)  # (B, T, d_model)
        x = self.layer_norm1(x + self.dropout(attended))
        return self.layer_norm2(x + self.dropout(self.feed_forward(x)))
        ### END SOLUTION


# %% test="TransformerLayer"
def test_TransformerLayer():
    layer = TransformerLayer(d_model=4, num_heads=2, d_ff=3).eval()
    with torch.no_grad():
        for parameter in (*layer.self_attn.parameters(), *layer.feed_forward.parameters()):
            parameter.zero_()
        layer.self_attn.w_o.bias.copy_(torch.tensor([0.0, 0.0, 4.0, 0.0]))
        layer.feed_forward.w_2.bias.copy_(torch.tensor([-2.0, 2.0, 0.0, 0.0]))
    result = layer(torch.tensor([[[4.0, 0.0, 0.0, 0.0]]]))
    assert result.shape == (1, 1, 4)
    assert torch.allclose(result[0, 0], torch.tensor([-1.0, 1.0, 1.0, -1.0]), atol=1e-4)


check("TransformerLayer")

# %% check="TransformerLayer"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a8_transformer_layer.ipynb`. You find it
# in `workspace/exercises/a8_transformer_layer/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
