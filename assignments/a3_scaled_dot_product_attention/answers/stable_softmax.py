"""Answers to `stable_softmax`."""

import math

import numpy as np
import torch

from assignments.a3_scaled_dot_product_attention.answers.bank import BANK


@BANK.right("stable_softmax")
def softmax_in_two_lines(scores, axis=-1):
    e = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@BANK.right("stable_softmax")
def softmax_along_slices(scores, axis=-1):
    def one_row(row):
        e = np.exp(row - row.max())
        return e / e.sum()

    return np.apply_along_axis(one_row, axis, scores)


@BANK.right("stable_softmax")
def softmax_with_the_axis_moved(scores, axis=-1, dtype=float):
    rows = np.moveaxis(np.array(scores, dtype=dtype), axis, -1)
    rows = rows - rows.max(axis=-1)[..., None]
    e = np.exp(rows)
    return np.moveaxis(e / e.sum(axis=-1)[..., None], -1, axis)


@BANK.right("stable_softmax")
def softmax_by_logarithms(scores, axis=-1):
    return np.exp(scores - np.expand_dims(np.logaddexp.reduce(scores, axis=axis), axis))


@BANK.right("stable_softmax")
def softmax_by_a_loop_over_rows(scores, axis=-1):
    moved = np.swapaxes(scores, axis, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    weights = np.empty_like(flat)
    for i, row in enumerate(flat):
        largest = max(row)
        e = np.array([math.exp(score - largest) for score in row])
        weights[i] = e / e.sum()
    return np.swapaxes(weights.reshape(moved.shape), axis, -1)


@BANK.right("stable_softmax")
def softmax_in_place_on_a_copy(scores, axis=-1):
    weights = scores.copy()
    weights -= weights.max(axis=axis, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=axis, keepdims=True)
    return weights


@BANK.wrong("stable_softmax", named="overflow", published="tenstorrent/tt-metal#12661")
def softmax_taken_literally(scores, axis=-1):
    """Nothing is subtracted, so large scores overflow."""
    return np.exp(scores) / np.exp(scores).sum(axis, keepdims=True)


@BANK.wrong("stable_softmax", told="inputs changed")
def softmax_in_place_on_the_input(scores, axis=-1):
    scores -= scores.max(axis=axis, keepdims=True)
    e = np.exp(scores)
    return e / e.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", named="scores cut off")
def softmax_of_clipped_scores(scores, axis=-1):
    return softmax_taken_literally(np.clip(scores, -700, 700), axis)


@BANK.wrong("stable_softmax", named="mean subtracted")
def softmax_with_the_mean_subtracted(scores, axis=-1):
    return softmax_taken_literally(scores - scores.mean(axis=axis, keepdims=True), axis)


@BANK.wrong("stable_softmax", named="largest size subtracted")
def softmax_with_the_largest_size_subtracted(scores, axis=-1):
    return softmax_taken_literally(scores - np.abs(scores).max(axis=axis, keepdims=True), axis)


@BANK.wrong("stable_softmax", told="stops with ValueError")
def softmax_of_matrices_only(scores, axis=-1):
    rows, columns = scores.shape
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).reshape(rows, columns)


@BANK.wrong("stable_softmax", named="the maximum loses its axis", published="DeNA/HandyRL#209")
def softmax_without_keepdims(scores, axis=-1):
    """The maximum loses its axis."""
    e = np.exp(scores - scores.max(axis))
    return e / e.sum(axis, keepdims=True)


@BANK.wrong("stable_softmax", named=("minimum subtracted", "exp left out"))
def softmax_without_exp(scores, axis=-1):
    shifted = scores - scores.min(axis=axis, keepdims=True)
    return shifted / shifted.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", named="powers of 2")
def softmax_to_base_two(scores, axis=-1):
    e = np.exp2(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", told="hidden ones have weight, or visible ones none")
def softmax_without_infinities(scores, axis=-1):
    scores = np.where(np.isfinite(scores), scores, 0.0)
    return softmax_in_two_lines(scores, axis)


@BANK.wrong("stable_softmax", told="all the same")
def softmax_in_long_double(scores, axis=-1):
    return softmax_taken_literally(scores.astype(np.longdouble), axis).astype(float)


@BANK.wrong("stable_softmax", named="overflow")
def softmax_with_a_little_in_the_denominator(scores, axis=-1):
    e = np.exp(scores)
    return e / (e.sum(axis=axis, keepdims=True) + 1e-9)


@BANK.wrong("stable_softmax", told="another type")
def softmax_as_a_tensor(scores, axis=-1):
    return torch.from_numpy(softmax_in_two_lines(scores, axis))


@BANK.wrong("stable_softmax", told="always one shape")
def softmax_of_the_example_only(scores, axis=-1):
    return np.array([0.6652, 0.2447, 0.0900])


@BANK.wrong("stable_softmax", named="a maximum of at least 0", published="FluxML/NNlib.jl#43")
def softmax_with_a_search_from_zero(scores, axis=-1):
    """What is subtracted is the maximum or 0, whichever is larger."""

    def one_row(row):
        largest = 0.0
        for score in row:
            largest = max(largest, score)
        return np.exp(row - largest) / np.exp(row - largest).sum()

    with np.errstate(all="ignore"):
        return np.apply_along_axis(one_row, axis, scores)


@BANK.right("stable_softmax")
def softmax_by_pairs(scores, axis=-1):
    moved = np.moveaxis(scores, axis, -1)
    with np.errstate(all="ignore"):
        distances = moved[..., None, :] - moved[..., :, None]
        distances = np.where(np.isnan(distances), np.inf, distances)
        return np.moveaxis(1 / np.exp(distances).sum(axis=-1), -1, axis)


@BANK.right("stable_softmax")
def softmax_with_ufuncs(scores, axis=-1):
    shifted = np.subtract(scores, np.amax(scores, axis, keepdims=True))
    powers = np.exp(shifted)
    return np.divide(powers, np.sum(powers, axis, keepdims=True))


@BANK.right("stable_softmax")
def softmax_through_torch_arithmetic(scores, axis=-1):
    values = torch.from_numpy(np.ascontiguousarray(scores))
    powers = (values - values.amax(dim=axis, keepdim=True)).exp()
    return (powers / powers.sum(dim=axis, keepdim=True)).numpy()


@BANK.right("stable_softmax")
def softmax_with_more_subtracted(scores, axis=-1):
    scores = np.array(scores, dtype=np.float64)
    powers = np.exp(scores - (scores.max(axis=axis, keepdims=True) + 5))
    return powers / powers.sum(axis=axis, keepdims=True)


@BANK.right("stable_softmax")
def softmax_with_maximum_reduce(scores, axis=-1):
    largest = np.expand_dims(np.maximum.reduce(scores, axis=axis), axis=axis)
    weights = np.exp(scores - largest)
    return weights / np.add.reduce(weights, axis=axis, keepdims=True)


@BANK.right("stable_softmax")
def softmax_by_index(scores, axis=-1):
    weights = np.zeros(scores.shape)
    others = [range(n) for n in np.delete(scores.shape, axis)]
    for index in np.ndindex(*[len(other) for other in others]):
        place = list(index)
        place.insert(axis % scores.ndim, slice(None))
        row = scores[tuple(place)]
        powers = np.exp(row - np.max(row))
        weights[tuple(place)] = powers / np.sum(powers)
    return weights


@BANK.wrong("stable_softmax", named="mean subtracted")
def softmax_with_the_median_subtracted(scores, axis=-1):
    return softmax_taken_literally(scores - np.median(scores, axis=axis, keepdims=True), axis)


@BANK.wrong("stable_softmax", named="scores cut off")
def softmax_of_scores_cut_at_fifty(scores, axis=-1):
    return softmax_taken_literally(np.clip(scores, -50, 50), axis)


@BANK.wrong("stable_softmax", named="softmax taken twice")
def softmax_of_a_softmax(scores, axis=-1):
    return softmax_in_two_lines(softmax_in_two_lines(scores, axis), axis)


@BANK.wrong("stable_softmax", named="scores negated")
def softmin_instead(scores, axis=-1):
    return softmax_in_two_lines(-scores, axis)


@BANK.wrong("stable_softmax", named="exp without the division")
def softmax_divided_by_the_largest(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.max(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", named="maximum added")
def softmax_with_a_plus(scores, axis=-1):
    return softmax_taken_literally(scores + scores.max(axis=axis, keepdims=True), axis)


@BANK.wrong("stable_softmax", named="overflow")
def softmax_with_nan_to_num(scores, axis=-1):
    with np.errstate(all="ignore"):
        return np.nan_to_num(softmax_taken_literally(scores, axis))


@BANK.wrong("stable_softmax", named="overflow")
def softmax_with_nan_to_one(scores, axis=-1):
    with np.errstate(all="ignore"):
        return np.nan_to_num(softmax_taken_literally(scores, axis), nan=1.0)


@BANK.wrong("stable_softmax", named="a fixed number subtracted")
def softmax_with_a_fixed_shift(scores, axis=-1):
    return softmax_taken_literally(scores - 700, axis)


@BANK.wrong("stable_softmax", named="a maximum of at least 0")
def softmax_with_a_shift_when_large(scores, axis=-1):
    if scores.max() > 700:
        scores = scores - scores.max()
    return softmax_taken_literally(scores, axis)


@BANK.wrong("stable_softmax")
def softmax_scaled_down(scores, axis=-1):
    return softmax_taken_literally(scores / 10, axis)


@BANK.wrong("stable_softmax")
def softmax_in_halves(scores, axis=-1):
    return softmax_in_two_lines(scores.astype(np.float16), axis).astype(np.float64)


@BANK.wrong("stable_softmax")
def softmax_one_axis_less(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).squeeze()


@BANK.wrong("stable_softmax", told="a list of numbers")
def softmax_as_a_nested_list(scores, axis=-1):
    return softmax_in_two_lines(scores, axis).tolist()


@BANK.wrong("stable_softmax")
def softmax_of_absolute_values(scores, axis=-1):
    return softmax_in_two_lines(np.abs(scores), axis)


@BANK.wrong("stable_softmax", named="powers of 2")
def softmax_to_base_two_and_one_maximum(scores, axis=-1):
    with np.errstate(all="ignore"):
        e = np.exp2(scores - scores.max())
        return e / e.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", named=("overflow", "exp without the division"))
def softmax_unshifted_and_undivided(scores, axis=-1):
    with np.errstate(all="ignore"):
        return np.exp(scores)


@BANK.wrong("stable_softmax", named="softmax over the whole array")
def softmax_by_the_logarithm_of_one_sum(scores, axis=-1):
    return np.exp(scores - np.logaddexp.reduce(scores.ravel()))


def row_softmax(row):
    shares = np.exp(row - row.max())
    return shares / shares.sum()


@BANK.right("stable_softmax")
def softmax_along_an_axis_by_numpy(scores, axis=-1):
    return np.apply_along_axis(row_softmax, axis, scores)


@BANK.wrong("stable_softmax", named="axis used for the maximum alone")
def softmax_with_sums_along_the_last_axis(scores, axis=-1):
    shares = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


@BANK.wrong("stable_softmax", named="axis used for the sum alone")
def softmax_with_maxima_along_the_last_axis(scores, axis=-1):
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", named="axis 0 where none is given")
def softmax_with_another_default(scores, axis=0):
    shares = np.exp(scores - scores.max(axis, keepdims=True))
    return shares / shares.sum(axis, keepdims=True)


@BANK.wrong("stable_softmax", named="maximum subtracted in one of two places")
def softmax_shifted_below_the_line(scores, axis=-1):
    largest = scores.max(axis=axis, keepdims=True)
    return np.exp(scores) / np.exp(scores - largest).sum(axis=axis, keepdims=True)


@BANK.wrong("stable_softmax", named="rows of a matrix alone")
def softmax_row_by_row(scores, axis=-1):
    result = np.zeros_like(scores)
    for i in range(len(scores)):
        result[i] = row_softmax(scores[i])
    return result


@BANK.wrong("stable_softmax", named="something added to the sum")
def softmax_of_a_sum_that_cannot_be_0(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / (e.sum(axis=axis, keepdims=True) + 1e-6)
