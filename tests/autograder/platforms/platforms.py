"""Other platforms, as folders on this machine, and the formats in which they read results.

The schemas are written from the platforms' documents: Gradescope's "Autograder Specifications",
PrairieLearn's "External Grading", and "Advanced Autograding" of Classroom 50's wiki.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat

from tests.sample_class import submission

TEXT, NUMBER = {"type": "string"}, {"type": "number", "minimum": 0}
FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}


def closed(required, **properties):
    """A schema of an object with these keys and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


GRADESCOPE = closed(
    ["tests"],
    score=NUMBER, execution_time=NUMBER, output=TEXT, output_format=FORMAT,
    test_output_format=FORMAT, test_name_format=FORMAT, visibility=VISIBILITY,
    stdout_visibility=VISIBILITY, extra_data={"type": "object"}, leaderboard={"type": "array"},
    tests={"type": "array", "items": closed(
        ["name", "score", "max_score"],
        score=NUMBER, max_score=NUMBER, status={"enum": ["passed", "failed"]}, name=TEXT,
        name_format=FORMAT, number=TEXT, output=TEXT, output_format=FORMAT,
        tags={"type": "array", "items": TEXT}, visibility=VISIBILITY, extra_data={"type": "object"},
    )},
)  # fmt: skip

PRAIRIELEARN = {
    "type": "object",
    "properties": {
        "gradable": {"type": "boolean"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "message": TEXT,
        "output": TEXT,
        "format_errors": {"anyOf": [TEXT, {"type": "array", "items": TEXT}]},
        "tests": {"type": "array", "items": closed(
            ["name", "points", "max_points"],
            name=TEXT, description=TEXT, points=NUMBER, max_points=NUMBER, message=TEXT, output=TEXT,
        )},
    },
    # what cannot be graded has no score, and everything else has one
    "if": {"properties": {"gradable": {"const": False}}, "required": ["gradable"]},
    "then": {"required": ["format_errors"], "not": {"required": ["score"]}},
    "else": {"required": ["score"]},
}  # fmt: skip

PRAIRIELEARN_INFO = {
    "type": "object",
    "required": ["uuid", "title", "topic", "type", "gradingMethod", "externalGradingOptions"],
    "properties": {
        "uuid": {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
        "title": TEXT,
        "topic": TEXT,
        "type": {"const": "v3"},
        "gradingMethod": {"const": "External"},
        "externalGradingOptions": closed(
            ["image"],
            enabled={"type": "boolean"}, image=TEXT, entrypoint={"type": "string", "pattern": "^/"},
            serverFilesCourse={"type": "array", "items": TEXT},
            timeout={"type": "integer", "maximum": 600}, enableNetworking={"type": "boolean"},
            environment={"type": "object"},
        ),
    },
}  # fmt: skip

CLASSROOM_50 = {
    "type": "object",
    "required": [
        "schema", "classroom", "assignment", "submission", "commit", "release", "review", "datetime",
        "score", "max-score", "tests",
    ],
    "properties": {
        "schema": {"const": "classroom50/result/v1"},
        **{key: {"type": "string", "minLength": 1} for key in ("classroom", "assignment", "submission")},
        **{key: {"type": "string", "pattern": "^https://"} for key in ("commit", "release", "review")},
        "datetime": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "score": {"type": "integer", "minimum": 0},
        "max-score": {"type": "integer", "minimum": 0},
        "tests": {"type": "array", "items": {
            "type": "object",
            "required": ["test-name", "passed", "score", "max-score"],
            "properties": {
                "test-name": TEXT, "passed": {"type": "boolean"},
                "score": {"type": "integer", "minimum": 0},
                "max-score": {"type": "integer", "minimum": 0},
                "output": TEXT, "message": TEXT,
            },
        }},
    },
}  # fmt: skip

GITHUB = {
    "GITHUB_SERVER_URL": "https://code.example",
    "GITHUB_REPOSITORY": "teacher/notebooks-ada",
    "GITHUB_REPOSITORY_OWNER": "teacher",
    "GITHUB_SHA": "0123abc",
    "GITHUB_REF_NAME": "main",
}


def hand_in(folder, student, name):
    """A submission of the sample class, in a folder as a platform puts it there."""
    folder.mkdir(parents=True, exist_ok=True)
    notebook = submission(student)
    text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
    (folder / name).write_text(text, encoding="utf-8")


def without_the_course(**more):
    """An environment in which nothing leads to this repository, with this Python's programs first."""
    own = str(Path(sys.executable).parent)
    dropped = ("PYTHONPATH", "AUTOGRADER_COURSE")
    known = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**known, "PATH": f"{own}{os.pathsep}{known['PATH']}", **more}


def gradescope_container(archive, root):
    """What Gradescope makes of a zip: everything in ``source``, the script beside it, and an environment."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(root / "source")
    script = root / "run_autograder"
    script.write_bytes((root / "source" / "run_autograder").read_bytes())
    script.chmod(0o755)
    (root / "venv").symlink_to(sys.prefix)  # as setup.sh makes one
    (root / "results").mkdir()
    return [str(script)]


def run(command, cwd, **known):
    return subprocess.run(
        command, cwd=cwd, env=without_the_course(**known), capture_output=True, text=True, check=False
    )  # fmt: skip


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))
