"""The view of rotary positions in Chromium: right scores, keyboard, phone and dark pages."""

import re

import pytest
import torch
from selenium.webdriver import Keys
from selenium.webdriver.support.select import Select

from course_utils.modern import apply_rotary
from lecture_kit import live
from tests.browser.conftest import SCREENSHOTS, serious_faults
from tests.browser.test_live import show  # noqa: F401  a fixture

pytestmark = pytest.mark.long

QUERY = [1.0, 0.5, -0.3, 0.8, 0.6, -1.0, 0.4, 0.9]
KEY = [0.2, 1.0, 0.7, -0.4, 0.9, 0.3, 1.1, -0.2]
HALVES = [0, 4, 1, 5, 2, 6, 3, 7]  # which features are turned together, as neighbours


def field(browser, label):
    """The slider or the list with this label."""
    path = f"//label[span[text()='{label}']]/*[self::input or self::select]"
    return browser.find_element("xpath", path)


def put(browser, label, value):
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    browser.execute_script(script, field(browser, label), value)


def parts(browser):
    """What each pair adds to the score, as it is shown."""
    found = browser.find_elements("css selector", ".dial b")
    return [float(one.text.replace("−", "-")) for one in found]


def score_said(browser):
    told = browser.find_element("css selector", ".told").text
    return float(re.search(r"score is (.*?)\.$", told)[1].replace("−", "-"))


def of_the_course(query_at, key_at, *, base=10000.0, factor=1.0, order=range(8)):
    """The parts of the score by the course's own code."""
    order = torch.tensor(list(order))
    query, key = (
        apply_rotary(
            torch.tensor(vector)[order].view(1, 1, 1, 8), torch.tensor([place]), base, factor
        ).flatten()
        for vector, place in [(QUERY, query_at), (KEY, key_at)]
    )
    return [(q @ k).item() for q, k in zip(query.split(2), key.split(2), strict=True)]


def assert_shown(browser, expected):
    assert parts(browser) == pytest.approx(expected, abs=6e-3)
    assert score_said(browser) == pytest.approx(sum(expected), abs=6e-3)


def test_scores_are_those_of_the_course(browser, show):  # noqa: F811
    show(live.rotary_view(QUERY, KEY, positions=(10, 7)))
    assert_shown(browser, of_the_course(10, 7))
    put(browser, "query at", 100)
    put(browser, "key at", 33)
    assert_shown(browser, of_the_course(100, 33))
    put(browser, "factor", 4)
    assert_shown(browser, of_the_course(100, 33, factor=4.0))
    Select(field(browser, "base")).select_by_visible_text("100")
    assert_shown(browser, of_the_course(100, 33, base=100.0, factor=4.0))
    Select(field(browser, "pairs of")).select_by_visible_text("halves")
    assert_shown(browser, of_the_course(100, 33, base=100.0, factor=4.0, order=HALVES))


def test_moving_both_on_keeps_the_score_by_keyboard(browser, show):  # noqa: F811
    show(live.rotary_view(QUERY, KEY, positions=(0, 3)))
    before = parts(browser)
    on = browser.find_element("xpath", "//button[text()='both one word on']")
    for _ in range(5):
        on.send_keys(Keys.ENTER)
    assert field(browser, "query at").get_attribute("value") == "5"
    assert parts(browser) == before
    field(browser, "key at").send_keys(Keys.ARROW_RIGHT)
    assert_shown(browser, of_the_course(5, 9))
    put(browser, "key at", 128)
    assert not on.is_enabled()
    dials = browser.find_elements("css selector", ".clock")
    assert all("query at" in one.get_attribute("aria-label") for one in dials)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_and_a_wide_page_without_serious_faults(browser, show, theme):  # noqa: F811
    for width in (390, 1280):
        show(live.rotary_view(QUERY, KEY), width=width, theme=theme)
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert serious_faults(browser) == []
        small = """return [...document.querySelectorAll('button, input, select')]
            .map(e => e.getBoundingClientRect()).filter(box => Math.min(box.width, box.height) < 24)"""
        assert browser.execute_script(small) == []
        browser.switch_to.default_content()
        browser.save_screenshot(str(SCREENSHOTS / f"live_rotary_{width}_{theme}.png"))
