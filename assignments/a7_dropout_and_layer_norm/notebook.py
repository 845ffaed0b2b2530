# ---
# jupyter:
#   course:
#     lecture: 07_layer_normalization
#     minutes: 120
#     summary: layer norm, a class to repair, the row sums under dropout, and a comparison of dropout rates
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
# # Assignment 7: dropout and layer norm
#
# You write the layer norm of [lecture 7](../../lectures/07_layer_normalization.ipynb). Then you get a class for
# attention with dropout and layer norm that is broken. You find out why it stops at once, and why it would be wrong
# even if it ran, and you repair it. After that you measure what dropout does to rows that summed to one. Finally,
# you train a small model with your class at four dropout rates, and explain in words what you see.
#
# | part | what you write | points | time | difficulty |
# |---|---|--:|--:|---|
# | 1 | `LayerNorm` | 5 | 30 min | ●●○ medium |
# | 2 | `SelfAttentionWithDropoutAndNorm` | 6 | 40 min | ●●● hard |
# | 3 | `row_sums_under_dropout` | 2 | 20 min | ●●○ medium |
# | 4 | a comparison of dropout rates, and an answer in words | 2 | 30 min | ●●○ medium |

# %% [markdown]
# ## How it works
#
# - Write your answer where it says so, run the cell, and then run the cell below it. It holds the example of the
#   text, and `check` says which steps of the part are right. Where one is not, it says what your code does instead.
# - `check` tries your code on other shapes and widths, train and eval mode, `float64` and gradients. The points of
#   parts 1 to 3 are decided later by the same checks, on inputs that are drawn anew. Part 4 is read by a person.
# - Any code that does what the text says is right. You may use loops, `einsum`, helper functions in cells of your
#   own, and further arguments that have default values.
# - Anything that would be the answer itself is barred. In part 1 these are all normalisations that a library offers, as
#   classes or as functions, which are layer, batch, group, instance and RMS norm. In part 2 a layer norm of a library
#   is welcome, but `F.scaled_dot_product_attention`, `nn.MultiheadAttention`, PyTorch's transformer layers and their
#   functional forms are barred. In all parts everything in `course_utils` except `signoff` is barred.
# - In parts 1 and 2 you write an `nn.Module`. The grader sets the parameters by their names, and converts a module
#   to `float64` when it gets `float64` inputs. The result has the dtype and the device of the inputs, gradients
#   flow to every input and parameter, and no input is changed.
# - Part 2 may use your `LayerNorm`. If that one is not right, part 2 is decided with our version of it, so that
#   no error is charged twice.

# %%
import math

import torch
import torch.nn.functional as F
from torch import nn

# %% [markdown]
# ## 1. Layer norm
#
# A token is a vector $x$ of $D$ numbers, its features. Layer norm gives each token mean 0 and variance 1 **over
# its own features**, and then each feature gets a scale and a shift that are learned:
#
# $$\mu = \frac{1}{D} \sum_{k=1}^{D} x_k \qquad
# \sigma^2 = \frac{1}{D} \sum_{k=1}^{D} (x_k - \mu)^2 \qquad
# y_k = \gamma_k\, \frac{x_k - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta_k$$
#
# Every token has its own $\mu$ and $\sigma^2$, whereas every feature has its own $\gamma_k$ and $\beta_k$, which
# are the same for all tokens. $\varepsilon$ keeps the root away from zero.
#
# ![Two sentences as grids, one row a token and one column a feature, three times. Filled cells share one mean. For
# batch norm that is a column, for layer norm the row of one token, and in the third panel a whole
# sentence.](../../figures/norm_axes.svg)
#
# *Which numbers share a mean. Here it is the second panel, in which each token is on its own.*
#
# **Write** the class `LayerNorm(features, eps=1e-5)`:
#
# | name | shape | what it is |
# |---|---|---|
# | `features` | a whole number, 2 or more | $D$ |
# | `eps` | a number | $\varepsilon$ |
# | parameter `weight` | `(features,)` | $\gamma$; ones in a new module |
# | parameter `bias` | `(features,)` | $\beta$; zeros in a new module |
# | `x` | `(..., features)` | tokens along the last axis |
# | result of `forward(x)` | the shape of `x` | |
#
# - The dots stand for any leading axes, or for none. So `x` may be `(D,)` for one token, `(T, D)` for a sentence,
#   `(B, T, D)` for a batch, `(B, H, T, D)` and more. The result for a token does not depend on the tokens around
#   it.
# - There is one mode, so train and eval give the same result.
# - Where all features of a token are equal, $\sigma$ is zero, but the result and the gradients are still finite.
# - You need not think of tokens whose mean is thousands of times as large as their spread, because there rounding
#   decides.
#
# **By hand.** The token $(1, 3, 5, 7)$ has $\mu = 4$ and $\sigma^2 = (9 + 1 + 1 + 9)/4 = 5$. Divided by
# $\sqrt 5 = 2.236$, the differences $-3, -1, 1, 3$ become $-1.342, -0.447, 0.447, 1.342$.
#
# The token $(0, 1, 2, 3) / 1000$ is faint, with $\sigma^2 = 1.25 \cdot 10^{-6}$. For $\varepsilon = 10^{-5}$ the
# number under the root is $11.25 \cdot 10^{-6}$, which is nine times as large, so the result of this token is
# three times smaller: $-0.447, -0.149, 0.149, 0.447$.
#
# <details><summary>Hint 1, on one mean for each token</summary>
#
# If `x` has the shape `(2, 3, 5)`, there are six tokens and so six means. Which shape must the means have, so
# that broadcasting subtracts from each token its own?
#
# </details>
#
# <details><summary>Hint 2, on three details</summary>
#
# Lecture 7 explains [three details that are easy to get
# wrong](../../lectures/07_layer_normalization.ipynb#Three-details-that-are-easy-to-get-wrong), namely what
# PyTorch's own `var` and `std` divide by, where $\varepsilon$ goes, and how a module knows that a tensor is to be
# learned.
#
# </details>


# %% solution="LayerNorm"
class LayerNorm(nn.Module):
    """Mean 0 and variance 1 over each token's features, then a scale and a shift of each feature."""

    def __init__(self, features, eps=1e-5):
        super().__init__()
        ### BEGIN SOLUTION
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        ### END SOLUTION

    def forward(self, x):
        """x (..., features) -> the same shape."""
        ### BEGIN SOLUTION
        centred = x - x.mean(dim=-1, keepdim=True)  # (..., D) - (..., 1)
        variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias
        ### END SOLUTION


# %% test="LayerNorm"
def test_LayerNorm():
    module = LayerNorm(4)
    x = torch.tensor([[1.0, 3.0, 5.0, 7.0], [0.0, 0.001, 0.002, 0.003]])  # two tokens
    output = module(x)
    assert output.shape == (2, 4)
    assert torch.allclose(output[0], torch.tensor([-1.3416, -0.4472, 0.4472, 1.3416]), atol=1e-4)
    assert torch.allclose(output[1], torch.tensor([-0.4472, -0.1491, 0.1491, 0.4472]), atol=1e-4)
    assert module.weight.shape == module.bias.shape == (4,)


check("LayerNorm")

# %% check="LayerNorm"

# %% [markdown]
# ## 2. A class to repair
#
# Below the questions stands a class of a kind that has been printed and copied. It is meant to be attention with
# dropout and layer norm. You will repair it in its own cell, but read it first, and do not change it yet.
#
# Find out what is wrong with the help of six questions. The cell after the class is for trying things out, so
# change that one as you like.
#
# 1. The page on which such a class is printed imports `torch` and `torch.nn.functional as F`, and nothing else.
#    At which name does Python stop first there? Does it stop as soon as it reads the class, or only when somebody
#    uses it?
# 2. This notebook has imported everything, so the class gets further. Which line stops now, and when? Who should
#    say what the missing name means?
# 3. A quick remedy is a line `features = 6` in a cell above, and the class then runs. What happens when the next
#    model needs a second such module, for values of width 8?
# 4. Three widths could be meant, that of the query, of the key, or of the value. Write down the shape of what is
#    passed to `layer_norm`. Over which width does the norm run?
# 5. Suppose all this is mended, and nothing stops any more. One step of [lecture
#    3](../../lectures/03_scaled_dot_product_attention.ipynb) is still missing. Which one is it, and what do the
#    weights look like without it? The cell for trying things out prints the largest weight of each row at
#    $d_k = 64$.
# 6. To how many of the five keys does a query then really attend? Why would you hardly notice this in the loss of
#    the first steps?


# %% solution="SelfAttentionWithDropoutAndNorm"
### BEGIN SOLUTION
class SelfAttentionWithDropoutAndNorm(nn.Module):
    """Scaled attention with dropout on its weights, and layer norm on the weighted sum of the values."""

    def __init__(self, features, dropout_rate=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout_rate)
        self.layer_norm = LayerNorm(features)

    def forward(self, query, key, value):
        """query (B, T, d_k), key (B, S, d_k), value (B, S, features) -> (B, T, features)."""
        scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(key.shape[-1])  # (B, T, S)
        weights = self.dropout(scores.softmax(dim=-1))  # (B, T, S)
        return self.layer_norm(torch.bmm(weights, value))  # (B, T, features)


### BEGIN HANDED OUT
# class SelfAttentionWithDropoutAndNorm(nn.Module):
#     """Attention with dropout on its weights and a layer norm behind it, to be repaired."""
#
#     def __init__(self, dropout_rate=0.1):
#         super().__init__()
#         self.dropout = nn.Dropout(dropout_rate)
#         self.layer_norm = nn.LayerNorm(features)
#
#     def forward(self, query, key, value):
#         similarity = query @ key.transpose(1, 2)
#         shares = self.dropout(F.softmax(similarity, dim=-1))
#         return self.layer_norm(shares @ value)
### END HANDED OUT
### END SOLUTION


# %%
try:
    SelfAttentionWithDropoutAndNorm()
except (AttributeError, NameError, TypeError, ValueError) as error:
    print(f"{type(error).__name__}: {error}")

torch.manual_seed(7)
queries, keys = torch.randn(2, 3, 64), torch.randn(2, 5, 64)  # (B, T, d_k), (B, S, d_k)
unscaled_weights = F.softmax(queries @ keys.transpose(1, 2), dim=-1)  # (B, T, S)
print("largest weight of each row:")
print(unscaled_weights.amax(dim=-1))  # (B, T)

# %% [markdown]
# <details><summary>What there is to find</summary>
#
# 1. `nn` is never imported. Python looks it up as soon as it reads the line `class …(nn.Module)`, so it does not
#    even get through the definition.
# 2. `nn.LayerNorm(features)` stops with a NameError when the first module is made, because the body of a
#    constructor runs only then. The caller knows the width, so the width has to be an argument of the
#    constructor.
# 3. Both modules read the same global name, so one of them gets the wrong width. What differs from module to
#    module should be an argument.
# 4. The weighted sum of the values is `(B, T, d_v)`, so the norm runs over the width of the **values**.
# 5. The scores are not divided by anything. At $d_k = 64$ they have a standard deviation of about 8 here, and the
#    softmax gives nearly all the weight to one key.
# 6. To one, mostly. Nothing stops, every shape is right, and the values learn as usual. What suffers is learning
#    where to look, because a key without weight gets next to no gradient at its score, however long the gradient
#    at the query is. Only the numbers show this, and nobody had printed any.
#
# </details>

# %% [markdown]
# ### Repair it
#
# This is what the class should compute:
#
# $$\text{output} = \mathrm{LayerNorm}\!\left(\mathrm{dropout}\!\left(
# \operatorname{softmax}\!\left(\frac{Q K^{\top}}{\sqrt{d_k}}\right)\right) V\right)$$
#
# The name says *self*-attention, but `forward` takes three inputs. If you pass the same tensor three times,
# `module(x, x, x)`, you get self-attention, and you may pass different tensors as well.
#
# **Repair** the class in the cell where it stands, so that it becomes `SelfAttentionWithDropoutAndNorm(features,
# dropout_rate=0.1)`, whose `forward(query, key, value)` returns the output alone. You may keep its lines or write
# all of them anew. As long as its code is what you were given, the part counts as not answered.
#
# | tensor | shape | what it is |
# |---|---|---|
# | `query` | `(B, T, d_k)` | what the $T$ words of each sentence ask for |
# | `key` | `(B, S, d_k)` | what the queries are compared with, for $S$ words |
# | `value` | `(B, S, features)` | what is summed with the weights |
# | result | `(B, T, features)` | layer norm of the weighted sum of the values |
#
# The module has two submodules under these names:
#
# | submodule | what it is |
# |---|---|
# | `dropout` | the dropout on the **weights**, after the softmax and before the product with the values |
# | `layer_norm` | a layer norm over `features`, with `weight` and `bias`, either your `LayerNorm` or `nn.LayerNorm`, with the default $\varepsilon$ of $10^{-5}$ |
#
# - The softmax runs over the $S$ keys. $T$ and $S$ may differ, and so may $d_k$ and `features`. All inputs have
#   three axes, and there is no mask.
# - In train mode, each weight becomes 0 with probability `dropout_rate`, independently of the others, and a
#   weight that is kept is divided by `1 - dropout_rate`. In eval mode nothing is dropped. `dropout_rate` is at
#   least 0 and less than 1.
# - Whether `nn.Dropout` does the work or lines of your own do it is up to you, as long as there is a submodule
#   `dropout`.
#
# **By hand.** Take one query $(1, 1, 1, 1)$, the keys $(2, 0, 0, 0)$ and $(0, 0, 0, 0)$, and the values
# $(3, 0, 0)$ and $(0, 3, 0)$. Divided by $\sqrt 4$, the scores $2$ and $0$ become $1$ and $0$, so the weights are
# $0.731$ and $0.269$. In eval mode the weighted sum of the values is $(2.193, 0.807, 0)$. Its mean is $1$ and its
# variance $0.820$, so a new module gives $(1.317, -0.213, -1.104)$.
#
# <details><summary>Hint</summary>
#
# Write the formula from the inside out, with one line for each step and the shape in a comment at the end of the
# line. Does PyTorch have a module whose `forward` already distinguishes between train and eval mode?
#
# </details>


# %% test="SelfAttentionWithDropoutAndNorm"
def test_SelfAttentionWithDropoutAndNorm():
    module = SelfAttentionWithDropoutAndNorm(3).eval()
    query = torch.ones(1, 1, 4)  # (B, T, d_k)
    key = torch.tensor([[[2.0, 0, 0, 0], [0, 0, 0, 0]]])  # (B, S, d_k)
    value = torch.tensor([[[3.0, 0, 0], [0, 3, 0]]])  # (B, S, features)
    output = module(query, key, value)
    assert output.shape == (1, 1, 3)
    assert torch.allclose(output[0, 0], torch.tensor([1.3173, -0.2130, -1.1042]), atol=1e-3)
    assert {"dropout", "layer_norm"} <= dict(module.named_children()).keys()


check("SelfAttentionWithDropoutAndNorm")

# %% check="SelfAttentionWithDropoutAndNorm"

# %% [markdown]
# ## 3. What dropout does to the sum of a row
#
# After the softmax each row of weights sums to one, so a query collects an average of the values. Dropout changes
# that sum. With a mask $m$ of zeros and ones, in which a zero has probability $p$, row $i$ sums to
#
# $$r_i = \sum_j \frac{m_{ij}}{1 - p}\, w_{ij}$$
#
# The division by $1 - p$ is what makes it *inverted* dropout, the kind that `nn.Dropout` does. Here you measure the
# mean and the standard deviation of $r_i$ over many masks.
#
# **Write** `row_sums_under_dropout(weights, rate, draws, generator=None)`:
#
# | name | shape | what it is |
# |---|---|---|
# | `weights` | `(T, S)` | $w$, floats; a row may have any sum |
# | `rate` | a number | $p$, at least 0 and less than 1 |
# | `draws` | a whole number | how many masks are drawn, 1 or more |
# | `generator` | | a `torch.Generator`, or `None` |
# | first result, `mean` | `(T,)` | the mean of each $r_i$ over the draws |
# | second result, `std` | `(T,)` | the standard deviation of each $r_i$ over the draws |
#
# - In each draw every weight becomes 0 with probability `rate`, independently of all other weights and of all other
#   draws. A weight that is kept is divided by `1 - rate`, and nothing else happens to the row.
# - For the standard deviation, the sum of squares is divided by the number of draws. So `std` is 0 if there is a
#   single draw.
# - Where all draws give a row the same sum, `std` is 0 or, because of rounding, nearly so. It is never NaN.
# - With a `generator`, all random numbers come from it, and torch's own are left alone. A generator in the same state
#   gives the same result, and a second call goes on with the numbers that follow.
# - Without a `generator`, torch's own random numbers are used, and your function seeds nothing.
# - The two results have the dtype and the device of `weights`, which may lie in memory in any way and stay as they
#   were. Gradients need not flow.
#
# **By hand.** Take the row $(0.5,\ 0.3,\ 0.2)$ and $p = 0.5$, so that a kept weight doubles. Two draws with the masks
# $(1, 0, 1)$ and $(0, 1, 1)$ give the sums $1.4$ and $1$. Their mean is $1.2$ and their standard deviation $0.2$.
#
# Over all draws, [lecture 7](../../lectures/07_layer_normalization.ipynb#What-happens-to-rows-that-summed-to-one)
# expects the mean $\sum_j w_j = 1$ and the standard deviation
# $\sqrt{\frac{p}{1 - p} \sum_j w_j^2} = \sqrt{0.38} = 0.616$.
#
# <details><summary>Hint</summary>
#
# Random numbers between 0 and 1 are below $p$ with probability $p$. How many of them do you need, and in which shape,
# so that all draws are made at once? Among PyTorch's functions, `torch.rand` and `torch.bernoulli` take a `generator`,
# whereas `F.dropout` does not.
#
# </details>


# %% solution="row_sums_under_dropout"
def row_sums_under_dropout(weights, rate, draws, generator=None):
    """weights (T, S) -> mean (T,), std (T,) of each row's sum after dropout, over the draws."""
    ### BEGIN SOLUTION
    numbers = torch.rand(draws, *weights.shape, generator=generator, device=weights.device)
    sums = (weights * (numbers >= rate) / (1 - rate)).sum(dim=-1)  # (draws, T)
    return sums.mean(dim=0), sums.std(dim=0, correction=0)
    ### END SOLUTION


# %% test="row_sums_under_dropout"
def test_row_sums_under_dropout():
    weights = torch.tensor([[0.5, 0.3, 0.2]])
    mean, std = row_sums_under_dropout(weights, 0.5, 2)
    assert mean.shape == std.shape == (1,)
    sums = torch.cat([mean + std, mean - std])  # those of the two draws, such as 1.4 and 1
    fifths = 5 * sums  # kept weights are 1, 0.6 and 0.4, so a sum is a whole number of fifths
    assert torch.allclose(fifths, fifths.round(), atol=0.02)
    mean, std = row_sums_under_dropout(weights, 0.0, 4)
    assert torch.allclose(mean, torch.ones(1), atol=1e-4)
    assert torch.allclose(std, torch.zeros(1), atol=2e-3)


check("row_sums_under_dropout")

# %% check="row_sums_under_dropout"

# %% [markdown]
# ## 4. In words: four dropout rates
#
# Here is a small task on which you can see what dropout changes. A sentence has eight words and one of four topics.
# About every second word hints at the topic, and the others are drawn at random from all words, so no single word
# settles it. The model attends to all words with your class of part 2 and predicts the topic. It learns from only
# 100 sentences, which is few enough to memorise them.
#
# The next two cells are given, and there is nothing to write in them. The second one trains two models for each of
# four rates, which takes a second or two, and prints the mean of the two. The first two columns are the loss on the
# 100 learned sentences, once in train mode, in which dropout acts, and once in eval mode, in which it does not. The
# other two are the loss on 1000 new sentences in eval mode, and the share of them whose topic is right. If part 2
# is not right yet, the second cell says so, and the rest of the notebook runs all the same.

# %%
WORDS, LENGTH, WIDTH, TOPICS = 24, 8, 16, 4


def sentences(number, generator):
    """Words (number, LENGTH) and the topics (number,) at which about half of them hint."""
    topics = torch.randint(TOPICS, (number,), generator=generator)
    words = torch.randint(WORDS, (number, LENGTH), generator=generator)
    hints = torch.rand(number, LENGTH, generator=generator) < 0.5
    own_words = words - words % TOPICS + topics[:, None]  # words of topic t: t, t + 4, t + 8, …
    return torch.where(hints, own_words, words), topics


class TopicReader(nn.Module):
    """One query, made from the mean of all words, attends to them with the class of part 2."""

    def __init__(self, rate):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.attention = SelfAttentionWithDropoutAndNorm(WIDTH, rate)
        self.topic = nn.Linear(WIDTH, TOPICS)

    def forward(self, words):
        x = self.embedding(words)  # (B, S, WIDTH)
        query = self.query(x.mean(dim=1, keepdim=True))  # (B, 1, WIDTH)
        collected = self.attention(query, self.key(x), self.value(x))  # (B, 1, WIDTH)
        return self.topic(collected.squeeze(1))  # (B, TOPICS)


# %%
def trained_and_tried(rate, seed, steps=60):
    """Losses on learned sentences in train and eval mode, the loss on new ones, and the share right."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    learned, topics = sentences(100, generator)
    new, new_topics = sentences(1000, generator)
    model = TopicReader(rate)
    velocities = {parameter: torch.zeros_like(parameter) for parameter in model.parameters()}
    for _ in range(steps):
        model.zero_grad()
        F.cross_entropy(model(learned), topics).backward()
        with torch.no_grad():  # gradient descent with momentum
            for parameter, velocity in velocities.items():
                if parameter.grad is not None:
                    velocity.mul_(0.9).add_(parameter.grad)
                    parameter.sub_(0.2 * velocity)
    with torch.no_grad():
        in_train_mode = F.cross_entropy(model(learned), topics)
        model.eval()
        in_eval_mode, logits = F.cross_entropy(model(learned), topics), model(new)
        right = (logits.argmax(dim=-1) == new_topics).float().mean()
        return torch.stack(
            [in_train_mode, in_eval_mode, F.cross_entropy(logits, new_topics), right]
        )


try:
    rows = {
        rate: torch.stack([trained_and_tried(rate, seed) for seed in (1, 2)]).mean(dim=0)
        for rate in (0.0, 0.1, 0.3, 0.5)
    }
    print("rate   learned, train mode   learned, eval mode    new   new ones right")
    for rate, numbers in rows.items():
        print("{:.1f} {:18.2f} {:20.2f} {:12.2f} {:12.0%}".format(rate, *numbers.tolist()))
except (AttributeError, NameError, RuntimeError, TypeError, ValueError) as error:
    print(f"The comparison comes when part 2 is right ({type(error).__name__}: {error})")

# %% [markdown]
# ### What you see, and why
#
# Answer in the cell below, in about 100 to 200 words. Numbers are welcome, both from the table and from your function
# of part 3.
#
# 1. *(1 point)* What happens as the rate grows, to the loss on the learned sentences in train mode, and to the loss on
#    the new ones? Why is the loss on the same sentences larger in train mode than in eval mode? And why may a model
#    that drops weights while it learns do better on new sentences here?
# 2. *(1 point)* Take a single row, $(0.5,\ 0.3,\ 0.2)$, and $p = 0.5$. Which sums can it have after the dropout in train
#    mode, and what is their average over all draws? What is its sum in eval mode? In your class a layer norm follows.
#    Which part of what dropout does to a row does the layer norm undo, and which not? What comes out for a row that has
#    lost all its weights?
#
# A person reads your answer. If you work on your own, you can compare the second half with lecture 7, under [what
# happens to rows that summed to
# one](../../lectures/07_layer_normalization.ipynb#What-happens-to-rows-that-summed-to-one) and in [the third of
# its three details](../../lectures/07_layer_normalization.ipynb#Three-details-that-are-easy-to-get-wrong).
#
# The next cell is for trying things out, and the one after it is for your answer.

# %%
torch.manual_seed(7)
row = torch.tensor([0.5, 0.3, 0.2])
for _ in range(5):
    dropped_row = F.dropout(row, p=0.5)
    print(dropped_row, f"sum {dropped_row.sum():.1f}")

# %% [markdown] written="rows_after_dropout" points=2
# **One answer.**
#
# As the rate grows from 0 to 0.5, the loss on the learned sentences in train mode rises from 0.00 to 0.29. On new
# sentences the loss falls from 1.70 to 0.53, and the share of right topics rises from 80 % to 85 %. On the learned
# sentences the loss in train mode is larger than in eval mode, because some of the hints are missing in every draw,
# whereas in eval mode all of them are there. Without dropout the model can memorise the 100 sentences, random words
# included, and is then very sure of itself when these words mean something else. With dropout any word may be
# missing, so the model has to rely on several hints at once, and hints are what new sentences have in common with
# the learned ones. This is seen on a task with few sentences and many hints. Where one word holds the whole answer, or
# where there is much more to learn from, dropout need not help.
#
# In the row each weight becomes 0 or doubles, so the row keeps some of the entries of $(1, 0.6, 0.4)$. All eight
# cases are equally likely. Their sums are 0, 0.4, 0.6, 1 (twice), 1.4, 1.6 and 2, and the average of these eight is
# 1, because of the division by $1 - p$. In eval mode the sum is exactly 1. Layer norm removes a factor that is common to
# the whole row (except for the effect of ε), so it hardly matters that the sum is not 1. It does not bring back the
# words that are missing. Without the first weight, the output is made of the second and third value alone, and
# points in another direction. A row loses everything in one draw of eight. The collected vector is then zero, and
# the norm turns it into its bias β, the same for every such query.
#
# **For the grader.** Each question is worth one point. Half points are fine, and so is any wording.
#
# - First question. The loss in train mode rises with the rate and the loss on new sentences falls (half a point).
#   In train mode hints are missing, and a model that cannot count on any single word memorises less and uses more of
#   the hints (half a point for these reasons). A table that differs from the one above, because of another class or
#   machine, is fine if the answer describes it.
# - Second question. The sum differs from draw to draw, between 0 and 2, is 1 on average and exactly 1 in eval mode
#   (half a point). Layer norm takes out the factor common to a row, but not the loss of the words that are missing,
#   and an empty row gives β (half a point; "zero" for "β" counts if the answer says that a new module's bias is zero).
# - No points off for a missing ε.

# %% [markdown]
# ## Before you hand in
#
# Restart the kernel and run all cells from the top, because what counts is the notebook as it stands and not what
# you ran on the way. Then save it and hand in this file under its name, `a7_dropout_and_layer_norm.ipynb`. You
# find it in `workspace/exercises/a7_dropout_and_layer_norm/` of the course folder.
#
# The next cell notes when the notebook ran and with which versions. It names neither you nor your machine,
# because the addresses of a machine are personal data and prove nothing about who did the work. The last cell sums up
# parts 1 to 3.

# %%
from course_utils.signoff import signoff

signoff()

# %%
check()
