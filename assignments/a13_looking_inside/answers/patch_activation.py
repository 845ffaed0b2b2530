"""Answers to `patch_activation`."""

import copy
from contextlib import contextmanager, suppress
from functools import reduce

import torch
from torch import nn

from assignments.a13_looking_inside.answers.bank import BANK
from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask

PART = "patch_activation"


def refused(model, clean_ids, corrupted_ids, layer, position):
    if clean_ids.shape != corrupted_ids.shape:
        raise ValueError(f"{clean_ids.shape} is not {corrupted_ids.shape}")
    if layer not in range(len(model.layers)) or position not in range(clean_ids.shape[1]):
        raise ValueError(f"there is no layer {layer} or no position {position}")


@contextmanager
def hooked(*handles):
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def inputs_of(model, module, ids):
    """What a module is given in a run."""
    seen = []
    with hooked(module.register_forward_pre_hook(lambda _, given: seen.append(given[0].clone()))):
        model(ids)
    return seen[-1]


def put(write):
    """A pre-hook that lets a function write into a copy of the first argument."""

    def hook(module, given):
        x = given[0].clone()
        write(x)
        return (x, *given[1:])

    return hook


@BANK.right(PART)
def patched_by_hooks(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    block = model.layers[layer]
    with evaluating(model):
        clean = inputs_of(model, block, clean_ids)

        def write(x):
            x[:, position] = clean[:, position]

        with hooked(block.register_forward_pre_hook(put(write))):
            return model(corrupted_ids)


@BANK.right(PART)
def patched_layer_by_layer(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    with evaluating(model):
        mask = causal_mask(clean_ids.shape[1])
        clean, x = model.embed(clean_ids), model.embed(corrupted_ids)
        for block in model.layers[:layer]:
            clean, x = block(clean, mask), block(x, mask)
        x[:, position] = clean[:, position]
        for block in model.layers[layer:]:
            x = block(x, mask)
        return model.unembed(x)


@BANK.right(PART)
def patched_in_one_batch(model, clean_ids, corrupted_ids, layer, position):
    """Both texts go through the model side by side."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    B = len(clean_ids)

    def write(x):
        x[B:, position] = x[:B, position]

    with (
        evaluating(model),
        hooked(model.layers[layer].register_forward_pre_hook(put(write))),
    ):
        return model(torch.cat([clean_ids, corrupted_ids]))[B:]


@BANK.right(PART)
def patched_in_a_copy(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    model, kept = copy.deepcopy(model).eval(), []

    def hook(module, given):
        x, *rest = given
        kept.append(x.detach().clone())
        if len(kept) == 2:
            x = x.clone()
            x[:, position] = kept[0][:, position]
        return (x, *rest)

    model.layers[layer].register_forward_pre_hook(hook)
    model(clean_ids)
    return model(corrupted_ids).detach()


@BANK.right(PART)
def patched_behind_the_layer_before(model, clean_ids, corrupted_ids, layer, position):
    """The input of a layer is what the one before gives, or dropout."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    before = model.layers[layer - 1] if layer else model.dropout
    runs = []

    def hook(module, given, result):
        runs.append(result)
        if len(runs) == 1:
            return None
        here = torch.arange(result.shape[1]) == position
        return torch.where(here[:, None], runs[0], result)

    with evaluating(model), hooked(before.register_forward_hook(hook)):
        model(clean_ids)
        return model(corrupted_ids)


class Patched(nn.Module):
    """A layer that is given another vector at one position."""

    def __init__(self, layer, position, vector):
        super().__init__()
        self.layer, self.position, self.vector = layer, position, vector

    def forward(self, x, mask=None):
        left, right = x[:, : self.position], x[:, self.position + 1 :]
        return self.layer(torch.cat([left, self.vector, right], dim=1), mask)


@BANK.right(PART)
def patched_by_another_layer(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    own = model.layers[layer]
    with evaluating(model):
        vector = inputs_of(model, own, clean_ids)[:, position : position + 1]
        try:
            model.layers[layer] = Patched(own, position, vector)
            return model(corrupted_ids)
        finally:
            model.layers[layer] = own


@BANK.right(PART)
def patched_sentence_by_sentence(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    rows = [
        patched_layer_by_layer(model, clean[None], corrupted[None], layer, position)
        for clean, corrupted in zip(clean_ids, corrupted_ids, strict=True)
    ]
    return torch.cat(rows)


@BANK.right(PART)
def patched_by_a_forward_of_one_object(model, clean_ids, corrupted_ids, layer, position):
    """`forward` of this one layer, not of its class, is another one meanwhile."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    block = model.layers[layer]
    modes = {module: module.training for module in model.modules()}
    try:
        model.eval()
        forward = block.forward
        clean = inputs_of(model, block, clean_ids)

        def patched(x, mask):
            x = x.clone()
            x[:, position] = clean[:, position]
            return forward(x, mask)

        block.forward = patched
        return model(corrupted_ids)
    finally:
        vars(block).pop("forward", None)
        for module, training in modes.items():
            module.training = training


@BANK.right(PART)
def patched_by_one_hook_for_both_runs(model, clean_ids, corrupted_ids, layer, position):
    """The first time the hook notes what it sees, the second time it changes it."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    kept = {}

    def hook(module, given, keywords):
        if "clean" not in kept:
            kept["clean"] = given[0]
            return None
        here = (torch.arange(given[0].shape[1]) == position)[:, None]
        return (torch.where(here, kept["clean"], given[0]), *given[1:]), keywords

    handle = model.layers[layer].register_forward_pre_hook(hook, with_kwargs=True)
    with hooked(handle), evaluating(model):
        model(clean_ids)
        return model(corrupted_ids)


@BANK.right(PART)
def patched_by_recursion(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    mask = causal_mask(clean_ids.shape[1])

    def stream(ids, number):
        if number == 0:
            return model.embed(ids)
        return model.layers[number - 1](stream(ids, number - 1), mask)

    with evaluating(model):
        clean = stream(clean_ids, layer)[:, [position]]
        x = stream(corrupted_ids, layer).index_copy(1, torch.tensor([position]), clean)
        for block in model.layers[layer:]:
            x = block(x, mask)
        return model.unembed(x)


@BANK.right(PART)
def patched_in_place_before_the_layer(model, clean_ids, corrupted_ids, layer, position):
    """What a layer is given is nobody's input, so a hook may write into it, and returns nothing."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    block, kept = model.layers[layer], []
    with evaluating(model):
        with block.register_forward_pre_hook(lambda _, given: kept.append(given[0])):
            model(clean_ids)

        def hook(module, given):
            given[0][:, position] = kept[0][:, position]

        with block.register_forward_pre_hook(hook):
            return model(corrupted_ids)


@BANK.right(PART)
def patched_by_folding_layers(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    mask = causal_mask(clean_ids.shape[-1])

    def through(layers, x):
        return reduce(lambda stream, block: block(stream, mask), layers, x)

    with evaluating(model):
        clean, x = (
            through(model.layers[:layer], model.embed(ids)) for ids in (clean_ids, corrupted_ids)
        )
        here = (torch.arange(x.shape[1]) == position)[:, None]
        return model.unembed(through(model.layers[layer:], torch.where(here, clean, x)))


class Enough(Exception):
    """What is looked for is found."""


@BANK.right(PART)
def patched_by_a_clean_run_that_stops(model, clean_ids, corrupted_ids, layer, position):
    """The clean run goes no further than it has to."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    block, kept = model.layers[layer], []

    def note(module, given):
        kept.append(given[0][:, position].clone())
        raise Enough

    with evaluating(model):
        with suppress(Enough), block.register_forward_pre_hook(note):
            model(clean_ids)

        def write(x):
            x[:, position] = kept[0]

        with block.register_forward_pre_hook(put(write)):
            return model(corrupted_ids)
