"""What a platform has to install, in the versions that the course was tried with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ENGINE = Path(__file__).resolve().parent.parent / "pyproject.toml"
LOCKED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def requirements(folder: Path) -> str:
    """The engine's requirements, one a line, pinned where the course folder has a ``requirements.lock``."""
    lock = folder / "requirements.lock"
    locked = dict(LOCKED.findall(lock.read_text(encoding="utf-8"))) if lock.exists() else {}
    asked = tomllib.loads(ENGINE.read_text(encoding="utf-8"))["project"]["dependencies"]
    return "".join(f"{_pinned(item, locked)}\n" for item in asked)


def _pinned(item: str, locked: dict[str, str]) -> str:
    """A requirement in its locked version; where it is needed stays as it was."""
    wanted, mark, where = item.partition(";")
    name = re.match(r"[\w.-]+", wanted)
    version = locked.get(name[0]) if name else None
    return f"{name[0]}=={version}{mark}{where}" if name and version else item
