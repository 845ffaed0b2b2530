"""What several test files share: the sample class, graded once, also where tests run side by side."""

import pickle
from collections import Counter

import pytest
from filelock import FileLock

from autograder.classroom import grade_class
from tests.sample_class import ASSIGNMENT, SETTINGS, hand_in


@pytest.fixture(scope="session")
def graded_class(tmp_path_factory, worker_id):
    """The course folder of the sample class, and its rows by student."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent
    course, result = shared / "course", shared / "rows.pickle"
    with FileLock(shared / "course.lock"):
        if not result.exists():
            hand_in(course)
            graded = grade_class(course, ASSIGNMENT, lambda *_: None, settings=SETTINGS)
            result.write_bytes(pickle.dumps({row.student: row for row in graded}))
    return course, pickle.loads(result.read_bytes())


@pytest.fixture
def course(graded_class):
    return graded_class[0]


@pytest.fixture
def rows(graded_class):
    return graded_class[1]


def pytest_terminal_summary(terminalreporter):
    """Print how the checks fared against the banks of answers."""
    counts = {}
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        if report.when != "call":
            continue
        outcomes = {tuple(value) for name, value in report.user_properties if name == "bank"}
        for assignment, part, kind, caught, named in outcomes:
            count = counts.setdefault((assignment, part), Counter())
            count[kind] += 1
            count[f"{kind} caught"] += caught
            count["named"] += kind != "right" and named
    if not counts:
        return
    terminalreporter.section("answers against the checks")
    row = "{:<34}{:<36}{:>13}{:>9}{:>14}"
    terminalreporter.line(row.format("assignment", "part", "wrong caught", "named", "false alarms"))
    for (assignment, part), count in sorted(counts.items()):
        wrong = count["mistake"] + count["wrong"]
        caught = count["mistake caught"] + count["wrong caught"]
        terminalreporter.line(
            row.format(
                assignment,
                part,
                f"{caught} of {wrong}",
                count["named"],
                f"{count['right caught']} of {count['right']}",
            )
        )
