"""The view of norms in Chromium: it answers to mouse, finger and keyboard, with right numbers."""

from itertools import combinations

import numpy as np
import pytest
import torch
from selenium.webdriver import ActionChains, Keys
from torch import nn

from lecture_kit import live
from tests.browser.conftest import SCREENSHOTS, serious_faults, unfold, waited
from tests.browser.test_live import (  # noqa: F401  show is a fixture
    TABLES,
    enter,
    press,
    show,
)

pytestmark = pytest.mark.long

B, T, D = 2, 3, 4
X = np.random.default_rng(3).normal(1, 2, size=(B, T, D))
WORDS = [["a", "b", "c"], ["d", "e", "<pad>"]]
EPS = 1e-5
CHOICES = [axes for size in range(4) for axes in combinations("BTD", size)]

NUMBERS = """return [...document.querySelectorAll(`#${arguments[0]} td[data-place]`)]
    .map(cell => Number(cell.dataset.value))"""
FACTS = "return [...document.querySelectorAll('.facts dd')].map(e => Number(e.dataset.value))"
SHARING = (
    """return [...document.querySelectorAll('#before td.sharing')].map(e => e.dataset.place)"""
)
OUTLINED = """return [...document.querySelectorAll('#after td[data-place]')]
    .filter(e => e.style.boxShadow !== 'none').map(e => e.dataset.place)"""
PLACE = "return document.activeElement.dataset.place"
SELECTED = "return document.querySelector('#before td[tabindex=\"0\"]').dataset.place"
TYPE = """const [value] = arguments; const input = document.querySelector('.editor input');
    input.focus(); input.value = value; input.dispatchEvent(new Event('input', {bubbles: true}));"""


def normalised(x, axes):
    """(B, T, D) as PyTorch computes it, in float64; its modules where there is one."""
    x = torch.from_numpy(x)
    modules = {
        ("D",): lambda: nn.LayerNorm(D, dtype=x.dtype)(x),
        ("T", "D"): lambda: nn.LayerNorm((T, D), dtype=x.dtype)(x),
        ("B", "T"): lambda: nn.BatchNorm1d(D, dtype=x.dtype)(x.mT).mT,
        ("T",): lambda: nn.InstanceNorm1d(D, dtype=x.dtype)(x.mT).mT,
    }
    if axes in modules:
        return modules[axes]().detach().numpy()
    dims = ["BTD".index(axis) for axis in axes]
    if not dims:
        return np.zeros_like(x)
    centred = x - x.mean(dim=dims, keepdim=True)
    variance = x.var(dim=dims, keepdim=True, correction=0)
    return (centred / (variance + EPS).sqrt()).numpy()


def after(browser):
    return np.array(browser.execute_script(NUMBERS, "after")).reshape(B, T, D)


def cell(browser, place, side="before"):
    return browser.find_element("css selector", f"#{side} td[data-place='{place}']")


def tick(browser, axes):
    for axis in "BTD":
        box = browser.find_element("css selector", f"input[name={axis}]")
        if box.is_selected() != (axis in axes):
            box.click()


@pytest.mark.parametrize("scale", [1, 1e-3])
def test_numbers_are_those_of_torch_for_every_choice_of_axes(browser, show, scale):  # noqa: F811
    x = X * scale
    chosen = (1, 0, 2)
    show(live.normalisation_view(x, WORDS, chosen=chosen))
    names = set()
    for axes in CHOICES:
        tick(browser, axes)
        np.testing.assert_allclose(after(browser), normalised(x, axes), atol=1e-5)
        group = x[
            tuple(slice(None) if a in axes else at for a, at in zip("BTD", chosen, strict=True))
        ]
        facts = browser.execute_script(FACTS)
        np.testing.assert_allclose(facts, [group.size, group.mean(), group.var()], rtol=1e-9)
        sharing = browser.execute_script(SHARING)
        inside = [
            place
            for place in np.ndindex(B, T, D)
            if all(
                a in axes or here == at for a, here, at in zip("BTD", place, chosen, strict=True)
            )
        ]
        assert sharing == [",".join(map(str, place)) for place in inside]
        assert set(browser.execute_script(OUTLINED)) <= set(sharing)
        choice = browser.find_element("css selector", ".choice")
        assert f"{X.size // group.size} mean" in choice.text
        names.add(choice.get_dom_attribute("data-name"))
    assert len(names) == 8 and {"Layer norm", "Batch norm", "Instance norm"} <= names


def test_the_tables_hold_all_numbers(browser, show):  # noqa: F811
    show(live.normalisation_view(X, WORDS, over="BT"))
    unfold(browser, "all numbers as tables")
    numbers, means = browser.execute_script(TABLES)
    np.testing.assert_allclose(
        np.array(numbers).reshape(X.shape), normalised(X, ("B", "T")), atol=1e-5
    )
    np.testing.assert_allclose(means, np.stack([X.mean((0, 1)), X.var((0, 1))], 1), rtol=1e-9)


@pytest.mark.parametrize(("axes", "tokens"), [("D", 1), ("BT", B * T), ("TD", T)])
def test_a_changed_number_moves_those_that_share_its_mean(browser, show, axes, tokens):  # noqa: F811
    show(live.normalisation_view(X, WORDS, over=axes, chosen=(0, 1, 2)))
    browser.execute_script(TYPE, "7.5")
    changed = X.copy()
    changed[0, 1, 2] = 7.5
    moved = np.abs(normalised(changed, tuple(axes)) - normalised(X, tuple(axes))) > 1e-4
    np.testing.assert_allclose(after(browser), normalised(changed, tuple(axes)), atol=1e-5)
    text = browser.find_element("css selector", ".changes").text
    assert f"{moved.sum()} of {X.size} numbers moved, in {tokens} of {B * T} tokens" in text
    assert len(browser.find_elements("css selector", "#after td.moved")) == moved.sum()
    press(browser, "numbers as given")
    np.testing.assert_allclose(after(browser), normalised(X, tuple(axes)), atol=1e-5)


@pytest.mark.parametrize("typed", ["", "1e101", "-1e400", "e"])
def test_what_is_no_number_is_refused(browser, show, typed):  # noqa: F811
    show(live.normalisation_view(X, WORDS))
    browser.execute_script(TYPE, typed)
    field = browser.find_element("css selector", ".editor input")
    assert field.get_attribute("aria-invalid") == "true"
    assert browser.find_element("id", "refused").is_displayed()
    np.testing.assert_allclose(after(browser), normalised(X, ("D",)), atol=1e-5)
    browser.execute_script("document.activeElement.blur()")
    assert field.get_attribute("aria-invalid") == "false"
    assert float(field.get_property("value")) == pytest.approx(X[0, 0, 0], rel=1e-5)


def test_the_largest_numbers_stay_finite(browser, show):  # noqa: F811
    show(live.normalisation_view(X, WORDS, over="BTD"))
    browser.execute_script(TYPE, "1e100")
    shown = after(browser)
    assert np.isfinite(shown).all()
    assert shown[0, 0, 0] == pytest.approx((X.size - 1) ** 0.5)


def test_ten_x_minus_four_changes_nothing_for_layer_norm_alone(browser, show):  # noqa: F811
    show(live.normalisation_view(X, WORDS, chosen=(0, 1, 0)))
    press(browser, "10 x − 4")
    before = np.array(browser.execute_script(NUMBERS, "before")).reshape(X.shape)
    np.testing.assert_allclose(before[0, 1], 10 * X[0, 1] - 4)
    assert browser.find_elements("css selector", "#after td.moved") == []
    tick(browser, "BT")
    assert len(browser.find_elements("css selector", "#after td.moved")) > D


def test_keyboard_walks_over_all_sentences_and_types(browser, show):  # noqa: F811
    show(live.normalisation_view(X, WORDS))
    assert len(browser.find_elements("css selector", "#before td[tabindex='0']")) == 1
    browser.execute_script("document.querySelector('#before td[tabindex=\"0\"]').focus()")
    ways = [(Keys.ARROW_RIGHT, "0,0,1"), (Keys.PAGE_DOWN, "1,2,1"), (Keys.END, "1,2,3"),
            (Keys.ARROW_UP, "1,1,3"), (Keys.ARROW_UP, "1,0,3"), (Keys.ARROW_UP, "0,2,3"),
            (Keys.ARROW_DOWN, "1,0,3"), (Keys.HOME, "1,0,0"), (Keys.PAGE_UP, "0,0,0")]  # fmt: skip
    for key, where in ways:
        ActionChains(browser, duration=0).send_keys(key).perform()
        assert browser.execute_script(PLACE) == where == browser.execute_script(SELECTED)
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert browser.execute_script(outline) == "solid"
    ActionChains(browser, duration=0).send_keys("-", "2", ".", "5", Keys.ENTER).perform()
    changed = X.copy()
    changed[0, 0, 0] = -2.5
    np.testing.assert_allclose(after(browser), normalised(changed, ("D",)), atol=1e-5)
    assert browser.execute_script(PLACE) == "0,0,0", "Enter leads back to the table"
    box = browser.find_element("css selector", "input[name=B]")
    box.send_keys(" ")
    np.testing.assert_allclose(after(browser), normalised(changed, ("B", "D")), atol=1e-5)


def test_mouse_points_and_chooses(browser, show):  # noqa: F811
    show(live.normalisation_view(X, WORDS))

    def mean_of(b, t):
        shown = browser.execute_script(FACTS)[1]
        assert shown == pytest.approx(X[b, t].mean())

    mouse = ActionChains(browser, duration=20)
    hint = browser.find_element("css selector", ".hint")
    mouse.move_to_element(cell(browser, "1,1,2", "after")).perform()
    mean_of(1, 1)
    mouse.move_to_element(hint).perform()
    mean_of(0, 0)
    cell(browser, "1,0,3").click()
    mouse.move_to_element(hint).perform()
    mean_of(1, 0)


def test_a_finger_chooses(browser, show):  # noqa: F811
    show(live.normalisation_view(X, WORDS), width=390)
    inside = browser.execute_script(
        "const b = arguments[0].getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]",
        cell(browser, "1,0,2"),
    )
    browser.switch_to.default_content()
    frame = browser.execute_script(
        "const b = document.querySelector('iframe').getBoundingClientRect(); return [b.x, b.y]"
    )
    point = {"x": inside[0] + frame[0], "y": inside[1] + frame[1]}
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    for kind, points in (("touchStart", [point]), ("touchEnd", [])):
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    enter(browser, 0)
    assert waited(lambda: browser.execute_script(SELECTED) == "1,0,2")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_and_a_wide_page_without_serious_faults(browser, show, theme):  # noqa: F811
    x = np.random.default_rng(1).normal(size=(2, 4, 6)).round(1)
    view = live.normalisation_view(
        x, [["can", "you", "help", "me"], ["i", "read", "<pad>", "<pad>"]]
    )
    for width in (390, 1280):
        show(view, width=width, theme=theme)
        browser.switch_to.default_content()
        sizes = """const frame = document.querySelector('iframe');
            return [frame.offsetHeight, frame.contentDocument.documentElement.scrollHeight]"""
        height, content = browser.execute_script(sizes)
        assert abs(height - content) <= 1 and height <= 1500
        browser.save_screenshot(str(SCREENSHOTS / f"live_normalisation_{width}_{theme}.png"))
        enter(browser, 0)
        browser.execute_script(TYPE, "3")
        browser.execute_script("document.querySelector('details').open = true")
        assert serious_faults(browser) == []
        small = """return [...document.querySelectorAll('button, select, input:not(label input), td[data-place], label')]
            .map(e => e.getBoundingClientRect()).filter(box => Math.min(box.width, box.height) < 24)"""
        assert browser.execute_script(small) == []


@pytest.mark.parametrize("width", [320, 390, 720, 1160])
def test_nothing_is_cut_off(browser, show, width):  # noqa: F811
    x = np.full((2, 4, 6), -3.4) * np.arange(1, 7)
    words = [["can", "you", "help", "me"], ["i", "read", "<pad>", "<pad>"]]
    show(live.normalisation_view(x, words, over="BTD"), width=width)
    browser.execute_script(TYPE, "-9.9")
    beyond = """return [...document.querySelectorAll('#view *:not(.unseen)')]
        .filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML)"""
    assert browser.execute_script(beyond) == []
    cut = """return [...document.querySelectorAll('.sheet span:not(.unseen), .before, .after')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => `${e.textContent} ${e.scrollWidth} in ${e.clientWidth}`)"""
    assert browser.execute_script(cut) == []
