"""Answers to `DecoderLayer`."""

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a8_transformer_layer.answers.transformer_layer import LibraryAttention
from assignments.a9_transformer.answers.bank import BANK
from assignments.a9_transformer.answers.shared import OwnAttention
from course_utils import layers
from course_utils.attention import MultiHeadAttention
from course_utils.layers import LayerNorm, PositionwiseFeedForward, TransformerLayer


@BANK.right("DecoderLayer")
class LayerOfThreeDropouts(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, eps=1e-5):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.layer_norm1 = LayerNorm(d_model, eps)
        self.layer_norm2 = LayerNorm(d_model, eps)
        self.layer_norm3 = LayerNorm(d_model, eps)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.dropout3 = nn.Dropout(dropout)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(self.dropout1(self.self_attn(x, x, x, self_mask)[0]) + x)
        x = self.layer_norm2(self.dropout2(self.cross_attn(x, memory, memory, memory_mask)[0]) + x)
        return self.layer_norm3(self.dropout3(self.feed_forward(x)) + x)


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


@BANK.right("DecoderLayer")
class LayerByEinsum(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = OwnAttention(d_model, num_heads, dropout)
        self.cross_attn = OwnAttention(d_model, num_heads, dropout)
        self.feed_forward = nn.Module()
        self.feed_forward.w_1 = nn.Linear(d_model, d_ff)
        self.feed_forward.w_2 = nn.Linear(d_ff, d_model)
        for number in (1, 2, 3):
            setattr(self, f"layer_norm{number}", nn.LayerNorm(d_model))
        self.p = dropout

    def drop(self, x):
        return F.dropout(x, self.p, self.training)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.drop(self.self_attn(x, x, x, self_mask)))
        x = self.layer_norm2(x + self.drop(self.cross_attn(x, memory, memory, memory_mask)))
        hidden = self.drop(self.feed_forward.w_1(x)).clamp(min=0)  # dropped before the ReLU
        return self.layer_norm3(x + self.drop(self.feed_forward.w_2(hidden)))


@BANK.right("DecoderLayer")
class LayerByTheLibrarysFunction(LayerOfThreeDropouts):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.self_attn = LibraryAttention(d_model, num_heads)
        self.cross_attn = LibraryAttention(d_model, num_heads)


@BANK.right("DecoderLayer")
class LayerWithHandWrittenDropout(LayerOfThreeDropouts):
    def drop(self, x):
        if not self.training or self.dropout1.p == 0:
            return x
        keep = (torch.rand_like(x) >= self.dropout1.p).to(x.dtype)
        return x * keep / (1 - self.dropout1.p)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        sublayers = (
            (self.layer_norm1, lambda y: self.self_attn(y, y, y, self_mask)[0]),
            (self.layer_norm2, lambda y: self.cross_attn(y, memory, memory, memory_mask)[0]),
            (self.layer_norm3, self.feed_forward),
        )
        for norm, f in sublayers:
            x = norm(x + self.drop(f(x)))
        return x


@BANK.right("DecoderLayer")
class LayerOneSentenceAtATime(LayerOfThreeDropouts):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        def row(mask, b):
            per_sentence = mask is not None and mask.dim() == 4 and len(mask) > 1
            return mask[b : b + 1] if per_sentence else mask

        rows = [
            super(LayerOneSentenceAtATime, self).forward(
                x[b : b + 1], memory[b : b + 1], row(self_mask, b), row(memory_mask, b)
            )
            for b in range(len(x))
        ]
        return torch.cat(rows)


class Taken(layers.DecoderLayer):
    """The right layer, to be spoilt."""


@BANK.wrong("DecoderLayer", named="memory mask missing", published="huggingface/transformers#47946")
class LayerThatForgetsTheMemoryMask(LayerOfThreeDropouts):
    """The memory's mask is overwritten with None."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory, self_mask)


@BANK.wrong("DecoderLayer", named="keys and values from the decoder")
class LayerThatAsksItself(LayerByEinsum):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.drop(self.self_attn(x, x, x, self_mask)))
        x = self.layer_norm2(x + self.drop(self.cross_attn(x, x, x, None)))
        hidden = self.drop(self.feed_forward.w_1(x).relu())
        return self.layer_norm3(x + self.drop(self.feed_forward.w_2(hidden)))


@BANK.wrong("DecoderLayer", told="too short or too long")
class LayerWithMemoryFirst(Taken):
    def forward(self, memory, x, self_mask=None, memory_mask=None):
        return super().forward(x, memory, self_mask, memory_mask)


@BANK.wrong("DecoderLayer", told=("stops with RuntimeError", "wrong with T ≠ S"))
class LayerForSentencesOfOneLength(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory.reshape(x.shape), self_mask, memory_mask)


@BANK.wrong("DecoderLayer", told="in another order")
class LayerForOneSentence(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        result = super().forward(x[:1], memory[:1])
        return result.expand_as(x)


@BANK.wrong("DecoderLayer")
class LayerThatDropsInEvalMode(LayerByEinsum):
    def drop(self, x):
        return F.dropout(x, self.p)


@BANK.wrong("DecoderLayer", named="d_ff not handed on to the network")
class LayerFourTimesAsWide(LayerOfThreeDropouts):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.feed_forward = PositionwiseFeedForward(d_model, 4 * d_model, dropout)


@BANK.wrong("DecoderLayer", told="weights with other names")
class LayerWithNormsInAList(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.inner = layers.DecoderLayer(d_model, num_heads, d_ff, dropout)

    def forward(self, *arguments):
        return self.inner(*arguments)


@BANK.wrong("DecoderLayer", told="stops with RuntimeError")
class LayerWithNormsMadeInForward(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        norm = nn.LayerNorm(x.shape[-1])
        x = norm(x + self.dropout(self.self_attn(x, x, x, self_mask)[0]))
        x = norm(x + self.dropout(self.cross_attn(x, memory, memory, memory_mask)[0]))
        return norm(x + self.dropout(self.feed_forward(x)))


@BANK.wrong("DecoderLayer", told=("no gradient", "wrong about gradients"))
class LayerWithDetachedMemory(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory.detach(), self_mask, memory_mask)


@BANK.wrong("DecoderLayer", told="inputs changed")
class LayerThatChangesItsInput(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        with torch.no_grad():
            result = super().forward(x, memory, self_mask, memory_mask)
            x += result
        return result


@BANK.wrong("DecoderLayer", told=("another dtype", "wrong in float64"))
class LayerThatIsAlwaysFloat32(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory, self_mask, memory_mask).float()


@BANK.wrong("DecoderLayer", told=("right in part", "wrong with a row in which nothing may be seen"))
class LayerThatAddsALargeNegativeNumber(LayerByEinsum):
    class Attention(OwnAttention):
        def forward(self, query, key, value, mask):
            everything = torch.ones(query.shape[1], key.shape[1], dtype=torch.bool)
            mask = everything if mask is None else mask
            empty = ~mask.any(-1, keepdim=True)
            return super().forward(query, key, value, mask | empty)

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.self_attn = self.Attention(d_model, num_heads, dropout)
        self.cross_attn = self.Attention(d_model, num_heads, dropout)


@BANK.wrong("DecoderLayer", told="each row has a factor and an offset of its own")
class LayerThatNormalisesOverWordsToo(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        result = super().forward(x, memory, self_mask, memory_mask)
        return F.layer_norm(result, result.shape[1:])


@BANK.wrong("DecoderLayer", told="weights with other names")
class LayerOfTheLibrarysNames(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return self.self_attn(x, x, x)[0]


@BANK.wrong("DecoderLayer", told="no module")
class LayerThatIsNoModule:
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        self.inner = layers.DecoderLayer(d_model, num_heads, d_ff, dropout)

    def forward(self, *arguments):
        return self.inner(*arguments)


@BANK.wrong("DecoderLayer", told="all the same")
class LayerForTheExampleByHand(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return torch.tensor([-1.0, 1.0]).repeat(*x.shape[:2], x.shape[2] // 2)


@BANK.wrong("DecoderLayer", told="wrong in train mode with dropout")
class LayerDroppingTwiceBehindCrossAttention(layers.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, self_mask)[0]))
        crossed = self.dropout(self.cross_attn(x, memory, memory, memory_mask)[0])
        x = self.layer_norm2(x + self.dropout(crossed))
        return self.layer_norm3(x + self.dropout(self.feed_forward(x)))


@BANK.wrong("DecoderLayer", named="memory mask missing")
class LayerWhoseMemoryMaskNeedsFourAxes(layers.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        if memory_mask is not None and memory_mask.dim() < 4:
            memory_mask = None
        return super().forward(x, memory, self_mask, memory_mask)


@BANK.right("DecoderLayer")
class LayerInALoop(layers.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        sublayers = (
            (lambda y: self.self_attn(y, y, y, self_mask)[0], self.layer_norm1),
            (lambda y: self.cross_attn(y, memory, memory, memory_mask)[0], self.layer_norm2),
            (self.feed_forward, self.layer_norm3),
        )
        for sublayer, norm in sublayers:
            x = norm(x + self.dropout(sublayer(x)))
        return x


@BANK.wrong("DecoderLayer", told="wrong in train mode with dropout")
class LayerWhoseNetworkReadsTooLittle(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, self_mask)[0]))
        x = self.layer_norm2(x + self.dropout(self.cross_attn(x, memory, memory, memory_mask)[0]))
        return self.layer_norm3(x + self.dropout(self.feed_forward(self.dropout(x))))


@BANK.wrong("DecoderLayer", told="wrong in train mode with dropout")
class LayerWhoseCrossAttentionAsksTooLittle(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, self_mask)[0]))
        less = self.dropout(x)
        x = self.layer_norm2(
            x + self.dropout(self.cross_attn(less, memory, memory, memory_mask)[0])
        )
        return self.layer_norm3(x + self.dropout(self.feed_forward(x)))


@BANK.wrong("DecoderLayer", told="wrong in train mode with dropout")
class LayerThatDropsOfTheMemory(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, self.dropout(memory), self_mask, memory_mask)


@BANK.wrong("DecoderLayer", told="wrong in train mode with dropout")
class LayerWhoseSelfAttentionAsksTooLittle(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.dropout(self.self_attn(self.dropout(x), x, x, self_mask)[0]))
        x = self.layer_norm2(x + self.dropout(self.cross_attn(x, memory, memory, memory_mask)[0]))
        return self.layer_norm3(x + self.dropout(self.feed_forward(x)))


@BANK.wrong("DecoderLayer")
class LayerWhoseNetworkDropsInEvalMode(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, self_mask)[0]))
        x = self.layer_norm2(x + self.dropout(self.cross_attn(x, memory, memory, memory_mask)[0]))
        return self.layer_norm3(x + F.dropout(self.feed_forward(x), self.dropout.p))


@BANK.right("DecoderLayer")
class LayerOfNumberedParts(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.self_attn, self.cross_attn = (MultiHeadAttention(d_model, num_heads) for _ in "sc")
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        for number in range(1, 4):
            self.add_module(f"layer_norm{number}", nn.LayerNorm(d_model))
        self.drops = nn.ModuleDict({str(number): nn.Dropout(dropout) for number in range(1, 4)})

    def _add_and_norm(self, number: int, x: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
        return getattr(self, f"layer_norm{number}")(x + self.drops[str(number)](change))

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self._add_and_norm(1, x, self.self_attn(query=x, key=x, value=x, mask=self_mask)[0])
        found, _ = self.cross_attn(query=x, key=memory, value=memory, mask=memory_mask)
        x = self._add_and_norm(2, x, found)
        return self._add_and_norm(3, x, self.feed_forward(x))


@BANK.right("DecoderLayer")
class LayerThatAddsInPlaceToItsOwn(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential()
        self.feed_forward.add_module("w_1", nn.Linear(d_model, d_ff))
        self.feed_forward.add_module("relu", nn.ReLU(inplace=True))
        self.feed_forward.add_module("dropout", nn.Dropout(dropout, inplace=True))
        self.feed_forward.add_module("w_2", nn.Linear(d_ff, d_model))
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.layer_norm3 = nn.LayerNorm(d_model)
        self.p = dropout
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        assert x.ndim == memory.ndim == 3, "expected (B, T, D) and (B, S, D)"
        residual = x
        out, self.last_weights = self.self_attn(x, x, x, self_mask)
        out = F.dropout(out, self.p, self.training)
        out += residual
        residual = self.layer_norm1(out)
        out, _ = self.cross_attn(residual, memory, memory, memory_mask)
        out = F.dropout(out, self.p, self.training)
        out += residual
        residual = self.layer_norm2(out)
        out = F.dropout(self.feed_forward(residual), self.p, self.training)
        return self.layer_norm3(out + residual)


class AddAndNorm(nn.Module):
    """A norm that has another name as well."""

    def __init__(self, norm, p):
        super().__init__()
        self.norm, self.drop = norm, nn.Dropout(p)

    def forward(self, x, sublayer):
        return self.norm(x + self.drop(sublayer(x)))


@BANK.right("DecoderLayer")
class LayerOfConnections(LayerOfThreeDropouts):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        norms = self.layer_norm1, self.layer_norm2, self.layer_norm3
        self.connections = nn.ModuleList(AddAndNorm(norm, dropout) for norm in norms)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.connections[0](x, lambda x: self.self_attn(x, x, x, self_mask)[0])
        x = self.connections[1](x, lambda x: self.cross_attn(x, memory, memory, memory_mask)[0])
        return self.connections[2](x, self.feed_forward)


@BANK.wrong("DecoderLayer", named="dropout taken and not handed on to the network")
class LayerWithANetworkOfItsDefault(LayerOfThreeDropouts):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff)


@BANK.wrong("DecoderLayer", named="no dropout inside the network")
class LayerWithANetworkOfTwoMaps(LayerOfThreeDropouts):
    class Network(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.w_1, self.w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

        def forward(self, x):
            return self.w_2(self.w_1(x).relu())

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.feed_forward = self.Network(d_model, d_ff)


@BANK.wrong("DecoderLayer", named="a fixed dropout behind the sublayers")
class LayerWithADropoutOfNoArgument(LayerOfThreeDropouts):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.dropout1, self.dropout2, self.dropout3 = nn.Dropout(), nn.Dropout(), nn.Dropout()


@BANK.wrong("DecoderLayer", named="keys from the decoder")
class LayerWithKeysOfTheDecoder(LayerInALoop):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        attention = self.cross_attn.forward
        self.cross_attn.forward = lambda x, key, value, mask: attention(x, x, value, mask)


@BANK.wrong("DecoderLayer", named="query and value of cross-attention exchanged")
class LayerWithTheValueFirst(LayerOfThreeDropouts):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(self.dropout1(self.self_attn(x, x, x, self_mask)[0]) + x)
        x = self.layer_norm2(self.dropout2(self.cross_attn(memory, memory, x, memory_mask)[0]) + x)
        return self.layer_norm3(self.dropout3(self.feed_forward(x)) + x)


@BANK.wrong("DecoderLayer", named="nothing behind self-attention")
class LayerHalfFinished(LayerOfThreeDropouts):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return self.layer_norm1(x + self.dropout1(self.self_attn(x, x, x, self_mask)[0]))


@BANK.wrong("DecoderLayer", named="one attention under two names")
class LayerWithOneAttention(LayerOfThreeDropouts):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.self_attn = self.cross_attn


@BANK.wrong("DecoderLayer", named="one norm under three names")
class LayerWithOneNorm(LayerOfThreeDropouts):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.layer_norm1 = self.layer_norm2 = self.layer_norm3


@BANK.wrong("DecoderLayer", told="stops with RuntimeError")
class LayerThatAddsToItsInput(LayerOfThreeDropouts):
    """It costs the step about inputs alone, and nothing is said of dropout in eval mode."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x += self.dropout1(self.self_attn(x, x, x, self_mask)[0])
        x = self.layer_norm1(x)
        x = self.layer_norm2(x + self.dropout2(self.cross_attn(x, memory, memory, memory_mask)[0]))
        return self.layer_norm3(x + self.dropout3(self.feed_forward(x)))


@BANK.wrong("DecoderLayer", told="wrong in train mode with dropout")
class LayerThatDropsWholeWords(LayerOfThreeDropouts):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.dropout1, self.dropout2, self.dropout3 = (nn.Dropout1d(dropout) for _ in range(3))
