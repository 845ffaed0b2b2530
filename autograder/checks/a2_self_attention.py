"""Assignment 2: self-attention without parameters, and the property that makes it a set function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.check import Assignment, Case, Mistake, Part, Step
from autograder.compare import first_agrees, rows_rank
from autograder.wire import Function
from course_utils import attention

LECTURE = "../../lectures/02_basic_self_attention.ipynb"


def sentence(length: int, width: int, dtype: torch.dtype = torch.float32) -> Callable[..., list]:
    """Draws x (length, width) whose dot products are neither tiny nor saturated."""

    def draw(generator: torch.Generator) -> list[Any]:
        # distinct lengths of the vectors keep any two weights of a row apart
        x = torch.randn(length, width, generator=generator, dtype=torch.float64)
        return [(x * 1.4 / width**0.5).to(dtype)]

    return draw


def triple(
    batch: int, queries: int, keys: int, d_k: int, d_v: int, dtype: torch.dtype = torch.float32
) -> Callable[..., list]:
    """Draws query (batch, queries, d_k), key (batch, keys, d_k), value (batch, keys, d_v)."""

    def draw(generator: torch.Generator) -> list[Any]:
        shapes = (batch, queries, d_k), (batch, keys, d_k), (batch, keys, d_v)
        drawn = [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]
        return [
            (drawn[0] * 1.2 / d_k**0.25).to(dtype),
            (drawn[1] * 1.2 / d_k**0.25).to(dtype),
            drawn[2].to(dtype),
        ]

    return draw


def reordering(
    function: str,
    length: int,
    width: int,
    cycle: int,
    *,
    start: bool = False,
    whole: bool = False,
    rising: bool = False,
) -> Callable[..., list]:
    """Draws (f, x, permutation); the permutation moves ``cycle`` words round by one.

    A cycle of two is its own inverse; a longer one is not. It moves the last words, so that a look
    at the first row alone finds nothing, or with ``start`` the first. With ``whole``, x holds whole
    numbers, whose sums are exact in any order. With ``rising``, each column of x grows with the
    place, so that the sign of a change is known.
    """

    def draw(generator: torch.Generator) -> list[Any]:
        x = torch.randn(length, width, generator=generator)
        if whole:
            x = torch.randint(-9, 10, (length, width), generator=generator).float()
            x[:, 0] = torch.randperm(length, generator=generator).float()  # no two rows are equal
        if rising:
            x = x.sort(dim=0).values
        permutation = torch.arange(length)
        moved = permutation[:cycle] if start else permutation[length - cycle :]
        moved.copy_(moved.roll(1))
        return [Function(function), x, permutation]

    return draw


# Wrong answers that people give. Each is a whole implementation, so that it can be run against
# the same inputs as a submission's.


def softmax_over_columns(x: Tensor) -> Tensor:
    return (x @ x.T).softmax(dim=0)


def scaled_weights(x: Tensor) -> Tensor:
    return (x @ x.T / x.shape[1] ** 0.5).softmax(dim=-1)


def scores_for_weights(x: Tensor) -> Tensor:
    return x @ x.T


def shares_without_exp(x: Tensor) -> Tensor:
    scores = x @ x.T
    return scores / scores.sum(dim=-1, keepdim=True)


def reshaped_for_transposed(x: Tensor) -> Tensor:
    return (x @ x.reshape(x.shape[1], x.shape[0])).softmax(dim=-1)


def exp_without_sum(x: Tensor) -> Tensor:
    return (x @ x.T).exp()


def softmax_over_all(x: Tensor) -> Tensor:
    scores = x @ x.T
    return scores.flatten().softmax(dim=0).reshape(scores.shape)


def cosine_weights(x: Tensor) -> Tensor:
    unit = x / x.norm(dim=-1, keepdim=True)
    return (unit @ unit.T).softmax(dim=-1)


def features_for_words(x: Tensor) -> Tensor:
    return (x.T @ x).softmax(dim=-1)


def swapped_results(x: Tensor) -> tuple[Tensor, Tensor]:
    z, weights = attention.basic_self_attention(x)
    return weights, z


def context_alone(x: Tensor) -> Tensor:
    return attention.basic_self_attention(x)[0]


def weights_transposed(x: Tensor) -> tuple[Tensor, Tensor]:
    weights = attention.attention_weights(x)
    return weights.T @ x, weights


def context_over_inputs(x: Tensor) -> tuple[Tensor, Tensor]:
    x, weights = x.clone(), attention.attention_weights(x)
    for i in range(len(x)):
        x[i] = weights[i] @ x
    return x, weights


def scores_beside_context(x: Tensor) -> tuple[Tensor, Tensor]:
    return context_alone(x), scores_for_weights(x)


def context_from_scores(x: Tensor) -> tuple[Tensor, Tensor]:
    return x @ x.T @ x, attention.attention_weights(x)


def context_of(wrong_weights: Callable[[Tensor], Tensor]) -> Callable[[Tensor], tuple]:
    """basic_self_attention on top of wrong weights."""

    def answer(x: Tensor) -> tuple[Tensor, Tensor]:
        weights = wrong_weights(x)
        return weights @ x, weights

    return answer


def attend(
    dim: int = -1, scale: Callable[[int], float] | None = None
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """self_attention with the softmax over another axis or the scores divided."""

    def answer(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = torch.bmm(query, key.transpose(1, 2))
        if scale is not None:
            scores = scores / scale(key.shape[-1])
        return torch.bmm(scores.softmax(dim=dim), value)

    return answer


def key_reshaped_for_transposed(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    batch, length, width = key.shape
    scores = torch.bmm(query, key.reshape(batch, width, length))
    return torch.bmm(scores.softmax(dim=-1), value)


def swapped_query_and_key(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return torch.bmm(torch.bmm(key, query.transpose(1, 2)).softmax(dim=-1), value)


def key_for_value(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return attention.self_attention(query, key, key)


def query_for_value(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return attention.self_attention(query, key, query)


def query_for_key(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return attention.self_attention(query, query, value)


def query_everywhere(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return attention.self_attention(query, query, query)


def mixed_batch(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    # one long sentence made of the whole batch
    flat = [item.reshape(1, -1, item.shape[-1]) for item in (query, key, value)]
    return attention.self_attention(*flat).reshape(*query.shape[:2], value.shape[-1])


def first_sentence_only(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    output = attention.self_attention(query[:1], key[:1], value[:1])
    return output.expand(query.shape[0], -1, -1)


def output_without_softmax(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return torch.bmm(torch.bmm(query, key.transpose(1, 2)), value)


def weights_for_output(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return torch.bmm(query, key.transpose(1, 2)).softmax(dim=-1)


def output_and_weights(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    weights = weights_for_output(query, key, value)
    return torch.bmm(weights, value), weights


def invariance(f: Callable, x: Tensor, permutation: Tensor) -> bool:
    before, after = f(x), f(x[permutation])
    return before.shape == after.shape and torch.allclose(before, after, rtol=1e-4, atol=1e-5)


def inverse_permutation(f: Callable, x: Tensor, permutation: Tensor) -> bool:
    return torch.allclose(f(x[permutation])[permutation], f(x), rtol=1e-4, atol=1e-5)


def exact_equality(f: Callable, x: Tensor, permutation: Tensor) -> bool:
    return torch.equal(f(x[permutation]), f(x)[permutation])


def same_numbers_anywhere(f: Callable, x: Tensor, permutation: Tensor) -> bool:
    before, after = f(x).flatten().sort().values, f(x[permutation]).flatten().sort().values
    return torch.allclose(before, after, rtol=1e-4, atol=1e-5)


def tensor_for_bool(f: Callable, x: Tensor, permutation: Tensor) -> Tensor:
    return torch.isclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5).all()


def loose_tolerance(f: Callable, x: Tensor, permutation: Tensor) -> bool:
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=0.01, atol=0.01)


def default_tolerance(f: Callable, x: Tensor, permutation: Tensor) -> bool:
    return torch.allclose(f(x[permutation]), f(x)[permutation])


def difference_with_sign(f: Callable, x: Tensor, permutation: Tensor) -> bool:
    return bool((f(x[permutation]) - f(x)[permutation]).max() < 1e-5)


SCALED = (
    "Your numbers match scores divided by √D before the softmax. This assignment asks for the "
    "unscaled dot products of lecture 2; the division comes in lecture 3. Leave it out here."
)
OVER_COLUMNS = (
    "Your weights match a softmax over the wrong axis: their columns sum to one, not their rows. "
    "Row i holds how word i shares out its attention, so use `dim=-1` (and, if you sum by hand, "
    "`keepdim=True`)."
)
RESHAPED = (
    "The shape fits, but `reshape` and `view` keep the numbers in their old order, so words and "
    "features get mixed up. `transpose` (for two axes also `.T`) turns rows into columns."
)
COSINE = (
    "Your numbers match cosine similarity: the word vectors were divided by their lengths first. "
    "Take the plain dot products; their sizes matter."
)

attention_weights = Part(
    name="attention_weights",
    signature="attention_weights(x (T, D)) -> weights (T, T)",
    reference=attention.attention_weights,
    steps=(
        Step(
            "each row sums to one and gives more weight to more similar words",
            1,
            (
                Case("a sentence of T=5 words, D=3", sentence(5, 3)),
                Case("a sentence of T=3 words, D=7", sentence(3, 7)),
            ),
            judge=rows_rank,
        ),
        Step(
            "the weights are exact, whatever the length and width",
            1,
            (
                Case("a sentence of T=5 words, D=3", sentence(5, 3)),
                Case("a sentence of T=2 words, D=11", sentence(2, 11)),
                Case("a single word, T=1, D=3", sentence(1, 3)),
                Case("a sentence of T=13 words, D=5", sentence(13, 5)),
            ),
        ),
        Step(
            "float64 stays float64, x stays as it was, any memory layout works, gradients flow",
            1,
            (
                Case("x in float64, T=5, D=3", sentence(5, 3, torch.float64)),
                Case("x with gaps in memory, T=7, D=4", sentence(7, 4), strided=True),
                Case("the gradient for x, T=5, D=3", sentence(5, 3), gradient=True),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("softmax over the columns", softmax_over_columns, OVER_COLUMNS),
        Mistake("scaled although unscaled was asked", scaled_weights, SCALED),
        Mistake(
            "scores returned for weights",
            scores_for_weights,
            "Your numbers are the scores ω = x xᵀ themselves. Turn each row into weights with a "
            "softmax.",
        ),
        Mistake(
            "divided by the sum without exp",
            shares_without_exp,
            "Your numbers match each score divided by its row's sum. Scores can be negative, so "
            "take exp of each first: that is what the softmax does.",
        ),
        Mistake(
            "exp without the division",
            exp_without_sum,
            "Your numbers match exp of the scores. Divide each row by its own sum.",
        ),
        Mistake(
            "softmax over all words at once",
            softmax_over_all,
            "Your weights sum to one over the whole matrix. Each row is a word's own attention and "
            "sums to one by itself: use `dim=-1`.",
        ),
        Mistake("cosine similarity", cosine_weights, COSINE),
        Mistake("reshape for transpose", reshaped_for_transposed, RESHAPED),
        Mistake(
            "features compared instead of words",
            features_for_words,
            "Your result is (D, D): it compares columns of x, the features. Rows are words: "
            "ω = x xᵀ, not xᵀ x.",
        ),
    ),
    reads=("lecture 2, on similarity and softmax", LECTURE),
)

basic_self_attention = Part(
    name="basic_self_attention",
    signature="basic_self_attention(x (T, D)) -> (z (T, D), weights (T, T))",
    reference=attention.basic_self_attention,
    steps=(
        Step(
            "z holds each word's context vector, the weighted sum of all words",
            1,
            (
                Case("a sentence of T=5 words, D=3", sentence(5, 3)),
                Case("a sentence of T=3 words, D=7", sentence(3, 7)),
                Case("as many words as features, T=D=4", sentence(4, 4)),
                Case("a single word, T=1, D=5", sentence(1, 5)),
            ),
            judge=first_agrees,
        ),
        Step(
            "the weights come second; float64, untouched x, any memory layout, gradients",
            1,
            (
                Case("a sentence of T=5 words, D=3", sentence(5, 3)),
                Case("x in float64, T=5, D=3", sentence(5, 3, torch.float64)),
                Case("x with gaps in memory, T=7, D=4", sentence(7, 4), strided=True),
                Case("the gradient for x, T=5, D=3", sentence(5, 3), gradient=True),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "results in the wrong order",
            swapped_results,
            "You return the weights first. The course returns (output, weights), here "
            "`return z, weights`.",
        ),
        Mistake(
            "z returned without the weights",
            context_alone,
            "z is right, but it comes alone. Return both: `return z, weights`.",
        ),
        Mistake(
            "weights transposed before the sum",
            weights_transposed,
            "Your z sums down the columns of the weights. Word i uses row i: z = weights @ x, with "
            "no transpose.",
        ),
        Mistake(
            "scores returned for weights",
            scores_beside_context,
            "z is right, but what stands beside it are the scores before the softmax. Return the "
            "weights.",
        ),
        Mistake(
            "summed with scores instead of weights",
            context_from_scores,
            "Your z weighs the words with the raw scores. Use the weights after the softmax.",
        ),
        Mistake(
            "context vectors written over the words",
            context_over_inputs,
            "You store z_i in row i of x while later words still need it: from the second word on, "
            "the sums use context vectors in place of words, and the caller's x is changed. Collect "
            "the results in a new tensor.",
        ),
        Mistake("softmax over the columns", context_of(softmax_over_columns), OVER_COLUMNS),
        Mistake("scaled although unscaled was asked", context_of(scaled_weights), SCALED),
        Mistake("cosine similarity", context_of(cosine_weights), COSINE),
        Mistake("reshape for transpose", context_of(reshaped_for_transposed), RESHAPED),
    ),
    reads=("lecture 2, on context vectors", LECTURE),
    may_call=("attention_weights",),
)

self_attention = Part(
    name="self_attention",
    signature="self_attention(query (B, T, d_k), key (B, S, d_k), value (B, S, d_v)) -> (B, T, d_v)",
    reference=attention.self_attention,
    steps=(
        Step(
            "one sentence: every query gets the weighted sum of the values",
            1,
            (
                Case("one sentence, T=S=5, d_k=d_v=3", triple(1, 5, 5, 3, 3)),
                Case("one sentence, T=S=3, d_k=d_v=7", triple(1, 3, 3, 7, 7)),
            ),
        ),
        Step(
            "a batch, with T ≠ S and d_k ≠ d_v: every sentence by itself",
            1,
            (
                Case("two sentences, T=3, S=5, d_k=4, d_v=6", triple(2, 3, 5, 4, 6)),
                Case("three sentences, T=7, S=2, d_k=5, d_v=3", triple(3, 7, 2, 5, 3)),
                Case("two sentences, T=S=5, d_k=d_v=3", triple(2, 5, 5, 3, 3)),
                Case("a single query, T=1, S=4", triple(2, 1, 4, 3, 5)),
                Case("a single key, T=4, S=1", triple(2, 4, 1, 3, 5)),
            ),
        ),
        Step(
            "float64 stays float64, inputs stay as they were, any memory layout, gradients flow",
            1,
            (
                Case("float64, two sentences", triple(2, 3, 5, 4, 6, torch.float64)),
                Case("inputs with gaps in memory", triple(2, 3, 5, 4, 6), strided=True),
                Case("gradients for query, key, value", triple(2, 3, 5, 4, 6), gradient=True),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "softmax over the queries",
            attend(dim=1),
            "Your weights match a softmax over the queries. Each query shares out its attention "
            "over the keys, the last axis of query · keyᵀ: use `dim=-1`.",
        ),
        Mistake(
            "softmax over the batch",
            attend(dim=0),
            "Your weights match a softmax over the batch, so sentences compete with each other. "
            "The keys are the last axis: use `dim=-1`.",
        ),
        Mistake("scaled although unscaled was asked", attend(scale=lambda d: d**0.5), SCALED),
        Mistake("reshape for transpose", key_reshaped_for_transposed, RESHAPED),
        Mistake(
            "divided by d_k",
            attend(scale=float),
            "Your numbers match scores divided by d_k. This assignment asks for unscaled scores.",
        ),
        Mistake(
            "query and key swapped",
            swapped_query_and_key,
            "You score keys against queries (key · queryᵀ). Rows of the scores belong to the "
            "queries: query · keyᵀ, shape (B, T, S).",
        ),
        Mistake(
            "key used as value",
            key_for_value,
            "Your output is a weighted sum of the keys. Weights come from query and key; what they "
            "weigh is the value.",
        ),
        Mistake(
            "query used as value",
            query_for_value,
            "Your output is a weighted sum of the queries. What the weights weigh is the value.",
        ),
        Mistake(
            "query used as key",
            query_for_key,
            "You compare the queries with themselves. Compare each query with the keys.",
        ),
        Mistake(
            "query used as key and value",
            query_everywhere,
            "Your output depends on the query alone. It is compared with the keys, and what is "
            "collected are the values.",
        ),
        Mistake(
            "sentences of a batch mixed",
            mixed_batch,
            "A word attends to words of other sentences: the batch was flattened into one long "
            "sentence. Keep axis 0 apart, as `torch.bmm` does.",
        ),
        Mistake(
            "only the first sentence used",
            first_sentence_only,
            "Every sentence of the batch gets the first one's output. Keep axis 0 throughout.",
        ),
        Mistake(
            "no softmax",
            output_without_softmax,
            "Your output weighs the values with raw scores. Turn each row of scores into weights "
            "with a softmax first.",
        ),
        Mistake(
            "weights returned for the output",
            weights_for_output,
            "You return the weights. The last step is missing: multiply them with the values.",
        ),
        Mistake(
            "weights returned beside the output",
            output_and_weights,
            "The output is right, but it comes in a tuple. This function returns the output alone.",
        ),
    ),
    reads=("lecture 2, on three roles and whole batches", LECTURE),
    may_call=("attention_weights", "basic_self_attention"),
)

is_permutation_equivariant = Part(
    name="is_permutation_equivariant",
    signature="is_permutation_equivariant(f, x (T, D), permutation (T,)) -> bool",
    reference=attention.is_permutation_equivariant,
    steps=(
        Step(
            "tells functions that treat words alike from those that look at the order",
            1,
            (
                Case("f(x) = 2x", reordering("doubled", 5, 3, 2, whole=True)),
                Case("f(x) = x", reordering("unchanged", 4, 3, 2, whole=True)),
                Case("f = running sum", reordering("running_sum", 5, 3, 2, whole=True)),
                Case("f = rows in reverse", reordering("backwards", 5, 3, 2, whole=True)),
                Case(
                    "f = every row minus the first",
                    reordering("minus_first", 5, 3, 2, start=True, whole=True),
                ),
                Case(
                    "f = the sum of all rows, at every position",
                    reordering("total_everywhere", 5, 3, 2, whole=True),
                ),
            ),
        ),
        Step(
            "any permutation, rounding forgiven, small effects of order noticed, a plain bool",
            1,
            (
                Case("f(x) = 2x, three words moved round", reordering("doubled", 5, 3, 3)),
                Case(
                    "f = softmax down the sentence, with rounding",
                    reordering("share_of_total", 31, 17, 23),
                ),
                Case("f = x minus its mean, with rounding", reordering("centred", 37, 19, 29)),
                Case("f = length of each row, shape (T,)", reordering("row_lengths", 7, 3, 5)),
                Case("f = row times row, shape (T, D, D)", reordering("in_three_axes", 7, 3, 5)),
                Case("f = each column sorted", reordering("sorted_rows", 7, 3, 5)),
                Case(
                    "f = running sum, the first three words moved round",
                    reordering("running_sum", 5, 3, 3, start=True),
                ),
                Case("f(x) = x + 0.0005 · position", reordering("slightly_positional", 7, 11, 5)),
                Case(
                    "f(x) = x + 0.0005 · position, two words swapped",
                    reordering("slightly_positional", 7, 11, 2),
                ),
                Case(
                    "f: order changes numbers near 1 by 0.00003",
                    reordering("barely_positional", 7, 3, 5),
                ),
                Case(
                    "f: order changes numbers near 1000 by 0.02",
                    reordering("large_and_barely_positional", 7, 3, 5),
                ),
                Case(
                    "f: order changes numbers near 0 by 0.000005",
                    reordering("nearly_nothing", 7, 3, 5),
                ),
                Case(
                    "f: only the last column depends on the order",
                    reordering("last_column_positional", 5, 3, 3),
                ),
                Case(
                    "f = the first row everywhere, one column",
                    reordering("first_everywhere", 5, 1, 3, start=True, rising=True),
                ),
                Case(
                    "f = minus the first row everywhere, one column",
                    reordering("minus_first_everywhere", 5, 1, 3, start=True, rising=True),
                ),
                Case("f = distances between words, shape (T, T)", reordering("all_pairs", 5, 3, 4)),
                Case("f = x, the permutation that moves nothing", reordering("unchanged", 5, 3, 1)),
                Case(
                    "f = running sum, the permutation that moves nothing",
                    reordering("running_sum", 5, 3, 1),
                ),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "invariance tested, not equivariance",
            invariance,
            "You compare f(x) with f(x[permutation]): that asks whether the order leaves no trace "
            "(invariance). Equivariance asks whether the output is reordered in the same way.",
        ),
        Mistake(
            "permutation undone in the wrong direction",
            inverse_permutation,
            "This holds only for permutations that are their own inverse, such as swapping two "
            "words. Try it by hand with three words moved round.",
        ),
        Mistake(
            "exact equality",
            exact_equality,
            "Sums in another order differ in the last digits of float32, and `torch.equal` forgives "
            "nothing. Compare with a tolerance: rtol 1e-4, atol 1e-5.",
        ),
        Mistake(
            "numbers compared without their places",
            same_numbers_anywhere,
            "You compare which numbers come out, wherever they stand. Each row must land exactly "
            "where the permutation puts it.",
        ),
        Mistake(
            "tensor returned for a bool",
            tensor_for_bool,
            "The answer is right, but it is a tensor. Wrap it in `bool(…)`.",
        ),
        Mistake(
            "torch.allclose with its own tolerances",
            default_tolerance,
            "`torch.allclose` without further arguments uses rtol 1e-5 and atol 1e-8. Give it the "
            "tolerances of the text: rtol 1e-4 and atol 1e-5.",
        ),
        Mistake(
            "difference without its absolute value",
            difference_with_sign,
            "You ask whether the difference is small, but a large negative difference is small too. "
            "Take its absolute value, or use `torch.allclose`.",
        ),
        Mistake(
            "tolerance too wide",
            loose_tolerance,
            "A small effect of the order goes unnoticed. Use rtol 1e-4 and atol 1e-5.",
        ),
    ),
    reads=("lecture 2, on the order of words", LECTURE),
)

ASSIGNMENT = Assignment(
    name="a2_self_attention",
    parts=(
        attention_weights, basic_self_attention, self_attention, is_permutation_equivariant,
    ),
    barred=(
        "scaled_dot_product_attention", "MultiheadAttention", "multi_head_attention_forward",
        "_scaled_dot_product_attention",
    ),
)  # fmt: skip
