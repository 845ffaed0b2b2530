"""The view of rotary positions: a query and a key that turn, and what that does to their score."""

from collections.abc import Sequence

import torch

from course_utils.modern import apply_rotary
from lecture_kit.live.page import View, framed, plain_table

WIDTHS = range(2, 17, 2)
FARTHEST = 128
"""The last position in the view."""


def rotary_view(
    query: Sequence[float],
    key: Sequence[float],
    *,
    positions: tuple[int, int] = (10, 7),
    caption: str = "A query and a key that are turned by their positions",
) -> View:
    """A view in which the reader moves a query and a key, and changes factor, base and pairing.

    One dial for each pair of features shows the two hands; a curve shows the score against the
    distance.

    Args:
        query, key: d_k numbers each, before they are turned; d_k even, 2 to 16.
        positions: where query and key stand at the start, from 0 to 128.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.

    Returns:
        View: HTML below 50 kB.

    Raises:
        ValueError: query and key have different or odd widths, a position is out of range, or there
            is no caption.

    Source: Su et al. (2021), section 3.4.2, eq. 34; Chen et al. (2023), section 2.3; lecture 11.
    """
    vectors = [[float(number) for number in vector] for vector in (query, key)]
    widths = [len(vector) for vector in vectors]
    if widths[0] != widths[1] or widths[0] not in WIDTHS:
        raise ValueError(
            f"query and key: expected equally many numbers, {WIDTHS[0]} to {WIDTHS[-1]} and an even "
            f"number of them; found {widths[0]} and {widths[1]}. Features are turned in pairs."
        )
    if len(positions) != 2 or not all(place in range(FARTHEST + 1) for place in positions):
        raise ValueError(
            f"positions: expected two whole numbers from 0 to {FARTHEST}; found {positions!r:.40}. "
            "Choose places that the reader can reach."
        )
    content = {
        "query": vectors[0],
        "key": vectors[1],
        "positions": list(positions),
        "farthest": FARTHEST,
    }
    return framed(
        "rotary", caption, content, _table(vectors[0], vectors[1], positions, caption), height=700
    )


def _table(query: list[float], key: list[float], positions: tuple[int, int], caption: str) -> str:
    """A row for each pair of features: before and after, and its part of the score."""
    given = torch.tensor([query, key], dtype=torch.float64).view(1, 1, 2, -1)
    turned = apply_rotary(given, torch.tensor(positions))[0, 0]  # (2, d_k)
    rows = []
    for pair in range(len(query) // 2):
        both = slice(2 * pair, 2 * pair + 2)
        texts = [", ".join(f"{x:.2f}" for x in vector[both].tolist()) for vector in turned]
        part = (turned[0, both] @ turned[1, both]).item()
        rows.append((f"pair {pair}", [*texts, f"{part:.3f}"]))
    rows.append(("score", ["", "", f"{(turned[0] @ turned[1]).item():.3f}"]))
    heads = [f"query at {positions[0]}", f"key at {positions[1]}", "query · key"]
    return plain_table(caption, heads, rows)
