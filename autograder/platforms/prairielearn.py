"""PrairieLearn: a question whose external grader is this one, and the file that it reads afterwards.

The layout and the fields are those of "External Grading",
https://prairielearn.readthedocs.io/en/latest/externalGrading/.

    python -m autograder.platforms.prairielearn ROOT      in the container, for one submission
"""

from __future__ import annotations

import json
import shutil
import sys
import uuid
from pathlib import Path
from typing import Any

from autograder.batch.release_text import title_of
from autograder.grade.report import Report
from autograder.platforms.packaging import REQUIREMENTS, pack
from autograder.platforms.runner import grade_into, message_of, told_of

IMAGE = "course-grader"
SECONDS = 420  # beyond what one notebook may take; PrairieLearn allows 600
LARGEST = 900_000  # bytes; PrairieLearn takes a megabyte

DOCKERFILE = """\
# The image in which PrairieLearn runs the grader: docker build -t NAME .
FROM python:3.12-slim
RUN apt-get update && apt-get install -y libseccomp2 bubblewrap && rm -rf /var/lib/apt/lists/*
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
"""
RUN = """\
#!/usr/bin/env bash
# PrairieLearn runs this in the container, for each submission.
set -uo pipefail
root=${GRADE_ROOT:-/grade}
export PYTHONPATH="$root/tests" PYTHONDONTWRITEBYTECODE=1
export AUTOGRADER_COURSE=$(cat "$root/tests/course.txt")
cd "$root/tests"
exec python -P -m autograder.platforms.prairielearn "$root"
"""
QUESTION = """\
<pl-question-panel>
  <p>Hand in your notebook <code>{assignment}.ipynb</code>.</p>
</pl-question-panel>
<pl-file-upload file-names="{assignment}.ipynb"></pl-file-upload>
<pl-submission-panel>
  <pl-external-grader-results></pl-external-grader-results>
  <pl-file-preview></pl-file-preview>
</pl-submission-panel>
"""


def export(course: Path, assignment: str, target: Path, image: str = IMAGE) -> Path:
    """Write the question's folder, for ``questions/`` of a PrairieLearn course, and its image's Dockerfile.

    The image will be found under this name.
    """
    question = target / f"prairielearn_{assignment}"
    shutil.rmtree(question, ignore_errors=True)
    pack(course, assignment, question / "tests")
    (question / "tests" / "run.sh").write_text(RUN, encoding="utf-8")
    (question / "tests" / "run.sh").chmod(0o755)
    (question / "question.html").write_text(
        QUESTION.format(assignment=assignment), encoding="utf-8"
    )
    info = {
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, assignment)),
        "title": title_of(course, assignment),
        "topic": "Notebooks",
        "type": "v3",
        "gradingMethod": "External",
        "externalGradingOptions": {
            "enabled": True,
            "image": image,
            "entrypoint": "/grade/tests/run.sh",
            "timeout": SECONDS,
            "enableNetworking": False,
        },
    }
    (question / "info.json").write_text(
        json.dumps(info, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    image_folder = question / "image"
    image_folder.mkdir()
    (image_folder / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
    shutil.copy(question / "tests" / REQUIREMENTS, image_folder)
    return question


def results(report: Report, isolation: str) -> dict[str, Any]:
    """``results.json`` for a submission; one that cannot be read costs no attempt."""
    if broken := report.told or report.broken:
        return {
            "gradable": False,
            "format_errors": [broken],
            "message": message_of(report, isolation),
        }
    return {
        "gradable": True,
        "score": report.earned / report.of if report.of else 0.0,
        "message": message_of(report, isolation),
        "tests": [
            {
                "name": verdict.part,
                "description": verdict.signature,
                "points": verdict.earned,
                "max_points": verdict.points,
                "message": "all points" if verdict.right else "points were lost",
                "output": told_of(verdict)[: LARGEST // (2 * len(report.verdicts))],
            }
            for verdict in report.verdicts.values()
        ],
    }


if __name__ == "__main__":
    root = Path(sys.argv[1])
    sys.exit(
        grade_into(root / "results" / "results.json", root / "tests", root / "student", results)
    )
