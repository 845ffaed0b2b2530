"""What other people wrote: which files are taken, how they are shown, how results are put down."""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath

TIME = "timestamp.txt"  # nbgrader's own, beside what a student handed in: when it came in
LONGEST_TEXT = 400
# what a machine says that has no room, for whatever it was asked
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
# how a cell begins that a spreadsheet works out, perhaps behind quotes that it takes away
FORMULA = re.compile(r"(^|;)[\s\"]*(?=[=+\-@])")
WHOLE = re.compile(r"#?(\d+)[.,]0+|#(.+)", re.DOTALL)  # an id as other programs write it
ROUNDED = re.compile(r"\d(?:[.,]\d+)?E\+\d+", re.IGNORECASE)
NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?(?:e[+-]?[0-9]+)?", re.IGNORECASE)


def plain_files(folder: Path, but: str = "") -> Iterator[Path]:
    """The plain files below a folder, sorted; links, pipes and devices are left out.

    Args:
        folder: where to look.
        but: a suffix whose files are left out, too.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and not (but and path.suffix == but):
            yield path


def copy_files(source: Path, target: Path, but: str = "") -> None:
    """Copy the `plain_files` below a folder to the same places below another, where these are free."""
    for path in plain_files(source, but):
        place = target / path.relative_to(source)
        with contextlib.suppress(FileExistsError, NotADirectoryError):
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                shutil.copyfile(path, place)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that it is there complete or not at all; an error names it."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    if isinstance(content, str):
        # half a character is what a student's text may hold, and no file can
        content = content.encode("utf-8", errors="backslashreplace")
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def printable(text: str) -> str:
    """Text that other people wrote, without what a terminal would take for a command."""
    return "".join(sign if sign.isprintable() else "�" for sign in text)


def harmless(cell: object) -> object:
    """A cell of a table in which a spreadsheet finds no formula; see OWASP's page on CSV injection.

    A text loses what a screen would obey, tabs and line ends among it. Where it begins as a formula
    does, a "'" is put in front, by which spreadsheets know a text. The same holds behind a semicolon,
    at which they split lines in many countries. A number stays a number, below zero as well.
    """
    if not isinstance(cell, str) or NUMBER.fullmatch(cell):
        return cell
    text = printable(cell)
    # full-width signs work like the usual ones
    places = [found.end() for found in FORMULA.finditer(_folded(text))]
    for place in reversed(places):
        text = f"{text[:place]}'{text[place:]}"
    return text


def _folded(text: str) -> str:
    """The text with each sign in its usual form where that is a single sign, and so as long as before."""
    usual = [unicodedata.normalize("NFKC", sign) for sign in text]
    return "".join(new if len(new) == 1 else old for new, old in zip(usual, text, strict=True))


def usual_id(text: str) -> str:
    """An id without spaces around it and without the difference of large and small letters."""
    return unicodedata.normalize("NFC", text).strip().casefold()


def plain_id(text: str) -> str:
    """An id as it was before another program wrote it into a table.

    Brightspace puts a # in front, so that a spreadsheet takes it for a text. A program that read a column of
    numbers with an empty cell in it, as pandas does, writes 101.0 for 101.
    """
    text = text.strip()
    written = WHOLE.fullmatch(text)
    return (written[1] or written[2]) if written else text


def without_zeros(text: str) -> str:
    """The usual form of an id; of one in digits alone without the zeros before it, which spreadsheets drop."""
    usual = usual_id(text)
    return usual.lstrip("0") if usual.isdecimal() else usual


def is_rounded(text: str) -> bool:
    """Whether an id is what spreadsheets make of a long number, such as 1.23E+11 of twelve digits."""
    return bool(ROUNDED.fullmatch(text.strip()))


def meant(name: str, known: Iterable[str]) -> str:
    """What somebody probably meant who wrote a name that there is not, as a question; empty if nothing is near."""
    found = nearest(name, known)
    return f"Did you mean {printable(found)}?" if found else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """The name that was probably meant; empty if none is near.

    Args:
        name: as it was written, perhaps in short, as a path, or in other letters.
        known: the names that there are.
    """
    wanted = usual_id(PurePath(cut(name)).name).removesuffix(".ipynb")
    names = {usual_id(one): one for one in known}
    begin = re.compile(rf"[a-z]?{re.escape(wanted)}(?![^\W_])")  # a2 or 2 for a2_self_attention
    near = [key for key in names if wanted and begin.match(key)]
    if wanted not in names and len(near) != 1:
        near = difflib.get_close_matches(wanted, names, n=1, cutoff=0.75)
    return names.get(wanted) or next((names[key] for key in near), "")


def listed(names: Sequence[str]) -> str:
    """The names that there are, as a sentence."""
    return (
        f"There {'is' if len(names) < 2 else 'are'}: {', '.join(map(printable, names)) or 'none'}."
    )


def plain_name(text: str) -> str:
    """A name that any system can give a file, as near to this one as may be.

    Whatever could be a folder, a drive, an option or a hidden file becomes "_" or goes.
    """
    letters = "".join(sign if sign.isalnum() or sign in "-_.@+, " else "_" for sign in text)
    return letters.strip(" .")[:100].lstrip("-") or "_"


def digest_of(text: str) -> str:
    """A short name for a text, by which it is known again."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """The beginning of a text, with a sign where something was left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
