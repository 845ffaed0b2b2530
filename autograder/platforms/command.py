"""The command ``export``: an assignment for another platform."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from autograder.errors import CourseError

PLATFORMS = ("gradescope", "github", "prairielearn")


def add_to(commands: argparse._SubParsersAction) -> None:
    """Add the command to those of ``python -m autograder``."""
    export = commands.add_parser("export", help="write what another platform needs to grade")
    export.set_defaults(run=run)
    export.add_argument("platform", choices=PLATFORMS)
    export.add_argument("assignment", type=lambda text: text.rstrip("/"), help="its id")
    export.add_argument("--course", type=Path, default=Path(), help="folder of the course")
    export.add_argument("--to", type=Path, help="folder to write into; build/export if not given")
    export.add_argument(
        "--image", default="", help="PrairieLearn: the name of the image it will run in"
    )


def run(options: argparse.Namespace) -> int:
    """Exit status 0: it is written; 2: it cannot be, and the message says why."""
    from autograder.platforms import github, gradescope, prairielearn

    target = options.to or options.course / "build" / "export"
    try:
        if options.platform == "gradescope":
            written = gradescope.export(options.course, options.assignment, target)
        elif options.platform == "github":
            written = github.export(options.course, options.assignment, target)
        else:
            image = options.image or prairielearn.IMAGE
            written = prairielearn.export(options.course, options.assignment, target, image)
    except (CourseError, LookupError, OSError) as error:
        print(f"nothing exported: {error}", file=sys.stderr)
        return 2
    print(f"{options.assignment} for {options.platform}: {written}")
    return 0
