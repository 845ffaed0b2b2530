"""What a cell earns that no verdict decides: by an error, by the number that it shows, or all of it."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from autograder.grade.shown_points import number_shown, shown_points

WARNED = new_output("stream", name="stderr", text="UserWarning: Converting a tensor\n  float(loss)")
FAILED = new_output("error", ename="AssertionError", evalue="", traceback=["AssertionError"])


def cell(*outputs, of=5, solution=False, kind=new_code_cell):
    given = {
        "grade": True,
        "solution": solution,
        "points": of,
        "grade_id": "x",
        "locked": True,
        "schema_version": 3,
    }
    made = kind("...", metadata={"nbgrader": given})
    if outputs:
        made.outputs = list(outputs)
    return made


def result(value):
    return new_output(
        "execute_result", {"text/plain": value if isinstance(value, str) else repr(value)}
    )


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (2.5, 2.5), (3, 3), (np.float64(2.5), 2.5), (np.float32(2.5), 2.5), (np.int64(3), 3),
        (np.array(2.5), 2.5), (np.array([2.5]), 2.5), (np.array(2.5, dtype=np.float32), 2.5),
        (torch.tensor(2.5), 2.5), (torch.tensor([2.5]), 2.5), (torch.tensor(2.5, dtype=torch.float64), 2.5),
        (torch.tensor(2.5, requires_grad=True) * 1, 2.5), (torch.tensor(3), 3), (torch.tensor(1e-7), 1e-7),
        (Decimal("2.5"), 2.5), (Fraction(5, 2), 2.5), (np.longdouble(2.5), 2.5), (1e-3, 1e-3), ("  2.5\n", 2.5),
        (-1, -1), (np.float64(-1), -1), (torch.tensor(-1.0), -1), (float("inf"), float("inf")),
        (True, None), (np.True_, None), (torch.tensor(True), None), (None, None), ("'2.5'x", None),
        (torch.tensor([1.0, 2.0]), None), ([2.5], None), (2j, None), ("2.5 points", None), ("", None), ("1.2.3", None),
    ],
)  # fmt: skip
def test_the_number_that_a_text_is(value, number):
    assert number_shown(value if isinstance(value, str) else repr(value)) == number


@pytest.mark.parametrize(
    ("outputs", "points"),
    [
        ((), 5),  # no assertion has failed
        ((new_output("stream", text="fine"),), 5),
        ((WARNED,), 5),
        ((FAILED,), 0),
        ((result(2.5), FAILED), 0),
        ((WARNED, result(np.float64(2.5))), 2.5),
        ((result(torch.tensor(2.5)), WARNED), 2.5),
        ((result(1), new_output("display_data", {"image/png": ""}), result(2)), 2),
        ((result(-1),), 0),
        ((result(7.5),), 5),
        ((result(float("inf")),), 5),
        ((result(np.float64("nan")),), 0),
        ((result(float("nan")),), 0),
        ((result(torch.tensor(float("nan"))),), 0),
        ((result(True),), 5),
        ((result("all good"),), 5),
        ((new_output("execute_result", {"text/html": "<b>2</b>"}),), 5),
    ],
)
def test_a_cell_earns_what_it_shows(outputs, points):
    assert shown_points(cell(*outputs)) == points


def test_a_person_reads_what_is_written():
    assert shown_points(cell(solution=True)) is None
    assert shown_points(cell(kind=new_markdown_cell)) is None
