"""Build the notebooks that people open from the py:percent files that authors edit.

    python sources/build.py [--keep-outputs] [NAME ...]

    sources/lectures/NN_name.py      ->  lectures/NN_name.ipynb      executed, outputs kept
    assignments/aN_name/notebook.py  ->  solutions/aN_name/….ipynb   nbgrader's source version
                                     ->  exercises/aN_name/….ipynb   nbgrader's release version
    all of them                      ->  course_map.md and the tables in README.md

With --keep-outputs, lectures of which only text, tags or marks of slides changed are not executed.

docs/authors.md shows how to add a lecture, an assignment, and parts of one.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path

import nbformat
from minutes import is_folded
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from autograder.release.assignment import assignments_in, build_solution, release
from autograder.release.source import (
    KERNEL,
    Source,
    clean_metadata,
    give_ids,
    sources_in,
    write_notebook,
)
from autograder.release.tags import BuildError, checks_of

ROOT = Path(__file__).resolve().parent.parent
LECTURE_SECONDS_PER_CELL = 180
SLOW_SECONDS = 5


def lecture_sources() -> list[Source]:
    return sources_in(ROOT, "sources/lectures/*.py", r"[0-9]{2,}_\w+", "10_long_sentences.py")


def exercise_sources() -> list[Source]:
    return assignments_in(ROOT / "assignments")


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


def with_stored_outputs(source: Source) -> NotebookNode:
    """The lecture with the outputs of its stored notebook, whose code is the same."""
    notebook = build_lecture(source, execute=False)
    path = ROOT / "lectures" / f"{source.name}.ipynb"
    stored = nbformat.read(path, as_version=4).cells if path.exists() else []
    before, now = (
        [cell for cell in cells if cell.cell_type == "code"] for cells in (stored, notebook.cells)
    )
    if [cell.source for cell in before] != [cell.source for cell in now]:
        raise BuildError(
            f"{source.file}: its code is not that of lectures/{path.name}, whose outputs were to be "
            f"kept. Execute it: make build ONLY={source.name}"
        )
    for old, cell in zip(before, now, strict=True):
        cell.outputs, cell.execution_count = old.outputs, old.execution_count
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


def plan_rows(lectures: list[Source], exercises: list[Source], weeks: int) -> list[str]:
    """A table with a row a week: its lectures, their assignments, and the hours of both."""
    rows = ["| week | lectures | assignments | hours |", "|--:|---|---|--:|"]
    for week in range(weeks):
        read = lectures[week * len(lectures) // weeks : (week + 1) * len(lectures) // weeks]
        names = {source.name for source in read}
        answered = [source for source in exercises if source.course.get("lecture") in names]
        hours = sum(map(minutes_of, [*read, *answered])) / 60
        titles = (", ".join(map(numbered, sources)) for sources in (read, answered))
        rows.append(f"| {week + 1} | {' | '.join(titles)} | {hours:.1f} |")
    return rows


def numbered(source: Source) -> str:
    """What a title begins with, such as "Lecture 3"."""
    return source.title.partition(":")[0]


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
            "## A plan for a term",
            "",
            "Each lecture, without what goes deeper, takes about an hour. The hours are those of lectures and",
            "assignments together.",
            "",
            "With one lecture a week:",
            "",
            *plan_rows(lectures, exercises, 12),
            "",
            "With two lectures a week:",
            "",
            *plan_rows(lectures, exercises, 6),
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


def build(names: list[str], keep_outputs: bool = False) -> None:
    """Build the named notebooks, or all; always the course map and README's tables."""
    lecture = with_stored_outputs if keep_outputs else build_lecture
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
            write_notebook(lecture(source), ROOT / "lectures" / f"{source.name}.ipynb")
    for source in exercises:
        if source.name in wanted:
            print(f"assignment  {source.name}", flush=True)
            path = ROOT / "solutions" / source.name / f"{source.name}.ipynb"
            write_notebook(build_solution(source), path)
            release(source.name, ROOT, ROOT / "solutions", ROOT / "exercises")
    (ROOT / "course_map.md").write_text(course_map(lectures, exercises), encoding="utf-8")
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(readme_with_tables(text, lectures, exercises), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--keep-outputs", action="store_true")
    try:
        build(**vars(parser.parse_args()))
    except BuildError as error:
        sys.exit(f"build stopped: {error}")
