"""Mutations of what goes into our answer: which of them makes ours give what a student's gave.

Ours is run again with two inputs exchanged, one turned round, one weight in the place of another, or
in the other mode. Where the numbers are those that came back, a sentence says so: that is true
whatever the student wrote, and mostly tells where to look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations, islice, permutations
from typing import Any

import numpy as np
import torch
from msgspec import structs

from autograder.checks.axes import arrays_of, axes_of
from autograder.checks.compare import values_agree
from autograder.checks.drawn_cases import CaseRun, is_in_train_mode, size_of, state_of
from autograder.checks.explain.evidence import Explanation
from autograder.probe.messages import AnyRequest, DrawingRequest, ModuleRequest
from autograder.probe.runners import run_case

MOST_MUTATIONS = 60  # of one case, so that looking for them takes a fraction of a second
MOST_NUMBERS = 5_000  # that a case may have on its way in, to be tried again and again
MOST_EXCHANGED, MOST_REPLACED = 12, 6  # pairs of layers


@dataclass(frozen=True)
class Mutation:
    """One change of what goes into our answer.

    Attributes:
        name: for the class report.
        message: the change as a condition, with a question behind it.
        of: makes the changed request.
    """

    name: str
    message: str
    of: Callable[[AnyRequest], AnyRequest]

    def leads_to(self, item: CaseRun) -> bool:
        """Whether ours gives with it what came back."""
        try:
            request = self.of(structs.replace(item.request, gradient=False))
            with torch.no_grad():
                seen = run_case(item.part.reference, request)
            return values_agree(seen.value, item.actual.value) is None
        except Exception:  # noqa: BLE001 (a change may well make an input that ours refuses)
            return False


def mutation_behind(attempts: Sequence[CaseRun]) -> Explanation | None:
    """The mutation with which ours gives what came back in all these wrong cases, whose values can be compared."""
    telling = (item for item in attempts if _tells(item))
    first = min(telling, key=size_of, default=None)
    if not first or size_of(first) > MOST_NUMBERS or isinstance(first.request, DrawingRequest):
        return None
    in_order = [first, *(item for item in attempts if item is not first)]
    for mutation in islice(_mutations(first), MOST_MUTATIONS):
        if all(map(mutation.leads_to, in_order)):
            return Explanation(mutation.name, mutation.message)
    return None


def _tells(item: CaseRun) -> bool:
    """Whether two different answers can hardly give the same in this case."""
    expected = item.expected.value
    for result in expected if isinstance(expected, tuple) else (expected,):
        if not isinstance(result, torch.Tensor | np.ndarray):
            continue
        array = torch.as_tensor(result)
        least = 12 if array.dtype == torch.bool else 4
        different = 4 if array.is_floating_point() else 2
        if array.numel() >= least and len(array.unique()) >= different:
            return True
    return False


def _mutations(item: CaseRun) -> Iterator[Mutation]:
    request = item.request
    if isinstance(request, ModuleRequest):
        yield Mutation(
            "in the other mode",
            "Your result is what ours gives in the other mode, in train mode as in eval mode, or the "
            "other way round. What should act in train mode alone?",
            lambda request: structs.replace(request, training=not is_in_train_mode(request)),
        )
    arrays = {
        name: value
        for name, value in _given(request).items()
        if isinstance(value, torch.Tensor | np.ndarray)
    }
    inputs = [pair for pair in combinations(arrays, 2) if len({arrays[n].dtype for n in pair}) == 1]
    yield from _in_places_of_others(
        inputs,
        inputs,
        _with_arguments,
        "Your result is what ours gives with `{one}` and `{other}` exchanged. Which of the two "
        "belongs where in the formula?",
        "Your result is what ours gives with `{one}` in the place of `{other}`. Where does "
        "the formula have `{other}`?",
    )
    yield from _in_reverse(item, arrays)
    layers = _layers_alike(request)
    yield from _in_places_of_others(
        layers[:MOST_EXCHANGED],
        layers[:MOST_REPLACED],
        _with_layers,
        "Your result is what ours gives with the weights of `{one}` and `{other}` exchanged. "
        "Which layer belongs where?",
        "Your result is what ours gives if `{one}` also does the work of `{other}`. Is one "
        "layer called twice, and the other never?",
    )


Pairs = Sequence[tuple[str, str]]


def _in_places_of_others(
    exchanged: Pairs,
    replaced: Pairs,
    put: Callable[[Mapping[str, str], AnyRequest], AnyRequest],
    of_exchanged: str,
    of_replaced: str,
) -> Iterator[Mutation]:
    """Inputs, or layers, that are taken for each other.

    Args:
        exchanged, replaced: which pairs change places, and which are taken one for the other.
        put: changes a request; it is given the names of what is replaced, with that of what replaces it.
        of_exchanged, of_replaced: what is said of one and the other.
    """
    for one, other in exchanged:
        yield Mutation(
            f"`{one}` and `{other}` exchanged",
            of_exchanged.format(one=one, other=other),
            partial(put, {one: other, other: one}),
        )
    for one, other in chain.from_iterable(permutations(pair) for pair in replaced):
        yield Mutation(
            f"`{one}` in the place of `{other}`",
            of_replaced.format(one=one, other=other),
            partial(put, {other: one}),
        )


def _in_reverse(item: CaseRun, arrays: Mapping[str, Any]) -> Iterator[Mutation]:

    def turned(request: AnyRequest, name: str, number: int) -> AnyRequest:
        value = _given(request)[name]
        if isinstance(value, np.ndarray):
            return _with_argument(request, name, np.flip(value, number).copy())
        return _with_argument(request, name, value.flip(number))

    for name, array in arrays.items():
        letters = arrays_of(item.part).get(name, ())
        for number, axis in enumerate(axes_of(name, letters, array.ndim, item.part.letters)):
            yield Mutation(
                f"`{name}` in reverse order",
                f"Your result is what ours gives with `{name}` in reverse order along {axis}. Which "
                "step turns the order round?",
                partial(turned, name=name, number=number - array.ndim),
            )


def _given(request: AnyRequest) -> dict[str, Any]:
    return dict(zip(request.names, request.arguments, strict=False))


def _with_argument(request: AnyRequest, name: str, value: Any) -> AnyRequest:
    arguments = list(request.arguments)
    arguments[request.names.index(name)] = value
    return structs.replace(request, arguments=arguments)


def _with_arguments(sources: Mapping[str, str], request: AnyRequest) -> AnyRequest:
    given = _given(request)
    for name, source in sources.items():
        request = _with_argument(request, name, given.get(source))
    return request


def _layers(request: AnyRequest) -> dict[str, dict[str, torch.Tensor]]:
    """The weights of each layer by its name; a weight of the module itself is a layer of its own."""
    layers: dict[str, dict[str, torch.Tensor]] = {}
    for name, value in state_of(request).items():
        layer, _, weight = name.rpartition(".")
        layers.setdefault(layer or name, {})[weight if layer else ""] = value
    return layers


def _layers_alike(request: AnyRequest) -> list[tuple[str, str]]:
    """Pairs of layers with weights of the same names and shapes, those under one roof first.

    They are taken for each other most easily.
    """
    shapes = {
        layer: {name: value.shape for name, value in weights.items()}
        for layer, weights in _layers(request).items()
    }
    alike = [pair for pair in combinations(shapes, 2) if shapes[pair[0]] == shapes[pair[1]]]
    return sorted(alike, key=lambda pair: len({name.rpartition(".")[0] for name in pair}))


def _with_layers(sources: Mapping[str, str], request: AnyRequest) -> AnyRequest:
    layers, state = _layers(request), dict(state_of(request))
    for layer, source in sources.items():
        for weight, value in layers[source].items():
            state[f"{layer}.{weight}" if weight else layer] = value
    return structs.replace(request, state=state)
