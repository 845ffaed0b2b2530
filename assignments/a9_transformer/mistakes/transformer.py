"""Wrong transformers by the step of the right one that they take otherwise."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assignments.a9_transformer.rubric import (
    DECODES,
    ENCODES,
    MODEL_DROPS,
    TOGETHER,
    encoder_decoder,
)
from autograder.checks.mistakes import called, costs, message, variants
from course_utils import masks, transformer


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


@encoder_decoder.mistakes_in(Model.target_mask, costs=DECODES)
class EncoderDecoderTargetMask:
    def the_future_leaks(self, tgt):
        """Logits of earlier positions change with later target words, so your decoder sees the
        future. In training it would copy the next word instead of learning to predict it. Which
        mask of lecture 4 belongs on the decoder's self-attention?"""
        return masks.padding_mask(tgt, self.pad_id)

    def the_next_word_leaks(self, tgt):
        """Each target position sees one word too many, which is exactly the one it has to predict.
        `tgt` is already shifted, so position t may see positions 0 to t."""
        return torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril(1)

    def target_padding_taken_to_be_0(self, tgt):
        """In your decoder's self-attention the id 0 is hidden, whatever `pad_id` is. The target's mask
        should be made with `self.pad_id`, too."""
        return masks.decoder_mask(tgt, 0)

    def a_position_does_not_see_itself(self, tgt):
        """Each target position sees only those before it. `tgt` is already shifted, so position t
        may also see itself."""
        return torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril(-1)


@encoder_decoder.mistakes_in(Model.memory_mask, costs=DECODES)
class EncoderDecoderMemoryMask:
    def memory_mask_missing(self, src):
        """Your decoder attends to padding of the source. Why does `decode` receive `src` in
        addition to the memory?"""
        return masks.padding_mask(src, NO_ID)


@encoder_decoder.mistakes_in(Model.source_mask, costs=ENCODES)
class EncoderDecoderSourceMask:
    def source_mask_missing_in_the_encoder(self, src):
        """Your encoder attends to padding, so a sentence gets a different memory in a longer batch.
        Which mask does `TransformerLayer` need?"""
        return masks.padding_mask(src, NO_ID)

    def causal_mask_in_the_encoder(self, src):
        """Your encoder hides what comes later in the source. The source is known as a whole, so
        each word may see all real words. Where does a causal mask belong?"""
        return masks.decoder_mask(src, self.pad_id)


@encoder_decoder.mistakes_in(Model.padding, costs=DECODES)
class EncoderDecoderPadding:
    def source_padding_never_hidden(self, src):
        """Padding of the source is never hidden, neither in the encoder nor in cross-attention.
        Which mask do both need?"""
        return masks.padding_mask(src, NO_ID)


@encoder_decoder.mistakes_in(Model.__init__, costs=TOGETHER, of=Model)
class EncoderDecoderInit:
    @called("pad_id taken to be 0")
    def padding_is_zero(self, *arguments, **keywords):
        """Your masks hide the id 0, whatever `pad_id` is. They should get `self.pad_id`."""
        Model.__init__(self, *arguments, **keywords)
        self.pad_id = 0

    def one_layer_repeated(self, *arguments, **keywords):
        """All layers of your stack share their weights, because `[layer] * n` contains the same
        layer n times. How do you make a new one for each place?"""
        Model.__init__(self, *arguments, **keywords)
        for name in ("encoder_layers", "decoder_layers"):
            stack = getattr(self, name)
            setattr(self, name, nn.ModuleList([*stack[:1]] * len(stack)))

    @called("generator and target embedding share their weights")
    @costs(DECODES)
    def tied_generator(self, *arguments, **keywords):
        """Your `generator` has the weights of `tgt_embedding`. The paper shares them, but here
        both are set by their names, so each needs weights of its own."""
        Model.__init__(self, *arguments, **keywords)
        self.generator.weight = self.tgt_embedding.weight

    @called("generator without bias")
    @costs(DECODES)
    def bare_generator(self, *arguments, **keywords):
        """The text asks for a `generator` with a bias, as `nn.Linear` makes it. Yours has none."""
        Model.__init__(self, *arguments, **keywords)
        self.generator.bias = None

    @called("d_ff not handed on to the layers")
    @variants("times", (4, 2, 1))
    def layers_of_another_width(
        self, src_vocab, tgt_vocab, d_model, num_heads, num_layers, d_ff, *, times, **keywords
    ):
        """The number of inner features of your feed-forward networks follows from `d_model`. It is the
        argument `d_ff`. Does your model pass it on?"""
        sizes = d_model, num_heads, num_layers, times * d_model
        Model.__init__(self, src_vocab, tgt_vocab, *sizes, **keywords)

    @called("num_layers not used")
    @variants("number", (6, 2, 1))
    def a_fixed_number_of_layers(
        self, src_vocab, tgt_vocab, d_model, num_heads, num_layers, d_ff, *, number, **keywords
    ):
        """Your encoder and your decoder have a fixed number of layers. It is the argument `num_layers`."""
        Model.__init__(self, src_vocab, tgt_vocab, d_model, num_heads, number, d_ff, **keywords)

    @costs(MODEL_DROPS)
    def dropout_taken_and_not_kept(self, *arguments, dropout=0.1, **keywords):
        """Whatever `dropout` is, your model drops a tenth. What becomes of the argument?"""
        Model.__init__(self, *arguments, **keywords)

    @costs(MODEL_DROPS)
    def dropout_not_handed_on_to_the_layers(self, *arguments, **keywords):
        """`dropout` acts on the sum of word and position, but your layers drop a tenth, whatever it
        is. Each layer takes the probability as an argument."""
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
        """In train mode, the sum of word and position reaches the first layer without dropout.
        `PositionalEncoding` takes a dropout as an argument. Does your model pass it on?"""
        Model.__init__(self, *arguments, **keywords)
        self.positional_encoding.dropout.p = 0.0


@encoder_decoder.mistakes_in(Model.embed, costs=ENCODES)
class EncoderDecoderEmbed:
    def embeddings_not_scaled(self, table, ids):
        """Your word vectors are used as they are in the table. Which factor does the text put
        before them, so that the positions do not drown them?"""
        return self.positional_encoding(table(ids))

    @costs(DECODES)
    def target_embeddings_not_scaled(self, table, ids):
        """Source words are scaled, but target words are not. Both sides need the same factor."""
        factor = math.sqrt(self.d_model) if table is self.src_embedding else 1.0
        return self.positional_encoding(table(ids) * factor)

    def embeddings_divided(self, table, ids):
        """Your word vectors are divided by √d_model. A division by a root belongs to attention
        scores. What does the text do with embeddings?"""
        return self.positional_encoding(table(ids) / math.sqrt(self.d_model))

    def positions_scaled_with_the_words(self, table, ids):
        """The factor √d_model multiplies your positions as well, although it belongs to the words
        alone. In which order does the text scale and add?"""
        return self.positional_encoding(table(ids)) * math.sqrt(self.d_model)

    def positions_missing(self, table, ids):
        """Your model cannot tell the order of the words, because nothing adds positions."""
        return self.positional_encoding.dropout(table(ids) * math.sqrt(self.d_model))

    @called("target words from the source's table")
    @costs(DECODES)
    def source_table_for_target(self, table, ids):
        """Target words are looked up in `src_embedding`, but each language should have its own
        table."""
        return Model.embed(self, self.src_embedding, ids)

    def source_embeddings_not_scaled(self, table, ids):
        """Target words are scaled, but source words are not. Both sides need the same factor."""
        factor = math.sqrt(self.d_model) if table is self.tgt_embedding else 1.0
        return self.positional_encoding(table(ids) * factor)

    @called("embeddings multiplied by d_model")
    def scaled_by_width(self, table, ids):
        """Your word vectors are multiplied by d_model. The text multiplies them by its root."""
        return self.positional_encoding(table(ids) * self.d_model)

    @costs(DECODES)
    def target_positions_missing(self, table, ids):
        """Positions are added to source words, but not to target words. Both sides begin in the
        same way."""
        if table is self.src_embedding:
            return Model.embed(self, table, ids)
        return self.positional_encoding.dropout(table(ids) * math.sqrt(self.d_model))

    def source_positions_missing(self, table, ids):
        """Positions are added to target words, but not to source words. Both sides begin in the
        same way."""
        if table is self.tgt_embedding:
            return Model.embed(self, table, ids)
        return self.positional_encoding.dropout(table(ids) * math.sqrt(self.d_model))

    @costs(MODEL_DROPS)
    def dropout_on_the_words_before_positions_are_added(self, table, ids):
        """In train mode you drop numbers of the words before their positions are added. Dropout
        should act on the sum."""
        x = self.positional_encoding.dropout(table(ids) * math.sqrt(self.d_model))
        return x + self.positional_encoding.pe[: ids.shape[1]]


ON_TOP = (
    "You normalise once more after the last layer{}. These layers are post-LN, so each of them ends "
    "with a norm already."
)


@encoder_decoder.mistakes_in(Model.score, costs=DECODES)
class EncoderDecoderScore:
    def softmax_before_the_loss(self, x):
        """Your results are probabilities. `nn.CrossEntropyLoss` takes the softmax itself, and a
        second one flattens its gradients. Return the generator's raw logits."""
        return self.generator(x).softmax(dim=-1)

    @called("log-softmax before the loss")
    def log_probabilities(self, x):
        """Your results are log-probabilities. This model should return the generator's raw logits,
        because the loss does the rest."""
        return self.generator(x).log_softmax(dim=-1)

    def generator_missing(self, x):
        """Your decoder gives d_model numbers for each position. The generator should turn them into
        one score for each target word."""
        return x

    def only_the_last_position_returned(self, x):
        """You return the logits of the last position alone. Training needs all T of them, and
        greedy decoding picks the last one itself."""
        return self.generator(x)[:, -1]

    @costs(MODEL_DROPS)
    def dropout_before_the_generator(self, x):
        """In train mode you drop numbers of the decoder's result before the generator reads it. The
        text has dropout on the sum of word and position and inside the layers, and nowhere else."""
        return self.generator(self.positional_encoding.dropout(x))

    @message(ON_TOP.format(" of the decoder"))
    def a_norm_on_top_of_the_decoder(self, x):
        return self.generator(F.layer_norm(x, (self.d_model,)))


@encoder_decoder.mistakes_in(Model.decode, costs=DECODES)
class EncoderDecoderDecode:
    def last_target_token_cut_off(self, tgt, memory, src):
        """Your logits are one position short. `tgt` comes already shifted, so each of its positions
        gets logits."""
        return Model.decode(self, tgt[:, :-1], memory, src)

    def causal_mask_on_the_memory(self, tgt, memory, src):
        """In cross-attention your target words see no source words beyond their own position. The
        source is known as a whole. Which mask belongs to the memory?"""
        x = self.embed(self.tgt_embedding, tgt)
        seen = torch.ones(tgt.shape[1], src.shape[1], dtype=torch.bool).tril()
        masks_of_both = self.target_mask(tgt), seen & masks.padding_mask(src, self.pad_id)
        return self.score(self.through(self.decoder_layers, x, memory, *masks_of_both))


@encoder_decoder.mistakes_in(Model.through, costs=TOGETHER)
class EncoderDecoderThrough:
    @variants("others", ("", "encoder_layers", "decoder_layers"))
    def every_layer_reads_the_embeddings(self, blocks, x, *masks, others):
        """Each of your layers starts again from the embeddings, so only the last one counts. Each
        should read the output of the one before."""
        if blocks is getattr(self, others, None):
            return Model.through(self, blocks, x, *masks)
        return blocks[-1](x, *masks) if len(blocks) else x

    @costs(ENCODES)
    @message(ON_TOP.format(""))
    def a_norm_on_top(self, *arguments):
        return F.layer_norm(Model.through(self, *arguments), (self.d_model,))

    @costs(ENCODES)
    def a_residual_connection_around_each_layer(self, blocks, x, *others):
        """You add what entered a layer to what comes out of it. Layers have residual connections
        inside, but there are none around them."""
        for block in blocks:
            x = x + block(x, *others)
        return x

    def last_layer_left_out(self, blocks, x, *others):
        """Your words do not pass through all layers of the stack. Where does the loop over them
        begin and end?"""
        return Model.through(self, blocks[:-1], x, *others)


@encoder_decoder.mistakes_in(Model.encode, costs=ENCODES)
class EncoderDecoderEncode:
    @message(ON_TOP.format(" of the encoder"))
    def a_norm_on_top_of_the_encoder(self, src):
        return F.layer_norm(Model.encode(self, src), (self.d_model,))


@encoder_decoder.mistakes_in(Model.forward, costs=TOGETHER, of=Model)
class EncoderDecoderForward:
    def source_and_target_exchanged_in_forward(self, src, tgt):
        """`forward` uses the source as the target. In which order do its arguments come, and which
        does `decode` take first?"""
        return Model.decode(self, src, self.encode(tgt), tgt)

    @called("each decoder layer reads the encoder layer of its number")
    def layer_beside_layer(self, src, tgt):
        """In `forward`, your first decoder layer reads what the first encoder layer gives, and so
        on. All decoder layers should read the memory, which comes out of the last one."""
        y, memory = self.embed(self.tgt_embedding, tgt), self.embed(self.src_embedding, src)
        seen = self.target_mask(tgt), self.memory_mask(src)
        for encoder, decoder in zip(self.encoder_layers, self.decoder_layers, strict=True):
            memory = encoder(memory, self.source_mask(src))
            y = decoder(y, memory, *seen)
        return self.score(y)
