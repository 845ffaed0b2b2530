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
from autograder.grade.formulas import formulas_set
from autograder.grade.sanitize import within_markdown

CLEANED = "<div"  # how `sanitize` writes a text
PICTURE = re.compile(r'(?<=\bsrc=")\.\./[^":]+\.(?:svg|png|jpg)(?=")')


class Complete(Preprocessor):
    """Sets the formulas of the assignment's own texts as MathML, and puts its pictures into them."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        """As nbconvert calls it; what was no text of the assignment became HTML, cleaned, when it was graded."""
        if cell.cell_type != "markdown" or cell.source.startswith(CLEANED):
            return cell, resources
        graded = Path(resources["metadata"]["path"])  # autograded/<student>/<assignment>
        release = graded.parents[2] / RELEASES / graded.name
        html = formulas_set(markdown2html_mistune(cell.source))
        pictured = PICTURE.sub(lambda found: _embedded(release, found[0]), html)
        cell.source = within_markdown(pictured)
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
