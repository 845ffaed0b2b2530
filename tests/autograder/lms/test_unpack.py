"""Archives of submissions, with what students do to them: the latest attempt counts, and nothing is lost."""

import io
import re
import stat
import unicodedata
import zipfile

import pytest

from autograder.lms import archives
from autograder.lms import unpack as unpacking
from autograder.lms.target import digest_of
from tests.autograder.lms import (
    archive,
    canvas_export,
    course_with,
    lms,
    worksheet,
    written,
)
from tests.sample_class import ASSIGNMENT

NOTEBOOK = f"{ASSIGNMENT}.ipynb"
CANVAS = [
    ["Ångström, Anna", 101, "s001", "anna@example.org", "S1", None],
    ["O'Neil, Al", 102, "s002", "al@example.org", "S1", None],
    ["Li, Wei", 103, "s003", "wei@example.org", "S1", None],
    ["Li, Wei", 104, "s004", "wei2@example.org", "S1", None],
]
MOODLE = [
    [501, "Anna Ångström", "s001", "anna@example.org", "Submitted for grading", ""],
    [502, "Al O'Neil", "s002", "al@example.org", "Submitted for grading - 1 day 2 hours late", ""],
    [503, "Wei Li", "s003", "wei@example.org", "Submitted for grading", ""],
    [504, "Wei Li", "s004", "wei2@example.org", "No submission", ""],
]


@pytest.fixture
def course(tmp_path):
    return course_with(tmp_path / "course", {"s001": 1})


@pytest.fixture
def canvas(tmp_path):
    path = tmp_path / "gradebook.csv"
    path.write_text(written(canvas_export(CANVAS)), encoding="utf-8")
    return path


@pytest.fixture
def moodle(tmp_path):
    path = tmp_path / "worksheet.csv"
    path.write_text(written(worksheet(MOODLE)), encoding="utf-8")
    return path


def submitted(course):
    """All that is graded, by student and name."""
    files = [path for path in (course / "submitted").rglob("*") if path.is_file()]
    return {
        path.relative_to(course / "submitted").as_posix(): path.read_text("utf-8") for path in files
    }


def earlier(course, student):
    folder = course / "grading" / ASSIGNMENT / "earlier" / student
    return sorted(path.read_text("utf-8") for path in folder.glob(f"*/{NOTEBOOK}"))


def place(student, name=NOTEBOOK):
    return f"{student}/{ASSIGNMENT}/{name}"


# ---------------------------------------------------------------------------------------- Canvas


def test_canvass_archive_is_unpacked_by_the_ids_of_its_own_table(course, canvas, tmp_path, capsys):
    packed = archive(
        tmp_path / "submissions.zip",
        {
            f"ångströmanna_101_5001_{NOTEBOOK}": "anna",
            "ångströmanna_101_5002_numbers.csv": "1,2",
            f"oneilal_LATE_102_5003_{ASSIGNMENT}.ipynb": "al 1",
            f"oneilal_LATE_102_5007_{ASSIGNMENT}-1.ipynb": "al 2",
            f"oneilal_LATE_102_5011_{ASSIGNMENT}-2.ipynb": "al 3",
            "liwei_103_5004_final (2).ipynb": "wei",
        },
    )
    assert lms(course, "unpack", packed, "--students", canvas) == 0
    now = {
        place("s001"): "anna", place("s001", "numbers.csv"): "1,2", place("s002"): "al 3", place("s003"): "wei",
    }  # fmt: skip
    assert submitted(course) == now
    assert earlier(course, "s002") == ["al 1", "al 2"]
    said = capsys.readouterr().out
    assert "3 new, 0 replaced by a later attempt, 0 here already" in said
    assert "1 late, by the platform's mark: s002" in said
    assert f"s002 ({ASSIGNMENT}-2.ipynb), s003 (final (2).ipynb)" in said
    assert "1 in the platform's table, and handed in nothing: s004" in said

    before = sorted(course.rglob("*"))
    assert lms(course, "unpack", packed, "--students", canvas, "--by", "sis") == 0
    assert "0 new, 0 replaced by a later attempt, 3 here already" in capsys.readouterr().out
    assert (submitted(course), sorted(course.rglob("*"))) == (now, before), (
        "a second run changes nothing"
    )


def test_a_copy_of_the_course_is_left_out_and_takes_no_room(course, moodle, tmp_path, capsys):
    copied = [*(f"course_utils/m{n}.py" for n in range(400)), "course_utils/__init__.py"]
    files = {name: "x" for name in copied} | {NOTEBOOK: "wei", "own.py": "y"}
    named = {f"Wei Li_503_assignsubmission_file_/{name}": text for name, text in files.items()}
    packed = archive(tmp_path / "s.zip", named)
    assert lms(course, "unpack", packed, "--students", moodle) == 0, capsys.readouterr()
    assert submitted(course) == {place("s003"): "wei", place("s003", "own.py"): "y"}


def test_an_anonymous_archive_of_canvass_names_nobody(course, canvas, tmp_path, capsys):
    names = f"anon_k3bQz_5001_{NOTEBOOK}", f"LATE_anon_Zx9mA_5002_{NOTEBOOK}"
    packed = archive(tmp_path / "s.zip", dict.fromkeys(names, "whose?"))
    assert lms(course, "unpack", packed, "--students", canvas) == 2
    assert "since the assignment is anonymous on Canvas" in capsys.readouterr().err
    assert submitted(course) == {}


def test_canvass_own_numbers_are_ids_where_no_table_is_given(course, tmp_path):
    packed = archive(
        tmp_path / "s.zip",
        {f"liwei_103_5001_{NOTEBOOK}": "wei", f"liwei_104_5002_{NOTEBOOK}": "wei2"},
    )
    assert lms(course, "unpack", packed) == 0
    assert submitted(course) == {place("103"): "wei", place("104"): "wei2"}


def test_nobody_can_hand_in_for_another_by_a_name_with_numbers_in_it(course, tmp_path, capsys):
    """Canvas takes the first two numbers of a file's name, and people can choose how they are called."""
    people = [*CANVAS, ["Smith_103", 777, "s777", "smith@example.org", "S1", None],
              ["Li, Wei_103", 778, "s778", "other@example.org", "S1", None]]  # fmt: skip
    (tmp_path / "g.csv").write_text(written(canvas_export(people)), encoding="utf-8")
    files = {
        f"liwei_103_500_{NOTEBOOK}": "wei",
        f"smith_103_777_5001_{NOTEBOOK}": "smith",
        f"liwei_103_778_5002_{NOTEBOOK}": "whose?",
        f"ångströmanna_101_5003_2_{NOTEBOOK}": "anna",
    }
    packed = archive(tmp_path / "s.zip", files)
    assert lms(course, "unpack", packed, "--students", tmp_path / "g.csv", "--by", "sis") == 1
    assert submitted(course) == {
        place("s001"): "anna",
        place("s003"): "wei",
        place("s777"): "smith",
    }
    assert "it can be of Li, Wei or Li, Wei_103" in capsys.readouterr().out
    assert lms(course, "unpack", archive(tmp_path / "t.zip", dict([*files.items()][1:2]))) == 1
    assert "the person's number in it can be 103 or 777" in capsys.readouterr().out


def test_a_later_archive_replaces_and_an_earlier_one_does_not_come_back(
    course, canvas, tmp_path, capsys
):
    first = archive(
        tmp_path / "1.zip",
        {f"ångströmanna_101_5001_{NOTEBOOK}": "one", "ångströmanna_101_5002_x.csv": "x"},
    )
    second = archive(tmp_path / "2.zip", {f"ångströmanna_101_5009_{ASSIGNMENT}-1.ipynb": "two"})
    words = ("--students", canvas, "--by", "sis")
    lms(course, "unpack", first, *words)
    (course / "submitted/s001" / ASSIGNMENT / "timestamp.txt").write_text("2026-01-01 UTC")
    capsys.readouterr()
    assert lms(course, "unpack", second, *words) == 0
    assert submitted(course) == {place("s001"): "two"}
    said = capsys.readouterr().out
    assert (
        "0 new, 1 replaced by a later attempt, 0 here already" in said
        and "1 replaced: s001 (file 5009; before, file 5002: " in said
    )
    [kept] = (course / "grading" / ASSIGNMENT / "earlier" / "s001").iterdir()
    assert {path.name for path in kept.iterdir()} == {NOTEBOOK, "x.csv", "timestamp.txt"}
    assert str(kept) in said

    assert lms(course, "unpack", first, *words) == 0
    assert submitted(course) == {place("s001"): "two"}
    assert (
        "so that nothing changes: s001 (here file 5009, in the archive file 5002)"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("turned", [False, True], ids=["as they came", "the last one first"])
def test_canvass_numbers_say_what_is_later_and_neither_content_nor_turn_does(
    course, canvas, tmp_path, turned
):
    attempts = [(5001, "A"), (5002, "B"), (5003, "A")]
    for number, content in attempts[::-1] if turned else attempts:
        packed = archive(tmp_path / "s.zip", {f"ångströmanna_101_{number}_{NOTEBOOK}": content})
        assert lms(course, "unpack", packed, "--students", canvas, "--by", "sis") == 0
        assert submitted(course) == {place("s001"): "A" if turned else content}


def test_a_dry_run_unpacks_nothing(course, canvas, tmp_path, capsys):
    packed = archive(
        tmp_path / "s.zip",
        {
            f"ångströmanna_101_5001_{NOTEBOOK}": "one",
            f"ångströmanna_101_5002_{ASSIGNMENT}-1.ipynb": "two",
        },
    )
    assert lms(course, "unpack", packed, "--students", canvas, "--dry-run") == 0
    assert submitted(course) == {} and not (course / "grading").exists()
    assert "1 new" in capsys.readouterr().out


def test_a_folder_that_was_being_replaced_when_the_machine_stopped_is_filled(
    course, canvas, tmp_path
):
    packed = archive(tmp_path / "s.zip", {f"ångströmanna_101_5001_{NOTEBOOK}": "one"})
    lms(course, "unpack", packed, "--students", canvas)
    folder = course / "submitted/s001" / ASSIGNMENT
    aside = course / "grading" / ASSIGNMENT / "earlier/s001" / digest_of({NOTEBOOK: b"one"})
    aside.parent.mkdir(parents=True)
    folder.rename(aside)
    lms(course, "unpack", packed, "--students", canvas)
    assert submitted(course) == {place("s001"): "one"}


# ---------------------------------------------------------------------------------------- Moodle


@pytest.mark.parametrize("between", ["_/", "/", "_"], ids=["folders", "folders since 4.1", "flat"])
def test_moodles_archive_is_unpacked_by_its_worksheet(course, moodle, tmp_path, capsys, between):
    packed = archive(
        tmp_path / "a2.zip",
        {
            f"Anna Ångström_501_assignsubmission_file{between}{NOTEBOOK}": "anna",
            f"Al O'Neil_502_assignsubmission_file{between}my notebook.ipynb": "al",
            f"Al O'Neil_502_assignsubmission_file{between}numbers.csv": "1",
            "Al O'Neil_502_assignsubmission_onlinetext_/onlinetext.html": "<p>See the file</p>",
        },
    )
    assert lms(course, "unpack", packed, "--students", moodle) == 0
    assert submitted(course) == {
        place("s001"): "anna", place("s002"): "al", place("s002", "numbers.csv"): "1",
    }  # fmt: skip
    said = capsys.readouterr().out
    assert "1 late, by the platform's mark: s002" in said and "s002 (my notebook.ipynb)" in said
    assert "handed in nothing: s003, s004" in said


def test_moodles_numbers_are_no_ids(course, tmp_path, capsys):
    packed = archive(tmp_path / "a2.zip", {f"Wei Li_503_assignsubmission_file_/{NOTEBOOK}": "wei"})
    assert lms(course, "unpack", packed) == 2
    assert "numbers that are other ones in each assignment" in capsys.readouterr().err


def test_a_number_of_another_person_or_of_a_group_is_nobodys(course, moodle, tmp_path, capsys):
    files = {
        f"Group A_503_assignsubmission_file_/{NOTEBOOK}": "a",
        f"Wei Li_777_assignsubmission_file_/{NOTEBOOK}": "b",
    }
    packed = archive(tmp_path / "a2.zip", files)
    assert lms(course, "unpack", packed, "--students", moodle) == 1
    assert submitted(course) == {}
    said = capsys.readouterr().out
    assert "the number 503 is in worksheet.csv that of Wei Li, who is called otherwise" in said
    assert "the number 777 is nobody's in worksheet.csv" in said


def test_blind_marking_names_nobody(course, tmp_path):
    rows = [[row[0], *row[2:4], *row[4:]] for row in worksheet(MOODLE)]
    (tmp_path / "blind.csv").write_text(written(rows), encoding="utf-8")
    packed = archive(
        tmp_path / "a2.zip", {f"Participant_501_assignsubmission_file_/{NOTEBOOK}": "anna"}
    )
    assert lms(course, "unpack", packed, "--students", tmp_path / "blind.csv") == 0
    assert submitted(course) == {place("s001"): "anna"}


def test_a_table_of_ones_own_names_people_by_number(course, tmp_path):
    (tmp_path / "who.csv").write_text("Number;Student\n501;s001\n503;s003\n")
    packed = archive(tmp_path / "a2.zip", {f"Wei Li_503_assignsubmission_file_/{NOTEBOOK}": "wei"})
    assert lms(course, "unpack", packed, "--students", tmp_path / "who.csv") == 0
    assert submitted(course) == {place("s003"): "wei"}


def test_before_anybody_is_known_the_column_has_to_be_named(tmp_path, canvas, capsys):
    course = course_with(tmp_path / "empty", {})
    packed = archive(tmp_path / "s.zip", {f"ångströmanna_101_5001_{NOTEBOOK}": "one"})
    assert lms(course, "unpack", packed, "--students", canvas) == 2
    assert "Name it with --by: --by sis" in capsys.readouterr().err
    assert lms(course, "unpack", packed, "--students", canvas, "--by", "login") == 0
    assert submitted(course) == {place("anna@example.org"): "one"}


def test_an_id_that_names_no_folder_or_two_people_is_listed(course, tmp_path, capsys):
    people = [
        ["A", 101, "../up"],
        ["B", 102, "s001"],
        ["C", 103, "s002"],
        ["D", 104, "S002"],
        ["E", 105, ""],
    ]
    rows = canvas_export([[*person, "x", "S1", None] for person in people])
    (tmp_path / "g.csv").write_text(written(rows), encoding="utf-8")
    packed = archive(
        tmp_path / "s.zip",
        {f"{'abcde'[n - 101]}_{n}_{n}_{NOTEBOOK}": str(n) for n in range(101, 106)},
    )
    assert lms(course, "unpack", packed, "--students", tmp_path / "g.csv", "--by", "sis") == 1
    assert submitted(course) == {place("s001"): "102"}
    said = capsys.readouterr().out
    for odd in (
        "A: “../up” cannot be the name of a folder",
        "C: “s002” is several people's",
        "E: nothing in “SIS User ID”",
    ):
        assert odd in said


# ------------------------------------------------------------------------------------ odd archives


def link(name, to):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, to


def test_what_could_do_harm_is_refused_by_itself(course, canvas, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST_FILES", 1 << 16)
    monkeypatch.setattr(archives, "LARGEST_FILE", 1 << 16)
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(f"ångströmanna_101_1_{NOTEBOOK}", "anna")
        packed.writestr(*link("ångströmanna_101_2_secret.txt", "/etc/passwd"))
        packed.writestr("ångströmanna_101_3_bomb.csv", b"0" * (1 << 24))
        packed.writestr("ångströmanna_101_4_CON:x?.csv", "odd")
        packed.writestr("ångströmanna_101_5_..", "odd")
        packed.writestr("../ångströmanna_101_6_up.ipynb", "up")
        packed.writestr("/ångströmanna_101_7_root.ipynb", "root")
        packed.writestr("ångströmanna_101_8_x\\..\\y.csv", "back")
        packed.writestr("oneilal_102_9_bomb.ipynb", b"0" * (1 << 24))
        packed.writestr("__MACOSX/._a_101_1_x.ipynb", "mac")
        packed.writestr("readme.txt", "not handed in")
    assert path.stat().st_size < 1 << 17
    assert lms(course, "unpack", path, "--students", canvas, "--by", "sis") == 1
    assert submitted(course) == {place("s001"): "anna"}
    assert not list(tmp_path.glob("*up*"))
    said = capsys.readouterr().out
    for why in ("a link, a device", "a name that cannot be given", "a name that leads out of its folder",
                "a name with a sign that separates folders", "readme.txt: not named as", "more than 0 MiB"):  # fmt: skip
        assert why in said, why
    assert "s002: its latest notebook is refused" in said and "MACOSX" not in said


def test_a_moodle_name_cannot_lead_out_of_its_folder(course, moodle, tmp_path, capsys):
    front = "Wei Li_503_assignsubmission_file_"
    packed = archive(
        tmp_path / "a.zip",
        {f"{front}/{NOTEBOOK}": "wei", f"{front}/../../../up.csv": "up", f"{front}//x": "x"},
    )
    assert lms(course, "unpack", packed, "--students", moodle) == 1
    assert submitted(course) == {place("s003"): "wei"}
    assert capsys.readouterr().out.count("leads out of its folder") == 2


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("timestamp.txt", "nbgrader's own file"),
        ("Timestamp.TXT", "nbgrader's own file"),
        ("注" * 90 + ".csv", "a name that cannot be given"),
    ],
)
def test_a_file_that_cannot_lie_there_is_refused_alone_and_again(
    course, canvas, tmp_path, capsys, name, why
):
    files = {f"ångströmanna_101_1_{NOTEBOOK}": "anna", f"ångströmanna_101_2_{name}": "x"}
    packed = archive(tmp_path / "s.zip", {**files, "ångströmanna_101_3_x.csv": "1,2"})
    for said in ("1 new", "0 new, 0 replaced by a later attempt, 1 here already"):
        assert lms(course, "unpack", packed, "--students", canvas, "--by", "sis") == 1
        assert submitted(course) == {place("s001"): "anna", place("s001", "x.csv"): "1,2"}
        told = capsys.readouterr().out
        assert said in told and why in told and "1 refused:" in told


def test_a_folder_named_as_nbgraders_own_file_is_refused(course, moodle, tmp_path, capsys):
    front = "Wei Li_503_assignsubmission_file_"
    packed = archive(
        tmp_path / "a.zip", {f"{front}/{NOTEBOOK}": "wei", f"{front}/timestamp.txt/x.csv": "x"}
    )
    assert lms(course, "unpack", packed, "--students", moodle) == 1
    assert submitted(course) == {place("s003"): "wei"}
    assert "nbgrader's own file" in capsys.readouterr().out


def test_a_damaged_entry_is_refused_and_no_earlier_attempt_takes_its_place(
    course, canvas, tmp_path, capsys
):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr(f"ångströmanna_101_1_{NOTEBOOK}", "the first attempt")
        packed.writestr(f"ångströmanna_101_2_{ASSIGNMENT}-1.ipynb", "the latest attempt")
        packed.writestr(f"oneilal_102_3_{NOTEBOOK}", "fine")
    (tmp_path / "s.zip").write_bytes(data.getvalue().replace(b"the latest", b"the lasted"))
    assert lms(course, "unpack", tmp_path / "s.zip", "--students", canvas) == 1
    assert submitted(course) == {place("s002"): "fine"}
    assert (
        "s001: its latest notebook is refused, since it cannot be unpacked (Bad CRC-32"
        in capsys.readouterr().out
    )


def test_an_entry_with_a_password_is_refused(course, canvas, tmp_path, capsys):
    packed = archive(
        tmp_path / "s.zip",
        {f"ångströmanna_101_1_{NOTEBOOK}": "anna", f"oneilal_102_2_{NOTEBOOK}": "al"},
    )
    data = bytearray(packed.read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    packed.write_bytes(data)
    assert lms(course, "unpack", packed, "--students", canvas) == 1
    assert (
        submitted(course) == {place("s001"): "anna"}
        and "it needs a password" in capsys.readouterr().out
    )


def test_two_entries_of_one_name_count_once(course, canvas, tmp_path, capsys):
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(f"ångströmanna_101_1_{NOTEBOOK}", "first")
        with pytest.warns(UserWarning, match="Duplicate"):
            packed.writestr(f"ångströmanna_101_1_{NOTEBOOK}", "second")
    assert lms(course, "unpack", path, "--students", canvas) == 1
    assert submitted(course) == {place("s001"): "first"}
    assert "there are two entries of this name" in capsys.readouterr().out


def test_where_it_cannot_be_said_which_notebook_counts_none_does(course, canvas, tmp_path, capsys):
    files = {
        "ångströmanna_101_1_draft.ipynb": "1",
        "ångströmanna_101_2_final.ipynb": "2",
        "oneilal_102_3_report.pdf": "3",
        "liwei_103_4_all.zip": "4",
    }
    packed = archive(
        tmp_path / "s.zip",
        {**files, f"liwei_104_5_{NOTEBOOK}": "5", "liwei_104_6_scratch.ipynb": "6"},
    )
    assert lms(course, "unpack", packed, "--students", canvas) == 1
    assert submitted(course) == {
        place("s001", "draft.ipynb"): "1", place("s001", "final.ipynb"): "2", place("s002", "report.pdf"): "3",
        place("s003", "all.zip"): "4", place("s004"): "5",
    }, "what came in is kept, so that grading tells each what is missing"  # fmt: skip
    said = capsys.readouterr().out
    assert (
        f"s001: expected one notebook, or one named {NOTEBOOK}, found draft.ipynb, final.ipynb"
        in said
    )
    assert (
        "s002: expected a notebook, found report.pdf" in said
        and "s003: expected a notebook, found all.zip" in said
    )
    assert "liwei_104_6_scratch.ipynb: another notebook than the assignment's" in said


def test_a_link_in_place_of_a_students_folder_is_not_followed(course, canvas, tmp_path, capsys):
    (tmp_path / "elsewhere" / ASSIGNMENT).mkdir(parents=True)
    (course / "submitted").mkdir()
    (course / "submitted/s001").symlink_to(tmp_path / "elsewhere")
    packed = archive(tmp_path / "s.zip", {f"ångströmanna_101_1_{NOTEBOOK}": "anna"})
    assert lms(course, "unpack", packed, "--students", canvas) == 1
    assert not list((tmp_path / "elsewhere").rglob("*.ipynb"))
    assert "found a link or a file" in capsys.readouterr().out


@pytest.mark.parametrize("data", [b"", b"no archive", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_archive_of_submissions_is_said_so(course, tmp_path, capsys, data):
    (tmp_path / "s.zip").write_bytes(data)
    assert lms(course, "unpack", tmp_path / "s.zip") == 2
    assert "stopped: expected" in capsys.readouterr().err


def test_an_archive_without_end_is_refused(course, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(archives, "MOST_ENTRIES", 10)
    packed = archive(tmp_path / "s.zip", {f"a_{n}_{n}_{NOTEBOOK}": "x" for n in range(11)})
    assert lms(course, "unpack", packed) == 2
    assert "at most 10 entries" in capsys.readouterr().err


def of_anna(tmp_path, files):
    names = {
        f"Anna Ångström_501_assignsubmission_file_/{name}": data for name, data in files.items()
    }
    return archive(tmp_path / "m.zip", names)


@pytest.mark.parametrize("odd", ["x/y.csv", f"{NOTEBOOK}/y.csv"])
def test_a_file_in_the_way_of_another_is_refused_alone(course, moodle, tmp_path, capsys, odd):
    for text, words in (("first", ()), ("second", ["--later"])):
        packed = of_anna(tmp_path, {NOTEBOOK: text, "x": "1", odd: "2"})
        assert lms(course, "unpack", packed, "--students", moodle, "--by", "id", *words) == 1
        place = f"s001/{ASSIGNMENT}"
        assert submitted(course) == {f"{place}/{NOTEBOOK}": text, f"{place}/x": "1"}
    assert f"{odd}: another file has the name of its folder" in capsys.readouterr().out


def test_what_was_there_stays_where_the_next_attempt_cannot_be_written(
    course, moodle, tmp_path, capsys, monkeypatch
):
    words = "--students", moodle, "--by", "id"
    lms(course, "unpack", of_anna(tmp_path, {NOTEBOOK: "first"}), *words)

    def fails(*_):
        raise PermissionError("no")

    monkeypatch.setattr(unpacking.Target, "_made", fails)
    assert lms(course, "unpack", of_anna(tmp_path, {NOTEBOOK: "second"}), *words, "--later") == 1
    assert submitted(course) == {f"s001/{ASSIGNMENT}/{NOTEBOOK}": "first"}
    said = capsys.readouterr().out
    assert "s001: its folder cannot be written" in said and "0 new, 0 replaced" in said


@pytest.mark.parametrize(
    "names",
    [
        ("class.html", "class.csv", "came_in.json"),
        ("gradebook.db", "students.csv"),
        ("feedback.html",),
    ],
)
def test_a_file_that_is_called_as_a_report_stays_beside_its_notebook(
    course, moodle, tmp_path, names
):
    before = (course / "gradebook.db").read_bytes()
    packed = of_anna(tmp_path, {NOTEBOOK: "x", **dict.fromkeys(names, "id\neve\n")})
    assert lms(course, "unpack", packed, "--students", moodle, "--by", "id") == 0
    assert {f"s001/{ASSIGNMENT}/{name}" for name in names} < submitted(course).keys()
    assert not {path.name for path in (course / "grading").rglob("*")} & {"class.html", "class.csv"}
    assert (course / "gradebook.db").read_bytes() == before and not (
        course / "students.csv"
    ).exists()


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        # Mallory is called "M,502,ben", and nobody quoted that
        (
            "name,number,student\nM,502,ben,501,mallory\nBen,502,ben\n",
            1,
            "line 2: expected 3 cells",
        ),
        ("number,number,student\n501,502,ben\n", 2, "one column number"),
        ("number,student,student\n502,ben,mallory\n", 2, "2 columns of that name"),
    ],
    ids=["a comma in a name", "two numbers", "two ids"],
)
def test_no_table_gives_somebody_the_work_of_another(tmp_path, capsys, text, status, says):
    course = course_with(tmp_path / "course", {"ben": 1, "mallory": 1})
    table = tmp_path / "who.csv"
    table.write_text(text)
    files = {"M_501": "evil", "Ben_502": "right"}
    names = {f"{who}_assignsubmission_file_/{NOTEBOOK}": data for who, data in files.items()}
    packed = archive(tmp_path / "m.zip", names)
    assert lms(course, "unpack", packed, "--students", table) == status
    assert says in "".join(capsys.readouterr())
    found = {f"ben/{ASSIGNMENT}/{NOTEBOOK}": "right"} if status == 1 else {}
    assert submitted(course) == found


def test_a_notebook_that_came_in_counts_whatever_else_came_in_before_and_after(
    course, canvas, tmp_path
):
    def unpacked(files):
        packed = archive(tmp_path / "s.zip", files)
        return lms(course, "unpack", packed, "--students", canvas, "--by", "sis")

    assert unpacked({"ångströmanna_101_1_report.pdf": "1"}) == 1
    assert unpacked({"ångströmanna_101_1_report.pdf": "1"}) == 1, "a second run changes nothing"
    assert submitted(course) == {place("s001", "report.pdf"): "1"}
    assert unpacked({f"ångströmanna_101_2_{NOTEBOOK}": "2"}) == 0
    assert unpacked({"ångströmanna_101_3_report.pdf": "3"}) == 1
    assert submitted(course) == {place("s001"): "2"}


# ------------------------------------------------------------------------------ the class's own list


LIST = (
    "id;first_name;email;lms_user_id\n"
    "anna;Anna;anna@example.org;101\nAl;Al;al@example.org;102\nwei;Wei;wei@example.org;103\n"
)


@pytest.fixture
def listed(tmp_path):
    course = course_with(tmp_path / "course", {})
    (course / "students.csv").write_text(LIST, encoding="utf-8-sig")
    return course


def test_the_list_of_the_class_says_whose_address_it_is(listed, moodle, tmp_path, capsys):
    """A folder that is called after an address would be a second student in the gradebook."""
    files = {
        f"Anna Ångström_501_assignsubmission_file_/{NOTEBOOK}": "anna",
        f"Al O'Neil_502_assignsubmission_file_/{NOTEBOOK}": "al",
        f"Wei Li_504_assignsubmission_file_/{NOTEBOOK}": "wei 2",
    }
    packed = archive(tmp_path / "moodle.zip", files)
    assert lms(listed, "unpack", packed, "--students", moodle, "--by", "email") == 1
    assert set(submitted(listed)) == {place("anna"), place("Al"), place("wei2@example.org")}
    assert "1 not in students.csv: wei2@example.org" in capsys.readouterr().out


def test_the_list_of_the_class_says_whose_number_it_is(listed, tmp_path, capsys):
    files = {f"liwei_103_5001_{NOTEBOOK}": "wei", f"liwei_104_5002_{NOTEBOOK}": "wei2"}
    assert lms(listed, "unpack", archive(tmp_path / "s.zip", files)) == 1
    assert submitted(listed) == {place("wei"): "wei", place("104"): "wei2"}
    assert "1 not in students.csv: 104" in capsys.readouterr().out


def test_columns_that_name_the_same_students_need_no_by(listed, canvas, tmp_path):
    (listed / "students.csv").write_text(LIST.replace("wei;", "s003;"), encoding="utf-8")
    packed = archive(tmp_path / "s.zip", {f"liwei_103_5001_{NOTEBOOK}": "wei"})
    assert lms(listed, "unpack", packed, "--students", canvas) == 0
    assert submitted(listed) == {place("s003"): "wei"}


def test_a_column_that_names_nobody_of_the_list_is_refused(listed, canvas, tmp_path, capsys):
    packed = archive(tmp_path / "s.zip", {f"liwei_103_5001_{NOTEBOOK}": "wei"})
    assert lms(listed, "unpack", packed, "--students", canvas, "--by", "sis") == 2
    assert submitted(listed) == {}
    said = capsys.readouterr().err
    assert "expected ids or addresses of students.csv in “SIS User ID” of gradebook.csv" in said
    assert "such as “s001”" in said


def test_an_address_that_two_students_have_is_nobodys(listed, moodle, tmp_path, capsys):
    (listed / "students.csv").write_text(f"{LIST}bo;Bo;anna@example.org;\n", encoding="utf-8")
    files = {f"Anna Ångström_501_assignsubmission_file_/{NOTEBOOK}": "anna"}
    packed = archive(tmp_path / "moodle.zip", files)
    assert lms(listed, "unpack", packed, "--students", moodle, "--by", "email") == 1
    assert submitted(listed) == {}
    assert "“anna@example.org” is several people's" in capsys.readouterr().out


# ------------------------------------------------------------------------- another assignment's work


@pytest.fixture
def with_another(course):
    folder = course / "solutions" / "a1_first"
    folder.mkdir()
    (folder / "a1_first.ipynb").touch()
    return course


def test_the_archive_of_another_assignment_is_refused(with_another, canvas, tmp_path, capsys):
    files = {
        "ångströmanna_101_1_a1_first.ipynb": "1",
        "oneilal_102_3_a1_first (2).ipynb": "2",
        "liwei_103_4_wei_a1_first.ipynb": "3",
        "liwei_104_5_report.pdf": "4",
    }
    packed = archive(tmp_path / "s.zip", files)
    assert lms(with_another, "unpack", packed, "--students", canvas) == 2
    assert submitted(with_another) == {}
    assert "found those of a1_first. Name the assignment whose archive" in capsys.readouterr().err


def test_a_notebook_of_another_assignment_is_not_renamed(with_another, canvas, tmp_path, capsys):
    files = {
        "ångströmanna_101_1_a1_first.ipynb": "1",
        "oneilal_102_3_a1_first.ipynb": "2",
        "oneilal_102_4_a1_firsthand.ipynb": "3",
        f"liwei_103_5_{ASSIGNMENT}_like_a1_first.ipynb": "4",
    }
    packed = archive(tmp_path / "s.zip", files)
    assert lms(with_another, "unpack", packed, "--students", canvas) == 1
    now = {place("s001", "a1_first.ipynb"): "1", place("s002"): "3", place("s003"): "4"}
    assert submitted(with_another) == now
    assert f"s001: expected one named {NOTEBOOK}, found a1_first.ipynb" in capsys.readouterr().out


# ------------------------------------------------------------------------ accidents with names


ANNA = "Anna Ångström_501_assignsubmission_file"


def unpacked(course, moodle, tmp_path, files):
    packed = archive(tmp_path / "s.zip", files)
    return lms(course, "unpack", packed, "--students", moodle, "--by", "id")


@pytest.mark.parametrize("turned", [False, True], ids=["above first", "above last"])
def test_a_copy_in_a_folder_does_not_count_for_the_notebook_above_it(
    course, moodle, tmp_path, capsys, turned
):
    files = [(f"{ANNA}/{NOTEBOOK}", "today"), (f"{ANNA}/old/{NOTEBOOK}", "last week")]
    assert unpacked(course, moodle, tmp_path, dict(files[::-1] if turned else files)) == 1
    assert submitted(course) == {place("s001"): "today"}
    assert f"old/{NOTEBOOK}: a copy of the notebook in a folder" in capsys.readouterr().out


def test_of_two_notebooks_that_nothing_tells_apart_none_counts(course, moodle, tmp_path, capsys):
    files = {f"{ANNA}/one/{NOTEBOOK}": "1", f"{ANNA}/two/{NOTEBOOK}": "2"}
    assert unpacked(course, moodle, tmp_path, files) == 1
    assert submitted(course) == {place("s001", f"{n}/{NOTEBOOK}"): d for n, d in (("one", "1"), ("two", "2"))}  # fmt: skip
    said = capsys.readouterr().out
    assert f"s001: expected one notebook {NOTEBOOK}, found one/{NOTEBOOK}, two/{NOTEBOOK}" in said
    files = {f"{ANNA}/{NOTEBOOK}": "exact", f"{ANNA}/{NOTEBOOK.upper()}": "in other letters"}
    assert unpacked(course, moodle, tmp_path, files) == 0
    assert submitted(course)[place("s001")] == "exact"


def test_of_two_files_of_one_name_the_later_one_counts_and_the_other_is_named(
    course, canvas, tmp_path, capsys
):
    files = {
        f"ångströmanna_101_7_{NOTEBOOK}": "notebook",
        "ångströmanna_101_9_helper.py": "new",
        "ångströmanna_101_3_helper.py": "old",
    }
    packed = archive(tmp_path / "s.zip", files)
    assert lms(course, "unpack", packed, "--students", canvas, "--by", "sis") == 1
    assert submitted(course) == {place("s001"): "notebook", place("s001", "helper.py"): "new"}
    assert "101_3_helper.py: another file of the same name counts" in capsys.readouterr().out


def test_names_as_a_mac_writes_them_are_the_same_names(course, moodle, tmp_path):
    """Its accents are letters of their own, and its programs do not say that a name is UTF-8."""
    files = {f"{ANNA}/{NOTEBOOK}": "1", f"{ANNA}/Übung.csv": "2"}
    path = archive(
        tmp_path / "s.zip",
        {unicodedata.normalize("NFD", name): data for name, data in files.items()},
    )
    data = bytearray(path.read_bytes())
    for entry, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        for found in re.finditer(re.escape(entry), bytes(data)):
            data[found.start() + flags + 1] &= ~0x08
    path.write_bytes(data)
    assert lms(course, "unpack", path, "--students", moodle, "--by", "id") == 0
    assert submitted(course) == {place("s001"): "1", place("s001", "Übung.csv"): "2"}


def test_what_is_refused_of_one_person_does_not_hide_what_is_refused_of_others(
    course, moodle, tmp_path, capsys
):
    files = {f"{ANNA}/.git/{number}": "" for number in range(500)}
    files |= {f"{ANNA}/{NOTEBOOK}": "1", f"Al O'Neil_502_assignsubmission_file/{NOTEBOOK}": "2"}
    files |= {"Al O'Neil_502_assignsubmission_file/.bashrc": "x"}
    assert unpacked(course, moodle, tmp_path, files) == 1
    said = capsys.readouterr().out
    assert "501 refused:" in said and "Anna Ångström: 495 more, a name that cannot" in said
    assert "file/.bashrc: a name" in said and len(said.splitlines()) < 30


def test_ids_that_a_spreadsheet_has_changed_make_nobody_new(tmp_path, capsys):
    """A table that was saved by a spreadsheet has lost zeros before numbers, and the end of long ones."""
    course = course_with(tmp_path / "course", {"00123": 1, "s002": 1})
    people = [[*CANVAS[0][:2], "123", *CANVAS[0][3:]], CANVAS[1], [*CANVAS[2][:2], "1.23457E+11", *CANVAS[2][3:]]]  # fmt: skip
    table = tmp_path / "g.csv"
    table.write_text(written(canvas_export(people)), encoding="utf-8")
    files = {
        f"ångströmanna_101_1_{NOTEBOOK}": "1",
        f"oneilal_102_2_{NOTEBOOK}": "2",
        f"liwei_103_3_{NOTEBOOK}": "3",
    }
    packed = archive(tmp_path / "s.zip", files)
    assert lms(course, "unpack", packed, "--students", table, "--by", "sis") == 1
    assert submitted(course) == {place("s002"): "2"}
    said = capsys.readouterr().out
    assert "“123” is nobody's here and “00123” is: a spreadsheet drops zeros" in said
    assert "“1.23457E+11” is what a spreadsheet makes of a long number" in said
    assert lms(course, "scores", table, "--by", "sis", "--column", "11001") == 1
    assert "1 here as well but for zeros before the number" in capsys.readouterr().out
