"""The settings of the service: what may stand there, and what is said of anything else."""

import pytest

from autograder.errors import CourseError
from autograder.service.policy import Policy, read_settings

KNOWN = ("a1_x", "a2_y")


def settings_of(folder, text):
    (folder / "service.toml").write_text(text, encoding="utf-8")
    return read_settings(folder, KNOWN)


def test_without_a_file_everything_is_as_usual(tmp_path):
    settings = read_settings(tmp_path, KNOWN)
    assert settings.rules("a1_x") == Policy("at once", "mistakes", "last")
    assert settings.per_hour == 6 and settings.check_owner and settings.exchange == ""


def test_what_a_table_leaves_out_stands_in_the_one_for_every_assignment(tmp_path):
    settings = settings_of(
        tmp_path,
        """
        exchange = "/srv/exchange"
        per_hour = 3
        [every]
        show = "points"
        [assignment.a2_y]
        when = "after the deadline"
        counts = "best"
        """,
    )
    assert settings.rules("a1_x") == Policy("at once", "points", "last")
    assert settings.rules("a2_y") == Policy("after the deadline", "points", "best")


@pytest.mark.parametrize(
    "text, message",
    [
        ("per_hour = 0", "per_hour"),
        ("per_hour = ", "is not TOML"),
        ('[every]\nwhen = "soon"', "'at once', 'after the deadline', 'by hand'"),
        ('[assignment.a1_x]\nshow = "all"', "[assignment.a1_x]"),
        ('[assignment.a1_x]\nshown = "points"', "Known are: when, show, counts"),
        ('[assignment.a9_z]\nshow = "points"', "There are: a1_x, a2_y"),
        ('exchanges = "/srv"', "Known are: exchange, check_owner, per_hour"),
        ('exchange = "srv"', "a path from the root on, found 'srv'"),
        ('[every]\ncounts = "best"', "needs an exchange"),
    ],
)
def test_anything_else_is_refused_with_what_may_stand_there(tmp_path, text, message):
    with pytest.raises(CourseError) as error:
        settings_of(tmp_path, text)
    assert message in str(error.value) and "service.toml" in str(error.value)
