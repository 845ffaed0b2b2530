"""Checks, imports and helpers stand on a lecture's page as one quiet line each, with their code inside."""

from __future__ import annotations

import ast
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

MOST_LINES = 3  # printed; more is something to read, not a check
ABOVE = "what the cell above computes"
COLUMNS = re.compile(r"\S {2,}\S")
QUESTION = re.compile(r"questions\.ask\([^()]*\)")


class Folded(nodes.Element):
    """A cell of which one line is to be seen: its first child; the rest opens."""


class Line(nodes.TextElement):
    """The line that is to be seen, with what it is: a check, imports, helpers."""


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(Folded, html=(open_folded, close_folded))
    app.add_node(Line, html=(open_line, close_line))
    app.connect("doctree-read", fold_cells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def open_folded(self: HTML5Translator, node: Folded) -> None:
    self.body.append(f'<details class="hide quiet {node["kind"]}">')


def close_folded(self: HTML5Translator, node: Folded) -> None:
    self.body.append("</details>\n")


def open_line(self: HTML5Translator, node: Line) -> None:
    self.body.append('<summary><span class="about">')


def close_line(self: HTML5Translator, node: Line) -> None:
    self.body.append('</span> <span class="opens">code</span></summary>\n')


def fold_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Turn every cell of a lecture that has no more than a line to say into that line."""
    if not app.env.docname.startswith("lectures/"):
        return
    for cell in list(doctree.findall(is_cell)):
        code, *outputs = cell.children
        if QUESTION.fullmatch(code.astext().strip()):
            cell.attributes.pop("hide_mode", None)
            cell.children = outputs  # the call is of no use to a reader
            continue
        said = about(code.astext(), printed(outputs), hidden="hide_mode" in cell)
        if said is None:
            continue
        kind, words = said
        cell.attributes.pop("hide_mode", None)
        line = Line("", "", *in_code(words))
        cell.children = []
        cell += Folded("", line, code, kind=kind)


def is_cell(node: nodes.Node) -> bool:
    return (
        isinstance(node, nodes.container)
        and node.get("nb_element") == "cell_code"
        and bool(node.children)
        and node.children[0].get("nb_element") == "cell_code_source"
    )


def printed(outputs: list[nodes.Node]) -> str | None:
    """What a cell prints; None where it shows anything else."""
    shown = [part for output in outputs for part in output.children]
    if not all(isinstance(part, nodes.literal_block) for part in shown):
        return None
    return "\n".join(part.astext() for part in shown).strip()


def about(source: str, output: str | None, hidden: bool) -> tuple[str, str] | None:
    """The kind of a cell with nothing more to show than a line, and that line.

    Only what asserts is called a check, and only where it is hidden: a cell that readers are to read
    stays as it is, as does one that shows a picture or prints a table.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic, such as %timeit
        return None
    if output == "" and is_preparation(tree):
        return "imports", "imports and settings"
    if not hidden or output is None:
        return None
    lines = output.splitlines()
    if any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
        if len(lines) > MOST_LINES or any(COLUMNS.search(line) for line in lines):
            return None
        return "check", f"checked: {sentence(lines) or comment(source) or ABOVE}"
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    if names and not lines:
        return "helpers", "for the cells below: " + ", ".join(f"`{name}`" for name in names)
    return None


def is_preparation(tree: ast.Module) -> bool:
    """Whether a cell imports and sets, and does nothing else."""
    kinds = {type(node) for node in tree.body}
    return bool(kinds & {ast.Import, ast.ImportFrom}) and kinds <= {
        ast.Import,
        ast.ImportFrom,
        ast.Expr,
    }


def sentence(lines: list[str]) -> str:
    """Printed lines as one; that a claim which was asserted is `True` need not be said."""
    text = "; ".join(line.strip().rstrip(";") for line in lines)
    return text.removesuffix(": True")


def comment(source: str) -> str:
    """The comment that a cell begins with: what it is about, where it prints nothing."""
    found = re.match(r"(?:# (?!fmt:).*\n)+", source)
    return " ".join(re.findall(r"^# (.*)$", found[0], re.MULTILINE)) if found else ""


def in_code(words: str) -> list[nodes.Node]:
    """Words, of which those between backticks are code."""
    parts = words.split("`")
    return [
        nodes.literal("", part) if k % 2 else nodes.Text(part)
        for k, part in enumerate(parts)
        if part
    ]
