"""The words of the toy corpus: what they mean, how they inflect, and which go together.

A verb lists the nouns, the modal verbs and the times that suit it. Without these lists the grammar
of `course_utils.grammar` would be just as right, and would let the soup be repaired.
"""

from dataclasses import dataclass

COUNTABLE = ("der", "dieser", "ein", "mein", "dein", "sein")
DEFINITE = ("der", "dieser", "mein", "dein", "sein")
KIN = ("mein", "dein", "sein")
PEOPLE = ("der", "der", "dieser", "ein")
MASS = ("", "der")
ROOM = ("der", "mein", "dein", "sein")


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun: gender is m, f, n, or p for a word that has only a plural."""

    german: str
    gender: str
    english: str
    plural: str = ""
    english_plural: str = ""
    adjectives: tuple[str, ...] = ()
    determiners: tuple[str, ...] = COUNTABLE
    dative_plural: str = ""
    oblique: str = ""  # the form outside the nominative, where it differs: "den nachbarn"
    child: bool = False  # leaves work, cooking and cars to others


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, and what it goes with, so that every sentence makes sense as well as grammar."""

    infinitive: str  # without the prefix
    english: str
    finite: tuple[str, ...] = ()  # with ich, du, er, wir; empty: only used in the infinitive
    prefix: str = ""  # a separable one
    objects: tuple[str, ...] = ()
    determiners: tuple[str, ...] | None = None  # None: all that the noun allows
    adjectives: tuple[str, ...] | None = None
    dative: str = ""  # English "show somebody ...", "explain ... to somebody"
    modals: tuple[str, ...] = ()
    not_after: tuple[str, ...] | None = None  # modals that "nicht" goes with; None: all
    times: tuple[str, ...] = ()
    daily: tuple[str, ...] | None = None  # objects that go with "every day"; None: no such use
    places: bool = False
    state: bool = False  # "needs", never "is needing"
    grown_up: bool = False


def words_of(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# fmt: off
PERSONS = (
    Noun("mann", "m", "man", "männer", "men", ("alt",), PEOPLE, "männern"),
    Noun("nachbar", "m", "neighbour", adjectives=words_of("alt neu"),
         determiners=(*KIN, "der"), oblique="nachbarn"),
    Noun("lehrer", "m", "teacher", adjectives=("neu",),
         determiners=(*KIN, *PEOPLE)),
    Noun("freund", "m", "friend", "freunde", "friends", words_of("alt neu"),
         (*KIN, "ein"), "freunden"),
    Noun("vater", "m", "father", determiners=KIN),
    Noun("bruder", "m", "brother", "brüder", "brothers", words_of("klein groß"), KIN, "brüdern"),
    Noun("frau", "f", "woman", "frauen", "women", ("alt",), PEOPLE, "frauen"),
    Noun("ärztin", "f", "doctor", adjectives=("neu",),
         determiners=(*KIN, "der")),
    Noun("mutter", "f", "mother", determiners=KIN),
    Noun("schwester", "f", "sister", "schwestern", "sisters", words_of("klein groß"), KIN,
         "schwestern"),
    Noun("kind", "n", "child", "kinder", "children", ("klein",), PEOPLE, "kindern",
         child=True),
    Noun("mädchen", "n", "girl", adjectives=("klein",), determiners=PEOPLE,
         child=True),
    Noun("eltern", "p", "parents", determiners=KIN),
)
OBJECTS = (
    Noun("brief", "m", "letter", "briefe", "letters", words_of("alt neu lang")),
    Noun("satz", "m", "sentence", "sätze", "sentences", words_of("lang schön")),
    Noun("buch", "n", "book", "bücher", "books", words_of("alt neu schön")),
    Noun("zeitung", "f", "newspaper", "zeitungen", "newspapers", words_of("alt neu")),
    Noun("geschichte", "f", "story", "geschichten", "stories", words_of("alt neu lang schön")),
    Noun("kuchen", "m", "cake", adjectives=words_of("groß klein frisch")),
    Noun("apfel", "m", "apple", "äpfel", "apples", words_of("rot frisch groß klein")),
    Noun("suppe", "f", "soup", adjectives=words_of("frisch"), determiners=("der", "dieser")),
    Noun("ei", "n", "egg", "eier", "eggs", words_of("frisch groß klein"),
         ("der", "dieser", "ein")),
    Noun("brot", "n", "bread", adjectives=words_of("frisch"), determiners=MASS),
    Noun("milch", "f", "milk", adjectives=words_of("frisch"), determiners=MASS),
    Noun("schlüssel", "m", "key", "schlüssel", "keys", words_of("alt neu klein")),
    Noun("lampe", "f", "lamp", "lampen", "lamps", words_of("alt neu klein groß schön rot")),
    Noun("tasche", "f", "bag", "taschen", "bags", words_of("alt neu klein groß schön rot")),
    Noun("stuhl", "m", "chair", adjectives=words_of("alt neu klein schön rot")),
    Noun("fahrrad", "n", "bike", "fahrräder", "bikes", words_of("alt neu klein schön rot")),
    Noun("auto", "n", "car", "autos", "cars", words_of("alt neu klein groß schön rot")),
    Noun("fenster", "n", "window", "fenster", "windows", words_of("alt neu klein groß"),
         ("der", "dieser", "ein")),
    Noun("tür", "f", "door", "türen", "doors", words_of("alt neu klein groß rot"),
         ("der", "dieser", "ein")),
    Noun("zimmer", "n", "room", "zimmer", "rooms", words_of("klein groß"),
         (*ROOM, "dieser")),
    Noun("küche", "f", "kitchen", adjectives=words_of("klein groß alt"), determiners=ROOM),
)
# fmt: on
NOUNS = {noun.german: noun for noun in (*PERSONS, *OBJECTS)}
THINGS = words_of("brief buch zeitung schlüssel lampe tasche stuhl fahrrad")
GROWN_UP_THINGS = ("auto",)

ADJECTIVES = {
    "alt": "old", "neu": "new", "klein": "little", "groß": "big", "lang": "long",
    "schön": "beautiful", "rot": "red", "frisch": "fresh",
}  # fmt: skip
STATES = {"müde": "tired", "krank": "ill", "froh": "glad", "traurig": "sad"}
JUDGEMENTS = {"leicht": "easy", "schwer": "hard", "wichtig": "important"}

# English words and, for each, which of the German ones it renders.
TIMES = {
    "heute": (("today", 0),),
    "morgen": (("tomorrow", 0),),
    "jetzt": (("now", 0),),
    "bald": (("soon", 0),),
    "am sonntag": (("on", 0), ("sunday", 1)),
    "am abend": (("in", 0), ("the", 0), ("evening", 1)),
    "jeden tag": (("every", 0), ("day", 1)),
}
PLACES = {
    "im garten": (("in", 0), ("the", 0), ("garden", 1)),
    "in der küche": (("in", 0), ("the", 1), ("kitchen", 2)),
}
DAILY_DETERMINERS = {  # every day another apple, but the same kitchen
    "apfel": ("ein",), "ei": ("ein",), "brief": ("ein",), "zeitung": ("der", "ein"),
    "suppe": ("der",), "brot": ("",), "milch": ("",),
}  # fmt: skip
ALWAYS = ("heute", "morgen", "jetzt", "bald", "am sonntag", "am abend")
PLANNED = ("heute", "morgen", "am sonntag", "am abend")
TODAY = ("heute", "jetzt")
NOT_WITH_NICHT = ("bald", "jeden tag")
DAILY = "jeden tag"

MODALS = {
    "können": words_of("kann kannst kann können"),
    "müssen": words_of("muss musst muss müssen"),
    "wollen": words_of("will willst will wollen"),
    "sollen": words_of("soll sollst soll sollen"),
    "dürfen": words_of("darf darfst darf dürfen"),
    "möchten": words_of("möchte möchtest möchte möchten"),
}
DUTY = words_of("können müssen wollen sollen möchten")
WISH = (*DUTY, "dürfen")
ASKED_OF_ONESELF = words_of("können müssen sollen dürfen")  # nobody asks "will ich ... ?"

VERBS = {
    verb.prefix + verb.infinitive: verb
    for verb in (
        Verb("lesen", "read", words_of("lese liest liest lesen"),
             objects=words_of("brief satz buch zeitung geschichte"), modals=WISH, times=ALWAYS,
             daily=("zeitung",), places=True),
        Verb("schreiben", "write",
             objects=words_of("brief satz buch geschichte"), determiners=("der", "ein"),
             adjectives=words_of("lang schön neu"), modals=DUTY, times=ALWAYS, daily=("brief",)),
        Verb("übersetzen", "translate",
             objects=words_of("brief satz buch geschichte"), modals=DUTY, times=ALWAYS,
             grown_up=True),
        Verb("verstehen", "understand", words_of("verstehe verstehst versteht verstehen"),
             objects=words_of("brief satz buch geschichte"),
             determiners=DEFINITE,
             modals=words_of("können wollen müssen möchten"), not_after=("können",), times=("jetzt",),
             state=True),
        Verb("erklären", "explain", objects=words_of("satz geschichte brief"),
             determiners=DEFINITE, dative="to", modals=DUTY,
             times=ALWAYS, grown_up=True),
        Verb("zeigen", "show", objects=words_of("brief buch fahrrad tasche zimmer küche lampe"),
             dative="direct", modals=WISH, times=ALWAYS),
        Verb("kaufen", "buy", words_of("kaufe kaufst kauft kaufen"),
             objects=words_of("buch zeitung kuchen apfel ei brot milch lampe tasche stuhl "
                            "fahrrad auto"),
             determiners=("der", "dieser", "ein", ""), modals=WISH, times=ALWAYS,
             daily=words_of("zeitung apfel brot milch")),
        Verb("suchen", "look for", words_of("suche suchst sucht suchen"),
             objects=words_of("schlüssel tasche buch brief zeitung"), determiners=DEFINITE, modals=DUTY,
             times=ALWAYS),
        Verb("finden", "find", objects=words_of("schlüssel tasche buch brief zeitung"),
             determiners=DEFINITE, modals=words_of("können müssen wollen möchten"), not_after=("können",), times=ALWAYS),
        Verb("brauchen", "need", words_of("brauche brauchst braucht brauchen"),
             objects=words_of("schlüssel tasche buch lampe stuhl fahrrad auto milch brot"),
             times=ALWAYS, daily=words_of("fahrrad auto"), state=True),
        Verb("essen", "eat", objects=words_of("kuchen apfel suppe ei brot"),
             modals=words_of("können wollen sollen möchten dürfen"),
             times=ALWAYS, daily=words_of("apfel ei"), places=True),
        Verb("kochen", "cook", objects=words_of("suppe ei"),
             determiners=("der", "ein"), modals=DUTY, times=ALWAYS, daily=("suppe",),
             grown_up=True),
        Verb("reparieren", "repair", objects=words_of("fahrrad auto lampe stuhl fenster tür"),
             modals=DUTY, times=ALWAYS, grown_up=True),
        Verb("putzen", "clean", objects=words_of("fenster tür küche zimmer fahrrad lampe"),
             determiners=DEFINITE, modals=DUTY, times=ALWAYS,
             daily=words_of("küche zimmer")),
        Verb("machen", "open", words_of("mache machst macht machen"), "auf",
             objects=words_of("fenster tür tasche"),
             determiners=DEFINITE, modals=WISH,
             times=("heute", "jetzt", "bald"), daily=("fenster",)),
        Verb("machen", "close", words_of("mache machst macht machen"), "zu",
             objects=words_of("fenster tür tasche"),
             determiners=DEFINITE, modals=WISH,
             times=("heute", "jetzt", "bald"), daily=("fenster", "tür")),
        Verb("räumen", "tidy", prefix="auf",
             objects=words_of("küche zimmer"), modals=DUTY, times=ALWAYS,
             daily=words_of("küche zimmer")),
        Verb("bringen", "bring", prefix="mit",
             objects=words_of("kuchen apfel buch tasche lampe stuhl brot milch zeitung"),
             modals=WISH, times=ALWAYS),
        Verb("rufen", "call", prefix="an", objects=("person",), modals=WISH, times=ALWAYS,
             daily=("person",)),
        Verb("besuchen", "visit",
             objects=("person",), modals=WISH, times=ALWAYS, daily=("person",)),
        Verb("helfen", "help", words_of("helfe hilfst hilft helfen"), dative="direct", modals=WISH,
             times=ALWAYS, daily=()),
        Verb("arbeiten", "work", words_of("arbeite arbeitest arbeitet arbeiten"), modals=WISH,
             times=ALWAYS, daily=(), places=True, grown_up=True),
        Verb("schlafen", "sleep", words_of("schlafe schläfst schläft schlafen"), modals=WISH,
             times=("jetzt",)),
        Verb("kommen", "come", words_of("komme kommst kommt kommen"), modals=WISH, times=ALWAYS,
             daily=()),
        Verb("versuchen", "try", words_of("versuche versuchst versucht versuchen"), modals=DUTY,
             not_after=(), times=TODAY),
        Verb("vergessen", "forget", modals=("dürfen", "sollen")),
        Verb("haben", "have", words_of("habe hast hat haben"), times=PLANNED, state=True),
        Verb("sein", "be", words_of("bin bist ist sind"), times=TODAY, state=True),
    )
}  # fmt: skip

# Which verbs go into which kind of sentence.
INFINITIVES = tuple(name for name, verb in VERBS.items()
                    if verb.modals and name not in ("versuchen", "vergessen"))  # fmt: skip
FINITES = tuple(name for name, verb in VERBS.items()
                if verb.finite and name not in ("versuchen", "haben", "sein"))  # fmt: skip
VERB_LAST = tuple(name for name in FINITES if not VERBS[name].prefix)
EVERY_DAY = tuple(name for name, verb in VERBS.items() if verb.daily is not None)
CHORES = words_of("übersetzen schreiben suchen reparieren putzen aufräumen kochen kaufen")
HELPED = (*CHORES, "lesen", "verstehen", "finden", "aufmachen", "zumachen")
TRIED = words_of("übersetzen verstehen reparieren finden aufmachen zumachen helfen erklären")
REMEMBERED = words_of("zumachen aufräumen anrufen mitbringen kaufen lesen schreiben putzen")
LEISURE = words_of("lesen schreiben kochen kaufen besuchen arbeiten kommen anrufen")
HAD_TIME_FOR = (*CHORES, "lesen", "besuchen", "helfen", "erklären")
HARD = words_of("übersetzen verstehen finden reparieren erklären")
IMPORTANT = words_of("lesen verstehen aufräumen zumachen helfen besuchen anrufen finden")
FETCHED = words_of("suchen finden reparieren kaufen mitbringen")
EVERY_DAY_DUTIES = words_of("arbeiten putzen aufräumen kochen helfen")
TAKEN_OVER = (*CHORES, "aufräumen", "mitbringen", "arbeiten", "helfen", "zumachen")
MISSED = words_of("lesen mitbringen zeigen reparieren putzen")

DEFINITE_ARTICLE = {
    "nominative": {"m": "der", "f": "die", "n": "das", "p": "die"},
    "accusative": {"m": "den", "f": "die", "n": "das", "p": "die"},
    "dative": {"m": "dem", "f": "der", "n": "dem", "p": "den"},
}
STRONG_ENDING = {
    "nominative": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "accusative": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dative": {"m": "em", "f": "er", "n": "em", "p": "en"},
}
ENGLISH_DETERMINER = {"der": "the", "mein": "my", "dein": "your", "sein": "his"}
PRONOUNS = {  # German, English, person: 0 ich, 1 du, 2 er/sie/es, 3 wir and plural
    "ich": ("ich", "i", 0), "du": ("du", "you", 1), "er": ("er", "he", 2),
    "sie": ("sie", "she", 2), "wir": ("wir", "we", 3), "they": ("sie", "they", 3),
}  # fmt: skip
PRONOUN_OF_GENDER = {"m": "er", "f": "sie", "p": "they"}
DATIVE_PRONOUNS = {
    "mir": "me", "dir": "you", "ihm": "him", "ihr": "her", "uns": "us", "ihnen": "them",
}  # fmt: skip
NOT_TO_ONESELF = {"ich": ("mir", "uns"), "wir": ("mir", "uns"), "du": ("dir",),
                  "sie": ("ihr",), "they": ("ihnen",)}  # fmt: skip
DATIVE_TO_SUBJECT = {"mir": "ich", "dir": "du", "ihm": "er", "ihr": "sie", "uns": "wir",
                     "ihnen": "they"}  # fmt: skip
IT = {"m": ("ihn", "it"), "f": ("sie", "it"), "n": ("es", "it"), "p": ("sie", "them")}
