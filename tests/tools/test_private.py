"""What holds students' names or answers cannot be committed by accident."""

import subprocess

import pytest

from tests.sample_class import ROOT

PRIVATE = (
    "submitted/ada/a2_self_attention/a2_self_attention.ipynb",
    "autograded/ada/a2_self_attention/a2_self_attention.ipynb",
    "feedback/ada/a2_self_attention/a2_self_attention.html",
    "grading/a2_self_attention/class.csv",
    "grading/a2_self_attention/class.html",
    "grading/secret",
    "downloaded/a2_self_attention/archive/all.zip",
    "exchange/attention/inbound/ada+a2_self_attention/a2_self_attention.ipynb",
    "gradebook.db",
    "gradebook.db-journal",
    "gradebook.db-wal",
    ".nbgrader.log",
    "grades.csv",
    "submissions.zip",
    "workspace/exercises/a2_self_attention/a2_self_attention.ipynb",
)


def git(*arguments):
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", PRIVATE)
def test_git_leaves_out_what_names_students(name):
    assert git("check-ignore", "--no-index", name).returncode == 0, f"{name} could be committed"


@pytest.mark.parametrize("name", [name for name in PRIVATE if not name.startswith("workspace")])
def test_also_where_a_class_has_a_folder_of_its_own(name):
    name = f"classes/2025/{name}"
    assert git("check-ignore", "--no-index", name).returncode == 0, f"{name} could be committed"


def test_nothing_of_the_course_is_left_out():
    listed = git("ls-files", "--cached", "--ignored", "--exclude-standard")
    assert (listed.returncode, listed.stdout) == (0, "")
