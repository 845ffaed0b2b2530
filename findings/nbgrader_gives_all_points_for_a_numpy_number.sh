#!/usr/bin/env bash
# nbgrader 0.9.6 with NumPy 2, partial credit: a grade cell "whose output is a value" earns that value.
#
# Expected: a last line that computes 2.5 of 5 points earns 2.5, whichever kind of number it is.
# Seen: nbgrader reads the text that the cell shows by float(). Since NumPy 2.0 a NumPy number shows itself as
# np.float64(2.5), which is no number to float(), so that the cell counts as "something else" and earns all 5.
# A warning on stderr before a plain 2.5 earns 0.
# What to do: end such a cell with float(...), and keep warnings out of it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "nbgrader==0.9.6" "numpy==2.4.6"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import logging

import nbformat
import numpy as np
from nbgrader.utils import determine_grade

said = {"grade": True, "solution": False, "locked": True, "grade_id": "part", "points": 5, "schema_version": 3}


def points_of(*outputs):
    cell = nbformat.v4.new_code_cell("score", metadata={"nbgrader": dict(said)}, outputs=list(outputs))
    return determine_grade(cell, logging.getLogger("quiet"))[0]


def shown(value):
    return nbformat.v4.new_output("execute_result", {"text/plain": repr(value)}, execution_count=1)


warning = nbformat.v4.new_output("stream", name="stderr", text="UserWarning: ...")
seen = {
    "2.5": points_of(shown(2.5)),
    "np.float64(2.5)": points_of(shown(np.float64(2.5))),
    "a warning, then 2.5": points_of(warning, shown(2.5)),
}
for what, points in seen.items():
    print(f"{what} of 5 earns {points}")
assert list(seen.values()) == [2.5, 5.0, 0], seen
PYTHON
