"""The view of writing in Chromium: right numbers, buttons, sliders, keyboard, phone and dark pages."""

import pytest
import torch
from selenium.webdriver import Keys

from course_utils.language_models import CausalLanguageModel, next_token_probabilities
from lecture_kit import data, live
from tests.browser.conftest import SCREENSHOTS, serious_faults
from tests.browser.test_live import show  # noqa: F401  a fixture

pytestmark = pytest.mark.long

WORDS = data.Vocabulary(["it", "is", "easy", "hard", "to", "say", "."])
SLIDE = """const [input, value] = arguments; input.value = value;
    input.dispatchEvent(new Event('input', {bubbles: true}));"""


def model():
    torch.manual_seed(3)
    return CausalLanguageModel(len(WORDS), 16, 4, 2, 24, dropout=0.0, max_len=9).eval()


def bars(browser):
    """name -> what stands at its end."""
    found = browser.find_elements("css selector", ".bar")
    return {
        one.find_element("css selector", ".name").text: one.find_element(
            "css selector", ".said"
        ).text
        for one in found
    }


def press(browser, text):
    browser.find_element("xpath", f"//button[text()='{text}']").click()


def slide(browser, name, value):
    field = browser.find_element("xpath", f"//label[span[starts-with(., '{name}')]]/input")
    browser.execute_script(SLIDE, field, value)


def expected(ids, **settings):
    with torch.no_grad():
        logits = model()(torch.tensor([[data.BOS_ID, *ids]]))[:, -1]
    return next_token_probabilities(logits, **settings)[0]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 1.6, "top_k": 4},
        {"top_p": 0.6},
        {"temperature": 1.3, "top_k": 5, "top_p": 0.75},
        {"temperature": 0},
    ],
    ids=str,
)
def test_numbers_are_those_of_the_course(browser, show, settings):  # noqa: F811
    show(live.writing_view(model(), WORDS, ["it", "is"]))
    names = {"temperature": "temperature", "top_k": "top-k", "top_p": "top-p"}
    for key, value in settings.items():
        slide(browser, names[key], value)
    kept = expected(WORDS.encode("it is"), **settings)
    shown = bars(browser)
    assert len(shown) == len(WORDS)
    for word, share in zip(WORDS.words, kept.tolist(), strict=True):
        said = shown["⟨end⟩" if word == "<eos>" else word]
        if share:
            assert float(said.lstrip("<")) == pytest.approx(share, abs=0.004)  # weights have 8 bits
        else:
            assert said.startswith(("cut", "not the likeliest"))


def test_one_can_write_with_buttons_and_take_words_back(browser, show):  # noqa: F811
    show(live.writing_view(model(), WORDS))
    sentence = browser.find_element("css selector", ".sentence")
    press(browser, "take the likeliest")
    first = expected([]).argmax().item()
    assert sentence.text.split()[0] == ("⟨end⟩" if first == data.EOS_ID else WORDS.words[first])
    press(browser, "begin again")
    assert sentence.text == "?"
    press(browser, "draw a sentence")
    words = sentence.text.split()
    assert words[-1] == "⟨end⟩" or len(words) == 8
    assert not browser.find_element("xpath", "//button[text()='draw a token']").is_enabled()
    press(browser, "one token back")
    assert sentence.text.split()[-1] == "?"


def test_the_keyboard_writes_a_word_and_keeps_its_place(browser, show):  # noqa: F811
    show(live.writing_view(model(), WORDS))
    first = browser.find_elements("css selector", ".bar")[0]
    name = first.find_element("css selector", ".name").text
    first.send_keys(Keys.ENTER)
    assert browser.find_element("css selector", ".sentence").text.split()[0] == name
    if name != "⟨end⟩":
        assert "bar" in browser.switch_to.active_element.get_attribute("class")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_and_a_wide_page_without_serious_faults(browser, show, theme):  # noqa: F811
    for width in (390, 1280):
        show(live.writing_view(model(), WORDS, ["it"], top_p=0.8), width=width, theme=theme)
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert serious_faults(browser) == []
        small = """return [...document.querySelectorAll('button, input')]
            .map(e => e.getBoundingClientRect()).filter(box => Math.min(box.width, box.height) < 24)"""
        assert browser.execute_script(small) == []
        browser.switch_to.default_content()
        browser.save_screenshot(str(SCREENSHOTS / f"live_writing_{width}_{theme}.png"))
