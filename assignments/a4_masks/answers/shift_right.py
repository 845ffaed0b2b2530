"""Answers to `shift_right`."""

import torch
import torch.nn.functional as F

from assignments.a4_masks.answers.bank import BANK


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


@BANK.wrong("shift_right", named="shifted left, bos_id in front")
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


@BANK.wrong("shift_right", named="shifted as one long row")
def shift_of_the_flattened_ids(target_ids, bos_id):
    shifted = torch.roll(target_ids, 1)
    shifted[0, 0] = bos_id
    return shifted


@BANK.wrong("shift_right", told="inputs changed")
def shift_in_place(target_ids, bos_id):
    target_ids[:, 1:] = target_ids[:, :-1].clone()
    target_ids[:, 0] = bos_id
    return target_ids


@BANK.wrong("shift_right", named="first word overwritten")
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


@BANK.wrong("shift_right", told="another dtype")
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


@BANK.wrong("shift_right", named="last token kept")
def shift_that_wants_two_targets(target_ids, bos_id):
    first, rest = target_ids[:, :1], target_ids[:, 1:-1]
    column = torch.full_like(first, bos_id)
    return torch.cat([column, first, rest], dim=1)


@BANK.wrong("shift_right", told="too short or too long")
def shift_of_one_sentence_only(target_ids, bos_id):
    return torch.cat([torch.tensor([[bos_id]]), target_ids[:1, :-1]], dim=1)


@BANK.wrong("shift_right", told=("stops with RuntimeError", "wrong with gaps in memory"))
def shift_of_contiguous_ids_only(target_ids, bos_id):
    batch, length = target_ids.shape
    return shift_by_rolling(target_ids.view(-1).view(batch, length), bos_id)


@BANK.wrong("shift_right", named="shifted by two places")
def shift_by_two(target_ids, bos_id):
    return F.pad(target_ids, (2, 0), value=bos_id)[:, : target_ids.shape[1]]


@BANK.wrong("shift_right", told="always one shape")
def shift_of_the_example(target_ids, bos_id):
    return torch.tensor([[1, 5, 3], [1, 4, 2]])


@BANK.wrong("shift_right", told="a list of numbers")
def shift_as_a_list(target_ids, bos_id):
    return shift_by_lists(target_ids, bos_id).tolist()


@BANK.wrong("shift_right", told="more results than asked")
def shift_with_input_and_target(target_ids, bos_id):
    return shift_by_rolling(target_ids, bos_id), target_ids


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


@BANK.wrong("shift_right", named="end of the sentence left out")
def shift_without_the_end_of_a_sentence(target_ids, bos_id):
    shifted = shift_by_padding(target_ids, bos_id)
    return torch.where(shifted == 2, 0, shifted)


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


@BANK.wrong("shift_right", named="a bos_id of 0 taken for none")
def shift_with_one_for_no_bos(target_ids, bos_id):
    return F.pad(target_ids[:, :-1], (1, 0), value=bos_id or 1)


@BANK.wrong("shift_right", named="the sign of bos_id lost")
def shift_with_the_size_of_bos(target_ids, bos_id):
    return F.pad(target_ids[:, :-1], (1, 0), value=abs(bos_id))


@BANK.wrong("shift_right", named="argument bos_id ignored, 1 in its place")
def shift_with_one_for_bos_below_one(target_ids, bos_id):
    return F.pad(target_ids[:, :-1], (1, 0), value=bos_id if bos_id > 0 else 1)


@BANK.wrong("shift_right", named="shifted along the batch")
def shift_of_sentences_with_bos_in_front(target_ids, bos_id):
    shifted = target_ids.roll(1, dims=0)
    shifted[:, 0] = bos_id
    return shifted


@BANK.wrong("shift_right", named="shifted along the batch")
def shift_of_sentences_alone(target_ids, bos_id):
    return torch.roll(target_ids, 1, 0)


@BANK.right("shift_right")
def shift_by_where(target_ids, bos_id):
    first = torch.arange(target_ids.shape[1]) == 0
    return torch.where(first, bos_id, target_ids.roll(1, dims=1))


@BANK.wrong("shift_right", named="first target everywhere")
def shift_that_smears_behind_bos(target_ids, bos_id):
    shifted = target_ids.clone()
    for t in range(1, shifted.shape[1]):
        shifted[:, t] = shifted[:, t - 1]
    shifted[:, 0] = bos_id
    return shifted


@BANK.wrong("shift_right", named="a list of rows")
def shift_row_by_row_in_a_list(target_ids, bos_id):
    return [torch.cat([row.new_tensor([bos_id]), row[:-1]]) for row in target_ids]
