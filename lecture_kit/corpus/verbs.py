"""The verbs: their forms, what goes with them, and which go into which kind of sentence.

Without the lists of objects, modal verbs and times, the grammar would be just as right, and would
let the soup be repaired.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from lecture_kit.corpus.words import ALWAYS, DEFINITE, PLANNED, TODAY, words_of


class Modal(NamedTuple):
    """A modal verb, and what English puts before the verb instead.

    The first English word is the auxiliary; "be" and "do" stand for all their forms, and "do" goes
    unsaid where English can do without: "do want to" becomes "wants to".
    """

    finite: tuple[str, ...]  # with ich, du, er, wir
    english: str


MODALS = {
    "können": Modal(words_of("kann kannst kann können"), "can"),
    "müssen": Modal(words_of("muss musst muss müssen"), "do have to"),
    "wollen": Modal(words_of("will willst will wollen"), "do want to"),
    "sollen": Modal(words_of("soll sollst soll sollen"), "should"),
    "dürfen": Modal(words_of("darf darfst darf dürfen"), "be allowed to"),  # with nicht: "must not"
    "möchten": Modal(words_of("möchte möchtest möchte möchten"), "would like to"),
}
DUTY = words_of("können müssen wollen sollen möchten")
WISH = (*DUTY, "dürfen")
ASKED_OF_ONESELF = words_of("können müssen sollen dürfen")  # nobody asks "will ich ... ?"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, and what it goes with, so that every sentence makes sense as well as grammar."""

    infinitive: str  # without the prefix
    english: str
    finite: tuple[str, ...] = ()  # with ich, du, er, wir; empty: only used in the infinitive
    prefix: str = ""  # a separable one
    objects: tuple[str, ...] = ()  # nouns; only "person": anybody
    determiners: tuple[str, ...] | None = None  # None: all that the noun allows
    adjectives: tuple[str, ...] | None = None  # None: all that the noun allows
    dative: str = ""  # how English has it: "direct", show somebody, or "to", explain to somebody
    modals: tuple[str, ...] = ()
    not_after: tuple[str, ...] | None = None  # modals that "nicht" goes with; None: all
    times: tuple[str, ...] = ALWAYS
    daily: tuple[str, ...] | None = None  # objects that go with "every day"; None: no such use
    places: bool = False
    state: bool = False  # "needs", never "is needing"
    grown_up: bool = False


_TEXTS = words_of("brief satz buch geschichte")
_SOUGHT = words_of("schlüssel tasche buch brief zeitung")
_OPENED = words_of("fenster tür tasche")
_SOON = ("heute", "jetzt", "bald")

# fmt: off
_ALL = (
    Verb("lesen", "read", words_of("lese liest liest lesen"),
         objects=words_of("brief satz buch zeitung geschichte"), modals=WISH, daily=("zeitung",),
         places=True),
    Verb("schreiben", "write", objects=_TEXTS, determiners=("der", "ein"),
         adjectives=words_of("lang schön neu"), modals=DUTY, daily=("brief",)),
    Verb("übersetzen", "translate", objects=_TEXTS, modals=DUTY, grown_up=True),
    Verb("verstehen", "understand", words_of("verstehe verstehst versteht verstehen"),
         objects=_TEXTS, determiners=DEFINITE, modals=words_of("können wollen müssen möchten"),
         not_after=("können",), times=("jetzt",), state=True),
    Verb("erklären", "explain", objects=words_of("satz geschichte brief"), determiners=DEFINITE,
         dative="to", modals=DUTY, grown_up=True),
    Verb("zeigen", "show", objects=words_of("brief buch fahrrad tasche zimmer küche lampe"),
         dative="direct", modals=WISH),
    Verb("kaufen", "buy", words_of("kaufe kaufst kauft kaufen"),
         objects=(*words_of("buch zeitung kuchen apfel ei brot milch"),
                  *words_of("lampe tasche stuhl fahrrad auto")),
         determiners=("der", "dieser", "ein", ""), modals=WISH,
         daily=words_of("zeitung apfel brot milch")),
    Verb("suchen", "look for", words_of("suche suchst sucht suchen"), objects=_SOUGHT,
         determiners=DEFINITE, modals=DUTY),
    Verb("finden", "find", objects=_SOUGHT, determiners=DEFINITE,
         modals=words_of("können müssen wollen möchten"), not_after=("können",)),
    Verb("brauchen", "need", words_of("brauche brauchst braucht brauchen"),
         objects=words_of("schlüssel tasche buch lampe stuhl fahrrad auto milch brot"),
         daily=words_of("fahrrad auto"), state=True),
    Verb("essen", "eat", objects=words_of("kuchen apfel suppe ei brot"),
         modals=words_of("können wollen sollen möchten dürfen"), daily=words_of("apfel ei"),
         places=True),
    Verb("kochen", "cook", objects=words_of("suppe ei"), determiners=("der", "ein"), modals=DUTY,
         daily=("suppe",), grown_up=True),
    Verb("reparieren", "repair", objects=words_of("fahrrad auto lampe stuhl fenster tür"),
         modals=DUTY, grown_up=True),
    Verb("putzen", "clean", objects=words_of("fenster tür küche zimmer fahrrad lampe"),
         determiners=DEFINITE, modals=DUTY, daily=words_of("küche zimmer")),
    Verb("machen", "open", words_of("mache machst macht machen"), "auf", objects=_OPENED,
         determiners=DEFINITE, modals=WISH, times=_SOON, daily=("fenster",)),
    Verb("machen", "close", words_of("mache machst macht machen"), "zu", objects=_OPENED,
         determiners=DEFINITE, modals=WISH, times=_SOON, daily=("fenster", "tür")),
    Verb("räumen", "tidy", prefix="auf", objects=words_of("küche zimmer"), modals=DUTY,
         daily=words_of("küche zimmer")),
    Verb("bringen", "bring", prefix="mit", modals=WISH,
         objects=words_of("kuchen apfel buch tasche lampe stuhl brot milch zeitung")),
    Verb("rufen", "call", prefix="an", objects=("person",), modals=WISH, daily=("person",)),
    Verb("besuchen", "visit", objects=("person",), modals=WISH, daily=("person",)),
    Verb("helfen", "help", words_of("helfe hilfst hilft helfen"), dative="direct", modals=WISH,
         daily=()),
    Verb("arbeiten", "work", words_of("arbeite arbeitest arbeitet arbeiten"), modals=WISH,
         daily=(), places=True, grown_up=True),
    Verb("schlafen", "sleep", words_of("schlafe schläfst schläft schlafen"), modals=WISH,
         times=("jetzt",)),
    Verb("kommen", "come", words_of("komme kommst kommt kommen"), modals=WISH, daily=()),
    Verb("versuchen", "try", words_of("versuche versuchst versucht versuchen"), modals=DUTY,
         not_after=(), times=TODAY),
    Verb("vergessen", "forget", modals=("dürfen", "sollen"), times=()),
    Verb("haben", "have", words_of("habe hast hat haben"), times=PLANNED, state=True),
    Verb("sein", "be", words_of("bin bist ist sind"), times=TODAY, state=True),
)
# fmt: on
VERBS = {verb.prefix + verb.infinitive: verb for verb in _ALL}

# Which verbs go into which kind of sentence. One named twice is drawn twice as often.
_WITH_OWN_SENTENCES = ("versuchen", "vergessen", "haben", "sein")
_PLAIN = {name: verb for name, verb in VERBS.items() if name not in _WITH_OWN_SENTENCES}
FINITES = tuple(name for name, verb in _PLAIN.items() if verb.finite)
VERB_LAST = tuple(name for name in FINITES if not VERBS[name].prefix)
EVERY_DAY = tuple(name for name, verb in VERBS.items() if verb.daily is not None)
CHORES = words_of("übersetzen schreiben suchen reparieren putzen aufräumen kochen kaufen")
HELPED = (*CHORES, "lesen", "verstehen", "finden", "aufmachen", "zumachen")
TRIED = words_of("übersetzen verstehen reparieren finden aufmachen zumachen helfen erklären")
REMEMBERED = words_of("zumachen aufräumen anrufen mitbringen kaufen lesen schreiben putzen")
LEISURE = words_of("lesen schreiben kochen kaufen besuchen arbeiten kommen anrufen")
REFUSED = (*LEISURE, "kommen", "helfen", *CHORES)
HAD_TIME_FOR = (*CHORES, "lesen", "besuchen", "helfen", "erklären")
HARD = words_of("übersetzen verstehen finden reparieren erklären")
IMPORTANT = words_of("lesen verstehen aufräumen zumachen helfen besuchen anrufen finden")
FETCHED = words_of("suchen finden reparieren kaufen mitbringen")
EVERY_DAY_DUTIES = words_of("arbeiten putzen aufräumen kochen helfen")
TAKEN_OVER = (*CHORES, "aufräumen", "mitbringen", "arbeiten", "helfen", "zumachen")
MISSED = words_of("lesen mitbringen zeigen reparieren putzen")


@cache
def with_modals(among: tuple[str, ...]) -> tuple[str, ...]:
    """The verbs that go with one of these modal verbs."""
    return tuple(name for name, verb in _PLAIN.items() if set(among) & set(verb.modals))
