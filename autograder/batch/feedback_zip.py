"""Feedback pages for a learning platform: one file a student, in one archive."""

from __future__ import annotations

import itertools
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.batch.student_result import StudentResult
from autograder.files import plain_name


def pack_feedback(course: Path, assignment: str, rows: Sequence[StudentResult]) -> str:
    """Put the feedback pages of students into one archive, as ``<student>_<assignment>.html``.

    A student's id is a name of a folder, and may be one that would leave the archive's own folder or
    act where it is unpacked; see `plain_name`. Where two meet, the later one gets a number.

    Args:
        course: the course folder.
        assignment: the assignment's id.
        rows: of the students whose pages are wanted.

    Returns:
        how many there are, of how many students, and the archive's path, in words.
    """
    target = course / "grading" / assignment / "feedback.zip"
    pages = {row.student: page_of(course, assignment, row.student) for row in rows}
    taken: set[str] = set()
    there = {
        f"{_free_name(student, taken)}_{assignment}.html": page
        for student, page in pages.items()
        if page.is_file()
    }
    write_pages(target, there)
    return f"{len(there)} of {len(pages)} students: {target}"


def page_of(course: Path, assignment: str, student: str) -> Path:
    """Where a student's feedback page lies, if there is one."""
    return course / "feedback" / student / assignment / f"{assignment}.html"


def write_pages(target: Path, pages: Mapping[str, Path]) -> None:
    """Write an archive of pages by name; the same pages make the same bytes."""
    aside = target.with_name(f".{target.name}")
    with zipfile.ZipFile(aside, "w") as archive:
        for name, page in pages.items():
            info = zipfile.ZipInfo(name)  # of 1980, as the format has it where nobody says
            info.external_attr = 0o644 << 16
            archive.writestr(info, page.read_bytes(), zipfile.ZIP_DEFLATED)
    aside.replace(target)


def _free_name(student: str, taken: set[str]) -> str:
    """A name for a student's page that is not ``taken``, also where case makes no difference."""
    plain = plain_name(student)
    names = (plain if number == 1 else f"{plain} {number}" for number in itertools.count(1))
    name = next(name for name in names if name.casefold() not in taken)
    taken.add(name.casefold())
    return name
