# ---
# jupyter:
#   course:
#     lecture: 12_looking_inside
#     minutes: 100
#     summary: a score for induction heads, ablation, patching and the logit lens
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
# # Assignment 13: looking inside
#
# [Lecture 12](../../lectures/12_looking_inside.ipynb) looks into models that have learned to copy, with four tools. Here
# you write the tools.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `induction_score` | 2 | 25 min | ●●○ medium |
# | 2 | `ablate_heads` | 3 | 35 min | ●●● hard |
# | 3 | `patch_activation` | 2 | 25 min | ●●○ medium |
# | 4 | `logit_lens` | 2 | 15 min | ●○○ easy |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other models, texts, heads, layers and `float64`. Your points are decided later by
#   the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right.
# - You may import the course's modules, by module, as in `from course_utils.masks import …`. `causal_mask`
#   and `evaluating` are imported below, and you need not use them.
# - Anything that would be the answer itself is barred. Here that is the module `course_utils.inside`. The views,
#   questions and messages of the course (`live`, `questions`, `validation`) cannot be imported either.
# - Inputs are never changed, and nothing is remembered from one call to the next. Results have the dtype of the
#   weights that come in, `float32` or `float64`.
#
# In the tables, $B$ is the batch, $H$ the number of heads, $T$ the number of words, $d_k$ the width of a head, $L$ the
# number of layers and $V$ the number of words in the vocabulary. Layers, heads and positions are counted from 0.

# %% [markdown]
# ## The model
#
# Parts 2 to 4 are given a model of [lecture 11](../../lectures/11_block_of_today.ipynb), the `ModernLanguageModel` of
# `course_utils.modern`. This is what you may rely on:
#
# ```python
# class ModernLanguageModel(nn.Module):
#     embedding: nn.Embedding    # (V, D)
#     dropout: nn.Dropout        # the only dropout in the model
#     layers: nn.ModuleList      # of L blocks
#     norm: RMSNorm              # the last one
#
#     def embed(self, token_ids):       # (B, T) -> (B, T, D)
#         return self.dropout(self.embedding(token_ids))
#
#     def unembed(self, x):             # (…, D) -> (…, V)
#         return self.norm(x) @ self.embedding.weight.T
#
#     def forward(self, token_ids):     # (B, T) -> (B, T, V), raw logits
#         mask = causal_mask(token_ids.shape[1])
#         x = self.embed(token_ids)     # the stream
#         for layer in self.layers:
#             x = layer(x, mask)        # (B, T, D), the stream after this layer
#         return self.unembed(x)
# ```
#
# Each block has `num_heads`, `norm1`, `norm2`, `w_q`, `w_k`, `w_v`, `w_o` and `feed_forward`. In a forward pass its `w_o` is
# called once, with the merged heads, `(B, T, D)`, in which head $h$ holds the features $h \cdot d_k$ to
# $(h + 1) \cdot d_k - 1$. `w_o` has no bias.
#
# Whoever looks into a model must not change it, so these rules hold in parts 2 to 4:
#
# - The model is in **eval mode** while you look, every part of it. Afterwards **each** module is in the mode in which
#   you found it.
# - Nothing of yours stays in the model. Weights are what they were, bit by bit, hooks of yours are gone, and hooks
#   that somebody else had put there are still there. Parts and weights are the very objects that they were,
#   `requires_grad` and `grad` of each weight as well, and no attribute is new.
# - All of this also holds when the model stops with an error, as it does for an id outside the vocabulary. The error
#   itself reaches the caller.
# - Gradients need not flow, and how you get inside is up to you. A hook, a weight that you write and put back, and
#   calling the layers one by one are equally right. The model's class is not changed.
#
# <details><summary>What is a hook?</summary>
#
# `handle = module.register_forward_pre_hook(f)` calls `f(module, arguments)` before each forward pass of the
# module, where `arguments` is a tuple. If `f` returns a tuple, this takes its place, so it has to hold *all*
# arguments. (If a hook on a layer returns `(x,)`, the mask is lost.) `module.register_forward_hook(f)` calls
# `f(module, arguments, result)` afterwards, and what `f` returns takes the place of the result. `handle.remove()`
# ends either.
#
# </details>

# %%
import torch
from torch import nn

from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask
from course_utils.modern import ModernLanguageModel


def small_model(layers=3, heads=2):
    """A model of 11 words with random weights and heads of width 2, to try your functions on."""
    torch.manual_seed(1)
    model = ModernLanguageModel(11, heads * 2, heads, layers, 3, dropout=0.5)
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, mean=float("norm" in name), std=0.4)
    return model.eval()


# %% [markdown]
# ## 1. A score for induction heads
#
# A block of `period` random tokens is repeated. At a token that has occurred before, an induction head attends to the
# token that *followed* it then. The score says how much of its attention goes there.
#
# The block begins at place `start`, and the last copy may be cut short. For a query $i \ge$ `start` + `period`, add up the
# weights on the keys $i - m \cdot$ `period` $+ 1$ for every $m = 1, 2, \dots$ with $i - m \cdot$ `period` $\ge$ `start`:
#
# $$s_i = \sum_{m \ge 1} \alpha_{i,\; i - m \cdot \text{period} + 1}$$
#
# **Write** `induction_score(weights, period, start=0)`:
#
# | argument | what it is |
# |---|---|
# | `weights` | `(B, H, T, T)`, queries as rows |
# | `period` | length of the block, at least 2 |
# | `start` | place of the block's first token |
# | result | `(H,)`, the mean of $s_i$ over all sentences and over the queries $i$ = `start` + `period`, …, $T - 1$ |
#
# - **All** earlier copies count, and their weights are summed, because a head may share its attention among them.
# - Queries of the first copy have nothing to look back to. They do not count, not even as zeros.
# - Where `start` + `period` $\ge T$, nothing is repeated, and a ValueError says so.
# - The weights may be any finite numbers, also on keys that come later. Gradients flow back to them.
#
# **By hand.** Let $T = 5$ and `period` = 2, and let every weight be 1/5. Query 2 looks at key 1, query 3 at key 2, and
# query 4 at the keys 3 and 1. The mean of 1/5, 1/5 and 2/5 is 4/15.
#
# <details><summary>Hint</summary>
#
# Build a mask `(T, T)` of the pairs that count, from `torch.arange` for queries and keys. How far is the key from the
# query, and when does it follow an earlier copy?
#
# </details>


# %% solution="induction_score"
def induction_score(weights, period, start=0):
    """How much each head attends to what followed the same token; (B, H, T, T) -> (H,)."""
    ### BEGIN SOLUTION
    T = weights.shape[-1]
    if start + period >= T:
        raise ValueError(f"nothing is repeated: start = {start} and period = {period}, but T = {T}")
    earlier = torch.arange(T, device=weights.device) - 1  # of each key, the place before it
    back = torch.arange(T, device=weights.device)[:, None] - earlier  # (T, T)
    counts = (earlier >= start) & (back > 0) & (back % period == 0)  # (T, T)
    sums = (weights * counts).sum(dim=-1)  # (B, H, T)
    return sums[..., start + period :].mean(dim=(0, 2))
    ### END SOLUTION


# %% test="induction_score"
def test_induction_score():
    weights = torch.full((1, 1, 5, 5), 0.2)
    score = induction_score(weights, period=2)
    assert score.shape == (1,)
    assert torch.allclose(score, torch.tensor([4 / 15]), atol=1e-4)
    score = induction_score(weights, period=2, start=1)  # query 4 looks at key 3 alone
    assert torch.allclose(score, torch.tensor([0.2]), atol=1e-4)


check("induction_score")

# %% check="induction_score"

# %% [markdown]
# ## 2. Ablation
#
# You see what a head contributes when you silence it. *Zero ablation* replaces its output by zeros, and *mean ablation*
# replaces it by its average output, so that only what is particular to a row and place is lost.
#
# **Write** `ablate_heads(model, token_ids, heads, means=None)`:
#
# | argument | what it is |
# |---|---|
# | `token_ids` | `(B, T)`, int64 |
# | `heads` | a list, tuple or set of pairs (layer, head) |
# | `means` | `(L, H, d_k)`, or None |
# | result | logits `(B, T, V)` |
#
# - What each of these heads hands to its layer's `w_o` becomes zero, in every sentence and at every position. The
#   rest of the pass goes on from there, so later layers see the change.
# - Where `means` is given, what the head hands over becomes `means[layer, head]` instead.
# - Pairs come in any order. A pair that is there twice counts once, and without any the logits are the model's own.
# - A pair outside the model, negative numbers among them, gives a ValueError, before anything is changed.
#
# **By hand.** Let two heads of width 2 be merged to $(3, 1, 4, 1)$. Without head 1, `w_o` is given $(3, 1, 0, 0)$, and
# with the mean $(5, 9)$ for head 1 it is given $(3, 1, 5, 9)$.
#
# <details><summary>Hint on the features</summary>
#
# `merged.unflatten(-1, (H, -1))` has the shape `(B, T, H, d_k)`. Change a copy of it, and `flatten` it again.
#
# </details>
#
# <details><summary>Hint on what is left behind</summary>
#
# Within the context `evaluating(model)` every part of the model is in eval mode and no gradients are recorded, and
# afterwards each has its own mode back, also after an error. What else you change is put back in a
# `finally:`. A handle of a hook is such a context, too, and removes its hook at the end.
#
# </details>


# %% solution="ablate_heads"
def ablate_heads(model, token_ids, heads, means=None):
    """The logits (B, T, V) when these heads say nothing, or their mean."""
    ### BEGIN SOLUTION
    L, H = len(model.layers), model.layers[0].num_heads
    for layer, head in heads:
        if not (0 <= layer < L and 0 <= head < H):
            raise ValueError(f"no head {head} in layer {layer}: the model has {L} × {H} heads")

    def hook_for(layer):
        def hook(module, arguments):
            cut = arguments[0].unflatten(-1, (H, -1)).clone()  # (B, T, H, d_k)
            for its_layer, head in heads:
                if its_layer == layer:
                    cut[:, :, head] = 0 if means is None else means[layer, head]
            return (cut.flatten(-2),)  # (B, T, D)

        return hook

    mask = causal_mask(token_ids.shape[1], token_ids.device)
    with evaluating(model):
        x = model.embed(token_ids)  # (B, T, D)
        for number, block in enumerate(model.layers):
            with block.w_o.register_forward_pre_hook(hook_for(number)):  # gone afterwards
                x = block(x, mask)
        logits = model.unembed(x)
    return logits
    ### END SOLUTION


# %% test="ablate_heads"
def test_ablate_heads():
    model, ids = small_model(layers=1), torch.tensor([[7]])  # of a word alone, heads give w_v
    model.embedding.weight.data[7] = 1.0
    model.layers[0].norm1.weight.data[:] = 1.0  # so that w_v reads (1, 1, 1, 1)
    w_v, means = model.layers[0].w_v.weight.data, torch.tensor([[[0.0, 0.0], [5.0, 9.0]]])
    w_v[:] = torch.tensor([3.0, 1.0, 4.0, 1.0]).diag()
    zero, mean = ablate_heads(model, ids, [(0, 1)]), ablate_heads(model, ids, [(0, 1)], means)
    w_v[:] = torch.tensor([3.0, 1.0, 0.0, 0.0]).diag()
    assert torch.allclose(zero, model(ids), atol=1e-4)
    w_v[:] = torch.tensor([3.0, 1.0, 5.0, 9.0]).diag()
    assert torch.allclose(mean, model(ids), atol=1e-4)


check("ablate_heads")

# %% check="ablate_heads"

# %% [markdown]
# ## 3. Patching
#
# Two texts differ in a token that decides the answer. The model reads the *corrupted* text, in which the answer is
# lost, and at one place of one layer it is given the vector of the *clean* run. If the answer comes back, this vector
# carries it.
#
# **Write** `patch_activation(model, clean_ids, corrupted_ids, layer, position)`:
#
# | argument | what it is |
# |---|---|
# | `clean_ids`, `corrupted_ids` | `(B, T)` each, int64 |
# | `layer` | whose **input** is patched, $0 \le$ layer $< L$ |
# | `position` | where, $0 \le$ position $< T$ |
# | result | logits `(B, T, V)` of the corrupted run |
#
# - The input of `model.layers[layer]` is a stream, `(B, T, D)`. In the corrupted run its vector at `position` is
#   that of the clean run, of each sentence its own, and all other positions are as they were.
# - Both runs are in eval mode.
# - A layer or position outside, negative numbers among them, and ids of different shapes give a ValueError.
#
# **By hand.** The input of layer 0 is the embeddings, so patching layer 0 is the same as exchanging the token at
# `position`. Before a later layer it is not, since the other words have read the corrupted token by then. And since the
# model is causal, no patch changes the logits before `position`.
#
# <details><summary>Hint</summary>
#
# First run the clean text and keep the input of the layer. Then run the corrupted one with a hook that changes a copy of
# the layer's input. Or go through the layers yourself, as `forward` does.
#
# </details>


# %% solution="patch_activation"
def patch_activation(model, clean_ids, corrupted_ids, layer, position):
    """The logits (B, T, V) of the corrupted run with one vector of the clean run."""
    ### BEGIN SOLUTION
    if clean_ids.shape != corrupted_ids.shape:
        raise ValueError(f"{tuple(clean_ids.shape)} and {tuple(corrupted_ids.shape)} differ")
    if not 0 <= layer < len(model.layers):
        raise ValueError(f"there is no layer {layer}: the model has {len(model.layers)}")
    if not 0 <= position < clean_ids.shape[1]:
        raise ValueError(f"there is no position {position}: the text has {clean_ids.shape[1]}")
    mask = causal_mask(clean_ids.shape[1], clean_ids.device)
    with evaluating(model):
        clean, x = model.embed(clean_ids), model.embed(corrupted_ids)  # (B, T, D)
        for number, block in enumerate(model.layers):
            if number == layer:
                x = x.clone()
                x[:, position] = clean[:, position]
            clean, x = block(clean, mask), block(x, mask)
        logits = model.unembed(x)
    return logits
    ### END SOLUTION


# %% test="patch_activation"
def test_patch_activation():
    model = small_model()
    clean, corrupted = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[5, 6, 7, 8]])
    first = patch_activation(model, clean, corrupted, layer=0, position=2)
    assert torch.allclose(first, model(torch.tensor([[5, 6, 3, 8]])), atol=1e-4)
    later = patch_activation(model, clean, corrupted, layer=1, position=2)
    assert torch.allclose(later[:, :2], model(corrupted)[:, :2], atol=1e-4)
    assert not torch.allclose(later, first, atol=1e-4)


check("patch_activation")

# %% check="patch_activation"

# %% [markdown]
# ## 4. The logit lens
#
# The last step of the model turns the stream into logits. The *logit lens* does the same with the stream after every
# layer, and so it shows what the model would say if it stopped there.
#
# **Write** `logit_lens(model, token_ids)`: ids `(B, T)` → logits `(L + 1, B, T, V)`.
#
# - Row 0 is `model.unembed` of the embeddings, and row $l$ is `model.unembed` of the stream after $l$ layers, that is, of
#   what `model.layers[l - 1]` gives.
# - So the last row is what the model itself says.
# - The result is one tensor.
#
# **By hand.** A model with 2 layers gives 3 rows, of which the last equals `model(token_ids)` in eval mode. A model
# whose layers add nothing gives the same row three times.
#
# <details><summary>Hint</summary>
#
# In `forward`, above, `x` is the stream after each layer.
#
# </details>


# %% solution="logit_lens"
def logit_lens(model, token_ids):
    """What the model would say after each layer: (B, T) -> (L + 1, B, T, V)."""
    ### BEGIN SOLUTION
    mask = causal_mask(token_ids.shape[1], token_ids.device)
    with evaluating(model):
        streams = [model.embed(token_ids)]  # (B, T, D) each
        for block in model.layers:
            streams.append(block(streams[-1], mask))
        logits = model.unembed(torch.stack(streams))  # (L + 1, B, T, V)
    return logits
    ### END SOLUTION


# %% test="logit_lens"
def test_logit_lens():
    model, ids = small_model(layers=2), torch.tensor([[1, 2, 3]])
    rows = logit_lens(model, ids)
    assert rows.shape == (3, 1, 3, 11)
    assert torch.allclose(rows[-1], model(ids), atol=1e-4)
    for layer in model.layers:  # which then add nothing
        nn.init.zeros_(layer.w_o.weight)
        nn.init.zeros_(layer.feed_forward.w_down.weight)
    rows = logit_lens(model, ids)
    assert torch.allclose(rows[0], rows[1], atol=1e-4)
    assert torch.allclose(rows[1], rows[2], atol=1e-4)


check("logit_lens")

# %% check="logit_lens"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a13_looking_inside.ipynb`. You find it in
# `workspace/exercises/a13_looking_inside/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
