"""What other pages take from README.md, so that it stands in one place."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OBJECTIVE = re.compile(r"^(- .*(?:\n  .*)*?) <!-- lectures ([\d ]+) -->\n", re.MULTILINE)


def tables() -> str:
    """The tables of lectures and assignments."""
    return _found(r"^\| lecture \| .*?(?=<!-- end of tables)", "tables")


def whom_it_is_for(lectures: Collection[int] = ()) -> str:
    """What to know beforehand, and what one can do afterwards; without its heading.

    Args:
        lectures: the numbers of those that are given out; all if there are none.
    """

    def taught(objective: re.Match[str]) -> str:
        missing = set(map(int, objective[2].split())) - set(lectures)
        return "" if lectures and missing else f"{objective[1]}\n"

    return OBJECTIVE.sub(taught, _section())


def _section() -> str:
    return _found(r"(?<=^## Whom it is for\n\n).*?(?=^## )", "section “Whom it is for”")


def _found(pattern: str, what: str) -> str:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(pattern, readme, re.MULTILINE | re.DOTALL)
    if not found:
        raise SystemExit(f"expected {what} in README.md, found none")
    return found[0]
