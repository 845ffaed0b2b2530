"""Answers to `SwiGLU`."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a12_modern_block.answers.bank import BANK
from assignments.a12_modern_block.answers.rms_norm import of_eight
from assignments.a12_modern_block.rubric import GATE, GATE_MANNERS, gated
from assignments.common.slow import each_word, mapped, mapped_at_once
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import modern


def fed_by_numbers(network, x):
    """SwiGLU, number by number."""

    def of_word(word):
        gate, up = mapped(network.w_gate, word), mapped(network.w_up, word)
        inner = [gate[i] / (1 + (-gate[i]).exp()) * up[i] for i in range(len(up))]
        return mapped(network.w_down, torch.stack(inner))

    return each_word(of_word, x)


def fed_by_products(network, x):
    """SwiGLU, everything with everything."""
    gate = mapped_at_once(network.w_gate, x)
    w_up, w_down = network.w_up.weight, network.w_down.weight
    return torch.einsum("...f,fi,...i,of->...o", gate * gate.sigmoid(), w_up, x, w_down)


ANSWERS = Answers(
    __name__, BANK, gated,
    """
    class SwiGLU(modern.SwiGLU):
        def __init__(self, d_model, d_ff):
            super().__init__(d_model, d_ff)

        def forward(self, x):
            silu = F.silu
            gate, up = self.w_gate(x), self.w_up(x)  # (..., d_ff)
            hidden = silu(gate) * up
            output = self.w_down(hidden)
            return output
    """,
    math=math, torch=torch, nn=nn, F=F, partial=partial, modern=modern, of_eight=of_eight,
    fed_by_numbers=fed_by_numbers, fed_by_products=fed_by_products,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("sigmoid instead of SiLU", "silu = torch.sigmoid", GATE,
     "Your gate is a sigmoid. SiLU(a) is a times the sigmoid of a.")
slip("GELU instead of SiLU", "silu = {gelu}", GATE,
     "Your gate is a GELU. The formula asks for SiLU, a / (1 + exp(−a)).",
     each={"gelu": ("F.gelu", "partial(F.gelu, approximate='tanh')")})
slip("ReLU instead of SiLU", "silu = F.relu", GATE,
     "Your gate is a ReLU. The formula asks for SiLU, a / (1 + exp(−a)).")
slip("another activation than SiLU", "silu = {activation}", GATE,
     "Your gate goes through another function than SiLU. The formula asks for a / (1 + exp(−a)), which is `F.silu`.",
     each={"activation": ("F.softplus", "F.mish", "F.hardswish", "F.elu", "F.softsign", "nn.Softmax(dim=-1)")})
slip("a sigmoid that is too steep", "silu = lambda a: a * (1.702 * a).sigmoid()", GATE,
     "Your gate is a · σ(1.702 a), which stands in for a GELU. In SiLU the sigmoid is that of a itself.")
slip("SiLU twice", "silu = lambda a: F.silu(F.silu(a))", GATE,
     "SiLU is applied twice to the output of `w_gate`. Once is what the formula says.")
slip("no SiLU", "silu = nn.Identity()", GATE,
     "You multiply the two maps as they are. `w_gate` goes through SiLU first.")
slip("tanh instead of SiLU", "silu = torch.tanh", GATE,
     "Your gate is a tanh. The formula asks for SiLU, a / (1 + exp(−a)).")
slip("SiLU with the wrong sign", "silu = lambda a: a * (-a).sigmoid()", GATE,
     "Your SiLU is a / (1 + exp(a)). The sign of a in the power is missing.")
slip("SiLU on w_up", "hidden = gate * silu(up)", GATE,
     "Your SiLU is on the output of `w_up`. It belongs on that of `w_gate`.",
     published=("ml-explore/mlx-lm#767",
                "SiLU acts on the values instead of the gate, after an argument had changed its place."))
slip("SiLU on the product", "hidden = silu(gate * up)", GATE,
     "You multiply first and put SiLU on the product. It belongs on the output of `w_gate` alone.",
     published=("Nijikadesu/breakdown-minimind#3",
                "One bracket stands too far right, so SiLU acts on the product of both maps."))
slip("SiLU on both", "hidden = silu(gate) * silu(up)", GATE,
     "Your SiLU is on both maps. It belongs on the output of `w_gate` alone.")
slip("1 + exp(−a) without brackets", "hidden = {hidden}", GATE,
     "You divide by 1 and add exp(−a) afterwards, because a division comes before a sum. The whole denominator, 1 + "
     "exp(−a), stands in brackets.",
     each={"hidden": ("gate + (-gate).exp() * up", "(gate + (-gate).exp()) * up")})
slip("added instead of multiplied", "hidden = silu(gate) + up", GATE,
     "You add the two maps. The gate multiplies, feature by feature.")
slip("no gate", "hidden = silu({kept})", GATE,
     "Your hidden units are SiLU of a single map, and the other one is not used. The two are multiplied.",
     each={"kept": ("gate", "up")},
     published=("google-research/timesfm#493",
                "The activation is called SwiGLU and is SiLU, so nothing is multiplied."))
slip("SiLU after w_down", "output = silu(self.w_down(hidden))", GATE,
     "Another SiLU follows after `w_down`. The output of `w_down` is the result.")
slip("a norm inside",
     "output = self.w_down(hidden / (hidden.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt())", GATE,
     "A norm stands before `w_down`. There is none inside the network.")
slip("one map for both", "gate, up = [self.{name}(x)] * 2", GATE,
     "Gate and product use the same map. `w_gate` and `w_up` are two.",
     each={"name": ("w_gate", "w_up")})
slip("d_ff made smaller once more", "d_ff = {width}", GATE,
     "Your maps have two thirds of `d_ff` inner features. Whoever makes the network has chosen `d_ff` with this in "
     "mind already, so take it as it is.",
     each={"width": ("math.floor(2 * d_ff / 3)", "round(2 * d_ff / 3)", "-(int(2 * d_ff / 3) // -256) * 256")})
slip("d_ff not used", "d_ff = int({times} * d_model)", GATE,
     "The number of inner features of your maps follows from `d_model`. It is the argument `d_ff`.",
     each={"times": (4, 2, 1, 8 / 3)})
slip("d_ff rounded up", "d_ff = -(d_ff // -{step}) * {step}", GATE,
     "Your maps have `d_ff` inner features, rounded up to the next multiple of a number of yours. Take `d_ff` as it "
     "is.",
     each={"step": (8, 16, 32, 64, 128, 256)})
slip("SiLU before the maps", "silu = nn.Identity(); gate, up = self.w_gate(F.silu(x)), self.w_up(x)", GATE,
     "Your SiLU acts on x, before `w_gate`. It belongs on the output of `w_gate`.")
slip("x added to the result", "return x + output", GATE,
     "Your network adds its input to the result. That is the business of the block.")
DROPS = (
    "Your network drops some numbers in train mode. There is no dropout in it."
)
SHARES = {"share": (0.1, 0.2, 0.5)}
slip("dropout inside", "output = self.w_down(F.dropout(hidden, {share}, self.training))", GATE_MANNERS, DROPS,
     each=SHARES)
slip("dropout inside", "output = F.dropout(self.w_down(hidden), {share}, self.training)", GATE_MANNERS, DROPS,
     each=SHARES)
slip("dropout inside, in eval mode as well", "output = {dropping}", GATE,
     "Your network drops some numbers, and not in train mode alone, because `F.dropout` is not told the mode. There is "
     "no dropout in it.",
     each={"dropping": ("self.w_down(F.dropout(hidden, 0.1))", "F.dropout(self.w_down(hidden), 0.1)")})
slip("float32 always", "return output.float()", GATE_MANNERS,
     "Your result is float32 whatever the input is. A float64 input gives a float64 result.")

right = ANSWERS.right
right("ByFunctional", "return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))")
right("ByModule", """
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.act = nn.SiLU()

    hidden = up * self.act(gate)
""")
right("BySigmoid", "hidden = gate * torch.sigmoid(gate) * up")
right("ByThePower", "hidden = gate / (1 + torch.exp(-gate)) * up")
right("ByProducts", """
    gate, up = x @ self.w_gate.weight.mT, x @ self.w_up.weight.mT
    output = F.silu(gate).mul(up) @ self.w_down.weight.mT
""")
# `F.glu` halves the features and multiplies by a sigmoid
right("ByGlu", "hidden = F.glu(torch.cat([gate * up, gate], dim=-1), dim=-1)")
# the sigmoid as a tanh of half the number
right("ByTanh", "hidden = gate * (1 + torch.tanh(gate / 2)) / 2 * up")
right("ByEinsum", """
    gate = torch.einsum("...d,fd->...f", x, self.w_gate.weight)
    up = torch.einsum("...d,fd->...f", x, self.w_up.weight)
    output = torch.einsum("...f,df->...d", F.silu(gate) * up, self.w_down.weight)
""")
right("GateNumberByNumber", "return fed_by_numbers(self, x)", slow=LOOPS)
right("GateByProducts", "return fed_by_products(self, x)", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("WithBiases", """
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.w_gate, self.w_up = nn.Linear(d_model, d_ff), nn.Linear(d_model, d_ff)
        self.w_down = nn.Linear(d_ff, d_model)
""", told="wrong about what a new module holds")
wrong("ThreeAxesAlone", "B, T, _ = x.shape; return output.reshape(B, T, -1)",
      told=("wrong with `forward`", "stops with RuntimeError", "stops with ValueError"))
# keeps the gate of its first call, as long as there are as many tokens
wrong("RemembersItsGate", """
    if not hasattr(self, "gate") or self.gate.shape[:-1] != x.shape[:-1]:
        self.gate = F.silu(gate)
    hidden = self.gate * up
""", told="wrong after another call")
wrong("TwoThirdsAndReLU", "d_ff = round(2 * d_ff / 3); silu = F.relu",
      named=("d_ff made smaller once more", "ReLU instead of SiLU"))
wrong("TwiceTheWidth", "d_ff = 2 * d_ff", told="weights of another shape")
wrong("GateInSingle", "silu = lambda a: F.silu(a.float()).to(a.dtype)", told=("rounded", "wrong in float64"))
wrong("LearnedSlope", """
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.beta = nn.Parameter(torch.ones(1))

    hidden = gate * torch.sigmoid(self.beta * gate) * up
""", told="wrong about what a new module holds",
      published=("bkitano/llama-from-scratch#7",
                 "SiLU has a slope β of its own that is learned, so the module has a parameter too many."))
wrong("NetworkForEightSentences", "x = of_eight(x)", told="right in part")
careless(ANSWERS, in_float32=None, one_shape="another number of axes")  # the one has a name
