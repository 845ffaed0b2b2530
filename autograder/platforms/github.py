"""GitHub: a workflow for plain repositories, and the same grader for Classroom 50.

Whoever hands in owns the repository or can read what its workflow fetches, so the checks are readable
there. The result is in the format of Classroom 50, ``classroom50/result/v1``, as "Advanced Autograding" of
its wiki has it, https://github.com/foundation50/classroom50/wiki/Advanced-Autograding.

    python -m autograder.platforms.github PACKED      in a checkout, writes result.json there
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.files import write_whole
from autograder.grade.report import Report
from autograder.platforms.packaging import pack
from autograder.platforms.runner import grade_here, message_of, told_of

SCHEMA = "classroom50/result/v1"
GRADER = "grader"
FENCE = re.compile(r"`{3,}")  # would end the text that the page shows as it is

WORKFLOW = """\
# Grades the notebook at every push. The checks lie in grader/, where everybody who has this
# repository can read and change them: for practice, and for what counts little.
name: grade
on: [push, workflow_dispatch]
permissions:
  contents: read
jobs:
  grade:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
          cache: pip
          cache-dependency-path: grader/requirements.txt
      - name: Let the sandbox make its namespaces
        run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0
      - name: Grade
        run: python grader/autograder.py
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: result
          path: result.json
"""
LAUNCHER = '''\
"""Installs what the grader needs, and grades the notebook in the working folder into result.json."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if os.environ.get("GRADER_INSTALL", "yes") == "yes":
    wanted = [sys.executable, "-m", "pip", "install", "--quiet", "-r", str(HERE / "requirements.txt")]
    subprocess.run(wanted, check=True)
course = (HERE / "course.txt").read_text(encoding="utf-8")
known = {**os.environ, "PYTHONPATH": str(HERE), "AUTOGRADER_COURSE": course, "PYTHONDONTWRITEBYTECODE": "1"}
sys.exit(subprocess.call([sys.executable, "-P", "-m", "autograder.platforms.github", str(HERE)], env=known))
'''


def export(course: Path, assignment: str, target: Path) -> Path:
    """Write what a repository needs: the workflow, and the grader as Classroom 50 wants it, too."""
    folder = target / f"github_{assignment}"
    shutil.rmtree(folder, ignore_errors=True)
    # a secret that everybody can read would be none
    pack(course, assignment, folder / GRADER, secret=False)
    (folder / GRADER / "autograder.py").write_text(LAUNCHER, encoding="utf-8")
    workflow = folder / ".github" / "workflows" / "grade.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(WORKFLOW, encoding="utf-8")
    return folder


def result(
    report: Report, isolation: str, assignment: str, known: Mapping[str, str]
) -> dict[str, Any]:
    """``result.json`` for a submission.

    Scores are whole numbers there, so where a step gives half a point all points count twice.

    Args:
        report: what became of it.
        isolation: how it was kept apart.
        assignment: its id, where the environment has no other name for it.
        known: the environment, of which Classroom 50's runner, or GitHub's alone, has set some.
    """
    verdicts = report.verdicts.values()
    steps = [step for verdict in verdicts for step in verdict.steps]
    halves = any(2 * points % 2 for step in steps for points in (step.points, step.earned))
    unit = 2 if halves else 1
    repository = f"{known.get('GITHUB_SERVER_URL', '')}/{known.get('GITHUB_REPOSITORY', '')}"
    commit = known.get("COMMIT_URL") or f"{repository}/commit/{known.get('GITHUB_SHA', '')}"
    tests = [
        {
            "test-name": verdict.part,
            "passed": verdict.right,
            "score": round(unit * verdict.earned),
            "max-score": round(unit * verdict.points),
            "output": told_of(verdict),
            "message": f"{verdict.earned:g} of {verdict.points:g} points",
        }
        for verdict in verdicts
    ]
    return {
        "schema": SCHEMA,
        "classroom": known.get("CLASSROOM") or known.get("GITHUB_REPOSITORY_OWNER", ""),
        "assignment": known.get("ASSIGNMENT") or assignment,
        "submission": known.get("SUBMISSION_TAG") or known.get("GITHUB_REF_NAME", ""),
        "commit": commit,
        "release": known.get("RELEASE_URL") or commit,
        "review": known.get("REVIEW_URL") or commit,
        "datetime": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
        "message": message_of(report, isolation),
    }


def main(packed: Path, folder: Path, known: Mapping[str, str]) -> int:
    """Grade the notebook in a checkout; exit status 0 whatever it earns."""
    from autograder.grade.messages import Job, from_json
    from autograder.platforms.packaging import JOB

    assignment = from_json((packed / JOB).read_bytes(), Job).assignment
    report, isolation = grade_here(packed, folder, may_be_open=True)
    found = result(report, isolation, assignment, known)
    write_whole(folder / "result.json", json.dumps(found, indent=2))
    each = [f"{verdict.part}\n{told_of(verdict)}" for verdict in report.verdicts.values()]
    text = "\n\n".join([found["message"], *each])
    print(text)
    if summary := known.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as page:
            page.write(f"```text\n{FENCE.sub('`', text)}\n```\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path.cwd(), os.environ))
