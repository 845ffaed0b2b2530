"""Grading by hand without names: a folder for graders in which students have pseudonyms.

    python -m autograder anonymous ASSIGNMENT FOLDER
    python -m autograder anonymous ASSIGNMENT FOLDER --take-back

nbgrader's formgrader hides names until somebody clicks on them, and shows ids in paths and lists. The folder
has neither: a copy of the gradebook with this assignment alone, and the graded notebooks. Who is who stands in
``grading/pseudonyms.csv`` of the course. What graders have given there is taken back score by score.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import hmac
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.batch.archive import GRADEBOOK, back_up, refuse_used
from autograder.batch.table import rows_in, write_csv
from autograder.errors import CourseError
from autograder.files import copy_files, harmless, plain_files, printable, usual_id

# in the copy, beside nbgrader's tables: what a person had given when it was made
GIVEN = """
    create table given_before as
    select id, manual_score, extra_credit, needs_manual_grade, null as manual_comment from grade
    union all select id, null, null, null, manual_comment from comment
"""
GIVEN_IN = {
    "grade": ("manual_score", "extra_credit", "needs_manual_grade"),
    "comment": ("manual_comment",),
}
ONLY_ONE_ASSIGNMENT = """
    delete from submitted_assignment where assignment_id not in (select id from assignment where name = :name);
    delete from submitted_notebook where assignment_id not in (select id from submitted_assignment);
    delete from grade where notebook_id not in (select id from submitted_notebook);
    delete from comment where notebook_id not in (select id from submitted_notebook);
    delete from student where id not in (select student_id from submitted_assignment);
    update student set first_name = null, last_name = null, email = null, lms_user_id = null;
    update submitted_assignment set timestamp = null, extension = null;
    update submitted_notebook set late_submission_penalty = null
"""

ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
Values = dict[str, Any]  # what stands in a row, by column


@dataclass(frozen=True)
class TakenBack:
    """What became of what graders gave: rows written, and in words those that could not be."""

    written: int
    refused: tuple[str, ...]


def pseudonym(secret: str, student: str) -> str:
    """A name that is always the same for a student of a course, and says nothing without its secret."""
    digest = hmac.new(secret.encode(), student.encode(errors="replace"), hashlib.sha256).digest()
    return "student-" + base64.b32encode(digest).decode().lower()[:8]


def hand_to_graders(course: Path, assignment: str, folder: Path) -> list[str]:
    """Make the folder for graders.

    Args:
        course: the course folder, whose assignment has been graded.
        folder: the one to make, which must not be there, or be empty.

    Returns:
        students in whose notebooks or files, or in the names of these, their own id, name or address stands.

    Raises:
        CourseError: nothing has been graded, or the folder holds something.
    """
    from autograder.batch.course import course_secret, open_assignment

    coursedir = open_assignment(course, assignment).coursedir
    gradebook = course / GRADEBOOK
    refuse_used(folder)
    if coursedir.db_url != f"sqlite:///{gradebook.absolute()}" or not gradebook.exists():
        raise CourseError(f"there is no gradebook {gradebook}: grade {assignment} first")
    folder.mkdir(parents=True, exist_ok=True)
    back_up(gradebook, folder / GRADEBOOK)
    with contextlib.closing(sqlite3.connect(folder / GRADEBOOK)) as copy:
        students = _students(copy, assignment)
        secret = course_secret(course)
        names = {student: pseudonym(secret, student) for student in students}
        if len(set(names.values())) < len(names):
            raise CourseError(
                "two students have the same pseudonym: remove grading/secret's course"
            )
        with copy:
            for statement in ONLY_ONE_ASSIGNMENT.split(";"):
                copy.execute(statement, {"name": assignment})
            pairs = [(name, student) for student, name in names.items()]
            copy.executemany("update student set id = ? where id = ?", pairs)
            copy.executemany(
                "update submitted_assignment set student_id = ? where student_id = ?", pairs
            )
            copy.execute(GIVEN)
        copy.execute("vacuum")  # what was deleted is still in the file without it
    for path in course.glob("*.py"):
        shutil.copyfile(path, folder / path.name)
    source = Path(coursedir.source_directory, assignment)
    copy_files(course / source, folder / source)
    for student, name in names.items():
        graded = folder / "autograded" / name / assignment
        copy_files(course / "autograded" / student / assignment, graded)
    who_is_who = course / "grading" / "pseudonyms.csv"
    shown = {str(harmless(student)): name for student, name in names.items()}
    known = {row[0]: row[1] for row in rows_in(who_is_who) if len(row) > 1}
    write_csv(who_is_who, [("student", "pseudonym"), *sorted({**known, **shown}.items())])
    return [
        student
        for student, words in students.items()
        if _names_itself(folder / "autograded" / names[student], words)
    ]


def _students(gradebook: sqlite3.Connection, assignment: str) -> dict[str, list[str]]:
    """What each student of an assignment is called, by id."""
    rows = gradebook.execute(
        "select student.id, first_name, last_name, email from student join submitted_assignment on"
        " student_id = student.id join assignment on assignment.id = assignment_id where name = ?"
        " order by 1",
        (assignment,),
    )
    return {row[0]: [word for word in row if word and len(word) > 2] for row in rows}


def _names_itself(folder: Path, names: list[str]) -> bool:
    texts = [
        text
        for path in plain_files(folder)
        for text in (
            path.relative_to(folder).as_posix(),
            path.read_bytes().decode("utf-8", "replace"),
        )
    ]
    return any(usual_id(name) in _usual(text) for name in names for text in texts)


def _usual(text: str) -> str:
    """A text in small letters, each as one sign, also where it stands as JSON and Python write it."""
    return usual_id(ESCAPED.sub(lambda found: chr(int(found[1], 16)), text))


def take_back(course: Path, assignment: str, folder: Path) -> TakenBack:
    """Take what graders have given in their folder into the course's gradebook.

    Only what they changed is taken, so that several folders can be taken back one after the other. Where
    the course's own gradebook has changed since, too, and to something else, its entry stays.

    Raises:
        CourseError: it is no such folder.
    """
    from nbgrader.api import Comment, Grade

    from autograder.batch.course import open_assignment
    from autograder.batch.entries import one_transaction
    from autograder.batch.run_lock import open_gradebook

    coursedir = open_assignment(course, assignment).coursedir
    changed = list(_changed(folder / GRADEBOOK))
    written, refused = 0, []
    with open_gradebook(coursedir) as gradebook, one_transaction(gradebook):
        for table, key, cell, before, after in changed:
            row = gradebook.db.get(Grade if table == "grade" else Comment, key)
            now = {column: getattr(row, column, None) for column in after}
            if row is None:
                refused.append(f"{cell}: the cell is gone ({_in_words(after)})")
            elif now not in (before, after):
                refused.append(
                    f"{cell}: the gradebook has got another entry since ({_in_words(after)})"
                )
            else:
                for column, value in after.items():
                    setattr(row, column, value)
                written += now != after
    return TakenBack(written, tuple(refused))


def _in_words(values: Values) -> str:
    """What a person gave, without what follows from it."""
    given = (
        f"{name.replace('_', ' ')} {value:g}" if isinstance(value, float) else f"“{value}”"
        for name, value in values.items()
        if name != "needs_manual_grade" and value is not None
    )
    return ", ".join(given) or "taken back"


def _changed(gradebook: Path) -> Iterator[tuple[str, str, str, Values, Values]]:
    """What graders changed, as (table, id, whose and which cell, before, after)."""
    if not gradebook.exists():
        raise CourseError(
            f"there is no gradebook in {gradebook.parent}: name the folder of the graders"
        )
    with contextlib.closing(sqlite3.connect(gradebook)) as copy:
        if not copy.execute("select 1 from sqlite_master where name = 'given_before'").fetchall():
            raise CourseError(
                f"{gradebook.parent} was not made by `python -m autograder anonymous`"
            )
        for table, columns in GIVEN_IN.items():
            both = ", ".join(f"given_before.{name}, {table}.{name}" for name in columns)
            rows = copy.execute(
                f"select {table}.id, student_id, base_cell.name, {both} from {table}"
                f" join given_before on given_before.id = {table}.id"
                f" join base_cell on base_cell.id = cell_id"
                f" join submitted_notebook on submitted_notebook.id = {table}.notebook_id"
                f" join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id"
            )
            for key, student, cell, *values in rows:
                before = dict(zip(columns, values[::2], strict=True))
                after = dict(zip(columns, values[1::2], strict=True))
                if before != after:
                    yield table, key, f"{student}, {cell}", before, after


def add_to(commands: Any) -> None:
    """Add the subcommand to those of the command line."""
    command = commands.add_parser("anonymous", help="a folder for graders, without names")
    command.add_argument("assignment", help="its id, which begins with a and a number")
    command.add_argument("folder", type=Path, help="the folder for graders")
    command.add_argument(
        "--take-back", action="store_true", help="take what graders gave there into the gradebook"
    )
    command.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit status 0: done; 1: some entries could not be taken back; 2: nothing was done."""
    assignment = options.assignment.rstrip("/")
    try:
        if options.take_back:
            return _say_taken_back(take_back(options.course, assignment, options.folder))
        named = hand_to_graders(options.course, assignment, options.folder)
    except (CourseError, OSError, sqlite3.Error) as error:
        print(f"nothing was done: {error}", file=sys.stderr)
        return 2
    print(f"{options.folder} is for the graders: start JupyterLab there, and open the formgrader.")
    print("Who is who stands in grading/pseudonyms.csv of the course.")
    if named:
        print(
            f"Their own id, name or address stands in the work of: {', '.join(map(printable, named))}"
        )
    return 0


def _say_taken_back(taken: TakenBack) -> int:
    print(
        f"{taken.written} {'entry' if taken.written == 1 else 'entries'} taken into the gradebook"
    )
    for line in taken.refused:
        print(f"left as it was: {printable(line)}")
    print("Grade again, which takes seconds, so that the reports and pages have it.")
    return 1 if taken.refused else 0
