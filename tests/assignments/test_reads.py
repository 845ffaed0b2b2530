"""The lecture to read again is there, and so is the heading that the link leads to."""

import re

import nbformat
import pytest

from assignments import known, load
from tests.sample_class import ROOT

PARTS = [(name, part) for name in known() for part in load(name).parts if part.reads[1]]


def headings(path):
    """Anchors as JupyterLab and the website make them."""
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return {
        title.strip().replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }


@pytest.mark.parametrize(("name", "part"), PARTS, ids=[part.name for _, part in PARTS])
def test_what_to_read_again_is_there(name, part):
    words, link = part.reads
    place, _, anchor = link.partition("#")
    lecture = (ROOT / "exercises" / name / place).resolve()
    assert lecture.exists()
    assert not anchor or anchor in headings(lecture)
    numbers = re.findall(r"section (\d+)", words)
    assert not anchor or not numbers or anchor.startswith(f"{numbers[0]}.")
