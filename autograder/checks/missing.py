"""Say why there is no answer to decide: not written yet, not defined, or never reached.

PyTorch raises `NotImplementedError` as well, where a module has no `forward` or an operation no
such dtype, so only the line that is released with the text counts as "not answered". Where more than
such a line is handed out, as code that is to be repaired, the code itself is compared.
"""

from __future__ import annotations

import ast
import copy
import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.checks.notebook_source import Definitions, as_python, statements_of, written_out
from autograder.probe.messages import ErrorSeen

Definition = ast.FunctionDef | ast.ClassDef
# what later versions of Python take: how such a line, or the error over it, begins, and what to write instead
LATER_PYTHON = (
    (
        (3, 12),
        "f-string",
        "the quotes inside the braces of an f-string have to be other ones than those around it",
    ),
    ((3, 12), r"(async\s+)?(def|class)\s+\w+\s*\[", "no brackets stand behind the name"),
    ((3, 12), r"type\s+\w+.*=", "a name for a type is given without the word `type`"),
    ((3, 14), r"except\s+[\w.]+\s*,", "several errors stand in parentheses"),
)
NO_PACKAGE = ("ImportError", "ModuleNotFoundError")
KEEPING = ("capture", "prun", "time")  # magics of cells that run them where the notebook runs


def is_unanswered(error: ErrorSeen) -> bool:
    """Whether an error is that of a line which says that something is not answered yet."""
    return error.type == "NotImplementedError" and (
        error.line.lstrip().startswith("raise") or error.message in ("", "not answered yet")
    )


def is_as_handed_out(name: str, cells: Sequence[str], handed_out: str) -> bool:
    """Whether a name stands for what was handed out under it, whatever it computes.

    Comments, docstrings, blank lines and the form of the code do not count.

    Args:
        handed_out: source of the cell in which the name was handed out; empty if that is not known.
    """
    given = next(_definitions(name, handed_out), None)
    bound = Definitions.of(tuple(cells)).statements.get(name, [])
    return given is not None and bool(bound) and _code_of(bound[-1].node) == _code_of(given)


def _code_of(statement: ast.stmt) -> str:
    """What a statement does, without what it says of itself; empty where it is too deep to be read."""
    try:
        bare = copy.deepcopy(statement)
        for node in ast.walk(bare):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and _is_docstring(node.body[0]):
                del node.body[0]
        return ast.dump(bare)
    except (RecursionError, MemoryError):
        return ""


@dataclass(frozen=True)
class StoppedCell:
    """A cell that an error has stopped.

    Attributes:
        source: of the cell.
        error: the error in one line.
        line: the line of the cell in which it arose; empty if that is not known.
    """

    source: str
    error: str
    line: str

    @property
    def kind(self) -> str:
        return self.error.partition(":")[0]

    @property
    def told(self) -> str:
        """Where it stopped, and with what."""
        where = f"in the line `{self.line}`" if self.line else "on the way"
        return f"{where}, with {self.error}"


@dataclass(frozen=True)
class Surroundings:
    """What stands around the answers, for what is to be said of a name that is not there.

    Attributes:
        stopped: cells so far that an error has stopped.
        texts: source of the cells that are no code.
        below: source of the code cells that come later.
        courses: source of the code cells so far that are the course's own.
        parts: names of the assignment's parts, each with a cell of its own.
        gone: the cell that was handed out for the answer is not there.
        heading: below which it stood; empty if that is not known.
    """

    stopped: tuple[StoppedCell, ...] = ()
    texts: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    courses: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    gone: bool = False
    heading: str = ""


NOTHING_AROUND = Surroundings()


def why_missing(name: str, cells: Sequence[str], around: Surroundings = NOTHING_AROUND) -> str:
    """Why a name is not there after the notebook ran, as far as its source tells."""
    defines = re.compile(
        rf"^[^#\n]*\b(def|class)\s+{name}\b|^{name}\s*(:[^=\n]+)?=(?!=)", re.MULTILINE
    )
    for cell in filter(defines.search, cells):
        magic = re.match(r"\s*(%%(\w+).*)", cell)
        if magic and magic[2] not in KEEPING:
            return (
                f"No `{name}`: its cell begins with `{magic[1].strip()}`, and nothing that is defined "
                "below such a line is kept. Take that line out."
            )
        try:
            ast.parse(as_python(cell))
        except SyntaxError as error:
            return _typing_error(name, error)
        except (ValueError, RecursionError, MemoryError) as error:
            return f"No `{name}`: Python cannot read its cell ({type(error).__name__}). Is it too long?"
        stopped = next((one for one in around.stopped if one.source == cell), None)
        if stopped is None and re.search(rf"^{name}\s*=\s*(None|\.\.\.)\s*$", cell, re.MULTILINE):
            return f"No `{name}`: its cell gives the name to nothing that could be called."
        if stopped is None:
            return f"No `{name}`: its cell stopped with an error before the definition was done."
        return f"No `{name}`: its cell stopped before the definition was done, {stopped.told}. {_what_to_do(stopped)}"
    if any(map(defines.search, around.texts)):
        return (
            f"No `{name}`: it stands in a cell of text, which does not run. Make it a cell of code: select "
            "it, press Esc and then Y, and run it."
        )
    if any(map(defines.search, around.below)):
        return (
            f"No `{name}`: the cell that defines it stands below the place where it is asked for. Move it "
            "up to where the text has it, and run the notebook from top to bottom."
        )
    commented_out = re.compile(rf"^[^\S\n]*#.*\b(def|class)\s+{name}\b", re.MULTILINE)
    if any(map(commented_out.search, cells)):
        return f"No `{name}`: its definition is commented out. Take the `#` away before each line."
    bodies = (statements_of(cell) for cell in cells if cell not in around.courses)
    others = [one.name for body in bodies for one in body if isinstance(one, Definition)]
    others = [other for other in others if other not in around.parts]
    alike = difflib.get_close_matches(name, others, n=1, cutoff=0.8)
    if alike:
        return f"No `{name}`: no cell defines it, but one defines `{alike[0]}`. Is the name meant to be `{name}`?"
    if around.gone:
        below = f", below “{around.heading}”" if around.heading else ""
        return (
            f"No `{name}`: its cell is not there. It stood above its test{below}. Put what you wrote there, or take "
            "the cell from the notebook as you got it."
        )
    return f"No `{name}`: no cell defines it. Was the cell deleted, or the name changed?"


def _typing_error(name: str, error: SyntaxError) -> str:
    line = (error.text or "").strip()
    if re.match(r"(<<<<<<<|=======|>>>>>>>)( |$)", line):
        return (
            f"No `{name}`: line {error.lineno} of its cell, `{line}`, is a mark that merging two versions "
            "has left. Keep one of the two versions, and delete the marks."
        )
    if line.startswith("```"):
        return (
            f"No `{name}`: line {error.lineno} of its cell consists of backquotes, which came along when the "
            "code was copied from a chat or a page. Delete each line that begins with them."
        )
    told = (
        f"No `{name}`: its cell has a typing error, so none of it ran. Line {error.lineno}, "
        f"`{line}`: {error.msg}."
    )
    for version, begins, how in LATER_PYTHON:
        if sys.version_info < version and (re.match(begins, line) or re.match(begins, error.msg)):
            here = f"{sys.version_info.major}.{sys.version_info.minor}"
            told += (
                f" Python {version[0]}.{version[1]} may take this line, but this is graded with Python {here}, "
                f"where {how}."
            )
            break
    if "non-printable character" in error.msg or re.search("character '[“”„‘’‚]'", error.msg):
        told += (
            " It came along when the line was copied: delete what stands there, and type it anew."
        )
    return told


def _what_to_do(stopped: StoppedCell) -> str:
    if stopped.kind == "NotImplementedError" and stopped.line.startswith("raise"):
        return "That line was handed out with the cell. Delete it, and the definition below it will count."
    if stopped.kind in NO_PACKAGE:
        return "That package is not there where this is graded. Can you do without it?"
    return "Mend that line, or move it into a cell of its own below your answer."


def why_not_there(name: str, around: Surroundings) -> str:
    """Why a name that an answer uses is not defined; empty if nothing in the notebook tells, or there is no name."""
    for stopped in around.stopped if name else ():
        body = statements_of(stopped.source)
        binding = next((one for one in body if name in _bound_by(one)), None)
        if binding is None:
            continue
        first = written_out(binding).partition("\n")[0]
        if not first:
            continue
        if isinstance(binding, ast.Import | ast.ImportFrom) and stopped.kind in NO_PACKAGE:
            return (
                f"`{name}` is not there, because `{first}` stopped with {stopped.error}. That package is "
                "not there where this is graded. Can you do without it?"
            )
        return f"`{name}` is not there, because the cell with `{first}` stopped before it, {stopped.told}."
    return ""


def _bound_by(statement: ast.stmt) -> set[str]:
    if isinstance(statement, Definition):
        return {statement.name}
    names = {
        alias.asname or alias.name.partition(".")[0]
        for alias in getattr(statement, "names", [])
        if isinstance(alias, ast.alias)
    }
    return names | {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def why_unanswered(name: str, cells: Sequence[str], untouched: bool = False) -> str:
    """What to say of a part that is not answered, or whose code is as it was handed out."""
    definitions = [found for cell in cells for found in _definitions(name, cell)]
    if len(definitions) > 1:
        return (
            f"Two cells define `{name}`, and the later one is not answered yet: it takes the other's "
            "place. Is there an answer in a cell of your own? Put it where the text says."
        )
    if untouched:
        return f"This part is not answered yet: the code of `{name}` is as it was handed out."
    return "This part is not answered yet."


def what_hides_it(name: str, cells: Sequence[str]) -> str:
    """What keeps an answer that was written from being reached; empty if nothing does.

    That is a released `raise` line that was kept, or a `forward` that PyTorch does not find.
    """
    definitions = [found for cell in cells for found in _definitions(name, cell)]
    if not definitions:
        return ""
    definition = definitions[-1]
    for function in _functions(definition):
        written = [
            each for each in function.body if not _is_docstring(each) and not _calls_super(each)
        ]
        left = next((each for each in written if _says_unanswered(each)), None)
        if left is not None and len(written) > 1:
            return (
                f"In `{function.name}`, the line `raise NotImplementedError(…)` still stands beside "
                "your answer, and Python stops there. Take that line out, and the rest will count."
            )
    if isinstance(definition, ast.ClassDef):
        return _where_forward_is(definition)
    return ""


def why_not_the_later_one(name: str, around: Surroundings) -> str:
    """That a name is defined once more where it no longer counts; empty if it is not."""
    if not any(True for cell in around.below for _ in _definitions(name, cell)):
        return ""
    return (
        f"`{name}` is defined once more below this check, and only what stands above it counts. If the one "
        "below is right, put it in the place of this one."
    )


def _calls_super(statement: ast.stmt) -> bool:
    """Whether this is the line `super().__init__()`, with which a released class begins."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("super"), [], []), "__init__"))):
            return True
    return False


def _where_forward_is(definition: ast.ClassDef) -> str:
    """Why a class has no `forward`, although something like it is there."""
    methods = [each for each in definition.body if isinstance(each, ast.FunctionDef)]
    names = [each.name for each in methods if not each.name.startswith("__")]
    if "forward" in names:
        return ""
    for method in methods:
        if any(inner.name == "forward" for inner in _functions(method) if inner is not method):
            return (
                f"`forward` is written inside `{method.name}`, so the class itself has none. Move it "
                f"to the left, until its `def` stands below the `def` of `{method.name}`."
            )
    alike = difflib.get_close_matches("forward", names, n=1)
    if alike:
        return f"PyTorch looks for a method `forward`, and yours is called `{alike[0]}`."
    return ""


def _definitions(name: str, cell: str) -> Iterator[Definition]:
    """The definitions of a name at the top of a cell."""
    if not re.search(rf"\b(def|class)\s+{name}\b", cell):
        return
    for statement in statements_of(cell):
        if isinstance(statement, Definition) and statement.name == name:
            yield statement


def _functions(definition: Definition) -> Iterator[ast.FunctionDef]:
    """All functions in a definition, itself among them."""
    return (node for node in ast.walk(definition) if isinstance(node, ast.FunctionDef))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _says_unanswered(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
