"""What the code under test raises is told apart from what ends it, and from the end of the watch itself."""

import sys

import pytest

from autograder.probe.subject import SubjectError, TimeLimit, errors_are_its_own


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), GeneratorExit()])
def test_whatever_is_raised_inside_is_its_own(error):
    with pytest.raises(SubjectError) as caught, errors_are_its_own():
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeLimit])
def test_what_ends_it_is_not(error):
    with pytest.raises(error), errors_are_its_own():
        raise error


def test_a_watch_that_time_cut_off_on_its_way_in_raises_nothing_at_its_end(monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    watch = errors_are_its_own()
    watch.__enter__()
    del watch
    assert raised == []
