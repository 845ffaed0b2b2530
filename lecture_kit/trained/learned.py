"""Attention that has learned something: maps of the course's own translator on real sentences.

The translator is the transformer of lecture 8, trained as that lecture trains it: from German to
English, 2 layers, 4 heads of width 16. For a few sentences of the corpus that it was not trained on,
its attention weights are kept here, beside those of the same network before training.
`sources/recorded/learned_maps.py` makes them; nothing is trained or fetched when they are looked at.

Weights are rounded to 4 decimals, so a row sums to one within 0.001; vectors are rounded to 3. Weights
that a mask hides are exactly 0. Another training ends with other numbers, and may give a head's work to another head.

Shapes: L layers, H heads, S German words with <eos>, T English words, d_k width of a head. Layers and
heads are counted from 1, in tensors from 0: layer 2, head 3 of the encoder is `encoder[1, 2]`, or
`weights("encoder", layer=2, head=3)`.

    from lecture_kit import plotting
    from lecture_kit.trained import learned

    example = learned.sentence("help")
    weights = example.weights("cross", layer=2, head=3)  # (T, S)
    plotting.attention_map(weights, *example.words("cross"))
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

KINDS = ("encoder", "decoder", "cross")
"""Encoder self-attention, masked decoder self-attention, and cross-attention of the decoder."""

UNIT = 10_000  # weights are stored as whole numbers of ten-thousandths


@dataclass(frozen=True, slots=True)
class Maps:
    """All attention weights of one network on one sentence.

    Attributes:
        encoder: (L, H, S, S) self-attention of the German words.
        decoder: (L, H, T, T) masked self-attention of the English words; 0 above the diagonal.
        cross: (L, H, T, S) from the English words to the German ones.
    """

    encoder: Tensor
    decoder: Tensor
    cross: Tensor


@dataclass(frozen=True, slots=True)
class Head:
    """What one head of the trained network compares and mixes on one sentence.

    Attributes:
        kind: one of `KINDS`.
        layer, head: which one, counted from 1.
        query: (T, d_k), or (S, d_k) in the encoder.
        key: (S, d_k), or (T, d_k) in the decoder.
        value: as many rows as keys, (S, d_v) or (T, d_v), d_v = d_k.

    The weights are softmax(query keyᵀ / √d_k), in the decoder with what lies ahead hidden, and the
    output is weights · value, (T, d_v), both to within rounding.

    Source: Vaswani et al. (2017), eq. 1; lecture 3.
    """

    kind: str
    layer: int
    head: int
    query: Tensor
    key: Tensor
    value: Tensor


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, how the trained network translates it, and where it looks meanwhile.

    Attributes:
        name: a short name, for `sentence`.
        source: the S German words, "<eos>" last.
        target: the T English words that the decoder reads, "<bos>" first.
        says: the T words that it says next, after each of them, "<eos>" last.
        translation: what the trained network writes, greedily, without special words. It is also
            what the decoder reads in all maps, so that both networks are shown the same words.
        reference: the translation in the corpus.
        encoder, decoder, cross: weights of the trained network, shapes as in `Maps`.
        untrained: weights of the same network before training, as `Maps`.
        heads: a few heads with queries, keys and values, as `Head`s.
    """

    name: str
    source: list[str]
    target: list[str]
    says: list[str]
    translation: str
    reference: str
    encoder: Tensor
    decoder: Tensor
    cross: Tensor
    untrained: Maps
    heads: tuple[Head, ...]

    def weights(self, kind: str, layer: int, head: int, untrained: bool = False) -> Tensor:
        """The map of one head.

        Args:
            kind: "encoder", "decoder" or "cross".
            layer, head: counted from 1.
            untrained: take the network before training.

        Returns:
            (queries, keys) tensor: (S, S), (T, T) or (T, S).

        Raises:
            ValueError: there is no such kind, layer or head.
        """
        maps = getattr(self.untrained if untrained else self, _checked(kind))  # (L, H, …)
        for name, number, size in (("layer", layer, len(maps)), ("head", head, maps.shape[1])):
            if number not in range(1, size + 1):
                raise ValueError(f"expected a {name} from 1 to {size}, found {number!r}")
        return maps[layer - 1, head - 1].clone()

    def words(self, kind: str) -> tuple[list[str], list[str]]:
        """The words along the two sides of a map, as `plotting.attention_map` takes them.

        Args:
            kind: "encoder", "decoder" or "cross".

        Returns:
            (queries, keys), two lists. The queries of "cross" are the words that the decoder is about
            to say, `says`: those are what it is looking for.

        Raises:
            ValueError: there is no such kind.
        """
        sides = {
            "encoder": (self.source, self.source),
            "decoder": (self.target, self.target),
            "cross": (self.says, self.source),
        }
        queries, keys = sides[_checked(kind)]
        return list(queries), list(keys)


@dataclass(frozen=True, slots=True)
class Measure:
    """How often a head does what its map on one sentence suggests, counted on many sentences.

    Attributes:
        what: what is counted, in words.
        kind, layer, head: of which head, counted from 1.
        cases: how many queries were asked.
        sentences: of how many held-out sentences.
        trained: share of the cases in which the trained head does it.
        untrained: the same for that head before training.
        chance: the same for a head that picks any word blindly, each with the same probability.
    """

    what: str
    kind: str
    layer: int
    head: int
    cases: int
    sentences: int
    trained: float
    untrained: float
    chance: float


def sentences() -> list[Sentence]:
    """All stored sentences, with tensors of their own.

    Returns:
        list of `Sentence`.
    """
    return [_sentence(stored) for stored in _stored()["sentences"]]


def sentence(name: str) -> Sentence:
    """One stored sentence.

    Args:
        name: its name.

    Returns:
        `Sentence`.

    Raises:
        ValueError: no sentence has this name; the message lists those that there are.
    """
    return _sentence(_named(_stored()["sentences"], "sentence", name))


def measure(name: str) -> Measure:
    """One count over many sentences.

    Args:
        name: its name.

    Returns:
        `Measure`.

    Raises:
        ValueError: no count has this name; the message lists those that there are.
    """
    found = _named(_stored()["measures"], "measure", name)
    return Measure(**{key: value for key, value in found.items() if key != "name"})


@cache
def _stored() -> dict[str, Any]:
    return json.loads(
        files("lecture_kit.trained").joinpath("learned.json").read_text(encoding="utf-8")
    )


def _named(entries: list[dict[str, Any]], what: str, name: str) -> dict[str, Any]:
    for entry in entries:
        if entry["name"] == name:
            return entry
    known = ", ".join(repr(entry["name"]) for entry in entries)
    raise ValueError(f"expected the name of a {what}, one of {known}; found {name!r}")


def _checked(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"expected one of {', '.join(map(repr, KINDS))}, found {kind!r}")
    return kind


def _sentence(stored: dict[str, Any]) -> Sentence:
    written = stored["translation"].split()
    trained = _maps(stored["trained"])
    return Sentence(
        name=stored["name"],
        source=[*stored["source"].split(), "<eos>"],
        target=["<bos>", *written],
        says=[*written, "<eos>"],
        translation=stored["translation"],
        reference=stored["reference"],
        encoder=trained.encoder,
        decoder=trained.decoder,
        cross=trained.cross,
        untrained=_maps(stored["untrained"]),
        heads=tuple(_head(head) for head in stored["heads"]),
    )


def _maps(stored: dict[str, Any]) -> Maps:
    """Whole numbers as weights; rows of the decoder are stored up to the diagonal."""
    decoder = [
        [[row + [0] * (len(rows) - len(row)) for row in rows] for rows in layer]
        for layer in stored["decoder"]
    ]
    return Maps(
        encoder=torch.tensor(stored["encoder"]) / UNIT,
        decoder=torch.tensor(decoder) / UNIT,
        cross=torch.tensor(stored["cross"]) / UNIT,
    )


def _head(stored: dict[str, Any]) -> Head:
    vectors = {name: torch.tensor(stored[name]) for name in ("query", "key", "value")}
    return Head(stored["kind"], stored["layer"], stored["head"], **vectors)
