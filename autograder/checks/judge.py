"""Say what is wrong with one observation of the probe, or that it is right."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.arrays import as_numpy, is_array, quietly
from autograder.bounds import LONGEST_PROBLEM
from autograder.checks.axes import results_in
from autograder.checks.cases import Case
from autograder.checks.chance import frequencies_agree
from autograder.checks.compare import strict_differences, values_agree
from autograder.checks.drawn_cases import CaseRun, is_a_state
from autograder.checks.missing import is_unanswered
from autograder.checks.problem import Kind, Problem, as_problem
from autograder.faults import note
from autograder.files import cut
from autograder.probe.messages import Ending, ErrorSeen, Observation, Unfit


@quietly
def problem_with(item: CaseRun, expected: Observation | None = None) -> Problem | None:
    """None if what came of an attempt is right, else what is wrong with it.

    What came back has been checked where it arrived, so an error here is the grader's own.

    Args:
        expected: what counts as right, if not what the reference does.
    """
    try:
        return _problem(item, expected or item.expected)
    except Exception as error:  # noqa: BLE001 (noted, and a person looks)
        # a wrong answer of ours may be of any shape, and then explains nothing
        if expected is None:
            note(f"comparing `{item.part.name}` in the case '{item.case.label}'", error)
        return Problem(Kind.ODD, "the result could not be compared")


def in_words(item: CaseRun) -> str:
    """What is wrong with an attempt, for its author: results go by their names in the signature."""
    if item.problem is None:
        return ""
    results = results_in(item)
    names = [name for name, _ in results] if len(results) > 1 else []
    return cut(item.problem.in_words(names), LONGEST_PROBLEM)


def _problem(item: CaseRun, right: Observation) -> Problem | None:
    """None if one observation is right, else what is wrong with it."""
    actual = item.actual
    if actual.status == "timeout":
        return Problem(Kind.TIME_LIMIT, _late_in_words(actual, item.seconds))
    if actual.ended:
        return Problem(Kind.NO_ANSWER, ENDED[actual.ended])
    if actual.unfit:
        return Problem(Kind.UNFIT, _unfit_in_words(actual.unfit))
    if item.case.raises:
        problem = wrong_error(item.case.raises, actual)
        if problem is None and item.step.strict:
            problem = _changed_inputs(item.request.names, right.arguments, actual.arguments)
        return problem
    if actual.error:
        return Problem(Kind.RAISED, _error_in_words(actual.error))
    if actual.status != "returned":
        return Problem(Kind.NO_ANSWER, "no answer came back")
    if right.status != "returned":  # a wrong answer of ours that stops here
        return Problem(Kind.ODD, "a result, where the other answer has none")
    expected, value = right.value, actual.value
    if item.case.chance is None:
        problem = as_problem(item.step.judge(expected, value))
        if problem and problem.kind is Kind.ODD:
            raise TypeError(problem.message)
    else:
        problem = frequencies_agree(item.case.chance, item.request.arguments, expected, value)
    if problem is None and item.step.strict:
        problem = strict_differences(expected, value) or _changed_inputs(
            item.request.names, right.arguments, actual.arguments
        )
    if problem is None and takes_too_much(item.case, actual):
        problem = Problem(
            Kind.MEMORY,
            f"the result is right, but on the way new memory holds {actual.largest:,} numbers at one "
            f"time; fewer than {item.case.memory:,} are allowed here",
        )
    if problem is None and item.case.gradient:
        problem = _wrong_gradients(right.gradients, actual.gradients)
    return problem


ENDED = {
    Ending.EXIT: "the notebook's process ended itself here: is there an `os._exit()`?",
    Ending.TIME: "the notebook's process used all its processor time here",
    Ending.KILLED: "the notebook's process was killed here, which happens where there is not enough memory: "
    "how much does it need?",
    Ending.CRASH: "the notebook's process crashed here, in compiled code",
    Ending.JUNK: "what the notebook's process sent here made no sense",
}


def _late_in_words(seen: Observation, ours: float) -> str:
    """How long it took, beside ours, and where it was: whether it ever ends, nobody has seen."""
    line = f" It was in the line `{seen.line}`." if seen.line else ""
    if seen.waited:
        return (
            f"no answer within {seen.seconds:g} seconds, in which it computed next to nothing.{line} What does "
            "it wait for?"
        )
    took = "less than 0.1" if ours < 0.1 else f"{ours:.1f}"
    question = " Does this loop come to an end?" if seen.line.startswith("while ") else ""
    return (
        f"no answer within {seen.seconds:g} seconds of processor time; ours takes {took}.{line}{question} It was "
        "stopped, and the rest of this step was not tried."
    )


def takes_too_much(case: Case, seen: Observation) -> bool:
    """Whether new memory held as many numbers at one time as the case says, or more."""
    return 0 < case.memory <= seen.largest


def _error_in_words(error: ErrorSeen) -> str:
    if is_unanswered(error):
        return "not answered yet (NotImplementedError)"
    line = f", in `{error.line}`" if error.line else ""
    message = f": {error.message}" if error.message else ""
    return f"it stopped with {error.type}{message}{line}"


def wrong_error(raises: tuple[str, ...], seen: Observation) -> Problem | None:
    """None if the error came that was asked for."""
    kind, *words = raises
    asked = "an error" if kind == "Exception" else f"a {kind}"
    error = seen.error
    if error is None:
        return Problem(Kind.NOT_RAISED, f"expected {asked} here, but no error came")
    if kind not in error.types:
        return Problem(Kind.NOT_RAISED, f"expected {asked} here, but {_error_in_words(error)}")
    left_out = [word for word in words if word not in error.message]
    if left_out:
        return Problem(
            Kind.NOT_RAISED,
            f"the {kind} should name {' and '.join(words)}, so that its reader knows what to mend; "
            f"its message is '{error.message}'",
        )
    return None


def _unfit_in_words(unfit: Unfit) -> str:
    if unfit.kind:
        return f"the class does not make an nn.Module but a {unfit.kind}: inherit from nn.Module"
    if unfit.missing:
        missing = ", ".join(f"`{name}`" for name in unfit.missing)
        has = ", ".join(f"`{name}`" for name in unfit.has) or "none"
        return (
            f"weights are set by name, and these are not there: {missing}. There are: {has}. Are "
            "the layers made in `__init__`, as attributes with the names of the text?"
        )
    one = unfit.shapes[0]
    return f"`{one.name}` should have the shape {tuple(one.asked)} and has {tuple(one.found)}"


def _changed_inputs(names: list[str], before: list[Any], after: list[Any]) -> Problem | None:
    for name, was, now in zip(names, before, after, strict=False):
        # compared as text, since what came back may be anything
        if is_a_state(was) and "training" in was and str(was) != str(now):
            return _left_in_a_model(name, was, now if isinstance(now, dict) else {})
        if is_a_state(was) and "drawn_from" in was and str(was) != str(now):
            return _drawn_elsewhere(name, now)
        if isinstance(was, dict | list | set) and not is_a_state(was) and _differ(was, now):
            return Problem(
                Kind.INPUT_CHANGED,
                f"`{name}` was changed: work on a copy, as `{type(was).__name__}({name})` makes one",
            )
        arrays = list(zip(was, now, strict=False)) if _are_both_pairs(was, now) else [(was, now)]
        if any(is_array(one) and not _identical(one, other) for one, other in arrays):
            of_numpy = isinstance(was, np.ndarray)
            how = (
                "arrays, without += and"
                if of_numpy
                else "tensors, without +=, names that end in _ or"
            )
            return Problem(
                Kind.INPUT_CHANGED,
                f"`{name}` was changed: compute into new {how} assignments to x[...]",
            )
    return None


def _left_in_a_model(name: str, was: dict[str, Any], now: dict[str, Any]) -> Problem:
    """What is wrong with a model that is not as it was found, see `probe.side_effects.LeftBehind`."""
    if now.get("renamed"):
        return Problem(
            Kind.MODEL_CHANGED,
            f"these weights of `{name}` are new or gone: {_listed(now['renamed'])}. Where you put a "
            "part of your own in the place of another, put the other back in a `finally`, so that it "
            "is put back after an error as well",
        )
    if now.get("hooks_left"):
        return Problem(
            Kind.MODEL_CHANGED,
            f"a hook of yours is still on {_parts(name, now['hooks_left'])}. Keep what the call that "
            "registers a hook returns, and `remove()` it in a `finally`, so that it goes after an "
            "error as well",
        )
    if now.get("hooks_gone"):
        return Problem(
            Kind.MODEL_CHANGED,
            f"a hook that somebody else had put on {_parts(name, now['hooks_gone'])} is gone. Remove "
            "your own hooks alone",
        )
    if now.get("changed"):
        return Problem(
            Kind.MODEL_CHANGED,
            f"these weights of `{name}` are not what they were, bit by bit: "
            f"{_listed(now['changed'])}. Whatever you write into a weight, put back a copy that you "
            "made before, in a `finally`, so that it is put back after an error as well",
        )
    if now.get("replaced"):
        return Problem(
            Kind.MODEL_CHANGED,
            f"in the place of {_parts(name, list(now['replaced'])[:3])} there is another object than before, or "
            "one of another class. An optimizer, and whoever else holds the old one, no longer reaches the "
            "model with it, so put back the very object that you found, in a `finally`",
        )
    if now.get("gradients"):
        return Problem(
            Kind.MODEL_CHANGED,
            f"`requires_grad` or `grad` is not what it was in weights of `{name}`, such as "
            f"{_listed(list(now['gradients'])[:3])}. Within `torch.no_grad()` nothing is recorded, and no "
            "weight has to be changed for that",
        )
    if now.get("attributes"):
        return Problem(
            Kind.MODEL_CHANGED,
            f"attributes are new or gone: {_parts(name, list(now['attributes'])[:3])}. Keep what you note "
            "on the way in variables of your function, and not in the model or its class",
        )
    if now.get("training") == was["training"]:
        return Problem(
            Kind.MODEL_CHANGED,
            f"`{name}` has the same weights and hooks as before, but when it is called again with the "
            "same input, it gives something else. What did you set in it that was not set back?",
        )
    return Problem(
        Kind.MODE_CHANGED,
        f"parts of `{name}` were left in another mode than they were found in. Each part "
        "has a mode of its own: note them all before you change any, and give each back "
        "at the end",
    )


def _parts(name: str, parts: Any) -> str:
    """Parts of a model in words; the model itself has the name ""."""
    return " and ".join(f"`{name}{'.' * bool(part)}{part}`" for part in map(str, parts))


def _listed(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _differ(was: Any, now: Any) -> bool:
    """Whether plain values differ, of which one may have an array in it that has no yes or no."""
    try:
        return bool(was != now)
    except (RuntimeError, ValueError):
        return True


def _are_both_pairs(one: Any, other: Any) -> bool:
    return isinstance(one, tuple) and isinstance(other, tuple | list) and len(one) == len(other)


def _drawn_elsewhere(name: str, now: Any) -> Problem:
    """What is wrong where random numbers did not come from the generator given, and from it alone."""
    if not isinstance(now, dict) or not now.get("drawn_from"):
        message = (
            f"no number was drawn from `{name}` itself, whose state is what it was before. Every call "
            f"that draws takes it, as `generator={name}`; a copy, or a new one with the same seed, "
            "would give the same numbers again in the next call"
        )
    else:
        message = (
            f"torch's own random state has changed, although `{name}` was given. Every call that draws "
            f"takes `generator={name}`, and nothing is seeded anew"
        )
    return Problem(Kind.RANDOMNESS, message)


def _identical(one: Any, other: Any) -> bool:
    return type(one) is type(other) and np.array_equal(as_numpy(one), as_numpy(other))


def _wrong_gradients(expected: dict[str, Any], got: dict[str, Any]) -> Problem | None:
    for name, wanted in expected.items():
        found = got.get(name)
        if wanted is None:
            continue
        if found is None:
            return Problem(
                Kind.GRADIENT,
                f"no gradient reaches `{name}`: is there a .detach(), .data, .item(), .numpy(), "
                "no_grad or requires_grad=False, or a torch.tensor(…) made from old values?",
            )
        if is_array(found) and not np.isfinite(as_numpy(found)).all():
            return Problem(
                Kind.GRADIENT,
                f"the gradient for `{name}` holds NaN or infinity. Some operations have no finite "
                "slope at some points: a square root at 0, a division by 0, a softmax over nothing "
                "but −∞. Does your result pass through one of them?",
            )
        problem = values_agree(wanted, found)
        if problem:
            return Problem(
                Kind.GRADIENT,
                f"the gradient for `{name}` is off: {problem}. Is there a .detach() or no_grad on "
                "one of the ways from it to the result?",
            )
    return None
