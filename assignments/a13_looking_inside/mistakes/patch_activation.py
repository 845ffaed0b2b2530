"""Patching in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import product

import torch

from assignments.a13_looking_inside.mistakes.looking import (
    Looking,
    last_stream,
    leaves_traces,
    runs_and_answers,
)
from assignments.a13_looking_inside.rubric import PATCH_MANNERS, PATCHED, patching
from autograder.checks.mistakes import called, variants
from course_utils import inside


def into(kind, module, write, stream):
    """A hook that puts something into what a module is given, or into what it gives."""

    def before(module, given):
        x = given[0].clone()
        write(x, stream)
        return (x, *given[1:])

    def after(module, given, result):
        x = result.clone()
        write(x, stream)
        return x

    return module, kind, before if kind == "forward_pre" else after


class Patching(Looking):
    """Patching in steps, each of which a mistake can take in another way."""

    def check(self, model, clean_ids, corrupted_ids, layer, position):
        self.check_shapes(clean_ids, corrupted_ids)
        self.check_layer(layer, len(model.layers))
        self.check_position(position, clean_ids.shape[1])

    def check_shapes(self, clean_ids, corrupted_ids):
        if clean_ids.shape != corrupted_ids.shape:
            raise ValueError(f"{clean_ids.shape} and {corrupted_ids.shape} differ")

    def check_layer(self, layer, number):
        if not 0 <= layer < number:
            raise ValueError(f"no layer {layer} among {number}")

    def check_position(self, position, number):
        if not 0 <= position < number:
            raise ValueError(f"no position {position} among {number}")

    def runs(self, clean_ids, corrupted_ids):
        return clean_ids, corrupted_ids

    def streams(self, model, clean_ids, corrupted_ids):
        """The streams from which the vector comes."""
        return inside.streams(model, clean_ids)

    def vector(self, stream, position):
        return stream[:, position]

    def write(self, x, vector, stream, position):
        x[:, position] = vector

    def hook(self, model, streams, layer, position):
        """On which module the vector is put in, and how."""

        def put(module, given):
            x = given[0].clone()
            self.write(x, self.vector(streams[layer], position), streams[layer], position)
            return (x, *given[1:])

        return [(model.layers[layer], "forward_pre", put)]

    def result(self, logits, position):
        return logits

    def sublayer(self, model, streams, module, layer, position):
        """What a part of the layer gives in the clean run, put into the same part of the other run."""
        clean = []
        handle = module.register_forward_hook(lambda module, given, result: clean.append(result))
        try:
            model.layers[layer](streams[layer], inside.causal_mask(streams[layer].shape[1]))
        finally:
            handle.remove()

        def write(x, stream):
            x[:, position] = stream[:, position]

        return [into("forward", module, write, clean[0])]

    def answer(self, model, clean_ids, corrupted_ids, layer, position):
        given = clean_ids, corrupted_ids, layer, position
        clean, corrupted = self.runs(clean_ids, corrupted_ids)
        with self.entered(model, lambda: self.check(model, *given)):
            streams = self.streams(model, clean, corrupted)
            with self.hooked(self.hook(model, streams, layer, position)):
                return self.form(self.result(self.run(model, corrupted), position))


@patching.mistakes_in(Patching.runs, costs=PATCHED)
class PatchingRuns:
    @called("runs exchanged")
    def exchanged(self, clean_ids, corrupted_ids):
        """You put a corrupted vector into the clean run. Here a clean vector is put into the corrupted
        run, to see whether it brings the answer back."""
        return corrupted_ids, clean_ids


@patching.mistakes_in(Patching.streams, costs=PATCHED)
class PatchingStreams:
    @called("logits of the corrupted run")
    def its_own(self, model, clean_ids, corrupted_ids):
        """Your logits are those of the corrupted run, as if nothing were put in. Does your hook return what
        it changed, and is the vector one of the clean run?"""
        return inside.streams(model, corrupted_ids)


@patching.mistakes_in(Patching.vector, costs=PATCHED)
class PatchingVector:
    @called("one sentence's vector for all")
    @variants("sentence", (0, -1))
    def of_one_sentence(self, stream, position, sentence):
        """All sentences get the vector of one of them. Each gets that of its own clean run."""
        return stream[sentence, position]

    @called("mean of the sentences")
    def mean(self, stream, position):
        """All sentences get the mean of their vectors. Each gets that of its own clean run."""
        return stream[:, position].mean(dim=0)

    @called("vector of another position")
    @variants("further", (-1, 1))
    def of_another_position(self, stream, position, further):
        """The vector that you put in comes from another position of the clean run. It comes from the very
        position where it is put."""
        return stream[:, (position + further) % stream.shape[1]]


@patching.mistakes_in(Patching.write, costs=PATCHED)
class PatchingWrite:
    @called("all positions, or the clean run's logits")
    def everywhere(self, x, vector, stream, position):
        """Your logits are those of the clean run. That is so where the clean vectors of all positions are
        put in, and where the logits of the wrong run come back. Only the vector at `position` is put in."""
        x[:] = stream

    @called("all positions up to this one")
    def up_to_here(self, x, vector, stream, position):
        """You put in the clean vectors of all positions up to `position`. Only this one is put in."""
        x[:, : position + 1] = stream[:, : position + 1]

    @called("all positions from this one on")
    def from_here_on(self, x, vector, stream, position):
        """You put in the clean vectors of all positions from `position` on. Only this one is put in."""
        x[:, position:] = stream[:, position:]

    @called("all positions before this one")
    def before_here(self, x, vector, stream, position):
        """You put in the clean vectors of the positions before `position`, and not the one at `position`.
        This one alone is put in."""
        x[:, :position] = stream[:, :position]

    @called("last position patched")
    def last(self, x, vector, stream, position):
        """You patch the last position, whatever `position` is. The vector is put in at `position`."""
        x[:, -1] = stream[:, -1]

    @called("a feature for a position")
    def feature(self, x, vector, stream, position):
        """Your index picks a feature of all words, and not a word. The axes of the stream are sentences,
        positions and features, so `position` is the second index."""
        x[:, :, position] = stream[:, :, position]

    @called("a sentence for a position")
    def sentence(self, x, vector, stream, position):
        """Your index picks a sentence, and not a word of all sentences. The axes of the stream are
        sentences, positions and features, so `position` is the second index."""
        x[position] = stream[position]

    @called("one position before")
    def before(self, x, vector, stream, position):
        """You patch the position before the one that is named. Positions are counted from 0."""
        x[:, position - 1] = stream[:, position - 1]

    @called("one position after")
    def after(self, x, vector, stream, position):
        """You patch the position after the one that is named. Positions are counted from 0."""
        further = (position + 1) % x.shape[1]
        x[:, further] = stream[:, further]

    @called("positions from the end")
    def from_the_end(self, x, vector, stream, position):
        """You count positions from the end. Position 0 is the first token."""
        x[:, -1 - position] = stream[:, -1 - position]

    @called("first sentence only")
    def one_sentence(self, x, vector, stream, position):
        """You patch the first sentence alone. Every sentence gets the vector of its own clean run."""
        x[0, position] = vector[0]

    @called("added instead of put")
    def added(self, x, vector, stream, position):
        """You add the clean vector to the corrupted one. It takes its place."""
        x[:, position] += vector

    @called("halfway")
    def halfway(self, x, vector, stream, position):
        """You put in the mean of the clean and the corrupted vector. The clean one takes the place of the
        other."""
        x[:, position] = (x[:, position] + vector) / 2

    @called("zero put in")
    def zero(self, x, vector, stream, position):
        """You put in a vector of zeros, which is ablation. The vector of the clean run is put in."""
        x[:, position] = 0


@patching.mistakes_in(Patching.hook, costs=PATCHED)
class PatchingHook:
    @called("the layer's output")
    def output(self, model, streams, layer, position):
        """You patch what the layer gives. What it is *given* is patched, so the layer itself reads the
        clean vector."""

        def write(x, stream):
            self.write(x, self.vector(stream, position), stream, position)

        return [into("forward", model.layers[layer], write, streams[layer + 1])]

    @called("the layer after")
    @variants("after_the_last", ("error", "none", "last"))
    def layers_from_zero(self, model, streams, layer, position, after_the_last):
        """You patch what the layer after the one that is named is given. `model.layers[0]` is layer 0."""
        further = layer + 1
        if further == len(model.layers) and after_the_last != "error":
            if after_the_last == "none":
                return []
            further = layer
        return Patching.hook(self, model, streams, further, position)

    @called("the layer before")
    @variants("before_the_first", ("last", "none"))
    def layers_from_one(self, model, streams, layer, position, before_the_first):
        """You patch one layer too early. Layers are counted from 0, so layer 0 is given the embeddings."""
        if layer == 0 and before_the_first == "none":
            return []
        return Patching.hook(self, model, streams, (layer - 1) % len(model.layers), position)

    @called("attention's output alone")
    def attention(self, model, streams, layer, position):
        """You patch what attention adds to the stream. The whole vector that the layer is given is
        patched."""
        return self.sublayer(model, streams, model.layers[layer].w_o, layer, position)

    @called("feed-forward output alone")
    def feed_forward(self, model, streams, layer, position):
        """You patch what the feed-forward network adds to the stream. The whole vector that the layer is
        given is patched."""
        return self.sublayer(model, streams, model.layers[layer].feed_forward, layer, position)

    @called("the normed vector alone")
    def normed(self, model, streams, layer, position):
        """You patch what comes out of `norm1`, so attention sees it and the residual connection does not.
        The vector that the layer is given is patched."""
        clean = model.layers[layer].norm1(streams[layer])

        def write(x, stream):
            x[:, position] = stream[:, position]

        return [into("forward", model.layers[layer].norm1, write, clean)]

    @called("every layer from this one on")
    def onwards(self, model, streams, layer, position):
        """You patch this layer and all later ones. Only the input of one layer is patched, and what comes
        of it is what you want to see."""
        return [
            hook
            for later in range(layer, len(model.layers))
            for hook in Patching.hook(self, model, streams, later, position)
        ]

    @called("every layer up to this one")
    def all_so_far(self, model, streams, layer, position):
        """You patch this layer and all earlier ones, so what the other words read has changed as well. Only the
        input of one layer is patched."""
        return [
            hook
            for earlier in range(layer + 1)
            for hook in Patching.hook(self, model, streams, earlier, position)
        ]

    @called("every layer")
    def all_layers(self, model, streams, layer, position):
        """You patch the inputs of all layers. Only that of layer `layer` is patched, and what comes of it
        is what you want to see."""
        return [
            hook
            for each in range(len(model.layers))
            for hook in Patching.hook(self, model, streams, each, position)
        ]

    @called("vector of another layer")
    @variants("further", (1, -1))
    def of_another_layer(self, model, streams, layer, position, further):
        """The vector that you put in is what another layer is given in the clean run. It is what layer
        `layer` itself is given there."""

        def write(x, stream):
            self.write(x, self.vector(stream, position), stream, position)

        return [into("forward_pre", model.layers[layer], write, streams[layer + further])]

    @called("mask lost in the hook")
    def without_mask(self, model, streams, layer, position):
        """Your hook gives x alone to the layer, so the mask is lost and words see what follows them. What
        a hook returns takes the place of all arguments, so return `(x, *arguments[1:])`."""
        [(module, kind, put)] = Patching.hook(self, model, streams, layer, position)
        return [(module, kind, lambda module, given: put(module, given)[:1])]

    @called("the embedding patched")
    def embedding(self, model, streams, layer, position):
        """You patch the embeddings, or exchange the token, whatever `layer` is. The vector is put in before
        layer `layer`, where the other positions have read the corrupted token already."""
        return Patching.hook(self, model, streams, 0, position)

    @called("last layer patched")
    def last(self, model, streams, layer, position):
        """You patch the last layer, whatever `layer` is. The vector is put in before layer `layer`."""
        return Patching.hook(self, model, streams, len(model.layers) - 1, position)

    @called("the embedding put into a later layer")
    def embedding_of_the_clean_run(self, model, streams, layer, position):
        """The vector that you put in is the clean run's embedding. It is what layer `layer` is given in the
        clean run."""

        def write(x, stream):
            x[:, position] = stream[:, position]

        return [into("forward_pre", model.layers[layer], write, streams[0])]


@patching.mistakes_in(Patching.result, costs=PATCHED)
class PatchingResult:
    @called("logits at the position alone")
    def there(self, logits, position):
        """You return the logits at the patched position alone. All positions are asked for, (B, T, V),
        since later ones read the patched vector."""
        return logits[:, position]


@patching.mistakes_in(Patching.check_shapes, costs=PATCH_MANNERS)
class PatchingShapes:
    @called("shapes not compared")
    def none(self, clean_ids, corrupted_ids):
        """Runs of different shapes give no ValueError. Sentences and positions of both belong to each
        other, so the shapes are equal."""

    @called("only lengths compared")
    def lengths(self, clean_ids, corrupted_ids):
        """Runs with different numbers of sentences give no ValueError. Both axes are compared."""
        if clean_ids.shape[1] != corrupted_ids.shape[1]:
            raise ValueError("lengths differ")


@patching.mistakes_in(Patching.check_layer, costs=PATCH_MANNERS)
class PatchingLayers:
    @called("layers outside pass")
    def none(self, layer, number):
        """A layer outside the model gives no ValueError."""

    @called("negative layers pass")
    def upper_end(self, layer, number):
        """A negative layer gives no ValueError. Python counts it from the end, which is not meant here."""
        if layer >= number:
            raise ValueError(f"no layer {layer}")

    @called("the stream after the last layer passes")
    def one_too_many(self, layer, number):
        """The layer whose number is the number of layers gives no ValueError. There is no layer that is
        given the last stream."""
        if not 0 <= layer <= number:
            raise ValueError(f"no layer {layer}")


@patching.mistakes_in(Patching.check_position, costs=PATCH_MANNERS)
class PatchingPositions:
    @called("positions outside pass")
    def none(self, position, number):
        """A position outside the text gives no ValueError."""

    @called("negative positions pass")
    def upper_end(self, position, number):
        """A negative position gives no ValueError. Python counts it from the end, which is not meant
        here."""
        if position >= number:
            raise ValueError(f"no position {position}")

    @called("the position after the last passes")
    def one_too_many(self, position, number):
        """The position whose number is the number of words gives no ValueError. Counting from 0, the last one
        has a number less."""
        if not 0 <= position <= number:
            raise ValueError(f"no position {position}")


@patching.mistakes_in(Patching.check, costs=PATCH_MANNERS)
class PatchingCheck:
    @called("negative numbers pass")
    def upper_ends(self, model, clean_ids, corrupted_ids, layer, position):
        """A negative layer or position gives no ValueError. Python counts it from the end, which is not
        meant here."""
        self.check_shapes(clean_ids, corrupted_ids)
        if layer >= len(model.layers) or position >= clean_ids.shape[1]:
            raise ValueError(f"no layer {layer} or no position {position}")

    @called("nothing checked")
    def none(self, model, clean_ids, corrupted_ids, layer, position):
        """What does not fit gives no ValueError. Compare the shapes, and check layer and position, before
        anything is run."""


@patching.mistakes_in(Patching.answer, costs=PATCH_MANNERS)
class PatchingAnswer:
    @called("hook left")
    @variants(
        "recording, putting", (("never", "never"), ("never", "always"), ("on success", "never"))
    )
    def left(self, model, clean_ids, corrupted_ids, layer, position, recording, putting):
        """Your hook stays on the model, so whoever calls it next has it, too. Keep what the call that
        registers it returns, and `remove()` it."""
        return with_two_hooks(
            self, model, (clean_ids, corrupted_ids, layer, position), recording, putting
        )

    @called("hook left after an error")
    @variants("recording, putting", (("on success", "on success"), ("on success", "always")))
    def without_finally(self, model, clean_ids, corrupted_ids, layer, position, recording, putting):
        """Where the model stops with an error, your hook stays on it. Remove it in a `finally`."""
        return with_two_hooks(
            self, model, (clean_ids, corrupted_ids, layer, position), recording, putting
        )


@patching.mistakes_in(Patching.answer, costs=PATCHED)
class PatchingAnswerOtherwise:
    @called("clean vector overwritten by a hook that stays")
    def overwritten(self, model, clean_ids, corrupted_ids, layer, position):
        """The hook that notes the clean vector is still on the model when the corrupted text runs, so it
        notes the corrupted one in its place, and that is put in. Remove it before the second run, by what
        the call that registers it returns."""
        return with_two_hooks(
            self, model, (clean_ids, corrupted_ids, layer, position), "never", "always", again=True
        )

    @called("the difference for the logits")
    @variants("clean, sign", product((False, True), (1, -1)))
    def effect(self, model, clean_ids, corrupted_ids, layer, position, clean, sign):
        """You return by how much the logits differ from those of a run in which nothing is put in. The logits
        with the vector put in are asked for, themselves."""
        patched = Patching.answer(self, model, clean_ids, corrupted_ids, layer, position)
        with self.mode(model):
            return sign * (patched - model(clean_ids if clean else corrupted_ids))


def with_two_hooks(self, model, given, recording, putting, again=False):
    """One hook notes the clean input of the layer, another one changes the other run's.

    Args:
        recording, putting: when these hooks are removed: "always", "on success" or "never".
        again: what is noted is the last input of the layer.
    """
    clean_ids, corrupted_ids, layer, position = given
    clean = []

    def note(module, arguments):
        clean.insert(0 if again else len(clean), arguments[0])

    def put(module, arguments):
        x = arguments[0].clone()
        x[:, position] = clean[0][:, position]
        return (x, *arguments[1:])

    with self.entered(model, lambda: self.check(model, *given)):
        block = model.layers[layer]
        with on_until(block, note, recording):
            model(clean_ids)
        with on_until(block, put, putting):
            return model(corrupted_ids)


@contextmanager
def on_until(module, hook, removed):
    """A context in which a hook is on, and after which it is removed "always", "on success" or "never"."""
    handle = module.register_forward_pre_hook(hook)
    succeeds = False
    try:
        yield
        succeeds = True
    finally:
        if removed == "always" or (removed == "on success" and succeeds):
            handle.remove()


runs_and_answers(patching, Patching, PATCHED, PATCH_MANNERS)
leaves_traces(patching, Patching, PATCH_MANNERS)


@patching.mistake("mask forgotten", costs=PATCHED)
class Unmasked(Patching):
    """You call the layers without a mask, so words see what follows them. Each layer is called with the
    causal mask."""

    def streams(self, model, clean_ids, corrupted_ids):
        found = [model.embed(clean_ids)]
        for layer in model.layers:
            found.append(layer(found[-1], None))
        return found

    def run(self, model, token_ids):
        return model.unembed(last_stream(model, token_ids, masked=False))


@patching.mistake("layers outside pass", costs=PATCH_MANNERS)
class LayersOutside(Patching):
    """A layer outside the model gives no ValueError, and nothing is patched then. Check the number before
    anything is run."""

    def check_layer(self, layer, number):
        pass

    def hook(self, model, streams, layer, position):
        inside_of_it = 0 <= layer < len(model.layers)
        return super().hook(model, streams, layer, position) if inside_of_it else []


@patching.mistake("nothing checked", costs=PATCH_MANNERS)
class Unchecked(LayersOutside):
    """What does not fit gives no ValueError. Compare the shapes, and check layer and position, before
    anything is run."""

    def check(self, model, clean_ids, corrupted_ids, layer, position):
        pass


@patching.mistake("the stream after the last layer passes", costs=PATCH_MANNERS)
class LastStreamPasses(Patching):
    """The layer whose number is the number of layers gives no ValueError. There is no layer that is given
    the last stream."""

    def check_layer(self, layer, number):
        if not 0 <= layer <= number:
            raise ValueError(f"no layer {layer}")

    def hook(self, model, streams, layer, position):
        within = layer < len(model.layers)
        return super().hook(model, streams, layer, position) if within else []


@patching.mistake("one too many allowed", costs=PATCH_MANNERS)
class OneTooMany(LastStreamPasses):
    """The layer or position whose number is the number of layers or words gives no ValueError. Counting from
    0, the last one has a number less."""

    def check_position(self, position, number):
        if not 0 <= position <= number:
            raise ValueError(f"no position {position}")


@patching.mistake("clean run in train mode", costs=PATCH_MANNERS)
class CleanAwake(Patching):
    """The clean run is in train mode, where dropout acts. Both runs belong in eval mode."""

    def answer(self, model, clean_ids, corrupted_ids, layer, position):
        self.check(model, clean_ids, corrupted_ids, layer, position)
        with torch.no_grad():
            streams = self.streams(model, clean_ids, corrupted_ids)
        with self.mode(model), self.hooked(self.hook(model, streams, layer, position)):
            return model(corrupted_ids)


@patching.mistake("corrupted run in train mode", costs=PATCH_MANNERS)
class CorruptedAwake(Patching):
    """The corrupted run is in train mode, where dropout acts. Both runs belong in eval mode."""

    def answer(self, model, clean_ids, corrupted_ids, layer, position):
        self.check(model, clean_ids, corrupted_ids, layer, position)
        with self.mode(model):
            streams = self.streams(model, clean_ids, corrupted_ids)
        with torch.no_grad(), self.hooked(self.hook(model, streams, layer, position)):
            return model(corrupted_ids)


@patching.mistake("float32 always", costs=PATCH_MANNERS)
class Single(Patching):
    """Your logits are float32 whatever the model is. A float64 model gives float64 logits."""

    def answer(self, *arguments):
        return super().answer(*arguments).float()
