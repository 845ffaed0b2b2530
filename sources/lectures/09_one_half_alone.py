# ---
# jupyter:
#   course:
#     assignment: a10_language_models
#     deeper: 3
#     minutes: 61
#     summary: GPT and BERT, a decoder and an encoder alone, judged by exact probabilities.
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
# # Lecture 9: One half alone
#
# The transformer of [lecture 8](08_transformer.ipynb) has two halves, one that reads and one that writes. Soon after
# 2017 people found that each half is useful without the other. The decoder alone became GPT, which continues a text,
# and the encoder alone became BERT, which fills in what is missing. In this lecture you build both from parts that
# you already have, and you judge them in a way that is usually impossible, because we know the exact probability of
# every sentence in their language.
#
# **Afterwards you will be able to**
#
# - turn an encoder layer into a language model, and say what the causal mask changes;
# - compute the loss of the next word, the probability of a sentence and a perplexity, and say which loss nobody can
#   get below;
# - let a model write with temperature, top-k and top-p, and measure what each of them costs;
# - hide words for a masked language model, and say what it knows that a causal model cannot know;
# - cut words into subwords by byte-pair encoding, so that no word is unknown.
#
# **Time** about 61 minutes with views and questions, and 3 for going deeper.
# **Needs** lectures [4](04_masked_attention.ipynb), [7](07_layer_normalization.ipynb) and
# [8](08_transformer.ipynb).

# %%
import json
import math
import re
from collections import Counter
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

import course_utils
from course_utils import language_models
from course_utils.language_models import mask_words, sample_next
from course_utils.layers import TransformerLayer
from course_utils.masks import causal_mask
from lecture_kit import data, live, plotting, questions
from lecture_kit.corpus.exact import distribution, throws
from lecture_kit.corpus.statements import judgement, mood
from lecture_kit.experiments import known_language

plotting.use_course_style()
torch.set_num_threads(1)  # models this small gain little from two, and lose much on a busy machine

# %% [markdown]
# ## 1. Two halves
#
# In the transformer, the encoder turns the German words into a memory, and the decoder writes English words and looks
# into that memory through cross-attention. What remains of the decoder if there is nothing to translate? Without a
# memory there is no cross-attention, so a layer consists of masked self-attention and a feed-forward network. That is
# the layer of lecture 7 with a causal mask.
#
# ![Three panels of boxes, each with a small mask of five words below. Left, the transformer of 2017: German words go
# up through self-attention and feed-forward to the memory, with a full mask; English words so far go up through masked
# self-attention, cross-attention, which also gets the memory, and feed-forward to the next English word, with a lower
# triangle as the mask. In the middle GPT: words so far go up through masked self-attention and feed-forward to the
# next word, with the lower triangle. Right BERT: words, some of them hidden, go up through self-attention and
# feed-forward to the hidden words, with the full mask.](../figures/one_half.svg)
#
# *GPT keeps the decoder without its cross-attention, and BERT keeps the encoder. The small squares are the masks, in
# which a row is a word that looks.*
#
# So the two halves have the same layers, and they differ only in the mask and in what they are asked. GPT (Radford et
# al., 2018) says the next word of a text, and BERT (Devlin et al., 2019) says which words have been hidden. Two details
# are new for us. Positions are *learned*, as a second embedding table with a row for each place. And the output map is
# the embedding itself: a word is likely if its vector has a large dot product with what comes out on top, so the same
# table serves for reading and for writing. This is called *weight tying*.


# %%
class LanguageModel(nn.Module):
    """Embedding and position, layers, and the embedding again; with a causal mask or with none."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, max_len, causal):
        super().__init__()
        self.causal = causal
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.layers = nn.ModuleList(
            TransformerLayer(d_model, num_heads, d_ff, dropout=0.0) for _ in range(num_layers)
        )
        for table in (self.embedding, self.position_embedding):
            nn.init.normal_(table.weight, std=d_model**-0.5)

    def forward(self, token_ids):  # (B, T)
        T = token_ids.shape[1]
        x = self.embedding(token_ids) + self.position_embedding(torch.arange(T))  # (B, T, D)
        mask = causal_mask(T) if self.causal else None
        for layer in self.layers:
            x = layer(x, mask)  # (B, T, D)
        return x @ self.embedding.weight.T  # (B, T, D) @ (D, V) -> (B, T, V)


# %% [markdown]
# Row $t$ of the result belongs to the word that follows word $t$ in a causal model, and to word $t$ itself in a model
# without a mask. The course's `CausalLanguageModel` and `MaskedLanguageModel` are this class, with dropout as well.

# %% tags=["hide-input"]
torch.manual_seed(1)
ids = torch.randint(11, (2, 5))
for causal, kind in [
    (True, language_models.CausalLanguageModel),
    (False, language_models.MaskedLanguageModel),
]:
    ours = LanguageModel(11, 12, 3, 2, 17, 9, causal)
    theirs = kind(11, 12, 3, 2, 17, dropout=0.0, max_len=9)
    theirs.load_state_dict(ours.state_dict())
    assert torch.allclose(ours(ids), theirs(ids), atol=1e-6)
print("the class equals both models of course_utils.language_models")

# %% [markdown]
# ## 2. A language in which everything is known
#
# How good is a language model? On real text nobody can say how good it could be at best, because nobody knows the
# true probability of the next word. On the sentences of our grammar we can, since we know the dice that make them.
# Instead of throwing the dice, we let them fall in *every* way and multiply the probabilities. Two kinds of sentences
# are small enough for that. One says how somebody feels, such as "are you tired ?", and the other how something is,
# such as "it is easy to translate this sentence .".

# %%
every_throw = list(throws(mood))
print(f"{len(every_throw)} throws for a mood, {len(dict(every_throw))} different sentences")

language = distribution([(2, mood), (3, judgement)])  # of five sentences two and three
print(f"{len(language)} sentences, with probabilities that sum to {sum(language.values()):.6f}")
for sentence in ["are you tired ?", "it is easy to translate this sentence ."]:
    print(f"{language[sentence]:.2e}  {sentence}")

# %% tags=["hide-input"]
assert (len(every_throw), len(dict(every_throw)), len(language)) == (4592, 3024, 70678)
assert abs(sum(language.values()) - 1) < 1e-9
print("4592 throws, 3024 sentences of the one kind, 70 678 of both")

# %% [markdown]
# As ids, every sentence begins with `<bos>` and ends with `<eos>`, and the rest of a row is padding.

# %%
vocabulary = data.Vocabulary.from_sentences(language)
rows = [[data.BOS_ID, *vocabulary.encode(sentence), data.EOS_ID] for sentence in language]
LONGEST = max(map(len, rows))
all_ids = torch.tensor([row + [data.PAD_ID] * (LONGEST - len(row)) for row in rows])  # (N, T)
probability = torch.tensor(list(language.values()), dtype=torch.float64)  # (N,)
print(tuple(all_ids.shape), "ids of", len(vocabulary), "words and marks")

# %% [markdown]
# ## 3. The loss of the next word
#
# A causal model gives every next word a probability, so it also gives a probability to a whole sentence $u_1, \dots,
# u_T$, which is the product
#
# $$p(u_1, \dots, u_T) = \prod_{t=1}^{T} p(u_t \mid u_0, \dots, u_{t-1})$$
#
# where $u_0$ is `<bos>`. Minus the logarithm of this product is a sum of surprises, $-\ln p(u_t \mid \dots)$, one for
# each word. The **loss** is their mean over all words that count, in units called *nats*, and its exponential is the
# **perplexity**. A perplexity of 3 means that the model is as unsure as if it chose among three equally likely words.
#
# In code, the logits of place $t$ are compared with the word of place $t + 1$. Both ends need care, because the last
# place has nothing to predict, and padding is never asked for.


# %%
def next_token_loss(logits, token_ids, pad_id=data.PAD_ID):
    """Mean surprise at the next token, in nats: logits (B, T, V), token_ids (B, T)."""
    rows, targets = logits[:, :-1].flatten(0, 1), token_ids[:, 1:].flatten()
    return F.cross_entropy(rows, targets, ignore_index=pad_id)


logits = torch.zeros(1, 4, 3)
logits[0, 0] = torch.tensor([0.50, 0.25, 0.25]).log()
logits[0, 1] = torch.tensor([0.25, 0.25, 0.50]).log()
by_hand = (math.log(4) + math.log(2)) / 2  # probabilities 1/4 and 1/2, then padding
loss = next_token_loss(logits, torch.tensor([[1, 2, 2, 0]]))
print(f"loss {loss:.4f}, by hand {by_hand:.4f}, perplexity {loss.exp():.2f}")

# %% tags=["hide-input"]
assert abs(loss.item() - by_hand) < 1e-6
many = torch.randn(3, 6, 9)
some_ids = torch.randint(9, (3, 6))
theirs = language_models.next_token_loss(many, some_ids)
assert torch.allclose(next_token_loss(many, some_ids), theirs)
print("agrees with the example by hand, and with course_utils.language_models")

# %% tags=["hide-input"]
questions.ask("09", "where-the-shift-belongs")

# %% [markdown]
# ### The loss that nobody gets below
#
# The smallest loss that is possible on average is reached by a model that knows the true probabilities. It is the
# **entropy** of the language, which for whole sentences is $-\sum_s p(s) \ln p(s)$. Divided by the mean number of
# words and marks in a sentence, the `<eos>` included, it is an entropy per token.

# %%
entropy = -(probability * probability.log()).sum().item()  # nats a sentence
tokens = (all_ids != data.PAD_ID).sum(dim=1) - 1  # (N,): all but <bos>
mean_length = (probability * tokens).sum().item()
floor = entropy / mean_length  # nats a token

print(f"{entropy:.4f} nats a sentence, {mean_length:.3f} tokens a sentence")
print(f"{floor:.4f} nats a token, a perplexity of {math.exp(floor):.3f}")

# %% tags=["hide-input"]
ready_made = known_language.known_language()
assert torch.equal(ready_made.ids, all_ids) and abs(ready_made.floor - floor) < 1e-12
assert abs(entropy - 8.2137) < 1e-4 and abs(mean_length - 8.047) < 1e-3
assert abs(floor - 1.0208) < 1e-4 and abs(math.exp(floor) - 2.775) < 1e-3
print("the entropy is 1.0208 nats a token, a perplexity of 2.775")

# %% [markdown]
# ### Rivals that need no training
#
# Before neural networks, language models counted. An *n-gram model* predicts a word from the $n - 1$ words before it
# and ignores everything earlier. Usually its numbers are estimated from a text. Here we need not estimate them,
# because we can compute the *best possible* n-gram model from the probabilities of all sentences.


# %%
def ideal_ngram_loss(n):
    """Nats a token of the best model that sees only the n - 1 tokens before."""
    pairs, contexts = Counter(), Counter()
    for row, weight in zip(rows, language.values(), strict=True):
        padded = [data.BOS_ID] * (n - 2) + row
        for place in range(max(n - 1, 1), len(padded)):
            context = tuple(padded[place - n + 1 : place])
            pairs[context, padded[place]] += weight
            contexts[context] += weight
    surprises = (
        -weight * math.log(weight / contexts[context]) for (context, _), weight in pairs.items()
    )
    return sum(surprises) / mean_length


# %%
ngram_loss = {n: ideal_ngram_loss(n) for n in range(1, 6)}
for n, loss in ngram_loss.items():
    print(f"the best {n}-gram model has a perplexity of {math.exp(loss):.3f}")

# %% tags=["hide-input"]
expected = [35.013, 4.476, 3.142, 2.936, 2.905]
assert all(
    abs(math.exp(loss) - value) < 1e-3
    for loss, value in zip(ngram_loss.values(), expected, strict=True)
)
print("perplexities of 35.0, 4.48, 3.14, 2.94 and 2.90")

# %% [markdown]
# The gain gets smaller with every word, but even five words do not reach the entropy. The reason is at the other end
# of the sentence. Whether it ends with "?" or with "." depends on its *first* word, which is too far away for any of
# these models to see. Attention has no such limit.
#
# ## 4. Training
#
# Now we train the model on sentences that are drawn from the language, 128 of them at each of 600 steps. The learning
# rate climbs for 50 steps and then falls to almost zero.

# %%
SEED = 0
BATCH, WARM_UP, PEAK = 128, 50, 0.004


def rate(step, steps):
    """Linear warm-up, then a straight line down."""
    return PEAK * min(step / WARM_UP, (steps - step + 1) / (steps - WARM_UP))


def train(kind, loss_of, steps, seed, vocab_size):
    """A trained model of a kind; `loss_of(model, batch, generator)` says what it learns."""
    torch.manual_seed(seed)
    model = kind(vocab_size, 64, 4, 2, 128, dropout=0.0, max_len=LONGEST)
    optimizer = torch.optim.Adam(model.parameters())
    generator = torch.Generator().manual_seed(seed)
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = rate(step, steps)
        drawn = torch.multinomial(probability, BATCH, replacement=True, generator=generator)
        loss = loss_of(model, all_ids[drawn], generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


# %% seconds=12
causal_model = train(
    language_models.CausalLanguageModel,
    lambda model, batch, generator: next_token_loss(model(batch), batch),
    steps=600,
    seed=SEED,
    vocab_size=len(vocabulary),
)

# %% [markdown]
# How far is it from the entropy? We need no sample to find out, because we can ask the model for the probability of
# all 70 678 sentences and weigh each by how often it occurs.


# %%
@torch.no_grad()
def exact_loss(model):
    """Nats a token, over every sentence of the language."""
    total = 0.0
    for batch, weights in zip(all_ids.split(2000), probability.split(2000), strict=True):
        logits = model(batch)[:, :-1].transpose(1, 2)  # (B, V, T - 1)
        surprises = F.cross_entropy(
            logits, batch[:, 1:], ignore_index=data.PAD_ID, reduction="none"
        )
        total += (weights * surprises.double().sum(dim=1)).sum().item()
    return total / mean_length


# %% tags=["nbval-ignore-output"] seconds=5
model_loss = exact_loss(causal_model)
print(
    f"{model_loss - floor:.4f} nats above the entropy, a perplexity of {math.exp(model_loss):.3f}"
)

# %% tags=["hide-input", "nbval-ignore-output"]
assert 0 < model_loss - floor < 0.03
assert 70_000 < sum(part.numel() for part in causal_model.parameters()) < 80_000
assert model_loss < ngram_loss[5]

losses = {f"best {n}-gram": loss for n, loss in ngram_loss.items() if n > 1}
losses |= {"our model": model_loss, "entropy": floor}
figure, ax = plotting.panels(1, height=4.2)
ax.axvline(math.exp(floor), color=plotting.MUTED, linewidth=1.2, zorder=0)
for place, (name, loss) in enumerate(losses.items()):
    colour = plotting.SERIES[0] if name == "our model" else plotting.INK
    ax.plot(math.exp(loss), place, "o", color=colour, markersize=10)
    ax.text(math.exp(loss) + 0.04, place, f"{math.exp(loss):.2f}", va="center", color=colour)
ax.set_yticks(range(len(losses)), losses)
ax.set(xlim=(2.6, 4.8), ylim=(5.5, -0.5), xlabel="perplexity")
plotting.picture(
    figure,
    caption="The trained model is better than any model of five words could be, and close to the limit.",
    alt="Perplexities as dots on a line each: the best 2-gram model 4.48, 3-gram 3.14, 4-gram 2.94, 5-gram "
    "2.90, our model about 2.82, and the entropy 2.78, which a thin line marks for all.",
)

# %% [markdown]
# The model is less than 0.03 nats above the entropy, and below the best 5-gram model, because it can look back at the
# first word. It has about 75 000 numbers and has seen 76 800 sentences, many of them several times, so this is not a
# story of a small model and a large language. The point is that we can tell how much is left to gain, which is next to
# nothing.
#
# ## 5. Writing
#
# A language model writes by choosing a word, appending it, and asking again. Which word should it choose? The
# likeliest word each time is *greedy decoding*, which always writes the same sentence. If you draw from the
# probabilities instead, every sentence comes as often as the model thinks it should, including those in which an
# unlucky draw has put a word that hardly ever fits. Three settings lie between these two.
#
# - The **temperature** $\tau$ divides all logits, as in lecture 3. Below 1 likely words become likelier, and above 1
#   all words become more alike.
# - **Top-k** keeps the $k$ likeliest words and leaves out the rest.
# - **Top-p** (Holtzman et al., 2020) keeps the smallest set of likeliest words whose probabilities reach $p$. The word
#   with which the sum reaches $p$ belongs to the set, so at least one word stays. Where the model is sure, few words
#   stay, and where it is not, many do.
#
# They are applied in this order, and after each cut the rest is made to sum to one again.


# %%
def next_word_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    """What one word is drawn from: logits (V,) -> (V,). For temperatures above 0."""
    logits = logits / temperature
    if top_k is not None:
        lowest = logits.topk(top_k).values[-1]
        logits = logits.masked_fill(logits < lowest, -math.inf)
    probabilities = logits.softmax(dim=-1)
    if top_p is not None:
        falling, order = probabilities.sort(descending=True)
        before = falling.cumsum(dim=0) - falling  # what the likelier words have together
        probabilities[order[before >= top_p]] = 0.0
        probabilities = probabilities / probabilities.sum()
    return probabilities


by_hand = next_word_probabilities(torch.tensor([0.1, 0.4, 0.2, 0.3]).log(), top_k=3, top_p=0.7)
print("probabilities 0.1, 0.4, 0.2, 0.3, cut with k = 3 and p = 0.7:")
print([round(share, 4) for share in by_hand.tolist()])

# %% tags=["hide-input"]
assert torch.allclose(by_hand, torch.tensor([0, 4 / 7, 0, 3 / 7]))
for settings in [
    {},
    {"temperature": 0.5},
    {"top_k": 4},
    {"top_p": 0.6},
    {"top_k": 5, "top_p": 0.8},
]:
    random_logits = torch.randn(1, 30)
    theirs = language_models.next_token_probabilities(random_logits, **settings)[0]
    assert torch.allclose(next_word_probabilities(random_logits[0], **settings), theirs, atol=1e-6)
print("4/7 and 3/7 by hand, and the same as course_utils.language_models")

# %% tags=["hide-input"]
questions.ask("09", "what-top-p-keeps")

# %% [markdown]
# Write a sentence yourself. The trained model runs in the view, and every bar is a word that could come next.
#
# 1. Press *draw a sentence* a few times at $\tau = 1$, then at $\tau = 2$. What goes wrong, and where in the sentence?
# 2. Set $\tau$ back to 1 and begin again. Write "it is", and look at the three words that can follow. How many words
#    does the model consider at all? Which cut removes the others, and what does it cost?
# 3. Set $\tau = 1.6$, draw some sentences, then set top-p to 0.9 and draw again.

# %% tags=["hide-input", "nbval-ignore-output"]
live.writing_view(
    causal_model,
    vocabulary,
    ["it", "is"],
    caption="The next word of the trained model, and what temperature, top-k and top-p leave of it",
)

# %% [markdown]
# <details><summary>What you should see</summary>
#
# - At $\tau = 2$ the sentences fall to pieces. A word that the model gives one in a thousand gets a much larger share,
#   and after one wrong word the model is in a place that it has never seen in training.
# - After "it is" nearly all the probability belongs to three words. The others have little each, but there are a
#   hundred of them, and a long sentence gives them many chances. Both cuts remove them almost for free.
# - At $\tau = 1.6$ about half of the sentences are wrong, and with top-p about one in ten. (At $\tau = 2$ even that cut
#   leaves many wrong words in.)
#
# </details>
#
# ### Measured
#
# What does each setting cost? Because we know the whole language, we can look up whether a sentence belongs to it. For
# every setting the model writes 1000 sentences, and we count how many are right, and how many *different* right ones
# there are.


# %%
@torch.no_grad()
def write(model, number, seed=1, **settings):
    """Sentences that a model writes, as texts."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.full((number, 1), data.BOS_ID)
    ended = torch.zeros(number, dtype=torch.bool)
    while ids.shape[1] < LONGEST and not ended.all():
        words = sample_next(model(ids)[:, -1], generator=generator, **settings)  # (number,)
        words[ended] = data.PAD_ID
        ended |= words == data.EOS_ID
        ids = torch.cat([ids, words.unsqueeze(1)], dim=1)
    return [vocabulary.decode(row) for row in ids]


# %% tags=["nbval-ignore-output"] seconds=6
TEMPERATURES = [0, 0.5, 1, 1.3, 1.6, 2]
settings = [{"temperature": tau} for tau in TEMPERATURES]
settings += [{"temperature": 1, "top_p": 0.9}, {"temperature": 1.6, "top_k": 5}]
settings += [{"temperature": 1.6, "top_p": 0.9}]
outcome = []
print("setting                            right  different")
for setting in settings:
    right = [text for text in write(causal_model, 1000, **setting) if text in language]
    outcome.append((len(right) / 1000, len(set(right))))
    named = ", ".join(f"{name} {value}" for name, value in setting.items())
    print(f"{named:<35}{outcome[-1][0]:5.3f}  {outcome[-1][1]:9d}")

# %% tags=["hide-input", "nbval-ignore-output"]
shares, different = zip(*outcome, strict=True)
assert (shares[0], different[0]) == (1, 1)  # greedy decoding
assert list(shares[:6]) == sorted(shares[:6], reverse=True)
assert shares[1] > 0.97 and 0.8 < shares[2] < 0.95 and shares[5] < 0.35
assert shares[6] > shares[2] + 0.05 and min(shares[7:]) > shares[4] + 0.2
assert 0.4 < shares[4] < 0.65 and 0.8 < shares[8] < 0.95
assert different[6] > 0.95 * different[2] and min(different[7:]) > different[4]

figure, (left, right) = plotting.panels(2, height=4.6)
for ax, values, title in [
    (left, shares, "share that is right"),
    (right, different, "different right ones"),
]:
    ax.plot(TEMPERATURES, values[:6], color=plotting.SERIES[0], label="no cut")
    ax.plot(
        [1, 1.6],
        [values[6], values[8]],
        "s",
        color=plotting.SERIES[1],
        label="top-p 0.9",
        markersize=9,
    )
    ax.plot([1.6], [values[7]], "D", color=plotting.SERIES[2], label="top-k 5", markersize=9)
    ax.set(xlabel="temperature τ", title=title, xticks=[0, 0.5, 1, 1.5, 2])
left.set_ylim(0, 1.05)
left.legend()
plotting.picture(
    figure,
    caption="Heat costs right sentences, and a cut brings most of them back without losing variety.",
    alt="Two panels over the temperature from 0 to 2, for 1000 sentences each. Left, the share that is right: 1 at 0, "
    "near 1 at 0.5, about 0.9 at 1, then falling to about 0.5 at 1.6 and 0.2 at 2; with a cut it is about 0.98 at 1, "
    "and 0.85 to 0.9 at 1.6. Right, the number of different right sentences: 1 at 0, about 700 at 0.5 and at 1, "
    "falling to about 200 at 2; with a cut it is above 700 at 1 and about 600 at 1.6.",
)

# %% [markdown]
# At temperature 0 everything is right, but there is a single sentence. At 1 the model draws from its own
# probabilities, and about one sentence in ten is wrong, although its loss is so close to the entropy. The little that
# is left in that loss is spread over many wrong words. As the temperature rises, fewer and fewer sentences are right.
# A cut gives back most of them, and it does not make the sentences more alike.

# %% tags=["hide-input"]
questions.ask("09", "why-a-cut-helps")

# %% [markdown]
# ## 6. The encoder alone
#
# BERT reads a text with some of its words hidden and has to say what they were. There is no causal mask, because all
# words that are visible may help. But then the task of the next word makes no sense, since the next word is in plain
# sight. So what is asked has to be hidden, and the loss counts only the places that were chosen.
#
# Devlin et al. (2019) choose 15 % of the words. Not all of these become `[MASK]`, because that token never comes in
# later use. A chosen word becomes `[MASK]` in 80 % of the cases, a random word in 10 %, and stays as it is in 10 %.
# The model cannot tell which words were chosen, so it has to form an opinion about every one of them. How much does
# that matter? In their appendix C.2 it hardly matters if the whole model is trained further on a later task, with
# 84.2 % right against 84.3 % on one of them. If only its outputs are used, it does, with a score of 94.9 against 94.0
# when every chosen word is masked.

# %%
MASK_ID = len(vocabulary)  # one more token
never_hidden = (data.PAD_ID, data.BOS_ID, data.EOS_ID)

batch = all_ids[torch.tensor([5, 40_000])]
inputs, targets = mask_words(
    batch,
    MASK_ID,
    len(vocabulary) + 1,
    never_hidden,
    share=0.3,
    generator=torch.Generator().manual_seed(3),
)
shown = (*vocabulary.words, "[MASK]")
for row, asked in zip(inputs, targets, strict=True):
    print("reads:   ", " ".join(shown[k] for k in row if k != data.PAD_ID))
    print("is asked:", ", ".join(f"{t}: {shown[k]}" for t, k in enumerate(asked) if k >= 0))

# %% [markdown]
# The targets are −100 wherever nothing is asked, and `F.cross_entropy` leaves those places out.
#
# ### What only the future decides
#
# What can this model do that a causal one cannot? Take a question such as "are you tired ?" and hide its first word.
# It is "is" or "are", and what follows decides. We take 500 questions, half of them with each word, and ask both
# models. The masked model may choose from the whole vocabulary, while the causal one only has to say which of the two
# words is likelier.


# %%
def masked_loss(model, batch, generator):
    """The loss at the chosen words."""
    inputs, targets = mask_words(batch, MASK_ID, MASK_ID + 1, never_hidden, generator=generator)
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def drawn_questions(first, number, seed):
    """Questions that begin with a word, as ids (number, T), drawn from the language."""
    places = [
        k for k, text in enumerate(language) if text.startswith(f"{first} ") and text[-1] == "?"
    ]
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.multinomial(probability[places], number, replacement=True, generator=generator)
    return all_ids[torch.tensor(places)[drawn]]


# %% seconds=24
masked_model = train(
    language_models.MaskedLanguageModel, masked_loss, steps=1200, seed=SEED, vocab_size=MASK_ID + 1
)

# %% tags=["nbval-ignore-output"]
asked = torch.cat([drawn_questions(first, 250, seed=0) for first in ("is", "are")])  # (500, T)
first_words = asked[:, 1]
hidden = asked.clone()
hidden[:, 1] = MASK_ID
two = torch.tensor(vocabulary.encode("is are"))
with torch.no_grad():
    masked_right = (masked_model(hidden)[:, 1].argmax(dim=-1) == first_words).float().mean()
    likelier = two[causal_model(asked)[:, 0, two].argmax(dim=-1)]  # place 0 says word 1
causal_right = (likelier == first_words).float().mean()
print(f"the masked model, of {MASK_ID + 1} words: {masked_right:.3f} right")
print(f"the causal model, of two words: {causal_right:.3f} right")

# %% tags=["hide-input"]
assert masked_right > 0.95 and causal_right == 0.5
print("the masked model above 0.95, the causal one exactly 0.500")

# %% [markdown]
# The causal model gets exactly half of them, because it gives the same answer every time. At that moment it has seen
# `<bos>` and nothing else. The masked model reads on and knows. The price is that it cannot write, because it needs the
# words on both sides before it can say anything.
#
# What we do *not* show here is that one of the two is better. Which of them helps more in later tasks, and how much
# training on plain text helps at all, are questions for large models and real texts.

# %% tags=["hide-input"]
questions.ask("09", "ten-percent-stay")

# %% [markdown]
# ## 7. Subwords: no word is unknown
#
# Our vocabulary is complete, but real texts always contain a word that training has never seen. Letters would solve
# this, because there are few of them, but a text has many more letters than words, and attention costs the square of
# the length. *Byte-pair encoding* (Sennrich et al., 2016) lies in between. It begins with letters and joins the most
# frequent pair of neighbours into one symbol, again and again. Frequent words become one symbol, and rare ones are
# cut into parts.

# %%
print(language_models.learn_merges({"aab": 3, "ab": 2}, num_merges=5))

# %% [markdown]
# In this example the pair `a b` occurs in all five words, so it is joined first. After that `a ab` occurs three
# times, and then no pair is left. As a text we take the prose of lectures 1 to 7 and learn 1000 merges from it. Then
# we cut the words of lecture 8, which took no part.


# %%
def words_of(name):
    """The words of a lecture's text, in lower case and without formulas and code."""
    path = Path(course_utils.__file__).parents[1] / "lectures" / f"{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = " ".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    text = re.sub(r"\$[^$]*\$|`[^`]*`|\([^)]*\)", " ", text)
    return re.findall(r"[a-z]+", text.lower())


LECTURES = [
    "01_rnn_attention",
    "02_basic_self_attention",
    "03_scaled_dot_product_attention",
    "04_masked_attention",
    "05_multi_head_attention",
    "06_positional_encoding",
    "07_layer_normalization",
]
known = Counter(word for name in LECTURES for word in words_of(name))
new = words_of("08_transformer")
unknown = [word for word in new if word not in known]

# %% tags=["nbval-ignore-output"]
merges = language_models.learn_merges(known, num_merges=1000)
print(f"{known.total()} words to learn from, {len(known)} different ones")
print(
    f"{len(unknown) / len(new):.0%} of the words of lecture 8 occur in none of them, for example:"
)
for word in list(dict.fromkeys(sorted(unknown, key=len)))[-4:]:
    print("   ", word, "→", " ".join(language_models.apply_merges(word, merges)))

# %% [markdown]
# How short do the words become? We cut lecture 8 with the first few merges only, and then with more and more of them.

# %% tags=["nbval-ignore-output"] seconds=3
counted = Counter(new)
per_word = {}
for number in (0, 50, 100, 200, 400, 700, 1000):
    cut = {word: len(language_models.apply_merges(word, merges[:number])) for word in counted}
    per_word[number] = sum(cut[word] * times for word, times in counted.items()) / len(new)
    print(f"{number:5d} merges: {per_word[number]:.2f} symbols a word")

# %% tags=["hide-input", "nbval-ignore-output"]
assert all("".join(language_models.apply_merges(word, merges)) == word for word in counted)
assert 4 < per_word[0] < 6 and 2.4 < per_word[100] < 3.6 and 1.3 < per_word[1000] < 2
assert per_word[0] - per_word[100] > 2 * (per_word[400] - per_word[1000])
assert 0.02 < len(unknown) / len(new) < 0.2

figure, ax = plotting.panels(1, height=4)
plotting.curves(
    ax,
    list(per_word),
    {"lecture 8": list(per_word.values())},
    xlabel="merges",
    ylabel="symbols a word",
)
ax.set_ylim(0, 5)
plotting.picture(
    figure,
    caption="The first hundred merges shorten the words most. Each later one joins a rarer pair.",
    alt="Symbols a word of lecture 8 against the number of merges from 0 to 1000. The curve falls from about 4.5 with "
    "letters alone to about 2.7 after 100 merges, and then more and more slowly to about 1.4 after 1000.",
)

# %% [markdown]
# After 1000 merges a word of lecture 8 needs fewer than two symbols on average, and none is unknown, because in the
# worst case it is spelled. The merges of large models are learned in the same way, from bytes instead of letters and
# with tens of thousands of merges.
#
# In the next picture you apply the merges yourself, to a word of the list or to one that you type.
#
# 1. Press *letters*, and guess before each *next merge* which two neighbours will be joined. Are the parts that you get
#    along the way always parts that mean something?
# 2. Take "the". How many merges does it need, and how early were they learned?
# 3. Type your own name, and then a word of another language. Which letters stay alone, and why?

# %% tags=["hide-input", "nbval-ignore-output"]
assert language_models.apply_merges("the", merges[:10]) == ["the"]
live.merges_view(merges, ["understanding", "attention", "the", "transformer", "tokenizer"])

# %% [markdown]
# <details><summary>What you should see</summary>
#
# - Only counts decide, so many parts on the way mean nothing. Some of the last ones do, since the beginnings and
#   endings of words occur again and again. The numbers on the left always rise, because the merges are applied in the
#   order in which they were learned.
# - Two merges are enough for "the", `t` with `h` and `th` with `e`. Both are among the first ten, because few pairs are
#   as frequent.
# - A letter stays alone if its pairs with its neighbours are rare in seven lectures of English prose. A letter that
#   never occurs there, such as é or a capital, is in no pair at all.
#
# </details>

# %% tags=["hide-input"]
questions.ask("09", "first-merge")

# %% [markdown]
# ## Summary
#
# - GPT is the decoder without cross-attention, which is a stack of encoder layers with a causal mask. BERT is the
#   encoder, without a mask.
# - The loss of the next word is the mean surprise in nats, and its exponential is the perplexity. No model gets below
#   the entropy of the language.
# - On a language that is known exactly, a small trained model is within 0.03 nats of the entropy, and better than every
#   model that sees only the four words before.
# - Writing needs a choice. Temperature trades right sentences for variety, and top-k or top-p remove the many unlikely
#   words at little cost.
# - A masked model can use words on both sides, so it knows what only the future decides. A causal model can write.
# - Byte-pair encoding joins frequent pairs of symbols, so that every word can be written and frequent ones are short.
#
# **Now you:** [assignment a10, one half of the
# transformer](../exercises/a10_language_models/a10_language_models.ipynb). The next lecture makes such a model
# [fast](10_fast_attention.ipynb). This is the end of the core. Section 8 goes deeper, and you can skip it.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 3, 5, 6 and 7 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** Two models have perplexities of 20 and 25 on the same text. The first one reads words, the second one subwords.
# Which is better?
#
# <details><summary>Answer</summary>
#
# That cannot be said from these numbers. A perplexity is per token, and the second model has more tokens in the same
# text. Multiply the losses by the numbers of tokens and compare the sums, which are the surprises at the whole text.
#
# </details>
#
# **2.** Why does a causal model need no padding mask if padding is at the end of a row?
#
# <details><summary>Answer</summary>
#
# The causal mask already hides everything that comes later, and the padding comes after all words. What the model says
# at the padding itself is left out by the loss.
#
# </details>
#
# **3.** A model's loss on new sentences is below the entropy of the language. What do you conclude?
#
# <details><summary>Answer</summary>
#
# Something is wrong with the measurement, because on average nobody can be better than the true probabilities. The
# model may see what it should predict, or padding may count as words, or the sample may be small and lucky.
#
# </details>
#
# **4.** With top-k = 1, does the temperature matter?
#
# <details><summary>Answer</summary>
#
# No. One word is left, the likeliest, and dividing by a positive temperature does not change which one that is. It is
# greedy decoding at any temperature.
#
# </details>

# %% [markdown]
# ## 8. Going deeper: how well does the model know what it knows?
#
# The exact loss is a mean, and a mean can hide a few bad places. Since we know the true probabilities, we can compare
# them with the model's at every beginning of a sentence, such as "it is". For each beginning we take half the sum of
# the differences, which is the *total variation distance*. It says how much probability is on wrong words, from 0 to 1.

# %%
following = {}  # beginning -> next id -> probability of both together
for row, weight in zip(rows, language.values(), strict=True):
    for place in range(1, len(row)):
        following.setdefault(tuple(row[:place]), Counter())[row[place]] += weight

weight_of = {beginning: sum(counts.values()) for beginning, counts in following.items()}
frequent = sorted(weight_of, key=weight_of.get, reverse=True)[:300]

distances = {}
with torch.no_grad():
    for beginning in frequent:
        said = causal_model(torch.tensor([beginning]))[0, -1].softmax(dim=-1)  # (V,)
        true = torch.zeros(len(vocabulary))
        for word, weight in following[beginning].items():
            true[word] = weight / weight_of[beginning]
        distances[beginning] = (said - true).abs().sum().item() / 2

# %% tags=["nbval-ignore-output"]
print(f"{len(following)} beginnings; the {len(frequent)} most frequent ones, from the worst:")
for beginning in sorted(frequent, key=distances.get, reverse=True)[:4]:
    words = vocabulary.decode(beginning) or "<bos>"
    print(f"{distances[beginning]:.3f}  seen {weight_of[beginning]:.4f} of the time: {words} …")
shares = torch.tensor([weight_of[beginning] for beginning in frequent])
mean = (shares * torch.tensor([distances[b] for b in frequent])).sum() / shares.sum()
print(f"on average {mean:.3f}")

# %% tags=["hide-input"]
assert mean < 0.08 and max(distances.values()) < 0.6
print("less than 0.08 of the probability is on wrong words, on average")

# %% [markdown]
# On average only a few hundredths are out of place. The worst beginnings are rare ones, which the model has seldom
# seen. That is where an unlucky draw leads, and it is why one wrong word is so often followed by another.

# %% [markdown]
# ## Further reading
#
# - Alec Radford, Karthik Narasimhan, Tim Salimans, Ilya Sutskever (2018). *[Improving Language
#   Understanding by Generative
#   Pre-Training.](https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf)*
#   Technical report, OpenAI. Section 3.1: the decoder alone.
# - Jacob Devlin, Ming-Wei Chang, Kenton Lee, Kristina Toutanova (2019). *[BERT: Pre-training of Deep
#   Bidirectional Transformers for Language Understanding.](https://arxiv.org/abs/1810.04805)* NAACL-HLT.
#   Section 3.1 and appendix A.1: which words are hidden, and how.
# - Angela Fan, Mike Lewis, Yann Dauphin (2018). *[Hierarchical Neural Story
#   Generation.](https://arxiv.org/abs/1805.04833)* ACL. Top-k.
# - Ari Holtzman, Jan Buys, Li Du, Maxwell Forbes, Yejin Choi (2020). *[The Curious Case of Neural Text
#   Degeneration.](https://arxiv.org/abs/1904.09751)* ICLR. Section 3.1: top-p.
# - Rico Sennrich, Barry Haddow, Alexandra Birch (2016). *[Neural Machine Translation of Rare Words with Subword
#   Units.](https://arxiv.org/abs/1508.07909)* ACL. Section 3.2: byte-pair encoding.
# - Ofir Press, Lior Wolf (2017). *[Using the Output Embedding to Improve Language
#   Models.](https://arxiv.org/abs/1608.05859)* EACL. Weight tying.
