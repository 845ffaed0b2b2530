"""`online_softmax_attention` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a11_fast_attention.rubric import ANY_SCORES, BLOCKS, LITTLE_MEMORY, online
from autograder.checks.mistakes import Steps, called, costs, message, variants


class Tiled(Steps):
    """The reference step by step: m, ℓ and o after every block."""

    def answer(self, query, key, value, block_size, mask=None):
        query = query / self.root(query, key, value)
        rows = query[..., :1]
        m = self.lowest(torch.full_like(rows, -torch.inf))
        total = torch.zeros_like(rows)
        output = torch.zeros_like(rows) * value[..., :1, :]
        for block in self.blocks(key.shape[-2], block_size):
            scores = self.scores(query, key[..., block, :], mask, block)
            before, m = m, self.largest(m, scores)
            safe = self.finite(m)
            weights = self.powers(scores, safe)
            old = self.rescale(before, safe)
            total = self.sum(total, weights, old)
            output = self.collect(output, weights, value[..., block, :], old)
        return self.finish(output, total, value, mask)

    def root(self, query, key, value):
        return query.shape[-1] ** 0.5

    def lowest(self, m):
        return m

    def blocks(self, S, block_size):
        return [slice(start, min(start + block_size, S)) for start in range(0, S, block_size)]

    def scores(self, query, key, mask, block):
        scores = query @ key.mT
        if mask is None:
            return scores
        return scores.masked_fill(~self.mask_of(mask, block), -torch.inf)

    def mask_of(self, mask, block):
        return mask if mask.shape[-1] == 1 else mask[..., block]

    def largest(self, m, scores):
        return torch.maximum(m, scores.detach().amax(dim=-1, keepdim=True))

    def finite(self, m):
        return m.masked_fill(m == -torch.inf, 0.0)

    def powers(self, scores, m):
        return (scores - m).exp()

    def rescale(self, before, m):
        return (before - m).exp()

    def sum(self, total, weights, old):
        return total * old + weights.sum(dim=-1, keepdim=True)

    def collect(self, output, weights, value, old):
        return output * old + weights @ value

    def finish(self, output, total, value, mask):
        return output / torch.where(total == 0, 1.0, total)


RESCALED = (
    "When a block brings a larger score, {} was summed with the smaller maximum. Multiply it by "
    "exp(m_old − m_new) before the new block is added."
)


@online.mistakes_in(Tiled.rescale, costs=BLOCKS)
class TiledRescale:
    @called("nothing rescaled")
    @message(RESCALED.format("what you had so far"))
    def never(self, before, m):
        return torch.ones_like(m)

    @called("rescaled upside down")
    def inverted(self, before, m):
        """You multiply by exp(m_new − m_old), which makes what you had larger. The new maximum is the
        larger one, so the old sums shrink: exp(m_old − m_new)."""
        return (m - before.masked_fill(before == -torch.inf, 0.0)).exp()


@online.mistakes_in(Tiled.sum, costs=BLOCKS)
class TiledSum:
    @called("only the output rescaled")
    @message(RESCALED.format("the sum ℓ of the powers"))
    def as_it_was(self, total, weights, old):
        return total + weights.sum(dim=-1, keepdim=True)

    @called("only the last block's sum")
    def the_last(self, total, weights, old):
        """You divide by the sum of the last block alone. ℓ collects the powers of all blocks."""
        return weights.sum(dim=-1, keepdim=True)


@online.mistakes_in(Tiled.collect, costs=BLOCKS)
class TiledCollect:
    @called("only the sum rescaled")
    @message(RESCALED.format("the output o"))
    def as_it_was(self, output, weights, value, old):
        return output + weights @ value

    @called("only the last block's values")
    def the_last(self, output, weights, value, old):
        """Your output holds the values of the last block alone. o collects those of all blocks."""
        return weights @ value

    @called("a softmax in every block, added up")
    def divided_in_every_block(self, output, weights, value, old):
        """You take a whole softmax in every block and add the results up. What is divided is the sum over
        all blocks, once, by ℓ."""
        return output + weights / weights.sum(dim=-1, keepdim=True) @ value


@online.mistakes_in(Tiled.largest, costs=ANY_SCORES)
class TiledLargest:
    @called("one maximum for all rows")
    def of_all(self, m, scores):
        """You take one maximum for all queries. Far below it the powers of a row are all 0: each row has
        a maximum of its own."""
        return torch.maximum(m, scores.detach().amax()).expand_as(m)

    @called("no maximum taken off")
    def none(self, m, scores):
        """You take exp of the scores as they are, so large ones become infinite. Take the running maximum
        off first."""
        return torch.zeros_like(m)


HIDDEN = (
    "As long as a row has seen hidden keys alone, its maximum is −∞, and −∞ − (−∞) is NaN, which stays in "
    "the sums of that row{}. Put a number such as 0 in the place of a maximum of −∞, where every power is "
    "0 anyway."
)


@online.mistakes_in(Tiled.finite, costs=ANY_SCORES)
class TiledFinite:
    @called("NaN from a hidden block")
    @message(HIDDEN.format(""))
    def as_it_is(self, m):
        return m


@online.mistakes_in(Tiled.lowest, costs=ANY_SCORES)
class TiledLowest:
    @called("maximum that does not begin at −∞")
    def zero(self, m):
        """Your running maximum begins at a number, such as 0. Where all scores of a row lie far below it, all
        powers are 0. Begin with −∞, or with the smallest number that there is."""
        return torch.zeros_like(m)


@online.mistakes_in(Tiled.blocks, costs=BLOCKS)
class TiledBlocks:
    @called("last block dropped")
    def whole_ones(self, S, block_size):
        """Keys at the end are left out, where the block size does not divide their number. The last block
        may be shorter."""
        return [
            slice(start, start + block_size) for start in range(0, S - block_size + 1, block_size)
        ]

    @called("blocks that overlap")
    def overlapping(self, S, block_size):
        """Keys at the edges of blocks count twice. A block ends where the next one begins."""
        return [slice(start, start + block_size + 1) for start in range(0, S, block_size)]

    @called("first block only")
    def the_first(self, S, block_size):
        """Only the first block of keys is looked at."""
        return [slice(0, block_size)]

    @called("last key left out")
    def without_the_last(self, S, block_size):
        """The last key is never looked at. A slice ends before its upper end anyway."""
        return [
            slice(start, min(start + block_size, S - 1)) for start in range(0, S - 1, block_size)
        ]


@online.mistakes_in(Tiled.root, costs=BLOCKS)
class TiledRoot:
    def not_scaled(self, query, key, value):
        """Your scores are not divided by √d_k."""
        return 1.0

    @called("divided by the root of another width")
    @variants("wrong", ("d_v", "S", "T"))
    def another_root(self, query, key, value, wrong):
        """You divide by the root of another number than d_k, such as the width of the values or a number
        of words. d_k is the last axis of the query."""
        numbers = {"d_v": value.shape[-1], "S": key.shape[-2], "T": query.shape[-2]}
        return numbers[wrong] ** 0.5

    @called("divided by d_k itself")
    def no_root(self, query, key, value):
        """You divide the scores by d_k. It is divided by its root."""
        return float(query.shape[-1])


@online.mistakes_in(Tiled.finish, costs=BLOCKS)
class TiledFinish:
    @called("not divided")
    def undivided(self, output, total, value, mask):
        """Your output is o, which nobody has divided. In the end divide it by ℓ."""
        return output

    @called("divided by the number of keys")
    def by_the_number(self, output, total, value, mask):
        """You divide by the number of keys. Divide by ℓ, the sum of the powers."""
        return output / value.shape[-2]

    @costs(ANY_SCORES)
    @called("NaN where nothing may be attended to")
    def zero_by_zero(self, output, total, value, mask):
        """Where a row may attend to nothing, you divide 0 by 0. Such a row gives zeros: put a 1 in the
        place of a sum of 0."""
        return output / total

    @costs(ANY_SCORES)
    @called("the average where nothing may be attended to")
    def average(self, output, total, value, mask):
        """Where a row may attend to nothing, you give the average of all values. Such a row gives
        zeros."""
        return torch.where(total == 0, value.mean(dim=-2, keepdim=True), output / total)


@online.mistakes_in(Tiled.mask_of, costs=ANY_SCORES)
class TiledMaskOf:
    @called("the first block's mask for every block")
    def the_first(self, mask, block):
        """Every block is given the mask of the first keys. Cut the mask like the keys."""
        return mask if mask.shape[-1] == 1 else mask[..., : block.stop - block.start]

    @called("a mask with one column cut")
    def cut_always(self, mask, block):
        """A mask whose last axis has length 1 broadcasts over all keys. Cut into blocks, it is empty from
        the second one on."""
        return mask[..., block]


@online.mistakes_in(Tiled.scores, costs=ANY_SCORES)
class TiledScores:
    @called("mask ignored")
    def unmasked(self, query, key, mask, block):
        """Hidden keys get weight. Set their scores to −∞ before the powers are taken."""
        return query @ key.mT

    @called("mask the wrong way round")
    def the_other_way(self, query, key, mask, block):
        """You hide what the mask shows. In this course True means *may attend*."""
        scores = query @ key.mT
        return scores if mask is None else scores.masked_fill(self.mask_of(mask, block), -torch.inf)

    @called("hidden scores set to 0")
    def zeroed(self, query, key, mask, block):
        """You set hidden scores to 0, and e⁰ is 1. A score of −∞ gives the power 0."""
        scores = query @ key.mT
        return scores if mask is None else scores * self.mask_of(mask, block)

    @called("a negative number for −∞")
    @variants("low", (-10.0, -5.0))
    def lowered(self, query, key, mask, block, low):
        """You hide keys by a negative number that is not low enough, so a little of their weight is left.
        A score of −∞ gives the power 0."""
        scores = query @ key.mT
        return scores if mask is None else scores.masked_fill(~self.mask_of(mask, block), low)


@online.mistake(
    "NaN from a hidden block, turned into 0",
    HIDDEN.format(", so that you give zeros in the end also for what it may attend to later on"),
    costs=(ANY_SCORES,),
)
class TurnedIntoZeros(Tiled):
    """NaN is replaced in the end."""

    def finite(self, m):
        return m

    def finish(self, output, total, value, mask):
        return (output / total).nan_to_num(0.0)


@online.mistake("a maximum of hidden scores", costs=(ANY_SCORES,))
class HiddenInTheMaximum(Tiled):
    """Your maximum is taken before the mask, so hidden scores count in it. Where one lies far above the
    visible scores of its row, all their powers are 0. Set hidden scores to −∞ first, and take the maximum
    then."""

    def scores(self, query, key, mask, block):
        self.seen = None if mask is None else self.mask_of(mask, block)
        return query @ key.mT

    def powers(self, scores, m):
        powers = super().powers(scores, m)
        return powers if self.seen is None else powers * self.seen


@online.mistake("the mask copied for all heads", costs=(LITTLE_MEMORY,))
def mask_in_full(query, key, value, block_size, mask=None):
    """The numbers are right, but you make a copy of the mask in full size, with a value for each key of
    every query in every head. It broadcasts as it is: cut it into blocks, or leave it as a view."""
    if mask is not None:
        mask = mask.expand(*query.shape[:-1], key.shape[-2]).clone()
    return Tiled().answer(query, key, value, block_size, mask)


@online.mistake("everything at once", costs=(LITTLE_MEMORY,))
def whole(query, key, value, block_size, mask=None):
    """The numbers are right, but somewhere you hold a number for each key of a query, or a copy of all
    keys: the whole matrix of scores, a list of all blocks or of the sums of each, or padded keys. What
    may be kept from one block to the next is one m, one ℓ and one o."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is None:
        return scores.softmax(dim=-1) @ value
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask.expand_as(weights), 0.0) @ value
