# ---
# jupyter:
#   course:
#     assignment: a1_rnn_attention
#     deeper: 19
#     minutes: 92
#     summary: Recurrent translation, why one vector is not enough, and attention as the way out.
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
# # Lecture 1: Attention in recurrent networks
#
# Welcome. At the end of this course you will have trained a translator, a transformer that turns German sentences
# into English ones. In the assignments you will have written, tested and understood every part of it yourself.
#
# We start where attention started, in recurrent networks. In this lecture you train two translators, of which one
# has to keep the whole sentence in one vector, while the other may look back at every word.
#
# **Afterwards you will be able to**
#
# - say why a translator reads the whole sentence before it writes, and measure it;
# - explain the bottleneck of a sequence-to-sequence network;
# - build bidirectional annotations, alignment scores, weights and context vectors, with loops and with matrix
#   products;
# - tell teacher forcing from inference;
# - train both networks at equal cost, compare them by sentence length, and read an alignment with care.
#
# **Time** about 92 minutes with views and questions, and 19 for going deeper.
# **Needs** recurrent networks (section 11 shows what is inside
# a GRU), embeddings, softmax and a training loop in PyTorch, but no German.

# %% [markdown]
# ## 1. What this course builds
#
# | lecture | what it adds to the translator |
# |---|---|
# | 1 (here) | looking back: before it writes a word, it weighs the words of the German sentence |
# | [2](02_basic_self_attention.ipynb) | the words of one sentence look at each other |
# | [3](03_scaled_dot_product_attention.ipynb) | learned queries, keys and values, and the right scale |
# | [4](04_masked_attention.ipynb) | masks: hide the future and the padding |
# | [5](05_multi_head_attention.ipynb) | several heads, for several relations at once |
# | [6](06_positional_encoding.ipynb) | word order |
# | [7](07_layer_normalization.ipynb) | what makes deep stacks trainable |
# | [8](08_transformer.ipynb) | the whole transformer, trained on the sentences of this lecture |
#
# The table is a map, and the lectures will explain its words.
#
# Every lecture runs from top to bottom, without a network connection and without a GPU. You will see many
# `assert` lines. Each of them is a claim of the text that is checked on *your* computer, so if the cell runs, the
# claim holds there.

# %%
import math
import textwrap
import time
from collections import Counter, defaultdict

import torch
import torch.nn.functional as F
from torch import nn

from course_utils.attention import BahdanauAttention, annotations
from course_utils.rnn import Seq2Seq, translate
from lecture_kit import data, live, plotting, questions
from lecture_kit.trained import translators

plotting.use_course_style()
# The tensors here are small: sharing them out among threads gains little, and costs much where
# other programs keep the processor busy.
torch.set_num_threads(1)

# %% [markdown]
# ## 2. Why not translate word by word?
#
# Our sentences come from a small grammar in `lecture_kit.data`. It writes German–English pairs of 3 to 28
# tokens, which are words and punctuation marks. No German sentence of the test part occurs in the training part.

# %%
train, _, test = data.splits(train=50_000, validation=0, test=2_000)
german, english = data.vocabularies(train)

for pair in [data.EXAMPLE, *test[:3]]:
    print(pair.source)
    print(f"    {pair.target}")
print(f"{len(german)} German and {len(english)} English entries in the vocabularies")
assert not {pair.source for pair in train} & {pair.source for pair in test}

# %% [markdown]
# The simplest translator is a dictionary that gives each German word the English word that most often translates
# it. Our grammar knows which word comes from which, and this relation is called the **alignment**. For each
# English word, `pair.alignment` holds the places of its German origins. To make the dictionary, we count the
# words that have one origin.

# %%
translations = defaultdict(Counter)
for pair in train:
    words = pair.source.split()
    for word, origins in zip(pair.target.split(), pair.alignment, strict=True):
        if len(origins) == 1:
            translations[words[origins[0]]][word] += 1
dictionary = {word: counts.most_common(1)[0][0] for word, counts in translations.items()}


def word_by_word(sentence):
    """Replace each German word, keep the order."""
    return " ".join(dictionary.get(word, "") for word in sentence.split())


print(word_by_word(data.EXAMPLE.source))
print(data.EXAMPLE.target)

# %% [markdown]
# The words are fine, but the sentence is not. "helfen" and "übersetzen" are the last words of their clauses in
# German, and they come early in English. If we join each English word to its German origin, as the grammar knows
# it, the lines cross.

# %% tags=["hide-input"]
upper, lower = data.EXAMPLE.source.split(), data.EXAMPLE.target.split()
places = torch.linspace(0.5, len(upper) - 1.5, len(lower)).tolist()  # of the English words

figure, ax = plotting.panels(1, width=10, height=2.9)
for j, word in enumerate(upper):
    ax.text(j, 1.05, word, ha="center", va="bottom")
for place, word, origins in zip(places, lower, data.EXAMPLE.alignment, strict=True):
    ax.text(place, -0.05, word, ha="center", va="top", fontweight="bold")
    for j in origins:
        ax.plot([j, place], [1, 0], marker="", ls="-", color=plotting.SERIES[0])
ax.set(xlim=(-0.6, len(upper) - 0.4), ylim=(-0.25, 1.25))
ax.axis("off")
plotting.picture(
    figure,
    caption="Each English word and its German origin: for two words the path leads far ahead.",
    alt="The German sentence above, the English one below, a line from each English word to its "
    "German origin. The lines from help to helfen and from me to mir cross. The lines from to and "
    "translate lead right, to zu and übersetzen near the end of the German sentence, and cross "
    "those from this and sentence, which lead to diesen and satz. The lines of can, you and the "
    "question mark cross no other. No line leads to the comma.",
)

# %% [markdown]
# Is that a rare accident? We look at all test sentences and ask how many of the true words the dictionary finds,
# how many sentences it gets right, and in how many sentences the lines cross.


# %%
def crosses(pair):
    """Does any later English word come from an earlier German word?"""
    first = [min(origins) for origins in pair.alignment]
    return any(earlier > later for k, earlier in enumerate(first) for later in first[k + 1 :])


def shared_words(written, true):
    """The share of the true words that are also in the written sentence, in any order."""
    written, true = Counter(written.split()), Counter(true.split())
    return (written & true).total() / true.total()


outputs = [word_by_word(pair.source) for pair in test]
right_words = sum(map(shared_words, outputs, [pair.target for pair in test])) / len(test)
right = sum(out == pair.target for out, pair in zip(outputs, test, strict=True)) / len(test)
crossing = sum(map(crosses, test)) / len(test)

print(f"words of the true translation that are there:  {right_words:.0%}")
print(f"sentences that are right:                       {right:.0%}")
print(f"sentences in which the alignment crosses:      {crossing:.0%}")
assert right_words > 0.75 and right < 0.05 and crossing > 0.9

# %% [markdown]
# The dictionary finds most of the words but gets hardly any sentence right. Word order is one reason. The second
# is that some words depend on others, since "does" has no German word of its own, "to" often has none, and "sie"
# is *she*, *they*, *it* or *them*.
#
# How far ahead must a translator read? If English word $i$ comes from German word $j > i$, then the reading has
# to be $j - i$ words ahead of the writing. We take the largest such lead in each sentence.

# %%
ahead = [max(max(o) - i for i, o in enumerate(pair.alignment)) for pair in test]
print(f"words to read ahead: {sum(ahead) / len(ahead):.1f} on average, {max(ahead)} at most")
assert 2 < sum(ahead) / len(ahead) < 4 and max(ahead) >= 7

# %% [markdown]
# How far ahead it has to be, nobody knows before the end of the sentence. So our translators first **read
# everything** and then write. A model that turns one sequence into another in this way is called
# *sequence-to-sequence*, or seq2seq.

# %% [markdown]
# ## 3. The bottleneck
#
# A seq2seq model has two recurrent networks. RNN #1, the **encoder**, reads the sentence, and RNN #2, the
# **decoder**, writes one word per step. What passes between them?
#
# In early models it was one vector, the encoder's state after it had read everything (Sutskever et al., 2014; Cho
# et al., 2014). Our encoder reads in both directions, so forward it ends at the last word and backward at the
# first. These two end states, side by side, are the **summary**. In the picture, $h^{(j)}$ are the states of the
# encoder and $s^{(i)}$ those of the decoder.
#
# ![Two panels for the question kannst du mir helfen ?, in English can you help me ?. Upper panel,
# one vector for the whole sentence: the encoder states h1 to h5 are chained in both directions; the
# first and the last of them lead into one box called summary, and from there the same vector goes
# to every decoder state s1 to s5. Lower panel, attention: every encoder state h1 to h5 has a line
# to one box called context, with the weights 0.06, 0.06, 0.38, 0.49, 0.00 and lines as thick as the
# weights, thickest for helfen; an arrow from the second decoder state, which asks, leads to all five weights,
# and the context goes to the third decoder state alone, which writes help. Every step gets a new
# mixture.](../figures/bottleneck.svg)
#
# *In the upper panel one vector has to carry the sentence, while in the lower one each step mixes a vector of its
# own.*
#
# Whether the sentence has three words or 28, the summary has the same number of entries. Whatever does not fit
# into it is lost before the first word is written. That is the **bottleneck**.
#
# What the encoder carries from word to word is its *hidden state*, a vector. Its entries are called units, and
# their number is fixed, however long the sentence is. Gates, as in an LSTM or a GRU, slow the forgetting, as
# section 11 shows, but they do not make the vector larger.
#
# The lower panel shows the way out, which is due to Bahdanau, Cho and Bengio (2015). We keep *all* states of the
# encoder. Before each word we give every state a weight and hand the weighted average to the decoder. This
# average is the **context**.
#
# Why do we need weights? Because not every word matters at every step. When the decoder writes "help" in the long
# question of section 2, "mir", "helfen" and "zu" may matter more than "kannst", "du" and "satz". (This is a
# guess, and section 8 measures whether it is right. The numbers in the picture are those of a network that was
# trained as in section 7.)

# %% tags=["hide-input"]
questions.ask("01", "a-longer-sentence")

# %% [markdown]
# ## 4. RNN #1: annotations
#
# The next picture shows the whole mechanism at the moment when the decoder writes its second word. We build it
# from the bottom to the top, with RNN #1 in this section and attention and RNN #2 in the next.
#
# ![Diagram of one decoder step with the German words kannst, du, mir, helfen and ?. At the bottom RNN #1:
# a chain of forward states h_F from left to right, a chain of backward states h_B from right to
# left; above each word its two states are joined to the annotation h1 to h5. From each annotation two
# lines lead up. Above, the attention for step 2 in three grey bands. One: scores omega21 to omega25,
# each made from an annotation, by its first line, and from the old decoder state s1. Two: one softmax
# over the source words gives the weights alpha21 to alpha25, which are 0.19, 0.76, 0.04, 0.01 and 0.00.
# Three: each weight times its annotation, which comes by its second line, added up, is the context c2;
# the lines into the sum are as thick as the weights, thickest for du. On the right RNN #2: the new
# state s2 is made from the old state s1, the word before, y1, which is can, and the context c2. The new
# state and the context give o2, a score for every word, and the word written is
# you.](../figures/attention_rnn.svg)
#
# *In one step of the decoder, the old state is compared with the annotations, and the context that comes out goes
# into the new state. The weights are those of the trained network.*
#
# | symbol | meaning | in this section |
# |---|---|---|
# | $S$ | number of source words | 5, with "?" |
# | $x^{(j)}$ | embedding of source word $j$ | width 4 |
# | $h_F^{(j)}$, $h_B^{(j)}$ | states at word $j$ of the forward and the backward direction | width 3 each |
# | $h^{(j)} = [h_F^{(j)}; h_B^{(j)}]$ | annotation of word $j$: the two states, concatenated | width 6 |
#
# Why two directions? A forward state at word $j$ has read words 1 to $j$ and knows nothing of what follows. But
# what comes later can decide what a word means, since "sie ist" is *she is* and "sie sind" is *they are*. The
# backward state has read words $S$ down to $j$. Together the two have read everything, with word $j$ most
# recently.
#
# Formulas count from 1 and Python counts from 0, so $h^{(1)}$ is `h[0]`. Comments in the code give shapes. In
# these comments `S` is the number of German words, `E` is the width of an embedding, and `d_h` is the width of one
# direction's state, so an annotation has the shape `(2d_h,)`. Later there will be `B` sentences in a batch, `T`
# English words and `V` entries in the English vocabulary.
#
# We read the words one by one, once from the left and once from the right. The weights are those of an `nn.GRU`,
# so that we can compare our loops with it.

# %%
words = ["kannst", "du", "mir", "helfen", "?"]
torch.manual_seed(1)
x = torch.randn(5, 4)  # (S, E): an embedding for each word
rnn = nn.GRU(4, 3, bidirectional=True, batch_first=True)


def cell(suffix):
    """A GRU cell, which makes one step, with the weights of one direction of `rnn`."""
    one_step = nn.GRUCell(4, 3)
    # nn.GRU calls its weights weight_ih_l0 (forward), weight_ih_l0_reverse (backward), and so on.
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    one_step.load_state_dict({name: getattr(rnn, f"{name}_l0{suffix}") for name in names})
    return one_step


def read(one_step, vectors):
    """The states of one direction, in the order in which they are produced."""
    state, states = torch.zeros(3), []
    for vector in vectors:
        state = one_step(vector, state)
        states.append(state)
    return torch.stack(states)  # (S, d_h)


forward_states = read(cell(""), x)  # words 1, 2, ..., S
backward_states = read(cell("_reverse"), x.flip(0))  # words S, ..., 2, 1
print(forward_states.shape, backward_states.shape)

# %% [markdown]
# Now comes the step that is easily forgotten. The backward direction produces its states with the **last word
# first**, so its list has to be turned around before the two are joined. `nn.GRU` does so itself, and
# `annotations` from `course_utils` does it for two given lists of states.

# %%
h = torch.stack(
    [torch.cat([forward_states[j], backward_states[len(x) - 1 - j]]) for j in range(len(x))]
)  # (S, 2d_h)

reference, _ = rnn(x.unsqueeze(0))  # (1, S, 2d_h)
joined = annotations(forward_states.unsqueeze(0), backward_states.unsqueeze(0))  # (1, S, 2d_h)
assert torch.allclose(h, reference[0], atol=1e-6)
assert torch.allclose(h, joined[0], atol=1e-6)
print("loops equal nn.GRU and course_utils:", torch.allclose(h, reference[0], atol=1e-6))

# %% [markdown]
# Which words does a state know? We can find out by replacing a word and seeing which states change. Here we
# replace "?", the last one.

# %%
changed = x.clone()
changed[-1] = torch.randn(4)
difference = (rnn(changed.unsqueeze(0))[0] - reference)[0].abs()  # (S, 2d_h)

print("changed by another last word?  forward   backward")
for word, row in zip(words, difference, strict=True):
    forward_changed, backward_changed = bool(row[:3].any()), bool(row[3:].any())
    print(f"{word:>29}  {forward_changed!s:7}   {backward_changed}")
assert (difference[:-1, :3] == 0).all() and (difference[:, 3:].max(dim=1).values > 0).all()

# %% [markdown]
# The forward states of the first four words cannot know the last word, but all backward states do. If we had not
# turned the list around, the annotation of "kannst" would contain a backward state that has read nothing but "?".
#
# The widths add up, so two directions of 128 units give annotations of width 256:

# %%
wide = nn.GRU(4, 128, bidirectional=True, batch_first=True)
print(wide(x.unsqueeze(0))[0].shape)
assert wide(x.unsqueeze(0))[0].shape == (1, 5, 128 + 128)

# %% [markdown]
# RNN #1 makes annotations and not context vectors. There is one annotation per *source* word; it is made before
# anything is written, and what it knows of the other words has come to it through the recurrence. A context
# vector belongs to a *target* word, and attention makes it.

# %% [markdown]
# ## 5. Attention: scores, weights, context
#
# The decoder is about to write word $i$, and what it knows so far is in its state $s^{(i-1)}$. (Only the word
# just written is not in there, because it was chosen from this state and goes into the next one.) Attention
# compares this state with every annotation and asks how well each of them matches what is needed now.
#
# | symbol | meaning | shape here |
# |---|---|---|
# | $s^{(i-1)}$ | state of the decoder before step $i$ | (7,) |
# | $W$, $U$, $v$ | learned: two matrices and a vector | (8, 7), (8, 6), (8,) |
# | $\omega_{ij}$ | alignment score: how well source word $j$ fits target word $i$ | one number |
# | $\alpha_{ij}$ | weight of source word $j$ at step $i$ | one number |
# | $c^{(i)}$ | context vector of step $i$ | (6,) |
#
# An annotation has width 6, while the widths 7 and 8 are free to choose.
#
# **1. Score.** A small network with one hidden layer compares the state with one annotation:
#
# $$\omega_{ij} = v^\top \tanh\!\left(W s^{(i-1)} + U h^{(j)}\right)$$
#
# $W$ and $U$ bring the two to one width, so that they can be added, and $v$ turns the result into one number. Why
# is there a tanh? Without it, the state would add the same number $v^\top W s^{(i-1)}$ to every score. A softmax
# ignores what is added to all its inputs, so the weights would not depend on the state at all.
#
# **2. Weights.** A softmax over the source words turns the scores into positive numbers that sum to one:
#
# $$\alpha_{ij} = \frac{\exp(\omega_{ij})}{\sum_{k=1}^{S} \exp(\omega_{ik})}$$
#
# The sum in the denominator has an index of its own, $k$, because $j$ is already taken.
#
# **3. Context.** The annotations are averaged with these weights:
#
# $$c^{(i)} = \sum_{j=1}^{S} \alpha_{ij}\, h^{(j)}$$
#
# This sum runs over the *source* words $j$. The index $i$ names the step of the decoder and stays the same in the
# whole sum. (Bahdanau et al. call the score $e$, with the same indices. Here it is $\omega_{ij}$, as in all
# lectures.)
#
# First we compute just what the formulas say, for one step of the decoder, with loops over the source words.

# %%
s = torch.randn(7)  # (decoder_dim,)
# Divided by the root of the width, the random matrices keep the sums moderate.
W = torch.randn(8, 7) / math.sqrt(7)
U = torch.randn(8, 6) / math.sqrt(6)
v = torch.randn(8)
S = len(h)

omega = torch.empty(S)
for j in range(S):
    omega[j] = torch.dot(v, torch.tanh(W @ s + U @ h[j]))

total = sum(torch.exp(omega[k]) for k in range(S))
alpha = torch.stack([torch.exp(omega[j]) / total for j in range(S)])  # (S,)

context = torch.zeros(6)
for j in range(S):
    context += alpha[j] * h[j]

for word, score, weight in zip(words, omega.tolist(), alpha.tolist(), strict=True):
    print(f"{word:>7}   score {score:6.3f}   weight {weight:.3f}")
assert torch.allclose(alpha.sum(), torch.tensor(1.0))

# %% [markdown]
# Nothing is trained, so these weights mean nothing yet, but the arithmetic is complete. In matrices, all
# annotations are scored at once. The rows of $H$ (in the code `h`) are the $h^{(j)}$, and $W s$ is added to every
# row of $H U^\top$.

# %%
scores = torch.tanh(W @ s + h @ U.T) @ v  # (8,) + (S, 8) -> (S, 8) -> (S,)
weights = scores.softmax(dim=0)  # (S,)
matrix_context = weights @ h  # (S,) @ (S, 2d_h) -> (2d_h,)

assert torch.allclose(scores, omega, atol=1e-6)
assert torch.allclose(weights, alpha, atol=1e-6)
assert torch.allclose(matrix_context, context, atol=1e-6)
print("matrix form equals loops:", torch.allclose(matrix_context, context, atol=1e-6))

# %% [markdown]
# `course_utils.attention.BahdanauAttention` does this for a batch of sentences. $W$, $U$ and $v$ are linear
# layers without bias, and a mask says which words may be attended to. Sentences of different lengths need the
# mask, because the short ones are filled up with padding, and padding deserves no weight. So the scores of the
# padding become $-\infty$ *before* the softmax, which gives it the weight $\exp(-\infty) = 0$. `True` means *may
# attend*, and lecture 4 is all about masks.

# %%
attend = BahdanauAttention(decoder_dim=7, encoder_dim=6, attention_dim=8)
attend.load_state_dict({"W.weight": W, "U.weight": U, "v.weight": v.unsqueeze(0)})

states = torch.stack([s, s])  # (B, decoder_dim)
batch = torch.stack([h, h])  # (B, S, 2d_h): the same sentence twice
mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])  # (B, S): row 2 ends in padding

with torch.no_grad():
    contexts, batch_weights = attend(states, batch, mask)  # (B, 2d_h), (B, S)
    assert torch.allclose(contexts[0], context, atol=1e-6)
    assert torch.allclose(batch_weights[1, :3], omega[:3].softmax(dim=0), atol=1e-6)
    assert (batch_weights[1, 3:] == 0).all()
print("hidden words get the weights", batch_weights[1, 3:].tolist())

# %% [markdown]
# $W$, $U$ and $v$ are all that attention learns here. They belong to the score, and the softmax has no
# parameters.
#
# $U h^{(j)}$ does not depend on $i$, so a program computes it once per sentence, whereas $W s^{(i-1)}$ changes
# with every step. The steps cannot be computed all at once, because step $i$ needs the state that step $i-1$
# produced. Lecture 2 removes this chain.

# %% tags=["hide-input"]
questions.ask("01", "which-vectors-are-compared")

# %% [markdown]
# ### RNN #2: one step
#
# The new state is made from three things, which are the state before, the word before, and the context.
#
# $$s^{(i)} = f\!\left(s^{(i-1)},\, y^{(i-1)},\, c^{(i)}\right)$$
#
# In our model $f$ is a GRU cell, whose input is the word's embedding and the context, side by side. A last linear
# map turns $s^{(i)}$ and $c^{(i)}$ into $o^{(i)}$, which holds one number for every English word, its *logit*.
# (Bahdanau et al. also use $y^{(i-1)}$ here, and one more layer.)
#
# Where does the chain begin? $s^{(0)}$ is a learned linear map of the summary, followed by tanh. So the model
# with attention gets the summary too, but only there.

# %%
decoder_cell = nn.GRUCell(3 + 6, 7)  # embedding of a word, and context -> decoder_dim
to_words = nn.Linear(7 + 6, 11)  # eleven English words

y_before = torch.randn(3)  # embedding of the word before
s_new = decoder_cell(torch.cat([y_before, context]), s)  # (decoder_dim,)
o = to_words(torch.cat([s_new, context]))  # (11,)

print(s_new.shape, o.shape)
assert s_new.shape == s.shape and o.shape == (11,)

# %% tags=["hide-input"]
questions.ask("01", "one-step-of-the-decoder")

# %% [markdown]
# ### The whole model
#
# Here are both networks in one class. Read it from the top, where you see what is learned, then how the model
# reads a German sentence, and last what it does at one step of the English one. You have met most of these lines;
# `initial_state` is the map of the summary, and `generator` is the last linear map.


# %%
class Translator(nn.Module):
    """A translator, with attention or with one vector. For sentences without padding."""

    def __init__(self, num_german, num_english, embedding_dim, hidden_dim, attention_dim=None):
        super().__init__()
        E, d_h, self.attention = embedding_dim, hidden_dim, None
        self.src_embedding = nn.Embedding(num_german, E)
        self.encoder = nn.GRU(E, d_h, batch_first=True, bidirectional=True)  # RNN #1
        self.initial_state = nn.Linear(2 * d_h, d_h)
        if attention_dim is not None:
            self.attention = BahdanauAttention(d_h, 2 * d_h, attention_dim)
        self.tgt_embedding = nn.Embedding(num_english, E)
        self.decoder = nn.GRUCell(E + 2 * d_h, d_h)  # RNN #2
        self.generator = nn.Linear(d_h + 2 * d_h, num_english)  # to words

    def read(self, german_ids):  # (B, S)
        annotations, last_states = self.encoder(self.src_embedding(german_ids))  # (B, S, 2d_h)
        summary = torch.cat([last_states[0], last_states[1]], dim=-1)  # (B, 2d_h)
        return annotations, summary

    def start(self, summary):
        return torch.tanh(self.initial_state(summary))  # (B, d_h)

    def step(self, word_before, state, annotations, summary):  # (B,), (B, d_h)
        context = summary  # with one vector: the same at every step
        if self.attention is not None:
            context, _ = self.attention(state, annotations)  # (B, 2d_h)
        embedded = self.tgt_embedding(word_before)  # (B, E)
        state = self.decoder(torch.cat([embedded, context], dim=-1), state)
        return self.generator(torch.cat([state, context], dim=-1)), state  # (B, V), (B, d_h)


# %% [markdown]
# The model with one vector is the same class with `attention_dim=None`, in which case its context is the summary
# at every step. That is the only difference.
#
# From here on we use `Seq2Seq` of `course_utils.rnn`, which is this class and takes care of padding too. `encode`
# puts what `read` gives into one object, together with the mask, and `step` returns the weights as well. Both
# classes have the same parameters, so that one can take over those of the other:

# %%
torch.manual_seed(0)
ours = Translator(len(german), len(english), embedding_dim=5, hidden_dim=3, attention_dim=7)
tiny = Seq2Seq(len(german), len(english), embedding_dim=5, hidden_dim=3, attention_dim=7)
tiny.load_state_dict(ours.state_dict())

ids = torch.tensor([german.encode(data.EXAMPLE.source)])  # (1, S)
first = torch.tensor([data.BOS_ID])  # the decoder begins with a special word, <bos>
with torch.no_grad():
    read = ours.read(ids)
    our_scores, our_state = ours.step(first, ours.start(read[1]), *read)
    source = tiny.encode(ids)
    scores, state, _ = tiny.step(first, tiny.start(source), source)

assert torch.allclose(our_scores, scores, atol=1e-6)
assert torch.allclose(our_state, state, atol=1e-6)
print("Translator equals Seq2Seq:", torch.allclose(our_scores, scores, atol=1e-6))

# %% [markdown]
# ## 6. Teacher forcing and inference
#
# Which word is "the word before", $y^{(i-1)}$? There are two answers, one for training and one for use, and each
# needs a loop of its own. Two special tokens help: `<bos>` marks the beginning of a sentence and `<eos>` its end.
#
# | | training: **teacher forcing** | use: **inference** |
# |---|---|---|
# | word before | from the *true* translation, whatever the model would have written | the word that the model wrote itself |
# | true translation | known | unknown |
# | ends | with the true translation | when the model writes `<eos>`, or at a limit |
# | a wrong word | costs loss once | is read at the next step; one mistake may lead to the next |
#
# Why do we take the true word in training? At first the model writes nonsense, and after nonsense there is no
# right next word.
#
# `<bos>` comes before the first word, so the decoder reads the translation shifted by one place. What it reads is
# always a *word*, because $o^{(i)}$ is only a list of logits, and inference feeds back the word that was chosen
# from it.
#
# Training is a loop over the true words, which `forward` of `Seq2Seq` contains. Here it runs on three sentences
# at once, the shorter ones padded. From here on every German sentence ends with `<eos>`, too.

# %%
pairs = data.collate(test[:3], german, english)  # ids of three sentences, padded
reads, says = pairs.target[:, :-1], pairs.target[:, 1:]  # (B, T): shifted by one

print("decoder reads:", *[english.words[k] for k in reads[0, :5]])
print("decoder says: ", *[english.words[k] for k in says[0, :5]])

with torch.no_grad():
    source = tiny.encode(pairs.source)
    state = tiny.start(source)  # (B, d_h)
    by_step = []
    for true_word in reads.unbind(dim=1):  # (B,)
        logits, state, _ = tiny.step(true_word, state, source)  # (B, V)
        by_step.append(logits)
    all_logits, all_weights = tiny(pairs.source, reads)  # (B, T, V), (B, T, S)

assert torch.allclose(torch.stack(by_step, dim=1), all_logits, atol=1e-5)
print(all_logits.shape, all_weights.shape)

# %% [markdown]
# The loss is the cross-entropy between $o^{(i)}$ and the true word $y^{(i)}$, averaged over all words except the
# padding.
#
# Inference is a loop that feeds the most probable word back in. (This is *greedy* decoding, and lecture 8 adds
# beam search.) `write` does it for one sentence and `translate` for a batch.


# %%
@torch.no_grad()
def write(model, sentence, max_len=32):
    """Translate a string. Returns the words, with <eos>, and the weights of each step (T, S)."""
    ids = torch.tensor([[*german.encode(sentence), data.EOS_ID]])  # (1, S)
    source = model.encode(ids)
    state = model.start(source)
    written, weights = [data.BOS_ID], []
    while written[-1] != data.EOS_ID and len(written) < max_len:
        own_word = torch.tensor([written[-1]])
        logits, state, step_weights = model.step(own_word, state, source)
        written.append(logits.argmax().item())
        weights.append(step_weights[0])
    return [english.words[k] for k in written[1:]], torch.stack(weights)


written, _ = write(tiny, test[0].source)
ids, _ = translate(tiny, pairs.source[:1], data.BOS_ID, data.EOS_ID, max_len=32)
assert written == [english.words[k] for k in ids[0, 1:]]
print("the loop agrees with course_utils.rnn.translate")

# %% tags=["hide-input"]
questions.ask("01", "a-wrong-word-in-training")

# %% [markdown]
# ## 7. The experiment: accuracy by length
#
# We predict that with one vector, long sentences suffer, and that with attention they suffer far less. To test
# this, we train both models on the same sentences and count the translations that are right **in every word**.
#
# The comparison should be fair, so we keep three things equal:
#
# - The widths are the same, with embeddings of 128 and hidden states of 28 per direction. The summary then has 56
#   entries, and attention adds 5440 parameters to about 117 000.
# - The optimiser and the learning rate are the same.
# - The **cost** is the same. A step with attention takes about 1.7 times as long, so the model without it gets
#   2000 steps of 64 sentences and the model with it only 1200.
#
# The hidden states are small on purpose. A wider summary moves the wall, the length at which translations fail,
# to longer sentences (section 12).


# %%
def train_model(attention_dim, steps, seed):
    """Train a translator with teacher forcing, for a fixed number of steps."""
    torch.manual_seed(seed)
    model = Seq2Seq(len(german), len(english), 128, 28, attention_dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.9, 0.98))
    # The learning rate rises during the first tenth of the steps, then falls towards zero.
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, steps, pct_start=0.1)
    stream = data.batches(train, german, english, batch_size=64, seed=seed)
    start = time.process_time()
    for step, (source, target) in zip(range(1, steps + 1), stream, strict=False):
        logits, _ = model(source, target[:, :-1])  # (B, T, V)
        loss = F.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=data.PAD_ID
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # no single batch may pull too hard
        optimizer.step()
        schedule.step()
        if step % 400 == 0:
            print(f"step {step:4d}   loss {loss.item():.3f}")
    print(f"{time.process_time() - start:.0f} seconds of one processor core")
    return model.eval()


# %% [markdown]
# One constant decides where both trainings start and in which order they see the sentences.

# %%
SEED = 0  # try another one

# %% [markdown]
# Each of the next two cells takes up to a minute. The loss that is printed is that of one batch. A batch contains
# sentences of similar length, short ones or long ones, so expect the loss to jump.

# %% tags=["nbval-ignore-output"] seconds=35
without = train_model(attention_dim=None, steps=2000, seed=SEED)

# %% tags=["nbval-ignore-output"] seconds=35
with_attention = train_model(attention_dim=64, steps=1200, seed=SEED)

# %% [markdown]
# Now both models translate the test sentences, by inference. We count exact matches in five groups of sentence
# length, and let the dictionary of section 2 take part.


# %%
def translate_all(model, pairs):
    """The model's own translations of all pairs, as strings."""
    sentences = []
    for start in range(0, len(pairs), 250):
        source = data.collate(pairs[start : start + 250], german, english).source
        ids, _ = translate(model, source, data.BOS_ID, data.EOS_ID, max_len=32)
        sentences += [english.decode(row) for row in ids]
    return sentences


def accuracy_by_length(sentences):
    """The share of exact matches in each bucket of source lengths."""
    hits = defaultdict(list)
    for pair, sentence in zip(test, sentences, strict=True):
        hits[data.length_bucket(pair)].append(sentence == pair.target)
    return [sum(hits[bucket]) / len(hits[bucket]) for bucket in data.LENGTH_BUCKETS]


# %%
names = [f"{low}–{high}" for low, high in data.LENGTH_BUCKETS]
counts = Counter(map(data.length_bucket, test))
translated = {
    "with attention": translate_all(with_attention, test),
    "one vector": translate_all(without, test),
    "word by word": outputs,
}
accuracy = {name: accuracy_by_length(sentences) for name, sentences in translated.items()}

# %% tags=["nbval-ignore-output"]
print("source tokens  ", "".join(f"{name:>8}" for name in names))
print("test sentences ", "".join(f"{counts[bucket]:8d}" for bucket in data.LENGTH_BUCKETS))
for name, row in accuracy.items():
    print(f"{name:<15}", "".join(f"{value:8.2f}" for value in row))

# %% tags=["hide-input", "nbval-ignore-output"]
sizes = [sum(p.numel() for p in model.parameters()) for model in (with_attention, without)]
assert sizes[0] - sizes[1] == 5440 and 116_000 < sizes[1] < 118_000
gaps = [a - b for a, b in zip(accuracy["with attention"], accuracy["one vector"], strict=True)]
assert gaps[2] >= 0.40, "12 to 15 tokens: at least 40 percentage points"
assert gaps[3] >= 0.40
assert accuracy["one vector"][0] > 0.8 and accuracy["one vector"][4] < 0.1
assert accuracy["with attention"][2] > 0.8
assert accuracy["with attention"][2] > 1.6 * accuracy["one vector"][2]
assert accuracy["with attention"][4] > 0.7
wrong = {name: 1 - row[0] for name, row in accuracy.items()}  # of the shortest
assert wrong["with attention"] < 0.05 and wrong["one vector"] > 2 * wrong["with attention"]

shares = {}
for name, row in accuracy.items():
    numbers = [counts[bucket] for bucket in data.LENGTH_BUCKETS]
    errors = [2 * math.sqrt(p * (1 - p) / n) for p, n in zip(row, numbers, strict=True)]
    shares[name] = [[p + side * e for p, e in zip(row, errors, strict=True)] for side in (-1, 0, 1)]
figure, ax = plotting.panels(1, height=4.8)
colours = {
    "with attention": plotting.MODELS["attention"],
    "one vector": plotting.MODELS["one vector"],
    "word by word": plotting.MUTED,
}
plotting.curves(
    ax,
    range(5),
    shares,
    colours,
    xlabel="German tokens",
    ylabel="right in every word",
    xlim=(-0.2, 4.2),
    ylim=(-0.05, 1.05),
)
ax.set_xticks(range(5), names)
plotting.picture(
    figure,
    caption="With one vector, long sentences fail; with attention, nearly all come out right.",
    alt="The share of translations that are right in every word, against the length of the German "
    "sentence, in five groups from 3–7 to 20–28 tokens. With attention the curve falls only a "
    "little, from nearly 1 to about 0.9. With one vector it begins at about 0.9 and falls steeply, "
    "to about 0.4 at 12–15 tokens, to 0.1 at 16–19 and to 0 beyond. Word by word is at "
    "0.09 for the shortest sentences and at 0 beyond. Bands show two standard errors.",
)

# %% [markdown]
# The prediction holds. (The bands reach two standard errors up and down.)
#
# - On the **shortest** sentences both are mostly right, but even here they differ, because the model with
#   attention got 2 of 100 wrong and the one with one vector 10.
# - At **12 to 15 tokens** the model with attention is right about twice as often.
# - From **20 tokens** on it is the only one that works, although it was trained for fewer steps.
#
# One seed proves little. You can change `SEED` above, and section 12 shows three seeds as well as wider networks.
#
# What does a full vector forget? Here are three long sentences that only the model with attention got right.
# (What is too long for one line is cut.)

# %% tags=["nbval-ignore-output"]
shown = 0
for pair, good, bad in zip(
    test, translated["with attention"], translated["one vector"], strict=True
):
    if shown < 3 and good == pair.target != bad and data.length_bucket(pair) == (16, 19):
        shown += 1
        start = textwrap.shorten(bad, 105, placeholder=" …")
        print(f"German      {pair.source}\none vector  {start}\nattention   {good}\n")

wrong = [
    bad
    for pair, bad in zip(test, translated["one vector"], strict=True)
    if bad != pair.target and data.length_bucket(pair) == (16, 19)
]
endless = sum(len(bad.split()) == 31 for bad in wrong) / len(wrong)  # 31 words are the limit
print(f"of {len(wrong)} wrong ones of 16 to 19 tokens, {endless:.0%} never end")
assert 0.1 < endless < 0.7

# %% [markdown]
# Phrase by phrase, the model with one vector still writes good English, because grammar is the same in all
# sentences and the decoder has learned it. What gets lost is what *this* sentence says. A clause is dropped, two
# clauses melt into one, or one is said again and again until the limit of 31 words.

# %% [markdown]
# ## 8. Reading the alignment
#
# Each row of weights says where the decoder looked before it wrote a word. Nobody told it where to look, because
# the loss compares English words and never sees an alignment. We draw the rows for our example, which belongs to
# the test part. Frames mark the true origin of each word, as the grammar knows it. The decoder is given the true
# words, so that row $i$ belongs to true word $i$.


# %%
@torch.no_grad()
def forced_weights(pairs):
    """For each pair, the weights (T, S) of its true English words, <eos> left out as a row."""
    source, target = data.collate(pairs, german, english)
    _, weights = with_attention(source, target[:, :-1])
    return [row[: len(pair.alignment)] for row, pair in zip(weights, pairs, strict=True)]


example = data.EXAMPLE
german_words = [*example.source.split(), "<eos>"]
english_words = example.target.split()
(example_weights,) = forced_weights([example])  # (T, S)


# %% tags=["hide-input"]
def in_words(weights, written, source_words):
    """For each written word, the source words with a weight of at least 0.2."""
    rows = []
    for word, row in zip(written, weights.tolist(), strict=True):
        pairs = zip(source_words, row, strict=True)
        looks = [f"{source_word} {weight:.1f}" for source_word, weight in pairs if weight >= 0.2]
        rows.append(f"{word}: {' and '.join(looks) or 'none'}")
    return "; ".join(rows)


# %% tags=["hide-input", "nbval-ignore-output"]
figure, ax = plotting.panels(1, height=5.6, width=10)
plotting.attention_map(
    example_weights,
    english_words,
    german_words,
    ax,
    limit=1.0,
    colour_label="weight α",
    query_label="English word to be written",
    key_label="German word",
)
for row, origins in enumerate(example.alignment):
    for column in origins:
        plotting.outline_cell(ax, row, column)
plotting.picture(
    figure,
    caption="Where the decoder looks before it writes each English word; frames mark true origins.",
    alt="Map of the weights for the example, one row for each English word, one column for each "
    "German word, strongly coloured where the weight is large. The frames of the true origins go down the "
    "diagonal, but for two places. At help and me they change places: helfen, then mir. At to and "
    "translate they jump right, to zu and übersetzen, near the end; at this and sentence they come "
    "back to the left, to diesen and satz; then follows the question mark. The comma is framed in no "
    "row. Weights of at least 0.2: " + in_words(example_weights, english_words, german_words),
)

# %% [markdown]
# For the map, the decoder was given the true words. What does it write on its own?

# %% tags=["nbval-ignore-output"]
print(" ".join(write(with_attention, example.source)[0]))

# %% [markdown]
# Before "translate" the decoder jumps nearly to the end of the German sentence, and for "this sentence" it comes
# back. At "help" and "me" it has to cross again, and before it writes "help" it looks at both "mir" and "helfen".

# %% tags=["hide-input"]
looked_at = example_weights.argmax(dim=1).tolist()  # (T,)
best = {word: german_words[j] for word, j in zip(english_words, looked_at, strict=True)}
assert (best["me"], best["translate"], best["sentence"]) == ("mir", "übersetzen", "satz")
print("me looks at mir, translate at übersetzen, sentence at satz")

# %% [markdown]
# Section 3 guessed that "mir", "helfen" and "zu" matter more for "help" than "kannst", "du" and "satz". Here are
# the weights of both groups.

# %% tags=["nbval-ignore-output"]
help_weights = example_weights[english_words.index("help")].tolist()
share = dict(zip(german_words, help_weights, strict=True))
first_group = share["mir"] + share["helfen"] + share["zu"]
second_group = share["kannst"] + share["du"] + share["satz"]
print(f"mir + helfen + zu:  {first_group:.2f}")
print(f"kannst + du + satz: {second_group:.2f}")
print(f"zu alone:           {share['zu']:.2f}")

# %% tags=["hide-input"]
assert first_group > second_group
assert share["zu"] < 0.1 < share["mir"] and share["helfen"] > 0.1
print("the first group has more weight:", first_group > second_group)

# %% [markdown]
# The first group has more weight. The guess is right about "mir" and "helfen" but wrong about "zu", which has
# hardly any part in it. This is one sentence and one network, and another `SEED` gives another.

# %% [markdown]
# How good is the alignment in general? For each English word of 1000 test sentences we ask whether its largest
# weight is on a true German origin and, if not, how many places away from one it is. As a comparison we always
# guess the German word at the same position.

# %%
chunks = [test[start : start + 250] for start in range(0, 1000, 250)]
looks, same_place, distance = [], [], Counter()
for chunk in chunks:
    for pair, rows in zip(chunk, forced_weights(chunk), strict=True):
        looked_at = rows.argmax(dim=1).tolist()
        looks.append([j in o for j, o in zip(looked_at, pair.alignment, strict=True)])
        same_place += [place in origins for place, origins in enumerate(pair.alignment)]
        for j, origins in zip(looked_at, pair.alignment, strict=True):
            distance[min(abs(j - origin) for origin in origins)] += 1

number = distance.total()
agreement = distance[0] / number
assert agreement > 0.60 and agreement > sum(same_place) / number + 0.20

# %% tags=["nbval-ignore-output"]
print(f"largest weight on a true origin: {agreement:.0%}")
print(f"one place beside it:             {distance[1] / number:.0%}")
print(f"guess the same position:         {sum(same_place) / number:.0%}")

# %% [markdown]
# Most words look where the grammar says, far more than the same position would give. What about the others? Some
# are mistakes. Others did not need to look, as section 13 shows, because after "look" the word "for" follows
# anyway. The weights have to go somewhere because they sum to one, but in such a case it hardly matters where.
#
# So read such maps with care. They show where the decoder looked, but neither what it took from there nor why it
# wrote a word. How much they explain is a debate of its own (see *Further reading*).

# %% [markdown]
# ## 9. Step through the decoder
#
# This is the whole network with attention that this notebook has just trained. Its weights are in the page, and
# your browser computes what PyTorch computes. This time the decoder reads its own words.
#
# 1. Press *step* a few times. The green lines are the weights, so they show which German words the decoder takes
#    from, and how much.
# 2. Click "mir", so that the decoder can no longer look at it. Which English words change?
# 3. *Put everything back*, and switch off "choosing where to look", so that every German word weighs the same.
#    That is one vector for the whole sentence again, and the network has never learned to live with it.
# 4. Type a sentence of your own. Words that it knows are offered while you type.

# %% tags=["hide-input", "nbval-ignore-output"]
live.translation_view(
    translators.Translator(with_attention, german, english),
    caption="The recurrent translator that this notebook trained, with attention, word by word",
)

# %% [markdown]
# The next picture shows all steps of the example at once. Read it row by row. Each panel is one step, and its
# title is the word that the decoder then writes.

# %% tags=["hide-input", "nbval-ignore-output"]
written, steps = write(with_attention, example.source)
plotting.picture(
    plotting.step_panels(written, german_words, steps, columns=4, xlabel="weight α", size=(10, 10)),
    caption="The weights of every step, from the first word written to the end of the sentence.",
    alt="One panel for each step of the decoder, with the word it writes as title and a bar for the "
    "weight of each German word. The longest bar moves down the German sentence from step to step, "
    "with two crossings: for me it moves up, to mir, and after translate, where it lies far down, at "
    "übersetzen, it moves up again for this and sentence, to diesen and satz. For to, which the "
    "network finds without looking, its place means little. Weights of at least 0.2: "
    + in_words(steps, written, german_words),
)

# %% [markdown]
# ## 10. What it costs, and what comes next
#
# Attention compares every target word with every source word, which makes $T \times S$ scores for $T$ English and
# $S$ German words. That is the price for having no bottleneck.
#
# The recurrence has a price of its own. The encoder needs $S$ steps and the decoder $T$, one *after* the other,
# and a word reaches a distant one only through all states in between. Attention needs no such chain, since any
# two words are one step apart. So why keep the chain? (One part of it will stay, because at inference a word must
# be written before it can be read.)
#
# [Lecture 2](02_basic_self_attention.ipynb) drops it. There the words of *one* sentence compare and mix each
# other, all at once. Attention between two sentences returns in [lecture 8](08_transformer.ipynb) under the name
# *cross-attention*. The transformer's curve will be drawn there, next to those of recurrent models of its size.
#
# ## Summary
#
# - Word order and dependent words make it impossible to translate word by word, so a translator reads first and
#   then writes.
# - One summary vector has a fixed size into which long sentences do not fit. This is the bottleneck.
# - There is one annotation $h^{(j)} = [h_F^{(j)}; h_B^{(j)}]$ per source word, made from two directions, and the
#   backward states must be turned around.
# - The scores are $\omega_{ij} = v^\top \tanh(W s^{(i-1)} + U h^{(j)})$, a softmax over $j$ gives the weights,
#   and the context is $c^{(i)} = \sum_j \alpha_{ij} h^{(j)}$.
# - The next state is $s^{(i)} = f(s^{(i-1)}, y^{(i-1)}, c^{(i)})$. Teacher forcing takes the true word before,
#   and inference takes the model's own.
# - At equal cost, attention won by at least 40 points at 12 to 15 tokens. Its weights show an alignment that
#   nobody taught it, but it has to be read with care.
#
# **Now you:** [assignment a1, attention in recurrent
# networks](../exercises/a1_rnn_attention/a1_rnn_attention.ipynb). This is the end of the core. Sections 11 to 13
# go deeper, and you can skip them.

# %% [markdown]
# ## Check yourself
#
# The questions in sections 3, 5 and 6 can be checked on the spot. Those below are open ones, so answer them in your
# own words before you look.
#
# **1.** A decoder writes 9 words for a sentence of 10 German tokens. How many annotations, context vectors and
# weights are there?
#
# <details><summary>Answer</summary>
#
# There are 10 annotations, one per source word, and 9 context vectors, one per target word, which makes $9 \times
# 10 = 90$ weights. (With `<eos>` on both sides there are 11, 10 and 110.)
#
# </details>
#
# **2.** You join forward and backward states without turning the backward ones around. The shapes are right. What
# is the annotation of the first of $S$ words made of?
#
# <details><summary>Answer</summary>
#
# It is made of the forward state after word 1 and the backward state after word $S$. Each has read one word only,
# and they are different words. Only at the middle word of an odd number of words do the two halves belong
# together.
#
# </details>
#
# **3.** In the map of section 8, each row of weights sums to one. Must each column do so, too? What does the sum
# of a column tell you?
#
# <details><summary>Answer</summary>
#
# No, because nothing normalises a column. Its sum is the weight that one source word gets over all target words.
# A word that is looked at several times has a large sum, and one that is never looked at has a sum near zero.
#
# </details>
#
# **4.** All scores of a step are equal. What is the context? What is it if one score is far larger than all
# others?
#
# <details><summary>Answer</summary>
#
# Equal scores give weights $1/S$, so the context is the mean of the annotations. One dominant score gives a
# weight near one, so the context is nearly that annotation. Attention can do anything between averaging and
# selecting.
#
# </details>
#
# **5.** Each word is right with probability 0.97, given that all words before it are right. How probable is a
# right translation of 15 words?
#
# <details><summary>Answer</summary>
#
# It is $0.97^{15} \approx 0.63$. Exact match is a hard measure, because a small loss per word becomes a large one
# per sentence. That is one reason why both curves fall with length, and why it is the *gap* that counts.
#
# </details>
#
# **6.** Why must the state in the score be $s^{(i-1)}$ and not $s^{(i)}$?
#
# <details><summary>Answer</summary>
#
# $s^{(i)}$ is computed from $c^{(i)}$, and $c^{(i)}$ is computed from the scores. When the scores are needed,
# $s^{(i)}$ does not exist yet.
#
# </details>
#
# **7.** Someone computes the softmax first and sets the weights of the padding to zero afterwards. What is wrong
# with that?
#
# <details><summary>Answer</summary>
#
# The padding has taken part in the denominator. So the remaining weights sum to less than one, by an amount that
# depends, among other things, on how much padding the batch happens to have.
#
# </details>

# %% [markdown]
# ## 11. Going deeper: inside a GRU
#
# How does a gate slow the forgetting? A GRU cell has two gates. Each is a vector of the state's width with
# entries between 0 and 1, made from the new vector $x$ and the old state $h$:
#
# $$r = \sigma(W_{xr} x + W_{hr} h + b_r) \qquad z = \sigma(W_{xz} x + W_{hz} h + b_z)$$
#
# The *reset* gate $r$ says how much of the old state the proposal $n$ for the new one may use. The *update* gate
# $z$ says how much of the old state is kept:
#
# $$n = \tanh\!\left(W_{xn} x + b_{xn} + r \odot (W_{hn} h + b_{hn})\right) \qquad
# h_\text{new} = (1 - z) \odot n + z \odot h$$
#
# The product $\odot$ goes entry by entry. Where an entry of $z$ is 1, that entry of the state passes unchanged,
# so one number can survive many words. (Many texts swap $z$ and $1 - z$. This $z$ has nothing to do with the
# context vectors $z^{(i)}$ of lecture 2.)
#
# ![Diagram of one step of a GRU while it reads helfen. The old state h and the word x lead from below
# into three boxes, update gate z, reset gate r and proposal n, each with its formula and, above it, a
# strip of 28 coloured cells. The reset gate's strip also leads into the proposal. The update gate's
# strip meets the old state h in a product, z times h, which is what is kept; 1 minus z meets n in a
# second product. Both products meet in a sum, whose result is the new state, again 28 cells. Two units
# are framed in every strip. Unit 14 is strongly negative in the old state, blank in z, strongly positive
# in n and in the new state. Unit 21 is nearly blank in the old state, full in z, strongly positive in n,
# and in the new state as nearly blank as before.](../figures/gru_cell.svg)
#
# *The numbers are those of a network trained as in section 7, while it reads from the left. In unit 14, $z$ is 0.00,
# so "helfen" replaces −0.95 by 0.98. In unit 21, $z$ is 0.99, and the state stays near −0.1 although the proposal
# is 1.00.*
#
# `nn.GRUCell` stacks the three matrices for $x$ in one, in the order $r$, $z$, $n$, and the three for $h$ in
# another.


# %%
def gru_step(cell, x, h):
    """One step of a GRU cell: x is (E,), h is (h,). Returns the new state and the update gate."""
    from_x = (cell.weight_ih @ x + cell.bias_ih).chunk(3)  # r, z, n: (h,) each
    from_h = (cell.weight_hh @ h + cell.bias_hh).chunk(3)
    r = torch.sigmoid(from_x[0] + from_h[0])
    z = torch.sigmoid(from_x[1] + from_h[1])
    n = torch.tanh(from_x[2] + r * from_h[2])
    return (1 - z) * n + z * h, z


with torch.no_grad():
    one_cell, old = cell(""), torch.randn(3)
    new, z = gru_step(one_cell, x[0], old)
    print("new state:", *[f"{number:.3f}" for number in new])
    print("equals nn.GRUCell:", torch.allclose(new, one_cell(x[0], old), atol=1e-6))

    one_cell.bias_ih[3:6] = 100.0  # push the update gate to 1
    kept, z = gru_step(one_cell, x[0], old)
    print("update gate at 1, state kept:", torch.allclose(kept, old))

# %% tags=["hide-input"]
# one step by hand is PyTorch's own, and where z is one the old state stays
with torch.no_grad():
    assert torch.allclose(new, cell("")(x[0], old), atol=1e-6)
    assert not torch.allclose(new, old, atol=1e-2)
    assert (z > 0.999).all() and torch.allclose(kept, old)

# %% [markdown]
# An LSTM has three gates and a second state. Neither of them makes the state *larger*, because what a gate keeps
# takes the place of something else. So gates move the wall of section 7 but do not take it away.
#
# **Check yourself.** All entries of $z$ and all entries of $r$ are 0. What does the new state know of the words
# before?
#
# <details><summary>Answer</summary>
#
# It knows nothing, because $h_\text{new} = n = \tanh(W_{xn} x + b_{xn} + 0)$. The cell has forgotten everything
# and begins again with this word.
#
# </details>

# %% [markdown]
# ## 12. Going deeper: does the wall stay?
#
# Section 7 trained each model once. Do other seeds say the same? Does the wall go away with wider states of 128
# units per direction, so that the summary has 256 entries? These trainings take about 8 minutes, so they are
# **recorded**, and `sources/recorded/bottleneck.py` prints the table. Its seed 0 with 28 units is the training of
# section 7. All models are tested on the same 2000 sentences. The seconds are those of one processor core, and
# the two models of a comparison cost about the same.

# %% tags=["hide-input"]
RECORDED = """\
model                  seed  steps  seconds     all     3–7    8–11   12–15   16–19   20–28
attention                 0   1200       53   0.946   0.979   0.970   0.941   0.882   0.892
attention                 1   1200       45   0.953   0.974   0.970   0.961   0.900   0.899
attention                 2   1200       46   0.958   0.979   0.965   0.959   0.918   0.946
one vector                0   2000       54   0.531   0.897   0.723   0.425   0.097   0.000
one vector                1   2000       46   0.575   0.923   0.797   0.473   0.104   0.000
one vector                2   2000       46   0.542   0.918   0.759   0.413   0.086   0.000
attention, 128 units      0    600       58   0.991   1.000   0.994   0.991   0.978   0.973
one vector, 128 units     0    900       61   0.736   0.987   0.953   0.735   0.283   0.020
"""
print(RECORDED)

# %% tags=["hide-input"]
runs = defaultdict(list)  # name -> one row of five shares for each seed
step_seconds = defaultdict(list)
for line in RECORDED.splitlines()[1:]:
    name, _, steps, seconds, _, *row = line.rsplit(maxsplit=9)
    runs[name.strip()].append([float(share) for share in row])
    step_seconds[name.strip()].append(float(seconds) / int(steps))
runs = {name: torch.tensor(rows) for name, rows in runs.items()}  # (seeds, 5) each
attending, one_vector = runs["attention"], runs["one vector"]

if SEED == 0:  # the recorded trainings with this seed are those of section 7
    here = torch.tensor([accuracy["with attention"], accuracy["one vector"]])
    assert (here - torch.stack([attending[0], one_vector[0]])).abs().max() < 0.12
assert (attending[:, 2:4] - one_vector[:, 2:4]).min() >= 0.4  # 12 to 19 tokens, every seed
assert attending[:, 4].min() > 0.8 and one_vector[:, 4].max() < 0.02
slower = sum(step_seconds["attention"]) / sum(step_seconds["one vector"])
assert 1.4 < slower < 2.1
wide = runs["attention, 128 units"][0], runs["one vector, 128 units"][0]
assert wide[0].min() > 0.95 and wide[1][0] > 0.95 and wide[1][4] < 0.15

figure, (left, right) = plotting.panels(2, height=4.8, sharey=True)
look = {"xlabel": "German tokens", "xlim": (-0.2, 4.2), "ylim": (-0.05, 1.05)}
narrow = {"attention": attending, "one vector": one_vector}
plotting.curves(left, range(5), narrow, plotting.MODELS, ylabel="right in every word", **look)
plotting.curves(right, range(5), dict(zip(narrow, wide, strict=True)), plotting.MODELS, **look)
left.set_title("28 units, three seeds")
right.set_title("128 units, one seed")
for ax in (left, right):
    ax.set_xticks(range(5), names)
plotting.picture(
    figure,
    caption="Seeds agree. Wider states move the wall to longer sentences, and do not take it away.",
    alt="Two panels with the share of translations right in every word, for five groups of source "
    "lengths. Left, 28 units, three seeds: attention falls from 0.98 to 0.9, one vector from 0.9 "
    "to 0.4 at 12–15 tokens and to 0 from 20 tokens on. Right, 128 units, one seed: attention "
    "stays above 0.97 everywhere; one vector begins at 0.99, is at 0.74 at 12–15 tokens, 0.28 at "
    "16–19 and 0.02 beyond.",
)

# %% [markdown]
# The three seeds agree. Between 12 and 19 tokens, the model with attention is right in at least 40 more of 100
# sentences, and beyond 20 tokens the one with one vector is right in none.
#
# With 128 units the model with one vector gets 74 of 100 right at 12 to 15 tokens, where 28 units got 41 to 47.
# The wall has moved to longer sentences, but it is still there, because of 100 sentences beyond 20 tokens only 2
# come out right. (The widths differ in more than the wall, since the wide models took at most half as many steps,
# at half the learning rate, and there is one seed of each. The table says what these models did, and not what the
# best ones would do.)
#
# **Check yourself.** Why does a wider summary not solve the problem once and for all?
#
# <details><summary>Answer</summary>
#
# Its size is fixed before the sentence is read. Whatever that size is, some sentences say more than fits in.
# Annotations grow with the sentence, because there is one for each word.
#
# </details>

# %% [markdown]
# ## 13. Going deeper: which words need to look?
#
# In section 8, about three quarters of the words look where the grammar says. Are the others mistakes, or did
# those words not need to look?
#
# We can ask the network. We **blind it for one step** by giving it the plain mean of all annotations as its
# context, which says something about the sentence but picks out no word. Then we see whether it still finds the
# true word, and let it go on with its sight restored.


# %%
@torch.no_grad()
def found_blind(pairs):
    """Is the true word found when all German words count the same at its step? (B, T) bool."""
    model = with_attention
    source_ids, target = data.collate(pairs, german, english)
    source = model.encode(source_ids)
    state = model.start(source)  # (B, d_h)
    shares = source.mask / source.mask.sum(dim=1, keepdim=True)  # (B, S)
    mean = (shares.unsqueeze(1) @ source.annotations).squeeze(1)  # (B, 2d_h)
    found = []
    for read, said in zip(target[:, :-1].unbind(1), target[:, 1:].unbind(1), strict=True):
        # One blind step, asked for its word and then forgotten.
        blind = model.decoder(torch.cat([model.tgt_embedding(read), mean], dim=-1), state)
        logits = model.generator(torch.cat([blind, mean], dim=-1))  # (B, V)
        found.append(logits.argmax(dim=-1) == said)
        _, state, _ = model.step(read, state, source)  # on, with sight
    return torch.stack(found, dim=1)


# %%
by_look, by_word = defaultdict(list), defaultdict(list)
blind_rows = [row.tolist() for chunk in chunks for row in found_blind(chunk)]
for pair, looked, found in zip(test[:1000], looks, blind_rows, strict=True):
    # `found` is longer than the sentence: it goes on with <eos> and padding.
    for word, at_origin, right in zip(pair.target.split(), looked, found, strict=False):
        by_look[at_origin].append(right)
        by_word[word].append((at_origin, right))

blind_right = {at_origin: sum(rights) / len(rights) for at_origin, rights in by_look.items()}

# %% tags=["nbval-ignore-output"]
print(f"blind, still right where it had looked at the origin: {blind_right[True]:.0%}")
print(f"blind, still right where it had looked elsewhere:     {blind_right[False]:.0%}\n")
print("     word   looks at the origin   right when blind")
for word in ["to", ",", "for", "day", "his", "buy", "translate"]:
    looked, right = (sum(column) / len(column) for column in zip(*by_word[word], strict=True))
    print(f"{word:>9}   {looked:19.0%}   {right:16.0%}")

# %% tags=["hide-input"]
right_blind = {
    word: sum(right for _, right in by_word[word]) / len(by_word[word]) for word in by_word
}
assert blind_right[False] > blind_right[True] + 0.15
assert min(right_blind[word] for word in ["to", ",", "for", "day"]) > 0.9
assert right_blind["translate"] < 0.5
print("words that had looked elsewhere need their look less")

# %% [markdown]
# So apart from plain mistakes there are at least two reasons for looking elsewhere. The blinding shows the first,
# while the second is likely but not shown.
#
# - **Some words need no look.** For "to", the comma and the second word of "look for" or "every day", the state
#   of the decoder knows from the words before what comes next, and finds the word blind. The weights have to go
#   somewhere because they sum to one, but it hardly matters where. "translate" is different, because without its
#   look it is mostly lost.
# - **Neighbours know.** An annotation has read the whole sentence, so the one next to the right word can contain
#   that word too. Then the loss does not mind a look that is one place off. Koehn and Knowles (2017, section 3.5)
#   show a large system whose attention is shifted by one place, though it translates well.
#
# **Check yourself.** Why does the blinded step get the *mean* of the annotations, and not a vector of zeros?
#
# <details><summary>Answer</summary>
#
# The decoder has never met a context of zeros, so a mistake could come from the odd input alone. The mean is an
# average of annotations, like every context, and only the choice is missing.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Dzmitry Bahdanau, Kyunghyun Cho, Yoshua Bengio (2015). *[Neural Machine Translation by Jointly Learning
#   to Align and Translate.](https://arxiv.org/abs/1409.0473)* ICLR. Section 3 (eq. 4 to 6) and appendix
#   A.1.2: this lecture.
# - Ilya Sutskever, Oriol Vinyals, Quoc V. Le (2014). *[Sequence to Sequence Learning with Neural
#   Networks.](https://arxiv.org/abs/1409.3215)* NeurIPS. One vector between two deep LSTMs.
# - Kyunghyun Cho, Bart van Merriënboer, Caglar Gulcehre, Dzmitry Bahdanau, Fethi Bougares, Holger Schwenk,
#   Yoshua Bengio (2014). *[Learning Phrase Representations using RNN Encoder–Decoder for Statistical
#   Machine Translation.](https://arxiv.org/abs/1406.1078)* EMNLP. Section 2.2, and section 2.3 for the GRU.
# - Sepp Hochreiter, Jürgen Schmidhuber (1997). *[Long Short-Term
#   Memory.](https://doi.org/10.1162/neco.1997.9.8.1735)* Neural Computation 9(8).
# - Kyunghyun Cho, Bart van Merriënboer, Dzmitry Bahdanau, Yoshua Bengio (2014). *[On the Properties of
#   Neural Machine Translation: Encoder–Decoder Approaches.](https://arxiv.org/abs/1409.1259)* SSST-8.
#   Quality against sentence length.
# - Mike Schuster, Kuldip K. Paliwal (1997). *[Bidirectional Recurrent Neural
#   Networks.](https://doi.org/10.1109/78.650093)* IEEE Transactions on Signal Processing 45(11).
# - Ronald J. Williams, David Zipser (1989). *[A Learning Algorithm for Continually Running Fully Recurrent
#   Neural Networks.](https://doi.org/10.1162/neco.1989.1.2.270)* Neural Computation 1(2). Teacher forcing.
# - Marc'Aurelio Ranzato, Sumit Chopra, Michael Auli, Wojciech Zaremba (2016). *[Sequence Level Training
#   with Recurrent Neural Networks.](https://arxiv.org/abs/1511.06732)* ICLR. What teacher forcing does not
#   teach: exposure bias.
# - Philipp Koehn, Rebecca Knowles (2017). *[Six Challenges for Neural Machine
#   Translation.](https://arxiv.org/abs/1706.03872)* First Workshop on Neural Machine Translation. Section
#   3.5: attention against word alignment.
# - Sarthak Jain, Byron C. Wallace (2019). *[Attention is not
#   Explanation.](https://arxiv.org/abs/1902.10186)* NAACL. And the reply: Sarah Wiegreffe, Yuval Pinter
#   (2019). *[Attention is not not Explanation.](https://arxiv.org/abs/1908.04626)* EMNLP.
