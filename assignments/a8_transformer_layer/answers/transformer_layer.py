"""Answers to `TransformerLayer`."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a8_transformer_layer.answers.bank import BANK
from assignments.a8_transformer_layer.answers.positionwise_feed_forward import (
    NetworkInOneLine,
    NetworkWordByWord,
)
from course_utils import layers
from course_utils.attention import MultiHeadAttention


class Modules(nn.Module):
    """The attributes that the text asks for."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = NetworkInOneLine(d_model, d_ff, dropout)
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.p = dropout

    def drop(self, x):
        return F.dropout(x, self.p, self.training)


@BANK.right("TransformerLayer")
class LayerInTwoLines(Modules):
    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.drop(self.self_attn(x, x, x, mask)[0]))
        return self.layer_norm2(x + self.drop(self.feed_forward(x)))


class OwnNorm(nn.Module):
    """Layer norm by hand, with the variance as a difference of means."""

    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias


@BANK.right("TransformerLayer")
class LayerOfTwoDropoutsAndOwnNorms(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, eps=1e-5):
        super().__init__()
        self.layer_norm2, self.layer_norm1 = OwnNorm(d_model, eps), OwnNorm(d_model, eps)
        self.feed_forward = NetworkWordByWord(d_model, d_ff, dropout)
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x, mask=None):
        attended, _weights = self.self_attn(query=x, key=x, value=x, mask=mask)
        first = self.layer_norm1(self.dropout1(attended) + x)
        return self.layer_norm2(self.dropout2(self.feed_forward(first)) + first)


class OwnAttention(nn.Module):
    """Attention by einsum, with dropout on the weights."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        self.heads, self.p = num_heads, dropout
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = (w(x).reshape(b, t, self.heads, -1) for w in (self.w_q, self.w_k, self.w_v))
        scores = torch.einsum("bthk,bshk->bhts", q, k) / math.sqrt(d // self.heads)
        if mask is None:
            mask = torch.ones(t, t, dtype=torch.bool)
        hidden = ~mask.expand(scores.shape)
        weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1)
        weights = F.dropout(weights.masked_fill(hidden, 0.0), self.p, self.training)
        return self.w_o(torch.einsum("bhts,bshk->bthk", weights, v).reshape(b, t, d))


@BANK.right("TransformerLayer")
class LayerByEinsum(nn.Module):
    """All in one class, where the network is a bare module that contains two maps."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = OwnAttention(d_model, num_heads, dropout)
        self.feed_forward = nn.ModuleDict(
            {"w_1": nn.Linear(d_model, d_ff), "w_2": nn.Linear(d_ff, d_model)}
        )
        for number in (1, 2):
            setattr(self, f"layer_norm{number}", nn.LayerNorm(d_model))
        self.p = dropout

    def drop(self, x):
        return F.dropout(x, self.p, self.training)

    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.drop(self.self_attn(x, mask)))
        hidden = self.drop(self.feed_forward["w_1"](x)).clamp(min=0)  # dropped before the ReLU
        return self.layer_norm2(x + self.drop(self.feed_forward["w_2"](hidden)))


class LibraryAttention(MultiHeadAttention):
    """The heads by PyTorch's function, whose results for empty rows are corrected afterwards."""

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            linear(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for linear, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        if mask is None:
            heads = F.scaled_dot_product_attention(q, k, v)
        else:
            mask = mask.expand(*q.shape[:3], k.shape[2])
            seen = mask.any(-1, keepdim=True)
            heads = F.scaled_dot_product_attention(q, k, v, mask | ~seen) * seen
        return self.w_o(heads.transpose(1, 2).flatten(2)), None


@BANK.right("TransformerLayer")
class LayerByTheLibrarysFunction(LayerInTwoLines):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.self_attn = LibraryAttention(d_model, num_heads)


@BANK.right("TransformerLayer")
class LayerWithASublayerHelper(Modules):
    def sublayer(self, norm, x, f):
        return norm(torch.add(x, self.drop(f(x))))

    def forward(self, x, mask=None):
        x = self.sublayer(self.layer_norm1, x, lambda y: self.self_attn(y, y, y, mask)[0])
        return self.sublayer(self.layer_norm2, x, self.feed_forward)


@BANK.right("TransformerLayer")
class LayerWithHandWrittenDropout(LayerInTwoLines):
    def drop(self, x):
        if not self.training or self.p == 0:
            return x
        return x * (torch.rand_like(x) >= self.p).to(x.dtype) / (1 - self.p)


@BANK.right("TransformerLayer")
class LayerOneSentenceAtATime(LayerInTwoLines):
    def forward(self, x, mask=None):
        def row(b):
            per_sentence = mask is not None and mask.dim() == 4 and len(mask) > 1
            return mask[b : b + 1] if per_sentence else mask

        one = super().forward
        return torch.cat([one(x[b : b + 1], row(b)) for b in range(len(x))])


@BANK.right("TransformerLayer")
class LayerWithAFullMask(LayerInTwoLines):
    """Makes a mask of ones where there is none; a copy of x takes all changes."""

    def forward(self, x, mask=None):
        if mask is None:
            mask = x.new_ones(x.shape[1], x.shape[1], dtype=torch.bool)
        stream = x.clone()
        stream += self.drop(self.self_attn(x, x, x, mask)[0])
        return self.layer_norm2((x := self.layer_norm1(stream)) + self.drop(self.feed_forward(x)))


class Taken(layers.TransformerLayer):
    """The right layer, to be spoilt."""


@BANK.wrong("TransformerLayer", named="mask dropped", published="keras-team/keras#21284")
class LayerThatForgetsTheMask(LayerByEinsum):
    """The mask is accepted but not passed on."""

    def forward(self, x, mask=None):
        return super().forward(x)


@BANK.wrong(
    "TransformerLayer",
    named="norm first (pre-LN)",
    published="jadore801120/attention-is-all-you-need-pytorch#150",
)
class LayerWithTheNormFirst(LayerByEinsum):
    """The norm comes before the sublayer."""

    def forward(self, x, mask=None):
        x = x + self.drop(self.self_attn(self.layer_norm1(x), mask))
        hidden = self.drop(self.feed_forward["w_1"](self.layer_norm2(x))).relu()
        return x + self.drop(self.feed_forward["w_2"](hidden))


@BANK.wrong("TransformerLayer", named=("a third norm on top", "norm first (pre-LN)"))
class LayerWithTheNormFirstAndOneOnTop(Taken):
    def forward(self, x, mask=None):
        normed = self.layer_norm1(x)
        x = x + self.dropout(self.self_attn(normed, normed, normed, mask)[0])
        x = x + self.dropout(self.feed_forward(self.layer_norm2(x)))
        return F.layer_norm(x, x.shape[-1:])


@BANK.wrong("TransformerLayer", named="only one norm made", published="allenai/OLMo#222")
class LayerOfOneNorm(nn.Module):
    """One norm serves both sublayers."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = NetworkInOneLine(d_model, d_ff, dropout)
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.p = dropout

    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.self_attn(x, x, x, mask)[0])
        return self.layer_norm1(x + self.feed_forward(x))


@BANK.wrong("TransformerLayer", named="one norm under both names")
class LayerOfOneNormTwice(LayerInTwoLines):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.layer_norm1, self.layer_norm2 = [nn.LayerNorm(d_model)] * 2


@BANK.wrong("TransformerLayer", named="d_ff not handed on to the network")
class LayerFourTimesAsWide(LayerInTwoLines):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.feed_forward = NetworkInOneLine(d_model, 4 * d_model, dropout)


@BANK.wrong("TransformerLayer", told="weights of another shape")
class LayerOfHalfTheWidth(LayerInTwoLines):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff // 2, dropout)


@BANK.wrong("TransformerLayer", told="wrong in train mode with dropout")
class LayerWithItsOwnDefault(LayerInTwoLines):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.5):
        super().__init__(d_model, num_heads, d_ff, dropout)


@BANK.wrong("TransformerLayer", named="a fixed dropout behind the sublayers")
class LayerWithConstantDropout(LayerInTwoLines):
    def drop(self, x):
        return F.dropout(x, 0.1, self.training)


@BANK.wrong("TransformerLayer")
class LayerWithATrailingReLU(Taken):
    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, mask)[0]))
        return self.layer_norm2(x + self.dropout(torch.relu(self.feed_forward(x))))


@BANK.wrong("TransformerLayer")
class LayerWithAResidualTooMany(Taken):
    def forward(self, x, mask=None):
        return x + super().forward(x, mask)


@BANK.wrong("TransformerLayer", told="each row has a factor and an offset of its own")
class LayerWithNormsOverTheWords(Taken):
    def forward(self, x, mask=None):
        result = super().forward(x, mask)
        return F.layer_norm(result, result.shape[1:])


@BANK.wrong("TransformerLayer")
class LayerWithBatchNorms(Modules):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.layer_norm1, self.layer_norm2 = nn.BatchNorm1d(d_model), nn.BatchNorm1d(d_model)

    def forward(self, x, mask=None):
        x = x + self.drop(self.self_attn(x, x, x, mask)[0])
        x = self.layer_norm1(x.mT).mT
        return self.layer_norm2((x + self.drop(self.feed_forward(x))).mT).mT


@BANK.wrong("TransformerLayer")
class LayerWithUnbiasedNorms(LayerInTwoLines):
    class Norm(OwnNorm):
        def forward(self, x):
            mean, deviation = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
            return (x - mean) / (deviation + self.eps) * self.weight + self.bias

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.layer_norm1, self.layer_norm2 = self.Norm(d_model), self.Norm(d_model)


@BANK.wrong("TransformerLayer", told=("in another order", "wrong with several sentences"))
class LayerForOneSentence(Taken):
    def forward(self, x, mask=None):
        return super().forward(x[:1]).expand_as(x)


@BANK.wrong("TransformerLayer")
class LayerThatAttendsAcrossTheBatch(Taken):
    def forward(self, x, mask=None):
        return super().forward(x.transpose(0, 1)).transpose(0, 1)


@BANK.wrong("TransformerLayer", told=("some rows right", "wrong with `mask` given"))
class LayerForMasksOfOneSentence(Taken):
    def forward(self, x, mask=None):
        if mask is not None and mask.dim() == 4:
            mask = mask[0, 0]
        return super().forward(x, mask)


@BANK.wrong("TransformerLayer", named="one more axis for the mask")
class LayerForMasksOfThreeAxes(Taken):
    def forward(self, x, mask=None):
        return super().forward(x, None if mask is None else mask.unsqueeze(1))


@BANK.wrong("TransformerLayer", named="stops where no mask is given")
class LayerThatMustHaveAMask(Taken):
    def forward(self, x, mask):
        return super().forward(x, mask)


@BANK.wrong("TransformerLayer", told=("some rows right", "wrong with `mask` given"))
class LayerThatMasksAfterTheSoftmax(LayerByEinsum):
    class Attention(OwnAttention):
        def forward(self, x, mask):
            b, t, d = x.shape
            q, k, v = (w(x).reshape(b, t, self.heads, -1) for w in (self.w_q, self.w_k, self.w_v))
            scores = torch.einsum("bthk,bshk->bhts", q, k) / math.sqrt(d // self.heads)
            weights = scores.softmax(-1)
            weights = weights if mask is None else weights * mask
            return self.w_o(torch.einsum("bhts,bshk->bthk", weights, v).reshape(b, t, d))

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.self_attn = self.Attention(d_model, num_heads, dropout)


@BANK.wrong(
    "TransformerLayer", told=("right in part", "wrong with a row in which nothing may be seen")
)
class LayerThatLooksEvenlyWhereAllIsHidden(Taken):
    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask | ~mask.any(-1, keepdim=True)
        return super().forward(x, mask)


@BANK.wrong(
    "TransformerLayer", told=("right in part", "wrong with a row in which nothing may be seen")
)
class LayerOfNaNs(LayerInTwoLines):
    class Attention(LibraryAttention):
        def forward(self, query, key, value, mask=None):
            output, _ = super().forward(query, key, value, mask)
            if mask is None:
                return output, None
            empty = ~mask.expand(len(query), self.num_heads, -1, -1).any(-1).any(1)  # (B, T)
            return output.masked_fill(empty.unsqueeze(-1), math.nan), None

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.self_attn = self.Attention(d_model, num_heads)


@BANK.wrong("TransformerLayer", told=("inputs changed", "wrong with `mask` given"))
class LayerThatChangesTheMask(Taken):
    def forward(self, x, mask=None):
        result = super().forward(x, mask)
        if mask is not None:
            mask.fill_(True)
        return result


@BANK.wrong("TransformerLayer", told="inputs changed")
class LayerThatChangesItsInput(LayerInTwoLines):
    def forward(self, x, mask=None):
        with torch.no_grad():
            attended = self.self_attn(x, x, x, mask)[0]
            x += self.drop(attended)
        x = self.layer_norm1(x)
        return self.layer_norm2(x + self.drop(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", told=("wrong gradient", "wrong about gradients"))
class LayerWithADetachedResidual(LayerInTwoLines):
    def forward(self, x, mask=None):
        first = self.layer_norm1(x + self.drop(self.self_attn(x, x, x, mask)[0]))
        return self.layer_norm2(first.detach() + self.drop(self.feed_forward(first)))


@BANK.wrong("TransformerLayer", told=("no gradient", "wrong about gradients"))
class LayerWithoutGradientsForAttention(LayerInTwoLines):
    def forward(self, x, mask=None):
        with torch.no_grad():
            attended = self.self_attn(x, x, x, mask)[0]
        x = self.layer_norm1(x + self.drop(attended))
        return self.layer_norm2(x + self.drop(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", told=("another dtype", "wrong in float64"))
class LayerThatIsAlwaysFloat32(Taken):
    def forward(self, x, mask=None):
        return super().forward(x, mask).float()


@BANK.wrong("TransformerLayer", told=("rounded", "wrong in float64"))
class LayerThatComputesInFloat32(Taken):
    def forward(self, x, mask=None):
        single = copy.deepcopy(self).float()
        return layers.TransformerLayer.forward(single, x.float(), mask).to(x.dtype)


@BANK.wrong("TransformerLayer", told=("stops with RuntimeError", "wrong with gaps in memory"))
class LayerThatNeedsContiguousInput(Taken):
    def forward(self, x, mask=None):
        return super().forward(x.view(-1).view(x.shape), mask)


@BANK.wrong("TransformerLayer")
class LayerWithNormsMadeInForward(Taken):
    def forward(self, x, mask=None):
        norm = nn.LayerNorm(x.shape[-1], dtype=x.dtype)
        x = norm(x + self.dropout(self.self_attn(x, x, x, mask)[0]))
        return norm(x + self.dropout(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", told="weights that are not found")
class LayerWithEverythingInAList(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.parts = [Taken(d_model, num_heads, d_ff, dropout)]

    def forward(self, x, mask=None):
        return self.parts[0](x, mask)


@BANK.wrong("TransformerLayer", told="stops with TypeError")
class LayerThatAddsThePair(Modules):
    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.drop(self.self_attn(x, x, x, mask)))
        return self.layer_norm2(x + self.drop(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", told="no module")
class LayerThatIsNoModule:
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        self.inner = layers.TransformerLayer(d_model, num_heads, d_ff, dropout)

    def forward(self, *arguments):
        return self.inner(*arguments)


@BANK.wrong("TransformerLayer", told="all the same")
class LayerForTheExampleByHand(Taken):
    def forward(self, x, mask=None):
        return x.new_tensor([-1.0, 1.0, 1.0, -1.0]).repeat(*x.shape[:2], x.shape[2] // 4)


@BANK.right("TransformerLayer")
class LayerOfResidualBlocks(nn.Module):
    """The parts have the names of the text, and are registered once more in blocks that use them."""

    class Block(nn.Module):
        def __init__(self, sublayer, norm, dropout):
            super().__init__()
            self.sublayer, self.norm, self.dropout = sublayer, norm, nn.Dropout(dropout)

        def forward(self, x, *arguments):
            change = self.sublayer(x, *arguments)
            change = change[0] if isinstance(change, tuple) else change
            return self.norm(x + self.dropout(change))

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff, dropout)
        self.layer_norm1, self.layer_norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.first = self.Block(self.self_attn, self.layer_norm1, dropout)
        self.second = self.Block(self.feed_forward, self.layer_norm2, dropout)

    def forward(self, x, mask=None):
        return self.second(self.first(x, x, x, mask))


@BANK.wrong("TransformerLayer", told="wrong in train mode with dropout")
class LayerDroppingTwiceBehindAttention(Taken):
    def forward(self, x, mask=None):
        attended = self.dropout(self.self_attn(x, x, x, mask)[0])
        x = self.layer_norm1(x + self.dropout(attended))
        return self.layer_norm2(x + self.dropout(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", told="wrong in train mode with dropout")
class LayerDroppingTwiceBehindFeedForward(Taken):
    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, mask)[0]))
        return self.layer_norm2(x + self.dropout(self.dropout(self.feed_forward(x))))


@BANK.wrong("TransformerLayer", told="wrong in train mode with dropout")
class LayerDroppingTheSameOfAllWords(Taken):
    def forward(self, x, mask=None):
        def add(norm, x, change):
            return norm(x + self.dropout(torch.ones_like(change[:, :1])) * change)

        x = add(self.layer_norm1, x, self.self_attn(x, x, x, mask)[0])
        return add(self.layer_norm2, x, self.feed_forward(x))


@BANK.wrong("TransformerLayer", named="sublayers side by side")
class LayerWithSublayersInParallel(layers.TransformerLayer):
    def forward(self, x, mask=None):
        attended, _ = self.self_attn(x, x, x, mask)
        total = x + self.dropout(attended) + self.dropout(self.feed_forward(x))
        return self.layer_norm2(self.layer_norm1(total))


@BANK.wrong("TransformerLayer", named="a fixed dropout behind the sublayers")
class LayerWithAFixedDropout(layers.TransformerLayer):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(0.1)


@BANK.wrong("TransformerLayer", named="whole words dropped")
class LayerThatDropsChannels(layers.TransformerLayer):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout1d(dropout)


@BANK.wrong("TransformerLayer", named="dropout taken and not handed on to the network")
class LayerWhoseNetworkHasItsDefault(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.layer_norm1, self.layer_norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff)
        self.self_attn = MultiHeadAttention(d_model, num_heads)

    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, mask)[0]))
        return self.layer_norm2(x + self.dropout(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", named="first entries of the mask alone")
class LayerThatCutsTheMask(LayerInTwoLines):
    def forward(self, x, mask=None):
        return super().forward(x, None if mask is None else mask[:, :1])


class AddAndNorm(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.norm(x + self.drop(sublayer(x)))


@BANK.right("TransformerLayer")
class LayerWhoseNormsAreProperties(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff, dropout)
        self.around = nn.ModuleList(AddAndNorm(d_model, dropout) for _ in range(2))

    @property
    def layer_norm1(self):
        return self.around[0].norm

    @property
    def layer_norm2(self):
        return self.around[1].norm

    def forward(self, x, mask=None):
        x = self.around[0](x, lambda x: self.self_attn(x, x, x, mask)[0])
        return self.around[1](x, self.feed_forward)


@BANK.right("TransformerLayer")
class LayerWithDropoutOnItsWeights(LayerInTwoLines):
    """Dropout on the attention weights is up to its author."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.heads = num_heads

    def forward(self, x, mask=None):
        attn = self.self_attn
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in (attn.w_q, attn.w_k, attn.w_v)
        )
        scores = q @ k.mT / q.shape[-1] ** 0.5
        seen = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
        weights = scores.masked_fill(~seen, -1e9).softmax(-1) * seen
        found = attn.w_o((self.drop(weights) @ v).transpose(1, 2).flatten(2))
        x = self.layer_norm1(x + self.drop(found))
        return self.layer_norm2(x + self.drop(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", named="dropout on what attention reads")
class LayerThatDropsWhatAttentionReads(LayerInTwoLines):
    def forward(self, x, mask=None):
        read = self.drop(x)
        x = self.layer_norm1(x + self.drop(self.self_attn(read, read, read, mask)[0]))
        return self.layer_norm2(x + self.drop(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", told="wrong in train mode with dropout")
class LayerThatDropsKeys(LayerInTwoLines):
    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.drop(self.self_attn(x, self.drop(x), x, mask)[0]))
        return self.layer_norm2(x + self.drop(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", named="dropout on what the feed-forward network reads")
class LayerThatDropsWhatTheNetworkReads(LayerInTwoLines):
    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.drop(self.self_attn(x, x, x, mask)[0]))
        return self.layer_norm2(x + self.drop(self.feed_forward(self.drop(x))))


@BANK.wrong("TransformerLayer", named="dropout on the layer's input")
class LayerThatDropsItsInput(LayerInTwoLines):
    def forward(self, x, mask=None):
        return super().forward(self.drop(x), mask)


@BANK.wrong("TransformerLayer", named="a fixed dropout in either mode")
class LayerWithDropoutsMadeInForward(LayerInTwoLines):
    def forward(self, x, mask=None):
        x = self.layer_norm1(x + nn.Dropout(0.1)(self.self_attn(x, x, x, mask)[0]))
        return self.layer_norm2(x + nn.Dropout(0.1)(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", named="a fixed dropout behind the sublayers")
class LayerThatDropsHalf(LayerInTwoLines):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.p = 0.5


@BANK.wrong("TransformerLayer", told=("stops with RuntimeError", "wrong with `mask` given"))
class LayerThatAsksWhetherTheMaskIsTrue(LayerInTwoLines):
    def forward(self, x, mask=None):
        return super().forward(x, mask if mask else None)


@BANK.wrong("TransformerLayer", named="stops where no mask is given")
class LayerThatTurnsTheMaskRoundTwice(LayerInTwoLines):
    def forward(self, x, mask=None):
        return super().forward(x, ~(~mask))


@BANK.wrong("TransformerLayer", named="a third norm on top")
class LayerWithTheSecondNormTwice(LayerInTwoLines):
    def forward(self, x, mask=None):
        return self.layer_norm2(super().forward(x, mask))


@BANK.wrong("TransformerLayer", named="norm before the sum")
class LayerThatNormsWhatWasDropped(LayerInTwoLines):
    def forward(self, x, mask=None):
        x = x + self.layer_norm1(self.drop(self.self_attn(x, x, x, mask)[0]))
        return x + self.layer_norm2(self.drop(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", named="another ε in the norms")
class LayerWithAnotherEpsilon(LayerInTwoLines):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.layer_norm1 = nn.LayerNorm(d_model, eps=1e-6)
        self.layer_norm2 = nn.LayerNorm(d_model, eps=1e-6)
