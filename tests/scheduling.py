"""Which tests are long, which stay together where several workers run them, and which begin first."""

import json
import re
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

import pytest

try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # then one process runs all tests, and nobody asks who runs which
    LoadScopeScheduling = object

# whose tests share nothing, and take long: each goes where there is room
SPREAD = (
    "test_accidents.py",
    "test_run.py",
    "test_dask.py",
)
# whose tests are about the answers to one part: they share its inputs, and what mistakes do with these
ANSWERS = ("test_checks.py", "test_each_mistake.py")
ABOUT = "the answers to "
PART = re.compile(r"\[(a\d+_\w+-\w+)")  # as their ids begin
# whose tests read or write the sample class's course folder, one after the other
SAMPLE_CLASS = ("test_classroom.py", "test_course.py", "test_formgrader.py")
# whose tests look at the class of everything odd, which takes minutes to grade
ODD_CLASS = ("test_odd_submissions.py", "test_odd_pages.py")


# lectures that train for longer are left to `make test-all`
SECONDS_OF_A_QUICK_LECTURE = 25


def leave_long_trainings(items: list[pytest.Item]) -> None:
    """Mark the cells of lectures that train for long."""
    notebooks = {item.path for item in items if item.path.suffix == ".ipynb"}
    long = {path for path in notebooks if seconds_in(path) > SECONDS_OF_A_QUICK_LECTURE}
    for item in items:
        if item.path in long:
            item.add_marker(pytest.mark.long)


def longest_first(items: list[pytest.Item]) -> None:
    """Put files first whose tests are all marked `long`, then those with the most tests."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)

    def how_long(tests: list[pytest.Item]) -> tuple[bool, int]:
        return all(test.get_closest_marker("long") for test in tests), len(tests)

    ordered = sorted(files.values(), key=how_long, reverse=True)
    items[:] = [item for tests in ordered for item in tests]


def seconds_in(notebook: Path) -> float:
    """What the cells of a notebook say that they take."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return sum(cell["metadata"].get("seconds", 0) for cell in cells)


class Together(LoadScopeScheduling):
    """Keeps on one worker what shares fixtures or a notebook's kernel, which is a file's tests.

    Notebooks begin first, those that train longest before all; then come the tests in their order, and what
    goes wherever there is room fills up the end, so that all workers are done at about the same time.
    A test that ends its worker fails and is not run again; a new worker goes on with the others.
    """

    _ordered = False

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.split("::")[0]
        name = path.rsplit("/", 1)[-1]
        if name in SPREAD:
            return nodeid
        if name in ANSWERS:
            part = PART.search(nodeid)
            return f"{ABOUT}{part[1]}" if part else nodeid
        if name in ODD_CLASS:
            return "the odd class"
        return "the sample class" if name in SAMPLE_CLASS else path

    def _lateness(self, scope: str) -> tuple[bool, float]:
        """What stays together begins the earlier, the smaller this is."""
        if scope.endswith(".ipynb"):
            return False, -seconds_in(self.config.rootpath / scope)
        in_small_pieces = scope.startswith(ABOUT) or "::" in scope
        return in_small_pieces, 1.0

    def _assign_work_unit(self, node):
        """Give a worker the next tests; what one that has just died cannot be told comes back with it."""
        if not self._ordered:
            place = {test: number for number, test in enumerate(self.collection)}
            self.workqueue = OrderedDict(
                sorted(
                    self.workqueue.items(),
                    key=lambda item: (*self._lateness(item[0]), min(map(place.get, item[1]))),
                )
            )
            self._ordered = True
        with suppress(OSError):
            super()._assign_work_unit(node)

    def remove_node(self, node):
        """Take a worker away; which test it was at, if it was at one."""
        workload = self.assigned_work[node]
        left = [(unit, test) for unit in workload.values() for test in unit if not unit[test]]
        if left:
            unit, crashed = left[0]
            unit[crashed] = True
        self._forget_what_is_done(node)
        super().remove_node(node)
        return crashed if left else None

    def _reschedule(self, node):
        if node in self.registered_collections:  # a new worker is still looking for its tests
            self._forget_what_is_done(node)
            super()._reschedule(node)

    def _forget_what_is_done(self, node):
        """Else all of it is counted again after each test, of which there are thousands."""
        workload = self.assigned_work[node]
        for scope in [scope for scope, unit in workload.items() if all(unit.values())]:
            del workload[scope]

    def schedule(self):
        """Hand out tests; a new worker begins only when it has two, or knows that no more come."""
        super().schedule()
        for node in self.nodes:
            self._reschedule(node)
