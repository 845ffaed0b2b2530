"""The untouched release runs: all that fails is what the student has still to write, or to repair."""

import nbformat
import pytest
from nbclient import NotebookClient

from tests.sample_class import ROOT

RELEASES = sorted((ROOT / "exercises").glob("*/*.ipynb"))
# the first by name, and the others, for which kernels have to start
ONE_OR_ALL = [RELEASES[0], *(pytest.param(path, marks=pytest.mark.long) for path in RELEASES[1:])]


@pytest.mark.parametrize("path", ONE_OR_ALL, ids=lambda path: path.stem)
def test_only_answers_are_missing(path):
    notebook = nbformat.read(path, as_version=4)
    assert all(cell.outputs == [] for cell in notebook.cells if cell.cell_type == "code")
    NotebookClient(
        notebook, timeout=60, allow_errors=True, extra_arguments=["--log-level=ERROR"]
    ).execute()
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        errors = [
            output
            for output in cell.get("outputs", [])
            if output.output_type in ("error", "stream") and output.get("name") != "stdout"
        ]
        if grade_id.startswith("test_"):  # a stub, or code to be repaired
            [said] = cell.outputs
            part = grade_id.removeprefix("test_")
            assert f"{part}: This part is not answered yet" in said.data["text/plain"]
        assert errors == []
