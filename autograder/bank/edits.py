"""The answers to a part as edits of the right one, which is text: a statement is a step.

    answers = Answers(__name__, BANK, split, '''
        def split_heads(x, num_heads):
            cut = x.unflatten(-1, (num_heads, -1))  # (B, T, H, d_k)
            return cut.transpose(1, 2)  # (B, H, T, d_k)
    ''', torch=torch)

    answers.slip("heads not moved in front of the words", "return cut", OWN_FEATURES, "Which two axes …?")
    answers.right("split_by_chunks", "return torch.stack(x.chunk(num_heads, dim=-1), dim=1)")
    answers.wrong("split_into_two", "num_heads = 2", told="right numbers in other places")

An edit is a statement that takes the place of the one that gives a value to the same names, or returns. One that
gives a value to arguments stands in front. What stands above such a statement in an edit comes along with it,
and steps whose names nobody uses any more go. Statements in a loop or a `with` are steps, too, and so are
functions. In a class, an edit may also be a method, whose `super()` is the right answer. Two slips are made at once
where they edit other steps.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from textwrap import dedent, indent
from types import ModuleType
from typing import Any

from autograder.bank.answers import Answer, Bank, as_names
from autograder.checks.cases import Step
from autograder.checks.check import Part
from autograder.checks.mistakes import Mistake


@dataclass(frozen=True)
class Statement:
    """A statement, what it gives a value to, and the names in it.

    `gives` is "return" or "def name" of those that are such, else names, if any. A loop or a `with` has a
    head, and steps.
    """

    text: str
    gives: str
    given: frozenset[str]
    used: frozenset[str]
    head: str = ""
    steps: tuple[Statement, ...] = ()

    @classmethod
    def read(cls, node: ast.stmt) -> Statement:
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
        targets = {one for part in getattr(node, "targets", []) for one in ast.walk(part)}
        given = frozenset(
            one.id for one in names if isinstance(one.ctx, ast.Store) and one in targets
        )
        if isinstance(node, ast.FunctionDef):
            given = frozenset([node.name])
        used = frozenset(one.id for one in names if isinstance(one.ctx, ast.Load))
        text = ast.unparse(node)
        if not isinstance(node, ast.For | ast.While | ast.With) or getattr(node, "orelse", []):
            return cls(text, _gives(node), given, used)
        head = text.partition("\n")[0].removesuffix(":")
        return cls(text, "", given, used, head, tuple(map(cls.read, node.body)))

    @property
    def all_given(self) -> list[str]:
        """What it gives a value to, and in a loop each of its steps."""
        return [self.gives, *(name for step in self.steps for name in step.all_given)]

    def with_edits(self, edits: Edits) -> Sequence[Statement]:
        """This statement, or what edits have in its place; these are taken out of them."""
        if not self.steps:
            return edits.pop(self.gives, [self])
        texts = [new.text for step in self.steps for new in step.with_edits(edits)]
        [loop] = ast.parse(str(Block(self.head, texts))).body
        return [Statement.read(loop)]


Edits = dict[str, list[Statement]]  # by what a step gives a value to, what stands in its place


@dataclass(frozen=True)
class Block:
    """A function or a class."""

    head: str
    statements: list[str]

    def __str__(self) -> str:
        body = indent("\n".join(self.statements), " " * 4)
        return f"{self.head}:\n{body}\n"


@dataclass(frozen=True)
class Slip(Mistake):
    """A `Mistake` that is made by edits."""

    answers: Answers | None = field(default=None, compare=False)
    edits: Edits = field(default_factory=dict, compare=False)

    @property
    def combines(self) -> bool:
        return True

    def together_with(self, other: Mistake) -> Callable[..., Any] | None:
        if not isinstance(other, Slip) or self.answers is not other.answers or not self.answers:
            return None
        if _names(self.edits) & _names(other.edits):
            return None
        return self.answers.made("both", self.edits | other.edits)


class Answers:
    """The answers to one part.

    Args:
        module: where they stand, for tracebacks.
        bank: takes the right ones, and the wrong ones without a name.
        part: takes the slips.
        right: the right answer, a function or a class.
        names: what the code uses.

    Attributes:
        code: the right answer.
    """

    def __init__(self, module: str, bank: Bank, part: Part, right: str, **names: Any) -> None:
        self.module, self.bank, self.part, self.names = module, bank, part, names
        self.made_so_far = 0
        [tree] = ast.parse(dedent(right)).body
        self.bases = ", ".join(map(ast.unparse, getattr(tree, "bases", [])))
        functions = tree.body if isinstance(tree, ast.ClassDef) else [tree]
        self.functions: dict[str, tuple[str, list[Statement]]] = {}  # arguments and steps
        self.places: dict[
            str, str
        ] = {}  # of a step or an argument, its function; the last, of several
        for one in functions:
            assert isinstance(one, ast.FunctionDef)
            steps = list(map(Statement.read, one.body))
            self.functions[one.name] = ast.unparse(one.args), steps
            given = (name for step in steps for name in step.all_given)
            named = [*(argument.arg for argument in one.args.args), *given]
            self.places |= {name: one.name for name in named if name}
        self.code = self.made(part.name, {})

    def slip(
        self,
        name: str,
        edit: str,
        costs: Step | tuple[Step, ...],
        message: str,
        costs_more: str = "",
        each: Mapping[str, Sequence[Any]] | None = None,
        published: tuple[str, str] | None = None,
    ) -> None:
        """Give a wrong answer a name.

        Args:
            name, costs, message, costs_more: as in a `Mistake`.
            edit: what is wrong.
            each: of what stands in braces, the values, so that the mistake has several variants.
            published: where people made the mistake, and what was wrong there in a sentence.
        """
        steps = costs if isinstance(costs, tuple) else (costs,)
        columns = each or {"": [""]}
        for row in zip(*columns.values(), strict=True):
            called, text, said = (
                _filled(one, dict(zip(columns, row, strict=True))) for one in (name, edit, message)
            )
            edits = self.edits_in(text)
            answer = self.made(_identifier(called), edits)
            slip = Slip(called, answer, said, steps, costs_more, self, edits)
            self.part.mistakes.append(slip)
            if published:
                self.wrong(_identifier(called), text, named=called, published=published)
                published = None

    def again(self, slip: Mistake, costs: Step | tuple[Step, ...]) -> None:
        """Give a slip of another part, whose steps have the same names, its name in this one as well."""
        assert isinstance(slip, Slip)
        answer = self.made(_identifier(slip.name), slip.edits)
        steps = costs if isinstance(costs, tuple) else (costs,)
        self.part.mistakes.append(replace(slip, answer=answer, costs=steps, answers=self))

    def right(self, name: str, edit: str, slow: str = "") -> None:
        """Add a right answer to the bank."""
        code = self.made(name, self.edits_in(edit))
        self.bank.answers.append(Answer(self.part.name, code, True, slow=slow))

    def wrong(
        self,
        name: str,
        edit: str,
        named: str | tuple[str, ...] = (),
        told: str | tuple[str, ...] = (),
        published: tuple[str, str] | None = None,
    ) -> None:
        """Add a wrong answer to the bank, of which this is true; see `Bank` and `slip`."""
        source, what = published or (None, "")
        code = self.made(name, self.edits_in(edit), what)
        true_of_it = as_names(named), as_names(told), source
        self.bank.answers.append(Answer(self.part.name, code, False, *true_of_it))

    def edits_in(self, text: str) -> Edits:
        """The edits that stand in a text, by step.

        Raises:
            ValueError: it ends with something that is no step.
        """
        found: Edits = {}
        waiting: list[Statement] = []
        for node in ast.parse(dedent(text).strip()).body:
            waiting.append(Statement.read(node))
            step = waiting[-1].gives
            if self._place_of(step) or (self.bases and step.startswith("def ")):
                found[step] = found.get(step, []) + waiting
                waiting = []
        if waiting or not found:
            raise ValueError(
                f"an edit should end with a step or an argument of {self.part.name}, which are "
                f"{'; '.join(self.places)}, but this one does not: {text.strip()}"
            )
        return found

    def made(self, name: str, edits: Edits, docstring: str = "") -> Any:
        """The right answer with these steps in the place of its own."""
        functions = []
        for function, (arguments, own) in self.functions.items():
            here = {step: new for step, new in edits.items() if self._place_of(step) == function}
            steps = [old.with_edits(here) for old in own]
            body = _needed([*chain(*here.values(), *steps)], own)  # what is left edits arguments
            texts = [one.text for one in body]
            called = function if self.bases else name
            functions.append(Block(f"def {called}({arguments})", texts))
        new = [step for step in edits if step.startswith("def ") and not self._place_of(step)]
        methods = [one.text for step in new for one in edits[step]]
        blocks = functions
        if self.bases:
            blocks = [Block(f"class {name}({self.bases})", list(map(str, functions)))]
        if methods:
            blocks = [replace(*blocks, head=f"class Right({self.bases})")]
            blocks.append(Block(f"class {name}(Right)", methods))
        if docstring:
            blocks[-1].statements.insert(0, repr(docstring))
        return self._run(name, "\n\n".join(map(str, blocks)))

    def _run(self, name: str, source: str) -> Any:
        """What a source defines under a name; tracebacks and `inspect` find it in a module of its own."""
        self.made_so_far += 1
        own = f"{self.part.name}:{name}:{self.made_so_far}"
        module = sys.modules[f"{self.module}:{own}"] = ModuleType(f"{self.module}:{own}")
        # beside the file of the answers, where a line is no student's
        module.__file__ = file = f"{sys.modules[self.module].__file__}:{own}"
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
        space = vars(module)
        space.update(self.names)
        exec(compile(source, file, "exec"), space)  # noqa: S102 (the answers are ours)
        return space[name]

    def _place_of(self, step: str) -> str | None:
        """The function that a step stands in, or all the arguments that it names."""
        places = {self.places.get(name) for name in step.split(", ")}
        return self.places.get(step) or (places.pop() if len(places) == 1 else None)


def _gives(statement: ast.stmt) -> str:
    """What a statement gives a value to; "return" or "def name" of those that are such; else ""."""
    if isinstance(statement, ast.Assign):
        return ast.unparse(statement.targets[0]).strip("()")
    if isinstance(statement, ast.FunctionDef):
        return f"def {statement.name}"
    return "return" if isinstance(statement, ast.Return) else ""


def _names(edits: Edits) -> set[str]:
    """All that edits give a value to."""
    return {name for step in edits for name in step.split(", ")}


def _needed(statements: list[Statement], own: list[Statement]) -> list[Statement]:
    """The statements without those of the right answer's own whose names nobody uses."""
    for one in reversed(own):
        others = [other for other in statements if other is not one]
        used = frozenset().union(*(other.used for other in others))
        if one.gives and one.given and not one.given & used:
            statements = others
    return statements


def _filled(text: str, values: dict[str, Any]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "_", f"_{name}" if name[0].isdigit() else name)
