"""The students' copy of the course holds what they need, and no answers."""

import importlib.util
import json
import os
import subprocess
import sys
import zipfile

import nbformat
import pytest
import yaml

from autograder.batch.release_text import own_text, without_self_check
from autograder.files import digest_of
from sources.links import dead_links
from tests.sample_class import ASSIGNMENT, ROOT, submission

specification = importlib.util.spec_from_file_location("handout", ROOT / "tools" / "handout.py")
handout = importlib.util.module_from_spec(specification)
specification.loader.exec_module(handout)

BOTH = pytest.mark.parametrize("self_check", [True, False], ids=["with", "without"])


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handout")
    for self_check in (True, False):
        handout.make_handout(folder / str(self_check), self_check)
    return {self_check: folder / str(self_check) for self_check in (True, False)}


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@BOTH
def test_it_has_all_to_read_and_no_answers(copies, self_check):
    there = files(copies[self_check])
    assert {f"exercises/{ASSIGNMENT}/{ASSIGNMENT}.ipynb", "course_map.md", "Makefile"} <= there
    lectures = {f"lectures/{path.name}" for path in (ROOT / "lectures").glob("*.ipynb")}
    assert lectures and lectures <= there
    tops = {name.split("/")[0] for name in there}
    assert not tops & {"solutions", "tests", "sources", "workspace", "grading", ".git"}
    assert ("autograder" in tops) == self_check
    banks = [name for name in there if name.startswith(f"assignments/{ASSIGNMENT}/answers/")]
    assert bool(banks) == self_check and f"assignments/{ASSIGNMENT}/notebook.py" not in there
    assert not [name for name in there if "__pycache__" in name or name.endswith(".pyc")]
    for path in copies[self_check].glob("exercises/*/*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert "BEGIN SOLUTION" not in text and "grade(" not in text, path


@BOTH
def test_conda_users_get_what_the_course_needs_and_no_tests(copies, self_check):
    ours, theirs = (
        yaml.safe_load((folder / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
        for folder in (ROOT, copies[self_check])
    )
    assert theirs[-1] == {"pip": ["--editable ."]}
    testing = {item.partition(">")[0] for item in ours[:-1]} - {
        item.partition(">")[0] for item in theirs[:-1]
    }
    assert testing == {"hypothesis", "nbval", "pytest", "pytest-xdist", "pyyaml"}
    assert "test" not in (copies[self_check] / "environment.yml").read_text(encoding="utf-8")


def test_without_the_grader_nothing_speaks_of_it(copies):
    folder = copies[False]
    for name in files(folder):
        if name.endswith((".ipynb", ".md", "Makefile", ".toml", ".yml")):
            text = (folder / name).read_text(encoding="utf-8")
            # the linters' settings and nbgrader's are for instructors, and name it as a string
            rest = text.split("[tool.", 1)[0] if name == "pyproject.toml" else text
            rest = rest.replace("from autograder.cell import checker", "")
            assert "autograder" not in rest and "No instructor?" not in rest, name
            assert "`check`" not in rest or not name.endswith(".ipynb"), name


@BOTH
def test_the_rest_of_the_text_stays(copies, self_check):
    path = f"exercises/{ASSIGNMENT}/{ASSIGNMENT}.ipynb"
    ours, theirs = (
        nbformat.read(folder / path, as_version=4) for folder in (ROOT, copies[self_check])
    )
    assert [cell.id for cell in ours.cells] == [cell.id for cell in theirs.cells]
    assert [cell.metadata for cell in ours.cells] == [cell.metadata for cell in theirs.cells]
    changed = [
        (one.source, other.source)
        for one, other in zip(ours.cells, theirs.cells, strict=True)
        if one.source != other.source
    ]
    assert len(changed) == 2 * (not self_check)
    for one, other in changed:
        assert "Your points are decided later by checks that try" in other or other.endswith(
            "did the work."
        )
        assert digest_of(other) in own_text(ROOT / "solutions", ASSIGNMENT)
        assert digest_of(one) in own_text(ROOT / "solutions", ASSIGNMENT)


def test_students_read_their_guide_and_no_other(copies):
    for self_check, folder in copies.items():
        readme = (folder / "README.md").read_text(encoding="utf-8")
        guide = (folder / "docs" / "students.md").read_text(encoding="utf-8")
        assert "| [Lecture 1" in readme and "(docs/students.md)" in readme
        assert "For instructors" not in readme and "make test" not in readme
        assert "## Hand in" in guide and "Validate" in guide
        assert ("autograder check" in guide) == self_check
        assert not (folder / "docs" / "instructors.md").exists()


@BOTH
def test_assistants_are_asked_to_be_tutors(copies, self_check):
    asked = (copies[self_check] / "AGENTS.md").read_text(encoding="utf-8")
    for rule in ("Ask first", "At most five lines", "never a whole part", "Do not edit them"):
        assert rule in asked
    assert "{" not in asked and ("autograder check" in asked) == self_check
    readme = (copies[self_check] / "README.md").read_text(encoding="utf-8")
    assert "(AGENTS.md)" in readme and "(docs/students.md#Ask-an-assistant)" in readme


@BOTH
def test_every_link_of_the_copy_leads_to_what_it_has(copies, self_check):
    folder = copies[self_check]
    pages = [folder / name for name in files(folder) if name.endswith((".md", ".ipynb"))]
    assert len(pages) > 25
    assert {page.name: dead for page in pages if (dead := dead_links(page))} == {}


def test_of_a_link_to_what_the_copy_lacks_the_words_stay(copies):
    text = (copies[True] / "lectures/08_transformer.ipynb").read_text(encoding="utf-8")
    assert "The website has a page for this view." in text


def test_the_readme_says_whom_it_is_for_and_where_to_hand_in(copies, monkeypatch, tmp_path):
    readme = (copies[True] / "README.md").read_text(encoding="utf-8")
    assert "the chain rule" in readme and "By the end of this course you will be able to" in readme
    assert "(course_map.md#A-plan-for-a-term)" in readme
    assert "## Where to hand in\n\nYour instructor says where" in readme
    monkeypatch.setattr(handout, "ROOT", tmp_path)
    (tmp_path / "handing_in.md").write_text("On **Moodle**, until Friday noon.\n", encoding="utf-8")
    own = handout.readme_of_students(handout.WHOLE)
    assert "## Where to hand in\n\nOn **Moodle**, until Friday noon.\n\n## Lectures" in own


def test_the_readme_has_the_dates_of_the_plan(monkeypatch, tmp_path):
    for name in ("nbgrader_config.py", "solutions", "lectures"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "term.toml").write_text(
        'zone = "Europe/Berlin"\n[lectures]\n2 = 2026-10-12\n9 = 2026-11-30\n'
        "[due]\na2_self_attention = 2026-10-19T23:59:00\na10_language_models = 2026-12-07T21:59:00Z\n"
    )
    monkeypatch.setattr(handout, "ROOT", tmp_path)
    head = "## Dates\n\n| day | until (Europe/Berlin) | what |\n|---|---|---|\n"
    first = (
        "| Monday, 12 October 2026 |  | lecture 2 |\n"
        "| Monday, 19 October 2026 | 23:59 | a2_self_attention is due |\n"
    )
    rest = (
        "| Monday, 30 November 2026 |  | lecture 9 |\n"
        "| Monday, 7 December 2026 | 22:59 | a10_language_models is due |\n"
    )
    whole = handout.readme_of_students(handout.WHOLE)
    assert f"{head}{first}{rest}\n## Lectures" in whole
    assert f"{head}{first}\n## Lectures" in handout.readme_of_students(handout.part_of("1-8"))


@pytest.mark.parametrize(
    ("only", "there", "not_there"),
    [
        ("", ["what such a picture proves", "since 2017"], []),
        ("1-8", ["a whole transformer, and train it"], ["such a picture", "since 2017", "a laptop"]),
        ("1-3 9-11", ["since 2017", "by matrix"], ["masks come before", "  them;", "a whole transformer"]),
    ],
)  # fmt: skip
def test_the_readme_of_a_part_promises_what_its_lectures_teach(only, there, not_there):
    text = handout.readme_of_students(handout.part_of(only))
    promised = text.partition("you will be able to")[2].partition("##")[0]
    assert [words for words in (*there, *not_there) if words in promised] == there
    assert promised.rstrip().endswith("swapped axes and wrong scales.") and "<!--" not in text


def test_other_text_is_left_alone():
    text = "You `check` it yourself. The last cell sums up."
    assert without_self_check(text) == text


def run_in(folder, where, *command):
    """Run Python where the copy's own packages come before those that are installed."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *command],
        cwd=where, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.long
def test_students_can_check_their_own_notebook(copies, tmp_path):
    folder = copies[True]
    nbformat.write(submission("softmax_over_columns"), tmp_path / f"{ASSIGNMENT}.ipynb")
    said = run_in(folder, tmp_path, "-c", "import autograder; print(autograder.__file__)").stdout
    assert said.startswith(str(folder))
    done = run_in(folder, tmp_path, "-m", "autograder", "check", f"{ASSIGNMENT}.ipynb")
    assert done.returncode == 1, done.stderr
    assert "self_attention: 3 of 3 points" in done.stdout
    assert "oftmax over the columns" in done.stdout


@pytest.mark.long
@BOTH
def test_the_lab_opens_on_the_copies(copies, self_check, tmp_path):
    folder = copies[self_check]
    program = (
        "import sys, json, pathlib; sys.path.insert(0, 'tools'); import lab;"
        f"lab.prepare_workspace(lab.ROOT, pathlib.Path({str(tmp_path / 'mine')!r}));"
        "print(json.dumps([str(lab.ROOT), lab.config_path(False)]))"
    )
    done = run_in(folder, folder, "-c", program)
    root, settings = json.loads(done.stdout)
    assert root == str(folder)
    assert all(os.path.isdir(path) for path in settings.split(os.pathsep))
    assert (tmp_path / "mine" / "exercises" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").exists()


@pytest.mark.long
def test_the_button_works_in_a_copy_without_the_grader(copies, tmp_path):
    folder = copies[False]
    nbformat.write(submission("softmax_over_columns"), tmp_path / "answer.ipynb")
    config = (folder / "nbgrader_config.py").read_text()
    assert "autograder" not in config and "use_engine" not in config
    (tmp_path / "nbgrader_config.py").write_text(config)
    done = run_in(folder, tmp_path, "-m", "nbgrader", "validate", "answer.ipynb")
    assert 'check("attention_weights")' in done.stdout and "AssertionError" in done.stdout, (
        done.stderr
    )


@BOTH
def test_students_get_no_settings_of_the_instructors(self_check, monkeypatch, tmp_path):
    own = (ROOT / "nbgrader_config.py").read_text(encoding="utf-8")
    own += '\nc.CourseDirectory.course_id = "ml4"\nc.CourseDirectory.db_url = "postgresql://me:secret@db/grades"\n'
    (tmp_path / "nbgrader_config.py").write_text(own, encoding="utf-8")
    (tmp_path / "autograder").symlink_to(ROOT / "autograder")
    monkeypatch.setattr(handout, "ROOT", tmp_path)
    given = handout.config_of_students(self_check)
    assert "course_id = 'ml4'" in given
    assert "secret" not in given and "db_url" not in given
    compile(given, "nbgrader_config.py", "exec")


def test_the_command_makes_a_folder_and_an_archive(tmp_path, capsys):
    handout.main(["--to", str(tmp_path), "--without-self-check"])
    assert "without self-check" in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / "attention-course.zip") as archive:
        names = archive.namelist()
    assert "attention-course/course_map.md" in names
    assert not [name for name in names if name.startswith("attention-course/autograder")]
