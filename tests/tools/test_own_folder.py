"""Root writes into a folder whose owner puts links there: nothing outside is written, given away or opened up."""

import os
import shutil

import pytest

from tools.classroom import own_folder, prepare
from tools.classroom.own_folder import opened
from tools.classroom.settings import ClassroomError, Settings

ME = os.getuid(), os.getgid()
OTHER = 65534, 65534
as_root = pytest.mark.skipif(os.getuid() != 0, reason="giving files away takes root")


@pytest.fixture
def outside(tmp_path):
    """A folder with a file, neither of which anything may touch."""
    folder = tmp_path / "outside"
    folder.mkdir(mode=0o750)
    (folder / "kept.txt").write_text("kept", encoding="ascii")
    (folder / "kept.txt").chmod(0o640)
    before = seen(folder)
    yield folder
    assert seen(folder) == before
    assert (folder / "kept.txt").read_text(encoding="ascii") == "kept"


def seen(folder):
    """Names, modes and owners of what is there."""
    return {
        path.name: (path.lstat().st_mode, path.lstat().st_uid)
        for path in (folder, *folder.iterdir())
    }


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "course"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("leads_to", ["kept.txt", "new.txt", "../outside/kept.txt", "."])
def test_a_file_is_written_in_place_of_a_link(place, outside, leads_to):
    (place / "service.toml").symlink_to(outside / leads_to)
    with opened(place, ME, 0o700) as folder:
        folder.write("service.toml", b"new")
    assert not (place / "service.toml").is_symlink()
    assert (place / "service.toml").read_bytes() == b"new"
    assert list(place.iterdir()) == [place / "service.toml"]


def test_a_hard_link_is_replaced_and_not_written_through(place, outside):
    os.link(outside / "kept.txt", place / "requirements.lock")
    with opened(place, ME, 0o700) as folder:
        folder.write("requirements.lock", b"new")


def test_a_link_that_leads_nowhere_is_there(place, outside):
    (place / "service.toml").symlink_to(outside / "new.txt")
    with opened(place, ME, 0o700) as folder:
        assert folder.has("service.toml") and not folder.has("other.toml")


@pytest.mark.parametrize("deep", ["exercises", "exercises/a1", "tools/jupyter"])
def test_no_folder_is_entered_through_a_link(place, outside, tmp_path, deep):
    source = tmp_path / "source"
    (source / deep).mkdir(parents=True)
    (source / deep / "kept.txt").write_text("ours", encoding="ascii")
    (place / deep).parent.mkdir(exist_ok=True)
    (place / deep).symlink_to(outside)
    with pytest.raises(ClassroomError, match="found a link"), opened(place, ME, 0o700) as folder:
        folder.copy(source)


@pytest.mark.parametrize("name", ["", "attention", "attention/inbound", "attention/feedback"])
def test_no_mode_or_owner_is_given_to_what_a_link_names(tmp_path, outside, monkeypatch, name):
    monkeypatch.setattr(prepare, "numbers_of", lambda _account: ME)
    here = Settings(folder=str(tmp_path))
    here.course.mkdir()
    link = here.exchange / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    with pytest.raises(ClassroomError, match="Root follows no link"):
        prepare.make_exchange(here)


def test_the_exchange_belongs_to_the_course_and_students_can_only_hand_in(tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "numbers_of", lambda _account: ME)
    here = Settings(folder=str(tmp_path))
    here.course.mkdir()
    for _ in range(2):
        prepare.make_exchange(here)
    own = here.course / prepare.OWN_EXCHANGE
    assert (own / "attention").readlink() == here.exchange / "attention"
    assert [path.name for path in own.iterdir()] == ["attention"]
    assert here.course.stat().st_mode & 0o7777 == 0o700
    found = {
        str(path.relative_to(tmp_path)): path.stat().st_mode & 0o7777
        for path in (here.exchange, *here.exchange.rglob("*"))
    }
    course = "exchange/attention"
    assert found == {
        "exchange": 0o755,
        course: 0o755,
        f"{course}/outbound": 0o755,
        f"{course}/inbound": 0o3733,
        f"{course}/feedback": 0o711,
    }


def test_a_file_where_a_folder_belongs_and_the_other_way_round_are_said(place, tmp_path):
    (place / "exercises").write_text("", encoding="ascii")
    (place / "service.toml").mkdir()
    with opened(place, ME, 0o700) as folder:
        with pytest.raises(ClassroomError, match="expected a folder"), folder.below("exercises"):
            pass
        with pytest.raises(ClassroomError, match="expected a file"):
            folder.write("service.toml", b"")
    assert {path.name for path in place.iterdir()} == {"exercises", "service.toml"}


def test_a_folder_exchanged_for_a_link_on_the_way_is_not_entered(place, outside, monkeypatch):
    """Between making a folder and opening it, its owner can put a link in its place."""
    real = os.mkdir

    def mkdir(name, *arguments, **by_name):
        real(name, *arguments, **by_name)
        os.rmdir(place / name)
        (place / name).symlink_to(outside)

    monkeypatch.setattr(own_folder.os, "mkdir", mkdir)
    with (
        pytest.raises(ClassroomError),
        opened(place, ME, 0o700) as folder,
        folder.below("exercises") as below,
    ):
        below.write("kept.txt", b"ours")


@as_root
def test_what_is_not_the_accounts_alone_is_not_given_to_it(place, outside):
    (place / "link").symlink_to(outside / "kept.txt")
    (place / "linked").symlink_to(outside)
    os.link(outside / "kept.txt", place / "hard")
    os.mkfifo(place / "pipe")
    (place / "deep").mkdir()
    (place / "deep" / "own.db").write_text("", encoding="ascii")
    (place / "deep" / "link").symlink_to(outside)
    with opened(place, OTHER, 0o700) as folder:
        folder.take()
    given = {path.name for path in place.rglob("*") if path.lstat().st_uid == OTHER[0]}
    assert given == {"deep", "own.db"}


def test_programs_are_copied_without_what_is_left_out(place, tmp_path):
    source = tmp_path / "source"
    (source / "a1" / "__pycache__").mkdir(parents=True)
    (source / "a1" / "text.py").write_text("new", encoding="ascii")
    (source / "a1" / "run.sh").write_text("", encoding="ascii")
    (source / "a1" / "run.sh").chmod(0o755)
    (place / "a1").mkdir()
    (place / "a1" / "text.py").write_text("old", encoding="ascii")
    (place / "a1" / "own.txt").write_text("the class's", encoding="ascii")
    with opened(place, ME, 0o700) as folder:
        folder.copy(source, shutil.ignore_patterns(*prepare.LEFT_OUT))
    assert (place / "a1" / "text.py").read_text(encoding="ascii") == "new"
    assert {path.name for path in (place / "a1").iterdir()} == {"text.py", "run.sh", "own.txt"}
    assert (place / "a1" / "run.sh").stat().st_mode & 0o777 == 0o755
