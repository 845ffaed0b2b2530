"""Read a notebook that is too large without what makes it so: old outputs, then pictures, texts and code."""

from __future__ import annotations

import codecs
import contextlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import ClassVar

import msgspec
from msgspec import Raw, Struct

from autograder.bounds import (
    LARGEST_APPEALS,
    LARGEST_MARKS,
    LARGEST_NOTEBOOK,
    MOST_ATTACHED,
    MOST_CELLS,
    SIZE_OF_FIELDS,
)
from autograder.grade.appeals import KEY
from autograder.grade.invalid import InvalidSubmission
from autograder.sandbox.channel import MOST_VALUES, values_in

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
            return text_in(json.loads(bytes(self.source)))
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


def lighter(data: bytes) -> bytes:
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


def text_in(source: object) -> str:
    """A cell's source, which the format stores whole or in lines; half characters become marks."""
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str)).replace("\r\n", "\n")
    return text.encode("utf-8", "replace").decode("utf-8")
