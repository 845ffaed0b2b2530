"""The view of norms: small, nothing from outside, a table that stands in, errors that help."""

import re

import numpy as np
import pytest
import torch
from torch import nn

from lecture_kit import live
from tests.lecture_kit.test_live import HOSTILE, Elements, data_of, page_of

X = np.random.default_rng(0).normal(size=(2, 3, 4))
WORDS = [["a", "b", "c"], ["d", "e", "<pad>"]]


def test_the_page_is_small_and_holds_what_it_needs():
    page = page_of(live.normalisation_view(X))
    assert len(live.normalisation_view(np.ones((1, 1, 1))).html.encode()) < 40_000
    outside = r"https?:|//[a-z]|\bimport\b|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\beval\b"
    a_name = "http://www.w3.org/2000/svg"  # of a language, and no address
    assert re.findall(outside, page.replace("// ", "").replace(a_name, "")) == []
    tags = Elements(page).found
    assert not {"link", "img", "object", "base"} & {tag for tag, _ in tags}
    assert all("src" not in attributes for _, attributes in tags)
    assert "innerHTML" not in page


def test_it_starts_where_the_author_says():
    stored = data_of(live.normalisation_view(X, WORDS, over="TB", chosen=(1, 2, 3), eps=0.5))
    assert np.array_equal(stored["x"], X) and stored["words"] == WORDS
    assert (stored["over"], stored["chosen"], stored["eps"]) == (["B", "T"], [1, 2, 3], 0.5)
    assert data_of(live.normalisation_view(X))["words"] == [["token 1", "token 2", "token 3"]] * 2


@pytest.mark.parametrize("over", ["D", "BT", ""])
def test_a_table_stands_in_for_the_frame(over):
    outside = live.normalisation_view(X, WORDS, over=over).html.split("</iframe>")[1]
    x = torch.from_numpy(X)
    if over == "D":
        after = nn.LayerNorm(4, dtype=torch.float64)(x)
    elif over == "BT":
        after = nn.BatchNorm1d(4, dtype=torch.float64)(x.mT).mT
    else:
        after = torch.zeros_like(x)
    shown = [float(text) for text in re.findall(r"<td>([-\d.]+)</td>", outside)]
    wanted = torch.cat([x.flatten(), after.flatten()]).detach().numpy()
    np.testing.assert_allclose(shown, wanted, atol=0.00501)
    assert "sentence 2: &lt;pad&gt;" in outside


def test_words_are_only_ever_text():
    view = live.normalisation_view(np.ones((1, 1, 1)), [[HOSTILE]], caption=HOSTILE)
    for elements in (Elements(view.html), Elements(page_of(view))):
        assert not any("onerror" in attributes for _, attributes in elements.found)
        assert "img" not in [tag for tag, _ in elements.found]
    assert data_of(view)["words"] == [[HOSTILE]]


@pytest.mark.parametrize(
    ("x", "more", "message"),
    [
        (X[0], {}, r"x: expected the shape \(B, T, D\)"),
        (np.ones((5, 1, 1)), {}, "x: expected the shape"),
        (np.ones((1, 9, 1)), {}, "x: expected the shape"),
        (np.ones((1, 1, 9)), {}, "x: expected the shape"),
        (np.ones((1, 0, 1)), {}, "x: expected the shape"),
        ([[[1], [1, 2]]], {}, "x: expected rows of numbers"),
        (X * np.inf, {}, "x: expected finite numbers"),
        (X * 1e101, {}, "x: expected finite numbers"),
        (X, {"sentences": WORDS[:1]}, "sentences: expected 2 of 3 words"),
        (X, {"sentences": [["a", "b"], ["c", "d"]]}, "sentences: expected 2 of 3 words"),
        (X, {"sentences": ["abc", "def"]}, "sentences: expected a list of words"),
        (X, {"sentences": [["a", "", "c"]] * 2}, "1 to 200 letters"),
        (X, {"over": "X"}, "over: expected some of"),
        (X, {"over": "DD"}, "over: expected some of"),
        (X, {"chosen": (0, 0)}, "chosen: expected"),
        (X, {"chosen": (0, 0, 4)}, "chosen: expected"),
        (X, {"chosen": (-1, 0, 0)}, "chosen: expected"),
        (X, {"eps": 0}, "eps: expected"),
        (X, {"eps": float("nan")}, "eps: expected"),
        (X, {"caption": " "}, "caption: expected"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(x, more, message):
    with pytest.raises(ValueError, match=message):
        live.normalisation_view(x, **more)
