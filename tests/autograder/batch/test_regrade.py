"""An assignment changes after submissions came in, and the class is graded again: nothing is lost, all is said."""

import csv
import re
import shutil
import sqlite3

import pytest

from tests.autograder.batch.living import ASSIGNMENT, RIGHT, TOO_SHORT, Living

PART = """

largest = Part("largest(x (n,)) -> number", lambda x: x.max())
LARGEST = largest.step("the largest of all", 2, Case("7 numbers", lambda randn: [randn(7)]))
"""
CELLS = """
# %% solution="largest"
def largest(x):
    ### BEGIN SOLUTION
    return x.max()
    ### END SOLUTION


# %% test="largest"
assert largest(torch.tensor([1.0, 3.0])) == 3

# %% check="largest"

# %% [markdown] written="where" points=1
# At the end.
"""
THREE = {**RIGHT, "largest": "def largest(x):\n    return x.max()", "where": "Nowhere."}


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Ada and Bob are graded, by hand as well; nothing has changed yet."""
    course = Living(tmp_path_factory.mktemp("first") / "course")
    course.hand_in(ada=RIGHT, bob=TOO_SHORT)
    course.grade()
    course.by_hand("ada", "why", 2)
    course.by_hand("bob", "why", 1.5)
    course.comment("bob", "why", "Say it of windows, too.")
    course.grade()
    assert (course.total("ada"), course.total("bob")) == ((7, 7), (5.5, 7))
    return course


@pytest.fixture
def course(first, tmp_path):
    """A copy of that course, to change."""
    copy = object.__new__(Living)
    copy.folder = tmp_path / "course"
    shutil.copytree(first.folder, copy.folder)
    for name in ("text", "rubric"):
        setattr(copy, name, copy.folder / getattr(first, name).relative_to(first.folder))
    return copy


def state(course):
    """All that a grading writes of scores: the gradebook's contents, and the graded notebooks."""
    with sqlite3.connect(course.folder / "gradebook.db") as gradebook:
        held = sorted(gradebook.iterdump())
    graded = sorted(course.folder.glob("autograded/**/*.ipynb"))
    return held, {path: path.read_text(encoding="utf-8") for path in graded}


def row_of(said, student):
    """A student's line of the table of changes, with what was broken over lines put together."""
    table = said[said.index("before") :]
    found = re.search(rf"^{student} .*(?:\n {{20,}}.*)*", table, re.MULTILINE)
    return " ".join(found[0].split())


def add_part(course):
    course.rubric.write_text(course.rubric.read_text(encoding="utf-8") + PART, encoding="utf-8")
    init = course.rubric.with_name("__init__.py")
    text = init.read_text(encoding="utf-8")
    init.write_text(
        text.replace("import moving_average, standardise", "import largest, moving_average, standardise")
        .replace("(moving_average, standardise)", "(moving_average, standardise, largest)"),
        encoding="utf-8",
    )  # fmt: skip
    course.edit(course.text, ("\n# %% [markdown]\n# **Say** why", CELLS + "\n# %% [markdown]\n# **Say** why"))  # fmt: skip


def test_parts_that_are_added_count_and_a_dry_run_writes_nothing(course):
    add_part(course)
    course.hand_in(eve=THREE)
    before = state(course)
    planned = course.grade("--dry-run")
    assert "cells added: largest, test_largest, check_largest, where" in planned
    assert row_of(planned, "ada") == "ada 7 / 7 7 / 10 largest added: 0 of 2; where added: 0 of 1"
    assert "2 of 2 graded before get another score; 1 graded for the first time" in planned
    assert "nothing was written" in planned
    assert state(course) == before
    assert "largest added" in course.kept("changes_planned.csv")

    said = course.grade()
    assert row_of(said, "ada") == row_of(planned, "ada")
    assert "handed in without cells that were added later: largest, test_largest" in " ".join(
        said.split()
    )
    assert "edited" not in said and "deleted" not in said
    assert course.total("ada") == (7, 10) and course.total("eve") == (7, 10)
    assert course.scores("ada")["why"] == (2, 2, False)
    assert course.scores("bob")["why"] == (1.5, 2, False)
    assert course.scores("ada")["where"] == (0, 1, True)
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in course.autograded("ada").cells]  # fmt: skip
    named = [name for name in names if name]
    assert named.index("largest") < named.index("test_largest") < named.index("check_largest")
    assert "where" in named and len(named) == len(set(named))

    course.by_hand("ada", "where", 1)
    assert "get another score" not in course.grade()
    assert course.total("ada") == (8, 10)
    with open(course.folder / "grading" / ASSIGNMENT / "changes.csv", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert [(row["student"], row["before"], row["of"], row["after"], row["of now"]) for row in rows] == [
        ("ada", "7.0", "7.0", "7.0", "10.0"), ("bob", "5.5", "7.0", "5.5", "10.0"),
    ]  # fmt: skip

    stock = course.nbgrader("autograde", "--assignment", ASSIGNMENT, "--student", "ada", "--force")
    assert course.total("ada") == (8, 10), stock


def test_what_is_removed_keeps_its_answers_and_what_was_given_by_hand(course):
    question = course.text.read_text(encoding="utf-8")
    course.text.write_text(question[: question.index("\n# %% [markdown]\n# **Say** why")])
    course.build()
    planned = course.grade("--dry-run")
    assert not (course.folder / "grading" / ASSIGNMENT / "removed_by_hand.csv").exists()
    assert "ada: 2 of 2 by hand for why, kept in removed_by_hand.csv" in planned
    said = course.grade()
    assert "cells removed: why" in said
    assert row_of(said, "bob") == "bob 5.5 / 7 4 / 5 why removed: 1.5 of 2, given by hand and kept in removed_by_hand.csv"  # fmt: skip
    assert (course.total("ada"), course.total("bob")) == ((5, 5), (4, 5))
    kept = list(csv.DictReader(course.kept("removed_by_hand.csv").splitlines()))
    assert [(row["student"], row["cell"], row["by hand"], row["of"], row["comment"]) for row in kept] == [
        ("ada", "why", "2.0", "2.0", ""), ("bob", "why", "1.5", "2.0", ""),
        ("bob", "why", "", "", "Say it of windows, too."),
    ]  # fmt: skip
    assert any(RIGHT["why"] in cell.source for cell in course.autograded("ada").cells)


def test_a_part_that_is_removed_leaves_no_locked_cell_behind(course):
    init = course.rubric.with_name("__init__.py")
    init.write_text(
        init.read_text(encoding="utf-8").replace(
            "(moving_average, standardise)", "(moving_average,)"
        )
    )
    text = course.text.read_text(encoding="utf-8")
    start = text.index("# %% [markdown]\n# **Write** `standardise")
    course.text.write_text(text[:start] + text[text.index("\n# %% [markdown]\n# **Say** why") :])
    course.build()
    said = course.grade()
    assert row_of(said, "ada") == "ada 7 / 7 5 / 5 standardise removed: 2 of 2"
    sources = [cell.source for cell in course.autograded("ada").cells]
    assert any("def standardise" in source for source in sources)
    assert not any(
        "assert standardise" in source or '"standardise")' in source for source in sources
    )
    assert course.scores("bob")["why"] == (1.5, 2, False)


def test_points_change_and_what_was_given_by_hand_stays_and_is_shown_again(course):
    course.edit(course.rubric, ('is that of its window", 2,', 'is that of its window", 4,'))
    course.edit(course.text, ('written="why" points=2', 'written="why" points=1'))
    said = course.grade()
    assert "points changed: check_moving_average 3 → 5, why 2 → 1" in said
    assert row_of(said, "bob") == "bob 5.5 / 7 7.5 / 8 moving_average counts 5 instead of 3: 2 → 4; why counts 1 instead of 2: 1.5 given by hand stays"  # fmt: skip
    assert course.scores("bob")["why"] == (1.5, 1, True)
    assert "graded by hand for an earlier version: why (1.5)" in said
    assert "edited" not in said


def test_a_step_is_decided_otherwise_and_only_those_whom_it_concerns_are_named(course):
    course.edit(
        course.rubric,
        ("return x.unfold(0, window, 1).mean(dim=-1)\n", "return x.unfold(0, window, 1).mean(dim=-1)[:-1]\n"),
        ("return averages(x, window)[:-1]", "return averages(x, window)[:-1] + 1"),
        ("series(6, 6), series(5, 5)", "series(6, 5), series(5, 4)"),
    )  # fmt: skip
    said = course.grade()
    assert "cells" not in said.split("isolation")[0].split("before")[0].split("\n\n")[-1]
    assert row_of(said, "bob").startswith("bob 5.5 / 7 6.5 / 7 moving_average decided otherwise: 2 → 3")  # fmt: skip
    assert "ada" in row_of(said, "ada") and "moving_average decided otherwise: 3 →" in row_of(said, "ada")  # fmt: skip
    assert course.scores("ada")["why"] == (2, 2, False)


def test_other_words_and_another_order_change_nobodys_score(course):
    text = course.text.read_text(encoding="utf-8")
    cut = text.index("# %% [markdown]\n# **Write** `standardise")
    question = text.index("\n# %% [markdown]\n# **Say** why")
    course.text.write_text(text[:cut] + text[question + 1 :] + "\n" + text[cut:question])
    course.edit(course.text, ("== [2, 5.5]", "== [2.0, 5.5]  # two windows"))
    said = course.grade()
    assert "other text, or another place: test_moving_average" in said
    assert "0 of 2 graded before get another score" in said
    assert "edited" not in said
    assert (course.total("ada"), course.total("bob")) == ((7, 7), (5.5, 7))
    assert any("two windows" in cell.source for cell in course.autograded("ada").cells)
    with sqlite3.connect(course.folder / "gradebook.db") as gradebook:
        order = [name for (name,) in gradebook.execute("select name from source_cell")]
    assert order.index("why") < order.index("standardise")


def test_a_renamed_cell_is_known_again_once_it_has_been_said(course):
    course.edit(course.text, ('written="why"', 'written="reason"'))
    planned = course.grade("--dry-run")
    assert "cells added: reason" in planned and "cells removed: why" in planned
    wrong = course.grade("--renamed", "who=reason", status=2)
    assert "expected a cell 'who'" in wrong and "in the gradebook alone: why" in wrong.lower()
    said = course.grade("--renamed", "why=reason")
    assert "cells renamed: why is now reason" in said
    assert "0 of 2 graded before get another score" in said
    assert course.scores("bob")["reason"] == (1.5, 2, False)
    with course.gradebook() as gradebook:
        comment = gradebook.find_comment("reason", ASSIGNMENT, ASSIGNMENT, "bob")
        assert comment.manual_comment == "Say it of windows, too."

    assert "renamed" not in course.grade("--again")  # and it is remembered
    assert "renamed" not in course.grade("--renamed", "why=reason")  # and may be said again
    assert course.scores("bob")["reason"] == (1.5, 2, False)
    (answer,) = [
        cell.source for cell in course.autograded("bob").cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "reason"
    ]  # fmt: skip
    assert answer == RIGHT["why"]
    course.nbgrader("autograde", "--assignment", ASSIGNMENT, "--student", "bob", "--force")
    assert course.scores("bob")["reason"] == (1.5, 2, False)


def test_half_a_class_is_not_graded_by_other_points(course):
    course.edit(course.text, ('written="why" points=2', 'written="why" points=1'))
    before = state(course)
    said = course.grade("--student", "ada", status=2)
    assert "points changed: why 2 → 1" in said and "Grade the whole class" in said
    assert state(course) == before


STOPPED = """
from autograder import __main__
from autograder.batch import record

count = 0
kind = getattr(record.Recorder, sys.argv[1])

def stop(self, *arguments):
    global count
    count += 1
    if count == 2:
        raise KeyboardInterrupt
    return kind(self, *arguments)

setattr(record.Recorder, sys.argv[1], stop)
sys.exit(__main__.main(sys.argv[2:]))
"""


@pytest.mark.parametrize("where", ["hold", "_score", "_put_down"])
def test_a_regrade_that_is_stopped_has_written_all_or_nothing_and_goes_on(course, where):
    course.edit(course.text, ('written="why" points=2', 'written="reason" points=1'))
    flags = ["--renamed", "why=reason", "--isolation", "none", "--no-feedback"]
    before = state(course)[0]
    program = course.folder / "stopped.py"
    program.write_text(STOPPED)
    course.run("grade", ASSIGNMENT, *flags, status=130, program=(str(program), where))
    if where == "_put_down":  # the gradebook is written, and one student's files are not
        assert course.total("ada")[1] == course.total("bob")[1] == 6
    else:
        assert state(course)[0] == before
    course.run("grade", ASSIGNMENT, *flags)
    assert (course.total("ada"), course.total("bob")) == ((7, 6), (5.5, 6))
    assert course.scores("ada")["reason"] == (2, 1, True)
    assert "get another score" not in course.grade()


def test_a_student_whose_work_is_gone_keeps_what_there_is_and_waits_for_a_person(course):
    shutil.rmtree(course.folder / "submitted" / "bob")
    add_part(course)
    said = course.grade()
    assert row_of(said, "bob") == "bob 5.5 / 7 5.5 / 10 largest added: 0 of 2; where added: 0 of 1"
    assert course.scores("bob")["check_largest"] == (0, 2, True)
