"""What is numbered is listed by number, wherever it is listed."""

from pathlib import Path, PurePosixPath

import pytest

from autograder import files
from autograder.batch.course import assignments_of, open_assignment, open_course
from autograder.checks.course import known
from autograder.errors import CourseError
from autograder.order import by_number
from tests.sample_class import ROOT

IN_ORDER = ["a1_one", "a2_two", "a9_nine", "a10_ten", "a100_hundred"]


@pytest.mark.parametrize(
    "names",
    [
        IN_ORDER,
        ["01_x", "2_x", "09_x", "10_x"],
        ["a2_x", "a2_y", "b1_x"],
        ["lectures/2/part 3", "lectures/2/part 20", "lectures/10/part 1"],
        ["1", "2a", "10", "a", "a1b2", "a1b10"],
    ],
)
def test_numbers_and_not_digits_decide(names):
    backwards = names[::-1]
    assert sorted(backwards, key=by_number) == names
    paths = map(PurePosixPath, backwards)
    assert sorted(paths, key=by_number) == list(map(PurePosixPath, names))


def test_two_ways_to_write_a_number_have_one_order():
    assert sorted(["a01", "a1"], key=by_number) == sorted(["a1", "a01"], key=by_number)


def test_assignments_that_the_grader_knows_stand_by_number():
    numbers = [int(name.partition("_")[0].removeprefix("a")) for name in known()]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 9


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "course"
    for name in IN_ORDER:
        (folder / "solutions" / name).mkdir(parents=True)
        (folder / "solutions" / name / f"{name}.ipynb").write_text("{}")
    config = (ROOT / "nbgrader_config.py").read_text(encoding="utf-8")
    (folder / "nbgrader_config.py").write_text(config, encoding="utf-8")
    return folder


def test_what_a_course_folder_holds_is_listed_by_number(course):
    assert assignments_of(open_course(course), course) == IN_ORDER
    with pytest.raises(CourseError, match=f"There are: {', '.join(IN_ORDER)}"):
        open_assignment(course, "a3_three")


def test_the_tables_of_the_course_are_by_number():
    for page in ("README.md", "course_map.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        places = [text.find(f"exercises/{name}/") for name in known()]
        assert -1 not in places and places == sorted(places), page
        lectures = sorted(Path(ROOT, "lectures").glob("*.ipynb"), key=by_number)
        places = [text.find(f"lectures/{path.name}") for path in lectures]
        assert -1 not in places and places == sorted(places), page


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a2", "a2_self_attention"), ("2", "a2_self_attention"), ("a1", "a1_rnn_attention"),
        ("A2_Self_Attention", "a2_self_attention"), ("exercises/a4_masks/a4_masks.ipynb", "a4_masks"),
        ("a2_self_atention", "a2_self_attention"), ("a14", ""), ("masks", "a4_masks"), ("", ""), ("x" * 100_000, ""),
    ],
)  # fmt: skip
def test_a_name_that_there_is_not_is_answered_with_the_one_that_was_meant(written, meant):
    assert files.meant(written, known()) == (f"Did you mean {meant}?" if meant else "")
