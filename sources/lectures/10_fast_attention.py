# ---
# jupyter:
#   course:
#     assignment: a11_fast_attention
#     deeper: 2
#     minutes: 56
#     summary: A cache, shared key heads, tiles and windows, which save work or memory and change no result.
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
# # Lecture 10: Fast attention
#
# A language model that writes 500 words the simple way computes nearly everything 500 times. In this lecture we find
# out what can be kept, what it costs to keep it, and how attention can be computed without ever storing its weights.
# None of these ideas changes what attention computes, except where we say so. We count operations and numbers in
# memory instead of seconds, so that your results are the same as ours on any machine.
#
# **Afterwards you will be able to**
#
# - write with a cache of keys and values, and put the causal mask where it belongs;
# - compute how many bytes a cache takes, for a small model or a published one;
# - let several query heads share a key head, and say what this saves and what it may cost;
# - compute a softmax block by block, with a running maximum, sum and output;
# - build the mask of a sliding window, and say how far several layers of it reach;
# - call PyTorch's own attention without its trap.
#
# **Time** about 56 minutes with views and questions, and 2 for going deeper.
# **Needs** lectures [4](04_masked_attention.ipynb), [5](05_multi_head_attention.ipynb) and
# [9](09_one_half_alone.ipynb).

# %%
import math

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from course_utils import fast_attention
from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_utils.language_models import CausalLanguageModel, next_token_loss
from course_utils.masks import causal_mask
from lecture_kit import live, plotting, questions
from lecture_kit.experiments import known_language

plotting.use_course_style()
torch.set_num_threads(1)  # models this small gain little from two, and lose much on a busy machine

# %% [markdown]
# ## 1. What writing repeats
#
# To write word 101, a causal model needs the last row of its output, which depends on all 100 words before. So the
# simple way is to put all 100 words through the model again. But what has changed since word 100 was written? Because
# of the causal mask, nothing has changed in the first 99 rows. Their queries, keys and values are what they were, in
# every layer.
#
# What does the new word need of them? Its query is compared with their *keys*, and their *values* are mixed. Their
# queries are not needed any more, because every word asks for itself. So if we keep the keys and values of all words,
# which is called the **key/value cache**, a step has to compute only the new word's row. We write $P$ for the number of
# words in the cache and $T$ for the number of new ones.


# %%
def cached_attention(query, key, value, cache=None):
    """Causal attention of new words: query, key (B, H, T, d_k), value (B, H, T, d_v)."""
    if cache is not None:
        key = torch.cat([cache[0], key], dim=-2)  # (B, H, P + T, d_k)
        value = torch.cat([cache[1], value], dim=-2)  # (B, H, P + T, d_v)
    T, S = query.shape[-2], key.shape[-2]
    mask = causal_mask(S)[S - T :]  # the last T rows: (T, P + T)
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    return output, (key, value)


# %% [markdown]
# One line deserves a second look. New word $i$ is at place $P + i$ of the sentence, so it may attend to all $P$ cached
# words and to the new words 0 to $i$. In the square mask of the whole sentence, these are the **last** $T$ rows.

# %% tags=["hide-input"]
P, T = 4, 3
whole = causal_mask(P + T)
figure, (left, right) = plotting.panels(2, height=3.9)
plotting.mask_map(whole, ax=left)
left.axhspan(P - 0.5, P + T - 0.5, fill=False, edgecolor=plotting.SERIES[2], linewidth=4, zorder=6)
left.set_title("all seven words")
plotting.mask_map(whole[P:], ax=right, query_label="")
right.set_title("three new words, four in the cache")
right.set_yticks(range(T), range(P, P + T))
for ax in (left, right):
    ax.set_aspect("equal")
plotting.picture(
    figure,
    caption="The mask of new words is the lower end of the whole mask, not its upper left corner.",
    alt="Left, the causal mask of seven words, a lower triangle, in which the last three rows are framed. Right, "
    "these three rows alone: rows 4 to 6 and columns 0 to 6; the first row shows five keys, the second six, the "
    "third all seven.",
)

# %% [markdown]
# A model that has such a layer can read a prompt in one pass, which is called **prefill**, and then write word by word,
# which is called **decoding**. Here is the causal model of lecture 9 with a cache in every layer, with four layers of
# width 128 and random weights.


# %%
def further_logits(model, token_ids, caches):
    """Logits (B, T, V) for new words, and the caches, one for each layer; None begins a sentence."""
    start = 0 if caches[0] is None else caches[0][0].shape[-2]
    places = torch.arange(start, start + token_ids.shape[1])
    x = model.embedding(token_ids) + model.position_embedding(places)  # (B, T, D)
    grown = []
    for layer, cache in zip(model.layers, caches, strict=True):
        attend = layer.self_attn
        heads = (
            split_heads(linear(x), attend.num_heads)
            for linear in (attend.w_q, attend.w_k, attend.w_v)
        )  # (B, H, T, d_k) each
        context, cache = cached_attention(*heads, cache)
        x = layer.layer_norm1(x + attend.w_o(merge_heads(context)))
        x = layer.layer_norm2(x + layer.feed_forward(x))
        grown.append(cache)
    return x @ model.embedding.weight.T, grown


# %%
torch.manual_seed(0)
LAYERS, WORDS = 4, 512
model = CausalLanguageModel(100, 128, 4, LAYERS, 256, dropout=0.0, max_len=WORDS).eval()
text = torch.randint(100, (1, WORDS))  # (B, T)

differences = {}
with torch.no_grad():
    for dtype in (torch.float32, torch.float64):
        model.to(dtype)
        at_once = model(text)  # (B, T, V)
        caches, pieces = [None] * LAYERS, []
        for word in text.split(1, dim=1):
            logits, caches = further_logits(model, word, caches)
            pieces.append(logits)
        one_by_one = torch.cat(pieces, dim=1)
        differences[dtype] = (one_by_one - at_once).abs().max().item()
        print(f"{dtype}: largest difference of two logits {differences[dtype]:.0e}")
model = model.float()

# %% tags=["hide-input"]
assert differences[torch.float32] < 1e-4 and differences[torch.float64] < 1e-11
generator = torch.Generator().manual_seed(2)
parts = [torch.randn(2, 3, 7, width, generator=generator) for width in (4, 4, 6)]
cut = [part.split([4, 3], dim=2) for part in parts]
_, cache = cached_attention(*(part[0] for part in cut))
ours, _ = cached_attention(*(part[1] for part in cut), cache)
theirs, _ = fast_attention.cached_attention(*(part[1] for part in cut), cache)
assert torch.allclose(ours, theirs)
print("512 words one by one are 512 words at once, up to rounding")

# %% [markdown]
# Here is the same as a picture. Three words are the prompt, and the others are written one after the other.
#
# 1. Press *next word* until the sentence is whole, and watch which row is filled. How many rows were computed?
# 2. Go back to the prompt, switch the cache off, and write the sentence again. How many rows are computed now, and how
#    many of them give what they gave before?

# %% tags=["hide-input"]
eight_words = ["it", "is", "easy", "to", "translate", "this", "sentence", "."]
assert 3 + 5 == 8 and sum(range(3, 9)) == 33
live.cache_view(eight_words, prompt=3)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# With the cache 8 rows are computed, one for each word. Without it there are 33, and 25 of them have been computed
# before.
#
# </details>

# %% tags=["hide-input"]
questions.ask("10", "which-rows-of-the-mask")

# %% [markdown]
# ### What it saves
#
# Seconds differ from machine to machine, so we count operations with PyTorch's `FlopCounterMode`, which adds up the
# multiplications and additions of all matrix products. How many does the *next* word need?


# %%
def operations(length):
    """Operations for the word after `length - 1` others: without a cache, and with one."""
    beginning, word = text[:, : length - 1], text[:, length - 1 : length]
    with torch.no_grad():
        _, caches = further_logits(model, beginning, [None] * LAYERS)
        with FlopCounterMode(display=False) as without:
            model(text[:, :length])
        with FlopCounterMode(display=False) as cached:
            further_logits(model, word, caches)
    return without.get_total_flops(), cached.get_total_flops()


lengths = [17, 33, 65, 129, 257, 512]
counts = {length: operations(length) for length in lengths}
print("word    without cache    with cache")
for length, (without, cached) in counts.items():
    print(f"{length:4d}   {without / 1e6:10.1f} MFLOP {cached / 1e6:7.2f} MFLOP")

# %% tags=["hide-input"]
D, V, D_FF = 128, 100, 256
for length, (without, cached) in counts.items():
    maps = LAYERS * (8 * D * D + 4 * D * D_FF) + 2 * D * V  # for one word
    assert cached == maps + LAYERS * 4 * length * D
    assert without == length * maps + LAYERS * 4 * length**2 * D
ratio = [without / cached for without, cached in counts.values()]
assert ratio[0] > 16 and ratio[-1] > 500

figure, ax = plotting.panels(1, height=4.4)
curves = {
    "without a cache": [a for a, _ in counts.values()],
    "with a cache": [b for _, b in counts.values()],
}
plotting.curves(ax, lengths, curves, xscale="log", yscale="log", xlabel="word", ylabel="operations")
plotting.ticks_at(ax, x=lengths)
ax.set_title("operations for the next word")
plotting.picture(
    figure,
    caption="With a cache the next word costs almost the same at every place.",
    alt="Operations for the next word against its place from 17 to 512, both axes logarithmic. Without a cache they "
    "rise from about 18 million to more than 1 000 million; with a cache they stay near 1 to 2 million.",
)

# %% [markdown]
# Without a cache word 512 needs more than 500 times the operations that it needs with one. With the cache, the maps and
# the feed-forward network work on one row only, and all that grows is attention itself, with one product of the query
# with every key. So the cost of a whole text of $T$ words falls from order $T^3$ to order $T^2$ for attention, and from
# $T^2$ to $T$ for everything else.
#
# ## 2. What a cache weighs
#
# The work is gone, but something has to be remembered. For each word, every layer keeps a key and a value for each
# head, so a cache takes
#
# $$2 \cdot \text{layers} \cdot \text{key heads} \cdot d_k \cdot \text{bytes in a number}$$
#
# bytes per word. How much is that in practice? Here are three published models with numbers of two bytes.

# %%
PUBLISHED = {  # layers, query heads, key heads, d_k
    "Llama 2 7B (2023)": (32, 32, 32, 128),
    "Llama 2 70B (2023)": (80, 64, 8, 128),
    "Mistral 7B (2023)": (32, 32, 8, 128),
}


def cache_bytes(layers, key_heads, d_k, size=2):
    """Bytes of cache for one word."""
    return 2 * layers * key_heads * d_k * size


print("                       a word   4096 words   with as many key heads as query heads")
for name, (layers, heads, key_heads, d_k) in PUBLISHED.items():
    one, full = cache_bytes(layers, key_heads, d_k), cache_bytes(layers, heads, d_k)
    print(
        f"{name:<20}{one / 2**10:6.0f} KiB {4096 * one / 2**30:8.2f} GiB {4096 * full / 2**30:10.2f} GiB"
    )

# %% tags=["hide-input"]
assert cache_bytes(32, 32, 128) == 512 * 2**10 and cache_bytes(32, 8, 128) == 128 * 2**10
assert 100 * 4096 * cache_bytes(32, 32, 128) == 200 * 2**30
assert cache_bytes(80, 8, 128) * 4 < cache_bytes(80, 64, 128)
counted = sum(part.numel() * part.element_size() for pair in caches for part in pair) / WORDS
assert counted == cache_bytes(LAYERS, 4, 32, size=8)  # the last caches above are in float64
print("the formula gives the bytes of our own cache, too")

as_many, published = [], []
for layers, heads, key_heads, d_k in PUBLISHED.values():
    as_many.append(4096 * cache_bytes(layers, heads, d_k) / 2**30)
    published.append(4096 * cache_bytes(layers, key_heads, d_k) / 2**30)
figure, ax = plotting.panels(1, height=4.6)
plotting.bars(
    ax,
    [
        f"{name}\n{heads} query, {shared} key heads"
        for name, (_, heads, shared, _) in PUBLISHED.items()
    ],
    {"a key head for each query head": as_many, "as published": published},
    ylabel="GiB for 4096 words",
)
plotting.picture(
    figure,
    caption="The cache shrinks with the number of key heads, here to an eighth and to a quarter.",
    alt="Bars of the cache for 4096 words, with a key head for each query head and as published. Llama 2 7B: 2 GiB "
    "both times. Llama 2 70B: 10 GiB, and 1.25 GiB with 8 key heads for 64 query heads. Mistral 7B: 2 GiB, and "
    "0.5 GiB with 8 key heads for 32 query heads.",
)

# %% [markdown]
# Half a mebibyte for each word of each sentence is a lot. A server that writes for 100 people at once, with 4096
# words each, would need 200 GiB for the caches of the first model, while its weights take 13 GiB. Two of the three
# models have far fewer key heads than query heads, and that is the next idea.

# %% tags=["hide-input"]
questions.ask("10", "how-much-cache")

# %% [markdown]
# ## 3. Fewer key heads
#
# Nothing forces every query head to have a key head of its own. In **multi-query attention** (Shazeer, 2019) all
# query heads share a single key head and a single value head, and the heads still differ, because their queries do.
# In **grouped-query attention** (Ainslie et al., 2023) a group of neighbouring query heads shares one. With $H$ query
# heads and $G$ key heads, query head $h$, counted from 0, uses key head $\lfloor h / (H / G) \rfloor$.


# %%
def grouped_by_loop(queries, keys, values):
    """queries (B, H, T, d_k), keys and values (B, G, S, d_k) -> (B, H, T, d_k)."""
    heads = queries.shape[1]
    group = heads // keys.shape[1]  # query heads that share a key head
    outputs = []
    for h in range(heads):
        shared = h // group
        output, _ = scaled_dot_product_attention(queries[:, h], keys[:, shared], values[:, shared])
        outputs.append(output)
    return torch.stack(outputs, dim=1)


# %% [markdown]
# Without the loop, every key head is repeated for all query heads of its group. `repeat_interleave` puts the copies
# next to each other, as it must be. `repeat` would put whole rounds one after the other, so that neighbours get
# different heads. All shapes would be right and the result wrong.

# %%
generator = torch.Generator().manual_seed(3)
queries = torch.randn(2, 6, 5, 4, generator=generator)  # (B, H, T, d_k)
keys, values = torch.randn(2, 2, 2, 7, 4, generator=generator)  # two of (B, G, S, d_k)

by_loop = grouped_by_loop(queries, keys, values)
repeated = [part.repeat_interleave(3, dim=1) for part in (keys, values)]  # (B, H, S, d_k)
at_once, _ = scaled_dot_product_attention(queries, *repeated)
trap, _ = scaled_dot_product_attention(queries, keys.repeat(1, 3, 1, 1), values.repeat(1, 3, 1, 1))
theirs = F.scaled_dot_product_attention(queries, keys, values, enable_gqa=True)

print("repeat_interleave equals the loop:", torch.allclose(at_once, by_loop, atol=1e-6))
print("PyTorch's enable_gqa equals the loop:", torch.allclose(theirs, by_loop, atol=1e-6))
print("repeat equals the loop:", torch.allclose(trap, by_loop, atol=1e-6))

# %% tags=["hide-input"]
assert torch.allclose(at_once, by_loop, atol=1e-6) and torch.allclose(theirs, by_loop, atol=1e-6)
assert trap.shape == by_loop.shape and not torch.allclose(trap, by_loop, atol=1e-2)
print("the loop, the repeated heads and PyTorch agree, and repeat does not")

# %% tags=["hide-input"]
questions.ask("10", "which-key-head")

# %% [markdown]
# ### What it costs
#
# Fewer key heads could make a model worse. We measure it on the task of lecture 9, where the loss can be compared with
# the entropy. The model has eight query heads of width 8, and we train it with eight key heads and with one.


# %%
def grouped_model(key_heads, seed):
    """Lecture 9's model with grouped-query attention in both layers."""
    torch.manual_seed(seed)
    language = known_language.known_language()
    sizes = (len(language.vocabulary), 64, 8, 2, 128)
    model = CausalLanguageModel(*sizes, dropout=0.0, max_len=language.ids.shape[1])
    for layer in model.layers:
        layer.self_attn = fast_attention.GroupedQueryAttention(64, 8, key_heads)
    return known_language.train(
        model, lambda m, batch, _: next_token_loss(m(batch), batch), seed=seed
    )


# %% tags=["nbval-ignore-output"] seconds=60
SEED = 0
floor = known_language.known_language().floor
gaps = {G: known_language.exact_loss(grouped_model(G, SEED)) - floor for G in (8, 1)}
for G, gap in gaps.items():
    print(f"{G} key heads: {gap:.4f} nats above the entropy")

# %% tags=["hide-input"]
assert 0 < min(gaps.values()) and max(gaps.values()) < 0.03
print("both models are within 0.03 nats of the entropy")

# %% [markdown]
# A single run says little about such small differences, so here are three seeds each. They are **recorded**, and
# `sources/recorded/grouped_queries.py` prints them in about three minutes. The cache is in bytes per word, with numbers
# of four bytes in both layers.

# %% tags=["hide-input"]
RECORDED = """\
key heads   seed 0  seed 1  seed 2   cache  weights
8           0.0161  0.0161  0.0132    1024    74560
2           0.0154  0.0152  0.0145     256    62080
1           0.0187  0.0174  0.0154     128    60000
"""
print(RECORDED)
rows = [line.split() for line in RECORDED.splitlines()[1:]]
gap_of = {int(row[0]): torch.tensor([float(number) for number in row[1:4]]) for row in rows}
cache_of = {int(row[0]): int(row[4]) for row in rows}
assert cache_of[8] == 8 * cache_of[1] == cache_bytes(2, 8, 8, size=4)
assert all((gap < 0.03).all() for gap in gap_of.values())
worse = gap_of[1] - gap_of[8]
assert (worse > 0).all() and 0.0015 < worse.mean() < 0.0025
assert abs(gap_of[2].mean() - gap_of[8].mean()) < 0.0005
assert 0.78 < int(rows[2][5]) / int(rows[0][5]) < 0.82

figure, ax = plotting.panels(1, height=4)
sizes = [cache_of[heads] for heads in (1, 2, 8)]
by_seed = torch.stack([gap_of[heads] for heads in (1, 2, 8)], dim=1)  # (seeds, key heads)
plotting.curves(
    ax,
    sizes,
    {"median of three seeds": by_seed},
    xscale="log",
    xlabel="bytes of cache for a word",
    ylabel="nats above the entropy",
)
ax.set_xticks(sizes, [f"{size}\n{size // 128} key head{'s' * (size > 128)}" for size in sizes])
ax.set_xticks([], minor=True)
ax.set_ylim(0, 0.022)
plotting.picture(
    figure,
    caption="One key head costs a little. Between two and eight the seeds differ more than the models.",
    alt="Nats above the entropy against the bytes of cache for a word, three seeds each. With one key head and 128 "
    "bytes 0.0154 to 0.0187, with two and 256 bytes 0.0145 to 0.0154, with eight and 1024 bytes 0.0132 to 0.0161.",
)

# %% [markdown]
# With one key head instead of eight, every seed is a little worse, by 0.002 nats on average. That is 0.2 % of the
# perplexity, for an eighth of the cache. The model also has a fifth fewer weights, and this comparison cannot say which
# of the two is the reason. With two key heads no difference can be seen. At this size that is all that we can measure.
# For a large model, Ainslie et al. (2023, table 1) report averages over their tasks of 47.2 with all key heads, 47.1
# with eight and 46.6 with one.
#
# ## 4. A softmax in one pass
#
# The weights of a long text are a large matrix. A softmax seems to need all scores of a row, because it subtracts the
# largest of them and divides by the sum of all exponentials. But all three quantities, the maximum $m$, the sum $\ell$
# and the output $o$, can be carried along while the keys come one block after the other (Milakov & Gimelshein, 2018).
# For one query, before any key, $m = -\infty$, $\ell = 0$ and $o = 0$. A block with scores $\omega_j$ and values $v_j$
# changes them to
#
# $$m' = \max(m, \max_j \omega_j), \qquad
# \ell' = e^{m - m'} \ell + \sum_j e^{\omega_j - m'}, \qquad
# o' = e^{m - m'} o + \sum_j e^{\omega_j - m'} v_j$$
#
# The factor $e^{m - m'}$ is what makes it work. As long as the maximum stays, it is 1. When a larger score comes, all
# that was added up before had been divided by too small a number, and the factor corrects it afterwards. At the end the
# output is $o / \ell$.
#
# As an example take the scores 0, ln 3 and ln 4 with the values 8, 4 and 2, one key at a time.

# %%
scores = [0.0, math.log(3), math.log(4)]
values_by_hand = [8.0, 4.0, 2.0]
m, total, o = -math.inf, 0.0, 0.0
print("  score  value       m      sum   output")
for score, value in zip(scores, values_by_hand, strict=True):
    largest = max(m, score)
    rescale = math.exp(m - largest)
    total = rescale * total + math.exp(score - largest)
    o = rescale * o + math.exp(score - largest) * value
    m = largest
    print(f"{score:7.3f} {value:6.1f} {m:7.3f} {total:8.4f} {o:8.4f}")
print(f"output / sum = {o / total:.2f}")

# %% tags=["hide-input"]
weights = torch.tensor(scores).softmax(dim=0)
assert abs(o / total - 3.5) < 1e-9
assert abs((weights * torch.tensor(values_by_hand)).sum().item() - 3.5) < 1e-5
print("3.5, and the same from a softmax over all three at once")

# %% [markdown]
# Step through eight keys in blocks of two.
#
# 1. In which blocks is a rescaling needed, and by how much? Predict it from the scores before you press *next
#    block*.
# 2. Change one score so that no rescaling is needed after the first block. Which one, and what does the result do?
# 3. Take one key in a block, and then all eight. What changes on the way, and what does not?

# %% tags=["hide-input"]
some_scores = [0.5, 2.0, -1.0, 3.0, 1.0, 2.5, 0.0, -2.0]
some_values = [8.0, 4.0, 2.0, 1.0, 6.0, 3.0, 5.0, 7.0]
largest_so_far = [max(some_scores[:end]) for end in (2, 4, 6, 8)]
assert largest_so_far == [2, 3, 3, 3]

live.tiles_view(
    some_scores, some_values, caption="The softmax of one query, carried from block to block"
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# - Only the second block brings a larger score, 3 after 2, so everything before is multiplied by $e^{2 - 3} \approx
#   0.37$.
# - If key 1 or key 2 has a score of 3 or more, the first block sets the maximum for good. The result changes with the
#   score, of course, but it is again that of a softmax over all keys at once.
# - The number of rescalings changes, and with one block there is none. The result stays the same.
#
# </details>
#
# For whole matrices the same lines work on all queries at once, and a block is a slice of the keys. Of the matrix of
# scores only a narrow **tile** exists at any time, with one row for each query and one column for each key of the
# block.
#
# ![Four queries beside a matrix of scores with eight columns, one for each key, which has its key and its value above
# it. The first four columns are empty, done and not kept. Columns five and six, in a frame, hold scores, such as 3.0
# and 0.7 for query two. The last two are hatched, still to come. On the right, for each query, the maximum before the
# block, the factor, and what is carried on, which is the new maximum, the sum and the output as a strip of four
# cells. Queries two and four find a larger score, so their factors are 0.22 and 0.41 instead of
# 1.](../figures/softmax_tiles.svg)
#
# *One tile at a time. Queries 2 and 4 find a larger score in it, so what they have added up so far is scaled down.*


# %%
def online_softmax_attention(query, key, value, block_size):
    """query (..., T, d_k), key (..., S, d_k), value (..., S, d_v) -> (..., T, d_v)."""
    query = query / math.sqrt(query.shape[-1])
    largest = query.new_full((*query.shape[:-1], 1), -math.inf)  # m, (..., T, 1)
    total = torch.zeros_like(largest)  # ℓ
    output = query.new_zeros((*query.shape[:-1], value.shape[-1]))  # o, (..., T, d_v)
    for start in range(0, key.shape[-2], block_size):
        block = slice(start, start + block_size)
        scores = query @ key[..., block, :].transpose(-2, -1)  # (..., T, block_size)
        before, largest = largest, largest.maximum(scores.amax(dim=-1, keepdim=True))
        rescale, weights = torch.exp(before - largest), torch.exp(scores - largest)
        total = rescale * total + weights.sum(dim=-1, keepdim=True)
        output = rescale * output + weights @ value[..., block, :]
    return output / total


generator = torch.Generator().manual_seed(4)
query, key, value = torch.randn(3, 2, 200, 32, generator=generator)  # (H, T, d_k) each
whole, _ = scaled_dot_product_attention(query, key, value)
for block_size in (1, 7, 64, 5000):
    tiled = online_softmax_attention(query, key, value, block_size)
    print(f"blocks of {block_size:4d}: largest difference {(tiled - whole).abs().max():.0e}")
    assert torch.allclose(tiled, whole, atol=1e-5)
    ours = fast_attention.online_softmax_attention(query, key, value, block_size)
    assert torch.allclose(tiled, ours, atol=1e-6)

# %% [markdown]
# ### What it saves
#
# No piece of memory here is as large as the matrix of weights. To see what is really allocated, we watch every
# operation and note the largest new tensor that one of them returns. We go through the keys in blocks of 64.


# %%
class LargestNew(TorchDispatchMode):
    """Notes how many numbers the largest tensor holds that an operation returns."""

    largest = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.largest = max(self.largest, result.untyped_storage().nbytes() // 4)
        return result


def largest_new(compute, length):
    """Numbers in the largest new tensor, for two heads of width 32."""
    inputs = [torch.randn(2, length, 32) for _ in range(3)]
    with torch.no_grad(), LargestNew() as watch:
        compute(*inputs)
    return watch.largest


def whole_attention(query, key, value):
    return scaled_dot_product_attention(query, key, value)[0]


def in_tiles(query, key, value):
    return online_softmax_attention(query, key, value, block_size=64)


memory = {T: (largest_new(whole_attention, T), largest_new(in_tiles, T)) for T in (128, 512, 2048)}
print("words    all weights    in tiles")
for T, (everything, tiles) in memory.items():
    print(f"{T:5d}   {everything:12,d} {tiles:11,d}")

# %% tags=["hide-input"]
assert memory == {128: (32_768, 16_384), 512: (524_288, 65_536), 2048: (8_388_608, 262_144)}
print("four times as many words: sixteen times the weights, and four times the largest tile")

# %% [markdown]
# The whole matrix grows with the square of the length, whereas the tiles grow in proportion to it, since all queries
# look at one block of keys. FlashAttention (Dao et al., 2022) cuts the queries into blocks as well and keeps each tile
# in the small and fast memory of a GPU. That is where its speed comes from, and we make no claim about speed on a
# processor. The number of operations does not become smaller.

# %% tags=["hide-input"]
questions.ask("10", "when-to-rescale")

# %% [markdown]
# ## 5. Sliding windows
#
# A cheaper kind of attention looks at the nearest words only. With a **window** of $W$, a word sees itself and the
# $W - 1$ words before it, so neither the work nor the cache grows beyond that. This does change the result. (In the
# formula of Beltagy et al. (2020) a window holds one word more than in their figure, so make sure which of the two a
# library means.)


# %%
def sliding_window_mask(query_length, key_length, window):
    """The queries are the last words among the keys: (query_length, key_length) bool."""
    place = torch.arange(key_length - query_length, key_length).unsqueeze(1)  # of the queries
    j = torch.arange(key_length)
    return (j <= place) & (j > place - window)


print(sliding_window_mask(2, 4, window=2).int())

# %% tags=["hide-input"]
for sizes in [(2, 4, 2), (5, 5, 3), (1, 7, 4), (3, 9, 20)]:
    assert torch.equal(sliding_window_mask(*sizes), fast_attention.sliding_window_mask(*sizes))
assert sliding_window_mask(2, 4, 2).int().tolist() == [[0, 1, 1, 0], [0, 0, 1, 1]]
print("rows 0110 and 0011, as by hand, and the masks of course_utils.fast_attention")

# %% [markdown]
# Does a model with a window of 4 know nothing of a word ten places back? One layer does not. But the words that it sees
# have themselves looked back in the layer before, so the reach grows with every layer. We measure it by derivatives,
# because the last output depends on an input exactly if its derivative is not zero.


# %%
def reach(layers, window, length=24):
    """How many words the last output of a stack depends on."""
    torch.manual_seed(0)
    x = torch.randn(length, 8, dtype=torch.float64, requires_grad=True)
    mask = sliding_window_mask(length, length, window)
    rows = x
    for _ in range(layers):
        rows = rows + scaled_dot_product_attention(rows, rows, rows, mask)[0]
    (gradient,) = torch.autograd.grad(rows[-1].sum(), x)
    return (gradient.abs().amax(dim=1) > 0).sum().item()


reached = [reach(layers, window=4) for layers in (1, 2, 3, 4)]
print("words that 1, 2, 3 and 4 layers reach:", reached)

# %% tags=["hide-input"]
assert reached == [layers * 3 + 1 for layers in (1, 2, 3, 4)] == [4, 7, 10, 13]
figure, axes = plotting.panels(3, height=3.4, sharey=True)
mask = sliding_window_mask(12, 12, 4)
seen = mask
for layers, ax in enumerate(axes, start=1):
    plotting.mask_map(seen, ax=ax, query_label="" if layers > 1 else "query")
    ax.set(
        title=f"{layers} layer{'s' if layers > 1 else ''}",
        aspect="equal",
        xticks=[0, 5, 11],
        yticks=[0, 5, 11],
    )
    seen = (seen.float() @ mask.float()) > 0
plotting.picture(
    figure,
    caption="With a window of 4, every further layer lets a word know three more.",
    alt="Three maps of twelve queries by twelve keys, in which filled cells say which words a word depends on. With one "
    "layer it is a diagonal band of four cells, with two a band of seven, with three a band of ten.",
)

# %% [markdown]
# Each layer adds $W - 1$ words, so $L$ layers reach $L (W - 1) + 1$ words. Mistral 7B, with its 32 layers and a
# window of 4096, could in principle depend on more than 130 000 words (Jiang et al., 2023). Whether anything useful
# arrives from that far is another question, which such a count does not answer.
#
# ## 6. PyTorch's own, and its trap
#
# `F.scaled_dot_product_attention` computes all of this with fast kernels where there are any. Its argument `is_causal`
# builds the mask for you. But which one? With as many queries as keys there is only one causal mask. With a cache there
# are fewer queries than keys, and PyTorch takes the mask from the *upper left* corner, where the first query may see a
# single key.

# %%
generator = torch.Generator().manual_seed(5)
query = torch.randn(1, 1, 2, 4, generator=generator)  # two new words
key, value = torch.randn(2, 1, 1, 5, 4, generator=generator)  # three in the cache and the two

right, _ = scaled_dot_product_attention(query, key, value, causal_mask(5)[3:])
with_flag = F.scaled_dot_product_attention(query, key, value, is_causal=True)
with_mask = F.scaled_dot_product_attention(query, key, value, attn_mask=causal_mask(5)[3:])
print("is_causal=True is right:", torch.allclose(with_flag, right, atol=1e-6))
print("our mask is right:      ", torch.allclose(with_mask, right, atol=1e-6))
print("its first row is the first value:", torch.allclose(with_flag[0, 0, 0], value[0, 0, 0]))

# %% tags=["hide-input"]
assert torch.allclose(with_mask, right, atol=1e-6) and not torch.allclose(
    with_flag, right, atol=1e-2
)
assert torch.allclose(with_flag[0, 0, 0], value[0, 0, 0], atol=1e-6)
print("the flag hides the cache from the new words; the mask does not")

# %% [markdown]
# Nothing stops, and in a prefill the flag is right. The mistake shows only when words are written, as text that gets
# worse and worse. So with a cache, hand over a mask of your own. For a single new word, no mask at all is right,
# because the newest word may see everything.
#
# ## Summary
#
# - Because of the causal mask, keys and values of earlier words never change, so a cache of them makes the next word
#   cost a single row. The mask of $T$ new words is the last $T$ rows of the whole mask.
# - A cache takes $2 \cdot \text{layers} \cdot \text{key heads} \cdot d_k$ numbers per word. Sharing key heads divides
#   that by the size of a group.
# - A softmax needs one pass if the maximum, the sum and the output are carried along and rescaled. The weights are
#   never stored, and the number of operations stays the same.
# - A window bounds work and cache, and $L$ layers of it reach $L (W - 1) + 1$ words.
# - `is_causal=True` is wrong where there are fewer queries than keys.
#
# **Now you:** [assignment a11, fast attention](../exercises/a11_fast_attention/a11_fast_attention.ipynb). The
# [next lecture](11_block_of_today.ipynb) exchanges the other parts of the block. This is the end of the core. Section 7
# goes deeper, and you can skip it.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 1, 2, 3 and 4 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** Why is there no cache of queries?
#
# <details><summary>Answer</summary>
#
# A query is used once, by its own word, when that word is read. Later words bring queries of their own and compare them
# with the old keys.
#
# </details>
#
# **2.** Would a cache help a model without a causal mask, such as BERT?
#
# <details><summary>Answer</summary>
#
# No. Without the mask every new word changes what the earlier words collect, so from the second layer on all keys and
# values change, and everything has to be computed again.
#
# </details>
#
# **3.** A softmax in one pass rescales by $e^{m - m'}$. What happens in the first block, where $m = -\infty$?
#
# <details><summary>Answer</summary>
#
# The factor is $e^{-\infty} = 0$, so whatever $\ell$ and $o$ held before is dropped, which is right because they held
# nothing. If the whole first block is hidden by a mask, $m'$ is $-\infty$ as well and the difference is not a number,
# so code with masks has to look out for it.
#
# </details>
#
# **4.** With one key head for all query heads, do all heads compute the same?
#
# <details><summary>Answer</summary>
#
# No. They compare different queries with the same keys, so their weights differ. They do mix the same values, which the
# output map can combine in different ways.
#
# </details>

# %% [markdown]
# ## 7. Going deeper: a cache that forgets
#
# With a window of $W$, no word ever looks at a key that is more than $W - 1$ places back, so a layer may drop it. The
# cache then has a fixed size however long the text becomes. Only two things have to stay right, which are the mask and
# the position of the new word.

# %%
torch.manual_seed(6)
W, length = 4, 12
query, key, value = (torch.randn(1, 2, length, width) for width in (4, 4, 6))
whole, _ = scaled_dot_product_attention(query, key, value, sliding_window_mask(length, length, W))

kept_keys, kept_values = key[:, :, :0], value[:, :, :0]
outputs = []
for t in range(length):
    kept_keys = torch.cat([kept_keys, key[:, :, t : t + 1]], dim=2)[:, :, -W:]
    kept_values = torch.cat([kept_values, value[:, :, t : t + 1]], dim=2)[:, :, -W:]
    output, _ = scaled_dot_product_attention(query[:, :, t : t + 1], kept_keys, kept_values)
    outputs.append(output)

print("cache:", tuple(kept_keys.shape), "after", length, "words")
print("equal to the masked whole:", torch.allclose(torch.cat(outputs, dim=2), whole, atol=1e-6))

# %% tags=["hide-input"]
assert kept_keys.shape == (1, 2, W, 4)
assert torch.allclose(torch.cat(outputs, dim=2), whole, atol=1e-6)
print("four keys are kept, and the result is that of the window over the whole text")

# %% [markdown]
# The new word needs no mask, because everything that is left in the cache may be seen. In a model, its position still
# has to count from the beginning of the text and not from the beginning of the cache. Code that takes the length of
# the cache for the position is right until the first key is dropped, and wrong from there on.

# %% [markdown]
# ## Further reading
#
# - Noam Shazeer (2019). *[Fast Transformer Decoding: One Write-Head is All You
#   Need.](https://arxiv.org/abs/1911.02150)* arXiv:1911.02150. Section 2.4: decoding word by word; section 3: one key
#   head.
# - Reiner Pope and others (2022). *[Efficiently Scaling Transformer
#   Inference.](https://arxiv.org/abs/2211.05102)* arXiv:2211.05102. Section 2: prefill and decoding.
# - Joshua Ainslie, James Lee-Thorp, Michiel de Jong, Yury Zemlyanskiy, Federico Lebrón, Sumit Sanghai (2023).
#   *[GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
#   Checkpoints.](https://arxiv.org/abs/2305.13245)* EMNLP. Section 2.2.
# - Maxim Milakov, Natalia Gimelshein (2018). *[Online normalizer calculation for
#   softmax.](https://arxiv.org/abs/1805.02867)* arXiv:1805.02867. Algorithm 3.
# - Tri Dao, Daniel Y. Fu, Stefano Ermon, Atri Rudra, Christopher Ré (2022). *[FlashAttention: Fast and
#   Memory-Efficient Exact Attention with IO-Awareness.](https://arxiv.org/abs/2205.14135)* NeurIPS. Section 3.1.
# - Iz Beltagy, Matthew E. Peters, Arman Cohan (2020). *[Longformer: The Long-Document
#   Transformer.](https://arxiv.org/abs/2004.05150)* arXiv:2004.05150. Section 3.1: windows.
# - Hugo Touvron and others (2023). *[Llama 2: Open Foundation and Fine-Tuned Chat
#   Models.](https://arxiv.org/abs/2307.09288)* arXiv:2307.09288. Section 2.2: the larger models share key heads.
# - Albert Q. Jiang and others (2023). *[Mistral 7B.](https://arxiv.org/abs/2310.06825)* arXiv:2310.06825. Section 2
#   and table 1.
