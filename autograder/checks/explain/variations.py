"""Find what was done differently: which change of inputs or weights makes our answer give theirs.

Ours is run again with two arguments exchanged, one turned round, one weight in the place of another,
or in the other mode. Where the numbers are those that came back, a sentence says so: that is
true whatever the student wrote, and mostly tells where to look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice, permutations
from typing import Any

import numpy as np
import torch
from msgspec import structs

from autograder.checks.axes import ARRAY, axes_of
from autograder.checks.compare import values_agree
from autograder.checks.drawn_cases import CaseRun, is_in_train_mode, state_of
from autograder.checks.explain.evidence import Sentences
from autograder.probe.messages import AnyRequest, DrawingRequest, ModuleRequest
from autograder.probe.runners import run_case

MOST_VARIATIONS = 60  # of one case, so that looking for them takes a fraction of a second
MOST_NUMBERS = 5_000  # that a case may have on its way in, to be tried again and again


@dataclass(frozen=True)
class Variation:
    """One change of what goes into our answer.

    Attributes:
        name: for the class report.
        message: the change as a condition, with a question behind it.
        of: makes the changed request.
    """

    name: str
    message: str
    of: Callable[[AnyRequest], AnyRequest]


def varied(attempts: Sequence[CaseRun]) -> Sentences:
    """The change with which ours gives what came back in all these cases, as (name, sentence).

    Args:
        attempts: wrong cases of a part, each with a value that can be compared.
    """
    telling = sorted(
        (item for item in attempts if _tells(item)), key=lambda item: _numbers_in(item.request)
    )
    if not telling or _numbers_in(telling[0].request) > MOST_NUMBERS:
        return ()
    if isinstance(telling[0].request, DrawingRequest):
        return ()
    for variation in islice(_variations(telling[0]), MOST_VARIATIONS):
        others = (item for item in attempts if item is not telling[0])
        if _fits(variation, telling[0]) and all(_fits(variation, item) for item in others):
            return ((variation.name, variation.message),)
    return ()


def _tells(item: CaseRun) -> bool:
    """Whether two different answers can hardly give the same in this case."""
    expected = item.expected.value
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


def _numbers_in(request: AnyRequest) -> int:
    arrays = [*request.arguments, *state_of(request).values()]
    return sum(int(np.prod(value.shape)) for value in arrays if hasattr(value, "shape"))


def _fits(variation: Variation, item: CaseRun) -> bool:
    try:
        request = variation.of(structs.replace(item.request, gradient=False))
        with torch.no_grad():
            seen = run_case(item.part.reference, request)
        return values_agree(seen.value, item.actual.value) is None
    except Exception:  # noqa: BLE001 (a change may well make an input that ours refuses)
        return False


def _variations(item: CaseRun) -> Iterator[Variation]:
    yield from _in_the_other_mode(item.request)
    yield from _exchanged(item.request)
    yield from _in_reverse(item)
    yield from _weights_exchanged(item.request)


def _argument(request: AnyRequest, name: str, value: Any) -> AnyRequest:
    number = request.names.index(name)
    arguments = list(request.arguments)
    arguments[number] = value
    return structs.replace(request, arguments=arguments)


def _value(request: AnyRequest, name: str) -> Any:
    given = dict(zip(request.names, request.arguments, strict=False))
    return given.get(name)


def _arrays(request: AnyRequest) -> dict[str, torch.Tensor | np.ndarray]:
    given = zip(request.names, request.arguments, strict=False)
    return {name: value for name, value in given if isinstance(value, torch.Tensor | np.ndarray)}


def _in_the_other_mode(request: AnyRequest) -> Iterator[Variation]:
    if not isinstance(request, ModuleRequest):
        return
    yield Variation(
        "in the other mode",
        "Your result is what ours gives in the other mode, in train mode as in eval mode, or the "
        "other way round. What should act in train mode alone?",
        lambda request: structs.replace(request, training=not is_in_train_mode(request)),
    )


def _exchanged(request: AnyRequest) -> Iterator[Variation]:
    arrays = _arrays(request)
    alike = [
        (one, other)
        for one, other in combinations(arrays, 2)
        if arrays[one].dtype == arrays[other].dtype
    ]

    def swap(request: AnyRequest, one: str, other: str) -> AnyRequest:
        first, second = _value(request, one), _value(request, other)
        return _argument(_argument(request, one, second), other, first)

    def put(request: AnyRequest, one: str, other: str) -> AnyRequest:
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


def _in_reverse(item: CaseRun) -> Iterator[Variation]:
    letters = dict(ARRAY.findall(item.part.signature))
    for name, array in _arrays(item.request).items():
        known = tuple(
            letter.strip() for letter in letters.get(name, "").split(",") if letter.strip()
        )
        for number, axis in enumerate(axes_of(name, known, array.ndim)):

            def turned(
                request: AnyRequest, name: str = name, back: int = number - array.ndim
            ) -> Any:
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


def _layers(request: AnyRequest) -> dict[str, dict[str, torch.Tensor]]:
    """The weights of each layer by its name; a weight of the module itself is a layer of its own."""
    layers: dict[str, dict[str, torch.Tensor]] = {}
    for name, value in state_of(request).items():
        layer, _, weight = name.rpartition(".")
        layers.setdefault(layer or name, {})[weight if layer else ""] = value
    return layers


def _full(layer: str, weight: str) -> str:
    return f"{layer}.{weight}" if weight else layer


def _weights_exchanged(request: AnyRequest) -> Iterator[Variation]:
    layers = _layers(request)
    alike = [
        (one, other)
        for one, other in combinations(layers, 2)
        if {name: value.shape for name, value in layers[one].items()}
        == {name: value.shape for name, value in layers[other].items()}
    ]
    # those that stand next to each other under one roof are taken for each other most easily
    alike.sort(key=lambda pair: pair[0].rpartition(".")[0] != pair[1].rpartition(".")[0])

    def taking(request: AnyRequest, one: str, other: str, both: bool) -> AnyRequest:
        layers, state = _layers(request), dict(state_of(request))
        for weight, value in layers[one].items():
            state[_full(other, weight)] = value
        for weight, value in layers[other].items() if both else ():
            state[_full(one, weight)] = value
        return structs.replace(request, state=state)

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
