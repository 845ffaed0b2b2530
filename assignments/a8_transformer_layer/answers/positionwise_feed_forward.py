"""Answers to `PositionwiseFeedForward`."""

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a8_transformer_layer.answers.bank import BANK
from assignments.a8_transformer_layer.rubric import MAPS_DROP, TWO_MAPS, feed_forward
from assignments.common.layers import DEFAULT
from assignments.common.slow import each_word, mapped, mapped_at_once, rectified
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import layers

TRAILING = (
    "Your result is never negative, because a ReLU follows `w_2`. What is added to a word must also be able to take "
    "something away from it. Between which two steps does the one ReLU belong?"
)
MIXED = (
    "A word's result depends on other words of its sentence. *Position-wise* means that each word passes through the "
    "network on its own. Which axis does `nn.Linear` work on, and which ones does it leave alone?"
)
OWN_WORK = (
    "Your network does more than it should, because {} in it. That is the layer's work, in part 2. Here, return what "
    "`w_2` gives."
)
IN_EITHER_MODE = (
    "Whatever `dropout` is, the same share of numbers is dropped, and in eval mode as well. `F.dropout`, or an "
    "`nn.Dropout` that is made anew in every call, knows neither your argument nor the mode of your module. Who tells "
    "it?"
)
BARE_1 = "self.w_1 = nn.Linear(d_model, d_ff, bias=False)"
BARE_2 = "self.w_2 = nn.Linear(d_ff, d_model, bias=False)"
SHARES = {"share": (DEFAULT, 0.5), "named": ("a tenth", "half")}  # of dropout without the argument

ANSWERS = Answers(
    __name__, BANK, feed_forward,
    """
    class PositionwiseFeedForward(nn.Module):
        def __init__(self, d_model, d_ff, dropout=0.1):
            super().__init__()
            self.w_1 = nn.Linear(d_model, d_ff)
            self.w_2 = nn.Linear(d_ff, d_model)
            self.dropout = nn.Dropout(dropout)

        def between(self, hidden):
            return self.dropout(torch.relu(hidden))

        def forward(self, x):
            return self.w_2(self.between(self.w_1(x)))
    """,
    torch=torch, nn=nn, F=F, each_word=each_word, mapped=mapped, mapped_at_once=mapped_at_once, rectified=rectified,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("trailing ReLU", "def forward(self, x): return torch.relu(super().forward(x))", TWO_MAPS,
     TRAILING,
     published=("namedtensor/notation#72", "A second ReLU follows at the end."))
slip("the ReLU at the end instead of between",
     "def forward(self, x): return torch.relu(self.w_2(self.dropout(self.w_1(x))))", TWO_MAPS,
     TRAILING,
     published=("goruck/nilm#1", "The activation follows the second map, and there is none between the two."))
slip("the ReLU before both maps",
     "def forward(self, x): return self.w_2(self.dropout(self.w_1(torch.relu(x))))", TWO_MAPS,
     "Your ReLU works on x, before `w_1`, so it removes everything negative from a word, and the two maps after it "
     "are no more than one. Where does the formula have it?")
slip("tokens mixed: the average of all words",
     "def forward(self, x): return super().forward(x.mean(dim=1, keepdim=True).expand_as(x))", TWO_MAPS, MIXED)
slip("tokens mixed: one vector for a sentence", "def forward(self, x): return super().forward(x.mean(dim=1))", TWO_MAPS,
     "You return one vector for each sentence. Every word should get its own result, so the result has the shape of "
     "x, (B, T, d_model).")
slip("tokens mixed: sums over earlier words", "def forward(self, x): return super().forward(x.cumsum(dim=1))", TWO_MAPS,
     MIXED)
slip("residual inside the network", "def forward(self, x): return x + super().forward(x)", TWO_MAPS,
     OWN_WORK.format("x is added to the result"))
slip("residual and norm inside the network",
     "def forward(self, x): return F.layer_norm(x + super().forward(x), x.shape[-1:])", TWO_MAPS,
     OWN_WORK.format("there are a residual connection and a norm"))
slip("norm inside the network", "def forward(self, x): return F.layer_norm(super().forward(x), x.shape[-1:])", TWO_MAPS,
     OWN_WORK.format("the result is normalised"))
slip("second map missing", "def forward(self, x): return self.between(self.w_1(x))", TWO_MAPS,
     "Your result has the width d_ff, since `w_2` is not applied. That map leads back to d_model.")
slip("dropout on the result", "def forward(self, x): return self.dropout(self.w_2(torch.relu(self.w_1(x))))", MAPS_DROP,
     "You drop what `w_2` gives. In this network the dropout is between the two maps, while its result is dropped by "
     "the layer, in part 2.")
slip("dropout on the input", "def forward(self, x): return self.w_2(torch.relu(self.w_1(self.dropout(x))))", MAPS_DROP,
     "You drop numbers of x, before `w_1`. The text drops the numbers between the two maps.")
slip("no ReLU", "def between(self, hidden): return self.dropout(hidden)", TWO_MAPS,
     "There is no ReLU between your two linear maps. Without it they are no more than a single linear map, however "
     "large `d_ff` is.")
slip("GELU", "def between(self, hidden): return self.dropout(F.gelu(hidden))", TWO_MAPS,
     "Your activation is the GELU. Many later models use it, but the text and the original paper have the ReLU, "
     "max(0, a).")
slip("sigmoid", "def between(self, hidden): return self.dropout(hidden.sigmoid())", TWO_MAPS,
     "Your activation is the sigmoid, which squeezes every number between 0 and 1. The text has the ReLU, max(0, a).")
slip("softmax", "def between(self, hidden): return self.dropout(hidden.softmax(dim=-1))", TWO_MAPS,
     "Between your maps there is a softmax. The numbers there are no weights, so nothing has to sum to one. The text "
     "has the ReLU, max(0, a).")
slip("tokens mixed: the average inside", """
    def between(self, hidden):
        return self.dropout(torch.relu(hidden).mean(dim=1, keepdim=True).expand_as(hidden))
""", TWO_MAPS, MIXED)
slip("no dropout", "def between(self, hidden): return torch.relu(hidden)", MAPS_DROP,
     "In train mode nothing is dropped. The numbers between the two maps should be dropped with the probability "
     "`dropout`.")
slip("dropout in eval mode",
     "def between(self, hidden): return F.dropout(torch.relu(hidden), self.dropout.p)", MAPS_DROP,
     "Your network also drops numbers in eval mode. `nn.Dropout` follows the mode by itself, but `F.dropout` must be "
     "told. What does its argument `training` mean?")
slip("a fixed dropout in either mode",
     "def between(self, hidden): return F.dropout(torch.relu(hidden), {share})", MAPS_DROP,
     IN_EITHER_MODE,
     each={"share": SHARES["share"]})
slip("leaky ReLU", "def between(self, hidden): return self.dropout(F.leaky_relu(hidden))", TWO_MAPS,
     "Negative numbers get through your activation and only become smaller. The text has the ReLU, max(0, a), so "
     "whatever is negative becomes 0.")
slip("tanh", "def between(self, hidden): return self.dropout(hidden.tanh())", TWO_MAPS,
     "Your activation is the hyperbolic tangent, which squeezes every number between −1 and 1. The text has the "
     "ReLU, max(0, a).")
slip("ReLU6", "def between(self, hidden): return self.dropout(F.relu6(hidden))", TWO_MAPS,
     "Your activation cuts off what is above 6. The text has the ReLU, max(0, a), without an upper end.")
slip("minimum for maximum", "def between(self, hidden): return self.dropout(hidden.clamp(max=0))", TWO_MAPS,
     "Your activation keeps the negative numbers. The ReLU is max(0, a). Which numbers become 0?")
slip("absolute value", "def between(self, hidden): return self.dropout(hidden.abs())", TWO_MAPS,
     "Your activation turns negative numbers into positive ones. In the text they become 0.")
slip("dropout taken and not kept", "dropout = {share}", MAPS_DROP,
     "Whatever `dropout` is, your network drops {named}. What becomes of the argument?",
     each=SHARES)
# no width goes with a share of dropout, since no sentence is true of both
slip("d_ff not used", "d_ff = {times} * d_model; dropout = dropout", TWO_MAPS,
     "The number of inner features of your network follows from `d_model`. It is the argument `d_ff`.",
     each={"times": (4, 2, 1)})
slip("d_ff a fixed number", "d_ff = {width}; dropout = dropout", TWO_MAPS,
     "Your network has one number of inner features, whatever `d_ff` is. What becomes of the argument?",
     each={"width": (2048, 512)})
slip("maps without bias", "{bare}", TWO_MAPS,
     "The two maps are `nn.Linear` as PyTorch makes them, each with a bias. In your network, at least one of them "
     "has none.",
     each={"bare": (f"{BARE_1}; {BARE_2}", BARE_1, BARE_2)})

right = ANSWERS.right
right("NetworkInOneLine",
      "def forward(self, x): return self.w_2(F.dropout(F.relu(self.w_1(x)), self.dropout.p, self.training))")
right("NetworkDroppingBeforeTheReLU", "def between(self, hidden): return self.dropout(hidden).clamp(min=0)")
right("NetworkWithAModuleForEachStep", """
    self.activation = nn.ReLU(inplace=True)
    self.dropout = nn.Dropout(dropout, inplace=True)
    def forward(self, x):
        for step in (self.w_1, self.activation, self.dropout, self.w_2):
            x = step(x)
        return x
""")
right("NetworkAsASequential", """
    self.all = nn.Sequential(self.w_1, nn.ReLU(), nn.Dropout(dropout), self.w_2)
    self.dropout = self.all[2]
    def forward(self, x):
        return self.all(x)
""")
right("NetworkByEinsum", """
    def forward(self, x):
        hidden = torch.einsum("btd,fd->btf", x, self.w_1.weight) + self.w_1.bias
        hidden = torch.maximum(hidden, hidden.new_zeros(()))
        if self.training:
            keep = torch.empty_like(hidden).bernoulli_(1 - self.dropout.p)
            hidden = hidden * keep / (1 - self.dropout.p)
        return torch.einsum("btf,df->btd", hidden, self.w_2.weight) + self.w_2.bias
""")
right("NetworkWordByWord", """
    def forward(self, x):
        rows = []
        for sentence in x:
            words = []
            for word in sentence:
                hidden = self.w_1.weight @ word + self.w_1.bias
                words.append(self.w_2.weight @ self.dropout(hidden * (hidden > 0)) + self.w_2.bias)
            rows.append(torch.stack(words))
        return torch.stack(rows)
""")
right("NetworkOnAFlatList", """
    for layer in (self.w_1, self.w_2):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
    self.register_buffer("unused", torch.zeros(3))
    self.dropout = nn.Dropout(p=dropout)
    def forward(self, x):
        return super().forward(x.reshape(-1, x.shape[-1])).view(x.shape)
""")
right("NetworkWithHandWrittenDropout", """
    def between(self, hidden):
        hidden, p = torch.relu(hidden), self.dropout.p
        if self.training and p > 0:
            hidden = hidden * (torch.rand_like(hidden) >= p).to(hidden.dtype) / (1 - p)
        return hidden
""")
right("NetworkWithAMapOverWords", """
    def forward(self, x):
        inner = torch.vmap(torch.vmap(lambda word: self.w_1.weight @ word + self.w_1.bias))
        return self.w_2(self.dropout(inner(x).clamp(min=0)))
""")
right("NetworkNumberByNumber", """
    def word(self, word):
        return mapped(self.w_2, self.dropout(rectified(mapped(self.w_1, word))))
    def forward(self, x):
        return each_word(self.word, x)
""", slow=LOOPS)
right("NetworkByBroadcasting", """
    def forward(self, x):
        hidden = mapped_at_once(self.w_1, x)
        return mapped_at_once(self.w_2, self.dropout(hidden * (hidden > 0)))
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("NetworkDroppingTwice", "def forward(self, x): return self.dropout(super().forward(x))",
      named="dropout on the result")
wrong("NetworkThatDropsOthers", "dropout = 1 - dropout", named="`dropout` taken for the share that is kept")
wrong("NetworkWithItsOwnDefault", """
    def __init__(self, d_model, d_ff, dropout=0.5):
        super().__init__(d_model, d_ff, dropout)
""", told="wrong in train mode with dropout")
for name, dropped in (
    ("NetworkThatDoesNotScaleWhatIsLeft", "self.dropout(hidden) * (1 - self.dropout.p * self.training)"),
    ("NetworkThatDropsWholeWords", "hidden * self.dropout(torch.ones_like(hidden[..., :1]))"),
    ("NetworkThatDropsTheSameOfAllWords", "hidden * self.dropout(torch.ones_like(hidden[:1, :1]))"),
):
    wrong(name, f"def between(self, hidden): hidden = torch.relu(hidden); return {dropped}",
          told="wrong in train mode with dropout")
wrong("NetworkThatDropsTheSameEachTime", """
    def between(self, hidden):
        hidden, p = torch.relu(hidden), self.dropout.p
        if not self.training:
            return hidden
        return hidden * (torch.rand(hidden.shape, generator=torch.Generator().manual_seed(0)) >= p) / (1 - p)
""", told="wrong in train mode with dropout")
wrong("HalfOfTheWordsDropLikeTheOthers", """
    def between(self, hidden):
        mask, half = self.dropout(torch.ones_like(hidden)), hidden.shape[1] // 2
        return hidden.relu() * torch.cat([mask[:, :half], mask[:, :half], mask[:, 2 * half :]], dim=1)
""", told="wrong in train mode with dropout")
wrong("NetworkWithASoftmaxOverTheSentence", "def forward(self, x): return self.w_2(self.w_1(x).softmax(dim=1))")
wrong("NetworkThatMixesTheBatch", "def forward(self, x): return super().forward(x - x.mean(dim=0, keepdim=True))")
wrong("NetworkForOneSentence", "def forward(self, x): return super().forward(x[0]).expand_as(x)",
      told="in another order")
wrong("NetworkOnTheWrongAxisOfSquares", """
    def forward(self, x):
        square = x.shape[1] == x.shape[2]
        return super().forward(x.mT).mT if square else super().forward(x)
""")
wrong("NetworkOfHalfTheWidth", "d_ff = d_ff // 2", told="weights of another shape")
for name, maps, told in (
    ("NetworkWithMapsOfOtherNames", "nn.ModuleList", "weights with other names"),
    ("NetworkWithMapsInAList", "list", "weights that are not found"),
):
    wrong(name, f"""
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__(d_model, d_ff, dropout)
        self.maps = {maps}([self.w_1, self.w_2])
        del self.w_1, self.w_2
    def forward(self, x):
        return self.maps[1](self.between(self.maps[0](x)))
""", told=told)
wrong("NetworkWithDetachedWeights",
      "def forward(self, x): return self.w_2(self.between(x @ self.w_1.weight.data.T + self.w_1.bias))",
      told=("no gradient", "wrong about gradients"))
wrong("NetworkForFloat32Input", "def forward(self, x): return super().forward(x @ torch.eye(x.shape[-1]))",
      told=("stops with RuntimeError", "wrong in float64"))
wrong("NetworkThatReturnsAPair", "def forward(self, x): return super().forward(x), None",
      told="more results than asked")
wrong("HiddenOfTheFirstCall", """
    def between(self, hidden):
        if self.training:
            return super().between(hidden)
        if not hasattr(self, "hidden") or self.hidden.shape != hidden.shape:
            self.hidden = hidden
        return torch.relu(self.hidden)
""", told="wrong after another call")
careless(ANSWERS)
# fmt: on


@BANK.right("PositionwiseFeedForward")
class NetworkOfProperties(nn.Module):
    """The maps stand in a list, and properties have the names that are asked for."""

    w_1 = property(lambda self: self.net[0])
    w_2 = property(lambda self: self.net[-1])

    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
        )

    def forward(self, x):
        return self.net(x)


@BANK.right("PositionwiseFeedForward")
class NetworkThatIsASequential(nn.Sequential):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.add_module("w_1", nn.Linear(d_model, d_ff))
        self.add_module("relu", nn.ReLU())
        self.add_module("dropout", nn.Dropout(dropout))
        self.add_module("w_2", nn.Linear(d_ff, d_model))


@BANK.wrong("PositionwiseFeedForward", told="no module")
class NetworkThatIsNoModule:
    def __init__(self, d_model, d_ff, dropout=0.1):
        self.inner = layers.PositionwiseFeedForward(d_model, d_ff, dropout)

    def forward(self, x):
        return self.inner(x)

    __call__ = forward
