"""nbgrader's page for graders, made by nbgrader's exporter as the course's settings say."""

import re

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from traitlets.config import Config

from assignments import known
from autograder.batch.nbgrader_settings import use_engine
from autograder.grade.sanitize import Sanitize
from tests.sample_class import ROOT

SHOWN_AS_TYPED = re.compile(r"<(script|style|pre|code)\b.*?</\1>", re.DOTALL)
NAMES = {
    "base_url": "",
    "index": 0,
    "total": 1,
    "student": "ada",
    "first_name": "",
    "last_name": "",
}


@pytest.fixture(scope="module")
def exporter():
    config = Config()
    use_engine(config)
    config.HTMLExporter.template_name = "formgrade"  # as the formgrader sets it
    return HTMLExporter(config=config)


def page_of(exporter, notebook, assignment):
    names = {**NAMES, "assignment_id": assignment, "notebook_id": assignment, "submission_id": "1"}
    folder = {"path": f"{ROOT}/autograded/ada/{assignment}", "name": assignment}
    page, _ = exporter.from_notebook_node(
        notebook, resources={**names, "notebook_path": "x", "metadata": folder}
    )
    return page


@pytest.mark.parametrize("assignment", known())
def test_formulas_and_pictures_are_in_the_page(exporter, assignment):
    notebook = nbformat.read(ROOT / f"exercises/{assignment}/{assignment}.ipynb", as_version=4)
    pictures = sum("](../../figures/" in cell.source for cell in notebook.cells)
    page = page_of(exporter, notebook, assignment)
    assert not re.search(r'(src|href)="(https?:)?//(?!www\.w3\.org)[^"]+\.(js|css|svg|png)', page)
    assert page.count('src="data:image/svg+xml;base64,') == pictures and 'src="../' not in page
    assert "<math" in page and "$" not in SHOWN_AS_TYPED.sub("", page)


def test_what_a_student_wrote_stays_clean(exporter):
    text = "Rows of $A_{ij}$ *sum* to one. <script>act()</script> ![x](../../figures/norm_axes.svg) $\\href{x}{y}$"
    cell = nbformat.v4.new_markdown_cell(text)
    cell, _ = Sanitize().preprocess_cell(cell, {}, 0)
    page = page_of(exporter, nbformat.v4.new_notebook(cells=[cell]), "a7_dropout_and_layer_norm")
    assert "<script>act" not in page and "data:image" not in page and "<em>sum</em>" in page
    assert "$A_{ij}$" in page and "\\href" in page, "formulas of a student are shown as typed"
