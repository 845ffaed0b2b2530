"""The view of sinusoids in Chromium: it answers to mouse, finger and keyboard, with right numbers."""

import math

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.support.ui import Select

from course_utils.positional import positional_encoding
from lecture_kit import live
from tests.browser.conftest import SCREENSHOTS, serious_faults, unfold, waited
from tests.browser.test_live import TABLES, enter, show  # noqa: F401  show is a fixture

pytestmark = pytest.mark.long

PRODUCTS = "two positions: their dot product"
SLIDE = """const [input, value] = arguments; input.value = value;
    input.dispatchEvent(new Event('input', {bubbles: true}));"""
PIXELS = """const canvas = [...document.querySelectorAll('canvas')].find(one => one.checkVisibility());
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return [canvas.width, canvas.height, [...data]]"""


def table_of(length, d_model):
    return positional_encoding(length, d_model).double().numpy()


def slide(browser, name, value):
    field = browser.find_element("xpath", f"//label[span='{name}']/input")
    browser.execute_script(SLIDE, field, value)


def formula(browser):
    return browser.find_element("css selector", ".formula").text.replace("\n", " ")


def product(browser):
    shown = browser.find_element("css selector", ".two .formula")
    return shown.text, float(shown.get_dom_attribute("data-value"))


@pytest.mark.parametrize("d_model", [8, 16, 32, 64, 128])
def test_numbers_are_those_of_the_course(browser, show, d_model):  # noqa: F811
    length = 256 if d_model == 16 else 40
    show(live.positions_view(d_model=d_model, length=length, position=7))
    unfold(browser, "all numbers as tables")
    shown, products = browser.execute_script(TABLES)
    expected = table_of(length, d_model)
    np.testing.assert_allclose(np.array(shown), expected, atol=1e-5)
    np.testing.assert_allclose(np.array(products)[:, 0], expected @ expected[7], atol=1e-5)


@pytest.mark.parametrize(("theme", "zero"), [("light", 254), ("dark", 20)])
def test_the_map_has_the_courses_colours(browser, show, theme, zero):  # noqa: F811
    show(live.positions_view(d_model=16, length=20))
    browser.switch_to.default_content()
    browser.execute_script("document.body.dataset.theme = arguments[0]", theme)
    enter(browser, 0)
    browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0]))")
    width, height, pixels = browser.execute_script(PIXELS)
    assert (width, height) == (16, 20)
    colours = np.array(pixels).reshape(20, 16, 4)
    table = table_of(20, 16)
    assert colours[0, 0].tolist() == [zero, zero, zero, 255], "zero is the page"
    red, blue = colours[..., 0], colours[..., 2]
    assert (blue > red)[table > 0.1].all() and (red > blue)[table < -0.1].all()


def test_keyboard_walks_the_table(browser, show):  # noqa: F811
    show(live.positions_view(d_model=16, length=20, position=5, pair=1))
    browser.execute_script("document.querySelector('.map').focus()")
    table = table_of(20, 16)
    ways = [("", 5, 2), (Keys.ARROW_RIGHT, 5, 3), (Keys.ARROW_DOWN, 6, 3), (Keys.END, 6, 15),
            (Keys.PAGE_DOWN, 19, 15), (Keys.ARROW_LEFT, 19, 14), (Keys.ARROW_UP, 18, 14),
            (Keys.HOME, 18, 0), (Keys.PAGE_UP, 0, 0), (Keys.ARROW_UP, 0, 0)]  # fmt: skip
    for key, position, column in ways:
        ActionChains(browser, duration=0).send_keys(key).perform()
        value = f"{table[position, column]:.3f}".replace("-", "−")
        assert formula(browser).startswith(f"PE[{position}, {column}] = ")
        assert formula(browser).endswith(f"= {value}")
        label = browser.find_element("css selector", ".map").get_attribute("aria-label")
        assert f"Position {position}, dimension {column}: {value}" in label
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert browser.execute_script(outline) == "solid"


def test_the_formula_has_its_numbers(browser, show):  # noqa: F811
    show(live.positions_view(d_model=8, position=5, pair=1))
    assert formula(browser) == "PE[5, 2] = sin(5 · θ₁) = sin(5 · 0.1) = 0.479"
    told = browser.find_element("css selector", ".told").text
    assert "10000^(−2/8) = 0.1" in told and "once in 62.8 words, 76 % of a turn" in told
    slide(browser, "pair k", 0)
    told = browser.find_element("css selector", ".told").text
    assert "once in 6.3 words, 7.6 times in these 48 positions" in told


def test_mouse_points_and_chooses(browser, show):  # noqa: F811
    show(live.positions_view(d_model=16, length=20, position=0))
    box = browser.find_element("css selector", ".map")

    def at(position, column):
        x = (column + 0.5) / 16 * box.size["width"] - box.size["width"] / 2
        y = (position + 0.5) / 20 * box.size["height"] - box.size["height"] / 2
        return ActionChains(browser, duration=20).move_to_element_with_offset(box, int(x), int(y))

    away = ActionChains(browser, duration=20).move_to_element(
        browser.find_element("css selector", ".hint")
    )
    at(12, 9).perform()
    assert formula(browser).startswith("PE[12, 9] = cos(12 · θ₄)")
    away.perform()
    assert formula(browser).startswith("PE[0, 0]")
    at(3, 14).click().perform()
    away.perform()
    assert formula(browser).startswith("PE[3, 14]")


def test_a_finger_chooses_position_and_offset(browser, show):  # noqa: F811
    show(live.positions_view(d_model=16, length=20, offset=2), width=390)

    def touch(selector, right, down):
        element = browser.find_element("css selector", selector)
        inside = browser.execute_script(
            "arguments[0].scrollIntoView({block: 'center'});"
            "const b = arguments[0].getBoundingClientRect();"
            "return [b.x + arguments[1] * b.width, b.y + arguments[2] * b.height]",
            element, right, down,
        )  # fmt: skip
        browser.switch_to.default_content()
        frame = browser.execute_script(
            "const b = document.querySelector('iframe').getBoundingClientRect(); return [b.x, b.y]"
        )
        point = {"x": inside[0] + frame[0], "y": inside[1] + frame[1]}
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
        for kind, points in (("touchStart", [point]), ("touchEnd", [])):
            event = {"type": kind, "touchPoints": points}
            browser.execute_cdp_cmd("Input.dispatchTouchEvent", event)
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        enter(browser, 0)

    def wait_for(start, shown):
        assert waited(lambda: shown(browser).startswith(start))

    touch(".map", 4.5 / 16, 10.5 / 20)
    wait_for("PE[10, 4]", formula)
    assert product(browser)[0].startswith("PE[10] · PE[12]")
    touch(".two .chart", 0.8, 0.5)  # offset 12, but the table ends at 19
    wait_for("PE[10] · PE[19]", lambda browser: product(browser)[0])


def test_the_dot_product_depends_on_the_offset_alone(browser, show):  # noqa: F811
    show(live.positions_view(d_model=32, length=60, position=4, offset=7))
    expected = table_of(60, 32)
    shown = []
    for position in (4, 0, 20, 52):
        slide(browser, "position", position)
        text, number = product(browser)
        assert text.startswith(f"PE[{position}] · PE[{position + 7}] = ")
        assert number == pytest.approx(expected[position] @ expected[position + 7], abs=1e-5)
        shown.append(number)
    np.testing.assert_allclose(shown, shown[0], rtol=1e-12)
    told = browser.find_element("css selector", ".two .told").text
    assert f"53 times in the table: always {shown[0]:.3f}" in told
    slide(browser, "position", 58)
    assert product(browser)[0].startswith("PE[58] · PE[59]"), "the offset stays in the table"
    slide(browser, "position", 30)
    assert product(browser)[0].startswith("PE[30] · PE[37]"), "and is kept in mind"
    slide(browser, "offset m", -7)
    assert product(browser)[1] == pytest.approx(shown[0], rel=1e-12)
    said = browser.find_element("css selector", ".parts").get_attribute("aria-label")
    parts = [float(part.replace("−", "-")) for part in said.partition(": ")[2].split(", ")]
    np.testing.assert_allclose(
        parts, [math.cos(7 * 10000 ** (-2 * k / 32)) for k in range(16)], atol=6e-4
    )


def test_width_and_length_can_be_changed(browser, show):  # noqa: F811
    show(live.positions_view(d_model=64, length=200, position=150, pair=20, offset=40))
    Select(browser.find_element("css selector", "select")).select_by_visible_text("8")
    assert formula(browser).startswith("PE[150, 6] = sin(150 · θ₃) = sin(150 · 0.001)")
    slide(browser, "length", 20)
    expected = table_of(20, 8)
    assert formula(browser).endswith(f"= {expected[19, 6]:.3f}")
    assert browser.execute_script(PIXELS)[:2] == [8, 20]
    text, number = product(browser)
    assert text.startswith("PE[19] · PE[19]") and number == pytest.approx(4)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_and_a_wide_page_without_serious_faults(browser, show, theme):  # noqa: F811
    for width, tallest in ((390, 1500), (1280, 950)):
        show(
            live.positions_view(d_model=16, position=20, offset=6, length=48),
            width=width,
            theme=theme,
        )
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert serious_faults(browser) == []
        small = """return [...document.querySelectorAll('button, select, input, summary')]
            .map(e => e.getBoundingClientRect()).filter(box => Math.min(box.width, box.height) < 24)"""
        assert browser.execute_script(small) == []
        browser.switch_to.default_content()
        height = browser.execute_script("return document.querySelector('iframe').offsetHeight")
        assert 600 < height <= tallest
        browser.save_screenshot(str(SCREENSHOTS / f"live_positions_{width}_{theme}.png"))


def test_what_is_folded_is_not_drawn(browser, show):  # noqa: F811
    show(live.positions_view())
    assert not browser.find_element("css selector", ".frameOther").is_displayed()
    unfold(browser, PRODUCTS)
    assert browser.find_element("css selector", ".frameOther").is_displayed()
    assert product(browser)[0].startswith("PE[5] · PE[8]")
