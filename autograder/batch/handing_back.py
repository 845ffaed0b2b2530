"""Feedback pages for a learning platform: one file a student, in one archive."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

from autograder.batch.row import Row


def pack_feedback(course: Path, assignment: str, rows: Sequence[Row]) -> str:
    """Put the feedback pages of students into one archive, as ``<student>_<assignment>.html``.

    Args:
        course: the course folder.
        assignment: the assignment's id.
        rows: of the students whose pages are wanted.

    Returns:
        how many there are, of how many students, and the archive's path, in words.
    """
    target = course / "grading" / assignment / "feedback.zip"
    pages = {
        row.student: course / "feedback" / row.student / assignment / f"{assignment}.html"
        for row in rows
    }
    there = {student: page for student, page in pages.items() if page.is_file()}
    aside = target.with_name(".feedback.zip")
    with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive:
        for student, page in there.items():
            archive.write(page, f"{student}_{assignment}.html")
    aside.replace(target)
    return f"{len(there)} of {len(pages)} students: {target}"
