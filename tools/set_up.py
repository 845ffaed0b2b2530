"""Make .venv hold what requirements.lock and sandbox.lock say, and the course itself; do nothing when it already does.

An environment that works is changed in place, and pip fetches everything before it changes anything:
where the package index cannot be reached, what is installed stays, and the course starts with it.
It is made anew where it was made in another folder, since its programs name that folder, or with
another Python than the one that is asked for. A .venv that is a link belongs to somebody else and is
taken as it is.

    python tools/set_up.py [--for-all] [--asked]

    --for-all   every account of the machine must be able to run the Python, as in a classroom
    --asked     this Python was asked for, so no other one will do

Uses the standard library alone, and only syntax that an old Python can still read, so that it can
say in words what is missing instead of failing with a traceback.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / "set_up_for"
OLDEST = (3, 11)
NEEDED_GIB = 4
# what is installed; pip is told of digests by all lines of a file or by none
LOCKS = {"requirements.lock": [], "sandbox.lock": ["--require-hashes", "--no-deps"]}

NETWORK_SIGNS = (
    "NewConnectionError",
    "NameResolutionError",
    "Name or service not known",
    "Temporary failure in name resolution",
    "Network is unreachable",
    "Connection refused",
    "Failed to establish a new connection",
    "Read timed out",
    "ConnectTimeoutError",
    "No matching distribution found",
)


def stop(message):
    """Print what was expected, what was found and what to do, and end with status 1."""
    print("\nset-up stopped: " + message, file=sys.stderr)
    sys.exit(1)


def starts(python, code="pass"):
    """Whether an interpreter runs, and this code in it; pyenv leaves some on PATH that do not run."""
    try:
        done = subprocess.run([str(python), "-c", code], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def use_new_enough_python():
    """Start again under a newer interpreter if this one is too old, or say that there is none."""
    if sys.version_info[:2] >= OLDEST:
        return
    if "--asked" in sys.argv:
        stop(
            "the course needs Python {}.{} or newer, and {} is {}.{}. Name another one.".format(
                *OLDEST, sys.executable, *sys.version_info[:2]
            )
        )
    for minor in range(20, OLDEST[1] - 1, -1):
        newer = shutil.which(f"python3.{minor}")
        if newer and starts(newer):
            os.execv(newer, [newer, *sys.argv])
    stop(
        "the course needs Python {}.{} or newer; python3 here is {}.{}. Install a newer Python, or "
        "name one: make PYTHON=/path/to/python3.12 lab".format(*OLDEST, *sys.version_info[:2])
    )


def fingerprint():
    """Digest of all that decides what the environment holds."""
    digest = hashlib.sha256()
    for name in (*LOCKS, "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    digest.update(repr((sys.version_info[:3], str(ROOT))).encode())
    return digest.hexdigest()


def environment_python():
    """Path of the interpreter inside the environment."""
    windows = ENVIRONMENT / "Scripts" / "python.exe"
    return windows if os.name == "nt" else ENVIRONMENT / "bin" / "python"


def made_of():
    """What the environment says of itself, such as the ``executable`` that made it and the ``command``."""
    try:
        lines = (ENVIRONMENT / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}


def why_anew():
    """Why the environment that is there will not do, whatever is installed in it; empty if it will."""
    made = made_of()
    place = re.search(r" -m venv .*?((?:/|[A-Za-z]:\\).*)$", made.get("command", ""))
    if place and Path(place[1]).resolve() != ENVIRONMENT.resolve():
        return f"it was made in another folder ({place[1]}), which its programs name"
    asked, made_with = os.path.realpath(sys.executable), made.get("executable", "")
    if "--asked" in sys.argv and made_with and made_with != asked:
        return f"it was made with {made_with}, and {asked} is asked for"
    return ""


def closed_to_others(python):
    """What on the way to a program keeps other accounts from running it; None if nothing does."""
    path = Path(os.path.realpath(str(python)))
    way = [*reversed(path.parents), path]
    return next((place for place in way if not place.stat().st_mode & 0o001), None)


def refuse_a_python_of_ones_own(python):
    """Stop before anything is installed for a classroom with a Python that nobody else can run."""
    closed = closed_to_others(python)
    if closed:
        stop(
            f"in a classroom every account runs {os.path.realpath(str(python))}, and {closed} is closed to "
            "them. Use the system's own Python:\n"
            "  sudo apt-get install python3-venv\n"
            "  sudo make PYTHON=/usr/bin/python3 classroom"
        )


def attempt(arguments, doing):
    """Run a command and show how far it is; None when it worked, else all that it printed."""
    seen, packages = [], 0
    print("  " + doing, end="", flush=True)
    with subprocess.Popen(
        [str(argument) for argument in arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout:
            seen.append(line)
            if line.startswith("Collecting "):
                packages += 1
                if sys.stdout.isatty():
                    print(f"\r  {doing}: {packages} packages so far", end="", flush=True)
            if line.startswith("Installing collected packages"):
                STAMP.unlink(missing_ok=True)  # from here on it is neither the old nor the new
    print(flush=True)
    return None if process.returncode == 0 else "".join(seen)


def run(arguments, doing):
    """Run a command, and explain the failures that people meet."""
    text = attempt(arguments, doing)
    if text is None:
        return
    if out_of_reach(text) and STAMP.exists():
        print(
            "The course asks for packages that are not here yet, and the package index cannot be "
            "reached, or does not have them. Going on with those that are installed; the next "
            "start with a network fetches the rest."
        )
        sys.exit(0)
    print("".join(text.splitlines(keepends=True)[-15:]), file=sys.stderr)
    if "No space left on device" in text or "Disk quota exceeded" in text:
        stop(
            f"the disk filled up while {doing}. Free about {NEEDED_GIB} GiB and run the same command again."
        )
    if "ensurepip is not available" in text:
        stop(
            "this Python cannot make virtual environments. On Debian or Ubuntu: "
            "apt-get install python3-venv"
        )
    if out_of_reach(text):
        stop(
            f"the package index could not be reached, or lacks a package for this Python, while {doing}. "
            "Look at the lines above; check the network (and the proxy settings of pip) and run the "
            "same command again: what was fetched is not fetched twice."
        )
    stop(f"{doing} failed; the lines above say why. Mend that and run the same command again.")


def out_of_reach(text):
    """Whether pip's words say that it could not get at a package."""
    return any(sign in text for sign in NETWORK_SIGNS)


def make_environment():
    """An empty environment, in place of one that does not work."""
    free = shutil.disk_usage(str(ROOT)).free / 2**30
    if free < NEEDED_GIB:
        stop(
            f"the environment needs about {NEEDED_GIB} GiB of disk; {free:.1f} GiB are free in {ROOT}."
        )
    print("Setting up the course in .venv (a few minutes; only when something changed)", flush=True)
    STAMP.unlink(missing_ok=True)
    run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], "making the virtual environment")


def main():
    use_new_enough_python()
    wanted = fingerprint()
    if ENVIRONMENT.is_symlink():
        return
    unfit = why_anew()
    there = STAMP.exists() and environment_python().exists() and not unfit
    if "--for-all" in sys.argv:
        refuse_a_python_of_ones_own(environment_python() if there else sys.executable)
    if there and STAMP.read_text().strip() == wanted:
        return
    if unfit:
        print(f"Making .venv anew: {unfit}", flush=True)
    pip = [environment_python(), "-m", "pip", "install", "--disable-pip-version-check"]
    if there and starts(environment_python(), "import pip"):
        print("Bringing .venv up to date, because the course's packages changed", flush=True)
        pip += ["--retries", "1"]  # what is here will do: no reason to wait for a network
    else:
        make_environment()
    for name, how in LOCKS.items():
        run([*pip, *how, "-r", ROOT / name], "installing the packages of " + name)
    own = [*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT]
    run(own, "installing the course's own packages")
    STAMP.write_text(wanted + "\n")
    print("Set up.", flush=True)


if __name__ == "__main__":
    main()
