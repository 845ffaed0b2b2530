"""Who is who: students of the gradebook and rows of a platform's table, by one column, never by name."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autograder.files import printable
from autograder.lms.csv_file import TableError
from autograder.lms.gradebook import Known
from autograder.lms.gradebook_csv import GradebookCsv


@dataclass(frozen=True)
class Matching:
    """What belongs together, and what is left on either side.

    Attributes:
        rows: of each student.
        missing: students without a row.
        strangers: rows without a student.
        shared: what several students or several rows have in common, so that it says nothing.
    """

    rows: dict[str, int]
    missing: tuple[str, ...]
    strangers: tuple[int, ...]
    shared: tuple[str, ...]


def usual(key: str) -> str:
    """A key without spaces around it and without the difference of large and small letters."""
    return unicodedata.normalize("NFC", key).strip().casefold()


def match(students: Mapping[str, str], rows: Mapping[int, str]) -> Matching:
    """Put together what has the same key and shares it with nobody else.

    Args:
        students, rows: the key of each; empty where there is none.
    """
    ours, theirs = _by_key(students), _by_key(rows)
    found = {
        who[0]: theirs[key][0]
        for key, who in ours.items()
        if len(who) == 1 and len(theirs.get(key, ())) == 1
    }
    shared = [
        key
        for key in ours.keys() | theirs.keys()
        if max(len(ours.get(key, ())), len(theirs.get(key, ()))) > 1
    ]
    matched = set(found.values())
    return Matching(
        found,
        tuple(student for student in students if student not in found),
        tuple(row for row in rows if row not in matched),
        tuple(sorted(shared)),
    )


def _by_key(keys: Mapping) -> dict[str, list]:
    found = defaultdict(list)
    for who, key in keys.items():
        if usual(key):
            found[usual(key)].append(who)
    return found


def key_of(sheet: GradebookCsv, by: str, known: Iterable[Known]) -> tuple[str, int]:
    """The column by which students are known: what ``--by`` says, or the only one that fits.

    A column fits if it names a student whom we know. Where two fit, one might fit by chance, so
    that a person has to say which it is.

    Args:
        sheet: the platform's table.
        by: a short name or a column; empty to look for one.
        known: students of ours.

    Returns:
        the short name, or the column's where it has none, and its place.

    Raises:
        TableError: there is no such column, or not just one fits.
    """
    if by:
        place = sheet.key_named(by)
        short = {place: alias for alias, place in sheet.keys.items()}
        return short.get(place, sheet.heading[place]), place
    known = list(known)
    fitting = {}
    for alias, place in sheet.keys.items():
        keys = {usual(one.key(alias)) for one in known}
        cells = [sheet.table.value(row, place) for row in sheet.people]
        fitting[alias] = sum(usual(cell) in keys for cell in cells if cell)
    found = [alias for alias, count in fitting.items() if count]
    if len(found) == 1:
        return found[0], sheet.keys[found[0]]
    choices = ", ".join(
        f"--by {alias} (“{sheet.heading[place]}”, names {fitting[alias]} of our students)"
        for alias, place in sheet.keys.items()
    )
    columns = ", ".join(printable(name) for name in sheet.heading if name)
    raise TableError(
        f"which column of {sheet.table.name} holds the ids of your students, which are the names "
        f"of their folders? Name it with --by: {choices or f'one of {columns}'}"
    )
