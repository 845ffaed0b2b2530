"""What stands beside an answer costs nothing, or the sentence says what to do; on every road the same."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import nbformat
import pytest

from assignments import allowed_modules
from autograder.batch.course import scores_in
from autograder.batch.student_result import doubts, reasons_for
from autograder.checks.rendering import as_text
from autograder.grade.messages import Job
from autograder.grade.report import report_in
from autograder.grade.run import run_job
from autograder.grade.self_check import check_notebook
from autograder.sandbox import kernels
from tests.autograder.grade.handed_in import A2, HANDED_IN, notebook_of
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
    text = nbformat.writes(notebook_of(work))
    job = Job(work.assignment, text, released(work.assignment), ISOLATION)
    report = run_job(job, kernels.own_kernels(ISOLATION, allowed_modules(work.assignment)))
    assert not report.broken and not report.faults
    return report


@pytest.mark.parametrize("name", HANDED_IN)
def test_points_and_sentences(name):
    work, report = HANDED_IN[name], graded(name)
    verdicts = report.verdicts.values()
    lost = {verdict.part: verdict.points - verdict.earned for verdict in verdicts}
    read = " ".join([*reasons_for(report), *(as_text(verdict) for verdict in verdicts)])
    read = " ".join(read.split())
    assert {part: points for part, points in lost.items() if points} == work.lost, read
    assert [words for words in work.told if words not in read] == [], read
    asked = " ".join(doubts(report))
    assert bool(asked) == bool(work.person) and work.person in asked


def words_in(path):
    """All verdicts of a graded notebook, as text."""
    report = report_in(nbformat.read(path, as_version=4))
    return {part: as_text(verdict) for part, verdict in report.verdicts.items()}


@pytest.fixture(scope="module")
def whole_class(tmp_path_factory):
    """A course folder in which all of the list that answer assignment 2 have been graded as a class."""
    course = tmp_path_factory.mktemp("beside") / "course"
    works = {name: work for name, work in HANDED_IN.items() if work.assignment == A2}
    students = {name: f"s{number:03}" for number, name in enumerate(works)}
    hand_in(course, {students[name]: notebook_of(work) for name, work in works.items()})
    (course / "grading").mkdir()
    (course / "grading" / "secret").touch()  # whoever checks alone has none either
    rows = grade(course, settings=replace(SETTINGS, feedback=False))
    return course, students, {row.student: row for row in rows}


OTHER_ROADS = (
    "pandas, above the imports", "cuda in the answer", "timeit above the answer", "a split cell",
    "default device cuda", "the imports stop", "einops, not installed", "a line magic that is not there",
)  # fmt: skip


@pytest.mark.long
def test_a_class_gives_the_same_points_and_words(whole_class):
    course, students, rows = whole_class
    for name, student in students.items():
        work, row = HANDED_IN[name], rows[student]
        assert row.points == row.of - sum(work.lost.values()), name
        assert row.needs_person == bool(work.person), name
        said = " ".join(row.reasons)
        assert work.person in said, name
        written = " ".join(" ".join(words_in(place(course, student)).values()).split())
        assert [words for words in work.told if words not in written + said] == [], name


@pytest.mark.long
@pytest.mark.parametrize("name", OTHER_ROADS)
def test_a_check_by_oneself_gives_the_same_points_and_words(whole_class, tmp_path, name):
    course, students, rows = whole_class
    path = tmp_path / f"{A2}.ipynb"
    nbformat.write(notebook_of(HANDED_IN[name]), path)
    report = check_notebook(path).report
    assert report.earned == rows[students[name]].points
    said = {part: as_text(verdict) for part, verdict in report.verdicts.items()}
    assert said == words_in(place(course, students[name]))


@pytest.mark.long
def test_stock_nbgrader_gives_the_same_points_and_words(whole_class, tmp_path):
    course, students, _ = whole_class
    other = tmp_path / "course"
    shutil.copytree(course, other)
    chosen = {students[name] for name in OTHER_ROADS}
    before = {student: words_in(place(other, student)) for student in chosen}
    points = scores_in(other)
    for student in set(students.values()) - chosen:
        shutil.rmtree(other / "submitted" / student)
    program = Path(sys.executable).with_name("nbgrader")
    done = subprocess.run(
        [program, "autograde", A2, "--force"],
        cwd=other, env={**os.environ, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert scores_in(other) == points
    assert {student: words_in(place(other, student)) for student in chosen} == before


def place(course, student):
    """Where a student's graded notebook lies."""
    return course / "autograded" / student / A2 / f"{A2}.ipynb"
