"""Write docs/accuracy.md: how the checks fare against answers that are known to be right or wrong.

python -m tools.accuracy                     all assignments
python -m tools.accuracy a2_self_attention   this one; the rows of the others stay as they are
python -m tools.accuracy --print             only say it

Other guides quote these numbers, and get them here, too.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from autograder.bank.answers import Answer, address_of
from autograder.bank.measure import (
    HEAD,
    MOST_PAIRS,
    Outcome,
    Tally,
    bank_of,
    measured,
    ours_may_answer,
    verdict_on,
)
from autograder.checks.course import known, load

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
QUOTING = ROOT / "docs" / "grading.md"
COLUMNS = HEAD[2:]
Rows = dict[tuple[str, str], list[int]]  # by (assignment, part), the numbers of a row

TEXT = """\
# How accurate the grader is

Written by `make accuracy`, which tries every answer of the banks and every wrong answer that has a
name, each on one drawing of inputs. A test holds the numbers of answers on this page to the banks.

| column | what it counts |
|---|---|
| right | right answers, written in many ways |
| false alarms | those of them that lost a point |
| wrong | wrong answers, those with a name among them |
| caught | those that lost points |
| named | those whose author reads what the mistake is |
| explained | those without a name, whose author reads how the result differs: transposed, scaled, … |
| misled | those whose author reads a name, or how the result differs, that is not true of the answer |
| pairs | answers with two named mistakes at once, at most {pairs} a part, drawn from all that combine |
| one named | those of which at least one was called by name |

These are answers that the checks were developed with. On answers that nobody here had seen, expect less:
what is caught holds best, names hold least.

{summary}

{table}
"""


def rows_of(outcomes: list[Outcome]) -> Rows:
    """The numbers of each part that was measured."""
    return {
        (name, part): list(map(int, numbers)) for name, part, *numbers in Tally(outcomes).rows()
    }


def rows_in(text: str) -> Rows:
    """The rows of a page that was written earlier."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
        if len(cells) == len(HEAD) and re.fullmatch(r"a\d+_\w+", cells[0]):
            found[cells[0], cells[1]] = list(map(int, cells[2:]))
    return found


def together(rows: Rows) -> dict[str, int]:
    """The sum of each column."""
    return dict(zip(COLUMNS, map(sum, zip(*rows.values(), strict=True)), strict=True))


def share_told(total: dict[str, int]) -> str:
    """How many of a hundred wrong answers were named or explained."""
    return f"{100 * (total['named'] + total['explained']) / max(total['wrong'], 1):.1f}"


def page(rows: Rows) -> str:
    """The page, as Markdown."""
    total = together(rows)
    summary = (
        f"In the whole course: of {total['right']} right answers {total['false alarms']} lost a point; of "
        f"{total['wrong']} wrong ones {total['caught']} lost some, and "
        f"{total['named'] + total['explained']} ({share_told(total)} %)\nwere named or explained. "
        f"Of {total['pairs']} pairs, at least one mistake was named in {total['one named']} "
        f"({100 * total['one named'] / max(total['pairs'], 1):.0f} %)."
    )
    lines = ["| " + " | ".join(HEAD) + " |", "|---|---|" + "--:|" * len(COLUMNS)]
    for (assignment, part), numbers in rows.items():
        lines.append(f"| {assignment} | `{part}` | " + " | ".join(map(str, numbers)) + " |")
    lines.append("| the whole course | | " + " | ".join(map(str, total.values())) + " |")
    return TEXT.format(summary=summary, table="\n".join(lines), pairs=MOST_PAIRS)


PUBLISHED = "Mistakes that people published"
PUBLISHED_TEXT = """\
Mistakes that public projects made, or that people asked about in a forum, each written anew as an answer
to one of our parts. All sources but two were read; theirs is the mistake, and ours is the code. Of {all} answers
{caught} lost points, and {told} ({share:.1f} %) were named or explained.

| what was wrong | published | part | points lost | what its author reads |
|---|---|---|--:|---|
{lines}
"""


def published_line(assignment: str, given: Answer) -> str:
    """A row of the table of published mistakes, measured now."""
    part = load(assignment).part(given.part)
    with ours_may_answer():
        verdict = verdict_on(assignment, part, given.code, ["0"])
    called = "; ".join(name for name, _ in verdict.mistakes)
    if not called:
        called = "*explained:* " + verdict.relations[0][0] if verdict.relations else "*no words*"
    what, address = str(given.code.__doc__).splitlines()[0], address_of(str(given.published))
    source = given.published if given.published != address else address.split("/")[2]
    lost = f"{part.points - verdict.earned:g} of {part.points:g}"
    cells = (
        what,
        f"[{source}]({address})",
        f"{assignment.split('_')[0]} `{part.name}`",
        lost,
        called,
    )
    return "| " + " | ".join(cells) + " |"


def published_lines(names: list[str]) -> list[str]:
    """The rows of all published mistakes in the banks of some assignments."""
    return [
        published_line(name, given)
        for name in names
        for part in load(name).parts
        for given in bank_of(name)
        if given.published and given.part == part.name
    ]


def published_lines_in(text: str) -> list[str]:
    """The rows of published mistakes on a page that was written earlier."""
    return re.findall(r"^\| .* \| \[.*\]\(https://.*\) \| a\d+ `\w+` \| .* \|$", text, re.MULTILINE)


def published_section(lines: list[str]) -> str:
    """The section on published mistakes, below its heading."""
    caught = sum("| 0 of " not in line for line in lines)
    told = sum("*no words*" not in line for line in lines)
    return PUBLISHED_TEXT.format(
        all=len(lines),
        caught=caught,
        told=told,
        share=100 * told / max(len(lines), 1),
        lines="\n".join(lines),
    )


def lines_of_all(names: list[str], written: str) -> list[str]:
    """The rows of published mistakes, measured for these assignments and kept for the others."""
    kept = published_lines_in(written)
    lines = []
    for name in known():
        short = f"| {name.split('_')[0]} `"
        lines += published_lines([name]) if name in names else [one for one in kept if short in one]
    return lines


def sections_of(text: str) -> str:
    """What stands below the first table: the sections that have a heading of their own."""
    return text[text.index("\n## ") :] if "\n## " in text else ""


def with_section(text: str, heading: str, body: str) -> str:
    """The page with this section in the place of the one of the same name, or at its end."""
    section = f"## {heading}\n\n{body}"
    before, found, after = text.partition(f"## {heading}\n")
    if not found:
        return f"{text.rstrip()}\n\n{section}"
    rest = sections_of(after)
    return f"{before}{section.rstrip()}\n{rest}"


def quoted(text: str, rows: Rows) -> str:
    """A guide that quotes the page, with the numbers of today."""
    total = together(rows)
    for number, before in (
        (total["right"], r"right ones, of which none"),
        (total["wrong"], r"wrong ones, of which all"),
        (share_told(total), r"%\s+of\s+the\s+wrong\s+ones"),
    ):
        text = re.sub(rf"[\d.]+(?=\s+{before})", str(number), text)
    return text


def measured_part(which: tuple[str, str]) -> list[Outcome]:
    """The outcomes of all that is known of a part."""
    assignment, part = which
    outcomes: list[Outcome] = measured(assignment, load(assignment).part(part))
    print(f"{assignment} {part}", file=sys.stderr, flush=True)
    return outcomes


def measured_rows(names: list[str]) -> Rows:
    """The rows of all parts of some assignments, measured side by side."""
    parts = [(name, part.name) for name in names for part in load(name).parts]
    # not forked: PyTorch's threads do not live in a fork
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        return rows_of([item for found in pool.map(measured_part, parts) for item in found])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy")
    parser.add_argument("assignment", nargs="*", choices=[[], *known()], help="measure only these")
    parser.add_argument("--print", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    names = options.assignment or known()
    written = PAGE.read_text(encoding="utf-8")
    before = rows_in(written) if options.assignment else {}
    found = {**before, **measured_rows(names)}
    in_order = [(name, part.name) for name in known() for part in load(name).parts]
    rows = {key: found[key] for key in in_order if key in found}
    text = page(rows) + sections_of(written)
    text = with_section(text, PUBLISHED, published_section(lines_of_all(names, written)))
    if options.print:
        print(text)
        return
    PAGE.write_text(text, encoding="utf-8")
    QUOTING.write_text(quoted(QUOTING.read_text(encoding="utf-8"), rows), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}, and its numbers in {QUOTING.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
