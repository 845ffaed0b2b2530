"""An error of the grader's own costs no student points: it is noted, and a person looks."""

import dataclasses
import sys
from concurrent.futures import Future

import pytest
import torch
from nbformat.v4 import new_code_cell
from nbgrader.api import Gradebook

from assignments import allowed_modules, load
from autograder import faults
from autograder.bank.measure import ours_may_answer
from autograder.batch.classroom import grade_and_compare
from autograder.batch.engine import engine_for
from autograder.checks import decide, heatmaps, judge, trial
from autograder.checks.verdicts import Obstacle
from autograder.grade import grading
from autograder.grade.messages import from_json, to_json
from autograder.grade.report import CHECK, Report
from autograder.probe import probe, runners
from autograder.probe.messages import CallRequest, ErrorSeen, Observation
from autograder.probe.probe import answer
from autograder.probe.wire import encode
from tests.sample_class import ASSIGNMENT, SETTINGS, hand_in, submission

PART = load(ASSIGNMENT).part("attention_weights")
RIGHT, WRONG = PART.reference, lambda x: (x @ x.mT).softmax(dim=0)


@pytest.fixture(autouse=True)
def _exams_anew():
    """Exams keep what the reference did, also with an error that was planted."""
    decide.drawn_for.cache_clear()
    yield
    decide.drawn_for.cache_clear()


class Kernel:
    """A kernel that holds one answer."""

    def __init__(self, code):
        self.names = {PART.name: code}

    def run(self, cell, index):
        pass

    def ask(self, message):
        return answer(message, self.names)


def graded(code):
    """What is decided of one answer, and the faults on the way."""
    source = f"from autograder.cell import grade\ngrade({ASSIGNMENT!r}, {PART.name!r})"
    going = grading.Grading(Kernel(code), load(ASSIGNMENT))
    with ours_may_answer():
        going.take(new_code_cell(source, metadata={"nbgrader": {"locked": True}}), 0)
    return going.verdicts[PART.name], going.faults


def failing(*_, **__):
    raise KeyError("traces_")


STAGES = {
    "the probe": (runners.RUNNERS, CallRequest, RIGHT, True),
    "the reference's reports": (decide.DrawnCases, "refuse_stopped_reference", RIGHT, True),
    "the comparison": (judge, "strict_differences", RIGHT, True),
    "what is charged once": (trial, "waived", WRONG, True),
    "names": (trial, "mistakes_in", WRONG, False),
    "relations": (trial, "diagnosis_of", WRONG, True),
    "pictures": (heatmaps, "_pairs", WRONG, False),
    "the decision": (grading, "decide", RIGHT, True),
}


@pytest.mark.parametrize("stage", STAGES)
def test_an_error_of_ours_in_any_stage_is_noted_and_never_charged(stage, monkeypatch):
    owner, name, code, undecided = STAGES[stage]
    before, none = graded(code)
    assert none == []
    if isinstance(owner, dict):
        monkeypatch.setitem(owner, name, failing)
    else:
        monkeypatch.setattr(owner, name, failing)
    decide.drawn_for.cache_clear()
    verdict, noted = graded(code)
    assert noted and all("KeyError: 'traces_'" in f"{fault.error}{fault.trace}" for fault in noted)
    assert all(PART.name in fault.doing for fault in noted)
    assert any(fault.undecided for fault in noted) == undecided
    if undecided:
        assert verdict.obstacle is Obstacle.FAULT
        assert verdict.remark == grading.UNDECIDED
        assert not any(step.problem for step in verdict.steps)
    else:
        assert verdict.earned == before.earned


def test_where_nobody_collects_the_error_is_raised(monkeypatch):
    monkeypatch.setattr(judge, "strict_differences", failing)
    with pytest.raises(KeyError, match="traces_"):
        faults.note("comparing", KeyError("traces_"))


PLANTED = {
    "an argument": (runners, "_materialise"),
    "a random state": (runners, "_random_states"),
    "what is left": (runners, "_afterwards"),
    "the runner": (runners, "run_case"),
    "a stand-in": (probe, "_in_place"),
    "the blocker": (probe, "OpBlocker"),
    "a message": (probe, "decode"),
}


@pytest.mark.parametrize("place", PLANTED)
@pytest.mark.parametrize("code", [RIGHT, WRONG], ids=["right", "wrong"])
def test_an_error_of_ours_over_a_students_answer_alone_is_not_told_as_the_students(
    place, code, monkeypatch
):
    owner, name = PLANTED[place]

    def stumble(_, message):
        with monkeypatch.context() as planted:
            planted.setattr(owner, name, failing)
            if name == "run_case":
                planted.setattr(probe, name, failing)
            return answer(message, {PART.name: code})

    monkeypatch.setattr(Kernel, "ask", stumble)
    verdict, noted = graded(code)
    assert verdict.obstacle is Obstacle.FAULT and verdict.remark == grading.UNDECIDED
    assert not any(step.problem for step in verdict.steps)
    assert noted and all(fault.undecided for fault in noted)
    assert all("KeyError: 'traces_'" in fault.error for fault in noted)


def test_what_a_submission_calls_a_fault_earns_nothing(monkeypatch):
    forged = Observation(status="fault", error=ErrorSeen("E" * 500, [], "x" * 5000, "\ud800"))
    monkeypatch.setattr(Kernel, "ask", lambda *_: encode([forged]))
    verdict, [fault] = graded(RIGHT)
    assert (verdict.earned, verdict.obstacle) == (0, Obstacle.FAULT)
    assert len(fault.error) < 2000


STUDENTS = {
    "the call": lambda x: 1 / 0,
    "its arguments": lambda: 0,
    "leaving": lambda x: sys.exit("done"),
    "an odd result": lambda x: x.to_sparse(),
    "the gradient": lambda x: x.detach().requires_grad_() @ Stuck.apply(x).mT,
}


class Stuck(torch.autograd.Function):
    """Has no way back."""

    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, gradient):
        raise ValueError("no way back")


@pytest.mark.parametrize("code", STUDENTS.values(), ids=STUDENTS)
def test_an_error_of_the_students_is_no_fault(code):
    verdict, noted = graded(code)
    assert noted == [] and verdict.earned < verdict.points
    assert verdict.obstacle is not Obstacle.FAULT


class Stumbling:
    """An engine whose workers failed over one part of every submission."""

    def __init__(self, engine):
        self.engine = engine

    def at_once(self):
        return self.engine.at_once()

    def submit(self, job, seconds):
        result = from_json(self.engine.submit(job, seconds).result(), Report)
        fault = faults.fault_of(f"deciding `{PART.name}`", KeyError("traces_"))
        scores = {**result.scores, f"{CHECK}{PART.name}": None}
        verdict = decide.nothing(PART, grading.UNDECIDED, Obstacle.FAULT)
        stumbled = Future()
        stumbled.set_result(
            to_json(
                dataclasses.replace(
                    result,
                    scores=scores,
                    verdicts={**result.verdicts, PART.name: verdict},
                    faults=(fault,),
                )
            )
        )
        return stumbled

    def close(self):
        self.engine.close()


@pytest.mark.long
def test_a_person_is_asked_and_the_log_says_where_it_came_from(tmp_path):
    course = tmp_path / "course"
    hand_in(course, {"ada": submission("right_loops")})
    settings = dataclasses.replace(SETTINGS, feedback=False)
    with engine_for(settings, allowed_modules(ASSIGNMENT)) as engine:
        (row,) = grade_and_compare(
            course, ASSIGNMENT, lambda *_: None, (), settings, Stumbling(engine)
        ).rows
    assert row.needs_person
    assert any("the grader itself failed while deciding" in reason for reason in row.reasons)
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        grades = gradebook.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, "ada").grades
        (grade,) = [one for one in grades if one.name == f"{CHECK}{PART.name}"]
        assert grade.auto_score is None and grade.needs_manual_grade
        assert not any(one.needs_manual_grade for one in grades if one is not grade)
    log = (course / "grading" / ASSIGNMENT / "log.txt").read_text(encoding="utf-8")
    assert f"ada: the grader itself failed while deciding `{PART.name}`: KeyError" in log
