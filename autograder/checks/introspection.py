"""Whether a notebook may be taken at its word: whether all that it uses is known to lead nowhere else.

It is found by reading, never by running. Of what stands in its process, a notebook could open again
what is closed while it is asked. What leads there is without number, so what is harmless is listed
(`harmless`), and a notebook with anything else is asked once more, see `autograder.grade.grading`. That
costs an honest one some time, and no points.

A module is only used for what is in it and is never a value, so wherever one of its names is read, this is
seen: it means that module alone, and is nobody's attribute. Attributes of everything else are those of tensors,
layers, pictures and the like, or the notebook's own.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from types import ModuleType
from typing import Any

from autograder.bounds import MOST_CODE, MOST_NESTED, SECONDS_TO_READ, Allowance, OutOfTime
from autograder.checks import harmless
from autograder.checks.notebook_source import UNREADABLE, once_a_cell, parsed

# what gives a name to something else than a variable, or takes it away
NAMING_NO_VARIABLE = (ast.Attribute, ast.Global, ast.Nonlocal, ast.alias, ast.keyword)
# methods of a layer whose text is the name of one of its tensors or layers from then on
NAMING = ("add_module", "register_buffer", "register_module", "register_parameter")
BY_NAME = {"getattr": ast.Load, "hasattr": ast.Load, "setattr": ast.Store, "delattr": ast.Del}
# in a text that is filled in, what reads an attribute or an entry by its name
FIELD_BY_NAME = re.compile(r"\{[^{}:!]*[.\[]")
CLASS_NAME = ("__name__", "__class__")
# IPython puts a value in the place of such a sign, also that of an expression
EXPANDED = re.compile(r"[{$]")
PLAIN_WORD = re.compile(r"[\w-]+")
OPTIONS = re.compile(r"(?:-[tcqo]\s+|-[nrp]\s*\d+\s+)*")  # of a magic whose text is code
UNREAD = "what cannot be read"


def introspects(
    cells: Iterable[str],
    beside: Iterable[tuple[str, str]] = (),
    libraries: Iterable[str] = (),
    of_course: Iterable[str] = (),
    time: Allowance | None = None,
) -> str:
    """What a notebook uses that is not known to be harmless; "" for nothing.

    Args:
        cells: source of the notebook's own code cells.
        beside: (name, source) of the modules that lie beside it.
        libraries: packages of the course, which are harmless.
        of_course: source of the course's cells, of which only the imports are read.
        time: in which it is read; that of one submission if there is none.
    """
    beside = tuple(beside)
    sources = [*cells, *(source for _, source in beside)]
    if sum(map(len, sources)) > MOST_CODE:
        return UNREAD

    def first() -> str:
        found = [_used_in(source) for source in sources]
        given = [_used_in(source) for source in of_course]
        notebook = _Notebook(frozenset(libraries), frozenset(name for name, _ in beside))
        for used in (*given, *found):
            notebook.take(used)
        # each name of a module is looked for, so that this takes its time as well
        return next(filter(None, map(notebook.odd_in, found)), "")

    try:
        return (time or Allowance(SECONDS_TO_READ)).within(first)
    except (*UNREADABLE, OutOfTime):
        return UNREAD


@dataclass
class Used:
    """What a cell uses, as far as it matters; the rest of the notebook decides whether it may.

    Attributes:
        odd: what no notebook has that is taken at its word; "" if there is nothing.
        imports: (name that it is given, module, what is taken of it; "" for the module itself).
        names: that are read by themselves.
        chains: dotted names that are read, such as ("F", "softmax").
        changed: those that are set or deleted.
        attributes: of what has no name.
        own: attributes that the notebook itself makes.
        bound: names of its variables, parameters, functions and classes.
        wrapping: of what `wraps` is called with a function and nothing else.
    """

    odd: str = ""
    imports: set[tuple[str, str, str]] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    chains: set[tuple[str, ...]] = field(default_factory=set)
    changed: set[tuple[str, ...]] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    wrapping: set[str] = field(default_factory=set)


class _Notebook:
    """All that is imported and made in a notebook, with the course's packages and the modules beside it."""

    def __init__(self, libraries: frozenset[str], beside: frozenset[str]) -> None:
        self.libraries, self.beside = libraries, beside
        self.modules: dict[str, set[str]] = {}  # by the name that they have in the notebook
        self.imported: set[str] = set()  # names of what is taken out of modules
        self.taken_from: set[str] = set()
        self.own = {*harmless.of_course(tuple(sorted(libraries)))}
        self.bound: set[str] = set()
        self.chains: set[tuple[str, ...]] = set()

    def take(self, used: Used) -> None:
        """Let what a cell imports and makes be there for all others."""
        self.own |= used.own
        self.bound |= used.bound
        self.chains |= used.chains
        for name, module, item in used.imports:
            place = f"{module}.{item}" if item else module
            if not item or self._is_module(place):
                self.modules.setdefault(name, set()).add(place)
            else:
                self.imported.add(name)
                self.taken_from.add(module)

    def odd_in(self, used: Used) -> str:
        """What a cell has that is not known to be harmless; "" for nothing."""
        return next(filter(None, self._odd_in(used)), "")

    def _odd_in(self, used: Used) -> Iterator[str]:
        yield used.odd
        for name, module, item in used.imports:
            yield self._odd_import(module, item)
            # what else has the name of a module would be read as that module is
            yield name if name in self.modules and name in self.others else ""
        # a module is nobody's value, so that it has no second name, and its name means nothing else
        yield from (name for name in (*used.names, *used.bound) if name in self.modules)
        yield from (name for name in used.names if name.startswith("_") and not self._is_own(name))
        for chain in used.chains:
            yield self._odd_chain(chain)
        for chain in used.changed:
            root = chain[0]
            yield chain[-1] if root in self.imported or not self._may_be_set(chain) else ""
            if root not in self.modules:
                yield from (name for name in chain[1:] if not self._may_be_read(name))
        for name in used.wrapping:
            yield "" if self.modules.get(name) == {"functools"} else "wraps"
        yield from (name for name in used.attributes if not self._may_be_read(name))

    @cached_property
    def others(self) -> set[str]:
        """Names that mean something else than a module; all is taken by then."""
        return self.bound | self.imported | harmless.BUILT_IN

    def _odd_import(self, module: str, item: str) -> str:
        if not self._is_module(module):
            return module or "."
        if item == "*":
            whole = (
                module in ("math", *self.beside) or self._is_of_course(module) or _is_absent(module)
            )
            return "" if whole else "*"
        if not item or self._is_module(f"{module}.{item}") or self._may_be_taken(module, item):
            return ""
        return item

    def _odd_chain(self, chain: tuple[str, ...]) -> str:
        """The first name in a dotted one that is not known to be harmless."""
        for place in self.modules.get(chain[0], ("",)):
            rest = list(chain[1:])
            if _is_absent(place):
                # IPython and the probe may have put something there all the same
                if odd := next((name for name in rest if self._is_inner(name)), ""):
                    return odd
                continue
            *_, place = self._inward(place, rest)
            if place and not rest:
                return chain[-1]
            if place and not self._may_be_taken(place, name := rest.pop(0)):
                return name
            if odd := next((name for name in rest if not self._may_be_read(name)), ""):
                return odd
        return ""

    def _inward(self, place: str, rest: list[str]) -> Iterator[str]:
        """A module, and the one in it that each of the next names means; these names are taken out of the rest."""
        yield place
        while place and rest and self._is_module(inner := _inner(place, rest[0])):
            place = inner
            rest.pop(0)
            yield place

    def _may_be_set(self, chain: tuple[str, ...]) -> bool:
        places = (".".join([place, *chain[1:]]) for place in self.modules.get(chain[0], ()))
        return all(place in harmless.SWITCHES for place in places)

    def _is_module(self, place: str) -> bool:
        known = place in harmless.MODULES or place in self.beside
        return known or self._is_of_course(place) or _is_absent(place)

    def _is_of_course(self, place: str) -> bool:
        return place.partition(".")[0] in self.libraries and _module_of_course(place) is not None

    def _may_be_taken(self, module: str, name: str) -> bool:
        if module in harmless.MODULES:
            return name in harmless.MODULES[module] or _has_no(module, name)
        if _is_absent(module):
            # what grades may have put a debugger there that does nothing
            return not name.startswith("_")
        if module in self.beside:
            return self._is_own(name)
        value = getattr(_module_of_course(module), name, None)
        return not name.startswith("_") and not isinstance(value, ModuleType)

    def _may_be_read(self, name: str) -> bool:
        return name in harmless.attributes() or name in harmless.PLAIN or self._is_own(name)

    def _is_inner(self, name: str) -> bool:
        """Whether a name may lead into an object, of whatever kind it is."""
        hidden = name.startswith("_") or name in harmless.taken(self._listed)
        return hidden and name not in harmless.PLAIN

    def _is_own(self, name: str) -> bool:
        """Whether a name is the notebook's, and no library has what it could mean instead."""
        if name in harmless.PLAIN or name in harmless.DEFINED:
            return True
        if name not in self.own or name in self.modules or name.startswith("__"):
            return False
        return name not in harmless.taken(self._listed)

    @cached_property
    def _listed(self) -> frozenset[str]:
        """What is imported of the modules that are no course's and no student's; all is taken by then."""
        used = {place for places in self.modules.values() for place in places} | self.taken_from
        for root, *rest in self.chains:
            for place in self.modules.get(root, ()):
                used.update(self._inward(place, [*rest]))
        return frozenset(used & harmless.MODULES.keys())


def _inner(place: str, name: str) -> str:
    """The module that another one has under a name."""
    inner = f"{place}.{name}"
    return harmless.KNOWN_AS.get(inner, inner)


@lru_cache(maxsize=256)
def _is_absent(place: str) -> bool:
    """Whether nothing can be imported by this name here, nor where notebooks run."""
    first = place.partition(".")[0]
    # compilers make modules of such names, which stand in no file
    if not first or first.startswith("_") or first in sys.modules:
        return False
    return first.isidentifier() and importlib.util.find_spec(first) is None


@lru_cache(maxsize=256)
def _has_no(module: str, name: str) -> bool:
    """Whether a listed module has no such name, so that to take it is an error and nothing else."""
    there = importlib.import_module(module)
    if hasattr(there, name):
        return False
    return not hasattr(there, "__path__") or importlib.util.find_spec(f"{module}.{name}") is None


@lru_cache(maxsize=256)
def _module_of_course(place: str) -> ModuleType | None:
    """A module of the course's own libraries, which are trusted."""
    try:
        return importlib.import_module(place)
    except ImportError:
        return None


@once_a_cell
def _used_in(source: str) -> Used:
    """What a cell uses; errors are those of `parsed`."""
    reader = _Reader()
    reader.read(source)
    return reader.used


class _Reader:
    """Goes through code and collects what it uses."""

    def __init__(self) -> None:
        self.used = Used()

    def read(self, source: str, depth: int = 0) -> None:
        """Read a cell and all code that is handed to its magics."""
        if depth > MOST_NESTED:
            raise ValueError("magics in magics, and deeper than is read")
        todo: list[ast.AST] = [*parsed(source)]
        while todo:
            node = todo.pop()
            match node:
                case ast.Call(
                    ast.Attribute(ast.Call(ast.Name("get_ipython"), [], []), attr=how),
                    [*given],
                    [],
                ) if len(
                    texts := [one.value for one in given if isinstance(one, ast.Constant)]
                ) == (len(given)):
                    self._line_of_ipythons(how, [str(text) for text in texts], depth)
                case _:
                    todo += self._looked_at(node)

    def _line_of_ipythons(self, how: str, texts: list[str], depth: int) -> None:
        """Read what IPython makes of a line of its own, such as `!ls` or `%time f(x)`."""
        match how, texts:
            case (("system" | "getoutput"), [_]):  # which do not run
                return
            case (("run_line_magic" | "run_cell_magic"), [name, *codes]) if (
                name in harmless.RUNNING
            ):
                if name == "capture" and EXPANDED.search(codes.pop(0)):
                    self._is_odd(name)
                for code in codes:
                    code = code[OPTIONS.match(code).end() :]  # type: ignore[union-attr]
                    self.read(code, depth + 1)
                    if code.strip() and not parsed(code):
                        self._is_odd(name)
            case (("run_line_magic" | "run_cell_magic"), [name, line, *_]):
                fitting = harmless.MAGICS_WITH.get(name)
                known = name in harmless.MAGICS and not EXPANDED.search(line)
                if not known and not (fitting and fitting.fullmatch(line.strip())):
                    self._is_odd(name)
            case _:
                self._is_odd("get_ipython")

    def _looked_at(self, node: ast.AST) -> Iterable[ast.AST]:
        """Note what a node uses; what is to be read next."""
        used = self.used
        self._look_at_names(node)
        match node:
            case ast.Import(names):
                for alias in names:
                    self._look_at_names(alias)
                    first = alias.name.partition(".")[0]
                    used.imports.add((alias.asname or first, alias.name, ""))
                    if not alias.asname:
                        used.imports.add((first, first, ""))
                return ()
            case ast.ImportFrom(module, names, level):
                for alias in names:
                    self._look_at_names(alias)
                place = "" if level or not module else module
                used.imports |= {(alias.asname or alias.name, place, alias.name) for alias in names}
                return ()
            case ast.Attribute():
                return self._attribute(node)
            case ast.Name(id=name, ctx=ast.Load()):
                self._name(name)
                return ()
            case ast.Call(func=function, args=arguments, keywords=keywords):
                return self._call(node, function, arguments, keywords)
            case ast.Subscript(
                ast.Attribute(ast.Name(), attr=attr), ast.Constant(str() as name)
            ) if name.startswith(harmless.SETTINGS.get(attr, ())) and name != harmless.RUN_AS_CODE:
                return ()
            case ast.Compare(left=left, comparators=others):
                return [_what_it_is_of(one) for one in (left, *others)]
            case ast.FormattedValue(value=value, format_spec=spec):
                return [_what_it_is_of(value), *filter(None, [spec])]
            case ast.ClassDef(bases=bases, keywords=keywords):
                if keywords or not all(map(_is_plain_base, bases)):
                    self._is_odd("metaclass")
                if any(isinstance(one, ast.Import | ast.ImportFrom) for one in _outside(node)):
                    self._is_odd("import")  # which makes a module an attribute of the class
            case ast.MatchClass(patterns=patterns, kwd_attrs=names):
                used.attributes.update(names)
                if patterns:
                    self._is_odd("__match_args__")
        return ast.iter_child_nodes(node)

    def _is_odd(self, what: str) -> None:
        self.used.odd = self.used.odd or what

    def _look_at_names(self, node: ast.AST) -> None:
        """Note names that a node gives a meaning to; those that Python itself looks up are few."""
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.Name(name, ast.Store() | ast.Del())
                | ast.arg(name)
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.keyword(str() as name)
                | ast.ExceptHandler(name=str() as name)
                | ast.MatchAs(name=str() as name)
                | ast.MatchStar(str() as name)
                | ast.MatchMapping(rest=str() as name)
            ):
                given = [name]
            case ast.Global(given) | ast.Nonlocal(given):
                pass
            case ast.alias(name, asname):
                given = [asname or name]
            case _:
                return
        self._give(given)
        if not isinstance(node, NAMING_NO_VARIABLE):
            self.used.bound.update(given)

    def _give(self, names: list[str]) -> None:
        self.used.own.update(names)
        for name in names:
            hidden = name.startswith("__") and name not in harmless.DEFINED | {"__", "___"}
            if hidden or name in READ_BY_NAME:
                self._is_odd(name)

    def _name(self, name: str) -> None:
        if name in NOT_FREE:
            self._is_odd(name)
        self.used.names.add(name)

    def _attribute(self, node: ast.Attribute) -> Iterable[ast.AST]:
        names, value = [node.attr], node.value
        while isinstance(value, ast.Attribute):
            names.append(value.attr)
            value = value.value
        if CLASS_NAME in pairwise(names):  # as good as `type(x).__name__`
            names = [name for name in names if name not in CLASS_NAME]
        changed = not isinstance(node.ctx, ast.Load)
        if isinstance(value, ast.Name):
            if value.id in NOT_FREE:
                self._is_odd(value.id)
            chain = (value.id, *names[::-1])
            (self.used.changed if changed else self.used.chains).add(chain)
            self.used.names |= {value.id} if value.id.startswith("_") else set()
            return ()
        self.used.attributes.update(names)
        return [_what_it_is_of(value)]

    def _call(
        self,
        node: ast.Call,
        function: ast.expr,
        arguments: list[ast.expr],
        keywords: list[ast.keyword],
    ) -> Iterable[ast.AST]:
        rest = [*arguments, *keywords]
        match function, arguments:
            case ast.Name(name), [subject, ast.Constant(str() as said), *more] if name in BY_NAME:
                # with a text that stands there, as good as a dot
                return [ast.Attribute(subject, said, BY_NAME[name]()), *more, *keywords]
            case ast.Name("print" | "isinstance"), _:
                return [*map(_what_it_is_of, arguments), *keywords]
            case ast.Attribute(ast.Constant(str() as text), "format"), _ if (
                not FIELD_BY_NAME.search(text)
            ):
                return rest
            case ast.Attribute(ast.Name() | ast.Attribute(ast.Name(), "style"), "use"), [
                ast.Constant(str() as name)
            ] if PLAIN_WORD.fullmatch(name):
                return keywords  # of a backend or a style that the library itself has
            case ast.Attribute(attr=how), [ast.Constant(str() as name), *_] if how in NAMING:
                self._give([name])
            case ast.Attribute(ast.Name(module), "wraps"), [_] if not keywords:
                self.used.wrapping.add(module)
                return rest
        return [function, *rest]


# built-in names that are on no list
NOT_FREE = frozenset({*vars(builtins), "get_ipython"}) - harmless.BUILT_IN
# those whose calls are read here, so that they may mean nothing else
READ_BY_NAME = frozenset({*BY_NAME, "get_ipython", "isinstance", "print", "type"})


def _what_it_is_of(node: ast.expr) -> ast.expr:
    """The object of which only the type is asked, as in `type(x)`, and every other expression itself."""
    match node:
        case ast.Call(ast.Name("type"), [one], []):
            return one
    return node


def _is_plain_base(node: Any) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name)


def _outside(kind: ast.ClassDef) -> Iterator[ast.AST]:
    """What stands in a class and in none of its functions."""
    todo: list[ast.AST] = [*kind.body]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)
