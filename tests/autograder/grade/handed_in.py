"""Notebooks as people hand them in: the answers of the solution, with one thing beside or in front of them.

What people install, switch, print, time, debug and leave behind is no part of an answer. Where points are
lost all the same, the sentence has to name the error and the line, and say what to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tests.sample_class import ASSIGNMENT, ROOT

A2 = ASSIGNMENT
A5, A6, A7 = "a5_multi_head_attention", "a6_positional_encoding", "a7_dropout_and_layer_norm"
A3 = "a3_scaled_dot_product_attention"
A9 = "a9_transformer"
FIRST, CONTEXT, BATCH, EQUIVARIANT = (
    "attention_weights",
    "basic_self_attention",
    "self_attention",
    "is_permutation_equivariant",
)


@dataclass(frozen=True)
class HandedIn:
    """What stands beside the right answers of an assignment, and what must come of it.

    Attributes:
        top: a cell above all others.
        imports: in the place of the cell in which the release imports what it needs.
        beside: cells of the student's own, each above the answer to a part.
        front: lines above an answer, in its cell.
        below: lines below an answer, in its cell.
        answers: other answers than the solution's.
        text: parts whose answer stands in a cell of text.
        after: cells of the student's own, each below the check of a part.
        split: parts whose cell was split, so that there are two of one name.
        form: writes the file, as some editor does.
        assignment: which is answered.
        lost: points that are lost, by part.
        told: what has to stand in the sentences on these parts.
        person: what has to stand in the sentence by which a person is asked to look; empty if none is.
    """

    top: str = ""
    imports: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    front: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    text: Sequence[str] = ()
    after: Mapping[str, str] = field(default_factory=dict)
    split: Sequence[str] = ()
    form: Callable[[NotebookNode], str] = nbformat.writes
    assignment: str = A2
    lost: Mapping[str, float] = field(default_factory=dict)
    told: Sequence[str] = ()
    person: str = ""


def text_of(work: HandedIn) -> str:
    """What stands in the file that is handed in."""
    return work.form(notebook_of(work))


def notebook_of(work: HandedIn) -> NotebookNode:
    """The notebook that is handed in."""
    notebook = nbformat.read(
        ROOT / "exercises" / work.assignment / f"{work.assignment}.ipynb", as_version=4
    )
    answers = {**solution(work.assignment), **work.answers}
    cells = [new_code_cell(work.top, id="top")] if work.top else []
    imports = work.imports
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        part = name.removeprefix("check_")
        if imports and cell.cell_type == "code" and not name:
            cell.source, imports = imports, ""
        if name in work.beside:
            cells.append(new_code_cell(work.beside[name], id=f"beside-{name}"))
        if cell.cell_type == "markdown" and cell.source == "YOUR ANSWER HERE":
            cell.source = "The sums are what they were."
        if name in answers:
            cell.source = work.front.get(name, "") + answers[name] + work.below.get(name, "")
        if name in work.text:
            written = new_markdown_cell(cell.source, id=cell.id)
            written.metadata = cell.metadata
            cell = written
        cells.append(cell)
        if name in work.split:
            above, _, below = cell.source.partition("\n\n\n")
            second = new_code_cell(below, id=f"split-{name}", metadata=cell.metadata)
            cell.source = above
            cells.append(second)
        if name != part and part in work.after:
            cells.append(new_code_cell(work.after[part], id=f"after-{part}"))
    notebook.cells = cells
    return notebook


@cache
def solution(assignment: str) -> dict[str, str]:
    """The answers of the course's solution, by part, as a student would type them."""
    path = ROOT / "solutions" / assignment / f"{assignment}.ipynb"
    marks = re.compile(
        r"^ *### (BEGIN|END) SOLUTION\n?|^ *### BEGIN HANDED OUT\n.*?^ *### END HANDED OUT\n?",
        re.MULTILINE | re.DOTALL,
    )
    return {
        cell.metadata.nbgrader.grade_id: marks.sub("", cell.source).rstrip()
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    }


def by_colab(notebook: NotebookNode) -> str:
    """As Colab saves a notebook: with metadata of its own, format 4.0, and no ids of cells."""
    notebook.nbformat_minor = 0
    notebook.metadata = {
        "accelerator": "GPU",
        "colab": {"provenance": [], "gpuType": "T4"},
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
        "widgets": {"application/vnd.jupyter.widget-state+json": {}},
    }
    for number, cell in enumerate(notebook.cells):
        del cell["id"]
        cell.metadata["id"] = f"kX3vP{number}"
        if cell.cell_type == "code":
            cell.metadata |= {"colab": {"height": 35}, "outputId": "5f0c", "cellView": "form"}
            cell.outputs = [new_output("stream", text="Mounted at /content/drive")]
    return json.dumps(notebook, indent=2)


def by_vscode(notebook: NotebookNode) -> str:
    """As VS Code saves a notebook: with the kernel's name of its own, format 4.2, and no ids of cells."""
    notebook.nbformat_minor = 2
    notebook.metadata = {
        "kernelspec": {"display_name": ".venv", "language": "python", "name": ".venv"},
        "language_info": {"name": "python", "version": "3.13.1"},
        "vscode": {"interpreter": {"hash": "31f2"}},
    }
    for cell in notebook.cells:
        del cell["id"]
        cell.metadata["vscode"] = {"languageId": "python"}
    return json.dumps(notebook, indent=1)


def with_mark(notebook: NotebookNode) -> str:
    """With a byte order mark, as some editors on Windows save text."""
    return f"\ufeff{nbformat.writes(notebook)}"


def with_carriage_returns(notebook: NotebookNode) -> str:
    """With the ends of lines that Windows has, in the cells and in the file."""
    for cell in notebook.cells:
        cell.source = cell.source.replace("\n", "\r\n")
    return nbformat.writes(notebook).replace("\n", "\r\n")


def renamed(part: str, name: str) -> str:
    """The solution of a part, under another name."""
    return solution(A2)[part].replace(part, name)


WEIGHTS = "def attention_weights(x):\n    {}\n    return (x @ x.T).softmax(-1)\n"
EINOPS = (
    "from einops import einsum, rearrange\n\n\ndef self_attention(query, key, value):\n"
    '    scores = query @ rearrange(key, "b s d -> b d s")\n'
    '    return einsum(scores.softmax(-1), value, "b t s, b s d -> b t d")\n'
)
JAXTYPING = (
    "from jaxtyping import Float\nfrom torch import Tensor\n\n\n"
    'def attention_weights(x: Float[Tensor, "T D"]) -> Float[Tensor, "T T"]:\n'
    "    return (x @ x.T).softmax(-1)\n"
)
CONFIGURED = (
    "from dataclasses import dataclass\n\n\n@dataclass\nclass Config:\n    dim: int = -1\n\n\n"
    "def attention_weights(x, config=Config()):\n    return (x @ x.T).softmax(config.dim)\n"
)
NESTED_QUOTES = 'print(f"{"a" + "b"}")\n'  # Python 3.12 takes it
GONE = "FileNotFoundError: [Errno 2] No such file or directory: '/content/drive/MyDrive'"
NO_TORCH = (
    "self_attention, is_permutation_equivariant: no points, and all for one name, `torch`, that is "
    "not defined"
)
ON_CPU = ("The grader has a CPU and no other device", "`.to(x.device)`")
FIRST_LOST = {FIRST: 3.0}

KAGGLE = (
    "import numpy as np # linear algebra\nimport pandas as pd # data processing\nimport os\n"
    "for dirname, _, filenames in os.walk('/kaggle/input'):\n"
    "    for filename in filenames:\n        print(os.path.join(dirname, filename))\nimport torch"
)
SHAPED = "def attention_weights(x: Shape['T', 'D']) -> Shape:\n    return (x @ x.T).softmax(-1)\n"
BLANKS = "\u00a0" * 4  # as web pages have them
CHECKED_TYPES = (
    "from typeguard import typechecked\n\n\nclass Weights:\n    @typechecked\n"
    "    def __call__(self, x):\n        return (x @ x.T).softmax(-1)\n\n\nattention_weights = Weights()"
)

HANDED_IN: dict[str, HandedIn] = {
    "nothing beside": HandedIn(),
    # how editors save it
    "Colab": HandedIn(
        top="from google.colab import drive\ndrive.mount('/content/drive')\n!pip install -q einops\n"
        "%cd /content/drive/MyDrive\n%matplotlib inline",
        form=by_colab,
    ),
    "VS Code": HandedIn(top="%reload_ext autoreload\n%autoreload 2", form=by_vscode),
    "Kaggle": HandedIn(imports=KAGGLE),
    "a byte order mark": HandedIn(form=with_mark),
    "carriage returns": HandedIn(form=with_carriage_returns),
    # packages and programs
    "pip by subprocess": HandedIn(
        top="import subprocess, sys\n"
        "subprocess.check_call([sys.executable, '-m', 'pip', 'install', 'einops'])"
    ),
    "pip by the shell, above the imports": HandedIn(
        imports="!pip install -q einops\n%pip install 'torch>=2'\nimport torch"
    ),
    "apt": HandedIn(top="!apt-get -qq install graphviz\n!cd /content && ls"),
    "nvidia-smi in the answer cell": HandedIn(front={FIRST: "!nvidia-smi\n"}),
    "nvidia-smi below the answer": HandedIn(below={FIRST: "\n!nvidia-smi"}),
    "a cell of bash": HandedIn(top="%%bash\npip install einops\nls /content"),
    "a cell of another Python": HandedIn(beside={CONTEXT: "%%python3\nimport pandas"}),
    "a file that is downloaded": HandedIn(top="!wget -q https://example.org/data.zip"),
    "get_ipython().system": HandedIn(top="get_ipython().system('pip install einops')"),
    "pip by the shell, and a look at what it says": HandedIn(
        imports="said = !pip list\nprint(said[0])\nimport torch"
    ),
    "a program, and a look at what it says": HandedIn(
        imports="import subprocess\nsaid = subprocess.run(['nvidia-smi'], capture_output=True, text=True)\n"
        "print(said.stdout.splitlines()[0])\nimport torch"
    ),
    "a program, read line by line": HandedIn(
        front={
            FIRST: "import subprocess\nwith subprocess.Popen('ls', stdout=subprocess.PIPE) as ls:\n"
            "    for line in ls.stdout:\n        print(line)\n"
        }
    ),
    # magics
    "capture above an import that fails": HandedIn(
        imports="%%capture\n!pip install pandas\nimport pandas as pd\nimport torch"
    ),
    "a file that is run": HandedIn(imports="%run helpers.py\nimport torch"),
    "autoreload": HandedIn(top="%load_ext autoreload\n%autoreload 2"),
    "time above the answer": HandedIn(front={FIRST: "%%time\n"}),
    "capture above the answer": HandedIn(front={FIRST: "%%capture\n"}),
    "timeit above the answer": HandedIn(
        front={FIRST: "%%timeit\n"},
        lost=FIRST_LOST,
        told=("begins with `%%timeit`", "Take that line out"),
    ),
    "writefile above the answer": HandedIn(
        front={FIRST: "%%writefile answer.py\n"},
        lost=FIRST_LOST,
        told=("begins with `%%writefile answer.py`", "Take that line out"),
    ),
    "a magic that is not there, above the answer": HandedIn(
        front={FIRST: "%%wandb\n"},
        lost=FIRST_LOST,
        told=("begins with `%%wandb`", "Take that line out"),
    ),
    "a line magic that is not there": HandedIn(front={FIRST: "%tensorboard --logdir runs\n"}),
    "an extension that is not there": HandedIn(
        imports="%load_ext tensorboard\n%load_ext nb_black\nimport torch"
    ),
    "cd": HandedIn(top="%cd /content/drive/MyDrive/attention\n%pwd"),
    "figures sharper": HandedIn(top="%config InlineBackend.figure_format = 'retina'"),
    "everything reset at the top": HandedIn(top="%reset -f"),
    "everything reset below an answer": HandedIn(
        beside={CONTEXT: "%reset -f\nimport torch"},
        after={FIRST: "1 + 1"},
        lost={CONTEXT: 2.0},
        told=("name 'attention_weights' is not defined",),
    ),
    "an environment variable": HandedIn(top="%env CUDA_LAUNCH_BLOCKING=1\n%who"),
    # imports that fail
    "pandas, above the imports": HandedIn(imports="import pandas as pd\nimport torch"),
    "seaborn, and it is used": HandedIn(
        imports="import seaborn as sns\nsns.set_theme()\nimport torch"
    ),
    "colab's drive": HandedIn(
        imports="from google.colab import drive\ndrive.mount('/content/drive')\n"
        "import torch\nimport os\nos.chdir('/tmp')"
    ),
    "colab, if it is there": HandedIn(
        top="try:\n    import google.colab\n    IN_COLAB = True\nexcept ImportError:\n    IN_COLAB = False"
    ),
    "an import that fails, in the answer cell": HandedIn(front={FIRST: "import pandas as pd\n"}),
    "a name that a module does not have": HandedIn(
        imports="from torch import softmx\nimport torch"
    ),
    "a star from a module that is not there": HandedIn(
        imports="from d2l.torch import *\nimport torch"
    ),
    "two imports in a line": HandedIn(imports="import pandas as pd, torch\nfrom torch import nn"),
    "an import in a block": HandedIn(
        imports="import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n"
        "    import pandas as pd\n    import torch"
    ),
    "what was not imported, used above the answer": HandedIn(
        imports="import pandas as pd\nimport torch", front={FIRST: "table = pd.DataFrame()\n"}
    ),
    "types that are not there": HandedIn(
        imports="from torchtyping import TensorType as Shape\nimport torch", answers={FIRST: SHAPED}
    ),
    "types that are not there, in the answer cell": HandedIn(
        front={FIRST: "from torchtyping import TensorType as Shape\n\n\n"},
        answers={FIRST: SHAPED},
    ),
    "types of a later Python": HandedIn(
        imports="from typing import override\nimport torch",
        answers={
            FIRST: "class Weights:\n    @override\n    def __call__(self, x):\n"
            "        return (x @ x.T).softmax(-1)\n\n\nattention_weights = Weights()"
        },
    ),
    "decorators that are not there": HandedIn(
        imports="from beartype import beartype\nfrom numba import njit\nimport torch",
        answers={
            FIRST: "@torch.enable_grad()\n@njit(\n    cache=True,\n)\n" + solution(A2)[FIRST],
            CONTEXT: "@beartype\n" + solution(A2)[CONTEXT],
        },
    ),
    "a decorator that is not there, in the answer cell": HandedIn(answers={FIRST: CHECKED_TYPES}),
    "a class that is not there, to inherit from": HandedIn(
        imports="from d2l import torch as d2l\nimport torch",
        answers={
            FIRST: "class Weights(d2l.Module):\n    def __call__(self, x):\n"
            "        return (x @ x.T).softmax(-1)\n\n\nattention_weights = Weights()"
        },
        lost=FIRST_LOST,
        told=("NameError", "d2l"),
    ),
    # what is only there on the student's machine, above the imports
    "a file": HandedIn(
        imports="import json\nsettings = json.load(open('settings.json'))\nimport torch"
    ),
    "a variable of the environment": HandedIn(
        imports="import os\ntoken = os.environ['HF_TOKEN']\nimport torch"
    ),
    "the network": HandedIn(
        imports="import urllib.request\nurllib.request.urlretrieve('https://example.org/a', 'a')\nimport torch"
    ),
    # packages of the course
    "einops": HandedIn(answers={BATCH: EINOPS}),
    "einops, not installed": HandedIn(
        top="import sys\nsys.modules['einops'] = None",
        answers={BATCH: EINOPS},
        lost={BATCH: 3.0},
        told=("`rearrange` is not there", "ModuleNotFoundError", "Can you do without it?"),
    ),
    "jaxtyping": HandedIn(answers={FIRST: JAXTYPING}),
    "tqdm": HandedIn(
        top="from tqdm import tqdm\nfrom tqdm.auto import trange\n"
        "for _ in tqdm(range(3)): pass\nfor _ in trange(3): pass"
    ),
    "tqdm inside an answer": HandedIn(
        front={FIRST: "from tqdm import tqdm\n"},
        answers={FIRST: WEIGHTS.format("for _ in tqdm(range(2)): pass")},
    ),
    "dataclasses": HandedIn(answers={FIRST: CONFIGURED}),
    # switches
    "seeds": HandedIn(
        top="import random, numpy, torch\nrandom.seed(0)\nnumpy.random.seed(0)\ntorch.manual_seed(0)\n"
        "torch.cuda.manual_seed_all(0)\ntorch.backends.cudnn.deterministic = True"
    ),
    "threads": HandedIn(top="import torch\ntorch.set_num_threads(8)"),
    "threads between operations": HandedIn(
        imports="import torch\ntorch.set_num_interop_threads(8)\nhalf = 0.5"
    ),
    "autocast, left on": HandedIn(
        top="import torch\ntorch.set_autocast_enabled('cpu', True)", assignment=A5
    ),
    "autocast, entered": HandedIn(
        top="import torch\ntorch.autocast('cpu', dtype=torch.bfloat16).__enter__()"
    ),
    "deterministic algorithms": HandedIn(
        top="import torch\ntorch.use_deterministic_algorithms(True)"
    ),
    "warnings as errors": HandedIn(
        top="import warnings\nwarnings.simplefilter('error')", assignment=A7
    ),
    "NumPy's errors": HandedIn(top="import numpy as np\nnp.seterr(all='raise')", assignment=A6),
    "how arrays are printed": HandedIn(
        top="import numpy as np, torch\nnp.set_printoptions(precision=2)\n"
        "torch.set_printoptions(precision=2, sci_mode=False)"
    ),
    "double precision": HandedIn(
        top="import torch\ntorch.set_default_dtype(torch.float64)", assignment=A5
    ),
    "half precision": HandedIn(
        top="import torch\ntorch.set_default_dtype(torch.bfloat16)",
        assignment=A6,
    ),
    "less precise products, switched in an older and a newer way": HandedIn(
        top="import torch\ntorch.set_float32_matmul_precision('medium')\n"
        "torch.backends.cuda.matmul.allow_tf32 = True",
        assignment=A5,
    ),
    "gradients off": HandedIn(
        top="import torch\ntorch.set_grad_enabled(False)",
        assignment=A7,
    ),
    "inference mode, entered": HandedIn(
        top="import torch\ntorch.inference_mode().__enter__()", assignment=A5
    ),
    "anomaly detection": HandedIn(
        top="import torch\ntorch.autograd.set_detect_anomaly(True)", assignment=A7
    ),
    "a folder of their own": HandedIn(top="import os\nos.makedirs('mine')\nos.chdir('mine')"),
    "environment": HandedIn(top="import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'"),
    "logging": HandedIn(top="import logging\nlogging.basicConfig(level=logging.DEBUG)"),
    "a seaborn style that is gone": HandedIn(
        beside={FIRST: "import matplotlib.pyplot as plt\nplt.style.use('seaborn-darkgrid')"}
    ),
    # devices
    "a device, if there is one": HandedIn(
        top="import torch\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'",
        answers={FIRST: WEIGHTS.format("x = x.to(device)")},
    ),
    "default device cuda": HandedIn(top="import torch\ntorch.set_default_device('cuda')"),
    "default device mps": HandedIn(
        top="import torch\ntorch.set_default_device(torch.device('mps'))", assignment=A5
    ),
    "cuda in the answer": HandedIn(
        answers={FIRST: WEIGHTS.format("x = x.cuda()")}, lost=FIRST_LOST, told=ON_CPU
    ),
    "to mps in the answer": HandedIn(
        answers={FIRST: WEIGHTS.format("x = x.to('mps')")}, lost=FIRST_LOST, told=ON_CPU
    ),
    "a tensor made on cuda": HandedIn(
        answers={FIRST: WEIGHTS.format("x = x + torch.zeros(1, device='cuda')")},
        lost=FIRST_LOST,
        told=ON_CPU,
    ),
    "a test of their own on cuda": HandedIn(
        beside={CONTEXT: "print(attention_weights(torch.randn(3, 2).cuda()))"}
    ),
    "cuda's memory": HandedIn(
        top="import torch\ntorch.cuda.empty_cache()\nt = torch.cuda.device_count()"
    ),
    # what is printed, shown and asked
    "printing inside functions": HandedIn(
        answers={FIRST: WEIGHTS.format("print('x', x.shape, x)")}
    ),
    "pictures": HandedIn(
        beside={
            CONTEXT: "import matplotlib.pyplot as plt\n"
            "plt.imshow(attention_weights(torch.eye(3)))\nplt.show()"
        }
    ),
    "pictures in a window": HandedIn(
        imports="%matplotlib widget\nimport matplotlib.pyplot as plt\nimport torch"
    ),
    "a backend of its own": HandedIn(
        imports="import matplotlib\nmatplotlib.use('TkAgg')\nimport torch"
    ),
    "a very long print": HandedIn(beside={CONTEXT: "for n in range(100_000):\n    print(n)"}),
    "a long line": HandedIn(beside={CONTEXT: "'word ' * 1_000_000"}),
    "outputs cleared": HandedIn(
        beside={CONTEXT: "from IPython.display import clear_output\nclear_output(wait=True)"}
    ),
    "a question above the answer": HandedIn(front={FIRST: "name = input('Your name: ')\n"}),
    "a number that is asked for": HandedIn(beside={FIRST: "n = int(input('How many? '))"}),
    "a debugger in the answer": HandedIn(
        answers={FIRST: WEIGHTS.format("import pdb; pdb.set_trace()")}
    ),
    "breakpoint in the answer": HandedIn(answers={FIRST: WEIGHTS.format("breakpoint()")}),
    "debug below an error": HandedIn(beside={FIRST: "1 / 0"}, front={FIRST: "%debug\n"}),
    "nothing to print to": HandedIn(top="import sys\nsys.stdout = None"),
    "a file to print to, closed": HandedIn(
        beside={CONTEXT: "import sys\nsys.stdout = open('log', 'w')\nsys.stdout.close()"}
    ),
    # how a notebook ends
    "sys.exit() in a cell": HandedIn(beside={CONTEXT: "import sys\nsys.exit()"}),
    "sys.exit() in the answer cell": HandedIn(below={FIRST: "\nimport sys\nsys.exit(0)"}),
    "exit as the last line": HandedIn(below={FIRST: "\n\nexit"}),
    "quit()": HandedIn(beside={CONTEXT: "quit()"}),
    "raise SystemExit": HandedIn(beside={CONTEXT: "raise SystemExit('stop here')"}),
    "os._exit": HandedIn(
        beside={CONTEXT: "import os\nos._exit(0)"},
        lost={CONTEXT: 2.0, BATCH: 3.0, EQUIVARIANT: 2.0},
        told=("process ended in cell", "Is there an `os._exit()`?"),
    ),
    # what else is in the cells
    "a cell with only a comment": HandedIn(top="# Ada Lovelace, 12345", beside={BATCH: "# to do"}),
    "a typing error in another cell": HandedIn(beside={CONTEXT: "print('attention'\n"}),
    "Python 3.12 in another cell": HandedIn(beside={CONTEXT: NESTED_QUOTES}),
    "Python 3.12 in the answer cell": HandedIn(
        below={FIRST: f"\n\n{NESTED_QUOTES}"},
        lost=FIRST_LOST,
        told=("typing error", "Python 3.12 may take this line", "quotes"),
    ),
    "types as Python 3.12 has them, in another cell": HandedIn(
        beside={CONTEXT: "type Rows[T] = list[T]"}
    ),
    "types as Python 3.12 has them, in the answer cell": HandedIn(
        below={FIRST: "\n\n\ndef first[T](rows: list[T]) -> T:\n    return rows[0]\n"},
        lost=FIRST_LOST,
        told=(
            "typing error",
            "Python 3.12 may take this line",
            "no brackets stand behind the name",
        ),
    ),
    "blanks from a web page": HandedIn(
        answers={FIRST: WEIGHTS.format("pass").replace("    ", BLANKS)},
        lost=FIRST_LOST,
        told=("U+00A0", "type it anew"),
    ),
    "quotes from a web page": HandedIn(
        answers={FIRST: solution(A2)[FIRST].replace('"""', "“””")},
        lost=FIRST_LOST,
        told=("U+201C", "type it anew"),
    ),
    "a fence from a chat": HandedIn(
        answers={FIRST: f"```python\n{solution(A2)[FIRST]}\n```"},
        lost=FIRST_LOST,
        told=("line 1 of its cell consists of backquotes", "Delete each line"),
    ),
    "an assertion of their own that fails": HandedIn(beside={CONTEXT: "assert 1 == 2, 'why?'"}),
    "an assertion that fails above the answer": HandedIn(
        front={FIRST: "assert torch.cuda.is_available()\n"},
        lost=FIRST_LOST,
        told=("in the line `assert torch.cuda.is_available()`", "AssertionError", "Mend that line"),
    ),
    "a test of their own that fails below the answer": HandedIn(
        below={FIRST: "\n\nassert attention_weights(torch.eye(2)).sum() == 3"}
    ),
    "an attribute misspelt below the answer": HandedIn(
        below={FIRST: "\n\nattention_weights(torch.eye(2)).shpe"}
    ),
    "two definitions": HandedIn(
        front={FIRST: "def attention_weights(x):\n    return x\n\n\n"},
    ),
    "two definitions, the wrong one last": HandedIn(
        below={FIRST: "\n\n\ndef attention_weights(x):\n    return x\n"}, lost=FIRST_LOST
    ),
    "the definition below its check": HandedIn(
        answers={FIRST: "# see below"},
        after={FIRST: solution(A2)[FIRST]},
        lost=FIRST_LOST,
        told=("stands below the place where it is asked for", "Move it up"),
    ),
    "a better definition below its check": HandedIn(
        answers={FIRST: "def attention_weights(x):\n    return x"},
        after={FIRST: solution(A2)[FIRST]},
        lost=FIRST_LOST,
        told=("is defined once more below this check", "put it in the place of this one"),
    ),
    "a split cell": HandedIn(
        front={FIRST: "def scores_of(x):\n    return x @ x.T\n\n\n"}, split=(FIRST,)
    ),
    "the answer in a cell of text": HandedIn(
        text=(FIRST,), lost=FIRST_LOST, told=("cell of text", "press Esc and then Y")
    ),
    "the answer in a cell of their own, the stub kept": HandedIn(
        beside={FIRST: solution(A2)[FIRST]},
        answers={
            FIRST: "def attention_weights(x):\n    raise NotImplementedError('not answered yet')"
        },
        lost=FIRST_LOST,
        told=("Two cells define `attention_weights`", "Put it where the text says"),
    ),
    "the stub kept above": HandedIn(
        front={FIRST: "raise NotImplementedError()\n"},
        lost=FIRST_LOST,
        told=("raise NotImplementedError()", "Delete it"),
    ),
    "commented out": HandedIn(
        answers={FIRST: "\n".join(f"# {line}" for line in solution(A2)[FIRST].splitlines())},
        lost=FIRST_LOST,
        told=("commented out", "Take the `#` away"),
    ),
    "another name": HandedIn(
        answers={FIRST: renamed(FIRST, "attention_weight")},
        lost=FIRST_LOST,
        told=("one defines `attention_weight`",),
    ),
    # answers that are no `def`
    "a lambda": HandedIn(answers={FIRST: "attention_weights = lambda x: (x @ x.T).softmax(-1)"}),
    "a partial": HandedIn(
        answers={
            FIRST: "from functools import partial\n\n\ndef with_axis(x, axis):\n"
            "    return (x @ x.T).softmax(axis)\n\n\nattention_weights = partial(with_axis, axis=-1)"
        }
    ),
    "a partial whose cell stops": HandedIn(
        front={FIRST: "1 / 0\n"},
        answers={FIRST: "attention_weights = lambda x: (x @ x.T).softmax(-1)"},
        lost=FIRST_LOST,
        told=("in the line `1 / 0`", "ZeroDivisionError", "Mend that line"),
    ),
    "scripted": HandedIn(answers={FIRST: "@torch.jit.script\n" + WEIGHTS.format("x = x + 0")}),
    "compiled": HandedIn(
        answers={name: f"@torch.compile\n{solution(A2)[name]}" for name in (FIRST, CONTEXT, BATCH)}
    ),
    "without gradients": HandedIn(
        answers={FIRST: "@torch.no_grad()\n" + solution(A2)[FIRST]},
        lost={FIRST: 1.0},
        told=("no gradient reaches `x`", "no_grad"),
    ),
    "a class of callables": HandedIn(
        answers={
            FIRST: "class Weights:\n    def __call__(self, x):\n"
            "        return (x @ x.T).softmax(-1)\n\n\nattention_weights = Weights()"
        }
    ),
    "cached": HandedIn(
        front={FIRST: "import functools\n\n\n@functools.wraps(print)\n"},
    ),
    # right answers that take their time
    "loops over single numbers": HandedIn(
        answers={
            FIRST: "def attention_weights(x):\n    scores = torch.zeros(len(x), len(x), dtype=x.dtype)\n"
            "    for i in range(len(x)):\n        for j in range(len(x)):\n            total = 0.0\n"
            "            for d in range(x.shape[1]):\n                total = total + x[i, d] * x[j, d]\n"
            "            scores[i, j] = total\n    return torch.softmax(scores, dim=1)"
        }
    ),
    "a product of four arrays at once": HandedIn(
        assignment=A3,
        answers={
            "numpy_self_attention": "def numpy_self_attention(X, Wq, Wk, Wv):\n"
            '    scores = np.einsum("td,dk,ek,se->ts", X, Wq, Wk, X) / np.sqrt(Wk.shape[1])\n'
            "    weights = stable_softmax(scores)\n    return weights @ (X @ Wv), weights"
        },
    ),
    # one slip, on which later parts build
    "a decoder's last norm left out": HandedIn(
        assignment=A9,
        answers={
            "DecoderLayer": solution(A9)["DecoderLayer"].replace(
                "self.layer_norm3(x + self.dropout(self.feed_forward(x)))",
                "x + self.dropout(self.feed_forward(x))",
            )
        },
        lost={"DecoderLayer": 1.0},
        told=("Last norm missing.",),
    ),
    # one name without which nothing runs
    "torch is not imported": HandedIn(
        imports="import math",
        lost={BATCH: 3.0, EQUIVARIANT: 2.0},
        told=("NameError",),
        person=NO_TORCH,
    ),
    "the imports stop": HandedIn(
        imports="import os\nos.chdir('/content/drive/MyDrive')\ntorch = __import__('torch')",
        lost={BATCH: 3.0, EQUIVARIANT: 2.0},
        told=(f"stopped before it, in the line `os.chdir('/content/drive/MyDrive')`, with {GONE}",),
        person=NO_TORCH,
    ),
    "imports below what stops": HandedIn(
        imports="import os\nos.chdir('/content/drive/MyDrive')\nimport torch\nfrom torch import nn"
    ),
}
