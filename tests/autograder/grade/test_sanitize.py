import time
from html.parser import HTMLParser

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbconvert.filters import markdown2html
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from autograder.bounds import LONGEST_TEXT
from autograder.grade.feedback_page import outputs_as_html, text_as_html
from autograder.grade.sanitize import (
    TAGS,
    Sanitize,
    _rendered_before,
    elements_only,
    rendered,
    without_code,
)

ACTS = "<script>steal()</script>"


def shown(*cells):
    """The HTML in which the formgrader and the feedback pages show these cells."""
    notebook = new_notebook(cells=[*cells])
    Sanitize().preprocess(notebook, {})
    nbformat.validate(notebook)
    body, _ = HTMLExporter(template_name="classic", embed_images=False).from_notebook_node(notebook)
    return body[body.index("<body") :]


def output(metadata=None, **data):
    data = {kind.replace("_", "/"): text for kind, text in data.items()}
    return new_code_cell(
        "show()", outputs=[new_output("display_data", data, metadata=metadata or {})]
    )


@pytest.mark.parametrize(
    "cell",
    [
        output(text_html=ACTS),
        output(text_html="<img src=x onerror=steal()>"),
        output(text_html="<b onclick='steal()'>bold</b>"),
        output(text_html="<a href='javascript:steal()'>more</a>"),
        output(text_html="<iframe srcdoc='<script>steal()</script>'></iframe>"),
        output(text_markdown=ACTS),
        output(application_javascript="steal()"),
        output({"image/png": {"width": "1 onerror=steal()"}}, image_png="AAAA"),
        new_markdown_cell(ACTS),
        new_markdown_cell("\\` <script>steal()</script> `"),
        new_markdown_cell("![x](/logout)"),
        new_markdown_cell("[more](javascript:steal())"),
        new_markdown_cell("[more](java&#115;cript:steal())"),
        new_markdown_cell("[more](\n <javascript:steal()>)"),
        new_markdown_cell("[more][1]\n\n[1]: javascript:steal()"),
        new_raw_cell(ACTS),
        new_markdown_cell(
            "![x](attachment:x)", attachments={"x": {'image/png" onerror="steal()': "AAAA"}}
        ),
    ],
)
def test_nothing_acts(cell):
    page = shown(cell)
    for way in (
        "<script>steal",
        "onerror=",
        "onclick=",
        'href="javascript',
        'src="/logout',
        "<iframe",
    ):
        assert way not in page, page[page.index(way) - 200 : page.index(way) + 100]


@pytest.mark.parametrize("formula", [r"$\frac{a}{b}$", r"$$\href{javascript:steal()}{x}$$"])
def test_a_formula_is_shown_as_it_was_typed(formula):
    as_html, as_text = output(text_html=f"<p>{formula}</p>"), output(text_plain=formula)
    for cell in (new_markdown_cell(formula), as_html, output(text_markdown=formula)):
        page = shown(cell)
        assert "<math" not in page and formula in Words(page).text
        assert "mathjax_ignore" in page[: page.index("a}{b" if "frac" in formula else "href{")]
    assert f"<pre>{formula}" in shown(as_text)
    assert formula not in shown(output(text_latex=formula))
    assert formula in Words(text_as_html(formula)).text and "<math" not in text_as_html(formula)


def test_what_is_kept_of_the_texts_of_a_submission_is_small():
    before = _rendered_before.cache_info()
    assert len(rendered("word " * 10_000)) > 50_000
    assert _rendered_before.cache_info() == before
    assert rendered("*rare*") == rendered("*rare*") == "<p><em>rare</em></p>\n"
    assert _rendered_before.cache_info().hits > before.hits


def test_what_is_only_shown_stays():
    page = shown(
        output(text_html="<table><tr><td colspan='2'>1</td></tr></table>"),
        output(image_png="iVBORw0KGgo="),
        new_markdown_cell("<details><summary>Hint</summary>\n\nfolded\n\n</details>"),
        new_markdown_cell("Rows with p < 0.5 are *rare*, [see](https://a.org/b) [it](../c.md#d)."),
        new_code_cell("x = '<script>'", outputs=[new_output("stream", text="1 < 2")]),
    )
    for text in (
        '<td colspan="2">1</td>',
        "iVBORw0KGgo=",
        "<em>rare</em>",
        "<summary>Hint</summary>",
        'href="../c.md#d"',
        'href="https://a.org/b"',
        "1 &lt; 2",
    ):
        assert text in page


HTML = """a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink
blockquote body br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir
div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup
hr html i iframe image img input ins isindex kbd keygen label legend li link listing main map mark marquee math menu
menuitem meta meter nav nobr noembed noframes noscript object ol optgroup option output p param picture plaintext
portal pre progress q rb rp rt rtc ruby s samp script search section select selectedcontent slot small source span
strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul
var video wbr xmp"""
SVG = """altGlyph animate animateMotion animateTransform circle clipPath cursor defs desc ellipse feBlend
feColorMatrix feComposite feFlood feGaussianBlur feImage feMerge feMergeNode feOffset feTile feTurbulence filter
font-face foreignObject g glyph glyphRef hatch hkern line linearGradient marker mask mesh metadata missing-glyph
mpath path pattern polygon polyline radialGradient rect set solidcolor stop switch symbol text textPath tref tspan
unknown use view vkern"""
MATHML = """annotation annotation-xml maction maligngroup malignmark menclose merror mfenced mfrac mglyph mi
mlabeledtr mlongdiv mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mscarries mspace msqrt
mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none semantics"""
NAMES = f"{HTML} {SVG} {MATHML}".split()


class Words(HTMLParser):
    """The words that a browser shows of a page, and the elements that it makes."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.text, self.made = "", []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.made.append(tag)

    def handle_data(self, data):
        self.text += data


FORMS = (
    "{n} <{n}> inside. Then more", "x <{n}>inside</{n}> more", "<{n}>inside\n\nmore", "x </{n}> inside <{n}/> more",
    "x <{n} and inside> more", "x<{n} inside more",
)  # fmt: skip


def pages_of(texts):
    """Each text in what the formgrader and the feedback page show: as an answer, and as outputs."""
    yield "an answer on the page", [*map(text_as_html, texts)]
    yield (
        "an output on the page",
        ["".join(outputs_as_html([{"data": {"text/html": text}}])) for text in texts],
    )
    for where, kind in {
        "an answer": new_markdown_cell,
        "an output": lambda text: output(text_html=text),
        "an output of Markdown": lambda text: output(text_markdown=text),
    }.items():
        notebook = new_notebook(cells=[*map(kind, texts)])
        Sanitize().preprocess(notebook, {})
        # as nbconvert's template does
        yield (
            where,
            [
                cell.outputs[0].data["text/html"]
                if "outputs" in cell
                else markdown2html(cell.source)
                for cell in notebook.cells
            ],
        )


def test_the_formgrader_shows_the_words_around_and_in_an_element():
    for name in ("mask", "text", "s", "svg", "math", "script"):
        text = f"x <{name}>inside</{name}> more"
        printed = new_code_cell("", outputs=[new_output("stream", text=text)])
        page = shown(
            new_markdown_cell(text), output(text_html=text), output(text_markdown=text), printed
        )
        words = Words(page).text
        assert words.count("inside") == words.count("more") == 4
        assert words.count(f"<{name}>inside</{name}>") == (1 if name == "s" else 4)


@pytest.mark.parametrize("form", FORMS)
def test_no_word_is_lost_whatever_it_is_called(form):
    as_attribute, alone = "inside>" in form, "/>" in form
    texts = [form.format(n=name) for name in NAMES]
    for where, pages in pages_of(texts):
        made = where.startswith("an output") and "Markdown" not in where
        for name, text, page in zip(NAMES, texts, pages, strict=True):
            words = Words(page).text
            if not (made and as_attribute):  # a program's attributes are no words
                assert "inside" in words and "more" in words, (where, text, page)
                if name not in TAGS and not (made and alone):
                    assert f"<{name}" in words, (where, text, page)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("BERT puts <mask> over a word. Then it guesses", None),
        ("if a<b and c>d, or a <b", None),
        ("<s> begins and </s> ends", "begins and ends"),
        ("</s> ends and <s> begins", None),
        ("<!-- nobody sees this -->", None),
        ("i <3 you, <?php and <!DOCTYPE x> and <>", None),
        ("<unk data-x='1'> a", None),
        ("<MASK> and <Mask>", None),
        ("<details open><summary>Hint</summary>words</details>", "Hintwords"),
    ],
)
def test_what_is_no_element_is_shown_as_typed(typed, read):
    for page in (text_as_html(typed), shown(new_markdown_cell(typed))):
        assert " ".join((read or typed).split()) in " ".join(Words(page).text.split())


def test_what_a_program_made_shows_its_words_and_not_its_code():
    html = (
        "<!-- made --><style scoped>\n.dataframe td { color: red; }\n</style><style>svg {x: y}</style>"
        "<script>draw(1)</script><div><svg width='3' viewBox='0 0 1 1'><g><title>A map</title>"
        "<text x='1'>label</text><path d='M0 0'/></g></svg><font color='red'>words</font> of <mask>"
        "<iframe srcdoc='<b>x</b>'></iframe><table class='dataframe'><tr style='x'><td>cell</td></tr></table></div>"
    )
    page = shown(output(text_html=html))
    shown_words = Words(page).text
    assert " ".join(shown_words.split()).endswith("A maplabelwords of <mask>cell")
    for code in ("dataframe td", "svg {", "draw(", "M0 0", "srcdoc", "<g>", "made"):
        assert code not in shown_words


def test_what_never_ends_is_looked_through_in_time():
    for typed in (
        "<!--",
        "<style>",
        "<svg>",
        "<svg a>",
        "<b a='",
        "<b a ",
        '<x a="',
        "</s>",
        "<s>",
        "<b   ",
    ):
        text = typed * (LONGEST_TEXT // len(typed))
        before = time.process_time()
        elements_only(without_code(text), made=True)
        assert time.process_time() - before < 2
