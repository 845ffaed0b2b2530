"""`next_token_loss` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from assignments.a10_language_models.rubric import PADDING, SHIFTED, loss
from autograder.checks.mistakes import Steps, called, costs, message, variants


class Loss(Steps):
    """The reference step by step."""

    def answer(self, logits, token_ids, pad_id=0):
        rows, targets = self.pair(logits, token_ids)
        return self.average(self.surprise(rows, targets), self.counts(targets, token_ids, pad_id))

    def pair(self, logits, token_ids):
        return logits[:, :-1], token_ids[:, 1:]

    def surprise(self, rows, targets):
        return -rows.log_softmax(dim=-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)

    def counts(self, targets, token_ids, pad_id):
        return targets != pad_id

    def average(self, surprise, counts):
        return surprise[counts].mean()


@loss.mistakes_in(Loss.pair, costs=SHIFTED)
class LossPair:
    @variants("cut", (slice(None), slice(1, None), slice(-1)))
    def not_shifted(self, logits, token_ids, cut):
        """You compare each row with its own token, which the model has just read, so copying it would
        be the best answer. Row t is for token t + 1: compare `logits[:, :-1]` with
        `token_ids[:, 1:]`."""
        return logits[:, cut], token_ids[:, cut]

    def shifted_backwards(self, logits, token_ids):
        """You compare each row with the token before it. Row t foretells token t + 1, so the last row
        of the logits and the first token are the ones without a partner."""
        return logits[:, 1:], token_ids[:, :-1]

    def shifted_twice(self, logits, token_ids):
        """You compare each row with the token two places later. One step is enough: is a shift made
        both in the ids and in the logits, or before the function and in it?"""
        return logits[:, :-2], token_ids[:, 2:]

    def rolled(self, logits, token_ids):
        """Your targets were rolled round, so the last row is compared with the first token of the
        sentence. The last row has no next token: leave it out."""
        return logits, token_ids.roll(-1, dims=1)

    def rolled_with_the_last_place_as_padding(self, logits, token_ids):
        """Where the last target is filled up with id 0, the row before it is compared with a word that
        does not stand there. The last row has no target at all: leave it out."""
        return logits, F.pad(token_ids[:, 1:], (0, 1))

    def last_row_repeats_its_own_token(self, logits, token_ids):
        """Your last row is compared with the token that it has just read. It has no next token: leave
        it out."""
        return logits, torch.cat([token_ids[:, 1:], token_ids[:, -1:]], dim=1)

    @called("last target left out")
    def one_too_few(self, logits, token_ids):
        """The last token of each sentence is never asked for. It is the target of the row before it:
        of T tokens, T − 1 are targets."""
        return logits[:, :-2], token_ids[:, 1:-1]

    @called("first target left out")
    def second_on(self, logits, token_ids):
        """Token 1 is never asked for. It is the target of row 0, so of T tokens all but the first are
        targets."""
        return logits[:, 1:-1], token_ids[:, 2:]

    @called("reshape for transpose")
    def words_mixed(self, logits, token_ids):
        """Your numbers of different words were mixed: (B, T, V) was turned into (B, V, T) by a reshape,
        which only counts the numbers off anew. `F.cross_entropy` takes (B, V, T) after a
        `transpose(1, 2)`, or (B·T, V)."""
        rows = logits[:, :-1]
        B, T, V = rows.shape
        return rows.reshape(B, V, T).transpose(1, 2), token_ids[:, 1:]


@loss.mistakes_in(Loss.surprise, costs=SHIFTED)
class LossSurprise:
    @called("softmax twice")
    def twice(self, rows, targets):
        """You hand probabilities to a function that takes the softmax itself, so it is taken twice and
        the loss can hardly fall. Hand it the raw logits."""
        return Loss.surprise(self, rows.softmax(dim=-1), targets)

    @called("−p for −ln p")
    def without_the_logarithm(self, rows, targets):
        """Your mean is one of probabilities with a minus sign, not of their logarithms. `F.nll_loss`
        expects logarithms: `log_softmax` before it, or `F.cross_entropy` on the logits."""
        return -rows.softmax(dim=-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)

    def minus_sign_missing(self, rows, targets):
        """Your loss is negative. Logarithms of probabilities are, and the minus sign turns their mean
        into a surprise."""
        return -Loss.surprise(self, rows, targets)

    @called("raw logits taken for logarithms")
    def no_softmax(self, rows, targets):
        """You average the logits of the targets with a minus sign. They are no logarithms of
        probabilities before a softmax: `F.nll_loss` needs `log_softmax` first."""
        return -rows.gather(-1, targets.unsqueeze(-1)).squeeze(-1)

    def in_bits(self, rows, targets):
        """Your numbers are right in bits, with the logarithm to base 2. The text asks for nats, which
        come from the natural logarithm."""
        return Loss.surprise(self, rows, targets) / math.log(2)

    @costs(PADDING)
    def log_of_the_softmax(self, rows, targets):
        """Where a logit lies hundreds below the largest, the softmax is 0 in floating point, and its
        logarithm is −∞. `log_softmax` takes both steps in one, and stays finite."""
        return -rows.softmax(-1).log().gather(-1, targets.unsqueeze(-1)).squeeze(-1)

    @costs(PADDING)
    @variants("least", (1e-12, 1e-10, 1e-9, 1e-8, 1e-7))
    def probabilities_kept_from_zero(self, rows, targets, least):
        """A small number is added to the probabilities, or holds them up, so that the logarithm stays
        finite. That caps the loss, and words that the model has ruled out get no gradient.
        `log_softmax` on the logits needs no such help."""
        chances = rows.softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        return -(chances + least).log()


@loss.mistakes_in(Loss.answer, costs=SHIFTED)
class LossAnswer:
    @called("first token in the divisor")
    def divided_by_all_tokens(self, logits, token_ids, pad_id=0):
        """Your sum is divided by the number of tokens that are no padding, the first of each sentence
        among them. No row foretells that one: divide by the number of targets that count."""
        rows, targets = self.pair(logits, token_ids)
        total = (self.surprise(rows, targets) * self.counts(targets, token_ids, pad_id)).sum()
        return total / (token_ids != pad_id).sum()


COUNTED = "Padding counts as a target in your loss. Leave out every target that is `pad_id`{}."


@loss.mistakes_in(Loss.counts, costs=PADDING)
class LossCounts:
    @message(COUNTED.format(", as `ignore_index=pad_id` does"))
    def padding_counted(self, targets, token_ids, pad_id):
        return torch.ones_like(targets, dtype=torch.bool)

    @called("pad_id fixed at 0")
    def always_zero(self, targets, token_ids, pad_id):
        """You leave out the id 0 whatever `pad_id` is. Here 0 may be a word, so compare with the
        argument."""
        return targets != 0

    @called("padding of the input in place of the target")
    def by_the_input(self, targets, token_ids, pad_id):
        """You leave out the rows whose own token is padding. What decides is the target, one place
        later: the last real word still has to be told that the sentence ends."""
        return token_ids[:, :-1] != pad_id

    def both_input_and_target_looked_at(self, targets, token_ids, pad_id):
        """A target counts in your loss only if the token before it is no padding, either. What was
        read does not matter: leave out the targets that are `pad_id`, and no others."""
        return (targets != pad_id) & (token_ids[:, :-1] != pad_id)

    def all_after_the_first_padding_left_out(self, targets, token_ids, pad_id):
        """You leave out everything that follows the first padding of a row. Padding may stand anywhere:
        each target is looked at by itself."""
        return (targets == pad_id).cumsum(dim=1) == 0


@loss.mistakes_in(Loss.average, costs=SHIFTED)
class LossAverage:
    @called("sum for mean")
    def total(self, surprise, counts):
        """You return the sum over all targets, which grows with the batch. Divide by their number."""
        return surprise[counts].sum()

    def sum_over_places(self, surprise, counts):
        """You add up the places of each sentence, and average over the sentences. The loss is the mean
        over all targets."""
        return (surprise * counts).sum(dim=1).mean()

    @called("no mean at all")
    def one_by_one(self, surprise, counts):
        """You return a number for each target. The loss is one number, their mean."""
        return surprise * counts

    def perplexity(self, surprise, counts):
        """You return the perplexity, e to the power of the loss. The loss itself is the mean of
        −ln p."""
        return surprise[counts].mean().exp()

    @costs(PADDING)
    @called("mean of sentence means")
    def by_sentences(self, surprise, counts):
        """You average each sentence first, and then the sentences, so a word of a short sentence counts
        more than one of a long sentence. Take the mean over all targets of the batch at once."""
        return ((surprise * counts).sum(dim=1) / counts.sum(dim=1)).mean()

    @costs(PADDING)
    @called("mean of sentence means")
    @message(
        "You average each sentence first, and then the sentences, so a word of a short sentence counts "
        "more than one of a long sentence. Take the mean over all targets of the batch at once."
    )
    def by_sentences_that_have_words(self, surprise, counts):
        return ((surprise * counts).sum(dim=1) / counts.sum(dim=1).clamp(min=1)).mean()

    @costs(PADDING)
    @called("padding in the divisor")
    def divided_by_all(self, surprise, counts):
        """Padding adds nothing to your sum, but the sum is divided by the number of all places, padding
        among them. Divide by the number of targets that count."""
        return (surprise * counts).mean()
