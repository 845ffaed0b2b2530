"""Answers to assignment 9."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a8_transformer_layer.answers import LibraryAttention
from assignments.bank import Bank
from course_utils import layers, masks, transformer
from course_utils.attention import MultiHeadAttention
from course_utils.evaluation import evaluating
from course_utils.layers import LayerNorm, PositionwiseFeedForward, TransformerLayer
from course_utils.positional import PositionalEncoding, positional_encoding

BANK = Bank("a9_transformer")


# ------------------------------------------------------------------------------ DecoderLayer


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


@BANK.wrong("DecoderLayer", named="memory mask missing")
class LayerThatForgetsTheMemoryMask(LayerOfThreeDropouts):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory, self_mask)


@BANK.wrong("DecoderLayer", named="keys and values from the decoder")
class LayerThatAsksItself(LayerByEinsum):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.drop(self.self_attn(x, x, x, self_mask)))
        x = self.layer_norm2(x + self.drop(self.cross_attn(x, x, x, None)))
        hidden = self.drop(self.feed_forward.w_1(x).relu())
        return self.layer_norm3(x + self.drop(self.feed_forward.w_2(hidden)))


@BANK.wrong("DecoderLayer")
class LayerWithMemoryFirst(Taken):
    def forward(self, memory, x, self_mask=None, memory_mask=None):
        return super().forward(x, memory, self_mask, memory_mask)


@BANK.wrong("DecoderLayer")
class LayerForSentencesOfOneLength(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory.reshape(x.shape), self_mask, memory_mask)


@BANK.wrong("DecoderLayer")
class LayerForOneSentence(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        result = super().forward(x[:1], memory[:1])
        return result.expand_as(x)


@BANK.wrong("DecoderLayer")
class LayerThatDropsInEvalMode(LayerByEinsum):
    def drop(self, x):
        return F.dropout(x, self.p)


@BANK.wrong("DecoderLayer")
class LayerWithNormsInAList(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.inner = layers.DecoderLayer(d_model, num_heads, d_ff, dropout)

    def forward(self, *arguments):
        return self.inner(*arguments)


@BANK.wrong("DecoderLayer")
class LayerWithNormsMadeInForward(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        norm = nn.LayerNorm(x.shape[-1])
        x = norm(x + self.dropout(self.self_attn(x, x, x, self_mask)[0]))
        x = norm(x + self.dropout(self.cross_attn(x, memory, memory, memory_mask)[0]))
        return norm(x + self.dropout(self.feed_forward(x)))


@BANK.wrong("DecoderLayer")
class LayerWithDetachedMemory(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory.detach(), self_mask, memory_mask)


@BANK.wrong("DecoderLayer")
class LayerThatChangesItsInput(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        with torch.no_grad():
            result = super().forward(x, memory, self_mask, memory_mask)
            x += result
        return result


@BANK.wrong("DecoderLayer")
class LayerThatIsAlwaysFloat32(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory, self_mask, memory_mask).float()


@BANK.wrong("DecoderLayer")
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


@BANK.wrong("DecoderLayer")
class LayerThatNormalisesOverWordsToo(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        result = super().forward(x, memory, self_mask, memory_mask)
        return F.layer_norm(result, result.shape[1:])


@BANK.wrong("DecoderLayer")
class LayerOfTheLibrarysNames(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return self.self_attn(x, x, x)[0]


@BANK.wrong("DecoderLayer")
class LayerThatIsNoModule:
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        self.inner = layers.DecoderLayer(d_model, num_heads, d_ff, dropout)

    def forward(self, *arguments):
        return self.inner(*arguments)


@BANK.wrong("DecoderLayer")
class LayerForTheExampleByHand(Taken):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return torch.tensor([-1.0, 1.0]).repeat(*x.shape[:2], x.shape[2] // 2)


# ------------------------------------------------------------------------------- Transformer


class Outline(nn.Module):
    """The attributes that the text asks for, and nothing that is computed."""

    def __init__(
        self,
        src_vocab,
        tgt_vocab,
        d_model,
        num_heads,
        num_layers,
        d_ff,
        dropout=0.1,
        max_len=128,
        pad_id=0,
    ):
        super().__init__()
        self.d_model, self.pad_id, self.max_len = d_model, pad_id, max_len
        self.src_embedding = nn.Embedding(src_vocab, d_model, padding_idx=pad_id)
        self.tgt_embedding = nn.Embedding(tgt_vocab, d_model, padding_idx=pad_id)
        self.positional_encoding = PositionalEncoding(d_model, dropout, max_len)
        sizes = d_model, num_heads, d_ff, dropout
        self.encoder_layers = nn.ModuleList([TransformerLayer(*sizes) for _ in range(num_layers)])
        self.decoder_layers = nn.ModuleList(
            [LayerOfThreeDropouts(*sizes) for _ in range(num_layers)]
        )
        self.generator = nn.Linear(d_model, tgt_vocab)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)


@BANK.right("Transformer")
class ModelWithACausalMaskAlone(Outline):
    """Padding stands at the end of the target, so the causal mask hides it from real words."""

    def encode(self, src):
        x = self.positional_encoding(math.sqrt(self.d_model) * self.src_embedding(src))
        for block in self.encoder_layers:
            x = block(x, (src != self.pad_id)[:, None, None])
        return x

    def decode(self, tgt, memory, src):
        x = self.positional_encoding(math.sqrt(self.d_model) * self.tgt_embedding(tgt))
        for block in self.decoder_layers:
            x = block(
                x, memory, masks.causal_mask(tgt.shape[1]), (src != self.pad_id)[:, None, None]
            )
        return self.generator(x)


@BANK.right("Transformer")
class ModelThatAlsoMasksTheRowsOfPads(Outline):
    def encode(self, src):
        real = src != self.pad_id
        mask = (real[:, :, None] & real[:, None, :]).unsqueeze(1)  # (B, 1, S, S)
        x = self.positional_encoding(self.src_embedding(src) * self.d_model**0.5)
        for block in self.encoder_layers:
            x = block(x, mask)
        return x.masked_fill(~real.unsqueeze(-1), 0.0)

    def decode(self, tgt, memory, src):
        x = self.positional_encoding(self.tgt_embedding(tgt) * self.d_model**0.5)
        real = tgt != self.pad_id
        mask = masks.decoder_mask(tgt, self.pad_id) & real[:, None, :, None]
        memory_mask = (real[:, :, None] & (src != self.pad_id)[:, None, :]).unsqueeze(1)
        for block in self.decoder_layers:
            x = block(x, memory, mask, memory_mask)
        return self.generator(x)


class OwnPositions(nn.Module):
    """Sinusoids, computed anew at each call in the dtype of the words."""

    def __init__(self, p, max_len):
        super().__init__()
        self.p, self.max_len = p, max_len

    def forward(self, x):
        length, width = x.shape[1:]
        if length > self.max_len:
            raise ValueError(f"{length} > {self.max_len}")
        columns = torch.arange(width)
        rates = 10000 ** (-(columns - columns % 2).to(x.dtype) / width)
        angles = torch.arange(length, dtype=x.dtype).unsqueeze(1) * rates
        table = torch.where(columns % 2 == 0, angles.sin(), angles.cos())
        return F.dropout(x + table, self.p, self.training)


@BANK.right("Transformer")
class ModelWithItsOwnPositions(ModelWithACausalMaskAlone):
    def __init__(self, *arguments, dropout=0.1, max_len=128, pad_id=0):
        super().__init__(*arguments, dropout=dropout, max_len=max_len, pad_id=pad_id)
        self.positional_encoding = OwnPositions(dropout, max_len)


@BANK.right("Transformer")
class ModelWithATrianglesOfInfinities(Outline):
    """One method for both sides, and masks made by PyTorch's helper."""

    def run(self, ids, embedding, stack, *others):
        x = embedding(ids)
        x = self.positional_encoding(x * x.new_tensor(self.d_model).sqrt())
        for block in stack:
            x = block(x, *others)
        return x

    def encode(self, src):
        return self.run(src, self.src_embedding, self.encoder_layers, self.visible(src))

    def decode(self, tgt, memory, src):
        triangle = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1]) == 0
        others = memory, triangle & self.visible(tgt), self.visible(src)
        return self.generator(self.run(tgt, self.tgt_embedding, self.decoder_layers, *others))

    def visible(self, ids):
        return ids.ne(self.pad_id).unsqueeze(1).unsqueeze(2)


@BANK.right("Transformer")
class ModelThatChecksItsLengths(Outline):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        table = positional_encoding(self.max_len, self.d_model)
        dropout = self.positional_encoding.dropout
        self.positional_encoding = nn.Module()
        self.positional_encoding.dropout = dropout
        self.positional_encoding.register_buffer("pe", table.unsqueeze(0))

    def start(self, ids, embedding):
        if ids.size(1) > self.max_len:
            raise ValueError("too long")
        x = embedding(ids) * math.sqrt(embedding.embedding_dim)
        pe = self.positional_encoding.pe[:, : ids.size(1)].to(x.dtype)
        return self.positional_encoding.dropout(x + pe)

    def encode(self, src):
        x = self.start(src, self.src_embedding)
        for i in range(len(self.encoder_layers)):
            x = self.encoder_layers[i](x, masks.padding_mask(src, self.pad_id))
        return x

    def decode(self, tgt, memory, src):
        x = self.start(tgt, self.tgt_embedding)
        for i in range(len(self.decoder_layers)):
            x = self.decoder_layers[i](
                x,
                memory,
                self_mask=masks.decoder_mask(tgt, self.pad_id),
                memory_mask=masks.padding_mask(src, self.pad_id),
            )
        return F.linear(x, self.generator.weight, self.generator.bias)


@BANK.right("Transformer")
class ModelByEinsum(ModelThatChecksItsLengths):
    def __init__(self, src_vocab, tgt_vocab, d_model, heads, n, d_ff, dropout=0.1, *rest, **more):
        super().__init__(src_vocab, tgt_vocab, d_model, heads, n, d_ff, dropout, *rest, **more)
        self.decoder_layers = nn.ModuleList(
            LayerByEinsum(d_model, heads, d_ff, dropout) for _ in range(n)
        )


class Assembled(transformer.Transformer):
    """The right model, to be spoilt."""


@BANK.wrong("Transformer", named="the future leaks")
class ModelWithPaddingMasksOnly(ModelWithATrianglesOfInfinities):
    def decode(self, tgt, memory, src):
        others = memory, self.visible(tgt), self.visible(src)
        return self.generator(self.run(tgt, self.tgt_embedding, self.decoder_layers, *others))


@BANK.wrong("Transformer", named="embeddings not scaled")
class ModelWithQuietWords(ModelThatChecksItsLengths):
    def start(self, ids, embedding):
        if ids.size(1) > self.max_len:
            raise ValueError("too long")
        return self.positional_encoding.dropout(
            embedding(ids) + self.positional_encoding.pe[:, : ids.size(1)].to(embedding.weight)
        )


@BANK.wrong("Transformer", named="softmax before the loss")
class ModelThatEndsInASoftmax(ModelWithACausalMaskAlone):
    def decode(self, tgt, memory, src):
        return F.softmax(super().decode(tgt, memory, src), dim=-1)


@BANK.wrong("Transformer")
class ModelWithLayersInAPythonList(Outline):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        for name in ("encoder_layers", "decoder_layers"):
            stack = list(getattr(self, name))
            delattr(self, name)
            setattr(self, name, stack)

    encode = ModelWithACausalMaskAlone.encode
    decode = ModelWithACausalMaskAlone.decode


@BANK.wrong("Transformer", named="one layer repeated")
class ModelWithOneLayerTimesN(ModelWithACausalMaskAlone):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        n = len(self.encoder_layers)
        self.encoder_layers = nn.ModuleList(list(self.encoder_layers[:1]) * n)
        self.decoder_layers = nn.ModuleList(list(self.decoder_layers[:1]) * n)


@BANK.wrong("Transformer")
class ModelWithAnotherDefaultDropout(ModelWithACausalMaskAlone):
    def __init__(self, *arguments, dropout=0.2, **keywords):
        super().__init__(*arguments, dropout=dropout, **keywords)


@BANK.wrong("Transformer")
class ModelWithoutDropoutUnlessAskedFor(Assembled):
    def __init__(self, *arguments, dropout=0.0, **keywords):
        super().__init__(*arguments, dropout=dropout, **keywords)


@BANK.wrong("Transformer")
class ModelWithSourcesAndTargetsExchanged(Assembled):
    def decode(self, tgt, memory, src):
        return super().decode(src, memory, tgt)


@BANK.wrong("Transformer", named="source and target exchanged in forward")
class ModelThatReadsTargetsFirst(Assembled):
    def forward(self, tgt, src):
        return super().forward(src, tgt)


@BANK.wrong("Transformer")
class ModelThatShiftsOnceMore(Assembled):
    def decode(self, tgt, memory, src):
        return super().decode(masks.shift_right(tgt, 1), memory, src)


@BANK.wrong("Transformer")
class ModelThatDropsTwice(Assembled):
    def _embed(self, embedding, ids, start=0):
        x = F.dropout(embedding(ids), 0.1, self.training)
        return self.positional_encoding(x * math.sqrt(self.d_model), start)


@BANK.wrong("Transformer", named="dropout taken and not kept")
class ModelWithDefaultDropout(Assembled):
    def __init__(self, *arguments, dropout=0.1, **keywords):
        super().__init__(*arguments, **keywords)


@BANK.wrong("Transformer")
class ModelScaledByTheNumberOfHeads(Assembled):
    def _embed(self, embedding, ids, start=0):
        return self.positional_encoding(embedding(ids) * math.sqrt(3), start)


@BANK.wrong("Transformer", named="embeddings multiplied by d_model")
class ModelScaledByTheWidth(Assembled):
    def _embed(self, embedding, ids, start=0):
        return self.positional_encoding(embedding(ids) * self.d_model, start)


@BANK.wrong("Transformer")
class ModelWithPositionsInEveryLayer(ModelWithACausalMaskAlone):
    def encode(self, src):
        x = math.sqrt(self.d_model) * self.src_embedding(src)
        for block in self.encoder_layers:
            x = block(self.positional_encoding(x), (src != self.pad_id)[:, None, None])
        return x


@BANK.wrong("Transformer")
class ModelWithPositionsOfTheBatch(Assembled):
    def _embed(self, embedding, ids, start=0):
        x = embedding(ids) * math.sqrt(self.d_model)
        return self.positional_encoding(x.transpose(0, 1)).transpose(0, 1)


@BANK.wrong("Transformer")
class ModelWithLearnedPositions(Outline):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.positional_encoding = nn.Embedding(self.max_len, self.d_model)

    def start(self, ids, embedding):
        places = torch.arange(ids.shape[1])
        return embedding(ids) * math.sqrt(self.d_model) + self.positional_encoding(places)

    encode = ModelThatChecksItsLengths.encode
    decode = ModelThatChecksItsLengths.decode


@BANK.wrong("Transformer")
class ModelForOneLayer(Assembled):
    def encode(self, src):
        x = self._embed(self.src_embedding, src)
        return self.encoder_layers[0](x, masks.padding_mask(src, self.pad_id))


@BANK.wrong("Transformer", named="argument max_len not kept")
class ModelThatForgetsItsMaxLen(Assembled):
    def __init__(self, *arguments, max_len=128, **keywords):
        super().__init__(*arguments, **keywords)


@BANK.wrong("Transformer")
class ModelThatCutsWhatIsTooLong(Assembled):
    def _embed(self, embedding, ids, start=0):
        return super()._embed(embedding, ids[:, : len(self.positional_encoding.pe)], start)


@BANK.wrong("Transformer")
class ModelThatAssertsItsLengths(Assembled):
    def _embed(self, embedding, ids, start=0):
        assert ids.shape[1] <= len(self.positional_encoding.pe), "too long"
        return super()._embed(embedding, ids, start)


@BANK.wrong("Transformer")
class ModelWithADetachedMemory(Assembled):
    def encode(self, src):
        return super().encode(src).detach()


@BANK.wrong("Transformer")
class ModelInFloat32Only(Assembled):
    def decode(self, tgt, memory, src):
        return super().decode(tgt, memory, src).float()


@BANK.wrong("Transformer")
class ModelThatEncodesWithoutGradients(Assembled):
    def encode(self, src):
        with torch.no_grad():
            return super().encode(src)


@BANK.wrong("Transformer")
class ModelThatReturnsItsMemoryToo(Assembled):
    def forward(self, src, tgt):
        memory = self.encode(src)
        return self.decode(tgt, memory, src), memory


@BANK.wrong("Transformer")
class ModelWithoutBiasOnTop(Assembled):
    def __init__(self, src_vocab, tgt_vocab, d_model, *arguments, **keywords):
        super().__init__(src_vocab, tgt_vocab, d_model, *arguments, **keywords)
        self.generator = nn.Linear(d_model, tgt_vocab, bias=False)


@BANK.wrong("Transformer")
class ModelWithOneTableForBoth(Assembled):
    def __init__(self, src_vocab, tgt_vocab, *arguments, **keywords):
        super().__init__(max(src_vocab, tgt_vocab), tgt_vocab, *arguments, **keywords)
        self.tgt_embedding = self.src_embedding


@BANK.wrong("Transformer")
class ModelThatTakesTheSourcesMaskForTargets(Assembled):
    def decode(self, tgt, memory, src):
        mask = masks.padding_mask(src, self.pad_id)
        x = self._embed(self.tgt_embedding, tgt)
        for block in self.decoder_layers:
            x = block(x, memory, mask, mask)
        return self.generator(x)


# ----------------------------------------------------------------------------- greedy_decode


@BANK.right("greedy_decode")
def decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory = model.encode(src)
        ids = torch.full((src.size(0), 1), bos_id, dtype=torch.long)
        for _ in range(max_len - 1):
            best = model.decode(ids, memory, src)[:, -1, :].argmax(-1)
            best[(ids == eos_id).any(dim=1)] = model.pad_id
            ids = torch.cat((ids, best[:, None]), dim=1)
            if (ids == eos_id).any(dim=1).all():
                break
    return ids


@BANK.right("greedy_decode")
def decoded_one_sentence_at_a_time(model, src, bos_id, eos_id, max_len):
    before = [(module, module.training) for module in model.modules()]
    model.train(False)
    rows = []
    for b in range(len(src)):
        row, memory = [bos_id], model.encode(src[b : b + 1])
        while row[-1] != eos_id and len(row) < max_len:
            logits = model.decode(torch.tensor([row]), memory, src[b : b + 1])
            row.append(int(logits[0, -1].log_softmax(-1).argmax()))
        rows.append(row)
    for module, training in before:
        module.training = training
    width = max(map(len, rows))
    return torch.tensor([row + [model.pad_id] * (width - len(row)) for row in rows])


@BANK.right("greedy_decode")
def decoded_into_a_table(model, src, bos_id, eos_id, max_len):
    """The whole table goes in each time: what stands behind position t has no effect on it."""
    with evaluating(model):
        memory = model.encode(src)
        ids = torch.full((len(src), max_len), model.pad_id)
        ids[:, 0] = bos_id
        going_on, length = torch.ones(len(src), dtype=torch.bool), 1
        while length < max_len and going_on.any():
            words = model.decode(ids, memory, src)[:, length - 1].topk(1).indices[:, 0]
            ids[going_on, length] = words[going_on]
            going_on &= words != eos_id
            length += 1
    return ids[:, :length]


@BANK.right("greedy_decode")
@torch.no_grad()
def decoded_by_a_copy(model, src, bos_id, eos_id, max_len):
    model = copy.deepcopy(model).eval()
    memory, columns = model.encode(src), [src.new_full((len(src),), bos_id)]
    ended = torch.zeros(len(src)).bool()
    while True:
        if len(columns) == max_len or ended.all():
            return torch.stack(columns, dim=1)
        scores = model.decode(torch.stack(columns, dim=1), memory, src)
        word = torch.where(ended, model.pad_id, scores[:, -1].softmax(-1).max(-1).indices)
        ended = ended.logical_or(word.eq(eos_id))
        columns.append(word)


@BANK.right("greedy_decode")
def decoded_for_rows_that_go_on(model, src, bos_id, eos_id, max_len, device=None):
    """Rows that have ended are not decoded any further."""
    modes = {name: module.training for name, module in model.named_modules()}
    try:
        for module in model.modules():
            module.training = False
        with torch.inference_mode():
            memory = model.encode(src)
            ids = torch.full((len(src), 1), bos_id, dtype=torch.int64, device=device)
            rows = torch.arange(len(src))
            while len(rows) and ids.shape[1] < max_len:
                column = torch.full((len(src), 1), model.pad_id)
                words = model.decode(ids[rows], memory[rows], src[rows])[:, -1:].argmax(-1)
                column[rows] = words
                ids = torch.hstack([ids, column])
                rows = rows[words[:, 0] != eos_id]
        return ids.clone()
    finally:
        for name, module in model.named_modules():
            module.training = modes[name]


@BANK.wrong("greedy_decode", named="decoding in train mode")
def decoded_as_it_stands(model, src, bos_id, eos_id, max_len):
    memory = model.encode(src)
    ids = src.new_full((len(src), 1), bos_id)
    for _ in range(max_len - 1):
        best = model.decode(ids, memory, src)[:, -1].argmax(-1)
        best[(ids == eos_id).any(dim=1)] = model.pad_id
        ids = torch.cat((ids, best[:, None]), dim=1)
        if (ids == eos_id).any(dim=1).all():
            break
    return ids


@BANK.wrong("greedy_decode")
def decoded_and_left_in_eval_mode(model, src, bos_id, eos_id, max_len):
    model.eval()
    return decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)


@BANK.wrong("greedy_decode")
def decoded_and_all_woken_up(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)
    model.train()
    return ids


@BANK.wrong("greedy_decode")
def decoded_and_the_models_own_mode_given_to_all(model, src, bos_id, eos_id, max_len):
    training = model.training
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)
    model.train(training)
    return ids


@BANK.wrong("greedy_decode", named="decoding in train mode")
def decoded_with_only_the_model_itself_in_eval_mode(model, src, bos_id, eos_id, max_len):
    training, model.training = model.training, False
    ids = decoded_as_it_stands(model, src, bos_id, eos_id, max_len)
    model.training = training
    return ids


@BANK.wrong("greedy_decode", named="finished rows keep growing")
def decoded_without_padding(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        for _ in range(max_len - 1):
            words = model.decode(ids, memory, src)[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, words], dim=1)
            if (ids == eos_id).any(dim=1).all():
                break
    return ids


@BANK.wrong("greedy_decode", named="waits until all rows end in one column")
def decoded_until_all_end_in_the_same_column(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        while ids.shape[1] < max_len and not (ids[:, -1] == eos_id).all():
            words = model.decode(ids, memory, src)[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, words], dim=1)
    return ids


@BANK.wrong("greedy_decode")
def decoded_at_random(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len and not ended.all():
            chances = model.decode(ids, memory, src)[:, -1].softmax(-1)
            words = torch.multinomial(chances, 1)[:, 0].masked_fill(ended, model.pad_id)
            ids = torch.cat([ids, words[:, None]], dim=1)
            ended |= words == eos_id
    return ids


@BANK.wrong("greedy_decode", named="all rows read the first source")
def decoded_for_the_first_row(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src[:1], bos_id, eos_id, max_len)
    return ids.expand(len(src), -1)


@BANK.wrong("greedy_decode")
def decoded_until_the_first_row_ends(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)
    ends = (ids[0] == eos_id).nonzero()
    return ids[:, : int(ends[0]) + 1] if len(ends) else ids


@BANK.wrong("greedy_decode")
def decoded_to_lists(*arguments):
    return decoded_with_the_courses_context(*arguments).tolist()


@BANK.wrong("greedy_decode")
def decoded_to_floats(*arguments):
    return decoded_with_the_courses_context(*arguments).float()


@BANK.wrong("greedy_decode")
def decoded_with_logits_beside(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)
    with evaluating(model):
        return ids, model.decode(ids, model.encode(src), src)


@BANK.wrong("greedy_decode")
def decoded_with_exchanged_arguments(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        ids = torch.full((len(src), 1), bos_id)
        return torch.cat([ids, model.decode(src, model.encode(src), ids).argmax(-1)], dim=1)


@BANK.wrong("greedy_decode")
def decoded_longer_and_cut(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len + 5)
    return ids[:, :max_len]


@BANK.wrong("greedy_decode")
def decoded_to_the_limit_and_cut(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len:
            words = (
                model.decode(ids, memory, src)[:, -1].argmax(-1).masked_fill(ended, model.pad_id)
            )
            ids = torch.cat([ids, words[:, None]], dim=1)
            ended |= words == eos_id
    return ids[:, : int((ids != model.pad_id).sum(dim=1).max())]


@BANK.wrong("greedy_decode")
def decoded_to_a_counted_answer(model, src, bos_id, eos_id, max_len):
    return torch.tensor([[1, 3, 4, 5, 2], [1, 3, 4, 2, 0]])


@BANK.wrong("greedy_decode")
def decoded_with_the_source_overwritten(model, src, bos_id, eos_id, max_len):
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id, max_len)
    src.fill_(model.pad_id)
    return ids


@BANK.wrong("greedy_decode", named="EOS ignored")
def decoded_with_one_special_word_less(model, src, bos_id, eos_id, max_len):
    """A word 0 is taken for nothing."""
    ids = decoded_with_the_courses_context(model, src, bos_id, eos_id or -1, max_len)
    return ids


# ------------------------------------------------------------- found by reading with fresh eyes


@BANK.wrong("DecoderLayer")
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


@BANK.wrong("Transformer")
class ModelThatTakesTheTargetWordZeroForPadding(transformer.Transformer):
    def decode(self, tgt, memory, src):
        x = self._embed(self.tgt_embedding, tgt)
        for layer in self.decoder_layers:
            memory_mask = masks.padding_mask(src, self.pad_id)
            x = layer(x, memory, masks.decoder_mask(tgt), memory_mask)
        return self.generator(x)


@BANK.wrong("Transformer")
class ModelThatRefusesASourceOfMaxLen(transformer.Transformer):
    def encode(self, src):
        if src.shape[1] >= self.positional_encoding.pe.shape[-2]:
            raise ValueError("the source is too long")
        return super().encode(src)


@BANK.wrong("Transformer")
class ModelWithAnotherDefaultPadding(transformer.Transformer):
    def __init__(self, *sizes, dropout=0.1, max_len=128, pad_id=1):
        super().__init__(*sizes, dropout, max_len, pad_id)


@BANK.right("greedy_decode")
def greedy_decode_on_the_rows_that_go_on(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        ids = torch.full((len(src), max_len), model.pad_id)
        ids[:, 0] = bos_id
        going, length = torch.arange(len(src)), 1
        while length < max_len and len(going):
            memory = model.encode(src[going])
            logits = model.decode(ids[going, :length], memory, src[going])
            best = logits[:, -1].topk(1).indices[:, 0]
            ids[going, length] = best
            going, length = going[best != eos_id], length + 1
    return ids[:, :length]


@BANK.wrong("greedy_decode", named="a row ended by padding")
def greedy_decode_that_ends_at_padding(model, src, bos_id, eos_id, max_len):
    ids = transformer.greedy_decode(model, src, bos_id, eos_id, max_len)
    ended = (ids == model.pad_id).cumsum(dim=1) > 0
    return ids.masked_fill(ended, model.pad_id)


@BANK.wrong("greedy_decode")
def greedy_decode_that_never_writes_bos(model, src, bos_id, eos_id, max_len):
    with evaluating(model):
        memory = model.encode(src)
        ids = src.new_full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len and not ended.all():
            logits = model.decode(ids, memory, src)[:, -1].clone()
            logits[:, bos_id] = -math.inf
            best = logits.argmax(dim=-1).masked_fill(ended, model.pad_id)
            ids = torch.cat([ids, best.unsqueeze(1)], dim=1)
            ended = ended | (best == eos_id)
    return ids


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


@BANK.wrong("Transformer", named="a residual connection around each layer")
class ModelWithResidualsAroundLayers(transformer.Transformer):
    def encode(self, src):
        x = self._embed(self.src_embedding, src)
        for layer in self.encoder_layers:
            x = x + layer(x, masks.padding_mask(src, self.pad_id))
        return x

    def decode(self, tgt, memory, src):
        x = self._embed(self.tgt_embedding, tgt)
        seen = masks.decoder_mask(tgt, self.pad_id), masks.padding_mask(src, self.pad_id)
        for layer in self.decoder_layers:
            x = x + layer(x, memory, *seen)
        return self.generator(x)
