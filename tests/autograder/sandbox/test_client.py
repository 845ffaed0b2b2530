"""A kernel at the other end of a channel may answer, die, stay silent or send anything."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.probe.messages import CallRequest, Ending, Observation, Questions
from autograder.probe.wire import Opaque, decode, encode
from autograder.sandbox import bubblewrap, client, kernels
from autograder.sandbox.client import Done, KernelClient, KernelDied, KernelSpent, KernelStuck
from autograder.sandbox.forks import Zygote, ZygoteError
from autograder.sandbox.kernels import KERNEL
from autograder.sandbox.limits import Limits
from tests.sample_class import ISOLATION

QUICK = Limits(seconds_per_cell=1, seconds_per_call=1, clock_per_cell=2, clock_per_call=2)
CHANNEL = "channel = get_ipython().kernel.session.channel\n"
DEAF = (
    "import signal, time\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGPROF])\n"
    "while True: time.sleep(1)"
)


@pytest.fixture(scope="module")
def zygote():
    yield kernels.own_kernels(ISOLATION)
    kernels.close()


@pytest.fixture
def kernel(zygote):
    with KernelClient(zygote, Limits()) as kernel:
        yield kernel


@pytest.fixture
def quick(zygote, monkeypatch):
    monkeypatch.setattr(client, "SECONDS_OF_GRACE", 1)
    with KernelClient(zygote, QUICK) as kernel:
        yield kernel


def run(kernel, code):
    """How a cell ended, and what it showed: (kind, content) pairs."""
    shown = []
    done = kernel.run(code, "id", lambda kind, content: shown.append((kind, content)))
    return done, shown


def printed(kernel, code):
    return "".join(content["text"] for kind, content in run(kernel, code)[1] if kind == "stream")


def call(kernel):
    """What the probe sees of a call of ``f``."""
    request = CallRequest(subject="f", arguments=[1], names=["x"])
    [seen] = decode(kernel.ask(encode(Questions(requests=[request]))), list[Observation])
    return seen


def test_cells_are_counted_and_show_what_they_show(kernel):
    assert run(kernel, "x = 1") == (Done(1, "ok"), [])
    done, [(kind, content)] = run(kernel, "x + 1")
    assert (done, kind) == (Done(2, "ok"), "execute_result")
    assert content["data"] == {"text/plain": "2"} and content["execution_count"] == 2
    done, [(kind, content)] = run(kernel, "1 / 0")
    assert (done, kind, content["ename"]) == (Done(3, "error"), "error", "ZeroDivisionError")
    assert printed(kernel, "print(x)") == "1\n"


def test_files_lie_beside_the_notebook(zygote):
    files = [("helper.py", b"helped = 3"), ("data/deep/er.bin", bytes(range(256)))]
    with KernelClient(zygote, Limits(), files) as kernel:
        assert printed(kernel, "import helper; print(helper.helped)") == "3\n"
        assert printed(kernel, "print(len(open('data/deep/er.bin', 'rb').read()))") == "256\n"


@pytest.mark.parametrize("isolation", sorted({ISOLATION, bubblewrap.NONE}))
def test_a_module_of_the_course_comes_from_the_folder_that_it_is_graded_in(
    isolation, tmp_path, monkeypatch
):
    package = f"taught_{isolation}"
    folder = tmp_path / package
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "helper.py").write_text("HELPED = 3\n", encoding="utf-8")
    (folder / "answer.py").write_text("ANSWER = 4\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    zygote = Zygote(KERNEL, isolation, [f"{package}.helper"])
    try:
        zygote.wait_until_ready()
        with KernelClient(zygote.client, Limits()) as kernel:
            code = f"from {package} import helper; print(helper.HELPED, helper.__file__)"
            assert printed(kernel, code) == f"3 {folder / 'helper.py'}\n"
            done, _ = run(kernel, f"import {package}.answer")
            assert done.status == ("error" if isolation == bubblewrap.FULL else "ok")
    finally:
        zygote.close()


def test_the_probe_answers_from_the_notebooks_own_names(kernel):
    run(kernel, "def f(x): return x + one\none = 1.5")
    assert call(kernel).value == 2.5


def test_a_kernel_that_dies_says_so_and_stays_dead(kernel):
    with pytest.raises(KernelDied):
        run(kernel, "import os; os._exit(0)")
    for again in (lambda: run(kernel, "1"), lambda: call(kernel)):
        with pytest.raises(KernelDied):
            again()


def test_a_kernel_that_dies_over_a_call_is_dead(kernel):
    run(kernel, "import os\ndef f(x): os._exit(0)")
    with pytest.raises(KernelDied):
        call(kernel)


@pytest.mark.parametrize(
    "ending", ["exit()", "quit()", "exit", "import sys; sys.exit()", "raise SystemExit"]
)
def test_a_cell_that_ends_itself_ends_alone(kernel, ending):
    done, shown = run(kernel, f"print('last words')\n{ending}\n")
    assert "last words" in shown[0][1]["text"]
    done, shown = run(kernel, "print('goes on')")
    assert done.status == "ok" and "goes on" in shown[0][1]["text"]


NOT_RUN = [
    "!pip install einops",
    "%pip install -q einops",
    "%conda install einops",
    "files = !ls",
    "%%bash\nls",
    "import os; os.system('ls')",
    "import os; os.popen('ls').read()",
    "import subprocess, sys; subprocess.check_call([sys.executable, '-m', 'pip', 'install', 'einops'])",
    "import subprocess; subprocess.run('nvidia-smi', check=True, capture_output=True, text=True).stdout",
    "name = input('Your name: ')",
    "breakpoint()",
    "import pdb; pdb.set_trace()",
    "%debug",
    "%matplotlib widget",
    "%tensorboard --logdir runs",
    "import torch; torch.set_default_device('cuda')",
]


@pytest.mark.parametrize("line", NOT_RUN)
def test_what_is_not_run_while_grading_says_so_and_the_cell_goes_on(kernel, line):
    code = line if line.startswith("%%") else f"{line}\nprint('goes on')"
    done, shown = run(kernel, code)
    text = "".join(content.get("text", "") for _, content in shown)
    assert done.status == "ok" and text.startswith("not run while grading: ")
    assert line.startswith("%%") or text.endswith("goes on\n")


def test_what_is_compiled_is_the_function_itself(kernel):
    code = (
        "import torch\n@torch.compile\ndef f(x): return 2 * x\n"
        "@torch.compile(dynamic=True)\ndef g(x): return f(x)\nprint(torch.compile(g)(2))"
    )
    assert printed(kernel, code) == "4\n"


REST = {
    "what stands below": ("import nowhere\nimport math\nx = 1", "math.pi + x"),
    "on one line": ("import nowhere; import math; x = 1", "math.pi + x"),
    "from": ("from nowhere import drive\ndrive.mount('/')\nx = 1\nclass A:\n    y = x", "A.y"),
    "several": ("import nowhere\nimport elsewhere\nx = 1", "x"),
    "functions that use it later": ("import nowhere\ndef f(): return nowhere.x\nx = 1", "f and x"),
    "with a decorator": (
        "import nowhere\nimport functools\n@functools.cache\ndef f(): return 1",
        "f()",
    ),
    "others in the same line": (
        "import math as m, nowhere, functools\nx = 1",
        "m.pi, functools, x",
    ),
    "in a block": (
        "if True:\n    import nowhere\n    from math import (\n        pi,\n    )\nx = 1",
        "pi + x",
    ),
    "below a magic": ("\n%%capture out\nimport nowhere\nimport math", "math"),
}


@pytest.mark.parametrize("name", REST)
def test_what_stands_below_a_failed_import_runs(kernel, name):
    code, uses = REST[name]
    done, shown = run(kernel, code)
    assert done.status == "error" and shown[0][1]["ename"] == "ModuleNotFoundError"
    assert run(kernel, uses)[0].status == "ok"


def test_of_what_a_module_has_the_rest_is_imported(kernel):
    done, shown = run(kernel, "from math import pi, nothing, sin\nx = 1")
    assert done.status == "error" and shown[0][1]["ename"] == "ImportError"
    assert run(kernel, "sin(pi) + x")[0].status == "ok"


def test_what_python_does_not_write_runs_on_the_line_of_a_failed_import_too(kernel):
    run(kernel, "import nowhere; x = f\"{'\u00a0'}\"; y = 0x1" + "0" * 4000)
    assert run(kernel, "x, y > 1")[0].status == "ok"


def test_what_does_not_need_it_runs_in_later_cells_too(kernel):
    run(kernel, "import nowhere")
    assert run(kernel, "x = nowhere.load()\ndef f(y): return y")[0].status == "error"
    assert run(kernel, "f([1])")[0].status == "ok"


def test_what_was_not_imported_and_came_from_elsewhere_is_missing_no_more(kernel):
    run(kernel, "from nowhere import softmax")
    run(kernel, "def softmax(x): return x")
    run(kernel, "import elsewhere\ny = softmax(1)")
    assert printed(kernel, "print(y)") == "1\n"


def test_below_any_error_imports_run(kernel):
    code = "open('gone')\nimport math\nx = 1\nfrom math import pi\n1 / 0"
    done, shown = run(kernel, code)
    assert done.status == "error"
    assert [content["ename"] for _, content in shown] == ["FileNotFoundError"]
    assert run(kernel, "math.sin(pi)")[0].status == "ok"
    assert run(kernel, "x")[0].status == "error"


@pytest.mark.parametrize(
    "code", ["sys.stdout = None", "sys.stdout = open('x', 'w'); sys.stdout.close()"]
)
def test_a_notebook_that_takes_its_output_away_goes_on(kernel, code):
    run(kernel, f"import sys\n{code}")
    assert printed(kernel, "print(1)") == "1\n"


def test_types_of_later_versions_are_there(kernel):
    code = "from typing import override\n@override\ndef f(): return 1\nprint(f())"
    assert printed(kernel, code) == "1\n"


VICTIMS = {
    "what it would have brought": ("import nowhere\ny = nowhere.x", "y"),
    "what follows from that": ("import nowhere\ny = nowhere.x\nz = y", "z"),
    "a class made of it": ("import nowhere\nclass A(nowhere.B): pass", "A"),
    "what stands below another error": ("import math\n1 / 0\nx = 1", "x"),
    "what stands below an error of the rest": ("import nowhere\n1 / 0\nx = 1", "x"),
}


@pytest.mark.parametrize("name", VICTIMS)
def test_what_needs_it_does_not_run_nor_what_stands_below_other_errors(kernel, name):
    code, uses = VICTIMS[name]
    run(kernel, code)
    _, shown = run(kernel, uses)
    assert shown[0][1]["ename"] == "NameError"


SWITCHED = {
    "the default dtype": "torch.set_default_dtype(torch.float64)",
    "the default device": "torch.set_default_device('meta')",
    "gradients": "torch.set_grad_enabled(False)",
    "determinism": "torch.use_deterministic_algorithms(True)",
    "autocast": "torch.set_autocast_enabled('cpu', True)",
    "printing": "torch.set_printoptions(precision=1)",
    "pictures": "import matplotlib.pyplot as plt\nplt.rcParams['image.cmap'] = 'hot'",
    "the environment": "import os\nos.environ['A'] = 'b'",
    "depth of calls": "import sys\nsys.setrecursionlimit(200)",
}
LOOK = """
import os, sys
import matplotlib, torch
def f(x):
    return [
        str(torch.get_default_dtype()), str(torch.ones(1).device), torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(), torch.is_autocast_enabled("cpu"),
        torch._tensor_str.PRINT_OPTS.precision, matplotlib.rcParams["image.cmap"],
        os.environ.get("A", ""), sys.getrecursionlimit() > 500,
    ]
"""


@pytest.mark.parametrize("name", SWITCHED)
def test_a_part_is_asked_with_everything_switched_as_at_the_start(kernel, name):
    run(kernel, LOOK)
    before = call(kernel).value
    run(kernel, SWITCHED[name])
    assert call(kernel).value == before
    assert "False" in str(before)
    _, shown = run(kernel, "print(f(0))")  # but the notebook's own cells have it as they set it
    assert name == "the default device" or shown[0][1]["text"].strip() != str(before)


def test_a_loop_is_stopped_and_the_kernel_goes_on(quick):
    done, shown = run(quick, "while True: pass")
    assert done.status == "error"
    assert shown[-1][1]["ename"] == "CellTimeoutError"
    assert "Is there a loop without an end?" in shown[-1][1]["evalue"]
    assert printed(quick, "print('goes on')") == "goes on\n"
    run(quick, "def f(x):\n    while True: pass")
    assert call(quick).status == "timeout"
    assert printed(quick, "print('goes on')") == "goes on\n"


@pytest.mark.parametrize("length", [1, 1000, 3_000_000])
def test_a_loop_that_prints_without_end_is_stopped_between_frames(quick, length):
    done, shown = run(quick, f"text = 'x' * {length}\nwhile True: print(text)")
    assert done.status == "error"
    kind, content = shown.pop()
    assert (kind, content["ename"]) == ("error", "CellTimeoutError")
    assert {kind for kind, _ in shown} == {"stream"}
    assert "".join(content["text"] for _, content in shown).startswith("x" * length + "\nx")
    assert printed(quick, "print('goes on')") == "goes on\n"


def test_a_cell_that_hears_no_alarm_is_stuck(quick):
    began = time.monotonic()
    with pytest.raises(KernelStuck):
        run(quick, DEAF)
    assert time.monotonic() - began > QUICK.clock_per_cell


def test_a_call_that_hears_no_alarm_is_stuck(quick):
    run(quick, "def f(x):\n" + "".join(f"    {line}\n" for line in DEAF.splitlines()))
    with pytest.raises(KernelStuck):
        call(quick)


@pytest.mark.long
def test_a_loop_in_c_dies_by_its_processor_time_which_is_known(zygote):
    with KernelClient(zygote, Limits(seconds_per_cell=1)) as kernel:
        run(kernel, "import time\nwhile time.process_time() < 0.5: pass")
        assert 0.5 <= kernel.process.processor_time() < 1
        with pytest.raises(KernelDied) as died:
            run(kernel, "sum(range(10**13))")
        assert died.value.how is Ending.TIME
        assert kernel.process.processor_time() > 1.5


def test_all_cells_together_have_an_end(zygote, monkeypatch):
    monkeypatch.setattr(client, "SECONDS_OF_GRACE", 1)
    with KernelClient(zygote, Limits(seconds=2)) as kernel, pytest.raises(KernelSpent):
        for _ in range(100):
            run(kernel, "import time; time.sleep(0.5)")


@pytest.mark.parametrize(
    "junk",
    [
        "channel.socket.sendall(b'junk' * 100)",
        "channel.socket.sendall(bytes([255]) * 8)",
        "channel.socket.sendall(bytes(8))",
        "channel.socket.sendall(bytes([0, 0, 0, 2, 0, 0, 0, 0]) + b'[]')",
        "channel.socket.close()",
        "import socket; channel.socket.shutdown(socket.SHUT_RDWR)",
    ],
)
def test_a_kernel_that_sends_junk_has_died(kernel, junk):
    with pytest.raises(KernelDied):
        run(kernel, CHANNEL + junk)
        run(kernel, "1")


def test_half_a_frame_is_not_waited_for_without_end(quick):
    with pytest.raises(KernelStuck):
        run(quick, CHANNEL + "channel.socket.sendall(bytes([0, 0, 1, 0, 0, 0, 0, 0]))\n" + DEAF)


@pytest.mark.parametrize(
    "frame",
    [
        {}, {"type": None}, {"type": 7, "content": {}}, {"type": "stream"}, {"type": ["done"]},
        {"type": "stream", "content": None}, {"type": "stream", "content": "text"},
        {"type": {"done": 1}, "count": 3}, {"type": "answers", "content": [1]}, {"type": "done"},
        {"type": "done", "count": 1, "status": ["ok"]}, {"type": "output", "kind": 3, "content": {}},
        {"type": "output", "kind": "stream", "content": []}, {"type": "\ud800"}, {"\ud800": 1},
    ],
    ids=str,
)  # fmt: skip
def test_frames_of_no_sense_are_passed_over(kernel, frame):
    done, shown = run(kernel, f"{CHANNEL}channel.send({frame!r})\nprint('said')")
    assert done == Done(1, "ok")
    assert {kind for kind, _ in shown} == {"stream"}
    assert "".join(content["text"] for _, content in shown) == "said\n"


@pytest.mark.parametrize(
    "count", [-1, True, False, 1.5, "3", [1], 1 << 31, 10**30, "float('nan')"], ids=str
)
def test_a_cell_is_not_done_with_what_is_no_number_of_execution(kernel, count):
    count = count if isinstance(count, str) and "(" in count else repr(count)
    done, _ = run(
        kernel, f"{CHANNEL}channel.send({{'type': 'done', 'count': {count}, 'status': 'late'}})"
    )
    assert done == Done(1, "ok")


@pytest.mark.parametrize("count", [-5, "'x'", 1 << 40, 1.5])
def test_a_notebook_that_counts_in_its_own_way_has_no_number(kernel, count):
    odd = "kernel = get_ipython().kernel\ntype(kernel).execution_count = property(lambda _: odd)"
    done, _ = run(kernel, f"odd = {count}\n{odd}")
    assert done.count is None


@pytest.mark.long
def test_a_flood_of_frames_ends_with_the_cells_time(quick):
    flood = DEAF.replace(
        "time.sleep(1)", "channel.send({'type': 'output', 'kind': 'stream', 'content': {}})"
    )
    number = 0

    def count(*_):
        nonlocal number
        number += 1

    with pytest.raises((KernelStuck, KernelDied)):  # its processor time may be over before
        quick.run(CHANNEL + flood, "id", count)
    assert number > 100


@pytest.mark.long
def test_a_flood_of_frames_does_not_stand_for_answers(quick):
    run(
        quick,
        CHANNEL
        + "def f(x):\n    while True: channel.send({'type': 'output', 'kind': 'stream', 'content': {}})",
    )
    assert call(quick).status == "timeout"


def torch_zeros(shape):
    return f"__import__('torch').zeros{shape}"


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (torch_zeros("(30_000_000)"), 30_000_000),  # more than a frame holds
        (torch_zeros("(1).expand(10**9)"), 10**9),  # more than there is memory for
        (f"[{torch_zeros('(1_000_000)')} for _ in range(20)]", "MemoryError"),
        ("endless", "RecursionError"),
    ],
    ids=["large", "larger", "many", "endless"],
)
def test_an_answer_without_a_size_costs_its_own_call_alone(kernel, answer, seen):
    run(kernel, f"endless = []\nendless.append(endless)\ndef f(x): return {answer}")
    if isinstance(seen, int):
        assert call(kernel).value == Opaque(f"torch.float32 array of {seen} numbers")
    else:
        assert call(kernel).error.type == seen
    run(kernel, "def f(x): return x")
    assert call(kernel).value == 1


@pytest.mark.parametrize(
    "show",
    [
        "print('x' * 20_000_000)",
        "display({'text/plain': 'x' * 20_000_000}, raw=True)",
        "raise ValueError('x' * 20_000_000)",
    ],
)
def test_an_output_too_large_for_a_frame_leaves_a_mark_and_the_kernel_goes_on(kernel, show):
    _, shown = run(kernel, show)
    assert ("overflow", {}) in shown
    assert printed(kernel, "print('goes on')") == "goes on\n"


@pytest.mark.parametrize("isolation", sorted({ISOLATION, bubblewrap.NONE}))
def test_a_kernel_whose_zygote_is_killed_did_not_die_by_itself(isolation):
    zygote = Zygote(KERNEL, isolation)
    try:
        zygote.wait_until_ready()
        with KernelClient(zygote.client, Limits()) as kernel:
            run(kernel, "1")
            zygote.process.kill()
            zygote.process.wait()
            with pytest.raises(ZygoteError):
                run(kernel, "import time; time.sleep(1000)")
        with pytest.raises(ZygoteError):
            KernelClient(zygote.client, Limits())
    finally:
        zygote.close()


KILLED_SOON = f"""
import os, signal, sys, time
from autograder.sandbox.forks import Zygote
print(Zygote("{KERNEL}", sys.argv[1]).process.pid, flush=True)
time.sleep(0.3)  # bubblewrap asks only then to be ended with it; imports take seconds
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends when it has imported")
@pytest.mark.parametrize("isolation", sorted({ISOLATION, bubblewrap.NONE}))
def test_a_zygote_that_still_imports_ends_with_the_process_that_has_started_it(isolation):
    command = [sys.executable, "-c", KILLED_SOON, isolation]
    starter = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert starter.returncode == -signal.SIGKILL
    zygote = Path("/proc", starter.stdout.strip(), "cmdline")
    while _content(zygote):  # by itself, it would import and then wait for ever
        time.sleep(0.01)


def _content(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


FORGED_DONE = CHANNEL + "channel.send({'type': 'done', 'count': 1, 'status': 'ok'})\n" + DEAF


@pytest.mark.parametrize("large", ["x = '" + "a" * (5 << 20) + "'", b"probe1" + bytes(5 << 20)])
def test_a_kernel_that_says_done_and_reads_no_more_is_not_written_to_for_ever(quick, large):
    assert run(quick, FORGED_DONE)[0] == Done(1, "ok")
    with pytest.raises(KernelStuck):
        quick.ask(large) if isinstance(large, bytes) else run(quick, large)
