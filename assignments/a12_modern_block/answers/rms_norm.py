"""Answers to `RMSNorm`."""

import math

import torch
from torch import nn

from assignments.a12_modern_block.answers.bank import BANK
from assignments.a12_modern_block.rubric import EPSILON, ROOT, rms
from assignments.common.slow import each_word
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import modern


def of_eight(x):
    """Eight sentences, and the first one in the place of all others."""
    if x.dim() < 3 or len(x) <= 8:
        return x
    return torch.cat([x[:8], x[:1].expand(len(x) - 8, *x.shape[1:])])


def normed_by_numbers(norm, x):
    """RMSNorm, number by number."""

    def of_word(word):
        total = word.new_zeros(())
        for j in range(len(word)):
            total = total + word[j] * word[j]
        root = (total / len(word) + norm.eps) ** 0.5
        return torch.stack([word[j] / root * norm.weight[j] for j in range(len(word))])

    return each_word(of_word, x)


def normed_by_products(norm, x):
    """RMSNorm, everything with everything."""
    square = torch.einsum("...i,...i->...", x, x).unsqueeze(-1) / x.shape[-1]
    scale = (torch.eye(x.shape[-1], dtype=x.dtype) * norm.weight).unsqueeze(0)
    return (((square + norm.eps) ** -0.5 * x).unsqueeze(-2) * scale).sum(-1).view_as(x)


ANSWERS = Answers(
    __name__, BANK, rms,
    """
    class RMSNorm(modern.RMSNorm):
        def forward(self, x):
            square = x.square().mean(dim=-1, keepdim=True)  # (..., 1)
            root = (square + self.eps).sqrt()
            normed = x / root
            return normed * self.weight
    """,
    math=math, torch=torch, nn=nn, modern=modern, of_eight=of_eight,
    normed_by_numbers=normed_by_numbers, normed_by_products=normed_by_products,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("mean subtracted", "x = x - x.mean(dim=-1, keepdim=True)", ROOT,
     "Your numbers match a norm that subtracts the mean of the features first. That is layer norm. RMSNorm subtracts "
     "nothing.")
slip("sum of squares instead of their mean", "square = x.square().sum(dim=-1, keepdim=True)", ROOT,
     "You divide by the root of the sum of squares, which is the length of the token. The mean divides this sum by the "
     "number of features first.")
slip("variance instead of the mean square", "square = x.var(dim=-1, keepdim=True, correction={correction})", ROOT,
     "You divide by the spread around the mean of the features, as `var` or `std` give it. Here no mean is subtracted, "
     "so the squares are those of x itself.",
     each={"correction": (0, 1)})
slip("divided by one less than the number of features",
     "square = x.square().sum(dim=-1, keepdim=True) / max(x.shape[-1] - 1, 1)", ROOT,
     "Your mean of squares divides by one less than the number of features.")
slip("mean over other axes than the features",
     "square = x.square().mean({axis}) if x.dim() > 1 else x.square().mean()", ROOT,
     "Your mean runs over words or sentences, too. Each token is divided by a number of its own, so the mean runs over "
     "the last axis alone.",
     each={"axis": ("", "dim=-2, keepdim=True", "dim=0, keepdim=True")})
slip("square of the mean", "square = x.mean(dim=-1, keepdim=True).square()", ROOT,
     "You take the mean first and square it. The mean is taken of the squares.")
slip("largest feature instead of the mean square", "square = x.abs().amax(dim=-1, keepdim=True).square()", ROOT,
     "You divide by the largest feature in size. The formula divides by the root of the mean of all squares.")
ABSOLUTE = (
    "You divide by the mean of the absolute values. A root mean square squares first, takes the mean, and then the "
    "root."
)
slip("mean of absolute values", "square = x.abs().mean(dim=-1, keepdim=True).square()", ROOT, ABSOLUTE)
slip("ε outside the root", "root = square.sqrt() + self.eps", EPSILON,
     "You add ε after the root is taken. It stands under the root, where it is added to the mean square.",
     published=("allenai/OLMo#281",
                "The root mean square is taken from the length of the token, and ε is added behind it."))
slip("the larger of mean square and ε", "root = square.clamp(min=self.eps).sqrt()", EPSILON,
     "You take the larger of the mean square and ε, as `clamp` does. ε is added.")
slip("ε fixed", "root = (square + {eps}).sqrt()", EPSILON,
     "Your ε is a fixed number. It is the argument `eps` of the constructor.",
     each={"eps": (1e-6, 1e-5, 1e-8, 1e-7, 1e-4, 1e-3)})
slip("ε left out", "root = square.sqrt()", EPSILON,
     "ε does not show in your numbers. It is added to the mean square, under the root, so that the root of a token of "
     "zeros is not zero either.")
slip("ε divided by the number of features", "root = (square + self.eps / len(self.weight)).sqrt()", EPSILON,
     "You add ε to the sum of the squares, before it is divided by the number of features. It is added to their mean.")
slip("ε squared", "root = (square + self.eps**2).sqrt()", EPSILON,
     "You add the square of ε under the root. ε itself is added to the mean square.")
slip("no root", "root = square + self.eps", ROOT,
     "You divide by the mean square itself. Its root is missing.")
slip("multiplied instead of divided", "normed = x * root", ROOT,
     "You multiply by the root of the mean square. A token is divided by it. (`rsqrt` is one over the root already, so "
     "its result is multiplied with.)",
     published=("mosaicml/llm-foundry#371",
                "`torch.rsqrt` is one over the root already, so dividing by it multiplies by the root."))
slip("ε added to the token as well", "normed = (x + self.eps) / root", EPSILON,
     "You add ε to the token itself, too. It is added to the mean square under the root and nowhere else.")
slip("weight not used", "return normed", ROOT,
     "Your `weight` is there and not used. Each feature is multiplied by its own entry of it.")
slip("weight added", "return normed + self.weight", ROOT,
     "You add `weight`. Each feature is multiplied by its own entry of it.")
slip("one plus the weight", "return normed * (1 + self.weight)", ROOT,
     "You multiply by 1 + `weight`, as some models do whose weight begins with zeros. Here it begins with ones and is "
     "multiplied with as it is.")
slip("weight before the norm", "x = x * self.weight; return normed", ROOT,
     "You multiply by `weight` before the mean of the squares is taken, so the norm undoes a part of it. The token is "
     "divided first, and scaled then.")
slip("mean of absolute values", "normed = x / (x.abs().mean(dim=-1, keepdim=True) + self.eps)", ROOT, ABSOLUTE)
slip("float32 always", "return (normed * self.weight).float()", EPSILON,
     "Your result is float32 whatever the input is. A float64 input gives a float64 result.")
slip("x changed in place", """
    with torch.no_grad():
        x.div_(root)
    normed = x
""", EPSILON,
     "You change x itself, for example by `/=` or `mul_`. Whoever called the norm still needs x, because a residual "
     "connection adds it later.")
slip("root without gradient", "root = (square.detach() + self.eps).sqrt()", EPSILON,
     "No gradient flows through your root of the mean square, because of `detach`, `item` or `no_grad`. The root "
     "depends on x, too.")

right = ANSWERS.right
right("ByRsqrt", "return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))")
# the length of a token, divided by the root of its width
right("ByTheLength", "square = torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 / x.shape[-1]")
right("ByEinsum", "square = torch.einsum('...f,...f->...', x, x)[..., None] / x.size(-1)")
right("TokenByToken", """
    rows = [row / ((row @ row) / len(row) + self.eps) ** 0.5 for row in x.reshape(-1, x.shape[-1])]
    normed = torch.stack(rows).reshape(x.shape)
""")
right("FromMeanAndVariance", """
    mean = x.mean(-1, keepdim=True)
    square = x.var(-1, keepdim=True, correction=0) + mean**2
    normed = x * (square + self.eps) ** -0.5
""")
right("BuiltOfParameters", """
    def __init__(self, features, eps=1e-6):
        nn.Module.__init__(self)
        self.weight = nn.Parameter(torch.empty(features))
        nn.init.ones_(self.weight)
        self.register_buffer("epsilon", torch.tensor(eps), persistent=False)

    square = (x * x).sum(-1, keepdim=True) / x.shape[-1]
    return x.div((square + self.epsilon).sqrt()).mul(self.weight)
""")
right("WithAReset", """
    def __init__(self, features, eps=1e-6):
        super().__init__(features, eps)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.constant_(self.weight, 1.0)

    def norm(self, x):
        return x / (x.square().mean(-1, keepdim=True) + self.eps).sqrt()

    normed = self.norm(x)
""")
right("InDoublePrecision", """
    wide = x.double()
    normed = (wide / (wide.square().mean(-1, keepdim=True) + self.eps).sqrt()).to(x.dtype)
""")
# as in LLaMA's own code, without its detour through float32
right("AsInLlama", """
    def __init__(self, features, eps=1e-6):
        nn.Module.__init__(self)
        self.weight = nn.Parameter(torch.ones(features))
        self.variance_epsilon = eps

    variance = x.pow(2).mean(-1, keepdim=True)
    normed = x * torch.rsqrt(variance + self.variance_epsilon)
""")
right("ByHypot", """
    size = x.norm(dim=-1, keepdim=True) / math.sqrt(self.weight.numel())
    root = torch.hypot(size, torch.tensor(math.sqrt(self.eps)).to(x))
""")
right("ByVmap", """
    def one(self, token):
        return token / torch.sqrt(torch.dot(token, token) / len(token) + self.eps)

    normed = torch.func.vmap(self.one)(x.reshape(-1, x.shape[-1])).view(x.shape)
""")
right("ByCallingItself", """
    if x.dim() > 1:
        return torch.stack([self.forward(row) for row in x])
    return self.weight * x / torch.sqrt(sum(number * number for number in x) / len(x) + self.eps)
""")
right("EpsilonInsideTheMean", "root = torch.sqrt((x**2 + self.eps).mean(dim=-1, keepdim=True))")
right("NormNumberByNumber", "return normed_by_numbers(self, x)", slow=LOOPS)
right("NormByProducts", "return normed_by_products(self, x)", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("ZerosFirst", """
    def __init__(self, features, eps=1e-6):
        super().__init__(features, eps)
        nn.init.zeros_(self.weight)
""", told="wrong about what a new module holds")
wrong("WithABias", """
    def __init__(self, features, eps=1e-6):
        super().__init__(features, eps)
        self.bias = nn.Parameter(torch.zeros(features))

    return normed * self.weight + self.bias
""", told="wrong about what a new module holds")
# keeps the roots of its first call, as long as there are as many tokens
wrong("RemembersItsRoots", """
    if not hasattr(self, "roots") or self.roots.shape[:-1] != x.shape[:-1]:
        self.roots = (square + self.eps).sqrt()
    root = self.roots
""", told=("wrong after another call", "each row has a factor of its own"))
# as in LLaMA's own code
wrong("WithADetourThroughSingle", """
    wide = x.to(torch.float32)
    normed = (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
""", told=("rounded", "wrong in float64"))
wrong("ThreeAxesAlone", "square = (x**2).mean(dim=2, keepdim=True)", told="stops with IndexError")
wrong("OneWeightForAllFeatures", """
    def __init__(self, features, eps=1e-6):
        super().__init__(features, eps)
        self.weight = nn.Parameter(torch.ones(1))
""", told="weights of another shape")
wrong("LargerInTrainMode", "return normed * self.weight * (1.1 if self.training else 1.0)",
      told=("wrong by a constant factor", "wrong in train mode"))
wrong("EightSentencesAtMost", "x = of_eight(x)", told="right in part")
careless(ANSWERS, in_float32=None, turned_in_place=None, one_shape="another number of axes")  # two have names
