"""How jobs go through an engine: several at a time, each once, and what is known already does not go there."""

from concurrent.futures import Future

import pytest

from autograder.batch.run import MOST_TOGETHER, key_of, run_jobs
from autograder.checks.verdicts import Behaviour
from autograder.errors import EngineError
from autograder.grade.messages import Job, from_json, to_json
from autograder.grade.report import Report
from autograder.sandbox import bubblewrap


def job(digest, **more):
    return Job("a1", f"notebook {digest}", (), bubblewrap.NONE, digest=digest, **more)


class Scripted:
    """An engine that answers at once, with a remark that tells the notebook, or as it is told."""

    def __init__(self, at_once=2, answers=None):
        self.most, self.answers = at_once, answers or {}
        self.asked, self.seconds = [], []

    def at_once(self):
        return self.most

    def submit(self, sent, seconds):
        notebook = from_json(sent, Job).notebook
        self.asked.append(notebook)
        self.seconds.append(seconds)
        answer = self.answers.get(notebook, Report(remark=notebook))
        future = Future()
        if isinstance(answer, Exception):
            future.set_exception(answer)
        elif answer is not None:
            future.set_result(to_json(answer))
        return future


def run(jobs, folder, engine, recorded=lambda *_: False, again=False):
    return list(run_jobs(jobs, "common", folder, engine, recorded, again))


def test_each_job_has_one_result_which_is_kept_and_not_asked_for_again(tmp_path):
    jobs = [(name, job(name)) for name in "abc"]
    engine = Scripted()
    groups = run(jobs, tmp_path, engine)
    assert [len(works) <= 2 for works in groups] == [True] * len(groups)
    assert {work.student: work.result.remark for works in groups for work in works} == {
        name: f"notebook {name}" for name in "abc"
    }
    assert len(engine.asked) == len(list(tmp_path.glob("*.json"))) == 3
    (works,) = run(jobs, tmp_path, engine)
    assert [work.result.remark for work in works] == ["notebook a", "notebook b", "notebook c"]
    assert len(engine.asked) == 3
    run(jobs, tmp_path, engine, again=True)
    assert len(engine.asked) == 6


def test_the_same_work_that_came_in_again_has_its_result_and_the_new_time(tmp_path):
    run([("ada", job("x", came_in="monday"))], tmp_path, Scripted())
    ((work,),) = run([("ada", job("x", came_in="tuesday"))], tmp_path, Scripted(answers=None))
    assert work.came_in == work.result.came_in == "tuesday"
    assert work.result.digest == "x"


def test_what_is_recorded_is_not_even_read(tmp_path):
    jobs = [("ada", job("x"))]
    key = key_of(*jobs[0], "common")
    (tmp_path / f"{key}.json").write_text("unreadable")
    ((work,),) = run(jobs, tmp_path, None or Scripted(), lambda *known: known == ("ada", key))
    assert (work.key, work.result) == (key, None)


def test_a_kept_result_that_is_spoilt_is_made_again(tmp_path):
    jobs = [("ada", job("x"))]
    path = tmp_path / f"{key_of(*jobs[0], 'common')}.json"
    path.write_text("unreadable")
    ((work,),) = run(jobs, tmp_path, Scripted())
    assert work.result.remark == from_json(path.read_bytes(), Report).remark == "notebook x"


@pytest.mark.parametrize(
    ("answer", "kept"), [(Report("no room"), 0), (Report("died", poisoned=True), 1)]
)
def test_only_what_will_not_become_better_is_kept(tmp_path, answer, kept):
    run([("ada", job("x"))], tmp_path, Scripted(answers={"notebook x": answer}))
    assert len(list(tmp_path.glob("*.json"))) == kept


def test_a_result_in_the_place_of_a_job_is_handed_on(tmp_path):
    why = Report("no notebook", digest="x", came_in="monday")
    ((work,),) = run([("ada", why)], tmp_path, Scripted())
    assert (work.key, work.digest, work.came_in, work.result) == ("", "x", "monday", why)


def test_a_result_that_cannot_be_read_is_that_students_alone(tmp_path):
    """JSON has no number without end, and writes nothing in its place."""
    odd = Report(behaviours={"p": Behaviour((), (float("nan"),))})
    engine = Scripted(answers={"notebook b": odd})
    groups = run([(name, job(name)) for name in "abc"], tmp_path, engine)
    broken = {work.student: work.result.broken for works in groups for work in works}
    assert broken.pop("b").startswith("its result cannot be read: Expected `float`, got `null`")
    assert broken == {"a": "", "c": ""}
    assert len(list(tmp_path.glob("*.json"))) == 2, "it is tried again"


def test_half_a_character_stops_nobody(tmp_path):
    ((bad, good),) = run([("ada", job("\ud800")), ("bob", job("x"))], tmp_path, Scripted())
    assert "cannot be sent: UnicodeEncodeError" in bad.result.broken
    assert good.result.remark == "notebook x"


def test_an_engine_that_fails_says_so_and_what_it_did_before_is_kept(tmp_path):
    engine = Scripted(at_once=1, answers={"notebook b": EngineError("no more")})
    with pytest.raises(EngineError, match="no more"):
        run([("ada", job("a")), ("bob", job("b"))], tmp_path, engine)
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_jobs_are_taken_as_they_are_needed_and_what_is_known_comes_in_groups(tmp_path):
    taken = []

    def jobs():
        for number in range(3 * MOST_TOGETHER):
            taken.append(number)
            yield f"s{number}", Report("no notebook")

    first = next(run_jobs(jobs(), "common", tmp_path, Scripted(), lambda *_: False))
    assert len(first) == len(taken) == MOST_TOGETHER


def test_whoever_stops_listening_leaves_nothing_waiting(tmp_path):
    engine = Scripted(answers={"notebook a": None})
    left = []
    submit = engine.submit
    engine.submit = lambda *asked: left.append(submit(*asked)) or left[-1]
    running = run_jobs(
        [("ada", job("a")), ("bob", job("b"))], "common", tmp_path, engine, lambda *_: False
    )
    next(running)
    running.close()
    assert left[0].cancelled()


def test_a_key_depends_on_the_student_the_work_and_the_class():
    keys = {
        key_of("ada", job("x"), "common"),
        key_of("bob", job("x"), "common"),
        key_of("ada", job("y"), "common"),
        key_of("ada", job("x", remark="files were left out"), "common"),
        key_of("ada", job("x"), "another"),
    }
    assert len(keys) == 5
    assert key_of("ada", job("x", came_in="later"), "common") in keys
