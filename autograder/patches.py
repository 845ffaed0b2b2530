"""Changes to other people's modules, each with its reason; a test fails when one is not needed.

None changes what a notebook sees.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

CELLS = "/tmp/ipykernel_"  # how file names of cells begin


def for_everybody() -> None:
    """What the whole package wants, from its first import on."""
    # jsonschema, which nbformat asks whether a notebook is one, spends seconds on compiling the
    # grammar of web addresses if this package is there. No notebook's format has any to check.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


def for_kernels() -> None:
    """What makes kernels faster that are forked from this process; twice does no more than once."""
    from IPython.core.inputtransformer2 import TransformerManager
    from IPython.core.interactiveshell import InteractiveShell

    if inspect.getmodule is module_of:
        return
    changed: Any = inspect
    changed.getmodule = module_of
    changed = InteractiveShell
    changed._format_exception_for_storage = no_second_traceback
    changed = TransformerManager
    changed.transform_cell = remembering_the_last(TransformerManager.transform_cell)


def for_gradebooks() -> None:
    """What makes a new gradebook in a moment; twice does no more than once."""
    from nbgrader import api

    changed: Any = api
    changed.get_alembic_version = newest_version


@functools.cache
def newest_version() -> str:
    """The version of nbgrader's tables, for which it starts a program, once for every new gradebook."""
    import nbgrader
    from alembic.script import ScriptDirectory

    scripts = Path(nbgrader.__file__).parent / "alembic"
    return str(ScriptDirectory(str(scripts)).get_current_head())


_getmodule = inspect.getmodule


def module_of(thing: Any, _filename: str | None = None) -> types.ModuleType | None:
    """What `inspect.getmodule` returns; it asks all modules before it finds that a cell is none.

    For a traceback it is called some ten times with each frame.
    """
    code = thing.f_code if isinstance(thing, types.FrameType) else thing
    if isinstance(code, types.CodeType) and code.co_filename.startswith(CELLS):
        return None
    return _getmodule(thing, _filename)


def no_second_traceback(*_: Any) -> None:
    """IPython formats each traceback a second time, for a history that ends with the kernel."""


def remembering_the_last(transform: Callable[[Any, str], str]) -> Callable[[Any, str], str]:
    """ipykernel and IPython each transform a cell, and nothing of a notebook runs in between."""
    last: dict[str, str] = {}

    @functools.wraps(transform)
    def transform_once(manager: Any, cell: str) -> str:
        known = last.pop(cell, None)
        if known is None:
            last.clear()
            known = last[cell] = transform(manager, cell)
        return known

    return transform_once
