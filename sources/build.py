"""Build the notebooks that people open from the py:percent files that authors edit.

    python sources/build.py [NAME ...]

    sources/lectures/NN_name.py      ->  lectures/NN_name.ipynb      executed, outputs kept
    assignments/aN_name/notebook.py  ->  solutions/aN_name/….ipynb   nbgrader's source version
                                     ->  exercises/aN_name/….ipynb   nbgrader's release version
    all of them                      ->  course_map.md and the tables in README.md

docs/authors.md shows how to add a lecture, an assignment, and parts of one.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import jupytext
import nbformat
from cell_tags import BuildError, add_nbgrader_metadata, checks_of
from minutes import is_folded
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from traitlets.config import PyFileConfigLoader

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT_TEXT = "notebook.py"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LECTURE_SECONDS_PER_CELL = 180
SLOW_SECONDS = 5


@dataclass(frozen=True)
class Source:
    """One py:percent file and the notebook read from it, before any metadata is added."""

    path: Path
    notebook: NotebookNode

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def file(self) -> str:
        return file_of(self.path)

    @property
    def course(self) -> dict:
        return self.notebook.metadata.get("course", {})

    @property
    def title(self) -> str:
        for cell in self.notebook.cells:
            heading = re.search(r"^# (.+)$", cell.source, re.MULTILINE)
            if cell.cell_type == "markdown" and heading:
                return heading.group(1).strip()
        raise BuildError(f"{self.file}: no title. Begin the first markdown cell with '# …'.")


def name_of(path: Path) -> str:
    """What a source is called: an assignment after its folder, a lecture after its file."""
    return path.parent.name if path.name == ASSIGNMENT_TEXT else path.stem


def file_of(path: Path) -> str:
    """A source's file, as messages name it."""
    return f"{path.parent.name}/{path.name}" if path.name == ASSIGNMENT_TEXT else path.name


def read_source(path: Path) -> Source:
    """Read one source and check what every notebook needs."""
    source = Source(path, jupytext.read(path, fmt="py:percent"))
    for field in ("summary", "minutes"):
        if field not in source.course:
            raise BuildError(
                f"{file_of(path)}: the header has no 'course: {field}:' entry, which the course map "
                "shows. Add it under 'jupyter:' in the first lines of the file."
            )
    for field in ("minutes", "deeper"):
        if not isinstance(source.course.get(field, 0), int):
            raise BuildError(
                f"{file_of(path)}: 'course: {field}:' in the header is '{source.course[field]}'. The "
                "course map adds up minutes: give a whole number."
            )
    return source


def in_order(paths: Iterable[Path]) -> list[Path]:
    """By the number that a name begins with: a10 after a9, 10 after 09."""
    return sorted(paths, key=lambda path: (len(name_of(path).partition("_")[0]), name_of(path)))


def sources_in(files: str, form: str, example: str) -> list[Source]:
    """The sources that a pattern finds, in the order of the course, which their names tell."""
    paths = in_order(ROOT.glob(files))
    for path in paths:
        if not re.fullmatch(form, name_of(path)):
            raise BuildError(
                f"{path.relative_to(ROOT)}: the name does not tell its place in the course. Give it "
                f"one such as {example}."
            )
    return [read_source(path) for path in paths]


def lecture_sources() -> list[Source]:
    return sources_in("sources/lectures/*.py", r"[0-9]{2,}_\w+", "10_long_sentences.py")


def exercise_sources() -> list[Source]:
    return sources_in(f"assignments/*/{ASSIGNMENT_TEXT}", r"a[1-9][0-9]*_\w+", "a10_long_sentences")


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
    give_ids(notebook, source.file)
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "interactive" in tags and "nbval-ignore-output" not in tags:
            cell.metadata.tags = [*tags, "nbval-ignore-output"]
        if is_folded(cell):
            cell.metadata.jupyter = NotebookNode(source_hidden=True)
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
        raise BuildError(f"{source.file}: a cell failed.\n{error}") from None
    for cell in notebook.cells:
        report_slow(cell)
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code" and "interactive" in cell.metadata.get("tags", []):
            cell.outputs = []


def report_slow(cell: NotebookNode) -> None:
    """Say which cells took seconds, so that the author can state them: the minutes count them."""
    times = cell.metadata.get("execution", {})
    if "iopub.execute_input" not in times or "shell.execute_reply" not in times:
        return
    start, end = (
        datetime.fromisoformat(times[moment])
        for moment in ("iopub.execute_input", "shell.execute_reply")
    )
    took, said = (end - start).total_seconds(), cell.metadata.get("seconds", 0)
    if max(took, said) >= SLOW_SECONDS:
        print(f"            {cell.id} took {took:.0f} s, and says seconds={said}", flush=True)


def build_solution(source: Source) -> NotebookNode:
    """nbgrader's source version of an assignment: answers and hidden checks in it, no outputs."""
    notebook = nbformat.from_dict(source.notebook)
    add_nbgrader_metadata(notebook, source.file, checks_of(source.name))
    give_ids(notebook, source.file)
    clean_metadata(notebook, source.course)
    return notebook


def release(assignment: str, solutions: Path, exercises: Path) -> None:
    """Run nbgrader's own release step: solutions/<id>/ in, exercises/<id>/ out."""
    # here, since a lecture does without nbgrader, which takes a while to import
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.utils import capture_log

    from autograder.batch.course import use_own_programs

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


def points_of(source: Source) -> float:
    """What an assignment is worth: its checks, and its written answers."""
    written = sum(cell.metadata.get("points", 0) for cell in source.notebook.cells)
    return sum(part.points for part in checks_of(source.name).parts) + written


def minutes_of(source: Source) -> int:
    return source.course["minutes"]


def course_rows(lectures: list[Source], exercises: list[Source]) -> tuple[list[str], list[str]]:
    """The two tables of the course map, one row a notebook; links are relative to the root."""
    lecture_rows = ["| lecture | what it is about | minutes | going deeper |", "|---|---|--:|--:|"]
    for source in lectures:
        link = f"[{source.title}](lectures/{source.name}.ipynb)"
        minutes, deeper = minutes_of(source), source.course.get("deeper", 0)
        lecture_rows.append(
            f"| {link} | {source.course['summary']} | {minutes} | {f'+ {deeper}' if deeper else ''} |"
        )
    minutes = sum(map(minutes_of, lectures))
    deeper = sum(source.course.get("deeper", 0) for source in lectures)
    lecture_rows.append(f"| together | | {minutes} | + {deeper} |")
    exercise_rows = ["| assignment | what you write | points | minutes |", "|---|---|--:|--:|"]
    for source in exercises:
        link = f"[{source.title}](exercises/{source.name}/{source.name}.ipynb)"
        points, minutes = points_of(source), minutes_of(source)
        exercise_rows.append(f"| {link} | {source.course['summary']} | {points:g} | {minutes} |")
    points, minutes = sum(map(points_of, exercises)), sum(map(minutes_of, exercises))
    exercise_rows.append(f"| together | | {points:g} | {minutes} |")
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
    wanted = set(names or known)
    for source in exercises:
        if source.name in wanted:
            checks_of(source.name)  # what is missing is said before lectures run for minutes
    for source in lectures:
        if source.name in wanted:
            print(f"lecture     {source.name}", flush=True)
            write_notebook(build_lecture(source), ROOT / "lectures" / f"{source.name}.ipynb")
    for source in exercises:
        if source.name in wanted:
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
