# ---
# jupyter:
#   course:
#     lecture: 08_transformer
#     minutes: 110
#     summary: the decoder layer, the whole transformer, and a loop that lets it write
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
# # Assignment 9: the transformer
#
# You have built all its parts. Now you put them together as in [lecture 8](../../lectures/08_transformer.ipynb).
# You start with the one layer that is still missing, go on to the whole model, and end with the loop in which it
# writes.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `DecoderLayer` | 4 | 25 min | ●●○ medium |
# | 2 | `Transformer` | 5 | 50 min | ●●● hard |
# | 3 | `greedy_decode` | 3 | 30 min | ●●○ medium |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other sizes, padding, `float64`, train mode and gradients. Your points are decided
#   later by the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right.
# - Nothing is trained here. The grader sets the weights **by name**, so the layers must be attributes with the
#   names of the text, with the shapes that PyTorch gives them. How the weights start, and what your module holds
#   besides these layers, is free.
# - You may import what you need from `course_utils`, where attention, masks, positions and layers are as you
#   wrote them in assignments 4 to 8. Import it by module, `from course_utils.masks import …`.
# - Anything that would be the answer itself is barred. Here that is `course_utils.transformer`, every class of PyTorch
#   whose name begins with `nn.Transformer`, and in part 1 also `course_utils.layers.DecoderLayer`.
# - Masks are `bool`, and True means *may attend*. Inputs are never changed. Results of parts 1 and 2 have the
#   dtype of the weights (`float32` or `float64`), and gradients flow to every weight and every input that is not
#   a whole number.
# - If part 1 is wrong, part 2 does not fail with it, because it is decided with our version of `DecoderLayer`.
#   Part 3 gets a model of ours in any case.
#
# In the tables, $B$ is the batch, $S$ the source length, $T$ the target length, $D$ is `d_model` and $V$ the
# number of target words.

# %%
import torch
from torch import nn

from course_utils.attention import MultiHeadAttention
from course_utils.layers import PositionwiseFeedForward, TransformerLayer
from course_utils.masks import decoder_mask, padding_mask
from course_utils.positional import PositionalEncoding

# %% [markdown]
# ## 1. The decoder layer
#
# A layer of the encoder knows one sentence. A layer of the decoder has to bring two together, namely what has
# been written so far, $x$, and what the encoder made of the source, the *memory* $m$. So it has three sublayers
# instead of two:
#
# $$\begin{aligned}
# x &\leftarrow \mathrm{LayerNorm}_1\big(x + \mathrm{dropout}(\mathrm{SelfAttention}(x))\big) \\
# x &\leftarrow \mathrm{LayerNorm}_2\big(x + \mathrm{dropout}(\mathrm{CrossAttention}(x, m))\big) \\
# x &\leftarrow \mathrm{LayerNorm}_3\big(x + \mathrm{dropout}(\mathrm{FFN}(x))\big)
# \end{aligned}$$
#
# Each line takes the $x$ of the line before. In cross-attention the decoder asks, and what it looks at and
# collects from is the memory.
#
# **Write** the module `DecoderLayer(d_model, num_heads, d_ff, dropout=0.1)` with these attributes:
#
# | attribute | what it is |
# |---|---|
# | `self_attn`, `cross_attn` | multi-head attention as in assignment 5, with the layers `w_q`, `w_k`, `w_v`, `w_o` |
# | `feed_forward` | the position-wise network with the layers `w_1` and `w_2` |
# | `layer_norm1`, `layer_norm2`, `layer_norm3` | one norm for each sublayer, in this order, as `nn.LayerNorm(d_model)` makes it ($\varepsilon = 10^{-5}$) |
#
# and `forward(x, memory, self_mask=None, memory_mask=None)`:
#
# | tensor | shape | |
# |---|---|---|
# | `x` | `(B, T, D)` | the target so far |
# | `memory` | `(B, S, D)` | what the encoder made of the source; $S$ and $T$ may differ |
# | `self_mask` | broadcasts to `(B, H, T, T)` | for self-attention |
# | `memory_mask` | broadcasts to `(B, H, T, S)` | for cross-attention |
# | result | `(B, T, D)` | x alone, without the weights |
#
# - `None` hides nothing, **not even the future**, because the causal mask is made by the model, in part 2.
# - `dropout` is the probability in the three equations, and inside the feed-forward network, in train mode.
#   Dropout on the attention weights is up to you.
# - Where a mask hides everything from a word, that attention layer gives the bias of `w_o`, as
#   `course_utils.attention.MultiHeadAttention` does.
#
# **By hand.** Let $D = 2$, and let all linear layers be zero, except for the bias of `cross_attn.w_o`,
# $(-\tfrac12, \tfrac12)$, and that of `feed_forward.w_2`, $(-3, 0)$. The norms are new. Take $x = (1, 0)$. A norm
# over two numbers gives $+1$ to the larger and $-1$ to the smaller one.
#
# 1. Self-attention gives $(0, 0)$, so the sum is $(1, 0)$ and its norm $(1, -1)$.
# 2. Cross-attention gives $(-\tfrac12, \tfrac12)$, so the sum is $(\tfrac12, -\tfrac12)$ and its norm $(1, -1)$.
# 3. The feed-forward network gives $(-3, 0)$, so the sum is $(-2, -1)$ and its norm $(-1, 1)$.
#
# <details><summary>Hint</summary>
#
# Write one line for each equation. `MultiHeadAttention` is called with query, key, value, mask and returns the
# pair (output, weights). For each of the three inputs of cross-attention, ask whether it has $T$ rows or $S$, and
# how many it must have.
#
# </details>


# %% solution="DecoderLayer"
class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward network; post-LN."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.layer_norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        """x (B, T, D), memory (B, S, D) -> (B, T, D)."""
        ### BEGIN SOLUTION
        attended, _ = self.self_attn(x, x, x, self_mask)  # (B, T, D)
        x = self.layer_norm1(x + self.dropout(attended))
        attended, _ = self.cross_attn(x, memory, memory, memory_mask)  # (B, T, D)
        x = self.layer_norm2(x + self.dropout(attended))
        return self.layer_norm3(x + self.dropout(self.feed_forward(x)))
        ### END SOLUTION


# %% test="DecoderLayer"
def test_DecoderLayer():
    layer = DecoderLayer(d_model=2, num_heads=1, d_ff=3).eval()
    with torch.no_grad():
        for part in (layer.self_attn, layer.cross_attn, layer.feed_forward):
            for parameter in part.parameters():
                parameter.zero_()
        layer.cross_attn.w_o.bias.copy_(torch.tensor([-0.5, 0.5]))
        layer.feed_forward.w_2.bias.copy_(torch.tensor([-3.0, 0.0]))
    result = layer(torch.tensor([[[1.0, 0.0]]]), torch.zeros(1, 3, 2))  # x, memory
    assert result.shape == (1, 1, 2)
    assert torch.allclose(result[0, 0], torch.tensor([-1.0, 1.0]), atol=1e-3)


check("DecoderLayer")

# %% check="DecoderLayer"

# %% [markdown]
# ## 2. The transformer
#
# Both sides begin in the same way. A word is looked up in a table $E$, its vector is multiplied by
# $\sqrt{d_{model}}$, and the sinusoids $PE$ of lecture 6 are added to mark its position:
#
# $$x_t = \mathrm{dropout}\big(\sqrt{d_{model}}\; E[\text{word}_t] + PE_t\big)$$
#
# The encoder's layers turn the source into the memory. The decoder's layers read the target **and** the memory,
# and the *generator*, a linear layer, gives a score (a *logit*) to each word that may come next.
#
# ![Architecture of the transformer, two columns from bottom to top. Left, the encoder: ids, embedding, positions, then
# N layers of self-attention and feed-forward, each with a residual and a norm; it ends in the memory. Right, the
# decoder: shifted ids, embedding, positions, then N layers of masked self-attention, cross-attention that reads the
# memory, and feed-forward; a linear layer gives one score a word.](../../figures/transformer_architecture.svg)
#
# *The whole model, with the shape after each step.*
#
# **Write** the module
# `Transformer(src_vocab, tgt_vocab, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128, pad_id=0)`
# with these attributes:
#
# | attribute | what it is |
# |---|---|
# | `src_embedding`, `tgt_embedding` | `nn.Embedding`, one row for each of `src_vocab` and `tgt_vocab` words |
# | `positional_encoding` | sinusoids and dropout on the sum, for both sides; up to `max_len` positions |
# | `encoder_layers` | `nn.ModuleList` of `num_layers` layers as in assignment 8, with `self_attn`, `feed_forward`, `layer_norm1`, `layer_norm2` |
# | `decoder_layers` | `nn.ModuleList` of `num_layers` of your `DecoderLayer` |
# | `generator` | `nn.Linear` with bias, from `d_model` to `tgt_vocab` |
# | `pad_id` | the id of *padding* in both languages, the token that fills up sentences shorter than the longest of a batch (lecture 4) |
#
# It also has three methods:
#
# | method | gives | |
# |---|---|---|
# | `encode(src)` | memory `(B, S, D)` | `src` `(B, S)`, whole numbers (int64) |
# | `decode(tgt, memory, src)` | logits `(B, T, V)` | `tgt` `(B, T)`, int64, begins with the start symbol |
# | `forward(src, tgt)` | logits `(B, T, V)` | `decode(tgt, encode(src), src)` |
#
# - `tgt` is **already shifted**, so the logits in row $t$ are for the word *after* `tgt[:, t]`. They may depend
#   on `tgt[:, 0]` to `tgt[:, t]` and on nothing later.
# - No word attends to padding of the source, neither in the encoder nor in the decoder. In `src` and `tgt`,
#   padding comes at the end of a row, and is whatever `pad_id` says.
# - Logits are raw, without a softmax. There is no further norm above the last layer.
# - A source or target longer than `max_len` raises a `ValueError`.
# - Your results are compared at real words only, so what they are at padding is up to you.
# - `dropout` is the probability everywhere, both for the sum of word and position and in every layer.
# - `num_layers` may be 0. Sinusoids and the factor $\sqrt{d_{model}}$ may be rounded to `float32`.
#
# **By hand.** Take a model with `d_model=4` and `num_layers=0`. If the first source word has the row
# $(\tfrac12, -\tfrac12, 1, 0)$ in its table, then $\sqrt{4}$ times that row is $(1, -1, 2, 0)$. Position 0 is
# $(0, 1, 0, 1)$, so the first row of the memory is $(1, 0, 2, 1)$.
#
# <details><summary>Hint on the masks</summary>
#
# Three attention layers need a mask. For each of them, ask which words attend, which words they attend to, and
# which must not be seen. The functions that you imported above make both kinds of mask that you need, in shapes
# that suit `MultiHeadAttention`. `decode` gets `src` for one of them.
#
# </details>
#
# <details><summary>Hint on several layers</summary>
#
# `[layer] * n` contains one layer n times, with the same weights, whereas `nn.ModuleList(… for _ in range(n))`
# makes a new one each time. PyTorch finds the weights of the layers only if the list is one of its own kind.
#
# </details>


# %% solution="Transformer"
class Transformer(nn.Module):
    """Encoder and decoder for translation; post-LN, sinusoidal positions."""

    def __init__(
        self,
        src_vocab,
        tgt_vocab,
        d_model,
        num_heads,
        num_layers,
        d_ff,
        dropout=0.1,
        max_len=128,
        pad_id=0,
    ):
        super().__init__()
        ### BEGIN SOLUTION
        self.d_model = d_model
        self.pad_id = pad_id
        self.src_embedding = nn.Embedding(src_vocab, d_model)
        self.tgt_embedding = nn.Embedding(tgt_vocab, d_model)
        self.positional_encoding = PositionalEncoding(d_model, dropout, max_len)
        layer = (d_model, num_heads, d_ff, dropout)
        self.encoder_layers = nn.ModuleList(TransformerLayer(*layer) for _ in range(num_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(*layer) for _ in range(num_layers))
        self.generator = nn.Linear(d_model, tgt_vocab)
        ### END SOLUTION

    def encode(self, src):
        """src (B, S) -> memory (B, S, D)."""
        ### BEGIN SOLUTION
        mask = padding_mask(src, self.pad_id)  # (B, 1, 1, S)
        x = self.positional_encoding(self.src_embedding(src) * self.d_model**0.5)  # (B, S, D)
        for layer in self.encoder_layers:
            x = layer(x, mask)
        return x
        ### END SOLUTION

    def decode(self, tgt, memory, src):
        """tgt (B, T), memory (B, S, D), src (B, S) -> logits (B, T, tgt_vocab)."""
        ### BEGIN SOLUTION
        self_mask = decoder_mask(tgt, self.pad_id)  # (B, 1, T, T)
        memory_mask = padding_mask(src, self.pad_id)  # (B, 1, 1, S)
        x = self.positional_encoding(self.tgt_embedding(tgt) * self.d_model**0.5)  # (B, T, D)
        for layer in self.decoder_layers:
            x = layer(x, memory, self_mask, memory_mask)
        return self.generator(x)  # (B, T, V)
        ### END SOLUTION

    def forward(self, src, tgt):
        """src (B, S), tgt (B, T) -> logits (B, T, tgt_vocab)."""
        ### BEGIN SOLUTION
        return self.decode(tgt, self.encode(src), src)
        ### END SOLUTION


# %% test="Transformer"
def test_Transformer():
    model = Transformer(7, 6, d_model=4, num_heads=2, num_layers=0, d_ff=5).eval()
    with torch.no_grad():
        model.src_embedding.weight[3] = torch.tensor([0.5, -0.5, 1.0, 0.0])
    src, tgt = torch.tensor([[3, 2]]), torch.tensor([[1, 5, 4]])
    memory = model.encode(src)
    assert memory.shape == (1, 2, 4)
    assert torch.allclose(memory[0, 0], torch.tensor([1.0, 0.0, 2.0, 1.0]), atol=1e-4)
    assert model(src, tgt).shape == (1, 3, 6)


check("Transformer")

# %% check="Transformer"

# %% [markdown]
# ## 3. Greedy decoding
#
# When the model writes, no translation is known, so its own words come back as its input. Greedy decoding takes
# the most likely word each time. With $y_0$ for the start symbol,
#
# $$y_t = \operatorname*{argmax}_{v}\; \text{logit}(v \mid y_0, \dots, y_{t-1}, \text{source})$$
#
# Two things are easy to overlook. The sentences of a batch end at different times. And a model in train mode
# drops part of what it computes at each step, so it must write in eval mode.
#
# **Write** `greedy_decode(model, src, bos_id, eos_id, max_len)`:
#
# | argument | what it is |
# |---|---|
# | `model` | any `nn.Module` with `encode`, `decode`, `forward` and `pad_id` as in part 2; do not rely on any other method |
# | `src` | `(B, S)`, int64 |
# | `bos_id`, `eos_id` | the ids that begin and end a sentence |
# | `max_len` | the largest number of columns of the result, at least 1; column 0 counts |
# | result | ids `(B, L)`, int64, $L \le$ `max_len` |
#
# - Column 0 is `bos_id`. The words follow, and `eos_id` ends a row and is **kept**.
# - A row that has ended gets `model.pad_id` from there on, while others go on. A row is ended by `eos_id` alone,
#   so if the model ever writes `pad_id` or `bos_id` as a word, the row goes on.
# - When every row has ended, the result is finished, and the model is not asked again. So $L$ is the length of
#   the longest row, unless `max_len` is reached first.
# - Every part of the model is in eval mode while it encodes and decodes. Afterwards **each** of them is in the
#   mode in which you found it, because somebody may train a model whose encoder stays in eval mode.
#
# **By hand.** Let padding be 0, `bos_id` 1 and `eos_id` 2, and take the `CountingModel` of the next cell. It counts
# from 3 up to the number that the source says. For the sources $(5)$ and $(4)$ the result is
#
# $$\begin{pmatrix} 1 & 3 & 4 & 5 & 2 \\ 1 & 3 & 4 & 2 & 0 \end{pmatrix}$$
#
# and with `max_len=3` it is only the first three columns.
#
# <details><summary>Hint on the loop</summary>
#
# Encode once. Keep two things, the ids so far, `(B, t)`, and for each row whether it has ended, `(B,)`. Of the
# logits `(B, t, V)` you need one position. `torch.cat` adds a column.
#
# </details>
#
# <details><summary>Hint on the modes</summary>
#
# `model.eval()` sets `training = False` on every module in `model.modules()`, and `model.train()` sets all of
# them to True, including those that were in eval mode before. What would you have to note first?
#
# </details>


# %% editable=false deletable=false
class CountingModel(nn.Module):
    """Counts from 3 up to the number that the source says, and then says 2."""

    pad_id = 0

    def encode(self, src):
        return src.unsqueeze(-1).float()  # (B, S, 1)

    def decode(self, tgt, memory, src):
        words = torch.arange(3, 3 + tgt.shape[1]).expand(tgt.shape)  # (B, T)
        words = torch.where(words > memory[:, :1, 0], 2, words)
        return nn.functional.one_hot(words, 6).float()  # (B, T, 6)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)


# %% solution="greedy_decode"
def greedy_decode(model, src, bos_id, eos_id, max_len):
    """Write the most likely next word again and again; src (B, S) -> ids (B, L)."""
    ### BEGIN SOLUTION
    modes = {module: module.training for module in model.modules()}
    model.eval()  # with all that is in it
    with torch.no_grad():  # nothing is trained here
        memory = model.encode(src)  # (B, S, D)
        ids = src.new_full((src.shape[0], 1), bos_id)  # (B, 1)
        ended = src.new_zeros(src.shape[0], dtype=torch.bool)  # (B,)
        while ids.shape[1] < max_len and not ended.all():
            words = model.decode(ids, memory, src)[:, -1].argmax(dim=-1)  # (B,)
            words = words.masked_fill(ended, model.pad_id)
            ids = torch.cat([ids, words.unsqueeze(1)], dim=1)  # (B, t + 1)
            ended = ended | (words == eos_id)
    for module, training in modes.items():
        module.training = training
    return ids
    ### END SOLUTION


# %% test="greedy_decode"
def test_greedy_decode():
    model, src = CountingModel().train(), torch.tensor([[5], [4]])
    ids = greedy_decode(model, src, bos_id=1, eos_id=2, max_len=9)
    assert ids.tolist() == [[1, 3, 4, 5, 2], [1, 3, 4, 2, 0]]
    ids = greedy_decode(model, src, bos_id=1, eos_id=2, max_len=3)
    assert ids.tolist() == [[1, 3, 4], [1, 3, 4]]
    assert model.training  # as it was before


check("greedy_decode")

# %% check="greedy_decode"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a9_transformer.ipynb`. You find it in
# `workspace/exercises/a9_transformer/` of the course folder.
#
# **And then?** You have built the transformer of 2017 from its parts. [Lecture 9](../../lectures/09_one_half_alone.ipynb)
# takes it apart again, because its halves have become models of their own, and in assignment 10 you build the one that
# writes.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
