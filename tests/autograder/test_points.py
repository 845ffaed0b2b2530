"""Points are rounded once, half up, as people round them, wherever they are shown."""

import csv
import random
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest

from autograder.batch.csv_file import as_number
from autograder.points import as_written, counted, in_decimals, shown
from tests.autograder.lms import course_with, edit, lms
from tests.sample_class import ASSIGNMENT


@pytest.mark.parametrize(
    ("score", "shown"),
    [(8.125, "8.13"), (9.995, "10.00"), (8.005, "8.01"), (0.005, "0.01"), (1.004999, "1.00"), (0, "0.00"),
     (7.994999999999999, "8.00"), (-0.5, "-0.50"), (-0.001, "0.00"), (1e300, f"{10**300}.00"), (Fraction(2, 3), "0.67")],
)  # fmt: skip
def test_a_score_is_rounded_half_up_as_it_is_written(score, shown):
    assert as_number(score) == shown


def test_rounding_is_that_of_decimal_numbers():
    draw = random.Random(5)
    for _ in range(2000):
        text = f"{draw.randrange(100_000)}.{draw.randrange(10_000):04d}"
        for decimals in range(4):
            step = Decimal(1).scaleb(-decimals)
            right = str(Decimal(text).quantize(step, rounding=ROUND_HALF_UP))
            assert in_decimals(float(text), decimals) == right


def test_what_a_computer_adds_up_is_read_as_it_was_meant():
    assert as_written(0.1 + 0.2) == Fraction(3, 10)
    assert counted(8.995, 1.0) == 7.995
    assert counted(1.0, 2.0) == 0
    assert counted(float("inf")) == float("inf")


@pytest.mark.parametrize(
    ("points", "text"),
    [(10.125, "10.125"), (10, "10"), (100.0, "100"), (2.50, "2.5"), (2 / 3, "0.667"), (0.0005, "0.001"), (1e400, "inf")],
)  # fmt: skip
def test_a_page_shows_points_as_they_are(points, text):
    assert shown(points) == text


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
def test_tables_for_platforms_have_scores_rounded_half_up(tmp_path):
    scores = {"a": 8.125, "b": 9.995, "c": 8.005, "d": 8.995}
    course = course_with(tmp_path / "course", scores)
    edit(course, "d", penalty=1.0)
    table = tmp_path / "t.csv"
    table.write_text("Id,Score\n" + "".join(f"{name},\n" for name in scores))
    assert lms(course, "scores", table, "--by", "Id", "--column", "Score", "--points", "10") == 0
    with (course / "grading" / ASSIGNMENT / "scores_t.csv").open() as file:
        sent = {row["Id"]: row["Score"] for row in csv.DictReader(file)}
    assert sent == {"a": "8.13", "b": "10.00", "c": "8.01", "d": "8.00"}
    words = ("--by", "Id", "--column", "Score", "--points", "4.5", "--scale")
    assert lms(course, "scores", table, *words, "-o", tmp_path / "out.csv") == 0
    # 8.005 · 0.45 is 3.60225
    assert "c,3.60\n" in (tmp_path / "out.csv").read_text()
