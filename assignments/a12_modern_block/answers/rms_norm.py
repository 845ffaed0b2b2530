"""Answers to `RMSNorm`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a12_modern_block.answers.bank import BANK

PART = "RMSNorm"


class Base(nn.Module):
    """What all answers here have in common: the weight and ε."""

    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.eps = eps


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
class ByRsqrt(Base):
    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


@BANK.right(PART)
class ByTheLength(Base):
    """The length of a token, divided by the root of its width."""

    def forward(self, x):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x / (length**2 / x.shape[-1] + self.eps).sqrt() * self.weight


@BANK.right(PART)
class ByEinsum(Base):
    def forward(self, x):
        square = torch.einsum("...f,...f->...", x, x)[..., None] / x.size(-1)
        return x / torch.sqrt(square + self.eps) * self.weight


@BANK.right(PART)
class TokenByToken(Base):
    def forward(self, x):
        rows = [
            row / math.sqrt(1) / ((row @ row) / len(row) + self.eps) ** 0.5
            for row in x.reshape(-1, x.shape[-1])
        ]
        return torch.stack(rows).reshape(x.shape) * self.weight


@BANK.right(PART)
class FromMeanAndVariance(Base):
    """The mean square is the variance plus the square of the mean."""

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        square = x.var(-1, keepdim=True, correction=0) + mean**2
        return x * (square + self.eps) ** -0.5 * self.weight


@BANK.right(PART)
class BuiltOfParameters(nn.Module):
    """ε as a buffer, the weight made by `torch.empty` and filled."""

    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features))
        nn.init.ones_(self.weight)
        self.register_buffer("epsilon", torch.tensor(eps), persistent=False)

    def forward(self, x):
        square = (x * x).sum(-1, keepdim=True) / x.shape[-1]
        return x.div((square + self.epsilon).sqrt()).mul(self.weight)


@BANK.right(PART)
class WithAReset(Base):
    def __init__(self, features, eps=1e-6):
        super().__init__(features, eps)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.constant_(self.weight, 1.0)

    def norm(self, x):
        return x / (x.square().mean(-1, keepdim=True) + self.eps).sqrt()

    def forward(self, x):
        return self.norm(x) * self.weight


@BANK.right(PART)
class InDoublePrecision(Base):
    """Computed in float64 and handed back in the dtype of x."""

    def forward(self, x):
        wide = x.double()
        wide = wide / (wide.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return wide.to(x.dtype) * self.weight


@BANK.right(PART)
class AsInLlama(nn.Module):
    """As LLaMA's own code has it, without its detour through float32."""

    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states


@BANK.right(PART)
class ByHypot(Base):
    def forward(self, x):
        size = x.norm(dim=-1, keepdim=True) / math.sqrt(self.weight.numel())
        return self.weight * (x / torch.hypot(size, torch.tensor(math.sqrt(self.eps)).to(x)))


@BANK.right(PART)
class ByVmap(Base):
    def one(self, token):
        return token / torch.sqrt(torch.dot(token, token) / len(token) + self.eps)

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        return torch.func.vmap(self.one)(rows).view(x.shape).mul(self.weight)


@BANK.right(PART)
class ByCallingItself(Base):
    def forward(self, x):
        if x.dim() > 1:
            return torch.stack([self.forward(row) for row in x])
        return (
            self.weight * x / torch.sqrt(sum(number * number for number in x) / len(x) + self.eps)
        )


@BANK.right(PART)
class EpsilonInsideTheMean(Base):
    def forward(self, x):
        return x / torch.sqrt((x**2 + self.eps).mean(dim=-1, keepdim=True)) * self.weight


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART, named="mean subtracted")
class LayerNormOfOld(Base):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + self.eps).sqrt() * self.weight


@BANK.wrong(PART, named="sum of squares instead of their mean")
class DividedByTheLength(Base):
    def forward(self, x):
        return x / torch.sqrt(torch.sum(x**2, dim=-1, keepdim=True) + self.eps) * self.weight


@BANK.wrong(PART, named="variance instead of the mean square")
class DividedByTheVariance(Base):
    def forward(self, x):
        return x / torch.sqrt(x.var(-1, keepdim=True) + self.eps) * self.weight


@BANK.wrong(PART, named="divided by one less than the number of features")
class Bessel(Base):
    def forward(self, x):
        square = (x * x).sum(-1, keepdim=True) / max(x.shape[-1] - 1, 1)
        return x / torch.sqrt(square + self.eps) * self.weight


@BANK.wrong(PART, named="mean over other axes than the features")
class OneNumberForAll(Base):
    def forward(self, x):
        return x / (x.pow(2).mean() + self.eps).sqrt() * self.weight


@BANK.wrong(PART, named="mean of absolute values")
class MeanSize(Base):
    def forward(self, x):
        return x / torch.sqrt(x.abs().mean(-1, keepdim=True) ** 2 + self.eps) * self.weight


@BANK.wrong(PART, named="ε outside the root")
class EpsAfterTheRoot(Base):
    def forward(self, x):
        return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + self.eps) * self.weight


@BANK.wrong(PART, named="the larger of mean square and ε")
class Clamped(Base):
    def forward(self, x):
        square = x.pow(2).mean(-1, keepdim=True)
        return x * square.clamp(min=self.eps).rsqrt() * self.weight


@BANK.wrong(PART, named="ε fixed")
class EpsOfAMillionth(Base):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


@BANK.wrong(PART, named="ε squared")
class EpsTwice(Base):
    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps**2) * self.weight


@BANK.wrong(PART, named="no root")
class DividedByTheSquare(Base):
    def forward(self, x):
        return x / ((x * x).mean(-1, keepdim=True) + self.eps) * self.weight


@BANK.wrong(PART, named="multiplied instead of divided")
class TimesTheRoot(Base):
    def forward(self, x):
        return x * (x.square().mean(-1, keepdim=True) + self.eps).sqrt() * self.weight


@BANK.wrong(PART, named="weight not used")
class WeightLeftAlone(Base):
    def forward(self, x):
        return x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()


@BANK.wrong(PART, named="one plus the weight")
class AsInGemma(Base):
    def forward(self, x):
        normed = x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
        return normed * (1.0 + self.weight)


@BANK.wrong(PART, named="weight before the norm")
class ScaledFirst(Base):
    def forward(self, x):
        scaled = self.weight * x
        return scaled / (scaled.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()


@BANK.wrong(PART, told="wrong about what a new module holds")
class ZerosFirst(ByRsqrt):
    def __init__(self, features, eps=1e-6):
        super().__init__(features, eps)
        nn.init.zeros_(self.weight)


@BANK.wrong(PART, told="wrong about what a new module holds")
class WithABias(Base):
    def __init__(self, features, eps=1e-6):
        super().__init__(features, eps)
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        normed = x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
        return self.weight * normed + self.bias


@BANK.wrong(PART, named="float32 always")
class InSingle(Base):
    def forward(self, x):
        x = x.float()
        return x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt() * self.weight.float()


@BANK.wrong(PART, named="x changed in place")
class WritesIntoX(Base):
    def forward(self, x):
        root = (x.detach().pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
        x.data /= root
        return x * self.weight


@BANK.wrong(PART, named="root without gradient")
class RootByItself(Base):
    def forward(self, x):
        with torch.no_grad():
            root = (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
        return x / root * self.weight


@BANK.wrong(PART, named="ε left out")
class WithoutEps(Base):
    def forward(self, x):
        return x / x.square().mean(-1, keepdim=True).sqrt() * self.weight


@BANK.wrong(PART, named="ε left out")
class ByNormalize(Base):
    def forward(self, x):
        return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * self.weight


@BANK.wrong(PART, named="mean of absolute values")
class MeanSizeAndEps(Base):
    def forward(self, x):
        return x / (x.abs().mean(-1, keepdim=True) + self.eps) * self.weight


@BANK.wrong(PART, told=("wrong after another call", "each row has a factor of its own"))
class RemembersItsRoots(ByRsqrt):
    """Keeps the roots of its first call, as long as there are as many tokens."""

    roots = None

    def forward(self, x):
        if self.roots is None or self.roots.shape[:-1] != x.shape[:-1]:
            self.roots = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * (x * self.roots)


@BANK.wrong(PART, named="ε fixed")
class LargerEpsilon(Base):
    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-3) * self.weight


@BANK.wrong(PART, named="ε divided by the number of features")
class EpsilonInTheSum(Base):
    def forward(self, x):
        total = (x**2).sum(dim=-1, keepdim=True) + self.eps
        return x / torch.sqrt(total / x.shape[-1]) * self.weight


@BANK.wrong(PART, named="ε added to the token as well")
class EpsilonAboveAndBelow(Base):
    def forward(self, x):
        mean_square = (x**2).mean(dim=-1, keepdim=True)
        return (x + self.eps) / torch.sqrt(mean_square + self.eps) * self.weight


@BANK.wrong(PART, told=("rounded", "wrong in float64"))
class WithADetourThroughSingle(Base):
    """As LLaMA's own code has it."""

    def forward(self, x):
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


@BANK.wrong(PART, told="stops with IndexError")
class ThreeAxesAlone(Base):
    def forward(self, x):
        return x / torch.sqrt((x**2).mean(dim=2, keepdim=True) + self.eps) * self.weight


@BANK.wrong(PART, told="weights of another shape")
class OneWeightForAllFeatures(ByRsqrt):
    def __init__(self, features, eps=1e-6):
        super().__init__(features, eps)
        self.weight = nn.Parameter(torch.ones(1))


@BANK.wrong(PART, told=("no gradient", "wrong about gradients"))
class ThroughNumpy(Base):
    def forward(self, x):
        numbers = x.detach().numpy()
        root = ((numbers**2).mean(-1, keepdims=True) + self.eps) ** 0.5
        return torch.from_numpy(numbers / root) * self.weight
