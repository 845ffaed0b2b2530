"""What a sentence is made of, drawn at random: somebody who acts, what they do, and when."""

from __future__ import annotations

from collections.abc import Sequence

from lecture_kit.corpus.clauses import Action, Subject
from lecture_kit.corpus.dice import Dice
from lecture_kit.corpus.nouns import (
    DAILY_DETERMINERS,
    GROWN_UP_THINGS,
    MASS,
    NOUNS,
    PERSONS,
    ROOM,
    Noun,
)
from lecture_kit.corpus.phrases import Phrase, dative_pronoun, noun_phrase, phrase, unchanging
from lecture_kit.corpus.verbs import VERBS, WISH, Verb
from lecture_kit.corpus.words import (
    COUNTABLE,
    DEFINITE,
    INDEFINITE,
    NOT_TO_ONESELF,
    OWN,
    PLACES,
    PRONOUN_FOR,
    PRONOUNS,
    SPEAKER,
)


class Draw(Dice):
    """Draws the parts of one sentence after the other from one stream of random numbers."""

    # who

    def person(self, case: str, allowed: Sequence[str]) -> tuple[Phrase, Noun]:
        """A phrase for somebody, with one of the determiners `allowed`, and its noun."""
        noun = NOUNS[self.fresh(PERSONS)]
        plural = bool(noun.plural) and self.chance(0.25)
        determiners = [word for word in noun.determiners if word in allowed]
        if plural:
            determiners = [word for word in determiners if word != "ein"]
        adjective = self.maybe(noun.adjectives, 0.3)
        return noun_phrase(noun, case, self.pick(determiners), adjective, plural), noun

    def subject(
        self, pronouns: float = 0.55, again: bool = False, allowed: Sequence[str] = DEFINITE
    ) -> Subject:
        """Somebody who acts; `again`: only somebody whom a pronoun can take up."""
        if self.chance(pronouns):
            return self.pronoun(self.fresh(tuple(PRONOUNS)))
        while True:
            words, noun = self.person("nominative", allowed)
            taken_up = PRONOUN_FOR[words.gender]
            if taken_up or not again:
                break
        person = 3 if words.gender == "p" else 2
        kin = noun.determiners == OWN
        return Subject(words, person, noun.german, taken_up, kin=kin, child=noun.child)

    def pronoun(self, name: str) -> Subject:
        """A pronoun that acts; "ich" and "wir" are not two people."""
        self.used.update(SPEAKER if name in SPEAKER else (name,))
        pronoun = PRONOUNS[name]
        words = phrase(pronoun.german, pronoun.english, is_pronoun=True)
        return Subject(words, pronoun.person, name, name)

    # what

    def action(
        self,
        names: Sequence[str],
        subject: Subject | None,
        nouns: Sequence[str] = (),
        daily: bool = False,
        definite: bool = False,
        dative: bool = True,
    ) -> Action:
        """A verb with its objects.

        Args:
            names: verbs to draw from.
            subject: who acts, None where that does not matter.
            nouns: the only things that it may be done to; empty for all that suit the verb.
            daily: done every day.
            definite: with nothing that has "ein" or no article.
            dative: somebody may be named to whom it is done.
        """
        child = subject is not None and subject.child
        names = [
            name
            for name in names
            if not (child and VERBS[name].grown_up) and (dative or name != "helfen")
        ]
        verb = VERBS[self.fresh(names) or self.pick(names)]
        action = Action(verb)
        allowed = DEFINITE if definite else COUNTABLE
        if subject is not None and subject.kin:  # "mein vater" and "sein bruder" are my family
            allowed = tuple(word for word in allowed if word != "sein")
        if verb.dative and dative and (verb.dative == "direct" or self.chance(0.5)):
            action.dative = self._receiver(subject, allowed)
        if verb.objects == ("person",):
            known = [word for word in allowed if word != "ein"]
            action.object, _ = self.person("accusative", known)
        elif verb.objects:
            things = verb.daily if daily and verb.daily else verb.objects
            if nouns:
                things = tuple(name for name in things if name in nouns)
            if child:
                things = tuple(name for name in things if name not in GROWN_UP_THINGS)
            action.object = self._thing(verb, things, definite, daily)
        if verb.places:
            action.place = unchanging(self.maybe(tuple(PLACES), 0.25))
        return action

    def _receiver(self, subject: Subject | None, allowed: Sequence[str]) -> Phrase:
        """A dative: mir, deinem bruder."""
        if not self.chance(0.55):
            return self.person("dative", allowed)[0]
        barred = NOT_TO_ONESELF.get(subject.name, ()) if subject else ()
        return dative_pronoun(self.pick([name for name in PRONOUNS if name not in barred]))

    def _thing(self, verb: Verb, names: Sequence[str], definite: bool, daily: bool) -> Phrase:
        """An accusative: one of the things that are named."""
        noun = NOUNS[self.fresh(names) or self.pick(names)]
        habit = DAILY_DETERMINERS.get(noun.german, ROOM) if daily else COUNTABLE + MASS
        determiners = [
            word
            for word in noun.determiners
            if (verb.determiners is None or word in verb.determiners)
            and word in habit
            and not (definite and word in INDEFINITE)
        ]
        determiner = self.pick(determiners)
        adjectives = noun.adjectives
        if verb.adjectives is not None:
            adjectives = tuple(word for word in adjectives if word in verb.adjectives)
        adjective = self.maybe(adjectives, 0.35)
        plural = bool(noun.plural) and self.chance(0.25)
        return noun_phrase(noun, "accusative", determiner, adjective, plural)

    # when, and how

    def time(self, options: Sequence[str], probability: float) -> str:
        """One of these times with this probability, "" for none."""
        return self.fresh(options) if self.chance(probability) else ""

    def modal(self, action: Action, among: Sequence[str] = WISH) -> str:
        """A modal verb that suits an action."""
        return self.pick([word for word in action.verb.modals if word in among])
