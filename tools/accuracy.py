"""Write docs/accuracy.md: how the checks fare against answers that are known to be right or wrong.

python -m tools.accuracy           all assignments
python -m tools.accuracy --print   only say it
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from autograder.verdict.content import known, load
from tests.autograder.measure import HEAD, MOST_PAIRS, Outcome, Tally, measured

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accuracy.md"

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


def page(outcomes: list[Outcome]) -> str:
    """The page, as Markdown."""
    tally = Tally(outcomes)
    total = dict(zip(HEAD[2:], map(int, tally.total()), strict=True))
    wrong, pairs = max(total["wrong"], 1), max(total["pairs"], 1)
    told = total["named"] + total["explained"]
    summary = (
        f"Together: of {total['right']} right answers {total['false alarms']} lost a point; of "
        f"{total['wrong']} wrong ones {total['caught']} lost some, and {told} "
        f"({100 * told / wrong:.1f} %)\nwere named or explained. Of {total['pairs']} pairs, at least "
        f"one mistake was named in {total['one named']} ({100 * total['one named'] / pairs:.0f} %)."
    )
    lines = ["| " + " | ".join(HEAD) + " |", "|---|---|" + "--:|" * (len(HEAD) - 2)]
    for assignment, part, *numbers in tally.rows():
        lines.append(f"| {assignment} | `{part}` | " + " | ".join(numbers) + " |")
    lines.append("| together | | " + " | ".join(tally.total()) + " |")
    return TEXT.format(summary=summary, table="\n".join(lines), pairs=MOST_PAIRS)


def measured_part(which: tuple[str, str]) -> list[Outcome]:
    """The outcomes of all that is known of a part."""
    assignment, part = which
    outcomes: list[Outcome] = measured(assignment, load(assignment).part(part))
    print(f"{assignment} {part}", file=sys.stderr, flush=True)
    return outcomes


def main(arguments: list[str]) -> None:
    parts = [(name, part.name) for name in known() for part in load(name).parts]
    # not forked: PyTorch's threads do not live in a fork
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        text = page([item for found in pool.map(measured_part, parts) for item in found])
    if "--print" in arguments:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
        print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
