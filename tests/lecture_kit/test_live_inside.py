"""The view of a look inside: what its page holds, the table that stands in for it, and what it refuses."""

import json
import re

import pytest
import torch

from course_utils.attention import merge_heads
from course_utils.inside import ablate_heads, induction_score
from course_utils.modern import ModernLanguageModel, attention_maps
from lecture_kit import live
from lecture_kit.experiments.repeated_tokens import VOCABULARY, distinct
from lecture_kit.trained import copiers, translators
from tests.lecture_kit.test_live import HOSTILE, Elements, data_of, page_of

BLOCK = [7, 30, 2, 55, 18, 41]


def small(layers=2, heads=2, tokens=VOCABULARY):
    """A model that was never trained."""
    torch.manual_seed(5)
    return ModernLanguageModel(tokens, 8, heads, layers, 12).eval()


def weights_of(view):
    stored = re.search(r'id="late">(.*?)</script>', page_of(view), re.DOTALL)[1]
    return [translators.unpacked(one) for one in json.loads(stored)["models"]]


def test_the_page_asks_nobody_and_is_small_with_both_models():
    view = live.inside_view()
    assert len(view.html.encode()) < 300_000
    page = page_of(view)
    outside = r"https?:|\bimport\b|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\beval\b"
    assert re.findall(outside, page.replace("http://www.w3.org/2000/svg", "")) == []
    assert "innerHTML" not in page


def test_it_holds_the_weights_of_the_recorded_models():
    view = live.inside_view()
    assert [one["name"] for one in data_of(view)["models"]] == ["A", "B"]
    for name, weights in zip(copiers.NAMES, weights_of(view), strict=True):
        for part, expected in copiers.recorded(name).state_dict().items():
            torch.testing.assert_close(weights[part], expected, atol=1e-6, rtol=1e-6)


def test_it_holds_models_of_ones_own_and_the_block():
    models = {"one layer": small(layers=1), "two": small(heads=4)}
    view = live.inside_view(models, block=BLOCK)
    stored = data_of(view)
    assert stored["block"] == BLOCK and len(stored["words"]) == VOCABULARY
    assert [(one["name"], one["heads"], one["base"], one["eps"]) for one in stored["models"]] == [
        ("one layer", 2, 10000, 1e-6),
        ("two", 4, 10000, 1e-6),
    ]
    for model, weights in zip(models.values(), weights_of(view), strict=True):
        for name, expected in model.state_dict().items():
            assert (weights[name] - expected).abs().max() < 0.01 * expected.abs().max() + 1e-6


def test_the_head_that_is_shown_first_has_the_best_score():
    model = copiers.recorded()
    layer, head = data_of(live.inside_view({"A": model}, block=BLOCK))["head"]
    scores = induction_score(attention_maps(model, torch.tensor([BLOCK * 2]))[1], len(BLOCK))
    assert layer == 1 and scores[head] == scores.max()


def test_means_are_what_the_heads_give_on_average():
    model = copiers.recorded("further")
    ids = distinct(200, 24, 12, torch.Generator().manual_seed(0))
    given = []  # what reaches each w_o
    hooks = [
        layer.w_o.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
        for layer in model.layers
    ]
    with torch.no_grad():
        model(ids)
    for hook in hooks:
        hook.remove()
    means = torch.tensor(data_of(live.inside_view({"B": model}))["models"][0]["means"])
    merged = merge_heads(means.unsqueeze(2))[:, 0]  # (L, H, d_k) → (L, D)
    expected = torch.stack([merged.mean(dim=(0, 1)) for merged in given])
    torch.testing.assert_close(merged, expected, atol=1e-5, rtol=1e-5)


def test_a_table_stands_in_for_the_frame():
    outside = live.inside_view(block=BLOCK).html.split("</iframe>")[1]
    cells = r'<tr><th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>'
    found = re.findall(cells, outside)
    assert len(found) == 2 * (1 + 8)
    ids, answers = torch.tensor([BLOCK * 2]), torch.tensor(BLOCK[1:] + BLOCK[:1])
    rows = iter(found)
    for name, which in zip("AB", copiers.NAMES, strict=True):
        model = copiers.recorded(which)
        scores = [induction_score(maps, 6) for maps in attention_maps(model, ids)]
        for heads in [[], *([(layer, head)] for layer in range(2) for head in range(4))]:
            label, score, right, loss = next(rows)
            logits = ablate_heads(model, ids, heads)[0, 6:].detach()
            expected = torch.nn.functional.cross_entropy(logits, answers).item()
            assert right == f"{(logits.argmax(dim=-1) == answers).sum()} of 6"
            assert float(loss) == pytest.approx(expected, abs=6e-3)
            if heads:
                ((layer, head),) = heads
                assert label == f"{name}, without head {head} of layer {layer}"
                assert float(score) == pytest.approx(scores[layer][head].item(), abs=6e-3)
            else:
                assert (label, score) == (f"{name}, all heads on", "")


def test_names_and_captions_are_only_ever_text():
    view = live.inside_view({HOSTILE: small()}, caption=HOSTILE)
    for elements in (Elements(view.html), Elements(page_of(view))):
        assert not any("onerror" in attributes for _, attributes in elements.found)
        assert "img" not in [tag for tag, _ in elements.found]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ([1, 2, 3, 4, 5], "expected 6 to 12 different tokens"),
        (list(range(13)), "expected 6 to 12 different tokens"),
        ([1, 2, 3, 4, 5, 1], "A token that comes twice"),
        ([1, 2, 3, 4, 5, 64], "from 0 to 63"),
        ([1, 2, 3, 4, 5, -1], "from 0 to 63"),
    ],
)
def test_a_block_that_cannot_be_shown_is_refused(block, message):
    with pytest.raises(ValueError, match=message):
        live.inside_view({"mine": small()}, block=block)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({}, "expected 1 to 3 models by their names; found 0"),
        (dict.fromkeys("abcd", small()), "found 4"),
        ({"mine": small(tokens=65)}, "mine: expected a model of 64 tokens, .* found 65 tokens"),
        ({"mine": small(layers=5)}, "found 64 tokens, 5 layers and 2 heads"),
        ({"mine": small(layers=0)}, "found 64 tokens, 0 layers"),
    ],
)
def test_models_that_cannot_be_shown_are_refused(models, message):
    with pytest.raises(ValueError, match=message):
        live.inside_view(models)


def test_a_model_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="mine: expected a ModernLanguageModel; found Linear"):
        live.inside_view({"mine": torch.nn.Linear(2, 2)})


def test_a_view_without_a_caption_is_refused():
    with pytest.raises(ValueError, match="caption: expected"):
        live.inside_view({"mine": small()}, caption="")
