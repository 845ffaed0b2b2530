"""Ablation in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial

import torch

from assignments.a13_looking_inside.mistakes.looking import (
    Looking,
    leaves_traces,
    runs_and_answers,
)
from assignments.a13_looking_inside.rubric import ABLATION_MANNERS, REPLACED, SILENCED, ablation
from autograder.checks.mistakes import called, variants
from course_utils.attention import merge_heads
from course_utils.masks import causal_mask


class Ablation(Looking):
    """Ablation in steps, each of which a mistake can take in another way."""

    def check(self, model, heads):
        for layer, head in heads:
            if not (0 <= layer < len(model.layers) and 0 <= head < model.layers[0].num_heads):
                raise ValueError(f"no head {head} in layer {layer}")

    def pairs(self, heads, layers, H):
        """The heads that are ablated, of a model with so many layers and heads."""
        return heads

    def place(self, head, H, d_k):
        return slice(head * d_k, (head + 1) * d_k)

    def said(self, merged, place, layer, head, means):
        return 0.0 if means is None else means[layer, head]

    def write(self, merged, place, said):
        merged[..., place] = said

    def rest(self, merged, heads, H):
        """What becomes of the heads that stay."""
        return merged

    def silenced(self, merged, layer, heads, means, H):
        """The merged heads (B, T, D) of a layer, some of which are ablated."""
        changed = merged.clone()
        for head in heads:
            place = self.place(head, H, merged.shape[-1] // H)
            self.write(changed, place, self.said(merged, place, layer, head, means))
        return self.rest(changed, heads, H)

    def hooks(self, model, heads, means):
        H = model.layers[0].num_heads
        for layer, block in enumerate(model.layers):
            own = [head for its_layer, head in heads if its_layer == layer]
            change = partial(self.silenced, layer=layer, heads=own, means=means, H=H)
            yield self.on(block, change)

    def on(self, block, change):
        """A hook that changes what a block's heads hand on."""
        return block.w_o, "forward_pre", lambda module, given: (change(given[0]),)

    def changing(self, model, heads, means):
        """A context in which the model does without these heads."""
        return self.hooked(list(self.hooks(model, heads, means)))

    def answer(self, model, token_ids, heads, means=None):
        with self.entered(model, lambda: self.check(model, heads)):
            heads = self.pairs(list(heads), len(model.layers), model.layers[0].num_heads)
            with self.changing(model, heads, means):
                return self.form(self.run(model, token_ids))


@ablation.mistakes_in(Ablation.on, costs=SILENCED)
class AblationOn:
    @called("output of w_o zeroed")
    def output(self, block, change):
        """You change a block of `w_o`'s *output*. There the heads are mixed already, so no block belongs
        to one head; change what goes into `w_o`."""
        return block.w_o, "forward", lambda module, given, result: change(result)

    @called("features of the stream zeroed")
    @variants("masked", (True, False))
    def stream(self, block, change, masked):
        """You change features of what the block is given. The heads are in what goes into `w_o`."""
        return (
            block,
            "forward_pre",
            lambda module, given: (change(given[0]), *given[1:] * masked),
        )

    @called("queries or keys zeroed")
    @variants("projection", ("w_q", "w_k"))
    def queries(self, block, change, projection):
        """You change the head's queries, or its keys. With zeros there its attention is uniform, so that it
        still says something."""
        return (
            getattr(block, projection),
            "forward",
            lambda module, given, result: change(result),
        )


@ablation.mistakes_in(Ablation.place, costs=SILENCED)
class AblationPlace:
    @called("every H-th feature")
    def interleaved(self, head, H, d_k):
        """You take every H-th feature for a head. Head h holds features that stand side by side, from
        h · d_k to (h + 1) · d_k − 1."""
        return slice(head, None, H)

    @called("H and d_k exchanged")
    @variants("indices", (False, True))
    def of_width_h(self, head, H, d_k, indices):
        """You cut the features into pieces of width H. There are H heads of width d_k."""
        first, end = head * H, (head + 1) * H
        return torch.arange(first, end) if indices else slice(first, end)

    @called("heads from the end")
    def reversed_order(self, head, H, d_k):
        """You count heads from the last one. Head 0 holds the first d_k features."""
        return slice((H - 1 - head) * d_k, (H - head) * d_k)

    @called("heads from 1")
    def from_one(self, head, H, d_k):
        """You count heads from 1. Head 0 holds the first d_k features."""
        return slice(max(head - 1, 0) * d_k, head * d_k)

    @called("heads from 0 taken for heads from 1")
    def one_further(self, head, H, d_k):
        """You silence the head after the one that is named. Head 0 holds the first d_k features."""
        return slice((head + 1) * d_k, (head + 2) * d_k)


@ablation.mistakes_in(Ablation.silenced, costs=SILENCED)
class AblationSilenced:
    @called("cut into heads before words")
    def words_and_heads_mixed(self, merged, layer, heads, means, H):
        """You reshape the merged heads from (B, T, D) to (B, H, T, d_k) at once, which mixes words and
        heads. Cut the last axis alone, to (B, T, H, d_k); then the heads are on its third axis."""
        B, T, D = merged.shape
        cut = merged.reshape(B, H, T, D // H).clone()
        for head in heads:
            cut[:, head] = 0.0 if means is None else means[layer, head]
        return cut.reshape(B, T, D)


@ablation.mistakes_in(Ablation.hooks, costs=SILENCED)
class AblationHooks:
    @called("loop variable read too late")
    @variants("loop", ("pairs", "layers"))
    def late(self, model, heads, means, loop):
        """Each of your hooks works with the last value of the loop, because a function that is made in a
        loop reads the loop's variables when it runs. Hand them over as defaults, as in
        `def hook(module, arguments, head=head)`, or make the hook in a function of its own."""
        H, last = model.layers[0].num_heads, len(model.layers) - 1
        if loop == "layers":
            hooked, own = range(last + 1), [head for layer, head in heads if layer == last]
        else:
            hooked, own = (
                dict.fromkeys(layer for layer, _ in heads),
                [head for _, head in heads[-1:]],
            )
            last = heads[-1][0] if heads else last
        change = partial(self.silenced, layer=last, heads=own, means=means, H=H)
        for layer in hooked:
            yield self.on(model.layers[layer], change)


@ablation.mistakes_in(Ablation.pairs, costs=SILENCED)
class AblationPairs:
    @called("whole layer")
    def whole_layer(self, heads, layers, H):
        """You silence all heads of the layers that are named. The others of a layer go on."""
        return [(layer, head) for layer in {layer for layer, _ in heads} for head in range(H)]

    @called("all other heads")
    def the_others(self, heads, layers, H):
        """You silence the other heads of these layers and keep the ones that are named."""
        named = set(heads)
        chosen = {layer for layer, _ in heads}
        return [pair for pair in everything(layers, H) if pair not in named and pair[0] in chosen]

    @called("all but these heads")
    def all_others(self, heads, layers, H):
        """You silence all heads of the model but the ones that are named. These are to be silenced."""
        return [pair for pair in everything(layers, H) if pair not in set(heads)]

    @called("same head in every layer")
    def every_layer(self, heads, layers, H):
        """You silence the named heads in every layer. A pair names the layer, too."""
        return [(layer, head) for layer in range(layers) for _, head in heads]

    @called("every head with every layer")
    def crossed(self, heads, layers, H):
        """You combine every layer that is named with every head that is named. Each pair stands for
        itself."""
        return [(layer, head) for layer, _ in heads for _, head in heads]

    @called("layer and head exchanged")
    def exchanged(self, heads, layers, H):
        """You read the pairs as (head, layer). They are (layer, head)."""
        return [(layer, head) for head, layer in heads]

    @called("layers from 1")
    @variants("wraps", (False, True))
    def from_one(self, heads, layers, H, wraps):
        """You count layers from 1. `model.layers[0]` is layer 0."""
        shifted = [(layer - 1, head) for layer, head in heads]
        return [(layer % layers, head) for layer, head in shifted if wraps or layer >= 0]

    @called("the layer after")
    def one_further(self, heads, layers, H):
        """You silence heads of the layer after the one that is named. `model.layers[0]` is layer 0."""
        return [(layer + 1, head) for layer, head in heads]

    @called("last pair only")
    def last_pair(self, heads, layers, H):
        """You silence the last head alone. All that are named are silent at once."""
        return heads[-1:]

    @called("first pair only")
    def first_pair(self, heads, layers, H):
        """You silence the first head alone. All that are named are silent at once."""
        return heads[:1]

    @called("one head of each layer")
    def one_of_each(self, heads, layers, H):
        """You silence one head of each layer. Several of a layer may be named, and a dictionary from layers
        to heads keeps the last one alone."""
        return list(dict(heads).items())

    @called("first layer only")
    def first_layer(self, heads, layers, H):
        """You silence heads of the first layer alone."""
        return [pair for pair in heads if pair[0] == 0]

    @called("every head in the first layer")
    def of_the_first_layer(self, heads, layers, H):
        """You silence the named heads in the first layer, whatever layer a pair names."""
        return [(0, head) for _, head in heads]

    @called("nothing ablated")
    def none(self, heads, layers, H):
        """Your logits are the model's own. Does your hook return what it changed, and is it on the module
        when the model runs?"""
        return []


def everything(layers, H):
    return [(layer, head) for layer in range(layers) for head in range(H)]


@ablation.mistakes_in(Ablation.write, costs=SILENCED)
class AblationWrite:
    @called("first sentence only")
    def one_sentence(self, merged, place, said):
        """You silence the head in the first sentence alone. It is silent in all of them."""
        merged[0, :, place] = said

    @called("one position only")
    @variants("position", (0, -1))
    def one_position(self, merged, place, said, position):
        """You silence the head at one position alone. It is silent at all of them."""
        merged[:, position, place] = said

    @called("head number taken for a position")
    def a_position(self, merged, place, said):
        """You silence all heads at the position that has the head's number. The head's axis comes after
        the positions once it is merged; cut the features into (H, d_k)."""
        features = torch.arange(merged.shape[-1])[place]
        merged[:, int(features[0]) // len(features)] = 0.0

    @called("sign turned round")
    def negative(self, merged, place, said):
        """You turn the head's sign round. It becomes zero, or its mean."""
        merged[..., place] *= -1


@ablation.mistakes_in(Ablation.rest, costs=SILENCED)
class AblationRest:
    @called("other heads scaled up")
    def scaled(self, merged, heads, H):
        """You scale the other heads up, as dropout does. Here they stay as they are."""
        return merged * (H / max(H - len(set(heads)), 1))


def block_by_block(model, token_ids, norm1=True, norm2=True, attention=True, feed_forward=True):
    """The model's logits by the steps of its blocks, some of whose norms and residuals are left out."""
    x, mask = model.embed(token_ids), causal_mask(token_ids.shape[1])
    for block in model.layers:
        context, _ = block.attend(block.norm1(x) if norm1 else x, mask)
        x = x * attention + block.w_o(merge_heads(context))
        x = x * feed_forward + block.feed_forward(block.norm2(x) if norm2 else x)
    return model.unembed(x)


@ablation.mistakes_in(Looking.run, costs=SILENCED, of=Ablation)
class AblationRun:
    @called("a residual connection left out")
    @variants("around", ("attention", "feed_forward"))
    def no_residual(self, model, token_ids, around):
        """You go through the blocks yourself, and what goes into attention, or into the feed-forward
        network, is not added to what comes out. Calling the block spares you its steps."""
        return block_by_block(model, token_ids, **{around: False})

    @called("a norm of the block left out")
    @variants("norm", ("norm1", "norm2"))
    def no_norm(self, model, token_ids, norm):
        """You go through the blocks yourself, and leave out their `{norm}`. Calling the block spares you
        its steps."""
        return block_by_block(model, token_ids, **{norm: False})


@ablation.mistakes_in(Ablation.answer, costs=SILENCED)
class AblationAnswer:
    @called("the difference for the logits")
    @variants("sign", (1, -1))
    def effect(self, model, token_ids, heads, means=None, *, sign):
        """You return by how much the logits differ from the model's own. The logits without these heads are
        asked for, themselves."""
        ablated = Ablation.answer(self, model, token_ids, heads, means)
        with self.mode(model):
            return sign * (model(token_ids) - ablated)


@ablation.mistakes_in(Ablation.said, costs=SILENCED)
class AblationSilence:
    @called("a mean where silence is asked")
    @variants("axes", ((0, 1), (1,), (0,)))
    def never_silent(self, merged, place, layer, head, means, axes):
        """You put in a mean where no `means` are given. Without them, the head says zeros."""
        if means is None:
            return merged[..., place].mean(dim=axes, keepdim=True)
        return means[layer, head]


@ablation.mistakes_in(Ablation.said, costs=REPLACED)
class AblationSaid:
    @called("means ignored")
    def ignored(self, merged, place, layer, head, means):
        """You write zeros although `means` is given. Then the head says `means[layer, head]`."""
        return 0.0

    @called("means of head and layer exchanged")
    def exchanged(self, merged, place, layer, head, means):
        """You read `means[head, layer]`. Its axes are layers, heads, features."""
        return 0.0 if means is None else means[head, layer]

    @called("means added")
    def added(self, merged, place, layer, head, means):
        """You add the mean to what the head says. It takes its place."""
        return 0.0 if means is None else merged[..., place] + means[layer, head]

    @called("mean of the own batch")
    @variants("axes", ((0, 1), (1,), (0,)))
    def of_its_own(self, merged, place, layer, head, means, axes):
        """You take a mean of what the head says in this very batch. The means are given, and they come
        from other text."""
        return 0.0 if means is None else merged[..., place].mean(dim=axes, keepdim=True)

    @called("mean over the heads")
    def over_heads(self, merged, place, layer, head, means):
        """You average the means of all heads of the layer. Each head has a mean of its own,
        `means[layer, head]`."""
        return 0.0 if means is None else means[layer].mean(dim=0)

    @called("mean over the layers")
    @variants("axes", (0, (0, 1)))
    def over_layers(self, merged, place, layer, head, means, axes):
        """You average the means of all layers. Each head has a mean of its own, `means[layer, head]`."""
        if means is None:
            return 0.0
        mean = means.mean(dim=axes)
        return mean[head] if axes == 0 else mean

    @called("one number for all features")
    def one_number(self, merged, place, layer, head, means):
        """You average over the features. The mean of a head is a vector of d_k numbers."""
        return 0.0 if means is None else means[layer, head].mean()

    @called("means of the first layer")
    def first_layer(self, merged, place, layer, head, means):
        """You take the means of layer 0 for every layer."""
        return 0.0 if means is None else means[0, head]

    @called("means of the next layer")
    def next_layer(self, merged, place, layer, head, means):
        """You take the means of another layer. The means of layer 0 stand at `means[0]`."""
        return 0.0 if means is None else means[layer - 1, head]

    @called("zeros stay zeros")
    def scaled(self, merged, place, layer, head, means):
        """You multiply what the head says by its mean. The mean takes its place."""
        return 0.0 if means is None else merged[..., place] * means[layer, head]


@ablation.mistakes_in(Ablation.check, costs=ABLATION_MANNERS)
class AblationCheck:
    @called("pairs outside the model pass")
    @variants("stops", ("", "heads", "layers and heads"))
    def none(self, model, heads, stops):
        """A pair outside the model gives no ValueError. Layers and heads are counted from 0, and each pair
        is checked before anything is changed."""
        for layer, head in heads:
            if "heads" in stops and head >= model.layers[0].num_heads:
                raise IndexError(head)
            if "layers" in stops and layer >= len(model.layers):
                raise IndexError(layer)

    @called("negative numbers pass")
    def upper_end(self, model, heads):
        """A negative layer or head gives no ValueError. Python counts it from the end, which is not meant
        here."""
        for layer, head in heads:
            if layer >= len(model.layers) or head >= model.layers[0].num_heads:
                raise ValueError(f"no head {head} in layer {layer}")

    @called("only layers checked")
    def layers_alone(self, model, heads):
        """A head outside the layer gives no ValueError. Both numbers of a pair are checked."""
        if any(not 0 <= layer < len(model.layers) for layer, _ in heads):
            raise ValueError("no such layer")

    @called("only the first pair checked")
    def first_alone(self, model, heads):
        """You check the first pair alone. Each pair is checked."""
        Ablation.check(self, model, list(heads)[:1])

    @called("one too many allowed")
    def one_too_many(self, model, heads):
        """The layer or head whose number is the number of layers or heads gives no ValueError. Counting
        from 0, the last one has a number less."""
        for layer, head in heads:
            if not (0 <= layer <= len(model.layers) and 0 <= head <= model.layers[0].num_heads):
                raise ValueError(f"no head {head} in layer {layer}")


for which, kept in (("first", slice(1)), ("last", slice(-1, None))):

    @ablation.mistake(
        f"{which} pair only",
        f"You go on with the {which} pair alone, and the others are not even checked. All that are named are "
        "silent at once.",
        costs=SILENCED,
    )
    class OnePair(Ablation):
        kept = kept

        def answer(self, model, token_ids, heads, means=None):
            return super().answer(model, token_ids, list(heads)[self.kept], means)


runs_and_answers(ablation, Ablation, SILENCED, ABLATION_MANNERS)
leaves_traces(ablation, Ablation, ABLATION_MANNERS)


@contextmanager
def columns_written(self, model, heads, means, with_means, comes_back):
    """Columns of `w_o` are zero meanwhile; with means only so if asked, and a hook puts these in."""
    if means is not None and not with_means:
        with Ablation.changing(self, model, heads, means):
            yield
        return
    kept = [block.w_o.weight.detach().clone() for block in model.layers]
    added = [0.0] * len(kept)
    with torch.no_grad():
        for layer, head in set(heads):
            weight = model.layers[layer].w_o.weight
            d_k = weight.shape[1] // model.layers[layer].num_heads
            columns = weight[:, head * d_k : (head + 1) * d_k]
            if means is not None:
                added[layer] = added[layer] + columns @ means[layer, head]
            columns.zero_()
    hooks = [
        (block.w_o, "forward", lambda module, given, result, more=more: result + more)
        for block, more in zip(model.layers, added, strict=True)
    ]
    raised = True
    try:
        with self.hooked(hooks):
            yield
        raised = False
    finally:
        if comes_back and not raised:
            with torch.no_grad():
                for block, weight in zip(model.layers, kept, strict=True):
                    block.w_o.weight.copy_(weight)


@ablation.mistakes_in(Ablation.changing, costs=ABLATION_MANNERS)
class AblationChanging:
    @called("w_o not put back")
    @variants("with_means", (False, True))
    def for_good(self, model, heads, means, with_means):
        """You write zeros into `w_o`, and they stay there. Put back a copy that you made before, in a
        `finally`."""
        return columns_written(self, model, heads, means, with_means, comes_back=False)

    @called("w_o not put back after an error")
    @variants("with_means", (False, True))
    def without_finally(self, model, heads, means, with_means):
        """Where the model stops with an error, the zeros stay in `w_o`. Put its weights back in a
        `finally`."""
        return columns_written(self, model, heads, means, with_means, comes_back=True)


@ablation.mistake("later layers do not see the change", costs=SILENCED)
class DirectEffect(Ablation):
    """You take the head's part out of the last stream, so later layers have still read it. The change
    belongs where the head speaks, and the rest of the pass goes on from there."""

    def answer(self, model, token_ids, heads, means=None):
        self.check(model, heads)
        said, ends = {}, []

        def noted(layer):
            return lambda module, given: said.update({layer: given[0]})

        hooks = [(block.w_o, "forward_pre", noted(n)) for n, block in enumerate(model.layers)]
        hooks.append((model.norm, "forward_pre", lambda module, given: ends.append(given[0])))
        with self.mode(model), self.hooked(hooks):
            model(token_ids)
        with torch.no_grad():
            stream, H = ends[0], model.layers[0].num_heads
            for layer, block in enumerate(model.layers):
                own = [head for its_layer, head in heads if its_layer == layer]
                change = self.silenced(said[layer], layer, own, means, H) - said[layer]
                stream = stream + change @ block.w_o.weight.T
            return model.unembed(stream)


@ablation.mistake("uniform attention", costs=SILENCED)
class Uniform(Ablation):
    """Your head still says the average of all words up to here. Uniform attention is not silence: what
    goes into `w_o` becomes zero."""

    def answer(self, model, token_ids, heads, means=None):
        self.check(model, heads)
        values = {}

        def noted(layer):
            return lambda module, given, result: values.update({layer: result})

        def averaged(layer):
            def change(module, given):
                if means is not None:
                    own = [head for its_layer, head in heads if its_layer == layer]
                    H = model.layers[0].num_heads
                    return (self.silenced(given[0], layer, own, means, H),)
                changed = given[0].clone()
                places = torch.arange(1, changed.shape[1] + 1)[:, None]
                mean = values[layer].cumsum(dim=1) / places
                for its_layer, head in heads:
                    if its_layer == layer:
                        H = model.layers[0].num_heads
                        place = self.place(head, H, changed.shape[-1] // H)
                        changed[..., place] = mean[..., place]
                return (changed,)

            return change

        hooks = [(block.w_v, "forward", noted(n)) for n, block in enumerate(model.layers)]
        hooks += [(block.w_o, "forward_pre", averaged(n)) for n, block in enumerate(model.layers)]
        with self.mode(model), self.hooked(hooks):
            return model(token_ids)


@ablation.mistake("float32 always", costs=ABLATION_MANNERS)
class Single(Ablation):
    """Your logits are float32 whatever the model is. A float64 model gives float64 logits."""

    def answer(self, model, token_ids, heads, means=None):
        return super().answer(model, token_ids, heads, means).float()
