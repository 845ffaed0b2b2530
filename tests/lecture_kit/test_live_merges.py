"""The view of byte-pair encoding: a small page, a table that stands in, errors that help."""

import re
from collections import Counter

import pytest

from course_utils.language_models import apply_merges, learn_merges
from lecture_kit import live
from tests.lecture_kit.test_live import HOSTILE, Elements, data_of, page_of

TEXT = "the cat and the hat sat on that mat with the rat that the cat had"
MERGES = learn_merges(Counter(TEXT.split()), num_merges=20)


def test_the_page_is_small_and_asks_nobody():
    view = live.merges_view(MERGES, ["that", "hats"])
    assert len(view.html.encode()) < 50_000
    page = page_of(view)
    outside = r"https?:|\bimport\b|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\beval\b"
    assert re.findall(outside, page.replace("http://www.w3.org/2000/svg", "")) == []
    assert "innerHTML" not in page


def test_it_holds_the_merges_in_their_order():
    stored = data_of(live.merges_view(MERGES, ["that", "hats"]))
    assert [tuple(pair) for pair in stored["merges"]] == MERGES
    assert stored["words"] == ["that", "hats"]


@pytest.mark.parametrize("word", ["that", "cathat", "zebra"])
def test_a_table_stands_in_for_the_frame(word):
    outside = live.merges_view(MERGES, [word]).html.split("</iframe>")[1]
    rows = re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td>', outside)
    assert rows[0] == ("letters", "", " ".join(word))
    assert rows[-1][2].split() == apply_merges(word, MERGES)
    for name, pair, after in rows[1:]:
        place = int(name.removeprefix("merge "))
        assert tuple(pair.split(" + ")) == MERGES[place - 1]
        assert after.split() == apply_merges(word, MERGES[:place])


def test_words_and_caption_are_only_ever_text():
    view = live.merges_view(MERGES, ["<b>bold</b>"], caption=HOSTILE)
    for elements in (Elements(view.html), Elements(page_of(view))):
        assert not any("onerror" in attributes for _, attributes in elements.found)
        assert not {"img", "b"} & {tag for tag, _ in elements.found}


@pytest.mark.parametrize(
    ("merges", "words", "message"),
    [
        ([], ["a"], "merges: expected pairs of texts"),
        ([("a", "b", "c")], ["a"], "merges: expected pairs of texts"),
        ([("a", 1)], ["a"], "merges: expected pairs of texts"),
        ([("", "b")], ["a"], "merges: expected pairs of texts"),
        (MERGES, [], "words: expected words of 1 to 24 letters"),
        (MERGES, [""], "words: expected words of 1 to 24 letters"),
        (MERGES, ["a" * 25], "words: expected words of 1 to 24 letters"),
    ],
)
def test_what_cannot_be_shown_is_refused(merges, words, message):
    with pytest.raises(ValueError, match=message):
        live.merges_view(merges, words)
