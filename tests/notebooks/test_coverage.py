"""sources/COVERAGE.md points to what is there: headings of lectures, parts of assignments."""

import re

import jupytext
import pytest

from tests.sample_class import ROOT

PAGE = (ROOT / "sources/COVERAGE.md").read_text(encoding="utf-8")
LINK = re.compile(r"\[([^\]]+)\]\(\.\./lectures/(\w+)\.ipynb#([^)\s]+)\)")
LINKS = LINK.findall(PAGE)
LECTURES = {path.stem: path for path in sorted((ROOT / "sources/lectures").glob("*.py"))}
ASSIGNMENTS = {
    path.parent.name.partition("_")[0]: path for path in ROOT.glob("assignments/*/notebook.py")
}


def labels_by_anchor(path):
    """Each heading's anchor, as JupyterLab makes it, and the label of a link to it."""
    lecture, section, labels = int(path.stem.partition("_")[0]), "", {}
    for cell in jupytext.read(path, fmt="py:percent").cells:
        if cell.cell_type != "markdown":
            continue
        text = re.sub(r"^```.*?^```", "", cell.source, flags=re.MULTILINE | re.DOTALL)
        for hashes, title in re.findall(r"^(#{1,6}) (.+)$", text, re.MULTILINE):
            number, name = re.fullmatch(r"(?:(\d+)\. )?(.+)", title.strip()).groups()
            if len(hashes) == 2:
                section = number
            anchor = title.strip().replace("`", "").replace(" ", "-")
            labels[anchor] = f"{lecture} §{section} {name}"
    return labels


def test_no_link_has_another_form():
    assert len(LINKS) == PAGE.count("](") > 0


@pytest.mark.parametrize("lecture", sorted({lecture for _, lecture, _ in LINKS}))
def test_links_lead_to_headings(lecture):
    assert lecture in LECTURES, f"there is no sources/lectures/{lecture}.py"
    labels = labels_by_anchor(LECTURES[lecture])
    for label, name, anchor in LINKS:
        if name == lecture:
            assert anchor in labels, f"{lecture} has no heading with the anchor #{anchor}"
            assert label == labels[anchor]


@pytest.mark.parametrize("lecture", LECTURES)
def test_every_lecture_is_mentioned(lecture):
    assert lecture in {name for _, name, _ in LINKS}


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_parts_are_questions_of_their_assignment(assignment):
    named = set(re.findall(rf"\b{assignment} `(\w+)`", PAGE))
    asked = re.findall(r'^# %% solution="(\w+)"', ASSIGNMENTS[assignment].read_text(), re.MULTILINE)
    assert named == set(asked)
