"""Clauses: somebody and what they do, in German and English word order; how clauses are joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lecture_kit.corpus.english import verb_group, verb_words
from lecture_kit.corpus.phrases import NOTHING, English, Phrase, Token, unchanging
from lecture_kit.corpus.verbs import MODALS, Verb
from lecture_kit.corpus.words import DAILY, NOT_WITH_NICHT


class Form(NamedTuple):
    """Where the German finite verb stands, and whether the clause asks."""

    order: str  # "first", "second" or "last"
    asks: bool = False
    wh: str = ""  # a question word, "" for none


STATEMENT, QUESTION = Form("second"), Form("first", asks=True)
REASON, AFTER_REASON = Form("last"), Form("first")  # "weil ich müde bin , kann ich nicht lesen"


@dataclass(slots=True)
class Subject:
    """Somebody who acts."""

    phrase: Phrase
    person: int  # as for `Pronoun`
    name: str  # the pronoun or the noun, so that nobody helps himself
    again: str  # the pronoun that takes it up, "" if none does
    kin: bool = False
    child: bool = False


@dataclass(slots=True)
class Action:
    """A verb with everything but its subject and the time of its clause."""

    verb: Verb
    object: Phrase = NOTHING
    dative: Phrase = NOTHING
    place: Phrase = NOTHING
    time: str = ""  # its own, in an infinitive group
    inner: Action | None = None  # the infinitive group that follows: ", ... zu ..."


@dataclass(slots=True)
class Clause:
    """A clause in both languages, without the mark at its end."""

    german: list[Token]
    english: English
    open_group: bool = False  # ends in an infinitive group, which a comma has to close
    asks: bool = False


def can_be_denied(action: Action, modal: str, time: str) -> bool:
    """Whether "nicht" can stand in a clause: not with "ein", places, some times and some verbs."""
    if action.object.german and not (action.object.definite and action.dative.definite):
        return False
    if action.place.german or time in NOT_WITH_NICHT:
        return False
    return not modal or action.verb.not_after is None or modal in action.verb.not_after


def _pronouns(action: Action) -> list[Token]:
    parts = (action.object, action.dative)
    return [token for part in parts if part.is_pronoun for token in part.german]


def _middle(action: Action, time: Phrase, nicht: Phrase) -> list[Token]:
    """What stands between the pronouns and the verb at the end of a German clause."""
    dative = [] if action.dative.is_pronoun else action.dative.german
    thing = [] if action.object.is_pronoun else action.object.german
    before, after = (thing, []) if action.object.definite else ([], thing)
    return [*time.german, *dative, *before, *nicht.german, *action.place.german, *after]


def _complements(action: Action) -> English:
    """What follows the English verb; adverbs of time come last of all and are not in here."""
    thing, dative, place = action.object, action.dative, action.place
    if action.verb.dative == "direct":
        return [*dative.english, *thing.english, *place.english]
    to: English = [("to", (token,)) for token in dative.german[:1]]
    return [*thing.english, *to, *dative.english, *place.english]


def _infinitive_group(action: Action | None) -> Phrase:
    """A group such as ", diesen satz zu übersetzen": its verb and "zu" stand at the end."""
    if action is None:
        return NOTHING
    verb, time, inner = action.verb, unchanging(action.time), _infinitive_group(action.inner)
    if verb.prefix:
        tokens = [Token(verb.prefix + "zu" + verb.infinitive)]
    else:
        tokens = [Token("zu"), Token(verb.infinitive)]
    middle = _middle(action, time, NOTHING)
    german = [Token(","), *_pronouns(action), *middle, *tokens, *inner.german]
    words = [*verb_words("to", tokens[:1]), *verb_words(verb.english, tokens[-1:])]
    english = [*words, *_complements(action), *inner.english, *time.english]
    return Phrase(german, english)


def clause(
    subject: Subject,
    action: Action,
    form: Form = STATEMENT,
    modal: str = "",
    time: str = "",
    fronted: bool = False,
    negated: bool = False,
) -> Clause:
    """Write one clause in both languages.

    Args:
        subject, action: who does what.
        form: a statement, a question, or a part of a longer sentence.
        modal, time: a modal verb and a time, "" for none.
        fronted: the time comes first in German, and the subject after the verb.
        negated: with "nicht".
    """
    verb, who = action.verb, subject.phrase
    nicht = unchanging("nicht" if negated else "")
    asked, when, group = unchanging(form.wh), unchanging(time), _infinitive_group(action.inner)
    if modal:
        finite = Token(MODALS[modal].finite[subject.person])
        verbs = at_end = [Token(verb.prefix + verb.infinitive)]
    else:
        finite = Token(verb.finite[subject.person])
        at_end = [Token(verb.prefix)] if verb.prefix else []
        verbs = [finite, *at_end]

    front = asked.german or (when.german if fronted else [])
    actor, pronouns = who.german, _pronouns(action)
    rest = _middle(action, NOTHING if fronted else when, nicht)
    if who.is_pronoun or (form.order == "second" and not front):
        rest = [*pronouns, *rest]
    else:  # a pronoun goes before a noun: "kann mir dein bruder helfen ?"
        actor = [*pronouns, *actor]
    if form.order == "last":
        german = [*actor, *rest, *at_end, finite]
    elif form.order == "first" or front:
        german = [*front, finite, *actor, *rest, *at_end]
    else:
        german = [*actor, finite, *rest, *at_end]

    before, after = verb_group(
        verb, modal, subject.person, finite, verbs, nicht, habit=time == DAILY, asks=form.asks
    )
    english = [*asked.english, *before, *who.english, *after, *_complements(action)]
    return Clause(
        [*german, *group.german],
        [*english, *group.english, *when.english],
        action.inner is not None,
        form.asks,
    )


def join(first: Clause, german: str, english: str, second: Clause) -> Clause:
    """Two clauses and the comma rules of both languages.

    German puts a comma before aber and weil, and before und only to close an infinitive group.
    English puts one before "and" and "but" between main clauses and none before "because".
    """
    word = Token(german)
    commas = [Token(",")] if german != "und" or first.open_group else []
    marks: English = [] if english == "because" else [(",", (*commas, word)[:1])]
    return Clause(
        [*first.german, *commas, word, *second.german],
        [*first.english, *marks, (english, (word,)), *second.english],
        second.open_group,
    )


def because_first(reason: Clause, main: Clause) -> Clause:
    """The reason stands in first place, so the verb of the main clause follows at once."""
    weil, comma = Token("weil"), Token(",")
    german = [weil, *reason.german, comma, *main.german]
    english = [("because", (weil,)), *reason.english, (",", (comma,)), *main.english]
    return Clause(german, english, main.open_group)
