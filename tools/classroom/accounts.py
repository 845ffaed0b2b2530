"""Accounts of the machine for everybody in the class, each with a home that nobody else can open."""

from __future__ import annotations

import csv
import io
import os
import pwd
import re
import secrets
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from tools.classroom.settings import ClassroomError, Settings

ROLES = ("student", "grader", "instructor")
NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")
# neither 0 and O nor 1, l and I: passwords are copied from paper
LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
LONG = 12


@dataclass(frozen=True)
class Person:
    """Somebody in the class.

    Attributes:
        username: of the account, and of the student in the gradebook.
        role: one of `ROLES`.
        name: first and last name, for the gradebook.
        email: for the gradebook.
    """

    username: str
    role: str = "student"
    name: str = ""
    email: str = ""


def must_be_root() -> None:
    """Accounts, and servers under them, take Linux and its administrator.

    Raises:
        ClassroomError: this is another system or user.
    """
    if sys.platform != "linux":
        raise ClassroomError(
            f"a classroom needs Linux, since each student's server runs under an account of the system; "
            f"this is {sys.platform}. A virtual machine with Debian or Ubuntu does"
        )
    if os.geteuid() != 0:
        raise ClassroomError(
            "a classroom makes accounts and starts servers under them, which only root may; you are "
            f"{pwd.getpwuid(os.geteuid()).pw_name}. Start it with sudo"
        )


def read_list(text: str, where: str) -> list[Person]:
    """The people of a list in CSV: a column ``username``, and if need be ``role``, ``name`` and ``email``.

    Raises:
        ClassroomError: a line says something that cannot be; nobody of the list is taken.
    """
    lines = text.lstrip("\ufeff").splitlines()
    header = lines[0] if lines else ""
    table = csv.reader(lines, delimiter=";" if ";" in header else ",")
    columns = [name.strip().lower() for name in next(table, [])]
    if "username" not in columns:
        raise ClassroomError(
            f"{where}: expected a first line that names a column username, found {header.strip()!r}"
        )
    people: dict[str, Person] = {}
    for row in table:
        if not any(row):
            continue
        number = table.line_num
        clean = dict(zip(columns, map(str.strip, row), strict=False))
        person = Person(
            clean.get("username", ""),
            clean.get("role", "").lower() or "student",
            clean.get("name", ""),
            clean.get("email", ""),
        )
        if not NAME.fullmatch(person.username):
            raise ClassroomError(
                f"{where}, line {number}: {person.username!r} cannot be the name of an account. It must "
                "begin with a small letter, and have at most 31 small letters, digits, - and _"
            )
        if person.role not in ROLES:
            raise ClassroomError(
                f"{where}, line {number}: expected the role {', '.join(ROLES)}, found {person.role!r}"
            )
        if person.username in people:
            raise ClassroomError(f"{where}, line {number}: {person.username} stands there twice")
        people[person.username] = person
    return list(people.values())


def known(settings: Settings) -> dict[str, Person]:
    """Everybody in the class, by name."""
    if not settings.people.exists():
        return {}
    text = settings.people.read_text(encoding="utf-8")
    return {person.username: person for person in read_list(text, str(settings.people))}


def remember(settings: Settings, people: dict[str, Person]) -> None:
    """Write down who is in the class."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(["username", "role", "name", "email"])
    for name in sorted(people):
        person = people[name]
        writer.writerow([person.username, person.role, person.name, person.email])
    aside = settings.people.with_suffix(".new")
    aside.write_text(made.getvalue(), encoding="utf-8")
    aside.chmod(0o600)
    aside.replace(settings.people)


def exists(username: str) -> bool:
    """Whether the machine has an account of this name."""
    try:
        pwd.getpwnam(username)
    except KeyError:
        return False
    return True


def numbers_of(account: str) -> tuple[int, int]:
    """The numbers of an account and of its group."""
    entry = pwd.getpwnam(account)
    return entry.pw_uid, entry.pw_gid


def make_account(username: str, home: Path) -> None:
    """An account without a password of the system: nobody logs in to it but through the hub.

    Raises:
        ClassroomError: the system refused.
    """
    if not exists(username):
        command = ["useradd", "--create-home", "--home-dir", str(home), "--shell", "/bin/bash"]
        done = subprocess.run([*command, username], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClassroomError(f"no account {username} could be made: {done.stderr.strip()}")
    home.chmod(0o700)


def add(settings: Settings, people: list[Person]) -> dict[str, str]:
    """Make accounts for people, and let them in.

    Args:
        settings: of the classroom.
        people: whoever is to be in the class; who is there already gets name, address and role anew.

    Returns:
        passwords of those who are new, by name; none where the platform logs people in.

    Raises:
        ClassroomError: an account of that name belongs to somebody else; then nothing is done.
    """
    before = known(settings)
    for person in people:
        if person.username not in before and exists(person.username):
            raise ClassroomError(
                f"the machine has an account {person.username} that is not of this class. Choose "
                "another name in the list"
            )
    passwords = {}
    for person in people:
        make_account(person.username, Path(settings.homes) / person.username)
        if settings.login == "native" and person.username not in before:
            passwords[person.username] = new_password()
        before[person.username] = replace(before.get(person.username, person), **vars(person))
        remember(settings, before)
        if person.username in passwords:
            from tools.classroom.passwords import set_password

            set_password(settings, person.username, passwords[person.username])
    return passwords


def new_password() -> str:
    """One that can be copied from paper: 12 of 55 letters and digits, about 69 bits."""
    return "".join(secrets.choice(LETTERS) for _ in range(LONG))


def remove(settings: Settings, username: str) -> None:
    """Let somebody in no more; the home and everything handed in stay.

    Raises:
        ClassroomError: there is nobody of that name in the class.
    """
    people = known(settings)
    if username not in people:
        raise ClassroomError(f"there is no {username} in the class. There are: {', '.join(people)}")
    if settings.login == "native":
        from tools.classroom.passwords import forget

        forget(settings, username)
    del people[username]
    remember(settings, people)
