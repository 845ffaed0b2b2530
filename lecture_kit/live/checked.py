"""What authors hand to a view, checked: finite numbers as float64, and lists of words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lecture_kit.live.page import MAX_LETTERS

LARGEST = 1e100
"""Products of numbers up to this size are finite in float64."""


def as_array(numbers: Any) -> NDArray[Any]:
    """A tensor, an array or nested lists as an array."""
    return np.asarray(numbers.detach().cpu() if isinstance(numbers, torch.Tensor) else numbers)


def as_float64(name: str, numbers: Any) -> NDArray[np.float64]:
    """The numbers; a float32 number becomes the shortest decimal that stands for it.

    Raises:
        ValueError: these are no numbers, or lists of unequal length.
    """
    try:
        array = as_array(numbers)
        if array.dtype == np.float32:
            array = np.array([str(number) for number in array.ravel()]).reshape(array.shape)
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: expected rows of numbers, all of one length; found {type(numbers).__name__} "
            "that is none. Give a tensor, an array or lists of equal length."
        ) from None


def refuse_beyond(name: str, array: NDArray[np.float64], advice: str) -> None:
    """
    Raises:
        ValueError: a number is not finite, or beyond 1e100.
    """
    beyond = array[~(np.abs(array) <= LARGEST)]
    if len(beyond):
        raise ValueError(
            f"{name}: expected finite numbers up to {LARGEST:g}; found {beyond[0]:g}. {advice}"
        )


def as_words(what: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words.

    Raises:
        ValueError: a string instead of a list; a word is none, empty, or longer than 200 letters.
    """
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"{what}: expected a list of words; found {words!r:.80}. Split it first.")
    for word in words:
        if not 1 <= len(word) <= MAX_LETTERS:
            raise ValueError(
                f"{what}: expected 1 to {MAX_LETTERS} letters each; found {len(word)} in "
                f"{word!r:.40}. Write “·” for a word without letters."
            )
    return tuple(words)
