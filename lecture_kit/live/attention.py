"""The attention view: from a query to its output, number by number."""

from typing import Any

import torch

from course_utils.attention import scaled_dot_product_attention
from lecture_kit.live.attentions import Attention
from lecture_kit.live.page import View, framed, plain_table

TEMPERATURES = (1e-6, 1e6)


def attention_view(
    *attentions: Attention,
    caption: str = "Attention, number by number",
    temperature: float | None = None,
    compare: bool = False,
    query: int = 0,
    permute: bool = False,
    controls: bool = False,
    shown: int = 0,
) -> View:
    """A view in which the reader follows the numbers from a query to its output, and changes them.

    weights = softmax(mask(q · k / τ)),  output = Σ weight · value

    The reader chooses among the attentions, points at or walks over the weights, and changes the
    query, the temperature and the mask; the browser computes what `scaled_dot_product_attention`
    computes, in float64.

    Args:
        attentions: one or more, see `Attention`. Attentions over the same words can be compared.
        caption: what the view shows, in a sentence; also the frame's name for screen readers.
        temperature: τ at the start; None is √d_k.
        compare: start with the next comparable attention, or else the unchanged one, side by side.
        query: which query is shown at the start, counted from 0.
        permute: the reader may put the words in another order, and sees which outputs move. The
            mask stays where it is. Only for self-attention: its queries are its keys.
        controls: start with the controls of temperature and mask unfolded, where the page is wide.
        shown: which attention is shown at the start, counted from 0.

    Returns:
        View: HTML below 50 kB beside the attentions' numbers.

    Raises:
        ValueError: no attention, or something else; two of one name; caption, temperature, query or
            what is shown out of range; words to permute that are not both queries and keys; more
            than 1 MB.

    Source: Vaswani et al. (2017), section 3.2.1, eq. 1; lecture 3.
    """
    _refuse(attentions, temperature, query, permute, shown)
    first = attentions[shown]
    content = {
        "items": [_stored(attention) for attention in attentions],
        "temperature": None if temperature is None else float(temperature),
        "compare": bool(compare),
        "query": query,
        "permute": bool(permute),
        "controls": bool(controls),
        "index": shown,
    }
    height = 600 + 75 * len(first.key)
    return framed("attention", caption, content, _table(first, temperature, caption), height)


def _refuse(attentions, temperature, query, permute, shown) -> None:
    if not attentions or not all(isinstance(one, Attention) for one in attentions):
        found = ", ".join(type(one).__name__ for one in attentions) or "nothing"
        raise ValueError(
            f"expected one or more `live.Attention`; found {found:.80}. Unpack a list with a star: "
            "attention_view(*attentions)."
        )
    names = [(one.sentence, one.model, one.layer, one.head) for one in attentions]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                "expected attentions that differ in sentence, model, layer or head; found "
                f"{names.count(name)} with {name!r:.120}. Name them, so that a reader can choose."
            )
    low, high = TEMPERATURES
    if temperature is not None and not low <= temperature <= high:
        raise ValueError(
            f"temperature: expected {low:g} to {high:g}, or None for √d_k; found {temperature!r}. "
            "Colder or hotter than that, weights no longer change."
        )
    if shown not in range(len(attentions)):
        raise ValueError(
            f"shown: expected 0 to {len(attentions) - 1}; found {shown!r}. Count the attentions from 0."
        )
    if query not in range(len(attentions[shown].queries)):
        raise ValueError(
            f"query: expected 0 to {len(attentions[shown].queries) - 1}; found {query!r}. Count the "
            "queries of the attention that is shown from 0."
        )
    for one in attentions if permute else ():
        if one.queries != one.keys:
            raise ValueError(
                "permute: expected queries and keys to be the same words; found "
                f"{one.queries!r:.60} and {one.keys!r:.60}. Only self-attention can be permuted."
            )


def _stored(attention: Attention) -> dict[str, Any]:
    mask = attention.mask
    return {
        "sentence": attention.sentence,
        "model": attention.model,
        "layer": attention.layer,
        "head": attention.head,
        "queries": attention.queries,
        "keys": attention.keys,
        "q": attention.query.tolist(),
        "k": attention.key.tolist(),
        "v": attention.value.tolist(),
        "mask": None if mask is None else ["".join("01"[seen] for seen in row) for row in mask * 1],
    }


def _table(attention: Attention, temperature: float | None, caption: str) -> str:
    """The first attention's weights as a plain table, two decimals."""
    query, key, value = map(torch.from_numpy, (attention.query, attention.key, attention.value))
    if temperature is not None:
        query = query * (key.shape[1] ** 0.5 / temperature)
    mask = None if attention.mask is None else torch.from_numpy(attention.mask)
    weights = scaled_dot_product_attention(query, key, value, mask)[1]  # (T, S)
    rows = [
        (word, [f"{weight:.2f}" for weight in row])
        for word, row in zip(attention.queries, weights.tolist(), strict=True)
    ]
    return plain_table(f"{caption}: weights, a row for each query", attention.keys or (), rows)
