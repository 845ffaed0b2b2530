"""A student's feedback page in a real browser: on a desk, on a telephone, in the dark, on paper."""

import base64
import dataclasses
import itertools

import pytest
from nbformat.v4 import new_code_cell

from tests.browser.conftest import SCREENSHOTS
from tests.sample_class import ASSIGNMENT, SETTINGS, grade, hand_in, submission

pytestmark = pytest.mark.long

STUDENTS = (
    "right_loops",
    "softmax_over_columns",
    "swapped_query_and_key",
    "mixed_batch",
    "not_json",
)
SIZES = {"desk": (1280, 900), "telephone": (390, 844)}
LARGEST = 500_000  # bytes
ENOUGH = 4.5  # contrast, WCAG AA
# every text that is seen, with its colour and the colours behind it, from the nearest outwards
TEXTS = """
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.textContent.trim();
  const element = walker.currentNode.parentElement;
  if (!text || !element.getClientRects().length) continue;
  const behind = [];
  for (let node = element; node; node = node.parentElement)
    behind.push(getComputedStyle(node).backgroundColor);
  found.push([text, getComputedStyle(element).color, behind]);
}
return found;
"""
HEADINGS = "//h1 | //h2 | //h3 | //h4"
UNREACHABLE = """
return [...document.querySelectorAll('main *')].filter(item =>
  item.scrollWidth > item.clientWidth + 1 && item.clientWidth
  && ['auto', 'scroll'].includes(getComputedStyle(item).overflowX)
  && item.tabIndex < 0).map(item => item.outerHTML.slice(0, 200));
"""
OPEN_ALL = "document.querySelectorAll('details').forEach(item => { item.open = true; });"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of some of the sample class; one has long lines and a wide picture."""
    course = tmp_path_factory.mktemp("pages") / "course"
    notebooks = {student: submission(student) for student in STUDENTS}
    wide = "import torch\nprint('wide ' * 60)\ntorch.ones(40, 40)"
    notebooks["mixed_batch"].cells.insert(-3, new_code_cell(wide, id="wide"))
    hand_in(course, notebooks)
    grade(course, settings=dataclasses.replace(SETTINGS, workers=1))
    return {
        student: course / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"
        for student in STUDENTS
    }


@pytest.fixture
def visit(browser):
    """Open a page at a size and in a theme, all of it unfolded."""

    def open_page(page, size, theme):
        width, height = SIZES[size]
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size != "desk"},
        )
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": theme}]},
        )
        browser.get(page.as_uri())
        whole = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        picture = SCREENSHOTS / f"feedback_{page.parts[-3]}_{size}_{theme}.png"
        picture.write_bytes(base64.b64decode(whole["data"]))
        browser.execute_script(OPEN_ALL)

    yield open_page
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def channels(colour):
    """Red, green, blue and opacity of a computed colour."""
    numbers = [float(n) for n in colour[colour.index("(") + 1 : -1].replace("/", ",").split(",")]
    return numbers[:3], (numbers[3:] or [1.0])[0]


def luminance(colour):
    linear = [c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour, behind):
    """Of a text, by WCAG's formula; backgrounds here are either clear or solid."""
    solid = next(channels(item)[0] for item in behind if channels(item)[1] == 1)
    lights = sorted((luminance(channels(colour)[0]), luminance(solid)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("student", STUDENTS)
def test_a_page_can_be_read(pages, visit, browser, student, size, theme):
    visit(pages[student], size, theme)
    across = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert across[0] <= across[1] <= SIZES[size][0] <= across[1] + 20  # a scroll bar
    texts = browser.execute_script(TEXTS)
    assert len(texts) > 10
    dim = [text for text, colour, behind in texts if contrast(colour, behind) < ENOUGH]
    assert not dim
    # the theme is the reader's
    lights = luminance(channels(browser.execute_script(
        "return getComputedStyle(document.body).backgroundColor"))[0])  # fmt: skip
    assert (lights < 0.1) == (theme == "dark")


@pytest.mark.parametrize("student", STUDENTS)
def test_a_page_is_small_and_asks_nobody_for_anything(pages, visit, browser, student):
    browser.get_log("browser")  # what earlier pages said
    visit(pages[student], "desk", "light")
    assert browser.get_log("browser") == []
    asked = "return performance.getEntriesByType('resource').map(item => item.name)"
    assert [name for name in browser.execute_script(asked) if not name.startswith("data:")] == []
    assert browser.find_elements("xpath", "//script | //link | //iframe | //object") == []
    assert pages[student].stat().st_size < LARGEST


@pytest.mark.parametrize("student", STUDENTS)
def test_a_page_can_be_heard_and_used_with_keys(pages, visit, browser, student):
    visit(pages[student], "desk", "light")
    assert browser.find_element("tag name", "html").get_attribute("lang") == "en"
    levels = [int(item.tag_name[1]) for item in browser.find_elements("xpath", HEADINGS)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    # a box that scrolls can be reached by keys
    assert browser.execute_script(UNREACHABLE) == []


COLUMNS = """
return [...arguments[0].querySelectorAll('td[class]')].map(cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const box = cell.getBoundingClientRect(), text = range.getBoundingClientRect();
  return [Math.round(box.width * 10), text.left - box.left, box.right - text.right];
});
"""


@pytest.mark.parametrize("size", SIZES)
def test_three_maps_can_be_compared_cell_by_cell(pages, visit, browser, size):
    visit(pages["swapped_query_and_key"], size, "light")
    boxes = browser.find_elements("class name", "three")
    assert boxes
    for box in boxes:
        cells = browser.execute_script(COLUMNS, box)
        assert len({width for width, _, _ in cells}) == 1
        assert min(min(gaps) for _, *gaps in cells) >= 3  # pixels between a number and its edge
        assert "−" in box.text and "-" not in box.text


def test_first_comes_what_counts(pages, visit, browser):
    visit(pages["softmax_over_columns"], "telephone", "light")
    text = browser.find_element("tag name", "main").text
    order = ["Assignment 2: self-attention", "of 10 points", "1. Attention weights", "Next:"]
    places = [text.index(words) for words in order]
    assert places == sorted(places) and places[-1] < 500
    table = browser.find_element("xpath", "//table[caption='yours']")
    worst = table.find_element("class name", "worst")
    assert worst.value_of_css_property("outline-style") == "solid"
    assert worst.text in browser.find_element("class name", "maps").text
