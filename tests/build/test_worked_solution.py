"""What students may read after a deadline has the answers and their reasons, and nothing by which is graded."""

import re

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.__main__ import main
from autograder.batch.course import course_secret
from autograder.checks.check import Assignment, Part
from autograder.checks.course import known, load
from autograder.release.worked_solution import as_page, reasons, without_tags, worked_solution
from tests.sample_class import ASSIGNMENT, ROOT

GRADING = re.compile(
    r"autograder|hidden tests|mark scheme|### (BEGIN|END)|nbgrader|grade_id|check_\w+|checksum|signoff|for the grader|`check`",
    re.IGNORECASE,
)
each_assignment = pytest.mark.parametrize("name", known())


def source_of(name):
    return nbformat.read(ROOT / "solutions" / name / f"{name}.ipynb", as_version=4)


@each_assignment
def test_nothing_is_left_of_what_grades(name):
    notebook = worked_solution(source_of(name), load(name))
    nbformat.validate(notebook)
    page = as_page(notebook, ROOT / "solutions" / name)
    for text in (nbformat.writes(notebook), page):
        assert not (found := GRADING.search(text)), f"{name}: {found}"
    assert all(cell.metadata == {} for cell in notebook.cells)
    assert not re.search(r"""(?:src|href)="(?!data:|https?:)""", page), "the page is by itself"
    if (ROOT / "grading" / "secret").exists():
        assert course_secret(ROOT) not in page + nbformat.writes(notebook)


@each_assignment
def test_each_part_has_its_answer_and_its_reasons(name):
    solved = worked_solution(source_of(name), load(name))
    cells = {cell.id: cell.source for cell in solved.cells}
    released = nbformat.read(ROOT / "exercises" / name / f"{name}.ipynb", as_version=4)
    asked = {cell.id: cell.source for cell in released.cells}
    for part in load(name).parts:
        assert cells[part.name] != asked[part.name]
        assert re.search(rf"^(def|class) {part.name}\b", cells[part.name], re.MULTILINE)
        assert "not answered yet" not in cells[part.name]
        compile(cells[part.name], part.name, "exec")
        why = cells[f"why-{part.name}"]
        assert f"**What the {part.points:g} points of `{part.name}` are for**" in why
        assert all(f"- {step.asks} (" in why for step in part.steps)
        assert "Read again: [lecture " in why
        assert "\n- **" in why, "it names usual mistakes"
    assert solved.cells[0].source.startswith(f"# {load_title(released)} (a solution)\n")


def load_title(notebook):
    return re.search(r"^# (.+)$", notebook.cells[0].source, re.MULTILINE)[1]


def test_code_that_was_to_be_repaired_is_not_in_the_answer():
    name = "a7_dropout_and_layer_norm"
    solved = worked_solution(source_of(name), load(name))
    [answer] = [cell for cell in solved.cells if cell.id == "SelfAttentionWithDropoutAndNorm"]
    assert "math.sqrt" in answer.source and "similarity" not in answer.source
    [words] = [cell for cell in solved.cells if cell.id == "rows_after_dropout"]
    assert words.cell_type == "markdown" and "**One answer.**" in words.source


def test_what_an_author_hid_in_another_cell_goes_as_well():
    marks = {"grade": True, "solution": False, "locked": True, "points": 1, "schema_version": 3}
    task = {**marks, "grade": False, "task": True}
    source = new_notebook(
        cells=[
            new_markdown_cell("# Assignment 99: sums"),
            new_markdown_cell("## How it works\n\nType."),
            new_markdown_cell("## 1. A sum"),
            new_code_cell(
                "assert total([1]) == 1\n### BEGIN HIDDEN TESTS\nassert total([2]) == 2\n### END HIDDEN TESTS",
                metadata={"nbgrader": {**marks, "grade_id": "test_total"}},
            ),
            new_markdown_cell(
                "It adds.\n=== BEGIN MARK SCHEME ===\n1 point for why\n=== END MARK SCHEME ===",
                metadata={"nbgrader": {**task, "grade_id": "why"}},
            ),
        ]
    )
    before = nbformat.writes(source)
    solved = worked_solution(source, Assignment("a99_sums", ()))
    assert [cell.source.strip() for cell in solved.cells] == [
        "# Assignment 99: sums (a solution)", "## 1. A sum", "assert total([1]) == 1", "It adds.",
    ]  # fmt: skip
    assert nbformat.writes(source) == before


def test_tags_go_and_the_lines_between_stay_where_they_are():
    source = (
        "def f(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION\n\n\nprint(f(1))"
    )
    assert without_tags(source) == "def f(x):\n    return x\n\n\nprint(f(1))"


def test_a_part_without_named_mistakes_says_what_it_is_for():
    part = Part("total(numbers) -> a number", sum)
    part.step("the numbers are added", 1)
    part.step("nothing is changed", 0.5)
    assert reasons(part).splitlines() == [
        "**What the 1.5 points of `total` are for**", "",
        "- the numbers are added (1 point)", "- nothing is changed (0.5 points)",
    ]  # fmt: skip


@pytest.mark.long
def test_the_command_writes_a_notebook_that_runs_and_a_page(tmp_path, capsys):
    assert main(["solution", f"{ASSIGNMENT}/", "--course", str(ROOT), "--to", str(tmp_path)]) == 0
    path = tmp_path / f"{ASSIGNMENT}_solution.ipynb"
    assert f"{path}: its links work where the assignment lies" in capsys.readouterr().out
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    assert any(cell.source.endswith("\n\n\ntest_self_attention()") for cell in notebook.cells)
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    assert "<h1>Assignment 2: self-attention without parameters (a solution)</h1>" in page
    assert "¶" not in page
    assert re.search(r'<span class="wide" tabindex="0"><math [^>]*display="block">', page)
    assert "$" not in re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)


def test_an_assignment_that_is_not_there_is_refused(tmp_path, capsys):
    assert main(["solution", "a99_none", "--course", str(ROOT), "--to", str(tmp_path / "to")]) == 2
    assert "there is no assignment 'a99_none'" in capsys.readouterr().err
    assert not (tmp_path / "to").exists()
