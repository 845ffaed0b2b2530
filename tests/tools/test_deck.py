"""The deck for Anki opens, holds every question and every term, and updates an earlier one."""

import re
import sqlite3
import zipfile
from collections import Counter

from lecture_kit import questions
from tests.test_guides import ENTRIES
from tools import deck
from tools.part import part_of

ALL = [question for lecture in questions.lectures() for question in questions.questions_of(lecture)]


def rows(path, folder, query):
    """What an SQL query finds in the collection within a deck's file."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        collection = archive.extract("collection.anki2", folder)
    connection = sqlite3.connect(collection)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_the_deck_opens_and_holds_every_question(tmp_path):
    path = tmp_path / "folder" / deck.NAME
    assert deck.write(path) == len(ALL) + len(ENTRIES)
    stored = rows(path, tmp_path, "select flds, tags from notes order by id")
    assert rows(path, tmp_path, "select count(*) from cards") == [(len(stored),)]
    for question, (fields, tags) in zip(ALL, stored[: len(ALL)], strict=True):
        front, back, lecture = fields.split("\x1f")
        assert questions.marked(question.text) in front
        assert back == questions.answered(question)
        assert lecture == f"Lecture {int(question.lecture)}"
        assert tags.split() == [f"lecture-{question.lecture}"]


def test_the_deck_holds_every_term_of_the_glossary(tmp_path):
    path = tmp_path / deck.NAME
    deck.write(path)
    stored = rows(path, tmp_path, "select flds, tags from notes order by id")[len(ALL) :]
    for (term, entry), (fields, tags) in zip(ENTRIES, stored, strict=True):
        front, back, lecture = fields.split("\x1f")
        assert f">{term}<" in front
        number = re.search(r"Lecture\s+(\d+)", entry)[1]
        assert lecture == f"Lecture {number}" and f"Lecture {number}" in " ".join(back.split())
        assert {"glossary", f"lecture-{int(number):02}"} == set(tags.split())
        # formulas as Anki's MathJax reads them; links, whose pages are not there, as text
        assert back.count("\\(") == back.count("\\)") == len(re.findall(r"\$[^$]+\$", entry))
        assert not any(mark in back for mark in ("$", "](", "<a", "**"))


def test_the_deck_of_a_part_holds_the_questions_and_terms_of_its_lectures_alone(tmp_path):
    path = tmp_path / deck.NAME
    cards = deck.write(path, part_of("3"))
    stored = rows(path, tmp_path, "select flds, tags from notes")
    assert {fields.split("\x1f")[2] for fields, _ in stored} == {"Lecture 3"}
    tags = Counter(tag for _, tags in stored for tag in tags.split())
    assert tags["lecture-03"] == cards
    assert tags["glossary"] == cards - len(questions.questions_of("03")) > 0


def test_what_may_be_chosen_is_on_the_front_and_the_answer_is_not():
    for question in ALL:
        front, back, _ = deck.note(question).fields
        match question:
            case questions.ChoiceQuestion(choices=choices):
                assert all(questions.marked(choice.text) in front for choice in choices)
                assert not any(questions.marked(choice.says) in front for choice in choices)
            case questions.OrderQuestion(steps=steps):
                places = [front.index(questions.marked(step.text)) for step in steps]
                assert places != sorted(places), f"{question.id} shows its steps in the right order"
                places = [back.index(questions.marked(step.text)) for step in steps]
                assert places == sorted(places)
            case questions.NumberQuestion():
                assert questions.marked(question.says) not in front


def test_a_later_deck_updates_an_earlier_one(tmp_path):
    """Anki recognises a note by its guid, its kind by the model's id, and the deck by its own."""
    first, second = tmp_path / "first.apkg", tmp_path / "second.apkg"
    for path in (first, second):
        deck.write(path)
    query = "select guid, mid from notes order by id"
    known = rows(first, tmp_path, query)
    assert known == rows(second, tmp_path, query)
    assert len({guid for guid, _ in known}) == len(ALL) + len(ENTRIES)
    assert {model for _, model in known} == {1_846_207_392}
    assert {row[0] for row in rows(second, tmp_path, "select did from cards")} == {1_846_207_391}
    # one guid as it was when the first deck was given to readers
    assert deck.note(ALL[0]).guid == "x>Wa{9<hiJ"
