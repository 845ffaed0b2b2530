"""The view of byte-pair encoding: a word that is joined from its letters, merge by merge."""

from collections.abc import Sequence
from itertools import pairwise

from course_utils.language_models import apply_merges
from lecture_kit.live.page import View, framed, plain_table

MOST_LETTERS = 24
"""Of a word in the view."""


def merges_view(
    merges: Sequence[tuple[str, str]],
    words: Sequence[str],
    *,
    caption: str = "A word, joined from its letters merge by merge",
) -> View:
    """A view in which the reader steps through the merges of a word, or of one that is typed.

    Args:
        merges: pairs in the order in which they were learned, from `learn_merges`.
        words: the words that are offered; the first is shown at the start.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.

    Returns:
        View: HTML below 100 kB for a thousand merges.

    Raises:
        ValueError: there is no merge or no word, a merge is no pair of texts, a word is empty or
            long, or there is no caption.

    Source: Sennrich et al. (2016), section 3.2; lecture 9.
    """
    pairs = [list(pair) for pair in merges]
    if not pairs or not all(len(pair) == 2 and all(map(_is_text, pair)) for pair in pairs):
        raise ValueError(
            f"merges: expected pairs of texts, as `learn_merges` returns them; found {merges!r:.60}."
        )
    offered = list(words)
    if not offered or not all(_is_text(word) and len(word) <= MOST_LETTERS for word in offered):
        raise ValueError(
            f"words: expected words of 1 to {MOST_LETTERS} letters; found {words!r:.60}. "
            "The letters of longer ones do not fit on a line."
        )
    table = _table([(left, right) for left, right in pairs], offered[0], caption)
    content = {"merges": pairs, "words": offered, "longest": MOST_LETTERS}
    return framed("merges", caption, content, table, height=420)


def _is_text(thing: object) -> bool:
    return isinstance(thing, str) and thing != ""


def _table(merges: list[tuple[str, str]], word: str, caption: str) -> str:
    """A row for each merge that changes the word."""
    stages = [" ".join(apply_merges(word, merges[:count])) for count in range(len(merges) + 1)]
    rows = [("letters", ["", stages[0]])]
    for place, (before, after) in enumerate(pairwise(stages)):
        if after != before:
            rows.append((f"merge {place + 1}", [" + ".join(merges[place]), after]))
    return plain_table(caption, ["joins", "the word"], rows)
