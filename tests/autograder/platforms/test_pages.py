"""What docs/classroom.md tells to type for other platforms is typed here, in a course folder."""

import os
import subprocess
import sys

import pytest

from tests.course_copy import blocks_in
from tests.sample_class import ASSIGNMENT, ROOT, new_course

BLOCKS = blocks_in("classroom.md", "Gradescope, GitHub or PrairieLearn")
# what its commands leave behind
WRITTEN = (
    f"build/export/gradescope_{ASSIGNMENT}.zip",
    "template/.github/workflows/grade.yml",
    f"template/{ASSIGNMENT}.ipynb",
    "template/grader/autograder.py",
    "classroom50/ml/autograders/a2/autograder.py",
    "classroom50/ml/autograders/a2/job.json",
    f"pl-course/questions/{ASSIGNMENT}/info.json",
    f"pl-course/questions/{ASSIGNMENT}/tests/run.sh",
    f"build/export/prairielearn_{ASSIGNMENT}/image/Dockerfile",
)


@pytest.mark.long
def test_the_commands_of_the_page_do_what_it_says(tmp_path):
    new_course(tmp_path)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    release = f"exercises/{ASSIGNMENT}"
    (tmp_path / "exercises").mkdir()
    (tmp_path / release).symlink_to(ROOT / release)
    # an image is built where there is Docker, and that takes the internet
    lines = [
        line for block in BLOCKS for line in block.splitlines() if not line.startswith("docker ")
    ]
    done = subprocess.run(
        ["bash", "-ec", "\n".join(lines)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in WRITTEN:
        assert (tmp_path / name).exists(), name


def test_the_image_of_the_page_is_one():
    lines = [line.split() for block in BLOCKS for line in block.splitlines()]
    exported = next(words[-1] for words in lines if "--image" in words)
    assert exported == next(words[3] for words in lines if words[:2] == ["docker", "build"])
    assert exported == next(words[2] for words in lines if words[:2] == ["docker", "push"])
