"""Decide a part: ask the probe, compare with the reference, name the mistake, award the steps."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from msgspec import structs

from autograder.arrays import is_array
from autograder.checks import source_rules
from autograder.checks.check import Assignment, Part
from autograder.checks.drawn_cases import CaseRun, DrawnCases, drawn_for
from autograder.checks.files_beside import beside_as_text
from autograder.checks.follow_through import source_of
from autograder.checks.judge import problem_with
from autograder.checks.missing import (
    NOTHING_AROUND,
    Surroundings,
    is_as_handed_out,
    what_hides_it,
    why_missing,
    why_not_the_later_one,
    why_not_there,
    why_unanswered,
)
from autograder.checks.reply import observations_in, refuse_forged
from autograder.checks.trial import Trial
from autograder.checks.verdicts import Obstacle, PartVerdict, StepVerdict
from autograder.faults import GraderError
from autograder.probe.disallowed import Disallowed
from autograder.probe.messages import Observation, Questions
from autograder.probe.wire import WireError, encode

Probe = Callable[[bytes], bytes]


class NotAwarded(Exception):
    """A part earns nothing for a reason of its own, which the message says to the student."""

    def __init__(self, remark: str, obstacle: Obstacle) -> None:
        super().__init__(remark)
        self.obstacle = obstacle


def _why_disallowed(part: Part, used: str, where: str = "") -> str:
    """What to say of a library's own answer; a part that no lecture explains names no lecture."""
    instead = "the operations of the lecture" if part.reads[0] else "simpler operations"
    return (
        f"This part uses `{used}`{where}, which is the answer itself. Write it with {instead} instead; "
        "everything you have around it can stay."
    )


def seed_of(
    assignment: str,
    cells: Iterable[str],
    secret: str = "",
    files: Mapping[str, bytes] | None = None,
    asked_before: Iterable[str] = (),
) -> int:
    """A seed that differs by submission, and can be computed again by who knows the secret.

    All that a submission's code can see of itself counts, bit by bit: cells, files, and what was asked
    of it before, so that what one has noted of its inputs is of no use to another. Where all of a class are
    asked the same, the name of their sheet stands for the cells.
    """
    whole = hashlib.sha256()
    for texts in ([secret, assignment], cells, asked_before):
        # each by its digest, so that no text can pass for two, or half a character for another half
        each = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        whole.update(hashlib.sha256(b"".join(each)).digest())
    for name, content in sorted((files or {}).items()):
        whole.update(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest())
        whole.update(hashlib.sha256(content).digest())
    return int.from_bytes(whole.digest()[:6], "big")


def disallowed_in(assignment: Assignment, part: Part) -> Disallowed:
    """What a part may not use."""
    disallowed = assignment.disallowed if part.disallowed is None else part.disallowed
    return Disallowed(
        names=list(source_rules.with_back_ways(disallowed)),
        libraries=list(assignment.course.libraries),
    )


def disallowed_lists_of(assignment: Assignment) -> list[Disallowed]:
    """What the parts of an assignment may not use, each list once."""
    each = [disallowed_in(assignment, part) for part in assignment.parts]
    lists = {json.dumps(disallowed): disallowed for disallowed in each}
    return [disallowed for disallowed in lists.values() if disallowed["names"]]


def decide(
    assignment: Assignment,
    part: Part,
    probe: Probe,
    cells: Iterable[str],
    failed_before: Iterable[str] = (),
    right_before: Iterable[str] = (),
    files: Mapping[str, bytes] | None = None,
    seed: int | None = None,
    handed_out: str = "",
    around: Surroundings = NOTHING_AROUND,
) -> PartVerdict:
    """Decide one part of a submission: read it, ask it, and where it builds on an error, ask it once more with ours.

    Args:
        probe: takes encoded `Questions` and returns the encoded observations.
        cells: source of the student's code cells, read for what is disallowed.
        failed_before: earlier parts that did not earn all their points. Where this part calls one of
            them, it is decided with the reference in their place, unless it earns more without, so
            that one error is not charged twice.
        right_before: earlier parts that earned all their points. Where this one takes too long, it is
            decided with the reference in the place of those as well, if it earns more so.
        files: what lies beside the notebook, by relative name; read as the cells are.
        seed: by which inputs are drawn; by the cells, if there is none.
        handed_out: source of the part's cell as students got it; empty if that is not known. Who has
            not changed its code has not answered, also where it can be called.
        around: what else is in the notebook, for what is said of names that are not there.
    """
    cells = list(cells)
    if refused := _refused(assignment, part, cells, files or {}):
        return refused
    seed = seed_of(f"{assignment.name}/{part.name}", cells) if seed is None else seed
    asker = Asker(assignment, part, probe, seed)
    failed = {*part.may_call}.intersection(failed_before)
    try:
        alone, again = asker.without_and_with_ours(failed)
    except NotAwarded as reason:
        return nothing(part, str(reason), reason.obstacle)
    if again and not alone:
        return _with_substitutes(again)
    assert alone
    if alone.missing:
        return nothing(part, why_missing(part.name, cells, around), Obstacle.MISSING)
    best = again if again and again.verdict.earned >= alone.verdict.earned else alone
    quicker = asker.with_ours_for_slow(failed, {*right_before}) if best.late else None
    if quicker and quicker.verdict.earned > best.verdict.earned:
        return _with_substitutes(quicker)
    untouched = not alone.all_right and is_as_handed_out(part.name, cells, handed_out)
    hidden = what_hides_it(part.name, cells) if alone.may_be_hidden else ""
    # an earlier part that is not answered says so when this one calls it
    if again and not alone.all_right and not untouched and not again.unanswered:
        verdict = _better_of(alone, again)
    elif alone.unanswered and hidden:
        return nothing(part, hidden, Obstacle.NONE)
    elif alone.unanswered or untouched:
        why = why_unanswered(part.name, cells, untouched and not alone.unanswered)
        return nothing(part, why, Obstacle.UNANSWERED)
    else:
        verdict = alone.with_names(alone.verdict)
    if not verdict.right and not hidden:
        own = _with_your_own(failed - asker.lent.keys())
        lacks, later = (
            why_not_there(verdict.lacks, around),
            why_not_the_later_one(part.name, around),
        )
        hidden = _joined(own, lacks, later)
    return structs.replace(verdict, remark=_joined(verdict.remark, hidden))


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _refused(
    assignment: Assignment, part: Part, cells: list[str], files: Mapping[str, bytes]
) -> PartVerdict | None:
    """The verdict on a part whose code is read to use what it may not; None where it does not."""
    used = source_rules.find(
        cells,
        part.name,
        disallowed_in(assignment, part)["names"],
        assignment.allowed_modules,
        part.may_call,
        beside_as_text(cells, files),
        assignment.course.packages,
    )
    if not used:
        return None
    why = _why_disallowed(part, used.message, used.where)
    if used.of_course:
        *others, last = [f"`{module}`" for module in assignment.allowed_modules] or ["none"]
        free = f"{', '.join(others)} and {last}" if others else last
        why = (
            f"This part has `{used.message}`{used.where}. Of the course's own modules, {free} may be imported here; "
            "write this part yourself, and all you have around it can stay."
        )
    return nothing(part, why, Obstacle.DISALLOWED)


class Asker:
    """Asks one submission about a part, with its own earlier parts or with ours in their place.

    Attributes:
        lent: source of those of our earlier parts that may stand in.
    """

    def __init__(self, assignment: Assignment, part: Part, probe: Probe, seed: int) -> None:
        self.part, self._probe, self._seed = part, probe, seed
        self._disallowed = disallowed_in(assignment, part)
        self.lent = {
            name: source_of(earlier.reference, assignment.course.libraries)
            for name in part.may_call
            if (earlier := assignment.part(name)).lend
        }

    def without_and_with_ours(self, failed: set[str]) -> tuple[Trial | None, Trial | None]:
        """A trial with the student's own parts, and one with ours in the place of wrong ones that it calls.

        The first is None where the second says all: it is right, or the other is not awarded, since what is
        disallowed may be an earlier part's doing, which costs points there.

        Raises:
            NotAwarded: there is neither.
        """
        ours = [name for name in self.lent if name in failed]
        again: Trial | None = None
        if ours:
            with contextlib.suppress(NotAwarded):  # it may do better with the student's own
                again = self._trial(0, ours)
        if (
            again and not again.stood_in
        ):  # none of ours was called, so this was the trial without them
            return again, None
        if again and again.all_right:
            return None, again
        try:
            # the inputs of a first trial may have been noted, with what ours make of them
            return self._trial(1 if ours else 0), again
        except NotAwarded:
            if again:
                return None, again
            raise

    def with_ours_for_slow(self, failed: set[str], right: set[str]) -> Trial | None:
        """A trial with ours also in the place of earlier parts that are right; None where there is none of these."""
        slow = right & self.lent.keys()
        if slow:
            with contextlib.suppress(NotAwarded):
                return self._trial(2, [name for name in self.lent if name in failed | slow], slow)
        return None

    def _trial(self, number: int, ours: Iterable[str] = (), slow: Collection[str] = ()) -> Trial:
        lent = {name: self.lent[name] for name in ours}
        drawn = drawn_for(self.part, self._seed + number)
        return Trial(_asked(drawn, self._probe, self._disallowed, lent), tuple(lent), slow)


def _better_of(alone: Trial, again: Trial) -> PartVerdict:
    """The verdict of the trial with ours in place, whole, unless the other one earns more.

    Where both earn the same, this one has no earlier error among its results.
    """
    if again.verdict.earned < alone.verdict.earned:
        return alone.with_names(alone.verdict)
    return _with_substitutes(again)


def _with_substitutes(again: Trial) -> PartVerdict:
    """The verdict on a part that was decided with ours in the place of earlier ones, which says so."""
    *most, last = (f"`{name}`" for name in again.stood_in)
    names = f"{', '.join(most)} and {last}" if most else last
    place = "their place" if most else "its place"
    if again.slow:
        why = f"With your own {names} this part did not end in its time, so it"
        rule = "Time that earlier parts take is not charged here."
    else:
        why, rule = f"{names} did not earn all points, so this part", "An error is charged once."
    remark = f"{why} was decided with ours in {place}. {rule} {again.verdict.remark}".rstrip()
    return again.with_names(structs.replace(again.verdict, stood_in=again.stood_in, remark=remark))


def _with_your_own(names: Iterable[str]) -> str:
    """What to say of earlier parts that are wrong, and of which the course lends nobody its own."""
    own = [f"`{name}`" for name in sorted(names)]
    if not own:
        return ""
    return (
        f"This part was decided with your own {' and '.join(own)}, which did not earn all points: what is "
        "wrong here may come from there."
    )


def nothing(part: Part, remark: str, obstacle: Obstacle = Obstacle.STOPPED) -> PartVerdict:
    """The verdict on a part that could not be decided step by step, with the reason."""
    steps = tuple(StepVerdict(step.asks, 0.0, step.points) for step in part.steps)
    return PartVerdict(
        part.name, part.signature, steps, remark=remark, reads=part.reads, obstacle=obstacle
    )


def _asked(
    drawn: DrawnCases, probe: Probe, disallowed: Disallowed, substitutes: dict[str, str]
) -> list[CaseRun]:
    """Ask the probe, and look at each answer; `NotAwarded` if there is nothing to award.

    Raises:
        GraderError: the probe itself has failed, on the way of this answer.
    """
    questions = Questions(
        requests=drawn.requests,
        steps=drawn.steps,
        substitutes=substitutes,
        disallowed=disallowed,
    )
    answers = probe(encode(questions))
    try:
        return _attempts_in(answers, drawn, disallowed)
    except WireError as error:
        reason = f"The answers of this part could not be read: {error}."
        raise NotAwarded(reason, Obstacle.STOPPED) from error


def _attempts_in(answers: bytes, drawn: DrawnCases, disallowed: Disallowed) -> list[CaseRun]:
    """What has come back of each case, and what is wrong with it."""
    observations = observations_in(answers, len(drawn.requests))
    used = next((seen.used for seen in observations if seen.used in disallowed["names"]), "")
    if used:
        raise NotAwarded(_why_disallowed(drawn.part, used), Obstacle.DISALLOWED)
    drawn.refuse_stopped_reference()
    for seen in observations:
        if seen.status == "fault" and seen.error:
            raise GraderError(
                f"the probe itself failed over `{drawn.part.name}`: {seen.error.type}: "
                f"{seen.error.message}, in {seen.error.line}"
            )
    for request, right, seen in zip(drawn.requests, drawn.expected, observations, strict=True):
        refuse_forged(request, right, seen)
    attempts = [
        CaseRun(drawn, number, _in_order(drawn, number, seen))
        for number, seen in enumerate(observations)
    ]
    return [replace(item, problem=problem_with(item)) for item in attempts]


def _in_order(drawn: DrawnCases, number: int, seen: Observation) -> Observation:
    """What came in a dict without it: several results as they stand in it, or the only one.

    That there is a dict is one slip, which the last step alone charges.
    """
    step, expected = drawn.plan[number][0], drawn.expected[number].value
    if step is drawn.part.steps[-1] or not isinstance(seen.value, dict):
        return seen
    results = tuple(seen.value.values())
    if isinstance(expected, tuple) and len(results) == len(expected):
        return structs.replace(seen, value=results)
    if is_array(expected) and len(results) == 1:
        return structs.replace(seen, value=results[0])
    return seen
