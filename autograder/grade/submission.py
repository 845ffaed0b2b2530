"""Read what a student handed in: a folder, its files, and a notebook in them. Any of it may be odd.

Everything here is bounded, in size, number and depth, and opens plain files only. What is wrong with a
submission is said in words; what can be put right without guessing is put right.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import itertools
import json
import os
import re
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import nbformat
from msgspec import Raw, Struct
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from autograder.bounds import (
    DEEPEST_FOLDER,
    LARGEST_APPEALS,
    LARGEST_FILE,
    LARGEST_FILES,
    LARGEST_MARKS,
    LARGEST_NOTEBOOK,
    LONGEST_NAME,
    LONGEST_TIME,
    MOST_ATTACHED,
    MOST_CELLS,
    MOST_FILES,
    MOST_LINES,
    SIZE_OF_FIELDS,
)
from autograder.checks.course import NO_COURSE, Course
from autograder.files import printable
from autograder.grade.appeals import HELD, KEY, asked_in
from autograder.grade.report import Report
from autograder.sandbox.channel import MOST_VALUES, values_in

TIME = "timestamp.txt"  # nbgrader's own, beside what a student handed in: when it came in
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
MERGE_MARK = re.compile(r"^<<<<<<<( |$)", re.MULTILINE)
TOO_MANY_LINES = "This cell was left out: with it, the notebook has more lines than are read."
TOO_MANY_BYTES = (
    f"This cell was left out: with it, the notebook has more than {LARGEST_NOTEBOOK >> 20} MiB."
)
LEFT_OUT = (
    "Left out, since with it the notebook has more than {most} MiB: {pictures}. All else was read."
)
IN_A_TEXT = re.compile(r"data:[\w.+/-]*;base64,[A-Za-z0-9+/=%]+")
NAMED_BEFORE = re.compile(r"!\[([^\]\n]{0,200})\]\(\s{0,20}$")
# transparent
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNgYAAAAAMAASsJTYQAAAAASUVORK5CYII="
)
CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
PICTURE, BASE64 = re.compile(r"image/(png|jpeg|gif)"), re.compile(r"[A-Za-z0-9+/=\s]*")


class InvalidSubmission(Exception):
    """A submission that cannot be run; the message says why and what to do.

    Args:
        remedy: what an instructor should do about it.
        no_json: what is wrong is that it is not JSON.

    Attributes:
        digest, came_in: as of a `Submission`.
    """

    def __init__(
        self, message: str, remedy: str = "Ask for it again", no_json: bool = False
    ) -> None:
        super().__init__(f"{message}. {remedy}" if remedy else message)
        self.message, self.no_json = message, no_json
        self.digest = digest_of_work(b"", {})
        self.came_in = ""

    @property
    def report(self) -> Report:
        """What becomes of its job."""
        return Report(
            str(self),
            told=self.message,
            no_json=self.no_json,
            digest=self.digest,
            came_in=self.came_in,
        )


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


def digest_of_work(notebook: bytes, files: Mapping[str, bytes]) -> str:
    """What tells one piece of work from another: a digest of the notebook's file, +, one of the files.

    When it came in does not count: the same work may be collected again.
    """
    beside = hashlib.sha256()
    for name in sorted(files.keys() - {TIME}):
        beside.update(f"{len(name)} {name} {len(files[name])} ".encode() + files[name])
    return f"{hashlib.sha256(notebook).hexdigest()[:16]}+{beside.hexdigest()[:16]}"


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
    """The text that a notebook's file holds; of a large one what `_lighter` leaves.

    Raises:
        InvalidSubmission: it holds none, or one that is large and no notebook.
    """
    encoding = next((name for mark, name in BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        if len(data) <= LARGEST_NOTEBOOK:
            return data.decode(encoding)
        # as it is where it can be: of a large text, one letter may make four of each
        data = data if encoding == "utf-8" else data.decode(encoding).encode()
        size, data = len(data), _lighter(data)
        if len(data) > LARGEST_NOTEBOOK:
            raise InvalidSubmission(
                f"not a notebook: the file has {size >> 20} MiB, and is not JSON with a list of cells",
                no_json=True,
            )
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidSubmission("not a notebook: the file is not UTF-8 text") from None


class _Metadata(Struct):
    """What is read of a cell's metadata."""

    nbgrader: Raw = Raw(b"null")


class _Cell(Struct):
    """What is read of a cell, as the file has it; what stands beside is passed over without being made."""

    numbers: ClassVar[Iterator[int]]  # of the notebook that is being read

    cell_type: Raw = Raw(b"null")
    id: Raw = Raw(b"null")
    metadata: Raw = Raw(b"null")
    source: Raw = Raw(b"null")
    attachments: Raw = Raw(b"null")

    def __post_init__(self) -> None:
        """Refuse a notebook of too many cells before the rest of them is made, and keep what may be of use."""
        if next(_Cell.numbers) >= MOST_CELLS:
            raise InvalidSubmission(f"the notebook has more than {MOST_CELLS} cells")
        with contextlib.suppress(msgspec.MsgspecError):
            self.metadata = _raw(msgspec.json.decode(self.metadata, type=_Metadata))
        if not self.attached():
            self.attachments = Raw(b"null")
        for name, most in (("cell_type", 100), ("id", 100), ("metadata", LARGEST_MARKS)):
            if len(bytes(getattr(self, name))) > most:
                setattr(self, name, Raw(b"null"))

    @property
    def is_code(self) -> bool:
        return bytes(self.cell_type) == b'"code"'

    @property
    def size(self) -> int:
        return len(bytes(self.source)) + len(bytes(self.attachments))

    @property
    def size_around(self) -> int:
        """Of all else, the names of its fields included."""
        around = self.cell_type, self.id, self.metadata
        return SIZE_OF_FIELDS + sum(len(bytes(field)) for field in around)

    @property
    def text(self) -> str:
        """What its source says; empty where that is no text."""
        with contextlib.suppress(ValueError, RecursionError):
            return _text(json.loads(bytes(self.source)))
        return ""

    def attached(self) -> dict[str, dict[str, Raw]]:
        """Pictures that are attached to a text; none where that is something else."""
        if not self.is_code and values_in(bytes(self.attachments)) <= MOST_ATTACHED:
            with contextlib.suppress(msgspec.MsgspecError, UnicodeError):
                return msgspec.json.decode(self.attachments, type=dict[str, dict[str, Raw]])
        return {}

    def pictures(self) -> Iterator[int]:
        """The sizes of the pictures that are attached to a text, or stand in it."""
        yield from map(_size_of, self.attached().values())
        if not self.is_code and b";base64," in bytes(self.source):
            yield from (len(picture[0]) for picture in IN_A_TEXT.finditer(self.text))

    def leave_out(self, most: int) -> None:
        """Put an empty picture in the place of each that is larger, and say in the text which they were."""
        names: list[str] = []

        def note(name: str, size: int) -> None:
            plain = " ".join(name.replace("`", "'").split())[:100]
            called = f"the picture `{plain}`" if plain else "a picture in this text"
            names.append(f"{called} ({size * 3 / 4 / (1 << 20):.1f} MiB)")

        def emptied(picture: re.Match[str]) -> str:
            if len(picture[0]) <= most:
                return picture[0]
            before = picture.string[max(0, picture.start() - 230) : picture.start()]
            named = NAMED_BEFORE.search(before)
            note(named[1] if named else "", len(picture[0]))
            return f"data:image/png;base64,{PIXEL}"

        attached = self.attached()
        for name, kinds in attached.items():
            if _size_of(kinds) > most:
                note(name, _size_of(kinds))
                kinds.clear()
                kinds["image/png"] = _raw(PIXEL)
        self.attachments = _raw(attached)
        text = IN_A_TEXT.sub(emptied, self.text)
        if names:
            said = LEFT_OUT.format(most=LARGEST_NOTEBOOK >> 20, pictures=", ".join(names))
            self.source = _raw(f"*{said}*\n\n{text}")


class _Notebook(Struct):
    """What is read of a notebook of format 4."""

    cells: list[_Cell]
    nbformat: Raw = Raw(b"4")
    metadata: Raw = Raw(b"null")

    def __post_init__(self) -> None:
        """Keep of the metadata what is read, and that if it is no larger than it may be."""
        held = None
        with contextlib.suppress(msgspec.MsgspecError):
            held = msgspec.json.decode(self.metadata, type=dict[str, Raw]).get(KEY)
        there = b"" if held is None else bytes(held)
        fits = 0 < len(there) <= LARGEST_APPEALS and values_in(there) <= MOST_ATTACHED
        self.metadata = _raw({KEY: held} if fits else {})


def _raw(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


def _size_of(kinds: Mapping[str, Raw]) -> int:
    return sum(len(bytes(data)) for data in kinds.values())


def _lighter(data: bytes) -> bytes:
    """A notebook's file without outputs, which are made anew, and without the largest of what is too much even so.

    The largest pictures go first, then whole texts, then the longest code. Each cell says what was left out of it.
    What is no notebook is left as it is.

    Raises:
        InvalidSubmission: it has too many cells.
    """
    _Cell.numbers = itertools.count()
    try:
        notebook = msgspec.json.decode(data.removeprefix(codecs.BOM_UTF8), type=_Notebook)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return data
    cells = notebook.cells
    around = len(bytes(notebook.metadata)) + sum(cell.size_around for cell in cells)
    room = LARGEST_NOTEBOOK - around
    pictures = sorted(size for cell in cells for size in cell.pictures())
    left = room - sum(cell.size for cell in cells) + sum(pictures)
    most = 0
    for size, alike in itertools.groupby(pictures):
        left -= sum(alike)
        if left < 0:
            for cell in cells:
                cell.leave_out(most)
            break
        most = size
    values = MOST_VALUES // 2
    for cell in sorted(cells, key=lambda cell: (not cell.is_code, cell.size)):
        number = values_in(bytes(cell.source)) + values_in(bytes(cell.attachments))
        if number > values or cell.size > room:
            why = TOO_MANY_LINES if number > values else TOO_MANY_BYTES
            cell.source, cell.attachments = _raw(f"# {why}" if cell.is_code else why), _raw({})
        else:
            values, room = values - number, room - cell.size
    return msgspec.json.encode(notebook)


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
        text = _lighter(text.encode("utf-8", "replace")).decode()
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
        source=_text(cell.get("source")),
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


def _text(source: object) -> str:
    """A cell's source, which the format stores whole or in lines; half characters become marks."""
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str)).replace("\r\n", "\n")
    return text.encode("utf-8", "replace").decode("utf-8")


def _pictures(attachments: object) -> NotebookNode:
    """Those attachments of a cell that are pictures and nothing else."""
    kept = NotebookNode()
    for name, kinds in attachments.items() if isinstance(attachments, dict) else ():
        if isinstance(kinds, dict) and all(
            PICTURE.fullmatch(kind) and isinstance(data, str) and BASE64.fullmatch(data)
            for kind, data in kinds.items()
        ):
            kept[_text(name)] = NotebookNode(kinds)
    return kept
