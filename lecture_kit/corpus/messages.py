"""What one clause can say: that somebody does, wants, tries, feels or cannot do something."""

from __future__ import annotations

from collections.abc import Sequence

from lecture_kit.corpus import verbs, words
from lecture_kit.corpus.clauses import (
    STATEMENT,
    Action,
    Clause,
    Form,
    Subject,
    can_be_denied,
    clause,
)
from lecture_kit.corpus.draws import Draw
from lecture_kit.corpus.phrases import unchanging

UNWELL = ("müde", "krank")


def comes_first(draw: Draw, form: Form, time: str) -> bool:
    """Whether the time stands before the German verb, where it can: "heute lese ich"."""
    return form.order == "second" and not form.wh and time != "" and draw.chance(0.4)


def say(
    draw: Draw,
    subject: Subject,
    action: Action,
    form: Form,
    modal: str = "",
    time: str = "",
    negated: bool = False,
) -> Clause:
    """A clause as `clause` writes it, its time in one place or another."""
    return clause(subject, action, form, modal, time, comes_first(draw, form, time), negated)


def simple(
    draw: Draw,
    subject: Subject,
    form: Form = STATEMENT,
    among: tuple[str, ...] = verbs.WISH,
    time: float = 0.5,
    finite: float = 0.4,
    negation: float = 0.15,
    every_day: float = 0.15,
) -> Clause:
    """Somebody does, can do, or must do something: "ich kann heute den brief lesen".

    Args:
        subject, form: as for `clause`.
        among: modal verbs to draw from.
        time: the probability that a time is named; it may also be "every day".
        finite: the probability that there is no modal verb.
        negation: the probability of "nicht", where it can stand.
        every_day: the probability that it is done every day.
    """
    daily = draw.chance(every_day) and draw.fresh((words.DAILY,)) != ""
    is_finite = draw.chance(finite)
    names: Sequence[str] = verbs.with_modals(among)
    if is_finite:
        names = verbs.VERB_LAST if form.order == "last" else verbs.FINITES
    if daily:
        names = [name for name in names if name in verbs.EVERY_DAY]
    action = draw.action(names, subject, daily=daily)
    modal = "" if is_finite else draw.modal(action, among)
    when = words.DAILY if daily else draw.time(_times(action, form, modal), time)
    negated = not form.asks and draw.chance(negation) and can_be_denied(action, modal, when)
    return say(draw, subject, action, form, modal, when, negated)


def _times(action: Action, form: Form, modal: str) -> Sequence[str]:
    """The times that go with a clause: not "soon" with what is just going on."""
    verb = action.verb
    if form.wh == "wann":
        return ()
    if form.wh or not (modal or verb.state or verb.infinitive == "kommen"):
        return [time for time in verb.times if time != "bald"]
    return verb.times


def with_group(
    draw: Draw,
    subject: Subject,
    form: Form = STATEMENT,
    among: tuple[str, ...] = verbs.WISH,
    time: float = 0.4,
    kinds: Sequence[str] = ("help", "help", "try", "remember", "time"),
) -> Clause:
    """A clause that ends in an infinitive group: "ich helfe dir , diesen satz zu übersetzen".

    Args:
        subject, form: as for `clause`.
        among, time: as for `simple`.
        kinds: what it may be about; questions only "help" and "time".
    """
    kind = draw.pick(kinds)
    if kind == "help":
        action = draw.action(("helfen",), subject)
        action.inner = draw.action(verbs.HELPED, subject, dative=False)
        finite = not form.asks and draw.chance(0.3)
    elif kind == "try":
        action = Action(verbs.VERBS["versuchen"])
        action.inner = _perhaps_help(draw, draw.action(verbs.TRIED, subject, definite=True))
        finite = draw.chance(0.5)
    elif kind == "remember":  # "du darfst nicht vergessen , ..."
        action = Action(verbs.VERBS["vergessen"])
        action.inner = draw.action(verbs.REMEMBERED, subject)
        action.inner.time = draw.time(words.PLANNED, 0.4)
        finite = False
    else:
        action = time_to_spare(some=form.asks)
        action.inner = _perhaps_help(draw, draw.action(verbs.HAD_TIME_FOR, subject))
        finite = True
    modal = "" if finite else draw.modal(action, among)
    when = draw.time(_times(action, form, modal), time)
    return say(draw, subject, action, form, modal, when, negated=kind == "remember")


def _perhaps_help(draw: Draw, action: Action) -> Action:
    """Give "helfen" a group of its own, now and then: to try to help to cook."""
    if action.verb.infinitive == "helfen" and draw.chance(0.5):
        action.inner = draw.action(verbs.HELPED, None, dative=False)
    return action


def intent(
    draw: Draw,
    subject: Subject,
    form: Form = STATEMENT,
    among: tuple[str, ...] = ("müssen",),
    time: float = 0.0,
    group: float = 0.45,
) -> Clause:
    """A wish or a duty: "ich muss heute kochen"; `group`: how likely an infinitive group is."""
    if draw.chance(group):
        return with_group(draw, subject, form, among, time, kinds=("help",))
    return simple(draw, subject, form, among, time, finite=0.0, negation=0.0, every_day=0.0)


def feeling(
    draw: Draw,
    subject: Subject,
    form: Form,
    states: Sequence[str] = tuple(words.STATES),
    time: float = 0.3,
) -> Clause:
    """How somebody is: "heute bin ich müde"."""
    action = Action(verbs.VERBS["sein"], object=unchanging(draw.pick(states)))
    return say(draw, subject, action, form, time=draw.time(words.TODAY, time))


def obstacle(draw: Draw, subject: Subject, form: Form = STATEMENT) -> Clause:
    """Why somebody cannot do a thing: "ich bin krank", "ich habe keine zeit"."""
    if draw.chance(0.5):
        return feeling(draw, subject, form, UNWELL, time=0.0)
    return clause(subject, time_to_spare(), form)


def time_to_spare(some: bool = False) -> Action:
    """To have time, or none."""
    return Action(verbs.VERBS["haben"], object=unchanging("zeit" if some else "keine zeit"))
