"""A course in one file: all of it comes back as it was, nothing comes from elsewhere, and grading goes on."""

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import stat
import threading
import zipfile

import pytest
from nbgrader.api import Gradebook

from assignments import allowed_modules
from autograder.__main__ import main
from autograder.batch.archive import MANIFEST, restore, with_linked, write_archive
from autograder.batch.engine import engine_for
from autograder.batch.run_lock import only_one
from autograder.errors import CourseError
from tests.autograder.batch.living import Living
from tests.sample_class import ASSIGNMENT, SETTINGS, new_course

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def engine():
    with engine_for(SETTINGS, allowed_modules(ASSIGNMENT)) as opened:
        yield opened


def all_files(folder, but=("lock", "log.txt", "class.html", "class.csv")):
    """Every file with its bytes and time, but for those that each run writes anew."""
    return {
        path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in (*but, "gradebook.db")
    }


def contents(gradebook):
    with contextlib.closing(sqlite3.connect(gradebook)) as opened:
        return sorted(opened.iterdump())


def test_a_course_moves_and_grading_again_changes_nothing(engine, tmp_path, capsys):
    course = Living(tmp_path / "old", engine)
    course.hand_in("ada", "right_loops")
    course.hand_in("bob", "softmax_over_columns")
    (course.folder / "submitted" / "eve" / ASSIGNMENT).mkdir(parents=True)
    os.symlink("/etc/passwd", course.folder / "submitted" / "bob" / ASSIGNMENT / "link.txt")
    course.grade()
    course.by_hand("bob", "why", 1.5)
    rows = course.grade(dry_run=False).rows
    assert [row.student for row in rows] == ["ada", "bob", "eve"]

    file = tmp_path / "course.zip"
    assert main(["archive", str(file), "--course", str(course.folder)]) == 0
    said = capsys.readouterr().out
    assert f"left out, since they are links or no plain files: submitted/bob/{ASSIGNMENT}/link.txt" in said  # fmt: skip
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before, held = all_files(course.folder), contents(course.folder / "gradebook.db")
    shutil.rmtree(course.folder)

    moved = tmp_path / "elsewhere" / "new"
    assert main(["restore", str(file), str(moved)]) == 0
    said = capsys.readouterr().out
    assert "all as they were" in said and "other code" not in said
    del before[next(path for path in before if path.name == "link.txt")]
    assert all_files(moved) == before and contents(moved / "gradebook.db") == held
    assert "grading/secret" in {str(path) for path in before}

    course = Living(moved, engine)
    graded = course.grade()
    assert graded.rows == rows
    assert not graded.changes.students and not graded.changes.change
    assert contents(moved / "gradebook.db") == held
    # the page of a student who handed in nothing is written at each grading
    pages = {path: value for path, value in before.items() if path.parts[0] in ("autograded", "feedback") and "eve" not in path.parts}  # fmt: skip
    assert pages == {path: value for path, value in all_files(moved).items() if path in pages}
    again = course.grade(again=True)
    assert [(row.student, row.points) for row in again.rows] == [(row.student, row.points) for row in rows]  # fmt: skip
    assert not again.changes.students


@pytest.fixture
def archived(tmp_path):
    """A small course that nobody has graded, and its archive."""
    course = tmp_path / "course"
    new_course(course)
    place = course / "submitted" / "ada" / ASSIGNMENT
    place.mkdir(parents=True)
    (place / "notes.txt").write_text("mine")
    (course / "grading").mkdir()
    (course / "grading" / "secret").write_text("s" * 32)
    (course / "grading" / "secret").chmod(0o600)
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention") as gradebook:
        gradebook.add_student("ada")
    write_archive(course, tmp_path / "course.zip")
    return tmp_path


def test_nothing_is_overwritten(archived, capsys):
    file, course = archived / "course.zip", archived / "course"
    made = file.read_bytes()
    assert main(["archive", str(file), "--course", str(course)]) == 2
    assert main(["restore", str(file), str(course)]) == 2
    assert capsys.readouterr().err.count("is there already") == 2
    assert file.read_bytes() == made
    (archived / "empty").mkdir()
    restore(file, archived / "empty")
    assert stat.S_IMODE((archived / "empty" / "grading" / "secret").stat().st_mode) == 0o600


def rewritten(archived, change, entries=()):
    """The archive with another manifest, and with entries of its own."""
    made = archived / "other.zip"
    with zipfile.ZipFile(archived / "course.zip") as old, zipfile.ZipFile(made, "w") as new:
        manifest = json.loads(old.read(MANIFEST))
        change(manifest)
        new.writestr(MANIFEST, json.dumps(manifest))
        for name in old.namelist():
            if name in manifest["files"]:
                new.writestr(name, old.read(name))
        for info, data in entries:
            new.writestr(info, data)
    return made


NOTES = f"submitted/ada/{ASSIGNMENT}/notes.txt"
MINE = {"size": 2, "sha256": "0" * 64, "modified": 0}


@pytest.mark.parametrize("name", ["../evil.txt", "/tmp/evil.txt", "a/../../evil", "a\\..\\evil", "C:/evil", "./evil", "a//evil"])  # fmt: skip
def test_no_name_leads_out_of_the_folder(archived, name):
    other = rewritten(
        archived, lambda manifest: manifest["files"].update({name: MINE}), [(name, "no")]
    )
    with pytest.raises(CourseError, match="leads out of the folder"):
        restore(other, archived / "new")
    folders = rewritten(archived, lambda manifest: manifest["folders"].append(name))
    with pytest.raises(CourseError, match="leads out of the folder"):
        restore(folders, archived / "new")
    assert sorted(path.name for path in archived.iterdir()) == ["course", "course.zip", "other.zip"]


def test_a_link_is_refused(archived):
    link = zipfile.ZipInfo("submitted/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    other = rewritten(
        archived, lambda manifest: manifest["files"].update({link.filename: MINE}), [(link, "/etc")]
    )
    with pytest.raises(CourseError, match="or is a link: submitted/link"):
        restore(other, archived / "new")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda manifest: manifest["files"][NOTES].update(sha256="0" * 64), "is not what the manifest"),
        (lambda manifest: manifest["files"][NOTES].update(size=1), "is not what the manifest"),
        (lambda manifest: manifest["files"].update(more=MINE), "files and manifest .* differ: more"),
        (lambda manifest: manifest["files"][NOTES].update(size=1 << 60), "takes .* MiB, and .* left"),
        (lambda manifest: manifest.update(format=2), "has format 2, and this grader reads 1"),
        (lambda manifest: manifest.update(files=[]), "manifest.json .* cannot be read"),
    ],
)  # fmt: skip
def test_what_is_not_as_the_manifest_says_is_refused_whole(archived, change, match):
    other = rewritten(archived, change)
    with pytest.raises(CourseError, match=match):
        restore(other, archived / "new")
    assert sorted(path.name for path in archived.iterdir()) == ["course", "course.zip", "other.zip"]


def test_what_is_no_archive_is_refused(archived, capsys):
    (archived / "text.zip").write_text("no zip")
    with zipfile.ZipFile(archived / "bare.zip", "w") as bare:
        bare.writestr("a", "b")
    broken = bytearray((archived / "course.zip").read_bytes())
    broken[len(broken) // 2 :] = broken[: len(broken) - len(broken) // 2]
    (archived / "broken.zip").write_bytes(broken)
    packed = bytearray((archived / "course.zip").read_bytes())
    packed[2000:2100] = bytes(100)  # in the middle of what is packed
    (archived / "packed.zip").write_bytes(packed)
    names = ("text.zip", "bare.zip", "missing.zip", "broken.zip", "packed.zip")
    for name in names:
        assert main(["restore", str(archived / name), str(archived / "new")]) == 2, name
    assert capsys.readouterr().err.count("not restored: ") == len(names)
    assert not (archived / "new").exists()


def test_an_archive_of_the_first_format_opens_and_its_gradebook_is_graded_on(engine, tmp_path):
    """Entry by entry as the format says, and not by `write_archive`, which may change."""
    course = Living(tmp_path / "old", engine)
    course.hand_in("ada", "right_loops")
    course.grade()
    course.by_hand("ada", "why", 1.5)
    paths = {path.relative_to(course.folder).as_posix(): path for path in course.folder.rglob("*") if path.is_file()}  # fmt: skip
    files = {
        name: {
            "size": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "modified": path.stat().st_mtime_ns,
            "private": name == "grading/secret",
        }
        for name, path in paths.items()
    }
    manifest = {
        "format": 1, "made": "2026-01-02 09:30", "versions": {"python": "3.11.0", "torch": "2.0"}, "grader": "0" * 16,
        "files": files, "folders": [f"submitted/eve/{ASSIGNMENT}"], "left_out": ["submitted/link"],
    }  # fmt: skip
    with zipfile.ZipFile(tmp_path / "course.zip", "w") as archive:
        archive.writestr(MANIFEST, json.dumps(manifest))
        for name, path in paths.items():
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)

    restored = restore(tmp_path / "course.zip", tmp_path / "new")
    assert (restored.made, restored.left_out) == ("2026-01-02 09:30", ["submitted/link"])
    assert all_files(tmp_path / "new", but=()) == all_files(course.folder, but=())
    assert contents(tmp_path / "new/gradebook.db") == contents(course.folder / "gradebook.db")
    assert (tmp_path / "new/submitted/eve" / ASSIGNMENT).is_dir()
    assert stat.S_IMODE((tmp_path / "new/grading/secret").stat().st_mode) == 0o600
    moved = Living(tmp_path / "new", engine)
    graded = moved.grade()
    assert [row.student for row in graded.rows] == ["ada", "eve"] and not graded.changes.students
    assert moved.marks("ada")["why"] == (1.5, 2, False)


def test_a_course_that_is_being_graded_is_not_archived(archived):
    (archived / "course" / "grading" / ASSIGNMENT).mkdir()
    with (
        only_one(archived / "course" / "grading" / ASSIGNMENT / "lock"),
        pytest.raises(CourseError, match="another process is grading"),
    ):
        write_archive(archived / "course", archived / "later.zip")
    assert not (archived / "later.zip").exists()


def test_the_gradebook_is_whole_while_a_grader_writes(archived):
    """Rows are written in pairs; a copy that is not of one moment would hold half a pair."""
    path = archived / "course" / "gradebook.db"
    with contextlib.closing(sqlite3.connect(path)) as gradebook:
        gradebook.execute("create table pair (number integer)")
    stop = threading.Event()

    def write():
        with contextlib.closing(sqlite3.connect(path)) as gradebook:
            number = 0
            while not stop.is_set():
                with gradebook:
                    gradebook.executemany("insert into pair values (?)", [(number,), (number,)])
                number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            write_archive(archived / "course", archived / f"{number}.zip")
    finally:
        stop.set()
        writer.join()
    counts = []
    for number in range(5):
        restore(archived / f"{number}.zip", archived / f"back{number}")
        with contextlib.closing(
            sqlite3.connect(archived / f"back{number}" / "gradebook.db")
        ) as held:
            counts += held.execute("select count(*) from pair").fetchone()
            assert held.execute("select number from pair group by number having count(*) != 2").fetchall() == []  # fmt: skip
    assert counts == sorted(counts) and counts[-1] > 0


def test_the_next_term_has_what_is_taught_and_nobody_of_the_last(archived, capsys):
    course = archived / "course"
    (course / "late_rules.py").write_text("# a plugin")
    (course / "grades.csv").write_text("ada,10")
    (course / "README.md").write_text(
        "[Guide](docs/guide.md), [site](https://host/docs/none.md), [grades](grades.csv), [gone](docs/gone.md), "
        "[out](../secret.md), [ada](submitted/ada/notes.md), "
        "[grader](grader/README.md)"
    )
    for name in (
        "docs/guide.md",
        "docs/more.md",
        "docs/unlinked.md",
        "submitted/ada/notes.md",
        "../secret.md",
        "grader/README.md",
        "grader/__init__.py",
    ):
        (course / name).parent.mkdir(parents=True, exist_ok=True)
        (course / name).write_text("[more](more.md#A-heading) and [back](../README.md)")
    (course / "term.toml").write_text(
        'pass_at = 50\nzone = "UTC"\n\n[lectures]\n1 = 2026-10-12\n\n[due]  # until when\n'
        f"{ASSIGNMENT} = 2026-10-19T12:00:00\n\n[grades]\nA = 50\n"
    )
    (course / "handing_in.md").write_text("On Moodle, until Friday")
    assert main(["next-term", str(archived / "next"), "--course", str(course)]) == 0
    said = capsys.readouterr().out
    assert "1 assignment, no students" in said
    assert "Dates were last term's, so none came along" in said
    assert "handing_in.md is last term's: see whether a date stands in it" in said
    rules = (archived / "next" / "term.toml").read_text()
    assert rules == 'pass_at = 50\nzone = "UTC"\n\n[grades]\nA = 50\n'
    files = {str(path) for path in all_files(archived / "next")}
    assert files == {
        "README.md", "docs/guide.md", "docs/more.md", "handing_in.md", "term.toml",
        "late_rules.py", "nbgrader_config.py", f"solutions/{ASSIGNMENT}/{ASSIGNMENT}.ipynb",
    }  # fmt: skip
    assert not (archived / "next" / "gradebook.db").exists()
    (course / "term.toml").write_text(f"pass_at = 50\ndue.{ASSIGNMENT} = 2026-10-19T12:00:00Z\n")
    assert main(["next-term", str(archived / "other"), "--course", str(course)]) == 0
    assert "term.toml itself did not either, since its dates" in capsys.readouterr().out
    assert not (archived / "other" / "term.toml").exists()
    assert main(["next-term", str(archived / "next"), "--course", str(course)]) == 2
    assert main(["next-term", str(course / "in"), "--course", str(course)]) == 2
    said = capsys.readouterr().err
    assert "is there already" in said and "lies in the old course" in said


def test_a_link_that_no_file_can_have_leads_nowhere(tmp_path):
    text, other = tmp_path / "a.md", tmp_path / "b.md"
    text.write_text(f"[x]({'x' * 5000}) [p](pipe.md) [up](../secret.md) [b](b.md)")
    other.write_text("")
    os.mkfifo(tmp_path / "pipe.md")
    assert [*with_linked([text], tmp_path, ())] == [text, other]
