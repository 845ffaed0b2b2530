"""Answers to `next_token_loss`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a10_language_models.answers.bank import BANK
from assignments.a10_language_models.rubric import PADDING, SHIFTED, loss
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

COUNTED = "Padding counts as a target in your loss. Leave out every target that is `pad_id`{}."
BY_SENTENCES = (
    "You average each sentence first, and then the sentences, so a word of a short sentence counts "
    "more than one of a long sentence. Take the mean over all targets of the batch at once."
)

ANSWERS = Answers(
    __name__, BANK, loss,
    """
    def next_token_loss(logits, token_ids, pad_id=0):
        rows, targets = logits[:, :-1], token_ids[:, 1:]
        logs = rows.log_softmax(dim=-1)
        surprise = -logs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # (B, T - 1)
        counts = targets != pad_id
        return surprise[counts].mean()
    """,
    math=math, torch=torch, nn=nn, F=F,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("not shifted", "rows, targets = logits[:, {cut}], token_ids[:, {cut}]", SHIFTED,
     "You compare each row with its own token, which the model has just read, so copying it would be the best answer. "
     "Row t is for token t + 1: compare `logits[:, :-1]` with `token_ids[:, 1:]`.",
     each={"cut": (":", "1:", ":-1")},
     published=("macrocosm-os/pretraining#64",
                "The labels are not shifted, so the model is asked for the token that it reads."))
slip("shifted backwards", "rows, targets = logits[:, 1:], token_ids[:, :-1]", SHIFTED,
     "You compare each row with the token before it. Row t foretells token t + 1, so the last row of the logits and "
     "the first token are the ones without a partner.")
slip("shifted twice", "rows, targets = logits[:, :-2], token_ids[:, 2:]", SHIFTED,
     "You compare each row with the token two places later. One step is enough: is a shift made both in the ids and in "
     "the logits, or before the function and in it?",
     published=("huggingface/transformers#37830",
                "The model shifts the logits, and the loss that it calls shifts them once more."))
slip("rolled", "rows, targets = logits, token_ids.roll(-1, dims=1)", SHIFTED,
     "Your targets were rolled round, so the last row is compared with the first token of the sentence. The last row "
     "has no next token: leave it out.")
slip("rolled with the last place as padding", "rows, targets = logits, F.pad(token_ids[:, 1:], (0, 1))", SHIFTED,
     "Where the last target is filled up with id 0, the row before it is compared with a word that does not stand "
     "there. The last row has no target at all: leave it out.")
slip("last row repeats its own token",
     "rows, targets = logits, torch.cat([token_ids[:, 1:], token_ids[:, -1:]], dim=1)", SHIFTED,
     "Your last row is compared with the token that it has just read. It has no next token: leave it out.")
slip("last target left out", "rows, targets = logits[:, :-2], token_ids[:, 1:-1]", SHIFTED,
     "The last token of each sentence is never asked for. It is the target of the row before it: of T tokens, T − 1 "
     "are targets.")
slip("first target left out", "rows, targets = logits[:, 1:-1], token_ids[:, 2:]", SHIFTED,
     "Token 1 is never asked for. It is the target of row 0, so of T tokens all but the first are targets.")
slip("reshape for transpose", """
    rows = logits[:, :-1]
    mixed = rows.reshape(len(rows), rows.shape[2], rows.shape[1])
    rows, targets = mixed.transpose(1, 2), token_ids[:, 1:]
""", SHIFTED,
     "Your numbers of different words were mixed: (B, T, V) was turned into (B, V, T) by a reshape, which only counts "
     "the numbers off anew. `F.cross_entropy` takes (B, V, T) after a `transpose(1, 2)`, or (B·T, V).")
slip("softmax twice", "logs = rows.softmax(dim=-1).log_softmax(dim=-1)", SHIFTED,
     "You hand probabilities to a function that takes the softmax itself, so it is taken twice and the loss can hardly "
     "fall. Hand it the raw logits.")
slip("−p for −ln p", "logs = rows.softmax(dim=-1)", SHIFTED,
     "Your mean is one of probabilities with a minus sign, not of their logarithms. `F.nll_loss` expects logarithms: "
     "`log_softmax` before it, or `F.cross_entropy` on the logits.")
slip("minus sign missing", "logs = -rows.log_softmax(dim=-1)", SHIFTED,
     "Your loss is negative. Logarithms of probabilities are, and the minus sign turns their mean into a surprise.")
slip("raw logits taken for logarithms", "logs = rows", SHIFTED,
     "You average the logits of the targets with a minus sign. They are no logarithms of probabilities before a "
     "softmax: `F.nll_loss` needs `log_softmax` first.")
slip("in bits", "logs = rows.log_softmax(dim=-1) / math.log(2)", SHIFTED,
     "Your numbers are right in bits, with the logarithm to base 2. The text asks for nats, which come from the "
     "natural logarithm.")
slip("log of the softmax", "logs = rows.softmax(dim=-1).log()", PADDING,
     "Where a logit lies hundreds below the largest, the softmax is 0 in floating point, and its logarithm is −∞. "
     "`log_softmax` takes both steps in one, and stays finite.")
slip("probabilities kept from zero", "logs = (rows.softmax(dim=-1) + {least}).log()", PADDING,
     "A small number is added to the probabilities, or holds them up, so that the logarithm stays finite. That caps "
     "the loss, and words that the model has ruled out get no gradient. `log_softmax` on the logits needs no such "
     "help.",
     each={"least": (1e-12, 1e-10, 1e-9, 1e-8, 1e-7)})
slip("first token in the divisor", "return (surprise * counts).sum() / (token_ids != pad_id).sum()", SHIFTED,
     "Your sum is divided by the number of tokens that are no padding, the first of each sentence among them. No row "
     "foretells that one: divide by the number of targets that count.")
slip("padding counted", "counts = torch.ones_like(targets, dtype=torch.bool)", PADDING,
     COUNTED.format(", as `ignore_index=pad_id` does"))
slip("pad_id fixed at 0", "counts = targets != 0", PADDING,
     "You leave out the id 0 whatever `pad_id` is. Here 0 may be a word, so compare with the argument.")
slip("padding of the input in place of the target", "counts = token_ids[:, :-1] != pad_id", PADDING,
     "You leave out the rows whose own token is padding. What decides is the target, one place later: the last real "
     "word still has to be told that the sentence ends.")
slip("both input and target looked at", "counts = (targets != pad_id) & (token_ids[:, :-1] != pad_id)", PADDING,
     "A target counts in your loss only if the token before it is no padding, either. What was read does not matter: "
     "leave out the targets that are `pad_id`, and no others.")
slip("all after the first padding left out", "counts = (targets == pad_id).cumsum(dim=1) == 0", PADDING,
     "You leave out everything that follows the first padding of a row. Padding may stand anywhere: each target is "
     "looked at by itself.")
slip("sum for mean", "return surprise[counts].sum()", SHIFTED,
     "You return the sum over all targets, which grows with the batch. Divide by their number.")
slip("sum over places", "return (surprise * counts).sum(dim=1).mean()", SHIFTED,
     "You add up the places of each sentence, and average over the sentences. The loss is the mean over all targets.")
slip("no mean at all", "return surprise * counts", SHIFTED,
     "You return a number for each target. The loss is one number, their mean.")
slip("perplexity", "return surprise[counts].mean().exp()", SHIFTED,
     "You return the perplexity, e to the power of the loss. The loss itself is the mean of −ln p.")
slip("mean of sentence means", "return ((surprise * counts).sum(dim=1) / {number}).mean()", PADDING,
     BY_SENTENCES,
     each={"number": ("counts.sum(dim=1)", "counts.sum(dim=1).clamp(min=1)")})
slip("padding in the divisor", "return (surprise * counts).mean()", PADDING,
     "Padding adds nothing to your sum, but the sum is divided by the number of all places, padding among them. Divide "
     "by the number of targets that count.")

right = ANSWERS.right
right("loss_with_classes_in_the_second_axis",
      "return F.cross_entropy(rows.transpose(1, 2), targets, ignore_index=pad_id)")
right("loss_by_loops", """
    terms = []
    for sentence, ids in zip(logits, token_ids, strict=True):
        for row, target in zip(sentence[:-1], ids[1:], strict=True):
            if target != pad_id:
                terms.append(row.logsumexp(0) - row[target])
    return torch.stack(terms).mean()
""")
right("loss_by_gathering", "return -logs.gather(2, targets[..., None])[..., 0][targets != pad_id].mean()")
right("loss_by_weights", """
    counts = (targets != pad_id).to(logits.dtype)
    each = nn.CrossEntropyLoss(reduction="none")(rows.reshape(-1, rows.shape[-1]), targets.reshape(-1))
    return (each * counts.flatten()).sum() / counts.sum()
""")
right("loss_with_targets_of_minus_100", """
    wanted = token_ids.roll(-1, 1).masked_fill(token_ids.roll(-1, 1) == pad_id, -100)
    wanted[:, -1] = -100
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
""")
right("loss_by_one_hot", """
    chosen = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return -(chosen * logs).sum(-1).masked_select(targets.ne(pad_id)).mean()
""")
right("loss_by_nll", """
    logs = F.log_softmax(logits, -1)[:, :-1].permute(0, 2, 1)
    return F.nll_loss(logs, targets, ignore_index=pad_id)
""")
right("loss_of_the_rows_that_count", """
    places = counts.nonzero(as_tuple=True)
    return F.cross_entropy(rows[places], targets[places])
""")
right("loss_by_log_sum_exp", """
    chosen = rows.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    asked = counts.to(rows.dtype)
    return ((rows.logsumexp(dim=-1) - chosen) * asked).sum() / asked.sum()
""")
right("loss_number_by_number", """
    (B, T, V), total, number = logits.shape, 0.0, 0
    for b in range(B):
        for t in range(T - 1):
            if token_ids[b, t + 1] == pad_id:
                continue
            largest = logits[b, t, 0]
            for v in range(V):
                largest = max(largest, logits[b, t, v])
            powers = 0.0
            for v in range(V):
                powers = powers + (logits[b, t, v] - largest).exp()
            total = total + powers.log() + largest - logits[b, t, token_ids[b, t + 1]]
            number += 1
    return total / number
""", slow=LOOPS)
right("loss_by_products", """
    asked = counts.to(logits.dtype)
    wanted = targets[:, :, None] == torch.arange(logits.shape[2])
    total = torch.einsum("btv,btv,bt->", -logs, wanted.to(logits.dtype), asked)
    return total / torch.einsum("bt,bt->", asked, asked)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("flattened_and_then_shifted",
      "return F.cross_entropy(logits.flatten(0, 1)[:-1], token_ids.flatten()[1:], ignore_index=pad_id)")
wrong("one_hot_of_a_hundred_words", """
    words = torch.eye(100, dtype=logits.dtype)[:, : logits.shape[-1]]
    surprise = -(words[targets.clamp(max=99)] * logs).sum(-1)
""", told=("stops with RuntimeError", "wrong for larger V"))
wrong("in_single_precision",
      "rows, targets = logits.float()[:, :-1], token_ids[:, 1:]; return surprise[counts].mean().to(logits.dtype)",
      told=("rounded", "wrong in float64"))
wrong("ids_overwritten", """
    targets[targets == pad_id] = -100
    return F.cross_entropy(rows.mT, targets)
""", told="inputs changed")
wrong("a_number_of_python", "return surprise[counts].mean().item()", told="a number of Python")
wrong("with_an_axis_of_one", "return surprise[counts].mean().reshape(1)")
wrong("label_smoothing_on_top",
      "return F.cross_entropy(rows.mT, targets, ignore_index=pad_id, label_smoothing=0.1)")
careless(ANSWERS, one_sentence="stops with RuntimeError", a_hundred_words=None, one_shape=None, zeros=None)
# fmt: on
