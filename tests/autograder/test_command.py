"""What the command line says and how it ends."""

import shutil
import subprocess
import sys
import zipfile

import pytest

from autograder.__main__ import main
from autograder.batch.class_report import as_text
from autograder.batch.student_result import StudentResult
from autograder.batch.table import padded, width
from tests.sample_class import ASSIGNMENT, ISOLATION, ROOT, hand_in, submission


@pytest.fixture
def course(tmp_path):
    hand_in(tmp_path, {"ada": submission("right_loops"), "王小明": submission("scaled_scores")})
    return tmp_path


def grade(course, assignment, *flags):
    return main(
        [
            "grade",
            assignment,
            "--course",
            str(course),
            "--isolation",
            ISOLATION,
            "--jobs",
            "2",
            *flags,
        ]
    )


def test_a_python_without_the_packages_is_told_which_to_take():
    done = subprocess.run(
        [sys.executable, "-S", "-m", "autograder", "grade", ASSIGNMENT],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"found {sys.executable}, in which there is no msgspec" in done.stderr
    assert "export PATH=$PWD/.venv/bin:$PATH" in done.stderr


def test_a_folders_name_will_do_and_pages_come_as_one_file_a_student(course, capsys):
    assert grade(course, f"{ASSIGNMENT}/", "--feedback-zip") == 0
    archive = course / "grading" / ASSIGNMENT / "feedback.zip"
    assert f"feedback of 2 of 2 students: {archive}" in capsys.readouterr().out
    with zipfile.ZipFile(archive) as pages:
        assert set(pages.namelist()) == {f"{name}_{ASSIGNMENT}.html" for name in ("ada", "王小明")}
        page = course / "feedback" / "ada" / ASSIGNMENT / f"{ASSIGNMENT}.html"
        assert pages.read(f"ada_{ASSIGNMENT}.html") == page.read_bytes()


def test_wide_characters_keep_the_columns_apart():
    rows = [
        StudentResult(name, 7, 10, {"part": 7}, {"part": 10})
        for name in ("王小明", "e\u0301va", "long_name")
    ]
    lines = as_text(rows).splitlines()
    assert {width(line[: line.index("7 / 10")]) for line in lines[2:]} == {width("long_name  ") + 3}
    assert width(lines[1]) == width(lines[0])
    assert padded("王", 3) == "王 "


@pytest.mark.long
def test_a_misnamed_file_is_a_line_of_the_table_and_no_error_of_make(course, capsys):
    notebook = course / "submitted" / "ada" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    shutil.copy(notebook, notebook.with_name("final_version (1).ipynb"))
    notebook.rename(notebook.with_name("final_version (2).ipynb"))
    assert grade(course, ASSIGNMENT, "--no-feedback") == 1
    said = capsys.readouterr().out
    assert "1 could not be run: ada" in said
    assert "final_version (2).ipynb" in said


@pytest.mark.parametrize(("status", "told"), [(0, 0), (1, 0), (2, 2), (3, 2), (130, 2)])
def test_make_ends_well_where_only_submissions_are_at_fault(tmp_path, status, told):
    """make itself ends with 2 wherever a recipe fails."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nexit {status}\n")
    program.chmod(0o755)
    done = subprocess.run(
        ["make", "-s", "-o", "setup", "grade", f"ASSIGNMENT={ASSIGNMENT}", f"BIN={tmp_path}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == told, done.stderr
