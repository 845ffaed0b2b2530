"""Answers to `Transformer`."""

import math
from functools import reduce

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a9_transformer.answers.bank import BANK
from assignments.a9_transformer.answers.decoder_layer import LayerByEinsum, LayerOfThreeDropouts
from course_utils import masks, transformer
from course_utils.layers import TransformerLayer
from course_utils.positional import PositionalEncoding, positional_encoding


class Outline(nn.Module):
    """The attributes that the text asks for, and nothing that is computed."""

    encoder, decoder = TransformerLayer, LayerOfThreeDropouts

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
        self.encoder_layers = nn.ModuleList([self.encoder(*sizes) for _ in range(num_layers)])
        self.decoder_layers = nn.ModuleList([self.decoder(*sizes) for _ in range(num_layers)])
        self.generator = nn.Linear(d_model, tgt_vocab)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)


@BANK.right("Transformer")
class ModelWithACausalMaskAlone(Outline):
    """Padding is at the end of the target, so the causal mask hides it from real words."""

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
    """Sinusoids, computed at each call in the dtype of the words."""

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
    def __init__(self, *arguments, dropout=0.1, max_len=128, **others):
        super().__init__(*arguments, dropout=dropout, max_len=max_len, **others)
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
    def __init__(
        self, src_vocab, tgt_vocab, d_model, num_heads, num_layers, d_ff, dropout=0.1, *rest, **more
    ):
        sizes = src_vocab, tgt_vocab, d_model, num_heads, num_layers, d_ff
        super().__init__(*sizes, dropout, *rest, **more)
        self.decoder_layers = nn.ModuleList(
            LayerByEinsum(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
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


@BANK.wrong(
    "Transformer", named="softmax before the loss", published="bowang-lab/Transformer-GCN-QA#32"
)
class ModelThatEndsInASoftmax(ModelWithACausalMaskAlone):
    """A softmax comes before the loss, which has one of its own."""

    def decode(self, tgt, memory, src):
        return F.softmax(super().decode(tgt, memory, src), dim=-1)


@BANK.wrong("Transformer", told=("weights with other names", "wrong for larger num_layers"))
class ModelWithLayersInAPythonList(Outline):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        for name in ("encoder_layers", "decoder_layers"):
            stack = list(getattr(self, name))
            delattr(self, name)
            setattr(self, name, stack)

    encode = ModelWithACausalMaskAlone.encode
    decode = ModelWithACausalMaskAlone.decode


@BANK.wrong("Transformer", named="one layer repeated", published="linkedin/Liger-Kernel#269")
class ModelWithOneLayerTimesN(ModelWithACausalMaskAlone):
    """A list times n contains the same layer n times."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        n = len(self.encoder_layers)
        self.encoder_layers = nn.ModuleList(list(self.encoder_layers[:1]) * n)
        self.decoder_layers = nn.ModuleList(list(self.decoder_layers[:1]) * n)


@BANK.wrong("Transformer", told="wrong in train mode with dropout")
class ModelWithAnotherDefaultDropout(ModelWithACausalMaskAlone):
    def __init__(self, *arguments, dropout=0.2, **keywords):
        super().__init__(*arguments, dropout=dropout, **keywords)


@BANK.wrong("Transformer", told="wrong in train mode with dropout")
class ModelWithoutDropoutUnlessAskedFor(Assembled):
    def __init__(self, *arguments, dropout=0.0, **keywords):
        super().__init__(*arguments, dropout=dropout, **keywords)


@BANK.wrong("Transformer", told="stops with IndexError")
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


@BANK.wrong("Transformer", published="EdinburghNLP/nematus#106")
class ModelThatDropsTwice(Assembled):
    """Embeddings are dropped twice."""

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


@BANK.wrong("Transformer", told="some rows right")
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


@BANK.wrong("Transformer", told="stops with IndexError")
class ModelForOneLayer(Assembled):
    def encode(self, src):
        x = self._embed(self.src_embedding, src)
        return self.encoder_layers[0](x, masks.padding_mask(src, self.pad_id))


@BANK.wrong("Transformer", named="argument max_len not kept")
class ModelThatForgetsItsMaxLen(Assembled):
    def __init__(self, *arguments, max_len=128, **keywords):
        super().__init__(*arguments, **keywords)


@BANK.wrong("Transformer", told="wrong where an error is asked for")
class ModelThatCutsWhatIsTooLong(Assembled):
    def _embed(self, embedding, ids, start=0):
        return super()._embed(embedding, ids[:, : len(self.positional_encoding.pe)], start)


@BANK.wrong("Transformer", told="wrong where an error is asked for")
class ModelThatAssertsItsLengths(Assembled):
    def _embed(self, embedding, ids, start=0):
        assert ids.shape[1] <= len(self.positional_encoding.pe), "too long"
        return super()._embed(embedding, ids, start)


@BANK.wrong("Transformer", told=("no gradient", "wrong about gradients"))
class ModelWithADetachedMemory(Assembled):
    def encode(self, src):
        return super().encode(src).detach()


@BANK.wrong("Transformer", told="another dtype")
class ModelInFloat32Only(Assembled):
    def decode(self, tgt, memory, src):
        return super().decode(tgt, memory, src).float()


@BANK.wrong("Transformer", told=("no gradient", "wrong about gradients"))
class ModelThatEncodesWithoutGradients(Assembled):
    def encode(self, src):
        with torch.no_grad():
            return super().encode(src)


@BANK.wrong("Transformer", told=("more results than asked", "wrong with `forward`"))
class ModelThatReturnsItsMemoryToo(Assembled):
    def forward(self, src, tgt):
        memory = self.encode(src)
        return self.decode(tgt, memory, src), memory


@BANK.wrong("Transformer", named="d_ff not handed on to the layers")
class ModelFourTimesAsWide(Assembled):
    def __init__(self, src, tgt, d_model, num_heads, num_layers, d_ff, *others, **keywords):
        sizes = d_model, num_heads, num_layers, 4 * d_model
        super().__init__(src, tgt, *sizes, *others, **keywords)


@BANK.wrong("Transformer", named="num_layers not used")
class ModelOfSixLayers(Assembled):
    def __init__(self, src, tgt, d_model, num_heads, num_layers, d_ff, *others, **keywords):
        super().__init__(src, tgt, d_model, num_heads, 6, d_ff, *others, **keywords)


@BANK.wrong("Transformer", named="generator without bias")
class ModelWithoutBiasOnTop(Assembled):
    def __init__(self, src_vocab, tgt_vocab, d_model, *arguments, **keywords):
        super().__init__(src_vocab, tgt_vocab, d_model, *arguments, **keywords)
        self.generator = nn.Linear(d_model, tgt_vocab, bias=False)


@BANK.wrong("Transformer", told="weights of another shape")
class ModelWithOneTableForBoth(Assembled):
    def __init__(self, src_vocab, tgt_vocab, *arguments, **keywords):
        super().__init__(max(src_vocab, tgt_vocab), tgt_vocab, *arguments, **keywords)
        self.tgt_embedding = self.src_embedding


@BANK.wrong("Transformer", told="stops with ValueError")
class ModelThatTakesTheSourcesMaskForTargets(Assembled):
    def decode(self, tgt, memory, src):
        mask = masks.padding_mask(src, self.pad_id)
        x = self._embed(self.tgt_embedding, tgt)
        for block in self.decoder_layers:
            x = block(x, memory, mask, mask)
        return self.generator(x)


@BANK.wrong("Transformer", named="target padding taken to be 0")
class ModelThatTakesTheTargetWordZeroForPadding(transformer.Transformer):
    def decode(self, tgt, memory, src):
        x = self._embed(self.tgt_embedding, tgt)
        for layer in self.decoder_layers:
            memory_mask = masks.padding_mask(src, self.pad_id)
            x = layer(x, memory, masks.decoder_mask(tgt), memory_mask)
        return self.generator(x)


@BANK.wrong("Transformer", told="stops with ValueError")
class ModelThatRefusesASourceOfMaxLen(transformer.Transformer):
    def encode(self, src):
        if src.shape[1] >= self.positional_encoding.pe.shape[-2]:
            raise ValueError("the source is too long")
        return super().encode(src)


@BANK.wrong("Transformer", told=("right in part", "wrong with several sentences"))
class ModelWithAnotherDefaultPadding(transformer.Transformer):
    def __init__(self, *sizes, dropout=0.1, max_len=128, pad_id=1):
        super().__init__(*sizes, dropout, max_len, pad_id)


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


@BANK.right("Transformer")
class ModelWithAFrozenTableOfSinusoids(Assembled):
    """The table is a parameter that is not trained."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        table = self.positional_encoding._buffers.pop("pe")
        self.positional_encoding.pe = nn.Parameter(table, requires_grad=False)


@BANK.wrong("Transformer")
class ModelWithOneTableForVocabulariesOfOneSize(Assembled):
    def __init__(self, src_vocab, tgt_vocab, *arguments, **keywords):
        super().__init__(src_vocab, tgt_vocab, *arguments, **keywords)
        if src_vocab == tgt_vocab:
            self.tgt_embedding = self.src_embedding


@BANK.wrong("Transformer", told="wrong in train mode with dropout")
class ModelThatDropsOfTheMemory(Assembled):
    def decode(self, tgt, memory, src):
        return super().decode(tgt, self.positional_encoding.dropout(memory), src)


@BANK.wrong("Transformer", named="dropout before the generator")
class ModelThatDropsBeforeTheGenerator(ModelWithACausalMaskAlone):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.generator.register_forward_pre_hook(
            lambda module, given: self.positional_encoding.dropout(given[0])
        )


@BANK.right("Transformer")
class ModelThatKeepsItsPaddingInABuffer(Outline):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        pad_id = self.__dict__.pop("pad_id")
        self.register_buffer("pad_id", torch.tensor(pad_id))
        self.register_buffer("scale", torch.sqrt(torch.FloatTensor([self.d_model])))

    def encode(self, src):
        seen = src.ne(self.pad_id)[:, None, None]
        x = self.positional_encoding(self.src_embedding(src) * self.scale)
        return reduce(lambda x, block: block(x, mask=seen), self.encoder_layers, x)

    def decode(self, tgt, memory, src):
        places = torch.arange(tgt.size(1), device=tgt.device)
        seen = (places <= places[:, None]) & tgt.ne(self.pad_id)[:, None, None]
        others = memory, seen, src.ne(self.pad_id)[:, None, None]
        x = self.positional_encoding(self.tgt_embedding(tgt) * self.scale)
        return self.generator(reduce(lambda x, block: block(x, *others), self.decoder_layers, x))


class ScaledEmbedding(nn.Embedding):
    def forward(self, ids):
        return super().forward(ids) * self.embedding_dim**0.5


@BANK.right("Transformer")
class ModelWithScaledTables(ModelWithACausalMaskAlone):
    def __init__(self, src_vocab, tgt_vocab, d_model, *arguments, **keywords):
        super().__init__(src_vocab, tgt_vocab, d_model, *arguments, **keywords)
        self.src_embedding = ScaledEmbedding(src_vocab, d_model)
        self.tgt_embedding = ScaledEmbedding(tgt_vocab, d_model)
        self.d_model = 1  # the tables know the factor


@BANK.wrong("Transformer", told="stops with ValueError")
class ModelWithAMaskOfAFixedSize(ModelWithACausalMaskAlone):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        # a longer sentence than 260 would ask too much of loops over single numbers
        self.register_buffer("triangle", torch.ones(256, 256, dtype=torch.bool).tril())

    def decode(self, tgt, memory, src):
        length, real = tgt.shape[1], (src != self.pad_id)[:, None, None]
        x = self.positional_encoding(self.tgt_embedding(tgt) * math.sqrt(self.d_model))
        for block in self.decoder_layers:
            x = block(x, memory, self.triangle[:length, :length], real)
        return self.generator(x)


@BANK.wrong("Transformer", named="each decoder layer reads the encoder layer of its number")
class ModelOfPairsOfLayers(ModelWithACausalMaskAlone):
    def forward(self, src, tgt):
        real = masks.padding_mask(src, self.pad_id)
        x, y = (
            self.positional_encoding(table(ids) * math.sqrt(self.d_model))
            for table, ids in ((self.src_embedding, src), (self.tgt_embedding, tgt))
        )
        for reads, writes in zip(self.encoder_layers, self.decoder_layers, strict=True):
            x = reads(x, real)
            y = writes(y, x, masks.causal_mask(tgt.shape[1]), real)
        return self.generator(y)


@BANK.wrong("Transformer", named="generator and target embedding share their weights")
class ModelWithATiedGenerator(ModelWithACausalMaskAlone):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.tgt_embedding.weight = self.generator.weight


@BANK.wrong("Transformer", told="another number of axes")
class ModelThatGivesWords(Assembled):
    def decode(self, tgt, memory, src):
        return super().decode(tgt, memory, src).argmax(-1)
