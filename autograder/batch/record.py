"""Write results into nbgrader's gradebook and folders: one writer, one student after the other.

Killed at any moment, it has written a student whole, or writes the same again on the next start.
Scores that a person gave are never touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, InvalidEntry, MissingEntry
from nbgrader.apps import NbGraderAPI
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc
from sqlalchemy.exc import SQLAlchemyError

from autograder.batch.settings import Settings
from autograder.files import copy_files, cut, write_whole
from autograder.notebook.handed_in import files_beside, read_plain
from autograder.notebook.work import Result
from autograder.pages import render

CHECK = "check_"  # how the ids of the cells begin that decide a part
# files that a browser shows and does not run
SERVED = (".csv", ".gif", ".jpeg", ".jpg", ".npy", ".npz", ".png", ".py", ".txt")


@dataclass(frozen=True)
class Row:
    """What one student got, and why.

    ``parts`` maps a part to its points, and ``possible`` to those that there are; ``reasons`` are
    the sentences for the table; ``mistakes`` are names; ``seconds`` is what running and deciding
    took.
    """

    student: str
    points: float
    of: float
    parts: dict[str, float] = field(default_factory=dict)
    possible: dict[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()
    seconds: float = 0.0
    failed: bool = False
    needs_person: bool = False


class Recorder:
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
        self.rows: dict[str, Row] = {}
        self.journal = kept / "journal.jsonl"
        self.recorded: dict[str, str] = {}
        self.explained: dict[str, str] = {}
        for student, key, feedback in self._read_journal():
            (self.explained if feedback else self.recorded)[student] = key

    def _read_journal(self) -> Iterator[tuple[str, str, bool]]:
        if self.journal.exists():
            for line in self.journal.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    yield entry["student"], entry["key"], entry.get("feedback", False)
                except ValueError:
                    continue  # the last line of a run that was killed

    def take(self, student: str, key: str, result: Result) -> None:
        """Record a result, unless this very one is recorded already."""
        if student != student.encode(errors="replace").decode():
            reason = "the folder's name is not UTF-8, and cannot stand in a gradebook: rename it"
            self.rows[student] = Row(student, 0, 0, reasons=(reason,), failed=True)
            return
        try:
            key = self._take(student, key, result)
        except (SQLAlchemyError, InvalidEntry, OSError):
            raise  # the machine's or the gradebook's trouble
        except Exception as error:  # noqa: BLE001 (one student's result stops nobody)
            reason = f"the result cannot be recorded: {type(error).__name__}: {error}"
            key = self._take(student, "", Result(cut(reason)))
        self._note(student, key)

    def _take(self, student: str, key: str, result: Result) -> str:
        """Record a result whole, or not at all; the key under which it is known from now on."""
        with one_transaction(self.gradebook):
            if result.broken:
                self._give_nothing(student, result.broken)
                key = ""
            elif self.settings.again or not self._has(student, key):
                self._write(student, result)
                self.explained.pop(student, None)
            self.rows[student] = self._row(student, result)
        return key

    def _has(self, student: str, key: str) -> bool:
        """Whether this very result stands in the gradebook and in nbgrader's folder."""
        if self.recorded.get(student) != key or not self._folder("autograded", student).exists():
            return False
        try:
            self.gradebook.find_submission(self.assignment, student)
        except MissingEntry:
            return False
        return True

    def _note(self, student: str, key: str) -> None:
        if self.recorded.get(student) != key:
            self._append({"student": student, "key": key})
            self.recorded[student] = key

    def _append(self, entry: dict[str, Any]) -> None:
        with self.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def without_feedback(self) -> list[str]:
        """Students whose feedback page is missing, cut short, or of another result."""
        return [
            student
            for student, row in self.rows.items()
            if not row.failed
            and (
                self.explained.get(student) != self.recorded[student]
                or not self._folder("feedback", student).exists()
            )
        ]

    def take_feedback(self, student: str, written: bool) -> None:
        """Note that a student's page stands, or say in the row that it does not."""
        if written:
            key = self.explained[student] = self.recorded[student]
            self._append({"student": student, "key": key, "feedback": True})
        else:
            row = self.rows[student]
            reason = "no feedback page could be written; `nbgrader generate_feedback` says why"
            self.rows[student] = replace(row, reasons=(*row.reasons, reason), needs_person=True)

    def _folder(self, kind: str, student: str) -> Path:
        return self.course / kind / student / self.assignment

    def _write(self, student: str, result: Result) -> None:
        aside = self.kept / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        write_whole(aside / f"{self.assignment}.ipynb", result.notebook)
        copy_files(self.course / "solutions" / self.assignment, aside, but=".ipynb")
        for name, data in files_beside(self._folder("submitted", student))[0].items():
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
        self._write_scores(student, result)

    def _write_scores(self, student: str, result: Result) -> None:
        submission = self._submission(student)
        notebook = self.gradebook.find_submission_notebook(
            self.assignment, self.assignment, student
        )
        for grade in notebook.grades:
            grade.auto_score = result.scores.get(grade.name, 0.0)
            grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        for comment in notebook.comments:
            comment.auto_comment = "No response." if comment.name in result.unanswered else None
        notebook.late_submission_penalty = None
        self.gradebook.db.flush()
        if submission.total_seconds_late > 0:
            late = AssignLatePenalties(config=self.api.config)
            late.init_plugin()
            penalty = late.plugin_inst.late_submission_penalty(
                student, notebook.score, submission.total_seconds_late
            )
            if penalty is not None:
                notebook.late_submission_penalty = min(max(penalty, 0.0), notebook.score)
                self.gradebook.db.flush()

    def _give_nothing(self, student: str, reason: str) -> None:
        """A row in the gradebook for a submission that cannot be run, and a page that says why."""
        shutil.rmtree(self._folder("autograded", student), ignore_errors=True)
        page = self._folder("feedback", student) / f"{self.assignment}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        write_whole(page, render("broken.html", title=self.assignment, reason=reason))
        for notebook in self._submission(student).notebooks:
            for grade in notebook.grades:
                grade.auto_score = 0.0
                grade.needs_manual_grade = grade.manual_score is None
        self.gradebook.db.flush()

    def _submission(self, student: str) -> Any:
        self.gradebook.update_or_create_student(student)
        known = {}
        if self.settings.collected_times:
            known = time_in(self._folder("submitted", student) / "timestamp.txt")
        return self.gradebook.update_or_create_submission(self.assignment, student, **known)

    def _row(self, student: str, result: Result) -> Row:
        submission = self.gradebook.find_submission(self.assignment, student)
        grades = {grade.name: grade for grade in submission.notebooks[0].grades}
        checks = {
            name.removeprefix(CHECK): grades[name] for name in grades if name.startswith(CHECK)
        }
        row = Row(
            student,
            submission.score,
            submission.max_score,
            possible={part: check.max_score for part, check in checks.items()},
        )
        if result.broken:
            return replace(row, reasons=(result.broken,), failed=True, needs_person=True)
        waiting = [name for name, grade in grades.items() if grade.needs_manual_grade]
        reasons = [*_reasons(result)]
        if waiting:
            reasons.append(f"waits for a person: {', '.join(waiting)}")
        return replace(
            row,
            parts={part: check.score for part, check in checks.items()},
            reasons=tuple(reasons),
            mistakes=tuple(
                name for verdict in result.verdicts.values() for name, _ in verdict["mistakes"]
            ),
            seconds=sum(result.seconds.values()),
            needs_person=bool(waiting),
        )


@contextlib.contextmanager
def one_transaction(gradebook: Gradebook) -> Iterator[None]:
    """Write all or nothing of what is done inside, and wait for the disk once.

    nbgrader commits after every row.
    """
    session = gradebook.db()
    session.commit = session.flush
    try:
        yield
    except BaseException:
        session.rollback()
        raise
    finally:
        del session.commit
    session.commit()


def time_in(path: Path) -> dict[str, datetime]:
    """When a submission came in, by nbgrader's own file beside it; nothing if that is no time."""
    text = read_plain(path, most=100)
    try:
        return {"timestamp": parse_utc(text.decode("ascii").strip())} if text else {}
    except (ValueError, OverflowError, TypeError):
        return {}


def shown_as(name: str) -> str:
    """The name under which the formgrader serves a file of a student's: nothing that a browser runs."""
    return name if Path(name).suffix.lower() in SERVED else f"{name}.txt"


def _reasons(result: Result) -> Iterator[str]:
    """Why points were lost, in the words of the verdicts."""
    if result.remark:
        yield result.remark
    for what, names in asdict(result.restored).items():
        if names:
            yield f"locked cells were {what} and have been put right: {', '.join(names)}"
    for part, verdict in result.verdicts.items():
        if verdict["earned"] == verdict["points"]:
            continue
        named = [name for name, _ in verdict["mistakes"]]
        problems = [step["problem"] for step in verdict["steps"] if step["problem"]]
        yield f"{part}: {'; '.join(named or problems[:1] or [verdict['remark']])}"
