"""`SwiGLU` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import math
from itertools import product

import torch
import torch.nn.functional as F

from assignments.a12_modern_block.rubric import GATE, GATE_MANNERS, gated
from autograder.checks.mistakes import called, costs, variants
from course_utils import modern


class Gated(modern.SwiGLU):
    """The right network in steps, each of which a mistake can change."""

    def __init__(self, d_model, d_ff):
        super().__init__(d_model, self.width(d_model, d_ff))

    def width(self, d_model, d_ff):
        return d_ff

    def opened(self, gate):
        return F.silu(gate)

    def product(self, gate, up):
        return self.opened(gate) * up

    def out(self, hidden):
        return self.w_down(hidden)

    def branches(self, x):
        return self.w_gate(x), self.w_up(x)

    def forward(self, x):
        return self.out(self.product(*self.branches(x)))


@gated.mistakes_in(Gated.opened, costs=GATE)
class GatedOpened:
    @called("sigmoid instead of SiLU")
    def sigmoid(self, gate):
        """Your gate is a sigmoid. SiLU(a) is a times the sigmoid of a."""
        return gate.sigmoid()

    @called("GELU instead of SiLU")
    @variants("approximate", ("none", "tanh"))
    def gelu(self, gate, approximate):
        """Your gate is a GELU. The formula asks for SiLU, a / (1 + exp(−a))."""
        return F.gelu(gate, approximate=approximate)

    @called("ReLU instead of SiLU")
    def relu(self, gate):
        """Your gate is a ReLU. The formula asks for SiLU, a / (1 + exp(−a))."""
        return F.relu(gate)

    @called("another activation than SiLU")
    @variants("name", ("softplus", "mish", "hardswish", "elu", "softsign", "softmax"))
    def another(self, gate, name):
        """Your gate goes through another function than SiLU. The formula asks for a / (1 + exp(−a)), which is
        `F.silu`."""
        return F.softmax(gate, dim=-1) if name == "softmax" else getattr(F, name)(gate)

    @called("a sigmoid that is too steep")
    def steep(self, gate):
        """Your gate is a · σ(1.702 a), which stands in for a GELU. In SiLU the sigmoid is that of a itself."""
        return gate * (1.702 * gate).sigmoid()

    @called("SiLU twice")
    def twice(self, gate):
        """SiLU is applied twice to the output of `w_gate`. Once is what the formula says."""
        return F.silu(F.silu(gate))

    @called("no SiLU")
    def bilinear(self, gate):
        """You multiply the two maps as they are. `w_gate` goes through SiLU first."""
        return gate

    @called("tanh instead of SiLU")
    def tanh(self, gate):
        """Your gate is a tanh. The formula asks for SiLU, a / (1 + exp(−a))."""
        return gate.tanh()

    @called("SiLU with the wrong sign")
    def wrong_sign(self, gate):
        """Your SiLU is a / (1 + exp(a)). The sign of a in the power is missing."""
        return gate * (-gate).sigmoid()


@gated.mistakes_in(Gated.product, costs=GATE)
class GatedProduct:
    @called("SiLU on w_up")
    def on_up(self, gate, up):
        """Your SiLU is on the output of `w_up`. It belongs on that of `w_gate`."""
        return gate * self.opened(up)

    @called("SiLU on the product")
    def on_the_product(self, gate, up):
        """You multiply first and put SiLU on the product. It belongs on the output of `w_gate` alone."""
        return self.opened(gate * up)

    @called("SiLU on both")
    def on_both(self, gate, up):
        """Your SiLU is on both maps. It belongs on the output of `w_gate` alone."""
        return self.opened(gate) * self.opened(up)

    @called("1 + exp(−a) without brackets")
    @variants("product_first", (True, False))
    def without_brackets(self, gate, up, product_first):
        """You divide by 1 and add exp(−a) afterwards, because a division comes before a sum. The whole
        denominator, 1 + exp(−a), stands in brackets."""
        if product_first:
            return gate + (-gate).exp() * up
        return (gate + (-gate).exp()) * up

    @called("added instead of multiplied")
    def added(self, gate, up):
        """You add the two maps. The gate multiplies, feature by feature."""
        return self.opened(gate) + up

    @called("no gate")
    @variants("kept", ("gate", "up"))
    def no_gate(self, gate, up, kept):
        """Your hidden units are SiLU of a single map, and the other one is not used. The two are
        multiplied."""
        return self.opened(gate if kept == "gate" else up)


@gated.mistakes_in(Gated.out, costs=GATE)
class GatedOut:
    @called("SiLU after w_down")
    def silu_last(self, hidden):
        """Another SiLU follows after `w_down`. The output of `w_down` is the result."""
        return self.opened(self.w_down(hidden))

    @called("a norm inside")
    def normed(self, hidden):
        """A norm stands before `w_down`. There is none inside the network."""
        return self.w_down(hidden / (hidden.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt())


@gated.mistakes_in(Gated.branches, costs=GATE)
class GatedBranches:
    @called("one map for both")
    @variants("name", ("w_gate", "w_up"))
    def one_map(self, x, name):
        """Gate and product use the same map. `w_gate` and `w_up` are two."""
        made = getattr(self, name)(x)
        return made, made


def in_steps_of_256(width):
    return -(int(width) // -256) * 256


@gated.mistakes_in(Gated.width, costs=GATE)
class GatedWidth:
    @called("d_ff made smaller once more")
    @variants("rounded", (math.floor, round, in_steps_of_256))
    def two_thirds(self, d_model, d_ff, rounded):
        """Your maps have two thirds of `d_ff` inner features. Whoever makes the network has chosen `d_ff`
        with this in mind already, so take it as it is."""
        return rounded(2 * d_ff / 3)

    @called("d_ff not used")
    @variants("times", (4, 2, 1, 8 / 3))
    def of_d_model(self, d_model, d_ff, times):
        """The number of inner features of your maps follows from `d_model`. It is the argument `d_ff`."""
        return int(times * d_model)

    @called("d_ff rounded up")
    @variants("step", (8, 16, 32, 64, 128, 256))
    def in_steps(self, d_model, d_ff, step):
        """Your maps have `d_ff` inner features, rounded up to the next multiple of a number of yours. Take
        `d_ff` as it is."""
        return -(d_ff // -step) * step


@gated.mistake("SiLU before the maps", costs=GATE)
class SiluOnTheInput(Gated):
    """Your SiLU acts on x, before `w_gate`. It belongs on the output of `w_gate`."""

    def branches(self, x):
        return self.w_gate(F.silu(x)), self.w_up(x)

    def opened(self, gate):
        return gate


@gated.mistake("x added to the result", costs=GATE)
class Residual(Gated):
    """Your network adds its input to the result. That is the business of the block."""

    def forward(self, x):
        return x + super().forward(x)


@gated.mistakes_in(Gated.out, costs=GATE_MANNERS)
class GatedDropping:
    @called("dropout inside")
    @variants("last, share", product((False, True), (0.1, 0.2, 0.5)))
    def dropping(self, hidden, last, share):
        """Your network drops some numbers in train mode. There is no dropout in it."""
        if last:
            return F.dropout(self.w_down(hidden), share, self.training)
        return self.w_down(F.dropout(hidden, share, self.training))

    @called("dropout inside, in eval mode as well")
    @costs(GATE)
    @variants("last", (False, True))
    def always_dropping(self, hidden, last):
        """Your network drops some numbers, and not in train mode alone, because `F.dropout` is not told the
        mode. There is no dropout in it."""
        if last:
            return F.dropout(self.w_down(hidden), 0.1)
        return self.w_down(F.dropout(hidden, 0.1))


@gated.mistake("float32 always", costs=GATE_MANNERS)
class AlwaysSingle(Gated):
    """Your result is float32 whatever the input is. A float64 input gives a float64 result."""

    def forward(self, x):
        return super().forward(x).to(torch.float32)
