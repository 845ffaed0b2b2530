"""Sentences about one subject, said or asked."""

from __future__ import annotations

from lecture_kit.corpus import verbs, words
from lecture_kit.corpus.clauses import QUESTION, STATEMENT, Action, Clause, Form, Subject, clause
from lecture_kit.corpus.draws import Draw
from lecture_kit.corpus.messages import feeling, simple, with_group
from lecture_kit.corpus.phrases import phrase, unchanging


def statement(draw: Draw) -> Clause:
    """Such as "ich kann heute den brief lesen ."."""
    return simple(draw, draw.subject(allowed=words.COUNTABLE))


def question(draw: Draw) -> Clause:
    """Such as "kannst du heute den brief lesen ?", "warum kommt er ?"."""
    subject = draw.subject()
    form = QUESTION
    if draw.chance(0.2):
        form = Form("second", asks=True, wh=draw.pick(tuple(words.QUESTION_WORDS)))
    if subject.name in words.SPEAKER:
        return simple(draw, subject, form, verbs.ASKED_OF_ONESELF, finite=0.0)
    return simple(draw, subject, form)


def group_statement(draw: Draw) -> Clause:
    """Such as "ich helfe dir , diesen satz zu übersetzen ."."""
    return with_group(draw, draw.subject())


def group_question(draw: Draw) -> Clause:
    """Such as "kannst du mir helfen , diesen satz zu übersetzen ?"."""
    subject = draw.subject()
    if subject.name in words.SPEAKER:
        return with_group(draw, subject, QUESTION, verbs.ASKED_OF_ONESELF, kinds=("help",))
    return with_group(draw, subject, QUESTION, kinds=("help", "time"))


def mood(draw: Draw) -> Clause:
    """Such as "heute bin ich müde .", "bist du müde ?"."""
    asks = draw.chance(0.3)
    subject = draw.subject()
    known = subject.name in words.SPEAKER  # nobody asks "bin ich müde ?"
    return feeling(draw, subject, QUESTION if asks and not known else STATEMENT)


def judgement(draw: Draw) -> Clause:
    """Such as "es ist schwer , diesen satz zu übersetzen ."."""
    form = QUESTION if draw.chance(0.3) else STATEMENT
    word = draw.pick(tuple(words.JUDGEMENTS))
    tasks = verbs.IMPORTANT if word == "wichtig" else verbs.HARD
    action = Action(verbs.VERBS["sein"], object=unchanging(word))
    action.inner = draw.action(tasks, None, definite=True)
    subject = Subject(phrase("es", "it", is_pronoun=True), 2, "es", "")
    return clause(subject, action, form)
