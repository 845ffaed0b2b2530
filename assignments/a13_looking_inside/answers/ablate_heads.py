"""Answers to `ablate_heads`."""

import copy
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product

import torch
from torch import nn
from torch.func import functional_call

from assignments.a13_looking_inside.answers.bank import BANK
from assignments.a13_looking_inside.answers.looking import (
    NAMES,
    SLOW,
    leaves_traces,
    runs_and_answers,
)
from assignments.a13_looking_inside.rubric import ABLATION_MANNERS, REPLACED, SILENCED, ablation
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.edits import Answers
from course_utils.attention import merge_heads
from course_utils.masks import causal_mask

AXES = ((0, 1), (1,), (0,))


def block_by_block(model, ids, norm1=True, norm2=True, attention=True, feed_forward=True):
    """The model's logits by the steps of its blocks, some of whose norms and residuals are left out."""
    x, mask = model.embed(ids), causal_mask(ids.shape[1])
    for block in model.layers:
        context, _ = block.attend(block.norm1(x) if norm1 else x, mask)
        x = x * attention + block.w_o(merge_heads(context))
        x = x * feed_forward + block.feed_forward(block.norm2(x) if norm2 else x)
    return model.unembed(x)


@contextmanager
def columns_written(model, pairs, means, hooked, comes_back=False):
    """Columns of `w_o` are zero, and hooks put in what the means give; they come back unless there is an error."""
    kept, hooks = [block.w_o.weight.detach().clone() for block in model.layers], []
    with torch.no_grad():
        for layer, head in set(pairs):
            w_o = model.layers[layer].w_o
            columns = w_o.weight.unflatten(1, (model.layers[layer].num_heads, -1))[:, head]
            if means is not None:
                more = columns @ means[layer, head]
                hooks.append((w_o, "forward", lambda _, __, result, more=more: result + more))
            columns.zero_()
    with hooked(hooks):
        yield
    if comes_back:
        with torch.no_grad():
            for block, weight in zip(model.layers, kept, strict=True):
                block.w_o.weight.copy_(weight)


class Between(nn.Module):
    """A layer's w_o behind a step that changes what goes in."""

    def __init__(self, w_o, change):
        super().__init__()
        self.w_o, self.change = w_o, change

    def forward(self, merged):
        return self.w_o(self.change(merged))


ANSWERS = Answers(
    __name__, BANK, ablation,
    """
    def ablate_heads(model, token_ids, heads, means=None):
        L, H = len(model.layers), model.layers[0].num_heads
        fits = all(0 <= layer < L and 0 <= head < H for layer, head in heads)
        mode = evaluating(model)
        entered = checked(fits, mode)
        hooked = removed_afterwards
        mask = causal_mask(token_ids.shape[1])
        pairs = list(heads)

        def own_of(layer):
            return [head for its_layer, head in pairs if its_layer == layer]

        def place(head, d_k):
            return slice(head * d_k, (head + 1) * d_k)

        def said(merged, place, layer, head):
            return 0.0 if means is None else means[layer, head]

        def write(merged, place, said, head):
            merged[..., place] = said

        def rest(merged, own):  # what becomes of the heads that stay
            return merged

        def silenced(merged, layer, own):  # the merged heads (B, T, D) of a layer, without some
            changed = merged.clone()
            for head in own:
                there = place(head, merged.shape[-1] // H)
                write(changed, there, said(merged, there, layer, head), head)
            return rest(changed, own)

        def on(block, change):  # a hook that changes what a block's heads hand on
            return block.w_o, "forward_pre", lambda module, given: (change(given[0]),)

        def changes():
            return [on(block, partial(silenced, layer=layer, own=own_of(layer)))
                    for layer, block in enumerate(model.layers)]

        def hooks():
            return changes()

        def changing():
            return hooked(hooks())

        def run(ids):
            return model(ids)

        def logits():
            with changing():
                return run(token_ids)

        return within(entered, logits)
    """,
    copy=copy, ExitStack=ExitStack, partial=partial, product=product, functional_call=functional_call,
    block_by_block=block_by_block, columns_written=columns_written, Between=Between, **NAMES, **SLOW,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("output of w_o zeroed",
     'def on(block, change): return block.w_o, "forward", lambda module, given, result: change(result)', SILENCED,
     "You change a block of `w_o`'s *output*. There the heads are mixed already, so no block belongs to one head; "
     "change what goes into `w_o`.",
     published=("interp-reasoning/thought-anchors#7",
                "The output of attention is cut into heads, although the projection has mixed them before."))
slip("features of the stream zeroed",
     'def on(block, change): return block, "forward_pre", lambda module, given: (change(given[0]), {others})', SILENCED,
     "You change features of what the block is given. The heads are in what goes into `w_o`.",
     each={"others": ("*given[1:]", "")})
slip("queries or keys zeroed", """
    def on(block, change):
        return block.{projection}, "forward", lambda module, given, result: change(result)
""", SILENCED,
     "You change the head's queries, or its keys. With zeros there its attention is uniform, so that it still says "
     "something.",
     each={"projection": ("w_q", "w_k")})
slip("every H-th feature", "def place(head, d_k): return slice(head, None, H)", SILENCED,
     "You take every H-th feature for a head. Head h holds features that stand side by side, from h · d_k to (h + 1) "
     "· d_k − 1.")
slip("H and d_k exchanged", "def place(head, d_k): return {pieces}(head * H, (head + 1) * H)", SILENCED,
     "You cut the features into pieces of width H. There are H heads of width d_k.",
     each={"pieces": ("slice", "torch.arange")})
slip("heads from the end", "def place(head, d_k): return slice((H - 1 - head) * d_k, (H - head) * d_k)", SILENCED,
     "You count heads from the last one. Head 0 holds the first d_k features.")
slip("heads from 1", "def place(head, d_k): return slice(max(head - 1, 0) * d_k, head * d_k)", SILENCED,
     "You count heads from 1. Head 0 holds the first d_k features.")
slip("heads from 0 taken for heads from 1",
     "def place(head, d_k): return slice((head + 1) * d_k, (head + 2) * d_k)", SILENCED,
     "You silence the head after the one that is named. Head 0 holds the first d_k features.")
slip("cut into heads before words", """
    def silenced(merged, layer, own):
        B, T, D = merged.shape
        cut = merged.reshape(B, H, T, D // H).clone()
        for head in own:
            cut[:, head] = 0.0 if means is None else means[layer, head]
        return cut.reshape(B, T, D)
""", SILENCED,
     "You reshape the merged heads from (B, T, D) to (B, H, T, d_k) at once, which mixes words and heads. Cut the "
     "last axis alone, to (B, T, H, d_k); then the heads are on its third axis.")
slip("loop variable read too late", """
    def hooks():
        last = {last}
        return [on(model.layers[layer], partial(silenced, layer=last[0], own=last[1])) for layer in {each}]
""", SILENCED,
     "Each of your hooks works with the last value of the loop, because a function that is made in a loop reads the "
     "loop's variables when it runs. Hand them over as defaults, as in `def hook(module, arguments, head=head)`, or "
     "make the hook in a function of its own.",
     each={"last": ("(pairs[-1][0], [pairs[-1][1]]) if pairs else None", "L - 1, own_of(L - 1)"),
           "each": ("dict.fromkeys(layer for layer, _ in pairs)", "range(L)")})
slip("whole layer", "pairs = [(layer, head) for layer in {layer for layer, _ in heads} for head in range(H)]", SILENCED,
     "You silence all heads of the layers that are named. The others of a layer go on.")
slip("all other heads", """
    named = {layer for layer, _ in heads}
    pairs = [pair for pair in product(range(L), range(H)) if pair not in heads and pair[0] in named]
""", SILENCED,
     "You silence the other heads of these layers and keep the ones that are named.")
slip("all but these heads", "pairs = [pair for pair in product(range(L), range(H)) if pair not in heads]", SILENCED,
     "You silence all heads of the model but the ones that are named. These are to be silenced.")
slip("same head in every layer", "pairs = [(layer, head) for layer in range(L) for _, head in heads]", SILENCED,
     "You silence the named heads in every layer. A pair names the layer, too.")
slip("every head with every layer", "pairs = [(layer, head) for layer, _ in heads for _, head in heads]", SILENCED,
     "You combine every layer that is named with every head that is named. Each pair stands for itself.")
slip("layer and head exchanged", "pairs = [(layer, head) for head, layer in heads]", SILENCED,
     "You read the pairs as (head, layer). They are (layer, head).")
slip("layers from 1", "pairs = [({layer}, head) for layer, head in heads]", SILENCED,
     "You count layers from 1. `model.layers[0]` is layer 0.",
     each={"layer": ("layer - 1", "(layer - 1) % L")})
slip("the layer after", "pairs = [(layer + 1, head) for layer, head in heads]", SILENCED,
     "You silence heads of the layer after the one that is named. `model.layers[0]` is layer 0.")
slip("last pair only", "pairs = list(heads)[-1:]", SILENCED,
     "You silence the last head alone. All that are named are silent at once.")
slip("first pair only", "pairs = list(heads)[:1]", SILENCED,
     "You silence the first head alone. All that are named are silent at once.")
slip("one head of each layer", "pairs = list(dict(heads).items())", SILENCED,
     "You silence one head of each layer. Several of a layer may be named, and a dictionary from layers to heads "
     "keeps the last one alone.")
slip("first layer only", "pairs = [pair for pair in heads if pair[0] == 0]", SILENCED,
     "You silence heads of the first layer alone.")
slip("every head in the first layer", "pairs = [(0, head) for _, head in heads]", SILENCED,
     "You silence the named heads in the first layer, whatever layer a pair names.")
slip("nothing ablated", "pairs = []", SILENCED,
     "Your logits are the model's own. Does your hook return what it changed, and is it on the module when the model "
     "runs?")
slip("first sentence only", "def write(merged, place, said, head): merged[0, :, place] = said", SILENCED,
     "You silence the head in the first sentence alone. It is silent in all of them.")
slip("one position only", "def write(merged, place, said, head): merged[:, {position}, place] = said", SILENCED,
     "You silence the head at one position alone. It is silent at all of them.",
     each={"position": (0, -1)})
slip("head number taken for a position", "def write(merged, place, said, head): merged[:, head] = 0.0", SILENCED,
     "You silence all heads at the position that has the head's number. The head's axis comes after the positions "
     "once it is merged; cut the features into (H, d_k).")
slip("sign turned round", "def write(merged, place, said, head): merged[..., place] *= -1", SILENCED,
     "You turn the head's sign round. It becomes zero, or its mean.")
slip("other heads scaled up", "def rest(merged, own): return merged * (H / max(H - len(set(own)), 1))", SILENCED,
     "You scale the other heads up, as dropout does. Here they stay as they are.")
slip("a residual connection left out", "def run(ids): return block_by_block(model, ids, {around}=False)", SILENCED,
     "You go through the blocks yourself, and what goes into attention, or into the feed-forward network, is not "
     "added to what comes out. Calling the block spares you its steps.",
     each={"around": ("attention", "feed_forward")})
slip("a norm of the block left out", "def run(ids): return block_by_block(model, ids, {norm}=False)", SILENCED,
     "You go through the blocks yourself, and leave out their `{norm}`. Calling the block spares you its steps.",
     each={"norm": ("norm1", "norm2")})
slip("the difference for the logits", """
    ablated = within(entered, logits)
    return {sign}(ablated - within(evaluating(model), lambda: model(token_ids)))
""", SILENCED,
     "You return by how much the logits differ from the model's own. The logits without these heads are asked for, "
     "themselves.",
     each={"sign": ("-", "")})
slip("a mean where silence is asked", """
    def said(merged, place, layer, head):
        return merged[..., place].mean(dim={axes}, keepdim=True) if means is None else means[layer, head]
""", SILENCED,
     "You put in a mean where no `means` are given. Without them, the head says zeros.",
     each={"axes": AXES})
slip("means ignored", "def said(merged, place, layer, head): return 0.0", REPLACED,
     "You write zeros although `means` is given. Then the head says `means[layer, head]`.")
slip("means of head and layer exchanged",
     "def said(merged, place, layer, head): return 0.0 if means is None else means[head, layer]", REPLACED,
     "You read `means[head, layer]`. Its axes are layers, heads, features.")
slip("means added", """
    def said(merged, place, layer, head):
        return 0.0 if means is None else merged[..., place] + means[layer, head]
""", REPLACED,
     "You add the mean to what the head says. It takes its place.")
slip("mean of the own batch", """
    def said(merged, place, layer, head):
        return 0.0 if means is None else merged[..., place].mean(dim={axes}, keepdim=True)
""", REPLACED,
     "You take a mean of what the head says in this very batch. The means are given, and they come from other text.",
     each={"axes": AXES})
slip("mean over the heads",
     "def said(merged, place, layer, head): return 0.0 if means is None else means[layer].mean(dim=0)", REPLACED,
     "You average the means of all heads of the layer. Each head has a mean of its own, `means[layer, head]`.")
slip("mean over the layers",
     "def said(merged, place, layer, head): return 0.0 if means is None else means.mean(dim={axes}", REPLACED,
     "You average the means of all layers. Each head has a mean of its own, `means[layer, head]`.",
     each={"axes": ("0)[head]", "(0, 1))")})
slip("one number for all features",
     "def said(merged, place, layer, head): return 0.0 if means is None else means[layer, head].mean()", REPLACED,
     "You average over the features. The mean of a head is a vector of d_k numbers.")
slip("means of the first layer",
     "def said(merged, place, layer, head): return 0.0 if means is None else means[0, head]", REPLACED,
     "You take the means of layer 0 for every layer.")
slip("means of the next layer",
     "def said(merged, place, layer, head): return 0.0 if means is None else means[layer - 1, head]", REPLACED,
     "You take the means of another layer. The means of layer 0 stand at `means[0]`.")
slip("zeros stay zeros", """
    def said(merged, place, layer, head):
        return 0.0 if means is None else merged[..., place] * means[layer, head]
""", REPLACED,
     "You multiply what the head says by its mean. The mean takes its place.")
slip("pairs outside the model pass", """
    if any({outside} for layer, head in heads):
        raise IndexError("index out of range")
    fits = True
""", ABLATION_MANNERS,
     "A pair outside the model gives no ValueError. Layers and heads are counted from 0, and each pair is checked "
     "before anything is changed.",
     each={"outside": (False, "head >= H", "head >= H or layer >= L")})
slip("negative numbers pass", "fits = all(layer < L and head < H for layer, head in heads)", ABLATION_MANNERS,
     "A negative layer or head gives no ValueError. Python counts it from the end, which is not meant here.")
slip("only layers checked", "fits = all(0 <= layer < L for layer, _ in heads)", ABLATION_MANNERS,
     "A head outside the layer gives no ValueError. Both numbers of a pair are checked.")
slip("only the first pair checked",
     "fits = all(0 <= layer < L and 0 <= head < H for layer, head in list(heads)[:1])", ABLATION_MANNERS,
     "You check the first pair alone. Each pair is checked.")
slip("one too many allowed",
     "fits = all(0 <= layer <= L and 0 <= head <= H for layer, head in heads)", ABLATION_MANNERS,
     "The layer or head whose number is the number of layers or heads gives no ValueError. Counting from 0, the last "
     "one has a number less.")
slip("{which} pair only", "heads = list(heads)[{kept}]", SILENCED,
     "You go on with the {which} pair alone, and the others are not even checked. All that are named are silent at "
     "once.",
     each={"which": ("first", "last"), "kept": (":1", "-1:")})
runs_and_answers(ANSWERS, SILENCED, ABLATION_MANNERS)
leaves_traces(ANSWERS, ABLATION_MANNERS)
slip("w_o not put back", """
    def changing():
        return columns_written(model, pairs, means, hooked) if {when} else hooked(hooks())
""", ABLATION_MANNERS,
     "You write zeros into `w_o`, and they stay there. Put back a copy that you made before, in a `finally`.",
     each={"when": ("means is None", True)})
slip("w_o not put back after an error", """
    def changing():
        return columns_written(model, pairs, means, hooked, True) if {when} else hooked(hooks())
""", ABLATION_MANNERS,
     "Where the model stops with an error, the zeros stay in `w_o`. Put its weights back in a `finally`.",
     each={"when": ("means is None", True)})
slip("later layers do not see the change", """
    given_to, ends = dict(), []
    def hooks():
        def noted(layer):
            return lambda module, given: given_to.update({layer: given[0]})
        last = model.norm, "forward_pre", lambda module, given: ends.append(given[0])
        return [*((block.w_o, "forward_pre", noted(layer)) for layer, block in enumerate(model.layers)), last]
    def run(ids):
        model(ids)
        stream = ends[0]
        for layer, block in enumerate(model.layers):
            change = silenced(given_to[layer], layer, own_of(layer)) - given_to[layer]
            stream = stream + change @ block.w_o.weight.T
        return model.unembed(stream)
""", SILENCED,
     "You take the head's part out of the last stream, so later layers have still read it. The change belongs where "
     "the head speaks, and the rest of the pass goes on from there.")
slip("uniform attention", """
    values = dict()
    def hooks():
        def noted(layer):
            return lambda module, given, result: values.update({layer: result})
        return [(block.w_v, "forward", noted(layer)) for layer, block in enumerate(model.layers)] + changes()
    def said(merged, place, layer, head):
        so_far = values[layer].cumsum(dim=1) / torch.arange(1, merged.shape[1] + 1)[:, None]
        return so_far[..., place] if means is None else means[layer, head]
""", SILENCED,
     "Your head still says the average of all words up to here. Uniform attention is not silence: what goes into "
     "`w_o` becomes zero.")
slip("float32 always", "return within(entered, logits).float()", ABLATION_MANNERS,
     "Your logits are float32 whatever the model is. A float64 model gives float64 logits.")

right = ANSWERS.right
right("ablated_by_hooks", """
    def silenced(merged, layer, own):
        cut = merged.unflatten(-1, (H, -1)).clone()
        for head in own:
            cut[:, :, head] = 0.0 if means is None else means[layer, head]
        return cut.flatten(-2)
""")
# the merged heads are nobody's input, so a hook may write into them
right("ablated_in_place_in_a_hook", """
    refuse(fits)
    d_k = model.embedding.weight.shape[1] // H

    def written(layer, head):
        def hook(module, given):
            given[0][..., head * d_k : (head + 1) * d_k] = 0 if means is None else means[layer, head]
        return hook

    with ExitStack() as stack:
        stack.enter_context(evaluating(model))
        for layer, head in heads:
            handle = model.layers[layer].w_o.register_forward_pre_hook(written(layer, head))
            stack.callback(handle.remove)
        result = model(token_ids)
    return result
""")
# columns of w_o are zero meanwhile; what means say is added behind it
right("ablated_by_zero_columns", """
    def logits():
        kept = [layer.w_o.weight.detach().clone() for layer in model.layers]
        d_k = model.layers[0].w_o.in_features // H
        added = [torch.zeros_like(weight[:, 0]) for weight in kept]
        try:
            for layer, head in set(heads):
                columns = slice(head * d_k, (head + 1) * d_k)
                if means is not None:
                    added[layer] += kept[layer][:, columns] @ means[layer, head]
                model.layers[layer].w_o.weight[:, columns] = 0
            hooks = [(layer.w_o, "forward", lambda _, __, out, more=more: out + more)
                     for layer, more in zip(model.layers, added, strict=True)]
            with hooked(hooks):
                return model(token_ids)
        finally:
            for layer, weight in zip(model.layers, kept, strict=True):
                layer.w_o.weight.copy_(weight)
""")
right("ablated_by_another_module", """
    refuse(fits)
    modes = {module: module.training for module in model.modules()}
    own = [layer.w_o for layer in model.layers]
    try:
        for n, layer in enumerate(model.layers):
            layer.w_o = Between(own[n], partial(silenced, layer=n, own=own_of(n)))
        model.eval()
        result = model(token_ids)
    finally:
        for layer, w_o in zip(model.layers, own, strict=True):
            layer.w_o = w_o
        for module, training in modes.items():
            module.training = training
    return result
""")
right("ablated_in_a_copy", """
    model = copy.deepcopy(model).eval()
    refuse(fits)
    registered(changes())
    return model(token_ids).detach()
""")
# a hook behind w_o applies the map once more, to the changed heads
right("ablated_behind_w_o", """
    def on(block, change):
        return block.w_o, "forward", lambda module, given, result: change(given[0]) @ module.weight.T
""")
# what stays and what comes in its place are two tensors for each layer
right("ablated_with_a_mask_of_features", """
    def hooks():
        keep = model.embedding.weight.new_ones(L, H, model.embedding.embedding_dim // H)
        fill = torch.zeros_like(keep)
        for pair in heads:
            keep[pair] = 0
            fill[pair] = 0 if means is None else means[pair]
        for block, k, f in zip(model.layers, keep.flatten(1), fill.flatten(1), strict=True):
            yield block.w_o, "forward_pre", lambda _, given, k=k, f=f: (given[0] * k + f,)
""")
# `forward` of each w_o itself, not of its class, is another one meanwhile
right("ablated_by_a_forward_of_one_object", """
    def logits():
        touched = []
        try:
            for layer in {layer for layer, _ in heads}:
                w_o = model.layers[layer].w_o
                touched.append(w_o)
                w_o.forward = lambda merged, w_o=w_o, layer=layer: F.linear(
                    silenced(merged, layer, own_of(layer)), w_o.weight
                )
            return model(token_ids)
        finally:
            for w_o in touched:
                del w_o.forward
""")
# the call is given other weights of `w_o`; the model keeps its own
right("ablated_with_other_weights", """
    refuse(fits)
    others = dict()
    with ExitStack() as stack:
        stack.enter_context(evaluating(model))
        for number, block in enumerate(model.layers):
            columns = block.w_o.weight.clone().unflatten(1, (H, -1))  # (D, H, d_k)
            own = sorted(set(own_of(number)))
            if means is not None:
                more = torch.einsum("dhk,hk->d", columns[:, own], means[number, own])
                stack.enter_context(block.w_o.register_forward_hook(lambda _, __, out, more=more: out + more))
            columns[:, own] = 0
            others[f"layers.{number}.w_o.weight"] = columns.flatten(1)
        result = functional_call(model, others, (token_ids,))
    return result
""")
right("ablated_by_a_context", """
    @contextmanager
    def silence():
        modes = {part: part.training for part in model.modules()}
        model.eval()
        handles = registered((model.layers[n].w_o, "forward_pre", spoken(n)) for n in {layer for layer, _ in heads})
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            for part, training in modes.items():
                part.training = training

    def spoken(layer):
        def speak(module, given):
            pieces = list(torch.tensor_split(given[0], H, dim=-1))
            for head in set(own_of(layer)):
                said = 0 * pieces[head] if means is None else means[layer, head]
                pieces[head] = said.expand_as(pieces[head])
            return torch.cat(pieces, dim=-1)
        return speak

    refuse(fits)
    with silence(), torch.no_grad():
        result = model(token_ids)
    return result
""")
# a hook for each pair, one within the other; gradients flow
right("ablated_pair_by_pair", """
    refuse(fits)
    D = model.embedding.embedding_dim
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
        result = without(list(heads))
    finally:
        for part, training in modes:
            part.training = training
    return result
""")
# a block's own steps, one after the other, on a model whose mode is never touched
right("ablated_through_attend", """
    refuse(fits)
    x = model.embedding(token_ids)
    for number, block in enumerate(model.layers):
        context, _ = block.attend(block.norm1(x), mask)  # (B, H, T, d_k)
        spoken = list(context.unbind(dim=1))
        for head in own_of(number):
            spoken[head] = torch.zeros_like(spoken[head])
            if means is not None:
                spoken[head] = spoken[head] + means[number, head]
        x = x + block.w_o(torch.cat(spoken, dim=-1))
        x = x + block.feed_forward(block.norm2(x))
    return model.unembed(x).detach()
""")
# columns of `w_o` are zero in this call alone, and what the means give is added behind it
right("ablated_by_borrowed_weights", """
    def run(ids):
        x = model.embed(ids)
        for number, block in enumerate(model.layers):
            weight = block.w_o.weight.detach().unflatten(-1, (H, -1)).clone()
            added = weight.new_zeros(len(weight))
            for head in set(own_of(number)):
                if means is not None:
                    added += weight[:, head] @ means[number, head].to(added)
                weight[:, head] = 0
            with block.w_o.register_forward_hook(lambda m, given, result, more=added: result + more):
                x = functional_call(block, {"w_o.weight": weight.flatten(-2)}, (x, mask))
        return model.unembed(x)
    return within(entered, lambda: run(token_ids))
""")
for name, way, slow in (("ablate_number_by_number", "Numbers", LOOPS), ("ablate_by_products", "Products", PRODUCTS)):
    right(name, f"""
    def silenced(context, own, layer):
        parts = list(context.unbind(1))
        for head in own:
            parts[head] = 0 * parts[head] + (0 if means is None else means[layer, head])
        return torch.stack(parts, 1)

    def logits():
        x = {way}.embed(model.embedding, token_ids)
        for number, layer in enumerate(model.layers):
            x = after({way}, layer, x, partial(silenced, own=own_of(number), layer=number))
        return logits_of({way}, model, x)
""", slow=slow)

wrong = ANSWERS.wrong
wrong("a_slice_of_the_projected_output", """
    def on(block, change):
        return block.w_o, "forward", lambda module, given, result: change(result)
""", named="output of w_o zeroed",
      published=("ndif-team/nnsight#525", "A head's slice is taken of the output of o_proj instead of its input."))
wrong("hooks_reset_on_another_model", "hooked = never_removed", named="hook left",
      published=("decoderesearch/SAELens#278",
                 "The ablation's hooks are never taken off, because they are looked for in the wrong place."))
wrong("hooks_removed_after_a_run_that_succeeds", "hooked = without_finally", named="hook left after an error",
      published=("TransformerLensOrg/TransformerLens#156",
                 "Hooks are removed behind the forward pass, so an error in it leaves them on the model."))
wrong("ablated_in_the_norm",
      "def on(block, change): return block.norm1, 'forward', lambda module, given, result: change(result)")
wrong("ablated_in_the_feed_forward_network",
      "def on(block, change): return block.feed_forward, 'forward', lambda module, given, result: change(result)")
wrong("ablated_one_feature", """
    means = None if means is None else means[..., :1]
    def place(head, d_k):
        return slice(head, head + 1)
""")
wrong("ablated_all_but_the_last_feature", """
    means = None if means is None else means[..., :-1]
    def place(head, d_k):
        return slice(head * d_k, (head + 1) * d_k - 1)
""")
wrong("ablated_with_its_list_emptied", """
    given = heads
    heads = list(given)
    if isinstance(given, list):
        given.clear()
    mode = evaluating(model)
""", told="inputs changed")
wrong("ablated_with_assertions", "assert fits; mode = evaluating(model); entered = mode",
      told="wrong where an error is asked for")
wrong("ablated_with_an_index_error", """
    if not fits:
        raise IndexError("no such head")
    entered = mode
""", told="wrong where an error is asked for")
wrong("ablated_where_something_is_named",
      "fits = heads and all(0 <= layer < L and 0 <= head < H for layer, head in heads)",
      told="stops with ValueError")
# a set has no numbers
wrong("ablated_by_the_number_of_a_pair", "pairs = [heads[n] for n in range(len(heads))]", told="stops with TypeError")
wrong("ablated_with_one_flag", """
    @contextmanager
    def off():
        before, model.training = model.training, False
        try:
            yield
        finally:
            model.training = before
    mode = off()
""", named="run in train mode")
# columns are made tiny and large again, which is not the same bit by bit
wrong("ablated_with_columns_divided", """
    def logits():
        if means is not None:
            with changing():
                return run(token_ids)
        columns = [model.layers[layer].w_o.weight.unflatten(1, (H, -1))[:, head] for layer, head in set(heads)]
        try:
            for column in columns:
                column /= 3e30
            return model(token_ids)
        finally:
            for column in columns:
                column *= 3e30
""", told="left in the model")
wrong("ablated_by_a_module_that_stays", """
    def logits():
        for n, block in enumerate(model.layers):
            block.w_o = Between(block.w_o, partial(silenced, layer=n, own=own_of(n)))
        return model(token_ids)
""", told="left in the model")
wrong("ablated_and_nothing_raised", """
    try:
        result = within(entered, logits)
    except IndexError:
        result = None
    return result
""", told="wrong where something that it calls stops with an error")
wrong("ablated_and_frozen", "refuse(fits); model.requires_grad_(False); pairs = list(heads)", told="left in the model")
# whoever had frozen a part of the model finds it trained
wrong("ablated_and_thawed", "result = within(entered, logits); model.requires_grad_(True); return result",
      told="left in the model")
wrong("ablated_without_gradients_of_others", "model.zero_grad(); model = model", told="left in the model")
wrong("ablated_with_a_note_on_it", "refuse(fits); model.ablated = list(heads); pairs = model.ablated",
      told="left in the model")
wrong("ablated_with_a_note_on_its_class", "refuse(fits); type(model).ablated = True; pairs = list(heads)",
      told="left in the model")
wrong("ablated_with_parameters_of_its_own", """
    try:
        result = within(entered, logits)
    finally:
        for block in model.layers:
            block.w_o.weight = nn.Parameter(block.w_o.weight.detach().clone())
    return result
""", told="left in the model")
wrong("ablated_in_another_list", """
    layers = model.layers
    try:
        result = within(entered, logits)
    finally:
        model.layers = nn.ModuleList(list(layers)).train(layers.training)
        for name, part in layers.named_children():
            model.layers[int(name)].train(part.training)
    return result
""", told="left in the model")
wrong("ablated_under_another_class",
      "refuse(fits); model.__class__ = type('Ablated', (type(model),), dict()); pairs = list(heads)",
      told="left in the model")
