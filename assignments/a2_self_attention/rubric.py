"""Assignment 2: self-attention without parameters, and what makes it a function of sets."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.checks.cases import Case, Randn
from autograder.checks.check import Part
from autograder.checks.compare import first_agrees, kind_of, rows_rank, values_agree
from autograder.checks.problem import Judgement
from autograder.probe.wire import Function
from course_utils import attention
from lecture_kit import handed_over

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
        return [Function(f"{handed_over.__name__}.{function}"), x, permutation]

    return Case(f"f = {label}", draw)


def answer_is_right(expected: bool, got: Any) -> Judgement:
    """Say what a wrong True and a wrong False have overlooked."""
    if values_agree(expected, got) is None:
        return None
    if not isinstance(got, bool) and not (isinstance(got, Tensor) and got.numel() == 1):
        return f"expected True or False, got {kind_of(got)}"
    if expected:
        return (
            "expected True, got False: f(x[p]) and f(x)[p] are equal here, but for rounding. Which "
            "two things does your code compare, and does it forgive rounding?"
        )
    return (
        "expected False, got True: f(x[p]) and f(x)[p] differ here. Is every number of the two "
        "compared, each with the one at its own place, within the tolerances of the text?"
    )


# -------------------------------------------------------------------------- attention_weights

weights = Part(
    "attention_weights(x (T, D)) -> weights (T, T)",
    attention.attention_weights,
    reads=("lecture 2, on similarity and softmax", LECTURE),
)
weights.example = sentence(T=3, D=2)
ROWS = weights.step(
    "each row sums to one and gives more weight to more similar words",
    1, sentence(T=5, D=3), sentence(T=3, D=7), judge=rows_rank,
)  # fmt: skip
EXACT = weights.step(
    "the weights are exact, whatever the length and width",
    1, sentence(T=5, D=3), sentence(T=2, D=70), sentence(T=1, D=3), sentence(T=103, D=2),
)  # fmt: skip
WEIGHTS_MANNERS = weights.manners(
    1, sentence(T=7, D=4),
    asks="float64 stays float64, x stays as it was, any memory layout works, gradients flow",
)  # fmt: skip


# ----------------------------------------------------------------------- basic_self_attention

context = Part(
    "basic_self_attention(x (T, D)) -> (z (T, D), weights (T, T))",
    attention.basic_self_attention,
    reads=("lecture 2, on context vectors", LECTURE),
    may_call=("attention_weights",),
)
context.example = sentence(T=3, D=2)
CONTEXT = context.step(
    "z holds each word's context vector, the weighted sum of all words",
    1, sentence(T=5, D=3), sentence(T=103, D=2), sentence(T=2, D=70), sentence(T=4, D=4), sentence(T=1, D=5),
    judge=first_agrees,
)  # fmt: skip
BESIDE = context.manners(
    1, sentence(T=7, D=4),
    asks="the weights come second; float64, untouched x, any memory layout, gradients",
)  # fmt: skip


# ----------------------------------------------------------------------------- self_attention

batch = Part(
    "self_attention(query (B, T, d_k), key (B, S, d_k), value (B, S, d_v)) -> (B, T, d_v)",
    attention.self_attention,
    reads=("lecture 2, on three roles and whole batches", LECTURE),
    may_call=("attention_weights", "basic_self_attention"),
)
batch.example = triple(B=1, T=2, S=3, d_k=2, d_v=1)
ONE = batch.step(
    "one sentence: every query gets the weighted sum of the values",
    1, triple(B=1, T=5, S=5, d_k=3, d_v=3), triple(B=1, T=3, S=3, d_k=7, d_v=7),
)  # fmt: skip
BATCH = batch.step(
    "a batch, with T ≠ S and d_k ≠ d_v: every sentence by itself",
    1,
    triple(B=2, T=3, S=5, d_k=4, d_v=6),
    triple(B=12, T=7, S=2, d_k=5, d_v=3),
    triple(B=2, T=70, S=3, d_k=2, d_v=4),
    triple(B=2, T=3, S=130, d_k=2, d_v=4),
    triple(B=2, T=3, S=2, d_k=40, d_v=4),
    triple(B=2, T=3, S=2, d_k=4, d_v=50),
    triple(B=2, T=5, S=5, d_k=3, d_v=3),
    triple(B=2, T=1, S=4, d_k=3, d_v=5),
    triple(B=2, T=4, S=1, d_k=3, d_v=5),
)
MANNERS = batch.manners(
    1, triple(B=2, T=3, S=5, d_k=4, d_v=6),
    triple(B=2, T=4, S=4, d_k=3, d_v=3),  # slips that stop elsewhere go on here
    asks="float64 stays float64, inputs stay as they were, any memory layout, gradients flow",
)  # fmt: skip


# ----------------------------------------------------------------- is_permutation_equivariant

equivariant = Part(
    "is_permutation_equivariant(f, x (T, D), permutation (T,)) -> bool",
    attention.is_permutation_equivariant,
    reads=("lecture 2, on the order of words", LECTURE),
)
TELLS = equivariant.step(
    "tells functions that treat words alike from those that look at the order",
    1,
    reordering("2x", "doubled", 5, 3, 2, whole=True),
    reordering("x", "unchanged", 4, 3, 2, whole=True),
    reordering("running sum", "running_sum", 5, 3, 2, whole=True),
    reordering("rows in reverse", "backwards", 5, 3, 2, whole=True),
    reordering("every row minus the first", "minus_first", 5, 3, 2, start=True, whole=True),
    reordering("the sum of all rows, everywhere", "total_everywhere", 5, 3, 2, whole=True),
    judge=answer_is_right,
)
ANY_PERMUTATION = equivariant.step(
    "any permutation, rounding forgiven, small effects of order noticed, a plain bool",
    1,
    reordering("2x, three words moved round", "doubled", 5, 3, 3),
    reordering("softmax down the sentence, with rounding", "share_of_total", 31, 17, 23),
    reordering("x minus its mean, with rounding", "centred", 37, 19, 29),
    reordering("length of each row, shape (T,)", "row_lengths", 7, 3, 5),
    reordering("row times row, shape (T, D, D)", "in_three_axes", 7, 3, 5),
    reordering("each column sorted", "sorted_rows", 7, 3, 5),
    reordering("running sum, first three words moved", "running_sum", 5, 3, 3, start=True),
    reordering("running sum, a long sentence", "running_sum", 150, 3, 2, whole=True),
    reordering("x + 0.0005 · position", "slightly_positional", 7, 11, 5),
    reordering("x + 0.0005 · position, two words swapped", "slightly_positional", 7, 11, 2),
    reordering("numbers near 1, order changes them by 0.00003", "barely_positional", 7, 3, 5),
    reordering("numbers near 1000, by 0.02", "large_and_barely_positional", 7, 3, 5),
    reordering("numbers near 1000, by 0.4", "large_and_positional", 7, 3, 5),
    reordering("numbers near 0, by 0.000005", "nearly_nothing", 7, 3, 5),
    reordering("numbers near 0, by 0.00005", "small_and_positional", 7, 3, 5),
    reordering("x, last column depends on the order", "last_column_positional", 5, 3, 3),
    reordering("the first row", "first_everywhere", 5, 1, 3, start=True, rising=True),
    reordering("minus the first row", "minus_first_everywhere", 5, 1, 3, start=True, rising=True),
    reordering("distances between words, shape (T, T)", "all_pairs", 5, 3, 4),
    reordering("x, the permutation that moves nothing", "unchanged", 5, 3, 1),
    reordering("running sum, the permutation that moves nothing", "running_sum", 5, 3, 1),
    judge=answer_is_right,
    strict=True,
)
