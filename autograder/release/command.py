"""``python -m autograder build``: what students get, from what authors write."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add_to(commands: Any) -> None:
    """Add the command to those of ``python -m autograder``."""
    build = commands.add_parser("build", help="write what students get, from what authors write")
    build.add_argument(
        "assignments", nargs="*", type=lambda text: text.rstrip("/"), help="their ids; all if none"
    )
    build.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    build.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit status 0: all is written; 2: something cannot be built, and the message says what."""
    from autograder.checks.course import course
    from autograder.release.assignment import build_assignments
    from autograder.release.tags import BuildError

    try:
        for name in build_assignments(options.course, course().folders[0], options.assignments):
            print(f"assignment  {name}")
    except (BuildError, LookupError) as error:
        print(f"build stopped: {error}", file=sys.stderr)
        return 2
    return 0
