"""How the website is gathered, and the start of what sets formulas, slow on a busy machine."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinxcontrib import katex

from tools import website
from tools.part import WHOLE

SLOW = """
import socket, sys, time
place = socket.socket(socket.AF_UNIX)
time.sleep({before})
place.bind(sys.argv[1])
time.sleep({between})
place.listen()
place.accept()[0].sendall(b"here")
"""


def extension(name):
    spec = spec_from_file_location(name, website.SITE / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def course_pages():
    return extension("course_pages")


@pytest.fixture(scope="module")
def course_cells():
    return extension("course_cells")


@pytest.mark.parametrize(
    "source, printed, line",
    [
        ("assert a == b", "", "checked: what the cell above computes"),
        ("# the two agree\nassert a == b", "", "checked: the two agree"),
        ("# fmt: off\nassert a == b", "", "checked: what the cell above computes"),
        ("# a note\nassert a\nprint(1)", "they agree", "checked: they agree"),
        ("assert a\nprint(a)", "the first has more: True", "checked: the first has more"),
        ("assert a\nprint(a)", "one\ntwo", "checked: one; two"),
        ("def f():\n    return 1", "", "for the cells below: `f`"),
        ("import math\n\nmath.seed(1)", "", "imports and settings"),
        # these show what is to be read
        ("print('they agree')", "they agree", None),
        ("assert a\nprint(table)", "name   size\nsmall     1", None),
        ("assert a\nprint(list)", "1\n2\n3\n4", None),
        ("assert a\nplot()", None, None),
        ("total = 1 + 1", "", None),
        ("%timeit f()", "", None),
    ],
)
def test_a_hidden_cell_is_called_a_check_only_if_it_asserts(course_cells, source, printed, line):
    said = course_cells.about(source, printed, hidden=True)
    assert (said and said[1]) == line


def test_a_cell_that_is_shown_stays_as_it_is(course_cells):
    assert course_cells.about("assert a == b", "", hidden=False) is None
    assert course_cells.about("import math\nx = 1", "", hidden=False) is None


def test_a_question_stands_on_its_page_without_its_code():
    question = nbformat.v4.new_code_cell(
        'questions.ask("03", "what-the-root-does")', metadata={"tags": ["hide-input"]}
    )
    assert website.for_reading(question).metadata.tags == ["remove-input"]
    other = nbformat.v4.new_code_cell("plot()", metadata={"tags": ["hide-input"]})
    assert website.for_reading(other).metadata.tags == ["hide-input"]


def test_where_a_slide_begins_is_no_part_of_a_page(tmp_path):
    path, place = tmp_path / "x.ipynb", tmp_path / "site-source/lectures/x.ipynb"
    text = "Above.\n\n<!-- slide: A headline -->\n\n- below"
    code = nbformat.v4.new_code_cell("x = 1", metadata={"slide": "Another headline"})
    cells = [nbformat.v4.new_markdown_cell(text), code]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    place.parent.mkdir(parents=True)
    website.prepare(path, place, tmp_path / "site-source/extra", "", WHOLE)
    prepared = place.read_text(encoding="utf-8")
    assert "Above." in prepared and "- below" in prepared
    assert "headline -->" not in prepared and "slide:" not in prepared


def test_links_in_code_stay_as_they_are():
    page, link = website.ROOT / "docs/authors.md", "[lecture 2](02_basic_self_attention.py)"
    text = f"{link}\n\n````\n```python\n# {link}\n```\n````\n\n{link}\n"
    kept = website.within_site(page, text, "https://host/owner/course")
    assert kept.count(link) == 1 and f"# {link}" in kept
    assert kept.count("/blob/main/docs/02_basic_self_attention.py") == 2


NAMES = ("a1_one", "a2_two", "a10_ten")


@pytest.fixture
def gathered(tmp_path):
    """What Sphinx reads of a course with two lectures and three assignments."""
    made = {"lectures/09_x": "Lecture 9: x", "lectures/10_x": "Lecture 10: x"}
    made |= {f"exercises/{name}/{name}": f"Assignment: {name}" for name in NAMES}
    for place, title in made.items():
        links = " ".join(f"[{name}](../exercises/{name}/{name}.ipynb)" for name in NAMES)
        cells = [nbformat.v4.new_markdown_cell(f"# {title}\n\n{links}", id="only")]
        about = {"course": {"summary": "x", "minutes": 1}}
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(
            nbformat.v4.new_notebook(cells=cells, metadata=about), tmp_path / f"{place}.ipynb"
        )
    return tmp_path


def test_every_sidebar_lists_lectures_and_assignments_by_number(gathered):
    home = website.with_pages((website.SITE / "index.md").read_text("utf-8"), gathered)
    pages = [line for line in home.splitlines() if line.startswith(("lectures/", "exercises/"))]
    assert pages == [
        "lectures/09_x", "lectures/10_x", *(f"exercises/{name}/{name}" for name in NAMES)
    ]  # fmt: skip
    assert ":glob:" not in home, "by which Sphinx sorts as it likes"


def test_a_card_lists_the_assignments_of_its_lecture_by_number(course_pages, gathered):
    exercises = course_pages.by_their_numbers(gathered, "exercises/*/*.ipynb")
    card = course_pages.card(gathered / "lectures/09_x.ipynb", gathered, exercises)
    places = [card.find(f"exercises/{name}/{name}.html") for name in NAMES]
    assert -1 not in places and places == sorted(places)


@pytest.mark.parametrize(
    "repository, address",
    [
        ("https://github.com/Owner/course", "https://owner.github.io/course/"),
        ("https://git.school.org/owner/course", ""),
        ("", ""),
    ],
)
def test_where_a_site_will_be_is_known_of_github_alone(repository, address):
    assert website.pages_of(repository) == address


def test_no_line_ends_within_a_number(course_pages):
    paragraph = nodes.paragraph("", "", nodes.Text("12 288 of them, 5 % in 3 runs, "))
    paragraph += nodes.literal("", "5 %")
    document = new_document("page")
    document += paragraph
    course_pages.keep_numbers_together(Mock(), document)
    assert paragraph.astext() == "12\xa0288 of them, 5\xa0% in 3 runs, 5 %"


def answer_with(monkeypatch, program):
    def command(socket):
        return [sys.executable, "-c", program, str(socket)]

    monkeypatch.setattr(katex.KaTeXServer, "build_command", command)


def test_formulas_are_set_where_the_environment_is_a_link(course_pages, monkeypatch, tmp_path):
    (tmp_path / "deep/down").mkdir(parents=True)
    linked = tmp_path / "deep/down/linked"
    linked.symlink_to(katex.SRC_DIR)
    library = tmp_path / "katex.min.js"
    library.touch()
    monkeypatch.setattr(katex, "SRC_DIR", str(linked))
    monkeypatch.setattr(katex.KaTeXServer, "katex_path", str(library))
    monkeypatch.setattr(katex.KaTeXServer, "start_server_process", None)
    course_pages.setup(Mock())
    place = katex.KaTeXServer.build_command()[-1]
    assert Path(linked.resolve(), f"{place}.js").resolve() == library.resolve()


@pytest.mark.parametrize("before, between", [(0, 0.3), (0.3, 0)])
def test_formulas_wait_for_their_server(course_pages, monkeypatch, tmp_path, before, between):
    """It made its socket and does not listen yet, or has made none yet."""
    answer_with(monkeypatch, SLOW.format(before=before, between=between))
    process, connection = course_pages.started_katex(tmp_path, 20)
    with process, connection:
        assert connection.recv(4) == b"here"


@pytest.mark.parametrize("program", ["import time; time.sleep(60)", "raise SystemExit(1)"])
def test_a_server_that_never_listens_is_named_and_ended(
    course_pages, monkeypatch, tmp_path, program
):
    answer_with(monkeypatch, program)
    with pytest.raises(katex.KaTeXError, match="KaTeX server did not"):
        course_pages.started_katex(tmp_path, 0.5)
