"""Ours stands in for a wrong part or is handed over, and no way of looking at it shows anything of ours."""

import ast
import inspect

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell

from assignments import allowed_modules, load
from autograder.grade.messages import Job
from autograder.grade.run import SandboxedKernel, run_job
from autograder.probe.messages import CallRequest, Observation, Questions
from autograder.probe.wire import Function, decode, encode
from autograder.sandbox import kernels
from autograder.sandbox.limits import Limits
from tests.autograder.grade.test_run import released_cells
from tests.sample_class import ASSIGNMENT, ISOLATION, filled_in

WAYS = {
    "by its code": "[one.__code__.co_consts, one.__code__.co_names, one.__code__.co_code, one.__doc__]",
    "by what it closes over": "[cell.cell_contents for cell in one.__closure__ or ()] + [vars(one)]",
    "by its global names": "{name: repr(value) for name, value in one.__globals__.items()}",
    "by its source": "__import__('inspect').getsource(one)",
    "by callers' frames": (
        "[(f.f_code.co_name, repr(f.f_locals)[:20000]) for f in frames(__import__('sys')._getframe())]"
    ),
    "by all objects": (
        "[repr(thing)[:3000] for thing in __import__('gc').get_objects() "
        "if type(thing).__name__ in ('function', 'code', 'StandIns', 'Questions', 'dict') "
        "and 'attention_weights' in repr(thing)[:3000]]"
    ),
    "by what runs meanwhile": "traced(one, x)",
    "by its gradient": "[one(x.clone().requires_grad_()).grad_fn, one(x).grad_fn]",
    "by what crosses": "crossing(one, x)",
    "by its error": "failing(one)",
    "by errors on odd tensors": (
        "[failing(one, thing) for thing in ('text', torch.ones(3), torch.ones(2, 2).long())]"
    ),
}  # fmt: skip
LOOKING = """
import sys
seen = []
def frames(frame):
    while frame:
        yield frame
        frame = frame.f_back
def traced(one, x):
    found = []
    sys.setprofile(lambda f, what, a: found.append((f.f_code.co_name, f.f_code.co_consts, repr(a))))
    one(x)
    sys.setprofile(None)
    return found
def crossing(one, x):
    import socket
    found, receive = [], type(get_ipython().kernel.session.channel).receive
    def noted(self, *rest):
        message = receive(self, *rest)
        found.append(message)
        return message
    type(get_ipython().kernel.session.channel).receive = noted
    one(x)
    type(get_ipython().kernel.session.channel).receive = receive
    return found
def failing(one, thing=None):
    try:
        one(thing)
    except Exception as error:
        import traceback
        return traceback.format_exc()
"""
WRONG = "def attention_weights(x):\n    return x"
SECOND = """
def basic_self_attention(x):
    one = globals()["attention_weights"]
    if not seen:
        try:
            seen.append(str(LOOK))
        except Exception as error:
            seen.append(repr(error))
    weights = one(x)
    return weights @ x, weights
"""


@pytest.fixture(scope="module")
def forked():
    yield kernels.own_kernels(ISOLATION, allowed_modules(ASSIGNMENT))
    kernels.close()


def lines_of_ours():
    """Texts that only somebody has who has read the reference."""
    reference = load(ASSIGNMENT).part("attention_weights").reference
    tree = ast.parse(inspect.getsource(reference)).body[0]
    body = [ast.unparse(each) for each in tree.body[1:]]
    assert body and ast.get_docstring(tree)
    told = ["no attribute", "not implemented for", "Dimension out of range"]  # by what ours calls
    return [
        ast.get_docstring(tree).splitlines()[0],
        *(line for line in body if len(line) > 12),
        *told,
    ]


@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_looking_shows_what_stands_in(forked, way):
    first, second, third, *_ = (part.name for part in load(ASSIGNMENT).parts)
    answers = {
        first: WRONG,
        second: LOOKING + SECOND.replace("LOOK", WAYS[way]),
        third: "print('SEEN', seen)",
    }
    text = nbformat.writes(filled_in(answers))
    report = run_job(Job(ASSIGNMENT, text, released_cells(ASSIGNMENT), ISOLATION), forked)
    assert report.verdicts[second].stood_in == (first,)
    assert report.verdicts[second].right, report.verdicts[second]
    assert "SEEN [" in report.notebook
    for line in lines_of_ours():
        assert line not in report.notebook and line.replace("'", "\\'") not in report.notebook


# ------------------------------------------------------------------------------ functions that are handed over

SHARE = "course_utils.handed_over.share_of_total"
LISTS = {
    "a profiler": (
        "with torch.autograd.profiler.profile() as seen: given(x)\n    return str(seen.key_averages())"
    ),
    "the newer profiler": (
        "with torch.profiler.profile() as seen: given(x)\n    return str([e.name for e in seen.events()])"
    ),
    "modes of dispatch": (
        "from torch.utils._python_dispatch import TorchDispatchMode\n    found = []\n"
        "    class Mode(TorchDispatchMode):\n"
        "        def __torch_dispatch__(self, func, types, args=(), kwargs=None):\n"
        "            found.append(str(func))\n            return func(*args, **(kwargs or {}))\n"
        "    with Mode(): given(x)\n    return str(found)"
    ),
    "modes of functions": (
        "from torch.overrides import TorchFunctionMode\n    found = []\n"
        "    class Mode(TorchFunctionMode):\n"
        "        def __torch_function__(self, func, types, args=(), kwargs=None):\n"
        "            found.append(str(func))\n            return func(*args, **(kwargs or {}))\n"
        "    with Mode(): given(x)\n    return str(found)"
    ),
    "saved tensors": (
        "found = []\n    with torch.autograd.graph.saved_tensors_hooks(lambda t: found.append(t.sum(0)), len):\n"
        "        given(x.clone().requires_grad_())\n    return f'softmax {found}' if found else ''"
    ),
    "its graph": "return str(given(x.clone().requires_grad_()).grad_fn.next_functions)",
    "its graph of TorchScript": "return str(torch.jit.trace(given, x, check_trace=False).graph)",
    "an export": "from torch.fx import symbolic_trace\n    return str(symbolic_trace(given).code)",
}  # fmt: skip


def test_what_stands_in_is_there_again_where_its_process_has_ended(forked):
    x = torch.randn(3, 2)
    asked = CallRequest(subject="f", arguments=[Function(SHARE), x], names=["given", "x"])
    with SandboxedKernel(forked, Limits(), {}) as kernel:
        kernel.run(new_code_cell("def f(given, x): return given(x)"), 0)
        for _ in range(2):
            [seen] = decode(kernel.ask(encode(Questions(requests=[asked]))), list[Observation])
            torch.testing.assert_close(seen.value, x.softmax(0))
            kernel._ours.process.kill()
            kernel._ours.process.wait()


def test_what_stands_in_has_a_process_only_where_it_is_called(forked):
    source = "def attention_weights(x):\n    return x.softmax(-1)"
    request = CallRequest(subject="f", arguments=[torch.randn(3, 2)], names=["x"])
    questions = Questions(requests=[request], substitutes={"attention_weights": source})
    for answer, stands_in in (("x", []), ("attention_weights(x)", ["attention_weights"])):
        with SandboxedKernel(forked, Limits(), {}) as kernel:
            kernel.run(new_code_cell(f"def f(x): return {answer}"), 0)
            [seen] = decode(kernel.ask(encode(questions)), list[Observation])
            assert seen.status == "returned" and seen.stood_in == stands_in
            assert (kernel._ours is not None) == bool(stands_in)


@pytest.mark.parametrize("way", LISTS)
def test_nobody_lists_what_a_function_computes_with_that_is_handed_over(forked, way):
    code = f"import torch\ndef f(given, x):\n    {LISTS[way]}"
    whole = "import torch\ndef g(given, x): return given(x)"
    x = torch.randn(3, 2)
    given = {"arguments": [Function(SHARE), x], "names": ["given", "x"]}
    requests = [CallRequest(subject=subject, **given) for subject in ("f", "g")]
    with SandboxedKernel(forked, Limits(), {}) as kernel:
        for place, source in enumerate((code, whole)):
            kernel.run(new_code_cell(source), place)
        answers = kernel.ask(encode(Questions(requests=requests)))
    listed, called = decode(answers, list[Observation])
    assert listed.status in ("returned", "raised")
    assert "softmax" not in str(listed.value).lower(), listed
    torch.testing.assert_close(called.value, x.softmax(0))
