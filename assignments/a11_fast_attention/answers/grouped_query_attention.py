"""Answers to `GroupedQueryAttention`."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from assignments.a11_fast_attention.answers.bank import BANK
from course_utils.attention import masked_softmax, merge_heads, split_heads

PART = "GroupedQueryAttention"


class Base(nn.Module):
    """What all answers here have in common: the checks and the four layers."""

    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} cannot be cut into {num_heads} heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_kv_heads} key heads cannot serve {num_heads} query heads")
        self.h, self.g = num_heads, num_kv_heads
        self.d_k = d_model // num_heads
        self.w_q, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, num_kv_heads * self.d_k)
        self.w_v = nn.Linear(d_model, num_kv_heads * self.d_k)

    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
        return torch.where(mask, weights, 0.0)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.h)
        k, v = split_heads(self.w_k(key), self.g), split_heads(self.w_v(value), self.g)
        k, v = self.spread(k), self.spread(v)
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights

    def spread(self, heads):
        return heads.repeat_interleave(self.h // self.g, dim=1)


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
class InGroups(Base):
    """Queries get an axis for their group, and nothing is repeated."""

    def forward(self, query, key, value, mask=None):
        B, T, S, r = len(query), query.shape[1], key.shape[1], self.h // self.g
        q = self.w_q(query).reshape(B, T, self.g, r, self.d_k)
        k = self.w_k(key).reshape(B, S, self.g, self.d_k)
        v = self.w_v(value).reshape(B, S, self.g, self.d_k)
        scores = torch.einsum("btgrd,bsgd->bgrts", q, k).flatten(1, 2) / math.sqrt(self.d_k)
        if mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            weights = masked_softmax(scores, mask)
        context = torch.einsum("bgrts,bsgd->btgrd", weights.unflatten(1, (self.g, r)), v)
        return self.w_o(context.reshape(B, T, -1)), weights


@BANK.right(PART)
class HeadByHead(Base):
    """One query head after the other, each with its own key head."""

    def forward(self, query, key, value, mask=None):
        q, k, v = self.w_q(query), self.w_k(key), self.w_v(value)
        shape = len(query), self.h, query.shape[1], key.shape[1]
        seen = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
        weights, contexts = [], []
        for h in range(self.h):
            g = h // (self.h // self.g)
            mine = slice(h * self.d_k, (h + 1) * self.d_k)
            ours = slice(g * self.d_k, (g + 1) * self.d_k)
            scores = q[..., mine] @ k[..., ours].transpose(1, 2) / self.d_k**0.5
            weights.append(self.weigh(scores, seen[:, h]))
            contexts.append(weights[-1] @ v[..., ours])
        return self.w_o(torch.cat(contexts, -1)), torch.stack(weights, 1)


@BANK.right(PART)
class Expanded(Base):
    """Key heads are expanded by a new axis and flattened."""

    def spread(self, heads):
        B, G, S, d = heads.shape
        return heads[:, :, None].expand(B, G, self.h // self.g, S, d).reshape(B, self.h, S, d)


@BANK.right(PART)
class ByIndex(Base):
    """An index says which key head belongs to which query head."""

    def spread(self, heads):
        return heads[:, torch.arange(self.h) * self.g // self.h]


@BANK.right(PART)
class WeightsRepeated(Base):
    """The rows of the weights are repeated and not the heads."""

    def forward(self, query, key, value, mask=None):
        def wide(layer, x):
            rows = layer.weight.unflatten(0, (self.g, -1)).repeat_interleave(self.h // self.g, 0)
            bias = layer.bias.unflatten(0, (self.g, -1)).repeat_interleave(self.h // self.g, 0)
            return split_heads(F.linear(x, rows.flatten(0, 1), bias.flatten()), self.h)

        q, k, v = split_heads(self.w_q(query), self.h), wide(self.w_k, key), wide(self.w_v, value)
        weights = self.weigh(q / math.sqrt(self.d_k) @ k.mT, mask)
        return self.w_o(merge_heads(weights @ v)), weights


@BANK.right(PART)
class ByBatchedProducts(Base):
    """Batch and heads are one axis, for `torch.bmm`."""

    def forward(self, query, key, value, mask=None):
        B, T, S = len(query), query.shape[1], key.shape[1]
        q = split_heads(self.w_q(query), self.h).flatten(0, 1)
        k, v = (
            self.spread(split_heads(layer(x), self.g)).flatten(0, 1)
            for layer, x in ((self.w_k, key), (self.w_v, value))
        )
        scores = torch.bmm(q, k.transpose(1, 2)).div(self.d_k**0.5).view(B, self.h, T, S)
        weights = self.weigh(scores, mask)
        context = torch.bmm(weights.flatten(0, 1), v).view(B, self.h, T, self.d_k)
        return self.w_o(context.transpose(1, 2).reshape(B, T, -1)), weights


@BANK.right(PART)
class LowestNumberAndZero(Base):
    """Hides by the lowest number that there is, and sets hidden weights to 0 afterwards."""

    def weigh(self, scores, mask):
        if mask is None:
            return F.softmax(scores, dim=-1)
        lowest = torch.finfo(scores.dtype).min
        return scores.masked_fill(mask.logical_not(), lowest).softmax(-1) * mask


@BANK.right(PART)
class ByOwnLoopOverGroups(Base):
    """A loop over the key heads, each with its group of query heads."""

    def forward(self, query, key, value, mask=None):
        r = self.h // self.g
        q = split_heads(self.w_q(query), self.h)
        k, v = split_heads(self.w_k(key), self.g), split_heads(self.w_v(value), self.g)
        scores = torch.cat(
            [q[:, g * r : (g + 1) * r] @ k[:, g : g + 1].mT for g in range(self.g)], 1
        )
        weights = self.weigh(scores * self.d_k**-0.5, mask)
        parts = [weights[:, g * r : (g + 1) * r] @ v[:, g : g + 1] for g in range(self.g)]
        return self.w_o(merge_heads(torch.cat(parts, 1))), weights


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART, named=("key heads by remainder", "value heads by remainder"))
class Tiled(Base):
    def spread(self, heads):
        return heads.tile(1, self.h // self.g, 1, 1)


@BANK.wrong(PART, told=("right but for special places", "wrong with `forward`"))
class RepeatedAlongTheWords(Base):
    def spread(self, heads):
        repeated = heads.repeat_interleave(self.h // self.g, dim=2)
        return repeated.reshape(heads.shape[0], self.h, heads.shape[2], heads.shape[3])


@BANK.wrong(PART, named="num_kv_heads taken for the size of a group")
class KeyHeadsOfThatSize(Base):
    def __init__(self, d_model, num_heads, num_kv_heads):
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} heads in groups of {num_kv_heads}")
        super().__init__(d_model, num_heads, num_heads // num_kv_heads)


@BANK.wrong(PART, named="w_k and w_v of full width")
class AsInAssignmentFive(Base):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.w_k, self.w_v = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            split_heads(w(x), self.h)
            for w, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights


@BANK.wrong(PART, named="the first key head for all")
class FirstKeyHead(Base):
    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.h)
        k = split_heads(self.w_k(key), self.g)[:, 0:1]
        v = self.spread(split_heads(self.w_v(value), self.g))
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights


@BANK.wrong(PART, named=("the mean key head for all", "the mean value head for all"))
class MeanOfAllHeads(Base):
    def spread(self, heads):
        return torch.stack([heads.mean(1)] * self.h, dim=1)


@BANK.wrong(PART, named="value heads by remainder")
class ValuesByRemainder(Base):
    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.h)
        k = split_heads(self.w_k(key), self.g).repeat_interleave(self.h // self.g, 1)
        v = split_heads(self.w_v(value), self.g)[:, torch.arange(self.h) % self.g]
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights


class Scaled(Base):
    """With another divisor of the scores."""

    def root(self):
        return self.d_k**0.5

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.h)
        k, v = (
            self.spread(split_heads(w(x), self.g)) for w, x in ((self.w_k, key), (self.w_v, value))
        )
        weights = self.weigh(q @ k.mT / self.root(), mask)
        return self.w_o(merge_heads(weights @ v)), weights


@BANK.wrong(PART, named="divided by the root of another width")
class RootOfTheModel(Scaled):
    def root(self):
        return math.sqrt(self.h * self.d_k)


@BANK.wrong(PART, named="divided by the root of another width")
class RootOfAllKeyHeads(Scaled):
    def root(self):
        return self.w_k.out_features**0.5


@BANK.wrong(PART, named="not scaled")
class WithoutTheRoot(Scaled):
    def root(self):
        return 1


@BANK.wrong(PART, named="divided by d_k itself")
class ByTheWholeWidth(Scaled):
    def root(self):
        return self.d_k


@BANK.wrong(PART, named="query divided before its projection")
class ScaledTwice(Scaled):
    def forward(self, query, key, value, mask=None):
        return super().forward(query / self.d_k**0.5, key, value, mask)


@BANK.wrong(PART, named="queries of a group averaged")
class GroupsAskTogether(Base):
    def forward(self, query, key, value, mask=None):
        r = self.h // self.g
        q = split_heads(self.w_q(query), self.h).unflatten(1, (self.g, r)).mean(2)
        q = q.repeat_interleave(r, 1)
        k, v = (
            self.spread(split_heads(w(x), self.g)) for w, x in ((self.w_k, key), (self.w_v, value))
        )
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights


@BANK.wrong(PART, named="weights of one head for each group")
class OneOfEachGroup(Base):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output, weights[:, :: self.h // self.g]


@BANK.wrong(PART, named="weights averaged over the heads")
class MeanOfTheHeads(Base):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output, weights.mean(1)


@BANK.wrong(PART, named="no weights given back")
class OutputAlone(Base):
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, mask)[0]


@BANK.wrong(PART, named="softmax over the heads")
class SoftmaxOfHeads(Base):
    def weigh(self, scores, mask):
        if mask is not None:
            scores = torch.where(mask, scores, -math.inf)
        return torch.nan_to_num(torch.softmax(scores, 1))


@BANK.wrong(PART, named="mask ignored")
class Unmasked(Base):
    def weigh(self, scores, mask):
        return F.softmax(scores, -1)


@BANK.wrong(PART, named="one mask for each group")
class GroupsShareTheMask(Base):
    def weigh(self, scores, mask):
        if mask is not None and mask.dim() > 2 and mask.shape[-3] == self.h:
            groups = mask.unflatten(-3, (self.g, -1))[..., :1, :, :]
            mask = groups.expand(*groups.shape[:-3], self.h // self.g, *groups.shape[-2:]).flatten(
                -4, -3
            )
        return super().weigh(scores, mask)


@BANK.wrong(PART, named="mask after the softmax")
class TooLate(Base):
    def weigh(self, scores, mask):
        weights = F.softmax(scores, -1)
        return weights if mask is None else weights.masked_fill(~mask, 0)


@BANK.wrong(PART, named="mask the wrong way round")
class HidesWhatIsShown(Base):
    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        return torch.where(mask, 0.0, scores.masked_fill(mask, -math.inf).softmax(-1))


@BANK.wrong(PART, named="NaN where nothing may be attended to")
class NanInEmptyRows(Base):
    def weigh(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-1)


@BANK.wrong(PART, named="weights where nothing may be attended to")
class TenThousandBelow(Base):
    def weigh(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -1e4)).softmax(-1)


@BANK.wrong(PART, named="weights where nothing may be attended to")
class TenThousandTakenOff(Base):
    def weigh(self, scores, mask):
        return (scores if mask is None else scores + torch.where(mask, 0.0, -1e4)).softmax(-1)


@BANK.wrong(
    PART,
    told=("hidden ones have weight, or visible ones none", "right in part", "some rows right"),
)
class FiftyBelowAndCleared(Base):
    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        return scores.masked_fill(~mask, -50.0).softmax(-1) * mask


@BANK.wrong(PART, named="weights where nothing may be attended to")
class ABillionTakenOff(Base):
    def weigh(self, scores, mask):
        return (scores if mask is None else scores - 1e9 * ~mask).softmax(-1)


@BANK.wrong(PART, named="NaN in gradients where nothing may be attended to")
class InfinityAdded(Base):
    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        return (scores + torch.where(mask, 0.0, -math.inf)).softmax(-1).nan_to_num()


@BANK.wrong(PART, named="weights where nothing may be attended to")
class EmptyInAllHeadsAlone(Base):
    """Rows are cleared where no head may see anything."""

    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        mask = mask.expand(scores.shape)
        empty = ~mask.any(-1, keepdim=True).any(1, keepdim=True)
        return scores.masked_fill(~mask, -1e9).softmax(-1).masked_fill(empty, 0.0)


@BANK.wrong(PART, told="inputs changed")
class MaskInverted(Base):
    """The caller's mask is turned round, and stays so."""

    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        weights = scores.masked_fill(mask.logical_not_(), torch.finfo(scores.dtype).min).softmax(-1)
        return weights.masked_fill(mask, 0.0)


@BANK.wrong(
    PART, told=("hidden ones have weight, or visible ones none", "wrong after another call")
)
class RemembersTheMask(Base):
    """A mask that was given once holds for calls without one."""

    def weigh(self, scores, mask):
        self.mask = getattr(self, "mask", None) if mask is None else mask
        return super().weigh(scores, self.mask)


@BANK.wrong(PART, told="wrong after another call")
class RemembersKeys(Base):
    """Keys and values are computed once for each shape."""

    def forward(self, query, key, value, mask=None):
        self.kept = getattr(self, "kept", {})
        if key.shape not in self.kept:
            self.kept[key.shape] = key, value
        return super().forward(query, *self.kept[key.shape], mask)


@BANK.wrong(PART, named="keys cut with the number of queries")
class HeadsOfOneLength(Base):
    """Keys are cut with the number of queries."""

    def forward(self, query, key, value, mask=None):
        B, T, _ = query.shape
        q = self.w_q(query).view(B, T, self.h, self.d_k).transpose(1, 2)
        k, v = (
            self.spread(made.view(B, T, self.g, self.d_k).transpose(1, 2))
            for made in (self.w_k(key), self.w_v(value))
        )
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights


@BANK.wrong(PART, told=("rounded", "wrong in float64"))
class SoftmaxInFloat32(Base):
    def weigh(self, scores, mask):
        return super().weigh(scores.float(), mask).to(scores.dtype)


@BANK.wrong(PART, named="reshape without transpose")
class ViewedIntoHeads(Base):
    def forward(self, query, key, value, mask=None):
        B, T, S = len(query), query.shape[1], key.shape[1]
        q = self.w_q(query).reshape(B, self.h, T, self.d_k)
        k = self.spread(self.w_k(key).reshape(B, self.g, S, self.d_k))
        v = self.spread(self.w_v(value).reshape(B, self.g, S, self.d_k))
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights


@BANK.wrong(PART, named="reshape without transpose")
class QueriesViewedIntoHeads(Base):
    def forward(self, query, key, value, mask=None):
        q = self.w_q(query).view(len(query), self.h, query.shape[1], self.d_k)
        k, v = (
            self.spread(split_heads(w(x), self.g)) for w, x in ((self.w_k, key), (self.w_v, value))
        )
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights


@BANK.wrong(PART, named="reshape without transpose")
class KeysViewedIntoHeads(Base):
    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.h)
        k, v = (
            self.spread(w(x).view(len(x), self.g, x.shape[1], self.d_k))
            for w, x in ((self.w_k, key), (self.w_v, value))
        )
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights


@BANK.wrong(PART, named="heads cut and merged without transpose")
class ViewedIntoHeadsAndOut(Base):
    def forward(self, query, key, value, mask=None):
        B, T, S = len(query), query.shape[1], key.shape[1]
        q = self.w_q(query).view(B, self.h, T, self.d_k)
        k = self.spread(self.w_k(key).view(B, self.g, S, self.d_k))
        v = self.spread(self.w_v(value).view(B, self.g, S, self.d_k))
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o((weights @ v).view(B, T, -1)), weights


@BANK.wrong(PART, named="heads merged without transpose")
class ViewedOutOfHeads(Base):
    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.h)
        k, v = (
            self.spread(split_heads(w(x), self.g)) for w, x in ((self.w_k, key), (self.w_v, value))
        )
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        context = weights @ v
        return self.w_o(context.reshape(len(query), query.shape[1], -1)), weights


@BANK.wrong(PART, named="no output projection")
class HeadsMergedAndReturned(Base):
    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.h)
        k, v = (
            self.spread(split_heads(w(x), self.g)) for w, x in ((self.w_k, key), (self.w_v, value))
        )
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return merge_heads(weights @ v), weights


@BANK.wrong(PART, named="an assert for the ValueError")
class Asserted(Base):
    def __init__(self, d_model, num_heads, num_kv_heads):
        assert d_model % num_heads == 0, (d_model, num_heads)
        assert num_heads % num_kv_heads == 0, (num_heads, num_kv_heads)
        super().__init__(d_model, num_heads, num_kv_heads)


@BANK.wrong(PART, told="wrong where an error is asked for")
class ErrorWithoutNumbers(Base):
    def __init__(self, d_model, num_heads, num_kv_heads):
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError("the heads do not fit")
        super().__init__(d_model, num_heads, num_kv_heads)


@BANK.wrong(PART, named="no ValueError")
class KeyHeadsUnchecked(Base):
    def __init__(self, d_model, num_heads, num_kv_heads):
        even = num_heads if num_heads % num_kv_heads else num_kv_heads
        super().__init__(d_model, num_heads, even)


@BANK.wrong(PART, told="the weights right, the output wrong")
class KeysForValues(Base):
    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.h)
        k = self.spread(split_heads(self.w_k(key), self.g))
        v = self.spread(split_heads(self.w_k(value), self.g))
        weights = self.weigh(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights


@BANK.wrong(PART, named="maps without bias")
class WithoutBiases(Base):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.w_k = nn.Linear(d_model, num_kv_heads * self.d_k, bias=False)
        self.w_v = nn.Linear(d_model, num_kv_heads * self.d_k, bias=False)


@BANK.wrong(PART, told="wrong about what a new module holds")
class WithAFurtherNorm(Base):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.norm = nn.LayerNorm(d_model)


@BANK.wrong(PART, named="mask chosen by the key head")
class MaskOfTheKeyHead(Base):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.w_q(query), self.w_k(key), self.w_v(value)
        found = [self.one(h, q, k, v, mask) for h in range(self.h)]
        context, weights = zip(*found, strict=True)
        return self.w_o(torch.cat(context, -1)), torch.stack(weights, 1)

    def one(self, h, q, k, v, mask):
        g = h * self.g // self.h
        asks, shared = slice(h * self.d_k, h * self.d_k + self.d_k), slice(g * self.d_k, None)
        scores = q[..., asks] @ k[..., shared][..., : self.d_k].mT / self.d_k**0.5
        if mask is not None and mask.dim() > 2:
            mask = mask[..., g if mask.shape[-3] > 1 else 0, :, :]
        weights = masked_softmax(scores, mask)
        return weights @ v[..., shared][..., : self.d_k], weights


@BANK.wrong(PART, named="divided by the root of another width")
class RootAfterTheKeysWereRepeated(Base):
    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.h)
        k, v = (split_heads(made, self.g) for made in (self.w_k(key), self.w_v(value)))
        k, v = self.spread(k), self.spread(v)
        weights = self.weigh(q @ k.mT / (k.shape[1] * self.d_k // self.g) ** 0.5, mask)
        return self.w_o(merge_heads(weights @ v)), weights
