"""What stands below a run of tests: how checks fare, what was slow, and what was left to other runs."""

from collections import Counter
from dataclasses import dataclass, field

import pytest

MOST_FILES = 10
# a mark, and the command that runs what bears it
LATER = {"long": "make test-all", "slow": "make test-slow"}
LEFT = pytest.StashKey["Left"]()


@dataclass
class Left:
    """Tests that were found and not run because they are marked: by mark, the number in each file.

    Workers find them, and the summary is written by the process that started them, so it travels.
    """

    files: dict[str, Counter[str]] = field(default_factory=dict)

    def take(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Count those of the deselected tests that `-m` leaves to another command."""
        asked = config.getoption("markexpr")
        for item in items:
            marks = [
                mark for mark in LATER if f"not {mark}" in asked and item.get_closest_marker(mark)
            ]
            if marks:  # what is both is left to the command for the last
                self.files.setdefault(marks[-1], Counter())[item.nodeid.split("::")[0]] += 1


def left_of(config: pytest.Config) -> Left:
    return config.stash.setdefault(LEFT, Left())


def counted(number: int, what: str = "test") -> str:
    return f"{number:,} {what}{'s'[: number > 1]}"


def print_tally(terminal: pytest.TerminalReporter) -> None:
    """How the checks fared against the banks of answers."""
    reports = terminal.getreports("passed") + terminal.getreports("failed")
    found = [
        values
        for report in reports
        if report.when == "call"
        # an answer that fares alike on all seeds counts once
        for values in {tuple(value) for name, value in report.user_properties if name == "bank"}
    ]
    if not found:
        return
    from autograder.bank.measure import HEAD, Outcome, Tally  # only now: it brings PyTorch along

    outcomes = [Outcome(*values) for values in found]
    tally = Tally(outcomes)
    terminal.section("answers against the checks")
    row = "{:<32}{:<32}" + "{:>13}" * (len(HEAD) - 2)
    for line in (HEAD, *tally.rows(), ("together", "", *tally.total())):
        terminal.line(row.format(*line))


def print_slowest(terminal: pytest.TerminalReporter) -> None:
    """The files whose tests took longest, where there are many files."""
    seconds: Counter[str] = Counter()
    for report in reports_of(terminal):
        seconds[report.nodeid.split("::")[0]] += report.duration
    if len(seconds) <= MOST_FILES:
        return
    terminal.section("what took longest")
    for name, took in seconds.most_common(MOST_FILES):
        terminal.line(f"{took:7.1f} s  {name}")


def print_left_out(terminal: pytest.TerminalReporter) -> None:
    """How many tests did not run for want of something, and what: the reason says what to do."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminal.getreports("skipped")
        if isinstance(report.longrepr, (tuple, list))
    )
    if reasons:
        terminal.section("left out")
        for reason, number in reasons.most_common():
            terminal.line(f"{counted(number)}: {reason}")


def print_left_to_others(terminal: pytest.TerminalReporter, left: Left) -> None:
    """How many tests are left to the next command, and in which files most of them are."""
    mark = next((mark for mark in LATER if left.files.get(mark)), None)
    if mark is None:
        return
    files = left.files[mark]
    terminal.section(f"left to {LATER[mark]}")
    largest = files.most_common(MOST_FILES)
    for name, number in largest:
        terminal.line(f"{number:7,}  {name}")
    rest = len(files) - len(largest)
    if rest:
        others = files.total() - sum(number for _, number in largest)
        terminal.line(f"{others:7,}  in {counted(rest, 'further file')}")
    terminal.line(f"{files.total():7,}  together")


def reports_of(terminal: pytest.TerminalReporter) -> list[pytest.TestReport]:
    """All that was reported of tests: of each its setup, itself and its teardown."""
    return [
        report
        for reports in terminal.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
    ]
