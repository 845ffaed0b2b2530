"""Answers to `padding_mask`."""

import torch

from assignments.a4_masks.answers.bank import BANK


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


@BANK.wrong(
    "padding_mask",
    named="pads hidden as queries, not as keys",
    published="hyunwoongko/transformer#40",
)
def padding_in_rows(token_ids, pad_id=0):
    """The new axis is the last one, so rows are hidden and not columns."""
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


@BANK.wrong("padding_mask", named="argument pad_id ignored", published="jingtaozhan/DRhard#23")
def padding_by_truth(token_ids, pad_id=0):
    """Padding is taken to be 0, although the vocabulary has another id for it."""
    return token_ids.bool()[:, None, None, :]


@BANK.wrong("padding_mask", named="words counted instead of found")
def padding_by_lengths(token_ids, pad_id=0):
    lengths = (token_ids != pad_id).sum(dim=1)
    places = torch.arange(token_ids.shape[1])
    return (places[None, :] < lengths[:, None])[:, None, None, :]


@BANK.wrong("padding_mask", named="the first sentence alone")
def padding_of_one_sentence_only(token_ids, pad_id=0):
    return (token_ids[0] != pad_id).view(1, 1, 1, -1)


@BANK.wrong("padding_mask", named="axes of length 1 dropped")
def padding_squeezed(token_ids, pad_id=0):
    return (token_ids != pad_id)[:, None, None, :].squeeze()


@BANK.wrong("padding_mask", told=("stops with RuntimeError", "wrong with gaps in memory"))
def padding_by_view_of_contiguous_ids_only(token_ids, pad_id=0):
    return (token_ids.view(-1) != pad_id).view(len(token_ids), 1, 1, -1)


@BANK.wrong("padding_mask", told="inputs changed")
def padding_that_changes_the_ids(token_ids, pad_id=0):
    token_ids -= pad_id
    return (token_ids != 0)[:, None, None, :]


@BANK.wrong("padding_mask", told="always one shape")
def padding_of_the_example(token_ids, pad_id=0):
    return torch.tensor([[True, True, False, False], [True] * 4])[:, None, None, :]


@BANK.wrong("padding_mask", named="padding shown")
def padding_nowhere(token_ids, pad_id=0):
    batch, length = token_ids.shape
    return torch.ones(batch, 1, 1, length, dtype=torch.bool)


@BANK.wrong("padding_mask", told="axes exchanged")
def padding_of_the_transposed_ids(token_ids, pad_id=0):
    return (token_ids.T != pad_id)[:, None, None, :]


@BANK.wrong("padding_mask")
def padding_read_in_the_wrong_order(token_ids, pad_id=0):
    batch, length = token_ids.shape
    return (token_ids != pad_id).T.reshape(batch, 1, 1, length)


@BANK.wrong("padding_mask", named="identity for equality")
def padding_by_identity(token_ids, pad_id=0):
    return torch.tensor([[[[word is not pad_id for word in row]]] for row in token_ids.tolist()])


@BANK.wrong("padding_mask")
def padding_in_half_precision(token_ids, pad_id=0):
    return (token_ids.half() != pad_id)[:, None, None]


@BANK.right("padding_mask")
def padding_by_broadcast_comparison(token_ids, pad_id=0):
    return token_ids.reshape(token_ids.size(0), 1, 1, -1).ne(pad_id)


@BANK.right("padding_mask")
def padding_by_logical_not(token_ids, pad_id=0):
    return torch.logical_not(torch.eq(token_ids, pad_id))[:, None, None, :]


@BANK.wrong("padding_mask", named="padding shown")
def padding_all_true(token_ids, pad_id=0):
    return torch.ones(len(token_ids), 1, 1, token_ids.shape[1]).bool()


@BANK.wrong("padding_mask", named="words marked by the number of the padding")
def padding_written_into_a_copy_word_by_word(token_ids, pad_id=0):
    mask = token_ids.clone()
    mask[mask != pad_id] = 1
    mask[mask == pad_id] = 0
    return mask.bool()[:, None, None, :]


@BANK.right("padding_mask")
def padding_written_into_a_copy_by_the_ids(token_ids, pad_id=0):
    mask = token_ids.clone()
    mask[token_ids != pad_id] = 1
    mask[token_ids == pad_id] = 0
    return mask.bool()[:, None, None, :]


@BANK.wrong("padding_mask", named="first padding taken for the length")
def padding_after_the_first_place(token_ids, pad_id=0):
    lengths = (token_ids == pad_id).int().argmax(1)
    return (torch.arange(token_ids.shape[1]) < lengths[:, None])[:, None, None, :]


@BANK.wrong("padding_mask", told="one truth value")
def padding_by_asking_for_identity(token_ids, pad_id=0):
    return token_ids is not pad_id


@BANK.wrong("padding_mask", told="the opposite mask, or one that hides too much or too little")
def padding_with_the_ids_themselves(token_ids, pad_id=0):
    return token_ids.masked_fill(token_ids == pad_id, 0)[:, None, None]


@BANK.wrong("padding_mask", named="a list")
def padding_in_lists(token_ids, pad_id=0):
    return [[[[word != pad_id for word in row]]] for row in token_ids.tolist()]
