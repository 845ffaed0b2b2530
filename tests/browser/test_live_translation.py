"""The view of a whole translator in Chromium: right numbers, and answers to mouse, finger and keys."""

import math
import time
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from selenium.webdriver import ActionChains, Keys

from course_utils.evaluation import evaluating
from course_utils.positional import positional_encoding
from lecture_kit import data, live
from lecture_kit.live import translation
from lecture_kit.trained import translators
from tests.browser.conftest import SCREENSHOTS, serious_faults, waited
from tests.browser.test_live import WEIGHTS, resize, show  # noqa: F401  show is a fixture
from tests.lecture_kit.test_translators import computed_by, part_of

pytestmark = pytest.mark.long

CLOSE = 1e-4
T = 5  # the word that is written at first sight, "translate"
SENTENCE = data.EXAMPLE.source
BLOCKS = [f"e{k}{part}" for k in (1, 2) for part in ("a", "f")]
BLOCKS += [f"d{k}{part}" for k in (1, 2) for part in ("s", "c", "f")]
TABLES = """document.querySelectorAll('.panel details').forEach(one => one.open = true);
    return [...document.querySelectorAll('.panel table.plain')].map(table =>
        [...table.tBodies[0].rows].map(row => [...row.querySelectorAll('td')].map(cell =>
            Number(cell.dataset.value))))"""
AFTER = """return [...document.querySelectorAll('.after .sheet tbody tr')].map(row =>
    [...row.querySelectorAll('td')].map(cell => Number(cell.dataset.value)))"""
SLIDE = """const [input, value] = arguments; input.value = value;
    input.dispatchEvent(new Event('input', {bubbles: true}));"""
CUT_OFF = """const svg = document.querySelector('.picture svg').getBoundingClientRect();
    return [...document.querySelectorAll('.picture text, .picture .tile rect')].filter(part => {
        const box = part.getBoundingClientRect();
        return box.width && (box.left < svg.left - 1 || box.right > svg.right + 1
            || box.top < svg.top - 1 || box.bottom > svg.bottom + 1);
    }).map(part => part.textContent || part.parentNode.textContent)"""
SPEED = """const times = Array.from({length: 15}, () => {
        const start = performance.now();
        translatedByTransformer(network, now.encoder.ids);
        return performance.now() - start;
    }).sort((a, b) => a - b);
    return times[7];"""


@pytest.fixture(scope="module")
def translator():
    return translators.recorded()


@pytest.fixture(scope="module")
def computed(translator):
    """Label → array of what PyTorch computes for the example, and the ids that are read."""
    batch = data.collate([data.EXAMPLE], translator.german, translator.english)
    return computed_by(translator.model, batch.source, batch.target[:, :-1])


@pytest.fixture
def page(browser, show):  # noqa: F811
    """Show a view, and wait until its weights have arrived."""

    def load(view=None, **more):
        show(view or live.translation_view(), **more)
        ready(browser)

    return load


def until(condition, what):
    assert waited(condition), f"waited for {what}"


def ready(browser):
    busy = "return document.getElementById('view').ariaBusy"
    until(lambda: browser.execute_script(busy) == "false", "the weights")


def find(browser, selector):
    return browser.find_element("css selector", selector)


def press(browser, text):
    browser.find_element("xpath", f"//button[normalize-space()='{text}']").click()


ANSWER = """return [...document.querySelectorAll('#answer button')].map(one => one.textContent)"""


def answer(browser):
    return " ".join(word for word in browser.execute_script(ANSWER) if word != "<eos>")


def written(translator, sentence=SENTENCE):
    return translator.translate(sentence)


def moment(browser):
    return find(browser, ".transport input").get_attribute("aria-valuetext")


OPEN = """const block = document.querySelector(`[data-block='${arguments[0]}']`);
block?.scrollIntoView({block: "center"});
block?.dispatchEvent(new MouseEvent("click"));
return Boolean(block)"""


def open_block(browser, block):
    until(
        lambda: browser.execute_script(OPEN, block), block
    )  # in one go: the page may be drawn anew at any time


def ask(browser, text):
    field = find(browser, "#german")
    field.clear()
    field.send_keys(text)


# ----------------------------------------------------------------------------------- at first sight


def test_the_picture_is_there_before_the_weights(browser, show, tmp_path):  # noqa: F811
    whole = live.translation_view().page
    begun = tmp_path / "begun.html"
    begun.write_text(whole[: whole.index('<script type="application/json" id="inner"')], "utf-8")
    browser.get(begun.as_uri())
    words = [word.text for word in browser.find_elements("css selector", ".german .word")]
    assert words == [*SENTENCE.split(), "<eos>"]
    assert len(browser.find_elements("css selector", ".block")) == 23


def test_it_translates_as_pytorch_does_and_fast(browser, page, translator):
    page()
    assert answer(browser) == written(translator) == data.EXAMPLE.target
    assert browser.execute_script(SPEED) < 50, "milliseconds"
    ids = [element.text for element in browser.find_elements("css selector", ".words .id")]
    assert ids == [str(k) for k in [*translator.german.encode(SENTENCE), data.EOS_ID]]


def test_a_readers_own_model_is_shown(browser, page):
    torch.manual_seed(3)
    german, english = (
        data.Vocabulary(["sie", "schläft", ".", "?"]),
        data.Vocabulary(["she", "is", "a", "b"]),
    )
    model = translators.new_model("transformer", len(german), len(english)).eval()
    page(live.translation_view(translators.Translator(model, german, english), "sie schläft ."))
    stored = translators.unpacked(translators.packed(model.state_dict()))
    model.load_state_dict(stored)
    expected = translators.Translator(model, german, english)
    source = data.collate([data.Pair("sie schläft .", "")], german, english).source
    ids = expected.write(source)[0, 1:].tolist()
    assert browser.execute_script(ANSWER) == [english.words[k] for k in ids]


# ------------------------------------------------------------------------------------------ stepping


def test_it_steps_by_buttons_keys_and_slider(browser, page):
    page()
    assert moment(browser) == "word 6: the next word"
    press(browser, "◂ step")
    assert moment(browser) == "word 6: Decoder, layer 2: feed-forward network"
    press(browser, "word ▸")
    assert moment(browser) == "word 7: the next word"
    body = find(browser, "body")
    for keys, expected in (
        ([Keys.ARROW_RIGHT], "word 8: English words as vectors"),
        ([Keys.ARROW_LEFT, Keys.ARROW_LEFT], "word 7: Decoder, layer 2: feed-forward network"),
    ):
        body.send_keys(*keys)
        assert moment(browser) == expected
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_LEFT).key_up(
        Keys.SHIFT
    ).perform()
    assert moment(browser) == "word 6: the next word"
    browser.execute_script(SLIDE, find(browser, ".transport input"), 1)
    assert moment(browser) == "Encoder, layer 1: self-attention"
    assert not browser.find_elements("css selector", ".says .tile"), "nothing is written yet"


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_it_plays_and_pauses(browser, page, motion):
    features = [{"name": "prefers-reduced-motion", "value": motion}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page()
    find(browser, "#told").click()
    ActionChains(browser).send_keys(" ").perform()
    assert find(browser, ".main").text == "❚❚ pause"
    until(lambda: moment(browser).startswith("word 7"), "the next word")
    if motion == "reduce":
        assert moment(browser) == "word 7: the next word", "from word to word"
    press(browser, "❚❚ pause")
    before = moment(browser)
    time.sleep(0.7)
    assert moment(browser) == before
    animation = "return getComputedStyle(document.querySelector('.line.strong')).animationName"
    press(browser, "word ▸")
    assert (browser.execute_script(animation) == "none") == (motion == "reduce")


# ------------------------------------------------------------------------------- what is in a block


def row_of(browser, block):
    """The row whose numbers are shown: in the encoder "übersetzen", which is looked at most."""
    return SENTENCE.split().index("übersetzen") if block[0] == "e" else T


def label_of(block):
    side = "encoder" if block[0] == "e" else "decoder"
    name = {"a": "attention", "s": "self", "c": "cross", "f": "feed"}[block[2]]
    return f"{side} {int(block[1]) - 1} {name}"


def enter_inner(browser):
    until(lambda: browser.find_elements("css selector", "iframe.inner"), "a view within")
    browser.switch_to.frame(find(browser, "iframe.inner"))
    ready = "return document.readyState === 'complete' && document.querySelector('table')"
    until(lambda: browser.execute_script(ready), "the view within")


def leave_inner(browser):
    browser.switch_to.parent_frame()


def test_every_attention_opens_with_pytorchs_weights(browser, page, computed):
    page()
    for block in (one for one in BLOCKS if one[2] != "f"):
        open_block(browser, block)
        row = row_of(browser, block)
        weights = {head: head_weights(computed, block, head) for head in range(4)}
        (table,) = browser.execute_script(TABLES)
        for head, shown in enumerate(table):
            np.testing.assert_allclose(shown, weights[head][row], rtol=0, atol=CLOSE)
        browser.find_elements("css selector", ".look")[2].click()
        enter_inner(browser)
        np.testing.assert_allclose(
            browser.execute_script(WEIGHTS)[0], weights[2], rtol=0, atol=CLOSE
        )
        leave_inner(browser)


def head_weights(computed, block, head):
    """(rows so far, keys) weights of one head."""
    flat = computed[f"{label_of(block)} weights"]
    if block[2] != "s":
        rows = flat[:, head]
        return rows.numpy() if block[0] == "e" else rows[: T + 1].numpy()
    weights, start = torch.zeros(T + 1, T + 1), 0
    for t in range(T + 1):
        size = 4 * (t + 1)
        weights[t, : t + 1] = flat[start : start + size].view(4, t + 1)[head]
        start += size
    return weights.numpy()


def test_every_norm_opens_with_pytorchs_numbers(browser, page, computed, translator):
    page()
    for block in BLOCKS:
        open_block(browser, f"{block}n")
        row, label = row_of(browser, block), label_of(block)
        (table,) = browser.execute_script(TABLES)
        for shown, name in zip(table, ("x", "out", "norm"), strict=True):
            np.testing.assert_allclose(shown, computed[f"{label} {name}"][row], rtol=0, atol=CLOSE)
        enter_inner(browser)
        rows = browser.execute_script(AFTER)
        layer, _, norm = part_of(translator.model, block)
        with torch.no_grad():
            expected = layer.get_submodule(norm)(computed[f"{label} sum"])
        first = max(0, min(row - 2, len(expected) - 5)) if block[0] == "e" else T + 1 - 5
        np.testing.assert_allclose(rows, expected[first : first + 5], rtol=0, atol=CLOSE)
        leave_inner(browser)


def test_every_feed_forward_network_opens_with_pytorchs_numbers(browser, page, computed):
    page()
    for block in (one for one in BLOCKS if one[2] == "f"):
        open_block(browser, block)
        row, label = row_of(browser, block), label_of(block)
        ends, units = browser.execute_script(TABLES)
        for shown, name in zip([*ends, *units], ("x", "out", "before", "hidden"), strict=True):
            np.testing.assert_allclose(shown, computed[f"{label} {name}"][row], rtol=0, atol=CLOSE)
        on = int((computed[f"{label} hidden"][row] > 0).sum())
        assert f"{on} of 128 hidden units are on" in find(browser, ".panel .lead").text


@pytest.mark.parametrize("block", ["embed", "read"])
def test_vectors_open_with_pytorchs_numbers_and_the_view_of_positions(
    browser, page, computed, translator, block
):
    page()
    open_block(browser, block)
    side, row = ("encoder", row_of(browser, "e")) if block == "embed" else ("decoder", T)
    (table,) = browser.execute_script(TABLES)
    token, position, together = (np.array(numbers) for numbers in table)
    expected = positional_encoding(40, 64)[row]
    np.testing.assert_allclose(position, expected, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(together, computed[f"{side} x"][row], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(token + position, together, rtol=0, atol=CLOSE)
    until(lambda: browser.find_elements("css selector", "iframe.inner"), "a view within")
    browser.switch_to.frame(find(browser, "iframe.inner"))
    until(lambda: browser.find_elements("css selector", ".formula"), "the view of positions")
    entry = find(browser, ".entry .formula").text
    assert entry.startswith(f"PE[{row}, 0]")
    assert float(entry.split("=")[-1].replace("−", "-")) == pytest.approx(
        float(expected[0]), abs=1e-3
    )
    leave_inner(browser)


def test_the_next_word_opens_with_pytorchs_logits_and_a_temperature(browser, page, computed):
    page()
    open_block(browser, "say")
    (table,) = browser.execute_script(TABLES)
    logits = computed["logits"][T]
    np.testing.assert_allclose(table[0], logits, rtol=0, atol=CLOSE)
    chances = """return [...document.querySelectorAll('.chances tbody tr')].map(row =>
        Number(row.cells[2].dataset.value))"""
    for temperature in (1.0, 10**0.5):
        slider = find(browser, ".warmth input")
        browser.execute_script(SLIDE, slider, math.log10(temperature))
        expected = (logits / temperature).softmax(dim=0).sort(descending=True).values[:8]
        np.testing.assert_allclose(browser.execute_script(chances), expected, rtol=0, atol=CLOSE)
    assert answer(browser) == data.EXAMPLE.target


def test_the_recurrent_network_opens_with_pytorchs_numbers(browser, page):
    page(live.translation_view("recurrent"))
    translator = translators.recorded("recurrent")
    source, target = data.collate([data.EXAMPLE], translator.german, translator.english)
    assert answer(browser) == translator.translate(SENTENCE)
    with evaluating(translator.model) as model:
        encoder = model.encode(source)
        logits, weights = model(source, target[:, :-1])
    open_block(browser, "att")
    shown = """return [...document.querySelectorAll('.chances tbody tr')].map(row =>
        Number(row.cells[2].dataset.value))"""
    np.testing.assert_allclose(browser.execute_script(shown), weights[0, T], rtol=0, atol=CLOSE)
    row = int(weights[0, T].argmax())
    for block, half in (("fwd", slice(0, 28)), ("bwd", slice(28, 56))):
        open_block(browser, block)
        (table,) = browser.execute_script(TABLES)
        expected = encoder.annotations[0, row, half]
        np.testing.assert_allclose(table[1], expected, rtol=0, atol=CLOSE)
    open_block(browser, "say")
    (table,) = browser.execute_script(TABLES)
    np.testing.assert_allclose(table[0], logits[0, T], rtol=0, atol=CLOSE)


# ------------------------------------------------------------------------------------- own sentences


def test_a_sentence_is_completed_while_it_is_typed(browser, page, translator):
    page()
    ask(browser, "der leh")
    words = "return [...document.querySelectorAll('#completions li')].map(one => one.textContent)"
    assert browser.execute_script(words)[0] == "lehrer"
    assert find(browser, "#complaint").text == "", "a word that is begun is no mistake"
    find(browser, "#german").send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    offered = browser.execute_script(words)
    assert offered and set(offered) <= set(translator.german.words)
    find(browser, "#german").send_keys("kommt .")
    assert find(browser, "#german").get_attribute("value") == "der lehrer kommt ."
    assert answer(browser) == written(translator, "der lehrer kommt .")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kannst du mir den hund zeigen ?", "“hund” is none of the 250 words that it has learned"),
        ("ich will singen . ", "“singen” is none of the 250 words that it has learned"),
        (
            "ich " * 29 + ".",
            "These are 30 words and punctuation marks, and it has read sentences of at most 28.",
        ),
        ("  ", "Type a German sentence"),
    ],
)
def test_what_it_cannot_read_is_told_kindly(browser, page, translator, text, told):
    page()
    ask(browser, text)
    assert told in find(browser, "#complaint").text
    understood = browser.execute_script("return state.words.join(' ')")
    assert answer(browser) == written(translator, understood), "the last words that it could read"


def test_near_words_are_known_ones(browser, page, translator):
    page()
    ask(browser, "du muss lehren .")
    told = find(browser, "#complaint").text
    assert told.endswith("? The picture still shows the sentence before.")
    near = told.partition("Did you mean ")[2].partition("?")[0].split(" or ")
    assert near and all(word.strip("“”") in translator.german for word in near)
    assert "“lehrer”" in near


def test_another_sentence_comes_from_the_grammar(browser, page, translator):
    page()
    for _ in range(3):
        press(browser, "another sentence")
        sentence = find(browser, "#german").get_attribute("value")
        assert sentence in translators.sentences()
        assert answer(browser) == written(translator, sentence)


# ---------------------------------------------------------------------------------- taking it apart


def test_a_german_word_is_hidden_by_mouse_and_by_keys(browser, page):
    sentence = "ich möchte meinen lehrer nicht besuchen ."
    page(live.translation_view(sentence=sentence))
    word = browser.find_elements("css selector", ".german")[4]
    ActionChains(browser).move_to_element(word).click().perform()
    assert answer(browser) == "i would like to visit my teacher ."
    assert "not" in find(browser, "#before .gone").text
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert answer(browser) == "i would not like to visit my teacher ."
    assert find(browser, "#before").text == ""


def test_a_finger_hides_a_word_and_opens_a_block(browser, page):
    page(live.translation_view(sentence="ich möchte meinen lehrer nicht besuchen ."), width=390)
    tap(browser, ".german:nth-of-type(5)")
    until(lambda: answer(browser) == "i would like to visit my teacher .", "the word to be hidden")
    tap(browser, "[data-block='d2c']")
    until(lambda: find(browser, ".panel").is_displayed(), "the block to be opened")


def tap(browser, selector):
    element = find(browser, selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    inside = browser.execute_script(
        "const b = arguments[0].querySelector('rect').getBoundingClientRect();"
        "return [b.x + b.width / 2, b.y + Math.min(12, b.height / 2)]",
        element,
    )
    outside = browser.execute_script(
        "const b = frameElement.getBoundingClientRect(); return [b.x, b.y]"
    )
    point = {"x": inside[0] + outside[0], "y": inside[1] + outside[1]}
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    for kind, points in (("touchStart", [point]), ("touchEnd", [])):
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_switches_are_undone_and_the_maps_stand_beside_those_of_training(browser, page):
    page(live.translation_view(sentence="der lehrer kommt ."))
    open_block(browser, "d1c")
    find(browser, "[data-switch='d1c4']").click()
    assert answer(browser) == "is the teacher coming ."
    assert "some" in find(browser, "[data-block='d1c']").get_attribute("class").split()
    assert len(browser.find_elements("css selector", ".small-map")) > 4, "beside the trained ones"
    find(browser, "[data-switch='d1']").click()
    assert "off" in find(browser, "[data-block='d1c']").get_attribute("class").split()
    press(browser, "put everything back")
    assert answer(browser) == "the teacher is coming ."
    assert find(browser, ".changed").text == "Nothing is changed."


@pytest.mark.parametrize("name", translators.NAMES)
def test_every_link_to_try_does_what_it_says(browser, page, name):
    page(live.translation_view(name))
    for k, one in enumerate(translation.tries()[name]):
        link = browser.find_elements("css selector", ".try a")[k]
        browser.execute_script("arguments[0].click()", link)
        assert answer(browser) == one["writes"], one["title"]
        assert link.get_attribute("aria-current") == "true", one["title"]
        assert ("open=" in one["link"]) == find(browser, ".panel").is_displayed()


# -------------------------------------------------------------------------------------- the address


def stand_alone(browser, tmp_path, state=""):
    """The view as a page of its own, whose address holds the state."""
    file = tmp_path / "alone.html"
    file.write_text(live.translation_view().page, encoding="utf-8")
    resize(browser, 1280)
    browser.get("about:blank")
    browser.get(f"{file.as_uri()}#{state}")
    ready(browser)


def test_a_state_that_is_linked_comes_back(browser, show, tmp_path):  # noqa: F811
    state = {
        "s": "der lehrer kommt .",
        "at": "2.d1c",
        "open": "d1c.3",
        "off": "d1c4.pe",
        "hide": "1",
    }
    stand_alone(browser, tmp_path, urlencode({**state, "tau": 1.5, "warmth": 2}))
    assert moment(browser) == "word 2: Decoder, layer 1: cross-attention"
    shown = (answer(browser), find(browser, ".changed").text)
    assert "“lehrer” hidden" in shown[1] and "head 4 off" in shown[1] and "1.50" in shown[1]
    assert find(browser, ".look[aria-pressed='true'] span").text == "head 3"
    press(browser, "step ▸")
    until(lambda: "at=2.d1f" in browser.current_url, "the address")
    browser.refresh()
    ready(browser)
    assert moment(browser) == "word 2: Decoder, layer 1: feed-forward network"
    assert (answer(browser), find(browser, ".changed").text) == shown
    enter_inner(browser)
    browser.switch_to.default_content()


@pytest.mark.parametrize(
    "state",
    [
        "s=hund&at=99.say&open=d9c.7&off=x.e9&hide=77&tau=nan&warmth=-1",
        "s=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&open=%3Cscript%3E",
        "&&==%E0%A4",
    ],
)
def test_an_address_without_sense_does_no_harm(browser, show, tmp_path, state):  # noqa: F811
    stand_alone(browser, tmp_path, state)
    assert answer(browser) == data.EXAMPLE.target
    assert find(browser, ".changed").text == "Nothing is changed."
    assert not browser.find_elements("css selector", "img")


# -------------------------------------------------------------------------------------- how it looks

LONG = max(translators.sentences(), key=len)
STATES = {
    "first": "",
    "long": urlencode({"s": LONG, "at": "20.d2c"}),
    "babble": urlencode({"s": "bist du krank ?", "off": "d1cr", "at": "30.say"}),
    "head": urlencode({"s": SENTENCE, "open": "d2c.3"}),
    "norm": urlencode({"s": SENTENCE, "open": "e1an"}),
    "vectors": urlencode({"s": SENTENCE, "open": "embed"}),
    "next": urlencode({"s": SENTENCE, "open": "say", "off": "root"}),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 820, 390])
@pytest.mark.parametrize("name", translators.NAMES)
def test_nothing_is_cut_off_and_axe_finds_nothing_serious(browser, page, name, width, theme):
    page(live.translation_view(name), width=width, theme=theme)
    states = STATES if name == "transformer" else {k: STATES[k] for k in ("first", "long", "next")}
    for state, link in states.items():
        browser.execute_script(
            "recall(arguments[0])", link.replace("root", "att") if name == "recurrent" else link
        )
        time.sleep(0.4)
        wide = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{state}: {wide} too wide"
        assert browser.execute_script(CUT_OFF) == [], state
        assert serious_faults(browser) == [], state
        browser.switch_to.default_content()
        size = browser.execute_script("return document.documentElement.scrollHeight")
        resize(browser, width, min(size, 3500))
        browser.save_screenshot(
            str(SCREENSHOTS / f"translation-{name}-{state}-{width}-{theme}.png")
        )
        resize(browser, width)
        browser.switch_to.frame(find(browser, "iframe.live-view"))


def test_on_a_phone_picture_answer_and_controls_fit_one_screen(browser, page):
    page(width=390)
    places = browser.execute_script(
        """return ['#picture', '#answer', '.transport'].map(name => {
            const box = document.querySelector(name).getBoundingClientRect();
            return [box.top, box.bottom]; })"""
    )
    tops, bottoms = zip(*places, strict=True)
    assert sorted(tops) == list(tops)
    assert bottoms[-1] - tops[0] < 720, "of 844 pixels"


def test_a_switched_off_block_opens_where_it_is_clicked(browser, page):
    page()
    browser.execute_script("flipSwitch('e1')")
    block = "[data-block='e1a'] rect"
    box = browser.execute_script(
        f'const b = document.querySelector("{block}").getBoundingClientRect();'
        "return document.elementFromPoint(b.x + b.width / 2, b.bottom - 8).closest('.block')?.dataset.block"
    )
    assert box == "e1a"
    find(browser, block).click()
    assert "switched off" in find(browser, ".panel .body").text


def test_the_answer_follows_while_a_switch_is_looked_at(browser, page):
    """Further down, the answer stands at the upper edge of the screen; at the picture it does not."""
    page(width=390)
    assert not find(browser, ".follower").is_displayed()
    browser.execute_script("flipSwitch('d2c')")
    browser.switch_to.default_content()
    browser.execute_script("window.scrollTo(0, 1100)")
    browser.switch_to.frame(find(browser, "iframe.live-view"))
    until(lambda: find(browser, ".follower").is_displayed(), "the answer at the edge of the screen")
    words, answer = (
        browser.execute_script(
            f"return document.querySelector('{name}').textContent.split(/\\s+/).join('')"
        )
        for name in (".follower .answer", "#answer")
    )
    assert words == answer
    assert "As trained" in find(browser, ".follower").text
    place = "const b = document.querySelector('.follower').getBoundingClientRect(); return b.top"
    above = "return -window.frameElement.getBoundingClientRect().top"
    assert abs(browser.execute_script(place) - browser.execute_script(above)) < 2


@pytest.mark.parametrize("width", [390, 1280])
def test_every_wide_column_of_the_picture_has_a_name(browser, page, width):
    page(width=width)
    names = browser.execute_script(
        "return [...document.querySelectorAll('.block .head')].map(e => e.textContent)"
    )
    assert all(names)
    short = set(names) - {
        "vectors",
        "self-attention",
        "cross-attention",
        "feed-forward",
        "+",
        "+ norm",
    }
    said = find(browser, ".short-names").text
    assert all(name in said for name in short - {"self", "cross", "next word", "vector", "feed"})
    assert bool(said) == (width == 390)


def test_what_is_changed_stands_beside_the_answer(browser, page):
    page()
    assert find(browser, ".changed").text == "Nothing is changed."
    browser.execute_script("state.warmth = 5; flipSwitch('mask')")
    assert find(browser, ".changed").text == (
        "Changed: the causal mask off; the next word at temperature 5.00."
    )
