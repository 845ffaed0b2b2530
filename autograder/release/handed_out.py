"""What an author hands out in a solution's place, where that is more than a line that stops.

    ### BEGIN SOLUTION
    def total(numbers):
        return sum(numbers)
    ### BEGIN HANDED OUT
    # def total(numbers):
    #     return len(numbers)
    ### END HANDED OUT
    ### END SOLUTION

The code between the inner marks is written as comments, so that the solution is what runs. Students
get it as code, in the place of everything between the outer marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

BEGIN, END = "### BEGIN HANDED OUT", "### END HANDED OUT"
BEGIN_SOLUTION, END_SOLUTION = "### BEGIN SOLUTION", "### END SOLUTION"


def hands_out(source: str) -> bool:
    """Whether a cell says what is handed out, be it as it should or not."""
    return BEGIN in source or END in source


def with_what_is_handed_out(source: str) -> str:
    """A cell's source in which handed-out code has taken the place of the solutions that have some.

    Other solutions stay as they are, with their marks.
    """
    return "\n".join(line for piece in _pieces(source) for line in _handed_out(piece) or piece)


def is_well_marked(source: str) -> bool:
    """Whether each mark has its partner, inside of one solution, and only comments between them."""
    rest = [line for piece in _pieces(source) if not _handed_out(piece) for line in piece]
    return not hands_out("\n".join(rest)) and not hands_out(with_what_is_handed_out(source))


def _pieces(source: str) -> Iterator[list[str]]:
    """The lines of each solution with its marks, and each other line by itself."""
    piece: list[str] = []
    for line in source.split("\n"):
        piece.append(line)
        if BEGIN_SOLUTION not in piece[0] or END_SOLUTION in line:
            yield piece
            piece = []
    if piece:
        yield piece


def _handed_out(piece: list[str]) -> list[str]:
    """The code that a solution hands out; none where it has no such marks, or wrong ones."""
    marks = [number for number, line in enumerate(piece) if hands_out(line)]
    if len(marks) != 2 or BEGIN not in piece[marks[0]] or END not in piece[marks[1]]:
        return []
    lines = piece[marks[0] + 1 : marks[1]]
    if any(line.strip() and not line.lstrip().startswith("#") for line in lines):
        return []
    return [re.sub(r"^(\s*)# ?", r"\1", line) for line in lines]
