"""Grade the sample class with the course's own command and show the table: make sample."""

import shutil
import sys

from autograder.__main__ import main
from tests.sample_class import ASSIGNMENT, ISOLATION, ROOT, hand_in, whole_class

course = ROOT / "build" / "sample_class"
shutil.rmtree(course, ignore_errors=True)
hand_in(course, whole_class())
status = main(["grade", ASSIGNMENT, "--course", str(course), "--isolation", ISOLATION])
print(f"\nThe graded notebooks and feedback pages are in {course.relative_to(ROOT)}.")
sys.exit(0 if status in (0, 1) else status)
