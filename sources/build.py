"""Build the notebooks that people open from the py:percent files that authors edit.

    python sources/build.py [NAME ...]

    sources/lectures/NN_name.py   ->  lectures/NN_name.ipynb       executed, outputs kept
    sources/exercises/aN_name.py  ->  solutions/aN_name/….ipynb    nbgrader's source version
                                  ->  exercises/aN_name/….ipynb    nbgrader's release version
    all of them                   ->  course_map.md and the tables in README.md

In an exercise, four short cell tags stand for nbgrader's metadata:

    # %% solution="name"            the cell a student fills in; it defines `name`
    # %% test="name"                visible tests: locked, no points
    # %% check="name"               earns the points; its text and points come from autograder/checks
    # %% [markdown] written="name" points=2      a written answer, graded by hand
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from traitlets.config import PyFileConfigLoader

from autograder.checks import load
from autograder.course import use_own_programs

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("solution", "test", "check", "written")
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LECTURE_SECONDS_PER_CELL = 180


class BuildError(Exception):
    """A source that cannot be built; the message names the file, the cell and the remedy."""


@dataclass(frozen=True)
class Source:
    """One py:percent file and the notebook read from it, before any metadata is added."""

    path: Path
    notebook: NotebookNode

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def course(self) -> dict:
        return self.notebook.metadata.get("course", {})

    @property
    def title(self) -> str:
        for cell in self.notebook.cells:
            heading = re.search(r"^# (.+)$", cell.source, re.MULTILINE)
            if cell.cell_type == "markdown" and heading:
                return heading.group(1).strip()
        raise BuildError(f"{self.path.name}: no title. Begin the first markdown cell with '# …'.")


def read_source(path: Path) -> Source:
    """Read one source and check what every notebook needs."""
    source = Source(path, jupytext.read(path, fmt="py:percent"))
    for field in ("summary", "minutes"):
        if field not in source.course:
            raise BuildError(
                f"{path.name}: the header has no 'course: {field}:' entry, which the course map "
                "shows. Add it under 'jupyter:' in the first lines of the file."
            )
    return source


def lecture_sources() -> list[Source]:
    return [read_source(path) for path in sorted((ROOT / "sources/lectures").glob("*.py"))]


def exercise_sources() -> list[Source]:
    return [read_source(path) for path in sorted((ROOT / "sources/exercises").glob("*.py"))]


def slug(text: str) -> str:
    """A heading as a cell id can hold it: lower case, words joined by hyphens."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words[:40].strip("-") or "section"


def give_ids(notebook: NotebookNode, name: str) -> None:
    """Give each cell a stable id: its grade_id, else the heading it stands under and a count."""
    section, seen, taken = "start", {}, set()
    for cell in notebook.cells:
        heading = re.match(r"^#+ (.+)$", cell.source, re.MULTILINE)
        if cell.cell_type == "markdown" and heading:
            section = slug(heading.group(1))
        if "nbgrader" in cell.metadata:
            cell.id = cell.metadata.nbgrader.grade_id
        elif "id" in cell.metadata:
            cell.id = cell.metadata.pop("id")
        else:
            seen[section] = seen.get(section, 0) + 1
            cell.id = f"{section}-{seen[section]}"
        if cell.id in taken:
            raise BuildError(
                f"{name}: two cells have the id '{cell.id}'. Give one of the headings, or one of "
                'the cells (id="…"), another name.'
            )
        taken.add(cell.id)


def clean_metadata(notebook: NotebookNode, course: dict) -> None:
    """Keep what a reader's Jupyter needs; drop what would differ between two builds."""
    notebook.metadata = NotebookNode(
        course=NotebookNode(course),
        kernelspec=NotebookNode(KERNEL),
        language_info={"name": "python"},
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5


def build_lecture(source: Source, execute: bool = True) -> NotebookNode:
    """The lecture as a notebook; executed, it holds outputs but nothing that tells when or where."""
    notebook = nbformat.from_dict(source.notebook)
    give_ids(notebook, source.path.name)
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "interactive" in tags and "nbval-ignore-output" not in tags:
            cell.metadata.tags = [*tags, "nbval-ignore-output"]
    if execute:
        execute_lecture(notebook, source)
    clean_metadata(notebook, source.course)
    return notebook


def execute_lecture(notebook: NotebookNode, source: Source) -> None:
    """Run all cells where the finished notebook will stand; stop at the first error."""
    folder = ROOT / "lectures"
    folder.mkdir(exist_ok=True)
    client = NotebookClient(
        notebook,
        kernel_name=KERNEL["name"],
        timeout=LECTURE_SECONDS_PER_CELL,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise BuildError(f"{source.path.name}: a cell failed.\n{error}") from None
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code" and "interactive" in cell.metadata.get("tags", []):
            cell.outputs = []


def solution_names(cell: NotebookNode) -> set[str]:
    """Names that a cell defines at its top level."""
    return {
        node.name
        for node in ast.parse(cell.source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def check_cell_text(assignment: str, part: str, points: float) -> str:
    return "\n".join(
        [
            f"# Here the {points:g} points for `{part}` are decided when your notebook is graded.",
            "### BEGIN HIDDEN TESTS",
            "from autograder.cell import grade",
            "",
            f'grade("{assignment}", "{part}")',
            "### END HIDDEN TESTS",
        ]
    )


def add_nbgrader_metadata(notebook: NotebookNode, source: Source) -> None:
    """Turn the short tags into nbgrader's metadata; refuse what nbgrader would only stumble over."""
    parts = {part.name: part for part in load(source.name).parts}
    seen: dict[str, str] = {}
    solved: set[str] = set()
    for number, cell in enumerate(notebook.cells, start=1):
        kinds = [kind for kind in KINDS if kind in cell.metadata]
        if not kinds:
            continue
        where = f"{source.path.name}, cell {number}"
        kind = kinds[0]
        name = cell.metadata.pop(kind)
        if len(kinds) > 1:
            raise BuildError(
                f"{where}: tags {' and '.join(kinds)} on one cell. Use one tag a cell."
            )
        grade_id = name if kind in ("solution", "written") else f"{kind}_{name}"
        if grade_id in seen:
            raise BuildError(
                f"{where}: the grade_id '{grade_id}' stands already in {seen[grade_id]}. nbgrader "
                "keeps one grade per id, so each must be unique: rename one of the two."
            )
        seen[grade_id] = where
        points = 0.0
        if kind == "solution":
            check_solution_cell(cell, name, where)
            solved.add(name)
        elif kind in ("test", "check") and name not in solved:
            raise BuildError(
                f"{where}: the {kind} of '{name}' stands before its solution, so it could never "
                f'pass. Move it below the cell tagged solution="{name}".'
            )
        if kind == "check":
            if name not in parts:
                raise BuildError(
                    f"{where}: autograder/checks/{source.name}.py has no part '{name}' (it has "
                    f"{', '.join(parts)}). Add the part or mend the tag."
                )
            points = parts[name].points
            cell.source = check_cell_text(source.name, name, points)
        elif kind == "written":
            points = written_points(cell, where)
        cell.metadata["nbgrader"] = NotebookNode(
            grade=kind != "solution",
            grade_id=grade_id,
            locked=kind in ("test", "check"),
            points=points,
            schema_version=3,
            solution=kind in ("solution", "written"),
            task=False,
        )
        if kind == "solution":
            del cell.metadata.nbgrader["points"]
    for name in parts:
        for grade_id in (name, f"test_{name}", f"check_{name}"):
            if grade_id not in seen:
                raise BuildError(
                    f"{source.path.name}: no cell '{grade_id}', though autograder/checks/"
                    f"{source.name}.py has the part '{name}'. A part needs a solution, a test and a "
                    "check cell, in this order."
                )


def check_solution_cell(cell: NotebookNode, name: str, where: str) -> None:
    if name not in solution_names(cell):
        raise BuildError(
            f"{where}: the cell tagged solution=\"{name}\" does not define '{name}'. Name the tag "
            "after the function or class that students write."
        )
    if "### BEGIN SOLUTION" not in cell.source or "### END SOLUTION" not in cell.source:
        raise BuildError(
            f"{where}: the solution of '{name}' has no '### BEGIN SOLUTION' … '### END SOLUTION' "
            "lines, so the release would lose the signature and the docstring with it."
        )


def written_points(cell: NotebookNode, where: str) -> float:
    points = cell.metadata.pop("points", None)
    if cell.cell_type != "markdown" or not isinstance(points, int | float) or points <= 0:
        raise BuildError(
            f"{where}: a written answer is a markdown cell that says its points, "
            '# %% [markdown] written="name" points=2. All its text is taken out of the release: ask '
            "the question in a cell above, and let this one hold an answer and what earns points."
        )
    return float(points)


def build_solution(source: Source) -> NotebookNode:
    """nbgrader's source version of an assignment: answers and hidden checks in it, no outputs."""
    notebook = nbformat.from_dict(source.notebook)
    add_nbgrader_metadata(notebook, source)
    give_ids(notebook, source.path.name)
    clean_metadata(notebook, source.course)
    return notebook


def release(assignment: str, solutions: Path, exercises: Path) -> None:
    """Run nbgrader's own release step: solutions/<id>/ in, exercises/<id>/ out."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.utils import capture_log

    use_own_programs()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(solutions / assignment, Path(folder, "solutions", assignment))
        config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()
        config.CourseDirectory.root = folder
        config.CourseDirectory.assignment_id = assignment
        config.GenerateAssignment.permissions = 644
        coursedir = CourseDirectory(config=config)
        converter = GenerateAssignment(coursedir=coursedir, config=config)
        result = capture_log(converter)
        if not result["success"]:
            raise BuildError(f"nbgrader could not release {assignment}:\n{result['log']}")
        shutil.rmtree(exercises / assignment, ignore_errors=True)
        shutil.copytree(Path(folder, "exercises", assignment), exercises / assignment)


def course_rows(lectures: list[Source], exercises: list[Source]) -> tuple[list[str], list[str]]:
    """The two tables of the course map, one row a notebook; links are relative to the root."""
    lecture_rows = ["| lecture | what it is about | minutes |", "|---|---|--:|"]
    for source in lectures:
        link = f"[{source.title}](lectures/{source.name}.ipynb)"
        lecture_rows.append(f"| {link} | {source.course['summary']} | {source.course['minutes']} |")
    exercise_rows = ["| assignment | what you write | points | minutes |", "|---|---|--:|--:|"]
    for source in exercises:
        link = f"[{source.title}](exercises/{source.name}/{source.name}.ipynb)"
        written = sum(cell.metadata.get("points", 0) for cell in source.notebook.cells)
        points = sum(part.points for part in load(source.name).parts) + written
        exercise_rows.append(
            f"| {link} | {source.course['summary']} | {points:g} | {source.course['minutes']} |"
        )
    return lecture_rows, exercise_rows


def course_map(lectures: list[Source], exercises: list[Source]) -> str:
    """The page that JupyterLab opens on."""
    lecture_rows, exercise_rows = course_rows(lectures, exercises)
    return "\n".join(
        [
            "# Attention and transformers: the course map",
            "",
            "Click a title to open its notebook. Read a lecture first, then answer its assignment.",
            "Run a cell with **Shift + Enter**; everything you open here is your own copy.",
            "",
            "## Lectures",
            "",
            *lecture_rows,
            "",
            "## Assignments",
            "",
            *exercise_rows,
            "",
        ]
    )


def readme_with_tables(readme: str, lectures: list[Source], exercises: list[Source]) -> str:
    """README.md with the text between its two table markers made anew."""
    lecture_rows, exercise_rows = course_rows(lectures, exercises)
    tables = "\n".join([*lecture_rows, "", *exercise_rows])
    begin, end = "<!-- tables: made by `make build` -->", "<!-- end of tables -->"
    if begin not in readme or end not in readme:
        raise BuildError(f"README.md lacks the lines '{begin}' and '{end}' that hold its tables.")
    head, rest = readme.split(begin, 1)
    return f"{head}{begin}\n{tables}\n{end}{rest.split(end, 1)[1]}"


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    nbformat.validate(notebook)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def build(names: list[str]) -> None:
    """Build the named notebooks, or all; always the course map and README's tables."""
    lectures, exercises = lecture_sources(), exercise_sources()
    known = [source.name for source in lectures + exercises]
    for name in names:
        if name not in known:
            raise BuildError(f"no source '{name}'. There are: {', '.join(known)}.")
    for source in lectures:
        if not names or source.name in names:
            print(f"lecture     {source.name}", flush=True)
            write_notebook(build_lecture(source), ROOT / "lectures" / f"{source.name}.ipynb")
    for source in exercises:
        if not names or source.name in names:
            print(f"assignment  {source.name}", flush=True)
            path = ROOT / "solutions" / source.name / f"{source.name}.ipynb"
            write_notebook(build_solution(source), path)
            release(source.name, ROOT / "solutions", ROOT / "exercises")
    (ROOT / "course_map.md").write_text(course_map(lectures, exercises), encoding="utf-8")
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(readme_with_tables(text, lectures, exercises), encoding="utf-8")


if __name__ == "__main__":
    try:
        build(sys.argv[1:])
    except BuildError as error:
        sys.exit(f"build stopped: {error}")
