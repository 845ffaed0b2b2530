"""Looking inside a trained language model: scores of heads, ablation, patching and the logit lens.

Shapes: B batch, H heads, T length, D = d_model, d_k = D / H width of a head, L layers, V vocabulary.
The model is a `course_utils.modern.ModernLanguageModel`, or one with the same parts. Every function
looks at it in eval mode and leaves it as it was, also after an error.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask


def induction_score(
    weights: Float[Tensor, "B H T T"], period: int, start: int = 0
) -> Float[Tensor, "H"]:
    """How much each head looks at the word that followed the same word earlier.

    The tokens from `start` on are a block of `period` tokens that is repeated. For a query i of a
    later copy, the score is the sum of its weights on the keys i - m · period + 1, m = 1, 2, …, which
    are the words after earlier copies of the token i. The result is the mean over sentences and over
    the queries start + period … T - 1.

    Args:
        weights: queries as rows.
        period: length of the block, 2 or more; the last copy may be cut short.
        start: place of the first token of the first copy.

    Raises:
        ValueError: no token is repeated, because start + period ≥ T.

    Source: Olsson et al. (2022), appendix on head activation evaluators, prefix matching.
    """
    length = weights.shape[-1]
    if start + period >= length:
        raise ValueError(
            f"expected a block that is repeated within {length} tokens, but the first copy begins at "
            f"{start} and has {period} tokens"
        )
    query = torch.arange(length, device=weights.device).unsqueeze(1)  # (T, 1)
    key = torch.arange(length, device=weights.device)  # (T,)
    back = query + 1 - key  # how far back the copy is whose next word is the key, (T, T)
    follows = (back > 0) & (back % period == 0) & (key > start)  # (T, T)
    sums = (weights * follows).sum(dim=-1)  # (B, H, T)
    return sums[:, :, start + period :].mean(dim=(0, 2))


def ablate_heads(
    model: Any,
    token_ids: Int[Tensor, "B T"],
    heads: Collection[tuple[int, int]],
    means: Float[Tensor, "L H d_k"] | None = None,
) -> Float[Tensor, "B T V"]:
    """The logits when some heads say nothing, or always the same.

    What these heads hand to `w_o` becomes zero, or their mean, and the rest of the pass goes on from
    there, so later layers see the change.

    Args:
        heads: list, tuple or set of pairs (layer, head), counted from 0.
        means: what each head says on average; None is zero.

    Raises:
        ValueError: a pair is outside the model.

    Source: Olsson et al. (2022), zero ablation; Wang et al. (2023), section 2.1, mean ablation.
    """
    num_layers, num_heads = len(model.layers), model.layers[0].num_heads
    for layer, head in heads:
        if not (0 <= layer < num_layers and 0 <= head < num_heads):
            raise ValueError(
                f"expected a layer from 0 to {num_layers - 1} and a head from 0 to "
                f"{num_heads - 1}, found the pair ({layer}, {head})"
            )

    def silenced(layer):
        def change(module, arguments):
            (merged,) = arguments  # (B, T, D)
            cut = merged.unflatten(-1, (num_heads, -1)).clone()  # (B, T, H, d_k)
            for its_layer, head in heads:
                if its_layer == layer:
                    cut[:, :, head] = 0.0 if means is None else means[layer, head]
            return (cut.flatten(start_dim=-2),)

        return change

    changes = {model.layers[layer].w_o: silenced(layer) for layer in {layer for layer, _ in heads}}
    with evaluating(model), _before(changes):
        return model(token_ids)


def patch_activation(
    model: Any,
    clean_ids: Int[Tensor, "B T"],
    corrupted_ids: Int[Tensor, "B T"],
    layer: int,
    position: int,
) -> Float[Tensor, "B T V"]:
    """The logits of a corrupted run into which one vector of a clean run is put.

    Args:
        layer: whose input is replaced, counted from 0.
        position: the place that is replaced, counted from 0.

    Raises:
        ValueError: the two runs have different shapes, or layer or position is outside.

    Source: Meng et al. (2022), section 2.1; Heimersheim and Nanda (2024), denoising.
    """
    if clean_ids.shape != corrupted_ids.shape:
        raise ValueError(
            f"expected two runs of equal shape, found {tuple(clean_ids.shape)} and "
            f"{tuple(corrupted_ids.shape)}"
        )
    for name, number, size in [
        ("layer", layer, len(model.layers)),
        ("position", position, clean_ids.shape[1]),
    ]:
        if not 0 <= number < size:
            raise ValueError(f"expected a {name} from 0 to {size - 1}, found {number}")

    def put(module, arguments):
        x, *others = arguments
        x = x.clone()
        x[:, position] = clean[:, position]
        return (x, *others)

    with evaluating(model):
        clean = streams(model, clean_ids)[layer]  # (B, T, D)
        with _before({model.layers[layer]: put}):
            return model(corrupted_ids)


def logit_lens(model: Any, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "rows B T V"]:
    """What the model would say next if it stopped after each layer, as logits.

    There are L + 1 rows: row 0 of the embeddings, row l of the stream after layer l. The last row is
    what the model says.

    Source: nostalgebraist (2020).
    """
    with evaluating(model):
        return torch.stack([model.unembed(x) for x in streams(model, token_ids)])


def streams(model: Any, token_ids: Int[Tensor, "B T"]) -> list[Float[Tensor, "B T D"]]:
    """The stream before the first layer and after each one: L + 1 tensors."""
    mask = causal_mask(token_ids.shape[1], token_ids.device)
    found = [model.embed(token_ids)]
    for layer in model.layers:
        found.append(layer(found[-1], mask))
    return found


@contextmanager
def _before(changes: dict[nn.Module, Callable[..., Any]]) -> Iterator[None]:
    """Within this context the input of each of these modules is changed by its function."""
    hooks = [module.register_forward_pre_hook(change) for module, change in changes.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
