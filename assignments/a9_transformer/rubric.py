"""Assignment 9: the decoder layer, the whole transformer, and greedy decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from assignments.common.disallowed import TRANSFORMERS
from assignments.common.layers import (
    EVEN,
    EVERYTHING,
    KIND,
    READ,
    READ_SIZES,
    SIZES,
    constant,
    drawn_mask,
    drawn_mask_of_heads,
    even_words,
    few_units,
    layer_drops,
    left_to_chance,
    misses_numbers,
    near_mask,
    reads_all,
    whole_inputs,
)
from autograder.checks.cases import Build, Case, Judge, Randn
from autograder.checks.check import Part
from autograder.checks.compare import dropped, kind_of, strict_differences, values_agree
from autograder.checks.problem import Judgement
from autograder.probe.wire import Instance
from course_utils import layers, transformer
from lecture_kit import handed_over
from lecture_kit.handed_over import state_of

LECTURE = "../../lectures/08_transformer.ipynb"
D_MODEL, HEADS, D_FF = SIZES
UNITS = 4  # inner features that are used where a step is not about their number
LONG = 126  # long enough to count what is dropped
LONGEST = 260  # of a target that is mostly padding, so that few words are seen
CROSS = "cross_attn.w_o"
SUBLAYERS = {  # the last linear map of each, and what it is called
    "self_attn.w_o": "self-attention",
    CROSS: "cross-attention",
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
    sizes: tuple[int, int, int] = SIZES,
    blind: bool = False,
    near: bool = False,
    units: int = 0,
    training: bool = False,
    times: int = 1,
    before: bool | None = None,
    **keywords: float,
) -> Case:
    """A decoder layer of these sizes, x (B, T, d_model), memory (B, S, d_model), masks of these shapes.

    With ``blind``, the masks' first rows show nothing, or that of one head, where each head has its
    own. With ``near``, the self-mask shows each word itself and the two before it. With ``before``, the
    layer was used on other numbers of the same shapes, under other masks; where it is False, without any.
    Of ``units`` see `few_units`; 0 uses all inner features.
    """
    masks = self_mask or (T, T), memory_mask or (B, 1, 1, S)
    width, _, d_ff = sizes

    def draw(randn: Randn) -> Build:
        arguments: list[Any] = [randn(B, T, width), randn(B, S, width)]
        if self_mask or memory_mask:
            for shape in (self_mask, memory_mask):
                one_head = blind and HEADS in shape[1:-2]
                drawn = drawn_mask_of_heads(randn, shape) if one_head else None
                arguments.append(
                    drawn_mask(randn, shape, blind) if shape and not one_head else drawn
                )
        if near:
            arguments[2] = near_mask(T)
        others: list[Any] = []
        if before is not None:
            others = [randn(B, T, width), randn(B, S, width)]
            others += [drawn_mask(randn, shape) for shape in masks if before]
        state = few_units(randn, width, d_ff, units, of="feed_forward.") if units else {}
        return Build(
            sizes,
            keywords,
            arguments,
            state=state,
            fitted=units > 0,
            training=training,
            before=others,
            times=times,
        )

    label = told(training, B=B, T=T, S=S, self_mask=self_mask, memory_mask=memory_mask, **keywords)
    label += f", d_model={width}, num_heads={sizes[1]}, {d_ff=}" * (sizes != SIZES)
    label += ", rows that show nothing" * blind + ", called twice" * (times > 1)
    if before is not None:
        label += f", used before with {'other' if before else 'no'} masks"
    return Case(label, draw)


def model(
    method: str,
    B: int,
    S: int,
    T: int,
    *,
    num_layers: int = 2,
    d_model: int = D_MODEL,
    num_heads: int = HEADS,
    d_ff: int = D_FF,
    training: bool = False,
    vocabularies: tuple[int, int] = (17, 13),
    again: str = "",
    **keywords: Any,
) -> Case:
    """A transformer, and src (B, S) and tgt (B, T) for a method of it.

    The method ``again`` was called before, with other ids and the padding in other sentences.
    """
    src_vocab, tgt_vocab = vocabularies
    pad_id = keywords.get("pad_id", 0)

    def draw(randn: Randn) -> Build:
        def takes(called: str, src_lengths: list[int], tgt_lengths: list[int]) -> list[Tensor]:
            src = drawn_ids(src_lengths, S, src_vocab, pad_id, randn.generator)
            tgt = drawn_ids(tgt_lengths, T, tgt_vocab, pad_id, randn.generator)
            memory = randn(B, S, d_model)
            all_of = {"encode": [src], "decode": [tgt, memory, src], "forward": [src, tgt]}
            return all_of[called]

        lengths = source_lengths(B, S), target_lengths(B, T)
        return Build(
            (src_vocab, tgt_vocab, d_model, num_heads, num_layers, d_ff),
            keywords,
            takes(method, *lengths),
            method,
            # which nobody uses there, and a model may lack
            state={"generator.bias": torch.zeros(tgt_vocab)} if method == "encode" else {},
            training=training,
            before=takes(again, *(each[1:] + each[:1] for each in lengths)) if again else [],
            before_method=again or None,
        )

    label = told(training, B=B, S=S, T=T, num_layers=num_layers, d_model=d_model, **keywords)
    label += f", {d_ff=}" * (d_ff != D_FF)
    label += f", {src_vocab} and {tgt_vocab} words" * (src_vocab > LONG or src_vocab == tgt_vocab)
    return Case(f"{method}, {label}{f', after another {again}' * bool(again)}", draw)


def whole_memory() -> Case:
    """A decoder whose one layer `misses_numbers` of the memory, and whose logits are its result."""
    width, heads, d_ff = READ_SIZES
    layer_is = constant(dict.fromkeys(SUBLAYERS, 0.0), width, d_ff) | misses_numbers(CROSS)
    for number in (1, 2, 3):  # the first norm gives the same word everywhere
        layer_is[f"layer_norm{number}.weight"] = torch.full((width,), float(number > 1))
        layer_is[f"layer_norm{number}.bias"] = (EVEN + KIND) * (number == 1)
    state = {f"decoder_layers.0.{name}": value for name, value in layer_is.items()}
    state |= {"generator.weight": torch.eye(width), "generator.bias": torch.zeros(width)}

    def draw(randn: Randn) -> Build:
        src, tgt = (
            torch.randint(1, words, (1, READ), generator=randn.generator) for words in (17, width)
        )
        sizes = 17, width, width, heads, 1, d_ff
        arguments = [tgt, even_words(randn), src]
        return Build(sizes, {}, arguments, "decode", state=state, training=True)

    label = "decode, train mode, the default dropout, the logits show whether a number is missing in what is read"
    return Case(label, draw, random=True)


def kept(name: str, value: int) -> Case:
    """A transformer that is given this argument, and its attribute of the same name."""

    def draw(randn: Randn) -> Build:
        sizes = 17, 13, D_MODEL, HEADS, 1, D_FF
        return Build(sizes, {name: value}, [name], "__getattribute__")

    return Case(
        f"the attribute {name} of a model that was made with {name}={value}", draw, random=True
    )


def source_lengths(batch: int, length: int) -> list[int]:
    """How many real tokens each source has; the first is full, and each next one has two fewer."""
    return [max(1, length - 2 * b) for b in range(batch)]


def target_lengths(batch: int, length: int) -> list[int]:
    """How many real tokens each target has; only batches of three, by one more a row, and the longest are padded."""
    if length == LONGEST:
        return [3] * batch
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
    vocabulary: int = 11,
) -> Case:
    """A scripted model, src, bos_id, eos_id and max_len for `greedy_decode`.

    Row b writes its end symbol into column ``ends[b]`` (None: not before max_len). ``special``
    holds the ids of padding, begin and end. The parts of the model in ``training`` are in train
    mode. With ``limited`` the model refuses targets beyond max_len, and to be asked once all rows
    have ended. With ``odd``, row 0 holds pad_id and bos_id as words 2 and 3.
    """
    sentences, states = max(len(ends), 2), 97 if max_len < 30 else 499
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
        options = {"rows": len(ends) * (width - 1), "max_len": max_len} if limited else {}
        arguments = {"scores": scores, "pad_id": pad_id, "training": list(training), **options}
        return [
            Instance(f"{handed_over.__name__}.ScriptedTranslator", arguments),
            source,
            bos_id,
            eos_id,
            max_len,
        ]

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
    label += f", {vocabulary} words" * (vocabulary > LONG)
    return Case(label, draw)


# ------------------------------------------------------------------------------ what decides


def at_real_positions(lengths: Callable[[int, int], list[int]]) -> Judge:
    """A judge that leaves out padding.

    It compares as float32, because sinusoids may be rounded to it before they are added in float64.
    Those of the first place, which a single word has, are 0 and 1.
    """

    def judge(expected: Tensor, got: Any) -> Judgement:
        if not isinstance(got, Tensor) or got.shape != expected.shape:
            return values_agree(expected, got)
        for b, real in enumerate(lengths(*expected.shape[:2])):
            pair = expected[b, :real], got[b, :real]
            problem = values_agree(
                *pair if expected.shape[1] == 1 else [one.float() for one in pair]
            )
            if problem:
                return f"in sentence {b} (counting from 0), {problem}"
        return None

    return judge


REAL_SOURCE, REAL_TARGET = at_real_positions(source_lengths), at_real_positions(target_lengths)


def kept_or_right(expected: Tensor | int, got: Any) -> Judgement:
    """Like `REAL_TARGET`, but a whole number is what an attribute should be."""
    if not isinstance(expected, int):
        return REAL_TARGET(expected, got)
    is_number = isinstance(got, int | Tensor) and not (isinstance(got, Tensor) and got.numel() != 1)
    if is_number and int(got) == expected:
        return None
    return (
        f"the attribute should be {expected}, as given to the constructor, but it is {kind_of(got)}"
    )


DEFAULT_DROPS = dropped(0.1)


def model_drops(expected: Tensor, got: Any) -> Judgement:
    """Like `REAL_TARGET`, but sentences of `LONG` and `READ` words were left to chance, with dropout=0.1."""
    judges = {LONG: DEFAULT_DROPS, READ: reads_all}
    return judges.get(expected.shape[1], REAL_TARGET)(expected, got)


def ids_agree(expected: Tensor, got: Any) -> Judgement:
    """Compare ids, which are whole numbers also in their dtype; another step asks about modes."""
    return values_agree(expected, got) or strict_differences(expected, got)


# ------------------------------------------------------------------------------ DecoderLayer

decoder_layer = Part(
    "DecoderLayer(d_model, num_heads, d_ff, dropout=0.1), "
    "forward(x (B, T, D), memory (B, S, D), self_mask=None, memory_mask=None) -> (B, T, D)",
    layers.DecoderLayer,
    reads=("lecture 8, on the decoder and cross-attention", LECTURE),
    disallowed=("DecoderLayer", *TRANSFORMERS),
)
# as many words as in memory: some of PyTorch's functions read beyond the end of values where there are more keys
decoder_layer.example = Case(
    "three words and three in memory",
    lambda randn: Build((4, 2, 3), arguments=[randn(1, 3, 4), randn(1, 3, 4)]),
)
ASSEMBLED = decoder_layer.step(
    "self-attention, cross-attention, feed-forward, each with its residual and norm",
    1,
    layer(B=1, T=4, S=4, sizes=(3, 1, 2)),
    layer(B=1, T=4, S=4),
    layer(B=2, T=3, S=5),
    layer(B=2, T=1, S=5),
    layer(B=2, T=4, S=1),
    layer(B=1, T=40, S=2, sizes=(3, 1, 2)),
    layer(B=1, T=2, S=130, sizes=(3, 1, 2)),
)
MASKED = decoder_layer.step(
    "self_mask hides in self-attention, memory_mask in cross-attention",
    1,
    layer(B=2, T=3, S=5, units=UNITS, self_mask=(3, 3), memory_mask=(2, 1, 1, 5)),
    layer(B=3, T=4, S=6, units=UNITS, self_mask=(3, 1, 4, 4)),
    layer(B=12, T=2, S=3, sizes=(6, 3, 2 * UNITS), units=UNITS, memory_mask=(12, 1, 1, 3)),
    layer(B=2, T=3, S=5, units=UNITS, memory_mask=(3, 5)),
    layer(B=2, T=4, S=4, units=UNITS, self_mask=(4, 4), memory_mask=(2, 1, 4, 4)),
    layer(B=2, T=3, S=5, units=UNITS, self_mask=(2, HEADS, 3, 3), memory_mask=(2, HEADS, 3, 5)),
)
LAYER_DROPS = decoder_layer.step(
    "dropout in train mode, on each sublayer's output and inside the feed-forward network",
    1,
    layer(B=3, T=5, S=7, units=UNITS, dropout=0.0, training=True),
    layer(B=2, T=3, S=5, units=UNITS, dropout=EVERYTHING, training=True),
    replace(layer(B=2, T=3, S=5, units=UNITS, dropout=0.7, times=2), random=True),
    layer(B=2, T=3, S=5, units=UNITS, dropout=0.7),
    *left_to_chance(SUBLAYERS),
    *whole_inputs(SUBLAYERS),
    judge=layer_drops,
)
BLIND_BY_HEADS = layer(
    B=2,
    T=3,
    S=5,
    units=UNITS,
    self_mask=(2, HEADS, 3, 3),
    memory_mask=(2, HEADS, 3, 5),
    blind=True,
)
LAYER_MANNERS = decoder_layer.step(
    "float64, untouched inputs, any memory layout, rows that see nothing, gradients",
    1,
    layer(B=2, T=3, S=5, units=UNITS).in_float64(),
    layer(B=1, T=130, S=2, sizes=(3, 1, 2 * UNITS), units=UNITS, self_mask=(130, 130), near=True),
    layer(B=2, T=3, S=5, units=UNITS, before=True),
    layer(B=2, T=3, S=5, units=UNITS, self_mask=(3, 3), memory_mask=(2, 1, 1, 5), before=True),
    layer(B=2, T=3, S=5, units=UNITS, self_mask=(3, 3), memory_mask=(2, 1, 1, 5), before=False),
    layer(B=2, T=3, S=5, units=UNITS, self_mask=(3, 3), memory_mask=(2, 1, 1, 5)).with_gaps(),
    layer(B=2, T=3, S=5, units=UNITS, self_mask=(2, 1, 3, 3), memory_mask=(2, 1, 3, 5), blind=True),
    BLIND_BY_HEADS,
    layer(B=2, T=3, S=5, units=UNITS).in_float64().with_gradients(),
    BLIND_BY_HEADS.in_float64().with_gradients(),
    strict=True,
)


# ------------------------------------------------------------------------------- Transformer

encoder_decoder = Part(
    "Transformer(src_vocab, tgt_vocab, d_model, num_heads, num_layers, d_ff, dropout=0.1, "
    "max_len=128, pad_id=0), encode(src (B, S)) -> memory (B, S, D), decode(tgt (B, T), memory, "
    "src) -> logits (B, T, tgt_vocab), forward(src, tgt) -> logits",
    transformer.Transformer,
    reads=("lecture 8, on what goes in, the encoder and the decoder", LECTURE),
    may_call=("DecoderLayer",),
)
encoder_decoder.example = model("forward", B=1, S=3, T=3, num_layers=1)
ENCODES = encoder_decoder.step(
    "encode: words times √d_model plus positions, through all layers, padding hidden",
    1,
    model("encode", B=2, S=5, T=3, num_layers=0),
    model("encode", B=1, S=4, T=3, num_layers=1),
    model("encode", B=3, S=7, T=3, d_model=6, vocabularies=(613, 13)),
    model("encode", B=12, S=5, T=3, num_layers=1, d_model=6),
    model("encode", B=3, S=5, T=3, num_layers=1, d_model=6, again="encode"),
    judge=REAL_SOURCE,
)
DECODES = encoder_decoder.step(
    "decode: logits that depend on the past of the target and on the source without its padding",
    2,
    model("decode", B=1, S=4, T=3, num_layers=0),
    model("decode", B=1, S=4, T=5, num_layers=1),
    model("decode", B=2, S=6, T=4),
    model("decode", B=1, S=3, T=2, num_layers=1, vocabularies=(17, 613)),
    model("decode", B=2, S=5, T=3, num_layers=1, again="decode"),
    model("decode", B=4, S=5, T=3, num_layers=1, d_model=6, again="encode"),
    # Results at padding are free, and so is the wording of an error. Either would differ
    # from that of a named mistake, so such cases are not used to recognise one: in eval mode,
    # `random` says no more.
    replace(model("decode", B=3, S=7, T=4, num_layers=1, pad_id=3), random=True),
    model("decode", B=2, S=5, T=1),
    judge=REAL_TARGET,
)
TOGETHER = encoder_decoder.step(
    "forward: both together, for any number of layers, pad_id, width and max_len",
    1,
    model("forward", B=2, S=5, T=3, d_model=6),
    model("forward", B=1, S=4, T=3, num_layers=7, d_model=6),
    model("forward", B=2, S=5, T=3, num_layers=1, d_model=6, again="forward"),
    model("forward", B=2, S=7, T=5, d_model=6, pad_id=4),
    model("forward", B=2, S=5, T=3, d_model=9),
    model("forward", B=2, S=4, T=3, num_layers=1, vocabularies=(15, 15)),
    model("forward", B=2, S=6, T=6, d_model=6, max_len=6),
    model("forward", B=1, S=128, T=128, num_layers=0),  # the default max_len is enough
    model("forward", B=1, S=133, T=134, num_layers=0, max_len=135),
    # longer than masks of a fixed size
    model(
        "forward",
        B=1,
        S=2,
        T=LONGEST,
        num_layers=1,
        d_model=2,
        num_heads=1,
        d_ff=4,
        vocabularies=(5, 4),
        max_len=270,
    ),
    kept("pad_id", 4),
    *(
        replace(
            model("forward", B=2, S=S, T=T, num_layers=0, max_len=6),
            raises=("ValueError",),
            random=True,
        )
        for S, T in ((7, 3), (3, 7))
    ),
    judge=kept_or_right,
)
MODEL_DROPS = encoder_decoder.step(
    "dropout in train mode, also on the sum of word and position; float64, gradients",
    1,
    model("forward", B=2, S=5, T=4, d_model=6, dropout=0.0, training=True),
    model("forward", B=2, S=5, T=3, d_model=6, dropout=EVERYTHING, training=True),
    model("encode", B=1, S=5, T=3, dropout=EVERYTHING, training=True),
    replace(model("encode", B=1, S=LONG, T=3, num_layers=0, training=True), random=True),
    whole_memory(),
    model("forward", B=2, S=5, T=3, d_model=6, dropout=0.7),
    model("forward", B=2, S=5, T=3, d_model=6).in_float64(),
    model("forward", B=2, S=1, T=1, d_model=9).in_float64(),  # √9 is the same in float32
    model("forward", B=2, S=5, T=3, d_model=6).with_gaps(),
    model("forward", B=2, S=5, T=3, num_layers=1, d_model=6).with_gradients(),
    judge=model_drops,
    strict=True,
)


# ----------------------------------------------------------------------------- greedy_decode

greedy = Part(
    "greedy_decode(model, src (B, S), bos_id, eos_id, max_len) -> ids (B, L)",
    transformer.greedy_decode,
    reads=("lecture 8, on writing and on eval mode", LECTURE),
)
LIKELIEST = greedy.step(
    "the most likely word, again and again, given the source and all words so far",
    1,
    script(5, max_len=9),
    script(4, 4, max_len=8),
    script(None, None, max_len=7),
    script(*range(3, 15), max_len=16),
    script(5, max_len=9, vocabulary=613),
    script(60, max_len=70),
)
ENDS = greedy.step(
    "eos_id stays, pad_id follows, and the result ends with the last row or at max_len columns",
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
    judge=ids_agree,
)
MODES = greedy.step(
    "every part of the model writes in eval mode, and has its own mode back afterwards",
    1,
    script(4, 6, 3, max_len=9, training=("", "encoder", "decoder")),
    script(5, 3, max_len=9, training=("", "decoder")),
    script(3, 5, max_len=9, training=("encoder",)),
    script(2, 5, max_len=9, training=("",)),
    script(5, 2, max_len=9),
    strict=True,
)
