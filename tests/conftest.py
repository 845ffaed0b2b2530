"""What several test files share: the sample class, graded once, also where tests run side by side."""

import pickle
from collections import Counter

import pytest
from filelock import FileLock
from xdist.scheduler import LoadScopeScheduling

from autograder.checks import known
from tests.sample_class import grade, hand_in, whole_class


@pytest.fixture(scope="session")
def graded_class(tmp_path_factory, worker_id):
    """The course folder of the sample class, and its rows by student."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent
    course, result = shared / "course", shared / "rows.pickle"
    with FileLock(shared / "course.lock"):
        if not result.exists():
            hand_in(course, whole_class())
            graded = grade(course)
            result.write_bytes(pickle.dumps({row.student: row for row in graded}))
    return course, pickle.loads(result.read_bytes())


@pytest.fixture
def course(graded_class):
    return graded_class[0]


@pytest.fixture
def rows(graded_class):
    return graded_class[1]


# whose tests share nothing, and are thousands or take long: each goes where there is room
SPREAD = ("test_checks.py", "test_accidents.py", "test_run.py", "test_dask.py")
# whose tests read or write the sample class's course folder, one after the other
SAMPLE_CLASS = ("test_classroom.py", "test_course.py", "test_formgrader.py")


class Together(LoadScopeScheduling):
    """Keeps on one worker what shares fixtures or a notebook's kernel, which is a file's tests."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.split("::")[0]
        name = path.rsplit("/", 1)[-1]
        if name in SPREAD:
            return nodeid
        return "the sample class" if name in SAMPLE_CLASS else path


def pytest_xdist_make_scheduler(config, log):
    """Say which tests stay together where several workers run them."""
    return Together(config, log)


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
    order = known()
    for (assignment, part), count in sorted(
        counts.items(), key=lambda item: (order.index(item[0][0]), item[0][1])
    ):
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
