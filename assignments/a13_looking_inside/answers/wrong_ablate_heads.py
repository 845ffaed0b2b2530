"""Wrong answers to `ablate_heads`."""

from contextlib import ExitStack

import torch
from torch import nn

from assignments.a13_looking_inside.answers.ablate_heads import (
    PART,
    ablated_by_hooks,
    changed,
    hook_on,
    own,
    refused,
    silent,
)
from assignments.a13_looking_inside.answers.bank import BANK
from course_utils.evaluation import evaluating
from course_utils.masks import causal_mask


def with_pairs(model, token_ids, heads, means=None):
    with evaluating(model), silent(model, heads, means):
        return model(token_ids)


def with_hooks(model, token_ids, hook_of):
    """The logits while each layer's `w_o` has a pre-hook of its own, which ``hook_of(layer)`` makes."""
    with evaluating(model), ExitStack() as stack:
        for layer, block in enumerate(model.layers):
            stack.callback(block.w_o.register_forward_pre_hook(hook_of(layer)).remove)
        return model(token_ids)


def by_features(features, on="w_o", kind="pre"):
    """An answer that writes zeros, or means, into some features of a submodule's input or output."""

    def answer(model, token_ids, heads, means=None):
        refused(model, heads)
        H = model.layers[0].num_heads
        d_k = model.embedding.weight.shape[1] // H

        def written(x, layer):
            x = x.clone()
            for its_layer, head in heads:
                if its_layer == layer:
                    x[..., features(head, H, d_k)] = 0 if means is None else means[layer, head]
            return x

        handles = []
        for layer, block in enumerate(model.layers):
            module = block.get_submodule(on)
            if kind == "pre":
                hook = module.register_forward_pre_hook(
                    lambda _, given, layer=layer: (written(given[0], layer),)
                )
            else:
                hook = module.register_forward_hook(
                    lambda _, __, out, layer=layer: written(out, layer)
                )
            handles.append(hook)
        try:
            with evaluating(model):
                return model(token_ids)
        finally:
            for handle in handles:
                handle.remove()

    return answer


@BANK.wrong(PART, named="output of w_o zeroed")
def ablated_rows_of_the_output(model, token_ids, heads, means=None):
    return by_features(own, kind="post")(model, token_ids, heads, means)


@BANK.wrong(PART, named="queries or keys zeroed")
def ablated_queries(model, token_ids, heads, means=None):
    return by_features(own, on="w_q", kind="post")(model, token_ids, heads, means)


@BANK.wrong(PART, named="queries or keys zeroed")
def ablated_keys(model, token_ids, heads, means=None):
    return by_features(own, on="w_k", kind="post")(model, token_ids, heads, means)


@BANK.wrong(PART)
def ablated_in_the_norm(model, token_ids, heads, means=None):
    return by_features(own, on="norm1", kind="post")(model, token_ids, heads, means)


@BANK.wrong(PART)
def ablated_in_the_feed_forward_network(model, token_ids, heads, means=None):
    return by_features(own, on="feed_forward", kind="post")(model, token_ids, heads, means)


@BANK.wrong(PART, named="every H-th feature")
def ablated_every_so_many(model, token_ids, heads, means=None):
    def features(head, H, d_k):
        return torch.arange(d_k) * H + head

    return by_features(features)(model, token_ids, heads, means)


@BANK.wrong(PART, named="H and d_k exchanged")
def ablated_pieces_of_h(model, token_ids, heads, means=None):
    def features(head, H, d_k):
        return torch.arange(H) + H * head

    return by_features(features)(model, token_ids, heads, means)


@BANK.wrong(PART)
def ablated_one_feature(model, token_ids, heads, means=None):
    def features(head, H, d_k):
        return slice(head, head + 1)

    mean = None if means is None else means[..., :1]
    return by_features(features)(model, token_ids, heads, mean)


@BANK.wrong(PART)
def ablated_all_but_the_last_feature(model, token_ids, heads, means=None):
    def features(head, H, d_k):
        return slice(head * d_k, (head + 1) * d_k - 1)

    mean = None if means is None else means[..., :-1]
    return by_features(features)(model, token_ids, heads, mean)


@BANK.wrong(PART, named="whole layer")
def ablated_layers(model, token_ids, heads, means=None):
    refused(model, heads)
    H = model.layers[0].num_heads
    every = [(layer, head) for layer, _ in heads for head in range(H)]
    return with_pairs(model, token_ids, every, means)


@BANK.wrong(PART, named="same head in every layer")
def ablated_by_head_number_alone(model, token_ids, heads, means=None):
    refused(model, heads)
    every = [(layer, head) for _, head in heads for layer in range(len(model.layers))]
    return with_pairs(model, token_ids, every, means)


@BANK.wrong(PART, named="all but these heads")
def ablated_the_complement(model, token_ids, heads, means=None):
    refused(model, heads)
    named = {tuple(pair) for pair in heads}
    rest = [
        (layer, head)
        for layer in range(len(model.layers))
        for head in range(model.layers[0].num_heads)
        if (layer, head) not in named
    ]
    return with_pairs(model, token_ids, rest, means)


@BANK.wrong(PART, named="last pair only")
def ablated_in_a_loop_that_overwrites(model, token_ids, heads, means=None):
    """Each pair gets a pass of its own, and the last pass is returned."""
    refused(model, heads)
    with evaluating(model):
        logits = model(token_ids)
    for pair in heads:
        logits = with_pairs(model, token_ids, [pair], means)
    return logits


@BANK.wrong(PART, named="first pair only")
def ablated_and_returned_too_early(model, token_ids, heads, means=None):
    refused(model, heads)
    for pair in heads:
        return with_pairs(model, token_ids, [pair], means)
    return with_pairs(model, token_ids, [])


@BANK.wrong(PART, named="one head of each layer")
def ablated_by_a_dictionary(model, token_ids, heads, means=None):
    refused(model, heads)
    by_layer = {layer: head for layer, head in heads}
    return with_pairs(model, token_ids, by_layer.items(), means)


@BANK.wrong(PART, named="layers from 1")
def ablated_by_counting_from_one(model, token_ids, heads, means=None):
    refused(model, heads)
    shifted = [(layer - 1, head) for layer, head in heads if layer]
    return with_pairs(model, token_ids, shifted, means)


@BANK.wrong(PART, named="loop variable read too late")
def ablated_by_closures_over_the_loop(model, token_ids, heads, means=None):
    """Every hook sees the last value of the loop's variables."""
    refused(model, heads)
    H, handles = model.layers[0].num_heads, []
    for layer, head in heads:

        def hook(module, given):
            cut = given[0].unflatten(-1, (H, -1)).clone()
            cut[:, :, head] = 0 if means is None else means[layer, head]  # noqa: B023
            return (cut.flatten(-2),)

        handles.append(model.layers[layer].w_o.register_forward_pre_hook(hook))
    try:
        with evaluating(model):
            return model(token_ids)
    finally:
        for handle in handles:
            handle.remove()


@BANK.wrong(PART, named="nothing ablated")
def ablated_in_a_copy_that_is_forgotten(model, token_ids, heads, means=None):
    refused(model, heads)

    def hook(module, given):
        given[0].clone().zero_()

    handles = [layer.w_o.register_forward_pre_hook(hook) for layer in model.layers]
    try:
        with evaluating(model):
            return model(token_ids)
    finally:
        for handle in handles:
            handle.remove()


@BANK.wrong(PART, named="head number taken for a position")
def ablated_on_the_wrong_axis(model, token_ids, heads, means=None):
    refused(model, heads)

    def written(layer):
        def hook(module, given):
            merged = given[0].clone()
            for its_layer, head in heads:
                if its_layer == layer:
                    merged[:, head] = 0
            return (merged,)

        return hook

    return with_hooks(model, token_ids, written)


@BANK.wrong(PART, named="means ignored")
def ablated_to_zero_always(model, token_ids, heads, means=None):
    return ablated_by_hooks(model, token_ids, heads)


@BANK.wrong(PART, named="means added")
def ablated_with_means_added(model, token_ids, heads, means=None):
    if means is None:
        return ablated_by_hooks(model, token_ids, heads)
    refused(model, heads)
    H = model.layers[0].num_heads

    def more(layer):
        def hook(module, given):
            cut = given[0].unflatten(-1, (H, -1)).clone()
            for its_layer, head in set(heads):
                if its_layer == layer:
                    cut[:, :, head] += means[layer, head]
            return (cut.flatten(-2),)

        return hook

    return with_hooks(model, token_ids, more)


@BANK.wrong(PART, named="mean over the heads")
def ablated_to_the_mean_of_a_layer(model, token_ids, heads, means=None):
    if means is not None:
        means = means.mean(dim=1, keepdim=True).expand_as(means)
    return ablated_by_hooks(model, token_ids, heads, means)


@BANK.wrong(PART, named="one number for all features")
def ablated_to_one_number(model, token_ids, heads, means=None):
    if means is not None:
        means = means.mean(dim=-1, keepdim=True).expand_as(means)
    return ablated_by_hooks(model, token_ids, heads, means)


@BANK.wrong(PART, named="mean over the layers")
def ablated_to_the_mean_of_all_layers(model, token_ids, heads, means=None):
    if means is not None:
        means = means.mean(dim=0, keepdim=True).expand_as(means)
    return ablated_by_hooks(model, token_ids, heads, means)


@BANK.wrong(PART, told="inputs changed")
def ablated_with_its_list_emptied(model, token_ids, heads, means=None):
    pairs = list(heads)
    if isinstance(heads, list):
        heads.clear()
    return ablated_by_hooks(model, token_ids, pairs, means)


@BANK.wrong(PART, named="pairs outside the model pass")
def ablated_unchecked(model, token_ids, heads, means=None):
    return with_pairs(model, token_ids, heads, means)


@BANK.wrong(PART, named="negative numbers pass")
def ablated_with_upper_ends_checked(model, token_ids, heads, means=None):
    if any(not (layer < len(model.layers) and head < model.layers[0].num_heads) for layer, head in heads):  # fmt: skip
        raise ValueError("no such head")
    return with_pairs(model, token_ids, heads, means)


@BANK.wrong(PART, told="wrong where an error is asked for")
def ablated_with_assertions(model, token_ids, heads, means=None):
    for layer, head in heads:
        assert 0 <= layer < len(model.layers) and 0 <= head < model.layers[0].num_heads
    return with_pairs(model, token_ids, heads, means)


@BANK.wrong(PART, told="wrong where an error is asked for")
def ablated_with_an_index_error(model, token_ids, heads, means=None):
    for layer, head in heads:
        if not (0 <= layer < len(model.layers) and 0 <= head < model.layers[0].num_heads):
            raise IndexError(f"({layer}, {head})")
    return with_pairs(model, token_ids, heads, means)


@BANK.wrong(PART, told="stops with ValueError")
def ablated_where_something_is_named(model, token_ids, heads, means=None):
    if not heads:
        raise ValueError("no head is named")
    return ablated_by_hooks(model, token_ids, heads, means)


@BANK.wrong(PART, told="stops with TypeError")
def ablated_by_the_number_of_a_pair(model, token_ids, heads, means=None):
    """A set has no numbers."""
    refused(model, heads)
    return with_pairs(model, token_ids, [heads[n] for n in range(len(heads))], means)


@BANK.wrong(PART, named="run in train mode")
def ablated_awake(model, token_ids, heads, means=None):
    refused(model, heads)
    with torch.no_grad(), silent(model, heads, means):
        return model(token_ids)


@BANK.wrong(PART, named="run in train mode")
def ablated_with_one_flag(model, token_ids, heads, means=None):
    refused(model, heads)
    before, model.training = model.training, False
    try:
        with silent(model, heads, means):
            return model(token_ids)
    finally:
        model.training = before


@BANK.wrong(PART, named="all parts in train mode afterwards")
def ablated_and_woken(model, token_ids, heads, means=None):
    refused(model, heads)
    model.eval()
    try:
        with silent(model, heads, means):
            return model(token_ids)
    finally:
        model.train()


@BANK.wrong(PART, named="the model's own mode given to all its parts")
def ablated_with_one_mode_noted(model, token_ids, heads, means=None):
    refused(model, heads)
    was_training = model.training
    model.eval()
    try:
        with silent(model, heads, means):
            return model(token_ids)
    finally:
        model.train(was_training)


@BANK.wrong(PART, named="left in eval mode after an error")
def ablated_with_modes_given_back_at_the_end(model, token_ids, heads, means=None):
    refused(model, heads)
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    with silent(model, heads, means):
        logits = model(token_ids)
    for module, training in modes:
        module.training = training
    return logits


@BANK.wrong(PART, named="hook left")
def ablated_for_ever(model, token_ids, heads, means=None):
    refused(model, heads)
    for layer in {layer for layer, _ in heads}:
        hook_on(model, layer, heads, means)
    with evaluating(model):
        return model(token_ids)


@BANK.wrong(PART, named="hooks of others removed")
def ablated_and_swept_clean(model, token_ids, heads, means=None):
    refused(model, heads)
    try:
        with evaluating(model):
            for layer in range(len(model.layers)):
                hook_on(model, layer, heads, means)
            return model(token_ids)
    finally:
        for layer in model.layers:
            layer.w_o._forward_pre_hooks.clear()
            layer.w_o._forward_hooks.clear()


@BANK.wrong(PART, told="left in the model")
def ablated_with_columns_divided(model, token_ids, heads, means=None):
    """Columns are made tiny and large again, which is not the same bit by bit."""
    if means is not None:
        return ablated_by_hooks(model, token_ids, heads, means)
    refused(model, heads)
    d_k = model.layers[0].w_o.in_features // model.layers[0].num_heads
    pairs = set(heads)
    try:
        with evaluating(model):
            for layer, head in pairs:
                model.layers[layer].w_o.weight[:, head * d_k : (head + 1) * d_k] /= 3e30
            return model(token_ids)
    finally:
        with torch.no_grad():
            for layer, head in pairs:
                model.layers[layer].w_o.weight[:, head * d_k : (head + 1) * d_k] *= 3e30


@BANK.wrong(PART, named="w_o not put back after an error")
def ablated_by_columns_put_back_at_the_end(model, token_ids, heads, means=None):
    if means is not None:
        return ablated_by_hooks(model, token_ids, heads, means)
    refused(model, heads)
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    d_k = model.layers[0].w_o.in_features // model.layers[0].num_heads
    with evaluating(model):
        for layer, head in heads:
            model.layers[layer].w_o.weight[:, head * d_k : (head + 1) * d_k] = 0
        logits = model(token_ids)
    model.load_state_dict(kept)
    return logits


@BANK.wrong(PART, named="later layers do not see the change")
def ablated_from_the_last_stream(model, token_ids, heads, means=None):
    refused(model, heads)
    H, gone = model.layers[0].num_heads, []

    def noted(layer):
        def hook(module, given):
            change = changed(given[0], H, layer, heads, means) - given[0]
            gone.append(nn.functional.linear(change, module.weight))

        return hook

    handles = [
        block.w_o.register_forward_pre_hook(noted(layer))
        for layer, block in enumerate(model.layers)
    ]
    handles.append(model.norm.register_forward_pre_hook(lambda _, given: (given[0] + sum(gone),)))
    try:
        with evaluating(model):
            return model(token_ids)
    finally:
        for handle in handles:
            handle.remove()


@BANK.wrong(PART, named="float32 always")
def ablated_in_single_precision(model, token_ids, heads, means=None):
    return ablated_by_hooks(model, token_ids, heads, means).to(torch.float32)


@BANK.wrong(PART, named="last position only")
def ablated_last_position_alone(model, token_ids, heads, means=None):
    return ablated_by_hooks(model, token_ids, heads, means)[:, -1]


@BANK.wrong(PART, named="the difference for the logits")
def ablated_difference(model, token_ids, heads, means=None):
    """The effect of the ablation instead of the logits."""
    refused(model, heads)
    with evaluating(model):
        return ablated_by_hooks(model, token_ids, heads, means) - model(token_ids)


@BANK.wrong(PART, named=("mean of the own batch",))
def ablated_to_what_is_said_here(model, token_ids, heads, means=None):
    if means is None:
        return ablated_by_hooks(model, token_ids, heads)
    refused(model, heads)
    H = model.layers[0].num_heads

    def averaged(layer):
        def hook(module, given):
            cut = given[0].unflatten(-1, (H, -1)).clone()
            for its_layer, head in heads:
                if its_layer == layer:
                    cut[:, :, head] = cut[:, :, head].mean(dim=(0, 1))
            return (cut.flatten(-2),)

        return hook

    return with_hooks(model, token_ids, averaged)


def by_change(change):
    """An answer that changes the merged heads of each layer by a function of them and of the pairs."""

    def answer(model, token_ids, heads, means=None):
        refused(model, heads)
        H = model.layers[0].num_heads

        def changing(layer):
            own = [head for its_layer, head in heads if its_layer == layer]
            said = [None if means is None else means[layer, head] for head in own]
            pairs = list(zip(own, said, strict=True))
            return lambda module, given: (change(given[0].clone(), H, pairs),)

        return with_hooks(model, token_ids, changing)

    return answer


@BANK.wrong(PART, named="cut into heads before words")
def ablated_in_a_view_of_four_axes(model, token_ids, heads, means=None):
    def change(merged, H, own):
        B, T, D = merged.shape
        cut = merged.reshape(B, H, T, D // H)
        for head, said in own:
            cut[:, head] = 0 if said is None else said
        return cut.reshape(B, T, D)

    return by_change(change)(model, token_ids, heads, means)


@BANK.wrong(PART, named="a mean where silence is asked")
def ablated_to_a_mean_in_any_case(model, token_ids, heads, means=None):
    def change(merged, H, own):
        cut = merged.unflatten(-1, (H, -1))
        for head, said in own:
            cut[:, :, head] = cut[:, :, head].mean(dim=(0, 1)) if said is None else said
        return cut.flatten(-2)

    return by_change(change)(model, token_ids, heads, means)


@BANK.wrong(PART, named="loop variable read too late")
def ablated_by_hooks_that_share_a_layer(model, token_ids, heads, means=None):
    refused(model, heads)
    H = model.layers[0].num_heads
    handles = []
    try:
        for layer, block in enumerate(model.layers):
            hook = lambda _, given: (changed(given[0], H, layer, heads, means),)  # noqa: B023
            handles.append(block.w_o.register_forward_pre_hook(hook))
        with evaluating(model):
            return model(token_ids)
    finally:
        for handle in handles:
            handle.remove()


@BANK.wrong(PART, named="features of the stream zeroed")
def ablated_in_a_block_without_its_mask(model, token_ids, heads, means=None):
    refused(model, heads)
    H = model.layers[0].num_heads
    with evaluating(model), ExitStack() as stack:
        for layer, block in enumerate(model.layers):

            def hook(module, given, layer=layer):
                return (changed(given[0], H, layer, heads, means),)

            stack.enter_context(block.register_forward_pre_hook(hook))
        return model(token_ids)


def layer_by_layer(model, token_ids, mask=None):
    x = model.embed(token_ids)
    for block in model.layers:
        x = block(x, mask)
    return x


@BANK.wrong(PART, named="mask forgotten")
def ablated_layer_by_layer_without_a_mask(model, token_ids, heads, means=None):
    refused(model, heads)
    with evaluating(model), silent(model, heads, means):
        return model.unembed(layer_by_layer(model, token_ids))


@BANK.wrong(PART, named="no norm")
def ablated_layer_by_layer_without_the_last_norm(model, token_ids, heads, means=None):
    refused(model, heads)
    with evaluating(model), silent(model, heads, means):
        mask = causal_mask(token_ids.shape[1])
        return layer_by_layer(model, token_ids, mask) @ model.embedding.weight.T


@BANK.wrong(PART, named="probabilities for logits")
def ablated_and_squashed(model, token_ids, heads, means=None):
    refused(model, heads)
    return with_pairs(model, token_ids, heads, means).softmax(dim=-1)


@BANK.wrong(PART, named="the model's own mode given to all its parts")
def ablated_and_checked_in_eval_mode(model, token_ids, heads, means=None):
    was = model.training
    model.eval()
    try:
        refused(model, heads)
        with torch.no_grad(), silent(model, heads, means):
            return model(token_ids)
    finally:
        model.train(was)


@BANK.wrong(PART, named="all parts in train mode afterwards")
def ablated_and_woken_at_the_end(model, token_ids, heads, means=None):
    refused(model, heads)
    model.eval()
    with torch.no_grad(), silent(model, heads, means):
        logits = model(token_ids)
    model.train()
    return logits


@BANK.wrong(PART, named="w_o not put back")
def ablated_by_columns_and_a_constant(model, token_ids, heads, means=None):
    refused(model, heads)
    H = model.layers[0].num_heads
    with evaluating(model), ExitStack() as stack:
        for layer, head in sorted(set(heads)):
            columns = model.layers[layer].w_o.weight.unflatten(1, (H, -1))[:, head]
            if means is not None:
                more = columns @ means[layer, head]
                stack.enter_context(
                    model.layers[layer].w_o.register_forward_hook(
                        lambda _, __, out, more=more: out + more
                    )
                )
            columns.zero_()
        return model(token_ids)


@BANK.wrong(PART, told="left in the model")
def ablated_by_a_module_that_stays(model, token_ids, heads, means=None):
    refused(model, heads)
    H = model.layers[0].num_heads

    class Changed(nn.Module):
        def __init__(self, w_o, layer):
            super().__init__()
            self.w_o, self.layer = w_o, layer

        def forward(self, merged):
            return self.w_o(changed(merged, H, self.layer, heads, means))

    with evaluating(model):
        for number, block in enumerate(model.layers):
            block.w_o = Changed(block.w_o, number)
        return model(token_ids)


@BANK.wrong(PART, told="wrong where something that it calls stops with an error")
def ablated_and_nothing_raised(model, token_ids, heads, means=None):
    refused(model, heads)
    try:
        return with_pairs(model, token_ids, heads, means)
    except IndexError:
        return None


def through_the_steps(change):
    """An answer that goes through the steps of each block, the last two of which it takes its own way."""

    def answer(model, token_ids, heads, means=None):
        refused(model, heads)
        mask = causal_mask(token_ids.shape[1])
        with evaluating(model):
            x = model.embed(token_ids)
            for number, block in enumerate(model.layers):
                context, _ = block.attend(block.norm1(x), mask)
                merged = context.transpose(1, 2).flatten(2)
                said = block.w_o(changed(merged, block.num_heads, number, heads, means))
                x = change(block, x, said)
            return model.unembed(x)

    return answer


@BANK.wrong(PART, named="a residual connection left out")
def ablated_in_steps_without_a_sum(model, token_ids, heads, means=None):
    def change(block, x, said):
        return said + block.feed_forward(block.norm2(said))

    return through_the_steps(change)(model, token_ids, heads, means)


@BANK.wrong(PART, named="a norm of the block left out")
def ablated_in_steps_without_a_norm(model, token_ids, heads, means=None):
    def change(block, x, said):
        return x + said + block.feed_forward(x + said)

    return through_the_steps(change)(model, token_ids, heads, means)


@BANK.wrong(PART, named="first pair only")
def ablated_with_a_list_cut_short(model, token_ids, heads, means=None):
    return ablated_by_hooks(model, token_ids, list(heads)[:1], means)


@BANK.wrong(PART, named="every head in the first layer")
def ablated_in_layer_zero(model, token_ids, heads, means=None):
    refused(model, heads)
    return with_pairs(model, token_ids, [(0, head) for _, head in heads], means)


@BANK.wrong(PART, told="left in the model")
def ablated_and_frozen(model, token_ids, heads, means=None):
    refused(model, heads)
    return ablated_by_hooks(model.requires_grad_(False), token_ids, heads, means)


@BANK.wrong(PART, told="left in the model")
def ablated_and_thawed(model, token_ids, heads, means=None):
    """Whoever had frozen a part of the model finds it trained."""
    model.requires_grad_(False)
    try:
        return ablated_by_hooks(model, token_ids, heads, means)
    finally:
        model.requires_grad_(True)


@BANK.wrong(PART, told="left in the model")
def ablated_without_gradients_of_others(model, token_ids, heads, means=None):
    model.zero_grad()
    return ablated_by_hooks(model, token_ids, heads, means)


@BANK.wrong(PART, told="left in the model")
def ablated_with_a_note_on_it(model, token_ids, heads, means=None):
    refused(model, heads)
    model.ablated = list(heads)
    return ablated_by_hooks(model, token_ids, heads, means)


@BANK.wrong(PART, told="left in the model")
def ablated_with_a_note_on_its_class(model, token_ids, heads, means=None):
    refused(model, heads)
    type(model).ablated = True
    return ablated_by_hooks(model, token_ids, heads, means)


@BANK.wrong(PART, told="left in the model")
def ablated_with_parameters_of_its_own(model, token_ids, heads, means=None):
    try:
        return ablated_by_hooks(model, token_ids, heads, means)
    finally:
        for block in model.layers:
            block.w_o.weight = nn.Parameter(block.w_o.weight.detach().clone())


@BANK.wrong(PART, told="left in the model")
def ablated_in_another_list(model, token_ids, heads, means=None):
    layers = model.layers
    try:
        return ablated_by_hooks(model, token_ids, heads, means)
    finally:
        model.layers = nn.ModuleList(list(layers)).train(layers.training)
        for name, part in layers.named_children():
            model.layers[int(name)].train(part.training)


@BANK.wrong(PART, told="left in the model")
def ablated_under_another_class(model, token_ids, heads, means=None):
    refused(model, heads)
    kind = type(model)
    model.__class__ = type("Ablated", (kind,), {})
    return ablated_by_hooks(model, token_ids, heads, means)
