"""Feedback pages in an archive whose names Moodle and Canvas find their people by."""

import zipfile

import pytest

from autograder.lms import canvas, moodle
from tests.autograder.lms import archive, canvas_export, course_with, lms, worksheet, written
from tests.autograder.lms.test_moodle import import_zip
from tests.autograder.lms.test_unpack import CANVAS, MOODLE
from tests.sample_class import ASSIGNMENT

NOTEBOOK, PAGE = f"{ASSIGNMENT}.ipynb", f"{ASSIGNMENT}.html"


@pytest.fixture
def course(tmp_path):
    course = course_with(tmp_path / "course", {"s001": 1, "s002": 2, "s009": 3})
    for student in ("s001", "s002", "s009"):
        page = course / "feedback" / student / ASSIGNMENT / PAGE
        page.parent.mkdir(parents=True)
        page.write_text(f"<p>{student}</p>", encoding="utf-8")
    return course


def table(path, rows):
    path.write_text(written(rows), encoding="utf-8")
    return path


def packed(course, platform):
    with zipfile.ZipFile(course / "grading" / ASSIGNMENT / f"feedback_{platform}.zip") as pages:
        return {name: pages.read(name).decode() for name in pages.namelist()}


@pytest.mark.parametrize("between", ["_/", "/", "_"], ids=["folders", "folders since 4.1", "flat"])
def test_moodle_finds_whose_page_it_is(course, tmp_path, capsys, between):
    files = {
        f"Anna Ångström_501_assignsubmission_file{between}{NOTEBOOK}": "anna",
        f"Al O'Neil_502_assignsubmission_file{between}x_1.ipynb": "al",
        f"Wei Li_503_assignsubmission_file{between}{NOTEBOOK}": "wei",
    }
    like = archive(tmp_path / "submissions.zip", files)
    words = ("--like", like, "--students", table(tmp_path / "w.csv", worksheet(MOODLE)))
    assert lms(course, "feedback", *words) == 1
    pages = packed(course, "moodle")
    assert {import_zip(name): text for name, text in pages.items()} == {
        ("501", PAGE): "<p>s001</p>", ("502", PAGE): "<p>s002</p>",
    }  # fmt: skip
    assert all(moodle.submitted_file(name).own == PAGE for name in pages)
    said = capsys.readouterr().out
    assert "2 pages for Moodle" in said and "Upload multiple feedback files in a zip" in said
    assert "1 handed in there, without a page here: s003" in said
    assert "1 with a page here, and nothing handed in there: s009" in said


def test_pages_do_not_go_out_under_the_numbers_of_another_assignment(course, tmp_path, capsys):
    """Moodle's numbers mean other people there, who would read a page that is not theirs."""
    (course / "solutions" / "a1_first").mkdir()
    (course / "solutions" / "a1_first" / "a1_first.ipynb").touch()
    like = archive(
        tmp_path / "s.zip", {"Anna Ångström_501_assignsubmission_file_/a1_first.ipynb": "1"}
    )
    words = ("--like", like, "--students", table(tmp_path / "w.csv", worksheet(MOODLE)))
    assert lms(course, "feedback", *words) == 2
    assert "found those of a1_first" in capsys.readouterr().err
    assert not (course / "grading").exists()


def test_moodles_worksheet_will_do_in_place_of_the_archive(course, tmp_path):
    assert lms(course, "feedback", "--like", table(tmp_path / "w.csv", worksheet(MOODLE))) == 1
    found = {import_zip(name): text for name, text in packed(course, "moodle").items()}
    assert found == {("501", PAGE): "<p>s001</p>", ("502", PAGE): "<p>s002</p>"}


def test_canvas_finds_whose_page_it_is_and_the_file_that_it_answers(course, tmp_path, capsys):
    files = {
        f"ångströmanna_101_5001_{NOTEBOOK}": "anna",
        "ångströmanna_101_5009_numbers.csv": "1",
        f"oneilal_LATE_102_5003_{NOTEBOOK}": "al 1",
        f"oneilal_LATE_102_5007_{ASSIGNMENT}-1.ipynb": "al 2",
    }
    like = archive(tmp_path / "submissions.zip", files)
    words = ("--like", like, "--students", table(tmp_path / "g.csv", canvas_export(CANVAS)))
    assert lms(course, "feedback", *words) == 1
    pages = packed(course, "canvas")
    assert pages == {
        f"ångströmanna_101_5001_{PAGE}": "<p>s001</p>", f"oneilal_LATE_102_5007_{PAGE}": "<p>s002</p>",
    }  # fmt: skip
    attachments = {canvas.submitted_file(name).order for name in files}
    for name in pages:
        entry = canvas.submitted_file(name)
        assert entry.number in ("101", "102") and entry.order in attachments
    assert "upload it once" in capsys.readouterr().out


def test_the_same_pages_make_the_same_bytes(course, tmp_path):
    like = table(tmp_path / "w.csv", worksheet(MOODLE))
    lms(course, "feedback", "--like", like)
    target = course / "grading" / ASSIGNMENT / "feedback_moodle.zip"
    once = target.read_bytes()
    (course / "feedback/s001" / ASSIGNMENT / PAGE).touch()
    lms(course, "feedback", "--like", like)
    assert target.read_bytes() == once


def test_canvass_table_alone_does_not_name_what_was_handed_in(course, tmp_path, capsys):
    assert lms(course, "feedback", "--like", table(tmp_path / "g.csv", canvas_export(CANVAS))) == 2
    assert "download the submissions and name that archive with --like" in capsys.readouterr().err


def test_an_archive_of_people_with_other_ids_needs_to_know_who_is_who(course, tmp_path, capsys):
    like = archive(tmp_path / "submissions.zip", {f"angstromanna_101_9001_{NOTEBOOK}": "anna"})
    assert lms(course, "feedback", "--like", like) == 2
    assert "Name the platform's table with --students" in capsys.readouterr().err


def test_a_missing_archive_is_not_to_be_downloaded_again(course, tmp_path, capsys):
    assert lms(course, "feedback", "--like", tmp_path / "gone.zip") == 2
    assert "gone.zip, found no such file" in capsys.readouterr().err


def test_without_a_page_there_is_no_archive(tmp_path, capsys):
    course = course_with(tmp_path / "bare", {"s001": 1})
    assert lms(course, "feedback", "--like", table(tmp_path / "w.csv", worksheet(MOODLE))) == 2
    assert "expected feedback pages" in capsys.readouterr().err
