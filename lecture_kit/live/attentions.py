"""What a live view shows: queries, keys and values of one head on one sentence, checked.

Shapes: T queries, S keys, d_k width of a query or a key, d_v width of a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_utils.masks import causal_mask
from lecture_kit.live.checked import as_array, as_float64, as_words, refuse_beyond
from lecture_kit.live.page import MAX_LETTERS
from lecture_kit.trained import learned

MAX_WORDS = 32
"""Longer sides of a map do not fit a page."""

MAX_WIDTH = 64
"""Of queries, keys and values."""


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """One attention that a reader can choose: its words, its vectors and its name.

    Args:
        query: (T, d_k) numbers: a tensor, an array or lists.
        key: (S, d_k) numbers.
        value: (S, d_v) numbers.
        queries: the T words that ask.
        keys: the S words that are looked at; None takes `queries`.
        mask: (T, S) bool, True = may attend; None hides nothing.
        sentence: its name in the list of sentences; empty takes the queries' words.
        model: whose attention it is, if there are several.
        layer, head: which one, counted from 1; None where there is only one.

    Raises:
        TypeError: the mask is not bool.
        ValueError: shapes do not fit together, a number is not finite or beyond 1e100, a side has
            more than 32 words, a vector more than 64 numbers, or a name more than 200 letters.
    """

    query: Any
    key: Any
    value: Any
    queries: Sequence[str]
    keys: Sequence[str] | None = None
    mask: Any = None
    sentence: str = ""
    model: str = ""
    layer: int | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        for name in ("query", "key", "value"):
            object.__setattr__(self, name, _matrix(name, getattr(self, name)))
        object.__setattr__(self, "queries", as_words("queries", self.queries))
        keys = self.queries if self.keys is None else as_words("keys", self.keys)
        object.__setattr__(self, "keys", keys)
        sentence = self.sentence or " ".join(self.queries)[:MAX_LETTERS]
        object.__setattr__(self, "sentence", sentence)
        as_words("the names sentence and model", [self.sentence, self.model or "-"])
        for name in ("layer", "head"):
            _refuse_uncounted(name, getattr(self, name))
        self._refuse_misfits(len(keys))
        if self.mask is not None:
            object.__setattr__(self, "mask", _mask(self.mask, (len(self.queries), len(keys))))

    def _refuse_misfits(self, size: int) -> None:
        expected = {
            "query": (len(self.queries), self.query.shape[1]),
            "key": (size, self.query.shape[1]),
            "value": (size, self.value.shape[1]),
        }
        for name, shape in expected.items():
            found = getattr(self, name).shape
            if found != shape:
                raise ValueError(
                    f"{name}: expected the shape {shape}, for {len(self.queries)} queries and "
                    f"{size} keys of width {self.query.shape[1]}; found {found}. Give every word "
                    "one row, and queries and keys the same width."
                )


def translator(kind: str = "encoder") -> list[Attention]:
    """The trained translator's heads whose vectors are stored, on all stored sentences.

    Args:
        kind: "encoder", "decoder" or "cross", see `learned.KINDS`.

    Returns:
        list of `Attention`, one sentence after the other.

    Raises:
        ValueError: there is no such kind.
    """
    found = []
    for sentence in learned.sentences():
        queries, keys = sentence.words(kind)
        for head in sentence.heads:
            if head.kind != kind:
                continue
            found.append(
                Attention(
                    head.query,
                    head.key,
                    head.value,
                    queries,
                    keys,
                    mask=causal_mask(len(queries)) if kind == "decoder" else None,
                    sentence=" ".join(
                        sentence.target[1:] if kind == "decoder" else sentence.source
                    ),
                    layer=head.layer,
                    head=head.head,
                )
            )
    return found


def _matrix(name: str, numbers: Any) -> NDArray[np.float64]:
    """(words, width) float64."""
    matrix = as_float64(name, numbers)
    if matrix.ndim != 2 or not (
        1 <= len(matrix) <= MAX_WORDS and 1 <= matrix.shape[1] <= MAX_WIDTH
    ):
        raise ValueError(
            f"{name}: expected the shape (words, width) with 1 to {MAX_WORDS} words and a width of "
            f"1 to {MAX_WIDTH}; found {matrix.shape}. Take one sentence and one head."
        )
    refuse_beyond(name, matrix, "Hide words with the mask, not with infinite numbers.")
    return matrix


def _mask(mask: Any, shape: tuple[int, int]) -> NDArray[np.bool_]:
    array = as_array(mask)
    if array.dtype != np.bool_:
        raise TypeError(
            f"the mask must be bool with True = may attend, but it is {array.dtype}; "
            "turn a 0/1 mask into mask.bool(), and a mask of 0 and -inf into mask == 0"
        )
    if array.shape != shape:
        raise ValueError(
            f"mask: expected the shape (queries, keys) = {shape}; found {array.shape}. Take one "
            "sentence and one head of it."
        )
    return array


def _refuse_uncounted(name: str, number: int | None) -> None:
    if number is not None and (
        isinstance(number, bool) or not isinstance(number, int) or number < 1
    ):
        raise ValueError(f"{name}: expected 1 or more, or None; found {number!r}. Count from 1.")
