"""What a student is shown: the feedback page, points alone, or a line that says what is waited for."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from autograder.batch.student_result import StudentResult
from autograder.files import write_whole
from autograder.pages import render

AT = "%Y-%m-%d %H:%M UTC"


def hand_out(page: str | bytes, keys: tuple[str, ...], feedback: Path) -> None:
    """Put a page where nbgrader looks for the feedback of a submission.

    Args:
        page: HTML.
        keys: see `Incoming`.
        feedback: folder of the exchange, in which students can open what they can name.
    """
    if not feedback.exists():
        feedback.mkdir(parents=True)
        feedback.chmod(0o711)
    for key in keys:
        place = feedback / f"{key}.html"
        write_whole(place, page)
        os.chmod(place, 0o644)


def points_page(title: str, row: StudentResult, due: datetime | None) -> str:
    """The page that gives points by part, and no reasons.

    Args:
        title: of the assignment.
        row: what the student got.
        due: from when on the whole page is shown; None if nobody said.
    """
    parts = [(name, row.parts.get(name, 0.0), of) for name, of in row.possible.items()]
    others = row.of - sum(of for _, _, of in parts)
    return render(
        "points.html",
        title=title,
        earned=row.points,
        of=row.of,
        parts=parts,
        others=others,
        penalty=row.penalty,
        due=due.strftime(AT) if due else "",
    )


def notice(title: str, came_in: datetime, message: str) -> str:
    """The page of a submission that has not been graded.

    Args:
        title: of the assignment.
        came_in: UTC.
        message: why, in a sentence.
    """
    return render("notice.html", title=title, came_in=came_in.strftime(AT), message=message)
