"""Answers to `apply_rotary`."""

import math

import torch

from assignments.a12_modern_block.answers.bank import BANK

PART = "apply_rotary"


def even(x):
    if x.shape[-1] % 2 != 0:
        raise ValueError(f"pairs need an even width, found {x.shape[-1]}")


def angles_of(x, positions, base, factor):
    """(…, T, d_k / 2), with an axis for the heads where each sentence has its own positions."""
    even(x)
    d_k = x.shape[-1]
    speeds = torch.tensor([base ** (-2 * k / d_k) for k in range(d_k // 2)], dtype=torch.float64)
    angles = positions.double().unsqueeze(-1) / factor * speeds
    return angles if positions.dim() == 1 else angles.unsqueeze(1)


def tables(x, positions, base, factor):
    angles = angles_of(x, positions, base, factor)
    return torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)


def side_by_side(first, second):
    return torch.stack((first, second), -1).reshape(*first.shape[:-1], -1)


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
def rotary_by_complex_numbers(x, positions, base=10000.0, factor=1.0):
    angles = angles_of(x, positions, base, factor)
    turning = torch.polar(torch.ones_like(angles), angles)
    if x.dtype == torch.float32:
        turning = turning.to(torch.complex64)
    pairs = torch.view_as_complex(x.contiguous().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turning).flatten(-2)


@BANK.right(PART)
def rotary_by_repeated_tables(x, positions, base=10000.0, factor=1.0):
    """Tables as wide as x, and a partner for each feature."""
    cos, sin = tables(x, positions, base, factor)
    cos, sin = cos.repeat_interleave(2, dim=-1), sin.repeat_interleave(2, dim=-1)
    partner = side_by_side(-x[..., 1::2], x[..., ::2])
    return x * cos + partner * sin


@BANK.right(PART)
def rotary_by_matrices(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    rows = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    return (rows @ x.unflatten(-1, (-1, 2)).unsqueeze(-1)).squeeze(-1).flatten(-2)


@BANK.right(PART)
def rotary_written_into_a_new_tensor(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    out = torch.empty_like(x)
    out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return out


@BANK.right(PART)
def rotary_by_halves_in_another_order(x, positions, base=10000.0, factor=1.0):
    """As other libraries do, with the features in another order before and after."""
    cos, sin = tables(x, positions, base, factor)
    cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
    d_k = x.shape[-1]
    order = torch.cat([torch.arange(0, d_k, 2), torch.arange(1, d_k, 2)])
    y = x[..., order]
    turned = y * cos + torch.cat([-y[..., d_k // 2 :], y[..., : d_k // 2]], -1) * sin
    return turned[..., order.argsort()]


@BANK.right(PART)
def rotary_in_float32(x, positions, base=10000.0, factor=1.0):
    """Tables in float32 are right."""
    even(x)
    speeds = 1.0 / base ** (torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = (positions.float() / factor).unsqueeze(-1) * speeds
    if positions.ndim == 2:
        angles = angles[:, None, :, :]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return side_by_side(a * cos - b * sin, a * sin + b * cos)


@BANK.right(PART)
def rotary_by_the_exponential(x, positions, base=10000.0, factor=1.0):
    """Speeds as the exponential of a logarithm."""
    even(x)
    steps = torch.arange(0, x.shape[-1], 2, dtype=torch.float64)
    speeds = torch.exp(-steps / x.shape[-1] * torch.log(torch.tensor(base, dtype=torch.float64)))
    angles = torch.einsum("...t,k->...tk", positions.double() / factor, speeds)
    angles = angles.unsqueeze(-3)  # one axis for the heads, (1, T, …) or (B, 1, T, …)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return side_by_side(a * cos - b * sin, a * sin + b * cos)


@BANK.right(PART)
def rotary_sentence_by_sentence(x, positions, base=10000.0, factor=1.0):
    even(x)
    rows = []
    for b in range(len(x)):
        cos, sin = tables(x[b], positions if positions.dim() == 1 else positions[b], base, factor)
        first, second = x[b, :, :, 0::2], x[b, :, :, 1::2]
        rows.append(side_by_side(first * cos - second * sin, second * cos + first * sin))
    return torch.stack(rows)


def matrix_of(angle, dtype):
    cos, sin = math.cos(angle), math.sin(angle)
    return torch.tensor([[cos, -sin], [sin, cos]], dtype=dtype)


@BANK.right(PART)
def rotary_by_one_matrix_a_word(x, positions, base=10000.0, factor=1.0):
    """All pairs of a word at once, by a matrix that has a block for each of them."""
    even(x)
    B, _, T, d_k = x.shape
    own = positions if positions.dim() == 2 else positions.repeat(B, 1)
    words = [
        x[b, :, t]
        @ torch.block_diag(
            *(
                matrix_of(float(own[b, t]) / factor / base ** (2 * k / d_k), x.dtype)
                for k in range(d_k // 2)
            )
        ).mT
        for b in range(B)
        for t in range(T)
    ]
    return torch.stack(words).unflatten(0, (B, T)).movedim(1, 2)


@BANK.right(PART)
def rotary_by_vmap(x, positions, base=10000.0, factor=1.0):
    angles = angles_of(x, positions, base, factor).to(x.dtype)
    angles = angles.squeeze(1) if angles.dim() == 4 else angles.expand(len(x), *angles.shape)

    def of_a_pair(pair, angle):
        cos, sin = angle.cos(), angle.sin()
        return torch.stack([pair[0] * cos - pair[1] * sin, pair[0] * sin + pair[1] * cos])

    each = of_a_pair
    for axes in ((0, 0), (0, 0), (0, None), (0, 0)):  # pairs, words, heads, sentences
        each = torch.vmap(each, in_dims=axes)
    return each(x.unflatten(-1, (-1, 2)), angles).flatten(-2)


@BANK.right(PART)
def rotary_feature_by_feature(x, positions, base=10000.0, factor=1.0):
    even(x)
    features, turned_features = x.unbind(-1), []
    places = (positions / factor).unsqueeze(-2)  # an axis for the heads, (1, T) or (B, 1, T)
    for k in range(len(features) // 2):
        angle = (places / base ** (2 * k / len(features))).to(x.dtype)
        one, two = features[2 * k], features[2 * k + 1]
        turned_features.append(one * angle.cos() - two * angle.sin())
        turned_features.append(one * angle.sin() + two * angle.cos())
    return torch.stack(turned_features, dim=-1)


# ------------------------------------------------------------------------------------- wrong


def turned(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    return side_by_side(a * cos - b * sin, a * sin + b * cos)


@BANK.wrong(PART, named="halves for neighbours")
def as_in_other_libraries(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


@BANK.wrong(PART, named="the halves' angles on neighbours")
def angles_for_halves(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
    return x * cos + side_by_side(-x[..., 1::2], x[..., ::2]) * sin


@BANK.wrong(PART, named="pairs taken from the two halves")
def halves_side_by_side(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    a, b = x.chunk(2, dim=-1)
    return side_by_side(a * cos - b * sin, a * sin + b * cos)


@BANK.wrong(PART, named="not turned back into pairs")
def firsts_then_seconds(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


@BANK.wrong(PART, named="turned the other way")
def clockwise(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    return turned(x, cos, -sin)


@BANK.wrong(PART, named="sine and cosine exchanged")
def sine_first(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    return turned(x, sin, cos)


@BANK.wrong(PART, named="reflected instead of turned")
def a_plus_for_the_minus(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    a, b = x[..., ::2], x[..., 1::2]
    return side_by_side(a * cos + b * sin, a * sin + b * cos)


@BANK.wrong(PART, named="exponent k / d_k")
def half_the_exponent(x, positions, base=10000.0, factor=1.0):
    return turned(x, *tables(x, positions, base**0.5, factor))


@BANK.wrong(PART, named="exponent 4k / d_k")
def twice_the_exponent(x, positions, base=10000.0, factor=1.0):
    return turned(x, *tables(x, positions, base**2, factor))


@BANK.wrong(PART, named="all pairs at one speed")
def one_speed(x, positions, base=10000.0, factor=1.0):
    return turned(x, *tables(x, positions, 1.0, factor))


@BANK.wrong(PART, named="base ignored")
def always_ten_thousand(x, positions, base=10000.0, factor=1.0):
    return turned(x, *tables(x, positions, 10_000, factor))


@BANK.wrong(PART, named="factor on the base")
def base_times_factor(x, positions, base=10000.0, factor=1.0):
    return turned(x, *tables(x, positions, base * factor, 1.0))


@BANK.wrong(PART, named="factor ignored")
def without_the_factor(x, positions, base=10000.0, factor=1.0):
    return turned(x, *tables(x, positions, base, 1.0))


@BANK.wrong(PART, named="factor multiplied")
def stretched(x, positions, base=10000.0, factor=1.0):
    return turned(x, *tables(x, positions, base, 1 / factor))


@BANK.wrong(PART, named="whole-number division by factor")
def whole_positions(x, positions, base=10000.0, factor=1.0):
    return turned(x, *tables(x, positions // factor, base, 1.0))


@BANK.wrong(PART, named="positions from 1")
def counted_from_one(x, positions, base=10000.0, factor=1.0):
    return turned(x, *tables(x, positions + 1, base, factor))


@BANK.wrong(PART, named="positions of the first sentence for all")
def first_row_for_all(x, positions, base=10000.0, factor=1.0):
    row = positions[0] if positions.dim() == 2 else positions
    return turned(x, *tables(x, row, base, factor))


@BANK.wrong(
    PART, named="batch axis taken for heads", told=("stops with RuntimeError", "right in part")
)
def no_axis_for_heads(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    if positions.dim() == 2:
        cos, sin = cos.squeeze(1), sin.squeeze(1)
    return turned(x, cos, sin)


@BANK.wrong(PART, named="positions along the heads")
def by_the_number_of_the_head(x, positions, base=10000.0, factor=1.0):
    if positions.dim() == 2:
        return turned(x, *tables(x, positions, base, factor))
    heads = positions[torch.arange(x.shape[1]) % len(positions)]
    cos, sin = tables(x, heads, base, factor)
    return turned(x, cos[:, None], sin[:, None])


@BANK.wrong(PART, named="second feature from the new first")
def one_after_the_other(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    first, second = x[..., ::2], x[..., 1::2]
    first = first * cos - second * sin
    second = first * sin + second * cos
    return side_by_side(first, second)


@BANK.wrong(PART, named="added instead of turned")
def added(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    return side_by_side(x[..., ::2] + cos, x[..., 1::2] + sin)


@BANK.wrong(PART, named="scaled instead of turned")
def not_mixed(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    return side_by_side(x[..., ::2] * cos, x[..., 1::2] * sin)


@BANK.wrong(PART, told="wrong where an error is asked for")
def the_last_feature_as_it_is(x, positions, base=10000.0, factor=1.0):
    whole = x.shape[-1] // 2 * 2
    done = turned(x[..., :whole], *tables(x[..., :whole], positions, base, factor))
    return torch.cat([done, x[..., whole:]], -1)


@BANK.wrong(PART, told="inputs changed")
def written_into_x(x, positions, base=10000.0, factor=1.0):
    result = turned(x, *tables(x, positions, base, factor))
    x.data.copy_(result)
    return result


@BANK.wrong(PART, told=("no gradient", "wrong about gradients"))
@torch.no_grad()
def without_a_gradient(x, positions, base=10000.0, factor=1.0):
    return turned(x, *tables(x, positions, base, factor))


@BANK.wrong(PART, named="float32 always")
def in_single_precision(x, positions, base=10000.0, factor=1.0):
    return turned(x.float(), *tables(x.float(), positions, base, factor))


REMEMBERED = {}


@BANK.wrong(PART)
def tables_kept_by_length(x, positions, base=10000.0, factor=1.0):
    """Keeps the first tables for a shape, whatever the positions of the next call are."""
    kept = REMEMBERED.setdefault((tuple(x.shape), x.dtype), tables(x, positions, base, factor))
    return turned(x, *kept)


TABLES = {}


@BANK.wrong(PART, told="right in part")
def tables_kept_by_the_shape_of_the_positions(x, positions, base=10000.0, factor=1.0):
    kept = (tuple(positions.shape), x.shape[-1], base, factor, x.dtype)
    return turned(x, *TABLES.setdefault(kept, tables(x, positions, base, factor)))


@BANK.wrong(PART, told=("stops with IndexError", "wrong for far positions"))
def looked_up_in_a_long_table(x, positions, base=10000.0, factor=1.0):
    even(x)
    cos, sin = tables(x[:1, :1], torch.arange(8192), base, factor)
    if positions.dim() == 2:
        return turned(x, cos[positions][:, None], sin[positions][:, None])
    return turned(x, cos[positions], sin[positions])


@BANK.wrong(PART, told=("rounded", "wrong in float64"))
def by_single_complex_numbers(x, positions, base=10000.0, factor=1.0):
    even(x)
    angles = angles_of(x, positions, base, factor).float()
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
    return (
        torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles))
        .flatten(-2)
        .type_as(x)
    )


@BANK.wrong(PART, named="added instead of turned")
def added_as_in_2017(x, positions, base=10000.0, factor=1.0):
    cos, sin = tables(x, positions, base, factor)
    return x + side_by_side(sin, cos)


@BANK.wrong(PART, named="exponent over the features of all heads")
def as_wide_as_the_model(x, positions, base=10000.0, factor=1.0):
    even(x)
    width = x.shape[1] * x.shape[-1]
    speeds = base ** (-torch.arange(0, x.shape[-1], 2) / width)
    angles = positions[..., None] / factor * speeds
    angles = angles[:, None] if positions.dim() == 2 else angles
    return turned(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))


def single_tables(x, positions, base, factor):
    """Angles in float32, as most people have them."""
    even(x)
    speeds = base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = positions[..., None] / factor * speeds
    angles = angles[:, None] if positions.dim() == 2 else angles
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


@BANK.wrong(PART, named="reflected instead of turned")
def partners_without_their_sign(x, positions, base=10000.0, factor=1.0):
    cos, sin = single_tables(x, positions, base, factor)
    cos, sin = cos.repeat_interleave(2, dim=-1), sin.repeat_interleave(2, dim=-1)
    return x * cos + side_by_side(x[..., 1::2], x[..., ::2]) * sin


@BANK.wrong(PART, named=("halves for neighbours", "factor multiplied"))
def halves_and_a_factor_the_wrong_way(x, positions, base=10000.0, factor=1.0):
    cos, sin = single_tables(x, positions, base, 1 / factor)
    one, two = x.chunk(2, dim=-1)
    return torch.cat([one * cos - two * sin, one * sin + two * cos], dim=-1)


@BANK.wrong(PART, named="second feature from the new first")
def both_written_into_one_copy(x, positions, base=10000.0, factor=1.0):
    cos, sin = single_tables(x, positions, base, factor)
    y = x.clone()
    y[..., ::2] = y[..., ::2] * cos - y[..., 1::2] * sin
    y[..., 1::2] = y[..., ::2] * sin + y[..., 1::2] * cos
    return y


@BANK.wrong(PART, told="stops with RuntimeError")
def words_before_heads(x, positions, base=10000.0, factor=1.0):
    """Takes x for (B, T, H, d_k), as LLaMA's own code does."""
    even(x)
    speeds = base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = (positions[..., None] / factor * speeds).unsqueeze(-2)
    return turned(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))


@BANK.wrong(PART, told="right in part")
def rolled_partners(x, positions, base=10000.0, factor=1.0):
    cos, sin = single_tables(x, positions, base, factor)
    return x * cos.repeat_interleave(2, -1) + x.roll(1, -1) * sin.repeat_interleave(2, -1)
