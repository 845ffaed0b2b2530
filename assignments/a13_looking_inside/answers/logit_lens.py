"""Answers to `logit_lens`."""

import copy
from itertools import accumulate

import torch
import torch.nn.functional as F

from assignments.a13_looking_inside.answers.bank import BANK
from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask

PART = "logit_lens"


def streams_of(model, token_ids):
    x, mask = model.embed(token_ids), causal_mask(token_ids.shape[1])
    found = [x]
    for layer in model.layers:
        x = layer(x, mask)
        found.append(x)
    return found


@BANK.right(PART)
def lens_layer_by_layer(model, token_ids):
    with evaluating(model):
        return torch.stack([model.unembed(x) for x in streams_of(model, token_ids)])


@BANK.right(PART)
def lens_on_all_streams_at_once(model, token_ids):
    with evaluating(model):
        return model.unembed(torch.stack(streams_of(model, token_ids)))


@BANK.right(PART)
def lens_by_hooks(model, token_ids):
    rows, hooks = [], []
    modes = [(part, part.training) for part in model.modules()]
    try:
        hooks.append(model.dropout.register_forward_hook(lambda _, __, x: rows.append(x)))
        for layer in model.layers:
            hooks.append(layer.register_forward_hook(lambda _, __, x: rows.append(x)))
        model.eval()
        model(token_ids)
        return torch.stack([model.unembed(x) for x in rows]).detach()
    finally:
        for hook in hooks:
            hook.remove()
        for part, training in modes:
            part.training = training


@BANK.right(PART)
def lens_of_inputs_and_the_end(model, token_ids):
    """What each layer and the last norm are given."""
    seen, hooks = [], []
    for module in (*model.layers, model.norm):
        hooks.append(
            module.register_forward_pre_hook(lambda _, given: seen.append(given[0]) and None)
        )
    try:
        with evaluating(model):
            model(token_ids)
    finally:
        for hook in hooks:
            hook.remove()
    with evaluating(model):
        return torch.stack([model.unembed(x) for x in seen])


@BANK.right(PART)
def lens_of_shorter_models(model, token_ids):
    """Copies of the model stop after so many layers."""
    rows = []
    for number in range(len(model.layers) + 1):
        shorter = copy.deepcopy(model).eval()
        shorter.layers = shorter.layers[:number]
        rows.append(shorter(token_ids).detach())
    return torch.stack(rows)


@BANK.right(PART)
def lens_with_layers_taken_off(model, token_ids):
    layers, rows = model.layers, []
    try:
        with evaluating(model):
            for number in range(len(layers) + 1):
                model.layers = layers[:number]
                rows.append(model(token_ids)[None])
    finally:
        model.layers = layers
    return torch.cat(rows)


@BANK.right(PART)
def lens_with_its_own_norm(model, token_ids):
    weight = model.embedding.weight
    with evaluating(model):
        rows = []
        for x in streams_of(model, token_ids):
            normed = F.rms_norm(x, (x.shape[-1],), model.norm.weight, 1e-6)
            rows.append(torch.einsum("btd,vd->btv", normed, weight))
        return torch.stack(rows, dim=0)


@BANK.right(PART)
def lens_into_a_table(model, token_ids):
    weight = model.embedding.weight
    shape = len(model.layers) + 1, *token_ids.shape, len(weight)
    table = torch.empty(shape, dtype=weight.dtype)
    with evaluating(model):
        for row, x in zip(table, streams_of(model, token_ids), strict=True):
            row.copy_(model.unembed(x))
    return table


@BANK.right(PART)
def lens_of_sums(model, token_ids):
    """The stream is the embeddings and all that the layers have added."""
    with evaluating(model):
        found = streams_of(model, token_ids)
        parts = [found[0], *(after - x for x, after in zip(found, found[1:]))]  # noqa: B905, RUF007
        return model.unembed(torch.stack(parts).cumsum(dim=0))


# ------------------------------------------------------------------------------ wrong answers


def by_streams(change):
    """An answer that looks at other streams."""

    def answer(model, token_ids):
        with evaluating(model):
            streams = change(model, streams_of(model, token_ids))
            return torch.stack([model.unembed(x) for x in streams])

    return answer


@BANK.wrong(PART, named="embeddings left out")
def lens_of_layers_alone(model, token_ids):
    return by_streams(lambda model, streams: streams[1:])(model, token_ids)


@BANK.wrong(PART, named="last layer left out")
def lens_of_what_layers_are_given(model, token_ids):
    return by_streams(lambda model, streams: streams[:-1])(model, token_ids)


@BANK.wrong(PART, named="embeddings twice")
def lens_one_layer_late(model, token_ids):
    return by_streams(lambda model, streams: streams[:1] + streams[:-1])(model, token_ids)


@BANK.wrong(PART, named="order reversed")
def lens_from_the_end(model, token_ids):
    return lens_layer_by_layer(model, token_ids).flip(0)


@BANK.wrong(PART, named="embeddings left out, last row twice")
def lens_with_the_last_stream_twice(model, token_ids):
    return by_streams(lambda model, streams: streams[1:] + streams[-1:])(model, token_ids)


@BANK.wrong(PART, told="right in part")
def lens_of_running_means(model, token_ids):
    def means(model, streams):
        return [sum(streams[: n + 1]) / (n + 1) for n in range(len(streams))]

    return by_streams(means)(model, token_ids)


@BANK.wrong(PART, named="each layer's contribution alone")
def lens_of_differences(model, token_ids):
    def differences(model, streams):
        stacked = torch.stack(streams)
        return torch.cat([stacked[:1], stacked.diff(dim=0)])

    return by_streams(differences)(model, token_ids)


@BANK.wrong(PART, named="attention's outputs for the stream")
def lens_of_w_o(model, token_ids):
    rows, hooks = [], []
    for layer in model.layers:
        hooks.append(layer.w_o.register_forward_hook(lambda _, __, x: rows.append(x)))
    try:
        with evaluating(model):
            rows.append(model.embed(token_ids))
            model(token_ids)
            return torch.stack([model.unembed(x) for x in rows])
    finally:
        for hook in hooks:
            hook.remove()


@BANK.wrong(PART, named="middle of the layer")
def lens_before_the_feed_forward_network(model, token_ids):
    rows, hooks = [], []
    for layer in model.layers:
        hooks.append(layer.norm2.register_forward_pre_hook(lambda _, given: rows.append(given[0])))
    try:
        with evaluating(model):
            rows.append(model.embed(token_ids))
            model(token_ids)
            return torch.stack([model.unembed(x) for x in rows])
    finally:
        for hook in hooks:
            hook.remove()


@BANK.wrong(PART, named="mask forgotten")
def lens_into_the_future(model, token_ids):
    with evaluating(model):
        x = model.embed(token_ids)
        rows = [model.unembed(x)]
        for layer in model.layers:
            x = layer(x)
            rows.append(model.unembed(x))
        return torch.stack(rows)


@BANK.wrong(PART, named="mask turned round")
def lens_with_the_mask_upside_down(model, token_ids):
    with evaluating(model):
        x = model.embed(token_ids)
        rows, mask = [model.unembed(x)], ~causal_mask(token_ids.shape[1])
        for layer in model.layers:
            x = layer(x, mask)
            rows.append(model.unembed(x))
        return torch.stack(rows)


@BANK.wrong(PART, named="words hidden from themselves")
def lens_with_the_diagonal_hidden(model, token_ids):
    T = token_ids.shape[1]
    with evaluating(model):
        x = model.embed(token_ids)
        rows, mask = [model.unembed(x)], torch.ones(T, T, dtype=torch.bool).tril(-1)
        for layer in model.layers:
            x = layer(x, mask)
            rows.append(model.unembed(x))
        return torch.stack(rows)


@BANK.wrong(PART, named="every layer reads the embeddings")
def lens_of_layers_side_by_side(model, token_ids):
    with evaluating(model):
        x, mask = model.embed(token_ids), causal_mask(token_ids.shape[1])
        return torch.stack(
            [model.unembed(x)] + [model.unembed(layer(x, mask)) for layer in model.layers]
        )


@BANK.wrong(PART, named="embeddings times √D")
def lens_of_2017(model, token_ids):
    with evaluating(model):
        x, mask = model.embed(token_ids), causal_mask(token_ids.shape[1])
        x = x * x.shape[-1] ** 0.5
        rows = [model.unembed(x)]
        for layer in model.layers:
            x = layer(x, mask)
            rows.append(model.unembed(x))
        return torch.stack(rows)


@BANK.wrong(PART, told="stops with RuntimeError")
def lens_of_ids(model, token_ids):
    with evaluating(model):
        return torch.stack([model(token_ids), *(layer(token_ids) for layer in model.layers)])


def by_reading(read):
    """An answer that turns streams into logits otherwise."""

    def answer(model, token_ids):
        with evaluating(model):
            return torch.stack([read(model, x) for x in streams_of(model, token_ids)])

    return answer


@BANK.wrong(PART, named="no norm but in the last row")
def lens_normed_at_the_end(model, token_ids):
    with evaluating(model):
        streams = streams_of(model, token_ids)
        rows = [F.linear(x, model.embedding.weight) for x in streams]
        rows[-1] = model.unembed(streams[-1])
        return torch.stack(rows)


@BANK.wrong(PART, named="norm applied twice")
def lens_normed_twice(model, token_ids):
    return by_reading(lambda model, x: model.unembed(model.norm(x)))(model, token_ids)


@BANK.wrong(PART, named="norms of the layers")
def lens_with_each_layers_norm(model, token_ids):
    with evaluating(model):
        norms = [layer.norm1 for layer in model.layers] + [model.norm]
        rows = [
            norm(x) @ model.embedding.weight.T
            for norm, x in zip(norms, streams_of(model, token_ids), strict=True)
        ]
        return torch.stack(rows)


@BANK.wrong(PART, named="layer norm for the last norm")
def lens_with_layer_norm(model, token_ids):
    def read(model, x):
        normed = F.layer_norm(x, x.shape[-1:], model.norm.weight)
        return normed @ model.embedding.weight.T

    return by_reading(read)(model, token_ids)


@BANK.wrong(PART)
def lens_of_cosines(model, token_ids):
    def read(model, x):
        return F.normalize(x, dim=-1) @ F.normalize(model.embedding.weight, dim=-1).T

    return by_reading(read)(model, token_ids)


@BANK.wrong(PART)
def lens_of_distances(model, token_ids):
    def read(model, x):
        return -torch.cdist(x, model.embedding.weight.expand(len(x), -1, -1))

    return by_reading(read)(model, token_ids)


@BANK.wrong(PART, named="probabilities for logits")
def lens_of_probabilities(model, token_ids):
    return lens_layer_by_layer(model, token_ids).softmax(-1)


@BANK.wrong(PART, named="probabilities for logits")
def lens_of_log_probabilities(model, token_ids):
    return lens_layer_by_layer(model, token_ids).log_softmax(-1)


@BANK.wrong(PART)
def lens_of_probabilities_of_places(model, token_ids):
    return lens_layer_by_layer(model, token_ids).softmax(dim=2)


@BANK.wrong(PART, named="words for logits")
def lens_of_words(model, token_ids):
    return lens_layer_by_layer(model, token_ids).argmax(-1)


@BANK.wrong(PART, named="a list of rows")
def lens_in_a_list(model, token_ids):
    return list(lens_layer_by_layer(model, token_ids))


@BANK.wrong(PART, told="results in a dict")
def lens_in_a_dictionary(model, token_ids):
    return dict(enumerate(lens_layer_by_layer(model, token_ids)))


@BANK.wrong(PART, named="layers after sentences")
def lens_by_sentences(model, token_ids):
    return lens_layer_by_layer(model, token_ids).transpose(0, 1)


@BANK.wrong(PART, named="layers after sentences")
def lens_with_layers_last(model, token_ids):
    return lens_layer_by_layer(model, token_ids).movedim(0, -1)


@BANK.wrong(PART, named="rows strung together")
def lens_by_cat(model, token_ids):
    return lens_layer_by_layer(model, token_ids).flatten(0, 1)


@BANK.wrong(PART, named="last position only")
def lens_at_the_end_of_the_text(model, token_ids):
    return lens_layer_by_layer(model, token_ids)[:, :, -1]


@BANK.wrong(PART, told="right numbers in another shape")
def lens_averaged_over_places(model, token_ids):
    return lens_layer_by_layer(model, token_ids).mean(dim=2)


@BANK.wrong(PART, named="first sentence only")
def lens_of_sentence_zero(model, token_ids):
    return lens_layer_by_layer(model, token_ids)[:, 0]


@BANK.wrong(PART, told="right numbers in another shape")
def lens_of_the_last_row(model, token_ids):
    with evaluating(model):
        return model(token_ids)


@BANK.wrong(PART, named="run in train mode")
@torch.no_grad()
def lens_awake(model, token_ids):
    return torch.stack([model.unembed(x) for x in streams_of(model, token_ids)])


@BANK.wrong(PART, named="run in train mode")
def lens_of_an_embedding_that_drops(model, token_ids):
    """The embeddings are taken before the model is in eval mode."""
    mask = causal_mask(token_ids.shape[1])
    x = model.embed(token_ids)
    with evaluating(model):
        rows = [model.unembed(x)]
        for layer in model.layers:
            x = layer(x, mask)
            rows.append(model.unembed(x))
        return torch.stack(rows)


@BANK.wrong(PART, named="model left in eval mode")
def lens_and_asleep(model, token_ids):
    model.eval()
    with torch.no_grad():
        return torch.stack([model.unembed(x) for x in streams_of(model, token_ids)])


@BANK.wrong(PART, named="all parts in train mode afterwards")
def lens_and_woken(model, token_ids):
    model.eval()
    try:
        return torch.stack([model.unembed(x) for x in streams_of(model, token_ids)])
    finally:
        model.train()


@BANK.wrong(PART, named="left in eval mode after an error")
def lens_with_modes_given_back_at_the_end(model, token_ids):
    modes = {part: part.training for part in model.modules()}
    model.eval()
    rows = torch.stack([model.unembed(x) for x in streams_of(model, token_ids)])
    for part, training in modes.items():
        part.training = training
    return rows


@BANK.wrong(PART, named="hook left after an error")
def lens_with_hooks_taken_off_at_the_end(model, token_ids):
    rows = []
    hooks = [model.dropout.register_forward_hook(lambda _, __, x: rows.append(x))]
    hooks += [
        layer.register_forward_hook(lambda _, __, x: rows.append(x)) for layer in model.layers
    ]
    with evaluating(model):
        model(token_ids)
        for hook in hooks:
            hook.remove()
        return torch.stack([model.unembed(x) for x in rows])


@BANK.wrong(PART, told="wrong where something that it calls stops with an error")
def lens_with_layers_left_off(model, token_ids):
    """Where the model stops with an error, its layers are not put back."""
    layers, rows = model.layers, []
    with evaluating(model):
        for number in range(len(layers) + 1):
            model.layers = layers[:number]
            rows.append(model(token_ids))
    model.layers = layers
    return torch.stack(rows)


@BANK.wrong(PART, named="float32 always")
def lens_into_an_empty_table(model, token_ids):
    shape = len(model.layers) + 1, *token_ids.shape, len(model.embedding.weight)
    table = torch.zeros(shape)
    table.copy_(lens_layer_by_layer(model, token_ids))
    return table


@BANK.wrong(PART, told="left in the model")
def lens_that_remembers(model, token_ids):
    """The first rows are kept on the model."""
    if not hasattr(model, "seen_rows"):
        model.seen_rows = lens_layer_by_layer(model, token_ids)
    return model.seen_rows


@BANK.right(PART)
def lens_by_a_generator(model, token_ids):
    def walk():
        x = model.embed(token_ids)
        yield x
        for layer in model.layers:
            x = layer(x, causal_mask(token_ids.shape[-1]))
            yield x

    with evaluating(model):
        return torch.cat([model.unembed(x).unsqueeze(0) for x in walk()])


@BANK.right(PART)
def lens_past_the_dropout(model, token_ids):
    """The rows of the embedding are taken as they are, so the mode of the model is never touched."""
    mask = token_ids.new_ones((token_ids.shape[1],) * 2).tril().bool()
    streams = [model.embedding(token_ids)]
    for layer in model.layers:
        streams.append(layer(streams[-1], mask))
    normed = torch.stack([model.norm(x) for x in streams])
    return torch.einsum("lbtd,vd->lbtv", normed, model.embedding.weight)


@BANK.wrong(PART, named="no norm in the first row")
def lens_that_begins_with_dot_products(model, token_ids):
    with evaluating(model):
        first, *streams = streams_of(model, token_ids)
        rows = [first @ model.embedding.weight.T, *(model.unembed(x) for x in streams)]
        return torch.stack(rows)


@BANK.wrong(PART, named="layer norm for the last norm")
def lens_with_layer_norm_and_its_weight(model, token_ids):
    def read(x):
        centred = F.layer_norm(x, x.shape[-1:], model.norm.weight, eps=model.norm.eps)
        return centred @ model.embedding.weight.T

    with evaluating(model):
        return torch.stack([read(x) for x in streams_of(model, token_ids)])


@BANK.wrong(PART, named="embedding reshaped instead of transposed")
def lens_with_a_view_of_the_embedding(model, token_ids):
    with evaluating(model):
        x, weight = torch.stack(streams_of(model, token_ids)), model.embedding.weight
        return model.norm(x) @ weight.view(weight.shape[1], weight.shape[0])


@BANK.wrong(PART, named="stream for logits")
def lens_that_does_not_read(model, token_ids):
    with evaluating(model):
        return torch.stack(streams_of(model, token_ids))


@BANK.wrong(PART, named="residual added again")
def lens_with_a_residual_of_its_own(model, token_ids):
    with evaluating(model):
        x, mask = model.embed(token_ids), causal_mask(token_ids.shape[1])
        rows = [model.unembed(x)]
        for layer in model.layers:
            x = x + layer(x, mask)
            rows.append(model.unembed(x))
        return torch.stack(rows)


@BANK.wrong(PART, named="normed stream passed on")
def lens_that_keeps_the_norm(model, token_ids):
    with evaluating(model):
        x, mask = model.norm(model.embed(token_ids)), causal_mask(token_ids.shape[1])
        rows = [x @ model.embedding.weight.T]
        for layer in model.layers:
            x = model.norm(layer(x, mask))
            rows.append(x @ model.embedding.weight.T)
        return torch.stack(rows)


@BANK.wrong(PART, named="all parts in train mode afterwards")
def lens_and_woken_at_the_end(model, token_ids):
    model.eval()
    with torch.no_grad():
        rows = torch.stack([model.unembed(x) for x in streams_of(model, token_ids)])
    model.train()
    return rows


@BANK.wrong(PART, named="the model's own mode given to all its parts")
def lens_with_one_mode_given_back_at_the_end(model, token_ids):
    was = model.training
    model.eval()
    with torch.no_grad():
        rows = torch.stack([model.unembed(x) for x in streams_of(model, token_ids)])
    model.train(was)
    return rows


@BANK.wrong(PART, told="wrong where something that it calls stops with an error")
def lens_with_an_identity_left_after_an_error(model, token_ids):
    """The last norm is taken out, so that the model gives its stream, and put back at the end."""
    streams = []
    with evaluating(model):
        norm, model.norm = model.norm, torch.nn.Identity()
        x, mask = model.embed(token_ids), causal_mask(token_ids.shape[1])
        for layer in model.layers:
            streams.append(x)
            x = layer(x, mask)
        model.norm = norm
        return torch.stack([model.unembed(x) for x in (*streams, x)])


@BANK.wrong(PART, named="no norm between the first and the last row")
def lens_raw_on_the_way(model, token_ids):
    logits = lens_layer_by_layer(model, token_ids)
    with evaluating(model):
        x, mask = model.embed(token_ids), causal_mask(token_ids.shape[1])
        for number, layer in enumerate(model.layers[:-1], 1):
            x = layer(x, mask)
            logits[number] = x @ model.embedding.weight.T
    return logits


@BANK.wrong(PART, named="normed stream passed on")
def lens_with_normed_streams(model, token_ids):
    with evaluating(model):
        x, mask = model.embed(token_ids), causal_mask(token_ids.shape[1])
        rows = [model.unembed(x)]
        for layer in model.layers:
            x = model.norm(layer(x, mask))
            rows.append(model.unembed(x))
    return torch.stack(rows)


@BANK.wrong(PART, told="left in the model")
def lens_with_rows_on_the_model(model, token_ids):
    model.rows = lens_layer_by_layer(model, token_ids)
    return model.rows


@BANK.wrong(PART, told="left in the model")
def lens_through_frozen_weights(model, token_ids):
    return lens_layer_by_layer(model.requires_grad_(False), token_ids)


@BANK.right(PART)
def lens_by_accumulation(model, token_ids):
    mask = causal_mask(token_ids.shape[1])
    with evaluating(model):
        streams = accumulate(
            model.layers, lambda x, layer: layer(x, mask), initial=model.embed(token_ids)
        )
        return torch.cat([model.unembed(x)[None] for x in streams])


@BANK.wrong(PART, named="norms of the layers")
def lens_with_the_norm_at_the_entrance(model, token_ids):
    with evaluating(model):
        first, *others = streams_of(model, token_ids)
        rows = [layer.norm1(x) for layer, x in zip(model.layers, others, strict=True)]
        return torch.stack([model.norm(first), *rows]) @ model.embedding.weight.T


@BANK.wrong(PART, named="a norm of the layers before the last norm")
def lens_with_two_norms(model, token_ids):
    with evaluating(model):
        first, *others = streams_of(model, token_ids)
        rows = [layer.norm2(x) for layer, x in zip(model.layers, others, strict=True)]
        return model.unembed(torch.stack([first, *rows]))
