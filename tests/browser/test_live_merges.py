"""The view of byte-pair encoding in Chromium: right symbols, keyboard, phone and dark pages."""

from collections import Counter

import pytest
from selenium.webdriver import Keys

from course_utils.language_models import apply_merges, learn_merges
from lecture_kit import live
from tests.browser.conftest import SCREENSHOTS, serious_faults
from tests.browser.test_live import show  # noqa: F401  a fixture

pytestmark = pytest.mark.long

TEXT = "the cat and the hat sat on that mat with the rat that the cat had bananas in aaaa"
MERGES = learn_merges(Counter(TEXT.split()), num_merges=40)


def press(browser, text):
    browser.find_element("xpath", f"//button[text()='{text}']").click()


def stages(browser):
    """What is shown: (the merge's number or "letters", symbols) a line."""
    shown = """return [...document.querySelectorAll('.stages li')].map(line =>
        [line.querySelector('.name').textContent,
         [...line.querySelectorAll('.symbol')].map(one => one.textContent)])"""
    return [(name, symbols) for name, symbols in browser.execute_script(shown)]


def type_word(browser, word):
    field = browser.find_element("css selector", "input[type='text']")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(word)


@pytest.mark.parametrize("word", ["that", "bananas", "aaaa", "aaaaa", "thehatmat", "x"])
def test_symbols_are_those_of_the_course(browser, show, word):  # noqa: F811
    show(live.merges_view(MERGES, ["the"]))
    type_word(browser, word)
    assert stages(browser) == [("letters", list(word))]
    if browser.find_element("xpath", "//button[text()='all merges']").is_enabled():
        press(browser, "all merges")
    _, *merged = stages(browser)
    for name, symbols in merged:
        assert symbols == apply_merges(word, MERGES[: int(name)])
    changing = [
        place
        for place in range(1, len(MERGES) + 1)
        if apply_merges(word, MERGES[:place]) != apply_merges(word, MERGES[: place - 1])
    ]
    assert [int(name) for name, _ in merged] == changing


def test_merge_by_merge_by_keyboard(browser, show):  # noqa: F811
    show(live.merges_view(MERGES, ["that", "bananas"]))
    whole = stages(browser)
    assert whole[-1][1] == apply_merges("that", MERGES), "the first word is shown in full"
    press(browser, "letters")
    assert stages(browser) == whole[:1]
    assert "spelled with 4 symbols" in browser.find_element("css selector", ".told").text
    following = browser.find_element("xpath", "//button[text()='next merge']")
    for count in range(2, len(whole) + 1):
        following.send_keys(Keys.ENTER)
        assert stages(browser) == whole[:count]
    assert "No later merge" in browser.find_element("css selector", ".told").text
    assert not following.is_enabled()
    press(browser, "one merge back")
    assert stages(browser) == whole[:-1]


def test_no_word_is_no_fault(browser, show):  # noqa: F811
    show(live.merges_view(MERGES, ["that"]))
    type_word(browser, Keys.BACK_SPACE)
    assert browser.find_element("css selector", ".told").text == "Type a word."
    type_word(browser, "<b>")
    assert stages(browser) == [("letters", ["<", "b", ">"])]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_and_a_wide_page_without_serious_faults(browser, show, theme):  # noqa: F811
    for width in (390, 1280):
        show(live.merges_view(MERGES, ["thehatsatonthatmatwithra"]), width=width, theme=theme)
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert serious_faults(browser) == []
        small = """return [...document.querySelectorAll('button, input, select')]
            .map(e => e.getBoundingClientRect()).filter(box => Math.min(box.width, box.height) < 24)"""
        assert browser.execute_script(small) == []
        browser.switch_to.default_content()
        browser.save_screenshot(str(SCREENSHOTS / f"live_merges_{width}_{theme}.png"))
