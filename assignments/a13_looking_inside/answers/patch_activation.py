"""Answers to `patch_activation`."""

import copy
from contextlib import contextmanager, suppress
from functools import reduce

import torch
from torch import nn

from assignments.a13_looking_inside.answers.bank import BANK
from assignments.a13_looking_inside.answers.looking import (
    NAMES,
    SLOW,
    leaves_traces,
    runs_and_answers,
)
from assignments.a13_looking_inside.rubric import PATCH_MANNERS, PATCHED, patching
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.edits import Answers
from course_utils import inside


def into(module, write, stream, kind="forward_pre"):
    """A hook that writes something into what a module is given, or into what it gives."""

    def put(module, given, result=None):
        x = (given[0] if result is None else result).clone()
        write(x, stream)
        return (x, *given[1:]) if result is None else x

    return module, kind, put


def part_of(block, name, write, stream):
    """A hook that writes what a part of the layer gives in the clean run into what it gives in the other."""
    clean, part = [], block.get_submodule(name)
    with part.register_forward_hook(lambda module, given, result: clean.append(result)):
        block(stream, inside.causal_mask(stream.shape[1]))
    return into(part, write, clean[0], "forward")


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


def with_two_hooks(model, clean_ids, corrupted_ids, layer, position, noting, putting, again=False):
    """One hook notes the clean input of the layer, another one changes the other run's.

    Args:
        noting, putting: when these hooks are removed, see `on_until`.
        again: what is noted is the last input of the layer.
    """
    clean, block = [], model.layers[layer]

    def put(x, _):
        x[:, position] = clean[-1 if again else 0][:, position]

    with on_until(block, lambda module, given: clean.append(given[0]), noting):
        model(clean_ids)
    with on_until(block, into(block, put, None)[-1], putting):
        return model(corrupted_ids)


def inputs_of(model, module, ids):
    """What a module is given in a run."""
    seen = []
    with module.register_forward_pre_hook(lambda module, given: seen.append(given[0].clone())):
        model(ids)
    return seen[-1]


class Patched(nn.Module):
    """A layer that is given another vector at one position."""

    def __init__(self, layer, position, vector):
        super().__init__()
        self.layer, self.position, self.vector = layer, position, vector

    def forward(self, x, mask=None):
        left, right = x[:, : self.position], x[:, self.position + 1 :]
        return self.layer(torch.cat([left, self.vector, right], dim=1), mask)


class Enough(Exception):
    """What is looked for is found."""


ANSWERS = Answers(
    __name__, BANK, patching,
    """
    def patch_activation(model, clean_ids, corrupted_ids, layer, position):
        L, T = len(model.layers), clean_ids.shape[1]
        shapes_fit = clean_ids.shape == corrupted_ids.shape
        layer_fits = 0 <= layer < L
        position_fits = 0 <= position < T
        fits = shapes_fit and layer_fits and position_fits
        mode = evaluating(model)
        entered = checked(fits, mode)
        hooked = removed_afterwards
        mask = causal_mask(T)
        clean, corrupted = clean_ids, corrupted_ids

        def streams():
            return inside.streams(model, clean)

        def vector(stream):
            return stream[:, position]

        def write(x, stream):
            x[:, position] = vector(stream)

        def at(number, found):  # a hook before the layer of this number
            return into(model.layers[number], write, found[number])

        def hooks(found):
            return [at(layer, found)]

        def run(ids):
            return model(ids)

        def logits():
            found = streams()
            with hooked(hooks(found)):
                return run(corrupted)

        return within(entered, logits)
    """,
    copy=copy, suppress=suppress, reduce=reduce, inside=inside, into=into, part_of=part_of,
    inputs_of=inputs_of, with_two_hooks=with_two_hooks, Patched=Patched, Enough=Enough, **NAMES, **SLOW,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("runs exchanged", "clean, corrupted = corrupted_ids, clean_ids", PATCHED,
     "You put a corrupted vector into the clean run. Here a clean vector is put into the corrupted run, to see "
     "whether it brings the answer back.")
slip("logits of the corrupted run", "def streams(): return inside.streams(model, corrupted_ids)", PATCHED,
     "Your logits are those of the corrupted run, as if nothing were put in. Does your hook return what it changed, "
     "and is the vector one of the clean run?",
     published=("ndif-team/nnsight#502",
                "The assignment does not reach the tensor that the layer goes on with, so nothing changes."))
slip("one sentence's vector for all", "def vector(stream): return stream[{sentence}, position]", PATCHED,
     "All sentences get the vector of one of them. Each gets that of its own clean run.",
     each={"sentence": (0, -1)})
slip("mean of the sentences", "def vector(stream): return stream[:, position].mean(dim=0)", PATCHED,
     "All sentences get the mean of their vectors. Each gets that of its own clean run.")
slip("vector of another position", "def vector(stream): return stream[:, (position {further}) % T]", PATCHED,
     "The vector that you put in comes from another position of the clean run. It comes from the very position where "
     "it is put.",
     each={"further": ("- 1", "+ 1")})
slip("all positions, or the clean run's logits", "def write(x, stream): x[:] = stream", PATCHED,
     "Your logits are those of the clean run. That is so where the clean vectors of all positions are put in, and "
     "where the logits of the wrong run come back. Only the vector at `position` is put in.")
slip("all positions up to this one", "def write(x, stream): x[:, : position + 1] = stream[:, : position + 1]", PATCHED,
     "You put in the clean vectors of all positions up to `position`. Only this one is put in.")
slip("all positions from this one on", "def write(x, stream): x[:, position:] = stream[:, position:]", PATCHED,
     "You put in the clean vectors of all positions from `position` on. Only this one is put in.")
slip("all positions before this one", "def write(x, stream): x[:, :position] = stream[:, :position]", PATCHED,
     "You put in the clean vectors of the positions before `position`, and not the one at `position`. This one alone "
     "is put in.")
slip("last position patched", "def write(x, stream): x[:, -1] = stream[:, -1]", PATCHED,
     "You patch the last position, whatever `position` is. The vector is put in at `position`.")
slip("a feature for a position", "def write(x, stream): x[:, :, position] = stream[:, :, position]", PATCHED,
     "Your index picks a feature of all words, and not a word. The axes of the stream are sentences, positions and "
     "features, so `position` is the second index.")
slip("a sentence for a position", "def write(x, stream): x[position] = stream[position]", PATCHED,
     "Your index picks a sentence, and not a word of all sentences. The axes of the stream are sentences, positions "
     "and features, so `position` is the second index.")
slip("one position before", "def write(x, stream): x[:, position - 1] = stream[:, position - 1]", PATCHED,
     "You patch the position before the one that is named. Positions are counted from 0.")
slip("one position after", "def write(x, stream): x[:, (position + 1) % T] = stream[:, (position + 1) % T]", PATCHED,
     "You patch the position after the one that is named. Positions are counted from 0.")
slip("positions from the end", "def write(x, stream): x[:, -1 - position] = stream[:, -1 - position]", PATCHED,
     "You count positions from the end. Position 0 is the first token.")
slip("first sentence only", "def write(x, stream): x[0, position] = vector(stream)[0]", PATCHED,
     "You patch the first sentence alone. Every sentence gets the vector of its own clean run.")
slip("added instead of put", "def write(x, stream): x[:, position] += vector(stream)", PATCHED,
     "You add the clean vector to the corrupted one. It takes its place.")
slip("halfway", "def write(x, stream): x[:, position] = (x[:, position] + vector(stream)) / 2", PATCHED,
     "You put in the mean of the clean and the corrupted vector. The clean one takes the place of the other.")
slip("zero put in", "def write(x, stream): x[:, position] = 0", PATCHED,
     "You put in a vector of zeros, which is ablation. The vector of the clean run is put in.")
slip("the layer's output",
     'def hooks(found): return [into(model.layers[layer], write, found[layer + 1], "forward")]', PATCHED,
     "You patch what the layer gives. What it is *given* is patched, so the layer itself reads the clean vector.")
slip("the layer after", "def hooks(found): return [at({further}, found)]{where}", PATCHED,
     "You patch what the layer after the one that is named is given. `model.layers[0]` is layer 0.",
     each={"further": ("layer + 1", "layer + 1", "min(layer + 1, L - 1)"),
           "where": ("", " if layer + 1 < L else []", "")})
slip("the layer before", "def hooks(found): return [at((layer - 1) % L, found)]{where}", PATCHED,
     "You patch one layer too early. Layers are counted from 0, so layer 0 is given the embeddings.",
     each={"where": ("", " if layer else []")})
slip("attention's output alone",
     'def hooks(found): return [part_of(model.layers[layer], "w_o", write, found[layer])]', PATCHED,
     "You patch what attention adds to the stream. The whole vector that the layer is given is patched.")
slip("feed-forward output alone",
     'def hooks(found): return [part_of(model.layers[layer], "feed_forward", write, found[layer])]', PATCHED,
     "You patch what the feed-forward network adds to the stream. The whole vector that the layer is given is "
     "patched.")
slip("the normed vector alone",
     'def hooks(found): return [part_of(model.layers[layer], "norm1", write, found[layer])]', PATCHED,
     "You patch what comes out of `norm1`, so attention sees it and the residual connection does not. The vector "
     "that the layer is given is patched.")
slip("every layer from this one on",
     "def hooks(found): return [at(later, found) for later in range(layer, L)]", PATCHED,
     "You patch this layer and all later ones. Only the input of one layer is patched, and what comes of it is what "
     "you want to see.")
slip("every layer up to this one",
     "def hooks(found): return [at(earlier, found) for earlier in range(layer + 1)]", PATCHED,
     "You patch this layer and all earlier ones, so what the other words read has changed as well. Only the input of "
     "one layer is patched.")
slip("every layer", "def hooks(found): return [at(each, found) for each in range(L)]", PATCHED,
     "You patch the inputs of all layers. Only that of layer `layer` is patched, and what comes of it is what you "
     "want to see.")
slip("vector of another layer",
     "def hooks(found): return [into(model.layers[layer], write, found[layer {further}])]", PATCHED,
     "The vector that you put in is what another layer is given in the clean run. It is what layer `layer` itself is "
     "given there.",
     each={"further": ("+ 1", "- 1")})
slip("mask lost in the hook", """
    def hooks(found):
        module, kind, put = at(layer, found)
        return [(module, kind, lambda module, given: put(module, given)[:1])]
""", PATCHED,
     "Your hook gives x alone to the layer, so the mask is lost and words see what follows them. What a hook returns "
     "takes the place of all arguments, so return `(x, *arguments[1:])`.")
slip("the embedding patched", "def hooks(found): return [at(0, found)]", PATCHED,
     "You patch the embeddings, or exchange the token, whatever `layer` is. The vector is put in before layer "
     "`layer`, where the other positions have read the corrupted token already.")
slip("last layer patched", "def hooks(found): return [at(L - 1, found)]", PATCHED,
     "You patch the last layer, whatever `layer` is. The vector is put in before layer `layer`.")
slip("the embedding put into a later layer",
     "def hooks(found): return [into(model.layers[layer], write, found[0])]", PATCHED,
     "The vector that you put in is the clean run's embedding. It is what layer `layer` is given in the clean run.")
slip("logits at the position alone", "return within(entered, logits)[:, position]", PATCHED,
     "You return the logits at the patched position alone. All positions are asked for, (B, T, V), since later ones "
     "read the patched vector.")
slip("shapes not compared", "shapes_fit = True", PATCH_MANNERS,
     "Runs of different shapes give no ValueError. Sentences and positions of both belong to each other, so the "
     "shapes are equal.")
slip("only lengths compared", "shapes_fit = clean_ids.shape[1] == corrupted_ids.shape[1]", PATCH_MANNERS,
     "Runs with different numbers of sentences give no ValueError. Both axes are compared.")
slip("layers outside pass", "layer_fits = True", PATCH_MANNERS,
     "A layer outside the model gives no ValueError.")
slip("negative layers pass", "layer_fits = layer < L", PATCH_MANNERS,
     "A negative layer gives no ValueError. Python counts it from the end, which is not meant here.")
slip("the stream after the last layer passes", "layer_fits = 0 <= layer <= L", PATCH_MANNERS,
     "The layer whose number is the number of layers gives no ValueError. There is no layer that is given the last "
     "stream.")
slip("positions outside pass", "position_fits = True", PATCH_MANNERS,
     "A position outside the text gives no ValueError.")
slip("negative positions pass", "position_fits = position < T", PATCH_MANNERS,
     "A negative position gives no ValueError. Python counts it from the end, which is not meant here.")
slip("the position after the last passes", "position_fits = 0 <= position <= T", PATCH_MANNERS,
     "The position whose number is the number of words gives no ValueError. Counting from 0, the last one has a "
     "number less.")
slip("negative numbers pass", "fits = shapes_fit and layer < L and position < T", PATCH_MANNERS,
     "A negative layer or position gives no ValueError. Python counts it from the end, which is not meant here.")
slip("nothing checked", "fits = True", PATCH_MANNERS,
     "What does not fit gives no ValueError. Compare the shapes, and check layer and position, before anything is "
     "run.")
slip("hook left",
     "def logits(): return with_two_hooks(model, clean_ids, corrupted_ids, layer, position, {removed})", PATCH_MANNERS,
     "Your hook stays on the model, so whoever calls it next has it, too. Keep what the call that registers it "
     "returns, and `remove()` it.",
     each={"removed": ("'never', 'never'", "'never', 'always'", "'on success', 'never'")})
slip("hook left after an error", """
    def logits():
        return with_two_hooks(model, clean_ids, corrupted_ids, layer, position, "on success", {removed})
""", PATCH_MANNERS,
     "Where the model stops with an error, your hook stays on it. Remove it in a `finally`.",
     each={"removed": ("'on success'", "'always'")},
     published=("meta-pytorch/captum#340",
                "Where the model raises an error, the hook that was placed before is not removed."))
slip("clean vector overwritten by a hook that stays", """
    def logits():
        return with_two_hooks(model, clean_ids, corrupted_ids, layer, position, "never", "always", again=True)
""", PATCHED,
     "The hook that notes the clean vector is still on the model when the corrupted text runs, so it notes the "
     "corrupted one in its place, and that is put in. Remove it before the second run, by what the call that "
     "registers it returns.")
slip("the difference for the logits", """
    patched = within(entered, logits)
    return {sign}(patched - within(evaluating(model), lambda: model({ids})))
""", PATCHED,
     "You return by how much the logits differ from those of a run in which nothing is put in. The logits with the "
     "vector put in are asked for, themselves.",
     each={"sign": ("", "-") * 2, "ids": ("corrupted_ids", "corrupted_ids", "clean_ids", "clean_ids")})
runs_and_answers(ANSWERS, PATCHED, PATCH_MANNERS)
leaves_traces(ANSWERS, PATCH_MANNERS)
slip("mask forgotten", """
    def streams(): return walk(model, model.embed(clean_ids), None)
    def run(ids): return model.unembed(walk(model, model.embed(ids), None)[-1])
""", PATCHED,
     "You call the layers without a mask, so words see what follows them. Each layer is called with the causal mask.")
slip("layers outside pass", """
    layer_fits = True
    def hooks(found): return [at(layer, found)] if 0 <= layer < L else []
""", PATCH_MANNERS,
     "A layer outside the model gives no ValueError, and nothing is patched then. Check the number before anything "
     "is run.")
slip("nothing checked", """
    fits = True
    def hooks(found): return [at(layer, found)] if 0 <= layer < L else []
""", PATCH_MANNERS,
     "What does not fit gives no ValueError. Compare the shapes, and check layer and position, before anything is "
     "run.")
slip("the stream after the last layer passes", """
    layer_fits = 0 <= layer <= L
    def hooks(found): return [at(layer, found)] if layer < L else []
""", PATCH_MANNERS,
     "The layer whose number is the number of layers gives no ValueError. There is no layer that is given the last "
     "stream.")
slip("one too many allowed", """
    layer_fits = 0 <= layer <= L
    position_fits = 0 <= position <= T
    def hooks(found): return [at(layer, found)] if layer < L else []
""", PATCH_MANNERS,
     "The layer or position whose number is the number of layers or words gives no ValueError. Counting from 0, the "
     "last one has a number less.")
slip("clean run in train mode", """
    entered = checked(fits, torch.no_grad())
    def logits():
        found = streams()
        with evaluating(model), hooked(hooks(found)):
            return run(corrupted)
""", PATCH_MANNERS,
     "The clean run is in train mode, where dropout acts. Both runs belong in eval mode.")
slip("corrupted run in train mode", """
    entered = checked(fits, torch.no_grad())
    def logits():
        with evaluating(model):
            found = streams()
        with hooked(hooks(found)):
            return run(corrupted)
""", PATCH_MANNERS,
     "The corrupted run is in train mode, where dropout acts. Both runs belong in eval mode.")
slip("float32 always", "return within(entered, logits).float()", PATCH_MANNERS,
     "Your logits are float32 whatever the model is. A float64 model gives float64 logits.")

right = ANSWERS.right
right("patched_by_hooks", "def streams(): return {layer: inputs_of(model, model.layers[layer], clean)}")
right("patched_layer_by_layer", """
    def logits():
        clean, x = model.embed(clean_ids), model.embed(corrupted_ids)
        for block in model.layers[:layer]:
            clean, x = block(clean, mask), block(x, mask)
        x[:, position] = clean[:, position]
        for block in model.layers[layer:]:
            x = block(x, mask)
        return model.unembed(x)
""")
# both texts go through the model side by side
right("patched_in_one_batch", """
    def logits():
        B = len(clean_ids)

        def put(module, given):
            x = given[0].clone()
            x[B:, position] = x[:B, position]
            return (x, *given[1:])

        with hooked([(model.layers[layer], "forward_pre", put)]):
            return model(torch.cat([clean_ids, corrupted_ids]))[B:]
""")
right("patched_in_a_copy", """
    refuse(fits)
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
""")
# the input of a layer is what the one before gives, or dropout
right("patched_behind_the_layer_before", """
    def logits():
        runs = []

        def hook(module, given, result):
            runs.append(result)
            if len(runs) == 1:
                return None
            here = torch.arange(result.shape[1]) == position
            return torch.where(here[:, None], runs[0], result)

        with hooked([(model.layers[layer - 1] if layer else model.dropout, "forward", hook)]):
            model(clean_ids)
            return model(corrupted_ids)
""")
right("patched_by_another_layer", """
    def logits():
        own = model.layers[layer]
        vector = inputs_of(model, own, clean_ids)[:, position : position + 1]
        try:
            model.layers[layer] = Patched(own, position, vector)
            return model(corrupted_ids)
        finally:
            model.layers[layer] = own
""")
right("patched_sentence_by_sentence", """
    def logits():
        rows = []
        for clean, x in zip(clean_ids.split(1), corrupted_ids.split(1), strict=True):
            clean, x = model.embed(clean), model.embed(x)
            for number, block in enumerate(model.layers):
                if number == layer:
                    x[:, position] = clean[:, position]
                clean, x = block(clean, mask), block(x, mask)
            rows.append(model.unembed(x))
        return torch.cat(rows)
""")
# `forward` of this one layer, not of its class, is another one meanwhile
right("patched_by_a_forward_of_one_object", """
    refuse(fits)
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
        result = model(corrupted_ids)
    finally:
        vars(block).pop("forward", None)
        for module, training in modes.items():
            module.training = training
    return result
""")
# the first time the hook notes what it sees, the second time it changes it
right("patched_by_one_hook_for_both_runs", """
    def logits():
        kept = dict()

        def hook(module, given, keywords):
            if "clean" not in kept:
                kept["clean"] = given[0]
                return None
            here = (torch.arange(T) == position)[:, None]
            return (torch.where(here, kept["clean"], given[0]), *given[1:]), keywords

        with model.layers[layer].register_forward_pre_hook(hook, with_kwargs=True):
            model(clean_ids)
            return model(corrupted_ids)
""")
right("patched_by_recursion", """
    def logits():
        def stream(ids, number):
            return model.layers[number - 1](stream(ids, number - 1), mask) if number else model.embed(ids)

        clean = stream(clean_ids, layer)[:, [position]]
        x = stream(corrupted_ids, layer).index_copy(1, torch.tensor([position]), clean)
        for block in model.layers[layer:]:
            x = block(x, mask)
        return model.unembed(x)
""")
# what a layer is given is nobody's input, so a hook may write into it, and returns nothing
right("patched_in_place_before_the_layer", """
    def logits():
        block, kept = model.layers[layer], []
        with block.register_forward_pre_hook(lambda _, given: kept.append(given[0])):
            model(clean_ids)

        def hook(module, given):
            given[0][:, position] = kept[0][:, position]

        with block.register_forward_pre_hook(hook):
            return model(corrupted_ids)
""")
right("patched_by_folding_layers", """
    def through(layers, x):
        return reduce(lambda stream, block: block(stream, mask), layers, x)

    def logits():
        clean, x = (through(model.layers[:layer], model.embed(ids)) for ids in (clean_ids, corrupted_ids))
        here = (torch.arange(x.shape[1]) == position)[:, None]
        return model.unembed(through(model.layers[layer:], torch.where(here, clean, x)))
""")
# the clean run goes no further than it has to
right("patched_by_a_clean_run_that_stops", """
    kept = []

    def note(module, given):
        kept.append(given[0])
        raise Enough

    def streams():
        with suppress(Enough), model.layers[layer].register_forward_pre_hook(note):
            model(clean_ids)
        return kept * L
""")
for name, way, slow in (("patch_number_by_number", "Numbers", LOOPS), ("patch_by_products", "Products", PRODUCTS)):
    right(name, f"""
    def logits():
        clean, x = {way}.embed(model.embedding, clean_ids), {way}.embed(model.embedding, corrupted_ids)
        for number, each in enumerate(model.layers):
            if number == layer:
                x = torch.cat([x[:, :position], clean[:, position : position + 1], x[:, position + 1 :]], 1)
            elif number < layer:
                clean = after({way}, each, clean)
            x = after({way}, each, x)
        return logits_of({way}, model, x)
""", slow=slow)

wrong = ANSWERS.wrong
wrong("patched_in_the_text_itself", """
    refuse(fits)
    corrupted_ids[:, position] = clean_ids[:, position]
    def hooks(found):
        return []
""", named="the embedding patched")
wrong("patched_with_the_last_vector", "def vector(stream): return stream[:, -1]", told="some rows right")
wrong("patched_with_the_mean_of_all_vectors", "def vector(stream): return stream.mean(dim=1)", told="some rows right")
wrong("patched_with_sentences_in_reverse", "def vector(stream): return stream.flip(0)[:, position]",
      told=("some rows right", "wrong with several sentences"))
wrong("patched_with_both_runs_beside",
      "runs = within(entered, lambda: (logits(), model(clean_ids), model(corrupted_ids))); return runs",
      told="more results than asked")
wrong("patched_with_a_layer_left", """
    def logits():
        own = model.layers[layer]
        model.layers[layer] = Patched(own, position, streams()[layer][:, position : position + 1])
        result = model(corrupted_ids)
        model.layers[layer] = own
        return result
""", told="wrong where something that it calls stops with an error")
# the first clean run is kept for all calls
wrong("patched_with_what_was_kept_last_time", """
    def streams():
        if not hasattr(model, "clean_streams"):
            model.clean_streams = inside.streams(model, clean_ids)
        return model.clean_streams
""", told=("left in the model", "stops with RuntimeError"))
wrong("patched_and_kept_in_the_model", """
    result = within(entered, logits)
    vars(model).setdefault("kept", dict())[layer, position] = result
    return result
""", told="left in the model")
wrong("patched_and_frozen", "refuse(fits); model.requires_grad_(False); clean, corrupted = clean_ids, corrupted_ids",
      told="left in the model")
