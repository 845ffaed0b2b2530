"""What looks into its own process is found by reading, and what students write is not."""

import glob

import nbformat
import pytest

from assignments import COURSE
from autograder.checks.introspection import introspects
from tests.sample_class import SUBMISSIONS

FOUND = {
    "import gc": "gc",
    "import torch, ctypes as c": "ctypes",
    "from sys import _getframe": "sys",
    "from .mine import f": ".",
    "from torch import _C": "_C",
    "torch.sys._getframe()": "_getframe",
    "warnings.sys.modules": "sys",
    "error.__traceback__": "__traceback__",
    "(x for x in y).gi_frame": "gi_frame",
    "f.__globals__": "__globals__",
    "f = lambda: __builtins__": "__builtins__",
    "getattr(torch, name)": "getattr",
    "getattr(torch, '_' + 'C')": "getattr",
    "getattr(torch, 'sys')": "sys",
    "get = getattr": "getattr",
    "def f(self): return self._C\nf(torch)": "_C",
    "def _C(): pass\ndef f(self): return self._C\nf(torch)": "_C",
    "match x:\n    case type(f_back=y): pass": "f_back",
    "exec('import gc')": "exec",
    "try: f()\nexcept torch.sys.x: pass": "sys",
    "%run helper.py": "get_ipython",
    "!ls": "get_ipython",
    "%time import gc": "gc",
    "%%time\nimport gc": "gc",
    "%%timeit\nx.f_back": "f_back",
    "%%capture\nx = 1": "get_ipython",
    "@functools.singledispatch\ndef f(x): pass": "singledispatch",
    "-" * 9000 + "1": "what cannot be read",
}  # fmt: skip


@pytest.mark.parametrize(("cell", "tool"), FOUND.items(), ids=lambda text: ascii(text)[:30])
def test_what_looks_into_the_process_is_found(cell, tool):
    assert introspects(["import torch", cell], libraries=COURSE.libraries) == tool
    assert introspects(["import beside"], [("beside", cell)]) == tool


HONEST = [
    "%matplotlib inline\nimport numpy as np, matplotlib.pyplot as plt\nimport torch.nn.functional as F",
    "%time y = f(x)\nfrom course_utils.signoff import signoff",
    "def f(x:\n    import gc",  # never runs
    """
class Net(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self._mask, self.heads, signal = None, size, 3

    def _split(self, x):
        return x.view(*x.shape[:-1], self.heads, -1)

    def forward(self, x):
        _, length = x.shape
        return self._split(x) if getattr(self, "heads", 1) > 1 else x

print(type(Net(3)).__name__, Net.__doc__, [_ for _ in range(3)], Net(3).eval())
""",
]


@pytest.mark.parametrize("cell", HONEST)
def test_what_students_write_is_not(cell):
    assert introspects(["import torch", cell], libraries=COURSE.libraries) == ""


@pytest.mark.parametrize("path", sorted(glob.glob("solutions/*/*.ipynb")))
def test_no_solution_looks_into_its_process(path):
    code = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    own = [cell.source for cell in code if not cell.metadata.get("nbgrader", {}).get("locked")]
    assert own
    assert introspects(own, libraries=COURSE.libraries) == ""


@pytest.mark.parametrize("path", sorted(SUBMISSIONS.glob("*.py")), ids=lambda path: path.stem)
def test_nobody_of_the_sample_class_does(path):
    assert introspects([path.read_text("utf-8")], libraries=COURSE.libraries) == ""
