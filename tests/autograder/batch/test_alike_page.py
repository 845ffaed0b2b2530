"""The page of answers that are alike, for notebooks that are there to take its time or its room."""

import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.batch.alike_page import write_similar_pairs
from autograder.batch.similarity import FEWEST_STUDENTS
from autograder.batch.student_result import StudentResult
from tests.sample_class import ASSIGNMENT, hand_in

PARTS = ("attention_weights", "self_attention")
SORTED = " + ".join(f"x.sort(dim={number}).values" for number in range(40))
RARE = "\n".join(f"def {part}(x):\n    return {SORTED}" for part in PARTS)
LARGE = {
    "one name over and over": f"{RARE}\n" + "class attention_weights: pass\n" * 6_000,
    "a million letters": f"{RARE}\n" + "y = 1\n" * 200_000,
    "nested deeply": "def attention_weights(x):\n    return " + "-" * 90_000 + "x",
    "a long sum": "def attention_weights(x):\n    return " + "+".join(["x"] * 50_000),
    "a long line": RARE + f" + {'x' * 150_000}",
}


@pytest.mark.parametrize("kind", LARGE)
def test_large_code_takes_neither_the_time_nor_the_page(kind, tmp_path):
    notebook = nbformat.writes(new_notebook(cells=[new_code_cell(LARGE[kind])]))
    others = {
        f"s{number}": new_notebook(cells=[new_code_cell(f"z{number} = {number}")])
        for number in range(FEWEST_STUDENTS)
    }
    hand_in(tmp_path, {"ada": notebook, "eve": notebook, **others})
    (tmp_path / "grading" / ASSIGNMENT).mkdir(parents=True)
    own = dict.fromkeys(PARTS, 3.0)
    rows = [StudentResult(student, 3, 3, own, own) for student in ("ada", "eve", *others)]
    began = time.process_time()
    page = write_similar_pairs(tmp_path, ASSIGNMENT, rows)
    assert time.process_time() - began < 30
    assert page.stat().st_size < 100_000
    if LARGE[kind].startswith(RARE) and "letters" not in kind:
        assert "ada and eve" in page.read_text(encoding="utf-8")
