"""How hard a part was, and how well it tells those who know much from those who know little.

Both are the two numbers of classical test theory. *Difficulty* is the share of the points that were
earned, so that an easy part has a high one. *Discrimination* is the corrected correlation of a part with
the total: Pearson's r of the points for the part and the points for all other parts together, in which
the part itself is left out because it would correlate with itself; Henrysson (1963), "Correction of
item-total correlations in item analysis", Psychometrika 28(2), 211-218.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, correlation

FEWEST = 20  # students from which a correlation is more than chance


@dataclass(frozen=True)
class Item:
    """A part of an assignment, as the item of a test.

    Attributes:
        difficulty: the share of all points that the class earned, from 0 to 1.
        whole: how many earned all of them.
        discrimination: from -1 to 1; None where too few were graded, where all earned the same for the
            part or for the rest, or where there is no other part.
    """

    difficulty: float
    whole: int
    discrimination: float | None


def item_analysis_of(
    earned: Sequence[Mapping[str, float]], possible: Mapping[str, float]
) -> dict[str, Item]:
    """What the points of a class say about each part.

    Args:
        earned: the points of each student by part.
        possible: the points that there are, by part.
    """
    return {part: _item(part, earned, possible[part]) for part in possible}


def _item(part: str, earned: Sequence[Mapping[str, float]], possible: float) -> Item:
    points = [own[part] for own in earned]
    difficulty = sum(points) / max(possible * len(points), 1)
    whole = sum(value == possible for value in points)
    others = [sum(own.values()) - own[part] for own in earned]
    return Item(difficulty, whole, _correlation(points, others))


def _correlation(points: Sequence[float], others: Sequence[float]) -> float | None:
    if len(points) < FEWEST:
        return None
    try:
        return correlation(points, others)
    except StatisticsError:  # one of them is the same for all
        return None
