"""Answers that are known to be right or wrong, tried on the checks: python -m pytest check_answers.py"""

from autograder.checks.course import load
from autograder.checks.decide import decide
from autograder.probe.probe import answer


def verdict_on(name, code):
    assignment = load("a1_averages")
    return decide(
        assignment, assignment.part(name), lambda asked: answer(asked, {name: code}), [""]
    )


def test_the_reference_earns_all():
    for part in load("a1_averages").parts:
        assert verdict_on(part.name, part.reference).right


def test_every_mistake_is_called_by_its_name_and_costs_half_at_most():
    for part in load("a1_averages").parts:
        for mistake in part.mistakes:
            verdict = verdict_on(part.name, mistake.answer)
            assert [name for name, _ in verdict.mistakes] == [mistake.name]
            assert part.points / 2 <= verdict.earned < part.points
