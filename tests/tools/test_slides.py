"""Slides hold what the marks of a lecture say, show what its notebook ran, and say what does not fit."""

import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from lecture_kit import questions
from tests.build.test_build import LECTURES
from tests.sample_class import ROOT
from tools import slides

TEXT = """# Lecture 1: A title

Said at the title.

## 1. A section

Said at the section.

### A part

<!-- slide: A `list` of $x$ -->

Said at the list.

- one
- two, [linked](02_x.ipynb)

| not | shown |
|---|---|
| as | well |

<!-- slide: A formula -->

$$y = x^2$$

### Another part

Said before the code.

- not shown
"""
SAYS = new_output("stream", text="9\n")


def notebook(*cells):
    return new_notebook(cells=list(cells), metadata={"course": {"summary": "A <short> one."}})


def text(source, **metadata):
    return new_markdown_cell(source, metadata=metadata)


def code(source, *outputs, **metadata):
    return new_code_cell(source, outputs=list(outputs), metadata=metadata)


def html(shown):
    return new_output("display_data", data={"text/html": shown, "text/plain": "a picture"})


def read(*cells):
    return slides.Reader("01_x", notebook(*cells)).slides


def refused(*cells):
    with pytest.raises(slides.SlideError) as stopped:
        read(text("# Lecture 1: x"), *cells)
    return str(stopped.value)


# ------------------------------------------------------------------------------------ what is read


def test_marks_begin_slides_and_paragraphs_are_said():
    found = read(
        text(TEXT),
        code("x = 1\nprint(x)", SAYS),
        code("y = x + 8\nassert y == 9\nprint(y)", SAYS, slide="Nine"),
        text(
            "Said after the code.\n\n## Check yourself\n\nNot said.\n\n## 2. Nothing here\n\nNor this."
        ),
    )
    assert [slide.kind for slide in found] == ["title", "section", "shown", "shown", "code"]
    title, section, listed, formula, nine = found
    assert (title.head, title.body) == ("A title", "<p>A &lt;short&gt; one.</p>")
    assert section.head == "<span>1</span> A section"
    assert listed.head == "A <code>list</code> of <tex inline>x</tex>"
    assert "<li>one</li>\n<li>two, linked</li>" in listed.body and "<td>as</td>" in listed.body
    assert formula.body.strip() == "<tex display>y = x^2</tex>"
    assert "9</pre>" in nine.body and "print" not in nine.body and "assert" not in nine.body
    said = ["at the title", "at the section", "at the list", "", "before the code"]
    for slide, words in zip(found, said, strict=True):
        assert f"<p>Said {words}" in "".join(slide.notes) or not (words or slide.notes)
    assert "not shown" in nine.notes[1] and "Said after the code" in nine.notes[2]
    assert {slide.section for slide in found[1:]} == {"1. A section"}


def test_a_mark_goes_on_until_the_next_slide():
    table = "| a |\n|---|\n| {} |"
    found = read(
        text("# Lecture 1: x\n\n<!-- slide: Two tables -->\n\n" + table.format("first")),
        code("assert True"),
        text(table.format("second")),
        code("z = 1", slide="Code"),
        text(table.format("third")),
    )
    assert "first" in found[1].body and "second" in found[1].body
    assert "third" in found[2].notes[0] and "third" not in found[2].body


def stored(name, kind):
    """The HTML of the first output of a lecture that holds a picture, or a view."""
    for cell in nbformat.read(ROOT / f"lectures/{name}.ipynb", as_version=4).cells:
        for output in cell.get("outputs", []):
            if kind.search(output.get("data", {}).get("text/html", "")):
                return output.data["text/html"]
    raise AssertionError(f"{name} has none")


def test_pictures_views_and_questions_need_no_mark():
    picture = stored("02_basic_self_attention", slides.PICTURE)
    view = stored("11_block_of_today", slides.STORED_FRAME)
    found = read(
        text("# Lecture 1: x"),
        code("plot()", html(picture), html(picture.replace("The vector of bank", "A vector"))),
        code("plot()", SAYS, html(picture), slide="Better"),
        code("show()", html(view)),
        code('questions.ask("02", "a-mean-over-the-words")', slide="Think"),
    )
    assert [slide.kind for slide in found[1:]] == ["shown"] * 3 + ["view", "question"]
    heads = [slide.head for slide in found[1:]]
    assert heads[0].startswith("The vector of bank") and not heads[0].endswith(".")
    assert heads[1].startswith("A vector") and heads[2:3] + heads[4:] == ["Better", "Think"]
    assert "The vector of bank" in found[3].notes[0]


def test_a_question_waits_with_its_answer():
    for lecture in questions.lectures():
        for question in questions.questions_of(lecture):
            page = BeautifulSoup(slides.on_a_slide(question), "html.parser")
            waits = " ".join(part.extract().get_text() for part in page.select(".fragment"))
            assert questions.marked(question.text) in page.decode()
            match question:
                case questions.ChoiceQuestion(choices=choices):
                    [right] = page.select(".right")
                    wanted = next(choice for choice in choices if choice.right)
                    assert right.decode_contents() == questions.marked(wanted.text)
                    assert len(page.select("li")) == len(choices)
                    assert not any(choice.says in page.get_text() for choice in choices)
                case questions.NumberQuestion(answer=answer):
                    assert f"{answer:g}. " in waits
                case questions.OrderQuestion(steps=steps):
                    assert len(page.select("li")) == len(steps)
                    assert (
                        waits.count(
                            BeautifulSoup(questions.marked(steps[0].text), "html.parser").get_text()
                        )
                        == 1
                    )


@pytest.mark.parametrize(
    ("formula", "lines"),
    [
        (r"a = b, \qquad c = d", ["a = b", "c = d"]),
        (r"a = \frac{1}{2}, \quad b", [r"a = \frac{1}{2}", "b"]),
        (r"a \quad \text{if } b", [r"a \quad \text{if } b"]),
        (r"{a \qquad b}", [r"{a \qquad b}"]),
        (r"\begin{cases} a \qquad b \end{cases}", [r"\begin{cases} a \qquad b \end{cases}"]),
    ],
)
def test_formulas_side_by_side_are_stacked(formula, lines):
    shown = read(text(f"# Lecture 1: x\n\n<!-- slide: y -->\n\n$${formula}$$"))[1].body
    assert shown.strip() == "".join(f"<tex display>{line}</tex>" for line in lines)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("x = 1\n# why\nassert x\n\n\n\ny = 2", "x = 1\n\ny = 2"),
        ("x = 1\nfor i in x:\n    print(i)", "x = 1"),
        (
            "for i in x:\n    y = i\n    assert y\n    print(y)",
            "for i in x:\n    y = i\n    print(y)",
        ),
        ("# fmt: off\nx = 1\n# fmt: on", "x = 1"),
        ("print(1)", "print(1)"),
        ("def f(x):\n    assert x\n    return x", "def f(x):\n    assert x\n    return x"),
    ],
)
def test_what_only_tells_is_left_out(source, shown):
    assert slides.essence(source) == shown


# ------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (text("<!-- slide: Bare -->\n\nOnly words."), 'slide "Bare": nothing follows its mark'),
        (text("Words <!-- slide: Inside --> go on."), 'slide "Inside": in text, a mark stands on a line'),
        (text("- a\n\n  <!-- slide: Deep -->"), 'slide "Deep": in text, a mark stands on a line'),
        (text("- a", slide="Tag"), 'slide "Tag": in text, a mark stands on a line'),
        (text("<!-- slide: High -->\n\n" + "- item\n" * 30), r'slide "High": it needs about \d+ lines'),
        (text("<!-- slide: " + "long " * 30 + "-->\n\n- a"), "shorten it to 124 letters"),
        (code("x = 1\n" * 30, slide="Code"), r'"Code": its 30 lines of code, .* letters of 1\d pixels'),
        (code("x = 1", slide="$\text{t}$"), "write two backslashes"),
    ],
)  # fmt: skip
def test_a_slide_that_cannot_be_shown_is_refused_in_words(cell, said):
    message = refused(cell, code("y = 1", slide="Next"))
    assert message.startswith("01_x, slide ")
    assert re.search(said, message), message


def test_a_lecture_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(
        SystemExit, match=r"no slides: expected numbers of lectures .* found '99_x'"
    ):
        slides.main(["--only", "99_x", "--to", str(tmp_path)])


# --------------------------------------------------------------------------------- the lectures


@pytest.fixture(scope="module", params=LECTURES, ids=lambda path: path.stem)
def lecture(request):
    stored = nbformat.read(ROOT / f"lectures/{request.param.stem}.ipynb", as_version=4)
    return stored, slides.Reader(request.param.stem, stored).slides


def is_run_in(shown, cell):
    """Whether all lines of code that are shown are lines of the cell, in its order."""
    source = iter(cell.source.splitlines())
    return all(line in source for line in shown.splitlines() if line.strip())


def test_code_on_a_slide_is_what_the_notebook_ran(lecture):
    stored, found = lecture
    for slide in found:
        if slide.kind == "code":
            shown, *output = [
                part.get_text() for part in BeautifulSoup(slide.body, "html.parser").select("pre")
            ]
            assert shown.strip()
            assert any(
                is_run_in(shown, cell)
                and output == [text for text in [slides.printed_by(cell)] if text]
                for cell in stored.cells
                if slides.markdown().renderInline(cell.metadata.get("slide", "")) == slide.head
            ), slide.head


def test_every_picture_view_and_question_of_a_lecture_is_on_a_slide(lecture):
    stored, found = lecture
    outputs = [
        output.get("data", {}).get("text/html", "")
        for cell in stored.cells
        for output in cell.get("outputs", [])
    ]
    asked = [cell for cell in stored.cells if cell.source.startswith("questions.ask(")]
    kinds = [slide.kind for slide in found]
    assert kinds.count("question") == len(asked)
    assert kinds.count("view") == sum(map(bool, map(slides.STORED_FRAME.search, outputs))) - len(
        asked
    )
    drawn = sum(map(bool, map(slides.PICTURE.search, outputs)))
    assert sum("image/svg+xml" in slide.body and slide.kind == "shown" for slide in found) >= drawn


def test_a_deck_is_one_file(tmp_path):
    slides.main(["--only", "2", "--to", str(tmp_path)])
    [deck] = tmp_path.iterdir()
    page = deck.read_text(encoding="utf-8")
    shell = BeautifulSoup(page, "html.parser")
    assert shell.title.get_text() == "Lecture 2: Basic self-attention"
    assert not shell.select("link, script[src]")
    assert all(image["src"].startswith("data:") for image in shell.select("img"))
    assert set(re.findall(r"url\((?!data:)([^)]*)\)", shell.style.get_text())) <= {"", "#"}
    assert "<tex" not in page and 'class="katex"' in page
    for notes in shell.select("aside.notes"):
        assert not notes.select(".katex-html"), "the presenter's window has no style sheet of KaTeX"
