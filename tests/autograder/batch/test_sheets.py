"""A run asks all whom it grades the same, a later one something else, and who is graded again what was asked before."""

import pytest

from autograder.batch import classroom
from autograder.batch.settings import Settings
from tests.sample_class import ISOLATION, grade, hand_in, submission

QUICK = {"workers": 1, "isolation": ISOLATION, "feedback": False}


@pytest.fixture
def asked(monkeypatch):
    """The sheet of each student whom the last run has graded."""
    sheets = {}
    run = classroom.run_jobs

    def noted(jobs, *given):
        sheets.clear()
        yield from run(((who, sheets.setdefault(who, job)) for who, job in jobs), *given)

    monkeypatch.setattr(classroom, "run_jobs", noted)
    return lambda: {student: job.sheet for student, job in sheets.items()}


def test_a_run_has_one_sheet_and_the_next_another(tmp_path, asked):
    hand_in(tmp_path, dict.fromkeys(("ada", "bob"), submission("right_loops")))
    grade(tmp_path, settings=Settings(**QUICK, dry_run=True))
    tried = asked()
    [both, again] = [grade(tmp_path, settings=Settings(**QUICK)) for _ in range(2)]
    assert asked() == tried == {"ada": "1", "bob": "1"}
    assert [row.points for row in (*both, *again)] == [10, 10] * 2
    hand_in(tmp_path, {"bob": submission("softmax_over_columns"), "eve": submission("right_loops")})
    grade(tmp_path, settings=Settings(**QUICK))
    assert asked() == {"ada": "1", "bob": "2", "eve": "2"}
    hand_in(tmp_path, {"bob": submission("right_loops")})
    grade(tmp_path, settings=Settings(**QUICK, again=True))
    assert asked() == {"ada": "1", "bob": "1", "eve": "2"}, (
        "what came in once is asked as it was then"
    )
