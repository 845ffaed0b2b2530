"""The mark of a term: which points count and how much, as a file of the course says it.

Everything is worked out in fractions and rounded once, half up, so that the mark that is shown is the mark
that decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from autograder.batch.toml_file import read_toml
from autograder.errors import CourseError
from autograder.files import listed, meant, printable
from autograder.points import as_written, in_decimals, rounded

RULES = "term.toml"
PLAN = ("zone", "lectures", "due")  # keys of the same file that say when, see `dates`
Weight = Annotated[float, Meta(gt=0, le=1_000_000)]  # and so no endless one
Percent = Annotated[float, Meta(ge=0, le=100)]


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """How a mark comes about; `docs/instructors.md` says what each key means.

    Attributes:
        pass_at: percent of the whole.
        drop_worst: how many of the weighted assignments do not count.
        decimals: of the mark.
        weights: what counts, and how much; by its points where none is named.
        bonus: percent that full points in an assignment add.
        pass_in: percent that each of these assignments needs.
        grades: from which percentage on a grade is given.
    """

    pass_at: Percent
    drop_worst: Annotated[int, Meta(ge=0)] = 0
    decimals: Annotated[int, Meta(ge=0, le=2)] = 1
    weights: dict[str, Weight] = {}
    bonus: dict[str, Weight] = {}
    pass_in: dict[str, Percent] = {}
    grades: dict[str, Percent] = {}

    @property
    def named(self) -> set[str]:
        """The assignments of which these rules speak."""
        return {*self.weights, *self.bonus, *self.pass_in}


def read_rules(path: Path) -> Rules:
    """The rules that a file says.

    Raises:
        CourseError: there is no such file, or it says something that cannot be.
    """
    said = read_toml(path)
    if said is None:
        raise CourseError(
            f"expected how the mark comes about in {path}, found no such file. docs/instructors.md has an example; "
            "the shortest is one line, pass_at = 50"
        )
    try:
        rules = msgspec.convert({key: said[key] for key in said if key not in PLAN}, Rules)
    except msgspec.ValidationError as error:
        raise CourseError(
            f"{path}: {error}. docs/instructors.md says what each key means"
        ) from None
    if rules.grades and min(rules.grades.values()) != rules.pass_at:
        lowest = min(rules.grades.values())
        raise CourseError(
            f"{path}: the lowest of [grades] begins at {lowest:g} percent, and pass_at is {rules.pass_at:g}. "
            "Whoever passes needs a grade, so make the two equal"
        )
    if len(set(rules.grades.values())) < len(rules.grades):
        raise CourseError(
            f"{path}: two of [grades] begin at the same percentage, and one of them nobody could get. Change one"
        )
    if both := sorted(rules.weights.keys() & rules.bonus.keys()):
        raise CourseError(
            f"{path}: {', '.join(both)} stands in [weights] and in [bonus]. Take it out of one"
        )
    if rules.weights and rules.drop_worst >= len(rules.weights):
        raise CourseError(
            f"{path}: drop_worst is {rules.drop_worst}, and [weights] names {len(rules.weights)}. "
            "Something has to count, so drop fewer"
        )
    return rules


@dataclass(frozen=True)
class Mark:
    """A student's mark, and what made it.

    Attributes:
        percent: rounded; None if nothing counts.
        grade: by name; empty if nothing counts.
        passed: whether the course is passed.
        dropped: assignments that were the worst and do not count.
        missed: assignments in which too little was reached to pass.
    """

    percent: Fraction | None
    grade: str = ""
    passed: bool = False
    dropped: tuple[str, ...] = ()
    missed: tuple[str, ...] = field(default=())


def mark_of(
    points: Mapping[str, float],
    of: Mapping[str, float],
    rules: Rules,
    excused: Collection[str] = (),
) -> Mark:
    """A student's mark.

    Args:
        points: what counts of each assignment, penalties taken off; where nothing was handed in, 0 counts.
        of: the points that each assignment of the term gives.
        excused: assignments that do not count for this student.
    """
    share = {
        name: as_written(points.get(name, 0)) / as_written(most)
        for name, most in of.items()
        if name not in excused
    }
    weights = rules.weights or {name: most for name, most in of.items() if name not in rules.bonus}
    weight = {name: as_written(heavy) for name, heavy in weights.items() if name in share}
    if not weight:
        return Mark(None)
    worst = sorted(weight, key=lambda name: (share[name], -weight[name]))
    dropped = worst[: min(rules.drop_worst, len(worst) - 1)]
    counts = [name for name in weight if name not in dropped]
    whole = sum(weight[name] for name in counts)
    percent = 100 * sum((weight[name] * share[name] for name in counts), Fraction()) / whole
    percent += sum(
        as_written(rules.bonus[name]) * share[name] for name in rules.bonus.keys() & share
    )
    percent = min(rounded(percent, rules.decimals), Fraction(100))
    missed = tuple(
        name
        for name, least in rules.pass_in.items()
        if name in share and 100 * share[name] < as_written(least)
    )
    passed = percent >= as_written(rules.pass_at) and not missed
    grade = "passed" if passed else "not passed"
    if passed and rules.grades:
        reached = [name for name, least in rules.grades.items() if percent >= as_written(least)]
        grade = max(reached, key=rules.grades.__getitem__)
    return Mark(percent, grade, passed, tuple(sorted(dropped, key=list(weight).index)), missed)


def in_words(mark: Mark, decimals: int) -> str:
    """The percentage of a mark as it is shown."""
    return "–" if mark.percent is None else in_decimals(mark.percent, decimals)


def refuse_unknown(rules: Rules, known: Sequence[str], where: Path) -> None:
    """Stop where rules speak of an assignment that the course does not have.

    Raises:
        CourseError: they do.
    """
    for name in sorted(rules.named - set(known)):
        raise CourseError(
            f"{where} names {printable(name)}, and the course has no such assignment. "
            f"{meant(name, known) or listed(known)}"
        )
