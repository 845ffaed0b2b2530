"""The website, built and opened: every page, every link, what search finds, and the live view."""

import re
import threading
import time
from base64 import b64decode
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag

import nbformat
import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from PIL import Image
from selenium.webdriver import Keys

from course_utils.attention import scaled_dot_product_attention
from lecture_kit import data, live, questions
from lecture_kit.trained import translators
from tests.browser.conftest import SCREENSHOTS, serious_faults
from tests.browser.test_live import OUTPUT, WEIGHTS, resize
from tests.browser.test_live_translation import SPEED, answer, ready
from tools import website

pytestmark = pytest.mark.long

REPOSITORY = "https://github.com/owner/course"
LECTURE = "lectures/03_scaled_dot_product_attention.html"
ASSIGNMENT = "exercises/a2_self_attention/a2_self_attention.html"
KINDS = [
    "index.html",
    "docs/watch.html",
    LECTURE,
    ASSIGNMENT,
    "docs/grading.html",
    "api/attention.html",
    "search.html",
]
REQUESTS = "return performance.getEntriesByType('resource').map(entry => entry.name)"


class Quiet(SimpleHTTPRequestHandler):
    """A server that says nothing, and that shows the site's own page where there is none, as hosts do."""

    def send_error(self, code, *_):
        page = (Path(self.directory) / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else page)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site; Sphinx's warnings are errors."""
    folder = tmp_path_factory.mktemp("website") / "site"
    website.build(folder, REPOSITORY)
    return folder


@cache
def parsed(page):
    """A page's elements, which several tests look at and none changes."""
    return BeautifulSoup(page.read_bytes(), "html.parser")


@pytest.fixture(scope="module")
def address(site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def pages(site):
    return [page.relative_to(site).as_posix() for page in sorted(site.rglob("*.html"))]


@pytest.fixture
def visit(browser, address):
    """Open a page at a width and in a theme; at the end the browser is as before."""

    def load(page, width=1280, theme="light"):
        looks = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in looks.items()]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        resize(browser, width)
        browser.get(address + page)

    browser.switch_to.default_content()
    browser.get("about:blank")
    browser.get_log("browser")
    yield load
    browser.switch_to.default_content()
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def shoot(browser, name):
    browser.save_screenshot(str(SCREENSHOTS / f"site-{name}.png"))


def wait_for(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.1)


# ------------------------------------------------------------------------------------ every page


def test_every_source_has_its_page(site, pages):
    sources = [path.stem for path in website.ROOT.glob("sources/lectures/*.py")]
    sources += [path.parent.name for path in website.ROOT.glob("assignments/*/notebook.py")]
    assert len(sources) == 25
    for name in sources:
        assert any(page.endswith(f"/{name}.html") for page in pages)
        assert any(site.rglob(f"{name}.ipynb")), "to download"
    written = {"docs/glossary.html", "docs/instructors.html"}
    assert {"index.html", "search.html", *written} <= {*pages}


def test_every_sidebar_is_in_the_order_of_numbers(site):
    for page in ("index.html", LECTURE, ASSIGNMENT):
        tree = parsed(site / page).select_one(".sidebar-tree")
        titles = [link.get_text() for link in tree.select("a.reference")]
        for kind in ("Lecture", "Assignment"):
            numbered = [title.split(":")[0] for title in titles if title.startswith(f"{kind} ")]
            assert numbered == [f"{kind} {number + 1}" for number in range(len(numbered))], page
            assert len(numbered) > 9, page


def test_every_page_says_what_it_is_about(site, pages):
    for page in pages:
        if page in ("search.html", "404.html") or page.startswith("_"):
            continue
        head = parsed(site / page).head
        assert head.find("meta", attrs={"property": "og:title"})["content"].strip(), page
        said = head.find("meta", attrs={"name": "description"})
        assert said and len(said["content"]) > 20 and "$" not in said["content"], page


def test_a_link_to_a_page_is_shown_with_a_picture(site):
    head = parsed(site / LECTURE).head
    picture = head.find("meta", attrs={"property": "og:image"})["content"]
    assert picture == "https://owner.github.io/course/_static/preview.png"
    with Image.open(site / "_static/preview.png") as image:
        assert image.size == (1200, 630)
        assert len(image.convert("RGB").getcolors(1 << 20)) > 100, "words and lines in colours"
    assert (site / "_static/preview.png").stat().st_size < 300_000


@pytest.mark.parametrize("place", ["no.html", "lectures/no.html", "lectures/a/b/no/"])
def test_from_an_address_without_a_page_a_link_leads_home(browser, visit, address, place):
    visit(place)
    assert "no such page" in browser.find_element("tag name", "h1").text
    home = browser.find_element("id", "home")
    wait_for(lambda: home.get_attribute("href") == f"{address}index.html", "the link to lead home")
    assert serious(browser) == []
    browser.get_log("browser")  # which tells of the page that is not there


def test_pages_have_one_viewport_and_no_head_without_a_word(site, pages):
    for page in pages:
        tree = parsed(site / page)
        assert len(tree.find_all("meta", attrs={"name": "viewport"})) == 1, page
        assert all(head.get_text(strip=True) for head in tree.find_all("th")), page


def test_the_notation_shows_its_colours(browser, visit):
    visit("docs/glossary.html")
    shown = browser.execute_script(
        """return [...document.querySelectorAll('i.colour')].map(patch =>
        [patch.style.borderColor, patch.nextElementSibling.textContent, patch.offsetWidth])"""
    )
    assert len(shown) == 16 and all(width > 12 for *_, width in shown)
    for colour, code, _ in shown:
        assert colour == "rgb({}, {}, {})".format(*bytes.fromhex(code[1:]))


SQUEEZED = """return [...document.querySelectorAll('article table.docutils:not(.stacked)')].flatMap(
    table => [...table.rows[0].cells].filter(head => {
        const column = [...table.rows].map(row => row.cells[head.cellIndex]).filter(Boolean);
        const letters = head.offsetWidth / parseFloat(getComputedStyle(head).fontSize) * 2;
        const words = column.map(cell => cell.querySelector('p') ?? cell);
        const breaks = words.some(text => text.getClientRects().length && text.offsetHeight > 50);
        return breaks && letters < 11;
    }).map(head => head.textContent))"""


@pytest.mark.parametrize("page", ["docs/glossary.html", "lectures/08_transformer.html", ASSIGNMENT])
def test_on_a_phone_a_table_stands_in_columns_only_if_they_have_room(browser, visit, page):
    visit(page, 390)
    wait_for(lambda: browser.find_elements("css selector", "table.stacked"), "tables to stack")
    assert browser.execute_script(SQUEEZED) == []
    head = browser.find_element("css selector", "table.stacked td > .head")
    assert head.is_displayed() and head.text.endswith(":")
    visit(page, 1280)
    assert not browser.find_element("css selector", "td > .head").is_displayed()


def test_a_formula_that_scrolls_is_a_stop_that_is_read(browser, visit):
    visit("lectures/06_positional_encoding.html", 260)  # none scrolls on a phone of 390 pixels
    wait_for(lambda: browser.find_elements("css selector", "[tabindex='0']"), "stops")
    hidden = "return document.querySelectorAll('[aria-hidden=true][tabindex]').length"
    assert browser.execute_script(hidden) == 0
    assert browser.find_elements("css selector", ".katex-display[tabindex='0']")
    assert serious(browser) == []


def test_where_one_types_to_search_is_seen(browser, visit):
    visit(LECTURE)
    box = browser.find_element("css selector", "input[name=q]")
    outline = "return getComputedStyle(arguments[0].closest('form')).outlineStyle"
    assert browser.execute_script(outline, box) == "none"
    box.click()
    assert browser.execute_script(outline, box) == "solid"


PAPER = """return [...document.querySelectorAll('a, button, iframe')]
    .filter(one => one.checkVisibility({visibilityProperty: true}) && !one.closest('article, footer, .sidebar-drawer, .toc-drawer'))
    .map(one => one.outerHTML.slice(0, 90))"""


@pytest.mark.parametrize("page", [LECTURE, "lectures/08_transformer.html", "docs/watch.html"])
def test_paper_holds_the_page_and_nothing_to_click(browser, visit, page):
    visit(page)
    try:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert browser.execute_script(PAPER) == []
        shown = browser.execute_script(
            "return [...document.querySelectorAll('iframe')]"
            ".filter(one => one.checkVisibility({visibilityProperty: true})).length"
        )
        assert shown == 0
        text = browser.find_element("tag name", "body").text
        for word in ("Skip to content", "Back to top", "Download"):
            assert word not in text
        assert "stands in for a live view" not in text  # paper never runs a cell
        assert "notebook is trusted" not in text
        if page == LECTURE:  # in the place of the live view
            tables = browser.find_elements("css selector", "iframe.live-view + div table")
            assert any(table.is_displayed() for table in tables)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_every_lecture_links_to_its_formulas_which_fit_one_page(browser, site, visit):
    sheets = sorted(site.glob("formulas/*.html"))
    assert len(sheets) == len(list(site.glob("lectures/*.html"))) == 12
    for sheet in sheets:
        lecture = parsed(site / "lectures" / sheet.name)
        assert lecture.select_one(f'.page-head a[href="../formulas/{sheet.name}"]')
        visit(f"formulas/{sheet.name}")
        paper = {"paperWidth": 8.27, "paperHeight": 11.69}  # inches, A4
        printed = b64decode(browser.execute_cdp_cmd("Page.printToPDF", paper)["data"])
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1, sheet.stem


def test_no_answer_is_on_the_site(site):
    answer = "dim=-1, keepdim=True"
    solution = (website.ROOT / "solutions/a3_scaled_dot_product_attention").glob("*.ipynb")
    assert any("### BEGIN SOLUTION" in path.read_text() for path in solution), answer
    for path in site.rglob("*.ipynb"):
        assert "### BEGIN SOLUTION" not in path.read_text()
    titles = [
        title
        for path in website.ROOT.glob("exams/[0-9]*.md")
        for title in re.findall(r"^## Question \d: (.+)$", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(titles) == 24
    for path in site.rglob("*.html"):
        assert not any(title in path.read_text("utf-8") for title in titles), path


def test_every_link_leads_somewhere(site, pages):
    trees = {page: parsed(site / page) for page in pages}
    ids = {page: {tag["id"] for tag in tree.find_all(id=True)} for page, tree in trees.items()}
    broken = []
    for page, tree in trees.items():
        for tag, name in (("a", "href"), ("link", "href"), ("img", "src"), ("script", "src")):
            for found in tree.find_all(tag, attrs={name: True}):
                target, anchor = urldefrag(found[name])
                if target.startswith(("https://", "http://")):
                    if tag != "a":
                        broken.append(f"{page} loads {target}")
                    continue
                if target.startswith(("data:", "mailto:")):
                    continue
                target = unquote(target.partition("?")[0])
                place = (site / page).parent / target if target else site / page
                if not place.is_file():
                    broken.append(f"{page} → {found[name]}")
                    continue
                name_of = place.resolve().relative_to(site).as_posix()
                if anchor and name_of in ids and unquote(anchor) not in ids[name_of]:
                    broken.append(f"{page} → {found[name]}: no such heading")
    assert not broken


def test_every_page_opens_without_complaint_and_asks_nobody_else(browser, visit, address, pages):
    complaints = []
    for page in pages:
        for width in (1280, 390):
            visit(page, width)
            asked = browser.execute_script(REQUESTS)
            complaints += [
                f"{page} asks {url}" for url in asked if not url.startswith((address, "data:"))
            ]
            wide = browser.execute_script("return document.scrollingElement.scrollWidth")
            complaints += [f"{page} is {wide} wide at {width}"] if wide > width else []
        log = browser.get_log("browser")
        complaints += [f"{page}: {entry['message']}" for entry in log if entry["level"] != "INFO"]
    assert not complaints


def test_every_picture_has_its_text_and_its_room(site, pages):
    for page in pages:
        tree = parsed(site / page)
        for image in tree.find("article").find_all("img") if tree.find("article") else []:
            assert len(image.get("alt", "").split()) >= 5, f"{page}: {image}"
            if "_pictures" in image["src"]:
                assert image["width"] and image["height"] and image["loading"] == "lazy"


def test_a_folded_cell_shows_a_picture_or_is_one_line(site):
    """No "Show the code" over nothing, and "checked" only over an `assert`."""
    checks = 0
    for path in site.glob("lectures/*.html"):
        tree = parsed(path)
        for folded in tree.select("div.cell > details.hide"):
            line = folded.summary.get_text(" ", strip=True)
            code = folded.select_one(".cell_input").get_text()
            shown = folded.find_next_sibling(class_="cell_output")
            if "quiet" in folded["class"]:
                assert shown is None and len(line) < 200, line
                assert ("checked: " in line) == ("check" in folded["class"]) == ("assert " in code)
                checks += "check" in folded["class"]
            else:
                lines = shown.get_text().strip().splitlines() if shown else []
                picture = shown and shown.find(["img", "iframe", "table"])
                assert picture or len(lines) >= 3, f"{path.name}: {code[:80]}"
        first = tree.select_one("div.cell")
        assert "imports and settings" in first.summary.get_text(), path.name
    assert checks > 50


def test_a_question_stands_on_its_page_without_its_call(site):
    for path in site.glob("lectures/*.html"):
        tree = parsed(path)
        asked = [f for f in tree.select("iframe.live-view") if f["title"].startswith("Question ")]
        assert len(asked) == len(questions.questions_of(path.name[:2]))
        assert not any("questions.ask(" in code.get_text() for code in tree.select(".cell_input"))


def test_formulas_are_set(site, pages):
    formulas = 0
    for page in pages:
        text = (site / page).read_text(encoding="utf-8")
        assert "katex-error" not in text, page
        formulas += text.count('class="katex"')
    assert formulas > 500


# ------------------------------------------------------------------------------- one page of a kind


@pytest.mark.parametrize("page", KINDS)
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(browser, visit, page, width, theme):
    visit(page, width, theme)
    assert serious(browser) == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_axe_finds_nothing_serious_on_any_page(browser, visit, pages, width, theme):
    findings = {}
    for page in pages:
        visit(page, width, theme)
        findings[page] = serious(browser)
        shoot(browser, f"{page.replace('/', '-')}-{width}-{theme}")
    assert {page: found for page, found in findings.items() if found} == {}


def serious(browser):
    """Serious faults of the page and of the live views within it."""
    found = []
    for frame in browser.find_elements("css selector", "iframe.live-view"):
        browser.switch_to.frame(frame)
        found += serious_faults(browser)
        browser.switch_to.default_content()
    return found + serious_faults(browser)


def test_a_notebooks_page_says_how_long_and_where_to_open_it(browser, visit):
    visit(LECTURE)
    head = browser.find_element("css selector", ".page-head")
    links = {link.text: link.get_attribute("href") for link in head.find_elements("tag name", "a")}
    notebook = nbformat.read((website.ROOT / LECTURE).with_suffix(".ipynb"), as_version=4)
    course = notebook.metadata["course"]
    assert f"{course['minutes']} minutes, and {course['deeper']} for going deeper" in head.text
    assert links["Download"].endswith(".ipynb") and set(links) >= {
        "Open in Binder",
        "Open in Colab",
    }
    assert links["Edit"].startswith(f"{REPOSITORY}/edit/main/sources/lectures/03_")
    visit(ASSIGNMENT)
    edit = browser.find_element("link text", "Edit").get_attribute("href")
    assert edit == f"{REPOSITORY}/edit/main/assignments/a2_self_attention/notebook.py"
    handing_in = browser.find_element("link text", "How to answer and hand in")
    assert handing_in.get_attribute("href").endswith("/docs/students.html#Hand-in")
    for direction in (".next-page", ".prev-page"):
        assert browser.find_element("css selector", direction).get_attribute("href")


def test_code_that_draws_is_folded_and_opens(browser, visit):
    visit(LECTURE)
    folded = browser.find_elements("css selector", "div.cell details.hide")
    assert len(folded) > 5 and not any(block.get_attribute("open") for block in folded)
    folded[0].find_element("tag name", "summary").click()
    assert (
        folded[0].get_attribute("open") and folded[0].find_element("tag name", "pre").is_displayed()
    )


def test_what_goes_deeper_is_marked(browser, visit):
    visit(LECTURE)
    headings = browser.find_elements("css selector", "section.deeper > h2")
    assert headings and all("Going deeper" in heading.text for heading in headings)
    assert len(headings) < len(browser.find_elements("css selector", "section > h2"))


def test_pictures_turn_dark_with_the_page(browser, visit):
    visit(LECTURE)
    turn = browser.find_element("css selector", ".theme-toggle-content .theme-toggle")
    seen = set()
    for _ in range(3):
        theme = browser.execute_script("return document.body.dataset.theme")
        picture = "return getComputedStyle(document.querySelector('article img')).colorScheme"
        seen.add((theme, browser.execute_script(picture)))
        turn.click()
    assert {("light", "light"), ("dark", "dark")} <= seen


def test_on_a_phone_pictures_can_be_enlarged_and_printed_sentences_break(browser, visit):
    visit(LECTURE, 390)
    button = browser.find_element("css selector", "button.enlarge")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    width = "return document.querySelector('.picture img').offsetWidth"
    before = browser.execute_script(width)
    button.click()
    assert button.text == "reduce"
    assert browser.execute_script(width) == pytest.approx(2 * before, abs=2)
    wide = "return document.scrollingElement.scrollWidth"
    assert browser.execute_script(wide) == 390, "the picture scrolls, not the page"
    button.click()
    assert browser.execute_script(width) == before
    beyond = """return [...document.querySelectorAll('pre.sentences')]
        .map(e => e.scrollWidth - e.clientWidth)"""
    assert set(browser.execute_script(beyond)) == {0}


@pytest.mark.parametrize(
    ("words", "lecture"), [("cross-attention", "Lecture 8"), ("teacher forcing", "Lecture 1")]
)
def test_search_finds(browser, visit, words, lecture):
    visit(LECTURE)
    box = browser.find_element("css selector", "input[name=q]")
    box.send_keys(words, Keys.ENTER)
    results = "#search-results li a"
    wait_for(lambda: lecture in found(browser, results), f"{lecture} among the results")
    assert "Glossary" in found(browser, results)


def test_search_leaves_formulas_out_and_shows_what_a_word_means_first(browser, visit):
    visit("search.html?q=softmax")
    shown = "#search-results li"
    wait_for(lambda: "Turns scores into weights" in found(browser, shown), "the glossary's words")
    results = found(browser, shown)
    assert results.startswith("Glossary > softmax")
    assert "…" in results, "in the place of a formula"
    for mashed in ("∑", "\\sum", "eω"):
        assert mashed not in results


def found(browser, selector):
    return " | ".join(link.text for link in browser.find_elements("css selector", selector))


# --------------------------------------------------------------------------- the translator at work


@pytest.fixture
def on_the_home_page(browser, visit):
    visit("index.html")
    enter_translator(browser)


def enter_translator(browser):
    browser.switch_to.frame(browser.find_element("css selector", ".live-home iframe"))
    ready(browser)


def test_the_home_page_begins_with_a_translator_that_translates(browser, on_the_home_page):
    translator = translators.recorded()
    assert answer(browser) == translator.translate(data.EXAMPLE.source)
    field = browser.find_element("css selector", "#german")
    field.clear()
    field.send_keys("der lehrer kommt .")
    assert answer(browser) == translator.translate("der lehrer kommt .")
    assert not browser.find_elements("css selector", ".apart"), "that has a page of its own"


def test_from_the_home_page_a_head_opens_in_the_view_of_attention(browser, on_the_home_page):
    block = browser.find_element("css selector", "[data-block='d2c']")
    browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click'))", block)
    browser.find_elements("css selector", ".look")[2].click()
    browser.switch_to.frame(browser.find_element("css selector", "iframe.inner"))
    wait_for(lambda: browser.find_elements("css selector", "#map"), "the view of attention")
    attention = live.translator("cross")[0]
    assert (attention.layer, attention.head) == (2, 3)
    vectors = (torch.from_numpy(x) for x in (attention.query, attention.key, attention.value))
    output, weights = scaled_dot_product_attention(*vectors)
    written = 6  # "translate" has just been written
    shown = browser.execute_script(WEIGHTS)[0]
    np.testing.assert_allclose(shown, weights[:written], rtol=0, atol=0.03)
    np.testing.assert_allclose(
        browser.execute_script(OUTPUT), output[written - 1], rtol=0, atol=0.03
    )


def test_the_address_of_its_own_page_holds_the_state(browser, visit):
    visit("docs/watch.html#s=der+lehrer+kommt+.&off=d1c4")
    enter_translator(browser)
    assert answer(browser) == "is the teacher coming ."
    browser.find_element("xpath", "//button[text()='put everything back']").click()
    assert answer(browser) == "the teacher is coming ."
    browser.switch_to.default_content()
    wait_for(lambda: "off=" not in browser.current_url, "the address to follow")
    assert "der+lehrer+kommt" in browser.current_url


def test_arrow_keys_step_wherever_the_focus_is_and_turn_no_page(browser, visit):
    visit("docs/watch.html")
    enter_translator(browser)
    before = browser.execute_script("return state.tick")
    browser.switch_to.default_content()
    browser.find_element("tag name", "body").send_keys(Keys.ARROW_LEFT)
    browser.find_element("tag name", "body").send_keys(Keys.ARROW_LEFT)
    enter_translator(browser)
    assert browser.execute_script("return state.tick") == before - 2
    assert browser.execute_script("return window.parent.location.pathname").endswith("watch.html")


@pytest.mark.parametrize("page", ["index.html", "docs/watch.html"])
@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (820, "light"), (390, "light")])
def test_the_translator_fits_its_page(browser, visit, page, width, theme):
    visit(page, width, theme)
    frame = browser.find_element("css selector", ".live-home iframe")
    enter_translator(browser)
    needed = browser.execute_script("return document.body.getBoundingClientRect().height")
    theme_within = browser.execute_script("return document.documentElement.dataset.theme")
    browser.switch_to.default_content()
    wait_for(lambda: abs(frame.size["height"] - needed) < 2, "the frame to fit")
    assert theme_within == "auto", "as the page around it"
    shoot(browser, f"translator-{page.replace('/', '-')}-{width}-{theme}")


def test_the_page_of_the_translator_is_light_and_painted_before_the_weights(browser, visit, site):
    """All that the page loads, and how far a slow phone is with it when the first words stand there."""
    slow = {"latency": 100, "downloadThroughput": 200_000, "uploadThroughput": 90_000}
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.clearBrowserCache", {})
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **slow})
    browser.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": 4})
    try:
        visit("docs/watch.html", 390)
        loaded = browser.execute_script(
            "return performance.getEntriesByType('resource').map(one => one.encodedBodySize)"
        )
        enter_translator(browser)
        words, weights = browser.execute_script(
            """const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime;
            return [paint, performance.timing.loadEventEnd - performance.timing.navigationStart]"""
        )
        took = browser.execute_script(SPEED)
    finally:
        browser.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": 1})
        browser.execute_cdp_cmd(
            "Network.emulateNetworkConditions",
            {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
        )
    frame = (site / "_frames/translator.html").stat().st_size
    assert frame < 600_000 and sum(loaded) + (site / "docs/watch.html").stat().st_size < 1_000_000
    assert words < weights
    print(f"first words after {words:.0f} ms, all loaded after {weights:.0f} ms, "
          f"a translation in {took:.0f} ms, {sum(loaded):,} bytes")  # fmt: skip


def test_no_page_is_heavy(site):
    largest = max(site.rglob("*.html"), key=lambda page: page.stat().st_size)
    assert largest.stat().st_size < 1_500_000, largest
