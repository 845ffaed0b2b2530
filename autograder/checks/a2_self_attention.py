"""Assignment 2: self-attention without parameters, and what makes it a function of sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.probe.wire import Function
from autograder.verdict.check import Assignment, Case, Part, Randn
from autograder.verdict.compare import first_agrees, rows_rank
from course_utils import attention

LECTURE = "../../lectures/02_basic_self_attention.ipynb"

# ------------------------------------------------------------------------------ what is drawn


def sentence(T: int, D: int) -> Case:
    """x (T, D) whose dot products are neither tiny nor saturated."""
    # distinct lengths of the vectors keep any two weights of a row apart
    return Case(f"a sentence of {T=} words, {D=}", lambda randn: [randn(T, D) * 1.4 / D**0.5])


def triple(B: int, T: int, S: int, d_k: int, d_v: int) -> Case:
    """query (B, T, d_k), key (B, S, d_k), value (B, S, d_v)."""
    loud = 1.2 / d_k**0.25
    return Case(
        f"{B=}, {T=}, {S=}, {d_k=}, {d_v=}",
        lambda randn: [randn(B, T, d_k) * loud, randn(B, S, d_k) * loud, randn(B, S, d_v)],
    )


def reordering(
    label: str, function: str, T: int, D: int, cycle: int,
    *, start: bool = False, whole: bool = False, rising: bool = False,
) -> Case:  # fmt: skip
    """(f, x, permutation); the permutation moves ``cycle`` words round by one.

    A cycle of two is its own inverse; a longer one is not. It moves the last words, so that a look
    at the first row alone finds nothing, or with ``start`` the first. With ``whole``, x holds whole
    numbers, whose sums are exact in any order. With ``rising``, each column of x grows with the
    place, so that the sign of a change is known.
    """

    def draw(randn: Randn) -> list[Any]:
        x = randn(T, D)
        if whole:
            x = torch.randint(-9, 10, (T, D), generator=randn.generator).float()
            x[:, 0] = torch.randperm(T, generator=randn.generator).float()  # no two rows are equal
        if rising:
            x = x.sort(dim=0).values
        permutation = torch.arange(T)
        moved = permutation[:cycle] if start else permutation[T - cycle :]
        moved.copy_(moved.roll(1))
        return [Function(function), x, permutation]

    return Case(f"f = {label}", draw)


SCALED = (
    "Your numbers match scores divided by √D before the softmax. This assignment asks for the "
    "unscaled dot products of lecture 2; the division comes in lecture 3. Leave it out here."
)
RESHAPED = (
    "The shape fits, but `reshape` and `view` keep the numbers in their old order, so words and "
    "features get mixed up. `transpose` (for two axes also `.T`) turns rows into columns."
)

# -------------------------------------------------------------------------- attention_weights

weights = Part(
    "attention_weights(x (T, D)) -> weights (T, T)",
    attention.attention_weights,
    reads=("lecture 2, on similarity and softmax", LECTURE),
)
weights.step(
    "each row sums to one and gives more weight to more similar words",
    1, sentence(T=5, D=3), sentence(T=3, D=7), judge=rows_rank,
)  # fmt: skip
weights.step(
    "the weights are exact, whatever the length and width",
    1, sentence(T=5, D=3), sentence(T=2, D=11), sentence(T=1, D=3), sentence(T=13, D=5),
)  # fmt: skip
weights.manners(
    1, sentence(T=7, D=4),
    asks="float64 stays float64, x stays as it was, any memory layout works, gradients flow",
)  # fmt: skip


@weights.mistake("softmax over the columns")
def over_columns(x):
    """Your weights match a softmax over the wrong axis: their columns sum to one, not their rows.
    Row i holds how word i shares out its attention, so use `dim=-1` (and, if you sum by hand,
    `keepdim=True`)."""
    return (x @ x.T).softmax(dim=0)


@weights.mistake("scaled although unscaled was asked", SCALED)
def scaled(x):
    return (x @ x.T / x.shape[1] ** 0.5).softmax(dim=-1)


@weights.mistake("scores returned for weights")
def scores_for_weights(x):
    """Your numbers are the scores ω = x xᵀ themselves. Turn each row into weights with a
    softmax."""
    return x @ x.T


@weights.mistake("divided by the sum without exp")
def shares_without_exp(x):
    """Your numbers match each score divided by its row's sum. Scores can be negative, so take exp
    of each first: that is what the softmax does."""
    return x @ x.T / (x @ x.T).sum(dim=-1, keepdim=True)


@weights.mistake("exp without the division")
def exp_without_sum(x):
    """Your numbers match exp of the scores. Divide each row by its own sum."""
    return (x @ x.T).exp()


@weights.mistake("softmax over all words at once")
def over_all(x):
    """Your weights sum to one over the whole matrix. Each row is a word's own attention and sums to
    one by itself: use `dim=-1`."""
    return (x @ x.T).flatten().softmax(dim=0).reshape(len(x), len(x))


@weights.mistake("cosine similarity")
def cosine(x):
    """Your numbers match cosine similarity: the word vectors were divided by their lengths first.
    Take the plain dot products; their sizes matter."""
    unit = x / x.norm(dim=-1, keepdim=True)
    return (unit @ unit.T).softmax(dim=-1)


@weights.mistake("reshape for transpose", RESHAPED)
def reshaped(x):
    return (x @ x.reshape(x.shape[1], x.shape[0])).softmax(dim=-1)


@weights.mistake("features compared instead of words")
def features_for_words(x):
    """Your result is (D, D): it compares columns of x, the features. Rows are words: ω = x xᵀ, not
    xᵀ x."""
    return (x.T @ x).softmax(dim=-1)


# ----------------------------------------------------------------------- basic_self_attention

context = Part(
    "basic_self_attention(x (T, D)) -> (z (T, D), weights (T, T))",
    attention.basic_self_attention,
    reads=("lecture 2, on context vectors", LECTURE),
    may_call=("attention_weights",),
)
context.step(
    "z holds each word's context vector, the weighted sum of all words",
    1, sentence(T=5, D=3), sentence(T=3, D=7), sentence(T=4, D=4), sentence(T=1, D=5),
    judge=first_agrees,
)  # fmt: skip
context.manners(
    1, sentence(T=7, D=4),
    asks="the weights come second; float64, untouched x, any memory layout, gradients",
)  # fmt: skip


@context.mistake("results in the wrong order")
def swapped_results(x):
    """You return the weights first. The course returns (output, weights), here
    `return z, weights`."""
    z, weights = attention.basic_self_attention(x)
    return weights, z


@context.mistake("z returned without the weights")
def context_alone(x):
    """z is right, but it comes alone. Return both: `return z, weights`."""
    return attention.basic_self_attention(x)[0]


@context.mistake("weights transposed before the sum")
def weights_transposed(x):
    """Your z sums down the columns of the weights. Word i uses row i: z = weights @ x, with no
    transpose."""
    weights = attention.attention_weights(x)
    return weights.T @ x, weights


@context.mistake("scores returned for weights")
def scores_beside_context(x):
    """z is right, but what stands beside it are the scores before the softmax. Return the
    weights."""
    return context_alone(x), scores_for_weights(x)


@context.mistake("summed with scores instead of weights")
def context_from_scores(x):
    """Your z weighs the words with the raw scores. Use the weights after the softmax."""
    return x @ x.T @ x, attention.attention_weights(x)


@context.mistake("context vectors written over the words")
def context_over_inputs(x):
    """You store z_i in row i of x while later words still need it: from the second word on, the
    sums use context vectors in place of words, and the caller's x is changed. Collect the results
    in a new tensor."""
    x, weights = x.clone(), attention.attention_weights(x)
    for i in range(len(x)):
        x[i] = weights[i] @ x
    return x, weights


def on_top_of(wrong: Callable[[Tensor], Tensor]) -> Callable[[Tensor], tuple]:
    return lambda x: (wrong(x) @ x, wrong(x))


context.inherit(weights, on_top_of, over_columns, scaled, cosine, reshaped)

# ----------------------------------------------------------------------------- self_attention

batch = Part(
    "self_attention(query (B, T, d_k), key (B, S, d_k), value (B, S, d_v)) -> (B, T, d_v)",
    attention.self_attention,
    reads=("lecture 2, on three roles and whole batches", LECTURE),
    may_call=("attention_weights", "basic_self_attention"),
)
batch.step(
    "one sentence: every query gets the weighted sum of the values",
    1, triple(B=1, T=5, S=5, d_k=3, d_v=3), triple(B=1, T=3, S=3, d_k=7, d_v=7),
)  # fmt: skip
batch.step(
    "a batch, with T ≠ S and d_k ≠ d_v: every sentence by itself",
    1,
    triple(B=2, T=3, S=5, d_k=4, d_v=6),
    triple(B=3, T=7, S=2, d_k=5, d_v=3),
    triple(B=2, T=5, S=5, d_k=3, d_v=3),
    triple(B=2, T=1, S=4, d_k=3, d_v=5),
    triple(B=2, T=4, S=1, d_k=3, d_v=5),
)
batch.manners(
    1, triple(B=2, T=3, S=5, d_k=4, d_v=6),
    asks="float64 stays float64, inputs stay as they were, any memory layout, gradients flow",
)  # fmt: skip


def attend(query: Tensor, key: Tensor, value: Tensor, dim: int = -1, scale: float = 1.0) -> Tensor:
    return torch.bmm((torch.bmm(query, key.mT) / scale).softmax(dim), value)


@batch.mistake("softmax over the queries")
def over_queries(query, key, value):
    """Your weights match a softmax over the queries. Each query shares out its attention over the
    keys, the last axis of query · keyᵀ: use `dim=-1`."""
    return attend(query, key, value, dim=1)


@batch.mistake("softmax over the batch")
def over_batch(query, key, value):
    """Your weights match a softmax over the batch, so sentences compete with each other. The keys
    are the last axis: use `dim=-1`."""
    return attend(query, key, value, dim=0)


@batch.mistake("scaled although unscaled was asked", SCALED)
def scaled_batch(query, key, value):
    return attend(query, key, value, scale=key.shape[-1] ** 0.5)


@batch.mistake("reshape for transpose", RESHAPED)
def key_reshaped(query, key, value):
    return attend(query, key.reshape(len(key), key.shape[2], key.shape[1]).mT, value)


@batch.mistake("divided by d_k")
def divided_by_width(query, key, value):
    """Your numbers match scores divided by d_k. This assignment asks for unscaled scores."""
    return attend(query, key, value, scale=key.shape[-1])


@batch.mistake("query and key swapped")
def swapped_query_and_key(query, key, value):
    """You score keys against queries (key · queryᵀ). Rows of the scores belong to the queries:
    query · keyᵀ, shape (B, T, S)."""
    return attend(key, query, value)


@batch.mistake("key used as value")
def key_for_value(query, key, value):
    """Your output is a weighted sum of the keys. Weights come from query and key; what they weigh
    is the value."""
    return attend(query, key, key)


@batch.mistake("query used as value")
def query_for_value(query, key, value):
    """Your output is a weighted sum of the queries. What the weights weigh is the value."""
    return attend(query, key, query)


@batch.mistake("query used as key")
def query_for_key(query, key, value):
    """You compare the queries with themselves. Compare each query with the keys."""
    return attend(query, query, value)


@batch.mistake("query used as key and value")
def query_everywhere(query, key, value):
    """Your output depends on the query alone. It is compared with the keys, and what is collected
    are the values."""
    return attend(query, query, query)


@batch.mistake("sentences of a batch mixed")
def mixed_batch(query, key, value):
    """A word attends to words of other sentences: the batch was flattened into one long sentence.
    Keep axis 0 apart, as `torch.bmm` does."""
    flat = [item.reshape(1, -1, item.shape[-1]) for item in (query, key, value)]
    return attend(*flat).reshape(*query.shape[:2], value.shape[-1])


@batch.mistake("only the first sentence used")
def first_sentence_only(query, key, value):
    """Every sentence of the batch gets the first one's output. Keep axis 0 throughout."""
    return attend(query[:1], key[:1], value[:1]).expand(len(query), -1, -1)


@batch.mistake("no softmax")
def without_softmax(query, key, value):
    """Your output weighs the values with raw scores. Turn each row of scores into weights with a
    softmax first."""
    return query @ key.mT @ value


@batch.mistake("weights returned for the output")
def weights_for_output(query, key, value):
    """You return the weights. The last step is missing: multiply them with the values."""
    return (query @ key.mT).softmax(dim=-1)


@batch.mistake("weights returned beside the output")
def output_and_weights(query, key, value):
    """The output is right, but it comes in a tuple. This function returns the output alone."""
    return attend(query, key, value), weights_for_output(query, key, value)


# ----------------------------------------------------------------- is_permutation_equivariant

equivariant = Part(
    "is_permutation_equivariant(f, x (T, D), permutation (T,)) -> bool",
    attention.is_permutation_equivariant,
    reads=("lecture 2, on the order of words", LECTURE),
)
equivariant.step(
    "tells functions that treat words alike from those that look at the order",
    1,
    reordering("2x", "doubled", 5, 3, 2, whole=True),
    reordering("x", "unchanged", 4, 3, 2, whole=True),
    reordering("running sum", "running_sum", 5, 3, 2, whole=True),
    reordering("rows in reverse", "backwards", 5, 3, 2, whole=True),
    reordering("every row minus the first", "minus_first", 5, 3, 2, start=True, whole=True),
    reordering("the sum of all rows, everywhere", "total_everywhere", 5, 3, 2, whole=True),
)
equivariant.step(
    "any permutation, rounding forgiven, small effects of order noticed, a plain bool",
    1,
    reordering("2x, three words moved round", "doubled", 5, 3, 3),
    reordering("softmax down the sentence, with rounding", "share_of_total", 31, 17, 23),
    reordering("x minus its mean, with rounding", "centred", 37, 19, 29),
    reordering("length of each row, shape (T,)", "row_lengths", 7, 3, 5),
    reordering("row times row, shape (T, D, D)", "in_three_axes", 7, 3, 5),
    reordering("each column sorted", "sorted_rows", 7, 3, 5),
    reordering("running sum, first three words moved", "running_sum", 5, 3, 3, start=True),
    reordering("x + 0.0005 · position", "slightly_positional", 7, 11, 5),
    reordering("x + 0.0005 · position, two words swapped", "slightly_positional", 7, 11, 2),
    reordering("numbers near 1, order changes them by 0.00003", "barely_positional", 7, 3, 5),
    reordering("numbers near 1000, by 0.02", "large_and_barely_positional", 7, 3, 5),
    reordering("numbers near 0, by 0.000005", "nearly_nothing", 7, 3, 5),
    reordering("x, last column depends on the order", "last_column_positional", 5, 3, 3),
    reordering("the first row", "first_everywhere", 5, 1, 3, start=True, rising=True),
    reordering("minus the first row", "minus_first_everywhere", 5, 1, 3, start=True, rising=True),
    reordering("distances between words, shape (T, T)", "all_pairs", 5, 3, 4),
    reordering("x, the permutation that moves nothing", "unchanged", 5, 3, 1),
    reordering("running sum, the permutation that moves nothing", "running_sum", 5, 3, 1),
    strict=True,
)


def close(one: Tensor, other: Tensor, rtol: float = 1e-4, atol: float = 1e-5) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=rtol, atol=atol)


@equivariant.mistake("invariance tested, not equivariance")
def invariance(f, x, permutation):
    """You compare f(x) with f(x[permutation]): that asks whether the order leaves no trace
    (invariance). Equivariance asks whether the output is reordered in the same way."""
    return close(f(x), f(x[permutation]))


@equivariant.mistake("permutation undone in the wrong direction")
def inverse_permutation(f, x, permutation):
    """This holds only for permutations that are their own inverse, such as swapping two words. Try
    it by hand with three words moved round."""
    return close(f(x[permutation])[permutation], f(x))


@equivariant.mistake("exact equality")
def exact_equality(f, x, permutation):
    """Sums in another order differ in the last digits of float32, and `torch.equal` forgives
    nothing. Compare with a tolerance: rtol 1e-4, atol 1e-5."""
    return torch.equal(f(x[permutation]), f(x)[permutation])


@equivariant.mistake("numbers compared without their places")
def same_numbers_anywhere(f, x, permutation):
    """You compare which numbers come out, wherever they stand. Each row must land exactly where the
    permutation puts it."""
    return close(f(x).flatten().sort().values, f(x[permutation]).flatten().sort().values)


@equivariant.mistake("tensor returned for a bool")
def tensor_for_bool(f, x, permutation):
    """The answer is right, but it is a tensor. Wrap it in `bool(…)`."""
    return torch.isclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5).all()


@equivariant.mistake("torch.allclose with its own tolerances")
def default_tolerance(f, x, permutation):
    """`torch.allclose` without further arguments uses rtol 1e-5 and atol 1e-8. Give it the
    tolerances of the text: rtol 1e-4 and atol 1e-5."""
    return torch.allclose(f(x[permutation]), f(x)[permutation])


@equivariant.mistake("difference without its absolute value")
def difference_with_sign(f, x, permutation):
    """You ask whether the difference is small, but a large negative difference is small too. Take
    its absolute value, or use `torch.allclose`."""
    return bool((f(x[permutation]) - f(x)[permutation]).max() < 1e-5)


@equivariant.mistake("tolerance too wide")
def loose_tolerance(f, x, permutation):
    """A small effect of the order goes unnoticed. Use rtol 1e-4 and atol 1e-5."""
    return close(f(x[permutation]), f(x)[permutation], rtol=0.01, atol=0.01)


ASSIGNMENT = Assignment(
    "a2_self_attention",
    parts=(weights, context, batch, equivariant),
    barred=("scaled_dot_product_attention", "MultiheadAttention", "multi_head_attention_forward",
            "_scaled_dot_product_attention"),
)  # fmt: skip
