"""A machine of its own for a classroom, made of this one: private folders, private accounts, nothing left behind.

A mount namespace has its own ``/etc``, ``/home`` and ``/srv``, in memory. So accounts are made in a copy of the
list of accounts, the classroom lies where it does on a server, and all is gone with the last process in it. The
folder of the tests is hidden in it, so that what students of the classroom can find there is what they could
find on a server.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from tests.sample_class import ROOT
from tools.classroom.settings import Settings

EXTRA = ROOT / "build" / "classroom"
CHECKOUT = Path("/srv/checkout")
HOMES = "/home"
DOMAIN = "class.test"  # the browser of the tests finds it, and every name below it, on this machine
SETTINGS = """
domain = "class.test"
environment = "/srv/environment"
port = {}
ports = {{ hub = {}, proxy = {}, course = {} }}
"""
ALEMBIC = "#!/srv/environment/bin/python\nfrom alembic.config import main\n\nmain()\n"


def missing() -> str:
    """Why no classroom can be had here; empty if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a classroom makes accounts: run the tests as root, on Linux"
    for program in ("unshare", "nsenter", "runuser", "useradd", "setpriv"):
        if not shutil.which(program):
            return f"a classroom needs {program}: on Debian, apt-get install util-linux passwd"
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True,
        check=False,
    )
    if tried.returncode:
        return f"this machine grants no mount namespace: {tried.stderr.decode().strip()}"
    return packages()


def packages() -> str:
    """Have pip put what `classroom.lock` adds to the environment into `EXTRA`; why it could not."""
    lock = ROOT / "classroom.lock"
    stamp = EXTRA / "made_for"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return ""
    shutil.rmtree(EXTRA, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--prefix",
        str(EXTRA),
    ]
    done = subprocess.run([*command, "-r", str(lock)], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"the packages of classroom.lock cannot be had: {done.stderr.strip()[-300:]}"
    stamp.write_text(wanted, encoding="ascii")
    return ""


def free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Machine:
    """The machine, with a classroom that has been laid out, and a hub that can be started and killed."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.hub: subprocess.Popen | None = None
        self.settings = Settings()
        self.port, *others = free_ports(4)
        self.address = f"http://{DOMAIN}:{self.port}"
        self.formgrader = f"http://course--service.{DOMAIN}:{self.port}/services/course/formgrader"
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sleep", "infinity"],
            start_new_session=True,
        )
        own = Path("/proc/self/ns/mnt").readlink()
        while Path(f"/proc/{self._holder.pid}/ns/mnt").readlink() == own:
            time.sleep(0.01)
        python = Path(sys.base_prefix)
        closed = next(
            (str(place) for place in reversed(python.parents) if not place.stat().st_mode & 1), ""
        )
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        packages = f"lib/{version}/site-packages"
        self.sh(
            f"""set -e
            cp -a /etc /tmp/etc.$$ && mount -t tmpfs -o mode=755 tmpfs /srv && mv /tmp/etc.$$ /srv/etc
            mkdir -p /srv/python /srv/environment/base /srv/environment/extra {CHECKOUT}
            mount --bind {python} /srv/python
            mount --bind {sys.prefix} /srv/environment/base
            mount --bind {EXTRA} /srv/environment/extra
            mount --bind /srv/etc /etc
            mount -t tmpfs -o mode=755 tmpfs /home
            chmod 700 {CHECKOUT}
            cd {ROOT} && git ls-files -z --cached --others --exclude-standard | grep -zv '^lectures/.*ipynb' | xargs -0 cp --parents -t {CHECKOUT} 2>/dev/null || true
            cp --parents lectures/0[12]*.ipynb {CHECKOUT}
            cd / && mount -t tmpfs -o mode=700 tmpfs {ROOT}
            if [ -n "{closed}" ]; then  # Python lies where other accounts cannot go
                mount -t tmpfs -o mode=755 tmpfs {closed}
                mkdir -p {python} && mount --bind /srv/python {python}
            fi
            {python}/bin/{version} -m venv --without-pip /srv/environment
            cd /srv/environment && ln -s base/share base/etc .
            for part in base extra; do echo $PWD/$part/{packages} >> {packages}/course.pth; done
            """
        )
        self.write("/srv/environment/bin/alembic", ALEMBIC, "755")
        self.write("/srv/settings.toml", SETTINGS.format(self.port, *others))
        self.tool("prepare")

    # ------------------------------------------------------------------------- commands in it

    def inside(self, *command: str) -> list[str]:
        """A command as it runs in the machine."""
        return ["nsenter", "--target", str(self._holder.pid), "--mount", "--wd=/", *command]

    def sh(
        self, script: str, user: str = "", check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a script of the shell, as root or as another account."""
        who = ["runuser", "-u", user, "--"] if user else []
        done = subprocess.run(
            self.inside(*who, "bash", "-c", script), capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done

    def write(self, path: str, text: str, mode: str = "644") -> None:
        subprocess.run(
            self.inside("bash", "-c", f"cat > '{path}' && chmod {mode} '{path}'"),
            input=text, text=True, check=True,
        )  # fmt: skip

    def path(self, path: str) -> Path:
        """A path of the machine, as it is seen from outside."""
        return Path(f"/proc/{self._holder.pid}/root{path}")

    def tool(self, *arguments: str) -> str:
        """`python -m tools.classroom`, started as an administrator does."""
        settings = ["--settings", "/srv/settings.toml"]
        done = subprocess.run(
            self.inside("env", "-C", str(CHECKOUT), *self._environment(), "/srv/environment/bin/python",
                        "-m", "tools.classroom", *settings, *arguments),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _environment(self) -> list[str]:
        return ["-u", "VIRTUAL_ENV", f"PYTHONPATH={CHECKOUT}", "PYTHONDONTWRITEBYTECODE=1"]

    # ------------------------------------------------------------------------- the hub

    def start(self) -> None:
        """Start the hub, and wait until it answers."""
        with self.log.open("a") as log:
            self.hub = subprocess.Popen(
                self.inside("env", "-C", str(CHECKOUT), *self._environment(), "/srv/environment/bin/python",
                            "-m", "tools.classroom", "--settings", "/srv/settings.toml", "run"),
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + 120
        health = urllib.request.Request(f"http://127.0.0.1:{self.port}/hub/health")
        health.add_header("Host", f"{DOMAIN}:{self.port}")  # by which the proxy finds the hub
        while True:
            try:
                with urllib.request.urlopen(health, timeout=5):
                    return
            except OSError:
                said = self.log.read_text(errors="replace")[-3000:]
                assert self.hub.poll() is None, f"the hub ended: {said}"
                assert time.monotonic() < deadline, f"the hub did not answer: {said}"
                time.sleep(0.5)

    def server(self, name: str) -> str:
        """Where a browser finds somebody's own server."""
        return f"http://{name}.{DOMAIN}:{self.port}/user/{name}"

    def kill_hub(self) -> None:
        """What kill -9 does to the hub; nobody else is told."""
        assert self.hub
        self.hub.kill()
        self.hub.wait()

    def processes(self) -> dict[int, str]:
        """Command lines of all processes in the machine, but the one that holds it."""
        own = Path(f"/proc/{self._holder.pid}/ns/mnt").readlink()
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if (
                    place.joinpath("ns/mnt").readlink() == own
                    and int(place.name) != self._holder.pid
                ):
                    command = place.joinpath("cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(place.name)] = command.decode(errors="replace")
            except OSError:
                continue
        return found

    def close(self) -> None:
        """End every process in the machine, and with them the machine."""
        for _ in range(50):
            running = self.processes()
            if not running:
                break
            for number in running:
                try:
                    os.kill(number, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.1)
        self._holder.kill()
        self._holder.wait()
        if self.hub:
            self.hub.wait()
