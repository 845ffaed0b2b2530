"""The sentences of a row, which stand in one line each."""

import json

from nbformat.v4 import new_code_cell, new_notebook, new_output

from autograder.batch.student_result import doubted_by_visible_tests
from autograder.checks.rendering import as_bundle
from autograder.checks.verdicts import PartVerdict, StepVerdict
from autograder.grade.messages import Result


def cell(name, output):
    return new_code_cell("", metadata={"nbgrader": {"grade_id": name}}, outputs=[output])


def test_a_tensor_in_a_visible_tests_words_stays_in_the_line():
    verdict = PartVerdict("double", "double(x)", (StepVerdict("it doubles", 1.0, 1.0),))
    words = "expected\ntensor([[1.],\n        [2.]])"
    stop = new_output("error", ename="AssertionError", evalue=words, traceback=[])
    right = new_output("display_data", as_bundle(verdict))
    graded = new_notebook(cells=[cell("test_double", stop), cell("check_double", right)])
    [reason] = doubted_by_visible_tests(Result(notebook=json.dumps(graded)))
    assert "(AssertionError: expected tensor([[1.], [2.]])): please look" in reason
