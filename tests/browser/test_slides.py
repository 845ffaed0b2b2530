"""Decks as they are projected: all of every slide is seen, nothing is fetched, and keys do what the guide says."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.browser.conftest import SCREENSHOTS, TOKEN, serious_faults
from tests.browser.test_jupyterlab import lab  # noqa: F401  a fixture
from tests.build.test_build import LECTURES
from tools import slides

pytestmark = pytest.mark.long

MARKED = [
    path.stem for path in LECTURES if re.search(r"<!-- slide: |slide=", path.read_text("utf-8"))
]
SMALLEST_VIEW = 0.7  # of the size that a view has on a page
# Shows one slide after the other, and returns what is wrong with each.
FAULTS = """const [smallest, done] = arguments;
    const shown = () => new Promise((go) => {
        const look = () => (document.documentElement.dataset.shown === 'true' ? go() : setTimeout(look, 20));
        look();
    });
    const over = (part) => part.scrollHeight > part.clientHeight + 1 || part.scrollWidth > part.clientWidth + 1;
    const faultsOf = (slide) => {
        const [head, body] = [slide.querySelector('h1, h2'), slide.querySelector('.body')];
        const [room, foot] = [slide.querySelector('.slide'), slide.querySelector('footer')].map(
            (part) => part.getBoundingClientRect());
        const frame = slide.querySelector('iframe');
        const wrong = {
            'is outside its slide': !frame && over(body),
            'has a headline of three lines': slide.matches('.shown, .code, .view') && head.offsetHeight > 100,
            'reaches its foot': body.getBoundingClientRect().bottom > foot.top,
            'leaves the screen': room.width !== 1280 || room.height !== 720,
            'has small letters': [...body.querySelectorAll('p, li, td, .run, .katex-display')].some(
                (part) => parseFloat(getComputedStyle(part).fontSize) < 17),
            'has no picture': [...slide.querySelectorAll('img')].some((img) => !img.naturalWidth || img.height < 200),
            'has a view that is cut': frame && frame.getBoundingClientRect().bottom > foot.top,
            'has a view that scrolls': frame && over(frame.contentDocument.documentElement),
            'has a view that is tiny': frame && frame.dataset.scale < smallest,
        };
        return Object.keys(wrong).filter((name) => wrong[name]).map((name) => `${head.textContent} ${name}`);
    };
    (async () => {
        const faults = [];
        for (let at = 0; at < Reveal.getTotalSlides(); at++) {
            Reveal.slide(at, 0, Infinity);
            await shown();
            faults.push(...faultsOf(Reveal.getCurrentSlide()));
        }
        done(faults);
    })();"""
ASKED_FOR = "return performance.getEntriesByType('resource').map(({name}) => name)"


@pytest.fixture(scope="module")
def decks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decks")
    slides.main(["--only", " ".join(MARKED), "--to", str(folder)])
    return folder


@pytest.fixture
def present(browser, decks):
    """Open a deck at a size; at the end the browser is as before."""

    def load(name, query="", size=(1280, 720), theme="light"):
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get("about:blank")
        browser.get(f"{(decks / name).with_suffix('.html').as_uri()}{query}")
        wait(browser, slides.READY)

    browser.get("about:blank")
    browser.get_log("browser")
    browser.set_script_timeout(120)
    yield load
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def wait(browser, script):
    return WebDriverWait(browser, 60).until(lambda page: page.execute_script(script))


def press(browser, key):
    ActionChains(browser).send_keys(key).perform()


def first(browser, kind):
    """Go to the first slide of a kind."""
    place = f"[...document.querySelectorAll('section')].findIndex((one) => one.matches('.{kind}'))"
    browser.execute_script(f"Reveal.slide({place})")
    wait(browser, slides.READY)


@pytest.mark.parametrize("name", MARKED)
def test_all_of_every_slide_is_seen_and_nothing_is_fetched(browser, present, name):
    present(name)
    assert browser.execute_async_script(FAULTS, SMALLEST_VIEW) == []
    assert browser.execute_script(ASKED_FOR) == []
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("kind", ["title", "section", "shown", "code", "question", "view"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_either_theme(browser, present, kind, theme):
    present(MARKED[0], theme=theme, size=(1920, 1080))
    first(browser, kind)
    assert browser.execute_script("return document.documentElement.dataset.theme") == theme
    browser.save_screenshot(str(SCREENSHOTS / f"slides-{kind}-{theme}.png"))
    assert serious_faults(browser) == []


def test_a_view_follows_the_deck_and_answers(browser, present):
    present(MARKED[0])
    first(browser, "view")
    press(browser, "d")
    frame = browser.find_element("css selector", "section.present iframe")
    browser.switch_to.frame(frame)
    wait(browser, "return document.documentElement.dataset.theme === 'dark'")
    before = browser.find_element("id", "view").text
    browser.find_element("css selector", "#view button").click()
    WebDriverWait(browser, 10).until(lambda page: page.find_element("id", "view").text != before)
    browser.switch_to.default_content()


def test_a_question_waits_for_a_key(browser, present):
    present(MARKED[0])
    first(browser, "question")
    answer = browser.find_element("css selector", "section.present .answer")
    assert answer.value_of_css_property("opacity") == "0"
    press(browser, Keys.ARROW_RIGHT)
    WebDriverWait(browser, 10).until(lambda _: answer.value_of_css_property("opacity") == "1")
    right = browser.find_elements("css selector", "section.present .right")
    assert all(choice.value_of_css_property("outline-style") == "solid" for choice in right)


def test_the_presenter_has_the_prose(browser, present):
    """What its window is given; a window that is written by another cannot be waited for."""
    present(MARKED[0])
    first(browser, "shown")
    notes = browser.execute_script("return Reveal.getSlideNotes()")
    assert "<p>" in notes
    assert browser.execute_script("return Reveal.getPlugin('notes').id") == "notes"
    said = browser.execute_script("return document.querySelectorAll('aside.notes math').length")
    assert said > 0


def test_a_mark_is_not_seen_in_jupyterlab(browser, lab):  # noqa: F811
    address, workspace = lab
    text = new_markdown_cell("Above.\n\n<!-- slide: The headline -->\n\n- below")
    cells = [text, new_code_cell("x = 1", metadata={"slide": "The headline"})]
    nbformat.write(new_notebook(cells=cells), workspace / "marks.ipynb")
    browser.get(f"{address}/lab/tree/marks.ipynb?token={TOKEN}")
    wait(browser, "return document.querySelector('.jp-MarkdownOutput li')?.textContent === 'below'")
    seen = browser.find_element("css selector", ".jp-Notebook").text
    assert "Above." in seen and "headline" not in seen


def test_a_print_out_has_a_page_a_slide_and_one_an_answer(decks):
    pdf = slides.print_out((decks / MARKED[0]).with_suffix(".html")).read_bytes()
    page = (decks / MARKED[0]).with_suffix(".html").read_text("utf-8")
    answers = page.count('<p class="answer fragment"')
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == page.count("<section") + answers
