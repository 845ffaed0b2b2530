"""What an assignment was before it changed: cells that had other names, and cells that came later."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from autograder.files import write_whole


@dataclass(frozen=True)
class ReleaseHistory:
    """What submissions of earlier releases need to be told apart.

    Attributes:
        renamed: today's names of cells, by the names that they had before.
        added: names of cells that were added when submissions had come in already.
    """

    renamed: dict[str, str] = field(default_factory=dict)
    added: tuple[str, ...] = ()

    def and_now(self, renamed: dict[str, str], added: set[str], names: set[str]) -> ReleaseHistory:
        """The same after one more change, where `names` are those of all cells that there are now."""
        whole = {old: renamed.get(new, new) for old, new in self.renamed.items()} | renamed
        later = {renamed.get(name, name) for name in self.added} | added
        return ReleaseHistory(
            {old: new for old, new in whole.items() if new in names and old not in names},
            tuple(sorted(later & names)),
        )


def place_of(course: Path, assignment: str) -> Path:
    """The file in which it stands."""
    return course / "grading" / assignment / "earlier.json"


def read_history(course: Path, assignment: str) -> ReleaseHistory:
    """What is known of an assignment's earlier releases; nothing if it has never changed."""
    path = place_of(course, assignment)
    if not path.exists():
        return ReleaseHistory()
    return msgspec.json.decode(path.read_bytes(), type=ReleaseHistory)


def write_history(course: Path, assignment: str, earlier: ReleaseHistory) -> None:
    """Keep it for the gradings to come."""
    write_whole(place_of(course, assignment), msgspec.json.encode(earlier))
