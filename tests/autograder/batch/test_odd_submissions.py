"""Everybody gets a row, the honest get what they get in a class of their own, nobody earns what was fetched."""

import re

import pytest

from autograder.batch.settings import Settings
from autograder.sandbox import bubblewrap
from tests.autograder.batch.odd_code import ANSWERS, FETCHED, KERNELS, LIBRARY
from tests.autograder.batch.odd_files import (
    ALL,
    FIRST_TWO,
    FOLDERS,
    HALF_NAMES,
    HONEST,
    LINKS,
    NAMES,
    NOTEBOOKS,
    PARTS,
)
from tests.sample_class import (
    ASSIGNMENT,
    ISOLATION,
    ROOT,
    grade,
    hand_in,
    same_inputs,
    submission,
)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing()),
]

LONGEST_STALL = 60  # seconds between one student and the next


def expected_points():
    cases = {**NOTEBOOKS, **FOLDERS, **KERNELS}
    return [(student, points) for student, (_, points) in cases.items()]


def test_everybody_has_a_row_with_a_name_and_a_reason(odd):
    assert odd.rows.keys() == odd.students, odd.said[-2000:]
    for row in odd.rows.values():
        assert row.points == row.of or row.reasons, row
        assert not any("grading stopped with" in reason for reason in row.reasons), row
        assert all(len(reason) < 2000 for reason in row.reasons), row.student


def test_the_command_says_that_some_could_not_be_run(odd):
    assert odd.status == 1, odd.said[-2000:]
    assert "Traceback" not in odd.said
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", odd.said)


def test_nobody_waits_for_one_submission(odd):
    gaps = [
        (after - before, what)
        for (before, _), (after, what) in zip(odd.times, odd.times[1:], strict=False)
    ]
    assert max(gaps)[0] < LONGEST_STALL, max(gaps)


def test_the_honest_get_what_they_get_in_a_class_of_their_own(odd, tmp_path):
    alone = tmp_path / "alone"
    hand_in(alone, {student: submission(student) for student in HONEST})
    same_inputs(odd.course, alone)
    for row in grade(alone, settings=Settings(workers=1, isolation=ISOLATION, feedback=False)):
        among = odd.rows[row.student]
        assert (among.points, among.parts, among.reasons) == (row.points, row.parts, row.reasons)
        assert not among.failed and not among.needs_person


@pytest.mark.parametrize(("student", "points"), expected_points(), ids=lambda value: str(value))
def test_what_is_odd_and_answered_earns_its_points(odd, student, points):
    row = odd.rows[student]
    if points is None:
        assert not row.failed and 0 <= row.points <= ALL, row
    elif points == 0:
        assert row.failed and row.points == 0, row
    else:
        assert not row.failed and row.points == points, row


@pytest.mark.parametrize("student", LINKS)
def test_what_is_no_folder_earns_nothing(odd, student):
    assert odd.rows[student].failed and odd.rows[student].points == 0


@pytest.mark.parametrize("student", NAMES, ids=ascii)
def test_every_name_that_a_folder_can_have_gets_points_and_a_page(odd, student):
    assert odd.rows[student].points == ALL, odd.rows[student]
    assert not odd.rows[student].needs_person, odd.rows[student]
    assert odd.feedback(student).exists()


@pytest.mark.parametrize("student", HALF_NAMES, ids=ascii)
def test_a_name_that_no_gradebook_can_hold_gets_a_row(odd, student):
    assert odd.rows[student].failed and "rename" in odd.rows[student].reasons[0]


@pytest.mark.parametrize("student", ANSWERS)
def test_an_answer_that_breaks_its_kernel_costs_its_own_part(odd, student):
    row = odd.rows[student]
    assert not row.failed
    assert row.points >= FIRST_TWO and row.parts[PARTS[2]] == 0, row


@pytest.mark.parametrize("way", FETCHED)
def test_what_is_fetched_earns_nothing(odd, way):
    row, (part, _) = odd.rows[f"fetch_{way}"], FETCHED[way]
    assert not row.failed and not row.needs_person
    assert row.parts[part] == 0, row
    assert row.parts[PARTS[3]] == row.possible[PARTS[3]], row  # and nothing else is lost
    if way in LIBRARY and way not in ("multihead", "forward_door"):
        assert any("is the answer itself" in reason for reason in row.reasons), row


def test_what_stands_in_brings_no_other_answer_along(odd):
    text = (odd.autograded("stand_in") / f"{ASSIGNMENT}.ipynb").read_text()
    seen = next(line for line in text.splitlines() if "SEEN [" in line)
    for name in PARTS[1:]:
        assert f"def {name}" not in seen and f"'{name}'" not in seen
    assert "course_utils" not in seen


def test_shared_memory_is_refused(odd):
    text = (odd.autograded("shared_memory") / f"{ASSIGNMENT}.ipynb").read_text()
    assert "got [-1, -1, -1]" in text


# ------------------------------------------------------------------------------ what is written of it


def test_every_test_that_the_list_of_threats_names_is_there():
    page = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")
    text = page.partition("\n## What could be tried, and what stands against it\n")[2]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert named
    for path, name in named:
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE), name
    rows = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    assert len(rows) > 30 and all("`tests/" in line or "| test |" in line for line in rows)
