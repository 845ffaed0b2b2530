"""A notebook is taken at its word with what is known to be harmless alone, and what students write is that."""

import ast
import glob
import importlib
from types import ModuleType

import nbformat
import pytest

from assignments import COURSE, known
from autograder.bank.measure import bank_of
from autograder.checks import harmless
from autograder.checks.introspection import introspects
from tests.autograder.checks.written_out import written_out
from tests.autograder.grade.handed_in import HANDED_IN, notebook_of
from tests.sample_class import SUBMISSIONS

TOP = (
    "import torch, math, warnings, functools, copy, time\nimport numpy as np\nfrom torch import nn, Tensor\n"
    "import torch.nn.functional as F\nimport matplotlib\nimport matplotlib.pyplot as plt\n"
    "from course_utils.signoff import signoff\n"
)

FOUND = {
    "import gc": "gc",
    "import torch, ctypes as c": "ctypes",
    "from sys import _getframe": "_getframe",
    "from .mine import f": ".",
    "from torch import _C": "_C",
    "torch.sys._getframe()": "sys",
    "warnings.sys.modules": "sys",
    "error.__traceback__": "__traceback__",
    "(x for x in y).gi_frame": "gi_frame",
    "f.__globals__": "__globals__",
    "f = lambda: __builtins__": "__builtins__",
    "getattr(torch, name)": "getattr",
    "getattr(torch, '_' + 'C')": "getattr",
    "getattr(torch, 'sys')": "sys",
    "get = getattr": "getattr",
    "def f(self): return self._C\nf(torch)": "torch",
    "def _C(): pass\ndef f(self): return self._C\nf(torch)": "torch",
    "match x:\n    case int(f_back=y): pass": "f_back",
    "exec('import gc')": "exec",
    "try: f()\nexcept torch.sys.x: pass": "sys",
    "%run helper.py": "run",
    "%time import gc": "gc",
    "%%time\nimport gc": "gc",
    "%%timeit\nx.f_back": "f_back",
    "%%capture\nimport gc": "gc",
    "-" * 9000 + "1": "what cannot be read",
}  # fmt: skip

# by what it tries: code that opens what is closed, reads what is hidden, or runs what nobody reads
ATTACKS = {
    "other names of the built-ins": [
        "import enum\nenum.bltns.eval('1')",
        "from enum import bltns as b\nb.eval('1')",
        "import dataclasses\ndataclasses.builtins.exec('')",
        "import collections\ncollections._sys.modules",
        "import random\nrandom._os.system('x')",
        "import statistics\nstatistics.sys.modules",
        "torch.builtins.eval('1')",
        "np.lib",
        "F.importlib.import_module('gc')",
        "functools.GenericAlias",
        "copy.dispatch_table",
    ],
    "names made one's own": [
        "class A:\n    __globals__ = __dict__ = None\n(lambda: 0).__globals__",
        "class A:\n    def __globals__(self): pass",
        "def f(__builtins__): return __builtins__",
        "for A.__code__ in []: pass",
        "import math as __dict__",
        "f(__class__=1)",
        "try: pass\nexcept Exception as __traceback__: pass",
        "class A:\n    savefig = canvas = None\nplt.gcf().savefig('x', backend='module://x')",
        "class A:\n    gi_frame = None\nx.gi_frame",
        "class A:\n    ctypes = None\nx.ctypes",
        "class A:\n    _module = None\nwarnings.catch_warnings()._module",
        "class A:\n    _ip = ev = None\nexit._ip.ev('1')",
        "class A:\n    obj = sys = None\ntry: torch.nothing\nexcept AttributeError as error: error.obj.sys",
        "class A:\n    func_globals = None\nnp.random.default_rng.func_globals",
        "class A:\n    func_globals = None\nnp.random.default_rng(0).normal.func_globals",
        "import logging\nclass A:\n    handlers = stream = None\nlogging.getLogger().handlers[0].stream",
        "from tqdm import tqdm\nclass A:\n    fp = None\ntqdm(x).fp",
        "class A:\n    def f(self): return self.__hidden",
        "def print(kind): kept.append(kind)\nprint(type(int))",
    ],
    "texts that become names": [
        "class M(type):\n    def __instancecheck__(self, x): return True",
        "class A(metaclass=M): pass",
        "class A:\n    __match_args__ = ('sys',)",
        "match x:\n    case A(y): pass",
        "type(int)('A', (), {'__match_' + 'args__': ('sys',)})",
        "make = type",
        "kind = type(int)",
        "type(int)",
        "int.__class__('A', (), {})",
        "setattr(x, '__' + 'class__', A)",
        "vars(x)",
        "'{0.__globals__}'.format(f)",
        "fill = '{0.__globals__}'.format\nfill(f)",
        "functools.update_wrapper(A(), x, assigned=(), updated=('sy' + 's',))",
        "functools.wraps(x, assigned=('sy' + 's',))(f)",
        "from functools import singledispatch",
        "from typing import get_type_hints",
        "from dataclasses import make_dataclass",
        "from enum import Enum\nEnum('A', {'__reduce_' + 'ex__': f})",
        "import operator\noperator.attrgetter('sys')(torch)",
        "help('looks')",
        "class A(make('x')): pass",
        "class A:\n    def __reduce_ex__(self, version): return int, (), (None, {'x': 1})",
    ],
    "code in a magic": [
        "%timeit -n 1 -r 1 import gc",
        "%timeit -n1 -r1 x.f_back",
        "%%timeit import gc\n1",
        "%cd {__import__('gc')}",
        "%pip install $x",
        "%config InlineBackend.figure_format = eval('1')",
        "%load_ext looks",
        "%%capture\nexec('')",
        "%%writefile {eval('1')}\nx",
        "%time -q import gc",
        "get_ipython().run_cell('import gc')",
        "shell = get_ipython",
    ],
    "files that are run": [
        "plt.switch_backend('module://lo' + 'oks')",
        "plt.switch_backend('module://looks')",
        "matplotlib.use('module://looks')",
        "plt.rcParams['backend'] = 'module://looks'",
        "plt.rcParams['axes.prop_cycle'] = 'looks()'",
        "plt.rcParams.update({'backend': 'module://looks'})",
        "plt.savefig('x', **{'back' + 'end': 'module://looks'})",
        "import os\nos.environ['MPLBACKEND'] = 'module://looks'",
        "torch.classes.load_library('own.so')",
        "torch.ops.load_library('own.so')",
        "np.ctypeslib.load_library('own', '.')",
        "torch.load('own.pt')",
        "torch.hub.load('.', 'f', source='local')",
        "torch.jit.load('own.pt')",
        "torch.set_default_tensor_type('looks.T')",
        "torch.package.PackageImporter('own')",
        "np.load('x.npy', allow_pickle=True)",
        "exec(open('looks.txt').read())",
        "import importlib\nimportlib.import_module('looks')",
        "import runpy\nrunpy.run_path('looks.py')",
        "import zipimport",
        "import sys\nsys.path.append('own.zip')",
        "plt.style.use('own/looks.mplstyle')",
    ],
    "what lists or changes operations": [
        "with torch.autograd.profiler.profile() as seen: f(x)",
        "from torch.profiler import profile",
        "from torch.utils._python_dispatch import TorchDispatchMode",
        "from torch.overrides import TorchFunctionMode",
        "class T(Tensor):\n    @classmethod\n    def __torch_function__(self, *x): pass",
        "with torch.autograd.graph.saved_tensors_hooks(f, f): pass",
        "y.grad_fn.next_functions",
        "torch.library.get_kernel('aten::relu', 'CPU')",
        "torch._C._te.TensorExprKernel",
        "torch.fx.symbolic_trace(f)",
        "torch.CompilationUnit('')",
    ],
    "modules under a second name": [
        "same = torch",
        "def f(lib=torch): pass",
        "[torch][0].hub",
        "print(torch)",
        "(torch if x else np).sys",
        "nn.functional",
        "with np as lib: pass",
        "warnings.catch_warnings = A",
        "Tensor.softmax = f",
        "F.softmax = f",
        "class A:\n    import torch as T\nA.T.hub",
        "class A:\n    if x:\n        from torch import nn as T\nA.T.functional",
    ],
    "something else under the name of a module": [
        "try: import absent as e\nexcept ImportError: pass\ntry: f()\nexcept E as e: e.__traceback__",
        "import course_utils.signoff as e\ntry: f()\nexcept AttributeError as e: e.obj",
        "import math as e\ntry: f()\nexcept AttributeError as e: e.obj",
        "from numpy.random import default_rng as e\nimport absent as e\ne.func_globals",
        "import absent as exit\nexit._ip",
        "from absent import __getattribute__ as look\nlook('__class__')",
        "import absent as error\ndef f(error): return error.__traceback__",
        "import absent as kind\nfor kind in x: kind.__globals__",
        "import _cython_0 as kinds\nkinds.generator",
        "import absent as Out\nOut.__class__.__base__.__subclasses__()",
        "import absent as attention_weights\ndef f(x): return attention_weights.__globals__['sys']",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("cell", "tool"), FOUND.items(), ids=lambda text: ascii(text)[:30])
def test_what_looks_into_the_process_is_found(cell, tool):
    assert introspects([TOP, cell], libraries=COURSE.libraries) == tool
    top = [TOP, "import beside"]
    assert introspects(top, [("beside", cell)], libraries=COURSE.libraries) == tool


@pytest.mark.parametrize(
    "cell",
    [cell for cells in ATTACKS.values() for cell in cells],
    ids=lambda text: ascii(text)[:40],
)
def test_no_road_to_what_is_hidden_is_harmless(cell):
    assert introspects([TOP, cell], libraries=COURSE.libraries)
    if not cell.startswith(("%", "get_ipython", "shell")):
        assert introspects([TOP, f"%%time\n{cell}"], libraries=COURSE.libraries)


HONEST = [
    "%matplotlib inline\nimport numpy as np, matplotlib.pyplot as plt\nimport torch.nn.functional as F",
    "%time y = f(x)\nfrom course_utils.signoff import signoff",
    "%timeit -n 10 -r 3 f(x)",
    "!pip install einops\n!ls",
    "%load_ext autoreload\n%autoreload 2\n%config InlineBackend.figure_format = 'retina'",
    "def f(x:\n    import gc",  # never runs
    "plt.rcParams['figure.figsize'] = (8, 4)\ntorch.backends.cudnn.deterministic = True",
    "print(f'{type(x)}', type(x), '{:.2f} {}'.format(1.5, x), isinstance(x, type(y)))",
    "import pandas_that_is_not_there as pd\npd.DataFrame({'a': [1]}).plot()\nprint(pd.__version__)",
    "torch.softmx(x)",
    """
class Net(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self._mask, self.heads, signal = None, size, 3
        self.register_buffer("table", torch.zeros(3))

    def _split(self, x):
        return x.view(*x.shape[:-1], self.heads, -1)

    def forward(self, x):
        _, length = x.shape
        return self._split(x) + self.table if getattr(self, "heads", 1) > 1 else x

print(type(Net(3)).__name__, Net(3).__class__.__name__, Net.__doc__, [_ for _ in range(3)], Net(3).eval())
""",
    """
from dataclasses import dataclass

@dataclass
class Config:
    heads: int = 2

    def __post_init__(self):
        self.width = self.heads * 4

def logged(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs)
    return inner

@logged
def f(x, config=Config()):
    return x.view(config.heads, -1) * config.width

figure, axes = plt.subplots(1, 2)
axes[0].imshow(x.detach().numpy(), cmap=plt.cm.viridis)
axes[0].set_title("weights")
plt.show()
""",
]


@pytest.mark.parametrize("cell", HONEST)
def test_what_students_write_is_not(cell):
    assert introspects([TOP, cell], libraries=COURSE.libraries) == ""


def test_what_the_courses_cells_import_is_there_for_the_others():
    cell = "y = torch.arange(3)"
    assert introspects([cell]) == "arange"
    assert introspects([cell], of_course=["import torch\nimport gc"]) == ""


@pytest.mark.parametrize("path", sorted(glob.glob("solutions/*/*.ipynb")))
def test_no_solution_looks_into_its_process(path):
    code = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    own = [cell.source for cell in code if not cell.metadata.get("nbgrader", {}).get("locked")]
    assert own
    assert introspects(own, libraries=COURSE.libraries) == ""


@pytest.mark.parametrize("path", sorted(SUBMISSIONS.glob("*.py")), ids=lambda path: path.stem)
def test_nobody_of_the_sample_class_does(path):
    found = introspects([path.read_text("utf-8")], libraries=COURSE.libraries, of_course=[TOP])
    assert found == ""


@pytest.mark.long
def test_hardly_any_right_answer_is_asked_twice():
    """The rest is asked again, which costs time and no points."""
    codes = [each.code for name in known() for each in bank_of(name) if each.right]
    twice = [code for code in codes if introspects([written_out(code)], libraries=COURSE.libraries)]
    assert len(codes) > 450
    assert len(twice) <= 0.05 * len(codes), len(twice)


@pytest.mark.long
def test_few_notebooks_with_odd_lines_in_them_are_asked_twice():
    """They were collected for what is odd about them: files, streams, the environment, packages not there."""
    works = [notebook_of(work).cells for work in HANDED_IN.values()]
    sources = [
        [cell.source for cell in cells if cell.cell_type == "code" and not _is_locked(cell)]
        for cells in works
    ]
    twice = [cells for cells in sources if introspects(cells, libraries=COURSE.libraries)]
    assert len(twice) <= 0.2 * len(sources), len(twice)


def _is_locked(cell):
    return cell.metadata.get("nbgrader", {}).get("locked", False)


# ------------------------------------------------------------------------------ the list itself


@pytest.mark.parametrize("place", harmless.MODULES)
def test_no_listed_name_is_a_module_that_is_not_listed(place):
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError:
        pytest.skip(f"there is no {place} here")
    for name in harmless.MODULES[place]:
        value = getattr(module, name, None)
        assert not isinstance(value, ModuleType), name
        # what an object of this name has on the list leads to no module either
        for own in harmless.attributes() if isinstance(value, type) else ():
            assert not isinstance(getattr(value, own, None), ModuleType), f"{name}.{own}"


def test_nothing_on_the_list_loads_or_runs_what_is_named_by_a_text():
    loads = {"load", "loads", "load_library", "import_module", "exec", "eval", "getattr", "savefig"}
    for place, names in harmless.MODULES.items():
        assert not loads & names, place
    assert not loads - {"eval"} & harmless.attributes()  # `model.eval()`
    assert not loads & (harmless.BUILT_IN | harmless.DEFINED | harmless.PLAIN)


def test_names_that_lead_to_frames_and_code_cannot_be_made_ones_own():
    taken = harmless.taken(frozenset({"torch", "matplotlib.pyplot", "warnings"}))
    assert {
        "gi_frame",
        "f_globals",
        "tb_next",
        "co_consts",
        "savefig",
        "canvas",
        "_module",
    } <= taken
    assert not taken & {"heads", "w_q", "split", "_split", "d_k"}


def test_every_attack_is_python_or_a_magic():
    for cells in ATTACKS.values():
        assert len(cells) >= 5
        for cell in cells:
            if "%" not in cell.splitlines()[0]:
                ast.parse(cell)
