"""Answers to `ablate_heads`."""

import copy
from contextlib import ExitStack, contextmanager

import torch
from torch import nn
from torch.func import functional_call

from assignments.a13_looking_inside.answers.bank import BANK
from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask

PART = "ablate_heads"


def refused(model, heads):
    for layer, head in heads:
        if layer not in range(len(model.layers)) or head not in range(model.layers[0].num_heads):
            raise ValueError(f"the model has no head ({layer}, {head})")


def changed(merged, H, layer, heads, means):
    """Merged heads (B, T, D) of a layer in which some say something else."""
    cut = merged.unflatten(-1, (H, -1)).clone()
    for l, h in heads:
        if l == layer:
            cut[:, :, h] = 0.0 if means is None else means[l, h]
    return cut.flatten(-2)


def hook_on(model, layer, heads, means=None):
    """A pre-hook on this layer's `w_o`, as a handle."""
    H = model.layers[0].num_heads
    return model.layers[layer].w_o.register_forward_pre_hook(
        lambda _, given: (changed(given[0], H, layer, heads, means),)
    )


@contextmanager
def silent(model, heads, means=None):
    handles = [hook_on(model, layer, heads, means) for layer in range(len(model.layers))]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@BANK.right(PART)
def ablated_by_hooks(model, token_ids, heads, means=None):
    refused(model, heads)
    with evaluating(model), silent(model, heads, means):
        return model(token_ids)


@BANK.right(PART)
def ablated_in_place_in_a_hook(model, token_ids, heads, means=None):
    """The merged heads are nobody's input, so a hook may write into them."""
    refused(model, heads)
    d_k = model.embedding.weight.shape[1] // model.layers[0].num_heads

    def write(layer, head):
        def hook(module, given):
            given[0][..., head * d_k : (head + 1) * d_k] = (
                0 if means is None else means[layer, head]
            )

        return hook

    with ExitStack() as stack:
        stack.enter_context(evaluating(model))
        for layer, head in heads:
            handle = model.layers[layer].w_o.register_forward_pre_hook(write(layer, head))
            stack.callback(handle.remove)
        return model(token_ids)


@BANK.right(PART)
def ablated_by_zero_columns(model, token_ids, heads, means=None):
    """Columns of w_o are zero meanwhile; what means say is added behind it."""
    refused(model, heads)
    kept = [layer.w_o.weight.detach().clone() for layer in model.layers]
    d_k = model.layers[0].w_o.in_features // model.layers[0].num_heads
    added = [torch.zeros_like(weight[:, 0]) for weight in kept]
    handles = []
    try:
        with evaluating(model):
            for layer, head in set(heads):
                columns = slice(head * d_k, (head + 1) * d_k)
                if means is not None:
                    added[layer] += kept[layer][:, columns] @ means[layer, head]
                model.layers[layer].w_o.weight[:, columns] = 0
            for layer, more in zip(model.layers, added, strict=True):
                handles.append(
                    layer.w_o.register_forward_hook(lambda _, __, out, more=more: out + more)
                )
            return model(token_ids)
    finally:
        for handle in handles:
            handle.remove()
        with torch.no_grad():
            for layer, weight in zip(model.layers, kept, strict=True):
                layer.w_o.weight.copy_(weight)


class Between(nn.Module):
    """A layer's w_o behind a step that changes what goes in."""

    def __init__(self, w_o, change):
        super().__init__()
        self.w_o, self.change = w_o, change

    def forward(self, merged):
        return self.w_o(self.change(merged))


@BANK.right(PART)
def ablated_by_another_module(model, token_ids, heads, means=None):
    refused(model, heads)
    modes = {module: module.training for module in model.modules()}
    own = [layer.w_o for layer in model.layers]
    H = model.layers[0].num_heads
    try:
        for number, layer in enumerate(model.layers):
            layer.w_o = Between(
                own[number], lambda merged, n=number: changed(merged, H, n, heads, means)
            )
        model.eval()
        return model(token_ids)
    finally:
        for layer, w_o in zip(model.layers, own, strict=True):
            layer.w_o = w_o
        for module, training in modes.items():
            module.training = training


@BANK.right(PART)
def ablated_in_a_copy(model, token_ids, heads, means=None):
    refused(model, heads)
    model = copy.deepcopy(model).eval()
    for layer in range(len(model.layers)):
        hook_on(model, layer, heads, means)
    return model(token_ids).detach()


@BANK.right(PART)
def ablated_behind_w_o(model, token_ids, heads, means=None):
    """A hook behind w_o applies the map once more, to the changed heads."""
    refused(model, heads)
    H = model.layers[0].num_heads

    def again(layer):
        return lambda module, given, result: (
            changed(given[0], H, layer, heads, means) @ module.weight.T
        )

    handles = [
        block.w_o.register_forward_hook(again(layer)) for layer, block in enumerate(model.layers)
    ]
    try:
        with evaluating(model):
            return model(token_ids)
    finally:
        [handle.remove() for handle in handles]


@BANK.right(PART)
def ablated_with_a_mask_of_features(model, token_ids, heads, means=None):
    """What stays and what comes in its place are two tensors for each layer."""
    refused(model, heads)
    L, H = len(model.layers), model.layers[0].num_heads
    weight = model.embedding.weight
    d_k = weight.shape[1] // H
    keep = torch.ones(L, H, d_k, dtype=weight.dtype)
    fill = torch.zeros(L, H, d_k, dtype=weight.dtype)
    for pair in heads:
        keep[pair] = 0
        fill[pair] = 0 if means is None else means[pair]
    keep, fill = keep.reshape(L, -1), fill.reshape(L, -1)
    handles = [
        block.w_o.register_forward_pre_hook(lambda _, given, k=k, f=f: (given[0] * k + f,))
        for block, k, f in zip(model.layers, keep, fill, strict=True)
    ]
    try:
        with evaluating(model):
            return model(token_ids)
    finally:
        for handle in handles:
            handle.remove()


@BANK.right(PART)
def ablated_by_a_forward_of_one_object(model, token_ids, heads, means=None):
    """`forward` of each w_o itself, not of its class, is another one meanwhile."""
    refused(model, heads)
    H, touched = model.layers[0].num_heads, []
    try:
        with evaluating(model):
            for layer in {layer for layer, _ in heads}:
                w_o = model.layers[layer].w_o
                touched.append(w_o)
                w_o.forward = lambda merged, w_o=w_o, layer=layer: nn.functional.linear(
                    changed(merged, H, layer, heads, means), w_o.weight
                )
            return model(token_ids)
    finally:
        for w_o in touched:
            del w_o.forward


def own(head, H, d_k):
    return slice(head * d_k, (head + 1) * d_k)


@BANK.right(PART)
def ablated_with_other_weights(model, token_ids, heads, means=None):
    """The call is given other weights of `w_o`; the model keeps its own."""
    refused(model, heads)
    H, others = model.layers[0].num_heads, {}
    with ExitStack() as stack:
        stack.enter_context(evaluating(model))
        for number, block in enumerate(model.layers):
            columns = block.w_o.weight.clone().unflatten(1, (H, -1))  # (D, H, d_k)
            own = sorted({head for layer, head in heads if layer == number})
            if means is not None:
                more = torch.einsum("dhk,hk->d", columns[:, own], means[number, own])
                stack.enter_context(
                    block.w_o.register_forward_hook(lambda _, __, out, more=more: out + more)
                )
            columns[:, own] = 0
            others[f"layers.{number}.w_o.weight"] = columns.flatten(1)
        return functional_call(model, others, (token_ids,))


class Silence:
    """A model without some of its heads, for as long as the context lasts."""

    def __init__(self, model, heads, means):
        self.model, self.heads, self.means = model, heads, means

    def __enter__(self):
        self.modes = {part: part.training for part in self.model.modules()}
        self.model.eval()
        layers = {layer for layer, _ in self.heads}
        self.handles = [
            self.model.layers[layer].w_o.register_forward_pre_hook(self.hook(layer))
            for layer in layers
        ]

    def hook(self, layer):
        own = {head for its_layer, head in self.heads if its_layer == layer}

        def speak(module, given):
            pieces = list(torch.tensor_split(given[0], self.model.layers[layer].num_heads, dim=-1))
            for head in own:
                said = 0 * pieces[head] if self.means is None else self.means[layer, head]
                pieces[head] = said.expand_as(pieces[head])
            return torch.cat(pieces, dim=-1)

        return speak

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()
        for part, training in self.modes.items():
            part.training = training


@BANK.right(PART)
def ablated_by_a_context(model, token_ids, heads, means=None):
    refused(model, heads)
    with Silence(model, heads, means), torch.no_grad():
        return model(token_ids)


@BANK.right(PART)
def ablated_pair_by_pair(model, token_ids, heads, means=None):
    """A hook for each pair, one within the other; gradients flow."""
    refused(model, heads)
    H, D = model.layers[0].num_heads, model.embedding.embedding_dim
    head_of = torch.arange(D) // (D // H)

    def without(rest):
        if not rest:
            return model(token_ids)
        (layer, head), *others = rest

        def hook(module, given):
            said = torch.zeros(H, D // H, dtype=given[0].dtype)
            if means is not None:
                said[head] = means[layer, head]
            return torch.where(head_of == head, said.flatten(), given[0])

        with model.layers[layer].w_o.register_forward_pre_hook(hook):
            return without(others)

    modes = [(part, part.training) for part in model.modules()]
    try:
        model.eval()
        return without(list(heads))
    finally:
        for part, training in modes:
            part.training = training


@BANK.right(PART)
def ablated_through_attend(model, token_ids, heads, means=None):
    """A block's own steps, one after the other, on a model whose mode is never touched."""
    refused(model, heads)
    x, mask = model.embedding(token_ids), causal_mask(token_ids.shape[1])
    for number, block in enumerate(model.layers):
        context, _ = block.attend(block.norm1(x), mask)  # (B, H, T, d_k)
        spoken = list(context.unbind(dim=1))
        for layer, head in heads:
            if layer == number:
                spoken[head] = torch.zeros_like(spoken[head])
                if means is not None:
                    spoken[head] = spoken[head] + means[layer, head]
        x = x + block.w_o(torch.cat(spoken, dim=-1))
        x = x + block.feed_forward(block.norm2(x))
    return model.unembed(x).detach()


@BANK.right(PART)
def ablated_by_borrowed_weights(model, token_ids, heads, means=None):
    """Columns of `w_o` are zero in this call alone, and what the means give is added behind it."""
    refused(model, heads)
    H, d_k = model.layers[0].num_heads, model.embedding.embedding_dim // model.layers[0].num_heads
    mask = causal_mask(token_ids.shape[1])
    with evaluating(model):
        x = model.embed(token_ids)
        for number, block in enumerate(model.layers):
            weight = block.w_o.weight.detach().unflatten(-1, (H, d_k)).clone()
            added = weight.new_zeros(len(weight))
            for head in {head for layer, head in heads if layer == number}:
                if means is not None:
                    added += weight[:, head] @ means[number, head].to(added)
                weight[:, head] = 0
            with block.w_o.register_forward_hook(
                lambda m, given, result, more=added: result + more
            ):
                x = functional_call(block, {"w_o.weight": weight.flatten(-2)}, (x, mask))
        return model.unembed(x)
