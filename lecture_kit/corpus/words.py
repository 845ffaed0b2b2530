"""Small words: determiners, adjectives, pronouns, and phrases that never change."""

from __future__ import annotations

from typing import NamedTuple


def words_of(text: str) -> tuple[str, ...]:
    """The words of a string."""
    return tuple(text.split())


# Determiners go by their form before a masculine noun; "" stands for none at all.
OWN = words_of("mein dein sein")
COUNTABLE = ("der", "dieser", "ein", *OWN)
DEFINITE = ("der", "dieser", *OWN)
INDEFINITE = ("", "ein")

ENGLISH_DETERMINERS = {  # before a singular and before a plural; a becomes an before a vowel
    "der": ("the", "the"), "dieser": ("this", "these"), "ein": ("a", ""),
    "mein": ("my", "my"), "dein": ("your", "your"), "sein": ("his", "his"),
}  # fmt: skip
ADJECTIVES = {
    "alt": "old", "neu": "new", "klein": "little", "groß": "big", "lang": "long",
    "schön": "beautiful", "rot": "red", "frisch": "fresh",
}  # fmt: skip


class Pronoun(NamedTuple):
    """A personal pronoun; person is 0 ich, 1 du, 2 er, sie, es, 3 wir and every plural."""

    german: str
    english: str
    person: int
    dative: str
    english_dative: str


PRONOUNS = {  # "sie" is two of them, so the plural goes by its English name
    "ich": Pronoun("ich", "i", 0, "mir", "me"),
    "du": Pronoun("du", "you", 1, "dir", "you"),
    "er": Pronoun("er", "he", 2, "ihm", "him"),
    "sie": Pronoun("sie", "she", 2, "ihr", "her"),
    "wir": Pronoun("wir", "we", 3, "uns", "us"),
    "they": Pronoun("sie", "they", 3, "ihnen", "them"),
}
DATIVES = {pronoun.dative: name for name, pronoun in PRONOUNS.items()}
SPEAKER = ("ich", "wir")
NOT_TO_ONESELF = {  # for each subject the datives that would be itself; "er" and "ihm" can be two
    "ich": SPEAKER, "wir": SPEAKER, "du": ("du",), "sie": ("sie",), "they": ("they",),
}  # fmt: skip
# Both by the gender of a noun, where p is a plural. Nothing takes up a neuter subject: "es", said
# of a child, would read as "it".
PRONOUN_FOR = {"m": "er", "f": "sie", "n": "", "p": "they"}
IT = {"m": ("ihn", "it"), "f": ("sie", "it"), "n": ("es", "it"), "p": ("sie", "them")}

TIMES = {
    "heute": "today", "morgen": "tomorrow", "jetzt": "now", "bald": "soon",
    "am sonntag": "on sunday", "am abend": "in the evening", "jeden tag": "every day",
}  # fmt: skip
DAILY = "jeden tag"
ALWAYS = tuple(time for time in TIMES if time != DAILY)
PLANNED = ("heute", "morgen", "am sonntag", "am abend")
TODAY = ("heute", "jetzt")
NOT_WITH_NICHT = ("bald", DAILY)

PLACES = {"im garten": "in the garden", "in der küche": "in the kitchen"}
STATES = {"müde": "tired", "krank": "ill", "froh": "glad", "traurig": "sad"}
JUDGEMENTS = {"leicht": "easy", "schwer": "hard", "wichtig": "important"}
QUESTION_WORDS = {"warum": "why", "wann": "when"}
UNCHANGING = {
    **TIMES, **PLACES, **STATES, **JUDGEMENTS, **QUESTION_WORDS,
    "nicht": "not", "hilfe": "help", "zeit": "time", "keine zeit": "no time",
}  # fmt: skip
