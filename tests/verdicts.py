"""What the grader says of all answers that are known, in one file, to compare two versions of it by.

    python -m tests.verdicts before.jsonl                       of the banks, the mistakes, pairs of them, and the sample class
    python -m tests.verdicts after.jsonl --notebooks FOLDER     and of notebooks that somebody handed in
    python -m tests.verdicts after.jsonl --since before.jsonl   and what differs from an earlier file; status 1 if anything does
    python -m tests.verdicts a5.jsonl --only a5_multi_head_attention   of the answers to one assignment alone

A line holds one answer: points by step, which of them are waived, names, sentences and relations. The inputs are
the same each time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from autograder.bank.measure import ours_may_answer, tried_of, verdict_on
from autograder.checks.course import known, load
from autograder.checks.verdicts import PartVerdict
from tests.sample_class import ASSIGNMENT, grade, hand_in, new_course, whole_class

SECRET = "the same inputs on each day"
Lines = dict[str, dict[str, Any]]  # by what was answered


def said_of(verdict: PartVerdict) -> dict[str, Any]:
    """What a verdict holds, but for pictures."""
    return {
        "points": [step.earned for step in verdict.steps],
        "waived": [step.waived.value for step in verdict.steps],
        "problems": [[step.case, step.problem] for step in verdict.steps],
        "mistakes": verdict.mistakes,
        "relations": verdict.relations,
        "remark": verdict.remark,
    }


def of_part(which: tuple[str, str]) -> Lines:
    """What is said of each known answer to a part."""
    assignment, name = which
    part = load(assignment).part(name)
    lines: Lines = {}
    with ours_may_answer():
        for kind, called, _, _, code in tried_of(assignment, part):
            key = f"{assignment} {name} {kind} {called}"
            again = sum(other.startswith(f"{key} #") or other == key for other in lines)
            verdict = verdict_on(assignment, part, code, ["0"])
            lines[f"{key} #{again}" if again else key] = said_of(verdict)
    return lines


def of_class(assignment: str, notebooks: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a class of these notebooks is told, behind walls."""
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        new_course(course, assignment)
        (course / "grading").mkdir()
        (course / "grading" / "secret").write_text(SECRET, encoding="ascii")
        hand_in(course, notebooks, assignment)
        for row in grade(course, assignment=assignment):
            said = {"points": row.parts, "reasons": row.reasons, "person": row.needs_person}
            yield f"{assignment} class {row.student}", said


def of_all(names: list[str], notebooks: Path | None) -> Lines:
    """Every line on these assignments, by what was answered."""
    parts = [(name, part.name) for name in names for part in load(name).parts]
    lines: Lines = {}
    # not forked: PyTorch's threads do not live in a fork
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for found in pool.map(of_part, parts):
            lines |= found
    if ASSIGNMENT in names:
        lines |= of_class(ASSIGNMENT, whole_class())
    for name in names if notebooks else ():
        short = name.split("_")[0]
        handed_in = {
            path.stem: path.read_text(encoding="utf-8")
            for path in sorted(Path(str(notebooks)).glob(f"{short}_*.ipynb"))
        }
        if handed_in:
            lines |= of_class(name, handed_in)
    return lines


def differences(before: Lines, after: Lines) -> Iterable[str]:
    """What is not the same in two of them, a line each."""
    for key in sorted(before.keys() | after.keys()):
        one, other = before.get(key), after.get(key)
        if one is None or other is None:
            yield f"{key}: {'new' if one is None else 'gone'}"
            continue
        for what in one.keys() | other.keys():
            if one.get(what) != other.get(what):
                yield f"{key}: {what}: {one.get(what)} -> {other.get(what)}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.verdicts")
    parser.add_argument("file", type=Path, help="where to write it")
    parser.add_argument("--notebooks", type=Path, help="a folder of aN_*.ipynb to grade as well")
    parser.add_argument("--since", type=Path, help="an earlier file, to say what differs")
    parser.add_argument("--only", choices=known(), help="one assignment")
    options = parser.parse_args()
    lines = of_all([options.only] if options.only else known(), options.notebooks)
    texts = (json.dumps({"of": key, **said}, ensure_ascii=False) for key, said in lines.items())
    options.file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    print(f"{len(lines)} verdicts: {options.file}")
    if not options.since:
        return 0
    before = {
        key: one for key, one in read(options.since).items() if key.startswith(options.only or "")
    }
    differing = list(differences(before, read(options.file)))
    print("\n".join(differing), f"{len(differing)} differ", sep="\n")
    return int(bool(differing))


def read(file: Path) -> Lines:
    """The lines of such a file."""
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {line.pop("of"): line for line in lines}


if __name__ == "__main__":
    sys.exit(main())
