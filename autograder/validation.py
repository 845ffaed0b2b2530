"""What the Validate button and `nbgrader validate` say, and with which exit status they end.

nbgrader shows the code of a failed test and Python's traceback, and the sentence that helps at the very end:
here it comes first. A notebook of the course runs as it does when it is graded, so that what does not matter
there stops no validation either: shell commands, packages that are not there, the name of a kernel in
another editor.
"""

import re
import textwrap
from contextlib import suppress
from functools import wraps
from html import escape
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


def read(name, as_version):
    """A notebook's file as it is read for grading, in the place of nbformat's `read`."""
    from autograder.grade.submission import InvalidSubmission, read_text

    with suppress(InvalidSubmission):  # nbformat says what is wrong with it
        notebook = nbformat.reads(read_text(Path(name)), as_version)
        for cell in notebook.cells:
            cell.source = cell.source.replace("\r\n", "\n")
        return notebook
    return nbformat.read(name, as_version)


def run_as_graded(notebook, name):
    """Run a notebook, which lies in the working folder, on the road on which it is graded.

    Args:
        notebook: what its cells show is put into it.
        name: of its file, without the suffix.

    Returns:
        whether it answers an assignment of the course; if not, nothing was run.
    """
    from autograder.checks.course import (
        course,  # here, since every command of nbgrader imports this file
    )
    from autograder.grade.report import TEST, grade_id_of
    from autograder.grade.self_check import answered_by, own_grading

    try:
        taught = course()
    except LookupError:
        return False
    assignment = answered_by(notebook, name, taught)
    if not assignment:
        return False
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    with own_grading(taught.load(assignment), Path.cwd()) as (grading, _):
        grading.look_over(notebook.cells)
        for index, cell in enumerate(notebook.cells):
            grading.take(cell, index)
            if grading.stopped and cell.cell_type == "code" and cell.source.strip():
                error = {"ename": "RuntimeError", "evalue": grading.stopped}
                told = f"RuntimeError: {grading.stopped}"
                cell.outputs.append(new_output("error", **error, traceback=[told]))
            if grade_id_of(cell).startswith(
                TEST
            ):  # a warning is no failure, which it is for nbgrader
                cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
        grading.finish()
    return True


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
    names = []  # of the notebooks, the one at hand last

    @wraps(validate_as_it_was)
    def validate(self, filename):
        names.append(Path(filename).stem)
        results = validate_as_it_was(self, filename)
        complaints.extend(results)
        for cell in results.get("type_changed", []):  # nbgrader takes one for the other
            cell["old_type"], cell["new_type"] = cell["new_type"], cell["old_type"]
        for cell in results.get("failed", []):
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
        notebook, _ = CheckCellMetadata(parent=self).preprocess(notebook, {})
        if run_as_graded(notebook, names[-1]):
            return notebook
        return preprocess(self, notebook)

    @wraps(start)
    def start_and_tell(self):
        start(self)
        if complaints:
            self.exit(1)

    validator.read_nb = read
    Validator.validate, Validator._preprocess, Validator._indent = validate, run, indented
    ValidateApp.start = start_and_tell
