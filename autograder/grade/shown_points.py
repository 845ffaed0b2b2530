"""Points of a cell that no verdict decides: a course's own, graded by what it shows, as nbgrader has it.

nbgrader 0.9.6 reads numbers as NumPy 1 showed them, so that ``np.float64(2.5)`` of 5 earns all 5, and takes whatever
stands on stderr, a warning or a progress bar, for an error.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from nbformat import NotebookNode
from nbgrader import utils

# a number as Python, NumPy, PyTorch and JAX show it
NUMBER = re.compile(
    r"(?P<called>(?:tensor|[Aa]rray|Decimal|(?:np|numpy)\.\w+)\()?"
    r"(?(called)[\s\[]*)'?(?P<number>[+-]?(?:[\d.][\w.+-]*|inf|nan))'?(?(called)[\s\]]*(?:,\s*\w+=[^()]*(?:\(\))?)*\))",
)
FRACTION = re.compile(r"Fraction\((-?\d+), (\d+)\)")


def shown_points(cell: NotebookNode) -> float | None:
    """What a graded cell earns by what it shows; None where a person must look.

    An error is worth nothing. A number that the cell ends with counts, within 0 and what there is. Anything else, or
    nothing, earns all: no assertion has failed.
    """
    if cell.cell_type != "code" or utils.is_solution(cell):
        earned: float | None = utils.determine_grade(cell)[0]
        return earned
    most = float(cell.metadata["nbgrader"]["points"])
    if any(output.output_type == "error" for output in cell.outputs):
        return 0.0
    results = [output for output in cell.outputs if output.output_type == "execute_result"]
    number = number_shown(results[-1].get("data", {}).get("text/plain", "")) if results else None
    if number is None:
        return most
    return 0.0 if math.isnan(number) else min(max(number, 0.0), most)


def number_shown(text: str) -> float | None:
    """The number that a text is, whichever library wrote it; None where it is none."""
    text = text.strip()
    if fraction := FRACTION.fullmatch(text):
        return float(Fraction(*map(int, fraction.groups())))
    found = NUMBER.fullmatch(text)
    try:
        return float(found["number"]) if found else None
    except ValueError:
        return None
