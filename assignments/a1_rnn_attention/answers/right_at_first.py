"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

import torch

from assignments.a1_rnn_attention.answers.bank import BANK
from course_utils import attention

Attention = attention.BahdanauAttention


@BANK.wrong("annotations", told="too short or too long")
def joined_up_to_a_hundred_words(forward_states, backward_states):
    return attention.annotations(forward_states[:, :100], backward_states[:, -100:])


@BANK.wrong("BahdanauAttention", told="wrong after another call")
class KeysOfTheFirstCall(Attention):
    def forward(self, state, annotations, mask=None):
        if not hasattr(self, "keys") or self.keys.shape[:2] != annotations.shape[:2]:
            self.keys = self.U(annotations)
        return self.attend(state, annotations, self.keys, mask)


@BANK.wrong("BahdanauAttention", told="wrong after another call")
class FirstMaskAlways(Attention):
    def forward(self, state, annotations, mask=None):
        if not hasattr(self, "mask"):
            self.mask = mask
        return super().forward(state, annotations, self.mask)


@BANK.wrong(
    "BahdanauAttention", told=("inputs changed", "wrong with a row in which nothing may be seen")
)
class OpensTheMask(Attention):
    def forward(self, state, annotations, mask=None):
        if mask is not None:
            seen = mask.clone()
            mask[~mask.any(dim=-1)] = True
            mask = seen
        return super().forward(state, annotations, mask)


@BANK.wrong("BahdanauAttention")
class AHundredWords(Attention):
    def forward(self, state, annotations, mask=None):
        mask = mask if mask is None else mask[:, :100]
        return super().forward(state, annotations[:, :100], mask)


@BANK.wrong("BahdanauAttention")
class ScoresUpToFive(Attention):
    def forward(self, state, annotations, mask=None):
        hidden = torch.tanh(self.W(state).unsqueeze(1) + self.U(annotations))
        scores = self.v(hidden).squeeze(-1).clamp(-5.0, 5.0)
        weights = attention.masked_softmax(scores, mask)
        return torch.einsum("bs,bse->be", weights, annotations), weights


@BANK.wrong("BahdanauAttention", named="mask ignored")
class NoMaskForOneSentence(Attention):
    def forward(self, state, annotations, mask=None):
        return super().forward(state, annotations, mask if len(state) > 1 else None)


@BANK.wrong(
    "BahdanauAttention", told=("the context right, the weights wrong", "wrong in train mode")
)
class SoftmaxTwiceInTrainMode(Attention):
    def forward(self, state, annotations, mask=None):
        context, weights = super().forward(state, annotations, mask)
        return context, weights.softmax(dim=-1) if self.training else weights
