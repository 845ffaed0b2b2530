"""The live view's page: nothing from outside, nothing that words could smuggle in, errors that help."""

import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import nbformat
import numpy as np
import pytest
import torch

from course_utils.attention import scaled_dot_product_attention
from lecture_kit import live
from lecture_kit.live.page import renewed
from lecture_kit.plotting.colours import QUERY
from lecture_kit.trained import learned
from tests.sample_class import ROOT

HOSTILE = '</script><script>alert("1")</script><img src=x onerror=alert(2)>&quot;\u2028'


def attention(size=3, width=5, value_width=7, **more):
    generator = np.random.default_rng(1)
    shapes = ((size, width), (size, width), (size, value_width))
    words = [f"word{k}" for k in range(size)]
    return live.Attention(
        *(generator.normal(size=shape) for shape in shapes), **{"queries": words, **more}
    )


class Elements(HTMLParser):
    """Tags with their attributes, text by the tag that holds it."""

    def __init__(self, html):
        super().__init__()
        self.found, self.texts, self.open = [], [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.open = tag

    def handle_data(self, data):
        self.texts.append((self.open, data))

    def first(self, tag):
        return next(attributes for name, attributes in self.found if name == tag)


def page_of(view):
    return Elements(view.html).first("iframe")["srcdoc"]


def data_of(view):
    return json.loads(re.search(r'id="data">(.*?)</script>', page_of(view), re.DOTALL)[1])


def test_the_page_is_small_and_holds_what_it_needs():
    view = live.attention_view(attention(size=1, width=1, value_width=1))
    assert len(view._repr_html_().encode()) < 50_000
    page = page_of(view)
    assert QUERY in page and "function attendOne" in page
    outside = r"https?:|//[a-z]|\bimport\b|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\beval\b"
    a_name = "http://www.w3.org/2000/svg"  # of a language, and no address
    assert re.findall(outside, page.replace("// ", "").replace(a_name, "")) == []
    tags = {tag: attributes for tag, attributes in Elements(page).found}
    assert not {"link", "img", "object", "base"} & set(tags)
    assert all("src" not in attributes for attributes in tags.values())
    policy = [
        attributes.get("content", "") for tag, attributes in Elements(page).found if tag == "meta"
    ]
    assert any(content.startswith("default-src 'none';") for content in policy)


def test_words_are_only_ever_text():
    view = live.attention_view(
        attention(queries=[HOSTILE, "b", "c"], sentence=HOSTILE, model=HOSTILE), caption=HOSTILE
    )
    outside, inside = Elements(view.html), Elements(page_of(view))
    assert [tag for tag, _ in outside.found].count("script") == 0
    assert [tag for tag, _ in inside.found].count("script") == 3
    for elements in (outside, inside):
        assert not any("onerror" in attributes for _, attributes in elements.found)
        assert "img" not in [tag for tag, _ in elements.found]
    assert data_of(view)["items"][0]["queries"][0] == HOSTILE
    assert outside.first("iframe")["title"] == HOSTILE


def test_numbers_arrive_exactly():
    head = attention(mask=np.tri(3, dtype=bool), layer=2, head=3)
    stored = data_of(live.attention_view(head, temperature=2, query=1))
    assert stored["temperature"] == 2 and stored["query"] == 1
    (item,) = stored["items"]
    for name, numbers in {"q": head.query, "k": head.key, "v": head.value}.items():
        assert np.array_equal(item[name], numbers)
    assert item["mask"] == ["100", "110", "111"]
    assert (item["layer"], item["head"], item["sentence"]) == (2, 3, "word0 word1 word2")


def test_float32_is_written_short_and_means_the_same():
    numbers = torch.randn(3, 4)
    head = live.Attention(numbers, numbers, numbers, ["a", "b", "c"])
    assert np.array_equal(head.query.astype(np.float32), numbers.numpy())
    assert max(len(repr(x)) for x in head.query.ravel().tolist()) < 15


def test_a_table_stands_in_for_the_frame():
    head = attention(mask=np.tri(3, dtype=bool))
    outside = live.attention_view(head, caption="Three words").html.split("</iframe>")[1]
    vectors = (torch.from_numpy(numbers) for numbers in (head.query, head.key, head.value))
    weights = scaled_dot_product_attention(*vectors, torch.from_numpy(head.mask))[1]
    shown = re.findall(r"<td>([\d.]+)</td>", outside)
    assert shown == [f"{weight:.2f}" for weight in weights.ravel().tolist()]
    assert "<caption>Three words" in outside and outside.count('scope="row"') == 3


def test_the_table_has_the_temperature_of_the_view():
    head = attention()
    outside = live.attention_view(head, temperature=0.5).html.split("</iframe>")[1]
    weights = torch.from_numpy(head.query @ head.key.T / 0.5).softmax(dim=-1)
    shown = re.findall(r"<td>([\d.]+)</td>", outside)
    assert shown == [f"{weight:.2f}" for weight in weights.ravel().tolist()]


@pytest.mark.parametrize("kind", learned.KINDS)
def test_the_translators_heads(kind):
    heads = live.translator(kind)
    assert len({head.sentence for head in heads}) == len(learned.sentences())
    assert all((head.mask is not None) == (kind == "decoder") for head in heads)
    assert len(live.attention_view(*heads).html.encode()) < 90_000
    sentence = learned.sentences()[0]
    first = heads[0]
    weights = scaled_dot_product_attention(
        *(torch.from_numpy(numbers) for numbers in (first.query, first.key, first.value)),
        None if first.mask is None else torch.from_numpy(first.mask),
    )[1]
    stored = sentence.weights(kind, first.layer, first.head)
    torch.testing.assert_close(weights.float(), stored, rtol=0, atol=0.01)


def test_there_is_no_other_kind_of_head():
    with pytest.raises(ValueError, match="expected one of 'encoder'"):
        live.translator("middle")


X = np.ones((3, 2))
WORDS = ["a", "b", "c"]
BAD = {
    "ragged": (([[1], [1, 2]], X, X, WORDS), {}, "query: expected rows of numbers"),
    "one axis": ((X[0], X, X, WORDS), {}, r"query: expected the shape \(words, width\)"),
    "not finite": ((X, X * np.nan, X, WORDS), {}, "key: expected finite numbers"),
    "too large": ((X, X, X * 1e101, WORDS), {}, "value: expected finite numbers"),
    "too wide": ((np.ones((3, 65)), X, X, WORDS), {}, "width of 1 to 64"),
    "too long": ((np.ones((33, 2)), X, X, WORDS), {}, "1 to 32 words"),
    "widths differ": ((X, np.ones((3, 4)), X, WORDS), {}, r"key: expected the shape \(3, 2\)"),
    "no value for a key": ((X, X, X[:2], WORDS), {}, r"value: expected the shape \(3, 2\)"),
    "a word too few": ((X, X, X, WORDS[:2]), {}, r"query: expected the shape \(2, 2\)"),
    "a string": ((X, X, X, "abc"), {}, "queries: expected a list of words"),
    "no letter": ((X, X, X, ["a", "", "c"]), {}, "1 to 200 letters"),
    "a long word": ((X, X, X, WORDS), {"keys": ["a", "b", "c" * 201]}, "1 to 200 letters"),
    "a long name": ((X, X, X, WORDS), {"model": "m" * 201}, "1 to 200 letters"),
    "a long sentence": ((X, X, X, WORDS), {"sentence": "s" * 201}, "1 to 200 letters"),
    "layer 0": ((X, X, X, WORDS), {"layer": 0}, "layer: expected 1 or more"),
    "head 1.5": ((X, X, X, WORDS), {"head": 1.5}, "head: expected 1 or more"),
    "mask": ((X, X, X, WORDS), {"mask": np.ones((2, 3), bool)}, r"mask: expected the shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused_with_a_sentence(name):
    values, more, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        live.Attention(*values, **more)


def test_a_mask_of_numbers_is_refused():
    with pytest.raises(TypeError, match="must be bool"):
        live.Attention(X, X, X, WORDS, mask=np.ones((3, 3)))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"temperature": 0}, "temperature: expected"),
        ({"temperature": float("nan")}, "temperature: expected"),
        ({"query": 3}, "query: expected 0 to 2"),
        ({"caption": " "}, "caption: expected"),
    ],
)
def test_a_view_out_of_range_is_refused(more, message):
    with pytest.raises(ValueError, match=message):
        live.attention_view(attention(), **more)


def test_a_view_needs_attentions_that_can_be_told_apart_and_fit():
    with pytest.raises(ValueError, match="found nothing"):
        live.attention_view()
    with pytest.raises(ValueError, match="found list"):
        live.attention_view([attention()])
    with pytest.raises(ValueError, match="differ in sentence"):
        live.attention_view(attention(), attention())
    many = [attention(32, 64, 64, head=k) for k in range(1, 10)]
    with pytest.raises(ValueError, match="at most 1,000,000 bytes"):
        live.attention_view(*many)


def test_only_self_attention_is_permuted():
    other = live.Attention([[1.0]], [[2.0]], [[3.0]], ["can"], ["kannst"])
    with pytest.raises(ValueError, match="Only self-attention"):
        live.attention_view(other, permute=True)


def test_its_files_travel_with_the_package():
    for name in ("common", "attention", "positions", "normalisation"):
        for ending in ("js", "css"):
            assert files("lecture_kit.live").joinpath(f"{name}.{ending}").is_file()


def test_a_stored_view_is_renewed_without_its_numbers_changing():
    view = live.attention_view(attention(), caption="Three <words> & more")
    older = view.html.replace("maskedSoftmax", "oldSoftmax")
    assert older != view.html and renewed(older) == view.html
    assert renewed(view.html) == view.html
    assert renewed("<p>no view</p>") == "<p>no view</p>"


@pytest.mark.parametrize("path", sorted(ROOT.glob("lectures/*.ipynb")), ids=lambda path: path.stem)
def test_lectures_store_views_of_today(path):
    """Else: python -m lecture_kit.live lectures/*.ipynb"""
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            assert "live-attention" not in html and renewed(html) == html
