"""What stands in lectures/, solutions/ and exercises/ is what the sources say."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import jupytext
import nbformat
import pytest

from autograder.checks.check import Assignment
from autograder.release import assignment as release_of_assignments
from autograder.release import tags
from autograder.release.handed_out import with_what_is_handed_out
from autograder.release.source import in_order, name_of, read_source
from sources.course_map import course_rows
from tests.sample_class import ROOT

sys.path.insert(0, str(ROOT / "sources"))  # as `python sources/build.py` has it
build = import_module("build")

LECTURES = in_order((ROOT / "sources" / "lectures").glob("*.py"))
EXERCISES = in_order(ROOT.glob("assignments/*/notebook.py"))
ANSWER = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)


def without_outputs(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nbformat.writes(notebook)


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_a_lecture_is_its_source_with_outputs(path):
    stored = nbformat.read(ROOT / "lectures" / f"{path.stem}.ipynb", as_version=4)
    rebuilt = build.build_lecture(read_source(path), execute=False)
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


def test_outputs_are_kept_where_the_code_is_the_same(tmp_path, monkeypatch):
    path = tmp_path / "sources/lectures/09_x.py"
    path.parent.mkdir(parents=True)
    path.write_text(HEADER + "# %%\nprint(1)\n", encoding="utf-8")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    with pytest.raises(build.BuildError, match=r"whose outputs were to be kept. Execute it: make"):
        build.with_stored_outputs(read_source(path))

    stored = build.build_lecture(read_source(path), execute=False)
    stored.cells[-1].outputs = [nbformat.v4.new_output("stream", text="1\n")]
    build.write_notebook(stored, tmp_path / "lectures/09_x.ipynb")
    mark = "# <!-- slide: One -->\n#\n# - one\n\n"
    path.write_text(HEADER + mark + '# %% slide="Two"\nprint(1)\n', encoding="utf-8")
    kept = build.with_stored_outputs(read_source(path)).cells
    assert "slide: One" in kept[0].source
    assert (kept[1].metadata.slide, kept[1].outputs[0].text) == ("Two", "1\n")

    path.write_text(HEADER + "# %%\nprint(2)\n", encoding="utf-8")
    with pytest.raises(build.BuildError, match=r"its code is not that of lectures/09_x.ipynb"):
        build.with_stored_outputs(read_source(path))


@pytest.mark.parametrize("path", EXERCISES, ids=name_of)
def test_an_assignment_is_its_source_byte_for_byte(path, tmp_path):
    name = name_of(path)
    source = tmp_path / "solutions" / name / f"{name}.ipynb"
    build.write_notebook(build.build_solution(read_source(path)), source)
    build.release(name, ROOT, tmp_path / "solutions", tmp_path / "exercises")
    for folder in ("solutions", "exercises"):
        stored = ROOT / folder / name / f"{name}.ipynb"
        rebuilt = tmp_path / folder / name / f"{name}.ipynb"
        assert stored.read_bytes() == rebuilt.read_bytes(), (
            f"{folder}/{name} is not what its source says; run `make build`"
        )
        assert [item.name for item in stored.parent.iterdir()] == [stored.name]


@pytest.mark.parametrize("path", EXERCISES, ids=name_of)
def test_the_release_shows_no_answer_and_no_check(path):
    text = (ROOT / "exercises" / path.parent.name / f"{path.parent.name}.ipynb").read_text(
        encoding="utf-8"
    )
    for secret in (
        "BEGIN SOLUTION", "BEGIN HIDDEN", "HANDED OUT", "grade(", "autograder import",
    ):  # fmt: skip
        assert secret not in text
    cells = jupytext.read(path, fmt="py:percent").cells
    shown = "".join(
        ANSWER.sub("", with_what_is_handed_out(cell.source))
        for cell in cells
        if "written" not in cell.metadata
    )
    for cell in cells:
        body = cell.source if "written" in cell.metadata else ""
        if "solution" in cell.metadata:
            body = "".join(ANSWER.findall(cell.source))
            assert body
        for line in filter(str.strip, body.splitlines()):
            if line.strip() not in shown:  # as a lone bracket does, or what a test does, too
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


GIVEN = "### BEGIN HANDED OUT", "### END HANDED OUT"


def handing_out(code, begin=GIVEN[0], end=GIVEN[1]):
    """The assignment, with this code handed out in the place of its first part."""
    whole = f"""# %% solution="attention_weights"
### BEGIN SOLUTION
def attention_weights(x):
    return x
{begin}
{code}{end}
### END SOLUTION

"""
    return WHOLE.replace(SOLUTION.format("attention_weights"), whole, 1)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (SOLUTION.format("attention_weights") + WHOLE, "grade_id 'attention_weights' stands already"),
        (TEST.format("attention_weights") + WHOLE, "stands before its solution"),
        (CHECK.format("attention_weights") + WHOLE, "stands before its solution"),
        (WHOLE.replace(TEST.format("self_attention") + CHECK.format("self_attention"),
                       CHECK.format("self_attention") + TEST.format("self_attention")),
         "the check of 'self_attention' stands before its test"),
        (WHOLE.replace(CHECK.format("self_attention"), "", 1), "no cell 'check_self_attention'"),
        (WHOLE + CHECK.format("attention"), "of 'attention' belongs to no solution. .* 'attention_weights', "),
        (WHOLE + SOLUTION.format("extra") + CHECK.format("extra"), "has no part 'extra'"),
        (WHOLE.replace("def attention_weights", "def weights", 1), "does not define"),
        (WHOLE.replace("### BEGIN SOLUTION", "# begin", 1), "no '### BEGIN SOLUTION'"),
        (handing_out("# def attention_weights(x):\n#     return 0\n", end=""), "not marked as it"),
        (handing_out("# def attention_weights(x):\n    return 0\n"), "every line of it a comment"),
        (handing_out(""), "not marked as it should be"),
        (handing_out("# def attention_weights(x)\n#     return 0\n"), "cannot read .* in line 1"),
        (handing_out("# def weights(x):\n#     return 0\n"), "does not define it"),
        (WHOLE.replace("### END SOLUTION", f"### END SOLUTION\n    {GIVEN[0]}\n    {GIVEN[1]}", 1),
         "above its '### END SOLUTION'"),
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
        build.build_solution(read_source(path))


def test_a_written_answer_is_graded_by_hand_and_not_given_away(tmp_path):
    name = "a2_self_attention"
    path = tmp_path / f"{name}.py"
    path.write_text(HEADER + WHOLE + WRITTEN, encoding="utf-8")
    source = read_source(path)
    build.write_notebook(build.build_solution(source), tmp_path / "s" / name / f"{name}.ipynb")
    build.release(name, ROOT, tmp_path / "s", tmp_path / "e")
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
    _, rows = course_rows([], [source])
    assert rows[-1].split("|")[3].strip() == "12"  # ten of the checks, two by hand


BROKEN = """# def attention_weights(x):
#     # nothing is weighed
#
#     return x * 0
"""
AS_GIVEN = "def attention_weights(x):\n    # nothing is weighed\n\n    return x * 0"
STUB = (
    "def basic_self_attention(x):\n    # Write your answer here and delete the next line.\n"
    '    raise NotImplementedError("not answered yet")'
)


def test_what_is_handed_out_takes_the_place_of_a_solution(tmp_path):
    name = "a2_self_attention"
    path = tmp_path / f"{name}.py"
    path.write_text(HEADER + handing_out(BROKEN), encoding="utf-8")
    solution = build.build_solution(read_source(path))
    build.write_notebook(solution, tmp_path / "s" / name / f"{name}.ipynb")
    build.release(name, ROOT, tmp_path / "s", tmp_path / "e")
    given = nbformat.read(tmp_path / "e" / name / f"{name}.ipynb", as_version=4)
    sources = {cell.id: cell.source for cell in given.cells}
    assert sources["attention_weights"] == AS_GIVEN
    assert sources["basic_self_attention"] == STUB
    namespace = {}
    exec(next(cell.source for cell in solution.cells if cell.id == "attention_weights"), namespace)
    assert namespace["attention_weights"](3) == 3, "the solution itself is what runs"


@pytest.mark.long
def test_nbgraders_own_commands_make_the_same_release_and_know_it_again(tmp_path):
    name = "a7_dropout_and_layer_norm"  # hands out a class
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    shutil.copytree(ROOT / "solutions" / name, tmp_path / "solutions" / name)

    def nbgrader(command):
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", command, name, "--create"], cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    nbgrader("generate_assignment")
    made, stored = (place / "exercises" / name / f"{name}.ipynb" for place in (tmp_path, ROOT))
    assert made.read_bytes() == stored.read_bytes()
    shutil.copytree(made.parent, tmp_path / "submitted" / "ada" / name)
    nbgrader("autograde")
    graded = (tmp_path / "autograded" / "ada" / name / f"{name}.ipynb").read_text(encoding="utf-8")
    assert (
        graded.count("is as it was handed out")
        == graded.count("This part is not answered yet:")
        > 0
    )


def test_a_source_without_title_or_header_is_refused_in_words(tmp_path):
    path = tmp_path / "a2_self_attention.py"
    path.write_text("# %%\nx = 1\n", encoding="utf-8")
    with pytest.raises(build.BuildError, match="no 'course: summary:' entry"):
        read_source(path)
    path.write_text(HEADER.replace("# # A title", "# A title"), encoding="utf-8")
    with pytest.raises(build.BuildError, match="no title"):
        _ = read_source(path).title


def test_an_unknown_name_is_refused_in_words():
    with pytest.raises(build.BuildError, match=r"no source 'nonsense'. There are: .*a2_self"):
        build.build(["nonsense"])


def test_ids_are_readable_unique_and_repeat(tmp_path):
    path = tmp_path / "a2_self_attention.py"
    path.write_text(HEADER + WHOLE, encoding="utf-8")
    first, second = (build.build_solution(read_source(path)) for _ in range(2))
    ids = [cell.id for cell in first.cells]
    assert ids == [cell.id for cell in second.cells]
    assert ids[0] == "a-title-1"
    assert ids[1:5] == [
        "set_up_a2_self_attention", "attention_weights", "test_attention_weights", "check_attention_weights",
    ]  # fmt: skip


def points_in(notebook):
    return sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in notebook.cells)


def test_the_points_of_the_tables_are_those_of_the_notebooks():
    points = {
        path.stem: points_in(nbformat.read(path, as_version=4))
        for path in (ROOT / "solutions").glob("*/*.ipynb")
    }
    _, rows = course_rows([], build.exercise_sources())
    said = [float(row.split("|")[3]) for row in rows[2:]]
    assert said == [*(points[name_of(path)] for path in EXERCISES), sum(points.values())]


def test_the_last_row_of_a_table_is_the_sum_of_the_others():
    lectures, exercises = course_rows(build.lecture_sources(), build.exercise_sources())
    for rows, column in ((lectures, -3), (lectures, -2), (exercises, -2)):
        minutes = [int(row.split("|")[column].strip(" +") or 0) for row in rows[2:]]
        assert minutes[-1] == sum(minutes[:-1]) > 0


TABLE = """# %% [markdown]
# | part | what you write | points |
# |---|---|--:|
# | 1 | `attention_weights` | 3 |
# | 2 | `basic_self_attention` | 2 |
# | 3 | `self_attention` | 3 |
# | 4 | `is_permutation_equivariant` | 2 |
# | 5 | an answer in words | 2 |
#
# It is | not part of | the table: 17 points.

"""


def built_with(table, tmp_path):
    path = tmp_path / "a2_self_attention.py"
    path.write_text(HEADER + table + WHOLE + WRITTEN, encoding="utf-8")
    return build.build_solution(read_source(path))


def test_points_in_the_text_are_those_of_the_checks(tmp_path):
    assert points_in(built_with(TABLE, tmp_path)) == 12


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("`self_attention` | 3", "`self_attention` | 4"),
        ("`self_attention`", "`cross_attention`"),
        ("words | 2", "words | 2.5"),
        ("# | 5 | an answer in words | 2 |\n", ""),
    ],
)
def test_points_in_the_text_that_are_wrong_are_refused(tmp_path, true, false):
    with pytest.raises(build.BuildError, match=r"a table says 3 for attention_weights, .* give 3 "):
        built_with(TABLE.replace(true, false, 1), tmp_path)


def test_a10_comes_after_a9_and_10_after_09():
    names = ["a10_x", "a1_x", "a9_x", "a2_x"]
    assert [path.stem for path in in_order(map(Path, names))] == [
        "a1_x", "a2_x", "a9_x", "a10_x",
    ]  # fmt: skip
    assert [path.stem for path in in_order([Path("10_x"), Path("09_x")])] == ["09_x", "10_x"]


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of two assignments, with a1 and a10 for what their names have in common."""
    for name in ("README.md", "nbgrader_config.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "sources" / "lectures").mkdir(parents=True)
    for name in ("a1_rnn_attention", "a10_rnn_attention"):
        (tmp_path / "assignments" / name).mkdir(parents=True)
        text = (ROOT / "assignments/a1_rnn_attention/notebook.py").read_text(encoding="utf-8")
        (tmp_path / "assignments" / name / "notebook.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    return tmp_path


def lend_checks(monkeypatch):
    """a10 gets the checks of a1, under its own name."""
    checks = tags.checks_of

    def lent(assignment):
        return Assignment(assignment, parts=checks("a1_rnn_attention").parts)

    for module in (build, import_module("course_map"), release_of_assignments):
        monkeypatch.setattr(module, "checks_of", lent)


@pytest.mark.parametrize("name", ["a1_rnn_attention", "a10_rnn_attention"])
def test_one_name_builds_that_one_only(course, monkeypatch, name):
    lend_checks(monkeypatch)
    build.build([name])
    for folder in ("solutions", "exercises"):
        assert [path.name for path in (course / folder).iterdir()] == [name]
        assert [path.name for path in (course / folder / name).iterdir()] == [f"{name}.ipynb"]
    rows = re.findall(r"exercises/(\w+)/", (course / "course_map.md").read_text(encoding="utf-8"))
    assert rows == ["a1_rnn_attention", "a10_rnn_attention"]
    assert rows == re.findall(r"exercises/(\w+)/\1", (course / "README.md").read_text("utf-8"))
    assert f'grade("{name}", "annotations")' in (
        course / "solutions" / name / f"{name}.ipynb"
    ).read_text(encoding="utf-8").replace('\\"', '"')


def test_an_assignment_without_checks_says_which_file_is_missing(course):
    with pytest.raises(build.BuildError) as stopped:
        build.build([])
    for words in (
        "assignments/a10_rnn_attention/__init__.py, and there is no such file",
        'ASSIGNMENT = Assignment("a10_rnn_attention"',
        "docs/authors.md",
    ):
        assert words in str(stopped.value)
    assert not (course / "solutions").exists(), "it should be said before anything is built"


def test_checks_without_an_assignment_of_that_name_are_refused(monkeypatch):
    monkeypatch.setattr(tags, "load", lambda _name: Assignment("a3_masks", parts=()))
    with pytest.raises(build.BuildError, match=r"is called 'a3_masks'. Call it 'a4_masks'"):
        tags.checks_of("a4_masks")

    def without(name):
        raise AttributeError(f"module 'assignments.{name}' has no attribute 'ASSIGNMENT'")

    monkeypatch.setattr(tags, "load", without)
    with pytest.raises(
        build.BuildError, match=r"a4_masks/__init__.py has no ASSIGNMENT. End it with"
    ):
        tags.checks_of("a4_masks")


@pytest.mark.parametrize(
    "file",
    [
        "assignments/masks/notebook.py",
        "assignments/a0_masks/notebook.py",
        "sources/lectures/9_x.py",
    ],
)
def test_a_name_without_its_place_in_the_course_is_refused(course, file):
    (course / file).parent.mkdir(exist_ok=True)
    (course / file).write_text(HEADER, encoding="utf-8")
    with pytest.raises(build.BuildError, match=f"{file}: the name does not"):
        build.build([])


def test_minutes_are_a_number(tmp_path):
    path = tmp_path / "a2_self_attention.py"
    path.write_text(
        HEADER.replace("minutes: 1", "minutes: 1\n#     deeper: much"), encoding="utf-8"
    )
    with pytest.raises(build.BuildError, match=r"deeper:' in the header is 'much'"):
        read_source(path)
    path.write_text(HEADER.replace("minutes: 1", "minutes: an hour"), encoding="utf-8")
    with pytest.raises(build.BuildError, match=r"'an hour'. The course map adds up minutes"):
        read_source(path)


@pytest.mark.parametrize("link", ["02_no_such.ipynb", "01_here.ipynb#No-heading", "#No-heading"])
def test_a_link_that_leads_nowhere_stops_the_build(tmp_path, monkeypatch, link):
    monkeypatch.setattr(build, "ROOT", tmp_path)
    (tmp_path / "lectures").mkdir()
    good = "# Here\n\n[a](01_here.ipynb#Here) [b](#Here) `f[0](x)` [c](https://example.org/nowhere)"
    for name, text in (("01_here", good), ("03_there", f"# There\n\n[d]({link})")):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
        nbformat.write(notebook, tmp_path / "lectures" / f"{name}.ipynb")
    build.refuse_dead_links(["01_here"])
    with pytest.raises(build.BuildError, match=re.escape(f"03_there.ipynb links to {link}, and")):
        build.refuse_dead_links([])


def test_the_template_of_a_lecture_links_to_what_is_there():
    text = (ROOT / "tools/templates/lecture.py.txt").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("https:")]
    assert links and all((ROOT / "lectures" / link).exists() for link in links)
