"""Which inputs each submission is asked: one sheet for all that a run grades for the first time.

What is right on a sheet, and what each mistake gives there, is worked out once for the class. A later run draws
another, so that what students print of their inputs is of no use to who hands in after them; work that is
graded again is asked what it was asked before.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import msgspec

from autograder.files import digest_of, write_whole


class Sheets:
    """The sheets of an assignment, by student and by what was handed in.

    Args:
        kept: the folder of the assignment's results.
        keep: whether what is found is written down there, which a trial does not do.
    """

    def __init__(self, kept: Path, keep: bool = True) -> None:
        self._file, self._keep = kept / "sheets.json", keep
        self._known: dict[str, int] = {}
        self._new = 1
        with contextlib.suppress(FileNotFoundError):
            try:
                self._known = msgspec.json.decode(self._file.read_bytes(), type=dict[str, int])
                self._new += max(self._known.values(), default=0)
            except msgspec.MsgspecError:  # spoilt: a number that no earlier run had
                self._new = int(time.time())

    def of(self, student: str, digest: str) -> str:
        """The sheet for a student's work, told apart by its digest."""
        work = digest_of(repr((student, digest)))
        if work not in self._known:
            self._known[work] = self._new
            if self._keep:
                write_whole(self._file, msgspec.json.encode(self._known))
        return str(self._known[work])
