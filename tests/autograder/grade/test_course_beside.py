"""A copy of the course beside a notebook is as if it were not there; what is a student's own is not."""

import re
import shutil

import nbformat
import pytest

from assignments import COURSE, known, load
from autograder.__main__ import main
from autograder.checks import source_rules
from autograder.checks.decide import disallowed_in
from autograder.checks.files_beside import beside_as_text
from autograder.checks.notebook_source import parsed
from autograder.grade.submission import files_beside
from tests.sample_class import ROOT, grade, hand_in, place_for

A2, A5, A9 = "a2_self_attention", "a5_multi_head_attention", "a9_transformer"
PACKAGES = ("autograder", *COURSE.packages)
REST = ("exercises", "figures", "tools/jupyter")  # of what students get, beside the guides


def solution(assignment):
    return nbformat.read(ROOT / "solutions" / assignment / f"{assignment}.ipynb", as_version=4)


def copy(folder, *names, ending="*"):
    for name in names:
        for path in (ROOT / name).rglob(ending):
            if path.is_file() and "__pycache__" not in path.parts:
                place = folder / path.relative_to(ROOT)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)


@pytest.fixture(scope="module")
def course_beside(tmp_path_factory):
    """A folder with all that students got, and helpers of one's own."""
    folder = tmp_path_factory.mktemp("beside")
    copy(folder, *PACKAGES, *REST)
    copy(folder, "docs", ending="*.md")
    (folder / "own").mkdir()
    (folder / "own" / "helpers.py").write_text("from course_utils.attention import attention_map")
    return folder


def used_by(part, assignment, files):
    """What a part of the model solution uses and may not, with files beside it."""
    cells = [cell.source for cell in solution(assignment.name).cells if cell.cell_type == "code"]
    read = beside_as_text(cells, files)
    rules = disallowed_in(assignment, part)["names"], assignment.allowed_modules, part.may_call
    return source_rules.find(cells, part.name, *rules, read, COURSE.packages)


def test_no_copy_of_a_package_is_read_or_counted(course_beside):
    files, left_out = files_beside(course_beside, COURSE)
    assert left_out == 0 and "own/helpers.py" in files
    assert not [name for name in files if name.split("/")[0] in PACKAGES]
    whole, _ = files_beside(course_beside, load(A2).course)
    assert whole == files


PLACES = {
    "a copy": ("course_utils/__init__.py", "course_utils/attention.py"),
    "an older one": ("course_utils/__init__.py", "course_utils/gone.py", "course_utils/words.txt"),
    "one in a folder": ("course/lecture_kit/__init__.py", "course/lecture_kit/trained/x.pt"),
    "a single module": ("course_utils/attention.py",),
    "a module in the place of a package": ("course_utils.py", "own/autograder.py"),
}
OWN = {
    "a folder of the same name": ("assignments/helpers.py", "assignments/words.txt"),
    "a module of the same name as ours": ("attention.py", "own/masks.py"),
    "a longer name": ("course_utils_of_mine/__init__.py", "my_assignments.py"),
}


@pytest.mark.parametrize("kind", [*PLACES, *OWN])
def test_what_is_a_copy_and_what_is_a_students_own(kind, tmp_path):
    names = {**PLACES, **OWN}[kind]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1")
    files, left_out = files_beside(tmp_path, COURSE)
    assert sorted(files) == (sorted(names) if kind in OWN else []) and left_out == 0


def test_however_large_a_copy_is_own_files_are_taken(tmp_path):
    for number in range(2_000):
        place = tmp_path / "course_utils" / f"d{number % 20}" / f"{number}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    (tmp_path / "course_utils" / "__init__.py").touch()
    (tmp_path / "zebra").mkdir()
    (tmp_path / "zebra" / "own.py").touch()
    assert files_beside(tmp_path, COURSE) == ({"zebra/own.py": b""}, 0)


@pytest.mark.parametrize("assignment", known())
def test_a_right_part_keeps_its_points_beside_the_course(assignment, course_beside):
    """Also where it lies there as files of the student's own, as in a folder of another name."""
    taken, _ = files_beside(course_beside, COURSE)
    flat = {
        f"{place}{path.name}": path.read_bytes()
        for place in ("", "old/")
        for package in COURSE.libraries
        for path in (ROOT / package).glob("*.py")
        if path.name != "__init__.py"
    }
    checks = load(assignment)
    for part in checks.parts:
        for files in (taken, flat):
            assert used_by(part, checks, files) is None, part.name


def write(folder, assignment, change=lambda cells: None):
    notebook = solution(assignment)
    change(notebook.cells)
    path = folder / f"{assignment}.ipynb"
    nbformat.write(notebook, path)
    return path


def test_where_a_module_is_allowed_it_is_ours_whatever_lies_beside(tmp_path, capsys):
    copy(tmp_path, "course_utils")
    for path in (tmp_path / "course_utils").glob("*.py"):
        path.write_text("raise RuntimeError('not ours')")
    assert main(["check", str(write(tmp_path, A9))]) == 0, capsys.readouterr().out
    assert "12 of 12 points" in capsys.readouterr().out


@pytest.mark.parametrize("assignment", [A5, *(pytest.param(name, marks=pytest.mark.long) for name in known() if name != A5)])  # fmt: skip
def test_check_gives_all_points_beside_the_course(assignment, tmp_path, capsys):
    copy(tmp_path, *COURSE.packages, "exercises")
    assert main(["check", str(write(tmp_path, assignment))]) == 0, capsys.readouterr().out


def test_a_helper_of_ones_own_is_told_with_its_line(tmp_path, capsys):
    (tmp_path / "helpers.py").write_text(
        "import torch\nfrom course_utils.attention import attention_map\n\n"
        "def rows(x):\n    return torch.ones_like(x)\n"
    )
    (tmp_path / "unused.py").write_text("from course_utils.attention import attention_map\n")

    def use(cells):
        [cell] = [cell for cell in cells if cell.get("id") == "attention_weights"]
        name = parsed(cell.source)[0].name
        cell.source = "from helpers import rows\n" + re.sub(
            rf"def {name}\((\w+).*?:\n(    \"\"\".*?\"\"\"\n)?", r"\g<0>    rows(\1)\n", cell.source
        )

    assert main(["check", str(write(tmp_path, A2, use))]) == 1
    said = capsys.readouterr().out
    assert "attention_weights: 0 of 3 points" in said
    line = "`from course_utils.attention import attention_map`"
    assert f"`import course_utils.attention`, in line 2 of `helpers.py`, {line}" in said
    assert "unused" not in said


def test_a_class_is_graded_alike_and_keeps_no_copy(tmp_path):
    hand_in(tmp_path, {}, A5)
    copy(place_for(tmp_path, "ada", A5).parent, *COURSE.packages, ending="*.py")
    write(tmp_path / "submitted" / "ada" / A5, A5)
    [row] = grade(tmp_path, assignment=A5)
    assert row.points == row.of == 15 and not row.reasons
    assert not (tmp_path / "autograded" / "ada" / A5 / "course_utils").exists()
