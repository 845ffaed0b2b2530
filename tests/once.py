"""What has passed need not be run again, where two runs on one machine are to cover everything.

    pytest --once build/passed -m "not long"    runs what is quick, and notes what of it has passed
    pytest --once build/passed                  runs all others, also what was skipped or failed

Of a notebook, whose cells need those before them, it is all or nothing.
"""

import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest


def add_option(parser: pytest.Parser) -> None:
    said = "leave out the tests that FILE names, and add those that pass to it"
    parser.addoption("--once", metavar="FILE", type=lambda given: Path(given).resolve(), help=said)


def state_of(root: Path) -> str:
    """A digest of all that git knows of a folder, so that no test is left out that passed elsewhere."""
    digest = hashlib.sha256()
    for command in (["git", "rev-parse", "HEAD"], ["git", "diff", "HEAD"]):
        digest.update(subprocess.run(command, cwd=root, capture_output=True, check=True).stdout)
    return digest.hexdigest()


def passed_in(path: Path, root: Path) -> set[str]:
    """The ids of the tests that passed in runs before.

    Raises:
        pytest.UsageError: the file was written when the folder held something else.
    """
    if not path.exists():
        return set()
    state, *ids = path.read_text(encoding="utf-8").splitlines()
    if state != state_of(root):
        raise pytest.UsageError(
            f"{path} says what passed before the files in {root} were changed: remove it, or name another"
        )
    return set(ids)


def need_not_run(ids: Iterable[str], passed: set[str]) -> set[str]:
    """Those of all tests that have passed; of a notebook all cells or none."""
    ids = set(ids)
    again = {one.split("::")[0] for one in ids - passed}
    return {
        one
        for one in ids & passed
        if not (one.split("::")[0].endswith(".ipynb") and one.split("::")[0] in again)
    }


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what has passed before."""
    path = config.getoption("once", None)
    if path is None:
        return
    done = need_not_run((item.nodeid for item in items), passed_in(path, config.rootpath))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in done])
    items[:] = [item for item in items if item.nodeid not in done]


def note(config: pytest.Config, reports: Iterable[pytest.TestReport]) -> str:
    """Add to the file what has passed in this run; return what to say of it, if it was asked for."""
    path = config.getoption("once", None)
    if path is None:
        return ""
    before = passed_in(path, config.rootpath)
    reports = list(reports)
    others = {report.nodeid for report in reports if not report.passed}
    passed = {report.nodeid for report in reports} - others
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [state_of(config.rootpath), *sorted(before | passed)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return (
        f"{len(before)} tests had passed before, {len(passed)} have passed now, {len(others)} were "
        f"skipped or have failed: {path}"
    )
