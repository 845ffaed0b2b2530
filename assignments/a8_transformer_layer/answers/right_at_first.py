"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

import torch

from assignments.a8_transformer_layer.answers.bank import BANK
from course_utils import layers


@BANK.wrong("PositionwiseFeedForward", told="wrong after another call")
class HiddenOfTheFirstCall(layers.PositionwiseFeedForward):
    def forward(self, x):
        hidden = self.w_1(x).relu()
        if not self.training:
            if not hasattr(self, "hidden") or self.hidden.shape != hidden.shape:
                self.hidden = hidden
            hidden = self.hidden
        return self.w_2(self.dropout(hidden))


@BANK.wrong("PositionwiseFeedForward", told="wrong in train mode with dropout")
class HalfOfTheWordsDropLikeTheOthers(layers.PositionwiseFeedForward):
    def forward(self, x):
        hidden = self.w_1(x).relu()
        mask, half = self.dropout(torch.ones_like(hidden)), x.shape[1] // 2
        mask = torch.cat([mask[:, :half], mask[:, :half], mask[:, 2 * half :]], dim=1)
        return self.w_2(hidden * mask)


@BANK.wrong("PositionwiseFeedForward", told="too short or too long")
class AHundredWords(layers.PositionwiseFeedForward):
    def forward(self, x):
        return super().forward(x[:, :100])


@BANK.wrong("TransformerLayer", told="wrong after another call")
class FirstMaskAlways(layers.TransformerLayer):
    def forward(self, x, mask=None):
        if not hasattr(self, "mask"):
            self.mask = mask
        return super().forward(x, self.mask)


@BANK.wrong("TransformerLayer", told="wrong after another call")
class LastMaskStays(layers.TransformerLayer):
    mask = None

    def forward(self, x, mask=None):
        if mask is not None:
            self.mask = mask
        elif self.mask is not None and self.mask.shape[-1] == x.shape[1]:
            mask = self.mask
        return super().forward(x, mask)


class Steps(layers.TransformerLayer):
    def forward(self, x, mask=None):
        x = self.layer_norm1(x + self.dropout(self.attend(x, mask)))
        return self.layer_norm2(x + self.dropout(self.feed_forward(x)))


@BANK.wrong("TransformerLayer", told="wrong after another call")
class KeysOfTheFirstCall(Steps):
    def attend(self, x, mask):
        if not hasattr(self, "words") or self.words.shape != x.shape:
            self.words = x
        return self.self_attn(x, self.words, self.words, mask)[0]


@BANK.wrong(
    "TransformerLayer", told=("right in part", "wrong with a row in which nothing may be seen")
)
class OneBlindHeadBlindsTheWord(Steps):
    def attend(self, x, mask):
        attended, weights = self.self_attn(x, x, x, mask)
        blind = (weights == 0).all(dim=-1).any(dim=1)
        return torch.where(blind.unsqueeze(-1), self.self_attn.w_o.bias, attended)


@BANK.wrong("TransformerLayer", told="wrong in train mode with dropout")
class OneMaskForBoth(layers.TransformerLayer):
    def forward(self, x, mask=None):
        kept = self.dropout(torch.ones_like(x))
        x = self.layer_norm1(x + kept * self.self_attn(x, x, x, mask)[0])
        return self.layer_norm2(x + kept * self.feed_forward(x))


@BANK.wrong("TransformerLayer", told=("wrong gradient", "wrong about gradients"))
class ResidualDetached(layers.TransformerLayer):
    def forward(self, x, mask=None):
        x = self.layer_norm1(x.detach() + self.dropout(self.self_attn(x, x, x, mask)[0]))
        return self.layer_norm2(x + self.dropout(self.feed_forward(x)))


@BANK.right("TransformerLayer")
class InALoopOverSublayers(layers.TransformerLayer):
    def forward(self, x, mask=None):
        for norm, change in (
            (self.layer_norm1, lambda x: self.self_attn(x, x, x, mask)[0]),
            (self.layer_norm2, self.feed_forward),
        ):
            x = norm(x + self.dropout(change(x)))
        return x
