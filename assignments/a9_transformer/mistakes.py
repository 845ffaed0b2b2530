"""The right answers of assignment 9 in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assignments.a9_transformer.rubric import (
    ASSEMBLED,
    DECODES,
    ENCODES,
    ENDS,
    LAYER_DROPS,
    LIKELIEST,
    MASKED,
    MODEL_DROPS,
    MODES,
    SUBLAYERS,
    TOGETHER,
    decoder_layer,
    encoder_decoder,
    greedy,
)
from assignments.common.layers import (
    PostNorm,
)
from autograder.verdict.mistakes import Steps, called, costs, says, variants
from course_utils import layers, masks, transformer
from course_utils.evaluation import evaluating

# ------------------------------------------------------------------------------ DecoderLayer


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


@decoder_layer.mistakes_in(Layer, Layer.attend_memory, costs=ASSEMBLED)
class DecoderLayerAttendMemory:
    @costs(ASSEMBLED, MASKED)
    @says(OWN_KEYS)
    def keys_and_values_from_the_decoder(self, x, memory, mask):
        return Layer.attend_memory(self, x, x, None)

    @called("keys and values from the decoder, under the memory's mask")
    @costs(ASSEMBLED, MASKED)
    @says(OWN_KEYS)
    def decoder_as_masked_memory(self, x, memory, mask):
        return Layer.attend_memory(self, x, x, mask)

    def values_from_the_decoder(self, x, memory, mask):
        """Your cross-attention collects values from x. What a decoder wants to know stands in the
        memory: which of the three inputs come from there?"""
        return self.cross_attn(x, memory, x, mask)[0]

    def the_memory_asks(self, x, memory, mask):
        """In your cross-attention the memory asks and x answers. Who needs to know something here?
        The result must have one row for each target word."""
        return Layer.attend_memory(self, memory, x, mask)

    def one_attention_module_for_both(self, x, memory, mask):
        """Your cross-attention runs through `self_attn`. The two have weights of their own: use
        `cross_attn`."""
        return self.self_attn(x, memory, memory, mask)[0]

    @costs(MASKED)
    def memory_mask_missing(self, x, memory, mask):
        """`memory_mask` has no effect in your layer, so the decoder looks at padding of the source.
        Which attention does it belong to?"""
        return Layer.attend_memory(self, x, memory, None)


@decoder_layer.mistakes_in(Layer, Layer.attend_self, costs=MASKED)
class DecoderLayerAttendSelf:
    def self_mask_missing(self, x, mask):
        """`self_mask` has no effect in your layer, so each position sees what comes later. Which
        attention does it belong to?"""
        return Layer.attend_self(self, x, None)

    def always_causal(self, x, mask):
        """Your layer hides the future also when `self_mask` does not ask for it. The layer builds
        no mask of its own; the model will."""
        causal = masks.causal_mask(x.shape[1], x.device)
        return Layer.attend_self(self, x, causal if mask is None else mask & causal)


OTHER_RESIDUAL = (
    "What you add behind {} is not what entered it but the {}. Each line takes the x of the line "
    "before, as residual as well."
)


@decoder_layer.mistakes_in(Layer, Layer.forward, costs=ASSEMBLED)
class DecoderLayerForward:
    @costs(MASKED)
    def masks_inverted(self, x, memory, *given):
        """Your masks hide what they should show. Here True means: may attend. Which convention does
        the attention that you call have?"""
        return Layer.forward(self, x, memory, *(None if mask is None else ~mask for mask in given))

    @called("the layer's input as every residual")
    def first_input_as_residual(self, first, memory, self_mask=None, memory_mask=None):
        """You add the layer's first input to every sublayer. Each residual carries what enters its
        own sublayer, that is, the result of the one before."""
        x = self.add(self.layer_norm1, first, lambda x: self.attend_self(x, self_mask))
        attended = self.attend_memory(x, memory, memory_mask)
        x = self.add(self.layer_norm2, first, lambda _: attended)
        return self.add(self.layer_norm3, first, lambda _: self.feed_forward(x))

    @called("cross-attention asks with the layer's input")
    def sublayers_side_by_side(self, x, memory, self_mask=None, memory_mask=None):
        """The query of your cross-attention is the layer's input. It should be what came out of
        self-attention and its norm."""
        attended = self.attend_memory(x, memory, memory_mask)
        x = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, x, lambda _: attended)
        return self.add(self.layer_norm3, x, self.feed_forward)

    @called("cross-attention before self-attention")
    def cross_before_self(self, x, memory, self_mask=None, memory_mask=None):
        """Your layer looks at the source first. In which order do the text's three equations
        stand?"""
        x = self.add(self.layer_norm1, x, lambda x: self.attend_memory(x, memory, memory_mask))
        x = self.add(self.layer_norm2, x, lambda x: self.attend_self(x, self_mask))
        return self.add(self.layer_norm3, x, self.feed_forward)

    def weights_returned_beside_the_result(self, x, memory, self_mask=None, memory_mask=None):
        """The numbers are right, but they come in a tuple. Layers return x alone, so that they can
        be stacked."""
        x = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
        attended, weights = self.cross_attn(x, memory, memory, memory_mask)
        x = self.add(self.layer_norm2, x, lambda _: attended)
        return self.add(self.layer_norm3, x, self.feed_forward), weights

    @called("the layer's input as second residual")
    @says(OTHER_RESIDUAL.format("cross-attention", "layer's input"))
    def input_as_second_residual(self, first, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, first, lambda x: self.attend_self(x, self_mask))
        attended = self.attend_memory(x, memory, memory_mask)
        x = self.add(self.layer_norm2, first, lambda _: attended)
        return self.add(self.layer_norm3, x, self.feed_forward)

    @called("the layer's input as last residual")
    @says(OTHER_RESIDUAL.format("the feed-forward network", "layer's input"))
    def input_as_last_residual(self, first, memory, self_mask=None, memory_mask=None):
        x = self.add(self.layer_norm1, first, lambda x: self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, x, lambda x: self.attend_memory(x, memory, memory_mask))
        return self.add(self.layer_norm3, first, lambda _: self.feed_forward(x))

    @called("self-attention's output as last residual")
    @says(OTHER_RESIDUAL.format("the feed-forward network", "result of the first line"))
    def first_line_as_last_residual(self, x, memory, self_mask=None, memory_mask=None):
        first = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, first, lambda x: self.attend_memory(x, memory, memory_mask))
        return self.add(self.layer_norm3, first, lambda _: self.feed_forward(x))

    @called("the feed-forward network reads what entered cross-attention")
    def network_reads_the_first_line(self, x, memory, self_mask=None, memory_mask=None):
        """Your feed-forward network never sees what cross-attention found: it reads the x from
        before. Each line takes the x of the line before."""
        first = self.add(self.layer_norm1, x, lambda x: self.attend_self(x, self_mask))
        x = self.add(self.layer_norm2, first, lambda x: self.attend_memory(x, memory, memory_mask))
        return self.add(self.layer_norm3, x, lambda _: self.feed_forward(first))

    @costs(MASKED)
    def masks_exchanged(self, x, memory, self_mask=None, memory_mask=None):
        """Your masks have changed places: `self_mask` belongs to self-attention, `memory_mask` to
        cross-attention. It stops where their shapes do not fit."""
        return Layer.forward(self, x, memory, memory_mask, self_mask)

    @costs(MASKED)
    def self_mask_also_over_the_memory(self, x, memory, self_mask=None, memory_mask=None):
        """Your cross-attention gets `self_mask`. The memory is known as a whole: which mask says
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


@decoder_layer.mistakes_in(Layer, Layer.add, costs=ASSEMBLED)
class DecoderLayerAdd:
    def norm_first(self, norm, x, sublayer):
        """You normalise before each sublayer (pre-LN). This layer is post-LN, as in the paper: add
        first, then normalise the sum."""
        return x + self.dropout(sublayer(norm(x)))

    @called("cross-attention missing")
    @costs(ASSEMBLED, MASKED)
    def no_cross_attention(self, norm, x, sublayer):
        """Your layer never looks at the memory: cross-attention is missing between self-attention
        and the feed-forward network."""
        return x if norm is self.layer_norm2 else Layer.add(self, norm, x, sublayer)

    @called("feed-forward missing")
    def no_feed_forward(self, norm, x, sublayer):
        """Your layer ends behind cross-attention. The feed-forward network and `layer_norm3` are
        missing."""
        return x if norm is self.layer_norm3 else Layer.add(self, norm, x, sublayer)

    @costs(LAYER_DROPS)
    @says(DROPPED)
    def dropout_on_the_sum(self, norm, x, sublayer):
        return norm(self.dropout(x + sublayer(x)))

    @costs(LAYER_DROPS)
    @says(DROPPED)
    def dropout_after_the_norm(self, norm, x, sublayer):
        return self.dropout(norm(x + sublayer(x)))

    def norm_before_the_sum(self, norm, x, sublayer):
        """You normalise each sublayer's output and add x afterwards. What stands inside the
        brackets of LayerNorm in the equations?"""
        return x + self.dropout(norm(sublayer(x)))

    @called("norm first around cross-attention")
    def norm_first_around_cross_attention(self, norm, x, sublayer):
        """Around cross-attention you normalise first, as pre-LN does. In all three equations the
        sum is normalised."""
        if norm is not self.layer_norm2:
            return Layer.add(self, norm, x, sublayer)
        return x + self.dropout(sublayer(norm(x)))


@decoder_layer.mistakes_in(Layer, Layer.keep, costs=ASSEMBLED)
class DecoderLayerKeep:
    def no_residual_connections(self, norm, x):
        """What enters a sublayer is lost behind it. Add it to the sublayer's output before the
        norm."""
        return torch.zeros_like(x)

    @called("no residual connection around cross-attention")
    def no_cross_residual(self, norm, x):
        """Behind cross-attention, what the decoder knew before is lost. Each of the three sublayers
        has a residual connection."""
        return (norm is not self.layer_norm2) * x

    @called("no residual connection around self-attention")
    def no_self_residual(self, norm, x):
        """Behind self-attention the word itself is lost. Each of the three sublayers has a residual
        connection."""
        return (norm is not self.layer_norm1) * x

    @called("no residual connection around the feed-forward network")
    def no_network_residual(self, norm, x):
        """Behind the feed-forward network, what was collected before is lost. Each of the three
        sublayers has a residual connection."""
        return (norm is not self.layer_norm3) * x


@decoder_layer.mistakes_in(Layer, Layer.normalise, costs=ASSEMBLED)
class DecoderLayerNormalise:
    def one_norm_for_all(self, norm, total):
        """Your three sums pass through the same norm. Each sublayer has its own: `layer_norm1`,
        `layer_norm2`, `layer_norm3`."""
        return self.layer_norm1(total)

    def last_norm_missing(self, norm, total):
        """The sum behind the feed-forward network is not normalised. `layer_norm3` belongs
        there."""
        return total if norm is self.layer_norm3 else norm(total)

    def no_norms(self, norm, total):
        """Your sums are not normalised. Each of the three has a norm of its own behind it."""
        return total

    @called("a norm missing behind self-attention")
    def no_first_norm(self, norm, total):
        """The sum behind self-attention is not normalised. `layer_norm1` belongs there."""
        return total if norm is self.layer_norm1 else norm(total)

    @called("a norm missing behind cross-attention")
    def no_second_norm(self, norm, total):
        """The sum behind cross-attention is not normalised. `layer_norm2` belongs there."""
        return total if norm is self.layer_norm2 else norm(total)

    @variants(
        "order",
        ([1, 3, 2], [2, 1, 3], [3, 2, 1], [2, 3, 1], [3, 1, 2], [1, 2, 2], [1, 1, 2], [1, 1, 3]),
    )
    def norms_in_another_order(self, norm, total, order):
        """Your norms have changed places: they stand in the order `layer_norm{order[0]}`,
        `layer_norm{order[1]}`, `layer_norm{order[2]}`. The first belongs behind self-attention, the
        second behind cross-attention, the third behind the network."""
        norms = [self.layer_norm1, self.layer_norm2, self.layer_norm3]
        place = next(number for number, own in enumerate(norms) if own is norm)
        return norms[order[place] - 1](total)


@decoder_layer.mistakes_in(Layer, Layer.drop, costs=LAYER_DROPS)
class DecoderLayerDrop:
    @says(DROPPED)
    def no_dropout(self, norm, change):
        return change

    def dropout_in_eval_mode(self, norm, change):
        """Your layer drops numbers in eval mode, too. `nn.Dropout` knows the mode by itself;
        `F.dropout` must be told: what does its argument `training` mean?"""
        return F.dropout(change, self.dropout.p)

    @called("no dropout behind {name}")
    @variants("number, name", enumerate(SUBLAYERS.values(), start=1))
    def no_dropout_behind_one(self, norm, change, number, name):
        """In train mode, what {name} gives is added without dropout. Each of the three equations
        has one, around the sublayer's output."""
        here = norm is getattr(self, f"layer_norm{number}")
        return change if here else self.dropout(change)


@decoder_layer.mistake("dropout on the residual", DROPPED, costs=(LAYER_DROPS,))
class DropoutOnResidual(Layer):
    def keep(self, norm, x):
        return self.dropout(x)

    def drop(self, norm, change):
        return change


@decoder_layer.mistakes_in(Layer, Layer.__init__, costs=LAYER_DROPS)
class DecoderLayerInit:
    def dropout_taken_and_not_handed_on_to_the_network(self, d_model, num_heads, d_ff, dropout=0.1):
        """Inside your feed-forward network, a tenth is dropped whatever `dropout` is. The network
        takes the probability as an argument: does yours hand it on?"""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff)

    def no_dropout_inside_the_network(self, d_model, num_heads, d_ff, dropout=0.1):
        """Inside your feed-forward network nothing is dropped. `dropout` acts there, too, beside
        the three places in the equations."""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff, 0.0)

    def dropout_taken_and_not_kept(self, d_model, num_heads, d_ff, dropout=0.1):
        """Whatever `dropout` is, your layer drops a tenth. What becomes of the argument?"""
        Layer.__init__(self, d_model, num_heads, d_ff)

    @costs(ASSEMBLED)
    def one_head(self, d_model, num_heads, d_ff, dropout=0.1):
        """Your attentions have one head, whatever `num_heads` is. What becomes of the argument?"""
        Layer.__init__(self, d_model, 1, d_ff, dropout)


@decoder_layer.mistake("attentions exchanged", costs=(ASSEMBLED,))
class AttentionsExchanged(Layer):
    """Your attentions have changed places: `self_attn` looks at the memory, and `cross_attn` at x.
    Each has weights of its own."""

    def attend_self(self, x, mask):
        return self.cross_attn(x, x, x, mask)[0]

    def attend_memory(self, x, memory, mask):
        return self.self_attn(x, memory, memory, mask)[0]


# ------------------------------------------------------------------------------- Transformer


class Model(transformer.Transformer):
    """The right model in steps, each of which a mistake can change."""

    def padding(self, src: Tensor) -> Tensor | None:
        return masks.padding_mask(src, self.pad_id)

    def source_mask(self, src: Tensor) -> Tensor | None:
        return self.padding(src)

    def memory_mask(self, src: Tensor) -> Tensor | None:
        return self.padding(src)

    def target_mask(self, tgt: Tensor) -> Tensor | None:
        return masks.decoder_mask(tgt, self.pad_id)

    def embed(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        return self.positional_encoding(table(ids) * math.sqrt(self.d_model))

    def through(self, blocks: nn.ModuleList, x: Tensor, *others: Tensor | None) -> Tensor:
        for block in blocks:
            x = block(x, *others)
        return x

    def score(self, x: Tensor) -> Tensor:
        return self.generator(x)

    def encode(self, src):
        x = self.embed(self.src_embedding, src)
        return self.through(self.encoder_layers, x, self.source_mask(src))

    def decode(self, tgt, memory, src):
        x = self.embed(self.tgt_embedding, tgt)
        seen = self.target_mask(tgt), self.memory_mask(src)
        return self.score(self.through(self.decoder_layers, x, memory, *seen))


NO_ID = -1  # as padding, it hides nothing


@encoder_decoder.mistakes_in(Model, Model.target_mask, costs=DECODES)
class EncoderDecoderTargetMask:
    def the_future_leaks(self, tgt):
        """Logits of earlier positions change with later target words: your decoder sees the future.
        In training it would copy the next word instead of learning it. Which mask of lecture 4
        belongs on the decoder's self-attention?"""
        return masks.padding_mask(tgt, self.pad_id)

    def the_next_word_leaks(self, tgt):
        """Each target position sees one word too many, exactly the one it has to predict. tgt is
        already shifted: position t may see positions 0 to t."""
        return torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril(1)

    def a_position_does_not_see_itself(self, tgt):
        """Each target position sees only those before it. tgt is already shifted, so position t may
        see itself, too."""
        return torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril(-1)


@encoder_decoder.mistakes_in(Model, Model.memory_mask, costs=DECODES)
class EncoderDecoderMemoryMask:
    def memory_mask_missing(self, src):
        """Your decoder attends to padding of the source. Why does `decode` receive `src` beside the
        memory?"""
        return masks.padding_mask(src, NO_ID)


@encoder_decoder.mistakes_in(Model, Model.source_mask, costs=ENCODES)
class EncoderDecoderSourceMask:
    def source_mask_missing_in_the_encoder(self, src):
        """Your encoder attends to padding, so a sentence gets another memory in a longer batch.
        Which mask does `TransformerLayer` need?"""
        return masks.padding_mask(src, NO_ID)

    def causal_mask_in_the_encoder(self, src):
        """Your encoder hides what comes later in the source. The source is known as a whole, so
        each word may see all real words. Where does a causal mask belong?"""
        return masks.decoder_mask(src, self.pad_id)


@encoder_decoder.mistakes_in(Model, Model.padding, costs=DECODES)
class EncoderDecoderPadding:
    def source_padding_never_hidden(self, src):
        """Padding of the source is never hidden, neither in the encoder nor in cross-attention.
        Which mask do both need?"""
        return masks.padding_mask(src, NO_ID)


@encoder_decoder.mistakes_in(Model, Model.__init__, costs=TOGETHER)
class EncoderDecoderInit:
    @called("pad_id taken to be 0")
    def padding_is_zero(self, *arguments, **keywords):
        """Your masks hide the id 0, whatever `pad_id` is. Hand `self.pad_id` to them."""
        Model.__init__(self, *arguments, **keywords)
        self.pad_id = 0

    def one_layer_repeated(self, *arguments, **keywords):
        """All layers of your stack share their weights: `[layer] * n` holds the same layer n times.
        How do you make a new one for each place?"""
        Model.__init__(self, *arguments, **keywords)
        for name in ("encoder_layers", "decoder_layers"):
            stack = getattr(self, name)
            setattr(self, name, nn.ModuleList([*stack[:1]] * len(stack)))

    @costs(MODEL_DROPS)
    def dropout_taken_and_not_kept(self, *arguments, dropout=0.1, **keywords):
        """Whatever `dropout` is, your model drops a tenth. What becomes of the argument?"""
        Model.__init__(self, *arguments, **keywords)

    @costs(MODEL_DROPS)
    def dropout_not_handed_on_to_the_layers(self, *arguments, **keywords):
        """`dropout` reaches words plus positions, but your layers drop a tenth, whatever it is.
        Each layer takes the probability as an argument."""
        Model.__init__(self, *arguments, **keywords)
        for block in (*self.encoder_layers, *self.decoder_layers):
            for part in block.modules():
                if isinstance(part, nn.Dropout):
                    part.p = 0.1

    @called("argument max_len not kept")
    def max_len_not_kept(self, *arguments, max_len=128, **keywords):
        """Whatever `max_len` is, your model reads up to 128 words. Which part of it has to know the
        limit?"""
        Model.__init__(self, *arguments, **keywords)

    @costs(MODEL_DROPS)
    def no_dropout_on_words_plus_positions(self, *arguments, **keywords):
        """In train mode, words plus positions reach the first layer without dropout.
        `PositionalEncoding` takes a dropout; is yours handed on?"""
        Model.__init__(self, *arguments, **keywords)
        self.positional_encoding.dropout.p = 0.0


@encoder_decoder.mistakes_in(Model, Model.embed, costs=ENCODES)
class EncoderDecoderEmbed:
    def embeddings_not_scaled(self, table, ids):
        """Your word vectors go in as they stand in the table. Which factor does the text put before
        them, so that positions do not drown them?"""
        return self.positional_encoding(table(ids))

    @costs(DECODES)
    def target_embeddings_not_scaled(self, table, ids):
        """Source words are scaled and target words are not. Both sides need the same factor."""
        factor = math.sqrt(self.d_model) if table is self.src_embedding else 1.0
        return self.positional_encoding(table(ids) * factor)

    def embeddings_divided(self, table, ids):
        """Your word vectors are divided by √d_model. The division belongs to attention scores; what
        does the text do with embeddings?"""
        return self.positional_encoding(table(ids) / math.sqrt(self.d_model))

    def positions_scaled_with_the_words(self, table, ids):
        """The factor √d_model multiplies your positions as well. It belongs to the words alone: in
        which order do scaling and adding stand in the text?"""
        return self.positional_encoding(table(ids)) * math.sqrt(self.d_model)

    def positions_missing(self, table, ids):
        """Your model cannot tell in which order the words stand: nothing adds positions."""
        return self.positional_encoding.dropout(table(ids) * math.sqrt(self.d_model))

    @called("target words from the source's table")
    @costs(DECODES)
    def source_table_for_target(self, table, ids):
        """Target words are looked up in `src_embedding`. Each language has its own table."""
        return Model.embed(self, self.src_embedding, ids)

    def source_embeddings_not_scaled(self, table, ids):
        """Target words are scaled and source words are not. Both sides need the same factor."""
        factor = math.sqrt(self.d_model) if table is self.tgt_embedding else 1.0
        return self.positional_encoding(table(ids) * factor)

    @called("embeddings multiplied by d_model")
    def scaled_by_width(self, table, ids):
        """Your word vectors are multiplied by d_model. The text takes its root."""
        return self.positional_encoding(table(ids) * self.d_model)

    @costs(DECODES)
    def target_positions_missing(self, table, ids):
        """Source words are told their places, target words are not. Both sides begin alike."""
        if table is self.src_embedding:
            return Model.embed(self, table, ids)
        return self.positional_encoding.dropout(table(ids) * math.sqrt(self.d_model))

    def source_positions_missing(self, table, ids):
        """Target words are told their places, source words are not. Both sides begin alike."""
        if table is self.tgt_embedding:
            return Model.embed(self, table, ids)
        return self.positional_encoding.dropout(table(ids) * math.sqrt(self.d_model))

    @costs(MODEL_DROPS)
    def dropout_on_the_words_before_positions_are_added(self, table, ids):
        """In train mode you drop words before their positions are added. Dropout acts on the
        sum."""
        x = self.positional_encoding.dropout(table(ids) * math.sqrt(self.d_model))
        return x + self.positional_encoding.pe[: ids.shape[1]]


ON_TOP = (
    "You normalise once more after the last layer{}. These layers are post-LN: each ends with a norm "
    "already."
)


@encoder_decoder.mistakes_in(Model, Model.score, costs=DECODES)
class EncoderDecoderScore:
    def softmax_before_the_loss(self, x):
        """Your results are probabilities. `nn.CrossEntropyLoss` takes the softmax itself, and a
        second one flattens its gradients. Return the generator's raw logits."""
        return self.generator(x).softmax(dim=-1)

    @called("log-softmax before the loss")
    def log_probabilities(self, x):
        """Your results are log-probabilities. This model returns the generator's raw logits; the
        loss does the rest."""
        return self.generator(x).log_softmax(dim=-1)

    def generator_missing(self, x):
        """Your decoder gives d_model numbers a position. The generator turns them into one score
        for each target word."""
        return x

    def only_the_last_position_returned(self, x):
        """You return the logits of the last position alone. Training needs all T of them; greedy
        decoding picks the last one itself."""
        return self.generator(x)[:, -1]

    @says(ON_TOP.format(" of the decoder"))
    def a_norm_on_top_of_the_decoder(self, x):
        return self.generator(F.layer_norm(x, (self.d_model,)))


@encoder_decoder.mistakes_in(Model, Model.decode, costs=DECODES)
class EncoderDecoderDecode:
    def last_target_token_cut_off(self, tgt, memory, src):
        """Your logits are one position short. tgt comes already shifted, so every position of it
        gets logits."""
        return Model.decode(self, tgt[:, :-1], memory, src)

    def causal_mask_on_the_memory(self, tgt, memory, src):
        """In cross-attention your target words see no source words beyond their own place. The
        source is known as a whole: which mask belongs to the memory?"""
        x = self.embed(self.tgt_embedding, tgt)
        seen = torch.ones(tgt.shape[1], src.shape[1], dtype=torch.bool).tril()
        masks_of_both = self.target_mask(tgt), seen & masks.padding_mask(src, self.pad_id)
        return self.score(self.through(self.decoder_layers, x, memory, *masks_of_both))


@encoder_decoder.mistakes_in(Model, Model.through, costs=TOGETHER)
class EncoderDecoderThrough:
    def every_layer_reads_the_embeddings(self, blocks, x, *others):
        """Each of your layers starts again from the embeddings, and only the last one counts. Each
        should read what the one before wrote."""
        return blocks[-1](x, *others) if len(blocks) else x

    @costs(ENCODES)
    @says(ON_TOP.format(""))
    def a_norm_on_top(self, *arguments):
        return F.layer_norm(Model.through(self, *arguments), (self.d_model,))

    @costs(ENCODES)
    def a_residual_connection_around_each_layer(self, blocks, x, *others):
        """You add what entered a layer to what comes out of it. Layers have residual connections
        inside; around them there are none."""
        for block in blocks:
            x = x + block(x, *others)
        return x

    def last_layer_left_out(self, blocks, x, *others):
        """Your words do not pass through all layers of the stack. Where does the loop over them
        begin and end?"""
        return Model.through(self, blocks[:-1], x, *others)


@encoder_decoder.mistakes_in(Model, Model.encode, costs=ENCODES)
class EncoderDecoderEncode:
    @says(ON_TOP.format(" of the encoder"))
    def a_norm_on_top_of_the_encoder(self, src):
        return F.layer_norm(Model.encode(self, src), (self.d_model,))


@encoder_decoder.mistakes_in(Model, Model.forward, costs=TOGETHER)
class EncoderDecoderForward:
    def source_and_target_exchanged_in_forward(self, src, tgt):
        """`forward` takes the source for the target. In which order do its arguments come, and what
        does `decode` get first?"""
        return Model.decode(self, src, self.encode(tgt), tgt)


# ----------------------------------------------------------------------------- greedy_decode


class Greedy(Steps):
    """Greedy decoding in steps, each of which a mistake can take in another way."""

    def mode(self, model: nn.Module) -> AbstractContextManager:
        return evaluating(model)

    def read(self, model: Any, src: Tensor) -> Tensor:
        return model.encode(src)

    def logits(self, model: Any, ids: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        return model.decode(ids, memory, src)[:, -1]

    def choose(self, logits: Tensor) -> Tensor:
        return logits.argmax(dim=-1)

    def filling(self, model: Any, eos_id: int) -> int:
        return model.pad_id

    def fill(self, words: Tensor, ended: Tensor, filling: int) -> Tensor:
        return words.masked_fill(ended, filling)

    def ends(self, words: Tensor, model: Any, bos_id: int, eos_id: int) -> Tensor:
        return words == eos_id

    def ended(self, before: Tensor, ends: Tensor) -> Tensor:
        return before | ends

    def stop(self, ended: Tensor) -> Any:
        return ended.all()

    def width(self, max_len: int) -> int:
        return max_len

    def result(self, ids: Tensor, model: Any, eos_id: int) -> Tensor:
        return ids

    def write(
        self, model: Any, memory: Tensor, src: Tensor, bos_id: int, eos_id: int, max_len: int
    ) -> Tensor:
        ids = src.new_full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < self.width(max_len) and not self.stop(ended):
            words = self.choose(self.logits(model, ids, memory, src))
            words = self.fill(words, ended, self.filling(model, eos_id))
            ids = torch.cat([ids, words.unsqueeze(1)], dim=1)
            ended = self.ended(ended, self.ends(words, model, bos_id, eos_id))
        return self.result(ids, model, eos_id)

    def answer(self, model: Any, src: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
        with self.mode(model):
            return self.write(model, self.read(model, src), src, bos_id, eos_id, max_len)


@contextmanager
def evaluating_but(
    leave: Callable[[nn.Module, bool], Any], model: nn.Module
) -> Iterator[nn.Module]:
    """Eval mode that is left otherwise, by a function of the model and the mode that it was in."""
    was_training = model.training
    with torch.no_grad():
        yield model.eval()
    leave(model, was_training)


def own_mode_back(model: nn.Module, was_training: bool) -> None:
    """To itself alone, and to no part of it."""
    model.training = was_training


LEFT_IN_A_MODE = (
    "All words are right, but afterwards {}. Each part of the model has a mode of its own: what has "
    "to be noted before `model.eval()`, so that each can have its own back?"
)


@greedy.mistakes_in(Greedy, Greedy.mode, costs=MODES)
class GreedyMode:
    def decoding_in_train_mode(self, model):
        """Your numbers are those of a model in train mode, where dropout garbles what is written.
        Which mode should the model be in, and which one afterwards?"""
        return nullcontext()

    @says(LEFT_IN_A_MODE.format("the model stays in eval mode"))
    def model_left_in_eval_mode(self, model):
        return evaluating_but(lambda model, was_training: None, model)

    @says(LEFT_IN_A_MODE.format("every part is in train mode, whatever it was before"))
    def all_parts_in_train_mode_afterwards(self, model):
        return evaluating_but(lambda model, was_training: model.train(), model)

    @called("the model's own mode given to all its parts")
    @says(LEFT_IN_A_MODE.format("every part has the mode of the whole model"))
    def one_mode_for_all_parts(self, model):
        return evaluating_but(nn.Module.train, model)

    @says(LEFT_IN_A_MODE.format("the model's parts are still in eval mode"))
    def only_the_model_itself_has_its_mode_back(self, model):
        return evaluating_but(own_mode_back, model)


@greedy.mistakes_in(Greedy, Greedy.answer, costs=MODES)
class GreedyAnswer:
    def source_encoded_in_train_mode(self, model, src, bos_id, eos_id, max_len):
        """The source is encoded before the model is in eval mode. Both halves of the work need
        it."""
        memory = self.read(model, src)
        with self.mode(model):
            return self.write(model, memory, src, bos_id, eos_id, max_len)


@greedy.mistake("EOS ignored", costs=(ENDS,))
class EndIgnored(Greedy):
    """Your rows go on beyond `eos_id` up to `max_len`. When has a sentence ended, and what follows
    then?"""

    def fill(self, words, ended, filling):
        return words

    def stop(self, ended):
        return False


@greedy.mistakes_in(Greedy, Greedy.fill, costs=ENDS)
class GreedyFill:
    def finished_rows_keep_growing(self, words, ended, filling):
        """Rows that have ended get further words while others go on. What should stand in them from
        there on?"""
        return words


@greedy.mistakes_in(Greedy, Greedy.stop, costs=ENDS)
class GreedyStop:
    def stops_at_the_first_end(self, ended):
        """You stop as soon as one row has ended, and the others stay unfinished. Wait for all of
        them."""
        return ended.any()

    @called("filled up to max_len")
    def stops_at_max_len_only(self, ended):
        """All rows have ended, and you go on to `max_len` columns. When may the loop stop?"""
        return False


@greedy.mistake("waits until all rows end in one column", costs=(ENDS,))
class EndsTogether(Greedy):
    """You stop only when all rows write `eos_id` in the same column. Rows end at different times:
    what has to be remembered of each?"""

    def fill(self, words, ended, filling):
        return words

    def ended(self, before, ends):
        return ends


@greedy.mistakes_in(Greedy, Greedy.filling, costs=ENDS)
class GreedyFilling:
    def filled_up_with_0(self, model, eos_id):
        """Ended rows are filled with 0, whatever the model's padding is. Which attribute of the
        model knows it?"""
        return 0

    def filled_up_with_EOS(self, model, eos_id):
        """Ended rows are filled with `eos_id`. It stands once; the model's padding follows."""
        return eos_id


@greedy.mistakes_in(Greedy, Greedy.ends, costs=ENDS)
class GreedyEnds:
    def a_row_ended_by_padding(self, words, model, bos_id, eos_id):
        """A row of yours also ends when the model writes `pad_id` as a word. By what alone is a row
        ended?"""
        return (words == eos_id) | (words == model.pad_id)


@greedy.mistakes_in(Greedy, Greedy.result, costs=ENDS)
class GreedyResult:
    def BOS_left_out(self, ids, model, eos_id):
        """Your result begins with the first word. Column 0 is `bos_id`."""
        return ids[:, 1:]

    def EOS_left_out(self, ids, model, eos_id):
        """Your rows lose their `eos_id`. It is kept, so that a reader can tell a sentence that
        ended from one that was cut off."""
        return ids.masked_fill(ids == eos_id, model.pad_id)


@greedy.mistakes_in(Greedy, Greedy.width, costs=ENDS)
class GreedyWidth:
    @called("max_len words after BOS")
    def max_len_words_after_the_begin(self, max_len):
        """Your result can have `max_len` + 1 columns. `max_len` counts column 0 as well."""
        return max_len + 1

    def one_word_too_few(self, max_len):
        """Where no row ends, your result has `max_len` - 1 columns. One more is allowed."""
        return max_len - 1


@greedy.mistakes_in(Greedy, Greedy.logits, costs=LIKELIEST)
class GreedyLogits:
    def logits_of_the_first_position_read(self, model, ids, memory, src):
        """You read the logits of position 0 at each step: the word after `bos_id`, again and again.
        Which position knows the next word?"""
        return model.decode(ids, memory, src)[:, 0]

    def only_the_last_word_handed_to_the_decoder(self, model, ids, memory, src):
        """Your decoder sees one word at a time and forgets those before it. Give it everything that
        is written so far."""
        return model.decode(ids[:, -1:], memory, src)[:, -1]


@greedy.mistakes_in(Greedy, Greedy.choose, costs=LIKELIEST)
class GreedyChoose:
    def least_likely_word(self, logits):
        """You take the word with the smallest logit. Greedy decoding takes the largest."""
        return logits.argmin(dim=-1)


@greedy.mistakes_in(Greedy, Greedy.read, costs=LIKELIEST)
class GreedyRead:
    def all_rows_read_the_first_source(self, model, src):
        """All rows of yours are written for the first sentence. The memory has one sentence for
        each row of the batch."""
        return model.encode(src[:1].expand_as(src))
