"""`GroupedQueryAttention` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a11_fast_attention.rubric import (
    GROUP_MANNERS,
    GROUP_MASKS,
    GROUP_OUTPUT,
    SHARED,
    group_attention,
)
from autograder.checks.mistakes import called, costs, message, variants
from course_utils import fast_attention


class Grouped(fast_attention.GroupedQueryAttention):
    """The right module in steps, each of which a mistake can change."""

    def __init__(self, d_model, num_heads, num_kv_heads):
        self.check(d_model, num_heads, num_kv_heads)
        super().__init__(d_model, num_heads, num_kv_heads)

    def check(self, d_model, num_heads, num_kv_heads):
        """What else the constructor refuses."""

    def entering(self, query):
        return query

    def cut(self, x, heads):
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    def cut_queries(self, x):
        return self.cut(x, self.num_heads)

    def cut_keys(self, x):
        return self.cut(x, self.num_kv_heads)

    def keys_for(self, keys):
        return keys.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def values_for(self, values):
        return values.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def root(self, query_heads):
        return query_heads.shape[-1] ** 0.5

    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        mask = self.mask_for(mask, scores)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        return self.empty(weights, mask)

    def mask_for(self, mask, scores):
        return mask

    def empty(self, weights, mask):
        return weights.masked_fill(~mask, 0.0)

    def merged(self, context):
        return context.transpose(1, 2).flatten(2)

    def result(self, output, weights):
        return output, weights

    def forward(self, query, key, value, mask=None):
        asks = self.cut_queries(self.w_q(self.entering(query)))
        keys = self.keys_for(self.cut_keys(self.w_k(key)))
        values = self.values_for(self.cut_keys(self.w_v(value)))
        weights = self.weigh(asks @ keys.mT / self.root(asks), mask)
        return self.result(self.w_o(self.merged(weights @ values)), weights)


MODULO = (
    "Your query head h uses the {} head h mod num_kv_heads, so heads that share one are scattered. "
    "Neighbours share: head h uses h // (num_heads / num_kv_heads), and `repeat_interleave` repeats in "
    "this order."
)
ONE_FOR_ALL = "All your query heads use the {} {} head. Each group of query heads has its own."


@group_attention.mistakes_in(Grouped.__init__, costs=SHARED, of=Grouped)
class GroupedInit:
    @called("maps without bias")
    @variants(
        "bare", (("w_q", "w_k", "w_v", "w_o"), ("w_q", "w_k", "w_v"), ("w_k", "w_v"), ("w_o",))
    )
    def bare_maps(self, d_model, num_heads, num_kv_heads, bare):
        """The four maps are `nn.Linear` as PyTorch makes them, each with a bias. In your module, at least
        one of them has none."""
        Grouped.__init__(self, d_model, num_heads, num_kv_heads)
        for name in bare:
            getattr(self, name).bias = None


@group_attention.mistakes_in(Grouped.keys_for, costs=SHARED)
class GroupedKeys:
    @called("key heads by remainder")
    @message(MODULO.format("key"))
    def by_remainder(self, keys):
        return keys.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)

    @called("the first key head for all")
    @message(ONE_FOR_ALL.format("first", "key"))
    def the_first(self, keys):
        return keys[:, :1].expand(-1, self.num_heads, -1, -1)

    @called("the mean key head for all")
    @message(ONE_FOR_ALL.format("average", "key"))
    def the_mean(self, keys):
        return keys.mean(dim=1, keepdim=True).expand(-1, self.num_heads, -1, -1)

    @called("key heads in reverse")
    def reversed_groups(self, keys):
        """The first query heads use the last key head. The order of groups is that of the key heads."""
        return Grouped.keys_for(self, keys.flip(1))


@group_attention.mistakes_in(Grouped.values_for, costs=GROUP_OUTPUT)
class GroupedValues:
    @called("value heads by remainder")
    @message(MODULO.format("value"))
    def by_remainder(self, values):
        return values.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)

    @called("the first value head for all")
    @message(ONE_FOR_ALL.format("first", "value"))
    def the_first(self, values):
        return values[:, :1].expand(-1, self.num_heads, -1, -1)

    @called("the mean value head for all")
    @message(ONE_FOR_ALL.format("average", "value"))
    def the_mean(self, values):
        return values.mean(dim=1, keepdim=True).expand(-1, self.num_heads, -1, -1)


RESHAPED = (
    "Your heads hold whole words instead of a share of each word, because nothing was transposed between "
    "the two reshapes."
)


@group_attention.mistakes_in(Grouped.cut, costs=SHARED)
class GroupedCut:
    @called("heads hold every H-th feature")
    def interleaved(self, x, heads):
        """Your heads take every H-th feature. A head's features stand beside each other, as in
        assignment 5."""
        return x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)

    @called("reshape without transpose")
    @message(RESHAPED)
    def without_transpose(self, x, heads):
        return x.reshape(x.shape[0], heads, x.shape[1], -1)


@group_attention.mistakes_in(Grouped.cut_queries, costs=SHARED)
class GroupedCutQueries:
    @called("reshape without transpose")
    @message(RESHAPED)
    def of_the_queries(self, x):
        return GroupedCut.without_transpose(self, x, self.num_heads)


@group_attention.mistakes_in(Grouped.cut_keys, costs=SHARED)
class GroupedCutKeys:
    @called("reshape without transpose")
    @message(RESHAPED)
    def of_keys_and_values(self, x):
        return GroupedCut.without_transpose(self, x, self.num_kv_heads)


@group_attention.mistakes_in(Grouped.entering, costs=SHARED)
class GroupedEntering:
    @called("query divided before its projection")
    def divided(self, query):
        """You divide `query` itself by √d_k, before `w_q`, whose bias is then as large as before. Divide the
        scores, and once."""
        return query / (query.shape[-1] / self.num_heads) ** 0.5


@group_attention.mistakes_in(Grouped.root, costs=SHARED)
class GroupedRoot:
    def not_scaled(self, query_heads):
        """Your scores are not divided by √d_k."""
        return 1.0

    @called("divided by the root of another width")
    @variants("wrong", ("d_model", "all key heads", "a group"))
    def another_root(self, query_heads, wrong):
        """You divide by the root of another width than that of one head: of the model, of all key heads,
        or of a group. d_k is d_model / num_heads."""
        d_k = query_heads.shape[-1]
        factor = {
            "d_model": self.num_heads,
            "all key heads": self.num_kv_heads,
            "a group": self.num_heads // self.num_kv_heads,
        }[wrong]
        return (factor * d_k) ** 0.5

    @called("divided by d_k itself")
    def no_root(self, query_heads):
        """You divide the scores by d_k. It is divided by its root."""
        return float(query_heads.shape[-1])


@group_attention.mistakes_in(Grouped.weigh, costs=SHARED)
class GroupedWeigh:
    @called("softmax over the heads")
    def over_the_heads(self, scores, mask):
        """Your softmax runs over the heads. Each head has a row of weights of its own, over the keys."""
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(dim=1).nan_to_num(0.0)

    @called("softmax over the queries")
    def over_the_queries(self, scores, mask):
        """Your softmax runs over the words that ask. Take it over the keys, `dim=-1`."""
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(dim=-2).nan_to_num(0.0)

    @called("queries of a group averaged")
    def averaged(self, scores, mask):
        """All query heads of a group have the same weights, because their queries or scores were
        averaged. They share keys and values, and ask each on its own."""
        group = self.num_heads // self.num_kv_heads
        mean = scores.unflatten(1, (-1, group)).mean(dim=2).repeat_interleave(group, dim=1)
        return Grouped.weigh(self, mean, mask)

    @costs(GROUP_MASKS)
    @called("mask ignored")
    def unmasked(self, scores, mask):
        """Hidden keys get weight. Set their scores to −∞ before the softmax."""
        return scores.softmax(dim=-1)

    @costs(GROUP_MASKS)
    @called("mask the wrong way round")
    def the_other_way(self, scores, mask):
        """You hide what the mask shows. In this course True means *may attend*."""
        return Grouped.weigh(self, scores, None if mask is None else ~mask)

    @costs(GROUP_MASKS)
    @called("mask after the softmax")
    def too_late(self, scores, mask):
        """Hidden keys are taken out after the softmax, so the rest no longer sums to one. Hide scores
        before it, with −∞."""
        weights = scores.softmax(dim=-1)
        return weights if mask is None else weights * mask

    @costs(GROUP_MASKS)
    @called("hidden scores set to 0")
    def zeroed(self, scores, mask):
        """You set hidden scores to 0, and e⁰ is 1. A score of −∞ gives the weight 0."""
        return (scores if mask is None else scores * mask).softmax(dim=-1)

    @costs(GROUP_MASKS)
    @called("NaN where nothing may be attended to")
    def zero_by_zero(self, scores, mask):
        """Where a query may attend to nothing, all its scores are −∞, and the softmax divides 0 by 0. Such a
        query gets weights of 0: set hidden weights to 0 after the softmax."""
        if mask is None:
            return scores.softmax(dim=-1)
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)

    @costs(GROUP_MASKS)
    @called("weights where nothing may be attended to")
    @variants("low, added", ((-1e9, False), (-1e9, True), (-1e4, True)))
    def shared_out(self, scores, mask, low, added):
        """Where a query may attend to nothing, its scores are all one and the same number, and a softmax turns
        these into weights that sum to one all the same. Such a query gets weights of 0: set hidden weights
        to 0 after the softmax."""
        if mask is None:
            return scores.softmax(dim=-1)
        if not added:
            return scores.masked_fill(~mask, low).softmax(dim=-1)
        return (scores + torch.zeros_like(scores).masked_fill(~mask, low)).softmax(dim=-1)

    @costs(GROUP_MANNERS)
    @called("NaN in gradients where nothing may be attended to")
    def nan_gradients(self, scores, mask):
        """Your numbers are right, but where a query may attend to nothing, the gradients are NaN: they pass
        through the softmax of scores that are all −∞, whatever replaces its result. Give such rows finite
        scores before the softmax."""
        if mask is None:
            return scores.softmax(dim=-1)
        low = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
        return (scores + low).softmax(dim=-1).nan_to_num(0.0)

    @costs(GROUP_MANNERS)
    @called("exponentials that overflow")
    def bare(self, scores, mask):
        """Large scores turn into infinity or NaN, because the exponentials are taken as they are.
        `softmax` first takes off the largest score of a row."""
        powers = scores.exp() if mask is None else scores.exp() * mask
        total = powers.sum(dim=-1, keepdim=True)
        return powers / torch.where(total == 0, 1, total)


@group_attention.mistakes_in(Grouped.mask_for, costs=GROUP_MASKS)
class GroupedMaskFor:
    @called("an axis of heads added to every mask")
    def one_axis_more(self, mask, scores):
        """You put an axis for the heads into every mask. The mask broadcasts to (B, H, T, S) as it is, and
        may have this axis already."""
        return mask.unsqueeze(1) if mask.dim() > 2 else mask

    @called("one head's mask for all")
    def first_head(self, mask, scores):
        """Of a mask that differs from head to head you use the first head's for all. Every query head has
        its own row."""
        return mask[:, :1] if mask.dim() == 4 else mask

    @called("one mask for each group")
    def by_groups(self, mask, scores):
        """Query heads of a group share one mask in your module. A mask (B, H, T, S) has one for each
        *query* head."""
        if mask.dim() < 3 or mask.shape[-3] == 1:
            return mask
        group = self.num_heads // self.num_kv_heads
        return mask[..., ::group, :, :].repeat_interleave(group, dim=-3)

    @called("mask chosen by the key head")
    @variants("remainder", (False, True))
    def by_key_heads(self, mask, scores, remainder):
        """Of a mask that differs from head to head, each of your query heads uses the one with the number of
        its key head. Query head h uses mask h of (B, H, T, S)."""
        if mask.dim() < 3 or mask.shape[-3] == 1:
            return mask
        heads = torch.arange(self.num_heads)
        group = self.num_heads // self.num_kv_heads
        chosen = heads % self.num_kv_heads if remainder else heads // group
        return mask[..., chosen, :, :]


@group_attention.mistakes_in(Grouped.merged, costs=GROUP_OUTPUT)
class GroupedMerged:
    @called("heads merged without transpose")
    def in_memory_order(self, context):
        """You merge heads by a reshape alone, so a row of the result mixes several words. First bring the
        words in front of the heads again."""
        B, H, T, d_k = context.shape
        return context.reshape(B, T, H * d_k)

    @called("features of heads mixed")
    def by_features(self, context):
        """In a row of the result the heads' features take turns. Those of one head stand beside each
        other."""
        return context.permute(0, 2, 3, 1).flatten(2)


@group_attention.mistakes_in(Grouped.result, costs=SHARED)
class GroupedResult:
    @called("weights of one head for each group")
    def of_groups(self, output, weights):
        """You give back the weights of one query head for each group. Those of every query head are asked
        for, (B, H, T, S)."""
        group = self.num_heads // self.num_kv_heads
        return output, weights[:, ::group]

    @called("weights averaged over the heads")
    def averaged(self, output, weights):
        """You average the weights over the heads. Those of every query head are asked for, (B, H, T,
        S)."""
        return output, weights.mean(dim=1)

    @called("no weights given back")
    def alone(self, output, weights):
        """You return the output alone. The weights of every query head come back as well, as the second
        result."""
        return output

    @called("(weights, output) for (output, weights)")
    def turned(self, output, weights):
        """Your results come in the other order. First the output, then the weights."""
        return weights, output


@group_attention.mistake("heads cut and merged without transpose", costs=(SHARED, GROUP_OUTPUT))
class ReshapedOnly(Grouped):
    """You cut heads out of the features by a reshape alone and merge them by another, so a head holds
    whole words instead of a share of each word. Transpose words and heads in between, both times."""

    cut = GroupedCut.without_transpose
    merged = GroupedMerged.in_memory_order


@group_attention.mistake("no output projection", costs=(GROUP_OUTPUT,))
class Unprojected(Grouped):
    """Your output is the merged heads themselves. They still pass through `w_o`."""

    def forward(self, query, key, value, mask=None):
        w_o, self.w_o = self.w_o, torch.nn.Identity()
        try:
            return super().forward(query, key, value, mask)
        finally:
            self.w_o = w_o


@group_attention.mistake("keys cut with the number of queries", costs=(SHARED,))
class OneLength(Grouped):
    """You cut keys and values with the number of queries, so your module stops where T ≠ S. Take the
    length of the keys from the keys."""

    def forward(self, query, key, value, mask=None):
        if query.shape[1] != key.shape[1]:
            raise RuntimeError("the keys do not fit into the shape of the queries")
        return super().forward(query, key, value, mask)


@group_attention.mistake("num_kv_heads taken for the size of a group", costs=(SHARED,))
class GroupSize(Grouped):
    """You take num_kv_heads for the number of query heads in a group. It is the number of key heads, and
    a group has num_heads / num_kv_heads query heads. So `w_k` and `w_v` get another width, too."""

    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        d_k = d_model // num_heads
        self.num_kv_heads = num_heads // num_kv_heads
        self.w_k = torch.nn.Linear(d_model, self.num_kv_heads * d_k)
        self.w_v = torch.nn.Linear(d_model, self.num_kv_heads * d_k)


@group_attention.mistake("w_k and w_v of full width", costs=(SHARED,))
class FullWidth(Grouped):
    """`w_k` and `w_v` have the width of all query heads, so nothing is saved. They make num_kv_heads ·
    d_k features."""

    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.w_k = torch.nn.Linear(d_model, d_model)
        self.w_v = torch.nn.Linear(d_model, d_model)


@group_attention.mistake("no ValueError", costs=(GROUP_MANNERS,))
class Unchecked(Grouped):
    """Heads that do not share the width evenly, or query heads that do not share the key heads evenly,
    pass without a word. Raise a ValueError in the constructor that names both numbers."""

    def __init__(self, d_model, num_heads, num_kv_heads):
        even = d_model % num_heads == 0 and num_heads % num_kv_heads == 0
        super().__init__(*((d_model, num_heads, num_kv_heads) if even else (4, 2, 1)))


@group_attention.mistake("an assert for the ValueError", costs=(GROUP_MANNERS,))
class Asserting(Grouped):
    """An `assert` raises an AssertionError, and none at all under `python -O`. Raise a ValueError that
    names both numbers."""

    def check(self, d_model, num_heads, num_kv_heads):
        assert d_model % num_heads == 0, f"{d_model} {num_heads}"
        assert num_heads % num_kv_heads == 0, f"{num_heads} {num_kv_heads}"
