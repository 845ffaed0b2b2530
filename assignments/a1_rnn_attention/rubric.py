"""Assignment 1: annotations of a bidirectional network, and additive attention over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from assignments.common.weights import Weights
from autograder.checks.cases import Build, Case, Randn
from autograder.checks.check import Part
from autograder.checks.compare import kind_of, numbers, values_agree
from autograder.checks.problem import Judgement
from course_utils import attention

LECTURE = "../../lectures/01_rnn_attention.ipynb"


# ------------------------------------------------------------------------------ what is drawn

# what it is called, and how it is drawn for B sentences of S words
Mask = tuple[str, Callable[[Randn, int, int], Tensor | None]]
NO_MASK: Mask = ("mask=None given", lambda randn, B, S: None)


def hiding(count: int) -> Mask:
    """Hides this many words of each sentence, and none of them in two.

    So every sentence and every place shows something, and most wrong ways to use a mask still
    give finite numbers by which they can be told apart.
    """

    def draw(randn: Randn, B: int, S: int) -> Tensor:
        start = torch.randint(S, (1,), generator=randn.generator)
        hidden = (start + torch.arange(B * count).reshape(B, count)) % S
        return torch.ones(B, S, dtype=torch.bool).scatter(1, hidden, False)

    return f"{count} of the words hidden in each sentence", draw


def padding(*lengths: int) -> Mask:
    """Shows as many words of each sentence as these."""
    what = f"sentences with {', '.join(map(str, lengths))} visible words"
    return what, lambda randn, B, S: torch.arange(S) < torch.tensor(lengths).unsqueeze(1)


def two_directions(B: int, S: int, h: int) -> Case:
    """forward_states and backward_states (B, S, d_h)."""
    return Case(f"{B=}, {S=}, {h=}", lambda randn: [randn(B, S, h), randn(B, S, h)])


def fixed_annotations(*shape: int) -> Tensor:
    """Annotations that depend on nothing but their shape, so that a judge knows them, too."""
    return Randn(seed=1)(*shape)


LOUD = 8.0  # with some features, scores are tens apart


def looking(
    B: int,
    S: int,
    dims: tuple[int, int, int],
    mask: Mask | None = None,
    *,
    fixed: bool = False,
    training: bool = False,
    loud: bool = False,
    before: Mask | None = None,
    **how: Any,
) -> Case:
    """A state and annotations, maybe `fixed_annotations`, and a mask.

    ``dims`` are decoder_dim, encoder_dim, attention_dim. With ``loud``, `v` is so large that scores are
    tens apart. With ``before``, the module was used on other numbers of the same shapes, under this mask.
    """
    decoder, encoder, _ = dims
    label = f"{B=}, {S=}, widths of decoder, encoder, attention {dims}"
    if mask:
        label += f", {mask[0]}"
    if training:
        label += ", train mode"
    if loud:
        label += ", scores far apart"
    if before:
        label += f", used before with {before[0]}"

    def draw(randn: Randn) -> Build:
        words = fixed_annotations(B, S, encoder) if fixed else randn(B, S, encoder)
        masks = [mask[1](randn, B, S)] if mask else []
        arguments = [randn(B, decoder), words, *masks]
        others = []
        if before:
            others = [randn(B, decoder), randn(B, S, encoder), before[1](randn, B, S)]
        state = {"v.weight": LOUD * randn(1, dims[2])} if loud else {}
        return Build(dims, arguments=arguments, state=state, training=training, before=others)

    return Case(label, draw, **how)


def on_one_line(
    B: int, S: int, decoder: int, encoder: int, mask: Mask | None = None, **how: Any
) -> Case:
    """A case with attention_dim = 1 in which v, W s and W s + U h_j are positive.

    Any score that grows with U h_j puts the words into one order there, with tanh or without, sum
    or product. So a slip in the score does not cost the points for the softmax and the mask.
    """
    anywhere = looking(B, S, (decoder, encoder, 1), mask, **how)

    def draw(randn: Randn) -> Build:
        def rand(*shape: int) -> Tensor:
            return torch.rand(*shape, generator=randn.generator)

        drawn = anywhere.draw(randn)
        assert isinstance(drawn, Build)
        W, U, v = randn(1, decoder), randn(1, encoder), 1.5 + rand(1, 1)
        state_part = 0.4 + 0.4 * rand(B, 1)
        word_part = (rand(B, S).argsort(dim=1) / S * 1.2 - 0.3).unsqueeze(-1)  # well apart
        words = drawn.arguments[1]
        drawn.arguments[0] = state_part * W / W.square().sum()  # so that W s is state_part
        drawn.arguments[1] = words + (word_part - words @ U.T) * U / U.square().sum()
        return replace(drawn, state={"W.weight": W, "U.weight": U, "v.weight": v})

    return replace(anywhere, draw=draw)


def louder_where_hidden(B: int, S: int, decoder: int, encoder: int) -> Case:
    """Scores up to about 60, where the one hidden word of each sentence has far the largest.

    What it takes from the others, if it takes part in the softmax, does not come back by dividing.
    """
    quiet = on_one_line(B, S, decoder, encoder, hiding(1), random=True)

    def draw(randn: Randn) -> Build:
        drawn = quiet.draw(randn)
        assert isinstance(drawn, Build)
        _, words, mask = drawn.arguments
        U = drawn.state["U.weight"]
        along = words @ U.T  # (B, S, 1): 1.5 where hidden, at most 0 elsewhere
        wanted = torch.where(mask.unsqueeze(-1), along - 0.9, 1.5)
        drawn.arguments[1] = words + (wanted - along) * U / U.square().sum()
        return replace(drawn, state={**drawn.state, "v.weight": torch.full((1, 1), 60.0)})

    return replace(quiet, label=f"{quiet.label}, whose scores are far the largest", draw=draw)


# ------------------------------------------------------------------------------- what decides

WEIGHTS = Weights("context", B="sentence", S="word")


def halves_are_joined(expected: Tensor, got: Any) -> Judgement:
    """Accept the forward states with the sentence's backward states beside them, in any order.

    So a list that was not turned round does not cost the point for putting the two together.
    """
    if not isinstance(got, Tensor) or got.shape != expected.shape:
        return values_agree(expected, got)
    width = expected.shape[-1] // 2
    problem = values_agree(expected[..., :width], got[..., :width])
    if problem:
        return f"in the first half of the features, {problem}"
    wanted, found = expected[..., width:].double(), got[..., width:].double()
    same = torch.isclose(wanted[:, :, None], found[:, None], atol=1e-5).all(dim=-1)  # (B, S, S)
    if not (same.any(dim=1).all() and same.any(dim=2).all()):
        return (
            "the second half of the features should hold the sentence's backward states, each at "
            f"one of its words, but for sentence 0 it begins with {numbers(found[0, 0])}"
        )
    return None


def layers_and_ranks(expected: Any, got: Any) -> Judgement:
    """Accept weights in the right order, and a new module whose W, U and v have no bias.

    What else it holds is free.
    """
    if not isinstance(expected, dict):
        return WEIGHTS.rank(expected, got)
    parameters = got.get("parameters") if isinstance(got, dict) else None
    if not isinstance(parameters, dict):
        return f"expected a module with the layers W, U and v, got {kind_of(got)}"
    for layer in ("W", "U", "v"):
        if f"{layer}.weight" not in parameters:
            names = ", ".join(f"`{name}`" for name in parameters) or "none"
            return f"there is no layer `{layer}` in a new module; its parameters are: {names}"
        if f"{layer}.bias" in parameters:
            return (
                f"`{layer}` has a bias; the formula has none. Which argument of nn.Linear says so?"
            )
    return None


def weights_agree(expected: tuple, got: Any) -> Judgement:
    """Compare the weights; the context is another step's matter."""
    problem = WEIGHTS.missing(expected, got) or values_agree(expected[1], got[1])
    return problem and f"for the weights, {problem}"


def context_follows(expected: tuple, got: Any) -> Judgement:
    """Accept the right context, or the one that belongs to the weights beside it.

    So an error in the weights, or in how they are returned, is not charged again. Weights that are
    all the same do not count, for then the mean would do.
    """
    context = got[0] if isinstance(got, tuple | list) and got else got
    if values_agree(expected[0], context) is None:
        return None
    problem = WEIGHTS.missing(expected, got)
    if problem:
        return problem
    weights = torch.as_tensor(got[1]).float()
    if not weights.isfinite().all():
        return "the weights hold NaN or infinity, so no context can be right"
    if (weights.amax(dim=-1) - weights.amin(dim=-1) < 1e-3).any():
        return f"the words of a sentence have the same weights, {numbers(weights[0])}"
    annotations = fixed_annotations(*weights.shape, expected[0].shape[-1])
    problem = values_agree(torch.einsum("bs,bsd->bd", weights, annotations), context)
    return problem and f"for the context that belongs to the weights you return, {problem}"


# -------------------------------------------------------------------------------- annotations

annotate = Part(
    "annotations(forward_states (B, S, d_h), backward_states (B, S, d_h)) -> (B, S, 2d_h)",
    attention.annotations,
    reads=("lecture 1, section 3, on annotations", LECTURE),
)
annotate.example = two_directions(B=1, S=3, h=2)
ORDER = annotate.step(
    "every word has two states side by side, the forward one first",
    1, two_directions(B=3, S=5, h=2), two_directions(B=2, S=3, h=4), judge=halves_are_joined,
)  # fmt: skip
OWN_STATES = annotate.step(
    "both states of a word are its own, whatever the length and width",
    1,
    two_directions(B=1, S=5, h=3), two_directions(B=2, S=5, h=4), two_directions(B=12, S=2, h=70),
    two_directions(B=3, S=3, h=3),  # no shape tells one axis from another
    two_directions(B=3, S=1, h=5), two_directions(B=2, S=150, h=1),
)  # fmt: skip
STATES_MANNERS = annotate.manners(
    1,
    two_directions(B=2, S=5, h=7),  # no length is one more or less than another
    asks="float64 stays float64, inputs stay as they were, any memory layout, gradients flow",
)


# -------------------------------------------------------------------------- BahdanauAttention

bahdanau = Part(
    "BahdanauAttention(decoder_dim, encoder_dim, attention_dim); forward(state (B, decoder_dim), "
    "annotations (B, S, encoder_dim), mask=None) -> (context (B, encoder_dim), weights (B, S))",
    attention.BahdanauAttention,
    reads=(
        "lecture 1, section 4, on scores, weights and context",
        f"{LECTURE}#4.-Attention:-scores,-weights,-context",
    ),
)
bahdanau.example = looking(1, 3, (2, 2, 2), hiding(1))
SHARES = bahdanau.step(
    "layers without bias; positive weights, larger for better words, with sum one",
    1,
    # random: its value is no result by which a mistake could be known
    Case("what a new module holds", lambda randn: Build((7, 6, 3), method=None), random=True),
    on_one_line(B=2, S=5, decoder=3, encoder=4),
    on_one_line(B=4, S=3, decoder=5, encoder=2),
    on_one_line(B=3, S=3, decoder=4, encoder=4),  # slips that stop elsewhere go on here
    judge=layers_and_ranks,
)
WEIGHTS_EXACT = bahdanau.step(
    "the weights are those of the formula, whatever the sizes",
    2,
    looking(2, 5, (7, 6, 3)), looking(12, 2, (2, 3, 4)),
    looking(2, 2, (70, 3, 2)), looking(2, 2, (3, 70, 2)), looking(2, 2, (2, 3, 70)),
    looking(3, 3, (4, 6, 5)),  # a state without an axis for the words fits here
    looking(2, 3, (5, 5, 7)),  # and state and annotations swapped, or multiplied, here
    looking(2, 150, (2, 3, 2), NO_MASK), looking(3, 5, (6, 4, 7), loud=True), judge=weights_agree,
)  # fmt: skip
CONTEXT = bahdanau.step(
    "the context is the sum of the annotations, each with its weight",
    1,
    looking(2, 5, (7, 6, 3), fixed=True), looking(3, 4, (5, 9, 8), fixed=True),
    looking(3, 3, (2, 5, 5), fixed=True), looking(4, 4, (5, 5, 6), fixed=True),
    judge=context_follows,
)  # fmt: skip
MASK = bahdanau.step(
    "hidden words get the weight 0, and the visible ones still sum to one",
    1,
    on_one_line(2, 5, 3, 4, hiding(2)),
    on_one_line(3, 4, 2, 5, hiding(1)),
    on_one_line(3, 3, 4, 4, hiding(1)),
    louder_where_hidden(2, 5, 3, 4),
    # random: wrong ways to use these masks may give NaN
    on_one_line(3, 5, 3, 4, padding(5, 2, 3), random=True),
    on_one_line(2, 3, 4, 5, padding(3, 3), random=True),
    judge=WEIGHTS.rank,
)
NOTHING_VISIBLE = bahdanau.step(
    "where nothing may be attended to, weights and context are 0",
    1,
    # random: there are too many ways to treat this to know a mistake by it
    on_one_line(2, 5, 3, 4, padding(3, 0), random=True),
    on_one_line(3, 4, 2, 5, padding(0, 0, 0), random=True),
    on_one_line(3, 3, 4, 4, padding(2, 0, 3), random=True),
    # NaN easily flows back from a sentence in which all is hidden
    looking(2, 5, (7, 6, 3), padding(3, 0)).with_gradients(),
    judge=WEIGHTS.empty_rows_give("0"),
)
MANNERS = bahdanau.manners(
    1,
    looking(2, 5, (7, 6, 3)), looking(1, 4, (7, 6, 3), hiding(1)), looking(3, 1, (7, 6, 3)),
    looking(3, 3, (4, 4, 5), before=hiding(1)),
    looking(2, 5, (7, 6, 3), hiding(2)).in_float64(),
    looking(2, 5, (3, 4, 7), hiding(1)).with_gaps(),
    looking(2, 5, (3, 4, 7), hiding(2), before=hiding(1)),
    looking(2, 5, (7, 6, 3), hiding(2), training=True, before=NO_MASK),
    looking(2, 5, (7, 6, 3), training=True),
    # random: see `NOTHING_VISIBLE`
    looking(2, 5, (7, 6, 3), padding(3, 0), random=True),
    looking(2, 5, (7, 6, 3), padding(3, 1)).with_gradients(),
    asks="one sentence, one word, float64, untouched inputs, any memory layout, gradients",
    judge=WEIGHTS.where_something_is_seen(WEIGHTS.agree),
)  # fmt: skip
