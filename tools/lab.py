"""Open the course in JupyterLab, on copies that belong to the reader.

    python tools/lab.py                       read and answer, in workspace/
    python tools/lab.py --workspace FOLDER    the same, in a folder of your choice
    python tools/lab.py --author              edit the sources, in the course itself

Further arguments are handed to JupyterLab.

JupyterLab reopens the tabs of last time. Readers and authors keep theirs apart, each in the folder that
they work in: otherwise an author's JupyterLab would open what a reader had open, but in the course
itself, where saving overwrites what is handed out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
from ipykernel.ipkernel import IPythonKernel
from jupyterlab.labapp import LabApp
from nbformat.sign import NotebookNotary

ROOT = Path(__file__).resolve().parent.parent
MAP = "course_map.md"
NOTEBOOKS = ("lectures/*.ipynb", "exercises/*/*.ipynb")
TO_LOOK_UP = ("docs/glossary.md",)
CONFIG = ROOT / "tools" / "jupyter"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copy_as_opened(source: Path, target: Path) -> None:
    """Copy a notebook as JupyterLab keeps it once it is open, and vouch for what it shows.

    JupyterLab runs no live view of a notebook that this user has not signed, and takes one for
    changed whose language is described otherwise than by its kernel.
    """
    notebook = nbformat.read(source, as_version=nbformat.NO_CONVERT)
    notebook.metadata["language_info"] = dict(IPythonKernel.language_info)
    nbformat.write(notebook, target)
    NotebookNotary().sign(notebook)


def prepare_workspace(
    course: Path, workspace: Path, notebooks: Sequence[str] = NOTEBOOKS
) -> list[str]:
    """Copy what a reader works on, and never overwrite a notebook that is already there.

    Args:
        course: the course's own folder.
        workspace: the reader's folder; made on first use.
        notebooks: patterns for those that are copied.

    Returns:
        Sentences for the reader: notebooks of which the course has a newer version by now.
    """
    workspace.mkdir(exist_ok=True)
    record = workspace / ".copied.json"
    copied = json.loads(record.read_text()) if record.exists() else {}
    news = []
    listed = (course / MAP).read_text(encoding="utf-8")
    found = [path for pattern in notebooks for path in course.glob(pattern)]
    for source in sorted(found, key=lambda path: listed.find(path.name)):
        name = source.relative_to(course).as_posix()
        target = workspace / name
        if not target.exists() or digest(target) == digest(source):
            target.parent.mkdir(parents=True, exist_ok=True)
            copy_as_opened(source, target)
            copied[name] = digest(source)
        elif copied.get(name) != digest(source):
            news.append(
                f"{name} is newer in the course than your copy. Yours is untouched; to get the new "
                "one, rename yours and start again."
            )
    record.write_text(json.dumps(copied, indent=1))
    shutil.copytree(course / "figures", workspace / "figures", dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("*.py", "__pycache__"))  # fmt: skip
    shutil.copy(course / "nbgrader_config.py", workspace / "nbgrader_config.py")
    shutil.copy(course / MAP, workspace / MAP)
    (workspace / "docs").mkdir(exist_ok=True)
    for name in TO_LOOK_UP:
        shutil.copy(course / name, workspace / name)
    return news


def has_display() -> bool:
    return sys.platform != "linux" or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def config_path(author: bool) -> str:
    """Where Jupyter looks for settings first; readers are spared nbgrader's menus for instructors."""
    return str(CONFIG) if author else os.pathsep.join([str(CONFIG / "reader"), str(CONFIG)])


def flags_for(folder: Path, author: bool) -> list[str]:
    """What JupyterLab is told about the folder that it opens, and where it remembers open tabs."""
    memory = folder / ".jupyterlab"
    flags = [
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{'README.md' if author else MAP}",
        f"--LabApp.workspaces_dir={memory / 'workspaces'}",
    ]
    if author:
        flags.append(f"--LabApp.user_settings_dir={memory / 'user-settings'}")
    return flags


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python tools/lab.py", allow_abbrev=False)
    parser.add_argument("--author", action="store_true")
    parser.add_argument("--workspace", type=Path, default=ROOT / "workspace")
    options, arguments = parser.parse_known_args(arguments)
    folder = ROOT if options.author else options.workspace.resolve()
    if not options.author:
        for sentence in prepare_workspace(ROOT, folder):
            print(sentence)
    os.environ["JUPYTER_CONFIG_PATH"] = config_path(options.author)
    os.chdir(folder)
    flags = flags_for(folder, options.author)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--allow-root")
    if not has_display():
        flags.append("--no-browser")
        print("No display here: open the address below that begins with http://127.0.0.1")
    LabApp.launch_instance([*flags, *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
