"""Start a student's server: lay out the folder ``course`` in the home, then hand over to JupyterHub's own.

The hub runs this under the student's account. Lectures and what belongs to them are copied from the handout,
and no copy that the student has changed is overwritten. Assignments come from the exchange.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tools.lab import prepare_workspace


def main() -> None:
    handout, *arguments = sys.argv[1:]
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


if __name__ == "__main__":
    main()
