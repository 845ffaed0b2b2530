"""The view of writing: what its page holds, the table that stands in for it, and what it refuses."""

import json
import re

import pytest
import torch

from course_utils.language_models import (
    CausalLanguageModel,
    MaskedLanguageModel,
    next_token_probabilities,
)
from lecture_kit import data, live
from lecture_kit.trained import translators
from tests.lecture_kit.test_live import HOSTILE, Elements, data_of, page_of

WORDS = data.Vocabulary(["it", "is", "easy", "hard", "."])


def small(kind=CausalLanguageModel, words=WORDS):
    """A model of few words that was never trained."""
    torch.manual_seed(5)
    return kind(len(words), 8, 2, 1, 12, dropout=0.0, max_len=6).eval()


def test_the_page_asks_nobody_and_holds_the_weights():
    model = small()
    page = page_of(live.writing_view(model, WORDS))
    outside = r"https?:|\bimport\b|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\beval\b"
    found = re.findall(outside, page.replace("http://www.w3.org/2000/svg", ""))
    assert found == []
    assert "innerHTML" not in page
    stored = json.loads(re.search(r'id="late">(.*?)</script>', page, re.DOTALL)[1])
    for name, weights in translators.unpacked(stored).items():
        expected = model.state_dict()[name]
        assert (weights - expected).abs().max() < 0.01 * expected.abs().max() + 1e-6


def test_the_trained_model_of_lecture_9_makes_a_page_below_a_megabyte():
    words = data.Vocabulary([f"w{number}" for number in range(101)])
    model = CausalLanguageModel(105, 64, 4, 2, 128, max_len=15)
    assert len(live.writing_view(model, words).html.encode()) < 200_000


def test_a_table_stands_in_for_the_frame():
    model = small()
    view = live.writing_view(model, WORDS, ["it", "is"], temperature=0.7, top_k=2)
    outside = view.html.split("</iframe>")[1]
    rows = re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td></tr>', outside)
    with torch.no_grad():
        logits = model(torch.tensor([[data.BOS_ID, *WORDS.encode("it is")]]))[:, -1]
    chances = logits[0].softmax(dim=-1)
    kept = next_token_probabilities(logits, 0.7, top_k=2)[0]
    assert len(rows) == len(WORDS)
    for word, said, drawn in rows:
        place = WORDS.words.index(word.replace("&lt;", "<").replace("&gt;", ">"))
        assert said == f"{chances[place]:.3f}"
        assert drawn == (f"{kept[place]:.3f}" if kept[place] else "cut")
    assert sum(drawn != "cut" for *_, drawn in rows) == 2
    assert "after “it is”" in outside


def test_it_starts_where_the_author_says():
    stored = data_of(live.writing_view(small(), WORDS, ["it"], temperature=1.5, top_k=3, top_p=0.9))
    wanted = {"beginning": [4], "temperature": 1.5, "k": 3, "p": 0.9, "heads": 2}
    assert {name: stored[name] for name in wanted} == wanted


def test_words_are_only_ever_text():
    words = data.Vocabulary([HOSTILE.split()[0], "."])
    view = live.writing_view(small(words=words), words, caption=HOSTILE)
    for elements in (Elements(view.html), Elements(page_of(view))):
        assert not any("onerror" in attributes for _, attributes in elements.found)
        assert "img" not in [tag for tag, _ in elements.found]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"beginning": ["dog"]}, "unknown word 'dog'"),
        ({"beginning": ["it"] * 5}, "beginning: expected fewer than 5 words; found 5"),
        ({"temperature": 3}, "temperature: expected a number from 0 to 2; found 3"),
        ({"top_k": 0}, "expected a top_k of 1 or more"),
        ({"top_p": 1.5}, "expected a top_p above 0"),
        ({"caption": ""}, "caption: expected"),
    ],
)
def test_what_cannot_be_shown_is_refused(more, message):
    with pytest.raises(ValueError, match=message):
        live.writing_view(small(), WORDS, **more)


def test_a_model_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="found MaskedLanguageModel"):
        live.writing_view(small(MaskedLanguageModel), WORDS)
