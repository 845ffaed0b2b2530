"""Answers to `decoder_mask`."""

import torch

from assignments.a4_masks.answers.bank import BANK
from assignments.a4_masks.answers.causal_mask import (
    causal_by_lists,
    causal_by_loops,
    causal_by_numpy,
    causal_by_rows,
    causal_by_tril,
    causal_in_floats,
    causal_strictly_before,
)
from assignments.a4_masks.answers.padding_mask import (
    padding_by_inverting,
    padding_by_lengths,
    padding_by_unsqueeze,
    padding_by_view,
    padding_in_floats,
    padding_in_rows,
    padding_in_rows_and_columns,
    padding_in_three_axes,
    padding_where_the_pads_are,
)


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


@BANK.wrong("decoder_mask", named="inverted mask", published="huggingface/transformers#38094")
def decoder_of_what_is_hidden(token_ids, pad_id=0):
    """A mask that is not 0 where it hides is turned to bool, so True hides."""
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


@BANK.wrong("decoder_mask", named="padding of shape (B, T) with the causal mask")
def decoder_right_for_one_sentence_only(token_ids, pad_id=0):
    return ((token_ids != pad_id) & causal_by_tril(token_ids.shape[1]))[None, None]


@BANK.wrong("decoder_mask", named="padding of shape (B, T) with the causal mask")
def decoder_with_sentences_as_queries(token_ids, pad_id=0):
    return (token_ids != pad_id)[None, None] & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="the axis of the heads left out")
def decoder_in_three_axes(token_ids, pad_id=0):
    return padding_in_three_axes(token_ids, pad_id) & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="sentences where the heads belong")
def decoder_with_heads_and_sentences_swapped(token_ids, pad_id=0):
    return decoder_from_two_masks(token_ids, pad_id).transpose(0, 1)


@BANK.wrong("decoder_mask", named="numbers instead of bool")
def decoder_in_floats(token_ids, pad_id=0):
    return padding_in_floats(token_ids, pad_id) * causal_in_floats(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="the diagonal hidden")
def decoder_that_hides_the_diagonal(token_ids, pad_id=0):
    return padding_by_view(token_ids, pad_id) & causal_strictly_before(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="queries and keys exchanged")
def decoder_transposed(token_ids, pad_id=0):
    return decoder_from_two_masks(token_ids, pad_id).transpose(-2, -1)


@BANK.wrong("decoder_mask", named="padding sees itself")
def decoder_without_empty_rows(token_ids, pad_id=0):
    mask = decoder_from_two_masks(token_ids, pad_id).clone()
    mask.diagonal(dim1=-2, dim2=-1).fill_(True)
    return mask


@BANK.wrong("decoder_mask", named="rows without any True opened")
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


@BANK.wrong("decoder_mask", told="inputs changed")
def decoder_that_changes_the_ids(token_ids, pad_id=0):
    mask = decoder_from_two_masks(token_ids, pad_id)
    token_ids[token_ids == pad_id] = -1
    return mask


@BANK.wrong("decoder_mask", told=("stops with RuntimeError", "wrong with gaps in memory"))
def decoder_of_contiguous_ids_only(token_ids, pad_id=0):
    flat = token_ids.view(-1) != pad_id
    words = flat.view(len(token_ids), 1, 1, -1)
    return words & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", told="always one shape")
def decoder_of_the_example(token_ids, pad_id=0):
    return torch.tensor([[[[True, False, False], [True, True, False], [True, True, False]]]])


@BANK.wrong("decoder_mask", named="words counted instead of found")
def decoder_of_the_number_of_words(token_ids, pad_id=0):
    return padding_by_lengths(token_ids, pad_id) & causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", told="several results where one is asked")
def decoder_as_a_pair(token_ids, pad_id=0):
    return padding_by_view(token_ids, pad_id), causal_by_tril(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="identity for equality")
def decoder_by_identity(token_ids, pad_id=0):
    length = token_ids.shape[1]
    rows = [
        [[j <= i and row[j] is not pad_id for j in range(length)] for i in range(length)]
        for row in token_ids.tolist()
    ]
    return torch.tensor(rows)[:, None]


@BANK.wrong("decoder_mask", named="joined by exclusive or")
def decoder_by_exclusive_or(token_ids, pad_id=0):
    return causal_by_tril(token_ids.shape[1]) ^ (token_ids != pad_id)[:, None, None]


@BANK.right("decoder_mask")
def decoder_by_mapping_over_sentences(token_ids, pad_id=0):
    past = causal_by_tril(token_ids.shape[1])
    return torch.vmap(lambda row: (past & (row != pad_id)).unsqueeze(0))(token_ids)


@BANK.right("decoder_mask")
def decoder_by_filling(token_ids, pad_id=0):
    length = token_ids.size(1)
    mask = torch.ones(len(token_ids), 1, length, length, dtype=torch.bool).tril()
    return mask.masked_fill((token_ids == pad_id)[:, None, None, :], False)


@BANK.wrong("decoder_mask", named="queries and keys exchanged")
def decoder_of_columns(token_ids, pad_id=0):
    return decoder_by_filling(token_ids, pad_id).mT


@BANK.wrong("decoder_mask", named=("the axis of the heads left out", "upper triangle"))
def decoder_upside_down_and_in_three_axes(token_ids, pad_id=0):
    upper = torch.ones(token_ids.shape[1], token_ids.shape[1]).triu().bool()
    return (token_ids != pad_id)[:, None, :] & upper


@BANK.wrong("decoder_mask", named="padding hidden only at the end")
def decoder_up_to_the_last_word(token_ids, pad_id=0):
    rest = (token_ids != pad_id).flip(1).cumsum(1).flip(1) > 0
    return rest[:, None, None] & causal_by_rows(token_ids.shape[1])


@BANK.wrong("decoder_mask", named="visible where the two masks agree")
def decoder_where_the_two_masks_are_equal(token_ids, pad_id=0):
    return padding_by_unsqueeze(token_ids, pad_id) == causal_by_tril(token_ids.size(1))


@BANK.wrong("decoder_mask", named="visible where the two masks agree")
def decoder_of_words_before_and_padding_behind(token_ids, pad_id=0):
    words, past = padding_by_unsqueeze(token_ids, pad_id), causal_by_tril(token_ids.size(1))
    return (words & past) | ~(words | past)


@BANK.wrong("decoder_mask", named="visible where the two masks agree")
def decoder_whose_padding_hides_itself_up_to_the_query_alone(token_ids, pad_id=0):
    padding, past = ~padding_by_unsqueeze(token_ids, pad_id), causal_by_tril(token_ids.size(1))
    return torch.where(padding, ~past, past)


@BANK.right("decoder_mask")
def decoder_by_a_product_of_two_masks(token_ids, pad_id=0):
    past = torch.ones(token_ids.shape[1], token_ids.shape[1], dtype=torch.bool).tril()
    return token_ids.ne(pad_id)[:, None, None] * past
