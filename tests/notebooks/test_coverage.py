"""sources/COVERAGE.md points to what is there: headings and phrases of lectures, parts of assignments."""

import re
from typing import NamedTuple

import jupytext
import pytest

from autograder.order import by_number
from tests.sample_class import ROOT

PAGE = (ROOT / "sources/COVERAGE.md").read_text(encoding="utf-8")
LECTURES = {
    path.stem: path for path in sorted((ROOT / "sources/lectures").glob("*.py"), key=by_number)
}
ASSIGNMENTS = {
    path.parent.name.partition("_")[0]: path for path in ROOT.glob("assignments/*/notebook.py")
}


class Link(NamedTuple):
    """One link of the page, with the phrase behind it, if there is one."""

    row: str
    label: str
    path: str
    anchor: str
    phrase: str

    @property
    def lecture(self):
        found = re.fullmatch(r"\.\./lectures/(\w+)\.ipynb", self.path)
        return found[1] if found else ""


LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)#?([^)\s]*)\)(?: “([^”]+)”)?")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")]
LINKS = [Link(row, *found) for row in ROWS for found in LINK.findall(row)]
TO_LECTURES = [link for link in LINKS if link.lecture]
TO_FILES = [link for link in LINKS if not link.lecture]


class Section(NamedTuple):
    label: str
    text: str


def sections_of(path):
    """Each heading's anchor, as JupyterLab makes it, with the label of a link to it and all that follows.

    What follows is text and code up to the next heading of the same or a higher level.
    """
    lecture, number, labels, texts, open_ones = int(path.stem.partition("_")[0]), "", {}, {}, []
    for cell in jupytext.read(path, fmt="py:percent").cells:
        pieces = [cell.source]
        if cell.cell_type == "markdown":
            fenced = re.sub(r"^```.*?^```", "", cell.source, flags=re.MULTILINE | re.DOTALL)
            pieces = re.split(r"^(?=#{1,6} )", fenced, flags=re.MULTILINE)
        for piece in pieces:
            heading = re.match(r"(#{1,6}) (.+)", piece)
            if heading and cell.cell_type == "markdown":
                level, title = len(heading[1]), heading[2].strip()
                own, name = re.fullmatch(r"(?:(\d+)\. )?(.+)", title).groups()
                number = own if level == 2 else number
                anchor = title.replace("`", "").replace(" ", "-")
                labels[anchor], texts[anchor] = f"{lecture} §{number} {name}", ""
                open_ones = [(above, place) for above, place in open_ones if above < level]
                open_ones.append((level, anchor))
            for _, anchor in open_ones:
                texts[anchor] += f"\n{piece}"
    return {anchor: Section(labels[anchor], plain(texts[anchor])) for anchor in labels}


def plain(text):
    """Text without line ends, and without the signs of emphasis and of formulas."""
    return " ".join(re.sub(r"[*$]", "", text).split())


def test_no_link_has_another_form():
    assert len(LINKS) == PAGE.count("](") > 0


@pytest.mark.parametrize("lecture", sorted({link.lecture for link in TO_LECTURES}))
def test_links_lead_to_headings_and_phrases_stand_below_them(lecture):
    assert lecture in LECTURES, f"there is no sources/lectures/{lecture}.py"
    sections = sections_of(LECTURES[lecture])
    for link in TO_LECTURES:
        if link.lecture == lecture:
            assert link.anchor in sections, (
                f"{lecture} has no heading with the anchor #{link.anchor}"
            )
            section = sections[link.anchor]
            assert link.label == section.label
            assert plain(link.phrase) in section.text, (
                f"section {section.label} does not say “{link.phrase}”, on which a row of "
                "sources/COVERAGE.md rests. If the section still teaches what the row says, quote "
                f"other words of it; otherwise correct the row: {link.row[:80]}"
            )


def test_phrases_stand_in_files():
    for link in TO_FILES:
        text = (ROOT / "sources" / link.path).read_text(encoding="utf-8")
        assert plain(link.phrase) in plain(text), f"{link.path} does not say “{link.phrase}”"


def test_every_row_with_a_link_rests_on_a_phrase():
    resting = {link.row for link in LINKS if link.phrase}
    bare = [link.row[:80] for link in LINKS if link.row not in resting]
    assert bare == [], "quote behind a link, in “…”, a few words or a number of the section"


def test_no_phrase_stands_apart_from_its_link():
    for row in ROWS:
        for found in re.finditer("“", row):
            assert row[: found.start()].endswith(") "), f"no link before a phrase in {row[:80]}"


@pytest.mark.parametrize("lecture", LECTURES)
def test_every_lecture_is_mentioned(lecture):
    assert lecture in {link.lecture for link in TO_LECTURES}


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_parts_are_questions_of_their_assignment(assignment):
    named = set(re.findall(rf"\b{assignment} `(\w+)`", PAGE))
    asked = re.findall(r'^# %% solution="(\w+)"', ASSIGNMENTS[assignment].read_text(), re.MULTILINE)
    assert named == set(asked)
