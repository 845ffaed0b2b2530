"""What nbgrader's formgrader shows of a notebook, complete without a network: formulas and the course's pictures."""

from __future__ import annotations

import base64
import mimetypes
import re
from functools import lru_cache
from html import unescape
from pathlib import Path

from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.filters import markdown2html_mistune
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode

from autograder.checks.course import RELEASES
from autograder.grade.formulas import formulas_set, with_formulas
from autograder.grade.sanitize import within_markdown

CLEANED = "<div"  # how `sanitize` writes a text
PICTURE = re.compile(r'(?<=\bsrc=")\.\./[^":]+\.(?:svg|png|jpg)(?=")')


class Complete(Preprocessor):
    """Sets the formulas of all texts as MathML, and puts pictures into the assignment's own."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        """As nbconvert calls it; what was no text of the assignment became HTML, cleaned, when it was graded."""
        if cell.cell_type != "markdown":
            return cell, resources
        if cell.source.startswith(CLEANED):
            cell.source = within_markdown(cell.source, with_formulas(cell.source))
            return cell, resources
        graded = Path(resources["metadata"]["path"])  # autograded/<student>/<assignment>
        release = graded.parents[2] / RELEASES / graded.name
        html = formulas_set(markdown2html_mistune(cell.source))
        pictured = PICTURE.sub(lambda found: _embedded(release, found[0]), html)
        cell.source = within_markdown(cell.source, pictured)
        return cell, resources


def _embedded(folder: Path, link: str) -> str:
    """A picture of the course as a ``data:`` address; the link as it was, where it leads to none."""
    path = (folder / unescape(link)).resolve()
    within = path.is_relative_to(folder.parents[1].resolve()) and path.is_file()
    return _picture(path, path.stat().st_mtime_ns) if within else link


@lru_cache(maxsize=16)
def _picture(path: Path, _written: int) -> str:
    kind, _ = mimetypes.guess_type(path.name)
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
