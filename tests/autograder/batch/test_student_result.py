"""The sentences of a row, which stand in one line each."""

from autograder.batch.student_result import doubts
from autograder.checks.verdicts import PartVerdict, StepVerdict
from autograder.grade.report import Report


def test_a_tensor_in_a_visible_tests_words_stays_in_the_line():
    verdict = PartVerdict("double", "double(x)", (StepVerdict("it doubles", 1.0, 1.0),))
    error = "AssertionError: expected\ntensor([[1.],\n        [2.]])"
    [(parts, why)] = doubts(Report(verdicts={"double": verdict}, tests={"double": error}))
    assert parts == ("double",) and why.endswith("(AssertionError: expected tensor([[1.], [2.]]))")


def without_points(part, lacks):
    return PartVerdict(part, f"{part}(x)", (StepVerdict("it runs", 0.0, 1.0),), lacks=lacks)


def test_several_parts_that_one_missing_name_has_taken_wait_for_a_person():
    lost = {"double": "torch", "half": "torch", "third": "math", "zero": ""}
    verdicts = {part: without_points(part, name) for part, name in lost.items()}
    [(parts, why)] = doubts(Report(verdicts=verdicts))
    assert parts == ("double", "half")
    assert why.startswith("double, half: no points, and all for one name, `torch`, that is not")
