"""Write results into nbgrader's gradebook and folders: one writer, one student after the other.

Killed at any moment, it has written a student whole, or writes the same again on the next start.
Scores that a person gave are never touched.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps import NbGraderAPI
from nbgrader.preprocessors import AssignLatePenalties

from autograder.engine import Result
from autograder.files import copy_files, write_whole

PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<body style="font:18px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem">
<h1>{title}</h1>
<p>What you handed in could not be graded, and so has no points yet: {reason}.</p>
</body></html>
"""
CHECK = "check_"  # how the ids of the cells begin that decide a part


@dataclass(frozen=True)
class Row:
    """What one student got, and why.

    ``parts`` maps a part to its points, and ``possible`` to those that there are; ``reasons`` are the sentences for the table; ``mistakes``
    are names; ``seconds`` is what running and deciding took.
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
        again: also record what is recorded already.
    """

    def __init__(
        self,
        api: NbGraderAPI,
        course: Path,
        assignment: str,
        gradebook: Gradebook,
        kept: Path,
        again: bool = False,
    ) -> None:
        self.api, self.course, self.assignment = api, course, assignment
        self.gradebook, self.kept, self.again = gradebook, kept, again
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
        if "broken" in result:
            self._give_nothing(student, result["broken"])
            self._note(student, "")
        elif self.again or not self._has(student, key):
            self._write(student, result)
            self.explained.pop(student, None)
            self._note(student, key)
        self.rows[student] = self._row(student, result)

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
        write_whole(aside / f"{self.assignment}.ipynb", result["notebook"])
        for folder in (
            self.course / "solutions" / self.assignment,
            self._folder("submitted", student),
        ):
            copy_files(folder, aside, but=".ipynb")
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
            grade.auto_score = result["scores"].get(grade.name, 0.0)
            grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        for comment in notebook.comments:
            comment.auto_comment = "No response." if comment.name in result["unanswered"] else None
        notebook.late_submission_penalty = None
        self.gradebook.db.commit()
        if submission.total_seconds_late > 0:
            late = AssignLatePenalties(config=self.api.config)
            late.init_plugin()
            penalty = late.plugin_inst.late_submission_penalty(
                student, notebook.score, submission.total_seconds_late
            )
            if penalty is not None:
                notebook.late_submission_penalty = min(max(penalty, 0.0), notebook.score)
                self.gradebook.db.commit()

    def _give_nothing(self, student: str, reason: str) -> None:
        """A row in the gradebook for a submission that cannot be run, and a page that says why."""
        shutil.rmtree(self._folder("autograded", student), ignore_errors=True)
        page = self._folder("feedback", student) / f"{self.assignment}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        write_whole(page, PAGE.format(title=escape(self.assignment), reason=escape(reason)))
        for notebook in self._submission(student).notebooks:
            for grade in notebook.grades:
                grade.auto_score = 0.0
                grade.needs_manual_grade = grade.manual_score is None
        self.gradebook.db.commit()

    def _submission(self, student: str) -> Any:
        self.gradebook.update_or_create_student(student)
        more = {}
        folder = self._folder("submitted", student)
        timestamp = self.api.coursedir.get_existing_timestamp(str(folder))
        if timestamp:
            more["timestamp"] = timestamp
        return self.gradebook.update_or_create_submission(self.assignment, student, **more)

    def _row(self, student: str, result: Result) -> Row:
        submission = self.gradebook.find_submission(self.assignment, student)
        grades = {grade.name: grade for grade in submission.notebooks[0].grades}
        checks = {name.removeprefix(CHECK): grades[name] for name in grades if CHECK in name}
        row = Row(
            student,
            submission.score,
            submission.max_score,
            possible={part: check.max_score for part, check in checks.items()},
        )
        if "broken" in result:
            return replace(row, reasons=(result["broken"],), failed=True, needs_person=True)
        waiting = [name for name, grade in grades.items() if grade.needs_manual_grade]
        reasons = [*_reasons(result)]
        if waiting:
            reasons.append(f"waits for a person: {', '.join(waiting)}")
        return replace(
            row,
            parts={part: check.score for part, check in checks.items()},
            reasons=tuple(reasons),
            mistakes=tuple(
                name for verdict in result["verdicts"].values() for name, _ in verdict["mistakes"]
            ),
            seconds=sum(result["seconds"].values()),
            needs_person=bool(waiting),
        )


def _reasons(result: Result) -> Iterator[str]:
    """Why points were lost, in the words of the verdicts."""
    if result["remark"]:
        yield result["remark"]
    for what, names in result["restored"].items():
        if names:
            yield f"locked cells were {what} and have been put right: {', '.join(names)}"
    for part, verdict in result["verdicts"].items():
        if verdict["earned"] == verdict["points"]:
            continue
        named = [name for name, _ in verdict["mistakes"]]
        problems = [step["problem"] for step in verdict["steps"] if step["problem"]]
        yield f"{part}: {'; '.join(named or problems[:1] or [verdict['remark']])}"
