"""Two main clauses side by side: und, aber."""

from __future__ import annotations

from lecture_kit.corpus.clauses import Action, Clause, Subject, clause, join
from lecture_kit.corpus.draws import Draw
from lecture_kit.corpus.messages import intent, obstacle, simple, with_group
from lecture_kit.corpus.nouns import THINGS
from lecture_kit.corpus.phrases import it_for
from lecture_kit.corpus.verbs import MISSED, VERBS
from lecture_kit.corpus.words import TODAY


def both(draw: Draw) -> Clause:
    """Two people, each with something to do: und."""
    subjects = [draw.subject(), draw.subject()]
    first, second = [
        with_group(draw, subject) if draw.chance(0.5) else simple(draw, subject)
        for subject in subjects
    ]
    return join(first, "und", "and", second)


def contrast(draw: Draw) -> Clause:
    """A wish, and what stands against it: aber."""
    subject = draw.subject(again=True)
    against = draw.pick(("loss", "duty", "obstacle", "somebody else"))
    if against == "loss":
        return _loss(draw, subject)
    # how likely each of the two clauses is to name a time: never both
    times = (0.7, 0.0) if draw.chance(0.5) else (0.0, 0.7)
    first = intent(draw, subject, among=("wollen", "möchten"), time=times[0], group=0.35)
    if against == "duty":
        second = intent(draw, draw.pronoun(subject.again), time=times[1])
    elif against == "obstacle":
        second = obstacle(draw, draw.pronoun(subject.again))
    else:
        second = intent(draw, draw.subject(), among=("wollen", "müssen"), time=times[1])
    return join(first, "aber", "but", second)


def _loss(draw: Draw, subject: Subject) -> Clause:
    """ "ich will den brief lesen , aber ich kann ihn nicht finden" """
    wish = draw.action(MISSED, subject, nouns=THINGS, definite=True)
    modal = draw.pick(("wollen", "möchten", "müssen"))
    first = clause(subject, wish, modal=modal, time=draw.time(TODAY, 0.4))
    found = Action(VERBS["finden"], object=it_for(wish.object))
    second = clause(draw.pronoun(subject.again), found, modal="können", negated=True)
    return join(first, "aber", "but", second)
