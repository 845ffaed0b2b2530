"""Answers to `SelfAttentionWithDropoutAndNorm`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a7_dropout_and_layer_norm.answers.bank import BANK
from assignments.a7_dropout_and_layer_norm.answers.layer_norm import ByMeanOfSquares, ByVarMean


class Parts(nn.Module):
    """The submodules that all answers need; below, forward is written in many ways."""

    def __init__(self, features, dropout_rate=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout_rate)
        self.layer_norm = nn.LayerNorm(features)


@BANK.right("SelfAttentionWithDropoutAndNorm")
class ByBmm(Parts):
    def forward(self, query, key, value):
        scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.size(-1))
        return self.layer_norm(torch.bmm(self.dropout(F.softmax(scores, dim=-1)), value))


@BANK.right("SelfAttentionWithDropoutAndNorm")
class ByEinsumAndOwnNorm(Parts):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__(features, dropout_rate)
        self.layer_norm = ByVarMean(features)

    def forward(self, query, key, value, mask=None):
        scores = torch.einsum("btd,bsd->bts", query, key) * key.shape[-1] ** -0.5
        weights = self.dropout(torch.softmax(scores, dim=2))
        return self.layer_norm(torch.einsum("bts,bsv->btv", weights, value))


@BANK.right("SelfAttentionWithDropoutAndNorm")
class ByHandWrittenDropout(Parts):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__(features, dropout_rate)
        self.rate = dropout_rate

    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        if self.training:
            kept = torch.rand_like(weights) >= self.rate
            weights = weights * kept / (1 - self.rate)
        return self.layer_norm(weights @ value)


@BANK.right("SelfAttentionWithDropoutAndNorm")
class ByFunctionalDropout(Parts):
    def forward(self, query, key, value):
        weights = F.softmax(query / key.shape[-1] ** 0.5 @ key.permute(0, 2, 1), -1)
        weights = F.dropout(weights, self.dropout.p, self.training)
        self.weights = weights.detach()
        return F.layer_norm(
            weights @ value, value.shape[-1:], self.layer_norm.weight, self.layer_norm.bias
        )


@BANK.right("SelfAttentionWithDropoutAndNorm")
class BySentence(Parts):
    def forward(self, query, key, value):
        outputs = []
        for q, k, v in zip(query, key, value, strict=True):
            rows = [self.dropout((k @ word / k.shape[1] ** 0.5).softmax(0)) @ v for word in q]
            outputs.append(self.layer_norm(torch.stack(rows)))
        return torch.stack(outputs)


@BANK.right("SelfAttentionWithDropoutAndNorm")
class ByHandWrittenSoftmax(nn.Module):
    def __init__(self, features, dropout_rate=0.1, eps=1e-5, **others):
        super().__init__()
        self.layer_norm = ByMeanOfSquares(features, eps)
        self.dropout = nn.Dropout(p=dropout_rate, inplace=False)

    def forward(self, query, key, value):
        scores = query.matmul(key.transpose(-1, -2)).div(key.size(-1) ** 0.5)
        scores = torch.exp(scores - scores.amax(-1, keepdim=True))
        weights = self.dropout(scores / scores.sum(-1, keepdim=True))
        return self.layer_norm(weights.matmul(value))


@BANK.right("SelfAttentionWithDropoutAndNorm")
class ByDroppingBeforeTheDivision(Parts):
    def forward(self, query, key, value):
        # the sum is that of the row before the dropout, so the weights are what they should be
        e = torch.exp(query @ key.mT / math.sqrt(key.shape[-1]))
        return self.layer_norm(self.dropout(e) @ value / e.sum(-1, keepdim=True))


@BANK.right("SelfAttentionWithDropoutAndNorm")
class ByDroppingACopyInPlace(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1).clone()
        F.dropout(weights, self.dropout.p, self.training, inplace=True)
        return self.layer_norm(weights @ value)


@BANK.right("SelfAttentionWithDropoutAndNorm")
class WithTheSoftmaxInItsDropout(nn.Module):
    def __init__(self, features, dropout_rate=0.1, **more):
        super().__init__()
        self.dropout = nn.Sequential(nn.Softmax(dim=-1), nn.Dropout(dropout_rate))
        self.layer_norm = nn.LayerNorm(features)

    def forward(self, query, key, value):
        return self.layer_norm(self.dropout(query @ key.mT / math.sqrt(key.size(-1))) @ value)


@BANK.right("SelfAttentionWithDropoutAndNorm")
class WithAFloatRoot(Parts):
    def forward(self, query, key, value):
        d_k = torch.tensor(key.shape[-1], dtype=torch.float32)
        weights = F.softmax(query @ key.transpose(-2, -1) / torch.sqrt(d_k), dim=-1)
        return self.layer_norm(self.dropout(weights) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="stops with AttributeError")
class StopsInForward(Parts):
    def forward(self, query, key, value):
        return self.norm(torch.bmm(query, key))


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="weights of another shape")
class FixedWidth(Parts):
    def __init__(self, features=6, dropout_rate=0.1):
        super().__init__(6, dropout_rate)

    def forward(self, query, key, value):
        return ByBmm.forward(self, query, key, value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="not scaled")
class PrintedWithFeatures(Parts):
    def forward(self, query, key, value):
        weights = F.softmax(torch.bmm(query, key.transpose(1, 2)), dim=-1)
        return self.layer_norm(torch.bmm(self.dropout(weights), value))


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="scaled after the softmax")
class ScaledAfterTheSoftmax(Parts):
    def forward(self, query, key, value):
        weights = F.softmax(query @ key.mT, dim=-1) / key.shape[-1] ** 0.5
        return self.layer_norm(self.dropout(weights) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="divided by the root of the value's width")
class ScaledByFeatures(Parts):
    def forward(self, query, key, value):
        features = self.layer_norm.weight.shape[0]
        weights = F.softmax(query @ key.mT / features**0.5, dim=-1)
        return self.layer_norm(self.dropout(weights) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="divided by the root of the length")
class ScaledByTheLength(Parts):
    def forward(self, query, key, value):
        weights = F.softmax(query @ key.mT / key.shape[1] ** 0.5, dim=-1)
        return self.layer_norm(self.dropout(weights) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm")
class ScaledForWidthFour(Parts):
    def forward(self, query, key, value):
        weights = F.softmax(query @ key.mT / 2, dim=-1)
        return self.layer_norm(self.dropout(weights) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="softmax over the queries")
class OverTheQueries(Parts):
    def forward(self, query, key, value):
        weights = F.softmax(query @ key.mT / key.shape[-1] ** 0.5, dim=1)
        return self.layer_norm(self.dropout(weights) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong with T ≠ S")
class OnlyAsManyKeysAsQueries(Parts):
    def forward(self, query, key, value):
        T = query.shape[1]
        return ByBmm.forward(self, query, key[:, :T], value[:, :T])


@BANK.wrong(
    "SelfAttentionWithDropoutAndNorm", told=("in another order", "wrong with several sentences")
)
class OneSentence(Parts):
    def forward(self, query, key, value):
        return ByBmm.forward(self, query[:1], key[:1], value[:1]).expand(len(query), -1, -1)


@BANK.wrong("SelfAttentionWithDropoutAndNorm")
class ReshapedForTransposed(Parts):
    def forward(self, query, key, value):
        B, S, d_k = key.shape
        weights = (query @ key.reshape(B, d_k, S) / d_k**0.5).softmax(-1)
        return self.layer_norm(self.dropout(weights) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong with several sentences")
class SentencesMixed(Parts):
    def forward(self, query, key, value):
        flat = [item.reshape(1, -1, item.shape[-1]) for item in (query, key, value)]
        return ByBmm.forward(self, *flat).reshape(*query.shape[:2], -1)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="norm missing")
class WithoutNorm(Parts):
    def forward(self, query, key, value):
        return self.dropout((query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)) @ value


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="norm before the product")
class NormOnTheValues(Parts):
    def forward(self, query, key, value):
        weights = self.dropout((query @ key.mT / key.shape[-1] ** 0.5).softmax(-1))
        return weights @ self.layer_norm(value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="no layer_norm with weight and bias")
class NormUnderAnotherName(nn.Module):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__()
        self.dropout, self.norm = nn.Dropout(dropout_rate), nn.LayerNorm(features)

    def forward(self, query, key, value):
        return self.norm(self.dropout((query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="no layer_norm with weight and bias")
class NormMadeInForward(nn.Module):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, query, key, value):
        self.layer_norm = nn.LayerNorm(value.shape[-1])
        return ByBmm.forward(self, query, key, value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="no layer_norm with weight and bias")
class PartsInAList(nn.Module):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__()
        self.parts = [nn.Dropout(dropout_rate), nn.LayerNorm(features)]

    def forward(self, query, key, value):
        dropout, layer_norm = self.parts
        return layer_norm(dropout((query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong about what a new module holds")
class DropoutIsNoSubmodule(nn.Module):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__()
        self.rate, self.layer_norm = dropout_rate, nn.LayerNorm(features)

    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        return self.layer_norm(F.dropout(weights, self.rate, self.training) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm")
class NormOverTheWords(Parts):
    def forward(self, query, key, value):
        collected = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1) @ value
        variance, mean = torch.var_mean(collected, dim=1, correction=0, keepdim=True)
        y = (collected - mean) / (variance + 1e-5).sqrt()
        return y * self.layer_norm.weight + self.layer_norm.bias


@BANK.wrong(
    "SelfAttentionWithDropoutAndNorm",
    named="dropout on the scores",
    published="PaddlePaddle/Parakeet#75",
)
class DroppedScores(Parts):
    """Dropout acts on the scores, before the softmax."""

    def forward(self, query, key, value):
        scores = self.dropout(query @ key.mT / key.shape[-1] ** 0.5)
        return self.layer_norm(scores.softmax(-1) @ value)


@BANK.wrong(
    "SelfAttentionWithDropoutAndNorm",
    named="dropout on what was collected",
    published="nikhilbarhate99/min-decision-transformer#2",
)
class DroppedOutput(Parts):
    """Dropout acts on the weighted sum, after the product."""

    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        return self.layer_norm(self.dropout(weights @ value))


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="dropout on the values")
class DroppedValues(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        return self.layer_norm(weights @ self.dropout(value))


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="one draw for several weights")
class DroppedWords(Parts):
    """The same words are missing for all queries."""

    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        return self.layer_norm(weights * self.dropout(torch.ones_like(weights[:, :1])) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="one draw for several weights")
class DroppedQueries(Parts):
    """Whole rows of weights are dropped."""

    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        return self.layer_norm(weights * self.dropout(torch.ones_like(weights[..., :1])) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong in train mode with dropout")
class DroppedInputs(Parts):
    def forward(self, query, key, value):
        return ByBmm.forward(self, self.dropout(query), self.dropout(key), value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="dropout in eval mode")
class NeverAsleep(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        return self.layer_norm(F.dropout(weights, self.dropout.p) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="train and eval mode mixed up")
class AsleepInTraining(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        return self.layer_norm(F.dropout(weights, self.dropout.p, not self.training) @ value)


@BANK.wrong(
    "SelfAttentionWithDropoutAndNorm", named="no dropout", published="zhouhaoyi/Informer2020#97"
)
class DropoutForgotten(Parts):
    """Dropout is made and never used."""

    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        return self.layer_norm(weights @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong in train mode with dropout")
class DefaultOfOneHalf(ByBmm):
    def __init__(self, features, dropout_rate=0.5):
        super().__init__(features, dropout_rate)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="argument dropout_rate not kept")
class RateIgnored(ByBmm):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__(features, 0.1)


@BANK.wrong(
    "SelfAttentionWithDropoutAndNorm", named="`dropout_rate` taken for the share that is kept"
)
class KeepingForDropping(ByBmm):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__(features, 1 - dropout_rate)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong in train mode with dropout")
class NotMadeUpFor(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        if self.training:
            weights = weights * (torch.rand_like(weights) >= self.dropout.p)
        return self.layer_norm(weights @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="rows made to sum to one after the dropout")
class RowsRepaired(Parts):
    def forward(self, query, key, value):
        weights = self.dropout((query @ key.mT / key.shape[-1] ** 0.5).softmax(-1))
        return self.layer_norm(weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong in train mode with dropout")
class DroppedTwice(Parts):
    def forward(self, query, key, value):
        weights = self.dropout((query @ key.mT / key.shape[-1] ** 0.5).softmax(-1))
        return self.layer_norm(self.dropout(weights) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong in train mode with dropout")
class AlwaysTheSameDraw(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        if self.training:
            draws = torch.rand(weights.shape, generator=torch.Generator().manual_seed(0))
            weights = weights * (draws >= self.dropout.p) / (1 - self.dropout.p)
        return self.layer_norm(weights @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="dropout on the scores")
class MinusInfinityForDropped(Parts):
    def forward(self, query, key, value):
        scores = query @ key.mT / key.shape[-1] ** 0.5
        if self.training:
            scores = scores.masked_fill(torch.rand_like(scores) < self.dropout.p, -1e9)
        return self.layer_norm(scores.softmax(-1) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="weights returned beside the output")
class OutputAndWeights(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        return ByBmm.forward(self, query, key, value), weights


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="too short or too long")
class WeightsForOutput(Parts):
    def forward(self, query, key, value):
        return self.dropout((query @ key.mT / key.shape[-1] ** 0.5).softmax(-1))


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="key used as value")
class CollectsKeys(Parts):
    def forward(self, query, key, value):
        return ByBmm.forward(self, query, key, key)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="query and key swapped")
class KeysAsk(Parts):
    def forward(self, query, key, value):
        return ByBmm.forward(self, key, query, value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="query used as value")
class ValueKeyQuery(Parts):
    def forward(self, value, key, query):
        return ByBmm.forward(self, query, key, value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told=("another dtype", "wrong in float64"))
class AlwaysSinglePrecision(Parts):
    def forward(self, query, key, value):
        return ByBmm.forward(self, query, key, value).float()


@BANK.wrong(
    "SelfAttentionWithDropoutAndNorm", told=("stops with RuntimeError", "wrong with gaps in memory")
)
class ContiguousInputs(Parts):
    def forward(self, query, key, value):
        return ByBmm.forward(self, query.view(-1).view(query.shape), key, value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong with `dropout_rate` given")
class ScalesItsQuery(Parts):
    def forward(self, query, key, value):
        with torch.no_grad():
            query /= key.shape[-1] ** 0.5
            query *= 1 + 1e-3
        return self.layer_norm(self.dropout((query @ key.mT).softmax(-1)) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong gradient")
class ChangesItsValue(Parts):
    def forward(self, query, key, value):
        output = ByBmm.forward(self, query, key, value)
        value.data.zero_()
        return output


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told=("no gradient", "wrong about gradients"))
class WeightsDetached(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1).detach()
        return self.layer_norm(self.dropout(weights) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told=("no gradient", "wrong about gradients"))
class WithoutGradient(Parts):
    def forward(self, query, key, value):
        with torch.no_grad():
            return ByBmm.forward(self, query, key, value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="all the same")
class MeanOfTheValues(Parts):
    def forward(self, query, key, value):
        mean = value.mean(1, keepdim=True).expand(-1, query.shape[1], -1)
        return self.layer_norm(self.dropout(torch.ones(1, dtype=value.dtype)) * mean)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="all the same")
class OutputOfTheExample(Parts):
    def forward(self, query, key, value):
        row = torch.tensor([1.3173, -0.2130, -1.1042], dtype=value.dtype)
        shape = *query.shape[:2], value.shape[-1]
        return self.layer_norm(row.repeat(shape[-1])[: shape[-1]].expand(shape))


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="weights returned beside the output")
class OutputAndDroppedWeights(Parts):
    def forward(self, query, key, value):
        weights = self.dropout((query @ key.mT / key.shape[-1] ** 0.5).softmax(-1))
        return self.layer_norm(weights @ value), weights


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="weight and bias of the norm not used")
class NormOfItsOwn(Parts):
    def forward(self, query, key, value):
        weights = self.dropout((query @ key.mT / key.shape[-1] ** 0.5).softmax(-1))
        return F.layer_norm(weights @ value, value.shape[-1:])


@BANK.wrong(
    "SelfAttentionWithDropoutAndNorm", told=("stops with RuntimeError", "wrong about gradients")
)
class DroppedInPlace(ByBmm):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__(features)
        self.dropout = nn.Dropout(dropout_rate, inplace=True)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told=("no gradient", "wrong about gradients"))
class DetachedInTraining(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        if self.training:
            weights = F.dropout(weights.detach(), self.dropout.p)
        return self.layer_norm(weights @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong in train mode with dropout")
class ScaledInEvalOnly(Parts):
    def forward(self, query, key, value):
        scores = query @ key.mT
        if self.training:
            return self.layer_norm(self.dropout(scores.softmax(-1)) @ value)
        return self.layer_norm((scores / key.shape[-1] ** 0.5).softmax(-1) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", told="wrong in train mode with dropout")
class SameNumberInEachRow(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        if self.training:
            number = round(self.dropout.p * weights.shape[-1])
            unlucky = torch.rand_like(weights).argsort(-1)[..., :number]
            weights = weights.scatter(-1, unlucky, 0.0) / (1 - self.dropout.p)
        return self.layer_norm(weights @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm")
class TimesTheShareKeptInEval(Parts):
    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        weights = self.dropout(weights) if self.training else weights * (1 - self.dropout.p)
        return self.layer_norm(weights @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="later words hidden")
class CausalOutOfHabit(Parts):
    def forward(self, query, key, value):
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        weights = self.dropout(scores.masked_fill(~seen, -1e9).softmax(-1))
        return self.layer_norm(weights @ value)


@BANK.right("SelfAttentionWithDropoutAndNorm")
class ByMatmulAndAPower(Parts):
    def forward(self, query, key, value):
        scores = torch.matmul(query, key.transpose(-2, -1)) * (query.size(-1) ** -0.5)
        weights = torch.nn.functional.softmax(scores, dim=2)
        weights = torch.nn.functional.dropout(weights, self.dropout.p, self.training)
        return self.layer_norm(torch.matmul(weights, value))


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="one draw for several weights")
class OneMaskForAllSentences(Parts):
    def forward(self, query, key, value):
        shares = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(query.shape[-1]), dim=-1)
        if self.training:
            kept = torch.rand_like(shares[0]) >= self.dropout.p
            shares = shares * kept / (1 - self.dropout.p)
        return self.layer_norm(shares @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="one draw for several weights")
class OneMaskForAllKeys(Parts):
    def forward(self, query, key, value):
        weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
        if self.training:
            weights = weights * self.dropout(torch.ones(*weights.shape[:2], 1))
        return self.layer_norm(weights @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="a fixed dropout in either mode")
class ByABareFunctionalDropout(Parts):
    def forward(self, query, key, value):
        scores = query @ key.mT / math.sqrt(key.shape[-1])
        return self.layer_norm(F.dropout(scores.softmax(-1)) @ value)


@BANK.wrong("SelfAttentionWithDropoutAndNorm", named="argument dropout_rate not kept")
class ByHalfAsPyTorchHasIt(Parts):
    def __init__(self, features, dropout_rate=0.1):
        super().__init__(features, dropout_rate)
        self.dropout = nn.Dropout()

    def forward(self, query, key, value):
        scores = query @ key.mT / math.sqrt(key.shape[-1])
        return self.layer_norm(self.dropout(scores.softmax(-1)) @ value)
