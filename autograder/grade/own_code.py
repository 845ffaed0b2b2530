"""Two questions on a student's own code, after full points, with answers computed by running that code.

One asks after which line something is there, such as rows that sum to one, and is answered by what each line
makes of a small input that is drawn for the student. The other changes something in one line, such as `dim=-1`
to `dim=0`, and asks for a number that then comes out. Both run where the notebook ran, and show a cell with
which the student can run them, too. Code that gives no question of the first kind gives two of the second.
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

import numpy as np
from msgspec import structs
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.arrays import as_numpy, dtype_name, is_array, is_tensor, pytorch
from autograder.bounds import LONGEST_ASKED_ABOUT, LONGEST_CODE
from autograder.checks.cases import Case
from autograder.checks.check import Part
from autograder.checks.course import course
from autograder.checks.drawn_cases import request_of
from autograder.checks.notebook_source import UNREADABLE, written_out
from autograder.checks.reply import observations_in
from autograder.files import digest_of
from autograder.grade.code_changes import changes_in, lines_of
from autograder.grade.grading import Kernel, NotebookStopped, graded_part
from autograder.grade.self_check import NotGradable, answered_by, check_notebook, own_grading
from autograder.probe.messages import AnyRequest, CallRequest, ModuleRequest, Questions
from autograder.probe.wire import WireError, encode

NUMBER = 2  # questions for each student
MOST = 60  # changes that are tried in a part
MOST_NUMBERS = 1_000  # of a result, so that one of them can be asked for
TRIES = 3  # inputs that are drawn, since on some of them a change does not show
NEAR = 0.006  # an answer with two decimals
LARGE = 100  # numbers that nobody should have to work out
APART = 0.02  # how far a change must move the number that is asked for
# what notes, where the notebook ran, the tensors that there are after a line
NOTES = """
import numpy as _numpy, sys as _sys
_seen = []
def _note(line, values):
    values = [one for each in values for one in (each if isinstance(each, (tuple, list)) else [each])]
    torch, kinds = _sys.modules.get("torch"), (_numpy.ndarray,)
    if torch:
        kinds = (torch.Tensor, _numpy.ndarray)
        values += [one for each in values if isinstance(each, torch.nn.Module) for one in vars(each).values()]
    arrays = [each for each in values if isinstance(each, kinds)]
    _seen.append((line, [_numpy.array(getattr(each, "detach", lambda each=each: each)()) for each in arrays]))
def _noted():
    noted = [*_seen]
    _seen.clear()
    return noted
"""
NOTED = CallRequest(subject="_noted", arguments=[], names=[])


@dataclass(frozen=True)
class OwnQuestion:
    """A question on a student's own code, with that code, and the number that is right."""

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
    if not any(part.example for part in checks.parts):
        raise NotGradable(f"there are no questions on one's own code for {checks.name}")
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
    """Run a notebook, and draw two of the questions that it gives: after which line, and what a change does."""
    own = []
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and not graded_part(cell.source):
            kernel.run(deepcopy(cell), index)
            if len(cell.source) <= LONGEST_CODE:
                own.append(cell.source)
    by_line: list[OwnQuestion] = []
    by_change: list[list[OwnQuestion]] = []
    for part in parts:
        source = _defined_in(own, part.name)
        if part.example and 0 < len(source) <= LONGEST_ASKED_ABOUT:
            code = _OwnCode(kernel, part, part.example, source, drawn)
            by_line += code.after_which_line()
            by_change.append([*islice(code.changed(), NUMBER)])
            kernel.run(new_code_cell(source), 0)  # as it was, since later parts may call it
    drawn.shuffle(by_line)
    drawn.shuffle(by_change)
    on_each_part = [one for n in range(NUMBER) for found in by_change for one in found[n : n + 1]]
    return [*by_line[:1], *on_each_part][:NUMBER]


def _defined_in(cells: list[str], name: str) -> str:
    """The source of a function or class, with what it calls of the same notebook; empty where it is not defined."""
    defined: dict[str, str] = {}
    for source in cells:
        try:
            statements = ast.parse(source).body
        except (SyntaxError, *UNREADABLE):  # such as a line magic
            continue
        lines = lines_of(source)
        for one in statements:
            if isinstance(one, ast.FunctionDef | ast.ClassDef):
                start = min(each.lineno for each in (one, *one.decorator_list))
                defined.pop(one.name, None)  # the last definition counts, at its place
                # that it goes on in an empty line makes no sense where nothing follows
                defined[one.name] = "\n".join(lines[start - 1 : one.end_lineno]).rstrip("\\")
    wanted, found = [name], {name}
    while wanted:
        this = wanted.pop()
        try:
            tree = ast.parse(defined.get(this, ""))
        except (SyntaxError, *UNREADABLE):  # a decorator that begins on a line above its name
            del defined[this]
            continue
        nodes = [*ast.walk(tree)]
        own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        names = {node.id for node in nodes if isinstance(node, ast.Name)} & {*defined} - own - found
        wanted += names
        found |= names
    return "\n\n".join(defined[each] for each in defined if each in found and name in defined)


class _OwnCode:
    """A function or class of a notebook, in the kernel that has run it.

    Args:
        kernel: where it can be defined anew and called.
        part: what it answers.
        example: draws what it is called with.
        source: as its author typed it, with what it calls.
        drawn: draws all else.
    """

    def __init__(
        self, kernel: Kernel, part: Part, example: Case, source: str, drawn: random.Random
    ) -> None:
        self.kernel, self.part, self.example, self.drawn = kernel, part, example, drawn
        self.source, self.lines = source, lines_of(source)
        self.requests = [self._request() for _ in range(TRIES)]
        self.defined: list[tuple[int, int, str]] = []  # each first and last line, and the name
        for node in ast.walk(ast.parse(source)):
            for one in ast.iter_child_nodes(node):
                if isinstance(one, ast.FunctionDef | ast.ClassDef):
                    name = f"{node.name}.{one.name}" if isinstance(node, ast.ClassDef) else one.name
                    start = min(each.lineno for each in (one, *one.decorator_list))
                    self.defined.append((start, one.end_lineno or 0, name))

    def after_which_line(self) -> Iterator[OwnQuestion]:
        """The question after which line something is there, if there are several lines to choose from."""
        asked = [one for each in self.requests for one in (each, NOTED)]
        filled = self.source.replace("empty", "zeros")  # nobody knows what is there before
        noting = _noting(filled)
        if not noting:
            return
        noted = [self._plain(each) for each in self._results(noting, asked)[1::2]]
        if not noted or not all(noted) or len({line for line, _ in noted[0]} - {0}) < 2:
            return
        for what, has in self.drawn.sample([*PROPERTIES.items()], len(PROPERTIES)):
            first = {}  # by line, one of the cells in which it is that one
            for request, seen in zip(self.requests, noted, strict=True):
                line = next((line for line, values in seen if any(map(has, values))), None)
                if line != 0:  # else what is handed over has it
                    first[line] = self._cell(request)
            ((line, cell), *others) = first.items() or [(None, "")]
            if line and not others:
                listed = "\n".join(f"    {n:2}  {each}" for n, each in enumerate(self.lines, 1))
                yield OwnQuestion(
                    f"This is your code of `{self.part.name}`, with the numbers of its lines:\n\n{listed}\n\n"
                    f"This cell calls it:\n\n{cell}\n\nAfter which line is there, for the first time, a variable "
                    f"or a value of a `return` {what}? Answer with the number of the line, or of the first one where "
                    "it goes on over several.",
                    line,
                )
                return

    def changed(self) -> Iterator[OwnQuestion]:
        """A question for each change that moves a number and raises nothing."""
        right = self._results(self.source, self.requests)
        changes = changes_in(self.source)
        for change in self.drawn.sample(changes, min(MOST, len(changes))):
            line, new = change.line, change.made_in(self.lines[change.line - 1])
            found = self._certain("\n".join([*self.lines[: line - 1], new, *self.lines[line:]]))
            for request, was, other in zip(self.requests, right, found, strict=False):
                if moved := _moved(was, other):
                    what, answer = self.drawn.choice(moved)
                    start, _, name = max(one for one in self.defined if one[0] <= line <= one[1])
                    yield OwnQuestion(
                        f"Line {line - start + 1} of your `{name}` is\n\n"
                        f"    {self.lines[line - 1].strip()}\n\nSomebody makes of it\n\n    {new.strip()}\n\n"
                        f"{what} then, after this cell?\n\n{self._cell(request)}",
                        answer,
                    )
                    break

    def _plain(self, noted: Any) -> list[tuple[int, list[Any]]]:
        """What was noted, each line with its arrays; whatever else comes back is left out."""
        listed = noted if isinstance(noted, list) else []
        pairs = (each for each in listed if isinstance(each, tuple) and len(each) == 2)
        return [
            (line, values)
            for line, values in pairs
            if type(line) is int and 0 <= line <= len(self.lines) and isinstance(values, list)
        ]

    def _request(self) -> AnyRequest:
        """The example, with whole numbers, and with the weights that a seed gives a new module."""
        request = request_of(self.part, self.example, self.drawn.getrandbits(31))
        arguments, seed = [*map(self._small, request.arguments)], self.drawn.randrange(100)
        if isinstance(request, ModuleRequest):
            return structs.replace(request, arguments=arguments, seed=seed, state={})
        return structs.replace(request, arguments=arguments, seed=seed)

    def _small(self, value: Any) -> Any:
        """Whole numbers in place of others, such that no row sums to one, which is asked about."""
        if not is_array(value) or "float" not in dtype_name(value):
            return value
        while True:
            small = self.drawn.choices((0.0, 1.0, 2.0), k=math.prod(value.shape))
            found = np.array(small).reshape(value.shape)
            if found.shape[-1] == 1 or not (found.sum(-1) == 1).any():
                return found if isinstance(value, np.ndarray) else pytorch().tensor(found).float()

    def _results(self, source: str, requests: list[AnyRequest]) -> list[Any]:
        """What comes of each request with this source; None where it raises or returns nothing plain."""
        self.kernel.run(new_code_cell(source), 0)
        try:
            answers = self.kernel.ask(encode(Questions(requests=requests)))
            seen = observations_in(answers, len(requests))
        except WireError:
            return []
        return [one.value if one.status == "returned" else None for one in seen]

    def _certain(self, source: str) -> list[Any]:
        """What comes of the requests; None where it depends on memory that nobody has filled."""
        if "empty" not in source:
            return self._results(source, self.requests)
        filled = (source.replace("empty", by) for by in ("zeros", "ones"))
        pairs = zip(*(self._results(each, self.requests) for each in filled), strict=False)
        return [None if _moved(one, other) else one for one, other in pairs]

    def _cell(self, request: AnyRequest) -> str:
        """A cell that does what is asked, for the student to run."""
        of_module, call = isinstance(request, ModuleRequest), self.part.name
        lines = [f"torch.manual_seed({request.seed})"] if of_module or self.example.random else []
        if isinstance(request, ModuleRequest):
            made = [*map(repr, request.construct)]
            made += [f"{name}={value!r}" for name, value in request.keywords.items()]
            lines.append(f"module = {call}({', '.join(made)}).eval()")
            call = "module" if request.method == "forward" else f"module.{request.method}"
        pairs = zip(request.names, request.arguments, strict=True)
        given = [f"    {_written(value)},  # {name}" for name, value in pairs]
        lines += [f"result = {call}(", *given, ")"]
        return "\n".join(f"    {line}" for line in lines)


def _noting(source: str) -> str:
    """The source, noting after each line which tensors there are, and as line 0 what is handed over.

    Empty where Python does not write it out.
    """
    tree = ast.parse(source)
    for node in [*ast.walk(tree)]:
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if body and isinstance(body, list) and not isinstance(node, ast.Module | ast.ClassDef):
                is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                noted = _note(0 if is_function else getattr(node, "lineno", body[0].lineno))
                for one in body:
                    if isinstance(one, ast.Return) and one.value:
                        result: list[ast.expr] = [ast.Name("_result", ast.Store())]
                        noted.append(ast.Assign(result, one.value, lineno=one.lineno))
                        one.value = ast.Name("_result", ast.Load())
                        noted += [*_note(one.lineno), one]
                    else:
                        noted += [one, *_note(one.lineno)]
                setattr(node, name, noted)
    text = written_out(tree)
    return NOTES + text if text else ""


def _note(line: int) -> list[ast.stmt]:
    return ast.parse(f"_note({line}, locals().values())").body


def _written(value: Any) -> str:
    """A value as Python writes it."""
    if is_tensor(value):
        return f"torch.tensor({value.tolist()})"
    return f"np.array({value.tolist()})" if isinstance(value, np.ndarray) else repr(value)


def _has_rows(value: Any) -> bool:
    numbers = isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 0
    return numbers and value.ndim > 0 and value.shape[-1] > 1


def _all_are(found: np.ndarray, number: float) -> bool:
    return bool((abs(found - number) < 1e-4).all())


PROPERTIES: dict[str, Callable[[Any], bool]] = {
    "with rows that sum to one": lambda value: _has_rows(value) and _all_are(value.sum(-1), 1),
    "with rows whose mean is 0": lambda value: (
        _has_rows(value) and _all_are(value.mean(-1), 0) and not _all_are(value, 0)
    ),
    "with numbers below -1000, such as minus infinity": lambda value: (
        _has_rows(value) and bool((value < -1000).any())
    ),
    "with four axes": lambda value: isinstance(value, np.ndarray) and value.ndim == 4,
}


def _moved(right: Any, other: Any, place: str = "result") -> list[tuple[str, float]]:
    """What can be asked about a result that a change has moved, and the answers."""
    if isinstance(right, tuple | list) and isinstance(other, tuple | list):
        pairs = enumerate(zip(right, other, strict=False))
        return [each for n, pair in pairs for each in _moved(*pair, f"{place}[{n}]")]
    if not all(map(is_array, (right, other))):
        return []
    was, now = as_numpy(right), as_numpy(other)
    if now.size > MOST_NUMBERS:
        return []
    what = "Which number (to two decimals) is"
    if now.dtype == was.dtype == bool and now.ndim:
        what, was, now = "How many entries are True in", was.sum(axis=-1), now.sum(axis=-1)
    most = LARGE if now.dtype.kind == "f" else math.inf
    was, now = was.astype(np.float64), now.astype(np.float64)
    with np.errstate(all="ignore"):
        far = np.abs(was - now) > APART if was.shape == now.shape else np.ones(now.shape, bool)
    return [
        (f"{what} `{place}{index or ''}`", round(now[tuple(index)].item(), 2))
        for index in np.argwhere(far & np.isfinite(now).all() & (np.abs(now) < most)).tolist()
    ]
