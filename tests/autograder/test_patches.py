"""Each change to another package is needed still, and nobody sees it in what a notebook shows."""

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

CELLS = [
    "x = 3\nx + 1",
    "def f(n):\n    return 1 / n\n\ndef g(n):\n    return f(n)",
    "g(0)",
    "try:\n    g(0)\nexcept ZeroDivisionError as error:\n    raise ValueError('odd') from error",
    "def deep(n):\n    return deep(n + 1)\ndeep(0)",
    "class Odd(Exception):\n    def __str__(self):\n        return 'in words'\nraise Odd",
    "import json\njson.loads('no json')",
    "import torch\ntorch.nn.Linear(2, 2)(torch.ones(3))",
    "raise ExceptionGroup('several', [ValueError('one'), g.__class__('two') if 0 else KeyError(2)])",
    "def broken(:\n    pass",
    "g(",
    "assert x == 4, f'expected 4, got {x}'",
    "unknown",
    "!true\nx = !true\nx",
    "%unknown_magic",
    "%%time_it\nx",
    "x?",
    "import inspect\ninspect.getmodule(f), inspect.getmodule(json).__name__, inspect.getsource(f)",
    "import inspect, sys\ninspect.getmodule(sys._getframe()), inspect.getmodule(type(f)).__name__",
    "raise KeyboardInterrupt",
    "x",
    "x",
]

# runs cells in the kernel of a batch, without a fork, and counts what other packages do
RUN = """
import asyncio, inspect, json, sys
import msgspec
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.ultratb import FormattedTB
from autograder import patches
from autograder.sandbox.kernel import Shell
from autograder.sandbox.messages import CellOrder

class Recorder:
    def __init__(self): self.sent = []
    def send(self, header, body=b""): self.sent.append(msgspec.to_builtins(header))

def count(owner, name, counts=lambda *_: True):
    real = getattr(owner, name)
    done[name] = 0
    def counted(*arguments, **keywords):
        done[name] += bool(counts(*arguments))
        return real(*arguments, **keywords)
    setattr(owner, name, counted)

def of_a_cell(thing, *_):
    code = getattr(thing, "f_code", thing)
    return getattr(code, "co_filename", "").startswith(patches.CELLS)

mode, patched = sys.argv[1:]
done = {}
asked = patches._getmodule
count(inspect, "getmodule", of_a_cell)
patches._getmodule = inspect.getmodule
if patched == "True":
    patches.for_kernels()
    patches.for_kernels()
count(FormattedTB, "structured_traceback")
count(TransformerManager, "do_token_transforms")
shell = Shell()
shell.kernel.shell.InteractiveTB.set_mode(mode=mode)
shell.session.channel = Recorder()
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
for number, code in enumerate(json.loads(sys.stdin.read())):
    shell._run(CellOrder(code, str(number), cpu=20, seconds=60), loop)
print(json.dumps([done, shell.session.channel.sent]), file=sys.__stdout__)
"""


def run(cells, patched, mode="Plain"):
    """How often the other packages did what the patches are about, and all that was shown."""
    command = [sys.executable, "-W", "ignore", "-c", RUN, mode, str(patched)]
    done = subprocess.run(
        command, input=json.dumps(cells), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


ONE_ERROR = ["def f():\n    return 1 / 0", "f()"]


@pytest.fixture(scope="module")
def counts():
    """What is done over one error with IPython's own tracebacks, without the patches and with them."""
    return [run(ONE_ERROR, patched, mode="Context")[0] for patched in (False, True)]


def test_a_traceback_asks_for_the_modules_of_cells(counts):
    before, after = counts
    assert before["getmodule"] > 0, "IPython asks no more: `module_of` can go"
    assert after["getmodule"] == 0


def test_a_traceback_is_formatted_twice(counts):
    before, after = counts
    assert before["structured_traceback"] == 2, "`no_second_traceback` can go"
    assert after["structured_traceback"] == 1


def test_a_cell_is_transformed_twice(counts):
    before, after = counts
    stopped = 1  # what is left of the second cell is looked for in it
    assert before["do_token_transforms"] == 2 * len(ONE_ERROR) + stopped, (
        "`remembering_the_last` can go"
    )
    assert after["do_token_transforms"] == len(ONE_ERROR) + stopped


@pytest.mark.parametrize("mode", ["Plain", "Context"])
def test_what_a_notebook_shows_is_the_same_with_all_patches(mode):
    # IPython's own traceback takes long over a deep one, and over a library's files
    cells = [cell for cell in CELLS if mode == "Plain" or not re.search("deep|torch", cell)]
    before, after = (run(cells, patched, mode)[1] for patched in (False, True))
    assert sum(sent["type"] == "done" for sent in before) == len(cells)
    assert sum(sent.get("kind") == "error" for sent in before) > 8
    assert after == before


# ---------------------------------------------------------------------------------- jsonschema

ASK = """
import sys
if sys.argv[1] == "True":
    import autograder
import json, nbformat
known = sys.modules.get("rfc3987_syntax")
for text in sys.stdin.read().splitlines():
    notebook = nbformat.from_dict(json.loads(text))
    try:
        nbformat.validate(notebook)
        print("valid")
    except nbformat.ValidationError as error:
        print(" ".join(str(error).split()))
print(known is not None)
"""

CELL = {
    "cell_type": "code",
    "id": "a",
    "metadata": {},
    "source": "",
    "outputs": [],
    "execution_count": None,
}
NOTEBOOK = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [CELL]}
NOTEBOOKS = [
    NOTEBOOK,
    {**NOTEBOOK, "cells": [{**CELL, "execution_count": "3"}]},
    {**NOTEBOOK, "cells": [{**CELL, "cell_type": "nonsense"}]},
    {**NOTEBOOK, "metadata": {"kernelspec": {"name": 3}}},
    {**NOTEBOOK, "cells": [{**CELL, "outputs": [{"output_type": "stream", "text": 3}]}]},
    {**NOTEBOOK, "metadata": {"authors": [{"name": "http://[no address"}]}},
]


def test_jsonschema_imports_a_grammar_of_addresses_and_validates_the_same_without_it():
    said = []
    for patched in (False, True):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", ASK, str(patched)],
            input="\n".join(map(json.dumps, NOTEBOOKS)), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.splitlines())
    (*before, imported), (*after, imported_still) = said
    assert imported == "True", "jsonschema imports it no more: `for_everybody` can go"
    assert imported_still == "False"
    assert before == after
    assert [line == "valid" for line in before] == [True, False, False, False, False, True]


# ----------------------------------------------------------------------------------- gradebooks

NEW_GRADEBOOK = """
import sys
from nbgrader import api

started = []
real = api.sp.check_output
api.sp.check_output = lambda *given: started.append(given) or real(*given)
if sys.argv[1] == "True":
    from autograder import patches
    patches.for_gradebooks()
api.Gradebook("sqlite:///" + sys.argv[2]).close()
print(len(started))
"""


def test_a_new_gradebook_is_the_same_without_a_program_that_is_asked_for_its_version(tmp_path):
    started, made = [], []
    for patched in (False, True):
        path = tmp_path / f"{patched}.db"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", NEW_GRADEBOOK, str(patched), str(path)],
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        started.append(int(done.stdout))
        with contextlib.closing(sqlite3.connect(path)) as gradebook:
            made.append(sorted(gradebook.execute("select version_num from alembic_version")))
    assert started[0] == 1, "nbgrader starts none any more: `for_gradebooks` can go"
    assert started[1] == 0
    assert made[0] == made[1]
