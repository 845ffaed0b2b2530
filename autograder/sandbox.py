"""Walls around a kernel: what it cannot see, reach, start or use up.

Linux only. The zygote starts inside bubblewrap, which shows it the Python environment and the
course's modules, without checks and solutions, and nothing else. Each kernel that it forks enters
namespaces of its own (mounts, processes, network, IPC), gets a private /tmp in memory, gives up
every capability, may start threads but no processes (seccomp), and has limits on memory,
processor time and file sizes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

FULL, NONE = "full", "none"
# what a sandboxed kernel may know of the environment
HARMLESS = ("PATH", "LANG", "LC_ALL", "TZ", "OMP_NUM_THREADS", "NBGRADER_EXECUTION")


class SandboxError(Exception):
    """The sandbox cannot be built here; the message says why and what to do."""


@dataclass(frozen=True)
class Limits:
    """What one notebook may use.

    Attributes:
        memory: bytes that it may allocate beyond what the imports take.
        cpu: seconds of processor time.
        file: bytes in one file.
        disk: bytes in its private /tmp and working folder together.
        files: open files.
        output: bytes that it may print and show; the rest is left out.
    """

    memory: int = 2 << 30
    cpu: int = 120
    file: int = 64 << 20
    disk: int = 128 << 20
    files: int = 256
    output: int = 8 << 20


# ------------------------------------------------------------------- around the zygote, by bubblewrap


def command(runs: Path) -> list[str]:
    """The beginning of a command line that starts a program inside bubblewrap.

    Args:
        runs: folder in which kernels find their connection files and make their sockets.

    Raises:
        SandboxError: bubblewrap is not there, or may not do its work.
    """
    problem = missing()
    if problem:
        raise SandboxError(problem)
    visible = visible_paths()
    arguments = [
        "bwrap", "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-add", "CAP_SYS_ADMIN",
        "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--hostname", "grading",
        "--die-with-parent", "--new-session", "--dev", "/dev", "--proc", "/proc",
        "--tmpfs", "/tmp", "--dir", "/box", "--dir", "/stash",
    ]  # fmt: skip
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        path = Path(name)
        if path.is_symlink():
            arguments += ["--symlink", os.readlink(path), name]
        elif path.exists():
            visible.add(path)
    for name in ("ld.so.cache", "alternatives", "fonts", "localtime", "ssl/certs"):
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for path in sorted(visible):
        arguments += ["--ro-bind", str(path), str(path)]
    hidden = str(Path(__file__).resolve().parent / "checks")
    arguments += ["--tmpfs", hidden, "--bind", str(runs), str(runs)]
    for place in (hidden, "/dev", "/"):  # else one kernel could leave something there for the next
        arguments += ["--remount-ro", place]
    return [*arguments, "--chdir", "/tmp", "--"]


def visible_paths() -> set[Path]:
    """What a kernel may read: programs, the Python environment, the course's two packages."""
    package = Path(__file__).resolve().parent
    return {
        Path("/usr"),
        Path(sys.prefix),
        Path(sys.base_prefix),
        package,
        package.parent / "course_utils",
    }


@cache
def missing() -> str:
    """Why there can be no sandbox on this machine, and what to do; empty if there can."""
    without = (
        " Or grade without a sandbox, on a machine where nothing can be lost: --isolation none."
    )
    if sys.platform != "linux":
        return "the sandbox needs Linux; this is " + platform.system() + "." + without
    if _syscalls() is None:
        return f"the sandbox does not know the processor {platform.machine()}." + without
    if shutil.which("bwrap") is None:
        return (
            "the sandbox needs bubblewrap, and there is no program `bwrap`. Install it: "
            "`apt install bubblewrap` (Debian, Ubuntu), `dnf install bubblewrap` (Fedora)."
            + without
        )
    trial = ["bwrap", "--unshare-all", "--uid", "1000", "--cap-add", "CAP_SYS_ADMIN"]
    trial += ["--ro-bind", "/", "/", "--proc", "/proc", "true"]
    tried = subprocess.run(trial, capture_output=True, text=True, check=False)
    if tried.returncode:
        return (
            f"bubblewrap may not make namespaces here: {tried.stderr.strip()}. Ask the machine's "
            "administrator to allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
            "kernel.apparmor_restrict_unprivileged_userns=0)." + without
        )
    return ""


# -------------------------------------------------------------------- around each kernel, by itself


def enter(request: dict[str, Any] | None) -> None:
    """Close the doors around the calling process, a fresh fork that has one thread.

    Returns in a process that is the first of its own namespace; the caller's own process stays
    outside as its guard, passes signals on, and ends as it ends.

    Args:
        request: ``run``, the kernel's own folder below ``runs``; ``cwd``, where its files are
            wanted; ``limits``, a `Limits` as a dict. None leaves all doors open.
    """
    if request is None:
        return
    limits = Limits(**request["limits"])
    run, cwd = Path(request["run"]), Path(request["cwd"])
    _unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC)
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    _mount(str(run), "/box", None, MS_BIND)
    _mount("/tmp", "/stash", None, MS_BIND | MS_REC)
    _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, f"size={limits.disk},mode=777")
    for path in visible_paths():  # a course, or its Python, may stand below /tmp itself
        if path.is_relative_to("/tmp"):
            path.mkdir(parents=True, exist_ok=True)
            stashed = Path("/stash") / path.relative_to("/tmp")
            _mount(str(stashed), str(path), None, MS_BIND | MS_REC)
    _call("umount2", b"/stash", MNT_DETACH)
    for folder in (run, cwd, Path("/tmp/home")):
        folder.mkdir(parents=True, exist_ok=True)
    _mount("/box", str(run), None, MS_BIND)
    shutil.copytree(run / "files", cwd, dirs_exist_ok=True)
    child = os.fork()
    if child:
        _guard(child, run)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    _hide_other_processes()
    os.environ.update(HOME="/tmp/home", TMPDIR="/tmp", IPYTHONDIR="/tmp/home/.ipython")
    os.environ.update(MPLCONFIGDIR="/tmp/home/matplotlib", XDG_CACHE_HOME="/tmp/home/.cache")
    _set_limits(limits)
    _drop_capabilities()
    _forbid_processes()


def _hide_other_processes() -> None:
    """Leave of /proc what concerns the calling process itself, and two files about the machine.

    A proc of the new namespace would show as little, but Linux refuses to mount one where some of
    the outer one is covered, as it is in containers.
    """
    myself = Path("/proc") / os.readlink("/proc/self")
    _mount("tmpfs", "/box", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=16k,mode=755")
    Path("/box/self").mkdir()
    _mount(str(myself), "/box/self", None, MS_BIND)
    for name in ("cpuinfo", "meminfo"):
        Path("/box", name).touch()
        _mount(f"/proc/{name}", f"/box/{name}", None, MS_BIND)
    _mount("/box", "/proc", None, MS_BIND | MS_REC)


def _guard(child: int, run: Path) -> None:
    """Watch over the kernel from outside its process namespace; never returns."""
    signal.signal(signal.SIGINT, lambda *_: os.kill(child, signal.SIGINT))
    sockets = 5
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if sum(path.is_socket() for path in run.iterdir()) >= sockets:
            # all that had to be written there is there
            same = MS_NOSUID | MS_NODEV  # as bubblewrap has it; they may not be taken back
            _mount("none", str(run), None, MS_REMOUNT | MS_BIND | MS_RDONLY | same)
            break
        if os.waitpid(child, os.WNOHANG)[0]:
            os._exit(1)
        time.sleep(0.001)
    while True:
        try:
            _, status = os.waitpid(child, 0)
        except InterruptedError:
            continue
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            signal.signal(-code, signal.SIG_DFL) if -code not in (9, 19) else None
            os.kill(os.getpid(), -code)
        os._exit(code if code >= 0 else 128 - code)


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


# ------------------------------------------------------------------------------- Linux, by ctypes

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x8000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 1, 38, 22
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, SECCOMP_MODE_FILTER = 47, 4, 2
LINUX_CAPABILITY_VERSION_3 = 0x20080522


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> None:
    if getattr(_libc(), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _unshare(flags: int) -> None:
    _call("unshare", flags)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    _call(
        "mount", source.encode(), target.encode(), kind.encode() if kind else None,
        ctypes.c_ulong(flags), options.encode(),
    )  # fmt: skip


def _prctl(option: int, *values: int) -> None:
    _call("prctl", option, *(ctypes.c_ulong(value) for value in [*values, 0, 0, 0, 0][:4]))


def _drop_capabilities() -> None:
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)())
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def _syscalls() -> dict[str, int] | None:
    """Numbers of the system calls that are refused, and the architecture's own number."""
    return {
        "x86_64": {
            "arch": 0xC000003E, "clone": 56, "clone3": 435, "fork": 57, "vfork": 58, "execve": 59,
            "execveat": 322, "ptrace": 101, "mount": 165, "unshare": 272, "setns": 308, "bpf": 321,
            "userfaultfd": 323, "io_uring_setup": 425, "keyctl": 250, "add_key": 248,
            "kexec_load": 246, "process_vm_writev": 311, "perf_event_open": 298,
            "memfd_create": 319, "prctl": 157,
        },
        "aarch64": {
            "arch": 0xC00000B7, "clone": 220, "clone3": 435, "execve": 221, "execveat": 281,
            "ptrace": 117, "mount": 40, "unshare": 97, "setns": 268, "bpf": 280, "userfaultfd": 282,
            "io_uring_setup": 425, "keyctl": 219, "add_key": 217, "kexec_load": 104,
            "process_vm_writev": 271, "perf_event_open": 241, "memfd_create": 279, "prctl": 167,
        },
    }.get(platform.machine())  # fmt: skip


def _forbid_processes() -> None:
    """Install a seccomp filter: threads may start, processes and programs may not."""
    numbers = dict(_syscalls() or {})
    architecture, clone, clone3, prctl = (
        numbers.pop(name) for name in ("arch", "clone", "clone3", "prctl")
    )
    load, jump_equal, jump_bits, give = 0x20, 0x15, 0x45, 0x06  # BPF: ld abs, jeq, jset, ret
    allow, kill, clone_thread = 0x7FFF0000, 0x80000000, 0x10000
    refuse = 0x00050000 | errno.EPERM
    steps = [
        (load, 0, 0, 4), (jump_equal, 1, 0, architecture), (give, 0, 0, kill),
        (load, 0, 0, 0),
        # libc falls back to clone, whose flags a filter can read
        (jump_equal, 0, 1, clone3), (give, 0, 0, 0x00050000 | errno.ENOSYS),
    ]  # fmt: skip
    if platform.machine() == "x86_64":
        steps += [(0x35, 0, 1, 0x40000000), (give, 0, 0, kill)]  # the x32 numbers
    for number in sorted(numbers.values()):
        steps += [(jump_equal, 0, 1, number), (give, 0, 0, refuse)]
    steps += [
        # nobody may outlive its guard
        (jump_equal, 0, 4, prctl), (load, 0, 0, 16), (jump_equal, 0, 1, PR_SET_PDEATHSIG),
        (give, 0, 0, refuse), (give, 0, 0, allow),
        (jump_equal, 0, 3, clone), (load, 0, 0, 16), (jump_bits, 1, 0, clone_thread),
        (give, 0, 0, refuse), (give, 0, 0, allow),
    ]  # fmt: skip
    program = b"".join(struct.pack("HBBI", *step) for step in steps)
    code = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    holder = ctypes.create_string_buffer(header)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(holder))


def request(limits: Limits, run: Path, cwd: Path) -> dict[str, Any]:
    """What `enter` needs to know, as JSON can carry it."""
    return {"limits": asdict(limits), "run": str(run), "cwd": str(cwd)}
