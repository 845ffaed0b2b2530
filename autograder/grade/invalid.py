"""A submission that cannot be run, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from autograder.files import TIME
from autograder.grade.report import Report


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


def digest_of_work(notebook: bytes, files: Mapping[str, bytes]) -> str:
    """What tells one piece of work from another: a digest of the notebook's file, +, one of the files.

    When it came in does not count: the same work may be collected again.
    """
    beside = hashlib.sha256()
    for name in sorted(files.keys() - {TIME}):
        beside.update(f"{len(name)} {name} {len(files[name])} ".encode() + files[name])
    return f"{hashlib.sha256(notebook).hexdigest()[:16]}+{beside.hexdigest()[:16]}"
