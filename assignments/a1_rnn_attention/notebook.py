# ---
# jupyter:
#   course:
#     lecture: 01_rnn_attention
#     minutes: 65
#     summary: annotations from a bidirectional network, and the attention that chooses among them
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
# # Assignment 1: attention in recurrent networks
#
# You write the two pieces with which [lecture 1](../../lectures/01_rnn_attention.ipynb) opened the bottleneck.
# The first makes one vector for each source word. The second decides, at one step of the decoder, how much each
# of these vectors counts.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `annotations` | 3 | 15 min | ●○○ easy |
# | 2 | `BahdanauAttention` | 7 | 50 min | ●●○ medium |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other sizes, a single sentence or word, masks, `float64` and gradients. Your points
#   are decided later by the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right. You may use loops over sentences and words, `einsum`,
#   `torch.bmm`, and helper functions in cells of your own.
# - Anything that would be the answer itself is barred in both parts, which is everything in `course_utils` except
#   `signoff`. PyTorch has no layer for this attention, so nothing of PyTorch is barred.
# - Your code must not change its inputs. Results have the dtype (`float32` or `float64`) and the device of the
#   inputs, which may lie in memory in any layout, so make new tensors with `x.new_zeros(…)` and not with
#   `torch.zeros(…)`. Gradients flow from every result back to every floating input and weight, which rules out
#   `.detach()`, `.item()`, `.numpy()` and `no_grad` on the way.
# - The inputs have shapes that fit together, so you need not check them. Their numbers are moderate, so no `exp`
#   will overflow.
#
# | letter | meaning |
# |---|---|
# | $B$ | number of sentences in the batch |
# | $S$ | number of source words in each sentence |
# | $d_h$ | width of a recurrent state, in one direction |
#
# As in the lecture, formulas count words from 1 and Python counts from 0. Because we look at a single step of the
# decoder, the notation is shorter here. We write $s$ for the lecture's $s^{(i-1)}$, $h_j$ for $h^{(j)}$, and
# $\omega_j$, $\alpha_j$, $c$ without the index $i$ of the step.

# %%
import math

import torch
from torch import nn

# %% [markdown]
# ## 1. Annotations
#
# Two recurrent networks read each sentence. The forward one begins with the first word, and the backward one
# begins with the **last** word. At word $j$ each of them has a state, which has read word $j$ and all words on
# one side of it. These two states, side by side, are the *annotation* of word $j$,
#
# $$h_j = [\, h_F^{(j)} \,;\, h_B^{(j)} \,]$$
#
# where $h_F^{(j)}$ is the forward and $h_B^{(j)}$ the backward state *at word* $j$, and the semicolon joins two
# vectors into one.
#
# **Write** `annotations(forward_states, backward_states)`:
#
# | tensor | shape | along the axis $S$ |
# |---|---|---|
# | `forward_states` | `(B, S, d_h)` | as the forward network produced them: first word first |
# | `backward_states` | `(B, S, d_h)` | as the backward network produced them: **last word first** |
# | result | `(B, S, 2d_h)` | first word first; forward state first, then backward state |
#
# All sentences have the full length $S$, so there is no padding here.
#
# **By hand.** Take one sentence of three words and $d_h = 1$. The forward states are $1, 2, 3$. The backward
# network produced $30$ at the last word, then $20$, then $10$ at the first.
#
# | word | forward | backward | annotation |
# |---|--:|--:|---|
# | first | 1 | 10 | $(1, 10)$ |
# | second | 2 | 20 | $(2, 20)$ |
# | third | 3 | 30 | $(3, 30)$ |
#
# <details><summary>Hint</summary>
#
# There are two steps. First bring the second list into the order of the first, then join the two. For both steps,
# ask yourself which of the three axes is meant. PyTorch tensors take no negative step, so `x[:, ::-1]` is an
# error, but some methods of a tensor change an order. Note that some mistakes do not show when `B = 1`.
#
# </details>


# %% solution="annotations"
def annotations(forward_states, backward_states):
    """One vector per source word: two times (B, S, d_h), the second backwards -> (B, S, 2d_h)."""
    ### BEGIN SOLUTION
    in_order = backward_states.flip(1)  # (B, S, d_h), first word first
    return torch.cat([forward_states, in_order], dim=-1)  # (B, S, 2d_h)
    ### END SOLUTION


# %% test="annotations"
def test_annotations():
    forward_states = torch.tensor([[[1.0], [2.0], [3.0]]])  # (1, 3, 1)
    backward_states = torch.tensor([[[30.0], [20.0], [10.0]]])  # (1, 3, 1), last word first
    joined = annotations(forward_states, backward_states)
    assert joined.shape == (1, 3, 2)
    assert torch.allclose(joined, torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]]))


check("annotations")

# %% check="annotations"

# %% [markdown]
# ## 2. Attention
#
# Before the decoder writes a word, it has a state $s$. A small network with one hidden layer compares this state
# with each annotation $h_j$ and gives a *score* $\omega_j$. A softmax over the words turns the scores into
# *weights*, and the *context* is the sum of the annotations, each multiplied by its weight:
#
# $$\omega_j = v\big(\tanh(W s + U h_j)\big), \qquad
# \alpha_j = \frac{\exp(\omega_j)}{\sum_{k=1}^{S} \exp(\omega_k)}, \qquad
# c = \sum_{j=1}^{S} \alpha_j\, h_j$$
#
# $W$, $U$ and $v$ are learned linear maps without bias, and tanh acts on each entry separately. (The lecture
# writes $v^\top$ for the map $v$, because a map that makes one number of a vector is a single row.)
#
# State and annotations may have different widths. This is one reason for $W$ and $U$, which bring both to one
# width so that they can be added.
#
# Why is there a tanh? Say it in your own words before you go on. You find the answer in section 4 of the lecture.
#
# ![One step of a decoder that attends. Below, each word has a forward and a backward state, joined to its
# annotation. In the middle, one score a word, a softmax over all words, and weights. Above, the weighted sum
# of the annotations, which is the context, goes to the decoder.](../../figures/attention_rnn.svg)
#
# *In one step of the decoder every word gets a score, the scores become weights, and the weights give the
# context. You write the middle of it.*
#
# **Write** the class `BahdanauAttention(decoder_dim, encoder_dim, attention_dim)`, an `nn.Module`. You may
# add methods.
#
# **The constructor** makes three layers, as attributes with exactly these names. Each is an `nn.Linear` **without
# bias**. (The grader sets the weights by these names, so the order in which you make the layers does not matter.)
#
# | attribute | maps | from width | to width |
# |---|---|---|---|
# | `W` | the state of the decoder | `decoder_dim` | `attention_dim` |
# | `U` | an annotation | `encoder_dim` | `attention_dim` |
# | `v` | the hidden layer | `attention_dim` | 1 |
#
# **`forward(state, annotations, mask=None)`** returns the pair `(context, weights)`, in this order. It treats
# every sentence of the batch separately.
#
# | tensor | shape | |
# |---|---|---|
# | `state` | `(B, decoder_dim)` | one state per sentence |
# | `annotations` | `(B, S, encoder_dim)` | one annotation per word |
# | `mask` | `(B, S)` | `bool`, `True` = may attend; `None` hides nothing |
# | `context` | `(B, encoder_dim)` | |
# | `weights` | `(B, S)` | after the softmax; the weights of each sentence sum to one |
#
# **What a mask is for.** Sentences of a batch have different lengths, so the short ones are filled up with
# padding. Padding is no word, and nobody should attend to it. The mask therefore says `True` for a word that may
# be attended to and `False` for one that is *hidden*. (Lecture 4 is about masks.)
#
# - **A hidden word** gets a weight of exactly 0, and the visible weights of its sentence still sum to one. Words
#   may be hidden anywhere, not only at the end.
# - **A sentence in which everything is hidden** gets weights of 0 and a context of 0, without NaN in the results
#   or in the gradients.
# - There is no dropout, so train mode and eval mode give the same.
#
# One argument has the name of your function of part 1. That does no harm, because inside `forward` the name means
# the argument, and this part does not depend on part 1.
#
# **By hand.** All widths are 1 except `encoder_dim`, which is 2. The state is $s = 1$ and there are two words. $W
# s = s$, $U h_j$ is the first entry of $h_j$, and $v$ doubles its input.
#
# | word | $h_j$ | $W s + U h_j$ | tanh | $\omega_j$ | $\alpha_j$ |
# |---|---|--:|--:|--:|--:|
# | first | $(-1, 10)$ | $1 - 1 = 0$ | 0 | 0 | $1 / (1 + e^{1.928}) = 0.127$ |
# | second | $(1, 20)$ | $1 + 1 = 2$ | 0.964 | 1.928 | 0.873 |
#
# The context is $0.127 \cdot (-1, 10) + 0.873 \cdot (1, 20) = (0.746, 18.73)$. With the second word hidden,
# the weights are $(1, 0)$ and the context is $(-1, 10)$.
#
# <details><summary>Hint: the shapes on the way</summary>
#
# | step | shape |
# |---|---|
# | after `W`; after `U` | `(B, attention_dim)`; `(B, S, attention_dim)` |
# | their sum, and its tanh | `(B, S, attention_dim)` |
# | after `v` | `(B, S, 1)` |
# | scores and weights | `(B, S)` |
# | context | `(B, encoder_dim)` |
#
# The first sum needs some care, because `W` of the state lacks the axis $S$. Broadcasting compares axes from the
# right, so an axis of length 1 has to be put in the right place. Where an axis of length 1 has to go, name it,
# because a `squeeze()` without an argument removes all of them, even the axis of a batch of one.
#
# </details>
#
# <details><summary>Hint: the mask</summary>
#
# If you set a weight to zero *after* the softmax, the hidden word has already taken its share of the one. So it
# has to drop out before. Which score has the weight $\exp(\omega_j) = 0$? `masked_fill` puts a number wherever a
# condition is `True`, so mind what `True` means here.
#
# If everything is hidden, the softmax divides 0 by 0, which is NaN. Setting the hidden weights to 0 once more
# after the softmax, with `masked_fill`, repairs both the result and the gradient.
#
# </details>


# %% solution="BahdanauAttention"
class BahdanauAttention(nn.Module):
    """Additive attention: a small network scores each source word against the decoder's state."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        ### BEGIN SOLUTION
        self.W = nn.Linear(decoder_dim, attention_dim, bias=False)
        self.U = nn.Linear(encoder_dim, attention_dim, bias=False)
        self.v = nn.Linear(attention_dim, 1, bias=False)
        ### END SOLUTION

    def forward(self, state, annotations, mask=None):
        """state (B, decoder_dim), annotations (B, S, encoder_dim) -> context, weights (B, S)."""
        ### BEGIN SOLUTION
        projected = self.W(state).unsqueeze(1)  # (B, 1, attention_dim)
        hidden = torch.tanh(projected + self.U(annotations))  # (B, S, attention_dim)
        scores = self.v(hidden).squeeze(-1)  # (B, S)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(dim=-1)  # (B, S)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)  # a row with nothing to see was NaN
        context = torch.bmm(weights.unsqueeze(1), annotations).squeeze(1)  # (B, encoder_dim)
        return context, weights
        ### END SOLUTION


# %% test="BahdanauAttention"
def test_BahdanauAttention():
    module = BahdanauAttention(1, 2, 1)  # decoder_dim, encoder_dim, attention_dim
    module.W.weight.data.copy_(torch.tensor([[1.0]]))
    module.U.weight.data.copy_(torch.tensor([[1.0, 0.0]]))
    module.v.weight.data.copy_(torch.tensor([[2.0]]))
    state, words = torch.tensor([[1.0]]), torch.tensor([[[-1.0, 10.0], [1.0, 20.0]]])
    context, weights = module(state, words)
    assert torch.allclose(weights, torch.tensor([[0.1270, 0.8730]]), atol=1e-4)
    assert torch.allclose(context, torch.tensor([[0.7461, 18.7303]]), atol=1e-3)
    context, weights = module(state, words, torch.tensor([[True, False]]))
    assert weights[0, 1] == 0 and torch.allclose(context, torch.tensor([[-1.0, 10.0]]), atol=1e-4)


check("BahdanauAttention")

# %% check="BahdanauAttention"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a1_rnn_attention.ipynb`. You find it in
# `workspace/exercises/a1_rnn_attention/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
