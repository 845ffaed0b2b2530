"""What several test files share: the sample class, graded once."""

import pytest

from autograder.classroom import grade_class
from tests.sample_class import ASSIGNMENT, hand_in


@pytest.fixture(scope="session")
def course(tmp_path_factory):
    """A course folder with the sample class's submissions."""
    folder = tmp_path_factory.mktemp("course")
    hand_in(folder)
    return folder


@pytest.fixture(scope="session")
def rows(course):
    """The graded class, by student."""
    return {row.student: row for row in grade_class(course, ASSIGNMENT, lambda *_: None)}
