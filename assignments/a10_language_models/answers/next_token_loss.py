"""Answers to `next_token_loss`."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from assignments.a10_language_models.answers.bank import BANK

PART = "next_token_loss"


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
def loss_with_classes_in_the_second_axis(logits, token_ids, pad_id=0):
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), token_ids[:, 1:], ignore_index=pad_id)


@BANK.right(PART)
def loss_by_loops(logits, token_ids, pad_id=0):
    terms = []
    for sentence, ids in zip(logits, token_ids, strict=True):
        for row, target in zip(sentence[:-1], ids[1:], strict=True):
            if target != pad_id:
                terms.append(row.logsumexp(0) - row[target])
    return torch.stack(terms).mean()


@BANK.right(PART)
def loss_by_gathering(logits, token_ids, pad_id=0):
    targets = token_ids[:, 1:]
    logs = logits[:, :-1].log_softmax(-1).gather(2, targets[..., None])[..., 0]
    return -logs[targets != pad_id].mean()


@BANK.right(PART)
def loss_by_weights(logits, token_ids, pad_id=0):
    counts = (token_ids[:, 1:] != pad_id).to(logits.dtype)
    each = nn.CrossEntropyLoss(reduction="none")(
        logits[:, :-1].reshape(-1, logits.shape[-1]), token_ids[:, 1:].reshape(-1)
    )
    return (each * counts.flatten()).sum() / counts.sum()


@BANK.right(PART)
def loss_with_targets_of_minus_100(logits, token_ids, pad_id=0):
    targets = token_ids.roll(-1, 1).masked_fill(token_ids.roll(-1, 1) == pad_id, -100)
    targets[:, -1] = -100
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@BANK.right(PART)
def loss_by_one_hot(logits, token_ids, pad_id=0):
    targets = token_ids[:, 1:]
    chosen = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    each = -(chosen * logits[:, :-1].log_softmax(-1)).sum(-1)
    return each.masked_select(targets.ne(pad_id)).mean()


@BANK.right(PART)
def loss_by_nll(logits, token_ids, pad_id=0):
    return F.nll_loss(
        F.log_softmax(logits, -1)[:, :-1].permute(0, 2, 1), token_ids[:, 1:], ignore_index=pad_id
    )


@BANK.right(PART)
def loss_of_the_rows_that_count(logits, token_ids, pad_id=0):
    places = (token_ids[:, 1:] != pad_id).nonzero(as_tuple=True)
    return F.cross_entropy(logits[:, :-1][places], token_ids[:, 1:][places])


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART, named="not shifted")
def its_own_word(logits, token_ids, pad_id=0):
    return F.cross_entropy(logits.flatten(0, 1), token_ids.flatten(), ignore_index=pad_id)


@BANK.wrong(PART, named="shifted backwards")
def the_word_before(logits, token_ids, pad_id=0):
    return F.cross_entropy(logits[:, 1:].transpose(1, 2), token_ids[:, :-1], ignore_index=pad_id)


@BANK.wrong(PART, named="shifted twice")
def two_words_on(logits, token_ids, pad_id=0):
    logits, targets = logits[:, :-1], token_ids[:, 1:]
    return F.cross_entropy(logits[:, :-1].mT, targets[:, 1:], ignore_index=pad_id)


@BANK.wrong(PART, named="rolled")
def round_and_round(logits, token_ids, pad_id=0):
    targets = torch.roll(token_ids, -1, dims=1)
    return F.cross_entropy(logits.mT, targets, ignore_index=pad_id)


@BANK.wrong(PART)
def flattened_and_then_shifted(logits, token_ids, pad_id=0):
    flat, ids = logits.flatten(0, 1), token_ids.flatten()
    return F.cross_entropy(flat[:-1], ids[1:], ignore_index=pad_id)


@BANK.wrong(PART, named="padding counted")
def pads_as_targets(logits, token_ids, pad_id=0):
    return F.cross_entropy(logits[:, :-1].mT, token_ids[:, 1:])


@BANK.wrong(PART, named="padding in the divisor")
def pads_zeroed_and_averaged(logits, token_ids, pad_id=0):
    each = F.cross_entropy(
        logits[:, :-1].mT, token_ids[:, 1:], ignore_index=pad_id, reduction="none"
    )
    return each.mean()


@BANK.wrong(PART, named="mean of sentence means")
def sentence_by_sentence(logits, token_ids, pad_id=0):
    means = []
    for sentence, ids in zip(logits, token_ids, strict=True):
        keep = ids[1:] != pad_id
        if keep.any():
            means.append(F.cross_entropy(sentence[:-1][keep], ids[1:][keep]))
        else:
            means.append(sentence.sum() * 0)
    return torch.stack(means).mean()


@BANK.wrong(PART, named="mean of sentence means")
def sentences_averaged_with_nan(logits, token_ids, pad_id=0):
    return torch.stack(
        [
            F.cross_entropy(row[:-1], ids[1:], ignore_index=pad_id)
            for row, ids in zip(logits, token_ids, strict=True)
        ]
    ).mean()


@BANK.wrong(PART, named="sum for mean")
def summed_up(logits, token_ids, pad_id=0):
    return F.cross_entropy(
        logits[:, :-1].mT, token_ids[:, 1:], ignore_index=pad_id, reduction="sum"
    )


@BANK.wrong(PART, named="sum over places")
def divided_by_the_batch(logits, token_ids, pad_id=0):
    return summed_up(logits, token_ids, pad_id) / len(logits)


@BANK.wrong(PART, named="softmax twice")
def softmax_before_the_loss(logits, token_ids, pad_id=0):
    return F.cross_entropy(logits.softmax(-1)[:, :-1].mT, token_ids[:, 1:], ignore_index=pad_id)


@BANK.wrong(PART, named="−p for −ln p")
def nll_of_probabilities(logits, token_ids, pad_id=0):
    chances = logits.softmax(-1)[:, :-1].mT
    return F.nll_loss(chances, token_ids[:, 1:], ignore_index=pad_id)


@BANK.wrong(PART, named="raw logits taken for logarithms")
def nll_of_logits(logits, token_ids, pad_id=0):
    return F.nll_loss(logits[:, :-1].mT, token_ids[:, 1:], ignore_index=pad_id)


@BANK.wrong(PART, named="minus sign missing")
def mean_log_probability(logits, token_ids, pad_id=0):
    return -loss_by_gathering(logits, token_ids, pad_id)


@BANK.wrong(PART, named="perplexity")
def exponential_of_the_loss(logits, token_ids, pad_id=0):
    return torch.exp(loss_by_gathering(logits, token_ids, pad_id))


@BANK.wrong(PART, named="in bits")
def bits_for_nats(logits, token_ids, pad_id=0):
    return loss_by_gathering(logits, token_ids, pad_id) / math.log(2)


@BANK.wrong(PART, named="pad_id fixed at 0")
def zero_is_always_padding(logits, token_ids, pad_id=0):
    return F.cross_entropy(logits[:, :-1].mT, token_ids[:, 1:], ignore_index=0)


@BANK.wrong(PART, named="padding of the input in place of the target")
def rows_that_read_padding(logits, token_ids, pad_id=0):
    keep = token_ids[:, :-1] != pad_id
    return F.cross_entropy(logits[:, :-1][keep], token_ids[:, 1:][keep])


@BANK.wrong(PART, named="both input and target looked at")
def pairs_without_padding(logits, token_ids, pad_id=0):
    keep = (token_ids[:, :-1] != pad_id) & (token_ids[:, 1:] != pad_id)
    return F.cross_entropy(logits[:, :-1][keep], token_ids[:, 1:][keep])


@BANK.wrong(PART, named="reshape for transpose")
def classes_by_view(logits, token_ids, pad_id=0):
    B, T, V = logits.shape
    rows = logits[:, :-1].reshape(B, V, T - 1)
    return F.cross_entropy(rows, token_ids[:, 1:], ignore_index=pad_id)


@BANK.wrong(PART, named="log of the softmax")
def logarithm_of_a_softmax(logits, token_ids, pad_id=0):
    targets = token_ids[:, 1:]
    chances = F.softmax(logits[:, :-1], -1).gather(2, targets.unsqueeze(2)).squeeze(2)
    return -chances.log()[targets != pad_id].mean()


@BANK.wrong(PART, named="probabilities kept from zero")
def logarithm_with_a_little_more(logits, token_ids, pad_id=0):
    targets = token_ids[:, 1:]
    chances = F.softmax(logits[:, :-1], -1).gather(2, targets.unsqueeze(2)).squeeze(2)
    return -torch.log(chances + 1e-9)[targets != pad_id].mean()


@BANK.wrong(PART, told=("stops with RuntimeError", "wrong for larger V"))
def one_hot_of_a_hundred_words(logits, token_ids, pad_id=0):
    words = torch.eye(100, dtype=logits.dtype)[:, : logits.shape[-1]]
    each = -(words[token_ids[:, 1:].clamp(max=99)] * logits[:, :-1].log_softmax(-1)).sum(-1)
    return each[token_ids[:, 1:] != pad_id].mean()


@BANK.wrong(PART, told=("rounded", "wrong in float64"))
def in_single_precision(logits, token_ids, pad_id=0):
    return loss_by_gathering(logits.float(), token_ids, pad_id).to(logits.dtype)


@BANK.wrong(PART, told="inputs changed")
def ids_overwritten(logits, token_ids, pad_id=0):
    targets = token_ids[:, 1:]
    targets[targets == pad_id] = -100
    return F.cross_entropy(logits[:, :-1].mT, targets)


@BANK.wrong(PART, named="no mean at all")
def one_number_for_each_target(logits, token_ids, pad_id=0):
    return F.cross_entropy(
        logits[:, :-1].mT, token_ids[:, 1:], ignore_index=pad_id, reduction="none"
    )


@BANK.wrong(PART, told="a number of Python")
def a_number_of_python(logits, token_ids, pad_id=0):
    return loss_by_gathering(logits, token_ids, pad_id).item()


@BANK.wrong(PART)
def with_an_axis_of_one(logits, token_ids, pad_id=0):
    return loss_by_gathering(logits, token_ids, pad_id).reshape(1)


@BANK.wrong(PART, named="last target left out")
def last_word_never_asked(logits, token_ids, pad_id=0):
    return F.cross_entropy(logits[:, :-2].mT, token_ids[:, 1:-1], ignore_index=pad_id)


@BANK.wrong(PART)
def label_smoothing_on_top(logits, token_ids, pad_id=0):
    return F.cross_entropy(
        logits[:, :-1].mT, token_ids[:, 1:], ignore_index=pad_id, label_smoothing=0.1
    )


@BANK.wrong("next_token_loss", named="first token in the divisor")
def mean_over_the_tokens_that_were_read(logits, token_ids, pad_id=0):
    each = F.cross_entropy(
        logits[:, :-1].flatten(0, 1),
        token_ids[:, 1:].flatten(),
        ignore_index=pad_id,
        reduction="sum",
    )
    return each / (token_ids != pad_id).sum()


@BANK.wrong(PART, named="not shifted")
def both_without_the_first(logits, token_ids, pad_id=0):
    return F.cross_entropy(logits[:, 1:].mT, token_ids[:, 1:], ignore_index=pad_id)


@BANK.wrong(PART, named="not shifted")
def both_without_the_last(logits, token_ids, pad_id=0):
    rows, targets = logits[:, :-1], token_ids[:, :-1]
    kept = targets != pad_id
    return F.cross_entropy(rows[kept], targets[kept])
