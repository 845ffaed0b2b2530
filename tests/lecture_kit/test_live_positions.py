"""The view of sinusoids: small, nothing from outside, a table that stands in, errors that help."""

import json
import math
import re

import pytest

from course_utils.positional import positional_encoding
from lecture_kit import live
from tests.lecture_kit.test_live import HOSTILE, Elements, page_of


def data_of(view):
    return json.loads(re.search(r'id="data">(.*?)</script>', page_of(view), re.DOTALL)[1])


def test_the_page_is_small_and_holds_what_it_needs():
    view = live.positions_view(d_model=128, length=256, offset=0)
    html, page = view._repr_html_(), page_of(view)
    assert len(html.encode()) < 60_000, "with the table of 64 pairs, twice"
    assert len(live.positions_view(d_model=8).html.encode()) < 40_000
    outside = r"https?:|//[a-z]|\bimport\b|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\beval\b"
    found = re.findall(outside, page.replace("// ", "").replace("http://www.w3.org/2000/svg", ""))
    assert found == []
    tags = Elements(page).found
    assert not {"link", "img", "object", "base"} & {tag for tag, _ in tags}
    assert all("src" not in attributes for _, attributes in tags)
    assert 'data-view="positions"' in page and "innerHTML" not in page


def test_it_starts_where_the_author_says():
    stored = data_of(live.positions_view(d_model=16, length=20, pair=7, position=19, offset=-19))
    wanted = {"width": 16, "length": 20, "pair": 7, "position": 19, "offset": -19}
    assert {name: stored[name] for name in wanted} == wanted
    assert data_of(live.positions_view())["offset"] is None


def test_a_table_stands_in_for_the_frame():
    outside = live.positions_view(d_model=16, position=5, offset=3).html.split("</iframe>")[1]
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', outside)
    assert [name for name, _ in rows] == [f"pair {pair}" for pair in range(8)]
    cells = [re.findall(r"<td>(.*?)</td>", row) for _, row in rows]
    assert cells[1][:2] == ["0.31623", "19.9 words"]
    vector = positional_encoding(9, 16)[5]
    assert [text for row in cells for text in row[2:4]] == [f"{x:.3f}" for x in vector.tolist()]
    product = (vector @ positional_encoding(9, 16)[8]).item()
    assert sum(float(row[4]) for row in cells) == pytest.approx(product, abs=0.005)
    assert "PE[5] · PE[8]" in outside
    alone = live.positions_view(d_model=16).html.split("</iframe>")[1]
    assert alone.count("<td>") == 1 + 8 * 4, "without an offset, no column for it"


def test_the_caption_is_only_ever_text():
    view = live.positions_view(caption=HOSTILE)
    for elements in (Elements(view.html), Elements(page_of(view))):
        assert not any("onerror" in attributes for _, attributes in elements.found)
        assert "img" not in [tag for tag, _ in elements.found]
    assert Elements(view.html).first("iframe")["title"] == HOSTILE


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"d_model": 7}, "d_model: expected one of"),
        ({"d_model": "32"}, "d_model: expected one of"),
        ({"length": 7}, "length: expected a whole number from 8 to 256; found 7"),
        ({"length": 257}, "length: expected"),
        ({"pair": 16}, "pair: expected a whole number from 0 to 15"),
        ({"pair": 1.5}, "pair: expected"),
        ({"position": 48}, "position: expected a whole number from 0 to 47"),
        ({"position": math.nan}, "position: expected"),
        ({"offset": -6}, "offset: expected a whole number from -5 to 42"),
        ({"offset": 43}, "offset: expected"),
        ({"caption": ""}, "caption: expected"),
    ],
)
def test_a_place_outside_the_table_is_refused(more, message):
    with pytest.raises(ValueError, match=message):
        live.positions_view(**more)
