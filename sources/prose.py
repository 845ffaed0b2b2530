"""How a text reads, in numbers: colons, the length of sentences, constructions that no native writer uses.

    python sources/prose.py                 # the lectures
    python sources/prose.py README.md …     # any Markdown, notebook or lecture source
    python sources/prose.py --found 05*.py  # and what was found, one line each

Counted is what a reader reads as prose: paragraphs, list items and block quotes. Left out are code,
tables, headings, pictures, displayed formulas and further reading; an inline formula or a piece of
code is one word. The numbers are a warning light for new text and no judge of it: `docs/authors.md`
says what they stand for.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import jupytext

from autograder.order import by_number

# Dropped with all that they hold, in this order.
UNREAD = [
    re.compile(pattern, re.MULTILINE | re.DOTALL)
    for pattern in (
        r"\A---\n.*?\n---\n",  # front matter
        r"<!--.*?-->",
        r"^(```|~~~).*?^\1",
        r"\$\$.*?\$\$",
        r"\\begin\{(\w+\*?)\}.*?\\end\{\1\}",
        r"!\[[^\]]*\]\([^)]*\)",
        r"^## Further reading\b.*?(?=^## |\Z)",
        r"^(?:\||#+ )[^\n]*$",
    )
]
# Written as one word, or as what is left when a mark is taken away.
READ = [
    (r"\$[^$]+\$|`[^`]+`", "x"),
    (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
    (r"</?\w+[^>]*>", "\n\n"),
    (r"https?://\S+", "x"),
    (r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}", ""),
]
ITEM = re.compile(r"^\s*(?:[-*+>]|\d+\.)\s+", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?…])[\"”’)]*\s+(?=[\"“‘(]*[A-Z0-9])")
COLON = re.compile(r":(?=\s+\S)")

# Each with what the field's English says instead; `docs/authors.md` explains the kinds.
CONSTRUCTIONS = {
    r"^who(?:ever)? (?!is\b|are\b|was\b)\w+s\b(?!.*\?$)": "if you …",
    r"\b(?:the|an?) own\b|^own \w+": "self-weight, self-score, its own",
    r"\bshall\b": "should, must",
    r"\bas a rule\b": "usually",
    r"\bbeside\b": "next to, compared with",
    r"\b(?:stands?|stood) (?:before|behind|inside|in front of)\b": "comes before, follows, is inside",
    r"\b(?:falls?|fell) apart\b": "splits",
    r"\bbears\b": "tolerates",
    r"\b(?:an|one|two|several|eight) attentions?\b(?! [a-z])|\battentions\b": "head, attention layer",
    r"\bby which (?:factor|much)\b": "the factor by which, by how much",
    r"\bthe more so\b": "even more",
    r"\bbe they\b": "whether",
    r"\bholds? (?:\S+ ){1,4}against\b": "checks … against",
    r"\baddition theorems?\b": "angle addition formulas",
}

# Habits that are grammatical, and give a translation away where they are many: `docs/authors.md`.
TICS = {
    r"^afterwards,? you will be able to": "By the end of this lecture you will be able to",
    r", which (?:is|are)\b": "a colon, or an apposition",
    r"\([A-Z][^()]*[.!?]\)": "cut it, or take the brackets away",
    r"\bsome (?:ten|twenty|thirty|forty|fifty|hundred|\d+)\b": "about ten",
    r"\bby heart\b": "memorised",
    r"\b(?:model|head|network|decoder|encoder|readout|layer|one)s? says?\b": "predicts",
    r"\b(?:an?|one|two|three|four|every|each|its|first|last|own) looks?\b(?! at how)": "attention, attends",
    r"\b(?:which|its|each|every|right|wrong|same|next|last|\d+|two) places?\b": "position",
    r"\b(?:as|what) (?:lecture|section) \d+ (?:showed|said|says|did|has|had)\b": "cut",
    r"\bwhoever\b|^what holds is\b|\bthat is wanted\b|^once both\b": "say it plainly",
    r"\bnumbers of (?:a|the|its|this) (?:model|network|layer)\b": "parameters",
    r"\bwrites? (?:the|its|a|one|word)\b": "generates",
    r"^(?:So|And|But) .*\n(?:So|And|But) .*\n(?:So|And|But) ": "join the sentences by what connects them",
}


@dataclass(frozen=True)
class Counts:
    """What was counted in one text."""

    words: int
    sentences: int
    colons: int
    found: tuple[str, ...]
    tics: tuple[str, ...]

    @property
    def colons_per_thousand(self) -> float:
        return 1000 * self.colons / max(self.words, 1)

    @property
    def words_a_sentence(self) -> float:
        return self.words / max(self.sentences, 1)


def prose(text: str) -> list[str]:
    """The sentences of a Markdown text that are read as prose."""
    for pattern in UNREAD:
        text = pattern.sub("\n\n", text)
    for pattern, instead in READ:
        text = re.sub(pattern, instead, text)
    text = ITEM.sub("\n\n", text)
    blocks = (" ".join(block.split()) for block in re.split(r"\n\s*\n", text))
    return [
        sentence
        for block in blocks
        for sentence in SENTENCE.split(block)
        if re.search(r"[^\W\d_]{2}", sentence)
    ]


def counts(text: str) -> Counts:
    """The counts of a Markdown text."""
    sentences = prose(text)
    read = "\n".join(sentences)
    found, tics = (
        tuple(
            f"{match[0]!r} (write: {better})"
            for pattern, better in patterns.items()
            for match in re.finditer(pattern, read, re.IGNORECASE | re.MULTILINE)
        )
        for patterns in (CONSTRUCTIONS, TICS)
    )
    words = sum(bool(re.search(r"\w", word)) for line in sentences for word in line.split())
    colons = sum(len(COLON.findall(line)) for line in sentences)
    return Counts(words, len(sentences), colons, found, tics)


def markdown_of(path: Path) -> str:
    """All Markdown of a lecture, a notebook or a page, with a blank line between cells."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    fmt = "py:percent" if path.suffix == ".py" else None
    cells = jupytext.read(path, fmt=fmt).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def table(paths: list[Path]) -> str:
    """One line a text: words, colons in a thousand of them, words a sentence, constructions, tics."""
    rows = [
        f"{'text':<40}{'words':>7}{'colons/1000':>13}{'words/sentence':>16}{'found':>7}{'tics':>6}"
    ]
    for path in paths:
        one = counts(markdown_of(path))
        rows.append(
            f"{path.name:<40}{one.words:>7}{one.colons_per_thousand:>13.1f}"
            f"{one.words_a_sentence:>16.1f}{len(one.found):>7}{len(one.tics):>6}"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    lectures = Path(__file__).resolve().parent / "lectures"
    arguments = [name for name in sys.argv[1:] if name != "--found"]
    chosen = [Path(name) for name in arguments] or sorted(lectures.glob("*.py"), key=by_number)
    sys.stdout.write(table(chosen) + "\n")
    if "--found" in sys.argv:
        for path in chosen:
            one = counts(markdown_of(path))
            sys.stdout.writelines(f"{path.name}: {line}\n" for line in one.found + one.tics)
