"""The reference answers in these tests, and so do mistakes that are made of it."""

import pytest

from autograder.bank.measure import ours_may_answer


@pytest.fixture(autouse=True)
def _the_course_may_call_itself():
    with ours_may_answer():
        yield
