"""course_utils.attention against loops, hand-made examples and PyTorch's own attention."""

import copy
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_utils import attention
from course_utils.masks import causal_mask, padding_mask

# Distinct sizes, so that a swapped axis or a wrong scale cannot pass unnoticed.
B, T, S, D_K, D_V, H = 2, 3, 5, 7, 11, 4
D_MODEL = 28  # H heads of width D_K

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


def assert_close(actual, expected, tolerance):
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def some_mask(*shape):
    """A random mask in which every row shows its first key and hides its last."""
    mask = torch.rand(*shape) < 0.5
    mask[..., 0] = True
    mask[..., -1] = False
    return mask


# ------------------------------------------------------------------ without parameters, unscaled


@DTYPES
def test_attention_weights_equal_the_loops(dtype, tolerance):
    x = torch.randn(T, D_V, dtype=dtype)
    expected = torch.zeros(T, T, dtype=dtype)
    for i in range(T):
        similarities = [math.exp(float(x[i] @ x[j])) for j in range(T)]
        for j in range(T):
            expected[i, j] = similarities[j] / sum(similarities)
    assert_close(attention.attention_weights(x), expected, tolerance)


def test_rows_of_attention_weights_sum_to_one_and_columns_do_not():
    weights = attention.attention_weights(torch.randn(T, 2))
    assert_close(weights.sum(dim=1), torch.ones(T), 1e-6)
    assert (weights.sum(dim=0) - 1).abs().max() > 0.01


@DTYPES
def test_basic_self_attention_mixes_the_words_by_their_weights(dtype, tolerance):
    x = torch.randn(T, D_V, dtype=dtype)
    z, weights = attention.basic_self_attention(x)
    assert_close(weights, attention.attention_weights(x), 0)
    for i in range(T):
        assert_close(z[i], sum(weights[i, j] * x[j] for j in range(T)), tolerance)


def test_basic_self_attention_gives_the_lecture_s_second_context_vector():
    torch.manual_seed(123)
    x = nn.Embedding(10, 16)(torch.tensor([0, 7, 1, 2, 5, 6, 4, 3])).detach()
    z, _ = attention.basic_self_attention(x)
    assert_close(z[1, :3], torch.tensor([-0.9398, -0.4686, 1.0311]), 1e-4)


@DTYPES
def test_self_attention_is_pytorch_s_with_a_scale_of_one(dtype, tolerance):
    inputs = [randn(B, T, D_K, dtype=dtype), randn(B, S, D_K, dtype=dtype)]
    inputs.append(randn(B, S, D_V, dtype=dtype))
    output = attention.self_attention(*inputs)
    expected = F.scaled_dot_product_attention(*inputs, scale=1.0)
    assert output.shape == (B, T, D_V)
    assert_close(output, expected, tolerance)
    assert_close(gradients(output, inputs), gradients(expected, inputs), 10 * tolerance)


def test_equivariant_functions_are_recognised():
    x, permutation = torch.randn(S, D_K), torch.tensor([3, 0, 4, 1, 2])

    def context_vectors(x):
        return attention.basic_self_attention(x)[0]

    def sums_with_position(x):
        return x + torch.arange(len(x)).unsqueeze(1)

    assert attention.is_permutation_equivariant(context_vectors, x, permutation) is True
    assert attention.is_permutation_equivariant(sums_with_position, x, permutation) is False


def test_an_invariant_function_is_not_equivariant():
    x, permutation = torch.randn(S, D_K), torch.tensor([3, 0, 4, 1, 2])

    def first_row_for_all(x):
        return x[:1].expand_as(x)

    def mean_for_all(x):
        return x.mean(dim=0).expand_as(x)

    assert attention.is_permutation_equivariant(first_row_for_all, x, permutation) is False
    assert attention.is_permutation_equivariant(mean_for_all, x, permutation) is True
    assert attention.is_permutation_equivariant(torch.sin, x, permutation) is True


@pytest.mark.parametrize("difference, equal", [(0.5e-4, True), (2e-4, False)])
def test_equivariance_is_judged_within_one_in_ten_thousand(difference, equal):
    x = torch.ones(S, D_K)

    def nearly_identity(x):
        return x * (1 + difference * torch.arange(len(x)).clamp(max=1)).unsqueeze(1)

    permutation = torch.tensor([1, 0, 2, 3, 4])
    assert attention.is_permutation_equivariant(nearly_identity, x, permutation) is equal


# --------------------------------------------------------------------------------- in NumPy


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_stable_softmax_equals_pytorch_s(axis):
    scores = np.random.default_rng(1).normal(size=(B, T, S))
    expected = torch.from_numpy(scores).softmax(dim=axis).numpy()
    np.testing.assert_allclose(attention.stable_softmax(scores, axis), expected, rtol=1e-12)


def test_stable_softmax_survives_extreme_scores():
    largest = np.finfo(np.float64).max
    scores = np.array([[1e4, 1e4, -np.inf], [-1e4, -1e4 - 800, -1e4], [largest, -largest, 0]])
    expected = [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(attention.stable_softmax(scores), expected, atol=1e-300)


@DTYPES
def test_numpy_self_attention_equals_the_torch_version(dtype, tolerance):
    x = torch.randn(S, 2, dtype=dtype)
    w_q, w_k, w_v = (torch.randn(2, width, dtype=dtype) for width in (D_K, D_K, D_V))
    output, weights = attention.numpy_self_attention(*(a.numpy() for a in (x, w_q, w_k, w_v)))
    expected = attention.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)
    assert_close(torch.from_numpy(output).to(dtype), expected[0], tolerance)
    assert_close(torch.from_numpy(weights).to(dtype), expected[1], tolerance)


def test_numpy_self_attention_survives_large_inputs():
    rng = np.random.default_rng(2)
    x = 1e4 * rng.normal(size=(S, 2))
    w_q, w_k, w_v = (rng.normal(size=(2, width)) for width in (D_K, D_K, D_V))
    output, weights = attention.numpy_self_attention(x, w_q, w_k, w_v)
    assert np.isfinite(output).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)


# ----------------------------------------------------------------------- scaled and masked


@DTYPES
@pytest.mark.parametrize("leading", [(), (B,), (B, H)], ids=["none", "batch", "heads"])
@pytest.mark.parametrize("masked", [False, True], ids=["open", "masked"])
def test_scaled_dot_product_attention_equals_pytorch_s(dtype, tolerance, leading, masked):
    query, key = randn(*leading, T, D_K, dtype=dtype), randn(*leading, S, D_K, dtype=dtype)
    value = randn(*leading, S, D_V, dtype=dtype)
    mask = some_mask(*leading, T, S) if masked else None

    output, weights = attention.scaled_dot_product_attention(query, key, value, mask)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

    assert output.dtype == weights.dtype == dtype
    assert weights.shape == (*leading, T, S)
    assert_close(output, expected, tolerance)
    assert_close(weights @ value, expected, tolerance)
    inputs = (query, key, value)
    assert_close(gradients(output, inputs), gradients(expected, inputs), 10 * tolerance)


def test_the_example_of_two_words_that_is_small_enough_to_check_by_hand():
    words, value = torch.eye(2), 10 * torch.eye(2)
    output, weights = attention.scaled_dot_product_attention(words, words, value)
    assert_close(weights, torch.tensor([[0.6698, 0.3302], [0.3302, 0.6698]]), 5e-5)
    assert_close(output, torch.tensor([[6.6976, 3.3024], [3.3024, 6.6976]]), 5e-5)


@pytest.mark.parametrize(
    "shape", [(T, S), (S,), (1, S), (T, 1), (1, 1, S), (B, 1, T, S), (B, 1, 1, S), (B, H, T, S)]
)
def test_masks_broadcast(shape):
    query, key, value = randn(B, H, T, D_K), randn(B, H, S, D_K), randn(B, H, S, D_V)
    mask = torch.rand(shape) < 0.6
    result = attention.scaled_dot_product_attention(query, key, value, mask)
    full = mask.broadcast_to(B, H, T, S)
    expected = attention.scaled_dot_product_attention(query, key, value, full)
    assert_close(result, expected, 0)
    assert (result[1][~full] == 0).all()
    sums = result[1].sum(dim=-1)
    assert_close(sums, full.any(dim=-1).float(), 1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e15])
@pytest.mark.parametrize("sign", [-1, 1])
def test_hidden_weights_are_exactly_zero_and_extreme_scores_stay_finite(scale, sign):
    query, key, value = randn(B, T, D_K), randn(B, S, D_K), randn(B, S, D_V)
    # The hidden keys are the best matches (sign 1) or the worst ones (sign -1).
    mask = some_mask(B, T, S)
    scores = query @ key.transpose(1, 2)
    mask &= (sign * scores < sign * scores.mean()) | (torch.arange(S) == 0)
    output, weights = attention.scaled_dot_product_attention(
        query * scale, key * scale, value, mask
    )
    assert (weights[~mask] == 0).all()
    assert_close(weights.sum(dim=-1), torch.ones(B, T), 1e-6)
    assert output.isfinite().all()
    for gradient in gradients(output, (query, key, value)):
        assert gradient.isfinite().all()


def test_values_that_are_hidden_from_all_get_no_gradient():
    query, key, value = randn(T, D_K), randn(S, D_K), randn(S, D_V)
    mask = torch.tensor([True, True, False, True, False])
    output, _ = attention.scaled_dot_product_attention(query, key, value, mask)
    for gradient in gradients(output, (key, value)):
        assert (gradient[~mask] == 0).all()
        assert (gradient[mask] != 0).all()


@DTYPES
def test_a_row_with_nothing_to_attend_to_is_zero_with_finite_gradients(dtype, tolerance):
    inputs = randn(B, T, D_K, dtype=dtype), randn(B, S, D_K, dtype=dtype)
    inputs += (randn(B, S, D_V, dtype=dtype),)
    mask = some_mask(B, T, S)
    mask[1, 2] = False
    with torch.autograd.set_detect_anomaly(True):  # raises where a NaN appears
        output, weights = attention.scaled_dot_product_attention(*inputs, mask)
        found = gradients(output, inputs)
    assert (weights[1, 2] == 0).all()
    assert (output[1, 2] == 0).all()
    assert (found[0][1, 2] == 0).all()

    # All other rows are what they would be without the empty one.
    keep = torch.arange(T) != 2
    query, key, value = inputs
    expected = F.scaled_dot_product_attention(query[1, keep], key[1], value[1], mask[1, keep])
    assert_close(output[1, keep], expected, tolerance)
    assert all(gradient.isfinite().all() for gradient in found)


def test_nothing_to_attend_to_at_all():
    query, key, value = randn(T, D_K), randn(S, D_K), randn(S, D_V)
    mask = torch.zeros(T, S, dtype=torch.bool)
    output, weights = attention.scaled_dot_product_attention(query, key, value, mask)
    assert not output.any()
    assert not weights.any()
    for gradient in gradients(output, (query, key, value)):
        assert not gradient.any()


def test_gradients_are_right_also_beside_empty_rows():
    query, key, value = (randn(*shape, dtype=torch.float64) for shape in ((T, 2), (S, 2), (S, 3)))
    mask = some_mask(T, S)
    mask[1] = False

    def attend(query, key, value):
        return attention.scaled_dot_product_attention(query, key, value, mask)

    assert torch.autograd.gradcheck(attend, (query, key, value))


def test_tensors_of_any_strides_are_taken_and_left_unchanged():
    query = torch.randn(B, D_K, T, H).permute(0, 3, 2, 1)
    key = torch.randn(S, H, D_K, B).permute(3, 1, 0, 2)
    value = torch.randn(B, H, 2 * S, D_V)[:, :, ::2]
    mask = some_mask(S, T).transpose(0, 1)
    mask[:, 0] = True
    arguments = (query, key, value, mask)
    before = copy.deepcopy(arguments)
    result = attention.scaled_dot_product_attention(*arguments)
    contiguous = [argument.contiguous() for argument in arguments]
    assert_close(result, attention.scaled_dot_product_attention(*contiguous), 1e-6)
    assert all(torch.equal(now, then) for now, then in zip(arguments, before, strict=True))


def test_functions_without_parameters_leave_their_input_unchanged():
    x = torch.randn(D_V, S).T
    before = x.clone()
    attention.basic_self_attention(x)
    attention.self_attention(x[None], x[None], x[None])
    attention.is_permutation_equivariant(torch.sin, x, torch.tensor([4, 3, 2, 1, 0]))
    assert torch.equal(x, before)


@pytest.mark.parametrize("wrong", [torch.zeros(T, S), torch.ones(T, S, dtype=torch.uint8)])
def test_a_mask_that_is_not_bool_is_refused(wrong):
    with pytest.raises(TypeError, match="must be bool with True = may attend"):
        attention.masked_softmax(torch.zeros(T, S), wrong)


@pytest.mark.parametrize("shape", [(S, T), (T, S + 1), (B, T, S)])
def test_a_mask_of_the_wrong_shape_is_refused(shape):
    with pytest.raises(ValueError, match="does not broadcast"):
        attention.masked_softmax(torch.zeros(T, S), torch.ones(shape, dtype=torch.bool))


def test_widths_and_lengths_that_do_not_fit_are_refused():
    query, key, value = torch.zeros(T, D_K), torch.zeros(S, D_K), torch.zeros(S, D_V)
    with pytest.raises(ValueError, match=r"same width d_k.*\(3, 6\).*\(5, 7\)"):
        attention.scaled_dot_product_attention(query[:, 1:], key, value)
    with pytest.raises(ValueError, match=r"every key needs one value.*\(5, 7\).*\(4, 11\)"):
        attention.scaled_dot_product_attention(query, key, value[1:])


# ------------------------------------------------------------------------------ many heads


def test_each_head_holds_its_own_block_of_features():
    x = torch.randn(B, T, D_MODEL)
    heads = attention.split_heads(x, H)
    assert heads.shape == (B, H, T, D_K)
    for h in range(H):
        assert torch.equal(heads[:, h], x[:, :, h * D_K : (h + 1) * D_K])


def test_merge_heads_undoes_split_heads():
    x = torch.randn(B, D_MODEL, T).transpose(1, 2)
    assert torch.equal(attention.merge_heads(attention.split_heads(x, H)), x)


def pytorch_twin(module, d_model, num_heads):
    """nn.MultiheadAttention with the weights of ours."""
    twin = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
    twin = twin.to(module.w_q.weight.dtype)
    projections = (module.w_q, module.w_k, module.w_v)
    with torch.no_grad():
        twin.in_proj_weight.copy_(torch.cat([layer.weight for layer in projections]))
        twin.in_proj_bias.copy_(torch.cat([layer.bias for layer in projections]))
        twin.out_proj.load_state_dict(module.w_o.state_dict())
    return twin


@DTYPES
@pytest.mark.parametrize("masked", [False, True], ids=["open", "masked"])
def test_multi_head_attention_equals_pytorch_s(dtype, tolerance, masked):
    module = attention.MultiHeadAttention(D_MODEL, H).to(dtype)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    twin = pytorch_twin(module, D_MODEL, H)
    inputs = randn(B, T, D_MODEL, dtype=dtype), randn(B, S, D_MODEL, dtype=dtype)
    inputs += (randn(B, S, D_MODEL, dtype=dtype),)
    mask = some_mask(B, H, T, S) if masked else None
    hidden = ~mask.flatten(0, 1) if masked else None  # PyTorch's module: True = hide

    output, weights = module(*inputs, mask)
    expected, expected_weights = twin(*inputs, attn_mask=hidden, average_attn_weights=False)

    assert output.shape == (B, T, D_MODEL)
    assert weights.shape == (B, H, T, S)
    assert_close(output, expected, tolerance)
    assert_close(weights, expected_weights, tolerance)
    assert_close(gradients(output, inputs), gradients(expected, inputs), 10 * tolerance)

    projections = (module.w_q, module.w_k, module.w_v)
    ours = gradients(
        output, [p for layer in (*projections, module.w_o) for p in layer.parameters()]
    )
    theirs = gradients(expected, list(twin.parameters()))  # in_proj weight, bias; out_proj's
    assert_close(torch.cat([ours[0], ours[2], ours[4]]), theirs[0], 20 * tolerance)
    assert_close(torch.cat([ours[1], ours[3], ours[5]]), theirs[1], 20 * tolerance)
    assert_close(ours[6:], theirs[2:], 20 * tolerance)


def test_a_mask_per_sentence_and_a_causal_one_broadcast_over_the_heads():
    module = attention.MultiHeadAttention(D_MODEL, H)
    x = torch.randn(B, S, D_MODEL)
    token_ids = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 0, 0]])
    mask = padding_mask(token_ids) & causal_mask(S)
    _, weights = module(x, x, x, mask)
    assert (weights[mask.expand_as(weights)] > 0).all()
    assert (weights[~mask.expand_as(weights)] == 0).all()


def test_multi_head_attention_gives_the_bias_where_nothing_can_be_seen():
    module = attention.MultiHeadAttention(D_MODEL, H)
    query, memory = randn(B, T, D_MODEL), randn(B, S, D_MODEL)
    mask = torch.ones(B, 1, T, S, dtype=torch.bool)
    mask[1, 0, 2] = False
    output, weights = module(query, memory, memory, mask)
    assert (weights[1, :, 2] == 0).all()
    assert_close(output[1, 2], module.w_o.bias, 0)
    for gradient in gradients(output, [query, memory, *module.parameters()]):
        assert gradient.isfinite().all()


def test_projected_memory_can_be_kept_and_extended():
    module = attention.MultiHeadAttention(D_MODEL, H)
    query, memory = torch.randn(B, T, D_MODEL), torch.randn(B, S, D_MODEL)
    first = module.project_memory(memory[:, :2], memory[:, :2])
    rest = module.project_memory(memory[:, 2:], memory[:, 2:])
    joined = [torch.cat(pair, dim=2) for pair in zip(first, rest, strict=True)]
    assert_close(module.attend(query, *joined), module(query, memory, memory), 1e-6)


def test_multi_head_attention_names_its_layers_and_starts_as_pytorch_does():
    module = attention.MultiHeadAttention(D_MODEL, H)
    names = [f"w_{letter}.{kind}" for letter in "qkvo" for kind in ("weight", "bias")]
    assert sorted(module.state_dict()) == sorted(names)
    assert module.w_q.weight.abs().max() <= D_MODEL**-0.5


@pytest.mark.parametrize("d_model, num_heads", [(28, 5), (10, 20), (13, 0)])
def test_heads_that_do_not_divide_the_width_are_refused(d_model, num_heads):
    with pytest.raises(ValueError, match=rf"{d_model}\b.*\b{num_heads}\b"):
        attention.MultiHeadAttention(d_model, num_heads)


# ----------------------------------------------------------------- additive, for recurrent nets


def test_annotations_put_the_backward_states_into_reading_order():
    forward_states = torch.tensor([[[1.0], [2.0], [3.0]]])
    backward_states = torch.tensor([[[30.0], [20.0], [10.0]]])  # produced last word first
    expected = torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])
    assert torch.equal(attention.annotations(forward_states, backward_states), expected)


def test_annotations_are_what_a_bidirectional_gru_returns():
    gru = nn.GRU(D_K, D_V, batch_first=True, bidirectional=True)
    x = torch.randn(B, S, D_K)
    both, _ = gru(x)
    one_way = nn.GRU(D_K, D_V, batch_first=True)
    one_way.load_state_dict(
        {name: weight for name, weight in gru.state_dict().items() if "reverse" not in name}
    )
    forward_states, _ = one_way(x)
    one_way.load_state_dict(
        {
            name.removesuffix("_reverse"): weight
            for name, weight in gru.state_dict().items()
            if "reverse" in name
        }
    )
    backward_states, _ = one_way(x.flip(1))
    assert_close(attention.annotations(forward_states, backward_states), both, 1e-6)


def test_annotations_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 5, 7\) and \(2, 5, 6\)"):
        attention.annotations(torch.zeros(B, S, 7), torch.zeros(B, S, 6))


def additive_by_loops(module, state, annotations, mask):
    context = torch.zeros(B, annotations.shape[2], dtype=state.dtype)
    weights = torch.zeros(B, annotations.shape[1], dtype=state.dtype)
    for b in range(B):
        scores = {}
        for j in range(annotations.shape[1]):
            if mask is None or mask[b, j]:
                hidden = torch.tanh(
                    module.W.weight @ state[b] + module.U.weight @ annotations[b, j]
                )
                scores[j] = math.exp(float(module.v.weight[0] @ hidden))
        for j, score in scores.items():
            weights[b, j] = score / sum(scores.values())
            context[b] += weights[b, j] * annotations[b, j]
    return context, weights


@DTYPES
@pytest.mark.parametrize("masked", [False, True], ids=["open", "masked"])
def test_additive_attention_equals_the_loops(dtype, tolerance, masked):
    module = attention.BahdanauAttention(decoder_dim=D_K, encoder_dim=D_V, attention_dim=13)
    module = module.to(dtype).requires_grad_(False)
    state, states = torch.randn(B, D_K, dtype=dtype), torch.randn(B, S, D_V, dtype=dtype)
    mask = some_mask(B, S) if masked else None
    if masked:
        mask[1] = False
    result = module(state, states, mask)
    assert result[0].shape == (B, D_V)
    assert result[1].shape == (B, S)
    assert_close(result, additive_by_loops(module, state, states, mask), tolerance)
    if masked:
        assert (result[1][~mask] == 0).all()


def test_additive_attention_passes_right_gradients_also_beside_an_empty_row():
    module = attention.BahdanauAttention(decoder_dim=2, encoder_dim=3, attention_dim=4).double()
    state, states = randn(B, 2, dtype=torch.float64), randn(B, S, 3, dtype=torch.float64)
    mask = some_mask(B, S)
    mask[0] = False

    def attend(state, states, *parameters):
        return module(state, states, mask)

    assert torch.autograd.gradcheck(attend, (state, states, *module.parameters()))


def test_keys_projected_once_give_the_same():
    module = attention.BahdanauAttention(decoder_dim=D_K, encoder_dim=D_V, attention_dim=13)
    state, states, mask = torch.randn(B, D_K), torch.randn(B, S, D_V), some_mask(B, S)
    keys = module.U(states)
    assert_close(module.attend(state, states, keys, mask), module(state, states, mask), 0)


def test_additive_attention_has_three_maps_without_bias():
    module = attention.BahdanauAttention(decoder_dim=D_K, encoder_dim=D_V, attention_dim=13)
    shapes = {name: tuple(weight.shape) for name, weight in module.state_dict().items()}
    assert shapes == {"W.weight": (13, D_K), "U.weight": (13, D_V), "v.weight": (1, 13)}


def test_additive_attention_refuses_masks_it_cannot_use():
    module = attention.BahdanauAttention(decoder_dim=D_K, encoder_dim=D_V, attention_dim=13)
    state, states = torch.zeros(B, D_K), torch.zeros(B, S, D_V)
    with pytest.raises(ValueError, match=r"\(B, S\) = \(2, 5\).*\(2, 1, 5\)"):
        module(state, states, torch.ones(B, 1, S, dtype=torch.bool))
    with pytest.raises(TypeError, match="must be bool"):
        module(state, states, torch.ones(B, S))
