"""Wrong answers to assignment 7 that public projects really gave, rewritten."""

import torch

from assignments.a7_dropout_and_layer_norm.answers.bank import BANK
from assignments.a7_dropout_and_layer_norm.answers.self_attention_with_dropout_and_norm import (
    Parts,
)
from assignments.a7_dropout_and_layer_norm.answers.shared import Learned


@BANK.wrong(
    "LayerNorm",
    told="each row has a factor of its own",
    published="131250208/TPlinker-joint-extraction#37",
)
class SquaredForTheRoot(Learned):
    """The variance is squared where its root is meant."""

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        std = (centred.pow(2).mean(-1, keepdim=True) + self.eps) ** 2
        return centred / std * self.weight + self.bias


@BANK.wrong(
    "LayerNorm", told="each row has a factor of its own", published="xlite-dev/LeetCUDA#309"
)
class EpsilonAddedToTheCount(Learned):
    """Epsilon is added to the number of features, not to the variance."""

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        squares = (centred * centred).sum(-1, keepdim=True)
        return centred * torch.rsqrt(squares / (x.shape[-1] + self.eps)) * self.weight + self.bias


@BANK.wrong(
    "LayerNorm",
    named="one mean for everything",
    published="https://discuss.pytorch.org/t/layernorm-doesnt-result-in-std-0-per-data-point/153024",
)
class OneMeanAndUnbiasedVarianceOfTheBatch(Learned):
    """Mean and unbiased variance are those of the whole tensor."""

    def forward(self, x):
        centred = x - torch.mean(x)
        return self.weight * centred / torch.sqrt(torch.var(x) + self.eps) + self.bias


@BANK.wrong("LayerNorm", named="epsilon missing", published="VeriSilicon/TIM-VX#589")
class EpsilonThatIsAlwaysZero(Learned):
    """Epsilon is never passed on and is 0, so features that are all equal give NaN."""

    def __init__(self, features, eps=1e-5):
        super().__init__(features, 0.0)

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        return self.weight * (centred / (variance + self.eps).sqrt()) + self.bias


@BANK.wrong("LayerNorm", named="argument eps ignored", published="tensorflow/tensorflow#58863")
class EpsilonOfTheFactory(Learned):
    """Whatever epsilon is asked for, the default is used."""

    def __init__(self, features, eps=1e-5):
        super().__init__(features)

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        return self.weight * (centred / (variance + self.eps).sqrt()) + self.bias


@BANK.wrong(
    "SelfAttentionWithDropoutAndNorm",
    named="kept weights divided by the rate",
    published="rasbt/LLMs-from-scratch#431",
)
class KeptWeightsDividedByTheRate(Parts):
    """The weights that are kept are divided by the rate itself, not by 1 minus the rate."""

    def forward(self, query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        if self.training and self.dropout.p > 0:
            kept = torch.rand_like(weights) >= self.dropout.p
            weights = weights * kept / self.dropout.p
        return self.layer_norm(weights @ value)
