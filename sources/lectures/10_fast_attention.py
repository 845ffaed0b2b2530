# ---
# jupyter:
#   course:
#     assignment: a11_fast_attention
#     deeper: 24
#     minutes: 50
#     summary: A cache of keys and values, why decoding is slow, fewer KV heads, a softmax in tiles, and sliding windows.
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
# A language model that generates 500 tokens the simple way recomputes every position at every step, each 250 times on
# average. In this lecture you will store what does not change, see why generation is still slow, and what current
# models do about it. A cache and a tiled softmax leave the result as it is; fewer KV heads and a sliding window do
# not.
#
# <!-- slide: You will make generation faster, and know why it was slow -->
#
# **By the end of this lecture you will be able to**
#
# - implement a key/value cache, generate text with it, and compute its size;
# - decide from operations and bytes whether a step is limited by arithmetic or by memory;
# - share keys and values between query heads, and state what this saves and what it may cost;
# - compute attention tile by tile, and bound how far it reaches with a sliding window.
#
# **Time** about 50 minutes with views and questions, and 24 for going deeper.
# **Needs** lectures [4](04_masked_attention.ipynb), [5](05_multi_head_attention.ipynb) and
# [9](09_one_half_alone.ipynb).

# %%
import math

import torch
import torch.nn.functional as F

from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_utils.language_models import CausalLanguageModel
from course_utils.masks import causal_mask
from lecture_kit import live, plotting, questions

plotting.use_course_style()
torch.set_num_threads(1)  # so that the processor's seconds are those of the computation

# %% [markdown]
# ## 1. What generation repeats
#
# To predict token 101, a causal model needs only the last row of its output, but the simple way runs all 100 tokens so
# far through the model again. Because of the causal mask, nothing has changed for the first 99. In every layer their
# queries, keys and values are the same as before.
#
# The new token's query is compared with their *keys*, and their *values* are averaged. If we keep both in a **key/value
# cache** or **KV cache**, a step has to compute only the new token's row. The cache holds
# $P$ tokens, $T$ are new, and $S = P + T$.


# %% slide="Later tokens need the keys and values of earlier ones, so we keep them"
class KVCache:
    """Keys and values of one layer, in buffers that fill up from the left."""

    def __init__(self, B, H, max_len, d_k):
        self.keys = torch.empty(B, H, max_len, d_k)
        self.values = torch.empty_like(self.keys)
        self.length = 0  # P

    def append(self, key, value):
        """Add T tokens, (B, H, T, d_k) each; returns all keys and values, (B, H, S, d_k)."""
        new = slice(self.length, self.length + key.shape[-2])
        if new.stop > self.keys.shape[-2]:
            raise ValueError(f"{new.stop} tokens, but the cache holds {self.keys.shape[-2]}")
        self.keys[:, :, new], self.values[:, :, new] = key, value
        self.length = new.stop
        return self.keys[:, :, : new.stop], self.values[:, :, : new.stop]  # views, no copies


# %% [markdown]
# The mask has a row for each new token and a column for each key. New token $i$, counted from 0, is at position $P +
# i$, so it may attend to all cached tokens and to the new tokens 0 to $i$. In the square mask of the whole sequence,
# these are the **last** $T$ rows. The code builds only these.


# %% slide="A new token attends to the cache and to the new tokens up to itself"
def attend_with_cache(query, key, value, cache):
    """Causal attention of T new tokens, which are added to the cache."""
    first = cache.length  # the position of the first new token
    keys, values = cache.append(key, value)
    mask = None  # one new token may attend to all tokens so far
    if query.shape[-2] > 1:
        positions = torch.arange(first, cache.length).unsqueeze(1)  # (T, 1)
        mask = torch.arange(cache.length) <= positions  # (T, S)
    return scaled_dot_product_attention(query, keys, values, mask)[0]


# %% tags=["hide-input"]
P, T = 4, 3
whole = causal_mask(P + T)
figure, (left, right) = plotting.panels(2, height=3.9)
plotting.mask_map(whole, ax=left)
left.axhspan(P - 0.5, P + T - 0.5, fill=False, edgecolor=plotting.SERIES[2], linewidth=4, zorder=6)
left.set_title("all seven tokens")
plotting.mask_map(whole[P:], ax=right, query_label="")
right.set_title("three new tokens, four in the cache")
right.set_yticks(range(T), range(P, P + T))
for ax in (left, right):
    ax.set_aspect("equal")
plotting.picture(
    figure,
    caption="The mask of new tokens is the lower end of the whole mask, not its upper left corner.",
    alt="Left, the causal mask of seven tokens, a lower triangle, in which the last three rows are framed. Right, "
    "these three rows alone: rows 4 to 6 and columns 0 to 6; the first row shows five keys, the second six, the "
    "third all seven.",
)

# %% [markdown]
# A model with such layers first runs the prompt in one pass (the **prefill**), then generates one token at a time
# (**decoding**). Here is the forward pass of lecture 9's causal model. Positions continue from the cache's length, read
# before the layers add to it. Restarting them at 0 is the classic bug of a first cache.


# %% slide="With a cache for each layer, the forward pass runs only the new tokens"
def further_logits(model, token_ids, caches):
    """Logits (B, V) for the token after `token_ids` (B, T), which follow what is in the caches."""
    first = caches[0].length
    positions = torch.arange(first, first + token_ids.shape[1])
    x = model.embedding(token_ids) + model.position_embedding(positions)  # (B, T, D)
    for layer, cache in zip(model.layers, caches, strict=True):
        attention = layer.self_attn
        maps = attention.w_q, attention.w_k, attention.w_v
        heads = [split_heads(linear(x), attention.num_heads) for linear in maps]  # (B, H, T, d_k)
        context = attend_with_cache(*heads, cache)
        x = layer.layer_norm1(x + attention.w_o(merge_heads(context)))
        x = layer.layer_norm2(x + layer.feed_forward(x))
    return x[:, -1] @ model.embedding.weight.T  # only the last row is needed


# %% slide="Each step runs what is pending: the prompt, and then one token at a time"
LAYERS, HEADS, WIDTH, LONGEST = 4, 4, 128, 512


def empty_caches(model, sequences=1):
    """One cache for each layer."""
    return [KVCache(sequences, HEADS, LONGEST, WIDTH // HEADS) for _ in model.layers]


def generate(model, token_ids, count, keep):
    """Append the most likely token `count` times, with caches that are kept or begun anew."""
    caches, pending = empty_caches(model), token_ids
    for _ in range(count):
        logits = further_logits(model, pending, caches)
        pending = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
        token_ids = torch.cat([token_ids, pending], dim=1)
        if not keep:
            caches, pending = empty_caches(model), token_ids  # everything is computed again
    return token_ids


# %% [markdown]
# Our model has random parameters.

# %% slide="Token by token, the logits are those of one pass, up to rounding"
torch.manual_seed(0)
model = CausalLanguageModel(100, WIDTH, HEADS, LAYERS, 256, dropout=0.0, max_len=LONGEST).eval()
model.requires_grad_(False)


text = torch.randint(100, (1, LONGEST))  # (B, S)
at_once = model(text)[0]  # (S, V)
caches = empty_caches(model)
one_by_one = torch.cat([further_logits(model, token, caches) for token in text.split(1, dim=1)])
print(f"largest difference of two logits: {(one_by_one - at_once).abs().max():.0e}")

# %% tags=["hide-input"]
# the model's own logits, also in float64 and in pieces; attention as in course_utils
from course_utils import fast_attention

assert torch.allclose(one_by_one, at_once, atol=1e-4)
for sizes in ([512], [300, 1, 211]):
    caches = empty_caches(model)
    last = [further_logits(model, piece, caches) for piece in text.split(sizes, dim=1)][-1]
    assert torch.allclose(last, at_once[-1:], atol=1e-4)
generator = torch.Generator().manual_seed(2)
parts = [torch.randn(1, 3, 7, 4, generator=generator, dtype=torch.float64) for _ in range(3)]
one_cache, pair = KVCache(1, 3, 7, 4), None
one_cache.keys, one_cache.values = one_cache.keys.double(), one_cache.values.double()
for piece in zip(*(part.split([4, 1, 2], dim=2) for part in parts), strict=True):
    theirs, pair = fast_attention.cached_attention(*piece, pair)
    ours = attend_with_cache(*piece, one_cache)
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)
assert torch.equal(one_cache.keys, pair[0]) and torch.equal(one_cache.values, pair[1])
try:
    one_cache.append(*(part[:, :, :1] for part in parts[1:]))
    raise AssertionError("a full cache takes no further token")
except ValueError:
    pass

# %% [markdown]
# The logits are the same. In this view three words are the prompt.
#
# 1. Press *next token* until the sentence is complete. How many rows were computed?
# 2. Go back to the prompt, switch the cache off, and generate it again. How many rows now, and how many for a second
#    time?

# %% tags=["hide-input"]
eight_words = ["it", "is", "easy", "to", "translate", "this", "sentence", "."]
assert 3 + 5 == 8 and sum(range(3, 9)) == 33 and sum(range(3, 8)) == 25
live.cache_view(eight_words, prompt=3)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# With the cache 8 rows are computed, one for each token. Without it there are 33, of which 25 had been computed before.
# The view also runs the last token, which `generate` does not; there it is 7 rows against 25.
#
# </details>

# %% tags=["hide-input"]
questions.ask("10", "which-rows-of-the-mask")


# %% tags=["hide-input"]
import time

from torch.utils.flop_counter import FlopCounterMode


def processor_seconds(compute, *inputs, repetitions=5):
    """The shortest of some runs."""
    taken = []
    for _ in range(repetitions):
        start = time.process_time()
        compute(*inputs)
        taken.append(time.process_time() - start)
    return min(taken)


def operations(compute, *inputs):
    """Multiplications and additions in matrix products."""
    with FlopCounterMode(display=False) as counter:
        compute(*inputs)
    return counter.get_total_flops()


# %% [markdown]
# ### What it saves
#
# We count the operations of all matrix products and time both versions.

# %% slide="A hundred times fewer operations, but not a hundred times faster" tags=["hide-input", "nbval-ignore-output"] seconds=12
saved = {}  # tokens -> ratio of operations, ratio of seconds
print("          GFLOP              seconds           without / with")
print("tokens    without   with     without   with    GFLOP  seconds")
for count in (75, 150, 300):
    flops, seconds = [], []
    for keep in (False, True):
        inputs = model, text[:, :8], count, keep
        flops.append(operations(generate, *inputs))
        seconds.append(processor_seconds(generate, *inputs, repetitions=1))
    saved[count] = flops[0] / flops[1], seconds[0] / seconds[1]
    print(f"{count:6d} {flops[0] / 1e9:10.1f} {flops[1] / 1e9:6.2f} ", end="")
    print("{:11.2f} {:6.2f} {:8.0f} {:8.1f}".format(*seconds, *saved[count]))

# %% tags=["hide-input"]
# the same text both ways; operations as by hand; the clock gains less than the count
start = text[:, :8]
assert torch.equal(generate(model, start, 60, True), generate(model, start, 60, False))
d_model, d_ff, V = 128, 256, 100
for T, S in ((1, 400), (400, 400)):
    caches = empty_caches(model)
    if T < S:
        further_logits(model, text[:, : S - T], caches)
    counted = operations(further_logits, model, text[:, S - T : S], caches)
    layer = T * (8 * d_model**2 + 4 * d_model * d_ff) + 4 * T * S * d_model
    assert counted == LAYERS * layer + 2 * d_model * V
assert 100 < saved[300][0] < 200 and 1.5 < saved[300][1] < 0.5 * saved[300][0]

# %% [markdown]
# **At 300 tokens the cache saves more than 99 % of the operations, but far less of the time.** For a text of $S$ tokens
# it reduces the operations of attention from order $S^3$ to order $S^2$, and those of everything else from $S^2$ to
# $S$. But in a model this small a cached step is mostly the overhead of launching each operation. Even at width 8
# instead of 128 it takes more than half of the time.
#
# ## 2. Why decoding is slow
#
# Before a processor can multiply two numbers, it has to fetch them from memory. A computation is limited either by the
# operations that the machine can do in a second or by the bytes that it can move, its **memory bandwidth**. Which limit
# applies depends on the **arithmetic intensity**, the operations per byte moved:
#
# <!-- slide: A step waits for arithmetic or for memory, whichever is slower -->
#
# $$\text{operations per second} \le \min(\text{peak},\ \text{bandwidth} \times \text{intensity})$$
#
# Drawn over the intensity, this is a slope that ends in a ceiling, the **roofline** (Williams et al., 2009). A linear
# map with $n \times n$ parameters, applied to $b$ tokens at once, takes $2 b n^2$ operations. It moves at least the
# $n^2$ parameters, four bytes each in `float32`, so its intensity is about $b / 2$ for $b$ much smaller than $n$. In
# decoding $b = 1$. We measure both limits.


# %% slide="One token leaves most of the arithmetic idle" tags=["hide-input", "nbval-ignore-output"] seconds=4
matrix = torch.randn(4096, 4096)  # 64 MiB, more than the processor's caches hold
square = torch.randn(1024, 1024)
peak = 2 * 1024**3 / processor_seconds(torch.matmul, square, square, repetitions=30)
bandwidth = matrix.nbytes / processor_seconds(torch.sum, matrix, repetitions=30)
print(f"peak {peak / 1e9:.0f} GFLOP/s, bandwidth {bandwidth / 1e9:.0f} GB/s")

reached = {}  # tokens at once -> operations per second
for b in (1, 4, 16, 64, 256):
    tokens = torch.randn(b, 4096)
    seconds = processor_seconds(torch.matmul, tokens, matrix)
    reached[b] = 2 * b * matrix.numel() / seconds
    print(f"tokens at once {b:3d}: {1000 * seconds:6.1f} ms, {reached[b] / 1e9:5.1f} GFLOP/s")

# %% tags=["hide-input", "nbval-ignore-output"]
assert reached[1] < 0.5 * reached[256]
intensity = sorted([0.25, peak / bandwidth, 256])
figure, ax = plotting.panels(1, height=4.4)
roof = [min(peak, bandwidth * one) / 1e9 for one in intensity]
ax.plot(intensity, roof, color=plotting.MUTED, marker="", label="the two limits")
ax.scatter(
    [b / 2 for b in reached],
    [found / 1e9 for found in reached.values()],
    color=plotting.SERIES[0],
    zorder=3,
    label="a linear map",
)
for b, found in reached.items():
    ax.annotate(
        f"{b} token" + "s" * (b > 1),
        (b / 2, found / 1e9),
        xytext=(8, -14),
        textcoords="offset points",
    )
ax.set(
    xscale="log",
    yscale="log",
    xlabel="operations per byte",
    ylabel="GFLOP/s",
    title="one processor core",
)
plotting.ticks_at(ax, x=[0.5, 2, 8, 32, 128], y=[1, 3, 10, 30, 100])
ax.legend(loc="lower right")
plotting.picture(
    figure,
    caption="A single token leaves most of the arithmetic idle. Many tokens at once use it.",
    alt="A roofline with both axes logarithmic: GFLOP per second against operations per byte. The limit rises as a "
    "straight line with the bandwidth until it reaches the peak, and is level from there. Points of a linear map "
    "applied to 1, 4, 16, 64 and 256 tokens: one token lies far to the left and low, on the slope, and 256 tokens "
    "close to the level part.",
)

# %% [markdown]
# On this core, one token gets about a tenth of the peak. The roof is an upper limit, and 4 or 16 tokens reach less than
# half of it. From 3 tokens to 4 the time doubles, probably because the library changes to a routine for large
# matrices, which needs many rows to pay off. On a GPU the two limits are further apart. NVIDIA's H100 (SXM) has 989
# TFLOP/s for two-byte numbers and 3.35 TB/s, so the roof bends at 295 operations per byte, whereas a linear map in
# decoding does one.
#
# The parameters of Llama 2 7B take 13.5 GB. An H100 reads them in 4 ms and multiplies them in 0.014 ms, so a single
# sequence can get at most about 250 tokens per second at one token per pass, however fast the arithmetic is.
#
# ### The cache has to be read as well
#
# Each step also reads the keys and values of all tokens so far. Every layer keeps one of each per token and **KV
# head**, a key head with its value head, so a cache takes
#
# <!-- slide: Every layer keeps a key and a value per token and KV head -->
#
# $$2 \cdot \text{layers} \cdot \text{KV heads} \cdot d_k \cdot \text{bytes per number}$$
#
# bytes per token.


# %%
def cache_bytes(layers, kv_heads, d_k, size=2):
    """Bytes of cache per token."""
    return 2 * layers * kv_heads * d_k * size


# %% tags=["hide-input"]
# the formula gives the bytes of our own cache; the numbers of this section and the next
kept = empty_caches(model)
held = sum(part.nbytes for cache in kept for part in (cache.keys, cache.values))
assert held / LONGEST == cache_bytes(LAYERS, HEADS, 32, size=4)
assert cache_bytes(32, 32, 128) == 512 * 2**10 and 8 * 4096 * cache_bytes(32, 32, 128) == 2**34
assert 13.4e9 < 2 * 6.74e9 < 13.5e9 and 294 < 989e12 / 3.35e12 < 296
assert 3.9 < 1000 * 13.5e9 / 3.35e12 < 4.1 and 0.0135 < 1000 * 13.5e9 / 989e12 < 0.0140

# %% tags=["hide-input"]
lengths = [2**k for k in range(11, 18)]
drawn = {
    "Llama 2 70B, not shared": (80, 64, 128),
    "Llama 2 7B": (32, 32, 128),
    "Llama 2 70B": (80, 8, 128),
    "Llama 3.1 8B": (32, 8, 128),
}
figure, ax = plotting.panels(1, height=4.6)
for (name, (layers, kv_heads, d_k)), colour in zip(drawn.items(), plotting.SERIES, strict=False):
    sizes = [length * cache_bytes(layers, kv_heads, d_k) / 1e9 for length in lengths]
    style = "--" if "not" in name else "-"
    ax.plot(lengths, sizes, style, color=colour, marker="", label=name)
ax.axhline(80, color=plotting.MUTED, linewidth=1.5, linestyle=":")
ax.annotate("memory of an H100", (lengths[0], 80), xytext=(2, 6), textcoords="offset points")
ax.set(xscale="log", yscale="log", xlabel="tokens in the cache", ylabel="GB", xlim=(2000, 135_000))
ax.set_xticks([2048, 8192, 32768, 131072], ["2048", "8192", "32 768", "131 072"])
plotting.ticks_at(ax, y=[0.5, 2, 8, 30, 100, 300])
plotting.label_ends(ax)
plotting.picture(
    figure,
    caption="Shared KV heads give the model of 70 billion parameters a smaller cache than the one of 7 billion.",
    alt="The size of the cache of one sequence in gigabytes against its number of tokens, both on logarithmic axes, "
    "with a dotted line at 80 GB, the memory of an H100. All lines rise in proportion to the tokens. With 131 072 "
    "tokens: "
    + ", ".join(
        f"{name} {lengths[-1] * cache_bytes(*shape) / 1e9:.0f} GB" for name, shape in drawn.items()
    )
    + ".",
)

# %% [markdown]
# Llama 2 was made for 4096 tokens and Llama 3.1 8B for 131 072, so the other lines are mostly thought experiments. With
# eight sequences of 4096 tokens, the caches of Llama 2 7B take 16 GiB, more than its parameters.
#
# **Attention has an intensity of its own.** In two-byte numbers a key and its value take $4 d_k$ bytes, and each query
# head that uses them performs $4 d_k$ operations on them. With $H$ query heads and $G$ KV heads, a step therefore does
# $H / G$ operations per byte of the cache, 1 in Llama 2 7B and 8 in Llama 2 70B, however many sequences there are, since
# each has its own cache.
#
# Most speed-ups save bytes. The first three act on decoding, the last on training and prefill.
#
# <!-- slide: Most speed-ups save bytes -->
#
# - **Batching** runs many sequences side by side, which share one reading of the parameters.
# - **Fewer KV heads** make the caches smaller (section 3), and a **sliding window** bounds them (section 5).
# - **Quantised weights** store a parameter in one byte or half a byte instead of two.
# - **FlashAttention** never moves the attention weights to and from memory (section 4).

# %% tags=["hide-input"]
questions.ask("10", "how-much-cache")

# %% [markdown]
# ## 3. Fewer KV heads
#
# In **multi-query attention** all query heads share one KV head (Shazeer, 2019). The heads still differ, because their
# queries do. In **grouped-query attention** (Ainslie et al., 2023) each group of neighbouring query heads shares one.
# With $H$ query heads and $G$ KV heads, query head $h$, counted from 0, uses KV head $\lfloor h / (H / G) \rfloor$. The
# maps $W_k$ and $W_v$ become narrower, $d_\text{model} \times G d_k$.

# %% tags=["hide-input"]
figure, axes = plotting.panels(3, height=2.9)
for ax, (name, kv_heads) in zip(
    axes, {"multi-head": 8, "grouped-query": 2, "multi-query": 1}.items(), strict=True
):
    size = 8 // kv_heads
    centres = [g * size + (size - 1) / 2 for g in range(kv_heads)]
    for h in range(8):
        ax.plot(
            [h, centres[h // size]], [1, 0], "-", color=plotting.MUTED, linewidth=1.4, marker=""
        )
    ax.plot(range(8), [1] * 8, "o", color=plotting.SERIES[0], markersize=15)
    ax.plot(centres, [0] * kv_heads, "s", color=plotting.SERIES[1], markersize=15)
    ax.set(xlim=(-0.7, 7.7), ylim=(-0.45, 1.45), title=name, xticks=[])
    ax.set_yticks([0, 1], ["KV heads", "query heads"] if kv_heads == 8 else ["", ""])
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
plotting.picture(
    figure,
    caption="The same eight query heads with eight KV heads, two or one. Only the KV heads are cached.",
    alt="Three panels, each with eight circles in a row, the query heads, above squares, the KV heads. Multi-head: a "
    "square below each circle. Grouped-query: two squares, the first joined to the first four circles, the second to "
    "the other four. Multi-query: one square, joined to all eight.",
)


# %% slide="Query heads of a group share one key and value head"
def grouped_by_loop(queries, keys, values):
    """queries (B, H, T, d_k), keys and values (B, G, S, d_k) -> (B, H, T, d_k)."""
    group = queries.shape[1] // keys.shape[1]  # query heads that share a KV head
    outputs = []
    for h in range(queries.shape[1]):
        key, value = keys[:, h // group], values[:, h // group]  # (B, S, d_k)
        outputs.append(scaled_dot_product_attention(queries[:, h], key, value)[0])
    return torch.stack(outputs, dim=1)


# %% [markdown]
# Without the loop, `keys.repeat_interleave(H // G, dim=1)` copies every KV head for the query heads of its group. This
# is right, but moves at least as many bytes as before. Kernels behind PyTorch's `enable_gqa` on a GPU can read the
# shared head without a copy. `repeat` tiles the whole set instead, so neighbouring query heads get different KV heads;
# the shapes are right, and the result is wrong.


# %% slide="`repeat` has the right shapes and the wrong heads" tags=["hide-input"]
generator = torch.Generator().manual_seed(3)
queries = torch.randn(2, 6, 5, 4, generator=generator)  # (B, H, T, d_k)
keys, values = torch.randn(2, 2, 2, 7, 4, generator=generator)  # two of (B, G, S, d_k)
by_loop = grouped_by_loop(queries, keys, values)

copies = [part.repeat_interleave(3, dim=1) for part in (keys, values)]  # (B, H, S, d_k)
rounds = [part.repeat(1, 3, 1, 1) for part in (keys, values)]
print("6 query heads, 2 KV heads")
for name, pair in {"repeat_interleave": copies, "repeat": rounds}.items():
    output, _ = scaled_dot_product_attention(queries, *pair)
    print(f"{name} equals the loop:", torch.allclose(output, by_loop, atol=1e-6))

# %% tags=["hide-input"]
# PyTorch agrees with the loop, and so does the layer of course_utils
theirs = F.scaled_dot_product_attention(queries, keys, values, enable_gqa=True)
assert torch.allclose(theirs, by_loop, atol=1e-6)
output, _ = scaled_dot_product_attention(queries, *copies)
assert torch.allclose(output, by_loop, atol=1e-6)
wrong, _ = scaled_dot_product_attention(queries, *rounds)
assert wrong.shape == by_loop.shape and not torch.allclose(wrong, by_loop, atol=1e-2)
layer = fast_attention.GroupedQueryAttention(24, 6, 2)
x = torch.randn(2, 5, 24, generator=generator)
cut = [split_heads(w(x), heads) for w, heads in ((layer.w_q, 6), (layer.w_k, 2), (layer.w_v, 2))]
whole, _ = layer(x, x, x)
assert torch.allclose(layer.w_o(merge_heads(grouped_by_loop(*cut))), whole, atol=1e-6)

# %% tags=["hide-input"]
questions.ask("10", "which-key-head")

# %% [markdown]
# ### What it costs
#
# Fewer KV heads may make a model worse. We measure this on the language of lecture 9, with two layers and eight query
# heads of width 8 (`sources/recorded/grouped_queries.py`).

# %% tags=["hide-input"]
RECORDED = """\
0.004 8 0.0161 0.0161 0.0132 0.0132 0.0132
0.004 2 0.0154 0.0152 0.0145 0.0150 0.0144
0.004 1 0.0187 0.0174 0.0154 0.0164 0.0167
0.008 8 0.0092 0.0096 0.0084 0.0089
0.008 1 0.0104 0.0105 0.0094 0.0104
"""
gaps = {}  # (learning rate, KV heads) -> nats above the entropy, one for each seed
for line in RECORDED.splitlines():
    rate, kv_heads, *numbers = line.split()
    gaps[float(rate), int(kv_heads)] = torch.tensor([float(number) for number in numbers])
print("  rate   KV heads   nats above the entropy     mean    cache per token")
for (rate, kv_heads), found in gaps.items():
    found_range = f"{found.min():.4f} to {found.max():.4f}, {len(found)} seeds"
    size = cache_bytes(2, kv_heads, 8, size=4)
    print(f"{rate:6.3f} {kv_heads:7d}      {found_range} {found.mean():9.4f} {size:10d} bytes")
for rate, seeds, least, most in ((0.004, 5, 0.0025, 0.0027), (0.008, 4, 0.0010, 0.0013)):
    worse = gaps[rate, 1] - gaps[rate, 8]
    assert len(worse) == seeds and (worse > 0).all() and least < worse.mean() < most
assert all(gaps[0.008, kv_heads].max() < gaps[0.004, kv_heads].min() for kv_heads in (8, 1))
few, many = gaps[0.004, 2], gaps[0.004, 8]
assert abs(few.mean() - many.mean()) < many.max() - many.min()

# %% [markdown]
# **One KV head instead of eight makes the loss higher with every seed, by 0.0026 nats on average at lecture 9's
# learning rate.** At twice that rate it is about 0.001. Neither rate has been tuned, so part of the difference may only
# reflect slower training, or fewer parameters. With two KV heads, the difference is smaller than the spread between
# seeds.
#
# For T5-XXL, which has 64 query heads, the average score falls from 47.2 to 47.1 with eight KV heads and to 46.6 with
# one, after a conversion and 5 % more training (Ainslie et al., 2023, table 1).
#
# ## 4. A softmax in one pass
#
# With 4096 tokens, 32 heads and two-byte numbers, the attention weights take 1 GiB per layer. Can we do without storing
# them? A softmax seems to need all scores of a row, because it subtracts the largest and divides by the sum of all
# exponentials. But a running maximum $m$ and sum $\ell$ can be carried along while the scores come in (Milakov &
# Gimelshein, 2018), and so can the output $o$ (Rabe & Staats, 2021; Dao et al., 2022).
#
# For one query, before any key, $m = -\infty$, $\ell = 0$ and $o = 0$. A block of keys with scores $\omega_j$ and
# values $v_j$ changes them to
#
# <!-- slide: Maximum, sum and output can be carried along and rescaled -->
#
# $$m' = \max(m, \max_j \omega_j), \qquad
# \ell' = e^{m - m'} \ell + \sum_j e^{\omega_j - m'}, \qquad
# o' = e^{m - m'} o + \sum_j e^{\omega_j - m'} v_j$$
#
# While the maximum stays the same, the factor $e^{m - m'}$ is 1. A larger score makes it smaller, which corrects all
# earlier terms. In the end the output is $o / \ell$.
#
# Here are the scores 0, ln 3 and ln 4 with the values 8, 4 and 2, one key at a time.

# %% slide="One key at a time gives the whole softmax"
scores = [0.0, math.log(3), math.log(4)]
m, total, o = -math.inf, 0.0, 0.0  # total is ℓ
print("  score  value       m      sum   output")
for score, value in zip(scores, [8.0, 4.0, 2.0], strict=True):
    largest = max(m, score)
    rescale, weight = math.exp(m - largest), math.exp(score - largest)
    m, total, o = largest, rescale * total + weight, rescale * o + weight * value
    print(f"{score:7.3f} {value:6.1f} {m:7.3f} {total:8.4f} {o:8.4f}")
print(f"output / sum = {o / total:.2f}")

# %% tags=["hide-input"]
# 3.5, and the same from a softmax over all three at once; the sizes of weights and of everything else
assert abs(o / total - 3.5) < 1e-9
all_three = torch.tensor(scores).softmax(dim=0) @ torch.tensor([8.0, 4.0, 2.0])
assert abs(all_three.item() - 3.5) < 1e-5
assert 32 * 4096**2 * 2 == 2**30 == 8 * (4 * 4096 * 32 * 128 * 2)

# %% tags=["hide-input"]
questions.ask("10", "when-to-rescale")

# %% [markdown]
# For whole matrices the same lines work on many queries at once. At any time only a **tile** of the score matrix
# exists, a row for each query and a column for each key.
#
# <!-- slide: Only one tile of the scores exists at any time -->
#
# ![Four queries beside a matrix of scores with eight columns, one for each key, which has its key and its value above
# it. The first four columns are empty, done and not kept. Columns five and six, in a frame, hold scores, such as 3.0
# and 0.7 for query two. The last two are hatched, still to come. On the right, for each query, the maximum before the
# block, the factor, and what is carried on, which is the new maximum, the sum and the output as a strip of four
# cells. Queries two and four find a larger score, so their factors are 0.22 and 0.41 instead of
# 1.](../figures/softmax_tiles.svg)
#
# *Queries 2 and 4 find a larger score in the frame, so what they have added up so far is scaled down.*
#
# **FlashAttention** cuts the queries into blocks as well; ours are as long as the blocks of keys. With a causal mask,
# the tiles above the diagonal are hidden as a whole and can be skipped, and only those on the diagonal need a mask.


# %% slide="FlashAttention, as an algorithm, is two loops over tiles"
def tiled_attention(query, key, value, size):
    """Causal attention, (H, T, d_k), (H, T, d_k), (H, T, d_v) -> (H, T, d_v), tile by tile."""
    outputs = []
    for start in range(0, query.shape[-2], size):
        q = query[:, start : start + size] / math.sqrt(query.shape[-1])  # a block of queries
        m = torch.full_like(q[..., :1], -math.inf)  # (H, size, 1)
        total, o = torch.zeros_like(m), 0.0  # o becomes (H, size, d_v) in the first block
        for begin in range(0, start + size, size):  # later keys are hidden from all of them
            block = slice(begin, begin + size)
            scores = q @ key[:, block].transpose(-2, -1)  # a tile: (H, size, size)
            if begin == start:  # on the diagonal, where the last tile may be smaller
                scores = scores.masked_fill(~causal_mask(scores.shape[-1]), -math.inf)
            largest = m.maximum(scores.amax(dim=-1, keepdim=True))
            rescale, weights = torch.exp(m - largest), torch.exp(scores - largest)
            total = rescale * total + weights.sum(dim=-1, keepdim=True)
            o = rescale * o + weights @ value[:, block]  # (H, size, d_v)
            m = largest
        outputs.append(o / total)
    return torch.cat(outputs, dim=-2)


# %% [markdown]
# In [assignment 11](../exercises/a11_fast_attention/a11_fast_attention.ipynb#4.-Softmax-in-one-pass)
# you will implement a version for any mask, where a whole block may be hidden and leave $m'$ at
# $-\infty$. To compare the memory, we record the largest number of values in new tensors at any time.


# %% tags=["hide-input"]
from torch.utils._python_dispatch import TorchDispatchMode


class NumbersHeld(TorchDispatchMode):
    """Notes how many numbers the new tensors hold together, at most; views are free.

    PyTorch has no documented way to see when a tensor on the CPU is freed, so this one may change.
    """

    def __init__(self, *given):
        super().__init__()
        self.most, self.held = 0, {}
        self.given = [one.untyped_storage().data_ptr() for one in given]

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            storage = result.untyped_storage()
            if storage.data_ptr() not in self.given:
                weak = torch.multiprocessing.reductions.StorageWeakRef(storage)
                self.held[weak] = storage.nbytes() // result.element_size()
        self.held = {one: size for one, size in self.held.items() if not one.expired()}
        self.most = max(self.most, sum(self.held.values()))
        return result


def at_most_held(compute, *inputs):
    """The largest number of values in new tensors while `compute` runs."""
    with torch.no_grad(), NumbersHeld(*inputs) as watch:
        compute(*inputs)
    return watch.most


# %% slide="In tiles, memory grows with the length and not with its square" tags=["hide-input"]
def in_tiles(query, key, value):
    return tiled_attention(query, key, value, size=64)


def all_at_once(query, key, value):
    return scaled_dot_product_attention(query, key, value, causal_mask(query.shape[-2]))[0]


held = {}
print("tokens   all at once    in tiles   largest difference")
for T in (128, 512, 2048):
    generator = torch.Generator().manual_seed(T)
    inputs = torch.randn(3, 2, T, 32, generator=generator).unbind()  # (H, T, d_k) each
    held[T] = at_most_held(all_at_once, *inputs), at_most_held(in_tiles, *inputs)
    difference = (all_at_once(*inputs) - in_tiles(*inputs)).abs().max()
    print(f"{T:6d} {held[T][0]:13,d} {held[T][1]:11,d} {difference:14.0e}")

# %% tags=["hide-input"]
# any size of tile gives the same, and so does course_utils; what grows with the square and what in proportion
inputs = torch.randn(3, 2, 200, 32, generator=torch.Generator().manual_seed(4)).unbind()
for size in (1, 7, 64, 5000):
    tiled = tiled_attention(*inputs, size)
    theirs = fast_attention.online_softmax_attention(*inputs, size, causal_mask(200))
    assert torch.allclose(tiled, all_at_once(*inputs), atol=1e-5)
    assert torch.allclose(tiled, theirs, atol=1e-5)
assert 14 < held[2048][0] / held[512][0] < 17 and 2.5 < held[2048][1] / held[512][1] < 4

# %% [markdown]
# **In tiles, memory grows with the length and not with its square**, because the output grows and the tiles do not.
#
# Saving memory does not by itself save time. FlashAttention does all of this inside one GPU kernel, so a tile never
# leaves the small, fast memory next to the arithmetic units. For the attention of GPT-2 medium, forward and backward,
# this moves a ninth of the bytes and takes about a sixth of the time (Dao et al., 2022, figure 2).
#
# ## 5. Sliding windows
#
# To bound both work and cache, a layer can attend to the nearest tokens only. With a **window** of $W$, a token attends
# to itself and the $W - 1$ tokens before it.


# %% slide="A window cuts off the far past as the causal mask cuts off the future"
def sliding_window_mask(T, S, window):
    """Masks (T, S) for the last T of S tokens."""
    everything = torch.ones(T, S, dtype=torch.bool)
    return everything.tril(S - T) & everything.triu(S - T - window + 1)


print(sliding_window_mask(2, 4, window=2).int())

# %% tags=["hide-input"]
# the same as course_utils.fast_attention, for four sizes
for sizes in [(2, 4, 2), (5, 5, 3), (1, 7, 4), (3, 9, 20)]:
    assert torch.equal(sliding_window_mask(*sizes), fast_attention.sliding_window_mask(*sizes))
assert sliding_window_mask(2, 4, 2).int().tolist() == [[0, 1, 1, 0], [0, 0, 1, 1]]

# %% [markdown]
# A single layer with a window of 4 cannot see a token ten positions back. But the tokens it attends to have collected
# from earlier ones in the layer below, so the reach grows with every layer.

# %% tags=["hide-input"]
figure, axes = plotting.panels(3, height=3.4, sharey=True)
mask = sliding_window_mask(12, 12, 4)
known = mask
for layers, ax in enumerate(axes, start=1):
    plotting.mask_map(known, ax=ax, query_label="" if layers > 1 else "query")
    ax.set(
        title=f"{layers} layer{'s' if layers > 1 else ''}",
        aspect="equal",
        xticks=[0, 5, 11],
        yticks=[0, 5, 11],
    )
    known = (known.float() @ mask.float()) > 0
plotting.picture(
    figure,
    caption="With a window of 4, every further layer extends the reach by three tokens.",
    alt="Three maps of twelve queries by twelve keys, in which filled cells show which tokens a token depends on. With "
    "one layer it is a diagonal band of four cells, with two a band of seven, with three a band of ten.",
)


def reach(layers, window, length=24):
    """On how many tokens the last output of a stack depends, by its derivatives."""
    torch.manual_seed(0)
    x = torch.randn(length, 8, dtype=torch.float64, requires_grad=True)
    mask = sliding_window_mask(length, length, window)
    rows = x
    for _ in range(layers):
        rows = rows + scaled_dot_product_attention(rows, rows, rows, mask)[0]
    (gradient,) = torch.autograd.grad(rows[-1].sum(), x)
    return (gradient.abs().amax(dim=1) > 0).sum().item()


assert [reach(layers, window=4) for layers in (1, 2, 3, 4)] == [4, 7, 10, 13]

# %% [markdown]
# Each layer adds $W - 1$ tokens, so $L$ layers reach $L (W - 1) + 1$. Mistral 7B, with its 32 layers and a window of
# 4096, could depend on more than 130 000 tokens (Jiang et al., 2023).
#
# In Gemma 3 models of 4B parameters or more, five layers with a window of 1024 alternate with one global layer (Gemma
# Team, 2025).
#
# ## Summary
#
# <!-- slide: Keep what does not change, and move fewer bytes -->
#
# - With a cache of keys and values, the next token costs a single row. The mask of $T$ new tokens is the last $T$ rows
#   of the whole mask.
# - Decoding one sequence of a large model is limited by memory bandwidth, since all parameters and the cache are read
#   for one token.
# - Sharing KV heads divides the cache by the size of a group. A window bounds it.
# - Attention needs one pass over the keys if maximum, sum and output are carried along and rescaled.
#
# **Now you:** [assignment a11, fast attention](../exercises/a11_fast_attention/a11_fast_attention.ipynb). The [next
# lecture](11_block_of_today.ipynb) exchanges the other parts of the block. Sections 6 to 9 go deeper.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 1, 2, 3 and 4 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you open the answer.
#
# **1.** Why is there no cache of queries?
#
# <details><summary>Answer</summary>
#
# A query is used once, by its own token, when that token is run through the layer. Later tokens bring their own queries
# and compare them with the old keys.
#
# </details>
#
# **2.** Would a cache help a model without a causal mask, such as BERT?
#
# <details><summary>Answer</summary>
#
# No. Without the mask every new token changes what the earlier tokens collect, so from the second layer on all keys and
# values change, and everything has to be computed again.
#
# </details>
#
# **3.** An H100 runs one sequence of a model of 7 billion parameters at 200 tokens per second. Someone doubles its peak
# arithmetic and leaves its memory as it is. What happens to the 200? With 500 sequences side by side, what is the
# intensity of a linear map in two-byte numbers, and what happens then?
#
# <details><summary>Answer</summary>
#
# With one sequence nothing happens, because the step waits for parameters and cache. With 500 sequences a map takes $2
# \cdot 500\, n^2$ operations and moves $2 n^2$ bytes, or somewhat more with its inputs and outputs. Its intensity is
# close to 500, beyond the bend at 295, so the maps can gain. Attention does not, since each sequence reads its own
# cache.
#
# </details>

# %% [markdown]
# ## 6. Going deeper: block by block, and PyTorch's own
#
# Step through the softmax of section 4 with eight keys in blocks of two.
#
# 1. Predict from the scores in which blocks a rescaling is needed, and by how much. Then press *next block*.
# 2. Change one score so that no rescaling is needed after the first block. Which one, and what happens to the result?

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
# - If one of the first two keys has a score of 3 or more, the first block sets the maximum for good. The result is
#   still exact.
#
# </details>
#
# In practice you call `F.scaled_dot_product_attention`, which uses a FlashAttention kernel where one is available. With
# `is_causal=True` it makes the causal mask itself, and there lies a trap. With a cache there are fewer queries than
# keys, and PyTorch takes the mask from the *upper left* corner, where the first query may attend to a single key.

# %% slide="With a cache, `is_causal=True` is wrong without any error"
from torch.nn.attention.bias import causal_lower_right

generator = torch.Generator().manual_seed(5)
query = torch.randn(1, 1, 2, 4, generator=generator)  # two new tokens
key, value = torch.randn(2, 1, 1, 5, 4, generator=generator)  # three in the cache and the two
right, _ = scaled_dot_product_attention(query, key, value, causal_mask(5)[3:])

flag = F.scaled_dot_product_attention(query, key, value, is_causal=True)
lower = F.scaled_dot_product_attention(query, key, value, attn_mask=causal_lower_right(2, 5))
print("is_causal=True is right:    ", torch.allclose(flag, right, atol=1e-6))
print("causal_lower_right is right:", torch.allclose(lower, right, atol=1e-6))

# %% tags=["hide-input"]
# the flag hides the cache: its first row is the first value alone; one token needs no mask
assert torch.allclose(lower, right, atol=1e-6) and not torch.allclose(flag, right, atol=1e-2)
assert torch.allclose(flag[0, 0, 0], value[0, 0, 0], atol=1e-6)
newest = F.scaled_dot_product_attention(query[:, :, 1:], key, value)
assert torch.allclose(newest, right[:, :, 1:], atol=1e-6)

# %% [markdown]
# No error is raised, and the generated text gets worse. There are three cases:
#
# <!-- slide: Which mask to pass depends on what is in the cache -->
#
# - In a prefill, where $T = S$, `is_causal=True` is right.
# - A single new token needs no mask, and `is_causal` stays False.
# - For several new tokens after a cache, pass `causal_lower_right(T, S)` as the mask. A tensor of True and False gives
#   the same numbers, but PyTorch's FlashAttention kernel for GPUs takes no such mask, so a slower one is used.

# %% [markdown]
# ## 7. Going deeper: multi-head latent attention
#
# Grouped heads shrink the cache by having fewer keys and values. DeepSeek-V2 (DeepSeek-AI, 2024a) keeps all heads and
# compresses what is stored. A map $W_c$ takes each token to a narrow **latent** vector $c^{(j)} = x^{(j)} W_c$ of width
# $d_c$, and only this is cached. Each head has maps of its own from the latent to its keys and values, $k^{(j)} =
# c^{(j)} W_{uk}$ and $v^{(j)} = c^{(j)} W_{uv}$; in the code, those of head $h$ are `w_uk[h]` and `w_uv[h]`.
#
# If every step had to rebuild all keys and values from the cache, little would be gained. It need not, because matrix
# products can be regrouped:
#
# <!-- slide: Move the query to the latent space, and no key has to be rebuilt -->
#
# $$q^{(i)} \cdot k^{(j)} = q^{(i)} \big(c^{(j)} W_{uk}\big)^\top = \big(q^{(i)} W_{uk}^\top\big) \cdot c^{(j)}$$
#
# So the query is taken to the latent space instead, and the latent vectors serve as keys. The values work the same way.
# We average latent vectors and apply $W_{uv}$ to the average. Seen like this, it is multi-query attention, whose one KV
# head is wide.

# %% slide="Rebuilt keys or moved queries, the output is the same"
T, H, d_model, d_k, d_c = 10, 8, 64, 8, 16
generator = torch.Generator().manual_seed(7)
x = torch.randn(1, 1, T, d_model, generator=generator)  # (B, 1, T, D), the same for all heads
w_q = torch.randn(H, d_model, d_k, generator=generator) / 8
w_c = torch.randn(d_model, d_c, generator=generator) / 8
w_uk, w_uv = torch.randn(2, H, d_c, d_k, generator=generator) / 4

queries = x @ w_q  # (B, H, T, d_k)
latent = x @ w_c  # (B, 1, T, d_c): all that is cached
keys, values = latent @ w_uk, latent @ w_uv  # (B, H, T, d_k)
rebuilt, _ = scaled_dot_product_attention(queries, keys, values, causal_mask(T))

moved = queries @ w_uk.transpose(-2, -1)  # (B, H, T, d_c): queries for the latent vectors
scores = moved @ latent.transpose(-2, -1) / math.sqrt(d_k)  # (B, H, T, T)
weights = scores.masked_fill(~causal_mask(T), -math.inf).softmax(dim=-1)
regrouped = (weights @ latent) @ w_uv  # (B, H, T, d_k)
print("rebuilt and regrouped agree:", torch.allclose(rebuilt, regrouped, atol=1e-5))

# %% [markdown]
# How does its cache compare with the alternatives? The middle column has the sizes of DeepSeek-V3 (DeepSeek-AI, 2024b):
# 61 layers, 128 heads of width 128, and $d_c = 512$. Its cache also holds one rotary key of width 64 per token and
# layer, shared by all heads; the second exercise below asks why.

# %% tags=["hide-input"]
assert torch.allclose(rebuilt, regrouped, atol=1e-5)
kinds = {
    "a KV head per query head": (2 * 8 * 8, 2 * 128 * 128),
    "one for 8 query heads": (2 * 1 * 8, 2 * 16 * 128),
    "one KV head": (2 * 1 * 8, 2 * 1 * 128),
    "latent": (16, 512 + 64),
}
print("numbers per token and layer   here   DeepSeek-V3   its 61 layers, two-byte numbers")
for kind, (here, there) in kinds.items():
    print(f"{kind:<26}{here:8d} {there:13d} {61 * 2 * there / 2**10:20.1f} KiB per token")
assert kinds["latent"][1] == 4.5 * 128 and 68 < 61 * 2 * 576 / 2**10 < 69

# %% [markdown]
# The latent of DeepSeek-V3 is as small as 2.25 KV heads would be, a 57th of the full cache. DeepSeek-AI (2024a,
# appendix D) report that it does better than full multi-head attention in their models, which we have not measured.
#
# The price is arithmetic, since every query head works with keys of width $d_c$ instead of $d_k$. With 128 heads that
# is about 240 operations per byte of the cache, where full multi-head attention does 1 and grouped heads do $H / G$. It
# uses almost all of the spare arithmetic that section 2 found.
#
# **Exercise.** Show that grouped-query attention is a special case. For $H$ query heads and $G$ KV heads with maps
# `w_k` and `w_v` of shape `(d_model, G * d_k)`, give `w_c`, `w_uk` and `w_uv` so that the code above computes the same.
# How wide is the latent? What can a latent of that width do that grouped heads cannot?
#
# <details><summary>Answer</summary>
#
# Let the latent be all keys and values side by side, `w_c = torch.cat([w_k, w_v], dim=1)`, of width $2 G d_k$. Head $h$
# then only has to select. Its `w_uk` is zero except for an identity matrix in the rows of key head $\lfloor h / (H / G)
# \rfloor$, and its `w_uv` the same, $G d_k$ rows further down. With trained `w_uk` and `w_uv`, every head may mix all
# of the latent in its own way, at the same size of cache.
#
# </details>
#
# **Exercise.** Rotary positions, the topic of lectures 6 and 11, turn key $j$ by a rotation $R(j)$ before the product.
# Why does the regrouping fail then, and how does a separate rotary key help?
#
# <details><summary>Answer</summary>
#
# The score becomes $q^{(i)} R(i) \, R(j)^\top W_{uk}^\top c^{(j)\top}$. Between query and $W_{uk}$ there is now a
# rotation that depends on $j$, so the query cannot be taken to the latent space once for all keys. DeepSeek therefore
# leaves the latent without positions and adds to each score the product of a second query with one small rotary key,
# which all heads share and which is cached with the latent.
#
# </details>

# %% tags=["hide-input"]
# the answer to the first exercise is right
G = 2
w_k, w_v = torch.randn(2, d_model, G * d_k, generator=generator) / 8
w_c, w_uk, w_uv = torch.cat([w_k, w_v], dim=1), *torch.zeros(2, H, 2 * G * d_k, d_k)
for h in range(H):
    first = h // (H // G) * d_k
    w_uk[h, first : first + d_k] = torch.eye(d_k)
    w_uv[h, G * d_k + first : G * d_k + first + d_k] = torch.eye(d_k)
latent = x @ w_c
by_latent, _ = scaled_dot_product_attention(queries, latent @ w_uk, latent @ w_uv)
by_groups = grouped_by_loop(queries, split_heads((x @ w_k)[0], G), split_heads((x @ w_v)[0], G))
assert torch.allclose(by_latent, by_groups, atol=1e-5)

# %% [markdown]
# ## 8. Going deeper: a cache that forgets
#
# With a window of $W$, no token attends to a key more than $W - 1$ positions back, so a layer may drop it. The cache
# then has a fixed size however long the text becomes.

# %% slide="With a window, a cache of fixed size gives the same output"
generator = torch.Generator().manual_seed(6)
W, length = 4, 12
query, key, value = torch.randn(3, 1, 2, length, 4, generator=generator)
whole, _ = scaled_dot_product_attention(query, key, value, sliding_window_mask(length, length, W))

kept_keys, kept_values, outputs = key[:, :, :0], value[:, :, :0], []
for t in range(length):
    kept_keys = torch.cat([kept_keys, key[:, :, t : t + 1]], dim=2)[:, :, -W:]
    kept_values = torch.cat([kept_values, value[:, :, t : t + 1]], dim=2)[:, :, -W:]
    output, _ = scaled_dot_product_attention(query[:, :, t : t + 1], kept_keys, kept_values)
    outputs.append(output)
print("cache:", tuple(kept_keys.shape), "after", length, "tokens")
print("equal to the masked whole:", torch.allclose(torch.cat(outputs, dim=2), whole, atol=1e-6))

# %% tags=["hide-input"]
# token by token, with a cache of W tokens, the outputs are those of the whole text
assert kept_keys.shape == (1, 2, W, 4)
assert torch.allclose(torch.cat(outputs, dim=2), whole, atol=1e-6)

# %% [markdown]
# The new token needs no mask, because everything left in the cache may be attended to. If keys are stored with their
# positions already in them, the new token's position must count from the beginning of the text. The length of the cache
# is the right position only until the first key is dropped. Xiao et al., below, store the keys before the rotation and
# number the positions within the cache.
#
# A model trained *without* a window does not survive such a cache. Xiao et al. (2023) found that its loss explodes as
# soon as the very first tokens are dropped. Many heads put most of their weight on them whatever they contain, as if to
# attend to nothing, so they are called **attention sinks**. Keeping the first four tokens besides the window repairs
# most of it.

# %% [markdown]
# ## 9. Going deeper: what a server does
#
# Three numbers describe a server: the **time to the first token**, for the prefill, the **latency** of a step, and the
# **throughput**, the tokens per second of all sequences. Batching trades the first two for the third.

# %% slide="A batch of sequences trades latency for throughput" tags=["nbval-ignore-output"] seconds=1
for sequences in (1, 4, 16):
    caches = empty_caches(model, sequences)
    prompts = text[:, :256].repeat(sequences, 1)  # (B, T)
    prefill = processor_seconds(further_logits, model, prompts, caches, repetitions=1)
    step = processor_seconds(further_logits, model, prompts[:, :1], caches)
    print(f"{sequences:2d} sequences: first token after {1000 * prefill:3.0f} ms, ", end="")
    print(f"a step {1000 * step:.1f} ms, {sequences / step:4.0f} tokens per second")

# %% [markdown]
# Sixteen sequences have 3.4 times the throughput of one, not sixteen times, and wait 361 ms for the first token. Most
# of the extra time is in attention. The linear maps are shared, but each sequence reads a cache of its own; with
# nearly empty caches, a step of sixteen takes less than half as long.
#
# On an H100 the bandwidth allows these speeds, if each step reads all parameters of Llama 2 7B and all caches of 4096
# tokens once. The rows with 8 KV heads are a thought experiment that keeps the parameter count unchanged.

# %% tags=["hide-input"]
print("                  GB to read: parameters   caches   ms per step   tokens per second")
limits = {}
for kv_heads in (32, 8):
    for sequences in (1, 8, 32):
        read = 13.5e9, sequences * 4096 * cache_bytes(32, kv_heads, 128)
        seconds = sum(read) / 3.35e12
        limits[kv_heads, sequences] = sequences / seconds
        line = f"{kv_heads:2d} KV heads, {sequences:2d} sequences {read[0] / 1e9:15.1f} {read[1] / 1e9:9.1f}"
        if sum(read) > 80e9:
            print(line, f"    {sum(read) / 1e9:.1f} GB do not fit into 80 GB")
        else:
            print(line, f"{1000 * seconds:11.1f} {sequences / seconds:14.0f}")
assert limits[32, 8] > 3 * limits[32, 1] and 82.1e9 < 13.5e9 + 32 * 4096 * cache_bytes(32, 32, 128)

# %% [markdown]
# <!-- slide: Servers also page, share and guess -->
#
# | idea | what it saves | source |
# |---|---|---|
# | **paged attention**: caches in pages of a few tokens, like the memory of an operating system | memory that would be reserved for the longest text | Kwon et al. (2023) |
# | **prefix caching**: sequences with the same beginning share its pages | the prefill of a common prompt | Kwon et al. (2023) |
# | **speculative decoding**: a small model proposes several tokens, and the large one checks them in one pass | passes of the large model; the resulting text has exactly the large model's distribution | Leviathan et al. (2023) |
# | **linear attention, state-space layers**: a state of fixed size instead of a cache | the cache; the state cannot keep everything, so many recent models mix them with attention | Katharopoulos et al. (2020), Gu and Dao (2023) |
#
# Speculative decoding works because of section 2. Checking five tokens in one pass reads the parameters once. On a GPU
# this takes hardly longer than generating one; on our core a linear map took almost three times as long for four
# tokens.

# %% [markdown]
# ## Further reading
#
# - Noam Shazeer (2019). *[Fast Transformer Decoding: One Write-Head is All You
#   Need.](https://arxiv.org/abs/1911.02150)* arXiv:1911.02150. Section 2.4: decoding and its memory traffic; section 3:
#   one KV head.
# - Reiner Pope and others (2022). *[Efficiently Scaling Transformer
#   Inference.](https://arxiv.org/abs/2211.05102)* arXiv:2211.05102. Section 2: prefill and decoding.
# - Samuel Williams, Andrew Waterman, David Patterson (2009). *[Roofline: An Insightful Visual Performance Model for
#   Multicore Architectures.](https://doi.org/10.1145/1498765.1498785)* Communications of the ACM 52.
# - Joshua Ainslie, James Lee-Thorp, Michiel de Jong, Yury Zemlyanskiy, Federico Lebrón, Sumit Sanghai (2023).
#   *[GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
#   Checkpoints.](https://arxiv.org/abs/2305.13245)* EMNLP. Section 2.2.
# - Maxim Milakov, Natalia Gimelshein (2018). *[Online normalizer calculation for
#   softmax.](https://arxiv.org/abs/1805.02867)* arXiv:1805.02867. Algorithm 3: maximum and sum in one pass.
# - Markus N. Rabe, Charles Staats (2021). *[Self-attention Does Not Need O(n²)
#   Memory.](https://arxiv.org/abs/2112.05682)* arXiv:2112.05682. Section 2: the output carried along.
# - Tri Dao, Daniel Y. Fu, Stefano Ermon, Atri Rudra, Christopher Ré (2022). *[FlashAttention: Fast and
#   Memory-Efficient Exact Attention with IO-Awareness.](https://arxiv.org/abs/2205.14135)* NeurIPS. Section 3.1.
# - Iz Beltagy, Matthew E. Peters, Arman Cohan (2020). *[Longformer: The Long-Document
#   Transformer.](https://arxiv.org/abs/2004.05150)* arXiv:2004.05150. Section 3.1: windows. Its formula counts one
#   token more than its figure.
# - Hugo Touvron and others (2023). *[Llama 2: Open Foundation and Fine-Tuned Chat
#   Models.](https://arxiv.org/abs/2307.09288)* arXiv:2307.09288. Section 2.2: the larger models share KV heads.
# - Albert Q. Jiang and others (2023). *[Mistral 7B.](https://arxiv.org/abs/2310.06825)* arXiv:2310.06825. Section 2
#   and table 1.
# - Aaron Grattafiori and others (2024). *[The Llama 3 Herd of Models.](https://arxiv.org/abs/2407.21783)*
#   arXiv:2407.21783. Table 3.
# - Gemma Team (2025). *[Gemma 3 Technical Report.](https://arxiv.org/abs/2503.19786)* arXiv:2503.19786. Section 2:
#   local and global layers.
# - DeepSeek-AI (2024a). *[DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language
#   Model.](https://arxiv.org/abs/2405.04434)* arXiv:2405.04434. Section 2.1 and table 1: latent attention.
# - DeepSeek-AI (2024b). *[DeepSeek-V3 Technical Report.](https://arxiv.org/abs/2412.19437)* arXiv:2412.19437. Section
#   4.2: its sizes.
# - Guangxuan Xiao, Yuandong Tian, Beidi Chen, Song Han, Mike Lewis (2023). *[Efficient Streaming Language Models with
#   Attention Sinks.](https://arxiv.org/abs/2309.17453)* ICLR 2024. Section 3.
# - Woosuk Kwon and others (2023). *[Efficient Memory Management for Large Language Model Serving with
#   PagedAttention.](https://arxiv.org/abs/2309.06180)* SOSP. Section 4.
# - Yaniv Leviathan, Matan Kalman, Yossi Matias (2023). *[Fast Inference from Transformers via Speculative
#   Decoding.](https://arxiv.org/abs/2211.17192)* ICML. Section 2.
# - Angelos Katharopoulos, Apoorv Vyas, Nikolaos Pappas, François Fleuret (2020). *[Transformers are RNNs: Fast
#   Autoregressive Transformers with Linear Attention.](https://arxiv.org/abs/2006.16236)* ICML. Section 3.
# - Albert Gu, Tri Dao (2023). *[Mamba: Linear-Time Sequence Modeling with Selective State
#   Spaces.](https://arxiv.org/abs/2312.00752)* arXiv:2312.00752. Section 3.
