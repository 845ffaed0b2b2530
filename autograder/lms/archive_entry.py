"""One file of an archive of submissions, by what its name says."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.files import printable


@dataclass(frozen=True)
class Entry:
    """A file in an archive, and what its name says.

    Attributes:
        path: the whole name.
        number: by which the platform knows who handed it in.
        called: how the platform calls them there.
        own: the name that the student gave it, with folders.
        prefix: what stands before that name.
        late: it is marked as late.
        order: what is later has a higher one, where the platform says that.
        text: it was typed into a form, and is no file.
        place: which entry of the archive it is.
        others: what the name would say if other numbers in it were meant.
    """

    path: str
    number: str
    called: str
    own: str
    prefix: str
    late: bool = False
    order: int = 0
    text: bool = False
    place: int = 0
    others: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Refused:
    """An entry that is not unpacked, and why."""

    path: str
    why: str

    def __str__(self) -> str:
        return f"{printable(self.path)[:120]}: {self.why}"
