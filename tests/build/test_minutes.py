"""What a lecture says about its length is true, and its code shows what the story needs."""

import sys
from importlib import import_module

import jupytext
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.release.source import in_order, read_source
from tests.sample_class import ROOT

sys.path.insert(0, str(ROOT / "sources"))  # as `python sources/build.py` has it
minutes = import_module("minutes")

LECTURES = in_order((ROOT / "sources" / "lectures").glob("*.py"))
MOST_DRAWING_LINES = 37  # in one lecture; 300 in all eight


def code(text, **metadata):
    return new_code_cell(text, metadata=metadata)


def test_the_rule():
    notebook = new_notebook(
        cells=[
            new_markdown_cell("# Lecture\n\n" + "word " * 299),
            code("x = 1\n\n# why\n" * 6),
            code("hidden = 1\n" * 50, tags=["hide-input"], seconds=30),
            new_markdown_cell(
                "## 2. Going deeper: more\n" + "word " * 146 + "\n## Summary\nend " * 1
            ),
            code("y = 2", seconds=60),
            new_markdown_cell("## Check yourself\n" + "why " * 70),
            new_markdown_cell("## Further reading\n" + "book " * 900),
        ]
    )
    found = minutes.readings(notebook)
    core, deeper = found["core"], found["deeper"]
    assert (core.lines, core.seconds) == (13, 90)
    assert core.words == 302
    assert core.minutes == pytest.approx(302 / 180 + 13 / 8 + 1.5)
    assert (deeper.words, deeper.lines, deeper.seconds) == (150, 0, 0)
    assert deeper.minutes == pytest.approx(150 / 180)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("| a | b |\n|---|--:|\n| 1 | two |", 4),
        ("see [the page](https://example.org/a b)", 3),
        ("![a long text\nfor a picture](x.svg) below", 1),
        ("<details><summary>Answer</summary>\n\nNo.\n\n</details>", 2),
        (r"$\omega_{ij} = x^{(i)} \cdot x^{(j)}$ – here", 5),
        ("**bold** and — `code`", 3),
    ],
)
def test_words_are_what_a_reader_reads(text, words):
    assert minutes.words_in(text) == words


@pytest.mark.parametrize(
    ("heading", "part"),
    [
        ("## 7. Going deeper: what it costs", "deeper"),
        ("## Going deeper", "deeper"),
        ("## 7. What it costs", "core"),
        ("## Not Going deeper", "core"),
        ("### Going deeper", "core"),
    ],
)
def test_the_mark_of_what_goes_deeper(heading, part):
    notebook = new_notebook(cells=[new_markdown_cell(heading), code("x = 1")])
    assert minutes.readings(notebook)[part].lines == 1


def test_what_draws_and_what_only_asserts():
    assert minutes.draws(code("figure, ax = plotting.panels(1)"))
    assert minutes.draws(code("def draw(ax):\n    ax.plot([1])"))
    assert not minutes.draws(code("plotting.use_course_style()"))
    assert not minutes.draws(new_markdown_cell("plt.show()"))
    assert minutes.only_asserts(code("assert x\nassert y, 'z'"))
    assert not minutes.only_asserts(code("x = 1\nassert x"))
    assert not minutes.only_asserts(code("# nothing"))
    shown, hidden = code("ax.plot()\nplt.x\n"), code("ax.plot()", tags=["hide-input"])
    assert minutes.drawing_lines(new_notebook(cells=[shown, hidden, code("x")])) == 2


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_the_stated_minutes_are_those_of_the_rule(path):
    source = read_source(path)
    found = minutes.readings(source.notebook)
    said = {"core": source.course["minutes"], "deeper": source.course.get("deeper", 0)}
    assert minutes.stated(source.notebook) == (said["core"], said["deeper"]), (
        "the line '**Time** about N minutes, and M for going deeper.' and the header differ"
    )
    for part, reading in found.items():
        assert said[part] == pytest.approx(reading.minutes, rel=minutes.TOLERANCE, abs=1), part


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_a_core_fits_its_hour(path):
    source = read_source(path)
    core = minutes.readings(source.notebook)["core"]
    assert max(core.minutes, source.course["minutes"]) <= minutes.CORE_LIMIT
    assert core.words <= minutes.CORE_WORDS
    assert core.lines <= minutes.CORE_LINES
    assert core.sections <= minutes.CORE_SECTIONS


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_code_that_does_not_tell_the_story_is_folded(path):
    notebook = jupytext.read(path, fmt="py:percent")
    assert minutes.drawing_lines(notebook) <= MOST_DRAWING_LINES
    shown = [
        cell.source
        for cell in notebook.cells
        if minutes.only_asserts(cell) and not minutes.is_folded(cell)
    ]
    assert shown == []


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_folded_code_is_folded_in_jupyter(path):
    cells = nbformat.read(ROOT / "lectures" / f"{path.stem}.ipynb", as_version=4).cells
    for cell in cells:
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False)
        assert hidden == minutes.is_folded(cell), cell.id
