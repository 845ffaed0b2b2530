"""Which assignment a notebook belongs to, by the names that nbgrader gives its cells, whatever its file is called."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from autograder.batch.course import assignments_of, open_course
from autograder.batch.release_text import title_of

GRADE_ID = re.compile(r'"grade_id"\s*:\s*"([^"\\]+)"')


def names_in(text: str) -> set[str]:
    """The names of nbgrader's cells in a notebook's text; in a cell's own text the quotes would be escaped."""
    return set(GRADE_ID.findall(text))


def assignment_of(course: Path, text: str) -> str:
    """The id of the course's assignment that has most of a notebook's cells; empty where none has any."""
    names = names_in(text)
    if not names:
        return ""
    api = open_course(course)
    solutions = course / api.coursedir.source_directory
    shared = {}
    for assignment in assignments_of(api, course):
        path = solutions / assignment / f"{assignment}.ipynb"
        shared[assignment] = len(names & _names_at(path, path.stat().st_mtime_ns))
    most = max(shared, key=lambda assignment: shared[assignment], default="")
    return most if shared.get(most) else ""


def another_instead(course: Path, assignment: str, own: Collection[str], text: str) -> str:
    """What the assignment is called to which a notebook belongs that has no cell of this one; empty for all others.

    Args:
        own: names of this one's cells, today and before.
    """
    if not names_in(text).isdisjoint(own):
        return ""
    other = assignment_of(course, text)
    return title_of(course, other) if other not in ("", assignment) else ""


@lru_cache(maxsize=64)
def _names_at(path: Path, _written: int) -> frozenset[str]:
    return frozenset(names_in(path.read_text(encoding="utf-8")))
