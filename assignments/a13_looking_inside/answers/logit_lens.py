"""Answers to `logit_lens`."""

import copy
from itertools import accumulate

from assignments.a13_looking_inside.answers.bank import BANK
from assignments.a13_looking_inside.answers.looking import NAMES, SLOW, leaves_traces
from assignments.a13_looking_inside.rubric import LENS_MANNERS, ROWS, looking
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.edits import Answers

ANSWERS = Answers(
    __name__, BANK, looking,
    """
    def logit_lens(model, token_ids):
        mode = evaluating(model)
        hooked = removed_afterwards
        mask = causal_mask(token_ids.shape[1])
        weight = model.embedding.weight  # (V, D)

        def noted(modules, kind="forward"):  # what each of them gives, or is given
            found = []
            def note(module, given, result=None):
                found.append(given[0] if result is None else result)
            with hooked([(module, kind, note) for module in modules]):
                model(token_ids)
            return found[:]  # a hook that stays goes on noting

        def inputs():
            return noted([*model.layers, model.norm], "forward_pre")

        def streams():
            return inputs()

        def unembed(x):
            return model.norm(x) @ weight.T

        def unembedded(found):
            return [unembed(x) for x in found]

        def collected(rows):
            return torch.stack(rows)

        def rows():
            return collected(unembedded(streams()))

        return within(mode, rows)
    """,
    copy=copy, accumulate=accumulate, **NAMES, **SLOW,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("embeddings left out", "def streams(): return inputs()[1:]", ROWS,
     "The row of the embeddings is missing. Row 0 is what the model would say before any layer.")
slip("last layer left out", "def streams(): return inputs()[:-1]", ROWS,
     "The row after the last layer is missing. It is what the model says.")
slip("embeddings twice", "def streams(): return [inputs()[0], *inputs()[:-1]]", ROWS,
     "You look at what each layer is given instead of what it gives. Row l is the stream after layer l, and the last "
     "row is the model's own.")
slip("embeddings left out, last row twice", "def streams(): return [*inputs()[1:], inputs()[-1]]", ROWS,
     "The row of the embeddings is missing, and the last row comes twice. Row 0 is what the model would say before "
     "any layer.")
slip("mask turned round", "def streams(): return walk(model, model.embed(token_ids), ~mask)", ROWS,
     "Your mask hides what should be seen, and shows what should be hidden. True = may attend, as `causal_mask` has "
     "it.")
slip("words hidden from themselves", "def streams(): return walk(model, model.embed(token_ids), mask.tril(-1))", ROWS,
     "Your mask hides each word from itself. A word sees what comes before it, and itself.")
slip("residual added again",
     "def streams(): return walk(model, model.embed(token_ids), mask, lambda layer, x, mask: x + layer(x, mask))", ROWS,
     "You add the stream to what a layer gives. A layer gives the whole stream, to which it has added its own part "
     "already.")
slip("normed stream passed on", """
    def streams():
        normed = lambda layer, x, mask: layer({given}, mask)
        return walk(model, model.embed(token_ids), mask, normed)
""", ROWS,
     "You hand the normed stream to the next layer. Only the logits take the norm, and the next layer is given the "
     "stream as it is.",
     each={"given": ("model.norm(x)", "x if layer is model.layers[0] else model.norm(x)")})
slip("normed stream passed on", """
    def streams():
        normed = lambda layer, x, mask: model.norm(layer(x, mask))
        return walk(model, {first}, mask, normed)
""", ROWS,
     "You hand the normed stream to the next layer, and norm it once more for the logits. Only the logits take the "
     "norm, and the next layer is given the stream as it is.",
     each={"first": ("model.norm(model.embed(token_ids))", "model.embed(token_ids)")})
slip("order reversed", "def streams(): return inputs()[::-1]", ROWS,
     "Your rows come in reverse. Row 0 belongs to the embeddings.")
slip("attention's outputs for the stream",
     "def streams(): return [model.embed(token_ids), *noted([layer.w_o for layer in model.layers])]", ROWS,
     "You look at what attention adds in each layer. The stream is the sum of the embeddings and of all that was "
     "added so far.")
slip("feed-forward outputs for the stream",
     "def streams(): return [model.embed(token_ids), *noted([layer.feed_forward for layer in model.layers])]", ROWS,
     "You look at what the feed-forward network adds in each layer. The stream is the sum of the embeddings and of "
     "all that was added so far.")
slip("each layer's contribution alone", "def streams(): x = torch.stack(inputs()); return [x[0], *x.diff(dim=0)]", ROWS,
     "You look at what each layer adds, the difference of its output and its input. The stream is its output.")
slip("middle of the layer", """
    def streams():
        return [inputs()[0], *map(torch.add, inputs(), noted([layer.w_o for layer in model.layers]))]
""", ROWS,
     "You look at the stream between attention and the feed-forward network. A layer ends after both.")
slip("normed inputs of the layers",
     "def streams(): return [*noted([layer.norm1 for layer in model.layers]), inputs()[-1]]", ROWS,
     "You look at what comes out of `norm1`. The stream itself goes on beside it.")
slip("mask forgotten", "def streams(): return walk(model, model.embed(token_ids), None)", ROWS,
     "You call the layers without a mask, so words see what follows them. Each layer is called with the causal mask.")
slip("every layer reads the embeddings",
     "def streams(): x = model.embed(token_ids); return [x, *(layer(x, mask) for layer in model.layers)]", ROWS,
     "Each of your layers is given the embeddings. It is given what the one before gave.")
slip("first layer again and again", """
    def streams():
        return walk(model, model.embed(token_ids), mask, lambda _, x, mask: model.layers[0](x, mask))
""", ROWS,
     "You go through the first layer again and again. Each layer has weights of its own.")
slip("embeddings times √D",
     "def streams(): x = model.embed(token_ids); return walk(model, x * x.shape[-1] ** 0.5, mask)", ROWS,
     "You multiply the embeddings by √D, as the transformer of 2017 does. This model takes them as they are; "
     "`model.embed` gives them.")
slip("no norm", "def unembedded(found): return [x @ weight.T for x in found]", ROWS,
     "You leave out the last norm. `model.unembed` takes the norm of the stream first, and so does the model itself.",
     published=("AlignmentResearch/tuned-lens#56", "The last norm is not found and silently left out."))
slip("no norm but in the last row",
     "def unembedded(found): return [*(x @ weight.T for x in found[:-1]), unembed(found[-1])]", ROWS,
     "Only your last row goes through the norm. Every row does, so that they can be compared.")
slip("no norm between the first and the last row", """
    def unembedded(found):
        return [unembed(found[0]), *(x @ weight.T for x in found[1:-1]), unembed(found[-1])]
""", ROWS,
     "Your first and your last row go through the norm, and those between them do not. Every row does, so that they "
     "can be compared.")
slip("no norm in the last row", "def unembedded(found): return [*map(unembed, found[:-1]), found[-1] @ weight.T]", ROWS,
     "Your last row does not go through the norm, so it is not what the model says.")
slip("no norm in the first row", "def unembedded(found): return [found[0] @ weight.T, *map(unembed, found[1:])]", ROWS,
     "Your first row does not go through the norm. Every row does, that of the embeddings as well.")
slip("layer norm for the last norm", """
    def unembedded(found):
        return [F.layer_norm(x, x.shape[-1:], model.norm.weight, eps={eps}) @ weight.T for x in found]
""", ROWS,
     "You subtract the mean, as layer norm does. The model's last norm is an RMSNorm, which divides by the root of "
     "the mean square alone; `model.unembed` has it.",
     each={"eps": (1e-5, 1e-6)})
slip("embedding reshaped instead of transposed",
     "def unembedded(found): return [model.norm(x) @ weight.reshape(weight.shape[::-1]) for x in found]", ROWS,
     "You reshape the embedding to (D, V), which mixes the vectors of different words. Its transpose has the same "
     "shape and keeps each vector together, `model.embedding.weight.T`.")
slip("stream for logits", "def unembedded(found): return found", ROWS,
     "You return the streams, (L + 1, B, T, D). The logits are asked for, which `model.unembed` makes of them.")
slip("norm applied twice",
     "def unembedded(found): return [*map(unembed, found[:{n}]), *(unembed(model.norm(x)) for x in found[{n}:])]", ROWS,
     "The norm is applied twice, since `model.unembed` applies it as well. The last row should be what the model "
     "says.",
     each={"n": (0, -1)})
slip("norms of the layers", """
    def unembedded(found):
        own = [layer.{name} for layer in model.layers]
        return [norm(x) @ weight.T for norm, x in zip({norms}, found, strict=True)]
""", ROWS,
     "Your rows go through a norm of a layer instead of the last norm of the model. `model.unembed` takes the right "
     "one by itself.",
     each={"name": ("norm1", "norm1", "norm2", "norm2"), "norms": ("[*own, model.norm]", "[model.norm, *own]") * 2})
slip("a norm of the layers before the last norm", """
    def unembedded(found):
        own = [layer.{name} for layer in model.layers]
        return [unembed(norm(x)) for norm, x in zip({norms}, found, strict=True)]
""", ROWS,
     "Your rows go through a norm of a layer first, and then through the last norm of the model. The stream itself "
     "goes into `model.unembed`, which takes the last norm by itself.",
     each={"name": ("norm1", "norm2", "norm2"),
           "norms": ("[nn.Identity(), *own]", "[*own, nn.Identity()]", "[nn.Identity(), *own]")})
slip("norm without its weight", """
    def unembedded(found):
        return [x * torch.rsqrt(x.square().mean(-1, keepdim=True) + model.norm.eps) @ weight.T for x in found]
""", ROWS,
     "You divide by the root of the mean square, and leave out the weight of the norm. `model.unembed` does both.",
     published=("TransformerLensOrg/TransformerLens#1077",
                "Streams are normed, and the weight of the last norm is not applied to them."))
slip("probabilities for logits", "def unembedded(found): return [unembed(x).softmax(dim=-1){log} for x in found]", ROWS,
     "You return probabilities, or their logarithms. The raw logits are asked for, as the model gives them.",
     each={"log": ("", ".log()")})
slip("differences between the rows",
     "def unembedded(found): rows = torch.stack([*map(unembed, found)]); return [rows[0], *rows.diff(dim=0)]", ROWS,
     "Your rows say what each layer changes in the logits. Row l is the logits after layer l themselves.")
slip("a list of rows", "def collected(rows): return tuple(rows)", ROWS,
     "You return a list. Stack its rows to one tensor, (L + 1, B, T, V).")
slip("layers after sentences", "def collected(rows): return torch.stack(rows, dim={axis})", ROWS,
     "The axis of the layers comes first, (L + 1, B, T, V).",
     each={"axis": (1, 2, 3)})
slip("rows strung together", "def collected(rows): return torch.cat(rows)", ROWS,
     "The layers have an axis of their own. `torch.stack` makes one, and `torch.cat` does not.")
slip("last position only", "def collected(rows): return torch.stack([row[:, -1] for row in rows])", ROWS,
     "You keep the last position alone. All of them are asked for, (L + 1, B, T, V).")
slip("words for logits", "def collected(rows): return torch.stack(rows).argmax(dim=-1)", ROWS,
     "You return the most likely words. The logits are asked for.")
slip("first sentence only", "def collected(rows): return torch.stack([row[0] for row in rows])", ROWS,
     "You keep the first sentence alone. All of them are asked for, (L + 1, B, T, V).")
leaves_traces(ANSWERS, LENS_MANNERS)
slip("float32 always", "return within(mode, rows).float()", LENS_MANNERS,
     "Your logits are float32 whatever the model is. A float64 model gives float64 logits.")

right = ANSWERS.right
right("lens_layer_by_layer", "def streams(): return walk(model, model.embed(token_ids), mask)")
right("lens_on_all_streams_at_once",
      "def rows(): return model.unembed(torch.stack(walk(model, model.embed(token_ids), mask)))")
right("lens_by_hooks", """
    rows, hooks = [], []
    modes = [(part, part.training) for part in model.modules()]
    try:
        for part in (model.dropout, *model.layers):
            hooks.append(part.register_forward_hook(lambda _, __, x: rows.append(x)))
        model.eval()
        model(token_ids)
        rows = torch.stack([model.unembed(x) for x in rows]).detach()
    finally:
        for hook in hooks:
            hook.remove()
        for part, training in modes:
            part.training = training
    return rows
""")
right("lens_of_inputs_and_the_end", """
    seen, hooks = [], []
    for module in (*model.layers, model.norm):
        hooks.append(module.register_forward_pre_hook(lambda _, given: seen.append(given[0]) and None))
    try:
        with evaluating(model):
            model(token_ids)
    finally:
        for hook in hooks:
            hook.remove()
    with evaluating(model):
        seen = torch.stack([model.unembed(x) for x in seen])
    return seen
""")
# copies of the model stop after so many layers
right("lens_of_shorter_models", """
    rows = []
    for number in range(len(model.layers) + 1):
        shorter = copy.deepcopy(model).eval()
        shorter.layers = shorter.layers[:number]
        rows.append(shorter(token_ids).detach())
    return torch.stack(rows)
""")
right("lens_with_layers_taken_off", """
    layers, rows = model.layers, []
    try:
        with evaluating(model):
            for number in range(len(layers) + 1):
                model.layers = layers[:number]
                rows.append(model(token_ids)[None])
    finally:
        model.layers = layers
    return torch.cat(rows)
""")
right("lens_with_its_own_norm", """
    def unembed(x):
        normed = F.rms_norm(x, (x.shape[-1],), model.norm.weight, 1e-6)
        return torch.einsum("btd,vd->btv", normed, weight)
""")
right("lens_into_a_table", """
    table = torch.empty((len(model.layers) + 1, *token_ids.shape, len(weight)), dtype=weight.dtype)
    with evaluating(model):
        for row, x in zip(table, walk(model, model.embed(token_ids), mask), strict=True):
            row.copy_(model.unembed(x))
    return table
""")
# the stream is the embeddings and all that the layers have added
right("lens_of_sums", """
    def rows():
        found = walk(model, model.embed(token_ids), mask)
        parts = [found[0], *(after - x for x, after in zip(found, found[1:]))]
        return model.unembed(torch.stack(parts).cumsum(dim=0))
""")
right("lens_by_a_generator", """
    def rows():
        x = model.embed(token_ids)
        yield model.unembed(x).unsqueeze(0)
        for layer in model.layers:
            x = layer(x, mask)
            yield model.unembed(x).unsqueeze(0)
    return within(mode, lambda: torch.cat([*rows()]))
""")
# the rows of the embedding are taken as they are, so the mode of the model is never touched
right("lens_past_the_dropout", """
    mask = token_ids.new_ones((token_ids.shape[1],) * 2).tril().bool()
    normed = torch.stack([model.norm(x) for x in walk(model, model.embedding(token_ids), mask)])
    return torch.einsum("lbtd,vd->lbtv", normed, weight)
""")
right("lens_by_accumulation", """
    def rows():
        streams = accumulate(model.layers, lambda x, layer: layer(x, mask), initial=model.embed(token_ids))
        return torch.cat([model.unembed(x)[None] for x in streams])
""")
for name, way, slow in (("lens_number_by_number", "Numbers", LOOPS), ("lens_by_products", "Products", PRODUCTS)):
    right(name, f"""
    def rows():
        streams = walk(model, {way}.embed(model.embedding, token_ids), None, lambda layer, x, _: after({way}, layer, x))
        return torch.stack([logits_of({way}, model, x) for x in streams])
""", slow=slow)

wrong = ANSWERS.wrong
wrong("all_streams_with_the_last_ones_scale", """
    def rows():
        streams = torch.stack(inputs())
        scale = torch.rsqrt(streams[-1].square().mean(-1, keepdim=True) + model.norm.eps)
        return (streams * scale * model.norm.weight) @ weight.T
""", told="each row has a factor of its own",
      published=("TransformerLensOrg/TransformerLens#1076",
                 "All streams are divided by the root mean square of the last one, kept from the forward pass."))
wrong("lens_of_running_means", "def streams(): return [sum(inputs()[:n]) / n for n in range(1, len(inputs()) + 1)]",
      told="right in part")
wrong("lens_of_ids",
      "def rows(): return torch.stack([model(token_ids), *(layer(token_ids) for layer in model.layers)])",
      told="stops with RuntimeError")
wrong("lens_of_cosines", "def unembed(x): return F.normalize(x, dim=-1) @ F.normalize(weight, dim=-1).T")
wrong("lens_of_distances", "def unembed(x): return -torch.cdist(x, weight.expand(len(x), -1, -1))")
wrong("lens_of_probabilities_of_places", "return within(mode, rows).softmax(dim=2)")
wrong("lens_in_a_dictionary", "return dict(enumerate(within(mode, rows)))", told="results in a dict")
wrong("lens_averaged_over_places", "return within(mode, rows).mean(dim=2)", told="right numbers in another shape")
wrong("lens_of_the_last_row", "return within(mode, lambda: model(token_ids))", told="right numbers in another shape")
# the embeddings are taken before the model is in eval mode
wrong("lens_of_an_embedding_that_drops", """
    x = model.embed(token_ids)
    def streams():
        return walk(model, x, mask)
""", named="run in train mode")
wrong("lens_with_layers_left_off", """
    def rows():
        layers, found = model.layers, []
        for number in range(len(layers) + 1):
            model.layers = layers[:number]
            found.append(model(token_ids))
        model.layers = layers
        return torch.stack(found)
""", told="wrong where something that it calls stops with an error")
# the last norm is taken out, so that the model gives its stream, and put back at the end
wrong("lens_with_an_identity_left_after_an_error", """
    def streams():
        norm, model.norm = model.norm, nn.Identity()
        found = walk(model, model.embed(token_ids), mask)
        model.norm = norm
        return found
""", told="wrong where something that it calls stops with an error")
# the first rows are kept on the model
wrong("lens_that_remembers", """
    if not hasattr(model, "seen_rows"):
        model.seen_rows = within(mode, rows)
    return model.seen_rows
""", told="left in the model")
wrong("lens_with_rows_on_the_model", "model.rows = within(mode, rows); return model.rows", told="left in the model")
wrong("lens_through_frozen_weights", "model = model.requires_grad_(False)", told="left in the model")
