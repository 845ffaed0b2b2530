"""The two trained models of lecture 12, which copy tokens that come again, ready to be looked into.

Both are trained alike, by `lecture_kit.experiments.repeated_tokens`, from different seeds. In the one a head of layer 1
looks at the token after the earlier copy, as an induction head does; in the other layer 1 looks further, so
that the induction score finds nothing. `sources/recorded/trained_copiers.py` makes the file that is read
here, and says what storing them costs; nothing is trained when they are asked for.

    from lecture_kit.trained import copiers

    model = copiers.recorded("next")
    model(torch.tensor([[5, 17, 40, 5]])).argmax(dim=-1)

Weights are stored as `lecture_kit.trained.translators.packed` stores them, in 8 bits.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from course_utils.modern import ModernLanguageModel
from lecture_kit.experiments.repeated_tokens import D_FF, D_MODEL, HEADS, VOCABULARY
from lecture_kit.trained.translators import unpacked

NAMES = ("next", "further")
"""Where layer 1 looks: at the token after the earlier copy, or further."""

LAYERS = 2

WORDS = tuple(consonant + vowel for consonant in "bdfghklmnprstvwz" for vowel in "aeio")
"""A syllable for each of the 64 tokens, so that a row can be read aloud."""


def recorded(name: str = "next") -> ModernLanguageModel:
    """One of the trained models, in eval mode, with weights of its own.

    Args:
        name: "next" or "further", see `NAMES`.

    Raises:
        ValueError: there is no such model.
    """
    if name not in NAMES:
        raise ValueError(
            f"expected the name of a model, one of {', '.join(map(repr, NAMES))}; found {name!r}"
        )
    model = ModernLanguageModel(VOCABULARY, D_MODEL, HEADS, LAYERS, D_FF)
    model.load_state_dict(unpacked(_stored()[name]))
    return model.eval()


@cache
def _stored() -> dict[str, Any]:
    path = files("lecture_kit.trained").joinpath("copiers.json")
    return json.loads(path.read_text(encoding="utf-8"))
