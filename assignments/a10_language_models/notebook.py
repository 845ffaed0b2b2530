# ---
# jupyter:
#   course:
#     lecture: 09_one_half_alone
#     minutes: 120
#     summary: a causal language model and its loss, drawing words, hiding words, learning merges
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
# # Assignment 10: one half of the transformer
#
# [Lecture 9](../../lectures/09_one_half_alone.ipynb) takes the transformer apart. You build its decoder as a model
# of its own, which says the next word, and then what surrounds such a model. That is the loss it learns from, the
# way it writes, the exercise from which the encoder alone learns, and the pieces that words are cut into.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `CausalLanguageModel` | 3 | 30 min | ●●○ medium |
# | 2 | `next_token_loss` | 2 | 15 min | ●○○ easy |
# | 3 | `sample_next` | 3 | 35 min | ●●● hard |
# | 4 | `mask_words` | 2 | 20 min | ●●○ medium |
# | 5 | `learn_merges` | 2 | 20 min | ●●○ medium |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other sizes, padding, `float64`, train mode and gradients. Your points are decided
#   later by the same checks, on inputs that are drawn anew.
# - Any code that does what the text says is right.
# - You may import what you need from `course_utils`, where attention, masks, positions and layers are as you
#   wrote them in assignments 4 to 8. Import it by module, `from course_utils.masks import …`.
# - Anything that would be the answer itself is barred. Here that is `course_utils.language_models`,
#   `course_utils.transformer` and every class of PyTorch whose name begins with `nn.Transformer`. Losses, softmaxes,
#   `multinomial`, `topk`, `sort`, `isin`, `Counter` and the like are welcome.
# - Inputs are never changed. That holds for a dict as well as for a tensor, and where a generator is given, torch's
#   own random state stays as it was, too.
# - Ids are `int64`. Other results have the dtype of the weights or inputs (`float32` or `float64`), and gradients
#   flow to every weight and every input that is not a whole number.
#
# In the tables, $B$ is the batch, $T$ the number of tokens, $D$ is `d_model` and $V$ the size of the vocabulary.

# %%
from itertools import pairwise

import torch
from torch import nn

from course_utils.layers import TransformerLayer
from course_utils.masks import causal_mask

# %% [markdown]
# ## 1. A causal language model
#
# The model is the decoder of assignment 9 without a source. Nothing is left to look across to, so a layer is one of
# assignment 8 under a causal mask:
#
# $$h_0 = \mathrm{dropout}(E[u] + P[0 \dots T-1]), \qquad h_l = \mathrm{layer}_l(h_{l-1}), \qquad
# \mathrm{logits} = h_N E^\top$$
#
# Here $u$ are the ids, $E$ is the table of words and $P$ the table of positions, and both tables are learned. The
# table $E$ is used twice, since the logit of a word is the product of the last layer's vector with that word's row.
#
# **Write** the module `CausalLanguageModel(vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1,
# max_len=128)` with these attributes:
#
# | attribute | what it is |
# |---|---|
# | `embedding` | `nn.Embedding(vocab_size, d_model)`, the table $E$ |
# | `position_embedding` | `nn.Embedding(max_len, d_model)`, the table $P$ |
# | `layers` | `nn.ModuleList` or `nn.Sequential` of `num_layers` layers, as in assignment 8 |
#
# and `forward(token_ids)`, which turns ids `(B, T)` into logits `(B, T, vocab_size)`.
#
# - Row $t$ of the logits may know the tokens 0 to $t$ and none after them.
# - **Every id is a word**, 0 too. Nothing is hidden but the future.
# - The layers are `TransformerLayer(d_model, num_heads, d_ff, dropout)` of `course_utils.layers`, or your own with
#   the same names. Each has weights of its own, and `num_layers` may be 0.
# - The logits are made with `embedding.weight` itself. There is no factor $\sqrt{D}$, no bias, no norm behind the
#   last layer and no softmax, and no other parameter beside those named.
# - Where $T$ is larger than `max_len`, a ValueError says so. $T$ = `max_len` is right.
# - How the weights start is free, because the grader sets them by name.
#
# **By hand.** Without layers, let $E$ have the rows $(1, 0)$, $(0, 1)$, $(1, 1)$ and $P$ the rows $(0, 0)$,
# $(2, 0)$. The tokens 2 and 1 become $(1, 1)$ and $(0, 1) + (2, 0) = (2, 1)$. Their products with the rows of $E$
# are the logits $(1, 1, 2)$ and $(2, 1, 3)$.
#
# <details><summary>Hint</summary>
#
# A table of $P$ is looked up like one of words, by `torch.arange(T)`. For the last step, think of `@` and of the
# shape `(vocab_size, d_model)` that `embedding.weight` has.
#
# </details>


# %% solution="CausalLanguageModel"
class CausalLanguageModel(nn.Module):
    """The decoder alone: says the next word."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            TransformerLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        ### END SOLUTION

    def forward(self, token_ids):
        """token_ids (B, T) -> logits (B, T, vocab_size)."""
        ### BEGIN SOLUTION
        T, max_len = token_ids.shape[1], self.position_embedding.num_embeddings
        if max_len < T:
            raise ValueError(f"{T} tokens are more than max_len = {max_len}")
        places = torch.arange(T, device=token_ids.device)
        x = self.dropout(self.embedding(token_ids) + self.position_embedding(places))  # (B, T, D)
        mask = causal_mask(T, token_ids.device)
        for layer in self.layers:
            x = layer(x, mask)
        return x @ self.embedding.weight.T
        ### END SOLUTION


# %% test="CausalLanguageModel"
def test_CausalLanguageModel():
    model = CausalLanguageModel(3, d_model=2, num_heads=1, num_layers=0, d_ff=4).eval()
    with torch.no_grad():
        model.embedding.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
        model.position_embedding.weight[:2] = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
    logits = model(torch.tensor([[2, 1]]))
    assert logits.shape == (1, 2, 3)
    assert torch.allclose(logits[0], torch.tensor([[1.0, 1.0, 2.0], [2.0, 1.0, 3.0]]), atol=1e-4)


check("CausalLanguageModel")

# %% check="CausalLanguageModel"

# %% [markdown]
# ## 2. The loss of the next token
#
# What the model says at place $t$ is judged by the token that comes next, $u_{t+1}$. Over all sentences and places
# of the batch, the loss is the mean of $-\ln p(u_{t+1} \mid u_0 \dots u_t)$, so one number says how surprised the
# model is by a token.
#
# **Write** `next_token_loss(logits, token_ids, pad_id=0)`:
#
# | tensor | shape | |
# |---|---|---|
# | `logits` | `(B, T, V)` | row $t$ is for token $t + 1$ |
# | `token_ids` | `(B, T)` | $T$ is at least 2 |
# | result | `()` | one number, in nats |
#
# - The last place's logits and the first token have no partner, so they are not used.
# - A target counts when it is not `pad_id`, wherever it stands and whatever the token before it is. The mean is
#   taken over all targets that count, of the whole batch at once.
# - `pad_id` may be any id of the vocabulary. A sentence may be nothing but padding, though never the whole batch.
# - Logits of hundreds give a finite loss.
#
# **By hand.** For the ids 1, 2, 2, 0, let the word 2 have the probability ¼ in row 0 and ½ in row 1. Row 2 is asked
# for the padding 0, which does not count, so the loss is $(\ln 4 + \ln 2) / 2 = 1.0397$.
#
# <details><summary>Hint</summary>
#
# Write down which rows of the logits have a partner, and which tokens are partners. `F.cross_entropy` takes rows
# `(N, V)` and targets `(N,)`; its documentation says how a target is left out.
#
# </details>


# %% solution="next_token_loss"
def next_token_loss(logits, token_ids, pad_id=0):
    """logits (B, T, V), token_ids (B, T) -> the mean of -ln p, a tensor without axes."""
    ### BEGIN SOLUTION
    rows, targets = logits[:, :-1].flatten(0, 1), token_ids[:, 1:].flatten()
    return nn.functional.cross_entropy(rows, targets, ignore_index=pad_id)
    ### END SOLUTION


# %% test="next_token_loss"
def test_next_token_loss():
    row_0, row_1 = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]  # the last number is that of word 2
    row_2, row_3 = [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]  # these do not count
    logits = torch.tensor([[row_0, row_1, row_2, row_3]]).log()
    loss = next_token_loss(logits, torch.tensor([[1, 2, 2, 0]]))
    assert loss.shape == ()
    assert torch.allclose(loss, torch.tensor(1.0397), atol=1e-4)


check("next_token_loss")

# %% check="next_token_loss"

# %% [markdown]
# ## 3. Drawing the next word
#
# A trained model gives each word a probability, and writing means drawing from them. Three dials decide how bold
# the draw is. The temperature comes first, then top-k, then top-p.
#
# **Write** `sample_next(logits, temperature=1.0, top_k=None, top_p=None, generator=None)`, which draws one word for
# every row of the logits `(B, V)` and returns the ids, `(B,)`.
#
# 1. Divide the logits by `temperature`.
# 2. Of the words, only the `top_k` likeliest stay, or all of them if there are fewer.
# 3. Of what is left, **renormalised**, the smallest set of likeliest words stays whose probabilities sum to `top_p`
#    or more. The word that reaches `top_p` belongs to the set, so at least one word stays.
# 4. One word is drawn from what is left, renormalised, for each row by itself.
#
# - `temperature=0` takes the likeliest word, whatever else is given. Other temperatures lie between 0.05 and 10.
# - `None` cuts nothing, and neither does `top_p=1`.
# - A logit of −∞ is never drawn. All others may lie hundreds above 0 or below, and differ so much from row to row.
# - A ValueError says that the temperature is negative, that `top_k` is below 1, or that `top_p` is not above 0 and at
#   most 1. That holds at temperature 0, too.
# - With a `generator`, all random numbers come from it. The same state gives the same words, and afterwards the
#   state has moved on. With `None`, torch's own generator is used. How many numbers are drawn, and in which way, is
#   free, because your draws are judged by how often each word comes in thousands of rows.
# - You need not care about ties.
#
# **By hand.** Let the probabilities be 0.1, 0.4, 0.2, 0.3, with `top_k=3` and `top_p=0.7`. Top-k leaves the words 1,
# 3, 2, which renormalised have 4/9, 3/9 and 2/9. The first two sum to 7/9, and that is 0.7 or more, so the words 1
# and 3 are left, with 4/7 and 3/7.
#
# <details><summary>Hint</summary>
#
# Setting a logit to −∞ removes a word, and the softmax after it renormalises. For top-p sort the probabilities, and
# ask of each word how much the words *before* it have together. In the end `scatter`, or a second look-up, leads
# back from the sorted order to the ids. `torch.multinomial` draws.
#
# </details>


# %% solution="sample_next"
def sample_next(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    """logits (B, V) -> ids (B,), one drawn for each row."""
    ### BEGIN SOLUTION
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError(f"temperature {temperature} and top_k {top_k} should not be so small")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"expected a top_p above 0 and at most 1, found {top_p}")
    if temperature == 0:
        return logits.argmax(dim=-1)
    logits = logits / temperature
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]  # (B, 1)
        logits = logits.masked_fill(logits < least, -torch.inf)
    chances, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    if top_p is not None:
        before = chances.cumsum(dim=-1) - chances  # of all likelier words together
        chances = chances.masked_fill(before >= top_p, 0.0)
    place = torch.multinomial(chances, 1, generator=generator)  # (B, 1)
    return order.gather(-1, place).squeeze(-1)
    ### END SOLUTION


# %% test="sample_next"
def test_sample_next():
    logits = torch.tensor([0.1, 0.4, 0.2, 0.3]).log().repeat(1000, 1)  # 1000 equal rows
    ids = sample_next(logits, top_k=3, top_p=0.7)
    assert ids.shape == (1000,)
    assert set(ids.tolist()) == {1, 3}
    assert 0.47 < (ids == 1).float().mean() < 0.67  # 4/7 is 0.57
    assert (sample_next(logits, temperature=0) == 1).all()


check("sample_next")

# %% check="sample_next"

# %% [markdown]
# ## 4. Hiding words
#
# The encoder alone sees every word, so there is no next one to ask for. It learns from a text in which words are
# hidden and have to be filled in.
#
# **Write** `mask_words(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None)`:
#
# | tensor | shape | |
# |---|---|---|
# | `token_ids` | `(B, T)` | ids of words |
# | first result, `inputs` | `(B, T)` | what the model reads |
# | second result, `targets` | `(B, T)` | the word that it is asked for, and −100 where nothing is asked |
#
# - Every token whose id is not in the tuple `special_ids` is **chosen** with the probability `share`, each by itself,
#   so how many are chosen differs from call to call, and may be none. No other token is. The ids in `special_ids` stand in any order.
# - In `targets` stands the original id where a token was chosen, and −100 everywhere else.
# - In `inputs`, each chosen token became `mask_id` with a probability of 80 %, a random id with 10 %, and stayed as it
#   was with 10 %, whatever stands there and around it. The random id is drawn for each place by itself, uniformly from 0
#   to `vocab_size` − 1. All other tokens are as they were.
# - Whether special ids are left out of the random ones is free. `mask_id` may be one of the special ids, and where it
#   is not, it does not occur in `token_ids`.
# - With a `generator`, all random numbers come from it; with `None`, from torch's own.
#
# **By hand.** Of 1000 words about 150 are asked for. In the input, about 120 of these are masks, 15 are other words,
# and 15 are as before.
#
# <details><summary>Hint</summary>
#
# One tensor of random numbers between 0 and 1 can say which tokens are chosen, and a second one what becomes of each.
# A number below 0.8 has the probability 80 %, one from 0.9 on has 10 %.
#
# </details>


# %% solution="mask_words"
def mask_words(token_ids, mask_id, vocab_size, special_ids, share=0.15, generator=None):
    """token_ids (B, T) -> inputs (B, T), targets (B, T)."""
    ### BEGIN SOLUTION
    shape = token_ids.shape
    usual = ~torch.isin(token_ids, torch.tensor(special_ids))
    chosen = usual & (torch.rand(shape, generator=generator) < share)
    targets = torch.where(chosen, token_ids, -100)
    fate = torch.rand(shape, generator=generator)
    words = torch.randint(vocab_size, shape, generator=generator)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, token_ids)
    return torch.where(chosen & (fate >= 0.9), words, inputs), targets
    ### END SOLUTION


# %% test="mask_words"
def test_mask_words():
    words = torch.full((10, 100), 7)
    inputs, targets = mask_words(words, mask_id=3, vocab_size=20, special_ids=(0, 1, 2))
    asked = targets == 7
    assert 80 < asked.sum() < 220  # about 150
    assert 60 < (inputs == 3).sum() < 180  # about 120
    assert (inputs[~asked] == 7).all() and (targets[~asked] == -100).all()
    _, targets = mask_words(torch.tensor([[2, 7, 8, 1]]), 3, 20, (0, 1, 2), share=1.0)
    assert targets.tolist() == [[-100, 7, 8, -100]]


check("mask_words")

# %% check="mask_words"

# %% [markdown]
# ## 5. Learning merges
#
# A vocabulary of whole words has none for what it has never seen, and one of letters makes sentences long. Between
# the two lie pieces that are learned. A word begins as its letters, and in each round the pair of neighbours that
# stands most often becomes one symbol.
#
# **Write** `learn_merges(word_counts, num_merges)`, from a dict of words and how often each occurs to the list of
# merged pairs `(left, right)`, in the order in which they were merged.
#
# - Every pair of neighbouring symbols counts as often as it stands in a word, times the count of the word. The
#   symbols `a a a` hold the pair `a a` twice. Pairs never reach across words.
# - The most frequent pair is merged. Of several, it is the smallest in the order of Python's tuples.
# - A pair is joined everywhere, from left to right and without overlap, so `a a a` becomes `aa a`. Then the pairs are
#   counted anew.
# - The result holds `num_merges` pairs, or fewer when no pair is left. A pair that stands only once counts, too.
# - Words have one letter or more, and upper and lower case differ. The dict may be empty, and `num_merges` may be 0.
# - Lists or tuples are both right, for the pairs and for the whole.
#
# **By hand.** For `{"aab": 3, "ab": 2}` the pair `a b` stands 5 times and `a a` 3 times, so `a b` is merged. Then the
# words are `a ab` and `ab`, and `a ab` stands 3 times. The result is `[("a", "b"), ("a", "ab")]`.
#
# <details><summary>Hint</summary>
#
# Keep each word as a list of symbols. `pairwise` gives the neighbours, and a `Counter` adds up. For ties,
# `min` with a key of two entries, or `min` over the pairs that reach the maximum, does it. Join with a loop that
# goes on by two places after a merge.
#
# </details>


# %% solution="learn_merges"
def learn_merges(word_counts, num_merges):
    """dict of words and counts -> list of merged pairs (left, right)."""
    ### BEGIN SOLUTION
    words = {word: list(word) for word in word_counts}
    merges = []
    while len(merges) < num_merges:
        frequency = {}
        for word, symbols in words.items():
            for pair in pairwise(symbols):
                frequency[pair] = frequency.get(pair, 0) + word_counts[word]
        if not frequency:
            break
        best = min(frequency, key=lambda pair: (-frequency[pair], pair))
        merges.append(best)
        for word, symbols in words.items():
            joined = []
            while symbols:
                width = 2 if tuple(symbols[:2]) == best else 1
                joined.append("".join(symbols[:width]))
                symbols = symbols[width:]
            words[word] = joined
    return merges
    ### END SOLUTION


# %% test="learn_merges"
def test_learn_merges():
    merges = learn_merges({"aab": 3, "ab": 2}, 2)
    assert [tuple(pair) for pair in merges] == [("a", "b"), ("a", "ab")]
    merges = learn_merges({"aaa": 1}, 5)  # joined from the left, and then no pair is left
    assert [tuple(pair) for pair in merges] == [("a", "a"), ("aa", "a")]


check("learn_merges")

# %% check="learn_merges"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a10_language_models.ipynb`. You find it in
# `workspace/exercises/a10_language_models/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# all parts.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
