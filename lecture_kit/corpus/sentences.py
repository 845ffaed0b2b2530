"""Whole sentences: how often each kind is drawn, and what comes out in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lecture_kit.corpus.clauses import Clause
from lecture_kit.corpus.contrasts import both, contrast
from lecture_kit.corpus.draws import Draw
from lecture_kit.corpus.phrases import Token
from lecture_kit.corpus.reasons import reason
from lecture_kit.corpus.statements import (
    group_question,
    group_statement,
    judgement,
    mood,
    question,
    statement,
)

KINDS: tuple[tuple[int, Callable[[Draw], Clause]], ...] = (  # of a hundred sentences
    (20, statement),
    (12, question),
    (2, mood),
    (12, group_statement),
    (9, group_question),
    (3, judgement),
    (15, both),
    (11, contrast),
    (16, reason),
)
LONGEST = 28  # tokens, on either side
_ONE = tuple((place,) for place in range(LONGEST))  # shared, because most words have one origin

Alignment = tuple[tuple[int, ...], ...]  # for each English token the places of its German ones


def sentences(seed: int) -> Iterator[tuple[str, str, Alignment]]:
    """German sentences, their English translations, and the alignments of the two, without end."""
    draw = Draw(seed)
    while True:
        draw.begin()
        kind = draw.weighted(KINDS)
        written = write_down(kind(draw))
        if written is not None:
            yield written


def write_down(drawn: Clause) -> tuple[str, str, Alignment] | None:
    """The clause as two sentences, or None where the draw was an unlucky one."""
    mark = "?" if drawn.asks else "."
    end = Token(mark)
    german, english = [*drawn.german, end], [*drawn.english, (mark, (end,))]
    if len(german) > LONGEST or len(english) > LONGEST:
        return None
    for place, token in enumerate(german):
        if place and token.text == german[place - 1].text:  # "weil sie sie braucht"
            return None
        token.place = place
    alignment = tuple(
        _ONE[origins[0].place]
        if len(origins) == 1
        else tuple(sorted(token.place for token in origins))
        for _, origins in english
    )
    source = " ".join([token.text for token in german])
    target = " ".join([word for word, _ in english])
    return source, target, alignment
