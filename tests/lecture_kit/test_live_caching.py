"""The view of a key/value cache: a small page, a table that stands in, errors that help."""

import re

import pytest

from lecture_kit import live
from tests.lecture_kit.test_live import HOSTILE, Elements, data_of, page_of

WORDS = ["it", "is", "easy", "to", "say"]


def test_the_page_is_small_and_asks_nobody():
    view = live.cache_view(WORDS, 2)
    assert len(view.html.encode()) < 50_000
    page = page_of(view)
    outside = r"https?:|\bimport\b|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\beval\b"
    assert re.findall(outside, page.replace("http://www.w3.org/2000/svg", "")) == []
    assert "innerHTML" not in page
    assert data_of(view) == {"words": WORDS, "prompt": 2}


def test_a_table_stands_in_for_the_frame():
    outside = live.cache_view(WORDS, 2).html.split("</iframe>")[1]
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', outside)
    cells = {name: [int(text) for text in re.findall(r"<td>(.*?)</td>", row)] for name, row in rows}
    assert cells == {
        "the prompt": [2, 2, 2],
        "easy": [1, 3, 5],
        "to": [1, 4, 9],
        "say": [1, 5, 14],
    }


def test_words_are_only_ever_text():
    view = live.cache_view([HOSTILE, "b", "c"], 1, caption=HOSTILE)
    for elements in (Elements(view.html), Elements(page_of(view))):
        assert not any("onerror" in attributes for _, attributes in elements.found)
        assert "img" not in [tag for tag, _ in elements.found]


@pytest.mark.parametrize(
    ("words", "more", "message"),
    [
        (["a"], {}, "words: expected 2 to 12; found 1"),
        (["a"] * 13, {}, "words: expected 2 to 12; found 13"),
        ("it is", {}, "words: expected a list of words"),
        (WORDS, {"prompt": 5}, "prompt: expected a whole number from 1 to 4; found 5"),
        (WORDS, {"prompt": 0}, "prompt: expected"),
        (WORDS, {"caption": ""}, "caption: expected"),
    ],
)
def test_what_cannot_be_shown_is_refused(words, more, message):
    with pytest.raises(ValueError, match=message):
        live.cache_view(words, **more)
