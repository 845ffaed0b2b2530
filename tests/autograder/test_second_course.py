"""The engine grades a course that it has not seen: a folder as anyone would lay it out."""

import csv
import os
import re
import shutil
import subprocess
import sys

import nbformat
import pytest

from tests.sample_class import ISOLATION, ROOT

pytestmark = pytest.mark.long

HOME = ROOT / "tests" / "second_course"
ASSIGNMENT = "a1_averages"
RIGHT = {
    "moving_average": "def moving_average(x, window):\n"
    "    return torch.stack([x[i:i + window].mean() for i in range(len(x) - window + 1)])",
    "standardise": "def standardise(x):\n    x = x - x.mean(0)\n    return x / x.std(0)",
}
WRONG = {
    "moving_average": "def moving_average(x, window):\n"
    "    return x.unfold(0, window, 1).mean(dim=-1)[:-1]",
    "standardise": "def standardise(x):\n"
    "    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)",
}
DISALLOWED = {**RIGHT, "standardise": "def standardise(x):\n    return torch.batch_norm(x)"}
LOOKING = {**RIGHT, "standardise": "def standardise(x):\n"
           "    from averages.a1_averages.rubric import standard\n    return standard(x)"}  # fmt: skip
STOPPED = {"moving_average": RIGHT["moving_average"] + "(", "standardise": RIGHT["standardise"]}


def environment(course):
    """As its author would set it: whose course it is, and where its package lies."""
    return {
        **os.environ,
        "AUTOGRADER_COURSE": "averages",
        "PYTHONPATH": os.pathsep.join([str(course), str(ROOT)]),
    }


def autograder(course, *words):
    return subprocess.run(
        [sys.executable, "-m", "autograder", *words],
        cwd=course, env=environment(course), capture_output=True, text=True, check=False,
    )  # fmt: skip


def hand_in(course, student, answers):
    notebook = nbformat.read(course / f"exercises/{ASSIGNMENT}/{ASSIGNMENT}.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    place = course / "submitted" / student / ASSIGNMENT
    place.mkdir(parents=True)
    nbformat.write(notebook, place / f"{ASSIGNMENT}.ipynb")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The course built and graded, and what the command said."""
    course = tmp_path_factory.mktemp("own") / "course"
    shutil.copytree(HOME, course, ignore=shutil.ignore_patterns("__pycache__"))
    built = autograder(course, "build")
    assert (built.returncode, built.stdout) == (0, f"assignment  {ASSIGNMENT}\n"), built.stderr
    answers = {"right": RIGHT, "wrong": WRONG, "stopped": STOPPED, "disallowed": DISALLOWED, "looking": LOOKING}  # fmt: skip
    for student, given in answers.items():
        hand_in(course, student, given)
    broken = course / "submitted" / "broken" / ASSIGNMENT
    broken.mkdir(parents=True)
    (broken / f"{ASSIGNMENT}.ipynb").write_text("not a notebook")
    done = autograder(course, "grade", ASSIGNMENT, "--isolation", ISOLATION, "--jobs", "2")
    assert done.returncode == 1, done.stderr
    return course, done.stdout


def test_its_folder_can_be_graded_in_wherever_it_lies(graded, tmp_path):
    """The package is nowhere on Python's path: workers find it where the command does."""
    course, _ = graded
    moved = tmp_path / "moved"
    shutil.copytree(course, moved, ignore=shutil.ignore_patterns("__pycache__"))
    words = ("grade", ASSIGNMENT, "--again", "--student", "right", "--isolation", ISOLATION)
    done = subprocess.run(
        [sys.executable, "-m", "autograder", *words],
        cwd=moved, env={**environment(course), "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "5 / 5" in done.stdout


def page_of(course, student):
    page = course / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"
    text = re.sub(r"<(style|script).*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_points_are_those_of_its_rubric(graded):
    course, said = graded
    with open(course / f"grading/{ASSIGNMENT}/class.csv", encoding="utf-8-sig") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    points = {
        student: [row["points"], row["moving_average"], row["standardise"]]
        for student, row in rows.items()
    }
    assert points == {
        "right": ["5.0", "3.0", "2.0"],
        "wrong": ["3.0", "2.0", "1.0"],
        "stopped": ["2.0", "0.0", "2.0"],
        "disallowed": ["3.0", "3.0", "0.0"],
        "looking": ["3.0", "3.0", "0.0"],
        "broken": ["0.0", "", ""],
    }
    assert "1 could not be run: broken" in said


def test_mistakes_have_its_names_on_all_pages(graded):
    course, said = graded
    page, report = (
        page_of(course, "wrong"),
        (course / f"grading/{ASSIGNMENT}/class.html").read_text(),
    )
    for name in ("last window left out", "rows instead of columns"):
        assert name in said and name in page.lower() and name in report.lower()
    assert "A column is one quantity, so take its mean with dim=0 ." in page


def test_what_a_part_may_not_use_is_said_in_words_that_fit_any_course(graded):
    course, _ = graded
    disallowed = page_of(course, "disallowed")
    assert "uses torch.batch_norm , in line 2 of a cell," in disallowed
    assert "which is the answer itself" in disallowed
    looking = page_of(course, "looking")
    assert "import averages.a1_averages.rubric" in looking and "own modules, none may be" in looking


@pytest.mark.parametrize(
    "student", ["right", "wrong", "stopped", "disallowed", "looking", "broken"]
)
def test_nothing_on_a_page_speaks_of_another_course(graded, student):
    page = page_of(graded[0], student)
    assert "verages" in page
    assert not re.search(r"attention|lecture|course_utils|Read again", page, re.IGNORECASE), page


def test_its_author_can_check_a_notebook(graded):
    course, _ = graded
    done = autograder(course, "check", f"solutions/{ASSIGNMENT}/{ASSIGNMENT}.ipynb")
    assert done.returncode == 0 and "5 of 5 points" in done.stdout, done.stderr


def test_an_assignment_of_another_course_is_not_there(graded):
    course, _ = graded
    done = autograder(course, "grade", "a2_self_attention")
    assert done.returncode == 2
    assert "no assignment 'a2_self_attention'" in done.stderr and ASSIGNMENT in done.stderr


def test_it_is_short():
    folder = HOME / "averages" / ASSIGNMENT
    lines = [(folder / f"{name}.py").read_text().count("\n") for name in ("rubric", "notebook")]
    assert sum(lines) < 100
