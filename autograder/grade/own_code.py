"""Two questions on a student's own code, after full points, with answers computed by running that code.

One asks which line makes the rows sum to one, and is answered by what each line of the function makes of a
small input that is drawn for the student. The other changes something in one line, such as `dim=-1` to
`dim=0`, and asks for a number that then comes out. Both run where the notebook ran. Code that gives no
question of the first kind gives two of the second.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.bounds import LONGEST_CODE
from autograder.checks.check import Part
from autograder.checks.course import course
from autograder.checks.reply import observations_in
from autograder.files import digest_of
from autograder.grade.grading import Kernel, NotebookStopped, graded_part
from autograder.grade.self_check import NotGradable, answered_by, check_notebook, own_grading
from autograder.probe.messages import CallRequest, Questions
from autograder.probe.wire import WireError, encode

NUMBER = 2  # questions for each student
MOST = 20  # changes that are looked at in a part
MOST_NUMBERS = 1_000  # of a result, so that one of them can be asked for
TRIES = 4  # inputs that are drawn, since on some of them no change shows
NEAR = 0.006  # an answer with two decimals
LARGE = 100  # numbers that nobody should have to work out
APART = 0.02  # how far a change must move the number that is asked for
OTHER_AXIS = {-1: 0, 1: 0, 0: 1, -2: -1, 2: 1}
OTHER_SIGN: dict[type[ast.operator], tuple[str, str]] = {
    ast.Div: ("/", "*"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
}


@dataclass(frozen=True)
class OwnQuestion:
    """A question on a student's own code.

    Attributes:
        text: what is asked, with the code.
        answer: the number that is right.
    """

    text: str
    answer: float

    def is_right(self, given: str) -> bool:
        """Whether a typed answer is right, to two decimals."""
        try:
            return abs(float(given.replace(",", ".")) - self.answer) <= NEAR
        except ValueError:
            return False


def questions_on(
    path: Path,
    student: str,
    assignment: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> list[OwnQuestion]:
    """The questions that a student is asked on a notebook; the same each time, others for another student.

    Raises:
        NotGradable: it cannot be graded, has not earned every point, or gives no question.
    """
    checked = check_notebook(path, assignment, tell)
    report = checked.report
    if not all(verdict.right for verdict in report.verdicts.values()):
        raise NotGradable(
            f"questions on one's own code come after full points, and {path} earned {report.earned:g} "
            f"of {report.of:g}. `python -m autograder check {path}` says what is missing."
        )
    taught = course()
    checks = taught.load(assignment or answered_by(checked.notebook, path.stem, taught))
    drawn = random.Random(digest_of(f"{student}\n{path.stem}"))
    with own_grading(checks, path.resolve().parent) as (grading, _):
        try:
            found = drawn_from(grading.kernel, checked.notebook, checks.parts, drawn)
        except NotebookStopped:
            raise NotGradable(f"{path} stopped when it was run a second time") from None
    if not found:
        raise NotGradable(f"no line of {path} gives a question that a number answers")
    return found


def drawn_from(
    kernel: Kernel, notebook: NotebookNode, parts: tuple[Part, ...], drawn: random.Random
) -> list[OwnQuestion]:
    """Run a notebook, and draw two of the questions that it gives: which line, and what a change does."""
    own = []
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and not graded_part(cell.source):
            kernel.run(deepcopy(cell), index)
            if len(cell.source) <= LONGEST_CODE:
                own.append(cell.source)
    by_line: list[OwnQuestion] = []
    by_change: list[OwnQuestion] = []
    for part in parts:
        source = _defined_in(own, part.name) if part.example else ""
        for _ in range(TRIES if source else 0):
            function = _Function(kernel, part, source, drawn)
            if found := list(function.changed()):
                by_line += function.first_line_with_rows_that_sum_to_one()
                by_change += found
                break
        if source:
            kernel.run(new_code_cell(source), 0)  # as it was, since later parts may call it
    drawn.shuffle(by_line)
    drawn.shuffle(by_change)
    return [*by_line[:1], *by_change][:NUMBER]


def _defined_in(cells: list[str], name: str) -> str:
    """The source of a function, where a notebook defines it last; empty where it does not."""
    for source in reversed(cells):
        try:
            statements = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # such as a line magic
            continue
        for statement in reversed(statements):
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return ast.get_source_segment(source, statement) or ""
    return ""


class _Function:
    """A function of a notebook, in the kernel that has run it.

    Args:
        kernel: where it can be defined anew and called.
        part: what it answers.
        source: as its author typed it.
        drawn: draws what it is called with.
    """

    def __init__(self, kernel: Kernel, part: Part, source: str, drawn: random.Random) -> None:
        self.kernel, self.part, self.source, self.drawn = kernel, part, source, drawn
        self.tree = _function_in(source)
        self.lines = _lines_of(source)
        self.given = {
            name: torch.tensor(drawn.choices((0, 1, 2), k=math.prod(shape))).reshape(shape)
            for name, shape in part.example.items()
        }

    def define(self, source: str) -> None:
        self.kernel.run(new_code_cell(source), 0)

    def call(self) -> Any:
        """What it returns for what was drawn; None where it raises or returns nothing plain."""
        arguments = [value.float() for value in self.given.values()]
        request = CallRequest(subject=self.part.name, arguments=arguments, names=[*self.given])
        try:
            (seen,) = observations_in(self.kernel.ask(encode(Questions(requests=[request]))), 1)
        except WireError:
            return None
        return seen.value if seen.status == "returned" else None

    def first_line_with_rows_that_sum_to_one(self) -> Iterator[OwnQuestion]:
        """The question which line makes the rows sum to one, if there are several lines to choose from."""
        try:
            traced = self._traced()
        except RecursionError:  # deeper than Python writes it out
            return
        if not traced:
            return
        self.define(traced)
        seen = self.call()
        numbers = range(1, len(self.lines) + 1)
        if not isinstance(seen, list) or len(seen) < 2:
            return
        # what comes back can be anything, whatever was noted
        lines = [
            each[0]
            for each in seen
            if isinstance(each, list | tuple) and len(each) == 2
            if type(each[0]) is int and each[0] in numbers
            if _rows_sum_to_one(each[1])
        ]
        if lines:
            listed = "\n".join(f"    {n:2}  {line}" for n, line in enumerate(self.lines, start=1))
            yield OwnQuestion(
                f"This is your `{self.part.name}`, with the numbers of its lines:\n\n{listed}\n\n"
                "After which line does a value exist for the first time whose rows sum to one? "
                "Answer with its number.",
                lines[0],
            )

    def _traced(self) -> str:
        """The function, returning copies of what each line assigns, with the number of the line.

        It is empty for a function that does anything else than assign and return, such as filling a tensor in a
        loop: there it is not one line that does it.
        """
        tree = _function_in(self.source)
        body: list[ast.stmt] = [*ast.parse("_seen = []").body]
        for statement in tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)]):
                    copied = f"getattr({name}, 'clone', lambda: None)()"
                    note = f"_seen.append(({statement.lineno}, {copied}))"
                    body += [statement, *ast.parse(note).body]
                case ast.Return(value=ast.expr() as value):
                    note = f"_seen.append(({statement.lineno}, {ast.unparse(value)}))\nreturn _seen"
                    body += ast.parse(note).body
                case ast.Expr(value=ast.Constant()):  # its docstring
                    pass
                case _:
                    return ""
        tree.body = body
        return ast.unparse(ast.fix_missing_locations(tree))

    def changed(self) -> Iterator[OwnQuestion]:
        """A question for each change that moves a number and raises nothing."""
        self.define(self.source)
        right = self.call()
        given = ", ".join(f"{name} = {value.tolist()}" for name, value in self.given.items())
        for change in islice(self._changes(), MOST):
            source = change.made_in(self.source)
            self.define(source)
            other = self.call()
            if places := _moved(right, other):
                place = self.drawn.choice(places)
                yield OwnQuestion(
                    f"Line {change.line} of your `{self.part.name}` is\n\n"
                    f"    {self.lines[change.line - 1].strip()}\n\nSomebody makes of it\n\n"
                    f"    {_lines_of(source)[change.line - 1].strip()}\n\n"
                    f"Which number is at {place} of the result then, for {given}? Give two decimals.",
                    round(other[tuple(place)].item(), 2),
                )

    def _changes(self) -> Iterator[Change]:
        """What can be written in another way."""
        loops = {
            each.target.id
            for each in ast.walk(self.tree)
            if isinstance(each, ast.For | ast.comprehension) and isinstance(each.target, ast.Name)
        }
        for node in ast.walk(self.tree):
            match node:
                case ast.Call(args=arguments, keywords=keywords):
                    for value in arguments:
                        if (axis := _whole(value)) in OTHER_AXIS:
                            yield Change.at(value, f"{axis}", f"{OTHER_AXIS[axis]}")
                    for each in keywords:
                        if (axis := _whole(each.value)) in OTHER_AXIS:
                            old, new = (f"{each.arg}={one}" for one in (axis, OTHER_AXIS[axis]))
                            yield Change.at(each, old, new)
                case ast.Subscript(slice=ast.Name(id=name) as index) if name in loops:
                    for other in sorted(loops - {name}):
                        yield Change.at(index, name, other)
                case ast.BinOp(op=operator) if type(operator) in OTHER_SIGN:
                    old, new = OTHER_SIGN[type(operator)]
                    yield Change.at(node.left, old, new, behind=True)


@dataclass(frozen=True)
class Change:
    """Something in a function that is written in another way.

    Attributes:
        line: on which it is, from 1.
        column: where it begins, or where what stands before it ends, in bytes.
        old, new: what is there, and what is put in its place.
    """

    line: int
    column: int
    old: str
    new: str

    @classmethod
    def at(cls, node: ast.expr | ast.keyword, old: str, new: str, behind: bool = False) -> Change:
        """A change of an expression, or of the sign behind it."""
        if behind:
            return cls(node.end_lineno or 1, node.end_col_offset or 0, old, new)
        return cls(node.lineno, node.col_offset, old, new)

    def made_in(self, source: str) -> str:
        """The source with the change."""
        lines = source.encode().splitlines(
            keepends=True
        )  # as Python's reader counts lines and places
        line = lines[self.line - 1]
        start, rest = line[: self.column], line[self.column :]
        lines[self.line - 1] = start + rest.replace(self.old.encode(), self.new.encode(), 1)
        return b"".join(lines).decode()


def _function_in(source: str) -> ast.FunctionDef:
    """The syntax tree of the function that a source defines."""
    [tree] = (each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef))
    return tree


def _lines_of(source: str) -> list[str]:
    """The lines that Python's reader finds; to it, other line ends than usual are letters."""
    return [line.decode() for line in source.encode().splitlines()]


def _whole(value: ast.expr) -> int | None:
    """The whole number that an expression is, such as -1."""
    try:
        number = ast.literal_eval(value)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None
    return number if type(number) is int else None


def _rows_sum_to_one(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or value.ndim < 2 or value.shape[-1] < 2:
        return False
    return bool(((value.double().sum(dim=-1) - 1).abs() < 1e-4).all())


def _moved(right: Any, other: Any) -> list[list[int]]:
    """The places at which a change shows in the second decimal; none where there is nothing to ask for."""
    if not isinstance(right, torch.Tensor) or not isinstance(other, torch.Tensor):
        return []
    if right.shape != other.shape or other.numel() > MOST_NUMBERS:
        return []
    if not (right.is_floating_point() and other.is_floating_point() and other.isfinite().all()):
        return []
    return (((right - other).abs() > APART) & (other.abs() < LARGE)).nonzero().tolist()
