"""Answers to `split_heads`."""

import torch

from assignments.a5_multi_head_attention.answers.bank import BANK
from assignments.a5_multi_head_attention.rubric import ANY_SIZE, OWN_FEATURES, split
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

RESHAPED_IN = (
    "The shape fits, but a reshape leaves the numbers in the order in which they stand in memory, word after word. "
    "So each of your heads holds some whole words instead of its share of every word. Which two axes have to change "
    "places, and from which shape?"
)
INTERLEAVED = (
    "Your head h holds the features h, h + H, h + 2H and so on. The text gives each head neighbours, from h · d_k to "
    "(h + 1) · d_k - 1. In which order do H and d_k come when you cut a row?"
)
DROPPED = (
    "An axis of length 1 is missing, that of a single head, sentence or word. It stays, so that whoever uses your "
    "result can count on its axes. Is there a squeeze, or a special case?"
)

ANSWERS = Answers(
    __name__, BANK, split,
    """
    def split_heads(x, num_heads):
        cut = x.unflatten(-1, (num_heads, -1))  # (B, T, H, d_k)
        heads = cut.transpose(1, 2)  # (B, H, T, d_k)
        return heads
    """,
    torch=torch,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("reshape without transpose",
     "cut = x.{way}(len(x), num_heads, x.shape[1], x.shape[2] // num_heads); heads = cut", OWN_FEATURES,
     RESHAPED_IN,
     each={"way": ("reshape", "view")},
     published=("reczoo/FuxiCTR#30", "Heads are cut by a view, without a transpose."))
slip("heads not moved in front of the words", "heads = cut", OWN_FEATURES,
     "The features are cut as they should be, but the result is (B, T, H, d_k). Each head needs all its words "
     "together. Which two axes have to change places?")
slip("words and features swapped in each head", "heads = cut.permute(0, 2, 3, 1)", OWN_FEATURES,
     "Your result is (B, H, d_k, T), so within a head the words are in the columns. They stay in the rows, "
     "(B, H, T, d_k), and only the product of queries and keys turns one of the two.")
slip("heads in front of the batch", "heads = cut.movedim(2, 0)", OWN_FEATURES,
     "Your result is (H, B, T, d_k). The batch stays in front, (B, H, T, d_k). Along which axis do the heads belong?")
slip("heads hold every H-th feature", "cut = x.unflatten(-1, (-1, num_heads)).mT", OWN_FEATURES,
     INTERLEAVED)
slip("number and width of heads swapped", "cut = x.unflatten(-1, (-1, num_heads))", OWN_FEATURES,
     "You make d_model / H heads of width H. It should be H heads of width d_model / H.")
slip("every head gets all features", "cut = x.unsqueeze(2).expand(-1, -1, num_heads, -1)", OWN_FEATURES,
     "Each of your heads holds the whole row, d_model features. The features are shared out, so head h gets d_k of "
     "them, from h · d_k on.")
slip("an axis of length 1 dropped", "return heads.squeeze({axes})", ANY_SIZE,
     DROPPED,
     each={"axes": ("1", "", "0")})
slip("heads one by one", "return heads.unbind(dim=1)", OWN_FEATURES,
     "Every head is right, but they come as several tensors. One tensor with an axis for the heads is asked, "
     "(B, H, T, d_k), so that later steps need no loop.")
slip("batch and heads in one axis", "return heads.flatten(0, 1)", OWN_FEATURES,
     "Your result is (B·H, T, d_k). The heads get an axis of their own, (B, H, T, d_k).")
slip("heads side by side along the words", "return heads.flatten(1, 2)", OWN_FEATURES,
     "Your result is (B, H·T, d_k), with the heads below each other as if they were more words. They get an axis of "
     "their own, (B, H, T, d_k).")
slip("heads in reverse order", "return heads.flip(1)", OWN_FEATURES,
     "Your head 0 holds the last features. It holds the first ones, 0 to d_k - 1.")

right = ANSWERS.right
right("split_by_view_and_permute", "cut = x.view(*x.shape[:2], num_heads, -1); return cut.permute(0, 2, 1, 3)")
right("split_by_chunks", "return torch.stack(x.chunk(num_heads, dim=-1), dim=1)")
right("split_by_a_loop", """
    d_k = x.shape[-1] // num_heads
    heads = [x[:, :, h * d_k : (h + 1) * d_k] for h in range(num_heads)]
    return torch.cat([head.unsqueeze(1) for head in heads], dim=1)
""")
right("split_number_by_number", """
    d_k = x.shape[-1] // num_heads
    heads = x.new_zeros(len(x), num_heads, x.shape[1], d_k)
    for h in range(num_heads):
        for i in range(d_k):
            heads[:, h, :, i] = x[:, :, h * d_k + i]
    return heads
""")
right("split_by_einsum", "heads = torch.einsum('bthd->bhtd', x.reshape(*x.shape[:2], num_heads, -1)).contiguous()")
right("split_after_transposing", "heads = x.transpose(1, 2).reshape(len(x), num_heads, -1, x.shape[1]).transpose(2, 3)")
right("split_by_unfold", "d_k = x.shape[-1] // num_heads; return x.unfold(-1, d_k, d_k).movedim(2, 1)")
right("split_by_a_matrix", """
    places = torch.eye(x.shape[-1], dtype=x.dtype).unflatten(-1, (num_heads, -1))
    return torch.einsum("btd,dhk->bhtk", x, places)
""")
right("split_by_split", "return torch.stack(torch.split(x, x.size(-1) // num_heads, dim=-1)).transpose(0, 1)")
right("split_by_swapaxes",
      "cut = torch.reshape(x, (*x.size()[:2], num_heads, x.size(-1) // num_heads)); return cut.swapaxes(1, 2)")
right("split_by_single_numbers", """
    B, T, d_model = x.shape
    d_k = d_model // num_heads
    heads = x.new_zeros(B, num_heads, T, d_k)
    for b in range(B):
        for h in range(num_heads):
            for t in range(T):
                for k in range(d_k):
                    heads[b, h, t, k] = x[b, t, h * d_k + k]
    return heads
""", slow=LOOPS)
right("split_by_products", """
    owners = torch.eye(x.shape[-1], dtype=x.dtype).unflatten(1, (num_heads, -1))
    return (x[:, None, :, :, None] * owners.transpose(0, 1)[:, None]).sum(dim=3)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("split_only_into_two", "num_heads = 2", told="right numbers in other places")
wrong("split_the_words", "return torch.stack([part for part in x.tensor_split(num_heads, dim=1)], dim=1)",
      told=("right numbers in other places", "stops with RuntimeError"))
wrong("split_along_the_words_where_x_is_square",
      "axis = 1 if x.shape[1] == x.shape[2] else 2; return torch.stack(x.chunk(num_heads, dim=axis), dim=1)",
      told="right numbers in other places")
careless(ANSWERS)
