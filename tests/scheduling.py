"""Which tests take long, and which stay together where several workers run them."""

from contextlib import suppress

try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # then one process runs all tests, and nobody asks who runs which
    LoadScopeScheduling = object

# whose tests share nothing, and are thousands or take long: each goes where there is room
SPREAD = (
    "test_checks.py",
    "test_each_mistake.py",
    "test_accidents.py",
    "test_run.py",
    "test_dask.py",
)
# whose tests read or write the sample class's course folder, one after the other
SAMPLE_CLASS = ("test_classroom.py", "test_course.py", "test_formgrader.py")
# whose tests look at the class of everything odd, which takes minutes to grade
ODD_CLASS = ("test_odd_submissions.py", "test_odd_pages.py")

# `make test` leaves these to `make test-all`: whole classes, services, servers, copies of the course,
# websites, and the translators at every word
LONG = (
    "tests/assignments/test_published.py",
    "tests/autograder/batch/test_alike.py",
    "tests/autograder/batch/test_anonymous.py",
    "tests/autograder/batch/test_archive.py",
    "tests/autograder/batch/test_hostile.py",
    "tests/autograder/batch/test_how_it_ends.py",
    "tests/autograder/batch/test_late.py",
    "tests/autograder/batch/test_odd_pages.py",
    "tests/autograder/batch/test_odd_submissions.py",
    "tests/autograder/batch/test_one_truth.py",
    "tests/autograder/batch/test_regrade.py",
    "tests/autograder/batch/test_two_graders.py",
    "tests/autograder/doors/test_doors.py",
    "tests/autograder/doors/test_other_user.py",
    "tests/autograder/notebook/test_fuzz.py",
    "tests/autograder/notebook/test_roads.py",
    "tests/autograder/service/test_watch.py",
    "tests/autograder/test_patches.py",
    "tests/autograder/test_second_course.py",
    "tests/browser/test_formgrader.py",
    "tests/browser/test_live_translation.py",
    "tests/browser/test_site.py",
    "tests/build/test_contributing.py",
    "tests/build/test_living_course.py",
    "tests/build/test_own_course.py",
    "tests/classroom/test_classroom.py",
    "tests/lecture_kit/test_live_translation.py",
    "tests/lecture_kit/test_translators.py",
    "tests/autograder/test_validation.py",
    "tests/tools/test_new.py",
)


class Together(LoadScopeScheduling):
    """Keeps on one worker what shares fixtures or a notebook's kernel, which is a file's tests.

    A test that ends its worker fails and is not run again; a new worker goes on with the others.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.split("::")[0]
        name = path.rsplit("/", 1)[-1]
        if name in SPREAD:
            return nodeid
        if name in ODD_CLASS:
            return "the odd class"
        return "the sample class" if name in SAMPLE_CLASS else path

    def _assign_work_unit(self, node):
        """Give a worker the next tests; what one that has just died cannot be told comes back with it."""
        with suppress(OSError):
            super()._assign_work_unit(node)

    def remove_node(self, node):
        """Take a worker away; which test it was at, if it was at one."""
        workload = self.assigned_work[node]
        left = [(unit, test) for unit in workload.values() for test in unit if not unit[test]]
        if left:
            unit, crashed = left[0]
            unit[crashed] = True
        for scope in [scope for scope, unit in workload.items() if all(unit.values())]:
            del workload[scope]
        super().remove_node(node)
        return crashed if left else None

    def _reschedule(self, node):
        if node in self.registered_collections:  # a new worker is still looking for its tests
            super()._reschedule(node)

    def schedule(self):
        """Hand out tests; a new worker begins only when it has two, or knows that no more come."""
        super().schedule()
        for node in self.nodes:
            self._reschedule(node)
