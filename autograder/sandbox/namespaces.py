"""System calls of Linux that Python 3.11 does not have, by ctypes."""

from __future__ import annotations

import ctypes
import os
import signal
from functools import cache
from pathlib import Path
from typing import Any

CLONE_THREAD = 0x10000
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x8000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 1, 47, 4
LINUX_CAPABILITY_VERSION_3 = 0x20080522


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    call(
        "mount", source.encode(), target.encode(), kind.encode() if kind else None,
        ctypes.c_ulong(flags), options.encode(),
    )  # fmt: skip


def prctl(option: int, *values: int) -> None:
    call("prctl", option, *(ctypes.c_ulong(value) for value in [*values, 0, 0, 0, 0][:4]))


def call(name: str, *arguments: Any) -> None:
    """Call a function of the C library; OSError if it fails."""
    if getattr(_libc(), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def end_on(number: int) -> None:
    """Let a signal end this process, as it ends others: the first of a namespace would not notice."""
    _libc().signal(number, _libc()._exit)


def drop_capabilities() -> None:
    """Give up all that makes this process more than an ordinary one."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    call("capset", header, (ctypes.c_uint32 * 6)())


def end_with_parent(parent: int) -> None:
    """Let this process be killed when its parent ends, also if that has happened already."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def own_processes() -> None:
    """Return in a child that is the first process of a namespace which this user owns.

    bubblewrap's own belongs to a user namespace further out, and `fork_as_first` could not go back
    to it. The caller waits for the child, and ends as it ends.
    """
    call("unshare", CLONE_NEWPID)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(abs(os.waitstatus_to_exitcode(status)))
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def fork_as_first() -> int:
    """Like `os.fork`, but the child is the first process of a namespace of its own.

    A process cannot enter such a namespace itself, and a second fork costs as much as the first.
    """
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        call("unshare", CLONE_NEWPID)  # for its next children
        pid = os.fork()
        if pid:
            call("setns", own, CLONE_NEWPID)
        return pid
    finally:
        os.close(own)


def threads_of(pid: int) -> Path:
    """The folder in /proc with the threads of a child, which may have another number there."""
    descriptor = os.pidfd_open(pid)
    try:
        about = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
    finally:
        os.close(descriptor)
    number = next(line.split()[1] for line in about.splitlines() if line.startswith("Pid:"))
    return Path("/proc", number, "task")
