"""Pairs of submissions that are alike beyond what was given out: a hint for a person, never a score.

What stands in the release or in the solution counts for nothing, and what many students wrote counts
for little. The rest is weighed as *rarity*: a fingerprint that m of n students have is log₂(n/m) bits, as
in the inverse document frequency of Spärck Jones (1972), "A statistical interpretation of term
specificity and its application in retrieval", Journal of Documentation 28.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
import numpy as np

from autograder.batch.course import open_course
from autograder.batch.student_result import StudentResult
from autograder.batch.term import title_of
from autograder.batch.winnowing import OUTSIDE, code_of, units_of
from autograder.files import printable, write_whole
from autograder.grade.report import grade_id_of
from autograder.grade.submission import InvalidSubmission, notebook_in, read_folder
from autograder.pages import render

SHARE = 0.75  # of what is rare in both, from which a pair is a hint
FEWEST_PRINTS = 5  # of an answer beyond what was given out, for it to say anything
FEWEST_STUDENTS = 5  # among whom something can be called rare
MOST_PAIRS = 100  # that the page shows

Answers = Mapping[str, Sequence[str]]  # the code cells of each student


@dataclass(frozen=True)
class Pair:
    """Two students whose answers are alike.

    Attributes:
        students: their ids.
        share: how much of what is rare in their answers both have, from 0 to 1.
        bits: how rare that is, one part after the other added up.
        parts: the share of each part in which there is something rare.
    """

    students: tuple[str, str]
    share: float
    bits: float
    parts: dict[str, float]


def alike(answers: Answers, parts: Sequence[str], given: Iterable[str]) -> list[Pair]:
    """The pairs of a class that are alike, the rarest likeness first.

    A part's bits are the mean rarity of its fingerprints, where those that only one of the two has
    count as nothing. Added over parts, they are compared with what the two answers would have in
    common with themselves, which gives the share. Beside the share, a pair needs half as many bits
    as it takes to tell one pair of the class from all others.

    Args:
        answers: code cells by student; what was given out may be among them.
        parts: the names of the assignment's functions and classes.
        given: code cells that say nothing, which are the release's and the solution's.
    """
    students = sorted(answers)
    if len(students) < FEWEST_STUDENTS:
        return []
    known = {number for unit in units_of(given) for number in unit.prints}
    prints = [_prints_by_part(answers[student], parts, known) for student in students]
    having = Counter(number for own in prints for number in set().union(*own.values()))
    by_part = {
        part: _bits([own.get(part, set()) for own in prints], having) for part in (*parts, OUTSIDE)
    }
    total = np.sum([*by_part.values()], axis=0)
    with_itself = np.diag(total)
    most = (with_itself[:, None] + with_itself[None, :]) / 2
    share = np.divide(total, most, out=np.zeros_like(total), where=most > 0)
    enough = math.log2(len(students) * (len(students) - 1) / 2) / 2
    found = []
    for one, other in zip(
        *np.nonzero(np.triu((share >= SHARE) & (total >= enough), 1)), strict=True
    ):
        shares = {
            part: float(2 * bits[one, other] / (bits[one, one] + bits[other, other]))
            for part, bits in by_part.items()
            if bits[one, one] and bits[other, other]
        }
        pair = students[one], students[other]
        found.append(Pair(pair, float(share[one, other]), float(total[one, other]), shares))
    return sorted(found, key=lambda pair: (-pair.bits, pair.students))


def _prints_by_part(
    sources: Iterable[str], parts: Sequence[str], known: set[int]
) -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for unit in units_of(sources):
        found[unit.part if unit.part in parts else OUTSIDE] |= unit.prints - known
    return found


def _bits(prints: Sequence[set[int]], having: Counter[int]) -> np.ndarray:
    """How rare it is what each two answers to a part have in common, (n, n).

    An answer that has next to nothing of its own has nothing in common with any.
    """
    prints = [own if len(own) >= FEWEST_PRINTS else set() for own in prints]
    places = {number: place for place, number in enumerate(set().union(*prints))}
    has = np.zeros((len(prints), len(places)), dtype=np.float32)
    for row, own in enumerate(prints):
        has[row, [places[number] for number in own]] = 1
    rarity = np.log2(
        len(prints) / np.array([having[number] for number in places], dtype=np.float32)
    )
    sizes = has.sum(axis=1)
    return 2 * ((has * rarity) @ has.T) / np.maximum(sizes[:, None] + sizes[None, :], 1)


def write_alike(course: Path, assignment: str, rows: Sequence[StudentResult]) -> Path:
    """Compare what a class handed in, and write the page for the instructor, names included.

    Args:
        course: the course folder.
        assignment: the assignment's id.
        rows: one for each student.

    Returns:
        the page's path, beside the assignment's journal.
    """
    given, locked = _given_out(course, assignment)
    answers = dict(_handed_in(course, assignment, locked))
    parts = max((tuple(row.possible) for row in rows), key=len, default=())
    pairs = alike(answers, parts, given)
    shown = [
        {
            "pair": pair,
            "names": [printable(student) for student in pair.students],
            "codes": [
                (part, share, *(_shown(part, answers[student]) for student in pair.students))
                for part, share in pair.parts.items()
                if part != OUTSIDE
            ],
        }
        for pair in pairs[:MOST_PAIRS]
    ]
    page = course / "grading" / assignment / "alike.html"
    write_whole(
        page,
        render(
            "alike.html",
            title=title_of(course, assignment),
            compared=len(answers),
            few=len(answers) < FEWEST_STUDENTS,
            found=len(pairs),
            shown=shown,
        ),
    )
    return page


def _given_out(course: Path, assignment: str) -> tuple[list[str], set[str]]:
    """The code of the solution and of the release, and the names of the cells that nobody may change."""
    coursedir = open_course(course).coursedir
    sources, locked = [], set()
    for folder in (coursedir.source_directory, coursedir.release_directory):
        path = course / folder / assignment / f"{assignment}.ipynb"
        if not path.exists():
            continue
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                sources.append(cell.source)
            if cell.metadata.get("nbgrader", {}).get("locked"):
                locked.add(grade_id_of(cell))
    return sources, locked


def _handed_in(
    course: Path, assignment: str, locked: set[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The code cells of each student that are the student's own; what cannot be read is left out."""
    for folder in sorted((course / "submitted").glob(f"*/{assignment}")):
        try:
            notebook = notebook_in(read_folder(folder, assignment).notebook)
        except (InvalidSubmission, OSError):
            continue
        yield (
            folder.parent.name,
            tuple(
                cell.source
                for cell in notebook.cells
                if cell.cell_type == "code" and grade_id_of(cell) not in locked
            ),
        )


def _shown(part: str, sources: Sequence[str]) -> str:
    return "\n".join(printable(line.expandtabs(4)) for line in code_of(part, sources).split("\n"))
