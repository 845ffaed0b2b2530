"""`RMSNorm` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a12_modern_block.rubric import EPSILON, ROOT, rms
from autograder.checks.mistakes import called, costs, plain, variants
from course_utils import modern


class Norm(modern.RMSNorm):
    """The right norm in steps, each of which a mistake can change."""

    def centred(self, x):
        return x

    def mean_square(self, x):
        return x.square().mean(dim=-1, keepdim=True)

    def root(self, mean_square):
        return (mean_square + self.eps).sqrt()

    def divided(self, x, root):
        return x / root

    def scaled(self, y):
        return y * self.weight

    def forward(self, x):
        x = self.centred(x)
        return self.scaled(self.divided(x, self.root(self.mean_square(x))))


@rms.mistakes_in(Norm.centred, costs=ROOT)
class NormCentred:
    @called("mean subtracted")
    def mean_subtracted(self, x):
        """Your numbers match a norm that subtracts the mean of the features first. That is layer norm.
        RMSNorm subtracts nothing."""
        return x - x.mean(dim=-1, keepdim=True)


@rms.mistakes_in(Norm.mean_square, costs=ROOT)
class NormMeanSquare:
    @called("sum of squares instead of their mean")
    def total(self, x):
        """You divide by the root of the sum of squares, which is the length of the token. The mean divides
        this sum by the number of features first."""
        return x.square().sum(dim=-1, keepdim=True)

    @called("variance instead of the mean square")
    @variants("correction", (0, 1))
    def variance(self, x, correction):
        """You divide by the spread around the mean of the features, as `var` or `std` give it. Here no
        mean is subtracted, so the squares are those of x itself."""
        return x.var(dim=-1, keepdim=True, correction=correction)

    @called("divided by one less than the number of features")
    def unbiased(self, x):
        """Your mean of squares divides by one less than the number of features."""
        return x.square().sum(dim=-1, keepdim=True) / max(x.shape[-1] - 1, 1)

    @called("mean over other axes than the features")
    @variants("axes", ("all", "words", "first"))
    def other_axes(self, x, axes):
        """Your mean runs over words or sentences, too. Each token is divided by a number of its own, so the
        mean runs over the last axis alone."""
        if axes == "all" or x.dim() == 1:
            return x.square().mean().expand_as(x[..., :1])
        return x.square().mean(dim=-2 if axes == "words" else 0, keepdim=True)

    @called("square of the mean")
    def square_of_the_mean(self, x):
        """You take the mean first and square it. The mean is taken of the squares."""
        return x.mean(dim=-1, keepdim=True).square()

    @called("largest feature instead of the mean square")
    def largest(self, x):
        """You divide by the largest feature in size. The formula divides by the root of the mean of all
        squares."""
        return x.abs().amax(dim=-1, keepdim=True).square()

    @called("mean of absolute values")
    def absolute(self, x):
        """You divide by the mean of the absolute values. A root mean square squares first, takes the mean,
        and then the root."""
        return x.abs().mean(dim=-1, keepdim=True).square()


@rms.mistakes_in(Norm.root, costs=EPSILON)
class NormRoot:
    @called("ε outside the root")
    def outside(self, mean_square):
        """You add ε after the root is taken. It stands under the root, where it is added to the mean
        square."""
        return mean_square.sqrt() + self.eps

    @called("the larger of mean square and ε")
    def larger(self, mean_square):
        """You take the larger of the mean square and ε, as `clamp` does. ε is added."""
        return mean_square.clamp(min=self.eps).sqrt()

    @called("ε fixed")
    @variants("eps", (1e-6, 1e-5, 1e-8, 1e-7, 1e-4, 1e-3))
    def fixed(self, mean_square, eps):
        """Your ε is a fixed number. It is the argument `eps` of the constructor."""
        return (mean_square + eps).sqrt()

    @called("ε left out")
    def left_out(self, mean_square):
        """ε does not show in your numbers. It is added to the mean square, under the root, so that the
        root of a token of zeros is not zero either."""
        return mean_square.sqrt()

    @called("ε divided by the number of features")
    def in_the_sum(self, mean_square):
        """You add ε to the sum of the squares, before it is divided by the number of features. It is added to
        their mean."""
        return (mean_square + self.eps / len(self.weight)).sqrt()

    @called("ε squared")
    def squared(self, mean_square):
        """You add the square of ε under the root. ε itself is added to the mean square."""
        return (mean_square + self.eps**2).sqrt()

    @called("no root")
    @costs(ROOT)
    def no_root(self, mean_square):
        """You divide by the mean square itself. Its root is missing."""
        return mean_square + self.eps


@rms.mistakes_in(Norm.divided, costs=ROOT)
class NormDivided:
    @called("multiplied instead of divided")
    def multiplied(self, x, root):
        """You multiply by the root of the mean square. A token is divided by it. (`rsqrt` is one over the
        root already, so its result is multiplied with.)"""
        return x * root

    @called("ε added to the token as well")
    @costs(EPSILON)
    def with_epsilon(self, x, root):
        """You add ε to the token itself, too. It is added to the mean square under the root and nowhere
        else."""
        return (x + self.eps) / root


@rms.mistakes_in(Norm.scaled, costs=ROOT)
class NormScaled:
    @called("weight not used")
    def unscaled(self, y):
        """Your `weight` is there and not used. Each feature is multiplied by its own entry of it."""
        return y

    @called("weight added")
    def added(self, y):
        """You add `weight`. Each feature is multiplied by its own entry of it."""
        return y + self.weight

    @called("one plus the weight")
    def one_more(self, y):
        """You multiply by 1 + `weight`, as some models do whose weight begins with zeros. Here it begins
        with ones and is multiplied with as it is."""
        return y * (1 + self.weight)


@rms.mistake("weight before the norm", costs=ROOT)
class WeightFirst(Norm):
    """You multiply by `weight` before the mean of the squares is taken, so the norm undoes a part of it.
    The token is divided first, and scaled then."""

    def forward(self, x):
        x = x * self.weight
        return x / self.root(self.mean_square(x))


@rms.mistake("mean of absolute values", plain(NormMeanSquare.absolute.__doc__), costs=ROOT)
class MeanOfAbsoluteValues(Norm):
    def forward(self, x):
        return self.scaled(x / (x.abs().mean(dim=-1, keepdim=True) + self.eps))


@rms.mistake("float32 always", costs=EPSILON)
class AlwaysSingle(Norm):
    """Your result is float32 whatever the input is. A float64 input gives a float64 result."""

    def forward(self, x):
        return super().forward(x).float()


@rms.mistake("x changed in place", costs=EPSILON)
class InPlace(Norm):
    """You change x itself, for example by `/=` or `mul_`. Whoever called the norm still needs x, because a
    residual connection adds it later."""

    def forward(self, x):
        root = self.root(self.mean_square(x))
        with torch.no_grad():
            x.div_(root)
        return self.scaled(x)


@rms.mistake("root without gradient", costs=EPSILON)
class Detached(Norm):
    """No gradient flows through your root of the mean square, because of `detach`, `item` or `no_grad`. The
    root depends on x, too."""

    def root(self, mean_square):
        return Norm.root(self, mean_square.detach())
