"""Answers to `online_softmax_attention`."""

import torch
import torch.nn.functional as F

from assignments.a11_fast_attention.answers.bank import BANK
from assignments.a11_fast_attention.rubric import ANY_SCORES, BLOCKS, LITTLE_MEMORY, online
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils.attention import masked_softmax

RESCALED = (
    "When a block brings a larger score, {} was summed with the smaller maximum. Multiply it by exp(m_old − m_new) "
    "before the new block is added."
)
HIDDEN = (
    "As long as a row has seen hidden keys alone, its maximum is −∞, and −∞ − (−∞) is NaN, which stays in the sums of "
    "that row{}. Put a number such as 0 in the place of a maximum of −∞, where every power is 0 anyway."
)

ANSWERS = Answers(
    __name__, BANK, online,
    """
    def online_softmax_attention(query, key, value, block_size, mask=None):
        divisor = query.shape[-1] ** 0.5
        asked = query / divisor
        S = key.shape[-2]
        blocks = [slice(start, min(start + block_size, S)) for start in range(0, S, block_size)]
        shown = torch.ones(1, dtype=torch.bool) if mask is None else mask
        rows = query[..., :1]
        lowest = torch.full_like(rows, -torch.inf)
        m, total, output = lowest, rows * 0, rows * 0 * value[..., :1, :]
        for block in blocks:
            products = asked @ key[..., block, :].mT
            part = shown if shown.shape[-1] == 1 else shown[..., block]
            scores = products.masked_fill(~part, -torch.inf)
            before = m
            m = torch.maximum(before, scores.detach().amax(dim=-1, keepdim=True))
            safe = m.masked_fill(m == -torch.inf, 0.0)
            powers = (scores - safe).exp()
            old = (before - safe).exp()
            total = total * old + powers.sum(dim=-1, keepdim=True)
            output = output * old + powers @ value[..., block, :]
        return output / torch.where(total == 0, 1.0, total)
    """,
    torch=torch, F=F, masked_softmax=masked_softmax,
)  # fmt: skip


@BANK.right("online_softmax_attention")
def tiles_of_queries_and_keys(query, key, value, block_size, mask=None):
    rows = []
    for t in range(query.shape[-2]):
        one = slice(t, t + 1)
        own = mask if mask is None or mask.dim() == 1 or mask.shape[-2] == 1 else mask[..., one, :]
        rows.append(ANSWERS.code(query[..., one, :], key, value, block_size, own))
    return torch.cat(rows, -2)


@BANK.right("online_softmax_attention", slow=LOOPS)
def online_number_by_number(query, key, value, block_size, mask=None):
    if query.dim() > 2:
        shown = [None] * len(query)
        if mask is not None:
            shown = mask.expand(*query.shape[:-1], key.shape[-2])
        return torch.stack(
            [
                online_number_by_number(query[b], key[b], value[b], block_size, shown[b])
                for b in range(len(query))
            ]
        )
    (T, d_k), (S, d_v) = query.shape, value.shape
    shown = None if mask is None else mask.expand(T, S)
    rows = []
    for t in range(T):
        nothing = query.new_zeros(())
        largest, total, output = None, nothing, [nothing] * d_v
        for begin in range(0, S, block_size):
            for s in range(begin, min(begin + block_size, S)):
                if shown is not None and not shown[t, s]:
                    continue
                score = nothing
                for j in range(d_k):
                    score = score + query[t, j] * key[s, j]
                score = score / d_k**0.5
                if largest is None:
                    largest = score.detach()
                elif score > largest:
                    factor = (largest - score.detach()).exp()
                    largest = score.detach()
                    total = total * factor
                    output = [number * factor for number in output]
                weight = (score - largest).exp()
                total = total + weight
                output = [output[j] + weight * value[s, j] for j in range(d_v)]
        rows.append(torch.stack(output if largest is None else [one / total for one in output]))
    return torch.stack(rows)


# fmt: off
slip = ANSWERS.slip
slip("nothing rescaled", "old = torch.ones_like(m)", BLOCKS, RESCALED.format("what you had so far"))
slip("rescaled upside down", "old = (safe - before.masked_fill(before == -torch.inf, 0.0)).exp()", BLOCKS,
     "You multiply by exp(m_new − m_old), which makes what you had larger. The new maximum is the larger one, so the "
     "old sums shrink: exp(m_old − m_new).")
slip("only the output rescaled", "total = total + powers.sum(dim=-1, keepdim=True)", BLOCKS,
     RESCALED.format("the sum ℓ of the powers"))
slip("only the last block's sum", "total = powers.sum(dim=-1, keepdim=True)", BLOCKS,
     "You divide by the sum of the last block alone. ℓ collects the powers of all blocks.")
slip("only the sum rescaled", "output = output + powers @ value[..., block, :]", BLOCKS,
     RESCALED.format("the output o"))
slip("only the last block's values", "output = powers @ value[..., block, :]", BLOCKS,
     "Your output holds the values of the last block alone. o collects those of all blocks.")
slip("a softmax in every block, added up",
     "output = output + powers / powers.sum(dim=-1, keepdim=True) @ value[..., block, :]", BLOCKS,
     "You take a whole softmax in every block and add the results up. What is divided is the sum over all blocks, "
     "once, by ℓ.")
slip("one maximum for all rows", "m = torch.maximum(before, scores.detach().amax()).expand_as(before)", ANY_SCORES,
     "You take one maximum for all queries. Far below it the powers of a row are all 0: each row has a maximum of its "
     "own.")
slip("no maximum taken off", "m = torch.zeros_like(before)", ANY_SCORES,
     "You take exp of the scores as they are, so large ones become infinite. Take the running maximum off first.")
slip("NaN from a hidden block", "safe = m", ANY_SCORES, HIDDEN.format(""),
     published=("tracel-ai/burn#4694",
                "Where all scores of a row are −∞, so is their maximum, and −∞ less −∞ is NaN."))
slip("maximum that does not begin at −∞", "lowest = torch.zeros_like(rows)", ANY_SCORES,
     "Your running maximum begins at a number, such as 0. Where all scores of a row lie far below it, all powers are "
     "0. Begin with −∞, or with the smallest number that there is.")
slip("last block dropped",
     "blocks = [slice(start, start + block_size) for start in range(0, S - block_size + 1, block_size)]", BLOCKS,
     "Keys at the end are left out, where the block size does not divide their number. The last block may be shorter.")
slip("blocks that overlap", "blocks = [slice(start, start + block_size + 1) for start in range(0, S, block_size)]",
     BLOCKS,
     "Keys at the edges of blocks count twice. A block ends where the next one begins.")
slip("first block only", "blocks = [slice(0, block_size)]", BLOCKS,
     "Only the first block of keys is looked at.")
slip("last key left out", "S = key.shape[-2] - 1", BLOCKS,
     "The last key is never looked at. A slice ends before its upper end anyway.")
slip("not scaled", "divisor = 1.0", BLOCKS,
     "Your scores are not divided by √d_k.")
slip("divided by the root of another width", "divisor = {width} ** 0.5", BLOCKS,
     "You divide by the root of another number than d_k, such as the width of the values or a number of words. d_k is "
     "the last axis of the query.",
     each={"width": ("value.shape[-1]", "key.shape[-2]", "query.shape[-2]")})
slip("divided by d_k itself", "divisor = query.shape[-1]", BLOCKS,
     "You divide the scores by d_k. It is divided by its root.")
slip("not divided", "return output", BLOCKS,
     "Your output is o, which nobody has divided. In the end divide it by ℓ.")
slip("divided by the number of keys", "return output / key.shape[-2]", BLOCKS,
     "You divide by the number of keys. Divide by ℓ, the sum of the powers.")
slip("NaN where nothing may be attended to", "return output / total", ANY_SCORES,
     "Where a row may attend to nothing, you divide 0 by 0. Such a row gives zeros: put a 1 in the place of a sum of "
     "0.")
slip("the average where nothing may be attended to",
     "return torch.where(total == 0, value.mean(dim=-2, keepdim=True), output / total)", ANY_SCORES,
     "Where a row may attend to nothing, you give the average of all values. Such a row gives zeros.")
slip("the first block's mask for every block",
     "part = shown if shown.shape[-1] == 1 else shown[..., : block.stop - block.start]", ANY_SCORES,
     "Every block is given the mask of the first keys. Cut the mask like the keys.")
slip("a mask with one column cut", "part = shown if mask is None else shown[..., block]", ANY_SCORES,
     "A mask whose last axis has length 1 broadcasts over all keys. Cut into blocks, it is empty from the second one "
     "on.")
slip("mask ignored", "scores = products", ANY_SCORES,
     "Hidden keys get weight. Set their scores to −∞ before the powers are taken.")
slip("mask the wrong way round", "scores = products if mask is None else products.masked_fill(part, -torch.inf)",
     ANY_SCORES,
     "You hide what the mask shows. In this course True means *may attend*.")
slip("hidden scores set to 0", "scores = products * part", ANY_SCORES,
     "You set hidden scores to 0, and e⁰ is 1. A score of −∞ gives the power 0.")
slip("a negative number for −∞", "scores = products.masked_fill(~part, {low})", ANY_SCORES,
     "You hide keys by a negative number that is not low enough, so a little of their weight is left. A score of −∞ "
     "gives the power 0.",
     each={"low": (-10.0, -5.0)})
slip("NaN from a hidden block, turned into 0", "safe = m; return (output / total).nan_to_num(0.0)", ANY_SCORES,
     HIDDEN.format(", so that you give zeros in the end also for what it may attend to later on"))
slip("a maximum of hidden scores", "scores = products; powers = (products - safe).exp() * part", ANY_SCORES,
     "Your maximum is taken before the mask, so hidden scores count in it. Where one lies far above the visible scores "
     "of its row, all their powers are 0. Set hidden scores to −∞ first, and take the maximum then.")
slip("the mask copied for all heads",
     "mask = mask if mask is None else mask.expand(*query.shape[:-1], key.shape[-2]).clone()", LITTLE_MEMORY,
     "The numbers are right, but you make a copy of the mask in full size, with a value for each key of every query in "
     "every head. It broadcasts as it is: cut it into blocks, or leave it as a view.")
slip("everything at once", "blocks = []; return masked_softmax(asked @ key.mT, mask) @ value", LITTLE_MEMORY,
     "The numbers are right, but somewhere you hold a number for each key of a query, or a copy of all keys: the whole "
     "matrix of scores, a list of all blocks or of the sums of each, or padded keys. What may be kept from one block "
     "to the next is one m, one ℓ and one o.")

right = ANSWERS.right
right("tiles_in_two_passes", """
    lowest = torch.full_like(rows, -torch.inf)
    for block in blocks:
        part = shown if shown.shape[-1] == 1 else shown[..., block]
        scores = (asked @ key[..., block, :].mT).masked_fill(~part, -torch.inf)
        lowest = torch.maximum(lowest, scores.detach().amax(-1, keepdim=True))
    lowest = torch.where(lowest.isinf(), 0.0, lowest)
    m = lowest
    old = 1.0
""")
right("tiles_divided_in_every_step", """
    old = (before - safe).exp() * total
    total = old + powers.sum(-1, keepdim=True)
    output = (output * old + powers @ value[..., block, :]) / torch.where(total > 0, total, 1.0)
    return output
""")
right("tiles_by_logsumexp", """
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    own = scores.masked_fill(empty, 0.0).logsumexp(-1, keepdim=True).masked_fill(empty, -torch.inf)
    both = torch.maximum(before, own).detach()
    both = both.masked_fill(both == -torch.inf, 0.0)
    together = (before - both).exp() + (own - both).exp()
    share = together.masked_fill(together == 0, 1.0)
    m = torch.where(together == 0, -torch.inf, both + share.log())
    made = torch.where(empty, 0.0, scores.masked_fill(empty, 0.0).softmax(-1)) @ value[..., block, :]
    output = output * ((before - both).exp() / share) + made * ((own - both).exp() / share)
    return output
""")
right("tiles_from_the_last_block", """
    blocks = [slice(start, min(start + block_size, S)) for start in range(0, S, block_size)][::-1]
    m = torch.maximum(before, scores.detach().max(dim=-1, keepdim=True).values)
    safe = m.clamp(min=torch.finfo(m.dtype).min)
""")
right("tiles_of_one_key", """
    blocks = [slice(j, j + 1) for j in range(S)]
    products = (asked * key[..., block, :]).sum(-1, keepdim=True)
    safe = m.masked_fill(m.isneginf(), 0.0)
    total = old * total + powers
    output = old * output + powers * value[..., block, :]
""")
right("tiles_with_the_sum_as_a_column", """
    m, total, output = lowest, 0.0, torch.cat([rows * 0 * value[..., :1, :], rows * 0], -1)
    safe = m.nan_to_num(neginf=0.0)
    output = output * old + powers @ torch.cat([value[..., block, :], torch.ones_like(value[..., block, :1])], -1)
    return output[..., :-1] / torch.where(output[..., -1:] > 0, output[..., -1:], 1.0)
""")
right("tiles_by_chunks", """
    chunk = block.start // block_size
    products = torch.einsum("...td,...sd->...ts", asked, key.split(block_size, -2)[chunk])
    scores = torch.where(part, products, -torch.inf)
    safe = torch.where(m == -torch.inf, torch.zeros_like(m), m)
    output = output * old + powers @ value.split(block_size, -2)[chunk]
""")
right("tiles_with_names_for_all_steps", """
    keys, values = key[..., block, :].contiguous(), value[..., block, :].clone()
    all_products = query.unsqueeze(-2) * keys.unsqueeze(-3)
    summed = all_products.sum(-1)
    products = summed / divisor
    apart = scores - safe
    powers = apart.exp()
    all_values = powers.unsqueeze(-1) * values.unsqueeze(-3)
    output = output * old + all_values.sum(-2)
""")
# the logarithm of the sum of powers is kept, and no maximum
right("merged_by_logaddexp", "m = torch.logaddexp(before, scores.logsumexp(-1, keepdim=True)); return output")
right("online_by_broadcasting", """
    lowest = torch.full_like(rows, -1e30)
    products = torch.einsum("...td,...sd->...ts", asked, key[..., block, :])
    scores = products.masked_fill(~part, -1e30)
    powers = (scores - safe).exp() * part
    output = output * old + torch.einsum("...ts,...sd->...td", powers, value[..., block, :])
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("a_sentinel_for_minus_infinity",
      "lowest = torch.full_like(rows, -5e4); scores = products.masked_fill(~part, -5e4)",
      named="the average where nothing may be attended to",
      published=("flashinfer-ai/flashinfer#4401",
                 "A finite number stands for −∞, so rows in which all is hidden get the average of all values."))
wrong("keys_copied_first", "key, value = key.clone(), value.clone()", named="everything at once")
# what is kept of a block is small, but it is kept up to the end, and there may be as many blocks as keys
wrong("sums_of_each_block_kept", """
    kept = []
    lowest = torch.full_like(rows, -torch.inf)
    kept.append((m, total, output))
    before = m
""", named="everything at once")
wrong("maximum_of_the_block", "m = scores.detach().amax(-1, keepdim=True); old = 1.0", told="some rows right")
wrong("softmax_of_each_block_averaged", """
    output = output + scores.softmax(-1).nan_to_num() @ value[..., block, :]
    return output / len(blocks)
""")
wrong("last_block_filled_up_with_zeros", """
    missing = -key.shape[-2] % block_size
    mask = mask if mask is None or mask.shape[-1] == 1 else F.pad(mask, (0, missing), value=True)
    key, value = F.pad(key, (0, 0, 0, missing)), F.pad(value, (0, 0, 0, missing))
""", told="each row has a factor of its own")
wrong("stopped_at_a_hidden_block", """
    if (scores == -torch.inf).all():
        break
    before = m
""", told="all the same")
wrong("infinity_added_to_hidden_scores", """
    scores = products + torch.where(part, 0.0, -torch.inf)
    safe = m
    total = (total * old + powers.sum(-1, keepdim=True)).nan_to_num()
    output = (output * old + powers @ value[..., block, :]).nan_to_num()
""", told=("wrong gradient", "wrong about gradients", "wrong with a row in which nothing may be seen"))
wrong("scores_held_below_eighty", "m = torch.zeros_like(before); powers = scores.clamp(max=80).exp()",
      told=("wrong with very large or very small numbers", "some rows right"))
wrong("sums_in_float32", "return (output / torch.where(total == 0, 1.0, total)).float().to(query.dtype)",
      told=("rounded", "wrong in float64"))
wrong("four_axes_assumed", "B, H, T, _ = query.shape; query = query",
      told=("stops with ValueError", "wrong with more or fewer than 4 axes of `query`"))
wrong("weights_beside_the_output",
      "return output / torch.where(total == 0, 1.0, total), masked_softmax(asked @ key.mT, mask)",
      told="more results than asked")
careless(ANSWERS, one_sentence="some rows right", a_hundred_words=None)  # its second axis may be features
