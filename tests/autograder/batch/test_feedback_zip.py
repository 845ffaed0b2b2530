"""The archive of feedback pages holds plain names only, one page for each student who has one."""

import re
import zipfile

import pytest

from autograder.batch.feedback_zip import pack_feedback
from autograder.batch.student_result import StudentResult
from autograder.files import plain_name
from tests.sample_class import ASSIGNMENT

ODD = (
    "..\\up", "..", "C:evil", "C:\\evil", "-rf", "--help", "a\nb", "a\r\nb", "\x1b[2Jx", "\u202eevil", "a\u2028b",
    ".hidden", "x.", "x ", "con:", "a|b", 'a"b', "a*?b", "<b>", "x" * 200, "é", "Ann", "ann", "ANN", "%APPDATA%", "$HOME", "`id`",
)  # fmt: skip


def row(student):
    return StudentResult(student, points=0.0, of=10.0)


@pytest.fixture
def names(tmp_path):
    for student in ODD:
        page = tmp_path / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"
        page.parent.mkdir(parents=True)
        page.write_text(student, encoding="utf-8")
    (tmp_path / "grading" / ASSIGNMENT).mkdir(parents=True)
    said = pack_feedback(tmp_path, ASSIGNMENT, [row(student) for student in (*ODD, "nobody")])
    assert said.startswith(f"{len(ODD)} of {len(ODD) + 1} students: ")
    with zipfile.ZipFile(tmp_path / "grading" / ASSIGNMENT / "feedback.zip") as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_every_page_is_there_under_a_name_that_stays_where_it_is_unpacked(names):
    assert sorted(names.values()) == sorted(ODD)
    assert len({name.casefold() for name in names}) == len(ODD)
    for name in names:
        assert re.fullmatch(rf"[\w@+,][\w.@+, -]*_{ASSIGNMENT}\.html", name), name
        assert len(name) < 200


def test_a_plain_name_stays():
    for name in ("ann", "Ann-Marie O_2", "müller@example.org", "s123456"):
        assert plain_name(name) == name
