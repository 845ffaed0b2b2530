"""Mistakes that real projects made in what assignment 13 asks for."""

import torch
import torch.nn.functional as F

from assignments.a13_looking_inside.answers.ablate_heads import changed, hook_on
from assignments.a13_looking_inside.answers.ablate_heads import refused as outside
from assignments.a13_looking_inside.answers.bank import BANK
from assignments.a13_looking_inside.answers.logit_lens import streams_of
from assignments.a13_looking_inside.answers.patch_activation import hooked, inputs_of, put, refused
from course_utils.evaluation import evaluating


@BANK.wrong(
    "ablate_heads", named="output of w_o zeroed", published="interp-reasoning/thought-anchors#7"
)
def pseudo_heads_behind_the_projection(model, token_ids, heads, means=None):
    """The output of attention is cut into heads, although the projection has mixed them before."""
    outside(model, heads)
    H = model.layers[0].num_heads
    handles = [
        block.w_o.register_forward_hook(
            lambda _, __, out, layer=layer: changed(out, H, layer, heads, means)
        )
        for layer, block in enumerate(model.layers)
    ]
    with evaluating(model), hooked(*handles):
        return model(token_ids)


@BANK.wrong("ablate_heads", named="output of w_o zeroed", published="ndif-team/nnsight#525")
def a_slice_of_the_projected_output(model, token_ids, heads, means=None):
    """A head's slice is taken of the output of o_proj instead of its input."""
    outside(model, heads)
    width = model.embedding.embedding_dim // model.layers[0].num_heads

    def zeroed(layer):
        def hook(module, given, result):
            result = result.clone()
            for its_layer, head in heads:
                if its_layer == layer:
                    start, end = head * width, (head + 1) * width
                    result[:, :, start:end] = 0 if means is None else means[layer, head]
            return result

        return hook

    handles = [
        block.w_o.register_forward_hook(zeroed(layer)) for layer, block in enumerate(model.layers)
    ]
    with evaluating(model), hooked(*handles):
        return model(token_ids)


@BANK.wrong("ablate_heads", named="hook left", published="decoderesearch/SAELens#278")
def hooks_reset_on_another_model(model, token_ids, heads, means=None):
    """The ablation's hooks are never taken off, because they are looked for in the wrong place."""
    outside(model, heads)
    handles = {}
    for layer in {layer for layer, _ in heads}:
        hook_on(model, layer, heads, means)
    with evaluating(model):
        logits = model(token_ids)
    for handle in handles.values():
        handle.remove()
    return logits


@BANK.wrong(
    "ablate_heads",
    named="hook left after an error",
    published="TransformerLensOrg/TransformerLens#156",
)
def hooks_removed_after_a_run_that_succeeds(model, token_ids, heads, means=None):
    """Hooks are removed behind the forward pass, so an error in it leaves them on the model."""
    outside(model, heads)
    handles = [hook_on(model, layer, heads, means) for layer in range(len(model.layers))]
    with evaluating(model):
        logits = model(token_ids)
    for handle in handles:
        handle.remove()
    return logits


@BANK.wrong(
    "patch_activation",
    named="logits of the corrupted run",
    published="ndif-team/nnsight#502",
)
def a_patch_without_effect(model, clean_ids, corrupted_ids, layer, position):
    """The assignment does not reach the tensor that the layer goes on with, so nothing changes."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    block = model.layers[layer]
    with evaluating(model):
        clean = inputs_of(model, block, clean_ids)

        def hook(module, given):
            x = given[0].clone()
            x[:, position] = clean[:, position]

        with hooked(block.register_forward_pre_hook(hook)):
            return model(corrupted_ids)


@BANK.wrong(
    "patch_activation", named="hook left after an error", published="meta-pytorch/captum#340"
)
def hooks_that_an_error_leaves(model, clean_ids, corrupted_ids, layer, position):
    """Where the model raises an error, the hook that was placed before is not removed."""
    refused(model, clean_ids, corrupted_ids, layer, position)
    block = model.layers[layer]
    with evaluating(model):
        clean = inputs_of(model, block, clean_ids)

        def write(x):
            x[:, position] = clean[:, position]

        handle = block.register_forward_pre_hook(put(write))
        logits = model(corrupted_ids)
        handle.remove()
    return logits


@BANK.wrong("logit_lens", named="no norm", published="AlignmentResearch/tuned-lens#56")
def streams_unembedded_without_a_norm(model, token_ids):
    """The last norm is not found and silently left out."""
    norm = getattr(model, "final_layer_norm", torch.nn.Identity())
    with evaluating(model):
        return torch.stack(
            [norm(x) @ model.embedding.weight.T for x in streams_of(model, token_ids)]
        )


@BANK.wrong(
    "logit_lens",
    told="each row has a factor of its own",
    published="TransformerLensOrg/TransformerLens#1076",
)
def all_streams_with_the_last_ones_scale(model, token_ids):
    """All streams are divided by the root mean square of the last one, kept from the forward pass."""
    with evaluating(model):
        streams = torch.stack(streams_of(model, token_ids))
        scale = torch.rsqrt(streams[-1].square().mean(-1, keepdim=True) + model.norm.eps)
        return (streams * scale * model.norm.weight) @ model.embedding.weight.T


@BANK.wrong(
    "logit_lens",
    named="norm without its weight",
    published="TransformerLensOrg/TransformerLens#1077",
)
def streams_without_the_weight_of_the_norm(model, token_ids):
    """Streams are normed, and the weight of the last norm is not applied to them."""
    with evaluating(model):
        streams = torch.stack(streams_of(model, token_ids))
        return F.linear(F.rms_norm(streams, streams.shape[-1:], eps=1e-6), model.embedding.weight)
