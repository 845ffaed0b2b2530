"""The tests of `course_utils`, with every call of its functions held to the types that they have.

    python -m tests.course_utils.checked [what pytest is to be told]

Tests of what a function refuses are left out, since its types refuse it first.
"""

import sys

import pytest
from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

holds = beartype(conf=BeartypeConf(is_pep484_tower=True))  # where a float is asked for, 1 is one


class OfWhatIsTaken:
    """A plugin: picks the tests in which nothing is refused."""

    @staticmethod
    def pytest_collection_modifyitems(items):
        items[:] = [item for item in items if "raises" not in item.function.__code__.co_names]


if __name__ == "__main__":
    with install_import_hook("course_utils", f"{__name__}.holds"):
        options = [
            "-W",
            "ignore:Module already imported",
            *sys.argv[1:],
        ]  # jaxtyping is a plugin, too
        sys.exit(pytest.main(options, plugins=[OfWhatIsTaken()]))
