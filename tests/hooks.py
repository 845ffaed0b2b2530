"""What the course asks of pytest: which tests stay together, which need not run, what is said at the end."""

import gc
from collections import Counter

import pytest

from tests import once, summary
from tests.scheduling import Together, leave_long_trainings, longest_first


def pytest_addoption(parser):
    once.add_option(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    once.leave_out(config, items)
    leave_long_trainings(items)
    longest_first(items)


def pytest_collection_finish():
    """Leave thousands of tests out of each garbage collection, which counts in whatever it interrupts."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Say which tests stay together where several workers run them."""
    return Together(config, log)


def pytest_deselected(items):
    if items:
        summary.left_of(items[0].config).take(items[0].config, items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Let a worker say what it left to other runs."""
    if hasattr(session.config, "workeroutput"):
        files = summary.left_of(session.config).files
        session.config.workeroutput["left"] = {mark: dict(files[mark]) for mark in files}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Hear what a worker left to other runs; all of them find the same tests."""
    found = getattr(node, "workeroutput", {}).get("left")
    if found is not None:
        summary.left_of(node.config).files = {mark: Counter(files) for mark, files in found.items()}


def pytest_terminal_summary(terminalreporter, config):
    """Print how the checks fared, what was slow, and last what was left out or left to other runs."""
    # a worker knows its own tests alone, and nobody reads what it prints
    if hasattr(config, "workerinput"):
        return
    summary.print_tally(terminalreporter)
    summary.print_slowest(terminalreporter)
    summary.print_left_out(terminalreporter)
    summary.print_left_to_others(terminalreporter, summary.left_of(config))
    said = once.note(config, summary.reports_of(terminalreporter))
    if said:
        terminalreporter.section("each test once")
        terminalreporter.line(said)
