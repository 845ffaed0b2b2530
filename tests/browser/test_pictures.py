"""In JupyterLab a picture has its alternative text, before and after its cell ran."""

import time

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from tests.browser.conftest import SCREENSHOTS, TOKEN
from tests.browser.test_jupyterlab import lab, run_all  # noqa: F401  lab is a fixture
from tests.sample_class import ROOT

pytestmark = pytest.mark.long

SETTING = "from lecture_kit import plotting\nplotting.use_course_style()"
PICTURE = """figure, ax = plotting.panels(1)
plotting.curves(ax, [1, 2], {{"attention": [1, {0}]}})
plotting.picture(figure, alt="a curve that rises to {0}", caption="It rises to {0}.")"""
ALTS = ["a curve that rises to 2", "a curve that rises to 3"]
IMAGES = """return [...document.querySelectorAll(".jp-OutputArea-output img")].map(image => ({
    alt: image.alt, drawn: image.complete && image.naturalWidth > 0,
    kind: image.currentSrc.slice(5, 14), theme: getComputedStyle(image).colorScheme}))"""


@pytest.fixture
def notebook():
    cells = [new_code_cell(SETTING), *(new_code_cell(PICTURE.format(k)) for k in (2, 3))]
    made = new_notebook(cells=cells)
    NotebookClient(
        made, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    ).execute()
    return made


def images(browser, wanted):
    """What the page shows, waited for until every image is `wanted`."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        shown = browser.execute_script(IMAGES)
        if len(shown) == len(ALTS) and all(map(wanted, shown)):
            break
        time.sleep(0.3)
    browser.save_screenshot(str(SCREENSHOTS / "pictures.png"))
    return shown


def test_pictures_have_their_text_and_follow_the_theme(browser, lab, notebook):  # noqa: F811
    address, workspace = lab
    nbformat.write(notebook, workspace / "pictures.ipynb")
    browser.get(f"{address}/lab/tree/pictures.ipynb?token={TOKEN}")

    # as stored, from somebody else: JupyterLab takes out what it does not trust, the text stays
    stored = images(browser, lambda image: image["drawn"])
    assert [image["alt"] for image in stored] == ALTS
    assert all(image["drawn"] for image in stored)
    captions = browser.find_elements("css selector", ".jp-OutputArea-output figcaption")
    assert [caption.text for caption in captions] == ["It rises to 2.", "It rises to 3."]

    # run by the reader, the picture is the one that knows dark pages
    run_all(browser)
    for light, theme in (("true", "light"), ("false", "dark")):
        browser.execute_script(f"document.body.dataset.jpThemeLight = '{light}'")
        run = images(browser, lambda image, theme=theme: image["theme"] == theme)
        assert [image["alt"] for image in run] == ALTS
        assert {(image["kind"], image["theme"], image["drawn"]) for image in run} == {
            ("image/svg", theme, True)
        }
