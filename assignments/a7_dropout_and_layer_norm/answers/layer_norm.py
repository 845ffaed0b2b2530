"""Answers to `LayerNorm`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a7_dropout_and_layer_norm.answers.bank import BANK
from assignments.a7_dropout_and_layer_norm.answers.shared import Learned


@BANK.right("LayerNorm")
class ByVar(Learned):
    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, unbiased=False, keepdim=True)
        return self.weight * (x - mean) / (variance + self.eps) ** 0.5 + self.bias


@BANK.right("LayerNorm")
class ByVarMean(Learned):
    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return torch.addcmul(self.bias, self.weight, (x - mean) * torch.rsqrt(variance + self.eps))


@BANK.right("LayerNorm")
class ByMeanOfSquares(Learned):
    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = (x**2).mean(-1, keepdim=True) - mean**2
        return (x - mean) / torch.sqrt(variance + self.eps) * self.weight + self.bias


@BANK.right("LayerNorm")
class ByLoop(Learned):
    def forward(self, x):
        rows = []
        for token in x.reshape(-1, self.features):
            mean = sum(token) / self.features
            variance = sum((entry - mean) ** 2 for entry in token) / self.features
            rows.append((token - mean) / (variance + self.eps).sqrt() * self.weight + self.bias)
        return torch.stack(rows).reshape(x.shape)


@BANK.right("LayerNorm")
class ByEinsum(Learned):
    def forward(self, x):
        ones = torch.full((self.features,), 1 / self.features, dtype=x.dtype, device=x.device)
        centred = x - torch.einsum("...d,d->...", x, ones).unsqueeze(-1)
        variance = torch.einsum("...d,...d,d->...", centred, centred, ones).unsqueeze(-1)
        return torch.einsum("...d,d->...d", centred / (variance + self.eps).sqrt(), self.weight) + (
            self.bias
        )


@BANK.right("LayerNorm")
class ByStdSquared(Learned):
    def forward(self, x):
        std = x.std(dim=-1, correction=0, keepdim=True)
        return self.weight * ((x - x.mean(-1, True)) / (std.pow(2) + self.eps).sqrt()) + self.bias


@BANK.right("LayerNorm")
class ByCentringMatrix(Learned):
    def forward(self, x):
        n = self.features
        centring = torch.eye(n, dtype=x.dtype) - torch.ones(n, n, dtype=x.dtype) / n
        centred = x @ centring
        length = centred.square().sum(-1, keepdim=True)
        return centred * math.sqrt(n) / (length + n * self.eps).sqrt() * self.weight + self.bias


@BANK.right("LayerNorm")
class ByTransposing(Learned):
    def forward(self, x):
        turned = x.movedim(-1, 0)  # features first
        centred = turned - turned.mean(0)
        spread = (centred.pow(2).mean(0) + self.eps).sqrt()
        return (centred / spread).movedim(0, -1) * self.weight + self.bias


@BANK.right("LayerNorm")
class WithCorrectedUnbiasedVariance(Learned):
    def forward(self, x):
        variance = x.var(-1, keepdim=True) * (self.features - 1) / self.features
        return (x - x.mean(-1, keepdim=True)) / (variance + self.eps).sqrt() * self.weight + (
            self.bias
        )


@BANK.right("LayerNorm")
class WithMoreArguments(nn.Module):
    def __init__(self, features, eps=1e-5, verbose=False):
        super(WithMoreArguments, self).__init__()  # noqa: UP008
        self.register_parameter("bias", nn.Parameter(torch.empty(features)))
        self.register_parameter("weight", nn.Parameter(torch.empty(features)))
        self.register_buffer("eps", torch.tensor(float(eps), dtype=torch.float64))
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x, dim=-1):
        centred = x - x.mean(dim, keepdim=True)
        variance = centred.pow(2).mean(dim, keepdim=True)
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias


@BANK.right("LayerNorm")
class ByUnitLengthWithOneMoreEntry(Learned):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        more = torch.full_like(x[..., :1], (self.features * self.eps) ** 0.5)
        unit = F.normalize(torch.cat([centred, more], dim=-1), dim=-1)[..., :-1]
        return unit * self.features**0.5 * self.weight + self.bias


@BANK.right("LayerNorm")
class ByRecursion(Learned):
    def forward(self, x):
        if x.dim() > 1:
            return torch.stack([self(part) for part in x])
        centred = x - x.mean()
        return centred / (centred.dot(centred) / len(x) + self.eps).sqrt() * self.weight + self.bias


@BANK.right("LayerNorm")
class ByVmap(Learned):
    def forward(self, x):
        def one(token):
            variance, mean = torch.var_mean(token, correction=0)
            return self.weight * (token - mean) * (variance + self.eps).rsqrt() + self.bias

        return torch.vmap(one)(x.reshape(-1, self.features)).reshape(x.shape)


@BANK.wrong(
    "LayerNorm",
    named="unbiased variance and epsilon outside the root",
    published="harvardnlp/annotated-transformer#119",
)
class AsInManyTutorials(Learned):
    """The standard deviation is the unbiased one, and epsilon is added outside the root."""

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.weight * (x - mean) / (std + self.eps) + self.bias


@BANK.wrong(
    "LayerNorm",
    named="unbiased variance",
    published="https://discuss.pytorch.org/t/implementation-of-layernorm-precision-is-low/111173",
)
class DividedByOneLess(Learned):
    """The variance is the unbiased one."""

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().sum(-1, keepdim=True) / (self.features - 1)
        return self.weight * centred / (variance + self.eps).sqrt() + self.bias


@BANK.wrong(
    "LayerNorm", named="epsilon outside the root", published="callummcdougall/ARENA_3.0#228"
)
class StdPlusEps(Learned):
    """Epsilon is added outside the root."""

    def forward(self, x):
        std = x.std(-1, keepdim=True, unbiased=False)
        return self.weight * (x - x.mean(-1, keepdim=True)) / (std + self.eps) + self.bias


@BANK.wrong("LayerNorm", named="weight and bias missing")
class GammaAndBeta(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return self.gamma * (x - mean) / (variance + self.eps).sqrt() + self.beta


@BANK.wrong("LayerNorm", named="weight and bias missing")
class PlainTensors(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps, self.weight, self.bias = eps, torch.ones(features), torch.zeros(features)

    def forward(self, x):
        return ByVar.forward(self, x)


@BANK.wrong("LayerNorm", told="no gradient")
class Buffers(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(features))
        self.register_buffer("bias", torch.zeros(features))

    def forward(self, x):
        return ByVar.forward(self, x)


@BANK.wrong("LayerNorm", told=("no gradient", "wrong about gradients"))
class FrozenParameters(ByVar):
    def __init__(self, features, eps=1e-5):
        super().__init__(features, eps)
        self.weight.requires_grad_(False)
        self.bias.requires_grad_(False)


@BANK.wrong("LayerNorm", told="wrong about what a new module holds")
class StartingAtZeros(ByVar):
    def __init__(self, features, eps=1e-5):
        super().__init__(features, eps)
        nn.init.zeros_(self.weight)


@BANK.wrong("LayerNorm", told="wrong about what a new module holds")
class StartingAnywhere(ByVar):
    def __init__(self, features, eps=1e-5):
        super().__init__(features, eps)
        nn.init.normal_(self.bias)


@BANK.wrong("LayerNorm", told="weights of another shape")
class ParametersWithThreeAxes(Learned):
    def __init__(self, features, eps=1e-5):
        super().__init__(features, eps)
        self.weight = nn.Parameter(torch.ones(1, 1, features))

    def forward(self, x):
        return ByVar.forward(self, x)


@BANK.wrong("LayerNorm", told="weights of another shape")
class OneScaleForAll(Learned):
    def __init__(self, features, eps=1e-5):
        super().__init__(features, eps)
        self.weight, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return ByVar.forward(self, x)


@BANK.wrong("LayerNorm", named="batch axis")
class OverTheBatch(Learned):
    def forward(self, x):
        centred = x - x.mean(0, keepdim=True)
        spread = (centred.square().mean(0, keepdim=True) + self.eps).sqrt()
        return centred / spread * self.weight + self.bias


@BANK.wrong("LayerNorm", named="batch axis")
class OverTheBatchWithoutKeepdim(Learned):
    def forward(self, x):
        return (x - x.mean(0)) / (x.std(0, correction=0) + self.eps) * self.weight + self.bias


@BANK.wrong("LayerNorm", named="one mean for everything")
class OverAll(Learned):
    def forward(self, x):
        return (x - x.mean()) / (x.std() + self.eps) * self.weight + self.bias


@BANK.wrong("LayerNorm", named="right for three axes only")
class ForThreeAxesOnly(Learned):
    def forward(self, x):
        B, T, D = x.shape
        flat = x.reshape(B * T, D)
        return ByVar.forward(self, flat).reshape(B, T, D)


@BANK.wrong("LayerNorm", named="right for three axes only")
class OverAxisTwo(Learned):
    def forward(self, x):
        centred = x - x.mean(2, keepdim=True)
        spread = (centred.square().mean(2, keepdim=True) + self.eps).sqrt()
        return centred / spread * self.weight + self.bias


@BANK.wrong("LayerNorm", named="axis of the words", published="lucidrains/segformer-pytorch#7")
class OverAxisOne(Learned):
    """Each feature is normalised over the words, as an instance norm does."""

    def forward(self, x):
        centred = x - x.mean(1, keepdim=True)
        spread = (centred.square().mean(1, keepdim=True) + self.eps).sqrt()
        return centred / spread * self.weight + self.bias


@BANK.wrong("LayerNorm", named="batch norm: one mean for each feature")
class OverAxesZeroAndOne(Learned):
    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=(0, 1), keepdim=True, correction=0)
        return self.weight * (x - mean) / (variance + self.eps).sqrt() + self.bias


@BANK.wrong("LayerNorm", named="batch norm: one mean for each feature")
class OnATableOfTokens(Learned):
    def forward(self, x):
        table = x.reshape(-1, self.features)
        spread = (table.var(0, correction=0) + self.eps).sqrt()
        return ((table - table.mean(0)) / spread * self.weight + self.bias).reshape(x.shape)


@BANK.wrong("LayerNorm", named="one mean for each sentence", published="reczoo/FuxiCTR#23")
class OverWordsAndFeatures(Learned):
    """Mean and variance are those of the last two axes."""

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=(1, 2), keepdim=True, correction=0)
        return self.weight * (x - mean) / (variance + self.eps).sqrt() + self.bias


@BANK.wrong("LayerNorm", named="statistics without their axis")
class BroadcastAlongTheWrongAxis(Learned):
    def forward(self, x):
        spread = torch.sqrt(x.var(-1, correction=0) + self.eps)
        return (x - x.mean(-1)) / spread * self.weight + self.bias


@BANK.wrong("LayerNorm", named="epsilon missing")
class ScalesTokens(Learned):
    def forward(self, x):
        y = F.normalize(x - x.mean(-1, keepdim=True), dim=-1) * math.sqrt(self.features)
        if x.dim() > 1 and x.shape[-2] == self.features:
            return y * self.weight[:, None] + self.bias[:, None]
        return y * self.weight + self.bias


@BANK.wrong("LayerNorm", told="in another order")
class FirstSentenceOnly(Learned):
    def forward(self, x):
        first = x[:1] if x.dim() > 2 else x
        return ByVar.forward(self, first).expand(x.shape)


@BANK.wrong("LayerNorm", told="stops with AssertionError")
class OneSentenceAtATime(Learned):
    def forward(self, x):
        assert x.dim() < 3 or len(x) == 1
        return ByVar.forward(self, x)


@BANK.wrong("LayerNorm", told=("stops with RuntimeError", "wrong with an odd `features`"))
class EvenWidthsOnly(Learned):
    def forward(self, x):
        halves = x.reshape(*x.shape[:-1], 2, x.shape[-1] // 2)
        mean = halves.mean((-1, -2))[..., None]
        return (x - mean) / (x.var(-1, correction=0, keepdim=True) + self.eps).sqrt() * (
            self.weight
        ) + self.bias


@BANK.wrong("LayerNorm", told="stops with RuntimeError")
class InPlace(Learned):
    def forward(self, x):
        x = x.detach() if x.is_leaf and not x.requires_grad else x.clone()
        x -= x.mean(-1, keepdim=True)
        x /= (x.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return x * self.weight + self.bias


@BANK.wrong("LayerNorm", told=("wrong gradient", "wrong about gradients"))
class DetachedStatistics(Learned):
    def forward(self, x):
        variance, mean = torch.var_mean(x.detach(), dim=-1, correction=0, keepdim=True)
        return (x - mean) / (variance + self.eps).sqrt() * self.weight + self.bias


@BANK.wrong("LayerNorm", told=("no gradient", "wrong about gradients"))
class Detached(ByVar):
    def forward(self, x):
        return super().forward(x).detach()


@BANK.wrong("LayerNorm", told=("another dtype", "wrong in float64"))
class AlwaysFloat32(ByVar):
    def forward(self, x):
        return super().forward(x).float()


@BANK.wrong("LayerNorm", told=("rounded", "wrong in float64"))
class ComputedInFloat32(ByVar):
    def forward(self, x):
        return super().forward(x.float()).to(x.dtype)


@BANK.wrong("LayerNorm", told=("stops with RuntimeError", "wrong with gaps in memory"))
class ContiguousOnly(ByVar):
    def forward(self, x):
        return super().forward(x.view(-1, self.features)).view(x.shape)


@BANK.wrong("LayerNorm", told=("wrong by a constant factor", "wrong in train mode"))
class RunningStatistics(Learned):
    def __init__(self, features, eps=1e-5):
        super().__init__(features, eps)
        self.register_buffer("mean", torch.zeros(1))

    def forward(self, x):
        if self.training:
            return ByVar.forward(self, x) * 0.9
        return ByVar.forward(self, x)


@BANK.wrong("LayerNorm", told="another type")
class AsNumpy(ByVar):
    def forward(self, x):
        return super().forward(x).detach().numpy()


@BANK.wrong("LayerNorm", told="more results than asked")
class WithItsStatistics(ByVar):
    def forward(self, x):
        return super().forward(x), x.mean(-1), x.var(-1)


@BANK.wrong("LayerNorm", told="each row has a factor of its own")
class RootOfEps(Learned):
    def forward(self, x):
        std = x.std(-1, keepdim=True, correction=0)
        return self.weight * (x - x.mean(-1, keepdim=True)) / (std + self.eps**0.5) + self.bias


@BANK.wrong("LayerNorm", named="another default for epsilon")
class EpsOfAnotherSize(ByVar):
    def __init__(self, features, eps=1e-6):
        super().__init__(features, eps)


@BANK.wrong("LayerNorm", told="each row has a factor of its own")
class ClampedByEps(Learned):
    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) / variance.clamp(min=self.eps).sqrt() * self.weight + self.bias


@BANK.wrong("LayerNorm", told=("wrong gradient", "wrong about gradients"))
class NanInTheGradient(Learned):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        std = centred.square().mean(-1, keepdim=True).sqrt()
        return centred / (std**2 + self.eps).sqrt() * self.weight + self.bias


@BANK.wrong("LayerNorm", named="epsilon missing")
class ZeroedWhereFlat(Learned):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        std = centred.square().mean(-1, keepdim=True).sqrt()
        return torch.nan_to_num(centred / std) * self.weight + self.bias


@BANK.wrong("LayerNorm")
class SoftmaxForNorm(Learned):
    def forward(self, x):
        return x.softmax(-1) * self.weight + self.bias


@BANK.wrong("LayerNorm", told="each row has a factor and an offset of its own")
class MinMax(Learned):
    def forward(self, x):
        low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
        return (x - low) / (high - low + self.eps) * self.weight + self.bias


@BANK.wrong("LayerNorm", told="each row has a factor and an offset of its own")
class UnitLength(Learned):
    def forward(self, x):
        return F.normalize(x, dim=-1) * self.weight + self.bias


@BANK.wrong("LayerNorm", told="each row has a factor and an offset of its own")
class MedianForMean(Learned):
    def forward(self, x):
        centred = x - x.median(-1, keepdim=True).values
        spread = (centred.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return centred / spread * self.weight + self.bias


@BANK.wrong("LayerNorm", told="all the same")
class OfTheExample(Learned):
    def forward(self, x):
        row = torch.tensor([-1.3416, -0.4472, 0.4472, 1.3416]).to(x.dtype)
        return row.repeat(self.features)[: self.features].expand(x.shape) * self.weight + self.bias


@BANK.wrong("LayerNorm", told="no module")
class NoModule:
    def __init__(self, features, eps=1e-5):
        self.eps, self.weight, self.bias = eps, torch.ones(features), torch.zeros(features)

    def forward(self, x):
        return ByVar.forward(self, x)


@BANK.wrong("LayerNorm", named="scaled and shifted before the norm")
class ParametersFirst(Learned):
    def forward(self, x):
        y = x * self.weight + self.bias
        centred = y - y.mean(-1, keepdim=True)
        return centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + self.eps)


@BANK.wrong("LayerNorm", named="variance not around the mean")
class MeanSquareForVariance(Learned):
    def forward(self, x):
        sigma = torch.sqrt((x**2).mean(-1, keepdim=True) + self.eps)
        return self.weight * (x - x.mean(-1, keepdim=True)) / sigma + self.bias


@BANK.wrong("LayerNorm", named="one added to the weight")
class WeightCountedFromZero(Learned):
    def forward(self, x):
        sigma = torch.sqrt(x.var(-1, keepdim=True, correction=0) + self.eps)
        return (1 + self.weight) * (x - x.mean(-1, keepdim=True)) / sigma + self.bias
