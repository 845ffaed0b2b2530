"""A wrong earlier part costs its own points alone: what builds on it is decided with ours in its place."""

import pytest

from assignments import allowed_modules, known, load
from autograder.grade.messages import Job
from autograder.grade.run import run_job
from autograder.sandbox import kernels
from tests.autograder.grade.handed_in import HandedIn, solution, text_of
from tests.autograder.grade.test_run import released_cells
from tests.sample_class import ISOLATION

LEANING = [(name, part.name) for name in known() for part in load(name).parts if part.may_call]
# below a right answer, what makes it a wrong one
WRONG_FUNCTION = """


right_{name} = {name}


def {name}(*given):
    result = right_{name}(*given)
    return result[:, :1] if result.dtype == bool else result + 1
"""
WRONG_CLASS = """


class {name}({name}):
    def forward(self, *given):
        return super().forward(*given) + 1
"""


@pytest.fixture(scope="module", autouse=True)
def one_zygote():
    yield
    kernels.close()


@pytest.mark.parametrize(("assignment", "name"), LEANING)
def test_a_part_keeps_its_points_where_the_earlier_ones_are_wrong(assignment, name):
    loaded = load(assignment)
    part, below = loaded.part(name), {}
    for earlier in part.may_call:
        is_class = isinstance(loaded.part(earlier).reference, type)
        below[earlier] = (WRONG_CLASS if is_class else WRONG_FUNCTION).format(name=earlier)
    assert below.keys() <= solution(assignment).keys()
    text = text_of(HandedIn(assignment=assignment, below=below))
    job = Job(assignment, text, released_cells(assignment), ISOLATION)
    report = run_job(job, kernels.own_kernels(ISOLATION, allowed_modules(assignment)))
    assert not report.faults
    assert not any(report.verdicts[earlier].right for earlier in part.may_call)
    assert report.verdicts[name].right, report.verdicts[name]
