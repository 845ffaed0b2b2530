"""Assignment 9: the decoder layer, the whole transformer, and greedy decoding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.check import Assignment, Build, Case, Mistake, Part, Step
from autograder.checks.a8_transformer_layer import (
    layer_drops,
    one_hidden_number,
    one_loud_sublayer,
)
from autograder.compare import dropped, values_agree
from autograder.scripted import state_of
from autograder.wire import Instance
from course_utils import layers, masks, transformer
from course_utils.evaluation import evaluating

LECTURE = "../../lectures/08_transformer.ipynb"
EVERYTHING = 1 - 1e-9  # a dropout that lets nothing through, also where it divides by 1 - p
D_MODEL, HEADS, D_FF = 12, 3, 10
SUBLAYERS = {  # the last linear map of each, and what it is called
    "self_attn.w_o": "self-attention",
    "cross_attn.w_o": "cross-attention",
    "feed_forward.w_2": "the feed-forward network",
}


def layer(
    batch: int,
    queries: int,
    keys: int,
    *,
    self_mask: str = "",
    memory_mask: str = "",
    dropout: float | None = None,
    training: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Callable[..., Build]:
    """Draws a decoder layer with x (batch, queries, D), memory (batch, keys, D) and masks."""

    def draw(generator: torch.Generator) -> Build:
        x = torch.randn(batch, queries, D_MODEL, generator=generator)
        memory = torch.randn(batch, keys, D_MODEL, generator=generator)
        arguments: list[Any] = [x.to(dtype), memory.to(dtype)]
        if self_mask or memory_mask:
            arguments.append(drawn_mask(self_mask, batch, queries, queries, generator))
            arguments.append(drawn_mask(memory_mask, batch, queries, keys, generator))
        return Build(
            construct=(D_MODEL, HEADS, D_FF),
            keywords={} if dropout is None else {"dropout": dropout},
            arguments=arguments,
            training=training,
            dtype=dtype,
        )

    return draw


def drawn_mask(
    kind: str, batch: int, queries: int, keys: int, generator: torch.Generator
) -> Tensor | None:
    """A mask of one of the shapes in which masks come."""
    if not kind:
        return None
    if kind == "causal":  # (T, T)
        return torch.ones(queries, keys, dtype=torch.bool).tril()
    if kind == "two axes":  # (T, S)
        return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    if kind == "padding":  # (B, 1, 1, S)
        lengths = torch.tensor([max(1, keys - 1 - b) for b in range(batch)])
        return (torch.arange(keys) < lengths[:, None])[:, None, None, :]
    shape = (batch, HEADS if kind == "each head" else 1, queries, keys)
    mask = torch.rand(shape, generator=generator) < 0.6
    seen = torch.randint(keys, (*shape[:3], 1), generator=generator)
    mask.scatter_(3, seen, True)
    mask.scatter_(3, (seen + 1) % keys, False)
    if kind == "empty rows":  # (B, 1, T, S), one row of each sentence sees nothing
        mask[:, :, 0] = False
    return mask


def source_lengths(batch: int, length: int) -> list[int]:
    """How many real tokens each source has: the first all, each next one two fewer."""
    return [max(1, length - 2 * b) for b in range(batch)]


def target_lengths(batch: int, length: int) -> list[int]:
    """How many real tokens each target has: only batches of three are padded, by one a row."""
    return [max(1, length - b) if batch == 3 else length for b in range(batch)]


def drawn_ids(
    lengths: list[int], length: int, vocabulary: int, pad_id: int, generator: torch.Generator
) -> Tensor:
    """Ids (B, length) that are not padding up to each row's length, and padding from there on.

    Where padding is not 0, each row begins with the word 0, which must not be taken for padding.
    """
    ids = torch.randint(vocabulary - 1, (len(lengths), length), generator=generator)
    ids = ids + (ids >= pad_id)
    if pad_id != 0:
        ids[:, 0] = 0
    for row, real in zip(ids, lengths, strict=True):
        row[real:] = pad_id
    return ids


def model(
    method: str,
    batch: int,
    source: int,
    target: int,
    *,
    num_layers: int = 2,
    d_model: int = D_MODEL,
    pad_id: int = 0,
    max_len: int | None = None,
    dropout: float | None = None,
    training: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Callable[..., Build]:
    """Draws a transformer, and src (batch, source) and tgt (batch, target) for a method of it."""
    src_vocab, tgt_vocab = 17, 13

    def draw(generator: torch.Generator) -> Build:
        sizes = source_lengths(batch, source), target_lengths(batch, target)
        src = drawn_ids(sizes[0], source, src_vocab, pad_id, generator)
        tgt = drawn_ids(sizes[1], target, tgt_vocab, pad_id, generator)
        memory = torch.randn(batch, source, d_model, generator=generator).to(dtype)
        keywords = {"dropout": dropout, "max_len": max_len, "pad_id": pad_id or None}
        return Build(
            construct=(src_vocab, tgt_vocab, d_model, HEADS, num_layers, D_FF),
            keywords={name: value for name, value in keywords.items() if value is not None},
            arguments={"encode": [src], "decode": [tgt, memory, src], "forward": [src, tgt]}[
                method
            ],
            method=method,
            training=training,
            dtype=dtype,
        )

    return draw


def at_real_positions(
    lengths: Callable[[int, int], list[int]],
) -> Callable[[Any, Any], str | None]:
    """A judge that leaves out padding.

    It compares as float32: whether sinusoids were rounded to it before they met float64 is free.
    """

    def judge(expected: Tensor, got: Any) -> str | None:
        if not isinstance(got, Tensor) or got.shape != expected.shape:
            return values_agree(expected, got)
        for b, real in enumerate(lengths(*expected.shape[:2])):
            problem = values_agree(expected[b, :real].float(), got[b, :real].float())
            if problem:
                return f"in sentence {b} (counting from 0), {problem}"
        return None

    return judge


# What stands at padding is free, and so is the wording of an error. Either would differ from that of
# a named mistake, so such cases are not used to recognise one: in eval mode, `random` says no more.
TARGETS_PADDED = Case(
    "three sentences, S=7, T=4, targets padded", model("decode", 3, 7, 4, pad_id=3), random=True
)
REAL_SOURCE, REAL_TARGET = at_real_positions(source_lengths), at_real_positions(target_lengths)
LONG = 126  # long enough to count what is dropped
DEFAULT_DROPS = dropped(0.1)


def model_drops(expected: Tensor, got: Any) -> str | None:
    """Like `REAL_TARGET`; a sentence of `LONG` words was left to chance, with the default dropout."""
    return (DEFAULT_DROPS if expected.shape[1] == LONG else REAL_TARGET)(expected, got)


def script(
    ends: tuple[int | None, ...],
    max_len: int,
    *,
    special: tuple[int, int, int] = (0, 1, 2),
    training: tuple[str, ...] = (),
    limited: bool = False,
    odd: bool = False,
) -> Callable[..., list]:
    """Draws a scripted model, src, bos_id, eos_id and max_len for `greedy_decode`.

    Row b writes its end symbol into column ``ends[b]`` (None: not before max_len). ``special``
    holds the ids of padding, begin and end. With ``limited`` the model refuses targets beyond
    max_len, and to be asked more often than once in vain. With ``odd``, row 0 holds pad_id and
    bos_id as words 2 and 3.
    """
    sentences, states, vocabulary = 6, 97, 11
    pad_id, bos_id, eos_id = special

    def draw(generator: torch.Generator) -> list[Any]:
        scores = torch.randn(sentences, states, vocabulary, generator=generator)
        scores[..., [pad_id, bos_id]] = -9.0  # no trained model writes these
        for row, end in enumerate(ends):
            if end is None:
                scores[row, :, eos_id] = -9.0
            forced = {2: pad_id, 3: bos_id} if odd and row == 0 else {}
            plan(scores[row], end, max_len, forced, generator)
        source = torch.randint(20, 40, (len(ends), 5), generator=generator)
        source[:, 0] = 2 * sentences + torch.arange(len(ends))
        for row, real in zip(source, source_lengths(len(ends), 5), strict=True):
            row[real:] = pad_id
        width = min(max_len, 1 + max(max_len if end is None else end for end in ends))
        options = {"rows": len(ends) * width, "max_len": max_len} if limited else {}
        arguments = {"scores": scores, "pad_id": pad_id, "training": list(training), **options}
        return [Instance("ScriptedTranslator", arguments), source, bos_id, eos_id, max_len]

    def plan(
        scores: Tensor,
        end: int | None,
        length: int,
        forced: dict[int, int],
        generator: torch.Generator,
    ) -> None:
        """Let one sentence's table lead from the begin symbol to the end symbol in its column."""
        ids, seen = [bos_id], set()
        while ids[-1] != eos_id and len(ids) < length:
            state = int(state_of(torch.tensor([ids]), states)[0, -1])
            seen.add(state)
            place = len(ids) + 1
            # each beginning has a row of its own in the table, so that plans do not collide
            words = [
                word
                for word in torch.randperm(vocabulary, generator=generator).tolist()
                if word not in special and (state + place * word) % states not in seen
            ]
            word = eos_id if len(ids) == end else forced.get(len(ids), words[0])
            scores[state, word] = scores[state].max() + 1
            ids.append(word)

    return draw


# Wrong answers that people give. Each is a whole implementation, so that it can be run against
# the same inputs as a submission's.


class Layer(layers.DecoderLayer):
    """The right layer taken apart, so that each mistake can change one step."""

    def attend_self(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.self_attn(x, x, x, mask)[0]

    def attend_memory(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        return self.cross_attn(x, memory, memory, mask)[0]

    def add(self, norm: nn.Module, x: Tensor, change: Tensor) -> Tensor:
        return norm(x + self.dropout(change))

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, x, self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, x, self.attend_memory(x, memory, memory_mask))
        return self.add(self.layer_norm3, x, self.feed_forward(x))


class DecoderAsMemory(Layer):
    def attend_memory(self, x, memory, mask):
        return self.cross_attn(x, x, x)[0]


class DecoderAsMaskedMemory(Layer):
    def attend_memory(self, x, memory, mask):
        return self.cross_attn(x, x, x, mask)[0]


class DecoderAsValue(Layer):
    def attend_memory(self, x, memory, mask):
        return self.cross_attn(x, memory, x, mask)[0]


class MemoryAsks(Layer):
    def attend_memory(self, x, memory, mask):
        return self.cross_attn(memory, x, x, mask)[0]


class OneAttentionForBoth(Layer):
    def attend_memory(self, x, memory, mask):
        return self.self_attn(x, memory, memory, mask)[0]


class NoMemoryMask(Layer):
    def attend_memory(self, x, memory, mask):
        return self.cross_attn(x, memory, memory)[0]


class NoSelfMask(Layer):
    def attend_self(self, x, mask):
        return self.self_attn(x, x, x)[0]


class AlwaysCausal(Layer):
    def attend_self(self, x, mask):
        causal = masks.causal_mask(x.shape[1], x.device)
        return self.self_attn(x, x, x, causal if mask is None else mask & causal)[0]


class InvertedMasks(Layer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        inverted = [None if mask is None else ~mask for mask in (self_mask, memory_mask)]
        return super().forward(x, memory, *inverted)


class NormFirst(Layer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = x + self.dropout(self.attend_self(self.layer_norm1(x), self_mask))
        x = x + self.dropout(self.attend_memory(self.layer_norm2(x), memory, memory_mask))
        return x + self.dropout(self.feed_forward(self.layer_norm3(x)))


class NoResidual(Layer):
    def add(self, norm, x, change):
        return norm(self.dropout(change))


class NoCrossResidual(Layer):
    def add(self, norm, x, change):
        return super().add(norm, 0 if norm is self.layer_norm2 else x, change)


class FirstInputAsResidual(Layer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        first = x
        x = self.add(self.layer_norm1, first, self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, first, self.attend_memory(x, memory, memory_mask))
        return self.add(self.layer_norm3, first, self.feed_forward(x))


class SublayersSideBySide(Layer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        attended = self.add(self.layer_norm1, x, self.attend_self(x, self_mask))
        crossed = self.attend_memory(x, memory, memory_mask)
        x = self.add(self.layer_norm2, attended, crossed)
        return self.add(self.layer_norm3, x, self.feed_forward(x))


class OneNormForAll(Layer):
    def add(self, norm, x, change):
        return super().add(self.layer_norm1, x, change)


class NoLastNorm(Layer):
    def add(self, norm, x, change):
        if norm is self.layer_norm3:
            return x + self.dropout(change)
        return super().add(norm, x, change)


class CrossBeforeSelf(Layer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, x, self.attend_memory(x, memory, memory_mask))
        x = self.add(self.layer_norm2, x, self.attend_self(x, self_mask))
        return self.add(self.layer_norm3, x, self.feed_forward(x))


class NoCrossAttention(Layer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, x, self.attend_self(x, self_mask))
        return self.add(self.layer_norm3, x, self.feed_forward(x))


class NoFeedForward(Layer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, x, self.attend_self(x, self_mask))
        return self.add(self.layer_norm2, x, self.attend_memory(x, memory, memory_mask))


class NoDropout(Layer):
    def add(self, norm, x, change):
        return norm(x + change)


class DropoutOnTheSum(Layer):
    def add(self, norm, x, change):
        return norm(self.dropout(x + change))


class DropoutAfterTheNorm(Layer):
    def add(self, norm, x, change):
        return self.dropout(norm(x + change))


class WeightsBesideTheResult(Layer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, x, self.attend_self(x, self_mask))
        attended, weights = self.cross_attn(x, memory, memory, memory_mask)
        x = self.add(self.layer_norm2, x, attended)
        return self.add(self.layer_norm3, x, self.feed_forward(x)), weights


class Model(transformer.Transformer):
    """The right model taken apart, so that each mistake can change one step."""

    def source_mask(self, src: Tensor) -> Tensor | None:
        return masks.padding_mask(src, self.pad_id)

    def target_mask(self, tgt: Tensor) -> Tensor | None:
        return masks.decoder_mask(tgt, self.pad_id)

    def memory_mask(self, src: Tensor) -> Tensor | None:
        return masks.padding_mask(src, self.pad_id)

    def source(self, src: Tensor) -> Tensor:
        return self._embed(self.src_embedding, src)

    def target(self, tgt: Tensor) -> Tensor:
        return self._embed(self.tgt_embedding, tgt)

    def encode(self, src):
        x = self.source(src)
        for block in self.encoder_layers:
            x = block(x, self.source_mask(src))
        return x

    def decode(self, tgt, memory, src):
        x = self.target(tgt)
        for block in self.decoder_layers:
            x = block(x, memory, self.target_mask(tgt), self.memory_mask(src))
        return self.generator(x)


class SeesTheFuture(Model):
    def target_mask(self, tgt):
        return masks.padding_mask(tgt, self.pad_id)


class SeesTheNextWord(Model):
    def target_mask(self, tgt):
        length = tgt.shape[1]
        return torch.ones(length, length, dtype=torch.bool).tril(1)


class SeesOnlyThePast(Model):
    def target_mask(self, tgt):
        length = tgt.shape[1]
        return torch.ones(length, length, dtype=torch.bool).tril(-1)


class NoSourcePaddingInDecoder(Model):
    def memory_mask(self, src):
        return None


class NoSourcePaddingInEncoder(Model):
    def source_mask(self, src):
        return None


class NoSourcePadding(NoSourcePaddingInDecoder, NoSourcePaddingInEncoder):
    pass


class PaddingIsZero(Model):
    def source_mask(self, src):
        return masks.padding_mask(src, 0)

    memory_mask = source_mask

    def target_mask(self, tgt):
        return masks.decoder_mask(tgt, 0)


class CausalEncoder(Model):
    def source_mask(self, src):
        return masks.decoder_mask(src, self.pad_id)


class Unscaled(Model):
    def _embed(self, embedding, ids, start=0):
        return self.positional_encoding(embedding(ids))


class ScaledDown(Model):
    def _embed(self, embedding, ids, start=0):
        return self.positional_encoding(embedding(ids) / math.sqrt(self.d_model))


class ScaledWithPositions(Model):
    def _embed(self, embedding, ids, start=0):
        x = embedding(ids)
        positions = self.positional_encoding.pe[: ids.shape[1]].to(x.dtype)
        return self.positional_encoding.dropout((x + positions) * math.sqrt(self.d_model))


class NoPositions(Model):
    def _embed(self, embedding, ids, start=0):
        return self.positional_encoding.dropout(embedding(ids) * math.sqrt(self.d_model))


class UnscaledTarget(Model):
    def target(self, tgt):
        return self.positional_encoding(self.tgt_embedding(tgt))


class SourceTableForTarget(Model):
    def target(self, tgt):
        return self._embed(self.src_embedding, tgt)


class Probabilities(Model):
    def decode(self, tgt, memory, src):
        return super().decode(tgt, memory, src).softmax(dim=-1)


class LogProbabilities(Model):
    def decode(self, tgt, memory, src):
        return super().decode(tgt, memory, src).log_softmax(dim=-1)


class NoGenerator(Model):
    def decode(self, tgt, memory, src):
        x = self.target(tgt)
        for block in self.decoder_layers:
            x = block(x, memory, self.target_mask(tgt), self.memory_mask(src))
        return x


class LastTokenCutOff(Model):
    def decode(self, tgt, memory, src):
        return super().decode(tgt[:, :-1], memory, src)


class LastPositionOnly(Model):
    def decode(self, tgt, memory, src):
        return super().decode(tgt, memory, src)[:, -1]


class OneLayerRepeated(Model):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        for name in ("encoder_layers", "decoder_layers"):
            stack = getattr(self, name)
            if len(stack):
                setattr(self, name, nn.ModuleList([stack[0]] * len(stack)))


class SameInputForEveryLayer(Model):
    def encode(self, src):
        x = result = self.source(src)
        for block in self.encoder_layers:
            result = block(x, self.source_mask(src))
        return result

    def decode(self, tgt, memory, src):
        x = result = self.target(tgt)
        for block in self.decoder_layers:
            result = block(x, memory, self.target_mask(tgt), self.memory_mask(src))
        return self.generator(result)


class NormOnTop(Model):
    def encode(self, src):
        x = super().encode(src)
        return nn.functional.layer_norm(x, x.shape[-1:])

    def decode(self, tgt, memory, src):
        x = self.target(tgt)
        for block in self.decoder_layers:
            x = block(x, memory, self.target_mask(tgt), self.memory_mask(src))
        return self.generator(nn.functional.layer_norm(x, x.shape[-1:]))


class NoDropoutOnPositions(Model):
    def _embed(self, embedding, ids, start=0):
        x = embedding(ids) * math.sqrt(self.d_model)
        return x + self.positional_encoding.pe[: ids.shape[1]].to(x.dtype)


def best_words(model: nn.Module, ids: Tensor, memory: Tensor, src: Tensor) -> Tensor:
    return model.decode(ids, memory, src)[:, -1].argmax(dim=-1)


def extended(ids: Tensor, words: Tensor) -> Tensor:
    return torch.cat([ids, words.unsqueeze(1)], dim=1)


def written(
    model: nn.Module,
    src: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    *,
    best: Callable[..., Tensor] = best_words,
    stop: Callable[[Tensor], Tensor] = torch.all,
    fill: int | None = None,
    memory: Tensor | None = None,
) -> Tensor:
    """Greedy decoding with one of its steps exchanged, in the mode in which the model is."""
    memory = model.encode(src) if memory is None else memory
    ids = src.new_full((len(src), 1), bos_id)
    ended = torch.zeros(len(src), dtype=torch.bool)
    while ids.shape[1] < max_len and not stop(ended):
        words = best(model, ids, memory, src)
        ids = extended(ids, words.masked_fill(ended, model.pad_id if fill is None else fill))
        ended = ended | (words == eos_id)
    return ids


def in_eval_mode(decode: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def answer(model, src, bos_id, eos_id, max_len):
        with evaluating(model):
            return decode(model, src, bos_id, eos_id, max_len)

    return answer


def encoded_in_train_mode(model, src, bos_id, eos_id, max_len):
    memory = model.encode(src)
    with evaluating(model):
        return written(model, src, bos_id, eos_id, max_len, memory=memory)


@in_eval_mode
def end_ignored(model, src, bos_id, eos_id, max_len):
    memory, ids = model.encode(src), src.new_full((len(src), 1), bos_id)
    while ids.shape[1] < max_len:
        ids = extended(ids, best_words(model, ids, memory, src))
    return ids


@in_eval_mode
def ended_rows_grow(model, src, bos_id, eos_id, max_len):
    memory, ids = model.encode(src), src.new_full((len(src), 1), bos_id)
    while ids.shape[1] < max_len and not (ids == eos_id).any(dim=1).all():
        ids = extended(ids, best_words(model, ids, memory, src))
    return ids


@in_eval_mode
def stops_at_the_first_end(*arguments):
    return written(*arguments, stop=torch.any)


@in_eval_mode
def stops_at_max_len_only(*arguments):
    return written(*arguments, stop=lambda ended: torch.tensor(False))


@in_eval_mode
def filled_with_zeros(*arguments):
    return written(*arguments, fill=0)


@in_eval_mode
def filled_with_ends(model, src, bos_id, eos_id, max_len):
    return written(model, src, bos_id, eos_id, max_len, fill=eos_id)


@in_eval_mode
def without_the_begin(*arguments):
    return written(*arguments)[:, 1:]


@in_eval_mode
def without_the_end(model, src, bos_id, eos_id, max_len):
    ids = written(model, src, bos_id, eos_id, max_len)
    return ids.masked_fill(ids == eos_id, model.pad_id)


@in_eval_mode
def max_len_words_after_the_begin(model, src, bos_id, eos_id, max_len):
    return written(model, src, bos_id, eos_id, max_len + 1)


@in_eval_mode
def one_word_too_few(model, src, bos_id, eos_id, max_len):
    return written(model, src, bos_id, eos_id, max_len - 1)


@in_eval_mode
def first_position_read(*arguments):
    return written(
        *arguments,
        best=lambda model, ids, memory, src: model.decode(ids, memory, src)[:, 0].argmax(dim=-1),
    )


@in_eval_mode
def last_word_alone(*arguments):
    return written(
        *arguments,
        best=lambda model, ids, memory, src: best_words(model, ids[:, -1:], memory, src),
    )


@in_eval_mode
def least_likely_word(*arguments):
    return written(
        *arguments,
        best=lambda model, ids, memory, src: model.decode(ids, memory, src)[:, -1].argmin(dim=-1),
    )


DROPPED = (
    "In train mode, each sublayer's output passes through dropout before it is added to x. With "
    "a dropout of nearly 1, only the residual stream is left. Where does yours act?"
)
OWN_KEYS = (
    "Your cross-attention takes keys and values from x, so nothing of the source sentence reaches "
    "the decoder. Which of its three inputs come from the memory?"
)

DecoderLayer = Part(
    name="DecoderLayer",
    signature="DecoderLayer(d_model, num_heads, d_ff, dropout=0.1), "
    "forward(x (B, T, D), memory (B, S, D), self_mask=None, memory_mask=None) -> (B, T, D)",
    reference=layers.DecoderLayer,
    steps=(
        Step(
            "self-attention, cross-attention, feed-forward, each with its residual and norm",
            1,
            (
                Case("one sentence, T=S=4, no masks", layer(1, 4, 4)),
                Case("two sentences, T=3, S=5, no masks", layer(2, 3, 5)),
                Case("a single target word, T=1, S=5", layer(2, 1, 5)),
                Case("a single source word, T=4, S=1", layer(2, 4, 1)),
            ),
        ),
        Step(
            "self_mask hides in self-attention, memory_mask in cross-attention",
            1,
            (
                Case(
                    "a causal self_mask (T, T), a memory_mask (B, 1, 1, S)",
                    layer(2, 3, 5, self_mask="causal", memory_mask="padding"),
                ),
                Case("only self_mask, (B, 1, T, T)", layer(3, 4, 6, self_mask="any")),
                Case("only memory_mask, (B, 1, 1, S)", layer(3, 4, 6, memory_mask="padding")),
                Case("only memory_mask, (T, S)", layer(2, 3, 5, memory_mask="two axes")),
                Case("both masks, T=S=4", layer(2, 4, 4, self_mask="causal", memory_mask="any")),
                Case(
                    "masks for each head, (B, H, T, T) and (B, H, T, S)",
                    layer(2, 3, 5, self_mask="each head", memory_mask="each head"),
                ),
            ),
        ),
        Step(
            "dropout in train mode: on each sublayer's output, and inside the feed-forward network",
            1,
            (
                Case("train mode, dropout=0", layer(3, 5, 7, dropout=0.0, training=True)),
                Case(
                    "train mode, a dropout of nearly 1",
                    layer(2, 3, 5, dropout=EVERYTHING, training=True),
                ),
                Case("eval mode, dropout=0.7", layer(2, 3, 5, dropout=0.7)),
                Case(
                    "train mode, the default dropout, d_ff=1",
                    one_hidden_number(norms=3, inputs=2),
                    random=True,
                ),
                *(
                    Case(
                        f"train mode, the default dropout, x=0; only {name} gives no zeros",
                        one_loud_sublayer(
                            loud, tuple(other for other in SUBLAYERS if other != loud), 3, 2
                        ),
                        random=True,
                    )
                    for loud, name in SUBLAYERS.items()
                ),
            ),
            judge=layer_drops,
        ),
        Step(
            "float64, untouched inputs, any memory layout, rows that see nothing, gradients",
            1,
            (
                Case("float64, two sentences", layer(2, 3, 5, dtype=torch.float64)),
                Case(
                    "inputs with gaps in memory",
                    layer(2, 3, 5, self_mask="causal", memory_mask="padding"),
                    strided=True,
                ),
                Case(
                    "rows of the masks that hide everything",
                    layer(2, 3, 5, self_mask="empty rows", memory_mask="empty rows"),
                ),
                Case(
                    "gradients for x, memory and every weight",
                    layer(2, 3, 5, dtype=torch.float64),
                    gradient=True,
                ),
                Case(
                    "gradients where rows of the masks hide everything",
                    layer(
                        2, 3, 5, self_mask="empty rows", memory_mask="empty rows",
                        dtype=torch.float64,
                    ),
                    gradient=True,
                ),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("keys and values from the decoder", DecoderAsMemory, OWN_KEYS),
        Mistake(
            "keys and values from the decoder, under the memory's mask",
            DecoderAsMaskedMemory,
            OWN_KEYS,
        ),
        Mistake(
            "values from the decoder",
            DecoderAsValue,
            "Your cross-attention collects values from x. What a decoder wants to know stands in "
            "the memory: which of the three inputs come from there?",
        ),
        Mistake(
            "the memory asks",
            MemoryAsks,
            "In your cross-attention the memory asks and x answers. Who needs to know something "
            "here? The result must have one row for each target word.",
        ),
        Mistake(
            "one attention module for both",
            OneAttentionForBoth,
            "Your cross-attention runs through `self_attn`. The two have weights of their own: use "
            "`cross_attn`.",
        ),
        Mistake(
            "memory mask missing",
            NoMemoryMask,
            "`memory_mask` has no effect in your layer, so the decoder looks at padding of the "
            "source. Which attention does it belong to?",
        ),
        Mistake(
            "self mask missing",
            NoSelfMask,
            "`self_mask` has no effect in your layer, so each position sees what comes later. "
            "Which attention does it belong to?",
        ),
        Mistake(
            "always causal",
            AlwaysCausal,
            "Your layer hides the future also when `self_mask` does not ask for it. The layer "
            "builds no mask of its own; the model will.",
        ),
        Mistake(
            "masks inverted",
            InvertedMasks,
            "Your masks hide what they should show. Here True means: may attend. Which convention "
            "does the attention that you call have?",
        ),
        Mistake(
            "norm first",
            NormFirst,
            "You normalise before each sublayer (pre-LN). This layer is post-LN, as in the paper: "
            "add first, then normalise the sum.",
        ),
        Mistake(
            "no residual connections",
            NoResidual,
            "What enters a sublayer is lost behind it. Add it to the sublayer's output before the "
            "norm.",
        ),
        Mistake(
            "no residual connection around cross-attention",
            NoCrossResidual,
            "Behind cross-attention, what the decoder knew before is lost. Each of the three "
            "sublayers has a residual connection.",
        ),
        Mistake(
            "the layer's input as every residual",
            FirstInputAsResidual,
            "You add the layer's first input to every sublayer. Each residual carries what enters "
            "its own sublayer, that is, the result of the one before.",
        ),
        Mistake(
            "cross-attention asks with the layer's input",
            SublayersSideBySide,
            "The query of your cross-attention is the layer's input. It should be what came out of "
            "self-attention and its norm.",
        ),
        Mistake(
            "one norm for all",
            OneNormForAll,
            "Your three sums pass through the same norm. Each sublayer has its own: `layer_norm1`, "
            "`layer_norm2`, `layer_norm3`.",
        ),
        Mistake(
            "last norm missing",
            NoLastNorm,
            "The sum behind the feed-forward network is not normalised. `layer_norm3` belongs "
            "there.",
        ),
        Mistake(
            "cross-attention before self-attention",
            CrossBeforeSelf,
            "Your layer looks at the source first. In which order do the text's three equations "
            "stand?",
        ),
        Mistake(
            "cross-attention missing",
            NoCrossAttention,
            "Your layer never looks at the memory: cross-attention is missing between "
            "self-attention and the feed-forward network.",
        ),
        Mistake(
            "feed-forward missing",
            NoFeedForward,
            "Your layer ends behind cross-attention. The feed-forward network and `layer_norm3` "
            "are missing.",
        ),
        Mistake("no dropout", NoDropout, DROPPED),
        Mistake("dropout on the sum", DropoutOnTheSum, DROPPED),
        Mistake("dropout after the norm", DropoutAfterTheNorm, DROPPED),
        Mistake(
            "weights returned beside the result",
            WeightsBesideTheResult,
            "The numbers are right, but they come in a tuple. Layers return x alone, so that they "
            "can be stacked.",
        ),
    ),
    reads=("lecture 8, on the decoder and cross-attention", LECTURE),
    stand_ins="course_utils.layers",
    barred=(
        "DecoderLayer",
        "Transformer", "TransformerEncoder", "TransformerEncoderLayer",
        "TransformerDecoder", "TransformerDecoderLayer",
    ),
)  # fmt: skip

Transformer = Part(
    name="Transformer",
    signature="Transformer(src_vocab, tgt_vocab, d_model, num_heads, num_layers, d_ff, dropout=0.1, "
    "max_len=128, pad_id=0), encode(src (B, S)) -> memory (B, S, D), decode(tgt (B, T), memory, "
    "src) -> logits (B, T, tgt_vocab), forward(src, tgt) -> logits",
    reference=transformer.Transformer,
    steps=(
        Step(
            "encode: words times √d_model plus positions, through all layers, padding hidden",
            1,
            (
                Case("no layers at all, two sentences, S=5", model("encode", 2, 5, 3, num_layers=0)),
                Case("one layer, one sentence, S=4", model("encode", 1, 4, 3, num_layers=1)),
                Case("two layers, three sentences, S=7, padded", model("encode", 3, 7, 3)),
            ),
            judge=REAL_SOURCE,
        ),
        Step(
            "decode: logits that know the past of the target and the source without its padding",
            2,
            (
                Case(
                    "no layers at all, one sentence, S=4, T=3",
                    model("decode", 1, 4, 3, num_layers=0),
                ),
                Case(
                    "one layer, one sentence, S=4, T=5", model("decode", 1, 4, 5, num_layers=1)
                ),
                Case("two layers, two sentences, S=6, T=5", model("decode", 2, 6, 5)),
                TARGETS_PADDED,
                Case("a single target word, S=5, T=1", model("decode", 2, 5, 1)),
            ),
            judge=REAL_TARGET,
        ),
        Step(
            "forward: both together, for any number of layers, pad_id, width and max_len",
            1,
            (
                Case("two sentences, S=5, T=3", model("forward", 2, 5, 3)),
                Case("three layers", model("forward", 2, 5, 4, num_layers=3)),
                Case("pad_id=4", model("forward", 2, 7, 5, pad_id=4)),
                Case("d_model=9, an odd width", model("forward", 2, 5, 3, d_model=9)),
                Case("S=6 and T=6 with max_len=6", model("forward", 2, 6, 6, max_len=6)),
                Case(
                    "S=128, for which the default max_len is enough",
                    model("forward", 1, 128, 3, num_layers=0),
                ),
                Case(
                    "S=7 with max_len=6",
                    model("forward", 2, 7, 3, num_layers=0, max_len=6),
                    raises=("ValueError",),
                    random=True,
                ),
                Case(
                    "T=7 with max_len=6",
                    model("forward", 2, 3, 7, num_layers=0, max_len=6),
                    raises=("ValueError",),
                    random=True,
                ),
            ),
            judge=REAL_TARGET,
        ),
        Step(
            "dropout in train mode, also on words plus positions; float64; gradients",
            1,
            (
                Case(
                    "train mode, dropout=0",
                    model("forward", 2, 7, 5, dropout=0.0, training=True),
                ),
                Case(
                    "train mode, a dropout of nearly 1, forward",
                    model("forward", 2, 5, 3, dropout=EVERYTHING, training=True),
                ),
                Case(
                    "train mode, a dropout of nearly 1, encode",
                    model("encode", 1, 5, 3, dropout=EVERYTHING, training=True),
                ),
                Case(
                    f"train mode, the default dropout, no layers at all, S={LONG}",
                    model("encode", 1, LONG, 3, num_layers=0, training=True),
                    random=True,
                ),
                Case("eval mode, dropout=0.7", model("forward", 2, 5, 3, dropout=0.7)),
                Case("float64", model("forward", 2, 5, 3, dtype=torch.float64)),
                Case("ids with gaps in memory", model("forward", 2, 5, 3), strided=True),
                Case(
                    "gradients for every weight",
                    model("forward", 2, 5, 3, num_layers=1),
                    gradient=True,
                ),
            ),
            judge=model_drops,
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "the future leaks",
            SeesTheFuture,
            "Logits of earlier positions change with later target words: your decoder sees the "
            "future. In training it would copy the next word instead of learning it. Which mask "
            "of lecture 4 belongs on the decoder's self-attention?",
        ),
        Mistake(
            "the next word leaks",
            SeesTheNextWord,
            "Each target position sees one word too many, exactly the one it has to predict. tgt "
            "is already shifted: position t may see positions 0 to t.",
        ),
        Mistake(
            "a position does not see itself",
            SeesOnlyThePast,
            "Each target position sees only those before it. tgt is already shifted, so position "
            "t may see itself, too.",
        ),
        Mistake(
            "memory mask missing",
            NoSourcePaddingInDecoder,
            "Your decoder attends to padding of the source. Why does `decode` receive `src` beside "
            "the memory?",
        ),
        Mistake(
            "source mask missing in the encoder",
            NoSourcePaddingInEncoder,
            "Your encoder attends to padding, so a sentence gets another memory in a longer batch. "
            "Which mask does `TransformerLayer` need?",
        ),
        Mistake(
            "source padding never hidden",
            NoSourcePadding,
            "Padding of the source is never hidden, neither in the encoder nor in cross-attention. "
            "Which mask do both need?",
        ),
        Mistake(
            "pad_id taken to be 0",
            PaddingIsZero,
            "Your masks hide the id 0, whatever `pad_id` is. Hand `self.pad_id` to them.",
        ),
        Mistake(
            "causal mask in the encoder",
            CausalEncoder,
            "Your encoder hides what comes later in the source. The source is known as a whole, so "
            "each word may see all real words. Where does a causal mask belong?",
        ),
        Mistake(
            "embeddings not scaled",
            Unscaled,
            "Your word vectors go in as they stand in the table. Which factor does the text put "
            "before them, so that positions do not drown them?",
        ),
        Mistake(
            "target embeddings not scaled",
            UnscaledTarget,
            "Source words are scaled and target words are not. Both sides need the same factor.",
        ),
        Mistake(
            "embeddings divided",
            ScaledDown,
            "Your word vectors are divided by √d_model. The division belongs to attention scores; "
            "what does the text do with embeddings?",
        ),
        Mistake(
            "positions scaled with the words",
            ScaledWithPositions,
            "The factor √d_model multiplies your positions as well. It belongs to the words alone: "
            "in which order do scaling and adding stand in the text?",
        ),
        Mistake(
            "positions missing",
            NoPositions,
            "Your model cannot tell in which order the words stand: nothing adds positions.",
        ),
        Mistake(
            "target words from the source's table",
            SourceTableForTarget,
            "Target words are looked up in `src_embedding`. Each language has its own table.",
        ),
        Mistake(
            "softmax before the loss",
            Probabilities,
            "Your results are probabilities. `nn.CrossEntropyLoss` takes the softmax itself, and a "
            "second one flattens its gradients. Return the generator's raw logits.",
        ),
        Mistake(
            "log-softmax before the loss",
            LogProbabilities,
            "Your results are log-probabilities. This model returns the generator's raw logits; "
            "the loss does the rest.",
        ),
        Mistake(
            "generator missing",
            NoGenerator,
            "Your decoder gives d_model numbers a position. The generator turns them into one "
            "score for each target word.",
        ),
        Mistake(
            "last target token cut off",
            LastTokenCutOff,
            "Your logits are one position short. tgt comes already shifted, so every position of "
            "it gets logits.",
        ),
        Mistake(
            "only the last position returned",
            LastPositionOnly,
            "You return the logits of the last position alone. Training needs all T of them; "
            "greedy decoding picks the last one itself.",
        ),
        Mistake(
            "one layer repeated",
            OneLayerRepeated,
            "All layers of your stack share their weights: `[layer] * n` holds the same layer n "
            "times. How do you make a new one for each place?",
        ),
        Mistake(
            "every layer reads the embeddings",
            SameInputForEveryLayer,
            "Each of your layers starts again from the embeddings, and only the last one counts. "
            "Each should read what the one before wrote.",
        ),
        Mistake(
            "a norm on top",
            NormOnTop,
            "You normalise once more after the last layer. These layers are post-LN: each ends "
            "with a norm already.",
        ),
        Mistake(
            "no dropout on words plus positions",
            NoDropoutOnPositions,
            "In train mode, words plus positions reach the first layer without dropout. "
            "`PositionalEncoding` takes a dropout; is yours handed on?",
        ),
    ),
    reads=("lecture 8, on what goes in, the encoder and the decoder", LECTURE),
    may_call=("DecoderLayer",),
    stand_ins="course_utils.layers",
)  # fmt: skip

greedy_decode = Part(
    name="greedy_decode",
    signature="greedy_decode(model, src (B, S), bos_id, eos_id, max_len) -> ids (B, L)",
    reference=transformer.greedy_decode,
    steps=(
        Step(
            "the most likely word after another, given the source and all words so far",
            1,
            (
                Case("one sentence of 6 ids, max_len=9", script((5,), 9)),
                Case("two sentences that both have 5 ids, max_len=8", script((4, 4), 8)),
                Case("two sentences without an end, max_len=7", script((None, None), 7)),
            ),
        ),
        Step(
            "eos_id stays, pad_id follows; all rows ended or max_len columns is the end",
            1,
            (
                Case("rows that end in columns 3, 6 and 4, max_len=10", script((3, 6, 4), 10)),
                Case(
                    "pad_id=9, bos_id=4, eos_id=0; rows end in columns 5, 2 and 3",
                    script((5, 2, 3), 12, special=(9, 4, 0)),
                ),
                Case(
                    "one row ends in column 2, one not at all, max_len=6",
                    script((2, None), 6, special=(3, 0, 7)),
                ),
                Case("an empty sentence beside one of 4 words", script((1, 5), 9)),
                Case("a row that ends in the last column", script((2, 7), 8, special=(7, 5, 1))),
                Case(
                    "a model that reads at most max_len=8 ids",
                    script((None, 4), 8, special=(5, 6, 0), limited=True),
                ),
                Case(
                    "a model that is not asked again when all rows have ended",
                    script((3, 4), 20, limited=True),
                ),
                Case(
                    "a model that also writes pad_id and bos_id as words; neither ends the row",
                    script((5, 7), 10, special=(3, 6, 1), odd=True),
                ),
                Case("max_len=1: nothing but bos_id", script((3, 4), 1)),
            ),
            strict=True,
        ),
        Step(
            "every part of the model writes in eval mode, and has its own mode back afterwards",
            1,
            (
                Case(
                    "a model in train mode",
                    script((4, 6, 3), 9, training=("", "encoder", "decoder")),
                ),
                Case(
                    "a model in train mode whose encoder is frozen in eval mode",
                    script((5, 3), 9, training=("", "decoder")),
                ),
                Case(
                    "a model in eval mode whose encoder is in train mode",
                    script((3, 5), 9, training=("encoder",)),
                ),
                Case(
                    "a model in train mode whose two halves are in eval mode",
                    script((2, 5), 9, training=("",)),
                ),
                Case("a model in eval mode", script((5, 2), 9)),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "decoding in train mode",
            written,
            "Your numbers are those of a model in train mode, where dropout garbles what is "
            "written. Which mode should the model be in, and which one afterwards?",
        ),
        Mistake(
            "source encoded in train mode",
            encoded_in_train_mode,
            "The source is encoded before the model is in eval mode. Both halves of the work need "
            "it.",
        ),
        Mistake(
            "EOS ignored",
            end_ignored,
            "Your rows go on beyond `eos_id` up to `max_len`. When has a sentence ended, and what "
            "follows then?",
        ),
        Mistake(
            "finished rows keep growing",
            ended_rows_grow,
            "Rows that have ended get further words while others go on. What should stand in them "
            "from there on?",
        ),
        Mistake(
            "stops at the first end",
            stops_at_the_first_end,
            "You stop as soon as one row has ended, and the others stay unfinished. Wait for all "
            "of them.",
        ),
        Mistake(
            "filled up to max_len",
            stops_at_max_len_only,
            "All rows have ended, and you go on to `max_len` columns. When may the loop stop?",
        ),
        Mistake(
            "filled up with 0",
            filled_with_zeros,
            "Ended rows are filled with 0, whatever the model's padding is. Which attribute of the "
            "model knows it?",
        ),
        Mistake(
            "filled up with EOS",
            filled_with_ends,
            "Ended rows are filled with `eos_id`. It stands once; the model's padding follows.",
        ),
        Mistake(
            "BOS left out",
            without_the_begin,
            "Your result begins with the first word. Column 0 is `bos_id`.",
        ),
        Mistake(
            "EOS left out",
            without_the_end,
            "Your rows lose their `eos_id`. It is kept, so that a reader can tell a sentence that "
            "ended from one that was cut off.",
        ),
        Mistake(
            "max_len words after BOS",
            max_len_words_after_the_begin,
            "Your result can have `max_len` + 1 columns. `max_len` counts column 0 as well.",
        ),
        Mistake(
            "one word too few",
            one_word_too_few,
            "Where no row ends, your result has `max_len` - 1 columns. One more is allowed.",
        ),
        Mistake(
            "logits of the first position read",
            first_position_read,
            "You read the logits of position 0 at each step: the word after `bos_id`, again and "
            "again. Which position knows the next word?",
        ),
        Mistake(
            "only the last word handed to the decoder",
            last_word_alone,
            "Your decoder sees one word at a time and forgets those before it. Give it everything "
            "that is written so far.",
        ),
        Mistake(
            "least likely word",
            least_likely_word,
            "You take the word with the smallest logit. Greedy decoding takes the largest.",
        ),
    ),
    reads=("lecture 8, on writing and on eval mode", LECTURE),
)

ASSIGNMENT = Assignment(
    name="a9_transformer",
    parts=(DecoderLayer, Transformer, greedy_decode),
    barred=(
        "Transformer", "TransformerEncoder", "TransformerEncoderLayer",
        "TransformerDecoder", "TransformerDecoderLayer",
    ),
    allowed_modules=(
        "course_utils.attention", "course_utils.data", "course_utils.evaluation",
        "course_utils.layers", "course_utils.masks", "course_utils.plotting",
        "course_utils.positional", "course_utils.rnn", "course_utils.signoff",
    ),
)  # fmt: skip
