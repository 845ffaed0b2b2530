"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

import torch

from assignments.a5_multi_head_attention.answers.bank import BANK
from course_utils import attention

Attention = attention.MultiHeadAttention


@BANK.wrong("split_heads", told="too short or too long")
def split_up_to_a_hundred_words(x, num_heads):
    return attention.split_heads(x[:, :100], num_heads)


@BANK.wrong("merge_heads", told="too short or too long")
def merge_eight_heads(x):
    return attention.merge_heads(x[:, :8])


@BANK.wrong(
    "MultiHeadAttention", told=("right in part", "wrong with a row in which nothing may be seen")
)
class OneBlindHeadBlindsTheWord(Attention):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        blind = (weights == 0).all(dim=-1).any(dim=1)
        return torch.where(blind.unsqueeze(-1), self.w_o.bias, output), weights


@BANK.wrong(
    "MultiHeadAttention", told=("inputs changed", "wrong with a row in which nothing may be seen")
)
class OpensTheMask(Attention):
    def forward(self, query, key, value, mask=None):
        if mask is not None:
            seen = mask.clone()
            mask[~mask.any(dim=-1)] = True
            mask = seen
        return super().forward(query, key, value, mask)


@BANK.wrong(
    "MultiHeadAttention",
    told=("hidden ones have weight, or visible ones none", "wrong after another call"),
)
class FirstMaskAlways(Attention):
    def forward(self, query, key, value, mask=None):
        if not hasattr(self, "mask"):
            self.mask = mask
        return super().forward(query, key, value, self.mask)


@BANK.wrong("MultiHeadAttention", told="wrong after another call")
class MasksRememberedByShape(Attention):
    masks = None

    def forward(self, query, key, value, mask=None):
        self.masks = self.masks or {}
        if mask is not None:
            mask = self.masks.setdefault(tuple(mask.shape), mask)
        return super().forward(query, key, value, mask)


@BANK.wrong("MultiHeadAttention", told="wrong after another call")
class KeysOfTheFirstCall(Attention):
    def forward(self, query, key, value, mask=None):
        if not hasattr(self, "key") or self.key.shape != key.shape:
            self.key = key
        return super().forward(query, self.key, value, mask)


@BANK.wrong("MultiHeadAttention", told=("too short or too long", "wrong after another call"))
class LengthOfTheFirstCall(Attention):
    def forward(self, query, key, value, mask=None):
        if not hasattr(self, "length"):
            self.length = key.shape[1]
        key, value = key[:, : self.length], value[:, : self.length]
        mask = mask if mask is None else mask[..., : self.length]
        return super().forward(query, key, value, mask)


@BANK.wrong("MultiHeadAttention")
class AHundredKeys(Attention):
    def forward(self, query, key, value, mask=None):
        mask = mask if mask is None else mask[..., :100]
        return super().forward(query, key[:, :100], value[:, :100], mask)


@BANK.wrong("split_heads", told="right numbers in other places")
def split_along_the_words_where_x_is_square(x, num_heads):
    axis = 1 if x.shape[1] == x.shape[2] else 2
    return torch.stack(x.chunk(num_heads, dim=axis), dim=1)


@BANK.wrong("MultiHeadAttention", told=("wrong gradient", "wrong about gradients"))
class NanReplacedWhereAHeadIsBlind(Attention):
    def attend(self, query, key_heads, value_heads, mask=None):
        query_heads = attention.split_heads(self.w_q(query), self.num_heads)
        scores = query_heads @ key_heads.mT / query_heads.shape[-1] ** 0.5
        if mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1).nan_to_num()
        return self.w_o(attention.merge_heads(weights @ value_heads)), weights
