"""Slips of every part that makes a mask: the right entries, but not as True and False."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograder.bank.edits import Answers


def in_tuples(mask: Tensor) -> Any:
    """A mask without torch, whose rows are compared as they are, be they lists or tuples."""
    return tuple(map(in_tuples, mask)) if mask.dim() else bool(mask)


def written_in_other_ways(answers: Answers, without_axes: str = "shaped = mask.squeeze()") -> None:
    """Slips in the steps `shaped` and `shown` of a mask, and in how it is returned.

    Args:
        answers: of the part.
        without_axes: the edit that drops axes of length 1.
    """
    slip = answers.slip
    # fmt: off
    slip("inverted mask", "shown = ~shaped", (),
         "Your mask is True where something is hidden. In this course, as in `F.scaled_dot_product_attention`, True "
         "says that a word may be attended to. (`nn.MultiheadAttention` reads masks the other way round, which is why "
         "both are seen.)")
    slip("numbers instead of bool", "return shown.float()", (),
         "The places are right, but your mask holds the numbers 1.0 and 0.0. PyTorch *adds* a mask of floats to the "
         "scores, and 0.0 added hides nothing. Which dtype says True and False?")
    slip("whole numbers instead of bool", "return shown.to({dtype})", (),
         "The places are right, but your mask holds the whole numbers 1 and 0. `~` and indexing do something else with "
         "them than with True and False. Which dtype was asked for?",
         each={"dtype": ("torch.int64", "torch.uint8", "torch.int32")})
    slip("minus infinity for hidden", "return torch.full(shown.shape, {seen}).masked_fill(~shown, {low})", (),
         "Where your mask hides, it holds minus infinity or a number far below 0, as what is added to the scores does. "
         "That is attention's next step. A mask in this course says who may attend, by True or False.",
         each={"seen": (0.0, 0.0, 1.0, 1.0), "low": ("-torch.inf", -1e9, "-torch.inf", -1e9)})
    slip("a NumPy array", "return shown.numpy()", (),
         "The entries are right, but they come as a NumPy array. Attention wants a torch tensor, which "
         "`torch.from_numpy` makes.")
    slip("a list", "return in_tuples(shown)", (),
         "The entries are right, but they come as a list of lists. Attention wants a torch tensor, which "
         "`torch.tensor` makes.")
    slip("axes of length 1 dropped", without_axes, (),
         "An axis of length 1 is missing. `squeeze` takes every one away, also where a batch holds one sentence or a "
         "sentence one word. Which axes were asked for, whatever their lengths?")
