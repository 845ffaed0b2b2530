"""Feedback pages in an archive that a platform takes: each named as what its student handed in there."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.batch.course import open_assignment
from autograder.batch.feedback_zip import page_of, write_pages
from autograder.errors import CourseError
from autograder.files import plain_name, printable
from autograder.lms.archive_entry import Entry, Refused
from autograder.lms.archives import NOTEBOOK, Archive
from autograder.lms.moodle import MoodleWorksheet
from autograder.lms.roster import Roster, roster_of


@dataclass(frozen=True)
class Packed:
    """What has been packed.

    Attributes:
        path: the archive.
        platform: which takes it.
        students: whose page is in it.
        without: students who handed in there and have no page here.
        strangers: what was handed in by nobody known.
        unpacked: students with a page who handed in nothing there.
        odd: people of the platform's table who have no id that names a folder.
    """

    path: Path
    platform: str
    students: tuple[str, ...]
    without: tuple[str, ...]
    strangers: tuple[Refused, ...]
    unpacked: tuple[str, ...]
    odd: tuple[str, ...]

    @property
    def whole(self) -> bool:
        return not (self.without or self.strangers or self.unpacked or self.odd)


def pack(course: Path, assignment: str, like: Path, table: Path | None, by: str) -> Packed:
    """Pack the feedback pages of an assignment as a platform takes them.

    Args:
        course: the course folder.
        assignment: the assignment's id.
        like: the platform's archive of submissions, whose names are taken; or Moodle's worksheet.
        table: the platform's export, which says who is who; None where its numbers are the ids.
        by: the column of that table with the ids.

    Raises:
        CourseError: there is no page, or nothing from which to take names.
    """
    open_assignment(course, assignment)
    if like.suffix.casefold() == ".zip":
        platform, people, prefixes, strangers = _like_archive(course, assignment, like, table, by)
    else:
        platform, people, prefixes, strangers = _like_worksheet(course, assignment, like, by)
    pages = {
        f"{prefix}{assignment}.html": page_of(course, assignment, student)
        for student, prefix in prefixes.items()
    }
    students = [student for student in prefixes if page_of(course, assignment, student).is_file()]
    here = {path.parent.parent.name for path in course.glob(f"feedback/*/{assignment}/*.html")}
    if here and not students:
        raise CourseError(
            f"expected in {like} students who have a page of {assignment} in {course / 'feedback'}, found "
            "none of them. Name the platform's table with --students, which says who is who, and with --by "
            "its column that has your ids"
        )
    if not students:
        raise CourseError(
            f"expected feedback pages of {assignment} in {course / 'feedback'} for those in {like}, "
            f"found none. Grade first: python -m autograder grade {assignment}"
        )
    target = course / "grading" / assignment / f"feedback_{platform.casefold()}.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_pages(target, {name: page for name, page in pages.items() if page.is_file()})
    return Packed(
        target, platform, tuple(students),
        tuple(student for student in prefixes if student not in students),
        tuple(strangers), tuple(sorted(here - set(prefixes))), people.odd,
    )  # fmt: skip


Names = tuple[str, Roster, dict[str, str], Sequence[Refused]]


def _like_archive(course: Path, assignment: str, like: Path, table: Path | None, by: str) -> Names:
    """What stands before a file's own name in an archive of submissions, by student."""
    with contextlib.closing(Archive(like)) as opened:
        entries = [entry for entry in opened.entries() if isinstance(entry, Entry)]
        canvas = opened.canvas
    people = roster_of(course, assignment, table, by, numbers=canvas)
    latest: dict[str, Entry] = {}
    strangers = []
    # of several files the notebook's number, and of several notebooks the latest one's
    for entry in sorted(entries, key=lambda entry: (entry.own.endswith(NOTEBOOK), entry.order)):
        try:
            student, read = people.whose(entry)
        except LookupError as error:
            strangers.append(Refused(entry.path, str(error)))
        else:
            latest[student] = read
    prefixes = {student: entry.prefix for student, entry in sorted(latest.items())}
    return ("Canvas" if canvas else "Moodle"), people, prefixes, strangers


def _like_worksheet(course: Path, assignment: str, like: Path, by: str) -> Names:
    """Folders named as Moodle names them, for everybody in an assignment's worksheet."""
    people = roster_of(course, assignment, like, by, numbers=False)
    if not isinstance(people.sheet, MoodleWorksheet):
        raise CourseError(
            f"expected an archive of submissions or Moodle's grading worksheet in {like}, found "
            "another table. Canvas takes feedback only under the names of what was handed in, so "
            "download the submissions and name that archive with --like"
        )
    prefixes = {
        student: f"{plain_name(people.called[number]).replace('_', ' ')}_{number}_assignsubmission_file/"
        for number, student in people.ids.items()
        if page_of(course, assignment, student).is_file()
    }
    return "Moodle", people, prefixes, ()


def in_words(packed: Packed) -> str:
    """How many pages there are, where, how to upload them, and for whom there is none."""
    lines = [
        f"{len(packed.students)} pages for {packed.platform}: {packed.path}",
        HOW[packed.platform],
    ]
    for what, who in (
        ("handed in there and have no page here", packed.without),
        ("have a page here and handed in nothing there", packed.unpacked),
    ):
        if who:
            lines.append(f"{len(who)} {what}: {', '.join(map(printable, who))}")
    for what, whys in (
        ("of nobody known", tuple(map(str, packed.strangers))),
        ("without a usable id in the platform's table", packed.odd),
    ):
        if whys:
            lines += [f"{len(whys)} {what}:", *(f"    {why}" for why in whys)]
    return "\n".join(lines)


HOW = {
    "Moodle": "in Moodle: Submissions → Upload multiple feedback files in a zip",
    "Canvas": (
        "in Canvas: the gradebook's menu of the assignment → Re-Upload Submissions; each upload adds "
        "a comment, so upload it once"
    ),
}
