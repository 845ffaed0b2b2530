"""course_utils.modern against PyTorch, complex numbers, lecture 6 and another library."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_utils.attention import merge_heads, split_heads
from course_utils.masks import causal_mask
from course_utils.modern import (
    ModernBlock,
    ModernLanguageModel,
    RMSNorm,
    SwiGLU,
    apply_rotary,
    attention_maps,
)
from course_utils.positional import rotate

B, H, T, D_K, D_FF, V, LAYERS = 2, 3, 5, 8, 17, 11, 4
D = H * D_K


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(17)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


# --------------------------------------------------------------------------------------- RMSNorm


def test_the_norm_by_hand():
    normed = RMSNorm(2)(torch.tensor([3.0, 4.0]))
    torch.testing.assert_close(normed, torch.tensor([0.8485, 1.1314]), atol=1e-4, rtol=0)


@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_the_norm_is_pytorchs(eps):
    norm = RMSNorm(D, eps).double()
    nn.init.normal_(norm.weight)
    for x in (randn(B, T, D), randn(D), 1e-3 * randn(T, D)):
        torch.testing.assert_close(norm(x), F.rms_norm(x, (D,), norm.weight, eps))
        ours = torch.autograd.grad(norm(x).sin().sum(), (x, norm.weight))
        theirs = F.rms_norm(x, (D,), norm.weight, eps).sin().sum()
        torch.testing.assert_close(ours, torch.autograd.grad(theirs, (x, norm.weight)))


def test_a_row_of_zeros_stays_zero_with_a_finite_gradient():
    x = torch.zeros(D, requires_grad=True)
    normed = RMSNorm(D)(x)
    normed.sum().backward()
    assert torch.equal(normed, torch.zeros(D)) and x.grad.isfinite().all()


def test_the_norm_has_one_parameter_and_it_starts_at_one():
    [(name, weight)] = RMSNorm(D).named_parameters()
    assert name == "weight" and torch.equal(weight, torch.ones(D))


# -------------------------------------------------------------------------------- rotary positions


def test_a_turn_by_hand():
    turned = apply_rotary(torch.tensor([1.0, 0, 1, 0]).view(1, 1, 1, 4), torch.tensor([1]))
    expected = torch.tensor([0.5403, 0.8415, 0.99995, 0.01])
    torch.testing.assert_close(turned.flatten(), expected, atol=1e-4, rtol=0)


def turned_as_complex_numbers(x, angles):
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


@pytest.mark.parametrize(("base", "factor"), [(10000.0, 1.0), (100.0, 1.0), (500.0, 2.5)])
def test_a_turn_is_a_product_of_complex_numbers(base, factor):
    x, positions = randn(B, H, T, D_K), torch.tensor([7, 0, 7, 190, 12])
    speeds = base ** -(torch.arange(0, D_K, 2).double() / D_K)
    expected = turned_as_complex_numbers(x, torch.outer(positions.double() / factor, speeds))
    torch.testing.assert_close(apply_rotary(x, positions, base, factor), expected)


@pytest.mark.parametrize("start", [0, 3])
def test_consecutive_positions_give_lecture_6(start):
    x = torch.randn(B, H, T, D_K)
    positions = torch.arange(start, start + T)
    torch.testing.assert_close(apply_rotary(x, positions), rotate(x, start))


@pytest.mark.parametrize("sentences", [B, H], ids=["B", "as many sentences as heads"])
def test_each_sentence_may_have_positions_of_its_own(sentences):
    x = torch.randn(sentences, H, T, D_K)
    positions = torch.randint(50, (sentences, T))
    one_by_one = [
        apply_rotary(x[b : b + 1], positions[b], base=50.0, factor=1.5) for b in range(sentences)
    ]
    turned = apply_rotary(x, positions, base=50.0, factor=1.5)
    torch.testing.assert_close(turned, torch.cat(one_by_one))


def test_only_differences_of_positions_count():
    query, key = randn(1, 1, T, D_K), randn(1, 1, T, D_K)
    positions = torch.tensor([4, 0, 9, 2, 2])
    scores = [
        apply_rotary(query, positions + shift) @ apply_rotary(key, positions + shift).mT
        for shift in (0, 100)
    ]
    torch.testing.assert_close(*scores)


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match="width d_k = 7 is odd"):
        apply_rotary(torch.zeros(1, 1, 2, 7), torch.arange(2))


# ---------------------------------------------------------------------------------------- SwiGLU


def test_the_gate_by_hand():
    gate = SwiGLU(1, 1)
    for linear, weight in [(gate.w_gate, 2.0), (gate.w_up, 3.0), (gate.w_down, 5.0)]:
        nn.init.constant_(linear.weight, weight)
    expected = 5 * (2 / (1 + math.exp(-2))) * 3
    assert gate(torch.ones(1)).item() == pytest.approx(expected)


def test_the_gate_is_the_formula_for_each_position():
    gate, x = SwiGLU(D, D_FF).double(), randn(B, T, D)
    inner = x @ gate.w_gate.weight.T
    expected = (inner * inner.sigmoid() * (x @ gate.w_up.weight.T)) @ gate.w_down.weight.T
    torch.testing.assert_close(gate(x), expected)
    names = {name for name, _ in gate.named_parameters()}
    assert names == {"w_gate.weight", "w_up.weight", "w_down.weight"}


# ----------------------------------------------------------------------------------------- block


def by_pytorch(block, x, mask, positions):
    """The block from PyTorch's own parts and complex numbers."""
    speeds = block.base ** -(torch.arange(0, D_K, 2).double() / D_K)
    angles = torch.outer(positions.double() / block.factor, speeds)

    def norm(x, by):
        return F.rms_norm(x, (D,), by.weight, by.eps)

    normed = norm(x, block.norm1)
    query, key, value = (split_heads(w(normed), H) for w in (block.w_q, block.w_k, block.w_v))
    query, key = (turned_as_complex_numbers(part, angles) for part in (query, key))
    context = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    x = x + block.w_o(merge_heads(context))
    return x + block.feed_forward(norm(x, block.norm2))


@pytest.mark.parametrize("positions", [None, torch.tensor([3, 0, 40, 8, 41])], ids=["0…T", "given"])
@pytest.mark.parametrize("mask", [None, causal_mask(T)], ids=["all", "causal"])
def test_the_block_is_pytorchs_parts_put_together(mask, positions):
    block = ModernBlock(D, H, D_FF, base=300.0, eps=0.1, factor=1.5).double()
    x = randn(B, T, D)
    for parameter in block.parameters():
        nn.init.normal_(parameter, std=0.5)
    given = torch.arange(T) if positions is None else positions
    expected = by_pytorch(block, x, mask, given)
    output = block(x, mask, positions)
    torch.testing.assert_close(output, expected)
    parameters = (x, *block.parameters())
    ours = torch.autograd.grad(output.sin().sum(), parameters)
    torch.testing.assert_close(ours, torch.autograd.grad(expected.sin().sum(), parameters))


def test_a_row_that_sees_nothing_keeps_its_words_vector():
    block, x = ModernBlock(D, H, D_FF), torch.randn(1, T, D)
    mask = causal_mask(T).clone()
    mask[2] = False
    output = block(x, mask)[:, 2]
    torch.testing.assert_close(output, x[:, 2] + block.feed_forward(block.norm2(x[:, 2])))


def test_widths_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="d_model = 10 and num_heads = 4"):
        ModernBlock(10, 4, 3)


# ----------------------------------------------------------------------------------------- model


def test_the_future_is_hidden():
    model = ModernLanguageModel(V, D, H, LAYERS, D_FF)
    ids = torch.randint(V, (B, T))
    changed = ids.clone()
    changed[:, 3] = (ids[:, 3] + 1) % V
    logits, other = model(ids), model(changed)
    torch.testing.assert_close(logits[:, :3], other[:, :3])
    assert not torch.allclose(logits[:, 3:], other[:, 3:], atol=1e-3)


def test_the_last_map_is_the_embedding_or_one_of_its_own():
    x = torch.randn(B, T, D)
    for tied in (True, False):
        model = ModernLanguageModel(V, D, H, LAYERS, D_FF, tied=tied)
        last = model.embedding if tied else model.head
        torch.testing.assert_close(model.unembed(x), model.norm(x) @ last.weight.T)
        assert ("head.weight" in model.state_dict()) != tied


def test_dropout_acts_on_the_embedded_words_alone():
    model = ModernLanguageModel(V, D, H, LAYERS, D_FF, dropout=0.5)
    ids = torch.randint(V, (B, T))
    assert not torch.equal(model(ids), model(ids))
    assert (model.embed(ids) == 0).any()
    assert torch.equal(model.eval()(ids), model(ids))


def test_the_maps_are_those_that_the_model_uses():
    model = ModernLanguageModel(V, D, H, LAYERS, D_FF, dropout=0.5)
    ids = torch.randint(V, (B, T))
    maps = attention_maps(model, ids)
    assert maps.shape == (LAYERS, B, H, T, T) and model.training
    assert (maps.triu(1) == 0).all()
    torch.testing.assert_close(maps.sum(dim=-1), torch.ones(LAYERS, B, H, T))
    # from the maps, the first layer by hand
    block = model.eval().layers[0]
    x = model.embed(ids)
    values = split_heads(block.w_v(block.norm1(x)), H)
    x = x + block.w_o(merge_heads(maps[0] @ values))
    x = x + block.feed_forward(block.norm2(x))
    torch.testing.assert_close(x, block(model.embed(ids), causal_mask(T)))


def halves_from_neighbours(weight):
    """Rows of W_q or W_k in the order of a library that pairs feature k with k + d_k / 2."""
    return weight.unflatten(0, (H, D_K // 2, 2)).transpose(1, 2).flatten(0, 2)


def test_the_model_is_a_llama_of_another_library():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=V,
        hidden_size=D,
        intermediate_size=D_FF,
        num_hidden_layers=LAYERS,
        num_attention_heads=H,
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
    )
    theirs = transformers.LlamaForCausalLM(config).eval()
    ours = ModernLanguageModel(V, D, H, LAYERS, D_FF).eval()
    with torch.no_grad():
        for parameter in ours.parameters():
            nn.init.normal_(parameter, std=0.3)
        body = theirs.model
        body.embed_tokens.weight.copy_(ours.embedding.weight)
        body.norm.weight.copy_(ours.norm.weight)
        for block, layer in zip(ours.layers, body.layers, strict=True):
            for linear, weight in [
                (layer.self_attn.q_proj, halves_from_neighbours(block.w_q.weight)),
                (layer.self_attn.k_proj, halves_from_neighbours(block.w_k.weight)),
                (layer.self_attn.v_proj, block.w_v.weight),
                (layer.self_attn.o_proj, block.w_o.weight),
                (layer.mlp.gate_proj, block.feed_forward.w_gate.weight),
                (layer.mlp.up_proj, block.feed_forward.w_up.weight),
                (layer.mlp.down_proj, block.feed_forward.w_down.weight),
                (layer.input_layernorm, block.norm1.weight),
                (layer.post_attention_layernorm, block.norm2.weight),
            ]:
                linear.weight.copy_(weight)
        for length in (1, T, 40):
            ids = torch.randint(V, (B, length))
            torch.testing.assert_close(ours(ids), theirs(ids).logits, atol=1e-5, rtol=1e-5)
