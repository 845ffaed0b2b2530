"""`check` in a notebook's own kernel: the verdict under the cell, and no trace of it."""

import builtins
import json
import re
from types import SimpleNamespace

import pytest
from jupyter_client.manager import start_new_kernel

from assignments import load
from autograder import cell
from autograder.bank.measure import verdict_on
from autograder.checks.rendering import as_text
from autograder.checks.verdicts import Obstacle
from tests.assignments.sample import answers_in_sample
from tests.sample_class import ROOT

A2 = "a2_self_attention"


def cells_of(kind, assignment=A2):
    path = ROOT / kind / assignment / f"{assignment}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return {one["id"]: "".join(one["source"]) for one in notebook["cells"]}


RELEASED, RIGHT = cells_of("exercises"), cells_of("solutions")
OVER_COLUMNS = "def attention_weights(x):\n    return (x @ x.T).softmax(dim=0)"
ENDLESS = "def attention_weights(x):\n    while True:\n        pass"


class Kernel:
    """A notebook that is open, with the cells above the first answer run."""

    def __init__(self, folder):
        self.manager, self.client = start_new_kernel(cwd=str(folder))
        self.run("import torch\nimport matplotlib.pyplot as plt")
        self.run(RELEASED[f"set_up_{A2}"])

    def run(self, code):
        """What a cell shows, as text by kind of output; `error` holds the whole traceback."""
        asked, found = self.client.execute(code), []
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != asked:
                continue
            if kind == "status" and content["execution_state"] == "idle":
                return found
            if kind in ("display_data", "execute_result"):
                data = content["data"]
                found.append(("shown", data["text/plain"]))
            elif kind == "error":
                found.append((content["ename"], "\n".join(content["traceback"])))

    def check(self, part="attention_weights"):
        return self.run(RELEASED[f"test_{part}"])


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    made = Kernel(tmp_path_factory.mktemp("notebook"))
    yield made
    made.client.stop_channels()
    made.manager.shutdown_kernel(now=True)


def test_not_answered_says_so_and_is_no_error(kernel):
    kernel.run(RELEASED["self_attention"])
    [(kind, told)] = kernel.check("self_attention")
    said = r"self_attention: This part is not answered yet, as cell \[\d+\] defines it\."
    assert kind == "shown" and re.fullmatch(said, told)


def test_not_run_or_mistyped_says_so(kernel):
    [(_, told), (error, _)] = kernel.check("basic_self_attention")
    assert error == "AssertionError"
    assert "There is no `basic_self_attention` yet. Run the cell that defines it" in told
    kernel.run(RIGHT["self_attention"])
    kernel.run("def self_attention(query, key, value)\n    return query")
    [(_, told), _] = kernel.check("self_attention")
    assert "its cell has a typing error" in told and "expected ':'" in told
    [(error, told)] = kernel.run("check('self_atention')")
    assert told.startswith(
        "NameError: there is no part 'self_atention'; there are attention_weights,"
    )


def test_a_mistake_has_its_name_and_then_the_hint_and_no_line_of_ours(kernel):
    kernel.run(OVER_COLUMNS)
    [(_, told), (error, traceback)] = kernel.check()
    assert "attention_weights: 2 of 3 points" in told and "Softmax over the columns. Your" in told
    said = r"attention_weights: 2 of 3 points, as cell \[\d+\] defines it\. Above stands what is wrong\."
    assert error == "AssertionError" and re.fullmatch(f"AssertionError: {said}", traceback)
    _, (_, hint), _ = kernel.check()
    assert hint.startswith("**Hint.** One matrix product of `x` with its own transpose")
    kernel.run("def attention_weights(x):\n    return (x @ x.T / x.shape[1] ** 0.5).softmax(dim=1)")
    assert len(kernel.check()) == 2, "another mistake, and no hint yet"


def test_an_earlier_mistake_is_not_charged_again_and_all_parts_are_summed_up(kernel):
    kernel.run(OVER_COLUMNS)
    kernel.run(RIGHT["basic_self_attention"])
    [(_, told)] = kernel.check("basic_self_attention")
    assert told.startswith(
        "✓ basic_self_attention: 2 of 2 points. `attention_weights` did not earn"
    )
    kernel.run(RIGHT["attention_weights"])
    assert kernel.check() == [("shown", "✓ attention_weights: 3 of 3 points.")]
    for name in ("self_attention", "is_permutation_equivariant"):
        kernel.run(RIGHT[name])
    [(_, told)] = kernel.run(RIGHT["before-you-hand-in-3"])
    assert told.endswith("together 10 of 10 points") and told.count("✓") == 4


def test_errors_without_a_name_are_told_apart(kernel):
    kernel.run("def attention_weights(x):\n    return (x @ x.T).softmax(dim=1) * scale")
    assert len(kernel.check()) == 2
    kernel.run("def attention_weights(x):\n    return torch.einsum('td,sd->ts', x)")
    assert len(kernel.check()) == 2, "no hint for what is met for the first time"
    assert len(kernel.check()) == 3
    kernel.run(RIGHT["attention_weights"])


def test_a_misspelt_name_is_told():
    told = cell._why_not_run("softened", ["def softend(x):\n    return x"], {}, ["softened"])
    assert "one defines `softend`. Is the name meant to be `softened`?" in told
    mended = ["def softened(x)\n    return x", "def softend(x):\n    return x"]
    assert cell._why_not_run("softened", mended, {}, ["softened"]) == told, (
        "and no line that is gone"
    )


def test_an_earlier_part_that_was_not_run_is_not_called_wrong(monkeypatch):
    names = {}
    exec(RIGHT["basic_self_attention"], names)
    notebook_with(monkeypatch, **names).user_ns = names
    verdict = cell.Checker(A2).verdict_on("basic_self_attention")
    assert verdict.right and verdict.remark == (
        "This part was decided with ours in the place of `attention_weights`, of which no cell was run so far."
    )


def test_an_answer_in_the_cell_that_asks_is_decided_anew(kernel):
    asks = '\n\ncheck("attention_weights")'
    (_, told), *_ = kernel.run(OVER_COLUMNS + asks)  # a hint as well, where it was met before
    assert "Softmax over the columns." in told
    right = "def attention_weights(x):\n    return (x @ x.T).softmax(dim=1)"
    assert kernel.run(right + asks) == [("shown", "✓ attention_weights: 3 of 3 points.")]


def test_an_earlier_try_that_was_disallowed_does_not_count(kernel):
    asked = "return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=1.0)"
    kernel.run(f"def helper(q, k, v):\n    {asked}")
    kernel.run("def self_attention(query, key, value):\n    return helper(query, key, value)")
    [(_, told), _] = kernel.check("self_attention")
    assert "which is the answer itself" in told
    kernel.run("def helper(q, k, v):\n    return (q @ k.transpose(1, 2)).softmax(-1) @ v")
    assert kernel.check("self_attention") == [("shown", "✓ self_attention: 3 of 3 points.")]


def test_an_import_that_brought_more_than_the_part_does_not_count_for_it_any_more(kernel):
    kernel.run("from course_utils.attention import split_heads as self_attention, merge_heads")
    [(_, told), _] = kernel.check("self_attention")
    assert "`import course_utils.attention`" in told
    kernel.run(RIGHT["self_attention"])
    assert kernel.check("self_attention") == [("shown", "✓ self_attention: 3 of 3 points.")]


@pytest.mark.parametrize(
    ("ran", "left"),
    [
        (["from m import a, b", "def a(): pass"], ["from m import b", "def a(): pass"]),
        (["def a(): pass\nfrom m import b", "b = 1"], ["def a():\n    pass", "b = 1"]),
        (["%%time\ndef a(): pass", "a = 1"], ["a = 1"]),
        (["a = 1\nb = a", "a = 2"], ["b = a", "a = 2"]),
        (["a = 1", "a = 1"], ["a = 1"]),
        (["def a(:", "a = 1"], ["def a(:", "a = 1"]),
    ],
)
def test_what_others_have_bound_again_does_not_count(ran, left):
    assert cell._still_counting(ran) == left


STATE = """before = (torch.get_default_dtype(), os.getcwd(), random.getstate(), torch.get_rng_state().tolist(),
          np.random.get_state()[1].tolist(), np.geterr(), list(warnings.filters), list(plt.get_fignums()),
          torch.is_grad_enabled(), counted, sorted(globals()))"""


def test_it_leaves_no_trace(kernel):
    kernel.run(
        "import os, random, warnings\nimport numpy as np\nimport tempfile\nos.chdir(tempfile.mkdtemp())\n"
        "torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False); np.seterr(all='raise')\n"
        "warnings.simplefilter('error'); plt.ioff(); figure = plt.figure(); counted = 0; before = after = None"
    )
    kernel.run(
        "def attention_weights(x):\n    global counted, new\n    counted += 1; new = 1\n    torch.rand(3); np.random.rand()\n"
        "    return (x @ x.T).softmax(dim=1)"
    )
    kernel.run(f"figure = plt.figure()\n{STATE}")  # figures end with their cell
    told = kernel.run(
        f"figure = plt.figure()\n{STATE}\ncheck('attention_weights')\n{STATE.replace('before', 'after', 1)}\n"
        "[number for number, (one, other) in enumerate(zip(before, after)) if one != other]"
    )
    kernel.run(
        "torch.set_default_dtype(torch.float32); torch.set_grad_enabled(True); warnings.resetwarnings()\n"
        "np.seterr(all='warn')"
    )
    assert told[:2] == [("shown", "✓ attention_weights: 3 of 3 points."), ("shown", "[]")]
    assert "Figure" in told[2][1], "which was open before, and ends with its cell"


def test_exit_and_an_endless_loop_leave_the_kernel_alive(kernel, monkeypatch):
    kernel.run("def attention_weights(x):\n    exit()")
    [(_, told), _] = kernel.check()
    assert "got None (is there a `return`?)" in told
    kernel.run("import autograder.probe.probe as probe; probe.answer.__defaults__ = (0.2, 15.0)")
    kernel.run(ENDLESS)
    [(_, told), _, *_] = kernel.check()
    assert "Does this loop come to an end?" in told
    kernel.run("probe.answer.__defaults__ = (probe.SECONDS_PER_CALL, probe.SECONDS_ON_THE_CLOCK)")
    assert kernel.run("1 + 1") == [("shown", "2")]


def test_it_can_be_interrupted(kernel):
    kernel.run("import threading, _thread, time")
    kernel.run(ENDLESS)
    stopped = kernel.run(
        "threading.Timer(0.5, _thread.interrupt_main).start()\ncheck('attention_weights')"
    )
    said = "stopped, and nothing is said of attention_weights"
    assert stopped == [("KeyboardInterrupt", f"KeyboardInterrupt: {said}")]


def notebook_with(monkeypatch, **names):
    """A shell in this process in whose notebook something is defined."""
    shell = SimpleNamespace(user_ns=names, history_manager=None, ask_exit=None)
    monkeypatch.setattr(cell, "get_ipython", lambda: shell)
    return shell


@pytest.mark.parametrize("assignment", [A2, "a5_multi_head_attention", "a6_positional_encoding"])
def test_it_says_what_a_class_says(monkeypatch, assignment):
    """Points, names and steps; inputs are drawn by the cells, of which there are none here."""
    for part in load(assignment).parts:
        for given in answers_in_sample(assignment, part.name)[:2]:
            notebook_with(monkeypatch, **{part.name: given.code})
            here = cell.Checker(assignment).verdict_on(part.name)
            there = verdict_on(assignment, part, given.code, cells=())
            assert (here.earned, here.mistakes) == (there.earned, there.mistakes), part.name


def test_a_fault_of_the_grader_is_told_as_such(monkeypatch, capsys):
    def fails(*_, **__):
        raise ValueError("broken")

    notebook_with(monkeypatch, attention_weights=abs)
    monkeypatch.setattr(cell, "decide", fails)
    verdict = cell.Checker(A2).verdict_on("attention_weights")
    assert verdict.obstacle is Obstacle.FAULT
    assert "which is no fault of yours: ValueError: broken" in as_text(verdict)


def test_without_the_checks_the_example_is_run_alone(monkeypatch, capsys):
    taken = builtins.__import__

    def no_checks(name, *arguments):
        if name == "autograder.cell":
            raise ModuleNotFoundError(name)
        return taken(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", no_checks)
    names = {}
    for name in ("how-it-works-2", f"set_up_{A2}", "attention_weights", "test_attention_weights"):
        exec(RIGHT[name], names)
    assert capsys.readouterr().out == (
        "✓ the example of attention_weights (the course's checks, which look at more, are not here)\n"
    )
    exec(OVER_COLUMNS, names)
    with pytest.raises(AssertionError):
        names["check"]("attention_weights")


def test_a_course_without_the_assignment_is_no_grader(monkeypatch):
    with pytest.raises(ImportError, match="has no assignment 'a99_nothing'"):
        cell.checker("a99_nothing")
    monkeypatch.setenv("AUTOGRADER_COURSE", "no_such_course")
    with pytest.raises(ImportError, match="no package `no_such_course`"):
        cell.checker(A2)
