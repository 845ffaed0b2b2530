"""What a reader sees of the views at first: lectures just opened, with their stored outputs alone.

JupyterLab and Notebook lay out no cell that is off the screen. So a view is loaded there before it has
a width, and must be right whether it is looked at or not.
"""

import json
import re
import time
import urllib.request

import pytest

from tests.browser.conftest import PATIENCE, SCREENSHOTS, TOKEN, server, waited
from tests.sample_class import ROOT

pytestmark = pytest.mark.slow  # minutes a lecture in a real JupyterLab

LECTURES = sorted((ROOT / "lectures").glob("*.ipynb"))
WIDTHS = (1280, 640)
LOOKS, SECONDS_BETWEEN_LOOKS = 20, 0.5  # until nothing is wrong any more

FRAMES = "[...document.querySelectorAll('iframe.live-view')]"
LOADED = f"""return {FRAMES}.filter(frame => frame.contentDocument?.readyState === 'complete'
    && frame.contentDocument.querySelector('main > :not(noscript)')).length"""
SHOW = f"{FRAMES}[arguments[0]].scrollIntoView()"
SHOW_THE_VIEW = f"""{FRAMES}.find(frame => frame.contentDocument.querySelector('main')
    .dataset.view !== 'question').scrollIntoView()"""
BUSY = f"return {FRAMES}[arguments[0]].contentDocument.querySelector('main').ariaBusy === 'true'"
FOLLOW = """const link = [...document.querySelectorAll('a')].find(link =>
    link.checkVisibility() && link.textContent.startsWith(arguments[0]));
    link?.click(); return Boolean(link)"""
CHANGE = """return jupyterapp.commands.execute('apputils:change-theme', {theme: arguments[0]})"""
DARK = "return document.body.dataset.jpThemeLight === 'false'"
# Frames that scroll; text of one letter a line, cut off, outside of its page, or run into its neighbour.
FAULTS = (
    f"return {FRAMES}"
    + """.flatMap((frame, n) => {
    const [{ width }, inside] = [frame.getBoundingClientRect(), frame.contentDocument];
    const [root, found] = [inside.documentElement, []];
    const tell = (fault, e, ...sizes) => found.push([`frame ${n}, ${width} wide:`, fault,
        e.tagName, e.className, ...sizes, e.textContent.trim().slice(0, 40)].join(' '));
    const isLarger = (one, other) => one > other + 1;
    const boxOfText = (e) => {
        const [texts, range] = [inside.createTreeWalker(e, NodeFilter.SHOW_TEXT), inside.createRange()];
        const boxes = [];
        while (texts.nextNode()) {
            const { data, parentElement } = texts.currentNode;
            if (!data.trim() || parentElement.closest('.unseen') || !parentElement.checkVisibility()) continue;
            range.selectNode(texts.currentNode);
            boxes.push(range.getBoundingClientRect());
        }
        if (!boxes.length) boxes.push(e.getBoundingClientRect());
        const [left, top] = ['left', 'top'].map(side => Math.min(...boxes.map(box => box[side])));
        const [right, bottom] = ['right', 'bottom'].map(side => Math.max(...boxes.map(box => box[side])));
        return { left, top, right, bottom };
    };
    const isInLine = (e) => getComputedStyle(e).display.startsWith('inline');
    const meets = (e, next) => {
        if (!next?.checkVisibility() || next.matches('.unseen') || isInLine(e) || isInLine(next)) return false;
        if (getComputedStyle(next).position === 'absolute') return false; // drawn upon what it meets
        const [one, other] = [boxOfText(e), boxOfText(next)];
        const inARow = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 2;
        return inARow && other.left - one.right < 1;
    };
    if (!width) tell('has no width', root);
    if (isLarger(root.scrollHeight, root.clientHeight) || isLarger(root.scrollWidth, root.clientWidth))
        tell('scrolls', root, root.scrollWidth, root.scrollHeight, root.clientWidth, root.clientHeight);
    for (const e of inside.querySelectorAll('main *:not(.unseen, input, svg, svg *)')) {
        const box = e.getBoundingClientRect();
        const [hasText, style] = [[...e.childNodes].some(node => node.data?.trim()), getComputedStyle(e)];
        if (!e.checkVisibility() || !hasText && style.overflow === 'visible') continue;
        if (hasText && box.width < 60 && box.height > 120) tell('a letter a line', e, box.width, box.height);
        if (isLarger(box.right, root.clientWidth) || isLarger(-box.left, 0)) tell('outside', e, box.left, box.right);
        const isCut = style.overflowX !== 'visible' && isLarger(e.scrollWidth, e.clientWidth)
            || style.overflowY !== 'visible' && isLarger(e.scrollHeight, e.clientHeight);
        if (meets(e, e.nextElementSibling)) tell('runs into', e, e.nextElementSibling.textContent.trim().slice(0, 20));
        if (isCut) tell('is cut', e, e.scrollWidth, e.scrollHeight, e.clientWidth, e.clientHeight);
    }
    return found;
})"""
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """One server for all: JupyterLab as readers start it, and Notebook beside it."""
    folder = tmp_path_factory.mktemp("first_look")
    arguments = [str(ROOT / "tools" / "lab.py"), "--workspace", str(folder / "workspace"),
                 "--LabApp.expose_app_in_browser=True"]  # fmt: skip
    with server(arguments, ROOT, folder / "server.log") as address:
        yield address


@pytest.fixture
def resize(browser):
    def to(width):
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    browser.set_script_timeout(PATIENCE)  # of a page that has no time to answer
    yield to
    browser.set_script_timeout(30)
    browser.get("about:blank")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def wait(browser, script, *arguments, until=bool):
    """What a script returns, once it is as wanted; or what it returned at last."""
    found = waited(lambda: browser.execute_script(script, *arguments), until)
    if not until(found):
        browser.save_screenshot(str(SCREENSHOTS / "first_look_waits.png"))
    return found


def faults(browser):
    """What is wrong once a view has had its time to lay itself out."""
    found = []
    for _ in range(LOOKS):
        if not (found := browser.execute_script(FAULTS)):
            break
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return found


def look_through(browser, lecture, resize, widths, retheme=None):
    """All faults of an opened lecture: unseen, looked at view by view, at the other width, in the dark."""
    count = len(re.findall("<iframe class", lecture.read_text(encoding="utf-8")))
    assert wait(browser, LOADED, until=lambda loaded: loaded == count) == count
    found = [f"not yet seen: {fault}" for fault in faults(browser)]
    for width in widths:
        resize(width)
        for view in range(count):
            browser.execute_script(SHOW, view)
            assert not wait(browser, BUSY, view, until=lambda busy: not busy)
        found += [f"page {width} wide: {fault}" for fault in faults(browser)]
        browser.execute_script(SHOW_THE_VIEW)
        picture(browser, lecture, width)
        if retheme:
            retheme("Dark")
            found += [f"dark page {width} wide: {fault}" for fault in faults(browser)]
            picture(browser, lecture, f"{width}_dark")
            retheme("Light")
    return found


def picture(browser, lecture, name):
    browser.save_screenshot(str(SCREENSHOTS / f"first_look_{lecture.name[:2]}_{name}.png"))


def end_kernels(address):
    asked = f"{address}/api/sessions"
    headers = {"Authorization": f"token {TOKEN}"}
    with urllib.request.urlopen(urllib.request.Request(asked, headers=headers)) as answer:
        sessions = json.load(answer)
    for session in sessions:
        place = f"{asked}/{session['id']}"
        urllib.request.urlopen(
            urllib.request.Request(place, headers=headers, method="DELETE")
        ).close()


def test_lectures_opened_from_the_map_are_whole(browser, address, resize):
    def retheme(theme):
        browser.execute_script(CHANGE, f"JupyterLab {theme}")
        assert wait(browser, DARK, until=lambda dark: dark == (theme == "Dark")) == (
            theme == "Dark"
        )

    resize(WIDTHS[0])
    browser.get(f"{address}/lab/tree/course_map.md?token={TOKEN}&reset")
    wait(browser, "return document.querySelectorAll('.jp-RenderedMarkdown a').length")
    retheme("Light")
    found = {}
    for lecture in LECTURES:
        number = int(lecture.name[:2])
        widths = WIDTHS if number % 2 else WIDTHS[::-1]  # every other one is narrow at first
        resize(widths[0])
        assert wait(browser, FOLLOW, f"Lecture {number}:"), "no link in the map"
        if seen := look_through(browser, lecture, resize, widths, retheme):
            found[lecture.name] = seen
        browser.execute_script("return jupyterapp.commands.execute('application:close')")
        end_kernels(address)
    assert found == {}, json.dumps(found, indent=1, ensure_ascii=False)


def test_lectures_opened_in_notebook_are_whole(browser, address, resize):
    found = {}
    for lecture in LECTURES:
        resize(WIDTHS[0])
        browser.get(f"{address}/notebooks/lectures/{lecture.name}?token={TOKEN}")
        if seen := look_through(browser, lecture, resize, WIDTHS):
            found[lecture.name] = seen
        end_kernels(address)
    assert found == {}, json.dumps(found, indent=1, ensure_ascii=False)
