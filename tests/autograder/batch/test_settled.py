"""What is set aside for a person can be settled by one, and stays settled until other work comes in."""

import contextlib
import csv
import re
import shutil
import sqlite3
from datetime import datetime

import nbformat
import pytest
from nbgrader.apps import NbGraderAPI
from nbgrader.utils import is_grade

from autograder.__main__ import main
from autograder.batch.came_in import Times
from autograder.batch.class_report import write_report
from autograder.batch.course import open_assignment
from autograder.batch.feedback import feedback_of
from tests.autograder.batch.living import WORDS, Living, grade_id
from tests.sample_class import ASSIGNMENT, ISOLATION, ROOT

pytestmark = pytest.mark.long

RULES = "pass_at = 50\n"


@pytest.fixture(scope="module")
def graded(engine, tmp_path_factory):
    """Ada is right; Bob's file is cut short, Cy's is empty; without torch, Dee's answers all stop."""
    course = Living(tmp_path_factory.mktemp("settled") / "course", engine)
    (course.folder / "term.toml").write_text(RULES)
    course.hand_in("ada", "right_loops")
    course.by_file("bob", '{"cells": [')
    course.by_file("cy", "")
    course.hand_in("dee", "right_loops")
    course.without_import("dee")
    course.grade()
    course.by_hand("ada", "why", 2)
    course.by_hand("dee", "why", 1)
    return course


@pytest.fixture
def course(graded, engine, tmp_path):
    """A copy of that course, to change."""
    shutil.copytree(graded.folder, tmp_path / "course")
    return Living(tmp_path / "course", engine)


def settle(course, *words):
    return main(["settle", ASSIGNMENT, *words, "--course", str(course.folder)])


def waiting(course):
    """Who waits, by the run's rows and by the term."""
    rows = {row.student for row in course.grade().rows if row.needs_person}
    final = main(["term", "--course", str(course.folder)]) == 0
    return rows, final


def listed(course):
    """Students whose notebooks the formgrader lists, and those of which a person must give points."""
    api: NbGraderAPI = open_assignment(course.folder, ASSIGNMENT)
    rows = api.get_submissions(ASSIGNMENT)
    cells = api.get_notebook_submissions(ASSIGNMENT, ASSIGNMENT)
    assert {row["student"] for row in rows if row["autograded"]} == {
        one["student"] for one in cells
    }
    return {row["student"]: row["needs_manual_grade"] for row in rows}


def test_what_cannot_be_run_is_in_the_formgrader_with_its_cells_and_why(course):
    assert listed(course) == {"ada": False, "bob": True, "cy": True, "dee": False}
    path = course.folder / "autograded" / "bob" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    note, *cells = nbformat.read(path, as_version=4).cells
    assert "    not a notebook: the file is not JSON. Ask for it again" in note.source.split("\n")
    boxes = {grade_id(cell) for cell in cells if is_grade(cell)}
    assert boxes >= course.marks("bob").keys()


def test_whose_time_is_told_or_not_believed_is_in_the_formgrader_too(course):
    """nbgrader takes work for ungraded whose own file has another time than the gradebook."""
    Times(course.folder, ASSIGNMENT).put({"ada": datetime(2026, 3, 1, 10)})
    stamp = course.folder / "submitted" / "dee" / ASSIGNMENT / "timestamp.txt"
    stamp.write_text("2026-03-01 12:00:00 UTC", encoding="ascii")
    course.grade()
    assert listed(course) == {"ada": False, "bob": True, "cy": True, "dee": False}
    api = open_assignment(course.folder, ASSIGNMENT)
    rows = {row["student"]: row for row in api.get_submissions(ASSIGNMENT)}
    assert all(row["autograded"] for row in rows.values())
    assert rows["ada"]["timestamp"] == "2026-03-01T10:00:00" and rows["ada"]["score"] == 12
    Times(course.folder, ASSIGNMENT).put({"ada": datetime(2026, 3, 2, 10)})
    assert api.get_autograded_students(ASSIGNMENT) == {"bob", "cy", "dee"}, "until it is graded"


def test_points_in_each_cell_settle_it_for_the_run_the_term_and_the_platform(course, capsys):
    assert settle(course, "dee") == settle(course, "cy") == 0
    for cell in course.marks("bob"):
        course.by_hand("bob", cell, 0)
    course.comment("bob", "why", "Sent too late to be sent again.")
    assert waiting(course) == (set(), True)
    row = {row.student: row for row in course.grade().rows}["bob"]
    assert row.failed and row.points == 0 and "settled" in row.reasons[0]
    table = course.folder / "platform.csv"
    table.write_text("Id,Mark\nada,\nbob,\n", encoding="utf-8")
    words = ["lms", "scores", ASSIGNMENT, str(table), "--course", str(course.folder)]
    main([*words, "--by", "Id", "--column", "Mark", "--points", "12"])
    sent = (course.kept("scores_platform.csv")).read_text(encoding="utf-8")
    assert sent == "Id,Mark\nada,12.00\nbob,0.00\n"


def test_one_command_gives_a_total_with_a_reason_and_the_student_reads_both(course):
    settle(course, "cy", "--points", "7.5", "--reason", "Shown on paper <in class>.")
    course.grade()
    assert course.total("cy") == (7.5, 12)
    page = course.folder / "feedback" / "cy" / ASSIGNMENT / f"{ASSIGNMENT}.html"
    said = page.read_text(encoding="utf-8")
    assert "7.5 of 12 points" in said and "Shown on paper &lt;in class&gt;." in said
    api = open_assignment(course.folder, ASSIGNMENT)
    page.unlink()
    api.generate_feedback(ASSIGNMENT, "cy")
    assert page.read_text(encoding="utf-8") == said


def test_it_waits_again_when_other_work_comes_in_that_cannot_be_run_either(course):
    settle(course, "bob", "--points", "3")
    assert "bob" not in waiting(course)[0]
    course.by_file("bob", "[]")
    rows, final = waiting(course)
    assert "bob" in rows and not final
    assert course.total("bob")[0] == 3


def test_a_zero_for_a_file_that_could_not_be_run_ends_with_it(course):
    settle(course, "bob", "--points", "0", "--reason", "The file cannot be read.")
    assert "bob" not in waiting(course)[0]
    course.hand_in("bob", "right_loops")
    course.grade()
    assert course.total("bob") == (10, 12), "and the answer in words waits"
    with course.gradebook() as gradebook:
        notebook = gradebook.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, "bob")
        assert not any(comment.manual_comment for comment in notebook.comments)


def test_when_the_file_is_gone_nothing_waits(course):
    settle(course, "dee")
    settle(course, "cy", "--points", "0", "--reason", "Nothing in it.")
    for student in ("bob", "cy"):
        shutil.rmtree(course.folder / "submitted" / student)
    assert waiting(course) == (set(), True)
    assert listed(course) == {"ada": False, "cy": False, "dee": False}


def test_a_try_lets_nothing_go(course):
    shutil.rmtree(course.folder / "submitted" / "bob")
    course.grade(dry_run=True)
    assert "bob" in listed(course)


def test_parts_that_one_name_has_taken_are_settled_by_their_points(course):
    rows = {row.student: row for row in course.grade().rows}
    assert "please look" in " ".join(rows["dee"].reasons)
    for cell in course.marks("dee"):
        course.by_hand("dee", cell, 1)
    row = {row.student: row for row in course.grade().rows}["dee"]
    assert not row.needs_person and "and settled by hand" in " ".join(row.reasons)
    course.hand_in("dee", "right_loops", attention_weights="import math")
    course.without_import("dee")
    row = {row.student: row for row in course.grade().rows}["dee"]
    assert row.needs_person and "please look" in " ".join(row.reasons)


def test_a_person_who_agrees_says_so_once(course):
    assert settle(course, "dee") == 0
    row = {row.student: row for row in course.grade().rows}["dee"]
    assert (row.points, row.needs_person) == (1, False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bob", "--points", "13"], "expected points from 0 to 12, found 13"),
        (["bobby"], "Did you mean bob?"),
    ],
)
def test_what_cannot_be_settled_is_refused(course, capsys, words, said):
    assert settle(course, *words) == 2
    assert said in capsys.readouterr().err


def test_an_answer_in_words_without_points_is_no_zero(course, capsys):
    course.hand_in("eve", "right_loops")
    course.grade()
    assert settle(course, "eve") == 2
    assert "expected points for why, found none" in capsys.readouterr().err
    assert settle(course, "eve", "--points", "1") == 2, "which were meant for the answer"
    assert "Give the points of a part with --part why --points 1" in capsys.readouterr().err
    assert course.total("eve") == (10, 12)
    assert settle(course, "eve", "--points", "11") == 0
    assert course.total("eve") == (11, 12)
    assert {name: score for name, (score, _, _) in course.marks("eve").items()}["why"] == 1


def test_the_notebook_of_another_assignment_is_held_back_and_named(course):
    """It used to get no points for "locked cells were deleted", which is no help to anybody."""
    other = "a5_multi_head_attention"
    source = f"{other}/{other}.ipynb"
    (course.folder / "solutions" / other).mkdir()
    shutil.copy(ROOT / "solutions" / source, course.folder / "solutions" / source)
    course.by_file("ada", (ROOT / "exercises" / source).read_text(encoding="utf-8"))
    row = {row.student: row for row in course.grade().rows}["ada"]
    assert row.failed and row.needs_person
    assert row.reasons[0].startswith("this is the notebook of “Assignment 5: multi-head attention”")
    page = course.folder / "feedback" / "ada" / ASSIGNMENT / f"{ASSIGNMENT}.html"
    assert "This is the notebook of “Assignment 5" in page.read_text(encoding="utf-8")


def test_a_notebook_that_has_lost_all_names_of_its_cells_is_nobodys(course):
    place = course.folder / "submitted" / "ada" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook = nbformat.read(place, as_version=4)
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
    nbformat.write(notebook, place)
    row = {row.student: row for row in course.grade().rows}["ada"]
    assert not row.failed and row.parts["attention_weights"] == 3


def run(course, *words):
    return main(["grade", ASSIGNMENT, "--no-feedback", "--isolation", ISOLATION, *words,
                 "--course", str(course.folder)])  # fmt: skip


def test_work_without_a_time_is_said_to_be_never_late_where_something_is_due(course, capsys):
    run(course)
    assert "never late" not in capsys.readouterr().out
    with course.gradebook() as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate="2026-01-01 12:00:00 UTC")
    Times(course.folder, ASSIGNMENT).put({"ada": datetime(2026, 1, 1, 11)})
    run(course)
    said = capsys.readouterr().out
    assert "3 without a time at which it came in, and so never late: bob, cy, dee" in said
    assert "`hand-in FILE --student ID --at TIME`" in said
    page = course.kept("class.html").read_text(encoding="utf-8")
    assert "Of 3 submissions nothing says when" in page
    assert f"lms came-in {ASSIGNMENT} TABLE" in page


@pytest.mark.parametrize("renamed", [False, True])
def test_a_deleted_answer_is_told_where_it_stood_and_never_to_be_our_own_test(course, renamed):
    course.hand_in("eve", "right_loops")
    place = course.folder / "submitted" / "eve" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook = nbformat.read(place, as_version=4)
    at = [grade_id(cell) for cell in notebook.cells].index("self_attention")
    answer = notebook.cells.pop(at)
    if renamed:
        own = answer.source.replace("def self_attention", "def self_atention")
        notebook.cells.insert(at, nbformat.v4.new_code_cell(own))
    nbformat.write(notebook, place)
    course.grade(("eve",))
    said = " ".join(course_page(course, "eve").split())
    assert "test_self_attention`" not in said and "one defines <code>test_" not in said
    if renamed:
        assert "one defines <code>self_atention</code>" in said
    else:
        assert (
            "its cell is not there. It stood above its test, below “3. Attention on a batch”"
            in said
        )


def course_page(course, student):
    feedback_of(course.folder, ASSIGNMENT, student)
    page = course.folder / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"
    return page.read_text(encoding="utf-8")


def test_who_is_excused_is_so_in_the_run_on_the_page_and_for_the_platform(course, capsys):
    (course.folder / "students.csv").write_text("id\nada\nbob\ncy\ndee\neve\nfay\n")
    excused = "".join(f"{name},{ASSIGNMENT}\n" for name in ("ada", "bob", "eve"))
    (course.folder / "excused.csv").write_text(f"student,assignment\n{excused}")
    assert run(course) == 1
    said = capsys.readouterr().out
    for student in ("ada", "bob"):
        assert re.search(rf"^{student} +0 / 0 .*\n    excused, so that it", said, re.MULTILINE)
    assert "excused, and handed in nothing: eve" in said
    assert "handed in nothing, 1 of 6: fay" in said
    assert "1 could not be run: cy" in said
    page = " ".join(course.kept("class.html").read_text(encoding="utf-8").split())
    assert "1 submission graded, 1 could not be run" in page
    assert "3 are excused and not counted here; 1 on the list has handed in nothing" in page
    assert "2 of 6" in page, "of the term"
    rows = {row["student"]: row for row in csv_rows(course.kept("class.csv"))}
    assert [(rows[name]["points"], rows[name]["of"]) for name in ("ada", "bob", "eve")] == [
        ("0", "0")
    ] * 3
    table = course.folder / "platform.csv"
    table.write_text("Id,Mark\nada,\neve,\ndee,\n", encoding="utf-8")
    words = ["lms", "scores", ASSIGNMENT, str(table), "--course", str(course.folder)]
    main([*words, "--by", "Id", "--column", "Mark", "--points", "12"])
    assert "2 excused, and left alone: ada, eve" in capsys.readouterr().out
    sent = (course.kept("scores_platform.csv")).read_text(encoding="utf-8")
    assert "ada,\n" in sent and "eve,\n" in sent and "dee,1" in sent


def test_an_excuse_for_nobody_stops_the_run_before_anything_is_graded(course, capsys):
    (course.folder / "excused.csv").write_text(f"student,assignment\naday,{ASSIGNMENT}\n")
    assert run(course) == 2
    assert "found “aday”. Did you mean ada?" in capsys.readouterr().err


def csv_rows(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_the_model_answer_stands_beside_an_answer_in_words_for_its_grader_alone(course):
    path = course.folder / "autograded" / "ada" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    [at] = [place for place, cell in enumerate(cells) if grade_id(cell) == "why"]
    assert WORDS in cells[at].source
    assert (
        "No student sees this" in cells[at + 1].source and "A model answer." in cells[at + 1].source
    )
    assert "model answer" not in course_page(course, "ada").lower()


def test_the_page_of_the_class_has_the_part_that_a_person_marks(course):
    course.hand_in("eve", "right_loops")
    rows = course.grade().rows
    write_report(course.folder, ASSIGNMENT, rows, "none")
    page = " ".join(course.kept("class.html").read_text(encoding="utf-8").split())
    [row] = re.findall(r"<tr><th scope=.row.><code>why</code>.*?</tr>", page)
    assert "by a person, 1 to come" in row and "75 %" in row and "1 of 2" in row


def test_grading_makes_the_index_by_which_the_formgrader_lists_a_class(course):
    def plan():
        with contextlib.closing(sqlite3.connect(course.folder / "gradebook.db")) as gradebook:
            question = (
                "explain query plan select id from submitted_notebook where assignment_id = ''"
            )
            return gradebook.execute(question).fetchone()[-1]

    with contextlib.closing(sqlite3.connect(course.folder / "gradebook.db")) as gradebook:
        gradebook.execute("drop index ix_submitted_notebook_assignment_id")
        gradebook.commit()
    without, rows = plan(), listed(course)
    assert without.startswith("SCAN")
    course.grade()
    assert plan().startswith("SEARCH") and listed(course) == rows
