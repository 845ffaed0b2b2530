"""What other pages take from README.md, so that it stands in one place."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def tables() -> str:
    """The tables of lectures and assignments."""
    return _found(r"^\| lecture \| .*?(?=<!-- end of tables)", "tables")


def whom_it_is_for() -> str:
    """What to know beforehand, and what one can do afterwards; without its heading."""
    return _found(r"(?<=^## Whom it is for\n\n).*?(?=^## )", "section “Whom it is for”")


def _found(pattern: str, what: str) -> str:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(pattern, readme, re.MULTILINE | re.DOTALL)
    if not found:
        raise SystemExit(f"expected {what} in README.md, found none")
    return found[0]
