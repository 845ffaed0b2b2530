import re

import pytest

from assignments import COURSE
from autograder.checks.source_rules import find

DISALLOWED = ("scaled_dot_product_attention", "MultiheadAttention")
MODULES = ("course_utils.signoff",)


def used(*cells):
    return find(cells, "part", DISALLOWED, MODULES, packages=COURSE.packages)


@pytest.mark.parametrize(
    "cells",
    [
        ["def part(q):\n    return torch.nn.functional.scaled_dot_product_attention(q, q, q)"],
        ["from torch.nn import functional as F", "def part(q):\n    return F.scaled_dot_product_attention(q, q, q)"],
        ["from torch.nn.functional import scaled_dot_product_attention as sdpa", "def part(q):\n    return sdpa(q)"],
        ["from torch.nn.functional import *", "def part(q):\n    return scaled_dot_product_attention(q)"],
        ["def part(q):\n    return getattr(F, 'scaled_dot_product_attention')(q)"],
        ["helper = F.scaled_dot_product_attention", "def part(q):\n    return helper(q)"],
        ["def helper(q):\n    return F.scaled_dot_product_attention(q)", "def part(q):\n    return helper(q)"],
        ["class part(nn.Module):\n    def __init__(self):\n        self.inner = nn.MultiheadAttention(4, 2)"],
        ["from course_utils.attention import attention_weights as w", "def part(q):\n    return w(q)"],
        ["from course_utils import attention", "def part(q):\n    return attention.self_attention(q)"],
        ["def part(q):\n    import course_utils.attention as a\n    return a.self_attention(q)"],
        ["def part(q):\n    from autograder import functions\n    return q"],
        ["with torch.no_grad() as m:\n    helper = F.scaled_dot_product_attention", "def part(q):\n    return helper(q)"],
        ["for helper in [F.scaled_dot_product_attention]:\n    pass", "def part(q):\n    return helper(q)"],
        ["from course_utils.attention import *", "def part(q):\n    return attention_weights(q)"],
        ["def part(q):\n    import importlib\n    return importlib.import_module('course_utils.attention')"],
        ["m = __import__('course_utils.masks')", "def part(q):\n    return m"],
        ["exec('from course_utils.attention import *')\nhelper = exec", "def part(q):\n    exec('import course_utils')"],
        ["def part(q):\n    return getattr(F, 'scaled_dot_' + 'product_attention')(q)"],
        ["def part(q):\n    return getattr(F, f\"scaled_dot_{'product'}_attention\")(q)"],
        ["def part(q):\n    exec('import ' + 'course' + '_utils.masks')"],
        ["from assignments import load", "def part(q):\n    return load('a2_self_attention')"],
        ["def part(q):\n    import assignments.a2_self_attention.rubric as m\n    return m"],
        ["def part(q):\n    return importlib.import_module('assignments.a2_self_attention.answers')"],
        ["def part(q):\n    exec('from assignments import load')"],
        ["def part(q):\n    return __import__('autograder')"],
        ["if True:\n    part = F.scaled_dot_product_attention"],
        ["MultiheadAttention = nn.MultiheadAttention", "def part(q):\n    return MultiheadAttention(q)"],
    ],
)  # fmt: skip
def test_the_answer_itself_is_found(cells):
    assert used(*cells)


@pytest.mark.parametrize(
    "cells",
    [
        ["def part(q):\n    return q"],
        # compared with the library in a cell of one's own: that is what a good student does
        ["def part(q):\n    return q", "assert part(q) == F.scaled_dot_product_attention(q, q, q)"],
        # one's own function of the same name
        ["def scaled_dot_product_attention(q):\n    return q", "def part(q):\n    return scaled_dot_product_attention(q)"],
        ["class part:\n    def scaled_dot_product_attention(self, q):\n        return q\n    def forward(self, q):\n        return self.scaled_dot_product_attention(q)"],
        # the same by another name, given at the end
        ["class Mine:\n    pass\nMultiheadAttention = Mine", "def part(q):\n    return MultiheadAttention(q)"],
        # a local name that a scratch cell uses otherwise
        ["weights = F.scaled_dot_product_attention(q, q, q)", "def part(q):\n    weights = q\n    return weights"],
        ["from course_utils.signoff import signoff", "def part(q):\n    return q", "signoff()"],
        ["def part(q):\n    \"\"\"Not from course_utils.\"\"\"\n    return q"],
        ["def part(q):\n    \"\"\"Like F.scaled_dot_product_attention.\"\"\"\n    return q"],
        # imported beside what is used, for a comparison in a cell of one's own
        ["from torch.nn.functional import softmax, scaled_dot_product_attention", "def part(q):\n    return softmax(q, -1)"],
        ["with torch.no_grad():\n    d = 4\n    r = F.scaled_dot_product_attention(q, q, q)", "def part(q):\n    return q * d"],
        ["%matplotlib inline", "def part(q):\n    return q"],
        # a word of the language, though also the name of a package of the course
        ["def part(q):\n    assert len(q), 'one of the assignments. It is empty'\n    return q"],
        ["assignments = [1, 2]", "def part(q):\n    return f'taken from assignments {assignments}'"],
        ["this is no Python", "def part(q):\n    return q"],
    ],
)  # fmt: skip
def test_what_is_free_is_left_alone(cells):
    assert used(*cells) is None


def test_what_another_part_uses_is_charged_there():
    cells = ["def earlier(q):\n    return F.scaled_dot_product_attention(q, q, q)"]
    cells += ["def part(q):\n    return earlier(q)"]
    assert used(*cells)
    assert find(cells, "part", DISALLOWED, MODULES, other_parts=("earlier",)) is None
    assert find(cells, "earlier", DISALLOWED, MODULES, other_parts=("earlier",))


UNWRITABLE = ["f\"{'\u00a0'.join(map(str, q))}\"", "0x1" + "0" * 4000]


@pytest.mark.parametrize("code", UNWRITABLE, ids=["a no-break space", "a long number"])
def test_code_that_python_does_not_write_is_read_all_the_same(code):
    helper = "def helper(q):\n    return F.scaled_dot_product_attention(q, q, q)"
    assert used(helper, f"def part(q):\n    print({code})\n    return helper(q)")
    # newer Pythons write the rest of the line, too
    of_a_text = used(f"def part(q):\n    return F[{code}].MultiheadAttention(q)")
    assert re.fullmatch(r"(F\[.*\]\.)?MultiheadAttention", of_a_text.message)
    scratch = "weights = F.scaled_dot_product_attention(q, q, q)"
    own = f"def part(q):\n    print({code})\n    weights = q\n    return weights"
    assert used(scratch, own) is None
    assert used(scratch, own.replace("weights = q", f"print(f'{{q:{{weights}}}}', {code})"))


ANSWER = "{indent}def part(q):\n{indent}    return F.scaled_dot_product_attention(q, q, q)\n"


@pytest.mark.parametrize("magic", ["%pwd", "here = %pwd", "!ls", "part?"])
def test_what_stands_behind_more_magics_than_ipython_reads_is_read(magic):
    assert used(f"{magic}\n" * 600 + ANSWER.format(indent="")) is not None
    assert used(f"{magic}\n" * 600 + "def part(q):\n    return q\n") is None
    assert used("def part(q):\n    return q", f"{magic}\n" * 600) is None


def test_a_thousand_branches_are_read():
    branches = "if x == 0:\n    y = 0\n" + "elif x == 1:\n    y = 1\n" * 900
    assert used(branches, "def part(q):\n    return q") is None
    assert used(branches + "else:\n" + ANSWER.format(indent="    ")) is not None


OURS = "from course_utils.attention import attention_map\n"
ATTEND = "    return F.scaled_dot_product_attention(q, q, q)\n"
OF_PART = "def part(q):\n    return f(q)"
SCALED = "scaled_dot_product_attention"


def used_beside(files, *cells):
    """What the part uses with these files beside the notebook, and where."""
    found = find(
        cells, "part", DISALLOWED, MODULES, beside=tuple(files.items()), packages=COURSE.packages
    )
    return found and f"{found.message}{found.where}"


IN_A_FILE = {
    "whatever a function that is imported uses": (
        {"own.py": f"import torch\ndef f(q):\n{ATTEND}"},
        ["from own import f", OF_PART],
        f"F.{SCALED}, in line 3 of `own.py`, `return F.{SCALED}(q, q, q)`",
    ),
    "under another name": (
        {"own.py": f"def g(q):\n{ATTEND}"},
        ["from own import g as f", OF_PART],
        f"F.{SCALED}, in line 2 of `own.py`, `return F.{SCALED}(q, q, q)`",
    ),
    "through the module": (
        {"own.py": f"def f(q):\n{ATTEND}"},
        ["import own as o", "def part(q):\n    return o.f(q)"],
        f"F.{SCALED}, in line 2 of `own.py`, `return F.{SCALED}(q, q, q)`",
    ),
    "what a file imports when it is imported itself": (
        {"own.py": f"import torch\n\n{OURS}def f(q):\n    return q"},
        ["from own import f", OF_PART],
        f"import course_utils.attention, in line 3 of `own.py`, `{OURS.strip()}`",
    ),
    "one file through another": (
        {"own.py": "from .two import f", "two.py": "from three import f", "three.py": f"{OURS}f = 1"},
        ["from own import f", OF_PART],
        f"import course_utils.attention, in line 1 of `three.py`, `{OURS.strip()}`",
    ),
    "a package's own file": (
        {"mine/__init__.py": OURS, "mine/one.py": "def f(q): ..."},
        ["from mine.one import f", OF_PART],
        f"import course_utils.attention, in line 1 of `mine/__init__.py`, `{OURS.strip()}`",
    ),
    "by a star": (
        {"own.py": f"def f(q):\n{ATTEND}"},
        ["from own import *", OF_PART],
        f"F.{SCALED}, in line 2 of `own.py`, `return F.{SCALED}(q, q, q)`",
    ),
    "as a program": (
        {"src/own.py": f"def f(q):\n{ATTEND}"},
        ["%run src/own.py", OF_PART],
        f"F.{SCALED}, in line 2 of `src/own.py`, `return F.{SCALED}(q, q, q)`",
    ),
    "as a text": (
        {"own.py": f"def f(q):\n{ATTEND}"},
        ["exec(open('own.py').read())", OF_PART],
        f"F.{SCALED}, in line 2 of `own.py`, `return F.{SCALED}(q, q, q)`",
    ),
    "what a program brings to this part": (
        {"own.py": f"import torch\n{OURS}"},
        ["%run own.py", "def part(q):\n    return attention_map(q)"],
        f"import course_utils.attention, in line 2 of `own.py`, `{OURS.strip()}`",
    ),
    "from a folder on the path": (
        {"src/own.py": f"def f(q):\n{ATTEND}"},
        ["import sys\nsys.path.append('src')\nfrom own import f", OF_PART],
        f"F.{SCALED}, in line 2 of `src/own.py`, `return F.{SCALED}(q, q, q)`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", IN_A_FILE)
def test_what_is_imported_from_a_file_is_found_with_its_line(kind):
    files, cells, message = IN_A_FILE[kind]
    assert used_beside(files, *cells) == message


NOT_IMPORTED = {
    "a file of which a comment speaks": (
        {"own.py": f"{OURS}def f(q):\n{ATTEND}"},
        ["# my own\nown = 1", "def f(q):\n    return q", OF_PART],
    ),
    "a file of which a text speaks": (
        {"own.py": f"{OURS}def f(q):\n{ATTEND}"},
        ["print('taken from own', 'see own.py')", "def f(q):\n    return q", OF_PART],
    ),
    "a file with words of the notebook": (
        {"attention.py": f"{OURS}class part:\n    def forward(self, q):\n    {ATTEND}"},
        ["attention = 1", "def part(q):\n    return attention"],
    ),
    "another function of a file": (
        {"own.py": f"def f(q):\n    return q\ndef part(q):\n{ATTEND}def plot(q):\n    {OURS}"},
        ["from own import f", OF_PART],
    ),
    "another function of a module": (
        {"own.py": f"def f(q):\n    return q\ndef part(q):\n{ATTEND}def plot(q):\n    {OURS}"},
        ["import own", "def part(q):\n    return own.f(q)"],
    ),
    "what only another cell imports": (
        {"own.py": f"{OURS}def plot(q):\n    return q"},
        ["import own\nown.plot(1)", "def part(q):\n    return q"],
    ),
    "what a program brings to other parts": (
        {"own.py": OURS},
        ["%run own.py", "def part(q):\n    return q"],
    ),
    "what a text brings to other parts": (
        {"own.py": OURS},
        ["exec(open('own.py').read())", "def part(q):\n    return q"],
    ),
    "what runs as a program alone": (
        {"own.py": f"def f(q):\n    return q\nif __name__ == '__main__':\n    {OURS}"},
        ["from own import f", OF_PART],
    ),
    "what a file has in its place where it is not there": (
        {"own.py": f"try:\n    {OURS}except ImportError:\n    pass\ndef f(q):\n    return q"},
        ["from own import f", OF_PART],
    ),
    "a function of one's own with the library's name": (
        {"own.py": f"def {SCALED}(q):\n    return q"},
        [f"from own import {SCALED}", f"def part(q):\n    return {SCALED}(q)"],
    ),
    "the same in a module": (
        {"own.py": f"def {SCALED}(q):\n    return q"},
        ["import own", f"def part(q):\n    return own.{SCALED}(q)"],
    ),
    "a module that another file has under this name": (
        {"own.py": "def f(q):\n    return q", "other/own.py": f"def f(q):\n{ATTEND}"},
        ["from own import f", OF_PART],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", NOT_IMPORTED)
def test_what_is_not_imported_of_a_file_is_left_alone(kind):
    files, cells = NOT_IMPORTED[kind]
    assert used_beside(files, *cells) is None


def test_the_line_of_a_cell_is_named():
    cells = ["import torch\n" + OURS, "def part(q):\n    return attention_map(q)"]
    assert used_beside({}, *cells) == (
        f"import course_utils.attention, in line 2 of a cell, `{OURS.strip()}`"
    )


def test_files_that_import_each_other_come_to_an_end():
    files = {f"m{n}.py": "".join(f"from m{k} import f\n" for k in range(40)) for n in range(40)}
    assert used_beside(files, "from m0 import f", OF_PART) is None
    assert used_beside({**files, "m39.py": OURS}, "from m0 import f", OF_PART)
