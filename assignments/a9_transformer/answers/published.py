"""Wrong answers to assignment 9 that public projects really gave, rewritten."""

import math

import torch

from assignments.a9_transformer.answers.bank import BANK
from assignments.a9_transformer.answers.decoder_layer import LayerOfThreeDropouts
from assignments.a9_transformer.answers.transformer import ModelWithACausalMaskAlone
from course_utils import masks
from course_utils.evaluation import evaluating


@BANK.wrong(
    "DecoderLayer",
    named="cross-attention asks before residual and norm",
    published="ml-explore/mlx#3382",
)
class LayerThatAsksBeforeTheNorm(LayerOfThreeDropouts):
    """Cross-attention's query is self-attention's raw output, before residual and norm."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        y = self.dropout1(self.self_attn(x, x, x, self_mask)[0])
        x = self.layer_norm1(x + y)
        y = self.dropout2(self.cross_attn(y, memory, memory, memory_mask)[0])
        x = self.layer_norm2(x + y)
        return self.layer_norm3(x + self.dropout3(self.feed_forward(x)))


@BANK.wrong("DecoderLayer", named="norms in another order", published="ml-explore/mlx#1636")
class LayerWithTheFirstNormTwice(LayerOfThreeDropouts):
    """The norm after cross-attention is the first one again."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.dropout1(self.self_attn(x, x, x, self_mask)[0]))
        crossed = self.dropout2(self.cross_attn(x, memory, memory, memory_mask)[0])
        x = self.layer_norm1(x + crossed)
        return self.layer_norm3(x + self.dropout3(self.feed_forward(x)))


@BANK.wrong(
    "DecoderLayer",
    named="no residual connection around cross-attention",
    published="lucidrains/audiolm-pytorch#150",
)
class LayerWithoutASkipAroundTheMemory(LayerOfThreeDropouts):
    """Cross-attention's output replaces x, and nothing is added."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.dropout1(self.self_attn(x, x, x, self_mask)[0]))
        x = self.layer_norm2(self.dropout2(self.cross_attn(x, memory, memory, memory_mask)[0]))
        return self.layer_norm3(x + self.dropout3(self.feed_forward(x)))


@BANK.wrong("DecoderLayer", told="stops with RuntimeError", published="georgepar/slp#26")
class LayerThatAddsTheMemory(LayerOfThreeDropouts):
    """Around cross-attention the memory is added, not what entered the sublayer."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.dropout1(self.self_attn(x, x, x, self_mask)[0]))
        crossed = self.dropout2(self.cross_attn(x, memory, memory, memory_mask)[0])
        x = self.layer_norm2(memory + crossed)
        return self.layer_norm3(x + self.dropout3(self.feed_forward(x)))


@BANK.wrong(
    "Transformer", named="every layer reads the embeddings", published="Atcold/NYU-DLSP20#270"
)
class ModelOfLayersThatAllReadTheEmbeddings(ModelWithACausalMaskAlone):
    """Each encoder layer gets the embeddings, so only the last one counts."""

    def encode(self, src):
        x = embedded = self.positional_encoding(math.sqrt(self.d_model) * self.src_embedding(src))
        for block in self.encoder_layers:
            x = block(embedded, (src != self.pad_id)[:, None, None])
        return x


@BANK.wrong(
    "Transformer",
    told="weights with other names",
    published="LukasHedegaard/continual-inference#70",
)
class ModelWithALayerLessFromThreeOn(ModelWithACausalMaskAlone):
    """With three layers or more, the encoder has one too few."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        if len(self.encoder_layers) >= 3:
            self.encoder_layers = self.encoder_layers[:-1]


@BANK.wrong("Transformer", named="the future leaks", published="facebookresearch/xformers#103")
class ModelThatIsCausalOnlyBesidePadding(ModelWithACausalMaskAlone):
    """The causal mask is joined to the padding mask, and skipped where there is none."""

    def decode(self, tgt, memory, src):
        x = self.positional_encoding(math.sqrt(self.d_model) * self.tgt_embedding(tgt))
        mask = None
        if (tgt == self.pad_id).any():
            mask = masks.decoder_mask(tgt, self.pad_id)
        for block in self.decoder_layers:
            x = block(x, memory, mask, (src != self.pad_id)[:, None, None])
        return self.generator(x)


@BANK.wrong("Transformer", named="memory mask missing", published="keras-team/keras-io#1046")
class ModelWithTheTargetsPaddingOverTheMemory(ModelWithACausalMaskAlone):
    """Cross-attention gets the target's mask, spread over the queries."""

    def decode(self, tgt, memory, src):
        x = self.positional_encoding(math.sqrt(self.d_model) * self.tgt_embedding(tgt))
        real = (tgt != self.pad_id)[:, None, :, None]
        for block in self.decoder_layers:
            x = block(x, memory, masks.causal_mask(tgt.shape[1]), real)
        return self.generator(x)


@BANK.wrong(
    "greedy_decode", named="filled up to max_len", published="mistralai/mistral-inference#214"
)
def decoded_with_ends_that_cancel_out(model, src, bos_id, eos_id, max_len):
    """A row that has ended is resumed by a second EOS, because there is XOR where OR is meant."""
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        ended = torch.zeros(len(src), dtype=torch.bool)
        while ids.shape[1] < max_len and not ended.all():
            words = model.decode(ids, memory, src)[:, -1].argmax(-1)
            ended ^= words == eos_id
            ids = torch.cat([ids, words[:, None]], dim=1)
    after_the_end = (ids == eos_id).cumsum(dim=1) - (ids == eos_id).long() > 0
    return ids.masked_fill(after_the_end, model.pad_id)


@BANK.wrong("greedy_decode", named="EOS ignored", published="joeynmt/joeynmt#78")
def decoded_without_a_look_at_the_end(model, src, bos_id, eos_id, max_len):
    """EOS stops nothing, so each row is continued up to the limit."""
    with evaluating(model):
        memory, ids = model.encode(src), torch.full((len(src), 1), bos_id)
        for _ in range(max_len - 1):
            words = model.decode(ids, memory, src)[:, -1].argmax(-1)
            ids = torch.cat([ids, words[:, None]], dim=1)
    return ids
