"""The logit lens in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

from functools import partial
from itertools import pairwise, product

import torch
from torch import nn
from torch.nn import functional

from assignments.a13_looking_inside.mistakes.looking import Looking, leaves_traces
from assignments.a13_looking_inside.rubric import LENS_MANNERS, ROWS, looking
from autograder.checks.mistakes import called, variants
from course_utils.masks import causal_mask


class Lens(Looking):
    """The lens in steps, each of which a mistake can take in another way."""

    def streams(self, model, token_ids):
        """The stream before the first layer and after each one."""
        found = []

        def before(module, given):
            if not found:
                found.append(given[0])

        hooks = [(model.layers[0], "forward_pre", before)]
        hooks += [
            (layer, "forward", lambda module, given, result: found.append(result))
            for layer in model.layers
        ]
        with self.hooked(hooks):
            model(token_ids)
        return found

    def given_by(self, model, token_ids, name):
        """What the submodule of this name gives in each layer."""
        found = []
        hooks = [
            (
                layer.get_submodule(name),
                "forward",
                lambda module, given, result: found.append(result),
            )
            for layer in model.layers
        ]
        with self.hooked(hooks):
            model(token_ids)
        return found

    def unembedded(self, model, streams):
        return [model.unembed(x) for x in streams]

    def collected(self, rows):
        return torch.stack(rows)

    def answer(self, model, token_ids):
        with self.mode(model):
            return self.collected(self.unembedded(model, self.streams(model, token_ids)))


@looking.mistakes_in(Lens.streams, costs=ROWS)
class LensStreams:
    @called("embeddings left out")
    def after_layers(self, model, token_ids):
        """The row of the embeddings is missing. Row 0 is what the model would say before any layer."""
        return Lens.streams(self, model, token_ids)[1:]

    @called("last layer left out")
    def before_layers(self, model, token_ids):
        """The row after the last layer is missing. It is what the model says."""
        return Lens.streams(self, model, token_ids)[:-1]

    @called("embeddings twice")
    def one_late(self, model, token_ids):
        """You look at what each layer is given instead of what it gives. Row l is the stream after layer
        l, and the last row is the model's own."""
        found = Lens.streams(self, model, token_ids)
        return [found[0], *found[:-1]]

    @called("embeddings left out, last row twice")
    def one_early(self, model, token_ids):
        """The row of the embeddings is missing, and the last row comes twice. Row 0 is what the model would
        say before any layer."""
        found = Lens.streams(self, model, token_ids)
        return [*found[1:], found[-1]]

    @called("mask turned round")
    def opposite_mask(self, model, token_ids):
        """Your mask hides what should be seen, and shows what should be hidden. True = may attend, as
        `causal_mask` has it."""
        mask, found = ~causal_mask(token_ids.shape[1]), [model.embed(token_ids)]
        for layer in model.layers:
            found.append(layer(found[-1], mask))
        return found

    @called("words hidden from themselves")
    def hidden_diagonal(self, model, token_ids):
        """Your mask hides each word from itself. A word sees what comes before it, and itself."""
        mask = causal_mask(token_ids.shape[1]).tril(-1)
        found = [model.embed(token_ids)]
        for layer in model.layers:
            found.append(layer(found[-1], mask))
        return found

    @called("residual added again")
    def added_twice(self, model, token_ids):
        """You add the stream to what a layer gives. A layer gives the whole stream, to which it has added
        its own part already."""
        mask, found = causal_mask(token_ids.shape[1]), [model.embed(token_ids)]
        for layer in model.layers:
            found.append(found[-1] + layer(found[-1], mask))
        return found

    @called("normed stream passed on")
    @variants("first", (True, False))
    def normed_on_the_way(self, model, token_ids, first):
        """You hand the normed stream to the next layer. Only the logits take the norm, and the next layer
        is given the stream as it is."""
        mask, x = causal_mask(token_ids.shape[1]), model.embed(token_ids)
        found = [x]
        for number, layer in enumerate(model.layers):
            x = layer(model.norm(x) if number or first else x, mask)
            found.append(x)
        return found

    @called("normed stream passed on")
    @variants("first", (True, False))
    def normed_after_the_layer(self, model, token_ids, first):
        """You hand the normed stream to the next layer, and norm it once more for the logits. Only the logits
        take the norm, and the next layer is given the stream as it is."""
        mask, x = causal_mask(token_ids.shape[1]), model.embed(token_ids)
        found = [model.norm(x) if first else x]
        for layer in model.layers:
            found.append(model.norm(layer(found[-1], mask)))
        return found

    @called("order reversed")
    def backwards(self, model, token_ids):
        """Your rows come in reverse. Row 0 belongs to the embeddings."""
        return Lens.streams(self, model, token_ids)[::-1]

    @called("attention's outputs for the stream")
    def attention_alone(self, model, token_ids):
        """You look at what attention adds in each layer. The stream is the sum of the embeddings and of
        all that was added so far."""
        return [model.embed(token_ids), *self.given_by(model, token_ids, "w_o")]

    @called("feed-forward outputs for the stream")
    def feed_forward_alone(self, model, token_ids):
        """You look at what the feed-forward network adds in each layer. The stream is the sum of the
        embeddings and of all that was added so far."""
        return [model.embed(token_ids), *self.given_by(model, token_ids, "feed_forward")]

    @called("each layer's contribution alone")
    def contributions(self, model, token_ids):
        """You look at what each layer adds, the difference of its output and its input. The stream is its
        output."""
        found = Lens.streams(self, model, token_ids)
        return [found[0], *(after - x for x, after in pairwise(found))]

    @called("middle of the layer")
    def between_the_halves(self, model, token_ids):
        """You look at the stream between attention and the feed-forward network. A layer ends after
        both."""
        found = Lens.streams(self, model, token_ids)
        said = self.given_by(model, token_ids, "w_o")
        return [found[0], *(x + one for x, one in zip(found, said, strict=False))]

    @called("normed inputs of the layers")
    def normed(self, model, token_ids):
        """You look at what comes out of `norm1`. The stream itself goes on beside it."""
        last = Lens.streams(self, model, token_ids)[-1]
        return [*self.given_by(model, token_ids, "norm1"), last]

    @called("mask forgotten")
    def without_mask(self, model, token_ids):
        """You call the layers without a mask, so words see what follows them. Each layer is called with the
        causal mask."""
        found = [model.embed(token_ids)]
        for layer in model.layers:
            found.append(layer(found[-1], None))
        return found

    @called("every layer reads the embeddings")
    def side_by_side(self, model, token_ids):
        """Each of your layers is given the embeddings. It is given what the one before gave."""
        first, mask = model.embed(token_ids), causal_mask(token_ids.shape[1])
        return [first, *(layer(first, mask) for layer in model.layers)]

    @called("first layer again and again")
    def one_layer(self, model, token_ids):
        """You go through the first layer again and again. Each layer has weights of its own."""
        mask, found = causal_mask(token_ids.shape[1]), [model.embed(token_ids)]
        for _ in model.layers:
            found.append(model.layers[0](found[-1], mask))
        return found

    @called("embeddings times √D")
    def scaled(self, model, token_ids):
        """You multiply the embeddings by √D, as the transformer of 2017 does. This model takes them as
        they are; `model.embed` gives them."""
        mask, x = causal_mask(token_ids.shape[1]), model.embed(token_ids)
        found = [x * x.shape[-1] ** 0.5]
        for layer in model.layers:
            found.append(layer(found[-1], mask))
        return found


@looking.mistakes_in(Lens.unembedded, costs=ROWS)
class LensUnembedded:
    @called("no norm")
    def raw(self, model, streams):
        """You leave out the last norm. `model.unembed` takes the norm of the stream first, and so does the
        model itself."""
        return [x @ model.embedding.weight.T for x in streams]

    @called("no norm but in the last row")
    def raw_but_the_last(self, model, streams):
        """Only your last row goes through the norm. Every row does, so that they can be compared."""
        return [*(x @ model.embedding.weight.T for x in streams[:-1]), model.unembed(streams[-1])]

    @called("no norm between the first and the last row")
    def raw_between(self, model, streams):
        """Your first and your last row go through the norm, and those between them do not. Every row does,
        so that they can be compared."""
        rows = [x @ model.embedding.weight.T for x in streams[1:-1]]
        return [model.unembed(streams[0]), *rows, model.unembed(streams[-1])]

    @called("no norm in the last row")
    def last_one_raw(self, model, streams):
        """Your last row does not go through the norm, so it is not what the model says."""
        rows = [model.unembed(x) for x in streams[:-1]]
        return [*rows, streams[-1] @ model.embedding.weight.T]

    @called("no norm in the first row")
    def first_one_raw(self, model, streams):
        """Your first row does not go through the norm. Every row does, that of the embeddings as well."""
        rows = [model.unembed(x) for x in streams[1:]]
        return [streams[0] @ model.embedding.weight.T, *rows]

    @called("layer norm for the last norm")
    @variants("eps", (1e-5, 1e-6))
    def centred(self, model, streams, eps):
        """You subtract the mean, as layer norm does. The model's last norm is an RMSNorm, which divides by
        the root of the mean square alone; `model.unembed` has it."""
        norm = partial(functional.layer_norm, weight=model.norm.weight, eps=eps)
        return [norm(x, x.shape[-1:]) @ model.embedding.weight.T for x in streams]

    @called("embedding reshaped instead of transposed")
    def reshaped(self, model, streams):
        """You reshape the embedding to (D, V), which mixes the vectors of different words. Its transpose
        has the same shape and keeps each vector together, `model.embedding.weight.T`."""
        weight = model.embedding.weight
        return [model.norm(x) @ weight.reshape(weight.shape[::-1]) for x in streams]

    @called("stream for logits")
    def not_at_all(self, model, streams):
        """You return the streams, (L + 1, B, T, D). The logits are asked for, which `model.unembed` makes
        of them."""
        return streams

    @called("norm applied twice")
    @variants("rows", ("all", "last"))
    def twice(self, model, streams, rows):
        """The norm is applied twice, since `model.unembed` applies it as well. The last row should be what
        the model says."""
        first = streams if rows == "all" else streams[-1:]
        return [
            *(model.unembed(x) for x in streams[: len(streams) - len(first)]),
            *(model.unembed(model.norm(x)) for x in first),
        ]

    @called("norms of the layers")
    @variants("name, of_the_next", product(("norm1", "norm2"), (True, False)))
    def own_norms(self, model, streams, name, of_the_next):
        """Your rows go through a norm of a layer instead of the last norm of the model. `model.unembed` takes
        the right one by itself."""
        norms = [getattr(layer, name) for layer in model.layers]
        norms = [*norms, model.norm] if of_the_next else [model.norm, *norms]
        return [norm(x) @ model.embedding.weight.T for norm, x in zip(norms, streams, strict=True)]

    @called("a norm of the layers before the last norm")
    @variants("name, of_the_next", (("norm1", False), ("norm2", True), ("norm2", False)))
    def own_norms_as_well(self, model, streams, name, of_the_next):
        """Your rows go through a norm of a layer first, and then through the last norm of the model. The stream
        itself goes into `model.unembed`, which takes the last norm by itself."""
        norms = [getattr(layer, name) for layer in model.layers]
        norms = [*norms, nn.Identity()] if of_the_next else [nn.Identity(), *norms]
        return [model.unembed(norm(x)) for norm, x in zip(norms, streams, strict=True)]

    @called("norm without its weight")
    def unweighted(self, model, streams):
        """You divide by the root of the mean square, and leave out the weight of the norm. `model.unembed`
        does both."""
        return [
            x
            * torch.rsqrt(x.square().mean(-1, keepdim=True) + model.norm.eps)
            @ model.embedding.weight.T
            for x in streams
        ]

    @called("probabilities for logits")
    @variants("logs", (False, True))
    def probabilities(self, model, streams, logs):
        """You return probabilities, or their logarithms. The raw logits are asked for, as the model gives
        them."""
        rows = [model.unembed(x).softmax(dim=-1) for x in streams]
        return [row.log() for row in rows] if logs else rows

    @called("differences between the rows")
    def differences(self, model, streams):
        """Your rows say what each layer changes in the logits. Row l is the logits after layer l
        themselves."""
        rows = [model.unembed(x) for x in streams]
        return [rows[0], *(after - row for row, after in pairwise(rows))]


@looking.mistakes_in(Lens.collected, costs=ROWS)
class LensCollected:
    @called("a list of rows")
    def in_a_list(self, rows):
        """You return a list. Stack its rows to one tensor, (L + 1, B, T, V)."""
        return tuple(rows)

    @called("layers after sentences")
    @variants("axis", (1, 2, 3))
    def another_axis(self, rows, axis):
        """The axis of the layers comes first, (L + 1, B, T, V)."""
        return torch.stack(rows, dim=axis)

    @called("rows strung together")
    def joined(self, rows):
        """The layers have an axis of their own. `torch.stack` makes one, and `torch.cat` does not."""
        return torch.cat(rows)

    @called("last position only")
    def at_the_end(self, rows):
        """You keep the last position alone. All of them are asked for, (L + 1, B, T, V)."""
        return torch.stack([row[:, -1] for row in rows])

    @called("words for logits")
    def words(self, rows):
        """You return the most likely words. The logits are asked for."""
        return torch.stack(rows).argmax(dim=-1)

    @called("first sentence only")
    def one_sentence(self, rows):
        """You keep the first sentence alone. All of them are asked for, (L + 1, B, T, V)."""
        return torch.stack([row[0] for row in rows])


leaves_traces(looking, Lens, LENS_MANNERS)


@looking.mistake("float32 always", costs=LENS_MANNERS)
class Single(Lens):
    """Your logits are float32 whatever the model is. A float64 model gives float64 logits."""

    def answer(self, model, token_ids):
        return super().answer(model, token_ids).float()
