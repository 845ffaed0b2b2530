"""No page acts in a browser, whatever was handed in, and no table in a spreadsheet."""

import csv
import io
import re
from html.parser import HTMLParser

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter

from autograder.sandbox import bubblewrap
from tests.autograder.batch.odd_files import PARTS
from tests.sample_class import (
    ASSIGNMENT,
)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing()),
]

IGNORED = ("pre", "code", "script", "style", "textarea")
VOID = ("br", "hr", "img", "input", "link", "meta", "base", "wbr", "area", "col", "embed", "source")
ACTING_FORMULA = re.compile(r"\\(href|url|html|class|cssId|style|require|def|let|unicode|data)")
HARMLESS_LINK = re.compile(r"(https?://|mailto:|#|\.\.?/|[\w-]+\.(ipynb|html|md)\b)")


class Acts(HTMLParser):
    """What could act in a page: elements, attributes, addresses, and formulas that make links."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found, self.open = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        if tag not in VOID:
            ignored = tag in IGNORED or "tex2jax_ignore" in given.get("class", "")
            self.open.append((tag, ignored))
        if tag in ("script", "style", "base", "meta", "form", "iframe", "object", "embed", "link",
                   "svg", "math", "input", "button", "video", "audio", "frame", "noscript"):  # fmt: skip
            self.found.append((tag, *sorted(given.items())))
        for name, value in given.items():
            acts = name.startswith("on") or (
                name in ("srcset", "background", "formaction", "action")
            )
            acts |= name in ("src", "data") and not re.match(
                r"data:image/(png|jpeg|gif|svg\+xml);base64,", value
            )
            acts |= name == "style" and "position" in value
            acts |= name.endswith("href") and tag.startswith("m")
            acts |= name.endswith("href") and not HARMLESS_LINK.match(value)
            if acts:
                self.found.append((tag, name, value))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        for place in range(len(self.open) - 1, -1, -1):
            if self.open[place][0] == tag:
                del self.open[place:]
                return

    def handle_data(self, text):
        if not any(ignored for _, ignored in self.open) and ACTING_FORMULA.search(text):
            self.found.append(("formula", text[:200]))


def rendered(path):
    """The HTML that nbconvert makes of a graded notebook."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return HTMLExporter(template_name="classic").from_notebook_node(notebook)[0]


@pytest.mark.parametrize("student", ["attacker", "quoted", "half_characters"])
def test_nothing_that_a_student_wrote_acts_in_a_page(odd, student):
    name = f"{ASSIGNMENT}.ipynb"
    own = Acts(rendered(odd.autograded("right_loops") / name)).found
    found = Acts(rendered(odd.autograded(student) / name)).found
    assert [item for item in found if item not in own] == []
    assert len(found) == len(own)
    own = Acts(odd.feedback("right_loops").read_text()).found
    found = Acts(odd.feedback(student).read_text()).found
    assert [item for item in found if item not in own] == []
    assert len(found) == len(own)


def test_every_page_has_the_scripts_of_an_honest_one(odd):
    scripts = odd.feedback("right_loops").read_text().count("<script")
    for path in odd.course.glob(f"feedback/*/{ASSIGNMENT}/*.html"):
        page = path.read_text()
        if "could not be graded" in page[:2000]:
            assert {item[0] for item in Acts(page).found} == {"meta", "style"}, path
        else:
            assert page.count("<script") == scripts, path


def test_no_file_of_a_students_stands_under_a_name_that_a_browser_runs(odd):
    names = {path.name for path in odd.autograded("pages").iterdir()} - {f"{ASSIGNMENT}.ipynb"}
    assert {"page.html.txt", "page.svg.txt", "page.js.txt"} <= names
    runs = re.compile(
        r"\.(html?|xhtml|svgz?|xml|xsl|js|mjs|css|pdf|mht|swf|ipynb|md)$", re.IGNORECASE
    )
    for path in odd.course.glob("autograded/*/*/*"):
        if path.name != f"{ASSIGNMENT}.ipynb" and path.is_file():
            assert not runs.search(path.name), path


def test_the_table_holds_one_inert_line_for_each_student(odd):
    text = (odd.course / "grading" / ASSIGNMENT / "class.csv").read_text("utf-8-sig")
    head, *records = csv.reader(io.StringIO(text))
    assert len(records) == len(odd.students)
    assert {len(record) for record in records} == {len(head)}
    assert set(PARTS) <= set(head)
    for record in records:
        for cell in record:
            assert not re.match(r"\s*[=+\-@＝＋－＠\t\r\n]", cell), cell
            assert not re.search(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]", cell), (
                cell
            )
    names = [record[0] for record in records]
    assert "'=1+1" in names and "�evil" in names and "a�b" in names


def test_the_page_of_the_class_holds_no_name_and_every_part(odd):
    page = (odd.course / "grading" / ASSIGNMENT / "class.html").read_text()
    assert all(part in page for part in PARTS)
    assert "right_loops" not in page
    assert "<script" not in page and "&lt;script&gt;steal()" in page, "code is quoted as text"
    assert not [item for item in Acts(page).found if item[0] not in ("meta", "style", "svg")]
