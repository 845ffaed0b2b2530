"""The view of a look inside in Chromium: PyTorch's numbers, heads, vectors, keyboard, phone and dark pages."""

import re

import pytest
import torch
from selenium.webdriver import Keys
from selenium.webdriver.support.select import Select

from course_utils.inside import ablate_heads, induction_score, patch_activation
from course_utils.modern import attention_maps
from lecture_kit import live
from lecture_kit.experiments.repeated_tokens import distinct
from lecture_kit.trained import copiers
from tests.browser.conftest import SCREENSHOTS, serious_faults, unfold
from tests.browser.test_live import show  # noqa: F401  a fixture
from tests.lecture_kit.test_live import data_of

pytestmark = pytest.mark.long

PERIOD = 12
RUN = """const rows = passed(models[arguments[0]], arguments[1]).logits;
    return rows.map((row) => [...row]);"""
WORDS = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
SHARES = """return [...document.querySelectorAll('.sheets button')].map((cell) =>
    cell.dataset.share === undefined ? null : Number(cell.dataset.share))"""


def models():
    return [copiers.recorded(name) for name in copiers.NAMES]


def shown_ids(browser):
    """The sequence as it stands in the view: (1, 24) int64."""
    words = browser.execute_script(WORDS, ".rows [role='radio']")
    return torch.tensor([[copiers.WORDS.index(word) for word in words] * 2])


def press(browser, text):
    browser.find_element("xpath", f"//button[text()='{text}']").click()


def tick(browser, layer, head):
    return browser.find_element(
        "css selector", f"input[aria-label='head {head} of layer {layer} is on']"
    )


def text_of(browser, selector):
    return browser.find_element("css selector", selector).text


def said(browser):
    return browser.execute_script(WORDS, ".said > span:first-child")


def expected(logits, ids):
    """What is predicted after each word of the second copy, how many are right, and the loss."""
    second, answers = logits[0, PERIOD:], ids[0, :PERIOD].roll(-1)
    best = second.argmax(dim=-1)
    loss = torch.nn.functional.cross_entropy(second, answers).item()
    return [copiers.WORDS[one] for one in best], (best == answers).sum().item(), loss


def assert_said(browser, logits, ids):
    words, right, loss = expected(logits, ids)
    assert said(browser) == words
    found = re.match(
        r"(\d+) of 12 next words are right, and the loss is (\d+\.\d+)\.",
        text_of(browser, ".result"),
    )
    assert int(found[1]) == right and float(found[2]) == pytest.approx(loss, abs=6e-3)


@torch.no_grad()
def logits_of(model, ids):
    return model(ids)


def test_the_page_computes_what_pytorch_computes(browser, show):  # noqa: F811
    show(live.inside_view())
    rows = distinct(20, 24, PERIOD, torch.Generator().manual_seed(8))
    for which, model in enumerate(models()):
        for ids in rows.split(1):
            found = torch.tensor(browser.execute_script(RUN, which, ids[0].tolist()))
            torch.testing.assert_close(found, logits_of(model, ids)[0], atol=1e-4, rtol=0)


def test_heads_are_switched_off(browser, show):  # noqa: F811
    view = live.inside_view()
    show(view)
    model, ids = models()[0], shown_ids(browser)
    assert_said(browser, logits_of(model, ids), ids)
    assert not browser.find_element("xpath", "//button[text()='all heads on']").is_enabled()
    off = []
    for pair in [(0, 3), (1, 1), (0, 0)]:
        tick(browser, *pair).click()
        off.append(pair)
        assert_said(browser, ablate_heads(model, ids, off).detach(), ids)
    before = expected(logits_of(model, ids), ids)
    assert f"With all heads on they are {before[1]}" in text_of(browser, ".result")
    unfold(browser, "more to switch")
    mean = Select(browser.find_element("xpath", "//label[span[contains(., 'gives')]]/select"))
    mean.select_by_visible_text("its mean over other sequences")
    means = torch.tensor(data_of(view)["models"][0]["means"])
    assert_said(browser, ablate_heads(model, ids, off, means).detach(), ids)
    press(browser, "all heads on")
    assert_said(browser, logits_of(model, ids), ids)
    press(browser, "layer 1 off")
    layer = [(1, head) for head in range(4)]
    assert_said(browser, ablate_heads(model, ids, layer, means).detach(), ids)
    press(browser, "B")
    assert_said(
        browser,
        ablate_heads(
            models()[1], ids, layer, torch.tensor(data_of(view)["models"][1]["means"])
        ).detach(),
        ids,
    )


def told_of(browser):
    """The word that a head attends to, where it is, its weight and the score, as they are told."""
    found = re.search(
        r"most to “(\w+)”, (.*), with a weight of (\d\.\d+)\. .* is (\d\.\d+)\.",
        text_of(browser, ".told"),
    )
    return found[1], found[2], float(found[3]), float(found[4])


@pytest.mark.parametrize("which", [0, 1])
def test_it_is_told_where_a_head_attends(browser, show, which):  # noqa: F811
    show(live.inside_view())
    press(browser, "AB"[which])
    ids = shown_ids(browser)
    maps = attention_maps(models()[which], ids)[:, 0]  # (L, H, T, T)
    for layer in range(2):
        scores = induction_score(maps[layer].unsqueeze(0), PERIOD)
        for head in range(4):
            label = f"show head {head} of layer {layer}"
            browser.find_element("css selector", f"[aria-label='{label}']").click()
            for place in (2, 7):
                browser.find_elements("css selector", "[role='radio']")[place].click()
                word, _, weight, score = told_of(browser)
                row = maps[layer, head, PERIOD + place]
                assert word == copiers.WORDS[ids[0, row.argmax()]]
                assert weight == pytest.approx(row.max().item(), abs=6e-3)
                assert score == pytest.approx(scores[head].item(), abs=6e-3)
    far = "one position after" if which == 0 else "3 positions after"
    browser.find_element("css selector", "[aria-label='show head 0 of layer 1']").click()
    assert told_of(browser)[1].startswith(far)
    unfold(browser, "the weights of this head, in numbers")
    table = """return [...document.querySelectorAll('.plain tbody tr')].map((line) =>
        [...line.querySelectorAll('td')].map((cell) => Number(cell.dataset.value)))"""
    for found, row in zip(browser.execute_script(table), maps[1, 0], strict=True):
        assert found == pytest.approx(row[: len(found)].tolist(), abs=1e-4)


def shares(model, ids, place):
    """By PyTorch, for each layer and position: the share of the answer that comes back."""
    corrupted, (block,) = ids.clone(), ids[:, :PERIOD].tolist()
    while corrupted[0, place] in block:
        corrupted[0, place] = (corrupted[0, place] + 1) % 64
    answer = block[(place + 1) % PERIOD]

    def log_probability(logits):
        return logits[0, PERIOD + place].log_softmax(dim=-1)[answer].item()

    clean, broken = (log_probability(logits_of(model, one)) for one in (ids, corrupted))
    return [
        (log_probability(patch_activation(model, ids, corrupted, layer, at).detach()) - broken)
        / (clean - broken)
        for layer in range(2)
        for at in range(2 * PERIOD)
    ]


def test_a_vector_is_put_back(browser, show):  # noqa: F811
    show(live.inside_view())
    ids = shown_ids(browser)
    press(browser, "put one vector back")
    for which, model in enumerate(models()):
        press(browser, "AB"[which])
        assert browser.execute_script(SHARES) == [None] * 48, "another model has tried nothing"
        cells = browser.find_elements("css selector", ".sheets button")
        right = shares(model, ids, 2)
        assert text_of(browser, ".bar:last-child b") == "–"
        place = 24 + 2 + (1, 3)[which]
        cells[place].click()
        assert browser.execute_script(SHARES)[place] == pytest.approx(right[place], abs=1e-3)
        back = browser.find_elements("css selector", "section:not([hidden]) .told")[0].text
        assert "Before layer 1" in back and f"{round(100 * right[place])} %" in back
        assert ("one position", "3 positions")[which] + " after the replaced word" in back
        press(browser, "try every position")
        assert browser.execute_script(SHARES) == pytest.approx(right, abs=1e-3)
    Select(browser.find_element("xpath", "//label[span='replaced']/select")).select_by_index(6)
    assert browser.execute_script(SHARES) == [None] * 48
    press(browser, "try every position")
    assert browser.execute_script(SHARES) == pytest.approx(shares(models()[1], ids, 6), abs=1e-3)


def test_other_words_are_computed_anew(browser, show):  # noqa: F811
    show(live.inside_view())
    before = shown_ids(browser)
    press(browser, "other words")
    ids = shown_ids(browser)
    assert not torch.equal(ids, before) and len(set(ids[0].tolist())) == PERIOD
    assert_said(browser, logits_of(models()[0], ids), ids)


def test_a_model_of_ones_own_with_a_layer_less(browser, show):  # noqa: F811
    torch.manual_seed(1)
    own = type(copiers.recorded())(64, 16, 2, 1, 8).eval()
    show(live.inside_view({"mine": own, "A": copiers.recorded()}, block=range(20, 26)))
    assert len(browser.find_elements("css selector", ".tile")) == 2
    press(browser, "A")
    assert len(browser.find_elements("css selector", ".tile")) == 8
    browser.find_element("css selector", "[aria-label='show head 3 of layer 1']").click()
    press(browser, "mine")
    assert text_of(browser, ".told").startswith("Head 1 of layer 0")
    press(browser, "put one vector back")
    assert len(browser.find_elements("css selector", ".sheets button")) == 12


def test_the_keyboard_does_all_of_it(browser, show):  # noqa: F811
    show(live.inside_view())
    radios = browser.find_elements("css selector", "[role='radio']")
    assert [one.get_attribute("tabindex") for one in radios].count("0") == 1
    radios[2].send_keys(Keys.ARROW_RIGHT)
    assert radios[3].get_attribute("aria-checked") == "true"
    assert browser.switch_to.active_element == radios[3]
    radios[3].send_keys(Keys.END)
    assert radios[11].get_attribute("aria-checked") == "true"
    tick(browser, 0, 3).send_keys(Keys.SPACE)
    assert not tick(browser, 0, 3).is_selected()
    assert browser.switch_to.active_element == tick(browser, 0, 3)
    look = browser.find_element("css selector", "[aria-label='show head 2 of layer 1']")
    look.send_keys(Keys.ENTER)
    focused = browser.switch_to.active_element
    assert focused.get_attribute("aria-label") == "show head 2 of layer 1"
    assert focused.get_attribute("aria-pressed") == "true"
    browser.find_element("xpath", "//button[text()='put one vector back']").send_keys(Keys.ENTER)
    cells = browser.find_elements("css selector", ".sheets button")
    assert [one.get_attribute("tabindex") for one in cells].count("0") == 1
    cells[0].send_keys(Keys.ARROW_DOWN)
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert browser.switch_to.active_element == cells[25]
    cells[25].send_keys(Keys.ENTER)
    assert browser.execute_script(SHARES)[25] is not None
    assert "before layer 1, brings back percent" in cells[25].get_attribute("textContent")
    assert browser.switch_to.active_element == cells[25]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_and_a_wide_page_without_serious_faults(browser, show, theme):  # noqa: F811
    for width in (390, 1280):
        show(live.inside_view(), width=width, theme=theme)
        for tab in ("heads", "vectors"):
            if tab == "heads":
                tick(browser, 0, 3).click()
            else:
                press(browser, "put one vector back")
                press(browser, "try every position")
                browser.find_elements("css selector", ".sheets button")[27].click()
            wide = "const root = document.documentElement; return [root.scrollWidth, root.clientWidth, innerWidth]"
            assert len(set(browser.execute_script(wide))) == 1, "it scrolls"
            assert serious_faults(browser) == []
            small = """return [...document.querySelectorAll('button, input, select')]
                .filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect())
                .filter(box => Math.min(box.width, box.height) < 24)"""
            assert browser.execute_script(small) == []
            beyond = """return [...document.querySelectorAll('.word, .tile label')]
                .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth)
                .map(e => e.textContent)"""
            assert browser.execute_script(beyond) == []
            browser.switch_to.default_content()
            browser.save_screenshot(str(SCREENSHOTS / f"live_inside_{tab}_{width}_{theme}.png"))
            browser.switch_to.frame(0)
