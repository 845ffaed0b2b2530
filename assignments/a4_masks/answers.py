"""Answers to assignment 4."""

import numpy as np
import torch
import torch.nn.functional as F

from assignments.bank import Bank

BANK = Bank("a4_masks")


# -------------------------------------------------------------------------------- causal_mask


@BANK.right("causal_mask")
def causal_by_tril(size):
    return torch.tril(torch.ones(size, size)).bool()


@BANK.right("causal_mask")
def causal_by_loops(size):
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        for j in range(size):
            if j <= i:
                mask[i, j] = True
    return mask


@BANK.right("causal_mask")
def causal_by_inverting_the_future(size, device=None):
    return ~torch.ones((size, size), dtype=torch.bool, device=device).triu(diagonal=1)


@BANK.right("causal_mask")
def causal_by_lists(size):
    return torch.tensor([[True] * (i + 1) + [False] * (size - i - 1) for i in range(size)])


@BANK.right("causal_mask")
def causal_by_running_sum(size):
    return torch.eye(size).cumsum(dim=0) == 1


@BANK.right("causal_mask")
def causal_by_numpy(size):
    return torch.from_numpy(np.tri(size, dtype=bool))


@BANK.right("causal_mask")
def causal_by_indices(size):
    mask = torch.full((size, size), False)
    rows, columns = torch.tril_indices(size, size)
    mask[rows, columns] = True
    return mask


@BANK.right("causal_mask")
def causal_by_transposing(size):
    return torch.triu(torch.ones(size, size, dtype=torch.bool)).T


@BANK.right("causal_mask")
def causal_by_minus_infinity_and_back(size):
    scores = torch.full((size, size), float("-inf")).triu(1)
    return scores == 0


@BANK.wrong("causal_mask", named="the diagonal hidden")
def causal_strictly_before(size):
    position = torch.arange(size)
    return position[None, :] < position[:, None]


@BANK.wrong("causal_mask", named="upper triangle")
def causal_with_the_axes_swapped(size):
    position = torch.arange(size)
    return position[:, None] <= position[None, :]


@BANK.wrong("causal_mask", named="inverted mask")
def causal_as_multi_head_attention_wants_it(size):
    return torch.triu(torch.ones(size, size), diagonal=1) == 1


@BANK.wrong("causal_mask", named="one word of the future visible")
def causal_off_by_one(size):
    return torch.arange(size) <= torch.arange(1, size + 1)[:, None]


@BANK.wrong("causal_mask", named="numbers instead of bool")
def causal_in_floats(size):
    return torch.tril(torch.ones(size, size))


@BANK.wrong("causal_mask")
def causal_in_bytes(size):
    return torch.ones(size, size, dtype=torch.uint8).tril()


@BANK.wrong("causal_mask", named="minus infinity for hidden")
def causal_to_be_added(size):
    return torch.triu(torch.full((size, size), float("-inf")), diagonal=1)


@BANK.wrong("causal_mask")
def causal_to_be_added_with_a_large_number(size):
    return torch.triu(torch.full((size, size), -1e9), diagonal=1)


@BANK.wrong("causal_mask")
def causal_as_numpy(size):
    return np.tri(size, dtype=bool)


@BANK.wrong("causal_mask")
def causal_as_a_list(size):
    return causal_by_loops(size).tolist()


@BANK.wrong("causal_mask")
def causal_of_three(size):
    return torch.tensor([[True, False, False], [True, True, False], [True, True, True]])


@BANK.wrong("causal_mask")
def causal_up_to_three(size):
    return causal_by_tril(3)[:size, :size]


@BANK.wrong("causal_mask")
def causal_with_positions_in_bytes(size):
    # right up to 128 positions; the next would be -128
    position = torch.arange(size).to(torch.int8)
    return position[None, :] <= position[:, None]


@BANK.wrong("causal_mask")
def causal_that_forgets_the_distant_past(size):
    position = torch.arange(size)
    distance = position[:, None] - position[None, :]
    return (distance >= 0) & (distance < 3)


@BANK.wrong("causal_mask")
def causal_from_the_other_corner(size):
    return causal_by_tril(size).flip(1)


@BANK.wrong("causal_mask")
def causal_one_row_short(size):
    return causal_by_tril(size)[1:]


@BANK.wrong("causal_mask", named="nothing hidden")
def causal_all_true(size):
    return torch.full((size, size), True)


@BANK.wrong("causal_mask", named="axes for sentences and heads")
def causal_for_heads(size):
    return causal_by_tril(size).view(1, 1, size, size)


@BANK.wrong("causal_mask")
def causal_without_axes_of_one(size):
    return causal_by_tril(size).squeeze()


@BANK.wrong("causal_mask")
def causal_printed(size):
    print(causal_by_tril(size))


# ------------------------------------------------------------------------------- padding_mask


@BANK.right("padding_mask")
def padding_by_unsqueeze(token_ids, pad_id=0):
    return (token_ids != pad_id).unsqueeze(1).unsqueeze(2)


@BANK.right("padding_mask")
def padding_by_view(token_ids, pad_id=0):
    return token_ids.ne(pad_id).view(token_ids.size(0), 1, 1, -1)


@BANK.right("padding_mask")
def padding_by_inverting(token_ids, pad_id=0, device=None):
    is_pad = token_ids == pad_id
    return ~is_pad[:, None, None]


@BANK.right("padding_mask")
def padding_by_loops(token_ids, pad_id=0):
    batch, length = token_ids.shape
    mask = torch.ones(batch, 1, 1, length, dtype=torch.bool)
    for b in range(batch):
        for j in range(length):
            if token_ids[b, j].item() == pad_id:
                mask[b, 0, 0, j] = False
    return mask


@BANK.right("padding_mask")
def padding_by_subtracting(token_ids, pad_id=0):
    return (token_ids - pad_id).bool().reshape(len(token_ids), 1, 1, -1)


@BANK.right("padding_mask")
def padding_by_where(token_ids, pad_id=0):
    return torch.where(token_ids == pad_id, False, True).unflatten(0, (-1, 1, 1))


@BANK.right("padding_mask")
def padding_sentence_by_sentence(token_ids, pad_id=0):
    rows = [[token != pad_id for token in sentence] for sentence in token_ids.tolist()]
    return torch.tensor(rows)[:, None, None, :]


@BANK.right("padding_mask")
def padding_by_isin(token_ids, pad_id=0):
    pads = torch.tensor([pad_id])
    return torch.isin(token_ids, pads, invert=True)[:, None, None]


@BANK.wrong("padding_mask", named="inverted mask")
def padding_where_the_pads_are(token_ids, pad_id=0):
    return (token_ids == pad_id).unsqueeze(1).unsqueeze(1)


@BANK.wrong("padding_mask", named="three axes only")
def padding_in_three_axes(token_ids, pad_id=0):
    return (token_ids != pad_id).unsqueeze(1)


@BANK.wrong("padding_mask", named="pads hidden as queries, not as keys")
def padding_in_rows(token_ids, pad_id=0):
    return (token_ids != pad_id).unsqueeze(1).unsqueeze(3)


@BANK.wrong("padding_mask", named="pads hidden as queries too")
def padding_in_rows_and_columns(token_ids, pad_id=0):
    word = token_ids != pad_id
    return (word[:, :, None] & word[:, None, :]).unsqueeze(1)


@BANK.wrong("padding_mask", named="numbers instead of bool")
def padding_in_floats(token_ids, pad_id=0):
    return (token_ids != pad_id).float()[:, None, None, :]


@BANK.wrong("padding_mask", named="minus infinity for hidden")
def padding_to_be_added(token_ids, pad_id=0):
    mask = torch.zeros(token_ids.shape)
    mask[token_ids == pad_id] = -torch.inf
    return mask[:, None, None, :]


@BANK.wrong("padding_mask", named="argument pad_id ignored")
def padding_by_truth(token_ids, pad_id=0):
    return token_ids.bool()[:, None, None, :]


@BANK.wrong("padding_mask", named="words counted instead of found")
def padding_by_lengths(token_ids, pad_id=0):
    lengths = (token_ids != pad_id).sum(dim=1)
    places = torch.arange(token_ids.shape[1])
    return (places[None, :] < lengths[:, None])[:, None, None, :]


@BANK.wrong("padding_mask")
def padding_of_one_sentence_only(token_ids, pad_id=0):
    return (token_ids[0] != pad_id).view(1, 1, 1, -1)


@BANK.wrong("padding_mask")
def padding_squeezed(token_ids, pad_id=0):
    return (token_ids != pad_id)[:, None, None, :].squeeze()


@BANK.wrong("padding_mask")
def padding_by_view_of_contiguous_ids_only(token_ids, pad_id=0):
    return (token_ids.view(-1) != pad_id).view(len(token_ids), 1, 1, -1)


@BANK.wrong("padding_mask")
def padding_that_changes_the_ids(token_ids, pad_id=0):
    token_ids -= pad_id
    return (token_ids != 0)[:, None, None, :]


@BANK.wrong("padding_mask")
def padding_of_the_example(token_ids, pad_id=0):
    return torch.tensor([[True, True, False, False], [True] * 4])[:, None, None, :]


@BANK.wrong("padding_mask")
def padding_nowhere(token_ids, pad_id=0):
    batch, length = token_ids.shape
    return torch.ones(batch, 1, 1, length, dtype=torch.bool)


@BANK.wrong("padding_mask")
def padding_of_the_transposed_ids(token_ids, pad_id=0):
    return (token_ids.T != pad_id)[:, None, None, :]


@BANK.wrong("padding_mask")
def padding_read_in_the_wrong_order(token_ids, pad_id=0):
    batch, length = token_ids.shape
    return (token_ids != pad_id).T.reshape(batch, 1, 1, length)


# ------------------------------------------------------------------------------- decoder_mask


@BANK.right("decoder_mask")
def decoder_from_two_masks(token_ids, pad_id=0):
    return padding_by_unsqueeze(token_ids, pad_id) & causal_by_tril(token_ids.size(1))


@BANK.right("decoder_mask")
def decoder_by_three_loops(token_ids, pad_id=0):
    batch, length = token_ids.shape
    mask = torch.zeros(batch, 1, length, length, dtype=torch.bool)
    for b in range(batch):
        for i in range(length):
            for j in range(i + 1):
                mask[b, 0, i, j] = token_ids[b, j] != pad_id
    return mask


@BANK.right("decoder_mask")
def decoder_by_tril_of_the_words(token_ids, pad_id=0):
    batch, length = token_ids.shape
    words = (token_ids != pad_id)[:, None, None, :].expand(batch, 1, length, length)
    return words.tril()


@BANK.right("decoder_mask")
def decoder_by_einsum(token_ids, pad_id=0):
    words = (token_ids != pad_id).float()
    past = causal_by_tril(token_ids.shape[1]).float()
    return torch.einsum("bj,ij->bij", words, past).bool().unsqueeze(1)


@BANK.right("decoder_mask")
def decoder_by_hiding(token_ids, pad_id=0, heads=1):
    future = torch.ones(token_ids.shape[1], token_ids.shape[1], dtype=torch.bool).triu(1)
    is_pad = (token_ids == pad_id)[:, None, None, :]
    return ~(is_pad | future)


@BANK.right("decoder_mask")
def decoder_sentence_by_sentence(token_ids, pad_id=0):
    causal = causal_by_loops(token_ids.shape[1])
    return torch.stack([causal & (row != pad_id) for row in token_ids])[:, None]


@BANK.right("decoder_mask")
def decoder_by_product_of_numbers(token_ids, pad_id=0):
    padding = padding_by_view(token_ids, pad_id).int()
    return (padding * causal_by_numpy(token_ids.shape[-1]).int()) == 1


@BANK.right("decoder_mask")
def decoder_by_comparing_positions(token_ids, pad_id=0):
    # a pad is moved beyond the end, where no query reaches
    batch, length = token_ids.shape
    place = torch.arange(length).expand(batch, length).masked_fill(token_ids == pad_id, length)
    return place[:, None, None, :] <= torch.arange(length)[:, None]


@BANK.right("decoder_mask")
def decoder_by_logical_and(token_ids, pad_id=0):
    return torch.logical_and(
        padding_by_inverting(token_ids, pad_id), causal_by_lists(token_ids.shape[1])[None, None]
    )


@BANK.wrong("decoder_mask", named="padding forgotten")
def decoder_without_padding(token_ids, pad_id=0):
    batch, length = token_ids.shape
    return causal_by_tril(length).repeat(batch, 1, 1, 1)


@BANK.wrong("decoder_mask", named="the causal mask alone")
def decoder_is_causal(token_ids, pad_id=0):
    return causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="the causal mask for one sentence")
def decoder_is_causal_with_four_axes(token_ids, pad_id=0):
    return causal_by_tril(token_ids.shape[1])[None, None]


@BANK.wrong("decoder_mask", named="the padding mask alone")
def decoder_is_padding(token_ids, pad_id=0):
    return padding_by_view(token_ids, pad_id)


@BANK.wrong("decoder_mask", named="joined by or")
def decoder_by_sum(token_ids, pad_id=0):
    padding = padding_by_view(token_ids, pad_id).int()
    return (padding + causal_by_tril(token_ids.shape[1]).int()) > 0


@BANK.wrong("decoder_mask", named="inverted mask")
def decoder_of_what_is_hidden(token_ids, pad_id=0):
    return padding_where_the_pads_are(token_ids, pad_id) | ~causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="pads hidden as queries, not as keys")
def decoder_with_padding_in_rows(token_ids, pad_id=0):
    return padding_in_rows(token_ids, pad_id) & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="pads hidden as queries too")
def decoder_with_padding_in_rows_and_columns(token_ids, pad_id=0):
    return padding_in_rows_and_columns(token_ids, pad_id) & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="padding of shape (B, T) with the causal mask")
def decoder_by_broadcasting_two_axes(token_ids, pad_id=0):
    return (token_ids != pad_id) & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask")
def decoder_right_for_one_sentence_only(token_ids, pad_id=0):
    return ((token_ids != pad_id) & causal_by_tril(token_ids.shape[1]))[None, None]


@BANK.wrong("decoder_mask")
def decoder_with_sentences_as_queries(token_ids, pad_id=0):
    return (token_ids != pad_id)[None, None] & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="the axis of the heads left out")
def decoder_in_three_axes(token_ids, pad_id=0):
    return padding_in_three_axes(token_ids, pad_id) & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask")
def decoder_with_heads_and_sentences_swapped(token_ids, pad_id=0):
    return decoder_from_two_masks(token_ids, pad_id).transpose(0, 1)


@BANK.wrong("decoder_mask", named="numbers instead of bool")
def decoder_in_floats(token_ids, pad_id=0):
    return padding_in_floats(token_ids, pad_id) * causal_in_floats(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="the diagonal hidden")
def decoder_that_hides_the_diagonal(token_ids, pad_id=0):
    return padding_by_view(token_ids, pad_id) & causal_strictly_before(token_ids.shape[1])


@BANK.wrong("decoder_mask")
def decoder_transposed(token_ids, pad_id=0):
    return decoder_from_two_masks(token_ids, pad_id).transpose(-2, -1)


@BANK.wrong("decoder_mask", named="padding sees itself")
def decoder_without_empty_rows(token_ids, pad_id=0):
    mask = decoder_from_two_masks(token_ids, pad_id).clone()
    mask.diagonal(dim1=-2, dim2=-1).fill_(True)
    return mask


@BANK.wrong("decoder_mask")
def decoder_that_opens_empty_rows(token_ids, pad_id=0):
    mask = decoder_from_two_masks(token_ids, pad_id)
    return mask | ~mask.any(dim=-1, keepdim=True)


@BANK.wrong("decoder_mask", named="argument pad_id ignored")
def decoder_that_does_not_pass_on_pad_id(token_ids, pad_id=0):
    return padding_by_view(token_ids) & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="the first sentence's padding for all")
def decoder_with_one_padding_for_all(token_ids, pad_id=0):
    mask = (token_ids[0] != pad_id) & causal_by_tril(token_ids.shape[1])
    return mask.expand(len(token_ids), 1, -1, -1)


@BANK.wrong("decoder_mask")
def decoder_that_changes_the_ids(token_ids, pad_id=0):
    mask = decoder_from_two_masks(token_ids, pad_id)
    token_ids[token_ids == pad_id] = -1
    return mask


@BANK.wrong("decoder_mask")
def decoder_of_contiguous_ids_only(token_ids, pad_id=0):
    flat = token_ids.view(-1) != pad_id
    words = flat.view(len(token_ids), 1, 1, -1)
    return words & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask")
def decoder_of_the_example(token_ids, pad_id=0):
    return torch.tensor([[[[True, False, False], [True, True, False], [True, True, False]]]])


@BANK.wrong("decoder_mask")
def decoder_of_the_number_of_words(token_ids, pad_id=0):
    return padding_by_lengths(token_ids, pad_id) & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask")
def decoder_as_a_pair(token_ids, pad_id=0):
    return padding_by_view(token_ids, pad_id), causal_by_tril(token_ids.shape[1])


# -------------------------------------------------------------------------------- shift_right


@BANK.right("shift_right")
def shift_into_an_empty_tensor(target_ids, bos_id):
    shifted = torch.empty_like(target_ids)
    shifted[:, 0] = bos_id
    shifted[:, 1:] = target_ids[:, :-1]
    return shifted


@BANK.right("shift_right")
def shift_by_rolling(target_ids, bos_id):
    shifted = torch.roll(target_ids, shifts=1, dims=1)
    shifted[:, 0] = bos_id
    return shifted


@BANK.right("shift_right")
def shift_by_padding(target_ids, bos_id):
    return F.pad(target_ids[:, :-1], (1, 0), value=bos_id)


@BANK.right("shift_right")
def shift_by_loops(target_ids, bos_id):
    batch, length = target_ids.shape
    shifted = torch.zeros(batch, length, dtype=torch.long)
    for b in range(batch):
        for t in range(length):
            shifted[b, t] = bos_id if t == 0 else target_ids[b, t - 1]
    return shifted


@BANK.right("shift_right")
def shift_by_lists(target_ids, bos_id):
    return torch.tensor([[bos_id, *row[:-1]] for row in target_ids.tolist()])


@BANK.right("shift_right")
def shift_by_a_column_of_integers(target_ids, bos_id):
    column = torch.full((target_ids.shape[0], 1), bos_id)
    return torch.hstack((column, target_ids))[:, :-1]


@BANK.right("shift_right")
def shift_from_the_right_in_a_copy(target_ids, bos_id, inplace=False):
    shifted = target_ids.clone()
    for t in range(target_ids.shape[1] - 1, 0, -1):
        shifted[:, t] = shifted[:, t - 1]
    shifted[:, 0] = bos_id
    return shifted


@BANK.right("shift_right")
def shift_by_gathering(target_ids, bos_id):
    before = torch.arange(target_ids.shape[1]) - 1
    shifted = target_ids[:, before.clamp(min=0)]
    return torch.where(before < 0, bos_id, shifted)


@BANK.wrong("shift_right", named="shifted left")
def shift_to_the_left(target_ids, bos_id):
    return F.pad(target_ids[:, 1:], (0, 1), value=bos_id)


@BANK.wrong("shift_right")
def shift_to_the_left_with_bos_in_front(target_ids, bos_id):
    shifted = target_ids.roll(-1, dims=1)
    shifted[:, 0] = bos_id
    return shifted


@BANK.wrong("shift_right", named="last token kept")
def shift_that_grows(target_ids, bos_id):
    return F.pad(target_ids, (1, 0), value=bos_id)


@BANK.wrong("shift_right", named="last token brought round to the front")
def shift_in_a_circle(target_ids, bos_id):
    return torch.roll(target_ids, 1, 1)


@BANK.wrong("shift_right")
def shift_of_the_flattened_ids(target_ids, bos_id):
    shifted = torch.roll(target_ids, 1)
    shifted[0, 0] = bos_id
    return shifted


@BANK.wrong("shift_right")
def shift_in_place(target_ids, bos_id):
    target_ids[:, 1:] = target_ids[:, :-1].clone()
    target_ids[:, 0] = bos_id
    return target_ids


@BANK.wrong("shift_right")
def shift_that_reads_a_copy_and_writes_the_targets(target_ids, bos_id):
    shifted = target_ids
    shifted[:, 0] = bos_id
    return shifted


@BANK.wrong("shift_right", named="start token everywhere")
def shift_that_smears(target_ids, bos_id):
    shifted = target_ids.clone()
    shifted[:, 0] = bos_id
    for t in range(1, target_ids.shape[1]):
        shifted[:, t] = shifted[:, t - 1]
    return shifted


@BANK.wrong("shift_right", named="shifted along the batch")
def shift_of_sentences(target_ids, bos_id):
    shifted = target_ids.roll(1, dims=0)
    shifted[0] = bos_id
    return shifted


@BANK.wrong("shift_right", named="first word overwritten")
def shift_that_moves_nothing(target_ids, bos_id):
    shifted = target_ids.clone()
    shifted[:, 0] = bos_id
    return shifted


@BANK.wrong("shift_right", named="start token missing")
def shift_that_only_cuts(target_ids, bos_id):
    return target_ids[:, :-1].clone()


@BANK.wrong("shift_right", named="floats instead of whole numbers")
def shift_with_a_column_of_floats(target_ids, bos_id):
    column = torch.ones(target_ids.shape[0], 1) * bos_id
    return torch.cat([column, target_ids[:, :-1]], dim=1)


@BANK.wrong("shift_right")
def shift_in_half_the_bits(target_ids, bos_id):
    return shift_by_rolling(target_ids, bos_id).int()


@BANK.wrong("shift_right", named="argument bos_id ignored, 1 in its place")
def shift_with_a_one(target_ids, bos_id):
    return F.pad(target_ids[:, :-1], (1, 0), value=1)


@BANK.wrong("shift_right", named="last word left out instead of the last place")
def shift_without_the_last_word(target_ids, bos_id):
    rows = []
    for row in target_ids.tolist():
        words = [token for token in row if token != 0]
        rows.append([bos_id, *words[:-1]] + [0] * (len(row) - len(words)))
    return torch.tensor(rows)


@BANK.wrong("shift_right")
def shift_that_wants_two_targets(target_ids, bos_id):
    first, rest = target_ids[:, :1], target_ids[:, 1:-1]
    column = torch.full_like(first, bos_id)
    return torch.cat([column, first, rest], dim=1)


@BANK.wrong("shift_right")
def shift_of_one_sentence_only(target_ids, bos_id):
    return torch.cat([torch.tensor([[bos_id]]), target_ids[:1, :-1]], dim=1)


@BANK.wrong("shift_right")
def shift_of_contiguous_ids_only(target_ids, bos_id):
    batch, length = target_ids.shape
    return shift_by_rolling(target_ids.view(-1).view(batch, length), bos_id)


@BANK.wrong("shift_right")
def shift_by_two(target_ids, bos_id):
    return F.pad(target_ids, (2, 0), value=bos_id)[:, : target_ids.shape[1]]


@BANK.wrong("shift_right")
def shift_of_the_example(target_ids, bos_id):
    return torch.tensor([[1, 5, 3], [1, 4, 2]])


@BANK.wrong("shift_right")
def shift_as_a_list(target_ids, bos_id):
    return shift_by_lists(target_ids, bos_id).tolist()


@BANK.wrong("shift_right")
def shift_with_input_and_target(target_ids, bos_id):
    return shift_by_rolling(target_ids, bos_id), target_ids


@BANK.wrong("padding_mask", named="identity for equality")
def padding_by_identity(token_ids, pad_id=0):
    return torch.tensor([[[[word is not pad_id for word in row]]] for row in token_ids.tolist()])


@BANK.wrong("padding_mask")
def padding_in_half_precision(token_ids, pad_id=0):
    return (token_ids.half() != pad_id)[:, None, None]


@BANK.wrong("decoder_mask", named="identity for equality")
def decoder_by_identity(token_ids, pad_id=0):
    length = token_ids.shape[1]
    rows = [
        [[j <= i and row[j] is not pad_id for j in range(length)] for i in range(length)]
        for row in token_ids.tolist()
    ]
    return torch.tensor(rows)[:, None]


@BANK.wrong("decoder_mask")
def decoder_by_exclusive_or(token_ids, pad_id=0):
    return causal_by_tril(token_ids.shape[1]) ^ (token_ids != pad_id)[:, None, None]


@BANK.right("decoder_mask")
def decoder_by_mapping_over_sentences(token_ids, pad_id=0):
    past = causal_by_tril(token_ids.shape[1])
    return torch.vmap(lambda row: (past & (row != pad_id)).unsqueeze(0))(token_ids)


@BANK.right("shift_right")
def shift_by_a_matrix(target_ids, bos_id):
    step = torch.diag(torch.ones(target_ids.shape[1] - 1, dtype=torch.int64), 1)
    shifted = target_ids @ step
    shifted[:, 0] += bos_id
    return shifted


@BANK.wrong("shift_right", named="shifted left, with 0 at the end")
def shift_to_the_left_with_padding(target_ids, bos_id):
    return torch.cat([target_ids[:, 1:], torch.zeros_like(target_ids[:, :1])], dim=1)


@BANK.wrong("shift_right", named="first target cut off")
def shift_that_cuts_in_front(target_ids, bos_id):
    return target_ids[:, 1:]


@BANK.wrong("shift_right", named="a single target left as it is")
def shift_unless_there_is_one_target(target_ids, bos_id):
    if target_ids.shape[1] == 1:
        return target_ids.clone()
    return shift_by_padding(target_ids, bos_id)


@BANK.wrong("shift_right")
def shift_without_the_end_of_a_sentence(target_ids, bos_id):
    shifted = shift_by_padding(target_ids, bos_id)
    return torch.where(shifted == 2, 0, shifted)


# ----------------------------------------------------------------- more ways, right and wrong


@BANK.right("causal_mask")
def causal_by_where(size):
    i, j = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    return torch.where(j > i, False, True)


@BANK.right("causal_mask")
def causal_by_rows(size):
    mask = torch.zeros((size, size), dtype=torch.bool)
    for row in range(size):
        mask[row, : row + 1] = True
    return mask


@BANK.right("causal_mask")
def causal_by_distances(size):
    place = torch.arange(size)
    return (place.unsqueeze(1) - place).ge(0)


@BANK.wrong("causal_mask", named="a row and a column too many")
def causal_that_counts_to_the_size(size):
    place = torch.arange(size + 1)
    return place[None] <= place[:, None]


@BANK.wrong("causal_mask", named="the past without the first word")
def causal_that_begins_at_one(size):
    mask = torch.eye(size, dtype=torch.bool)
    for row in range(size):
        mask[row, 1 : row + 1] = True
    return mask


@BANK.wrong("causal_mask", named="each word sees itself alone")
def causal_by_equality(size):
    place = torch.arange(size)
    return place == place[:, None]


@BANK.wrong("causal_mask", named="minus infinity for hidden")
def causal_filled_with_a_large_number(size):
    mask = torch.zeros(size, size)
    return mask.masked_fill(torch.ones(size, size).triu(1).bool(), -1e9)


@BANK.right("padding_mask")
def padding_by_broadcast_comparison(token_ids, pad_id=0):
    return token_ids.reshape(token_ids.size(0), 1, 1, -1).ne(pad_id)


@BANK.right("padding_mask")
def padding_by_logical_not(token_ids, pad_id=0):
    return torch.logical_not(torch.eq(token_ids, pad_id))[:, None, None, :]


@BANK.wrong("padding_mask", named="padding shown")
def padding_all_true(token_ids, pad_id=0):
    return torch.ones(len(token_ids), 1, 1, token_ids.shape[1]).bool()


@BANK.right("decoder_mask")
def decoder_by_filling(token_ids, pad_id=0):
    length = token_ids.size(1)
    mask = torch.ones(len(token_ids), 1, length, length, dtype=torch.bool).tril()
    return mask.masked_fill((token_ids == pad_id)[:, None, None, :], False)


@BANK.wrong("decoder_mask", named="queries and keys exchanged")
def decoder_of_columns(token_ids, pad_id=0):
    return decoder_by_filling(token_ids, pad_id).mT


@BANK.wrong("decoder_mask")
def decoder_upside_down_and_in_three_axes(token_ids, pad_id=0):
    upper = torch.ones(token_ids.shape[1], token_ids.shape[1]).triu().bool()
    return (token_ids != pad_id)[:, None, :] & upper


@BANK.wrong("decoder_mask", named="padding hidden only at the end")
def decoder_up_to_the_last_word(token_ids, pad_id=0):
    rest = (token_ids != pad_id).flip(1).cumsum(1).flip(1) > 0
    return rest[:, None, None] & causal_by_rows(token_ids.shape[1])


@BANK.right("shift_right")
def shift_by_constant_pad(target_ids, bos_id):
    return torch.nn.functional.pad(target_ids, (1, -1), mode="constant", value=bos_id)


@BANK.right("shift_right")
def shift_by_columns(target_ids, bos_id):
    columns = [torch.full_like(target_ids[:, 0], bos_id), *target_ids.unbind(1)]
    return torch.stack(columns[:-1], dim=1)


@BANK.wrong("shift_right", named="shifted as one long row")
def shift_by_flat_roll(target_ids, bos_id):
    return target_ids.roll(1)


@BANK.wrong("shift_right", named="start token at the end")
def shift_with_bos_last(target_ids, bos_id):
    shifted = target_ids.clone()
    shifted[:, -1] = bos_id
    return shifted
