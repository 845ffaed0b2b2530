"""The class of everything that can be handed in, graded once for all files that look at it."""

import subprocess

import pytest

from assignments import allowed_modules
from autograder.batch.engine import engine_for
from tests.autograder.batch.odd_class import Class
from tests.sample_class import ASSIGNMENT, SETTINGS


@pytest.fixture(scope="session")
def odd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    try:
        yield Class(folder / "course").grade()
    finally:  # deeper than Python's own way of removing folders goes
        subprocess.run(["rm", "-rf", str(folder)], check=False)


@pytest.fixture(scope="module")
def engine():
    """What grades the classes of a file, started once."""
    with engine_for(SETTINGS, allowed_modules(ASSIGNMENT)) as opened:
        yield opened
