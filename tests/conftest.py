"""What several test files share: the sample class, graded once, also where tests run side by side."""

import pickle

import pytest
from filelock import FileLock

from autograder import patches
from tests.sample_class import grade, hand_in, whole_class


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


@pytest.fixture(scope="session", autouse=True)
def _gradebooks_are_made_in_a_moment():
    """As for whoever grades; a few dozen tests make one without the grader."""
    patches.for_gradebooks()
