"""Every picture of a lecture has its text where a reader's program looks: in `alt`, and a caption."""

import re
from html.parser import HTMLParser

import nbformat
import pytest
from nbconvert import HTMLExporter

from autograder.release.source import read_source
from tests.build.test_minutes import LECTURES, minutes
from tests.sample_class import ROOT


class Page(HTMLParser):
    """The images of a page, and how many captions it has."""

    def __init__(self, html):
        super().__init__()
        self.images, self.captions = [], 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.images.append(dict(attrs))
        self.captions += tag == "figcaption"


def built(path):
    return nbformat.read(ROOT / "lectures" / f"{path.stem}.ipynb", as_version=4)


def drawn(notebook):
    """The outputs that are pictures."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output for output in outputs if "image/png" in output.get("data", {})]


@pytest.mark.parametrize(
    "path",
    [LECTURES[0], *(pytest.param(path, marks=pytest.mark.long) for path in LECTURES[1:])],
    ids=lambda path: path.stem,
)
def test_exported_pages_give_every_picture_its_alt_text(path):
    notebook = built(path)
    page = Page(HTMLExporter().from_notebook_node(notebook)[0])
    linked = sum(
        len(re.findall(r"!\[[^\]]+\]\([^)]+\)", cell.source))
        for cell in notebook.cells
        if cell.cell_type == "markdown"
    )
    pictures = drawn(notebook)
    assert len(pictures) >= 2
    assert len(page.images) == len(pictures) + linked
    for image in page.images:
        assert len((image.get("alt") or "").split()) >= 8, image.get("alt")
    assert page.captions == len(pictures)


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_captions_are_short_and_pictures_fit_a_page(path):
    for output in drawn(built(path)):
        caption = re.search(r"<figcaption>(.*?)</figcaption>", output.data["text/html"])[1]
        assert 4 <= len(caption.split()) <= 25, caption
        assert caption.endswith("."), caption
        assert output.metadata["image/png"]["width"] <= 960
        assert len(output.data["text/html"]) < 500_000


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_a_reader_need_not_scroll_over_alt_texts(path):
    for cell in read_source(path).notebook.cells:
        if "plotting.picture(" in cell.source:
            assert minutes.is_folded(cell), cell.source[:80]
