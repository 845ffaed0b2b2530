# ---
# jupyter:
#   course:
#     assignment: a13_looking_inside
#     deeper: 6
#     minutes: 57
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
# A trained model is a pile of numbers that nobody wrote. How could we find out what they do? In this lecture you look
# into a model that is so small, and has such a plain task, that we can say beforehand which solution we expect. Then
# you try the tools that are used on large models, from attention maps to activation patching. One tool will miss the
# solution in models that solve the task nearly as well as the others do. So each tool comes with two questions. What
# can it show, and what can it not?
#
# **Afterwards you will be able to**
#
# - say what one layer of attention cannot do, and how two heads in two layers do it;
# - compute the induction score of a head, with the right offset, and say what it misses;
# - switch heads off, and say what the damage proves and what a lack of damage does not;
# - put one vector of one run into another, and so find the place that an answer comes from;
# - read a model layer by layer, and say why a reading may miss what is there.
#
# **Time** about 57 minutes with views and questions, and 6 for going deeper.
# **Needs** lectures [5](05_multi_head_attention.ipynb), [9](09_one_half_alone.ipynb) and
# [11](11_block_of_today.ipynb).

# %%
import copy

import torch
import torch.nn.functional as F

from course_utils import inside
from course_utils.attention import split_heads
from course_utils.inside import ablate_heads, logit_lens, patch_activation, streams
from course_utils.masks import causal_mask
from course_utils.modern import attention_maps
from lecture_kit import live, plotting, questions
from lecture_kit.experiments.repeated_tokens import (
    D_MODEL,
    HEADS,
    VOCABULARY,
    distinct,
    new_model,
    repeated,
    train,
)
from lecture_kit.trained import copiers

plotting.use_course_style()
torch.set_num_threads(1)  # models this small gain little from two, and lose much on a busy machine

# %% [markdown]
# ## 1. Words that come again
#
# Take a block of random words and write it again and again. In the first copy nobody can know what comes next. From the
# first word of the second copy on, anyone who remembers the block can, because the next word is the one that followed
# the same word before. (If a word comes twice within a block, the words before it decide.) Our words are the numbers
# from 0 to 63, and the blocks are 6 to 16 words long.

# %%
rows, periods = repeated(3, 24, (6, 16), torch.Generator().manual_seed(56))  # (B, T) and (B,)
for row, period in zip(rows.tolist(), periods.tolist(), strict=True):
    print(f"block of {period:2d}:", *[f"{word:2d}" for word in row])

# %% [markdown]
# The loss counts the places from the last word of the first copy on. (What follows this word is hardly more than a
# guess, since blocks differ in length.) For tests we take 200 rows in which a block of 12 *different* words comes
# twice. After each word of the second copy there is one right answer, the word that followed it in the first. If you
# guess among the 12 words of the block, you are right once in 12 times, which is 0.08.

# %%
PERIOD = 12
ids = distinct(200, 2 * PERIOD, PERIOD, torch.Generator().manual_seed(99))  # (B, T)
followed = ids[:, 1 : PERIOD + 1]  # (B, PERIOD): what followed each word of the block


def share_right(logits):
    """Share of the words of the second copy after which the right word is said: logits (B, T, V)."""
    said = logits[:, PERIOD:].argmax(dim=-1)  # (B, PERIOD)
    return (said == followed).float().mean().item()


# %% [markdown]
# ## 2. One layer and two
#
# Suppose that the current word is A, and that A was followed by B before. A head should look at B, so that it can say
# B. Can a head of a single layer do that? The score of a query and a key depends on what is at these two places and on
# their distance. At the place of B there is the word B, and nothing tells that the word before it was A. So the head
# can find the earlier A, which only tells it the word that it has already. The distance is no help either, because the
# blocks have different lengths. Many heads and a wide feed-forward network might do together what one head cannot. But
# Sanford et al. (2024) prove that a single layer must then be exponentially larger than two layers need to be.
#
# With two layers there is a way, which Elhage et al. (2021) found in trained models. In layer 0 a **previous-token
# head** looks one word back from every place, and so adds to the vector of B a note that A came before. In layer 1 an
# **induction head** asks which word came after A, finds the note, and copies B. (We count layers and heads from 0, as
# the code does, so head 0.2 is head 2 of layer 0.)
#
# ![Four columns of boxes for the words A, B, C and, after some others, A again. From the words, arrows go up to the
# vectors before layer 1. In layer 0 an arrow marked "one word back" leads from A to the column of B, whose vector then
# holds "B, after A", and one from B to the column of C, which holds "C, after B". In layer 1 the second A asks with the
# query "after A?", which matches the key "after A" in the column of B. The value B is copied from there to the second
# A, whose vector after layer 1 holds "A, next B". Above it is the word that is said, B.](../figures/induction_circuit.svg)
#
# *A circuit of two heads. The head of layer 1 can find B only because a head of layer 0 has left a note there.*
#
# We train a model of each kind, with the block of lecture 11, 64 features and four heads in each layer. So that the
# comparison is fair, the single layer has a wider feed-forward network, and both models have 86 336 weights. Both are
# trained for 800 steps, each on 32 new rows of 32 words.

# %%
SEED = 0  # try others
STEPS, EVERY = 800, 50


def learn(layers, seed):
    """A trained model, and its share of right words after 50, 100, … steps."""
    model, curve = new_model(seed, layers), []

    def after(step):
        if step % EVERY == 0:
            with torch.no_grad():
                curve.append(share_right(model(ids)))

    train(model, STEPS, seed, after_step=after)
    return model.eval().requires_grad_(False), curve


# %% tags=["nbval-ignore-output"] seconds=35
single, curve_of_one = learn(1, SEED)
model, curve_of_two = learn(2, SEED)
for name, one, curve in [("one layer ", single, curve_of_one), ("two layers", model, curve_of_two)]:
    weights = sum(part.numel() for part in one.parameters())
    print(f"{name} {weights} weights, share right {curve[-1]:.2f}")

# %% tags=["hide-input"]
assert max(curve_of_one) < 0.6 and curve_of_two[-1] > 0.85
print("one layer stays below 0.6, and two layers end above 0.85")

# %% [markdown]
# One pair of models is little, so here are six. Their numbers, and those of later sections that speak of six models,
# are **recorded**, and `sources/recorded/looking_inside.py` prints them in about four minutes. The thick lines are
# the two models above, which with `SEED = 0` are trained as the first of the six.

# %% tags=["hide-input", "nbval-ignore-output"]
CURVES = """\
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
learned = {1: [], 2: []}  # layers -> curves (seeds, points)
for line in CURVES.splitlines()[1:]:
    _, layers, *shares = line.split()
    learned[int(layers)].append([float(share) for share in shares])
learned = {layers: torch.tensor(curves) for layers, curves in learned.items()}
at = list(range(EVERY, STEPS + 1, EVERY))

figure, ax = plotting.panels(1, height=4.6)
for layers, curve, name in ((2, curve_of_two, "two layers"), (1, curve_of_one, "one layer")):
    colour, style = (plotting.SERIES[0], "-") if layers == 2 else (plotting.SERIES[1], "--")
    for shares in learned[layers]:
        ax.plot(at, shares, style, marker="", color=colour, linewidth=1.2, alpha=0.7)
    ax.plot(at, curve, style, marker="", color=colour, linewidth=3.5, label=name)
ax.axhline(1 / PERIOD, color=plotting.MUTED, linewidth=1, linestyle=":")
ax.text(
    STEPS,
    1 / PERIOD - 0.02,
    "guessing within the block",
    ha="right",
    va="top",
    color=plotting.MUTED,
)
ax.set(xlabel="steps", ylabel="share of right words", ylim=(0, 1.02), xlim=(0, STEPS + 10))
plotting.label_ends(ax)
plotting.picture(
    figure,
    caption="Two layers climb late and steeply, each model at a time of its own. One layer rises early and stays low.",
    alt="Share of right words against steps, a thin curve for each recorded model of one layer and of two, and thick "
    "ones for the two models above. Medians of the six recorded ones after 100, 300, 500 and 800 steps: "
    + "; ".join(
        f"{name} "
        + ", ".join(
            f"{learned[layers][:, step // EVERY - 1].median():.2f}" for step in (100, 300, 500, 800)
        )
        for layers, name in ((1, "one layer"), (2, "two layers"))
    )
    + ".",
)

# %% tags=["hide-input"]
ends, climbs = learned[2][:, -1], []
assert learned[1].max() < 0.5 and (learned[1][:, -1] > 0.12).all() and (ends > 0.9).all()
for curve in learned[2]:
    last_below = max(step for step, share in zip(at, curve, strict=True) if share < 0.4)
    first_above = min(step for step, share in zip(at, curve, strict=True) if share > 0.8)
    climbs.append((last_below, first_above))
assert all(250 <= start and end <= 450 and end - start <= 150 for start, end in climbs)
starts, slow = (learned[2][:, step // EVERY - 1] for step in (50, 250))
assert 0.08 <= starts.min() and starts.max() < 0.1 and 0.19 <= slow.min() and slow.max() <= 0.25
print("in all six the share goes from below 0.4 to above 0.8 within 150 steps, between 250 and 450")

# %% [markdown]
# The single layer is better than guessing, so it has learned something about the block, but it falls back from about
# 0.3 after 100 steps to about 0.2. With two layers the share creeps from 0.09 after 50 steps to between 0.19 and 0.25
# after 250. Then, in each of the six models, it climbs from below 0.4 to above 0.8 within 150 steps. Olsson et al.
# (2022) saw a jump of this kind in the training of language models, at the time when induction heads form.
#
# ## 3. Where the heads look
#
# The first tool is the one that you know. Here are the attention weights of all eight heads on one test row.

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
    ax.set_xticks([0, PERIOD]), ax.set_yticks([0, PERIOD])
    ax.axhline(PERIOD - 0.5, color=plotting.MUTED, linewidth=0.8, linestyle=":")
    ax.axvline(PERIOD - 0.5, color=plotting.MUTED, linewidth=0.8, linestyle=":")
plotting.picture(
    figure,
    caption="Layer 0 looks at near words, and most of layer 1 along a second diagonal, into the first copy.",
    alt="Attention maps of 24 words, four heads of layer 0 above and four of layer 1 below. In layer 0 the weights are "
    "near the diagonal. In most heads of layer 1, the queries of the second copy, in the lower half, have their "
    "weights along a line in the lower left quarter, parallel to the diagonal.",
)

# %% [markdown]
# The heads of layer 0 look at the word itself or a few words back. In layer 1 there is a second diagonal, from the
# second copy into the first. Does it pass through the word that came *next*? To find out for many rows, we turn the
# pattern into a number. The **induction score** (Olsson et al., 2022, who call it *prefix matching*) is the weight that
# a query puts on the words after earlier copies of its word, on average over all queries that have an earlier copy:
#
# $$\text{score} = \frac{1}{T - \text{period}} \sum_{i = \text{period}}^{T - 1} \; \sum_{m \geq 1}
# \alpha_{i,\; i - m \cdot \text{period} + 1}$$
#
# Here there are $T$ words, at places 0 to $T - 1$. The weight of key $j$ for query $i$ is $\alpha_{ij}$, and $m$ counts
# the copies backwards as long as there are any.


# %%
def induction_score(weights, period):
    """Weight on the words after earlier copies of the query's word: (B, H, T, T) -> (H,)."""
    T = weights.shape[-1]
    total = torch.zeros(weights.shape[1])
    for i in range(period, T):
        for key in range(i - period + 1, 0, -period):
            total += weights[:, :, i, key].mean(dim=0)
    return total / (T - period)


uniform = torch.full((1, 1, 5, 5), 0.2)
print(f"uniform weights, 5 words, period 2: {induction_score(uniform, 2).item():.4f}")
print(f"by hand: 0.2 · (1 + 1 + 2) / 3 =    {0.2 * (1 + 1 + 2) / 3:.4f}")

# %% tags=["hide-input"]
assert abs(induction_score(uniform, 2).item() - 4 / 15) < 1e-6
some = torch.rand(2, 3, 11, 11)
assert torch.allclose(induction_score(some, 4), inside.induction_score(some, 4), atol=1e-6)
print("4/15 by hand, and the same as course_utils.inside")

# %% [markdown]
# > **A sentence that is easy to misread.** The appendix of Olsson et al. speaks of attention from a token back to the
# > tokens that "preceded the same token in earlier repeats". What an induction head needs is the token that *followed*
# > it. So the key is $i - \text{period} + 1$. With $i - \text{period}$ you would measure heads that look at the same
# > word, and with $i - \text{period} - 1$ those that look at the word before it.

# %% tags=["hide-input"]
questions.ask("12", "which-key")

# %% tags=["nbval-ignore-output"]
scores = torch.stack([induction_score(weights, PERIOD) for weights in maps])  # (L, H)
for layer in range(2):
    print(f"layer {layer}:", *[f"{score:.2f}" for score in scores[layer]])

# %% tags=["hide-input"]
questions.ask("12", "no-head-with-a-score")

# %% [markdown]
# Here is the best score in layer 1 for each of the six recorded models.

# %% tags=["hide-input"]
HEADS_OF_SIX = """\
seed  right   score  no layer 1  one away  needed  its score  back  weight  without
   0  0.979   0.934       0.013     0.846     0.0      0.000     1    0.73    0.459
   1  0.975   0.931       0.015     0.874     0.1      0.002     0    0.85    0.486
   2  0.990   0.924       0.020     0.919     0.2      0.000     1    0.91    0.116
   3  0.970   0.066       0.009     0.945     0.0      0.000     3    0.87    0.120
   4  0.985   0.947       0.019     0.910     0.3      0.000     1    0.90    0.220
   5  0.973   0.099       0.021     0.910     0.0      0.000     1    0.75    0.369
"""
found = {}  # column -> six values
for line in HEADS_OF_SIX.splitlines()[1:]:
    columns = [
        "right",
        "score",
        "no_layer",
        "one_away",
        "needed",
        "its_score",
        "back",
        "weight",
        "without",
    ]
    for column, value in zip(columns, line.split()[1:], strict=True):
        found.setdefault(column, []).append(value if column == "needed" else float(value))
print("seed  right  best score in layer 1")
for seed, (right, score) in enumerate(zip(found["right"], found["score"], strict=True)):
    print(f"{seed:4d}{right:7.2f}{score:8.2f}")
assert min(found["right"]) > 0.9
missed = [score < 0.15 for score in found["score"]]
assert sum(missed) == 2 and all(
    score > 0.9 or away for score, away in zip(found["score"], missed, strict=True)
)

# %% [markdown]
# Four of the models have induction heads with scores above 0.9. In the other two no head of layer 1 has more than 0.1,
# and yet they are right nearly as often (0.97, and the others 0.97 to 0.99). If we had trained only such a model and
# trusted the score, we would have concluded that it has no induction circuit. But *something* in it does the work. We
# need a tool that does not assume the answer.

# %% [markdown]
# ## 4. Switch a head off
#
# A score says where a head looks. It does not say whether the model needs this head. So we take the head away and see
# what fails, which is called **ablation**. What a head has gathered reaches the stream only through its part of $W_o$,
# so it is enough to put zeros into that part. **Zero ablation** does just that.

# %%
d_k = D_MODEL // HEADS
damaged = copy.deepcopy(model)
damaged.layers[0].w_o.weight[:, 1 * d_k : 2 * d_k] = 0.0  # what comes from head 0.1
same = torch.allclose(damaged(ids), ablate_heads(model, ids, [(0, 1)]), atol=1e-4)
print("zeros in w_o equal ablate_heads:", same)
assert same

# %% [markdown]
# Zeros may be something that later layers never saw in training. In **mean ablation** (Wang et al., 2023) the head's
# output is replaced by its average over other texts instead. They average place by place, and we average over all
# places as well, so what is lost is what is particular to this row and place.


# %%
def mean_outputs(model, token_ids):
    """What each head says on average over rows and places: (L, H, d_k)."""
    mask = causal_mask(token_ids.shape[1])
    before = streams(model, token_ids)  # L + 1 of (B, T, D)
    outputs = [
        layer.attend(layer.norm1(x), mask)[0]  # (B, H, T, d_k)
        for layer, x in zip(model.layers, before[:-1], strict=True)
    ]
    return torch.stack([output.mean(dim=(0, 2)) for output in outputs])


means = mean_outputs(model, distinct(200, 2 * PERIOD, PERIOD, torch.Generator().manual_seed(98)))


def right_without(heads, means=None):
    """Share of right words with these heads switched off."""
    return share_right(ablate_heads(model, ids, heads, means))


# %% tags=["nbval-ignore-output"]
everything = share_right(model(ids))
print(f"nothing off      {everything:.2f}\n                 zeros  means")
switched = [[(layer, head)] for layer in range(2) for head in range(HEADS)]
switched += [[(layer, head) for head in range(HEADS)] for layer in range(2)]
without = [(right_without(heads), right_without(heads, means)) for heads in switched]
for heads, (zeros, by_means) in zip(switched, without, strict=True):
    name = (
        f"head {heads[0][0]}.{heads[0][1]}" if len(heads) == 1 else f"heads of layer {heads[0][0]}"
    )
    print(f"{name:<17}{zeros:4.2f}   {by_means:4.2f}")

# %% tags=["hide-input", "nbval-ignore-output"]
lost = torch.tensor([everything - zeros for zeros, _ in without[: 2 * HEADS]]).view(2, HEADS)
figure, ax = plotting.panels(1, height=4.6)
for layer, marker in ((0, "s"), (1, "o")):
    colour = plotting.SERIES[1 - layer]
    ax.plot(
        scores[layer],
        lost[layer],
        marker,
        color=colour,
        markersize=11,
        label=f"head of layer {layer}",
    )
    for head in range(HEADS):
        ax.annotate(
            f"{layer}.{head}",
            (scores[layer, head], lost[layer, head]),
            xytext=(0, 11) if layer else (11, -5),
            textcoords="offset points",
            ha="center" if layer else "left",
            color=colour,
        )
ax.set(xlabel="induction score", ylabel="share lost without it", xlim=(-0.06, 1.06))
ax.set_ylim(-0.05, max(0.5, lost.max().item() + 0.12))
ax.legend(loc="upper right")
plotting.picture(
    figure,
    caption="How much a head is missed is one thing, and its induction score is another.",
    alt="A dot for each head, the induction score to the right and the share of right words that is lost without it "
    "upwards. "
    + " ".join(
        f"Head {layer}.{head}: score {scores[layer, head]:.2f}, lost {lost[layer, head].item():z.2f}."
        for layer in range(2)
        for head in range(HEADS)
    ),
)

# %% tags=["hide-input"]
questions.ask("12", "nobody-is-missed")

# %% tags=["hide-input"]
assert right_without([(1, head) for head in range(HEADS)]) < 0.1
assert all(right_without([(1, head)]) > 0.7 for head in range(HEADS))
assert max(found["no_layer"]) < 0.03 and min(found["one_away"]) > 0.8
assert all(pair.startswith("0.") for pair in found["needed"]) and max(found["its_score"]) < 0.01
assert all(
    without < one_away
    for without, one_away in zip(found["without"], found["one_away"], strict=True)
)
assert sum(float(back) > 0 for back in found["back"]) == 5
ABLATIONS = """\
seed  single  heads            zeros  means
   0   0.049  0.1+0.2          0.749  0.680
   1   0.073  0.0+0.1          0.615  0.474
   2   0.026  0.0+0.1+0.3      0.057  0.297
   3   0.017  0.0+0.2          0.095  0.065
   4   0.012  0.0+0.1+0.2      0.276  0.908
   5   0.021  0.1+0.3          0.864  0.822
"""
gaps = {}  # seed -> (largest gap of single heads, the set with the largest gap, zeros, means)
for line in ABLATIONS.splitlines()[1:]:
    seed, single_gap, heads, zeros, by_means = line.split()
    gaps[int(seed)] = float(single_gap), heads, float(zeros), float(by_means)
assert max(gap for gap, *_ in gaps.values()) < 0.08
assert gaps[4][1:] == ("0.0+0.1+0.2", 0.276, 0.908)
dearer = [zeros - by_means for *_, zeros, by_means in gaps.values() if zeros > by_means]
assert len(dearer) == 4 and 0.029 < min(dearer) and max(dearer) < 0.142
print(
    "layer 1 needs its heads, but none of them alone; in all six the costliest head is in layer 0"
)

# %% [markdown]
# What do we learn from this? The three statements below hold in all six recorded models. Compare them with the table
# of this one.
#
# - **Layer 1 is needed.** Without its heads (zeros) at most 0.03 of the words are right.
# - **No single head of layer 1 is indispensable.** Whichever you take, more than 0.8 stay right. The heads stand in for
#   each other. So a head that is not missed may still do the work.
# - **The head that is missed most is in layer 0,** and its induction score is zero. Without it the share is between
#   0.12 and 0.49 in the six models. A score that asks for one pattern cannot find what comes before that pattern.
#
# Ablation does not say *why* a head is missed. You may guess that the costliest head is the one that looks back, and in
# five of the six models it is. In the remaining one, seed 1, it looks mostly at the word itself, and we would need
# other tools to say what for.
#
# Zeros and means can also disagree. For single heads they agree within 0.08 in all six models. For sets of heads they
# need not. Each layer has 15 sets of one to four heads, and for each model we recorded the one of these 30 sets for
# which zeros and means differ most. In four of the models the means cost more there, by 0.03 to 0.14. But in one of the
# others the share falls to 0.28 with zeros and stays at 0.91 with means, when three heads of layer 0 are off. So what
# these three say about the particular row and place is hardly needed, and the zeros mostly show the harm that zeros do.

# %% [markdown]
# ## 5. Put one vector back
#
# Ablation takes something away and sees what fails. We can also go the other way round. First we break the *input*, so
# that the model can no longer know the answer. Then we mend a single vector inside the model, and see whether the
# answer comes back. This is **activation patching**. Meng et al. (2022) used it to find where a model keeps facts, and
# called it *causal tracing*. In the words of Heimersheim and Nanda (2024) we *denoise*, because the vector comes from
# the clean run and goes into the corrupted one.
#
# We try this with one place in all 200 test rows, and replace the A at place 5 of the first copy. The A of the second
# copy, at place 17, asks as before, but now its earlier copy is gone. How much of the answer does a patched run bring
# back? We compare the logarithm of the probability that it gives to the answer B, on average over rows, in three runs:
#
# $$\text{share} = \frac{\log p_\text{patched} - \log p_\text{corrupted}}{\log p_\text{clean} - \log p_\text{corrupted}}$$
#
# It is 0 if the patch does nothing, and 1 if it mends everything. (It can lie a little above 1, if the patched run is
# even surer than the clean one.)

# %%
PLACE = 5
corrupted_ids = ids.clone()
corrupted_ids[:, PLACE] = (ids[:, PLACE] + 1) % VOCABULARY
query, answer = PLACE + PERIOD, ids[:, PLACE + 1]


def log_p(logits):
    """Mean log-probability of the answer at the place that asks: logits (B, T, V)."""
    return -F.cross_entropy(logits[:, query], answer).item()


# %% tags=["nbval-ignore-output"] seconds=5
clean, corrupted = log_p(model(ids)), log_p(model(corrupted_ids))
print(f"log p of the answer: clean {clean:.2f}, corrupted {corrupted:.2f}".replace("-", "−"))
shares = torch.tensor(
    [
        [log_p(patch_activation(model, ids, corrupted_ids, layer, at)) for at in range(2 * PERIOD)]
        for layer in range(2)
    ]
)  # (L, T)
shares = (shares - corrupted) / (clean - corrupted)
for layer in range(2):
    best = shares[layer].argmax().item()
    print(f"before layer {layer}, place {best} brings back {shares[layer, best]:.2f}")

# %% tags=["hide-input", "nbval-ignore-output"]
looked = maps[1, :, :, query].mean(dim=0)  # (H, T): where layer 1 looks from the place that asks
figure = plotting.attention_maps(
    [shares.round(decimals=2), looked],
    [
        "share of the answer that a patched vector brings back",
        f"weights of layer 1 from place {query}",
    ],
    queries=[["before layer 0", "before layer 1"], [f"head 1.{head}" for head in range(HEADS)]],
    columns=1,
    limit=1.0,
    size=(9, 5.2),
    numbers=False,
    colour_label="share, or weight",
    query_label="",
    key_label="place",
)
for layer in range(2):
    plotting.outline_cell(figure.axes[0], layer, shares[layer].argmax().item())
plotting.picture(
    figure,
    caption="Before layer 1, the vector that brings the answer back is where the heads of layer 1 look.",
    alt="Two maps over the 24 places. Above, the share that is brought back: before layer 0 only by "
    f"place {PLACE}, {shares[0, PLACE]:.2f}, before layer 1 by place {shares[1].argmax().item()}, "
    f"{shares[1].max():.2f}, and elsewhere by at most "
    f"{shares[1].sort().values[-2]:.2f}. Below, the weights of the four heads of layer 1, which are largest at place "
    f"{looked.sum(dim=0).argmax().item()}.",
)

# %% tags=["hide-input"]
place = shares[1].argmax().item()
assert looked[:, 1:].sum(dim=0).argmax().item() + 1 == place
assert shares[0].argmax().item() == PLACE and (shares.max(dim=1).values > 0.9).all()
for row, best in ((shares[0], PLACE), (shares[1], place)):
    assert all(share < 0.2 for at, share in enumerate(row.tolist()) if at != best)
print("one place in each layer brings back more than 0.9, every other place less than 0.2")

# %% [markdown]
# Before layer 0 nothing has been mixed yet, so only the replaced word itself can bring the answer back. Before layer 1
# a single other place does. Nobody told the method where to look, and it finds the place where the heads of layer 1
# look. So here the weights and the patch agree, and the patch adds what the weights alone could not say. This vector is
# *enough*.
#
# Now back to the two models whose circuit the score missed. The map shows, for each recorded model, how many places
# after the first copy layer 1 looks. The frame marks the place that patching finds.

# %% tags=["hide-input"]
PLACES = """\
seed    -1    -2    -3    +0    +1    +2    +3    +4  place  share  elsewhere
   0  0.73  0.28  0.12  0.12  0.93  0.05  0.02  0.02     +1   1.00       0.12
   1  0.62  0.30  0.15  0.10  0.93  0.08  0.02  0.01     +1   1.00       0.11
   2  0.91  0.09  0.10  0.09  0.92  0.02  0.02  0.01     +1   1.00       0.01
   3  0.12  0.60  0.87  0.06  0.07  0.05  0.89  0.03     +3   1.00       0.01
   4  0.90  0.38  0.15  0.09  0.95  0.02  0.01  0.01     +1   1.00       0.03
   5  0.75  0.60  0.26  0.10  0.10  0.93  0.08  0.02     +2   1.01       0.11
"""
lines = [[float(value) for value in line.split()[1:]] for line in PLACES.splitlines()[1:]]
back, after, patched = (
    torch.tensor([line[a:b] for line in lines]) for a, b in ((0, 3), (3, 8), (8, 11))
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
    key_label="places after the first copy of the word",
)
for seed, offset in enumerate(patched[:, 0].int().tolist()):
    plotting.outline_cell(ax, seed, offset)
plotting.picture(
    figure,
    caption="Patching (frames) finds where layer 1 looks in all six models. The score asks for +1 alone.",
    alt="Six models as rows, and how many places after the first copy of a word layer 1 looks as columns, from 0 to 4. "
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
assert back[3, 2] > 0.8 and back[3, 1] > 0.5 and back[5, 0] > 0.7 and back[5, 1] > 0.55
print("the frame is where layer 1 looks most, in all six")

# %% [markdown]
# In the models of seeds 3 and 5, layer 1 does not look at the next word after the earlier copy, but three and two
# places after that copy. How can it say the right word? It can, because layer 0 looks further back, too. In the model
# of seed 3 one head of layer 0 looks three words back (weight 0.87) and another one two words back (0.60). So the
# vector three places after A can hold a note about A *and* a note about B, of which layer 1 finds the one and copies
# the other. In the model of seed 5 layer 0 looks two words back (0.60) and one (0.75), so both notes can be two places
# after A. It is the same idea as in section 2 with other distances, and nearly as good for the task. The score was made
# for one of the distances, whereas patching assumes none.
#
# Try it yourself, on one row of 12 words that come twice. Two trained models run in the view, which calls them model A
# and model B. (They have nothing to do with the words A and B.) The first has a seed of its own and an induction head.
# The second has seed 3 and no induction head. Which seed takes which way depends on the machine, so `SEED = 3` may give
# you another model.
#
# 1. In model A, choose each head of layer 1 in turn, and see where its lines go. Switch one off and count the right
#    words. Then switch off all of its heads, under *more to switch*.
# 2. Which single head costs the most words, in model A and in model B? In which layer is it?
# 3. In model B, where do the heads of layer 1 look? Change to *put one vector back* and press *try every place*. Is it
#    the same place?

# %% tags=["hide-input"]
live.inside_view()

# %% [markdown]
# <details><summary>What you should see</summary>
#
# 1. All four heads of layer 1 look at the word after the first copy, three of them with most of their weight.
#    Without any one of them at least ten of the twelve words are still right. Without all four at most one is.
# 2. A head of layer 0 in both models, 0.3 in model A and 0.0 in model B. Head 0.3 of model A looks one word back, and
#    head 0.0 of model B three.
# 3. They look three places after the first copy. In the lower row, the vector at that place brings back all of the
#    answer, and no other one does.
#
# </details>

# %% tags=["hide-input"]
questions.ask("12", "steps-of-patching")

# %% [markdown]
# ## 6. Read in the middle
#
# Every layer adds to the stream, and only at the very end a norm and the embedding turn it into words. What if we do
# that earlier? The **logit lens** (nostalgebraist, 2020) takes the stream after each layer, as if the model stopped
# there, and asks what it would say. Here it reads our own model of two layers.

# %%
lens = logit_lens(model, ids)  # (L + 1, B, T, V)
by_hand = model.norm(streams(model, ids)[1]) @ model.embedding.weight.T  # after layer 0
print("the lens is the last step, done earlier:", torch.allclose(lens[1], by_hand, atol=1e-5))
assert torch.allclose(lens[1], by_hand, atol=1e-5)
says = lens.argmax(dim=-1)[:, :, PERIOD:]  # (L + 1, B, PERIOD): after each word of the second copy
read = {
    "the word itself": says == ids[:, PERIOD:],
    "the word before it": says == ids[:, PERIOD - 1 : -1],
    "the answer": says == followed,
}
read = {name: hits.float().mean(dim=(1, 2)) for name, hits in read.items()}  # (L + 1,) each

# %% tags=["hide-input", "nbval-ignore-output"]
figure, ax = plotting.panels(1, height=4.2)
plotting.bars(
    ax,
    ["embedding", "after layer 0", "after layer 1"],
    {name: shares_read for name, shares_read in read.items()},
    ylabel="share of places",
    ylim=(0, 1.15),
)
plotting.picture(
    figure,
    caption="The lens reads the word at first and the answer at last. In the middle it reads neither.",
    alt="For the embedding, after layer 0 and after layer 1, the share of places where the likeliest word is the word "
    "itself, the word before it, or the answer. "
    + " ".join(
        f"{name.capitalize()}: " + ", ".join(f"{share:.2f}" for share in shares_read) + "."
        for name, shares_read in read.items()
    ),
)

# %% tags=["hide-input"]
itself, before, answers = read.values()
own = lens[1].gather(-1, ids[..., None])  # (B, T, 1): the logit of the word itself after layer 0
ranks = (lens[1] > own).sum(dim=-1)  # (B, T): how many words are likelier
early, late = (streams(model, ids)[layer].norm(dim=-1).mean() for layer in (0, 1))
assert ranks.float().median() > 55 and late > 4 * early
assert itself[0] > 0.99 and itself[1] < 0.05 and max(before[1], answers[1]) < 0.1
assert answers[0] < 0.02 and answers[2] > 0.85
print("the word itself, then nothing that the lens can read, then the answer")

# %% tags=["hide-input"]
questions.ask("12", "a-silent-lens")

# %% [markdown]
# After layer 0 the lens names neither the word nor its neighbour nor the answer. Has the model forgotten everything? It
# cannot have. Patching has just shown that a single vector, read at the same point between the two layers, carries all
# that is missing. But the lens names only the *likeliest* word, the one whose embedding fits the vector best, and layer
# 0 has added vectors several times as long as the embedding. So the word itself is no longer the likeliest, and it even
# ranks near the last of all 64. The note about A is not written as the embedding of A either, so the lens passes over
# both.
#
# If we *learn* a reading, we find the note. A **probe** is a small map that is trained to read something from the
# stream. Ours is linear. It reads the word itself, or the word that stood as many places back as the circuit of this
# model needs, and it is tried on rows that it was not fitted to.


# %%
def probe(model, layer, back):
    """Share of words, so many places back, that a linear map reads from the stream before a layer."""
    fit = distinct(400, 2 * PERIOD, PERIOD, torch.Generator().manual_seed(5))
    x = streams(model, fit)[layer][:, back:].flatten(0, 1)  # (B · T, D)
    targets = F.one_hot(fit[:, : 2 * PERIOD - back], VOCABULARY).flatten(0, 1).float()
    reading = torch.linalg.lstsq(x, targets).solution  # (D, V)
    said = (streams(model, ids)[layer][:, back:] @ reading).argmax(dim=-1)  # (B, T - back)
    return (said == ids[:, : 2 * PERIOD - back]).float().mean().item()


# %% tags=["nbval-ignore-output"]
back = place - PLACE  # as patching found it
print(f"the word itself, from before layer 1: {probe(model, 1, 0):.2f}")
print(f"the word {back} back, from the embedding:   {probe(model, 0, back):.2f}")
print(f"the word {back} back, from before layer 1: {probe(model, 1, back):.2f}")
second = copiers.recorded("further")  # model B of the view
notes = {further: probe(second, 1, further) for further in (1, 2, 3)}
print("model B, before layer 1: " + ", ".join(f"{n} back {notes[n]:.2f}" for n in notes))

# %% tags=["hide-input"]
assert probe(model, 1, 0) > 0.995 and probe(model, 0, back) < 0.05 and probe(model, 1, back) > 0.8
assert notes[1] < 0.1 and notes[2] > 0.95 and 0.9 < notes[3] < 0.96
print("a learned reading finds after layer 0 what the lens does not see")

# %% [markdown]
# So the note is there, and the word itself is read without an error. In the second model of the view, the vector before
# layer 1 holds the two notes that section 5 guessed. The word three places back is read in 0.93 of the cases and the
# one two places back in practically all of them, but the one directly before in only 0.05.
#
# For large models Belrose et al. (2023) learn a map for every layer that predicts the final output, the *tuned lens*,
# because the plain one is often brittle. But whatever is learned for reading has a weakness. It proves that something
# *can* be read, and not that the model reads it. For that you have to change something, as in sections 4 and 5.

# %% [markdown]
# ## 7. Are attention weights an explanation?
#
# "The model says this because it looks there" is a tempting sentence. Jain and Wallace (2019) tested it with recurrent
# models for classification, which have a single attention layer as in lecture 1. They could often exchange the weights
# of a trained model for very different ones without changing what it says, and they concluded that attention is not an
# explanation. Wiegreffe and Pinter (2019) answered that weights which are put in afterwards prove little, since a model
# is trained as a whole. When other weights were found by training and then given to a second, simpler model as a guide,
# they served it less well than ordinary ones. So what is proved depends on what we call an explanation.
#
# In our models the weights told the truth, if one looked at the whole map. What failed was a score whose definition
# fixed in advance where to look. And the map alone told us neither that the heads of layer 1 are needed together, nor
# that none of them is indispensable alone. Here is what each tool can and cannot prove.
#
# | tool | asks | can show | cannot show |
# |---|---|---|---|
# | attention map, score | Where does a head look? | a pattern, in all rows | that the pattern is needed, or that there is no other one |
# | ablation | What fails without it? | that a head, or a set of heads, is needed here | what it does; and what is not missed may still do the work |
# | patching | Which vector carries it? | that one place is enough, given all others | that it is the only way, or which part of the vector counts |
# | lens, probe | What can be read? | that something is there | that the model uses it; and what is not read may be there |
#
# None of the tools is enough alone. Together they tell a story that we can defend. Layer 0 leaves notes, layer 1 finds
# them, and several heads share the work.
#
# ## 8. What this does not show
#
# Our models are tiny, their words are random, and they have a single task. How much of this holds for large ones? The
# following is **published**, and not measured here.
#
# - *The jump.* Olsson et al. (2022) find that induction heads form at the same time as language models suddenly gain
#   more from a long context. They call their evidence that the heads cause this gain strong for small models without
#   feed-forward networks, and correlational for larger ones.
# - *Many heads share the work.* Singh et al. (2024) find several induction heads that add up, each fed by several
#   previous-token heads. Wang et al. (2023) find heads in GPT-2 small that take over when others are switched off.
# - *Ablation in large models.* Crosbie and Shutova (2024) ablate a few induction heads of Llama-3-8B and InternLM2-20B.
#   What these models get right in abstract pattern tasks falls by up to about 32 %, close to guessing.
#
# What we cannot say is how often a large model takes the other way, with a note two or three words further on. We saw
# it in two of six models with positions that are rotated, in one task. Nor do our models tell how facts, grammar or
# arithmetic are computed. What they do tell is how easily one number can mislead, even where we know the solution
# beforehand.

# %% [markdown]
# ## Summary
#
# - A head of a single layer cannot find the word that came after an earlier copy, since nothing at that word tells what
#   came before it. With two layers, a head of layer 0 leaves a note and an induction head of layer 1 finds it.
# - The share of right words jumps within 150 steps, after hundreds of steps in which it only creeps.
# - The induction score is the weight on key $i - \text{period} + 1$. It missed two of six circuits that work nearly as
#   well.
# - Ablation shows what is needed. That no single head is missed does not mean that none of them works.
# - Patching shows which vector is enough. It found the place in all six models without being told where to look.
# - The lens shows the word that the model would say if it stopped there. What it does not name may be there, and a
#   probe may find it.
#
# **Now you:** [assignment a13, looking inside](../exercises/a13_looking_inside/a13_looking_inside.ipynb). This is the
# end of the core, and of the last lecture. Section 9 goes deeper, into weights that can be changed without any effect,
# and you can skip it.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 3, 4, 5 and 6 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** In another task all blocks have the same length, 12. Could one layer with rotary positions solve it?
#
# <details><summary>Answer</summary>
#
# Yes. The answer is always 11 places back, and with rotary positions a score can depend on the distance. A head that
# looks 11 places back and copies what it finds is all that is needed, whatever the words are.
#
# </details>
#
# **2.** A head has an induction score of 0.9. Its ablation costs nothing. Describe two cases in which both are true.
#
# <details><summary>Answer</summary>
#
# In the first, another head does the same and stands in for it, as in section 4. In the second the head looks at the
# right word, but what it copies from there is not used by anything that comes later.
#
# </details>
#
# **3.** Somebody patches *all* places before layer 1 at once, and the whole answer comes back. What has been shown?
#
# <details><summary>Answer</summary>
#
# Nothing that was not known. If all vectors before layer 1 come from the clean run, everything after them is the clean
# run. A patch says something because it is small.
#
# </details>
#
# **4.** A probe reads the part of speech of each word from layer 5 of a model, with 0.97 right. Does the model know
# parts of speech?
#
# <details><summary>Answer</summary>
#
# It can be read there, and perhaps it could already be read from the embedding, so try that first. Whether the model
# uses it is another question. Remove or exchange what the probe reads, and see whether the output changes.
#
# </details>

# %% [markdown]
# ## 9. Going deeper: weights that the output does not determine
#
# Could the weights of our own model be exchanged without any effect, as Jain and Wallace found? For one query and one
# head the output is $\sum_j \alpha_j v^{(j)}$, with weights $\alpha_j$ that are not negative and sum to one. If we
# change them by $\delta_j$ with $\sum_j \delta_j v^{(j)} = 0$ and $\sum_j \delta_j = 0$, nothing changes. With $S$ keys
# there are such changes whenever the matrix $[V, 1]$, the values with a column of ones, has a rank below $S$. That is
# so if two values are equal, or if $S > d_v + 1$.
#
# In layer 0 two values *are* equal, wherever a word comes twice, because values know no position. So all the weight
# that a query puts on one copy can be moved to the other. In layer 1 the values differ, but there are 24 keys and $d_v
# = 16$. The function below lowers the weight of the strongest key as far as it can. It walks along those changes, the
# null space, and stops where a weight would become negative, which is then kept at zero. It need not find the lowest
# weight, so what it finds is only an upper bound.


# %%
def lowered(weights, values, key):
    """Other weights (S,) with the same output and sum, as small at `key` as this walk finds them."""
    fixed = torch.cat([values, torch.ones(len(values), 1).double()], dim=1)  # (S, d_v + 1)
    weights, free = weights.clone(), torch.ones(len(weights), dtype=torch.bool)
    while weights[key] > 0:
        directions, sizes, _ = torch.linalg.svd(fixed[free])
        null = directions[:, (sizes > 1e-9 * sizes[0]).sum() :]  # (free, dimensions left)
        change = torch.zeros_like(weights)
        change[free] = -null @ null[free[:key].sum()]  # steepest way down for the key
        if change[key] > -1e-9:
            break
        falls = change < -1e-12
        weights = weights + (weights[falls] / -change[falls]).min() * change
        free &= ~(falls & (weights < 1e-12))
        weights = weights.where(free, 0.0)
    return weights


# %% tags=["nbval-ignore-output"]
precise, last, error = copy.deepcopy(model).double(), 2 * PERIOD - 1, 0.0
before_and_after = {}  # (layer, head) -> mean strongest weight, before and after
before = streams(precise, ids[:20])[:-1]
for number, (layer, x) in enumerate(zip(precise.layers, before, strict=True)):
    normed = layer.norm1(x)
    output, weights = layer.attend(normed, causal_mask(2 * PERIOD))  # as in the model
    values = split_heads(layer.w_v(normed), HEADS)  # (B, H, S, d_v)
    for head in range(HEADS):
        pairs = []
        for row in range(20):
            old = weights[row, head, last]  # (S,)
            new = lowered(old, values[row, head], old.argmax())
            pairs.append((old.max(), new[old.argmax()]))
            error = max(
                error, (new @ values[row, head] - output[row, head, last]).abs().max().item()
            )
        before_and_after[number, head] = torch.tensor(pairs).mean(dim=0).tolist()
for (number, head), (old, new) in before_and_after.items():
    print(f"head {number}.{head}: strongest weight {old:.2f}, lowered to {new:.2f}")

# %% tags=["hide-input"]
assert error < 1e-9
assert all(new < 1e-9 for (number, _), (_, new) in before_and_after.items() if number == 0)
assert all(new > old - 0.05 for (number, _), (old, new) in before_and_after.items() if number == 1)
print(
    "outputs differ by less than 1e-9; in layer 0 the strongest weight can always be brought to 0"
)

# %% [markdown]
# All of this is about one model. The query is the last word of a row, and the weights are means over 20 rows. In layer
# 0 the strongest weight of every head can be brought to zero, and nothing that comes later notices. A map of layer 0
# that shows weight on a word of the second copy and none on its twin in the first could as well show the reverse. In
# layer 1 the walk hardly gets anywhere. There the output pins the strongest weight down, or at least we found no lower
# one.
#
# So for a given output there may be other weights, as Jain and Wallace say, and how many depends on the values. Whether
# queries and keys could ever *produce* these weights, in all rows at once, is the question of Wiegreffe and Pinter,
# and this experiment does not answer it.

# %% [markdown]
# ## Further reading
#
# - Nelson Elhage and others (2021). *[A Mathematical Framework for Transformer
#   Circuits.](https://transformer-circuits.pub/2021/framework/index.html)* Two layers, and the first induction heads.
# - Clayton Sanford, Daniel Hsu, Matus Telgarsky (2024). *[One-layer Transformers Fail to Solve the Induction Heads
#   Task.](https://arxiv.org/abs/2408.14332)* arXiv:2408.14332. Why a single layer would have to be so much larger.
# - Catherine Olsson and others (2022). *[In-context Learning and Induction
#   Heads.](https://arxiv.org/abs/2209.11895)* arXiv:2209.11895. The jump in training; the appendix has the score.
# - Aaditya Singh, Ted Moskovitz, Felix Hill, Stephanie Chan, Andrew Saxe (2024). *[What Needs to Go Right for an
#   Induction Head?](https://arxiv.org/abs/2404.07129)* ICML. How the parts of the circuit form.
# - Joy Crosbie, Ekaterina Shutova (2024). *[Induction Heads as an Essential Mechanism for Pattern Matching in In-context
#   Learning.](https://arxiv.org/abs/2407.07011)* arXiv:2407.07011.
# - Kevin Wang, Alexandre Variengien, Arthur Conmy, Buck Shlegeris, Jacob Steinhardt (2023). *[Interpretability in the
#   Wild.](https://arxiv.org/abs/2211.00593)* ICLR. Mean ablation in section 2.1, and heads that stand in.
# - Kevin Meng, David Bau, Alex Andonian, Yonatan Belinkov (2022). *[Locating and Editing Factual Associations in
#   GPT.](https://arxiv.org/abs/2202.05262)* NeurIPS. Section 2.1: causal tracing.
# - Stefan Heimersheim, Neel Nanda (2024). *[How to Use and Interpret Activation
#   Patching.](https://arxiv.org/abs/2404.15255)* arXiv:2404.15255. What denoising proves, and what noising does.
# - nostalgebraist (2020). *[Interpreting GPT: The Logit
#   Lens.](https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens)*
# - Nora Belrose and others (2023). *[Eliciting Latent Predictions from Transformers with the Tuned
#   Lens.](https://arxiv.org/abs/2303.08112)* arXiv:2303.08112.
# - Sarthak Jain, Byron Wallace (2019). *[Attention is not Explanation.](https://arxiv.org/abs/1902.10186)* NAACL.
# - Sarah Wiegreffe, Yuval Pinter (2019). *[Attention is not not Explanation.](https://arxiv.org/abs/1908.04626)* EMNLP.
