"""Command line: build assignments, grade a class, or check one notebook of your own.

python -m autograder new-course NAME
python -m autograder build [ASSIGNMENT ...] [--course FOLDER]
python -m autograder answers [ASSIGNMENT] [--part PART]
python -m autograder grade ASSIGNMENT [--course FOLDER] [--student ID] [--jobs N]
python -m autograder check NOTEBOOK [--assignment ID] [--html FILE]
python -m autograder ask NOTEBOOK [--student NAME] [--answers A B] [--solutions]
python -m autograder appeal PART "why" [--notebook FILE]
python -m autograder extension ASSIGNMENT [STUDENT "2 days"]
python -m autograder settle ASSIGNMENT STUDENT [--part PART] [--points N] [--reason TEXT]
python -m autograder plan
python -m autograder term [--so-far]
python -m autograder solution ASSIGNMENT [--to FOLDER]
python -m autograder lms scores|unpack|came-in|feedback ASSIGNMENT ... [--course FOLDER]
python -m autograder hand-in FILE --student ID --at TIME
python -m autograder export PLATFORM ASSIGNMENT [--course FOLDER] [--to FOLDER]
python -m autograder watch [--course FOLDER] [--status]
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

if __name__ == "__main__":
    gc.disable()  # imports make much and drop little

CUT_SHORT = 141  # as shells say it of programs that a closed pipe ended
# commands for one notebook, whose author waits; the others take half a second more to import
OF_ONE_NOTEBOOK = ("check", "ask", "appeal")
NO_PACKAGES = (
    f"expected a Python that has the grader's packages, found {sys.executable}, in which there is no {{}}. "
    "Where the course was set up with make, start with .venv/bin/python, or put its folder first on PATH: "
    "export PATH=$PWD/.venv/bin:$PATH"
)


def commands(one_notebook: bool) -> tuple[Callable[[Any], None], ...]:
    """What adds the commands to a parser: those for one notebook alone, or all of them."""
    from autograder.grade import command as grade

    if one_notebook:
        return (grade.add_to,)
    from autograder.bank import command as bank
    from autograder.batch import command as batch
    from autograder.batch import dates, extensions, settle, term
    from autograder.lms import command as lms
    from autograder.lms import hand_in
    from autograder.platforms import command as platforms
    from autograder.release import command as release
    from autograder.service import command as service

    return (
        batch.add_to,
        release.add_to,
        bank.add_to,
        grade.add_to,
        extensions.add_to,
        settle.add_to,
        dates.add_to,
        term.add_to,
        lms.add_to,
        hand_in.add_to,
        platforms.add_to,
        service.add_to,
    )


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0: all well; 1: something lost points or needs a look; 2: nothing was done."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="python -m autograder")
    added = parser.add_subparsers(dest="command", required=True)
    try:
        for add_to in commands(arguments[:1] != [] and arguments[0] in OF_ONE_NOTEBOOK):
            add_to(added)
    except ModuleNotFoundError as error:
        print(NO_PACKAGES.format(error.name), file=sys.stderr)
        return 2
    options = parser.parse_args(arguments)
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return options.run(options)


def guarded() -> int:
    """`main`; a crash of the grader itself has an exit status of its own, 3."""
    try:
        status = main()
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever reads the output, such as head, wants no more of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT_SHORT
    except Exception:  # noqa: BLE001 (whatever nobody has thought of)
        traceback.print_exc()
        print("the grader itself failed: please report the lines above. Nothing graded is lost",
              file=sys.stderr)  # fmt: skip
        return 3


if __name__ == "__main__":
    sys.exit(guarded())
