"""Functions that are given a model: what they return, and what they leave behind in it."""

import copy

import pytest
import torch
from torch import nn

from autograder.bank.measure import attempts_at
from autograder.checks.cases import Call, Case, Chain, given_to, model, set_of
from autograder.checks.check import Assignment, Part
from autograder.checks.decide import decide
from autograder.checks.explain.differences import relations_in
from autograder.probe.probe import answer
from course_utils.evaluation import evaluating


def scores(model, ids):
    """How the model scores each id, with its first layer's weights halved."""
    hook = model[1].register_forward_hook(lambda module, given, result: result / 2)
    try:
        with evaluating(model):
            return model(ids)
    finally:
        hook.remove()


class Tiny(nn.Sequential):
    """An embedding, a layer, and dropout."""

    def __init__(self, words, features, scores):
        super().__init__(
            nn.Embedding(words, features), nn.Linear(features, scores), nn.Dropout(0.5)
        )


def tiny(randn):
    """With dropout in train mode, and a hook of somebody else's on the layer."""
    return model(Tiny, 7, 3, 5, randn=randn, training=["", "2"], recorded=["1"])


def ids(randn, beyond=0):
    return torch.randint(7, (2, 4), generator=randn.generator) + beyond


def called(randn):
    given = ids(randn)
    return Call([tiny(randn), given], tries=[given])


def stopped(randn):
    return Call([tiny(randn), ids(randn, 7)], tries=[ids(randn)])


def twice(randn):
    return Chain([[tiny(randn), ids(randn)], [given_to(0, 0), ids(randn)]])


def assignment():
    part = Part("scores(model, ids (B, T)) -> (B, T, V)", scores)
    part.step("the scores", 1, Case("ids", lambda randn: called(randn).arguments))
    part.step("again", 1, Case("two calls", twice))
    part.step("no trace", 1, Case("ids", called), strict=True)
    part.step(
        "no trace after an error",
        1,
        Case("an id outside", stopped, raises=("Exception",)),
        strict=True,
    )
    return Assignment("a", (part,), ()), part


def verdict_on(code):
    course, part = assignment()
    return decide(course, part, lambda message: answer(message, {"scores": code}), [""])


def by_weights_that_are_put_back(model, ids):
    layer = model[1]
    kept = [value.detach().clone() for value in (layer.weight, layer.bias)]
    try:
        with evaluating(model):
            layer.weight.div_(2), layer.bias.div_(2)
            return model(ids)
    finally:
        with torch.no_grad():
            layer.weight.copy_(kept[0]), layer.bias.copy_(kept[1])


def by_a_copy(model, ids):
    return scores(copy.deepcopy(model), ids)


@pytest.mark.parametrize("code", [scores, by_weights_that_are_put_back, by_a_copy])
def test_whatever_leaves_no_trace_is_right(code):
    assert verdict_on(code).earned == 4


def hook_left(model, ids):
    model[1].register_forward_hook(lambda module, given, result: result / 2)
    with evaluating(model):
        return model(ids)


def hook_left_after_an_error(model, ids):
    hook = model[1].register_forward_hook(lambda module, given, result: result / 2)
    with evaluating(model):
        result = model(ids)
    hook.remove()
    return result


def others_hooks_cleared(model, ids):
    result = scores(model, ids)
    model[1]._forward_hooks.clear()
    return result


def weights_rounded(model, ids):
    layer = model[1]
    with evaluating(model):
        layer.weight.div_(3), layer.bias.div_(3)
        layer.weight.mul_(1.5), layer.bias.mul_(1.5)
        result = model(ids)
        layer.weight.mul_(2), layer.bias.mul_(2)
        return result


def modes_left(model, ids):
    result = scores(model, ids)
    model.eval()
    return result


def attribute_left(model, ids):
    model[2].p = 0.25
    return scores(model, ids)


def part_exchanged(model, ids):
    model[1] = torch.nn.Sequential(model[1])
    return scores(model, ids)


@pytest.mark.parametrize(
    ("code", "lost", "message"),
    [
        (hook_left, [1, 2, 3], "a hook of yours is still on `model.1`"),
        (hook_left_after_an_error, [3], "a hook of yours is still on `model.1`"),
        (others_hooks_cleared, [2], "had put on `model.1` is gone"),
        (weights_rounded, [2, 3], "bit by bit: `1.weight`"),
        (part_exchanged, [2, 3], "new or gone: `1.0.bias`, `1.0.weight`, `1.bias`, `1.weight`"),
        (modes_left, [2], "parts of `model` were left in another mode"),
        (attribute_left, [2, 3], "it gives something else"),
    ],
)
def test_what_is_left_costs_the_strict_steps_and_is_told(code, lost, message):
    verdict = verdict_on(code)
    assert [number for number, step in enumerate(verdict.steps) if step.problem] == lost
    assert any(message in step.problem for step in verdict.steps)


def test_an_error_that_is_swallowed_is_none():
    def swallowed(model, ids):
        return scores(model, ids.clamp(max=6))

    verdict = verdict_on(swallowed)
    assert verdict.steps[3].problem == "expected an error here, but no error came"
    assert "What in your code keeps it back" in verdict.relations[0][1]


def test_what_is_remembered_from_call_to_call_is_told():
    kept = {}

    def remembered(model, ids):
        return kept.setdefault(id(model), (model, scores(model, ids)))[1]

    verdict = verdict_on(remembered)
    assert [name for name, _ in verdict.relations][:1] == ["result 1 right, result 2 wrong"]
    assert verdict.relations[0][1].startswith("Result 1 is right in these cases")


def test_an_error_that_leaves_something_is_told_by_its_cases():
    verdict = verdict_on(hook_left_after_an_error)
    assert [name for name, _ in verdict.relations] == [
        "wrong where something that it calls stops with an error"
    ]


def test_a_later_call_says_nothing_of_its_own_where_a_first_one_leaves_something():
    """What the first call leaves makes the second one wrong, and no number is wrong but there."""
    [(name, sentence), *_] = verdict_on(hook_left).relations
    assert name == "left in the model"
    assert sentence.startswith("In the first or only call of a case: All numbers are right")


def test_a_factor_is_that_of_all_calls_and_not_of_the_last_one():
    def over_words(model, ids):
        return scores(model, ids) / ids.shape[1]

    def longer(randn):
        words = torch.zeros(2, 9, dtype=torch.int64)
        return Chain([[tiny(randn), ids(randn)], [given_to(0, 0), words]])

    part = Part("scores(model, ids (B, T)) -> (B, T, V)", scores)
    part.step("the scores", 1, Case("ids", lambda randn: called(randn).arguments))
    part.step("again", 1, Case("two calls", longer))
    [(name, sentence)] = relations_in(attempts_at(part, over_words))
    assert name == "wrong by a constant factor"
    assert sentence.startswith("Every number in your result is 1/T times")


def test_what_a_mistake_leaves_behind_is_its_name():
    course, part = assignment()

    @part.mistake("hook left after an error", costs=part.steps[3])
    def forgotten(model, ids):
        """Your hook stays where the model stops with an error."""
        return hook_left_after_an_error(model, ids)

    def theirs(model, ids):
        hooks = [model[1].register_forward_hook(lambda *given: 0.5 * given[2])]
        with evaluating(model):
            result = model(ids)
        [hook.remove() for hook in hooks]
        return result

    verdict = decide(course, part, lambda message: answer(message, {"scores": theirs}), [""])
    assert [name for name, _ in verdict.mistakes] == ["hook left after an error"]


def test_a_set_reaches_the_function_as_a_set():
    part = Part("largest(pairs) -> ()", lambda pairs: torch.tensor(float(len(pairs & {(0, 1)}))))
    part.step("a set", 1, Case("", lambda randn: [set_of([(0, 1), (2, 3)])]))
    course = Assignment("a", (part,), ())
    for code, earned in ((part.reference, 1), (lambda pairs: torch.tensor(0.0), 0)):
        verdict = decide(course, part, lambda message: answer(message, {"largest": code}), [""])  # noqa: B023
        assert verdict.earned == earned
