"""A process that carries out one order after the other, as the batch's own process sends them."""

from __future__ import annotations

import glob
import json
import re
import socket
from pathlib import Path
from typing import Any

from autograder import warm
from autograder.files import write_whole
from autograder.forks import LOST, Line, ZygoteError
from autograder.job import attempt

# in nbgrader's own style the columns of a table run together
STYLE = "<style>.rendered_html td, .rendered_html th { padding: 2px 12px 2px 0 }</style>\n"
# the page leaves the course folder, in which these lead from an assignment to its lecture
LINK_TO_THE_COURSE = re.compile(r"<a href=[\"']\.\./\.\./[^\"']*[\"']>(.*?)</a>", re.DOTALL)


def become_worker(request: dict[str, Any], sockets: list[socket.socket]) -> None:
    """Turn this fork into a worker, until no more orders can come.

    An order is a line, a JSON list: ``grade``, a job's file, its result's file; or ``feedback``,
    a course folder, an assignment, a student. The answer is a line, too: a JSON string, empty if
    all went well, else the reason.

    Args:
        request: ``runs`` and ``isolation`` of the kernels.
        sockets: for the orders, and to the zygote of the kernels.
    """
    orders, kernels = sockets
    warm.use(Line(kernels, Path(request["runs"]), request["isolation"]))
    with orders.makefile("r", encoding="utf-8") as lines:
        for line in lines:
            kind, *arguments = json.loads(line)
            answer = {"grade": grade, "feedback": feedback}[kind](*arguments)
            orders.sendall(json.dumps(answer).encode() + b"\n")


def grade(source: str, target: str) -> str:
    """Run the job in one file and write the result to the other."""
    try:
        result = attempt(json.loads(Path(source).read_text(encoding="utf-8")))
        write_whole(Path(target), json.dumps(result))
    except ZygoteError:
        return LOST
    except OSError as error:
        return f"this machine cannot go on: {error}"
    return ""


def feedback(course: str, assignment: str, student: str) -> str:
    """Let nbgrader write a student's feedback page."""
    from autograder.course import open_course  # here, since grading itself does not need it

    # nbgrader takes a student's name for a pattern
    api = open_course(Path(course))
    outcome = api.generate_feedback(assignment, glob.escape(student), force=True)
    page = Path(course, "feedback", student, assignment, f"{assignment}.html")
    if not page.exists():
        return outcome.get("error") or "no page was made"
    text = LINK_TO_THE_COURSE.sub(r"<b>\1</b>", page.read_text(encoding="utf-8"))
    write_whole(page, text.replace("</head>", f"{STYLE}</head>", 1))
    return ""
