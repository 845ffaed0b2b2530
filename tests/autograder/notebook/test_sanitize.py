import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from autograder.notebook.sanitize import Sanitize

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
