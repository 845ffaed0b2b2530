"""The course's two trained translators, German to English, ready to be asked.

The transformer is that of lecture 8 and the recurrent network with attention that of lecture 1, each
trained as its lecture trains it. `sources/recorded/trained_translators.py` makes the file that is read
here, and says what storing them costs; nothing is trained or fetched when they are asked.

    from lecture_kit.trained import translators

    lecture_8 = translators.recorded("transformer")
    lecture_8.translate("kannst du mir helfen , diesen satz zu übersetzen ?")

A matrix is stored as a whole number of 8 or 16 bits for each weight and one scale for each row, a vector as
float32.
"""

import base64
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils import rnn, transformer
from lecture_kit import data

NAMES = ("transformer", "recurrent")
"""The transformer of lecture 8, and the recurrent network with attention of lecture 1."""

MAX_TOKENS = 40
"""The most words that a translation has, <bos> and <eos> included."""

BITS = {8: "<i1", 16: "<i2"}
"""Of the whole numbers that stand for weights, and their type."""


@dataclass(frozen=True, slots=True)
class Translator:
    """A trained model and the words of its two languages.

    Attributes:
        model: a `transformer.Transformer` or an `rnn.Seq2Seq`, in eval mode.
        german, english: its vocabularies.
    """

    model: rnn.Seq2Seq | transformer.Transformer
    german: data.Vocabulary
    english: data.Vocabulary

    def translate(self, sentence: str) -> str:
        """The greedy translation of a German sentence, any capitals and spaces.

        Raises:
            ValueError: a word is unknown; the message names similar words that are known.
        """
        source = data.collate([data.Pair(data.tokenize(sentence), "")], self.german, self.english)
        return self.english.decode(self.write(source.source)[0])

    def write(self, source: Tensor) -> Tensor:
        """Greedy translations, (B, S) int64 ids → (B, L) int64 ids."""
        ends = (data.BOS_ID, data.EOS_ID, MAX_TOKENS)
        if isinstance(self.model, rnn.Seq2Seq):
            return rnn.translate(self.model, source, *ends)[0]
        return transformer.greedy_decode_cached(self.model, source, *ends)


def recorded(name: str = "transformer") -> Translator:
    """One of the trained translators, with weights of its own.

    Args:
        name: "transformer" or "recurrent", see `NAMES`.

    Returns:
        `Translator`.

    Raises:
        ValueError: there is no such translator.
    """
    if name not in NAMES:
        raise ValueError(
            f"expected the name of a translator, one of {', '.join(map(repr, NAMES))}; found {name!r}"
        )
    stored = _stored()
    german, english = (data.Vocabulary(stored[side].split()) for side in ("german", "english"))
    model = new_model(name, len(german), len(english))
    model.load_state_dict(unpacked(stored[name]))
    return Translator(model.eval(), german, english)


def new_model(name: str, german: int, english: int) -> rnn.Seq2Seq | transformer.Transformer:
    """A model of the size that the lecture trains, with fresh weights.

    Args:
        name: see `NAMES`.
        german, english: numbers of words.
    """
    if name == "transformer":
        return transformer.Transformer(german, english, 64, 4, 2, 128, dropout=0.0)
    return rnn.Seq2Seq(german, english, 128, 28, 64)


def sentences() -> list[str]:
    """Held-out German sentences to try, drawn from the grammar, short ones and long ones."""
    return _stored()["sentences"]


@cache
def _stored() -> dict[str, Any]:
    path = files("lecture_kit.trained").joinpath("translators.json")
    return json.loads(path.read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------------ storing weights


def packed(weights: dict[str, Tensor], bits: int = 8) -> dict[str, Any]:
    """Weights as text: each matrix as whole numbers with a scale for each row, vectors as they are.

    scale = max |w| / (2^(bits - 1) - 1) over the row,  stored = round(w / scale)

    Args:
        weights: name → float tensor of one axis or two, as `nn.Module.state_dict` gives them.
        bits: 8 or 16.

    Returns:
        dict with "bits", "parts", a list of [name, shape], and "bytes", base64 of all parts in turn,
        little endian: of a matrix (R, C) the R scales as float32 and R · C whole numbers, of a
        vector its numbers as float32.

    Raises:
        ValueError: bits are others; a tensor has more axes, or holds a number that is not finite.
    """
    if bits not in BITS:
        raise ValueError(
            f"bits: expected 8 or 16; found {bits!r}. 8 is enough for the transformer."
        )
    parts, stored = [], bytearray()
    for name, tensor in weights.items():
        numbers = tensor.detach().cpu().numpy().astype("<f4")
        if numbers.ndim not in (1, 2) or not np.isfinite(numbers).all():
            raise ValueError(
                f"{name}: expected a matrix or a vector of finite numbers; found the shape "
                f"{numbers.shape}. Train again, or show another model."
            )
        parts.append([name, list(numbers.shape)])
        if numbers.ndim == 2:
            largest = np.abs(numbers).max(axis=1)  # (R,)
            scales = (np.maximum(largest, 1e-30) / (2 ** (bits - 1) - 1)).astype("<f4")
            stored += scales.tobytes()
            numbers = np.rint(numbers / scales[:, None]).astype(BITS[bits])
        stored += numbers.tobytes()
    return {"bits": bits, "parts": parts, "bytes": base64.b64encode(stored).decode()}


def unpacked(stored: dict[str, Any]) -> dict[str, Tensor]:
    """The weights that `packed` stored, as float32 tensors."""
    content, kind = base64.b64decode(stored["bytes"]), BITS[stored["bits"]]
    weights, start = {}, 0
    for name, shape in stored["parts"]:
        rows, size = shape[0], int(np.prod(shape))
        numbers = np.frombuffer(content, "<f4", rows, start)  # (R,): scales, or the vector
        start += numbers.nbytes
        if len(shape) == 2:
            whole = np.frombuffer(content, kind, size, start).reshape(shape)  # (R, C)
            start += whole.nbytes
            numbers = whole.astype(np.float32) * numbers[:, None]
        weights[name] = torch.from_numpy(numbers.copy())
    return weights
