"""What a check cell runs inside the notebook's own kernel: probe here, verdict here, same words.

In grading, `autograder.grade.grading` decides outside this process; what a student reads is the same.
"""

from __future__ import annotations

from IPython import get_ipython
from IPython.display import display

from autograder.checks.course import load
from autograder.checks.decide import decide
from autograder.checks.rendering import as_bundle
from autograder.checks.verdicts import PartVerdict
from autograder.probe.first_uses import get_ready_for
from autograder.probe.probe import answer

_decided: dict[tuple[str, str], PartVerdict] = {}


def grade(assignment_name: str, part_name: str) -> float:
    """Decide a part of the running notebook, show the verdict, and return the points.

    nbgrader takes the number that a grade cell ends with as the points of that cell.

    Args:
        assignment_name: the assignment's id, such as ``a1_name``.
        part_name: the function or class to decide.

    Returns:
        the points earned, from 0 to the points of the part.

    Raises:
        KeyError: there is no such part; LookupError: there is no such assignment.
    """
    shell = get_ipython()
    assignment = load(assignment_name)
    earlier = {name: one for (owner, name), one in _decided.items() if owner == assignment_name}
    cells = [
        cell
        for cell in shell.history_manager.input_hist_raw
        if cell.strip() and "autograder.cell" not in cell
    ]
    get_ready_for("\n".join(cells))
    verdict = decide(
        assignment,
        assignment.part(part_name),
        probe=lambda message: answer(message, shell.user_ns),
        cells=cells,
        failed_before=[name for name, one in earlier.items() if not one.right],
        right_before=[name for name, one in earlier.items() if one.right],
    )
    _decided[assignment_name, part_name] = verdict
    display(as_bundle(verdict), raw=True)
    return verdict.earned
