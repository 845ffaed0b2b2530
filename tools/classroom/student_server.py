"""Start a student's server: lay out the folder ``course`` in the home, then hand over to JupyterHub's own.

The hub runs this under the student's account. Lectures and what belongs to them are copied from the handout,
and no copy that the student has changed is overwritten. Assignments come from the exchange, by a link in a
folder of the student's own: nbgrader works with no exchange to whose root it may not write.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tools.lab import prepare_workspace

OWN_EXCHANGE = ".exchange"


def main() -> None:
    handout, course, *arguments = sys.argv[1:]
    link_exchange(Path(course), Path.home() / OWN_EXCHANGE)
    workspace = Path.home() / "course"
    for sentence in prepare_workspace(Path(handout), workspace, ("lectures/*.ipynb",)):
        print(sentence)
    (workspace / "exercises").mkdir(exist_ok=True)
    os.chdir(workspace)
    flags = [
        f"--ServerApp.root_dir={workspace}",
        f"--LabApp.workspaces_dir={workspace}/.jupyterlab",
    ]
    os.execv(sys.executable, [sys.executable, "-m", "jupyterhub.singleuser", *flags, *arguments])


def link_exchange(course: Path, root: Path) -> None:
    """Make a root of an exchange in which there is one course, which lies elsewhere."""
    link = root / course.name
    root.mkdir(exist_ok=True)
    if link.is_symlink() and link.readlink() == course:
        return
    if link.is_symlink() or link.exists():
        os.replace(link, root / f"{course.name}.{os.getpid()}.before")
    link.symlink_to(course)


if __name__ == "__main__":
    main()
