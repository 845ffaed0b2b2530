"""What a change of one assignment, lecture or figure can break, in about a minute.

    python tools/check.py a5            or a5_multi_head_attention
    python tools/check.py 06            or 06_positional_encodings
    python tools/check.py soft_lookup

It builds what is built of it, and runs the tests that speak of it, but for those that take long.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from autograder.checks.course import load
from autograder.files import meant

ROOT = Path(__file__).resolve().parent.parent
PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not slow and not long")
CODE = "tests/test_repository.py"  # how long a file may be, and what it may speak of
TEXT = ("tests/build/test_prose.py", "tests/build/test_minutes.py", "tests/build/test_reading.py",
        "tests/build/test_notation.py", "tests/notebooks/test_coverage.py")  # fmt: skip
POINTS = ("tests/autograder/test_checks.py", "tests/assignments", "tests/tools/test_accuracy.py",
          "tests/notebooks/test_coverage.py", "tests/build/test_build.py")  # fmt: skip
FIGURES = (
    "tests/build/test_figures.py",
    "tests/build/test_diagrams.py",
    "tests/build/test_pictures.py",
)

Command = tuple[str, ...]


def commands_for(name: str) -> Iterator[Command]:
    """What is run for an assignment, a lecture or a figure of this name, or of its beginning.

    Raises:
        LookupError: there is none, or several; the message lists those that could be meant.
    """
    kind, name = _found(name)
    if kind == "assignment":
        parts = " or ".join([name, *(part.name for part in load(name).parts)])
        yield sys.executable, "sources/build.py", name
        yield "ruff", "check", f"assignments/{name}"
        yield ("mypy",)
        yield *PYTEST, *POINTS, "-k", parts
        yield *PYTEST, "--nbval", f"solutions/{name}/{name}.ipynb"
    elif kind == "lecture":
        yield sys.executable, "sources/build.py", name
        yield *PYTEST, *TEXT, "-k", f"{name} or {name[:2]}"
        yield *PYTEST, "--nbval", f"lectures/{name}.ipynb"
    else:
        yield sys.executable, f"figures/make_{name}.py"
        yield *PYTEST, *FIGURES, "-k", name
    yield *PYTEST, CODE


def _found(name: str) -> tuple[str, str]:
    known = {
        "assignment": [path.parent.name for path in ROOT.glob("assignments/a*/notebook.py")],
        "lecture": [path.stem for path in ROOT.glob("sources/lectures/[0-9]*.py")],
        "figure": [path.stem.removeprefix("make_") for path in ROOT.glob("figures/make_*.py")],
    }
    found = [
        (kind, one)
        for kind, names in known.items()
        for one in names
        if one == name or one.startswith(f"{name}_")
    ]
    found = [pair for pair in found if pair[1] == name] or found
    if len(found) == 1:
        return found[0]
    every = sorted(one for names in known.values() for one in names)
    could = f"It could be {' or '.join(one for _, one in found)}." if found else meant(name, every)
    raise LookupError(
        f"expected the name of an assignment, a lecture or a figure, such as a5, 06 or soft_lookup, found '{name}'. "
        f"{could}".strip()
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python tools/check.py", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("name", help="such as a5, 06 or soft_lookup")
    try:
        commands = list(commands_for(parser.parse_args(arguments).name))
    except LookupError as error:
        print(error, file=sys.stderr)
        return 2
    began, failed = time.monotonic(), 0
    for command in commands:
        print("→", " ".join(word.removeprefix(str(ROOT)) for word in command), flush=True)
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        failed += status not in (0, 5)  # pytest's 5: no test speaks of it
    took = time.monotonic() - began
    print(
        f"{'all as it should be' if not failed else f'{failed} of {len(commands)} failed'}, after {took:.0f} s"
    )
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
