"""Answers to `CausalLanguageModel`."""

import torch
from torch import nn
from torch.nn import functional as F

from assignments.a10_language_models.answers.bank import BANK
from course_utils.attention import MultiHeadAttention
from course_utils.layers import PositionwiseFeedForward, TransformerLayer
from course_utils.masks import causal_mask
from course_utils.positional import PositionalEncoding, positional_encoding

PART = "CausalLanguageModel"


class Base(nn.Module):
    """What most answers here have in common."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__()
        self.max_len = max_len
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            [TransformerLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]
        )

    def check(self, token_ids):
        T = token_ids.shape[1]
        if self.max_len < T:
            raise ValueError(f"at most {self.max_len} tokens, got {T}")

    def begin(self, token_ids):
        self.check(token_ids)
        places = self.position_embedding.weight[: token_ids.shape[1]]
        return self.drop(self.embedding(token_ids) + places)

    def run(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def end(self, x):
        return x @ self.embedding.weight.T

    def forward(self, token_ids):
        return self.end(self.run(self.begin(token_ids), causal_mask(token_ids.shape[1])))


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
class WithTiedLinear(Base):
    """A linear map whose weight is the embedding's."""

    def __init__(self, vocab_size, d_model, *sizes, **options):
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.head.weight = self.embedding.weight

    def end(self, x):
        return self.head(x)


@BANK.right(PART)
class WithFunctionalLinear(Base):
    """`F.linear` and a mask of four axes."""

    def forward(self, token_ids):
        T = token_ids.size(1)
        mask = torch.ones(1, 1, T, T, dtype=torch.bool).tril()
        return F.linear(self.run(self.begin(token_ids), mask), self.embedding.weight)


@BANK.right(PART)
class WithABuffer(Base):
    """The mask is made once, and cut to the length."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.register_buffer("seen", torch.ones(self.max_len, self.max_len).tril() == 1)

    def forward(self, token_ids):
        x, T = self.begin(token_ids), token_ids.shape[1]
        return torch.einsum("btd,vd->btv", self.run(x, self.seen[:T, :T]), self.embedding.weight)


class OwnLayer(nn.Module):
    """A post-LN layer under the names of the course."""

    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.layer_norm1, self.layer_norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, mask)[0]))
        return self.layer_norm2(x + self.dropout(self.feed_forward(x)))


@BANK.right(PART)
class WithOwnLayers(Base):
    """Own layers, and an attribute for each size."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__(vocab_size, d_model, num_heads, 0, d_ff, dropout, max_len)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(OwnLayer(d_model, num_heads, d_ff, dropout))


class Masked(nn.Module):
    """A layer that makes the mask itself, so that it fits into `nn.Sequential`."""

    def forward(self, x):
        return TransformerLayer.forward(self, x, causal_mask(x.shape[1]))


class MaskedLayer(Masked, TransformerLayer):
    """The layer of the course with the mask in it."""


@BANK.right(PART)
class InASequential(Base):
    """The layers as `nn.Sequential`."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__(vocab_size, d_model, num_heads, 0, d_ff, dropout, max_len)
        made = [MaskedLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]
        self.layers = nn.Sequential(*made)

    def run(self, x, mask):
        return self.layers(x)


@BANK.right(PART)
class WithFunctionalDropout(Base):
    """Dropout as a function, small initial weights, positions by name."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__(vocab_size, d_model, num_heads, num_layers, d_ff, dropout, max_len)
        self.rate = dropout
        for table in (self.embedding, self.position_embedding):
            nn.init.normal_(table.weight, std=0.02)

    def begin(self, token_ids):
        B, T = token_ids.shape
        if T > self.position_embedding.num_embeddings:
            raise ValueError(f"{T} > {self.position_embedding.num_embeddings}")
        places = torch.arange(T).expand(B, T)
        x = self.position_embedding(places) + self.embedding(token_ids)
        return F.dropout(x, self.rate, self.training)


@BANK.right(PART)
class RowByRow(Base):
    """One beginning after the other, and of each the last row alone."""

    def forward(self, token_ids):
        x, rows = self.begin(token_ids), []
        for t in range(1, x.shape[1] + 1):
            own = self.run(x[:, :t], causal_mask(t))
            rows.append(self.end(own[:, -1]))
        return torch.stack(rows, dim=1)


@BANK.right(PART)
class WithOneHotIds(Base):
    """Ids as one-hot rows times the table."""

    def begin(self, token_ids):
        T = token_ids.shape[1]
        if self.max_len < T:
            raise ValueError(f"{T} tokens, and only {self.max_len} places")
        table = self.embedding.weight
        words = F.one_hot(token_ids, len(table)).to(table.dtype) @ table
        return self.drop(words + self.position_embedding(torch.arange(T))[None])


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART, named="no mask")
class SeesEverything(Base):
    def forward(self, token_ids):
        return self.end(self.run(self.begin(token_ids), None))


@BANK.wrong(PART, named="mask leaks by one")
class OneWordAhead(Base):
    def forward(self, token_ids):
        T = token_ids.shape[1]
        mask = torch.arange(T) <= torch.arange(T)[:, None] + 1
        return self.end(self.run(self.begin(token_ids), mask))


@BANK.wrong(PART, named="word itself hidden")
class BlindToItself(Base):
    def forward(self, token_ids):
        T = token_ids.shape[1]
        mask = torch.arange(T) < torch.arange(T)[:, None]
        return self.end(self.run(self.begin(token_ids), mask))


@BANK.wrong(PART, named="mask turned round")
class MaskOfPyTorchsLayers(Base):
    """True hides, as in `nn.TransformerEncoderLayer`, and not in this course."""

    def forward(self, token_ids):
        T = token_ids.shape[1]
        mask = torch.ones(T, T, dtype=torch.bool).triu(1)
        return self.end(self.run(self.begin(token_ids), mask))


@BANK.wrong(PART, named="mask in the first layer only")
class FirstLayerMasked(Base):
    def run(self, x, mask):
        for number, layer in enumerate(self.layers):
            x = layer(x) if number else layer(x, mask)
        return x


@BANK.wrong(PART, named="id 0 taken for padding")
class ZeroIsPadding(Base):
    def forward(self, token_ids):
        mask = causal_mask(token_ids.shape[1]) & token_ids.ne(0)[:, None, None]
        return self.end(self.run(self.begin(token_ids), mask))


@BANK.wrong(PART, told=("wrong gradient", "wrong about gradients"))
class ZeroHasNoVector(Base):
    """With `padding_idx` the word 0 gets no gradient."""

    def __init__(self, vocab_size, d_model, *sizes, **options):
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.embedding = nn.Embedding(vocab_size, d_model, padding_idx=0)


@BANK.wrong(PART, named="embedding times √d_model")
class TimesTheRoot(Base):
    def begin(self, token_ids):
        T = token_ids.shape[1]
        if self.max_len < T:
            raise ValueError("too long")
        x = self.embedding(token_ids) * self.embedding.weight.shape[1] ** 0.5
        return self.drop(x + self.position_embedding.weight[:T])


@BANK.wrong(PART, named="no positions")
class WithoutPositions(Base):
    def begin(self, token_ids):
        self.check(token_ids)
        return self.drop(self.embedding(token_ids))


@BANK.wrong(PART, named="sinusoids for positions")
class SinusoidsAdded(Base):
    def begin(self, token_ids):
        self.check(token_ids)
        x = self.embedding(token_ids)
        return self.drop(x + positional_encoding(*x.shape[1:]).to(x.dtype))


@BANK.wrong(PART, named="sinusoids for positions")
class TheCoursesModule(Base):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__(vocab_size, d_model, num_heads, num_layers, d_ff, dropout, max_len)
        self.places = PositionalEncoding(d_model, dropout, max_len)

    def begin(self, token_ids):
        self.check(token_ids)
        return self.places(self.embedding(token_ids))


@BANK.wrong(PART, named="positions counted from 1")
class FromPlaceOne(Base):
    def begin(self, token_ids):
        T = token_ids.shape[1]
        if self.max_len < T:
            raise ValueError("too long")
        x = self.embedding(token_ids) + self.position_embedding(torch.arange(1, T + 1))
        return self.drop(x)


@BANK.wrong(PART)
class OutputOfItsOwn(Base):
    """An output map that is not tied."""

    def __init__(self, vocab_size, d_model, *sizes, **options):
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.out = nn.Linear(d_model, vocab_size, bias=False)

    def end(self, x):
        return self.out(x)


@BANK.wrong(PART, told="wrong about what a new module holds")
class OutputWithABias(Base):
    def __init__(self, vocab_size, d_model, *sizes, **options):
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.out_bias = nn.Parameter(torch.zeros(vocab_size))

    def end(self, x):
        return super().end(x) + self.out_bias


@BANK.wrong(PART)
class EmbeddingCopiedOnce(Base):
    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.register_buffer("table", self.embedding.weight.detach().clone())

    def end(self, x):
        return x @ self.table.T


@BANK.wrong(PART, told=("wrong gradient", "wrong about gradients"))
class OutputCutOffFromTheTable(Base):
    """Tied in value; the gradient reaches the table through the input alone."""

    def end(self, x):
        return x @ self.embedding.weight.detach().T


@BANK.wrong(PART, named="log softmax of the logits")
class LogProbabilities(Base):
    def end(self, x):
        return F.log_softmax(super().end(x), dim=-1)


@BANK.wrong(PART, named="softmax of the logits")
class Probabilities(Base):
    def end(self, x):
        return super().end(x).softmax(-1)


@BANK.wrong(PART, named="last place only")
class LastRowAlone(Base):
    def end(self, x):
        return super().end(x[:, -1])


@BANK.wrong(PART, named="one layer repeated")
class OneLayerManyTimes(Base):
    def run(self, x, mask):
        for _ in self.layers:
            x = self.layers[-1](x, mask) if len(self.layers) == 1 else self.layers[0](x, mask)
        return x


@BANK.wrong(PART, named="one layer repeated")
class TheSameLayerInTheList(Base):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__(vocab_size, d_model, num_heads, num_layers, d_ff, dropout, max_len)
        self.number = num_layers

    def run(self, x, mask):
        for _ in range(self.number):
            x = self.layers[0](x, mask)
        return x


@BANK.wrong(PART, named="a norm after the last layer")
class NormAtTheEnd(Base):
    def end(self, x):
        return super().end(F.layer_norm(x, [x.shape[-1]]))


class PreNorm(OwnLayer):
    """The norm before each sublayer."""

    def forward(self, x, mask):
        y = self.layer_norm1(x)
        x = x + self.dropout(self.self_attn(y, y, y, mask)[0])
        return x + self.dropout(self.feed_forward(self.layer_norm2(x)))


@BANK.wrong(PART, named="layers before the norm")
class LayersOfToday(Base):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__(vocab_size, d_model, num_heads, 0, d_ff, dropout, max_len)
        self.layers = nn.ModuleList(
            PreNorm(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )


@BANK.wrong(PART, named="no dropout on the sum")
class SumUndropped(Base):
    def begin(self, token_ids):
        rate, self.drop.p = self.drop.p, 0.0
        x = super().begin(token_ids)
        self.drop.p = rate
        return x


@BANK.wrong(PART, named="dropout on the words alone")
class WordsDropped(Base):
    def begin(self, token_ids):
        T = token_ids.shape[1]
        if self.max_len < T:
            raise ValueError("too long")
        return self.drop(self.embedding(token_ids)) + self.position_embedding.weight[:T]


@BANK.wrong(PART, named=("dropout not handed on", "`dropout` not handed on to `layers`"))
class DropoutKeptToItself(Base):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__(vocab_size, d_model, num_heads, 0, d_ff, dropout, max_len)
        self.layers = nn.ModuleList(
            [TransformerLayer(d_model, num_heads, d_ff) for _ in range(num_layers)]
        )


@BANK.wrong(PART, named="no ValueError beyond max_len")
class IndexErrorBeyond(Base):
    def begin(self, token_ids):
        places = self.position_embedding(torch.arange(token_ids.shape[1]))
        return self.drop(self.embedding(token_ids) + places)


@BANK.wrong(PART, named="cut off in silence")
class CutToFit(Base):
    def forward(self, token_ids):
        return super().forward(token_ids[:, : self.max_len])


@BANK.wrong(PART, named="max_len itself refused")
class OneTokenTooStrict(Base):
    def begin(self, token_ids):
        if token_ids.shape[1] >= self.max_len:
            raise ValueError(f"fewer than {self.max_len} tokens")
        return super().begin(token_ids)


@BANK.wrong(PART, told="some rows right")
class RemembersTheSum(Base):
    """What enters the layers is computed once for each shape."""

    def begin(self, token_ids):
        self.kept = getattr(self, "kept", {})
        if token_ids.shape not in self.kept:
            self.kept[token_ids.shape] = super().begin(token_ids)
        return self.kept[token_ids.shape]


@BANK.wrong(PART, told=("too short or too long", "wrong after another call"))
class RemembersTheFirstLength(Base):
    """The mask and the places of the first sentences hold for all that follow."""

    def begin(self, token_ids):
        self.length = getattr(self, "length", token_ids.shape[1])
        return super().begin(token_ids[:, : self.length])

    def run(self, x, mask):
        self.seen = getattr(self, "seen", mask)
        return super().run(x, self.seen)


@BANK.wrong(PART, told="stops with ValueError")
class MaskOfAHundredPlaces(Base):
    def forward(self, token_ids):
        T = token_ids.shape[1]
        mask = causal_mask(100)[..., :T, :T]
        return self.end(self.run(self.begin(token_ids), mask))


@BANK.wrong(PART, told="right in part")
class ThreeHeadsAlways(Base):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, *rest, **options):
        super().__init__(vocab_size, d_model, 3, num_layers, d_ff, *rest, **options)


@BANK.wrong(PART, named="d_ff not handed on to the layers")
class LayersFourTimesAsWide(Base):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, **options):
        super().__init__(vocab_size, d_model, num_heads, num_layers, 4 * d_model, **options)


@BANK.wrong(PART, told="weights with other names")
class OtherNames(Base):
    def __init__(self, vocab_size, d_model, *sizes, **options):
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.token_embedding = self.embedding
        del self.embedding

    def begin(self, token_ids):
        places = self.position_embedding.weight[: token_ids.shape[1]]
        return self.drop(self.token_embedding(token_ids) + places)

    def end(self, x):
        return x @ self.token_embedding.weight.T


@BANK.wrong(PART, told=("no gradient", "wrong about gradients"))
class WithoutGradients(Base):
    def forward(self, token_ids):
        with torch.no_grad():
            return super().forward(token_ids)


@BANK.right("CausalLanguageModel")
class ModelWithATiedHead(Base):
    """A head without bias whose weight is the table, and a buffer of places."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        V, D = self.embedding.weight.shape
        self.head = nn.Linear(D, V, bias=False)
        self.head.weight = self.embedding.weight
        most = self.position_embedding.num_embeddings
        self.register_buffer("places", torch.arange(most), persistent=False)
        self.register_buffer("triangle", torch.ones(most, most, dtype=torch.bool).tril())

    def forward(self, token_ids):
        T = token_ids.size(1)
        if len(self.places) < T:
            raise ValueError(f"{T} tokens, but only {len(self.places)} places")
        x = self.drop(self.embedding(token_ids) + self.position_embedding(self.places[:T]))
        for layer in self.layers:
            x = layer(x, mask=self.triangle[:T, :T])
        return self.head(x)


@BANK.wrong("CausalLanguageModel", told="stops with ValueError")
class ModelWithAMaskOfAFixedSize(ModelWithATiedHead):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        # a longer sentence than 129 would ask too much of loops over single numbers
        self.triangle = torch.ones(128, 128, dtype=torch.bool).tril()


@BANK.wrong("CausalLanguageModel", named="words and positions dropped apart")
class ModelThatDropsBothParts(ModelWithATiedHead):
    def forward(self, token_ids):
        T = token_ids.size(1)
        if len(self.places) < T:
            raise ValueError("too long")
        words, places = self.embedding(token_ids), self.position_embedding(self.places[:T])
        x = self.drop(words) + self.drop(places)
        for layer in self.layers:
            x = layer(x, mask=self.triangle[:T, :T])
        return self.head(x)
