"""Measure how the checks fare against answers that are known to be right or wrong, and write it into docs/grading.md.

python -m tools.accuracy                     all assignments
python -m tools.accuracy a2_self_attention   this one; the rows of the others stay as they are
python -m tools.accuracy --print             write nothing

The page has a row an assignment. What is measured is printed part by part, with every mistake that somebody published.
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
PAGE = ROOT / "docs" / "grading.md"
HEADING = "How accurate it is"
COLUMNS = (*HEAD[2:], "published", "and told")
Rows = dict[str, list[int]]  # by assignment, the numbers of a row

TEXT = """\
Every check is tried on answers that are known to be right or wrong, and `make accuracy` writes here what came out,
each on one drawing of inputs. {summary}

*Named* means that the author reads what the mistake is, *explained* how the result differs (transposed, scaled, …), and
*misled* that the sentence is not true of the answer. *Pairs* are answers with two named mistakes at once, at most
{pairs} a part. *Published* are mistakes of public projects, or that people asked about in forums, each written anew as
an answer.

{table}

The checks were developed with these answers, so expect less of answers that nobody here has seen. What is caught holds
best, names hold least. `make accuracy ONLY=a2_self_attention` prints the table part by part, and each published mistake
with its source.
"""


def parts_table(outcomes: list[Outcome]) -> str:
    """What was measured, part by part, as Markdown."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---|---|" + "--:|" * (len(HEAD) - 2)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in Tally(outcomes).rows()])


def rows_of(outcomes: list[Outcome], published: list[str]) -> Rows:
    """The numbers of each assignment that was measured, the lines on published mistakes counted in."""
    rows: Rows = {}
    for name, _, *numbers in Tally(outcomes).rows():
        before = rows.get(name, [0] * len(numbers))
        rows[name] = [one + int(other) for one, other in zip(before, numbers, strict=True)]
    for name, numbers in rows.items():
        own = [line for line in published if f"| {name.split('_')[0]} `" in line]
        numbers += [len(own), sum("*no words*" not in line for line in own)]
    return rows


def rows_in(text: str) -> Rows:
    """The rows of a page that was written earlier."""
    found = {}
    for line in text.splitlines():
        name, *numbers = (cell.strip() for cell in line.strip("|").split("|"))
        if len(numbers) == len(COLUMNS) and re.fullmatch(r"a\d+_\w+", name):
            found[name] = list(map(int, numbers))
    return found


def section(rows: Rows) -> str:
    """What stands below the heading, as Markdown."""
    total = dict(zip(COLUMNS, map(sum, zip(*rows.values(), strict=True)), strict=True))
    told = total["named"] + total["explained"]
    summary = (
        f"Of {total['right']} right answers {total['false alarms']} lost a point.\n"
        f"Of {total['wrong']} wrong ones {total['caught']} lost some, and {told} "
        f"({100 * told / max(total['wrong'], 1):.1f} %) were named or explained. Of {total['pairs']} pairs,\n"
        f"{total['one named']} ({100 * total['one named'] / max(total['pairs'], 1):.0f} %) had a mistake named."
    )
    lines = ["| assignment | " + " | ".join(COLUMNS) + " |", "|---|" + "--:|" * len(COLUMNS)]
    for name, numbers in (*rows.items(), ("the whole course", [*total.values()])):
        lines.append(f"| {name} | " + " | ".join(map(str, numbers)) + " |")
    return TEXT.format(summary=summary, table="\n".join(lines), pairs=MOST_PAIRS)


def with_section(text: str, heading: str, body: str) -> str:
    """The page with this section in the place of the one of the same name, or at its end."""
    written = f"## {heading}\n\n{body}"
    before, found, after = text.partition(f"## {heading}\n")
    if not found:
        return f"{text.rstrip()}\n\n{written}"
    rest = after[after.index("\n## ") :] if "\n## " in after else ""
    return f"{before}{written.rstrip()}\n{rest}"


def published_line(assignment: str, given: Answer) -> str:
    """A row on a published mistake: what was wrong, where, in which part, the points lost, what its author reads."""
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


def measured_part(which: tuple[str, str]) -> list[Outcome]:
    """The outcomes of all that is known of a part."""
    assignment, part = which
    outcomes: list[Outcome] = measured(assignment, load(assignment).part(part))
    print(f"{assignment} {part}", file=sys.stderr, flush=True)
    return outcomes


def measured_all(names: list[str]) -> list[Outcome]:
    """The outcomes of all parts of some assignments, measured side by side."""
    parts = [(name, part.name) for name in names for part in load(name).parts]
    # not forked: PyTorch's threads do not live in a fork
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        return [item for found in pool.map(measured_part, parts) for item in found]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy")
    parser.add_argument("assignment", nargs="*", choices=[[], *known()], help="measure only these")
    parser.add_argument("--print", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    names = options.assignment or known()
    outcomes, published = measured_all(names), published_lines(names)
    print(parts_table(outcomes), "", *published, "", sep="\n")
    written = PAGE.read_text(encoding="utf-8")
    found = {**rows_in(written), **rows_of(outcomes, published)}
    body = section({name: found[name] for name in known() if name in found})
    if options.print:
        print(body)
        return
    PAGE.write_text(with_section(written, HEADING, body), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
