"""What a notebook may have in it and does not run while it is graded: it says so in a line, and the cell goes on.

Installing packages, shell commands and other programs, debuggers, questions to a person, compiling, and
another default device have nothing to do with an answer. They work at a student's desk, where nobody would
expect a cell to stop over them.
"""

from __future__ import annotations

import code
import functools
import io
import os
import pdb  # noqa: T100 (so that it is not entered)
import re
import subprocess
import sys
import types
import typing
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from typing import Any, Self

import IPython
import torch
import typing_extensions
from ipykernel.ipkernel import IPythonKernel
from IPython.core import debugger
from IPython.core.interactiveshell import InteractiveShell

INSTALLERS = ("pip", "conda", "mamba", "micromamba", "uv")
SHELLS = (
    "bash", "sh", "script", "system", "sx", "!", "cmd", "ruby", "perl", "python", "python2", "python3", "pypy",
)  # fmt: skip
# magics of whole cells that measure what they run, or hide what it prints, and errors with it
WRAPPING = re.compile(r"\A(\s*)%%(?:time|capture|prun)\b[^\n]*")
DEBUGGERS = ("ipdb", "pudb")  # packages of their own, whether they are installed or not
LATER_TYPES = ("override", "ReadOnly", "TypeIs")  # of `typing` in later versions of Python
set_default_device = torch.set_default_device
LONGEST = 80  # characters of a command that are shown


def tell(what: str) -> None:
    """Say in the cell's output what was not run."""
    line = " ".join(str(what).split())
    shown = line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
    print(f"not run while grading: {shown}")


def unwrapped(code: str) -> str:
    """A cell without a magic in front that changes nothing of what the cell defines; each line stays where it is."""
    return WRAPPING.sub(r"\1#", code)


class NotRun:
    """In the place of `subprocess.Popen`: a program that ended at once, well, and without a word."""

    __class_getitem__: Any = classmethod(types.GenericAlias)  # libraries write `Popen[bytes]`
    returncode, pid = 0, 0

    def __init__(self, args: Any, *_: Any, **options: Any) -> None:
        self.args = args
        tell(args if isinstance(args, str) else " ".join(map(str, args)))
        words = ("text", "universal_newlines", "encoding", "errors")
        text = any(options.get(word) for word in words)
        self._nothing: str | bytes = "" if text else b""
        for stream in ("stdin", "stdout", "stderr"):
            there = options.get(stream) == subprocess.PIPE
            setattr(self, stream, (io.StringIO() if text else io.BytesIO()) if there else None)

    def communicate(self, *_: Any, **__: Any) -> tuple[str | bytes, str | bytes]:
        return self._nothing, self._nothing

    def poll(self) -> int:
        return 0

    def wait(self, *_: Any, **__: Any) -> int:
        return 0

    def kill(self) -> None:
        return None

    terminate = kill

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _system(command: str) -> int:
    tell(command)
    return 0


def _popen(command: str, *_: Any, **__: Any) -> io.StringIO:
    tell(command)
    return io.StringIO()


def _input(prompt: object = "", *_: Any, **__: Any) -> str:
    tell(f"input({prompt!r}), which gives an empty text here")
    return ""


def _debugger(*_: Any, **__: Any) -> None:
    tell("a debugger")


def as_it_is(model: Any = None, **_: Any) -> Any:
    """In the place of `torch.compile`: the function itself, which computes the same."""
    if model is None:
        return lambda function: function
    return model


def on_the_cpu(device: torch.device | str | int | None) -> None:
    """In the place of `torch.set_default_device`: tensors stay on the only device that there is."""
    if device is None or torch.device(device).type in ("cpu", "meta"):
        set_default_device(device)
    else:
        tell(f"torch.set_default_device({str(device)!r}); tensors stay on the CPU")


def make_inert(kernel: IPythonKernel) -> None:
    """Let nothing of it run in this process any more."""
    shell: InteractiveShell = kernel.shell
    kernel.raw_input = kernel.getpass = (
        _input  # which it puts in the place of `input` for each cell
    )
    shell.system = shell.system_raw = shell.system_piped = _system
    shell.getoutput = _output_of
    for name in INSTALLERS:
        shell.register_magic_function(_magic(f"%{name}"), "line", name)
    for name in SHELLS:
        shell.register_magic_function(_cell_magic(f"%%{name}"), "cell", name)
    for name in ("system", "sx", "debug", "pdb"):
        shell.register_magic_function(_magic(f"%{name}"), "line", name)
    shell.register_magic_function(_pictures_of(shell), "line", "matplotlib")
    shell.run_line_magic = _known_magics_of(shell)
    os.system, os.popen = _system, _popen  # type: ignore[assignment]
    subprocess.Popen = NotRun  # type: ignore[assignment,misc]
    sys.breakpointhook = _debugger
    pdb.set_trace = debugger.set_trace = _debugger
    for kind in (pdb.Pdb, debugger.Pdb):
        kind.set_trace = _debugger  # type: ignore[method-assign]
    pdb.post_mortem = pdb.pm = _debugger
    IPython.embed = code.interact = _debugger
    for name in DEBUGGERS:
        sys.modules[name] = _debugging(name)
    torch.compile = as_it_is
    torch.set_default_device = on_the_cpu
    for name in LATER_TYPES:
        if not hasattr(typing, name):
            setattr(typing, name, getattr(typing_extensions, name))


def _output_of(command: str, *_: Any, **__: Any) -> list[str]:
    tell(command)
    return []


def _debugging(name: str) -> types.ModuleType:
    """A module in the place of a debugger."""
    module = module_from_spec(ModuleSpec(name, None))
    for entry in ("set_trace", "post_mortem", "pm"):
        setattr(module, entry, _debugger)
    return module


def _magic(name: str) -> Callable[[str], None]:
    return lambda line: tell(f"{name} {line}")


def _cell_magic(name: str) -> Callable[[str, str], None]:
    def not_run(line: str, _cell: str) -> None:
        tell(f"{name} {line}")

    return not_run


def _known_magics_of(shell: InteractiveShell) -> Callable[..., Any]:
    """What runs line magics, and passes over those that come with a package which is not there."""
    run = shell.run_line_magic

    def run_line_magic(name: str, line: str, _stack_depth: int = 1) -> Any:
        if shell.find_line_magic(name) is None:
            return tell(f"%{name} {line}")
        return run(name, line, _stack_depth + 1)

    return run_line_magic


def _pictures_of(shell: InteractiveShell) -> Callable[[str], Any]:
    """`%matplotlib`, which shows pictures where they always stand, whatever the notebook asks for."""
    inline = shell.find_line_magic("matplotlib")

    @functools.wraps(inline)
    def matplotlib(line: str) -> Any:
        word = line.strip()
        if word in ("", "inline", "agg", "--list", "-l"):
            return inline(line)
        tell(f"%matplotlib {word}; pictures are shown inline")
        return inline("inline")

    return matplotlib
