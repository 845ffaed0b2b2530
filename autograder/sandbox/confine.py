"""What a kernel puts around itself, just after the fork and before any code of a submission runs.

It enters namespaces of its own (mounts, processes, network, IPC), gets a private /tmp in memory,
gives up every capability, may start threads but no processes (seccomp), and has limits on memory,
processor time and files.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from autograder.sandbox.bubblewrap import DEVICES, visible_paths
from autograder.sandbox.limits import Limits, keep_to
from autograder.sandbox.namespaces import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    MNT_DETACH,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    PR_SET_PDEATHSIG,
    call,
    drop_capabilities,
    end_on,
    mount,
    prctl,
)
from autograder.sandbox.seccomp import system_calls

HOME = Path("/tmp/home")


def enter(limits: Limits, cwd: Path, modules: Sequence[str]) -> None:
    """Close everything around the calling process, a fresh fork that has one thread.

    It is the first process of its own namespace, as `namespaces.fork_as_first` makes it.
    """
    call("unshare", CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    below = _below_tmp(tuple(modules))
    if below:
        mount("/tmp", "/stash", None, MS_BIND | MS_REC)
    mount(
        "tmpfs",
        "/tmp",
        "tmpfs",
        MS_NOSUID | MS_NODEV | MS_NOEXEC,  # nothing that a notebook brings along is run by address
        f"size={limits.disk},nr_inodes={limits.entries},mode=777",
    )
    for path in below:
        stashed = Path("/stash") / path.relative_to("/tmp")
        (path if stashed.is_dir() else path.parent).mkdir(parents=True, exist_ok=True)
        if not stashed.is_dir():
            path.touch()
        mount(str(stashed), str(path), None, MS_BIND | MS_REC)
    if below:
        call("umount2", b"/stash", MNT_DETACH)
    for folder in (cwd, HOME):
        folder.mkdir(parents=True, exist_ok=True)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for device in DEVICES:
        _make_read_only(device)
    _hide_other_processes()
    os.environ.update(HOME=str(HOME), TMPDIR="/tmp", IPYTHONDIR=f"{HOME}/.ipython")
    os.environ.update(MPLCONFIGDIR=f"{HOME}/matplotlib", XDG_CACHE_HOME=f"{HOME}/.cache")
    keep_to(limits)
    end_on(signal.SIGXCPU)
    drop_capabilities()
    system_calls().load()  # which also sets that no program gains privileges


def prepare(modules: Sequence[str]) -> None:
    """Before the fork: make once what each fork needs."""
    system_calls()
    _about_the_machine()
    _below_tmp(tuple(modules))


@cache
def _below_tmp(modules: tuple[str, ...]) -> list[Path]:
    """What a kernel may read that stands below /tmp itself, and so has to be mounted there again."""
    return [path for path in visible_paths(modules) if path.is_relative_to("/tmp")]


@cache
def _about_the_machine() -> dict[str, bytes]:
    """Files of /proc about the machine, as they are now: later ones would tell what others do."""
    return {name: Path("/proc", name).read_bytes() for name in ("cpuinfo", "meminfo")}


# what libraries read of their own process; the rest also tells of others, who map the same files
OF_ITSELF = (
    "cmdline", "comm", "environ", "fd", "limits", "maps", "mounts", "stat", "statm", "status",
)  # fmt: skip


def _hide_other_processes() -> None:
    """Leave of /proc some of what concerns the calling process itself, and two files about the machine.

    A proc of the new namespace would show too much, and Linux refuses to mount one where some of
    the outer one is covered, as it is in containers.
    """
    myself = Path("/proc") / os.readlink("/proc/self")
    mount("tmpfs", "/box", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=1m,mode=755")
    Path("/box/self").mkdir()
    for name in OF_ITSELF:
        place = Path("/box/self", name)
        place.mkdir() if name == "fd" else place.touch()
        mount(str(myself / name), str(place), None, MS_BIND)
    Path("/box/self/exe").symlink_to(os.readlink(myself / "exe"))
    for name, content in _about_the_machine().items():
        Path("/box", name).write_bytes(content)
    _make_read_only("/box")
    mount("/box", "/proc", None, MS_BIND | MS_REC)


def _make_read_only(place: str) -> None:
    """Let nobody change what stands there, its times and owner included; a device still works."""
    flags = os.statvfs(place).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("none", place, None, MS_BIND | MS_REMOUNT | MS_RDONLY | flags)
