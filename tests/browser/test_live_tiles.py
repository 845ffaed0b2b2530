"""The view of a softmax in one pass in Chromium: right numbers, keyboard, phone and dark pages."""

import math
import re

import pytest
from selenium.webdriver import Keys

from lecture_kit import live
from tests.browser.conftest import SCREENSHOTS, serious_faults
from tests.browser.test_live import show  # noqa: F401  a fixture

pytestmark = pytest.mark.long

SCORES, VALUES = [0.5, 2.0, -1.0, 3.0, 1.0, 2.5], [8.0, 4.0, 2.0, 1.0, 6.0, 3.0]


def press(browser, text):
    browser.find_element("xpath", f"//button[text()='{text}']").click()


def carried(browser):
    """m, ℓ and o as they are shown now."""
    shown = "return [...document.querySelectorAll('.carried b')].map(one => one.textContent)"
    return [
        float(text.replace("−", "-").replace("∞", "inf")) for text in browser.execute_script(shown)
    ]


def told(browser):
    return browser.find_element("css selector", ".told").text


def expected(scores, count):
    """m, ℓ and o over the first keys, all at once."""
    m = max(scores[:count])
    powers = [math.exp(score - m) for score in scores[:count]]
    return [m, sum(powers), sum(p * v for p, v in zip(powers, VALUES[:count], strict=True))]


@pytest.mark.parametrize("block", [1, 2, 4, 6])
def test_what_is_carried_is_right_after_every_block(browser, show, block):  # noqa: F811
    show(live.tiles_view(SCORES, VALUES, block))
    assert carried(browser) == [-math.inf, 0, 0]
    for count in range(block, 6 + block, block):
        press(browser, "next block")
        assert carried(browser) == pytest.approx(expected(SCORES, min(count, 6)), abs=0.006)
    assert not browser.find_element("xpath", "//button[text()='next block']").is_enabled()
    _, total, output = expected(SCORES, 6)
    found = re.search(
        r"o / ℓ = (\d+\.\d+), and a softmax over all keys at once gives (\d+\.\d+)", told(browser)
    )
    assert [float(number) for number in found.groups()] == pytest.approx(
        [output / total] * 2, abs=0.006
    )


def test_it_says_when_a_rescaling_is_needed(browser, show):  # noqa: F811
    show(live.tiles_view(SCORES, VALUES, 2))
    press(browser, "next block")
    assert "first block sets the maximum" in told(browser)
    press(browser, "next block")
    assert "multiplied by 0.368" in told(browser)
    press(browser, "next block")
    assert "without any rescaling" in told(browser)


def test_a_score_can_be_changed_by_keyboard(browser, show):  # noqa: F811
    show(live.tiles_view(SCORES, VALUES, 2))
    for _ in range(3):
        press(browser, "next block")
    field = browser.find_element("css selector", "input[aria-label='score of key 1']")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("5")
    assert carried(browser) == pytest.approx(expected([5.0, *SCORES[1:]], 6), abs=0.006)
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("500")
    assert field.get_attribute("aria-invalid") == "true"
    assert carried(browser)[0] == 50, "the last number that fitted, 50, on the way to 500"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_and_a_wide_page_without_serious_faults(browser, show, theme):  # noqa: F811
    for width in (390, 1280):
        show(live.tiles_view(SCORES, VALUES), width=width, theme=theme)
        press(browser, "next block")
        press(browser, "next block")
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert serious_faults(browser) == []
        small = """return [...document.querySelectorAll('button, input, select')]
            .map(e => e.getBoundingClientRect()).filter(box => Math.min(box.width, box.height) < 24)"""
        assert browser.execute_script(small) == []
        browser.switch_to.default_content()
        browser.save_screenshot(str(SCREENSHOTS / f"live_tiles_{width}_{theme}.png"))
