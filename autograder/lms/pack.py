"""Feedback pages in an archive that a platform takes: each named as what its student handed in there."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.batch.course import assignments_of, open_assignment, open_course
from autograder.batch.feedback_zip import page_of, write_pages
from autograder.errors import CourseError
from autograder.files import plain_name
from autograder.lms.archives import NOTEBOOK, Archive, Refused, refuse_anothers
from autograder.lms.moodle import MOODLE, MoodleWorksheet
from autograder.lms.platform import Platform
from autograder.lms.roster import Roster, roster_of
from autograder.lms.summary import Summary


def pack(course: Path, assignment: str, like: Path, table: Path | None, by: str) -> Summary:
    """Pack the feedback pages of an assignment as a platform takes them, and say for whom there is none.

    Args:
        like: the platform's archive of submissions, whose names are taken; or Moodle's worksheet.
        table: the platform's export, which says who is who; None where its numbers are the ids.
        by: the column of that table with the ids.

    Raises:
        CourseError: there is no page, or nothing from which to take names.
    """
    open_assignment(course, assignment)
    if like.suffix.casefold() == ".zip":
        recipients = _like_archive(course, assignment, like, table, by)
    else:
        recipients = _like_worksheet(course, assignment, like, by)
    prefixes = recipients.prefixes
    pages = {
        student: page
        for student in prefixes
        if (page := page_of(course, assignment, student)).is_file()
    }
    here = {path.parent.parent.name for path in course.glob(f"feedback/*/{assignment}/*.html")}
    if here and not pages:
        raise CourseError(
            f"expected in {like} students who have a page of {assignment} in {course / 'feedback'}, found "
            "none of them. Name the platform's table with --students, which says who is who, and with --by "
            "its column that has your ids"
        )
    if not pages:
        raise CourseError(
            f"expected feedback pages of {assignment} in {course / 'feedback'} for those in {like}, "
            f"found none. Grade first: python -m autograder grade {assignment}"
        )
    target = course / "grading" / assignment / f"feedback_{recipients.platform.name.casefold()}.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    names = {f"{prefixes[student]}{assignment}.html": page for student, page in pages.items()}
    write_pages(target, names)
    count = f"{len(pages)} page{'' if len(pages) == 1 else 's'}"
    summary = Summary(
        [f"{count} for {recipients.platform.name}: {target}", recipients.platform.advice]
    )
    summary.miss(
        "handed in there, without a page here",
        [student for student in prefixes if student not in pages],
    )
    summary.miss("with a page here, and nothing handed in there", sorted(here - prefixes.keys()))
    summary.miss("of nobody known", recipients.strangers, one_a_line=True)
    summary.miss(
        "without a usable id in the platform's table", recipients.roster.odd, one_a_line=True
    )
    return summary


@dataclass(frozen=True)
class Recipients:
    """By what a platform finds people in an archive of feedback.

    Attributes:
        platform: which takes the archive.
        roster: its people.
        prefixes: what has to stand before the name of a student's page.
        strangers: what was handed in by nobody known.
    """

    platform: Platform
    roster: Roster
    prefixes: dict[str, str]
    strangers: Sequence[Refused] = ()


def _like_archive(
    course: Path, assignment: str, like: Path, table: Path | None, by: str
) -> Recipients:
    """What stands before a file's own name in an archive of submissions, by student."""
    with contextlib.closing(Archive(like)) as archive:
        files, _ = archive.files()
    # Moodle's numbers mean other people in another assignment
    others = [name for name in assignments_of(open_course(course), course) if name != assignment]
    refuse_anothers(files, assignment, others, like)
    roster = roster_of(course, assignment, table, by, archive.platform)
    # of several files the notebook's number, and of several notebooks the latest one's
    files.sort(key=lambda file: (file.own.endswith(NOTEBOOK), file.order))
    by_student, strangers = roster.by_student(files)
    prefixes = {student: files[-1].prefix for student, files in sorted(by_student.items())}
    return Recipients(archive.platform, roster, prefixes, strangers)


def _like_worksheet(course: Path, assignment: str, like: Path, by: str) -> Recipients:
    """Folders named as Moodle names them, for everybody in an assignment's worksheet."""
    roster = roster_of(course, assignment, like, by, MOODLE)
    sheet = roster.sheet
    if not isinstance(sheet, MoodleWorksheet):
        raise CourseError(
            f"expected an archive of submissions or Moodle's grading worksheet in {like}, found "
            "another table. Canvas takes feedback only under the names of what was handed in, so "
            "download the submissions and name that archive with --like"
        )
    prefixes = {
        student: f"{plain_name(sheet.called(roster.rows[number])).replace('_', ' ')}_{number}"
        "_assignsubmission_file/"
        for number, student in roster.ids.items()
        if page_of(course, assignment, student).is_file()
    }
    return Recipients(MOODLE, roster, prefixes)
