"""A copy of the course, for tests that add to it and then build and grade."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.sample_class import ROOT


def copy_course(target: Path) -> Path:
    """Copy all that belongs to the repository; the copy has the same packages."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    if not (target / ".venv").exists():
        (target / ".venv").symlink_to(ROOT / ".venv")
    return target


def blocks_in(page: str, heading: str = "") -> list[str]:
    """The blocks of commands of a guide, or of one section of it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    if heading:
        text = section_of(text, heading)
    return re.findall(r"^```sh\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)


def section_of(text: str, heading: str) -> str:
    """What stands below a heading of a guide, with the sections below it."""
    found = re.search(rf"^(#+) {re.escape(heading)}\n", text, re.MULTILINE)
    assert found, f"there is no section {heading}"
    above = rf"^#{{1,{len(found[1])}}} "
    return re.split(above, text[found.end() :], maxsplit=1, flags=re.MULTILINE)[0]


def run(course: Path, command: str) -> str:
    """Run a command in a copy as its author would, and return all that it said; it must succeed."""
    inherited = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    environment = {
        **inherited,
        "PATH": f"{course / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(course),
    }
    done = subprocess.run(
        ["bash", "-c", f"{{ {command}; }} 2>&1"],
        cwd=course,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout
