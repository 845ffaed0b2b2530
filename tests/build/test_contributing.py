"""Whoever does what docs/authors.md says gets what it promises.

A lecture with a figure and a live view, an assignment, a named mistake and a step are added to a copy of
the course, line by line, as the page tells it.
"""

import re
from pathlib import Path

import pytest

from tests.course_copy import copy_course, run
from tests.sample_class import ROOT

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs/authors.md").read_text(encoding="utf-8")
EDIT = re.compile(
    r"^(?P<how>New file|At the end of|In) `(?P<path>[^`]+)`"
    r"(, (?P<where>above|in place of) the line with `(?P<anchor>[^`]+)`)?:\n\n"
    r"```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CONSOLE = re.compile(r"^```console\n(?P<session>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def course(tmp_path):
    return copy_course(tmp_path)


def edit(course: Path, change: re.Match) -> None:
    """Do what the sentence above a block says with the block."""
    path, text = course / change["path"], change["text"]
    if change["how"] == "New file":
        assert not path.exists(), f"{change['path']} is there already"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if change["how"] == "At the end of":
        lines.append(text)
    else:
        found = [number for number, line in enumerate(lines) if change["anchor"] in line]
        assert len(found) == 1, f"{len(found)} lines of {change['path']} have {change['anchor']!r}"
        lines[found[0]] = text + (lines[found[0]] if change["where"] == "above" else "")
    path.write_text("".join(lines), encoding="utf-8")


def commands_in(session: str) -> list[tuple[str, list[str]]]:
    """Commands, each with the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    for line in session.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def test_every_block_of_the_page_is_tried():
    blocks = PAGE.count("\n```") // 2
    assert blocks == len(EDIT.findall(PAGE)) + len(CONSOLE.findall(PAGE)) > 10


def test_the_page_works_as_it_is_written(course):
    blocks = sorted([*EDIT.finditer(PAGE), *CONSOLE.finditer(PAGE)], key=re.Match.start)
    promised = []
    for block in blocks:
        if block.re is EDIT:
            edit(course, block)
        else:
            promised += commands_in(block["session"])
    code = {block["path"] for block in EDIT.finditer(PAGE) if block["path"].endswith(".py")}
    run(course, f"ruff format {' '.join(code)} && ruff check {' '.join(code)}")
    # Everything is in place by now, so a command that stands there several times is run once, and figures are
    # drawn first, since the lecture shows them.
    once = dict(promised)
    for command in sorted(once, key=lambda command: not command.startswith("make figures")):
        said = run(course, command)
        assert [line for line in once[command] if line not in said] == [], f"{command}\n{said}"

    for page in ("course_map.md", "README.md"):
        text = (course / page).read_text(encoding="utf-8")
        links = re.findall(r"\]\((lectures|exercises)/([0-9]+|a[0-9]+)_", text)
        assert links[-1] == ("exercises", "a14")
        assert [number for folder, number in links if folder == "lectures"][-1] == "13"
    lecture = (course / "lectures/13_attention_entropy.ipynb").read_text(encoding="utf-8")
    assert "../figures/attention_entropy.svg" in lecture and "<iframe" in lecture
    changed = run(
        course, f"diff -rq {ROOT / 'figures'} {course / 'figures'} -x __pycache__ || true"
    )
    assert {line.split()[-1] for line in changed.splitlines()} == {
        "attention_entropy.svg",
        "make_attention_entropy.py",
    }, "one notebook was built and one figure drawn, and no other should have changed"
