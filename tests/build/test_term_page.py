"""What docs/instructors.md says to do while a course goes on is true: its commands run, in its order."""

import re

import pytest

from autograder.batch.late_penalty import PercentADay
from autograder.sandbox import bubblewrap
from tests.course_copy import blocks_in, run
from tests.sample_class import ASSIGNMENT, ROOT, hand_in, submission

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
SECTIONS = (
    "More time, and what lateness costs",
    "Change an assignment after submissions came in",
    "Keep a course, bring it back, and begin the next term",
)


@pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing())
def test_the_commands_of_the_page_run_one_after_the_other(tmp_path):
    course = tmp_path / "course"
    hand_in(course, {"right_loops": submission("right_loops")})
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(
            re.search(r"^```python\n(.*?PercentADay.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
        )
    commands = [block for heading in SECTIONS for block in blocks_in("instructors.md", heading)]
    assert len(commands) == 6
    setting = f"set -e; export PATH={ROOT}/.venv/bin:$PATH PYTHONPATH={ROOT}"
    said = run(course, "\n".join([setting, *commands]))
    for words in (
        "nothing was written", "1 graded for the first time", "right_loops    10 / 10",
        "right_loops has 2 days more", "right_loops: 2 days", "right_loops has no extension",
    ):  # fmt: skip
        assert words in said, said
    for name in ("moved", "next_term"):
        assert (tmp_path / name / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").exists()
    assert (tmp_path / "moved" / "gradebook.db").exists()
    assert not (tmp_path / "next_term" / "submitted").exists()


def test_the_penalty_is_as_the_page_says():
    settings = dict(re.findall(r"^c\.PercentADay\.(\w+) = (\d+)$", PAGE, re.MULTILINE))
    plugin = PercentADay(**{name: float(value) for name, value in settings.items()})
    assert plugin.late_submission_penalty("ada", 10, 2 * 3600) is None
    assert plugin.late_submission_penalty("ada", 10, 2 * 3600 + 1) == 1
    assert plugin.late_submission_penalty("ada", 10, 30 * 24 * 3600) == 5
    bare = PercentADay()
    assert (bare.grace_hours, bare.percent_a_day, bare.most_percent) == (0, 10, 100)
