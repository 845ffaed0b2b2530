"""The view of a whole translator: it runs in the page, can be stepped through, and taken apart."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import nn

from course_utils import rnn
from course_utils.transformer import Transformer
from lecture_kit import data
from lecture_kit.live.page import View, framed, plain_table
from lecture_kit.trained import translators
from lecture_kit.trained.translators import Translator

LONGEST = 28
"""Words and marks of a German sentence; longer ones are not in the corpus."""

MOST_SENTENCES = 1_000

BITS = {Transformer: 8, rnn.Seq2Seq: 16}
"""Of the whole numbers that stand for weights in the page: as many as change no translation."""


def translation_view(
    translator: Translator | str = "transformer",
    sentence: str = data.EXAMPLE.source,
    sentences: Sequence[str] | None = None,
    caption: str = "Watch it translate: a whole translator, word by word",
    small: bool = False,
) -> View:
    """A view in which a trained translator works: the reader types, steps, opens and takes apart.

    The page carries the weights, with a scale for each row of a matrix, and its script computes what
    the model computes: each translation anew, greedily, with every number between a German word and an
    English one. Attention, norms and positions open in the views of `attention_view`,
    `normalisation_view` and `positions_view`.

    Args:
        translator: the name of a recorded one, see `translators.NAMES`, or a model of the reader's own
            with its vocabularies: a `transformer.Transformer`, whose weights are rounded to 8 bits, or
            an `rnn.Seq2Seq` with attention, whose weights are rounded to 16.
        sentence: German, shown at the start; any capitals and spaces.
        sentences: German sentences to draw from, and to complete by; None takes the stored ones.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.
        small: without the section that takes it apart.

    Returns:
        View: HTML below 700 kB for the course's own translators.

    Raises:
        TypeError: the model is another one.
        ValueError: there is no such translator; a recurrent one without attention; a word of a
            sentence is unknown; a sentence of more than 28 words; more than 1 MB; no caption.

    Source: Vaswani et al. (2017), figure 1; Bahdanau et al. (2015), section 3; lectures 1 and 8.
    """
    recorded = translator if isinstance(translator, str) else None
    asked = translators.recorded(translator) if isinstance(translator, str) else translator
    kind = _kind(asked.model)
    known = _sentences(asked, sentences)
    start = _checked(asked, sentence)
    content = {
        "kind": kind,
        "german": asked.german.words,
        "english": asked.english.words,
        "layers": 1,
        "sentence": start,
        "sentences": known,
        "longest": LONGEST,
        "small": bool(small),
        "tries": [] if small or recorded is None else tries()[recorded],
    }
    if isinstance(asked.model, Transformer):
        layers: Any = (
            asked.model.encoder_layers
        )  # a list of modules, which PyTorch types as any module
        content |= {"layers": len(layers), "heads": layers[0].self_attn.num_heads}
    late = translators.packed(asked.model.state_dict(), BITS[type(asked.model)])
    return framed("translation", caption, content, _table(asked, start, caption), 900, late)


@cache
def tries() -> dict[str, list[dict[str, Any]]]:
    """What is worth trying with the recorded translators, by their names.

    Returns:
        lists of dicts with "title" and "says", what the reader sees, "link", the address of the state,
        "writes", the translation that comes out, and where something is switched off "changes", how
        many of the stored sentences then come out otherwise than as trained.
    """
    path = files("lecture_kit.live").joinpath("tries.json")
    return json.loads(path.read_text(encoding="utf-8"))


def _kind(model: nn.Module) -> str:
    if isinstance(model, Transformer):
        return "transformer"
    if not isinstance(model, rnn.Seq2Seq):
        raise TypeError(
            f"translator: expected a model of lecture 1 or 8, an rnn.Seq2Seq or a "
            f"transformer.Transformer; found {type(model).__name__}. The page can compute only these."
        )
    if model.attention is None:
        raise ValueError(
            "translator: expected a recurrent model with attention; found one without. Train it with "
            "an attention_dim."
        )
    return "recurrent"


def _sentences(translator: Translator, sentences: Sequence[str] | None) -> list[str]:
    """Sentences to draw from; of the stored ones those that the translator knows every word of."""
    if sentences is None:
        return [
            one
            for one in translators.sentences()
            if all(word in translator.german for word in one.split())
        ]
    if isinstance(sentences, str) or not 1 <= len(sentences) <= MOST_SENTENCES:
        raise ValueError(
            f"sentences: expected a list of 1 to {MOST_SENTENCES} German sentences; found "
            f"{sentences!r:.80}. Leave them out to take the stored ones."
        )
    return [_checked(translator, one) for one in sentences]


def _checked(translator: Translator, sentence: str) -> str:
    tokens = data.tokenize(sentence)
    length = len(translator.german.encode(tokens))
    if not 1 <= length <= LONGEST:
        raise ValueError(
            f"sentence: expected 1 to {LONGEST} words and punctuation marks; found {length} in {sentence!r:.80}. "
            "The model has read no others."
        )
    return tokens


def _table(translator: Translator, sentence: str, caption: str) -> str:
    """What stands in where no script runs: what is written, and how sure it is of each word."""
    pair = data.Pair(sentence, translator.translate(sentence))
    source, target = data.collate([pair], translator.german, translator.english)
    with torch.no_grad():
        logits = translator.model(source, target[:, :-1])
    if isinstance(logits, tuple):
        logits = logits[0]
    chances = logits[0].softmax(dim=-1)  # (T, V)
    rows: list[tuple[str, list[str]]] = []
    for place, row in enumerate(chances):
        best = row.topk(2)
        words: list[Any] = [translator.english.words[k] for k in best.indices]
        shown = [f"{words[0]} {best.values[0]:.3f}", f"{words[1]} {best.values[1]:.3f}"]
        rows.append((f"word {place + 1}", shown))
    return plain_table(f"{caption}. “{sentence}” becomes", ["is written", "would be next"], rows)
