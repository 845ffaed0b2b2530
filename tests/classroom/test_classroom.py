"""Two students and an instructor in a classroom, each in a real browser: from log-in to feedback.

The hub, the accounts, the exchange and the grading service are real; see `machine`.
"""

import contextlib
import json
import os
import time

import nbformat
import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains

from tests.browser.conftest import SCREENSHOTS, browser
from tests.browser.test_jupyterlab import find
from tests.classroom.machine import HOMES, Machine, missing
from tests.sample_class import ASSIGNMENT, submission

pytestmark = pytest.mark.long

__all__ = ["browser"]

WITHIN = 60  # seconds from handing in to feedback
RIGHT, WRONG, ITS_NAME = "right_loops", "softmax_over_columns", "Softmax over the columns"
# what nobody but the course's account may read, and what belongs to the other student
FORBIDDEN = (
    f"/srv/classroom/course/solutions/{ASSIGNMENT}/{ASSIGNMENT}.ipynb",
    f"/srv/classroom/course/assignments/{ASSIGNMENT}/rubric.py",
    "/srv/classroom/course/autograder/__main__.py",
    "/srv/classroom/course/gradebook.db",
    "/srv/classroom/course/grading/secret",
    "/srv/classroom/state/jupyterhub.sqlite",
    "/srv/classroom/state/people.csv",
    "/srv/classroom/state/passwords.csv",
    f"/srv/checkout/solutions/{ASSIGNMENT}/{ASSIGNMENT}.ipynb",
)
LISTS = (
    "/srv/classroom/course",
    "/srv/classroom/exchange/attention/inbound",
    "/srv/classroom/exchange/attention/feedback",
    "/srv/classroom/state",
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    if why := missing():
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    made = Machine(tmp_path_factory.mktemp("machine") / "hub.log")
    try:
        made.write(
            "/srv/list.csv", "username;role;name\nada;student;Ada\nben;;Ben\nprof;instructor;\n"
        )
        made.tool("add", "/srv/list.csv")
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def passwords(machine):
    text = machine.path("/srv/classroom/state/passwords.csv").read_text(encoding="utf-8")
    return dict(line.split(",") for line in text.splitlines())


class Person:
    """Somebody who is logged in, in the browser that all share one after the other."""

    def __init__(self, browser, machine, name, password):
        self.browser, self.machine, self.name = browser, machine, name
        self.home = f"{HOMES}/{name}/course"
        browser.get(f"{machine.address}/hub/logout")
        browser.delete_all_cookies()
        browser.get(f"{machine.address}/hub/login")
        find(browser, "//input[@name='username']").send_keys(name)
        find(browser, "//input[@name='password']").send_keys(password)
        find(browser, "//*[@id='login_submit']").click()

    def lab(self):
        """JupyterLab with nothing open: after the log-in it opens the course map, before all else."""
        landed = "//div[contains(@class,'lm-MenuBar-itemLabel') and text()='File']"
        find(self.browser, landed)
        self.browser.get(f"{self.machine.server(self.name)}/lab?reset")
        find(self.browser, landed)
        find(self.browser, "//div[contains(@class,'jp-Launcher-body')]")
        return self

    def assignments(self):
        """The list of assignments, as the menu opens it."""
        self.lab()
        click_menu(self.browser, "Nbgrader", "Assignment List")
        find(self.browser, "//*[@id='released_assignments_list']")
        return self

    def click_in(self, listed, button, after=""):
        where = f"//*[@id='{listed}']//button[normalize-space()='{button}']"
        for _ in range(5):  # the list is drawn anew now and then, and takes a button along
            with contextlib.suppress(StaleElementReferenceException):
                find(self.browser, where).click()
                break
        else:
            raise AssertionError(f"no button '{button}' stays in {listed}")
        if after:
            find(self.browser, f"//*[@id='{after}']//*[contains(text(),'{ASSIGNMENT}')]")

    def answer(self, student):
        """Save the notebook with somebody's answers, as JupyterLab saves it."""
        path = f"course/exercises/{ASSIGNMENT}/{ASSIGNMENT}.ipynb".removeprefix("course/")
        body = {"type": "notebook", "format": "json", "content": submission(student)}
        status = self.browser.execute_async_script(
            """const [url, body, done] = arguments;
            const token = document.cookie.split('; ').filter(text => text.startsWith('_xsrf=')).pop();
            fetch(url, {method: 'PUT', body, headers: {'X-XSRFToken': token.slice(6)}})
                .then(answer => done(answer.status), error => done(String(error)));""",
            f"{self.machine.server(self.name)}/api/contents/{path}",
            json.dumps(body),
        )
        assert status == 200

    def submit(self):
        self.click_in("fetched_assignments_list", "Submit", "submitted_assignments_list")
        return time.monotonic()

    def feedback(self, since, says):
        """Fetch feedback in the list of assignments until it says something; seconds until then."""
        pages = self.machine.path(f"{self.home}/exercises/{ASSIGNMENT}/feedback")
        button = "//*[@id='submitted_assignments_list']//button[contains(., 'Fetch Feedback')]"
        while time.monotonic() < since + 4 * WITHIN:
            find(self.browser, "//*[@id='refresh_assignments_list']").click()
            time.sleep(2)  # the list is empty while it loads
            for found in self.browser.find_elements("xpath", button):
                if found.is_displayed():
                    found.click()
                    time.sleep(1)
            newest = max(pages.glob("*/*.html"), default=None) if pages.exists() else None
            if newest and says in newest.read_text(encoding="utf-8"):
                return time.monotonic() - since, newest
        self.browser.save_screenshot(str(SCREENSHOTS / "classroom_no_feedback.png"))
        raise AssertionError(f"no feedback for {self.name} that says {says}")


def click_menu(browser, name, entry):
    find(browser, f"//div[contains(@class,'lm-MenuBar-itemLabel') and text()='{name}']").click()
    find(
        browser, f"//div[contains(@class,'lm-Menu-itemLabel') and starts-with(text(),'{entry}')]"
    ).click()


def test_a_class_hands_in_is_graded_and_reads_its_feedback(browser, machine, passwords):
    # the instructor comes to the class at once, and releases
    Person(browser, machine, "prof", passwords["prof"])
    find(browser, f"//tr[contains(., '{ASSIGNMENT}')]")
    browser.save_screenshot(str(SCREENSHOTS / "classroom_formgrader.png"))
    find(browser, f"//tr[contains(., '{ASSIGNMENT}')]//td[contains(@class,'release')]//a").click()
    outbound = machine.path(f"/srv/classroom/exchange/attention/outbound/{ASSIGNMENT}")
    deadline = time.monotonic() + 60
    while not outbound.exists():
        assert time.monotonic() < deadline, "not released"
        time.sleep(0.2)

    handed_in = {}
    for name, answers in (("ada", RIGHT), ("ben", WRONG)):
        person = Person(browser, machine, name, passwords[name]).assignments()
        person.click_in("released_assignments_list", "Fetch", "fetched_assignments_list")
        person.answer(answers)
        handed_in[name] = person.submit()
        if name == "ada":
            browser.save_screenshot(str(SCREENSHOTS / "classroom_assignments.png"))
            seconds, page = person.feedback(handed_in[name], "10 of 10 points")
            assert seconds < WITHIN, f"ada waited {seconds:.0f} s"
        else:
            seconds, page = person.feedback(handed_in[name], ITS_NAME)
            assert seconds < WITHIN, f"ben waited {seconds:.0f} s"
            assert "9 of 10 points" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name, other", [("ada", "ben"), ("ben", "ada")])
def test_no_student_reads_what_belongs_to_others(browser, machine, passwords, name, other):
    theirs = (f"{HOMES}/{other}/course/exercises/{ASSIGNMENT}/{ASSIGNMENT}.ipynb",)
    inbound = machine.path("/srv/classroom/exchange/attention/inbound")
    assert all(machine.path(place).exists() for place in (*FORBIDDEN, *LISTS, *theirs))
    assert any(path.name.startswith(other) for path in inbound.iterdir())
    Person(browser, machine, name, passwords[name]).lab()

    # from a terminal
    click_menu(browser, "File", "New")
    find(browser, "//div[contains(@class,'lm-Menu-itemLabel') and text()='Terminal']").click()
    places = " ".join((*FORBIDDEN, *theirs))
    command = (
        f"(for f in {places}; do head -c1 $f >/dev/null && echo READ $f; done; "
        f"for d in {' '.join(LISTS)} {HOMES}/{other}; do ls $d >/dev/null && echo READ $d; done; "
        f"find /srv {HOMES} -path '*solutions*.ipynb' -o -name rubric.py; "
        "echo done) > ~/terminal.txt 2>/dev/null"
    )
    screen = find(browser, "//div[contains(@class,'jp-Terminal-body')]")
    time.sleep(3)  # the shell begins
    ActionChains(browser).click(screen).send_keys(command + "\n").perform()
    said = read_until_done(machine, f"{HOMES}/{name}/terminal.txt")
    assert said == "done", said

    # from a notebook
    code = f"""
import os
lines = []
for place in {(*FORBIDDEN, *theirs)!r}:
    try:
        open(place, "rb").read(1)
        lines.append(f"READ {{place}}")
    except OSError:
        pass
for place in {(*LISTS, f"{HOMES}/{other}")!r}:
    try:
        os.listdir(place)
        lines.append(f"READ {{place}}")
    except OSError:
        pass
for module in ("autograder", "assignments"):
    try:
        __import__(module)
        lines.append(f"IMPORTED {{module}}")
    except ImportError:
        pass
open(os.path.expanduser("~/notebook.txt"), "w").write("\\n".join([*lines, "done"]))
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    tried = f"{HOMES}/{name}/course/tried.ipynb"
    machine.write(tried, nbformat.writes(notebook))
    machine.sh(f"chown {name} {tried}")
    browser.get(f"{machine.server(name)}/lab/tree/tried.ipynb?reset")
    find(browser, "//*[contains(text(), '| Idle')]")
    click_menu(browser, "Run", "Run All Cells")
    said = read_until_done(machine, f"{HOMES}/{name}/notebook.txt")
    assert said == "done", said


def read_until_done(machine, path, seconds=60):
    place = machine.path(path)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        text = place.read_text(encoding="utf-8").strip() if place.exists() else ""
        if text.endswith("done"):
            return text
        time.sleep(0.2)
    raise AssertionError(f"nothing was written to {path}")


def test_students_do_not_come_to_the_formgrader(browser, machine, passwords):
    Person(browser, machine, "ada", passwords["ada"]).lab()
    browser.get(machine.formgrader)
    time.sleep(1)
    assert ASSIGNMENT not in browser.page_source
    assert "403" in browser.page_source


def test_a_students_page_reads_nothing_where_an_instructor_is_signed_in(
    browser, machine, passwords
):
    """Whoever is signed in: a page of ada's server, which is ada's program, is of another origin."""
    Person(browser, machine, "ada", passwords["ada"]).lab()
    asked = f"{machine.address}/hub/api/user", f"{machine.address}/hub/token", machine.formgrader
    for address in asked:
        said = browser.execute_async_script(
            """const [url, done] = arguments;
            fetch(url, {credentials: 'include'}).then(answer => done(answer.type), error => done(error.name));""",
            address,
        )
        assert said == "TypeError", address
    # and no student's server answers where the hub does
    browser.get(f"{machine.address}/user/ada/api/status")
    assert not browser.current_url.startswith(f"{machine.address}/user/")


def test_nobody_puts_a_second_course_beside_the_real_one(machine):
    made = machine.sh("mkdir /srv/classroom/exchange/second", user="ada", check=False)
    assert made.returncode and "Permission denied" in made.stderr
    root = machine.path("/srv/classroom/exchange")
    assert [path.name for path in root.iterdir()] == ["attention"]
    settings = machine.path("/srv/classroom/jupyter/student/nbgrader_config.py").read_text()
    assert 'c.CourseDirectory.course_id = "attention"' in settings


def test_a_score_given_by_hand_reaches_the_student(browser, machine, passwords):
    Person(browser, machine, "prof", passwords["prof"])
    find(browser, f"//tr[contains(., '{ASSIGNMENT}')]")
    browser.get(f"{machine.formgrader}/gradebook/{ASSIGNMENT}/{ASSIGNMENT}")
    find(browser, "//a[contains(@href,'/formgrader/submissions/')]")
    links = browser.find_elements("xpath", "//a[contains(@href,'/formgrader/submissions/')]")
    given = {}
    for address in {link.get_attribute("href") for link in links}:
        browser.get(address)
        box = find(browser, "//input[@id='check_attention_weights']")
        time.sleep(2)  # the page fills its boxes when it has loaded
        given[address] = box.get_attribute("placeholder")
        if given[address] == "2":
            box.send_keys("2.5")
            browser.execute_script("arguments[0].blur()", box)
            time.sleep(2)
            browser.save_screenshot(str(SCREENSHOTS / "classroom_by_hand.png"))
    assert sorted(given.values()) == ["2", "3"]
    since = time.monotonic()
    person = Person(browser, machine, "ben", passwords["ben"]).assignments()
    seconds, _ = person.feedback(since, "9.5 of 10 points")
    assert seconds < WITHIN, f"ben waited {seconds:.0f} s for what was given by hand"


def test_after_kill_9_of_the_hub_everybody_goes_on(browser, machine, passwords):
    before = set(machine.processes())
    machine.kill_hub()
    machine.start()
    servers = [command for number, command in machine.processes().items() if number in before and "singleuser" in command]  # fmt: skip
    assert any("course/.jupyterlab" in command for command in servers)  # students' own go on
    person = Person(browser, machine, "ada", passwords["ada"]).assignments()
    person.answer(WRONG)
    since = person.submit()
    seconds, _ = person.feedback(since, ITS_NAME)
    assert seconds < WITHIN, f"ada waited {seconds:.0f} s"
