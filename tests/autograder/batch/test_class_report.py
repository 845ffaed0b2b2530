"""The page of a class: what went wrong by part, whose code cannot be told, and how the term goes."""

import re
from datetime import datetime, timedelta

import pytest
from nbgrader.api import Gradebook

from autograder.batch.class_report import as_page, as_text, table_rows
from autograder.batch.class_statistics import Standing, standings
from autograder.batch.findings import LONGEST_LINE, MOST_LINES, Finding, anonymous
from autograder.batch.release_text import title_of
from autograder.batch.student_result import StudentResult, in_words
from autograder.checks.verdicts import Obstacle
from tests.sample_class import ASSIGNMENT, hand_in

PART = "attention_weights"
SIGNATURE = f"{PART}(x (T, D)) -> weights (T, T)"
NAMED = Finding(
    PART, mistakes=(("softmax over the columns", "Do the rows sum to one?"),), code="x.softmax(0)"
)


def row(student, *findings, points=2.0, **more):
    return StudentResult(
        student, points, 3, {PART: points}, {PART: 3},
        findings=findings, signatures={PART: SIGNATURE}, **more,
    )  # fmt: skip


def page(*rows, term=()):
    text = as_page(ASSIGNMENT, "Assignment 2", rows, "full", students=9, term=term)
    return re.sub(r"\s+", " ", text)


def lines(text):
    """What the lines say that can be opened, as (students, words)."""
    found = re.findall(
        r'<summary><span class="number">(\d+) students? ?</span>(.*?)</summary>', text
    )
    return [(int(count), re.sub(r"<[^>]+>", "", words).strip()) for count, words in found]


def test_mistakes_obstacles_and_relations_are_counted_by_part():
    text = page(
        row("a", NAMED),
        row("b", NAMED),
        row("c", Finding(PART, relations=("axes swapped",), code="x.T")),
        row("d", Finding(PART, obstacle=Obstacle.DISALLOWED, code="F.softmax(x)")),
        row("e", Finding(PART, obstacle=Obstacle.UNANSWERED, code="raise NotImplementedError")),
        row("f", Finding(PART, missed="float64 stays float64", code="x.float()")),
    )
    assert lines(text) == [
        (2, "softmax over the columns"),
        (1, "explained: axes swapped"),
        (1, Obstacle.DISALLOWED.words),
        (1, Obstacle.UNANSWERED.words),
        (1, "without a name, lost at: float64 stays float64"),
    ]
    assert text.count("x.softmax(0)") == 1, "the same answer is shown once"
    assert "F.softmax(x)" in text and "NotImplementedError" not in text
    assert "rows" in text.split("softmax over the columns")[1].split("<pre>")[0], (
        "what its students were told stands above the code"
    )


def test_a_part_goes_by_its_signature_and_the_assignment_by_its_title():
    text = page(row("a"))
    assert "<h1>Assignment 2</h1>" in text
    assert "attention_weights(x (T, D)) -&gt; weights (T, T)" in text
    assert "Nobody lost a point here." in text


def test_students_code_is_text():
    text = page(row("a", Finding(PART, missed="<b>", code="</code></pre><script>go()</script>")))
    assert "<script" not in text and "&lt;script&gt;go()" in text


def test_code_that_is_shown_tells_nobody_who_wrote_it():
    code = "# Ada Lovelace, ada@example.org\ndef f(x):\n    ada = '# no comment'  # by Ada\n    return ada"
    assert anonymous(code, "ada") == "def f(x):\n    … = '# no comment'\n    return …"
    assert anonymous("def f(:\n    '''  # by Ada\n\x1b[2J", "eve") == "def f(:\n    '''\n�[2J"
    assert anonymous("lambda: 1", "a") == "lambda: 1"


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\r\n"])
def test_a_comment_ends_where_pythons_does(end):
    """Not at the signs that other programs take for the end of a line."""
    code = f"x = 1{end}y = 2  # by{end}Ada Lovelace\nz = 3#ada@example.org"
    assert "ada@" not in anonymous(code, "eve") and "z = 3" in anonymous(code, "eve")
    if end not in ("\r", "\r\n"):
        assert "Ada" not in anonymous(code, "eve")
        assert "Ada" not in anonymous(f"f({code}", "eve")


@pytest.mark.long
def test_code_that_is_shown_is_bounded():
    shown = anonymous("\n".join(["x = " + "1 + " * 1000 + "1"] * 1000), "ada").splitlines()
    assert len(shown) == MOST_LINES + 1
    assert max(map(len, shown)) <= LONGEST_LINE + 1


def test_one_waits_and_two_wait():
    waiting = [row(student, needs_person=True) for student in "ab"]
    assert "1 of the graded waits for" in page(waiting[0], row("c"))
    assert "2 of the graded wait for" in page(*waiting)


def test_who_was_given_more_than_there_is_to_be_had_is_counted():
    text = page(row("a", points=5.0), row("b", points=3.0), row("c", points=1.0))
    assert "Students by points: 1 with 1, 1 with 3, 1 with 5." in text
    assert "78 %" in text and "2 of 3" in text


def test_half_points_have_bars_of_their_own():
    text = page(row("a", points=2.5), row("b", points=1.0))
    assert "Students by points: 1 with 1, 1 with 2.5." in text


def test_the_way_from_assignment_to_assignment_is_a_table():
    term = [
        Standing("a1", "Assignment 1", 9, 0, 10, 6.25, 7),
        Standing(ASSIGNMENT, "Assignment 2", 8, 3, 10, 5, 5.5),
    ]
    text = re.sub(r"<[^>]+>", " ", page(row("a"), term=term).split("From assignment")[1])
    assert "7.0 of 10 6.3 9 of 9 0" in " ".join(text.split())
    assert "(this one) 5.5 of 10 5.0 8 of 9 3" in " ".join(text.split())


# nbgrader's own way of adding a submission
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
def test_the_term_is_what_the_gradebook_holds(tmp_path):
    hand_in(tmp_path, {})
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db", "attention") as gradebook:
        gradebook.add_assignment(ASSIGNMENT, duedate="2026-01-01")
        gradebook.add_assignment("a10_later")
        gradebook.add_notebook(ASSIGNMENT, ASSIGNMENT)
        gradebook.add_grade_cell("check_x", ASSIGNMENT, ASSIGNMENT, max_score=4, cell_type="code")
        for student, score in {"ada": 4, "eve": 1, "bob": 2, "joe": None}.items():
            gradebook.add_student(student)
            if score is not None:
                entry = gradebook.add_submission(ASSIGNMENT, student, timestamp="2026-01-02")
                entry.notebooks[0].grades[0].auto_score = score
                entry.extension = timedelta(days=2) if student == "ada" else None
                entry.notebooks[0].late_submission_penalty = 1.5 if student == "bob" else None
        gradebook.add_submission("a10_later", "ada")
        gradebook.db.commit()
    students, (first, second) = standings(tmp_path)
    assert students == 4
    assert (first.handed_in, first.late, first.of, first.median) == (3, 2, 4, 1)
    assert first.mean == (4 + 1 + 0.5) / 3
    assert first.title == title_of(tmp_path, ASSIGNMENT) != ASSIGNMENT
    assert (second.assignment, second.title) == ("a10_later", "a10_later")


def test_the_table_says_when_work_was_due_and_what_lateness_cost():
    moments = {"came_in": datetime(2026, 1, 2, 9, 30), "due": datetime(2026, 1, 1, 8)}
    head, line = table_rows([row("a", penalty=0.5, **moments)], "full")
    cells = dict(zip(head, line, strict=True))
    assert cells["late penalty"] == 0.5
    assert cells["came in (UTC)"] == "2026-01-02 09:30"
    assert cells["due (UTC)"] == "2026-01-01 08:00"


def test_parts_that_a_person_marks_have_columns_of_their_own():
    rows = [row("ada", marked={"why": 1.5}), row("ben", marked={"why": None}), row("eve")]
    head, *found = table_rows(rows, "full")
    assert [line[head.index("why")] for line in found] == [1.5, "", ""]
    assert head.index("why") == head.index(PART) + 1
    head, _, *found = as_text(rows).splitlines()
    assert head.endswith(f"{PART}  why")
    assert [line.split()[-1] for line in found] == ["1.5", "…", "–"]


def test_answers_that_are_the_courses_own_code_are_counted_on_the_page_and_named_in_the_table():
    rows = [row("ada", courses_own=(PART,)), row("ben")]
    said = "1 answer is the course's own code"
    assert said in page(*rows) and "ada" not in page(*rows) and said not in page(rows[1])
    head, *found = table_rows(rows, "full")
    place = head.index("the course's own code")
    assert [line[place] for line in found] == [PART, ""]


def test_times_are_told_as_people_do():
    said = [in_words(timedelta(seconds=seconds)) for seconds in (1, 3600, 4500, 90000, 200000)]
    assert said == ["1 min", "1 h", "1 h 15 min", "25 h", "2 days"]
