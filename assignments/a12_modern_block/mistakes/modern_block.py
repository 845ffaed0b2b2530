"""`ModernBlock` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from assignments.a12_modern_block.rubric import ATTENDS, BLOCK_MANNERS, FEEDS, block
from autograder.checks.mistakes import called, costs, message, plain, variants
from course_utils import modern
from course_utils.attention import merge_heads, split_heads
from course_utils.masks import causal_mask


class Block(modern.ModernBlock):
    """The right block in steps, each of which a mistake can change."""

    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        self.check(d_model, num_heads)
        super().__init__(d_model, num_heads, d_ff, base, self.eps_for(eps))

    def check(self, d_model, num_heads):
        """What else the constructor refuses."""

    def eps_for(self, eps):
        return eps

    def places(self, x, positions):
        return torch.arange(x.shape[1]) if positions is None else positions

    def angle_base(self):
        return self.base

    def cut(self, merged):
        return split_heads(merged, self.num_heads)

    def turn(self, query, key, value, positions):
        base = self.angle_base()
        query, key = (modern.apply_rotary(one, positions, base) for one in (query, key))
        return query, key, value

    def root(self, query):
        return query.shape[-1] ** 0.5

    def mask_for(self, mask, x):
        return mask

    def empty(self, weights, mask):
        return weights.masked_fill(~mask, 0.0)

    def kept(self, weights):
        return weights

    def weigh(self, scores, mask):
        if mask is None:
            return self.kept(scores.softmax(dim=-1))
        return self.kept(self.empty(scores.masked_fill(~mask, -1e30).softmax(dim=-1), mask))

    def merge(self, heads):
        return merge_heads(heads)

    def out(self, merged):
        return self.w_o(merged)

    def attention(self, z, mask, positions):
        cut = (self.cut(made(z)) for made in (self.w_q, self.w_k, self.w_v))
        query, key, value = self.turn(*cut, self.places(z, positions))
        weights = self.weigh(query @ key.mT / self.root(query), self.mask_for(mask, z))
        return self.out(self.merge(weights @ value))

    def first_half(self, x, mask, positions):
        return x + self.attention(self.norm1(x), mask, positions)

    def second_half(self, x, h):
        return h + self.feed_forward(self.norm2(h))

    def forward(self, x, mask=None, positions=None):
        return self.second_half(x, self.first_half(x, mask, positions))


@block.mistakes_in(Block.first_half, costs=ATTENDS)
class BlockFirstHalf:
    @called("norm after attention and the sum")
    def post_norm(self, x, mask, positions):
        """Your first norm comes after the sum, as in the block of 2017. Here it stands at the entrance of
        attention, and the sum is left as it is."""
        return self.norm1(x + self.attention(x, mask, positions))

    @called("norm on what attention returns")
    def norm_of_the_sublayer(self, x, mask, positions):
        """Your first norm is on what attention returns. It belongs on what attention is given."""
        return x + self.norm1(self.attention(x, mask, positions))

    @called("no residual around attention")
    def no_residual(self, x, mask, positions):
        """x is not added to what attention returns."""
        return self.attention(self.norm1(x), mask, positions)

    @called("the normed x is added after attention")
    def residual_of_the_normed(self, x, mask, positions):
        """You add the normed x to what attention returns. The x before the norm is added."""
        z = self.norm1(x)
        return z + self.attention(z, mask, positions)

    @called("no first norm")
    def no_norm(self, x, mask, positions):
        """Attention gets x as it is. `norm1` is not used."""
        return x + self.attention(x, mask, positions)

    @called("norm1 for queries only")
    def norm_for_queries(self, x, mask, positions):
        """Keys and values are made of x before the norm. All three maps get the normed x."""
        z = self.norm1(x)
        made = self.cut(self.w_q(z)), self.cut(self.w_k(x)), self.cut(self.w_v(x))
        query, key, value = self.turn(*made, self.places(x, positions))
        weights = self.weigh(query @ key.mT / self.root(query), mask)
        return x + self.out(self.merge(weights @ value))

    @called("norm1 not for all three maps")
    @variants("left_out", ("v", "k", "q", "kq", "qv"))
    def norm_for_some(self, x, mask, positions, left_out):
        """Some of queries, keys and values are made of x before the norm. All three maps get the normed x."""
        z = self.norm1(x)
        made = (
            self.cut(getattr(self, f"w_{name}")(x if name in left_out else z)) for name in "qkv"
        )
        query, key, value = self.turn(*made, self.places(x, positions))
        weights = self.weigh(query @ key.mT / self.root(query), mask)
        return x + self.out(self.merge(weights @ value))


@block.mistakes_in(Block.second_half, costs=FEEDS)
class BlockSecondHalf:
    @called("norm after the feed-forward network and the sum")
    def post_norm(self, x, h):
        """Your second norm comes after the sum. It stands at the entrance of the feed-forward network."""
        return self.norm2(h + self.feed_forward(h))

    @called("norm on what the feed-forward network returns")
    def norm_of_the_sublayer(self, x, h):
        """Your second norm is on what the feed-forward network returns. It belongs on what the network is
        given."""
        return h + self.norm2(self.feed_forward(h))

    @called("one norm for both")
    def first_norm_again(self, x, h):
        """`norm1` is used in both places. The feed-forward network has `norm2`."""
        return h + self.feed_forward(self.norm1(h))

    @called("parallel halves")
    def parallel(self, x, h):
        """Your feed-forward network is given the norm of x. It comes after attention and gets the norm of
        h, the sum so far."""
        return h + self.feed_forward(self.norm2(x))

    @called("no residual around the feed-forward network")
    def no_residual(self, x, h):
        """h is not added to what the feed-forward network returns."""
        return self.feed_forward(self.norm2(h))

    @called("x added instead of h")
    def residual_of_x(self, x, h):
        """You add x to what the feed-forward network returns. h is added, which holds what attention
        found."""
        return x + self.feed_forward(self.norm2(h))

    @called("the normed h is added")
    def residual_of_the_normed(self, x, h):
        """You add the normed h to what the feed-forward network returns. The h before the norm is added."""
        z = self.norm2(h)
        return z + self.feed_forward(z)

    @called("no second norm")
    def no_norm(self, x, h):
        """The feed-forward network gets h as it is. `norm2` is not used."""
        return h + self.feed_forward(h)

    @called("feed-forward network missing")
    def nothing(self, x, h):
        """Your block ends after attention. The feed-forward network is not used."""
        return h


@block.mistakes_in(Block.turn, costs=ATTENDS)
class BlockTurn:
    @called("values turned")
    def values_too(self, query, key, value, positions):
        """You turn the values, too. Queries and keys are turned, and values are not."""
        base = self.angle_base()
        return tuple(modern.apply_rotary(one, positions, base) for one in (query, key, value))

    @called("only queries turned")
    def only_queries(self, query, key, value, positions):
        """You turn the queries alone. Keys are turned by the same rule, so that scores depend on
        distances."""
        return modern.apply_rotary(query, positions, self.angle_base()), key, value

    @called("only keys turned")
    def only_keys(self, query, key, value, positions):
        """You turn the keys alone. Queries are turned by the same rule, so that scores depend on
        distances."""
        return query, modern.apply_rotary(key, positions, self.angle_base()), value

    @called("keys turned the other way")
    def against_each_other(self, query, key, value, positions):
        """Keys are turned backwards, so scores depend on the sum of two positions. Queries and keys are turned
        by the same rule, so that scores depend on their difference."""
        base = self.angle_base()
        query, key = (
            modern.apply_rotary(query, positions, base),
            modern.apply_rotary(key, -positions, base),
        )
        return query, key, value

    @called("queries and keys exchanged")
    def exchanged(self, query, key, value, positions):
        """Your scores ask with the keys and look for the queries. Rows of the scores belong to queries,
        columns to keys."""
        query, key, value = Block.turn(self, query, key, value, positions)
        return key, query, value

    @called("halves for neighbours")
    def halves(self, query, key, value, positions):
        """You pair feature k with feature k + d_k / 2, as many libraries do. Here neighbours, 2k and 2k + 1,
        form a pair, as `apply_rotary` has it."""
        order = torch.arange(query.shape[-1]).unflatten(0, (2, -1)).T.flatten()
        base = self.angle_base()
        query, key = (
            modern.apply_rotary(one[..., order], positions, base)[..., order.argsort()]
            for one in (query, key)
        )
        return query, key, value

    @called("base handed over as the factor")
    def base_for_factor(self, query, key, value, positions):
        """Your `base` stands where `apply_rotary` has its `factor`, so positions are divided by it. Hand it
        over by its name."""
        query, key = (
            modern.apply_rotary(one, positions, factor=self.angle_base()) for one in (query, key)
        )
        return query, key, value

    @called("nothing turned")
    def nothing(self, query, key, value, positions):
        """Neither queries nor keys are turned, so your block knows no positions."""
        return query, key, value

    @called("turned before the heads are cut")
    def before_the_cut(self, query, key, value, positions):
        """You turn all features of a word before they are cut into heads. Then the speeds fall over all of
        d_model, and each head gets others. Turn after the cut, so that every head has all speeds."""
        base = self.angle_base()

        def whole(one):
            merged = merge_heads(one).unsqueeze(1)
            return split_heads(
                modern.apply_rotary(merged, positions, base).squeeze(1), self.num_heads
            )

        return whole(query), whole(key), value


@block.mistakes_in(Block.root, costs=ATTENDS)
class BlockRoot:
    @called("not scaled")
    def unscaled(self, query):
        """Your scores are not divided by √d_k."""
        return 1.0

    @called("scaled twice")
    def twice(self, query):
        """Your scores are divided by d_k, or twice by its root. They are divided by √d_k once, which
        `scaled_dot_product_attention` does by itself."""
        return query.shape[-1]

    @called("divided by √d_model")
    def of_the_model(self, query):
        """Your scores are divided by √d_model. Each head has the width d_k = d_model / num_heads."""
        return self.w_q.weight.shape[0] ** 0.5


@block.mistakes_in(Block.cut, costs=ATTENDS)
class BlockCut:
    @called("reshape without transpose")
    def without_transpose(self, merged):
        """Your heads hold whole words instead of a share of each word, because nothing was transposed
        between the two reshapes."""
        return merged.reshape(merged.shape[0], self.num_heads, merged.shape[1], -1)


@block.mistakes_in(Block.merge, costs=ATTENDS)
class BlockMerge:
    @called("heads merged without transpose")
    def without_transpose(self, heads):
        """Your merged rows hold words of one head instead of one word of all heads, because nothing is
        transposed before the reshape. `merge_heads` does both."""
        return heads.reshape(heads.shape[0], heads.shape[2], -1)


@block.mistakes_in(Block.out, costs=ATTENDS)
class BlockOut:
    @called("output projection missing")
    def missing(self, merged):
        """What the heads found is added without `w_o`."""
        return merged


@block.mistakes_in(Block.weigh, costs=ATTENDS)
class BlockWeigh:
    @called("softmax over the queries")
    def over_queries(self, scores, mask):
        """Your softmax runs over the queries, so that columns sum to one. For every query the weights of the
        keys sum to one, so it runs over the last axis."""
        if mask is None:
            return scores.softmax(dim=-2)
        return self.empty(scores.masked_fill(~mask, -1e30).softmax(dim=-2), mask)

    @called("NaN where nothing may be attended to")
    @costs(FEEDS)
    def not_a_number(self, scores, mask):
        """A head in which a word may attend to nothing gives it NaN, since a softmax of −∞ alone divides 0
        by 0. It gives zeros."""
        if mask is None:
            return scores.softmax(dim=-1)
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)

    @called("mask after the softmax")
    @costs(FEEDS)
    def too_late(self, scores, mask):
        """Hidden words are taken out after the softmax, so the rest no longer sums to one. Hide scores before
        it."""
        weights = scores.softmax(dim=-1)
        return weights if mask is None else self.empty(weights, mask)

    @called("hidden scores set to 0")
    @costs(FEEDS)
    def zero(self, scores, mask):
        """You set hidden scores to 0, and e⁰ is 1. A score of −∞ gives the weight 0."""
        if mask is None:
            return scores.softmax(dim=-1)
        return scores.masked_fill(~mask, 0.0).softmax(dim=-1)


@block.mistakes_in(Block.mask_for, costs=FEEDS)
class BlockMask:
    @called("mask ignored")
    def ignored(self, mask, x):
        """Your block does not use the mask."""

    @called("mask upside down")
    def inverted(self, mask, x):
        """You hide what the mask shows. True means that a word may be attended to."""
        return mask if mask is None else ~mask

    @called("always causal")
    def always_causal(self, mask, x):
        """Your block always hides the future. It hides what the mask hides and, without a mask, nothing."""
        causal = causal_mask(x.shape[1])
        return causal if mask is None else mask & causal


@block.mistakes_in(Block.empty, costs=FEEDS)
class BlockEmpty:
    @called("the average where nothing may be attended to")
    def average(self, weights, mask):
        """A word that may attend to nothing gets the average of all values. It gets zeros."""
        return weights


@block.mistakes_in(Block.places, costs=BLOCK_MANNERS)
class BlockPlaces:
    @called("positions ignored")
    def ignored(self, x, positions):
        """Your block does not use `positions`. Words are always turned as if they stood at 0, 1, 2, …"""
        return torch.arange(x.shape[1])

    @called("positions of the first sentence for all")
    def of_the_first(self, x, positions):
        """All your sentences get the positions of the first one. With (B, T), each row belongs to a
        sentence."""
        places = Block.places(self, x, positions)
        return places[0] if places.dim() == 2 else places


@block.mistakes_in(Block.angle_base, costs=BLOCK_MANNERS)
class BlockBase:
    @called("base not passed on")
    def fixed(self):
        """The block's `base` does not reach `apply_rotary`."""
        return 10000.0


@block.mistakes_in(Block.eps_for, costs=BLOCK_MANNERS)
class BlockEps:
    @called("eps not passed on")
    def fixed(self, eps):
        """The block's `eps` does not reach the norms."""
        return 1e-6


@block.mistake("feed-forward network first", costs=ATTENDS)
class NetworkFirst(Block):
    """Your block begins with the feed-forward network. Attention comes first."""

    def forward(self, x, mask=None, positions=None):
        h = x + self.feed_forward(self.norm2(x))
        return self.first_half(h, mask, positions)


@block.mistake("heads that do not fit pass", costs=BLOCK_MANNERS)
class Unchecked(Block):
    """Where `num_heads` does not divide `d_model`, no ValueError that names both numbers is raised."""

    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        if d_model % num_heads:
            super().__init__(d_model * num_heads, num_heads, d_ff, base, eps)
        else:
            super().__init__(d_model, num_heads, d_ff, base, eps)


@block.mistake("layer norm instead of RMSNorm", costs=ATTENDS)
class LayerNormed(Block):
    """Your numbers match norms that subtract the mean. The block has an `RMSNorm` in both places."""

    def first_half(self, x, mask, positions):
        return x + self.attention(self.norm1(x - x.mean(-1, keepdim=True)), mask, positions)

    def second_half(self, x, h):
        return h + self.feed_forward(self.norm2(h - h.mean(-1, keepdim=True)))


@block.mistake("the weights returned as well", costs=ATTENDS)
class WithWeights(Block):
    """You return the weights as well. The block returns y alone."""

    def weigh(self, scores, mask):
        self.seen = super().weigh(scores, mask)
        return self.seen

    def forward(self, x, mask=None, positions=None):
        return super().forward(x, mask, positions), self.seen


for one, other in (("norm2", "norm1"), ("w_k", "w_q"), ("w_v", "w_k"), ("w_v", "w_q")):

    @block.mistake(
        "one layer under two names",
        f"`{one}` and `{other}` are one and the same layer. Each has weights of its own.",
        costs=FEEDS,
    )
    class Shared(Block):
        names = one, other

        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            own, shared = self.names
            setattr(self, own, getattr(self, shared))


@block.mistakes_in(Block.out, costs=BLOCK_MANNERS)
class BlockOutDropping:
    @called("dropout inside")
    @variants("share", (0.1, 0.2, 0.5))
    def dropping(self, merged, share):
        """Your block drops some numbers in train mode. There is no dropout in it."""
        return F.dropout(self.w_o(merged), share, self.training)


@block.mistakes_in(Block.kept, costs=BLOCK_MANNERS)
class BlockKept:
    @called("dropout inside")
    @message(plain(BlockOutDropping.dropping.__doc__))
    @variants("share", (0.1, 0.2, 0.5))
    def dropping(self, weights, share):
        return F.dropout(weights, share, self.training)


@block.mistake("dropout inside", plain(BlockOutDropping.dropping.__doc__), costs=BLOCK_MANNERS)
class DroppingTwice(Block):
    def out(self, merged):
        return F.dropout(self.w_o(merged), 0.1, self.training)

    def second_half(self, x, h):
        return h + F.dropout(self.feed_forward(self.norm2(h)), 0.1, self.training)


@block.mistake("float32 always", costs=BLOCK_MANNERS)
class AlwaysSingle(Block):
    """Your result is float32 whatever x is. A float64 input gives a float64 result."""

    def forward(self, x, mask=None, positions=None):
        return super().forward(x, mask, positions).float()
