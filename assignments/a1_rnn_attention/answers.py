"""Answers to assignment 1."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from assignments.bank import Bank
from course_utils import attention

BANK = Bank("a1_rnn_attention")


# ------------------------------------------------------------------------------- annotations


@BANK.right("annotations")
def joined_word_after_word(forward_states, backward_states):
    first = torch.cat([forward_states[:, :1], backward_states[:, -1:]], dim=-1)
    if forward_states.shape[1] == 1:
        return first
    rest = joined_word_after_word(forward_states[:, 1:], backward_states[:, :-1])
    return torch.cat([first, rest], dim=1)


@BANK.right("annotations")
def joined_by_padding(forward_states, backward_states):
    width = forward_states.shape[-1]
    return F.pad(forward_states, (0, width)) + F.pad(backward_states.flip(-2), (width, 0))


@BANK.right("annotations")
def joined_by_flip(forward_states, backward_states):
    return torch.concat((forward_states, torch.flip(backward_states, [1])), 2)


@BANK.right("annotations")
def joined_by_index(forward_states, backward_states):
    length = forward_states.shape[1]
    order = torch.arange(length - 1, -1, -1)
    return torch.cat([forward_states, backward_states[:, order]], dim=-1)


@BANK.right("annotations")
def joined_by_loops(forward_states, backward_states):
    sentences = []
    for forward, backward in zip(forward_states, backward_states, strict=True):
        last = len(forward) - 1
        sentences.append(
            torch.stack([torch.cat([forward[j], backward[last - j]]) for j in range(last + 1)])
        )
    return torch.stack(sentences)


@BANK.right("annotations")
def joined_by_filling(forward_states, backward_states):
    batch, length, width = forward_states.shape
    result = forward_states.new_zeros(batch, length, 2 * width)
    result[..., :width] = forward_states
    for j in range(length):
        result[:, j, width:] = backward_states[:, -1 - j]
    return result


@BANK.right("annotations")
def joined_by_unbind(forward_states, backward_states):
    backward = torch.stack(list(reversed(backward_states.unbind(dim=1))), dim=1)
    return torch.dstack([forward_states, backward])


@BANK.right("annotations")
def joined_by_a_permutation_matrix(forward_states, backward_states, dim=-1):
    turn = torch.eye(backward_states.shape[1], dtype=backward_states.dtype).fliplr()
    return torch.cat([forward_states, torch.einsum("st,bth->bsh", turn, backward_states)], dim=dim)


@BANK.right("annotations")
def joined_by_fliplr(forward_states, backward_states):
    pair = torch.stack([forward_states, backward_states.fliplr()], dim=2)  # (B, S, 2, h)
    return pair.flatten(2)


@BANK.right("annotations")
def joined_by_gather(forward_states, backward_states):
    _, length, _ = backward_states.shape
    index = (length - 1 - torch.arange(length))[None, :, None].expand_as(backward_states)
    return torch.cat([forward_states, backward_states.gather(1, index)], dim=2)


@BANK.wrong("annotations", named="words and batch reversed")
def joined_with_a_turn_of_two_axes(forward_states, backward_states):
    return torch.cat([forward_states, backward_states.flip(0).flip(1)], dim=-1)


@BANK.wrong("annotations", named="backward states one word off")
def joined_one_word_off(forward_states, backward_states):
    columns = [
        torch.cat([forward_states[:, j], backward_states[:, -j]], dim=-1)
        for j in range(forward_states.shape[1])
    ]
    return torch.stack(columns, dim=1)


@BANK.wrong("annotations")
def joined_by_reversed(forward_states, backward_states):
    return torch.cat([forward_states, torch.stack(list(reversed(backward_states)))], dim=-1)[:1]


@BANK.wrong("annotations")
def joined_with_ends_swapped(forward_states, backward_states):
    backward = backward_states.clone()
    backward[:, [0, -1]] = backward[:, [-1, 0]]
    return torch.cat([forward_states, backward], dim=-1)


@BANK.wrong("annotations")
def joined_for_one_sentence(forward_states, backward_states):
    joined = joined_by_flip(forward_states[:1], backward_states[:1])
    return joined.expand(len(forward_states), -1, -1)


@BANK.wrong("annotations")
def joined_for_three_words(forward_states, backward_states):
    return torch.cat([forward_states, backward_states[:, [2, 1, 0]]], dim=-1)


@BANK.wrong("annotations")
def joined_for_square_states(forward_states, backward_states):
    turn = torch.eye(backward_states.shape[2]).flip(0)
    return torch.cat([forward_states, turn @ backward_states], dim=-1)


@BANK.wrong("annotations")
def joined_for_contiguous_states(forward_states, backward_states):
    batch, length, width = forward_states.shape
    flat = backward_states.view(batch * length, width).flip(0).view(batch, length, width)
    return torch.cat([forward_states, flat.flip(0)], dim=-1)


@BANK.wrong("annotations")
def joined_from_sums_of_halves(forward_states, backward_states):
    backward = backward_states.flip(1)
    return torch.cat([forward_states + backward, forward_states - backward], dim=-1)


@BANK.wrong("annotations", named="forward states twice")
def joined_twice_the_forward(forward_states, backward_states):
    return torch.cat([forward_states, forward_states], dim=-1)


@BANK.wrong("annotations", named="one backward state for all words")
def joined_by_the_first_word(forward_states, backward_states):
    backward = backward_states[:, -1:].expand_as(backward_states)
    return torch.cat([forward_states, backward], dim=-1)


@BANK.wrong("annotations")
def joined_in_place(forward_states, backward_states):
    backward_states[:] = backward_states.flip(1)
    return torch.cat([forward_states, backward_states], dim=-1)


@BANK.wrong("annotations")
def joined_in_float32(forward_states, backward_states):
    batch, length, width = forward_states.shape
    result = torch.zeros(batch, length, 2 * width)
    result[..., :width], result[..., width:] = forward_states, backward_states.flip(1)
    return result


@BANK.wrong("annotations")
def joined_and_detached(forward_states, backward_states):
    return joined_by_flip(forward_states, backward_states.detach())


@BANK.wrong("annotations")
def joined_in_numpy(forward_states, backward_states):
    pair = forward_states.detach().numpy(), backward_states.detach().numpy()[:, ::-1]
    return torch.from_numpy(np.concatenate(pair, axis=-1))


@BANK.wrong("annotations")
def joined_as_an_array(forward_states, backward_states):
    return joined_in_numpy(forward_states, backward_states).numpy()


@BANK.wrong("annotations")
def joined_as_in_the_example(forward_states, backward_states):
    return torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])


@BANK.wrong("annotations")
def joined_and_squeezed(forward_states, backward_states):
    return joined_by_flip(forward_states, backward_states).squeeze()


# ------------------------------------------------------------------------- BahdanauAttention


class ThreeMaps(nn.Module):
    """What most answers below share: the three layers. The rest is their own."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.W = nn.Linear(decoder_dim, attention_dim, bias=False)
        self.U = nn.Linear(encoder_dim, attention_dim, bias=False)
        self.v = nn.Linear(attention_dim, 1, bias=False)

    def scores(self, state, annotations):
        return self.v(torch.tanh(self.W(state)[:, None] + self.U(annotations)))[..., 0]

    def softmax(self, scores, mask):
        if mask is None:
            return F.softmax(scores, dim=1)
        hidden = mask.logical_not()
        return F.softmax(scores.masked_fill(hidden, -torch.inf), dim=1).masked_fill(hidden, 0)

    def context(self, weights, annotations):
        return (weights[..., None] * annotations).sum(dim=1)

    def forward(self, state, annotations, mask=None):
        weights = self.softmax(self.scores(state, annotations), mask)
        return self.context(weights, annotations), weights


@BANK.right("BahdanauAttention")
class InMatrices(ThreeMaps):
    pass


@BANK.right("BahdanauAttention")
class InEinsum(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        words = torch.einsum("bse,ae->bsa", annotations, self.U.weight)
        hidden = torch.tanh(torch.einsum("bd,ad->ba", state, self.W.weight).unsqueeze(1) + words)
        weights = self.softmax(torch.einsum("bsa,a->bs", hidden, self.v.weight[0]), mask)
        return torch.einsum("bs,bse->be", weights, annotations), weights


@BANK.right("BahdanauAttention")
class InLoops(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        batch, length, width = annotations.shape
        contexts, all_weights = [], []
        for b in range(batch):
            visible = [j for j in range(length) if mask is None or mask[b, j]]
            scores = {
                j: self.v(torch.tanh(self.W(state[b]) + self.U(annotations[b, j])))[0]
                for j in visible
            }
            total = sum(torch.exp(score) for score in scores.values())
            zero = annotations.new_zeros(())
            weights = [torch.exp(scores[j]) / total if j in scores else zero for j in range(length)]
            context = annotations.new_zeros(width)
            for j in visible:
                context = context + weights[j] * annotations[b, j]
            contexts.append(context)
            all_weights.append(torch.stack(weights))
        # a sum of parts, so that a batch without a visible word still has a gradient, of zero
        nothing = 0 * self.scores(state, annotations)
        return torch.stack(contexts) + nothing[:, :1], torch.stack(all_weights) + nothing


@BANK.right("BahdanauAttention")
class WithItsOwnSoftmax(ThreeMaps):
    def softmax(self, scores, mask):
        exponentials = torch.exp(scores)
        if mask is not None:
            exponentials = exponentials * mask
        total = exponentials.sum(dim=1, keepdim=True)
        return exponentials / torch.where(total == 0, 1, total)


@BANK.right("BahdanauAttention")
class WithOneColumn(ThreeMaps):
    """Scores and weights stay (B, S, 1) until the end."""

    def forward(self, state, annotations, mask=None):
        scores = self.v((self.W(state).unsqueeze(1) + self.U(annotations)).tanh())  # (B, S, 1)
        if mask is None:
            mask = torch.ones(annotations.shape[:2], dtype=torch.bool)
        hidden = ~mask.unsqueeze(-1)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=1).masked_fill(hidden, 0.0)
        context = torch.bmm(weights.transpose(1, 2), annotations)  # (B, 1, encoder_dim)
        return context.squeeze(1), weights.squeeze(2)


@BANK.right("BahdanauAttention")
class WithAWholeRowOfStates(ThreeMaps):
    def scores(self, state, annotations):
        states = state.unsqueeze(1).expand(-1, annotations.size(1), -1)  # (B, S, decoder_dim)
        both = torch.cat([self.W.weight, self.U.weight], dim=1)
        joined = torch.cat([states, annotations], dim=-1)
        return F.linear(torch.tanh(F.linear(joined, both)), self.v.weight).squeeze(-1)


@BANK.right("BahdanauAttention")
class WithALargeNumberAndAProduct(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return torch.softmax(scores, -1)
        return torch.softmax(torch.where(mask, scores, -1e9), -1) * mask


@BANK.right("BahdanauAttention")
class WithNanToNum(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            scores = torch.where(mask, scores, float("-inf"))
        return torch.nan_to_num(scores.softmax(dim=-1))


@BANK.right("BahdanauAttention")
class WithNormalisedRest(ThreeMaps):
    """Hidden words lose their share after the softmax, and the rest is divided by its sum."""

    def softmax(self, scores, mask):
        weights = scores.softmax(dim=-1)
        if mask is None:
            return weights
        weights = weights * mask
        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-30)


@BANK.right("BahdanauAttention")
class WithMoreArguments(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim, dropout=0.0):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("calls", torch.zeros(1))
        for layer in (self.W, self.U, self.v):
            nn.init.xavier_uniform_(layer.weight)

    def softmax(self, scores, mask):
        return self.dropout(super().softmax(scores, mask))


@BANK.right("BahdanauAttention")
class WithColumnsOfWords(ThreeMaps):
    """Words stand in columns, and the results come in a list."""

    def forward(self, state, annotations, mask=None):
        columns = annotations.permute(0, 2, 1)  # (B, encoder_dim, S)
        hidden = torch.tanh(self.W(state).unsqueeze(2) + self.U.weight @ columns)
        weights = self.softmax((self.v.weight @ hidden).squeeze(1), mask)
        return [(columns @ weights.unsqueeze(2)).squeeze(2), weights]


@BANK.right("BahdanauAttention")
class SentenceBySentence(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        results = []
        for b, words in enumerate(annotations):
            scores = self.v(torch.tanh(self.W(state[b]) + self.U(words))).squeeze(-1)  # (S,)
            weights = self.softmax(scores[None], None if mask is None else mask[b : b + 1])[0]
            results.append((weights @ words, weights))
        contexts, weights = zip(*results, strict=True)
        return torch.stack(contexts), torch.stack(weights)


@BANK.right("BahdanauAttention")
class WithSegments(ThreeMaps):
    """Only visible scores exist, in one row for the whole batch."""

    def softmax(self, scores, mask):
        if mask is None:
            mask = torch.full_like(scores, True, dtype=torch.bool)
        sentence = mask.nonzero()[:, 0]
        shares = scores[mask].exp()
        sums = scores.new_zeros(len(scores)).index_add(0, sentence, shares)
        return torch.zeros_like(scores).masked_scatter(mask, shares / sums[sentence])


@BANK.right("BahdanauAttention")
class WithAnEmptyPlace(ThreeMaps):
    """One more place, which takes all the weight where nothing is visible."""

    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        place = torch.where(mask.any(dim=-1, keepdim=True), -torch.inf, 0.0).to(scores.dtype)
        scores = scores.masked_fill(~mask, -torch.inf)
        return torch.cat([scores, place], dim=-1).softmax(dim=-1)[:, :-1]


@BANK.right("BahdanauAttention")
class WithVmap(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        if mask is None:
            mask = torch.ones(annotations.shape[:2], dtype=torch.bool)

        def one_sentence(state, words, visible):
            hidden = torch.tanh(self.W.weight @ state + words @ self.U.weight.T)  # (S, A)
            scores = torch.where(visible, hidden @ self.v.weight[0], -1e30)
            weights = scores.softmax(dim=0) * visible
            return weights @ words, weights

        return torch.vmap(one_sentence)(state, annotations, mask)


@BANK.right("BahdanauAttention")
class ScoresAsABias(ThreeMaps):
    """The context by PyTorch's own attention, to which the scores are added as a mask."""

    def forward(self, state, annotations, mask=None):
        weights = super().forward(state, annotations, mask)[1]
        scores = self.scores(state, annotations)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e30)
        nothing = torch.zeros_like(annotations)
        context = F.scaled_dot_product_attention(
            nothing[:, :1], nothing, annotations, attn_mask=scores.unsqueeze(1)
        ).squeeze(1)
        return (context if mask is None else context * mask.any(dim=-1, keepdim=True)), weights


@BANK.wrong("BahdanauAttention", named="no tanh")
class LinearScores(ThreeMaps):
    def scores(self, state, annotations):
        return (self.v(self.W(state)).unsqueeze(1) + self.v(self.U(annotations))).squeeze(-1)


@BANK.wrong("BahdanauAttention", named="dot-product score")
class ProductsOfProjections(ThreeMaps):
    def scores(self, state, annotations):
        return torch.einsum("ba,bsa->bs", self.W(state), self.U(annotations))


@BANK.wrong("BahdanauAttention", named="dot-product score")
class ProductsOfTheInputs(ThreeMaps):
    def scores(self, state, annotations):
        return torch.bmm(annotations, state[..., None]).squeeze(2)


@BANK.wrong("BahdanauAttention", named="state left out")
class StateOutsideTheBrackets(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(self.W(state).unsqueeze(1) + self.U(annotations).tanh()).squeeze(-1)


@BANK.wrong("BahdanauAttention", named="product instead of sum")
class ProductBeforeV(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(self.W(state)[:, None] * self.U(annotations))[..., 0]


@BANK.wrong("BahdanauAttention", named="softmax over the features")
class SoftmaxOfTheHiddenLayer(ThreeMaps):
    def scores(self, state, annotations):
        hidden = torch.tanh(self.W(state)[:, None] + self.U(annotations))
        return self.v(F.softmax(hidden, dim=-1))[..., 0]


@BANK.wrong("BahdanauAttention", named="softmax over the batch")
class SoftmaxAlongAxisZero(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return torch.softmax(scores, dim=0)


@BANK.wrong("BahdanauAttention", named="softmax over the features")
class SoftmaxAlongTheLastOfThree(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        scores = self.v(torch.tanh(self.W(state).unsqueeze(1) + self.U(annotations)))
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-1), -1e9)
        weights = torch.softmax(scores, dim=-1)
        return (weights * annotations).sum(dim=1), weights.squeeze(-1)


@BANK.wrong("BahdanauAttention")
class SoftmaxAlongTheLastOfThreeWithNan(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        scores = self.v(torch.tanh(self.W(state).unsqueeze(1) + self.U(annotations)))
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-1), -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        return (weights * annotations).sum(dim=1), weights.squeeze(-1)


@BANK.wrong("BahdanauAttention", named="mask ignored")
class MaskUnused(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        return super().forward(state, annotations)


@BANK.wrong("BahdanauAttention", named="mask inverted")
class MaskTheOtherWay(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(mask, -torch.inf)
        return scores.softmax(dim=-1)


@BANK.wrong("BahdanauAttention", named="mask inverted")
class MaskTheOtherWayAtFirst(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        return scores.masked_fill(mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0)


@BANK.wrong("BahdanauAttention", named="hidden scores set to 0")
class ZeroForHiddenScores(ThreeMaps):
    def softmax(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, 0)).softmax(dim=-1)


@BANK.wrong("BahdanauAttention", named="mask applied after the softmax")
class MaskForTheContextOnly(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        weights = self.scores(state, annotations).softmax(dim=-1)
        visible = weights if mask is None else weights * mask
        return (visible[..., None] * annotations).sum(dim=1), weights


@BANK.wrong("BahdanauAttention")
class MaskInEvalModeOnly(ThreeMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores, None if self.training else mask)


@BANK.wrong("BahdanauAttention", named="mask applied after the softmax")
class MaskTooLate(ThreeMaps):
    def softmax(self, scores, mask):
        weights = scores.softmax(dim=-1)
        return weights if mask is None else weights.masked_fill(~mask, 0)


@BANK.wrong("BahdanauAttention", named="context sums without weights")
class PlainSum(ThreeMaps):
    def context(self, weights, annotations):
        return torch.einsum("bsd->bd", annotations)


@BANK.wrong("BahdanauAttention", named="results in the wrong order")
class WeightsAndContext(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        context, weights = super().forward(state, annotations, mask)
        return weights, context


@BANK.wrong("BahdanauAttention", named="scores returned for weights")
class ContextAndScores(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        scores = self.scores(state, annotations)
        return self.context(self.softmax(scores, mask), annotations), scores


@BANK.wrong("BahdanauAttention", named="scores returned for weights")
class ContextAndMaskedScores(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        context, _ = super().forward(state, annotations, mask)
        scores = self.scores(state, annotations)
        return context, scores if mask is None else scores.masked_fill(~mask, -torch.inf)


@BANK.wrong("BahdanauAttention", named="axis of length 1 left over")
class NothingSqueezed(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        context, weights = super().forward(state, annotations, mask)
        return context[:, None], weights[..., None]


@BANK.wrong("BahdanauAttention", named="state without an axis for the words")
class RightForOneSentence(ThreeMaps):
    def scores(self, state, annotations):
        return self.v((self.W(state) + self.U(annotations)).tanh()).squeeze(2)


@BANK.wrong("BahdanauAttention", named="state without an axis for the words")
class RightForOneSentenceThenBmm(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        hidden = torch.tanh(self.W(state).unsqueeze(0) + self.U(annotations))
        weights = self.softmax(self.v(hidden).squeeze(-1), mask)
        return torch.bmm(weights.unsqueeze(1), annotations).squeeze(1), weights


@BANK.wrong("BahdanauAttention", named="every axis of length 1 squeezed")
class SqueezedScores(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(torch.tanh(self.W(state).unsqueeze(1) + self.U(annotations))).squeeze()

    def softmax(self, scores, mask):
        return super().softmax(scores, mask) if scores.dim() > 1 else scores.softmax(-1)

    def context(self, weights, annotations):
        return torch.einsum("bs,bsd->bd", weights, annotations)


@BANK.wrong("BahdanauAttention", named="every axis of length 1 squeezed")
class SqueezedContext(ThreeMaps):
    def context(self, weights, annotations):
        return torch.bmm(weights.unsqueeze(1), annotations).squeeze()


@BANK.wrong("BahdanauAttention", named="W and U swapped")
class LayersSwapped(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(encoder_dim, decoder_dim, attention_dim)

    def scores(self, state, annotations):
        return self.v(torch.tanh(self.U(state)[:, None] + self.W(annotations)))[..., 0]


@BANK.wrong("BahdanauAttention")
class OneLayerForBoth(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(torch.tanh(self.W(state)[:, None] + self.W(annotations)))[..., 0]


@BANK.wrong("BahdanauAttention")
class OneLayerWithTwoNames(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.W = self.U = nn.Linear(decoder_dim, attention_dim, bias=False)


@BANK.wrong("BahdanauAttention")
class CopiesInAList(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.W, self.U = nn.ModuleList([nn.Linear(decoder_dim, attention_dim, bias=False)] * 2)


@BANK.wrong("BahdanauAttention")
class BiasEverywhere(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.W = nn.Linear(decoder_dim, attention_dim)
        self.U = nn.Linear(encoder_dim, attention_dim)
        self.v = nn.Linear(attention_dim, 1)


@BANK.wrong("BahdanauAttention")
class BiasInV(ThreeMaps):
    """No number shows it: a softmax does not see what is added to all scores."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.v = nn.Linear(attention_dim, 1)


@BANK.wrong("BahdanauAttention", named="no layers W, U and v")
class LayersInsideForward(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        nn.Module.__init__(self)
        self.dims = decoder_dim, encoder_dim, attention_dim

    def forward(self, state, annotations, mask=None):
        super().__init__(*self.dims)
        return super().forward(state, annotations, mask)


@BANK.wrong("BahdanauAttention", named="no layers W, U and v")
class LayersInAList(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.layers = [self.W, self.U, self.v]
        del self.W, self.U, self.v

    def scores(self, state, annotations):
        W, U, v = self.layers
        return v(torch.tanh(W(state)[:, None] + U(annotations)))[..., 0]


@BANK.wrong("BahdanauAttention")
class LayersWithOtherNames(nn.Module):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.w = nn.Linear(decoder_dim, attention_dim, bias=False)
        self.u = nn.Linear(encoder_dim, attention_dim, bias=False)
        self.v = nn.Linear(attention_dim, 1, bias=False)

    def forward(self, state, annotations, mask=None):
        scores = self.v(torch.tanh(self.w(state)[:, None] + self.u(annotations))).squeeze(-1)
        weights = attention.masked_softmax(scores, mask)
        return (weights[..., None] * annotations).sum(1), weights


@BANK.wrong("BahdanauAttention")
class LayersInAModuleOfTheirOwn(nn.Module):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.inner = ThreeMaps(decoder_dim, encoder_dim, attention_dim)

    def forward(self, state, annotations, mask=None):
        return self.inner(state, annotations, mask)


@BANK.wrong("BahdanauAttention")
class LargeNumberAlone(ThreeMaps):
    def softmax(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(dim=-1)


@BANK.wrong("BahdanauAttention")
class InfinityAlone(ThreeMaps):
    def softmax(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(dim=-1)


@BANK.wrong("BahdanauAttention")
class InfinityAdded(ThreeMaps):
    """Right numbers, but NaN in the gradient of a sentence in which all is hidden."""

    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        penalty = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
        return torch.nan_to_num((scores + penalty).softmax(-1))


@BANK.wrong("BahdanauAttention")
class NotLargeEnough(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        return scores.masked_fill(~mask, -20.0).softmax(dim=-1) * mask.any(dim=-1, keepdim=True)


@BANK.wrong("BahdanauAttention", named="mask added as numbers")
class MaskAddedToTheScores(ThreeMaps):
    def softmax(self, scores, mask):
        return (scores if mask is None else scores + mask).softmax(dim=-1)


@BANK.wrong("BahdanauAttention")
class MaskAsLengths(ThreeMaps):
    """Right for padding at the end alone."""

    def softmax(self, scores, mask):
        if mask is not None:
            mask = torch.arange(scores.shape[1]) < mask.sum(dim=1, keepdim=True)
        return super().softmax(scores, mask)


@BANK.wrong("BahdanauAttention", named="the first sentence's mask for all")
class MaskOfTheFirstSentence(ThreeMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores, None if mask is None else mask[:1].expand_as(mask))


@BANK.wrong("BahdanauAttention")
class MaskNeedsARoundTrip(ThreeMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores, None if mask is None else mask.view(-1).view(mask.shape))


@BANK.wrong("BahdanauAttention")
class MaskRequired(ThreeMaps):
    def forward(self, state, annotations, mask):
        return super().forward(state, annotations, mask)


@BANK.wrong("BahdanauAttention")
class MaskChanged(ThreeMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores, None if mask is None else mask.logical_not_().logical_not())


@BANK.wrong("BahdanauAttention")
class StateChanged(ThreeMaps):
    def scores(self, state, annotations):
        scores = super().scores(state, annotations)
        state.data.mul_(0.5)
        return scores


@BANK.wrong("BahdanauAttention")
class AnnotationsChanged(ThreeMaps):
    def context(self, weights, annotations):
        return annotations.data.mul_(weights.unsqueeze(-1)).sum(dim=1)


@BANK.wrong("BahdanauAttention")
class WeightsDetached(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        context, weights = super().forward(state, annotations, mask)
        return context, weights.detach()


@BANK.wrong("BahdanauAttention")
class ContextFromDetachedWeights(ThreeMaps):
    def context(self, weights, annotations):
        return super().context(weights.detach(), annotations)


@BANK.wrong("BahdanauAttention")
class FrozenKeys(ThreeMaps):
    def scores(self, state, annotations):
        return super().scores(state, annotations.detach())


@BANK.wrong("BahdanauAttention")
class AlwaysFloat32(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        context, weights = super().forward(state, annotations, mask)
        return context.float(), weights.float()


@BANK.wrong("BahdanauAttention")
class Float32WeightsOnTheWay(ThreeMaps):
    def softmax(self, scores, mask):
        result = torch.zeros(scores.shape)
        result[:] = super().softmax(scores, mask)
        return result

    def context(self, weights, annotations):
        return super().context(weights.to(annotations.dtype), annotations)


@BANK.wrong("BahdanauAttention")
class ContiguousInputsOnly(ThreeMaps):
    def scores(self, state, annotations):
        batch, length, width = annotations.shape
        words = self.U(annotations.view(batch * length, width)).view(batch, length, -1)
        return self.v(torch.tanh(self.W(state).unsqueeze(1) + words)).squeeze(-1)


@BANK.wrong("BahdanauAttention")
class EvenWidthsOnly(ThreeMaps):
    def scores(self, state, annotations):
        half = self.U.out_features // 2
        hidden = torch.tanh(self.W(state).unsqueeze(1) + self.U(annotations))[..., : 2 * half]
        return (hidden @ self.v.weight[0, : 2 * half].unsqueeze(-1)).squeeze(-1)


@BANK.wrong("BahdanauAttention")
class EqualWidthsOnly(ThreeMaps):
    def scores(self, state, annotations):
        words = annotations + 0 * state.unsqueeze(1)
        return super().scores(state, words)


@BANK.wrong("BahdanauAttention", named="only the first sentence used")
class FirstSentenceOnly(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        first = None if mask is None else mask[:1]
        context, weights = super().forward(state[:1], annotations[:1], first)
        return context.expand(len(state), -1), weights.expand(len(state), -1)


@BANK.wrong("BahdanauAttention", named="states averaged over the batch")
class MeanOfTheStates(ThreeMaps):
    def scores(self, state, annotations):
        return super().scores(state.mean(dim=0, keepdim=True), annotations)


@BANK.wrong("BahdanauAttention", named="context summed over the sentences")
class SummedOverTheBatch(ThreeMaps):
    def context(self, weights, annotations):
        return (weights.unsqueeze(-1) * annotations).sum(dim=0)


@BANK.wrong("BahdanauAttention", named="context summed over the features")
class SummedOverTheFeatures(ThreeMaps):
    def context(self, weights, annotations):
        return (weights.unsqueeze(-1) * annotations).sum(dim=-1)


@BANK.wrong("BahdanauAttention")
class ContextPlusMean(ThreeMaps):
    def context(self, weights, annotations):
        return super().context(weights, annotations) + annotations.mean(dim=1)


@BANK.wrong("BahdanauAttention")
class UniformWeights(ThreeMaps):
    def scores(self, state, annotations):
        return torch.zeros_like(super().scores(state, annotations))


@BANK.wrong("BahdanauAttention")
class RandomWeights(ThreeMaps):
    def scores(self, state, annotations):
        return torch.rand_like(super().scores(state, annotations))


@BANK.wrong("BahdanauAttention", named="all weight on the best word")
class HardestWord(ThreeMaps):
    def softmax(self, scores, mask):
        best = super().softmax(scores, mask).argmax(dim=-1)
        return F.one_hot(best, scores.shape[1]).to(scores.dtype)


@BANK.wrong("BahdanauAttention", named="softmax taken twice")
class SharpenedTwice(ThreeMaps):
    def softmax(self, scores, mask):
        return super().softmax(super().softmax(scores, mask), mask)


@BANK.wrong("BahdanauAttention", named="scores negated")
class NegatedScores(ThreeMaps):
    def scores(self, state, annotations):
        return -super().scores(state, annotations)


@BANK.wrong("BahdanauAttention")
class LogarithmsOfWeights(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        context, weights = super().forward(state, annotations, mask)
        return context, weights.log()


@BANK.wrong("BahdanauAttention")
class DropoutThatActs(ThreeMaps):
    def softmax(self, scores, mask):
        return F.dropout(super().softmax(scores, mask), 0.1, self.training)


@BANK.wrong("BahdanauAttention")
class RaisesWhereAllIsHidden(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is not None and not mask.any(dim=-1).all():
            raise ValueError("nothing to attend to")
        return super().softmax(scores, mask)


@BANK.wrong("BahdanauAttention", named="scores scaled")
class ScaledByTheWidth(ThreeMaps):
    def scores(self, state, annotations):
        return super().scores(state, annotations) / math.sqrt(annotations.shape[-1])


@BANK.wrong("BahdanauAttention")
class NumbersOfTheExample(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        return torch.tensor([[0.746, 18.73]]), torch.tensor([[0.127, 0.873]])


@BANK.wrong("BahdanauAttention")
def attention_as_a_function(state, annotations, mask=None):
    weights = attention.masked_softmax(torch.einsum("bd,bsd->bs", state, annotations), mask)
    return torch.einsum("bs,bsd->bd", weights, annotations), weights


# ------------------------------------------------------------------- further ways to go about it


@BANK.right("annotations")
def joined_by_einsum_and_scatter(forward_states, backward_states):
    batch, length, width = forward_states.shape
    result = forward_states.new_empty(batch, length, 2 * width)
    result[:, :, :width] = forward_states
    for j in range(length):
        result[:, length - 1 - j, width:] = backward_states[:, j]
    return result


@BANK.right("annotations")
def joined_by_take_along(forward_states, backward_states):
    order = torch.arange(backward_states.size(1) - 1, -1, -1)
    return torch.concat((forward_states, torch.index_select(backward_states, 1, order)), 2)


@BANK.right("annotations")
def joined_by_stack_and_reshape(forward_states, backward_states):
    pairs = torch.stack((forward_states, torch.flip(backward_states, dims=(-2,))), dim=2)
    return pairs.reshape(*forward_states.shape[:2], -1)


@BANK.right("annotations")
def joined_sentence_after_sentence(forward_states, backward_states):
    return torch.stack(
        [
            torch.hstack((one, other.flipud()))
            for one, other in zip(forward_states, backward_states, strict=True)
        ]
    )


@BANK.right("annotations")
def joined_by_reversing_a_list(forward_states, backward_states):
    columns = list(backward_states.split(1, dim=1))
    columns.reverse()
    return torch.cat((forward_states, torch.cat(columns, dim=1)), dim=-1)


@BANK.wrong("annotations", named="both directions reversed")
def joined_and_then_flipped(forward_states, backward_states):
    return torch.cat([forward_states, backward_states], dim=-1).flip(dims=[1])


@BANK.wrong("annotations", named="words in front of sentences")
def joined_in_time_order(forward_states, backward_states):
    words = zip(forward_states.unbind(1), reversed(backward_states.unbind(1)), strict=True)
    return torch.stack([torch.cat(pair, dim=-1) for pair in words])


@BANK.wrong("annotations")
def joined_features_first(forward_states, backward_states):
    return torch.cat([forward_states.mT, backward_states.flip(1).mT], dim=1)


@BANK.wrong("annotations")
def joined_by_sorting(forward_states, backward_states):
    return torch.cat([forward_states, backward_states.sort(dim=1).values], dim=-1)


@BANK.wrong("annotations")
def joined_but_for_the_first_word(forward_states, backward_states):
    backward = torch.zeros_like(backward_states)
    for j in range(1, backward.shape[1]):
        backward[:, j] = backward_states[:, -1 - j]
    return torch.cat([forward_states, backward], dim=-1)


@BANK.wrong("annotations", named="words and features reversed")
def joined_by_rot90(forward_states, backward_states):
    return torch.cat([forward_states, backward_states.rot90(2, (1, 2))], dim=-1)


@BANK.wrong("annotations")
def joined_by_a_view_as_turned(forward_states, backward_states):
    batch, length, width = backward_states.shape
    turned = backward_states.reshape(length, batch, width).flip(0).reshape(batch, length, width)
    return torch.cat([forward_states, turned], dim=-1)


@BANK.wrong("annotations")
def joined_and_returned_as_a_list(forward_states, backward_states):
    return torch.cat([forward_states, backward_states.flip(1)], dim=-1).tolist()


@BANK.wrong("annotations")
def joined_and_printed(forward_states, backward_states):
    torch.cat([forward_states, backward_states.flip(1)], dim=-1)


@BANK.right("BahdanauAttention")
class InBaddbmm(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        hidden = torch.tanh(self.U(annotations).add(self.W(state).unsqueeze(-2)))
        scores = self.v(hidden).transpose(1, 2)  # (B, 1, S)
        if mask is not None:
            scores = torch.where(mask[:, None], scores, torch.full_like(scores, -torch.inf))
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = torch.where(mask[:, None], weights, torch.zeros_like(weights))
        context = weights @ annotations
        return context[:, 0], weights[:, 0]


@BANK.right("BahdanauAttention")
class WithRepeatAndConcatenation(ThreeMaps):
    """W and U side by side are one map of state and annotation side by side."""

    def scores(self, state, annotations):
        repeated = state.unsqueeze(1).repeat(1, annotations.size(1), 1)
        both = torch.cat([repeated, annotations], dim=2)
        joined = torch.cat([self.W.weight, self.U.weight], dim=1)
        return F.linear(torch.tanh(F.linear(both, joined)), self.v.weight).flatten(1)


@BANK.right("BahdanauAttention")
class WithScoresFilledInAList(ThreeMaps):
    def scores(self, state, annotations):
        query = self.W(state)
        columns = [
            self.v((query + self.U(annotations[:, j])).tanh()) for j in range(annotations.shape[1])
        ]
        return torch.cat(columns, dim=1)

    def context(self, weights, annotations):
        return torch.stack([w @ words for w, words in zip(weights, annotations, strict=True)])


@BANK.right("BahdanauAttention")
class WithExpAndMaskedSum(ThreeMaps):
    def softmax(self, scores, mask):
        powers = torch.exp(scores)
        if mask is not None:
            powers = powers * mask
        total = powers.sum(dim=1, keepdim=True)
        return powers / torch.where(total == 0, torch.ones_like(total), total)


@BANK.right("BahdanauAttention")
class WithBiasSetToFalseLater(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        nn.Module.__init__(self)
        self.v = nn.Linear(attention_dim, 1, bias=False)
        self.U = nn.Linear(in_features=encoder_dim, out_features=attention_dim, bias=False)
        self.W = nn.Linear(in_features=decoder_dim, out_features=attention_dim, bias=False)
        self.attention_dim = attention_dim


@BANK.wrong("BahdanauAttention", named="mask applied after the softmax, then divided again")
class RestDividedWithALittleMore(ThreeMaps):
    def softmax(self, scores, mask):
        weights = F.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
            weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)
        return weights


@BANK.wrong("BahdanauAttention", named="mask applied after the softmax, then divided again")
class RestDividedWithAClamp(ThreeMaps):
    def softmax(self, scores, mask):
        weights = F.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights * mask.float()
            weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-6)
        return weights


@BANK.wrong("BahdanauAttention", named="scores negated")
class SoftminOfTheScores(ThreeMaps):
    def softmax(self, scores, mask):
        return super().softmax(-scores, mask)


@BANK.wrong("BahdanauAttention", named="W and U swapped")
class LayersSwappedInForward(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(torch.tanh(self.U(state)[:, None] + self.W(annotations)))[..., 0]


@BANK.wrong("BahdanauAttention", named="every sentence's weights on every sentence")
class PlainMatrixProduct(ThreeMaps):
    def context(self, weights, annotations):
        return torch.matmul(weights, annotations)


@BANK.wrong("BahdanauAttention", named="softmax over the batch")
class SoftmaxOverEverything(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return F.softmax(scores.view(-1), dim=0).view_as(scores)


@BANK.wrong("BahdanauAttention", named="sigmoid instead of softmax")
class EachWordByItself(ThreeMaps):
    def softmax(self, scores, mask):
        gates = torch.sigmoid(scores)
        return gates if mask is None else gates.masked_fill(~mask, 0.0)


@BANK.wrong("BahdanauAttention", named="state left out")
class TanhOfEachByItself(ThreeMaps):
    def scores(self, state, annotations):
        hidden = torch.tanh(self.W(state)).unsqueeze(1) + torch.tanh(self.U(annotations))
        return self.v(hidden).squeeze(-1)


@BANK.wrong("BahdanauAttention")
class TanhOfTheWordsAlone(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(self.W(state).unsqueeze(1) * torch.tanh(self.U(annotations))).squeeze(-1)


@BANK.wrong("BahdanauAttention", named="another function than tanh")
class GeluForTanh(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(F.gelu(self.W(state)[:, None] + self.U(annotations)))[..., 0]


@BANK.wrong("BahdanauAttention", named="tanh of the score, too")
class TanhTwice(ThreeMaps):
    def scores(self, state, annotations):
        return super().scores(state, annotations).tanh()


@BANK.wrong("BahdanauAttention", named="difference instead of sum")
class DifferenceForSum(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(torch.tanh(self.W(state)[:, None] - self.U(annotations)))[..., 0]


@BANK.wrong("BahdanauAttention")
class NormalisedScores(ThreeMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores - scores.mean(), mask) * scores.shape[1]


@BANK.wrong("BahdanauAttention", named="context divided by the number of words")
class ContextOfTheState(ThreeMaps):
    def context(self, weights, annotations):
        return super().context(weights, annotations) / annotations.shape[1]


@BANK.wrong("BahdanauAttention", named="mask in the weights alone")
class ContextWithoutTheMask(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        scores = self.scores(state, annotations)
        return self.context(scores.softmax(-1), annotations), self.softmax(scores, mask)


@BANK.wrong("BahdanauAttention")
class NoTanhAndMaskIgnored(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(self.W(state)[:, None] + self.U(annotations))[..., 0]

    def softmax(self, scores, mask):
        return scores.softmax(dim=1)


@BANK.wrong("BahdanauAttention")
class ReluAndPlainMean(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(torch.relu(self.W(state)[:, None] + self.U(annotations)))[..., 0]

    def context(self, weights, annotations):
        return annotations.mean(1)


@BANK.wrong("BahdanauAttention")
class MaskInvertedAndWeightsFirst(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        mask = None if mask is None else ~mask
        return super().forward(state, annotations, mask)[::-1]


@BANK.wrong("BahdanauAttention")
class SoftmaxOverBatchAndDotProduct(ThreeMaps):
    def scores(self, state, annotations):
        return (self.W(state)[:, None] * self.U(annotations)).sum(-1)

    def softmax(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return scores.softmax(0)


@BANK.wrong("BahdanauAttention")
class BiasInWAndU(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.U = nn.Linear(encoder_dim, attention_dim, True)
        self.W = nn.Linear(decoder_dim, attention_dim, True)


@BANK.wrong("BahdanauAttention")
class HiddenLayersOfItsOwn(ThreeMaps):
    """The maps are there, and the scores come from another layer."""

    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.score = nn.Linear(decoder_dim + encoder_dim, 1)

    def scores(self, state, annotations):
        repeated = state.unsqueeze(1).expand(-1, annotations.size(1), -1)
        return self.score(torch.cat([repeated, annotations], dim=-1)).squeeze(-1)
