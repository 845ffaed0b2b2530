"""A notebook's cells are read as IPython runs them, each once."""

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from autograder.checks.notebook_source import (
    LONGEST_KEPT,
    Definitions,
    as_python,
    forget,
    statements_of,
)

ROOT = Path(__file__).resolve().parents[3]
ODD = [
    "", "\n\n", "# what is `d_k`?", "x = 'really?'\ny = 1", "x?", "x = 1\nx??", "?x", "!ls", "%time x",
    "  %time x", "files = !ls", "n = %timeit -o x", "n = \\\n%timeit -o x", "%%time\nx = 1",
    "%%capture\n%time x", ">>> x = 1", "    >>> x = 1\n    ... + 2", "In [1]: x = 1", "[ins] In [2]: x",
    "x = 1\n   ...: y = 2", "  # indented\ndef f():\n  return 1", "    x = 1\n    y = 2", "/f x", ",f a b",
    ";f a b", "x = (5\n% 3)", "x = 'a\x0c%time y'", "x = 1\r\ny = 2", "x = 1\x0c\ny = 2",
    "text = '''\n   \n'''", "def f(:\n    pass", "x = 1\n  y = 2",
]  # fmt: skip


@cache
def course_cells():
    """All code cells that the course hands out, and those of its solutions."""
    return [
        "".join(cell["source"])
        for folder in ("exercises", "solutions")
        for path in sorted(ROOT.glob(f"{folder}/*/*.ipynb"))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]


def as_ipython_reads(cell):
    try:
        return [ast.dump(statement) for statement in ast.parse(as_python(cell)).body]
    except SyntaxError:
        return []


@pytest.mark.parametrize("cell", ODD)
def test_an_odd_cell_is_read_as_ipython_reads_it(cell):
    assert [ast.dump(statement) for statement in statements_of(cell)] == as_ipython_reads(cell)


def test_the_courses_cells_are_read_as_ipython_reads_them():
    assert len(course_cells()) > 300
    for cell in course_cells():
        assert [ast.dump(statement) for statement in statements_of(cell)] == as_ipython_reads(cell)


def test_only_what_is_long_or_a_submissions_own_is_forgotten():
    forget()  # as at the end of the submission before
    short, long = "x = 1", f"x = 1  # {'a' * LONGEST_KEPT}"
    before = statements_of(short), statements_of(long), Definitions.of((short,))
    forget()
    after = statements_of(short), statements_of(long), Definitions.of((short,))
    assert [one is other for one, other in zip(before, after, strict=True)] == [True, False, False]


def test_what_could_not_be_read_for_lack_of_memory_is_read_again(monkeypatch):
    def parse(_):
        raise MemoryError

    cell = "def part():\n    return 'read without memory'"
    with monkeypatch.context() as short_of_memory:
        short_of_memory.setattr(ast, "parse", parse)
        assert statements_of(cell) == []
        assert Definitions.of((cell,)).statements == {}
    forget()
    assert Definitions.of((cell,)).statements.keys() == {"part"}
