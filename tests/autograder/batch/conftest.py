"""The class of everything that can be handed in, graded once for all files that look at it."""

import subprocess

import pytest

from tests.autograder.batch.odd_class import Class


@pytest.fixture(scope="session")
def odd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    try:
        yield Class(folder / "course").grade()
    finally:  # deeper than Python's own way of removing folders goes
        subprocess.run(["rm", "-rf", str(folder)], check=False)
