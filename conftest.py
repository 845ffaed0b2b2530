"""What holds for every way to run the tests, also those of lectures/ and solutions/ that nbval makes."""

import json
import re

import pytest

from autograder.batch.nbgrader_settings import use_own_programs

SECONDS_OF_A_QUICK_LECTURE = 25  # those that train for longer are left to `make test-all`
# what stays on one worker beside each file: files whose tests read or write one course folder, or look at one class
TOGETHER = {
    "test_behaviour.py": "the sample class",
    "test_classroom.py": "the sample class",
    "test_course.py": "the sample class",
    "test_formgrader.py": "the sample class",
    "test_odd_submissions.py": "the odd class",
    "test_odd_pages.py": "the odd class",
}
# whose tests are about the answers to one part, and share its inputs and verdicts
ANSWERS = ("test_checks.py", "test_each_mistake.py", "test_prices.py", "test_two_at_once.py")
PART = re.compile(r"\[(a\d+_\w+-\w+)")  # as their ids begin
# whose tests share nothing, and take long: each goes where there is room
SPREAD = ("test_accidents.py", "test_run.py", "test_dask.py")


def pytest_configure():
    """Tests start programs of this environment by their names, whether or not it is on PATH."""
    use_own_programs()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """With `-n 2` alone, keep together what `group_of` says: the cells of a notebook share a kernel."""
    if config.getoption("numprocesses", None) and config.option.dist == "no":
        config.option.dist = "loadscope"
    config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let workers take groups of tests, in the order in which these begin."""
    from xdist.scheduler import LoadScopeScheduling  # here, since it may be missing

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    return Together(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what is long, and put first what takes long in one piece."""
    seconds = {item.path: seconds_in(item.path) for item in items if item.path.suffix == ".ipynb"}
    for item in items:
        if seconds.get(item.path, 0) > SECONDS_OF_A_QUICK_LECTURE:
            item.add_marker(pytest.mark.long)
    items.sort(
        key=lambda item: (
            item.path.name in (*ANSWERS, *SPREAD),  # what goes in small pieces fills up the end
            item.path not in seconds,
            -seconds.get(item.path, 0),
        )
    )


def seconds_in(notebook):
    """What the cells of a notebook say that they take."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return sum(cell["metadata"].get("seconds", 0) for cell in cells)


def where(nodeid):
    """The path of a test's file."""
    return nodeid.split("::")[0]


def group_of(nodeid):
    """What a test stays together with, where several workers share the tests: most with those of their file."""
    name = where(nodeid).rsplit("/", 1)[-1]
    part = PART.search(nodeid) if name in ANSWERS else None
    if part:
        return f"the answers to {part[1]}"
    return nodeid if name in SPREAD else TOGETHER.get(name, where(nodeid))
