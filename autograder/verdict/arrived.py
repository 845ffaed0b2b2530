"""What comes from a submission's process is checked and cut before anything else is done with it."""

from __future__ import annotations

from typing import Any

import msgspec

from autograder.files import cut
from autograder.probe.experiments import Report
from autograder.probe.wire import WireError, decode

LONGEST_NAME, MOST_NAMES = 80, 20
LONGEST_PROBLEM = 1200


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
    return report
