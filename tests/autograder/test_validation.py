"""The Validate button begins with the sentence of the test that failed."""

import json
import shutil
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.validator import Validator

from autograder.checks.rendering import as_text
from autograder.grade.self_check import check_notebook
from autograder.validation import COLUMNS, sentence_of, sentences_first
from tests.sample_class import ROOT, submission

pytestmark = pytest.mark.long

# what the button's own request runs, see nbgrader's validate_assignment
BUTTON = """
import json, sys
from nbgrader.server_extensions.validate_assignment.handlers import ValidateAssignmentHandler as Handler
button = Handler.__new__(Handler)
Handler.settings = {"root_dir": "."}
print(json.dumps(button.validate_notebook("answer.ipynb")))
"""
COMMANDS = {"button": ["-c", BUTTON], "command": ["-m", "nbgrader", "validate", "answer.ipynb"]}


def validated(folder, notebook, way, status=0, name="answer"):
    """What the validation of a notebook prints, and what it warns of, if it ends with this exit status."""
    nbformat.write(notebook, folder / f"{name}.ipynb")
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    command = [sys.executable, *(word.replace("answer", name) for word in COMMANDS[way])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout, " ".join(done.stderr.split())


def test_the_button_begins_with_the_sentence(tmp_path):
    said, _ = validated(tmp_path, submission("softmax_over_columns"), "button")
    answer = json.loads(said)
    first = answer["value"]["failed"][0]
    assert first["source"].startswith("attention_weights: 2 of 3 points")
    assert "each row should sum to 1; your rows sum to [" in first["source"]
    assert "Traceback" not in first["error"]


def test_so_does_the_command(tmp_path):
    said, _ = validated(tmp_path, submission("half_finished"), "command", status=1)
    assert (
        0
        < said.index("basic_self_attention: 1 of 2")
        < said.index("Z returned without the weights.")
    )
    assert "self_attention: 0 of 3 points" in said and "This part is not answered yet." in said
    assert "Traceback" not in said


@pytest.mark.parametrize("way", COMMANDS)
def test_where_the_checks_are_it_says_what_a_class_will_say(tmp_path, way):
    """This answer passes its visible test, and is 2 of 3 points."""
    name, status = "a2_self_attention", int(way == "command")
    said, _ = validated(tmp_path, submission("scaled_scores"), way, status, name)
    checked = check_notebook(tmp_path / f"{name}.ipynb")
    lost = [verdict for verdict in checked.report.verdicts.values() if not verdict.right]
    shown = said if way == "command" else json.dumps(json.loads(said), ensure_ascii=False)
    for verdict in lost:
        assert as_text(verdict).splitlines()[0] in shown
        for name, _ in verdict.mistakes:
            assert name[0].upper() + name[1:] in shown


@pytest.mark.parametrize("way", COMMANDS)
def test_right_answers_are_a_success_where_the_checks_are(tmp_path, way):
    said, _ = validated(tmp_path, submission("right_loops"), way, name="a2_self_attention")
    assert "Success!" in said or json.loads(said) == {"success": True, "value": {}}


@pytest.mark.parametrize("way", COMMANDS)
def test_success_stays_success(tmp_path, way):
    said, _ = validated(tmp_path, submission("right_loops"), way)
    assert "Success!" in said or json.loads(said) == {"success": True, "value": {}}


def test_a_kernel_of_another_editor_and_a_split_cell_stop_nothing_and_are_told(tmp_path):
    notebook = submission("right_loops")
    notebook.metadata.kernelspec.name = ".venv"
    [place] = [n for n, cell in enumerate(notebook.cells) if cell.id == "attention_weights"]
    notebook.cells.insert(place, new_code_cell("import math", id="upper"))
    notebook.cells[place].metadata = notebook.cells[place + 1].metadata
    said, warned = validated(tmp_path, notebook, "command")
    assert "Success!" in said and "Traceback" not in warned
    assert "asks for the kernel '.venv', which is not here" in warned
    assert "Two cells are marked as 'attention_weights'. Was one split" in warned


def test_a_changed_type_is_told_the_right_way_round(tmp_path):
    notebook = submission("right_loops")
    [place] = [n for n, cell in enumerate(notebook.cells) if cell.id == "attention_weights"]
    code = notebook.cells[place]
    notebook.cells[place] = new_markdown_cell(code.source, id=code.id, metadata=code.metadata)
    said, _ = validated(tmp_path, notebook, "command", status=1)
    assert "The following code cell has changed to a markdown cell" in said


def test_long_lines_are_wrapped_and_keep_their_indent():
    text = "    def f(x):\n\n" + "word " * 40 + "\n" + "x" * 200
    sentences_first()
    lines = Validator._indent(Validator(), text).split("\n")
    assert max(map(len, lines)) <= Validator().width
    assert lines[:2] == [" " * 8 + "def f(x):", " " * 4]
    assert sum(line.count("word") for line in lines) == 40
    assert "".join(lines).count("x") == 201


TRACEBACK = (
    "-----\nAssertionError       Traceback (most recent call last)\nCell In[3], line 7\n\n{}"
)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("AssertionError: is it\n[1, 2]?", "is it\n[1, 2]?"),
        ("\x1b[31mNameError\x1b[0m: no x", "NameError: no x"),
        ("AssertionError: ", ""),
        ("AssertionError", ""),
        ("torch.cuda.OutOfMemoryError: too much", "torch.cuda.OutOfMemoryError: too much"),
    ],
)
def test_the_sentence_is_what_the_error_says(error, sentence):
    assert sentence_of(TRACEBACK.format(error)) == sentence


def test_what_is_no_error_has_no_sentence():
    assert sentence_of("Partial credit; passed some but not all of the tests") == ""


def test_long_sentences_are_not_cut():
    words = sentence_of(TRACEBACK.format("AssertionError: " + "word " * 100)).splitlines()
    assert max(map(len, words)) <= COLUMNS
    assert " ".join(words).count("word") == 100
