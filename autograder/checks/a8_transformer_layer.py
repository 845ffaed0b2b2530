"""Assignment 8: the position-wise feed-forward network and one layer of the encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.check import Assignment, Build, Case, Mistake, Part, Step
from autograder.compare import dropped, kind_of, numbers, two_results_differ, values_agree
from course_utils import layers, masks

LECTURE_7 = "../../lectures/07_layer_normalization.ipynb"
LECTURE_8 = "../../lectures/08_transformer.ipynb"
EVERYTHING = 1 - 1e-9  # a dropout that lets nothing through, also where it divides by 1 - p
DEFAULT = 0.1  # the dropout where none is given

# ----------------------------------------------------------------------------- what is drawn


def network(
    batch: int,
    length: int,
    d_model: int = 5,
    d_ff: int = 7,
    dropout: float | None = 0.0,
    *,
    positive: bool = False,
    twins: bool = False,
    **build: Any,
) -> Callable[..., Build]:
    """Draws a feed-forward network and x (batch, length, d_model).

    With ``positive``, inputs and weights are, and sums are large, so that a ReLU has nothing to do
    wherever it stands, nor a GELU: a case that asks about dropout then asks about nothing else.
    With ``twins``, all sentences are the first one, but for their last word.
    """

    def draw(generator: torch.Generator) -> Build:
        x = torch.randn(batch, length, d_model, generator=generator, dtype=torch.float64)
        state = {}
        if positive:
            x = x.abs() + 0.5
            shapes = {
                "w_1.weight": (d_ff, d_model), "w_1.bias": (d_ff,),
                "w_2.weight": (d_model, d_ff), "w_2.bias": (d_model,),
            }  # fmt: skip
            state = {
                name: torch.rand(shape, generator=generator) + 0.2 for name, shape in shapes.items()
            }
            state["w_1.bias"] += 6
        if twins:
            x[:, :-1] = x[:1, :-1].clone()
        return Build(
            construct=(d_model, d_ff) if dropout is None else (d_model, d_ff, dropout),
            arguments=[x.to(build.get("dtype", torch.float32))],
            state=state,
            **build,
        )

    return draw


def bare_dropout(generator: torch.Generator) -> Build:
    """Draws a network that does nothing but drop, from positive inputs, twice."""
    width = 40
    return Build(
        construct=(width, width),
        arguments=[torch.rand(2, 15, width, generator=generator) + 6.5],
        state={
            "w_1.weight": torch.eye(width), "w_1.bias": torch.zeros(width),
            "w_2.weight": torch.eye(width), "w_2.bias": torch.zeros(width),
        },
        training=True,
        times=2,
    )  # fmt: skip


def layer(
    batch: int,
    length: int,
    mask: str = "",
    *,
    sizes: tuple[int, int, int] = (12, 3, 10),
    dropout: float = 0.0,
    silent: tuple[str, ...] = (),
    twins: bool = False,
    **build: Any,
) -> Callable[..., Build]:
    """Draws a layer of these ``sizes`` (d_model, num_heads, d_ff), x (batch, length, d_model) and a
    mask. The linear maps in ``silent`` hold zeros. With ``twins``, all sentences are the first one,
    but for their last word.
    """

    def draw(generator: torch.Generator) -> Build:
        d_model, heads, d_ff = sizes
        dtype = build.get("dtype", torch.float32)
        x = torch.randn(batch, length, d_model, generator=generator, dtype=torch.float64)
        if twins:
            x[:, :-1] = x[:1, :-1].clone()
        arguments = [x.to(dtype)]
        if mask:
            arguments.append(drawn_mask(mask, batch, heads, length, generator))
        widths = {"self_attn.w_o": d_model, "feed_forward.w_2": d_ff}
        state = {}
        for name in silent:
            state[f"{name}.weight"] = torch.zeros(d_model, widths[name])
            state[f"{name}.bias"] = torch.zeros(d_model)
        return Build(construct=(*sizes, dropout), arguments=arguments, state=state, **build)

    return draw


def drawn_mask(
    kind: str, batch: int, heads: int, length: int, generator: torch.Generator
) -> Tensor:
    """A mask of one of the shapes in which masks come."""
    if kind == "causal":  # (T, T)
        return torch.ones(length, length, dtype=torch.bool).tril()
    if kind == "padding":  # (B, 1, 1, T): the last word of all sentences but the first two is seen
        mask = torch.ones(batch, 1, 1, length, dtype=torch.bool)
        mask[:2, ..., -1] = False
        return mask
    shape = (batch, heads if kind == "each head" else 1, length, length)
    mask = torch.rand(shape, generator=generator) < 0.6
    seen = torch.randint(length, (*shape[:3], 1), generator=generator)
    mask.scatter_(3, seen, True)
    mask.scatter_(3, (seen + 1) % length, False)
    if kind == "empty rows":  # (B, 1, T, T), one row of each sentence sees nothing
        mask[:, :, 1] = False
    if kind in ("last word", "last word, each head"):  # hidden in half of the rows, as in twins
        mask = mask[:1].expand(shape).clone()
        mask[:, :, ::2, -1] = False
        mask[:, :, 1::2, -1] = True
        mask[:, :, :, 0] = True
    return mask


QUIET_WIDTH = 12
QUIET_WORD = torch.linspace(-1, 1, QUIET_WIDTH)
LOUD = 0.4  # beyond it, a number of `one_loud_sublayer` is no rounding of 0


def one_hidden_number(norms: int = 2, inputs: int = 1) -> Callable[..., Build]:
    """Draws a layer whose feed-forward network has a single number inside, d_ff = 1.

    The norm before it gives the same word everywhere, so what the layer returns for a word tells
    whether this one number was dropped: then nothing is added, and the word stays as it was.
    """
    signs = torch.ones(QUIET_WIDTH)
    signs[::2] = -1
    before, last = f"layer_norm{norms - 1}", f"layer_norm{norms}"
    state = {
        f"{before}.weight": torch.zeros(QUIET_WIDTH), f"{before}.bias": QUIET_WORD,
        "feed_forward.w_1.weight": torch.zeros(1, QUIET_WIDTH),
        "feed_forward.w_1.bias": torch.ones(1),
        "feed_forward.w_2.weight": signs.unsqueeze(1),
        "feed_forward.w_2.bias": torch.zeros(QUIET_WIDTH),
        f"{last}.weight": torch.ones(QUIET_WIDTH), f"{last}.bias": torch.zeros(QUIET_WIDTH),
    }  # fmt: skip

    def draw(generator: torch.Generator) -> Build:
        shape = (250, 4, QUIET_WIDTH)
        return Build(
            construct=(QUIET_WIDTH, 3, 1),
            arguments=[torch.randn(shape, generator=generator) for _ in range(inputs)],
            state=state,
            training=True,
            times=2,
        )

    return draw


def one_loud_sublayer(
    loud: str, silent: tuple[str, ...], norms: int = 2, inputs: int = 1
) -> Callable[..., Build]:
    """Draws a layer whose inputs are 0, and in which one sublayer gives the same for each feature.

    Its last linear map, ``loud``, has this number as bias; the other sublayers' maps, ``silent``,
    give 0. So all features of a word are equal, and the norms make 0 of them, unless some were
    dropped: those are negative in the result, and the others are positive.
    """
    d_ff = 10
    state = {}
    for name in (loud, *silent):
        width = d_ff if name == "feed_forward.w_2" else QUIET_WIDTH
        state[f"{name}.weight"] = torch.zeros(QUIET_WIDTH, width)
        state[f"{name}.bias"] = torch.full((QUIET_WIDTH,), 8.0 if name == loud else 0.0)
    for number in range(1, norms + 1):
        state[f"layer_norm{number}.weight"] = torch.ones(QUIET_WIDTH)
        state[f"layer_norm{number}.bias"] = torch.zeros(QUIET_WIDTH)

    def draw(_generator: torch.Generator) -> Build:
        return Build(
            construct=(QUIET_WIDTH, 3, d_ff),
            arguments=[torch.zeros(60, 4, QUIET_WIDTH) for _ in range(inputs)],
            state=state,
            training=True,
            times=2,
        )

    return draw


# ------------------------------------------------------------------------------ what decides


def word_by_word(expected: Tensor, got: Any) -> str | None:
    """Compare; where equal words of two sentences get different results, say that they do."""
    problem = values_agree(expected, got)
    if problem and isinstance(got, Tensor) and got.shape == expected.shape and len(got) > 1:
        same = _rows_agree(expected[0], expected[1])
        apart = (same & ~_rows_agree(got[0], got[1])).nonzero()
        if len(apart):
            return (
                "the two sentences differ in their last word alone, but word "
                f"{int(apart[0])} (counting from 0) gets {numbers(got[0, int(apart[0])])} in one "
                f"and {numbers(got[1, int(apart[0])])} in the other. Each word should pass through "
                "the network by itself"
            )
    return problem


def _rows_agree(one: Tensor, other: Tensor) -> Tensor:
    """For each word whether two sentences hold the same there, up to rounding."""
    return torch.isclose(one.double(), other.double(), rtol=1e-4, atol=2e-5).all(dim=-1)


def the_mask_acts(expected: Tensor, got: Any) -> str | None:
    """Accept what depends on the last word where it should, and only there.

    The sentences come in pairs that differ in their last word alone. So a wrong order of norms,
    say, which is another step's matter, does not cost the points for the mask.
    """
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    if not torch.isfinite(got).all():
        return "the result holds NaN or infinity"
    for first in range(0, len(expected), 2):
        wanted = _rows_agree(expected[first], expected[first + 1])
        found = _rows_agree(got[first], got[first + 1])
        for t, (should, does) in enumerate(zip(wanted, found, strict=True)):
            if should and not does:
                return (
                    f"the mask hides the last word from word {t} (counting from 0), but another "
                    f"last word changes its result from {numbers(got[first, t])} to "
                    f"{numbers(got[first + 1, t])}"
                )
            if does and not should:
                return (
                    f"word {t} (counting from 0) may see the last word, but another last word "
                    "makes no difference to its result"
                )
    return None


def network_drops(expected: Any, got: Any) -> str | None:
    """Compare; two results of `bare_dropout` are to be the input, dropped by chance."""
    if not isinstance(expected, list):
        return values_agree(expected, got)
    problem = two_results_differ(expected, got)
    for value in [] if problem else got:
        problem = problem or dropped(DEFAULT)(expected[0], value) or _drops_together(value == 0)
    return problem


def _drops_together(gone: Tensor) -> str | None:
    """Whether chance decides for less than each single number, told which (B, T, D) are gone."""
    for axis, what in ((-1, "all numbers of a word"), (1, "all words of a sentence")):
        if (gone == gone.narrow(axis, 0, 1)).all():
            return (
                f"chance should decide for each number by itself; yours decides for {what} at once"
            )
    return None


def layer_drops(expected: Any, got: Any) -> str | None:
    """Compare; in two results of a layer left to chance, look at what was dropped.

    They are those of `one_hidden_number`, or of `one_loud_sublayer`, which are 0 without dropout.
    """
    if not isinstance(expected, list):
        return values_agree(expected, got)
    problem = two_results_differ(expected, got)
    if problem:
        return problem
    of_hidden_number = (expected[0].abs() > LOUD).any()
    for value in got:
        if not isinstance(value, Tensor):
            return f"expected {kind_of(expected[0])}, got {kind_of(value)}"
        problem = _hidden_number_drops(value) if of_hidden_number else _sublayer_drops(value)
        if problem:
            return problem
    return None


def _hidden_number_drops(value: Tensor) -> str | None:
    share = float(_rows_agree(value, F.layer_norm(QUIET_WORD, (QUIET_WIDTH,))).double().mean())
    if _far_from_default(share, value.shape[:2].numel()):
        return (
            "with d_ff=1, the one number inside the feed-forward network should be dropped for "
            f"about {DEFAULT:.0%} of the words; yours was for {share:.0%}. Is `dropout` handed "
            "on to the network, and is its default 0.1?"
        )
    return None


def _sublayer_drops(value: Tensor) -> str | None:
    gone = value < -LOUD  # (B, T, D)
    share = float(gone.double().mean())
    if _far_from_default(share, gone.numel()):
        return (
            f"about {DEFAULT:.0%} of the numbers that this sublayer gives should be dropped before "
            f"they are added to x; yours were {share:.0%}. How often do they pass a dropout, and "
            "with which probability?"
        )
    return _drops_together(gone)


def _far_from_default(share: float, chances: int) -> bool:
    """Whether a share of dropped numbers is more than five standard deviations off."""
    return abs(share - DEFAULT) > 5 * (DEFAULT * (1 - DEFAULT) / chances) ** 0.5


# Wrong answers that people give. Each is a whole implementation, so that it can be run against
# the same inputs as a submission's.

# ------------------------------------------------------------- wrong feed-forward networks


class Network(layers.PositionwiseFeedForward):
    """The right network taken apart, so that each mistake can change one step."""

    def activate(self, hidden: Tensor) -> Tensor:
        return torch.relu(hidden)

    def forward(self, x):
        return self.w_2(self.dropout(self.activate(self.w_1(x))))


class TrailingReLU(Network):
    def forward(self, x):
        return torch.relu(super().forward(x))


class ReLUAtTheEnd(Network):
    def forward(self, x):
        return torch.relu(self.w_2(self.dropout(self.w_1(x))))


class ReLUAtTheStart(Network):
    def forward(self, x):
        return self.w_2(self.dropout(self.w_1(torch.relu(x))))


class NoReLU(Network):
    def activate(self, hidden):
        return hidden


class GELU(Network):
    def activate(self, hidden):
        return F.gelu(hidden)


class Sigmoid(Network):
    def activate(self, hidden):
        return hidden.sigmoid()


class Softmax(Network):
    def activate(self, hidden):
        return hidden.softmax(dim=-1)


class AverageOfTheWords(Network):
    def forward(self, x):
        return super().forward(x.mean(dim=1, keepdim=True).expand_as(x))


class SentenceInOneVector(Network):
    def forward(self, x):
        return super().forward(x.mean(dim=1))


class HiddenAverages(Network):
    def activate(self, hidden):
        return torch.relu(hidden).mean(dim=1, keepdim=True).expand_as(hidden)


class SumOfEarlierWords(Network):
    def forward(self, x):
        return super().forward(x.cumsum(dim=1))


class ResidualInside(Network):
    def forward(self, x):
        return x + super().forward(x)


class ResidualAndNormInside(Network):
    def forward(self, x):
        return F.layer_norm(x + super().forward(x), x.shape[-1:])


class NormInside(Network):
    def forward(self, x):
        return F.layer_norm(super().forward(x), x.shape[-1:])


class SecondLayerMissing(Network):
    def forward(self, x):
        return self.dropout(torch.relu(self.w_1(x)))


class NetworkWithoutDropout(Network):
    def forward(self, x):
        return self.w_2(torch.relu(self.w_1(x)))


class DropoutOnTheResult(Network):
    def forward(self, x):
        return self.dropout(self.w_2(torch.relu(self.w_1(x))))


class DropoutOnTheInput(Network):
    def forward(self, x):
        return self.w_2(torch.relu(self.w_1(self.dropout(x))))


class DropoutInEvalModeToo(Network):
    def activate(self, hidden):
        return F.dropout(torch.relu(hidden), self.dropout.p)


# ------------------------------------------------------------------------------ wrong layers


class Layer(layers.TransformerLayer):
    """The right layer taken apart, so that each mistake can change one step."""

    def attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.self_attn(x, x, x, mask)[0]

    def add(self, norm: nn.Module, x: Tensor, change: Tensor) -> Tensor:
        return norm(x + self.dropout(change))

    def forward(self, x, mask=None):
        x = self.add(self.layer_norm1, x, self.attend(x, mask))
        return self.add(self.layer_norm2, x, self.feed_forward(x))


class NoResiduals(Layer):
    def add(self, norm, x, change):
        return norm(self.dropout(change))


class NoFirstResidual(Layer):
    def add(self, norm, x, change):
        return super().add(norm, 0 if norm is self.layer_norm1 else x, change)


class NoSecondResidual(Layer):
    def add(self, norm, x, change):
        return super().add(norm, 0 if norm is self.layer_norm2 else x, change)


class InputAsSecondResidual(Layer):
    def forward(self, x, mask=None):
        attended = self.add(self.layer_norm1, x, self.attend(x, mask))
        return self.add(self.layer_norm2, x, self.feed_forward(attended))


class InputToFeedForward(Layer):
    def forward(self, x, mask=None):
        attended = self.add(self.layer_norm1, x, self.attend(x, mask))
        return self.add(self.layer_norm2, attended, self.feed_forward(x))


class NormFirst(Layer):
    def forward(self, x, mask=None):
        x = x + self.dropout(self.attend(self.layer_norm1(x), mask))
        return x + self.dropout(self.feed_forward(self.layer_norm2(x)))


class NormFirstAlsoOfTheResidual(Layer):
    def forward(self, x, mask=None):
        x = self.layer_norm1(x)
        x = x + self.dropout(self.attend(x, mask))
        x = self.layer_norm2(x)
        return x + self.dropout(self.feed_forward(x))


class NormBeforeTheSum(Layer):
    def add(self, norm, x, change):
        return x + self.dropout(norm(change))


class OneNorm(Layer):
    def add(self, norm, x, change):
        return super().add(self.layer_norm1, x, change)


class OneNormMade(OneNorm):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        del self.layer_norm2

    def forward(self, x, mask=None):
        x = self.add(self.layer_norm1, x, self.attend(x, mask))
        return self.add(self.layer_norm1, x, self.feed_forward(x))


class OneNormOfTwoNames(Layer):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.layer_norm2 = self.layer_norm1


class LibraryAttention(Layer):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)


class SequentialNetwork(Layer):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
        )


class NormsSwapped(Layer):
    def add(self, norm, x, change):
        first = norm is self.layer_norm1
        return super().add(self.layer_norm2 if first else self.layer_norm1, x, change)


class NoFirstNorm(Layer):
    def add(self, norm, x, change):
        return super().add(nn.Identity() if norm is self.layer_norm1 else norm, x, change)


class NoLastNorm(Layer):
    def add(self, norm, x, change):
        return super().add(nn.Identity() if norm is self.layer_norm2 else norm, x, change)


class NoNorms(Layer):
    def add(self, norm, x, change):
        return x + self.dropout(change)


class NoMask(Layer):
    def attend(self, x, mask):
        return self.self_attn(x, x, x)[0]


class InvertedMask(Layer):
    def attend(self, x, mask):
        return self.self_attn(x, x, x, None if mask is None else ~mask)[0]


class AlwaysCausal(Layer):
    def attend(self, x, mask):
        causal = masks.causal_mask(x.shape[1], x.device)
        return self.self_attn(x, x, x, causal if mask is None else mask & causal)[0]


class NoAttention(Layer):
    def forward(self, x, mask=None):
        return self.add(self.layer_norm2, x, self.feed_forward(x))


class NoFeedForward(Layer):
    def forward(self, x, mask=None):
        return self.add(self.layer_norm1, x, self.attend(x, mask))


class FeedForwardBeforeAttention(Layer):
    def forward(self, x, mask=None):
        x = self.add(self.layer_norm1, x, self.feed_forward(x))
        return self.add(self.layer_norm2, x, self.attend(x, mask))


class LayerWithoutDropout(Layer):
    def add(self, norm, x, change):
        return norm(x + change)


class NoDropoutBehindAttention(Layer):
    def add(self, norm, x, change):
        return norm(x + (change if norm is self.layer_norm1 else self.dropout(change)))


class NoDropoutBehindFeedForward(Layer):
    def add(self, norm, x, change):
        return norm(x + (change if norm is self.layer_norm2 else self.dropout(change)))


class DropoutOnTheSum(Layer):
    def add(self, norm, x, change):
        return norm(self.dropout(x + change))


class DropoutAfterTheNorm(Layer):
    def add(self, norm, x, change):
        return self.dropout(norm(x + change))


class LayerDropsInEvalModeToo(Layer):
    def add(self, norm, x, change):
        return norm(x + F.dropout(change, self.dropout.p))


class WeightsBesideTheResult(Layer):
    def forward(self, x, mask=None):
        return super().forward(x, mask), self.self_attn(x, x, x, mask)[1]


TRAILING = (
    "Your result is never negative: a ReLU stands behind `w_2`. What is added to a word must be able "
    "to take something away from it, too. Between which two things does the one ReLU belong?"
)
MIXED = (
    "A word's result depends on other words of its sentence. *Position-wise* means that each word "
    "passes through the network by itself. Which axis does `nn.Linear` work on, and which ones does "
    "it leave alone?"
)
OWN_WORK = (
    "Your network does more than it should: {} in it. That is the layer's work, in part 2. Here, "
    "return what `w_2` gives."
)
DROPPED = (
    "Your dropout acts in another place, or not at all. In the equations of the text it stands "
    "around the sublayer's output alone: before the residual is added, and before the norm."
)

PositionwiseFeedForward = Part(
    name="PositionwiseFeedForward",
    signature="PositionwiseFeedForward(d_model, d_ff, dropout=0.1), "
    "forward(x (B, T, d_model)) -> (B, T, d_model)",
    reference=layers.PositionwiseFeedForward,
    steps=(
        Step(
            "two linear maps with one ReLU between them, for each word by itself",
            1,
            (
                Case(
                    "two sentences with the same words but for the last, T=3",
                    network(2, 3, twins=True),
                ),
                Case("one sentence, T=4, d_model=5, d_ff=7", network(1, 4)),
                Case("d_ff=3, smaller than d_model=6", network(3, 4, 6, 3)),
                Case("single words, T=1, d_model=d_ff=5", network(2, 1, 5, 5)),
                Case("sentences as long as they are wide, T=d_model=4", network(3, 4, 4, 9)),
            ),
            judge=word_by_word,
        ),
        Step(
            "dropout on the numbers between the two maps, in train mode alone",
            1,
            (
                Case(
                    "train mode, dropout=0", network(2, 3, positive=True, training=True)
                ),
                Case(
                    "train mode, a dropout of nearly 1",
                    network(2, 3, dropout=EVERYTHING, positive=True, training=True),
                ),
                Case(
                    "eval mode, a dropout of nearly 1",
                    network(3, 2, dropout=EVERYTHING, positive=True),
                ),
                Case(
                    "train mode, the default dropout, w_1 and w_2 the identity",
                    bare_dropout,
                    random=True,
                ),
            ),
            judge=network_drops,
        ),
        Step(
            "float64, an untouched x of any memory layout, gradients",
            1,
            (
                Case("float64, two sentences", network(2, 3, dtype=torch.float64)),
                Case("x with gaps in memory", network(2, 3), strided=True),
                Case(
                    "gradients for x and every weight",
                    network(2, 3, dtype=torch.float64),
                    gradient=True,
                ),
                Case(
                    "gradients in train mode",
                    network(3, 2, 6, 5, dtype=torch.float64, training=True),
                    gradient=True,
                ),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("trailing ReLU", TrailingReLU, TRAILING),
        Mistake("the ReLU at the end instead of between", ReLUAtTheEnd, TRAILING),
        Mistake(
            "the ReLU before both maps",
            ReLUAtTheStart,
            "Your ReLU works on x, before `w_1`, so nothing negative of a word is seen at all, and "
            "the two maps behind it are no more than one. Where does the formula have it?",
        ),
        Mistake(
            "no ReLU",
            NoReLU,
            "There is no ReLU between your two linear maps. Without it they are no more than a "
            "single linear map, however large `d_ff` is.",
        ),
        Mistake(
            "GELU",
            GELU,
            "Your activation is the GELU. Many later models use it; the text and the original "
            "paper have the ReLU, max(0, a).",
        ),
        Mistake(
            "sigmoid",
            Sigmoid,
            "Your activation is the sigmoid, which squeezes every number between 0 and 1. The text "
            "has the ReLU, max(0, a).",
        ),
        Mistake(
            "softmax",
            Softmax,
            "Between your maps stands a softmax. These are no weights of a sum, so nothing has to "
            "sum to one: the text has the ReLU, max(0, a).",
        ),
        Mistake("tokens mixed: the average of all words", AverageOfTheWords, MIXED),
        Mistake(
            "tokens mixed: one vector for a sentence",
            SentenceInOneVector,
            "You return one vector for each sentence. Every word gets a result of its own, so the "
            "shape of x comes back: (B, T, d_model).",
        ),
        Mistake("tokens mixed: the average inside", HiddenAverages, MIXED),
        Mistake("tokens mixed: sums over earlier words", SumOfEarlierWords, MIXED),
        Mistake(
            "residual inside the network", ResidualInside, OWN_WORK.format("x is added to the result")
        ),
        Mistake(
            "residual and norm inside the network",
            ResidualAndNormInside,
            OWN_WORK.format("residual connection and norm stand"),
        ),
        Mistake(
            "norm inside the network", NormInside, OWN_WORK.format("the result is normalised")
        ),
        Mistake(
            "second map missing",
            SecondLayerMissing,
            "Your result has the width d_ff, since `w_2` is not applied. It leads back to d_model.",
        ),
        Mistake(
            "no dropout",
            NetworkWithoutDropout,
            "In train mode nothing is dropped. The numbers between the two maps should be, with "
            "the probability `dropout`.",
        ),
        Mistake(
            "dropout on the result",
            DropoutOnTheResult,
            "You drop what `w_2` gives. In this network dropout stands between the two maps; what "
            "comes out is dropped by the layer, in part 2.",
        ),
        Mistake(
            "dropout on the input",
            DropoutOnTheInput,
            "You drop numbers of x, before `w_1`. The text drops those between the two maps.",
        ),
        Mistake(
            "dropout in eval mode",
            DropoutInEvalModeToo,
            "Your network drops numbers in eval mode, too. `nn.Dropout` knows the mode by itself; "
            "`F.dropout` must be told: what does its argument `training` mean?",
        ),
    ),
    reads=(
        "lecture 7, on the position-wise feed-forward network",
        f"{LECTURE_7}#7.-The-position-wise-feed-forward-network",
    ),
    stand_ins="course_utils.layers",
)  # fmt: skip

TransformerLayer = Part(
    name="TransformerLayer",
    signature="TransformerLayer(d_model, num_heads, d_ff, dropout=0.1), "
    "forward(x (B, T, D), mask=None) -> (B, T, D)",
    reference=layers.TransformerLayer,
    steps=(
        Step(
            "self-attention, with its residual connection and layer_norm1 behind the sum",
            1,
            (
                Case(
                    "one sentence, T=4; the feed-forward network gives zeros",
                    layer(1, 4, silent=("feed_forward.w_2",)),
                ),
                Case(
                    "two sentences, T=5; the feed-forward network gives zeros",
                    layer(2, 5, silent=("feed_forward.w_2",)),
                ),
                Case(
                    "d_model=10 in one head; the feed-forward network gives zeros",
                    layer(3, 2, sizes=(10, 1, 4), silent=("feed_forward.w_2",)),
                ),
            ),
        ),
        Step(
            "the feed-forward network, with its residual connection and layer_norm2 behind the sum",
            1,
            (
                Case(
                    "one sentence, T=4; attention gives zeros",
                    layer(1, 4, silent=("self_attn.w_o",)),
                ),
                Case(
                    "two sentences, T=3, d_ff=17; attention gives zeros",
                    layer(2, 3, sizes=(12, 4, 17), silent=("self_attn.w_o",)),
                ),
                Case(
                    "d_model=9, an odd width; attention gives zeros",
                    layer(3, 1, sizes=(9, 3, 9), silent=("self_attn.w_o",)),
                ),
            ),
        ),
        Step(
            "what the mask hides has no effect, and what it shows has one",
            1,
            (
                Case("no mask", layer(2, 4, twins=True)),
                Case("a causal mask, (T, T)", layer(2, 4, "causal", twins=True)),
                Case(
                    "a mask (B, 1, 1, T) that hides the last word in the first two of four "
                    "sentences",
                    layer(4, 5, "padding", twins=True),
                ),
                Case("a mask (B, 1, T, T)", layer(2, 5, "last word", twins=True)),
                Case(
                    "a mask for each head, (B, H, T, T)",
                    layer(2, 5, "last word, each head", twins=True),
                ),
            ),
            judge=the_mask_acts,
        ),
        Step(
            "dropout in train mode: on each sublayer's output, and inside the feed-forward network",
            1,
            (
                Case(
                    "train mode, dropout=0, so that nothing may be dropped anywhere",
                    layer(3, 5, training=True),
                ),
                Case(
                    "train mode, a dropout of nearly 1",
                    layer(2, 3, dropout=EVERYTHING, training=True),
                ),
                Case("eval mode, a dropout of nearly 1", layer(2, 5, dropout=EVERYTHING)),
                Case(
                    "train mode, the default dropout, d_ff=1", one_hidden_number(), random=True
                ),
                Case(
                    "train mode, the default dropout, x=0; the feed-forward network gives zeros",
                    one_loud_sublayer("self_attn.w_o", ("feed_forward.w_2",)),
                    random=True,
                ),
                Case(
                    "train mode, the default dropout, x=0; attention gives zeros",
                    one_loud_sublayer("feed_forward.w_2", ("self_attn.w_o",)),
                    random=True,
                ),
            ),
            judge=layer_drops,
        ),
        Step(
            "the whole layer: float64, untouched inputs of any memory layout, words that see "
            "nothing, gradients",
            1,
            (
                Case("float64, a mask (B, 1, T, T)", layer(2, 5, "any", dtype=torch.float64)),
                Case("a mask for each head", layer(2, 4, "each head")),
                Case("x and a causal mask with gaps in memory", layer(2, 5, "causal"), strided=True),
                Case("a mask that hides everything from a word", layer(2, 4, "empty rows")),
                Case(
                    "gradients for x and every weight",
                    layer(2, 5, dtype=torch.float64),
                    gradient=True,
                ),
                Case(
                    "gradients where a mask hides everything from a word",
                    layer(2, 4, "empty rows", dtype=torch.float64),
                    gradient=True,
                ),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "no residual connections",
            NoResiduals,
            "What enters a sublayer is lost behind it. Add it to the sublayer's output before the "
            "norm.",
        ),
        Mistake(
            "no residual connection around attention",
            NoFirstResidual,
            "Behind attention the word itself is lost. What does the first equation add to "
            "attention's output?",
        ),
        Mistake(
            "no residual connection around the feed-forward network",
            NoSecondResidual,
            "Behind the feed-forward network, what attention found is lost. What does the second "
            "equation add to the network's output?",
        ),
        Mistake(
            "the layer's input as second residual",
            InputAsSecondResidual,
            "To the feed-forward network's output you add the x that entered the layer. The second "
            "equation takes the x of the first one.",
        ),
        Mistake(
            "the layer's input to the feed-forward network",
            InputToFeedForward,
            "Your feed-forward network reads the x that entered the layer, so it never sees what "
            "attention found. The second equation takes the x of the first one.",
        ),
        Mistake(
            "norm first (pre-LN)",
            NormFirst,
            "You normalise before each sublayer (pre-LN). This layer is post-LN, as in the paper: "
            "add first, then normalise the sum.",
        ),
        Mistake(
            "norm first, and the residual normalised with it",
            NormFirstAlsoOfTheResidual,
            "You normalise what goes into each sublayer. This layer is post-LN, as in the paper: "
            "add first, then normalise the sum.",
        ),
        Mistake(
            "norm before the sum",
            NormBeforeTheSum,
            "You normalise each sublayer's output and add x afterwards. What stands inside the "
            "brackets of LayerNorm in the equations?",
        ),
        Mistake(
            "one norm for both",
            OneNorm,
            "Both of your sums pass through `layer_norm1`. The second line has a norm of its own, "
            "`layer_norm2`.",
        ),
        Mistake(
            "only one norm made",
            OneNormMade,
            "There is no `layer_norm2` in your layer. Each of the two lines has a norm of its own, "
            "with weights of its own.",
        ),
        Mistake(
            "one norm under both names",
            OneNormOfTwoNames,
            "`layer_norm1` and `layer_norm2` are one and the same norm in your layer, or the second "
            "one does the work of both. `a = b = norm` and `[norm] * 2` hold one norm twice; each "
            "line needs one of its own.",
        ),
        Mistake(
            "attention whose layers have other names",
            LibraryAttention,
            "Your `self_attn` has no `w_q`, `w_k`, `w_v` and `w_o`. `nn.MultiheadAttention` keeps "
            "its weights under other names, and its masks mean the opposite; which attention does "
            "the text let you import?",
        ),
        Mistake(
            "network whose layers have other names",
            SequentialNetwork,
            "Your `feed_forward` has no `w_1` and `w_2`. The class of part 1 has them; an "
            "`nn.Sequential` numbers its layers instead.",
        ),
        Mistake(
            "norms swapped",
            NormsSwapped,
            "Your two norms have changed places: `layer_norm1` belongs behind attention, "
            "`layer_norm2` behind the feed-forward network.",
        ),
        Mistake(
            "first norm missing",
            NoFirstNorm,
            "The sum behind attention is not normalised. `layer_norm1` belongs there.",
        ),
        Mistake(
            "last norm missing",
            NoLastNorm,
            "The sum behind the feed-forward network is not normalised. `layer_norm2` belongs "
            "there.",
        ),
        Mistake(
            "no norms",
            NoNorms,
            "Your sums are not normalised. Each of the two has a norm of its own behind it.",
        ),
        Mistake(
            "mask dropped",
            NoMask,
            "Where a cross stands, `mask` has no effect in your layer, so words attend to what "
            "they may not see, padding for example. Who needs to be told of it, whatever its shape?",
        ),
        Mistake(
            "mask inverted",
            InvertedMask,
            "Your layer hides what the mask shows, and shows what it hides. Here True means: may "
            "attend. Which convention does the attention that you call have?",
        ),
        Mistake(
            "always causal",
            AlwaysCausal,
            "Your layer hides later words also where `mask` does not ask for it. An encoder reads "
            "the whole sentence: the layer makes no mask of its own.",
        ),
        Mistake(
            "attention missing",
            NoAttention,
            "Words never meet in your layer: there is no self-attention in front of the "
            "feed-forward network.",
        ),
        Mistake(
            "feed-forward network missing",
            NoFeedForward,
            "Your layer ends behind attention. The second line, with the feed-forward network and "
            "`layer_norm2`, is missing.",
        ),
        Mistake(
            "feed-forward network before attention",
            FeedForwardBeforeAttention,
            "Your layer begins with the feed-forward network. In which order do the two equations "
            "stand?",
        ),
        Mistake("no dropout", LayerWithoutDropout, DROPPED),
        Mistake(
            "no dropout behind attention",
            NoDropoutBehindAttention,
            "In train mode, attention's output is added without dropout. Both equations have one.",
        ),
        Mistake(
            "no dropout behind the feed-forward network",
            NoDropoutBehindFeedForward,
            "In train mode, the feed-forward network's output is added without dropout. The one "
            "inside the network does not replace it: both equations have one.",
        ),
        Mistake("dropout on the sum", DropoutOnTheSum, DROPPED),
        Mistake("dropout after the norm", DropoutAfterTheNorm, DROPPED),
        Mistake(
            "dropout in eval mode",
            LayerDropsInEvalModeToo,
            "Your layer drops numbers in eval mode, too. `nn.Dropout` knows the mode by itself; "
            "`F.dropout` must be told: what does its argument `training` mean?",
        ),
        Mistake(
            "weights returned beside the result",
            WeightsBesideTheResult,
            "Your result comes in a tuple, with the attention weights beside it. The layer returns "
            "x alone, so that layers can be stacked.",
        ),
    ),
    reads=("lecture 7, on the whole layer", f"{LECTURE_7}#8.-The-whole-layer"),
    may_call=("PositionwiseFeedForward",),
    stand_ins="course_utils.layers",
)  # fmt: skip

ASSIGNMENT = Assignment(
    name="a8_transformer_layer",
    parts=(PositionwiseFeedForward, TransformerLayer),
    barred=(
        "Transformer", "TransformerEncoder", "TransformerEncoderLayer",
        "TransformerDecoder", "TransformerDecoderLayer", "_transformer_encoder_layer_fwd",
        "course_utils.layers", "course_utils.transformer",
    ),
    allowed_modules=("course_utils.attention", "course_utils.signoff"),
)  # fmt: skip
