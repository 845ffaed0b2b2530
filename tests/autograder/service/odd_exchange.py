"""Folders that nobody's program would put into the exchange, and honest ones beside them."""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Callable
from pathlib import Path

import nbformat

from autograder.service.inbox import SECRET, utc
from tests.sample_class import ASSIGNMENT, submission

NOTEBOOK = f"{ASSIGNMENT}.ipynb"
GIBIBYTE = 1 << 30


def stamp() -> str:
    return f"{utc(time.time()):%Y-%m-%d %H:%M:%S.%f} UTC"


def put(inbound: Path, student: str, text: str = "{}", name: str = "") -> Path:
    """A hand-in as nbgrader makes it."""
    folder = inbound / (name or f"{student}+{ASSIGNMENT}+{stamp()}+letters")
    folder.mkdir()
    (folder / NOTEBOOK).write_text(text, encoding="utf-8")
    (folder / SECRET).write_text(f"secret of {student}", encoding="utf-8")
    (folder / "timestamp.txt").write_text(stamp(), encoding="ascii")
    folder.chmod(0o777)
    return folder


def put_honest(inbound: Path, count: int) -> list[str]:
    """Right answers of so many students; their names."""
    text = nbformat.writes(submission("right_loops"))
    students = [f"honest{number:02}" for number in range(count)]
    for student in students:
        put(inbound, student, text)
    return students


def instead(path: Path) -> Path:
    """A name in a hand-in that is free by now."""
    path.unlink(missing_ok=True)
    return path


def sparse(path: Path, size: int) -> None:
    with instead(path).open("wb") as file:
        file.truncate(size)


def deep(folder: Path, depth: int) -> None:
    for _ in range(depth):
        folder = folder / "d"
        folder.mkdir()
    (folder / "bottom.txt").write_text("x", encoding="ascii")


def wide(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"folder{number}").mkdir()


def listen(path: Path) -> None:
    """A socket; its address may be no longer than a hundred letters, so it is made from inside."""
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


def raw(folder: Path, name: bytes) -> bytes:
    return os.fsencode(folder) + b"/" + name


# what a student does to a hand-in
CHANGES: dict[str, Callable[[Path], object]] = {
    "timestamp is a folder": lambda f: instead(f / "timestamp.txt").mkdir(),
    "timestamp is a link": lambda f: instead(f / "timestamp.txt").symlink_to("/etc/passwd"),
    "timestamp is a pipe": lambda f: os.mkfifo(instead(f / "timestamp.txt")),
    "timestamp is a full folder": lambda f: deep(made(instead(f / "timestamp.txt")), 3),
    "secret is a folder": lambda f: instead(f / SECRET).mkdir(),
    "secret is a link": lambda f: instead(f / SECRET).symlink_to("/dev/zero"),
    "secret is large": lambda f: sparse(f / SECRET, GIBIBYTE),
    "secret is no text": lambda f: (f / SECRET).write_bytes(b"\xff\xfe\x00"),
    "no secret": lambda f: (f / SECRET).unlink(),
    "notebook is a folder": lambda f: instead(f / NOTEBOOK).mkdir(),
    "notebook is a link": lambda f: instead(f / NOTEBOOK).symlink_to("/etc/shadow"),
    "notebook is a pipe": lambda f: os.mkfifo(instead(f / NOTEBOOK)),
    "notebook is a socket": lambda f: listen(instead(f / NOTEBOOK)),
    "notebook of 2 GiB of nothing": lambda f: sparse(f / NOTEBOOK, 2 * GIBIBYTE),
    "notebook of 40 MiB of nothing": lambda f: sparse(f / NOTEBOOK, 40 << 20),
    "notebook of 4 TiB of nothing": lambda f: sparse(f / NOTEBOOK, 4096 * GIBIBYTE),
    "file of 2 GiB of nothing": lambda f: sparse(f / "data.bin", 2 * GIBIBYTE),
    "files of 15 MiB of nothing": lambda f: [sparse(f / f"{n}.bin", 15 << 20) for n in range(20)],
    "empty notebook": lambda f: (f / NOTEBOOK).write_bytes(b""),
    "no notebook": lambda f: (f / NOTEBOOK).unlink(),
    "nothing": lambda f: [path.unlink() for path in f.iterdir()],
    "2000 files": lambda f: [(f / f"{n}.txt").touch() for n in range(2000)],
    "2000 folders": lambda f: wide(f, 2000),
    "folders in folders": lambda f: [wide(made(f / f"w{n}"), 60) for n in range(60)],
    "100 folders deep": lambda f: deep(f, 100),
    "links in a circle": lambda f: (f / "round").symlink_to("."),
    "a name that is not UTF-8": lambda f: Path(os.fsdecode(raw(f, b"x\xff.txt"))).touch(),
    "a folder that is not UTF-8": lambda f: os.mkdir(raw(f, b"\xff\xfe")),
    "a notebook that is not UTF-8": lambda f: Path(os.fsdecode(raw(f, b"\xff.ipynb"))).touch(),
    "a long name": lambda f: (f / ("n" * 255)).touch(),
    "a name with a line end": lambda f: (f / "a\nb\x1b[2J").touch(),
    "20 notebooks": lambda f: [(f / f"more{n}.ipynb").touch() for n in range(20)],
    "closed": lambda f: f.chmod(0),
    "closed inside": lambda f: (f / NOTEBOOK).chmod(0),
    "of 1901": lambda f: os.utime(f / NOTEBOOK, (-2_177_452_800, -2_177_452_800)),
    "of 2400": lambda f: os.utime(f / NOTEBOOK, (13_569_465_600, 13_569_465_600)),
    "special bits": lambda f: f.chmod(0o7777),
    "hard links": lambda f: [os.link(f / NOTEBOOK, f / f"again{n}") for n in range(50)],
}  # fmt: skip


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


# names of folders; {time} and {assignment} are what they should be
NAMES = (
    b"x\xff", b"\xff+{assignment}+{time}+x", b"odd\xc3+{assignment}+{time}+x", b"+++", b"-rf", b"~", b"\n",
    b"odd\n+{assignment}+{time}+x", b"..+{assignment}+{time}+x", b".+{assignment}+{time}+x",
    b"+{assignment}+{time}+x", b"odd+a99_nothing+{time}+x", b"odd+..+{time}+x", b"odd++{time}+x",
    b"odd+{assignment}+never+x", b"odd+{assignment}+9999-12-31 23:59:59.999999 UTC+x",
    b"odd+{assignment}+0001-01-01 00:00:00 UTC+x", b"odd+{assignment}+{time}",
    b"odd+{assignment}+1e999+x", b"odd+{assignment}+{time}+\xff\xff", b"o+d+d+{assignment}+{time}+x",
    b"odd+{assignment}+2026-01-01 00:00:00 +99:99+x", b"\xe2\x80\xaeddo+{assignment}+{time}+x",
    b"o" * 150 + b"+{assignment}+{time}+x", b"$(id)+{assignment}+{time}+x", b"*+{assignment}+{time}+x",
    b"CON+{assignment}+{time}+x", b"odd+{assignment}+12:00+x", b"odd\x7f+{assignment}+{time}+x", b"a" * 255,
)  # fmt: skip


def put_odd(inbound: Path, number: int, drawn: random.Random) -> None:
    """One odd thing: a name, a kind of file, or a change of a hand-in; several changes now and then."""
    what = drawn.random()
    if what < 0.3:
        name = drawn.choice(NAMES).replace(b"{assignment}", ASSIGNMENT.encode())
        name = name.replace(b"{time}", stamp().encode())[:255]
        path = Path(os.fsdecode(raw(inbound, name)))
        if not os.path.lexists(path):
            kind = drawn.randrange(3)
            if kind:
                put(inbound, "odd", name=path.name)
            else:
                path.touch()
        return
    name = f"odd{number}+{ASSIGNMENT}+{stamp()}+letters"
    if what < 0.4:
        path = inbound / name
        make = (
            Path.touch,
            os.mkfifo,
            listen,
            lambda p: p.symlink_to(inbound),
            lambda p: p.symlink_to("x"),
        )
        drawn.choice(make)(path)  # type: ignore[operator]
        return
    folder = put(inbound, f"odd{number}", name=name)
    for change in drawn.sample(list(CHANGES.values()), drawn.choice((1, 1, 1, 2, 3))):
        try:
            change(folder)
        except OSError:
            continue  # two that cannot be together
    mode = drawn.choice((0o777, 0o777, 0o700, 0o755, 0o000, 0o2777))
    folder.chmod(mode)
    if mode != 0o777:  # left alone for long
        folder.chmod(0o777)
