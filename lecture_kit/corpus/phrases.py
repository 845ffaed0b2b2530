"""Phrases: a few words that belong together, in both languages at once; German declension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lecture_kit.corpus.nouns import Noun
from lecture_kit.corpus.words import (
    ADJECTIVES,
    ENGLISH_DETERMINERS,
    INDEFINITE,
    IT,
    PRONOUNS,
    UNCHANGING,
)


class Token:
    """One German word of one sentence; `place` is its index once the sentence is complete."""

    __slots__ = ("place", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = -1


English = Sequence[tuple[str, Sequence[Token]]]  # words, each with the German ones it renders


class Phrase(NamedTuple):
    """German words and their translation."""

    german: Sequence[Token]
    english: English
    gender: str = ""  # of a noun: m, f, n, or p if it is plural
    definite: bool = True  # neither with "ein" nor without an article, so "nicht" can follow
    is_pronoun: bool = False


NOTHING = Phrase((), ())


def phrase(
    german: str, english: str, gender: str = "", definite: bool = True, is_pronoun: bool = False
) -> Phrase:
    """A phrase translated word by word.

    Where English has more words, the first German one stands for those too many: "im garten" is
    "in the garden".
    """
    tokens = [Token(word) for word in german.split()]
    words = english.split()
    origins = [*tokens[:1] * (len(words) - len(tokens)), *tokens]
    translation = [(word, (token,)) for word, token in zip(words, origins, strict=True)]
    return Phrase(tokens, translation, gender, definite, is_pronoun)


def unchanging(german: str) -> Phrase:
    """A phrase that never changes; "" is `NOTHING`."""
    return phrase(german, UNCHANGING[german]) if german else NOTHING


def dative_pronoun(name: str) -> Phrase:
    """The dative of a pronoun: mir for ich."""
    pronoun = PRONOUNS[name]
    return phrase(pronoun.dative, pronoun.english_dative, is_pronoun=True)


def it_for(thing: Phrase) -> Phrase:
    """The accusative pronoun that takes up a thing: ihn for der brief."""
    return phrase(*IT[thing.gender], is_pronoun=True)


# For each case and gender: the article der, then three endings, the strong one (dieser, kleiner),
# that of ein and mein, and the weak one (der kleine).
_DECLENSION = {
    "nominative": {"m": ("der", "er", "", "e"), "f": ("die", "e", "e", "e"),
                   "n": ("das", "es", "", "e"), "p": ("die", "e", "e", "en")},
    "accusative": {"m": ("den", "en", "en", "en"), "f": ("die", "e", "e", "e"),
                   "n": ("das", "es", "", "e"), "p": ("die", "e", "e", "en")},
    "dative": {"m": ("dem", "em", "em", "en"), "f": ("der", "er", "er", "en"),
               "n": ("dem", "em", "em", "en"), "p": ("den", "en", "en", "en")},
}  # fmt: skip


def noun_phrase(
    noun: Noun, case: str, determiner: str, adjective: str = "", plural: bool = False
) -> Phrase:
    """A determiner, an adjective and a noun that agree in gender, case and number.

    Gender and case show once: if the determiner shows them (der, dieser, meinen), the adjective is
    weak; if it does not (ein, mein, or no determiner), the adjective shows them.
    """
    gender = "p" if plural else noun.gender
    if determiner == "ein" and gender == "p":
        determiner = ""
    article, strong, mixed, weak = _DECLENSION[case][gender]
    forms = {"der": article, "dieser": "dies" + strong, "": ""}
    shown = determiner in ("der", "dieser") or (determiner != "" and mixed != "")

    german, english = [], []
    if adjective:
        german.append(adjective + (weak if shown else strong))
        english.append(ADJECTIVES[adjective])
    german.append(noun.form(case, plural))
    english.append(noun.english_plural if plural else noun.english)
    if determiner:
        german.insert(0, forms.get(determiner, determiner + mixed))
        word = ENGLISH_DETERMINERS[determiner][gender == "p"]
        english.insert(0, "an" if word == "a" and english[0][0] in "aeiou" else word)
    return phrase(" ".join(german), " ".join(english), gender, determiner not in INDEFINITE)
