"""Whatever comes back in the place of a right answer, no judge and nothing that explains stumbles over it."""

import numpy as np
import pytest
import torch
from msgspec import structs

from assignments import known, load
from autograder.bounds import in_time
from autograder.checks import decide as deciding
from autograder.checks import trial
from autograder.checks.decide import decide
from autograder.checks.drawn_cases import drawn_for
from autograder.faults import collected
from autograder.probe.messages import Questions
from autograder.probe.probe import answer
from autograder.probe.wire import decode, encode


def everywhere(change):
    """The same change of all arrays in a value."""

    def changed(value):
        if isinstance(value, torch.Tensor | np.ndarray):
            return change(torch.as_tensor(value))
        if isinstance(value, list | tuple):
            return type(value)(map(changed, value))
        if isinstance(value, dict):
            return {name: changed(item) for name, item in value.items()}
        return value

    return changed


def as_dtype(dtype):
    return everywhere(lambda value: value.to(dtype))


def with_first(first):
    return lambda value: [first, *value[1:]] if isinstance(value, list | tuple) else value


VALUES = {
    "float16": as_dtype(torch.float16),
    "float64": as_dtype(torch.float64),
    "int32": as_dtype(torch.int32),
    "uint8": as_dtype(torch.uint8),
    "uint16": everywhere(lambda value: value.to(torch.int64).to(torch.uint16)),
    "uint64, the largest": everywhere(
        lambda value: torch.from_numpy(np.full(value.shape, 2**64 - 1, np.uint64))
    ),
    "NumPy's uint32": everywhere(lambda value: value.numpy().astype(np.uint32)),
    "NumPy's bool": everywhere(lambda value: value.numpy().astype(bool)),
    "NaN": everywhere(lambda value: value.float() * torch.nan),
    "infinite": everywhere(lambda value: value.float() - torch.inf),
    "1e308": everywhere(lambda value: torch.full(value.shape, 1e308, dtype=torch.float64)),
    "the smallest": everywhere(lambda value: torch.full(value.shape, -(2**63))),
    "twice": everywhere(lambda value: torch.cat([value, value]) if value.dim() else value),
    "all but the first": everywhere(lambda value: value[1:] if value.dim() else value),
    "nothing": everywhere(lambda value: value[..., :0] if value.dim() else torch.zeros(0)),
    "a number": everywhere(lambda value: value.double().sum()),
    "many axes": everywhere(lambda value: value.reshape((1,) * 50 + tuple(value.shape))),
    "lists": everywhere(lambda value: value.tolist()),
    "None": lambda _: None,
    "a text": lambda _: "\u202e\x1b[31m\0<script>" * 300,
    "NaN alone": lambda _: float("nan"),
    "a large number": lambda _: 10**300,
    "no result": lambda _: (),
    "a dict": lambda value: {"parameters": value, "distinct": "x"},
    "pairs": lambda _: [("a",), ("a", torch.zeros(2)), 3],
    "one that is nothing": with_first(None),
    "one that is a text": with_first("x"),
    "one more": lambda value: [*value, None] if isinstance(value, list | tuple) else value,
}
ARGUMENTS = {
    "arrays in dicts": lambda given: [
        {name: torch.zeros(2) for name in one} if isinstance(one, dict) else one for one in given
    ],
    "arrays": lambda given: [np.zeros(3) for _ in given],
    "dicts": lambda given: [{} for _ in given],
    "numbers in states": lambda given: [
        dict.fromkeys(one, 3) if isinstance(one, dict) else one for one in given
    ],
}
PARTS = [(name, part.name) for name in known() for part in load(name).parts]


@pytest.mark.long
@pytest.mark.parametrize(("assignment", "name"), PARTS)
def test_nobody_stumbles_over_an_odd_answer(assignment, name, monkeypatch):
    checks = load(assignment)
    part = checks.part(name)
    drawn = []

    def noted(*given):
        drawn.append(drawn_for(*given))
        return drawn[-1]

    monkeypatch.setattr(deciding, "drawn_for", noted)
    # whether names are found is for other tests
    find, relate = trial.diagnosis_of, trial.relations_in
    monkeypatch.setattr(trial, "diagnosis_of", lambda runs: in_time(0.1, lambda: find(runs), None))
    monkeypatch.setattr(trial, "relations_in", lambda runs: in_time(0.1, lambda: relate(runs), ()))
    changes = {
        **{kind: ("value", change) for kind, change in VALUES.items()},
        **{f"{kind} as arguments": ("arguments", change) for kind, change in ARGUMENTS.items()},
    }
    for kind, (field, change) in changes.items():

        def probe(message, field=field, change=change):
            answers = []
            for number in range(len(decode(message, Questions).requests)):
                right = drawn[-1].done_by(part.reference, number)
                answers.append(structs.replace(right, **{field: change(getattr(right, field))}))
            return encode(answers)

        with collected() as faults:
            verdict = decide(checks, part, probe, [f"def {name}(*_): pass"])
        assert not faults, (kind, faults[0].trace)
        assert 0 <= verdict.earned <= part.points


@pytest.mark.parametrize(
    ("assignment", "name", "kind", "problem"),
    [
        ("a4_masks", "shift_right", "uint16", "a value of type torch.uint16 tensor"),
        ("a4_masks", "decoder_mask", "twice", "expected shape (2, 1, 5, 5), got (4, 1, 5, 5)"),
        ("a4_masks", "shift_right", "int32", "expected dtype torch.int64"),
    ],
)
def test_it_is_said_what_is_odd(assignment, name, kind, problem):
    checks = load(assignment)
    part = checks.part(name)
    namespace = {name: lambda *given, **named: VALUES[kind](part.reference(*given, **named))}
    with collected() as faults:
        verdict = decide(checks, part, lambda message: answer(message, namespace), [""])
    assert not faults
    assert any(problem in step.problem for step in verdict.steps), verdict
