"""Write results into nbgrader's gradebook and folders: one writer, one student after the other.

Killed at any moment, it has written a student whole, or writes the same again on the next start.
Scores that a person gave are never touched.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    InvalidEntry,
    MissingEntry,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.apps import NbGraderAPI
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import joinedload, selectinload, undefer

from autograder.batch.extensions import Waiting
from autograder.batch.findings import findings_in
from autograder.batch.run_lock import LOG
from autograder.batch.settings import Settings
from autograder.batch.student_result import (
    StudentResult,
    by_hand,
    digest_of_page,
    doubts,
    due_of,
    lateness,
    reasons_for,
)
from autograder.errors import CourseError
from autograder.files import copy_files, cut, write_whole
from autograder.grade.messages import from_json
from autograder.grade.report import CHECK, Report

# the machine's, the gradebook's or the course's trouble, which stops a grading
STOPS_ALL = (SQLAlchemyError, InvalidEntry, OSError, CourseError)
# files that a browser shows and does not run
SERVED = (".csv", ".gif", ".jpeg", ".jpg", ".npy", ".npz", ".png", ".py", ".txt")


@dataclass(frozen=True)
class Held:
    """A result that waits until all others are there, or its key where it stands in a file."""

    student: str
    key: str
    digest: str
    came_in: str
    result: Report | None


class GradebookWriter:
    """Takes results, records them, and keeps a row for each student.

    Args:
        api: nbgrader on the course folder.
        course: the course folder.
        assignment: the assignment's id.
        gradebook: an open gradebook.
        kept: folder with the journal of what has been recorded.
        settings: of the class.
    """

    def __init__(
        self,
        api: NbGraderAPI,
        course: Path,
        assignment: str,
        gradebook: Gradebook,
        kept: Path,
        settings: Settings,
    ) -> None:
        self.api, self.course, self.assignment = api, course, assignment
        self.gradebook, self.kept, self.settings = gradebook, kept, settings
        self.rows: dict[str, StudentResult] = {}
        self._held: list[Held] = []
        self._cells: list[Any] = []
        self._ahead: dict[str, Any] = {}
        self._ahead_grades: dict[str, list[Grade]] = {}
        self._worth_other: frozenset[str] = frozenset()
        gradebook.db().expire_on_commit = False
        self._extensions = Waiting(course, assignment)
        self.journal = kept / "journal.jsonl"
        self.recorded: dict[str, tuple[str, str]] = {}
        self.pages: dict[str, str] = {}
        for entry in self._read_journal():
            if "page" in entry:
                self.pages[entry["student"]] = entry["page"]
            elif "work" in entry:
                self.recorded[entry["student"]] = entry["key"], entry["work"]

    def _read_journal(self) -> Iterator[dict[str, str]]:
        if self.journal.exists():
            for line in self.journal.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):  # the last line of a run that was killed
                    yield json.loads(line)

    def take(self, student: str, key: str, result: Report) -> None:
        """Record a result, unless this very one is recorded already."""
        if not self._nameable(student):
            return
        try:
            self._put_down(student, self._take(student, key, result), result)
        except STOPS_ALL:
            raise
        except Exception as error:  # noqa: BLE001 (one student's result stops nobody)
            result = _unrecorded(error, result)
            self._put_down(student, self._take(student, "", result), result)

    def _take(self, student: str, key: str, result: Report) -> tuple[str, bool]:
        """Give scores whole, or not at all; what `_score` returns."""
        with one_transaction(self.gradebook):
            new = self._score(student, key, result)
            self.rows[student] = self._row(student, new[0], result)
        return new

    def _nameable(self, student: str) -> bool:
        """Whether a student's name can stand in a gradebook; if not, the row says so."""
        if student == student.encode(errors="replace").decode():
            return True
        reason = "the folder's name is not UTF-8, and cannot stand in a gradebook: rename it"
        self.rows[student] = StudentResult(student, 0, 0, reasons=(reason,), failed=True)
        return False

    def same_work(self, student: str, result: Report) -> bool:
        """Whether a result is of the work of a student's that was recorded last.

        A journal from before digests told of files beside the notebook knows the notebook alone.
        """
        _, known = self.recorded.get(student, ("", ""))
        digest = result.digest if "+" in known else result.digest.partition("+")[0]
        return known == digest

    def replaces(self, student: str, key: str, result: Report) -> bool:
        """Whether work that is recorded has another result now: it is regraded."""
        known, _ = self.recorded.get(student, ("", ""))
        return bool(known) and known != key and self.same_work(student, result)

    def hold(self, student: str, key: str, result: Report) -> None:
        """Keep a result until `take_held`; what stands in a file is not kept in memory."""
        if self._nameable(student):
            on_file = (self.kept / f"{key}.json").exists() if key else False
            kept = None if on_file else result
            self._held.append(Held(student, key, result.digest, result.came_in, kept))

    def take_held(
        self, change_cells: Callable[[], frozenset[str]], look: Callable[[], None], files: bool
    ) -> None:
        """Record all that was held in one transaction: the gradebook has all of it, or nothing.

        Others who write into the gradebook wait as long, and nbgrader's formgrader waits for five
        seconds at most. So only scores are given inside; rows and files are made before and after.

        Args:
            change_cells: brings the assignment's cells up to date first, in the same transaction,
                and names those that are worth other points than before.
            look: called in the end, while nothing is written yet that could not be taken back.
            files: also write the graded notebooks, and note what is recorded.
        """
        held = [(one, replace(self._whole(one), notebook="", files={})) for one in self._held]
        self._held, done = [], []
        with one_transaction(self.gradebook):
            self._worth_other = change_cells()
            self._read_ahead()
            for one, brief in held:
                try:
                    with self.gradebook.db().begin_nested():
                        new = self._score(one.student, one.key, brief)
                except STOPS_ALL:
                    raise
                except Exception as error:  # noqa: BLE001 (one student's result stops nobody)
                    one = replace(one, result=_unrecorded(error, brief))
                    new = self._score(one.student, "", self._whole(one))
                done.append((one, new))
            look()
        self._ahead, self._ahead_grades = {}, {}
        for one, (key, fresh) in done:
            student, whole = one.student, self._whole(one)
            try:
                self.rows[student] = self._row(student, key, whole)
                if files:
                    self._put_down(student, (key, fresh), whole)
            except STOPS_ALL:
                raise
            except Exception as error:  # noqa: BLE001 (one student's result stops nobody)
                self.take(student, "", _unrecorded(error, whole))

    def _read_ahead(self) -> None:
        """Read the entries of all students at once; one by one, each would take questions of its own."""
        self._look_up_cells()
        entries = (
            self.gradebook.db.query(SubmittedAssignment)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .filter(Assignment.name == self.assignment)
            .options(
                joinedload(SubmittedAssignment.student),
                selectinload(SubmittedAssignment.notebooks).selectinload(
                    SubmittedNotebook.comments
                ),
            )
            .populate_existing()
        )
        self._ahead = {entry.student_id: entry for entry in entries}
        grades = (
            self.gradebook.db.query(Grade)
            .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
            .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .filter(Assignment.name == self.assignment)
            .options(undefer(Grade.max_score))
            .populate_existing()
        )
        self._ahead_grades = {}
        for grade in grades:
            self._ahead_grades.setdefault(grade.notebook_id, []).append(grade)

    def _whole(self, held: Held) -> Report:
        """A held result; its file may be of an earlier run, before the same work came in again."""
        result = held.result or from_json((self.kept / f"{held.key}.json").read_bytes(), Report)
        return replace(result, digest=held.digest, came_in=held.came_in)

    def _score(self, student: str, key: str, result: Report) -> tuple[str, bool]:
        """Give scores, within a transaction.

        Returns:
            the key under which the result is known from now on, and whether it is not there yet.
        """
        there = self._has(student, key)
        submission = self._submission(student, result)
        fresh = bool(result.broken) or self.settings.again or not there
        if result.broken:
            self._give_nothing(submission, result)
            key = ""
        elif fresh:
            self._write_scores(submission, result)
        self._assign_penalty(submission)
        return key, fresh

    def _put_down(self, student: str, recorded: tuple[str, bool], result: Report) -> None:
        """Write the files that belong to scores which stand in the gradebook, and note that they do.

        Killed before the note, the next start does both again.
        """
        key, fresh = recorded
        if result.broken:
            self._write_reason(student, result)
        elif fresh:
            self._write(student, result)
            self.pages.pop(student, None)
        self._note(student, key, result.digest)

    def _has(self, student: str, key: str) -> bool:
        """Whether this very result stands in the gradebook and in nbgrader's folder."""
        known, _ = self.recorded.get(student, ("", ""))
        if known != key or not self._folder("autograded", student).exists():
            return False
        if student in self._ahead:
            return True
        try:
            self.gradebook.find_submission(self.assignment, student)
        except MissingEntry:
            return False
        return True

    def _note(self, student: str, key: str, digest: str) -> None:
        if self.recorded.get(student) != (key, digest):
            self._append({"student": student, "key": key, "work": digest})
            self.recorded[student] = key, digest

    def _append(self, entry: dict[str, Any]) -> None:
        with self.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def without_feedback(self) -> list[str]:
        """Students whose feedback page is missing, or shows what is no longer so."""
        return [
            student
            for student, row in self.rows.items()
            if not row.failed and self._page(row) != self.pages.get(student, "")
        ]

    def _page(self, row: StudentResult) -> str | None:
        """What a page shows and when it was written: another program may have made it since."""
        try:
            written = self._feedback(row.student).stat().st_mtime_ns
        except OSError:
            return None  # there is none
        return f"{row.shown} {written}"

    def take_feedback(self, student: str, written: bool) -> None:
        """Note that a student's page stands, or say in the row that it does not."""
        row = self.rows[student]
        page = self._page(row) if written else None
        if page:
            self.pages[student] = page
            self._append({"student": student, "page": page})
        else:
            reason = "no feedback page could be written; `nbgrader generate_feedback` says why"
            self.rows[student] = replace(row, reasons=(*row.reasons, reason), needs_person=True)

    def _feedback(self, student: str) -> Path:
        return self._folder("feedback", student) / f"{self.assignment}.html"

    def _folder(self, kind: str, student: str) -> Path:
        return self.course / kind / student / self.assignment

    def _write(self, student: str, result: Report) -> None:
        aside = self.kept / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        write_whole(aside / f"{self.assignment}.ipynb", result.notebook)
        copy_files(self.course / "solutions" / self.assignment, aside, but=".ipynb")
        for name, data in result.files.items():
            place = aside / shown_as(name)
            # two names of a student's may become one
            with contextlib.suppress(FileExistsError, NotADirectoryError):
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.exists():
                    place.write_bytes(data)
        target = self._folder("autograded", student)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(aside, target)

    def _write_scores(self, submission: Any, result: Report) -> None:
        notebook = self._notebook(submission)
        self._give(submission.student.id, notebook, result, result.scores)
        for comment in notebook.comments:
            comment.auto_comment = "No response." if comment.name in result.unanswered else None
        self.gradebook.db.flush()

    def _give(
        self, student: str, notebook: Any, result: Report, scores: Mapping[str, float | None]
    ) -> None:
        """Give scores to the cells of a notebook; what a person gave for other work is to be seen again.

        A cell that earns no points asks nobody for a score.
        """
        changed = not self.same_work(student, result)
        for grade in self._grades(notebook):
            grade.auto_score = scores.get(grade.name, 0.0)
            if not grade.max_score:
                grade.needs_manual_grade = False
            elif grade.manual_score is None:
                grade.needs_manual_grade = grade.auto_score is None
            elif changed or grade.name in self._worth_other:
                grade.needs_manual_grade = True

    def _write_reason(self, student: str, result: Report) -> None:
        """A page that says why a submission could not be run, and no graded notebook."""
        # here, since few submissions need it, and it brings PyTorch along
        from autograder.batch.feedback import page_of_unreadable

        shutil.rmtree(self._folder("autograded", student), ignore_errors=True)
        page = self._feedback(student)
        page.parent.mkdir(parents=True, exist_ok=True)
        write_whole(page, page_of_unreadable(self.api.coursedir, self.assignment, result))

    def _give_nothing(self, submission: Any, result: Report) -> None:
        """No points for a submission that cannot be run."""
        student = submission.student.id
        for notebook in submission.notebooks:
            self._give(student, notebook, result, {})
            for grade in notebook.grades:
                if grade.manual_score is None and grade.max_score:
                    grade.needs_manual_grade = True
        self.gradebook.db.flush()

    def _look_up_cells(self) -> None:
        """Keep the assignment's own cells, which are the same for all students, so that they are read once."""
        released = self.gradebook.find_notebook(self.assignment, self.assignment)
        self._cells = [*released.grade_cells, *released.solution_cells]

    def _submission(self, student: str, result: Report) -> Any:
        known = time_in(result.came_in) if self.settings.collected_times else {}
        submission = self._ahead.get(student)
        if submission is None:
            if not self._cells:
                self._look_up_cells()
            self.gradebook.update_or_create_student(student)
            submission = self.gradebook.update_or_create_submission(
                self.assignment, student, **known
            )
        elif known:
            submission.timestamp = known["timestamp"]
        self._extensions.hand_over(submission)
        return submission

    def _grades(self, notebook: Any) -> list[Grade]:
        """The grades of a notebook with all that is computed of them, which one query reads.

        Looked at one by one, each would take a query of its own.
        """
        if notebook.id in self._ahead_grades:
            return self._ahead_grades[notebook.id]
        query = self.gradebook.db.query(Grade).filter(Grade.notebook_id == notebook.id)
        return list(query.options(undefer(Grade.max_score)).populate_existing())

    def _notebook(self, submission: Any) -> Any:
        return next(item for item in submission.notebooks if item.name == self.assignment)

    @cached_property
    def _late_penalty(self) -> AssignLatePenalties:
        """nbgrader's own, with the plugin of the course."""
        made = AssignLatePenalties(config=self.api.config)
        made.init_plugin()
        return made

    def _assign_penalty(self, submission: Any) -> None:
        """Take off for coming in late what the course's plugin says, by today's score and due date.

        Raises:
            CourseError: the plugin failed.
        """
        due = due_of(submission.assignment.duedate, submission.extension)
        late = 0.0
        if submission.timestamp and due:
            late = max(0.0, (submission.timestamp - due).total_seconds())
        for notebook in submission.notebooks:
            penalty = None
            if late:
                self.gradebook.db.refresh(notebook)
                try:
                    penalty = self._late_penalty.plugin_inst.late_submission_penalty(
                        submission.student.id, notebook.score, late
                    )
                except Exception as error:
                    raise CourseError(
                        f"the course's plugin for late penalties failed: {type(error).__name__}: "
                        f"{error}. nbgrader_config.py names it"
                    ) from error
            if penalty is not None:
                penalty = min(max(penalty, 0.0), notebook.score)
            if notebook.late_submission_penalty != penalty:
                notebook.late_submission_penalty = penalty
        self.gradebook.db.flush()

    def _row(self, student: str, key: str, result: Report) -> StudentResult:
        submission = self.gradebook.find_submission(self.assignment, student)
        self.gradebook.db.refresh(submission)
        notebook = self._notebook(submission)
        grades = {grade.name: grade for grade in self._grades(notebook)}
        checks = {
            name.removeprefix(CHECK): grades[name] for name in grades if name.startswith(CHECK)
        }
        penalty = submission.late_submission_penalty
        row = StudentResult(
            submission.student.id,
            max(0.0, submission.score - penalty),
            submission.max_score,
            possible={part: check.max_score for part, check in checks.items()},
            came_in=submission.timestamp,
            due=due_of(submission.assignment.duedate, submission.extension),
            penalty=penalty,
            shown=digest_of_page(submission, notebook, key),
        )
        for fault in result.faults:
            logging.getLogger(LOG).error("%s: %s\n%s", student, fault, fault.trace)
        unseen = [name for name, grade in grades.items() if grade.needs_manual_grade]
        reasons = [*lateness(row), *by_hand(grades[name] for name in unseen)]
        if result.broken:
            reasons.insert(0, result.broken)
            return replace(row, reasons=tuple(reasons), failed=True, needs_person=True)
        waiting = [name for name in unseen if grades[name].manual_score is None]
        doubted = list(doubts(result))
        failures = [f"{fault}; log.txt has the rest" for fault in result.faults]
        reasons = [*failures, *reasons_for(result), *doubted, *reasons]
        if waiting:
            reasons.append(f"waits for a person: {', '.join(waiting)}")
        return replace(
            row,
            parts={part: check.score for part, check in checks.items()},
            reasons=tuple(reasons),
            findings=tuple(findings_in(result, submission.student.id)),
            signatures={part: verdict.signature for part, verdict in result.verdicts.items()},
            seconds=sum(result.seconds.values()),
            needs_person=bool(unseen or doubted or result.faults),
        )


@contextlib.contextmanager
def one_transaction(gradebook: Gradebook) -> Iterator[None]:
    """Write all or nothing of what is done inside, and wait for the disk once.

    nbgrader commits after every row. SQLite is asked at once to keep other writers waiting, so that
    what is read inside is still so when it is written: a grader may give a score at the same time.
    """
    session = gradebook.db()
    session.commit = session.flush
    try:
        if gradebook.engine.dialect.name == "sqlite":
            session.connection().exec_driver_sql("begin immediate")
        yield
        session.flush()
    except BaseException:
        session.rollback()
        raise
    finally:
        del session.commit
    session.commit()


def _unrecorded(error: Exception, result: Report) -> Report:
    reason = f"the result cannot be recorded: {type(error).__name__}: {error}"
    return Report(cut(reason), digest=result.digest, came_in=result.came_in)


def time_in(text: str) -> dict[str, datetime]:
    """When a submission came in, by nbgrader's own file beside it; nothing if that is no time."""
    try:
        return {"timestamp": parse_utc(text)} if text and text.isascii() else {}
    except (ValueError, OverflowError, TypeError):
        return {}


def shown_as(name: str) -> str:
    """The name under which the formgrader serves a file of a student's: nothing that a browser runs."""
    return name if Path(name).suffix.lower() in SERVED else f"{name}.txt"
