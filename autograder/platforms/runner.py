"""Grade one submission on a platform's machine, in whatever keeps it apart there."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.checks.course import course_named
from autograder.checks.rendering import as_text
from autograder.checks.verdicts import PartVerdict
from autograder.files import write_whole
from autograder.grade.invalid import InvalidSubmission
from autograder.grade.messages import Job, from_json
from autograder.grade.report import Report
from autograder.grade.run import attempt
from autograder.grade.submission import files_beside, notebook_in_folder, read_text
from autograder.platforms.packaging import JOB
from autograder.sandbox import bubblewrap
from autograder.sandbox.kernels import close, own_kernels


class NotGraded(Exception):
    """Nothing here can grade; the message says why, and what to do about it."""


def grade_here(packed: Path, submission: Path, may_be_open: bool = False) -> tuple[Report, str]:
    """Grade the notebook in a folder; what became of it, and the isolation.

    A sandbox of our own comes first. Where a container refuses namespaces, it is the sandbox itself, and the
    submission runs as another user, who can read of the packed folder what a sandbox would show.

    Args:
        packed: what `pack` made.
        submission: the folder with the notebook.
        may_be_open: whether a submission may run as this very user where nothing else is possible.

    Raises:
        NotGraded: nothing else is possible, or the grader itself failed.
    """
    job = from_json((packed / JOB).read_bytes(), Job)
    isolation = isolation_here(may_be_open)
    job = replace(job, isolation=isolation)
    if isolation == bubblewrap.USER:
        close_to_others(packed, job.modules)
    try:
        notebook = read_text(notebook_in_folder(submission, job.assignment))
        files, _ = files_beside(submission, course_named(job.course))
        job = replace(job, notebook=notebook, files=files)
        report = attempt(job, own_kernels(isolation, job.modules))
    except InvalidSubmission as problem:
        report = problem.report
    finally:
        close()
        if isolation == bubblewrap.USER:
            end_all_of_the_other_user()
    if report.broken and report.faults:
        raise NotGraded(report.broken)
    return report, isolation


def grade_into(
    results: Path,
    packed: Path,
    submission: Path,
    as_results: Callable[[Report, str], dict[str, Any]],
) -> int:
    """Grade in the container of a platform that reads a file of results.

    Args:
        packed: what `pack` made.
        submission: the folder with the notebook.
        as_results: turns what became of it, and the isolation, into what the platform reads.

    Returns:
        exit status 1 where nothing here can grade. Then there is no file, and the platform says that
        its grader has failed.
    """
    results.parent.mkdir(exist_ok=True)
    try:
        report, isolation = grade_here(packed, submission)
    except NotGraded as problem:
        print(f"not graded: {problem}", file=sys.stderr)
        return 1
    write_whole(results, json.dumps(as_results(report, isolation), indent=1))
    return 0


def message_of(report: Report, isolation: str) -> str:
    """What concerns the whole submission, in lines of text."""
    broken = report.told or report.broken
    lines = [broken] if broken else [f"{report.earned:g} of {report.of:g} points"]
    if report.by_a_person:
        more = ", ".join(f"{name} ({points:g})" for name, points in report.by_a_person.items())
        lines.append(f"A person reads and adds points for: {more}")
    lines += [report.remark] if report.remark else []
    return "\n".join([*lines, f"Isolation: {bubblewrap.in_words(isolation)}"])


def isolation_here(may_be_open: bool) -> str:
    """The best that this machine allows."""
    if not bubblewrap.missing():
        return bubblewrap.FULL
    if sys.platform == "linux" and os.geteuid() == 0:
        return bubblewrap.USER
    if may_be_open:
        return bubblewrap.NONE
    raise NotGraded(
        "submissions are not run here: this container refuses namespaces "
        f"({bubblewrap.missing().partition('.')[0]}), and the grader is not root, so that a submission could not "
        "run as another user than the one that decides. Let the grader run as root in the container"
    )


def close_to_others(packed: Path, modules: tuple[str, ...]) -> None:
    """Leave to other users of the packed folder what a sandbox would show, and the names of the rest."""
    shown = bubblewrap.visible_paths(modules)
    for path in (packed, *packed.rglob("*")):
        if path.is_symlink():
            continue
        open_to_all = path.is_dir() or any(path == one or one in path.parents for one in shown)
        path.chmod(0o755 if path.is_dir() else 0o644 if open_to_all else 0o600)


def end_all_of_the_other_user() -> None:
    """End what a submission may have left running."""
    with contextlib.suppress(OSError):
        subprocess.run(
            [sys.executable, "-c", "import os; os.kill(-1, 9)"],
            user=bubblewrap.OTHER_USER, group=bubblewrap.OTHER_USER, extra_groups=[], cwd="/", check=False,
        )  # fmt: skip


def told_of(verdict: PartVerdict) -> str:
    """What a student reads about a part, without its first line, which platforms show themselves."""
    return as_text(verdict).partition("\n")[2]
