"""Write a sheet for each lecture, to be printed: its displayed formulas, and the letters in it with their shapes.

Formulas come from the lecture, each with its section and the two sentences that lead to it, and letters
from `docs/glossary.md`. `tools/website.py` puts the sheets on the website, and every lecture links to its own.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from pathlib import Path

import nbformat

from autograder.batch.release_text import title_in
from autograder.order import by_number

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "formulas"
# the mark at which a slide begins, which readers need not get
SLIDE = re.compile(r"^<!-- slide: .*? -->\n*", re.MULTILINE)
DISPLAYED = re.compile(r"(\$\$.+?\$\$)", re.DOTALL)
HEADING = re.compile(r"^#{2,} (.+)$", re.MULTILINE)
# as it stands beside the lectures
BESIDE = re.compile(r"\]\((?=\d\d_)")
SENTENCES = re.compile(r"(?<=[.:?])(?:\*\*)?\s+(?=[A-Z$*])")
MATHS = re.compile(r"\$\$?(.+?)\$\$?", re.DOTALL)
LETTER = re.compile(r"\\?[A-Za-z]+(?:\^\{\(\w\)\}|_\\text\{\w+\}|_\w|_\{|\()?")
CODE = re.compile(r"`(\w+)`")
ROW = re.compile(r"^\| (\$.+) \| (\d+) \|$", re.MULTILINE)


def write(folder: Path, left_out: Container[str] = ()) -> None:
    """Write all sheets, a page of Markdown each, under the names of the lectures.

    Args:
        folder: where; it is not there yet.
        left_out: paths of lectures, from the root on, that get none.
    """
    folder.mkdir(parents=True)
    for lecture in sorted(ROOT.glob("lectures/*.ipynb"), key=by_number):
        if f"lectures/{lecture.name}" not in left_out:
            (folder / f"{lecture.stem}.md").write_text(sheet(lecture), encoding="utf-8")


def sheet(lecture: Path) -> str:
    """The sheet of one lecture."""
    notebook = nbformat.read(lecture, as_version=4)
    texts = [SLIDE.sub("", cell.source) for cell in notebook.cells if cell.cell_type == "markdown"]
    place = f"../lectures/{lecture.name}"
    title = title_in(notebook)
    parts = [
        "---\norphan: true\nhide-toc: true\n---",
        f"# Formulas of {title.partition(':')[0].lower()}",
        f"What is displayed in [{title}]({place}), with the letters in it, to be printed on one page.",
    ]
    section = ""
    for heading, leading, formula in formulas("\n\n".join(texts)):
        if heading != section:
            section = heading
            anchor = heading.replace("`", "").replace(" ", "-")
            leading = " · ".join(filter(None, (f"**[{heading}]({place}#{anchor})**", leading)))
        parts += [leading, formula]
    parts.append("## Letters and shapes")
    parts += letters(" ".join(texts), int(lecture.stem[:2]))
    return "\n\n".join(parts) + "\n"


def formulas(text: str) -> Iterator[tuple[str, str, str]]:
    """Each displayed formula of a lecture with its section and the two sentences before it."""
    heading = ""
    pieces = DISPLAYED.split(text)
    for before, formula in zip(pieces[::2], pieces[1::2], strict=False):
        if found := HEADING.findall(before):
            heading = found[-1]
        *_, paragraph = before.strip().split("\n\n")
        leading = "" if HEADING.match(paragraph) else " ".join(SENTENCES.split(paragraph)[-2:])
        yield heading, BESIDE.sub("](../lectures/", leading), formula


def letters(text: str, lecture: int) -> list[str]:
    """The tables of the notation, sizes and symbols, with those rows whose letters are in a lecture's formulas.

    A size is also there if a shape of the symbols has it.
    """
    used = " ".join(MATHS.findall(text))
    notation = (ROOT / "docs/glossary.md").read_text("utf-8")
    sizes: list[list[str]] = []
    symbols: list[list[str]] = []
    for row, since in ROW.findall(notation):
        if int(since) <= lecture:
            (symbols if row.count(" | ") == 3 else sizes).append(row.split(" | "))
    symbols = [row for row in symbols if any(is_in(each, used) for each in MATHS.findall(row[0]))]
    shapes = " ".join(row[2] for row in symbols)
    sizes = [
        row
        for row in sizes
        if any(is_in(each, used) for each in MATHS.findall(row[0]))
        or any(re.search(rf"(?<![A-Za-z]){code}\b", shapes) for code in CODE.findall(row[1]))
    ]
    return [
        "\n".join(
            [head, re.sub(r"[^|\n]+", "---", head), *(f"| {' | '.join(row)} |" for row in rows)]
        )
        for head, rows in (
            ("| symbol | code, axis | meaning |", sizes),
            ("| symbol | code | shape | meaning |", symbols),
        )
        if rows
    ]


def is_in(symbol: str, used: str) -> bool:
    """Whether formulas have a letter, such as $x^{(i)}$ with any index, and not as a part of a word."""
    letter = LETTER.match(symbol)
    if not letter:
        raise SystemExit(f"docs/glossary.md: expected a letter; found {symbol}.")
    start = letter[0].removesuffix("{") if symbol.startswith("\\") else letter[0]
    end = r"(?![A-Za-z])" if start[-1].isalpha() else ""
    return re.search(rf"(?<![A-Za-z\\]){re.escape(start)}{end}", used) is not None
