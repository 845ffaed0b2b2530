"""The view of a softmax in one pass: a small page, a table that stands in, errors that help."""

import math
import re

import pytest
import torch

from course_utils.attention import stable_softmax
from lecture_kit import live
from tests.lecture_kit.test_live import HOSTILE, Elements, data_of, page_of

SCORES, VALUES = [0.5, 2.0, -1.0, 3.0, 1.0], [8.0, 4.0, 2.0, 1.0, 6.0]


def test_the_page_is_small_and_asks_nobody():
    view = live.tiles_view(SCORES, VALUES)
    assert len(view.html.encode()) < 50_000
    page = page_of(view)
    outside = r"https?:|\bimport\b|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\beval\b"
    assert re.findall(outside, page.replace("http://www.w3.org/2000/svg", "")) == []
    assert "innerHTML" not in page


def test_it_starts_where_the_author_says():
    stored = data_of(live.tiles_view(torch.tensor(SCORES), VALUES, block_size=3))
    assert stored == {"scores": SCORES, "values": VALUES, "block": 3}


@pytest.mark.parametrize("block", [1, 2, 5])
def test_a_table_stands_in_for_the_frame(block):
    outside = live.tiles_view(SCORES, VALUES, block).html.split("</iframe>")[1]
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', outside)
    assert len(rows) == math.ceil(5 / block)
    *_, (_, last) = rows
    m, _, total, output = (float(text) for text in re.findall(r"<td>(.*?)</td>", last))
    weights = stable_softmax(torch.tensor(SCORES, dtype=torch.float64).numpy())
    right = float(weights @ VALUES)
    assert m == 3
    assert output / total == pytest.approx(right, rel=1e-3)
    assert f"o / ℓ is {right:.4g} in the end" in outside


def test_the_caption_is_only_ever_text():
    view = live.tiles_view(SCORES, VALUES, caption=HOSTILE)
    for elements in (Elements(view.html), Elements(page_of(view))):
        assert not any("onerror" in attributes for _, attributes in elements.found)
        assert "img" not in [tag for tag, _ in elements.found]


@pytest.mark.parametrize(
    ("scores", "values", "more", "message"),
    [
        ([1.0], [1.0], {}, "scores: expected 2 to 12 numbers"),
        ([0.0] * 13, [0.0] * 13, {}, "scores: expected 2 to 12 numbers"),
        ([1.0, 2.0], [1.0], {}, "values: expected 2 to 12 numbers, as many as scores"),
        ([1.0, math.inf], [1.0, 2.0], {}, "scores: expected finite numbers"),
        ([1.0, 200.0], [1.0, 2.0], {}, "scores: expected numbers from -100 to 100; found 200"),
        (
            [1.0, 2.0],
            [1.0, 2.0],
            {"block_size": 3},
            "block_size: expected a whole number from 1 to 2",
        ),
        ([1.0, 2.0], [1.0, 2.0], {"block_size": 0}, "block_size: expected"),
        ([1.0, 2.0], [1.0, 2.0], {"caption": ""}, "caption: expected"),
    ],
)
def test_what_cannot_be_shown_is_refused(scores, values, more, message):
    with pytest.raises(ValueError, match=message):
        live.tiles_view(scores, values, **more)
