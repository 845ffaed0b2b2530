# ---
# jupyter:
#   course:
#     assignment: a10_language_models
#     deeper: 25
#     minutes: 56
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
# The transformer of [lecture 8](08_transformer.ipynb) reads one sequence with its encoder and generates another with
# its decoder. Soon each half became a model of its own. The decoder became GPT, which continues a text, and the encoder
# became BERT, which fills in missing tokens. In this lecture you will build both from parts that you already have. Here
# you can judge them better than on real text, because we know the exact probability of every sentence in their
# language.
#
# <!-- slide: Each half of the transformer became a model of its own -->
#
# **By the end of this lecture you will be able to**
#
# - turn an encoder layer into a language model, and explain what the causal mask changes;
# - compute the loss of the next token, and derive the loss that no model can beat;
# - generate text with temperature, top-k and top-p, and measure what a cut gives up;
# - implement the masking that BERT learns from, and compare what a masked and a causal model can answer, and at what
#   cost;
# - learn a vocabulary of subwords from bytes, and turn text into tokens and back.
#
# **Time** about 56 minutes with views and questions, and 25 for going deeper.
# **Needs** lectures [4](04_masked_attention.ipynb), [7](07_layer_normalization.ipynb) and
# [8](08_transformer.ipynb).

# %%
import math
from random import Random

import torch
import torch.nn.functional as F
from torch import nn

from course_utils import language_models
from course_utils.layers import TransformerLayer
from course_utils.masks import causal_mask
from lecture_kit import data, live, plotting, questions
from lecture_kit.experiments import known_language

plotting.use_course_style()
torch.set_num_threads(1)  # models this small gain little from two, and lose much on a busy machine

# %% [markdown]
# ## 1. Two halves
#
# What remains of the decoder if there is nothing to translate? Without a memory there is no cross-attention, so a layer
# is masked self-attention and a feed-forward network, the encoder layer of lecture 7 with a causal mask.
#
# <!-- slide: GPT keeps the decoder, and BERT the encoder -->
#
# ![Three panels of boxes, each with a small mask of five words below. Left, the transformer of 2017: German words go
# up through self-attention and feed-forward to the memory, with a full mask; English words so far go up through masked
# self-attention, cross-attention, which also gets the memory, and feed-forward to the next English word, with a lower
# triangle as the mask. In the middle GPT: words so far go up through masked self-attention and feed-forward to the
# next word, with the lower triangle. Right BERT: words, some of them hidden, go up through self-attention and
# feed-forward to the hidden words, with the full mask.](../figures/one_half.svg)
#
# *GPT keeps the decoder without its cross-attention, and BERT keeps the encoder. The small squares are the masks, with
# a row for each query.*
#
# The two halves have the same layers and differ only in the mask and in the task. GPT (Radford et al., 2018) predicts
# the next token, and BERT (Devlin et al., 2019) predicts tokens that have been hidden. Two details differ from
# lecture 8.
#
# - Positions are *learned*, in a second embedding table with a row for each. Both tables start at the same size, so the
#   factor $\sqrt{d_\text{model}}$ is not needed.
# - The output map is the embedding itself, so a token is likely if its vector has a large dot product with the last
#   layer's output. This is called **weight tying** (Press & Wolf, 2017). BERT applies one more layer first.


# %% slide="One class for both halves: only the mask differs"
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
# In a causal model, the logits at position $t$ predict token $t + 1$. Without a mask, they predict token $t$ itself.
#

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
# ## 2. The loss of the next token
#
# How good can a language model possibly be? On real text nobody can say, because nobody knows the true probability of
# the next token. For our grammar we do know it, because we wrote the random process that generates its sentences. We
# take two kinds, moods such as "are you tired ?" and judgements such as "it is easy to translate this sentence .", go
# through every possible outcome and multiply the probabilities. Tokens are whole words and punctuation.

# %% slide="In this language we know the probability of every sentence"
known = known_language.known_language()  # two moods for every three judgements
vocabulary, all_ids, probability = known.vocabulary, known.ids, known.probability  # (N, T), (N,)
language = dict(zip(known.sentences, probability.tolist(), strict=True))
LONGEST = all_ids.shape[1]
print(len(language), "sentences of at most", LONGEST, "tokens; vocabulary of", len(vocabulary))
for sentence in ["are you tired ?", "it is easy to translate this sentence ."]:
    print(f"{language[sentence]:.2e}  {sentence}  {vocabulary.encode(sentence)}")

# %% tags=["hide-input"]
assert len(language) == 70678 and abs(sum(language.values()) - 1) < 1e-9
assert all(
    vocabulary.decode(row) == text
    for row, text in zip(all_ids[::500], known.sentences[::500], strict=True)
)
print("70 678 sentences, whose probabilities sum to one")

# %% [markdown]
# A causal model predicts each token from those before it, so it also gives a probability to a whole sentence. Of its
# $T$ tokens $u_0, \dots, u_{T-1}$ the first is `<bos>`, which is given, and the last is `<eos>`:
#
# <!-- slide: A causal model gives a probability to a whole sentence -->
#
# $$p(u_1, \dots, u_{T-1}) = \prod_{t=1}^{T-1} p(u_t \mid u_0, \dots, u_{t-1})$$
#
# The logarithm turns the product into a sum, and one pass through the model computes all its terms:
#
# | position $t$ | 0 | 1 | 2 | 3 | 4 | 5 |
# |---|---|---|---|---|---|---|
# | token | `<bos>` | are | you | tired | ? | `<eos>` |
# | compared with | are | you | tired | ? | `<eos>` | – |
#
# The logits at position $t$ are compared with token $t + 1$, so the last position has nothing to predict. Padding
# does not count.


# %% slide="The loss is the mean surprise of the next token"
def log_probabilities(logits, token_ids):
    """ln p of each token given those before it: (B, T, V), (B, T) -> (B, T - 1); 0 at padding."""
    log_p = logits[:, :-1].log_softmax(dim=-1)  # (B, T - 1, V)
    targets = token_ids[:, 1:]  # (B, T - 1)
    chosen = log_p.gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # (B, T - 1)
    return chosen.masked_fill(targets == data.PAD_ID, 0.0)


def next_token_loss(logits, token_ids):
    """Mean of -ln p over all tokens that are not padding, in nats."""
    return -log_probabilities(logits, token_ids).sum() / (token_ids[:, 1:] != data.PAD_ID).sum()


# %% tags=["hide-input"]
example = torch.tensor([[[0.50, 0.25, 0.25], [0.25, 0.25, 0.50], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]])
loss = next_token_loss(example.log(), torch.tensor([[1, 2, 2, 0]]))  # two tokens, then padding
by_hand = (math.log(4) + math.log(2)) / 2  # their probabilities are 1/4 and 1/2
assert abs(loss.item() - by_hand) < 1e-6
many, some_ids = torch.randn(3, 6, 9), torch.randint(9, (3, 6))
theirs = language_models.next_token_loss(many, some_ids)
assert torch.allclose(next_token_loss(many, some_ids), theirs)
print("agrees with the example by hand, and with course_utils.language_models")

# %% [markdown]
# The **loss** is the mean surprise $-\ln p$ per token, in units called *nats*. Its exponential is the **perplexity**.
# At a perplexity of 3, the model is as uncertain as if it chose among three equally likely tokens.

# %% tags=["hide-input"]
questions.ask("09", "where-the-shift-belongs")

# %% [markdown]
# ### The loss that no model can beat
#
# The loss of the true probabilities $p$ is called the **entropy** of the language, $-\sum_s p(s) \ln p(s)$ for whole
# sentences. On average, no model $q$ has a smaller loss. Because the logarithm is concave, the mean of $\ln(q / p)$ is
# at most the logarithm of the mean of $q / p$:
#
# $$\begin{aligned} -\sum_s p(s) \ln q(s) + \sum_s p(s) \ln p(s) &= -\sum_s p(s) \ln \frac{q(s)}{p(s)} \\
# &\ge -\ln \sum_s q(s) \ge 0 \end{aligned}$$
#
# Divided by the mean number of tokens in a sentence, it becomes an entropy per token.

# %% slide="No model can beat the entropy of the language"
entropy = -(probability * probability.log()).sum().item()  # nats a sentence
lengths = (all_ids != data.PAD_ID).sum(dim=1) - 1  # (N,): all tokens but <bos>
mean_length = (probability * lengths).sum().item()
floor = entropy / mean_length  # nats per token
print(f"{entropy:.4f} nats a sentence of {mean_length:.3f} tokens on average")
print(f"{floor:.4f} nats per token, a perplexity of {math.exp(floor):.3f}")

# %% tags=["hide-input"]
assert abs(known.floor - floor) < 1e-12 and abs(known.tokens - mean_length) < 1e-9
assert abs(entropy - 8.2137) < 1e-4 and abs(mean_length - 8.047) < 1e-3
assert abs(floor - 1.0208) < 1e-4 and abs(math.exp(floor) - 2.775) < 1e-3
print("the entropy is 1.0208 nats per token, a perplexity of 2.775")

# %% [markdown]
# ### Rivals that need no training
#
# Before neural networks, language models counted. An **n-gram model** predicts a token from the $n - 1$ tokens before
# it and ignores everything earlier. The *best possible* one divides how often the $n$ tokens occur in a row by how
# often the first $n - 1$ of them do, and in our language we can compute both.


# %% tags=["hide-input"]
there = all_ids[:, 1:] != data.PAD_ID  # (N, T - 1): where a token is predicted
occurs = probability.unsqueeze(1).expand_as(there)[there]  # (tokens,)


def total(keys):
    """For each token, how often its key occurs in the language: (tokens,) -> (tokens,)."""
    _, number = keys.unique(return_inverse=True)
    return torch.zeros(len(keys), dtype=torch.float64).index_add(0, number, occurs)[number]


def ideal_ngram(n):
    """p(token | the n - 1 tokens before) for every token of every sentence: (tokens,)."""
    padded = F.pad(all_ids, (n - 2, 0), value=data.BOS_ID)
    # n ids are the digits of one number, the first token's the lowest; the last one's is cut off by %
    powers = len(vocabulary) ** torch.arange(n)
    whole = (padded.unfold(1, n, 1)[there] * powers).sum(dim=1)  # (tokens, n) -> (tokens,)
    return total(whole) / total(whole % powers[-1])


ngram_loss = {n: -(occurs * ideal_ngram(n).log()).sum().item() / mean_length for n in range(1, 6)}
for n, loss in ngram_loss.items():
    print(f"the best {n}-gram model has a perplexity of {math.exp(loss):.3f}")

# %% tags=["hide-input"]
# perplexities of 35.0, 4.48, 3.14, 2.94 and 2.90, and where the 5-gram model loses
for loss, value in zip(ngram_loss.values(), [35.013, 4.476, 3.142, 2.936, 2.905], strict=True):
    assert abs(math.exp(loss) - value) < 1e-3
numbers = known_language.beginnings()[there]  # of everything that precedes a token
true = total(numbers * len(vocabulary) + all_ids[:, 1:][there]) / total(numbers)
assert abs(-(occurs * true.log()).sum().item() / mean_length - floor) < 1e-9
above = occurs * (true / ideal_ngram(5)).log()  # what the 5-gram model loses at each token
marks = torch.isin(all_ids[:, 1:][there], torch.tensor(vocabulary.encode("? .")))
assert above[marks].sum() > 0.99 * above.sum() > 0
print(
    f"{above[marks].sum() / above.sum():.1%} of the 5-gram model's loss above the entropy is at ? or ."
)

# %% [markdown]
# What the 5-gram model still loses comes from a single decision, whether a sentence ends with "?" or with ".". That
# depends on the *first* token, which may lie more than four tokens back. Attention can reach it.
#
# ### Training
#
# We train the model with Adam on sentences drawn from the language, 128 at each of 600 steps. The learning rate climbs
# to 0.004 in 50 steps and then falls to zero.

# %% tags=["hide-input"]
SEED = 0
BATCH, WARM_UP, PEAK = 128, 50, 0.004
SIZES = (64, 4, 2, 128, 0.0, LONGEST)  # d_model, heads, layers, d_ff, dropout, positions


def train(model, loss_of, steps):
    """Train a model with Adam; `loss_of(model, batch)` is what it minimises."""
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(1, steps + 1):
        up, down = step / WARM_UP, (steps - step + 1) / (steps - WARM_UP)
        optimizer.param_groups[0]["lr"] = PEAK * min(up, down)
        drawn = torch.multinomial(probability, BATCH, replacement=True)
        loss = loss_of(model, all_ids[drawn])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def causal_loss(model, batch):
    """The loss of the next token."""
    return next_token_loss(model(batch), batch)


# %% seconds=12
torch.manual_seed(SEED)
causal_model = language_models.CausalLanguageModel(len(vocabulary), *SIZES)
causal_model = train(causal_model, causal_loss, steps=600)

# %% [markdown]
# We need no test set, because we can ask the model for the probability of every sentence and weight it by how often it
# occurs. Many sentences share **beginnings**, and so the logits that follow them:
#
# ```text
# are you tired ?    <bos> | <bos> are | <bos> are you | <bos> are you tired | …
# are you glad ?     <bos> | <bos> are | <bos> are you | <bos> are you glad  | …
# ```
#
# The logits are computed once for each of the 156 799 beginnings.

# %% tags=["hide-input"] seconds=5
next_logits = known_language.logits_of_beginnings(causal_model)  # (beginnings, V)
which = known_language.beginnings()  # (N, T - 1): the number of the beginning before each token


def sentence_probabilities(**settings):
    """With which probability the model generates each sentence of the language: (N,)."""
    chances = language_models.next_token_probabilities(next_logits, **settings)
    targets = all_ids[:, 1:]  # (N, T - 1)
    chosen = chances[which, targets].double()  # (N, T - 1)
    return chosen.masked_fill(targets == data.PAD_ID, 1.0).prod(dim=1)


# %% slide="After 600 steps almost nothing is left to gain" tags=["nbval-ignore-output"]
model_loss = -(probability * sentence_probabilities().log()).sum().item() / mean_length
print(f"{model_loss - floor:.4f} nats per token above the entropy")
print(f"perplexity {math.exp(model_loss):.3f}, and the language's own {math.exp(floor):.3f}")

# %% slide="Our model beats every model that sees only four tokens" tags=["hide-input", "nbval-ignore-output"]
with torch.no_grad():
    a_few = log_probabilities(causal_model(all_ids[:200]), all_ids[:200]).double().sum(dim=1)
assert torch.allclose(sentence_probabilities()[:200].log(), a_few, atol=1e-3)
assert 0 < model_loss - floor < 0.03
assert 70_000 < sum(part.numel() for part in causal_model.parameters()) < 80_000
assert model_loss < ngram_loss[5]
assert {"are you tired ?", "are you glad ?"} <= set(language)

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
    caption="The trained model beats every model that sees only four tokens, and comes close to the limit.",
    alt="Perplexities as dots on a line each: the best 2-gram model 4.48, 3-gram 3.14, 4-gram 2.94, 5-gram "
    "2.90, our model about 2.82, and the entropy 2.78, which a thin line marks for all.",
)

# %% [markdown]
# In six runs at this untuned learning rate the gap to the entropy is 0.014 to 0.017 nats; with three times the steps it
# shrinks to 0.004. Training sentences are mostly repeats, so this is hardly a test of generalisation.

# %% [markdown]
# ## 3. Generating text
#
# A language model generates text by choosing a token, appending it and predicting again. **Greedy decoding** takes the
# likeliest token each time, so it always generates the same sentence. **Sampling** draws from the probabilities, so
# every sentence comes as often as the model thinks it should, including sentences spoilt by one unlikely token. Three
# settings change what is drawn.
#
# <!-- slide: Three settings change what is drawn -->
#
# - The **temperature** $\tau$ divides all logits, as in lecture 3. Below 1 it sharpens the distribution, and above 1 it
#   flattens it.
# - **Top-k** (Fan et al., 2018) keeps only the $k$ likeliest tokens.
# - **Top-p** (Holtzman et al., 2020) keeps the smallest set of likeliest tokens whose probabilities reach $p$, few
#   where the model is confident and many where it is not. The token with which the sum reaches $p$ belongs to the set.
#
# They are applied in this order, and what is left is renormalised. In [assignment
# 10](../exercises/a10_language_models/a10_language_models.ipynb#3.-Drawing-the-next-word) you will write `sample_next` for a
# batch.


# %% slide="Temperature, top-k and top-p in a dozen lines"
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    """What one token is drawn from: logits (V,) -> (V,). For temperatures above 0."""
    logits = logits / temperature
    if top_k is not None:
        lowest = logits.topk(top_k).values[-1]
        logits = logits.masked_fill(logits < lowest, -math.inf)
    probabilities = logits.softmax(dim=-1)
    if top_p is not None:
        falling, order = probabilities.sort(descending=True)
        before = falling.cumsum(dim=0) - falling  # what the likelier tokens have together
        probabilities[order[before >= top_p]] = 0.0
        probabilities = probabilities / probabilities.sum()
    return probabilities


# %% slide="Choose a token, append it, predict again"
@torch.no_grad()
def generate(model, beginning=(data.BOS_ID,), **settings):
    """One sentence as a list of ids, token by token."""
    ids = list(beginning)
    while ids[-1] != data.EOS_ID and len(ids) < LONGEST:
        logits = model(torch.tensor([ids]))[0, -1]  # (1, T, V) -> (V,)
        ids.append(torch.multinomial(next_token_probabilities(logits, **settings), 1).item())
    return ids


# %% tags=["hide-input", "nbval-ignore-output"]
torch.manual_seed(SEED)
for temperature in (0.5, 1, 2):
    text = vocabulary.decode(generate(causal_model, temperature=temperature))
    print(f"τ = {temperature:<4}", text)

# %% tags=["hide-input"]
by_hand = next_token_probabilities(torch.tensor([0.1, 0.4, 0.2, 0.3]).log(), top_k=3, top_p=0.7)
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
    assert torch.allclose(next_token_probabilities(random_logits[0], **settings), theirs, atol=1e-6)
print("agrees with an example by hand, and with course_utils.language_models")

# %% tags=["hide-input"]
questions.ask("09", "what-top-p-keeps")

# %% [markdown]
# Generate a sentence yourself; every bar in the view is a token that could come next.
#
# 1. Press *draw a sentence* a few times at $\tau = 1$, then at $\tau = 2$. What goes wrong?
# 2. Set $\tau$ back to 1 and begin again with "it is". How many tokens does the model consider at all? Which cut
#    removes the others?
# 3. Continue to "it is important to" and set top-k to 5. Which tokens are cut although they would be right?

# %% slide="Try it: what do temperature, top-k and top-p leave?" tags=["hide-input", "nbval-ignore-output"]
live.writing_view(
    causal_model,
    vocabulary,
    ["it", "is"],
    caption="The next token of the trained model, and what temperature, top-k and top-p leave of it",
)


# %% [markdown]
# <details><summary>What you should see</summary>
#
# - At $\tau = 2$ unlikely tokens become much likelier, and after the first wrong one the model must continue a
#   beginning it has never seen.
# - After "it is" nearly all the probability belongs to three tokens. Top-p removes the others, whereas top-k = 5 leaves
#   two of these.
# - After "it is important to" eight verbs are right, and top-k removes three of them.
#
# </details>
#
# ### What a cut gives up
#
# A cut makes a model more reliable. Does it also make it poorer? Since we can compute the probability that the model
# generates a sentence, we know two numbers exactly.
#
# - *Right* is the probability that a generated sentence belongs to the language.
# - *Lost* is the probability that the language gives to sentences that can no longer be generated.


# %%
def right_and_lost(**settings):
    """What a choice of settings gains, and what it gives up."""
    generated = sentence_probabilities(**settings)  # (N,)
    return generated.sum().item(), probability[generated == 0].sum().item()


# %% slide="Every cut gives up right sentences" tags=["hide-input", "nbval-ignore-output"] seconds=1
no_cut = right_and_lost()
top_p = {p: right_and_lost(top_p=p) for p in (0.995, 0.95, 0.9, 0.85, 0.8)}
top_k = {k: right_and_lost(top_k=k) for k in (20, 10, 5)}
assert 0.88 < no_cut[0] < 0.95 and no_cut[1] == 0
assert 0.7 < (1 - top_k[20][0]) / (1 - no_cut[0]) < 0.9
assert top_p[0.9][0] > 0.975 and 0.15 < top_p[0.9][1] < 0.24 and 0.5 < top_k[5][1] < 0.7
assert abs(top_p[0.85][0] - top_k[5][0]) < 0.006 and abs(top_k[5][0] - 0.99) < 0.006
assert top_p[0.85][1] < top_k[5][1] - 0.15
assert top_p[0.95][0] > top_k[10][0] and top_p[0.95][1] < 0.75 * top_k[10][1]

figure, ax = plotting.panels(1, height=4.2)
for name, cuts, style, colour in [
    ("top-p", top_p, "s-", plotting.SERIES[1]),
    ("top-k", top_k, "D--", plotting.SERIES[2]),
]:
    ax.plot(*list(zip(no_cut, *cuts.values(), strict=True))[::-1], style, color=colour, label=name)
    for value, (right, lost) in cuts.items():
        if name == "top-p":
            ax.text(lost - 0.012, right + 0.003, value, color=colour, ha="right")
        else:
            ax.text(lost + 0.012, right - 0.003, value, color=colour, va="top")
ax.text(0.012, no_cut[0] - 0.004, "no cut")
ax.set(xlim=(-0.07, 0.7), ylim=(0.9, 1.01), xlabel="lost", ylabel="right")
ax.legend(loc="lower right")
plotting.picture(
    figure,
    caption="Every cut makes the model more reliable, and here top-p gives up less for it than top-k.",
    alt="The share of generated sentences that is right, against the probability of the sentences that are lost. "
    "Without a cut 0.91 and 0. Top-p goes from 0.935 and 0 at 0.995 over 0.97 and 0.06 at 0.95 and 0.99 and 0.19 at "
    "0.9 to 0.996 and 0.5 at 0.8. Top-k is below it: 0.93 and 0 at 20, 0.96 and 0.16 at 10, 0.99 and 0.6 at 5.",
)

# %% [markdown]
# Without a cut about one sentence in twelve is wrong, because one wrong token spoils it. Most of the gap to the entropy
# is probability on wrong tokens (section 6), and little of that is in the far tail. With only the 20 likeliest tokens
# left, the model still generates more than three quarters as many wrong sentences as without a cut.
#
# **In this language, and for this model, top-p gives up less at equal correctness.** With top-p 0.85 and with top-k 5,
# 99 of 100 sentences are right, but top-k loses far more, with each of three seeds. A fixed $k$ cuts right tokens
# wherever more than $k$ are right, whereas top-p adapts. In 13 runs with three recipes, top-p 0.9 loses about a fifth of
# the language, and top-k 5 about three fifths.
#
# A temperature cuts nothing. At 0.5 nearly all sentences are right, and at 2 about one in five (section 6).

# %% tags=["hide-input"]
questions.ask("09", "why-a-cut-helps")

# %% [markdown]
# ## 4. The encoder alone
#
# BERT reads a text in which some tokens are hidden, and predicts them. Without a causal mask the next token is in plain
# sight, so most of what is to be predicted is hidden, and the loss counts only the chosen positions.
#
# Devlin et al. (2019) choose 15 % of the tokens. A chosen token becomes `[MASK]` in 80 % of the cases, a random token
# in 10 %, and stays as it is in 10 %. Not all chosen tokens are masked, because later texts contain no `[MASK]`. The
# model cannot tell which visible tokens were chosen, so it has to be ready to predict at every position.

# %% slide="Hide, replace or leave: how BERT's training tokens are chosen"
MASK_ID = len(vocabulary)  # one more token
SPECIAL = (data.PAD_ID, data.BOS_ID, data.EOS_ID)  # never chosen


def mask_sentence(token_ids, random, share=0.15):
    """Inputs and targets for one list of ids; a target of -100 is ignored by F.cross_entropy."""
    inputs, targets = list(token_ids), [-100] * len(token_ids)
    for t, token in enumerate(token_ids):
        if token in SPECIAL or random.random() >= share:
            continue
        targets[t] = token
        fate = random.random()
        if fate < 0.8:
            inputs[t] = MASK_ID
        elif fate < 0.9:
            inputs[t] = random.randrange(MASK_ID + 1)  # any id, the same and [MASK] included
    return inputs, targets


# %% slide="A masked sentence, and what the model is asked" tags=["hide-input"]
sentence = [data.BOS_ID, *vocabulary.encode("it is easy to translate this sentence ."), data.EOS_ID]
inputs, targets = mask_sentence(sentence, Random(2705), share=0.3)
shown = (*vocabulary.words, "[MASK]")
print("whole:", " ".join(shown[token] for token in sentence))
print("input:", " ".join(shown[token] for token in inputs))
print("asked:", ", ".join(f"{t}: {shown[token]}" for t, token in enumerate(targets) if token >= 0))

# %% tags=["hide-input"]
# the shares of the page's function and of the course's, over 100 000 tokens
random, count = Random(1), 20_000
row = sentence[1:6]  # five tokens, none special
of_page = [mask_sentence(row, random) for _ in range(count)]
of_course = language_models.mask_words(
    torch.tensor([row]).repeat(count, 1),
    MASK_ID,
    MASK_ID + 1,
    SPECIAL,
    generator=torch.Generator().manual_seed(1),
)
page = tuple(torch.tensor(part) for part in zip(*of_page, strict=True))
for asked_inputs, asked in (page, of_course):
    chosen = asked >= 0
    stays = (asked_inputs == torch.tensor(row))[chosen].float().mean()
    hidden = (asked_inputs == MASK_ID)[chosen].float().mean()
    assert abs(chosen.float().mean() - 0.15) < 0.005
    assert abs(hidden - 0.8) < 0.015 and abs(stays - 0.1) < 0.015
    assert torch.equal(asked_inputs[~chosen], torch.tensor(row).expand(count, 5)[~chosen])
print("15 % chosen; of these 80 % masked and 10 % left, in the page's version and in the course's")

# %% [markdown]
# Here "translate" is masked, "sentence" is replaced, and "it" is left in place although the model must predict it. The
# batched version is `mask_words`, which you will write in [assignment
# 10](../exercises/a10_language_models/a10_language_models.ipynb#4.-Hiding-words). This model is trained for twice as many steps,
# because only 15 % of the tokens are targets.


# %% seconds=24
def masked_loss(model, batch):
    """The loss at the chosen positions."""
    inputs, targets = language_models.mask_words(batch, MASK_ID, MASK_ID + 1, SPECIAL)
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


torch.manual_seed(SEED)
masked_model = language_models.MaskedLanguageModel(MASK_ID + 1, *SIZES)
masked_model = train(masked_model, masked_loss, steps=1200)

# %% tags=["hide-input"]
questions.ask("09", "ten-percent-stay")

# %% [markdown]
# ### What the later tokens decide
#
# Take a question such as "are you tired ?" and hide its first token. It is "is" or "are", and the tokens *after* it
# decide which. We draw 500 questions, half of them with each word. The masked model attends to both sides, so it
# answers a question in one pass.
#
# At the first position a causal model has seen only `<bos>`, so it gives the same answer 500 times and is right half
# the time. But it can score *whole sentences*. Put each candidate in, add up the log probabilities, and take the
# candidate with the largest sum.


# %% tags=["hide-input"]
def drawn_questions(first, number, seed):
    """Questions that begin with a word, as ids (number, T), drawn from the language."""
    found = [
        k for k, text in enumerate(language) if text.startswith(f"{first} ") and text[-1] == "?"
    ]
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.multinomial(probability[found], number, replacement=True, generator=generator)
    return all_ids[torch.tensor(found)[drawn]]


# %% slide="A causal model can fill a gap, too: it scores whole sentences"
asked = torch.cat([drawn_questions(first, 250, seed=0) for first in ("is", "are")])  # (500, T)
two = torch.tensor(vocabulary.encode("is are"))
every = torch.arange(len(data.SPECIALS), len(vocabulary))  # all but <pad>, <bos>, <eos>, <unk>


@torch.no_grad()
def best_by_score(question, candidates):
    """The first token that makes a whole question likeliest: (T,), (C,) -> ()."""
    filled = question.repeat(len(candidates), 1)  # (C, T): a row, and so a pass, for each candidate
    filled[:, 1] = candidates
    scores = log_probabilities(causal_model(filled), filled).sum(dim=1)  # (C,)
    return candidates[scores.argmax()]


# %% tags=["hide-input"] seconds=4
# both models answer the 500 questions, in one pass and with whole sentences
hidden = asked.clone()
hidden[:, 1] = MASK_ID
with torch.no_grad():
    filled_in = masked_model(hidden)[:, 1].argmax(dim=-1)
    at_once = two[causal_model(asked)[:, 0, two].argmax(dim=-1)]  # position 0 predicts token 1
by_two = torch.stack([best_by_score(question, two) for question in asked])
by_every = torch.stack([best_by_score(question, every) for question in asked])
assert filled_in.shape == at_once.shape == by_two.shape == by_every.shape == (500,)

# %% tags=["hide-input", "nbval-ignore-output"]
found_right = [
    (found == asked[:, 1]).float().mean().item() for found in (filled_in, at_once, by_two, by_every)
]
for share, name in zip(
    found_right,
    [
        f"masked model, 1 pass, {MASK_ID + 1} candidates",
        "causal model, 1 pass, at the first position, 2 candidates",
        "causal model, 2 passes, whole sentences, 2 candidates",
        f"causal model, {len(every)} passes, whole sentences, {len(every)} candidates",
    ],
    strict=True,
):
    print(f"{share:.3f}  {name}")

# %% tags=["hide-input"]
masked_right, at_once_right, *scored_right = found_right
assert masked_right > 0.95 and at_once_right == 0.5 and min(scored_right) > 0.95
print(
    "above 0.95 for the masked model and for whole sentences, exactly 0.500 at the first position"
)

# %% [markdown]
# **The causal model finds the answer too, but it needs one pass for each candidate.** Its probabilities of whole
# sentences also contain the probability of the first token given the rest. With five seeds both models get more than
# 98 % right. The masked model's advantage is that one pass gives every token a vector informed by both sides, one
# reason why encoders are still used to classify and to search texts.
#
# This does *not* show that one half is better. The decoder has become the common choice for large models, because every
# token of a text is a target and because a task can be described in the text itself (Brown et al., 2020).

# %% [markdown]
# ## 5. Subwords
#
# Our vocabulary is complete, but real texts always contain a word that training has never seen. Characters would almost
# solve this, but they make a text several times longer. **Byte-pair encoding** (Sennrich et al., 2016) lies in
# between, so that frequent words become one token and rare ones are cut into parts. GPT-2 and many models after it
# begin with bytes (Radford et al., 2019), of which there are only 256, so nothing can be unknown:
#
# <!-- slide: Byte-pair encoding takes four steps -->
#
# 1. Cut the text into pieces, roughly a word with the space before it. No token reaches across two pieces.
# 2. Write each piece as its bytes, the ids 0 to 255.
# 3. Count all pairs of neighbours, and give the most frequent pair the next free id, beginning with 256. If two pairs
#    tie, take the one that comes first in byte order (our convention; others differ).
# 4. Replace the pair by its id everywhere, and count again.


# %%
import re
from collections import Counter
from itertools import pairwise

PIECES = re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\s\w]+|\s+|_")  # letters, digits, punctuation, space


def join(ids, pair, new):
    """Replace a pair by a new id, from left to right and without overlap."""
    joined, t = [], 0
    while t < len(ids):
        fits = tuple(ids[t : t + 2]) == pair
        joined.append(new if fits else ids[t])
        t += 2 if fits else 1
    return joined


# %% slide="Count the pairs, join the most frequent, count again"
def learn(text, num_merges):
    """Byte-pair encoding: {pair of ids: new id}, and the bytes of each id."""
    pieces = Counter(PIECES.findall(text))
    cut = {piece: list(piece.encode()) for piece in pieces}
    merges, token_bytes = {}, [bytes([number]) for number in range(256)]
    for new in range(256, 256 + num_merges):
        pairs = Counter()
        for piece, ids in cut.items():
            for pair in pairwise(ids):
                pairs[pair] += pieces[piece]
        if not pairs:  # every piece is one token
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], *(token_bytes[k] for k in pair)))
        merges[best] = new
        token_bytes.append(token_bytes[best[0]] + token_bytes[best[1]])
        cut = {piece: join(ids, best, new) for piece, ids in cut.items()}
    return merges, token_bytes


# %% [markdown]
# To encode a text, replay the merges in the order in which they were learned. To get the text back, put the bytes of
# the tokens one after the other.


# %% slide="Encoding replays the merges, decoding joins the bytes"
def encode(text, merges):
    """A text as token ids."""
    tokens = []
    for piece in PIECES.findall(text):
        ids = list(piece.encode())
        while found := [pair for pair in pairwise(ids) if pair in merges]:
            first = min(found, key=merges.get)  # the one that was learned first
            ids = join(ids, first, merges[first])
        tokens += ids
    return tokens


def decode(tokens, token_bytes):
    """The text of token ids."""
    return b"".join(token_bytes[token] for token in tokens).decode(errors="replace")


# %% slide="An unseen word is cut into parts that were seen"
word_counts = {"aab": 3, "ab": 2, "low": 5, "lower": 2, "newest": 6, "widest": 3}
merges, token_bytes = learn("\n".join(w for w, n in word_counts.items() for _ in range(n)), 8)
print("merges:", *(token_bytes[new].decode() for new in merges.values()))
print("lowest:", *(token_bytes[k].decode() for k in encode("lowest", merges)))

# %% tags=["hide-input"]
# the same merges as course_utils.language_models, for words of plain letters
ours = [tuple(token_bytes[k].decode() for k in pair) for pair in merges]
newline = {"\n": sum(word_counts.values()) - 1}
assert ours == language_models.learn_merges(word_counts | newline, 8)
for word in word_counts:
    cut = [token_bytes[k].decode() for k in encode(word, merges)]
    assert cut == language_models.apply_merges(word, ours)
assert len(learn("ab", 3)[0]) == 1  # nothing is left to join after one merge
print("eight merges of six words equal those of course_utils.language_models")

# %% [markdown]
# "lowest" was not among the six words, but its parts were. In [assignment
# 10](../exercises/a10_language_models/a10_language_models.ipynb#5.-Learning-merges) you will learn merges from the counts of
# words; section 10 learns 300 from the prose of this course.

# %% tags=["hide-input"]
questions.ask("09", "first-merge")

# %% [markdown]
# ## Summary
#
# <!-- slide: What to remember of the two halves -->
#
# - GPT is a stack of encoder layers with a causal mask, and BERT one without a mask.
# - The loss of the next token is the mean surprise. No model beats the entropy of the language, and ours comes within
#   0.03 nats.
# - A low temperature makes more sentences right. Top-k and top-p remove unlikely tokens, wrong ones *and* right ones.
# - A masked model predicts from both sides in one pass. In our test a causal model filled the gap equally well, but it
#   needs one pass per candidate.
#
# **Now you:** [assignment a10, one half of the
# transformer](../exercises/a10_language_models/a10_language_models.ipynb). The next lecture makes such a model
# [fast](10_fast_attention.ipynb). Sections 6 to 10 go deeper.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 2, 3, 4 and 5 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** Two models have perplexities of 20 and 25 on the same text. The first has words as tokens, the second parts of
# words. Which is better?
#
# <details><summary>Answer</summary>
#
# These numbers cannot tell. A perplexity is per token, and the second model has more tokens in the same text. Multiply
# the losses by the numbers of tokens and compare the sums, or give both in bits per byte.
#
# </details>
#
# **2.** Why does a causal model need no padding mask if padding is at the end of a row?
#
# <details><summary>Answer</summary>
#
# The causal mask already hides everything that comes later, and the padding comes after all tokens. The loss leaves out
# what the model predicts at the padding itself.
#
# </details>
#
# **3.** A model's loss on new sentences is below the entropy of the language. What do you conclude?
#
# <details><summary>Answer</summary>
#
# Something is wrong with the measurement, because on average no model beats the true probabilities. The targets may
# leak into the input, padding may count as tokens, or the sample may be small and lucky.
#
# </details>

# %% [markdown]
# ## 6. Going deeper: where is the model wrong?
#
# The exact loss is a mean, and a mean can hide a few bad positions. Since we know the true probabilities, we can
# compare them with the model's after each of the 156 799 beginnings. The *total variation distance* is half the sum of
# the absolute differences, or how much probability would have to be moved. Part of that is probability on *wrong*
# tokens, those that never follow. The rest is only misplaced among right ones.

# %% seconds=2
targets = all_ids[:, 1:]  # (N, T - 1)
there = targets != data.PAD_ID
weights = probability.unsqueeze(1).expand_as(targets)[there]  # (tokens,)
true = torch.zeros(next_logits.shape, dtype=torch.float64)  # (beginnings, V)
true.index_put_((which[there], targets[there]), weights, accumulate=True)
occurs = true.sum(dim=1)  # (beginnings,): how often a sentence begins like this
true = true / occurs.unsqueeze(1)

predicted = next_logits.softmax(dim=-1).double()
distance = (predicted - true).abs().sum(dim=1) / 2  # (beginnings,)
wrong = predicted.masked_fill(true > 0, 0.0).sum(dim=1)  # (beginnings,)


def mean(values, chosen):
    """Mean over beginnings, each weighted by how often it occurs."""
    return ((occurs * values)[chosen].sum() / occurs[chosen].sum()).item()


# %% tags=["hide-input", "nbval-ignore-output"]
by_rank = occurs.argsort(descending=True)
print("rank of beginning  share  seen in training  distance  on wrong tokens")
for start, end in [(0, 10), (10, 100), (100, 300), (300, 1000), (1000, 10_000), (10_000, None)]:
    band = by_rank[start:end]
    name, share = f"{start} to {end or len(by_rank)}", occurs[band].sum() / occurs.sum()
    seen = occurs[band].mean() * 600 * BATCH  # times, each, on average
    print(f"{name:<17}{share:7.3f}{seen:18.1f}", end="")
    print(f"{mean(distance, band):10.3f}{mean(wrong, band):17.4f}")
print(f"{'all':<42}{mean(distance, by_rank):10.3f}{mean(wrong, by_rank):17.4f}")
print("the worst beginning of the 300 most frequent:", end=" ")
worst = by_rank[:300][distance[by_rank[:300]].argmax()]
row, position = (which == worst).logical_and(there).nonzero()[0].tolist()
print(repr(vocabulary.decode(all_ids[row, : position + 1])), f"{distance[worst]:.2f}")

# %% tags=["hide-input"]
assert mean(distance, by_rank) < 0.05 and mean(wrong, by_rank) < 0.015
assert mean(wrong, by_rank) < 0.7 * mean(distance, by_rank)
assert mean(distance, by_rank[10_000:]) < mean(distance, by_rank[100:300]) + 0.01
# a share w on wrong tokens costs at least -ln(1 - w) nats
assert mean(-(1 - wrong).log(), by_rank) > 0.6 * (model_loss - floor)
print(
    "less than 0.05 of the probability would have to be moved, and only a part is on wrong tokens"
)

# %% [markdown]
# Only a few hundredths are misplaced, and in this run less than half of that, about 0.01 of the probability, is on
# wrong tokens. It is nevertheless most of the gap to the entropy, since a share $w$ on wrong tokens costs at least
# $-\ln(1 - w)$ nats. Over eight tokens it adds up to the one wrong sentence in twelve of section 3.
#
# The model puts the least probability on wrong tokens after the hundred most frequent beginnings; beyond these,
# frequency explains little. Most of the beginnings after the first 10 000 never occurred in training, and they are no
# worse than those of rank 100 to 300. Probably the model does not learn each by itself, since what it learned after "it
# is easy to" it can use after "it is hard to". The table says nothing about beginnings *outside* the language, which is
# where one wrong token takes the model.
#
# ### What each setting costs in variety
#
# A sentence that is not lost may still become rare, so we add two quantities to those of section 3.
#
# - *Unreachable* is the share of the language's sentences that can no longer be generated.
# - The *effective number* of right sentences is the exponential of their entropy, 3691 for the language itself.


# %%
def unreachable_and_number(**settings):
    """How much variety is left."""
    generated = sentence_probabilities(**settings)  # (N,)
    number = torch.special.entr(generated / generated.sum()).sum().exp()
    return (generated == 0).double().mean().item(), number.item()


# %% tags=["hide-input", "nbval-ignore-output"] seconds=2
assert abs(math.exp(entropy) - 3691) < 1
assert (true > 0).sum(dim=1).max() <= 20  # top-k 20 has room for all right tokens
settings = [{"temperature": tau} for tau in (0.5, 1, 1.3, 1.6, 2)]
settings += [{"top_p": p} for p in top_p] + [{"top_k": k} for k in top_k]
outcome = {}
print("setting            right   lost  unreachable  effective number")
for setting in settings:
    named = ", ".join(f"{name} {value}" for name, value in setting.items())
    outcome[named] = (*right_and_lost(**setting), *unreachable_and_number(**setting))
    print(f"{named:<17}" + "{:7.3f}{:7.3f}{:13.3f}{:18.0f}".format(*outcome[named]))
right, lost, unreachable, number = zip(*list(outcome.values())[:5], strict=True)
assert list(right) == sorted(right, reverse=True) and max(lost) == max(unreachable) == 0
assert right[0] > 0.98 and 0.4 < right[3] < 0.65 and right[4] < 0.35
assert number[1] == max(number)
assert 0.33 < outcome["top_p 0.9"][2] < 0.42 and outcome["top_k 5"][2] > 0.88

# %% [markdown]
# A temperature makes no sentence impossible, and yet a low one gives up variety. At 0.5 nearly all sentences are
# right, and their effective number is about as small as with top-p 0.85. Above 1, right sentences become fewer and
# less varied.

# %% [markdown]
# ## 7. Going deeper: from a language model to an assistant
#
# A language model continues texts. An assistant answers, and the way from one to the other has three steps.
#
# <!-- slide: Three steps lead from a language model to an assistant -->
#
# - A **chat template** turns a conversation into one text, with special tokens that tell who speaks, such as
#   `<|im_start|>user … <|im_end|>`.
# - **Supervised fine-tuning** continues the training on such texts, with the loss of section 2 at the *answer* alone.
#   The prompt is read and not predicted (Touvron et al., 2023).
# - **Preference optimisation** learns from pairs of answers, of which people prefer one, with a reward model
#   (reinforcement learning from human feedback) or without one (direct preference optimisation; Rafailov et al., 2023).
#
# Fine-tuning all parameters needs a copy of the model for each task. **LoRA** (Hu et al., 2022) freezes them and
# learns an update $BA$ of low rank next to chosen linear maps. $B$ begins at zero, so training starts from the model
# as it is, and afterwards the update can be added to the weight matrix.


# %% slide="LoRA: a frozen map, plus an update of low rank"
class LowRank(nn.Module):
    """A linear map that is frozen, plus an update of low rank that is learned."""

    def __init__(self, linear, rank):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.down = nn.Linear(linear.in_features, rank, bias=False)  # A
        self.up = nn.Linear(rank, linear.out_features, bias=False)  # B
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.linear(x) + self.up(self.down(x))


# %% [markdown]
# Let us teach our model a small instruction. The user says "?" or ".", and the assistant should answer with a sentence
# that ends with that mark. Our template has no new tokens, since each turn begins with `<bos>` and ends with `<eos>`.

# %%
QUESTION, STOP = vocabulary.encode("? .")
short = (all_ids[:, -3:] == data.PAD_ID).all(dim=1).nonzero().squeeze(1)  # room for the prompt


def prompts(marks):
    """<bos> mark <eos>: (B,) -> (B, 3)."""
    return torch.stack([torch.full_like(marks, data.BOS_ID), marks, marks * 0 + data.EOS_ID], dim=1)


def answer_loss(model, number=128):
    """The loss at the answers of as many conversations."""
    drawn = short[torch.multinomial(probability[short], number, replacement=True)]
    answers = all_ids[drawn, :-3]
    marks = torch.where((answers == QUESTION).any(dim=1), QUESTION, STOP)
    conversation = torch.cat([prompts(marks), answers], dim=1)  # (B, T)
    targets = conversation.clone()
    targets[:, :4] = data.PAD_ID  # the prompt, and the <bos> of the answer: not predicted
    logits = model(conversation)[:, :-1]  # (B, T - 1, V)
    return F.cross_entropy(logits.flatten(0, 1), targets[:, 1:].flatten(), ignore_index=data.PAD_ID)


# %%
import copy

torch.manual_seed(SEED)
tuned = copy.deepcopy(causal_model).requires_grad_(False)
for layer in tuned.layers:
    for name in ("w_q", "w_k", "w_v", "w_o"):
        setattr(layer.self_attn, name, LowRank(getattr(layer.self_attn, name), rank=4))
learned = [part for part in tuned.parameters() if part.requires_grad]
print(sum(part.numel() for part in learned), "parameters are learned")


# %% seconds=8
STEPS, RATE = 200, 0.01
optimizer = torch.optim.Adam(learned)
for step in range(STEPS):
    optimizer.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
    loss = answer_loss(tuned)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


# %% tags=["hide-input"]
def obeys(model, number=50):
    """How many of as many answers for each mark are right sentences that end with it."""
    obeyed = 0
    for mark in (QUESTION, STOP):
        for _ in range(number):
            ids = generate(model, [data.BOS_ID, mark, data.EOS_ID, data.BOS_ID])
            answer = vocabulary.decode(ids[3:])
            obeyed += answer in language and answer.endswith(vocabulary.words[mark])
    return obeyed / (2 * number)


# %% slide="4096 parameters teach the model to follow an instruction" tags=["nbval-ignore-output"] seconds=3
before, after = obeys(causal_model, number=25), obeys(tuned)
print(f"right answers before {before:.2f}, after {after:.2f}")
for mark in (QUESTION, STOP):
    ids = generate(tuned, [data.BOS_ID, mark, data.EOS_ID, data.BOS_ID])
    print(f"user: {vocabulary.words[mark]}   assistant: {vocabulary.decode(ids[3:])}")

# %% tags=["hide-input"]
assert sum(part.numel() for part in learned) == 4096
assert before < 0.06 and after > 0.6
print("right answers rise from below 0.06 to above 0.6")

# %% [markdown]
# With five seeds, the share of answers that are right sentences of the kind asked for rises from below 0.01 to between
# 0.75 and 0.82 with these 4096 parameters, and to between 0.87 and 0.91 if all 74 560 are fine-tuned. We tried one
# learning rate for each method and tuned neither. If the answer is a sentence of the language at all, it hardly ever
# ignores the instruction.
#
# Fine-tuning also forgets. The loss on plain sentences was about 0.016 nats above the entropy, and ends 0.3 to 0.7
# above it with the update and 0.2 to 0.6 with all parameters. The update can be removed, however, which restores the
# old model.
#
# ## 8. Going deeper: how large, how long?
#
# Two rules of thumb estimate the size of a transformer and the work of training it (Kaplan et al., 2020). A layer has
# four attention maps of $d_\text{model}^2$ parameters each and, with $d_\text{ff} = 4\, d_\text{model}$, a feed-forward
# network of $8\, d_\text{model}^2$, so $L$ layers have about $N = 12\, L\, d_\text{model}^2$.
#
# Each parameter takes part in one multiplication and one addition per token on the way forward, and in twice as many on
# the way back. Altogether that makes $6 N D$ floating-point operations, where D is here the number of tokens and not a
# width. For GPT-3, with 96 layers of width 12 288 and 300 billion tokens, the rules give 174 billion parameters and
# $3.1 \cdot 10^{23}$ operations.


# %% tags=["hide-input"]
from torch.utils.flop_counter import FlopCounterMode


def sizes(num_layers, d_model, d_ff, T):
    """Parameters in the layers and in all, and counted operations of a step per token."""
    model = language_models.CausalLanguageModel(
        len(vocabulary), d_model, 4, num_layers, d_ff, dropout=0.0, max_len=T
    )
    ids = torch.randint(len(vocabulary), (2, T))
    with FlopCounterMode(display=False) as counter:
        next_token_loss(model(ids), ids).backward()
    in_layers = sum(part.numel() for part in model.layers.parameters())
    in_all = sum(part.numel() for part in model.parameters())
    return in_layers, in_all, counter.get_total_flops() / ids.numel()


print("                          parameters:                            operations")
print("layers  d_model  d_ff    T  in layers  / 12 L d_model²   in all     / 6 N D")
for layers, d_model, d_ff, T in [
    (2, 64, 128, 14),
    (2, 64, 256, 14),
    (4, 128, 512, 128),
    (6, 256, 1024, 128),
]:
    in_layers, in_all, operations = sizes(layers, d_model, d_ff, T)
    ratios = in_layers / (12 * layers * d_model**2), operations / (6 * in_all)
    print(f"{layers:6}{d_model:9}{d_ff:6}{T:5}{in_layers:11}{ratios[0]:17.2f}", end="")
    print(f"{in_all:9}{ratios[1]:12.2f}")
    if d_ff == 4 * d_model:
        assert 1 <= ratios[0] < 1.02 and 1 < ratios[1] < 1.15

# %% [markdown]
# The first row is our model but for one position. Its feed-forward network is half as wide as usual, so the factor is
# 8 instead of 12. The operations beyond $6 N D$ are mostly queries times keys and weights times values, which
# grow with the length of the text and contain no parameters. The position table, biases and norms, counted in $N$,
# pull the ratio down a little.
#
# Given the compute, how should it be split between parameters and tokens? Hoffmann et al. (2022) fit the five constants
# of $\text{loss} = E + A / N^a + B / D^b$ to many runs. By two other methods they find that both should grow in nearly
# the same proportion, at about 20 tokens per parameter, whereas the fit itself asks for more. Our model saw 618 000
# tokens, about 8 per parameter. In their fit $E$ is the entropy of text, which they can only estimate, at 1.69 nats per
# token. In our language we computed it.
#
# **Check yourself.** A model has 32 layers of width 4096. About how many operations does training on 20 tokens per
# parameter take?
#
# <details><summary>Answer</summary>
#
# $N \approx 12 \cdot 32 \cdot 4096^2 \approx 6.4 \cdot 10^9$, $D \approx 1.3 \cdot 10^{11}$, so $6 N D \approx 5 \cdot
# 10^{21}$.
#
# </details>
#
# ## 9. Going deeper: masked diffusion
#
# Can a model that fills in masks also generate? Wang and Cho (2019) sampled text from BERT by filling in one position
# after the other, and Ghazvininejad et al. (2019) translated by filling in all positions at once, masking the least
# certain ones again and repeating.
#
# *Masked diffusion* turns this into a language model. The share of masked tokens is drawn anew for each text, anything
# from 0 to 1, so the model learns to predict from any set of visible tokens. It generates by starting from masks alone
# and revealing a few tokens a step.
#
# Divided by this share, the loss becomes an upper bound of the data's negative log-probability (Sahoo et al., 2024).
# LLaDA (Nie et al., 2025) is such a model with 8 billion parameters. Each step costs a pass over the whole text, but
# may reveal several tokens. The price is that the cache of the next lecture does not apply directly, because every new
# token changes what all others attend to.

# %% [markdown]
# ## 10. Going deeper: subwords of a real text
#
# Here we learn 300 merges from the prose of lectures 1 to 7 and tokenise that of lecture 8, which was held out.


# %% tags=["hide-input"]
import json
from pathlib import Path

import course_utils


def prose_of(name):
    """The sentences of a lecture, without pictures, formulas, code and markup."""
    path = Path(course_utils.__file__).parents[1] / "lectures" / f"{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = " ".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|\$[^$]*\$|`[^`]*`|\]\([^)]*\)|<[^>]*>|[#*|\[]", " ", text)
    return " ".join(text.split())


LECTURES = [
    "01_rnn_attention",
    "02_basic_self_attention",
    "03_scaled_dot_product_attention",
    "04_masked_attention",
    "05_multi_head_attention",
    "06_positional_encoding",
    "07_layer_normalization",
]

# %% slide="Frequent words are one token, and no word is unknown" tags=["nbval-ignore-output"] seconds=5
merges, token_bytes = learn(" ".join(map(prose_of, LECTURES)), num_merges=300)
print("the first merges:", [token_bytes[new] for new in range(256, 266)])
for text in ["They understand attention.", "unsupervised", "café"]:
    tokens = encode(text, merges)
    print(f"{decode(tokens, token_bytes)!r:<30}", *(token_bytes[token] for token in tokens))

# %% slide="The first merges shorten a text most" tags=["hide-input", "nbval-ignore-output"]
unseen = prose_of("08_transformer")
per_token = {}
for number in (0, 25, 50, 100, 200, 300):
    tokens = encode(unseen, dict(list(merges.items())[:number]))
    assert decode(tokens, token_bytes) == unseen  # nothing is lost
    per_token[number] = len(unseen.encode()) / len(tokens)
    print(f"{number:4d} merges: {per_token[number]:.2f} bytes a token")
assert encode(" the", merges)[-1] >= 256 and len(encode(" the", merges)) == 1
assert per_token[0] == 1 and 1.4 < per_token[100] < 2.1 and 1.8 < per_token[300] < 2.7
assert per_token[100] - per_token[0] > 1.2 * (per_token[200] - per_token[100]) > 0

figure, ax = plotting.panels(1, height=4)
plotting.curves(
    ax,
    list(per_token),
    {"lecture 8": list(per_token.values())},
    xlabel="merges",
    ylabel="bytes a token",
)
ax.set_ylim(0, 3)
plotting.picture(
    figure,
    caption="The first merges shorten a text most. Each later one joins a rarer pair.",
    alt="Bytes a token of lecture 8 against the number of merges from 0 to 300. The curve rises from 1 with bytes alone "
    "to about 1.7 after 100 merges and 2.2 after 300, and becomes flatter.",
)

# %% [markdown]
# In "café" the accented letter is two bytes that no merge has joined, and yet the word comes back intact. The vocabulary
# of GPT-2 has 50 257 tokens: 256 bytes, 50 000 merges and one **special token**, added by hand as our `<bos>` is. Llama 3
# has 128 000 (Grattafiori et al., 2024).
#
# Apply the merges yourself, with the space before a word shown as a dot.
#
# 1. Press *letters*, and guess before each *next merge* which two neighbours will be joined.
# 2. Compare "·the" with "the". Why are they not the same token?
# 3. Type your own name, or a word of another language. Which letters stay alone, and why?

# %% slide="Try it: apply the merges one by one" tags=["hide-input", "nbval-ignore-output"]
as_text = [
    tuple(token_bytes[k].decode(errors="ignore").replace(" ", "·") for k in pair) for pair in merges
]
shown = [pair for pair in as_text if all(pair)]  # without parts of a letter
assert language_models.apply_merges("·the", shown) == ["·the"]
live.merges_view(shown, ["·understanding", "·attention", "·the", "the", "·tokenizer"])

# %% [markdown]
# <details><summary>What you should see</summary>
#
# - Only counts decide, so many parts along the way mean nothing.
# - The space belongs to the token, so a model sees two unrelated tokens.
# - A letter stays alone if its pairs with its neighbours are rare in seven lectures of English prose.
#
# </details>

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
# - Peter J. Liu et al. (2018). *[Generating Wikipedia by Summarizing Long
#   Sequences.](https://arxiv.org/abs/1801.10198)* ICLR. The decoder alone, half a year before GPT, which cites it.
# - Tom Brown et al. (2020). *[Language Models are Few-Shot Learners.](https://arxiv.org/abs/2005.14165)* NeurIPS.
#   GPT-3: tasks that are described in the text.
# - Aaron Grattafiori et al. (2024). *[The Llama 3 Herd of Models.](https://arxiv.org/abs/2407.21783)*
#   arXiv:2407.21783. Section 3.2: its vocabulary.
# - Angela Fan, Mike Lewis, Yann Dauphin (2018). *[Hierarchical Neural Story
#   Generation.](https://arxiv.org/abs/1805.04833)* ACL. Top-k.
# - Ari Holtzman, Jan Buys, Li Du, Maxwell Forbes, Yejin Choi (2020). *[The Curious Case of Neural Text
#   Degeneration.](https://arxiv.org/abs/1904.09751)* ICLR. Section 3.1: top-p.
# - Rico Sennrich, Barry Haddow, Alexandra Birch (2016). *[Neural Machine Translation of Rare Words with Subword
#   Units.](https://arxiv.org/abs/1508.07909)* ACL. Section 3.2: byte-pair encoding.
# - Ofir Press, Lior Wolf (2017). *[Using the Output Embedding to Improve Language
#   Models.](https://arxiv.org/abs/1608.05859)* EACL. Weight tying.
# - Alec Radford, Jeffrey Wu, Rewon Child, David Luan, Dario Amodei, Ilya Sutskever (2019). *[Language Models are
#   Unsupervised Multitask
#   Learners.](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf)*
#   Technical report, OpenAI. Section 2.2: bytes.
# - Hugo Touvron et al. (2023). *[Llama 2: Open Foundation and Fine-Tuned Chat
#   Models.](https://arxiv.org/abs/2307.09288)* Section 3.1: the loss on the answer alone.
# - Long Ouyang et al. (2022). *[Training Language Models to Follow Instructions with Human
#   Feedback.](https://arxiv.org/abs/2203.02155)* NeurIPS. Supervised fine-tuning, a reward model and reinforcement
#   learning: three steps counted differently from ours.
# - Edward Hu et al. (2022). *[LoRA: Low-Rank Adaptation of Large Language
#   Models.](https://arxiv.org/abs/2106.09685)* ICLR.
# - Rafael Rafailov et al. (2023). *[Direct Preference Optimization: Your Language Model is Secretly a Reward
#   Model.](https://arxiv.org/abs/2305.18290)* NeurIPS.
# - Jared Kaplan et al. (2020). *[Scaling Laws for Neural Language Models.](https://arxiv.org/abs/2001.08361)*
#   arXiv:2001.08361. Section 2.1: parameters and operations.
# - Jordan Hoffmann et al. (2022). *[Training Compute-Optimal Large Language
#   Models.](https://arxiv.org/abs/2203.15556)* NeurIPS.
# - Alex Wang, Kyunghyun Cho (2019). *[BERT has a Mouth, and It Must Speak: BERT as a Markov Random Field Language
#   Model.](https://arxiv.org/abs/1902.04094)* NeuralGen workshop at NAACL.
# - Marjan Ghazvininejad, Omer Levy, Yinhan Liu, Luke Zettlemoyer (2019). *[Mask-Predict: Parallel Decoding of
#   Conditional Masked Language Models.](https://arxiv.org/abs/1904.09324)* EMNLP.
# - Subham Sahoo et al. (2024). *[Simple and Effective Masked Diffusion Language
#   Models.](https://arxiv.org/abs/2406.07524)* NeurIPS.
# - Shen Nie et al. (2025). *[Large Language Diffusion Models.](https://arxiv.org/abs/2502.09992)* arXiv:2502.09992.
