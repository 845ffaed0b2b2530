"""The view of a look inside: a model that copies, its heads switched off, and a vector put back."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from course_utils import inside
from course_utils.masks import causal_mask
from course_utils.modern import ModernLanguageModel, attention_maps
from lecture_kit.experiments.repeated_tokens import VOCABULARY, distinct
from lecture_kit.live.page import View, framed, plain_table
from lecture_kit.trained import copiers
from lecture_kit.trained.translators import packed

BLOCK = (39, 48, 54, 46, 29, 12, 21, 0, 19, 1, 33, 3)
PLACE = 2
"""The tokens of the first copy at the start, and the position in it that is shown first."""

SIZES = range(6, 13)
"""Tokens in a block: a phone shows twelve words side by side."""

MOST_MODELS, MOST_LAYERS, MOST_HEADS = 3, 4, 8

ROWS = 200
"""Sequences over which the means of the heads are taken."""


def inside_view(
    models: Mapping[str, ModernLanguageModel] | None = None,
    *,
    block: Sequence[int] = BLOCK,
    caption: str = "Inside a model that copies: its heads switched off, or one vector put back",
) -> View:
    """A view in which the reader looks into models that copy a block of random tokens.

    The models themselves run in the page, with their matrices in 8 bits. The reader chooses a head and a
    word and sees where the head attends; switches heads off, and sees what the model predicts after each
    word of the second copy; or replaces a word of the first copy and puts one vector of the clean run back.

    Args:
        models: by the names that the reader sees, 1 to 3 trained models with the 64 tokens of
            `lecture_kit.experiments.repeated_tokens`; None shows the two of `lecture_kit.trained.copiers`.
        block: 6 to 12 different tokens, which come twice in the sequence.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.

    Returns:
        View: HTML below 300 kB with the two models.

    Raises:
        TypeError: a model is none of the course's.
        ValueError: a model or the block does not fit, or there is no caption.

    Source: Olsson et al. (2022); Meng et al. (2022), section 2.1; lecture 12.
    """
    if models is None:
        models = {
            name: copiers.recorded(which) for name, which in zip("AB", copiers.NAMES, strict=True)
        }
    if not 1 <= len(models) <= MOST_MODELS:
        raise ValueError(
            f"models: expected 1 to {MOST_MODELS} models by their names; found {len(models)}. Show the "
            "others in a view of their own."
        )
    for name, model in models.items():
        _refuse_model(name, model)
    tokens = _checked(block)
    content = {
        "words": copiers.WORDS,
        "block": tokens,
        "place": PLACE,
        "head": _firmest(next(iter(models.values())), tokens),
        "models": [_about(name, model) for name, model in models.items()],
    }
    late = {"models": [packed(model.state_dict()) for model in models.values()]}
    return framed("inside", caption, content, _table(models, tokens, caption), 640, late)


def _refuse_model(name: str, model: ModernLanguageModel) -> None:
    if not isinstance(model, ModernLanguageModel):
        raise TypeError(
            f"{name}: expected a ModernLanguageModel; found {type(model).__name__}. The page can compute "
            "no other."
        )
    tokens, layers = model.embedding.num_embeddings, len(model.layers)
    heads = _first_layer(model).num_heads if layers else 0
    if tokens != VOCABULARY or not (1 <= layers <= MOST_LAYERS and 1 <= heads <= MOST_HEADS):
        raise ValueError(
            f"{name}: expected a model of {VOCABULARY} tokens, 1 to {MOST_LAYERS} layers and 1 to "
            f"{MOST_HEADS} heads; found {tokens} tokens, {layers} layers and {heads} heads. "
            "Train one as lecture_kit.experiments.repeated_tokens does."
        )


def _first_layer(model: ModernLanguageModel) -> Any:
    return model.layers[0]  # of a list of modules, which PyTorch types as any module


def _checked(block: Sequence[int]) -> list[int]:
    tokens = [int(token) for token in block]
    right = all(0 <= token < VOCABULARY for token in tokens)
    if len(tokens) not in SIZES or len(set(tokens)) != len(tokens) or not right:
        raise ValueError(
            f"block: expected {SIZES[0]} to {SIZES[-1]} different tokens from 0 to {VOCABULARY - 1}; "
            f"found {tokens!r:.80}. A token that comes twice within a block has two words after it."
        )
    return tokens


def _firmest(model: ModernLanguageModel, block: list[int]) -> list[int]:
    """The head of the last layer that is shown first: the one with the largest induction score."""
    maps = attention_maps(model, torch.tensor([block * 2]))
    scores = inside.induction_score(maps[-1], len(block))
    return [len(model.layers) - 1, int(scores.argmax())]


def _about(name: str, model: ModernLanguageModel) -> dict[str, Any]:
    """What the page has to know beside the weights."""
    layer = _first_layer(model)
    means = [[[round(x, 6) for x in head] for head in heads] for heads in _means(model).tolist()]
    return {
        "name": name,
        "heads": layer.num_heads,
        "base": layer.base,
        "eps": layer.norm1.eps,
        "means": means,
    }


@torch.no_grad()
def _means(model: ModernLanguageModel) -> Tensor:
    """What each head gives on average over sequences of other words: (L, H, d_k)."""
    ids = distinct(ROWS, 2 * SIZES[-1], SIZES[-1], torch.Generator().manual_seed(0))
    mask = causal_mask(ids.shape[1])
    layers: Any = model.layers
    found = [
        layer.attend(layer.norm1(x), mask)[0].mean(dim=(0, 2))  # (B, H, T, d_k) → (H, d_k)
        for layer, x in zip(layers, inside.streams(model.eval(), ids), strict=False)
    ]
    return torch.stack(found)


def _table(models: Mapping[str, ModernLanguageModel], block: list[int], caption: str) -> str:
    """What stands in where no script runs: for each head its score, and what is right without it."""
    ids, period = torch.tensor([block * 2]), len(block)
    answers = torch.tensor(block[1:] + block[:1])  # after the last token the block begins again
    rows: list[tuple[str, list[str]]] = []
    for name, model in models.items():
        maps = attention_maps(model, ids)
        with torch.no_grad():
            rows.append((f"{name}, all heads on", ["", *_judged(model(ids), answers)]))
        for layer, of_layer in enumerate(maps):
            for head, score in enumerate(inside.induction_score(of_layer, period).tolist()):
                logits = inside.ablate_heads(model, ids, [(layer, head)])
                texts = [f"{score:.2f}", *_judged(logits, answers)]
                rows.append((f"{name}, without head {head} of layer {layer}", texts))
    return plain_table(caption, ["induction score", "right", "loss"], rows)


def _judged(logits: Tensor, answers: Tensor) -> list[str]:
    """How many of the words after the second copy's are right, and the loss on them."""
    second = logits[0, len(answers) :]  # (period, V)
    right = int((second.argmax(dim=-1) == answers).sum())
    loss = torch.nn.functional.cross_entropy(second, answers).item()
    return [f"{right} of {len(answers)}", f"{loss:.2f}"]
