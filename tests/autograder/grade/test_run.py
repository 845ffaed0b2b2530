"""One submission, from text to report: what is shown, what is decided, and by which kernel."""

import json
import re
from functools import cache

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.utils import compute_checksum

from assignments import allowed_modules, load
from autograder.bounds import OutOfTime
from autograder.checks.decide import decide
from autograder.checks.verdicts import Obstacle
from autograder.grade import grading
from autograder.grade.messages import Job, ReleasedCell
from autograder.grade.report import report_in
from autograder.grade.run import run_job
from autograder.release.new_course import lay_out
from autograder.sandbox import bubblewrap, kernels
from autograder.sandbox.fresh import FreshKernels
from autograder.sandbox.limits import Limits
from tests.sample_class import ASSIGNMENT, ISOLATION, ROOT, submission

LAYERS = "a7_dropout_and_layer_norm"
# what differs from one run to the next
CHANCE = re.compile(r"0x[0-9a-f]{6,}|ipykernel_\d+|\d{4}-\d\d-\d\d \d\d:\d\d UTC|pid \d+")


@pytest.fixture(scope="module")
def forked():
    yield lambda name: kernels.own_kernels(ISOLATION, allowed_modules(name))
    kernels.close()


def graded(source_of_kernels, assignment, text, released=(), seconds=20, isolation=ISOLATION):
    """What becomes of a notebook."""
    limits = Limits(seconds_per_cell=seconds)
    report = run_job(Job(assignment, text, released, isolation, limits=limits), source_of_kernels)
    assert not report.broken
    return report


def shown(report):
    """What each code cell shows, its number of execution included, without what is left to chance."""
    notebook = nbformat.reads(report.notebook, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    found = [[cell.execution_count, [dict(output) for output in cell.outputs]] for cell in code]
    return json.loads(CHANCE.sub("…", json.dumps(found, sort_keys=True)))


@cache
def released_cells(assignment):
    """nbgrader's cells of an assignment, as a gradebook would list them."""
    solution = nbformat.read(ROOT / f"solutions/{assignment}/{assignment}.ipynb", as_version=4)
    text = (ROOT / f"exercises/{assignment}/{assignment}.ipynb").read_text(encoding="utf-8")
    given = {cell.id: cell.source for cell in nbformat.reads(text, as_version=4).cells}
    marked = [cell for cell in solution.cells if "nbgrader" in cell.metadata]
    return tuple(
        ReleasedCell(
            marks.grade_id, cell.cell_type,
            given[cell.id] if marks.solution else cell.source, compute_checksum(cell), marks.locked,
            marks.solution, marks.points if marks.grade else None,
        )
        for cell in marked
        for marks in [cell.metadata.nbgrader]
    )  # fmt: skip


def test_code_as_it_was_handed_out_is_no_answer(forked):
    text = (ROOT / "exercises" / LAYERS / f"{LAYERS}.ipynb").read_text(encoding="utf-8")
    verdicts = graded(forked(LAYERS), LAYERS, text, released_cells(LAYERS)).verdicts
    assert {verdict.obstacle for verdict in verdicts.values()} == {Obstacle.UNANSWERED}
    assert "is as it was handed out" in verdicts["SelfAttentionWithDropoutAndNorm"].remark


def test_a_cell_that_is_stopped_is_in_error_and_the_next_one_runs(forked):
    sources = ["print('before')", "while True: pass", "print('after')"]
    text = nbformat.writes(new_notebook(cells=[*map(new_code_cell, sources)]))
    before, stopped, after = shown(graded(forked(ASSIGNMENT), ASSIGNMENT, text, seconds=2))
    assert before == [1, [{"output_type": "stream", "name": "stdout", "text": "before\n"}]]
    assert after == [3, [{"output_type": "stream", "name": "stdout", "text": "after\n"}]]
    count, outputs = stopped
    assert count == 2
    assert "CellTimeoutError" in [output["ename"] for output in outputs]


def test_the_graded_notebook_carries_what_its_page_shows(forked):
    text, released = nbformat.writes(submission("mixed_batch")), released_cells(ASSIGNMENT)
    report = graded(forked(ASSIGNMENT), ASSIGNMENT, text, released)
    carried = report_in(nbformat.reads(report.notebook, as_version=4))
    assert len(carried.verdicts) == 4
    assert (carried.verdicts, carried.tests, carried.restored) == (
        report.verdicts, report.tests, report.restored,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("student", ["right_loops", "softmax_over_columns"])
def test_a_fresh_kernel_does_what_a_forked_one_does(forked, student):
    """The first is what macOS gets, where nothing can be forked."""
    text, released = nbformat.writes(submission(student)), released_cells(ASSIGNMENT)
    fresh = FreshKernels(allowed_modules(ASSIGNMENT))
    one = graded(forked(ASSIGNMENT), ASSIGNMENT, text, released)
    other = graded(fresh, ASSIGNMENT, text, released, isolation=bubblewrap.NONE)
    assert one.verdicts == other.verdicts and one.scores == other.scores
    assert shown(one) == shown(other)


def test_what_takes_the_grader_too_long_waits_for_a_person_and_the_rest_stands(forked, monkeypatch):
    late = load(ASSIGNMENT).parts[2].name

    def slow(assignment, part, *given, **named):
        if part.name == late:
            raise OutOfTime
        return decide(assignment, part, *given, **named)

    monkeypatch.setattr(grading, "decide", slow)
    text, released = nbformat.writes(submission("right_loops")), released_cells(ASSIGNMENT)
    report = graded(forked(ASSIGNMENT), ASSIGNMENT, text, released)
    [*before, third, fourth] = [
        report.scores[f"check_{part.name}"] for part in load(ASSIGNMENT).parts
    ]
    assert all(before) and third is fourth is None
    assert "A person has to look at it" in report.verdicts[late].remark


AVERAGES = """
import numpy as np
def moving_average(x, window):
    return np.lib.stride_tricks.sliding_window_view(x, window).mean(axis=-1)[:-1]
"""


def test_one_process_grades_for_two_courses(monkeypatch, tmp_path):
    lay_out("averages", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    other, part = "a1_averages", "moving_average"
    check = f'from autograder.cell import grade\n\ngrade("{other}", "{part}")'
    released = ReleasedCell(f"check_{part}", "code", check, "", True, False, 3.0)
    text = nbformat.writes(new_notebook(cells=[new_code_cell(AVERAGES)]))
    mine = nbformat.writes(submission("softmax_over_columns"))
    forks = kernels.own_kernels(ISOLATION, allowed_modules(ASSIGNMENT))
    for _ in range(2):
        averages = run_job(Job(other, text, (released,), ISOLATION, course="averages"), forks)
        [(name, _)] = averages.verdicts[part].mistakes
        assert name == "last window left out"
        attention = run_job(Job(ASSIGNMENT, mine, released_cells(ASSIGNMENT), ISOLATION), forks)
        assert (attention.earned, attention.of) == (9, 10)
    kernels.close()


SEES = """
seen = []
shell = get_ipython()
shell.events.register("pre_run_cell", lambda info: seen.append(repr(vars(info))))
"""
SHOWS = """
import os, sys
print(seen, shell.get_parent(), shell.kernel.execution_count, sorted(globals()))
print([(name, os.stat(name).st_mode) for name in os.listdir()], os.getcwd(), sys.argv, dict(os.environ))
"""


def test_what_a_notebook_is_besides_its_code_is_nothing_that_its_code_can_see(forked):
    def notebook(mark, number):
        cells = [new_code_cell(code) for code in (SEES, "x = 1", SHOWS)]
        for place, cell in enumerate(cells):
            cell.id, cell.execution_count = f"{mark}{place}", number
            cell.metadata.update({"tags": [mark], mark: mark, "name": mark})
        cells.insert(number % 3, new_markdown_cell(mark, id=mark))
        cells.insert(0, new_code_cell(" " * number, id=f"{mark}-empty"))
        return new_notebook(cells=cells, metadata={"title": mark, "authors": [{"name": mark}]})

    texts = [
        nbformat.writes(notebook(*each)) for each in (("answers", 1), ("others", 2), ("x", 300))
    ]
    kernels_of = forked(ASSIGNMENT)
    one, *others = [graded(kernels_of, ASSIGNMENT, text) for text in texts]
    first = [cell for cell in shown(one) if cell[1]]
    assert "cell_id" in str(first) and "Error" not in str(first), first
    assert all([cell for cell in shown(other) if cell[1]] == first for other in others)
