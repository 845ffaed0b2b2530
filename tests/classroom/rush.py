"""Sixty students hand in within a minute: run by root in the classroom's machine, prints what became of it.

    python -m tests.classroom.rush STUDENTS SECONDS

Each student is a process under the student's own account that submits with nbgrader, as a server does. Then
this waits until each can fetch feedback, and prints JSON: when each submission was made and when its feedback was
there, in seconds since the first.
"""

from __future__ import annotations

import json
import os
import pwd
import random
import sys
import time
from pathlib import Path

import nbformat
from nbgrader.utils import notebook_hash

from tests.autograder.service.students import submit_from
from tests.classroom.machine import HOMES
from tests.sample_class import ASSIGNMENT, submission
from tools.classroom.student_server import OWN_EXCHANGE, link_exchange

EXCHANGE = Path("/srv/classroom/exchange")
ANSWERS = ("right_loops", "softmax_over_columns", "mixed_batch", "scaled_scores")
PATIENCE = 400.0


def main() -> None:
    count, seconds = int(sys.argv[1]), float(sys.argv[2])
    students = [f"student{number:02}" for number in range(count)]
    notebooks = [nbformat.writes(submission(answers)) for answers in ANSWERS]
    drawn = random.Random(60)
    moments = sorted(drawn.uniform(0, seconds) for _ in students)
    began, made = time.time(), {}
    for number, (student, moment) in enumerate(zip(students, moments, strict=True)):
        time.sleep(max(0.0, began + moment - time.time()))
        if os.fork() == 0:
            become(student)
            root = Path.home() / OWN_EXCHANGE
            link_exchange(EXCHANGE / "attention", root)
            submit_from(Path.home(), root, "*", ASSIGNMENT, notebooks[number % len(notebooks)])
            os._exit(0)
        made[student] = time.time()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    there: dict[str, float] = {}
    while len(there) < count and time.time() < began + PATIENCE:
        for student in students:
            if student not in there and (page := page_of(student)) and page.exists():
                there[student] = page.stat().st_mtime
        time.sleep(0.2)
    print(
        json.dumps({name: [made[name] - began, there.get(name, 0.0) - began] for name in students})
    )


def become(student: str) -> None:
    entry = pwd.getpwnam(student)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    os.environ["HOME"] = entry.pw_dir
    os.chdir(entry.pw_dir)


def page_of(student: str) -> Path | None:
    """Where nbgrader looks for the feedback of a student's submission."""
    for secret in Path(f"{HOMES}/{student}").glob("cache/*/*/submission_secret.txt"):
        name = notebook_hash(secret=secret.read_text(encoding="ascii"), notebook_id=ASSIGNMENT)
        return EXCHANGE / "attention" / "feedback" / f"{name}.html"
    return None


if __name__ == "__main__":
    main()
