"""What comes from a submission's process is checked and cut before anything else is done with it."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import torch

from autograder.files import cut
from autograder.probe.runners import Report
from autograder.probe.wire import Opaque, WireError, decode

LONGEST_NAME, MOST_NAMES = 80, 20
LONGEST_PROBLEM, LONGEST_VALUE = 1200, 2000
DEEPEST = 50  # of lists in lists: whoever looks at a value goes down by calls


def reports_in(message: bytes, number: int) -> list[Report]:
    """The reports in a message of the probe.

    Raises:
        WireError: it is no message, or not with so many reports that are what they claim to be.
    """
    found = decode(message)
    if not isinstance(found, list) or len(found) != number:
        raise WireError("not as many answers as were asked for")
    return [_report(item) for item in found]


def _report(item: Any) -> Report:
    try:
        report = msgspec.convert(item, Report)
    except (msgspec.ValidationError, RecursionError) as error:
        raise WireError(f"not what was asked for: {cut(str(error), LONGEST_NAME)}") from None
    if "status" not in report:
        raise WireError("an answer without a status")
    if report["status"] == "raised" and "error" not in report:
        raise WireError("an error that is none")
    if report["status"] == "unfit" and not (
        "kind" in report or ("has" in report and report.get("missing")) or report.get("shapes")
    ):
        raise WireError("something is unfit, but not what")
    if "error" in report:
        told = report["error"]
        told["type"] = cut(told["type"], LONGEST_NAME)
        told["types"] = [cut(name, LONGEST_NAME) for name in told["types"][:MOST_NAMES]]
        told["message"], told["line"] = cut(told["message"]), cut(told["line"])
    for names in (report.get("missing"), report.get("has")):
        if names is not None:
            names[:] = [cut(name, LONGEST_NAME) for name in names[:MOST_NAMES]]
    if "shapes" in report:
        report["shapes"] = [
            (cut(name, LONGEST_NAME), asked[:8], got[:8])
            for name, asked, got in report["shapes"][:MOST_NAMES]
        ]
    if "kind" in report:
        report["kind"] = cut(report["kind"], LONGEST_NAME)
    if "value" in report:
        report["value"] = _plain(report["value"])
    if "arguments" in report:
        report["arguments"] = _plain(report["arguments"])
    if "gradients" in report:
        report["gradients"] = _plain(report["gradients"])
    return report


def _plain(value: Any, depth: int = 0) -> Any:
    """A value with its texts cut, in which nothing is but what a student's code can return.

    Raises:
        WireError: it is nested too deeply.
    """
    if depth > DEEPEST:
        raise WireError(f"an answer of more than {DEEPEST} lists in lists")
    if value is None or isinstance(value, bool | int | float | torch.Tensor | np.ndarray | Opaque):
        return value
    if isinstance(value, str):
        return cut(value, LONGEST_VALUE)
    if isinstance(value, list | tuple):
        return type(value)(_plain(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return {
            cut(str(name), LONGEST_VALUE): _plain(item, depth + 1) for name, item in value.items()
        }
    return Opaque(type(value).__name__)
