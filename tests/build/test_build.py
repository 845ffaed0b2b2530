"""What stands in lectures/, solutions/ and exercises/ is what the sources say."""

import importlib.util
import json
import sys

import jupytext
import nbformat
import pytest

from tests.sample_class import ROOT

specification = importlib.util.spec_from_file_location("build", ROOT / "sources" / "build.py")
build = importlib.util.module_from_spec(specification)
sys.modules["build"] = build
specification.loader.exec_module(build)

LECTURES = sorted((ROOT / "sources" / "lectures").glob("*.py"))
EXERCISES = sorted((ROOT / "sources" / "exercises").glob("*.py"))


def without_outputs(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nbformat.writes(notebook)


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_a_lecture_is_its_source_with_outputs(path):
    stored = nbformat.read(ROOT / "lectures" / f"{path.stem}.ipynb", as_version=4)
    rebuilt = build.build_lecture(build.read_source(path), execute=False)
    assert without_outputs(stored) == without_outputs(rebuilt), (
        f"lectures/{path.stem}.ipynb is not what its source says; run `make build`"
    )


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_a_lecture_keeps_its_outputs_but_not_when_or_where_it_ran(path):
    text = (ROOT / "lectures" / f"{path.stem}.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert any(cell.outputs for cell in code)
    assert "execution" not in {key for cell in code for key in cell.metadata}
    assert "widgets" not in notebook.metadata
    assert str(ROOT) not in text
    errors = [out for cell in code for out in cell.outputs if out.output_type == "error"]
    assert errors == []


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_an_assignment_is_its_source_byte_for_byte(path, tmp_path):
    name = path.stem
    source = tmp_path / "solutions" / name / f"{name}.ipynb"
    build.write_notebook(build.build_solution(build.read_source(path)), source)
    build.release(name, tmp_path / "solutions", tmp_path / "exercises")
    for folder in ("solutions", "exercises"):
        stored = ROOT / folder / name / f"{name}.ipynb"
        rebuilt = tmp_path / folder / name / f"{name}.ipynb"
        assert stored.read_bytes() == rebuilt.read_bytes(), (
            f"{folder}/{name} is not what its source says; run `make build`"
        )
        assert [item.name for item in stored.parent.iterdir()] == [stored.name]


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_the_release_shows_no_answer_and_no_check(path):
    text = (ROOT / "exercises" / path.stem / f"{path.stem}.ipynb").read_text(encoding="utf-8")
    for secret in ("BEGIN SOLUTION", "BEGIN HIDDEN", "autograder.", "autograder import"):
        assert secret not in text
    for cell in jupytext.read(path, fmt="py:percent").cells:
        body = cell.source if "written" in cell.metadata else ""
        if "solution" in cell.metadata:
            body = cell.source.split("### BEGIN SOLUTION")[1].split("### END SOLUTION")[0]
        for line in filter(str.strip, body.splitlines()):
            assert json.dumps(line.strip(), ensure_ascii=False)[1:-1] not in text


def test_the_course_map_and_the_readme_are_up_to_date():
    lectures, exercises = build.lecture_sources(), build.exercise_sources()
    assert (ROOT / "course_map.md").read_text() == build.course_map(lectures, exercises)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == build.readme_with_tables(readme, lectures, exercises)


HEADER = """# ---
# jupyter:
#   course:
#     minutes: 1
#     summary: a test
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A title

"""
SOLUTION = """# %% solution="{0}"
def {0}(x):
    ### BEGIN SOLUTION
    return x
    ### END SOLUTION

"""
TEST = '# %% test="{0}"\nassert {0}(1) == 1\n\n'
CHECK = '# %% check="{0}"\n\n'
WRITTEN = """# %% [markdown] written="in_words" points=2
# A model answer, α before β.
#
# For the grader: two points.

"""
NAMES = (
    "attention_weights",
    "basic_self_attention",
    "self_attention",
    "is_permutation_equivariant",
)
WHOLE = "".join((SOLUTION + TEST + CHECK).format(name) for name in NAMES)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (SOLUTION.format("attention_weights") + WHOLE, "grade_id 'attention_weights' stands already"),
        (TEST.format("attention_weights") + WHOLE, "stands before its solution"),
        (CHECK.format("attention_weights") + WHOLE, "stands before its solution"),
        (WHOLE.replace(CHECK.format("self_attention"), "", 1), "no cell 'check_self_attention'"),
        (WHOLE + SOLUTION.format("extra") + CHECK.format("extra"), "has no part 'extra'"),
        (WHOLE.replace("def attention_weights", "def weights", 1), "does not define"),
        (WHOLE.replace("### BEGIN SOLUTION", "# begin", 1), "no '### BEGIN SOLUTION'"),
        ('# %% solution="a" test="a"\n1\n\n' + WHOLE, "one tag a cell"),
        (WHOLE + WRITTEN.replace(" points=2", ""), "a markdown cell that says its points"),
        (WHOLE + WRITTEN.replace("[markdown] ", ""), "a markdown cell that says its points"),
        (WHOLE + WRITTEN + WRITTEN, "grade_id 'in_words' stands already"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_work_is_refused_in_words(tmp_path, body, message):
    path = tmp_path / "a2_self_attention.py"
    path.write_text(HEADER + body, encoding="utf-8")
    with pytest.raises(build.BuildError, match=message):
        build.build_solution(build.read_source(path))


def test_a_written_answer_is_graded_by_hand_and_not_given_away(tmp_path):
    name = "a2_self_attention"
    path = tmp_path / f"{name}.py"
    path.write_text(HEADER + WHOLE + WRITTEN, encoding="utf-8")
    source = build.read_source(path)
    build.write_notebook(build.build_solution(source), tmp_path / "s" / name / f"{name}.ipynb")
    build.release(name, tmp_path / "s", tmp_path / "e")
    cells = {
        folder: nbformat.read(tmp_path / folder / name / f"{name}.ipynb", as_version=4).cells[-1]
        for folder in ("s", "e")
    }
    for cell in cells.values():
        assert cell.cell_type == "markdown"
        marks = cell.metadata.nbgrader
        assert (marks.grade_id, marks.points) == ("in_words", 2)
        assert marks.grade and marks.solution and not marks.locked
    assert "A model answer, α before β." in cells["s"].source
    assert "For the grader" in cells["s"].source
    assert cells["e"].source == "YOUR ANSWER HERE"
    _, rows = build.course_rows([], [source])
    assert rows[-1].split("|")[3].strip() == "12"  # ten of the checks, two by hand


def test_a_source_without_title_or_header_is_refused_in_words(tmp_path):
    path = tmp_path / "a2_self_attention.py"
    path.write_text("# %%\nx = 1\n", encoding="utf-8")
    with pytest.raises(build.BuildError, match="no 'course: summary:' entry"):
        build.read_source(path)
    path.write_text(HEADER.replace("# # A title", "# A title"), encoding="utf-8")
    with pytest.raises(build.BuildError, match="no title"):
        _ = build.read_source(path).title


def test_an_unknown_name_is_refused_in_words():
    with pytest.raises(build.BuildError, match=r"no source 'nonsense'. There are: .*a2_self"):
        build.build(["nonsense"])


def test_ids_are_readable_unique_and_repeat(tmp_path):
    path = tmp_path / "a2_self_attention.py"
    path.write_text(HEADER + WHOLE, encoding="utf-8")
    first, second = (build.build_solution(build.read_source(path)) for _ in range(2))
    ids = [cell.id for cell in first.cells]
    assert ids == [cell.id for cell in second.cells]
    assert ids[0] == "a-title-1"
    assert ids[1:4] == ["attention_weights", "test_attention_weights", "check_attention_weights"]


def test_the_course_has_a_hundred_points():
    points = 0.0
    for path in (ROOT / "solutions").glob("*/*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            points += cell.metadata.get("nbgrader", {}).get("points", 0)
    assert points == 100
