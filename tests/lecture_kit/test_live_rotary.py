"""The view of rotary positions: a small page, a table that stands in, errors that help."""

import re

import pytest
import torch

from course_utils.modern import apply_rotary
from lecture_kit import live
from tests.lecture_kit.test_live import HOSTILE, Elements, data_of, page_of

QUERY, KEY = [1.0, 0.5, -0.3, 0.8], [0.2, 1.0, 0.7, -0.4]


def test_the_page_is_small_and_asks_nobody():
    view = live.rotary_view(QUERY, KEY)
    assert len(view.html.encode()) < 50_000
    page = page_of(view)
    outside = r"https?:|\bimport\b|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\beval\b"
    assert re.findall(outside, page.replace("http://www.w3.org/2000/svg", "")) == []
    assert "innerHTML" not in page


def test_it_holds_the_vectors_as_given():
    stored = data_of(live.rotary_view(torch.tensor(QUERY), KEY, positions=(3, 90)))
    assert stored["query"] == pytest.approx(QUERY) and stored["key"] == KEY
    assert stored["positions"] == [3, 90]


def test_a_table_stands_in_for_the_frame():
    outside = live.rotary_view(QUERY, KEY, positions=(3, 90)).html.split("</iframe>")[1]
    cells = r'<tr><th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>'
    *pairs, (name, _, _, score) = re.findall(cells, outside)
    query, key = (
        apply_rotary(torch.tensor(vector).view(1, 1, 1, 4), torch.tensor([place])).flatten()
        for vector, place in [(QUERY, 3), (KEY, 90)]
    )
    assert [one for one, *_ in pairs] == ["pair 0", "pair 1"] and name == "score"
    assert float(score) == pytest.approx((query @ key).item(), abs=1e-3)
    for (_, of_query, of_key, part), q, k in zip(pairs, query.split(2), key.split(2), strict=True):
        assert [float(x) for x in of_query.split(", ")] == pytest.approx(q.tolist(), abs=6e-3)
        assert [float(x) for x in of_key.split(", ")] == pytest.approx(k.tolist(), abs=6e-3)
        assert float(part) == pytest.approx((q @ k).item(), abs=1e-3)


def test_the_caption_is_only_ever_text():
    view = live.rotary_view(QUERY, KEY, caption=HOSTILE)
    for elements in (Elements(view.html), Elements(page_of(view))):
        assert not any("onerror" in attributes for _, attributes in elements.found)


@pytest.mark.parametrize(
    ("query", "key", "positions", "message"),
    [
        (QUERY, KEY[:2], (0, 0), "found 4 and 2"),
        ([1.0] * 3, [1.0] * 3, (0, 0), "found 3 and 3"),
        ([1.0] * 18, [1.0] * 18, (0, 0), "found 18 and 18"),
        (QUERY, KEY, (0, 129), "from 0 to 128"),
        (QUERY, KEY, (-1, 3), "from 0 to 128"),
        (QUERY, KEY, (1.5, 3), "from 0 to 128"),
        (QUERY, KEY, (1, 2, 3), "from 0 to 128"),
    ],
)
def test_what_cannot_be_shown_is_refused(query, key, positions, message):
    with pytest.raises(ValueError, match=message):
        live.rotary_view(query, key, positions=positions)
