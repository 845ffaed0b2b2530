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
# - Write your answer where it says so, run the cell, and then run the test cell below it. A test that passes
#   prints only a tick, and one that fails says what it expected and what it found.
# - The tests that you see earn no points, because they only catch the usual slips on small inputs. Your points
#   are decided later on other inputs, such as other sizes, padding, `float64`, train mode and gradients.
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
def fill_with_known_numbers(module):
    """Give every weight numbers that depend on its name alone."""
    for name, parameter in module.named_parameters():
        numbers = torch.cos(torch.arange(parameter.numel()) + sum(map(ord, name)))
        with torch.no_grad():
            parameter.copy_(numbers.reshape(parameter.shape))


def test_language_model_by_hand():
    model = CausalLanguageModel(3, d_model=2, num_heads=1, num_layers=0, d_ff=4).eval()
    with torch.no_grad():
        model.embedding.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
        model.position_embedding.weight[:2] = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
        logits = model(torch.tensor([[2, 1]]))
    assert logits.shape == (1, 2, 3), f"expected shape (1, 2, 3), got {tuple(logits.shape)}"
    expected = torch.tensor([[1.0, 1.0, 2.0], [2.0, 1.0, 3.0]])
    assert torch.allclose(logits[0], expected, atol=1e-4), (
        f"for the example above expected {expected.tolist()}, got {logits[0].tolist()}"
    )


def test_language_model_with_layers():
    model = CausalLanguageModel(5, d_model=4, num_heads=2, num_layers=2, d_ff=3).eval()
    fill_with_known_numbers(model)
    ids = torch.tensor([[3, 0, 4], [3, 0, 1]])
    with torch.no_grad():
        logits = model(ids)
    assert torch.allclose(logits[0, :2], logits[1, :2], atol=1e-5), (
        "the two sentences differ in their last word alone, but earlier rows of the logits differ, "
        "too: somewhere a word sees what comes after it"
    )
    assert not torch.allclose(logits[0, 2], logits[1, 2], atol=1e-3), (
        "the last row of the logits does not depend on the last word"
    )
    expected = torch.tensor(
        [
            [2.8111, -1.5557, -0.7773, 2.5719, -2.5849],
            [2.7434, -1.5019, -0.7799, 2.5216, -2.5164],
            [2.7522, -1.5078, -0.7810, 2.5289, -2.5249],
        ]
    )
    assert torch.allclose(logits[0], expected, atol=1e-3), (
        f"with weights that are all different, expected\n{expected}\ngot\n{logits[0]}\nCompare your "
        "code with the formulas step by step"
    )


def test_language_model_lengths_and_dropout():
    model = CausalLanguageModel(5, 4, 2, 1, 3, dropout=1 - 1e-9, max_len=3)
    fill_with_known_numbers(model)
    assert model.eval()(torch.tensor([[1, 2, 3]])).shape == (1, 3, 5), "T = max_len is right"
    long = CausalLanguageModel(5, 1, 1, 1, 1, max_len=129).eval()(torch.ones(1, 129).long())
    assert long.shape == (1, 129, 5), "129 tokens with max_len=129 are right"
    try:
        model(torch.tensor([[1, 2, 3, 4]]))
    except ValueError:
        pass
    except IndexError:
        raise AssertionError(
            "4 tokens with max_len=3: expected a ValueError, got an IndexError"
        ) from None
    else:
        raise AssertionError("4 tokens with max_len=3: expected a ValueError, and none came")
    once, again = model(torch.tensor([[1, 2, 3]])), model(torch.tensor([[1, 2, 3]]))
    assert torch.allclose(once, again), "in eval mode nothing is dropped"
    bare = CausalLanguageModel(5, 4, 2, 0, 3, dropout=1 - 1e-9).train()
    dropped = bare(torch.tensor([[1, 2, 3]])).abs().max()
    assert dropped == 0, (
        "with a dropout of 1 nothing is left of the sum of word and position in train mode"
    )
    bare = CausalLanguageModel(4, 4, 2, 0, 3, dropout=0.5).train()
    with torch.no_grad():
        bare.embedding.weight.copy_(torch.eye(4))
        bare.position_embedding.weight.fill_(3.0)
        found = set(bare(torch.arange(4).repeat(4, 10)).flatten().round().tolist())
    assert found == {0.0, 6.0, 8.0}, (
        f"the sums are 3 and 4 here, so with dropout=0.5 all numbers are 0, 6 or 8, but {sorted(found)} came"
    )
    model.train()
    with torch.no_grad():
        for norm in (model.layers[0].layer_norm1, model.layers[0].layer_norm2):
            norm.weight.fill_(1.0)
            norm.bias.fill_(0.0)
        masks = () if isinstance(model.layers, nn.Sequential) else (causal_mask(3),)
        inside = model.layers[0](torch.zeros(1, 3, 4), *masks)
    assert inside.abs().max() < 1e-3, "do your layers know the model's dropout?"


test_language_model_by_hand()
test_language_model_with_layers()
test_language_model_lengths_and_dropout()
print("✓ CausalLanguageModel")

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
def test_next_token_loss_by_hand():
    chances = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
    ids = torch.tensor([[1, 2, 2, 0]])
    loss = next_token_loss(chances.log().unsqueeze(0), ids)
    assert isinstance(loss, torch.Tensor) and loss.shape == (), f"expected one number, got {loss}"
    assert abs(loss.item() - 1.0397) < 1e-3, (
        f"for the example above expected 1.0397, got {loss:.4f}"
    )
    assert ids.tolist() == [[1, 2, 2, 0]], "token_ids were changed"


def test_next_token_loss_on_two_sentences():
    logits = torch.cos(torch.arange(40.0) * 1.7).reshape(2, 5, 4)
    ids = torch.tensor([[3, 1, 3, 2, 1], [1, 2, 0, 0, 0]])
    loss = next_token_loss(logits, ids)
    assert abs(loss.item() - 1.6030) < 1e-3, (
        f"expected 1.6030 for a sentence of 5 words and one of 2, got {loss.item():.4f}. Which five "
        "targets count, and does each of them count alike?"
    )
    loss = next_token_loss(logits, torch.tensor([[3, 3, 0, 3, 1], [0, 2, 0, 1, 3]]), pad_id=3)
    assert abs(loss.item() - 1.5378) < 1e-3, (
        f"with pad_id=3, expected 1.5378, got {loss.item():.4f}. Here 0 is a word, and a target counts "
        "whatever the token before it is"
    )
    large = next_token_loss(300 * logits, ids)
    assert large.isfinite() and abs(large.item() - 264.2141) < 0.1, (
        f"expected 264.2141 for logits of hundreds, got {large.item():.4f}"
    )


test_next_token_loss_by_hand()
test_next_token_loss_on_two_sentences()
print("✓ next_token_loss")

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
def shares(logits, **options):
    """How often each word comes in 1440 draws from one row of logits, beside a row that is surer."""
    rows = torch.stack([logits] * 8 + [2 * logits]).repeat(180, 1)
    before = rows.clone()
    ids = sample_next(rows, generator=torch.Generator().manual_seed(5), **options)
    assert torch.equal(rows, before), "the logits were changed"
    assert ids.shape == (1620,), f"expected shape (1620,), got {tuple(ids.shape)}"
    counts = torch.bincount(ids.reshape(180, 9)[:, :8].flatten(), minlength=len(logits))
    return counts / 1440


def test_sample_next_by_hand():
    logits = torch.tensor([0.1, 0.4, 0.2, 0.3]).log() + 1
    expected = {
        "temperature=1": ({}, [0.1, 0.4, 0.2, 0.3]),
        "temperature=2": ({"temperature": 2.0}, [0.1627, 0.3254, 0.2301, 0.2818]),
        "temperature=0.5": ({"temperature": 0.5}, [0.0333, 0.5333, 0.1333, 0.3]),
        "top_k=2": ({"top_k": 2}, [0, 4 / 7, 0, 3 / 7]),
        "top_k=9": ({"top_k": 9}, [0.1, 0.4, 0.2, 0.3]),
        "top_p=0.5": ({"top_p": 0.5}, [0, 4 / 7, 0, 3 / 7]),
        "top_p=0.85": ({"top_p": 0.85}, [0, 4 / 9, 2 / 9, 3 / 9]),
        "top_p=0.3": ({"top_p": 0.3}, [0, 1, 0, 0]),
        "temperature=2, top_p=0.65": (
            {"temperature": 2.0, "top_p": 0.65},
            [0, 0.3886, 0.2748, 0.3366],
        ),
        "top_p=1": ({"top_p": 1.0}, [0.1, 0.4, 0.2, 0.3]),
        "top_k=3, top_p=0.75": ({"top_k": 3, "top_p": 0.75}, [0, 4 / 7, 0, 3 / 7]),
    }
    for what, (options, wanted) in expected.items():
        found = shares(logits, **options)
        for word, (right, own) in enumerate(zip(wanted, found.tolist(), strict=True)):
            assert abs(right - own) < 0.06 and (right > 0 or own == 0), (
                f"{what}: word {word} should come in {right:.0%} of the draws, and comes in {own:.0%}"
            )
    for size in (0.05, 8.0):
        found = shares(size * logits, temperature=size)
        assert torch.allclose(found, torch.tensor([0.1, 0.4, 0.2, 0.3]), atol=0.06), (
            f"logits times {size} at temperature {size} should give what they give at temperature 1"
        )
    for height in (-300.0, 300.0):
        found = shares(logits + height)
        assert torch.allclose(found, torch.tensor([0.1, 0.4, 0.2, 0.3]), atol=0.06), (
            f"{height:+} on all logits should change nothing"
        )
    for options in ({"top_k": 2}, {"top_k": 2, "temperature": 0.2}, {"top_p": 0.5}):
        found = shares(logits - 300, **options)
        assert found[0] == found[2] == 0, (
            f"with {options}, logits of −300 and less: removed words come"
        )
    rows = torch.tensor([[0.0, 1.0, 2.0], [5.0, 7.0, 6.0]]).repeat(100, 1)
    drawn = sample_next(rows, top_k=2)
    assert set(drawn[1::2].tolist()) == {1, 2}, "top_k=2: each row is cut by its own logits"
    drawn = sample_next(torch.tensor([[0.0, 0.0, 9.0], [1.0, 1.1, 1.2]]).repeat(100, 1), top_p=0.9)
    assert set(drawn[1::2].tolist()) == {0, 1, 2}, "top_p: each row has a set of its own size"
    drawn = sample_next(torch.zeros(400, 4))
    again = (drawn[1:] == drawn[:-1]).float().mean()
    assert again < 0.4, (
        f"with four words that are equally likely, {again:.0%} of the rows drew the word of the row before: "
        "each row has a draw of its own"
    )


def test_sample_next_generator_and_edges():
    logits = torch.cos(torch.arange(120.0)).reshape(20, 6)
    generator = torch.Generator().manual_seed(1)
    torch.manual_seed(2)
    own = torch.get_rng_state()
    first, second = (sample_next(logits, generator=generator) for _ in range(2))
    assert torch.equal(own, torch.get_rng_state()), "torch's own generator was used or seeded"
    again = sample_next(logits, generator=torch.Generator().manual_seed(1))
    assert torch.equal(first, again), "the same state of the generator should give the same words"
    assert not torch.equal(first, second), "a second call goes on with the generator's next numbers"
    alone, after = sample_next(logits), sample_next(logits)
    assert not torch.equal(alone, after), "without a generator, two calls should differ"
    for size in (1.0, 0.0001):
        assert torch.equal(sample_next(size * logits, temperature=0), logits.argmax(-1)), (
            "temperature=0 takes the likeliest word, however little it is ahead"
        )
    one = sample_next(logits[:1])
    assert one.shape == (1,), f"one row gives one id, of shape (1,), and not {tuple(one.shape)}"
    hidden = sample_next(torch.tensor([[0.0, -torch.inf]]).repeat(50, 1))
    assert not hidden.any(), "a word with a logit of -inf was drawn"
    for wrong in (
        {"temperature": -1}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.1}, {"temperature": 0, "top_k": 0},
    ):  # fmt: skip
        try:
            sample_next(logits, **wrong)
        except ValueError:
            continue
        raise AssertionError(f"expected a ValueError for {wrong}, and none came")


test_sample_next_by_hand()
test_sample_next_generator_and_edges()
print("✓ sample_next")

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
    ids = torch.randint(5, 11, (90, 110), generator=torch.Generator().manual_seed(3))
    ids[:, 0], ids[::2, -20:], ids[::3, 7] = 2, 1, 0
    before, generator = ids.clone(), torch.Generator().manual_seed(4)
    inputs, targets = mask_words(ids, 3, 20, (2, 0, 1), share=0.4, generator=generator)
    assert torch.equal(ids, before), "token_ids were changed"
    asked = targets != -100
    assert torch.equal(targets[asked], ids[asked]), (
        "targets hold the original ids where a word is asked for"
    )
    assert torch.equal(inputs[~asked], ids[~asked]), (
        "a word that is not asked for was changed in inputs"
    )
    special = torch.isin(ids, torch.tensor([0, 1, 2]))
    assert not asked[special].any(), "a special token is asked for"
    share = asked[~special].float().mean()
    assert abs(share - 0.4) < 0.03, f"with share=0.4, {share:.0%} of the words are asked for"
    both = (asked[1:] & asked[:-1])[~special[1:] & ~special[:-1]].float().mean()
    beside = (asked[:, 1:] & asked[:, :-1])[~special[:, 1:] & ~special[:, :-1]].float().mean()
    assert abs(both - 0.16) < 0.03 and abs(beside - 0.16) < 0.03, (
        "chosen words stand beside or below each other more often than by chance: is each token chosen by itself?"
    )
    masked, kept = (inputs == 3)[asked], (inputs == ids)[asked]
    other = inputs[asked][~masked & ~kept]
    for name, found, right in (("masks", masked, 0.8), ("kept words", kept, 0.105)):
        assert abs(found.float().mean() - right) < 0.03, (
            f"of the words that are asked for, {found.float().mean():.0%} are {name}"
        )
    counts = torch.bincount(other, minlength=21)
    assert len(counts) == 21 and counts[20] == 0, "random ids run from 0 to vocab_size - 1"
    assert (counts[4:20] > 0).all(), (
        f"random ids come from all words; counts of 4 to 19: {counts[4:20].tolist()}"
    )
    for what, some in (("even", ids[asked] % 2 == 0), ("odd", ids[asked] % 2 == 1)):
        share = kept[some].float().mean()
        assert abs(share - 0.105) < 0.05, f"of the chosen words with {what} ids, {share:.0%} stayed"
    by_sentence = ((inputs == 3) & asked).sum(dim=1) / asked.sum(dim=1)
    assert by_sentence.std() < 0.2, (
        "in some sentences nearly all asked words are masks, in others hardly one"
    )
    small = mask_words(torch.full((80, 90), 2), 1, 3, (1,), share=1.0, generator=generator)[0]
    assert {0, 2} <= set(small.flatten().tolist()), "of 3 words, the random ids are 0 and 2, too"
    same = small == 2
    assert same.float().mean() > 0.115, (
        f"of 3 words, {same.float().mean():.1%} are as before; of a tenth that becomes a random id, some get "
        "the one that stood there, too"
    )
    large = mask_words(ids[:20], 3, 600, (2, 0, 1), share=1.0, generator=generator)[0]
    assert (large > 511).sum() > 3, "random ids come from all 600 words, where there are so many"


def test_mask_words_generator():
    ids = torch.arange(5, 65).reshape(3, 20)
    generator = torch.Generator().manual_seed(1)
    own = torch.get_rng_state()
    first, second = (mask_words(ids, 3, 70, (0,), 0.5, generator) for _ in range(2))
    assert torch.equal(own, torch.get_rng_state()), "torch's own generator was used or seeded"
    again = mask_words(ids, 3, 70, (0,), 0.5, torch.Generator().manual_seed(1))
    assert torch.equal(first[0], again[0]), (
        "the same state of the generator should hide the same words"
    )
    assert not torch.equal(first[1], second[1]), (
        "a second call goes on with the generator's next numbers"
    )
    everything = mask_words(ids, 3, 70, (30, 6), share=1.0)[1]
    assert (everything == -100).sum() == 2, (
        "with share=1.0 all words are asked for but special ones, here 30 and 6"
    )
    few = torch.full((2, 20), 9)
    numbers = {int((mask_words(few, 3, 70, (0,), 0.3)[1] != -100).sum()) for _ in range(20)}
    assert len(numbers) > 2, (
        f"how many of 40 words are chosen should differ, but in 20 calls it was {numbers}"
    )
    numbers = {int((mask_words(few, 3, 70, (0,), 1.0)[0] == 3).sum()) for _ in range(20)}
    assert len(numbers) > 4, (
        f"how many of 40 chosen words are masked should differ, but in 20 calls it was {numbers}"
    )
    few = torch.full((2, 3), 9)
    numbers = {int((mask_words(few, 3, 70, (0,), 0.1)[1] != -100).sum()) for _ in range(40)}
    assert 0 in numbers, "with share=0.1, in most calls no one of 6 words should be chosen"
    default = (mask_words(torch.full((60, 60), 9), 3, 70, (0,))[1] != -100).float().mean()
    assert abs(default - 0.15) < 0.03, f"without a share, {default:.0%} are asked for"


test_mask_words()
test_mask_words_generator()
print("✓ mask_words")

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
    examples = {
        "the example above": ({"aab": 3, "ab": 2}, 2, [("a", "b"), ("a", "ab")]),
        "counts decide": ({"xy": 1, "xyz": 1, "ba": 5}, 1, [("b", "a")]),
        "a word that holds a pair twice": ({"abcab": 2, "zx": 3}, 1, [("a", "b")]),
        "of equal pairs the smallest": (
            {"ba": 1, "cd": 1, "ab": 1},
            3,
            [("a", "b"), ("b", "a"), ("c", "d")],
        ),
        "one letter, three times": ({"aaa": 1}, 5, [("a", "a"), ("aa", "a")]),
        "an overlapping pair": ({"abbb": 4}, 2, [("b", "b"), ("a", "bb")]),
        "equal pairs of longer symbols": ({"bbbc": 4}, 2, [("b", "b"), ("b", "c")]),
        "whole symbols are joined": ({"acaca": 4}, 4, [("a", "c"), ("ac", "a"), ("ac", "aca")]),
        "a pair twice in a word": ({"cacab": 2, "db": 3, "ca": 1}, 2, [("c", "a"), ("d", "b")]),
        "counted anew": ({"abc": 4, "bc": 3, "ab": 2}, 2, [("b", "c"), ("a", "bc")]),
        "upper and lower case": ({"Ab": 2, "ab": 3}, 2, [("a", "b"), ("A", "b")]),
        "no merges": ({"ab": 2}, 0, []),
        "no words": ({}, 3, []),
        "words of one letter": ({"a": 2, "b": 1}, 3, []),
    }
    for what, (counts, number, expected) in examples.items():
        given = dict(counts)
        got = learn_merges(given, number)
        assert isinstance(got, list | tuple), f"expected a list of pairs, got {type(got).__name__}"
        assert [tuple(pair) for pair in got] == expected, (
            f"{what}: learn_merges({counts}, {number}) should be {expected} and is {list(got)}"
        )
        assert given == counts, "word_counts was changed"


test_learn_merges()
print("✓ learn_merges")

# %% check="learn_merges"

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a10_language_models.ipynb`. You find it in
# `workspace/exercises/a10_language_models/` of the course folder.
#
# **No instructor?** Save the notebook, and run this in a new cell:
#
# ```sh
# !python -m autograder check a10_language_models.ipynb
# ```
#
# It decides every part as it would be decided in a class, and gives the same reasons.
#
# The last cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work.

# %%
from course_utils.signoff import signoff

signoff()
