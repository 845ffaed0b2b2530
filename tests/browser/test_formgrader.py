"""What an instructor sees: the class in nbgrader's formgrader, and the feedback pages."""

import dataclasses
import shutil
import sqlite3
import time

import nbformat
import pytest

from tests.browser.conftest import SCREENSHOTS, TOKEN
from tests.browser.test_jupyterlab import find
from tests.sample_class import ASSIGNMENT, ROOT, SETTINGS, grade, hand_in

pytestmark = pytest.mark.long

WRITTEN, QUESTION = "a7_dropout_and_layer_norm", "rows_after_dropout"
ACTS = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"


def test_the_formgrader_shows_the_class(browser, serve, course, rows):
    address = serve(["-m", "jupyterlab"], course)
    browser.get(f"{address}/lab?token={TOKEN}")  # signs in: the formgrader's own calls need it
    find(browser, "//div[contains(@class,'lm-MenuBar-itemLabel') and text()='File']")
    browser.get(f"{address}/formgrader/manage_submissions/{ASSIGNMENT}")
    find(browser, "//td[contains(.,'softmax_over_columns')]")
    browser.save_screenshot(str(SCREENSHOTS / "formgrader_submissions.png"))
    table = find(browser, "//tr[contains(.,'softmax_over_columns')]").text
    assert "9" in table and "10" in table

    browser.get(f"{address}/formgrader/gradebook/{ASSIGNMENT}/{ASSIGNMENT}")
    find(browser, "//td[contains(.,'/ 10')] | //td[contains(.,'10')]")
    browser.save_screenshot(str(SCREENSHOTS / "formgrader_gradebook.png"))


def test_the_feedback_page_says_what_went_wrong(browser, course, rows):
    page = course / "feedback" / "softmax_over_columns" / ASSIGNMENT / f"{ASSIGNMENT}.html"
    browser.get(page.as_uri())
    told = find(browser, "//strong[contains(.,'Softmax over the columns')]")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", told)
    browser.save_screenshot(str(SCREENSHOTS / "feedback.png"))
    assert "Read again" in browser.page_source


def hand_in_an_essay(course):
    """One submission of the assignment with a written question; it tries to act on its reader."""
    notebook = nbformat.read(ROOT / f"exercises/{WRITTEN}/{WRITTEN}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == QUESTION:
            cell.source = f"The kept weights grow, so a row sums to 1 on average only. {ACTS}"
    show = f"from IPython.display import HTML\nHTML({ACTS!r})"
    notebook.cells.append(nbformat.v4.new_code_cell(show, id="own"))
    hand_in(course, {"ada": notebook}, WRITTEN)


def manual_score(course):
    question = "select manual_score, grade.id from grade join base_cell on base_cell.id = cell_id"
    with sqlite3.connect(course / "gradebook.db") as gradebook:
        return gradebook.execute(f"{question} where name = '{QUESTION}'").fetchone()


def test_a_grade_given_by_hand_outlives_the_next_batch(browser, serve, tmp_path):
    course = tmp_path / "course"
    hand_in_an_essay(course)
    (course / "figures").mkdir()
    shutil.copy(ROOT / "figures/norm_axes.svg", course / "figures")

    def graded(**changes):
        settings = dataclasses.replace(SETTINGS, **changes)
        (row,) = grade(course, settings=settings, assignment=WRITTEN)
        return row

    before = graded()
    assert before.needs_person and QUESTION in " ".join(before.reasons)

    address = serve(["-m", "jupyterlab"], course)
    browser.get(f"{address}/lab?token={TOKEN}")
    find(browser, "//div[contains(@class,'lm-MenuBar-itemLabel') and text()='File']")
    browser.get(f"{address}/formgrader/gradebook/{WRITTEN}/{WRITTEN}")
    find(browser, "//a[contains(@href,'/formgrader/submissions/')]").click()
    box = find(browser, f"//input[@id='{QUESTION}']")
    assert browser.title != "owned"
    assert "Each question is worth one point" in browser.page_source, "the rubric"
    pictures = (
        "return [...document.querySelectorAll('#notebook img[src]')].map(img => img.naturalWidth)"
    )
    assert min(browser.execute_script(pictures)) > 0, "the assignment's picture"
    wide = "return [document.documentElement.scrollWidth, window.innerWidth]"
    needed, there = browser.execute_script(wide)
    assert needed <= there, "nothing to scroll sideways"
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map(one => one.name)"
    )
    assert loaded and all(one.startswith((address, "data:")) for one in loaded), (
        "nothing from elsewhere"
    )
    deadline = time.monotonic() + 20
    while manual_score(course)[0] is None and time.monotonic() < deadline:
        if not box.get_property("value"):  # the page empties its boxes when it has loaded
            box.send_keys("1.5")
            browser.execute_script("arguments[0].blur()", box)
        time.sleep(0.2)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", box)
    browser.save_screenshot(str(SCREENSHOTS / "formgrader_manual.png"))
    assert manual_score(course)[0] == 1.5

    after = graded(again=True)
    assert manual_score(course)[0] == 1.5
    assert after.points == before.points + 1.5
    assert browser.title != "owned"
    page = course / "feedback" / "ada" / WRITTEN / f"{WRITTEN}.html"
    browser.get(page.as_uri())
    find(browser, "//*[contains(.,'on average only')]")
    assert browser.title != "owned" and "Each question is worth" not in browser.page_source


def test_what_cannot_be_run_is_settled_by_points_in_its_cells(browser, serve, tmp_path):
    course = tmp_path / "course"
    hand_in(course, {"ada": f"no notebook, {ACTS}"})
    [row] = grade(course)
    assert row.failed and row.needs_person

    address = serve(["-m", "jupyterlab"], course)
    browser.get(f"{address}/lab?token={TOKEN}")
    find(browser, "//div[contains(@class,'lm-MenuBar-itemLabel') and text()='File']")
    browser.get(f"{address}/formgrader/gradebook/{ASSIGNMENT}/{ASSIGNMENT}")
    find(browser, "//a[contains(@href,'/formgrader/submissions/')]").click()
    find(browser, "//*[contains(.,'This work could not be run')]")
    for part in row.possible:
        box = find(browser, f"//input[@id='check_{part}']")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", box)
        deadline = time.monotonic() + 20
        while given(course, part) is None and time.monotonic() < deadline:
            if not box.get_property("value"):
                box.send_keys("0.5")
                browser.execute_script("arguments[0].blur()", box)
            time.sleep(0.2)
    browser.execute_script("window.scrollTo(0, 0)")
    browser.save_screenshot(str(SCREENSHOTS / "formgrader_not_run.png"))
    [row] = grade(course)
    assert (row.points, row.needs_person) == (0.5 * len(row.possible), False)


def given(course, part):
    question = "select manual_score from grade join base_cell on base_cell.id = cell_id"
    with sqlite3.connect(course / "gradebook.db") as gradebook:
        return gradebook.execute(f"{question} where name = 'check_{part}'").fetchone()[0]
