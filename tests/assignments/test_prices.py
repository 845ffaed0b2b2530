"""What is called by the name of one mistake costs what that mistake does."""

import re

import pytest

from assignments import known, load
from autograder.bank.measure import bank_of, verdict_at, verdict_on
from tests.assignments.cheaper import DEARER
from tests.assignments.sample import always, answers_in_sample, shown
from tests.course_copy import section_of
from tests.sample_class import ROOT

ANSWERS = [
    always(given in answers_in_sample(name, given.part), name, given)
    for name in known()
    for given in bank_of(name)
    if not given.right and given.named
]


@pytest.mark.parametrize(("assignment", "given"), ANSWERS, ids=shown)
def test_an_answer_of_the_bank_costs_no_more_than_the_mistake_by_which_it_is_called(
    assignment, given
):
    """Else either a variant of the mistake is missing, or something else is wrong with the answer."""
    part = load(assignment).part(given.part)
    verdict = verdict_at(assignment, part, given.code, 0)
    names = [name for name, _ in verdict.mistakes]
    if len(names) != 1 or names[0] not in {mistake.name for mistake in part.mistakes}:
        return  # two mistakes, or one that no author has priced
    prices = [verdict_at(assignment, part, one.answer, 0).earned for one in part.named(names[0])]
    listed = DEARER.get(part.name, {}).get(given.code.__name__, "")
    assert (verdict.earned >= min(prices)) != bool(listed), (
        f"it earns {verdict.earned:g}, and '{names[0]}' {min(prices):g}: add a variant to the mistake, or say in "
        "`DEARER` what else is wrong with the answer"
    )


PRICED_TWICE = re.findall(
    r"^\| `(\w+)` \| (.+) \| (\d+) \| (\d+) \| (\d+) \|$",
    section_of((ROOT / "docs/grading.md").read_text("utf-8"), "What an error costs"),
    re.MULTILINE,
)


def test_a_course_may_charge_each_step_as_its_guide_says(monkeypatch):
    name = "a5_multi_head_attention"
    assert len(PRICED_TWICE) == 10
    for part, mistake, once, each, points in PRICED_TWICE:
        part = load(name).part(part)
        answer = part.named(mistake)[0].answer
        charged_once = verdict_on(name, part, answer, cells=["0"])
        with monkeypatch.context() as setting:
            setting.setattr(part, "charge_once", False)
            verdict = verdict_on(name, part, answer, cells=["0"])
        assert (charged_once.earned, verdict.earned) == (float(once), float(each))
        assert part.points == float(points)
        assert not any(step.waived for step in verdict.steps)
        assert verdict.mistakes == charged_once.mistakes
        assert ("each step that is wrong" in verdict.remark) == (steps_lost_in(verdict) > 1)
        assert "each step" not in charged_once.remark


def steps_lost_in(verdict):
    """How many steps cost points."""
    return sum(not step.earned for step in verdict.steps)
