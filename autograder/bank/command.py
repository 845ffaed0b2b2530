"""``python -m autograder answers``: what the checks say of every answer that is known."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

WIDTH = 100


def add_to(commands: Any) -> None:
    """Add the command to those of ``python -m autograder``."""
    answers = commands.add_parser(
        "answers",
        help="what your checks say of the reference, each mistake with a name, and each answer you keep",
    )
    answers.add_argument("assignment", nargs="?", help="its id; all of the course if none")
    answers.add_argument("--part", help="one part alone")
    answers.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit status 0: each is judged as it should be; 1: one is not; 2: there is no such assignment or part."""
    from autograder.checks.course import known, load

    surprises = 0
    try:
        for name in [options.assignment] if options.assignment else known():
            assignment = load(name)
            for part in [assignment.part(options.part)] if options.part else assignment.parts:
                for line, is_surprise in _lines(name, part):
                    print(line)
                    surprises += is_surprise
    except (LookupError, KeyError) as error:
        print(f"no answers: {error.args[0]}", file=sys.stderr)
        return 2
    print(f"{surprises} of these should be looked at (!)" if surprises else "all as they should be")
    return 1 if surprises else 0


def _lines(assignment: str, part: Any) -> Iterator[tuple[str, bool]]:
    """What is said of each answer, and whether its author would be surprised."""
    from autograder.bank.measure import (
        MISTAKE,
        PAIR,
        RIGHT,
        WRONG,
        ours_may_answer,
        outcome_of,
        tried_of,
        verdict_on,
    )

    tried = [(RIGHT, "the reference", (), None, part.reference), *tried_of(assignment, part)]
    for kind, called, names, told_of, code in tried:
        if kind == PAIR:
            continue
        with ours_may_answer():
            verdict = verdict_on(assignment, part, code)
        found = [name for name, _ in verdict.mistakes]
        right = verdict.earned == part.points
        why = ""
        if kind == RIGHT and not right:
            why = "a right answer loses points"
        elif kind != RIGHT and right:
            why = "a wrong answer keeps all points"
        elif kind == MISTAKE and called not in found:
            why = "a mistake is not called by its name"
        elif kind == MISTAKE and part.points - verdict.earned > _costs(part, called):
            why = f"this mistake should cost {_costs(part, called):g} at most"
        elif names and not set(found) & set(names):
            why = f"expected the name '{', '.join(sorted(names))}'"
        elif kind == WRONG and outcome_of(assignment, part, kind, verdict, names, told_of).misled:
            why = "it is told what its author has not said to be true of it"
        told = found or [name for name, _ in verdict.relations]
        sentences = [text for _, text in (verdict.mistakes or verdict.relations)]
        yield (
            "\n".join(
                [
                    f"{'!' if why else ' '} {part.name}: {called}: {verdict.earned:g} of {part.points:g}"
                    + (f" ({', '.join(told)})" if told and told != [called] else "")
                    + (f" — {why}" if why else ""),
                    *(
                        textwrap.fill(
                            text, WIDTH, initial_indent="      ", subsequent_indent="      "
                        )
                        for text in sentences[:1]
                    ),
                ]
            ),
            bool(why),
        )


def _costs(part: Any, name: str) -> float:
    """What mistakes of a name say that they cost at most; the whole part where their author has not said."""
    mistakes = part.named(name)
    if not all(one.costs for one in mistakes) or any(one.costs_more for one in mistakes):
        return float(part.points)
    return max(float(sum(step.points for step in one.costs)) for one in mistakes)
