"""Assignment 9: the decoder layer, the whole transformer, and greedy decoding."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.checks.a8_transformer_layer import (
    EVERYTHING,
    SIZES,
    drawn_mask,
    layer_drops,
    left_to_chance,
    mistakes_in,
)
from autograder.probe.scripted import state_of
from autograder.probe.wire import Instance
from autograder.verdict.check import Assignment, Build, Case, Judge, Part, Randn
from autograder.verdict.compare import dropped, values_agree
from course_utils import layers, masks, transformer
from course_utils.evaluation import evaluating

LECTURE = "../../lectures/08_transformer.ipynb"
D_MODEL, HEADS, D_FF = SIZES
SUBLAYERS = {  # the last linear map of each, and what it is called
    "self_attn.w_o": "self-attention",
    "cross_attn.w_o": "cross-attention",
    "feed_forward.w_2": "the feed-forward network",
}

# ------------------------------------------------------------------------------ what is drawn


def told(training: bool, **given: Any) -> str:
    """Names and values for a label, without those that are empty."""
    notes = [f"{name}={value}" for name, value in given.items() if value != ()]
    if training:
        notes += ["train mode"] if "dropout" in given else ["train mode, the default dropout"]
    return ", ".join(notes)


def layer(
    B: int,
    T: int,
    S: int,
    *,
    self_mask: tuple[int, ...] = (),
    memory_mask: tuple[int, ...] = (),
    blind: bool = False,
    training: bool = False,
    **keywords: float,
) -> Case:
    """A decoder layer, x (B, T, d_model), memory (B, S, d_model) and masks of these shapes.

    With ``blind``, the masks' first rows show nothing.
    """

    def draw(randn: Randn) -> Build:
        arguments: list[Any] = [randn(B, T, D_MODEL), randn(B, S, D_MODEL)]
        if self_mask or memory_mask:
            shapes = self_mask, memory_mask
            arguments += [drawn_mask(randn, shape, blind) if shape else None for shape in shapes]
        return Build(SIZES, keywords, arguments, training=training)

    label = told(training, B=B, T=T, S=S, self_mask=self_mask, memory_mask=memory_mask, **keywords)
    return Case(label + ", rows that show nothing" * blind, draw)


def model(
    method: str,
    B: int,
    S: int,
    T: int,
    *,
    num_layers: int = 2,
    d_model: int = D_MODEL,
    training: bool = False,
    **keywords: Any,
) -> Case:
    """A transformer, and src (B, S) and tgt (B, T) for a method of it."""
    src_vocab, tgt_vocab, pad_id = 17, 13, keywords.get("pad_id", 0)

    def draw(randn: Randn) -> Build:
        src = drawn_ids(source_lengths(B, S), S, src_vocab, pad_id, randn.generator)
        tgt = drawn_ids(target_lengths(B, T), T, tgt_vocab, pad_id, randn.generator)
        memory = randn(B, S, d_model)
        takes = {"encode": [src], "decode": [tgt, memory, src], "forward": [src, tgt]}
        construct = src_vocab, tgt_vocab, d_model, HEADS, num_layers, D_FF
        return Build(construct, keywords, takes[method], method, training=training)

    label = told(training, B=B, S=S, T=T, num_layers=num_layers, d_model=d_model, **keywords)
    return Case(f"{method}, {label}", draw)


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


def script(
    *ends: int | None,
    max_len: int,
    special: tuple[int, int, int] = (0, 1, 2),
    training: tuple[str, ...] = (),
    limited: bool = False,
    odd: bool = False,
) -> Case:
    """A scripted model, src, bos_id, eos_id and max_len for `greedy_decode`.

    Row b writes its end symbol into column ``ends[b]`` (None: not before max_len). ``special``
    holds the ids of padding, begin and end. The parts of the model in ``training`` are in train
    mode. With ``limited`` the model refuses targets beyond max_len, and to be asked more often
    than once in vain. With ``odd``, row 0 holds pad_id and bos_id as words 2 and 3.
    """
    sentences, states, vocabulary = 6, 97, 11
    pad_id, bos_id, eos_id = special

    def draw(randn: Randn) -> list[Any]:
        scores = randn(sentences, states, vocabulary)
        scores[..., [pad_id, bos_id]] = -9.0  # no trained model writes these
        for row, end in enumerate(ends):
            if end is None:
                scores[row, :, eos_id] = -9.0
            plan(scores[row], end, {2: pad_id, 3: bos_id} if odd and row == 0 else {}, randn)
        source = torch.randint(20, 40, (len(ends), 5), generator=randn.generator)
        source[:, 0] = 2 * sentences + torch.arange(len(ends))
        for row, real in zip(source, source_lengths(len(ends), 5), strict=True):
            row[real:] = pad_id
        width = min(max_len, 1 + max(max_len if end is None else end for end in ends))
        options = {"rows": len(ends) * width, "max_len": max_len} if limited else {}
        arguments = {"scores": scores, "pad_id": pad_id, "training": list(training), **options}
        return [Instance("ScriptedTranslator", arguments), source, bos_id, eos_id, max_len]

    def plan(scores: Tensor, end: int | None, forced: dict[int, int], randn: Randn) -> None:
        """Let one sentence's table lead from the begin symbol to the end symbol in its column."""
        ids, seen = [bos_id], set()
        while ids[-1] != eos_id and len(ids) < max_len:
            state = int(state_of(torch.tensor([ids]), states)[0, -1])
            seen.add(state)
            place = len(ids) + 1
            # each beginning has a row of its own in the table, so that plans do not collide
            words = [
                word
                for word in torch.randperm(vocabulary, generator=randn.generator).tolist()
                if word not in special and (state + place * word) % states not in seen
            ]
            word = eos_id if len(ids) == end else forced.get(len(ids), words[0])
            scores[state, word] = scores[state].max() + 1
            ids.append(word)

    label = f"{max_len=}, {pad_id=}, {bos_id=}, {eos_id=}, due in columns {ends}"
    if training:
        label += f", in train mode: {', '.join(name or 'the model' for name in training)}"
    label += (
        ", the model reads at most max_len ids, and is asked only while a row has no end" * limited
    )
    label += ", pad_id and bos_id are written as words, too" * odd
    return Case(label, draw)


# ------------------------------------------------------------------------------ what decides


def at_real_positions(lengths: Callable[[int, int], list[int]]) -> Judge:
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


REAL_SOURCE, REAL_TARGET = at_real_positions(source_lengths), at_real_positions(target_lengths)
LONG = 126  # long enough to count what is dropped
DEFAULT_DROPS = dropped(0.1)


def model_drops(expected: Tensor, got: Any) -> str | None:
    """Like `REAL_TARGET`; a sentence of `LONG` words was left to chance, dropout=0.1."""
    return (DEFAULT_DROPS if expected.shape[1] == LONG else REAL_TARGET)(expected, got)


# ------------------------------------------------------------------------------ DecoderLayer

WHOLE = (
    "Transformer", "TransformerEncoder", "TransformerEncoderLayer",
    "TransformerDecoder", "TransformerDecoderLayer",
)  # fmt: skip

decoder_layer = Part(
    "DecoderLayer(d_model, num_heads, d_ff, dropout=0.1), "
    "forward(x (B, T, D), memory (B, S, D), self_mask=None, memory_mask=None) -> (B, T, D)",
    layers.DecoderLayer,
    reads=("lecture 8, on the decoder and cross-attention", LECTURE),
    barred=("DecoderLayer", *WHOLE),
)
decoder_layer.step(
    "self-attention, cross-attention, feed-forward, each with its residual and norm",
    1,
    layer(B=1, T=4, S=4),
    layer(B=2, T=3, S=5),
    layer(B=2, T=1, S=5),
    layer(B=2, T=4, S=1),
)
decoder_layer.step(
    "self_mask hides in self-attention, memory_mask in cross-attention",
    1,
    layer(B=2, T=3, S=5, self_mask=(3, 3), memory_mask=(2, 1, 1, 5)),
    layer(B=3, T=4, S=6, self_mask=(3, 1, 4, 4)),
    layer(B=3, T=4, S=6, memory_mask=(3, 1, 1, 6)),
    layer(B=2, T=3, S=5, memory_mask=(3, 5)),
    layer(B=2, T=4, S=4, self_mask=(4, 4), memory_mask=(2, 1, 4, 4)),
    layer(B=2, T=3, S=5, self_mask=(2, HEADS, 3, 3), memory_mask=(2, HEADS, 3, 5)),
)
decoder_layer.step(
    "dropout in train mode: on each sublayer's output, and inside the feed-forward network",
    1,
    layer(B=3, T=5, S=7, dropout=0.0, training=True),
    layer(B=2, T=3, S=5, dropout=EVERYTHING, training=True),
    layer(B=2, T=3, S=5, dropout=0.7),
    *left_to_chance(SUBLAYERS),
    judge=layer_drops,
)
blind = layer(B=2, T=3, S=5, self_mask=(2, 1, 3, 3), memory_mask=(2, 1, 3, 5), blind=True)
decoder_layer.step(
    "float64, untouched inputs, any memory layout, rows that see nothing, gradients",
    1,
    layer(B=2, T=3, S=5).in_float64(),
    layer(B=2, T=3, S=5, self_mask=(3, 3), memory_mask=(2, 1, 1, 5)).with_gaps(),
    blind,
    layer(B=2, T=3, S=5).in_float64().with_gradients(),
    blind.in_float64().with_gradients(),
    strict=True,
)


class Layer(layers.DecoderLayer):
    """The right layer in steps, each of which a mistake can change."""

    def attend_self(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.self_attn(x, x, x, mask)[0]

    def attend_memory(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        return self.cross_attn(x, memory, memory, mask)[0]

    def add(self, norm: nn.Module, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return norm(x + self.dropout(sublayer(x)))

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, x, lambda x: self.attend_memory(x, memory, memory_mask))
        return self.add(self.layer_norm3, x, self.feed_forward)


wrong_layer = mistakes_in(decoder_layer, Layer)
OWN_KEYS = (
    "Your cross-attention takes keys and values from x, so nothing of the source sentence reaches "
    "the decoder. Which of its three inputs come from the memory?"
)


@wrong_layer("attend_memory", "keys and values from the decoder", OWN_KEYS)
def decoder_as_memory(self, x, memory, mask):
    return Layer.attend_memory(self, x, x, None)


@wrong_layer("attend_memory", "keys and values from the decoder, under the memory's mask", OWN_KEYS)
def decoder_as_masked_memory(self, x, memory, mask):
    return Layer.attend_memory(self, x, x, mask)


@wrong_layer("attend_memory", "values from the decoder")
def decoder_as_value(self, x, memory, mask):
    """Your cross-attention collects values from x. What a decoder wants to know stands in the
    memory: which of the three inputs come from there?"""
    return self.cross_attn(x, memory, x, mask)[0]


@wrong_layer("attend_memory", "the memory asks")
def memory_asks(self, x, memory, mask):
    """In your cross-attention the memory asks and x answers. Who needs to know something here? The
    result must have one row for each target word."""
    return Layer.attend_memory(self, memory, x, mask)


@wrong_layer("attend_memory", "one attention module for both")
def one_attention_for_both(self, x, memory, mask):
    """Your cross-attention runs through `self_attn`. The two have weights of their own: use
    `cross_attn`."""
    return self.self_attn(x, memory, memory, mask)[0]


@wrong_layer("attend_memory", "memory mask missing")
def no_memory_mask(self, x, memory, mask):
    """`memory_mask` has no effect in your layer, so the decoder looks at padding of the source.
    Which attention does it belong to?"""
    return Layer.attend_memory(self, x, memory, None)


@wrong_layer("attend_self", "self mask missing")
def no_self_mask(self, x, mask):
    """`self_mask` has no effect in your layer, so each position sees what comes later. Which
    attention does it belong to?"""
    return Layer.attend_self(self, x, None)


@wrong_layer("attend_self", "always causal")
def always_causal(self, x, mask):
    """Your layer hides the future also when `self_mask` does not ask for it. The layer builds no
    mask of its own; the model will."""
    causal = masks.causal_mask(x.shape[1], x.device)
    return Layer.attend_self(self, x, causal if mask is None else mask & causal)


@wrong_layer("forward", "masks inverted")
def inverted_masks(self, x, memory, *given):
    """Your masks hide what they should show. Here True means: may attend. Which convention does the
    attention that you call have?"""
    return Layer.forward(self, x, memory, *(None if mask is None else ~mask for mask in given))


@wrong_layer("add", "norm first")
def norm_first(self, norm, x, sublayer):
    """You normalise before each sublayer (pre-LN). This layer is post-LN, as in the paper: add
    first, then normalise the sum."""
    return x + self.dropout(sublayer(norm(x)))


@wrong_layer("add", "no residual connections")
def no_residual(self, norm, x, sublayer):
    """What enters a sublayer is lost behind it. Add it to the sublayer's output before the norm."""
    return norm(self.dropout(sublayer(x)))


@wrong_layer("add", "no residual connection around cross-attention")
def no_cross_residual(self, norm, x, sublayer):
    """Behind cross-attention, what the decoder knew before is lost. Each of the three sublayers has
    a residual connection."""
    return norm((norm is not self.layer_norm2) * x + self.dropout(sublayer(x)))


@wrong_layer("forward", "the layer's input as every residual")
def first_input_as_residual(self, first, memory, self_mask=None, memory_mask=None):
    """You add the layer's first input to every sublayer. Each residual carries what enters its own
    sublayer, that is, the result of the one before."""
    x = self.add(self.layer_norm1, first, lambda x: self.attend_self(x, self_mask))
    attended = self.attend_memory(x, memory, memory_mask)
    x = self.add(self.layer_norm2, first, lambda _: attended)
    return self.add(self.layer_norm3, first, lambda _: self.feed_forward(x))


@wrong_layer("forward", "cross-attention asks with the layer's input")
def sublayers_side_by_side(self, x, memory, self_mask=None, memory_mask=None):
    """The query of your cross-attention is the layer's input. It should be what came out of
    self-attention and its norm."""
    attended = self.attend_memory(x, memory, memory_mask)
    x = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
    x = self.add(self.layer_norm2, x, lambda _: attended)
    return self.add(self.layer_norm3, x, self.feed_forward)


@wrong_layer("add", "one norm for all")
def one_norm_for_all(self, norm, x, sublayer):
    """Your three sums pass through the same norm. Each sublayer has its own: `layer_norm1`,
    `layer_norm2`, `layer_norm3`."""
    return Layer.add(self, self.layer_norm1, x, sublayer)


@wrong_layer("add", "last norm missing")
def no_last_norm(self, norm, x, sublayer):
    """The sum behind the feed-forward network is not normalised. `layer_norm3` belongs there."""
    return Layer.add(self, nn.Identity() if norm is self.layer_norm3 else norm, x, sublayer)


@wrong_layer("forward", "cross-attention before self-attention")
def cross_before_self(self, x, memory, self_mask=None, memory_mask=None):
    """Your layer looks at the source first. In which order do the text's three equations stand?"""
    x = self.add(self.layer_norm1, x, lambda x: self.attend_memory(x, memory, memory_mask))
    x = self.add(self.layer_norm2, x, lambda x: self.attend_self(x, self_mask))
    return self.add(self.layer_norm3, x, self.feed_forward)


@wrong_layer("add", "cross-attention missing")
def no_cross_attention(self, norm, x, sublayer):
    """Your layer never looks at the memory: cross-attention is missing between self-attention and
    the feed-forward network."""
    return x if norm is self.layer_norm2 else Layer.add(self, norm, x, sublayer)


@wrong_layer("add", "feed-forward missing")
def no_feed_forward(self, norm, x, sublayer):
    """Your layer ends behind cross-attention. The feed-forward network and `layer_norm3` are
    missing."""
    return x if norm is self.layer_norm3 else Layer.add(self, norm, x, sublayer)


DROPPED = (
    "In train mode, each sublayer's output passes through dropout before it is added to x. With "
    "a dropout of nearly 1, only the residual stream is left. Where does yours act?"
)


@wrong_layer("add", "no dropout", DROPPED)
def no_dropout(self, norm, x, sublayer):
    return norm(x + sublayer(x))


@wrong_layer("add", "dropout on the sum", DROPPED)
def dropout_on_the_sum(self, norm, x, sublayer):
    return norm(self.dropout(x + sublayer(x)))


@wrong_layer("add", "dropout after the norm", DROPPED)
def dropout_after_the_norm(self, norm, x, sublayer):
    return self.dropout(norm(x + sublayer(x)))


@wrong_layer("forward", "weights returned beside the result")
def weights_beside_the_result(self, x, memory, self_mask=None, memory_mask=None):
    """The numbers are right, but they come in a tuple. Layers return x alone, so that they can be
    stacked."""
    x = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
    attended, weights = self.cross_attn(x, memory, memory, memory_mask)
    x = self.add(self.layer_norm2, x, lambda _: attended)
    return self.add(self.layer_norm3, x, self.feed_forward), weights


# ------------------------------------------------------------------------------- Transformer

encoder_decoder = Part(
    "Transformer(src_vocab, tgt_vocab, d_model, num_heads, num_layers, d_ff, dropout=0.1, "
    "max_len=128, pad_id=0), encode(src (B, S)) -> memory (B, S, D), decode(tgt (B, T), memory, "
    "src) -> logits (B, T, tgt_vocab), forward(src, tgt) -> logits",
    transformer.Transformer,
    reads=("lecture 8, on what goes in, the encoder and the decoder", LECTURE),
    may_call=("DecoderLayer",),
)
encoder_decoder.step(
    "encode: words times √d_model plus positions, through all layers, padding hidden",
    1,
    model("encode", B=2, S=5, T=3, num_layers=0),
    model("encode", B=1, S=4, T=3, num_layers=1),
    model("encode", B=3, S=7, T=3),
    judge=REAL_SOURCE,
)
encoder_decoder.step(
    "decode: logits that know the past of the target and the source without its padding",
    2,
    model("decode", B=1, S=4, T=3, num_layers=0),
    model("decode", B=1, S=4, T=5, num_layers=1),
    model("decode", B=2, S=6, T=5),
    # What stands at padding is free, and so is the wording of an error. Either would differ
    # from that of a named mistake, so such cases are not used to recognise one: in eval mode,
    # `random` says no more.
    replace(model("decode", B=3, S=7, T=4, pad_id=3), random=True),
    model("decode", B=2, S=5, T=1),
    judge=REAL_TARGET,
)
encoder_decoder.step(
    "forward: both together, for any number of layers, pad_id, width and max_len",
    1,
    model("forward", B=2, S=5, T=3),
    model("forward", B=2, S=5, T=4, num_layers=3),
    model("forward", B=2, S=7, T=5, pad_id=4),
    model("forward", B=2, S=5, T=3, d_model=9),
    model("forward", B=2, S=6, T=6, max_len=6),
    model("forward", B=1, S=128, T=3, num_layers=0),  # the default max_len is enough
    *(
        replace(
            model("forward", B=2, S=S, T=T, num_layers=0, max_len=6),
            raises=("ValueError",),
            random=True,
        )
        for S, T in ((7, 3), (3, 7))
    ),
    judge=REAL_TARGET,
)
encoder_decoder.step(
    "dropout in train mode, also on words plus positions; float64; gradients",
    1,
    model("forward", B=2, S=7, T=5, dropout=0.0, training=True),
    model("forward", B=2, S=5, T=3, dropout=EVERYTHING, training=True),
    model("encode", B=1, S=5, T=3, dropout=EVERYTHING, training=True),
    replace(model("encode", B=1, S=LONG, T=3, num_layers=0, training=True), random=True),
    model("forward", B=2, S=5, T=3, dropout=0.7),
    model("forward", B=2, S=5, T=3).in_float64(),
    model("forward", B=2, S=5, T=3).with_gaps(),
    model("forward", B=2, S=5, T=3, num_layers=1).with_gradients(),
    judge=model_drops,
    strict=True,
)


class Model(transformer.Transformer):
    """The right model in steps, each of which a mistake can change."""

    def padding(self, src: Tensor) -> Tensor | None:
        return masks.padding_mask(src, self.pad_id)

    def source_mask(self, src: Tensor) -> Tensor | None:
        return self.padding(src)

    def memory_mask(self, src: Tensor) -> Tensor | None:
        return self.padding(src)

    def target_mask(self, tgt: Tensor) -> Tensor | None:
        return masks.decoder_mask(tgt, self.pad_id)

    def embed(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        return self.positional_encoding(table(ids) * math.sqrt(self.d_model))

    def through(self, blocks: nn.ModuleList, x: Tensor, *others: Tensor | None) -> Tensor:
        for block in blocks:
            x = block(x, *others)
        return x

    def score(self, x: Tensor) -> Tensor:
        return self.generator(x)

    def encode(self, src):
        x = self.embed(self.src_embedding, src)
        return self.through(self.encoder_layers, x, self.source_mask(src))

    def decode(self, tgt, memory, src):
        x = self.embed(self.tgt_embedding, tgt)
        seen = self.target_mask(tgt), self.memory_mask(src)
        return self.score(self.through(self.decoder_layers, x, memory, *seen))


wrong_model = mistakes_in(encoder_decoder, Model)
NO_ID = -1  # as padding, it hides nothing


@wrong_model("target_mask", "the future leaks")
def sees_the_future(self, tgt):
    """Logits of earlier positions change with later target words: your decoder sees the future. In
    training it would copy the next word instead of learning it. Which mask of lecture 4 belongs on
    the decoder's self-attention?"""
    return masks.padding_mask(tgt, self.pad_id)


@wrong_model("target_mask", "the next word leaks")
def sees_the_next_word(self, tgt):
    """Each target position sees one word too many, exactly the one it has to predict. tgt is
    already shifted: position t may see positions 0 to t."""
    return torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril(1)


@wrong_model("target_mask", "a position does not see itself")
def sees_only_the_past(self, tgt):
    """Each target position sees only those before it. tgt is already shifted, so position t may see
    itself, too."""
    return torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril(-1)


@wrong_model("memory_mask", "memory mask missing")
def no_source_padding_in_decoder(self, src):
    """Your decoder attends to padding of the source. Why does `decode` receive `src` beside the
    memory?"""
    return masks.padding_mask(src, NO_ID)


@wrong_model("source_mask", "source mask missing in the encoder")
def no_source_padding_in_encoder(self, src):
    """Your encoder attends to padding, so a sentence gets another memory in a longer batch. Which
    mask does `TransformerLayer` need?"""
    return masks.padding_mask(src, NO_ID)


@wrong_model("padding", "source padding never hidden")
def no_source_padding(self, src):
    """Padding of the source is never hidden, neither in the encoder nor in cross-attention. Which
    mask do both need?"""
    return masks.padding_mask(src, NO_ID)


@wrong_model("__init__", "pad_id taken to be 0")
def padding_is_zero(self, *arguments, **keywords):
    """Your masks hide the id 0, whatever `pad_id` is. Hand `self.pad_id` to them."""
    Model.__init__(self, *arguments, **keywords)
    self.pad_id = 0


@wrong_model("source_mask", "causal mask in the encoder")
def causal_encoder(self, src):
    """Your encoder hides what comes later in the source. The source is known as a whole, so each
    word may see all real words. Where does a causal mask belong?"""
    return masks.decoder_mask(src, self.pad_id)


@wrong_model("embed", "embeddings not scaled")
def unscaled(self, table, ids):
    """Your word vectors go in as they stand in the table. Which factor does the text put before
    them, so that positions do not drown them?"""
    return self.positional_encoding(table(ids))


@wrong_model("embed", "target embeddings not scaled")
def unscaled_target(self, table, ids):
    """Source words are scaled and target words are not. Both sides need the same factor."""
    factor = math.sqrt(self.d_model) if table is self.src_embedding else 1.0
    return self.positional_encoding(table(ids) * factor)


@wrong_model("embed", "embeddings divided")
def scaled_down(self, table, ids):
    """Your word vectors are divided by √d_model. The division belongs to attention scores; what
    does the text do with embeddings?"""
    return self.positional_encoding(table(ids) / math.sqrt(self.d_model))


@wrong_model("embed", "positions scaled with the words")
def scaled_with_positions(self, table, ids):
    """The factor √d_model multiplies your positions as well. It belongs to the words alone: in
    which order do scaling and adding stand in the text?"""
    return self.positional_encoding(table(ids)) * math.sqrt(self.d_model)


@wrong_model("embed", "positions missing")
def no_positions(self, table, ids):
    """Your model cannot tell in which order the words stand: nothing adds positions."""
    return self.positional_encoding.dropout(table(ids) * math.sqrt(self.d_model))


@wrong_model("embed", "target words from the source's table")
def source_table_for_target(self, table, ids):
    """Target words are looked up in `src_embedding`. Each language has its own table."""
    return Model.embed(self, self.src_embedding, ids)


@wrong_model("score", "softmax before the loss")
def probabilities(self, x):
    """Your results are probabilities. `nn.CrossEntropyLoss` takes the softmax itself, and a second
    one flattens its gradients. Return the generator's raw logits."""
    return self.generator(x).softmax(dim=-1)


@wrong_model("score", "log-softmax before the loss")
def log_probabilities(self, x):
    """Your results are log-probabilities. This model returns the generator's raw logits; the loss
    does the rest."""
    return self.generator(x).log_softmax(dim=-1)


@wrong_model("score", "generator missing")
def no_generator(self, x):
    """Your decoder gives d_model numbers a position. The generator turns them into one score for
    each target word."""
    return x


@wrong_model("decode", "last target token cut off")
def last_token_cut_off(self, tgt, memory, src):
    """Your logits are one position short. tgt comes already shifted, so every position of it gets
    logits."""
    return Model.decode(self, tgt[:, :-1], memory, src)


@wrong_model("score", "only the last position returned")
def last_position_only(self, x):
    """You return the logits of the last position alone. Training needs all T of them; greedy
    decoding picks the last one itself."""
    return self.generator(x)[:, -1]


@wrong_model("__init__", "one layer repeated")
def one_layer_repeated(self, *arguments, **keywords):
    """All layers of your stack share their weights: `[layer] * n` holds the same layer n times. How
    do you make a new one for each place?"""
    Model.__init__(self, *arguments, **keywords)
    for name in ("encoder_layers", "decoder_layers"):
        stack = getattr(self, name)
        setattr(self, name, nn.ModuleList([*stack[:1]] * len(stack)))


@wrong_model("through", "every layer reads the embeddings")
def same_input_for_every_layer(self, blocks, x, *others):
    """Each of your layers starts again from the embeddings, and only the last one counts. Each
    should read what the one before wrote."""
    return blocks[-1](x, *others) if len(blocks) else x


@wrong_model("through", "a norm on top")
def norm_on_top(self, *arguments):
    """You normalise once more after the last layer. These layers are post-LN: each ends with a norm
    already."""
    return F.layer_norm(Model.through(self, *arguments), (self.d_model,))


@wrong_model("__init__", "no dropout on words plus positions")
def no_dropout_on_positions(self, *arguments, **keywords):
    """In train mode, words plus positions reach the first layer without dropout.
    `PositionalEncoding` takes a dropout; is yours handed on?"""
    Model.__init__(self, *arguments, **keywords)
    self.positional_encoding.dropout.p = 0.0


# ----------------------------------------------------------------------------- greedy_decode

greedy = Part(
    "greedy_decode(model, src (B, S), bos_id, eos_id, max_len) -> ids (B, L)",
    transformer.greedy_decode,
    reads=("lecture 8, on writing and on eval mode", LECTURE),
)
greedy.step(
    "the most likely word after another, given the source and all words so far",
    1,
    script(5, max_len=9),
    script(4, 4, max_len=8),
    script(None, None, max_len=7),
)
greedy.step(
    "eos_id stays, pad_id follows; all rows ended or max_len columns is the end",
    1,
    script(3, 6, 4, max_len=10),
    script(5, 2, 3, max_len=12, special=(9, 4, 0)),
    script(2, None, max_len=6, special=(3, 0, 7)),
    script(1, 5, max_len=9),
    script(2, 7, max_len=8, special=(7, 5, 1)),
    script(None, 4, max_len=8, special=(5, 6, 0), limited=True),
    script(3, 4, max_len=20, limited=True),
    script(5, 7, max_len=10, special=(3, 6, 1), odd=True),
    script(3, 4, max_len=1),
    strict=True,
)
greedy.step(
    "every part of the model writes in eval mode, and has its own mode back afterwards",
    1,
    script(4, 6, 3, max_len=9, training=("", "encoder", "decoder")),
    script(5, 3, max_len=9, training=("", "decoder")),
    script(3, 5, max_len=9, training=("encoder",)),
    script(2, 5, max_len=9, training=("",)),
    script(5, 2, max_len=9),
    strict=True,
)


def logits_of_last(model: Any, ids: Tensor, memory: Tensor, src: Tensor) -> Tensor:
    return model.decode(ids, memory, src)[:, -1]


def never(ended: Tensor) -> bool:
    return False


def written(
    model: Any,
    src: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    *,
    logits: Callable[..., Tensor] = logits_of_last,
    stop: Callable[[Tensor], Any] = torch.all,
    rows_end: bool = True,
    fill: int | None = None,
    memory: Tensor | None = None,
    mode: Callable[[nn.Module], Any] = evaluating,
) -> Tensor:
    """Greedy decoding, of which each mistake changes one step."""
    with mode(model):
        memory = model.encode(src) if memory is None else memory
        ids = src.new_full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len and not stop(ended):
            words = logits(model, ids, memory, src).argmax(dim=-1)
            if rows_end:
                words = words.masked_fill(ended, model.pad_id if fill is None else fill)
            ids = torch.cat([ids, words.unsqueeze(1)], dim=1)
            ended = ended | (words == eos_id)
    return ids


@greedy.mistake("decoding in train mode")
def written_in_train_mode(*arguments):
    """Your numbers are those of a model in train mode, where dropout garbles what is written. Which
    mode should the model be in, and which one afterwards?"""
    return written(*arguments, mode=nullcontext)


@greedy.mistake("source encoded in train mode")
def encoded_in_train_mode(model, src, *others):
    """The source is encoded before the model is in eval mode. Both halves of the work need it."""
    return written(model, src, *others, memory=model.encode(src))


@greedy.mistake("EOS ignored")
def end_ignored(*arguments):
    """Your rows go on beyond `eos_id` up to `max_len`. When has a sentence ended, and what follows
    then?"""
    return written(*arguments, rows_end=False, stop=never)


@greedy.mistake("finished rows keep growing")
def ended_rows_grow(*arguments):
    """Rows that have ended get further words while others go on. What should stand in them from
    there on?"""
    return written(*arguments, rows_end=False)


@greedy.mistake("stops at the first end")
def stops_at_the_first_end(*arguments):
    """You stop as soon as one row has ended, and the others stay unfinished. Wait for all of
    them."""
    return written(*arguments, stop=torch.any)


@greedy.mistake("filled up to max_len")
def stops_at_max_len_only(*arguments):
    """All rows have ended, and you go on to `max_len` columns. When may the loop stop?"""
    return written(*arguments, stop=never)


@greedy.mistake("filled up with 0")
def filled_with_zeros(*arguments):
    """Ended rows are filled with 0, whatever the model's padding is. Which attribute of the model
    knows it?"""
    return written(*arguments, fill=0)


@greedy.mistake("filled up with EOS")
def filled_with_ends(model, src, bos_id, eos_id, max_len):
    """Ended rows are filled with `eos_id`. It stands once; the model's padding follows."""
    return written(model, src, bos_id, eos_id, max_len, fill=eos_id)


@greedy.mistake("BOS left out")
def without_the_begin(*arguments):
    """Your result begins with the first word. Column 0 is `bos_id`."""
    return written(*arguments)[:, 1:]


@greedy.mistake("EOS left out")
def without_the_end(model, src, bos_id, eos_id, max_len):
    """Your rows lose their `eos_id`. It is kept, so that a reader can tell a sentence that ended
    from one that was cut off."""
    ids = written(model, src, bos_id, eos_id, max_len)
    return ids.masked_fill(ids == eos_id, model.pad_id)


@greedy.mistake("max_len words after BOS")
def max_len_words_after_the_begin(*others_and_max_len):
    """Your result can have `max_len` + 1 columns. `max_len` counts column 0 as well."""
    *others, max_len = others_and_max_len
    return written(*others, max_len + 1)


@greedy.mistake("one word too few")
def one_word_too_few(*others_and_max_len):
    """Where no row ends, your result has `max_len` - 1 columns. One more is allowed."""
    *others, max_len = others_and_max_len
    return written(*others, max_len - 1)


@greedy.mistake("logits of the first position read")
def first_position_read(*arguments):
    """You read the logits of position 0 at each step: the word after `bos_id`, again and again.
    Which position knows the next word?"""
    return written(
        *arguments, logits=lambda model, ids, memory, src: model.decode(ids, memory, src)[:, 0]
    )


@greedy.mistake("only the last word handed to the decoder")
def last_word_alone(*arguments):
    """Your decoder sees one word at a time and forgets those before it. Give it everything that is
    written so far."""
    return written(
        *arguments, logits=lambda model, ids, *others: model.decode(ids[:, -1:], *others)[:, -1]
    )


@greedy.mistake("least likely word")
def least_likely_word(*arguments):
    """You take the word with the smallest logit. Greedy decoding takes the largest."""
    return written(*arguments, logits=lambda *given: -logits_of_last(*given))


ASSIGNMENT = Assignment(
    "a9_transformer",
    parts=(decoder_layer, encoder_decoder, greedy),
    barred=WHOLE,
    allowed_modules=(
        "course_utils.attention", "course_utils.data", "course_utils.evaluation",
        "course_utils.layers", "course_utils.masks", "course_utils.plotting",
        "course_utils.positional", "course_utils.rnn", "course_utils.signoff",
    ),
)  # fmt: skip
