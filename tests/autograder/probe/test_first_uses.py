"""What PyTorch imports at a first use is imported before the clock starts, in a grader's kernel and a student's own."""

import subprocess
import sys

import pytest

from autograder.probe.messages import CallRequest, Observation, Questions
from autograder.probe.wire import decode, encode
from autograder.sandbox import kernels
from autograder.sandbox.client import KernelClient
from autograder.sandbox.limits import Limits
from tests.sample_class import ISOLATION

# an answer that says how many modules came while it was asked
COUNTS = """
import sys, torch
def f(x):
    before = len(sys.modules)
    {use}
    return len(sys.modules) - before
"""
USES = {
    "assert_close": "torch.testing.assert_close(torch.ones(2), torch.ones(2))",
    "gradcheck": (
        "torch.autograd.gradcheck(lambda y: y * 2, torch.ones(2, dtype=torch.double, requires_grad=True))"
    ),
    "optim": "torch.optim.Adam([torch.nn.Parameter(torch.ones(2))])",
    "checkpoint": (
        "torch.utils.checkpoint.checkpoint(lambda y: y * 2, torch.ones(2, requires_grad=True), use_reentrant=False)"
    ),
    "meta": "torch.empty(2, device='meta') + 1",
}
FEW = 10  # modules of its own that each may bring


@pytest.fixture(scope="module")
def zygote():
    yield kernels.own_kernels(ISOLATION)
    kernels.close()


def modules_that_come(kernel):
    request = CallRequest(subject="f", arguments=[1], names=["x"])
    [seen] = decode(kernel.ask(encode(Questions(requests=[request]))), list[Observation])
    assert seen.status == "returned", seen
    return seen.value


@pytest.mark.parametrize("use", USES)
def test_a_cell_that_will_use_it_has_it_imported(use, zygote):
    with KernelClient(zygote, Limits()) as kernel:
        kernel.run(COUNTS.format(use=USES[use]), "id", lambda *_: None)
        assert modules_that_come(kernel) <= FEW


def test_a_file_that_will_use_it_has_it_imported(zygote):
    files = [("helper.py", COUNTS.format(use=USES["assert_close"]).encode())]
    with KernelClient(zygote, Limits(), files) as kernel:
        kernel.run("from helper import f", "id", lambda *_: None)
        assert modules_that_come(kernel) <= FEW


def test_who_uses_none_of_it_waits_for_none_of_it(zygote):
    with KernelClient(zygote, Limits()) as kernel:
        kernel.run("import sys\nold = len(sys.modules)\nimport torch", "id", lambda *_: None)
        kernel.run("def f(x): return len(sys.modules) - old", "id", lambda *_: None)
        assert modules_that_come(kernel) <= FEW


OWN_KERNEL = """
import sys, types
from autograder import cell
shell = types.SimpleNamespace(
    user_ns={}, ask_exit=None, history_manager=types.SimpleNamespace(input_hist_raw=["torch.testing.assert_close(x, x)"])
)
cell.get_ipython = lambda: shell
shell.user_ns["b"] = None
part = types.SimpleNamespace(name="b", may_call=(), steps=(), signature="", reads=("", ""))
cell.load = lambda _: types.SimpleNamespace(part=lambda _: part, parts=(part,), name="a", course=types.SimpleNamespace(handed_out=lambda _: {}))
def decide(*_, **__):
    import torch
    before = len(sys.modules)
    torch.testing.assert_close(torch.ones(2), torch.ones(2))
    print(len(sys.modules) - before)
    raise SystemExit
cell.decide = decide
cell.grade("a", "b")
"""


def test_a_students_own_kernel_has_it_imported_before_it_decides():
    done = subprocess.run(
        [sys.executable, "-c", OWN_KERNEL], capture_output=True, text=True, check=False
    )
    assert int(done.stdout or 999) <= FEW, done.stderr
