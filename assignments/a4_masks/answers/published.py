"""Wrong answers to assignment 4 that public projects really gave, written anew."""

import torch

from assignments.a4_masks.answers.bank import BANK


@BANK.wrong("decoder_mask", named="padding sees padding", published="Biohub/esm#299")
def decoder_where_alike_sees_alike(token_ids, pad_id=0):
    """Query and key are compared, both real or both padding: so padding sees padding."""
    real = token_ids != pad_id
    alike = real.unsqueeze(-1) == real.unsqueeze(-2)
    return alike.tril().unsqueeze(1)


@BANK.wrong("shift_right", named="zeros for the targets", published="huggingface/transformers#5991")
def shift_of_an_empty_copy(target_ids, bos_id):
    """What is shifted is a tensor of zeros that was to receive the ids."""
    shifted = torch.zeros_like(target_ids).roll(1, dims=-1)
    start = torch.full((len(shifted), 1), bos_id)
    return torch.cat([start, shifted[:, 1:]], dim=1)


@BANK.wrong("shift_right", named="not shifted", published="Project-MONAI/GenerativeModels#314")
def shift_left_to_the_loss(target_ids, bos_id):
    """Nothing is shifted: the model reads the very word that it should predict."""
    return target_ids.clone()
