"""Answers to `ModernBlock`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a12_modern_block.answers.bank import BANK
from assignments.a12_modern_block.answers.rms_norm import normed_by_numbers, normed_by_products
from assignments.a12_modern_block.answers.swiglu import fed_by_numbers, fed_by_products
from assignments.a12_modern_block.rubric import ATTENDS, BLOCK_MANNERS, FEEDS, block
from assignments.common.slow import (
    each_word,
    mapped,
    mapped_at_once,
    seen_by_heads,
    turned_by_numbers,
    turned_by_products,
    weighed,
    weighed_at_once,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import attention, modern

ANSWERS = Answers(
    __name__, BANK, block,
    """
    class ModernBlock(modern.ModernBlock):
        def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
            super().__init__(d_model, num_heads, d_ff, base, eps)

        def found(self, for_q, for_k, for_v, mask, positions):
            H = self.num_heads
            places = torch.arange(for_q.shape[1]) if positions is None else positions
            angle_base = self.base
            projected = self.w_q(for_q), self.w_k(for_k), self.w_v(for_v)
            query, key, value = (attention.split_heads(x, H) for x in projected)
            q, k, v = rotate(query, places, angle_base), rotate(key, places, angle_base), value
            divisor = q.shape[-1] ** 0.5
            scores = q @ k.mT / divisor  # (B, H, T, T)
            shares = (scores if mask is None else scores.masked_fill(~mask, -1e30)).softmax(dim=-1)
            emptied = shares if mask is None else shares.masked_fill(~mask, 0.0)
            weights = emptied
            context = weights @ v
            merged = attention.merge_heads(context)  # (B, T, d_model)
            output = self.w_o(merged)
            return output

        def forward(self, x, mask=None, positions=None):
            z = self.norm1(x)
            h = x + self.found(z, z, z, mask, positions)
            return h + self.feed_forward(self.norm2(h))
    """,
    math=math, torch=torch, nn=nn, F=F, attention=attention, modern=modern, rotate=modern.apply_rotary,
    normed_by_numbers=normed_by_numbers, normed_by_products=normed_by_products,
    turned_by_numbers=turned_by_numbers, turned_by_products=turned_by_products,
    fed_by_numbers=fed_by_numbers, fed_by_products=fed_by_products,
    each_word=each_word, mapped=mapped, mapped_at_once=mapped_at_once,
    seen_by_heads=seen_by_heads, weighed=weighed, weighed_at_once=weighed_at_once,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("norm after attention and the sum", "h = self.norm1(x + self.found(x, x, x, mask, positions))", ATTENDS,
     "Your first norm comes after the sum, as in the block of 2017. Here it stands at the entrance of attention, and "
     "the sum is left as it is.")
slip("norm on what attention returns", "h = x + self.norm1(self.found(x, x, x, mask, positions))", ATTENDS,
     "Your first norm is on what attention returns. It belongs on what attention is given.")
slip("no residual around attention", "h = self.found(z, z, z, mask, positions)", ATTENDS,
     "x is not added to what attention returns.")
slip("the normed x is added after attention", "h = z + self.found(z, z, z, mask, positions)", ATTENDS,
     "You add the normed x to what attention returns. The x before the norm is added.")
slip("no first norm", "h = x + self.found(x, x, x, mask, positions)", ATTENDS,
     "Attention gets x as it is. `norm1` is not used.")
slip("norm1 for queries only", "h = x + self.found(z, x, x, mask, positions)", ATTENDS,
     "Keys and values are made of x before the norm. All three maps get the normed x.",
     published=("facebookresearch/xformers#233",
                "The norm acts on what the queries are made of, and keys and values come from x as it is."))
slip("norm1 not for all three maps", "h = x + self.found({given}, mask, positions)", ATTENDS,
     "Some of queries, keys and values are made of x before the norm. All three maps get the normed x.",
     each={"given": ("z, z, x", "z, x, z", "x, z, z", "x, x, z", "x, z, x")})
slip("norm after the feed-forward network and the sum", "return self.norm2(h + self.feed_forward(h))", FEEDS,
     "Your second norm comes after the sum. It stands at the entrance of the feed-forward network.")
slip("norm on what the feed-forward network returns", "return h + self.norm2(self.feed_forward(h))", FEEDS,
     "Your second norm is on what the feed-forward network returns. It belongs on what the network is given.")
slip("one norm for both", "return h + self.feed_forward(self.norm1(h))", FEEDS,
     "`norm1` is used in both places. The feed-forward network has `norm2`.")
slip("parallel halves", "return h + self.feed_forward(self.norm2(x))", FEEDS,
     "Your feed-forward network is given the norm of x. It comes after attention and gets the norm of h, the sum so "
     "far.")
slip("no residual around the feed-forward network", "return self.feed_forward(self.norm2(h))", FEEDS,
     "h is not added to what the feed-forward network returns.")
slip("x added instead of h", "return x + self.feed_forward(self.norm2(h))", FEEDS,
     "You add x to what the feed-forward network returns. h is added, which holds what attention found.")
slip("the normed h is added", "normed = self.norm2(h); return normed + self.feed_forward(normed)", FEEDS,
     "You add the normed h to what the feed-forward network returns. The h before the norm is added.")
slip("no second norm", "return h + self.feed_forward(h)", FEEDS,
     "The feed-forward network gets h as it is. `norm2` is not used.")
slip("feed-forward network missing", "return h", FEEDS,
     "Your block ends after attention. The feed-forward network is not used.")
slip("values turned", "q, k, v = (rotate(x, places, angle_base) for x in (query, key, value))", ATTENDS,
     "You turn the values, too. Queries and keys are turned, and values are not.")
slip("only queries turned", "q, k, v = rotate(query, places, angle_base), key, value", ATTENDS,
     "You turn the queries alone. Keys are turned by the same rule, so that scores depend on distances.")
slip("only keys turned", "q, k, v = query, rotate(key, places, angle_base), value", ATTENDS,
     "You turn the keys alone. Queries are turned by the same rule, so that scores depend on distances.")
slip("keys turned the other way",
     "q, k, v = rotate(query, places, angle_base), rotate(key, -places, angle_base), value", ATTENDS,
     "Keys are turned backwards, so scores depend on the sum of two positions. Queries and keys are turned by the same "
     "rule, so that scores depend on their difference.")
slip("queries and keys exchanged",
     "q, k, v = rotate(key, places, angle_base), rotate(query, places, angle_base), value", ATTENDS,
     "Your scores ask with the keys and look for the queries. Rows of the scores belong to queries, columns to keys.")
slip("halves for neighbours", """
    order = torch.arange(query.shape[-1]).unflatten(0, (2, -1)).T.flatten()
    turned = (rotate(x[..., order], places, angle_base)[..., order.argsort()] for x in (query, key))
    q, k, v = *turned, value
""", ATTENDS,
     "You pair feature k with feature k + d_k / 2, as many libraries do. Here neighbours, 2k and 2k + 1, form a pair, "
     "as `apply_rotary` has it.")
slip("base handed over as the factor",
     "q, k, v = rotate(query, places, factor=angle_base), rotate(key, places, factor=angle_base), value", ATTENDS,
     "Your `base` stands where `apply_rotary` has its `factor`, so positions are divided by it. Hand it over by its "
     "name.")
slip("nothing turned", "q, k, v = query, key, value", ATTENDS,
     "Neither queries nor keys are turned, so your block knows no positions.")
slip("turned before the heads are cut", """
    whole = (attention.merge_heads(x).unsqueeze(1) for x in (query, key))
    turned = (rotate(x, places, angle_base).squeeze(1) for x in whole)
    q, k, v = *(attention.split_heads(x, H) for x in turned), value
""", ATTENDS,
     "You turn all features of a word before they are cut into heads. Then the speeds fall over all of d_model, and "
     "each head gets others. Turn after the cut, so that every head has all speeds.")
slip("not scaled", "divisor = 1.0", ATTENDS,
     "Your scores are not divided by √d_k.")
slip("scaled twice", "divisor = q.shape[-1]", ATTENDS,
     "Your scores are divided by d_k, or twice by its root. They are divided by √d_k once, which "
     "`scaled_dot_product_attention` does by itself.")
slip("divided by √d_model", "divisor = for_q.shape[-1] ** 0.5", ATTENDS,
     "Your scores are divided by √d_model. Each head has the width d_k = d_model / num_heads.")
slip("reshape without transpose",
     "query, key, value = (x.reshape(x.shape[0], H, x.shape[1], -1) for x in projected)", ATTENDS,
     "Your heads hold whole words instead of a share of each word, because nothing was transposed between the two "
     "reshapes.")
slip("heads merged without transpose", "merged = context.reshape(for_q.shape)", ATTENDS,
     "Your merged rows hold words of one head instead of one word of all heads, because nothing is transposed before "
     "the reshape. `merge_heads` does both.")
slip("output projection missing", "output = merged", ATTENDS,
     "What the heads found is added without `w_o`.")
slip("softmax over the queries",
     "shares = (scores if mask is None else scores.masked_fill(~mask, -1e30)).softmax(dim=-2)", ATTENDS,
     "Your softmax runs over the queries, so that columns sum to one. For every query the weights of the keys sum to "
     "one, so it runs over the last axis.")
slip("NaN where nothing may be attended to", """
    shares = (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(dim=-1)
    emptied = shares
""", FEEDS,
     "A head in which a word may attend to nothing gives it NaN, since a softmax of −∞ alone divides 0 by 0. It gives "
     "zeros.")
slip("mask after the softmax", "shares = scores.softmax(dim=-1)", FEEDS,
     "Hidden words are taken out after the softmax, so the rest no longer sums to one. Hide scores before it.")
slip("hidden scores set to 0", """
    shares = (scores if mask is None else scores.masked_fill(~mask, 0.0)).softmax(dim=-1)
    emptied = shares
""", FEEDS,
     "You set hidden scores to 0, and e⁰ is 1. A score of −∞ gives the weight 0.")
slip("mask ignored", "mask = None", FEEDS,
     "Your block does not use the mask.")
slip("mask upside down", "mask = mask if mask is None else ~mask", FEEDS,
     "You hide what the mask shows. True means that a word may be attended to.")
slip("always causal", """
    causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    mask = causal if mask is None else mask & causal
""", FEEDS,
     "Your block always hides the future. It hides what the mask hides and, without a mask, nothing.")
slip("the average where nothing may be attended to", "emptied = shares", FEEDS,
     "A word that may attend to nothing gets the average of all values. It gets zeros.")
slip("positions ignored", "places = torch.arange(for_q.shape[1])", BLOCK_MANNERS,
     "Your block does not use `positions`. Words are always turned as if they stood at 0, 1, 2, …")
slip("positions of the first sentence for all", """
    given = torch.arange(for_q.shape[1]) if positions is None else positions
    places = given[0] if given.dim() == 2 else given
""", BLOCK_MANNERS,
     "All your sentences get the positions of the first one. With (B, T), each row belongs to a sentence.")
slip("base not passed on", "angle_base = 10000.0", BLOCK_MANNERS,
     "The block's `base` does not reach `apply_rotary`.")
slip("eps not passed on", "eps = 1e-6", BLOCK_MANNERS,
     "The block's `eps` does not reach the norms.")
slip("feed-forward network first", """
    fed = x + self.feed_forward(self.norm2(x))
    z = self.norm1(fed)
    return fed + self.found(z, z, z, mask, positions)
""", ATTENDS,
     "Your block begins with the feed-forward network. Attention comes first.")
slip("heads that do not fit pass", """
    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        width = d_model * num_heads if d_model % num_heads else d_model
        super().__init__(width, num_heads, d_ff, base, eps)
""", BLOCK_MANNERS,
     "Where `num_heads` does not divide `d_model`, no ValueError that names both numbers is raised.")
slip("layer norm instead of RMSNorm", """
    z = self.norm1(x - x.mean(-1, keepdim=True))
    return h + self.feed_forward(self.norm2(h - h.mean(-1, keepdim=True)))
""", ATTENDS,
     "Your numbers match norms that subtract the mean. The block has an `RMSNorm` in both places.")
slip("the weights returned as well", """
    self.seen = emptied
    weights = emptied
    return h + self.feed_forward(self.norm2(h)), self.seen
""", ATTENDS,
     "You return the weights as well. The block returns y alone.")
slip("one layer under two names", """
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.{one} = self.{other}
""", FEEDS,
     "`{one}` and `{other}` are one and the same layer. Each has weights of its own.",
     each={"one": ("norm2", "w_k", "w_v", "w_v"), "other": ("norm1", "w_q", "w_k", "w_q")})
DROPS = "Your block drops some numbers in train mode. There is no dropout in it."
SHARES = {"share": (0.1, 0.2, 0.5)}
slip("dropout inside", "output = F.dropout(self.w_o(merged), {share}, self.training)", BLOCK_MANNERS, DROPS,
     each=SHARES)
slip("dropout inside", "weights = F.dropout(emptied, {share}, self.training)", BLOCK_MANNERS, DROPS, each=SHARES)
slip("dropout inside", """
    output = F.dropout(self.w_o(merged), 0.1, self.training)
    return h + F.dropout(self.feed_forward(self.norm2(h)), 0.1, self.training)
""", BLOCK_MANNERS, DROPS)
slip("float32 always", """
    def forward(self, x, mask=None, positions=None):
        return super().forward(x, mask, positions).float()
""", BLOCK_MANNERS,
     "Your result is float32 whatever x is. A float64 input gives a float64 result.")

right = ANSWERS.right
right("WithTheCoursesAttention", "context = attention.scaled_dot_product_attention(q, k, v, mask)[0]")
right("WithPyTorchsAttention", """
    context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    if mask is not None:
        context = context.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    merged = context.transpose(1, 2).flatten(2)
""")
right("ByEinsum", """
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -math.inf)
    weights = scores.softmax(-1).nan_to_num(0.0) if mask is not None else scores.softmax(-1)
    merged = torch.einsum("bhts,bhsd->bthd", weights, v).reshape(for_q.shape)
""")
right("HeadByHead", """
    B, T, D = for_q.shape
    seen = torch.ones(B, H, T, T, dtype=torch.bool) if mask is None else mask.expand(B, H, T, T)
    contexts = []
    for h, own in enumerate(torch.arange(D).chunk(H)):
        q, k, v = (one[..., own].unsqueeze(1) for one in projected)
        q, k = rotate(q, places, angle_base), rotate(k, places, angle_base)
        contexts.append(attention.scaled_dot_product_attention(q, k, v, seen[:, [h]])[0][:, 0])
    merged = torch.cat(contexts, -1)
""")
right("QueriesDividedFirst", """
    root = query.shape[-1] ** 0.5
    q, k, v = rotate(query, places, angle_base) / root, rotate(key, places, angle_base), value
    scores = q @ k.transpose(2, 3)
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, -1)
    if mask is not None:
        weights = weights * mask
    context = weights @ v
""")
# a common shift of all positions changes nothing
right("CountedFromOne", "places = (torch.arange(for_q.shape[1]) if positions is None else positions) + 1")
right("WithAMethodForEachHalf", """
    def first(self, x, mask, positions):
        z = self.norm1(x)
        return x + self.found(z, z, z, mask, positions)

    def second(self, h):
        return self.feed_forward(self.norm2(h)) + h

    return self.second(self.first(x, mask, positions))
""")
# one product with the three maps one below the other
right("ThreeMapsAtOnce", """
    maps = torch.cat([self.w_q.weight, self.w_k.weight, self.w_v.weight])
    projected = F.linear(for_q, maps).chunk(3, dim=-1)
""")
right("OneProjectionForAllThree", """
    maps = torch.cat([self.w_q.weight, self.w_k.weight, self.w_v.weight])
    heads = F.linear(for_q, maps).view(*for_q.shape[:2], 3, H, -1)
    query, key, value = heads.permute(2, 0, 3, 1, 4)
""")
right("BlockNumberByNumber", """
    projected = [each_word(lambda word: mapped(layer, word), for_q) for layer in (self.w_q, self.w_k, self.w_v)]
    q, k, v = turned_by_numbers(query, places, angle_base), turned_by_numbers(key, places, angle_base), value
    seen = seen_by_heads(mask, *q.shape[:3], q.shape[2])
    sentences = []
    for b in range(len(q)):
        heads = [weighed(q[b, h], k[b, h], v[b, h], seen[b, h])[0] for h in range(H)]
        sentences.append(torch.cat(heads, 1))
    merged = torch.stack(sentences)
    output = each_word(lambda word: mapped(self.w_o, word), merged)
    z = normed_by_numbers(self.norm1, x)
    return h + fed_by_numbers(self.feed_forward, normed_by_numbers(self.norm2, h))
""", slow=LOOPS)
right("BlockByProducts", """
    projected = [mapped_at_once(layer, for_q) for layer in (self.w_q, self.w_k, self.w_v)]
    q, k, v = turned_by_products(query, places, angle_base), turned_by_products(key, places, angle_base), value
    context = weighed_at_once(q, k, v, mask)[0]
    output = mapped_at_once(self.w_o, merged)
    z = normed_by_products(self.norm1, x)
    return h + fed_by_products(self.feed_forward, normed_by_products(self.norm2, h))
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("NormsAfterwards", """
    h = self.norm1(x + self.found(x, x, x, mask, positions))
    return self.norm2(h + self.feed_forward(h))
""", named=("norm after attention and the sum", "norm after the feed-forward network and the sum"))
wrong("BothResidualsNormed", """
    h = self.norm2(z + self.found(z, z, z, mask, positions))
    return h + self.feed_forward(h)
""", named=("the normed x is added after attention", "the normed h is added"),
      published=("pytorch/pytorch#61165", "No copy is kept before either norm, so both residuals start behind one."))
wrong("XAddedBeforeTheSublayers", """
    z = self.norm1(x) + x
    h = self.found(z, z, z, mask, positions)
    return self.feed_forward(self.norm2(h) + h)
""", told="all the same",
      published=("probml/pml-book#709",
                 "The formula in the book puts x inside the sublayer, attn(LN(x) + x), so nothing goes around it."))
wrong("WithBiases", """
    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        super().__init__(d_model, num_heads, d_ff, base, eps)
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model))
""", told="wrong about what a new module holds")
# keeps the positions of its first call
wrong("RemembersItsPositions", """
    T = for_q.shape[1]
    if not hasattr(self, "places"):
        self.places = torch.arange(T) if positions is None else positions
    if self.places.shape[-1] >= T:
        positions = self.places[..., :T]
    places = torch.arange(T) if positions is None else positions
""", told="wrong after another call")
wrong("RemembersThePositionsOfEachLength", """
    self.places = getattr(self, "places", {})
    T = for_q.shape[1]
    places = self.places.setdefault(T, torch.arange(T) if positions is None else positions)
""", told=("wrong after another call", "right in part"))
# keeps 0 … T − 1 of its first call, whatever the next text's length is
wrong("CountsItsFirstWords", """
    self.places = getattr(self, "places", torch.arange(for_q.shape[1]))
    places = self.places if positions is None else positions
""", told=("wrong after another call", "stops with RuntimeError"))
wrong("RemembersItsMask", "mask = self.mask = mask if mask is not None else getattr(self, 'mask', None)",
      told=("wrong after another call", "stops with RuntimeError"))
wrong("ResultsByShape", """
    def forward(self, x, mask=None, positions=None):
        self.results = getattr(self, "results", {})
        shapes = repr([None if item is None else item.shape for item in (x, mask, positions)])
        if shapes not in self.results:
            self.results[shapes] = super().forward(x, mask, positions)
        return self.results[shapes]
""", told="wrong after another call")
# what is right as a number has NaN for a gradient
wrong("AddsMinusInfinity", """
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1).nan_to_num(0.0)
""", told=("wrong about gradients", "wrong gradient"))
wrong("AverageWhereOneHeadIsBlind", """
    emptied = shares
    if mask is not None:
        blind = ~mask.expand_as(shares).any(-1, keepdim=True).any(1, keepdim=True)
        emptied = shares.masked_fill(blind, 0.0)
    weights = emptied
""", named="the average where nothing may be attended to")
wrong("NothingWhereOneHeadIsBlind", """
    shares = (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-1)
    weights = shares.masked_fill(shares.isnan().any(1, keepdim=True), 0.0)
""", told=("right in part", "wrong with a row in which nothing may be seen"))
wrong("MendsTheMask", """
    if mask is not None:
        blind = ~mask.any(-1, keepdim=True)
        mask |= blind
        scores = scores.masked_fill(~mask, -math.inf)
    shares = scores.softmax(-1)
    emptied = shares if mask is None else shares.masked_fill(blind, 0.0)
""", told=("inputs changed", "wrong with a row in which nothing may be seen"))
# as in models of half precision, where float32 is the closer one
wrong("NormsInSingle", """
    z = self.norm1(x.float()).to(x.dtype)
    return h + self.feed_forward(self.norm2(h.float()).to(x.dtype))
""", told=("rounded", "wrong in float64"))
wrong("AttentionInSingle", """
    context, _ = attention.scaled_dot_product_attention(q.float(), k.float(), v.float(), mask)
    merged = attention.merge_heads(context.to(for_q.dtype))
""", told=("rounded", "wrong in float64"))
# leaves attention out for a sentence now and then, as some deep models do in train mode
wrong("DropsWholeSentences", "output = self.w_o(merged) * torch.rand(len(for_q), 1, 1).ge(0.9 * self.training)",
      told=("some rows right", "wrong in train mode"))
wrong("CausalWhateverTheMask", "context = F.scaled_dot_product_attention(q, k, v, is_causal=mask is not None)",
      told="wrong with `mask` given")
wrong("ForgetsThatItIsAPair", "merged = attention.merge_heads(attention.scaled_dot_product_attention(q, k, v, mask))",
      told="stops with AttributeError")
careless(
    ANSWERS,
    in_float32=None,  # which has a name
    a_hundred_words="stops with RuntimeError", one_shape="another number of axes",
)
# fmt: on


# ------------------------------------------------------------------------------- a class of its own


@BANK.right("ModernBlock")
class WithNames(nn.Module):
    """Parts made in loops, positions and the root of d_k kept as buffers."""

    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        super().__init__()
        d_k, left = divmod(d_model, num_heads)
        if left:
            raise ValueError(f"d_model={d_model} is not a multiple of num_heads={num_heads}")
        for name in "qkvo":
            self.add_module(f"w_{name}", nn.Linear(d_model, d_model, bias=False))
        for number in (1, 2):
            self.add_module(f"norm{number}", modern.RMSNorm(d_model, eps=eps))
        self.feed_forward = modern.SwiGLU(d_model, d_ff)
        self.shape, self.base = (num_heads, d_k), float(base)
        self.register_buffer("root", torch.tensor(d_k).sqrt(), persistent=False)
        self.register_buffer("numbers", torch.arange(512), persistent=False)

    def attention(self, z, mask, places):
        query, key, value = (
            layer(z).unflatten(-1, self.shape).transpose(-2, -3)
            for layer in (self.w_q, self.w_k, self.w_v)
        )
        query, key = (modern.apply_rotary(one, places, self.base) for one in (query, key))
        scores = query @ key.mT
        shown = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
        low = torch.full_like(scores, -1e9)
        weights = torch.where(shown, scores / self.root, low).softmax(-1) * shown
        return self.w_o((weights @ value).transpose(-2, -3).flatten(-2))

    def forward(self, x, mask=None, positions=None):
        places = self.numbers[: x.shape[-2]] if positions is None else positions
        x = x + self.attention(self.norm1(x), mask, places)
        return x + self.feed_forward(self.norm2(x))
