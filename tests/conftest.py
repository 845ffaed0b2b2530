"""What several test files share: the sample class, graded once, also where tests run side by side."""

import pickle
from collections import Counter

import pytest
from filelock import FileLock

from tests.autograder.measure import HEAD, Outcome, Tally
from tests.sample_class import grade, hand_in, whole_class
from tests.scheduling import LONG, Together


@pytest.fixture(scope="session")
def graded_class(tmp_path_factory, pytestconfig):
    """The course folder of the sample class, and its rows by student."""
    shared = tmp_path_factory.getbasetemp()
    if hasattr(pytestconfig, "workerinput"):  # one of several workers
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests that take long, before `-m` is looked at."""
    for item in items:
        if item.nodeid.split("::")[0] in LONG:
            item.add_marker(pytest.mark.long)


@pytest.hookimpl(optionalhook=True)  # there is no such hook without xdist
def pytest_xdist_make_scheduler(config, log):
    """Say which tests stay together where several workers run them."""
    return Together(config, log)


def pytest_terminal_summary(terminalreporter):
    """Print how the checks fared against the banks of answers, and last what was left out."""
    print_tally(terminalreporter)
    print_left_out(terminalreporter)


def print_tally(terminalreporter):
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    outcomes = [
        Outcome(*values)
        for report in reports
        if report.when == "call"
        # an answer that fares alike on all seeds counts once
        for values in {tuple(value) for name, value in report.user_properties if name == "bank"}
    ]
    if not outcomes:
        return
    tally = Tally(outcomes)
    terminalreporter.section("answers against the checks")
    row = "{:<32}{:<32}" + "{:>13}" * (len(HEAD) - 2)
    for line in (HEAD, *tally.rows(), ("together", "", *tally.total())):
        terminalreporter.line(row.format(*line))


def print_left_out(terminalreporter):
    """Say how many tests did not run for want of something, and what: the reason says what to do."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.getreports("skipped")
        if isinstance(report.longrepr, (tuple, list))
    )
    if reasons:
        terminalreporter.section("left out")
        for reason, number in reasons.most_common():
            terminalreporter.line(f"{number} test{'s'[: number > 1]}: {reason}")
