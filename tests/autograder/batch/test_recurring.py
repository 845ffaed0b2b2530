"""Mistakes that the same student makes again, by name, across the reports of a term."""

import csv
import io
import json

from autograder.batch.class_report import as_csv, as_page, write_report
from autograder.batch.findings import Finding
from autograder.batch.recurring import FILE, earlier_mistakes, in_words, keep, recurring_in
from autograder.batch.student_result import StudentResult
from tests.sample_class import ASSIGNMENT, grade, hand_in, submission

FIRST, SECOND, LATER = "a2_first", "a9_second", "a10_later"


def row(student, *names, failed=False):
    findings = (Finding("p", mistakes=tuple((name, "Look again.") for name in names)),)
    return StudentResult(student, 1, 2, {"p": 1.0}, {"p": 2.0}, findings=findings, failed=failed)


def kept(course, assignment, *rows):
    (course / "grading" / assignment).mkdir(parents=True)
    keep(course, assignment, rows)


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
        in_words(today[0], earlier) == f"mask ignored (as in {FIRST}) | not scaled (as in {FIRST})"
    )
    assert in_words(today[3], earlier) == "", "others made it before, and joe did not"


def test_the_table_names_who_and_the_page_counts(tmp_path):
    kept(tmp_path, FIRST, row("ada", "mask ignored"))
    earlier = earlier_mistakes(tmp_path, SECOND)
    today = [row("ada", "mask ignored"), row("bob", "mask ignored")]
    ada, bob = csv.DictReader(io.StringIO(as_csv(today, "full", earlier)))
    assert (ada["made again"], bob["made again"]) == (f"mask ignored (as in {FIRST})", "")
    page = as_page(SECOND, "Second", today, "full", again=recurring_in(today, earlier))
    assert "Made again" in page and "1 student<" in page and "ada" not in page
    assert "Made again" not in as_page(SECOND, "Second", today, "full")


def test_what_cannot_be_read_is_as_if_it_were_not_there(tmp_path):
    kept(tmp_path, FIRST, row("ada", "mask ignored"))
    (tmp_path / "grading" / FIRST / FILE).write_text("{")
    kept(tmp_path, "a1_broken", row("ada", "mask ignored", failed=True))
    assert earlier_mistakes(tmp_path, SECOND) == {"a1_broken": {}}


def test_a_report_reads_what_the_report_before_it_wrote(tmp_path):
    hand_in(tmp_path, {"ada": submission("softmax_over_columns")})
    rows = grade(tmp_path)
    kept(tmp_path, "a1_before", row("ada", "softmax over the columns"))
    page, table = write_report(tmp_path, ASSIGNMENT, rows, "full")
    assert "Made again" in page.read_text(encoding="utf-8")
    assert "softmax over the columns (as in a1_before)" in table.read_text(encoding="utf-8")
    made = json.loads((tmp_path / "grading" / ASSIGNMENT / FILE).read_bytes())
    assert "softmax over the columns" in made["ada"]
