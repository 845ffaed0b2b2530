"""A class on one machine.

    python -m tools.classroom run                start the hub, laid out if need be
    python -m tools.classroom prepare            lay it out, and start nothing
    python -m tools.classroom add LIST.csv       make accounts; print the passwords of those who are new
    python -m tools.classroom password NAME      give somebody a new password
    python -m tools.classroom remove NAME        let somebody in no more

All of them take `--settings FILE`, and need Linux and root. docs/classroom.md is the guide.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

from tools.classroom import accounts, settings
from tools.classroom.roster import write_roster
from tools.classroom.settings import ROOT, VARIABLE, ClassroomError, Settings


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0: done; 2: nothing was done, and the message says why; else the hub's own."""
    parser = argparse.ArgumentParser(prog="python -m tools.classroom")
    parser.add_argument("--settings", type=Path, help="a file like tools/classroom/settings.toml")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="start the hub, laid out if need be")
    commands.add_parser("prepare", help="lay the classroom out, and start nothing")
    add = commands.add_parser("add", help="make accounts for the people of a list")
    add.add_argument("list", type=Path, help="CSV with username, and if need be role, name, email")
    password = commands.add_parser("password", help="give somebody a new password")
    removal = commands.add_parser("remove", help="let somebody in no more")
    for command in (password, removal):
        command.add_argument("name", help="of the account")
    options = parser.parse_args(arguments)
    try:
        accounts.must_be_root()
        here = settings.read(options.settings)
        if options.settings:
            os.environ[VARIABLE] = str(options.settings.resolve())
        return DOES[options.command](here, options)
    except ClassroomError as error:
        print(f"no classroom: {error}", file=sys.stderr)
        return 2


def prepare(here: Settings, _options: argparse.Namespace) -> int:
    from tools.classroom.prepare import prepare as lay_out

    lay_out(here)
    print(f"The classroom lies in {here.place}")
    return 0


def run(here: Settings, options: argparse.Namespace) -> int:
    """Lay out what is missing, and be the hub from then on."""
    must_be_free(here)
    prepare(here, options)
    if not accounts.known(here):
        print("There is nobody in the class yet: python -m tools.classroom add LIST.csv")
    print(f"The hub answers at {here.public}", flush=True)
    os.chdir(here.state)
    os.environ["PYTHONPATH"] = str(ROOT)
    config = str(ROOT / "tools/classroom/jupyterhub_config.py")
    os.execv(here.python, [str(here.python), "-m", "jupyterhub", "--config", config])


def must_be_free(here: Settings) -> None:
    """Raise `ClassroomError` if the hub runs, or another program answers where a part of it will.

    What a hub that was killed has left behind is no reason: the next one takes it over, or ends it.
    """
    parts = () if left_behind(here) else (here.port, here.ports.proxy, here.ports.course)
    for port in (here.ports.hub, *parts):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            raise ClassroomError(
                f"something answers at port {port} already. If this classroom runs, it is at {here.public}: press "
                "Ctrl-C where it was started, then start it again. If it is another program, give other ports in the "
                "settings; tools/classroom/settings.toml says how"
            )


def left_behind(here: Settings) -> bool:
    """Whether a proxy that a hub of this classroom has started still runs."""
    try:
        process = int(here.proxy_pid.read_text())
        return b"configurable-http-proxy" in Path(f"/proc/{process}/cmdline").read_bytes()
    except (OSError, ValueError):
        return False


def add_people(here: Settings, options: argparse.Namespace) -> int:
    """Make accounts, and put new passwords into a file that root alone reads."""
    try:
        text = options.list.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ClassroomError(f"the list {options.list} cannot be read: {error}") from None
    people = accounts.read_list(text, str(options.list))
    if not here.state.exists():
        raise ClassroomError(
            f"there is no classroom in {here.place} yet. Lay it out with: python -m tools.classroom prepare"
        )
    in_the_servers_environment(here)
    passwords = accounts.add(here, people)
    write_roster(here)
    print(f"{len(people)} of {options.list}; {len(passwords)} are new")
    if passwords:
        with (here.state / "passwords.csv").open("a", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.writelines(f"{name},{password}\n" for name, password in passwords.items())
        print(
            f"Their passwords: {here.state / 'passwords.csv'}. Hand them out, then delete the file"
        )
    if any(person.role != "student" for person in people):
        print("Start the hub again, so that graders and instructors become what they are")
    return 0


def new_password(here: Settings, options: argparse.Namespace) -> int:
    if options.name not in accounts.known(here):
        raise ClassroomError(f"there is no {options.name} in the class")
    if here.login != "native":
        raise ClassroomError("the learning platform logs people in, so there are no passwords here")
    in_the_servers_environment(here)
    from tools.classroom.passwords import set_password

    password = accounts.new_password()
    set_password(here, options.name, password)
    print(password)
    return 0


def remove(here: Settings, options: argparse.Namespace) -> int:
    in_the_servers_environment(here)
    accounts.remove(here, options.name)
    write_roster(here)
    print(
        f"{options.name} is let in no more; the home and what was handed in stay. Start the hub again"
    )
    return 0


def in_the_servers_environment(here: Settings) -> None:
    """Go on in the environment that has JupyterHub, unless this is it."""
    try:
        import jupyterhub  # noqa: F401
        import nativeauthenticator  # noqa: F401
    except ImportError:
        command = [str(here.python), "-m", "tools.classroom", *sys.argv[1:]]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, check=False)
        sys.exit(done.returncode)


DOES = {
    "run": run,
    "prepare": prepare,
    "add": add_people,
    "password": new_password,
    "remove": remove,
}

if __name__ == "__main__":
    sys.exit(main())
