import re
from unittest.mock import patch

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from autograder.grade import formulas
from autograder.grade.formulas import with_formulas
from autograder.grade.sanitize import (
    Sanitize,
    _rendered_before,
    clean,
    formula_acts,
    harmless_markdown,
    rendered,
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


SPREADS = (
    r"\hspace{-60em}x", r"\hspace*{ -1em }x", r"\hspace{99em}x", r"\hspace{1000pt}x", r"\kern-60em x",
    r"\mkern -18mu x", r"\mskip-999mu x", r"\raise60em{x}", r"\lower 9em x", r"\rule{99em}{99em}",
    r"\Rule{9em}{9em}{9em}", r"\llap{covers what is before}", r"\mathrlap{x}", r"\smash{x}",
    r"\moveleft 9em x", r"\begin{array}{c}a\\[-60em]b\end{array}", r"\begin{array}{c}a\\ [99em]b\end{array}",
    r"\!\!\!\!\!\!\!\!\!\!x", r"\! {}\negthinspace{}\!{}\!{}\!{}\!{}\!{}\!{}\!{}\!{}x", r"\vspace{-9em}",
    r"\genfrac{}{}{99em}{}{x}{y}",
)  # fmt: skip
STAYS = (
    r"a\,b\;c\!d\quad e\qquad f", r"\hspace{5pt}x", r"\hspace{0.5cm}x", r"\begin{cases}a&b\\[2pt]c&d\end{cases}",
    r"\Bigg[\frac12\Bigg]", r"\left(\binom{a}{b}\right)", r"\leftarrow\rightarrow\overline{x}", r"x \lambda \llbracket",
)  # fmt: skip


@pytest.mark.parametrize("formula", SPREADS)
def test_no_formula_covers_what_stands_around_it(formula):
    assert formula_acts(f"${formula}$")
    assert "mathjax_ignore" in harmless_markdown(f"Mine: $${formula}$$")
    html = clean(f"<p>${formula}$</p>")
    assert with_formulas(html) == html
    # and where the list has a hole, what it is set as has no such length
    for length in re.findall(r'width="(.*?)"', set_as_it_is(formula)):
        assert re.fullmatch(r"-?[\d.]{1,4}(em|pt)|negativethinmathspace", length), length


def set_as_it_is(formula):
    with patch.object(formulas, "formula_acts", lambda _: False):
        return with_formulas(clean(f"<p>${formula}$</p>"))


@pytest.mark.parametrize("formula", STAYS)
def test_an_honest_formula_is_set(formula):
    assert not formula_acts(f"${formula}$")
    assert "<math" in with_formulas(clean(f"<p>${formula}$</p>"))


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
