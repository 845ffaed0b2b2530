"""Answers to `is_permutation_equivariant`."""

import numpy as np
import torch

from assignments.a2_self_attention.answers.bank import BANK
from assignments.a2_self_attention.rubric import TELLS, equivariant
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.edits import Answers


def close(one, other, rtol=1e-4, atol=1e-5):
    return one.shape == other.shape and torch.allclose(one, other, rtol=rtol, atol=atol)


ANSWERS = Answers(
    __name__, BANK, equivariant,
    """
    def is_permutation_equivariant(f, x, permutation):
        before = f(x[permutation])
        after = f(x)[permutation]
        return close(before, after)
    """,
    torch=torch, np=np, close=close,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("invariance tested, not equivariance", "after = f(x)", TELLS,
     "You compare f(x) with f(x[permutation]), which asks whether the order leaves no trace (invariance). Equivariance "
     "asks whether the output is reordered in the same way.")
slip("permutation undone in the wrong direction", "after = f(x)[permutation.argsort()]", (),
     "On one side of your equation the words are reordered, on the other they are put back. Both are the same only for "
     "permutations that undo themselves, such as swapping two words. Try it by hand with three words moved round.")
slip("f left out on one side", "after = x[permutation]", TELLS,
     "You compare f(x[permutation]) with the reordered words themselves. The other side needs f as well, "
     "f(x)[permutation].")
slip("an output compared with itself reordered", "after = f(x[permutation])[permutation]", TELLS,
     "You compare an output of f with the same output reordered, which asks whether its rows are alike. One side needs "
     "f(x[permutation]), the other f(x)[permutation]. If your code says `x = x[permutation]`, x is the reordered words "
     "from then on, on both sides. Give them a name of their own.")
slip("permutation undone in the wrong direction", "before = f(x[permutation])[permutation]; after = f(x)", (),
     "This holds only for permutations that are their own inverse, such as swapping two words. Try it by hand with "
     "three words moved round.")
slip("f left out on one side", "return torch.allclose(before, x[permutation], rtol=1e-4, atol=1e-5)", TELLS,
     "You compare f(x[permutation]) with the reordered words themselves. The other side needs f as well, "
     "f(x)[permutation].")
slip("exact equality", "return torch.equal(before, after)", (),
     "Sums in another order differ in the last digits of float32, and `torch.equal` forgives nothing. Compare with a "
     "tolerance, rtol 1e-4, atol 1e-5.")
slip("numbers compared without their places",
     "return close(before.flatten().sort().values, after.flatten().sort().values)", TELLS,
     "You compare which numbers come out, wherever they stand. Each row must land exactly where the permutation puts "
     "it.")
slip("one number compared for the whole output", "return close(before.{way}(), after.{way}())", TELLS,
     "You compare one number of the two sides, such as their sum, mean or norm. Reordering rows does not change it, so "
     "it says nothing about where each row went. Compare entry by entry.",
     each={"way": ("sum", "mean", "norm", "max")})
slip("rows averaged before they are compared", "return close(before.mean(dim=0), after.mean(dim=0))", TELLS,
     "You compare the mean over the words. It is the same in any order, so it says nothing about where each row went. "
     "Compare the two sides row by row.")
slip("always True", "return before.shape == after.shape", (),
     "Your answer is True for every f. Do you compare numbers, not shapes? And do your two sides differ. Are the words "
     "reordered before f on one, f(x[permutation]), and after f on the other, f(x)[permutation]?",
     costs_more="as good as no answer")
slip("numbers compared without their places",
     "return close(before.sort(dim=0).values, after.sort(dim=0).values)", TELLS,
     "You sort before you compare, so it does not matter where a row stands. Each row must land exactly where the "
     "permutation puts it.")
slip("one agreement is enough", "return bool(torch.isclose(before, after, rtol=1e-4, atol=1e-5).any())", TELLS,
     "Your answer is True as soon as one entry of the two sides agrees. All of them must agree. Is it `any` or `all`?")
slip("True and False exchanged", "return not close(before, after)", TELLS,
     "Your answer is True where the two sides differ and False where they agree. Is there a `not` too much, or a `!=`, "
     "or are two returns exchanged?")
slip("an answer for each number", "return torch.isclose(before, after, rtol=1e-4, atol=1e-5)", TELLS,
     "Your answer is a tensor that says True or False for each number. One answer is asked for, which is whether all "
     "of them agree. `.all()` says so, and `bool(…)` makes it a plain bool.")
slip("tensor returned for a bool", "return torch.isclose(before, after, rtol=1e-4, atol=1e-5).all()", (),
     "The answer is right, but it is a tensor. Wrap it in `bool(…)`.")
slip("torch.allclose with its own tolerances", "return torch.allclose(before, after)", (),
     "`torch.allclose` without further arguments uses rtol 1e-5 and atol 1e-8. Give it the tolerances of the text, "
     "rtol 1e-4 and atol 1e-5.")
slip("absolute tolerance too small", "return torch.allclose(before, after, rtol=1e-4, atol={atol})", (),
     "Near 0 a relative tolerance forgives next to nothing, and rounding is not relative to a sum that cancels. The "
     "text asks for rtol 1e-4 and atol 1e-5. Without `atol`, `torch.allclose` takes 1e-8.",
     each={"atol": (0.0, 1e-8)})
slip("relative tolerance too small", "return torch.allclose(before, after, rtol={rtol}, atol=1e-5)", (),
     "Large numbers are rounded by more than your comparison forgives. The text asks for rtol 1e-4 and atol 1e-5. "
     "Without `rtol`, `torch.allclose` takes 1e-5.",
     each={"rtol": (0.0, 1e-5)})
slip("difference without its absolute value", "return bool((before - after).max() < 1e-5)", (),
     "You ask whether the difference is small, but a large negative difference is small too. Take its absolute value, "
     "or use `torch.allclose`.")
slip("difference without its absolute value", "return bool(({difference} <= 1e-5 + 1e-4 * after.abs()).all())", (),
     "You ask whether the difference is small, but a large negative difference is small too. Take its absolute value, "
     "or use `torch.allclose`.",
     each={"difference": ("before - after", "after - before")})
slip("too strict with large numbers, too generous with small ones",
     "return close(before, after, rtol=1e-5, atol=1e-4)", (),
     "Your comparison is too strict with large numbers and too generous with small ones, as it is where the two "
     "tolerances are exchanged, or the absolute one stands alone. The text asks for both, rtol 1e-4 and atol 1e-5.")
slip("tolerance too wide", "return close(before, after, rtol={rtol}, atol={atol})", (),
     "A small effect of the order goes unnoticed. Use rtol 1e-4 and atol 1e-5.",
     each={"rtol": (0.01, 1e-4, 1e-3, 1e-4, 1e-3, 1e-3, 0.0), "atol": (0.01, 1e-3, 1e-5, 1e-4, 1e-4, 1e-3, 1e-3)})
slip("mean difference compared", "return bool((before - after).abs().mean() < 1e-3)", (),
     "You ask whether the two sides agree on average. A single wrong row is lost in a mean, so every entry must agree "
     "within the tolerances.")
slip("only the {which} row compared", "return close(before[{place}], after[{place}])", TELLS,
     "You look at the {which} row alone. The order may leave its trace in any other row, so compare all of them.",
     each={"place": (0, -1), "which": ("first", "last")})
slip("another permutation than the one given", "permutation = {reverse}", TELLS,
     "You reorder the words by a permutation of your own, such as the reverse order. The question is about the one "
     "that was given, `permutation`.",
     each={"reverse": ("torch.arange(len(x) - 1, -1, -1)", "permutation.flip(0)")})
slip("always False", "before = f(x[:, permutation % x.shape[1]])", (),
     "Your answer is False for every f. Are the words reordered, the rows of x (`x[permutation]`), and not its "
     "columns? And does your comparison forgive rounding?",
     costs_more="as good as no answer")

right = ANSWERS.right
right("asked_with_isclose", "return bool(torch.isclose(before, after, rtol=1e-4, atol=1e-5).all())")
right("asked_by_index_select", """
    before = f(torch.index_select(x, 0, permutation))
    after = torch.index_select(f(x), 0, permutation)
""")
right("asked_row_by_row", """
    one, other = f(x), f(x[permutation])
    return all(torch.allclose(other[i], one[p], rtol=1e-4, atol=1e-5) for i, p in enumerate(permutation.tolist()))
""")
right("asked_with_the_inverse", """
    return torch.allclose(f(x[permutation])[permutation.argsort()], f(x), rtol=1e-4, atol=1e-5)
""")
right("asked_with_a_permutation_matrix", "before = f(torch.eye(len(x))[permutation] @ x)")
right("asked_with_numpy", """
    before, after = f(x[permutation]).numpy(), f(x).numpy()[permutation.numpy()]
    return bool(np.allclose(before, after, rtol=1e-4, atol=1e-5))
""")
right("asked_by_gathering", """
    try:
        torch.testing.assert_close(before, after, rtol=1e-4, atol=1e-5)
    except AssertionError:
        return False
    return True
""")
right("asked_number_by_number", """
    pairs = zip(before.flatten().tolist(), after.flatten().tolist(), strict=True)
    return not any(abs(one - other) > 1e-5 + 1e-4 * abs(other) for one, other in pairs)
""")
right("asked_with_a_list", """
    before = f(torch.stack([x[i] for i in permutation.tolist()]))
    result = f(x)
    after = torch.stack([result[i] for i in permutation.tolist()])
    return torch.allclose(before, after, rtol=1e-4, atol=1e-5) is True
""")
right("asked_with_the_inverse_written_out", """
    inverse = torch.empty_like(permutation)
    inverse[permutation] = torch.arange(len(permutation))
    return torch.allclose(f(x[permutation])[inverse], f(x), rtol=1e-4, atol=1e-5)
""")
right("compared_number_by_number", """
    reordered = torch.zeros_like(x)
    for i in range(x.shape[0]):
        for d in range(x.shape[1]):
            reordered[i, d] = x[permutation[i], d]
    given, kept = f(reordered).reshape(len(x), -1), f(x).reshape(len(x), -1)
    for i in range(given.shape[0]):
        for k in range(given.shape[1]):
            one, other = float(given[i, k]), float(kept[permutation[i], k])
            if abs(one - other) > 1e-5 + 1e-4 * abs(other):
                return False
    return True
""", slow=LOOPS)
right("compared_by_a_matrix_of_the_permutation", """
    moves = torch.eye(len(x), dtype=x.dtype)[permutation]
    before = f(torch.einsum("ij,jk,kd->id", moves, torch.eye(len(x), dtype=x.dtype), x))
    after = torch.einsum("ij,j...->i...", moves, f(x))
    return bool(((before - after).abs() <= 1e-5 + 1e-4 * after.abs()).all())
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
# rows and columns are named, which not every output has
wrong("asked_about_tables_alone", "before = f(x[permutation])[:, :]; after = f(x)[permutation, :]",
      told="stops with IndexError")
wrong("asked_and_printed", "return print(close(before, after))", told="nothing comes back")
wrong("asked_for_a_string", "return str(close(before, after))")
wrong("asked_for_a_numpy_bool", "return torch.isclose(before, after, 1e-4, 1e-5).all().numpy()", told="another type")
wrong("asked_inverse_and_exactly", "return torch.equal(f(x[permutation])[permutation], f(x))",
      told=("False where True is right", "wrong where True is right"))
wrong("asked_about_a_hundred_rows", "return torch.allclose(before[:100], after[:100], rtol=1e-4, atol=1e-5)",
      told="True where False is right")
# fmt: on


@BANK.right("is_permutation_equivariant")
def asked_by_differences(f, x, permutation, rtol=1e-4, atol=1e-5):
    one, other = f(x)[permutation], f(x[permutation])
    return not ((one - other).abs() > atol + rtol * one.abs()).any().item()
