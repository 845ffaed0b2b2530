"""How the checks fare against answers that are known to be right or wrong."""

from __future__ import annotations

import importlib
import importlib.util
import random
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from unittest.mock import patch

from autograder.bank.answers import Bank
from autograder.checks.course import course, known, load
from autograder.checks.decide import decide
from autograder.checks.drawn_cases import CaseRun, DrawnCases, drawn_for
from autograder.checks.judge import problem_with
from autograder.probe import op_blocker
from autograder.probe.probe import answer

RIGHT, WRONG, MISTAKE, PAIR = "right", "wrong", "mistake", "pair"
MOST_PAIRS = 20  # of two mistakes at once, that are tried of each part


@dataclass(frozen=True)
class Outcome:
    """What became of one answer to a part.

    Attributes:
        assignment, part: which part.
        kind: `RIGHT` or `WRONG` of a bank, a named `MISTAKE`, or a `PAIR` of such.
        caught: it lost points.
        named: the mistake was called by name; of a pair, at least one.
        explained: instead, it was said how the result differs.
        misled: it was called by a name, or told something, that is not true of it.
    """

    assignment: str
    part: str
    kind: str
    caught: bool
    named: bool
    explained: bool
    misled: bool = False


def ours_may_answer():
    """While the reference answers: it lies where no submission may reach."""
    return patch.object(op_blocker, "own_functions", lambda *_: ())


def verdict_on(assignment, part, code, cells=("",), **namespace):
    """The verdict on one answer to a part, decided in this process."""
    namespace[part.name] = code
    return decide(
        load(assignment), part, lambda message: answer(message, namespace), cells=list(cells)
    )


@cache
def verdict_at(assignment, part, code, seed):
    """The verdict on one answer with the inputs of one seed, which several tests ask something of."""
    if part.name in bank_at(assignment).remembering:
        drawn_for.cache_clear()
    return verdict_on(assignment, part, code, cells=[str(seed)])


def attempts_at(part, code, seed=0):
    """All cases of a part with what an answer gives and what is wrong with that."""
    drawn = DrawnCases(part, seed)
    given = [
        CaseRun(drawn, number, drawn.done_by(code, number)) for number in range(len(drawn.plan))
    ]
    return [replace(item, problem=problem_with(item)) for item in given]


def outcome_of(assignment, part, kind, verdict, names=None, told=None):
    """The outcome of one answer.

    Args:
        names, told: names of mistakes, and kinds of sentences on how results differ, that are true
            of the answer; of a mistake and of a pair, any sentence may be.
    """
    found = {name for name, _ in verdict.mistakes}
    said = {name for name, _ in verdict.relations}
    named = bool(found & set(names)) if kind in (MISTAKE, PAIR) else bool(found)
    explained = not named and bool(verdict.relations)
    caught = verdict.earned < part.points
    misled = not found <= set(names or ()) or (told is not None and not said <= set(told))
    return Outcome(assignment, part.name, kind, caught, named, explained, misled)


def bank_at(assignment):
    """The `Bank` of an assignment; an empty one where its author keeps none."""
    name = f"{course().package}.{assignment}"
    if importlib.util.find_spec(f"{name}.answers") is None:
        return Bank(name)
    return importlib.import_module(f"{name}.answers").BANK


def bank_of(assignment):
    """The answers in the bank of an assignment."""
    return bank_at(assignment).answers


def pairs_of(part):
    """Pairs of the part's mistakes that can be made at once, with an answer that makes both."""
    for one, other in combinations(part.mistakes, 2):
        both = one.together_with(other) if one.name != other.name else None
        if both is not None:
            yield one.name, other.name, both


def tried_of(assignment, part):
    """Everything that is known of a part: the bank's answers, the named mistakes, and a sample of pairs.

    Returns:
        (kind, what it is called, names, told, code) of each; what of the last three `outcome_of` needs.
    """
    tried = [
        (RIGHT if given.right else WRONG, given.code.__name__, given.named, given.told, given.code)
        for given in bank_of(assignment)
        if given.part == part.name
    ]
    tried += [(MISTAKE, one.name, {one.name}, None, one.answer) for one in part.mistakes]
    pairs = sorted(pairs_of(part), key=lambda pair: pair[:2])
    sample = random.Random(part.name).sample(pairs, min(MOST_PAIRS, len(pairs)))
    return tried + [(PAIR, f"{one} + {two}", {one, two}, None, both) for one, two, both in sample]


def measured(assignment, part):
    """The outcomes of all that is known of a part, on one drawing of inputs that is always the same."""
    with ours_may_answer():
        return [
            outcome_of(
                assignment, part, kind, verdict_on(assignment, part, code, ["0"]), names, told
            )
            for kind, _, names, told, code in tried_of(assignment, part)
        ]


class Tally:
    """Outcomes, counted by part.

    Attributes:
        counts: by (assignment, part), in the order of the course.
    """

    def __init__(self, outcomes):
        order = known()
        self.counts = {}
        for item in sorted(outcomes, key=lambda item: order.index(item.assignment)):
            count = self.counts.setdefault((item.assignment, item.part), Counter())
            kind = WRONG if item.kind == MISTAKE else item.kind
            count[kind] += 1
            for what in ("caught", "named", "explained", "misled"):
                count[f"{kind} {what}"] += getattr(item, what)

    def rows(self):
        """Rows of texts, one a part: HEAD says what they are."""
        return [(*which, *cells(count)) for which, count in self.counts.items()]

    def total(self):
        """The same for all parts together."""
        return cells(sum(self.counts.values(), Counter()))


HEAD = (
    "assignment", "part", "right", "false alarms", "wrong", "caught", "named", "explained",
    "misled", "pairs", "one named",
)  # fmt: skip


def cells(count):
    """What a row says of counted outcomes."""
    numbers = (
        count[RIGHT],
        count[f"{RIGHT} caught"],
        count[WRONG],
        count[f"{WRONG} caught"],
        count[f"{WRONG} named"],
        count[f"{WRONG} explained"],
        count[f"{WRONG} misled"],
        count[PAIR],
        count[f"{PAIR} named"],
    )
    return tuple(map(str, numbers))
