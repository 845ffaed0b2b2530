"""Answers to `TransformerLayer`."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a8_transformer_layer.answers.bank import BANK
from assignments.a8_transformer_layer.answers.positionwise_feed_forward import (
    IN_EITHER_MODE,
    SHARES,
)
from assignments.a8_transformer_layer.rubric import (
    ATTENDS,
    FEEDS_FORWARD,
    LAYER_DROPS,
    LAYER_MANNERS,
    MASKED,
    encoder_layer,
)
from assignments.common import slow
from assignments.common.layers import LibraryAttention, PostNorm
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import layers, masks
from course_utils.attention import MultiHeadAttention

NOTHING_RUNS = "weights that the text names are missing, so nothing can be run"
DROPPED = (
    "Your dropout acts in another place, or not at all. In the equations of the text it is applied to the sublayer's "
    "output alone, before the residual is added and before the norm."
)
NETWORKS = {given.code.__name__: given.code for given in BANK.answers}


class AddAndNorm(nn.Module):
    def __init__(self, norm, dropout):
        super().__init__()
        self.norm, self.drop = norm, nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.norm(x + self.drop(sublayer(x)))


ANSWERS = Answers(
    __name__, BANK, encoder_layer,
    """
    class TransformerLayer(PostNorm, nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
            super().__init__()
            self.self_attn = MultiHeadAttention(d_model, num_heads)
            self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff, dropout)
            self.layer_norm1 = nn.LayerNorm(d_model)
            self.layer_norm2 = nn.LayerNorm(d_model)
            self.dropout = nn.Dropout(dropout)

        def attend(self, x, mask):
            return self.self_attn(x, x, x, mask)[0]

        def forward(self, x, mask=None):
            first = self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))
            second = self.add(self.layer_norm2, first, self.feed_forward)
            return second
    """,
    copy=copy, math=math, torch=torch, nn=nn, F=F, layers=layers, masks=masks, slow=slow, NETWORKS=NETWORKS,
    MultiHeadAttention=MultiHeadAttention, PostNorm=PostNorm, LibraryAttention=LibraryAttention, AddAndNorm=AddAndNorm,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("no residual connections", "def keep(self, norm, x): return torch.zeros_like(x)", (ATTENDS, FEEDS_FORWARD),
     "What enters a sublayer is lost after it. It should be added to the sublayer's output before the norm.")
slip("no residual connection around attention",
     "def keep(self, norm, x): return (norm is not self.layer_norm1) * x", ATTENDS,
     "After attention the word itself is lost. What does the first equation add to attention's output?")
slip("no residual connection around the feed-forward network",
     "def keep(self, norm, x): return (norm is not self.layer_norm2) * x", FEEDS_FORWARD,
     "After the feed-forward network, what attention found is lost. What does the second equation add to the "
     "network's output?")
slip("residual added twice", "def keep(self, norm, x): return 2 * x", (ATTENDS, FEEDS_FORWARD),
     "In your sums x counts twice. Does a sublayer add it already, before the layer does?")
slip("residual added twice around the feed-forward network",
     "def keep(self, norm, x): return x if norm is self.layer_norm1 else 2 * x", FEEDS_FORWARD,
     "After the feed-forward network x counts twice. Does the network add it already, before the layer does?")
slip("the layer's input as second residual",
     "second = self.add(self.layer_norm2, x, lambda _: self.feed_forward(first))", FEEDS_FORWARD,
     "You add the x that entered the layer to the feed-forward network's output. The second equation takes the x of "
     "the first one.",
     published=("strutive07/transformer-tensorflow2.0#14",
                "The layer's own input is added again after the feed-forward network."))
slip("the layer's input to the feed-forward network",
     "second = self.add(self.layer_norm2, first, lambda _: self.feed_forward(x))", FEEDS_FORWARD,
     "Your feed-forward network reads the x that entered the layer, so it never sees what attention found. The "
     "second equation takes the x of the first one.")
slip("attention missing", "first = x", (ATTENDS, MASKED),
     "Words never see each other in your layer, because there is no self-attention before the feed-forward network.")
slip("feed-forward network missing", "second = first", FEEDS_FORWARD,
     "Your layer ends after attention. The second line, with the feed-forward network and `layer_norm2`, is missing.")
slip("feed-forward network before attention", """
    first = self.add(self.layer_norm1, x, self.feed_forward)
    second = self.add(self.layer_norm2, first, lambda x: self.attend(x, mask))
""", (ATTENDS, FEEDS_FORWARD),
     "Your layer begins with the feed-forward network. In which order does the text have the two equations?")
slip("stops where no mask is given", "def forward(self, x, mask): return super().forward(x, mask)", MASKED,
     "Your layer stops where no mask is given. `mask=None` is the default of the argument, and with `None` every "
     "word sees every other. Is there a line that needs a tensor there?")
slip("dropout on the layer's input", "x = self.dropout(x)", LAYER_DROPS,
     "You drop numbers of x as it comes in, before the first equation. Dropout belongs on what a sublayer gives, and "
     "x is added whole.")
slip("weights returned beside the result", "return second, self.self_attn(x, x, x, mask)[1]", ATTENDS,
     "You return a tuple of the result and the attention weights. The layer should return x alone, so that layers "
     "can be stacked.")
slip("sublayers side by side", """
    changes = self.dropout(self.attend(x, mask)) + self.dropout(self.feed_forward(x))
    second = self.layer_norm2(self.layer_norm1(x + changes))
""", (ATTENDS, FEEDS_FORWARD),
     "Both of your sublayers read the x that entered the layer, and their outputs are added to it at once. The "
     "second equation takes the x of the first one.")
slip("both norms at the end", """
    first = x + self.drop(self.layer_norm1, self.attend(x, mask))
    second = self.layer_norm2(self.layer_norm1(first + self.drop(self.layer_norm2, self.feed_forward(first))))
""", (ATTENDS, FEEDS_FORWARD),
     "Both of your norms come after the last sum, but the first one belongs after attention. In which line of the "
     "equations is it?")
slip("a third norm on top", "return {norm}", FEEDS_FORWARD,
     "You normalise once more at the end. Each of the two lines has one norm, and the second line's is the last step.",
     each={"norm": ("F.layer_norm(second, second.shape[-1:])", "self.layer_norm1(second)", "self.layer_norm2(second)")})
slip("ReLU at the end of the layer", "return torch.relu(second)", FEEDS_FORWARD,
     "Nothing in your result is negative, because a ReLU follows the layer. The only ReLU belongs inside the "
     "feed-forward network.")
slip("norm first (pre-LN)",
     "def add(self, norm, x, sublayer): return x + self.dropout(sublayer(norm(x)))", (ATTENDS, FEEDS_FORWARD),
     "You normalise before each sublayer (pre-LN). This layer is post-LN, as in the paper, so add first and then "
     "normalise the sum.",
     published=("jadore801120/attention-is-all-you-need-pytorch#150", "The norm comes before the sublayer."))
slip("norm first, and the residual normalised with it",
     "def add(self, norm, x, sublayer): return norm(x) + self.dropout(sublayer(norm(x)))", (ATTENDS, FEEDS_FORWARD),
     "You normalise what goes into each sublayer. This layer is post-LN, as in the paper, so add first and then "
     "normalise the sum.",
     published=("Howuhh/faster-trajectory-transformer#3",
                "The norm comes first, and the sublayer's output is added to the normalised input."))
slip("norm before the sum", "def add(self, norm, x, sublayer): return x + {normed}", (ATTENDS, FEEDS_FORWARD),
     "You normalise each sublayer's output and add x afterwards. What is inside the brackets of LayerNorm in the "
     "equations?",
     each={"normed": ("self.dropout(norm(sublayer(x)))", "norm(self.dropout(sublayer(x)))")})
slip("no residual connection around attention", """
    def add(self, norm, x, sublayer):
        if norm is not self.layer_norm1:
            return super().add(norm, x, sublayer)
        return norm(2 * self.dropout(sublayer(x)))
""", ATTENDS,
     "After attention the word itself is lost: what you add to attention's output is that output once more. What "
     "does the first equation add to it?",
     published=("kyegomez/BitNet#32", "x is overwritten by what attention gives, and then added to itself."))
slip("dropout on what the feed-forward network reads", """
    def add(self, norm, x, sublayer):
        read = x if norm is self.layer_norm1 else self.dropout(x)
        return norm(x + self.dropout(sublayer(read)))
""", LAYER_DROPS,
     "You drop numbers before the feed-forward network reads them. It should read the x of the first equation whole, "
     "and dropout belongs on what it gives.")
slip("dropout on the sum", "def add(self, norm, x, sublayer): return norm(self.dropout(x + sublayer(x)))", LAYER_DROPS,
     DROPPED)
slip("dropout after the norm",
     "def add(self, norm, x, sublayer): return self.dropout(norm(x + sublayer(x)))", LAYER_DROPS, DROPPED)
slip("one norm for both", "def normalise(self, norm, total): return self.layer_norm1(total)", FEEDS_FORWARD,
     "Both of your sums pass through `layer_norm1`. The second line has a norm of its own, `layer_norm2`.")
slip("norms swapped", """
    def normalise(self, norm, total):
        return (self.layer_norm2 if norm is self.layer_norm1 else self.layer_norm1)(total)
""", (ATTENDS, FEEDS_FORWARD),
     "Your two norms have changed places. `layer_norm1` belongs after attention, and `layer_norm2` after the "
     "feed-forward network.")
slip("first norm missing",
     "def normalise(self, norm, total): return total if norm is self.layer_norm1 else norm(total)", ATTENDS,
     "The sum after attention is not normalised. `layer_norm1` belongs there.")
slip("last norm missing",
     "def normalise(self, norm, total): return total if norm is self.layer_norm2 else norm(total)", FEEDS_FORWARD,
     "The sum after the feed-forward network is not normalised. `layer_norm2` belongs there.")
slip("no norms", "def normalise(self, norm, total): return total", (ATTENDS, FEEDS_FORWARD),
     "Your sums are not normalised. Each of the two should be followed by its own norm.")
slip("only one norm made", """
    def __init__(self, *sizes, **keywords):
        super().__init__(*sizes, **keywords)
        del self.layer_norm2
""", (),
     "There is no `layer_norm2` in your layer. Each of the two lines should have its own norm, with weights of its "
     "own.",
     costs_more=NOTHING_RUNS, published=("allenai/OLMo#222", "One norm serves both sublayers."))
slip("one norm under both names", "self.layer_norm2 = self.layer_norm1", FEEDS_FORWARD,
     "`layer_norm1` and `layer_norm2` are one and the same norm in your layer, or the second one does the work of "
     "both. `a = b = norm` and `[norm] * 2` contain one norm twice, but each line needs its own.")
slip("attention whose layers have other names",
     "self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)", (),
     "Your `self_attn` has no `w_q`, `w_k`, `w_v` and `w_o`. `nn.MultiheadAttention` keeps its weights under other "
     "names, and its masks mean the opposite. Which attention does the text let you import?",
     costs_more=NOTHING_RUNS)
slip("network whose layers have other names", """
    maps = nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
    self.feed_forward = nn.Sequential(*maps)
""", (),
     "Your `feed_forward` has no `w_1` and `w_2`. The class of part 1 has them, whereas an `nn.Sequential` numbers "
     "its layers.",
     costs_more=NOTHING_RUNS)
slip("d_ff not handed on to the network", """
    dropout = dropout; self.dropout = nn.Dropout(dropout)  # so that it goes with no other share
    self.feed_forward = layers.PositionwiseFeedForward(d_model, {times} * d_model, dropout)
""", FEEDS_FORWARD,
     "The number of inner features of your feed-forward network follows from `d_model`. It is the argument `d_ff`. "
     "Does your layer pass it on?",
     each={"times": (4, 2, 1)})
slip("dropout taken and not handed on to the network",
     "self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff)", LAYER_DROPS,
     "Inside your feed-forward network, a tenth is dropped whatever `dropout` is. The network takes the probability "
     "as an argument. Does your layer pass it on?")
slip("dropout taken and not kept", "dropout = 0.1", LAYER_DROPS,
     "Whatever `dropout` is, your layer drops a tenth. What becomes of the argument?")
slip("no dropout inside the network",
     "self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff, 0.0)", LAYER_DROPS,
     "Inside your feed-forward network nothing is dropped. The text has dropout in three places, the two of the "
     "equations and the one between the two maps of the network.")
slip("a fixed dropout behind the sublayers", "self.dropout = nn.Dropout({share})", LAYER_DROPS,
     "Whatever `dropout` is, {named} of each sublayer's output is dropped. The network gets the argument, but which "
     "number does the layer's own `nn.Dropout` get?",
     each=SHARES)
slip("another ε in the norms",
     "self.layer_norm1 = nn.LayerNorm(d_model, {eps}); self.layer_norm2 = nn.LayerNorm(d_model, {eps})", LAYER_MANNERS,
     "The ε of your norms is another than 1e-5, which is the default of `nn.LayerNorm`. In float32 the difference "
     "hardly shows. Which number does the text name?",
     each={"eps": (1e-6, 1e-8, 1e-12)})
slip("one head", "num_heads = 1", ATTENDS,
     "Your attention has one head, whatever `num_heads` is. What becomes of the argument?")
slip("mask dropped", "mask = None", MASKED,
     "In the steps marked with a cross, `mask` has no effect in your layer, so words attend to what they may not "
     "see, such as padding. Which call needs the mask, whatever its shape?",
     published=("keras-team/keras#21284", "The mask is accepted but not passed on."))
slip("mask inverted", "mask = None if mask is None else ~mask", MASKED,
     "Your layer hides what the mask shows, and shows what it hides. Here True means *may attend*. Which convention "
     "does the attention that you call have?")
slip("always causal", """
    causal = masks.causal_mask(x.shape[1], x.device)
    mask = causal if mask is None else mask & causal
""", MASKED,
     "Your layer hides later words even where `mask` does not ask for it. An encoder reads the whole sentence, so "
     "the layer makes no mask of its own.")
slip("one more axis for the mask", "mask = None if mask is None else mask.unsqueeze(1)", MASKED,
     "You give the mask one more axis. It comes in a shape that broadcasts to (B, H, T, T), and a mask for each "
     "sentence is already (B, 1, T, T) or (B, 1, 1, T).")
slip("dropout on what attention reads",
     "def attend(self, x, mask): return self.self_attn({read}, mask)[0]", LAYER_DROPS,
     "You drop numbers of x before attention reads them. Query, key and value are x as it came in, and dropout "
     "belongs on what attention gives.",
     each={"read": ("*[self.dropout(x)] * 3", "self.dropout(x), self.dropout(x), self.dropout(x)")})
slip("first entries of the mask alone", "mask = None if mask is None else mask[{cut}]", MASKED,
     "Your layer hands on the first entry of one of the mask's axes, as in `mask[:, :1]`, and so one mask stands for "
     "many. It comes in a shape that broadcasts to (B, H, T, S). Does anything have to be cut?",
     each={"cut": (":, :1", "..., :1")})
slip("norm in front of attention as well", """
    def attend(self, x, mask):
        normed = self.layer_norm1(x)
        return self.self_attn(normed, normed, normed, mask)[0]
""", ATTENDS,
     "Attention reads x after `layer_norm1`, and the sum is normalised once more. In the first equation, query, key "
     "and value are x as it came in.")
slip("no dropout", "def drop(self, norm, change): return change", LAYER_DROPS, DROPPED)
slip("no dropout behind attention",
     "def drop(self, norm, change): return change if norm is self.layer_norm1 else self.dropout(change)", LAYER_DROPS,
     "In train mode, attention's output is added without dropout, but both equations have one.")
slip("no dropout behind the feed-forward network",
     "def drop(self, norm, change): return change if norm is self.layer_norm2 else self.dropout(change)", LAYER_DROPS,
     "In train mode, the feed-forward network's output is added without dropout. The dropout inside the network does "
     "not replace it, since both equations have one.")
slip("dropout in eval mode", "def drop(self, norm, change): return F.dropout(change, self.dropout.p)", LAYER_DROPS,
     "Your layer also drops numbers in eval mode. `nn.Dropout` follows the mode by itself, but `F.dropout` must be "
     "told. What does its argument `training` mean?")
slip("a fixed dropout in either mode", "def drop(self, norm, change): return F.dropout(change, {share})", LAYER_DROPS,
     IN_EITHER_MODE,
     each={"share": SHARES["share"]})
slip("whole words dropped",
     "def drop(self, norm, change): return F.dropout1d(change, self.dropout.p, self.training)", LAYER_DROPS,
     "In train mode your layer drops a sublayer's output for whole words, as `nn.Dropout1d` does. `nn.Dropout` "
     "decides about each number independently.")
slip("dropout on the residual", """
    def keep(self, norm, x): return self.dropout(x)
    def drop(self, norm, change): return change
""", LAYER_DROPS, DROPPED)

right = ANSWERS.right
right("LayerInTwoLines", """
    x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, mask)[0]))
    return self.layer_norm2(x + self.dropout(self.feed_forward(x)))
""")
right("LayerOfTwoDropoutsAndOwnNorms", """
    self.layer_norm1 = layers.LayerNorm(d_model)
    self.layer_norm2 = layers.LayerNorm(d_model)
    self.feed_forward = NETWORKS["NetworkWordByWord"](d_model, d_ff, dropout)
    self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)
    self.dropout = None
    def forward(self, x, mask=None):
        attended, _weights = self.self_attn(query=x, key=x, value=x, mask=mask)
        first = self.layer_norm1(self.dropout1(attended) + x)
        return self.layer_norm2(self.dropout2(self.feed_forward(first)) + first)
""")
# attention and the network are bare modules that contain maps, and all is done in the layer
right("LayerByEinsum", """
    self.num_heads = num_heads
    self.self_attn = nn.ModuleDict({name: nn.Linear(d_model, d_model) for name in ("w_q", "w_k", "w_v", "w_o")})
    self.feed_forward = nn.ModuleDict({"w_1": nn.Linear(d_model, d_ff), "w_2": nn.Linear(d_ff, d_model)})
    def attend(self, x, mask):
        q, k, v = (self.self_attn[name](x).unflatten(-1, (self.num_heads, -1)) for name in ("w_q", "w_k", "w_v"))
        scores = torch.einsum("bthk,bshk->bhts", q, k) / math.sqrt(q.shape[-1])
        hidden = ~(torch.tensor(True) if mask is None else mask).expand(scores.shape)
        weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1)
        weights = self.dropout(weights.masked_fill(hidden, 0.0))
        return self.self_attn["w_o"](torch.einsum("bhts,bshk->bthk", weights, v).flatten(2))
    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.dropout(self.attend(x, mask)))
        hidden = self.dropout(self.feed_forward["w_1"](x)).clamp(min=0)  # dropped before the ReLU
        return self.layer_norm2(x + self.dropout(self.feed_forward["w_2"](hidden)))
""")
right("LayerByTheLibrarysFunction", "self.self_attn = LibraryAttention(d_model, num_heads)")
right("LayerWithASublayerHelper",
      "def add(self, norm, x, sublayer): return norm(torch.add(x, self.dropout(sublayer(x))))")
right("LayerWithHandWrittenDropout", """
    def drop(self, norm, x):
        p = self.dropout.p * self.training
        return x * (torch.rand_like(x) >= p).to(x.dtype) / (1 - p) if p else x
""")
right("LayerOneSentenceAtATime", """
    def forward(self, x, mask=None):
        per_sentence = mask is not None and mask.dim() == 4 and len(mask) > 1
        one = super().forward
        rows = [mask[b : b + 1] if per_sentence else mask for b in range(len(x))]
        return torch.cat([one(x[b : b + 1], row) for b, row in enumerate(rows)])
""")
# makes a mask of ones where there is none; a copy of x takes all changes
right("LayerWithAFullMask", """
    def forward(self, x, mask=None):
        if mask is None:
            mask = x.new_ones(x.shape[1], x.shape[1], dtype=torch.bool)
        stream = x.clone()
        stream += self.dropout(self.self_attn(x, x, x, mask)[0])
        return self.layer_norm2((x := self.layer_norm1(stream)) + self.dropout(self.feed_forward(x)))
""")
# the parts have the names of the text, and are registered once more in blocks that use them
right("LayerOfResidualBlocks", """
    self.first, self.second = (AddAndNorm(norm, dropout) for norm in (self.layer_norm1, self.layer_norm2))
    self.dropout = None
    def forward(self, x, mask=None):
        return self.second(self.first(x, lambda x: self.attend(x, mask)), self.feed_forward)
""")
right("InALoopOverSublayers", """
    def forward(self, x, mask=None):
        for norm, change in (
            (self.layer_norm1, lambda x: self.self_attn(x, x, x, mask)[0]),
            (self.layer_norm2, self.feed_forward),
        ):
            x = norm(x + self.dropout(change(x)))
        return x
""")
# dropout on the attention weights is up to its author
right("LayerWithDropoutOnItsWeights", """
    def attend(self, x, mask):
        attn = self.self_attn
        q, k, v = (
            layer(x).unflatten(-1, (attn.num_heads, -1)).transpose(1, 2) for layer in (attn.w_q, attn.w_k, attn.w_v)
        )
        scores = q @ k.mT / q.shape[-1] ** 0.5
        seen = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
        weights = scores.masked_fill(~seen, -1e9).softmax(-1) * seen
        return attn.w_o((self.dropout(weights) @ v).transpose(1, 2).flatten(2))
""")
right("LayerNumberByNumber", """
    self.feed_forward = NETWORKS["NetworkNumberByNumber"](d_model, d_ff, dropout)
    def attend(self, x, mask):
        return slow.attended(self.self_attn, x, x, x, mask)
    def normalise(self, norm, total):
        return slow.each_word(lambda word: slow.normed(norm, word), total)
""", slow=LOOPS)
right("LayerByBroadcasting", """
    self.feed_forward = NETWORKS["NetworkByBroadcasting"](d_model, d_ff, dropout)
    def attend(self, x, mask):
        return slow.attended_at_once(self.self_attn, x, x, x, mask)
    def normalise(self, norm, total):
        return slow.normed_at_once(norm, total)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("LayerThatDropsTheMaskWithDropout", "mask = mask if self.dropout.p == 0 else None",
      named="mask dropped",
      published=("keras-team/keras#23038", "Where dropout is above 0, the mask is not passed on."))
wrong("LayerWithTheNormFirstAndOneOnTop", """
    def add(self, norm, x, sublayer):
        return x + self.dropout(sublayer(norm(x)))
    return F.layer_norm(second, second.shape[-1:])
""", named=("a third norm on top", "norm first (pre-LN)"))
wrong("LayerOfHalfTheWidth", "d_ff = d_ff // 2", told="weights of another shape")
wrong("LayerWithItsOwnDefault", """
    def __init__(self, d_model, num_heads, d_ff, dropout=0.5):
        super().__init__(d_model, num_heads, d_ff, dropout)
""", told="wrong in train mode with dropout")
wrong("LayerWithAResidualTooMany", "return x + second")
wrong("LayerWithNormsOverTheWords", "return F.layer_norm(second, second.shape[1:])",
      told="each row has a factor and an offset of its own")
wrong("LayerForOneSentence", "def forward(self, x, mask=None): return super().forward(x[:1]).expand_as(x)",
      told=("in another order", "wrong with several sentences"))
wrong("LayerThatAttendsAcrossTheBatch",
      "def forward(self, x, mask=None): return super().forward(x.transpose(0, 1)).transpose(0, 1)")
wrong("LayerForMasksOfOneSentence", "mask = mask[0, 0] if mask is not None and mask.dim() == 4 else mask",
      told=("some rows right", "wrong with `mask` given"))
wrong("LayerThatLooksEvenlyWhereAllIsHidden",
      "mask = None if mask is None else mask | ~mask.any(-1, keepdim=True)",
      told=("right in part", "wrong with a row in which nothing may be seen"))
wrong("LayerOfNaNs", """
    def attend(self, x, mask):
        output, weights = self.self_attn(x, x, x, mask)
        return output.masked_fill((weights == 0).all(-1).all(1).unsqueeze(-1), math.nan)
""", told=("right in part", "wrong with a row in which nothing may be seen"))
wrong("OneBlindHeadBlindsTheWord", """
    def attend(self, x, mask):
        attended, weights = self.self_attn(x, x, x, mask)
        blind = (weights == 0).all(dim=-1).any(dim=1)
        return torch.where(blind.unsqueeze(-1), self.self_attn.w_o.bias, attended)
""", told=("right in part", "wrong with a row in which nothing may be seen"))
wrong("LayerThatChangesTheMask", """
    if mask is not None:
        mask.fill_(True)
    return second
""", told=("inputs changed", "wrong with `mask` given"))
wrong("LayerThatAsksWhetherTheMaskIsTrue", "mask = mask if mask else None",
      told=("stops with RuntimeError", "wrong with `mask` given"))
wrong("LayerThatChangesItsInput", """
    with torch.no_grad():
        x += self.dropout(self.attend(x, mask))
    first = self.layer_norm1(x)
""", told="inputs changed")
wrong("LayerWithADetachedResidual",
      "def keep(self, norm, x): return x.detach() if norm is self.layer_norm2 else x",
      told=("wrong gradient", "wrong about gradients"))
wrong("LayerWithoutGradientsForAttention", "def attend(self, x, mask): return super().attend(x, mask).detach()",
      told=("no gradient", "wrong about gradients"))
wrong("LayerThatComputesInFloat32", """
    def forward(self, x, mask=None):
        single = copy.deepcopy(self).float()
        return Right.forward(single, x.float(), mask).to(x.dtype)
""", told=("rounded", "wrong in float64"))
wrong("LayerWithNormsMadeInForward",
      "def normalise(self, norm, total): return nn.LayerNorm(total.shape[-1], dtype=total.dtype)(total)")
wrong("LayerWithEverythingInAList", """
    def __init__(self, *sizes, **keywords):
        nn.Module.__init__(self)
        self.parts = [layers.TransformerLayer(*sizes, **keywords)]
    def forward(self, x, mask=None):
        return self.parts[0](x, mask)
""", told="weights that are not found")
wrong("LayerThatAddsThePair", "def attend(self, x, mask): return self.self_attn(x, x, x, mask)",
      told="stops with TypeError")
wrong("LayerDroppingTwiceBehindAttention", "def attend(self, x, mask): return self.dropout(super().attend(x, mask))",
      told="wrong in train mode with dropout")
wrong("LayerDroppingTwiceBehindFeedForward", """
    def drop(self, norm, change):
        return self.dropout(self.dropout(change) if norm is self.layer_norm2 else change)
""", told="wrong in train mode with dropout")
wrong("LayerDroppingTheSameOfAllWords",
      "def drop(self, norm, change): return self.dropout(torch.ones_like(change[:, :1])) * change",
      told="wrong in train mode with dropout")
wrong("LayerThatDropsKeys", "def attend(self, x, mask): return self.self_attn(x, self.dropout(x), x, mask)[0]",
      told="wrong in train mode with dropout")
wrong("OneMaskForBoth", """
    self.kept = self.dropout(torch.ones_like(x))
    x = x
    def drop(self, norm, change):
        return self.kept * change
""", told="wrong in train mode with dropout")
wrong("FirstMaskAlways", """
    if not hasattr(self, "mask"):
        self.mask = mask
    mask = self.mask
""", told="wrong after another call")
wrong("LastMaskStays", """
    if mask is not None:
        self.mask = mask
    last = getattr(self, "mask", None)
    mask = last if last is not None and last.shape[-1] == x.shape[1] else mask
""", told="wrong after another call")
wrong("KeysOfTheFirstCall", """
    def attend(self, x, mask):
        if not hasattr(self, "words") or self.words.shape != x.shape:
            self.words = x
        return self.self_attn(x, self.words, self.words, mask)[0]
""", told="wrong after another call")
careless(ANSWERS, a_hundred_words=None)  # which does not fit its mask
# fmt: on


@BANK.right("TransformerLayer")
class LayerWhoseNormsAreProperties(nn.Module):
    layer_norm1 = property(lambda self: self.around[0].norm)
    layer_norm2 = property(lambda self: self.around[1].norm)

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff, dropout)
        self.around = nn.ModuleList(AddAndNorm(nn.LayerNorm(d_model), dropout) for _ in range(2))

    def forward(self, x, mask=None):
        x = self.around[0](x, lambda x: self.self_attn(x, x, x, mask)[0])
        return self.around[1](x, self.feed_forward)


@BANK.wrong("TransformerLayer", told="no module")
class LayerThatIsNoModule:
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        self.inner = layers.TransformerLayer(d_model, num_heads, d_ff, dropout)

    def forward(self, *arguments):
        return self.inner(*arguments)
