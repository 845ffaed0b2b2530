"""Write the questions of all lectures as a deck for Anki, which asks them again after days and weeks.

    python -m tools.deck --to FILE            build/attention-course.apkg, unless FILE is another one

A question is recognised by its id, so that a later deck changes the cards of an earlier one and leaves
what a reader has learned as it is. The numbers below must stay for the same reason.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import genanki

from lecture_kit import questions

ROOT = Path(__file__).resolve().parent.parent
NAME = "attention-course.apkg"
DECK_ID, MODEL_ID = 1_846_207_391, 1_846_207_392
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


def write(to: Path) -> int:
    """Write the deck, and say how many cards it has."""
    deck = genanki.Deck(DECK_ID, "Attention and transformers")
    for lecture in questions.lectures():
        for question in questions.questions_of(lecture):
            deck.add_note(note(question))
    to.parent.mkdir(parents=True, exist_ok=True)
    genanki.Package(deck).write_to_file(to)
    return len(deck.notes)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "build" / NAME)
    to = parser.parse_args(arguments).to
    print(f"{to}: {write(to)} questions")


if __name__ == "__main__":
    main()
