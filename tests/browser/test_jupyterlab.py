"""What a newcomer sees: the course map, a lecture that runs, an exercise without answers."""

import contextlib
from pathlib import Path

import nbformat
import pytest
from selenium.common.exceptions import StaleElementReferenceException

from tests.browser.conftest import PATIENCE, SCREENSHOTS, TOKEN, waited
from tests.sample_class import ASSIGNMENT, ROOT

pytestmark = pytest.mark.long

LECTURE = "02_basic_self_attention"
# whether a notebook counts as changed, once it has heard what its kernel says of the language
IS_CHANGED = """const [done] = arguments, { context, sessionContext } = jupyterapp.shell.currentWidget;
    Promise.all([context.ready, sessionContext.ready])
        .then(() => sessionContext.session.kernel.info)
        .then(() => setTimeout(() => requestAnimationFrame(() => done(context.model.dirty))))"""


def find(browser, path):
    """The first visible element at an XPath, waited for."""

    def shown():
        return next(filter(is_displayed, browser.find_elements("xpath", path)), None)

    if found := waited(shown):
        return found
    browser.save_screenshot(str(SCREENSHOTS / "not_found.png"))
    raise AssertionError(f"nothing visible at {path} after {PATIENCE} s; see not_found.png")


def is_displayed(element):
    try:
        return element.is_displayed()
    except StaleElementReferenceException:  # drawn anew since it was found
        return False


def menu(browser, name, entry):
    find(browser, f"//div[contains(@class,'lm-MenuBar-itemLabel') and text()='{name}']").click()
    find(browser, f"//div[contains(@class,'lm-Menu-itemLabel') and text()='{entry}']").click()


def run_all(browser):
    """Run all cells, once there is a kernel: what runs before it is idle is lost."""
    find(browser, "//*[contains(text(), '| Idle')]")
    menu(browser, "Run", "Run All Cells")


def open_tab(browser, label):
    find(browser, f"//div[contains(@class,'lm-TabBar-tabLabel') and text()='{label}']").click()


def with_all_cells_run(path):
    """The notebook of a file that JupyterLab may be writing at this moment; None until all of its cells ran."""
    with contextlib.suppress(nbformat.reader.NotJSONError):
        notebook = nbformat.read(path, 4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        return notebook if all(cell.execution_count for cell in code) else None


@pytest.fixture
def lab(serve, tmp_path):
    workspace = tmp_path / "workspace"
    arguments = [str(ROOT / "tools" / "lab.py"), "--workspace", str(workspace),
                 "--LabApp.expose_app_in_browser=True"]  # fmt: skip
    address = serve(arguments, ROOT)
    return address, workspace


def test_a_newcomer_reads_runs_and_opens_an_exercise(browser, lab):
    address, workspace = lab
    browser.get(f"{address}/?token={TOKEN}")
    link = find(browser, "//a[contains(text(),'Lecture 2')]")
    browser.save_screenshot(str(SCREENSHOTS / "course_map.png"))
    assert "course_map.md" in browser.current_url

    link.click()
    open_tab(browser, f"{LECTURE}.ipynb")
    find(browser, "//h1[contains(.,'Basic self-attention')]")
    lecture = workspace / "lectures" / f"{LECTURE}.ipynb"
    notebook = nbformat.read(lecture, 4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.execution_count, "the copy should come with the stored outputs"
    menu(browser, "Edit", "Clear Outputs of All Cells")
    run_all(browser)
    find(
        browser, "//div[contains(@class,'jp-Notebook-ExecutionIndicator') and @data-status='idle']"
    )

    def saved_as_run():
        menu(browser, "File", "Save Notebook")
        return with_all_cells_run(lecture)

    has_run = waited(saved_as_run)
    browser.save_screenshot(str(SCREENSHOTS / "lecture_run.png"))
    assert has_run, "not every cell of the lecture ran"
    outputs = [output for cell in has_run.cells for output in cell.get("outputs", [])]
    assert [output.evalue for output in outputs if output.output_type == "error"] == []
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any("live-view" in output.get("data", {}).get("text/html", "") for output in outputs)

    open_tab(browser, "course_map.md")
    find(browser, "//a[contains(text(),'Assignment 2')]").click()
    open_tab(browser, f"{ASSIGNMENT}.ipynb")
    find(browser, "//h1[contains(.,'Assignment 2')]")
    browser.save_screenshot(str(SCREENSHOTS / "exercise.png"))
    page = (
        browser.page_source
        + (workspace / "exercises" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text()
    )
    for secret in ("BEGIN SOLUTION", "BEGIN HIDDEN", "grade("):
        assert secret not in page


@pytest.mark.parametrize(
    ("notebook", "title"),
    [
        ("lectures/03_scaled_dot_product_attention", "Scaled dot-product attention"),
        ("exercises/a5_multi_head_attention/a5_multi_head_attention", "Assignment 5"),
    ],
)
def test_a_notebook_opens_alive_and_as_unchanged(browser, lab, notebook, title):
    address, workspace = lab
    browser.get(f"{address}/lab/tree/{notebook}.ipynb?token={TOKEN}")
    find(browser, f"//h1[contains(.,'{title}')]")
    find(browser, "//*[contains(text(), '| Idle')]")  # what a kernel says of its language is known
    frames = (workspace / f"{notebook}.ipynb").read_text(encoding="utf-8").count("<iframe")
    if frames:
        find(browser, "//div[contains(@class,'jp-OutputArea')]//iframe")
    stand_in = "stands in for a live view"
    shown = [element for element in browser.find_elements("xpath", f"//*[contains(text(),'{stand_in}')]")
             if element.is_displayed()]  # fmt: skip
    browser.save_screenshot(str(SCREENSHOTS / f"{Path(notebook).name}_opened.png"))
    assert shown == []
    assert browser.execute_async_script(IS_CHANGED) is False
    assert not browser.find_elements("css selector", ".jp-mod-dirty")
