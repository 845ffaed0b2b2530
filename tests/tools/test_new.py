"""What is laid out anew is complete: it builds, and passes every test that concerns it."""

import re

import pytest

from tests.course_copy import copy_course, run
from tests.sample_class import ROOT
from tools.new import NotNew, lay_out

pytestmark = pytest.mark.long

ASSIGNMENT, LECTURE = "a14_centred_rows", "13_centred_rows"


@pytest.fixture
def page(tmp_path):
    """The only file that both kinds change, as it is where nothing was added yet."""
    (tmp_path / "sources" / "lectures").mkdir(parents=True)
    (tmp_path / "assignments").mkdir()
    path = tmp_path / "sources" / "COVERAGE.md"
    path.write_text("# What is taught where\n\n| a | b |\n|---|---|\n")
    return path


def test_an_assignment_has_its_files_and_its_line(page, tmp_path):
    found = lay_out(tmp_path, "assignment", ASSIGNMENT)
    assert {path.name for path in found} == {
        "__init__.py", "notebook.py", "rubric.py", "answers.py", "COVERAGE.md",
    }  # fmt: skip
    for path in found:
        text = path.read_text(encoding="utf-8")
        assert re.search(r"\$(name|part|title|number)", text) is None
        if path.suffix == ".py":
            compile(text, str(path), "exec")
    lecture, _ = lay_out(tmp_path, "lecture", LECTURE)
    for target in re.findall(r"\]\((\S+\.ipynb)\)", lecture.read_text(encoding="utf-8")):
        assert (ROOT / "lectures" / target).exists(), f"the template links to {target}"
    assert "Pictures end with" in lecture.read_text(encoding="utf-8"), "as its line says"
    assert page.read_text().endswith(
        "| a | b |\n|---|---|\n\n## Beyond the documents\n\n| what | taught in |\n|---|---|\n"
        "| centred rows | a14 `centred_rows` |\n"
        "| centred rows | [13 §1 First section](../lectures/13_centred_rows.ipynb#1.-First-section) “Pictures end with” |\n"
    )


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("assignment", "masks", "such as a14_title"),
        ("assignment", "a0_masks", "begins with its place"),
        ("assignment", "a14-masks", "no name for an assignment"),
        ("assignment", "a14_Masks", "small letters"),
        ("assignment", "a14_class", "a word of Python"),
        ("assignment", "../a14_masks", "no name"),
        ("lecture", "9_title", "no name for a lecture. .* such as 13_title"),
        ("lecture", "13", "no name for a lecture"),
    ],
)
def test_a_name_that_will_not_do_is_refused_in_words(page, tmp_path, kind, name, message):
    with pytest.raises(NotNew, match=message):
        lay_out(tmp_path, kind, name)
    assert list(tmp_path.glob("assignments/*")) == list(tmp_path.glob("sources/lectures/*")) == []


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [("assignment", ASSIGNMENT, "a14_masks"), ("lecture", LECTURE, LECTURE)],
)
def test_a_place_that_is_taken_stays_as_it_is(page, tmp_path, kind, first, second):
    found = lay_out(tmp_path, kind, first)
    before = [path.read_text(encoding="utf-8") for path in found]
    with pytest.raises(NotNew, match=f"is taken: there is .*{first}"):
        lay_out(tmp_path, kind, second)
    assert [path.read_text(encoding="utf-8") for path in found] == before


def test_a_new_assignment_is_green(tmp_path):
    course = copy_course(tmp_path)
    said = run(course, f"make new-assignment NAME={ASSIGNMENT}")
    assert f"assignments/{ASSIGNMENT}/rubric.py" in said
    run(course, f"ruff check . && ruff format --check . && mypy assignments/{ASSIGNMENT}")
    run(course, f"make build ONLY={ASSIGNMENT} && make accuracy ONLY={ASSIGNMENT}")
    said = run(
        course,
        "python -m pytest -v tests/autograder/test_checks.py tests/assignments tests/notebooks "
        "tests/build/test_build.py tests/tools/test_accuracy.py -k 'a14 or course_map'",
    )
    assert ASSIGNMENT in said


def test_a_new_lecture_is_green(tmp_path):
    course = copy_course(tmp_path)
    run(course, f"make new-lecture NAME={LECTURE} && make build ONLY={LECTURE}")
    run(
        course,
        "ruff check . && ruff format --check . && python -m pytest -q tests/build tests/notebooks "
        "-k '13_centred or course_map'",
    )
    run(course, f"python -m pytest -q --nbval lectures/{LECTURE}.ipynb")
