"""Lay out a course of one's own: one assignment of two parts, each with a mistake that has a name."""

from __future__ import annotations

import importlib.util
import keyword
from pathlib import Path
from string import Template

TEMPLATE = Path(__file__).parent / "template"
PACKAGE = "course"  # the folder there that takes the course's name


class NotNew(Exception):
    """Nothing was laid out; the message says why and what to do."""


def lay_out(name: str, folder: Path) -> list[Path]:
    """Write the files of a new course.

    Args:
        name: of its package.
        folder: where its package and its configuration go.

    Returns:
        the files, by their places in the folder.

    Raises:
        NotNew: the name does not do, or something is there already.
    """
    if not name.isidentifier() or keyword.iskeyword(name) or not name.islower():
        raise NotNew(f"'{name}' is no name for a package: expected small letters, such as averages")
    if not (folder / name).exists() and importlib.util.find_spec(name) is not None:
        raise NotNew(f"there is a package '{name}' in this Python already: take another name")
    files = {
        Path(
            *(name if part == PACKAGE else part for part in path.relative_to(TEMPLATE).parts)
        ): path
        for path in sorted(TEMPLATE.rglob("*.txt"))
    }
    places = {place.with_suffix(""): source for place, source in files.items()}
    if taken := [place for place in places if (folder / place).exists()]:
        raise NotNew(f"{folder / taken[0]} is there already: choose an empty folder with --to")
    for place, source in places.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        text = Template(source.read_text(encoding="utf-8")).substitute(name=name)
        (folder / place).write_text(text, encoding="utf-8")
    return list(places)


def what_next(name: str) -> str:
    """The commands that show that the new course works."""
    return f"""
Now, in that folder:
  export AUTOGRADER_COURSE={name} PYTHONPATH=$PWD
  python -m autograder answers        # what your checks say of right and wrong answers
  python -m autograder build          # solutions/ for you, exercises/ for students
  python -m autograder check solutions/a1_averages/a1_averages.ipynb"""
