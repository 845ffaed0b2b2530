"""What several test files share: the sample class, graded once, also where tests run side by side."""

import pickle

import pytest
from filelock import FileLock

from autograder.classroom import grade_class
from tests.sample_class import ASSIGNMENT, hand_in


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
            graded = grade_class(course, ASSIGNMENT, lambda *_: None)
            result.write_bytes(pickle.dumps({row.student: row for row in graded}))
    return course, pickle.loads(result.read_bytes())


@pytest.fixture
def course(graded_class):
    return graded_class[0]


@pytest.fixture
def rows(graded_class):
    return graded_class[1]
