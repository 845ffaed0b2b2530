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
from course_map import course_map, readme_with_tables
from links import dead_links
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


def refuse_dead_links(names: list[str]) -> None:
    """Look where the links of the named notebooks lead, or of all.

    Raises:
        BuildError: one leads nowhere.
    """
    for folder in ("lectures", "solutions/*", "exercises/*"):
        for page in sorted(ROOT.glob(f"{folder}/*.ipynb")):
            dead = dead_links(page) if not names or page.stem in names else []
            if dead:
                raise BuildError(
                    f"{page.relative_to(ROOT)} links to {', '.join(dead)}, and there is no such file or "
                    "heading. Mend the link in its source, and build again."
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--keep-outputs", action="store_true")
    try:
        options = parser.parse_args()
        build(**vars(options))
        refuse_dead_links(options.names)
    except BuildError as error:
        sys.exit(f"build stopped: {error}")
