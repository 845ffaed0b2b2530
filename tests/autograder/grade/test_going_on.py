"""Whatever ends or holds up a process costs the case over which it did, and nothing else."""

import pytest
from nbformat.v4 import new_code_cell

from assignments import allowed_modules
from autograder.grade.grading import NotebookStopped
from autograder.grade.messages import Job
from autograder.grade.run import SandboxedKernel, run_job
from autograder.probe.messages import CallRequest, Ending, Observation, Questions
from autograder.probe.wire import decode, encode
from autograder.sandbox import client, kernels
from autograder.sandbox.limits import Limits
from tests.autograder.busy import busy_machine
from tests.autograder.grade.handed_in import BATCH, HandedIn, solution, text_of
from tests.autograder.grade.test_run import released_cells
from tests.sample_class import ASSIGNMENT, ISOLATION

QUICK = Limits(seconds_per_cell=5, seconds_per_call=1, clock_per_call=1)
ENDINGS = {
    "os._exit(3)": Ending.EXIT,
    "__import__('ctypes').string_at(1)": Ending.CRASH,
    "sum(range(10**13))": None,  # no alarm is heard in C
    "time.sleep(100)": None,
    "deaf()": None,
}
CELLS = """
import os, signal, time
count = 0
def deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGPROF])
    time.sleep(100)
def f(x):
    global count
    count += 1
    if x == 2:
        {ending}
    return x
"""


@pytest.fixture(scope="module")
def forked():
    yield kernels.own_kernels(ISOLATION, allowed_modules(ASSIGNMENT))
    kernels.close()


@pytest.fixture(autouse=True)
def _less_patience(monkeypatch):
    monkeypatch.setattr(client, "SECONDS_OF_GRACE", 1)


def asked(kernel, numbers, steps):
    requests = [CallRequest(subject="f", arguments=[n], names=["x"]) for n in numbers]
    answers = kernel.ask(encode(Questions(requests=requests, steps=steps)))
    return decode(answers, list[Observation])


@pytest.mark.parametrize(
    "ending",
    [pytest.param(one, marks=[] if how else pytest.mark.long) for one, how in ENDINGS.items()],
)
def test_what_ends_or_holds_up_a_process_costs_its_own_step_alone(forked, ending):
    with SandboxedKernel(forked, QUICK, {"helper.py": b"helped = 3"}) as kernel:
        kernel.run(new_code_cell("import helper"), 0)
        kernel.run(new_code_cell(CELLS.format(ending=ending)), 1)
        seen = asked(kernel, [1, 2, 3, 4], [0, 1, 1, 2])
        assert [one.value for one in seen] == [1, None, None, 4]
        assert seen[1] == seen[2] and seen[1].ended is ENDINGS[ending]
        assert seen[1].status == ("ended" if ENDINGS[ending] else "timeout")
        cell = new_code_cell("print(helper.helped, f(7))")
        kernel.run(cell, 2)
        assert cell.outputs[0].text == "3 7\n"
        assert [one.value for one in asked(kernel, [5, 2], [0, 1])] == [5, None]
        assert [one.value for one in asked(kernel, [6], [0])] == [6]


def test_where_its_cells_do_not_run_once_more_nothing_does(forked):
    with SandboxedKernel(forked, QUICK, {"flag": b""}) as kernel:
        kernel.run(new_code_cell("import os\nif not os.path.exists('flag'): os._exit(1)"), 0)
        kernel.run(new_code_cell(CELLS.format(ending="os._exit(3)")), 1)
        kernel.files = {}  # as after a change that a cell has made outside of its process
        assert [one.status for one in asked(kernel, [2], [0])] == ["ended"]
        with pytest.raises(NotebookStopped, match="Is there an `os"):
            asked(kernel, [1], [0])


def test_all_processes_of_a_notebook_share_its_processor_time(forked):
    limits = Limits(seconds_per_cell=9, seconds_per_call=1, cpu=4)
    with SandboxedKernel(forked, limits, {}) as kernel:
        kernel.run(new_code_cell(CELLS.format(ending="sum(range(10**13))")), 0)
        with pytest.raises(NotebookStopped, match="the time of a whole notebook"):
            for _ in range(5):
                assert asked(kernel, [2], [0])[0].status == "timeout"


def test_a_right_answer_that_takes_its_time_earns_all_points_on_a_busy_machine(forked):
    """Each case is within its processor time; on the clock, one alone takes longer than it could wait."""
    slow = (
        "\n    import time\n    until = time.process_time() + 0.3\n"
        "    while time.process_time() < until: pass\n    return "
    )
    answer = slow.join(solution(ASSIGNMENT)[BATCH].rsplit("\n    return ", 1))
    text = text_of(HandedIn(answers={BATCH: answer}))
    limits = Limits(seconds_per_call=3, clock_per_call=1, clock_per_cell=2, seconds=2)
    job = Job(ASSIGNMENT, text, released_cells(ASSIGNMENT), ISOLATION, limits=limits)
    with busy_machine(4):
        report = run_job(job, forked)
    assert {name: v.earned for name, v in report.verdicts.items() if not v.right} == {}
