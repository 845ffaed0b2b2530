"""What the Validate button says of a failed test: first the test's own sentence, then where it failed.

nbgrader shows the test's code and Python's traceback, and the sentence that helps at the very end.
"""

import re
import textwrap
from functools import wraps
from html import escape

from nbconvert.filters import strip_ansi
from nbgrader.validator import Validator

COLUMNS = 80  # nbgrader cuts longer lines
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


def sentences_first():
    """Let nbgrader's validator name the sentence first; twice does no more than once."""
    if hasattr(Validator.validate, "__wrapped__"):
        return
    original = Validator.validate

    @wraps(original)
    def validate(self, filename):
        results = original(self, filename)
        for cell in results.get("failed", []):
            told = sentence_of(cell["raw_error"])
            if told:
                code = f"{cell['source']}\n\n"
                cell["error"] = escape(code) + cell["error"]
                cell["raw_error"] = code + cell["raw_error"]
                cell["source"] = told
        return results

    Validator.validate = validate
