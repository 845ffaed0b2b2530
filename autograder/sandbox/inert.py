"""What a notebook may have in it and does not run while it is graded: it says so in a line, and the cell goes on.

Installing packages, shell commands and other programs, debuggers, questions to a person, compiling, and
another default device have nothing to do with an answer. They work at a student's desk, where nobody would
expect a cell to stop over them.
"""

from __future__ import annotations

import io
import os
import pdb  # noqa: T100 (so that it is not entered)
import re
import subprocess
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, Self

import typing_extensions
from ipykernel.ipkernel import IPythonKernel
from IPython.core.interactiveshell import InteractiveShell

from autograder.arrays import pytorch

LINES = ("pip", "conda", "mamba", "micromamba", "uv", "system", "sx", "debug", "pdb")
SHELLS = (
    "bash", "sh", "script", "system", "sx", "!", "cmd", "ruby", "perl", "python", "python2", "python3", "pypy",
)  # fmt: skip
# magics of whole cells that measure what they run, or hide what it prints, and errors with it
WRAPPING = re.compile(r"\A(\s*)%%(?:time|capture|prun)\b[^\n]*")
LATER_TYPES = ("override", "ReadOnly", "TypeIs")  # of `typing` in later versions of Python
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
    returncode = pid = 0

    def __init__(self, args: Any, *_: Any, **options: Any) -> None:
        self.args = args
        tell(args if isinstance(args, str) else " ".join(map(str, args)))
        words = ("text", "universal_newlines", "encoding", "errors")
        stream = io.StringIO if any(options.get(word) for word in words) else io.BytesIO
        self.stdin, self.stdout, self.stderr = stream(), stream(), stream()

    def communicate(self, *_: Any, **__: Any) -> tuple[str | bytes, str | bytes]:
        return self.stdout.read(), self.stderr.read()

    def poll(self, *_: Any, **__: Any) -> int:
        return 0

    wait = kill = terminate = poll

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _system(command: str) -> int:
    return NotRun(command).returncode


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


def _make_pytorch_inert(torch: Any) -> None:
    set_default_device = torch.set_default_device

    def on_the_cpu(device: Any) -> None:
        """In the place of `torch.set_default_device`: tensors stay on the only device that there is."""
        if device is None or torch.device(device).type in ("cpu", "meta"):
            set_default_device(device)
        else:
            tell(f"torch.set_default_device({str(device)!r}); tensors stay on the CPU")

    torch.compile, torch.set_default_device = as_it_is, on_the_cpu


def make_inert(kernel: IPythonKernel) -> None:
    """Let nothing of it run in this process any more."""
    shell: InteractiveShell = kernel.shell
    # which it puts in the place of `input` for each cell
    kernel.raw_input = kernel.getpass = _input
    shell.system = shell.system_raw = shell.system_piped = _system
    shell.getoutput = lambda command, *_, **__: _system(command) or []
    for name in SHELLS:
        shell.register_magic_function(_cell_magic(f"%%{name}"), "cell", name)
    shell.register_magic_function(_matplotlib, "line", "matplotlib")
    shell.run_line_magic = _without_some_magics(shell)
    os.system = _system  # type: ignore[assignment]
    os.popen = lambda command, *_, **__: NotRun(command, text=True).stdout  # type: ignore[assignment]
    subprocess.Popen = NotRun  # type: ignore[assignment,misc]
    sys.breakpointhook = _debugger
    pdb.set_trace = pdb.post_mortem = pdb.pm = _debugger
    if torch := pytorch():
        _make_pytorch_inert(torch)
    for name in LATER_TYPES:
        if not hasattr(typing, name):
            setattr(typing, name, getattr(typing_extensions, name))


def _cell_magic(name: str) -> Callable[[str, str], None]:
    def not_run(line: str, _cell: str) -> None:
        tell(f"{name} {line}")

    return not_run


def _without_some_magics(shell: InteractiveShell) -> Callable[..., Any]:
    """What runs line magics, but for those of `LINES` and of packages which are not there."""
    run = shell.run_line_magic

    def run_line_magic(name: str, line: str, _stack_depth: int = 1) -> Any:
        if name in LINES or shell.find_line_magic(name) is None:
            return tell(f"%{name} {line}")
        return run(name, line, _stack_depth + 1)

    return run_line_magic


def _matplotlib(line: str) -> None:
    """`%matplotlib`: pictures are shown where they always stand, whatever a notebook asks for."""
    if line.strip() not in ("", "inline"):
        tell(f"%matplotlib {line}; pictures are shown inline")
