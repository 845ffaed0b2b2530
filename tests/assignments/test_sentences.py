"""What students read is said whole: no piece of a sentence stands beside the docstring that it belongs to."""

import ast

import pytest

from autograder.checks.mistakes import Mistake
from tests.sample_class import ROOT

FILES = sorted(
    path
    for path in (ROOT / "assignments").rglob("*.py")
    if path.name != "notebook.py" and "answers" not in path.parts
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def strays(source):
    """Lines of texts that stand by themselves and are no docstring."""
    for node in ast.walk(ast.parse(source)):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            for place, statement in enumerate(block if isinstance(block, list) else ()):
                is_text = (
                    isinstance(statement, ast.Expr)
                    and isinstance(statement.value, ast.Constant)
                    and isinstance(statement.value.value, str)
                )
                if is_text and not (place == 0 and name == "body" and isinstance(node, DOCUMENTED)):
                    yield statement.lineno


def test_no_piece_of_a_sentence_stands_by_itself():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in FILES
        for line in strays(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_sentence_in_two_texts_is_found():
    source = "class Swapped:\n    'Because W'\n\n    'belongs to the state.'\n"
    assert list(strays(source)) == [4]


@pytest.mark.parametrize("message", ["because W", "It belongs to", "belongs to the state.", ""])
def test_half_a_sentence_is_refused_where_it_is_declared(message):
    with pytest.raises(ValueError, match="should be whole sentences"):
        Mistake("swapped", print, message)
