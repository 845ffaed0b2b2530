"""Answers to `causal_mask`."""

import numpy as np
import torch

from assignments.a4_masks.answers.bank import BANK
from assignments.a4_masks.answers.in_other_ways import in_tuples, written_in_other_ways
from assignments.a4_masks.rubric import causal
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import WITHOUT_TENSORS, careless
from autograder.bank.edits import Answers


def wrong_triangles(answers: Answers) -> None:
    """Slips in what is past, which stay slips where padding is hidden as well."""
    slip = answers.slip
    # fmt: off
    slip("the diagonal hidden", "past = torch.ones(T, T, dtype=torch.bool).tril(-1)", (),
         "No word sees itself, and the first one sees nothing at all. May a word see its own position? The input there "
         "is the word *before* its target, so nothing is given away, and the rule is j ≤ i.")
    slip("upper triangle", "past = torch.ones(T, T, dtype=torch.bool).triu()", (),
         "The triangle is on the wrong side, so each word sees itself and the future, and not the past. Rows are "
         "queries and columns are keys. In row 0, which columns may be seen?")
    slip("one word of the future visible", "past = torch.ones(T, T, dtype=torch.bool).tril(1)", (),
         "Each word sees one word of the future, j ≤ i + 1. The next input is the answer that this position must give. "
         "Look at row 0. How many words should the first word see?")
    slip("each word sees itself alone", "past = torch.eye(T, dtype=torch.bool)", (),
         "Only the diagonal is True, so no word sees the words before it. They are past, and may be seen.")
    slip("triangle in another corner", "past = torch.ones(T, T, dtype=torch.bool).tril().flip({axis})", (),
         "Your triangle lies against the other diagonal, the one from bottom left to top right. Row i and column j are "
         "the same word where i = j. On which diagonal does every word see itself?",
         each={"axis": (0, 1)})
    # fmt: on


ANSWERS = Answers(
    __name__, BANK, causal,
    """
    def causal_mask(size):
        T = size
        past = torch.ones(T, T, dtype=torch.bool).tril()
        mask = past
        shaped = mask
        shown = shaped
        return shown
    """,
    torch=torch, np=np, in_tuples=in_tuples,
)  # fmt: skip


@BANK.right("causal_mask")
def causal_by_inverting_the_future(size, device=None):
    return ~torch.ones((size, size), dtype=torch.bool, device=device).triu(diagonal=1)


# fmt: off
slip = ANSWERS.slip
wrong_triangles(ANSWERS)
slip("nothing hidden", "past = torch.ones(T, T, dtype=torch.bool)", (),
     "Your mask is True everywhere, so every word sees the future. Which entries of row 0 should be False?",
     costs_more="there is no mask")
slip("everything hidden", "past = torch.zeros(T, T, dtype=torch.bool)", (),
     "Your mask is False everywhere, so no word may attend to anything, not even to itself. Which entries of row 0 "
     "should be True?",
     costs_more="there is no mask")
slip("the past without the first word",
     "past = torch.ones(T, T, dtype=torch.bool).tril() & ((torch.arange(T) > 0) | torch.eye(T, dtype=torch.bool))", (),
     "Column 0 is hidden from the words after it. The first word is past for all of them. Does a range or a slice of "
     "yours begin at 1?")
slip("a row and a column too many", "past = torch.ones(T + 1, T + 1, dtype=torch.bool).tril()", (),
     "Your mask is (T + 1, T + 1). Its triangle is right, but there are T positions, 0 to T − 1. Does a range go one "
     "too far?")
slip("a row and a column too few", "past = torch.ones(T - 1, T - 1, dtype=torch.bool).tril()", (),
     "Your mask is (T − 1, T − 1). Its triangle is right, but there are T positions, 0 to T − 1. Does a range stop one "
     "too early?")
slip("axes for sentences and heads", "shaped = mask[None, None]", (),
     "The mask is right, but it has two axes of length 1 in front. One (T, T) serves all sentences and heads, because "
     "broadcasting adds what is missing in front.")
slip("an axis for sentences", "shaped = mask[None]", (),
     "The mask is right, but it has an axis of length 1 in front. One (T, T) serves all sentences, because "
     "broadcasting adds what is missing in front.")
written_in_other_ways(ANSWERS)

right = ANSWERS.right
right("causal_by_tril", "return torch.tril(torch.ones(size, size)).bool()")
right("causal_by_loops", """
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        for j in range(size):
            if j <= i:
                mask[i, j] = True
    return mask
""", slow=LOOPS)
right("causal_by_lists", "return torch.tensor([[True] * (i + 1) + [False] * (size - i - 1) for i in range(size)])")
right("causal_by_running_sum", "return torch.eye(size).cumsum(dim=0) == 1")
right("causal_by_numpy", "return torch.from_numpy(np.tri(size, dtype=bool))")
right("causal_by_indices", """
    mask = torch.full((size, size), False)
    rows, columns = torch.tril_indices(size, size)
    mask[rows, columns] = True
    return mask
""")
right("causal_by_transposing", "return torch.triu(torch.ones(size, size, dtype=torch.bool)).T")
right("causal_by_minus_infinity_and_back", "return torch.full((size, size), float('-inf')).triu(1) == 0")
right("causal_by_where", """
    i, j = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    return torch.where(j > i, False, True)
""")
right("causal_by_rows", """
    mask = torch.zeros((size, size), dtype=torch.bool)
    for row in range(size):
        mask[row, : row + 1] = True
    return mask
""")
right("causal_by_distances", "place = torch.arange(size); return (place.unsqueeze(1) - place).ge(0)")
right("causal_by_vmap", "place = torch.arange(size); return torch.vmap(lambda query: place <= query)(place)")
right("causal_by_products_of_three", """
    places = torch.eye(size)
    return torch.einsum("ik,kl,jl->ij", places, torch.ones(size, size).tril(), places) > 0
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("causal_as_multi_head_attention_wants_it", "return torch.triu(torch.ones(size, size), diagonal=1) == 1",
      named="inverted mask",
      published=("rasbt/LLMs-from-scratch#1061",
                 "True stands above the diagonal, where it hides in another convention."))
wrong("causal_to_be_added", "return torch.triu(torch.full((size, size), float('-inf')), diagonal=1)",
      named="minus infinity for hidden",
      published=("harvard-edge/cs249r_book#1785",
                 "A mask to be added stands where True and False are expected."))
wrong("causal_as_a_list", "return shown.tolist()", named="a list")
wrong("causal_up_to_three", "past = torch.ones(3, 3, dtype=torch.bool).tril()[:T, :T]", told="wrong for larger T")
wrong("causal_up_to_512", "past = torch.ones(512, 512, dtype=torch.bool).tril()[:T, :T]")
# right up to 128 positions; the next would be -128
wrong("causal_with_positions_in_bytes", "place = torch.arange(T).to(torch.int8); past = place <= place[:, None]")
wrong("causal_that_forgets_the_distant_past", "past = torch.ones(T, T, dtype=torch.bool).tril().triu(-2)",
      told="the opposite mask, or one that hides too much or too little")
wrong("causal_one_row_short", "return shown[1:]", told="too short or too long")
careless(ANSWERS, detached=None, in_float32=None, zeros=None, **WITHOUT_TENSORS)
