"""Write results into nbgrader's gradebook and folders: one writer, some students at a time.

Killed at any moment, it has written a student whole, or writes the same again on the next start.
Scores that a person gave are never touched.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import nbformat
from nbgrader.api import Grade, Gradebook, InvalidEntry
from nbgrader.apps import NbGraderAPI
from sqlalchemy.exc import SQLAlchemyError

from autograder.batch.appeals import keep_asked, settled_of
from autograder.batch.came_in import Times
from autograder.batch.entries import Entries, Entry, one_transaction
from autograder.batch.exchange_time import Clock, clock_of, unread
from autograder.batch.extensions import Waiting
from autograder.batch.for_grader import notes_in, with_notes
from autograder.batch.not_run import notebook_to_mark
from autograder.batch.penalties import Penalties
from autograder.batch.run import Work
from autograder.batch.run_lock import LOG
from autograder.batch.same_code import Definitions, taught_by
from autograder.batch.settings import Settings
from autograder.batch.student_result import StudentResult, Summary, row_of, summary_of
from autograder.errors import CourseError
from autograder.files import copy_files, cut, write_whole
from autograder.grade.messages import from_json
from autograder.grade.report import CHECK, Report
from autograder.grade.restore import released_cells

# the machine's, the gradebook's or the course's trouble, which stops a grading
STOPS_ALL = (SQLAlchemyError, InvalidEntry, OSError, CourseError)
# files that a browser shows and does not run
SERVED = (".csv", ".gif", ".jpeg", ".jpg", ".npy", ".npz", ".png", ".py", ".txt")


class GradebookWriter:
    """Takes results, records them, also in the journal of a folder, and keeps a row for each student."""

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
        self._held: list[tuple[Work, Report | None]] = []
        gradebook.db().expire_on_commit = False
        self._entries = Entries(gradebook, assignment)
        self._extensions = Waiting(course, assignment)
        self._times = Times(course, assignment)
        self.journal = kept / "journal.jsonl"
        self.recorded: dict[str, tuple[str, str]] = {}
        self._summaries: dict[str, Any] = {}  # of what is recorded, where a row needs no more
        self.pages: dict[str, str] = {}
        for entry in self._read_journal():
            if "page" in entry:
                self.pages[entry["student"]] = entry["page"]
            elif "work" in entry:
                self.recorded[entry["student"]] = entry["key"], entry["work"]
                self._summaries[entry["student"]] = entry.get("summary")

    def _read_journal(self) -> Iterator[dict[str, Any]]:
        if self.journal.exists():
            for line in self.journal.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):  # the last line of a run that was killed
                    yield json.loads(line)

    @cached_property
    def _graded_before(self) -> set[str]:
        return self._entries.students()

    @cached_property
    def _clock(self) -> Clock:
        return clock_of(self.api.config)

    @cached_property
    def _penalties(self) -> Penalties:
        return Penalties(self.api.config)

    @cached_property
    def _notes(self) -> dict[str, str]:
        folder = self.course / self.api.coursedir.source_directory / self.assignment
        return notes_in(folder / f"{self.assignment}.ipynb")

    @cached_property
    def _taught(self) -> Definitions:
        cells = released_cells(self.gradebook, self.assignment, self.assignment)
        parts = [cell.name.removeprefix(CHECK) for cell in cells if cell.name.startswith(CHECK)]
        return taught_by(self.course, self.assignment, parts)

    def has(self, student: str, key: str) -> bool:
        """Whether a result stands in the gradebook and in the folders, and its row needs nothing else."""
        known, _ = self.recorded.get(student, ("", ""))
        return (
            known == key
            and student in self._graded_before
            and self._folder("autograded", student).exists()
            and self._file(key).exists()
            and self._summary(student) is not None
        )

    def _summary(self, student: str) -> Summary | None:
        with contextlib.suppress(msgspec.ValidationError):
            return msgspec.convert(self._summaries.get(student), Summary)
        return None

    def let_go(self, handed_in: Collection[str]) -> None:
        """Let nothing wait of work that could not be run and lies in ``submitted/`` no more.

        What a person gave for it stays; where nobody gave anything, nothing was handed in.
        """
        gone = [
            student
            for student, (key, _) in self.recorded.items()
            if not key and student not in handed_in and student in self._graded_before
        ]
        for student in self._entries.let_go(gone):
            shutil.rmtree(self._folder("autograded", student), ignore_errors=True)

    def take(self, works: Iterable[Work]) -> None:
        """Record results, unless these very ones are recorded already, in one transaction."""
        named = [(work, work.result) for work in works if self._nameable(work.student)]
        if named:
            self._record(named)

    def _nameable(self, student: str) -> bool:
        """Whether a student's name can stand in a gradebook; if not, the row says so."""
        if student == student.encode(errors="replace").decode():
            return True
        reason = "the folder's name is not UTF-8, and cannot stand in a gradebook: rename it"
        self.rows[student] = StudentResult(
            student, 0, 0, reasons=(reason,), failed=True, needs_person=True
        )
        return False

    def same_work(self, student: str, digest: str) -> bool:
        """Whether a digest is that of the work of a student's that was recorded last.

        A journal from before digests told of files beside the notebook knows the notebook alone.
        """
        _, known = self.recorded.get(student, ("", ""))
        return known == (digest if "+" in known else digest.partition("+")[0])

    def replaces(self, work: Work) -> bool:
        """Whether work that is recorded has another result now: it is regraded."""
        known, _ = self.recorded.get(work.student, ("", ""))
        return bool(known) and known != work.key and self.same_work(work.student, work.digest)

    def hold(self, work: Work) -> None:
        """Keep a result until `take_held`; of what stands in a file, only the scores stay in memory."""
        if not self._nameable(work.student):
            return
        if work.result and work.key and self._file(work.key).exists():
            brief = replace(work.result, notebook="", files={})
            self._held.append((replace(work, result=None), brief))
        else:
            self._held.append((work, work.result))

    def take_held(self, files: bool) -> None:
        """Record all that was held in one transaction: the gradebook has all of it, or nothing.

        Args:
            files: also write the graded notebooks, and note what is recorded.
        """
        held, self._held = self._held, []
        self._record(held, files)

    def _record(self, works: Sequence[tuple[Work, Report | None]], files: bool = True) -> None:
        """Give scores in one transaction, then make rows and files.

        Others who write into the gradebook wait as long as that lasts, and nbgrader's formgrader waits
        for five seconds at most. So only scores are given inside.

        Args:
            works: with their results as far as scores need them; None where that stands already.
            files: as for `take_held`.
        """
        done = []
        with one_transaction(self.gradebook):
            entries = self._entries.of([work.student for work, _ in works]) if works else {}
            for work, result in works:
                entry = entries[work.student]
                try:
                    with self.gradebook.db().begin_nested():
                        new = self._score(entry, work, result)
                except STOPS_ALL:
                    raise
                except Exception as error:  # noqa: BLE001 (one student's result stops nobody)
                    work = _unrecorded(error, work)
                    new = self._score(entry, work, work.result)
                done.append((work, entry, *new))
        for work, entry, key, fresh in done:
            try:
                self._finish(work, entry, key, fresh, files)
            except STOPS_ALL:
                raise
            except Exception as error:
                if work.result and work.result.broken:
                    raise
                self.take([_unrecorded(error, work)])

    def _finish(self, work: Work, entry: Entry, key: str, fresh: bool, files: bool) -> None:
        """Make the row and the files that belong to scores which stand in the gradebook."""
        student = work.student
        summary, result = None if fresh else self._summary(student), None
        if summary is None:
            result = self._result_of(work)
            for fault in result.faults:
                logging.getLogger(LOG).error("%s: %s\n%s", student, fault, fault.trace)
            summary = summary_of(student, result, self._taught)
        settled = settled_of(self.course, self.assignment, student)
        row = row_of(student, entry, key, summary, settled)
        self.rows[student] = self._asked_for_time(row, work)
        if files and not row.failed:
            keep_asked(self.course, self.assignment, student, row.asked)
        if files and result:
            self._put_down(work, entry, key, fresh, result, summary)

    def _result_of(self, work: Work) -> Report:
        """The whole result; its file may be of an earlier run, before the same work came in again."""
        if work.result:
            return work.result
        result = from_json(self._file(work.key).read_bytes(), Report)
        return replace(result, digest=work.digest, came_in=work.came_in)

    def _score(self, entry: Entry, work: Work, result: Report | None) -> tuple[str, bool]:
        """Give scores, within a transaction.

        Returns:
            the key under which the result is known from now on, and whether it is not there yet.
        """
        known, _ = self.recorded.get(work.student, ("", ""))
        there = (
            known == work.key
            and not entry.new
            and self._folder("autograded", work.student).exists()
        )
        key, fresh = work.key, self.settings.again or not there
        if fresh and result is None:  # what was there when it was looked for is gone
            result = self._result_of(work)
        when = self._collected_time(work)
        if when:
            entry.submission.timestamp = when
        self._times.hand_over(entry.submission)
        self._extensions.hand_over(entry.submission)
        if result and result.broken:
            key, fresh = "", True
            nothing = dict.fromkeys([grade.name for grade in entry.grades], None)
            self._give(entry, entry.grades, work, nothing if result.faults else {})
            for grade in entry.grades:
                if grade.manual_score is None and entry.of(grade):
                    grade.needs_manual_grade = True
        elif fresh and result:
            self._lift_nothing(work, entry)
            self._give(entry, entry.own, work, result.scores)
            for comment in entry.comments:
                comment.auto_comment = "No response." if comment.name in result.unanswered else None
        self._penalties.assign(entry)
        return key, fresh

    def _collected_time(self, work: Work) -> datetime | None:
        """When work came in, by nbgrader's own file beside it; None if that is no time, or not believed."""
        return self._clock.moment(work.came_in) if self.settings.collected_times else None

    def _asked_for_time(self, row: StudentResult, work: Work) -> StudentResult:
        """The row, which says so where such a file is to be believed and nobody can tell what it says."""
        open_question = self.settings.collected_times and work.came_in
        if not open_question or self._collected_time(work) or work.student in self._times:
            return row
        reason = unread(work.came_in, self.api.config)
        return replace(row, reasons=(*row.reasons, reason), needs_person=True)

    def _put_down(
        self, work: Work, entry: Entry, key: str, fresh: bool, result: Report, summary: Summary
    ) -> None:
        """Write the files that belong to scores, and note that they stand.

        Killed before the note, the next start does both again.
        """
        student = work.student
        if result.broken:
            self._write_reason(student, entry, result)
        elif fresh:
            self._write(student, result)
            self.pages.pop(student, None)
        # a fault is to be logged again, which takes the whole result
        brief = None if result.broken or result.faults else msgspec.to_builtins(summary)
        known = self.recorded.get(student), self._summaries.get(student)
        if known != ((key, work.digest), brief):
            self._note(student, key, work.digest, brief)

    def _note(self, student: str, key: str, digest: str, summary: Any = None) -> None:
        entry = {"student": student, "key": key, "work": digest}
        self._append(entry if summary is None else entry | {"summary": summary})
        self.recorded[student], self._summaries[student] = (key, digest), summary

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

    def _file(self, key: str) -> Path:
        return self.kept / f"{key}.json"

    def _folder(self, kind: str, student: str) -> Path:
        return self.course / kind / student / self.assignment

    def _write(self, student: str, result: Report) -> None:
        aside = self.kept / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        notebook = result.notebook
        if self._notes:
            whole = with_notes(nbformat.reads(notebook, as_version=4), self._notes)
            notebook = nbformat.writes(whole)
        write_whole(aside / f"{self.assignment}.ipynb", notebook)
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

    def _give(
        self, entry: Entry, grades: Sequence[Grade], work: Work, scores: Mapping[str, float | None]
    ) -> None:
        """Give scores to cells; what a person gave for other work is to be seen again.

        A cell that earns no points asks nobody for a score.
        """
        changed = not self.same_work(work.student, work.digest)
        for grade in grades:
            grade.auto_score = scores.get(grade.name, 0.0)
            if not entry.of(grade):
                grade.needs_manual_grade = False
            elif grade.manual_score is None:
                grade.needs_manual_grade = grade.auto_score is None
            elif changed:
                grade.needs_manual_grade = True

    def _lift_nothing(self, work: Work, entry: Entry) -> None:
        """Take back the zeros that a person gave for a file that could not be run, now that there is one that can."""
        could_run, _ = self.recorded.get(work.student, (work.key, ""))
        given = [grade for grade in entry.own if grade.manual_score is not None]
        if could_run or any(grade.manual_score or grade.extra_credit for grade in given):
            return
        for grade in given:
            grade.manual_score, grade.extra_credit = None, None
        for comment in entry.comments if given else ():
            comment.manual_comment = None

    def _write_reason(self, student: str, entry: Entry, result: Report) -> None:
        """A page that says why a submission could not be run, and a notebook in which a person can give points."""
        # here, since few submissions need it, and it brings PyTorch along
        from autograder.batch.feedback import page_of_unreadable

        cells = released_cells(self.gradebook, self.assignment, self.assignment)
        self._write(student, Report(notebook=notebook_to_mark(cells, result)))
        page = self._feedback(student)
        page.parent.mkdir(parents=True, exist_ok=True)
        write_whole(page, page_of_unreadable(self.api.coursedir, self.assignment, result, entry))


def _unrecorded(error: Exception, work: Work) -> Work:
    reason = f"the result cannot be recorded: {type(error).__name__}: {error}"
    result = Report(cut(reason), digest=work.digest, came_in=work.came_in)
    return replace(work, key="", result=result)


def shown_as(name: str) -> str:
    """The name under which the formgrader serves a file of a student's: nothing that a browser runs."""
    return name if Path(name).suffix.lower() in SERVED else f"{name}.txt"
