"""Gradescope: a zip with which it builds a container, and the file that it reads after each submission.

The layout and the fields are those of "Autograder Specifications",
https://gradescope-autograders.readthedocs.io/en/latest/specs/.

    python -m autograder.platforms.gradescope ROOT      in the container, for one submission
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from autograder.grade.report import Report
from autograder.platforms.packaging import pack
from autograder.platforms.runner import grade_into, message_of, told_of

SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, as root, while it builds the container.
set -euo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
apt-get update
apt-get install -y python3 python3-venv libseccomp2 bubblewrap
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "Python 3.11 or newer is needed: choose the newest Ubuntu as base image" >&2
  exit 1
fi
python3 -m venv "$root/venv"
"$root/venv/bin/python" -m pip install --no-cache-dir -r "$root/source/requirements.txt"
"""
RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for each submission.
set -uo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
export PYTHONPATH="$root/source" PYTHONDONTWRITEBYTECODE=1
export AUTOGRADER_COURSE=$(cat "$root/source/course.txt")
cd "$root/source"
exec "$root/venv/bin/python" -P -m autograder.platforms.gradescope "$root"
"""


def export(course: Path, assignment: str, target: Path) -> Path:
    """Write the zip to upload, with its two scripts at the root of the archive."""
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder, "packed")
        pack(course, assignment, packed)
        for name, text in (("setup.sh", SETUP), ("run_autograder", RUN)):
            (packed / name).write_text(text, encoding="utf-8")
            (packed / name).chmod(0o755)
        target.mkdir(parents=True, exist_ok=True)
        return Path(shutil.make_archive(str(target / f"gradescope_{assignment}"), "zip", packed))


def results(report: Report, isolation: str) -> dict[str, Any]:
    """``results.json`` for a submission."""
    return {
        "score": report.earned,
        "execution_time": round(sum(report.seconds.values())),
        "output": message_of(report, isolation),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": verdict.part,
                "score": verdict.earned,
                "max_score": verdict.points,
                "status": "passed" if verdict.right else "failed",
                "output": told_of(verdict),
                "output_format": "text",
                "visibility": "visible",
            }
            for verdict in report.verdicts.values()
        ],
    }


if __name__ == "__main__":
    root = Path(sys.argv[1])
    sys.exit(
        grade_into(root / "results" / "results.json", root / "source", root / "submission", results)
    )
