"""One trial of a part: what it earns, and which mistakes and relations tell why."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cached_property

from msgspec import structs

from autograder.checks.cases import Step
from autograder.checks.credit import waived
from autograder.checks.diagnosis import Diagnosis, diagnosis_of, mistakes_in
from autograder.checks.drawn_cases import CaseRun
from autograder.checks.explain.differences import relations_in
from autograder.checks.heatmaps import pictured
from autograder.checks.judge import in_words
from autograder.checks.missing import is_unanswered
from autograder.checks.verdicts import Obstacle, PartVerdict, StepVerdict, Waived
from autograder.faults import note


class Trial:
    """A part that was asked once: what it earns, and which mistakes and relations tell why.

    The substitutes are earlier parts in whose place ours were, some of them because they are slow.
    """

    def __init__(
        self,
        attempts: list[CaseRun],
        substitutes: tuple[str, ...] = (),
        slow: Collection[str] = (),
    ) -> None:
        self.part = attempts[0].part
        self.attempts, self.substitutes, self.slow = attempts, substitutes, slow

    @property
    def stood_in(self) -> tuple[str, ...]:
        """Those of the substitutes that were called."""
        called = {name for item in self.attempts for name in item.actual.stood_in}
        return tuple(name for name in self.substitutes if name in called)

    @property
    def all_right(self) -> bool:
        return not any(item.problem for item in self.attempts)

    @property
    def missing(self) -> bool:
        """Whether there is no such name."""
        return all(item.actual.status == "missing" for item in self.attempts)

    @property
    def late(self) -> bool:
        """Whether some case took too long."""
        return any(item.actual.status == "timeout" for item in self.attempts)

    @property
    def unanswered(self) -> bool:
        """Whether nothing but the released line was reached."""
        return all(
            item.actual.error is not None and is_unanswered(item.actual.error)
            for item in self.attempts
        )

    @property
    def lacks(self) -> str:
        """A global name that is not there, without which no case comes to an end; empty if there is none."""
        errors = [item.actual.error for item in self.attempts if item.problem]
        messages = {
            error.message if error and error.type == "NameError" else "" for error in errors
        }
        found = re.match(r"name '(\w+)' is not defined", messages.pop()) if messages else None
        return found[1] if found and not messages else ""

    @property
    def may_be_hidden(self) -> bool:
        """Whether an answer that was written may not have been reached."""
        errors = [item.actual.error for item in self.attempts]
        return any(error is not None and error.type == "NotImplementedError" for error in errors)

    @cached_property
    def found(self) -> Diagnosis | None:
        """The named mistakes that are behind all of it."""
        return diagnosis_of(self.attempts)

    @cached_property
    def verdict(self) -> PartVerdict:
        """The points of each step: all, or none and the first case on which it failed."""
        part, attempts, steps = self.part, self.attempts, []
        why: dict[Step, Waived] = {}
        try:
            if part.charge_once:
                why = waived(attempts, lambda: self.found)
        except Exception as error:  # noqa: BLE001 (noted; each step is charged by itself)
            note(f"looking for steps of `{part.name}` that one mistake explains", error)
        for step in part.steps:
            wrong = next((item for item in attempts if item.step is step and item.problem), None)
            if wrong:
                told = wrong.case.label, in_words(wrong), *pictured(wrong)
                kept = why.get(step, Waived.NO)
                earned = step.points if kept else 0.0
                steps.append(StepVerdict(step.asks, earned, step.points, *told, kept))
            else:
                steps.append(StepVerdict(step.asks, step.points, step.points))
        obstacle = Obstacle.TIME_LIMIT if self.late else Obstacle.NONE
        if any(item.actual.ended for item in attempts):
            obstacle = Obstacle.ENDED
        each = not part.charge_once and sum(not step.earned for step in steps) > 1
        remark = "In this course, each step that is wrong is charged." if each else ""
        return PartVerdict(
            part.name, part.signature, tuple(steps), (), remark, part.reads, obstacle=obstacle
        )

    def with_names(self, verdict: PartVerdict) -> PartVerdict:
        """A verdict on this part with the names of what is wrong here, or how results differ."""
        if verdict.right:
            return verdict
        verdict = structs.replace(verdict, lacks=self.lacks)
        try:
            mistakes = mistakes_in(self.attempts, self.found)
            relations = () if mistakes else relations_in(self.attempts)
            return structs.replace(verdict, mistakes=mistakes, relations=relations)
        except Exception as error:  # noqa: BLE001 (noted; the points stand without a name)
            note(f"looking for what is wrong in `{self.part.name}`", error, undecided=False)
            return verdict
