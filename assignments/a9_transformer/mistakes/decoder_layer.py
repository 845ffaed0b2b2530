"""Wrong decoder layers by the step of the right one that they take otherwise."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assignments.a9_transformer.rubric import (
    ASSEMBLED,
    LAYER_DROPS,
    MASKED,
    SUBLAYERS,
    decoder_layer,
)
from assignments.common.layers import (
    PostNorm,
)
from autograder.checks.mistakes import called, costs, message, variants
from course_utils import layers, masks


class Layer(PostNorm, layers.DecoderLayer):
    """The right layer in steps, each of which a mistake can change."""

    def attend_self(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.self_attn(x, x, x, mask)[0]

    def attend_memory(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        return self.cross_attn(x, memory, memory, mask)[0]

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, x, lambda x: self.attend_memory(x, memory, memory_mask))
        return self.add(self.layer_norm3, x, self.feed_forward)


OWN_KEYS = (
    "Your cross-attention takes keys and values from x, so nothing of the source sentence reaches "
    "the decoder. Which of its three inputs come from the memory?"
)


@decoder_layer.mistakes_in(Layer.attend_memory, costs=ASSEMBLED)
class DecoderLayerAttendMemory:
    @costs(ASSEMBLED, MASKED)
    @message(OWN_KEYS)
    def keys_and_values_from_the_decoder(self, x, memory, mask):
        return Layer.attend_memory(self, x, x, None)

    @called("keys and values from the decoder, under the memory's mask")
    @costs(ASSEMBLED, MASKED)
    @message(OWN_KEYS)
    def decoder_as_masked_memory(self, x, memory, mask):
        return Layer.attend_memory(self, x, x, mask)

    def values_from_the_decoder(self, x, memory, mask):
        """Your cross-attention collects values from x. What a decoder wants to know is in the
        memory. Which of the three inputs come from there?"""
        return self.cross_attn(x, memory, x, mask)[0]

    def keys_from_the_decoder(self, x, memory, mask):
        """Your cross-attention compares the query with keys from x, and collects values from the
        memory. A key and its value belong to one word. Which sentence does the decoder look at?"""
        return self.cross_attn(x, x, memory, mask)[0]

    @called("query and value of cross-attention exchanged")
    def value_first(self, x, memory, mask):
        """The memory is the query of your cross-attention, and x its value. `MultiHeadAttention`
        takes query, key and value in this order. Which of the three is the decoder's?"""
        return self.cross_attn(memory, memory, x, mask)[0]

    def the_memory_asks(self, x, memory, mask):
        """In your cross-attention the memory is the query and x is attended to. Which side needs to
        know something here? The result must have one row for each target word."""
        return Layer.attend_memory(self, memory, x, mask)

    def one_attention_module_for_both(self, x, memory, mask):
        """Your cross-attention runs through `self_attn`. The two attention layers have separate
        weights, so use `cross_attn` here."""
        return self.self_attn(x, memory, memory, mask)[0]

    @costs(MASKED)
    def memory_mask_missing(self, x, memory, mask):
        """`memory_mask` has no effect in your layer, so the decoder looks at padding of the source.
        Which attention layer does the mask belong to?"""
        return Layer.attend_memory(self, x, memory, None)


@decoder_layer.mistakes_in(Layer.attend_self, costs=MASKED)
class DecoderLayerAttendSelf:
    def self_mask_missing(self, x, mask):
        """`self_mask` has no effect in your layer, so each position sees what comes later. Which
        attention layer does the mask belong to?"""
        return Layer.attend_self(self, x, None)

    def always_causal(self, x, mask):
        """Your layer hides the future even when `self_mask` does not ask for it. The layer should
        build no mask of its own, because the model will."""
        causal = masks.causal_mask(x.shape[1], x.device)
        return Layer.attend_self(self, x, causal if mask is None else mask & causal)


OTHER_RESIDUAL = (
    "What you add after {} should be what entered it, but it is the {}. Each line takes the x of the "
    "line before, also for the residual."
)


@decoder_layer.mistakes_in(Layer.forward, costs=ASSEMBLED)
class DecoderLayerForward:
    @costs(MASKED)
    def masks_inverted(self, x, memory, *given):
        """Your masks hide what they should show. Here True means *may attend*. Which convention
        does the attention that you call have?"""
        return Layer.forward(self, x, memory, *(None if mask is None else ~mask for mask in given))

    @called("the layer's input as every residual")
    def first_input_as_residual(self, first, memory, self_mask=None, memory_mask=None):
        """You add the layer's first input to the output of every sublayer. Each residual should be
        what enters its own sublayer, which is the result of the line before."""
        x = self.add(self.layer_norm1, first, lambda x: self.attend_self(x, self_mask))
        attended = self.attend_memory(x, memory, memory_mask)
        x = self.add(self.layer_norm2, first, lambda _: attended)
        return self.add(self.layer_norm3, first, lambda _: self.feed_forward(x))

    @called("cross-attention asks with the layer's input")
    def sublayers_side_by_side(self, x, memory, self_mask=None, memory_mask=None):
        """The query of your cross-attention is the layer's input. It should be what comes out of
        self-attention and its norm."""
        attended = self.attend_memory(x, memory, memory_mask)
        x = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, x, lambda _: attended)
        return self.add(self.layer_norm3, x, self.feed_forward)

    @called("cross-attention asks before residual and norm")
    def raw_attention_asks(self, x, memory, self_mask=None, memory_mask=None):
        """The query of your cross-attention is self-attention's output alone. It should be the x of
        the first line, with the residual added and the sum normalised."""
        raw = self.dropout(self.attend_self(x, self_mask))
        x = self.layer_norm1(x + raw)
        x = self.add(self.layer_norm2, x, lambda _: self.attend_memory(raw, memory, memory_mask))
        return self.add(self.layer_norm3, x, self.feed_forward)

    @called("nothing behind self-attention")
    @costs(ASSEMBLED, MASKED)
    def first_line_alone(self, x, memory, self_mask=None, memory_mask=None):
        """Your layer ends after self-attention and `layer_norm1`. The other two equations,
        cross-attention and the feed-forward network, are missing."""
        return self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))

    @called("cross-attention before self-attention")
    def cross_before_self(self, x, memory, self_mask=None, memory_mask=None):
        """Your layer looks at the source first. In which order does the text have the three
        equations?"""
        x = self.add(self.layer_norm1, x, lambda x: self.attend_memory(x, memory, memory_mask))
        x = self.add(self.layer_norm2, x, lambda x: self.attend_self(x, self_mask))
        return self.add(self.layer_norm3, x, self.feed_forward)

    def weights_returned_beside_the_result(self, x, memory, self_mask=None, memory_mask=None):
        """The numbers are right, but you return a tuple. The layer should return x alone, so that
        layers can be stacked."""
        x = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
        attended, weights = self.cross_attn(x, memory, memory, memory_mask)
        x = self.add(self.layer_norm2, x, lambda _: attended)
        return self.add(self.layer_norm3, x, self.feed_forward), weights

    @called("the layer's input as second residual")
    @message(OTHER_RESIDUAL.format("cross-attention", "layer's input"))
    def input_as_second_residual(self, first, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, first, lambda x: self.attend_self(x, self_mask))
        attended = self.attend_memory(x, memory, memory_mask)
        x = self.add(self.layer_norm2, first, lambda _: attended)
        return self.add(self.layer_norm3, x, self.feed_forward)

    @called("the layer's input as last residual")
    @message(OTHER_RESIDUAL.format("the feed-forward network", "layer's input"))
    def input_as_last_residual(self, first, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, first, lambda x: self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, x, lambda x: self.attend_memory(x, memory, memory_mask))
        return self.add(self.layer_norm3, first, lambda _: self.feed_forward(x))

    @called("self-attention's output as last residual")
    @message(OTHER_RESIDUAL.format("the feed-forward network", "result of the first line"))
    def first_line_as_last_residual(self, x, memory, self_mask=None, memory_mask=None):
        first = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, first, lambda x: self.attend_memory(x, memory, memory_mask))
        return self.add(self.layer_norm3, first, lambda _: self.feed_forward(x))

    @called("the feed-forward network reads what entered cross-attention")
    def network_reads_the_first_line(self, x, memory, self_mask=None, memory_mask=None):
        """Your feed-forward network never sees what cross-attention found, because it reads the x
        from before. Each line takes the x of the line before."""
        first = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, first, lambda x: self.attend_memory(x, memory, memory_mask))
        return self.add(self.layer_norm3, x, lambda _: self.feed_forward(first))

    @costs(MASKED)
    def masks_exchanged(self, x, memory, self_mask=None, memory_mask=None):
        """Your masks have changed places. `self_mask` belongs to self-attention, and `memory_mask`
        to cross-attention. Where their shapes do not fit, the layer stops."""
        return Layer.forward(self, x, memory, memory_mask, self_mask)

    @costs(MASKED)
    def self_mask_also_over_the_memory(self, x, memory, self_mask=None, memory_mask=None):
        """Your cross-attention gets `self_mask`. The memory is known as a whole. Which mask says
        what may be seen of it?"""
        return Layer.forward(self, x, memory, self_mask, self_mask)

    def a_norm_on_top(self, x, *others):
        """You normalise once more at the end. Each of the three lines has one norm, and the third
        line's is the last step."""
        return F.layer_norm(Layer.forward(self, x, *others), x.shape[-1:])


DROPPED = (
    "In train mode, each sublayer's output passes through dropout before it is added to x. With "
    "a dropout of nearly 1, only the residual stream is left. Where does yours act?"
)


@decoder_layer.mistakes_in(Layer.add, costs=ASSEMBLED, of=Layer)
class DecoderLayerAdd:
    def norm_first(self, norm, x, sublayer):
        """You normalise before each sublayer (pre-LN). This layer is post-LN, as in the paper, so
        add first and then normalise the sum."""
        return x + self.dropout(sublayer(norm(x)))

    @called("cross-attention missing")
    @costs(ASSEMBLED, MASKED)
    def no_cross_attention(self, norm, x, sublayer):
        """Your layer never looks at the memory, because cross-attention is missing between
        self-attention and the feed-forward network."""
        return x if norm is self.layer_norm2 else Layer.add(self, norm, x, sublayer)

    @called("feed-forward missing")
    def no_feed_forward(self, norm, x, sublayer):
        """Your layer ends after cross-attention. The feed-forward network and `layer_norm3` are
        missing."""
        return x if norm is self.layer_norm3 else Layer.add(self, norm, x, sublayer)

    @costs(LAYER_DROPS)
    @message(DROPPED)
    def dropout_on_the_sum(self, norm, x, sublayer):
        return norm(self.dropout(x + sublayer(x)))

    @costs(LAYER_DROPS)
    @message(DROPPED)
    def dropout_after_the_norm(self, norm, x, sublayer):
        return self.dropout(norm(x + sublayer(x)))

    def norm_before_the_sum(self, norm, x, sublayer):
        """You normalise each sublayer's output and add x afterwards. What is inside the brackets of
        LayerNorm in the equations?"""
        return x + self.dropout(norm(sublayer(x)))

    @called("norm first around cross-attention")
    def norm_first_around_cross_attention(self, norm, x, sublayer):
        """Around cross-attention you normalise first, as pre-LN does. In all three equations the
        sum is normalised."""
        if norm is not self.layer_norm2:
            return Layer.add(self, norm, x, sublayer)
        return x + self.dropout(sublayer(norm(x)))


@decoder_layer.mistakes_in(Layer.keep, costs=ASSEMBLED, of=Layer)
class DecoderLayerKeep:
    def no_residual_connections(self, norm, x):
        """What enters a sublayer is lost after it. It should be added to the sublayer's output
        before the norm."""
        return torch.zeros_like(x)

    @called("no residual connection around cross-attention")
    def no_cross_residual(self, norm, x):
        """After cross-attention, what the decoder knew before is lost. Each of the three sublayers
        should have a residual connection."""
        return (norm is not self.layer_norm2) * x

    @called("no residual connection around self-attention")
    def no_self_residual(self, norm, x):
        """After self-attention the word itself is lost. Each of the three sublayers should have a
        residual connection."""
        return (norm is not self.layer_norm1) * x

    @called("no residual connection around the feed-forward network")
    def no_network_residual(self, norm, x):
        """After the feed-forward network, what was collected before is lost. Each of the three
        sublayers should have a residual connection."""
        return (norm is not self.layer_norm3) * x


@decoder_layer.mistakes_in(Layer.normalise, costs=ASSEMBLED, of=Layer)
class DecoderLayerNormalise:
    def one_norm_for_all(self, norm, total):
        """Your three sums pass through the same norm. Each sublayer has its own: `layer_norm1`,
        `layer_norm2`, `layer_norm3`."""
        return self.layer_norm1(total)

    def last_norm_missing(self, norm, total):
        """The sum after the feed-forward network is not normalised. `layer_norm3` belongs there."""
        return total if norm is self.layer_norm3 else norm(total)

    def no_norms(self, norm, total):
        """Your sums are not normalised. Each of the three should be followed by its own norm."""
        return total

    @called("a norm missing behind self-attention")
    def no_first_norm(self, norm, total):
        """The sum after self-attention is not normalised. `layer_norm1` belongs there."""
        return total if norm is self.layer_norm1 else norm(total)

    @called("a norm missing behind cross-attention")
    def no_second_norm(self, norm, total):
        """The sum after cross-attention is not normalised. `layer_norm2` belongs there."""
        return total if norm is self.layer_norm2 else norm(total)

    @variants(
        "order",
        ([1, 3, 2], [2, 1, 3], [3, 2, 1], [2, 3, 1], [3, 1, 2], [1, 2, 2], [1, 1, 2], [1, 1, 3]),
    )
    def norms_in_another_order(self, norm, total, order):
        """Your norms have changed places, because you use them in the order `layer_norm{order[0]}`,
        `layer_norm{order[1]}`, `layer_norm{order[2]}`. The first belongs after self-attention, the
        second after cross-attention, the third after the network."""
        norms = [self.layer_norm1, self.layer_norm2, self.layer_norm3]
        place = next(number for number, own in enumerate(norms) if own is norm)
        return norms[order[place] - 1](total)


@decoder_layer.mistakes_in(Layer.drop, costs=LAYER_DROPS, of=Layer)
class DecoderLayerDrop:
    @message(DROPPED)
    def no_dropout(self, norm, change):
        return change

    def dropout_in_eval_mode(self, norm, change):
        """Your layer also drops numbers in eval mode. `nn.Dropout` follows the mode by itself, but
        `F.dropout` must be told. What does its argument `training` mean?"""
        return F.dropout(change, self.dropout.p)

    @called("no dropout behind {name}")
    @variants("number, name", enumerate(SUBLAYERS.values(), start=1))
    def no_dropout_behind_one(self, norm, change, number, name):
        """In train mode, the output of {name} is added without dropout. Each of the three equations
        has one, applied to the sublayer's output."""
        here = norm is getattr(self, f"layer_norm{number}")
        return change if here else self.dropout(change)


@decoder_layer.mistake("dropout on the residual", DROPPED, costs=LAYER_DROPS)
class DropoutOnResidual(Layer):
    def keep(self, norm, x):
        return self.dropout(x)

    def drop(self, norm, change):
        return change


@decoder_layer.mistakes_in(Layer.__init__, costs=LAYER_DROPS, of=Layer)
class DecoderLayerInit:
    @costs(ASSEMBLED)
    @called("d_ff not handed on to the network")
    @variants("times", (4, 2, 1))
    def network_of_another_width(self, d_model, num_heads, d_ff, dropout=0.1, *, times):
        """The number of inner features of your feed-forward network follows from `d_model`. It is the
        argument `d_ff`. Does your layer pass it on?"""
        Layer.__init__(self, d_model, num_heads, times * d_model, dropout)

    def dropout_taken_and_not_handed_on_to_the_network(self, d_model, num_heads, d_ff, dropout=0.1):
        """Inside your feed-forward network, a tenth is dropped whatever `dropout` is. The network
        takes the probability as an argument. Does your layer pass it on?"""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff)

    def no_dropout_inside_the_network(self, d_model, num_heads, d_ff, dropout=0.1):
        """Inside your feed-forward network nothing is dropped. `dropout` should act there as well
        as in the three places of the equations."""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff, 0.0)

    def dropout_taken_and_not_kept(self, d_model, num_heads, d_ff, dropout=0.1):
        """Whatever `dropout` is, your layer drops a tenth. What becomes of the argument?"""
        Layer.__init__(self, d_model, num_heads, d_ff)

    @variants("share, words", ((0.1, "a tenth"), (0.5, "half")))
    def a_fixed_dropout_behind_the_sublayers(
        self, d_model, num_heads, d_ff, dropout=0.1, *, share, words
    ):
        """Whatever `dropout` is, {words} of each sublayer's output is dropped. The network gets the
        argument, but which number does the layer's own `nn.Dropout` get?"""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.dropout = nn.Dropout(share)

    @costs(ASSEMBLED)
    def one_attention_under_two_names(self, d_model, num_heads, d_ff, dropout=0.1):
        """Your `self_attn` and `cross_attn` are one and the same module, so they share their
        weights. Each should be made anew."""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.cross_attn = self.self_attn

    @costs(ASSEMBLED)
    def one_norm_under_three_names(self, d_model, num_heads, d_ff, dropout=0.1):
        """Your three norms are one and the same module, so they share their weights. Each should
        be made anew."""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.layer_norm2 = self.layer_norm3 = self.layer_norm1

    @costs(ASSEMBLED)
    def one_head(self, d_model, num_heads, d_ff, dropout=0.1):
        """Your attention layers have one head, whatever `num_heads` is. What becomes of the
        argument?"""
        Layer.__init__(self, d_model, 1, d_ff, dropout)


@decoder_layer.mistake("attentions exchanged", costs=ASSEMBLED)
class AttentionsExchanged(Layer):
    """Your attention layers have changed places, so that `self_attn` looks at the memory, and
    `cross_attn` at x. Each has weights of its own."""

    def attend_self(self, x, mask):
        return self.cross_attn(x, x, x, mask)[0]

    def attend_memory(self, x, memory, mask):
        return self.self_attn(x, memory, memory, mask)[0]
