"""A limit is written once: its field, its flag, its unit and its help are one thing."""

from dataclasses import fields

import pytest

from autograder.__main__ import main
from autograder.sandbox import limits
from autograder.sandbox.limits import Limits


def test_every_limit_has_a_flag():
    assert [name for name, _, _ in limits.flags()] == [field.name for field in fields(Limits)]


def test_flags_say_in_whole_units_what_the_defaults_are():
    for name, default, help_text in limits.flags():
        assert 1 <= default <= 10_000, name
        assert help_text
    assert limits.from_flags({name: default for name, default, _ in limits.flags()}) == Limits()


def test_a_flag_is_in_the_unit_of_its_help():
    units = {"MiB": 1 << 20, "seconds": 1, "open files": 1, "files and folders": 1, "threads": 1}
    for name, default, help_text in limits.flags():
        unit = next(unit for words, unit in units.items() if help_text.startswith(words))
        assert getattr(limits.from_flags({name: default + 1}), name) == (default + 1) * unit


def test_what_is_no_limit_is_passed_over():
    assert limits.from_flags({}) == Limits()
    assert limits.from_flags({"jobs": 7, "cpu": 3, "again": True}) == Limits(cpu=3)


def test_the_second_wall_is_further_out_than_the_first():
    given = Limits()
    assert given.clock_per_call > given.seconds_per_call
    assert given.clock_per_cell > given.seconds_per_cell > given.seconds_per_call
    assert given.on_the_clock > given.cpu > given.seconds_per_cell
    assert given.seconds > given.clock_per_cell
    assert given.clock_per_cell > given.clock_per_call


def test_the_command_line_lists_every_limit(capsys):
    with pytest.raises(SystemExit):
        main(["grade", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for name, default, help_text in limits.flags():
        flag = f"--{name.replace('_', '-')} N"
        assert f"{flag} {help_text} (default {default})" in said


@pytest.mark.parametrize("number", ["0", "-3", "1.5", "much"])
def test_a_limit_is_a_number_from_one_on(capsys, number):
    with pytest.raises(SystemExit):
        main(["grade", "a2_self_attention", f"--memory={number}"])
    assert "--memory" in capsys.readouterr().err
