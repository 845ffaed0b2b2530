"""A classroom's settings and list of people: what may stand there, and what is said of anything else."""

import os
import pwd
import re
import socket
import subprocess
import sys
import tomllib

import pytest

from autograder.batch.roster import Enrolled, roster_of
from tests.sample_class import ROOT
from tools.classroom import __main__ as classroom
from tools.classroom import accounts, prepare, roster, settings
from tools.classroom.accounts import Person, read_list
from tools.classroom.settings import ClassroomError
from tools.part import part_of


def settings_of(folder, text):
    path = folder / "classroom.toml"
    path.write_text(text, encoding="utf-8")
    return settings.read(path)


def test_the_example_says_what_is_usual(tmp_path):
    example = (ROOT / "tools/classroom/settings.toml").read_text(encoding="utf-8")
    assert settings_of(tmp_path, example) == settings.Settings()
    platform = re.sub(r"^# (?=[\[\w]+( =|\]))", "", example, flags=re.MULTILINE)
    platform = platform.replace('login = "native"', 'login = "lti13"')
    assert settings_of(tmp_path, platform).lti13.username_key == "email"
    assert set(tomllib.loads(example)) < set(settings.Settings.__struct_fields__)


@pytest.mark.parametrize(
    "text, says",
    [
        ('address = "0.0.0.0"', "passwords would cross the network unencrypted"),
        ('certificate = "here.pem"', "go together"),
        ('certificate = "/no.pem"\nkey = "/no.key"', "there is no file /no.pem"),
        ('login = "lti13"', "a table [lti13]"),
        ("behind_proxy = true", "set subdomains = false after reading docs/classroom.md"),
        ('folder = "class"', "a path from the root on"),
        ("port = 0", "`$.port`"),
        ("prot = 8000", "unknown field `prot`"),
        ("port = ", "cannot be read"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path, text, says):
    with pytest.raises(ClassroomError) as error:
        settings_of(tmp_path, text)
    assert says in str(error.value)


def test_behind_another_server_any_address_will_do(tmp_path):
    text = 'address = "0.0.0.0"\nbehind_proxy = true\n'
    here = settings_of(tmp_path, text + 'domain = "hub.example.edu"')
    assert here.public == "https://hub.example.edu"
    assert here.formgrader == "https://course--service.hub.example.edu/services/course/formgrader"
    here = settings_of(tmp_path, text + "subdomains = false")
    assert here.formgrader == "/services/course/formgrader"


def test_of_a_part_of_the_course_students_get_nothing_that_leads_to_the_rest(tmp_path):
    account = pwd.getpwuid(os.getuid()).pw_name
    here = settings.Settings(folder=str(tmp_path), account=account, only="8")
    prepare.replace_handout(here, part_of(here.only))
    prepare.copy_course(here, part_of(here.only))
    assert [path.name for path in here.handout.glob("lectures/*.ipynb")] == ["08_transformer.ipynb"]
    listed = [path.name for path in (here.course / "solutions").iterdir() if path.is_dir()]
    assert sorted(listed) == ["a8_transformer_layer", "a9_transformer"]  # by the formgrader
    for course in (here.handout, here.course):
        released = {path.parent.name: path for path in course.glob("exercises/*/*.ipynb")}
        assert sorted(released) == ["a8_transformer_layer", "a9_transformer"]
        text = released["a9_transformer"].read_text(encoding="utf-8")
        assert "lectures/08_transformer.ipynb" in text and "09_one_half_alone" not in text


def test_the_plan_of_the_term_comes_along(tmp_path, monkeypatch):
    here = settings.Settings(
        folder=str(tmp_path / "class"), account=pwd.getpwuid(os.getuid()).pw_name
    )
    here.course.parent.mkdir()
    monkeypatch.setattr(prepare, "PROGRAMS", ())
    monkeypatch.setattr(prepare, "ROOT", tmp_path)
    for name in prepare.FILES:
        (tmp_path / name).touch()
    prepare.copy_course(here, part_of(""))
    assert not (here.course / "term.toml").exists()
    (tmp_path / "term.toml").write_text("pass_at = 50")
    prepare.copy_course(here, part_of(""))
    assert (here.course / "term.toml").read_text() == "pass_at = 50"


def test_a_part_that_is_not_there_is_refused_before_anything_is_made(tmp_path):
    here = settings.Settings(folder=str(tmp_path / "class"), only="1-99")
    with pytest.raises(ClassroomError, match="only: expected numbers of lectures from 1 to 12"):
        prepare.prepare(here)
    assert not (tmp_path / "class").exists()


def test_a_classroom_that_runs_is_not_started_again(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        here = settings.Settings(folder=str(tmp_path / "class"), port=port)
        with pytest.raises(
            ClassroomError, match=f"port {port} already.*127.0.0.1:{port}: press Ctrl-C"
        ):
            classroom.run(here, None)
    assert not (tmp_path / "class").exists()


def test_what_a_killed_hub_has_left_behind_stops_no_other(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as proxys,
        socket.create_server(("127.0.0.1", 0)) as hubs,
    ):
        free, taken = (one.getsockname()[1] for one in (proxys, hubs))
        hubs.close()
        here = settings.Settings(
            folder=str(tmp_path / "class"), port=free, ports=settings.Ports(hub=taken)
        )
        with pytest.raises(ClassroomError, match=f"port {free} already"):
            classroom.must_be_free(here)
        here.state.mkdir(parents=True)
        waits = [sys.executable, "-c", "input(print(flush=True))", "configurable-http-proxy"]
        pipe = subprocess.PIPE
        with subprocess.Popen(waits, stdin=pipe, stdout=pipe) as proxy:
            proxy.stdout.readline()  # it runs
            here.proxy_pid.write_text(str(proxy.pid))
            classroom.must_be_free(here)
            with (
                socket.create_server(("127.0.0.1", taken)),
                pytest.raises(ClassroomError, match=f"port {taken} already"),
            ):
                classroom.must_be_free(here)
            proxy.communicate(b"\n")
        with pytest.raises(ClassroomError, match=f"port {free} already"):
            classroom.must_be_free(here)


def test_a_list_has_commas_or_semicolons_and_perhaps_a_byte_order_mark():
    wanted = [Person("ada", "student", "Ada, Countess", "ada@x.org"), Person("prof", "instructor")]
    commas = '\ufeffUsername,Role,name,email\nada,,"Ada, Countess",ada@x.org\n\nprof,Instructor\n'
    semicolons = (
        "username;role;name;email\nada;student;Ada, Countess;ada@x.org\nprof;instructor;;\n"
    )
    assert read_list(commas, "list") == read_list(semicolons, "list") == wanted


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "names a column username"),
        ("name\nAda\n", "found 'name'"),
        ("username\nAda Lovelace\n", "line 2: 'Ada Lovelace' cannot be the name"),
        ("username\n../ada\n", "cannot be the name"),
        ("username,role\nada,boss\n", "found 'boss'"),
        ("username\nada\nben\nada\n", "line 4: ada stands there twice"),
    ],
)
def test_a_list_that_cannot_be_is_refused_with_its_line(text, says):
    with pytest.raises(ClassroomError) as error:
        read_list(text, "list.csv")
    assert says in str(error.value) and "list.csv" in str(error.value)


def test_who_is_in_the_class_is_written_and_read_back(tmp_path):
    here = settings.Settings(folder=str(tmp_path))
    here.state.mkdir()
    people = {"ada": Person("ada", name='A "quoted", name'), "prof": Person("prof", "instructor")}
    accounts.remember(here, people)
    assert accounts.known(here) == people
    assert here.people.stat().st_mode & 0o777 == 0o600


def test_an_account_of_the_machine_is_not_taken_over(tmp_path):
    here = settings.Settings(folder=str(tmp_path))
    with pytest.raises(ClassroomError, match="an account root that is not of this class"):
        accounts.add(here, [Person("root")])


def test_passwords_are_long_and_differ():
    drawn = {accounts.new_password() for _ in range(50)}
    assert len(drawn) == 50 and all(len(word) == 12 and word.isalnum() for word in drawn)


def test_whoever_is_not_root_is_told_so(monkeypatch):
    monkeypatch.setattr(accounts.os, "geteuid", lambda: 65534)
    with pytest.raises(ClassroomError, match="Start it with sudo"):
        accounts.must_be_root()
    monkeypatch.setattr(accounts.sys, "platform", "darwin")
    with pytest.raises(ClassroomError, match="needs Linux"):
        accounts.must_be_root()


def test_the_lock_of_the_classroom_agrees_with_the_courses():
    def pins(name):
        return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))

    course, classroom = pins("requirements.lock"), pins("classroom.lock")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {
        re.match(r"[\w-]+", text)[0] for text in project["optional-dependencies"]["classroom"]
    }
    assert wanted <= set(classroom), "run `make lock`"
    assert {name: classroom[name] for name in classroom.keys() & course} == {
        name: course[name] for name in classroom.keys() & course
    }


def test_the_servers_environment_is_made_anew_with_another_python(tmp_path, monkeypatch):
    monkeypatch.setattr(prepare.sys, "executable", "/bin/true")
    place = tmp_path / "environment"
    python = place / "bin" / "python"
    done = []

    def run(command):
        done.append(command[1:4])
        if command[2] == "venv":
            python.parent.mkdir(parents=True, exist_ok=True)
            python.unlink(missing_ok=True)
            python.symlink_to(command[0])

    monkeypatch.setattr(prepare, "run", run)
    prepare.bring_up_to_date(python)
    assert done.pop(0) == ["-m", "venv", "--clear"] and done
    done.clear()
    prepare.bring_up_to_date(python)
    assert done == []
    monkeypatch.setattr(prepare.sys, "executable", "/bin/false")
    prepare.bring_up_to_date(python)
    assert done[0] == ["-m", "venv", "--clear"]


def test_the_course_gets_the_list_of_its_students(tmp_path, monkeypatch):
    here = settings.Settings(folder=str(tmp_path))
    for place in (here.state, here.course):
        place.mkdir()
    monkeypatch.setattr(roster, "numbers_of", lambda _account: (os.getuid(), os.getgid()))
    people = [
        Person("ada", name="Ada King Lovelace", email="a@x.org"),
        Person("ben", name="Ben"),
        Person("prof", "instructor", "Grace Hopper"),
    ]
    accounts.remember(here, {person.username: person for person in people})
    roster.write_roster(here)
    assert roster_of(here.course) == {
        "ada": Enrolled("Ada King", "Lovelace", "a@x.org"),
        "ben": Enrolled("", "Ben"),
    }
    assert (here.course / "students.csv").stat().st_mode & 0o777 == 0o600
