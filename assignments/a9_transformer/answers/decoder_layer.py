"""Answers to `DecoderLayer`."""

import math
from collections import OrderedDict
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a9_transformer.answers.bank import BANK
from assignments.a9_transformer.rubric import (
    ASSEMBLED,
    LAYER_DROPS,
    MASKED,
    SUBLAYERS,
    decoder_layer,
)
from assignments.common import slow
from assignments.common.layers import LibraryAttention
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import layers, masks
from course_utils.attention import MultiHeadAttention
from course_utils.layers import LayerNorm, PositionwiseFeedForward, TransformerLayer

DROPPED = (
    "In train mode, each sublayer's output passes through dropout before it is added to x. With a dropout of nearly 1, "
    "only the residual stream is left. Where does yours act?"
)


class OwnAttention(nn.Module):
    """Attention by einsum, with dropout on the weights."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        self.heads, self.p = num_heads, dropout
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask):
        b, t, d = query.shape
        q = self.w_q(query).reshape(b, t, self.heads, -1)
        k = self.w_k(key).reshape(b, key.shape[1], self.heads, -1)
        v = self.w_v(value).reshape(b, key.shape[1], self.heads, -1)
        scores = torch.einsum("bthk,bshk->bhts", q, k) / math.sqrt(d // self.heads)
        if mask is None:
            mask = torch.ones(t, key.shape[1], dtype=torch.bool)
        hidden = ~mask.expand(scores.shape)
        weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1)
        weights = F.dropout(weights.masked_fill(hidden, 0.0), self.p, self.training)
        return self.w_o(torch.einsum("bhts,bshk->bthk", weights, v).reshape(b, t, d))


LOOPED = {
    "attended": slow.attended,
    "normed": lambda norm, x: slow.each_word(partial(slow.normed, norm), x),
    "mapped": lambda layer, x: slow.each_word(partial(slow.mapped, layer), x),
}
AT_ONCE = {
    "attended": slow.attended_at_once,
    "normed": slow.normed_at_once,
    "mapped": slow.mapped_at_once,
}


def slowly(layer, x, self_mask, memory=None, memory_mask=None, *, attended, normed, mapped):
    """What a layer of the encoder or, with a memory, of the decoder gives, in slow steps."""
    norms = iter(part for part in layer.children() if isinstance(part, nn.LayerNorm))
    network, drop = layer.feed_forward, layer.dropout
    x = normed(next(norms), x + drop(attended(layer.self_attn, x, x, x, self_mask)))
    if memory is not None:
        x = normed(
            next(norms), x + drop(attended(layer.cross_attn, x, memory, memory, memory_mask))
        )
    hidden = mapped(network.w_1, x)
    change = mapped(network.w_2, network.dropout(hidden * (hidden > 0)))
    return normed(next(norms), x + drop(change))


ANSWERS = Answers(
    __name__, BANK, decoder_layer,
    """
    class DecoderLayer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
            super().__init__()
            self.self_attn = MultiHeadAttention(d_model, num_heads)
            self.cross_attn = MultiHeadAttention(d_model, num_heads)
            self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
            self.layer_norm1, self.layer_norm2, self.layer_norm3 = (nn.LayerNorm(d_model) for _ in range(3))
            self.dropout = nn.Dropout(dropout)

        def forward(self, x, memory, self_mask=None, memory_mask=None):
            norm1, norm2, norm3 = self.layer_norm1, self.layer_norm2, self.layer_norm3
            drop1, drop2, drop3 = 3 * [self.dropout]
            attended = self.self_attn(x, x, x, self_mask)[0]  # (B, T, D), as all below
            sum1 = x + drop1(attended)
            first = norm1(sum1)
            query = first
            found = self.cross_attn(query, memory, memory, memory_mask)[0]
            sum2 = first + drop2(found)
            second = norm2(sum2)
            computed = self.feed_forward(second)
            sum3 = second + drop3(computed)
            third = norm3(sum3)
            return third
    """,
    torch=torch, nn=nn, F=F, masks=masks, MultiHeadAttention=MultiHeadAttention, LayerNorm=LayerNorm,
    PositionwiseFeedForward=PositionwiseFeedForward, LibraryAttention=LibraryAttention, OwnAttention=OwnAttention,
    OrderedDict=OrderedDict, slowly=slowly, LOOPED=LOOPED, AT_ONCE=AT_ONCE,
)  # fmt: skip
NOTHING_DROPPED = "drop1, drop2, drop3 = 3 * [nn.Identity()]"


def three_times(*lines):
    """An edit of these lines for each sublayer, which x enters and whose change is added to it."""
    return "\n".join(
        "    " + line.format(n=n, x=x, change=change, result=result)
        for line in lines
        for n, x, change, result in (
            (1, "x", "attended", "first"),
            (2, "first", "found", "second"),
            (3, "second", "computed", "third"),
        )
    )


# fmt: off
slip = ANSWERS.slip
slip("keys and values from the decoder{under}", "found = self.cross_attn(query, first, first, {mask})[0]",
     (ASSEMBLED, MASKED),
     "Your cross-attention takes keys and values from x, so nothing of the source sentence reaches the decoder. Which "
     "of its three inputs come from the memory?",
     each={"under": ("", ", under the memory's mask"), "mask": ("None", "memory_mask")})
slip("values from the decoder", "found = self.cross_attn(query, memory, first, memory_mask)[0]", ASSEMBLED,
     "Your cross-attention collects values from x. What a decoder wants to know is in the memory. Which of the three "
     "inputs come from there?")
slip("keys from the decoder", "found = self.cross_attn(query, first, memory, memory_mask)[0]", ASSEMBLED,
     "Your cross-attention compares the query with keys from x, and collects values from the memory. A key and its "
     "value belong to one word. Which sentence does the decoder look at?")
slip("query and value of cross-attention exchanged", "found = self.cross_attn(memory, memory, first, memory_mask)[0]",
     ASSEMBLED,
     "The memory is the query of your cross-attention, and x its value. `MultiHeadAttention` takes query, key and "
     "value in this order. Which of the three is the decoder's?")
slip("the memory asks", "found = self.cross_attn(memory, first, first, memory_mask)[0]", ASSEMBLED,
     "In your cross-attention the memory is the query and x is attended to. Which side needs to know something here? "
     "The result must have one row for each target word.")
slip("one attention module for both", "found = self.self_attn(query, memory, memory, memory_mask)[0]", ASSEMBLED,
     "Your cross-attention runs through `self_attn`. The two attention layers have separate weights, so use "
     "`cross_attn` here.")
slip("memory mask missing", "memory_mask = None", MASKED,
     "`memory_mask` has no effect in your layer, so the decoder looks at padding of the source. Which attention layer "
     "does the mask belong to?",
     published=("huggingface/transformers#47946", "The memory's mask is overwritten with None."))
slip("self mask missing", "self_mask = None", MASKED,
     "`self_mask` has no effect in your layer, so each position sees what comes later. Which attention layer does the "
     "mask belong to?")
slip("always causal", """
    causal = masks.causal_mask(x.shape[1], x.device)
    self_mask = causal if self_mask is None else self_mask & causal
""", MASKED,
     "Your layer hides the future even when `self_mask` does not ask for it. The layer should build no mask of its "
     "own, because the model will.")
slip("masks inverted",
     "self_mask, memory_mask = (None if mask is None else ~mask for mask in (self_mask, memory_mask))", MASKED,
     "Your masks hide what they should show. Here True means *may attend*. Which convention does the attention that "
     "you call have?")
slip("the layer's input as every residual", "sum2 = x + drop2(found); sum3 = x + drop3(computed)",
     ASSEMBLED,
     "You add the layer's first input to the output of every sublayer. Each residual should be what enters its own "
     "sublayer, which is the result of the line before.")
slip("cross-attention asks with the layer's input", "query = x", ASSEMBLED,
     "The query of your cross-attention is the layer's input. It should be what comes out of self-attention and its "
     "norm.")
slip("cross-attention asks before residual and norm", "raw = drop1(attended); sum1 = x + raw; query = raw", ASSEMBLED,
     "The query of your cross-attention is self-attention's output alone. It should be the x of the first line, with "
     "the residual added and the sum normalised.",
     published=("ml-explore/mlx#3382",
                "Cross-attention's query is self-attention's raw output, before residual and norm."))
slip("nothing behind self-attention", "return first", (ASSEMBLED, MASKED),
     "Your layer ends after self-attention and `layer_norm1`. The other two equations, cross-attention and the "
     "feed-forward network, are missing.")
slip("cross-attention before self-attention", """
    attended = self.cross_attn(x, memory, memory, memory_mask)[0]
    found = self.self_attn(query, query, query, self_mask)[0]
""", ASSEMBLED,
     "Your layer looks at the source first. In which order does the text have the three equations?")
slip("weights returned beside the result",
     "return third, self.cross_attn(query, memory, memory, memory_mask)[1]", ASSEMBLED,
     "The numbers are right, but you return a tuple. The layer should return x alone, so that layers can be stacked.")
slip("{wrong} as {place} residual", "{line}", ASSEMBLED,
     "What you add after {sublayer} should be what entered it, but it is the {added}. Each line takes the x of the "
     "line before, also for the residual.",
     each={"wrong": ("the layer's input", "the layer's input", "self-attention's output"),
           "place": ("second", "last", "last"),
           "line": ("sum2 = x + drop2(found)", "sum3 = x + drop3(computed)", "sum3 = first + drop3(computed)"),
           "sublayer": ("cross-attention", "the feed-forward network", "the feed-forward network"),
           "added": ("layer's input", "layer's input", "result of the first line")})
slip("the feed-forward network reads what entered cross-attention", "computed = self.feed_forward(first)", ASSEMBLED,
     "Your feed-forward network never sees what cross-attention found, because it reads the x from before. Each line "
     "takes the x of the line before.")
slip("masks exchanged", "self_mask, memory_mask = memory_mask, self_mask", MASKED,
     "Your masks have changed places. `self_mask` belongs to self-attention, and `memory_mask` to cross-attention. "
     "Where their shapes do not fit, the layer stops.")
slip("self mask also over the memory", "memory_mask = self_mask", MASKED,
     "Your cross-attention gets `self_mask`. The memory is known as a whole. Which mask says what may be seen of it?")
slip("a norm on top", "return F.layer_norm(third, x.shape[-1:])", ASSEMBLED,
     "You normalise once more at the end. Each of the three lines has one norm, and the third line's is the last step.")
slip("norm first", """
    normed = norm1(x)
    attended = self.self_attn(normed, normed, normed, self_mask)[0]
    query = norm2(first)
    computed = self.feed_forward(norm3(second))
""" + three_times("{result} = sum{n}"), ASSEMBLED,
     "You normalise before each sublayer (pre-LN). This layer is post-LN, as in the paper, so add first and then "
     "normalise the sum.")
slip("cross-attention missing", "second = first", (ASSEMBLED, MASKED),
     "Your layer never looks at the memory, because cross-attention is missing between self-attention and the "
     "feed-forward network.")
slip("feed-forward missing", "third = second", ASSEMBLED,
     "Your layer ends after cross-attention. The feed-forward network and `layer_norm3` are missing.")
slip("dropout on the sum", f"    {NOTHING_DROPPED}\n" + three_times("{result} = norm{n}(self.dropout(sum{n}))"),
     LAYER_DROPS, DROPPED)
slip("dropout after the norm", f"    {NOTHING_DROPPED}\n" + three_times("{result} = self.dropout(norm{n}(sum{n}))"),
     LAYER_DROPS, DROPPED)
slip("norm before the sum", three_times("sum{n} = {x} + drop{n}(norm{n}({change}))", "{result} = sum{n}"), ASSEMBLED,
     "You normalise each sublayer's output and add x afterwards. What is inside the brackets of LayerNorm in the "
     "equations?")
slip("norm first around cross-attention", "query = norm2(first); second = sum2", ASSEMBLED,
     "Around cross-attention you normalise first, as pre-LN does. In all three equations the sum is normalised.")
slip("no residual connections", three_times("sum{n} = drop{n}({change})"), ASSEMBLED,
     "What enters a sublayer is lost after it. It should be added to the sublayer's output before the norm.")
slip("no residual connection around cross-attention", "sum2 = drop2(found)", ASSEMBLED,
     "After cross-attention, what the decoder knew before is lost. Each of the three sublayers should have a residual "
     "connection.",
     published=("lucidrains/audiolm-pytorch#150", "Cross-attention's output replaces x, and nothing is added."))
slip("no residual connection around self-attention", "sum1 = drop1(attended)", ASSEMBLED,
     "After self-attention the word itself is lost. Each of the three sublayers should have a residual connection.")
slip("no residual connection around the feed-forward network", "sum3 = drop3(computed)", ASSEMBLED,
     "After the feed-forward network, what was collected before is lost. Each of the three sublayers should have a "
     "residual connection.")
slip("one norm for all", "norm1, norm2, norm3 = 3 * [self.layer_norm1]", ASSEMBLED,
     "Your three sums pass through the same norm. Each sublayer has its own: `layer_norm1`, `layer_norm2`, "
     "`layer_norm3`.")
slip("last norm missing", "norm1, norm2, norm3 = self.layer_norm1, self.layer_norm2, nn.Identity()", ASSEMBLED,
     "The sum after the feed-forward network is not normalised. `layer_norm3` belongs there.")
slip("no norms", "norm1, norm2, norm3 = 3 * [nn.Identity()]", ASSEMBLED,
     "Your sums are not normalised. Each of the three should be followed by its own norm.")
slip("a norm missing behind {name}", "norm1, norm2, norm3 = {norms}", ASSEMBLED,
     "The sum after {name} is not normalised. `layer_norm{n}` belongs there.",
     each={"name": ("self-attention", "cross-attention"), "n": (1, 2),
           "norms": ("nn.Identity(), self.layer_norm2, self.layer_norm3",
                     "self.layer_norm1, nn.Identity(), self.layer_norm3")})
slip("norms in another order",
     "norm1, norm2, norm3 = self.layer_norm{first}, self.layer_norm{second}, self.layer_norm{third}", ASSEMBLED,
     "Your norms have changed places, because you use them in the order `layer_norm{first}`, `layer_norm{second}`, "
     "`layer_norm{third}`. The first belongs after self-attention, the second after cross-attention, the third after "
     "the network.",
     each={"first": (1, 2, 3, 2, 3, 1, 1, 1), "second": (3, 1, 2, 3, 1, 2, 1, 1), "third": (2, 3, 1, 1, 2, 2, 2, 3)})
slip("no dropout", NOTHING_DROPPED, LAYER_DROPS, DROPPED)
slip("dropout in eval mode", "drop1, drop2, drop3 = 3 * [lambda change: F.dropout(change, self.dropout.p)]",
     LAYER_DROPS,
     "Your layer also drops numbers in eval mode. `nn.Dropout` follows the mode by itself, but `F.dropout` must be "
     "told. What does its argument `training` mean?")
slip("no dropout behind {name}", "drop1, drop2, drop3 = {drops}", LAYER_DROPS,
     "In train mode, the output of {name} is added without dropout. Each of the three equations has one, applied to "
     "the sublayer's output.",
     each={"name": tuple(SUBLAYERS.values()),
           "drops": ("nn.Identity(), self.dropout, self.dropout", "self.dropout, nn.Identity(), self.dropout",
                     "self.dropout, self.dropout, nn.Identity()")})
slip("dropout on the residual", """
    sum1 = drop1(x) + attended
    sum2 = drop2(first) + found
    sum3 = drop3(second) + self.feed_forward(second)
""", LAYER_DROPS, DROPPED)
slip("d_ff not handed on to the network", "d_ff = {times} * d_model", ASSEMBLED,
     "The number of inner features of your feed-forward network follows from `d_model`. It is the argument `d_ff`. "
     "Does your layer pass it on?",
     each={"times": (4, 2, 1)})
slip("dropout taken and not handed on to the network", "self.feed_forward = PositionwiseFeedForward(d_model, d_ff)",
     LAYER_DROPS,
     "Inside your feed-forward network, a tenth is dropped whatever `dropout` is. The network takes the probability as "
     "an argument. Does your layer pass it on?")
slip("no dropout inside the network", "self.feed_forward = PositionwiseFeedForward(d_model, d_ff, 0.0)", LAYER_DROPS,
     "Inside your feed-forward network nothing is dropped. `dropout` should act there as well as in the three places "
     "of the equations.")
slip("dropout taken and not kept", "dropout = 0.1", LAYER_DROPS,
     "Whatever `dropout` is, your layer drops a tenth. What becomes of the argument?")
slip("a fixed dropout behind the sublayers", "self.dropout = nn.Dropout({share})", LAYER_DROPS,
     "Whatever `dropout` is, {words} of each sublayer's output is dropped. The network gets the argument, but which "
     "number does the layer's own `nn.Dropout` get?",
     each={"share": (0.1, 0.5), "words": ("a tenth", "half")})
slip("one attention under two names", "self.cross_attn = self.self_attn", ASSEMBLED,
     "Your `self_attn` and `cross_attn` are one and the same module, so they share their weights. Each should be made "
     "anew.")
slip("one norm under three names",
     "self.layer_norm1, self.layer_norm2, self.layer_norm3 = 3 * [nn.LayerNorm(d_model)]", ASSEMBLED,
     "Your three norms are one and the same module, so they share their weights. Each should be made anew.")
slip("one head", "num_heads = 1", ASSEMBLED,
     "Your attention layers have one head, whatever `num_heads` is. What becomes of the argument?")
slip("attentions exchanged", """
    attended = self.cross_attn(x, x, x, self_mask)[0]
    found = self.self_attn(query, memory, memory, memory_mask)[0]
""", ASSEMBLED,
     "Your attention layers have changed places, so that `self_attn` looks at the memory, and `cross_attn` at x. Each "
     "has weights of its own.")

right = ANSWERS.right
right("LayerOfThreeDropouts", """
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, eps=1e-5):
        super().__init__(d_model, num_heads, d_ff, dropout)
        for number in (1, 2, 3):
            setattr(self, f"layer_norm{number}", LayerNorm(d_model, eps))
            setattr(self, f"dropout{number}", nn.Dropout(dropout))

    drop1, drop2, drop3 = self.dropout1, self.dropout2, self.dropout3
""" + three_times("sum{n} = drop{n}({change}) + {x}"))
right("LayerByEinsum", """
    self.self_attn = OwnAttention(d_model, num_heads, dropout)
    self.cross_attn = OwnAttention(d_model, num_heads, dropout)
    self.feed_forward = nn.ModuleDict({"w_1": nn.Linear(d_model, d_ff), "w_2": nn.Linear(d_ff, d_model)})
    drop1, drop2, drop3 = 3 * [lambda change: F.dropout(change, self.dropout.p, self.training)]
    attended = self.self_attn(x, x, x, self_mask)
    found = self.cross_attn(query, memory, memory, memory_mask)
    hidden = drop3(self.feed_forward["w_1"](second)).clamp(min=0)  # dropped before the ReLU
    computed = self.feed_forward["w_2"](hidden)
""")
right("LayerByTheLibrarysFunction", """
    self.self_attn = LibraryAttention(d_model, num_heads)
    self.cross_attn = LibraryAttention(d_model, num_heads)
""")
right("LayerWithHandWrittenDropout", """
    def drop(self, x):
        if not self.training or self.dropout.p == 0:
            return x
        keep = (torch.rand_like(x) >= self.dropout.p).to(x.dtype)
        return x * keep / (1 - self.dropout.p)

    drop1, drop2, drop3 = 3 * [self.drop]
""")
right("LayerOneSentenceAtATime", """
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        def row(mask, b):
            per_sentence = mask is not None and mask.dim() == 4 and len(mask) > 1
            return mask[b : b + 1] if per_sentence else mask

        whole = super().forward
        rows = [
            whole(x[b : b + 1], memory[b : b + 1], row(self_mask, b), row(memory_mask, b)) for b in range(len(x))
        ]
        return torch.cat(rows)
""")
right("LayerInALoop", """
    sublayers = (
        (lambda y: self.self_attn(y, y, y, self_mask)[0], self.layer_norm1),
        (lambda y: self.cross_attn(y, memory, memory, memory_mask)[0], self.layer_norm2),
        (self.feed_forward, self.layer_norm3),
    )
    for sublayer, norm in sublayers:
        x = norm(x + self.dropout(sublayer(x)))
    return x
""")
right("LayerOfNumberedParts", """
    def _add_and_norm(self, number: int, x: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
        return getattr(self, f"layer_norm{number}")(x + self.drops[str(number)](change))

    self.drops = nn.ModuleDict({str(number): nn.Dropout(dropout) for number in range(1, 4)})
    self.dropout = None
    x = self._add_and_norm(1, x, self.self_attn(query=x, key=x, value=x, mask=self_mask)[0])
    heard, _ = self.cross_attn(query=x, key=memory, value=memory, mask=memory_mask)
    x = self._add_and_norm(2, x, heard)
    return self._add_and_norm(3, x, self.feed_forward(x))
""")
right("LayerThatAddsInPlaceToItsOwn", """
    self.feed_forward = nn.Sequential(OrderedDict(
        w_1=nn.Linear(d_model, d_ff), relu=nn.ReLU(inplace=True), dropout=nn.Dropout(dropout, inplace=True),
        w_2=nn.Linear(d_ff, d_model),
    ))
    for parameter in self.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    self.dropout = nn.Dropout(dropout)
    assert x.ndim == memory.ndim == 3, "expected (B, T, D) and (B, S, D)"
    residual = x
    out, self.last_weights = self.self_attn(x, x, x, self_mask)
    out = F.dropout(out, self.dropout.p, self.training)
    out += residual
    residual = self.layer_norm1(out)
    out, _ = self.cross_attn(residual, memory, memory, memory_mask)
    out = F.dropout(out, self.dropout.p, self.training)
    out += residual
    residual = self.layer_norm2(out)
    out = F.dropout(self.feed_forward(residual), self.dropout.p, self.training)
    return self.layer_norm3(out + residual)
""")
# each norm has another name as well
right("LayerOfConnections", """
    norms = self.layer_norm1, self.layer_norm2, self.layer_norm3
    self.connections = nn.ModuleList(nn.Sequential(norm) for norm in norms)
    self.dropout = nn.Dropout(dropout)
    norm1, norm2, norm3 = self.connections
""")
right("DecoderNumberByNumber", "return slowly(self, x, self_mask, memory, memory_mask, **LOOPED)", slow=LOOPS)
right("DecoderByBroadcasting", "return slowly(self, x, self_mask, memory, memory_mask, **AT_ONCE)", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("LayerWithTheFirstNormTwice", "norm1, norm2, norm3 = self.layer_norm1, self.layer_norm1, self.layer_norm3",
      named="norms in another order",
      published=("ml-explore/mlx#1636", "The norm after cross-attention is the first one again."))
wrong("LayerThatAddsTheMemory", "sum2 = memory + drop2(found)", told="stops with RuntimeError",
      published=("georgepar/slp#26", "Around cross-attention the memory is added, not what entered the sublayer."))
wrong("LayerWithMemoryFirst", "x, memory = memory, x", told="too short or too long")
wrong("LayerForSentencesOfOneLength", "memory = memory.reshape(x.shape)",
      told=("stops with RuntimeError", "wrong with T ≠ S"))
wrong("LayerForOneSentence", """
    x, memory = x[:1].expand_as(x), memory[:1].expand_as(memory)
    self_mask, memory_mask = None, None
""", told="in another order")
wrong("LayerThatAddsALargeNegativeNumber", """
    self_mask, memory_mask = (
        mask if mask is None else mask | ~mask.any(-1, keepdim=True) for mask in (self_mask, memory_mask)
    )
""", told=("right in part", "wrong with a row in which nothing may be seen"))
wrong("LayerThatNormalisesOverWordsToo", "return F.layer_norm(third, third.shape[1:])",
      told="each row has a factor and an offset of its own")
wrong("LayerWhoseMemoryMaskNeedsFourAxes",
      "memory_mask = memory_mask if memory_mask is None or memory_mask.dim() == 4 else None",
      named="memory mask missing")
for name, edit in {
    "LayerDroppingTwiceBehindCrossAttention": "sum2 = first + drop2(drop2(found))",
    "LayerWhoseNetworkReadsTooLittle": "computed = self.feed_forward(self.dropout(second))",
    "LayerWhoseCrossAttentionAsksTooLittle": "query = self.dropout(first)",
    "LayerWhoseSelfAttentionAsksTooLittle": "attended = self.self_attn(self.dropout(x), x, x, self_mask)[0]",
    "LayerThatDropsOfTheMemory": "memory = self.dropout(memory)",
    "LayerThatDropsWholeWords": "self.dropout = nn.Dropout1d(dropout)",
    "OneMaskForAll": "kept = self.dropout(torch.ones_like(x)); drop1, drop2, drop3 = 3 * [lambda made: kept * made]",
}.items():
    wrong(name, edit, told="wrong in train mode with dropout")
wrong("LayerWhoseNetworkDropsInEvalMode",
      "drop1, drop2, drop3 = self.dropout, self.dropout, lambda change: F.dropout(change, self.dropout.p)")
# it costs the step about inputs alone, and nothing is said of dropout in eval mode
wrong("LayerThatAddsToItsInput", "x += drop1(attended); first = norm1(x)", told="stops with RuntimeError")
wrong("MemoryOfTheFirstCall", """
    if not hasattr(self, "memory") or self.memory.shape != memory.shape:
        self.memory = memory
    memory = self.memory
""", told="wrong after another call")
wrong("FirstMasksAlways", """
    if not hasattr(self, "masks"):
        self.masks = self_mask, memory_mask
    self_mask, memory_mask = self.masks
""", told="wrong after another call")
wrong("OneBlindHeadBlindsTheWord", """
    heard, weights = self.cross_attn(query, memory, memory, memory_mask)
    blind = (weights == 0).all(dim=-1).any(dim=1)
    found = torch.where(blind.unsqueeze(-1), self.cross_attn.w_o.bias, heard)
""", told=("right in part", "wrong with a row in which nothing may be seen"))
wrong("AHundredWordsOfMemory", """
    memory = memory[:, :100]
    memory_mask = memory_mask if memory_mask is None else memory_mask[..., :100]
""")
careless(
    ANSWERS, one_sentence=("right in part", "wrong with several sentences"), a_hundred_words="stops with ValueError",
)
# fmt: on


# --------------------------------------------------------------------------------- whole classes


@BANK.right("DecoderLayer")
class LayerOnTopOfTheEncoders(TransformerLayer):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.layer_norm3 = nn.LayerNorm(d_model)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        def sublayer(norm, x, f):
            return norm(x + self.dropout(f(x)))

        x = sublayer(self.layer_norm1, x, lambda q: self.self_attn(q, q, q, self_mask)[0])
        x = sublayer(
            self.layer_norm2, x, lambda q: self.cross_attn(q, memory, memory, memory_mask)[0]
        )
        return sublayer(self.layer_norm3, x, self.feed_forward)


@BANK.wrong("DecoderLayer", told="weights with other names")
class LayerWithNormsInAList(nn.Module):
    def __init__(self, *sizes, **keywords):
        super().__init__()
        self.inner = layers.DecoderLayer(*sizes, **keywords)

    def forward(self, *arguments):
        return self.inner(*arguments)


@BANK.wrong("DecoderLayer", told="no module")
class LayerThatIsNoModule:
    def __init__(self, *sizes, **keywords):
        self.forward = layers.DecoderLayer(*sizes, **keywords)
