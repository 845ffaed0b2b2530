"""The engine grades a course that it has not seen: the one that it lays out itself, with and without PyTorch."""

import csv
import os
import re
import shutil
import subprocess
import sys

import nbformat
import pytest

from autograder.release.new_course import lay_out
from autograder.sandbox import bubblewrap
from tests.sample_class import ISOLATION, ROOT

pytestmark = pytest.mark.long

COURSE, ASSIGNMENT = "averages", "a1_averages"
RIGHT = {
    "moving_average": "def moving_average(x, window):\n"
    "    return np.array([x[i:i + window].mean() for i in range(len(x) - window + 1)])",
    "standardise": "def standardise(x):\n    x = x - x.mean(0)\n    return x / x.std(0)",
}
WRONG = {
    "moving_average": "def moving_average(x, window):\n"
    "    means = [x[i:i + window].mean() for i in range(len(x) - window)]\n"
    "    return np.array(means)",
    "standardise": "def standardise(x):\n"
    "    return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)",
}
DISALLOWED = {
    **RIGHT,
    "moving_average": "def moving_average(x, window):\n"
    "    return np.convolve(x, np.ones(window) / window, 'valid')",
}
FETCHED = {
    **RIGHT,
    "moving_average": "def moving_average(x, window):\n"
    "    return getattr(np, 'con' + 'volve')(x, np.ones(window) / window, 'valid')",
}
LOOKING = {**RIGHT, "standardise": "def standardise(x):\n"
           "    from averages.a1_averages.rubric import standard\n    return standard(x)"}  # fmt: skip
STOPPED = {"moving_average": RIGHT["moving_average"] + "(", "standardise": RIGHT["standardise"]}


WITHOUT_PYTORCH = """
import sys

for name in ("torch", "einops", "jaxtyping"):
    sys.modules[name] = None
"""


def environment(course):
    """As its author would set it: whose course it is, and where its package lies."""
    return {
        **os.environ,
        "AUTOGRADER_COURSE": COURSE,
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


@pytest.fixture(scope="module", params=["with PyTorch", "without"])
def graded(request, tmp_path_factory):
    """The course built and graded, and what the command said."""
    course = tmp_path_factory.mktemp("own") / "course"
    lay_out(COURSE, course)
    isolation = ISOLATION
    if request.param == "without":
        isolation = bubblewrap.NONE  # behind walls, this file would not be there
        (course / "sitecustomize.py").write_text(WITHOUT_PYTORCH)
    built = autograder(course, "build")
    assert (built.returncode, built.stdout) == (0, f"assignment  {ASSIGNMENT}\n"), built.stderr
    answers = {"right": RIGHT, "wrong": WRONG, "stopped": STOPPED, "disallowed": DISALLOWED, "fetched": FETCHED, "looking": LOOKING}  # fmt: skip
    for student, given in answers.items():
        hand_in(course, student, given)
    broken = course / "submitted" / "broken" / ASSIGNMENT
    broken.mkdir(parents=True)
    (broken / f"{ASSIGNMENT}.ipynb").write_text("not a notebook")
    done = autograder(course, "grade", ASSIGNMENT, "--isolation", isolation, "--jobs", "2")
    assert done.returncode == 1, done.stderr
    return course, done.stdout


def test_all_that_is_known_of_its_answers_is_as_it_should_be(graded):
    done = autograder(graded[0], "answers")
    assert done.returncode == 0, done.stdout
    assert "moving_average: the reference: 3 of 3" in done.stdout
    assert "standardise: rows instead of columns: 1 of 2" in done.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[:-1]", "[:]"), "a wrong answer keeps all points"),
        (("/ x.std(axis=0)", "/ x.std(axis=0) + __import__('random').random()"), "a mistake is not called by its name"),
        (("standard(x.T).T", "standard(x.T).T * 0"), "all as they should be"),
    ],
)  # fmt: skip
def test_what_would_surprise_its_author_is_named(tmp_path, change, said):
    lay_out(COURSE, tmp_path)
    rubric = tmp_path / COURSE / ASSIGNMENT / "rubric.py"
    text = rubric.read_text()
    assert change[0] in text
    rubric.write_text(text.replace(*change))
    done = autograder(tmp_path, "answers", ASSIGNMENT)
    assert done.returncode == (said != "all as they should be") and said in done.stdout, done.stdout


def test_a_course_is_laid_out_where_nothing_is_yet(tmp_path):
    done = autograder(tmp_path, "new-course", "means")
    assert done.returncode == 0 and "export AUTOGRADER_COURSE=means" in done.stdout
    for name, said in [("means", "is there already"), ("json", "already: take another name"), ("no-name", "no name for")]:  # fmt: skip
        refused = autograder(tmp_path, "new-course", name)
        assert refused.returncode == 2 and said in refused.stderr, refused.stderr


def test_its_folder_can_be_graded_in_wherever_it_lies(graded, tmp_path):
    """The package is nowhere on Python's path: workers find it where the command does."""
    course, _ = graded
    moved = tmp_path / "moved"
    ignored = shutil.ignore_patterns("__pycache__", "sitecustomize.py")
    shutil.copytree(course, moved, ignore=ignored)
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
        "disallowed": ["2.0", "0.0", "2.0"],
        "fetched": ["2.0", "0.0", "2.0"],
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
    assert "A column is one quantity, so take its mean with axis=0 ." in page


def test_what_a_part_may_not_use_is_said_in_words_that_fit_any_course(graded):
    course, _ = graded
    disallowed = page_of(course, "disallowed")
    assert "uses np.convolve , in line 2 of a cell," in disallowed
    for page in (disallowed, page_of(course, "fetched")):
        assert "is the answer itself" in page
    looking = page_of(course, "looking")
    assert "import averages.a1_averages.rubric" in looking and "own modules, none may be" in looking


@pytest.mark.parametrize(
    "student", ["right", "wrong", "stopped", "disallowed", "fetched", "looking", "broken"]
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


def test_it_is_short(graded):
    folder = graded[0] / COURSE / ASSIGNMENT
    lines = [(folder / f"{name}.py").read_text().count("\n") for name in ("rubric", "notebook")]
    assert sum(lines) < 100
