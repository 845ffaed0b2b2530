"""course_utils.layers against PyTorch's own layers with the same weights: values and gradients."""

import math

import pytest
import torch
from torch import nn

from course_utils import layers
from course_utils.masks import causal_mask

# Distinct sizes, so that a swapped axis cannot pass unnoticed.
B, T, S, D, H, D_FF = 2, 5, 7, 12, 3, 17

DTYPES = pytest.mark.parametrize(
    "dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-12)], ids=["float32", "float64"]
)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(17)


def randn(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def gradients(output, inputs, seed=3):
    """Gradients of a random linear function of `output`, so that no entry is left untested."""
    generator = torch.Generator().manual_seed(seed)
    direction = torch.randn(output.shape, generator=generator, dtype=output.dtype)
    return torch.autograd.grad((output * direction).sum(), inputs, retain_graph=True)


def assert_close(actual, expected, tolerance=1e-6):
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def copy_attention(ours, theirs):
    """Give nn.MultiheadAttention the weights of ours."""
    projections = (ours.w_q, ours.w_k, ours.w_v)
    theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in projections]))
    theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in projections]))
    theirs.out_proj.load_state_dict(ours.w_o.state_dict())


@torch.no_grad()
def copy_layer(ours, theirs):
    """Give PyTorch's encoder or decoder layer the weights of ours, and ours random norms."""
    norms = [(ours.layer_norm1, theirs.norm1), (ours.layer_norm2, theirs.norm2)]
    copy_attention(ours.self_attn, theirs.self_attn)
    if hasattr(ours, "cross_attn"):
        copy_attention(ours.cross_attn, theirs.multihead_attn)
        norms.append((ours.layer_norm3, theirs.norm3))
    theirs.linear1.load_state_dict(ours.feed_forward.w_1.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.w_2.state_dict())
    for our_norm, their_norm in norms:
        nn.init.normal_(our_norm.weight, 1.0, 0.2)
        nn.init.normal_(our_norm.bias, 0.0, 0.2)
        their_norm.load_state_dict(our_norm.state_dict())


def attention_gradients(parameters):
    """Gradients of our w_q, w_k, w_v, w_o in the packed form of nn.MultiheadAttention."""
    weights, biases = parameters[0:6:2], parameters[1:6:2]
    return [torch.cat(weights), torch.cat(biases), *parameters[6:]]


# ------------------------------------------------------------------------------ feed-forward


@DTYPES
def test_feed_forward_is_two_maps_with_one_relu_between(dtype, tolerance):
    module = layers.PositionwiseFeedForward(D, D_FF, dropout=0.0).to(dtype)
    x = randn(B, T, D, dtype=dtype)
    expected = nn.Sequential(module.w_1, nn.ReLU(), module.w_2)(x)
    output = module(x)
    assert_close(output, expected, tolerance)
    inputs = [x, *module.parameters()]
    assert_close(gradients(output, inputs), gradients(expected, inputs), tolerance)
    assert (output < 0).any()  # no second ReLU


def test_feed_forward_works_on_each_position_by_itself():
    module = layers.PositionwiseFeedForward(D, D_FF).eval()
    x = torch.randn(B, T, D)
    for t in range(T):
        assert_close(module(x)[:, t], module(x[:, t]))


def test_feed_forward_drops_hidden_units_in_training_only():
    module = layers.PositionwiseFeedForward(D, D_FF, dropout=1.0)
    x = torch.randn(B, T, D)
    assert_close(module(x), module.w_2.bias.expand(B, T, D))
    assert (module.eval()(x) - module.w_2.bias).abs().max() > 0.01


# -------------------------------------------------------------------------------- layer norm


@DTYPES
@pytest.mark.parametrize("leading", [(), (T,), (B, T), (B, H, T)])
@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_layer_norm_equals_pytorchs(dtype, tolerance, leading, eps):
    ours, theirs = layers.LayerNorm(D, eps).to(dtype), nn.LayerNorm(D, eps).to(dtype)
    nn.init.normal_(ours.weight)
    nn.init.normal_(ours.bias)
    theirs.load_state_dict(ours.state_dict())
    x = randn(*leading, D, dtype=dtype)
    output, expected = ours(x), theirs(x)
    assert_close(output, expected, tolerance)
    assert_close(
        gradients(output, [x, ours.weight, ours.bias]),
        gradients(expected, [x, theirs.weight, theirs.bias]),
        10 * tolerance,
    )


def test_layer_norm_starts_as_the_plain_normalisation():
    module = layers.LayerNorm(D)
    output = module(5 + 3 * torch.randn(B, T, D))
    assert_close(output.mean(dim=-1), torch.zeros(B, T), 1e-5)
    assert_close(output.var(dim=-1, unbiased=False), torch.ones(B, T), 1e-4)


def test_layer_norm_of_equal_features_is_its_bias_with_finite_gradients():
    module = layers.LayerNorm(D)
    nn.init.normal_(module.bias)
    x = torch.full((T, D), 4.0, requires_grad=True)
    output = module(x)
    assert_close(output, module.bias.expand(T, D))
    assert gradients(output, [x])[0].isfinite().all()


# ------------------------------------------------------------- attention, dropout and layer norm


@DTYPES
def test_repaired_attention_equals_pytorchs_attention_and_layer_norm(dtype, tolerance):
    features = 11  # the values' width; the keys' is D
    module = layers.SelfAttentionWithDropoutAndNorm(features, dropout_rate=0.5).to(dtype).eval()
    nn.init.normal_(module.layer_norm.weight)
    inputs = randn(B, T, D, dtype=dtype), randn(B, S, D, dtype=dtype)
    inputs += (randn(B, S, features, dtype=dtype),)
    output = module(*inputs)
    attended = nn.functional.scaled_dot_product_attention(*inputs)
    norm = module.layer_norm
    expected = nn.functional.layer_norm(attended, (features,), norm.weight, norm.bias)
    assert output.shape == (B, T, features)
    assert_close(output, expected, 10 * tolerance)
    assert_close(gradients(output, inputs), gradients(expected, inputs), 50 * tolerance)


def test_dropout_acts_on_the_weights_in_training():
    module = layers.SelfAttentionWithDropoutAndNorm(S, dropout_rate=0.5)
    module.layer_norm = nn.Identity()
    query, key = torch.randn(B, T, D), torch.randn(B, S, D)
    value = torch.eye(S).expand(B, S, S)  # so that the output shows the weights
    kept = module.eval()(query, key, value)
    assert_close(kept.sum(dim=-1), torch.ones(B, T))

    dropped = module.train()(query, key, value)
    assert 0.2 < (dropped == 0).float().mean() < 0.8
    assert_close(dropped[dropped != 0], 2 * kept[dropped != 0])
    assert (dropped.sum(dim=-1) - 1).abs().max() > 0.1  # rows no longer sum to one


def test_the_repaired_module_has_the_submodules_it_names():
    module = layers.SelfAttentionWithDropoutAndNorm(D)
    assert isinstance(module.dropout, nn.Dropout)
    assert module.dropout.p == 0.1
    assert set(module.state_dict()) == {"layer_norm.weight", "layer_norm.bias"}


# ------------------------------------------------------------------------ row sums under dropout


@DTYPES
def test_row_sums_have_the_mean_and_the_spread_of_the_formula(dtype, tolerance):
    weights = torch.randn(T, S, dtype=dtype).softmax(dim=-1) * torch.linspace(0.5, 3, T)[:, None]
    weights = weights.to(dtype)
    for rate in (0.1, 0.5, 0.8):
        mean, std = layers.row_sums_under_dropout(weights, rate, draws=20_000)
        assert mean.shape == std.shape == (T,) and mean.dtype == std.dtype == dtype
        usual = (rate / (1 - rate) * weights.square().sum(dim=-1)).sqrt()
        assert ((mean - weights.sum(dim=-1)).abs() < 5 * usual / 20_000**0.5).all()
        assert_close(std, usual, 0.05)


def test_row_sums_without_dropout_are_exact():
    weights = torch.randn(T, S)
    mean, std = layers.row_sums_under_dropout(weights, 0.0, draws=3)
    assert_close(mean, weights.sum(dim=-1))
    assert_close(std, torch.zeros(T))


def test_a_row_with_one_weight_sums_to_nothing_or_to_what_makes_up_for_it():
    weights = torch.eye(S)[torch.arange(200) % S]
    mean, std = layers.row_sums_under_dropout(weights, 0.75, draws=1)
    assert set(mean.tolist()) == {0.0, 4.0} and not std.any()
    mean, std = layers.row_sums_under_dropout(weights, 0.75, draws=7)
    assert_close(std, (mean * (4 - mean)).sqrt(), 1e-5)  # the variance of numbers that are 0 or 4
    assert len(mean.unique()) > 2  # each row, and each draw, has a mask of its own


def test_row_sums_are_drawn_from_the_generator_and_from_it_alone():
    weights = torch.rand(T, S)
    generator, own = torch.Generator().manual_seed(5), torch.get_rng_state()
    first, second = (layers.row_sums_under_dropout(weights, 0.5, 9, generator) for _ in range(2))
    again = layers.row_sums_under_dropout(weights, 0.5, 9, torch.Generator().manual_seed(5))
    assert torch.equal(own, torch.get_rng_state())
    assert torch.equal(first[0], again[0]) and not torch.equal(first[0], second[0])


# ------------------------------------------------------------------------------------ layers


@DTYPES
@pytest.mark.parametrize("norm_first", [False, True], ids=["post-LN", "pre-LN"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_transformer_layer_equals_pytorchs(dtype, tolerance, norm_first, training):
    ours = layers.TransformerLayer(D, H, D_FF, dropout=0.0, norm_first=norm_first)
    theirs = nn.TransformerEncoderLayer(
        D, H, D_FF, dropout=0.0, batch_first=True, norm_first=norm_first
    )
    copy_layer(ours, theirs)
    ours, theirs = ours.to(dtype).train(training), theirs.to(dtype).train(training)
    x, mask = randn(B, T, D, dtype=dtype), causal_mask(T)

    output, expected = ours(x, mask), theirs(x, src_mask=~mask)
    assert_close(output, expected, tolerance)
    assert_close(ours(x), theirs(x), tolerance)

    parameters = list(ours.parameters())
    found = gradients(output, [x, *parameters])
    wanted = gradients(expected, [x, *theirs.parameters()])
    assert len(parameters) == 8 + 4 + 4
    assert_close(
        [found[0], *attention_gradients(found[1:9]), *found[9:]], list(wanted), 50 * tolerance
    )


@DTYPES
def test_decoder_layer_equals_pytorchs(dtype, tolerance):
    ours = layers.DecoderLayer(D, H, D_FF, dropout=0.0)
    theirs = nn.TransformerDecoderLayer(D, H, D_FF, dropout=0.0, batch_first=True)
    copy_layer(ours, theirs)
    ours, theirs = ours.to(dtype), theirs.to(dtype)
    x, memory = randn(B, T, D, dtype=dtype), randn(B, S, D, dtype=dtype)
    visible = torch.rand(B, S) < 0.6
    visible[:, 0] = True

    output = ours(x, memory, causal_mask(T), visible[:, None, None])
    expected = theirs(x, memory, tgt_mask=~causal_mask(T), memory_key_padding_mask=~visible)
    assert_close(output, expected, tolerance)
    assert_close(ours(x, memory), theirs(x, memory), tolerance)

    found = gradients(output, [x, memory, *ours.parameters()])
    wanted = gradients(expected, [x, memory, *theirs.parameters()])
    attention = attention_gradients(found[2:10]) + attention_gradients(found[10:18])
    assert_close([*found[:2], *attention, *found[18:]], list(wanted), 50 * tolerance)


def test_layers_name_their_parts():
    encoder, decoder = layers.TransformerLayer(D, H, D_FF), layers.DecoderLayer(D, H, D_FF)
    attention = [f"w_{letter}.{kind}" for letter in "qkvo" for kind in ("weight", "bias")]
    feed_forward = [f"feed_forward.w_{i}.{kind}" for i in (1, 2) for kind in ("weight", "bias")]
    norms = [f"layer_norm{i}.{kind}" for i in (1, 2, 3) for kind in ("weight", "bias")]
    self_attn = [f"self_attn.{name}" for name in attention]
    cross_attn = [f"cross_attn.{name}" for name in attention]
    assert set(encoder.state_dict()) == {*self_attn, *feed_forward, *norms[:4]}
    assert set(decoder.state_dict()) == {*self_attn, *cross_attn, *feed_forward, *norms}


def test_all_sublayers_drop_their_output_in_training():
    """With everything dropped, only the residual path is left: repeated norms, or x itself."""
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    encoder = layers.TransformerLayer(D, H, D_FF, dropout=1.0)
    pre_ln = layers.TransformerLayer(D, H, D_FF, dropout=1.0, norm_first=True)
    decoder = layers.DecoderLayer(D, H, D_FF, dropout=1.0)
    normed = [x]
    for _ in range(3):
        normed.append(nn.functional.layer_norm(normed[-1], (D,)))
    assert_close(encoder(x), normed[2])
    assert_close(pre_ln(x), x)
    assert_close(decoder(x, memory), normed[3])
    assert (encoder.eval()(x) - normed[2]).abs().max() > 0.01
    assert (pre_ln.eval()(x) - x).abs().max() > 0.01
    assert (decoder.eval()(x, memory) - normed[3]).abs().max() > 0.01


def test_a_layer_survives_a_row_with_nothing_to_attend_to():
    layer = layers.DecoderLayer(D, H, D_FF, dropout=0.0)
    x, memory = randn(B, T, D), randn(B, S, D)
    nothing = torch.zeros(B, 1, 1, S, dtype=torch.bool)
    output = layer(x, memory, torch.zeros(T, T, dtype=torch.bool), nothing)
    for gradient in gradients(output, [x, memory, *layer.parameters()]):
        assert gradient.isfinite().all()


def test_decoder_steps_equal_the_whole_sequence_at_once():
    layer = layers.DecoderLayer(D, H, D_FF).eval()
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    visible = torch.ones(B, 1, 1, S, dtype=torch.bool)
    visible[1, ..., 4:] = False
    expected = layer(x, memory, causal_mask(T), visible)
    memory_heads = layer.cross_attn.project_memory(memory, memory)
    past = None
    for t in range(T):
        output, past = layer.step(x[:, t : t + 1], past, memory_heads, memory_mask=visible)
        assert_close(output[:, 0], expected[:, t], 1e-5)
        assert past[0].shape == past[1].shape == (B, H, t + 1, D // H)


@pytest.mark.parametrize("layer", [layers.TransformerLayer, layers.DecoderLayer])
def test_layers_refuse_heads_that_do_not_divide_the_width(layer):
    with pytest.raises(ValueError, match=r"d_model = 12 and num_heads = 5"):
        layer(D, 5, D_FF)


def test_post_ln_output_is_normalised_and_pre_ln_output_is_not():
    x = 3 * torch.randn(B, T, D)
    post, pre = (
        layers.TransformerLayer(D, H, D_FF),
        layers.TransformerLayer(D, H, D_FF, norm_first=True),
    )
    assert_close(post(x).norm(dim=-1), torch.full((B, T), math.sqrt(D)), 1e-3)
    assert (pre(x).norm(dim=-1) - math.sqrt(D)).abs().max() > 1
