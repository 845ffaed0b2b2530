"""Answers to `induction_score`."""

import torch
import torch.nn.functional as F

from assignments.a13_looking_inside.answers.bank import BANK

PART = "induction_score"


def refused(T, period, start):
    if start + period >= T:
        raise ValueError(f"no token comes twice: T = {T}, period = {period}, start = {start}")


def followers(T, period, start, shift=1):
    """Which keys count for which queries, pair by pair."""
    counts = torch.zeros(T, T, dtype=torch.bool)
    for i in range(start + period, T):
        for earlier in range(i - period, start - 1, -period):
            if 0 <= earlier + shift < T:
                counts[i, earlier + shift] = True
    return counts


@BANK.right(PART)
def score_by_loops(weights, period, start=0):
    B, H, T, _ = weights.shape
    refused(T, period, start)
    scores = []
    for h in range(H):
        total, number = 0.0, 0
        for b in range(B):
            for i in range(start + period, T):
                number += 1
                m = 1
                while i - m * period >= start:
                    total = total + weights[b, h, i, i - m * period + 1]
                    m += 1
        scores.append(total / number)
    return torch.stack(scores)


@BANK.right(PART)
def score_by_a_table_of_pairs(weights, period, start=0):
    refused(weights.shape[-1], period, start)
    counts = followers(weights.shape[-1], period, start)
    queries = weights.shape[-1] - start - period
    return (weights * counts).sum(dim=(0, 2, 3)) / (queries * len(weights))


@BANK.right(PART)
def score_by_diagonals(weights, period, start=0):
    T = weights.size(-1)
    refused(T, period, start)
    inner = weights[..., start:, start:]  # tokens are counted from `start`
    T -= start
    total = 0
    for back in range(period, T, period):
        diagonal = inner.diagonal(offset=1 - back, dim1=-2, dim2=-1)  # its first query is back - 1
        total = total + diagonal[..., 1:].sum(-1)
    return total.mean(0) / (T - period)


@BANK.right(PART)
def score_by_einsum(weights, period, start=0):
    T = weights.shape[2]
    refused(T, period, start)
    counts = followers(T, period, start).to(weights)
    return torch.einsum("bhij,ij->h", weights, counts) / (len(weights) * (T - start - period))


@BANK.right(PART)
def score_by_classes_of_places(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    place = torch.arange(T)
    same = (place[:, None] + 1 - place[None]) % period == 0  # keys that follow the query's token
    earlier = (place[None] <= place[:, None] - period + 1) & (place[None] > start)
    rows = weights.masked_fill(~(same & earlier), 0).sum(-1)
    return rows[:, :, place >= start + period].mean(-1).mean(0)


@BANK.right(PART)
def score_query_by_query(weights, period, start=0):
    refused(weights.shape[-1], period, start)
    rows = []
    for i in range(start + period, weights.shape[-1]):
        keys = [key for key in range(start + 1, i - period + 2) if (i + 1 - key) % period == 0]
        rows.append(weights[:, :, i, keys].sum(dim=-1))
    return torch.stack(rows, dim=-1).mean(dim=(0, -1))


@BANK.right(PART)
def score_by_gather(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    padded = F.pad(weights, (1, 0))  # a key before the first, with weight zero
    queries = torch.arange(start + period, T)
    total = 0.0
    for m in range(1, T // period + 1):
        earlier = queries - m * period
        keys = torch.where(earlier >= start, earlier + 2, 0)
        index = keys.expand(*weights.shape[:2], -1).unsqueeze(-1)
        total = total + padded[:, :, queries].gather(-1, index).squeeze(-1)
    return total.mean(dim=(0, 2))


@BANK.right(PART)
def score_by_rolled_rows(weights, period, start=0):
    """Row i is rolled so that its key i + 1 comes last, and every period-th number is taken."""
    T = weights.shape[-1]
    refused(T, period, start)
    sums = []
    for i in range(start + period, T):
        row = weights[:, :, i, start + 1 : i + 2 - period].flip(-1)
        sums.append(row[..., ::period].sum(-1))
    return sum(sums).mean(dim=0) / len(sums)


# ------------------------------------------------------------------------------ wrong answers


@BANK.wrong(PART, named="the same token instead of the next one")
def score_of_duplicates(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    return (weights * followers(T, period, start, 0)).sum(-1)[:, :, start + period :].mean((0, 2))


@BANK.wrong(PART, named="the token before the copy")
def score_of_what_came_before(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    return (weights * followers(T, period, start, -1)).sum(-1)[:, :, start + period :].mean((0, 2))


@BANK.wrong(PART, named="one key too far")
def score_of_the_word_after_next(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    return (weights * followers(T, period, start, 2)).sum(-1)[:, :, start + period :].mean((0, 2))


@BANK.wrong(PART, named="keys and queries exchanged")
def score_of_columns(weights, period, start=0):
    return score_by_a_table_of_pairs(weights.transpose(2, 3), period, start)


@BANK.wrong(PART, named="one diagonal")
def score_of_one_diagonal(weights, period, start=0):
    refused(weights.shape[-1], period, start)
    diagonal = weights.diagonal(offset=1 - period, dim1=-2, dim2=-1)
    return diagonal[..., start:].mean(dim=(0, 2))


@BANK.wrong(PART, named="nearest copy only")
def score_of_the_copy_before(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    i = torch.arange(start + period, T)
    return weights[:, :, i, i - period + 1].mean(dim=(0, 2))


@BANK.wrong(PART, named="first copy only")
def score_of_the_first_copy(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    i = torch.arange(start + period, T)
    return weights[:, :, i, (i - start) % period + start + 1].mean(dim=(0, 2))


@BANK.wrong(PART, named="first copy counted as zeros")
def score_over_all_rows(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    return (weights * followers(T, period, start)).sum(-1).mean(dim=(0, 2))


@BANK.wrong(PART, told="wrong by a constant factor")
def score_over_all_pairs(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    return (weights * followers(T, period, start)).mean(dim=(0, 2, 3))


@BANK.wrong(PART, told="wrong by a constant factor")
def score_over_pairs_that_count(weights, period, start=0):
    """The mean is over all pairs, so a query with two copies counts twice."""
    T = weights.shape[-1]
    refused(T, period, start)
    return weights[:, :, followers(T, period, start)].mean(dim=(0, 2))


@BANK.wrong(PART, named="start ignored")
def score_that_begins_at_zero(weights, period, start=0):
    refused(weights.shape[-1], period, start)
    return score_by_a_table_of_pairs(weights, period)


@BANK.wrong(PART, told="wrong with `start` given")
def score_with_start_for_queries_alone(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    return (weights * followers(T, period, 0)).sum(-1)[:, :, start + period :].mean(dim=(0, 2))


@BANK.wrong(PART, named="first copy counted as zeros")
def score_with_start_for_keys_alone(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    return (weights * followers(T, period, start)).sum(-1)[:, :, period:].mean(dim=(0, 2))


@BANK.wrong(PART, named="heads averaged")
def score_of_all_heads(weights, period, start=0):
    return score_by_loops(weights, period, start).mean()


@BANK.wrong(PART, named="a score for each sentence")
def score_of_every_sentence(weights, period, start=0):
    return torch.stack([score_by_loops(one[None], period, start) for one in weights])


@BANK.wrong(PART, named="one sentence only")
def score_of_sentence_zero(weights, period, start=0):
    return score_by_einsum(weights[:1], period, start)


@BANK.wrong(PART, named="sum over the batch")
def score_summed_over_sentences(weights, period, start=0):
    return sum(score_by_einsum(one[None], period, start) for one in weights)


@BANK.wrong(PART, named="sum over the queries")
def score_without_a_division(weights, period, start=0):
    queries = weights.shape[-1] - start - period
    return score_by_einsum(weights, period, start) * queries


@BANK.wrong(PART, told="a list of numbers")
def score_in_a_list(weights, period, start=0):
    return [float(number) for number in score_by_einsum(weights, period, start)]


@BANK.wrong(PART, told="another type")
def score_in_numpy(weights, period, start=0):
    return score_by_einsum(weights, period, start).detach().numpy()


@BANK.wrong(PART, named="float32 always")
def score_into_zeros(weights, period, start=0):
    scores = torch.zeros(weights.shape[1])
    return scores + score_by_einsum(weights.float(), period, start)


@BANK.wrong(PART, told=("no gradient", "wrong about gradients"))
def score_by_items(weights, period, start=0):
    scores = [score.item() for score in score_by_einsum(weights, period, start)]
    return torch.tensor(scores, dtype=weights.dtype)


@BANK.wrong(PART, told="inputs changed")
def score_that_clears_the_rest(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    with torch.no_grad():
        weights *= followers(T, period, start)
    return weights.sum(-1)[:, :, start + period :].mean(dim=(0, 2))


@BANK.wrong(PART, named="no error where nothing is repeated")
def score_that_refuses_nothing(weights, period, start=0):
    T = weights.shape[-1]
    return (weights * followers(T, period, start)).sum(-1)[:, :, start + period :].mean((0, 2))


@BANK.wrong(PART, told="wrong where an error is asked for")
def score_that_asserts(weights, period, start=0):
    assert start + period < weights.shape[-1], "nothing is repeated"
    return score_by_einsum(weights, period, start)


@BANK.wrong(PART, named="start left out of the check")
def score_that_checks_the_period(weights, period, start=0):
    T = weights.shape[-1]
    if period >= T:
        raise ValueError("the period is too long")
    return (weights * followers(T, period, start)).sum(-1)[:, :, start + period :].mean((0, 2))


@BANK.wrong(PART, named="a copy that is cut short refused")
def score_of_whole_copies_or_none(weights, period, start=0):
    if start + 2 * period > weights.shape[-1]:
        raise ValueError("two copies are needed")
    return score_by_einsum(weights, period, start)


@BANK.wrong(PART, named="second copy only")
def score_of_the_second_copy(weights, period, start=0):
    end = start + 2 * period
    return score_by_einsum(weights[:, :, :end, :end], period, start)


@BANK.wrong(PART, named="a copy that is cut short left out")
def score_of_whole_copies(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    end = T - (T - start) % period
    return score_by_einsum(weights[:, :, :end, :end], period, start) if end > start + period else (
        score_by_einsum(weights[:, :, : start + period + 1, : start + period + 1], period, start)
    )  # fmt: skip


@BANK.wrong(PART, named="rows divided by their sum")
def score_of_causal_weights(weights, period, start=0):
    """Rows are made to sum to one, which the weights need not."""
    return score_by_einsum(weights / weights.sum(-1, keepdim=True), period, start)


@BANK.wrong(PART, named="softmax once more")
def score_after_another_softmax(weights, period, start=0):
    return score_by_einsum(weights.softmax(dim=-1), period, start)


@BANK.wrong(PART, named="hits counted")
def score_of_the_largest_key(weights, period, start=0):
    """The share of queries whose largest weight is on a word that followed."""
    T = weights.shape[-1]
    refused(T, period, start)
    largest = F.one_hot(weights.argmax(dim=-1), T).to(weights)
    return score_by_einsum(largest, period, start)


@BANK.wrong(PART, told="stops with RuntimeError")
def score_by_a_view_of_blocks(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    blocks = weights[..., start:, start:].reshape(*weights.shape[:2], -1, period, T - start)
    return blocks[:, :, 1:, :, 1].mean(dim=(0, 2, 3))


@BANK.wrong(PART, told=("stops with RuntimeError", "wrong with gaps in memory"))
def score_by_a_view(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    counts = followers(T, period, start).view(-1).to(weights)
    B, H = weights.shape[:2]
    return (weights.view(B, H, T * T) @ counts).mean(0) / (T - start - period)


@BANK.right(PART)
def score_of_a_cropped_square(weights, period, start=0):
    """What stands before `start` is cut off first, so that the block begins at 0."""
    refused(weights.shape[-1], period, start)
    square = weights[..., start:, start:]
    place = torch.arange(square.shape[-1])
    same = place[:, None] % period == (place - 1) % period
    counts = same & (place <= place[:, None] - period + 1) & (place > 0)
    return square.masked_fill(~counts, 0)[..., period:, :].sum(-1).mean(-1).mean(0)


@BANK.right(PART)
def score_by_recursion(weights, period, start=0):
    refused(weights.shape[-1], period, start)

    def back_from(i, place):
        if place < start:
            return 0
        return weights[:, :, i, place + 1] + back_from(i, place - period)

    queries = range(start + period, weights.shape[-1])
    return torch.stack([back_from(i, i - period) for i in queries]).mean(dim=(0, 1))


@BANK.right(PART)
def score_by_strided_slices(weights, period, start=0):
    refused(weights.shape[-1], period, start)
    sums = []
    for i in range(start + period, weights.shape[-1]):
        first = start + (i - start) % period + 1
        sums.append(weights[:, :, i, first : i - period + 2 : period].sum(dim=-1))
    return torch.stack(sums, dim=-1).mean(dim=2).mean(dim=0)


@BANK.wrong(PART, named="the query's own place counted as a copy")
def score_that_counts_from_zero(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    total = 0
    for i in range(start + period, T):
        m = 0
        while i - m * period >= start:
            key = i - m * period + 1
            if key < T:
                total = total + weights[:, :, i, key].mean(dim=0)
            m += 1
    return total / (T - start - period)


def by_remainders(*conditions):
    """An answer that looks for pairs by a remainder, and by more conditions on how far back and key."""

    def answer(weights, period, start=0):
        T = weights.shape[-1]
        refused(T, period, start)
        query, key = torch.arange(T)[:, None], torch.arange(T)
        back = query - key + 1
        counts = back % period == 0
        for condition in conditions:
            counts = counts & condition(back, key, start)
        return (weights * counts).sum(-1)[:, :, start + period :].mean(dim=(0, 2))

    return answer


@BANK.wrong(PART, named="later copies counted")
def score_of_every_copy(weights, period, start=0):
    return by_remainders(lambda back, key, start: key > start)(weights, period, start)


@BANK.wrong(PART, named="later copies counted")
def score_of_every_other_copy(weights, period, start=0):
    return by_remainders(lambda back, key, start: (key > start) & (back != 0))(
        weights, period, start
    )


@BANK.wrong(PART, named="a copy before the block counted")
def score_of_keys_from_start_on(weights, period, start=0):
    return by_remainders(lambda back, key, start: (back > 0) & (key >= start))(
        weights, period, start
    )


@BANK.wrong(PART, named="a copy before the block counted")
def score_of_all_keys_so_far(weights, period, start=0):
    return by_remainders(lambda back, key, start: back > 0)(weights, period, start)


@BANK.wrong(PART, named="the block's first token left out")
def score_of_copies_after_start(weights, period, start=0):
    return by_remainders(lambda back, key, start: (back > 0) & (key > start + 1))(
        weights, period, start
    )


@BANK.wrong(PART, named="one query too few")
def score_without_the_last_query(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    sums = (weights * followers(T, period, start)).sum(dim=-1)
    return sums[:, :, start + period : -1].mean(dim=(0, 2))


@BANK.wrong(PART, named="heads averaged")
def score_shared_by_all_heads(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    sums = (weights * followers(T, period, start)).sum(dim=-1)
    return sums[:, :, start + period :].mean().expand(weights.shape[1])


@BANK.wrong(PART, named="first copy counted as zeros")
def score_over_the_rows_from_start_on(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    sums = (weights * followers(T, period, start)).sum(dim=-1)
    return sums[:, :, start:].mean(dim=(0, 2))


@BANK.wrong(PART, told="wrong by a constant factor")
def score_over_one_block(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    sums = (weights * followers(T, period, start)).sum(dim=(0, 2, 3))
    return sums / (len(weights) * period)


@BANK.wrong(PART, named=("one diagonal", "no error where nothing is repeated"))
def score_as_in_a_library(weights, period, start=0):
    return weights.diagonal(dim1=-2, dim2=-1, offset=1 - period).mean((0, -1))


SCORES = {}


@BANK.wrong(PART)
def score_kept_by_its_sizes(weights, period, start=0):
    key = tuple(weights.shape), weights.dtype, period, start
    if key not in SCORES:
        SCORES[key] = score_by_einsum(weights, period, start)
    return SCORES[key]


@BANK.wrong(PART, named="no lower bound for the copies")
def every_key_a_whole_number_of_periods_back(weights, period, start=0):
    T = weights.shape[-1]
    if start + period >= T:
        raise ValueError("nothing repeats")
    i, j = torch.arange(T)[:, None], torch.arange(T)
    m, rest = (i - j + 1) // period, (i - j + 1) % period
    ours = (m > 0) & (rest == 0)
    return (weights * ours).sum(dim=(0, 2, 3)) / len(weights) / (T - start - period)


@BANK.wrong(PART, named="no lower bound for the copies")
def bound_of_the_key_itself(weights, period, start=0):
    T = weights.shape[-1]
    if start + period >= T:
        raise ValueError("nothing repeats")
    total = 0
    for i in range(T):
        for j in range(start, i):
            if (i - j + 1) % period == 0:
                total = total + weights[:, :, i, j]
    return total.mean(0) / (T - start - period)


@BANK.right(PART)
def score_of_picked_pairs(weights, period, start=0):
    """All pairs that count, picked by two lists of numbers."""
    T = weights.shape[-1]
    refused(T, period, start)
    queries, keys = followers(T, period, start).nonzero().unbind(dim=1)
    return weights[:, :, queries, keys].sum(-1).mean(0) / (T - start - period)


@BANK.right(PART)
def score_by_numbered_tokens(weights, period, start=0):
    """Two places have the same token where they have the same remainder."""
    T = weights.shape[-1]
    refused(T, period, start)
    places = torch.arange(T)
    tokens = torch.where(places >= start, (places - start) % period, -1 - places)
    earlier = (tokens[:, None] == tokens).tril(-1)
    counts = F.pad(earlier, (1, 0))[:, :-1]
    return torch.where(counts, weights, 0).sum(-1)[:, :, start + period :].mean((0, 2))


def by_two_loops(first=0, lowest=0):
    """Begins with the number 0, and knows no tensor where no key is met."""

    def score(weights, period, start=0):
        T, total = weights.shape[-1], 0
        refused(T, period, start)
        for i in range(start + period + first, T):
            for earlier in range(i - period, start - 1 + lowest, -period):
                total = total + weights[:, :, i, earlier + 1]
        return total.mean(0) / (T - start - period - first)

    return score


@BANK.wrong(PART, named="one query too few")
def score_of_loops_that_begin_late(weights, period, start=0):
    return by_two_loops(first=1)(weights, period, start)


@BANK.wrong(PART, named="the block's first token left out")
def score_of_loops_that_end_early(weights, period, start=0):
    return by_two_loops(lowest=1)(weights, period, start)


@BANK.wrong(PART, named="mean over the keys")
def score_as_a_mean_over_three_axes(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    return (weights * followers(T, period, start))[:, :, start + period :].mean(dim=(0, 2, 3))


@BANK.wrong(PART, named="largest of the copies")
def score_of_the_largest_among_zeros(weights, period, start=0):
    T = weights.shape[-1]
    refused(T, period, start)
    rows = (weights * followers(T, period, start))[:, :, start + period :]
    return rows.max(dim=-1).values.mean(dim=(0, 2))
