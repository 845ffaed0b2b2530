"""Grade a class with nbgrader, one submission at a time, and lose none of them.

nbgrader's folders and gradebook stay the truth: what is written here, the formgrader shows,
``nbgrader export`` exports, and ``nbgrader generate_feedback`` turns into pages.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, PyFileConfigLoader

from autograder.checks import load
from autograder.report import VERDICT_MIME


class CourseError(Exception):
    """The course folder is not as it must be; the message says what to do."""


@dataclass(frozen=True)
class Row:
    """What one student got, and why.

    ``parts`` maps a part to its points; ``reasons`` are the sentences for the table.
    """

    student: str
    points: float
    of: float
    parts: dict[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    failed: bool = False


def grade_class(
    course: Path,
    assignment: str,
    progress: Callable[[int, int, str], None],
    students: Sequence[str] = (),
) -> list[Row]:
    """Grade every submission of an assignment and write feedback pages.

    Args:
        course: folder with nbgrader_config.py, solutions/ and submitted/.
        assignment: the assignment's id.
        progress: told (done, of, student) before each submission.
        students: grade only these; all if empty.

    Returns:
        one row per student, in alphabetical order, broken submissions among them.

    Raises:
        CourseError: no such course folder, assignment or student, or nothing was submitted.
    """
    api = _open(course, assignment)
    submitted = _submitted(course, assignment)
    for student in students:
        if student not in submitted:
            raise CourseError(
                f"no submission of '{student}' for {assignment}. There are: {', '.join(submitted)}."
            )
    students = [student for student in submitted if student in (students or submitted)]
    with _logged(course / f"grading_{assignment}.log"):
        if not api.generate_assignment(assignment, force=True, create=True)["success"]:
            raise CourseError(
                f"nbgrader could not make the release version of {assignment}; the reason is in "
                f"{course / f'grading_{assignment}.log'}"
            )
        rows = []
        for number, student in enumerate(students):
            progress(number, len(students), student)
            rows.append(_grade_one(api, course, assignment, student))
    progress(len(students), len(students), "")
    return rows


def use_own_programs() -> None:
    """Put this environment's programs on PATH: nbgrader starts ``alembic`` by its bare name."""
    own = str(Path(sys.executable).parent)
    if own not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = own + os.pathsep + os.environ["PATH"]


def _open(course: Path, assignment: str) -> NbGraderAPI:
    use_own_programs()
    config_file = course / "nbgrader_config.py"
    if not config_file.exists():
        raise CourseError(
            f"no nbgrader_config.py in {course}: name the course folder with --course, or start in it"
        )
    config: Config = PyFileConfigLoader(config_file.name, path=str(course)).load_config()
    config.CourseDirectory.root = str(course.resolve())
    coursedir = CourseDirectory(config=config)
    solutions = course / coursedir.source_directory
    if not (solutions / assignment / f"{assignment}.ipynb").exists():
        there = sorted(path.name for path in solutions.glob("*") if path.is_dir())
        raise CourseError(
            f"there is no assignment '{assignment}' in {solutions}. "
            f"There {'are' if there else 'is'}: {', '.join(there) or 'none'}."
        )
    return NbGraderAPI(coursedir, config=config)


def _submitted(course: Path, assignment: str) -> list[str]:
    students = sorted(path.parent.name for path in (course / "submitted").glob(f"*/{assignment}"))
    if not students:
        raise CourseError(
            f"nothing to grade: no folder matches {course / 'submitted'}/STUDENT/{assignment}. "
            "Put each student's notebook there, or collect them with nbgrader."
        )
    return students


def _grade_one(api: NbGraderAPI, course: Path, assignment: str, student: str) -> Row:
    points = sum(part.points for part in load(assignment).parts)
    path = course / "submitted" / student / assignment / f"{assignment}.ipynb"
    problem = unreadable(path)
    if not problem:
        result = api.autograde(assignment, student, force=True, create=True)
        if not result["success"]:
            problem = "nbgrader could not grade it: " + _last_line(result["log"] or result["error"])
    if problem:
        _record_zero(api, assignment, student)
        return Row(student, 0.0, points, reasons=(problem,), failed=True)
    api.generate_feedback(assignment, student, force=True)
    with Gradebook(api.coursedir.db_url, api.coursedir.course_id) as gradebook:
        submission = gradebook.find_submission(assignment, student)
        scores = {grade.name: grade.score for grade in submission.notebooks[0].grades}
        total, most = submission.score, submission.max_score
    parts = {part.name: scores[f"check_{part.name}"] for part in load(assignment).parts}
    graded = course / "autograded" / student / assignment / f"{assignment}.ipynb"
    return Row(student, total, most, parts, tuple(_reasons(graded, parts)))


def unreadable(path: Path) -> str:
    """Why a submitted file cannot be graded, in words; empty if it can."""
    if not path.is_file():
        others = sorted(item.name for item in path.parent.glob("*.ipynb"))
        found = f"found {', '.join(others)}" if others else "found no notebook"
        return f"expected a file named {path.name}, {found}: rename it and grade again"
    try:
        notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        nbformat.validate(notebook)
    except UnicodeDecodeError:
        return "not a notebook: the file is not UTF-8 text. Ask for it again"
    except (nbformat.reader.NotJSONError, json.JSONDecodeError):
        return "not a notebook: the file is not JSON. Ask for it again"
    except (nbformat.ValidationError, KeyError, AttributeError, TypeError) as error:
        return f"not a valid notebook: {_last_line(str(error))}. Ask for it again"
    return ""


def _record_zero(api: NbGraderAPI, assignment: str, student: str) -> None:
    """Give a submission that cannot be run a row in the gradebook, marked for a human look."""
    with Gradebook(api.coursedir.db_url, api.coursedir.course_id) as gradebook:
        gradebook.update_or_create_student(student)
        try:
            submission = gradebook.find_submission(assignment, student)
        except MissingEntry:
            submission = gradebook.add_submission(assignment, student)
        for notebook in submission.notebooks:
            for grade in notebook.grades:
                grade.auto_score = 0.0
                grade.needs_manual_grade = True
        gradebook.db.commit()


def _reasons(graded: Path, parts: dict[str, float]) -> Iterator[str]:
    """Why points were lost, from the verdicts that the graded notebook holds."""
    notebook = nbformat.read(graded, as_version=4)
    for what, names in notebook.metadata.get("restored", {}).items():
        if names:
            yield f"locked cells were {what} and have been put right: {', '.join(names)}"
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        part = name.removeprefix("check_")
        if part == name or part not in parts:
            continue
        verdicts = [
            output.data[VERDICT_MIME]
            for output in cell.outputs
            if VERDICT_MIME in output.get("data", {})
        ]
        if not verdicts:
            errors = [output.ename for output in cell.outputs if output.output_type == "error"]
            yield f"{part}: {errors[0] if errors else 'no verdict'}"
            continue
        verdict = verdicts[-1]
        if verdict["earned"] == verdict["points"]:
            continue
        named = [name for name, _ in verdict["mistakes"]]
        problems = [step["problem"] for step in verdict["steps"] if step["problem"]]
        yield f"{part}: {'; '.join(named or problems[:1] or [verdict['remark']])}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in (text or "no reason given").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no reason given"


@contextlib.contextmanager
def _logged(path: Path) -> Iterator[None]:
    """Send what nbgrader logs and warns of to a file, so that the table stays readable."""
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("traitlets")
    before = logger.handlers[:], logger.propagate
    logger.handlers, logger.propagate = [handler], False
    warned = logging.getLogger("py.warnings")
    warned.addHandler(handler)
    warned.propagate = False
    try:
        # a warning inside nbgrader is for the log, also where Python was told to make it an error
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            logging.captureWarnings(True)
            yield
    finally:
        logging.captureWarnings(False)
        warned.removeHandler(handler)
        logger.handlers, logger.propagate = before
        handler.close()


def as_table(rows: list[Row]) -> str:
    """The rows as text: points, points by part, and below each row why points were lost."""
    width = max(len("student"), *(len(row.student) for row in rows))
    parts = next((list(row.parts) for row in rows if row.parts), [])
    head = "  ".join(["student".ljust(width), "points".rjust(9), *parts])
    lines = [head, "─" * len(head)]
    for row in rows:
        cells = [(f"{row.parts[part]:g}" if row.parts else "–").rjust(len(part)) for part in parts]
        total = f"{row.points:g} / {row.of:g}".rjust(9)
        lines.append("  ".join([row.student.ljust(width), total, *cells]))
        for reason in row.reasons:
            lines.extend(
                textwrap.wrap(reason, 96, initial_indent="    ", subsequent_indent="      ")
            )
    return "\n".join(lines)
