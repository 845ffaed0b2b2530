"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

import torch

from assignments.a4_masks.answers.bank import BANK
from course_utils import masks


@BANK.wrong("causal_mask")
def causal_up_to_512(size):
    return masks.causal_mask(512)[:size, :size]


@BANK.wrong("padding_mask", named="padding shown")
def padding_within_a_hundred_places(token_ids, pad_id=0):
    mask = masks.padding_mask(token_ids, pad_id)
    mask[..., 100:] = True
    return mask


@BANK.wrong("padding_mask", told="the opposite mask, or one that hides too much or too little")
def padding_of_ids_in_16_bits(token_ids, pad_id=0):
    return masks.padding_mask(token_ids.short(), int(torch.tensor(pad_id).short()))


@BANK.wrong("padding_mask", told="the opposite mask, or one that hides too much or too little")
def padding_of_sizes_of_ids(token_ids, pad_id=0):
    return masks.padding_mask(token_ids.abs(), abs(pad_id))


@BANK.wrong("decoder_mask", told=("stops with RuntimeError", "wrong for larger T"))
def decoder_up_to_a_hundred(token_ids, pad_id=0):
    length = token_ids.shape[1]
    return masks.padding_mask(token_ids, pad_id) & masks.causal_mask(100)[:length, :length]


@BANK.wrong("shift_right", told="right in part")
def shifted_in_16_bits(target_ids, bos_id):
    return masks.shift_right(target_ids.half().long(), bos_id)


@BANK.wrong("shift_right", told="too short or too long")
def shifted_for_ten_sentences(target_ids, bos_id):
    return masks.shift_right(target_ids[:10], bos_id)


@BANK.wrong("shift_right", told="right in part")
def shifted_up_to_a_hundred_words(target_ids, bos_id):
    shifted = masks.shift_right(target_ids, bos_id)
    return torch.cat([shifted[:, :100], target_ids[:, 100:]], dim=1)
