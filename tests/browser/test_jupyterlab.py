"""What a newcomer sees: the course map, a lecture that runs, an exercise without answers."""

import time
from pathlib import Path

import nbformat
import pytest

from tests.browser.conftest import SCREENSHOTS, TOKEN
from tests.sample_class import ASSIGNMENT, ROOT

pytestmark = pytest.mark.long

LECTURE = "02_basic_self_attention"


def find(browser, path, seconds=60):
    """The first visible element at an XPath, waited for."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for element in browser.find_elements("xpath", path):
            if element.is_displayed():
                return element
        time.sleep(0.2)
    browser.save_screenshot(str(SCREENSHOTS / "not_found.png"))
    raise AssertionError(f"nothing visible at {path} after {seconds} s; see not_found.png")


def menu(browser, name, entry):
    find(browser, f"//div[contains(@class,'lm-MenuBar-itemLabel') and text()='{name}']").click()
    find(browser, f"//div[contains(@class,'lm-Menu-itemLabel') and text()='{entry}']").click()


def run_all(browser):
    """Run all cells, once there is a kernel: what runs before it is idle is lost."""
    find(browser, "//*[contains(text(), '| Idle')]")
    menu(browser, "Run", "Run All Cells")


def open_tab(browser, label):
    find(browser, f"//div[contains(@class,'lm-TabBar-tabLabel') and text()='{label}']").click()


def all_cells_ran(path):
    code = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    return all(cell.execution_count for cell in code)


@pytest.fixture
def lab(serve, tmp_path):
    workspace = tmp_path / "workspace"
    address = serve([str(ROOT / "tools" / "lab.py"), "--workspace", str(workspace)], ROOT)
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
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        menu(browser, "File", "Save Notebook")
        time.sleep(2)
        if all_cells_ran(lecture):
            break
    browser.save_screenshot(str(SCREENSHOTS / "lecture_run.png"))
    assert all_cells_ran(lecture), "not every cell of the lecture ran"
    outputs = [
        output for cell in nbformat.read(lecture, 4).cells for output in cell.get("outputs", [])
    ]
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
    for secret in ("BEGIN SOLUTION", "BEGIN HIDDEN", "autograder.cell"):
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
    time.sleep(2)
    assert not browser.find_elements("css selector", ".jp-mod-dirty")
