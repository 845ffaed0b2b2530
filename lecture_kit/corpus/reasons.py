"""Something, and why: weil, which sends its verb to the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from lecture_kit.corpus import verbs, words
from lecture_kit.corpus.clauses import (
    AFTER_REASON,
    REASON,
    STATEMENT,
    Action,
    Clause,
    Form,
    Subject,
    because_first,
    clause,
    join,
)
from lecture_kit.corpus.draws import Draw
from lecture_kit.corpus.messages import (
    UNWELL,
    comes_first,
    feeling,
    intent,
    obstacle,
    say,
    time_to_spare,
    with_group,
)
from lecture_kit.corpus.nouns import THINGS
from lecture_kit.corpus.phrases import NOTHING, dative_pronoun, it_for, unchanging

Sentence = Callable[[Draw], Clause]
Half = Callable[[Draw, Subject, Form], Clause]
MUST_OR_WILL = ("müssen", "wollen")


def reason(draw: Draw) -> Clause:
    """Any sentence with weil."""
    return draw.weighted(REASONS)(draw)


# --- main clauses, and reasons for them --------------------------------------------------------


def _can(
    draw: Draw,
    subject: Subject,
    form: Form,
    names: Sequence[str],
    modal: str,
    negated: bool = False,
    times: Sequence[str] = (),
) -> Clause:
    """Somebody can or may do something, or not; `times`: those to draw from, () for the verb's."""
    action = draw.action(names, subject, definite=negated)
    if negated:
        action.place = NOTHING
    options = [time for time in times or action.verb.times if time not in words.NOT_WITH_NICHT]
    return say(draw, subject, action, form, modal, draw.time(options, 0.5), negated)


def _has_no_time(draw: Draw, subject: Subject, form: Form) -> Clause:
    return say(draw, subject, time_to_spare(), form, time=draw.time(words.PLANNED, 0.4))


def _has_no_time_later(draw: Draw, subject: Subject, form: Form) -> Clause:
    return clause(subject, time_to_spare(), form, time=draw.pick(("morgen", "am sonntag")))


def _acts_today(draw: Draw, subject: Subject, form: Form) -> Clause:
    names = verbs.with_modals(("müssen",))
    names = tuple(name for name in names if verbs.VERBS[name].times == words.ALWAYS)
    action = draw.action(names, subject)
    fronted = comes_first(draw, form, "heute")
    return clause(subject, action, form, draw.modal(action, MUST_OR_WILL), "heute", fronted)


def _needs_help(draw: Draw, subject: Subject, form: Form) -> Clause:
    action = Action(verbs.VERBS["brauchen"], object=unchanging("hilfe"))
    return say(draw, subject, action, form, time=draw.time(words.TODAY, 0.4))


def _works_hard(draw: Draw, subject: Subject, form: Form) -> Clause:
    names = verbs.HARD if subject.child else (*verbs.CHORES, *verbs.HARD)
    action = draw.action(names, subject, dative=False)
    return clause(subject, action, form, draw.modal(action, MUST_OR_WILL))


def _works_every_day(draw: Draw, subject: Subject, form: Form) -> Clause:
    action = draw.action(verbs.EVERY_DAY_DUTIES, subject, daily=True)
    return clause(subject, action, form, "müssen", words.DAILY)


def _is(*states: str) -> Half:
    return partial(feeling, states=states, time=0.0)


_cannot = partial(_can, names=verbs.REFUSED, modal="können", negated=True)
_may = partial(_can, names=verbs.with_modals(("dürfen",)), modal="dürfen")
_works = partial(intent, group=0.4)

# --- the two together --------------------------------------------------------------------------


def _because(*pairs: tuple[Half, Half]) -> Sentence:
    """Sentences of a main clause and its reason, one of these pairs, of the same subject."""

    def write(draw: Draw) -> Clause:
        main, why = pairs[0] if len(pairs) == 1 else draw.pick(pairs)
        subject = draw.subject(again=True)
        if draw.chance(0.25):
            because = why(draw, subject, REASON)
            return because_first(because, main(draw, draw.pronoun(subject.again), AFTER_REASON))
        first = main(draw, subject, STATEMENT)
        return join(first, "weil", "because", why(draw, draw.pronoun(subject.again), REASON))

    return write


def _needed(draw: Draw) -> Clause:
    """Why it has to be found: "... , weil ich ihn heute brauche", ihn being the key."""
    subject = draw.subject(again=True)
    action = inner = draw.action(verbs.FETCHED, subject, nouns=THINGS, definite=True)
    needer = subject.again
    if draw.chance(0.4):
        action = draw.action(("helfen",), subject)
        if not action.dative.is_pronoun:
            action.dative = dative_pronoun("du" if subject.name in words.SPEAKER else "ich")
        action.inner = inner
        needer = words.DATIVES[action.dative.german[0].text]
    first = clause(subject, action, modal=draw.pick(("müssen", "wollen", "sollen")))
    need = Action(verbs.VERBS["brauchen"], object=it_for(inner.object))
    when = draw.time(("heute", "morgen", "bald", "am sonntag"), 0.6)
    second = clause(draw.pronoun(needer), need, REASON, time=when)
    return join(first, "weil", "because", second)


def _in_place_of(draw: Draw) -> Clause:
    """One for another: "ich muss kochen , weil meine mutter krank ist"."""
    subject = draw.subject()
    if draw.chance(0.4):
        main = with_group(draw, subject, among=("müssen",), time=0.0, kinds=("help",))
    else:
        main = clause(subject, draw.action(verbs.TAKEN_OVER, subject), modal="müssen")
    return join(main, "weil", "because", obstacle(draw, draw.subject(pronouns=0.2), REASON))


_IN_NEED = (
    (_has_no_time, _works),
    (_needs_help, _works_hard),
    (_is("müde"), _works_every_day),
)
REASONS: tuple[tuple[int, Sentence], ...] = (  # how often, of eight
    (2, _because((_cannot, partial(_works, among=MUST_OR_WILL)))),
    (1, _needed),
    (1, _because((_acts_today, _has_no_time_later))),
    (1, _because(*_IN_NEED)),
    (1, _because((partial(_cannot, times=words.TODAY), _is(*UNWELL)))),
    (1, _because((_is("froh"), _may), (_is("traurig"), partial(_may, negated=True)))),
    (1, _in_place_of),
)
