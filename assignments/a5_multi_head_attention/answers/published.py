"""Wrong answers to assignment 5 that public projects really gave, written anew."""

import torch

from assignments.a5_multi_head_attention.answers.bank import BANK
from assignments.a5_multi_head_attention.answers.multi_head_attention import FourMaps


@BANK.wrong(
    "merge_heads",
    told="right numbers in other places",
    published="gazelle93/Transformer-Various-Positional-Encoding#1",
)
def merge_with_heads_taken_for_sentences(x):
    """The axes of the heads and of the sentences are taken for each other before merging."""
    batch, heads, length, d_k = x.shape
    mistaken = x.reshape(heads, batch, length, d_k).permute(0, 2, 1, 3)
    return mistaken.reshape(batch, length, heads * d_k)


@BANK.wrong(
    "MultiHeadAttention",
    named="softmax over heads and keys together",
    published="facebookresearch/detr#247",
)
class SoftmaxOverHeadsAndKeysTogether(FourMaps):
    """Heads and keys are flattened into one axis, and the softmax runs over both."""

    def softmax(self, scores, mask):
        hidden = torch.zeros_like(scores, dtype=torch.bool) if mask is None else ~mask
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).transpose(1, 2)
        weights = scores.flatten(2).softmax(-1).view(scores.shape).transpose(1, 2)
        return weights.masked_fill(hidden, 0)


@BANK.wrong(
    "MultiHeadAttention",
    told=("weights of another shape", "wrong with several heads"),
    published="MarcoMeter/episodic-transformer-memory-ppo#22",
)
class OneSmallMapForAllHeads(FourMaps):
    """The raw features are split first, and every head goes through the same map."""

    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_q, self.w_k, self.w_v = (torch.nn.Linear(self.d_k, self.d_k) for _ in range(3))

    def forward(self, query, key, value, mask=None):
        q = self.w_q(self.heads(query))
        k = self.w_k(self.heads(key))
        v = self.w_v(self.heads(value))
        weights = self.softmax(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o((weights @ v).transpose(1, 2).flatten(2)), weights


@BANK.wrong(
    "MultiHeadAttention",
    named="reshape without transpose, on the way out",
    published="ajhalthor/Transformer-Neural-Network#4",
)
class MergedByAReshape(FourMaps):
    """The contexts are reshaped to the model's width without moving the heads back first."""

    def forward(self, query, key, value, mask=None):
        contexts, weights = self.contexts_and_weights(query, key, value, mask)
        return self.w_o(contexts.reshape(query.shape)), weights


@BANK.wrong(
    "MultiHeadAttention", named="NaN where nothing is visible", published="robertknight/rten#1321"
)
class NanForQueriesThatSeeNothing(FourMaps):
    """A query from which every key is hidden gets NaN."""

    def softmax(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)


@BANK.wrong(
    "MultiHeadAttention", told="some rows right", published="huggingface/transformers#10484"
)
class HiddenByTenThousand(FourMaps):
    """Hidden scores get −10 000, which very low scores of visible keys can undercut."""

    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        return scores.masked_fill(~mask, -10000.0).softmax(-1) * mask.any(-1, keepdim=True)
