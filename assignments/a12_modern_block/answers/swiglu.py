"""Answers to `SwiGLU`."""

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a12_modern_block.answers.bank import BANK

PART = "SwiGLU"


class Base(nn.Module):
    """What all answers here have in common: three maps without biases."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
class ByFunctional(Base):
    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))


@BANK.right(PART)
class ByModule(Base):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.w_down(self.w_up(x) * self.act(self.w_gate(x)))


@BANK.right(PART)
class BySigmoid(Base):
    def forward(self, x):
        gate = self.w_gate(x)
        return self.w_down(gate * torch.sigmoid(gate) * self.w_up(x))


@BANK.right(PART)
class ByThePower(Base):
    def forward(self, x):
        a = self.w_gate(x)
        return self.w_down(a / (1 + torch.exp(-a)) * self.w_up(x))


@BANK.right(PART)
class ByProducts(Base):
    def forward(self, x):
        a, b = x @ self.w_gate.weight.mT, x @ self.w_up.weight.mT
        return F.silu(a).mul(b) @ self.w_down.weight.mT


@BANK.right(PART)
class ByGlu(Base):
    """`F.glu` halves the features and multiplies by a sigmoid."""

    def forward(self, x):
        a, b = self.w_gate(x), self.w_up(x)
        return self.w_down(F.glu(torch.cat([a * b, a], dim=-1), dim=-1))


@BANK.right(PART)
class ByTanh(Base):
    """The sigmoid as a tanh of half the number."""

    def forward(self, x):
        a = self.w_gate(x)
        return self.w_down(a * (1 + torch.tanh(a / 2)) / 2 * self.w_up(x))


@BANK.right(PART)
class ByEinsum(Base):
    def forward(self, x):
        a = torch.einsum("...d,fd->...f", x, self.w_gate.weight)
        b = torch.einsum("...d,fd->...f", x, self.w_up.weight)
        return torch.einsum("...f,df->...d", F.silu(a) * b, self.w_down.weight)


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART, named="sigmoid instead of SiLU")
class PlainGlu(Base):
    def forward(self, x):
        return self.w_down(self.w_up(x) * torch.sigmoid(self.w_gate(x)))


@BANK.wrong(PART, named="GELU instead of SiLU")
class GeGlu(Base):
    def forward(self, x):
        return self.w_down(F.gelu(self.w_gate(x)) * self.w_up(x))


@BANK.wrong(PART, named="ReLU instead of SiLU")
class ReGlu(Base):
    def forward(self, x):
        return self.w_down(torch.relu(self.w_gate(x)) * self.w_up(x))


@BANK.wrong(PART, named="no SiLU")
class Bilinear(Base):
    def forward(self, x):
        return self.w_down(self.w_gate(x) * self.w_up(x))


@BANK.wrong(PART, named="tanh instead of SiLU")
class TanhGate(Base):
    def forward(self, x):
        return self.w_down(self.w_gate(x).tanh() * self.w_up(x))


@BANK.wrong(PART, named="SiLU with the wrong sign")
class SignOfThePower(Base):
    def forward(self, x):
        a = self.w_gate(x)
        return self.w_down(a / (1 + a.exp()) * self.w_up(x))


@BANK.wrong(PART, named="SiLU on the product")
class AroundTheProduct(Base):
    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x) * self.w_up(x)))


@BANK.wrong(PART, named="SiLU on both")
class OnBoth(Base):
    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * F.silu(self.w_up(x)))


@BANK.wrong(PART, named="added instead of multiplied")
class Sum(Base):
    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) + self.w_up(x))


@BANK.wrong(PART, named="no gate")
class OnlyTheGate(Base):
    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)))


@BANK.wrong(PART, named="no gate")
class OnlyUp(Base):
    def forward(self, x):
        return self.w_down(F.silu(self.w_up(x)))


@BANK.wrong(PART, named="SiLU after w_down")
class SiluAtTheEnd(Base):
    def forward(self, x):
        return F.silu(self.w_down(F.silu(self.w_gate(x)) * self.w_up(x)))


@BANK.wrong(PART, named="x added to the result")
class WithAResidual(Base):
    def forward(self, x):
        return x + self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))


@BANK.wrong(PART, named="a norm inside")
class WithANorm(Base):
    def forward(self, x):
        hidden = F.silu(self.w_gate(x)) * self.w_up(x)
        hidden = hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.w_down(hidden)


@BANK.wrong(PART, named="one map for both")
class OneMap(Base):
    def forward(self, x):
        a = self.w_gate(x)
        return self.w_down(F.silu(a) * a)


@BANK.wrong(PART, told="wrong about what a new module holds")
class WithBiases(Base):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.w_gate, self.w_up = nn.Linear(d_model, d_ff), nn.Linear(d_model, d_ff)
        self.w_down = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))


@BANK.wrong(PART, named="dropout inside")
class WithDropout(Base):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.w_down(self.dropout(F.silu(self.w_gate(x)) * self.w_up(x)))


@BANK.wrong(PART, named="float32 always")
class InSingle(Base):
    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x)).float()


@BANK.wrong(PART, told=("wrong with `forward`", "stops with RuntimeError", "stops with ValueError"))
class ThreeAxesAlone(Base):
    """Unpacks x into three axes."""

    def forward(self, x):
        B, T, _ = x.shape
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x)).reshape(B, T, -1)


@BANK.wrong(PART, named="dropout inside")
class WithDropoutAtTheEnd(Base):
    def forward(self, x):
        return F.dropout(self.w_down(F.silu(self.w_gate(x)) * self.w_up(x)), 0.5, self.training)


@BANK.wrong(PART, told="wrong after another call")
class RemembersItsGate(Base):
    """Keeps the gate of its first call, as long as there are as many tokens."""

    gate = None

    def forward(self, x):
        if self.gate is None or self.gate.shape[:-1] != x.shape[:-1]:
            self.gate = F.silu(self.w_gate(x))
        return self.w_down(self.gate * self.w_up(x))


@BANK.wrong(PART, named="d_ff made smaller once more")
class TwoThirdsOnceMore(Base):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, round(2 * d_ff / 3))

    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))


@BANK.wrong(PART, named=("d_ff made smaller once more", "ReLU instead of SiLU"))
class TwoThirdsAndReLU(TwoThirdsOnceMore):
    def forward(self, x):
        return self.w_down(F.relu(self.w_gate(x)) * self.w_up(x))


@BANK.wrong(PART, named="d_ff made smaller once more")
class TwoThirdsInStepsOf256(Base):
    """As LLaMA's own code has it."""

    def __init__(self, d_model, d_ff):
        d_ff = int(2 * d_ff / 3)
        super().__init__(d_model, 256 * ((d_ff + 256 - 1) // 256))

    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))


@BANK.wrong(PART, named="d_ff rounded up")
class ARoundWidth(Base):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, 8 * ((d_ff + 7) // 8))

    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))


@BANK.wrong(PART, told="weights of another shape")
class TwiceTheWidth(Base):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, 2 * d_ff)

    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))


@BANK.wrong(PART, named="d_ff not used")
class EightThirdsOfTheModel(Base):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, int(8 * d_model / 3))

    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))


@BANK.wrong(PART, named="1 + exp(−a) without brackets")
class BracketsForgotten(Base):
    def forward(self, x):
        a = self.w_gate(x)
        return self.w_down(a / 1 + torch.exp(-a) * self.w_up(x))


@BANK.wrong(PART, named="dropout inside, in eval mode as well")
class DropsInEitherMode(Base):
    def forward(self, x):
        return F.dropout(self.w_down(F.silu(self.w_gate(x)) * self.w_up(x)), 0.1)


@BANK.wrong(PART, told=("rounded", "wrong in float64"))
class GateInSingle(Base):
    def forward(self, x):
        gate = F.silu(self.w_gate(x).float()).to(x.dtype)
        return self.w_down(gate * self.w_up(x))


@BANK.wrong(PART, named="d_ff not used")
class FourTimesTheModel(Base):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, 4 * d_model)

    def forward(self, x):
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))
