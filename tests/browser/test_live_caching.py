"""The view of a key/value cache in Chromium: which rows a step computes, phone and dark pages."""

import pytest

from lecture_kit import live
from tests.browser.conftest import SCREENSHOTS, serious_faults
from tests.browser.test_live import show  # noqa: F401  a fixture

pytestmark = pytest.mark.long

WORDS = ["it", "is", "easy", "to", "translate", "this", "sentence", "."]
CELLS = "return [...document.querySelectorAll('td[data-place]')].map(one => one.className)"


def press(browser, text):
    browser.find_element("xpath", f"//button[text()='{text}']").click()


def sums(browser):
    return browser.find_element("css selector", ".sums").text


def rows_of(browser, kind):
    """Numbers of the rows that have a cell of this kind."""
    cells = browser.execute_script(CELLS)
    return sorted({place // len(WORDS) for place, found in enumerate(cells) if found == kind})


def test_with_a_cache_every_step_computes_one_row(browser, show):  # noqa: F811
    show(live.cache_view(WORDS, 3))
    assert rows_of(browser, "now") == [0, 1, 2]
    for count in range(4, 9):
        press(browser, "next token")
        assert rows_of(browser, "now") == [count - 1]
        assert rows_of(browser, "before") == list(range(count - 1))
    assert "8 with a cache, 33 without" in sums(browser)
    assert not browser.find_element("xpath", "//button[text()='next token']").is_enabled()


def test_without_a_cache_all_rows_are_computed_again(browser, show):  # noqa: F811
    show(live.cache_view(WORDS, 3))
    press(browser, "with a cache")
    press(browser, "next token")
    assert rows_of(browser, "again") == [0, 1, 2] and rows_of(browser, "now") == [3]
    assert "Nothing is kept." in sums(browser)
    press(browser, "only the prompt")
    assert rows_of(browser, "now") == [0, 1, 2] and rows_of(browser, "again") == []


def test_nobody_sees_the_future(browser, show):  # noqa: F811
    show(live.cache_view(WORDS, 3))
    for _ in range(5):
        press(browser, "next token")
    cells = browser.execute_script(CELLS)
    for place, kind in enumerate(cells):
        i, j = divmod(place, len(WORDS))
        assert (kind == "hidden") == (j > i)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_and_a_wide_page_without_serious_faults(browser, show, theme):  # noqa: F811
    for width in (390, 1280):
        show(live.cache_view(WORDS, 3), width=width, theme=theme)
        press(browser, "next token")
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        cut = "const grid = document.querySelector('.scroll'); return grid.scrollWidth - grid.clientWidth"
        assert browser.execute_script(cut) == 0, "all eight columns are in sight"
        assert serious_faults(browser) == []
        small = """return [...document.querySelectorAll('button')]
            .map(e => e.getBoundingClientRect()).filter(box => Math.min(box.width, box.height) < 24)"""
        assert browser.execute_script(small) == []
        browser.switch_to.default_content()
        browser.save_screenshot(str(SCREENSHOTS / f"live_caching_{width}_{theme}.png"))
