"""Questions in Chromium: each kind answers to mouse and keyboard, says why, and remembers."""

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains, Keys

from lecture_kit import live, questions
from tests.browser.conftest import SCREENSHOTS, serious_faults
from tests.browser.test_live import enter, press, show  # noqa: F401  show is a fixture

pytestmark = pytest.mark.long

CHOICE = ("03", "what-the-root-does")
NUMBER = ("04", "how-many-cells-are-visible")
ORDER = ("01", "one-step-of-the-decoder")
KINDS = [CHOICE, NUMBER, ORDER]


def question_of(lecture, name):
    return next(one for one in questions.questions_of(lecture) if one.id == name)


@pytest.fixture
def asked(browser, show):  # noqa: F811
    """Show a question to a reader who has answered nothing yet."""

    def load(which, **more):
        show(questions.ask(*which), **more)
        browser.execute_script("localStorage.clear()")
        browser.refresh()
        enter(browser, 0)

    return load


def verdict(browser):
    return browser.execute_script("return page.verdict.textContent")


def keys(browser, *pressed):
    for key in pressed:
        ActionChains(browser, duration=0).send_keys(key).perform()


def focus(browser, selector):
    browser.execute_script("document.querySelector(arguments[0]).focus()", selector)


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_each_choice_says_why(browser, asked, by):
    asked(CHOICE)
    choices = question_of(*CHOICE).choices
    for place, choice in enumerate(choices):
        if by == "mouse":
            browser.find_elements("css selector", ".choice")[place].click()
            press(browser, "check")
        else:
            focus(browser, f".choice:nth-of-type({place + 1}) input")
            keys(browser, Keys.SPACE)
            focus(browser, ".check")
            keys(browser, Keys.ENTER)
        said = "✓ Right. " if choice.right else "✗ Not yet. "
        assert verdict(browser) == said + choice.says


def tab_to(browser, selector):
    """Press Tab until the element has the focus, as somebody without a mouse does."""
    at = "return document.activeElement.matches(arguments[0])"
    for _ in range(30):
        if browser.execute_script(at, selector):
            return
        keys(browser, Keys.TAB)
    pytest.fail(f"Tab does not lead to {selector}")


@pytest.mark.parametrize("which", KINDS, ids=["choice", "number", "order"])
def test_tab_arrows_and_space_are_enough(browser, asked, which):
    """From the page around to a right answer and back, without a mouse and without a script's help."""
    asked(which)
    browser.execute_script("document.body.tabIndex = -1; document.body.focus()")
    question = question_of(*which)
    if which == CHOICE:
        right = next(place for place, choice in enumerate(question.choices) if choice.right)
        tab_to(browser, ".choice input")
        keys(browser, Keys.SPACE, *[Keys.ARROW_DOWN] * right)
        said = question.choices[right].says
    elif which == NUMBER:
        tab_to(browser, ".number input")
        keys(browser, *f"{question.answer:g}")
        said = question.says
    else:
        order = list(question.shown)
        for place in range(len(order)):  # bubbles each step up to its place
            while (at := order.index(place)) > place:
                browser.execute_script("document.body.focus()")
                tab_to(browser, f".steps li:nth-child({at + 1}) button")
                keys(browser, Keys.SPACE)
                order[at - 1 : at + 1] = order[at], order[at - 1]
                told = browser.execute_script("return page.moved.textContent")
                assert told == f"now step {at} of {len(order)}"
        said = question.says
    tab_to(browser, ".check")
    keys(browser, Keys.SPACE)
    assert verdict(browser) == "✓ Right. " + said
    tab_to(browser, ".controls button:nth-child(2)")
    keys(browser, Keys.SPACE)
    assert verdict(browser) == ""
    inside = "return document.activeElement.matches('.answers input, .number input, .steps button')"
    assert browser.execute_script(inside), "the focus is lost"


def test_a_frame_without_storage_still_answers(browser, show):  # noqa: F811
    view = questions.ask(*CHOICE)
    closed = view.html.replace("<iframe ", '<iframe sandbox="allow-scripts" ', 1)
    show(live.View(closed, view.caption))
    with pytest.raises(WebDriverException, match=r"sandboxed|Access is denied"):
        browser.execute_script("localStorage.length")
    browser.find_elements("css selector", ".choice")[1].click()
    press(browser, "check")
    assert verdict(browser).startswith("✗ Not yet. ")


def test_nothing_chosen_is_no_mistake(browser, asked):
    asked(CHOICE)
    press(browser, "check")
    assert verdict(browser) == ""
    assert browser.find_element("css selector", ".missing").text == "Choose an answer first."


def test_typical_numbers_have_a_sentence_and_others_a_hint(browser, asked):
    asked(NUMBER)
    question = question_of(*NUMBER)
    expected = {question.answer: "✓ Right. " + question.says, 1234: "✗ Not yet. " + question.hint}
    expected |= {wrong.value: "✗ Not yet. " + wrong.says for wrong in question.wrong}
    for number, said in expected.items():
        focus(browser, ".number input")
        browser.execute_script("document.activeElement.select()")
        keys(browser, *f"{number:g}", Keys.ENTER)
        assert verdict(browser) == said


def test_steps_are_put_in_order_by_keyboard_alone(browser, asked):
    asked(ORDER)
    question = question_of(*ORDER)
    press(browser, "check")
    first = next(k for k, place in enumerate(question.shown) if place != k)
    early = question.steps[question.shown[first]].too_early
    assert verdict(browser) == f"✗ Not yet. Look at step {first + 1}. {early}"
    order = "return state.given"
    for place in range(len(question.steps)):  # each step to its place, the first one first
        at = browser.execute_script(order).index(place)
        focus(browser, f".steps li:nth-child({at + 1}) button")
        for _ in range(at - place):
            keys(browser, Keys.ENTER)
    assert browser.execute_script(order) == list(range(len(question.steps)))
    focus(browser, ".check")
    keys(browser, Keys.ENTER)
    assert verdict(browser) == "✓ Right. " + question.says


@pytest.mark.parametrize("which", KINDS, ids=["choice", "number", "order"])
def test_an_answer_survives_a_reload_until_it_is_taken_back(browser, asked, which):
    asked(which)
    if which == CHOICE:
        browser.find_elements("css selector", ".choice")[1].click()
    elif which == NUMBER:
        focus(browser, ".number input")
        keys(browser, "1", "5")
    else:
        browser.find_elements("css selector", ".steps li button")[2].click()
    press(browser, "check")
    said = verdict(browser)
    given = browser.execute_script("return state.given")
    assert said
    browser.refresh()
    enter(browser, 0)
    assert verdict(browser) == said
    assert browser.execute_script("return state.given") == given
    press(browser, "try again")
    assert verdict(browser) == ""
    browser.refresh()
    enter(browser, 0)
    assert verdict(browser) == ""


def test_what_is_stored_by_somebody_else_does_no_harm(browser, asked):
    asked(CHOICE)
    for stored in ("{", "null", "7", '{"given": 99, "checked": true}', '{"given": "<b>"}'):
        browser.execute_script("localStorage.setItem(PLACE, arguments[0])", stored)
        browser.refresh()
        enter(browser, 0)
        assert verdict(browser) == ""
        assert browser.find_elements("css selector", "input:checked") == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("which", KINDS, ids=["choice", "number", "order"])
def test_a_question_can_be_read_and_reached(browser, asked, which, width, theme):
    asked(which, width=width, theme=theme)
    if which == CHOICE:
        browser.find_elements("css selector", ".choice")[1].click()
    if which != NUMBER:
        press(browser, "check")
    assert serious_faults(browser) == []
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    small = """return [...document.querySelectorAll('button, input, label')]
        .map(e => e.getBoundingClientRect()).filter(box => box.width && box.height < 20).length"""
    assert browser.execute_script(small) == 0
    name = f"question_{which[1]}_{width}_{theme}.png"
    browser.switch_to.default_content()
    browser.save_screenshot(str(SCREENSHOTS / name))
