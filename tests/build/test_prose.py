"""Lectures and guides read like a textbook, as far as numbers can tell: a warning light, no judge.

The limits are wide. On the day they were set, the lectures had 0.2 to 1.3 colons in 1000 words and 13
to 14 words a sentence, list items included, where three textbooks and notebooks had 1.7 to 4.3 and 11
to 18. `docs/authors.md` says what the numbers stand for.
"""

import re
import sys
from importlib import import_module

import pytest

from tests.build.test_minutes import LECTURES
from tests.sample_class import ROOT

sys.path.insert(0, str(ROOT / "sources"))  # as `python sources/prose.py` has it
prose = import_module("prose")

MOST_COLONS = 4.0  # in 1000 words, between two parts of a sentence
WORDS = (12, 20)  # in a sentence, on average
MOST_TICS = 8  # in a lecture
ENOUGH = 1000  # words of a text whose averages say something


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem[:2])
def test_a_lecture_is_written_in_connected_sentences(path):
    found = prose.counts(prose.markdown_of(path))
    if found.words >= ENOUGH:
        assert found.colons_per_thousand <= MOST_COLONS
        assert WORDS[0] <= found.words_a_sentence <= WORDS[1]
    assert found.found == (), "docs/authors.md says what a native writer would say instead"


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem[:2])
def test_a_lecture_has_few_tics(path):
    found = prose.counts(prose.markdown_of(path))
    assert len(found.tics) <= MOST_TICS, found.tics


# how a line begins a list, which ends the paragraph that it stands in, a formula on two lines included
BEGINS_A_LIST = re.compile(r" {0,3}(?:[-+*]|\d+[.)]) ")


@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem[:2])
def test_no_line_of_a_paragraph_begins_a_list_by_accident(path):
    for block in re.split(r"\n\s*\n", prose.markdown_of(path)):
        first, *lines = block.split("\n")
        if not BEGINS_A_LIST.match(first):
            odd = [line for line in lines if BEGINS_A_LIST.match(line)]
            assert not odd, f"break these lines elsewhere, or put an empty line above a list: {odd}"


def test_what_is_counted():
    text = """# A heading: not read

The mask is given: nobody learns it. It hides the *future*, as
[lecture 4](04: x.ipynb) says. How does $a: b$ follow?

| a table: | no |
|---|---|
| one: | two |

- An item: it counts.
- Another one follows and introduces a formula:

$$x: y$$

```
code: here
```

## Further reading

A title: long ago.
"""
    found = prose.counts(text)
    assert prose.prose(text) == [
        "The mask is given: nobody learns it.",
        "It hides the future, as lecture 4 says.",
        "How does x follow?",
        "An item: it counts.",
        "Another one follows and introduces a formula:",
    ]
    assert (found.words, found.sentences, found.colons) == (30, 5, 2)
    assert found.colons_per_thousand == pytest.approx(2000 / 30)
    assert found.words_a_sentence == 6


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Who compares only this sees nothing.", "Who shares a mean?"),
        ("The own weight is large.", "Each head has its own weights."),
        ("The rows shall sum to one.", "The rows should sum to one."),
        ("Dropout stands behind the sublayer.", "Dropout follows the sublayer."),
        ("It runs two attentions.", "It runs two attention layers."),
        ("One model is beside the other.", "Besides, one model is larger."),
        ("We hold the loops against it.", "We hold the door open."),
        ("As a rule it is 1.", "As rules go, it is simple."),
        ("This falls apart into a sum.", "This splits into a sum."),
        ("Pre-LN bears larger rates.", "Pre-LN tolerates larger rates."),
        ("It is this, the more so at width 4.", "It is this, even more at width 4."),
    ],
)
def test_the_constructions_are_found(wrong, right):
    assert len(prose.counts(wrong).found) == 1
    assert prose.counts(right).found == ()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Afterwards you will be able to count.", "By the end you will be able to count."),
        ("It has two halves, which are an encoder and a decoder.", "It has a half which is wide."),
        ("It holds. (Section 12 proves it.)", "It holds (section 12)."),
        ("It takes some ten seconds.", "It takes about ten seconds."),
        ("It learns the text by heart.", "It memorises the text."),
        ("The model says a word.", "The paper says why."),
        ("Each head has a look.", "The head looks at it."),
        ("It stands in the same place.", "It takes place, in place."),
        ("This is what section 3 showed.", "Section 3 shows this."),
        ("The decoder writes the word.", "The cell writes to a file."),
        ("So it is.\n\nAnd it was.\n\nBut not now.", "So it is.\n\nIt was.\n\nBut not now."),
    ],
)
def test_the_tics_are_found(wrong, right):
    assert len(prose.counts(wrong).tics) == 1
    assert prose.counts(right).tics == ()
