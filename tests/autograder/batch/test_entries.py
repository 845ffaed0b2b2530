"""Entries are read and made for many students at once, and are what nbgrader itself would read and make."""

import itertools
import warnings

import pytest
from nbgrader.api import Comment, Grade, Gradebook, SubmittedNotebook
from sqlalchemy import event

from autograder.batch.entries import Entries, one_transaction, points_of

ASSIGNMENT = "a0_doubles"


@pytest.fixture
def gradebook(tmp_path):
    """With cells of all kinds, in the assignment's own notebook and in another."""
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as opened:
        opened.add_assignment(ASSIGNMENT)
        for notebook in (ASSIGNMENT, "extra"):
            where = notebook, ASSIGNMENT
            opened.add_notebook(*where)
            opened.add_grade_cell("check_double", *where, max_score=3, cell_type="code")
            opened.add_grade_cell("test_double", *where, max_score=0, cell_type="code")
            opened.add_grade_cell("why", *where, max_score=2, cell_type="markdown")
            opened.add_solution_cell("why", *where)
            opened.add_task_cell("draw", *where, max_score=1, cell_type="markdown")
        yield opened


def held(gradebook, student):
    """All that the gradebook has of a student, but for the names of its rows."""
    submission = gradebook.find_submission(ASSIGNMENT, student)
    return {
        notebook.name: (
            notebook.late_submission_penalty,
            notebook.flagged,
            sorted((grade.name, grade.cell.type, grade.score, grade.auto_score, grade.max_score, grade.needs_manual_grade)
                   for grade in notebook.grades),
            sorted((comment.name, comment.cell.type, comment.comment) for comment in notebook.comments),
        )
        for notebook in submission.notebooks
    }  # fmt: skip


def test_what_is_made_is_what_nbgrader_makes(gradebook):
    with one_transaction(gradebook):
        made = Entries(gradebook, ASSIGNMENT).of(["ada", "bob"])
    assert made["ada"].new and made["bob"].new
    gradebook.add_student("eve")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of SQLAlchemy, about how nbgrader does it
        gradebook.add_submission(ASSIGNMENT, "eve")
    assert held(gradebook, "ada") == held(gradebook, "bob") == held(gradebook, "eve")
    assert gradebook.find_student("ada").id == "ada"


def test_an_entry_that_is_there_stays_and_so_does_its_student(gradebook):
    gradebook.add_student("ada", first_name="Ada")
    entries = Entries(gradebook, ASSIGNMENT)
    with one_transaction(gradebook):
        entries.of(["ada"])["ada"].own[0].auto_score = 2
    again = entries.of(["bob", "ada"])
    assert (again["ada"].new, again["bob"].new) == (False, True)
    assert again["ada"].own[0].auto_score == 2
    assert gradebook.find_student("ada").first_name == "Ada"
    assert entries.students() == {"ada", "bob"} and entries.students(["eve"]) == set()


def test_own_cells_are_those_of_the_notebook_called_as_the_assignment(gradebook):
    entry = Entries(gradebook, ASSIGNMENT).of(["ada"])["ada"]
    assert len(entry.grades) == 2 * len(entry.own) == 8
    assert [grade.name for grade in entry.own] == ["check_double", "test_double", "why", "draw"]
    assert [entry.of(grade) for grade in entry.own] == [3, 0, 2, 1]
    assert [comment.name for comment in entry.comments] == ["why", "draw"]


def test_points_are_those_that_the_gradebook_works_out(gradebook):
    values = list(itertools.product((None, 0.0, 1.5), (None, 0.0, 2.5), (None, 0.0, 0.25)))
    students = [f"s{number}" for number in range(len(values))]
    entries = Entries(gradebook, ASSIGNMENT)
    with one_transaction(gradebook):
        made = entries.of(students)
        for student, (auto, manual, extra) in zip(students, values, strict=True):
            grade = made[student].own[0]
            grade.auto_score, grade.manual_score, grade.extra_credit = auto, manual, extra
            made[student].submission.notebooks[0].late_submission_penalty = 0.5
    ours = [(points_of(made[student].own[0]), made[student].score(), made[student].penalty) for student in students]  # fmt: skip
    gradebook.db().expire_all()
    theirs = []
    for student in students:
        submission = gradebook.find_submission(ASSIGNMENT, student)
        grade = next(
            grade for grade in submission.notebooks[0].grades if grade.name == "check_double"
        )
        theirs.append((grade.score, submission.score, submission.late_submission_penalty))
    assert ours == theirs
    assert made["s0"].score(made["s0"].own[0].notebook_id) == made["s0"].score()


def test_a_whole_class_takes_as_many_questions_as_one_student(gradebook):
    def questions(number):
        asked = []
        entries = Entries(gradebook, ASSIGNMENT)
        students = [f"{number}_{place}" for place in range(number)]
        event.listen(gradebook.engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
        with one_transaction(gradebook):
            for entry in entries.of(students).values():
                for grade in entry.own:
                    grade.auto_score = 1.0 if entry.of(grade) and grade.name != "why" else 0.0
        return len(asked)

    assert questions(1) == questions(40)
    assert gradebook.db.query(Grade).count() == 8 * 41
    assert gradebook.db.query(Comment).count() == 4 * 41
    assert gradebook.db.query(SubmittedNotebook).count() == 2 * 41


def test_an_assignment_that_is_unknown_has_no_students(gradebook):
    assert Entries(gradebook, "a9").students() == set()
