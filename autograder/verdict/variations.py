"""Find what was done differently: which change of inputs or weights makes our answer give theirs.

Ours is run again with an argument left out, two exchanged, a mask turned round, one weight in the
place of another, and so on. Where the numbers are those that came back, a sentence says so: that is
true whatever the student wrote, and mostly tells where to look.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice, permutations
from typing import Any

import numpy as np
import torch

from autograder.probe.experiments import Request, perform
from autograder.verdict.axes import ARRAY, axes_of, sizes_in
from autograder.verdict.check import Part
from autograder.verdict.compare import values_agree
from autograder.verdict.exam import Try
from autograder.verdict.relations import Sentences

MOST_VARIATIONS = 60  # of one case, so that looking for them takes a fraction of a second
FLOATING = (torch.float32, torch.float64, np.dtype("float32"), np.dtype("float64"))
LETTERS = ("d_k", "d_v", "D", "d_model", "T", "S", "H")  # of lengths that scale something
MOST_NUMBERS = 5_000  # that a case may have on its way in, to be tried again and again


@dataclass(frozen=True)
class Variation:
    """One change of what goes into our answer.

    Attributes:
        name: for the class report.
        says: the change as a condition, with a question behind it.
        of: makes the changed request; None where it cannot be made.
    """

    name: str
    says: str
    of: Callable[[Request], Request | None]


def varied(part: Part, tries: Sequence[Try]) -> Sentences:
    """The change with which ours gives what came back in all these cases, as (name, sentence).

    Args:
        part: whose reference is run.
        tries: wrong cases, each with a value that can be compared.
    """
    telling = sorted(
        (item for item in tries if _tells(item)), key=lambda item: _numbers_in(item.request)
    )
    if not telling or _numbers_in(telling[0].request) > MOST_NUMBERS:
        return ()
    if telling[0].request["experiment"] == "drawing":
        return ()
    for variation in islice(_variations(part, telling[0].request), MOST_VARIATIONS):
        others = (item for item in tries if item is not telling[0])
        if _fits(part, variation, telling[0]) and all(
            _fits(part, variation, item) for item in others
        ):
            return ((variation.name, variation.says),)
    return ()


def _tells(item: Try) -> bool:
    """Whether two different answers can hardly give the same in this case."""
    expected = item.expected.get("value")
    results = expected if isinstance(expected, tuple) else (expected,)
    for result in results:
        if not isinstance(result, torch.Tensor | np.ndarray):
            continue
        array = torch.as_tensor(result)
        least = 12 if array.dtype == torch.bool else 4
        if array.numel() >= least and len(array.unique()) >= min(
            least, 2 + array.is_floating_point() * 2
        ):
            return True
    return False


def _numbers_in(request: Request) -> int:
    arrays = [*request["arguments"], *request.get("state", {}).values()]
    return sum(int(np.prod(value.shape)) for value in arrays if hasattr(value, "shape"))


def _fits(part: Part, variation: Variation, item: Try) -> bool:
    try:
        request = variation.of({**item.request, "gradient": False})
        if request is None:
            return False
        with torch.no_grad():
            report = perform(part.reference, request)
        return values_agree(report["value"], item.report.get("value")) is None
    except Exception:  # noqa: BLE001 (a change may well make an input that ours refuses)
        return False


def _variations(part: Part, request: Request) -> Iterator[Variation]:
    yield from _left_out(part, request)
    yield from _masks(part, request)
    yield from _built_otherwise(part, request)
    yield from _exchanged(request)
    yield from _first_for_all(part, request)
    yield from _larger_or_smaller(part, request)
    yield from _in_reverse(part, request)
    yield from _weights_exchanged(request)
    yield from _weights_ignored(request)


def _argument(request: Request, name: str, value: Any) -> Request:
    number = request["names"].index(name)
    arguments = list(request["arguments"])
    arguments[number] = value
    return {**request, "arguments": arguments}


def _value(request: Request, name: str) -> Any:
    given = dict(zip(request["names"], request["arguments"], strict=False))
    return given.get(name)


def _arrays(request: Request) -> dict[str, torch.Tensor | np.ndarray]:
    given = zip(request["names"], request["arguments"], strict=False)
    return {name: value for name, value in given if isinstance(value, torch.Tensor | np.ndarray)}


def _signature(part: Part, request: Request) -> inspect.Signature:
    method = request.get("method")
    return inspect.signature(getattr(part.reference, method) if method else part.reference)


def _left_out(part: Part, request: Request) -> Iterator[Variation]:
    parameters = _signature(part, request).parameters
    for name in request["names"]:
        default = parameters[name].default if name in parameters else inspect.Parameter.empty
        if default is inspect.Parameter.empty or _value(request, name) is None:
            continue

        def of(request: Request, name: str = name, default: Any = default) -> Request | None:
            return None if _value(request, name) is None else _argument(request, name, default)

        yield Variation(
            f"`{name}` plays no part",
            f"Your result is what ours gives without `{name}`. Where does `{name}` come in, and does "
            "that line change what follows?",
            of,
        )


def _masks(part: Part, request: Request) -> Iterator[Variation]:
    for name in _signature(part, request).parameters:
        if "mask" not in name:
            continue

        def opposite(request: Request, name: str = name) -> Request | None:
            mask = _value(request, name)
            return None if mask is None else _argument(request, name, ~mask)

        def causal(request: Request, name: str = name) -> Request | None:
            length = request["arguments"][0].shape[-2]
            mask = torch.ones(length, length, dtype=torch.bool).tril()
            if name in request["names"]:
                given = _value(request, name)
                return _argument(request, name, mask if given is None else mask & given)
            parameters = list(_signature(part, request).parameters)
            if parameters.index(name) != len(request["names"]) + (parameters[0] == "self"):
                return None
            return {
                **request,
                "names": [*request["names"], name],
                "arguments": [*request["arguments"], mask],
            }

        def turned(request: Request, name: str = name) -> Request | None:
            mask = _value(request, name)
            return None if mask is None or mask.dim() < 2 else _argument(request, name, mask.mT)

        if _value(request, name) is not None:
            yield Variation(
                f"`{name}` the other way round",
                f"Your result is what ours gives with the opposite of `{name}`. Does True mean “may "
                "be seen” or “is hidden”?",
                opposite,
            )
            yield Variation(
                f"`{name}` transposed",
                f"Your result is what ours gives with `{name}` transposed. Do queries stand in its "
                "rows or in its columns?",
                turned,
            )
        yield Variation(
            "a causal mask that was not asked for",
            f"Your result is what ours gives if `{name}` also hides all words that come later. Is "
            "there a causal mask that was not asked for?",
            causal,
        )


def _built_otherwise(part: Part, request: Request) -> Iterator[Variation]:
    if request["experiment"] != "module":
        return
    yield Variation(
        "in the other mode",
        "Your result is what ours gives in the other mode: in train mode as in eval mode, or the "
        "other way round. What should act in train mode alone?",
        lambda request: {**request, "training": not request["training"]},
    )
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(part.reference).parameters.items()
        if name != "self"
    }
    names = list(parameters)
    given = {**dict(zip(names, request["construct"], strict=False)), **request["keywords"]}

    def built(request: Request, **changed: Any) -> Request:
        own = {**dict(zip(names, request["construct"], strict=False)), **request["keywords"]}
        return {**request, "construct": [], "keywords": {**own, **changed}}

    for name, value in given.items():
        default = parameters[name].default
        if default is not inspect.Parameter.empty and default != value:
            yield Variation(
                f"`{name}` plays no part",
                f"Your result is what ours gives if `{name}` is left at {default}, whatever is asked. "
                f"Does `{name}` reach the place where it acts?",
                lambda request, name=name, default=default: built(  # type: ignore[misc]
                    request, **{name: default}
                ),
            )
        if name == "num_heads" and value > 1:
            yield Variation(
                "one head",
                "Your result is what ours gives with a single head. Which step cuts the features into "
                "heads, and are their scores kept apart?",
                partial(built, num_heads=1),
            )
        if "dropout" in name and value > 0:
            yield Variation(
                "no dropout",
                "Your result is what ours gives without dropout. Where is it made, where does it act?",
                lambda request, name=name: built(request, **{name: 0.0}),  # type: ignore[misc]
            )


def _exchanged(request: Request) -> Iterator[Variation]:
    arrays = _arrays(request)
    alike = [
        (one, other)
        for one, other in combinations(arrays, 2)
        if arrays[one].dtype == arrays[other].dtype
    ]

    def swap(request: Request, one: str, other: str) -> Request:
        first, second = _value(request, one), _value(request, other)
        return _argument(_argument(request, one, second), other, first)

    def put(request: Request, one: str, other: str) -> Request:
        return _argument(request, other, _value(request, one))

    for one, other in alike:
        yield Variation(
            f"`{one}` and `{other}` exchanged",
            f"Your result is what ours gives with `{one}` and `{other}` exchanged. Which of the two "
            "belongs where in the formula?",
            partial(swap, one=one, other=other),
        )
    for pair in alike:
        for one, other in permutations(pair):
            yield Variation(
                f"`{one}` in the place of `{other}`",
                f"Your result is what ours gives with `{one}` in the place of `{other}`. Where does "
                f"the formula have `{other}`?",
                partial(put, one=one, other=other),
            )


def _first_for_all(part: Part, request: Request) -> Iterator[Variation]:
    letters = dict(ARRAY.findall(part.signature))
    for name, array in _arrays(request).items():
        if array.ndim < 2 or not ("mask" in name or letters.get(name, "B").startswith("B")):
            continue

        def first(request: Request, name: str = name) -> Request | None:
            given = _value(request, name)
            if given is None or given.ndim < 2:
                return None
            return _argument(request, name, given[:1].expand(given.shape).clone())

        yield Variation(
            "the first sentence's for all",
            f"Your result is what ours gives if every sentence has the `{name}` of the first one. "
            "Which index, or which sum, loses the others?",
            first,
        )


def _larger_or_smaller(part: Part, request: Request) -> Iterator[Variation]:
    """The first input of a function, or the embeddings of a model, times a constant of the case."""
    arrays = _arrays(request)
    if request["experiment"] == "call":
        first = next(iter(arrays), None)
        if first is None or getattr(arrays[first], "dtype", None) not in FLOATING:
            return
        inputs = [first]
    else:
        inputs = [name for name in request.get("state", {}) if "embed" in name]
    letters = [letter for letter in LETTERS if letter in sizes_in(part, request)]
    factors: list[tuple[str, str, float]] = [("−1", "", 1.0)]
    for letter in letters:
        factors += [(f"√{letter}", letter, 0.5), (f"1/√{letter}", letter, -0.5)]
    for name in inputs:
        for words, letter, power in factors:

            def of(
                request: Request, name: str = name, letter: str = letter, power: float = power
            ) -> Request | None:
                factor = sizes_in(part, request)[letter] ** power if letter else -1.0
                if request["experiment"] == "call":
                    return _argument(request, name, _value(request, name) * factor)
                state = request["state"]
                return {**request, "state": {**state, name: state[name] * factor}}

            yield Variation(
                "multiplied or divided by the wrong number",
                f"Your result is what ours gives with `{name}` taken {words} times. What is multiplied "
                "or divided by that on the way, and where should it be?",
                of,
            )


def _in_reverse(part: Part, request: Request) -> Iterator[Variation]:
    letters = dict(ARRAY.findall(part.signature))
    for name, array in _arrays(request).items():
        known = tuple(
            letter.strip() for letter in letters.get(name, "").split(",") if letter.strip()
        )
        for number, axis in enumerate(axes_of(name, known, array.ndim)):

            def turned(request: Request, name: str = name, back: int = number - array.ndim) -> Any:
                given = _value(request, name)
                flipped = (
                    np.flip(given, back).copy()
                    if isinstance(given, np.ndarray)
                    else given.flip(back)
                )
                return _argument(request, name, flipped)

            yield Variation(
                f"`{name}` in reverse order",
                f"Your result is what ours gives with `{name}` in reverse order along {axis}. Which "
                "step turns the order round?",
                turned,
            )


# ------------------------------------------------------------------------------------- weights


def _layers(request: Request) -> dict[str, dict[str, torch.Tensor]]:
    """The weights of each layer by its name; a weight of the module itself is a layer of its own."""
    layers: dict[str, dict[str, torch.Tensor]] = {}
    for name, value in request.get("state", {}).items():
        layer, _, weight = name.rpartition(".")
        layers.setdefault(layer or name, {})[weight if layer else ""] = value
    return layers


def _full(layer: str, weight: str) -> str:
    return f"{layer}.{weight}" if weight else layer


def _weights_exchanged(request: Request) -> Iterator[Variation]:
    layers = _layers(request)
    alike = [
        (one, other)
        for one, other in combinations(layers, 2)
        if {name: value.shape for name, value in layers[one].items()}
        == {name: value.shape for name, value in layers[other].items()}
    ]
    # those that stand next to each other under one roof are taken for each other most easily
    alike.sort(key=lambda pair: pair[0].rpartition(".")[0] != pair[1].rpartition(".")[0])

    def taking(request: Request, one: str, other: str, both: bool) -> Request:
        layers, state = _layers(request), dict(request["state"])
        for weight, value in layers[one].items():
            state[_full(other, weight)] = value
        for weight, value in layers[other].items() if both else ():
            state[_full(one, weight)] = value
        return {**request, "state": state}

    for one, other in alike[:12]:
        yield Variation(
            f"`{one}` and `{other}` exchanged",
            f"Your result is what ours gives with the weights of `{one}` and `{other}` exchanged. "
            "Which layer belongs where?",
            partial(taking, one=one, other=other, both=True),
        )
    for pair in alike[:6]:
        for one, other in permutations(pair):
            yield Variation(
                f"`{one}` in the place of `{other}`",
                f"Your result is what ours gives if `{one}` also does the work of `{other}`. Is one "
                "layer called twice, and the other never?",
                partial(taking, one=one, other=other, both=False),
            )


def _weights_ignored(request: Request) -> Iterator[Variation]:
    for layer, weights in _layers(request).items():
        if not all(value.is_floating_point() and value.dim() < 3 for value in weights.values()):
            continue
        for weight, value in weights.items():
            name = _full(layer, weight)
            if value.dim() != 1:
                continue
            neutral = 0.0 if name.endswith("bias") else 1.0

            def of(request: Request, name: str = name, neutral: float = neutral) -> Request:
                state = dict(request["state"])
                return {**request, "state": {**state, name: torch.full_like(state[name], neutral)}}

            yield Variation(
                f"`{name}` plays no part",
                f"Your result is what ours gives if `{name}` is {neutral:g} throughout. Does it come "
                "into the calculation?",
                of,
            )
