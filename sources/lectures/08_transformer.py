# ---
# jupyter:
#   course:
#     assignment: a9_transformer
#     deeper: 62
#     minutes: 89
#     summary: The whole transformer, assembled, trained and looked into, from German to English.
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
# # Lecture 8: The transformer
#
# Lecture 1 translated with a recurrent network that looks back through attention. In 2017 Vaswani et al. took the
# recurrence out and kept the attention, and the result is the transformer. You know all its parts by now. In this
# lecture we put them together, let them learn German, and take them apart again.
#
# **Afterwards you will be able to**
#
# - say what flows through a transformer, with the shape at every point;
# - tell its three kinds of attention apart, and say which mask each one needs;
# - train it by teacher forcing, with warm-up, and let it write, word by word;
# - compare it fairly with a recurrent translator, in accuracy and in time;
# - say where it looks, and what such a map does not say;
# - if you go deeper, say what label smoothing changes, what a cache saves, when a beam helps, what the model
#   cannot do, and what BERT and GPT kept of it.
#
# **Time** about 89 minutes with views and questions, and 62 for going deeper.
# **Needs** lectures
# [3](03_scaled_dot_product_attention.ipynb), [4](04_masked_attention.ipynb), [5](05_multi_head_attention.ipynb),
# [6](06_positional_encoding.ipynb) and [7](07_layer_normalization.ipynb), and the task of [lecture
# 1](01_rnn_attention.ipynb).

# %%
import copy
import inspect
import math
import re
from collections import defaultdict

import matplotlib.pyplot as plt
import torch
from IPython.display import HTML
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_utils import masks, transformer
from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_utils.layers import TransformerLayer
from course_utils.positional import positional_encoding
from course_utils.rnn import Seq2Seq
from course_utils.transformer import Transformer
from lecture_kit import data, live, plotting, questions
from lecture_kit.trained import translators

plotting.use_course_style()
torch.set_num_threads(1)  # models this small gain little from two, and lose much on a busy machine

# %% [markdown]
# ## 1. The whole machine
#
# Read the picture from bottom to top, the encoder first. A dashed frame is one layer, and each side stacks $N$ of
# them.
#
# ![Architecture of the transformer, two columns, read from bottom to top. Left, the encoder: kannst du
# mir helfen ? eos, six words with their ids, shape (B, S), pass through an embedding times the root of
# d_model and get positions added, which gives six strips of 64 numbers, shape (B, S, D). Then comes a
# layer in a dashed frame, marked times N: self-attention, add and layer norm, feed-forward, add and
# layer norm, with a residual line around each of the two sublayers. Its result is the memory, again six
# strips, (B, S, D). Right, the decoder: the ids of bos can you help me ?, shape (B, T), pass through
# their own embedding and get positions. A layer, again times N, has three sublayers, each with residual
# line and norm: masked self-attention, cross-attention, feed-forward. Each attention shows one head's
# map; that of the mask is empty above its diagonal. Two lines carry the memory into cross-attention, as
# key and as value; the query comes from below, from the decoder. Above the last layer, (B, T, D), the
# generator, a linear map, gives logits (B, T, V), and a softmax gives probabilities: after bos can you,
# help has more than 0.999, and helping, close, look and write have less than
# 0.001.](../figures/transformer_architecture.svg)
#
# *The encoder, on the left, reads German, and the decoder writes English and looks at the memory on the way. B
# counts sentences, S and T are the words of the source and of the target, D is the width and V the number of
# English words.*
#
# The **encoder** reads the source sentence, all words at once, and gives one vector per word. Together these
# vectors are the *memory*, and the encoder makes them once per sentence. The **decoder** writes the translation
# word by word. For each next word it looks at the words written so far, and at the memory.
#
# The transformer contains three kinds of attention ($H$ is the number of heads):
#
# | attention | query from | key, value from | masked out | weights |
# |---|---|---|---|---|
# | encoder self-attention | source | source | padding | $(B, H, S, S)$ |
# | masked decoder self-attention | target | target | padding and the **future** | $(B, H, T, T)$ |
# | **cross-attention** | target | **memory** | padding of the source | $(B, H, T, S)$ |
#
# Cross-attention is what lecture 1 called attention, in which a decoder asks and annotations of the source answer. It
# is the only place where the two languages are connected. In the decoder, a position does *not* look at all positions
# but only at itself and at *earlier* ones, because anything else would give the answer away in training (lecture 4).
#
# The $N$ layers of a side have the same structure and different weights. The paper took $N = 6$ and also measured
# 2, 4 and 8 (its table 3, rows C). We take $N = 2$.

# %% [markdown]
# ## 2. What goes in
#
# The data come from the same grammar as in lecture 1. The sentences that we test on are never trained on, and the
# test part includes our example, which no model of this course has seen.

# %%
splits = data.splits(train=50_000, validation=1_000, test=2_500)
source_words, target_words = data.vocabularies(splits.train)
assert not {pair.source for pair in splits.train} & {pair.source for pair in splits.test}
assert data.part_of(data.EXAMPLE.source) == "test"

print(data.EXAMPLE.source)
print(data.EXAMPLE.target)
print(f"{len(source_words)} German and {len(target_words)} English words, special symbols included")

# %% [markdown]
# Three sentences are enough to follow the shapes. Targets are used twice, shifted by one position (lecture 4),
# because the decoder *reads* everything but the last token and should *say* everything but the first.

# %%
pairs = [data.EXAMPLE, splits.test[0], splits.test[5]]
batch = data.collate(pairs, source_words, target_words)
source = batch.source  # (B, S)
read, say = batch.target[:, :-1], batch.target[:, 1:]  # (B, T) each

assert torch.equal(read, masks.shift_right(say, data.BOS_ID))
B, S = source.shape
T = read.shape[1]
print(f"B = {B}, S = {S}, T = {T}")
for name, row, words in [
    ("source", source[2], source_words),
    ("read", read[2], target_words),
    ("say", say[2], target_words),
]:
    print(f"{name:>6}: {' '.join(words.words[k] for k in row)}")

# %% [markdown]
# The decoder reads all tokens of a row but the last. In a short sentence like this one, the last one is padding, so
# the decoder reads `<eos>` as well. Whatever it says after `<eos>` is ignored by the loss.
#
# The model is `course_utils.transformer.Transformer`. It contains the parts, and we will go through them by hand
# and see whether we get its numbers. All sizes are choices. The paper makes the feed-forward network four times
# as wide as the model, and we make it twice as wide, to save time.

# %%
d_model, num_heads, num_layers, d_ff = 64, 4, 2, 128


def new_model(seed, dropout=0.0):
    """A transformer with fresh weights for our two vocabularies."""
    torch.manual_seed(seed)
    return Transformer(
        len(source_words), len(target_words), d_model, num_heads, num_layers, d_ff, dropout
    )


def count(module):
    """Number of trainable parameters."""
    return sum(parameter.numel() for parameter in module.parameters())


model = new_model(seed=1)
for name, part in model.named_children():
    print(f"{name:<20}{count(part):>8,}")
print(f"{'all together':<20}{count(model):>8,}")
assert count(model) == 206_771

# %% tags=["hide-input"]
questions.ask("08", "without-the-shift")

# %% [markdown]
# ### Embeddings times the root of their width, plus positions
#
# $$x^{(j)} = \sqrt{d_\text{model}}\; E[\text{word } j] + PE_j$$
#
# $E$ is a table with one row per word and $PE_j$ is the sinusoid of position $j$ from lecture 6, which also
# showed what the root is for. It decides how large the words are compared with their positions.

# %%
positions = positional_encoding(S, d_model)  # (S, D)
embedded = model.src_embedding(source)  # (B, S, D)
root = math.sqrt(d_model)  # 8
x = embedded * root + positions  # (B, S, D)

usual = nn.Embedding(1000, d_model).weight  # PyTorch's own start: standard deviation 1
print("typical length of a vector, d_model = 64")
print(f"  position                            {positions.norm(dim=-1).mean():5.1f}")
print(f"  word, as this model starts          {embedded.norm(dim=-1).mean():5.1f}")
print(f"  word × √d_model                     {(root * embedded).norm(dim=-1).mean():5.1f}")
print(f"  PyTorch's nn.Embedding × √d_model   {(root * usual).norm(dim=-1).mean():5.0f}")
assert abs(positions.norm(dim=-1).mean() - math.sqrt(32)) < 1e-4
assert 7 < (root * embedded).norm(dim=-1).mean() < 9

# %% [markdown]
# A position has length $\sqrt{d_\text{model}/2}$, here 5.7. This model starts its embeddings small, with standard
# deviation $1/\sqrt{d_\text{model}}$, so a word has length 1 and would be drowned by its position. With the
# factor the two are of similar size. The factor alone is not enough, because with PyTorch's own start, whose
# standard deviation is 1, it makes words eleven times as long as positions. Factor and start belong together.
#
# Positions are added here, **once** per side, below the first layer, and not again in each of the $N$ layers (the
# paper's section 3.5 and figure 1). Residual connections carry them upwards.

# %% [markdown]
# ## 3. The encoder
#
# Each layer has two sublayers, each followed by add and norm (lecture 7):
#
# $$x \leftarrow \mathrm{LayerNorm}(x + \mathrm{SelfAttention}(x)) \qquad
#   x \leftarrow \mathrm{LayerNorm}(x + \mathrm{FFN}(x))$$
#
# The mask hides padding and nothing else, so each German word may look at all others, left and right. (Dropout
# acts on each sublayer's output before it is added. Here it is 0, so we leave it out.)
#
# This is **post-LN**, the paper's order, although lecture 7 found pre-LN easier to train. With two layers and the
# gentle start of section 6 it will do. For a deep stack, the advice of lecture 7 still holds, which is to use
# pre-LN, with one more norm on top.

# %%
source_mask = masks.padding_mask(source)  # (B, 1, 1, S), True = may attend

with torch.no_grad():
    for layer in model.encoder_layers:
        attended, weights = layer.self_attn(x, x, x, source_mask)  # (B, S, D), (B, H, S, S)
        x = layer.layer_norm1(x + attended)  # (B, S, D)
        x = layer.layer_norm2(x + layer.feed_forward(x))  # (B, S, D)
    memory = x

    assert torch.allclose(memory, model.encode(source), atol=1e-5)
print("memory ", tuple(memory.shape))
print("weights", tuple(weights.shape))

# %% [markdown]
# The shape never changes, so layers can be stacked as high as you like. What changes is the meaning, because row
# $j$ goes in as a word and its place and comes out as that word *in this sentence*.
#
# Does padding leave any trace? We encode each sentence alone, by a loop, and compare.

# %%
with torch.no_grad():
    for b in range(B):
        length = int((source[b] != data.PAD_ID).sum())
        alone = model.encode(source[b : b + 1, :length])[0]  # (length, D)
        assert torch.allclose(alone, memory[b, :length], atol=1e-5)
        print(f"sentence {b}: {length:2d} tokens alone, {S} with padding, the same vectors")

# %% [markdown]
# ## 4. The decoder
#
# ### Cross-attention, slowly
#
# We look at the new sublayer on its own first. Position $i$ of the decoder asks with its own vector $y^{(i)}$,
# and the memory's rows $h^{(j)}$ answer, as the annotations did in lecture 1. (In lecture 1, $y^{(i)}$ was a
# word. Here it is the vector of the decoder at position $i$.) For one head, with its own three maps and biases
# left out, this is
#
# $$q^{(i)} = y^{(i)} W_q, \quad k^{(j)} = h^{(j)} W_k, \quad v^{(j)} = h^{(j)} W_v, \quad
#   \omega_{ij} = \frac{q^{(i)} \cdot k^{(j)}}{\sqrt{d_k}}, \quad
#   z^{(i)} = \sum_{j=1}^{S} \underset{j}{\mathrm{softmax}}(\omega_{ij})\, v^{(j)}$$
#
# Three loops compute it, over sentences, heads and target positions. The heads' contexts are then joined and
# mapped by $W_o$ (lecture 5). As an example, $y^{(i)}$ is the embedded target with its position.

# %%
y = model.tgt_embedding(read).detach() * root + positional_encoding(T, d_model)  # (B, T, D)
cross = model.decoder_layers[0].cross_attn

with torch.no_grad():
    queries = split_heads(cross.w_q(y), num_heads)  # (B, H, T, d_k)
    keys = split_heads(cross.w_k(memory), num_heads)  # (B, H, S, d_k)
    values = split_heads(cross.w_v(memory), num_heads)  # (B, H, S, d_k)

    d_k = d_model // num_heads  # 16
    contexts = torch.empty_like(queries)  # (B, H, T, d_k)
    for b in range(B):
        for h in range(num_heads):
            for t in range(T):
                scores = keys[b, h] @ queries[b, h, t] / math.sqrt(d_k)  # (S,)
                scores[source[b] == data.PAD_ID] = -math.inf
                contexts[b, h, t] = scores.softmax(dim=0) @ values[b, h]
    by_loop = cross.w_o(merge_heads(contexts))  # (B, T, D)

    by_module, weights = cross(y, memory, memory, source_mask)
assert torch.allclose(by_loop, by_module, atol=1e-5)
assert weights.shape == (B, num_heads, T, S)
print("as the loops: output", tuple(by_module.shape), "weights", tuple(weights.shape))

# %% [markdown]
# There are as many outputs as there are *queries*, $T$, and as many weights per output as there are *source*
# tokens, $S$. The mask is the source's padding mask. There is no causal mask here, because the whole source is
# known.
#
# ### Three sublayers
#
# $$\begin{aligned}
# y &\leftarrow \mathrm{LayerNorm}(y + \mathrm{SelfAttention}(y)) && \text{causal} \\
# y &\leftarrow \mathrm{LayerNorm}(y + \mathrm{CrossAttention}(y, \text{memory})) \\
# y &\leftarrow \mathrm{LayerNorm}(y + \mathrm{FFN}(y))
# \end{aligned}$$
#
# Every decoder layer gets the same memory, the output of the *last* encoder layer. At the very top, one linear
# map, the **generator**, gives a score for each word of the target vocabulary.

# %%
target_mask = masks.decoder_mask(read)  # (B, 1, T, T): neither future nor padding

with torch.no_grad():
    for layer in model.decoder_layers:
        attended, _ = layer.self_attn(y, y, y, target_mask)  # (B, T, D)
        y = layer.layer_norm1(y + attended)
        attended, _ = layer.cross_attn(y, memory, memory, source_mask)  # (B, T, D)
        y = layer.layer_norm2(y + attended)
        y = layer.layer_norm3(y + layer.feed_forward(y))  # (B, T, D)
    logits = model.generator(y)  # (B, T, V)

    assert torch.allclose(logits, model.decode(read, memory, source), atol=1e-5)
    assert torch.allclose(logits, model(source, read), atol=1e-5)
probabilities = logits.softmax(dim=-1)  # (B, T, V)
print("logits", tuple(logits.shape), "- equal to the model's")

# %% [markdown]
# Probabilities come from the generator and from *one* softmax at the very top.
#
# Our model returns the logits, without that softmax, because the loss wants them so. `nn.CrossEntropyLoss` takes
# the softmax itself, and a model that ends in a softmax would apply it twice and learn with small gradients. For
# the *best* word we need no softmax at all. It keeps the order, so the argmax of logits is the argmax of
# probabilities.

# %%
print("sums to one:        ", torch.allclose(probabilities.sum(dim=-1), torch.ones(B, T)))
print("best word unchanged:", torch.equal(logits.argmax(dim=-1), probabilities.argmax(dim=-1)))

# %% tags=["hide-input"]
# probabilities sum to one, and the largest is where the largest logit is
assert torch.allclose(probabilities.sum(dim=-1), torch.ones(B, T))
assert torch.equal(logits.argmax(dim=-1), probabilities.argmax(dim=-1))

# %% tags=["hide-input"]
questions.ask("08", "keys-of-cross-attention")

# %% [markdown]
# ## 5. All positions at once, or word by word
#
# ![Two panels. Left, training: the given words bos, can, you, help stand in a row below a wide box,
# the decoder, which they enter together in one pass; above it stand the words to be said, can, you,
# help, me, each above the word that it follows. The mask hides the future. Right, writing, four
# steps: bos gives can; can is fed back, and bos can gives you; then bos can you gives help; then bos
# can you help gives me. Dashed arrows lead from each written word into the next row. There is no
# future yet.](../figures/training_and_writing.svg)
#
# *In training all next words are predicted in one pass, while in writing each word takes a pass of its own.*
#
# In training the right translation is known, so all $T$ next words are predicted in one pass, each from the
# *right* words before it. This is **teacher forcing**. When the model writes, only its own words are there, and
# it needs one pass per word.
#
# The causal mask makes both the same computation. We feed the decoder growing prefixes, by a loop, and compare
# the last row of each with the one pass above.

# %%
with torch.no_grad():
    step_by_step = torch.stack(
        [model.decode(read[:, : t + 1], memory, source)[:, -1] for t in range(T)], dim=1
    )  # (B, T, V)
real = read != data.PAD_ID  # (B, T); what comes out at padding does not count

assert torch.allclose(step_by_step[real], logits[real], atol=1e-5)
print(f"{T} passes of one word each, 1 pass with all {T} words: same logits")

# %% [markdown]
# So one pass gives $T$ answers to learn from, and all positions are computed side by side. A recurrent decoder
# gets as many answers from a sentence, but must take its $T$ steps one after the other, in training too.
#
# ### Greedy decoding
#
# To write, take the most probable next word, append it and ask again, until the model says `<eos>`. For one
# sentence that is a short loop. (In a batch, sentences end at different times. What must happen to those that
# have ended? That is a part of the assignment.)


# %%
def translate(model, sentence, max_len=40):
    """Write the translation of one sentence, greedily."""
    ids = [*source_words.encode(sentence), data.EOS_ID]
    source = torch.tensor([ids])  # (1, S)
    written = torch.tensor([[data.BOS_ID]])  # (1, t), t = 1
    with torch.no_grad():
        memory = model.encode(source)  # (1, S, D), once
        while written.shape[1] < max_len:
            logits = model.decode(written, memory, source)  # (1, t, V)
            next_word = logits[:, -1].argmax(dim=-1, keepdim=True)  # (1, 1)
            written = torch.cat([written, next_word], dim=1)
            if next_word == data.EOS_ID:
                break
    return target_words.decode(written[0])


print(data.EXAMPLE.source)
print(translate(model, data.EXAMPLE.source, max_len=10))

# %% [markdown]
# The machine is complete, but it writes nonsense, because nothing in it has been trained.

# %% tags=["hide-input"]
questions.ask("08", "passes-for-five-words")

# %% [markdown]
# ## 6. Training
#
# Three decisions are left before we can train.
#
# **The loss.** For each real position it is minus the log probability of the right word. Padding is left out with
# `ignore_index`. (The paper smooths the target a little, and section 11 says why we do not.)
#
# **The learning rate.** It starts near zero and climbs for 100 steps, which is called **warm-up**. The steps of Adam
# have a size that hardly depends on the size of the gradient (Kingma & Ba, 2015), so the first steps are as long as
# later ones, although Adam has seen only a batch or two by then. For post-LN, Xiong et al. (2020) give a second
# reason, which is that the gradients near the output are large at first. (Adam removes most of their size, so how
# much this matters is open.) Section 11 measures what warm-up does for our model. After the warm-up we let the rate
# fall to zero along a cosine (Loshchilov & Hutter, 2017).
#
# **The optimiser.** It is AdamW (Loshchilov & Hutter, 2019), which is Adam that also shrinks every weight a
# little at each step. Its two decay rates for the averages of gradients, $\beta_1$ and $\beta_2$, and its
# $\epsilon$ are the paper's (section 5.3).

# %%
STEPS, WARM_UP, PEAK = 1200, 100, 5e-3


def rate(step, steps=STEPS, warm_up=WARM_UP, peak=PEAK):
    """Linear warm-up, then a cosine down to zero. Steps count from 1."""
    progress = max(0, step - warm_up) / (steps - warm_up)
    return peak * min(1, step / warm_up) * (1 + math.cos(math.pi * progress)) / 2


for step in (1, WARM_UP, STEPS // 2, STEPS):
    print(f"step {step:4d}   learning rate {rate(step):.5f}")
assert rate(WARM_UP) == PEAK and rate(STEPS) < 1e-12

# %% [markdown]
# We train for 1200 steps with 96 sentences each, so every sentence is seen two or three times, and it takes about
# a minute. Dropout stays at 0, because at so few repetitions there is little to overfit. On the way we keep
# copies of the model, to watch it learn.

# %%
SEED = 1  # try another one
KEEP = [100, 200, 300, 400, 600, 900, STEPS]


def train(seed, label_smoothing=0.0):
    """Teacher forcing for STEPS steps: the losses, and copies of the model after the steps KEEP."""
    model = new_model(seed)
    loss_function = nn.CrossEntropyLoss(ignore_index=data.PAD_ID, label_smoothing=label_smoothing)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1)
    stream = data.batches(splits.train, source_words, target_words, batch_size=96, seed=seed)
    losses, kept = [], {}
    for step, batch in zip(range(1, STEPS + 1), stream, strict=False):
        optimizer.param_groups[0]["lr"] = rate(step)
        logits = model(batch.source, batch.target[:, :-1])  # (B, T, V)
        loss = loss_function(logits.flatten(0, 1), batch.target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step in KEEP:
            kept[step] = copy.deepcopy(model).eval()
            print(f"step {step:4d}   loss {loss.item():.4f}")
    return losses, kept


# %% tags=["nbval-ignore-output"] seconds=62
losses, kept = train(SEED)
trained = kept[STEPS]
assert sum(losses[-50:]) / 50 < 0.03

# %% [markdown]
# ### The first translation

# %%
print(data.EXAMPLE.source)
print(translate(trained, data.EXAMPLE.source))
assert translate(trained, data.EXAMPLE.source) == data.EXAMPLE.target

# %% [markdown]
# In the order of the German words this would read "can you me help, this sentence to translate". The model was
# never shown this sentence, and it puts the words in English order.

# %% [markdown]
# ## 7. How good is it?
#
# The measure is strict, because a translation counts only if **every word** is right. We test on 2500 sentences
# that were not in training, 3 to 28 tokens long. The decoder `greedy_decode_cached` writes what our loop writes,
# for a batch and with less work (section 12), and it switches to eval mode, so that dropout, if there were any,
# would be off.


# %%
def source_length(pair):
    """Number of German tokens."""
    return len(pair.source.split())


def answers(model, pairs, decode=transformer.greedy_decode_cached, max_len=40):
    """Each pair with the model's translation, from short sentences to long ones."""
    pairs = sorted(pairs, key=source_length)  # batches of similar length waste little on padding
    results = []
    for start in range(0, len(pairs), 100):
        part = pairs[start : start + 100]
        source = data.collate(part, source_words, target_words).source
        ids = decode(model, source, data.BOS_ID, data.EOS_ID, max_len)
        results += [(pair, target_words.decode(row)) for pair, row in zip(part, ids, strict=True)]
    return results


def share_right(results):
    """Share of translations in which every word is right."""
    return sum(text == pair.target for pair, text in results) / len(results)


results = answers(trained, splits.test)
accuracy = share_right(results)
accuracy_in_training = share_right(answers(trained, splits.train[:1000]))

# %% tags=["nbval-ignore-output"]
error = math.sqrt(accuracy * (1 - accuracy) / len(results))
longest = share_right([pair for pair in results if source_length(pair[0]) >= 20])
print(f"held-out sentences:       {accuracy:.3f} of {len(results)} exactly right")
print(f"two standard errors:    ± {2 * error:.3f}")
print(f"of 20 tokens and more:    {longest:.3f}")
print(f"sentences from training:  {accuracy_in_training:.3f} of 1000")
assert accuracy >= 0.99 and longest > 0.92
assert accuracy_in_training - accuracy < 0.01  # little overfitting

# %% [markdown]
# ### How it got there
#
# The copies that we kept answer two questions. How many *words* are right when the right beginning is given
# (teacher forcing), and how many *sentences* are right when the model writes on its own?

# %%
sample = sorted(splits.validation[:300], key=source_length)
sample_batch = data.collate(sample, source_words, target_words)


def words_right(model, batch):
    """Share of next words that are right, given the right words before them."""
    read, say = batch.target[:, :-1], batch.target[:, 1:]  # (B, T)
    with torch.no_grad():
        guesses = model(batch.source, read).argmax(dim=-1)  # (B, T)
    return (guesses == say)[say != data.PAD_ID].double().mean().item()


word_share = [words_right(kept[step], sample_batch) for step in KEEP]
sentence_share = [share_right(answers(kept[step], sample)) for step in KEEP]

# %% tags=["nbval-ignore-output", "hide-input"]
assert all(words > whole for words, whole in zip(word_share[:3], sentence_share[:3], strict=True))
assert word_share[0] - sentence_share[0] > 0.3 and sentence_share[-1] > 0.97
figure, (left, right) = plotting.panels(2)
left.plot(range(1, STEPS + 1), losses, marker="", linewidth=1.2, color=plotting.MUTED)
left.set(yscale="log", xlabel="training step", ylabel="loss", title="loss on the training batches")
shown = {"words, teacher-forced": word_share, "sentences, written": sentence_share}
plotting.curves(
    right, KEEP, shown, xlabel="training step", ylim=(0, 1.05), title="right, of 300 held out"
)
plotting.picture(
    figure,
    caption="Words come first: whole sentences follow some hundred steps later.",
    alt="Left, training loss on a logarithmic axis: from 5 at the start it falls to about 0.1 within "
    "200 steps and below 0.01 towards the end, with many spikes. Right, the share of right words and "
    "of right sentences: after 100 steps "
    f"{word_share[0]:.2f} and {sentence_share[0]:.2f}, after 200 {word_share[1]:.2f} and "
    f"{sentence_share[1]:.2f}, after 300 {word_share[2]:.2f} and {sentence_share[2]:.2f}; at the end "
    "both are almost 1.",
)

# %% [markdown]
# Sentences lag behind words, because a translation of twelve words is right only if all twelve are. If each word
# were right with probability 0.95, independently, $0.95^{12} \approx 0.54$ of such sentences would be. A word
# accuracy that looks fine can hide a model that rarely finishes a sentence without a mistake.

# %% [markdown]
# ### Compared with a recurrent translator
#
# Is that better than a recurrent network with attention? Only a fair comparison can tell, and ours is fair in all
# points but one. The learning rate and its schedule were chosen for the transformer, and the recurrent models simply
# get the same. Lecture 1 kept its networks small on purpose, with 28 units. With 64 units and embeddings of 64 they
# come near the transformer's size.

# %%
vocabularies = len(source_words), len(target_words)
sizes = {
    "transformer": count(new_model(seed=1)),
    "recurrent + attention": count(Seq2Seq(*vocabularies, 64, 64, attention_dim=64)),
    "recurrent, one vector": count(Seq2Seq(*vocabularies, 64, 64)),
    "the one of lecture 1": count(Seq2Seq(*vocabularies, 128, 28, attention_dim=64)),
}
for name, parameters in sizes.items():
    print(f"{name:<22}{parameters:>8,} parameters")

# %% [markdown]
# The two recurrent translators are those of lecture 1, with attention and with one vector. All models are trained as in
# section 6, on the same batches in the same order, with three seeds.
#
# Equal cost can mean two things. With as many **sentences**, the recurrent model takes 1200 steps, too. With as much
# **time**, it takes fewer, because one of its steps takes 1.15 times as long (measured below), which leaves
# 1200 / 1.15 = 1044. To see what happens beyond the lengths of training, we also train both models only on sentences of
# 3 to 15 German tokens, which are the rows "of 3–15". Every model is tested on the same 2500 sentences. The table gives
# the share that is right in every word, for all sentences and then for each of five groups of lengths.
#
# This trains for 25 minutes, so it is **recorded**. `sources/recorded/compare_translators.py` prints one line for each
# of the 18 runs, which you find in the folded code. The transformer with seed 1 is the training above.

# %% tags=["hide-input"]
RECORDED = """\
model                              seed   size   all   3–7  8–11 12–15 16–19 20–28
transformer                           1 206771 0.997 1.000 1.000 0.997 0.994 0.980
transformer                           2 206771 0.995 1.000 0.999 0.997 0.983 0.985
transformer                           3 206771 0.996 1.000 1.000 0.997 0.986 0.985
recurrent + attention                 1 182323 0.999 0.998 1.000 0.999 1.000 0.995
recurrent + attention                 2 182323 0.999 1.000 0.999 1.000 0.997 1.000
recurrent + attention                 3 182323 0.998 1.000 1.000 0.999 0.994 0.995
recurrent + attention, 1044 steps     1 182323 0.997 1.000 0.999 0.999 0.992 0.990
recurrent + attention, 1044 steps     2 182323 0.997 0.996 0.999 0.999 0.989 1.000
recurrent + attention, 1044 steps     3 182323 0.995 1.000 0.999 0.994 0.989 0.985
recurrent, one vector                 1 169971 0.668 0.960 0.902 0.635 0.221 0.010
recurrent, one vector                 2 169971 0.678 0.980 0.911 0.635 0.238 0.025
recurrent, one vector                 3 169971 0.690 0.978 0.916 0.670 0.252 0.010
transformer of 3–15                   1 206771 0.853 1.000 1.000 0.992 0.550 0.005
transformer of 3–15                   2 206771 0.862 1.000 1.000 0.992 0.612 0.010
transformer of 3–15                   3 206771 0.854 1.000 0.999 0.994 0.558 0.000
recurrent + attention of 3–15         1 182323 0.961 1.000 1.000 0.994 0.938 0.647
recurrent + attention of 3–15         2 182323 0.965 0.998 0.997 0.994 0.946 0.701
recurrent + attention of 3–15         3 182323 0.960 1.000 1.000 0.993 0.946 0.627
"""
runs = defaultdict(list)  # name -> one row for each seed
for line in RECORDED.splitlines()[1:]:
    name, _, *row = line.rsplit(maxsplit=8)
    runs[name.strip()].append([float(number) for number in row])
runs = {name: torch.tensor(rows) for name, rows in runs.items()}  # (seeds, 7) each
right_in = {name: rows[:, 2:] for name, rows in runs.items()}  # (seeds, 5 groups of lengths)
groups = [f"{low}–{high}" for low, high in data.LENGTH_BUCKETS]
print(f"{'medians of three seeds':<34}  all ", *[f"{group:>5}" for group in groups])
for name, rows in runs.items():
    print(f"{name:<34}", *[f"{share:.3f}" for share in rows[:, 1:].median(dim=0).values.tolist()])

figure, (left, right) = plotting.panels(2, height=4.8, sharey=True)
right.axvspan(2.5, 4.2, color=plotting.SHADE)
look = {"xlabel": "German tokens", "xlim": (-0.2, 4.2), "ylim": (-0.05, 1.05)}
all_lengths = {name: right_in[name] for name in list(sizes)[:3]}
short_only = {name: right_in[f"{name} of 3–15"] for name in list(sizes)[:2]}
colours = {
    "transformer": plotting.MODELS["transformer"],
    "recurrent + attention": plotting.MODELS["attention"],
    "recurrent, one vector": plotting.MODELS["one vector"],
}
plotting.curves(left, range(5), all_lengths, colours, ylabel="right in every word", **look)
plotting.curves(right, range(5), short_only, colours, **look)
left.set_title("trained on all lengths")
right.set_title("trained on up to 15 tokens")
for ax in (left, right):
    ax.set_xticks(range(5), groups)
plotting.picture(
    figure,
    caption="Attention reads all lengths, in either model; beyond its training lengths the recurrent one does better.",
    alt="Share of translations right in every word for five groups of source lengths, "
    + ", ".join(groups)
    + " German tokens; medians of three seeds, bands for their range. "
    + " ".join(
        f"{where} {name}: {', '.join(f'{value:.2f}' for value in values.median(dim=0).values)}."
        for where, models in [("Left,", all_lengths), ("Right, trained on 3 to 15,", short_only)]
        for name, values in models.items()
    ),
)

# %% [markdown]
# The table says three things:
#
# - **At equal sentences, the transformer has no lead in accuracy.** With attention, either model gets more than
#   99 % right, and the recurrent one gets a little more with each seed, five to ten sentences of the 2500. What
#   matters is attention, because without it, in one vector, long sentences are lost.
# - **At equal time, they are as good as each other**, with a tenth of a percentage point between the medians.
# - **Beyond the trained lengths, the transformer is far behind.** Trained on at most 15 tokens, it gets little more
#   than half of the sentences of 16 to 19 tokens right, and hardly any longer one. The recurrent model gets more than
#   nine in ten, and nearly two thirds of the longest. Probably the recurrent model goes on as before, word by word,
#   while the transformer comes to positions on which it was never trained. (Lecture 6 measures that for several
#   encodings.)

# %% tags=["hide-input"]
for name, parameters in sizes.items():
    assert name not in runs or (runs[name][:, 0] == parameters).all()  # the models above
overall = {name: rows[:, 1] for name, rows in runs.items()}
longest = {name: rows[:, 6] for name, rows in runs.items()}
lead = overall["recurrent + attention"] - overall["transformer"]  # at equal sentences, seed by seed
assert (lead > 0.0015).all() and (lead < 0.0045).all()
in_equal_time = (
    overall["recurrent + attention, 1044 steps"].median() - overall["transformer"].median()
)
assert in_equal_time.abs() < 0.0015
for name in ("transformer", "recurrent + attention", "recurrent + attention, 1044 steps"):
    assert overall[name].min() > 0.99 and longest[name].min() > 0.97
assert (
    overall["recurrent, one vector"].max() < 0.7 and longest["recurrent, one vector"].max() < 0.03
)
# Beyond the trained lengths: 16 to 19 tokens, and 20 to 28.
beyond, beyond_recurrent = (
    right_in["transformer of 3–15"],
    right_in["recurrent + attention of 3–15"],
)
assert (beyond[:, 3] > 0.5).all() and (beyond[:, 3] < 0.65).all() and (beyond[:, 4] < 0.02).all()
assert (beyond_recurrent[:, 3] > 0.9).all() and 0.6 < beyond_recurrent[:, 4].median() < 0.67
print("the three statements hold for every seed")

# %% [markdown]
# What about time? In the same script the two models take turns, on the same batches, and we count the milliseconds of
# one processor core for a sentence. The first column is for batches of 96 sentences of the corpus, as in training.
# The other columns are for batches of 16 sentences that all have 8, 16, 32, 64 or 128 tokens. (A sentence costs more
# in a smaller batch, so do not compare these columns with the first.)

# %% tags=["hide-input"]
GROWTH = """\
ms a sentence          corpus      8     16     32     64    128
transformer              0.88   1.55   1.87   2.85   4.75  10.18
recurrent + attention    1.01   1.45   2.52   5.17  12.46  30.80
"""
print(GROWTH)
milliseconds = {
    line[:22].strip(): [float(number) for number in line[22:].split()]
    for line in GROWTH.splitlines()[1:]
}  # name -> in the corpus, then with 8, 16, 32, 64 and 128 tokens
ratio = [recurrent / ours for recurrent, ours in zip(*reversed(milliseconds.values()), strict=True)]
assert ratio[1] < 1 and 1.1 < ratio[0] < 1.2 and 2.9 < ratio[5] < 3.2
assert ratio[1:] == sorted(ratio[1:])  # the longer, the more
assert abs(1044 * ratio[0] / STEPS - 1) < 0.01  # as much time

# %% [markdown]
# **What remains is time.** On our corpus the recurrent model needs 1.15 times as long. With 8 tokens it is the
# faster one, and with 128 it takes three times the transformer's time. A recurrent network computes its states
# one after the other, in many small steps, whereas a transformer computes all positions side by side, in a few
# large ones. A machine that computes thousands of numbers at once should gain more from that than our one core,
# but we did not measure it.
#
# The comparison has its limits. It is one small corpus, one size and one training, and with a thousand times the data
# it may come out otherwise. But 99 % on this corpus is no argument for the transformer, because the recurrent model
# gets there too, even with a learning rate that was chosen for its rival.

# %% [markdown]
# ## 8. Where does it look?
#
# `attention_maps` gives the weights of every head in every layer, for a sentence with its translation.

# %%
example = data.collate([data.EXAMPLE], source_words, target_words)
read_ids = example.target[:, :-1]  # (1, T)
maps = transformer.attention_maps(trained, example.source, read_ids)
german = [*data.EXAMPLE.source.split(), "<eos>"]
reads = ["<bos>", *data.EXAMPLE.target.split()]  # what the decoder has just read
says = [*data.EXAMPLE.target.split(), "<eos>"]  # what it is about to say

for kind, layers in maps.items():
    print(f"{kind:>8}: {len(layers)} layers of {tuple(layers[0].shape)}")

# %% [markdown]
# In the encoder the whole sentence may be seen, and each head uses that in its own way. Take a word that German
# leaves open, such as "sie", which is "she" before "kann" and "they" before "können". The maps show the head, of
# eight, that looks most from "sie" to its verb.

# %% tags=["nbval-ignore-output", "hide-input"]
for weights in [weights for layers in maps.values() for weights in layers]:
    assert torch.allclose(weights.sum(dim=-1), torch.ones(weights.shape[:-1]), atol=1e-5)
with_sie = ["sie kann das fenster zumachen .", "sie können deine rote tasche aufmachen ."]
reading = []  # for each of the two sentences: (L * H, S, S)
for sentence in with_sie:
    one = data.collate([data.Pair(sentence, "")], source_words, target_words)
    layers = transformer.attention_maps(trained, one.source, one.target[:, :-1])["encoder"]
    reading.append(torch.cat([weights[0] for weights in layers]))
to_the_verb = torch.stack([weights[:, 0, 1] for weights in reading])  # (2, L * H)
reader = int(to_the_verb.amin(dim=0).argmax())
assert to_the_verb[:, reader].min() > 0.75

layer, head = divmod(reader, num_heads)
words_read = [[*sentence.split(), "<eos>"] for sentence in with_sie]
plotting.picture(
    plotting.attention_maps(
        [weights[reader] for weights in reading],
        [f"encoder, layer {layer + 1}, head {head + 1}", "the same head"],
        words_read,
        words_read,
        limit=1.0,
        size=(10, 4.8),
        colour_label="weight α",
        query_label="query",
        key_label="key",
    ),
    caption="One head of the encoder: sie looks at its verb, which tells she from they.",
    alt=f"Two maps of head {head + 1} in layer {layer + 1} of the encoder, with the words of a sentence as "
    "rows and columns. Left, sie kann das fenster zumachen: sie gives "
    f"{to_the_verb[0, reader]:.2f} to kann. Right, sie können deine rote tasche aufmachen: sie gives "
    f"{to_the_verb[1, reader]:.2f} to können.",
)

# %% tags=["nbval-ignore-output", "hide-input"]
future = ~masks.causal_mask(len(reads))  # (T, T), True = hidden
for weights in maps["decoder"]:
    assert (weights[..., future] == 0).all()  # nobody looks ahead, exactly
plotting.picture(
    plotting.attention_maps(
        [weights[0].mean(dim=0) for weights in maps["decoder"]],
        ["decoder, layer 1", "decoder, layer 2"],
        reads,
        reads,
        hidden=future,
        limit=1.0,
        decimals=1,
        colour_label="weight α, mean of the heads",
        size=(10, 5),
    ),
    caption="In the decoder they look back; the future is hidden (hatched).",
    alt="Two maps of the decoder's self-attention, layer 1 and layer 2, averaged over four heads, with "
    "<bos> and the nine English tokens as rows and columns. Everything above the diagonal is hatched: "
    "hidden by the causal mask. The first row has its whole weight on <bos>.",
)

# %% [markdown]
# Now we look at the bridge between the two languages. Each query is made where the decoder has just read one word
# and predicts the next. We name the row after that next word (lecture 3), so the query of row "help" has read
# "can you", and not yet "help". Here are all heads of both layers. Dots mark the true origins, which the grammar
# knows.

# %% tags=["nbval-ignore-output", "hide-input"]
crossing = torch.cat([weights[0] for weights in maps["cross"]])  # (L * H, T, S)
names = [f"layer {1 + h // num_heads}, head {1 + h % num_heads}" for h in range(len(crossing))]
figure = plotting.attention_maps(
    crossing,
    names,
    [says if h % num_heads == 0 else [""] * len(says) for h in range(len(crossing))],
    [
        german if h >= len(crossing) - num_heads else [""] * len(german)
        for h in range(len(crossing))
    ],
    limit=1.0,
    columns=num_heads,
    numbers=False,
    colour_label="weight α",
    query_label="next word",
    key_label="German token",
    size=(10, 6.8),
)
for ax in figure.axes[: len(crossing)]:
    ax.tick_params(axis="x", rotation=90)
    plt.setp(ax.get_xticklabels(), ha="center", va="top", rotation_mode="default")
    for row, origins in enumerate(data.EXAMPLE.alignment):
        for column in origins:
            plotting.dot_cell(ax, row, column)
plotting.picture(
    figure,
    caption="Cross-attention: in the last layer the strong cells mostly lie on the dots, the true origins.",
    alt="Eight small maps with the next English words as rows and the German tokens as columns: the four "
    "heads of cross-attention in layer 1, above, and in layer 2, below, each with dots at the true origins. "
    "The dots go down the diagonal, but for help and me, which change places at helfen and mir, to and "
    "translate, which jump to the right, and this and sentence, which come back. In layer 2 the strong cells "
    "of each head follow most of this path, with some rows spread out or elsewhere.",
)

# %% [markdown]
# The path of the dots crosses itself, as in lecture 1, because "help" jumps over "mir" to "helfen", "translate"
# jumps to the end, and "this sentence" comes back. Nobody told the model which words belong together. But one
# sentence proves little, so we count, as in lecture 1. For how many English words does the most attended German
# token have a dot? As there, we compare with the guess that always takes the token at the same place.

# %%
heads = [*[f"head {h + 1}" for h in range(num_heads)], "mean"]
hits = {(layer, head): [] for layer in range(num_layers) for head in heads}
same_place = []
for pair in splits.test[:200]:
    one = data.collate([pair], source_words, target_words)
    cross_maps = transformer.attention_maps(trained, one.source, one.target[:, :-1])["cross"]
    for layer, weights in enumerate(cross_maps):  # (1, H, T, S)
        rows = torch.cat([weights[0], weights[0].mean(dim=0, keepdim=True)])  # (H + 1, T, S)
        for head, best in zip(heads, rows.argmax(dim=-1).tolist(), strict=True):
            # `best` has one entry more than the alignment: where the model looks to say <eos>.
            hits[layer, head] += [j in true for j, true in zip(best, pair.alignment, strict=False)]
    same_place += [i in true for i, true in enumerate(pair.alignment)]

share = {key: sum(row) / len(row) for key, row in hits.items()}
guess = sum(same_place) / len(same_place)

# %% tags=["nbval-ignore-output", "hide-input"]
assert share[1, "mean"] > 0.75 and share[1, "mean"] > guess + 0.2
by_layer = {
    f"layer {layer + 1}": [share[layer, head] for head in heads] for layer in range(num_layers)
}
figure, ax = plotting.panels(1)
plotting.bars(ax, heads, by_layer, ylabel="most attended token is right", ylim=(0, 1.08))
plotting.level(ax, guess, "same place", at=1.01)
plotting.picture(
    figure,
    caption="In layer 2 the mean of the heads finds most true origins, far more than the same place would.",
    alt="Bars: for how many English words the most attended German token is a true origin, in 200 "
    "sentences, for each head of cross-attention and for the mean of the heads. "
    + " ".join(
        f"{name}: {', '.join(f'{value:.2f}' for value in values)}."
        for name, values in by_layer.items()
    )
    + f" A thin line at {guess:.2f}: always guessing the token at the same place.",
)

# %% [markdown]
# In the last layer, the mean of the heads points at a right token for nearly nine words in ten, far more often than
# the same place does. Alignment was nowhere in the loss, so it came with learning to say the next word. It is worse
# than the translations, and it may be. Some English words need nothing from the German sentence, as in lecture 1, and
# the memory's vector next to the right one has read the whole sentence, too. **A map shows where a head looked, not
# why the model said what it said.**
#
# ### Step through it yourself
#
# There are two ways to look into the model. The first needs no running kernel. It shows three sentences that the
# model was not trained on, with the queries, keys and values of all 24 heads of the model that this notebook trained.
# Your browser computes the rest, and *attention* chooses among the three kinds.
#
# 1. **Encoder.** The head above reads the verb of "sie". Take the second or third sentence, row "sie". Do other
#    heads look at the verb as well?
# 2. **Decoder.** Go to the first sentence, layer 2. Row "you" must say "help". Open *temperature and mask* and
#    press *see all*. Where would the weights go if nothing hid the future? Look at other heads and rows, too.
# 3. **Cross-attention.** Go through row "help" of the first sentence, head by head, in layer 1 and then in layer
#    2. In which of the two do the heads find "helfen"? Then follow one of them with *next step*, from $q \cdot k$
#    to its output.

# %% tags=["hide-input", "nbval-ignore-output"]
ATTENTIONS = {  # kind -> one module a layer
    "encoder": [layer.self_attn for layer in trained.encoder_layers],
    "decoder": [layer.self_attn for layer in trained.decoder_layers],
    "cross-attention": [layer.cross_attn for layer in trained.decoder_layers],
}


def vectors_of(source, read):
    """Module -> query, key and value of its heads for one sentence, (H, T or S, d_k) each."""
    found = {}

    def remember(module, inputs, _):
        projected = zip((module.w_q, module.w_k, module.w_v), inputs, strict=False)  # not the mask
        found[module] = [split_heads(w(x), module.num_heads)[0] for w, x in projected]

    hooks = [m.register_forward_hook(remember) for group in ATTENTIONS.values() for m in group]
    with torch.no_grad():
        trained(source, read)
    for hook in hooks:
        hook.remove()
    return found


def live_heads(sentence):
    """Every head on a sentence and the model's translation of it, numbers rounded."""
    pair = data.Pair(sentence, translate(trained, sentence))
    batch = data.collate([pair], source_words, target_words)
    vectors = vectors_of(batch.source, batch.target[:, :-1])
    german, english = [*sentence.split(), "<eos>"], pair.target.split()
    words = {  # kind -> queries, keys
        "encoder": (german, german),
        "decoder": (["<bos>", *english],) * 2,
        "cross-attention": ([*english, "<eos>"], german),  # rows named after the next word
    }
    return [
        live.Attention(
            *(x.round(decimals=3) for x in qkv),
            *words[kind],
            mask=masks.causal_mask(len(english) + 1) if kind == "decoder" else None,
            sentence=sentence,
            model=kind,
            layer=layer,
            head=head,
        )
        for kind, group in ATTENTIONS.items()
        for layer, module in enumerate(group, start=1)
        for head, qkv in enumerate(zip(*vectors[module], strict=True), start=1)
    ]


def weights_in(one, masked=True):
    """Weights (T, S) that the view shows, or would show if nothing were hidden."""
    vectors = (torch.from_numpy(numbers) for numbers in (one.query, one.key, one.value))
    mask = torch.from_numpy(one.mask) if masked and one.mask is not None else None
    return scaled_dot_product_attention(*vectors, mask)[1].float()


def rows_of(sentence, kind, row, **more):
    """One row of every head of one kind, (L * H, S): layer 1 first."""
    return torch.stack([weights_in(x, **more)[row] for x in shown[sentence] if x.model == kind])


ours = data.EXAMPLE.source
shown = {sentence: live_heads(sentence) for sentence in [ours, *with_sie]}
assert all(data.part_of(sentence) == "test" for sentence in shown)

live.attention_view(
    *(one for attentions in shown.values() for one in attentions),
    caption="All heads of the translator that this notebook trained, on three sentences",
    shown=len(shown[ours]) + reader,
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# 1. At least three of the eight heads of the encoder look from "sie" mostly at its verb, and one gives it more
#    than three quarters in both sentences. So its vector in the memory may already tell "she" from "they".
# 2. On average more than half of the weight would fall on future words. Training never taught the model to ignore
#    them, because it never could see them. If you feed a whole target in, as in training, you need the mask.
# 3. With our seed it is the heads of layer 2 that find "helfen", while those of layer 1 look elsewhere. Other
#    seeds divide the work in other ways.
#
# </details>

# %% tags=["hide-input"]
# The view's maps of our sentence are those of the pictures.
pictured = [x[0, h] for group in maps.values() for x in group for h in range(num_heads)]
for one, expected in zip(shown[ours], pictured, strict=True):
    assert torch.allclose(weights_in(one), expected, atol=0.01)

# 1: from "sie", word 1, to its verb, word 2
rows_of_sie = [rows_of(sentence, "encoder", 0) for sentence in with_sie]  # (L * H, S) each
assert all((rows.argmax(dim=1) == 1).sum() >= 3 for rows in rows_of_sie)
# 2: layer 2 of the decoder without its mask, every row but the last
ahead = [
    rows_of(ours, "decoder", row, masked=False)[num_heads:, row + 1 :].sum(dim=1).mean()
    for row in range(len(reads) - 1)
]
assert sum(ahead) / len(ahead) > 0.5
# 3: heads that find "helfen", in layer 1 and in layer 2
best = rows_of(ours, "cross-attention", says.index("help")).argmax(dim=1)  # (L * H,)
in_layer = (best == german.index("helfen")).view(num_layers, num_heads).sum(dim=1)
assert SEED != 1 or in_layer[1] >= in_layer[0] + 2
print("the view shows what the pictures show, and the three answers hold")

# %% [markdown]
# The second way takes a sentence of **your own**, and the whole model. The picture below is the translator that
# this notebook trained, with all its weights in the page. Press *play* or *step* to see what is written so far,
# what comes next, and where the decoder looks. Any block opens, and every part can be switched off:
#
# - Type a German sentence of known words. Capitals and commas may be typed as usual.
# - Click "nicht" in a sentence that has it, so that the model can no longer look at it.
# - Under *Take it apart*, take away the places of the German words, or the causal mask. Which of the two is
#   missed, and why is the other one not?

# %% tags=["hide-input", "nbval-ignore-output"]
live.translation_view(
    translators.Translator(trained, source_words, target_words),
    caption="The translator that this notebook trained, from German words to the next English one",
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# While the model writes, there is no future to hide, because no later word exists yet. Without the mask, a word in
# the middle of what is written could look at the words written after it, which rarely changes the translation.
# Without places, attention sees a bag of words, and often gives an adjective or an owner to the wrong noun.
#
# </details>
#
# On the website, [the same view](../docs/watch.md) has a page of its own, with a list of things to try.

# %% [markdown]
# A word that is not in the vocabulary cannot be read at all, because it has no embedding. (Lecture 9 shows how large
# models avoid this.)

# %%
for sentence in ["Kannst du mir den Hund zeigen?", "Ich lerne Deutsch."]:
    try:
        translate(trained, data.tokenize(sentence))
    except ValueError as error:
        print(error)

# %% [markdown]
# ## Summary
#
# - The encoder reads all source words at once, in $N$ layers of self-attention and FFN, and its result is the
#   memory $(B, S, D)$. The decoder has masked self-attention, **cross-attention** (query from the target, key and
#   value from the memory) and FFN. Generator and softmax, once on top, make the probabilities.
# - The input is embeddings × $\sqrt{d_\text{model}}$ plus positions, once at the bottom of each side. $N = 6$ is
#   a choice.
# - Training is one pass over shifted targets, and the causal mask makes it equal to going word by word through
#   the right translation. The learning rate climbs first and then falls.
# - To write, encode once, and then go word by word, in eval mode.
# - More than 99 % of 2500 new sentences are exactly right, long ones a little less often.
# - A recurrent network with attention, of about the same size, is at least as accurate here. What remains of the
#   transformer's lead is time, and more of it the longer the sentences. Beyond the trained lengths it is behind.
# - Cross-attention found most of the word alignment without being told.
#
# **Now you:** [assignment a9, the transformer](../exercises/a9_transformer/a9_transformer.ipynb), after
# [assignment a8, the transformer layer](../exercises/a8_transformer_layer/a8_transformer_layer.ipynb). This is
# the end of the core. Sections 9 to 16 go deeper, and you can skip each of them. After that comes
# [lecture 9](09_one_half_alone.ipynb), in which each half of the transformer works alone.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 2, 4 and 5 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** How many parameters does a decoder layer with $d_\text{model} = 64$ and $d_\text{ff} = 128$ have, and how many
# more is that than an encoder layer has?
#
# <details><summary>Answer</summary>
#
# Each attention has four maps with $4 \cdot (64 \cdot 64 + 64) = 16\,640$ parameters, the feed-forward network has
# $64 \cdot 128 + 128 + 128 \cdot 64 + 64 = 16\,576$, and each norm has 128. With two attention layers and three
# norms the decoder layer has 50 240. The encoder layer has one attention and one norm less, so 33 472.
#
# </details>
#
# **2.** Somebody feeds cross-attention with the key, value and mask of the decoder's self-attention. No error is
# raised. What does the model become, and how could you find it out?
#
# <details><summary>Answer</summary>
#
# It becomes a language model of English, because nothing of the German sentence reaches the decoder. The loss
# still falls for a while. Give it somebody else's German sentence, and the loss stays the same.
#
# </details>
#
# **3.** The encoder's memory is turned around, so that its rows come in reverse order, and so is the source's padding
# mask. What changes in the decoder's output?
#
# <details><summary>Answer</summary>
#
# Nothing changes. Cross-attention sums over the rows of the memory, and a sum does not depend on their order. Where a
# word stood was written into its row at the bottom of the encoder, as its position.
#
# </details>
#
# **4.** A model ends with `logits.softmax(dim=-1)`, and training uses `nn.CrossEntropyLoss`. With 179 words, what is
# the smallest loss that it can reach?
#
# <details><summary>Answer</summary>
#
# The loss takes a second softmax, over numbers between 0 and 1. A perfect 1 for the right word and 0 for the others
# becomes $e / (e + 178) \approx 0.015$, so the loss cannot get below about 4.2, hardly less than the
# $\ln 179 \approx 5.2$ of a model that knows nothing.
#
# </details>
#
# **5.** You forget the causal mask in training only. What do you see during training, and when writing?
#
# <details><summary>Answer</summary>
#
# During training you see a wonderful loss, because the next word can be read off the input. Writing fails,
# because there the next word is not in the input (lecture 4).
#
# </details>
#
# **6.** A paper reports that its new model beats an old one by two points. Which questions of section 7 do you
# ask?
#
# <details><summary>Answer</summary>
#
# Are the two of similar size? Did they see as many sentences, or train as long, and did each have a learning rate
# that suits it? How far apart are seeds? On which sentences is the lead, and does it hold on others than those it
# was measured on?
#
# </details>

# %% [markdown]
# ## 9. Going deeper: against PyTorch's own
#
# Loops and module may share a mistake, so we compare with an implementation that other people wrote. `nn.Transformer`
# consists of the two stacks of layers only, without embeddings, positions and generator. Four more things differ. Its
# masks say what to **hide**, and it stores $W_q, W_k, W_v$ as one matrix. By default it adds one more layer norm on
# top of each stack, which figure 1 of the paper does not have, and by default it wants the length as first axis, $(T,
# B, D)$, not the batch. We copy our weights into it. Every name that is missing or left over would raise an error.


# %%
def attention_weights_for_pytorch(ours, prefix):
    """One attention module's weights under PyTorch's names."""
    maps = [ours.w_q, ours.w_k, ours.w_v]
    return {
        f"{prefix}.in_proj_weight": torch.cat([linear.weight for linear in maps]),
        f"{prefix}.in_proj_bias": torch.cat([linear.bias for linear in maps]),
        f"{prefix}.out_proj.weight": ours.w_o.weight,
        f"{prefix}.out_proj.bias": ours.w_o.bias,
    }


def copy_layer(ours, theirs):
    """Give PyTorch's layer the weights of ours."""
    values = attention_weights_for_pytorch(ours.self_attn, "self_attn")
    names = {"feed_forward.w_1": "linear1", "feed_forward.w_2": "linear2"}
    names |= {"layer_norm1": "norm1", "layer_norm2": "norm2"}
    if hasattr(ours, "cross_attn"):
        values |= attention_weights_for_pytorch(ours.cross_attn, "multihead_attn")
        names["layer_norm3"] = "norm3"
    for name, their_name in names.items():
        for kind, value in ours.get_submodule(name).state_dict().items():
            values[f"{their_name}.{kind}"] = value
    theirs.load_state_dict(values)


# %%
sizes = {"d_model": d_model, "nhead": num_heads, "dim_feedforward": d_ff}
options = {**sizes, "dropout": 0.0, "batch_first": True}
encoder = nn.TransformerEncoder(  # nested tensors save work on padding; not needed here
    nn.TransformerEncoderLayer(**options), num_layers, enable_nested_tensor=False
)
decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**options), num_layers)
pytorch = nn.Transformer(
    d_model, num_heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
)
# Only now: nn.Transformer draws fresh weights for everything that it is given.
for ours, theirs in [(model.encoder_layers, encoder), (model.decoder_layers, decoder)]:
    for our_layer, their_layer in zip(ours, theirs.layers, strict=True):
        copy_layer(our_layer, their_layer)

with torch.no_grad():
    expected = model.generator(
        pytorch(
            model.src_embedding(source) * math.sqrt(d_model) + positional_encoding(S, d_model),
            model.tgt_embedding(read) * math.sqrt(d_model) + positional_encoding(T, d_model),
            tgt_mask=~masks.causal_mask(T),  # here True = hide
            src_key_padding_mask=source == data.PAD_ID,
            tgt_key_padding_mask=read == data.PAD_ID,
            memory_key_padding_mask=source == data.PAD_ID,
        )
    )  # (B, T, V)
assert torch.allclose(logits[real], expected[real], atol=1e-5)
print("the same logits as nn.Transformer, at all real positions")

# %% [markdown]
# ## 10. Going deeper: sizes
#
# ### How large is it?
#
# Let us count the weights of our model and of the paper's base model. On the device `meta`, tensors have shapes
# and no numbers, so the large one costs nothing.

# %%
with torch.device("meta"):
    base = Transformer(37_000, 37_000, d_model=512, num_heads=8, num_layers=6, d_ff=2048)

print(f"{'':<28}{'ours':>10}{'paper, base':>14}")
for part in ["src_embedding", "tgt_embedding", "encoder_layers", "decoder_layers", "generator"]:
    print(f"{part:<28}{count(getattr(model, part)):>10,}{count(getattr(base, part)):>14,}")
print(f"{'all together':<28}{count(model):>10,}{count(base):>14,}")
layers = count(base.encoder_layers) + count(base.decoder_layers)
with_one_table = layers + count(base.src_embedding)
print(f"{'layers + one shared table':<28}{'':>10}{with_one_table:>14,}")
assert 62e6 < with_one_table < 65e6 and 200_000 < count(model) < 300_000

# %% [markdown]
# The paper shares *one* table of about 37 000 pieces of words between source, target and generator (its sections
# 3.4 and 5.1). That gives 63 million, while its table 3 says 65. Ours is about 300 times smaller, and has a
# language of a few hundred words to learn.
#
# ### Which sizes do people choose?
#
# | model | layers | $d_\text{model}$ | heads | $d_k$ | $d_\text{ff}$ | parameters |
# |---|---|---|---|---|---|---|
# | here | 2 + 2 | 64 | 4 | 16 | 128 | 0.2 million |
# | transformer, base | 6 + 6 | 512 | 8 | 64 | 2048 | 65 million |
# | transformer, big | 6 + 6 | 1024 | 16 | 64 | 4096 | 213 million |
# | BERT, base | 12 | 768 | 12 | 64 | 3072 | 110 million |
# | BERT, large | 24 | 1024 | 16 | 64 | 4096 | 340 million |
# | GPT-3, largest | 96 | 12288 | 96 | 128 | 49152 | 175 billion |
#
# (Vaswani et al., 2017, table 3; Devlin et al., 2019, section 3; Brown et al., 2020, table 2.1. Section 15 says
# what BERT and GPT are.) In all rows but ours, two habits show. A wider model gets more heads, so that each keeps
# 64 or 128 numbers, and the feed-forward network is four times as wide as the model. They are habits, not laws.
#
# The paper changed a few things at a time and translated (its section 6.2). A single head was 0.9 BLEU (lecture
# 5) worse than the best number of heads, and too many heads were worse again. Narrower keys were worse. Larger
# models were better, and dropout helped a lot against overfitting.
#
# Sizes are only half of the settings. The other half is training, with learning rate, warm-up, dropout and the number
# of steps, and its best values depend on the sizes. From the smallest GPT-3 to the largest, the learning rate
# goes down by a factor of ten (Brown et al., 2020, table 2.1). So a comparison of two sizes is fair only if each
# has a rate that suits it. Lecture 7 swept rates and dropout, and the next section turns to warm-up.

# %% [markdown]
# ## 11. Going deeper: label smoothing and warm-up
#
# ### The loss, with or without label smoothing
#
# The loss of section 6 is lowest where the right word gets probability 1, so training makes the model surer and
# surer. To counter that, the paper **smooths** the target. Instead of 1 on the right word it puts $1 -
# \varepsilon$ there and spreads $\varepsilon$ evenly over all $V$ words, with $\varepsilon = 0.1$.
#
# $$\mathcal{L} = -\sum_{w=1}^{V} \tilde{y}_w \log p_w, \qquad
#   \tilde{y}_w = (1 - \varepsilon)\,[w = \text{right}] + \frac{\varepsilon}{V}$$
#
# Here $p_w$ is the model's probability of word $w$, and the bracket is 1 for the right word, else 0.

# %%
eps, V = 0.1, len(target_words)
some_logits, right_words = logits[0, :3], say[0, :3]  # (3, V), (3,)

total = 0.0
for row, right in zip(some_logits.log_softmax(dim=-1), right_words, strict=True):
    for word in range(V):
        target = (1 - eps) * (word == right) + eps / V
        total -= target * row[word]

smoothed_loss = nn.CrossEntropyLoss(label_smoothing=eps)
assert torch.allclose(total / 3, smoothed_loss(some_logits, right_words), atol=1e-5)
print("the loops equal nn.CrossEntropyLoss(label_smoothing=0.1)")

# %% [markdown]
# How sure should a model be? Give the right word the probability $p$, and the other words equal shares of the
# rest. Then both losses depend on $p$ alone.

# %% tags=["hide-input"]
p = torch.linspace(0.5, 0.9999, 2000, dtype=torch.float64)  # probability of the right word
others = (1 - p) / (V - 1)  # shared equally by the other words
plain_loss = -p.log()
smooth_loss = -(1 - eps + eps / V) * p.log() - (V - 1) * (eps / V) * others.log()
best = p[smooth_loss.argmin()].item()
assert abs(best - (1 - eps + eps / V)) < 1e-3

figure, ax = plotting.panels(1)
ax.set(xlabel="probability of the right word", ylabel="loss", ylim=(-0.08, 1.6))
ax.plot(p, plain_loss, marker="", label="no smoothing")
ax.plot(p, smooth_loss, marker="", label="smoothing, ε = 0.1")
(point,) = ax.plot(best, smooth_loss.min(), "o", color=plotting.SERIES[1], markersize=9)
point.set_label("_best")
ax.annotate(f"best: {best:.2f}", (best, smooth_loss.min().item()), xytext=(-18, -24),
            textcoords="offset points", ha="right")  # fmt: skip
plotting.label_ends(ax)
plotting.picture(
    figure,
    caption="With smoothing, the loss is lowest at a probability of 0.90, and it is not zero there.",
    alt="Loss against the probability of the right word from 0.5 to 1. Without smoothing it falls "
    "from 0.7 to 0. With smoothing it falls from 1.2 to a lowest point of about 0.84, marked at a "
    "probability of 0.90, and then rises steeply towards 1.",
)

# %% [markdown]
# Smoothing punishes certainty. The best probability is 0.90, the target's own, and the lowest loss is not zero,
# so never compare a smoothed loss with a plain one. It was proposed to keep a classifier from becoming too sure
# of itself (Szegedy et al., 2016, section 7). The paper reports that it makes perplexity (the exponential of the
# loss per token) worse and accuracy and BLEU better (section 5.4). A real sentence has many good translations, so
# some doubt is justified. In our corpus each German sentence has exactly one, so we leave smoothing out. `train`
# takes it as an argument, so you can try it.
#
# **Check yourself.** With label smoothing 0.1 a run ends at loss 0.85, and without it at 0.01. Which is the
# better model?
#
# <details><summary>Answer</summary>
#
# The losses do not tell. With our 179 words the smoothed loss cannot go below about 0.84, however good the model
# is. Compare translations.
#
# </details>
#
# ### The learning rate: warm-up
#
# The paper lets the rate climb for 4000 steps and then fall with the root of the step,
#
# $$\eta(n) = d_\text{model}^{-1/2}\,\min\left(n^{-1/2},\; n \cdot n_\text{warm}^{-3/2}\right),
#   \qquad n_\text{warm} = 4000.$$
#
# Up to step $n_\text{warm}$ the second term is the smaller one, which gives a straight rise, and from there on
# the first. We know beforehand how many steps we take, so ours falls to zero instead.


# %%
def rate_of_the_paper(step, d_model=512, warm_up=4000):
    """Vaswani et al. (2017), eq. 3. Steps count from 1."""
    return d_model**-0.5 * min(step**-0.5, step * warm_up**-1.5)


assert rate_of_the_paper(4000) == max(map(rate_of_the_paper, range(1, 20_000)))
print(f"highest rate, paper: {rate_of_the_paper(4000):.5f}   here: {rate(WARM_UP):.5f}")

# %% tags=["hide-input"]
figure, (left, right) = plotting.panels(2)
steps = range(1, 20_001, 20)
left.plot(steps, [rate_of_the_paper(step) for step in steps], marker="")
left.set(title="paper: 4000 steps up, then 1/√step", xlabel="step", ylabel="learning rate")
steps = range(1, STEPS + 1)
right.plot(steps, [rate(step) for step in steps], marker="")
right.set(title="here: 100 steps up, then a cosine", xlabel="step")
left.set_xticks([0, 4000, 12_000, 20_000])
for ax in (left, right):
    ax.set_ylim(bottom=0)
plotting.picture(
    figure,
    caption="Both rates climb first; the paper's then falls slowly, ours to zero.",
    alt="Learning rate against step, two panels. Left, the paper's: a straight rise to 0.0007 at step "
    "4000, then a slow fall to 0.0003 at step 20000. Right, ours: a straight rise to 0.005 at step "
    "100, then a fall along a cosine to zero at step 1200.",
)

# %% [markdown]
# Ours peaks seven times higher. Smaller models are usually trained with larger rates (section 10).
#
# ### Is warm-up needed? Measured
#
# We train twelve small models, with two rates, with and without 100 steps of warm-up, and three seeds each. (They
# take 120 steps with small batches, and all together less than half a minute.) Afterwards we ask each model two
# questions about held-out sentences. How large is your loss, and how large is it when you are given *somebody else's*
# German sentence?

# %%
ignore_padding = nn.CrossEntropyLoss(ignore_index=data.PAD_ID)
# Sentences of one length, so that they can be swapped without changing the padding.
ten_words = [pair for pair in splits.validation if len(pair.source.split()) == 10]
check = data.collate(ten_words, source_words, target_words)


def loss_of(model, batch, given=None):
    """Teacher-forced loss on a batch, optionally with other source sentences."""
    logits = model(batch.source if given is None else given, batch.target[:, :-1])  # (B, T, V)
    return ignore_padding(logits.flatten(0, 1), batch.target[:, 1:].flatten())


def short_training(peak, warm_up, seed, steps=120):
    """Loss on held-out sentences, with their own German sentence and with another one."""
    model = new_model(seed)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    stream = data.batches(splits.train, source_words, target_words, batch_size=24, seed=seed)
    for step, batch in zip(range(1, steps + 1), stream, strict=False):
        optimizer.param_groups[0]["lr"] = peak * min(1, step / warm_up)
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()
    with torch.no_grad():
        own, other = loss_of(model, check), loss_of(model, check, check.source.roll(7, dims=0))
    return own.item(), other.item()


# %% seconds=27
rates = [0.003, 0.015]
short = torch.tensor(
    [
        [[short_training(peak, warm_up, seed) for seed in range(3)] for warm_up in (1, 100)]
        for peak in rates
    ]
)  # (rates, without or with warm-up, seeds, own or other sentence)

# %% tags=["nbval-ignore-output"]
print("rate    warm-up   loss, own sentence     loss, somebody else's")
for peak, per_rate in zip(rates, short.tolist(), strict=True):
    for name, seeds in zip(["none", "100"], per_rate, strict=True):
        own, other = zip(*seeds, strict=True)
        print(f"{peak:<8}{name:<8}" + "   ".join(
            " ".join(f"{value:5.2f}" for value in values) for values in (own, other)))  # fmt: skip

# %% tags=["nbval-ignore-output", "hide-input"]
own, other = short.unbind(dim=-1)  # (rates, warm-up, seeds) each
# As stated, for all seeds.
assert (own[0] < 2.0).all()  # the small rate works either way
assert (other[0] - own[0] > 0.6).all()
assert (own[0, 0] < own[0, 1]).all()  # and faster without warm-up
assert (own[1, 0] > own[1, 1] + 0.3).all()  # the large rate works with warm-up only
assert (other[1, 0] - own[1, 0] < 0.1).all()  # without, the model does not read German
assert (other[1, 1] - own[1, 1] > 1.0).all()

figure, axes = plotting.panels(2, height=4.8, sharey=True)
for ax, peak, own_by_start, other_by_start in zip(axes, rates, own, other, strict=True):
    series = {"its own sentence": own_by_start.T, "somebody else's": other_by_start.T}
    starts = ["no warm-up", "100 steps of it"]
    plotting.bars(ax, starts, series, title=f"learning rate {peak}", ylim=(0, 5.0), legend=False)
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
axes[0].set_ylabel("loss after 120 steps")
plotting.picture(
    figure,
    caption="At the large rate without warm-up, a stranger's sentence serves as well as the right one.",
    alt="Two panels of bars, median of three seeds with a dot each: loss after 120 steps, given its "
    "own German sentence or somebody else's. At rate 0.003, its own sentence gives a lower loss than "
    "somebody else's: about 0.6 against 3.5 without warm-up, about 1.3 against 2.8 with it. At rate "
    "0.015 with warm-up it is about 1 against more than 3. At rate 0.015 without warm-up both bars are "
    "equally high, a little above 2, and one seed lies above 3.",
)

# %% [markdown]
# - At the **small** rate, warm-up is not needed here, and costs time. The model has only two layers, and the
#   corpus is easy.
# - At the **large** rate, only the models with warm-up learn to translate. The others stay at a loss of about 2
#   or more, and it makes no difference which German sentence they are given. At best they are **language models
#   of English**, in which the decoder has learned something of what English looks like, but after these large
#   steps nothing of the German sentence reaches its predictions.
#
# The second question costs two lines and finds what a falling loss hides. Warm-up makes larger rates usable, though
# here they buy nothing, because the best models of all are those of the small rate without it. (100 of only 120 steps
# are warm-up here, so it also halves the average rate.) How much you need it depends on the rate, as seen here, and
# on where the norms are (lecture 7; Xiong et al., 2020).

# %% [markdown]
# ## 12. Going deeper: a cache, and eval mode
#
# ### What need not be computed twice
#
# The loop of section 5 runs the decoder over all $t$ written words, again and again. But a position sees only itself
# and what came before it, so its keys and values never change. We keep them and compute only those of the new
# position. This is the **key/value cache**. The memory's keys and values, which do not depend on what is written, are
# computed once. `greedy_decode_cached` does both, with the model's `start_cache` and `step`. It writes the same words
# with fewer operations. In the picture, where "me" is the newest word, one row of the mask is left to compute.
#
# ![Two causal masks for bos can you help me, with the keys k1 to k5 and the values v1 to v5 above their
# columns and queries beside their rows. Left, without a cache: all five queries, keys and values are
# computed, and all 15 weights below and on the diagonal. Right, with a cache: keys and values 1 to 4 are
# kept, only the fifth of each and the query of me are computed, and only the last row of the mask, 5
# weights, is filled. What lies ahead is hatched.](../figures/key_value_cache.svg)
#
# *Without a cache every row is computed again, and with one, only the new row.*

# %%
ways = {"plain": transformer.greedy_decode, "cached": transformer.greedy_decode_cached}
written, operations = {}, {}
for name, decode in ways.items():
    with FlopCounterMode(display=False) as counter:
        written[name] = decode(trained, example.source, data.BOS_ID, data.EOS_ID, max_len=40)
    operations[name] = counter.get_total_flops()

assert torch.equal(written["plain"], written["cached"])
assert target_words.decode(written["cached"][0]) == data.EXAMPLE.target
print(f"operations, plain:  {operations['plain']:>12,}")
print(f"operations, cached: {operations['cached']:>12,}")
assert operations["plain"] > 2 * operations["cached"]

# %% [markdown]
# **Check yourself.** With the key/value cache, why may the *encoder's* self-attention not be cached word by word
# in the same way while a sentence is still being typed?
#
# <details><summary>Answer</summary>
#
# It has no causal mask, so a new word changes the vectors of all words before it, and earlier results do not stay
# valid. In the decoder they do.
#
# </details>

# %% tags=["hide-input"]
questions.ask("08", "rows-without-a-cache")

# %% [markdown]
# ### Why decoding uses eval mode
#
# Dropout is for training. Left on, it makes every answer a lottery, and the decoder then builds on its own
# accidents. To see it, we give a copy of the trained model a dropout of 0.1 (the paper's) and let it write in
# train mode, twice.


# %%
def write_in_current_mode(model, pairs):
    """Greedy translations of some pairs; the model's mode is left alone, right or wrong."""
    source = data.collate(pairs, source_words, target_words).source
    written = torch.full((len(pairs), 1), data.BOS_ID)
    with torch.no_grad():
        memory = model.encode(source)
        for _ in range(32):
            logits = model.decode(written, memory, source)[:, -1]  # (B, V)
            written = torch.cat([written, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return [target_words.decode(row) for row in written]  # cut at <eos>


forgetful = copy.deepcopy(trained)
for module in forgetful.modules():
    if isinstance(module, nn.Dropout):
        module.p = 0.1

some = splits.test[:150]
outputs = {"eval": [], "train": []}
for mode, texts in outputs.items():
    forgetful.train(mode == "train")
    texts += [write_in_current_mode(forgetful, some) for _ in range(2)]

# %% tags=["nbval-ignore-output"]
right = {}
for mode, (first, second) in outputs.items():
    right[mode] = sum(text == pair.target for text, pair in zip(first, some, strict=True)) / 150
    same = sum(one == two for one, two in zip(first, second, strict=True)) / 150
    print(f"{mode:>5} mode: {right[mode]:.2f} right, {same:.2f} the same when asked again")
assert outputs["eval"][0] == outputs["eval"][1] and right["eval"] > 0.97
assert outputs["train"][0] != outputs["train"][1] and right["train"] < right["eval"] - 0.05

# %% [markdown]
# In eval mode the model gives the same translations twice. In train mode it does not, and fewer of them are right.
# (This model was trained without dropout. One trained *with* it has learned to live with it, but its answers in train
# mode are drawn by lot all the same.) The decoding functions of `course_utils` switch to eval mode and afterwards
# give each module back the mode it had.

# %% [markdown]
# ## 13. Going deeper: the mistakes
#
# A figure like 99 % tempts us to stop looking. Look at what is left, here in the longest sentences.

# %% tags=["nbval-ignore-output"]
failures = [(pair, text) for pair, text in results if text != pair.target]
print(f"{len(failures)} mistakes in {len(results)} sentences\n")
for pair, text in failures[-6:]:
    print(f"German   {pair.source}\nright    {pair.target}\nwritten  {text}\n")

# %% [markdown]
# In our run, the mistakes are of a few kinds, all in sentences with several nouns, as most long ones are. An
# adjective moves from one noun to another, is lost, or is written twice. A noun, or a small word such as "his" or
# "your", is replaced by another one. A person or a verb is left out. Nearly all of these sentences are good English.
# Most often it is *who goes with whom* that is lost.
#
# ### Did the search fail, or the model?
#
# Greedy decoding may miss a translation that the model itself finds better. So we compare the right translation
# and the written one by the model's own measure, the log probability of the whole sentence:
#
# $$\log p(y \mid x) = \sum_{t} \log p(y_t \mid y_1 \dots y_{t-1}, x)$$


# %%
def log_probability(model, pairs):
    """log p(target | source) of each pair: (B,)."""
    batch = data.collate(pairs, source_words, target_words)
    read, say = batch.target[:, :-1], batch.target[:, 1:]  # (B, T)
    with torch.no_grad():
        log_p = model(batch.source, read).log_softmax(dim=-1)  # (B, T, V)
    of_the_words = log_p.gather(2, say.unsqueeze(-1)).squeeze(-1)  # (B, T)
    return of_the_words.masked_fill(say == data.PAD_ID, 0.0).sum(dim=1)


wrong_pairs = [data.Pair(pair.source, text) for pair, text in failures]
gap = torch.zeros(0)
if failures:
    right_pairs = [pair for pair, _ in failures]
    gap = log_probability(trained, right_pairs) - log_probability(trained, wrong_pairs)
search_errors = int((gap > 0).sum())

# %% tags=["nbval-ignore-output"]
print(f"the right translation scores higher, search error: {search_errors}")
print(f"the written one scores higher, model error:        {len(failures) - search_errors}")

# %% [markdown]
# A model error cannot be cured by searching better for the highest probability, because this model *prefers* the
# wrong sentence. Only search errors can be, and section 14 tries.
#
# ### What 99 % does not say
#
# Held-out sentences come from the same grammar as those of training, and it joins at most two clauses. So let us
# join sentences that the model translates well, two at a time and three at a time, with the commas that the
# grammar would put, and keep only those that are **not longer** than what was trained on, in either language.


# %%
def joined(parts):
    """One pair out of several statements: "… und … und …"."""
    german = [part.source.removesuffix(" .") for part in parts]
    # As in the corpus: a comma closes an infinitive group, and German puts no other one before "und".
    german[:-1] = [clause + " ," if "," in clause else clause for clause in german[:-1]]
    english = [part.target.removesuffix(" .") for part in parts]
    return data.Pair(" und ".join(german) + " .", " , and ".join(english) + " .")


joining = {"und", "aber", "weil"}
statements = [pair for pair, text in results if text == pair.target and pair.source[-1] == "."]
statements = [pair for pair in statements if not joining & set(pair.source.split())]
order = torch.randperm(len(statements), generator=torch.Generator().manual_seed(8)).tolist()

joined_right = {}
for number in (2, 3):
    starts = range(0, len(order) - number + 1, number)
    pairs = [joined([statements[k] for k in order[at : at + number]]) for at in starts]
    pairs = [p for p in pairs if max(source_length(p), len(p.target.split())) <= 28]
    translated = answers(trained, pairs)
    joined_right[number] = share_right(translated)
# What became of three clauses, the last group translated?
cut_to_two = sum(text.count(" , and ") == 1 for _, text in translated) / len(translated)
assert joined_right[2] > 0.7 and joined_right[3] < 0.15 and cut_to_two > 0.6

# %% tags=["nbval-ignore-output"]
for number, share in joined_right.items():
    print(f"{number} clauses, at most 28 tokens in each language: {share:.2f} right")
print(f"of the translations of three clauses, {cut_to_two:.2f} have two clauses\n")
three = joined([splits.test[k] for k in (5, 10, 2)])
for sentence in [three.source, "sie . er .", "mir helfen du ."]:
    print(f"{sentence}\n    -> {translate(trained, sentence)}")

# %% [markdown]
# Two clauses go well, but three hardly ever do. Most translations have two clauses again, and the rest is lost or
# melts into them. Neither the words nor the length are new, only the *structure* is. And nonsense gets a fluent
# answer, because the model has no way to say that it does not know. What it has learned is not German but the
# sentences of one small grammar.

# %% [markdown]
# ## 14. Going deeper: beam search
#
# Greedy decoding never takes a choice back. **Beam search** keeps more than one beginning in the race. At each
# step it continues every one of them with every word, and of all the results it keeps the best again, as many as the
# **beam width** says. What has reached `<eos>` stays as it is.
#
# A model that knows four nouns shows what this is good for. After "a" it finds three nouns, and after "an" only
# one:


# %%
class FourNouns(nn.Module):
    """Knows `encode`, `decode` and `pad_id` as decoding needs them; ignores the source."""

    words = ("<pad>", "<bos>", "<eos>", "a", "an", "house", "horse", "hat", "owl")
    pad_id = 0

    def __init__(self):
        super().__init__()
        self.follow = {"<bos>": {"a": 0.6, "an": 0.4}, "an": {"owl": 1.0}}
        self.follow["a"] = {"house": 0.4, "horse": 0.3, "hat": 0.3}

    def encode(self, source):
        return torch.zeros(*source.shape, 1)

    def decode(self, written, memory, source):
        table = torch.zeros(len(self.words), len(self.words))  # next word, given the last one
        for row, last in enumerate(self.words):
            for word, p in self.follow.get(last, {"<eos>": 1.0}).items():
                table[row, self.words.index(word)] = p
        return table.log()[written]  # (B, t, V)


toy, any_source = FourNouns(), torch.ones(1, 1, dtype=torch.long)
bos, eos = 1, 2  # places in `words`
greedy = transformer.greedy_decode(toy, any_source, bos, eos, max_len=6)
ids, scores = transformer.beam_search(toy, any_source, bos, eos, max_len=6, beam_width=2, alpha=0)
print("greedy:", " ".join(toy.words[k] for k in greedy[0]))
for row, score in zip(ids[0], scores[0].exp(), strict=True):
    print("beam:  ", " ".join(toy.words[k] for k in row), f"  p = {score:.2f}")
assert torch.equal(ids[0, 0, :3], torch.tensor([1, 4, 8])) and abs(scores[0, 0].exp() - 0.4) < 1e-6

# %% [markdown]
# Greedy takes "a" (0.6) and ends at $0.6 \cdot 0.4 = 0.24$. In a beam of two, "an" (0.4) is still in the race and
# wins with $0.4 \cdot 1.0 = 0.40$.
#
# ![A tree from left to right. From bos, thick arrows lead to a, 0.60, and to an, 0.40: a beam of two keeps
# both. From a, a thick arrow leads to house, 0.24, and thin ones to horse and hat, 0.18 each, which are
# dropped. From an, a thick arrow leads to owl, 0.40. House is marked greedy, owl is marked
# best.](../figures/beam_tree.svg)
#
# A further word never makes a product of probabilities larger, and nearly always makes it smaller, so plain
# products favour short sentences. `beam_search` divides the log probability by a length penalty (Wu et al., 2016,
# eq. 14),
#
# $$\mathrm{score}(y) = \frac{\log p(y \mid x)}{lp(y)}, \qquad
#   lp(y) = \left(\frac{5 + |y|}{6}\right)^{\alpha},$$
#
# with $|y|$ the number of words. A log probability is negative, so dividing it by more brings it nearer to zero, and
# long sentences gain. (The exponent α is theirs, and has nothing to do with weights of attention.) For $\alpha = 0$
# this is the plain log probability. Vaswani et al. used a beam width of 4 and $\alpha = 0.6$ (their section 6.1), and
# so do we.
#
# Does it help us? We ask the trained model, and the half-trained one after 200 steps, which is less sure of
# itself.

# %% seconds=8
probe = splits.test[:300]


def with_beam(width):
    """A decoding function like `greedy_decode`: the best row of a beam of this width."""

    def decode(model, source, bos_id, eos_id, max_len):
        return transformer.beam_search(model, source, bos_id, eos_id, max_len, width)[0][:, 0]

    return decode


beam_right, better_scored = {}, {}
for step in (200, STEPS):
    greedy = answers(kept[step], probe)
    beam = answers(kept[step], probe, with_beam(4))
    beam_right[step] = share_right(greedy), share_right(beam)
    scores = [
        log_probability(kept[step], [data.Pair(pair.source, text) for pair, text in found])
        for found in (greedy, beam)
    ]
    better_scored[step] = (scores[1] >= scores[0] - 1e-3).double().mean().item()

# %% tags=["nbval-ignore-output"]
print("after   greedy   beam of 4   beam's log p at least greedy's")
for step, (greedy_share, beam_share) in beam_right.items():
    print(f"{step:5d}   {greedy_share:6.3f}   {beam_share:9.3f}   {better_scored[step]:18.3f}")
    assert beam_share > greedy_share - 0.015  # at most four of 300 sentences behind
assert beam_right[STEPS][1] > 0.98

# %% [markdown]
# The beam finds sentences that the model scores as high or higher, nearly always. (There is no guarantee, since a
# beam may drop on its way the words that greedy decoding would keep, and the length penalty changes the ranking.)
# While the model is unsure, this can help. Once it is sure, there is almost nothing left to find, at four times the
# work and more.
#
# Higher probability is not better translation, either. Large beams are known to make real translations worse
# (Koehn & Knowles, 2017, section 3.6). At the extreme, an exact search often finds that the *empty* sentence is
# the most probable one (Stahlberg & Byrne, 2019), so greedy search had only failed to
# find the model's own errors.
#
# **Check yourself.** The right translation has log probability −1.2 under the model, and the written one −0.9.
# Would a wider beam help?
#
# <details><summary>Answer</summary>
#
# It would not if it looks for the highest probability, because the model prefers the wrong translation, which is
# a model error. Only if the right one scores higher has greedy decoding missed it, and a beam may find it. (A
# length penalty changes the score. It may put the right one first if that is the longer one.)
#
# </details>

# %% [markdown]
# ## 15. Going deeper: BERT and GPT
#
# The transformer was made for translation, with one sequence in and another one out. Two famous families kept
# only one half of it, and turned to text in one language. Both are trained on large amounts of plain text first,
# and adapted to a task such as classification or answering questions afterwards.
#
# | | transformer | BERT | GPT |
# |---|---|---|---|
# | paper | Vaswani et al., 2017 | Devlin et al., 2019 | Radford et al., 2018 |
# | kept | encoder and decoder | **encoder** only | **decoder** only, without cross-attention |
# | a word sees | encoder: all; decoder: the past | all words, left and right | itself and the past |
# | learns to | say the next word of the translation | fill in hidden words; tell whether one sentence followed another | say the next word |
# | good at | turning one sequence into another | judging a text that is there | continuing a text |
# | size in the paper | 6 + 6 layers, width 512 | 12 layers, width 768 (base) | 12 layers, width 768 |
#
# BERT chooses 15 % of the tokens as its questions. Of these, 80 % are replaced by a mask token, 10 % by a random
# token, and 10 % stay as they are (its section 3.1), because in later use no mask token comes and the model must
# not count on one. BERT cannot use a causal mask's trick to learn at every position. Each word sees all others,
# so if the input were left as it is, every word could be copied. GPT does use the trick, and its loss is the one
# of lecture 4. Later models of both families changed sizes, data and details, and T5 (Raffel et al., 2020) kept
# both halves. [Lecture 9](09_one_half_alone.ipynb) builds and trains one model of each family.
#
# A GPT layer has no cross-attention, so it is *our encoder layer with a causal mask*. (In details both families
# differ from ours, since their feed-forward networks use GELU, a smooth relative of the ReLU, and their positions
# are learned.) With the same weights, only the mask tells the two families apart:
# %%
torch.manual_seed(5)
layer = TransformerLayer(d_model=16, num_heads=2, d_ff=32, dropout=0.0)
text = torch.randn(1, 7, 16)  # (B, T, D)
changed = text.clone()
changed[0, 5] += 1.0  # another word in place 5

noticed = {}
with torch.no_grad():
    for name, mask in [("BERT-like, no mask", None), ("GPT-like, causal", masks.causal_mask(7))]:
        moved = (layer(text, mask) - layer(changed, mask)).abs().amax(dim=-1)[0]  # (T,)
        noticed[name] = (moved > 1e-6).nonzero().flatten().tolist()
        print(f"{name:<20} outputs that notice: {noticed[name]}")
assert noticed == {"BERT-like, no mask": [0, 1, 2, 3, 4, 5, 6], "GPT-like, causal": [5, 6]}

# %% [markdown]
# Here is the same question for all three models, drawn as masks. *Itself* means that keys come from the same
# sequence as the queries.

# %% tags=["hide-input"]
size = 6
may_attend = {
    "BERT:\nitself": torch.ones(size, size),
    "GPT:\nitself": masks.causal_mask(size),
    "encoder:\nitself": torch.ones(size, size),
    "decoder:\nitself": masks.causal_mask(size),
    "decoder:\nmemory": torch.ones(size, size),
}
figure, axes = plotting.panels(5, height=2.9, sharey=True)
for ax, (title, allowed) in zip(axes, may_attend.items(), strict=True):
    plotting.mask_map(allowed, ax=ax, query_label="")
    ax.set(title=title, aspect="equal", xticks=range(0, size, 2), yticks=range(0, size, 2))
axes[0].set_ylabel("query")
plotting.picture(
    figure,
    caption="BERT keeps the encoder's mask, GPT the decoder's; the transformer has both, and a third map.",
    alt="Five grids of six queries by six keys: allowed cells filled, hidden ones hatched. BERT, itself: "
    "a full square. GPT, itself: a lower triangle with its diagonal. The transformer has three: "
    "a full square in the encoder, a lower triangle in the decoder, and a full square from decoder to "
    "memory.",
)

# %% [markdown]
# ### Not only translation
#
# Nothing in a transformer knows that its tokens are words, or that the second sequence is a translation. If you
# change the data and what comes out at the top, it does something else.
#
# | task | how |
# |---|---|
# | **sentiment** of a text, and other classes | BERT puts an extra token in front of the text, and a linear layer reads the class from that token's last vector. Telling praise from blame in film reviews is one of its tests (Devlin et al., 2019, sections 3 and 4.1). |
# | **answering questions** about a text | Question and text are read as one sequence, and BERT gives each token a score for being the answer's first and its last (Devlin et al., 2019, section 4.2). |
# | **summarisation** | The source is a long text, the target a short one. T5 learns it along with translation, with the task written in front of the source (Raffel et al., 2020, section 2.4). With a decoder alone, the summary is what comes next after the text. The decoder without cross-attention was introduced for this (Liu et al., 2018), and GPT took it over. |
# | **proteins** | The tokens are amino acids. An encoder that fills in hidden ones, trained on 250 million sequences, gives vectors from which parts of a protein's spatial structure can be read by linear maps (Rives et al., 2021). |
# | **writing code** | The tokens come from programs. A GPT trained further on public code wrote Python functions from their descriptions. One try solved 28.8 % of 164 tasks, as judged by running tests (Chen et al., 2021). |
#
# Such numbers hold for their model, their data and their year. What lasts is the way of asking. Which sequence
# goes in, who may see whom, what is to be said, and how do you know whether it was right?

# %% [markdown]
# ### What changed since 2017
#
# If you open one of the large language models of the last years, you find most of what you know. Four things
# differ.
#
# - **A decoder alone** has become the common form, as in GPT.
# - **The norm comes before the sublayer**, which tolerates larger learning rates (lecture 7, section 9). It is often an
#   RMSNorm, which divides by the root of the mean square and subtracts no mean (Zhang & Sennrich, 2019).
# - **Positions are rotations** of queries and keys in every layer instead of vectors added once (lecture 6, section
#   10), and the ReLU of the feed-forward network has become a product with a learned gate (Shazeer, 2020).
# - **Several query heads share one key head and one value head**, so that less has to be kept in the cache of section
#   12 (Ainslie et al., 2023).
#
# What attention computes has not changed. [Lecture 10](10_fast_attention.ipynb) builds the last of these, and
# [lecture 11](11_block_of_today.ipynb) the others, and measures what they bring.
#
# ## 16. Going deeper: the whole class on one screen
#
# In assignment a9 you write the class `Transformer` yourself. Once you have done so, compare yours with the one that
# this lecture has used. It is shown without its docstrings, and `start_cache` and `step` are for section 12.

# %% tags=["hide-input"]
source = inspect.getsource(transformer.Transformer)
without_docstrings = re.sub(r'\n +"""[^"]*"""(?=\n)', "", source)
listing = highlight(without_docstrings, PythonLexer(), HtmlFormatter())
HTML(f"<details><summary>The class <code>Transformer</code></summary>{listing}</details>")

# %% [markdown]
# ## Further reading
#
# - Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz Kaiser,
#   Illia Polosukhin (2017). *[Attention Is All You Need.](https://arxiv.org/abs/1706.03762)* NeurIPS.
#   Section 3 and figure 1: the architecture; 5.3 and 5.4: warm-up, dropout, label smoothing; table 3: what
#   happens with other sizes.
# - Ilya Sutskever, Oriol Vinyals, Quoc V. Le (2014). *[Sequence to Sequence Learning with Neural
#   Networks.](https://arxiv.org/abs/1409.3215)* NeurIPS. Section 3.2: beam search.
# - Yonghui Wu and others (2016). *[Google's Neural Machine Translation System: Bridging the Gap between
#   Human and Machine Translation.](https://arxiv.org/abs/1609.08144)* arXiv:1609.08144. Section 7, eq. 14:
#   the length penalty.
# - Christian Szegedy, Vincent Vanhoucke, Sergey Ioffe, Jon Shlens, Zbigniew Wojna (2016). *[Rethinking the
#   Inception Architecture for Computer Vision.](https://arxiv.org/abs/1512.00567)* CVPR. Section 7: label
#   smoothing.
# - Diederik P. Kingma, Jimmy Ba (2015). *[Adam: A Method for Stochastic
#   Optimization.](https://arxiv.org/abs/1412.6980)* ICLR. Section 2.1: how large a step is.
# - Ilya Loshchilov, Frank Hutter (2017). *[SGDR: Stochastic Gradient Descent with Warm
#   Restarts.](https://arxiv.org/abs/1608.03983)* ICLR. Eq. 5: the cosine.
# - Ilya Loshchilov, Frank Hutter (2019). *[Decoupled Weight Decay
#   Regularization.](https://arxiv.org/abs/1711.05101)* ICLR. Algorithm 2: AdamW.
# - Ruibin Xiong, Yunchang Yang, Di He, Kai Zheng, Shuxin Zheng, Chen Xing, Huishuai Zhang, Yanyan Lan,
#   Liwei Wang, Tie-Yan Liu (2020). *[On Layer Normalization in the Transformer
#   Architecture.](https://arxiv.org/abs/2002.04745)* ICML. Section 3: why post-LN needs warm-up.
# - Noam Shazeer (2019). *[Fast Transformer Decoding: One Write-Head is All You
#   Need.](https://arxiv.org/abs/1911.02150)* arXiv:1911.02150. Section 2.4: incremental decoding and what
#   it costs.
# - Philipp Koehn, Rebecca Knowles (2017). *[Six Challenges for Neural Machine
#   Translation.](https://arxiv.org/abs/1706.03872)* First Workshop on Neural Machine Translation. Section
#   3.6: beam search.
# - Felix Stahlberg, Bill Byrne (2019). *[On NMT Search Errors and Model Errors: Cat Got Your
#   Tongue?](https://arxiv.org/abs/1908.10090)* EMNLP-IJCNLP.
# - Jacob Devlin, Ming-Wei Chang, Kenton Lee, Kristina Toutanova (2019). *[BERT: Pre-training of Deep
#   Bidirectional Transformers for Language Understanding.](https://arxiv.org/abs/1810.04805)* NAACL-HLT.
#   Section 3: the model; section 4: its tasks.
# - Alec Radford, Karthik Narasimhan, Tim Salimans, Ilya Sutskever (2018). *[Improving Language
#   Understanding by Generative
#   Pre-Training.](https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf)*
#   Technical report, OpenAI. Sections 3.1 and 4.1.
# - Colin Raffel, Noam Shazeer, Adam Roberts, Katherine Lee, Sharan Narang, Michael Matena, Yanqi Zhou, Wei
#   Li, Peter J. Liu (2020). *[Exploring the Limits of Transfer Learning with a Unified Text-to-Text
#   Transformer.](https://arxiv.org/abs/1910.10683)* Journal of Machine Learning Research 21. Section 2.1:
#   the model; 2.4: every task as text.
# - Tom B. Brown and others (2020). *[Language Models are Few-Shot
#   Learners.](https://arxiv.org/abs/2005.14165)* NeurIPS. Section 2.1: sizes and learning rates of GPT-3.
# - Peter J. Liu, Mohammad Saleh, Etienne Pot, Ben Goodrich, Ryan Sepassi, Łukasz Kaiser, Noam Shazeer
#   (2018). *[Generating Wikipedia by Summarizing Long Sequences.](https://arxiv.org/abs/1801.10198)* ICLR.
# - Alexander Rives, Joshua Meier, Tom Sercu, Siddharth Goyal, Zeming Lin, Jason Liu, Demi Guo, Myle Ott, C.
#   Lawrence Zitnick, Jerry Ma, Rob Fergus (2021). *[Biological Structure and Function Emerge from Scaling
#   Unsupervised Learning to 250 Million Protein Sequences.](https://doi.org/10.1073/pnas.2016239118)* PNAS
#   118.
# - Biao Zhang, Rico Sennrich (2019). *[Root Mean Square Layer
#   Normalization.](https://arxiv.org/abs/1910.07467)* NeurIPS. Section 4: the norm.
# - Noam Shazeer (2020). *[GLU Variants Improve Transformer.](https://arxiv.org/abs/2002.05202)* arXiv:2002.05202.
#   Section 2: feed-forward networks with a gate.
# - Joshua Ainslie, James Lee-Thorp, Michiel de Jong, Yury Zemlyanskiy, Federico Lebrón, Sumit Sanghai (2023).
#   *[GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
#   Checkpoints.](https://arxiv.org/abs/2305.13245)* EMNLP. Section 2.2.
# - Mark Chen and others (2021). *[Evaluating Large Language Models Trained on
#   Code.](https://arxiv.org/abs/2107.03374)* arXiv:2107.03374.
