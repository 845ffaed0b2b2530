"""Pairs of submissions that are alike beyond what was given out: a hint for a person, never a score.

copydetect compares them: it leaves names out of the code, cuts it into pieces of 25 signs, and says how much of each
of two is in the other, after Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms for Document
Fingerprinting", SIGMOD 2003.
"""

from __future__ import annotations

import io
import shutil
import warnings
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from autograder.batch.same_code import given_out, own_code_in, plain_code
from autograder.batch.table import write_csv
from autograder.checks.notebook_source import statements_of
from autograder.files import harmless, write_whole

if TYPE_CHECKING:  # it brings Matplotlib along
    from copydetect import CodeFingerprint

SHARE = 0.9  # of either of two, from which they are a pair
FEWEST_SIGNS = 100  # beyond what was given out, so that a natural line or two say nothing
PIECE = 25  # signs, which is copydetect's own default
HEAD = "student", "and", "% in common"

Pair = tuple[str, str, float]  # two students, and what they share


def write_pairs(course: Path, assignment: str) -> tuple[Path, int]:
    """Compare what a class was graded for; the table of pairs, names included, and how many there are.

    Beside it each student's own cells are put down as Python, to look at, or for another program.
    """
    folder = course / "grading" / assignment / "alike"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    answers = {}
    for path in sorted(course.glob(f"autograded/*/{assignment}/{assignment}.ipynb")):
        student = path.parents[1].name
        answers[student] = [*own_code_in(path.read_text(encoding="utf-8"))]
        write_whole(folder / f"{student}.py", "\n\n\n".join(answers[student]))
    pairs = similar_pairs(answers, given_out(course, assignment))
    rows = ([harmless(one), harmless(other), round(100 * share)] for one, other, share in pairs)
    write_csv(table := folder.with_suffix(".csv"), [HEAD, *rows])
    return table, len(pairs)


def similar_pairs(answers: Mapping[str, Iterable[str]], given: Iterable[str]) -> list[Pair]:
    """The pairs of a class that are alike, the most alike first.

    Args:
        answers: code cells by student.
        given: code cells that say nothing, which are the release's and the solution's.
    """
    from copydetect import compare_files

    known = np.array(sorted(set().union(*(_prints([code]).hashes for code in given))))
    prints = {student: _prints(cells, known) for student, cells in answers.items()}
    long = sorted(one for one in prints if prints[one].token_coverage >= FEWEST_SIGNS)
    shares = (
        (one, other, min(1.0, *compare_files(prints[one], prints[other])[1]))
        for one, other in combinations(long, 2)
    )
    return sorted((pair for pair in shares if pair[2] >= SHARE), key=lambda pair: -pair[2])


def _prints(cells: Iterable[str], known: np.ndarray | None = None) -> CodeFingerprint:
    from copydetect import CodeFingerprint

    with warnings.catch_warnings(action="ignore"):  # of what a student has typed
        code = "\n".join(plain_code(each) for cell in cells for each in statements_of(cell))
    # every piece, since which ones are chosen would go by Python's hashes, which differ from run to run
    return CodeFingerprint("answers.py", PIECE, 1, known, fp=io.StringIO(code))
