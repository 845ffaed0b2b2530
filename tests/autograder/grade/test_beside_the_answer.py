"""What stands beside an answer costs nothing, or the sentence says what to do; on every road the same."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbgrader.validator import Validator

from assignments import allowed_modules
from autograder.batch import validate
from autograder.batch.course import scores_in
from autograder.batch.student_result import StudentResult, doubts, reasons_for
from autograder.checks.rendering import as_text
from autograder.grade import self_check
from autograder.grade.messages import Job
from autograder.grade.report import report_in
from autograder.grade.run import run_job
from autograder.grade.self_check import as_data, check_notebook
from autograder.sandbox import kernels
from autograder.validation import sentences_first
from tests.assignments.sample import always
from tests.autograder.grade.handed_in import HANDED_IN, text_of
from tests.autograder.grade.test_run import released_cells
from tests.sample_class import ISOLATION, ROOT, SETTINGS, grade, hand_in


@pytest.fixture(scope="module", autouse=True)
def one_zygote():
    yield
    kernels.close()


@cache
def released(assignment):
    """nbgrader's cells of an assignment, those to be answered as they were handed out."""
    path = ROOT / "exercises" / assignment / f"{assignment}.ipynb"
    given = {cell.id: cell.source for cell in nbformat.read(path, as_version=4).cells}
    return tuple(
        replace(cell, source=given[cell.name]) if cell.written else cell
        for cell in released_cells(assignment)
    )


def graded(name):
    """What becomes of a notebook of the list."""
    work = HANDED_IN[name]
    job = Job(work.assignment, text_of(work), released(work.assignment), ISOLATION)
    report = run_job(job, kernels.own_kernels(ISOLATION, allowed_modules(work.assignment)))
    assert not report.broken and not report.faults
    return report


# `make test` takes every eighth, and `make test-all` all
@pytest.mark.parametrize(
    "name", [always(number % 8 == 0, name) for number, name in enumerate(HANDED_IN)]
)
def test_points_and_sentences(name):
    work, report = HANDED_IN[name], graded(name)
    verdicts = report.verdicts.values()
    lost = {verdict.part: verdict.points - verdict.earned for verdict in verdicts}
    read = " ".join([*reasons_for(report), *(as_text(verdict) for verdict in verdicts)])
    read = " ".join(read.split())
    assert {part: points for part, points in lost.items() if points} == work.lost, read
    assert [words for words in work.told if words not in read] == [], read
    asked = " ".join(f"{why}: please look" for _, why in doubts(report))
    assert bool(asked) == bool(work.person) and work.person in asked


# all roads end in `run_job`, so that some show whether one of them leads elsewhere
ON_EVERY_ROAD = {name: HANDED_IN[name] for name in [*HANDED_IN][::8]}


def words_in(verdicts):
    """Verdicts as text, by part."""
    return {part: as_text(verdict) for part, verdict in verdicts.items()}


@dataclass(frozen=True)
class Graded:
    """A notebook of the list that was graded in a class."""

    course: Path
    student: str
    row: StudentResult

    def words(self, course):
        """All verdicts, as the graded notebook in a course folder has them."""
        assignment = self.course.name
        path = course / "autograded" / self.student / assignment / f"{assignment}.ipynb"
        return words_in(report_in(nbformat.read(path, as_version=4)).verdicts)


@pytest.fixture(scope="module")
def in_a_class(tmp_path_factory):
    """Some of the list, by name: for each assignment, those that answer it were graded as a class."""
    graded_ones, folder = {}, tmp_path_factory.mktemp("beside")
    for assignment in {work.assignment for work in ON_EVERY_ROAD.values()}:
        course = folder / assignment
        names = [name for name, work in ON_EVERY_ROAD.items() if work.assignment == assignment]
        students = {name: f"s{number:03}" for number, name in enumerate(names)}
        texts = {students[name]: text_of(HANDED_IN[name]) for name in names}
        hand_in(course, texts, assignment)
        (course / "grading").mkdir()
        (course / "grading" / "secret").touch()  # whoever checks alone has none either
        settings = replace(SETTINGS, feedback=False)
        rows = {row.student: row for row in grade(course, (), settings, assignment)}
        graded_ones |= {name: Graded(course, at, rows[at]) for name, at in students.items()}
    return graded_ones


@pytest.fixture
def kernels_stay(monkeypatch):
    """What a student starts once for a notebook, all of these have in common."""
    monkeypatch.setattr(self_check, "close", lambda: None)


@pytest.mark.long
def test_a_class_gives_the_same_points_and_words(in_a_class):
    for name, work in ON_EVERY_ROAD.items():
        one = in_a_class[name]
        lost = {part: one.row.possible[part] - points for part, points in one.row.parts.items()}
        assert {part: points for part, points in lost.items() if points} == work.lost, name
        said = " ".join(one.row.reasons)
        assert work.person in said, name
        written = " ".join(" ".join(one.words(one.course).values()).split())
        assert [words for words in work.told if words not in written + said] == [], name


@pytest.mark.long
@pytest.mark.parametrize("name", ON_EVERY_ROAD)
def test_a_check_by_oneself_gives_the_same_points_and_words(
    in_a_class, kernels_stay, tmp_path, name
):
    path = tmp_path / f"{HANDED_IN[name].assignment}.ipynb"
    path.write_text(text_of(HANDED_IN[name]), encoding="utf-8")
    report, one = check_notebook(path).report, in_a_class[name]
    assert {part: verdict.earned for part, verdict in report.verdicts.items()} == one.row.parts
    assert words_in(report.verdicts) == one.words(one.course)


@pytest.mark.long
@pytest.mark.parametrize("name", ON_EVERY_ROAD)
def test_a_validation_complains_of_what_loses_points(kernels_stay, monkeypatch, tmp_path, name):
    work = HANDED_IN[name]
    path = tmp_path / f"{work.assignment}.ipynb"
    path.write_text(text_of(work), encoding="utf-8")
    checks = []

    def checked(path):
        """In this process, which takes a tenth of the time."""
        checks.append(check_notebook(Path(path)))
        return as_data(checks[0])

    monkeypatch.setattr(validate, "checked", checked)
    sentences_first(validate)
    complaints = Validator().validate(str(path))
    assert bool(complaints) == bool(work.lost or work.person)
    if "type_changed" not in complaints and "changed" not in complaints:
        told = {cell["source"] for cell in complaints.get("failed", [])}
        verdicts = checks[0].report.verdicts
        assert told >= {as_text(verdicts[part]) for part in work.lost}


@pytest.mark.long
@pytest.mark.parametrize("assignment", sorted({work.assignment for work in ON_EVERY_ROAD.values()}))
def test_stock_nbgrader_gives_the_same_points_and_words(in_a_class, tmp_path, assignment):
    ones = [
        in_a_class[name] for name, work in ON_EVERY_ROAD.items() if work.assignment == assignment
    ]
    course, other = ones[0].course, tmp_path / "course"
    shutil.copytree(course, other)
    program = Path(sys.executable).with_name("nbgrader")
    done = subprocess.run(
        [program, "autograde", assignment, "--force"],
        cwd=other, env={**os.environ, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert scores_in(other) == scores_in(course)
    for one in ones:
        assert one.words(other) == one.words(course), one.student
