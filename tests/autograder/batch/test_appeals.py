"""A request to look again reaches the class's pages, and is settled by points or by a sentence."""

import csv
import re
import shutil

import nbformat
import pytest

from autograder.__main__ import main
from autograder.batch.appeals import Asked, keep_asked, keep_settled, settled_of, who_asks
from autograder.batch.class_report import as_page, write_asked
from autograder.batch.feedback import feedback_of
from autograder.batch.findings import Finding
from autograder.batch.roster import Enrolled
from autograder.batch.student_result import StudentResult
from tests.autograder.batch.living import Living
from tests.sample_class import ASSIGNMENT, ISOLATION

PART, LAST = "attention_weights", "is_permutation_equivariant"
WHY = "My rows sum to one <b>too</b>."


# ------------------------------------------------------------------------------------- the pages


def asking(student, *asked):
    found = (Finding(PART, missed="the rows sum to one"),)
    return StudentResult(student, 2, 3, {PART: 2}, {PART: 3}, findings=found, asked=asked)


def one(part=PART, settled=False, **more):
    return Asked(part, WHY, "mark", "it raises “by ada”", 2, 3, settled, **more)


def test_the_class_sees_part_and_verdict_and_the_instructor_alone_who_and_why(tmp_path):
    (tmp_path / "grading" / ASSIGNMENT).mkdir(parents=True)
    rows = [asking("ada", one()), asking("b;rm x", one(LAST)), asking("cy", one(settled=True))]
    page = " ".join(as_page(ASSIGNMENT, "Two", rows, "full").split())
    [table] = re.findall(r"Asked to look again</h2>.*?</table>", page)
    assert table.count('<th scope="row">') == 2 and "look_again.html" in table
    assert (
        f'<code>{PART}</code></th> <td class="number">2 of 3</td><td>the rows sum to one<' in table
    )
    assert "ada" not in page and "My rows" not in page

    write_asked(tmp_path, ASSIGNMENT, "Two", rows, {"ada": Enrolled("Ada", "Lovelace")})
    place = tmp_path / "grading" / ASSIGNMENT / "look_again.html"
    page = " ".join(place.read_text(encoding="utf-8").split())
    assert "it raises “by ada”" in page
    assert f"<h2>Ada Lovelace (ada): <code>{PART}</code>, 2 of 3</h2>" in page
    assert "My rows sum to one &lt;b&gt;too&lt;/b&gt;." in page and "<b>too" not in page
    assert (
        f"settle {ASSIGNMENT} &#39;b;rm x&#39; --part {LAST} --reason" in page and "cy:" not in page
    )
    write_asked(tmp_path, ASSIGNMENT, "Two", rows[2:])
    assert not place.exists()


def test_what_is_settled_stays_so_until_its_mark_is_another(tmp_path):
    keep_asked(tmp_path, ASSIGNMENT, "ada", [one(), one(LAST)])
    keep_settled(tmp_path, ASSIGNMENT, "ada", {PART: "mark"})
    assert settled_of(tmp_path, ASSIGNMENT, "ada") == {PART: "mark"}
    assert who_asks(tmp_path, ASSIGNMENT) == {"ada"}, "of the other part"
    keep_asked(tmp_path, ASSIGNMENT, "ada", [one(settled=True)])
    assert who_asks(tmp_path, ASSIGNMENT) == set()
    keep_asked(tmp_path, ASSIGNMENT, "ada", [])
    assert settled_of(tmp_path, ASSIGNMENT, "ada") == {}


# ------------------------------------------------------------------------------------ a real class


@pytest.fixture(scope="module")
def graded(engine, tmp_path_factory):
    """Ada, whose softmax goes over the columns, asks in a cell, and Bob, who is right, in the metadata."""
    course = Living(tmp_path_factory.mktemp("appeals") / "course", engine)
    course.folder.joinpath("students.csv").write_text(
        "id,first_name,last_name\nada,Ada,L.\nbob,,\n"
    )
    course.folder.joinpath("term.toml").write_text("pass_at = 50\n")
    course.hand_in("ada", "softmax_over_columns")
    course.hand_in("bob", "right_loops")
    course.grade()
    before = {name: course.total(name) for name in ("ada", "bob")}
    ask(course, "ada", WHY)
    with_metadata(course, "bob", [{"part": "why", "why": "It is one sentence."}, 5])
    course.grade()
    assert {name: course.total(name) for name in before} == before
    return course


@pytest.fixture
def course(graded, engine, tmp_path):
    shutil.copytree(graded.folder, tmp_path / "course")
    return Living(tmp_path / "course", engine)


def place_of(course, student):
    return course.folder / "submitted" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"


def ask(course, student, why, answer=""):
    """Let a cell at the end ask about `PART`, and perhaps another answer stand there."""
    notebook = nbformat.read(place_of(course, student), as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "asking"]
    line = f'!python -m autograder appeal {PART} "{why}"'
    notebook.cells.append(nbformat.v4.new_code_cell(line, id="asking"))
    for cell in notebook.cells:
        if answer and cell.metadata.get("nbgrader", {}).get("grade_id") == PART:
            cell.source += answer
    nbformat.write(notebook, place_of(course, student))


def with_metadata(course, student, appeals):
    notebook = nbformat.read(place_of(course, student), as_version=4)
    notebook.metadata.autograder = {"appeals": appeals}
    nbformat.write(notebook, place_of(course, student))


def run(course, *words):
    where = ["--course", str(course.folder), "--isolation", ISOLATION]
    return main(["grade", ASSIGNMENT, "--no-feedback", *words, *where])


def settle(course, student, *words):
    return main(["settle", ASSIGNMENT, student, *words, "--course", str(course.folder)])


def row(course, student):
    return {one.student: one for one in course.grade().rows}[student]


def still_asks(course, student):
    return [one.part for one in row(course, student).asked if not one.settled]


def page_of(course, student):
    feedback_of(course.folder, ASSIGNMENT, student)
    page = course.folder / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"
    return " ".join(page.read_text(encoding="utf-8").split())


@pytest.mark.long
def test_a_run_says_who_asks_and_where_it_says_at_what(course, capsys):
    run(course)
    said = capsys.readouterr().out
    page = course.kept("look_again.html")
    assert f"2 students ask you to look again: ada, bob\n    {page} says at what and why" in said
    asked = page.read_text(encoding="utf-8")
    assert "Ada L. (ada)" in asked and "<h2>bob: <code>why</code>, 0 of 2" in asked
    assert "oftmax over the columns" in asked and "marked by a person" in asked
    with course.kept("class.csv").open(encoding="utf-8-sig", newline="") as file:
        reasons = {row["student"]: row["reasons"] for row in csv.DictReader(file)}
    assert f"{PART}: asks to look again, “{WHY}”" in reasons["ada"]
    assert "You ask to look again:</strong> My rows sum to one &lt;b&gt;" in page_of(course, "ada")
    for name in ("ada", "bob"):
        course.by_hand(name, "why", 1)
    assert main(["term", "--course", str(course.folder)]) == 0, "a request holds no mark up"
    said = capsys.readouterr().out
    assert f"asks you to look again: {ASSIGNMENT}" in said


@pytest.mark.long
def test_a_sentence_settles_it_until_the_reason_or_the_code_is_another(course):
    before = course.marks("ada")
    assert settle(course, "ada", "--part", PART, "--reason", "Axis <1>, not 0.") == 0
    assert course.marks("ada") == before, "the points stay the check's"
    assert still_asks(course, "ada") == []
    beside = r"From your instructor</strong>, on part 1, .{0,200}<p>Axis &lt;1&gt;, not 0\."
    assert re.search(beside, page_of(course, "ada"))
    course.hand_in("ada", "softmax_over_columns", **{LAST: "x = 1"})
    ask(course, "ada", WHY)
    assert still_asks(course, "ada") == [], "of another part nothing was asked"
    assert not [
        reason for reason in row(course, "ada").reasons if "by hand" in reason and PART in reason
    ]
    ask(course, "ada", WHY, answer="\n# seen")
    assert still_asks(course, "ada") == [PART]
    settle(course, "ada", "--part", PART, "--reason", "Still not.")
    assert still_asks(course, "ada") == []
    ask(course, "ada", "But why?")
    assert still_asks(course, "ada") == [PART]


@pytest.mark.long
@pytest.mark.parametrize("by", ["settle", "formgrader", "settle all"])
def test_points_settle_it(course, by):
    if by == "formgrader":
        course.by_hand("ada", f"check_{PART}", 2.5)
    elif by == "settle":
        assert settle(course, "ada", "--part", PART, "--points", "2.5") == 0
        assert settle(course, "ada", "--part", "why", "--points", "1") == 0
    else:
        assert settle(course, "ada", "--points", "9.5") == 0
    found = row(course, "ada")
    assert [one.settled for one in found.asked] == [True]
    if by != "settle all":
        assert course.marks("ada")[f"check_{PART}"][:2] == (2.5, 3)
    if by == "settle":
        assert not found.needs_person
    course.hand_in("ada", "right_loops")
    ask(course, "ada", "Now it is right.")
    assert still_asks(course, "ada") == [PART]


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--part", PART], "by --points or --reason, found neither"),
        (["--part", PART, "--points", "4"], "from 0 to 3 for attention_weights, found 4"),
        (["--part", "attention"], "found “attention”. Did you mean attention_weights?"),
        (["--part", "why", "--reason", "No."], "expected points for why, found none"),
    ],
)
def test_a_part_that_cannot_be_settled_is_refused(course, capsys, words, said):
    before = course.marks("ada")
    assert settle(course, "ada", *words) == 2
    assert said in capsys.readouterr().err
    assert course.marks("ada") == before and still_asks(course, "ada") == [PART]
