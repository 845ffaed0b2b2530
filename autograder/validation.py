"""What the Validate button and `nbgrader validate` say, and with which exit status they end.

nbgrader shows the code of a failed test and Python's traceback, and the sentence that helps at the very end:
here it comes first. What does not matter when a notebook is graded stops no validation either: the name of a
kernel in another editor, a cell that was split, a file in another encoding.

Where the course's checks are, the notebook is not run by nbgrader but checked as in a class (see `sentences_first`).
Without them, nbgrader runs the visible tests.
"""

import os
import re
import textwrap
from functools import wraps
from html import escape

from jupyter_client.kernelspec import KernelSpecManager
from nbconvert.filters import strip_ansi
from nbgrader import validator
from nbgrader.apps.validateapp import ValidateApp
from nbgrader.preprocessors import CheckCellMetadata
from nbgrader.validator import Validator

COLUMNS = 80  # of a sentence
KERNEL = "python3"  # that of the environment in which this runs
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


def sentences_first(grader=None):
    """Let nbgrader's validator name the sentence first; twice does no more than once.

    Args:
        grader: what reads and checks a notebook as in a class, with `read`, `checked`, `shown_in` and `text_in`;
            None where there are no checks.
    """
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
        self.path = os.path.abspath(filename)  # it runs in the notebook's folder
        results = validate_as_it_was(self, filename)
        complaints.extend(results)
        for cell in results.get("type_changed", []):  # nbgrader takes one for the other
            cell["old_type"], cell["new_type"] = cell["new_type"], cell["old_type"]
        for cell in results.get("failed", []):
            if grader and (decided := grader.text_in(cell["raw_error"])):
                text, how = decided
                cell.update(source=text, error=escape(how), raw_error=how)
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
        found = grader.checked(self.path) if grader else None
        if found is None:
            return preprocess(self, notebook)
        notebook, _ = CheckCellMetadata(parent=self).preprocess(notebook, {})
        grader.shown_in(notebook, found)
        return notebook

    @wraps(start)
    def start_and_tell(self):
        start(self)
        if complaints:
            self.exit(1)

    if grader:
        validator.read_nb = grader.read
    Validator.validate, Validator._preprocess, Validator._indent = validate, run, indented
    ValidateApp.start = start_and_tell
