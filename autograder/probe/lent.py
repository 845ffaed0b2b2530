"""What stands in for a wrong earlier part: ours, made from its source, which tells when it is used."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable
from typing import Any

NOTEBOOK = "__main__"  # where pickle looks for a class of this name while ours is in its place


def lent(name: str, source: str, tell: Callable[[str], object]) -> Any:
    """Ours: a function, or a class that is ours in all but that it tells of each object that is made.

    Args:
        name: of what the source defines.
        source: Python, which brings all that it needs.
        tell: is told the name of what is called.
    """
    names: dict[str, Any] = {"__name__": NOTEBOOK, "__builtins__": builtins}
    exec(source, names)  # noqa: S102 (ours)
    ours = names[name]
    constructor = ours.__init__

    def told(*positional: Any, **keywords: Any) -> Any:
        tell(name)
        return ours(*positional, **keywords)

    def made(self: Any, *positional: Any, **keywords: Any) -> None:
        tell(name)
        constructor(self, *positional, **keywords)

    if inspect.isclass(ours):
        own = {"__init__": functools.wraps(constructor)(made), "__module__": NOTEBOOK}
        return type(name, (ours,), own)
    return functools.wraps(ours)(told)
