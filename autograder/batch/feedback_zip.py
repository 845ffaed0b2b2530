"""Feedback pages for a learning platform: one file a student, in one archive."""

from __future__ import annotations

import itertools
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.batch.student_result import StudentResult
from autograder.files import plain_name


def pack_feedback(course: Path, assignment: str, rows: Sequence[StudentResult]) -> str:
    """Put feedback pages into one archive, as ``<student>_<assignment>.html``; how many, in words.

    A student's id is a name of a folder, and may be one that would leave the archive's own folder or
    act where it is unpacked; see `plain_name`. Where two meet, also where case makes no difference,
    the later one gets a number.
    """
    target = course / "grading" / assignment / "feedback.zip"
    pages: dict[str, Path] = {}
    taken: set[str] = set()
    for row in rows:
        page, plain = page_of(course, assignment, row.student), plain_name(row.student)
        numbered = itertools.chain([plain], (f"{plain} {number}" for number in itertools.count(2)))
        name = next(name for name in numbered if name.casefold() not in taken)
        if page.is_file():
            taken.add(name.casefold())
            pages[f"{name}_{assignment}.html"] = page
    write_pages(target, pages)
    return f"{len(pages)} of {len(rows)} students: {target}"


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
