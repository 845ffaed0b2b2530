"""The set-up says in words what is missing, and does nothing when nothing changed."""

import importlib.util
import sys
from collections import namedtuple

import pytest

from tests.sample_class import ROOT


@pytest.fixture
def set_up(tmp_path, monkeypatch):
    specification = importlib.util.spec_from_file_location("set_up", ROOT / "tools" / "set_up.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    (tmp_path / "requirements.lock").write_text("numpy==2.0\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path / ".venv")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "set_up_for")
    return module


def ready(set_up):
    set_up.environment_python().parent.mkdir(parents=True)
    set_up.environment_python().touch()
    set_up.STAMP.write_text(set_up.fingerprint())


def test_nothing_is_done_when_nothing_changed(set_up, monkeypatch):
    ready(set_up)
    monkeypatch.setattr(set_up, "run", lambda *_: pytest.fail("installed again"))
    set_up.main()


def test_a_changed_lock_is_installed_again(set_up, monkeypatch):
    ready(set_up)
    (set_up.ROOT / "requirements.lock").write_text("numpy==2.1\n")
    commands = []
    monkeypatch.setattr(set_up, "run", lambda arguments, doing: commands.append(doing))
    set_up.main()
    assert len(commands) == 3
    assert set_up.STAMP.read_text().strip() == set_up.fingerprint()


def test_an_interrupted_set_up_is_started_again(set_up, monkeypatch):
    ready(set_up)
    (set_up.ROOT / "requirements.lock").write_text("numpy==2.1\n")

    def fail(_arguments, doing):
        raise SystemExit(1)

    monkeypatch.setattr(set_up, "run", fail)
    with pytest.raises(SystemExit):
        set_up.main()
    assert not set_up.STAMP.exists()


def test_an_old_python_is_named_with_the_remedy(set_up, monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 8, 2))
    monkeypatch.setattr(set_up.shutil, "which", lambda _name: None)
    with pytest.raises(SystemExit):
        set_up.use_new_enough_python()
    said = capsys.readouterr().err
    assert "3.11 or newer; python3 here is 3.8" in said
    assert "make PYTHON=" in said


def test_a_full_disk_is_named_before_anything_is_installed(set_up, monkeypatch, capsys):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(set_up.shutil, "disk_usage", lambda _path: usage(1, 1, 2**29))
    with pytest.raises(SystemExit):
        set_up.main()
    assert "needs about 4 GiB of disk; 0.5 GiB are free" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("Temporary failure in name resolution", "could not be reached"),
        ("OSError: [Errno 28] No space left on device", "the disk filled up"),
        ("ensurepip is not available", "python3-venv"),
        ("something else", "the lines above say why"),
    ],
)
def test_failures_that_people_meet_are_explained(set_up, capsys, output, message):
    command = [sys.executable, "-c", f"print({output!r}); raise SystemExit(1)"]
    with pytest.raises(SystemExit):
        set_up.run(command, "installing")
    said = capsys.readouterr()
    assert message in said.err
    assert output in said.err
