"""Answers to `sliding_window_mask`."""

import numpy as np
import torch

from assignments.a11_fast_attention.answers.bank import BANK

PART = "sliding_window_mask"


def checked(query_length, key_length, window):
    if query_length > key_length:
        raise ValueError(f"{query_length} queries, but {key_length} keys")
    if window < 1:
        raise ValueError(f"a window of {window}")


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
def window_from_two_triangles(query_length, key_length, window):
    checked(query_length, key_length, window)
    offset = key_length - query_length
    ones = torch.ones(query_length, key_length, dtype=torch.bool)
    return torch.tril(ones, offset) & ~torch.tril(ones, offset - window)


@BANK.right(PART)
def window_by_loops(query_length, key_length, window):
    checked(query_length, key_length, window)
    mask = torch.zeros(query_length, key_length, dtype=torch.bool)
    for i in range(query_length):
        p = key_length - query_length + i
        mask[i, max(0, p - window + 1) : p + 1] = True
    return mask


@BANK.right(PART)
def window_from_the_last_rows_of_a_square(query_length, key_length, window):
    checked(query_length, key_length, window)
    places = torch.arange(key_length)
    back = places[:, None] - places[None, :]
    whole = torch.logical_and(back >= 0, back < window)
    return whole[key_length - query_length :]


@BANK.right(PART)
def window_by_numpy(query_length, key_length, window):
    checked(query_length, key_length, window)
    mask = np.tri(query_length, key_length, key_length - query_length, dtype=bool)
    mask &= ~np.tri(query_length, key_length, key_length - query_length - window, dtype=bool)
    return torch.from_numpy(mask)


@BANK.right(PART)
def window_by_lists(query_length, key_length, window):
    checked(query_length, key_length, window)
    places = range(key_length - query_length, key_length)
    return torch.tensor([[0 <= p - j < window for j in range(key_length)] for p in places])


@BANK.right(PART)
def window_counted_from_the_end(query_length, key_length, window):
    if window < 1 or query_length > key_length:
        raise ValueError("expected a window of 1 or more, and no more queries than keys")
    from_the_end = torch.arange(query_length).flip(0)[:, None]
    keys = torch.arange(key_length).flip(0)[None, :]
    return (keys >= from_the_end) & (keys < from_the_end + window)


@BANK.right(PART)
def window_by_diagonals(query_length, key_length, window):
    checked(query_length, key_length, window)
    mask = torch.zeros(key_length, key_length, dtype=torch.bool)
    for back in range(min(window, key_length)):
        mask |= torch.diag(torch.ones(key_length - back, dtype=torch.bool), -back)
    return mask[-query_length:]


@BANK.right(PART)
def window_by_scatter(query_length, key_length, window):
    checked(query_length, key_length, window)
    p = torch.arange(key_length - query_length, key_length)[:, None]
    seen = (p - torch.arange(window)).clamp(min=-1) + 1  # 0 is before the text
    mask = torch.zeros(query_length, key_length + 1, dtype=torch.bool)
    return mask.scatter(1, seen, True)[:, 1:]


# ------------------------------------------------------------------------------------- wrong


def between(query_length, key_length, low, high, first=None):
    """True where low(p) < j <= high(p); p counts from the last words, or from `first`."""
    start = key_length - query_length if first is None else first
    p = torch.arange(query_length)[:, None] + start
    j = torch.arange(key_length)
    return (j > low(p)) & (j <= high(p))


@BANK.wrong(PART, named="one word too many")
def the_formula_of_the_paper(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - window - 1, lambda p: p)


@BANK.wrong(PART, named="one word too few")
def window_less_one(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - window + 1, lambda p: p)


@BANK.wrong(PART, named="queries taken for the first words")
def from_the_top_left(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - window, lambda p: p, first=0)


@BANK.wrong(PART, named="both sides")
def to_both_sides(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - window, lambda p: p + window - 1)


@BANK.wrong(PART, named="not causal")
def without_an_upper_end(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - window, lambda p: p + key_length)


@BANK.wrong(PART, named="window not used")
def plain_causal(query_length, key_length, window):
    checked(query_length, key_length, window)
    ones = torch.ones(query_length, key_length, dtype=torch.bool)
    return ones.tril(key_length - query_length)


@BANK.wrong(PART, named="hidden where it should show")
def true_means_hidden(query_length, key_length, window):
    checked(query_length, key_length, window)
    return ~between(query_length, key_length, lambda p: p - window, lambda p: p)


@BANK.wrong(PART, named="numbers for bool")
def ones_and_zeros(query_length, key_length, window):
    checked(query_length, key_length, window)
    ones = torch.ones(query_length, key_length)
    offset = key_length - query_length
    return ones.tril(offset).triu(offset - window + 1)


@BANK.wrong(PART, named="numbers for bool")
def whole_numbers(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - window, lambda p: p).long()


@BANK.wrong(PART, named="an additive mask")
def to_be_added(query_length, key_length, window):
    checked(query_length, key_length, window)
    shown = between(query_length, key_length, lambda p: p - window, lambda p: p)
    return torch.where(shown, 0.0, -torch.inf)


@BANK.wrong(PART, named="keys in the rows")
def columns_for_queries(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - window, lambda p: p).T


@BANK.wrong(PART, told="wrong for larger key_length")
def cut_out_of_a_mask_of_128_words(query_length, key_length, window):
    checked(query_length, key_length, window)
    whole = between(128, 128, lambda p: p - window, lambda p: p)
    return whole[key_length - query_length : key_length, :key_length]


@BANK.wrong(PART)
def square_of_queries(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, query_length, lambda p: p - window, lambda p: p)


@BANK.wrong(PART, told="too short or too long")
def square_of_keys(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(key_length, key_length, lambda p: p - window, lambda p: p)


@BANK.wrong(PART, named="blocks in place of a window")
def in_chunks(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p // window * window - 1, lambda p: p)


@BANK.wrong(PART, named="every window-th word")
def strided(query_length, key_length, window):
    checked(query_length, key_length, window)
    p = torch.arange(key_length - query_length, key_length)[:, None]
    back = p - torch.arange(key_length)
    return (back >= 0) & (back % window == 0)


@BANK.wrong(PART, named="early rows empty")
def whole_windows_alone(query_length, key_length, window):
    checked(query_length, key_length, window)
    shown = between(query_length, key_length, lambda p: p - window, lambda p: p)
    return shown & (shown.sum(dim=1, keepdim=True) == window)


@BANK.wrong(PART, named="more queries than keys let through")
def too_many_queries_allowed(query_length, key_length, window):
    if window < 1:
        raise ValueError("a window has a word or more")
    return between(query_length, key_length, lambda p: p - window, lambda p: p)


@BANK.wrong(PART, named="a window below 1 let through")
def an_empty_window_allowed(query_length, key_length, window):
    if key_length < query_length:
        raise ValueError("fewer keys than queries")
    return between(query_length, key_length, lambda p: p - window, lambda p: p)


@BANK.wrong(PART, named="no ValueError")
def never_refusing(query_length, key_length, window):
    return between(query_length, key_length, lambda p: p - window, lambda p: p)


@BANK.wrong(PART, named="an assert for the ValueError")
def bare_asserts(query_length, key_length, window):
    assert query_length <= key_length
    assert window >= 1
    return between(query_length, key_length, lambda p: p - window, lambda p: p)


@BANK.wrong(PART, named="window larger than the text refused")
def a_wide_window_refused(query_length, key_length, window):
    checked(query_length, key_length, window)
    if window > key_length:
        raise ValueError(f"a window of {window} in a text of {key_length}")
    return between(query_length, key_length, lambda p: p - window, lambda p: p)


@BANK.wrong(PART, named="the word itself hidden")
def neighbours_before_alone(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - window - 1, lambda p: p - 1)


@BANK.wrong(PART, named="looking ahead in place of back")
def ahead_of_itself(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - 1, lambda p: p + window - 1)


@BANK.wrong(PART, named="half the window")
def half_to_each_side(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - (window + 1) // 2, lambda p: p)


@BANK.wrong(PART, named="leading axes of length 1")
def with_an_axis_for_heads(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - window, lambda p: p)[None, None]


@BANK.wrong(PART, named="queries one place too late")
def counted_from_the_number_of_keys(query_length, key_length, window):
    checked(query_length, key_length, window)
    first = key_length - query_length + (1 if key_length > query_length else 0)
    return between(query_length, key_length, lambda p: p - window, lambda p: p, first=first)


@BANK.wrong(PART, told="another type")
def numpy_left_as_it_is(query_length, key_length, window):
    checked(query_length, key_length, window)
    return between(query_length, key_length, lambda p: p - window, lambda p: p).numpy()


@BANK.wrong(PART)
def index_of_the_first_key(query_length, key_length, window):
    checked(query_length, key_length, window)
    p = torch.arange(key_length - query_length, key_length)
    return torch.stack([p - window + 1, p], dim=1).clamp(min=0)


@BANK.wrong(PART, named="a window of 0 let through")
def refuses_below_0_alone(query_length, key_length, window):
    if query_length > key_length or window < 0:
        raise ValueError(f"{query_length}, {key_length}, {window}")
    back = torch.arange(key_length - query_length, key_length)[:, None] - torch.arange(key_length)
    return (back >= 0) & (back < window)


@BANK.wrong(PART, named="a negative window let through")
def refuses_0_alone(query_length, key_length, window):
    if query_length > key_length or not window:
        raise ValueError(f"{query_length}, {key_length}, {window}")
    back = torch.arange(key_length - query_length, key_length)[:, None] - torch.arange(key_length)
    return (back >= 0) & (back < window)
