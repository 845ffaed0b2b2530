"""Every relation is found where it was built, and none where there is none."""

from __future__ import annotations

import re

import numpy as np
import pytest

from assignments import COURSE
from autograder.checks.axes import axes_of, results_of
from autograder.checks.course import Letter
from autograder.checks.explain import numbers
from autograder.checks.explain.evidence import ResultPair
from autograder.checks.explain.relations import RELATIONS, in_common
from autograder.checks.explain.weights import not_shares

SEEDS = range(12)
AXES = ("B", "T", "D")
SIZES = ({"d_k": 3, "T": 7, "B": 2, "D": 5}, {"d_k": 11, "T": 6, "B": 3, "D": 8})


def softmax(values, axis=-1):
    lowered = np.exp(values - values.max(axis, keepdims=True))
    return lowered / lowered.sum(axis, keepdims=True)


def pairs_after(change, seed, *, right=None, called="output", kind="float32", letters=AXES, **more):
    """Two cases of different sizes, in both of which a result was changed in the same way."""
    draw = np.random.default_rng(seed)
    cases = []
    for sizes in SIZES:
        shape = tuple(sizes[letter] for letter in letters)
        expected = right(draw, shape) if right else draw.normal(size=shape)
        given = draw.normal(size=shape)
        found = change(expected, given, sizes)
        cases.append(
            ResultPair(
                expected,
                found,
                axes_of(called, letters, len(letters), COURSE.letters),
                called,
                {"x": given},
                sizes,
                kind=kind,
                found_kind=kind,
                letters=COURSE.letters,
                **more,
            )
        )
    return cases


def told(cases):
    """Name and sentence of what is found, or two empty texts."""
    return in_common(cases) or ("", "")


def weights(draw, shape):
    return softmax(draw.normal(size=shape) * 1.5)


BUILT = {
    "axes exchanged": (lambda e, x, s: e.swapaxes(1, 2), "the axis of the words, T"),
    "sentences and words": (lambda e, x, s: e.swapaxes(0, 1), "the axis of the sentences, B"),
    "all axes turned": (lambda e, x, s: e.transpose(2, 0, 1), r"\(D, B, T\)"),
    "words reversed": (lambda e, x, s: e[:, ::-1], "the words stand in reverse order"),
    "features rolled": (lambda e, x, s: np.roll(e, 1, 2), "the features are moved along"),
    "words permuted": (
        lambda e, x, s: e[:, [2, 0, 1, *range(3, e.shape[1])]],
        "words is right, but they stand in another order",
    ),
    "first for all": (
        lambda e, x, s: np.broadcast_to(e[:1], e.shape).copy(),
        "belongs to the first",
    ),
    "times a root": (lambda e, x, s: e * s["d_k"] ** 0.5, "√d_k times what it should be"),
    "divided by a length": (lambda e, x, s: e / s["T"], "1/T times what it should be"),
    "doubled": (lambda e, x, s: 2 * e, "twice what it should be"),
    "negated": (lambda e, x, s: -e, "right but for its sign"),
    "another factor each": (lambda e, x, s: e * (s["T"] + 0.123), "another from case to case"),
    "rows scaled": (
        lambda e, x, s: e * (1.5 + x[..., :1] ** 2),
        "each row of your output is right but for a factor of its own",
    ),
    "heads scaled": (
        lambda e, x, s: e * (1.5 + x[:, :1, :1] ** 2),
        "each sentence of your output is right but for a factor",
    ),
    "rows scaled and moved": (
        lambda e, x, s: e * (1.5 + x[..., :1] ** 2) + x[..., 1:2],
        "a factor and an offset of its own",
    ),
    "rounded": (lambda e, x, s: e.round(2), "rounded to 2 digits"),
    "one number": (lambda e, x, s: np.full_like(e, 0.2), "every number in your output is 0.2"),
    "words alike": (
        lambda e, x, s: np.broadcast_to(x[:, :1] + 1, e.shape),
        "all words have the same numbers",
    ),
    "first sentence only": (
        lambda e, x, s: np.concatenate([e[:1], x[1:]]),
        "only the first sentence is right",
    ),
    "last word wrong": (
        lambda e, x, s: np.concatenate([e[:, :-1], x[:, -1:]], 1),
        "only the last word is wrong",
    ),
    "other places": (
        lambda e, x, s: e.transpose(0, 2, 1).reshape(e.shape),
        "are there, but",
    ),
    "zeros in places": (
        lambda e, x, s: np.where(x > 1.0, 0.0, e),
        "some numbers are 0 that should not be",
    ),
}


@pytest.mark.parametrize(
    ("called", "sentence"),
    [
        ("ids", "Your ids are too short along the axis of the words, T, and what is there"),
        ("logits", "Your logits are too short"),
        ("loss", "Your loss is too short"),
        ("bias", "Your bias is too short"),
    ],
)
def test_a_result_is_spoken_of_in_the_number_of_its_name(called, sentence):
    short = pairs_after(lambda e, x, s: e[:, :-1], 3, called=called)
    assert told(short)[1].startswith(sentence)


def test_an_axis_that_counts_nothing_with_a_name_goes_by_its_letter():
    axes = axes_of("logits", ("B", "T", "tgt_vocab"), 3, COURSE.letters)
    assert [str(axis) for axis in axes][1:] == [
        "the axis of the words, T",
        "the axis of length tgt_vocab",
    ]


@pytest.mark.parametrize(("change", "words"), BUILT.values(), ids=BUILT)
def test_a_relation_that_was_built_is_found(change, words):
    for seed in SEEDS:
        name, sentence = told(pairs_after(change, seed))
        assert name
        assert re.search(words, sentence, re.IGNORECASE), sentence
        assert sentence[0].isupper()
        assert "?" in sentence or "Print" in sentence


OF_WEIGHTS = {
    "no sum": (
        lambda w, x, s: w * (1.5 + x[..., :1] ** 2),
        "the rows do not sum to one",
    ),
    "shared evenly": (
        lambda w, x, s: np.full_like(w, 1 / w.shape[-1]),
        "the same for all keys|one and the same",
    ),
    "all or nothing": (
        lambda w, x, s: (w == w.max(-1, keepdims=True)) * 1.0,
        "give everything to one of the keys",
    ),
    "causal": (
        lambda w, x, s: np.tril(w) / np.tril(w).sum(-1, keepdims=True),
        "every word sees only itself and what stands before it",
    ),
}


@pytest.mark.parametrize(("change", "words"), OF_WEIGHTS.values(), ids=OF_WEIGHTS)
def test_a_relation_of_weights_is_found(change, words):
    for seed in SEEDS:
        cases = pairs_after(change, seed, right=weights, called="weights", letters=("B", "T", "T"))
        name, sentence = told(cases)
        assert name
        assert re.search(words, sentence, re.IGNORECASE), sentence


def test_a_mask_that_is_missing_is_told_by_the_weights():
    for seed in SEEDS:
        draw = np.random.default_rng(seed)
        whole = [weights(draw, (2, 4, size)) for size in (6, 7)]
        cases = []
        for full in whole:
            hidden = np.arange(full.shape[-1]) >= full.shape[-1] - 2
            right = np.where(hidden, 0.0, full)
            right /= right.sum(-1, keepdims=True)
            cases.append(ResultPair(right, full, called="weights"))
        assert "should be hidden have a share" in told(cases)[1]


MASKS = {
    "the opposite": (lambda m, n: ~m, "the opposite of what is asked"),
    "too much": (lambda m, n: m | n, "also shows what should be hidden"),
    "too little": (lambda m, n: m & n, "also hides what should be seen"),
    "all": (lambda m, n: m | True, "shows everything|one and the same|every number"),
    "to be added": (lambda m, n: np.where(m, 0.0, -np.inf), "holds 0 and −∞"),
    "numbers": (lambda m, n: np.where(m, 7.0 + n, 0.0), "holds numbers where True and False"),
}


@pytest.mark.parametrize(("change", "words"), MASKS.values(), ids=MASKS)
def test_a_relation_of_masks_is_found(change, words):
    for seed in SEEDS:
        draw = np.random.default_rng(seed)
        cases = []
        for shape in ((5, 6), (7, 4)):
            right, other = draw.random((2, *shape)) < 0.5
            found = change(right, other)
            cases.append(
                ResultPair(right * 1.0, found * 1.0 if found.dtype == bool else found, kind="bool")
            )
        assert re.search(words, told(cases)[1], re.IGNORECASE), told(cases)


OF_SHAPE = {
    "squeezed": (lambda e, x, s: e[:, 0], (2, 1, 9), "an axis of length 1 is missing"),
    "one more": (lambda e, x, s: e[:, None], (2, 5, 9), "an axis of length 1 too many"),
    "flattened": (lambda e, x, s: e.reshape(len(e), -1), (2, 5, 9), "were made into one"),
    "summed": (lambda e, x, s: e.sum(1), (2, 5, 9), "summed over the axis of the words, T"),
    "averaged": (
        lambda e, x, s: e.mean(0),
        (2, 5, 9),
        "averaged over the axis of the sentences, B",
    ),
    "first word": (lambda e, x, s: e[:, 0], (2, 5, 9), "has the numbers of the first word alone"),
    "first sentence": (lambda e, x, s: e[:1], (2, 5, 9), "right for the first sentence"),
    "cut": (lambda e, x, s: e[:, :-2], (2, 5, 9), "too short along the axis of the words, T"),
    "continued": (
        lambda e, x, s: np.concatenate([e, e[:, :2] + 1], 1),
        (2, 5, 9),
        "too long along the axis of the words, T",
    ),
    "turned": (lambda e, x, s: e.transpose(1, 0, 2), (2, 5, 9), "exchanged"),
}


@pytest.mark.parametrize(("change", "shape", "words"), OF_SHAPE.values(), ids=OF_SHAPE)
def test_a_relation_of_shapes_is_found(change, shape, words):
    for seed in SEEDS:
        expected = np.random.default_rng(seed).normal(size=shape)
        found = change(expected, None, None)
        name, sentence = told([ResultPair(expected, found, axes_of("", AXES, 3, COURSE.letters))])
        assert name
        assert re.search(words, sentence, re.IGNORECASE), sentence


def test_single_precision_is_seen_where_double_is_asked():
    for seed in SEEDS:
        cases = pairs_after(
            lambda e, x, s: e.astype(np.float32).astype(np.float64), seed, kind="float64"
        )
        assert "about seven digits" in told(cases)[1]


@pytest.mark.parametrize("guard", [1e-6, -1e-7])
def test_a_small_number_in_a_divisor_is_not_taken_for_single_precision(guard):
    for seed in SEEDS:
        cases = pairs_after(lambda e, x, s: e / (1 + guard), seed, kind="float64")
        sentence = told(cases)[1]
        assert "added to what you divide by" in sentence and "float32" not in sentence, sentence
        assert ("too small" if guard > 0 else "too large") in sentence


@pytest.mark.parametrize("right", [None, weights], ids=["numbers", "weights"])
@pytest.mark.parametrize("other", [None, weights], ids=["numbers", "weights"])
def test_nothing_is_said_of_numbers_that_have_nothing_to_do_with_each_other(right, other):
    for seed in range(150):
        draw = np.random.default_rng(10_000 + seed)

        def unrelated(e, x, s, draw=draw):
            return other(draw, e.shape) if other else draw.normal(size=e.shape)

        name, sentence = told(pairs_after(unrelated, seed, right=right))
        if right is not None and other is None:
            # true whatever else holds: shares were asked, and these are none
            assert name in ("weights that are no shares", ""), sentence
        else:
            assert name == "", sentence


@pytest.mark.parametrize("kind", ["bool", "int64"])
def test_nothing_is_said_of_masks_and_ids_that_have_nothing_to_do_with_each_other(kind):
    most = 2 if kind == "bool" else 50
    for seed in range(150):
        draw = np.random.default_rng(seed)
        pairs = [draw.integers(0, most, (2, *shape)).astype(float) for shape in ((5, 6), (7, 4))]
        cases = [ResultPair(right, found, kind=kind, found_kind=kind) for right, found in pairs]
        assert told(cases) == ("", "")


def test_chance_says_nothing():
    once = ResultPair(np.array([2.0]), np.array([4.0]), sizes={"d_k": 4}, letters=COURSE.letters)
    alike = ResultPair(
        np.full((3, 3), 2.0), np.full((3, 3), 4.0), sizes={"d_k": 4}, letters=COURSE.letters
    )
    few = ResultPair(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 3.0], [2.0, 4.0]]))
    for case in (once, alike, few):
        assert told([case]) == ("", "")


def test_zeros_throughout_are_not_those_of_one_place():
    expected = np.random.default_rng(0).normal(size=(3, 9))
    expected[-1] = 0.0
    assert "belongs to the last" not in told([ResultPair(expected, np.zeros((3, 9)))])[1]


def test_what_holds_in_one_case_alone_is_not_said_of_both():
    one, other = pairs_after(lambda e, x, s: e * s["d_k"] ** 0.5, 1)
    broken = ResultPair(
        other.expected, other.expected[:, ::-1] + 3.3 * other.inputs["x"], other.axes
    )
    assert told([one])[0]
    assert told([one, broken]) == ("", "")


def test_a_letter_is_said_and_not_a_number_that_is_the_same_by_chance():
    one = pairs_after(lambda e, x, s: 2 * e, 3)[0]
    four = ResultPair(
        one.expected, one.found, one.axes, "output", {}, {"d_k": 4}, letters=COURSE.letters
    )
    nine = ResultPair(
        one.expected, one.found, one.axes, "output", {}, {"d_k": 9}, letters=COURSE.letters
    )
    assert "√d_k times" in told([four])[1]
    assert "twice" in told([four, nine])[1]


@pytest.mark.parametrize(
    "odd",
    [np.nan, np.inf, -np.inf, 1e300, 0.0],
)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 3), (2, 0, 3), (2, 3, 4, 5, 2)])
def test_whatever_comes_back_no_relation_stops_with_an_error(odd, shape):
    draw = np.random.default_rng(0)
    right = draw.normal(size=(2, 3, 4))
    found = draw.normal(size=shape)
    found[...] = np.where(draw.random(shape) < 0.5, odd, found)
    for expected in (right, np.abs(right) / np.abs(right).sum(-1, keepdims=True), right * 0):
        for kind in ("float64", "bool"):
            case = ResultPair(expected, found, inputs={"x": right}, sizes={"T": 3}, kind=kind)
            for relation in RELATIONS:
                sentences = relation.sentences_on(case)
                assert all(isinstance(sentence, str) for sentence in sentences)


def test_results_are_read_from_signatures():
    from assignments import load

    scaled = load("a3_scaled_dot_product_attention").part("scaled_dot_product_attention")
    assert results_of(scaled, scaled.name) == (
        ("output", ("...", "T", "d_v")),
        ("weights", ("...", "T", "S")),
    )
    axes = axes_of("weights", ("...", "T", "S"), 3, COURSE.letters)
    assert [str(axis) for axis in axes] == [
        "axis 0",
        "the axis of the queries, T",
        "the axis of the keys, S",
    ]
    transformer = load("a9_transformer").part("Transformer")
    assert results_of(transformer, "decode") == (("logits", ("B", "T", "tgt_vocab")),)


def test_axes_and_factors_go_by_the_letters_of_the_course():
    letters = {"n": Letter("day", "days"), "k": Letter("place", "places", is_a_factor=True)}
    days, other = axes_of("x", ("n", "T"), 2, letters)
    assert (str(days), days.place(2)) == ("the axis of the days, n", "day 2")
    assert (str(other), other.place(2)) == ("the axis of length T", "index 2 along T")
    pair = ResultPair(np.ones(3), np.ones(3), sizes={"n": 9, "k": 9}, letters=letters)
    assert next(numbers.factor_in_words(pair, 3.0)) == "√k times"


def test_one_number_for_each_case_is_none_for_all_cases():
    """The inputs play a part in it, so that is not denied."""
    name, sentence = told(pairs_after(lambda right, *_: np.full_like(right, right.mean()), 0))
    assert name == "all the same"
    assert "another from case to case" in sentence
    name, sentence = told(pairs_after(lambda right, *_: np.full_like(right, 0.5), 0))
    assert name == "all the same"
    assert "is 0.5. " in sentence


def test_shares_that_sum_to_one_along_another_axis_by_chance():
    """Each row gives all to a key of its own, so the columns sum to one as well; yours need not."""
    right = np.eye(5)[None]
    found = weights(np.random.default_rng(0), right.shape)
    axes = axes_of("weights", ("B", "T", "S"), 3, COURSE.letters)
    pair = ResultPair(right, found, axes, "weights", letters=COURSE.letters)
    assert list(not_shares(pair)) == []


def test_numbers_that_lost_digits_alone_are_right_in_another_form():
    right = np.random.default_rng(0).normal(size=(3, 4))
    for change, lost in ((1e-4, True), (1.0, False)):
        pair = ResultPair(right, right + change, kind="float64", found_kind="float32")
        assert pair.lost_digits_alone is lost
    assert not ResultPair(
        right, right + 1e-4, kind="float64", found_kind="float64"
    ).lost_digits_alone
