"""What a part may not use, as it travels to where the part is asked."""

from __future__ import annotations

from typing import TypedDict


class Disallowed(TypedDict):
    """What is closed: functions, classes and operations of these ``names``, and what holds them.

    Of the course's own ``libraries``, what has such a name is closed as well.
    """

    names: list[str]
    libraries: list[str]


NOTHING_DISALLOWED = Disallowed(names=[], libraries=[])
