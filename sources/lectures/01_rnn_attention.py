# ---
# jupyter:
#   course:
#     assignment: a1_rnn_attention
#     minutes: 75
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
# Welcome. At the end of this course you will have trained a translator: a transformer that turns
# German sentences into English ones. Every part of it you will also have written yourself, in the
# assignments, tested and understood.
#
# We start where attention started, in recurrent networks. In this lecture you train two
# translators. One has to keep the whole sentence in one vector. The other may look back at every
# word.
#
# **Afterwards you will be able to**
#
# - say why a translator reads the whole sentence before it writes, and measure it;
# - explain the bottleneck of a sequence-to-sequence network;
# - build bidirectional annotations, alignment scores, weights and context vectors, by loop and by
#   matrix product;
# - tell teacher forcing from inference;
# - train both networks at equal cost, compare them by sentence length, and read an alignment with
#   care.
#
# **Time** about 75 minutes, of which the computer trains for about one. **Needs** recurrent
# networks (GRU), embeddings, softmax, a training loop in PyTorch; no German.

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
# The table is a map; the lectures explain its words.
#
# Every lecture runs from top to bottom, without a network connection and without a GPU. You will
# see many `assert` lines. Each is a claim of the text, checked on *your* computer: if the cell
# runs, the claim holds there.

# %%
import math
import textwrap
from collections import Counter, defaultdict

import ipywidgets as widgets
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from course_utils import data, plotting
from course_utils.attention import BahdanauAttention, annotations
from course_utils.rnn import Seq2Seq, translate

plotting.use_course_style()
# The tensors here are small: sharing them out among threads gains little, and costs much where
# other programs keep the processor busy.
torch.set_num_threads(1)

# %% [markdown]
# ## 2. Why not translate word by word?
#
# Our sentences come from a small grammar in `course_utils.data`. It writes German–English pairs of
# 3 to 28 tokens: words and punctuation marks. No German sentence of the test part occurs in the
# training part.

# %%
train, _, test = data.splits(train=50_000, validation=0, test=2_000)
german, english = data.vocabularies(train)

for pair in [data.EXAMPLE, *test[:3]]:
    print(pair.source)
    print(f"    {pair.target}")
print(f"{len(german)} German and {len(english)} English entries in the vocabularies")
assert not {pair.source for pair in train} & {pair.source for pair in test}

# %% [markdown]
# The simplest translator is a dictionary: for each German word, the English word that most often
# translates it. Our grammar knows which word comes from which, the **alignment**: for each English
# word, `pair.alignment` holds the places of its German origins. We count the words with one origin.

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
# The words are fine and the sentence is not. "helfen" and "übersetzen" are the last words of their
# clauses in German, and come early in English. Join each English word to its German origin, as the
# grammar knows it, and the lines cross.


# %%
def write_rows(ax, upper, lower):
    """Write one sentence above another. Returns where each word of the lower one stands."""
    places = torch.linspace(0.5, len(upper) - 1.5, len(lower)).tolist()
    for j, word in enumerate(upper):
        ax.text(j, 1.05, word, ha="center", va="bottom", fontsize=16)
    for place, word in zip(places, lower, strict=True):
        ax.text(place, -0.05, word, ha="center", va="top", fontsize=16, fontweight="bold")
    ax.set(xlim=(-0.6, len(upper) - 0.4), ylim=(-0.25, 1.25))
    ax.axis("off")
    return places


# %%
figure, ax = plt.subplots(figsize=(12.5, 3.4))
places = write_rows(ax, data.EXAMPLE.source.split(), data.EXAMPLE.target.split())
for place, origins in zip(places, data.EXAMPLE.alignment, strict=True):
    for j in origins:
        ax.plot([j, place], [1, 0], marker="", ls="-", color="#0072B2")
plotting.show(
    figure,
    alt="The German sentence above, the English one below, a line from each English word to its "
    "German origin. The lines from help to helfen and from me to mir cross. The lines from to and "
    "translate lead right, to zu and übersetzen near the end of the German sentence, and cross "
    "those from this and sentence, which lead to diesen and satz. The lines of can, you and the "
    "question mark cross no other. No line leads to the comma.",
)

# %% [markdown]
# Is that a rare accident? We look at all test sentences. How many of the true words does the
# dictionary find, how many sentences does it get right, and in how many do the lines cross?


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
# Most of the right words, hardly any right sentence. Word order is one reason, and words that
# depend on others are the second: "does" has no German word of its own, "to" often has none, and
# "sie" is *she*, *they*, *it* or *them*.
#
# How far ahead must a translator read? If English word $i$ comes from German word $j > i$, then the
# reading has to be $j - i$ words ahead of the writing. We take the largest such lead in each
# sentence.

# %%
ahead = [max(max(o) - i for i, o in enumerate(pair.alignment)) for pair in test]
print(f"words to read ahead: {sum(ahead) / len(ahead):.1f} on average, {max(ahead)} at most")
assert 2 < sum(ahead) / len(ahead) < 4 and max(ahead) >= 7

# %% [markdown]
# Nobody knows before the end of the sentence how far that will be. So our translators first **read
# everything**, and then write. A model that turns one sequence into another in this way is called
# *sequence-to-sequence*, or seq2seq.

# %% [markdown]
# ## 3. The bottleneck
#
# A seq2seq model has two recurrent networks. RNN #1, the **encoder**, reads. RNN #2, the
# **decoder**, writes one word per step. What passes between them?
#
# In early models, one vector: the encoder's state when it had read everything (Sutskever et
# al., 2014; Cho et al., 2014). Ours reads in both directions: forward it ends at the last word,
# backward at the first. These two end states, side by side, are the **summary**. In the picture,
# $h^{(j)}$ are the states of the encoder and $s^{(i)}$ those of the decoder.
#
# ![Two panels for the question kannst du mir helfen ?, in English can you help me ?. Upper panel,
# one vector for the whole sentence: the encoder states h1 to h5 are chained in both directions; the
# first and the last of them lead into one box called summary, and from there the same vector goes
# to every decoder state s1 to s5. Lower panel, attention: every encoder state h1 to h5 has a line
# to one box called context, with the weights 0.06, 0.03, 0.22, 0.66, 0.03 and lines as thick as the
# weights, thickest for helfen; the context goes to the third decoder state alone, which writes
# help. Every step gets a new mixture.](../figures/bottleneck.svg)
#
# Three words or 28: the summary has the same number of entries. Whatever does not fit in is gone
# before the first word is written. That is the **bottleneck**.
#
# Do gates help? Gates, as in LSTM (Hochreiter and Schmidhuber, 1997) and GRU (Cho et al., 2014), slow
# the forgetting: an entry can pass many words nearly unchanged. They do not make the vector larger.
# Our networks are GRUs, so they have gates, and in section 7 the one without attention fails on long
# sentences all the same.
#
# The lower panel is the way out, due to Bahdanau, Cho and Bengio (2015). Keep *all* states of the
# encoder. Before each word, give every state a weight, and hand the weighted average to the
# decoder. This average is the **context**.
#
# Why weights? Because not every word matters at every step. Take "help" in the long question of
# section 2: "mir", "helfen" and "zu" may matter more than "kannst", "du" and "satz". (That is a
# guess, and the numbers in the picture are an illustration; section 8 measures.)
#
# > **You may have read** that the network must remember the sentence in "one single hidden unit".
# > A unit is one number. The bottleneck is one hidden *state*: a vector of many units, and always
# > of equally many, however long the sentence is.

# %% [markdown]
# ## 4. RNN #1: annotations
#
# Here is the whole mechanism at the moment when the decoder writes its second word. We build it
# from the bottom to the top: RNN #1 in this section, attention and RNN #2 in the next.
#
# ![Diagram of one decoder step with the German words kannst, du, mir, helfen. At the bottom RNN #1:
# a chain of forward states h_F from left to right, a chain of backward states h_B from right to
# left; above each word its two states are joined to the annotation h1 to h4. Above, the attention
# for step 2 in three stages. One: scores e21 to e24, each made from an annotation and from the old
# decoder state s1. Two: one softmax over the source words gives the weights alpha21 to alpha24.
# Three: each weight times its annotation, added up, is the context c2. On the right RNN #2: the new
# state s2 is made from the old state s1, the word before, y1, which is can, and the context c2. It
# gives o2, a score for every word, and the word written is
# you.](../figures/attention_rnn.svg)
#
# | symbol | meaning | in this section |
# |---|---|---|
# | $S$ | number of source words | 5, with "?" |
# | $x^{(j)}$ | embedding of source word $j$ | width 4 |
# | $h_F^{(j)}$, $h_B^{(j)}$ | states at word $j$ of the forward and the backward direction | width 3 each |
# | $h^{(j)} = [h_F^{(j)}; h_B^{(j)}]$ | annotation of word $j$: the two states, concatenated | width 6 |
#
# Why two directions? A forward state at word $j$ has read words 1 to $j$ and knows nothing of what
# follows. "sie ist" is *she is*, "sie sind" is *they are*: what comes later can decide what a word
# means. The backward state has read words $S$ down to $j$. Together they have read everything, with
# word $j$ most recently.
#
# Formulas count from 1, Python from 0: $h^{(1)}$ is `h[0]`. Comments in the code give shapes. There
# `S` stands for the German words, `E` for the width of an embedding, and `h` for the width of one
# direction's state, so an annotation has the shape `(2h,)`. Later come `B` sentences in a batch,
# `T` English words and `V` entries in the English vocabulary.
#
# We read the words one by one, once from the left and once from the right. The weights are those of
# an `nn.GRU`, so that we can compare our loops with it.

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
    return torch.stack(states)  # (S, h)


forward_states = read(cell(""), x)  # words 1, 2, ..., S
backward_states = read(cell("_reverse"), x.flip(0))  # words S, ..., 2, 1
print(forward_states.shape, backward_states.shape)

# %% [markdown]
# Now comes the step that is easily forgotten. The backward direction produces its states with the
# **last word first**. Before the two are joined, its list has to be turned around. `nn.GRU` does so
# itself, and `annotations` from `course_utils` does it for two given lists of states.

# %%
h = torch.stack(
    [torch.cat([forward_states[j], backward_states[len(x) - 1 - j]]) for j in range(len(x))]
)  # (S, 2h)

reference, _ = rnn(x.unsqueeze(0))  # (1, S, 2h)
joined = annotations(forward_states.unsqueeze(0), backward_states.unsqueeze(0))  # (1, S, 2h)
assert torch.allclose(h, reference[0], atol=1e-6)
assert torch.allclose(h, joined[0], atol=1e-6)
print("loops equal nn.GRU and course_utils:", torch.allclose(h, reference[0], atol=1e-6))

# %% [markdown]
# Which words does a state know? Replace a word and see which states change. We replace "?", the
# last one.

# %%
changed = x.clone()
changed[-1] = torch.randn(4)
difference = (rnn(changed.unsqueeze(0))[0] - reference)[0].abs()  # (S, 2h)

print("changed by another last word?  forward   backward")
for word, row in zip(words, difference, strict=True):
    forward_changed, backward_changed = bool(row[:3].any()), bool(row[3:].any())
    print(f"{word:>29}  {forward_changed!s:7}   {backward_changed}")
assert (difference[:-1, :3] == 0).all() and (difference[:, 3:].max(dim=1).values > 0).all()

# %% [markdown]
# The forward states of the first four words cannot know the last one; all backward states do. Had
# we not turned the list around, the annotation of "kannst" would hold a backward state that has
# read nothing but "?".
#
# The widths add up. Two directions of 128 give annotations of 256:

# %%
wide = nn.GRU(4, 128, bidirectional=True, batch_first=True)
print(wide(x.unsqueeze(0))[0].shape)
assert wide(x.unsqueeze(0))[0].shape == (1, 5, 128 + 128)

# %% [markdown]
# > **You may have read** that RNN #1 "generates context vectors", in which every word has been
# > mixed with the others "via an attention mechanism". RNN #1 makes **annotations**. There is one
# > per *source* word, made before anything is written, and the words in it meet by recurrence.
# > A context vector belongs to a *target* word, and attention makes it, in the next section.

# %% [markdown]
# ## 5. Attention: scores, weights, context
#
# The decoder is about to write word $i$. What it knows so far is in its state $s^{(i-1)}$. (Only
# the word just written is not in there: it was chosen from this state, and goes into the next one.)
# The state asks each annotation: how well do you match what I need now?
#
# | symbol | meaning | shape here |
# |---|---|---|
# | $s^{(i-1)}$ | state of the decoder before step $i$ | (7,) |
# | $W$, $U$, $v$ | learned: two matrices and a vector | (8, 7), (8, 6), (8,) |
# | $e_{ij}$ | alignment score: how well source word $j$ fits target word $i$ | one number |
# | $\alpha_{ij}$ | weight of source word $j$ at step $i$ | one number |
# | $c^{(i)}$ | context vector of step $i$ | (6,) |
#
# An annotation has width 6. The widths 7 and 8 are free to choose.
#
# **1. Score.** A small network with one hidden layer compares the state with one annotation:
#
# $$e_{ij} = v^\top \tanh\!\left(W s^{(i-1)} + U h^{(j)}\right)$$
#
# $W$ and $U$ bring the two to one width, so that they can be added; $v$ makes one number of the
# result. Why the tanh? Without it, the state would add the same number $v^\top W s^{(i-1)}$ to
# every score, and a softmax does not notice that: the state could ask nothing.
#
# **2. Weights.** A softmax over the source words turns scores into positive numbers with sum one:
#
# $$\alpha_{ij} = \frac{\exp(e_{ij})}{\sum_{k=1}^{S} \exp(e_{ik})}$$
#
# **3. Context.** The annotations are averaged with these weights:
#
# $$c^{(i)} = \sum_{j=1}^{S} \alpha_{ij}\, h^{(j)}$$
#
# First just as the formulas say, for one step of the decoder, with loops over the source words.

# %%
s = torch.randn(7)  # (decoder_dim,)
# Divided by the root of the width, the random matrices keep the sums moderate.
W = torch.randn(8, 7) / math.sqrt(7)
U = torch.randn(8, 6) / math.sqrt(6)
v = torch.randn(8)
S = len(h)

e = torch.empty(S)
for j in range(S):
    e[j] = torch.dot(v, torch.tanh(W @ s + U @ h[j]))

total = sum(torch.exp(e[k]) for k in range(S))
alpha = torch.stack([torch.exp(e[j]) / total for j in range(S)])  # (S,)

context = torch.zeros(6)
for j in range(S):
    context += alpha[j] * h[j]

for word, score, weight in zip(words, e.tolist(), alpha.tolist(), strict=True):
    print(f"{word:>7}   score {score:6.3f}   weight {weight:.3f}")
assert torch.allclose(alpha.sum(), torch.tensor(1.0))

# %% [markdown]
# Nothing is trained, so these weights mean nothing yet. But the arithmetic is complete. In
# matrices, all annotations are scored at once: the rows of $H$ (in the code `h`) are the $h^{(j)}$,
# and $W s$ is added to every row of $H U^\top$.

# %%
scores = torch.tanh(W @ s + h @ U.T) @ v  # (8,) + (S, 8) -> (S, 8) -> (S,)
weights = scores.softmax(dim=0)  # (S,)
matrix_context = weights @ h  # (S,) @ (S, 2h) -> (2h,)

assert torch.allclose(scores, e, atol=1e-6)
assert torch.allclose(weights, alpha, atol=1e-6)
assert torch.allclose(matrix_context, context, atol=1e-6)
print("matrix form equals loops:", torch.allclose(matrix_context, context, atol=1e-6))

# %% [markdown]
# `course_utils.attention.BahdanauAttention` does this for a batch of sentences. $W$, $U$ and $v$
# are linear layers without bias, and a mask says which words may be attended to. Sentences of
# different lengths need it: the short ones are filled up with padding, and padding deserves no
# weight. So its scores become $-\infty$ *before* the softmax, and $\exp(-\infty) = 0$. `True` means
# *may attend*; lecture 4 is all about masks.

# %%
attend = BahdanauAttention(decoder_dim=7, encoder_dim=6, attention_dim=8)
attend.load_state_dict({"W.weight": W, "U.weight": U, "v.weight": v.unsqueeze(0)})

states = torch.stack([s, s])  # (B, decoder_dim)
batch = torch.stack([h, h])  # (B, S, 2h): the same sentence twice
mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])  # (B, S): row 2 ends in padding

with torch.no_grad():
    contexts, batch_weights = attend(states, batch, mask)  # (B, 2h), (B, S)
    assert torch.allclose(contexts[0], context, atol=1e-6)
    assert torch.allclose(batch_weights[1, :3], e[:3].softmax(dim=0), atol=1e-6)
    assert (batch_weights[1, 3:] == 0).all()
print("hidden words get the weights", batch_weights[1, 3:].tolist())

# %% [markdown]
# > **You may have read** these formulas in a form that goes wrong.
# >
# > - "$c_i = \sum_{i} \alpha_{ij} h^{(j)}$." The sum runs over the **source** words $j$. The index
# >   $i$ names the step of the decoder, an *output*, and stays the same in the whole sum.
# > - "The normalisation is similar to the softmax." It **is** the softmax. Its denominator has an
# >   index of its own, $k$, because $j$ is already taken.
# > - Some texts never say what $e_{ij}$ is. Without the score there is nothing to normalise, and
# >   nothing that could learn: $W$, $U$ and $v$ are all the parameters that attention has here.
#
# $U h^{(j)}$ does not depend on $i$, so a program computes it once per sentence. $W s^{(i-1)}$
# changes with every step. And the steps cannot be computed all at once: step $i$ needs the state
# that step $i-1$ produced. Lecture 2 removes this chain.
#
# ### RNN #2: one step
#
# The new state is made from three things: the state before, the word before, and the context.
#
# $$s^{(i)} = f\!\left(s^{(i-1)},\, y^{(i-1)},\, c^{(i)}\right)$$
#
# In our model $f$ is a GRU cell. The word's embedding and the context, side by side, are its input.
# A last linear map turns $s^{(i)}$ and $c^{(i)}$ into $o^{(i)}$, one score for every English word.
# (The picture of section 4 leaves out the line from $c^{(2)}$ to $o^{(2)}$. Bahdanau et al. also
# use $y^{(i-1)}$ here, and one more layer.)
#
# Where does the chain begin? $s^{(0)}$ is a learned linear map of the summary, followed by tanh. So
# the model with attention gets the summary too, but only there.

# %%
decoder_cell = nn.GRUCell(3 + 6, 7)  # embedding of a word, and context -> decoder_dim
to_words = nn.Linear(7 + 6, 11)  # eleven English words

y_before = torch.randn(3)  # embedding of the word before
s_new = decoder_cell(torch.cat([y_before, context]), s)  # (decoder_dim,)
o = to_words(torch.cat([s_new, context]))  # (11,)

print(s_new.shape, o.shape)
assert s_new.shape == s.shape and o.shape == (11,)

# %% [markdown]
# ## 6. Teacher forcing and inference
#
# Which word is "the word before", $y^{(i-1)}$? There are two answers, and they make two programs.
# Two special tokens help: `<bos>` marks the beginning of a sentence, `<eos>` its end.
#
# | | training: **teacher forcing** | use: **inference** |
# |---|---|---|
# | word before | from the *true* translation, whatever the model would have written | the word that the model wrote itself |
# | true translation | known | unknown |
# | ends | with the true translation | when the model writes `<eos>`, or at a limit |
# | a wrong word | costs loss once | is read at the next step; one mistake may lead to the next |
#
# Why the true word in training? At first the model writes nonsense, and there is no right next word
# after nonsense.
#
# `<bos>` stands before the first word, so the decoder reads the translation shifted by one place.
# What it reads is always a *word*: $o^{(i)}$ is a list of scores, and inference feeds back the word
# chosen from it.
#
# The class `Seq2Seq` holds everything from sections 4 and 5: `encode` makes the annotations,
# `start` the state $s^{(0)}$, `step` the scores $o^{(i)}$ and the new state. Its `forward` takes
# all steps with teacher forcing; the cell checks that against a loop. With `attention_dim=None` the
# context is the summary at every step: that is the model with the bottleneck. Otherwise the two are
# the same.

# %%
torch.manual_seed(0)
tiny = Seq2Seq(len(german), len(english), embedding_dim=5, hidden_dim=3, attention_dim=7)
pairs = data.collate(test[:3], german, english)  # ids of three sentences, padded
reads, says = pairs.target[:, :-1], pairs.target[:, 1:]  # (B, T): shifted by one

print("decoder reads:", [english.words[k] for k in reads[0, :5]])
print("decoder says: ", [english.words[k] for k in says[0, :5]])

with torch.no_grad():
    source = tiny.encode(pairs.source)
    state = tiny.start(source)  # (B, h)
    by_step = []
    for true_word in reads.unbind(dim=1):  # (B,)
        logits, state, _ = tiny.step(true_word, state, source)  # (B, V)
        by_step.append(logits)
    all_logits, all_weights = tiny(pairs.source, reads)  # (B, T, V), (B, T, S)

assert torch.allclose(torch.stack(by_step, dim=1), all_logits, atol=1e-5)
print(all_logits.shape, all_weights.shape)

# %% [markdown]
# The loss is the cross-entropy between $o^{(i)}$ and the true word $y^{(i)}$, averaged over all
# words but the padding.
#
# Inference is a loop that feeds the most probable word back in. (That is *greedy* decoding; lecture
# 8 adds beam search.) `write` does it for one sentence, `translate` for a batch.


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

# %% [markdown]
# ## 7. The experiment: accuracy by length
#
# Prediction: with one vector, long sentences suffer; with attention, they suffer far less. We train
# both models on the same sentences and count translations that are right **in every word**.
#
# A comparison should be fair, so:
#
# - same widths: embeddings 128, hidden states 28 per direction. The summary then has 56 entries.
#   Attention adds 5440 parameters to about 117 000;
# - same optimiser and learning rate, chosen as the best of 0.005, 0.01 and 0.02 for the model
#   *without* attention;
# - **equal cost**: a step with attention took about 1.7 times as long where we measured. So the
#   model without it gets 2000 steps of 64 sentences and the model with it only 1200.
#
# The hidden states are small on purpose. A wider summary moves the wall, the length at which
# translations fail, to longer sentences, as we will see.


# %%
def train_model(attention_dim, steps, seed):
    """Train a translator with teacher forcing, for a fixed number of steps."""
    torch.manual_seed(seed)
    model = Seq2Seq(len(german), len(english), 128, 28, attention_dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.9, 0.98))
    # The learning rate rises during the first tenth of the steps, then falls towards zero.
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, steps, pct_start=0.1)
    stream = data.batches(train, german, english, batch_size=64, seed=seed)
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
    return model.eval()


# %% [markdown]
# One constant decides where both trainings start and in which order they see the sentences.

# %%
SEED = 0  # try another one

# %% [markdown]
# Each of the next two cells takes about half a minute. The loss printed is that of one batch. A
# batch holds sentences of similar length, short ones or long ones, so expect the loss to jump.

# %% tags=["nbval-ignore-output"]
without = train_model(attention_dim=None, steps=2000, seed=SEED)

# %% tags=["nbval-ignore-output"]
with_attention = train_model(attention_dim=64, steps=1200, seed=SEED)

# %% [markdown]
# Now both translate the test sentences, by inference. We count exact matches in five groups of
# sentence length, and let the dictionary of section 2 take part.


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

# %%
gaps = [a - b for a, b in zip(accuracy["with attention"], accuracy["one vector"], strict=True)]
assert gaps[2] >= 0.40, "12 to 15 tokens: at least 40 percentage points"
assert gaps[3] >= 0.40
assert accuracy["one vector"][0] > 0.8 and accuracy["one vector"][4] < 0.1
assert accuracy["with attention"][2] > 0.8
print("at 12 to 15 tokens, attention is ahead by at least 40 points:", gaps[2] >= 0.40)

# %%
figure, ax = plt.subplots(figsize=(9, 5))
for name, row in accuracy.items():
    numbers = [counts[bucket] for bucket in data.LENGTH_BUCKETS]
    errors = [2 * math.sqrt(p * (1 - p) / n) for p, n in zip(row, numbers, strict=True)]
    ax.errorbar(range(5), row, errors, capsize=4, label=name)
ax.set_xticks(range(5), names)
ax.set(xlabel="length of the German sentence in tokens", ylabel="translations right in every word")
ax.set(ylim=(-0.03, 1.03))
ax.legend(loc="center left", bbox_to_anchor=(0.0, 0.33))
plotting.show(
    figure,
    alt="The share of translations that are right in every word, against the length of the German "
    "sentence, in five groups from 3–7 to 20–28 tokens. With attention the curve falls only a "
    "little, from nearly 1 to about 0.9. With one vector it begins at about 0.9 and falls steeply, "
    "to about 0.4 at 12–15 tokens, below 0.15 at 16–19 and to 0 beyond. Word by word is at "
    "0.09 for the shortest sentences and at 0 beyond. The bars show two standard errors.",
)

# %% [markdown]
# The prediction holds. (The bars reach two standard errors up and down.) On the shortest sentences
# the two are close. At 12 to 15 tokens the model with attention is right about twice as often, and
# from 20 tokens on it is the only one that works, although it was trained for fewer steps.
#
# One seed is no proof; you can change `SEED` above. These are three, measured on 3000 test
# sentences.
#
# | share right | | 3–7 | 8–11 | 12–15 | 16–19 | 20–28 |
# |---|---|---|---|---|---|---|
# | with attention | seed 0 | 0.98 | 0.97 | 0.95 | 0.89 | 0.90 |
# | | seed 1 | 0.98 | 0.97 | 0.96 | 0.91 | 0.91 |
# | | seed 2 | 0.98 | 0.97 | 0.97 | 0.92 | 0.94 |
# | one vector | seed 0 | 0.90 | 0.71 | 0.43 | 0.10 | 0.00 |
# | | seed 1 | 0.92 | 0.79 | 0.47 | 0.10 | 0.00 |
# | | seed 2 | 0.90 | 0.76 | 0.43 | 0.09 | 0.00 |
#
# And a wider summary? With 128 units per direction it has 256 entries. Again at equal cost (600
# steps with attention, 900 without, learning rate 0.005, seed 0, the same 3000 sentences):
#
# | share right, 128 units | 3–7 | 8–11 | 12–15 | 16–19 | 20–28 |
# |---|---|---|---|---|---|
# | with attention | 1.00 | 0.99 | 0.99 | 0.98 | 0.98 |
# | one vector | 0.99 | 0.95 | 0.74 | 0.29 | 0.04 |
#
# The wall moves, it does not go away. Or was the training too short to tell? Here are the models
# with one vector after more steps: six times as many with 28 units, five times with 128. We measure
# on the 3000 test sentences and on 3000 of the sentences that they were trained on:
#
# | share right, one vector | | 3–7 | 8–11 | 12–15 | 16–19 | 20–28 |
# |---|---|---|---|---|---|---|
# | 28 units, 12 000 steps | test | 0.98 | 0.93 | 0.66 | 0.23 | 0.02 |
# | | training | 0.99 | 0.94 | 0.71 | 0.28 | 0.02 |
# | 128 units, 4500 steps | test | 0.99 | 0.99 | 0.94 | 0.74 | 0.44 |
# | | training | 1.00 | 1.00 | 1.00 | 0.99 | 0.86 |
#
# Training moves the wall too. But look at the longest sentences. With 28 units they fail even when
# they have been seen in training. With 128 units most of them come out right if they were seen, and
# fewer than half if they are new. The model with attention got 98 of 100 new ones right after 600
# steps.
#
# What does a full vector forget? Here are three long sentences that only attention got right. (What
# is too long for one line is cut.)

# %% tags=["nbval-ignore-output"]
shown = 0
for pair, good, bad in zip(
    test, translated["with attention"], translated["one vector"], strict=True
):
    if shown < 3 and good == pair.target != bad and data.length_bucket(pair) == (16, 19):
        shown += 1
        start = textwrap.shorten(bad, 105, placeholder=" …")
        print(f"German      {pair.source}\none vector  {start}\nattention   {good}\n")

# %% [markdown]
# Phrase by phrase, the model with one vector still writes good English: grammar is the same in all
# sentences, and the decoder has learned it. What gets lost is what *this* sentence says. A clause
# is dropped, two clauses melt into one, or one is said again. About a third of the wrong
# translations of this length repeat themselves until the limit of 31 words.

# %% [markdown]
# ## 8. Reading the alignment
#
# Each row of weights says where the decoder looked before it wrote a word. Nobody told it: the loss
# knows English words only, no alignment. Let us draw the rows for our example, which belongs to the
# test part. Frames mark the true origin of each word, as the grammar knows it. The decoder is given
# the true words, so that row $i$ belongs to true word $i$.


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

# %% [markdown]
# For readers who cannot see the pictures, a function says in words where the decoder looked.


# %%
def in_words(weights, written, source_words):
    """For each written word, the source words with a weight of at least 0.2."""
    rows = []
    for word, row in zip(written, weights.tolist(), strict=True):
        pairs = zip(source_words, row, strict=True)
        looks = [f"{source_word} {weight:.1f}" for source_word, weight in pairs if weight >= 0.2]
        rows.append(f"{word}: {' and '.join(looks) or 'none'}")
    return "; ".join(rows)


# %% tags=["nbval-ignore-output"]
ax = plotting.attention_map(
    example_weights,
    english_words,
    german_words,
    limit=1.0,
    colour_label="weight α",
    query_label="English word to be written",
    key_label="German word",
)
for row, origins in enumerate(example.alignment):
    for column in origins:
        plotting.outline_cell(ax, row, column)
plotting.show(
    ax.figure,
    alt="Map of the weights for the example, one row for each English word, one column for each "
    "German word, dark where the weight is large. The frames of the true origins go down the "
    "diagonal, but for two places. At help and me they change places: helfen, then mir. At to and "
    "translate they jump right, to zu and übersetzen, near the end; at this and sentence they come "
    "back to the left, to diesen and satz; then follows the question mark. The comma is framed in no "
    "row. Weights of at least 0.2: " + in_words(example_weights, english_words, german_words),
)

# %% [markdown]
# The same weights as lines between the two sentences: the thicker a line, the larger the weight.
# Solid lines lead to the true origin, dashed ones to other words; weights below 0.05 are left out.
# Where solid lines cross, the two languages order their words differently.


# %%
def draw_lines(ax, weights, written, source_words, alignment):
    """Two rows of words, and a line for each weight of at least 0.05."""
    style = {
        True: {"color": "#0072B2", "ls": "-"},
        False: {"color": "#D55E00", "ls": (0, (1.2, 0.5))},
    }
    places = write_rows(ax, source_words, written)
    for place, row, origins in zip(places, weights.tolist(), alignment, strict=True):
        for j, weight in enumerate(row):
            if weight >= 0.05:
                looks = style[j in origins]
                ax.plot([j, place], [1, 0], marker="", alpha=0.75, lw=14 * weight, **looks)
    for true, label in ((True, "to the true origin"), (False, "to another word")):
        ax.plot([], [], marker="", lw=7, label=label, **style[true])
    ax.set_ylim(-0.38, 1.2)  # room for the legend below the words
    ax.legend(loc="lower center", ncols=2, fontsize=14)


# %% tags=["nbval-ignore-output"]
figure, ax = plt.subplots(figsize=(12.5, 5.2))
draw_lines(ax, example_weights, english_words, german_words, example.alignment)
plotting.show(
    figure,
    alt="The German sentence above, the English one below, joined by lines as thick as the weights, "
    "solid and blue to the true origin, dashed and orange to other words. "
    "The line of translate leads far to the right, up to übersetzen, and crosses those of this and "
    "sentence, which lead to diesen and satz in the middle. The line of me leads to mir, left of "
    "helfen, and crosses the one from help to helfen. Weights of at least 0.2: "
    + in_words(example_weights, english_words, german_words),
)

# %% [markdown]
# In both pictures the decoder was given the true words. What does it write by itself?

# %% tags=["nbval-ignore-output"]
print(" ".join(write(with_attention, example.source)[0]))

# %% [markdown]
# Before "translate" the decoder jumps nearly to the end of the German sentence, and for "this
# sentence" it comes back. At "help" and "me" it has to cross again, and it looks at "mir" and
# "helfen" both before it writes "help".

# %%
looked_at = example_weights.argmax(dim=1).tolist()  # (T,)
best = {word: german_words[j] for word, j in zip(english_words, looked_at, strict=True)}
assert (best["me"], best["translate"], best["sentence"]) == ("mir", "übersetzen", "satz")
print("me looks at mir, translate at übersetzen, sentence at satz")

# %% [markdown]
# Section 3 guessed that "mir", "helfen" and "zu" matter more for "help" than "kannst", "du" and
# "satz". Here are the weights of both groups.

# %% tags=["nbval-ignore-output"]
help_weights = example_weights[english_words.index("help")].tolist()
share = dict(zip(german_words, help_weights, strict=True))
first_group = share["mir"] + share["helfen"] + share["zu"]
second_group = share["kannst"] + share["du"] + share["satz"]
print(f"mir + helfen + zu:  {first_group:.2f}")
print(f"kannst + du + satz: {second_group:.2f}")
print(f"zu alone:           {share['zu']:.2f}")
assert first_group > second_group

# %% [markdown]
# The first group wins. So it did in each of ten networks of several seeds and widths that we trained,
# though once only just (0.46 to 0.44). The guess is right about the group, not about "zu", which
# has hardly any part in it.

# %% [markdown]
# How good is the alignment in general? For each English word of 1000 test sentences we ask whether
# its largest weight lies on a true German origin, and if not, how many places beside it. As a
# comparison: always guess the German word at the same position.

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
# About three quarters of the words look where the grammar says, far more than the same position
# would give. And the others? Are they mistakes, or did those words not need to look?
#
# We can ask the network. **Blind it for one step**: give it the plain mean of all annotations as
# context, which says something about the sentence but picks out no word. See whether it still finds
# the true word, and let it go on with its sight restored.


# %%
@torch.no_grad()
def found_blind(pairs):
    """Is the true word found when all German words count the same at its step? (B, T) bool."""
    model = with_attention
    source_ids, target = data.collate(pairs, german, english)
    source = model.encode(source_ids)
    state = model.start(source)  # (B, h)
    shares = source.mask / source.mask.sum(dim=1, keepdim=True)  # (B, S)
    mean = (shares.unsqueeze(1) @ source.annotations).squeeze(1)  # (B, 2h)
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
assert blind_right[False] > blind_right[True] + 0.15

# %% tags=["nbval-ignore-output"]
print(f"blind, still right where it had looked at the origin: {blind_right[True]:.0%}")
print(f"blind, still right where it had looked elsewhere:     {blind_right[False]:.0%}\n")
print("     word   looks at the origin   right when blind")
for word in ["to", ",", "for", "day", "his", "buy", "translate"]:
    looked, right = (sum(column) / len(column) for column in zip(*by_word[word], strict=True))
    print(f"{word:>9}   {looked:19.0%}   {right:16.0%}")

# %% [markdown]
# So there are at least two reasons for looking elsewhere, beside plain mistakes. The blinding shows
# the first; the second is likely, not shown.
#
# - **Words that need no look.** "to", the comma, the second word of "look for" or "every day": after
#   the words before, the decoder's state knows what comes, and finds the word blind. The weights
#   sum to one, so they have to lie somewhere, but where hardly matters. "translate" is different:
#   without its look it is mostly lost.
# - **Neighbours know.** An annotation has read the whole sentence, and the one beside the right word
#   can hold that word too. Then the loss does not mind a look that is one place off. Koehn and
#   Knowles (2017, section 3.5) show a large system whose attention is shifted by one place, though
#   it translates well.
#
# So read such maps with care. They show where the decoder looked, not what it took from there, and
# not why it wrote a word. How much they explain is a debate of its own (see *Further reading*).

# %% [markdown]
# ## 9. Step through the decoder
#
# Choose a sentence and move the slider, and watch the weights move from word to word. The line
# above the bars shows what has been written so far. This time the decoder reads its own words.

# %%
sentences = [example.source, *[pair.source for pair in test if len(pair.source.split()) == 9][:3]]


def draw_step(ax, weights, labels, word):
    """The weights of one step as bars, one for each German word."""
    ax.barh(range(len(labels)), weights, color="#0072B2")
    ax.set_yticks(range(len(labels)), labels)
    ax.set(xlim=(0, 1), ylim=(len(labels) - 0.5, -0.5))
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.set_title(word, fontweight="bold")


# %% tags=["interactive"]
def explore(sentence, step):
    written, weights = write(with_attention, sentence)
    step = min(step, len(written))
    figure, ax = plt.subplots(figsize=(7.5, 4.8))
    draw_step(ax, weights[step - 1], [*sentence.split(), "<eos>"], f"writes: {written[step - 1]}")
    ax.set_xlabel("weight α")
    print(f"step {step}, written so far:", " ".join(["<bos>", *written[: step - 1]]))
    looks = in_words(
        weights[step - 1 : step], written[step - 1 : step], [*sentence.split(), "<eos>"]
    )
    plotting.show(figure, alt=f"Weights of at least 0.2 at step {step} of the decoder, {looks}.")


_ = widgets.interact(
    explore,
    sentence=widgets.Dropdown(options=sentences, layout={"width": "36em"}),
    step=widgets.IntSlider(min=1, max=14, value=1, continuous_update=False),
)

# %% [markdown]
# The same for all steps of the example at once, for readers without widgets. Read it row by row:
# each panel is one step, its title the word that the decoder then writes.

# %% tags=["nbval-ignore-output"]
written, steps = write(with_attention, example.source)
figure, axes = plt.subplots(2, 5, figsize=(13, 8.4), sharex=True, sharey=True)
for k, ax in enumerate(axes.flat):
    ax.set_visible(k < len(written))
    if k < len(written):
        draw_step(ax, steps[k], german_words, written[k])
for ax in axes[1]:
    ax.set_xlabel("weight α")
plotting.show(
    figure,
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
# Attention compares every target word with every source word: $T \times S$ scores for $T$ English
# and $S$ German words. That is the price for having no bottleneck.
#
# The recurrence has a price of its own. The encoder needs $S$ steps and the decoder $T$, one *after*
# the other, and a word reaches a distant one through all states in between. Attention needs no such
# chain: any two words are one step apart. So why keep the chain? (One part of it will stay: at
# inference, a word must be written before it can be read.)
#
# [Lecture 2](02_basic_self_attention.ipynb) drops it. The words of *one* sentence compare each
# other and mix each other, all at once. Attention between two sentences returns in
# [lecture 8](08_transformer.ipynb) under the name *cross-attention*. The transformer's curve will be
# drawn there, beside the two of section 7.
#
# ## Summary
#
# - Word order and dependent words forbid translating word by word. Read first, then write.
# - One summary vector has a fixed size, so long sentences do not fit: the bottleneck.
# - Annotations $h^{(j)} = [h_F^{(j)}; h_B^{(j)}]$: one per source word, from two directions; the
#   backward states must be turned around.
# - Scores $e_{ij} = v^\top \tanh(W s^{(i-1)} + U h^{(j)})$, weights by a softmax over $j$, context
#   $c^{(i)} = \sum_j \alpha_{ij} h^{(j)}$.
# - $s^{(i)} = f(s^{(i-1)}, y^{(i-1)}, c^{(i)})$. Teacher forcing takes the true word before,
#   inference the model's own.
# - At equal cost, attention won by at least 40 points at 12 to 15 tokens. Its weights show an
#   alignment that nobody taught it; read it with care.
#
# **Now you:** [assignment a1, attention in recurrent networks](../exercises/a1_rnn_attention/a1_rnn_attention.ipynb).

# %% [markdown]
# ## Check yourself
#
# **1.** A decoder writes 9 words for a sentence of 10 German tokens. How many annotations are there,
# how many context vectors, how many weights?
#
# <details><summary>Answer</summary>
#
# 10 annotations, one per source word; 9 context vectors, one per target word; $9 \times 10 = 90$
# weights. (With `<eos>` on both sides: 11, 10 and 110.)
#
# </details>
#
# **2.** You join forward and backward states without turning the backward ones around. The shapes
# are right. What is the annotation of the first of $S$ words made of?
#
# <details><summary>Answer</summary>
#
# The forward state after word 1 and the backward state after word $S$. Each has read one word only,
# and they are different words. Only at the middle word of an odd number of words do the two halves
# belong together.
#
# </details>
#
# **3.** In the map of section 8, each row of weights sums to one. Must each column, too? What does
# the sum of a column tell you?
#
# <details><summary>Answer</summary>
#
# No: nothing normalises a column. Its sum is the weight that one source word gets over all target
# words. A word that is looked at several times has a large sum, one that is never looked at a sum
# near zero.
#
# </details>
#
# **4.** All scores of a step are equal. What is the context? What if one score is far larger than
# all others?
#
# <details><summary>Answer</summary>
#
# Equal scores give weights $1/S$: the context is the mean of the annotations. One dominant score
# gives a weight near one: the context is nearly that annotation. Attention moves between averaging
# and selecting.
#
# </details>
#
# **5.** Each word is right with probability 0.97, given that all words before it are right. How
# probable is a right translation of 15 words?
#
# <details><summary>Answer</summary>
#
# $0.97^{15} \approx 0.63$. Exact match is a hard measure: a small loss per word becomes a large one
# per sentence. That is one reason why both curves fall with length, and why it is the *gap* that
# counts.
#
# </details>
#
# **6.** Why must the state in the score be $s^{(i-1)}$ and not $s^{(i)}$?
#
# <details><summary>Answer</summary>
#
# $s^{(i)}$ is computed from $c^{(i)}$, and $c^{(i)}$ from the scores. When the scores are needed,
# $s^{(i)}$ does not exist yet.
#
# </details>
#
# **7.** Someone computes the softmax first and sets the weights of the padding to zero afterwards.
# What is wrong?
#
# <details><summary>Answer</summary>
#
# The padding has taken part in the denominator. The remaining weights sum to less than one, by an
# amount that depends, among other things, on how much padding the batch happens to have.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - Dzmitry Bahdanau, Kyunghyun Cho, Yoshua Bengio (2015). *Neural Machine Translation by Jointly
#   Learning to Align and Translate.* ICLR. Section 3 (eq. 4 to 6) and appendix A.1.2: this lecture.
# - Ilya Sutskever, Oriol Vinyals, Quoc V. Le (2014). *Sequence to Sequence Learning with Neural
#   Networks.* NeurIPS. One vector between two deep LSTMs.
# - Kyunghyun Cho, Bart van Merriënboer, Caglar Gulcehre, Dzmitry Bahdanau, Fethi Bougares, Holger
#   Schwenk, Yoshua Bengio (2014). *Learning Phrase Representations using RNN Encoder–Decoder for
#   Statistical Machine Translation.* EMNLP. Section 2.2, and section 2.3 for the GRU.
# - Sepp Hochreiter, Jürgen Schmidhuber (1997). *Long Short-Term Memory.* Neural Computation 9(8).
# - Kyunghyun Cho, Bart van Merriënboer, Dzmitry Bahdanau, Yoshua Bengio (2014). *On the Properties of
#   Neural Machine Translation: Encoder–Decoder Approaches.* SSST-8. Quality against sentence length.
# - Mike Schuster, Kuldip K. Paliwal (1997). *Bidirectional Recurrent Neural Networks.* IEEE
#   Transactions on Signal Processing 45(11).
# - Ronald J. Williams, David Zipser (1989). *A Learning Algorithm for Continually Running Fully
#   Recurrent Neural Networks.* Neural Computation 1(2). Teacher forcing.
# - Marc'Aurelio Ranzato, Sumit Chopra, Michael Auli, Wojciech Zaremba (2016). *Sequence Level Training
#   with Recurrent Neural Networks.* ICLR. What teacher forcing does not teach: exposure bias.
# - Philipp Koehn, Rebecca Knowles (2017). *Six Challenges for Neural Machine Translation.* First
#   Workshop on Neural Machine Translation. Section 3.5: attention against word alignment.
# - Sarthak Jain, Byron C. Wallace (2019). *Attention is not Explanation.* NAACL. And the reply: Sarah
#   Wiegreffe, Yuval Pinter (2019). *Attention is not not Explanation.* EMNLP.
