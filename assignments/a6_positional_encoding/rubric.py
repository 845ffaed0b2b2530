"""Assignment 6: sinusoidal positions as a table, as a module, and as a picture."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.checks.cases import Build, Case, Drawing, Judge, Randn
from autograder.checks.check import Part
from autograder.checks.compare import dropped, kind_of, two_results_differ, values_agree
from autograder.checks.mistakes import Mistake
from autograder.checks.problem import Judgement
from autograder.probe.drawing import Picture
from course_utils import positional

LECTURE = "../../lectures/06_positional_encoding.ipynb"
# so near to 1 that nothing is kept; at 1 itself, dropout by hand divides 0 by 0
EVERYTHING = 1 - 1e-9


# ------------------------------------------------------------------------------ what is drawn


def written(name: str, *arguments: Any, **keywords: Any) -> str:
    """A call as it is written in Python."""
    given = [*map(str, arguments), *(f"{key}={value}" for key, value in keywords.items())]
    return f"`{name}({', '.join(given)})`"


def size(length: int, d_model: int) -> Case:
    """The arguments (length, d_model); there is nothing to draw."""
    return Case(written("positional_encoding", length, d_model), lambda randn: [length, d_model])


def words(
    B: int,
    T: int,
    D: int,
    *in_order: Any,
    training: bool = False,
    rested: bool = False,
    times: int = 1,
    size: float = 1.0,
    before: tuple[int, int] | None = None,
    **keywords: Any,
) -> Case:
    """x (B, T, D) of about this size for a PositionalEncoding made with D and these arguments.

    It was used on as many sentences and words as ``before`` says.
    """
    made = written("PositionalEncoding", D, *in_order, **keywords)
    mode = f"{'train' if training else 'eval'} mode{', used in eval mode before' * rested}"
    how: dict[str, Any] = {"training": training, "rested": rested, "times": times}
    shape = f"x of shape {(B, T, D)}{f' and numbers near {size:,.0f}' * (size != 1)}"

    def draw(randn: Randn) -> Build:
        x = size * randn(B, T, D)
        earlier = [randn(*before, D)] if before else []
        return Build((D, *in_order), keywords, [x], before=earlier, **how)

    used = f", used before on x of shape {(*before, D)}" if before else ""
    return Case(f"{made} in {mode}, {shape}{used}", draw)


def new(label: str, *arguments: Any, method: str | None = None) -> Case:
    """A new PositionalEncoding of width 6 for 7 positions, to be looked into."""
    return Case(label, lambda randn: Build((6,), {"max_len": 7}, list(arguments), method))


def drawing(*arguments: int, on_axes: bool = True, **keywords: int) -> Case:
    """A picture of these sizes."""
    given = {**keywords, "ax": "ax"} if on_axes else keywords
    return Case(
        written("visualize_positional_encodings", *arguments, **given),
        lambda randn: Drawing(list(arguments), keywords, on_axes),
    )


def silent(case: Case, *raises: str) -> Case:
    """A case that decides points, and is left out where mistakes are recognised.

    Its right answers come in several forms (a table in any shape, an angle from another formula, an
    error in any words), so it cannot tell one wrong answer from another.
    """
    return replace(case, random=True, raises=raises)


# ------------------------------------------------------------------------------ what decides


def near(expected: Tensor, got: Any) -> Judgement:
    """Like `values_agree`, but at far positions an angle computed in float32 will do."""
    problem = values_agree(expected, got)
    if problem and isinstance(got, Tensor) and got.shape == expected.shape:
        return None if (got.double() - expected.double()).abs().max() <= 1e-3 else problem
    return problem


def first_pair(expected: Tensor, got: Any) -> Judgement:
    """Columns 0 and 1, of a table of the right shape."""
    if isinstance(got, Tensor) and got.shape == expected.shape:
        expected, got = expected[:, :2], got[:, :2]
    return values_agree(expected, got)


def in_single_precision(expected: Tensor, got: Any) -> Judgement:
    """The table has the precision of float32, also where a float64 tensor keeps its own."""
    single = values_agree(expected.float(), got.float() if isinstance(got, Tensor) else got)
    if single or expected.dtype != torch.float64:
        return single
    return (
        None
        if (torch.as_tensor(got) - expected).abs().max() <= 1e-5
        else values_agree(expected, got)
    )


def holds_a_table_that_is_not_trained(expected: Any, got: Any) -> Judgement:
    """What a new module holds, or its buffer `pe` (max_len, D)."""
    if isinstance(expected, dict):
        return _holdings(got)
    if _lacking(expected, got) and not any(_lacking(one, got) is None for one in _wrong(expected)):
        return _lacking(expected, got)
    return None


def _wrong(table: Tensor) -> Iterator[Tensor]:
    """What our wrong tables would be: that its numbers are wrong is another step's matter."""
    for mistake in wrong_tables():
        with contextlib.suppress(RuntimeError):
            yield mistake.answer(*table.shape)


def _holdings(got: Any) -> str | None:
    held = got if isinstance(got, dict) else {}
    learned, buffers = held.get("parameters"), held.get("buffers")
    if not isinstance(learned, dict) or not isinstance(buffers, list):
        return f"expected a module, got {kind_of(got)}"
    if learned:
        names = ", ".join(f"`{name}`" for name in learned)
        return f"nothing in this module is learned, but it has parameters: {names}"
    if "pe" not in buffers:
        names = ", ".join(f"`{name}`" for name in buffers) or "none"
        return f"the table should be a buffer named `pe`; the module's buffers: {names}"
    return None


def _lacking(table: Tensor, got: Any) -> str | None:
    """A number of the table that a tensor of whatever shape does not hold, if there is one."""
    if not isinstance(got, Tensor):
        return f"the buffer `pe` of a new module should hold the table, and is {kind_of(got)}"
    apart = (table.double().reshape(-1, 1) - got.double().reshape(1, -1)).abs()
    missing = table.flatten()[~(apart <= 1e-3).any(dim=1)]
    return None if len(missing) == 0 else (
        "the buffer `pe` of a new module should hold the table, but it does not: "
        f"{float(missing[0]):.4g}, for instance, is nowhere in it"
    )  # fmt: skip


def drops_from_the_sum(expected: Tensor | list, got: Any) -> Judgement:
    """One result that is not left to chance, or two in train mode with dropout 0.1."""
    if not isinstance(expected, list):
        return values_agree(expected, got)
    problem = two_results_differ(expected, got)
    if problem:
        return problem
    # who adds to x itself finds the sum in it when called again, which another step charges
    again = expected[1] + positional.positional_encoding(*expected[1].shape[1:])
    agrees = dropped(0.1)
    second = agrees(expected[1], got[1]) and agrees(again, got[1])
    together = next(filter(None, map(_dropped_together, got)), None)
    return together or agrees(expected[0], got[0]) or (second and agrees(expected[1], got[1]))


def _dropped_together(found: Any) -> str | None:
    """Whether chance decides about whole words, dimensions or sentences instead of each entry."""
    if not isinstance(found, Tensor) or found.dim() != 3 or not (found == 0).any():
        return None
    is_zero = found == 0
    together = (
        "the same entries are dropped in every sentence",
        "the same entries are dropped in every word of a sentence",
        "words are dropped as a whole",
    )
    for axis, what in enumerate(together):
        if (is_zero == is_zero.narrow(axis, 0, 1)).all():
            return f"in train mode, {what}: dropout decides about each entry on its own"
    return None


CORRELATED = 0.8  # by which a picture shows encodings, though not the right ones
NO_CELLS = "no cells were found. Is the table drawn, for instance with `imshow` or `pcolormesh`?"


def as_picture(got: Any) -> Picture | None:
    """A report as a Picture with cells in it; None if it is anything else."""
    if not isinstance(got, tuple | list) or len(got) != len(Picture._fields):
        return None
    picture = Picture(*got)
    is_table = isinstance(picture.values, Tensor) and picture.values.dim() == 2
    seen = all(isinstance(fact, bool) for fact in picture[1:])
    return picture if is_table and seen and picture.values.numel() else None


def in_words(table: Tensor) -> str:
    rows, columns = table.shape
    return f"{rows} {'row' if rows == 1 else 'rows'} and {columns} columns of cells"


def shows_the_table(expected: tuple, got: Any) -> Judgement:
    """Every number of the table at its dimension (x) and position (y)."""
    wanted, picture = Picture(*expected).values, as_picture(got)
    if picture is None:
        return NO_CELLS
    if picture.values.shape != wanted.shape:
        return f"expected {in_words(wanted)}, the picture has {in_words(picture.values)}"
    if values_agree(wanted, picture.values.flip(0)) is None:
        return (
            "read by the numbers on the y axis, the encodings run backwards: the vector of the "
            "last position stands at y = 0"
        )
    problem = values_agree(wanted, picture.values)
    if problem:
        return f"in the numbers shown (row = position, column = dimension), {problem}"
    if not picture.counted_from_zero:
        return (
            "dimension d should stand at x = d and position p at y = p (or between this number "
            "and the next), but the numbers on the axes say something else. Is there an `extent`?"
        )
    if not picture.complete:
        return "the limits of the axes cut cells off: every cell should be seen as a whole"
    if not picture.crisp:
        return "cells are blurred into each other: leave out the interpolation or the shading"
    if not picture.fills:
        return (
            "the cells fill only a small part of the axes. Do the limits belong to this `length` "
            "and this `d_model`?"
        )
    if not picture.colours_differ:
        return (
            "numbers that differ have the same colour. From which number to which do your colours "
            "run (`vmin`, `vmax`), and the table?"
        )
    return None


def _of_encodings(judge: Callable[[Picture], str | None]) -> Judge:
    """First asks for encodings; in which order they stand, how many, and how exact, is another step's matter."""

    def judge_a_picture(expected: tuple, got: Any) -> Judgement:
        wanted, picture = Picture(*expected).values, as_picture(got)
        if picture is None:
            return NO_CELLS
        values = picture.values
        known = [wanted, _as_large(values), _as_large(values.T)]
        if any(_same_numbers(one, values) for one in known[:2]) or any(
            abs(_correlation(one, turned)) > CORRELATED
            for one in known
            for turned in (values, values.T)
        ):
            return judge(picture)
        if any(_same_numbers(one, values) for one in _wrong(values)):
            return judge(picture)
        return (
            "the cells do not show the encodings that were asked for: expected "
            f"{in_words(wanted)}, the picture has {in_words(picture.values)}"
            + (" with other numbers" if picture.values.numel() == wanted.numel() else "")
        )

    return judge_a_picture


def _as_large(values: Tensor) -> Tensor:
    """The encodings that a picture with so many cells would show."""
    return positional.positional_encoding(*values.shape)


def _same_numbers(one: Tensor, other: Tensor) -> bool:
    """Whether two tables hold the same numbers, in whatever order."""
    if one.numel() != other.numel():
        return False
    return values_agree(one.flatten().sort().values, other.flatten().sort().values) is None


def _correlation(one: Tensor, other: Tensor) -> float:
    """Near 1 where two tables rise and fall together, as where one is rounded, scaled or shifted."""
    if one.shape != other.shape:
        return 0.0
    pair = torch.stack([one.flatten(), other.flatten()]).double()
    return float(torch.corrcoef(pair)[0, 1])


@_of_encodings
def can_be_read(picture: Picture) -> str | None:
    """Position 0 on top, labels, a colour bar.

    In a picture that was turned, or whose numbers run backwards, no side is the right top: that is
    one mistake, which another step charges.
    """
    lacks = []
    right, values = _as_large(picture.values), picture.values
    as_asked = _correlation(right, values) > max(CORRELATED, _correlation(right, values.flip(0)))
    if not picture.zero_on_top and as_asked:
        lacks.append("the y axis runs upwards, so position 0 is not on top")
    bare = " and ".join(axis for axis in "xy" if not getattr(picture, f"{axis}_labelled"))
    if bare:
        lacks.append(f"no label can be seen on {bare}")
    if picture.labels_exchanged and as_asked:
        lacks.append(
            "the label of x speaks of positions and that of y of dimensions: they are exchanged"
        )
    if not picture.colour_bar:
        lacks.append("there is no colour bar, so nobody knows which colour is which number")
    return "; ".join(lacks) or None


@_of_encodings
def is_a_good_guest(picture: Picture) -> str | None:
    """Draws on the Axes given, returns it, opens nothing else and shows nothing."""
    if not picture.on_given_axes:
        return (
            "the picture is not where it should be: on `ax` if that is given, else in a new figure "
            "of its own"
        )
    if not picture.axes_returned:
        return "the Axes with the picture should come back, and something else did. Is there a `return ax`?"
    if picture.other_figures:
        return "a second figure was opened beside the one with the picture"
    if picture.shown:
        return "the figure was shown: leave `show` to whoever called the function"
    if picture.closed:
        return (
            "a figure is missing among those that are open in `plt`: make your own by `plt`, and close none, "
            "since whoever called the function goes on with it"
        )
    return None


# ------------------------------------------------------------------------ positional_encoding

table = Part(
    "positional_encoding(length, d_model) -> (length, d_model)",
    positional.positional_encoding,
    reads=("lecture 6, on sinusoids", f"{LECTURE}#2.-Sinusoids"),
)
table.example = size(3, 4)
FIRST_PAIR = table.step(
    "columns 0 and 1 are the sine and the cosine of the position",
    1, size(7, 2), size(5, 6), judge=first_pair,
)  # fmt: skip
FURTHER_PAIRS = table.step(
    "further columns take turns in the same way, each pair with its own angle",
    1, size(23, 8), size(130, 4), size(1, 6), size(3, 300),
)  # fmt: skip
ODD_WIDTH = table.step(
    "an odd width, too: the last column is a sine",
    # slices that crash at other odd widths happen to fit at 1
    1, size(5, 7), size(6, 3), silent(size(4, 1)),
)  # fmt: skip
FAR = table.step(
    "a float32 tensor of shape (length, d_model), still right at positions in the thousands",
    1, size(4, 10), silent(size(10001, 4)), judge=near, strict=True,
)  # fmt: skip


# ------------------------------------------------------------------------- PositionalEncoding

module = Part(
    "PositionalEncoding(d_model, dropout=0.1, max_len=5000)(x (B, T, D)) -> (B, T, D)",
    positional.PositionalEncoding,
    reads=("lecture 6, on adding positions to tokens", f"{LECTURE}#4.-Adding-positions-to-tokens"),
    may_call=("positional_encoding",),
)
module.example = words(1, 3, 4, max_len=5)
ADDED = module.step(
    "every word gets the vector of its own position added",
    1,
    words(2, 3, 6, dropout=0.0, max_len=11),
    words(5, 2, 300, dropout=0.0, max_len=9),
    words(4, 4, 8, dropout=0.0, max_len=6),  # as many sentences as words
    words(1, 130, 4, dropout=0.0),
)
ADDING_MANNERS = module.step(
    "float64 stays float64, any width and memory layout, x stays as it was, gradients flow",
    1,
    words(2, 3, 7, dropout=0.0, max_len=8),
    silent(words(2, 3, 6, dropout=0.0, max_len=8).in_float64()),
    silent(words(2, 3, 6, dropout=0.0, max_len=8, size=1e6).in_float64()),
    words(2, 3, 6, dropout=0.0, max_len=8, before=(2, 3)),
    words(2, 3, 6, dropout=0.0, max_len=8, before=(2, 2)),
    words(2, 3, 6, dropout=0.0, max_len=8).with_gaps(),
    words(2, 3, 6, dropout=0.0, max_len=8).with_gradients(),
    judge=in_single_precision,
    strict=True,
)
NOT_LEARNED = module.step(
    "`pe` is a buffer, and nothing is learned",
    1,
    silent(new("what a new module holds")),
    # PyTorch asks for a tensor where `pe` is a buffer, of whatever shape, and says that the name is
    # taken where it is a parameter or a plain attribute
    replace(
        new("a number put in the place of the buffer `pe`", "pe", 0, method="register_buffer"),
        raises=("TypeError",),
    ),
    replace(
        new("a parameter `pe`, which there should not be", "pe", method="get_parameter"),
        raises=("AttributeError",),
    ),
    silent(new("the buffer `pe`", "pe", method="get_buffer")),
    judge=holds_a_table_that_is_not_trained,
)
DROPS = module.step(
    "dropout acts on the sum, and in train mode only",
    1,
    silent(words(2, 3, 6, dropout=0.5, max_len=8)),
    words(12, 3, 6, dropout=EVERYTHING, max_len=8),
    words(2, 3, 6, training=True, dropout=0.0, max_len=8),
    words(2, 3, 6, training=True, dropout=EVERYTHING, max_len=8),
    words(2, 3, 6, training=True, rested=True, dropout=EVERYTHING, max_len=8),
    silent(words(6, 31, 8, training=True, times=2)),  # dropout left out, so 0.1
    judge=drops_from_the_sum,
)
BEYOND = module.step(
    "a ValueError beyond max_len, and none before",
    1,
    words(1, 1, 4, dropout=0.0, max_len=1),
    silent(words(2, 6, 4, max_len=5), "ValueError"),
    silent(words(2, 3, 4, training=True, max_len=1), "ValueError"),
    silent(words(1, 5, 4, dropout=0.0, max_len=5)),
    silent(words(1, 3, 4, dropout=0.0, max_len=5)),
    silent(words(2, 5, 4, 0.0, 5)),
    silent(words(1, 5000, 2, dropout=0.0)),
    silent(words(1, 5001, 2), "ValueError"),
    judge=near,
)


def wrong_tables() -> list[Mistake]:
    """The mistakes that make a table with other numbers, once they have their names."""
    return [mistake for mistake in table.mistakes if {FIRST_PAIR, FURTHER_PAIRS} & {*mistake.costs}]


# ------------------------------------------------------------- visualize_positional_encodings

picture = Part(
    "visualize_positional_encodings(length, d_model=512, ax=None) -> Axes",
    positional.visualize_positional_encodings,
    reads=("lecture 6, on the picture of the whole table", f"{LECTURE}#The-whole-table"),
    may_call=("positional_encoding",),
)
ALL_CELLS = picture.step(
    "a column for each dimension, a row for each position, all to be seen",
    1, drawing(5, 8), drawing(11, d_model=7), drawing(60, on_axes=False), judge=shows_the_table,
)  # fmt: skip
LABELLED = picture.step(
    "position 0 on top, both axes labelled, a colour bar",
    1, drawing(7, 4), drawing(4, 6, on_axes=False), judge=can_be_read,
)  # fmt: skip
GIVEN_AXES = picture.step(
    "drawn on the Axes given, which comes back; no other figure, no show",
    1, drawing(6, 5), drawing(5, 9, on_axes=False), judge=is_a_good_guest,
)  # fmt: skip
