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
# - Write your answer where it says so, run the cell, and then run the test cell below it. A test that passes
#   prints only a tick, and one that fails says what it expected and what it found.
# - The tests that you see earn no points, because they only catch the usual slips on small inputs. Your points
#   are decided later on other inputs, such as other models, texts, heads, layers and `float64`.
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


class Untouched:
    """A model as it is now, with hooks and gradients of somebody else's; `check` says whether it is still so."""

    def __init__(self, model, asleep=()):
        self.model = model.train()
        model.norm.weight.requires_grad = False
        for weight in model.parameters():
            weight.grad = torch.ones_like(weight)
        for name in asleep:
            model.get_submodule(name).eval()
        self.calls = []
        for part in (model, *model.layers, *(layer.w_o for layer in model.layers)):
            part.register_forward_pre_hook(lambda *_: self.calls.append("before"))
            part.register_forward_hook(lambda *_: self.calls.append("after"))
        self.before = self.look()

    def look(self):
        parts = dict(self.model.named_modules())
        return (
            {name: part.training for name, part in parts.items()},
            {
                name: [*part._forward_pre_hooks.values(), *part._forward_hooks.values()]
                for name, part in parts.items()
            },
            {name: value.clone() for name, value in self.model.state_dict().items()},
            {
                "parts": [*map(id, self.model.modules()), *map(id, self.model.parameters())],
                "`requires_grad`": [value.requires_grad for value in self.model.parameters()],
                "gradients": [id(value.grad) for value in self.model.parameters()],
                "attributes": [sorted(dir(part)) for part in parts.values()],
            },
        )

    def check(self, when):
        (modes, hooks, weights, others), now = self.before, self.look()
        for name, mode in modes.items():
            assert now[0].get(name) == mode, (
                f"{when}, `{name or 'the model'}` has training = {now[0].get(name)}, and before it was {mode}"
            )
        for name, found in hooks.items():
            assert len(now[1][name]) <= len(found), f"{when}, a hook is left on `{name}`"
            assert now[1][name] == found, f"{when}, hooks of somebody else on `{name}` are gone"
        for name, value in weights.items():
            assert torch.equal(now[2][name], value), f"{when}, `{name}` has changed"
        for what, found in others.items():
            assert now[3][what] == found, f"{when}, the model has other {what} than before"


def stops(function, *arguments):
    """Whether a function stops with the IndexError of an embedding that has no such word."""
    try:
        function(*arguments)
    except IndexError:
        return True
    return False


def refuses(function, *arguments):
    """Whether a function stops with a ValueError."""
    try:
        function(*arguments)
    except ValueError:
        return True
    return False


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
def test_induction_score_by_hand():
    got = induction_score(torch.full((1, 1, 5, 5), 0.2), 2)
    assert isinstance(got, torch.Tensor), f"expected a tensor, got {type(got).__name__}"
    assert got.shape == (1,), (
        f"one number for each of 1 heads: expected (1,), got {tuple(got.shape)}"
    )
    assert abs(got.item() - 4 / 15) < 1e-5, (
        f"for the example above expected 4/15, got {got.item():.4f}"
    )


def scored_slowly(weights, period, start):
    """Query by query."""
    B, H, T, _ = weights.shape
    result = torch.zeros(H, dtype=weights.dtype)
    for i in range(start + period, T):
        earlier = i - period
        while earlier >= start:
            result += weights[:, :, i, earlier + 1].sum(dim=0)
            earlier -= period
    return result / (B * (T - start - period))


def test_induction_score():
    torch.manual_seed(2)
    for T, period, start in ((6, 3, 0), (9, 2, 0), (8, 3, 1), (11, 4, 2), (9, 4, 2), (5, 4, 0)):
        weights = torch.randn(3, 4, T, T)
        kept = weights.clone()
        got, wanted = induction_score(weights, period, start), scored_slowly(weights, period, start)
        assert torch.equal(weights, kept), "the weights were changed"
        assert got.shape == (4,), f"expected one number for each of 4 heads, got {tuple(got.shape)}"
        assert torch.allclose(got, wanted, atol=1e-5), (
            f"{T=}, {period=}, {start=}: expected {wanted.tolist()}, got {got.tolist()}"
        )
    weights = torch.randn(2, 3, 6, 6, dtype=torch.float64, requires_grad=True)
    got = induction_score(weights, 2)
    assert got.dtype == torch.float64, f"float64 in, float64 out, got {got.dtype}"
    assert got.requires_grad, "no gradient can reach the weights"
    for period, start in ((6, 0), (4, 2), (9, 0)):
        assert refuses(induction_score, torch.rand(1, 2, 6, 6), period, start), (
            f"T = 6, {period=}, {start=}: nothing is repeated, so a ValueError is expected"
        )


test_induction_score_by_hand()
test_induction_score()
print("✓ induction_score")

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
def without_heads(layers, heads, token_ids, pairs, means, dtype=torch.float32):
    """A model of its own, in which what the heads say is changed on its way into `w_o`."""

    class Changed(nn.Module):
        def __init__(self, w_o, layer):
            super().__init__()
            self.w_o, self.layer = w_o, layer

        def forward(self, merged):
            pieces = list(merged.chunk(heads, dim=-1))
            for layer, head in pairs:
                if layer == self.layer:
                    pieces[head] = torch.zeros_like(pieces[head])
                    if means is not None:
                        pieces[head] = pieces[head] + means[layer, head]
            return self.w_o(torch.cat(pieces, dim=-1))

    model = small_model(layers, heads).to(dtype)
    for number, layer in enumerate(model.layers):
        layer.w_o = Changed(layer.w_o, number)
    with torch.no_grad():
        return model(token_ids)


def test_ablate_heads():
    torch.manual_seed(3)
    token_ids = torch.randint(11, (2, 3))
    for layers, heads, pairs, with_means in (
        (2, 3, [(0, 1)], False),
        (2, 3, [(0, 1)], True),
        (3, 2, [(0, 1), (2, 0)], False),
        (4, 3, [(1, 2), (1, 0), (3, 1)], True),
        (3, 2, [(1, 1), (1, 1)], True),
        (3, 2, ((2, 1), (0, 0)), False),
        (3, 2, {(1, 0), (0, 1)}, True),
        (3, 2, [], False),
    ):
        means = torch.randn(layers, heads, 2) if with_means else None
        model, ids, kept = small_model(layers, heads), token_ids.clone(), list(pairs)
        with torch.no_grad():
            own = model(ids)
        got = ablate_heads(model, ids, pairs, means)
        what = f"{layers} layers of {heads} heads, without {pairs}" + ", means" * with_means
        assert got.shape == own.shape, f"expected shape {tuple(own.shape)}, got {tuple(got.shape)}"
        wanted = without_heads(layers, heads, ids, pairs, means)
        assert torch.allclose(got, wanted, atol=1e-4), (
            f"{what}: the logits differ from those of a model whose heads are changed before `w_o`"
            + (" (yours are the model's own)" * bool(torch.allclose(got, own)))
        )
        assert torch.equal(ids, token_ids) and list(pairs) == kept, f"{what}: an input was changed"
    for pair in ((3, 0), (0, 2), (-1, 0), (0, -1)):
        assert refuses(ablate_heads, small_model(), token_ids, [(0, 0), pair]), (
            f"{pair} is outside of 3 layers with 2 heads, so a ValueError is expected"
        )


def test_ablate_heads_leaves_no_trace():
    torch.manual_seed(4)
    token_ids, pairs, means = torch.randint(11, (2, 3)), [(0, 1), (2, 0)], torch.randn(3, 2, 2)
    for given in (None, means.double()):
        model = small_model().double()
        untouched = Untouched(model, asleep=["layers.1"])
        for text in (token_ids, token_ids.flip(1)):
            got = ablate_heads(model, text, pairs, given)
            assert got.dtype == torch.float64, (
                f"a float64 model gives float64 logits, got {got.dtype}"
            )
            wanted = without_heads(3, 2, text, pairs, given, torch.float64)
            assert torch.allclose(got, wanted), (
                "a model in train mode should be looked at in eval mode"
            )
            untouched.check("afterwards")
        assert stops(ablate_heads, model, token_ids + 11, pairs, given), (
            "the model stops with an error for ids outside the vocabulary, and the error should arrive"
        )
        untouched.check("after an error")


test_ablate_heads()
test_ablate_heads_leaves_no_trace()
print("✓ ablate_heads")

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
def patched_by_an_exchange(layers, heads, clean_ids, corrupted_ids, number, position, dtype):
    """A model of its own, one layer of which is given another vector."""
    model, kept = small_model(layers, heads).to(dtype), []

    class Patched(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, x, mask):
            kept.append(x)
            before, after = x[:, :position], x[:, position + 1 :]
            return self.layer(torch.cat([before, kept[0][:, [position]], after], dim=1), mask)

    model.layers[number] = Patched(model.layers[number])
    with torch.no_grad():
        model(clean_ids)
        return model(corrupted_ids)


def test_patch_activation():
    torch.manual_seed(5)
    clean_ids = torch.randint(11, (2, 4))
    corrupted_ids = (clean_ids + torch.randint(1, 11, (2, 4))) % 11
    for layers, heads, layer, position in (
        (3, 2, 1, 2),
        (3, 2, 0, 0),
        (4, 3, 3, 3),
        (2, 3, 1, 0),
    ):
        model, clean, corrupted = (
            small_model(layers, heads),
            clean_ids.clone(),
            corrupted_ids.clone(),
        )
        got = patch_activation(model, clean, corrupted, layer, position)
        assert got.shape == (2, 4, 11), f"expected shape (2, 4, 11), got {tuple(got.shape)}"
        wanted = patched_by_an_exchange(
            layers, heads, clean_ids, corrupted_ids, layer, position, torch.float32
        )
        assert torch.allclose(got, wanted, atol=1e-4), (
            f"{layers} layers, {layer=}, {position=}: the logits differ from those of a model whose layer "
            "is given this one vector of the clean run"
        )
        assert torch.equal(clean, clean_ids) and torch.equal(corrupted, corrupted_ids), (
            "ids were changed"
        )
    for what, layer, position, other in (
        ("layer 3 of 3", 3, 0, corrupted_ids),
        ("layer -1", -1, 0, corrupted_ids),
        ("position 4 of 4", 0, 4, corrupted_ids),
        ("position -1", 0, -1, corrupted_ids),
        ("texts of 4 and 3 words", 0, 0, corrupted_ids[:, 1:]),
        ("2 texts and 1", 0, 0, corrupted_ids[:1]),
    ):
        assert refuses(patch_activation, small_model(), clean_ids, other, layer, position), (
            f"{what}: a ValueError is expected"
        )


def test_patch_activation_leaves_no_trace():
    torch.manual_seed(6)
    clean_ids, corrupted_ids = torch.randint(11, (2, 2, 5))
    model = small_model().double()
    untouched = Untouched(model, asleep=["layers.1"])
    for layer, position in ((1, 2), (2, 1)):
        got = patch_activation(model, clean_ids, corrupted_ids, layer, position)
        assert got.dtype == torch.float64, f"a float64 model gives float64 logits, got {got.dtype}"
        wanted = patched_by_an_exchange(
            3, 2, clean_ids, corrupted_ids, layer, position, torch.float64
        )
        assert torch.allclose(got, wanted), "a model in train mode should be looked at in eval mode"
        untouched.check("afterwards")
    for clean, corrupted in ((clean_ids + 11, corrupted_ids), (clean_ids, corrupted_ids + 11)):
        assert stops(patch_activation, model, clean, corrupted, 1, 1), (
            "the model stops with an error for ids outside the vocabulary, and the error should arrive"
        )
        untouched.check("after an error")


test_patch_activation()
test_patch_activation_leaves_no_trace()
print("✓ patch_activation")

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
def stopped_early(layers, heads, token_ids, dtype):
    """Models of their own that have so many layers and no more."""
    rows = []
    for number in range(layers + 1):
        model = small_model(layers, heads).to(dtype)
        model.layers = model.layers[:number]
        with torch.no_grad():
            rows.append(model(token_ids))
    return rows


def test_logit_lens():
    torch.manual_seed(7)
    token_ids = torch.randint(11, (2, 6))
    for layers, heads in ((3, 2), (2, 3), (1, 2)):
        ids = token_ids.clone()
        got, wanted = (
            logit_lens(small_model(layers, heads), ids),
            stopped_early(layers, heads, ids, torch.float32),
        )
        assert isinstance(got, torch.Tensor), f"expected one tensor, got {type(got).__name__}"
        shape = (layers + 1, 2, 6, 11)
        assert got.shape == shape, f"expected shape {shape}, got {tuple(got.shape)}"
        assert torch.allclose(got[-1], wanted[-1], atol=1e-4), (
            "the last row should be what the model itself says"
        )
        for number, row in enumerate(wanted):
            assert torch.allclose(got[number], row, atol=1e-4), (
                f"row {number} should be what a model with the first {number} layers says"
            )
        assert torch.equal(ids, token_ids), "token_ids was changed"


def test_logit_lens_leaves_no_trace():
    torch.manual_seed(8)
    token_ids = torch.randint(11, (2, 5))
    model = small_model().double()
    untouched = Untouched(model, asleep=["layers.1"])
    for text in (token_ids, token_ids.flip(1)):
        got, wanted = logit_lens(model, text), stopped_early(3, 2, text, torch.float64)
        assert got.dtype == torch.float64, f"a float64 model gives float64 logits, got {got.dtype}"
        assert torch.allclose(got, torch.stack(wanted)), (
            "a model in train mode should be looked at in eval mode"
        )
        untouched.check("afterwards")
    assert stops(logit_lens, model, token_ids + 11), (
        "the model stops with an error for ids outside the vocabulary, and the error should arrive"
    )
    untouched.check("after an error")


test_logit_lens()
test_logit_lens_leaves_no_trace()
print("✓ logit_lens")

# %% check="logit_lens"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a13_looking_inside.ipynb`. You find it in
# `workspace/exercises/a13_looking_inside/` of the course folder.
#
# **No instructor?** Save the notebook, and run this in a new cell:
#
# ```sh
# !python -m autograder check a13_looking_inside.ipynb
# ```
#
# It decides every part as it would be decided in a class, and gives the same reasons.
#
# The last cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work.

# %%
from course_utils.signoff import signoff

signoff()
