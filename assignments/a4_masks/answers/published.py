"""Wrong answers to assignment 4 that public projects really gave, written anew."""

import torch

from assignments.a4_masks.answers.bank import BANK


@BANK.wrong("padding_mask", published="jingtaozhan/DRhard#23")
def padding_of_id_zero(token_ids, pad_id=0):
    """Padding is taken to be 0, although the vocabulary has another id for it."""
    return token_ids.ne(0)[:, None, None, :]


@BANK.wrong("decoder_mask", published="Biohub/esm#299")
def decoder_where_alike_sees_alike(token_ids, pad_id=0):
    """Query and key are compared, both real or both padding: so padding sees padding."""
    real = token_ids != pad_id
    alike = real.unsqueeze(-1) == real.unsqueeze(-2)
    return alike.tril().unsqueeze(1)


@BANK.wrong("decoder_mask", published="huggingface/transformers#38094")
def decoder_of_an_additive_mask_made_bool(token_ids, pad_id=0):
    """A mask to be added, with a very low number where hidden, is turned to bool as it is."""
    length = token_ids.shape[1]
    hidden = torch.ones(length, length).triu(1).bool() | (token_ids == pad_id)[:, None, None, :]
    to_be_added = torch.zeros(hidden.shape).masked_fill(hidden, torch.finfo(torch.float32).min)
    return to_be_added.bool()


@BANK.wrong("shift_right", published="huggingface/transformers#5991")
def shift_of_an_empty_copy(target_ids, bos_id):
    """What is shifted is a tensor of zeros that was to receive the ids."""
    shifted = torch.zeros_like(target_ids).roll(1, dims=-1)
    start = torch.full((len(shifted), 1), bos_id)
    return torch.cat([start, shifted[:, 1:]], dim=1)


@BANK.wrong("shift_right", published="Project-MONAI/GenerativeModels#314")
def shift_left_to_the_loss(target_ids, bos_id):
    """Nothing is shifted: the model reads the very word that it should predict."""
    return target_ids.clone()
