"""Write the questions of all lectures and the terms of the glossary as a deck for Anki.

Anki asks for them again after days and weeks.

    python -m tools.deck --to FILE            build/attention-course.apkg, unless FILE is another one
    python -m tools.deck --only "1-8"         a part of the course, see tools/part.py

A question is recognised by its id and a term by its name, so that a later deck changes the cards of an
earlier one and leaves what a reader has learned as it is. The numbers below must stay for the same reason.
"""

from __future__ import annotations

import argparse
import re
import sys
from html import escape
from pathlib import Path

import genanki
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from lecture_kit import questions
from tools.part import WHOLE, Part, PartError, part_of

ROOT = Path(__file__).resolve().parent.parent
NAME = "attention-course.apkg"
DECK_ID, MODEL_ID = 1_846_207_391, 1_846_207_392
GLOSSARY = ROOT / "docs/glossary.md"
ENTRY = re.compile(
    r"^### (?P<term>[^\n]+)\n\n(?P<text>.+?)(?=\n\n#|\n*\Z)", re.MULTILINE | re.DOTALL
)
STYLE = """.card { font: 18px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 1rem auto; padding: 0 1rem; }
code { font-size: 0.9em; }
li { margin: 0.3em 0; }
.lecture { color: #5c5c5c; font-size: 0.8em; }
.nightMode .lecture { color: #b4b4b4; }"""
MODEL = genanki.Model(
    MODEL_ID,
    "Attention and transformers: question",
    fields=[{"name": "Question"}, {"name": "Answer"}, {"name": "Lecture"}],
    templates=[
        {
            "name": "Card",
            "qfmt": "<div class='lecture'>{{Lecture}}</div>{{Question}}",
            "afmt": "{{FrontSide}}<hr id='answer'>{{Answer}}",
        }
    ],
    css=STYLE,
)


def note(question: questions.Question) -> genanki.Note:
    """The card of one question."""
    return genanki.Note(
        model=MODEL,
        fields=[
            f"<p>{questions.marked(question.text)}</p>{questions.offered(question)}",
            questions.answered(question),
            f"Lecture {int(question.lecture)}",
        ],
        guid=genanki.guid_for("attention-course", question.id),
        tags=[f"lecture-{question.lecture}"],
    )


def terms() -> dict[str, str]:
    """What the glossary says of each term, in Markdown."""
    return {found["term"]: found["text"] for found in ENTRY.finditer(GLOSSARY.read_text("utf-8"))}


def lecture_of(term: str, text: str) -> int:
    """The number of the lecture that teaches a term of the glossary."""
    lecture = re.search(r"Lecture\s+(\d+)", text)
    if not lecture:
        raise SystemExit(f"{GLOSSARY}: expected the lecture that teaches {term}; found none.")
    return int(lecture[1])


def note_of_term(term: str, text: str) -> genanki.Note:
    """The card of one term."""
    lecture = lecture_of(term, text)
    return genanki.Note(
        model=MODEL,
        fields=[f"<p><b>{term}</b></p>", as_card(text), f"Lecture {lecture}"],
        guid=genanki.guid_for("attention-course", "glossary", term),
        tags=["glossary", f"lecture-{lecture:02}"],
    )


def as_card(text: str) -> str:
    """Markdown as the HTML of a card: formulas for Anki's MathJax, and links, which lead nowhere there, as text."""
    markdown = MarkdownIt().use(dollarmath_plugin)
    markdown.add_render_rule(
        "math_inline", lambda _, tokens, at, *__: f"\\({escape(tokens[at].content)}\\)"
    )
    for part in ("link_open", "link_close"):
        markdown.add_render_rule(part, lambda *_: "")
    return markdown.render(text)


def write(to: Path, part: Part = WHOLE) -> int:
    """Write the deck of a part of the course, and say how many cards it has."""
    deck = genanki.Deck(DECK_ID, "Attention and transformers")
    for lecture in filter(part.teaches, questions.lectures()):
        for question in questions.questions_of(lecture):
            deck.add_note(note(question))
    for term, text in terms().items():
        if part.teaches(lecture_of(term, text)):
            deck.add_note(note_of_term(term, text))
    to.parent.mkdir(parents=True, exist_ok=True)
    genanki.Package(deck).write_to_file(to)
    return len(deck.notes)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "build" / NAME)
    parser.add_argument("--only", default="", help='a part of the course, as "1-8"')
    chosen = parser.parse_args(arguments)
    try:
        print(f"{chosen.to}: {write(chosen.to, part_of(chosen.only))} cards")
    except PartError as error:
        sys.exit(f"no deck: {error}")


if __name__ == "__main__":
    main()
