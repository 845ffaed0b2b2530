"""A machine that is busy with something else costs nobody a point: processor time is what counts."""

import dataclasses
import re

import pytest

from assignments import allowed_modules
from autograder.batch.classroom import grade_class
from autograder.batch.engine import engine_for
from autograder.sandbox.limits import Limits
from tests.autograder.busy import busy_machine
from tests.sample_class import ASSIGNMENT, SETTINGS, hand_in, submission

STUDENTS = (
    "right_loops", "softmax_over_columns", "mixed_batch", "half_finished", "edited_tests", "endless_loop",
)  # fmt: skip
# of processor time; the limits on the clock are the usual ones
LIMITS = Limits(seconds_per_cell=2, seconds_per_call=1)
BUSY = 8
LINE = re.compile(r" It was in the line `.*?`\.")  # when the time was up


@pytest.mark.slow
def test_a_class_gets_the_same_on_a_busy_machine(tmp_path):
    course = tmp_path / "course"
    hand_in(course, {student: submission(student) for student in STUDENTS})
    settings = dataclasses.replace(SETTINGS, limits=LIMITS, feedback=False, again=True)

    def rows():
        graded = grade_class(course, ASSIGNMENT, lambda *_: None, (), settings, engine)
        return [
            dataclasses.replace(row, seconds=0, reasons=[LINE.sub("", one) for one in row.reasons])
            for row in graded
        ]

    with engine_for(settings, allowed_modules(ASSIGNMENT)) as engine:
        calm = rows()
        with busy_machine(BUSY):
            busy = rows()
    assert busy == calm
    assert {row.student for row in busy if row.points == row.of} == {"right_loops"}
    assert any("no answer within" in reason for row in calm for reason in row.reasons)
