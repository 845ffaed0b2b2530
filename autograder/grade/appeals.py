"""A student's request to look again at a part, which stands in the notebook in one of two places.

``python -m autograder appeal PART "why"`` writes it into the metadata. Typed as a ``!`` line of a cell, it writes
nothing, since whoever has the notebook open would save over it: there the line itself is the request.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from autograder.bounds import LONGEST_APPEAL, MOST_APPEALS
from autograder.files import cut, digest_of, printable
from autograder.grade.report import CHECK, Appeal, grade_id_of

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from autograder.grade.messages import ReleasedCell

KEY, LIST = "autograder", "appeals"  # of the file's metadata, and of what stands there
HELD = "appeals"  # of the metadata of a notebook that was read
LONGEST_LINE = (
    4 * LONGEST_APPEAL
)  # of a cell, in which the shell's own signs may stand before each letter
LINE = re.compile(
    r"[^\S\n]*![^\S\n]*(\S{1,200}[^\S\n]+-m[^\S\n]+autograder[^\S\n]+appeal[^\S\n].*)"
)


class _Words(argparse.ArgumentParser):
    """Reads the words of a command, and ends no process over them."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def add_words(parser: argparse.ArgumentParser) -> None:
    """What follows the command's name, in a terminal as in a cell."""
    parser.add_argument("part", help="its name, as in the feedback")
    parser.add_argument("why", nargs="+", help="a sentence or two")
    parser.add_argument(
        "--notebook", type=Path, help="its file, if there are several in this folder or none"
    )


_WORDS = _Words(add_help=False)
add_words(_WORDS)


def reason_in(words: str) -> str:
    """A reason as one line of signs that can be shown."""
    return printable(" ".join(words.split()))


def asked_in(metadata: object) -> Iterator[tuple[str, str]]:
    """Part and reason of each request in a file's metadata, where anything may stand."""
    held = metadata.get(KEY) if isinstance(metadata, dict) else None
    listed = held.get(LIST) if isinstance(held, dict) else None
    for one in listed[-MOST_APPEALS:] if isinstance(listed, list) else ():
        part, why = (one.get("part"), one.get("why")) if isinstance(one, dict) else (None, None)
        if isinstance(part, str) and isinstance(why, str):
            yield printable(part[:LONGEST_LINE]), why[:LONGEST_LINE]


def typed_in(sources: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Part and reason of each request that stands in a cell as a line for the shell."""
    lines = (line for source in sources for line in source.replace("\\\n", " ").split("\n"))
    found = [line for line in lines if len(line) <= LONGEST_LINE and LINE.match(line)]
    for line in found[-MOST_APPEALS:]:
        try:
            words = _WORDS.parse_known_args(shlex.split(line.lstrip(" \t!"))[4:])[0]
        except ValueError:  # the shell did not take it either
            continue
        yield words.part, " ".join(words.why)


def appeals_in(notebook: NotebookNode, released: Sequence[ReleasedCell]) -> tuple[Appeal, ...]:
    """What a student asks to look at again, one request a part: the last, and a cell before the metadata.

    Args:
        notebook: restored, and not run yet.
        released: its cells with points say which parts there are.
    """
    parts = [cell.name.removeprefix(CHECK) for cell in released if cell.points]
    own = [cell for cell in notebook.cells if not cell.metadata.get("nbgrader", {}).get("locked")]
    code = [cell.source for cell in own if cell.cell_type == "code"]
    asked = dict([*notebook.metadata.get(HELD, ()), *typed_in(code)])
    asked = {part: cut(reason_in(why), LONGEST_APPEAL) for part, why in asked.items()}
    return tuple(
        Appeal(part, asked[part], digest_of(f"{asked[part]}\n{_answer(part, own)}"))
        for part in dict.fromkeys(parts)
        if asked.get(part)
    )


def _answer(part: str, own: Sequence[NotebookNode]) -> str:
    """What a student wrote for a part: its cell, and others that define it."""
    defines = re.compile(rf"^[^\S\n]*(def|class)\s+{re.escape(part)}\b", re.MULTILINE)
    return "\n".join(
        cell.source for cell in own if grade_id_of(cell) == part or defines.search(cell.source)
    )
