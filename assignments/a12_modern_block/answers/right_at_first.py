"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

import torch
from torch.nn import functional as F

from assignments.a12_modern_block.answers.bank import BANK
from course_utils import attention, modern


@BANK.wrong("RMSNorm", told=("wrong by a constant factor", "wrong in train mode"))
class LargerInTrainMode(modern.RMSNorm):
    def forward(self, x):
        return super().forward(x) * (1.1 if self.training else 1.0)


@BANK.wrong("RMSNorm", told="right in part")
class EightSentencesAtMost(modern.RMSNorm):
    def forward(self, x):
        return super().forward(of_eight(x))


@BANK.wrong("SwiGLU", told="right in part")
class NetworkForEightSentences(modern.SwiGLU):
    def forward(self, x):
        return super().forward(of_eight(x))


@BANK.wrong("apply_rotary", told="right in part")
def rotary_for_eight_sentences(x, positions, base=10000.0, factor=1.0):
    return modern.apply_rotary(of_eight(x), positions, base, factor)


def of_eight(x):
    """Eight sentences, and the first one in the place of all others."""
    if x.dim() < 3 or len(x) <= 8:
        return x
    return torch.cat([x[:8], x[:1].expand(len(x) - 8, *x.shape[1:])])


@BANK.wrong("ModernBlock", told="wrong after another call")
class ResultsByShape(modern.ModernBlock):
    def forward(self, x, mask=None, positions=None):
        shapes = [None if item is None else item.shape for item in (x, mask, positions)]
        if not hasattr(self, "results"):
            self.results = {}
        if repr(shapes) not in self.results:
            self.results[repr(shapes)] = super().forward(x, mask, positions)
        return self.results[repr(shapes)]


@BANK.wrong("ModernBlock", told=("wrong gradient", "wrong about gradients"))
class NanReplacedWhereAHeadIsBlind(modern.ModernBlock):
    def attend(self, normed, mask=None, positions=None):
        if positions is None:
            positions = torch.arange(normed.shape[1])
        query, key, value = (
            attention.split_heads(weight(normed), self.num_heads)
            for weight in (self.w_q, self.w_k, self.w_v)
        )
        query, key = (modern.apply_rotary(part, positions, self.base) for part in (query, key))
        scores = query @ key.mT / query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1).nan_to_num()
        return weights @ value, weights


@BANK.right("ModernBlock")
class OneProjectionForAllThree(modern.ModernBlock):
    def forward(self, x, mask=None, positions=None):
        B, T, D = x.shape
        weights = torch.cat([self.w_q.weight, self.w_k.weight, self.w_v.weight])
        heads = F.linear(self.norm1(x), weights).view(B, T, 3, self.num_heads, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        positions = torch.arange(T) if positions is None else positions
        context, _ = attention.scaled_dot_product_attention(
            modern.apply_rotary(query, positions, self.base),
            modern.apply_rotary(key, positions, self.base),
            value,
            mask,
        )
        x = x + self.w_o(context.transpose(1, 2).reshape(B, T, D))
        return x + self.feed_forward(self.norm2(x))
