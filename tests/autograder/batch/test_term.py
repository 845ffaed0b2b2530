"""`python -m autograder term`: everybody's final mark, from a gradebook, by marks worked out by hand."""

import csv
import os
import re
import shutil
from datetime import UTC, datetime

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.batch.dates import as_text as as_plan
from autograder.batch.dates import odd as odd_dates
from autograder.batch.dates import read_dates
from tests.sample_class import ASSIGNMENT, ROOT, hand_in

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")

WORTH = {"a1_first": 10, "a2_second": 20, "a10_tenth": 10, "a13_more": 5}
SCORES = {
    "anna": {"a1_first": 8, "a2_second": 10, "a10_tenth": 10, "a13_more": 4},
    "bo": {"a1_first": 5, "a2_second": 20},
    "cy": {"a1_first": 4, "a2_second": 8, "a10_tenth": 5},
}
RULES = """
pass_at = 50
drop_worst = 1
[weights]
a1_first = 1
a2_second = 2
a10_tenth = 1
[bonus]
a13_more = 5
[grades]
A = 90
B = 80
C = 50
"""


@pytest.fixture(scope="module")
def term_of_four(tmp_path_factory):
    """Three students and a fourth who has handed in nothing; anna has a score by hand and came in late."""
    folder = tmp_path_factory.mktemp("term") / "course"
    hand_in(folder, {})
    with Gradebook(f"sqlite:///{folder}/gradebook.db", "attention") as gradebook:
        for name, most in WORTH.items():
            gradebook.add_assignment(name)
            gradebook.add_notebook(name, name)
            gradebook.add_grade_cell("check", name, name, max_score=most, cell_type="code")
        gradebook.add_student("anna", first_name="Anna", last_name="=Å", email="a@example.org")
        for student in ("bo", "cy", "dee"):
            gradebook.add_student(student)
        for student, scores in SCORES.items():
            for name, score in scores.items():
                grade = gradebook.add_submission(name, student).notebooks[0].grades[0]
                grade.auto_score, grade.needs_manual_grade = score, False
        late = gradebook.find_submission("a2_second", "anna").notebooks[0]
        late.grades[0].manual_score, late.late_submission_penalty = 14, 2
        gradebook.db.commit()
    (folder / "term.toml").write_text(RULES, encoding="utf-8")
    return folder


@pytest.fixture
def course(term_of_four, tmp_path):
    """A copy of that course for a test."""
    return shutil.copytree(term_of_four, tmp_path / "course")


def term(course, *flags):
    return main(["term", "--course", str(course), *flags])


def table(course):
    with (course / "grading/term/marks.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_the_marks_are_those_worked_out_by_hand(course, capsys):
    assert term(course) == 0
    rows = table(course)
    assert list(rows["anna"])[4:8] == list(WORTH)
    # 14 by hand less 2 for coming in late, each once; that share of 0.6 is the worst
    assert rows["anna"]["a2_second"] == "12.0"
    found = {name: (row["mark"], row["grade"], row["passed"]) for name, row in rows.items()}
    assert found == {
        "anna": ("94.0", "A", "yes"),
        "bo": ("83.3", "B", "yes"),
        "cy": ("45.0", "not passed", "no"),
        "dee": ("0.0", "not passed", "no"),
    }
    assert rows["anna"]["last name"] == "'=Å"
    assert rows["bo"]["remarks"] == "dropped: a10_tenth; handed in nothing: a10_tenth, a13_more"
    said = capsys.readouterr().out
    assert re.search(r"^=Å, Anna  anna +8 +12 +10 +4 +94\.0  A$", said, re.MULTILINE)
    assert "2 of 4 have passed" in said


def test_nothing_is_written_into_the_gradebook(course):
    before = (course / "gradebook.db").read_bytes()
    assert term(course) == 0
    assert (course / "gradebook.db").read_bytes() == before


def test_what_came_in_and_is_not_graded_is_no_zero_without_a_word(course, capsys):
    for student in ("bo", "eve"):
        (course / "submitted" / student / "a10_tenth").mkdir(parents=True)
    assert term(course) == 1
    assert "2 not final: bo, eve" in capsys.readouterr().out
    rows = table(course)
    assert rows["bo"]["final"] == rows["eve"]["final"] == "no"
    assert "not final, since it came in and is not graded: a10_tenth" in rows["bo"]["remarks"]


def test_an_assignment_that_came_in_and_is_not_graded_at_all_is_not_forgotten(course, capsys):
    """Without weights what is graded counts, and the marks would look final without it."""
    (course / "term.toml").write_text("pass_at = 50\n", encoding="utf-8")
    (course / "submitted" / "bo" / ASSIGNMENT).mkdir(parents=True)
    assert term(course) == 2
    assert (
        f"expected scores of {ASSIGNMENT} in the gradebook, found none" in capsys.readouterr().err
    )
    assert term(course, "--so-far") == 0
    assert f"left out: {ASSIGNMENT}" in capsys.readouterr().out


def test_an_assignment_that_nobody_handed_in_is_not_left_out_without_a_word(course, capsys):
    """Without weights nothing says whether it counts, and the marks would look final."""
    rules = course / "term.toml"
    rules.write_text("pass_at = 50\n", encoding="utf-8")
    assert term(course) == 2
    said = capsys.readouterr().err
    assert f"expected scores of {ASSIGNMENT} in the gradebook, found none" in said
    assert "Without [weights] whatever is taught may count" in said
    assert not (course / "grading/term/marks.csv").exists()
    assert term(course, "--so-far") == 0
    assert f"left out: {ASSIGNMENT}" in capsys.readouterr().out


def test_what_has_a_due_date_is_what_may_count(course, capsys):
    for name in ("a1_first", "a2_second"):
        (course / "solutions" / name).mkdir()
        (course / "solutions" / name / f"{name}.ipynb").write_text("{}")
    dates = "pass_at = 50\nzone = 'UTC'\n[due]\na1_first = 2026-10-12T12:00:00\n"
    (course / "term.toml").write_text(dates, encoding="utf-8")
    assert term(course) == 0
    assert f"{ASSIGNMENT}" not in capsys.readouterr().out
    (course / "term.toml").write_text(f"{dates}{ASSIGNMENT} = 2026-10-19T12:00:00\n")
    assert term(course) == 2
    assert f"expected scores of {ASSIGNMENT} in" in capsys.readouterr().err


def test_who_joined_after_the_last_grading_has_a_row(course, capsys):
    people = "id,first_name,last_name\nanna,Anna,Ång\nbo,Bo,Berg\ncy,,\ndee,,Zorn\nnew,Nia,Adams\n"
    (course / "students.csv").write_text(people, encoding="utf-8")
    assert term(course) == 0
    said = capsys.readouterr().out
    assert re.search(r"^Adams, Nia +new +– +– +– +– +0\.0  not passed$", said, re.MULTILINE)
    assert "2 of 5 have passed" in said
    assert list(table(course)) == ["cy", "new", "anna", "bo", "dee"]
    row = table(course)["new"]
    assert (row["last name"], row["mark"], row["passed"]) == ("Adams", "0.0", "no")
    assert "handed in nothing: a1_first, a2_second, a10_tenth" in row["remarks"]


def test_the_marks_that_the_guide_shows_are_printed(course, capsys):
    people = "id,first_name,last_name\nanna,Anna,Ångström\nbo,Bo,Berg\n"
    (course / "students.csv").write_text(people, encoding="utf-8")
    assert term(course) == 0
    guide = (ROOT / "docs/instructors.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    [shown] = [block for block in blocks if "Ångström" in block]
    assert capsys.readouterr().out.startswith(shown)


def test_a_guest_stands_apart_and_is_not_counted(course, capsys):
    (course / "students.csv").write_text("id\nanna\nbo\ndee\n", encoding="utf-8")
    (course / "submitted" / "cy" / "a10_tenth").mkdir(parents=True)
    (course / "submitted" / "eve" / "a10_tenth").mkdir(parents=True)
    assert term(course) == 0, "a guest's mark that waits keeps nobody's back"
    said = capsys.readouterr().out
    assert "2 of 3 have passed" in said
    head, guests = said.split("not in students.csv, and not counted:")
    assert " cy " not in head and re.search(r"^ +cy +4 ", guests, re.MULTILINE)
    assert "not in students.csv" in table(course)["eve"]["remarks"]
    assert list(table(course)) == ["bo", "dee", "anna", "cy", "eve"]


def test_an_assignment_without_points_counts_as_nothing(course, capsys):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        gradebook.add_assignment("a0_survey")
        gradebook.add_notebook("a0_survey", "a0_survey")
        gradebook.add_submission("a0_survey", "anna")
        gradebook.db.commit()
    (course / "term.toml").write_text(RULES.replace("[bonus]", "a0_survey = 1\n[bonus]"))
    assert term(course) == 0
    assert "without points, so that it counts for nothing: a0_survey" in capsys.readouterr().out
    assert table(course)["anna"]["mark"] == "94.0"


def test_a_mark_is_not_final_while_an_answer_waits_for_a_person(course, capsys):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        gradebook.find_submission("a1_first", "cy").notebooks[0].grades[0].needs_manual_grade = True
        gradebook.db.commit()
    assert term(course) == 1
    assert "1 not final: cy" in capsys.readouterr().out
    assert "a person has to look: a1_first" in table(course)["cy"]["remarks"]


def test_excused_students_are_named_in_a_table_that_stays_with_the_class(course, capsys):
    (course / "excused.csv").write_text("student,assignment\ncy,a1_first\n", encoding="utf-8")
    assert term(course) == 0
    # of 0.4 and 0.5 the worse goes
    assert (table(course)["cy"]["mark"], table(course)["cy"]["grade"]) == ("50.0", "C")
    for odd, said in (
        ("zoe,a1_first", "expected a student's id in line 2, found “zoe”."),
        ("Cy,a1_first", "found “Cy”. Did you mean cy?"),
        (
            "cy,a1_frist",
            "expected an assignment in line 2, found “a1_frist”. Did you mean a1_first?",
        ),
        ("cy", "expected an assignment in line 2, found “”."),
    ):
        (course / "excused.csv").write_text(f"Student;Assignment\n{odd.replace(',', ';')}\n")
        assert term(course) == 2
        assert said in capsys.readouterr().err


def test_in_the_middle_of_a_term_what_is_graded_counts(course, capsys):
    (course / "solutions" / "a14_last").mkdir()
    (course / "term.toml").write_text(RULES.replace("[bonus]", "a14_last = 1\n[bonus]"))
    assert term(course) == 2
    assert "expected scores of a14_last in the gradebook, found none" in capsys.readouterr().err
    assert term(course, "--so-far") == 0
    assert "left out: a14_last" in capsys.readouterr().out
    assert table(course)["anna"]["mark"] == "94.0"


def test_a_name_that_no_assignment_has_is_refused(course, capsys):
    (course / "term.toml").write_text(RULES.replace("a1_first = 1", "a1_frist = 1"))
    assert term(course) == 2
    assert (
        "term.toml names a1_frist, and the course has no such assignment" in capsys.readouterr().err
    )


def test_marks_go_into_a_platforms_table(course):
    export = course / "marks_there.csv"
    export.write_text("Id,Term mark\nanna,\nbo,83.30\ndee,\n", encoding="utf-8")
    words = ["lms", "scores", "term", str(export), "--course", str(course)]
    assert main([*words, "--by", "Id", "--column", "Term mark", "--points", "100"]) == 1
    sent = (course / "grading/term/scores_marks_there.csv").read_text(encoding="utf-8")
    assert sent == "Id,Term mark\nanna,94.00\nbo,83.30\ndee,0.00\n"


def test_a_mark_that_is_not_final_stays_out_of_the_platforms_table(course):
    (course / "submitted" / "bo" / "a10_tenth").mkdir(parents=True)
    export = course / "there.csv"
    export.write_text("Id,Mark\nanna,\nbo,\ncy,\ndee,\n", encoding="utf-8")
    words = ["lms", "scores", "term", str(export), "--course", str(course)]
    assert main([*words, "--by", "Id", "--column", "Mark", "--points", "100"]) == 1
    sent = (course / "grading/term/scores_there.csv").read_text(encoding="utf-8")
    assert sent == "Id,Mark\nanna,94.00\nbo,\ncy,45.00\ndee,0.00\n"


def test_the_example_of_the_guide_is_one_for_this_course(tmp_path, capsys):
    guide = (ROOT / "docs/instructors.md").read_text(encoding="utf-8")
    dates, example = re.findall(r"^```toml\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    hand_in(tmp_path, {})
    shutil.rmtree(tmp_path / "solutions")
    for name in ("solutions", "lectures"):
        (tmp_path / name).symlink_to(ROOT / name)
    zone, tables = dates.split("\n\n", 1)
    both = f"{zone}\n{example}\n{tables}"
    (tmp_path / "term.toml").write_text(both, encoding="utf-8")
    planned = read_dates(tmp_path)
    assert list(odd_dates(planned, tmp_path, datetime(2026, 10, 1, tzinfo=UTC))) == []
    assert "2026-10-19  Mon  12:00  a1_rnn_attention is due" in as_plan(planned)
    assert term(tmp_path) == 2  # the names are right, and nothing has been graded
    assert "expected scores of a1_rnn_attention, a2_self_attention" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "assignment;student\na1_first;cy\n",
        "\ufeffstudent,assignment\r\ncy,a1_first\r\n",
        "student\tassignment\ncy\ta1_first",
    ],
    ids=["semicolons", "excel", "tabs"],
)
def test_who_is_excused_is_read_by_the_names_of_the_columns(course, text):
    (course / "excused.csv").write_text(text, encoding="utf-8", newline="")
    assert term(course) == 0
    assert table(course)["cy"]["mark"] == "50.0"


@pytest.mark.parametrize(
    "content",
    [
        b"cy,a1_first\nbo,a1_first\n",  # without the names of its columns, the first would be lost
        b"student,student,assignment\nbo,cy,a1_first\n",
        b'student,assignment\n"cy,a1_first\nbo,a1_first\n',
        b"student,assignment\n\xff\n",
        b"student,assignment\n" + b"x" * 200_000 + b",a1_first\n",
        b"student,assignment\ncy\x1b[2J,a1_first\n",
        b"PK\x03\x04",
        None,
    ],
)
def test_excuses_that_are_not_understood_stop_the_marks_and_are_named(course, capsys, content):
    path = course / "excused.csv"
    os.mkfifo(path) if content is None else path.write_bytes(content)
    assert term(course) == 2
    said = capsys.readouterr().err.strip()
    assert "excused.csv" in said and len(said) < 2000 and said.isprintable()


def test_a_score_without_end_is_that_students_alone(course):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        grade = gradebook.find_submission("a1_first", "cy").notebooks[0].grades[0]
        grade.manual_score = float("inf")
        gradebook.db.commit()
    assert term(course) == 1
    rows = table(course)
    assert rows["anna"]["mark"] == "94.0"
    assert rows["cy"]["final"] == "no" and "a person has to look: a1_first" in rows["cy"]["remarks"]


def test_an_assignment_of_points_without_end_does_not_count(course, capsys):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        for notebook in gradebook.find_assignment("a10_tenth").notebooks:
            notebook.grade_cells[0].max_score = float("inf")
        gradebook.db.commit()
    assert term(course) == 2
    assert "expected scores of a10_tenth" in capsys.readouterr().err
