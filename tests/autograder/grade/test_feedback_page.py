"""The page that a student reads, from a graded notebook and what the gradebook holds."""

import re
from dataclasses import replace
from functools import partial

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder.checks.course import Course
from autograder.checks.verdicts import VERDICT_MIME, Obstacle, PartVerdict, StepVerdict, Waived
from autograder.grade import self_check
from autograder.grade.feedback_page import (
    Mark,
    Plan,
    feedback_page,
    on_site,
    page_that_could_not_be_run,
    plan_of,
)
from autograder.grade.formulas import formulas_set
from autograder.grade.report import Report, errors_of_tests, put_into, report_in
from autograder.grade.self_check import SelfCheck, page
from autograder.sandbox import bubblewrap

LARGEST = 500_000  # bytes of a page
RIGHT = StepVerdict("it doubles", 1.0, 1.0)
WRONG = StepVerdict("it halves", 0.0, 1.0, "a case", "row [0] should be [1] and is [2]")


def marked(cell, name, **marks):
    cell.metadata["nbgrader"] = NotebookNode(grade_id=name, **marks)
    return cell


def assignment(answer="def double(x):\n    return 2 * x", essay="Because $x^2 > 0$.", more=()):
    """A notebook with a part, some cells of a student's own, and a question in words."""
    return new_notebook(
        cells=[
            new_markdown_cell(
                "# Assignment 0: doubles\n\nRead [lecture 1](../../lectures/1.ipynb)."
            ),
            new_markdown_cell("## 1. Twice as much\n\nWrite `double`."),
            marked(new_code_cell(answer), "double", solution=True),
            *more,
            marked(new_code_cell("assert True"), "test_double", grade=True, points=0, locked=True),
            marked(new_code_cell("# 2 points"), "check_double", grade=True, points=2, locked=True),
            new_markdown_cell("## 2. Why\n\nWhy is it so?"),
            marked(new_markdown_cell(essay), "why", grade=True, points=3, solution=True),
        ]
    )


def report_on(notebook, verdict):
    """What became of a notebook whose part was decided like this."""
    return Report(verdicts={"double": verdict}, tests=errors_of_tests(notebook.cells))


def shown(notebook, *steps, marks=None, **others):
    """The page on a notebook whose part was decided like this."""
    reads = others.pop("reads", ("lecture 1", "l1.ipynb"))
    verdict = PartVerdict("double", "double(x)", steps, reads=reads, **others.pop("verdict", {}))
    marks = marks or {"check_double": Mark(verdict.earned, 2.0), "why": Mark(0.0, 3.0, waits=True)}
    report = report_on(notebook, verdict)
    return feedback_page(plan_of(assignment("x", "y")), notebook, report, marks, **others)


def words(page):
    text = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_the_plan_is_the_assignments_own_text():
    plan = plan_of(assignment())
    assert plan.title == "Assignment 0: doubles"
    assert [(task.number, task.title, task.of) for task in plan.tasks] == [
        ("1", "Twice as much", 2.0), ("2", "Why", 3.0),
    ]  # fmt: skip
    assert [task.in_words for task in plan.tasks] == [False, True]


def test_first_stands_what_counts_and_what_to_do():
    text = words(shown(assignment(), RIGHT, WRONG))
    assert text.index("1 of 5 points") < text.index("3 of the 5 are still to come")
    assert "Next: begin with part 1, Twice as much . Read again: lecture 1." in text
    assert text.index("Next:") < text.index("it doubles") < text.index("def double")
    assert "on a case: row [0] should be [1] and is [2]" in text


NAMED = {"mistakes": (("halved", "You divide by 2, so multiply instead."),)}


def test_the_name_of_a_mistake_comes_before_the_steps_and_raw_numbers_are_folded():
    page = shown(assignment(), RIGHT, WRONG, verdict=NAMED)
    part = page[page.index("<section") :]
    places = [part.index(text) for text in ("<strong>Halved.", "Read again", "it doubles")]
    assert places == sorted(places)
    folded = "".join(re.findall(r"<details>.*?</details>", part, flags=re.DOTALL))
    assert part.count("row [0] should be") == folded.count("row [0] should be") == 1


def test_the_error_of_a_visible_test_is_a_block():
    notebook = assignment()
    visible = next(c for c in notebook.cells if "test_double" in str(c.metadata))
    visible.outputs = [new_output("error", ename="AssertionError", evalue="a\nb", traceback=[])]
    page = shown(notebook, RIGHT, WRONG)
    assert '<pre class="error" tabindex="0">AssertionError: a\nb</pre>' in page


@pytest.mark.parametrize(("more", "said"), [("", True), ('\n\n\ncheck("double")', False)])
def test_of_an_example_that_no_class_runs_nothing_is_said(more, said):
    notebook = assignment()
    visible = next(c for c in notebook.cells if "test_double" in str(c.metadata))
    visible.source += more
    assert ("The visible tests passed" in shown(notebook, RIGHT)) == said


LINK = "../../lectures/02_title.ipynb#2.-A-heading"


@pytest.mark.parametrize(
    ("site", "address"),
    [("https://host/course/", "https://host/course/lectures/02_title.html#2.-A-heading"), ("", "")],
)
def test_the_lecture_to_read_again_is_a_link_where_the_site_is_known(site, address):
    leads_to = partial(on_site, site)
    page = shown(assignment(), RIGHT, WRONG, reads=("lecture 2", LINK), leads_to=leads_to)
    links = re.findall(r'Read again: <a href="([^"]+)">lecture 2</a>', page)
    assert links == ([address] * 2 if address else [])
    assert page.count("Read again") == 2


def test_at_home_it_is_a_link_to_the_lecture_beside_the_notebook(monkeypatch, tmp_path):
    verdict = PartVerdict("double", "double(x)", (WRONG,), reads=("lecture 2", LINK))
    report = report_on(assignment(), verdict)
    checked = SelfCheck(report, plan_of(assignment()), assignment(), bubblewrap.FULL)
    monkeypatch.setattr(self_check, "course", lambda: Course("assignments"))
    places = tmp_path / "exercises/a0/a0.ipynb", tmp_path / "pages/a0.html"
    assert "../lectures" not in page(checked, *places)
    lecture = tmp_path / "lectures/02_title.ipynb"
    lecture.parent.mkdir()
    lecture.touch()
    assert 'href="../lectures/02_title.ipynb#2.-A-heading"' in page(checked, *places)


def test_a_person_comes_before_the_parts():
    marks = {
        "check_double": Mark(1.5, 2.0, by_hand=True, found=1.0),
        "why": Mark(2.5, 3.0, by_hand=True),
    }
    page = shown(
        assignment(), RIGHT, WRONG, marks=marks, comments={"why": "**Well** said: $x^2$ <script>"}
    )
    text = words(page)
    assert "4 of 5 points" in text and "still to come" not in text
    assert text.index("From your instructor") < text.index("it doubles")
    assert "<strong>Well</strong>" in page and "said: $x^2$" in page and "<script" not in page
    assert "1.5 of 2 points" in text and "(the checks alone: 1)" in text


def test_all_points_by_hand_do_not_hide_what_the_checks_found():
    marks = {
        "check_double": Mark(2.0, 2.0, by_hand=True, found=1.0),
        "why": Mark(3.0, 3.0, by_hand=True),
    }
    text = words(shown(assignment(), RIGHT, WRONG, marks=marks))
    assert "nothing to mend" not in text
    assert "No points are missing. In part 1, Twice as much , your instructor has given all" in text


def test_a_right_part_that_a_person_gave_less_for_is_not_to_be_begun_anew():
    marks = {
        "check_double": Mark(1.0, 2.0, by_hand=True, found=2.0),
        "why": Mark(3.0, 3.0, by_hand=True),
    }
    text = words(shown(assignment(), RIGHT, RIGHT, marks=marks))
    assert "Next: look again at part 1" in text
    comments = {"double": "Not your own."}
    text = words(shown(assignment(), RIGHT, RIGHT, marks=marks, comments=comments))
    assert "Next: read what your instructor wrote on part 1" in text


def test_more_points_than_there_are_and_points_in_the_wrong_box_are_told():
    marks = {
        "check_double": Mark(2.0, 2.0),
        "test_double": Mark(2.0, 0.0, by_hand=True),
        "why": Mark(3.0, 3.0, by_hand=True),
    }
    text = words(shown(assignment(), RIGHT, RIGHT, marks=marks))
    assert "7 of 5 points That is more than there is to be had" in text
    assert "2 of them are your instructor's for test_double , beside the parts below." in text
    marks["test_double"] = Mark(0.0, 0.0)
    text = words(shown(assignment(), RIGHT, RIGHT, marks=marks))
    assert "5 of 5 points" in text and "more than" not in text and "beside the parts" not in text


def test_words_that_were_not_written_earn_nothing_and_wait_for_nobody():
    notebook = assignment(essay="YOUR ANSWER HERE")
    verdict = PartVerdict("double", "double(x)", (RIGHT, RIGHT))
    report = replace(report_on(notebook, verdict), unanswered=("why",))
    marks = {"check_double": Mark(2.0, 2.0), "why": Mark(0.0, 3.0)}
    text = words(feedback_page(plan_of(assignment("x", "y")), notebook, report, marks))
    assert "still to come" not in text and "YOUR ANSWER HERE" not in text
    assert "Next: go on with part 2, Why . It is not answered yet." in text
    assert "There is no answer in the cell for it." in text


def test_lateness_and_its_price_are_told():
    marks = {"check_double": Mark(2.0, 2.0), "why": Mark(3.0, 3.0, by_hand=True)}
    text = words(shown(assignment(), RIGHT, RIGHT, marks=marks, penalty=1.5))
    assert "3.5 of 5 points It came in late: 1.5 points taken off , of 5" in text
    assert "There is nothing to mend: every part is right." in text


@pytest.mark.parametrize(
    ("error", "doubted"), [("AssertionError", True), ("ModuleNotFoundError", False)]
)
def test_a_visible_test_that_stops_beside_full_points_is_looked_at_by_a_person(error, doubted):
    notebook = assignment()
    visible = next(c for c in notebook.cells if "test_double" in str(c.metadata))
    visible.outputs = [new_output("error", ename=error, evalue="3 is not 6", traceback=[])]
    marks = {"check_double": Mark(2.0, 2.0), "why": Mark(3.0, 3.0, by_hand=True)}
    text = words(shown(notebook, RIGHT, RIGHT, marks=marks))
    assert ("A person will look at part 1, Twice as much" in text) == doubted
    assert ("nothing to mend" in text) != doubted
    right = PartVerdict("double", "double(x)", (RIGHT, RIGHT))
    found = report_on(notebook, right).doubted
    assert found == ({"double": "AssertionError: 3 is not 6"} if doubted else {})


def test_a_visible_test_that_an_earlier_part_stops_needs_no_person():
    notebook = assignment()
    visible = next(c for c in notebook.cells if "test_double" in str(c.metadata))
    stop = new_output("error", ename="AssertionError", evalue="3 is not\n6", traceback=[])
    visible.outputs = [stop]
    marks = {"check_double": Mark(2.0, 2.0), "why": Mark(3.0, 3.0, by_hand=True)}
    text = words(shown(notebook, RIGHT, RIGHT, marks=marks, verdict={"stood_in": ("earlier",)}))
    assert "A person will look" not in text and "nothing to mend" in text
    assert "still use your own version of the earlier part, so they stop with" in text
    right = PartVerdict("double", "double(x)", (RIGHT, RIGHT), stood_in=("earlier",))
    assert report_on(notebook, right).doubted == {}


def test_what_is_wrong_and_charged_elsewhere_has_a_sign_of_its_own():
    also = StepVerdict("it halves", 1.0, 1.0, "a case", "off", waived=Waived.SAME)
    wrong = StepVerdict("it doubles", 0.0, 1.0, "a case", "row [0] is wrong")
    page = shown(assignment(), also, wrong)
    assert "(✗) it halves (1 of 1; wrong here too, as the same mistake explains" in words(page)
    folded = re.findall(r"<details>.*?</details>", page, flags=re.DOTALL)
    assert "on a case: off" in folded[0] and not any("row [0] is wrong" in one for one in folded)


def test_a_notebook_that_did_not_end_says_so_once():
    remark = "The notebook's process ended in the cell `double`."
    text = words(
        shown(assignment(), WRONG, WRONG, verdict={"remark": remark, "obstacle": Obstacle.STOPPED})
    )
    assert text.count("process ended in the cell") == 1
    assert text.index("Your notebook did not come to its end.") < text.index("Not decided")


def test_what_a_student_wrote_does_nothing():
    acts = (
        "<script>alert(1)</script><img src=x onerror=alert(2)><a href='javascript:alert(3)'>x</a>"
    )
    own = new_code_cell(f"print({acts!r})")
    own.outputs = [
        new_output("stream", name="stdout", text=acts),
        new_output("display_data", {"text/html": acts + "<style>*{}</style>"}),
        new_output("display_data", {"image/png": '"><script>alert(4)</script>'}),
        new_output("error", ename=acts, evalue=acts, traceback=[acts]),
    ]
    essay = acts + r" $\href{javascript:alert(5)}{x}$ $\text{<img src=x onerror=alert(6)>}$"
    page = shown(assignment(f"# {acts}", essay, [own, new_markdown_cell(acts)]), RIGHT, WRONG)
    for tag in re.findall(r"<(?!/)[^>]*>", page.split("</style>")[1]):
        assert re.match(r"<[a-z]\w*", tag), tag
        assert not re.search(r"<script|onerror|javascript:|<style", tag), tag
    assert 'src="data:image/png;base64,scriptalert4/script"' in page


def test_formulas_are_set_and_what_is_none_stays_as_it_was():
    found = formulas_set(r"<p>$\sqrt{d_k}$, 5$ or 6$, $\frac{$ and <code>$x$</code></p>")
    assert found.count("<math") == 1 and "<msqrt>" in found
    assert "5$ or 6$" in found and r"$\frac{$" in found and "<code>$x$</code>" in found


@pytest.mark.parametrize("way", ["code", "text", "prints", "tables", "pictures", "marks"])
def test_a_page_stays_small_whatever_was_written(way):
    own = new_code_cell("show()")
    answer, essay = "def double(x): ...", "Short."
    if way == "code":
        answer = "x = [1, 2, 3]  # long\n" * 40_000
    elif way == "text":
        essay = "word " * 200_000
    elif way == "marks":
        essay = "*_`<&$" * 100_000
    elif way == "prints":
        own.outputs = [new_output("stream", name="stdout", text="<&>" * 900_000)]
    elif way == "tables":
        table = {"text/html": f"<table>{'<tr><td>1</td></tr>' * 4000}</table>"}
        own.outputs = [new_output("display_data", table)] * 30
    else:
        own.outputs = [new_output("display_data", {"image/png": "A" * 120_000})] * 30
    page = shown(assignment(answer, essay, [own]), RIGHT, WRONG)
    assert len(page.encode()) < LARGEST
    assert way == "pictures" or "too long for this page" in words(page)


def test_a_verdict_of_an_earlier_year_is_still_read():
    steps = [{"asks": "it doubles", "earned": 0.0, "points": 1.0, "case": "", "problem": ""}]
    held = {
        "part": "double", "signature": "double(x)", "steps": steps, "obstacle": "not answered",
        "remark": "This part is not answered yet.", "earned": 0.0, "points": 1.0,
    }  # fmt: skip
    notebook = assignment()
    check = next(c for c in notebook.cells if "check_double" in str(c.metadata))
    check.outputs = [new_output("display_data", {VERDICT_MIME: held})]
    notebook.metadata["restored"] = {"edited": ["test_double"], "deleted": []}
    report = report_in(notebook)
    verdict = report.verdicts["double"]
    assert verdict.obstacle is Obstacle.UNANSWERED and verdict.steps[0].asks == "it doubles"
    assert report.restored.edited == ("test_double",)
    put_into(notebook, report)
    del notebook.metadata["restored"]
    assert report_in(notebook) == report
    check.outputs[0].data[VERDICT_MIME]["obstacle"] = "nonsense"
    del notebook.metadata["report"]
    assert report_in(notebook).verdicts == {}


def test_whoever_sent_no_notebook_is_told_what_to_do():
    plan = Plan("Assignment 0: doubles", plan_of(assignment()).tasks)
    report = Report("not a notebook: the file is not JSON", no_json=True)
    text = words(page_that_could_not_be_run(plan, report))
    assert "Assignment 0: doubles" in text and "0 of 5 points so far" in text
    assert "Nothing is lost" in text and "python -m autograder check" in text
    assert "Not a notebook: the file is not JSON." in text and "cut short" in text
    assert "cut short" not in words(page_that_could_not_be_run(plan, Report("it is a link")))
