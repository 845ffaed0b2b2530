"""Read what a student handed in: a folder, its files, and a notebook in them. Any of it may be odd.

Everything here is bounded, in size, number and depth, and opens plain files only. What is wrong with a
submission is said in words; what can be put right without guessing is put right.
"""

from __future__ import annotations

import codecs
import itertools
import json
import os
import re
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from autograder.bounds import (
    DEEPEST_FOLDER,
    LARGEST_FILE,
    LARGEST_FILES,
    LARGEST_NOTEBOOK,
    LONGEST_NAME,
    LONGEST_TIME,
    MOST_CELLS,
    MOST_FILES,
    MOST_LINES,
)
from autograder.checks.course import NO_COURSE, Course
from autograder.files import TIME, printable
from autograder.grade.appeals import HELD, asked_in
from autograder.grade.invalid import InvalidSubmission, digest_of_work
from autograder.grade.large_notebook import TOO_MANY_LINES, lighter, text_in
from autograder.sandbox.channel import MOST_VALUES, values_in

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
MERGE_MARK = re.compile(r"^<<<<<<<( |$)", re.MULTILINE)
CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
PICTURE, BASE64 = re.compile(r"image/(png|jpeg|gif)"), re.compile(r"[A-Za-z0-9+/=\s]*")


@dataclass(frozen=True)
class Submission:
    """What stands in a student's folder.

    Attributes:
        notebook: the text of the notebook's file.
        files: what lies beside it, by relative name.
        left_out: how many files were too many, too large or too deep to be taken along.
        digest: of the notebook's file and of the files beside it, see `digest_of_work`.
        came_in: the text of `TIME`; empty if there is none that could be a time.
    """

    notebook: str
    files: dict[str, bytes] = field(default_factory=dict)
    left_out: int = 0
    digest: str = ""
    came_in: str = ""


def read_folder(folder: Path, assignment: str, course: Course = NO_COURSE) -> Submission:
    """A student's folder for an assignment of a course.

    Raises:
        InvalidSubmission: there is no notebook of the right name in it, or none that is text.
    """
    for place in (folder.parent, folder):
        if place.is_symlink() or not place.is_dir():
            raise InvalidSubmission(
                f"expected a folder {printable(place.name)}, found a link or a file",
            )
    files, left_out = files_beside(folder, course)
    came_in = (read_plain(folder / TIME, LONGEST_TIME) or b"").decode("utf-8", "replace").strip()
    data = b""
    try:
        data = read_notebook(notebook_in_folder(folder, assignment))
        notebook = text_of(data)
    except InvalidSubmission as problem:
        problem.digest, problem.came_in = digest_of_work(data, files), came_in
        raise
    return Submission(notebook, files, left_out, digest_of_work(data, files), came_in)


def notebook_in_folder(folder: Path, assignment: str) -> Path:
    """Where a folder's notebook lies: the one of the right name, else the only one."""
    wanted = folder / f"{assignment}.ipynb"
    if wanted.exists() or wanted.is_symlink():
        return wanted
    found = [
        folder / entry.name
        for entry, _ in zip(_names(folder), range(4 * MOST_FILES), strict=False)
        if entry.name.endswith(wanted.suffix) and entry.is_file(follow_symlinks=False)
    ]
    return found[0] if len(found) == 1 else wanted


def files_beside(folder: Path, course: Course) -> tuple[dict[str, bytes], int]:
    """The plain files below a folder that are no notebooks, by relative name, and how many were left.

    What is a copy of the course's own is as if it were not there, see `Course.owns`.
    """
    files: dict[str, bytes] = {}
    left_out = size = 0
    for path, depth in _walk(folder, course):
        if path.suffix == ".ipynb":
            continue
        data = None
        name = str(path.relative_to(folder))
        if depth <= DEEPEST_FOLDER and len(files) < MOST_FILES and _can_travel(name):
            data = read_plain(path, LARGEST_FILES - size)
        if data is None:
            left_out += 1
            continue
        size += len(data)
        files[name] = data
    return files, left_out


def _can_travel(name: str) -> bool:
    """Whether a file's relative name is text, and leaves room for a suffix in each of its parts."""
    try:
        return all(len(part.encode()) < LONGEST_NAME for part in name.split("/"))
    except UnicodeEncodeError:
        return False


def _walk(folder: Path, course: Course) -> Iterator[tuple[Path, int]]:
    """Plain files below a folder with their depth, up to a number, those above first; links are not followed."""
    number = 0
    todo = deque([(folder, 1)])

    def is_file(name: str) -> bool:
        return (folder / name).is_file() and not (folder / name).is_symlink()

    def is_of_course(path: str) -> bool:
        return course.owns(os.path.relpath(path, folder), is_file)

    while todo:
        place, depth = todo.popleft()
        try:
            with os.scandir(place) as listed:
                entries = sorted((entry for entry, _ in zip(listed, range(4 * MOST_FILES), strict=False)),
                                 key=lambda entry: entry.name)  # fmt: skip
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                # of a package of the course, nothing is looked at, however much there is
                if depth <= DEEPEST_FOLDER and not is_of_course(f"{entry.path}/any"):
                    todo.append((Path(entry.path), depth + 1))
            elif entry.is_file(follow_symlinks=False) and not is_of_course(entry.path):
                number += 1
                yield Path(entry.path), depth
            if number > 4 * MOST_FILES:
                return


def read_plain(path: Path, most: int) -> bytes | None:
    """The content of a plain file; None if it is none, or has more than so many bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > most:
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        data = file.read(most + 1)
    return data if len(data) <= most else None


def read_text(path: Path) -> str:
    """The text of a notebook's file, or an error as from `read_notebook` and `text_of`.

    Raises:
        InvalidSubmission: there is no such file, or it is empty, too large, or no text.
    """
    return text_of(read_notebook(path))


def read_notebook(path: Path) -> bytes:
    """The content of a notebook's file.

    Raises:
        InvalidSubmission: there is no such file, or it is empty or too large.
    """
    if path.is_symlink():
        raise InvalidSubmission(
            f"{path.name} is a link to somewhere else", "Ask for the file itself"
        )
    if not path.exists():
        raise InvalidSubmission(*_instead_of(path))
    if not path.is_file():
        raise InvalidSubmission(f"{path.name} is not a file", "Ask for the notebook")
    size = path.stat().st_size
    if size == 0:
        raise InvalidSubmission("the file is empty")
    if size > LARGEST_FILE:
        raise _too_large(size)
    data = read_plain(path, LARGEST_FILE)
    if data is None:
        raise InvalidSubmission(f"{path.name} cannot be opened", "May this user read it?")
    return data


def _too_large(size: int) -> InvalidSubmission:
    return InvalidSubmission(
        f"the notebook has {size >> 20} MiB, more than {LARGEST_FILE >> 20}",
        "Ask for it again without its outputs and its largest pictures",
    )


def text_of(data: bytes) -> str:
    """The text that a notebook's file holds; of a large one what `lighter` leaves.

    Raises:
        InvalidSubmission: it holds none, or one that is large and no notebook.
    """
    encoding = next((name for mark, name in BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        if len(data) <= LARGEST_NOTEBOOK:
            return data.decode(encoding)
        # as it is where it can be: of a large text, one letter may make four of each
        data = data if encoding == "utf-8" else data.decode(encoding).encode()
        size, data = len(data), lighter(data)
        if len(data) > LARGEST_NOTEBOOK:
            raise InvalidSubmission(
                f"not a notebook: the file has {size >> 20} MiB, and is not JSON with a list of cells",
                no_json=True,
            )
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidSubmission("not a notebook: the file is not UTF-8 text") from None


def _instead_of(path: Path) -> tuple[str, str]:
    """What stands where a notebook should, and what to do about it."""
    found = [
        printable(item.name)[:80] for item, _ in zip(_names(path.parent), range(5), strict=False)
    ]
    notebooks = [name for name in found if name.endswith(".ipynb")]
    if notebooks:
        return f"expected a file named {path.name}, found {', '.join(notebooks)}: rename it", ""
    there = f"found only {', '.join(found)}" if found else "the folder is empty"
    return f"expected a notebook named {path.name}, {there}", "Ask for the notebook"


def _names(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from entries


def notebook_in(text: str) -> NotebookNode:
    """The notebook that a file's text holds: its cells, and of its and their metadata what grading reads.

    Outputs are left out, and so is whatever the format demands and a student's editor may have
    forgotten: metadata, ids, execution counts. They are made anew.

    Raises:
        InvalidSubmission: it is no notebook of Jupyter's format 3 or 4.
    """
    text = text.removeprefix("\ufeff")
    if values_in(text.encode("utf-8", "replace")) > MOST_VALUES:
        text = lighter(text.encode("utf-8", "replace")).decode()
        if values_in(text.encode("utf-8", "replace")) > MOST_VALUES:
            raise InvalidSubmission(
                f"not a valid notebook: it holds more than {MOST_VALUES} values"
            )
    try:
        data = json.loads(text)
        if isinstance(data, dict) and data.get("nbformat") == 3 and type(data["nbformat"]) is int:
            _bound_headings(data)
            data = nbformat.convert(nbformat.from_dict(data), 4)
    except RecursionError:
        raise InvalidSubmission("not a valid notebook: it is nested too deeply") from None
    except ValueError:
        raise InvalidSubmission(_why_no_json(text), no_json=True) from None
    except Exception as error:  # noqa: BLE001 (the conversion trusts what it is given)
        raise InvalidSubmission(
            f"not a valid notebook: format 3, and it cannot be converted ({type(error).__name__})",
        ) from None
    cells = data.get("cells") if isinstance(data, dict) else None
    if not isinstance(cells, list):
        raise InvalidSubmission("not a valid notebook: it has no list of cells")
    if len(cells) > MOST_CELLS:
        raise InvalidSubmission(f"the notebook has {len(cells)} cells, more than {MOST_CELLS}")
    notebook = nbformat.v4.new_notebook()
    if asked := list(asked_in(data.get("metadata"))):
        notebook.metadata[HELD] = asked
    taken: set[str] = set()
    lines = 0
    for number, cell in enumerate(cells):
        if isinstance(cell, dict):
            made = _cell(cell, number, taken)
            lines += made.source.count("\n")
            if lines > MOST_LINES:
                lines -= made.source.count("\n")
                made.source = f"# {TOO_MANY_LINES}" if made.cell_type == "code" else TOO_MANY_LINES
            notebook.cells.append(made)
    return notebook


def _why_no_json(text: str) -> str:
    """What is wrong with a file that should be a notebook."""
    mark = MERGE_MARK.search(text)
    if not mark:
        return "not a notebook: the file is not JSON"
    line = text.count("\n", 0, mark.start()) + 1
    return (
        f"not a notebook: the file is not JSON, since line {line} begins with `<<<<<<<`, a mark that merging "
        "two versions has left. Keep one of the two versions, and delete the marks"
    )


def _bound_headings(data: dict[str, Any]) -> None:
    """Give headings of format 3 a level that there is: one becomes as many signs as its level."""
    for sheet in data.get("worksheets", []):
        for cell in sheet.get("cells", []):
            if cell.get("level") not in range(1, 7):
                cell["level"] = 1


def _cell(cell: dict[str, Any], number: int, taken: set[str]) -> NotebookNode:
    """A cell in today's format, from one in about that format."""
    kind = cell.get("cell_type")
    made = NotebookNode(
        cell_type=kind if kind in ("code", "markdown", "raw") else "raw",
        id=_id(cell.get("id"), number, taken),
        metadata=NotebookNode(),
        source=text_in(cell.get("source")),
    )
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if isinstance(marks, dict) and isinstance(marks.get("grade_id"), str):
        made.metadata.nbgrader = NotebookNode(grade_id=marks["grade_id"])
        if is_given_out(made, marks):
            made.metadata.nbgrader.given_out = True
    if made.cell_type == "code":
        made.update(execution_count=None, outputs=[])
    else:
        attachments = _pictures(cell.get("attachments"))
        if attachments:
            made.attachments = attachments
    return made


def is_given_out(cell: NotebookNode, marks: Mapping[str, Any]) -> bool:
    """Whether a locked cell is what some release gave out, letter by letter, by its checksum in nbgrader's marks."""
    released = NotebookNode(
        cell_type=cell.cell_type, source=cell.source, metadata=NotebookNode(nbgrader=marks)
    )
    try:
        return marks["locked"] is True and marks["checksum"] == compute_checksum(released)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return False


def _id(given: object, number: int, taken: set[str]) -> str:
    name = given if isinstance(given, str) and CELL_ID.fullmatch(given) else f"cell-{number}"
    return free_id(name, taken)


def free_id(name: str, taken: set[str]) -> str:
    """An id like this one that no other cell has, added to those that are taken."""
    ids = (f"{name[:50]}-{number}" for number in itertools.count(len(taken)))
    found = name if name not in taken else next(item for item in ids if item not in taken)
    taken.add(found)
    return found


def _pictures(attachments: object) -> NotebookNode:
    """Those attachments of a cell that are pictures and nothing else."""
    kept = NotebookNode()
    for name, kinds in attachments.items() if isinstance(attachments, dict) else ():
        if isinstance(kinds, dict) and all(
            PICTURE.fullmatch(kind) and isinstance(data, str) and BASE64.fullmatch(data)
            for kind, data in kinds.items()
        ):
            kept[text_in(name)] = NotebookNode(kinds)
    return kept
