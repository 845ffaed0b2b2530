"""In an exercise, four short cell tags stand for nbgrader's metadata.

    # %% solution="name"            the cell a student fills in; it defines `name`
    # %% test="name"                visible tests: locked, no points
    # %% check="name"               earns the points; its text and points come from its rubric
    # %% [markdown] written="name" points=2      a written answer, graded by hand

They are read here, and refused in words where they cannot work. What a solution hands out in its own
place stands in its cell, see `autograder.release.handed_out`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.checks.check import Assignment, Part
from autograder.checks.course import course, known, load
from autograder.release.handed_out import hands_out, is_well_marked, with_what_is_handed_out

KINDS = ("solution", "test", "check", "written")
GRADED = ("check", "written")
SET_UP = "set_up_"  # how the grade_id begins of the cell that brings `check`; by it an assignment is known, too
COME_BEFORE = {"test": ("solution",), "check": ("solution", "test")}
CHECK_CELL = """\
# Here the {points:g} points for `{part}` are decided when your notebook is graded.
### BEGIN HIDDEN TESTS
from autograder.cell import grade

grade("{assignment}", "{part}")
### END HIDDEN TESTS"""

SET_UP_CELL = '''\
# Run this cell, and `check("…")` below each answer says what is right about it, what is not, and why.
try:
    from autograder.cell import checker

    check = checker("{assignment}")
except ImportError:

    def check(part=""):
        """Run the example of a part: the course's checks are not here."""
        if part:
            globals()[f"test_{{part}}"]()
            print(f"✓ the example of {{part}} (the course's checks, which look at more, are not here)")'''


class BuildError(Exception):
    """A source that cannot be built; the message names the file, the cell and the remedy."""


@dataclass(frozen=True)
class TaggedCell:
    """A cell that carried one of the four tags, which is no longer in its metadata."""

    cell: NotebookNode
    kind: str
    name: str
    where: str

    @property
    def grade_id(self) -> str:
        return f"{self.kind}_{self.name}" if self.kind in ("test", "check") else self.name


def checks_of(assignment: str) -> Assignment:
    """The checks of an assignment; where there are none, say which file is missing, and what for."""
    folder = f"{course().package.replace('.', '/')}/{assignment}"
    file = f"{folder}/__init__.py"
    if assignment not in known():
        raise BuildError(
            f"{folder}/notebook.py: its points are decided by {file}, and there is no "
            "such file. Make it, and beside it a rubric: a Part with its steps for every function "
            f'or class that students write, and ASSIGNMENT = Assignment("{assignment}", parts=(…,)). '
            "docs/authors.md has a whole one, with the answers that test it."
        )
    try:
        checks = load(assignment)
    except AttributeError as error:
        if "ASSIGNMENT" not in str(error):
            raise
        raise BuildError(
            f'{file} has no ASSIGNMENT. End it with ASSIGNMENT = Assignment("{assignment}", '
            "parts=(…,))."
        ) from None
    if checks.name != assignment:
        raise BuildError(
            f"{file}: its ASSIGNMENT is called '{checks.name}'. Call it '{assignment}', as the folder."
        )
    return checks


def add_nbgrader_metadata(notebook: NotebookNode, file: str, checks: Assignment) -> None:
    """Turn the short tags into nbgrader's metadata; refuse what nbgrader would only stumble over."""
    parts = {part.name: part for part in checks.parts}
    tagged = list(tagged_cells(notebook, file))
    refuse_wrong_order(tagged)
    refuse_repeated_ids(tagged)
    for item in tagged:
        add_metadata(item, checks.name, parts)
    refuse_missing_cells(tagged, file, checks)
    add_set_up(notebook, tagged, checks.name)
    hold_tables_to_points(notebook, file, tagged)


def tagged_cells(notebook: NotebookNode, file: str) -> Iterator[TaggedCell]:
    """Take the tags out of the cells' metadata, in the order of the notebook."""
    for number, cell in enumerate(notebook.cells, start=1):
        kinds = [kind for kind in KINDS if kind in cell.metadata]
        where = f"{file}, cell {number}"
        if len(kinds) > 1:
            raise BuildError(
                f"{where}: tags {' and '.join(kinds)} on one cell. Use one tag a cell."
            )
        for kind in kinds:
            yield TaggedCell(cell, kind, cell.metadata.pop(kind), where)


def refuse_wrong_order(tagged: list[TaggedCell]) -> None:
    """A test that stands before its solution could never pass, and points come last."""
    there = {(item.kind, item.name) for item in tagged}
    solutions = [f"'{item.name}'" for item in tagged if item.kind == "solution"]
    seen: set[tuple[str, str]] = set()
    for item in tagged:
        for needed in COME_BEFORE.get(item.kind, ()):
            if needed == "solution" and (needed, item.name) not in there:
                raise BuildError(
                    f"{item.where}: the {item.kind} of '{item.name}' belongs to no solution. The notebook has "
                    f"{', '.join(solutions) or 'none'}. Give it the name of its solution."
                )
            if (needed, item.name) in there - seen:
                raise BuildError(
                    f"{item.where}: the {item.kind} of '{item.name}' stands before its {needed}, "
                    f'so it could never pass. Move it below the cell tagged {needed}="{item.name}".'
                )
        seen.add((item.kind, item.name))


def refuse_repeated_ids(tagged: list[TaggedCell]) -> None:
    """nbgrader keeps one grade per id."""
    seen: dict[str, str] = {}
    for item in tagged:
        if item.grade_id in seen:
            raise BuildError(
                f"{item.where}: the grade_id '{item.grade_id}' stands already in "
                f"{seen[item.grade_id]}. nbgrader keeps one grade per id, so each must be unique: "
                "rename one of the two."
            )
        seen[item.grade_id] = item.where


def add_set_up(notebook: NotebookNode, tagged: list[TaggedCell], assignment: str) -> None:
    """Put the cell that brings `check` below the first cell of code, in which authors import what parts need."""
    code = (number for number, cell in enumerate(notebook.cells) if cell.cell_type == "code")
    first = next(code, 0)
    is_answer = any(item.cell is notebook.cells[first] for item in tagged)
    cell = new_code_cell(SET_UP_CELL.format(assignment=assignment))
    cell.metadata["nbgrader"] = NotebookNode(
        grade=False,
        grade_id=f"{SET_UP}{assignment}",
        locked=True,
        schema_version=3,
        solution=False,
        task=False,
    )
    notebook.cells.insert(first if is_answer else first + 1, cell)


def refuse_missing_cells(tagged: list[TaggedCell], file: str, checks: Assignment) -> None:
    """Every part of the checks has its three cells."""
    there = {item.grade_id for item in tagged}
    for part in checks.parts:
        for grade_id in (part.name, f"test_{part.name}", f"check_{part.name}"):
            if grade_id not in there:
                raise BuildError(
                    f"{file}: no cell '{grade_id}', though the rubric of {checks.name} has "
                    f"the part '{part.name}'. A part needs a solution, a test and a check cell, in "
                    "this order."
                )


def add_metadata(item: TaggedCell, assignment: str, parts: dict[str, Part]) -> None:
    """Give one cell what nbgrader wants to know about it, and a check cell its text."""
    marks = NotebookNode(
        grade=item.kind != "solution",
        grade_id=item.grade_id,
        locked=item.kind in ("test", "check"),
        points=0.0,
        schema_version=3,
        solution=item.kind in ("solution", "written"),
        task=False,
    )
    if item.kind == "solution":
        refuse_unfit_solution(item)
        del marks["points"]
    elif item.kind == "check":
        marks.points = check_points(item, assignment, parts)
        item.cell.source = CHECK_CELL.format(
            points=marks.points, assignment=assignment, part=item.name
        )
    elif item.kind == "written":
        marks.points = written_points(item)
    item.cell.metadata["nbgrader"] = marks


def check_points(item: TaggedCell, assignment: str, parts: dict[str, Part]) -> float:
    """What the part is worth that a check cell stands for."""
    if item.name not in parts:
        raise BuildError(
            f"{item.where}: the rubric of {assignment} has no part '{item.name}' (it has "
            f"{', '.join(parts)}). Add the part or mend the tag."
        )
    return parts[item.name].points


def names_defined(source: str) -> set[str]:
    """Names that a cell defines at its top level."""
    return {
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def refuse_unfit_solution(item: TaggedCell) -> None:
    """It defines what its tag says, and marks what the release leaves out."""
    if item.name not in names_defined(item.cell.source):
        raise BuildError(
            f'{item.where}: the cell tagged solution="{item.name}" does not define '
            f"'{item.name}'. Name the tag after the function or class that students write."
        )
    if not all(f"### {end} SOLUTION" in item.cell.source for end in ("BEGIN", "END")):
        raise BuildError(
            f"{item.where}: the solution of '{item.name}' has no '### BEGIN SOLUTION' … "
            "'### END SOLUTION' lines, so the release would lose the signature and the docstring "
            "with it."
        )
    if hands_out(item.cell.source):
        refuse_unfit_to_hand_out(item)


def refuse_unfit_to_hand_out(item: TaggedCell) -> None:
    """What is handed out in a solution's place is marked, and is Python that defines the same name."""
    if not is_well_marked(item.cell.source):
        raise BuildError(
            f"{item.where}: what the solution of '{item.name}' hands out is not marked as it should be. "
            "Put it between '### BEGIN HANDED OUT' and '### END HANDED OUT', once in a solution and "
            "above its '### END SOLUTION', with every line of it a comment."
        )
    given = with_what_is_handed_out(item.cell.source)
    try:
        names = names_defined(given)
    except SyntaxError as error:
        raise BuildError(
            f"{item.where}: Python cannot read what is handed out in the place of '{item.name}': "
            f"{error.msg}, in line {error.lineno}, `{(error.text or '').strip()}`. Students could not "
            "run the cell as they get it."
        ) from None
    if item.name not in names:
        raise BuildError(
            f"{item.where}: what is handed out in the place of '{item.name}' does not define it. Hand "
            "it out under its own name, under which it will be graded."
        )


def written_points(item: TaggedCell) -> float:
    points = item.cell.metadata.pop("points", None)
    if item.cell.cell_type != "markdown" or not isinstance(points, int | float) or points <= 0:
        raise BuildError(
            f"{item.where}: a written answer is a markdown cell that says its points, "
            '# %% [markdown] written="name" points=2. All its text is taken out of the release: ask '
            "the question in a cell above, and let this one hold an answer and what earns points."
        )
    return float(points)


def hold_tables_to_points(notebook: NotebookNode, file: str, tagged: list[TaggedCell]) -> None:
    """A table with the column "points" has a row for each graded part, in order, and tells the truth.

    A row names its part in `code style`, but for a written answer.
    """
    graded = [item for item in tagged if item.kind in GRADED]
    worth = [(item.name, item.cell.metadata.nbgrader.points) for item in graded]
    for cell in notebook.cells:
        rows = points_table(cell) if cell.cell_type == "markdown" else []
        # a row without a name is held to its points alone
        named = [
            (name or own, points) for (name, points), (own, _) in zip(rows, worth, strict=False)
        ]
        if rows and (len(rows) != len(worth) or named != worth):
            raise BuildError(
                f"{file}: a table says {in_words(rows)}, and the checks and written questions give "
                f"{in_words(worth)}. Mend the table, or the points."
            )


def points_table(cell: NotebookNode) -> list[tuple[str, float]]:
    """The rows of a cell's table that has a column "points": (name or "", points)."""
    rows: list[tuple[str, float]] = []
    column = None
    for line in cell.source.splitlines():
        cells = [text.strip() for text in line.strip().strip("|").split("|")]
        if column is None:
            column = cells.index("points") if "points" in cells else None
        elif not line.startswith("|"):
            break
        elif column < len(cells) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", cells[column]):
            name = re.search(r"`(\w+)`", line)
            rows.append((name.group(1) if name else "", float(cells[column])))
    return rows


def in_words(rows: list[tuple[str, float]]) -> str:
    return ", ".join(f"{points:g} for {name or 'a part'}" for name, points in rows) or "none"
