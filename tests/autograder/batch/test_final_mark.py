"""The rules of a final mark, by marks that were worked out by hand."""

import os
from fractions import Fraction

import pytest

from autograder.batch.final_mark import Rules, mark_of, read_rules
from autograder.errors import CourseError

OF = {"a1": 10, "a2": 20, "a3": 10, "a4": 5}
RULES = Rules(50, drop_worst=1, weights={"a1": 1, "a2": 2, "a3": 1}, bonus={"a4": 5})


@pytest.mark.parametrize(
    ("points", "percent", "dropped"),
    [
        # 0.8, 0.6 and 1: without the second (0.8 + 1) / 2 = 90 %, and 4 of 5 add 4
        ({"a1": 8, "a2": 12, "a3": 10, "a4": 4}, "94", "a2"),
        # 0.5, 1 and nothing: without the third (1 · 0.5 + 2 · 1) / 3
        ({"a1": 5, "a2": 20}, "83.3", "a3"),
        # 0.4 twice: the one that weighs more goes, and (0.4 + 0.5) / 2 stays
        ({"a1": 4, "a2": 8, "a3": 5}, "45", "a2"),
        ({}, "0", "a2"),
        # a bonus is no way beyond the whole
        (OF, "100", "a2"),
    ],
)
def test_a_weighted_mark_without_the_worst_and_with_a_bonus(points, percent, dropped):
    mark = mark_of(points, OF, RULES)
    assert (mark.percent, mark.dropped) == (Fraction(percent), (dropped,))


def test_without_weights_each_assignment_counts_by_its_points():
    # (5 + 10 + 10) / 40, the bonus apart
    points = {"a1": 5, "a2": 10, "a3": 10, "a4": 5}
    assert mark_of(points, OF, Rules(50, bonus={"a4": 2})).percent == Fraction("64.5")
    # (5 + 10 + 10 + 5) / 45
    assert mark_of(points, OF, Rules(50)).percent == Fraction("66.7")


def test_an_excused_assignment_counts_for_nothing_and_something_always_counts():
    # only the second and the third: the worse goes
    assert mark_of({"a2": 10, "a3": 9}, OF, RULES, {"a1"}).percent == 90
    only = mark_of({"a3": 9}, OF, RULES, {"a1", "a2"})
    assert (only.percent, only.dropped) == (90, ())
    nothing = mark_of({}, OF, RULES, {"a1", "a2", "a3"})
    assert (nothing.percent, nothing.grade) == (None, "")


def test_a_mark_is_rounded_once_and_half_up_and_then_decides():
    rules = Rules(50, grades={"A": 90, "B": 50})
    half = mark_of({"a": 999}, {"a": 2000}, rules)  # 49.95
    assert (half.percent, half.grade, half.passed) == (50, "B", True)
    below = mark_of({"a": 49.949}, {"a": 100}, rules)
    assert (below.percent, below.grade, below.passed) == (Fraction("49.9"), "not passed", False)
    # in floating-point numbers this would be 89.85 and a little less
    assert mark_of({"a": 0.1 + 0.2}, {"a": 0.3}, rules).percent == 100
    assert mark_of({"a": 89.95}, {"a": 100}, rules).grade == "A"
    assert mark_of({"a": 89.5}, {"a": 100}, Rules(50, decimals=0)).percent == 90
    # to six decimals first, this would be 49.45 and then 49.5
    assert mark_of({"a": 49.449999999}, {"a": 100}, rules).percent == Fraction("49.4")


def test_too_little_in_one_assignment_is_not_passed_whatever_the_whole():
    rules = Rules(50, pass_in={"a1": 30}, grades={"pass": 50})
    reached = mark_of({"a1": 3, "a2": 20, "a3": 10, "a4": 5}, OF, rules)
    assert reached.passed and reached.grade == "pass"
    missed = mark_of({"a1": 2.9, "a2": 20, "a3": 10, "a4": 5}, OF, rules)
    assert (missed.passed, missed.grade, missed.missed) == (False, "not passed", ("a1",))
    assert mark_of({"a2": 20, "a3": 10, "a4": 5}, OF, rules, {"a1"}).passed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "the shortest is one line, pass_at = 50"),
        ("pass_at = ", "cannot be read"),
        ("", "missing required field `pass_at`"),
        ("pass_at = 50\nwieghts = {}", "unknown field `wieghts`"),
        ("pass_at = nan", "`float` >= 0.0"),
        ("pass_at = " + "9" * 5000, "cannot be read"),
        ("x = " + "[" * 5000, "nested too deeply"),
        ("pass_at = 50\n[weights]\na1 = inf", "`float` <= 1000000.0"),
        ("pass_at = 50\n[bonus]\na1 = 1e999", "`float` <= 1000000.0"),
        ("pass_at = 50\n[weights]\na1 = -1", "`float` > 0.0"),
        ("pass_at = 50\n[grades]\nA = 50\nB = 50", "begin at the same percentage"),
        ("pass_at = 150", "`float` <= 100.0 - at `$.pass_at`"),
        ("pass_at = 50\n[weights]\na1 = 0", "`float` > 0.0"),
        ("pass_at = 50\n[grades]\nA = 90\nB = 60", "begins at 60 percent, and pass_at is 50"),
        (
            "pass_at = 50\n[weights]\na1 = 1\n[bonus]\na1 = 1",
            "a1 stands in [weights] and in [bonus]",
        ),
        (
            "pass_at = 50\ndrop_worst = 1\n[weights]\na1 = 1",
            "drop_worst is 1, and [weights] names 1",
        ),
    ],
)
def test_rules_that_cannot_be_are_refused_with_what_to_do(text, said, tmp_path):
    path = tmp_path / "term.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError) as refused:
        read_rules(path)
    assert str(path) in str(refused.value) and said in str(refused.value)


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a device", "a link to itself"])
def test_rules_that_are_no_file_are_refused_at_once(kind, tmp_path):
    path = tmp_path / "term.toml"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "a device" else path)
    with pytest.raises(CourseError, match="expected a plain file"):
        read_rules(path)


def test_small_weights_weigh_as_much_as_large_ones_among_themselves():
    rules = Rules(50, weights={"a1": 1e-9, "a2": 3e-9})
    assert mark_of({"a1": 10, "a2": 0}, OF, rules).percent == 25
