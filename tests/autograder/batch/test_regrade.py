"""An assignment changes after submissions came in, and the class is graded again: nothing is lost, all is said."""

import contextlib
import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import nbformat
import pytest

from autograder.__main__ import main
from autograder.batch.gradebook_writer import GradebookWriter
from autograder.errors import CourseError
from tests.autograder import test_second_course as second
from tests.autograder.batch.living import LAST, WORDS, Living, question
from tests.sample_class import ASSIGNMENT, ISOLATION

pytestmark = pytest.mark.long

LAST_CELLS = (LAST, f"test_{LAST}", f"check_{LAST}")


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


def test_what_is_added_counts_and_a_dry_run_writes_nothing(course):
    course.change(lambda cells: [*cells, question("where", 1)])
    before = course.state()
    planned = course.said(dry_run=True)
    assert planned.startswith("cells added: where student before after why")
    assert "ada 12 / 12 12 / 13 where added: 0 of 1" in planned
    assert planned.endswith("2 of 2 graded before get another score")
    assert course.state() == before
    assert [row["student"] for row in rows_in(course.kept("changes_planned.csv"))] == ["ada", "bob"]
    assert not course.kept("changes.csv").exists() and not course.kept("earlier.json").exists()

    graded = course.grade()
    assert "handed in without cells that were added later: where" in graded.rows[0].reasons
    assert course.total("ada") == (12, 13) and course.marks("ada")["where"] == (0, 1, True)
    assert course.marks("bob")["why"] == (1.5, 2, False)
    assert "where" in course.autograded("ada")
    (ada, _) = rows_in(course.kept("changes.csv"))
    assert [ada[name] for name in ("before", "of", "after", "of now", "reasons")] == [
        "12.0", "12.0", "12.0", "13.0", "where added: 0 of 1",
    ]  # fmt: skip

    course.by_hand("ada", "where", 1)
    course.hand_in("eve", "right_loops", where="At the end.")
    assert course.said() == "0 of 2 graded before get another score; 1 graded for the first time"
    assert course.total("ada") == (13, 13)
    assert "At the end." in course.autograded("eve")["where"]
    assert course.state()[0] != before[0]


def test_a_part_that_is_removed_keeps_its_answer_and_comes_back_with_its_points(course):
    source = course.source.read_bytes()
    course.without(*LAST_CELLS)
    said = course.said()
    assert "ada 12 / 12 10 / 10 is_permutation_equivariant removed: 2 of 2" in said
    held = course.autograded("ada")
    assert not set(LAST_CELLS) & set(held), "nbgrader's marks of a cell that is gone mean nothing"
    assert any(f"def {LAST}" in source for source in held.values())
    assert not any(f"assert {LAST}" in source for source in held.values())
    assert course.marks("bob")["why"] == (1.5, 2, False)

    course.source.write_bytes(source)
    rows = course.grade().rows
    assert course.total("ada") == (12, 12)
    assert not rows[0].reasons, "an old notebook has the cells, and nobody has edited them"


def test_what_was_given_by_hand_for_a_cell_that_goes_is_kept_on_record(course):
    course.without("why")
    planned = course.said(dry_run=True)
    assert "ada: 2 of 2 by hand for why, kept in removed_by_hand.csv" in planned
    assert not course.kept("removed_by_hand.csv").exists()
    said = course.said()
    assert "bob 10.5 / 12 9 / 10 why removed: 1.5 of 2, given by hand and kept in removed_by_hand.csv" in said  # fmt: skip
    assert (course.total("ada"), course.total("bob")) == ((10, 10), (9, 10))
    kept = rows_in(course.kept("removed_by_hand.csv"))
    assert {(row["student"], row["by hand"], row["of"], row["comment"]) for row in kept} == {
        ("ada", "2.0", "2.0", ""), ("bob", "1.5", "2.0", ""), ("bob", "", "", "Say it of softmax, too."),
    }  # fmt: skip
    assert any(WORDS in source for source in course.autograded("ada").values())


def test_points_go_up_and_down_and_what_was_given_by_hand_is_shown_again(course):
    course.points("why", 1)
    course.points("check_self_attention", 5)
    graded = course.grade()
    said = course.said()
    assert course.total("ada") == (12, 13)
    assert course.marks("bob")["why"] == (1.5, 1, True)
    (row,) = [row for row in rows_in(course.kept("changes.csv")) if row["student"] == "bob"]
    assert row["reasons"] == "self_attention counts 5 instead of 3: 3 → 3 | why counts 1 instead of 2: 1.5 given by hand stays"  # fmt: skip
    assert "graded by hand for an earlier version: why (1.5)" in graded.rows[1].reasons
    assert not any("edited" in reason for row in graded.rows for reason in row.reasons)
    assert said == "0 of 2 graded before get another score"


def test_other_words_and_another_order_change_nobodys_score(course):
    def moved(cells):
        cells[0].source += "\n\nA sentence more."
        named = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in cells}
        named["test_self_attention"].source += "\n# read this"
        return [named["why"], *(cell for cell in cells if cell is not named["why"])]

    course.change(moved)
    said = course.said()
    assert said.startswith("other text, or another place: why, ") and "test_self_attention" in said
    assert said.endswith("0 of 2 graded before get another score")
    assert not course.kept("changes.csv").exists()
    assert "# read this" in course.autograded("ada")["test_self_attention"]
    with contextlib.closing(sqlite3.connect(course.folder / "gradebook.db")) as gradebook:
        order = [
            name for (name,) in gradebook.execute("select name from source_cell order by rowid")
        ]
    assert order[0] == "why"
    assert course.marks("ada")["why"] == (2, 2, False)


def renamed(cells):
    for cell in cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "why":
            cell.metadata.nbgrader.grade_id = "reason"
    return cells


def test_a_renamed_cell_is_known_again_once_it_has_been_said(course):
    course.change(renamed)
    assert "cells added: reason cells removed: why" in course.said(dry_run=True)
    with pytest.raises(CourseError, match=r"a cell 'who'.* In the gradebook alone: why"):
        course.grade(renamed=(("who", "reason"),))
    said = course.said(renamed=(("why", "reason"),))
    assert "cells renamed: why is now reason" in said
    assert said.endswith("0 of 2 graded before get another score")
    assert WORDS in course.autograded("bob")["reason"]
    with course.gradebook() as gradebook:
        comment = gradebook.find_comment("reason", ASSIGNMENT, ASSIGNMENT, "bob")
        assert comment.manual_comment == "Say it of softmax, too."

    for settings in ({"again": True}, {"renamed": (("why", "reason"),)}):
        assert course.said(**settings) == "0 of 2 graded before get another score"
    assert course.marks("bob")["reason"] == (1.5, 2, False)

    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "autograde", ASSIGNMENT, "--student", "bob", "--force"],
        cwd=course.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert WORDS in course.autograded("bob")["reason"]
    assert course.total("bob") == (10.5, 12)


def test_half_a_class_is_not_graded_by_other_points(course):
    course.points("why", 1)
    before = course.state()
    with pytest.raises(CourseError, match=r"points changed: why 2 → 1.* Grade the whole class"):
        course.grade(("ada",))
    assert course.state() == before


@pytest.mark.parametrize("where", ["hold", "_score", "_put_down"])
def test_a_regrade_that_is_stopped_has_written_all_or_nothing_and_goes_on(course, where):
    course.change(renamed)
    course.points("reason", 1)
    settings = {"renamed": (("why", "reason"),)}
    before = course.state()[0]
    kind, calls = getattr(GradebookWriter, where), []

    def stop(self, *arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return kind(self, *arguments)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(GradebookWriter, where, stop)
        course.grade(**settings)
    if where == "_put_down":  # the gradebook is written, and one student's files are not
        assert course.total("ada")[1] == course.total("bob")[1] == 11
    else:
        assert course.state()[0] == before
    course.grade(**settings)
    assert (course.total("ada"), course.total("bob")) == ((12, 11), (10.5, 11))
    assert course.marks("ada")["reason"] == (2, 1, True)
    assert course.said() == "0 of 2 graded before get another score"


def test_a_student_whose_work_is_gone_keeps_what_there_is_and_waits_for_a_person(course):
    shutil.rmtree(course.folder / "submitted" / "bob")
    course.change(lambda cells: [*cells, question("where", 1)])
    assert "bob 10.5 / 12 10.5 / 13 where added: 0 of 1" in course.said()
    assert course.marks("bob")["where"] == (0, 1, True)


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


def test_a_name_for_a_cell_is_two_names(capsys):
    with pytest.raises(SystemExit):
        main(["grade", ASSIGNMENT, "--renamed", "why"])
    assert "expected OLD=NEW" in capsys.readouterr().err


def test_a_check_changes_and_the_command_names_those_whom_it_concerns(tmp_path):
    """By the command line, in a course of its own, since a rubric is code."""
    course = tmp_path / "course"
    shutil.copytree(second.HOME, course, ignore=shutil.ignore_patterns("__pycache__"))
    second.autograder(course, "build")
    second.hand_in(course, "right", second.RIGHT)
    second.hand_in(course, "wrong", second.WRONG)
    command = ("grade", second.ASSIGNMENT, "--isolation", ISOLATION, "--jobs", "2", "--no-feedback")
    assert second.autograder(course, *command).returncode == 0

    rubric = course / "averages" / second.ASSIGNMENT / "rubric.py"
    text = rubric.read_text(encoding="utf-8")
    for old, new in (
        ("is that of its window\", 2,", "is that of its window\", 3,"),
        ("    return standard(x.T).T", "    return standard(x.T).T + 1"),
        ("    return (x - x.mean(dim=0)) / x.std(dim=0)\n", "    return standard_by_rows(x)\n"),
    ):  # fmt: skip
        assert text.count(old) == 1
        text = text.replace(old, new)
    text += "\n\ndef standard_by_rows(x):\n    return ((x.T - x.mean(dim=1)) / x.std(dim=1)).T\n"
    rubric.write_text(text, encoding="utf-8")
    built = second.autograder(course, "build")
    assert built.returncode == 0, built.stderr
    before = (course / "gradebook.db").read_bytes()
    planned = second.autograder(course, *command, "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert (course / "gradebook.db").read_bytes() == before
    said = " ".join(planned.stdout.split())
    assert "points changed: check_moving_average 3 → 4" in said
    assert "wrong 3 / 5 5 / 6 moving_average counts 4 instead of 3: 2 → 3; standardise decided otherwise: 1 → 2" in said  # fmt: skip
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
