"""A small seeded grammar that writes German sentences together with their English translation.

German is the source language because its word order crosses the English one: infinitives wait at
the end of a clause, the verb comes second, first or last depending on the clause, prefixes part
from their verbs, adverbs of time come early. A model that copies word by word fails here.

Each sentence is built once, as a meaning, and written down in both languages at the same time.
Every English word remembers the German words that it renders, so the true alignment comes free.

Whatever is drawn is drawn with `random.Random(seed).random()` alone: Python promises that this
method gives the same numbers on every platform and in every version.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from course_utils.lexicon import (
    ADJECTIVES,
    ALWAYS,
    ASKED_OF_ONESELF,
    CHORES,
    COUNTABLE,
    DAILY,
    DAILY_DETERMINERS,
    DATIVE_PRONOUNS,
    DATIVE_TO_SUBJECT,
    DEFINITE,
    DEFINITE_ARTICLE,
    ENGLISH_DETERMINER,
    EVERY_DAY,
    EVERY_DAY_DUTIES,
    FETCHED,
    FINITES,
    GROWN_UP_THINGS,
    HAD_TIME_FOR,
    HARD,
    HELPED,
    IMPORTANT,
    INFINITIVES,
    IT,
    JUDGEMENTS,
    KIN,
    LEISURE,
    MASS,
    MISSED,
    MODALS,
    NOT_TO_ONESELF,
    NOT_WITH_NICHT,
    NOUNS,
    PERSONS,
    PLACES,
    PLANNED,
    PRONOUN_OF_GENDER,
    PRONOUNS,
    REMEMBERED,
    ROOM,
    STATES,
    STRONG_ENDING,
    TAKEN_OVER,
    THINGS,
    TIMES,
    TODAY,
    TRIED,
    VERB_LAST,
    VERBS,
    WISH,
    Noun,
    Verb,
)

# --- phrases: both languages at once ----------------------------------------------------------


class Token:
    """One German word of one sentence; `place` is its index once the sentence is complete."""

    __slots__ = ("place", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = -1


English = list[tuple]  # (word, the German tokens that it renders ...)


class Phrase(NamedTuple):
    german: list[Token]
    english: English


@dataclass(slots=True)
class Subject:
    phrase: Phrase
    person: int
    name: str  # the pronoun or the noun, so that nobody helps himself
    again: str | None  # the pronoun that takes it up, None for a child: "es" would read as "it"
    is_pronoun: bool = False
    kin: bool = False
    child: bool = False


@dataclass(slots=True)
class Action:
    """A verb with everything but its subject and, unless it has its own, its time."""

    verb: Verb
    object: Phrase | None = None
    definite: bool = True  # nothing with "ein" or without an article, so "nicht" can follow
    number: str = ""  # the gender of the object, p if it is plural
    pronoun: Phrase | None = None  # an object already mentioned: ihn, sie, es
    dative: Phrase | None = None
    dative_is_pronoun: bool = False
    place: Phrase | None = None
    time: Phrase | None = None
    inner: Action | None = None  # ", ... zu ..."


@dataclass(slots=True)
class Clause:
    german: list[Token]
    english: English
    open_group: bool = False  # ends in an infinitive group, which a comma has to close


def third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeou" else verb + "s"


def ing_form(verb: str) -> str:
    return verb[:-1] + "ing" if verb.endswith("e") else verb + "ing"


def _be(person: int) -> str:
    return ("am", "are", "is", "are")[person]


def _literal(german: str, english: Sequence[tuple[str, int]]) -> Phrase:
    tokens = [Token(word) for word in german.split()]
    return Phrase(tokens, [(word, tokens[place]) for word, place in english])


def _single(german: str, english: str) -> Phrase:
    token = Token(german)
    return Phrase([token], [(english, token)])


def noun_phrase(
    noun: Noun, case: str, determiner: str, adjective: str = "", plural: bool = False
) -> Phrase:
    """A determiner, an adjective and a noun that agree in gender, case and number.

    The rule behind the three tables of German endings: gender and case show once. If the
    determiner shows them (der, dieser, meinen), the adjective is weak; if it does not (ein, mein,
    or no determiner), the adjective shows them.
    """
    gender = "p" if plural else noun.gender
    is_plural = gender == "p"
    strong = STRONG_ENDING[case][gender]
    if determiner == "ein" and is_plural:
        determiner = ""
    if determiner == "der":
        article, shown = DEFINITE_ARTICLE[case][gender], True
    elif determiner == "dieser":
        article, shown = "dies" + strong, True
    elif determiner:
        bare = {"nominative": "mn", "accusative": "n", "dative": ""}[case]  # ein, not eine(r, m)
        shown = gender not in bare
        article = determiner + strong if shown else determiner
    else:
        article, shown = "", False

    german, english = [], []
    if article:
        token = Token(article)
        german.append(token)
        if determiner == "ein":
            following = ADJECTIVES[adjective] if adjective else noun.english
            english.append(("an" if following[0] in "aeiou" else "a", token))
        elif determiner == "dieser":
            english.append(("these" if is_plural else "this", token))
        else:
            english.append((ENGLISH_DETERMINER[determiner], token))
    if adjective:
        if not shown:
            ending = strong
        else:
            short = {"nominative": "mfn", "accusative": "fn", "dative": ""}[case]
            ending = "e" if gender in short else "en"
        token = Token(adjective + ending)
        german.append(token)
        english.append((ADJECTIVES[adjective], token))
    if plural:
        form = noun.dative_plural if case == "dative" else noun.plural
    else:
        form = noun.oblique if noun.oblique and case != "nominative" else noun.german
    token = Token(form)
    german.append(token)
    english.append((noun.english_plural if plural else noun.english, token))
    return Phrase(german, english)


# --- clauses: word order ----------------------------------------------------------------------


def _pronouns(action: Action) -> list[Token]:
    if action.pronoun:
        return action.pronoun.german
    return action.dative.german if action.dative_is_pronoun else []


def _middle(action: Action, time: Phrase | None, nicht: Token | None) -> list[Token]:
    """What stands between the pronouns and the verb at the end of a German clause."""
    german: list[Token] = []
    if time:
        german += time.german
    if action.dative and not action.dative_is_pronoun:
        german += action.dative.german
    if action.object and action.definite:
        german += action.object.german
    if nicht:
        german.append(nicht)
    if action.place:
        german += action.place.german
    if action.object and not action.definite:
        german += action.object.german
    return german


def _complements(action: Action) -> English:
    """What follows the English verb; adverbs of time come last of all and are not in here."""
    english: English = []
    if action.pronoun:
        english += action.pronoun.english
    if action.dative and action.verb.dative == "direct":
        english += action.dative.english
    if action.object:
        english += action.object.english
    if action.dative and action.verb.dative == "to":
        english.append(("to", action.dative.german[0]))
        english += action.dative.english
    if action.place:
        english += action.place.english
    return english


def _verb_words(english: str, tokens: Sequence[Token]) -> English:
    return [(word, *tokens) for word in english.split()]


def _infinitive_group(action: Action) -> tuple[list[Token], English]:
    """A group such as ", diesen satz zu übersetzen": its verb and "zu" stand at the end."""
    german = [Token(","), *_pronouns(action), *_middle(action, action.time, None)]
    verb = action.verb
    if verb.prefix:
        tokens = [Token(verb.prefix + "zu" + verb.infinitive)]
    else:
        tokens = [Token("zu"), Token(verb.infinitive)]
    german += tokens
    english: English = [("to", tokens[0]), *_verb_words(verb.english, tokens[-1:])]
    english += _complements(action)
    if action.inner:
        more_german, more_english = _infinitive_group(action.inner)
        german += more_german
        english += more_english
    if action.time:
        english += action.time.english
    return german, english


def _english_verb(
    action: Action,
    modal: str | None,
    person: int,
    question: bool,
    progressive: bool,
    finite: Token,
    verbs: list[Token],
    nicht: Token | None,
) -> tuple[English, English]:
    """The English verb group: what comes before the subject, and what comes after it."""
    base = action.verb.english
    first, _, particle = base.partition(" ")
    has_do = question or nicht is not None
    do = "does" if person == 2 else "do"
    plain = _verb_words(base, verbs)
    auxiliary: str | None = None
    rest: English
    if modal in ("können", "sollen"):
        auxiliary, rest = ("can" if modal == "können" else "should"), plain
    elif modal == "möchten":
        auxiliary, rest = "would", [("like", finite), ("to", finite), *plain]
    elif modal == "dürfen":
        if nicht:
            auxiliary, rest = "must", plain
        else:
            auxiliary, rest = _be(person), [("allowed", finite), ("to", finite), *plain]
    elif modal:
        word = "have" if modal == "müssen" else "want"
        auxiliary = do if has_do else None
        word = word if has_do or person != 2 else third_person(word)
        rest = [(word, finite), ("to", finite), *plain]
    elif action.verb.infinitive == "sein":
        auxiliary, rest = _be(person), []
    elif progressive:
        auxiliary, rest = _be(person), _verb_words(f"{ing_form(first)} {particle}", verbs)
    else:
        auxiliary = do if has_do else None
        first = first if has_do or person != 2 else third_person(first)
        rest = _verb_words(f"{first} {particle}", verbs)

    if auxiliary is None:
        return [], rest
    if question:
        return [(auxiliary, finite)], rest
    if nicht is None:
        return [], [(auxiliary, finite), *rest]
    if auxiliary == "can":
        return [], [("cannot", finite, nicht), *rest]
    return [], [(auxiliary, finite), ("not", nicht), *rest]


def clause(
    subject: Subject,
    action: Action,
    order: str = "second",
    modal: str | None = None,
    time: Phrase | None = None,
    fronted: bool = False,
    negated: bool = False,
    wh: Phrase | None = None,
    question: bool = False,
) -> Clause:
    """Write one clause; `order` is where the German finite verb stands: second, first, last."""
    verb = action.verb
    nicht = Token("nicht") if negated else None
    if modal:
        finite = Token(MODALS[modal][subject.person])
        verbs = [Token(verb.prefix + verb.infinitive)]
        verb_end = verbs
    else:
        finite = Token(verb.finite[subject.person])
        prefix = [Token(verb.prefix)] if verb.prefix else []
        verbs, verb_end = [finite, *prefix], prefix

    front = wh or (time if fronted else None)
    middle = _middle(action, None if fronted else time, nicht)
    who, pronouns = subject.phrase.german, _pronouns(action)
    if subject.is_pronoun or (order == "second" and not front):
        middle = [*pronouns, *middle]
    else:  # a pronoun goes before a noun: "kann mir dein bruder helfen ?"
        who = [*pronouns, *who]
    if order == "last":
        german = [*who, *middle, *verb_end, finite]
    elif order == "first":
        german = [finite, *who, *middle, *verb_end]
    elif front:
        german = [*front.german, finite, *who, *middle, *verb_end]
    else:
        german = [*who, finite, *middle, *verb_end]

    daily = time is not None and time.german[0].text == "jeden"
    before, after = _english_verb(
        action, modal, subject.person, question, not (verb.state or daily), finite, verbs, nicht
    )
    english = [*(wh.english if wh else []), *before, *subject.phrase.english, *after]
    english += _complements(action)
    if action.inner:
        more_german, more_english = _infinitive_group(action.inner)
        german += more_german
        english += more_english
    if time:
        english += time.english
    return Clause(german, english, action.inner is not None)


def _join(first: Clause, german: str, english: str, second: Clause) -> Clause:
    """Two clauses and the comma rules of both languages.

    German puts a comma before aber and weil, and before und only to close an infinitive group.
    English puts one before "and" and "but" between main clauses and none before "because".
    """
    word = Token(german)
    comma = Token(",") if german != "und" or first.open_group else None
    words = [*first.german, *([comma] if comma else []), word, *second.german]
    translation = list(first.english)
    if english != "because":
        translation.append((",", comma or word))
    translation += [(english, word), *second.english]
    return Clause(words, translation, second.open_group)


def _because_first(reason: Clause, main: Clause) -> Clause:
    """The reason stands in first place, so the verb of the main clause follows at once."""
    weil, comma = Token("weil"), Token(",")
    german = [weil, *reason.german, comma, *main.german]
    english = [("because", weil), *reason.english, (",", comma), *main.english]
    return Clause(german, english, main.open_group)


# --- sentences: what is said ------------------------------------------------------------------


LONGEST = 28  # tokens, on either side
_ONE = tuple((place,) for place in range(LONGEST))  # shared, because most words have one origin


@cache
def _with_modals(among: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in INFINITIVES if set(among) & set(VERBS[name].modals))


def _times(action: Action, modal: str | None, wh: Phrase | None = None) -> Sequence[str]:
    """The times that go with a clause: not "soon" with what is just going on."""
    verb, asked = action.verb, wh.german[0].text if wh else ""
    if asked == "wann":
        return ()
    if asked or not (modal or verb.state or verb.infinitive == "kommen"):
        return [time for time in verb.times if time != "bald"]
    return verb.times


class Writer:
    """Draws one sentence after the other from one stream of random numbers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random
        self._used: set[str] = set()  # nouns and verbs of this sentence: each appears once

    def pick(self, options: Sequence):
        return options[int(self._random() * len(options))]

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def _fresh(self, names: Sequence[str]) -> str | None:
        """A name not used in this sentence so far, or None if every one has been used."""
        fresh = [name for name in names if name not in self._used]
        if not fresh:
            return None
        name = self.pick(fresh)
        self._used.add(name)
        return name

    # who

    def person(self, case: str, allowed: Sequence[str] = COUNTABLE) -> tuple[Phrase, Noun, str]:
        """A phrase for somebody, its noun, and p or the gender."""
        free = [noun for noun in PERSONS if noun.german not in self._used]
        noun = self.pick(free)
        self._used.add(noun.german)
        plural = bool(noun.plural) and self.chance(0.25)
        determiners = [word for word in noun.determiners if word in allowed]
        if plural:
            determiners = [word for word in determiners if word != "ein"]
        adjective = self.pick(noun.adjectives) if noun.adjectives and self.chance(0.3) else ""
        phrase = noun_phrase(noun, case, self.pick(determiners), adjective, plural)
        return phrase, noun, "p" if plural else noun.gender

    def subject(
        self, pronouns: float = 0.55, again: bool = False, allowed: Sequence[str] = DEFINITE
    ) -> Subject:
        """Somebody who acts; `again`: only somebody whom a pronoun can take up."""
        if self.chance(pronouns):
            free = [name for name in PRONOUNS if name not in self._used]
            return self.pronoun(self.pick(free))
        while True:
            phrase, noun, gender = self.person("nominative", allowed)
            if not (again and gender == "n"):
                break
        return Subject(
            phrase,
            3 if gender == "p" else 2,
            noun.german,
            PRONOUN_OF_GENDER.get(gender),
            kin=noun.determiners == KIN,
            child=noun.child,
        )

    def pronoun(self, name: str) -> Subject:
        self._used.update(("ich", "wir") if name in ("ich", "wir") else (name,))
        german, english, person = PRONOUNS[name]
        return Subject(_single(german, english), person, name, name, is_pronoun=True)

    def _again(self, subject: Subject) -> Subject:
        return self.pronoun(subject.again)

    # what

    def action(
        self,
        names: Sequence[str],
        subject: Subject | None,
        nouns: Sequence[str] | None = None,
        daily: bool = False,
        definite: bool = False,
        dative: bool = True,
    ) -> Action:
        """A verb out of `names`, with objects that suit it and `subject`."""
        child = subject is not None and subject.child
        allowed = [name for name in names if not (child and VERBS[name].grown_up)
                   and (dative or name != "helfen")]  # fmt: skip
        verb = VERBS[self._fresh(allowed) or self.pick(allowed)]
        action = Action(verb)
        allowed_words = DEFINITE if definite else COUNTABLE
        if subject is not None and subject.kin:  # "mein vater" and "sein bruder" are my family
            allowed_words = tuple(word for word in allowed_words if word != "sein")
        if verb.dative and dative and (verb.dative == "direct" or self.chance(0.5)):
            barred = NOT_TO_ONESELF.get(subject.name, ()) if subject else ()
            if self.chance(0.55):
                german = self.pick([word for word in DATIVE_PRONOUNS if word not in barred])
                action.dative = _single(german, DATIVE_PRONOUNS[german])
                action.dative_is_pronoun = True
            else:
                action.dative = self.person("dative", allowed_words)[0]
                action.definite = action.dative.german[0].text[:3] != "ein"
        if verb.objects == ("person",):
            among = [word for word in allowed_words if word != "ein"]
            action.object, _, action.number = self.person("accusative", among)
        elif verb.objects:
            choices = verb.daily if daily and verb.daily else verb.objects
            if nouns:
                choices = [name for name in choices if name in nouns]
            if child:
                choices = [name for name in choices if name not in GROWN_UP_THINGS]
            name = self._fresh(choices) or self.pick(choices)
            self._thing(action, name, definite, daily)
        if verb.places and self.chance(0.25):
            german = self.pick(tuple(PLACES))
            action.place = _literal(german, PLACES[german])
        return action

    def _thing(self, action: Action, name: str, definite: bool, daily: bool) -> None:
        noun, verb = NOUNS[name], action.verb
        habit = DAILY_DETERMINERS.get(name, ROOM) if daily else COUNTABLE + MASS
        determiners = [word for word in noun.determiners
                       if (verb.determiners is None or word in verb.determiners)
                       and word in habit
                       and not (definite and word in ("", "ein"))]  # fmt: skip
        determiner = self.pick(determiners)
        adjectives = noun.adjectives
        if verb.adjectives is not None:
            adjectives = tuple(word for word in adjectives if word in verb.adjectives)
        adjective = self.pick(adjectives) if adjectives and self.chance(0.35) else ""
        plural = bool(noun.plural) and self.chance(0.25)
        action.object = noun_phrase(noun, "accusative", determiner, adjective, plural)
        action.definite = action.definite and determiner not in ("", "ein")
        action.number = "p" if plural else noun.gender

    def _time(self, options: Sequence[str], probability: float) -> Phrase | None:
        if not self.chance(probability):
            return None
        german = self._fresh(options)
        return _literal(german, TIMES[german]) if german else None

    def _modal(self, action: Action, among: Sequence[str] = WISH) -> str:
        return self.pick([word for word in action.verb.modals if word in among])

    # clauses

    def _negatable(self, action: Action, modal: str | None, time: Phrase | None) -> bool:
        verb = action.verb
        if (action.object and not action.definite) or action.place:
            return False
        if time and time.german[0].text in ("bald", "jeden"):
            return False
        return modal is None or verb.not_after is None or modal in verb.not_after

    def simple(
        self, subject: Subject, order: str = "second", time: float = 0.5, front: float = 0.4,
        negation: float = 0.15, among: Sequence[str] = WISH, question: bool = False,
        finite: float = 0.4, every_day: float = 0.15, wh: Phrase | None = None,
    ) -> Clause:  # fmt: skip
        """Somebody does, can do, or must do something."""
        daily = self.chance(every_day) and self._fresh((DAILY,)) is not None
        is_finite = self.chance(finite)
        names = _with_modals(among)
        if is_finite:
            names = VERB_LAST if order == "last" else FINITES
        if daily:
            names = [name for name in names if name in EVERY_DAY]
        action = self.action(names, subject, daily=daily)
        modal = None if is_finite else self._modal(action, among)
        if daily:
            when = _literal(DAILY, TIMES[DAILY])
        else:
            when = self._time(_times(action, modal, wh), time)
        negated = not question and self.chance(negation) and self._negatable(action, modal, when)
        fronted = order == "second" and when is not None and wh is None and self.chance(front)
        return clause(subject, action, order, modal, when, fronted, negated, wh, question)

    def with_group(
        self, subject: Subject, order: str = "second", question: bool = False,
        among: Sequence[str] = WISH, time: float = 0.4, kinds: Sequence[str] = (),
    ) -> Clause:  # fmt: skip
        """A clause that ends in an infinitive group: ", diesen satz zu übersetzen"."""
        kind = self.pick(kinds or ("help", "help", "try", "remember", "time"))
        negated, modal = False, None
        if kind == "help":
            action = self._help(subject)
            modal = None if not question and self.chance(0.3) else self._modal(action, among)
        elif kind == "try":
            action = Action(VERBS["versuchen"], inner=self.action(TRIED, subject, definite=True))
            if action.inner.verb.infinitive == "helfen" and self.chance(0.5):
                action.inner.inner = self.action(HELPED, None, dative=False)
            modal = None if self.chance(0.5) else self._modal(action, among)
        elif kind == "remember":
            action = Action(VERBS["vergessen"], inner=self.action(REMEMBERED, subject))
            action.inner.time = self._time(PLANNED, 0.4)
            modal, negated, question = self._modal(action), True, False
        else:
            negative = not question
            inner = self.action(HAD_TIME_FOR, subject)
            if inner.verb.infinitive == "helfen" and self.chance(0.5):
                inner.inner = self.action(HELPED, None, dative=False)
            action = self._time_to_spare(negative)
            action.inner = inner
        when = self._time(_times(action, modal), time)
        fronted = order == "second" and when is not None and self.chance(0.4)
        return clause(subject, action, order, modal, when, fronted, negated, None, question)

    def _help(self, subject: Subject) -> Action:
        action = self.action(("helfen",), subject)
        action.inner = self.action(HELPED, subject, dative=False)
        return action

    def _time_to_spare(self, negative: bool) -> Action:
        if negative:
            phrase = _literal("keine zeit", (("no", 0), ("time", 1)))
        else:
            phrase = _single("zeit", "time")
        return Action(VERBS["haben"], object=phrase)

    def feeling(
        self, subject: Subject, states: Sequence[str], order: str = "second", time: float = 0.3,
        question: bool = False,
    ) -> Clause:  # fmt: skip
        state = self.pick(states)
        action = Action(VERBS["sein"], object=_single(state, STATES[state]))
        when = self._time(TODAY, time)
        fronted = order == "second" and when is not None and self.chance(0.4)
        return clause(subject, action, order, None, when, fronted, question=question)

    def judgement(self, question: bool) -> Clause:
        """How easy something is: "es ist schwer , diesen satz zu übersetzen"."""
        judgement = self.pick(tuple(JUDGEMENTS))
        names = IMPORTANT if judgement == "wichtig" else HARD
        action = Action(VERBS["sein"], object=_single(judgement, JUDGEMENTS[judgement]))
        action.inner = self.action(names, None, definite=True)
        subject = Subject(_single("es", "it"), 2, "es", None, is_pronoun=True)
        return clause(subject, action, "first" if question else "second", question=question)

    # joined clauses

    def both(self) -> Clause:
        """Two people, each with something to do: und."""
        first_subject, second_subject = self.subject(), self.subject()
        first = self._either(first_subject, 0.5)
        second = self._either(second_subject, 0.5)
        return _join(first, "und", "and", second)

    def _either(self, subject: Subject, group: float, order: str = "second", **options) -> Clause:
        if self.chance(group):
            kinds = ("help",) if options.get("among") else ()
            among, time = options.get("among", WISH), options.get("time", 0.4)
            return self.with_group(subject, order, among=among, time=time, kinds=kinds)
        return self.simple(subject, order, **options)

    def _wish(self, subject: Subject, group: float = 0.35, time: float = 0.5) -> Clause:
        return self._either(subject, group, among=("wollen", "möchten"), time=time, finite=0.0,
                            negation=0.0, every_day=0.0)  # fmt: skip

    def _duty(self, subject: Subject, order: str = "second", group: float = 0.45,
              time: float = 0.3, among: Sequence[str] = ("müssen",)) -> Clause:  # fmt: skip
        return self._either(subject, group, order, among=among, time=time, finite=0.0,
                            negation=0.0, every_day=0.0)  # fmt: skip

    def contrast(self) -> Clause:
        """A wish, and what stands against it: aber."""
        subject = self.subject(again=True)
        kind = self._random()
        if kind < 0.25:
            return self._missing(subject)
        early = self.chance(0.5)
        first = self._wish(subject, time=0.7 * early)
        if kind < 0.5:
            second = self._duty(self._again(subject), time=0.7 * (not early))
        elif kind < 0.75:
            second = self._obstacle(self._again(subject))
        else:
            second = self._duty(self.subject(), time=0.7 * (not early), among=("wollen", "müssen"))
        return _join(first, "aber", "but", second)

    def _missing(self, subject: Subject) -> Clause:
        """The thing is lost: "ich will den brief lesen , aber ich kann ihn nicht finden"."""
        action = self.action(MISSED, subject, nouns=THINGS, definite=True)
        modal = self.pick(("wollen", "möchten", "müssen"))
        first = clause(subject, action, modal=modal, time=self._time(TODAY, 0.4))
        found = Action(VERBS["finden"], pronoun=_single(*IT[action.number]))
        second = clause(self._again(subject), found, modal="können", negated=True)
        return _join(first, "aber", "but", second)

    def _obstacle(self, subject: Subject, order: str = "second") -> Clause:
        if self.chance(0.5):
            return self.feeling(subject, ("müde", "krank"), order, time=0.0)
        return clause(subject, self._time_to_spare(True), order)

    def reason(self) -> Clause:
        """Something, and why: weil, with its verb at the end."""
        kind = self.pick((
            self._busy, self._busy, self._needed, self._later, self._in_need, self._unwell,
            self._moved, self._in_place_of,
        ))  # fmt: skip
        return kind()

    def _because(self, main, reason) -> Clause:
        """Put a main clause and its reason, of the same subject, in one order or the other."""
        subject = self.subject(again=True)
        if self.chance(0.25):
            because = reason(subject)
            return _because_first(because, main(self._again(subject), "first"))
        first = main(subject, "second")
        return _join(first, "weil", "because", reason(self._again(subject)))

    def _refusal(self, subject: Subject, order: str, times: Sequence[str] = ()) -> Clause:
        names = (*LEISURE, "kommen", "helfen", *CHORES)
        action = self.action(names, subject, definite=True)
        action.place = None
        options = [time for time in times or action.verb.times if time not in NOT_WITH_NICHT]
        when = self._time(options, 0.5)
        fronted = order == "second" and when is not None and self.chance(0.4)
        return clause(subject, action, order, "können", when, fronted, negated=True)

    def _busy(self) -> Clause:
        def why(subject: Subject) -> Clause:
            return self._duty(subject, "last", group=0.4, time=0.0, among=("müssen", "wollen"))

        return self._because(self._refusal, why)

    def _unwell(self) -> Clause:
        def main(subject: Subject, order: str) -> Clause:
            return self._refusal(subject, order, TODAY)

        def why(subject: Subject) -> Clause:
            return self.feeling(subject, ("müde", "krank"), "last", time=0.0)

        return self._because(main, why)

    def _later(self) -> Clause:
        """Today rather than later: "... , weil ich morgen keine zeit habe"."""

        def main(subject: Subject, order: str) -> Clause:
            names = [name for name in _with_modals(("müssen",)) if VERBS[name].times == ALWAYS]
            action = self.action(names, subject)
            when = _literal("heute", TIMES["heute"])
            fronted = order == "second" and self.chance(0.4)
            return clause(subject, action, order, self._modal(action, ("müssen", "wollen")), when,
                          fronted)  # fmt: skip

        def why(subject: Subject) -> Clause:
            when = self.pick(("morgen", "am sonntag"))
            when = _literal(when, TIMES[when])
            return clause(subject, self._time_to_spare(True), "last", time=when)

        return self._because(main, why)

    def _in_need(self) -> Clause:
        """No time, in need of help, or tired: because of something to do."""
        need = self.pick(("time", "help", "rest"))

        def main(subject: Subject, order: str) -> Clause:
            if need == "rest":
                return self.feeling(subject, ("müde",), order, time=0.0)
            if need == "time":
                action, times = self._time_to_spare(True), PLANNED
            else:
                action, times = Action(VERBS["brauchen"], object=_single("hilfe", "help")), TODAY
            when = self._time(times, 0.4)
            fronted = order == "second" and when is not None and self.chance(0.4)
            return clause(subject, action, order, None, when, fronted)

        def why(subject: Subject) -> Clause:
            if need == "time":
                return self._duty(subject, "last", group=0.4, time=0.0)
            if need == "help":
                names = HARD if subject.child else (*CHORES, *HARD)
                action = self.action(names, subject, dative=False)
                return clause(subject, action, "last", self._modal(action, ("müssen", "wollen")))
            action = self.action(EVERY_DAY_DUTIES, subject, daily=True)
            return clause(subject, action, "last", "müssen", _literal(DAILY, TIMES[DAILY]))

        return self._because(main, why)

    def _moved(self) -> Clause:
        """Glad to be allowed, sad not to be."""
        glad = self.chance(0.5)

        def main(subject: Subject, order: str) -> Clause:
            return self.feeling(subject, ("froh" if glad else "traurig",), order, time=0.0)

        def why(subject: Subject) -> Clause:
            action = self.action(_with_modals(("dürfen",)), subject, definite=not glad)
            if not glad:
                action.place = None
            options = [time for time in action.verb.times if time not in NOT_WITH_NICHT]
            when = self._time(options, 0.5)
            return clause(subject, action, "last", "dürfen", when, negated=not glad)

        return self._because(main, why)

    def _in_place_of(self) -> Clause:
        """One for another: "ich muss kochen , weil meine mutter krank ist"."""
        subject = self.subject()
        if self.chance(0.4):
            main = self.with_group(subject, among=("müssen",), time=0.0, kinds=("help",))
        else:
            main = clause(subject, self.action(TAKEN_OVER, subject), modal="müssen")
        return _join(main, "weil", "because", self._obstacle(self.subject(pronouns=0.2), "last"))

    def _needed(self) -> Clause:
        """Why it has to be found: "... , weil ich ihn heute brauche", ihn being the key."""
        subject = self.subject(again=True)
        inner = self.action(FETCHED, subject, nouns=THINGS, definite=True)
        if self.chance(0.4):
            action = self.action(("helfen",), subject)
            if not action.dative_is_pronoun:
                action.dative = _single("mir", "me")
                action.dative_is_pronoun = True
                if subject.name in ("ich", "wir"):
                    action.dative = _single("dir", "you")
            action.inner = inner
            name = DATIVE_TO_SUBJECT[action.dative.german[0].text]
            if name == subject.name:
                name = subject.again
            needer = self.pronoun(name)
        else:
            action, needer = inner, self._again(subject)
        first = clause(subject, action, modal=self.pick(("müssen", "wollen", "sollen")))
        pronoun = _single(*IT[inner.number])
        need = Action(VERBS["brauchen"], pronoun=pronoun)
        times = ("heute", "morgen", "bald", "am sonntag")
        second = clause(needer, need, "last", time=self._time(times, 0.6))
        return _join(first, "weil", "because", second)

    # whole sentences

    def begin(self) -> None:
        """Forget the sentence before: its nouns and verbs may come again."""
        self._used.clear()

    def _statement(self) -> Clause:
        return self.simple(self.subject(allowed=COUNTABLE))

    def _question(self) -> Clause:
        subject = self.subject()
        among, finite = WISH, 0.4
        if subject.name in ("ich", "wir"):
            among, finite = ASKED_OF_ONESELF, 0.0
        wh = None
        if self.chance(0.2):
            wh = self.pick((_single("warum", "why"), _single("wann", "when")))
        order = "second" if wh else "first"
        return self.simple(subject, order, among=among, finite=finite, question=True, wh=wh)

    def _group_question(self) -> Clause:
        subject = self.subject()
        kinds, among = ("help", "time"), WISH
        if subject.name in ("ich", "wir"):
            kinds, among = ("help",), ASKED_OF_ONESELF
        return self.with_group(subject, "first", question=True, among=among, kinds=kinds)

    def _feeling(self) -> tuple[Clause, str]:
        question = self.chance(0.3)
        subject = self.subject()
        question = question and subject.name not in ("ich", "wir")
        order, mark = ("first", "?") if question else ("second", ".")
        return self.feeling(subject, tuple(STATES), order, question=question), mark

    def sentence(self) -> tuple[str, str, tuple[tuple[int, ...], ...]]:
        """One German sentence, its English translation, and the alignment of the two."""
        while True:
            self.begin()
            written = self._draw()
            if written is not None:
                return written

    def _draw(self) -> tuple[str, str, tuple[tuple[int, ...], ...]] | None:
        mark = "."
        kind = self._random() * 100
        if kind < 20:
            drawn = self._statement()
        elif kind < 32:
            drawn, mark = self._question(), "?"
        elif kind < 34:
            drawn, mark = self._feeling()
        elif kind < 46:
            drawn = self.with_group(self.subject())
        elif kind < 55:
            drawn, mark = self._group_question(), "?"
        elif kind < 58:
            question = self.chance(0.3)
            drawn, mark = self.judgement(question), "?" if question else "."
        elif kind < 73:
            drawn = self.both()
        elif kind < 84:
            drawn = self.contrast()
        else:
            drawn = self.reason()
        return write_down(drawn, mark)


def write_down(drawn: Clause, mark: str) -> tuple[str, str, tuple[tuple[int, ...], ...]] | None:
    """The clause as two sentences, or None where the draw was an unlucky one."""
    end = Token(mark)
    german = [*drawn.german, end]
    english = [*drawn.english, (mark, end)]
    if len(german) > LONGEST or len(english) > LONGEST:
        return None
    for place, token in enumerate(german):
        if place and token.text == german[place - 1].text:  # "weil sie sie braucht"
            return None
        token.place = place
    alignment = tuple(
        _ONE[rest[0].place] if len(rest) == 1 else tuple(sorted(token.place for token in rest))
        for _, *rest in english
    )
    source = " ".join([token.text for token in german])
    target = " ".join([entry[0] for entry in english])
    return source, target, alignment
