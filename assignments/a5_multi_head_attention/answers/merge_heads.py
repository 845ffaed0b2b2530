"""Answers to `merge_heads`."""

import torch
import torch.nn.functional as F

from assignments.a5_multi_head_attention.answers.bank import BANK
from assignments.a5_multi_head_attention.rubric import SIDE_BY_SIDE, merge
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers

RESHAPED_OUT = (
    "The shape fits, but the numbers still stand head after head, so each row of the result mixes several words. "
    "Which two axes have to change places before two axes become one?"
)

ANSWERS = Answers(
    __name__, BANK, merge,
    """
    def merge_heads(x):
        words = x.transpose(1, 2)  # (B, T, H, d_k)
        return words.flatten(start_dim=2)  # (B, T, H * d_k)
    """,
    torch=torch, F=F,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("reshape without transpose", "words = x.reshape(len(x), x.shape[2], x.shape[1], x.shape[3])", SIDE_BY_SIDE,
     RESHAPED_OUT,
     published=("jsbaan/transformer-from-scratch#6", "Heads are merged by a reshape, without a transpose."))
slip("features of the heads taken in turns", "words = x.permute(0, 2, 3, 1)", SIDE_BY_SIDE,
     "You take feature 0 of every head, then feature 1 of every head. The heads belong side by side, first all "
     "features of head 0, then all of head 1.")
slip("heads in reverse order", "words = x.flip(1).transpose(1, 2)", SIDE_BY_SIDE,
     "Head 0 stands last in your rows. It stands first, features 0 to d_k - 1.")
slip("view of a transposed tensor", "return words.view(*words.shape[:2], words.shape[2] * words.shape[3])", (),
     "`view` never moves numbers, so it refuses a tensor whose axes were swapped (it only passes when x happens to lie "
     "the right way round). `reshape` and `flatten` move them where needed; so does `contiguous` before `view`.",
     costs_more="it stops with an error")
slip("heads not joined", "return words", SIDE_BY_SIDE,
     "The axes are in the right order, but the result is still (B, T, H, d_k). What remains is to make one axis of the "
     "last two.")
slip("heads added up", "return words.sum(dim=2)", SIDE_BY_SIDE,
     "You add the heads up, which leaves d_k features. They are put side by side instead, H · d_k features; mixing "
     "them is the task of w_o.")
slip("heads averaged", "return words.mean(dim=2)", SIDE_BY_SIDE,
     "You average the heads, which leaves d_k features. They are put side by side instead, H · d_k features; mixing "
     "them is the task of w_o.")
slip("words and features swapped", "return words.flatten(start_dim=2).mT", SIDE_BY_SIDE,
     "Your result is (B, H·d_k, T). The words stay in the rows, (B, T, H·d_k).")
slip("the batch joined as well", "return words.flatten(0, 1).flatten(1)", SIDE_BY_SIDE,
     "Your result is (B·T, H·d_k), because the sentences were put below each other. The axis of the batch stays, "
     "(B, T, H·d_k).")
slip("heads joined along the sentence", "words = x; return words.flatten(1, 2)", SIDE_BY_SIDE,
     "Your result is (B, H·T, d_k), so the sentence got longer. The words' features should grow instead, "
     "(B, T, H·d_k).")

right = ANSWERS.right
right("merge_by_contiguous_view",
      "words = x.permute(0, 2, 1, 3).contiguous(); return words.view(*words.shape[:2], x.shape[1] * x.shape[3])")
right("merge_by_cat", "return torch.cat(list(x.unbind(dim=1)), dim=-1)")
right("merge_by_reshape", "return x.transpose(2, 1).reshape(x.size(0), x.size(2), -1)")
right("merge_by_a_loop", """
    batch, heads, length, d_k = x.shape
    words = torch.empty(batch, length, heads * d_k, dtype=x.dtype, device=x.device)
    for h in range(heads):
        words[:, :, h * d_k : (h + 1) * d_k] = x[:, h]
    return words
""")
right("merge_by_hstack", "return torch.stack([torch.hstack([head for head in sentence]) for sentence in x])")
right("merge_by_einsum", "return torch.einsum('bhti->bthi', x).flatten(-2)")
right("merge_by_movedim", "return x.movedim(1, 2).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])")
right("merged_number_by_number", """
    B, H, T, d_k = x.shape
    sentences = []
    for b in range(B):
        words = []
        for t in range(T):
            words.append(torch.stack([x[b, h, t, k] for h in range(H) for k in range(d_k)]))
        sentences.append(torch.stack(words))
    return torch.stack(sentences)
""", slow=LOOPS)
right("merged_by_products", """
    _, H, _, d_k = x.shape
    owners = torch.eye(H * d_k, dtype=x.dtype).reshape(H, d_k, H * d_k)
    return torch.einsum("bhtk,hkd,de->bte", x, owners, torch.eye(H * d_k, dtype=x.dtype))
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("merge_when_heads_are_words", "return x.reshape(x.size(0), x.size(1), -1)", told="right numbers in other places")
wrong("merge_with_heads_taken_for_sentences", """
    B, H, T, d_k = x.shape
    return x.reshape(H, B, T, d_k).permute(0, 2, 1, 3).reshape(B, T, H * d_k)
""", told="right numbers in other places",
      published=("gazelle93/Transformer-Various-Positional-Encoding#1",
                 "The axes of the heads and of the sentences are taken for each other before merging."))
wrong("merge_two_heads", "return torch.cat([x[:, 0], x[:, -1]], dim=-1)")
wrong("merge_and_normalise", "return F.normalize(words.flatten(2), dim=-1)", told="each row has a factor of its own")
wrong("merge_memory_as_it_lies", """
    B, H, T, d_k = x.shape
    return torch.as_strided(x, (B, T, H, d_k), (H * T * d_k, d_k, T * d_k, 1)).flatten(2)
""", told="wrong with gaps in memory")
wrong("merge_in_place", "x = x.mul_(1.0 + 1e-3)", told="wrong by a constant factor")
wrong("merge_eight_heads", "x = x[:, :8]", told="too short or too long")
careless(ANSWERS, a_hundred_words=None)  # its second axis are heads
