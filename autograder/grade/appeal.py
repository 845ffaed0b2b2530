"""``python -m autograder appeal``: let one's own notebook ask a person to look again at a part."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from autograder.bounds import LONGEST_APPEAL
from autograder.files import listed, meant, write_whole
from autograder.grade.appeals import KEY, LIST, reason_in
from autograder.grade.feedback_page import plan_of
from autograder.grade.invalid import InvalidSubmission
from autograder.grade.self_check import NotGradable, opened
from autograder.grade.submission import read_notebook

# what a kernel hands on to the programs that its cells start
OF_A_KERNEL = ("JPY_PARENT_PID", "JPY_SESSION_NAME")
INDENT = re.compile(r"\{\r?\n( +)\"")

IN_A_CELL = (
    "{part}: you ask a person to look again. This cell says so, so keep it, save the notebook, and hand it in "
    "again. Nothing was written into the file, which is open."
)
IN_THE_FILE = (
    "{part}: {notebook} asks a person to look again. Hand it in again. If it is open in JupyterLab, choose "
    "File → Reload Notebook from Disk before you save it."
)


def appeal(part: str, why: str, notebook: Path | None = None) -> str:
    """Let a notebook ask for it, in its metadata, in the place of what it asked about this part before.

    Args:
        notebook: its file; None for the one in the current folder, or in which the command is typed.

    Returns:
        what its author should do now.

    Raises:
        NotGradable: there is no reason or one that is too long, no such notebook, or no such part.
    """
    why = reason_in(why)
    if not why:
        raise NotGradable("expected a reason, found none. Say in a sentence what is right about it")
    if len(why) > LONGEST_APPEAL:
        raise NotGradable(
            f"expected a reason of at most {LONGEST_APPEAL} characters, found {len(why)}"
        )
    in_a_cell = any(os.environ.get(name) for name in OF_A_KERNEL)
    session = Path(os.environ.get(OF_A_KERNEL[1], ""))
    if notebook is None and session.is_file():
        notebook = session
    with_part = _with_part(part, sorted(Path().glob("*.ipynb")) if notebook is None else [notebook])
    if in_a_cell:
        return IN_A_CELL.format(part=part)
    if len(with_part) > 1:
        names = ", ".join(path.name for path in with_part)
        raise NotGradable(f"{names} all have it. Say which one is meant with --notebook FILE")
    _write(with_part[0], part, why)
    return IN_THE_FILE.format(part=part, notebook=with_part[0].name)


def _with_part(part: str, notebooks: list[Path]) -> list[Path]:
    """Those of the notebooks whose assignment has a part; if one alone was there, its own error says why not."""
    if not notebooks:
        raise NotGradable("there is no notebook in this folder. Say which one with --notebook FILE")
    parts: dict[Path, list[str]] = {}
    for path in notebooks:
        try:
            parts[path] = [task.name for task in plan_of(opened(path)[0]).tasks]
        except NotGradable:
            if len(notebooks) == 1:
                raise
    found = [path for path, names in parts.items() if part in names]
    if not found:
        names = list(dict.fromkeys(name for names in parts.values() for name in names))
        said = meant(part, names) or listed(names)
        raise NotGradable(f"expected the name of a part, found “{part}”. {said}")
    return found


def _write(path: Path, part: str, why: str) -> None:
    """Write it into a notebook's file, in which all else stays as it is, in its order and with its indents."""
    try:
        data = read_notebook(path)
    except InvalidSubmission as problem:
        raise NotGradable(f"{path}: {problem}") from None
    notebook = json.loads(data)
    held = _dict_in(_dict_in(notebook, "metadata"), KEY)
    asked = held.get(LIST)
    before = asked if isinstance(asked, list) else []
    others = [one for one in before if isinstance(one, dict) and one.get("part") != part]
    held[LIST] = [*others, {"part": part, "why": why}]
    found = INDENT.match(data[:100].decode("utf-8", "replace"))
    text = json.dumps(notebook, ensure_ascii=False, indent=len(found[1]) if found else 1)
    mode = path.stat().st_mode
    try:
        write_whole(path, text + "\n" * data.endswith(b"\n"))
        path.chmod(mode)
    except OSError as error:
        raise NotGradable(f"{path} cannot be written: {error.strerror}") from None


def _dict_in(above: dict[str, Any], name: str) -> dict[str, Any]:
    """What stands there; where that is something else, nothing from here on."""
    if not isinstance(above.get(name), dict):
        above[name] = {}
    return above[name]
