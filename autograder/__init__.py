"""Checks, probe and verdict: how an assignment's points are decided.

A *check* (``autograder.checks``) says which inputs a part is called with, what the reference
answers, and which wrong answers have a name. The *probe* (``autograder.probe``) calls the
student's code on those inputs and returns plain arrays. The *verdict* (``autograder.verdict``)
compares, names the mistake and awards the points. Only bytes cross from one side to the other
(``autograder.wire``), so the probe may run in this process, in another, or on another machine.
"""

import sys

# jsonschema, which nbformat asks whether a notebook is one, spends seconds on compiling the grammar
# of web addresses if this package is there. No notebook's format has any to check.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
