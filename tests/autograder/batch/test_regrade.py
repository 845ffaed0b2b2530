"""A check or a text changes after submissions came in, and the class is graded again: nothing is lost, all is said."""

import csv
import json
import os
import shutil

import nbformat
import pytest

from autograder.batch.gradebook_writer import GradebookWriter
from autograder.errors import CourseError
from autograder.release.new_course import lay_out
from tests.autograder import test_second_course as second
from tests.autograder.batch.living import Living, grade_id, question
from tests.sample_class import ASSIGNMENT, ISOLATION

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def graded(engine, tmp_path_factory):
    """Ada and Bob are graded, by hand as well; nothing has changed yet."""
    course = Living(tmp_path_factory.mktemp("living") / "course", engine)
    course.hand_in("ada", "right_loops")
    course.hand_in("bob", "softmax_over_columns")
    course.grade()
    course.by_hand("ada", "why", 2)
    course.by_hand("bob", "why", 1.5)
    course.comment("bob", "why", "Say it of softmax, too.")
    assert course.said() == "0 of 2 graded before get another score"
    assert (course.total("ada"), course.total("bob")) == ((12, 12), (10.5, 12))
    return course


@pytest.fixture
def course(graded, engine, tmp_path):
    """A copy of that course, to change."""
    shutil.copytree(graded.folder, tmp_path / "course")
    return Living(tmp_path / "course", engine)


def rows_in(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_who_is_decided_otherwise_is_listed_and_a_dry_run_writes_nothing(course):
    course.decided_earlier("check_self_attention", 1)
    before = course.state()
    planned = course.said(dry_run=True)
    assert "ada 10 / 12 12 / 12 self_attention decided otherwise: 1 → 3" in planned
    assert planned.endswith("2 of 2 graded before get another score")
    assert course.state() == before
    assert [row["student"] for row in rows_in(course.kept("changes_planned.csv"))] == ["ada", "bob"]
    assert not course.kept("changes.csv").exists()

    course.grade()
    assert (course.total("ada"), course.total("bob")) == ((12, 12), (10.5, 12))
    assert course.marks("bob")["why"] == (1.5, 2, False), "what was given by hand stays"
    (ada, _) = rows_in(course.kept("changes.csv"))
    assert [ada[name] for name in ("before", "of", "after", "of now", "reasons")] == [
        "10.0", "12.0", "12.0", "12.0", "self_attention decided otherwise: 1 → 3",
    ]  # fmt: skip
    assert course.said() == "0 of 2 graded before get another score"


def test_a_trial_before_anything_is_graded_says_who_would_be(engine, tmp_path):
    course = Living(tmp_path / "course", engine)
    course.hand_in("ada", "right_loops")
    (course.folder / "gradebook.db").unlink()
    assert course.said(dry_run=True) == "0 of 0 graded before get another score; 1 graded for the first time"  # fmt: skip
    assert not course.kept("released.txt").exists()


def added(course):
    course.change(lambda cells: [*cells, question("where", 1)])


def removed(course):
    course.change(lambda cells: [cell for cell in cells if grade_id(cell) != "why"])


def renamed(course):
    removed(course)
    course.change(lambda cells: [*cells, question("reason", 2)])


def worth_more(course):
    course.points("check_self_attention", 5)


OTHER_CELLS = {
    added: ["where: expected no such cell, found 1 point"],
    removed: ["why: expected 2 points, found no such cell"],
    renamed: ["why: expected 2 points, found no such cell", "reason: expected no such cell, found 2 points"],
    worth_more: ["check_self_attention: expected 3 points, found 5 points"],
}  # fmt: skip


@pytest.mark.parametrize("change", OTHER_CELLS, ids=lambda change: change.__name__)
def test_cells_and_points_stay_once_students_are_graded(course, change):
    source, before = course.source.read_bytes(), course.state()
    change(course)
    for settings in ({}, {"dry_run": True}):
        with pytest.raises(
            CourseError, match=r"put these back, or give .* new assignment"
        ) as stopped:
            course.grade(**settings)
        for said in OTHER_CELLS[change]:
            assert said in str(stopped.value)
    assert course.state() == before
    course.source.write_bytes(source)
    assert course.said() == "0 of 2 graded before get another score"


def test_other_words_and_another_order_change_nobodys_score(course):
    def moved(cells):
        cells[0].source += "\n\nA sentence more."
        named = {grade_id(cell): cell for cell in cells}
        named["test_self_attention"].source += "\n# read this"
        return [named["why"], *(cell for cell in cells if cell is not named["why"])]

    course.change(moved)
    assert course.said() == "0 of 2 graded before get another score"
    assert not course.kept("changes.csv").exists()
    assert "# read this" in course.autograded("ada")["test_self_attention"]
    assert course.marks("ada")["why"] == (2, 2, False)
    assert not any("locked" in reason for row in course.grade().rows for reason in row.reasons)


@pytest.mark.parametrize("where", ["hold", "_score", "_put_down"])
def test_a_regrade_that_is_stopped_has_written_all_or_nothing_and_goes_on(course, where):
    course.decided_earlier("check_self_attention", 1)
    before = course.state()[0]
    kind, calls = getattr(GradebookWriter, where), []

    def stop(self, *arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return kind(self, *arguments)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(GradebookWriter, where, stop)
        course.grade()
    if where == "_put_down":  # the gradebook is written, and one student's files are not
        assert (course.total("ada")[0], course.total("bob")[0]) == (12, 10.5)
    else:
        assert course.state()[0] == before
    course.grade()
    assert (course.total("ada"), course.total("bob")) == ((12, 12), (10.5, 12))
    assert course.said() == "0 of 2 graded before get another score"


def test_a_student_whose_work_is_gone_keeps_what_there_is(course):
    shutil.rmtree(course.folder / "submitted" / "bob")
    course.decided_earlier("check_self_attention", 1)
    said = course.said()
    assert "ada 10 / 12 12 / 12" in said and "bob" not in said
    assert course.total("bob")[0] < 10.5


def test_work_that_is_handed_in_again_is_said_to_be(course):
    course.hand_in("bob", "right_loops")
    said = course.said()
    assert "bob 10.5 / 12 11.5 / 12 attention_weights handed in again: 2 → 3" in said
    assert "ada" not in said


def test_a_journal_of_an_earlier_grader_makes_nobody_decided_otherwise(course):
    journal = course.kept("journal.jsonl")
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line.pop("summary", None)
        if "key" in line:
            line["key"] = "0" * 32
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    before = course.state()[0]
    assert course.said() == "0 of 2 graded before get another score"
    assert course.state()[0] == before


def test_a_check_changes_and_the_command_names_those_whom_it_concerns(tmp_path):
    """By the command line, in a course of its own, since a rubric is code."""
    course = tmp_path / "course"
    lay_out(second.COURSE, course)
    second.autograder(course, "build")
    second.hand_in(course, "right", second.RIGHT)
    second.hand_in(course, "wrong", second.WRONG)
    command = ("grade", second.ASSIGNMENT, "--isolation", ISOLATION, "--jobs", "2", "--no-feedback")
    assert second.autograder(course, *command).returncode == 0

    rubric = course / "averages" / second.ASSIGNMENT / "rubric.py"
    text = rubric.read_text(encoding="utf-8")
    for old, new in (
        ("    return standard(x.T).T", "    return standard(x.T).T + 1"),
        ("    return (x - x.mean(axis=0)) / x.std(axis=0)\n", "    return standard_by_rows(x)\n"),
    ):  # fmt: skip
        assert text.count(old) == 1
        text = text.replace(old, new)
    text += "\n\ndef standard_by_rows(x):\n    return ((x.T - x.mean(axis=1)) / x.std(axis=1)).T\n"
    rubric.write_text(text, encoding="utf-8")
    built = second.autograder(course, "build")
    assert built.returncode == 0, built.stderr
    before = (course / "gradebook.db").read_bytes()
    planned = second.autograder(course, *command, "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert (course / "gradebook.db").read_bytes() == before
    said = " ".join(planned.stdout.split())
    assert "wrong 3 / 5 4 / 5 standardise decided otherwise: 1 → 2" in said
    assert "standardise decided otherwise: 2 →" in said and "nothing was written" in said
    done = second.autograder(course, *command)
    assert planned.stdout.split("\n\n")[0].strip() in done.stdout
    assert os.path.exists(course / "grading" / second.ASSIGNMENT / "changes.csv")


def test_words_that_nobody_wrote_earn_nothing_and_wait_for_nobody(course):
    """Unless there are words in another cell, which may be the answer."""
    course.hand_in("eve", "right_loops", why="YOUR ANSWER HERE")
    course.hand_in("joe", "right_loops", why=" \n")
    course.hand_in("kim", "right_loops", why="YOUR ANSWER HERE")
    place = course.folder / "submitted" / "kim" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook = nbformat.read(place, as_version=4)
    notebook.cells.append(nbformat.v4.new_markdown_cell("A sum knows no order."))
    nbformat.write(notebook, place)
    rows = {row.student: row for row in course.grade().rows}
    for student in ("eve", "joe"):
        assert course.marks(student)["why"] == (0, 2, False)
        assert "why: no answer" in rows[student].reasons and not rows[student].needs_person
        assert rows[student].marked == {"why": 0}
    assert course.marks("kim")["why"] == (0, 2, True)
    assert rows["kim"].needs_person and rows["kim"].marked == {"why": None}
    assert (rows["ada"].marked, rows["bob"].marked) == ({"why": 2}, {"why": 1.5})
