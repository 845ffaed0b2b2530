"""Lay out a new assignment or lecture: small, complete, and green, so that you begin by changing it.

    python tools/new.py assignment a14_title
    python tools/new.py lecture 13_title

The files come from `tools/templates/`; docs/authors.md says what each of them is for.
"""

from __future__ import annotations

import argparse
import keyword
import re
import subprocess
import sys
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = Path(__file__).resolve().parent / "templates"
COVERAGE = Path("sources/COVERAGE.md")
BEYOND = "## Beyond the documents"
FORMS = {
    "assignment": r"a([1-9][0-9]*)_([a-z][a-z0-9_]*)",
    "lecture": r"([0-9]{2,})_([a-z][a-z0-9_]*)",
}
EXAMPLES = {"assignment": "a14_title", "lecture": "13_title"}
TRIED_BY = (
    "tests/autograder/test_checks.py tests/assignments tests/notebooks/test_coverage.py "
    "tests/tools/test_accuracy.py"
)
FIRST_SECTION = (
    "[{number} §1 First section](../lectures/{name}.ipynb#1.-First-section) “Pictures end with”"
)


class NotNew(Exception):
    """Nothing was laid out; the message says why and what to do."""


def lay_out(root: Path, kind: str, name: str) -> list[Path]:
    """Write the files of a new assignment or lecture.

    Args:
        root: of the course.
        kind: "assignment" or "lecture".
        name: its id, which begins with its place in the course.

    Returns:
        the files that are new, or have a new line.

    Raises:
        NotNew: the name does not do, or is taken.
    """
    number, words = _read_name(kind, name)
    _refuse_taken(root, kind, name)
    values = {
        "name": name,
        "number": number.lstrip("0"),
        "part": words,
        "title": words.replace("_", " "),
    }
    if kind == "assignment":
        files = {
            root / "assignments" / name / template.name.removesuffix(".txt"): template
            for template in sorted((TEMPLATES / "assignment").glob("*.txt"))
        }
        taught_in = f"a{number} `{words}`"
    else:
        files = {root / "sources" / "lectures" / f"{name}.py": TEMPLATES / "lecture.py.txt"}
        taught_in = FIRST_SECTION.format(**values)
    for target, template in files.items():
        target.parent.mkdir(exist_ok=True)
        text = Template(template.read_text(encoding="utf-8")).substitute(values)
        target.write_text(text, encoding="utf-8")
    _cover(root / COVERAGE, f"| {values['title']} | {taught_in} |")
    return [*files, root / COVERAGE]


def _read_name(kind: str, name: str) -> tuple[str, str]:
    found = re.fullmatch(FORMS[kind], name)
    if not found:
        raise NotNew(
            f"'{name}' is no name for {'an' if kind == 'assignment' else 'a'} {kind}. It begins with "
            f"its place in the course, then come small letters, such as {EXAMPLES[kind]}."
        )
    if kind == "assignment" and keyword.iskeyword(found[2]):
        raise NotNew(
            f"'{found[2]}' is a word of Python, and students shall define it: name it otherwise."
        )
    return found[1], found[2]


def _refuse_taken(root: Path, kind: str, name: str) -> None:
    there = root / ("assignments" if kind == "assignment" else "sources/lectures")
    place = name.partition("_")[0]
    for path in sorted(there.glob(f"{place}_*")):
        if path.is_dir() and not any(path.glob("*.py")):
            continue  # what an older version has left behind
        raise NotNew(
            f"{place} is taken: there is {path.relative_to(root)}. Take another number, or change "
            "what is there."
        )


def _cover(page: Path, row: str) -> None:
    """Say in the page of what is taught where that this is new, and in no document before."""
    text = page.read_text(encoding="utf-8").rstrip("\n")
    if BEYOND not in text:
        text += f"\n\n{BEYOND}\n\n| what | taught in |\n|---|---|"
    head, _, section = text.partition(BEYOND)
    table, gap, rest = section.lstrip("\n").partition("\n\n")
    page.write_text(f"{head}{BEYOND}\n\n{table}\n{row}{gap}{rest}\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python tools/new.py")
    parser.add_argument("kind", choices=sorted(FORMS))
    parser.add_argument("name", help="such as " + " or ".join(EXAMPLES.values()))
    options = parser.parse_args(arguments)
    try:
        written = lay_out(ROOT, options.kind, options.name)
    except NotNew as reason:
        print(f"nothing was laid out: {reason}", file=sys.stderr)
        return 2
    for path in written:
        print(path.relative_to(ROOT))
    # a long name breaks lines elsewhere than a short one
    code = [str(path) for path in written if path.suffix == ".py"]
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", *code], cwd=ROOT, check=True)
    print(f"\nNow: make build ONLY={options.name}")
    if options.kind == "assignment":
        print(f"     make accuracy ONLY={options.name}")
        print(f"     python -m pytest -q {TRIED_BY} -k {options.name.partition('_')[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
