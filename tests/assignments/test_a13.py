"""Assignment 13, where nearly all of the course may be imported: its answers come in by no back door."""

import subprocess
import sys

import pytest

from assignments import allowed_modules

PROGRAM = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print("course_utils.inside" in sys.modules, "course_utils.modern" in sys.modules)
"""


@pytest.mark.long
def test_no_module_that_may_be_imported_brings_the_answers_along():
    command = [sys.executable, "-c", PROGRAM, *allowed_modules("a13_looking_inside")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
