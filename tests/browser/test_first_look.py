"""What a reader sees of the views at first: lectures just opened, with their stored outputs alone.

JupyterLab and Notebook lay out no cell that is off the screen. So a view is loaded there before it has
a width, and must be right whether it is looked at or not.
"""

import json
import re
import time
import urllib.request

import pytest

from tests.browser.conftest import SCREENSHOTS, TOKEN, server
from tests.sample_class import ROOT

pytestmark = pytest.mark.long

LECTURES = sorted((ROOT / "lectures").glob("*.ipynb"))
WIDTHS = (1280, 640)
PATIENCE = 300
"""Seconds that nothing takes, whatever else the machine does: a wait ends with what it waits for."""

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
DARK = "return document.body.dataset.jpThemeLight === 'false'"
# Frames that scroll; text of one letter a line, cut off, or outside of its page.
FAULTS = f"""return {FRAMES}.flatMap((frame, n) => {{
    const [{{ width }}, inside] = [frame.getBoundingClientRect(), frame.contentDocument];
    const [root, found] = [inside.documentElement, []];
    const tell = (fault, e, ...sizes) => found.push([`frame ${{n}}, ${{width}} wide:`, fault,
        e.tagName, e.className, ...sizes, e.textContent.trim().slice(0, 40)].join(' '));
    const isLarger = (one, other) => one > other + 1;
    if (!width) tell('has no width', root);
    if (isLarger(root.scrollHeight, root.clientHeight) || isLarger(root.scrollWidth, root.clientWidth))
        tell('scrolls', root, root.scrollWidth, root.scrollHeight, root.clientWidth, root.clientHeight);
    for (const e of inside.querySelectorAll('main *:not(.unseen, input, svg, svg *)')) {{
        const box = e.getBoundingClientRect();
        const [hasText, style] = [[...e.childNodes].some(node => node.data?.trim()), getComputedStyle(e)];
        if (!e.checkVisibility() || !hasText && style.overflow === 'visible') continue;
        if (hasText && box.width < 60 && box.height > 120) tell('a letter a line', e, box.width, box.height);
        if (isLarger(box.right, root.clientWidth) || isLarger(-box.left, 0)) tell('outside', e, box.left, box.right);
        const isCut = style.overflowX !== 'visible' && isLarger(e.scrollWidth, e.clientWidth)
            || style.overflowY !== 'visible' && isLarger(e.scrollHeight, e.clientHeight);
        if (isCut) tell('is cut', e, e.scrollWidth, e.scrollHeight, e.clientWidth, e.clientHeight);
    }}
    return found;
}})"""


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
    deadline = time.monotonic() + PATIENCE
    while not until(found := browser.execute_script(script, *arguments)):
        if time.monotonic() > deadline:
            browser.save_screenshot(str(SCREENSHOTS / "first_look_waits.png"))
            return found
        time.sleep(0.1)
    return found


def faults(browser):
    return wait(browser, FAULTS, until=lambda found: not found)


def look_through(browser, lecture, resize, widths):
    """All faults of an opened lecture: unseen, looked at view by view, and at the other width."""
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
        browser.save_screenshot(str(SCREENSHOTS / f"first_look_{lecture.name[:2]}_{width}.png"))
    return found


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


@pytest.mark.parametrize(("theme", "widths"), [("Light", WIDTHS), ("Dark", WIDTHS[::-1])])
def test_lectures_opened_from_the_map_are_whole(browser, address, resize, theme, widths):
    resize(widths[0])
    browser.get(f"{address}/lab/tree/course_map.md?token={TOKEN}&reset")
    wait(browser, "return document.querySelectorAll('.jp-RenderedMarkdown a').length")
    change = "jupyterapp.commands.execute('apputils:change-theme', {theme: arguments[0]})"
    browser.execute_script(change, f"JupyterLab {theme}")
    assert wait(browser, DARK, until=lambda dark: dark == (theme == "Dark")) == (theme == "Dark")
    found = {}
    for lecture in LECTURES:
        assert wait(browser, FOLLOW, f"Lecture {int(lecture.name[:2])}:"), "no link in the map"
        if seen := look_through(browser, lecture, resize, widths):
            found[lecture.name] = seen
        browser.execute_script("return jupyterapp.commands.execute('application:close')")
        resize(widths[0])
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
