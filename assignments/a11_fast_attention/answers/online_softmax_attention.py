"""Answers to `online_softmax_attention`."""

import math

import torch

from assignments.a11_fast_attention.answers.bank import BANK

PART = "online_softmax_attention"


def cut(mask, block):
    return mask if mask is None or mask.shape[-1] == 1 else mask[..., block]


def blocks(key, size):
    return [slice(k, min(k + size, key.shape[-2])) for k in range(0, key.shape[-2], size)]


def scored(query, key, mask, block):
    scores = query @ key[..., block, :].mT / math.sqrt(query.shape[-1])
    part = cut(mask, block)
    return scores if part is None else scores.masked_fill(part.logical_not(), -math.inf)


def nothing(query, value):
    rows = query[..., :1]
    return torch.full_like(rows, -math.inf), torch.zeros_like(rows), rows * 0 * value[..., :1, :]


def ended(output, total):
    return output / torch.where(total > 0, total, 1.0)


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
def tiles_in_two_passes(query, key, value, block_size, mask=None):
    m = nothing(query, value)[0]
    for block in blocks(key, block_size):
        m = torch.maximum(m, scored(query, key, mask, block).detach().amax(-1, keepdim=True))
    m = torch.where(m.isinf(), 0.0, m)
    total = output = 0
    for block in blocks(key, block_size):
        powers = (scored(query, key, mask, block) - m).exp()
        total, output = total + powers.sum(-1, keepdim=True), output + powers @ value[..., block, :]
    return ended(output, total)


@BANK.right(PART)
def tiles_divided_in_every_step(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, mask, block)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        safe = torch.where(new.isinf(), 0.0, new)
        powers, old = (scores - safe).exp(), (m - safe).exp() * total
        total = old + powers.sum(-1, keepdim=True)
        output = ended(output * old + powers @ value[..., block, :], total)
        m = new
    return output


@BANK.right(PART)
def tiles_by_logsumexp(query, key, value, block_size, mask=None):
    log_total, _, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, mask, block)
        empty = (scores == -math.inf).all(-1, keepdim=True)
        own = scores.masked_fill(empty, 0.0).logsumexp(-1, keepdim=True)
        own = own.masked_fill(empty, -math.inf)
        made = torch.where(empty, 0.0, scores.masked_fill(empty, 0.0).softmax(-1))
        both = torch.maximum(log_total, own).detach()
        safe = both.masked_fill(both == -math.inf, 0.0)
        old, new = (log_total - safe).exp(), (own - safe).exp()
        total = old + new
        share = total.masked_fill(total == 0, 1.0)
        output = output * (old / share) + made @ value[..., block, :] * (new / share)
        log_total = torch.where(total == 0, -math.inf, safe + share.log())
    return output


@BANK.right(PART)
def tiles_from_the_last_block(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in reversed(blocks(key, block_size)):
        scores = scored(query, key, mask, block)
        new = torch.maximum(m, scores.detach().max(dim=-1, keepdim=True).values)
        safe = new.clamp(min=torch.finfo(new.dtype).min)
        factor, powers = torch.exp(m - safe), torch.exp(scores - safe)
        total = factor * total + powers.sum(dim=-1, keepdim=True)
        output = factor * output + powers @ value[..., block, :]
        m = new
    return ended(output, total)


@BANK.right(PART)
def tiles_of_one_key(query, key, value, block_size, mask=None):
    query = query * query.shape[-1] ** -0.5
    m, total, output = nothing(query, value)
    for j in range(key.shape[-2]):
        score = (query * key[..., j : j + 1, :]).sum(-1, keepdim=True)
        if mask is not None:
            score = score.masked_fill(~cut(mask, slice(j, j + 1)), -math.inf)
        new = torch.maximum(m, score.detach())
        safe = new.masked_fill(new.isneginf(), 0.0)
        factor, power = (m - safe).exp(), (score - safe).exp()
        total, output = factor * total + power, factor * output + power * value[..., j : j + 1, :]
        m = new
    return ended(output, total)


@BANK.right(PART)
def tiles_with_the_sum_as_a_column(query, key, value, block_size, mask=None):
    m, _, output = nothing(query, value)
    output = torch.cat([output, output[..., :1]], -1)
    for block in blocks(key, block_size):
        scores, part = scored(query, key, mask, block), value[..., block, :]
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        safe = new.nan_to_num(neginf=0.0)
        part = torch.cat([part, torch.ones_like(part[..., :1])], -1)
        output = output * (m - safe).exp() + (scores - safe).exp() @ part
        m = new
    return ended(output[..., :-1], output[..., -1:])


@BANK.right(PART)
def tiles_by_chunks(query, key, value, block_size, mask=None):
    query = query / math.sqrt(query.shape[-1])
    m, total, output = nothing(query, value)
    place = 0
    for keys, values in zip(key.split(block_size, -2), value.split(block_size, -2), strict=True):
        block = slice(place, place := place + keys.shape[-2])
        scores = torch.einsum("...td,...sd->...ts", query, keys)
        if mask is not None:
            scores = torch.where(cut(mask, block), scores, -math.inf)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        safe = torch.where(new == -math.inf, torch.zeros_like(new), new)
        total = total * (m - safe).exp() + (scores - safe).exp().sum(-1, keepdim=True)
        output = output * (m - safe).exp() + (scores - safe).exp() @ values
        m = new
    return ended(output, total)


@BANK.right(PART)
def tiles_with_names_for_all_steps(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    hidden = None if mask is None else ~mask
    for block in blocks(key, block_size):
        keys, values = key[..., block, :].contiguous(), value[..., block, :].clone()
        products = query.unsqueeze(-2) * keys.unsqueeze(-3)
        scores = products.sum(-1)
        scaled = scores / math.sqrt(query.shape[-1])
        shown = scaled if hidden is None else scaled.masked_fill(cut(hidden, block), -math.inf)
        new = torch.maximum(m, shown.detach().amax(-1, keepdim=True))
        safe = safe_of(new)
        apart = shown - safe
        powers = apart.exp()
        old = (m - safe).exp()
        total = total * old + powers.sum(-1, keepdim=True)
        output = output * old + (powers.unsqueeze(-1) * values.unsqueeze(-3)).sum(-2)
        m = new
    return ended(output, total)


@BANK.wrong(PART, named="everything at once")
def tiles_put_together_in_the_end(query, key, value, block_size, mask=None):
    """What is kept of a block is small, but it is kept up to the end, and there may be as many blocks as keys."""
    parts = []
    for block in blocks(key, block_size):
        scores = scored(query, key, mask, block)
        m = scores.detach().amax(-1, keepdim=True)
        powers = (scores - torch.where(m.isinf(), 0.0, m)).exp()
        parts.append((m, powers.sum(-1, keepdim=True), powers @ value[..., block, :]))
    m = torch.stack([part[0] for part in parts]).amax(0)
    m = torch.where(m.isinf(), 0.0, m)
    factors = [(part[0] - m).exp() for part in parts]
    total = sum(part[1] * factor for part, factor in zip(parts, factors, strict=True))
    output = sum(part[2] * factor for part, factor in zip(parts, factors, strict=True))
    return ended(output, total)


@BANK.right(PART)
def tiles_of_queries_and_keys(query, key, value, block_size, mask=None):
    rows = []
    for t in range(query.shape[-2]):
        one = query[..., t : t + 1, :]
        own = mask
        if mask is not None and mask.dim() > 1 and mask.shape[-2] > 1:
            own = mask[..., t : t + 1, :]
        m, total, output = nothing(one, value)
        for block in blocks(key, block_size):
            scores = scored(one, key, own, block)
            new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
            safe = torch.where(new.isinf(), 0.0, new)
            total = total * (m - safe).exp() + (scores - safe).exp().sum(-1, keepdim=True)
            output = output * (m - safe).exp() + (scores - safe).exp() @ value[..., block, :]
            m = new
        rows.append(ended(output, total))
    return torch.cat(rows, -2)


# ------------------------------------------------------------------------------------- wrong


def loop(query, key, value, block_size, mask, step, first=None):
    """The loop of most wrong answers; ``step`` turns (m, total, output), scores, values into the next."""
    state = nothing(query, value) if first is None else first
    for block in blocks(key, block_size):
        state = step(state, scored(query, key, mask, block), value[..., block, :])
    return ended(state[2], state[1])


def safe_of(m):
    return torch.where(m == -math.inf, 0.0, m)


@BANK.wrong(PART, named="nothing rescaled")
def no_factor_at_all(query, key, value, block_size, mask=None):
    def step(state, scores, values):
        m = torch.maximum(state[0], scores.detach().amax(-1, keepdim=True))
        powers = (scores - safe_of(m)).exp()
        return m, state[1] + powers.sum(-1, keepdim=True), state[2] + powers @ values

    return loop(query, key, value, block_size, mask, step)


@BANK.wrong(PART, named="only the output rescaled")
def sum_left_alone(query, key, value, block_size, mask=None):
    def step(state, scores, values):
        m = torch.maximum(state[0], scores.detach().amax(-1, keepdim=True))
        powers, old = (scores - safe_of(m)).exp(), (state[0] - safe_of(m)).exp()
        return m, state[1] + powers.sum(-1, keepdim=True), state[2] * old + powers @ values

    return loop(query, key, value, block_size, mask, step)


@BANK.wrong(PART, named="only the sum rescaled")
def output_left_alone(query, key, value, block_size, mask=None):
    def step(state, scores, values):
        m = torch.maximum(state[0], scores.detach().amax(-1, keepdim=True))
        powers, old = (scores - safe_of(m)).exp(), (state[0] - safe_of(m)).exp()
        return m, state[1] * old + powers.sum(-1, keepdim=True), state[2] + powers @ values

    return loop(query, key, value, block_size, mask, step)


@BANK.wrong(PART, named="rescaled upside down")
def new_less_old(query, key, value, block_size, mask=None):
    def step(state, scores, values):
        m = torch.maximum(state[0], scores.detach().amax(-1, keepdim=True))
        powers = (scores - safe_of(m)).exp()
        old = torch.exp(safe_of(m) - safe_of(state[0]))
        return m, state[1] * old + powers.sum(-1, keepdim=True), state[2] * old + powers @ values

    return loop(query, key, value, block_size, mask, step)


@BANK.wrong(PART, told="some rows right")
def maximum_of_the_block(query, key, value, block_size, mask=None):
    def step(state, scores, values):
        m = scores.detach().amax(-1, keepdim=True)
        powers = (scores - safe_of(m)).exp()
        return m, state[1] + powers.sum(-1, keepdim=True), state[2] + powers @ values

    return loop(query, key, value, block_size, mask, step)


@BANK.wrong(PART)
def softmax_of_each_block_averaged(query, key, value, block_size, mask=None):
    parts = [
        scored(query, key, mask, block).softmax(-1).nan_to_num() @ value[..., block, :]
        for block in blocks(key, block_size)
    ]
    return sum(parts) / len(parts)


@BANK.wrong(PART, told="some rows right")
def softmax_of_each_block_added(query, key, value, block_size, mask=None):
    return sum(
        scored(query, key, mask, block).softmax(-1).nan_to_num() @ value[..., block, :]
        for block in blocks(key, block_size)
    )


@BANK.wrong(PART, named="not divided")
def the_sum_of_values_alone(query, key, value, block_size, mask=None):
    def step(state, scores, values):
        m = torch.maximum(state[0], scores.detach().amax(-1, keepdim=True))
        powers, old = (scores - safe_of(m)).exp(), (state[0] - safe_of(m)).exp()
        return m, torch.ones_like(m), state[2] * old + powers @ values

    return loop(query, key, value, block_size, mask, step)


@BANK.wrong(PART, named="last block dropped")
def whole_blocks_alone(query, key, value, block_size, mask=None):
    whole = key.shape[-2] // block_size * block_size
    if whole == 0:
        return torch.zeros_like(query[..., :1] * value[..., :1, :])
    shorter = mask if mask is None or mask.shape[-1] == 1 else mask[..., :whole]
    return tiles_in_two_passes(
        query, key[..., :whole, :], value[..., :whole, :], block_size, shorter
    )


@BANK.wrong(PART, told="each row has a factor of its own")
def last_block_filled_up_with_zeros(query, key, value, block_size, mask=None):
    missing = -key.shape[-2] % block_size
    longer = mask
    if mask is not None and mask.shape[-1] > 1:
        longer = torch.nn.functional.pad(mask, (0, missing), value=True)
    padded = (torch.nn.functional.pad(one, (0, 0, 0, missing)) for one in (key, value))
    return tiles_in_two_passes(query, *padded, block_size, longer)


@BANK.wrong(PART, named="mask ignored")
def mask_not_looked_at(query, key, value, block_size, mask=None):
    return tiles_in_two_passes(query, key, value, block_size)


@BANK.wrong(PART, named="mask the wrong way round")
def hides_the_visible(query, key, value, block_size, mask=None):
    return tiles_in_two_passes(query, key, value, block_size, None if mask is None else ~mask)


@BANK.wrong(PART, named="a mask with one column cut")
def mask_always_cut(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, None, block)
        if mask is not None:
            scores = scores.masked_fill(~mask[..., block], -math.inf)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        safe = safe_of(new)
        total = total * (m - safe).exp() + (scores - safe).exp().sum(-1, keepdim=True)
        output = output * (m - safe).exp() + (scores - safe).exp() @ value[..., block, :]
        m = new
    return ended(output, total)


@BANK.wrong(PART, named="the first block's mask for every block")
def mask_counted_within_the_block(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, None, block)
        if mask is not None:
            own = mask if mask.shape[-1] == 1 else mask[..., : scores.shape[-1]]
            scores = scores.masked_fill(~own, -math.inf)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        safe = safe_of(new)
        total = total * (m - safe).exp() + (scores - safe).exp().sum(-1, keepdim=True)
        output = output * (m - safe).exp() + (scores - safe).exp() @ value[..., block, :]
        m = new
    return ended(output, total)


@BANK.wrong(PART, named="NaN where nothing may be attended to")
def zero_divided_by_zero(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, mask, block)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        safe = safe_of(new)
        total = total * (m - safe).exp() + (scores - safe).exp().sum(-1, keepdim=True)
        output = output * (m - safe).exp() + (scores - safe).exp() @ value[..., block, :]
        m = new
    return output / total


@BANK.wrong(PART, named="NaN from a hidden block, turned into 0")
def nan_replaced_in_the_end(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, mask, block)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        total = total * (m - new).exp() + (scores - new).exp().sum(-1, keepdim=True)
        output = output * (m - new).exp() + (scores - new).exp() @ value[..., block, :]
        m = new
    return torch.nan_to_num(output / total)


@BANK.wrong(PART, named="NaN from a hidden block")
def infinity_less_infinity(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, mask, block)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        total = total * (m - new).exp() + (scores - new).exp().sum(-1, keepdim=True)
        output = output * (m - new).exp() + (scores - new).exp() @ value[..., block, :]
        m = new
    return ended(output, total)


@BANK.wrong(PART, named="the average where nothing may be attended to")
def a_large_number_below(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, None, block)
        if mask is not None:
            scores = scores.masked_fill(~cut(mask, block), -1e9)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        total = total * (m - new).exp() + (scores - new).exp().sum(-1, keepdim=True)
        output = output * (m - new).exp() + (scores - new).exp() @ value[..., block, :]
        m = new
    return output / total


@BANK.wrong(PART, named="maximum that does not begin at −∞")
def begun_at_zero(query, key, value, block_size, mask=None):
    def step(state, scores, values):
        m = torch.maximum(state[0], scores.detach().amax(-1, keepdim=True))
        powers, old = (scores - m).exp(), (state[0] - m).exp()
        return m, state[1] * old + powers.sum(-1, keepdim=True), state[2] * old + powers @ values

    m, total, output = nothing(query, value)
    return loop(query, key, value, block_size, mask, step, (torch.zeros_like(m), total, output))


@BANK.wrong(PART, named="no maximum taken off")
def bare_exponentials(query, key, value, block_size, mask=None):
    total = output = 0
    for block in blocks(key, block_size):
        powers = scored(query, key, mask, block).exp()
        total, output = total + powers.sum(-1, keepdim=True), output + powers @ value[..., block, :]
    return ended(output, total)


@BANK.wrong(PART, named="one maximum for all rows")
def one_maximum(query, key, value, block_size, mask=None):
    m, total, output = torch.tensor(-math.inf), 0, 0
    for block in blocks(key, block_size):
        scores = scored(query, key, mask, block)
        new = torch.maximum(m.to(scores), scores.detach().max())
        safe = safe_of(new)
        total = total * (m - safe).exp() + (scores - safe).exp().sum(-1, keepdim=True)
        output = output * (m - safe).exp() + (scores - safe).exp() @ value[..., block, :]
        m = new
    return ended(output, total)


@BANK.wrong(PART, named="everything at once")
def the_whole_matrix(query, key, value, block_size, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return torch.where(mask, weights, 0.0) @ value


@BANK.wrong(PART, named="everything at once")
def scores_collected(query, key, value, block_size, mask=None):
    scores = torch.cat([scored(query, key, mask, block) for block in blocks(key, block_size)], -1)
    empty = (scores == -math.inf).all(-1, keepdim=True)
    return scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0) @ value


@BANK.wrong(PART, named="everything at once")
def scores_in_a_list(query, key, value, block_size, mask=None):
    scores = [scored(query, key, mask, block) for block in blocks(key, block_size)]
    m = torch.stack([one.detach().amax(-1, keepdim=True) for one in scores]).amax(0)
    m = torch.where(m.isinf(), 0.0, m)
    total = output = 0
    for block, one in zip(blocks(key, block_size), scores, strict=True):
        powers = (one - m).exp()
        total, output = total + powers.sum(-1, keepdim=True), output + powers @ value[..., block, :]
    return ended(output, total)


@BANK.wrong(PART, named="everything at once")
def powers_kept_in_a_dict(query, key, value, block_size, mask=None):
    m, total, output, kept = *nothing(query, value), {}
    for number, block in enumerate(blocks(key, block_size)):
        scores = scored(query, key, mask, block)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        safe = torch.where(new.isinf(), 0.0, new)
        kept[number] = (scores - safe).exp()
        total = total * (m - safe).exp() + kept[number].sum(-1, keepdim=True)
        output = output * (m - safe).exp() + kept[number] @ value[..., block, :]
        m = new
    return ended(output, total)


@BANK.wrong(PART, named="the mask copied for all heads")
def mask_spread_over_all_heads(query, key, value, block_size, mask=None):
    if mask is not None:
        mask = torch.ones(*query.shape[:-1], key.shape[-2], dtype=torch.bool) & mask
    return tiles_in_two_passes(query, key, value, block_size, mask)


@BANK.wrong(PART, told="all the same")
def stopped_at_a_hidden_block(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, mask, block)
        if (scores == -math.inf).all():
            break
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        safe = safe_of(new)
        total = total * (m - safe).exp() + (scores - safe).exp().sum(-1, keepdim=True)
        output = output * (m - safe).exp() + (scores - safe).exp() @ value[..., block, :]
        m = new
    return ended(output, total)


@BANK.wrong(
    PART,
    told=(
        "wrong gradient",
        "wrong about gradients",
        "wrong with a row in which nothing may be seen",
    ),
)
def infinity_added_to_hidden_scores(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = scored(query, key, None, block)
        if mask is not None:
            scores = scores + torch.where(cut(mask, block), 0.0, -math.inf)
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        total = (total * (m - new).exp() + (scores - new).exp().sum(-1, keepdim=True)).nan_to_num()
        output = (
            output * (m - new).exp() + (scores - new).exp() @ value[..., block, :]
        ).nan_to_num()
        m = new
    return ended(output, total)


@BANK.wrong(PART, told=("wrong with very large or very small numbers", "some rows right"))
def scores_held_below_eighty(query, key, value, block_size, mask=None):
    total = output = 0
    for block in blocks(key, block_size):
        powers = scored(query, key, mask, block).clamp(max=80).exp()
        total, output = total + powers.sum(-1, keepdim=True), output + powers @ value[..., block, :]
    return ended(output, total)


@BANK.wrong(PART, named="everything at once")
def keys_copied_first(query, key, value, block_size, mask=None):
    return tiles_in_two_passes(query, key.clone(), value.clone(), block_size, mask)


@BANK.wrong(PART, named="everything at once")
def blocks_of_queries_alone(query, key, value, block_size, mask=None):
    rows = []
    for t in range(0, query.shape[-2], 2):
        block = slice(t, t + 2)
        own = mask
        if mask is not None and mask.dim() > 1 and mask.shape[-2] > 1:
            own = mask[..., block, :]
        rows.append(the_whole_matrix(query[..., block, :], key, value, block_size, own))
    return torch.cat(rows, -2)


@BANK.wrong(PART, named="not scaled")
def scores_left_as_they_are(query, key, value, block_size, mask=None):
    return tiles_in_two_passes(query * math.sqrt(query.shape[-1]), key, value, block_size, mask)


@BANK.wrong(PART, named="divided by d_k itself")
def divided_twice_by_the_root(query, key, value, block_size, mask=None):
    return tiles_in_two_passes(query / math.sqrt(query.shape[-1]), key, value, block_size, mask)


@BANK.wrong(PART, named="divided by the root of another width")
def root_of_the_number_of_keys(query, key, value, block_size, mask=None):
    factor = math.sqrt(query.shape[-1] / key.shape[-2])
    return tiles_in_two_passes(query * factor, key, value, block_size, mask)


@BANK.wrong(PART, told=("rounded", "wrong in float64"))
def sums_in_float32(query, key, value, block_size, mask=None):
    result = tiles_in_two_passes(query.float(), key.float(), value.float(), block_size, mask)
    return result.to(query.dtype)


@BANK.wrong(PART, told=("stops with ValueError", "wrong with more or fewer than 4 axes of `query`"))
def four_axes_assumed(query, key, value, block_size, mask=None):
    B, H, T, _ = query.shape
    merged = [one.reshape(B * H, *one.shape[2:]) for one in (query, key, value)]
    shown = None if mask is None else mask.expand(B, H, T, key.shape[2]).flatten(0, 1)
    return tiles_in_two_passes(*merged, block_size, shown).reshape(B, H, T, -1)


@BANK.wrong(PART, named="last key left out")
def one_key_too_few(query, key, value, block_size, mask=None):
    shorter = mask if mask is None or mask.shape[-1] == 1 else mask[..., :-1]
    return tiles_in_two_passes(query, key[..., :-1, :], value[..., :-1, :], block_size, shorter)


@BANK.wrong(PART, named="first block only")
def the_first_block(query, key, value, block_size, mask=None):
    first = slice(0, block_size)
    return tiles_in_two_passes(
        query, key[..., first, :], value[..., first, :], block_size, cut(mask, first)
    )


@BANK.wrong(PART, told="stops with RuntimeError")
def writes_into_the_query(query, key, value, block_size, mask=None):
    result = tiles_in_two_passes(query, key, value, block_size, mask)
    with torch.no_grad():
        query /= math.sqrt(query.shape[-1])
    return result


@BANK.wrong(PART, told="more results than asked")
def weights_beside_the_output(query, key, value, block_size, mask=None):
    scores = scored(query, key, mask, slice(None))
    return tiles_in_two_passes(query, key, value, block_size, mask), scores.softmax(-1)


@BANK.wrong(PART, named="a maximum of hidden scores")
def tiles_masked_after_the_powers(query, key, value, block_size, mask=None):
    m, total, output = nothing(query, value)
    for block in blocks(key, block_size):
        scores = query @ key[..., block, :].mT / math.sqrt(query.shape[-1])
        new = torch.maximum(m, scores.detach().amax(-1, keepdim=True))
        powers, old, part = (scores - new).exp(), (m - new).exp(), cut(mask, block)
        powers = powers if part is None else powers * part
        total = total * old + powers.sum(-1, keepdim=True)
        output = output * old + powers @ value[..., block, :]
        m = new
    return torch.where(total > 0, output / total.clamp_min(1e-30), 0.0)


@BANK.right(PART)
def merged_by_logaddexp(query, key, value, block_size, mask=None):
    """The logarithm of the sum of powers is kept, and no maximum."""
    query = query * query.shape[-1] ** -0.5
    lead, S = query.shape[:-1], key.shape[-2]
    output = query.new_zeros(*lead, value.shape[-1])
    log_sum = query.new_full((*lead, 1), -torch.inf)
    for start in range(0, S, block_size):
        block = slice(start, start + block_size)
        scores = query @ key[..., block, :].mT
        if mask is not None:
            seen = mask if mask.shape[-1] == 1 else mask[..., block]
            scores = scores.masked_fill(~seen, -torch.inf)
        larger = torch.logaddexp(log_sum, scores.logsumexp(-1, keepdim=True))
        finite = larger.masked_fill(larger == -torch.inf, 0.0)
        output = output * (log_sum - finite).exp() + (scores - finite).exp() @ value[..., block, :]
        log_sum = larger
    return output


@BANK.wrong(PART, named="maximum that does not begin at −∞")
def maximum_from_a_hundred_below(query, key, value, block_size, mask=None):
    query = query / query.shape[-1] ** 0.5
    m = torch.full_like(query[..., :1], -100.0)
    total, output = torch.zeros_like(m), 0.0
    for start in range(0, key.shape[-2], block_size):
        block = slice(start, start + block_size)
        scores = query @ key[..., block, :].mT
        if mask is not None:
            seen = mask if mask.shape[-1] == 1 else mask[..., block]
            scores = scores.masked_fill(~seen, -torch.inf)
        larger = torch.maximum(m, scores.amax(-1, keepdim=True))
        powers, old = (scores - larger).exp(), (m - larger).exp()
        total = total * old + powers.sum(-1, keepdim=True)
        output = output * old + powers @ value[..., block, :]
        m = larger
    return output / total.masked_fill(total == 0, 1.0)
