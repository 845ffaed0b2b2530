"""What a notebook's cells call in their own kernel: the verdict on a part, in the words of a class.

`checker` gives the function `check` that stands below each answer. `grade` is what the cells call that earn points,
where nbgrader alone runs a notebook: in a class, `autograder.grade.grading` decides outside of that process.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from IPython import get_ipython
from IPython.display import display
from msgspec import structs

from autograder.checks.check import Assignment, Part
from autograder.checks.course import course, load
from autograder.checks.decide import decide, nothing
from autograder.checks.missing import Surroundings, why_missing
from autograder.checks.notebook_source import (
    Definitions,
    Statement,
    statements_of,
    written_out,
)
from autograder.checks.rendering import as_bundle, in_one_line, summed_up
from autograder.checks.verdicts import Obstacle, PartVerdict
from autograder.faults import collected, note
from autograder.probe.first_uses import get_ready_for
from autograder.probe.probe import answer
from autograder.probe.switches import as_at_the_start

CALLS = re.compile(r"^\s*(check|grade)\(", re.MULTILINE)
NUMBERS = re.compile(r"[-−+]?[\d.]+(e[-+]?\d+)?|nan|inf|…")
FAILED = (
    "The grader itself failed over `{part}`, which is no fault of yours: {fault}. Please tell your instructor, "
    "or whoever gave you the course."
)


class Checker:
    """Decides parts of an assignment by what its running notebook holds.

    Args:
        assignment: its id, such as ``a1_name``.
    """

    def __init__(self, assignment: str) -> None:
        self.name = assignment
        self._decided: dict[str, PartVerdict] = {}  # since the last cell that was no check
        self._ran = 0  # cells until then
        self._met: dict[str, set[str]] = {}  # by part, what was said to be wrong with it

    def __call__(self, part: str = "") -> None:
        """Show what is right about a part, what is wrong and why; without a name, sum up all parts.

        Inputs are drawn here and now, so they are not those of grading.

        Args:
            part: the function or class that is asked about.

        Raises:
            AssertionError: something is wrong with it. A part that is not answered yet says so, and is no error.
        """
        assignment = load(self.name)
        parts = {each.name: each for each in assignment.parts}
        if part and part not in parts:
            raise _short(NameError(f"there is no part '{part}'; there are {', '.join(parts)}."))
        try:
            if not part:
                self._sum_up(assignment)
                return
            verdict = self._verdict_on(assignment, parts[part])
        except KeyboardInterrupt:
            raise _short(
                KeyboardInterrupt(f"stopped, and nothing is said of {part or 'any part'}")
            ) from None
        self._show(verdict)

    def verdict_on(self, part: str) -> PartVerdict:
        """The verdict on a part of the running notebook, and nothing is shown.

        Raises:
            KeyError: there is no such part.
        """
        assignment = load(self.name)
        return self._verdict_on(assignment, assignment.part(part))

    def _show(self, verdict: PartVerdict) -> None:
        cell = _cell_that_defines(verdict.part)
        if verdict.right or verdict.obstacle is Obstacle.UNANSWERED:
            display(in_one_line(verdict, "" if verdict.right else cell), raw=True)
            example = get_ipython().user_ns.get(f"test_{verdict.part}")
            # with an earlier part that is wrong it may fail, though this one is right
            if verdict.right and not verdict.stood_in and callable(example):
                with _no_trace(get_ipython()):
                    example()
            return
        display(as_bundle(verdict), raw=True)
        if verdict.obstacle is Obstacle.FAULT:
            return
        # what has a name is known by it, and all else by its words, whatever numbers are drawn
        wrong = " ".join(name for name, _ in verdict.relations) or NUMBERS.sub("", verdict.in_short)
        met = self._met.setdefault(verdict.part, set())
        is_tried = verdict.obstacle in (Obstacle.NONE, Obstacle.TIME_LIMIT)
        hint = load(self.name).hint(verdict.part) if is_tried and wrong in met else ""
        met.add(wrong)
        if hint:
            text = f"**Hint.** {hint}"
            display({"text/markdown": text, "text/plain": text}, raw=True)
        raise _short(
            AssertionError(
                f"{verdict.part}: {verdict.earned:g} of {verdict.points:g} points{cell}. Above stands what is wrong."
            )
        )

    def _sum_up(self, assignment: Assignment) -> None:
        verdicts = [self._verdict_on(assignment, part) for part in assignment.parts]
        display(summed_up(verdicts, assignment.by_a_person), raw=True)

    def _verdict_on(self, assignment: Assignment, part: Part) -> PartVerdict:
        shell = get_ipython()
        ran = _ran_in(shell)
        if len(ran) != self._ran:
            self._decided, self._ran = {}, len(ran)
        if part.name in self._decided:
            return self._decided[part.name]
        cells, parts = _still_counting(ran), [each.name for each in assignment.parts]
        if why := _why_not_run(part.name, ran, shell.user_ns, parts):
            return nothing(part, why, Obstacle.MISSING)
        # decided first, since what is wrong with them is not charged once more
        earlier = {
            name: self._verdict_on(assignment, assignment.part(name)) for name in part.may_call
        }
        get_ready_for("\n".join(cells))
        verdict = nothing(part, "", Obstacle.FAULT)
        with _no_trace(shell), collected() as faults:
            try:
                verdict = decide(
                    assignment,
                    part,
                    probe=lambda message: answer(message, shell.user_ns),
                    cells=cells,
                    failed_before=[name for name, one in earlier.items() if not one.right],
                    right_before=[name for name, one in earlier.items() if one.right],
                    handed_out=assignment.course.handed_out(assignment.name).get(part.name, ""),
                )
            except Exception as error:  # noqa: BLE001 (the grader's own, and told as such)
                note(f"deciding `{part.name}`", error)
        if undecided := next((fault for fault in faults if fault.undecided), None):
            why = FAILED.format(part=part.name, fault=undecided.error)
            verdict = nothing(part, why, Obstacle.FAULT)
        not_there = {name for name, one in earlier.items() if one.obstacle is Obstacle.MISSING}
        if verdict.stood_in and not_there.issuperset(verdict.stood_in):
            names = " and ".join(f"`{name}`" for name in verdict.stood_in)
            remark = f"This part was decided with ours in the place of {names}, of which no cell was run so far."
            verdict = structs.replace(verdict, remark=remark)
        self._decided[part.name] = verdict
        return verdict


_checkers: dict[str, Checker] = {}


def checker(assignment: str) -> Callable[..., None]:
    """The function `check` of a notebook, see `Checker`.

    Args:
        assignment: its id, such as ``a1_name``.

    Raises:
        ImportError: the course's checks are not here, or not those of this assignment.
    """
    try:
        there = assignment in course().known()
    except LookupError as error:
        raise ImportError(str(error)) from None
    if not there:
        raise ImportError(f"the course that is here has no assignment '{assignment}'")
    _checkers[assignment] = Checker(assignment)
    return _checkers[assignment]


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
    load(assignment_name)
    verdict = _checkers.setdefault(assignment_name, Checker(assignment_name)).verdict_on(part_name)
    display(as_bundle(verdict), raw=True)
    return verdict.earned


def _ran_in(shell: Any) -> list[str]:
    """The cells that were run, without those that only ask."""
    ran = shell.history_manager.input_hist_raw if shell.history_manager else []
    return [cell for cell in ran if cell.strip() and not _only_asks(cell)]


def _only_asks(cell: str) -> bool:
    """Whether a cell is the course's own, with an example and a call: who asks below an answer has answered there."""
    if not CALLS.search(cell):
        return False
    return all(
        name.startswith("test_") or name == "grade" for name in Definitions.of((cell,)).statements
    )


def _still_counting(ran: list[str]) -> list[str]:
    """What still counts of them: each statement of which others have not bound every name again."""
    kept: list[str] = []
    later: set[str] = set()
    for cell in reversed(ran):
        binds = set(Definitions.of((cell,)).statements)
        if binds and binds <= later:
            continue
        left = _without(later, cell) if binds & later else cell
        if left not in kept:
            kept.append(left)
        later |= binds
    return kept[::-1]


def _without(names: set[str], cell: str) -> str:
    """A cell without the statements that bind nothing but these names, and without what it imports under them."""
    kept = []
    for node in statements_of(cell):
        binds = Statement(node).binds
        if binds and binds <= names:
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            rest = [
                one for one in node.names if (one.asname or one.name.split(".")[0]) not in names
            ]
            node = type(node)(**{**vars(node), "names": rest})
        kept.append(node)
    return "\n".join(map(written_out, kept))


def _cell_that_defines(name: str) -> str:
    """In which cell of the notebook a name has its meaning, as it is numbered there; "" where that is not known.

    What was typed since and not run does not count, so this says what does.
    """
    history = get_ipython().history_manager
    ran = history.input_hist_raw if history else []
    cells = (number for number in reversed(range(len(ran))) if _binds(name, ran[number]))
    number = next(cells, None)
    return f", as cell [{number}] defines it" if number else ""


def _binds(name: str, cell: str) -> bool:
    return name in cell and name in Definitions.of((cell,)).statements


def _why_not_run(
    name: str, ran: list[str], names: Mapping[str, Any], parts: Collection[str]
) -> str:
    """Why what the notebook's text now says of a name is not what its kernel holds; empty if it is."""
    defines = re.compile(rf"^[^#\n]*\b(def|class)\s+{name}\b", re.MULTILINE)
    latest = next((cell for cell in reversed(ran) if defines.search(cell)), "")
    if latest and latest == ran[-1] and not statements_of(latest):
        return why_missing(name, [latest])
    if name in names:
        return ""
    alike = why_missing(
        name, [cell for cell in ran if cell != latest], Surroundings(parts=(*parts,))
    )
    if "Is the name meant to be" in alike:
        return alike
    return f"There is no `{name}` yet. Run the cell that defines it, and then this one."


@contextmanager
def _no_trace(shell: Any) -> Iterator[None]:
    """Leave random states, switches, figures and what the notebook's names mean as they are, and the kernel alive.

    Inside, all is switched as it was when the notebook began, as it is in a class.
    """
    names, figures = shell.user_ns, _open_figures()
    before, open_before = dict(names), dict(figures)
    try:
        with as_at_the_start(), patch.object(shell, "ask_exit", lambda: None):
            yield
    finally:
        _put_back(names, before)
        _put_back(figures, open_before)


def _open_figures() -> dict[int, Any]:
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return helpers.Gcf.figs if helpers else {}


def _put_back(now: dict[Any, Any], before: Mapping[Any, Any]) -> None:
    for name in [name for name in now if name not in before]:
        del now[name]
    now.update(before)


def _short(error: BaseException) -> BaseException:
    """An error of which a notebook shows its sentence alone: none of these lines is the reader's."""
    lines = [f"{type(error).__name__}: {error}"]
    error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
    return error
