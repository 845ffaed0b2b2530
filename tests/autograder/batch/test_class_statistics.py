"""Numbers about a class: against what can be worked out by hand, and mistakes that come again in a term."""

import json
import random

import numpy as np
import pytest

from autograder.batch.class_report import as_page, table_rows, write_report
from autograder.batch.class_statistics import (
    FEWEST,
    FILE,
    earlier_mistakes,
    keep_mistakes,
    made_again,
    part_statistics,
    recurring_in,
)
from autograder.batch.findings import Finding
from autograder.batch.student_result import StudentResult
from tests.sample_class import ASSIGNMENT, grade, hand_in, submission

FIRST, SECOND, LATER = "a2_first", "a9_second", "a10_later"


def test_difficulty_is_the_share_of_points_that_were_earned():
    earned = [{"p": 3.0, "q": 0.0}, {"p": 1.5, "q": 1.0}]
    p, q = part_statistics("p", earned, 3), part_statistics("q", earned, 1)
    assert (p.difficulty, p.whole) == (0.75, 1)
    assert (q.difficulty, q.whole) == (0.5, 1)


def test_discrimination_is_the_correlation_with_all_other_parts():
    chance = random.Random(0)
    earned = [{part: float(chance.randrange(4)) for part in "pqr"} for _ in range(50)]
    found = part_statistics("q", earned, 3).discrimination
    others = [own["p"] + own["r"] for own in earned]
    assert found == pytest.approx(np.corrcoef([own["q"] for own in earned], others)[0, 1])
    whole = np.corrcoef([own["q"] for own in earned], [sum(own.values()) for own in earned])[0, 1]
    assert whole > found + 0.3, "with itself in the total, a part of pure chance would seem to tell"


def test_a_part_that_those_solve_who_solve_the_rest_tells_most():
    able = [number >= FEWEST / 2 for number in range(FEWEST)]
    earned = [{"p": float(knows), "q": float(knows), "r": float(not knows)} for knows in able]
    earned = [{**own, "s": 2 * own["p"]} for own in earned]
    assert part_statistics("p", earned, 1).discrimination == pytest.approx(1)
    assert part_statistics("r", earned, 1).discrimination == pytest.approx(-1)


@pytest.mark.parametrize(
    "earned",
    [
        [{"p": 1.0, "q": float(number % 2)} for number in range(FEWEST)],
        [{"p": float(number % 2), "q": float(number % 2)} for number in range(FEWEST - 1)],
        [{"p": float(number % 2)} for number in range(FEWEST)],
        [],
    ],
    ids=["all earned the same", "too few", "no other part", "nobody"],
)
def test_where_nothing_can_be_said_nothing_is(earned):
    assert part_statistics("p", earned, 1).discrimination is None


def row(student, *names, failed=False):
    findings = (Finding("p", mistakes=tuple((name, "Look again.") for name in names)),)
    return StudentResult(student, 1, 2, {"p": 1.0}, {"p": 2.0}, findings=findings, failed=failed)


def kept(course, assignment, *rows):
    (course / "grading" / assignment).mkdir(parents=True)
    keep_mistakes(course, assignment, rows)


def test_who_made_a_mistake_before_and_makes_it_again_is_counted(tmp_path):
    kept(tmp_path, FIRST, row("ada", "mask ignored", "not scaled"), row("bob", "mask ignored"))
    kept(tmp_path, SECOND, row("eve", "mask ignored"), row("joe", "no softmax"))
    kept(tmp_path, LATER, row("ada", "not scaled"))
    earlier = earlier_mistakes(tmp_path, LATER)
    assert list(earlier) == [FIRST, SECOND], "in the order of their numbers, and only those before"
    today = [
        row("ada", "mask ignored", "not scaled"), row("bob"), row("eve", "mask ignored"),
        row("joe", "mask ignored"), row("new", "not scaled"),
    ]  # fmt: skip
    found = recurring_in(today, earlier)
    assert [(item.name, item.before, item.again) for item in found] == [
        ("mask ignored", 3, 2),
        ("not scaled", 1, 1),
    ]
    assert found[0].earlier == (FIRST, SECOND)
    assert (
        made_again(today[0], earlier)
        == f"mask ignored (as in {FIRST}) | not scaled (as in {FIRST})"
    )
    assert made_again(today[3], earlier) == "", "others made it before, and joe did not"


def test_the_table_names_who_and_the_page_counts(tmp_path):
    kept(tmp_path, FIRST, row("ada", "mask ignored"))
    earlier = earlier_mistakes(tmp_path, SECOND)
    today = [row("ada", "mask ignored"), row("bob", "mask ignored")]
    head, *rows = table_rows(today, "full", earlier)
    ada, bob = (dict(zip(head, row, strict=True)) for row in rows)
    assert (ada["made again"], bob["made again"]) == (f"mask ignored (as in {FIRST})", "")
    page = as_page(SECOND, "Second", today, "full", again=recurring_in(today, earlier))
    assert "Made again" in page and "1 student<" in page and "ada" not in page
    assert "Made again" not in as_page(SECOND, "Second", today, "full")


def test_what_cannot_be_read_is_as_if_it_were_not_there(tmp_path):
    kept(tmp_path, FIRST, row("ada", "mask ignored"))
    (tmp_path / "grading" / FIRST / FILE).write_text("{")
    kept(tmp_path, "a1_broken", row("ada", "mask ignored", failed=True))
    assert earlier_mistakes(tmp_path, SECOND) == {"a1_broken": {}}


@pytest.mark.long
def test_a_report_reads_what_the_report_before_it_wrote(tmp_path):
    hand_in(tmp_path, {"ada": submission("softmax_over_columns")})
    rows = grade(tmp_path)
    kept(tmp_path, "a1_before", row("ada", "softmax over the columns"))
    page, table = write_report(tmp_path, ASSIGNMENT, rows, "full")
    assert "Made again" in page.read_text(encoding="utf-8")
    assert "softmax over the columns (as in a1_before)" in table.read_text(encoding="utf-8")
    made = json.loads((tmp_path / "grading" / ASSIGNMENT / FILE).read_bytes())
    assert "softmax over the columns" in made["ada"]
