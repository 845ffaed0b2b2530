"""Answers to `LayerNorm`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a7_dropout_and_layer_norm.answers.bank import BANK
from assignments.a7_dropout_and_layer_norm.rubric import (
    CENTRED,
    INSIDE_THE_ROOT,
    PARAMETERS,
    VARIANCE,
    norm,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

NOTHING_RUNS = "weights that the text names are missing, so nothing can be run"
UNBIASED = (
    "Your spread is a little too large, as if the sum of squares were divided by D − 1. PyTorch's `var` and `std` do "
    "this unless they are told otherwise. What does the formula divide by?"
)
NO_EPS = (
    "Your numbers match a division by σ alone, as if ε were 0. Where all features of a token are equal, σ is 0 as "
    "well. Where is ε in the formula?"
)
BATCH_NORM = (
    "You have one mean and one variance for each feature, over all tokens, which is batch norm. Layer norm has one "
    "pair for each token."
)
THREE_AXES = (
    "On sentences (B, T, D) the mean is right, but with fewer or more leading axes it is not. However many there are, "
    "the features are along the last axis. How is that axis named without counting the others?"
)


def kept(module, name, value):
    """The first value of this shape that the module was given under this name."""
    if not hasattr(module, name) or getattr(module, name).shape != value.shape:
        setattr(module, name, value)
    return getattr(module, name)


ANSWERS = Answers(
    __name__, BANK, norm,
    """
    class LayerNorm(nn.Module):
        def __init__(self, features, eps=1e-5):
            super().__init__()
            self.features, self.eps = features, eps
            self.weight = nn.Parameter(torch.ones(features))
            self.bias = nn.Parameter(torch.zeros(features))

        def forward(self, x):
            axes = -1
            centred = x - x.mean(axes, keepdim=True)
            variance = x.var(axes, keepdim=True, correction=0)
            sigma = (variance + self.eps).sqrt()
            normed = centred / sigma
            scaled = normed * self.weight
            shifted = scaled + self.bias
            return shifted
    """,
    math=math, torch=torch, F=F, nn=nn, kept=kept,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("weight and bias missing", "self.weight = 1.0; self.bias = 0.0", (),
     "The module has no `weight` and no `bias`, or they are not parameters. γ and β are learned, but a plain tensor "
     "is not registered with the module, so no optimiser would find it. Are both made in `__init__`, as "
     "`nn.Parameter`, under these names?",
     costs_more=NOTHING_RUNS)
slip("bias missing", "self.bias = 0.0", (),
     "The module has a `weight`, but no parameter `bias`. Which letter of the formula is the bias?",
     costs_more=NOTHING_RUNS)
CORRECTED, OUTSIDE = "variance = x.var(axes, keepdim=True)", "sigma = variance.sqrt() + self.eps"
slip("unbiased variance", CORRECTED, VARIANCE, UNBIASED,
     published=("https://discuss.pytorch.org/t/implementation-of-layernorm-precision-is-low/111173",
                "The variance is the unbiased one."))
slip("epsilon outside the root", OUTSIDE, INSIDE_THE_ROOT,
     "Ordinary tokens come out right, but faint ones are too large, as if they were divided by σ + ε. In the formula, "
     "is ε added before or after the root is taken?",
     published=("callummcdougall/ARENA_3.0#228", "Epsilon is added outside the root."))
slip("unbiased variance and epsilon outside the root", f"{CORRECTED}; {OUTSIDE}", (VARIANCE, INSIDE_THE_ROOT),
     f"There are two slips. {UNBIASED} Besides, faint tokens come out too large. Is ε added before or after the root "
     "is taken?",
     published=("harvardnlp/annotated-transformer#119",
                "The standard deviation is the unbiased one, and epsilon is added outside the root."))
slip("epsilon missing", "sigma = variance.sqrt()", INSIDE_THE_ROOT, NO_EPS,
     published=("VeriSilicon/TIM-VX#589",
                "Epsilon is never passed on and is 0, so features that are all equal give NaN."))
slip("unbiased variance and epsilon missing", f"{CORRECTED}; sigma = variance.sqrt()", (VARIANCE, INSIDE_THE_ROOT),
     f"{NO_EPS} There is a second slip. {UNBIASED}")
slip("argument eps ignored", "eps = 1e-5", INSIDE_THE_ROOT,
     "With the default ε all is right, but with another one nothing changes. What becomes of the argument `eps`?",
     published=("tensorflow/tensorflow#58863", "Whatever epsilon is asked for, the default is used."))
slip("another default for epsilon", """
    def __init__(self, features, eps={default}):
        super().__init__(features, eps)
""", INSIDE_THE_ROOT,
     "With the ε that a case names all is right, and where none is named, faint tokens come out as with another ε "
     "than the text's. Which value does the text give to `eps` in the constructor?",
     each={"default": (1e-6, 1e-12, 1e-9, 1e-8, 1e-7, 1e-4, 1e-3)})
slip("epsilon squared", "sigma = (variance + self.eps**2).sqrt()", INSIDE_THE_ROOT,
     "Your ε is squared before it is added. Under the root the formula has σ² + ε, with ε as it is.")
slip("not divided by the spread", "normed = centred", (CENTRED, VARIANCE),
     "Your tokens have mean 0, but each keeps its spread. What are the differences divided by?")
slip("divided by the variance", "sigma = variance + self.eps", (CENTRED, VARIANCE),
     "Your differences are divided by the variance. What does the formula do to the variance before it divides by it?")
slip("mean not taken off", "centred = x", (CENTRED, VARIANCE),
     "Your tokens are divided by their standard deviation but keep their mean. Which difference is in the numerator "
     "of the formula?")
SQUARES = "variance = x.square().mean(axes, keepdim=True)"
slip("RMS norm: mean not taken off", f"centred = x; {SQUARES}", (CENTRED, VARIANCE),
     "Your numbers match x divided by the root of the mean of x², which is RMS norm. Layer norm subtracts the mean "
     "first, in the numerator and in the variance.")
slip("squares summed, not averaged", "variance = (x - x.mean(axes, keepdim=True)).square().sum(axes, keepdim=True)",
     (CENTRED, VARIANCE),
     "Your tokens come out with length 1. The variance is the mean of the squares, not their sum.")
slip("variance not around the mean", SQUARES, (CENTRED, VARIANCE),
     "You divide by the root of the mean of x², from which the mean was not subtracted. The variance is the mean of "
     "the squared differences from μ.")
slip("mean absolute deviation", """
    variance = (x - x.mean(axes, keepdim=True)).abs().mean(axes, keepdim=True)
    sigma = variance + self.eps
""", VARIANCE,
     "Your spread is the mean of the absolute differences. The formula squares the differences, averages the squares "
     "and takes the root.")
slip("statistics without their axis", "centred = x - x.mean(-1); variance = x.var(-1, correction=0)", (),
     "One token comes out right, but with more of them the module stops, or tokens get the mean of other tokens. The "
     "means of x (B, T, D) have the shape (B, T), which does not broadcast against x as it should. How can the last "
     "axis be kept, with size 1?",
     costs_more="it stops with an error")
slip("weight and bias not used", "scaled = normed; shifted = scaled", PARAMETERS,
     "The module has `weight` and `bias`, but the result does not depend on them. What is the last step of the "
     "formula?")
slip("shifted before scaled", "scaled = normed + self.bias; shifted = scaled * self.weight", PARAMETERS,
     "You add β first and multiply by γ afterwards, so the shift is scaled as well. Which of the two comes first in "
     "the formula?")
slip("weight and bias swapped", "scaled = normed * self.bias; shifted = scaled + self.weight", PARAMETERS,
     "You multiply by `bias` and add `weight`. Which of the two is the scale?")
slip("weight not used", "scaled = normed", PARAMETERS,
     "The features are shifted but not scaled. Which letter of the formula is missing?")
slip("divided by the weight", "scaled = normed / self.weight", PARAMETERS,
     "Your features are divided by γ. What does the formula do with it?")
slip("one added to the weight", "scaled = normed * (1 + self.weight)", PARAMETERS,
     "You multiply by 1 + γ. The formula has γ alone, and a new module has ones there.")
slip("bias not used", "shifted = scaled", PARAMETERS,
     "The features are scaled but not shifted. Which letter of the formula is missing?")
slip("bias taken off", "shifted = scaled - self.bias", PARAMETERS,
     "Your features are shifted the wrong way, because β is subtracted. Which sign does it have in the formula?")
slip("scaled and shifted before the norm", "x = x * self.weight + self.bias; scaled = normed; shifted = scaled",
     PARAMETERS,
     "You scale and shift x, and normalise the result. γ and β should come last, because a norm after them divides "
     "out again what they learned.")
slip("batch norm: one mean for each feature", """
    flat = x.reshape(-1, x.shape[-1])
    centred = (flat - flat.mean(dim=0)).reshape(x.shape)
    variance = flat.var(dim=0, correction=0)
""", (CENTRED, VARIANCE), BATCH_NORM)


def over_axes(name, message, *ways, costs=(CENTRED, VARIANCE), published=None):
    """Names statistics over other axes, with the spread in each of the usual ways to write it.

    The ways to name the axes agree on (B, T, D) and differ elsewhere.
    """
    for spread in ("", f"; {CORRECTED}", f"; {OUTSIDE}", f"; {CORRECTED}; {OUTSIDE}"):
        slip(name, f"axes = {{axes}}{spread}", costs, message, each={"axes": ways}, published=published)
        published = None


over_axes("batch axis",
          "Your mean and variance run over axis 0, so the result for a word depends on the other words or sentences "
          "in the same input. A token should be normalised over its own features. Which axis are they along?",
          "0")
over_axes("axis of the words",
          "Your mean and variance run along the sentence, one pair for each feature, so a word's result depends on "
          "the words around it. A token should be normalised over its own features. Which axis are they along?",
          "-2", "1",
          published=("lucidrains/segformer-pytorch#7",
                     "Each feature is normalised over the words, as an instance norm does."))
over_axes("batch norm: one mean for each feature", BATCH_NORM, "tuple(range(x.dim() - 1))", "(0, 1)")
over_axes("one mean for everything",
          "All tokens share one mean and one variance, but each token should have its own. Which axis has to be named "
          "when the mean is taken?",
          "tuple(range(x.dim()))")
over_axes("one mean for each sentence",
          "All words of a sentence share one mean and one variance, so a word's result depends on the words around "
          "it. Each token should have its own pair.",
          "(-2, -1)", "(1, 2)", "tuple(range(1, x.dim())) or 0",
          published=("reczoo/FuxiCTR#23", "Mean and variance are those of the last two axes."))
slip("right for three axes only", "_, _, _ = x.shape; axes = -1", VARIANCE, THREE_AXES)
over_axes("right for three axes only", THREE_AXES, "2", costs=VARIANCE)

right = ANSWERS.right
right("ByVar", """
    variance = x.var(-1, unbiased=False, keepdim=True)
    return self.weight * centred / (variance + self.eps) ** 0.5 + self.bias
""")
right("ByVarMean", """
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(self.bias, self.weight, (x - mean) * torch.rsqrt(variance + self.eps))
""")
right("ByMeanOfSquares", "variance = (x**2).mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2")
right("ByLoop", """
    rows = []
    for token in x.reshape(-1, self.features):
        mean = sum(token) / self.features
        spread = sum((entry - mean) ** 2 for entry in token) / self.features
        rows.append((token - mean) / (spread + self.eps).sqrt() * self.weight + self.bias)
    return torch.stack(rows).reshape(x.shape)
""")
right("ByEinsum", """
    ones = torch.full((self.features,), 1 / self.features, dtype=x.dtype, device=x.device)
    centred = x - torch.einsum("...d,d->...", x, ones).unsqueeze(-1)
    variance = torch.einsum("...d,...d,d->...", centred, centred, ones).unsqueeze(-1)
    scaled = torch.einsum("...d,d->...d", normed, self.weight)
""")
right("ByStdSquared", "sigma = (x.std(dim=-1, correction=0, keepdim=True).pow(2) + self.eps).sqrt()")
right("ByCentringMatrix", """
    n = x.shape[-1]
    centred = x @ (torch.eye(n, dtype=x.dtype) - torch.ones(n, n, dtype=x.dtype) / n)
    length = centred.square().sum(-1, keepdim=True)
    normed = centred * math.sqrt(self.features) / (length + self.features * self.eps).sqrt()
""")
right("ByTransposing", """
    turned = x.movedim(-1, 0)  # features first
    centred = turned - turned.mean(0)
    normed = (centred / (centred.pow(2).mean(0) + self.eps).sqrt()).movedim(0, -1)
""")
right("WithCorrectedUnbiasedVariance",
      "variance = x.var(-1, keepdim=True) * (self.features - 1) / self.features")
right("WithMoreArguments", """
    def __init__(self, features, eps=1e-5, verbose=False):
        nn.Module.__init__(self)
        self.register_parameter("bias", nn.Parameter(torch.empty(features)))
        self.register_parameter("weight", nn.Parameter(torch.empty(features)))
        self.register_buffer("eps", torch.tensor(float(eps), dtype=torch.float64))
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x, dim=-1):
        return super().forward(x)
""")
right("ByUnitLengthWithOneMoreEntry", """
    more = torch.full_like(x[..., :1], (self.features * self.eps) ** 0.5)
    normed = F.normalize(torch.cat([centred, more], dim=-1), dim=-1)[..., :-1] * self.features**0.5
""")
right("ByRecursion", """
    if x.dim() > 1:
        return torch.stack([self(part) for part in x])
    centred = x - x.mean()
    sigma = (centred.dot(centred) / len(x) + self.eps).sqrt()
""")
right("ByVmap", """
    def forward(self, x):
        of_a_token = super().forward
        return torch.vmap(of_a_token)(x.reshape(-1, self.features)).reshape(x.shape)
""")
right("NumberByNumber", """
    rows = []
    for token in x.reshape(-1, self.features):
        mean = 0.0
        for k in range(self.features):
            mean = mean + token[k] / self.features
        spread = 0.0
        for k in range(self.features):
            spread = spread + (token[k] - mean) ** 2 / self.features
        row = []
        for k in range(self.features):
            row.append((token[k] - mean) / torch.sqrt(spread + self.eps) * self.weight[k] + self.bias[k])
        rows.append(torch.stack(row))
    return torch.stack(rows).reshape(x.shape)
""", slow=LOOPS)
right("ByPairsOfFeatures", """
    apart = centred[..., :, None] - centred[..., None, :]
    variance = apart.square().mean(dim=(-2, -1)).unsqueeze(-1) / 2  # (..., D, D) before the mean
    scaled = torch.einsum("...d,de,e->...e", normed, torch.eye(self.features).to(x), self.weight)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("GammaAndBeta", """
    self.gamma = nn.Parameter(torch.ones(features))
    self.weight = 1.0
    self.beta = nn.Parameter(torch.zeros(features))
    self.bias = 0.0
    scaled = normed * self.gamma
    shifted = scaled + self.beta
""", named="weight and bias missing")
wrong("ScalesTokens", """
    tokens = x.dim() > 1 and x.shape[-2] == self.features
    sigma = variance.sqrt()
    scaled = normed * (self.weight[:, None] if tokens else self.weight)
    shifted = scaled + (self.bias[:, None] if tokens else self.bias)
""", named="epsilon missing")
wrong("OneMeanAndUnbiasedVariance", f"axes = tuple(range(x.dim())); {CORRECTED}", named="one mean for everything",
      published=("https://discuss.pytorch.org/t/layernorm-doesnt-result-in-std-0-per-data-point/153024",
                 "Mean and unbiased variance are those of the whole tensor."))
wrong("SquaredForTheRoot", "sigma = (variance + self.eps) ** 2", told="each row has a factor of its own",
      published=("131250208/TPlinker-joint-extraction#37", "The variance is squared where its root is meant."))
wrong("EpsilonAddedToTheCount",
      "normed = centred * torch.rsqrt((centred * centred).sum(-1, keepdim=True) / (x.shape[-1] + self.eps))",
      told="each row has a factor of its own",
      published=("xlite-dev/LeetCUDA#309", "Epsilon is added to the number of features, not to the variance."))
wrong("Buffers", "self.weight = nn.Buffer(torch.ones(features)); self.bias = nn.Buffer(torch.zeros(features))",
      told="no gradient")
wrong("FrozenParameters", """
    self.weight = nn.Parameter(torch.ones(features), requires_grad=False)
    self.bias = nn.Parameter(torch.zeros(features), requires_grad=False)
""", told=("no gradient", "wrong about gradients"))
wrong("StartingAtZeros", "self.weight = nn.Parameter(torch.zeros(features))",
      told="wrong about what a new module holds")
wrong("StartingAnywhere", "self.bias = nn.Parameter(torch.randn(features))",
      told="wrong about what a new module holds")
wrong("ParametersWithThreeAxes", "self.weight = nn.Parameter(torch.ones(1, 1, features))",
      told="weights of another shape")
wrong("OneScaleForAll", "self.weight = nn.Parameter(torch.ones(1)); self.bias = nn.Parameter(torch.zeros(1))",
      told="weights of another shape")
wrong("FirstSentenceOnly", "shape = x.shape; x = x[:1] if x.dim() > 2 else x; return shifted.expand(shape)",
      told="in another order")
wrong("OneSentenceAtATime", "assert x.dim() < 3 or len(x) == 1; x = x", told="stops with AssertionError")
wrong("EvenWidthsOnly", """
    halves = x.reshape(*x.shape[:-1], 2, x.shape[-1] // 2)
    centred = x - halves.mean((-1, -2))[..., None]
""", told=("stops with RuntimeError", "wrong with an odd `features`"))
wrong("InPlace", """
    x = x.detach() if x.is_leaf and not x.requires_grad else x.clone()
    x -= x.mean(-1, keepdim=True)
    x /= (x.square().mean(-1, keepdim=True) + self.eps).sqrt()
    normed = x
""", told="stops with RuntimeError")
wrong("DetachedStatistics", """
    variance, mean = torch.var_mean(x.detach(), dim=-1, correction=0, keepdim=True)
    normed = (x - mean) / (variance + self.eps).sqrt()
""", told=("wrong gradient", "wrong about gradients"))
wrong("ComputedInFloat32", "dtype = x.dtype; x = x.float(); return shifted.to(dtype)",
      told=("rounded", "wrong in float64"))
wrong("RunningStatistics", "return shifted * 0.9 if self.training else shifted",
      told=("wrong by a constant factor", "wrong in train mode"))
wrong("AsNumpy", "return shifted.detach().numpy()", told="another type")
wrong("WithItsStatistics", "return shifted, x.mean(-1), x.var(-1)", told="more results than asked")
wrong("RootOfEps", "sigma = variance.sqrt() + self.eps**0.5", told="each row has a factor of its own")
wrong("ClampedByEps", "sigma = variance.clamp(min=self.eps).sqrt()", told="each row has a factor of its own")
wrong("NanInTheGradient", "sigma = (variance.sqrt() ** 2 + self.eps).sqrt()",
      told=("wrong gradient", "wrong about gradients"))
wrong("SoftmaxForNorm", "normed = x.softmax(-1)")
wrong("MinMax", """
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    normed = (x - low) / (high - low + self.eps)
""", told="each row has a factor and an offset of its own")
wrong("UnitLength", "normed = F.normalize(x, dim=-1)", told="each row has a factor and an offset of its own")
wrong("MedianForMean", """
    centred = x - x.median(-1, keepdim=True).values
    sigma = (centred.square().mean(-1, keepdim=True) + self.eps).sqrt()
""", told="each row has a factor and an offset of its own")
wrong("OfTheExample", """
    row = torch.tensor([-1.3416, -0.4472, 0.4472, 1.3416]).to(x.dtype)
    normed = row.repeat(self.features)[: self.features].expand(x.shape)
""", told="all the same")
wrong("MeansOfTheFirstCall", """
    centred = x - kept(self, "mean", x.mean(dim=-1, keepdim=True))
    variance = centred.square().mean(dim=-1, keepdim=True)
""", told=("each row has a factor and an offset of its own", "wrong after another call"))
wrong("VarianceRunsInTrainMode", """
    new = x.var(dim=-1, correction=0, keepdim=True)
    variance = 0.9 * kept(self, "running", new.detach()) + 0.1 * new if self.training else new
""", told=("each row has a factor of its own", "wrong after another call"))
wrong("MeanOfAThousandFeatures", """
    centred = x - x[..., :1000].mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
""", told="each row has a factor and an offset of its own")
wrong("EightSentencesAtMost", """
    x = torch.cat([x[:8], x[:1].expand(len(x) - 8, *x.shape[1:])]) if x.dim() > 2 and len(x) > 8 else x
""", told="right in part")
careless(ANSWERS, a_hundred_words=None, one_shape="another number of axes")
# fmt: on


@BANK.wrong("LayerNorm", told="no module")
class NoModule:
    def __init__(self, features, eps=1e-5):
        self.features, self.eps = features, eps
        self.weight, self.bias = torch.ones(features), torch.zeros(features)

    def forward(self, x):
        return ANSWERS.code.forward(self, x)
