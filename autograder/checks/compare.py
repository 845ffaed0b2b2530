"""Compare what a student's code returned with what the reference returned, and say what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.arrays import Array, as_numpy, dtype_name, is_array, is_tensor
from autograder.checks.plain_values import (
    entries_agree,
    is_number,
    is_whole,
    keys_agree,
    members_agree,
    quoted,
    texts_agree,
)
from autograder.checks.problem import Kind, Problem
from autograder.probe.wire import Opaque

# float32 leaves about seven digits, float64 about fifteen; sums lose a few of them
TOLERANCES = {"float64": (2e-8, 1e-10)}  # relative and absolute, by dtype
RELATIVE, ABSOLUTE = 1e-4, 1e-5
LONGEST_LIST = 4  # of which a sentence names every entry


def kind_of(value: Any) -> str:
    """A value's type in words that a student knows."""
    if is_tensor(value):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, np.ndarray | np.generic):
        return f"a NumPy {value.dtype} array of shape {value.shape}"
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        if len(value) > LONGEST_LIST or any(isinstance(item, tuple | list) for item in value):
            return f"a {kind} of length {len(value)}"
        return f"a {kind} of {len(value)} ({', '.join(kind_of(item) for item in value)})"
    if isinstance(value, dict | set | frozenset):
        return f"a {'dict' if isinstance(value, dict) else 'set'} of {len(value)}"
    if value is None:
        return "None (is there a `return`?)"
    if isinstance(value, Opaque):
        return f"a value of type {value.type_name}"
    if type(value) is float:
        return f"{short(value)} of type float"
    return f"{quoted(value)} of type {type(value).__name__}"


def short(number: float) -> str:
    """A number in at most four digits; what is almost zero from below is 0, not -0."""
    text = f"{number:.4g}"
    return "0" if text == "-0" else text


def numbers(values: Any, most: int = 5) -> str:
    """The first few numbers of an array, rounded as people read them."""
    first = values.flatten()[: most + 1].tolist()
    text = ", ".join(
        str(item) if isinstance(item, bool) else short(float(item)) for item in first[:most]
    )
    return f"[{text}{', …' if len(first) > most else ''}]"


def values_agree(expected: Any, got: Any) -> Problem | None:
    """None if ``got`` is ``expected`` within tolerance, else the first difference.

    Tensors and NumPy arrays count by their values; a dtype or device is not compared here. Numbers agree as
    numbers, text letter for letter, and lists, dicts and sets by what they hold. What else a reference may
    return is a `Kind.ODD` problem, since its step needs a judge of its own.
    """
    expected, got = _without_scalars(expected), _without_scalars(got)
    if isinstance(expected, tuple):
        if not isinstance(got, tuple | list) or len(got) != len(expected):
            return another_type(expected, got)
        of_one_precision = _as_coarse_as_the_coarsest(expected, got)
        for number, (wanted, item) in enumerate(zip(expected, of_one_precision, strict=True)):
            problem = values_agree(wanted, item)
            if problem:
                return problem.in_result(number)
        return None
    if are_pairs(expected):
        return pairs_agree(expected, got)
    for kinds, alike, agree in CONTAINERS:
        if isinstance(expected, kinds):
            return agree(expected, got) if isinstance(got, alike) else another_type(expected, got)
    if isinstance(expected, bool):
        return _truth_values_agree(expected, got)
    if is_number(expected) and is_tensor(got) and got.ndim == 0:
        got = as_numpy(got)
    if is_number(expected) and is_number(got):
        return _single_numbers_agree(expected, got)
    if isinstance(expected, np.ndarray) and expected.dtype == bool and isinstance(got, bool):
        got = np.asarray(got)
    if is_array(expected):
        return _arrays_agree(expected, got)
    if expected is None and got is None:
        return None
    if expected is None or is_number(expected):
        return another_type(expected, got)
    return Problem(
        Kind.ODD, f"{kind_of(expected)} can't be compared: the step needs a judge of its own"
    )


def _without_scalars(value: Any) -> Any:
    """A value, in the place of one of NumPy's scalars an array without axes, as it comes from a submission."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def _truth_values_agree(expected: bool, got: Any) -> Problem | None:
    if is_array(got) and got.ndim == 0:
        got = bool(got)
    if not isinstance(got, bool):
        return Problem(Kind.TYPE, f"expected {expected}, got {kind_of(got)}")
    if got == expected:
        return None
    return Problem(Kind.NUMBERS, f"expected {expected}, got {got}")


def _single_numbers_agree(expected: Any, got: Any) -> Problem | None:
    # whole numbers may have more digits than a float
    if isinstance(expected, int) and isinstance(got, int):
        if got == expected:
            return None
        return Problem(Kind.NUMBERS, f"expected {quoted(expected)}, got {quoted(got)}")
    try:
        wanted, found = (
            one if isinstance(one, np.ndarray) else np.asarray(one, np.result_type(type(one)))
            for one in (expected, got)
        )
    except OverflowError:
        return Problem(Kind.NUMBERS, f"expected {quoted(expected)}, got {quoted(got)}")
    return _numbers_agree(wanted, found)


def _arrays_agree(expected: Any, got: Any) -> Problem | None:
    if not is_array(got):
        return another_type(expected, got)
    if got.shape != expected.shape:
        return another_shape(expected, got)
    return _numbers_agree(as_numpy(expected), as_numpy(got))


# of containers and texts: what is asked, what may come, and what compares them
CONTAINERS: tuple[tuple[Any, Any, Callable[[Any, Any], Problem | None]], ...] = (
    (list, (list, tuple), lambda one, other: entries_agree(one, other, values_agree)),
    (dict, dict, lambda one, other: keys_agree(one, other, values_agree)),
    (
        (set, frozenset),
        (set, frozenset),
        lambda one, other: members_agree(one, other, values_agree),
    ),
    (str, str, texts_agree),
)


def _as_coarse_as_the_coarsest(expected: Sequence[Any], got: Sequence[Any]) -> list[Any]:
    """NumPy results in float32, if one of them is where float64 was expected.

    NumPy makes float64 of float32 and float64, so that a result may have the dtype of many digits, and
    those of few.
    """
    coarse = any(
        isinstance(item, np.ndarray)
        and item.dtype == np.float32
        and getattr(wanted, "dtype", None) == np.float64
        for wanted, item in zip(expected, got, strict=True)
    )
    return [
        item.astype(np.float32)
        if coarse and isinstance(item, np.ndarray) and item.dtype == np.float64
        else item
        for item in got
    ]


def are_pairs(value: Any) -> bool:
    """Whether a value is a list of pairs of texts, and not an empty one."""
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_pair, value))


def _is_pair(item: Any) -> bool:
    return (
        isinstance(item, list | tuple) and len(item) == 2 and all(isinstance(s, str) for s in item)
    )


def pairs_agree(expected: list[tuple[str, str]], got: Any) -> Problem | None:
    """None if ``got`` holds these pairs of texts in this order; lists and tuples are both right."""
    if not isinstance(got, list | tuple):
        return another_type(expected, got)
    # in a list of texts and pairs nothing is compared that has no yes or no
    if all(isinstance(item, str) or _is_pair(item) for item in got) and list(got) == expected:
        return None
    for number, item in enumerate(got):
        if not _is_pair(item):
            return Problem(
                Kind.TYPE,
                f"expected pairs of two texts, (left, right), but entry {number} (counting from 0) is "
                f"{item!r}"[:200],
            )
    for number, (wanted, item) in enumerate(zip(expected, got, strict=False)):
        if tuple(item) != tuple(wanted):
            return Problem(
                Kind.NUMBERS,
                f"pair {number} (counting from 0) should be {tuple(wanted)} and is {tuple(item)}"[
                    :200
                ],
            )
    if len(got) != len(expected):
        return Problem(Kind.SHAPE, f"expected {len(expected)} pairs, got {len(got)}")
    return None


def another_type(expected: Any, got: Any) -> Problem:
    """That a result is of another type, or holds another number of results."""
    return Problem(Kind.TYPE, f"expected {kind_of(expected)}, got {kind_of(got)}")


def another_shape(expected: Any, got: Any) -> Problem:
    """That an array has another shape."""
    shapes = f"expected shape {tuple(expected.shape)}, got {tuple(got.shape)}"
    return Problem(Kind.SHAPE, shapes)


def tolerances(expected: Array, got: Array) -> tuple[float, float]:
    """How far apart, relative and absolute, the numbers of two arrays may be."""
    if expected.dtype.kind != "f":
        return 0.0, 0.0  # ids and truth values are right or wrong
    # a float32 answer to a float64 question is judged as float32; its dtype is another matter
    if got.dtype == expected.dtype:
        return TOLERANCES.get(dtype_name(expected), (RELATIVE, ABSOLUTE))
    return RELATIVE, ABSOLUTE


def _numbers_agree(expected: Array, got: Array) -> Problem | None:
    wanted, found = expected.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(found).all()
    if not finite and np.isfinite(wanted).all():
        return Problem(Kind.NUMBERS, "the result holds NaN or infinity")
    relative, absolute = tolerances(expected, got)
    with np.errstate(all="ignore"):
        apart = np.abs(wanted - found)
        near = apart <= absolute + relative * np.abs(found)
        if not finite:
            both_nan = np.isnan(wanted) & np.isnan(found)
            near = (near & np.isfinite(apart)) | (wanted == found) | both_nan
    if near.all():
        return None
    where = np.unravel_index(int(apart.argmax()), wanted.shape)
    right, wrong = float(wanted[where]), float(found[where])
    place = f"[{', '.join(str(int(item)) for item in where)}]"
    if short(right) == short(wrong):
        what = f"the entry {place}" if wanted.ndim else "it"
        return Problem(
            Kind.NUMBERS,
            f"{what} should be {short(right)} and is off by {abs(wrong - right):.1g}: too "
            f"far apart for {dtype_name(expected)}",
        )
    if wanted.ndim == 0:
        return Problem(Kind.NUMBERS, f"expected {short(right)}, got {short(wrong)}")
    if wanted.ndim < 2:
        return Problem(
            Kind.NUMBERS,
            f"expected {numbers(expected)}, got {numbers(got)} (largest difference at {place})",
        )
    row = where[:-1]
    index = ", ".join(str(int(item)) for item in row)
    return Problem(
        Kind.NUMBERS,
        f"row [{index}] should be {numbers(wanted[row])} and is {numbers(found[row])} "
        f"(largest difference at {place}: {short(right)}, yours {short(wrong)})",
    )


def hidden_are_zero(expected: Any, got: Any) -> Problem | None:
    """Like `values_agree`, and what is exactly 0 in ``expected`` must be exactly 0."""
    problem = values_agree(expected, got)
    if problem:
        return problem
    pairs = zip(expected, got, strict=True) if isinstance(expected, tuple) else [(expected, got)]
    for wanted, found in pairs:
        left = as_numpy(found)[as_numpy(wanted) == 0]
        if (left != 0).any():
            return Problem(
                Kind.NUMBERS,
                f"a hidden weight must be exactly 0, but one is {float(np.abs(left).max()):.3g}: a "
                "score of minus infinity before the softmax gives exactly 0, a large negative "
                "number does not always",
            )
    return None


def dropped(p: float) -> Callable[[Any, Any], Problem | None]:
    """A judge for dropout: every entry is 0 or 1/(1 - p) times the one without dropout.

    About a share of p must be 0, within five standard deviations.
    """

    def judge(expected: Any, got: Any) -> Problem | None:
        if not is_tensor(got) or got.shape != expected.shape:
            return another_type(expected, got)
        wanted, found = (as_numpy(one).astype(np.float64) for one in (expected, got))
        kept = np.isclose(found, wanted / (1 - p), rtol=RELATIVE, atol=ABSOLUTE)
        if not (kept | (found == 0)).all():
            place = tuple(np.argwhere(~(kept | (found == 0)))[0].tolist())
            return Problem(
                Kind.NUMBERS,
                f"in train mode with dropout {p:g}, each entry should be 0 or 1/(1 - {p:g}) times "
                f"what it is without dropout; the entry {list(place)} is {float(found[place]):.4g}, "
                f"without dropout {float(wanted[place]):.4g}",
            )
        chances = wanted != 0
        share = float((found[chances] == 0).mean())
        if abs(share - p) > 5 * (p * (1 - p) / int(chances.sum())) ** 0.5:
            return Problem(
                Kind.NUMBERS,
                f"in train mode with dropout {p:g}, a share of {share:.2f} of the entries is 0",
            )
        return None

    return judge


def two_results_differ(expected: Any, got: Any) -> Problem | None:
    """A judge for what is left to chance: two calls with the same input give different results."""
    if not isinstance(got, list) or len(got) != 2:
        return another_type(expected, got)
    wanted = expected[0] if isinstance(expected, list) else expected
    for value in got:
        if is_tensor(value) and value.shape != wanted.shape:
            return another_shape(wanted, value)
    if values_agree(got[0], got[1]) is None:
        return Problem(
            Kind.NUMBERS, "two calls in train mode should differ, but they give the same result"
        )
    return None


def first_agrees(expected: tuple, got: Any) -> Problem | None:
    """Compare only the first of several results; what stands beside it is another step's matter."""
    if not isinstance(got, tuple | list) or not got:
        return another_type(expected, got)
    problem = values_agree(expected[0], got[0])
    return problem.in_result(0) if problem else None


def rows_rank(expected: Any, got: Any) -> Problem | None:
    """Accept any positive rows that sum to one and order the words as the expected rows do."""
    if not is_array(got):
        return another_type(expected, got)
    if got.shape != expected.shape:
        return another_shape(expected, got)
    found = as_numpy(got).astype(np.float64)
    sums = found.sum(axis=-1)
    if not np.isfinite(found).all():
        return Problem(Kind.NUMBERS, "the result holds NaN or infinity")
    if not np.allclose(sums, 1, atol=1e-4):
        return Problem(Kind.NUMBERS, f"each row should sum to 1; your rows sum to {numbers(sums)}")
    if (found < 0).any():
        return Problem(
            Kind.NUMBERS, f"weights cannot be negative; the smallest is {float(found.min()):.4g}"
        )
    order, other = (np.argsort(-one, axis=-1, kind="stable") for one in (as_numpy(expected), found))
    wrong = order != other
    if wrong.any():
        row, rank = np.argwhere(wrong)[0].tolist()
        return Problem(
            Kind.NUMBERS,
            f"in row [{row}], the words by falling weight should be {order[row].tolist()} and are "
            f"{other[row].tolist()}: they differ from place {rank} on (counting from 0)",
        )
    return None


def strict_differences(expected: Any, got: Any) -> Problem | None:
    """What values alone do not show: the framework, the dtype, and plain Python types."""
    if isinstance(expected, tuple):
        pairs = list(zip(expected, got, strict=True))
        return next(filter(None, (strict_differences(*pair) for pair in pairs)), None)
    if isinstance(expected, dict):
        found = {str(key): value for key, value in got.items()}
        pairs = [(value, found.get(str(key))) for key, value in expected.items()]
        return next(filter(None, (strict_differences(*pair) for pair in pairs)), None)
    expected = _without_scalars(expected)
    if isinstance(expected, bool):
        if not isinstance(got, bool):
            return Problem(
                Kind.TYPE, f"expected a plain Python bool, got {kind_of(got)}: wrap it in bool(…)"
            )
        return None
    if is_number(expected):
        return _another_kind_of_number(expected, _without_scalars(got))
    if isinstance(expected, np.ndarray):
        if isinstance(got, np.ndarray | np.generic) or (
            not expected.ndim and isinstance(got, bool)
        ):
            return None
        return Problem(Kind.TYPE, f"expected a NumPy array, got {kind_of(got)}")
    if not is_tensor(expected):
        return None
    if not is_tensor(got):
        return Problem(Kind.TYPE, f"expected a torch tensor, got {kind_of(got)}")
    if got.dtype != expected.dtype:
        origin = ", the dtype of the input" if expected.is_floating_point() else ""
        return Problem(Kind.DTYPE, f"expected dtype {expected.dtype}{origin}, got {got.dtype}")
    return None


def _another_kind_of_number(expected: Any, got: Any) -> Problem | None:
    """Whether a single number comes as a tensor, or with a fraction where whole numbers are asked."""
    if not is_number(got):
        how = ": take the number out with `.item()`" if is_tensor(got) else ""
        return Problem(Kind.TYPE, f"expected a plain number, got {kind_of(got)}{how}")
    if is_whole(expected) and not is_whole(got):
        return Problem(Kind.TYPE, f"expected a whole number, an int, got {kind_of(got)}")
    return None
