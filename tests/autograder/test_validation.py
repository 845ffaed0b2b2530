"""The Validate button begins with the sentence of the test that failed."""

import json
import shutil
import subprocess
import sys

import nbformat
import pytest

from autograder.validation import COLUMNS, sentence_of
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


def validated(folder, student, way):
    nbformat.write(submission(student), folder / "answer.ipynb")
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    command = [sys.executable, *COMMANDS[way]]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_button_begins_with_the_sentence(tmp_path):
    answer = json.loads(validated(tmp_path, "softmax_over_columns", "button"))
    first = answer["value"]["failed"][0]
    assert first["source"].startswith("each row should sum to one; your rows sum to [")
    assert "def test_attention_weights():" in first["error"]
    assert "Traceback" in first["error"]


def test_so_does_the_command(tmp_path):
    said = validated(tmp_path, "half_finished", "command")
    sentence, code = "expected the pair (z, weights), got Tensor", "def test_basic_self_attention"
    assert 0 < said.index(sentence) < said.index(code)
    assert said.index("NotImplementedError: not answered yet") < said.index("def test_self_att")


@pytest.mark.parametrize("way", COMMANDS)
def test_success_stays_success(tmp_path, way):
    said = validated(tmp_path, "right_loops", way)
    assert "Success!" in said or json.loads(said) == {"success": True, "value": {}}


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
