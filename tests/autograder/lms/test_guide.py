"""Every command of docs/classroom.md on learning platforms, in its order, in a class that has the files which it names."""

import re
import shlex

import pytest

from autograder.__main__ import main
from tests.autograder.lms import (
    archive,
    canvas_export,
    course_with,
    grade_book,
    worksheet,
    written,
)
from tests.course_copy import section_of
from tests.sample_class import ASSIGNMENT, ROOT

PAGE = section_of(
    (ROOT / "docs" / "classroom.md").read_text(encoding="utf-8"),
    "Canvas, Moodle and other platforms",
)
BLOCKS = re.findall(r"^```(sh|text)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [text.replace("\\\n", "").strip() for kind, text in BLOCKS if kind == "sh"]
QUOTED = [text for kind, text in BLOCKS if kind == "text"]
PEOPLE = {"anna": "Ångström, Anna", "bo": "O'Neil, Bo"}
ADDRESSES = ["anna@example.org", "bo.o'neil@example.org"]
NOTEBOOK = f"{ASSIGNMENT}.ipynb"
LIST = "id,email,lms_user_id\nanna,anna@example.org,s1\nbo,bo.o'neil@example.org,s2\n"
GERMAN = [
    "ID", "Vollständiger Name", "E-Mail-Adresse", "Status", "Bewertung", "Bestwertung", "Bewertung kann geändert werden",
    "Zuletzt geändert (Abgabe)", "Zuletzt geändert (Bewertung)", "Feedback als Kommentar",
]  # fmt: skip
WHEN = "Donnerstag, 5. März 2026, 23:58"


@pytest.fixture(scope="module", params=["addresses", "a list"])
def course(tmp_path_factory, request):
    """Two students, graded, with everything that a platform gives out; their ids are their addresses, or a list has both."""
    folder = tmp_path_factory.mktemp("guide")
    ids = ADDRESSES if request.param == "addresses" else list(PEOPLE)
    course = course_with(folder, dict(zip(ids, (9, 6.5), strict=True)))
    if request.param != "addresses":
        (folder / "students.csv").write_text(LIST, encoding="utf-8")
    for student in ids:
        page = folder / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"
        page.parent.mkdir(parents=True)
        page.write_text("<p>Well done</p>", encoding="utf-8")
    names = list(PEOPLE.values())
    anna, bo = ADDRESSES
    canvas = [[names[0], 101, "s1", anna, "S1", None], [names[1], 102, "s2", bo, "S1", "6.50"]]
    moodle = [[501, "Anna Ångström", "s1", anna, "", ""], [502, "Bo O'Neil", "s2", bo, "", "6.50"]]
    book = [["Anna", "Ångström", "s1", anna, "-"], ["Bo", "O'Neil", "s2", bo, "6.50"]]
    tables = {
        "gradebook.csv": canvas_export(canvas),
        "worksheet.csv": worksheet(moodle),
        "grades.csv": grade_book(book),
        "noten.csv": [
            GERMAN,
            ["Teilnehmer/in501", "Anna Ångström", anna, "Zur Bewertung abgegeben", "", "10,00", "Ja", WHEN, "-", ""],
            ["Teilnehmer/in502", "Bo O'Neil", bo, "Zur Bewertung abgegeben", "6,50", "10,00", "Ja", WHEN, "-", ""],
        ],
        "GradesExport.csv": [
            ["OrgDefinedId", "Username", "Last Name", "First Name", "Email",
             "Assignment 2 Points Grade <Numeric MaxPoints:10>", "End-of-Line Indicator"],
            ["#s1", f"#{anna}", "Ångström", "Anna", anna, "", "#"],
            ["#s2", f"#{bo}", "O'Neil", "Bo", bo, "6.5", "#"],
        ],
        "table.csv": [["Matriculation", "Score"], [ids[0], ""], [ids[1], "1"]],
    }  # fmt: skip
    (folder / "times.csv").write_text(
        QUOTED[1].replace("bo@example.org", ADDRESSES[1]), encoding="utf-8"
    )
    for name, rows in tables.items():
        (folder / name).write_text(written(rows), encoding="utf-8")
    archive(
        folder / "submissions.zip",
        {f"ångströmanna_101_1_{NOTEBOOK}": "{}", f"oneilbo_LATE_102_2_{NOTEBOOK}": "{}"},
    )
    archive(
        folder / "moodle.zip",
        {
            f"Anna Ångström_501_assignsubmission_file_/{NOTEBOOK}": "{}",
            f"Bo O'Neil_502_assignsubmission_file_/{NOTEBOOK}": "{}",
        },
    )
    return course


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=lambda number: COMMANDS[number][23:60])
def test_a_command_of_the_guide_does_what_it_says(course, number, monkeypatch, capsys):
    python, module, name, *words = shlex.split(COMMANDS[number])
    assert (python, module, name) == ("python", "-m", "autograder")
    monkeypatch.chdir(course)
    assert main(words) == 0
    said = capsys.readouterr().out
    if "--dry-run" in words:
        quoted = QUOTED[0]
        by_list = (course / "students.csv").exists()
        quoted = quoted.replace("anna@example.org", "anna    " if by_list else "anna@example.org")
        assert re.sub(" +|─+", "", said).startswith(re.sub(" +|─+", "", quoted))
        assert not list(course.glob("grading/*/scores_*"))
    elif words[1] == "scores":
        assert f"scores_{words[3]}" in said and "to change" in said
        assert (course / "grading" / ASSIGNMENT / f"scores_{words[3]}").is_file()
    elif words[1] == "came-in":
        assert "2 with the time at which it came in, read in the time zone UTC" in said
    elif words[1] == "unpack":
        assert len(list(course.glob(f"submitted/*/{ASSIGNMENT}/{NOTEBOOK}"))) == 2
    else:
        assert "2 pages for" in said


def test_the_guide_tells_of_every_command_and_every_short_name():
    assert {command.split()[4] for command in COMMANDS} == {
        "scores",
        "unpack",
        "came-in",
        "feedback",
    }
    assert len(COMMANDS) == 11
    for alias in ("sis", "login", "id", "email"):
        assert f"| `{alias}` |" in PAGE
