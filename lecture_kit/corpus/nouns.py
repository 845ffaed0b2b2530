"""The nouns: how they inflect, and which determiners and adjectives suit them."""

from __future__ import annotations

from dataclasses import dataclass

from lecture_kit.corpus.words import COUNTABLE, OWN, words_of

PEOPLE = ("der", "der", "dieser", "ein")
MASS = ("", "der")
ROOM = ("der", *OWN)
UNOWNED = ("der", "dieser", "ein")


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun; gender is m, f, n, or p for a word that has only a plural.

    Determiners and adjectives are drawn as they are listed, one named twice twice as often.
    """

    german: str
    gender: str
    english: str
    plural: str = ""
    english_plural: str = ""
    adjectives: tuple[str, ...] = ()
    determiners: tuple[str, ...] = COUNTABLE
    dative_plural: str = ""  # where it differs from the plural
    oblique: str = ""  # the form outside the nominative, where it differs: "den nachbarn"
    child: bool = False  # leaves work, cooking and cars to others

    def form(self, case: str, plural: bool) -> str:
        """The German noun in this case and number."""
        if plural:
            return (case == "dative" and self.dative_plural) or self.plural
        return (case != "nominative" and self.oblique) or self.german


# fmt: off
_PERSONS = (
    Noun("mann", "m", "man", "männer", "men", ("alt",), PEOPLE, "männern"),
    Noun("nachbar", "m", "neighbour", adjectives=words_of("alt neu"), determiners=(*OWN, "der"),
         oblique="nachbarn"),
    Noun("lehrer", "m", "teacher", adjectives=("neu",), determiners=(*OWN, *PEOPLE)),
    Noun("freund", "m", "friend", "freunde", "friends", words_of("alt neu"), (*OWN, "ein"),
         "freunden"),
    Noun("vater", "m", "father", determiners=OWN),
    Noun("bruder", "m", "brother", "brüder", "brothers", words_of("klein groß"), OWN, "brüdern"),
    Noun("frau", "f", "woman", "frauen", "women", ("alt",), PEOPLE),
    Noun("ärztin", "f", "doctor", adjectives=("neu",), determiners=(*OWN, "der")),
    Noun("mutter", "f", "mother", determiners=OWN),
    Noun("schwester", "f", "sister", "schwestern", "sisters", words_of("klein groß"), OWN),
    Noun("kind", "n", "child", "kinder", "children", ("klein",), PEOPLE, "kindern", child=True),
    Noun("mädchen", "n", "girl", adjectives=("klein",), determiners=PEOPLE, child=True),
    Noun("eltern", "p", "parents", determiners=OWN),
)
_OBJECTS = (
    Noun("brief", "m", "letter", "briefe", "letters", words_of("alt neu lang")),
    Noun("satz", "m", "sentence", "sätze", "sentences", words_of("lang schön")),
    Noun("buch", "n", "book", "bücher", "books", words_of("alt neu schön")),
    Noun("zeitung", "f", "newspaper", "zeitungen", "newspapers", words_of("alt neu")),
    Noun("geschichte", "f", "story", "geschichten", "stories", words_of("alt neu lang schön")),
    Noun("kuchen", "m", "cake", adjectives=words_of("groß klein frisch")),
    Noun("apfel", "m", "apple", "äpfel", "apples", words_of("rot frisch groß klein")),
    Noun("suppe", "f", "soup", adjectives=("frisch",), determiners=("der", "dieser")),
    Noun("ei", "n", "egg", "eier", "eggs", words_of("frisch groß klein"), UNOWNED),
    Noun("brot", "n", "bread", adjectives=("frisch",), determiners=MASS),
    Noun("milch", "f", "milk", adjectives=("frisch",), determiners=MASS),
    Noun("schlüssel", "m", "key", "schlüssel", "keys", words_of("alt neu klein")),
    Noun("lampe", "f", "lamp", "lampen", "lamps", words_of("alt neu klein groß schön rot")),
    Noun("tasche", "f", "bag", "taschen", "bags", words_of("alt neu klein groß schön rot")),
    Noun("stuhl", "m", "chair", adjectives=words_of("alt neu klein schön rot")),
    Noun("fahrrad", "n", "bike", "fahrräder", "bikes", words_of("alt neu klein schön rot")),
    Noun("auto", "n", "car", "autos", "cars", words_of("alt neu klein groß schön rot")),
    Noun("fenster", "n", "window", "fenster", "windows", words_of("alt neu klein groß"), UNOWNED),
    Noun("tür", "f", "door", "türen", "doors", words_of("alt neu klein groß rot"), UNOWNED),
    Noun("zimmer", "n", "room", "zimmer", "rooms", words_of("klein groß"), (*ROOM, "dieser")),
    Noun("küche", "f", "kitchen", adjectives=words_of("klein groß alt"), determiners=ROOM),
)
# fmt: on
NOUNS = {noun.german: noun for noun in (*_PERSONS, *_OBJECTS)}
PERSONS = tuple(noun.german for noun in _PERSONS)
GROWN_UP_THINGS = ("auto",)
THINGS = words_of("brief buch zeitung schlüssel lampe tasche stuhl fahrrad")  # that can be lost
DAILY_DETERMINERS = {  # every day another apple, but the same kitchen: ROOM, where none is named
    "apfel": ("ein",), "ei": ("ein",), "brief": ("ein",), "zeitung": ("der", "ein"),
    "suppe": ("der",), "brot": ("",), "milch": ("",),
}  # fmt: skip
