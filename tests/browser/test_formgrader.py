"""What an instructor sees: the class in nbgrader's formgrader, and the feedback pages."""

from tests.browser.conftest import SCREENSHOTS, TOKEN
from tests.browser.test_jupyterlab import find
from tests.sample_class import ASSIGNMENT


def test_the_formgrader_shows_the_class(browser, serve, course, rows):
    address = serve(["-m", "jupyterlab"], course)
    browser.get(f"{address}/lab?token={TOKEN}")  # signs in: the formgrader's own calls need it
    find(browser, "//div[contains(@class,'lm-MenuBar-itemLabel') and text()='File']")
    browser.get(f"{address}/formgrader/manage_submissions/{ASSIGNMENT}")
    find(browser, "//td[contains(.,'softmax_over_columns')]")
    browser.save_screenshot(str(SCREENSHOTS / "formgrader_submissions.png"))
    table = find(browser, "//tr[contains(.,'softmax_over_columns')]").text
    assert "7" in table and "10" in table

    browser.get(f"{address}/formgrader/gradebook/{ASSIGNMENT}/{ASSIGNMENT}")
    find(browser, "//td[contains(.,'/ 10')] | //td[contains(.,'10')]")
    browser.save_screenshot(str(SCREENSHOTS / "formgrader_gradebook.png"))


def test_the_feedback_page_says_what_went_wrong(browser, course, rows):
    page = course / "feedback" / "softmax_over_columns" / ASSIGNMENT / f"{ASSIGNMENT}.html"
    browser.get(page.as_uri())
    told = find(browser, "//b[contains(.,'Softmax over the columns')]")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", told)
    browser.save_screenshot(str(SCREENSHOTS / "feedback.png"))
    assert "Read again" in browser.page_source
