"""Which tests stay together where several workers run them."""

from xdist.scheduler import LoadScopeScheduling

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
