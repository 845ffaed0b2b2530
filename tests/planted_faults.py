"""Faults that somebody could make in the engine, each with quick tests that find it.

A test that is taken out, or told to look at less, must leave somebody who sees what it saw. So here stand small
changes of the engine's code, and for each the tests of which one has to fail while it is made:

    python -m tests.planted_faults            all of them, some seconds each
    python -m tests.planted_faults csv_file   those in files whose path contains this

The tests run in a copy of the repository. Those that no test finds are named at the end, and the exit status is 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOUND = 1  # pytest's exit status where tests ran, and some failed


@dataclass(frozen=True)
class Fault:
    """A change of one place in the engine.

    Attributes:
        path: of the file, below the repository.
        old, new: what stands there once, and what to write instead.
        tests: files of tests, or tests in them, of which one has to fail.
    """

    path: str
    old: str
    new: str
    tests: tuple[str, ...]

    def made_in(self, root: Path) -> str:
        """The text of the file with this fault."""
        text = (root / self.path).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise LookupError(
                f"expected once in {self.path}, found {text.count(self.old)} times: {self.old!r}. Plant another "
                "fault in its place, of the same kind"
            )
        return text.replace(self.old, self.new)


def _faults(path: str, tests: str, made: dict[str, str]) -> Iterator[Fault]:
    names = tuple(f"tests/autograder/{name}" for name in tests.split())
    return (Fault(f"autograder/{path}", old, new, names) for old, new in made.items())


FAULTS: tuple[Fault, ...] = (
    *_faults(
        "checks/arguments.py",
        "checks/test_arguments.py",
        {
            "lambda rate: 1 - rate": "lambda rate: rate",
        },
    ),
    *_faults(
        "checks/axes.py",
        "checks/test_heatmaps.py",
        {
            "if from_end == 1:": "if from_end == 3:",
        },
    ),
    *_faults(
        "checks/chance.py",
        "checks/test_chance.py",
        {
            "DEVIATIONS, FEWEST = 5.0, 20": "DEVIATIONS, FEWEST = 50.0, 20",
            "if mean == 0 and count:": "if mean == 0 and count > 99:",
            "return apart <= freedom + STRAYS * (2 * freedom) ** 0.5": "return apart <= freedom + 99 * STRAYS * (2 * freedom) ** 0.5",
        },
    ),
    *_faults(
        "checks/compare.py",
        "checks/test_chance.py",
        {
            "if tuple(item) != tuple(wanted):": "if set(item) != set(wanted):",
        },
    ),
    *_faults(
        "checks/compare.py",
        "checks/test_heatmaps.py",
        {
            'return "0" if text == "-0" else text': "return text",
            "finite = np.isfinite(found).all()\n    if not finite and": "finite = np.isfinite(found).all()\n    if finite and",
        },
    ),
    *_faults(
        "checks/compare.py",
        "checks/test_problem.py",
        {
            "if got.dtype != expected.dtype:\n        origin": 'if got.dtype == "":\n        origin',
        },
    ),
    *_faults(
        "checks/credit.py",
        "checks/test_credit.py",
        {
            "if lost and lost + step.points > part.points / 2:": "if lost and lost + step.points > part.points:",
            "if len(failed) < 2:": "if len(failed) < 99:",
            "if alone and ways[step] & later:": "if alone and not ways[step]:",
            "about |= own\n": "about = own\n",
            "spares = frozenset(step for step in others if _right_but_for(found, step, cheap_first))": "spares = frozenset(others)",
        },
    ),
    *_faults(
        "checks/diagnosis.py",
        "checks/test_diagnosis.py::test_two_mistakes_that_both_act_everywhere_are_named",
        {
            "acting |= acts | 2 * acts_too": "acting |= acts",
        },
    ),
    *_faults(
        "checks/sameness.py",
        "checks/test_diagnosis.py::test_a_refusal_too_many_has_its_name_by_whatever_error_it_comes",
        {
            "same_error = wrong == [False, False] or (all(wrong) and same_type)": "same_error = all(wrong) and same_type",
        },
    ),
    *_faults(
        "checks/explain/numbers.py",
        "checks/test_relations.py",
        {
            "if value > 1 and same(1 / value):": "if value > 1 and same(2 / value):",
        },
    ),
    *_faults(
        "checks/explain/positions.py",
        "checks/test_relations.py",
        {
            "if len(moved) == 2:": "if len(moved) == 9:",
            "if source and set(source) == {0}:": "if source and set(source) == {-1}:",
            "if length > 2 and pair.close(np.flip(pair.expected, number), pair.found):": "if length > 99 and pair.close(np.flip(pair.expected, number), pair.found):",
        },
    ),
    *_faults(
        "checks/explain/shapes.py",
        "checks/test_relations.py",
        {
            "if long == longer and found.ndim < right.ndim:": "if long == longer and found.ndim > right.ndim + 9:",
        },
    ),
    *_faults(
        "checks/judge.py",
        "checks/test_chance.py",
        {
            "return 0 < case.memory <= seen.largest": "return 0 < case.memory < 0 * seen.largest",
        },
    ),
    *_faults(
        "checks/judge.py",
        "checks/test_models.py",
        {
            'if now.get("training") == was["training"]:': 'if now.get("training") != was["training"]:',
        },
    ),
    *_faults(
        "checks/missing.py",
        "checks/test_missing.py",
        {
            "if len(definitions) > 1:": "if len(definitions) > 2:",
            "if left is not None and len(written) > 1:": "if left is not None and len(written) > 2:",
            'if "forward" in names:\n        return ""': 'if names:\n        return ""',
        },
    ),
    *_faults(
        "checks/source_rules.py",
        "checks/test_source_rules.py",
        {
            "return None if own_method else Used(written_out(node) or node.attr)": "return None",
            "node.id in disallowed and node.id not in free": "node.id in disallowed",
        },
    ),
    *_faults(
        "grade/code_changes.py",
        "grade/test_own_code.py::test_a_change_is_made_where_it_was_found",
        {
            "return SHOWS if -size <= HIDES else": "return SHOWS if -size >= HIDES else",
            "if numbers[0] == numbers[1] and texts[0] != texts[1] and all(texts):": "if texts[0] != texts[1] and all(texts):",
        },
    ),
    *_faults(
        "grade/outputs.py",
        "grade/test_bounds.py::test_the_end_of_a_traceback_is_what_is_kept",
        {
            "lines = lines[-MOST_TRACEBACK:]": "lines = lines[:MOST_TRACEBACK]",
        },
    ),
    *_faults(
        "grade/outputs.py",
        "grade/test_outputs.py",
        {
            'self._clear_first = content.get("wait") is True': "self._clear_first = False",
            "0 <= value < LARGEST_COUNT": "value < LARGEST_COUNT",
            "kept = self._shown <= self.most and self._number <= MOST_OUTPUTS\n        if": "kept = self._number <= MOST_OUTPUTS\n        if",
            'copies = len(self._displayed.get(name, ())) + (kind != "update_display_data")': "copies = 1",
            "if kept_so_far and not kept:": "if not kept:",
            'if kind == "stream" and last and last.output_type == kind and last.name == content["name"]:': 'if kind == "stream" and last and last.output_type == kind:',
        },
    ),
    *_faults(
        "grade/report.py",
        "grade/test_feedback_page.py",
        {
            "and not verdict.stood_in\n": "",
        },
    ),
    *_faults(
        "grade/restore.py",
        "grade/test_restore.py",
        {
            "if not same and not _given_out(cell):": "if not same:",
            "return put[::-1]": "return put",
            "if missing.name in present or not missing.locked:": "if missing.name in present:",
            "if name not in cells or name in present:": "if name not in cells:",
        },
    ),
    *_faults(
        "grade/submission.py",
        "grade/test_submission.py",
        {
            "return found[0] if len(found) == 1 else wanted": "return found[0] if found else wanted",
        },
    ),
    *_faults(
        "batch/came_in.py",
        "lms/test_came_in.py",
        {
            "if when != other or str(when.year) not in text:": "if when != other:",
            "if tz.datetime_ambiguous(when) or not tz.datetime_exists(when):": "if not tz.datetime_exists(when):",
        },
    ),
    *_faults(
        "batch/class_statistics.py",
        "batch/test_class_statistics.py",
        {
            "others = [sum(own.values()) - own[part] for own in earned]": "others = [sum(own.values()) for own in earned]",
            "if len(points) >= FEWEST:": "if points:",
            "if by_number(path.parent.name) < by_number(assignment):": "if by_number(path.parent.name) <= by_number(assignment):",
        },
    ),
    *_faults(
        "batch/csv_file.py",
        "batch/test_csv_file.py",
        {
            "quoted = cells[column].startswith('\"') or self.separator in values[row]": "quoted = cells[column].startswith('\"')",
            "text = self.excels_line\n": 'text = ""\n',
            "quoted[1].replace('\"\"', '\"') + cell": "quoted[1] + cell",
            "return self.mark + text.encode(self.encoding)": "return text.encode(self.encoding)",
        },
    ),
    *_faults(
        "batch/csv_file.py",
        "lms/test_canvas.py",
        {
            "return commas and not any(": "return commas or any(",
        },
    ),
    *_faults(
        "batch/final_mark.py",
        "batch/test_final_mark.py",
        {
            "key=lambda name: (share[name], -weight[name])": "key=lambda name: (-share[name], -weight[name])",
            "Fraction(100))\n    missed": "Fraction(200))\n    missed",
            "worst[: min(rules.drop_worst, len(worst) - 1)]": "worst[: rules.drop_worst]",
            "passed = percent >= as_written(rules.pass_at) and not missed": "passed = percent >= as_written(rules.pass_at)",
        },
    ),
    *_faults(
        "points.py",
        "test_points.py",
        {
            "as_written(number) * scale + Fraction(1, 2)": "as_written(number) * scale",
        },
    ),
    *_faults(
        "batch/gradebook_writer.py",
        "batch/test_gradebook_writer.py",
        {
            'return known == (digest if "+" in known else digest.partition("+")[0])': "return known == digest",
            "Path(name).suffix.lower() in SERVED": "Path(name).suffix in SERVED",
        },
    ),
    *_faults(
        "batch/gradebook_writer.py",
        "batch/test_identity.py",
        {
            "elif changed:": "elif False:",
        },
    ),
    *_faults(
        "batch/late_penalty.py",
        "batch/test_late_penalty.py",
        {
            "math.ceil(after_grace / DAY)": "math.floor(after_grace / DAY)",
            ", self.most_percent)": ", 100)",
            "if after_grace <= 0:": "if total_seconds_late <= 0:",
        },
    ),
    *_faults(
        "batch/roster.py",
        "batch/test_roster.py",
        {
            "twins.setdefault(usual_id(student), student)": "student",
            "if is_rounded(student):": "if not student:",
            "if twin != name and name not in there:": "if twin != name and name in there:",
        },
    ),
    *_faults(
        "batch/student_result.py",
        "batch/test_class_report.py",
        {
            "return due + extension if due and extension else due": "return due",
        },
    ),
)


def is_found(fault: Fault, root: Path) -> bool:
    """Whether a test fails in a copy of the repository while the fault is there."""
    place = root / fault.path
    right = place.read_text(encoding="utf-8")
    place.write_text(fault.made_in(root), encoding="utf-8")
    try:
        return _status(fault.tests, root) == FOUND
    finally:
        place.write_text(right, encoding="utf-8")


def _status(tests: Iterable[str], root: Path) -> int:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-pno:cacheprovider",
        "-m",
        "not slow",
    ]
    # the copy's own packages, and not those that this environment knows by their place; compiled once
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    return subprocess.run(
        [*command, *tests], cwd=root, env=environment, stdout=subprocess.DEVNULL, check=False
    ).returncode


def copied(root: Path) -> None:
    """Copy all that git knows, and has not seen yet, to a folder."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)


def main(asked: str = "") -> int:
    """Plant each fault by itself, and say what came of it."""
    left = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "course")
        copied(root)
        faults = [fault for fault in FAULTS if asked in fault.path]
        if _status(sorted({name for fault in faults for name in fault.tests}), root):
            print("the tests fail without any fault: mend that first", file=sys.stderr)
            return 2
        for fault in faults:
            found = is_found(fault, root)
            left += [] if found else [fault]
            print("found" if found else "NOT FOUND", fault.path, repr(fault.new), flush=True)
    print(f"{len(faults) - len(left)} of {len(faults)} faults are found")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
