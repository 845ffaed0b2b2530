"""Wrong answers to `BahdanauAttention`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a1_rnn_attention.answers.bank import BANK
from assignments.a1_rnn_attention.answers.shared import ThreeMaps
from course_utils import attention


@BANK.wrong(
    "BahdanauAttention", named="no tanh", published="AuCson/PyTorch-Batch-Attention-Seq2seq#3"
)
class LinearScores(ThreeMaps):
    """There is no tanh between the two maps and v."""

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


@BANK.wrong(
    "BahdanauAttention", named="softmax over the batch", published="PetrochukM/PyTorch-NLP#2"
)
class SoftmaxAlongAxisZero(ThreeMaps):
    """The softmax runs over axis 0, the sentences."""

    def softmax(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return torch.softmax(scores, dim=0)


@BANK.wrong(
    "BahdanauAttention", named="softmax over the features", published="DEEP-PolyU/KEQA_WSDM19#2"
)
class SoftmaxAlongTheLastOfThree(ThreeMaps):
    """The softmax runs over an axis of length 1, so every weight is 1."""

    def forward(self, state, annotations, mask=None):
        scores = self.v(torch.tanh(self.W(state).unsqueeze(1) + self.U(annotations)))
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-1), -1e9)
        weights = torch.softmax(scores, dim=-1)
        return (weights * annotations).sum(dim=1), weights.squeeze(-1)


@BANK.wrong("BahdanauAttention", named="softmax over the features")
class SoftmaxAlongTheLastOfThreeWithNan(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        scores = self.v(torch.tanh(self.W(state).unsqueeze(1) + self.U(annotations)))
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-1), -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        return (weights * annotations).sum(dim=1), weights.squeeze(-1)


@BANK.wrong("BahdanauAttention", named="mask ignored", published="tensorflow/tensorflow#43941")
class MaskUnused(ThreeMaps):
    """The mask is not used, so padding gets attention."""

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


@BANK.wrong(
    "BahdanauAttention", named="hidden scores set to 0", published="georg-wolflein/good-features#1"
)
class ZeroForHiddenScores(ThreeMaps):
    """Hidden scores become 0, which is a score like any other."""

    def softmax(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, 0)).softmax(dim=-1)


@BANK.wrong("BahdanauAttention", named="mask applied after the softmax")
class MaskForTheContextOnly(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        weights = self.scores(state, annotations).softmax(dim=-1)
        visible = weights if mask is None else weights * mask
        return (visible[..., None] * annotations).sum(dim=1), weights


@BANK.wrong("BahdanauAttention", named="mask ignored")
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


@BANK.wrong("BahdanauAttention", told="stops with RuntimeError")
class OneLayerForBoth(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(torch.tanh(self.W(state)[:, None] + self.W(annotations)))[..., 0]


@BANK.wrong("BahdanauAttention", told="weights of another shape")
class OneLayerWithTwoNames(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.W = self.U = nn.Linear(decoder_dim, attention_dim, bias=False)


@BANK.wrong("BahdanauAttention", told="weights of another shape")
class CopiesInAList(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.W, self.U = nn.ModuleList([nn.Linear(decoder_dim, attention_dim, bias=False)] * 2)


@BANK.wrong("BahdanauAttention", told="wrong about what a new module holds")
class BiasEverywhere(ThreeMaps):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.W = nn.Linear(decoder_dim, attention_dim)
        self.U = nn.Linear(encoder_dim, attention_dim)
        self.v = nn.Linear(attention_dim, 1)


@BANK.wrong("BahdanauAttention", told="wrong about what a new module holds")
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


@BANK.wrong("BahdanauAttention", told="weights with other names")
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


@BANK.wrong("BahdanauAttention", named="no layers W, U and v")
class LayersInAModuleOfTheirOwn(nn.Module):
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__()
        self.inner = ThreeMaps(decoder_dim, encoder_dim, attention_dim)

    def forward(self, state, annotations, mask=None):
        return self.inner(state, annotations, mask)


@BANK.wrong("BahdanauAttention", told="right but for special places")
class LargeNumberAlone(ThreeMaps):
    def softmax(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(dim=-1)


@BANK.wrong("BahdanauAttention", told="right but for special places")
class InfinityAlone(ThreeMaps):
    def softmax(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(dim=-1)


@BANK.wrong("BahdanauAttention", told=("wrong gradient", "wrong about gradients"))
class InfinityAdded(ThreeMaps):
    """Right numbers, but NaN in the gradient of a sentence in which all is hidden."""

    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        penalty = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
        return torch.nan_to_num((scores + penalty).softmax(-1))


@BANK.wrong("BahdanauAttention", told=("right but for special places", "wrong with `mask` given"))
class NotLargeEnough(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        return scores.masked_fill(~mask, -20.0).softmax(dim=-1) * mask.any(dim=-1, keepdim=True)


@BANK.wrong("BahdanauAttention", named="mask added as numbers")
class MaskAddedToTheScores(ThreeMaps):
    def softmax(self, scores, mask):
        return (scores if mask is None else scores + mask).softmax(dim=-1)


@BANK.wrong("BahdanauAttention", told="wrong with `mask` given")
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


@BANK.wrong("BahdanauAttention", told=("stops with RuntimeError", "wrong with gaps in memory"))
class MaskNeedsARoundTrip(ThreeMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores, None if mask is None else mask.view(-1).view(mask.shape))


@BANK.wrong("BahdanauAttention", told="stops with TypeError")
class MaskRequired(ThreeMaps):
    def forward(self, state, annotations, mask):
        return super().forward(state, annotations, mask)


@BANK.wrong("BahdanauAttention", told="inputs changed")
class MaskChanged(ThreeMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores, None if mask is None else mask.logical_not_().logical_not())


@BANK.wrong("BahdanauAttention", told="wrong gradient")
class StateChanged(ThreeMaps):
    def scores(self, state, annotations):
        scores = super().scores(state, annotations)
        state.data.mul_(0.5)
        return scores


@BANK.wrong("BahdanauAttention", told="wrong gradient")
class AnnotationsChanged(ThreeMaps):
    def context(self, weights, annotations):
        return annotations.data.mul_(weights.unsqueeze(-1)).sum(dim=1)


@BANK.wrong("BahdanauAttention", told=("wrong gradient", "wrong about gradients"))
class WeightsDetached(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        context, weights = super().forward(state, annotations, mask)
        return context, weights.detach()


@BANK.wrong("BahdanauAttention", told=("wrong gradient", "wrong about gradients"))
class ContextFromDetachedWeights(ThreeMaps):
    def context(self, weights, annotations):
        return super().context(weights.detach(), annotations)


@BANK.wrong("BahdanauAttention", told=("wrong gradient", "wrong about gradients"))
class FrozenKeys(ThreeMaps):
    def scores(self, state, annotations):
        return super().scores(state, annotations.detach())


@BANK.wrong("BahdanauAttention", told=("another dtype", "wrong in float64"))
class AlwaysFloat32(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        context, weights = super().forward(state, annotations, mask)
        return context.float(), weights.float()


@BANK.wrong("BahdanauAttention", told=("rounded", "wrong in float64"))
class Float32WeightsOnTheWay(ThreeMaps):
    def softmax(self, scores, mask):
        result = torch.zeros(scores.shape)
        result[:] = super().softmax(scores, mask)
        return result

    def context(self, weights, annotations):
        return super().context(weights.to(annotations.dtype), annotations)


@BANK.wrong("BahdanauAttention", told=("stops with RuntimeError", "wrong with gaps in memory"))
class ContiguousInputsOnly(ThreeMaps):
    def scores(self, state, annotations):
        batch, length, width = annotations.shape
        words = self.U(annotations.view(batch * length, width)).view(batch, length, -1)
        return self.v(torch.tanh(self.W(state).unsqueeze(1) + words)).squeeze(-1)


@BANK.wrong("BahdanauAttention", named="annotations left out")
class EvenWidthsOnly(ThreeMaps):
    def scores(self, state, annotations):
        half = self.U.out_features // 2
        hidden = torch.tanh(self.W(state).unsqueeze(1) + self.U(annotations))[..., : 2 * half]
        return (hidden @ self.v.weight[0, : 2 * half].unsqueeze(-1)).squeeze(-1)


@BANK.wrong("BahdanauAttention", told="stops with RuntimeError")
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


@BANK.wrong("BahdanauAttention", told="the weights right, the context wrong")
class ContextPlusMean(ThreeMaps):
    def context(self, weights, annotations):
        return super().context(weights, annotations) + annotations.mean(dim=1)


@BANK.wrong("BahdanauAttention", named="annotations left out")
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


@BANK.wrong("BahdanauAttention", named="logarithms of the weights")
class LogarithmsOfWeights(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        context, weights = super().forward(state, annotations, mask)
        return context, weights.log()


@BANK.wrong("BahdanauAttention", told=("weights that are no shares", "wrong in train mode"))
class DropoutThatActs(ThreeMaps):
    def softmax(self, scores, mask):
        return F.dropout(super().softmax(scores, mask), 0.1, self.training)


@BANK.wrong("BahdanauAttention", told="stops with ValueError")
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


@BANK.wrong("BahdanauAttention", told="stops with TypeError")
def attention_as_a_function(state, annotations, mask=None):
    weights = attention.masked_softmax(torch.einsum("bd,bsd->bs", state, annotations), mask)
    return torch.einsum("bs,bsd->bd", weights, annotations), weights


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


@BANK.wrong("BahdanauAttention", told="weights that are no shares")
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


@BANK.wrong("BahdanauAttention", named=("no tanh", "mask ignored"))
class NoTanhAndMaskIgnored(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(self.W(state)[:, None] + self.U(annotations))[..., 0]

    def softmax(self, scores, mask):
        return scores.softmax(dim=1)


@BANK.wrong("BahdanauAttention", named=("relu instead of tanh", "context is the plain mean"))
class ReluAndPlainMean(ThreeMaps):
    def scores(self, state, annotations):
        return self.v(torch.relu(self.W(state)[:, None] + self.U(annotations)))[..., 0]

    def context(self, weights, annotations):
        return annotations.mean(1)


@BANK.wrong("BahdanauAttention", named=("mask inverted", "results in the wrong order"))
class MaskInvertedAndWeightsFirst(ThreeMaps):
    def forward(self, state, annotations, mask=None):
        mask = None if mask is None else ~mask
        return super().forward(state, annotations, mask)[::-1]


@BANK.wrong("BahdanauAttention", named=("dot-product score", "softmax over the batch"))
class SoftmaxOverBatchAndDotProduct(ThreeMaps):
    def scores(self, state, annotations):
        return (self.W(state)[:, None] * self.U(annotations)).sum(-1)

    def softmax(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return scores.softmax(0)


@BANK.wrong("BahdanauAttention", told="wrong about what a new module holds")
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


@BANK.wrong("BahdanauAttention", named="states of other sentences")
class StatesRepeatedAsABatch(ThreeMaps):
    def scores(self, state, annotations):
        batch, length, _ = annotations.shape
        states = state.repeat(length, 1).view(batch, length, -1)
        return self.v(torch.tanh(self.W(states) + self.U(annotations))).squeeze(-1)


@BANK.wrong("BahdanauAttention", named="states of other sentences")
class StatesRepeatedWordsFirst(ThreeMaps):
    def scores(self, state, annotations):
        batch, length, _ = annotations.shape
        states = self.W(state).repeat(1, length).view(length, batch, -1).transpose(0, 1)
        return self.v(torch.tanh(states + self.U(annotations))).squeeze(-1)


@BANK.wrong("BahdanauAttention", named="hidden scores set to 0 before and weights after")
class SmallScoresThenNoWeights(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        return scores.masked_fill(~mask, 1e-9).softmax(dim=-1).masked_fill(~mask, 0.0)


@BANK.wrong("BahdanauAttention", named="hidden scores set to 0 before and weights after")
class NoScoresThenSmallWeights(ThreeMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        return scores.masked_fill(~mask, 0.0).softmax(dim=-1).masked_fill(~mask, 1e-9)


@BANK.wrong("BahdanauAttention", named="hidden scores set to 0 before and weights after")
class ScoresAndWeightsTimesTheMask(ThreeMaps):
    def softmax(self, scores, mask):
        visible = torch.ones_like(scores) if mask is None else mask.to(scores.dtype)
        return (scores * visible).softmax(dim=-1) * visible
