"""The view of writing: the next token's distribution of a trained model, cut and drawn from by hand."""

from collections.abc import Sequence
from typing import Any

import torch

from course_utils.language_models import CausalLanguageModel, next_token_probabilities
from lecture_kit import data
from lecture_kit.live.page import View, framed, plain_table
from lecture_kit.trained import translators

SHOWN = 12
"""Words in the picture and in the table that stands in for it."""


def writing_view(
    model: CausalLanguageModel,
    vocabulary: data.Vocabulary,
    beginning: Sequence[str] = (),
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    caption: str = "The next token, and what temperature, top-k and top-p leave of it",
) -> View:
    """A view in which the reader generates with a causal language model, token by token.

    The model itself runs in the page, with its matrices in 8 bits. The reader sees how probable each
    next token is, changes temperature, top-k and top-p, and draws one, takes the likeliest or chooses.

    Args:
        model: a trained model.
        vocabulary: its words; ids beyond them are never drawn.
        beginning: the words that stand there at the start.
        temperature, top_k, top_p: where the controls stand at the start; None cuts nothing.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.

    Returns:
        View: HTML below 1 MB.

    Raises:
        TypeError: the model is none of the course's causal ones.
        ValueError: a word is unknown, the beginning is as long as the model can read, a number is
            out of range, or there is no caption.

    Source: Holtzman et al. (2020), section 3; lecture 9.
    """
    if not isinstance(model, CausalLanguageModel):
        raise TypeError(
            f"model: expected a CausalLanguageModel; found {type(model).__name__}. The page can compute "
            "no other."
        )
    ids = vocabulary.encode(" ".join(beginning))
    longest = model.position_embedding.num_embeddings
    if len(ids) + 1 >= longest:
        raise ValueError(
            f"beginning: expected fewer than {longest - 1} words; found {len(ids)}. The model reads no "
            "longer sentences, and begins with <bos>."
        )
    if not 0 <= temperature <= 2:
        raise ValueError(f"temperature: expected a number from 0 to 2; found {temperature!r:.40}.")
    read = torch.tensor([[data.BOS_ID, *ids]])
    with torch.no_grad():
        logits = model.eval()(read)[:, -1, : len(vocabulary)]  # (1, V)
    kept = next_token_probabilities(logits, temperature, top_k, top_p)[0]
    layers: Any = model.layers  # a list of modules, which PyTorch types as any module
    content = {
        "words": vocabulary.words,
        "beginning": ids,
        "heads": layers[0].self_attn.num_heads,
        "temperature": temperature,
        "k": top_k,
        "p": top_p,
        "shown": SHOWN,
    }
    table = _table(vocabulary, beginning, logits[0].softmax(dim=-1), kept, caption)
    late = translators.packed(model.state_dict())
    return framed("writing", caption, content, table, height=620, late=late)


def _table(
    vocabulary: data.Vocabulary,
    beginning: Sequence[str],
    chances: torch.Tensor,
    kept: torch.Tensor,
    caption: str,
) -> str:
    """The likeliest tokens: what the model predicts, and what is left after the cuts."""
    rows = [
        (
            vocabulary.words[word],
            [f"{chances[word]:.3f}", f"{kept[word]:.3f}" if kept[word] else "cut"],
        )
        for word in chances.topk(min(SHOWN, len(chances))).indices.tolist()
    ]
    begun = f"after “{' '.join(beginning)}”" if beginning else "at the beginning of a sentence"
    return plain_table(f"{caption}, {begun}", ["the model predicts", "drawn with"], rows)
