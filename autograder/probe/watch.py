"""See which functions a call uses while it runs, whatever names they hide behind.

Reading the code finds most of what a part may not use; this finds what is reached by a name put
together at run time. It looks at some calls only, since it slows them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType, FrameType, ModuleType
from typing import Any, Self

from torch.overrides import TorchFunctionMode


def within_reach(libraries: Iterable[str], harmless: Iterable[str]) -> tuple[str, ...]:
    """Folders of the libraries of which any module is imported here that may hold an answer."""
    found = []
    for name in libraries:
        package = sys.modules.get(name)
        if package is None or not package.__path__:
            continue
        modules = (value for value in vars(package).values() if isinstance(value, ModuleType))
        if any(module.__name__ not in harmless for module in modules):
            found.append(f"{package.__path__[0]}/")
    return tuple(found)


class Watch(TorchFunctionMode):
    """Notes the first function of PyTorch's, or of the course's own, that has one of some names.

    Args:
        names: of functions and classes.
        libraries: packages of the course.
        harmless: modules of these that hold no answer.

    Attributes:
        seen: the name that was found; empty so far.
    """

    def __init__(
        self, names: Iterable[str], libraries: Iterable[str] = (), harmless: Iterable[str] = ()
    ) -> None:
        super().__init__()
        self.names = frozenset(names)
        self.folders = within_reach(libraries, frozenset(harmless))
        self.seen = ""

    def __enter__(self) -> Self:
        if self.folders:
            sys.setprofile(self._entered)
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if sys.getprofile() == self._entered:
            sys.setprofile(None)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "").split(".")[0]  # an operator's overload has more
        if not self.seen and name in self.names:
            self.seen = name
        return func(*args, **(kwargs or {}))

    def _entered(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and not self.seen:
            self._look_at(frame.f_code)

    def _look_at(self, code: CodeType) -> None:
        if code.co_filename.startswith(self.folders):
            owner = code.co_qualname.split(".")[0]
            if owner in self.names:
                self.seen = owner
