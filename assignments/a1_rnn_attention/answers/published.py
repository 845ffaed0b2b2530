"""Wrong answers to assignment 1 that public projects really gave, written anew."""

import torch
import torch.nn.functional as F

from assignments.a1_rnn_attention.answers.bank import BANK
from assignments.a1_rnn_attention.answers.shared import ThreeMaps


@BANK.wrong("annotations", named="backward states not reversed", published="d2l-ai/d2l-en#2306")
def joined_with_the_backward_outputs_as_they_come(forward_states, backward_states):
    """The backward states are joined last word first, as the RNN gave them."""
    pairs = zip(forward_states.unbind(1), backward_states.unbind(1), strict=True)
    return torch.stack([torch.cat(pair, dim=-1) for pair in pairs], dim=1)


@BANK.wrong("BahdanauAttention", named="softmax over the features", published="keon/seq2seq#15")
class SoftmaxInsideAndReluOutside(ThreeMaps):
    """A softmax stands where tanh belongs, and a ReLU where the softmax belongs."""

    def scores(self, state, annotations):
        hidden = F.softmax(self.W(state)[:, None] + self.U(annotations), dim=2)
        return self.v(hidden).squeeze(2)

    def softmax(self, scores, mask):
        weights = F.relu(scores)
        return weights if mask is None else weights * mask


@BANK.wrong("BahdanauAttention", named="annotations left out", published="pytorch/tutorials#130")
class ScoresThatNeverReadTheAnnotations(ThreeMaps):
    """The weights are computed from the decoder's side alone."""

    def scores(self, state, annotations):
        score = self.v(torch.tanh(self.W(state)))
        return score.expand(-1, annotations.shape[1]) + 0 * self.U(annotations).sum(dim=-1)


@BANK.wrong("BahdanauAttention", published="gabrielmittag/NISQA#17", told="wrong with `mask` given")
class MinusInfinityAmongTheWeights(ThreeMaps):
    """Hidden words get minus infinity, but only after the softmax."""

    def softmax(self, scores, mask):
        weights = F.softmax(scores, dim=1)
        return weights if mask is None else weights.masked_fill(~mask, -torch.inf)
