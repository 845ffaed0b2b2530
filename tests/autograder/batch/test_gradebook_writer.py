"""What the recorder reads and writes besides the gradebook's own: names, its journal."""

from types import SimpleNamespace

import pytest
from nbgrader.api import Gradebook, Student

from autograder.batch.entries import one_transaction
from autograder.batch.gradebook_writer import GradebookWriter, shown_as
from autograder.batch.run import Work
from autograder.batch.settings import Settings
from autograder.batch.student_result import StudentResult

ASSIGNMENT = "a0_doubles"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("data.csv", "data.csv"),
        ("PICTURE.PNG", "PICTURE.PNG"),
        ("page.html", "page.html.txt"),
        ("image.svg", "image.svg.txt"),
        ("bare", "bare.txt"),
    ],
)
def test_nothing_is_served_that_a_browser_runs(name, shown):
    assert shown_as(name) == shown


@pytest.fixture
def gradebook(tmp_path):
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as opened:
        yield opened


def students(gradebook):
    return sorted(name for (name,) in gradebook.db.query(Student.id))


def test_a_transaction_is_written_whole(gradebook):
    with one_transaction(gradebook):
        gradebook.add_student("ada")
        gradebook.add_student("bob")
    gradebook.db.rollback()
    assert students(gradebook) == ["ada", "bob"]


def test_of_a_transaction_that_fails_nothing_stays(gradebook):
    gradebook.add_student("ada")
    with pytest.raises(KeyboardInterrupt), one_transaction(gradebook):
        gradebook.add_student("bob")
        raise KeyboardInterrupt
    assert students(gradebook) == ["ada"]
    gradebook.add_student("eve")
    gradebook.db.rollback()
    assert students(gradebook) == ["ada", "eve"], "commits count again"


@pytest.fixture
def recorder(tmp_path):
    """Makes recorders on one course folder, whose gradebook is never asked."""
    gradebook = SimpleNamespace(db=SimpleNamespace)
    kept = tmp_path / "kept"
    kept.mkdir()
    page = tmp_path / "feedback" / "ada" / ASSIGNMENT / f"{ASSIGNMENT}.html"
    page.parent.mkdir(parents=True)
    page.write_text("seen")

    def make():
        made = GradebookWriter(None, tmp_path, ASSIGNMENT, gradebook, kept, Settings())
        made.rows["ada"] = StudentResult("ada", 1, 2, shown="digest")
        return made

    return make


def test_a_page_that_stands_is_known_on_the_next_start(recorder):
    first = recorder()
    assert first.without_feedback() == ["ada"]
    first.take_feedback("ada", written=True)
    assert first.without_feedback() == recorder().without_feedback() == []


def test_a_page_that_was_written_since_or_shows_less_is_made_again(recorder):
    first = recorder()
    first.take_feedback("ada", written=True)
    first.rows["ada"] = StudentResult("ada", 1, 2, shown="another digest")
    assert first.without_feedback() == ["ada"]
    again = recorder()
    again._feedback("ada").unlink()
    assert again.without_feedback() == ["ada"]


def test_a_page_that_could_not_be_written_is_said(recorder):
    held = recorder()
    held.take_feedback("ada", written=False)
    assert held.rows["ada"].needs_person
    assert "no feedback page could be written" in held.rows["ada"].reasons[0]


def test_a_row_that_failed_wants_no_page(recorder):
    held = recorder()
    held.rows["bob"] = StudentResult("bob", 0, 2, failed=True)
    assert held.without_feedback() == ["ada"]


def test_the_last_line_of_a_run_that_was_killed_is_left_out(recorder):
    first = recorder()
    first._note("ada", "key", "digest")
    with first.journal.open("a") as file:
        file.write('{"student": "bob", "key": "ke')
    assert recorder().recorded == first.recorded
    assert list(first.recorded) == ["ada"]


@pytest.mark.parametrize(
    ("noted", "digest", "same"),
    [
        ("work+files", "work+files", True),
        ("work+files", "work+others", False),
        ("work+files", "other+files", False),
        ("work", "work+files", True),
        ("work", "other+files", False),
    ],
)
def test_a_journal_from_before_files_counted_knows_the_notebook_alone(
    recorder, noted, digest, same
):
    held = recorder()
    held._note("ada", "key", noted)
    again = recorder()
    assert again.same_work("ada", digest) == same
    assert again.replaces(Work("ada", "another key", digest, "")) == same


def test_a_folder_whose_name_is_no_text_is_refused(recorder):
    held = recorder()
    held.take([Work("a\udcffb", "key", "digest", "")])
    assert held.rows["a\udcffb"].failed and "not UTF-8" in held.rows["a\udcffb"].reasons[0]
