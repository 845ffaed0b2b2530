"""docs/own_course.md is true: its code stands in the second course, and its commands do what it says."""

import re
import shutil

import pytest

from tests.build.test_contributing import CONSOLE, commands_in
from tests.course_copy import run
from tests.sample_class import ISOLATION, ROOT

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs" / "own_course.md").read_text(encoding="utf-8")
COURSE = ROOT / "tests" / "second_course"


def test_code_on_the_page_is_that_of_the_course():
    files = [path.read_text(encoding="utf-8") for path in COURSE.rglob("*.py")]
    shown = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(shown) == 4
    for block in shown:
        assert any(block in text for text in files), block
    for name in re.findall(r"^\| `([\w/.]+)` \|", PAGE, re.MULTILINE):
        assert (COURSE / name).exists(), name


def test_its_commands_print_what_the_page_says(tmp_path):
    course = tmp_path / "course"
    shutil.copytree(COURSE, course, ignore=shutil.ignore_patterns("__pycache__"))
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
