"""The live view in Chromium: it answers to mouse, finger and keyboard, with the right numbers."""

import json
import math

import nbformat
import numpy as np
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook, new_output
from selenium.webdriver import ActionChains, Keys

from course_utils.attention import scaled_dot_product_attention
from lecture_kit import live
from tests.browser.conftest import SCREENSHOTS, TOKEN, serious_faults, unfold, waited
from tests.browser.test_jupyterlab import lab, run_all  # noqa: F401  lab is a fixture

pytestmark = pytest.mark.long

T, S, D_K, D_V = 3, 5, 7, 4
WEIGHTS = """return [...document.querySelectorAll('table.map')].map(map =>
    [...map.tBodies[0].rows].map(row => [...row.querySelectorAll('td')].map(cell =>
        Number(cell.dataset.value))))"""
OUTPUT = (
    "return [...document.querySelectorAll('#output .output')].map(e => Number(e.dataset.value))"
)
FLOW = """return [...document.querySelectorAll('#flow tbody tr')].map(row =>
    [...row.querySelectorAll('td')].slice(0, 4).map(cell => cell.dataset.value))"""
TABLES = """return [...document.querySelectorAll('table.plain')].map(table =>
    [...table.tBodies[0].rows].map(row => [...row.querySelectorAll('td')].map(cell =>
        Number(cell.dataset.value))))"""
TYPE = """const [number, value] = arguments;
    const input = document.querySelectorAll('.card input')[number];
    input.value = value; input.dispatchEvent(new Event('input', {bubbles: true}));"""


def random_attention(seed, scale=1.0, hidden=True, **more):
    generator = np.random.default_rng(seed)
    query, key = (scale * generator.normal(size=(size, D_K)) for size in (T, S))
    mask = generator.random((T, S)) < 0.6
    mask[1] = False
    return live.Attention(
        query,
        key,
        generator.normal(size=(S, D_V)),
        [f"q{i}" for i in range(T)],
        [f"k{j}" for j in range(S)],
        mask=mask if hidden else None,
        **more,
    )


def expected(attention, mask=None, temperature=None, query=None):
    """output (T, d_v) and weights (T, S) as the course computes them, in float64."""
    asked = torch.from_numpy(attention.query if query is None else query)
    if temperature is not None:
        asked = asked * math.sqrt(D_K) / temperature
    if mask is None:
        mask = np.ones((T, S), bool) if attention.mask is None else attention.mask
    vectors = (torch.from_numpy(numbers) for numbers in (attention.key, attention.value))
    output, weights = scaled_dot_product_attention(asked, *vectors, torch.from_numpy(mask))
    return output.numpy(), weights.numpy()


def assert_shown(browser, output, weights, query=0):
    np.testing.assert_allclose(browser.execute_script(WEIGHTS)[0], weights, atol=1e-5)
    np.testing.assert_allclose(browser.execute_script(OUTPUT), output[query], atol=1e-5)


def resize(browser, width, height=900):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def cell(browser, i, j, which=0):
    maps = browser.find_elements("css selector", "table.map")
    return maps[which].find_element("css selector", f"td[data-place='{i},{j}']")


def press(browser, text):
    browser.find_element("xpath", f"//button[text()='{text}']").click()


@pytest.fixture
def show(browser, tmp_path):
    """Open a page with views and enter the first; at the end no script may have failed."""

    def load(*views, width=1200, theme="light"):
        page = tmp_path / "page.html"
        frames = "\n<p>between</p>\n".join(view.html for view in views)
        page.write_text(
            '<!DOCTYPE html><html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"></head>'
            f'<body data-theme="{theme}" style="margin:8px">{frames}</body></html>',
            encoding="utf-8",
        )
        resize(browser, width)
        browser.get(page.as_uri())
        enter(browser, 0)

    browser.switch_to.default_content()
    browser.get("about:blank")  # what the page before still complains about is not ours
    browser.get_log("browser")
    yield load
    browser.switch_to.default_content()
    failures = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert failures == []


def enter(browser, which):
    browser.switch_to.default_content()
    browser.switch_to.frame(browser.find_elements("css selector", "iframe.live-view")[which])


@pytest.mark.parametrize(("temperature", "scale"), [(None, 1), (0.3, 1e3), (40, 1)])
def test_numbers_are_those_of_the_course(browser, show, temperature, scale):
    attention = random_attention(1, scale)
    show(live.attention_view(attention, temperature=temperature))
    output, weights = expected(attention, temperature=temperature)
    assert_shown(browser, output, weights)
    unfold(browser, "all numbers as tables")
    scores, shown, outputs = browser.execute_script(TABLES)
    divisor = temperature or math.sqrt(D_K)
    np.testing.assert_allclose(scores, attention.query @ attention.key.T / divisor, rtol=1e-9)
    np.testing.assert_allclose(shown, weights, atol=1e-5)
    np.testing.assert_allclose(outputs, output, atol=1e-5)
    assert shown[1] == [0] * S and outputs[1] == [0] * D_V, "nothing visible, nothing taken"


def test_each_step_has_its_numbers(browser, show):
    attention = random_attention(2)
    show(live.attention_view(attention))
    product, score, masked, weight = np.array(browser.execute_script(FLOW), float).T
    exact = attention.key @ attention.query[0]
    np.testing.assert_allclose(product, exact)
    np.testing.assert_allclose(score, exact / math.sqrt(D_K))
    visible = attention.mask[0]
    np.testing.assert_allclose(masked, np.where(visible, exact / math.sqrt(D_K), -np.inf))
    np.testing.assert_allclose(weight, expected(attention)[1][0], atol=1e-12)
    told = []
    for _ in range(6):
        told.append(browser.find_element("css selector", ".told").text)
        press(browser, "next step")
    assert len(set(told)) == 6 and told[0] == browser.find_element("css selector", ".told").text


def test_query_temperature_and_mask_can_be_changed(browser, show):
    attention = random_attention(3, hidden=False)
    show(live.attention_view(attention, controls=True))
    query, mask = attention.query.copy(), np.ones((T, S), bool)

    browser.execute_script(TYPE, 2, "-3.5")
    query[0, 2] = -3.5
    assert_shown(browser, *expected(attention, query=query))
    browser.execute_script(TYPE, 2, "")
    assert_shown(browser, *expected(attention, query=query))  # no number: the last one stays
    invalid = browser.find_elements("css selector", ".card input")[2].get_attribute("aria-invalid")
    assert invalid == "true"

    press(browser, "dₖ")
    assert_shown(browser, *expected(attention, query=query, temperature=D_K))
    slider = browser.find_element("css selector", "input[type=range]")
    browser.execute_script("arguments[0].value = -2", slider)
    slider.send_keys(Keys.ARROW_RIGHT)
    shown = math.sqrt(D_K) * 2**-1.75
    assert_shown(browser, *expected(attention, query=query, temperature=shown))

    for j in range(S):  # one after the other, until nothing is left
        browser.find_elements("css selector", "#flow input")[j].click()
        mask[0, j] = False
        assert_shown(browser, *expected(attention, mask, shown, query))
    press(browser, "start again")
    assert_shown(browser, *expected(attention))


def test_mouse_points_chooses_and_draws(browser, show):
    attention = random_attention(4, hidden=False)
    show(live.attention_view(attention, controls=True))
    output, weights = expected(attention)
    mouse = ActionChains(browser, duration=20)
    mouse.move_to_element(cell(browser, 2, 3)).perform()
    assert_shown(browser, output, weights, query=2)
    mouse.move_to_element(browser.find_element("css selector", ".hint")).perform()
    assert_shown(browser, output, weights, query=0)
    cell(browser, 1, 4).click()
    mouse.move_to_element(browser.find_element("css selector", ".hint")).perform()
    assert_shown(browser, output, weights, query=1)
    press(browser, "click to hide or show")
    cell(browser, 1, 2).click()
    mask = np.ones((T, S), bool)
    mask[1, 2] = False
    assert_shown(browser, *expected(attention, mask), query=1)
    assert "hidden" in cell(browser, 1, 2).get_attribute("aria-label")


def test_a_finger_chooses(browser, show):
    attention = random_attention(5)
    show(live.attention_view(attention), width=390)
    target = cell(browser, 2, 1)
    inside = browser.execute_script(
        "const b = arguments[0].getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]",
        target,
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
    assert waited(lambda: target.get_attribute("aria-selected") == "true")
    assert_shown(browser, *expected(attention), query=2)


def test_keyboard_walks_the_map(browser, show):
    attention = random_attention(6, hidden=False)
    show(live.attention_view(attention))
    tabbable = "return document.querySelectorAll('#map td[tabindex=\"0\"]').length"
    assert browser.execute_script(tabbable) == 1
    browser.execute_script("document.querySelector('#map td[tabindex=\"0\"]').focus()")
    place = "return document.activeElement.dataset.place"
    ways = {Keys.HOME: "0,0", Keys.ARROW_DOWN: "1,0", Keys.ARROW_RIGHT: "1,1", Keys.END: "1,4",
            Keys.PAGE_DOWN: "2,4", Keys.ARROW_LEFT: "2,3", Keys.ARROW_UP: "1,3"}  # fmt: skip
    for key, where in ways.items():
        ActionChains(browser, duration=0).send_keys(key).perform()
        assert browser.execute_script(place) == where
    assert browser.execute_script(tabbable) == 1
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert browser.execute_script(outline) == "solid"
    ActionChains(browser, duration=0).send_keys(" ").perform()
    mask = np.ones((T, S), bool)
    mask[1, 3] = False
    assert_shown(browser, *expected(attention, mask), query=1)


def test_heads_are_chosen_and_compared(browser, show):
    one, other = (random_attention(seed, head=seed, layer=1) for seed in (7, 8))
    show(live.attention_view(one, other, compare=True))
    (_, first), (output, second) = expected(one), expected(other)
    shown = browser.execute_script(WEIGHTS)
    for found, wanted in zip(shown, (first, second, first - second), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    chooser = browser.find_element("xpath", "//label[span='head']/select")
    chooser.find_elements("tag name", "option")[1].click()
    assert browser.execute_script("return document.activeElement.tagName") == "SELECT"
    assert_shown(browser, output, second)


def test_views_on_one_page_leave_each_other_alone(browser, show):
    one, other = random_attention(9, hidden=False), random_attention(10, hidden=False)
    show(live.attention_view(one), live.attention_view(other))
    browser.execute_script(TYPE, 0, "9")
    enter(browser, 1)
    assert_shown(browser, *expected(other))
    browser.switch_to.default_content()
    heights = """return [...document.querySelectorAll('iframe')].map(frame =>
        [frame.offsetHeight, frame.contentDocument.documentElement.scrollHeight])"""
    for height, content in browser.execute_script(heights):
        assert abs(height - content) <= 1
    visible = "return [...document.querySelectorAll('body > div')].map(e => e.offsetHeight)"
    assert browser.execute_script(visible) == [0, 0], "no table beside a view that works"


# whether the calculation stands beside the map or below it, each with the answer at its place, in a
# frame that is as high as its page
LAID_OUT = """const frame = document.querySelector('iframe.live-view');
    const { height, width } = frame.getBoundingClientRect(), inside = frame.contentDocument;
    const [look, way] = ['.look', '.calculation'].map(name =>
        inside.querySelector(name)?.getBoundingClientRect());
    if (!look || !width || Math.abs(inside.body.getBoundingClientRect().height - height) > 1) return null;
    const answersAt = inside.querySelector('.told').parentElement.className;
    if (way.left >= look.right && answersAt === 'calculation') return 'beside';
    return way.top >= look.bottom && answersAt === 'look' ? 'below' : 'neither'"""


def laid_out(browser, place):
    return waited(lambda: browser.execute_script(LAID_OUT), lambda found: found == place)


@pytest.mark.parametrize("unseen", ["display:none", "margin-top:9000px;content-visibility:auto"])
def test_a_frame_without_a_width_is_laid_out_when_it_has_one(browser, show, unseen):
    """JupyterLab loads frames in tabs that are not open, and skips cells that are off the screen."""
    view = live.attention_view(random_attention(12))
    show(live.View(f'<div id="cell" style="{unseen}">{view.html}</div>', view.caption))
    browser.switch_to.default_content()
    open_and_narrow = ("style.display = 'block'", "style.width = '390px'", "style.width = '1000px'")
    for change, place in zip(open_and_narrow, ("beside", "below", "beside"), strict=True):
        browser.execute_script(f"document.getElementById('cell').{change}")
        assert laid_out(browser, place) == place, change


def test_the_focus_stays_where_it_is_when_the_page_becomes_narrow(browser, show):
    show(live.attention_view(random_attention(13)))
    focus = "document.querySelector('.walk button').focus()"
    focused = "return document.activeElement.textContent"
    browser.execute_script(focus)
    for width, place in ((390, "below"), (1200, "beside")):
        browser.switch_to.default_content()
        resize(browser, width)
        assert laid_out(browser, place) == place
        enter(browser, 0)
        assert browser.execute_script(focused) == "next step"


# names of rows and columns that do not fit their place
NAMES_CUT = """return [...document.querySelectorAll('.map tbody th, .map thead span')]
    .filter(e => Math.max(e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight) > 1)
    .map(e => e.textContent)"""


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_on_a_phone_the_answer_stands_on_the_screen_of_the_tap(browser, show, kind):
    """On 390 by 844 pixels: the map from its top, what was tapped, and the sentence that answers."""
    show(live.attention_view(*live.translator(kind)), width=390)
    below = """const [map, told] = ['#map', '.told'].map(name =>
        document.querySelector(name).getBoundingClientRect());
        return [told.top >= map.bottom, told.bottom - map.top]"""
    follows, height = browser.execute_script(below)
    assert follows and height < 844 - 60  # a bar of the browser
    for place in ((0, 0), (2, 1)):
        cell(browser, *place).click()
        told = browser.execute_script("return document.querySelector('.told b').textContent.trim()")
        words = live.translator(kind)[0]
        assert (
            told
            == f"“{words.queries[place[0]]}” attends to “{(words.keys or words.queries)[place[1]]}”."
        )
    summaries = browser.execute_script(
        "return [...document.querySelectorAll('details')].map(d => d.open)"
    )
    assert not any(summaries)


def test_a_preset_of_the_temperature_shows_that_it_is_on(browser, show):
    show(live.attention_view(random_attention(6), controls=True))
    pressed = """return [...document.querySelectorAll('fieldset:first-child button')]
        .filter(b => b.ariaPressed === 'true').map(b => b.textContent)"""
    assert browser.execute_script(pressed) == ["√dₖ"]
    press(browser, "1")
    assert browser.execute_script(pressed) == ["1"]


def test_an_unchanged_comparison_asks_for_a_change(browser, show):
    show(live.attention_view(random_attention(7), compare=True, controls=True))
    caption = "return [...document.querySelectorAll('.map caption')].at(-1).textContent"
    assert browser.execute_script(caption) == "A − B: all 0 so far. Change something now."
    press(browser, "1")
    assert browser.execute_script(caption) == "A − B, the difference"


def test_a_narrow_page_and_a_dark_one(browser, show):
    heads = live.translator("encoder")
    show(live.attention_view(*heads), width=390)
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    small = """return [...document.querySelectorAll('button, select, input, td[data-place]')]
        .map(e => [e.tagName, e.className, e.getBoundingClientRect()])
        .filter(([,, box]) => Math.min(box.width, box.height) < 24).map(([tag, name, box]) => `${tag} ${name} ${box.width} ${box.height}`)"""
    assert browser.execute_script(small) == []
    cut = """return [...document.querySelectorAll('.scroll')].filter(e =>
        e.scrollWidth > e.clientWidth + 1).map(e => e.firstChild.className)"""
    assert browser.execute_script(cut) == []
    assert browser.execute_script(NAMES_CUT) == []
    ground = "return getComputedStyle(document.body).backgroundColor"
    assert browser.execute_script(ground) == "rgb(254, 254, 254)"
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": dark})
    assert browser.execute_script(ground) == "rgb(254, 254, 254)", "the page says light"
    browser.switch_to.default_content()
    browser.execute_script("delete document.body.dataset.theme")
    enter(browser, 0)
    assert waited(lambda: browser.execute_script(ground) == "rgb(20, 20, 20)")
    browser.save_screenshot(str(SCREENSHOTS / "live_dark_390.png"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.switch_to.default_content()
    browser.execute_script("document.body.dataset.jpThemeLight = 'true'")
    enter(browser, 0)
    assert waited(lambda: browser.execute_script(ground) == "rgb(254, 254, 254)")
    browser.switch_to.default_content()
    browser.execute_script("document.body.dataset.jpThemeLight = 'false'")
    enter(browser, 0)
    assert waited(lambda: browser.execute_script(ground) == "rgb(20, 20, 20)")


def test_words_do_not_become_elements(browser, show):
    bad = "</script><img src=x onerror=document.title='broken'>"
    attention = live.Attention(
        np.eye(2), np.eye(2), np.eye(2), [bad, "<b>two</b>"], sentence=bad, model=bad
    )
    show(live.attention_view(attention, caption=bad))
    assert browser.find_elements("css selector", "img, #map th b") == []
    heads = browser.find_elements("css selector", "#map tbody th")
    assert [head.text for head in heads] == [bad, "<b>two</b>"]
    browser.switch_to.default_content()
    assert browser.title != "broken" and browser.find_elements("tag name", "img") == []


@pytest.fixture
def notebook():
    made = live.attention_view(random_attention(11))
    stored = new_output("execute_result", {"text/html": made.html, "text/plain": repr(made)},
                        execution_count=1)  # fmt: skip
    source = (
        "import numpy as np\nfrom lecture_kit import live\n"
        "live.attention_view(live.Attention(np.eye(2), np.eye(2), np.eye(2), ['a', 'b']))"
    )
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    cells = [new_code_cell(source, outputs=[stored], execution_count=1)]
    return new_notebook(cells=cells, metadata=kernel)


def test_jupyterlab_shows_a_table_until_the_cell_ran(browser, lab, notebook):  # noqa: F811
    address, workspace = lab
    nbformat.write(notebook, workspace / "live.ipynb")
    browser.get(f"{address}/lab/tree/live.ipynb?token={TOKEN}")
    area = ".jp-OutputArea-output"

    def is_so(script):
        found = waited(lambda: browser.execute_script(script))
        browser.save_screenshot(str(SCREENSHOTS / "live_in_lab.png"))
        return found

    table = f"return document.querySelector({json.dumps(area + ' table')})?.offsetHeight > 0"
    frame = f"document.querySelector({json.dumps(area + ' iframe')})"
    assert is_so(table)
    assert browser.execute_script(f"return {frame}") is None

    run_all(browser)
    assert is_so(f"return {frame}?.contentDocument?.querySelector('#map') != null")
    assert not browser.execute_script(table)
    height = f"return {frame}.offsetHeight - {frame}.contentDocument.documentElement.scrollHeight"
    assert abs(browser.execute_script(height)) <= 1

    enter(browser, 0)
    browser.execute_script("document.querySelector('#map td[tabindex=\"0\"]').focus()")
    ActionChains(browser, duration=0).send_keys(Keys.ARROW_DOWN).perform()
    assert browser.execute_script("return document.activeElement.dataset.place") == "1,0"
    browser.switch_to.default_content()


def permutable(masked=False):
    generator = np.random.default_rng(5)
    query, key, value = (generator.normal(size=(T, width)) for width in (D_K, D_K, D_V))
    mask = np.tri(T, dtype=bool) if masked else None
    return live.Attention(query, key, value, ["a", "b", "c"], mask=mask)


def in_order(browser):
    rows = browser.find_elements("css selector", ".order tbody th")
    return [row.text for row in rows]


def gap(browser):
    shown = browser.find_element("css selector", ".gap")
    return float(shown.get_dom_attribute("data-value"))


@pytest.fixture
def calm(browser):
    """A reader who wants nothing to move by itself."""
    calm = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": calm})


@pytest.mark.usefixtures("calm")
def test_words_move_and_take_their_outputs_along(browser, show):
    words = permutable()
    show(live.attention_view(words, permute=True))
    press(browser, "reverse")
    assert in_order(browser) == ["c", "b", "a"] and gap(browser) < 1e-9
    vectors = (torch.from_numpy(x[::-1].copy()) for x in (words.query, words.key, words.value))
    output, weights = scaled_dot_product_attention(*vectors)
    assert_shown(browser, output.numpy(), weights.numpy(), query=2)  # a, which was chosen, is last
    browser.find_element("css selector", "[aria-label='move “c” down']").click()
    assert in_order(browser) == ["b", "c", "a"]
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    assert in_order(browser) == ["b", "a", "c"], "the button stays with its word"
    press(browser, "shuffle")
    assert in_order(browser) != ["b", "a", "c"] and sorted(in_order(browser)) == ["a", "b", "c"]
    press(browser, "as written")
    assert in_order(browser) == ["a", "b", "c"] and gap(browser) == 0


def test_a_mask_that_stays_breaks_equivariance(browser, show):
    show(live.attention_view(permutable(masked=True), permute=True))
    press(browser, "reverse")
    assert gap(browser) > 0.1
    assert "the mask did not move" in browser.find_element("css selector", ".gap").text


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_rows_glide_unless_the_reader_wants_calm(browser, show, motion):
    wish = [{"name": "prefers-reduced-motion", "value": motion}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wish})
    show(live.attention_view(permutable(), permute=True))
    glides = """[...document.querySelectorAll('button')].find(e => e.textContent === 'reverse').click();
        return document.getAnimations().length > 0"""
    assert browser.execute_script(glides) == (motion == "no-preference")


@pytest.mark.usefixtures("calm")
def test_beside_itself_unchanged_each_word_keeps_its_weights(browser, show):
    words = permutable()
    show(live.attention_view(words, permute=True, compare=True))
    press(browser, "reverse")
    vectors = (torch.from_numpy(x.copy()) for x in (words.query, words.key, words.value))
    weights = scaled_dot_product_attention(*vectors)[1].numpy()
    reversed_, unchanged, difference = browser.execute_script(WEIGHTS)
    np.testing.assert_allclose(unchanged, weights, atol=1e-5)
    np.testing.assert_allclose(reversed_, weights[::-1, ::-1], atol=1e-5)
    np.testing.assert_allclose(difference, np.zeros((T, T)), atol=1e-12)
    cell(browser, 1, 2, which=1).click()  # b attends to c, in the map of the given order
    shown = "return [...document.querySelectorAll('td.shown')].map(e => e.ariaLabel.slice(0, 14))"
    assert browser.execute_script(shown) == ["b attends to c"] * 3


BOX = """const box = document.querySelector(arguments[0]).getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom]"""
HIDDEN = """return [...document.querySelectorAll('.calculation *, .above *, .card, .card input')]
    .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1 && !e.matches('th.key'))
    .map(e => [e.outerHTML.slice(0, 60), e.scrollWidth, e.clientWidth])"""


@pytest.mark.parametrize("width", [832, 860, 1000, 1120, 1280])
def test_map_and_calculation_fit_one_screen_side_by_side(browser, show, width):
    """Frames are 816 to 840 pixels wide on the site, on windows 1280 and 1440 wide."""
    words = [*(f"word {k}" for k in range(9)), "übersetzen", "<eos>"]
    vectors = 2 * np.random.default_rng(8).normal(size=(11, 16))
    show(live.attention_view(live.Attention(vectors, vectors, vectors, words)), width=width)
    left, above, right, below = browser.execute_script(BOX, ".look")
    assert browser.execute_script(BOX, ".calculation")[0] >= right > left
    assert browser.execute_script(BOX, ".calculation")[1] == above
    assert max(below, browser.execute_script(BOX, ".told")[3]) < 800
    assert browser.execute_script(HIDDEN) == [], "cut off, or to be scrolled"
    assert browser.execute_script(BOX, "#view")[3] < 1150


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_in_any_order_on_a_phone_and_a_wide_page(browser, show, theme):
    words = [f"word {k}" for k in range(8)]
    vectors = np.random.default_rng(7).normal(size=(8, 16))
    view = live.attention_view(live.Attention(vectors, vectors, vectors, words), permute=True)
    for width in (390, 1280):
        show(view, width=width, theme=theme)
        browser.switch_to.default_content()
        height = browser.execute_script("return document.querySelector('iframe').offsetHeight")
        assert 600 < height <= 1500
        browser.save_screenshot(str(SCREENSHOTS / f"live_order_{width}_{theme}.png"))
        enter(browser, 0)
        browser.execute_script("document.querySelectorAll('details').forEach(e => e.open = true)")
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert serious_faults(browser) == []
