"""Answers that are right at first: the first time, for small sizes, or without a row that shows nothing."""

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
