"""A request to look again: how a notebook comes to hold it, what is read of it, and that it earns nothing."""

import json
import shutil
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from assignments import allowed_modules
from autograder.__main__ import main
from autograder.bounds import LARGEST_NOTEBOOK, LONGEST_APPEAL
from autograder.grade.appeals import appeals_in
from autograder.grade.messages import ReleasedCell
from autograder.grade.report import report_in
from autograder.grade.submission import notebook_in, text_of
from autograder.sandbox import kernels
from tests.autograder.grade.test_run import graded, released_cells
from tests.sample_class import ASSIGNMENT, ISOLATION, ROOT, submission

PART, OTHER, WRITTEN = "attention_weights", "self_attention", "why"
RELEASED = tuple(
    ReleasedCell(name, "code", "", "", False, False, points)
    for name, points in (
        (f"check_{PART}", 3.0),
        (f"check_{OTHER}", 2.0),
        (WRITTEN, 2.0),
        ("x", None),
    )
)
TYPED = f'!python -m autograder appeal {PART} "It is right."'


@pytest.fixture
def handed_out(tmp_path, monkeypatch):
    """A student's folder with the assignment as it was given out, in a terminal."""
    monkeypatch.chdir(tmp_path)
    for name in ("JPY_PARENT_PID", "JPY_SESSION_NAME"):
        monkeypatch.delenv(name, raising=False)
    return Path(shutil.copy(ROOT / "exercises" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", tmp_path))


def notebook_with(*cells, **metadata):
    """A notebook as it is read of a file with such cells and metadata."""
    notebook = nbformat.v4.new_notebook(cells=[new_code_cell(cell) for cell in cells])
    return notebook_in(json.dumps({**notebook, "metadata": metadata}))


def asked(*cells, **metadata):
    return {one.part: one.why for one in appeals_in(notebook_with(*cells, **metadata), RELEASED)}


def in_metadata(*appeals):
    return {"autograder": {"appeals": list(appeals)}}


def test_the_command_puts_it_into_the_metadata_and_changes_nothing_else(handed_out, capsys):
    before = handed_out.read_text(encoding="utf-8")
    assert main(["appeal", PART, "Wrong at first."]) == 0
    assert main(["appeal", OTHER, "“Mean”, not sum: √4 <b>."]) == 0
    assert main(["appeal", PART, "The", "rows", "sum", "to\none."]) == 0
    after = handed_out.read_text(encoding="utf-8")
    notebook = json.loads(after)
    assert notebook["metadata"].pop("autograder") == {
        "appeals": [
            {"part": OTHER, "why": "“Mean”, not sum: √4 <b>."},
            {"part": PART, "why": "The rows sum to one."},
        ]
    }
    assert json.dumps(notebook, ensure_ascii=False, indent=1) + "\n" == before
    assert f"{ASSIGNMENT}.ipynb asks a person to look again" in capsys.readouterr().out
    found = appeals_in(notebook_in(after), RELEASED)
    assert {one.part: one.why for one in found}[PART] == "The rows sum to one."


@pytest.mark.parametrize("name", ["JPY_PARENT_PID", "JPY_SESSION_NAME"])
def test_in_a_cell_it_writes_nothing_since_the_notebook_is_open(
    handed_out, monkeypatch, capsys, name
):
    before = handed_out.read_bytes()
    monkeypatch.setenv(name, "1")
    assert main(["appeal", PART, "It is right."]) == 0
    assert "keep it, save the notebook, and hand it in again" in capsys.readouterr().out
    assert handed_out.read_bytes() == before
    assert main(["appeal", "attention_weight", "It is right."]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["attention_weight", "It is right."], "Did you mean attention_weights?"),
        (["x", "It is right."], "There are: attention_weights, basic_self_attention, self_att"),
        ([PART, " \n "], "expected a reason, found none"),
        ([PART, "x" * (LONGEST_APPEAL + 1)], "at most 500 characters, found 501"),
        ([PART, "It is.", "--notebook", "b.ipynb"], "there is no file b.ipynb"),
    ],
)
def test_what_cannot_be_asked_is_said_and_the_file_stays(handed_out, capsys, words, said):
    before = handed_out.read_bytes()
    assert main(["appeal", *words]) == 2
    assert said in capsys.readouterr().err
    assert handed_out.read_bytes() == before


def test_of_two_notebooks_one_is_named_and_without_any_a_file(handed_out, capsys, tmp_path):
    shutil.copy(handed_out, tmp_path / "mine.ipynb")
    assert main(["appeal", PART, "It is right."]) == 2
    assert "mine.ipynb all have it. Say which one" in capsys.readouterr().err
    assert main(["appeal", PART, "It is right.", "--notebook", "mine.ipynb"]) == 0
    assert "autograder" in json.loads((tmp_path / "mine.ipynb").read_text())["metadata"]
    for path in tmp_path.glob("*.ipynb"):
        path.unlink()
    assert main(["appeal", PART, "It is right."]) == 2
    assert "no notebook in this folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        TYPED,
        TYPED.replace("!", "  ! "),
        TYPED.replace("python", "{sys.executable}"),
        f"!.venv/bin/python3 -m autograder appeal --notebook a.ipynb {PART} It is right.",
        f"!python -m autograder appeal \\\n    {PART} 'It is right.'",
    ],
)
def test_a_line_for_the_shell_in_a_cell_is_the_request(line):
    assert asked(f"import sys\n{line}\nx = 1") == {PART: "It is right."}


@pytest.mark.parametrize(
    "line",
    [
        f"# {TYPED}",
        f"print('{TYPED}')",
        TYPED.replace('right."', "right."),
        TYPED.replace("appeal", "check"),
        TYPED.replace(PART, "x"),
        f'!python -m autograder appeal {PART} ""',
        f"!python -m autograder appeal {PART}",
        "!python -m autograder appeal -h",
        f"!python -m autograder appeal {PART} {'y' * 9000}",
    ],
)
def test_what_is_no_request_is_none(line):
    assert asked(line) == {}


def test_the_last_line_counts_and_a_cell_before_the_metadata():
    written = in_metadata({"part": PART, "why": "old"}, {"part": WRITTEN, "why": "kept"})
    assert asked(TYPED.replace("It is right.", "first"), **written)[PART] == "first"
    cells = TYPED.replace("It is right.", "first"), TYPED
    assert asked(*cells, **written) == {PART: "It is right.", WRITTEN: "kept"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"autograder": 5},
        {"autograder": {"appeals": {"part": PART}}},
        {"autograder": {"appeals": [[[]], 5, None, "text", {"part": [PART], "why": {}}, {"part": PART}]}},
        {"autograder": {"appeals": [{"part": "nowhere", "why": "x"}] * 100_000}},
        {"autograder": {"appeals": json.loads("[" * 400 + "]" * 400)}},
        {"autograder": [], "report": {"appeals": [{"part": PART, "why": "x"}]}, "appeals": [[PART, "x"]]},
    ],
    ids=["number", "no list", "junk", "many", "deep", "elsewhere"],
)  # fmt: skip
def test_what_else_stands_in_the_metadata_is_passed_over(metadata):
    assert asked(**metadata) == {}
    assert asked(TYPED, **metadata) == {PART: "It is right."}


def test_a_reason_is_one_line_of_bounded_length_that_can_be_shown():
    [why] = asked(**in_metadata({"part": PART, "why": "a\x1b[2J\n\ud800" + "z" * 10_000})).values()
    assert len(why) == LONGEST_APPEAL and why.startswith("a�[2J �z") and why.endswith("…")


@pytest.mark.parametrize("junk", ["", "[[],5,null,{}]", "[" * 400 + "]" * 400, "x" * 300_000])
def test_it_is_read_of_a_notebook_from_which_pictures_are_left_out(junk):
    """Of a file that is too large, little but cells is read."""
    picture = {"a.png": {"image/png": "A" * LARGEST_NOTEBOOK}}
    cell = {
        "cell_type": "markdown",
        "id": "a",
        "metadata": {},
        "source": "x",
        "attachments": picture,
    }
    held = {"appeals": [{"part": PART, "why": "It is right."}]}
    other = json.loads(junk) if junk[:1] == "[" else junk
    metadata = {"autograder": {**held, "other": other}, "kernelspec": {"name": "x"}}
    file = json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})
    notebook = notebook_in(text_of(file.encode()))
    assert "Left out" in notebook.cells[0].source
    found = [one.why for one in appeals_in(notebook, RELEASED)]
    assert found == ([] if len(junk) > 200_000 else ["It is right."])


def test_another_reason_or_other_code_is_another_request():
    def mark(line, answer):
        notebook = notebook_with(line, answer)
        notebook.cells[1].metadata.nbgrader = {"grade_id": PART}
        [found] = appeals_in(notebook, RELEASED)
        return found.mark

    first = mark(TYPED, "x = 1")
    assert first == mark(f"{TYPED}\ny = 2", "x = 1")
    assert len({first, mark(TYPED, "x = 2"), mark(TYPED[:-2] + '!"', "x = 1")}) == 3


@pytest.mark.parametrize("student", ["right_loops", "softmax_over_columns"])
def test_it_earns_nothing_costs_nothing_and_starts_nothing(student):
    plain = submission(student)
    asking = deepcopy(plain)
    [at] = [n for n, cell in enumerate(asking.cells) if cell.id == PART]
    own = f"{TYPED}\nhelper = 1\n!touch /tmp/started"
    asking.cells.insert(at + 1, new_code_cell(f"{own}\nassert helper == 1", id="asking"))
    asking.metadata.autograder = {"appeals": [{"part": OTHER, "why": "Right, too."}]}
    source = kernels.own_kernels(ISOLATION, allowed_modules(ASSIGNMENT))
    try:
        found = [
            graded(source, ASSIGNMENT, nbformat.writes(one), released_cells(ASSIGNMENT))
            for one in (plain, asking)
        ]
    finally:
        kernels.close()
    assert found[0].scores == found[1].scores and not found[0].appeals
    assert [(one.part, one.why) for one in found[1].appeals] == [
        (PART, "It is right."),
        (OTHER, "Right, too."),
    ]
    notebook = nbformat.reads(found[1].notebook, as_version=4)
    [cell] = [cell for cell in notebook.cells if cell.id == "asking"]
    said = "".join(output.get("text", output.get("evalue", "")) for output in cell.outputs)
    assert "not run while grading: python -m autograder appeal" in said
    assert not [output for output in cell.outputs if output.output_type == "error"]
    assert report_in(notebook).appeals == found[1].appeals
