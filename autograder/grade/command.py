"""``python -m autograder check``, ``ask`` and ``appeal``: one notebook, for its own author."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from autograder.files import printable
from autograder.grade.appeals import add_words


def add_to(commands: Any) -> None:
    """Add the command to those of ``python -m autograder``."""
    check = commands.add_parser("check", help="grade your own notebook; it is not changed")
    check.add_argument("notebook", type=Path, help="the notebook with your answers")
    check.add_argument("--assignment", default="", help="its id, if the file has another name")
    check.add_argument("--html", type=Path, help="also write the feedback as a page")
    check.add_argument("--json", type=Path, help="also write points and sentences for programs")
    check.set_defaults(run=run)
    ask = commands.add_parser("ask", help="two questions on your own code, after full points")
    ask.add_argument("notebook", type=Path, help="the notebook with your answers")
    ask.add_argument("--assignment", default="", help="its id, if the file has another name")
    ask.add_argument("--student", default="", help="who is asked; another student, other questions")
    ask.add_argument("--answers", nargs="+", default=[], help="what you answer, in this order")
    ask.add_argument("--solutions", action="store_true", help="also say what is right")
    ask.set_defaults(run=run_ask)
    appeal = commands.add_parser("appeal", help="ask a person to look again at a part, and say why")
    add_words(appeal)
    appeal.set_defaults(run=run_appeal)


def run(options: argparse.Namespace) -> int:
    """Exit status 0: every point earned; 1: points were lost; 2: it could not be graded."""
    begin_kernels(options.assignment or options.notebook.stem)
    from autograder.grade.self_check import NotGradable, as_data, check_notebook, page, summary

    try:
        checked = check_notebook(options.notebook, options.assignment, tell_doing)
    except NotGradable as error:
        print(f"not graded: {printable(str(error))}", file=sys.stderr)
        return 2
    tell_doing("")
    print(summary(checked))
    if options.html:
        options.html.write_text(page(checked, options.notebook, options.html), encoding="utf-8")
        print(f"The same as a page: {options.html}")
    if options.json:
        options.json.write_text(json.dumps(as_data(checked)), encoding="utf-8")
    return 0 if all(verdict.right for verdict in checked.report.verdicts.values()) else 1


def begin_kernels(assignment: str) -> None:
    """Let a kernel import its packages while this process imports its own, which takes either a second or two.

    Where the name is that of no assignment, the one that the cells tell is waited for; and what goes wrong here is
    told where kernels are needed.
    """
    from autograder.checks.course import course
    from autograder.sandbox import bubblewrap, kernels

    with contextlib.suppress(Exception):
        if assignment in course().known():
            kernels.begin(bubblewrap.here(), course().allowed_modules(assignment))


def run_ask(options: argparse.Namespace) -> int:
    """Exit status 0: asked, and no answer is wrong; 1: one is; 2: there is nothing to ask."""
    from autograder.grade.own_code import questions_on
    from autograder.grade.self_check import NotGradable

    try:
        asked = questions_on(options.notebook, options.student, options.assignment, tell_doing)
    except NotGradable as error:
        print(f"not asked: {printable(str(error))}", file=sys.stderr)
        return 2
    tell_doing("")
    wrong = 0
    for number, question in enumerate(asked, start=1):
        print(f"{number}. " + "\n".join(map(printable, question.text.splitlines())) + "\n")
        if number <= len(options.answers):
            given = options.answers[number - 1]
            right = question.is_right(given)
            wrong += not right
            print(f"   {printable(given)} is {'right' if right else 'wrong'}.\n")
        if options.solutions:
            print(f"   The answer is {question.answer:g}.\n")
    return 1 if wrong else 0


def run_appeal(options: argparse.Namespace) -> int:
    """Exit status 0: the notebook asks; 2: it does not, and the message says why."""
    from autograder.grade.appeal import appeal
    from autograder.grade.self_check import NotGradable

    try:
        print(appeal(options.part, " ".join(options.why), options.notebook))
    except NotGradable as error:
        print(f"nothing is asked: {printable(str(error))}", file=sys.stderr)
        return 2
    return 0


def tell_doing(what: str) -> None:
    """Say what is being done: in one line of a terminal, or in a file line by line."""
    if sys.stderr.isatty():
        print(f"\r\033[K{printable(what)}", end="", file=sys.stderr, flush=True)
    elif what:
        print(printable(what), file=sys.stderr, flush=True)
