# ---
# jupyter:
#   course:
#     assignment: a13_looking_inside
#     deeper: 15
#     minutes: 50
#     summary: Heads that copy, and four ways to look into a model. What can each of them prove?
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
# # Lecture 12: Looking inside
#
# Nobody wrote the parameters of a trained model by hand, so how could we find out what they compute? In this lecture
# you open a model so small, with a task so simple, that theory predicts the mechanism. The tools are those used on large
# models, and one of them misses the mechanism altogether in two of our six models. So for every tool we ask: what can it
# show, and what can it not?
#
# <!-- slide: For every tool: what can it show, and what can it not? -->
#
# **By the end of this lecture you will be able to**
#
# - explain what a single attention layer cannot do, and how two heads in two layers do it;
# - compute the induction score of a head, and ablate heads with a metric in which the damage shows;
# - patch one vector from one run into another, and tell whether it is *enough* and whether it is *needed*;
# - read the residual stream with a lens and with a probe.
#
# **Time** about 50 minutes with views and questions, and 15 for going deeper.
# **Needs** lectures [5](05_multi_head_attention.ipynb), [6](06_positional_encoding.ipynb),
# [9](09_one_half_alone.ipynb) and [11](11_block_of_today.ipynb).

# %%
import copy

import torch
import torch.nn.functional as F

from course_utils import inside
from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_utils.masks import causal_mask
from course_utils.modern import apply_rotary, attention_maps
from lecture_kit import live, plotting, questions
from lecture_kit.experiments.repeated_tokens import D_MODEL, HEADS, VOCABULARY, distinct, repeated

plotting.use_course_style()
torch.set_num_threads(1)  # models this small gain little from two, and lose much on a busy machine

# %% [markdown]
# ## 1. One layer and two
#
# *"Come in," said Mira Oldenquist. … Then Mira* → *Oldenquist.* A language model can complete a name that it has never
# met in training, by copying it from the text in front of it. This is the simplest form of **in-context learning**.
#
# To study it alone, take a block of random tokens and repeat it. In the first copy nobody can know the next token. From
# the second copy on it is the one that followed the same token before, unless the block holds that token twice. More
# than half of the training blocks contain such a token. Our tokens are the numbers 0 to 63, in blocks of 6 to 16.

# %% slide="The first copy cannot be predicted, and the second can"
rows, periods = repeated(3, 24, (6, 16), torch.Generator().manual_seed(56))  # (B, T) and (B,)
for row, period in zip(rows.tolist(), periods.tolist(), strict=True):
    print(f"block of {period:2d}:", *[f"{token:2d}" for token in row])

# %% [markdown]
# Suppose that the current token is A, and that A was followed by B before. To predict B, a head should attend to B. In
# a single layer it cannot tell where B is, because at B's position nothing records that A preceded it. The head could
# find the earlier A, but that is the token it already has, and block lengths vary, so distance does not help.
#
# Two layers can divide the work, as Elhage et al. (2021) found in trained models. In layer 0 a **previous-token head**
# attends one position back, and adds to B's vector a note that A preceded it. In layer 1 an **induction head** asks
# which position follows an A, finds the note, and copies B.
#
# <!-- slide: One head leaves a note, and a head of the next layer finds it -->
#
# ![Four columns of boxes for the tokens A, B, C and, after some others, A again. From the tokens, arrows go up to the
# vectors before layer 1. In layer 0 an arrow marked "one word back" leads from A to the column of B, whose vector
# then holds "B, after A", and one from B to the column of C, which holds "C, after B". In layer 1 the second A asks
# with the query "after A?", which matches the key "after A" in the column of B. The value B is copied from there to
# the second A, whose vector after layer 1 holds "A, next B". Above it is the token that is predicted,
# B.](../figures/induction_circuit.svg)
#
# *A circuit of two heads. The head of layer 1 can find B only because a head of layer 0 has left a note there.*
#
# Written as a program, the mechanism has three lines:


# %% slide="The circuit as a program: leave notes, find one, copy"
def continued(row):
    """The next token, as two heads could find it."""
    notes = [None, *row[:-1]]  # layer 0 leaves at each position the token before it
    matches = [j for j, note in enumerate(notes) if note == row[-1]]  # layer 1: query and key
    return row[matches[-1]]  # and the value that it copies


for row, period in zip(rows.tolist(), periods.tolist(), strict=True):
    print(f"after {row[-1]:2d} the block has {row[-period]:2d}, the notes find {continued(row):2d}")

# %% [markdown]
# Does training find this program? For tests we take 200 sequences in which a block of 12 *different* tokens comes
# twice. Guessing within the block gives an accuracy of 0.08 and a loss of $\log 12 \approx 2.48$ nats.

# %% slide="We measure accuracy and loss, because they will disagree"
PERIOD = 12
ids = distinct(200, 2 * PERIOD, PERIOD, torch.Generator().manual_seed(99))  # (B, T)
followed = ids[:, 1 : PERIOD + 1]  # (B, PERIOD): what followed each token of the block
mask = causal_mask(2 * PERIOD)


def judge(logits):
    """Accuracy and loss in nats on the second copy: logits (B, T, V)."""
    second = logits[:, PERIOD:]  # (B, PERIOD, V)
    accuracy = (second.argmax(dim=-1) == followed).float().mean()
    loss = F.cross_entropy(second.flatten(0, 1), followed.flatten())
    return accuracy.item(), loss.item()


# %% [markdown]
# We train a model of each kind, made of the block of lecture 11 with 64 features and four heads in a layer. The
# single layer has a wider feed-forward network, so both have 86 336 parameters. Both take 800 steps of AdamW at a
# rate of 0.003, and the loss counts the last token of the first copy and all later ones.

# %% slide="With equally many parameters, two layers succeed and one does not" tags=["nbval-ignore-output"] seconds=35
from lecture_kit.experiments.repeated_tokens import new_model, train

SEED = 0  # try others
single, model = new_model(SEED, layers=1), new_model(SEED, layers=2)
for name, some in {"one layer ": single, "two layers": model}.items():
    train(some, steps=800, seed=SEED)
    some.eval().requires_grad_(False)
    accuracy, loss = judge(some(ids))
    print(f"{name}  accuracy {accuracy:.2f}, loss {loss:.2f}")

# %% tags=["hide-input"]
assert {sum(part.numel() for part in some.parameters()) for some in (single, model)} == {86_336}
assert judge(single(ids))[0] < 0.6 and judge(model(ids))[0] > 0.85
print("equal in parameters; one layer ends below 0.6, and two layers above 0.85")

# %% [markdown]
# One pair proves little, so `sources/recorded/looking_inside.py` trained six, the first with the seed above. Every
# two-layer model ends at 0.97 or higher; no one-layer model ends above 0.24. Section 8 has the curves, and a table for
# other rates and longer training with three seeds each. One layer ends below 0.27 at 0.001, at 0.01 and after 2400
# steps. Two layers also succeed at 0.001, but at 0.01 all three reach at most 0.45 in 800 steps.

# %% [markdown]
# ## 2. Attention maps and a score
#
# Here are the attention weights of all eight heads on one test sequence. We count layers and heads from 0, so head 0.2
# is head 2 of layer 0.

# %% tags=["hide-input", "nbval-ignore-output"]
maps = attention_maps(model, ids)  # (L, B, H, T, T)
figure = plotting.attention_maps(
    [maps[layer, 0, head] for layer in range(2) for head in range(HEADS)],
    [f"head {layer}.{head}" for layer in range(2) for head in range(HEADS)],
    columns=HEADS,
    limit=1.0,
    size=(10, 6),
    query_label="query",
    key_label="key",
)
for ax in figure.axes[: 2 * HEADS]:
    ax.set(xticks=[0, PERIOD], yticks=[0, PERIOD])
    ax.axhline(PERIOD - 0.5, color=plotting.MUTED, linewidth=0.8, linestyle=":")
    ax.axvline(PERIOD - 0.5, color=plotting.MUTED, linewidth=0.8, linestyle=":")
plotting.picture(
    figure,
    caption="Layer 0 attends to near tokens, and most of layer 1 along a second diagonal, into the first copy.",
    alt="Attention maps of 24 tokens, four heads of layer 0 above and four of layer 1 below. In layer 0 the weights are "
    "near the diagonal. In most heads of layer 1, the queries of the second copy, in the lower half, have their "
    "weights along a line in the lower left quarter, parallel to the diagonal. In the first copy one head of layer 1 "
    "has nearly all its weight in the first column.",
)

# %% [markdown]
# Does the second diagonal pass through the token that came *next*? The **induction score** (Olsson et al., 2022, who
# call it *prefix matching score*) is the weight that a query puts on the tokens after earlier copies of its token,
# averaged over all queries that have an earlier copy:
#
# <!-- slide: The induction score asks for the token that came next -->
#
# $$\text{score} = \frac{1}{T - \text{period}} \sum_{i = \text{period}}^{T - 1} \; \sum_{m \geq 1,\; m \cdot \text{period} \leq i}
# \alpha_{i,\; i - m \cdot \text{period} + 1}$$
#
# Positions run from 0 to $T - 1$, $\alpha_{ij}$ is the weight of key $j$ for query $i$, and $m$ counts the copies
# backwards. Mind the offset: in the copy before, the key is $i - \text{period} + 1$, since the head needs the token
# that *followed*.


# %% slide="The score is a loop over queries and their earlier copies"
def induction_score(weights, period):
    """Weight on the tokens after earlier copies of the query's token: (B, H, T, T) -> (H,)."""
    T = weights.shape[-1]
    total = torch.zeros(weights.shape[1])
    for i in range(period, T):
        for key in range(i - period + 1, 0, -period):
            total += weights[:, :, i, key].mean(dim=0)
    return total / (T - period)


uniform = torch.full((1, 1, 5, 5), 0.2)
print(f"uniform weights, 5 tokens, period 2: {induction_score(uniform, 2).item():.4f}")
print(f"by hand: 0.2 · (1 + 1 + 2) / 3 =     {0.2 * (1 + 1 + 2) / 3:.4f}")

# %% tags=["hide-input"]
assert abs(induction_score(uniform, 2).item() - 4 / 15) < 1e-6
some = torch.rand(2, 3, 11, 11)
assert torch.allclose(induction_score(some, 4), inside.induction_score(some, 4), atol=1e-6)
print("4/15 by hand, and the same as course_utils.inside")

# %% tags=["hide-input"]
questions.ask("12", "which-key")

# %% slide="Layer 1 has heads with a high score, layer 0 has none" tags=["nbval-ignore-output"]
scores = torch.stack([induction_score(weights, PERIOD) for weights in maps])  # (L, H)
for layer in range(2):
    print(f"layer {layer}:", *[f"{score:.2f}" for score in scores[layer]])

# %% tags=["hide-input"]
questions.ask("12", "no-head-with-a-score")

# %% [markdown]
# Here is the best score in layer 1 of each recorded model.

# %% tags=["hide-input"]
HEADS_OF_SIX = """\
seed  right   loss   score  no layer 1    one away         needed   score  back  without it     gap
   0  0.979  0.087   0.934   0.013   6.65   0.846  0.614     0.0   0.000     1    0.459   2.60   0.049
   1  0.975  0.098   0.931   0.015   6.66   0.874  0.492     0.1   0.002     0    0.486   2.19   0.073
   2  0.990  0.057   0.924   0.020   6.11   0.919  0.373     0.2   0.000     1    0.116   5.00   0.026
   3  0.970  0.112   0.066   0.009   5.85   0.945  0.266     0.0   0.000     3    0.120   5.44   0.017
   4  0.985  0.065   0.947   0.019   6.51   0.910  0.369     0.3   0.000     1    0.220   4.46   0.012
   5  0.973  0.116   0.099   0.021   6.48   0.910  0.370     0.0   0.000     1    0.369   2.45   0.021
"""
head, *lines = HEADS_OF_SIX.splitlines()
COLUMNS = (
    "seed right loss score share_0 loss_0 least most needed its_score back its_share its_loss gap"
)
six_models = {
    name: [value if name == "needed" else float(value) for value in column]
    for name, column in zip(
        COLUMNS.split(), zip(*(line.split() for line in lines), strict=True), strict=True
    )
}
print("seed  accuracy  loss  best score in layer 1")
for seed in range(6):
    print(
        f"{seed:4d}{six_models['right'][seed]:10.2f}{six_models['loss'][seed]:6.2f}{six_models['score'][seed]:23.2f}"
    )
missed = [score < 0.15 for score in six_models["score"]]
assert min(six_models["right"]) > 0.96 and sum(missed) == 2
assert all(score > 0.9 or away for score, away in zip(six_models["score"], missed, strict=True))

# %% [markdown]
# Four models have induction heads with scores above 0.9. In the other two no head of layer 1 reaches 0.11, and yet they
# are right almost as often.

# %% [markdown]
# ## 3. Ablation: switch a head off
#
# A score does not tell whether the model needs a head. **Ablation** removes the head and measures what fails. What a
# head has gathered reaches the stream through its own block of $W_o$, so **zero ablation** sets that block to zero, here
# in a copy of the model. A zero may be an input that later layers have never seen, so **mean ablation** (Wang
# et al., 2023) puts in the head's average output over other texts.

# %% slide="To switch a head off, clear its block of $W_o$"
d_k = D_MODEL // HEADS


def without(model, heads):
    """A copy of the model in which these heads, pairs (layer, head), add nothing to the stream."""
    damaged = copy.deepcopy(model)
    for layer, head in heads:
        w_o = damaged.layers[layer].w_o.weight  # (D, D), the transpose of W_o
        w_o[:, head * d_k : (head + 1) * d_k] = 0.0
    return damaged


# %% slide="Accuracy hides what the loss shows" tags=["nbval-ignore-output"]
print("switched off   accuracy  loss")
print(f"nothing        {judge(model(ids))[0]:8.2f}{judge(model(ids))[1]:6.2f}")
one_off = torch.zeros(2, HEADS, 2)  # accuracy and loss without each head
for layer in range(2):
    for head in range(HEADS):
        one_off[layer, head] = torch.tensor(judge(without(model, [(layer, head)])(ids)))
        print("head {}.{}       {:8.2f}{:6.2f}".format(layer, head, *one_off[layer, head].tolist()))
    accuracy, loss = judge(without(model, [(layer, head) for head in range(HEADS)])(ids))
    print(f"all of layer {layer} {accuracy:8.2f}{loss:6.2f}")

# %% tags=["hide-input"]
pair = [(0, 1), (1, 2)]
damaged, reference = without(model, pair)(ids), inside.ablate_heads(model, ids, pair)
assert torch.allclose(damaged, reference, atol=1e-4)
layer_one = [(1, head) for head in range(HEADS)]
assert judge(without(model, layer_one)(ids))[0] < 0.1 and one_off[1, :, 0].min() > 0.7
print("zeroed columns equal ablate_heads of course_utils.inside")

# %% tags=["hide-input"]
questions.ask("12", "nobody-is-missed")

# %% tags=["hide-input"]
factors = [most / loss for most, loss in zip(six_models["most"], six_models["loss"], strict=True)]
assert max(six_models["share_0"]) < 0.03 and min(six_models["loss_0"]) > 5.8
assert min(six_models["least"]) > 0.84 and 2.3 < min(factors) and max(factors) < 7.2
assert (
    all(pair.startswith("0.") for pair in six_models["needed"])
    and max(six_models["its_score"]) < 0.01
)
assert (
    min(six_models["its_loss"]) > 2.1
    and 0.11 < min(six_models["its_share"])
    and max(six_models["its_share"]) < 0.5
)
print("accuracy and loss, with these heads removed")
print("seed         none   all layer 1    one head, layer 1        one head, layer 0")
for seed in range(6):
    print(f"{seed:4d}", end="")
    for share, loss, width in [
        ("right", "loss", 7),
        ("share_0", "loss_0", 8),
        ("least", "most", 18),
        ("its_share", "its_loss", 22),
    ]:
        print(f"{six_models[share][seed]:{width}.2f}{six_models[loss][seed]:6.2f}", end="")
    print()

# %% [markdown]
# The six recorded models agree:
#
# <!-- slide: Layer 1 is needed, and no single head of it is -->
#
# - **Layer 1 is needed.** Without its heads the model gets at most 3 % of the tokens right.
# - **No single head of layer 1 is indispensable.** Remove any one of them, and accuracy stays above 0.84. But removing
#   the most important one multiplies the loss by 2.4 to 7.1.
# - **The head that costs most to remove is in layer 0,** and its induction score is zero. It is not always the
#   previous-token head: in seed 1 it attends mainly to its own position, and in seed 3 three tokens back.
#
# Accuracy hides what the loss shows, because the right token usually remains the most likely. So small damage to
# accuracy does not prove that a head did nothing.

# %% [markdown]
# ## 4. Activation patching: put one vector back
#
# The other tools look into the **residual stream**. Here is a forward pass that keeps it after each addition.


# %% slide="Most tools read the residual stream, so we keep it after each addition"
def stages(model, token_ids):
    """The residual stream at the start and after each addition: 2 L + 1 times (B, T, D)."""
    mask = causal_mask(token_ids.shape[1])
    x = model.embed(token_ids)
    found = [x]
    for layer in model.layers:
        context, _ = layer.attend(layer.norm1(x), mask)  # (B, H, T, d_k)
        x = x + layer.w_o(merge_heads(context))
        found.append(x)
        x = x + layer.feed_forward(layer.norm2(x))
        found.append(x)
    return found


# %% tags=["hide-input"]
logits = model.norm(stages(model, ids)[-1]) @ model.embedding.weight.T  # (B, T, V)
assert torch.allclose(logits, model(ids), atol=1e-4)
for ours, reference in zip(stages(model, ids)[::2], inside.streams(model, ids), strict=True):
    assert torch.allclose(ours, reference, atol=1e-4)
print("the model's own logits, and the streams of course_utils.inside")

# %% [markdown]
# **Activation patching** moves one vector from a run of the model into another. Take a clean sequence and a corrupted
# one, in which the token that decides the answer is replaced: here the A at position 5 of the first copy. The A of the
# second copy, at position 17, asks as before, but its earlier copy is gone. Run the corrupted sequence with a single
# vector of the clean run. This direction is called **denoising** (Heimersheim and Nanda, 2024).

# %% slide="In the corrupted run, the token that decides the answer is replaced"
PLACE = 5
query, answer = PLACE + PERIOD, ids[:, PLACE + 1]
unused = torch.ones(len(ids), VOCABULARY).scatter(1, ids, 0.0)  # (B, V): 0 if present
drawn = torch.multinomial(unused, 1, generator=torch.Generator().manual_seed(7))  # (B, 1)
corrupted_ids = ids.clone()
corrupted_ids[:, PLACE] = drawn[:, 0]


def log_p(logits):
    """Mean log-probability of the answer at the query's position: logits (B, T, V)."""
    return -F.cross_entropy(logits[:, query], answer).item()


# %% [markdown]
# We measure the log-probability of the answer B, with the corrupted run as 0 and the clean run as 1:
#
# <!-- slide: How much of the answer does one vector bring back? -->
#
# $$\text{share} = \frac{\log p_\text{patched} - \log p_\text{corrupted}}{\log p_\text{clean} - \log p_\text{corrupted}}$$
#
# The patch is a single assignment to a copy of the stream, done for each position in turn.

# %% slide="A patch is one assignment to a copy of the stream" seconds=3
clean, corrupted = log_p(model(ids)), log_p(model(corrupted_ids))


def shares(source, target, layer):
    """Share of the answer, 0 corrupted and 1 clean, with one vector of `source` in `target`: (T,)."""
    given = stages(model, source)[2 * layer]  # (B, T, D); entry 2 · layer: before that layer
    stream = stages(model, target)[2 * layer]
    found = []
    for position in range(2 * PERIOD):
        x = stream.clone()
        x[:, position] = given[:, position]  # the patch
        for later in model.layers[layer:]:
            x = later(x, mask)  # (B, T, D)
        found.append((log_p(model.unembed(x)) - corrupted) / (clean - corrupted))
    return torch.tensor(found)


restored = torch.stack([shares(ids, corrupted_ids, layer) for layer in range(2)])  # (L, T)

# %% slide="Before layer 1, a single vector restores the answer" tags=["hide-input", "nbval-ignore-output"]
print(f"log p of the answer: clean {clean:.2f}, corrupted {corrupted:.2f}".replace("-", "−"))
attended = maps[1, :, :, query].mean(dim=0)  # (H, T): where layer 1 attends from the query
figure = plotting.attention_maps(
    [restored.clamp(0, 1), attended],
    [
        "share of the answer that the clean vector restores",
        f"weights of layer 1 from position {query}",
    ],
    queries=[["before layer 0", "before layer 1"], [f"head 1.{head}" for head in range(HEADS)]],
    columns=1,
    limit=1.0,
    size=(9, 5.6),
    numbers=False,
    colour_label="share, or weight",
    query_label="",
    key_label="position",
)
place = restored[1].argmax().item()
for line, position in ((0, PLACE), (1, place)):
    plotting.outline_cell(figure.axes[0], line, position)
plotting.picture(
    figure,
    caption="One vector before layer 1 restores the answer. Its position is where the heads of layer 1 attend.",
    alt="Two maps over the 24 positions. Above, the share of the answer: before layer 0 the clean vector at position "
    f"{PLACE} restores {restored[0, PLACE]:.2f}. Before layer 1 position {place} restores {restored[1, place]:.2f}, every "
    f"other at most {restored[1].sort().values[-2]:.2f}. Below, the weights of the four heads of layer 1, largest at "
    f"position {attended[:, 1:].sum(dim=0).argmax().item() + 1}.",
)

# %% tags=["hide-input"]
with torch.no_grad():
    reference = log_p(inside.patch_activation(model, ids, corrupted_ids, 1, place))
assert abs((reference - corrupted) / (clean - corrupted) - restored[1, place].item()) < 1e-3
assert attended[:, 1:].sum(dim=0).argmax().item() + 1 == place
assert restored[0].argmax().item() == PLACE and (restored.max(dim=1).values > 0.9).all()
for values, best in ((restored[0], PLACE), (restored[1], place)):
    assert all(share < 0.2 for position, share in enumerate(values.tolist()) if position != best)
print("the same share as by course_utils.inside; one position in each layer restores more than 0.9")

# %% [markdown]
# Before layer 0 nothing has been mixed yet, so only the replaced token itself can restore the answer. Before layer 1
# one other position does, the one to which the heads of layer 1 attend.
#
# ### The other way round: noising
#
# Denoising shows that this vector is *enough*, but the model might have other ways. So we also put the *corrupted*
# vector into the clean run, called **noising**, and ask what is left.

# %% slide="Exchange the two arguments, and the patch goes the other way" seconds=3 tags=["nbval-ignore-output"]
kept = torch.stack([shares(corrupted_ids, ids, layer) for layer in range(2)])  # (L, T)
for half in kept[1].split(PERIOD):  # before layer 1: the first copy, then the second
    print(*[f"{share:.2f}" for share in half])

# %% tags=["hide-input"]
assert kept[0].argmin().item() == PLACE and kept[1].argmin().item() == place
for values, best in ((kept[0], PLACE), (kept[1], place)):
    assert values[best] < 0.35 and all(
        share > 0.9 for position, share in enumerate(values.tolist()) if position != best
    )
print("without one vector before layer 1 less than 0.35 is left; without any other more than 0.9")

# %% [markdown]
# Noising at this position leaves at most 0.19 of the difference in log-probability in our six models, and in the model
# above the answer then has $p = 0.004$. At any other position nothing is lost. So the vector is *needed* as well. But
# we told the method which token to corrupt, and had the note been spread over two positions, a single patch would have
# restored only part of it.
#
# How far past the earlier copy does layer 1 attend in the two models that the score missed?

# %% tags=["hide-input"]
PLACES = """\
seed    -1    -2    -3    +0    +1    +2    +3    +4  place  restored  elsewhere  left  elsewhere
   0  0.73  0.28  0.12  0.12  0.93  0.05  0.02  0.02     +1      1.00       0.13  0.19       1.00
   1  0.62  0.30  0.15  0.10  0.93  0.08  0.02  0.01     +1      1.00       0.10  0.14       1.00
   2  0.91  0.09  0.10  0.09  0.92  0.02  0.02  0.01     +1      1.00       0.02  0.02       1.00
   3  0.12  0.60  0.87  0.06  0.07  0.05  0.89  0.03     +3      1.00       0.01  0.02       1.00
   4  0.90  0.38  0.15  0.09  0.95  0.02  0.01  0.01     +1      1.00       0.03  0.02       1.00
   5  0.75  0.60  0.26  0.10  0.10  0.93  0.08  0.02     +2      1.01       0.09  0.12       1.00
"""
lines = [[float(value) for value in line.split()[1:]] for line in PLACES.splitlines()[1:]]
back, after, patched = (
    torch.tensor([line[a:b] for line in lines]) for a, b in ((0, 3), (3, 8), (8, 13))
)
figure, ax = plotting.panels(1, height=4.6)
plotting.attention_map(
    after,
    [f"seed {seed}" for seed in range(6)],
    ["+0", "+1", "+2", "+3", "+4"],
    ax,
    limit=1.0,
    colour_label="largest weight of a head in layer 1",
    query_label="",
    key_label="positions after the first copy of the token",
)
ax.set_xticks(
    range(5), ["+0", "+1", "+2", "+3", "+4"], rotation=0, ha="center", rotation_mode="default"
)
for seed, offset in enumerate(patched[:, 0].int().tolist()):
    plotting.outline_cell(ax, seed, offset)
plotting.picture(
    figure,
    caption="Patching (frames) finds where layer 1 attends in all six models. The score asks for +1 alone.",
    alt="Six models as rows, and how many positions after the first copy of a token layer 1 attends as columns, from 0 "
    "to 4. "
    + " ".join(
        f"Seed {seed}: most weight, {after[seed].max():.2f}, at +{after[seed].argmax().item()}; patching finds "
        f"+{int(patched[seed, 0])}."
        for seed in range(6)
    ),
)

# %% tags=["hide-input"]
offsets = patched[:, 0].int()
assert torch.equal(after.argmax(dim=1).int(), offsets)
assert offsets.tolist() == [1, 1, 1, 3, 1, 2]
assert (patched[:, 1] > 0.99).all() and (patched[:, 2] < 0.15).all()
assert (patched[:, 3] < 0.2).all() and (patched[:, 4] > 0.99).all()
assert back[3, 2] > 0.8 and back[3, 1] > 0.5 and back[5, 0] > 0.7 and back[5, 1] > 0.55
print("the frame is where layer 1 attends most, in all six")

# %% [markdown]
# In seed 5 the frame lies two positions after the first copy of the token, and in seed 3 three. There, heads of layer 0
# attend three and two tokens back, so the vector three positions after A holds a note about A *and* one about B. Layer
# 1 uses the first note to find the position, and copies the second. The score was defined for one distance, whereas
# patching assumes none.
#
# Try it on one sequence of 12 words that come twice. The view runs two other trained models: A has induction heads,
# and B has none.
#
# 1. In model A, choose each head of layer 1 in turn, and see where its lines go. Switch one off, count the right words
#    and watch the loss. Then switch off all of them, under *more to switch*.
# 2. In model B, where do the heads of layer 1 attend? Change to *put one vector back* and *try every position*. Does
#    patching find the same one?

# %% tags=["hide-input"]
live.inside_view()

# %% [markdown]
# <details><summary>What you should see</summary>
#
# 1. Three of the four heads put nearly all their weight on the word after the first copy, and the other one about a
#    third. Without any one of them at least ten of the twelve words are still right. With all four off, at most one
#    word is right.
# 2. They attend three positions after the first copy. Before layer 1, the vector there restores all of the answer, and
#    no other one does.
#
# </details>

# %% [markdown]
# ## 5. Logit lens and probe: read in the middle
#
# Only at the end do a norm and the embedding turn the residual stream into logits. The **logit lens** of nostalgebraist
# (2020) does that in the middle, as if the model stopped there, and asks what it would predict. Here it reads the
# second copy after every addition.

# %% slide="Read with the lens, the token comes first and the answer last" tags=["nbval-ignore-output"]
NAMES = ["embedding", "attention 0", "feed-forward 0", "attention 1", "feed-forward 1"]
wanted = {"the token itself": ids[:, PERIOD:], "the answer": followed}  # (B, PERIOD) each
read = {name: [] for name in wanted}
for x in stages(model, ids):
    logits = model.norm(x[:, PERIOD:]) @ model.embedding.weight.T  # (B, PERIOD, V)
    for name, tokens in wanted.items():
        read[name].append((logits.argmax(dim=-1) == tokens).float().mean().item())
for stage, (itself, its_answer) in zip(NAMES, zip(*read.values(), strict=True), strict=True):
    print(f"after {stage:<15} the token itself {itself:.2f}, the answer {its_answer:.2f}")

# %% tags=["hide-input"]
lens = inside.logit_lens(model, ids)[:, :, PERIOD:].argmax(dim=-1)  # (L + 1, B, PERIOD)
for name, tokens in wanted.items():
    hits = (lens == tokens).float().mean(dim=(1, 2)).tolist()
    assert all(
        abs(ours - reference) < 0.01 for ours, reference in zip(read[name][::2], hits, strict=True)
    )
assert read["the token itself"][0] > 0.99 and read["the token itself"][2] < 0.05
assert read["the answer"][2] < 0.05 and read["the answer"][4] > 0.85
print("the token first, the answer last, and neither before layer 1")

# %% tags=["hide-input"]
questions.ask("12", "a-silent-lens")

# %% [markdown]
# Before layer 1 the lens names neither the token nor the answer. Does it miss them, or are they absent? A **probe** is
# a small map, fitted to read something from the stream and tried on other sequences. Ours is linear. Least squares fits
# a score for each token, 1 for the right one and 0 for all others, and the probe reads the token with the highest
# score.


# %% slide="A probe is fitted on some sequences and tried on others"
fit_ids = distinct(400, 2 * PERIOD, PERIOD, torch.Generator().manual_seed(5))  # other sequences


def probe(stage, positions, back):
    """How often a linear map reads, from a stage of the stream, the token so many positions back."""
    x, new_x = (stages(model, some)[stage][:, positions] for some in (fit_ids, ids))  # (B, n, D)
    x, new_x = (F.pad(part, (0, 1), value=1.0) for part in (x, new_x))  # a column of ones: a bias
    y, new_y = (some.roll(back, dims=1)[:, positions] for some in (fit_ids, ids))  # (B, n)
    one_hot = F.one_hot(y.flatten(), VOCABULARY).float()  # (B · n, V)
    reading = torch.linalg.lstsq(x.flatten(0, 1), one_hot).solution  # (D + 1, V)
    return ((new_x @ reading).argmax(dim=-1) == new_y).float().mean().item()


second = slice(PERIOD, 2 * PERIOD)
probed = {
    "the token itself": [probe(stage, second, 0) for stage in range(5)],
    # position p predicts token p + 1, which was at p + 1 - 12: 11 tokens back
    "the answer": [probe(stage, second, PERIOD - 1) for stage in range(5)],
}

# %% tags=["hide-input", "nbval-ignore-output"]
figure, axes = plotting.panels(2, height=4.4, sharey=True)
for ax, name in zip(axes, wanted, strict=True):
    ax.plot(probed[name], "-s", color=plotting.SERIES[1], label="linear probe")
    ax.plot(read[name], "--o", color=plotting.SERIES[0], label="logit lens")
    ax.axhline(1 / VOCABULARY, color=plotting.MUTED, linewidth=1, linestyle=":")
    ax.set(title=name, ylim=(-0.03, 1.06))
    ax.set_xticks(range(5), ["embed", "att 0", "ff 0", "att 1", "ff 1"])
axes[0].set_ylabel("share of positions")
axes[1].legend(loc="upper left")
plotting.picture(
    figure,
    caption="The lens misses the token; neither it nor a linear probe finds the answer before layer 1.",
    alt="Share of positions of the second copy at which lens and probe read the token itself, left, and the answer, "
    "right, after the embedding and after each of four additions. "
    + " ".join(
        f"{name.capitalize()}: lens {', '.join(f'{x:.2f}' for x in read[name])}; "
        f"probe {', '.join(f'{x:.2f}' for x in probed[name])}."
        for name in wanted
    ),
)

# %% [markdown]
# The same probe can read the note about A, at the distance that patching found. As a control, it also tries the
# embeddings.

# %% slide="The note is there, and the embeddings do not have it" tags=["nbval-ignore-output"]
distance = place - PLACE
first = slice(distance, PERIOD)
note, control = probe(2, first, distance), probe(0, first, distance)
print(f"the note is read before layer 1: {note:.2f}, from the embeddings: {control:.2f}")

# %% tags=["hide-input", "nbval-ignore-output"]
READINGS = """\
seed  lens token  answer  probe token  answer  earlier
   0      0.000   0.016      1.000   0.016   0.969
   1      0.000   0.017      1.000   0.015   0.965
   2      0.000   0.018      1.000   0.020   0.988
   3      0.000   0.009      0.996   0.016   0.936
   4      0.000   0.024      1.000   0.018   0.959
   5      0.000   0.019      0.995   0.017   0.934
"""
six = torch.tensor([[float(x) for x in line.split()[1:]] for line in READINGS.splitlines()[1:]])
assert (six[:, :2] < 0.03).all() and (six[:, 2] > 0.99).all() and (six[:, 3] < 0.03).all()
assert (six[:, 4] > 0.92).all()
itself = probe(2, first, 0)
in_lens = model.unembed(stages(model, ids)[2][:, first]).argmax(dim=-1)
note_in_lens = (in_lens == ids[:, : PERIOD - distance]).float().mean().item()
assert probed["the token itself"][2] > 0.95 and probed["the answer"][2] < 0.05
assert note > 0.8 and control < 0.05 and note_in_lens < 0.05 and abs(restored[1, query]) < 0.05
assert itself > 0.9
print(f"the lens on the same vectors: the note {note_in_lens:.2f}")
print(f"the probe on the same vectors: the token itself {itself:.2f}")
print(f"share of the answer that the clean vector at the query restores: {restored[1, query]:z.2f}")
print("six models before layer 1, in the second copy, and the earlier token in the first")
print(READINGS.rstrip())

# %% [markdown]
# About the *answer* the lens was right. In all six models the probe finds no more of it before layer 1 than chance,
# and a patch agrees: the clean vector at the query restores nothing. The vector that patching found is at the *same
# depth* but at a *different position*, and a reading at one position proves nothing about another.
#
# What the lens did miss is the *token itself* and, at that position, the note about A. In the six models the probe
# reads the token at least 99 % of the time and the note at least 93 %. But a probe only proves that something *can* be
# read, and not that the model reads it.
#
# <!-- slide: Each tool has its blind spot -->
#
# | tool | can show | cannot show |
# |---|---|---|
# | attention map, score | a pattern | that it is needed, or that there is no other |
# | ablation | that heads are needed | what they do; small damage proves little |
# | patching | that one vector is enough (denoising) or needed (noising) | which part of it counts |
# | lens, probe | that something is at this depth and position | that the model uses it |

# %% [markdown]
# ## Summary
#
# <!-- slide: Notes, a head that finds them, and four tools that see a part each -->
#
# - In four of six models the heads of layer 0 leave a note about the token before, and an induction head of layer 1
#   finds it and copies. The induction score missed the other two circuits.
# - Accuracy hides damage that the loss shows, and the heads of one layer add up.
# - Denoising shows which vector is enough, noising which one is needed, and a probe what could be read.
#
# **Now you:** [assignment a13, looking inside](../exercises/a13_looking_inside/a13_looking_inside.ipynb), where you
# write the score and the tools of sections 3 to 5. Those of `course_utils.inside` also take published models, loaded as
# [Load published weights](../docs/published_weights.md) shows.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 2, 3 and 5 can be checked on the spot. Those below are open ones.
#
# **1.** In another task all blocks have the same length, 12. Could one layer with rotary positions solve it?
#
# <details><summary>Answer</summary>
#
# Yes. The answer is always 11 positions back, and with rotary positions a score can depend on the distance. A head that
# attends 11 positions back and copies what it finds is enough, whatever the tokens are.
#
# </details>
#
# **2.** A probe reads the part of speech of each token from layer 5 of a model, with 0.97 right. Does the model know
# parts of speech?
#
# <details><summary>Answer</summary>
#
# It can be read there, and perhaps it could already be read from the embedding, so try that first, as a control.
# Whether the model uses it is another question. Remove or exchange what the probe reads, and see whether the output
# changes.
#
# </details>

# %% [markdown]
# ## 6. Going deeper: circuits
#
# Because the residual stream is a sum, so is every logit, up to the scale of the last norm. **Direct logit
# attribution** asks what each summand adds to the logit of the answer. The last norm divides by one number per
# position, so we divide every part by the same number. A constant added to all logits changes no probability, so we
# subtract the mean logit.


# %% slide="The stream is a sum, so every part has a share in every logit"
def parts(model, token_ids):
    """What each part adds to the stream: name -> (B, T, D); their sum is the last stream."""
    found = stages(model, token_ids)
    added = {"embedding": found[0]}
    for number, layer in enumerate(model.layers):
        context, _ = layer.attend(layer.norm1(found[2 * number]), mask)  # (B, H, T, d_k)
        for head, columns in enumerate(layer.w_o.weight.split(d_k, dim=1)):
            added[f"head {number}.{head}"] = context[:, head] @ columns.T
        added[f"feed-forward {number}"] = found[2 * number + 2] - found[2 * number + 1]
    return added


# %% slide="What a part adds along the direction of the right token"
last = stages(model, ids)[-1]
scale = (last.square().mean(dim=-1, keepdim=True) + model.norm.eps).rsqrt()  # (B, T, 1)
centred = model.embedding.weight - model.embedding.weight.mean(dim=0)  # (V, D)
direction = centred[followed] * model.norm.weight  # (B, PERIOD, D): raises the right logit
added = {
    name: ((part * scale)[:, PERIOD:] * direction).sum(dim=-1).mean().item()
    for name, part in parts(model, ids).items()
}

# %% tags=["hide-input", "nbval-ignore-output"]
own_logits = model(ids)[:, PERIOD:]
above = own_logits.gather(-1, followed.unsqueeze(-1)) - own_logits.mean(dim=-1, keepdim=True)
assert abs(sum(added.values()) - above.mean().item()) < 1e-2
assert sum(added[f"head 1.{head}"] for head in range(HEADS)) > 0.6 * above.mean().item()
for head in range(HEADS):
    off = without(model, [(1, head)])(ids)[:, PERIOD:]
    change = off.gather(-1, followed.unsqueeze(-1)) - off.mean(dim=-1, keepdim=True) - above
    line = (
        f"head 1.{head} adds {added[f'head 1.{head}']:+.2f} directly; without it the right logit "
    )
    print(line + f"changes by {change.mean():+.2f}".replace("-", "−"))
figure, ax = plotting.panels(1, height=4.2)
plotting.bars(
    ax,
    [
        "embed",
        *(f"0.{head}" for head in range(HEADS)),
        "ff 0",
        *(f"1.{head}" for head in range(HEADS)),
        "ff 1",
    ],
    {"added": list(added.values())},
    legend=False,
    ylabel="added to the right logit",
)
plotting.picture(
    figure,
    caption="Directly, the answer comes from the heads of layer 1 and a little from the last feed-forward network.",
    alt="Bars for what each part of the model adds to the logit of the right token, less the mean logit, in the second "
    "copy. " + ", ".join(f"{name} {value:z.2f}" for name, value in added.items()) + ".",
)

# %% [markdown]
# The bars add up to the right logit less the mean logit. Layer 0, without which nothing works, adds almost nothing
# *directly*, because its notes are read by layer 1 and not by the output. So direct attribution has a blind spot, as
# every tool has.
#
# Elhage et al. (2021) split each head into two **circuits**, two products of matrices that can be read without any
# input. The **QK circuit**, $W_q W_k^\top$, in our model with a rotation in between, decides where the head attends. The
# **OV circuit**, $W_v W_o$, decides what it writes once it attends there.
#
# An induction head should *copy*, so its OV circuit should turn a token into the logit of the same token. This is the
# other half of Olsson et al.'s definition, next to the score. In our models layer 0 rewrites the stream, so we send
# through it, for each token, its average vector before layer 1.

# %% slide="The OV circuit of an induction head turns a token into its own logit" tags=["nbval-ignore-output"]
before = stages(model, ids)[2]  # (B, T, D): the stream that layer 1 reads
average = torch.stack([before[ids == token].mean(dim=0) for token in range(VOCABULARY)])  # (V, D)
layer = model.layers[1]
values = layer.w_v(layer.norm1(average)).split(d_k, dim=1)  # H times (V, d_k)
for head, columns in enumerate(layer.w_o.weight.split(d_k, dim=1)):
    added_by = values[head] @ columns.T * model.norm.weight  # (V, D)
    written = added_by @ centred.T  # (V, V): logits, up to a scale that moves no argmax
    copied = (written.argmax(dim=1) == torch.arange(VOCABULARY)).float().mean().item()
    print(f"head 1.{head} copies {copied:.2f} of the tokens")

# %% [markdown]
# **The tools disagree about one head.** Head 1.2 of the model with `SEED = 0` copies every token, and directly it adds
# to the right logit. But its induction score is only 0.22, and without it the right logit even rises, and the loss
# falls from 0.09 to 0.05. Direct attribution keeps everything else as it is. After an ablation, the last feed-forward
# network and the last norm react. In the first copy this head has 0.92 of its weight on position 0, and section 8
# explains why.
#
# Does layer 1 really read the notes with its *keys*? We feed only the queries, only the keys, or only the values a
# different stream: that of a model whose layer-0 heads are off. This patches a single path between two layers. If the
# keys matter, that is **K-composition**; with queries or values it is **Q-** or **V-composition**.


# %%
def composed(damaged, path):
    """Loss when the queries, the keys or the values of layer 1 read the stream of a damaged model."""
    intact, other = (stages(some, ids)[2] for some in (model, damaged))  # (B, T, D) each
    query = split_heads(layer.w_q(layer.norm1(other if path == "queries" else intact)), HEADS)
    key = split_heads(layer.w_k(layer.norm1(other if path == "keys" else intact)), HEADS)
    value = split_heads(layer.w_v(layer.norm1(other if path == "values" else intact)), HEADS)
    query, key = (apply_rotary(x, torch.arange(2 * PERIOD)) for x in (query, key))
    context, _ = scaled_dot_product_attention(query, key, value, mask)  # (B, H, T, d_k)
    x = intact + layer.w_o(merge_heads(context))
    return judge(model.unembed(x + layer.feed_forward(layer.norm2(x))))[1]


# %% slide="Without notes in the keys, the loss is highest" tags=["nbval-ignore-output"]
silent = without(model, [(0, head) for head in range(HEADS)])
for path in ("nothing", "queries", "keys", "values"):
    print(f"without notes in {path:<8} loss {composed(silent, path):.2f}")

# %% tags=["hide-input"]
CIRCUITS = """\
seed   all on  queries    keys   values   copied
   0     0.09     0.95     5.41     1.41     1.00
   1     0.10     2.88     5.82     1.65     1.00
   2     0.06     1.41     4.68     1.72     1.00
   3     0.11     0.73     5.07     6.29     0.22
   4     0.07     1.15     5.74     0.51     1.00
   5     0.12     2.25     5.46     7.18     0.38
"""
assert abs(composed(silent, "nothing") - judge(model(ids))[1]) < 1e-3
circuits = torch.tensor(
    [[float(x) for x in line.split()[1:]] for line in CIRCUITS.splitlines()[1:]]
)
_, queries, keys, through_values, copies = circuits.T
assert keys.min() > 4.6 and (keys > queries + 1.5).all()
assert all(
    (value > key) == away for value, key, away in zip(through_values, keys, missed, strict=True)
)
assert all(
    (share < 0.4) == away and (share < 0.4 or share > 0.97)
    for share, away in zip(copies, missed, strict=True)
)
print(CIRCUITS.rstrip())

# %% [markdown]
# The table has all six models, with the losses and, in the last column, the share of tokens that the best head of
# layer 1 copies. Every swap hurts, partly because layer 1 has never seen such a stream. But in four models the keys
# cost most by far. In the two that the score missed, seeds 3 and 5, the *values* cost even more, since the note about
# B is what they copy. Like the score, the OV test misses them, because it asks whether a head copies the token at the
# position, and they copy a token that stood elsewhere.

# %% [markdown]
# ## 7. Going deeper: are attention weights an explanation?
#
# "The model predicts this because it attends there" is a tempting sentence. Jain and Wallace (2019) tested it with
# recurrent models for classification, which have a single attention layer as in lecture 1. They could often exchange
# the weights of a trained model for very different ones without changing its prediction, and they concluded that
# attention is not an explanation.
#
# Wiegreffe and Pinter (2019) answered that weights put in afterwards prove little, since a model is trained as a whole.
# They trained models to produce different weights and used these to guide a second, simpler model; they guided it less
# well than the original weights did. So what is proved depends on what we call an explanation.
#
# Could the weights of our own model be exchanged without any effect? For one query and one head the output is $\sum_j
# \alpha_j v^{(j)}$, with weights $\alpha_j$ that are not negative and sum to one. If we change them by $\delta_j$ with
# $\sum_j \delta_j v^{(j)} = 0$ and $\sum_j \delta_j = 0$, nothing changes. With $S$ keys there are such directions
# whenever the matrix $[V, 1]$, the values with a column of ones, has a rank below $S$. That is so if two values are
# equal, or if $S > d_v + 1$. Whether one can move along them depends on which weights are already zero.
#
# In layer 0 two values *are* equal wherever a token comes twice, because values know no position. All the weight that a
# query puts on one copy can be moved to the other. In layer 1 the values differ, but there are 24 keys and $d_v = 16$.
# A folded function lowers the weight of the strongest key as far as it can: it walks along those changes, the null
# space, and stops where a weight would become negative. What it finds is only an upper bound of the lowest weight.


# %% tags=["hide-input"]
def lowered(weights, values, key):
    """Other weights (S,) with the same output and sum, as small at `key` as this walk finds them."""
    fixed = torch.cat([values, torch.ones(len(values), 1).double()], dim=1)  # (S, d_v + 1)
    weights, free = weights.clone(), torch.ones(len(weights), dtype=torch.bool)
    while weights[key] > 0:
        directions, sizes, _ = torch.linalg.svd(fixed[free])
        null = directions[:, (sizes > 1e-9 * sizes[0]).sum() :]  # (free, dimensions left)
        change = torch.zeros_like(weights)
        its_row = free[:key].sum()  # where the key is among the free ones
        change[free] = -null @ null[its_row]  # steepest way down for the key
        if change[key] > -1e-9:
            break
        falls = change < -1e-12
        weights = weights + (weights[falls] / -change[falls]).min() * change
        free &= ~(falls & (weights < 1e-12))
        weights = weights.where(free, 0.0)
    return weights


# %% tags=["hide-input", "nbval-ignore-output"]
precise, end, error = copy.deepcopy(model).double(), 2 * PERIOD - 1, 0.0
before_and_after = {}  # (layer, head) -> mean strongest weight, before and after
streams = stages(precise, ids[:20])
for number, block in enumerate(precise.layers):
    normed = block.norm1(streams[2 * number])
    output, weights = block.attend(normed, mask)  # as in the model
    values = split_heads(block.w_v(normed), HEADS)  # (B, H, S, d_v)
    for head in range(HEADS):
        pairs = []
        for row in range(20):
            old = weights[row, head, end]  # (S,)
            new = lowered(old, values[row, head], old.argmax())
            pairs.append((old.max(), new[old.argmax()]))
            error = max(
                error, (new @ values[row, head] - output[row, head, end]).abs().max().item()
            )
        before_and_after[number, head] = torch.tensor(pairs).mean(dim=0).tolist()
for (number, head), (old, new) in before_and_after.items():
    print(f"head {number}.{head}: strongest weight {old:.2f}, lowered to {new:.2f}")
assert error < 1e-9
assert all(new < 1e-9 for (number, _), (_, new) in before_and_after.items() if number == 0)
assert all(new > old - 0.05 for (number, _), (old, new) in before_and_after.items() if number == 1)

# %% [markdown]
# The query is the last token, and the weights are means over 20 sequences of one model. In layer 0 the strongest weight
# of every head can be brought to zero, and nothing that comes later notices. A map of layer 0 that shows weight on a
# token of the second copy and none on its twin in the first could as well show the reverse. In layer 1 the walk makes
# almost no progress, so we found no lower weight there.
#
# For a given output there may be other weights, as Jain and Wallace found. Whether queries and keys could ever *produce*
# these weights, in all sequences at once, is the question of Wiegreffe and Pinter, and this experiment does not answer
# it.

# %% [markdown]
# ## 8. Going deeper: large models, and what came after
#
# Our models are tiny, their tokens are random, and they have a single task. How much of this holds for large ones? What
# follows is **published**, except where we say that we measured it. First, how our six pairs of models learned:

# %% tags=["hide-input"]
STEPS, EVERY = 800, 50
SHARES = """\
seed layers   50  100  150  200  250  300  350  400  450  500  550  600  650  700  750  800
   0      1 0.04 0.34 0.34 0.32 0.28 0.25 0.35 0.24 0.17 0.25 0.21 0.13 0.22 0.24 0.24 0.22
   0      2 0.09 0.11 0.13 0.18 0.22 0.27 0.38 0.58 0.91 0.96 0.98 0.99 0.98 0.99 0.99 0.98
   1      1 0.05 0.27 0.32 0.24 0.22 0.32 0.22 0.19 0.18 0.15 0.19 0.20 0.19 0.22 0.19 0.24
   1      2 0.09 0.11 0.15 0.19 0.24 0.46 0.83 0.96 0.98 0.98 0.98 0.97 0.97 0.98 0.98 0.97
   2      1 0.04 0.30 0.35 0.24 0.21 0.21 0.27 0.17 0.13 0.20 0.22 0.20 0.21 0.19 0.15 0.22
   2      2 0.09 0.11 0.14 0.16 0.24 0.28 0.50 0.84 0.98 0.98 0.99 0.99 0.99 0.99 0.98 0.99
   3      1 0.05 0.30 0.30 0.38 0.27 0.28 0.30 0.29 0.25 0.22 0.20 0.18 0.15 0.21 0.15 0.21
   3      2 0.08 0.12 0.13 0.15 0.19 0.23 0.31 0.48 0.83 0.92 0.96 0.97 0.95 0.97 0.97 0.97
   4      1 0.04 0.39 0.32 0.29 0.28 0.22 0.27 0.24 0.24 0.24 0.26 0.23 0.21 0.19 0.22 0.15
   4      2 0.09 0.12 0.15 0.18 0.25 0.37 0.81 0.97 0.98 0.98 0.99 0.99 0.99 0.98 0.99 0.98
   5      1 0.04 0.19 0.30 0.31 0.31 0.20 0.21 0.27 0.12 0.24 0.23 0.23 0.22 0.17 0.20 0.20
   5      2 0.09 0.12 0.14 0.19 0.24 0.29 0.46 0.73 0.87 0.94 0.95 0.97 0.96 0.96 0.96 0.97
"""
LOSSES = """\
seed layers   50  100  150  200  250  300  350  400  450  500  550  600  650  700  750  800
   0      1 4.03 2.49 2.33 2.30 2.29 2.32 2.12 2.32 2.50 2.27 2.31 2.58 2.27 2.23 2.23 2.20
   0      2 3.42 3.19 3.05 2.82 2.64 2.40 2.04 1.47 0.40 0.16 0.12 0.08 0.10 0.06 0.07 0.09
   1      1 3.86 2.62 2.38 2.48 2.50 2.19 2.34 2.48 2.51 2.53 2.40 2.28 2.32 2.23 2.33 2.13
   1      2 3.43 3.21 2.97 2.76 2.58 1.92 0.73 0.20 0.12 0.10 0.10 0.13 0.11 0.07 0.07 0.10
   2      1 3.94 2.54 2.30 2.51 2.47 2.45 2.24 2.51 2.61 2.33 2.26 2.28 2.31 2.33 2.46 2.16
   2      2 3.45 3.21 3.04 2.90 2.54 2.34 1.81 0.70 0.10 0.11 0.06 0.08 0.07 0.07 0.08 0.06
   3      1 3.93 2.60 2.46 2.17 2.36 2.35 2.18 2.21 2.28 2.26 2.32 2.42 2.43 2.26 2.42 2.27
   3      2 3.44 3.17 3.10 2.94 2.72 2.56 2.27 1.77 0.72 0.32 0.20 0.15 0.19 0.12 0.12 0.11
   4      1 3.98 2.33 2.42 2.36 2.34 2.47 2.24 2.29 2.25 2.26 2.21 2.21 2.24 2.35 2.22 2.44
   4      2 3.46 3.17 2.99 2.83 2.53 2.20 0.79 0.16 0.09 0.08 0.06 0.06 0.05 0.08 0.06 0.07
   5      1 3.92 2.87 2.41 2.32 2.28 2.55 2.48 2.28 2.74 2.27 2.30 2.27 2.27 2.39 2.31 2.30
   5      2 3.43 3.21 3.03 2.77 2.52 2.43 1.86 1.05 0.49 0.25 0.23 0.15 0.17 0.16 0.16 0.12
"""


def of_layers(table, layers):
    """The curves of the six models with so many layers: (seeds, points)."""
    lines = [line.split() for line in table.splitlines()[1:]]
    return torch.tensor([[float(x) for x in line[2:]] for line in lines if line[1] == str(layers)])


at = list(range(EVERY, STEPS + 1, EVERY))
figure, axes = plotting.panels(2, height=4.6)
for ax, table, column, guess in zip(
    axes, (SHARES, LOSSES), (0, 1), (1 / PERIOD, 2.48), strict=True
):
    for layers, name in ((2, "two layers"), (1, "one layer")):
        colour, style = (plotting.SERIES[0], "-") if layers == 2 else (plotting.SERIES[1], "--")
        for seed, one in enumerate(of_layers(table, layers)):
            label = name if seed == 0 else None
            ax.plot(at, one, style, marker="", color=colour, linewidth=1.5, alpha=0.8, label=label)
    ax.axhline(guess, color=plotting.MUTED, linewidth=1, linestyle=":")
    ax.set(xlabel="steps", xlim=(0, STEPS + 10), ylim=(0, (1.02, 5)[column]))
    ax.set_ylabel(("accuracy", "loss in nats")[column])
axes[1].legend(loc="upper right")
plotting.picture(
    figure,
    caption="By step 250 two layers are near the loss of guessing within the block, dotted; then both curves change fast.",
    alt="Accuracy, left, and loss, right, against steps, a curve for each recorded model of one layer and of two. "
    + " ".join(
        f"Medians of six, {name}: "
        + "; ".join(
            f"after {step} steps accuracy {of_layers(SHARES, layers)[:, step // EVERY - 1].median():.2f}, "
            f"loss {of_layers(LOSSES, layers)[:, step // EVERY - 1].median():.2f}"
            for step in (100, 300, 500, 800)
        )
        + "."
        for layers, name in ((1, "one layer"), (2, "two layers"))
    ),
)

# %% tags=["hide-input"]
two, climbs = of_layers(SHARES, 2), []
assert of_layers(SHARES, 1).max() < 0.5
assert of_layers(SHARES, 1)[:, -1].max() < 0.245 and two[:, -1].min() > 0.965
assert max(six_models["gap"]) < 0.08
for curve in two:
    last_below = max(step for step, share in zip(at, curve, strict=True) if share < 0.4)
    first_above = min(step for step, share in zip(at, curve, strict=True) if share > 0.8)
    climbs.append((last_below, first_above))
assert all(250 <= start and end <= 450 and end - start <= 150 for start, end in climbs)
losses_of_one, losses_of_two = of_layers(LOSSES, 1), of_layers(LOSSES, 2)
assert (losses_of_two[:, 0] - 3.44).abs().max() < 0.05
assert 2.5 < losses_of_two[:, 4].min() and losses_of_two[:, 4].max() < 2.75
assert 2.1 < losses_of_one[:, 2:].min() and losses_of_one[:, 2:].max() < 2.8
assert 2.1 < losses_of_one[:, -1].min() and losses_of_one[:, -1].max() < 2.45
print("in all six accuracy goes from below 0.4 to above 0.8 within 150 steps, between 250 and 450")

# %% tags=["hide-input"]
RATES = """\
layers  rate  steps  seed  largest share  last share  last loss
     2 0.001    800     0           0.99        0.99       0.05
     2 0.001    800     1           0.99        0.99       0.07
     2 0.001    800     2           0.99        0.99       0.06
     2 0.010    800     0           0.42        0.42       1.92
     2 0.010    800     1           0.43        0.43       1.88
     2 0.010    800     2           0.45        0.45       1.83
     1 0.001    800     0           0.37        0.25       2.19
     1 0.001    800     1           0.36        0.22       2.21
     1 0.001    800     2           0.31        0.23       2.24
     1 0.010    800     0           0.35        0.23       2.29
     1 0.010    800     1           0.32        0.25       2.28
     1 0.010    800     2           0.32        0.26       2.13
     1 0.003   2400     0           0.35        0.15       2.29
     1 0.003   2400     1           0.32        0.24       2.12
     1 0.003   2400     2           0.35        0.18       2.20
"""
last = {}  # layers, rate, steps -> accuracy at the end, one for each seed
for line in RATES.splitlines()[1:]:
    layers, rate, steps, _, _, share, _ = line.split()
    last.setdefault((int(layers), float(rate), int(steps)), []).append(float(share))
assert all(len(shares) == 3 for shares in last.values())
assert max(max(shares) for (layers, *_), shares in last.items() if layers == 1) < 0.27
assert min(last[2, 0.001, 800]) > 0.98 and max(last[2, 0.01, 800]) < 0.455
print("accuracy at the end, three seeds each")
print("layers   rate  steps")
for (layers, rate, steps), shares in last.items():
    print(f"{layers:6d}{rate:7.3f}{steps:7d}  ", *[f"{share:.2f}" for share in shares])

# %% [markdown]
# By step 250 the loss of two layers is near that of guessing within the block. Then all six climb from an accuracy
# below 0.4 to above 0.8 within 150 steps. The single layer learns little more than which tokens a block holds. Its
# accuracy climbs to 0.3 or 0.4 and falls back, a bump that the loss does not show. At other rates and with longer
# training it ends no higher than 0.26, as the table shows.
#
# <!-- slide: In large models, parts of this have been found again -->
#
# - *The jump.* Olsson et al. (2022) find that induction heads form at the same time as language models suddenly gain
#   more from a long context. They call their evidence that the heads cause this gain strong for small models without
#   feed-forward networks, and correlational for larger ones.
# - *Many heads.* Singh et al. (2024) find several induction heads that add up, each fed by several previous-token
#   heads. In GPT-2 small, Wang et al. (2023) name 5.5 and 6.9 among the induction heads, and for another kind of head,
#   the name movers, backups that take over when these are switched off; six of the eight backups sit in layers 10 and
#   11, and two of the three name movers in layer 9.
# - *Ablation.* Crosbie and Shutova (2024) ablate a few induction heads of Llama-3-8B and InternLM2-20B, and accuracy in
#   abstract pattern tasks falls by up to about 32 %, close to guessing. Whether zeros or means replace a single head
#   changes the model's accuracy by at most 0.08 in our six models.
# - *Patching.* Meng et al. (2022) used it to find where a model stores facts, with noise on the embeddings as the
#   corruption.
#
# **Attention sinks.** A softmax must put its weight somewhere, even when a head finds nothing worth attending to.
# Xiao et al. (2023) found that language models put it on the first tokens, whatever these are, and that a model
# breaks when a sliding window drops them.
#
# A head of layer 1 in each of our six models looks like one. The table has its weight on position 0, averaged over
# queries 1 to 11 of the first copy, where uniform weights would have 0.19. Without this head the loss on our test
# sequences even falls. In seed 0 it is head 1.2, about which the tools of section 6 disagree, and there it is no sink.
# Training also counts the last position of the first copy, whose answer is the token at position 0, and this head
# copies it. On the second copy, which is all that we test, it can only disturb. A map alone cannot tell a sink from a
# head that copies.

# %% tags=["hide-input"]
SINKS = """\
seed  head  weight  all on  without
   0   1.2     0.92   0.087     0.049
   1   1.0     0.88   0.098     0.049
   2   1.2     0.90   0.057     0.020
   3   1.2     0.52   0.112     0.094
   4   1.1     0.91   0.065     0.035
   5   1.0     0.64   0.116     0.082
"""
sinks = [line.split() for line in SINKS.splitlines()[1:]]
assert all(float(off) < float(on) and float(weight) > 0.5 for *_, weight, on, off in sinks)
print(SINKS.rstrip())

# %% tags=["hide-input", "nbval-ignore-output"]
at_the_end = [
    logits[:, PERIOD - 1] for logits in (model(ids), inside.ablate_heads(model, ids, [(1, 2)]))
]
whole, without_it = [(one.argmax(dim=-1) == ids[:, 0]).float().mean().item() for one in at_the_end]
assert SEED != 0 or (whole > 0.35 and without_it < 0.2)
print(
    f"the token at position 0 is predicted at the end of the first copy: {whole:.2f}, without head 1.2: {without_it:.2f}"
)

# %% [markdown]
# **Superposition.** Our stream has 64 dimensions. Before layer 1 the probes of section 5 read two things from the same
# vectors of the first copy, which of 64 tokens this is and which of 64 came before. These 128 directions cannot all be
# orthogonal. That a model stores more features than it has dimensions, at the price of some interference, is called
# superposition (Elhage et al., 2022).
#
# Single coordinates of the stream need not mean anything in any case. Nothing in the *architecture* singles out its
# axes, once γ is absorbed into the next map: rotate the stream, and all maps that read or write it, and nothing
# changes. Training can: Adam scales each coordinate separately, and real streams do show special axes (Elhage et al.,
# 2023). Superposition adds that no rotation could give every feature an axis of its own. It is the leading explanation
# of why single *neurons* respond to several things.
#
# **Sparse autoencoders** try to undo it. They write a vector of the stream as a sum of few directions out of many
# thousands, which often have a meaning that people can name (Cunningham et al., 2023; Bricken et al., 2023).
# *Transcoders* (Dunefsky et al., 2024) replace whole feed-forward networks in this way, so that circuits can be
# followed from feature to feature. What such a feature shows, and whether the model uses it, are the two questions of
# this lecture again.

# %% [markdown]
# ## Further reading
#
# - Nelson Elhage and others (2021). *[A Mathematical Framework for Transformer
#   Circuits.](https://transformer-circuits.pub/2021/framework/index.html)* The residual stream, QK and OV circuits,
#   composition, and the first induction heads.
# - Clayton Sanford, Daniel Hsu, Matus Telgarsky (2024). *[One-layer Transformers Fail to Solve the Induction Heads
#   Task.](https://arxiv.org/abs/2408.14332)* arXiv:2408.14332. Why a single layer would have to be so much larger.
# - Catherine Olsson and others (2022). *[In-context Learning and Induction Heads.](https://arxiv.org/abs/2209.11895)*
#   arXiv:2209.11895. The jump in training; the appendix has the score.
# - Aaditya Singh, Ted Moskovitz, Felix Hill, Stephanie Chan, Andrew Saxe (2024). *[What Needs to Go Right for an
#   Induction Head?](https://arxiv.org/abs/2404.07129)* ICML. How the parts of the circuit form.
# - Joy Crosbie, Ekaterina Shutova (2024). *[Induction Heads as an Essential Mechanism for Pattern Matching in
#   In-context Learning.](https://arxiv.org/abs/2407.07011)* arXiv:2407.07011.
# - Kevin Wang, Alexandre Variengien, Arthur Conmy, Buck Shlegeris, Jacob Steinhardt (2023). *[Interpretability in the
#   Wild.](https://arxiv.org/abs/2211.00593)* ICLR. Mean ablation in section 2.1, and backup heads.
# - Kevin Meng, David Bau, Alex Andonian, Yonatan Belinkov (2022). *[Locating and Editing Factual Associations in
#   GPT.](https://arxiv.org/abs/2202.05262)* NeurIPS. Section 2.1: causal tracing.
# - Stefan Heimersheim, Neel Nanda (2024). *[How to Use and Interpret Activation
#   Patching.](https://arxiv.org/abs/2404.15255)* arXiv:2404.15255. Which metric, and what each direction proves.
# - nostalgebraist (2020). *[Interpreting GPT: The Logit
#   Lens.](https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens)*
# - Nora Belrose and others (2023). *[Eliciting Latent Predictions from Transformers with the Tuned
#   Lens.](https://arxiv.org/abs/2303.08112)* arXiv:2303.08112.
# - Sarthak Jain, Byron Wallace (2019). *[Attention is not Explanation.](https://arxiv.org/abs/1902.10186)* NAACL.
# - Sarah Wiegreffe, Yuval Pinter (2019). *[Attention is not not Explanation.](https://arxiv.org/abs/1908.04626)* EMNLP.
# - Guangxuan Xiao and others (2023). *[Efficient Streaming Language Models with Attention
#   Sinks.](https://arxiv.org/abs/2309.17453)* arXiv:2309.17453.
# - Nelson Elhage and others (2022). *[Toy Models of
#   Superposition.](https://transformer-circuits.pub/2022/toy_model/index.html)* When it pays to store more features
#   than there are dimensions.
# - Nelson Elhage, Robert Lasenby, Christopher Olah (2023). *[Privileged Bases in the Transformer Residual
#   Stream.](https://transformer-circuits.pub/2023/privileged-basis/index.html)* They trace the
#   special axes, provisionally, to Adam.
# - Hoagy Cunningham, Aidan Ewart, Logan Riggs, Robert Huben, Lee Sharkey (2023). *[Sparse Autoencoders Find Highly
#   Interpretable Features in Language Models.](https://arxiv.org/abs/2309.08600)* arXiv:2309.08600.
# - Trenton Bricken and others (2023). *[Towards
#   Monosemanticity.](https://transformer-circuits.pub/2023/monosemantic-features/index.html)* Sparse autoencoders, with
#   every feature to look at.
# - Jacob Dunefsky, Philippe Chlenski, Neel Nanda (2024). *[Transcoders Find Interpretable LLM Feature
#   Circuits.](https://arxiv.org/abs/2406.11944)* arXiv:2406.11944.
