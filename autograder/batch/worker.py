"""A process that carries out one order after the other, as the batch's own process sends them."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.batch.orders import FeedbackOrder, GradeOrder, Outcome
from autograder.bounds import MOST_MEMORY
from autograder.files import cut
from autograder.grade.messages import Job, from_json, to_json
from autograder.grade.report import Report
from autograder.grade.run import attempt
from autograder.sandbox.channel import LARGEST_BODY, Channel, ChannelClosed
from autograder.sandbox.forks import LOST, Address, ZygoteClient, ZygoteError

Request = Address


def prepare(_arguments: Sequence[str]) -> None:
    """In the zygote: nothing, since this module has imported what there is to import."""


def become(request: Address, sockets: list[socket.socket]) -> None:
    """Turn this fork into a worker, until no more orders can come on the first socket."""
    limit_memory()
    orders: Channel[GradeOrder | FeedbackOrder] = Channel(sockets[0], GradeOrder | FeedbackOrder)
    zygote = ZygoteClient(sockets[1], request)
    with contextlib.suppress(ChannelClosed):
        while True:
            order, job = orders.receive()
            if isinstance(order, FeedbackOrder):
                orders.send(Outcome(feedback(order.course, order.assignment, order.student)))
            else:
                orders.send(*grade(job, zygote))


def limit_memory() -> None:
    """However much a submission sends, this process takes no more; then its job fails alone."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        fields = Path("/proc/self/status").read_text(encoding="ascii").split()
        now = int(fields[fields.index("VmData:") + 1]) << 10
        resource.setrlimit(resource.RLIMIT_DATA, (now + MOST_MEMORY, hard))


def grade(job: bytes, zygote: ZygoteClient) -> tuple[Outcome, bytes]:
    """Run a job."""
    try:
        result = to_json(attempt(from_json(job, Job), zygote))
        if len(result) > LARGEST_BODY:
            message = f"the graded notebook takes {len(result) >> 20} MiB to send"
            result = to_json(Report(f"{message}, more than {LARGEST_BODY >> 20}"))
        return Outcome(), result
    except ZygoteError:
        return Outcome(LOST), b""
    except OSError as error:
        return Outcome(f"this machine cannot go on: {error}"), b""


def feedback(course: str, assignment: str, student: str) -> str:
    """Let nbgrader write a student's feedback page; why there is none, if there is none."""
    try:
        return _feedback(course, assignment, student)
    except Exception as error:  # noqa: BLE001 (one student's page stops nobody)
        return cut(f"{type(error).__name__}: {error}")


def _feedback(course: str, assignment: str, student: str) -> str:
    from autograder.batch.feedback import feedback_of  # here, since grading itself does not need it

    outcome = feedback_of(Path(course), assignment, student)
    page = Path(course, "feedback", student, assignment, f"{assignment}.html")
    return "" if page.exists() else outcome.get("error") or "no page was made"
