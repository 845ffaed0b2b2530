"""What holds for every way to run the tests, also those of lectures/ and solutions/ that nbval makes."""

import pytest

from autograder.batch.nbgrader_settings import use_own_programs


def pytest_configure():
    """Tests start programs of this environment by their names, whether or not it is on PATH."""
    use_own_programs()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """With `-n 2` alone, keep a file's tests on one worker: the cells of a notebook share a kernel."""
    if config.getoption("numprocesses", None) and config.option.dist == "no":
        config.option.dist = "loadscope"
