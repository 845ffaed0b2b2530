"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

import torch

from assignments.a9_transformer.answers.bank import BANK
from course_utils import layers, transformer


@BANK.wrong("DecoderLayer", told="wrong after another call")
class MemoryOfTheFirstCall(layers.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        if not hasattr(self, "memory") or self.memory.shape != memory.shape:
            self.memory = memory
        return super().forward(x, self.memory, self_mask, memory_mask)


@BANK.wrong("DecoderLayer", told="wrong after another call")
class FirstMasksAlways(layers.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        if not hasattr(self, "masks"):
            self.masks = self_mask, memory_mask
        return super().forward(x, memory, *self.masks)


@BANK.wrong("DecoderLayer", told=("right in part", "wrong with a row in which nothing may be seen"))
class OneBlindHeadBlindsTheWord(layers.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, self_mask)[0]))
        attended, weights = self.cross_attn(x, memory, memory, memory_mask)
        blind = (weights == 0).all(dim=-1).any(dim=1)
        attended = torch.where(blind.unsqueeze(-1), self.cross_attn.w_o.bias, attended)
        x = self.layer_norm2(x + self.dropout(attended))
        return self.layer_norm3(x + self.dropout(self.feed_forward(x)))


@BANK.wrong("DecoderLayer")
class AHundredWordsOfMemory(layers.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        memory_mask = memory_mask if memory_mask is None else memory_mask[..., :100]
        return super().forward(x, memory[:, :100], self_mask, memory_mask)


@BANK.wrong("Transformer", told=("some rows right", "wrong after another call"))
class EncodesOnce(transformer.Transformer):
    def encode(self, src):
        memory = super().encode(src)
        if not hasattr(self, "memory") or self.memory.shape != memory.shape:
            self.memory = memory
        return self.memory


@BANK.wrong("Transformer", told="wrong after another call")
class PaddingOfTheFirstSource(transformer.Transformer):
    def decode(self, tgt, memory, src):
        if not hasattr(self, "src") or self.src.shape != src.shape:
            self.src = src
        return super().decode(tgt, memory, self.src)


@BANK.wrong("Transformer", told="rounded")
class LogitsInFloat32(transformer.Transformer):
    def decode(self, tgt, memory, src):
        logits = super().decode(tgt, memory, src)
        return logits.float().to(logits.dtype)


@BANK.wrong("Transformer", told="right in part")
class IdsBelow256(transformer.Transformer):
    def encode(self, src):
        return super().encode(src % 256)


@BANK.wrong("Transformer")
class SixLayersAtMost(transformer.Transformer):
    def __init__(self, *sizes, **keywords):
        super().__init__(*sizes, **keywords)
        self.depth = min(6, len(self.encoder_layers))

    def encode(self, src):
        layers = self.encoder_layers
        self.encoder_layers = layers[: self.depth]
        memory = super().encode(src)
        self.encoder_layers = layers
        return memory


@BANK.wrong("greedy_decode", told="too short or too long")
def decode_at_most_fifty(model, src, bos_id, eos_id, max_len):
    return transformer.greedy_decode(model, src, bos_id, eos_id, min(max_len, 50))


@BANK.wrong("greedy_decode", told="right in part")
def decode_in_eight_bits(model, src, bos_id, eos_id, max_len):
    ids = transformer.greedy_decode(model, src, bos_id, eos_id, max_len)
    return ids.to(torch.int8).long()


@BANK.wrong("DecoderLayer", told="wrong in train mode with dropout")
class OneMaskForAll(layers.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        kept = self.dropout(torch.ones_like(x))
        x = self.layer_norm1(x + kept * self.self_attn(x, x, x, self_mask)[0])
        x = self.layer_norm2(x + kept * self.cross_attn(x, memory, memory, memory_mask)[0])
        return self.layer_norm3(x + kept * self.feed_forward(x))


@BANK.wrong("Transformer", told=("some rows right", "wrong after another call"))
class SourceOfTheLastEncode(transformer.Transformer):
    def encode(self, src):
        self.src = src
        return super().encode(src)

    def decode(self, tgt, memory, src):
        return super().decode(tgt, memory, getattr(self, "src", src))


@BANK.wrong("Transformer", told="wrong after another call")
class MemoryOfTheLastEncode(transformer.Transformer):
    def encode(self, src):
        self.memory = super().encode(src)
        return self.memory

    def decode(self, tgt, memory, src):
        return super().decode(tgt, getattr(self, "memory", memory), src)
