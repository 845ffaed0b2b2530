"""Close what a part may not use, where every road to it ends, while the part is asked.

An operation of PyTorch's is reached by many names and from many places: modules, TorchScript, other
threads, under any mode. All of them pass its dispatcher, so that is where it is taken away. Functions and
classes of a disallowed name that are written in Python have their code replaced for as long. Whoever goes to
more trouble than that could have pasted the course's own answer (`docs/grading.md`).
"""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import takewhile
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, Self

from autograder.arrays import INSTALLED
from autograder.probe.disallowed import Disallowed

if INSTALLED:
    import torch

    # taken before any code of a submission runs, which may put anything in their place
    _library, _register = torch._C._dispatch_library, torch._C._DispatchModule.impl

# where a kernel may stand that computes on this machine's processor
KEYS = (
    "CPU", "SparseCPU", "SparseCsrCPU", "MkldnnCPU", "NestedTensorCPU", "QuantizedCPU",
    "CompositeImplicitAutograd", "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutogradNestedTensor",
    "FuncTorchBatched", "FuncTorchBatchedDecomposition", "FuncTorchVmapMode", "AutogradNestedTensor",
)  # fmt: skip


# whose functions may be disallowed, where they are installed
LANGUAGES = ("torch", "numpy", "scipy")


class DisallowedError(RuntimeError):
    """A part has called what it may not use."""


class OpBlocker(contextlib.AbstractContextManager["OpBlocker"]):
    """Closes what is disallowed, if it has names, on entering, and opens it again on leaving.

    Attributes:
        found: names of what was called nevertheless, as far as it was disallowed.
    """

    def __init__(self, disallowed: Disallowed) -> None:
        self.found: list[str] = []
        self._disallowed = disallowed
        self._operations: list[Any] = []
        self._codes: list[tuple[FunctionType, CodeType]] = []

    def __enter__(self) -> Self:
        names = tuple(self._disallowed["names"])
        if names:
            try:
                self._close_operations(names)
                self._close_functions(functions_of(names))
                self._close_functions(own_functions(tuple(self._disallowed["libraries"]), names))
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        while self._codes:
            function, code = self._codes.pop()
            function.__code__ = code
        self._operations.clear()  # what a library registers lasts as long as itself

    def _close_operations(self, names: tuple[str, ...]) -> None:
        libraries: dict[str, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that others are put in place of PyTorch's kernels
            for name, operation, key in kernels_of(names):
                namespace, _, plain = operation.partition("::")
                if namespace not in libraries:
                    libraries[namespace] = _library("IMPL", namespace, "")
                _register(libraries[namespace], plain, key, self._refusal(name))
        self._operations = list(libraries.values())

    def _close_functions(self, functions: Iterable[tuple[str, FunctionType]]) -> None:
        for name, function in functions:
            code = function.__code__
            self._codes.append((function, code))
            function.__code__ = _code_that_calls(self._refusal(name), code.co_freevars)

    def _refusal(self, name: str) -> Callable[..., Any]:
        found, error = self.found.append, DisallowedError
        message = f"`{name}` is the answer itself, so it is disallowed while this part is asked"

        def refuse(*_: Any, **__: Any) -> Any:
            found(name)
            raise error(message)

        # who catches the error sees where it was raised, and there nothing else
        return FunctionType(refuse.__code__, {}, "refuse", None, refuse.__closure__)


# ------------------------------------------------------------------------------ operations


@lru_cache(maxsize=64)
def kernels_of(names: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    """(name, operation, dispatch key) of each kernel that computes what has such a name.

    An operation belongs to a name that it contains: `_softmax.out` to ``softmax``. A class is looked
    for as PyTorch's functions would be called, `BatchNorm2d` as ``batch_norm``.
    """
    found: dict[str, str] = {}
    for name in names:
        for operation in _having(_stem(name), operations()):
            found.setdefault(operation, name)
    return tuple(
        (name, operation, key) for operation, name in found.items() for key in kernels()[operation]
    )


def _stem(name: str) -> str:
    """What PyTorch's operations that compute a thing of this name have in their own."""
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().strip("_")
    return re.sub(r"_?\d+d$", "", snake)


def _having(stem: str, index: dict[str, list[str]]) -> Iterator[str]:
    """Names in an index by words that have a stem in them."""
    return (name for name in index.get(stem.rpartition("_")[2], ()) if stem in name.lower())


def _by_words(names: Iterable[str]) -> dict[str, list[str]]:
    """Names by each of the words that they are made of."""
    index: dict[str, list[str]] = {}
    for name in names:
        for word in set(re.split(r"[^a-z0-9]+", name.lower())):
            index.setdefault(word, []).append(name)
    return index


@cache
def operations() -> dict[str, list[str]]:
    """All operations that have a kernel, by words of their names."""
    return _by_words(kernels())


@cache
def kernels() -> dict[str, list[str]]:
    """By operation, the dispatch keys at which it has a kernel."""
    found: dict[str, list[str]] = {}
    for key in KEYS if INSTALLED else ():
        for operation in torch._C._dispatch_get_registrations_for_dispatch_key(key):
            found.setdefault(operation, []).append(key)
    return found


# ------------------------------------------------------------------------------ functions in Python


class Known(NamedTuple):
    """The languages' own functions in Python, as far as they are imported when this is made.

    Attributes:
        last: name of the module, of theirs or not, that was imported last.
        named: by name, the functions and classes that a module holds under it.
    """

    last: str
    named: dict[str, list[Any]]


@cache
def known() -> Known:
    """What is there before any submission runs, if it is asked for then."""
    named: dict[str, list[Any]] = {}
    for module in _modules_of(LANGUAGES).values():
        for name, value in list(vars(module).items()):
            # NumPy calls its own functions through an object, whose code they are
            value = getattr(value, "_implementation", value) if _is_numpys(value) else value
            # asked of its type, since some objects answer for others that are deprecated
            if issubclass(type(value), FunctionType | type):
                named.setdefault(name, []).append(value)
    return Known(next(reversed(sys.modules)), named)


def _is_numpys(value: Any) -> bool:
    return type(value).__name__ == "_ArrayFunctionDispatcher"


def make_ready(disallowed: Disallowed) -> None:
    """Work out what `OpBlocker` needs of what is disallowed, before processes are forked that close it."""
    names = tuple(disallowed["names"])
    kernels_of(names)
    functions_of(names)
    _own_functions_so_far(tuple(disallowed["libraries"]), names)


@lru_cache(maxsize=64)
def functions_of(names: tuple[str, ...]) -> tuple[tuple[str, FunctionType], ...]:
    """(name, function) of the languages' functions in Python that are disallowed, and methods of classes."""
    found: dict[FunctionType, str] = {}
    for name in names:
        for value in known().named.get(name, ()):
            found.update(dict.fromkeys(_functions_of(value), name))
    return tuple((name, function) for function, name in found.items())


def own_functions(
    libraries: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[tuple[str, FunctionType]]:
    """(name, function) of what is disallowed in the modules of the course that are imported here."""
    yield from _own_functions_so_far(libraries, names)
    yield from _functions_in(_modules_of(libraries, known().last), names)


@lru_cache(maxsize=64)
def _own_functions_so_far(
    libraries: tuple[str, ...], names: tuple[str, ...]
) -> tuple[tuple[str, FunctionType], ...]:
    return tuple(_functions_in(_modules_of(libraries), names))


def _functions_in(
    modules: dict[str, ModuleType], names: Iterable[str]
) -> Iterator[tuple[str, FunctionType]]:
    for module in modules.values():
        for name in names:
            for function in _functions_of(vars(module).get(name)):
                yield name, function


def _modules_of(packages: tuple[str, ...], after: str = "") -> dict[str, ModuleType]:
    """The modules of some packages, or only those imported after one; a fork writes to what it reads."""
    try:
        found = list(takewhile(lambda item: item[0] != after, reversed(sys.modules.items())))
    except RuntimeError:  # another thread imports
        found = list(sys.modules.items())
    return {
        name: module
        for name, module in found
        if isinstance(module, ModuleType) and name.partition(".")[0] in packages
    }


def _functions_of(value: Any) -> Iterator[FunctionType]:
    """A function and what it wraps, or the methods that a class itself defines.

    Static methods are apart, and what others have put into the class, as `enum` does, stays open.
    """
    while type(value) is FunctionType:
        yield value
        value = vars(value).get("__wrapped__")
    if issubclass(type(value), type):
        for item in list(vars(value).values()):
            if isinstance(item, classmethod):
                item = item.__func__
            elif isinstance(item, property):
                item = item.fget
            if isinstance(item, FunctionType) and item.__module__ == value.__module__:
                yield from _functions_of(item)


def _code_that_calls(refuse: Callable[..., Any], free: tuple[str, ...]) -> CodeType:
    """Code for a function with these free variables that calls another, whatever it is given."""
    constants = tuple(refuse if item == 0.5 else item for item in _CALLS.co_consts)
    return _CALLS.replace(co_consts=constants, co_freevars=free)


def _calls(*_: Any, **__: Any) -> Any:
    stop: Any = 0.5
    return stop()


_CALLS = _calls.__code__
