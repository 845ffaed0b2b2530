"""Assignment 5: cut features into heads, merge them again, and multi-head attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.check import Assignment, Build, Case, Mistake, Part, Step
from autograder.compare import kind_of, numbers, values_agree
from course_utils import attention

LECTURE = "../../lectures/05_multi_head_attention.ipynb"

# ----------------------------------------------------------------------------- what is drawn


def features(
    batch: int, length: int, d_model: int, heads: int, dtype: torch.dtype = torch.float32
) -> Callable[..., list]:
    """Draws x (batch, length, d_model) and gives the number of heads beside it."""

    def draw(generator: torch.Generator) -> list[Any]:
        x = torch.randn(batch, length, d_model, generator=generator, dtype=torch.float64)
        return [x.to(dtype), heads]

    return draw


def in_heads(
    batch: int, heads: int, length: int, d_k: int, dtype: torch.dtype = torch.float32
) -> Callable[..., list]:
    """Draws x (batch, heads, length, d_k)."""

    def draw(generator: torch.Generator) -> list[Any]:
        shape = (batch, heads, length, d_k)
        return [torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)]

    return draw


def scattered(*shape: int) -> Callable[[torch.Generator], Tensor]:
    """Draws a mask whose every row shows something and hides something."""

    def draw(generator: torch.Generator) -> Tensor:
        mask = torch.rand(*shape, generator=generator) < 0.5
        shown = torch.randint(shape[-1], (*shape[:-1], 1), generator=generator)
        mask.scatter_(-1, shown, True)
        return mask.scatter_(-1, (shown + 1) % shape[-1], False)

    return draw


def causal(length: int) -> Callable[[torch.Generator], Tensor]:
    return lambda generator: torch.ones(length, length, dtype=torch.bool).tril()


def padding(keys: int, *lengths: int) -> Callable[[torch.Generator], Tensor]:
    """The mask (B, 1, 1, S) of sentences that have these lengths."""
    return lambda generator: torch.stack([torch.arange(keys) < n for n in lengths])[:, None, None]


def with_empty_rows(
    draw_mask: Callable[[torch.Generator], Tensor], *rows: tuple
) -> Callable[[torch.Generator], Tensor]:
    """The mask of ``draw_mask`` with nothing left to attend to at these indices."""

    def draw(generator: torch.Generator) -> Tensor:
        mask = draw_mask(generator)
        for row in rows:
            mask[row] = False
        return mask

    return draw


def attending(
    batch: int,
    queries: int,
    keys: int | None,
    d_model: int,
    heads: int,
    mask: Callable[[torch.Generator], Tensor] | None = None,
    loudness: float = 1.0,
    **build: Any,
) -> Callable[..., Build]:
    """Draws query, key and value for a module; without ``keys``, all three are one sequence.

    Query and key are multiplied by ``loudness``, so that the scores grow with its square.
    """

    def draw(generator: torch.Generator) -> Build:
        def sequence(length: int) -> Tensor:
            x = torch.randn(batch, length, d_model, generator=generator, dtype=torch.float64)
            return x.to(build.get("dtype", torch.float32))

        if keys is None:
            arguments = [sequence(queries)] * 3
        else:
            arguments = [loudness * sequence(queries), loudness * sequence(keys), sequence(keys)]
        if mask is not None:
            arguments.append(mask(generator))
        return Build(construct=(d_model, heads), arguments=arguments, **build)

    return draw


def refused(d_model: int, heads: int) -> Case:
    """Heads that do not share the width evenly."""
    return Case(
        f"MultiHeadAttention({d_model}, {heads})",
        lambda generator: Build(construct=(d_model, heads), method=None),
        raises=("ValueError", str(d_model), str(heads)),
    )


# ------------------------------------------------------------------------------ what decides

NEARLY_HIDDEN = 1e-3  # a hidden weight below this comes from a score that is not low enough


def output_agrees(expected: tuple | list, got: Any) -> str | None:
    """Compare the output; whether weights stand beside it is another step's matter.

    A list is what a module gave that was called several times.
    """
    if isinstance(expected, list):
        for number, (wanted, item) in enumerate(zip(expected, got, strict=True), 1):
            problem = output_agrees(wanted, item)
            if problem:
                return f"in call {number} of the same module with the same inputs, {problem}"
        return None
    if isinstance(got, tuple | list) and got:
        got = got[0]
    problem = values_agree(expected[0], got)
    return f"for the output, {problem}" if problem else None


def weights_rank(expected: tuple, got: Any) -> str | None:
    """Accept weights (B, H, T, S) that order the visible keys as they should, however sharply.

    So one slip of scale does not cost the points for heads that look at the right places, nor
    those for the mask. What is exactly 0 in ``expected`` must be exactly 0.
    """
    if not isinstance(got, tuple | list) or len(got) != 2:
        return f"expected the pair (output, weights), got {kind_of(got)}"
    wanted, found = expected[1], got[1]
    if not isinstance(found, Tensor):
        return f"expected {kind_of(wanted)} as the second result, got {kind_of(found)}"
    if found.shape != wanted.shape:
        return (
            f"expected weights of shape (B, H, T, S) = {tuple(wanted.shape)} as the second result, "
            f"got shape {tuple(found.shape)}"
        )
    wanted, found = wanted.double(), found.double()
    problem = _empty_rows_are_zero(wanted, found)
    if problem:
        return problem
    if not torch.isfinite(found).all():
        return "the weights hold NaN or infinity"
    if (found < 0).any():
        return f"weights cannot be negative; the smallest is {float(found.min()):.4g}"
    sums = found.sum(dim=-1)
    if not torch.allclose(sums, wanted.sum(dim=-1), atol=1e-4):
        return f"the weights of each row should sum to 1; your rows sum to {numbers(sums)}"
    return _hidden_keys_are_zero(wanted, found) or _keys_are_in_order(wanted, found)


def _empty_rows_are_zero(wanted: Tensor, found: Tensor) -> str | None:
    rows = found[(wanted == 0).all(dim=-1)]
    if torch.isnan(rows).any():
        return (
            "a query may attend to nothing here, and its weights are NaN: all its scores are minus "
            "infinity, so the softmax divides 0 by 0. Its weights should be 0"
        )
    wrong = rows[(rows != 0).any(dim=-1)]
    if len(wrong) == 0:
        return None
    alike = torch.allclose(wrong[0], wrong[0, :1])
    return (
        "a query may attend to nothing here, so its weights should be 0; yours are "
        f"{numbers(wrong[0])}"
        f"{'. What does a softmax make of scores that are all the same?' if alike else ''}"
    )


def _hidden_keys_are_zero(wanted: Tensor, found: Tensor) -> str | None:
    wrong = (wanted == 0) != (found == 0)
    if not wrong.any():
        return None
    b, h, t, s = (int(index) for index in wrong.nonzero()[0])
    where = f"in sentence {b}, head {h}, query {t} (counting from 0), key {s}"
    if wanted[b, h, t, s] != 0:
        return f"{where} is visible, but its weight is 0"
    weight = float(found[b, h, t, s])
    nearly = "A score of minus infinity has the weight 0; a large negative one does not always"
    return (
        f"{where} is hidden, but its weight is {weight:.3g} and not exactly 0"
        f"{f'. {nearly}' if weight < NEARLY_HIDDEN else ''}"
    )


def _keys_are_in_order(wanted: Tensor, found: Tensor) -> str | None:
    # only pairs that are clearly apart: near ties may come out either way
    clearly_more = wanted.unsqueeze(-1) > wanted.unsqueeze(-2) + 0.01
    confused = clearly_more & ~(found.unsqueeze(-1) > found.unsqueeze(-2))
    if not confused.any():
        return None
    b, h, t, more, less = (int(index) for index in confused.nonzero()[0])
    return (
        f"in sentence {b}, head {h}, query {t} (counting from 0), key {more} should get a larger "
        f"weight than key {less}; yours are {float(found[b, h, t, more]):.4g} and "
        f"{float(found[b, h, t, less]):.4g}"
    )


def empty_rows_give_the_bias(expected: tuple, got: Any) -> str | None:
    """Like `weights_rank`, and the output of a query that no head lets attend is w_o(0)."""
    problem = weights_rank(expected, got)
    if problem:
        return problem
    output, empty = got[0], (expected[1] == 0).all(dim=-1).all(dim=1)  # empty: (B, T)
    if not isinstance(output, Tensor) or output.shape != expected[0].shape:
        return f"expected {kind_of(expected[0])} as the output, got {kind_of(output)}"
    problem = values_agree(expected[0][empty], output[empty])
    if problem:
        return f"for queries that may attend to nothing, the output should be w_o(0): {problem}"
    return None


def something_works(expected: tuple, got: Any) -> str | None:
    """Accept a module whose output or weights are right: other steps ask for both."""
    return output_agrees(expected, got) and weights_rank(expected, got)


# -------------------------------------------------------------------- wrong ways to cut heads


def split_by_reshape_alone(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.reshape(batch, num_heads, length, d_model // num_heads)


def split_without_transpose(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model // num_heads)


def split_interleaved(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.reshape(batch, length, d_model // num_heads, num_heads).permute(0, 3, 1, 2)


def split_into_heads_of_width_h(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.reshape(batch, length, d_model // num_heads, num_heads).transpose(1, 2)


def split_and_turned(x: Tensor, num_heads: int) -> Tensor:
    return attention.split_heads(x, num_heads).transpose(2, 3)


def split_without_an_axis_for_one_head(x: Tensor, num_heads: int) -> Tensor:
    return x if num_heads == 1 else attention.split_heads(x, num_heads)


def split_and_squeezed(x: Tensor, num_heads: int) -> Tensor:
    return attention.split_heads(x, num_heads).squeeze()


def split_and_squeezed_in_front(x: Tensor, num_heads: int) -> Tensor:
    return attention.split_heads(x, num_heads).squeeze(0)


def split_into_a_tuple(x: Tensor, num_heads: int) -> tuple[Tensor, ...]:
    return x.chunk(num_heads, dim=-1)


def split_with_heads_first(x: Tensor, num_heads: int) -> Tensor:
    return torch.stack(x.chunk(num_heads, dim=-1))


def split_into_the_batch(x: Tensor, num_heads: int) -> Tensor:
    return attention.split_heads(x, num_heads).flatten(0, 1)


def merge_by_reshape_alone(x: Tensor) -> Tensor:
    batch, heads, length, d_k = x.shape
    return x.reshape(batch, length, heads * d_k)


def merge_by_view(x: Tensor) -> Tensor:
    batch, heads, length, d_k = x.shape
    return x.transpose(1, 2).view(batch, length, heads * d_k)


def merge_without_flattening(x: Tensor) -> Tensor:
    return x.transpose(1, 2)


def merge_interleaved(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1).flatten(start_dim=2)


def merge_by_sum(x: Tensor) -> Tensor:
    return x.sum(dim=1)


def merge_by_mean(x: Tensor) -> Tensor:
    return x.mean(dim=1)


def merge_along_the_sentence(x: Tensor) -> Tensor:
    return x.flatten(1, 2)


# --------------------------------------------------------------- wrong multi-head attentions


class InSteps(attention.MultiHeadAttention):
    """The reference step by step, so that each mistake below can replace one step."""

    def forward(self, query, key, value, mask=None):
        query, key, value = self.project(query, key, value)
        query, key, value = (self.split(item) for item in (query, key, value))
        weights = self.weigh(query @ key.transpose(-2, -1) / self.divisor(query), mask)
        return self.finish(weights @ value, weights)

    def project(self, query, key, value):
        return self.w_q(query), self.w_k(key), self.w_v(value)

    def split(self, x):
        return attention.split_heads(x, self.num_heads)

    def divisor(self, query):
        return math.sqrt(query.shape[-1])

    def weigh(self, scores, mask):
        return attention.masked_softmax(scores, mask)

    def finish(self, context, weights):
        return self.w_o(self.merge(context)), weights

    def merge(self, context):
        return attention.merge_heads(context)


class RootOfModelWidth(InSteps):
    def divisor(self, query):
        return math.sqrt(self.w_q.in_features)


class Unscaled(InSteps):
    def divisor(self, query):
        return 1.0


class DividedByHeadWidth(InSteps):
    def divisor(self, query):
        return query.shape[-1]


class RootOfLength(InSteps):
    def divisor(self, query):
        return math.sqrt(query.shape[-2])


class RootOfNumberOfHeads(InSteps):
    def divisor(self, query):
        return math.sqrt(query.shape[1])


class SplitByReshapeAlone(InSteps):
    def split(self, x):
        return split_by_reshape_alone(x, self.num_heads)


class MergedByReshapeAlone(InSteps):
    def merge(self, context):
        return merge_by_reshape_alone(context)


class ReshapedBothWays(SplitByReshapeAlone, MergedByReshapeAlone):
    pass


class Interleaved(InSteps):
    def split(self, x):
        return split_interleaved(x, self.num_heads)

    def merge(self, context):
        return merge_interleaved(context)


class HeadsMeetHeads(InSteps):
    def split(self, x):
        return split_without_transpose(x, self.num_heads)

    def merge(self, context):
        return context.flatten(start_dim=2)


class NoOutputProjection(InSteps):
    def finish(self, context, weights):
        return self.merge(context), weights


class FirstHeadForAll(InSteps):
    def weigh(self, scores, mask):
        return super().weigh(scores, mask)[:, :1].expand_as(scores)


class SoftmaxOver(InSteps):
    """Softmax over another axis; hidden scores are minus infinity and hidden weights 0."""

    dim = 1

    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=self.dim)
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=self.dim)
        return weights.masked_fill(~mask, 0.0)


class SoftmaxOverQueries(SoftmaxOver):
    dim = 2


class SoftmaxOverBatch(SoftmaxOver):
    dim = 0


class BoundedSoftmaxOver(InSteps):
    """Softmax over another axis; hidden scores are a large negative number."""

    dim = 1

    def weigh(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return scores.softmax(dim=self.dim)


class BoundedSoftmaxOverQueries(BoundedSoftmaxOver):
    dim = 2


class ArgumentsInReverse(InSteps):
    def forward(self, value, key, query, mask=None):
        return super().forward(query, key, value, mask)


class LengthsAssumedEqual(InSteps):
    def forward(self, query, key, value, mask=None):
        key, value = (item.reshape(query.shape) for item in (key, value))
        return super().forward(query, key, value, mask)


class KeyForValue(InSteps):
    def project(self, query, key, value):
        return super().project(query, key, key)


class QueryForAll(InSteps):
    def project(self, query, key, value):
        return super().project(query, query, query)


class OneMapForAll(InSteps):
    def project(self, query, key, value):
        return self.w_q(query), self.w_q(key), self.w_q(value)


class OneLayerForAll(attention.MultiHeadAttention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_q = self.w_k = self.w_v = self.w_o


class ValuesNotProjected(InSteps):
    def project(self, query, key, value):
        return self.w_q(query), self.w_k(key), value


class WithoutBias(attention.MultiHeadAttention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))


class WithoutInputBias(WithoutBias):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_o = nn.Linear(d_model, d_model)


class OutputAlone(attention.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, mask)[0]


class WeightsFirst(attention.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return weights, output


class MeanOfWeights(InSteps):
    def finish(self, context, weights):
        return super().finish(context, weights.mean(dim=1))


class WithoutAnAxisForOneHead(InSteps):
    def finish(self, context, weights):
        return super().finish(context, weights.squeeze(1))


class Squeezed(InSteps):
    def finish(self, context, weights):
        return tuple(item.squeeze() for item in super().finish(context, weights))


class SqueezedInFront(InSteps):
    def finish(self, context, weights):
        return tuple(item.squeeze(0) for item in super().finish(context, weights))


class ScoresForWeights(InSteps):
    def weigh(self, scores, mask):
        self.scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        return super().weigh(scores, mask)

    def finish(self, context, weights):
        return super().finish(context, self.scores)


class NoSoftmax(InSteps):
    def weigh(self, scores, mask):
        return scores if mask is None else scores * mask


class MaskIgnored(InSteps):
    def weigh(self, scores, mask):
        return super().weigh(scores, None)


class MaskInverted(InSteps):
    def weigh(self, scores, mask):
        return super().weigh(scores, None if mask is None else ~mask)


class MaskAfterSoftmax(InSteps):
    def weigh(self, scores, mask):
        return scores.softmax(dim=-1) if mask is None else scores.softmax(dim=-1) * mask


class ZeroForMinusInfinity(InSteps):
    low = 0.0

    def weigh(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, self.low)).softmax(dim=-1)


class NearlyZeroForMinusInfinity(ZeroForMinusInfinity):
    """-1e9 was meant."""

    low = 1e-9


class LiteralSoftmax(InSteps):
    def weigh(self, scores, mask):
        e = self.shifted(scores).exp()
        if mask is not None:
            e = e * mask
        return e / e.sum(dim=-1, keepdim=True)

    def shifted(self, scores):
        return scores


class OneMaximumForAll(LiteralSoftmax):
    def shifted(self, scores):
        return scores - scores.max()


class MaskWithOneMoreAxis(InSteps):
    def weigh(self, scores, mask):
        return super().weigh(scores, None if mask is None else mask.unsqueeze(1))


class AnyNumberOfHeads(InSteps):
    """Makes heads of as many whole features as there are, and leaves the rest aside."""

    def __init__(self, d_model, num_heads):
        super().__init__(d_model, 1)
        self.num_heads = num_heads


class RefusedByAssert(InSteps):
    def __init__(self, d_model, num_heads):
        assert d_model % num_heads == 0
        super().__init__(d_model, num_heads)


class RefusedWithoutNumbers(InSteps):
    def __init__(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError
        super().__init__(d_model, num_heads)


# ------------------------------------------------------------------------------- the three parts

RESHAPED_IN = (
    "The shape fits, but a reshape leaves the numbers in the order in which they stand in memory, "
    "word after word. So each of your heads holds some whole words instead of its share of every "
    "word. Which two axes have to change places, and from which shape?"
)
RESHAPED_OUT = (
    "The shape fits, but the numbers still stand head after head, so each row of the result mixes "
    "several words. Which two axes have to change places before two axes become one?"
)
INTERLEAVED = (
    "Your head h holds the features h, h + H, h + 2H and so on. The text gives each head neighbours: "
    "h · d_k to (h + 1) · d_k - 1. In which order do H and d_k stand when you cut a row?"
)
OTHER_AXIS = (
    "Your numbers match scores divided by the root of the query's length or of the number of heads. "
    "It is the root of a head's width. Which axis of (B, H, T, d_k) is that?"
)
OVER_HEADS = (
    "Your weights sum to one over the heads. Within each head, a query shares out its attention "
    "over the keys: which axis of (B, H, T, S) is that?"
)
HIDDEN_AS_ZERO = (
    "A hidden score became 0, or as good as 0 (1e-9 is not -1e9), and exp(0) = 1 is a weight like "
    "any other. Which score has the weight 0?"
)
OVER_QUERIES = (
    "Your weights sum to one over the queries. Each query shares out its attention over the keys: "
    "which axis of (B, H, T, S) is that?"
)
DROPPED = (
    "An axis of length 1 is missing, that of a single head, sentence or word. It stays, so that "
    "whoever uses your result can count on its axes. Is there a squeeze, or a special case?"
)

split_heads = Part(
    name="split_heads",
    signature="split_heads(x (B, T, d_model), num_heads) -> (B, H, T, d_k)",
    reference=attention.split_heads,
    steps=(
        Step(
            "each head holds its own features of every word",
            1,
            (
                Case("one sentence, T=3, d_model=8, H=2", features(1, 3, 8, 2)),
                Case("one sentence, T=2, d_model=15, H=3", features(1, 2, 15, 3)),
            ),
        ),
        Step(
            "any batch, length and number of heads",
            1,
            (
                Case("two sentences, T=5, d_model=12, H=3", features(2, 5, 12, 3)),
                Case("three sentences, T=2, d_model=20, H=5", features(3, 2, 20, 5)),
                Case("as many heads as words, T=H=3, d_model=12", features(2, 3, 12, 3)),
                Case("a single head, H=1, d_model=7", features(2, 3, 7, 1)),
                Case("heads of width 1, H=d_model=6", features(2, 5, 6, 6)),
                Case("a single word, T=1, d_model=10, H=2", features(3, 1, 10, 2)),
            ),
        ),
        Step(
            "float64 stays float64, x stays as it was, any memory layout works, gradients flow",
            1,
            (
                Case("x in float64", features(2, 3, 8, 2, torch.float64)),
                Case("x with gaps in memory", features(2, 3, 8, 2), strided=True),
                Case("the gradient for x", features(2, 5, 12, 3), gradient=True),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("reshape without transpose", split_by_reshape_alone, RESHAPED_IN),
        Mistake(
            "heads not moved in front of the words",
            split_without_transpose,
            "The features are cut as they should be, but the result is (B, T, H, d_k). Each head "
            "needs all its words together: which two axes have to change places?",
        ),
        Mistake("heads hold every H-th feature", split_interleaved, INTERLEAVED),
        Mistake(
            "number and width of heads swapped",
            split_into_heads_of_width_h,
            "You make d_model / H heads of width H. It should be H heads of width d_model / H.",
        ),
        Mistake(
            "words and features swapped in each head",
            split_and_turned,
            "Your result is (B, H, d_k, T): within a head, words stand in the columns. They stay in "
            "the rows, (B, H, T, d_k); only the product of queries and keys turns one of the two.",
        ),
        Mistake("an axis of length 1 dropped", split_without_an_axis_for_one_head, DROPPED),
        Mistake("an axis of length 1 dropped", split_and_squeezed, DROPPED),
        Mistake("an axis of length 1 dropped", split_and_squeezed_in_front, DROPPED),
        Mistake(
            "heads one by one",
            split_into_a_tuple,
            "Every head is right, but they come as several tensors. One tensor with an axis for the "
            "heads is asked, (B, H, T, d_k), so that later steps need no loop.",
        ),
        Mistake(
            "heads in front of the batch",
            split_with_heads_first,
            "Your result is (H, B, T, d_k). The batch stays in front: (B, H, T, d_k). Along which "
            "axis do the heads belong?",
        ),
        Mistake(
            "batch and heads in one axis",
            split_into_the_batch,
            "Your result is (B·H, T, d_k). The heads get an axis of their own: (B, H, T, d_k).",
        ),
    ),
    reads=("lecture 5, on narrow heads", f"{LECTURE}#3.-Narrow-heads"),
)

merge_heads = Part(
    name="merge_heads",
    signature="merge_heads(x (B, H, T, d_k)) -> (B, T, H·d_k)",
    reference=attention.merge_heads,
    steps=(
        Step(
            "the heads' features stand side by side again, for every word",
            1,
            (
                Case("one sentence, H=2, T=3, d_k=4", in_heads(1, 2, 3, 4)),
                Case("two sentences, H=3, T=5, d_k=4", in_heads(2, 3, 5, 4)),
                Case("as many heads as words, H=T=3, d_k=2", in_heads(2, 3, 3, 2)),
                Case("a single head, H=1, d_k=5", in_heads(2, 1, 3, 5)),
                Case("heads of width 1, H=4", in_heads(3, 4, 2, 1)),
                Case("a single word, T=1, H=2, d_k=5", in_heads(2, 2, 1, 5)),
            ),
        ),
        Step(
            "float64 stays float64, x stays as it was, any memory layout works, gradients flow",
            1,
            (
                Case("x in float64", in_heads(2, 3, 5, 4, torch.float64)),
                Case("x with gaps in memory", in_heads(2, 3, 5, 4), strided=True),
                Case("the gradient for x", in_heads(2, 3, 5, 4), gradient=True),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake("reshape without transpose", merge_by_reshape_alone, RESHAPED_OUT),
        Mistake(
            "view of a transposed tensor",
            merge_by_view,
            "`view` never moves numbers, so it refuses a tensor whose axes were swapped (it only "
            "passes when x happens to lie the right way round). `reshape` and `flatten` move them "
            "where needed; so does `contiguous` before `view`.",
        ),
        Mistake(
            "heads not joined",
            merge_without_flattening,
            "The axes are in the right order, but the result is still (B, T, H, d_k). What remains "
            "is to make one axis of the last two.",
        ),
        Mistake(
            "features of the heads taken in turns",
            merge_interleaved,
            "You take feature 0 of every head, then feature 1 of every head. The heads stand side "
            "by side: first all features of head 0, then all of head 1.",
        ),
        Mistake(
            "heads added up",
            merge_by_sum,
            "You add the heads up, which leaves d_k features. They are put side by side instead, "
            "H · d_k features; mixing them is the task of w_o.",
        ),
        Mistake(
            "heads averaged",
            merge_by_mean,
            "You average the heads, which leaves d_k features. They are put side by side instead, "
            "H · d_k features; mixing them is the task of w_o.",
        ),
        Mistake(
            "heads joined along the sentence",
            merge_along_the_sentence,
            "Your result is (B, H·T, d_k): the sentence got longer. The words' features grow "
            "instead: (B, T, H·d_k).",
        ),
    ),
    reads=("lecture 5, on narrow heads", f"{LECTURE}#3.-Narrow-heads"),
    may_call=("split_heads",),
)

multi_head_attention = Part(
    name="MultiHeadAttention",
    signature="MultiHeadAttention(d_model, num_heads); forward(query, key, value, mask=None) -> "
    "(output (B, T, d_model), weights (B, H, T, S))",
    reference=attention.MultiHeadAttention,
    steps=(
        Step(
            "every head has weights of its own, larger for keys that match the query better",
            2,
            (
                Case("one sentence, T=5, d_model=12, H=3", attending(1, 5, None, 12, 3)),
                Case("two sentences, T=4, d_model=10, H=2", attending(2, 4, None, 10, 2)),
            ),
            judge=weights_rank,
        ),
        Step(
            "self-attention: the output of a sequence that attends to itself",
            2,
            (
                Case("one sentence, T=5, d_model=12, H=3", attending(1, 5, None, 12, 3)),
                Case("two sentences, T=4, d_model=10, H=2", attending(2, 4, None, 10, 2)),
                Case("a single head, d_model=7", attending(2, 3, None, 7, 1)),
                Case(
                    "the same module used twice, T=4, d_model=10, H=2",
                    attending(2, 4, None, 10, 2, times=2),
                    random=True,  # a list of results tells nothing more about a mistake
                ),
            ),
            judge=output_agrees,
        ),
        Step(
            "cross-attention: output and weights where queries, keys and values differ",
            2,
            (
                Case(
                    "T=S=5, but three different sequences, d_model=12, H=3",
                    attending(2, 5, 5, 12, 3),
                ),
                Case("T=3, S=5, d_model=8, H=2", attending(2, 3, 5, 8, 2)),
                Case("T=7, S=2, d_model=15, H=5, three sentences", attending(3, 7, 2, 15, 5)),
                Case("a single query, T=1, S=4, d_model=6, H=2", attending(2, 1, 4, 6, 2)),
                Case("a single key, T=4, S=1, d_model=6, H=3", attending(2, 4, 1, 6, 3)),
                Case("a single head, T=3, S=5, d_model=7", attending(1, 3, 5, 7, 1)),
                Case("heads of width 1, T=3, S=4, H=d_model=5", attending(2, 3, 4, 5, 5)),
            ),
        ),
        Step(
            "masks of every shape: hidden keys get weight 0, visible ones still sum to one",
            1,
            (
                # with as many heads as words, a mask (T, 1, T) answers wrongly where it stops with
                # an error elsewhere, so that not every error over a mask is taken for this mistake
                Case("a causal mask (T, T), T=4, H=4", attending(2, 4, None, 8, 4, causal(4))),
                Case(
                    "padding (B, 1, 1, S), T=3, S=5, H=4",
                    attending(2, 3, 5, 12, 4, padding(5, 3, 4)),
                ),
                Case(
                    "a mask per sentence (B, 1, T, S), T=3, S=5, H=4",
                    attending(2, 3, 5, 12, 4, scattered(2, 1, 3, 5)),
                ),
                Case(
                    "a mask per head (B, H, T, S), T=3, S=5, H=2",
                    attending(2, 3, 5, 8, 2, scattered(2, 2, 3, 5)),
                ),
                Case(
                    "a mask (H, 1, S), T=4, S=5, H=3", attending(2, 4, 5, 12, 3, scattered(3, 1, 5))
                ),
                Case("a mask (S,), T=3, S=5, H=2", attending(2, 3, 5, 8, 2, scattered(5))),
            ),
            judge=weights_rank,
        ),
        Step(
            "a query that may attend to nothing gets weights of 0 and the output w_o(0)",
            1,
            (
                Case(
                    "a mask (T, S) that hides all keys from query 1, T=3, S=5",
                    attending(2, 3, 5, 8, 2, with_empty_rows(scattered(3, 5), (1,))),
                    random=True,  # there are too many ways to treat this to know a mistake by it
                ),
                Case(
                    "a mask (B, 1, 1, S) that hides all of sentence 1, T=3, S=5",
                    attending(2, 3, 5, 8, 2, with_empty_rows(padding(5, 3, 2), (1,))),
                    random=True,  # there are too many ways to treat this to know a mistake by it
                ),
                Case(
                    "a mask (B, H, T, S) that hides all keys from query 2 in head 1, T=3, S=5",
                    attending(2, 3, 5, 8, 2, with_empty_rows(scattered(2, 2, 3, 5), (0, 1, 2))),
                    random=True,
                ),
            ),
            judge=empty_rows_give_the_bias,
        ),
        Step(
            "heads that do not share the width evenly are refused, in words, by the constructor",
            1,
            (
                Case("MultiHeadAttention(9, 1), which is fine", attending(2, 4, None, 9, 1)),
                refused(10, 4),
                refused(9, 2),
                refused(6, 12),
            ),
            judge=something_works,
        ),
        Step(
            "float64, large scores, untouched inputs, any memory layout, train mode, gradients "
            "everywhere",
            1,
            (
                Case("float64", attending(2, 3, 5, 8, 2, dtype=torch.float64)),
                Case(
                    "float64 with query and key 50 times as large",
                    attending(2, 3, 5, 8, 2, loudness=50.0, dtype=torch.float64),
                ),
                Case(
                    "float64 with a mask",
                    attending(2, 3, 5, 8, 2, scattered(3, 5), dtype=torch.float64),
                ),
                Case(
                    "inputs and mask with gaps in memory",
                    attending(2, 3, 5, 8, 2, scattered(2, 1, 3, 5)),
                    strided=True,
                ),
                Case("train mode", attending(2, 3, 5, 8, 2, training=True)),
                Case(
                    "gradients for query, key, value and all weights",
                    attending(2, 3, 5, 8, 2),
                    gradient=True,
                ),
                Case(
                    "gradients with a query that may attend to nothing, where NaN easily flows back",
                    attending(2, 3, 5, 8, 2, with_empty_rows(scattered(2, 1, 3, 5), (0, 0, 2))),
                    gradient=True,
                ),
            ),
            strict=True,
        ),
    ),
    mistakes=(
        Mistake(
            "scaled by √d_model",
            RootOfModelWidth,
            "Your numbers match scores divided by √d_model. How many products does one score add "
            "up, now that each head sees only its share of the width?",
        ),
        Mistake(
            "not scaled",
            Unscaled,
            "Your numbers match plain dot products. Before the softmax, each score is divided by "
            "the root of a width (lecture 3). Which width do two vectors have within a head?",
        ),
        Mistake(
            "divided by d_k",
            DividedByHeadWidth,
            "Your numbers match scores divided by d_k. It is the root of d_k: the standard deviation "
            "of a sum of d_k products grows with √d_k.",
        ),
        Mistake("scaled by the root of another axis", RootOfLength, OTHER_AXIS),
        Mistake("scaled by the root of another axis", RootOfNumberOfHeads, OTHER_AXIS),
        Mistake("reshape without transpose, on the way in", SplitByReshapeAlone, RESHAPED_IN),
        Mistake("reshape without transpose, on the way out", MergedByReshapeAlone, RESHAPED_OUT),
        Mistake(
            "reshape without transpose, both ways",
            ReshapedBothWays,
            "All shapes fit, but a reshape leaves the numbers in their order, so your heads hold "
            "whole words instead of a share of every word, and words in different heads never meet. "
            "On the way in and on the way out, two axes have to change places as well.",
        ),
        Mistake("heads hold every H-th feature", Interleaved, INTERLEAVED),
        Mistake(
            "heads attend to heads",
            HeadsMeetHeads,
            "At each word, your heads attend to each other, with weights (B, T, H, H). Words should "
            "attend to words, in every head by itself: the last two axes must be words and features "
            "when you multiply.",
        ),
        Mistake(
            "no output projection",
            NoOutputProjection,
            "Your output is that of the heads side by side. The last step is missing, the one that "
            "lets the heads meet: w_o.",
        ),
        Mistake(
            "one head's weights for all",
            FirstHeadForAll,
            "Every head uses the weights of head 0. Each head has queries and keys of its own, so it "
            "has weights of its own.",
        ),
        Mistake("softmax over the heads", SoftmaxOver, OVER_HEADS),
        Mistake("softmax over the heads", BoundedSoftmaxOver, OVER_HEADS),
        Mistake("softmax over the queries", SoftmaxOverQueries, OVER_QUERIES),
        Mistake("softmax over the queries", BoundedSoftmaxOverQueries, OVER_QUERIES),
        Mistake(
            "softmax over the batch",
            SoftmaxOverBatch,
            "Your weights sum to one over the sentences of the batch. Each query shares out its "
            "attention over the keys: which axis of (B, H, T, S) is that?",
        ),
        Mistake(
            "arguments in the order value, key, query",
            ArgumentsInReverse,
            "Your `forward` takes value, key, query. Self-attention cannot tell, since all three are "
            "the same there; cross-attention can. The order is query, key, value, mask.",
        ),
        Mistake(
            "T = S assumed",
            LengthsAssumedEqual,
            "All is well while there are as many keys as queries, and it stops where there are not. "
            "Do you take the length of the keys from the query? Key and value have a length of their "
            "own, S.",
        ),
        Mistake(
            "key used as value",
            KeyForValue,
            "Your values are made from the key: w_v gets the wrong argument. Does a test with key "
            "and value of different content pass?",
        ),
        Mistake(
            "query used as key and value",
            QueryForAll,
            "All three maps get the query, so your module attends to the queries themselves. Key and "
            "value may come from elsewhere.",
        ),
        Mistake(
            "one map for query, key and value",
            OneMapForAll,
            "All three are projected by w_q. Which layer belongs to the key, which to the value?",
        ),
        Mistake(
            "one layer with four names",
            OneLayerForAll,
            "w_q, w_k, w_v and w_o are the same layer under four names, so whatever one learns, all "
            "learn. Make a layer for each.",
        ),
        Mistake(
            "values not projected",
            ValuesNotProjected,
            "Query and key are projected, the value is not. What is w_v for?",
        ),
        Mistake(
            "layers without bias",
            WithoutBias,
            "The four layers are `nn.Linear` as PyTorch makes them, with a bias. Yours have none.",
        ),
        Mistake(
            "layers without bias, but for w_o",
            WithoutInputBias,
            "The four layers are `nn.Linear` as PyTorch makes them, with a bias. Here only w_o has "
            "one.",
        ),
        Mistake(
            "output returned without the weights",
            OutputAlone,
            "The output is right, but it comes alone. Return the pair (output, weights).",
        ),
        Mistake(
            "results in the wrong order",
            WeightsFirst,
            "You return the weights first. The course returns (output, weights).",
        ),
        Mistake("an axis of length 1 dropped", WithoutAnAxisForOneHead, DROPPED),
        Mistake("an axis of length 1 dropped", Squeezed, DROPPED),
        Mistake("an axis of length 1 dropped", SqueezedInFront, DROPPED),
        Mistake(
            "weights averaged over the heads",
            MeanOfWeights,
            "Your weights are the mean over the heads, (B, T, S), as `nn.MultiheadAttention` gives "
            "them by default. Return those of every head, (B, H, T, S).",
        ),
        Mistake(
            "scores returned for weights",
            ScoresForWeights,
            "The output is right, but what stands beside it are the scores before the softmax. "
            "Return the weights.",
        ),
        Mistake(
            "no softmax",
            NoSoftmax,
            "Your heads weigh the values with the scores themselves. What makes weights of a row of "
            "scores?",
        ),
        Mistake(
            "mask ignored",
            MaskIgnored,
            "Without a mask all is right; with one, the same comes out as without. Where does the "
            "mask enter?",
        ),
        Mistake(
            "mask inverted",
            MaskInverted,
            "You hide what the mask allows. In this course True means: may attend. "
            "(`nn.MultiheadAttention` has it the other way round.)",
        ),
        Mistake(
            "mask after the softmax",
            MaskAfterSoftmax,
            "Hidden weights are zero, but the visible ones no longer sum to one: the softmax had "
            "already shared out attention among all keys. Hide the scores before the softmax.",
        ),
        Mistake("hidden scores set to 0", ZeroForMinusInfinity, HIDDEN_AS_ZERO),
        Mistake("hidden scores set to 0", NearlyZeroForMinusInfinity, HIDDEN_AS_ZERO),
        Mistake(
            "softmax that overflows",
            LiteralSoftmax,
            "With small scores all is right; the exponential of a large one is infinite, and infinity "
            "divided by infinity is NaN. What may be subtracted from a row of scores without changing its "
            "weights (assignment 3)?",
        ),
        Mistake(
            "one maximum subtracted from all rows",
            OneMaximumForAll,
            "Your softmax subtracts the largest score of the whole tensor. In a row far below it, all "
            "exponentials become 0, and 0 divided by 0 is NaN. Each row has a largest score of its own.",
        ),
        Mistake(
            "one more axis for the mask",
            MaskWithOneMoreAxis,
            "You give the mask one more axis for the heads. It comes ready to broadcast to "
            "(B, H, T, S); a mask per sentence is already (B, 1, T, S).",
        ),
        Mistake(
            "bare assert",
            RefusedByAssert,
            "An assert stops a wrong number of heads, but only while nobody runs Python with `-O`, "
            "and it says nothing about what to mend. Which error says that a value is wrong?",
        ),
        Mistake(
            "width and heads not compared",
            AnyNumberOfHeads,
            "Your constructor takes any number of heads. If they do not divide d_model, it should "
            "say so at once, with both numbers: later errors are hard to trace back.",
        ),
        Mistake(
            "error without the numbers",
            RefusedWithoutNumbers,
            "The ValueError comes, but its message does not hold both numbers, d_model and "
            "num_heads. With them, its reader knows what to mend.",
        ),
    ),
    reads=("lecture 5, on the class and on two sequences", f"{LECTURE}#4.-The-class"),
    may_call=("split_heads", "merge_heads"),
)

ASSIGNMENT = Assignment(
    name="a5_multi_head_attention",
    parts=(split_heads, merge_heads, multi_head_attention),
    barred=(
        "scaled_dot_product_attention", "_scaled_dot_product_attention", "flex_attention",
        "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu",
        "MultiheadAttention", "multi_head_attention_forward", "_native_multi_head_attention",
        "TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder",
        "TransformerDecoder", "Transformer",
    ),
)  # fmt: skip
