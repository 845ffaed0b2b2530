"""course_utils.inside against loops, weights that are set to zero, and passes by hand."""

import copy

import pytest
import torch
from torch import nn

from course_utils.inside import ablate_heads, induction_score, logit_lens, patch_activation, streams
from course_utils.masks import causal_mask
from course_utils.modern import ModernLanguageModel

B, H, T, D_K, D_FF, V, LAYERS = 2, 3, 7, 4, 13, 11, 4
D = H * D_K


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(17)


@pytest.fixture
def model():
    """With dropout and partly in train mode, as somebody may have left it."""
    model = ModernLanguageModel(V, D, H, LAYERS, D_FF, dropout=0.5).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    model.layers[1].eval()
    return model


@pytest.fixture
def ids():
    return torch.randint(V, (B, T))


def state_of(model):
    modes = [module.training for module in model.modules()]
    hooks = [len(module._forward_pre_hooks) for module in model.modules()]
    return modes, hooks, {name: tensor.clone() for name, tensor in model.state_dict().items()}


def assert_as_before(model, before):
    modes, hooks, tensors = state_of(model)
    assert (modes, hooks) == before[:2]
    assert all(torch.equal(tensors[name], tensor) for name, tensor in before[2].items())


def in_eval(model):
    return copy.deepcopy(model).eval()


# --------------------------------------------------------------------------------------- scores


def test_uniform_weights_by_hand():
    score = induction_score(torch.full((1, 1, 5, 5), 0.2), period=2)
    assert score.item() == pytest.approx(4 / 15)


@pytest.mark.parametrize(("period", "start"), [(2, 0), (3, 0), (3, 1), (2, 2), (6, 0)])
def test_the_score_is_the_sum_over_earlier_copies(period, start):
    weights = torch.rand(B, H, T, T, dtype=torch.float64, requires_grad=True)
    queries = range(start + period, T)
    expected = sum(
        weights[:, :, i, i - m * period + 1].mean(dim=0)
        for i in queries
        for m in range(1, T)
        if i - m * period >= start
    ) / len(queries)
    score = induction_score(weights, period, start)
    torch.testing.assert_close(score, expected)
    score.sum().backward()
    assert (weights.grad != 0).any()


def test_where_nothing_repeats_is_refused():
    with pytest.raises(ValueError, match="begins at 3 and has 4 tokens"):
        induction_score(torch.rand(1, 1, 7, 7), period=4, start=3)


# -------------------------------------------------------------------------------------- ablation


@pytest.mark.parametrize("heads", [[(0, 1)], [(2, 0), (2, 2), (0, 1), (2, 0)], {(3, 2)}, ()])
def test_a_head_is_silent_when_its_columns_are_zero(model, ids, heads):
    silent = in_eval(model)
    with torch.no_grad():
        for layer, head in heads:
            silent.layers[layer].w_o.weight[:, head * D_K : (head + 1) * D_K] = 0
        expected = silent(ids)
    before = state_of(model)
    torch.testing.assert_close(ablate_heads(model, ids, heads), expected)
    assert_as_before(model, before)


def test_a_head_may_say_its_mean(model, ids):
    means = torch.randn(LAYERS, H, D_K, dtype=torch.float64)
    constant = in_eval(model)
    with torch.no_grad():
        for layer, head in [(1, 2), (1, 0), (3, 1)]:
            w_o = constant.layers[layer].w_o
            columns = slice(head * D_K, (head + 1) * D_K)
            said = w_o.weight[:, columns] @ means[layer, head]
            w_o.weight[:, columns] = 0
            bias = torch.zeros(D, dtype=torch.float64) if w_o.bias is None else w_o.bias
            w_o.bias = nn.Parameter(bias + said)
        expected = constant(ids)
    torch.testing.assert_close(ablate_heads(model, ids, [(1, 2), (1, 0), (3, 1)], means), expected)


@pytest.mark.parametrize("pair", [(LAYERS, 0), (0, H), (-1, 0), (0, -1)])
def test_a_head_outside_the_model_is_refused(model, ids, pair):
    before = state_of(model)
    with pytest.raises(ValueError, match=r"a layer from 0 to 3 and a head from 0 to 2"):
        ablate_heads(model, ids, [(0, 0), pair])
    assert_as_before(model, before)


# -------------------------------------------------------------------------------------- patching


@pytest.mark.parametrize(("layer", "position"), [(0, 0), (0, 3), (2, 6), (3, 2)])
def test_one_vector_of_the_clean_run(model, ids, layer, position):
    corrupted = torch.randint(V, (B, T))
    plain = in_eval(model)
    with torch.no_grad():
        x = streams(plain, corrupted)[layer].clone()
        x[:, position] = streams(plain, ids)[layer][:, position]
        for block in plain.layers[layer:]:
            x = block(x, causal_mask(T))
        expected = plain.unembed(x)
    before = state_of(model)
    patched = patch_activation(model, ids, corrupted, layer, position)
    torch.testing.assert_close(patched, expected)
    assert_as_before(model, before)


def test_bad_places_are_refused(model, ids):
    for layer, position, message in [
        (LAYERS, 0, "layer from 0 to 3, found 4"),
        (-1, 0, "layer from 0 to 3, found -1"),
        (0, T, "position from 0 to 6, found 7"),
    ]:
        with pytest.raises(ValueError, match=message):
            patch_activation(model, ids, ids, layer, position)
    with pytest.raises(ValueError, match=r"\(2, 7\) and \(2, 6\)"):
        patch_activation(model, ids, ids[:, 1:], 0, 0)


# ------------------------------------------------------------------------------------------ lens


def test_the_lens_ends_with_what_the_model_says(model, ids):
    before = state_of(model)
    logits = logit_lens(model, ids)
    assert_as_before(model, before)
    plain = in_eval(model)
    assert logits.shape == (LAYERS + 1, B, T, V) and logits.dtype == torch.float64
    with torch.no_grad():
        torch.testing.assert_close(logits[-1], plain(ids))
        torch.testing.assert_close(logits[0], plain.unembed(plain.embedding(ids)))
        after_two = plain.layers[1](
            plain.layers[0](plain.embed(ids), causal_mask(T)), causal_mask(T)
        )
        torch.testing.assert_close(logits[2], plain.unembed(after_two))


# ------------------------------------------------------------------------------- nothing is left


@pytest.mark.parametrize(
    "look",
    [
        lambda model, ids: ablate_heads(model, ids, [(0, 0)]),
        lambda model, ids: patch_activation(model, ids, ids, 1, 1),
        logit_lens,
    ],
    ids=["ablate_heads", "patch_activation", "logit_lens"],
)
def test_an_error_leaves_nothing_behind(model, ids, look):
    seen = []
    recording = model.layers[2].register_forward_pre_hook(lambda *_: seen.append(1))
    before = state_of(model)
    with pytest.raises(IndexError):
        look(model, ids + V)
    assert_as_before(model, before)
    look(model, ids)
    assert_as_before(model, before)
    assert seen
    recording.remove()
