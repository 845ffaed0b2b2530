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

from autograder.verdict.content import known, load
from tests.autograder.measure import HEAD, MOST_PAIRS, Outcome, Tally, measured

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
QUOTING = ROOT / "docs" / "grading.md"
COLUMNS = HEAD[2:]
Rows = dict[tuple[str, str], list[int]]  # by (assignment, part), the numbers of a row

TEXT = """\
# How accurate the grader is

Written by `make accuracy`, which tries every answer of the banks (`assignments/*/answers/`) and every
wrong answer that has a name (`assignments/*/mistakes.py`), each on one drawing of inputs. A test
holds the numbers of answers on this page to the banks.

| column | what it counts |
|---|---|
| right | right answers, written in many ways |
| false alarms | those of them that lost a point |
| wrong | wrong answers, those with a name among them |
| caught | those that lost points |
| named | those whose author reads what the mistake is |
| explained | those without a name, whose author reads how the result differs: transposed, scaled, … |
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
        f"Together: of {total['right']} right answers {total['false alarms']} lost a point; of "
        f"{total['wrong']} wrong ones {total['caught']} lost some, and "
        f"{total['named'] + total['explained']} ({share_told(total)} %)\nwere named or explained. "
        f"Of {total['pairs']} pairs, at least one mistake was named in {total['one named']} "
        f"({100 * total['one named'] / max(total['pairs'], 1):.0f} %)."
    )
    lines = ["| " + " | ".join(HEAD) + " |", "|---|---|" + "--:|" * len(COLUMNS)]
    for (assignment, part), numbers in rows.items():
        lines.append(f"| {assignment} | `{part}` | " + " | ".join(map(str, numbers)) + " |")
    lines.append("| together | | " + " | ".join(map(str, total.values())) + " |")
    return TEXT.format(summary=summary, table="\n".join(lines), pairs=MOST_PAIRS)


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
    before = rows_in(PAGE.read_text(encoding="utf-8")) if options.assignment else {}
    found = {**before, **measured_rows(options.assignment or known())}
    in_order = [(name, part.name) for name in known() for part in load(name).parts]
    rows = {key: found[key] for key in in_order if key in found}
    if options.print:
        print(page(rows))
        return
    PAGE.write_text(page(rows), encoding="utf-8")
    QUOTING.write_text(quoted(QUOTING.read_text(encoding="utf-8"), rows), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}, and its numbers in {QUOTING.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
