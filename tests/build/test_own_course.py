"""docs/own_course.md is true: its code stands in the course that is laid out, and its commands do what it says."""

import re

import numpy as np
import pytest

from autograder.checks.cases import Case
from autograder.checks.check import Part
from autograder.checks.compare import values_agree
from autograder.release.new_course import lay_out
from tests.build.test_contributing import CONSOLE, commands_in
from tests.course_copy import run
from tests.sample_class import ISOLATION, ROOT

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs" / "own_course.md").read_text(encoding="utf-8")
JUDGE = "def up_to_its_sign"


@pytest.fixture
def course(tmp_path):
    lay_out("averages", tmp_path)
    return tmp_path


def test_code_on_the_page_is_that_of_the_course(course):
    files = [path.read_text(encoding="utf-8") for path in course.rglob("*.py")]
    shown = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(shown) == 3
    for block in shown:
        assert block.startswith(JUDGE) or any(block in text for text in files), block
    for name in re.findall(r"^\| `([\w/.]+)` \|", PAGE, re.MULTILINE):
        assert (course / name).exists(), name


def test_its_judge_takes_either_sign():
    [judge] = re.findall(rf"^```python\n({JUDGE}.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    space = {"values_agree": values_agree, "principal": Part("principal(a (n, n)) -> (n,)", np.diag),
             "symmetric": lambda n: Case("symmetric", lambda rng: [np.eye(n)])}  # fmt: skip
    exec(judge, space)
    [step] = space["principal"].steps
    vector = np.array([0.6, -0.8])
    assert step.judge(vector, vector) is step.judge(vector, -vector) is None
    assert step.judge(vector, 2 * vector)


def test_its_commands_print_what_the_page_says(course):
    sessions = [commands_in(block["session"]) for block in CONSOLE.finditer(PAGE)]
    commands = [command for session in sessions for command, _ in session]
    # where the page has installed the grader, it is beside the course's package here
    own = [
        command.replace("PYTHONPATH=$PWD", f"PYTHONPATH=$PWD:{ROOT}").replace(
            " grade a1", f" grade --isolation {ISOLATION} a1"
        )
        for command in commands
    ]
    said = run(course, f"PATH={ROOT}/.venv/bin:$PATH; " + " && ".join(own))
    for session in sessions:
        for _, lines in session:
            assert [line for line in lines if line not in said] == [], said
