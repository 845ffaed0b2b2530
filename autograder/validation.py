"""What the Validate button and `nbgrader validate` say, and with which exit status they end.

nbgrader shows the code of a failed test and Python's traceback, and the sentence that helps at the very end:
here it comes first. What does not matter when a notebook is graded stops no validation either: the name of a
kernel in another editor, a cell that was split, a file in another encoding.

Where the course's checks are, the notebook is not run by nbgrader but checked as in a class, so that the
button says what `python -m autograder check` says. Without them, nbgrader runs the visible tests.
"""

import json
import re
import subprocess
import sys
import tempfile
import textwrap
from contextlib import suppress
from functools import wraps
from html import escape
from importlib.util import find_spec
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from nbconvert.filters import strip_ansi
from nbformat.v4 import new_output
from nbgrader import validator
from nbgrader.apps.validateapp import ValidateApp
from nbgrader.preprocessors import CheckCellMetadata
from nbgrader.validator import Validator

COLUMNS = 80  # of a sentence
KERNEL = "python3"  # that of the environment in which this runs
DECIDED = "This is how the part is graded in a class."
ERROR = re.compile(r"^([A-Za-z_][\w.]*)(?:: |\Z|$)", re.MULTILINE)


def sentence_of(traceback):
    """The sentence with which a test failed: the error at the end of an IPython traceback.

    Args:
        traceback: text, which may hold a terminal's colours.

    Returns:
        the message of an AssertionError; of other errors the name, too. Empty if there is no error.
    """
    text = strip_ansi(traceback).strip()
    found = [match for match in ERROR.finditer(text) if match[1].endswith(("Error", "Exception"))]
    if not found:
        return ""
    last = text[found[-1].start() :]
    message = last.removeprefix("AssertionError: ") if last != "AssertionError" else ""
    return "\n".join(textwrap.fill(line, COLUMNS) for line in message.splitlines())


def made_runnable(notebook):
    """Take out of a notebook what keeps nbgrader from running it, though grading does not mind.

    Args:
        notebook: changed in place.

    Yields:
        a sentence about each such thing.
    """
    kernel = notebook.metadata.get("kernelspec", {}).get("name", KERNEL)
    if kernel not in KernelSpecManager().find_kernel_specs():
        notebook.metadata.kernelspec = {"name": KERNEL, "display_name": "Python 3"}
        yield (
            f"The notebook asks for the kernel '{kernel}', which is not here. It runs in this "
            "environment's own Python, as it does when it is graded."
        )
    names = set()
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name and name in names:
            del cell.metadata["nbgrader"]
            yield (
                f"Two cells are marked as '{name}'. Was one split, or copied? Both run, and the "
                "upper one counts as that cell, as it does when the notebook is graded."
            )
        names.add(name)


def indented(self, text):
    """Each line of a text with nbgrader's indent; what is too long is wrapped, where nbgrader cuts it."""
    wrapper = textwrap.TextWrapper(
        self.width,
        initial_indent=self.indent,
        subsequent_indent=self.indent,
        expand_tabs=False,
        replace_whitespace=False,
        drop_whitespace=False,
    )
    lines = strip_ansi(text).split("\n")
    return "\n".join(piece for line in lines for piece in wrapper.wrap(line) or [self.indent])


def read(name, as_version):
    """A notebook's file as it is read for grading, in the place of nbformat's `read`."""
    if not find_spec("autograder"):
        return nbformat.read(name, as_version)
    from autograder.grade.submission import InvalidSubmission, read_text

    with suppress(InvalidSubmission):  # nbformat says what is wrong with it
        notebook = nbformat.reads(read_text(Path(name)), as_version)
        for cell in notebook.cells:
            cell.source = cell.source.replace("\r\n", "\n")
        return notebook
    return nbformat.read(name, as_version)


def checked(path):
    """What `python -m autograder check` finds in a notebook.

    Returns:
        its points, sentences and errors, see `autograder.grade.self_check.as_data`; None where the grader is
        not installed, and where it knows no assignment of this name.
    """
    if not find_spec("autograder"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "found.json")
        command = [sys.executable, "-m", "autograder", "check", path, "--json", found]
        subprocess.run(command, capture_output=True, check=False)
        return json.loads(found.read_text(encoding="utf-8")) if found.exists() else None


def shown_in(notebook, found):
    """Give the cells of a notebook the outputs by which nbgrader tells what failed.

    Args:
        notebook: changed in place.
        found: as `checked` returns it.
    """
    errors = {test["cell"]: test["traceback"] for test in found["tests"] if test["error"]}
    lost = {part["cell"]: part["text"] for part in found["parts"] if part["earned"] < part["of"]}
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if cell.cell_type == "code":
            cell.outputs = []
        if name in errors:
            cell.outputs = [new_output("error", traceback=[errors[name]])]
        elif name in lost:
            cell.outputs = [new_output("error", traceback=[f"{DECIDED}\n{lost[name]}"])]


def sentences_first():
    """Let nbgrader's validator name the sentence first; twice does no more than once."""
    if hasattr(Validator.validate, "__wrapped__"):
        return
    validate_as_it_was, preprocess, start = (
        Validator.validate,
        Validator._preprocess,
        ValidateApp.start,
    )
    complaints = []  # about any notebook of this process

    @wraps(validate_as_it_was)
    def validate(self, filename):
        self.found = checked(filename)
        results = validate_as_it_was(self, filename)
        complaints.extend(results)
        for cell in results.get("type_changed", []):  # nbgrader takes one for the other
            cell["old_type"], cell["new_type"] = cell["new_type"], cell["old_type"]
        for cell in results.get("failed", []):
            decided, _, text = cell["raw_error"].partition("\n")
            if decided == DECIDED:
                cell.update(source=text, error=escape(decided), raw_error=decided)
                continue
            told = sentence_of(cell["raw_error"])
            if told:
                code = f"{cell['source']}\n\n"
                cell["error"] = escape(code) + cell["error"]
                cell["raw_error"] = code + cell["raw_error"]
                cell["source"] = told
        return results

    @wraps(preprocess)
    def run(self, notebook):
        for sentence in made_runnable(notebook):
            self.log.warning(sentence)
        if self.found is None:
            return preprocess(self, notebook)
        notebook, _ = CheckCellMetadata(parent=self).preprocess(notebook, {})
        shown_in(notebook, self.found)
        return notebook

    @wraps(start)
    def start_and_tell(self):
        start(self)
        if complaints:
            self.exit(1)

    validator.read_nb = read
    Validator.validate, Validator._preprocess, Validator._indent = validate, run, indented
    ValidateApp.start = start_and_tell
