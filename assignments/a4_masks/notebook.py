# ---
# jupyter:
#   course:
#     lecture: 04_masked_attention
#     minutes: 50
#     summary: causal and padding masks, both at once, and the shift that belongs to them
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
# # Assignment 4: masks
#
# You write the masks of [lecture 4](../../lectures/04_masked_attention.ipynb), and the shift without which the
# best mask is of no use. Each is a line or two. They are hard because a wrong one rarely stops with an error. The
# shapes fit and the loss falls, but the model has learned to read off its answers.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `causal_mask` | 2 | 10 min | ●○○ easy |
# | 2 | `padding_mask` | 2 | 15 min | ●○○ easy |
# | 3 | `decoder_mask` | 2 | 15 min | ●●○ medium |
# | 4 | `shift_right` | 2 | 10 min | ●○○ easy |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other sizes, other ids and padding in other places. Your points are decided later by
#   the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right. You may use loops, comparisons, other functions of PyTorch,
#   helper functions in cells of your own, and further arguments that have default values.
# - Anything that would be the answer itself is barred in all four parts. These are the ready-made causal masks of
#   PyTorch (`nn.Transformer.generate_square_subsequent_mask`; `causal_upper_left`, `causal_lower_right` and
#   `CausalBias` of `torch.nn.attention.bias`), and everything in `course_utils` except `signoff`.
# - A later part may call an earlier function by its name. If that function is wrong, the later part does not fail
#   with it, because it is decided with our version of the earlier one.
#
# These rules hold in every part:
#
# | | rule |
# |---|---|
# | a mask | is a tensor of dtype `torch.bool`; **`True` means: may attend**, `False` means: hidden |
# | its last two axes | rows are queries (the words that ask), columns are keys (the words that are asked) |
# | ids | are `torch.int64` tensors of two axes: sentence and position; each axis is at least 1 long |
# | `pad_id`, `bos_id`, `size` | are plain Python whole numbers |
# | inputs | stay as they were, and may lie in memory in any layout |
# | device | results are where the ids are; `causal_mask` has no ids to go by and uses PyTorch's default device |
#
# All indices count from 0, as in Python. $B$ is the number of sentences, $T$ the number of queries and $S$ the
# number of keys.

# %%
import torch
import torch.nn.functional as F

# %% [markdown]
# ## 1. The causal mask
#
# A model that learns to write is trained on whole sentences. When it has to say one word, the words after it are
# in the same tensor, but it must not look at them. So each position may attend only to itself and to what came
# before it:
#
# $$\text{mask}[i, j] = \begin{cases}\text{True} & \text{if } j \le i\\ \text{False} & \text{if not}\end{cases}
# \qquad i, j = 0, \dots, T-1$$
#
# where $i$ is the position of the query and $j$ that of the key.
# ([Lecture 4, section 3](../../lectures/04_masked_attention.ipynb#3.-The-causal-mask))
#
# **Write** `causal_mask(size)`:
#
# | | what | shape |
# |---|---|---|
# | `size` | $T$, the number of positions, at least 1 | |
# | result | `bool` tensor | `(T, T)` |
#
# **By hand:** for three positions,
#
# $$\begin{pmatrix}\text{True} & \text{False} & \text{False}\\ \text{True} & \text{True} & \text{False}\\
# \text{True} & \text{True} & \text{True}\end{pmatrix}$$
#
# <details><summary>Hint</summary>
#
# The rule compares two numbers. For all $i$ and $j$ at once it compares a column of positions with a row of
# positions, so ask yourself what broadcasting makes of the shapes `(T, 1)` and `(1, T)`. Or think of the shape
# that the `True`s form, because PyTorch has a function that keeps one triangle of a matrix.
#
# </details>


# %% solution="causal_mask"
def causal_mask(size):
    """Which keys a query may see when it may not see the future: (T, T) bool, True = may attend."""
    ### BEGIN SOLUTION
    position = torch.arange(size)
    return position[None, :] <= position[:, None]  # (1, T) with (T, 1) -> (T, T)
    ### END SOLUTION


# %% test="causal_mask"
def test_causal_mask():
    mask = causal_mask(3)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[True, False, False], [True, True, False], [True, True, True]]


check("causal_mask")

# %% check="causal_mask"

# %% [markdown]
# ## 2. The padding mask
#
# The sentences of a batch have different lengths, so short ones are filled up with a token that means nothing. No
# word should attend to it:
#
# $$\text{mask}[b, 0, 0, j] = \begin{cases}\text{True} & \text{if } \mathrm{token\_ids}[b, j] \ne \mathrm{pad\_id}\\
# \text{False} & \text{if not}\end{cases}$$
#
# for each sentence $b$ and each key $j$. Nothing here depends on the query or on the head. But attention scores
# have the shape `(B, H, T, S)`, with $H$ heads, and broadcasting lines up shapes from the right. Two axes of
# length 1 put the sentences under the sentences and the keys under the keys, whereas a mask of shape `(B, S)`
# would be read as one row for each *query*. ([Lecture 4, section
# 4](../../lectures/04_masked_attention.ipynb#4.-Padding))
#
# **Write** `padding_mask(token_ids, pad_id=0)`:
#
# | | what | shape |
# |---|---|---|
# | `token_ids` | the ids of the words, `int64` | `(B, S)` |
# | `pad_id` | the id of the padding; any number, not only 0 | |
# | result | `bool` tensor | `(B, 1, 1, S)` |
#
# Every token that is not `pad_id` is a word, whatever its number, and every `pad_id` is padding, **wherever it is
# in the sentence**, because some models put padding in front. Only keys are hidden. This mask does not care what
# a padding position itself may see, because the loss leaves out its output.
#
# **By hand.** Let `pad_id` be 0 and let the sentences be $(5, 3, 0, 0)$ and $(4, 6, 2, 9)$. The mask of the first
# is True, True, False, False, and that of the second is True four times. The shape is `(2, 1, 1, 4)`.
#
# <details><summary>Hint</summary>
#
# One comparison of the whole tensor with one number finds the words, in the shape `(B, S)`. Then the result needs
# two more axes in the right place. Indexing with `None` adds an axis of length 1 where the `None` is written, and
# so does `unsqueeze`.
#
# </details>


# %% solution="padding_mask"
def padding_mask(token_ids, pad_id=0):
    """Which keys are words and not padding: token_ids (B, S) -> (B, 1, 1, S) bool."""
    ### BEGIN SOLUTION
    is_word = token_ids != pad_id  # (B, S)
    return is_word[:, None, None, :]  # (B, 1, 1, S)
    ### END SOLUTION


# %% test="padding_mask"
def test_padding_mask():
    mask = padding_mask(torch.tensor([[5, 3, 0, 0], [4, 6, 2, 9]]))
    assert mask.shape == (2, 1, 1, 4)
    assert mask[0, 0, 0].tolist() == [True, True, False, False]
    assert mask[1, 0, 0].tolist() == [True, True, True, True]
    in_front = padding_mask(torch.tensor([[8, 8, 0, 9]]), pad_id=8)
    assert in_front[0, 0, 0].tolist() == [False, False, True, True]


check("padding_mask")

# %% check="padding_mask"

# %% [markdown]
# ## 3. Both at once
#
# The words of the decoder may see neither the future nor padding, so a key is visible if *both* masks say so:
#
# $$\text{mask}[b, 0, i, j] = \begin{cases}\text{True} & \text{if } j \le i \text{ and }
# \mathrm{token\_ids}[b, j] \ne \mathrm{pad\_id}\\ \text{False} & \text{if not}\end{cases}$$
#
# ![For a batch of two sentences, the second with two pads at its end: the padding mask of shape (B, 1, 1, S), one
# row of cells a sentence; the causal mask of shape (T, T), a lower triangle; and their AND, the decoder mask of
# shape (B, 1, T, T), one grid of cells for each sentence.](../../figures/mask_broadcast.svg)
#
# *Each mask has axes of length 1 where it says the same to all, and broadcasting spreads them.*
#
# **Write** `decoder_mask(token_ids, pad_id=0)`:
#
# | | what | shape |
# |---|---|---|
# | `token_ids` | the ids of the decoder's input, `int64` | `(B, T)` |
# | `pad_id` | the id of the padding | |
# | result | `bool` tensor | `(B, 1, T, T)` |
#
# - You may call `causal_mask` and `padding_mask`. Ids may be on a graphics card, which `causal_mask` cannot know,
#   so `.to(token_ids.device)` brings its mask there.
# - Again only keys are hidden. The row of a padding position is kept, so it sees the words before it like any
#   other row.
# - Where a sentence *begins* with padding, its first rows hold no `True` at all. That is right here, because
#   attention gives such a row zeros ([lecture 4, section
#   4](../../lectures/04_masked_attention.ipynb#Rows-with-nothing-to-attend-to)).
#
# **By hand.** Let `pad_id` be 0, with the single sentence $(5, 3, 0)$. Its mask is
#
# $$\begin{pmatrix}\text{True} & \text{False} & \text{False}\\ \text{True} & \text{True} & \text{False}\\
# \text{True} & \text{True} & \text{False}\end{pmatrix}$$
#
# in a tensor of shape `(1, 1, 3, 3)`. The last column is hidden, but the last row is not.
#
# <details><summary>Hint</summary>
#
# Write down the two shapes below each other, aligned at the right. What do they broadcast to? For `bool` tensors,
# "and" is `&`.
#
# </details>


# %% solution="decoder_mask"
def decoder_mask(token_ids, pad_id=0):
    """Neither the future nor padding: token_ids (B, T) -> (B, 1, T, T) bool, True = may attend."""
    ### BEGIN SOLUTION
    not_padding = padding_mask(token_ids, pad_id)  # (B, 1, 1, T)
    not_future = causal_mask(token_ids.shape[1]).to(token_ids.device)  # (T, T)
    return not_padding & not_future  # (B, 1, T, T)
    ### END SOLUTION


# %% test="decoder_mask"
def test_decoder_mask():
    mask = decoder_mask(torch.tensor([[5, 3, 0]]))
    assert mask.shape == (1, 1, 3, 3)
    expected = [[True, False, False], [True, True, False], [True, True, False]]
    assert mask[0, 0].tolist() == expected


check("decoder_mask")

# %% check="decoder_mask"

# %% [markdown]
# ## 4. The shift
#
# Position $t$ has to predict the target word $t$, and the mask lets it see its own input. If that input were the
# target itself, the model would read off its answer even with a perfect mask. So the input is the target moved
# one place to the right, with the token `<bos>`, which begins a sentence, in front:
#
# $$\mathrm{shifted}[b, 0] = \mathrm{bos\_id}, \qquad
# \mathrm{shifted}[b, t] = \mathrm{target\_ids}[b, t-1] \quad\text{for } t = 1, \dots, T-1$$
#
# ([Lecture 4, section 2](../../lectures/04_masked_attention.ipynb#2.-Shifted-targets))
#
# ![Three rows of five boxes. Below, the shifted input: bos, can, you, help, me. In the middle the outputs. On top
# the targets: can, you, help, me, eos. Output 3 may see the inputs bos, can and you, and not the ones
# after.](../../figures/shifted_targets.svg)
#
# *The lower row is what the decoder is given, and the upper row is what it should say, which is the same words
# one place apart.*
#
# **Write** `shift_right(target_ids, bos_id)`:
#
# | | what | shape |
# |---|---|---|
# | `target_ids` | the words to be predicted, `int64` | `(B, T)` |
# | `bos_id` | the id of `<bos>`; any number | |
# | result | the decoder's input, `int64`, a new tensor | `(B, T)` |
#
# The last *place* of every row is left out, whether it holds a word, the end of the sentence or padding, and you
# need not know which. In a short sentence, the end of the sentence therefore stays as an input before the
# padding. This does no harm, since its target is padding, which the loss leaves out.
#
# **By hand.** The targets are $(5, 3, 2)$ and $(4, 2, 0)$, where 2 ends a sentence and 0 is padding. With
# `bos_id` 1, the inputs are $(1, 5, 3)$ and $(1, 4, 2)$.
#
# <details><summary>Hint</summary>
#
# Make the first column, or an empty result of the right shape and dtype, and ask which columns of the targets go
# where. If you need a column of equal numbers, of the same dtype and on the same device as the targets, tensors
# have `new_full`.
#
# </details>


# %% solution="shift_right"
def shift_right(target_ids, bos_id):
    """The decoder's input, one place behind its targets: (B, T) -> (B, T), int64, bos_id first."""
    ### BEGIN SOLUTION
    begin = target_ids.new_full((target_ids.shape[0], 1), bos_id)  # (B, 1)
    return torch.cat([begin, target_ids[:, :-1]], dim=1)  # (B, T)
    ### END SOLUTION


# %% test="shift_right"
def test_shift_right():
    target_ids = torch.tensor([[5, 3, 2], [4, 2, 0]])
    shifted = shift_right(target_ids, bos_id=1)
    assert shifted.dtype == torch.int64
    assert shifted.tolist() == [[1, 5, 3], [1, 4, 2]]
    assert target_ids.tolist() == [[5, 3, 2], [4, 2, 0]]  # the loss still needs them


check("shift_right")

# %% check="shift_right"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a4_masks.ipynb`. You find it in
# `workspace/exercises/a4_masks/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
