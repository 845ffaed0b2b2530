"""Links of pages and notebooks that lead nowhere: to no file, or to no heading of one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import nbformat

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")  # a scheme, such as https


def dead_links(page: Path) -> list[str]:
    """The links of a page or notebook that lead to no file, or to no heading of the file."""
    prose = re.sub(r"`[^`\n]+`", "code", FENCE.sub("", markdown_of(page)))
    links = [link for link in LINK.findall(prose) if not ELSEWHERE.match(link)]
    return [link for link in dict.fromkeys(links) if not _leads_somewhere(page, link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    place = page.parent / unquote(name) if name else page
    return place.exists() and (not anchor or unquote(anchor) in anchors_in(place))


@cache
def anchors_in(page: Path) -> set[str]:
    """The anchors of a page's or notebook's headings, as JupyterLab and the website make them."""
    headings = re.findall(r"^#{1,6} (.+)$", FENCE.sub("", markdown_of(page)), re.MULTILINE)
    return {heading.strip().replace("`", "").replace(" ", "-") for heading in headings}


def markdown_of(page: Path) -> str:
    """The Markdown of a page, or of a notebook's cells."""
    if page.suffix != ".ipynb":
        return page.read_text(encoding="utf-8")
    cells = nbformat.read(page, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
