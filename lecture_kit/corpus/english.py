"""The English verb group: auxiliaries, do-support, negation, and the forms of verbs."""

from __future__ import annotations

from collections.abc import Sequence

from lecture_kit.corpus.phrases import English, Phrase, Token
from lecture_kit.corpus.verbs import MODALS, Verb

_AUXILIARIES = {  # with ich, du, er, wir; the others have one form
    "be": ("am", "are", "is", "are"),
    "do": ("do", "do", "does", "do"),
}


def third_person(verb: str) -> str:
    """have -> has, try -> tries, buy -> buys"""
    if verb == "have":
        return "has"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeou" else verb + "s"


def ing_form(verb: str) -> str:
    """come -> coming"""
    return verb.removesuffix("e") + "ing"


def verb_words(english: str, tokens: Sequence[Token]) -> English:
    """Every word of an English verb renders all parts of the German one."""
    return [(word, tokens) for word in english.split()]


def verb_group(
    verb: Verb,
    modal: str,
    person: int,
    finite: Token,
    verbs: Sequence[Token],
    nicht: Phrase,
    *,
    habit: bool,
    asks: bool,
) -> tuple[English, English]:
    """The English verb with its auxiliary: what comes before the subject, and what comes after it.

    Args:
        verb, modal: what is done, and the modal verb, "" if there is none.
        person: of the subject, as for `Pronoun`.
        finite: the German finite verb.
        verbs: the German words that make up `verb`: one of them is `finite` without a modal verb.
        nicht: the phrase "nicht", or `NOTHING`.
        habit: what is done every day is not going on now: "reads", not "is reading".
        asks: the auxiliary goes before the subject.
    """
    words: English
    if modal:
        english = "must" if modal == "dürfen" and nicht.german else MODALS[modal].english
        auxiliary, *more = english.split()
        words = [*verb_words(" ".join(more), (finite,)), *verb_words(verb.english, verbs)]
    elif verb.english == "be":
        auxiliary, words = "be", []
    elif verb.state or habit:
        auxiliary, words = "do", verb_words(verb.english, verbs)
    else:
        first, *particle = verb.english.split()
        auxiliary, words = "be", verb_words(" ".join((ing_form(first), *particle)), verbs)

    if auxiliary == "do" and not nicht.german and not asks:  # "does want" is "wants"
        if person == 2:
            (first, tokens), *rest = words
            words = [(third_person(first), tokens), *rest]
        return [], words
    if auxiliary in _AUXILIARIES:
        auxiliary = _AUXILIARIES[auxiliary][person]
    if asks:
        return [(auxiliary, (finite,))], words
    if auxiliary == "can" and nicht.german:
        return [], [("cannot", (finite, *nicht.german)), *words]
    return [], [(auxiliary, (finite,)), *nicht.english, *words]
