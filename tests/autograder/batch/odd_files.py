"""Odd files that can be handed in: notebooks, folders and names. Each says what it earns."""

import json
import os
import stat

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from tests.sample_class import (
    ASSIGNMENT,
    SUBMISSIONS,
    answers_in,
    filled_in,
)

ALL, FIRST_TWO = 10, 5
PARTS = "attention_weights", "basic_self_attention", "self_attention", "is_permutation_equivariant"
HONEST = ("right_loops", "scaled_scores", "mixed_batch")
RIGHT = answers_in(SUBMISSIONS / "right_matrices.py")


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
    "cells_ten_thousand": (whole(cells=[{"cell_type": "code", "source": "1"}] * 10_000), 0),
    "cells_of_everything": (
        whole(cells=[None, 1, "x", [], {}, {"cell_type": []}, *whole()["cells"]]),
        ALL,
    ),
    # without nbgrader's marks the cells that decide are put at the end, where the answers stand
    "no_metadata": (each_cell(lambda cell, _: cell.pop("metadata")), ALL),
    "marks_null": (each_cell(lambda cell, _: cell["metadata"].update(nbgrader=None)), ALL),
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
    "grade_ids_alike": (marked(grade_id=PARTS[0]), None),
    "source_a_number": (source_as(5), None),
    "source_a_list": (source_as([*A_WEIGHTS.splitlines(keepends=True), 5, None]), ALL),
    "byte_order_mark": (b"\xef\xbb\xbf" + json.dumps(whole()).encode(), ALL),
    "utf_16": (json.dumps(whole()).encode("utf-16"), ALL),
    "half_characters": (
        each_cell(lambda cell, _: cell.update(source=[*cell["source"], "\n# \ud800\udc00\ud800"])),
        ALL,
    ),
    "half_characters_in_names": (
        whole(metadata={"\ud800": "\ud800"}, **{"\ud800": ["\ud800"]}),
        ALL,
    ),
    "old_format": ({"nbformat": 3, "worksheets": [{"cells": [None, 5, {"cell_type": []}]}]}, 0),
    "five_thousand_texts": (with_cell(LONG_SUM), ALL),
    "sum_in_an_answer": (
        with_answer(PARTS[0], A_WEIGHTS + "\n    return " + " + ".join(["'a'"] * 5_000)),
        7,  # more than Python itself compiles
    ),
    "parentheses": (with_cell("(" * 5_000 + "1" + ")" * 5_000), ALL),
    "brackets": (with_cell("[" * 100_000), ALL),
    "pictures": (with_cell("![a](" * 200_000, kind=new_markdown_cell), ALL),
    "emphasis": (
        with_cell(*["*a_ " * 450] * 300, kind=new_markdown_cell),
        ALL,
    ),
    "one_colour": (with_cell("print('\\x1b[' + '1;' * 2_000_000 + 'mx')"), ALL),
    "tags": (
        with_cell(
            "from IPython.display import HTML\n"
            "for tag in ('<b>', '<a><b>', '<table><b>', '<p><i>', '<svg><p>'):\n"
            "    for _ in range(10): display(HTML(tag * (99_000 // len(tag))))"
        ),
        ALL,
    ),
    "names_at_once": (with_cell(ONE_STATEMENT), ALL),
    "long_line": (with_cell("x = '" + "a" * 5_000_000 + "'"), ALL),
    "long_answer": (
        with_answer(PARTS[0], "def attention_weights(x):\n    return 'x' * 9_000_000"),
        None,
    ),
    "own_grade_of_own": (
        with_cell(f"from autograder.cell import grade\n\ngrade('{ASSIGNMENT}', '{PARTS[3]}')"),
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
    "time_huge": (timestamp(b"2" * (1 << 22)), ALL),
    "time_far": (timestamp(b"999999999-13-99 99:99:99 +99:99"), ALL),
    "time_a_link": (lambda folder: (folder / "timestamp.txt").symlink_to("/dev/zero"), ALL),
    "deep_1200": (lambda folder: deep(folder, 1200), ALL),
    "many_files": (many, ALL),
    "large_file": (large, ALL),
    "colliding": (colliding, ALL),
    "pages": (pages, ALL),
    "notebook_a_link": (linked_notebook, 0),
    "notebook_a_pipe": (no_notebook(os.mkfifo), 0),
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
