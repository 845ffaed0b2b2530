"""Wrong answers to `patch_activation`."""

import torch

from assignments.a13_looking_inside.answers.bank import BANK
from assignments.a13_looking_inside.answers.patch_activation import (
    PART,
    Patched,
    hooked,
    inputs_of,
    patched_by_hooks,
    patched_by_recursion,
    put,
    refused,
)
from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask


def by_writing(write, at=lambda layer: layer):
    """An answer that is right but for what it writes, from the clean stream, and for the layer."""

    def answer(model, clean_ids, corrupted_ids, layer, position):
        refused(model, clean_ids, corrupted_ids, layer, position)
        block = model.layers[at(layer)]
        with evaluating(model):
            clean = inputs_of(model, block, clean_ids)
            hook = block.register_forward_pre_hook(put(lambda x: write(x, clean, position)))
            with hooked(hook):
                return model(corrupted_ids)

    return answer


@BANK.wrong(PART, named="runs exchanged")
def patched_the_other_way(model, clean_ids, corrupted_ids, layer, position):
    return patched_by_hooks(model, corrupted_ids, clean_ids, layer, position)


@BANK.wrong(PART, named="runs exchanged")
def patched_everywhere_else(model, clean_ids, corrupted_ids, layer, position):
    """All but one vector of the clean run is as good as one corrupted vector in it."""

    def write(x, clean, position):
        others = torch.arange(x.shape[1]) != position
        x[:, others] = clean[:, others]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="all positions, or the clean run's logits")
def patched_whole_streams(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x.copy_(clean)

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="all positions, or the clean run's logits")
def patched_from_the_clean_stream_on(model, clean_ids, corrupted_ids, layer, position):
    """The layers from there on go on with the clean stream."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    with evaluating(model):
        model(corrupted_ids)  # as for a clean text, so that a bad id stops it
        x, mask = model.embed(clean_ids), causal_mask(clean_ids.shape[1])
        for block in model.layers:
            x = block(x, mask)
        return model.unembed(x)


@BANK.wrong(PART, named="all positions up to this one")
def patched_with_the_whole_beginning(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        past = slice(None, position + 1)
        x[:, past] = clean[:, past]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="all positions from this one on")
def patched_with_the_whole_rest(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, position:] = clean[:, position:]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="all positions before this one")
def patched_up_to_but_not_with_it(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, :position] = clean[:, :position]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="one position before")
def patched_where_the_word_is_predicted(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, position - 1] = clean[:, position - 1]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="vector of another position")
def patched_with_the_vector_before(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, position] = clean[:, position - 1]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, told="some rows right")
def patched_with_the_last_vector(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, position] = clean[:, -1]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, told="some rows right")
def patched_with_the_mean_of_all_vectors(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, position] = clean.mean(dim=1)

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="a sentence for a position")
def patched_on_the_axis_of_sentences(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[position] = clean[position]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="a feature for a position")
def patched_on_the_axis_of_features(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[..., position] = clean[..., position]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="one sentence's vector for all")
def patched_with_one_vector(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, position] = clean[0, position]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, told=("some rows right", "wrong with several sentences"))
def patched_with_sentences_in_reverse(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, position] = clean.flip(0)[:, position]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="first sentence only")
def patched_in_sentence_zero(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:1, position] = clean[:1, position]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="added instead of put")
def patched_by_addition(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, position] = x[:, position] + clean[:, position]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="the embedding patched")
def patched_before_any_layer(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    return patched_by_hooks(model, clean_ids, corrupted_ids, 0, position)


@BANK.wrong(PART, named="the embedding patched")
def patched_in_the_text(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    here = torch.arange(clean_ids.shape[1]) == position
    with evaluating(model):
        model(clean_ids), model(corrupted_ids)
        return model(torch.where(here, clean_ids, corrupted_ids))


@BANK.wrong(PART, named="the embedding patched")
def patched_in_the_text_itself(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    corrupted_ids[:, position] = clean_ids[:, position]
    with evaluating(model):
        model(clean_ids)
        return model(corrupted_ids)


@BANK.wrong(PART, named="the layer's output")
def patched_after_the_layer(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    kept = []

    def hook(module, given, result):
        kept.append(result)
        patched = result.clone()
        patched[:, position] = kept[0][:, position]
        return patched

    with evaluating(model), hooked(model.layers[layer].register_forward_hook(hook)):
        model(clean_ids)
        return model(corrupted_ids)


@BANK.wrong(PART, named="the layer before")
def patched_by_counting_from_one(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, position] = clean[:, position]

    at = by_writing(write, lambda layer: layer - 1)
    return at(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="the layer after")
def patched_in_the_next_layer(model, clean_ids, corrupted_ids, layer, position):
    """Behind the last layer there is none, so that its own is patched there."""

    def write(x, clean, position):
        x[:, position] = clean[:, position]

    last = len(model.layers) - 1
    at = by_writing(write, lambda layer: min(layer + 1, last))
    return at(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="attention's output alone")
def patched_behind_w_o(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    kept = []

    def hook(module, given, result):
        kept.append(result)
        patched = result.clone()
        patched[:, position] = kept[0][:, position]
        return patched

    with evaluating(model), hooked(model.layers[layer].w_o.register_forward_hook(hook)):
        model(clean_ids)
        return model(corrupted_ids)


@BANK.wrong(PART, named="the normed vector alone")
def patched_behind_the_norm(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    norm = model.layers[layer].norm1
    with evaluating(model):
        clean = inputs_of(model, norm, clean_ids)

        def write(x):
            x[:, position] = clean[:, position]

        with hooked(norm.register_forward_pre_hook(put(write))):
            return model(corrupted_ids)


@BANK.wrong(PART, named="all positions, or the clean run's logits")
def patched_and_the_wrong_logits_kept(model, clean_ids, corrupted_ids, layer, position):
    patched_by_hooks(model, clean_ids, corrupted_ids, layer, position)
    with evaluating(model):
        return model(clean_ids)


@BANK.wrong(PART, named="logits of the corrupted run")
def patched_with_its_own_vector(model, clean_ids, corrupted_ids, layer, position):
    """What the first run kept is overwritten by the second run, before it is put in."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    kept = {}

    def hook(module, given):
        kept["clean"] = given[0]
        x = given[0].clone()
        x[:, position] = kept["clean"][:, position]
        return (x, *given[1:])

    with evaluating(model), hooked(model.layers[layer].register_forward_pre_hook(hook)):
        model(clean_ids)
        return model(corrupted_ids)


@BANK.wrong(PART, named="logits at the position alone")
def patched_and_read_there(model, clean_ids, corrupted_ids, layer, position):
    return patched_by_hooks(model, clean_ids, corrupted_ids, layer, position)[:, position]


@BANK.wrong(PART, named="last position only")
def patched_and_read_at_the_end(model, clean_ids, corrupted_ids, layer, position):
    return patched_by_hooks(model, clean_ids, corrupted_ids, layer, position)[:, -1, :]


@BANK.wrong(PART, told="more results than asked")
def patched_with_both_runs_beside(model, clean_ids, corrupted_ids, layer, position):
    logits = patched_by_hooks(model, clean_ids, corrupted_ids, layer, position)
    with evaluating(model):
        return logits, model(clean_ids), model(corrupted_ids)


@BANK.wrong(PART, named="the difference for the logits")
def patched_and_compared(model, clean_ids, corrupted_ids, layer, position):
    """The share of the answer that comes back, instead of the logits."""
    logits = patched_by_hooks(model, clean_ids, corrupted_ids, layer, position)
    with evaluating(model):
        return logits - model(corrupted_ids)


@BANK.wrong(PART, named="mask forgotten")
def patched_without_a_mask(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    with evaluating(model):
        clean, x = model.embed(clean_ids), model.embed(corrupted_ids)
        for number, block in enumerate(model.layers):
            if number == layer:
                x[:, position] = clean[:, position]
            clean, x = block(clean), block(x)
        return model.unembed(x)


@BANK.wrong(PART, named="no norm")
def patched_without_the_last_norm(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    with evaluating(model):
        mask = causal_mask(clean_ids.shape[1])
        clean, x = model.embed(clean_ids), model.embed(corrupted_ids)
        for number, block in enumerate(model.layers):
            if number == layer:
                x[:, position] = clean[:, position]
            clean, x = block(clean, mask), block(x, mask)
        return x @ model.embedding.weight.T


@BANK.wrong(PART, named="layers outside pass")
def patched_wherever_python_allows(model, clean_ids, corrupted_ids, layer, position):
    """Shapes and positions are checked, and layers are Python's business."""
    if clean_ids.shape != corrupted_ids.shape or not 0 <= position < clean_ids.shape[1]:
        raise ValueError("texts or position")
    block = model.layers[layer]
    with evaluating(model):
        clean = inputs_of(model, block, clean_ids)

        def write(x):
            x[:, position] = clean[:, position]

        with hooked(block.register_forward_pre_hook(put(write))):
            return model(corrupted_ids)


@BANK.wrong(PART, named="nothing checked")
def patched_unchecked(model, clean_ids, corrupted_ids, layer, position):
    block = model.layers[layer]
    with evaluating(model):
        clean = inputs_of(model, block, clean_ids)

        def write(x):
            x[:, position] = clean[:, position]

        with hooked(block.register_forward_pre_hook(put(write))):
            return model(corrupted_ids)


@BANK.wrong(PART, named="negative positions pass")
def patched_from_either_end(model, clean_ids, corrupted_ids, layer, position):
    T = clean_ids.shape[1]
    counted = position + T if -T <= position < 0 else position
    return patched_by_hooks(model, clean_ids, corrupted_ids, layer, counted)


@BANK.wrong(PART, named="shapes not compared")
def patched_texts_of_any_shape(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, clean_ids, layer, position)
    return patched_unchecked(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="clean run in train mode")
def patched_with_a_sleepless_cache(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    block = model.layers[layer]
    with torch.no_grad():
        clean = inputs_of(model, block, clean_ids)

    def write(x):
        x[:, position] = clean[:, position]

    with evaluating(model), hooked(block.register_forward_pre_hook(put(write))):
        return model(corrupted_ids)


@BANK.wrong(PART, named="run in train mode")
def patched_awake(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    return patched_unmoded(model, clean_ids, corrupted_ids, layer, position)


@torch.no_grad()
def patched_unmoded(model, clean_ids, corrupted_ids, layer, position):
    clean = inputs_of(model, model.layers[layer], clean_ids)

    def write(x):
        x[:, position] = clean[:, position]

    with hooked(model.layers[layer].register_forward_pre_hook(put(write))):
        return model(corrupted_ids)


@BANK.wrong(PART, named="model left in eval mode")
def patched_and_asleep(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    model.eval()
    return patched_unmoded(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="all parts in train mode afterwards")
def patched_and_woken(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    try:
        return patched_unmoded(model.eval(), clean_ids, corrupted_ids, layer, position)
    finally:
        model.train(True)


@BANK.wrong(PART, named="hook left")
def patched_for_ever(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    block = model.layers[layer]
    with evaluating(model):
        clean = inputs_of(model, block, clean_ids)

        def write(x):
            x[:, position] = clean[:, position]

        block.register_forward_pre_hook(put(write))
        return model(corrupted_ids)


@BANK.wrong(PART, told="wrong where something that it calls stops with an error")
def patched_with_a_layer_left(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    own = model.layers[layer]
    with evaluating(model):
        vector = inputs_of(model, own, clean_ids)[:, position : position + 1]
        model.layers[layer] = Patched(own, position, vector)
        logits = model(corrupted_ids)
        model.layers[layer] = own
    return logits


@BANK.wrong(PART, told=("left in the model", "stops with RuntimeError"))
def patched_with_what_was_kept_last_time(model, clean_ids, corrupted_ids, layer, position):
    """The first clean run is kept for all calls."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    if not hasattr(model, "clean_streams"):
        streams, x = [], None
        with evaluating(model):
            x, mask = model.embed(clean_ids), causal_mask(clean_ids.shape[1])
            for block in model.layers:
                streams.append(x)
                x = block(x, mask)
        model.clean_streams = streams
    clean = model.clean_streams[layer]

    def write(x):
        x[:, position] = clean[:, position]

    with (
        evaluating(model),
        hooked(model.layers[layer].register_forward_pre_hook(put(write))),
    ):
        return model(corrupted_ids)


@BANK.wrong(PART, named="float32 always")
def patched_in_single_precision(model, clean_ids, corrupted_ids, layer, position):
    return patched_by_hooks(model, clean_ids, corrupted_ids, layer, position).float()


def with_hooks(model, clean_ids, corrupted_ids, layer, position, record, put, afterwards="always"):
    """Both runs, each with a hook on the layer, which are removed always, if all goes well, or never."""
    block, handles = model.layers[layer], []
    with evaluating(model):
        try:
            handles.append(block.register_forward_pre_hook(record))
            model(clean_ids)
            if afterwards != "never":
                handles.pop().remove()
            handles.append(block.register_forward_pre_hook(put))
            logits = model(corrupted_ids)
            if afterwards == "if all goes well":
                handles.pop().remove()
            return logits
        finally:
            for handle in handles if afterwards == "always" else ():
                handle.remove()


def pair_of_hooks(position, returned=lambda x, given: (x, *given[1:])):
    kept = []

    def put(module, given):
        x = given[0].clone()
        x[:, position] = kept[0][:, position]
        return returned(x, given)

    return lambda _, given: kept.append(given[0]), put


@BANK.wrong(PART, named="mask lost in the hook")
def patched_by_a_tuple_of_one(model, clean_ids, corrupted_ids, layer, position):
    given = model, clean_ids, corrupted_ids, layer, position
    refused(*given)
    return with_hooks(*given, *pair_of_hooks(position, lambda x, given: (x,)))


@BANK.wrong(PART, named="logits of the corrupted run")
def patched_by_a_hook_that_returns_nothing(model, clean_ids, corrupted_ids, layer, position):
    given = model, clean_ids, corrupted_ids, layer, position
    refused(*given)
    return with_hooks(*given, *pair_of_hooks(position, lambda x, given: None))


@BANK.wrong(PART, named="hook left")
def patched_by_two_hooks_that_stay(model, clean_ids, corrupted_ids, layer, position):
    given = model, clean_ids, corrupted_ids, layer, position
    refused(*given)
    return with_hooks(*given, *pair_of_hooks(position), afterwards="never")


@BANK.wrong(PART, named="hook left")
def patched_with_the_recording_going_on(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    record, put = pair_of_hooks(position)
    with evaluating(model):
        model.layers[layer].register_forward_pre_hook(record)
        model(clean_ids)
        with hooked(model.layers[layer].register_forward_pre_hook(put)):
            return model(corrupted_ids)


@BANK.wrong(PART, named="hook left after an error")
def patched_and_tidied_up_at_the_end(model, clean_ids, corrupted_ids, layer, position):
    given = model, clean_ids, corrupted_ids, layer, position
    refused(*given)
    return with_hooks(*given, *pair_of_hooks(position), afterwards="if all goes well")


@BANK.wrong(PART, named="every layer")
def patched_all_the_way_up(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    mask = causal_mask(clean_ids.shape[1])
    with evaluating(model):
        clean, x = model.embed(clean_ids), model.embed(corrupted_ids)
        for block in model.layers:
            x = x.clone()
            x[:, position] = clean[:, position]
            clean, x = block(clean, mask), block(x, mask)
        return model.unembed(x)


@BANK.wrong(PART, named="vector of another layer")
def patched_with_what_the_layer_gives(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    mask = causal_mask(clean_ids.shape[1])
    with evaluating(model):
        clean, x = model.embed(clean_ids), model.embed(corrupted_ids)
        for number, block in enumerate(model.layers):
            clean = block(clean, mask)
            if number == layer:
                x = x.clone()
                x[:, position] = clean[:, position]
            x = block(x, mask)
        return model.unembed(x)


@BANK.wrong(PART, named="last position patched")
def patched_at_the_end_of_the_text(model, clean_ids, corrupted_ids, layer, position):
    def write(x, clean, position):
        x[:, -1] = clean[:, -1]

    return by_writing(write)(model, clean_ids, corrupted_ids, layer, position)


@BANK.wrong(PART, named="stream for logits")
def patched_and_not_unembedded(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    mask = causal_mask(clean_ids.shape[1])
    with evaluating(model):
        clean, x = model.embed(clean_ids), model.embed(corrupted_ids)
        for number, block in enumerate(model.layers):
            if number == layer:
                x = x.clone()
                x[:, position] = clean[:, position]
            clean, x = block(clean, mask), block(x, mask)
        return x


@BANK.wrong(PART, named="probabilities for logits")
def patched_and_made_log_probabilities(model, clean_ids, corrupted_ids, layer, position):
    return patched_by_recursion(model, clean_ids, corrupted_ids, layer, position).log_softmax(-1)


@BANK.wrong(PART, named="negative numbers pass")
def patched_below_zero(model, clean_ids, corrupted_ids, layer, position):
    if clean_ids.shape != corrupted_ids.shape:
        raise ValueError("two texts of one shape are asked for")
    if layer >= len(model.layers) or position >= clean_ids.shape[1]:
        raise ValueError("too far")
    given = model, clean_ids, corrupted_ids, layer, position
    return with_hooks(*given, *pair_of_hooks(position))


@BANK.wrong(PART, named="layers outside pass")
def patched_in_a_loop_that_meets_no_layer(model, clean_ids, corrupted_ids, layer, position):
    if clean_ids.shape != corrupted_ids.shape or position not in range(clean_ids.shape[1]):
        raise ValueError("shapes or position")
    mask = causal_mask(clean_ids.shape[1])
    with evaluating(model):
        clean, x = model.embed(clean_ids), model.embed(corrupted_ids)
        for number, block in enumerate(model.layers):
            if number == layer:
                x = x.clone()
                x[:, position] = clean[:, position]
            clean, x = block(clean, mask), block(x, mask)
        return model.unembed(x)


@BANK.wrong(PART, named="left in eval mode after an error")
def patched_and_checked_in_eval_mode(model, clean_ids, corrupted_ids, layer, position):
    modes = {part: part.training for part in model.modules()}
    model.eval()
    refused(model, clean_ids, corrupted_ids, layer, position)
    logits = patched_by_recursion(model, clean_ids, corrupted_ids, layer, position)
    for part, training in modes.items():
        part.training = training
    return logits


@BANK.wrong(PART, named="the layer after")
def patched_one_layer_late(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    block, kept = model.layers[layer + 1], []

    def put(module, given):
        x = given[0].clone()
        x[:, position] = kept[0][:, position]
        return (x, *given[1:])

    with evaluating(model):
        with block.register_forward_pre_hook(lambda _, given: kept.append(given[0])):
            model(clean_ids)
        with block.register_forward_pre_hook(put):
            return model(corrupted_ids)


@BANK.wrong(PART, named="clean vector overwritten by a hook that stays")
def patched_with_what_a_hook_went_on_noting(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    block, kept = model.layers[layer], {}

    def put(module, given):
        x = given[0].clone()
        x[:, position] = kept["clean"][:, position]
        return (x, *given[1:])

    with evaluating(model):
        block.register_forward_pre_hook(lambda _, given: kept.update(clean=given[0].clone()))
        model(clean_ids)
        with block.register_forward_pre_hook(put):
            return model(corrupted_ids)


@BANK.wrong(PART, named="the difference for the logits")
def patched_and_subtracted(model, clean_ids, corrupted_ids, layer, position):
    logits = patched_by_hooks(model, clean_ids, corrupted_ids, layer, position)
    with evaluating(model):
        return logits - model(corrupted_ids)


@BANK.wrong(PART, told="left in the model")
def patched_and_kept_in_the_model(model, clean_ids, corrupted_ids, layer, position):
    logits = patched_by_hooks(model, clean_ids, corrupted_ids, layer, position)
    model.__dict__.setdefault("kept", {})[layer, position] = logits
    return logits


@BANK.wrong(PART, told="left in the model")
def patched_and_frozen(model, clean_ids, corrupted_ids, layer, position):
    refused(model, clean_ids, corrupted_ids, layer, position)
    for parameter in model.parameters():
        parameter.requires_grad = False
    return patched_by_hooks(model, clean_ids, corrupted_ids, layer, position)


def in_a_loop(patches, check=refused):
    """Both runs layer by layer; ``patches`` says in which layers the vector is put in."""

    def answer(model, clean_ids, corrupted_ids, layer, position):
        check(model, clean_ids, corrupted_ids, layer, position)
        mask = causal_mask(clean_ids.shape[1])
        with evaluating(model):
            clean, x = model.embed(clean_ids), model.embed(corrupted_ids)
            for number, block in enumerate(model.layers):
                if patches(number, layer):
                    x = x.clone()
                    x[:, position] = clean[:, position]
                clean, x = block(clean, mask), block(x, mask)
            return model.unembed(x)

    return answer


@BANK.wrong(PART, named="every layer up to this one")
def patched_so_far(*given):
    return in_a_loop(lambda number, layer: number <= layer)(*given)


@BANK.wrong(PART, named="the layer before")
def patched_where_a_loop_from_one_would_be(*given):
    return in_a_loop(lambda number, layer: number == layer - 1)(*given)


@BANK.wrong(PART, named="the layer after")
def patched_where_a_loop_is_late(*given):
    return in_a_loop(lambda number, layer: number == layer + 1)(*given)


@BANK.wrong(PART, named="one too many allowed")
def patched_with_both_ends_allowed(*given):
    def check(model, clean_ids, corrupted_ids, layer, position):
        length = clean_ids.shape[1]
        if clean_ids.shape != corrupted_ids.shape or not (
            0 <= layer <= len(model.layers) and 0 <= position <= length
        ):
            raise ValueError("layer, position or shape")

    return in_a_loop(lambda number, layer: number == layer, check)(*given)


@BANK.wrong(PART, named="the position after the last passes")
def patched_behind_the_last_word(*given):
    def check(model, clean_ids, corrupted_ids, layer, position):
        length = clean_ids.shape[1]
        if clean_ids.shape != corrupted_ids.shape or not (
            0 <= layer < len(model.layers) and 0 <= position <= length
        ):
            raise ValueError("layer, position or shape")

    return in_a_loop(lambda number, layer: number == layer, check)(*given)
