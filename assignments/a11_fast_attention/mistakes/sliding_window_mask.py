"""`sliding_window_mask` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a11_fast_attention.rubric import NEWEST, SQUARE, sliding
from autograder.checks.mistakes import Steps, called, costs, message, variants


class Sliding(Steps):
    """The reference step by step."""

    def answer(self, query_length, key_length, window):
        self.check(query_length, key_length, window)
        p = self.places(query_length, key_length)[:, None]
        j = torch.arange(key_length)
        return self.form(self.shown(p, j, self.width(window)))

    def check(self, query_length, key_length, window):
        if query_length > key_length:
            raise ValueError("more queries than keys")
        if window < 1:
            raise ValueError("no window")

    def places(self, query_length, key_length):
        return torch.arange(query_length) + key_length - query_length

    def width(self, window):
        return window

    def shown(self, p, j, window):
        return (j > p - window) & (j <= p)

    def form(self, mask):
        return mask


@sliding.mistakes_in(Sliding.width, costs=SQUARE)
class SlidingWidth:
    @called("one word too many")
    def one_more(self, window):
        """Each query sees one word more than `window`. The word itself counts: with a window of 1 it
        sees nothing else."""
        return window + 1

    @called("one word too few")
    def one_less(self, window):
        """Each query sees one word less than `window`, and with a window of 1 none at all."""
        return window - 1

    @called("window not used")
    def unused(self, window):
        """Your mask is causal, whatever `window` is. A query sees the last `window` words only, itself
        included."""
        return 10**6

    @called("half the window")
    def halved(self, window):
        """You share the window out to both sides, or halve it. It reaches back only, and counts the word
        itself."""
        return (window + 1) // 2


@sliding.mistakes_in(Sliding.places, costs=NEWEST)
class SlidingPlaces:
    @called("queries taken for the first words")
    def from_the_start(self, query_length, key_length):
        """Your first query stands at place 0. The queries are the *last* words among the keys, so query i
        stands at place key_length − query_length + i."""
        return torch.arange(query_length)

    @called("queries one place too late")
    def too_late(self, query_length, key_length):
        """Your queries stand one place too late. The last one stands at place key_length − 1."""
        return (
            torch.arange(query_length) + key_length - query_length + int(key_length > query_length)
        )

    @called("queries one place too early")
    def too_early(self, query_length, key_length):
        """Your queries stand one place too early. The last one stands at place key_length − 1."""
        return (
            torch.arange(query_length) + key_length - query_length - int(key_length > query_length)
        )


@sliding.mistakes_in(Sliding.shown, costs=SQUARE)
class SlidingShown:
    @called("both sides")
    def symmetric(self, p, j, window):
        """Your queries look as far ahead as back. The window reaches back only: no word after the query
        is visible."""
        return (j > p - window) & (j < p + window)

    @called("not causal")
    def ahead(self, p, j, window):
        """Your queries see what lies before the window's end, and everything after them. Words after the
        query are hidden, too: j ≤ p."""
        return j > p - window

    @called("looking ahead in place of back")
    def forwards(self, p, j, window):
        """Your window begins at the query and reaches ahead. It ends at the query and reaches back."""
        return (j >= p) & (j < p + window)

    @called("blocks in place of a window")
    def in_blocks(self, p, j, window):
        """You cut the text into blocks of `window` words, in which each query sees the earlier words of
        its own block. A window moves along with the query."""
        return (p // window == j // window) & (j <= p)

    @called("every window-th word")
    def dilated(self, p, j, window):
        """Your queries see every `window`-th word. A window shows neighbours, without gaps."""
        return ((p - j) % window == 0) & (j <= p)

    @called("hidden where it should show")
    @message("Your mask is the wrong way round. In this course True means *may attend*.")
    def inverted(self, p, j, window):
        return ~Sliding.shown(self, p, j, window)

    @called("the word itself hidden")
    def without_itself(self, p, j, window):
        """A query does not see itself. The window counts the word itself and window − 1 words before
        it."""
        return (j >= p - window) & (j < p)

    @called("early rows empty")
    def whole_windows(self, p, j, window):
        """The first rows show nothing, because a whole window does not fit in front of them. There the
        query sees what there is."""
        return Sliding.shown(self, p, j, window) & (p >= window - 1)


@sliding.mistakes_in(Sliding.form, costs=NEWEST)
class SlidingForm:
    @called("numbers for bool")
    @variants("kind", (torch.float32, torch.int64, torch.uint8))
    def numbers(self, mask, kind):
        """Your mask holds numbers. `torch.bool` is asked for, since 0.0 and 1.0, added to scores, hide
        nothing."""
        return mask.to(kind)

    @called("an additive mask")
    def additive(self, mask):
        """Your mask holds 0 and −∞, to be added to scores. A bool mask is asked for, True where a query
        may attend."""
        return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)

    @called("keys in the rows")
    @costs(SQUARE)
    def transposed(self, mask):
        """Your mask has a row for each key. Queries are the rows, (query_length, key_length)."""
        return mask.T

    @called("leading axes of length 1")
    @costs(SQUARE)
    @variants("axes", (1, 2))
    def with_axes(self, mask, axes):
        """Your mask has leading axes of length 1. It has two axes, (query_length, key_length), and
        broadcasts as it is."""
        return mask[(None,) * axes]

    @called("always square")
    def square(self, mask):
        """Your mask has a row for every key. It has one for every query, and these are the last
        words."""
        rows = mask.shape[1] - mask.shape[0]
        return torch.cat([torch.zeros(rows, mask.shape[1], dtype=torch.bool), mask])


@sliding.mistakes_in(Sliding.check, costs=NEWEST)
class SlidingCheck:
    @called("no ValueError")
    def unchecked(self, query_length, key_length, window):
        """Where there are more queries than keys, or the window is below 1, no error comes. Raise a
        ValueError that says so."""

    @called("an assert for the ValueError")
    def asserting(self, query_length, key_length, window):
        """An `assert` raises an AssertionError, and none at all under `python -O`. Raise a ValueError."""
        assert query_length <= key_length and window >= 1

    @called("more queries than keys let through")
    def window_alone(self, query_length, key_length, window):
        """Where there are more queries than keys, no error comes. The queries are words among the keys,
        so this is a mistake of the caller's: raise a ValueError."""
        if window < 1:
            raise ValueError("no window")

    @called("a window below 1 let through")
    def lengths_alone(self, query_length, key_length, window):
        """A window of 0 or less shows nothing, and no error comes. Raise a ValueError."""
        if query_length > key_length:
            raise ValueError("more queries than keys")

    @called("a window of 0 let through")
    def negative_alone(self, query_length, key_length, window):
        """You refuse a window below 0, but not one of 0, which shows nothing either. Raise a ValueError for
        every window below 1."""
        SlidingCheck.lengths_alone(self, query_length, key_length, window)
        if window < 0:
            raise ValueError("no window")

    @called("a negative window let through")
    def zero_alone(self, query_length, key_length, window):
        """You refuse a window of 0, but not one below 0, which shows nothing either. Raise a ValueError for
        every window below 1."""
        SlidingCheck.lengths_alone(self, query_length, key_length, window)
        if window == 0:
            raise ValueError("no window")

    @called("window larger than the text refused")
    def strict(self, query_length, key_length, window):
        """You refuse a window that is larger than the text. It is allowed, and the mask is then causal."""
        Sliding.check(self, query_length, key_length, window)
        if window > key_length:
            raise ValueError("the window is too large")
