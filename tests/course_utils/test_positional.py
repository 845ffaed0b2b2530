"""course_utils.positional against the formulas, entry by entry, and against what they promise."""

import math

import matplotlib
import pytest
import torch

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from course_utils import positional

B, T, S, D, H, D_K = 2, 5, 7, 12, 3, 6


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(17)
    yield
    plt.close("all")


def assert_close(actual, expected, tolerance=1e-6):
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


# ------------------------------------------------------------------------- absolute: sinusoids


@pytest.mark.parametrize("d_model", [1, 2, 7, 16])
@pytest.mark.parametrize("length", [0, 1, 11])
def test_each_entry_is_the_papers(length, d_model):
    encoding = positional.positional_encoding(length, d_model)
    assert encoding.dtype == torch.float32
    assert encoding.shape == (length, d_model)
    for pos in range(length):
        for column in range(d_model):
            pair = column // 2
            wave = math.cos if column % 2 else math.sin
            expected = wave(pos / 10000 ** (2 * pair / d_model))
            assert encoding[pos, column].item() == pytest.approx(expected, abs=1e-6)


def test_far_positions_are_exact_too():
    encoding = positional.positional_encoding(5000, 6)
    assert encoding[4999, 0].item() == pytest.approx(math.sin(4999), abs=1e-6)
    assert encoding[4999, 3].item() == pytest.approx(math.cos(4999 / 10000 ** (2 / 6)), abs=1e-6)


def test_dot_products_of_two_positions_depend_on_their_offset_alone():
    encoding = positional.positional_encoding(23, D).double()
    products = encoding @ encoding.T
    for offset in range(5):
        diagonal = products.diagonal(offset)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal), 1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_module_adds_the_encoding_and_leaves_its_input_alone(dtype):
    module = positional.PositionalEncoding(D, dropout=0.0, max_len=T)
    x = torch.randn(D, T, B, dtype=dtype).permute(2, 1, 0).requires_grad_()
    before = x.detach().clone()
    output = module(x)
    assert output.dtype == dtype
    assert_close(output - x, positional.positional_encoding(T, D).to(dtype).expand(B, T, D))
    assert torch.equal(x, before)
    (gradient,) = torch.autograd.grad(output.sum(), x)
    assert_close(gradient, torch.ones_like(x))


def test_the_module_can_start_later():
    module = positional.PositionalEncoding(D, dropout=0.0, max_len=T + 3)
    x = torch.randn(B, T + 3, D)
    assert_close(module(x[:, 3:], start=3), module(x)[:, 3:])


def test_dropout_acts_on_the_sum_in_training_only():
    module = positional.PositionalEncoding(D, dropout=0.5, max_len=50)
    x = torch.full((B, 50, D), 3.0)
    total = x + positional.positional_encoding(50, D)
    output = module(x)
    dropped = output == 0
    assert 0.4 < dropped.float().mean() < 0.6
    assert_close(output[~dropped], 2 * total[~dropped])
    assert_close(module.eval()(x), total)


def test_the_table_is_a_buffer_that_moves_with_the_module():
    module = positional.PositionalEncoding(D)
    assert list(module.parameters()) == []
    assert [name for name, _ in module.named_buffers()] == ["pe"]
    assert module.pe.shape == (5000, D)
    assert module.state_dict() == {}
    assert module.double().pe.dtype == torch.float64
    assert module(torch.zeros(B, T, D)).dtype == torch.float32


@pytest.mark.parametrize("length, start", [(T + 1, 0), (1, T)])
def test_sequences_beyond_the_table_are_refused(length, start):
    module = positional.PositionalEncoding(D, max_len=T)
    with pytest.raises(ValueError, match=rf"length {T + 1} is longer than max_len = {T}"):
        module(torch.zeros(B, length, D), start)


# --------------------------------------------------------------------------------- the picture


def test_the_picture_shows_every_cell_with_position_0_on_top():
    figure, (left, right) = plt.subplots(1, 2)
    assert positional.visualize_positional_encodings(T, D, ax=right) is right
    assert not left.has_data()
    (image,) = right.images
    assert_close(torch.tensor(image.get_array().data), positional.positional_encoding(T, D))
    assert right.get_xlim() == (-0.5, D - 0.5)
    assert right.get_ylim() == (T - 0.5, -0.5)
    assert right.get_xlabel() and right.get_ylabel()
    assert image.get_clim() == (-1, 1)
    assert image.colorbar is not None
    assert plt.get_fignums() == [figure.number]


def test_the_picture_opens_one_figure_of_its_own_where_it_is_given_none():
    ax = positional.visualize_positional_encodings(T)
    assert plt.get_fignums() == [ax.figure.number]
    assert ax.images[0].get_array().shape == (T, 512)


# ------------------------------------------------------------------------------------ relative


def test_relative_positions_count_to_the_right():
    offsets = positional.relative_positions(T, S)
    assert offsets.tolist() == [[j - i for j in range(S)] for i in range(T)]


def test_learned_bias_is_looked_up_by_head_and_clipped_offset():
    module = positional.RelativePositionBias(H, max_distance=2)
    assert not module(T, S).any()
    torch.nn.init.normal_(module.table.weight)
    bias = module(T, S)
    assert bias.shape == (H, T, S)
    for h in range(H):
        for i in range(T):
            for j in range(S):
                row = min(max(j - i, -2), 2) + 2
                assert bias[h, i, j] == module.table.weight[row, h]
    (gradient,) = torch.autograd.grad(bias[0].sum(), module.table.weight)
    assert gradient[:, 0].sum() == T * S
    assert not gradient[:, 1:].any()


def test_alibi_has_the_papers_slopes_for_eight_heads():
    assert_close(positional.alibi_slopes(8), torch.tensor([2.0**-h for h in range(1, 9)]))
    assert positional.alibi_slopes(H)[-1] == 2**-8


def test_alibi_penalises_distance_on_either_side():
    bias = positional.alibi_bias(H, T, S)
    slopes = positional.alibi_slopes(H)
    assert bias.shape == (H, T, S)
    for h in range(H):
        for i in range(T):
            for j in range(S):
                assert bias[h, i, j].item() == pytest.approx(-slopes[h].item() * abs(j - i))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rotation_is_multiplication_by_a_complex_number(dtype):
    x = torch.randn(B, H, T, D_K, dtype=dtype)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    angles = torch.arange(T).unsqueeze(1) / 10000 ** (torch.arange(0, D_K, 2) / D_K)
    expected = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles))
    turned = positional.rotate(x)
    assert turned.dtype == dtype
    assert_close(turned, expected.flatten(-2).to(dtype), 1e-5)
    assert_close(turned.norm(dim=-1), x.norm(dim=-1), 1e-5)


def test_rotated_queries_and_keys_meet_by_their_distance_alone():
    query, key = torch.randn(1, D_K), torch.randn(1, D_K)

    def score(query_position, key_position):
        turned_query = positional.rotate(query, start=query_position)
        return (turned_query @ positional.rotate(key, start=key_position).T).item()

    assert score(3, 1) == pytest.approx(score(41, 39), abs=1e-4)
    assert score(3, 1) != pytest.approx(score(3, 2), abs=1e-2)
    assert score(0, 0) == pytest.approx((query @ key.T).item(), abs=1e-5)


def test_rotation_passes_right_gradients_and_takes_any_strides():
    x = torch.randn(4, T, B, dtype=torch.float64).permute(2, 1, 0).requires_grad_()
    assert torch.autograd.gradcheck(positional.rotate, (x, 2))
    assert_close(positional.rotate(x), positional.rotate(x.contiguous()))


def test_an_odd_width_cannot_be_rotated():
    with pytest.raises(ValueError, match="d_k = 7 is odd"):
        positional.rotate(torch.zeros(T, 7))
