"""Take out of a notebook what could act in the browser of whoever reads it.

The formgrader and the feedback pages show a submission's outputs and Markdown as HTML, next to the
buttons that enter grades.
"""

from __future__ import annotations

import re

from bleach import ALLOWED_ATTRIBUTES, ALLOWED_TAGS
from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.preprocessors import Preprocessor
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat import NotebookNode

from autograder.execute import graded_part

# the tables of pandas and what people write by hand; nothing that loads or runs
TAGS = sorted(
    {*ALLOWED_TAGS, "br", "caption", "div", "h1", "h2", "h3", "h4", "hr", "p", "pre", "span", "sub"}
    | {"sup", "table", "tbody", "td", "th", "thead", "tr"}
)
ATTRIBUTES = {**ALLOWED_ATTRIBUTES, "td": ["colspan", "rowspan"], "th": ["colspan", "rowspan"]}
# shown as text, or inside <img>, where nothing runs
SHOWN = {"text/plain", "text/latex", "image/png", "image/jpeg", "image/svg+xml"}
# every tag but those that fold a text, where they have no attributes
TAG_BEGINS = re.compile(r"<(?!/?(?:details|summary)>)(?=[A-Za-z/!?])")
# a link to anything but a page, a place in this one, or a file
LINK = re.compile(r"\](\(|:)(?!\s*+(?:https?://|mailto:|attachment:|[\w./#-]*[)\s\"]))")
PICTURE_FROM_ELSEWHERE = re.compile(r"!\[(?![^\]]*\]\(attachment:)")
ATTACHMENT = re.compile(r"attachment:([^\s)\"'\]]+)")
LEFT_OUT = "[An output that could act in a browser is left out.]"
PICTURE, BASE64 = re.compile(r"image/(png|jpeg|gif)"), re.compile(r"[A-Za-z0-9+/=\s]*")


class Harmless(Preprocessor):
    """Cleans everything but locked text and the verdicts, which are not the student's."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self._cleaner = SanitizeHTML(
            tags=TAGS, attributes=ATTRIBUTES, strip=True,
            safe_output_keys=SHOWN, sanitized_output_types={"text/html"},
        )  # fmt: skip

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        if cell.cell_type == "code":
            if graded_part(cell.source) is None:
                self._cleaner.sanitize_code_outputs(cell.outputs)
                for output in cell.outputs:
                    if "data" in output:
                        output.metadata = NotebookNode()
                        output.data = output.data or NotebookNode({"text/plain": LEFT_OUT})
        elif not cell.metadata.get("nbgrader", {}).get("locked", False):
            cell.source = PICTURE_FROM_ELSEWHERE.sub("[", TAG_BEGINS.sub("&lt;", cell.source))
            cell.source = LINK.sub(r"] \1", cell.source)
            attached = cell.get("attachments", {})
            if not all(map(_is_picture, attached.values())):
                attached = cell.attachments = NotebookNode()
            if any(name not in attached for name in ATTACHMENT.findall(cell.source)):
                # the pages could not be made at all
                cell.source = cell.source.replace("attachment:", "missing-attachment-")
        return cell, resources


def _is_picture(kinds: object) -> bool:
    return isinstance(kinds, dict) and all(
        PICTURE.fullmatch(kind) and isinstance(data, str) and BASE64.fullmatch(data)
        for kind, data in kinds.items()
    )
