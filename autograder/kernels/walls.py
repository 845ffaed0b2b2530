"""What a kernel puts around itself, just after the fork and before any code of a submission runs.

It enters namespaces of its own (mounts, processes, network, IPC), gets a private /tmp in memory,
gives up every capability, may start threads but no processes (seccomp), and has limits on memory,
processor time and file sizes.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
from functools import cache
from pathlib import Path

import pyseccomp

from autograder.kernels.limits import Limits
from autograder.kernels.namespaces import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_THREAD,
    MNT_DETACH,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    PR_SET_PDEATHSIG,
    call,
    drop_capabilities,
    end_on,
    mount,
    prctl,
)
from autograder.kernels.sandbox import visible_paths
from autograder.kernels.start import Walls

HOME = Path("/tmp/home")


def enter(walls: Walls) -> None:
    """Close the doors around the calling process, a fresh fork that has one thread.

    It is the first process of its own namespace, as `namespaces.fork_as_first` makes it.
    """
    limits, cwd = walls.limits, Path(walls.cwd)
    call("unshare", CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    below = [path for path in visible_paths(walls.modules) if path.is_relative_to("/tmp")]
    if below:
        mount("/tmp", "/stash", None, MS_BIND | MS_REC)
    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, f"size={limits.disk},mode=777")
    for path in below:  # a course, or its Python, may stand below /tmp itself
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
    _hide_other_processes()
    os.environ.update(HOME=str(HOME), TMPDIR="/tmp", IPYTHONDIR=f"{HOME}/.ipython")
    os.environ.update(MPLCONFIGDIR=f"{HOME}/matplotlib", XDG_CACHE_HOME=f"{HOME}/.cache")
    _set_limits(limits)
    end_on(signal.SIGXCPU)
    drop_capabilities()
    system_calls().load()  # which also sets that no program gains privileges


def _hide_other_processes() -> None:
    """Leave of /proc what concerns the calling process itself, and two files about the machine.

    A proc of the new namespace would show as little, but Linux refuses to mount one where some of
    the outer one is covered, as it is in containers.
    """
    myself = Path("/proc") / os.readlink("/proc/self")
    mount("tmpfs", "/box", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=16k,mode=755")
    Path("/box/self").mkdir()
    mount(str(myself), "/box/self", None, MS_BIND)
    for name in ("cpuinfo", "meminfo"):
        Path("/box", name).touch()
        mount(f"/proc/{name}", f"/box/{name}", None, MS_BIND)
    mount("/box", "/proc", None, MS_BIND | MS_REC)


def _set_limits(limits: Limits) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    now = pages * resource.getpagesize()
    for kind, most in {
        resource.RLIMIT_AS: now + limits.memory,
        resource.RLIMIT_CPU: limits.cpu,
        resource.RLIMIT_FSIZE: limits.file,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_CORE: 0,
    }.items():
        resource.setrlimit(kind, (most, most))


# ------------------------------------------------------------------------------ system calls

REFUSED = (
    # other programs, other processes, other namespaces
    "fork", "vfork", "execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev",
    "mount", "unshare", "setns", "kexec_load",
    # ways round the limits, and parts of the kernel that no notebook needs
    "memfd_create", "bpf", "userfaultfd", "io_uring_setup", "keyctl", "add_key", "request_key",
    "perf_event_open",
    # memory that belongs to no process, and so counts for none
    "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop",
    "mq_open",
)  # fmt: skip


@cache
def system_calls() -> pyseccomp.SyscallFilter:
    """A filter, made before the fork and loaded after it: threads may start, processes may not."""
    refuse = pyseccomp.ERRNO(errno.EPERM)
    calls = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in REFUSED:
        if pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) >= 0:  # else unknown here
            calls.add_rule(refuse, name)
    # libc falls back to clone, whose flags a filter can read
    calls.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    no_thread = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_THREAD, 0)
    calls.add_rule(refuse, "clone", no_thread)
    # nobody may outlive its guard
    calls.add_rule(refuse, "prctl", pyseccomp.Arg(0, pyseccomp.EQ, PR_SET_PDEATHSIG))
    return calls
