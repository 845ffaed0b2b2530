"""Answers to `scaled_dot_product_attention`."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from assignments.a3_scaled_dot_product_attention.answers.bank import BANK
from assignments.a3_scaled_dot_product_attention.answers.stable_softmax import OVERFLOW
from assignments.a3_scaled_dot_product_attention.rubric import (
    ANY_AXES,
    ANY_MASK,
    EMPTY,
    MANNERS,
    MASK,
    ONE,
    scaled,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import attention

ROOT_OF_LENGTH = (
    "Your numbers match scores divided by the root of the number of words. The scale is about the width of a key, the "
    "number of terms in one dot product. Which axis of `key` is that?"
)
ROOT_OF_AXIS_ONE = (
    "Your numbers match scores divided by the root of the length of axis 1, `shape[1]`. That is the width only where "
    "there is no batch. How do you name the last axis, however many there are?"
)
INVERTED = (
    "You hide what should be seen, and see what should be hidden. Here True means may attend; what does `masked_fill` "
    "fill?"
)


def filled(scores, mask, low=-torch.inf):
    return scores if mask is None else scores.masked_fill(~mask, low)


ANSWERS = Answers(
    __name__, BANK, scaled,
    """
    def scaled_dot_product_attention(query, key, value, mask=None):
        compared = query @ key.mT  # (..., T, S)
        divisor = key.shape[-1] ** 0.5
        scores = compared / divisor
        seen = filled(scores, mask)
        shares = seen.softmax(dim=-1)
        weights = filled(shares, mask, 0.0)
        output = weights @ value  # (..., T, d_v)
        return output, weights
    """,
    math=math, np=np, torch=torch, F=F, attention=attention, filled=filled,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("not scaled", "divisor = 1.0", ANY_AXES,
     "Your numbers match scores that are not scaled. Where does √d_k come in?",
     published=("delzac/cntkx#10", "The scores are not scaled."))
slip("√ of the number of {words}", "divisor = {of}.shape[-2] ** 0.5", ANY_AXES, ROOT_OF_LENGTH,
     each={"words": ("keys", "queries"), "of": ("key", "query")})
slip("√ of the first axis", "divisor = len(key) ** 0.5", ANY_AXES,
     "Your numbers match scores divided by the root of the first axis's length, which is the batch size as soon as "
     "there is a batch. Which axis of `key` holds its width, however many axes there are?")
slip("√ of the {of}'s axis 1", "divisor = {of}.shape[1] ** 0.5", ANY_AXES, ROOT_OF_AXIS_ONE,
     each={"of": ("key", "query")})
slip("√ of axis 2", "divisor = {of}.shape[2] ** 0.5", ANY_AXES,
     "Your numbers match scores divided by the root of the length of axis 2, `shape[2]`. That is the width only where "
     "there are exactly three axes. How do you name the last axis, however many there are?",
     each={"of": ("query", "key")})
slip("always divided by 2", "divisor = 2.0", ANY_AXES,
     "You divide by 2, as in the example, where d_k is 4. With another width it is another root.")
slip("d_k ** 1 / 2 for the root", "divisor = {divisor}", ANY_AXES,
     "Your numbers match scores divided by {means}. `** 1 / 2` takes the power 1 and then divides by 2. A root is "
     "`** 0.5` or `math.sqrt`.",
     each={"divisor": ("key.shape[-1] / 2", "2 * key.shape[-1]"), "means": ("d_k / 2", "2 d_k")})
slip("√ of the value's width", "divisor = value.shape[-1] ** 0.5", ANY_AXES,
     "Your numbers match scores divided by the root of the value's width. The dot product runs over query and key; the "
     "values take no part in it.")
slip("divided by d_k", "divisor = key.shape[-1]", ANY_AXES,
     "Your numbers match scores divided by d_k itself. Is there a root missing?")
slip("multiplied by √d_k", "divisor = key.shape[-1] ** -0.5", ANY_AXES,
     "Your numbers match scores multiplied by √d_k. The scale makes scores smaller. Is there an operator, or a sign in "
     "an exponent, the wrong way round?",
     published=("esceptico/perceiver-io#9", "The scale is 1/√d_k already, and the scores are divided by it."))
slip("scores negated", "divisor = -(key.shape[-1] ** 0.5)", ANY_AXES,
     "The better a key matches, the less weight it gets, so your scores have the wrong sign.")
slip("overflow", "e = seen.exp(); shares = e / (e.sum(dim=-1, keepdim=True) + {little})", MANNERS, OVERFLOW,
     each={"little": (0.0, 1e-9)})
slip("softmax over the queries", "shares = seen.softmax(dim=-2)", (ONE, ANY_AXES),
     "Your weights match a softmax over the queries. Each query shares out its attention over the keys. Which axis of "
     "the scores are they?")
slip("softmax axis counted from the front", "shares = seen.softmax(dim=1)", ANY_AXES,
     "Your softmax runs over axis 1. These are the keys only where there is no batch. How do you name the last axis of "
     "a tensor, however many there are?")
slip("softmax axis counted from the front", "shares = seen.softmax(dim=0)", ANY_AXES,
     "Your softmax runs over axis 0. How do you name the last axis of a tensor, however many there are?")
slip("softmax taken twice", "shares = seen.softmax(dim=-1).softmax(dim=-1)", ANY_AXES,
     "Your weights match a softmax of a softmax, which brings them closer together. Once is enough.")
slip("no softmax", "shares = seen", (ONE, ANY_AXES),
     "Your weights are the scores themselves. What makes weights of a row of scores?")
slip("exp without the division", "shares = seen.exp()", (ONE, ANY_AXES),
     "Your weights match exp of the scores. They are positive, but does each row sum to one?")
slip("plain mean of the values", "shares = torch.full_like(seen, 1 / seen.shape[-1])", (ONE, ANY_AXES),
     "All your weights are the same, so every query gets the plain mean. Where do the scores enter? And along which "
     "axis runs the softmax?")
slip("scaled after the softmax", "scores = compared; shares = seen.softmax(dim=-1) / divisor", (ONE, ANY_AXES),
     "Your weights match a softmax that is divided by √d_k afterwards, so that rows sum to 1/√d_k. Which of the two "
     "comes first, the scale or the softmax?")
slip("inverted mask", "mask = None if mask is None else ~mask", (MASK, ANY_MASK), INVERTED,
     published=("lucidrains/x-transformers#160", "The mask is read the other way round: True hides."))
slip("inverted mask", "seen = filled(scores, None if mask is None else ~mask)", (MASK, ANY_MASK),
     "Before the softmax you hide what the mask allows, and after it the rest, so nothing is left. Here True means may "
     "attend; what does `masked_fill` fill?")
slip("mask after the softmax", "seen = scores", (MASK, ANY_MASK),
     "Your hidden weights are 0, but the rest no longer sums to one, because they were hidden after the softmax. What "
     "must a score be before the softmax so that its weight is 0?")
slip("hidden scores set to 0, then weights, too", "seen = scores if mask is None else scores * mask", (MASK, ANY_MASK),
     "Your hidden weights are 0, but the rest no longer sums to one. Your numbers match hidden scores of 0, and exp(0) "
     "is 1, so hidden keys have had their share of the sum by then. Of which number is exp equal to 0?")
slip("mask added as numbers, then hidden weights set to 0", "seen = scores if mask is None else scores + mask",
     (MASK, ANY_MASK),
     "Your hidden weights are 0, but the rest no longer sums to one. You add the mask to the scores, so that True "
     "counts as 1 and False as 0, and hidden keys have had their share of the sum by then. A hidden score must be "
     "minus infinity; the others stay as they are.")
slip("hidden by a number that is not low enough", "seen = filled(scores, mask, {low})", ANY_MASK,
     "You hide a key by a number such as -10000 in place of its score. Scores that are seen may be lower still, and "
     "then the hidden keys get all the weight. Which number is below all others?",
     each={"low": (-1e4, -65504.0, -1e3, -100.0)},
     published=("karpathy/minGPT#75", "Hidden keys get −10 000, which scores that are seen can undercut."))
slip("a number added that is not low enough", "seen = scores if mask is None else scores + {low} * ~mask", ANY_MASK,
     "You add a number such as -10000 to the score of a hidden key. If that score is above the others by more, the key "
     "keeps the weight, or took it from the others. Fill in minus infinity in place of the score, and nothing of it is "
     "left.",
     each={"low": (-1e4, -1e5, -1e3, -100.0)})
slip("mask needs all axes", """
    if mask is not None:
        scores = scores.clone()
        scores[~mask] = -math.inf
    seen = scores
""", ANY_MASK,
     "Your function works when the mask has the very shape of the scores and stops when it has fewer axes, because "
     "indexing with a mask does not broadcast. `masked_fill` and `torch.where` do.")
slip("mask after the softmax, then divided again", """
    seen = scores
    left = shares if mask is None else shares * mask
    total = left.sum(dim=-1, keepdim=True)
    weights = left if mask is None else left / {guarded}
""", ANY_MASK,
     "You hide keys after the softmax and then divide what is left by its sum. A hidden key with a large score has "
     "taken nearly all of the one by then, and what is left has lost its digits or is as small as the number that "
     "guards the division. Before the softmax, what must a score be so that its weight is 0?",
     each={"guarded": ("total.clamp(min=1e-9)", "(total + 1e-9)", "(total + 1e-8)", "total.clamp(min=1e-12)", "total")})
slip("mask ignored", "mask = None", (MASK, ANY_MASK, EMPTY),
     "Your results do not depend on the mask. Where should it act?",
     published=("pytorch/pytorch#117939",
                "Minus infinity is written into the bool mask itself, and the bias stays zero."))
slip("hidden scores set to 0", "seen = scores if mask is None else scores * mask; weights = shares",
     (MASK, ANY_MASK, EMPTY),
     "Your numbers match hidden scores of 0. But exp(0) is 1, so a hidden key still gets weight. Of which number is "
     "exp equal to 0?")
slip("mask added as numbers", "seen = scores if mask is None else scores + mask; weights = shares",
     (MASK, ANY_MASK, EMPTY),
     "You add the mask to the scores, so that True counts as 1 and False as 0. A hidden score must be minus infinity; "
     "the others stay as they are.")
slip("NaN where nothing is visible", "weights = shares", EMPTY,
     "All is right until a query may attend to nothing. Then all its scores are minus infinity, and the softmax "
     "divides 0 by 0. What do you know about such a row after the softmax?",
     published=("tracel-ai/burn#4697", "A row in which every key is hidden becomes NaN."))
slip("all is seen where nothing is visible", "seen = filled(scores, mask, {lowest}); weights = shares", EMPTY,
     "All is right until a query may attend to nothing. Then all its scores are one and the same number, and a softmax "
     "of equal scores gives equal weights. What do you know about such a row after the softmax?",
     each={"lowest": (-1e9, "torch.finfo(scores.dtype).min")})
slip(".T on batches", "compared = query @ key.permute(*reversed(range(key.dim())))", ANY_AXES,
     "Your transpose moves the first axis of the key, which is the batch, to the end, as `.T` does. Only the last two "
     "should change places, however many there are.")
slip("axes 1 and 2 transposed", "compared = query @ key.transpose(1, 2)", ANY_AXES,
     "You transpose axes 1 and 2. These are the last two only when there are three. Count the axes from the end.")
slip("three axes only", "compared = torch.bmm(query, key.mT)", ANY_AXES,
     "Your function works for exactly three axes, as `torch.bmm` does. Which product treats the last two axes as "
     "matrices and everything before them as a stack?")
slip("reshape for transpose", "compared = query @ key.{keep}(key.mT.shape)", (ONE, ANY_AXES),
     "The shape fits, but `reshape` and `view` keep the numbers in their old order. Rows become columns with a "
     "transpose.",
     each={"keep": ("reshape", "view")})
slip("query and key swapped", "compared = key @ query.mT", (ONE, ANY_AXES),
     "You score keys against queries. Rows of the scores belong to the queries, so their shape is (..., T, S).")
slip("query used as key", "compared = query @ query.mT", (ONE, ANY_AXES),
     "You compare the queries with themselves. Compare each query with the keys.")
slip("scores kept within bounds", """
    root = math.sqrt(query.shape[-1])
    compared = (query @ key.mT / root).clamp(-{most}, {most}) * root
""", (ANY_MASK, MANNERS),
     "Scores beyond some number are set to it, so that keys far apart from one another get the same weight. The "
     "softmax takes scores of any size, once the largest of a row is taken off.",
     each={"most": (20.0, 50.0, 100.0, 1e3, 1e4)})
slip("cosine similarity",
     "compared = (query / query.norm(dim=-1, keepdim=True)) @ (key / key.norm(dim=-1, keepdim=True)).mT",
     (ONE, ANY_AXES),
     "Your numbers match cosine similarity, in which queries and keys are divided by their lengths first. Take the "
     "plain dot products, because their sizes matter.")
slip("key used as value", "output = weights @ key", ANY_AXES,
     "Your output is a weighted sum of the keys. What the weights weigh are the values.")
slip("query used as value", "output = weights @ query", ANY_AXES,
     "Your output is a weighted sum of the queries. What the weights weigh are the values.")
slip("weights transposed before the sum", "output = weights.mT @ value", ANY_AXES,
     "Your output sums down the columns of the weights. Each query uses its own row. Is there a transpose too much?")
slip("values added to the output", "output = weights @ value + value", ANY_AXES,
     "Your output is the weighted sum plus the values. Nothing is added here. (Adding the input comes in lecture 8.)")
slip("value width assumed = key width", "output = (weights @ value).reshape(query.shape)", ANY_AXES,
     "Your function works only where the values are as wide as the keys. The output is (..., T, d_v). Where does your "
     "code use the width of query or key for it?")
slip("value width assumed = key width", "output = (weights @ value)[..., : key.shape[-1]]", ANY_AXES,
     "Your output is cut to the width of the keys. It is as wide as the values, (..., T, d_v). Where does your code "
     "use the width of query or key for it?")
slip("mask in the weights alone", "output = scores.softmax(dim=-1) @ value", ANY_MASK,
     "Your weights know the mask, but your output does not, so hidden values are in the sum. Which weights does your "
     "output use?")
slip("a new axis put into the mask", "mask = None if mask is None else mask.unsqueeze(1)", (MASK, ANY_MASK),
     "You put a new axis into the mask, as for heads, so its axes no longer lie under those of the scores. Here the "
     "mask comes with an axis for the heads where there are any. It broadcasts as it is.")
slip("sentences of a batch mixed", """
    flat = [item.reshape(-1, item.shape[-1]) for item in (query, key, value)]
    mixed, of_all = attention.scaled_dot_product_attention(*flat, mask)
    return mixed.reshape(*query.shape[:-1], -1), of_all
""", ANY_AXES,
     "Your words attend to words of other sentences, because the leading axes were flattened into one long sentence. "
     "They stay apart.")
slip("as many keys as queries assumed", "return output, weights.reshape(*weights.shape[:-1], weights.shape[-2])",
     ANY_AXES,
     "Your function works only where T = S. The weights are (..., T, S). Where does your code take one length for the "
     "other?")
slip("scores returned for weights", "return output, scores", (ONE, ANY_AXES),
     "The output is right, but the second result holds the scores. Return what comes out of the softmax.")
slip("results in the wrong order", "return weights, output", ONE,
     "You return the weights first. The course returns the output first, the weights second.")
slip("output returned without the weights", "return output", ONE,
     "The output is right, but it comes alone. The weights are asked for, too.")

right = ANSWERS.right
right("attention_filled_twice", """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = filled(F.softmax(seen, dim=-1), mask, 0.0)
    output = torch.matmul(weights, value)
""")
right("attention_without_nan", """
    scores = torch.einsum("...td,...sd->...ts", query, key) / key.shape[-1] ** 0.5
    seen = scores if mask is None else torch.where(mask, scores, -torch.inf)
    weights = torch.nan_to_num(seen.softmax(-1), nan=0.0)
    output = torch.einsum("...ts,...sv->...tv", weights, value)
""")
right("attention_with_its_own_softmax", """
    root = key.shape[-1] ** 0.25
    scores = (query / root) @ (key / root).transpose(-1, -2)
    if mask is None:
        mask = scores.new_ones((), dtype=torch.bool)
    lowest = torch.finfo(scores.dtype).min
    largest = scores.masked_fill(~mask, lowest).amax(dim=-1, keepdim=True)
    e = torch.exp((scores - largest).masked_fill(~mask, -math.inf))
    weights = e / e.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)
""")
right("attention_flattened_for_bmm", """
    leading, (queries, width), keys = query.shape[:-2], query.shape[-2:], key.shape[-2]
    q, k, v = (item.reshape(-1, *item.shape[-2:]) for item in (query, key, value))
    scores = torch.bmm(q, k.transpose(1, 2)).reshape(*leading, queries, keys)
    scores = scores / torch.sqrt(torch.tensor(width))
    if mask is not None:
        visible = torch.broadcast_to(mask, scores.shape)
        scores[~visible] = -torch.inf
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.where(visible, 0)
    output = torch.bmm(weights.reshape(-1, queries, keys), v).reshape(*leading, queries, value.shape[-1])
""")
right("attention_by_logarithms", """
    compared = torch.matmul(query, key.swapaxes(-1, -2))
    seen = filled(scores, mask, torch.finfo(scores.dtype).min)
    shares = torch.exp(seen - seen.logsumexp(dim=-1, keepdim=True))
    weights = shares if mask is None else torch.where(mask, shares, 0.0)
""")
right("attention_with_nan_replaced", "weights = torch.where(shares.isnan(), 0.0, shares)")
right("attention_of_visible_keys_only", """
    every = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand_as(scores)
    rows = []
    for row, visible in zip(scores.flatten(0, -2), every.flatten(0, -2), strict=True):
        places = visible.nonzero()[:, 0]
        rows.append(torch.zeros_like(row).index_put((places,), row[places].softmax(dim=0)))
    weights = torch.stack(rows).reshape(scores.shape)
""")
right("attention_by_broadcasting", """
    scores = (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1).div(query.size(-1) ** 0.5)
    output = (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2)
""")
right("attention_with_open_empty_rows", """
    scores = query @ key.transpose(-1, -2) * (1.0 / math.sqrt(query.shape[-1]))
    some = torch.tensor(True) if mask is None else mask.any(dim=-1, keepdim=True)
    weights = torch.softmax(scores if mask is None else scores.masked_fill(~mask & some, float("-inf")), dim=-1) * some
""")
right("attention_sentence_by_sentence", """
    leading = query.shape[:-2]
    if mask is not None:
        mask = mask.broadcast_to(*leading, query.shape[-2], key.shape[-2])
    outputs = query.new_zeros(*query.shape[:-1], value.shape[-1])
    all_weights = query.new_zeros(*query.shape[:-1], key.shape[-2])
    for index in np.ndindex(*leading):
        own_mask = None if mask is None else mask[index]
        own = filled(query[index] @ key[index].T / key.shape[-1] ** 0.5, own_mask)
        own = filled(own.softmax(-1), own_mask, 0.0)
        all_weights[index] = own
        outputs[index] = own @ value[index]
    return outputs, all_weights
""")
right("attention_with_the_lowest_number", """
    scores = torch.matmul(query, key.mT).true_divide(math.sqrt(key.shape[-1]))
    seen = scores if mask is None else torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = shares if mask is None else torch.where(mask, shares, torch.zeros_like(shares))
    output = weights.matmul(value)
""")
right("attention_with_a_float_root", """
    d_k = torch.tensor(key.shape[-1], dtype=query.dtype)
    scores = torch.einsum("...qd,...kd->...qk", query / torch.sqrt(d_k), key)
    top = seen.amax(dim=-1, keepdim=True).detach()
    powers = (seen - top.masked_fill(top == -torch.inf, 0.0)).exp()
    total = powers.sum(dim=-1, keepdim=True)
    weights = powers / total.masked_fill(total == 0, 1.0)
""")
right("scaled_number_by_number", """
    *leading, T, d_k = query.shape
    S, d_v = value.shape[-2:]
    if mask is not None:
        mask = mask.expand(*leading, T, S)
    outputs, all_weights = [], []
    for place in np.ndindex(*leading):
        q, k, v = query[place], key[place], value[place]
        for t in range(T):
            row = []
            for s in range(S):
                total = 0.0
                for d in range(d_k):
                    total = total + q[t, d] * k[s, d]
                row.append(total / math.sqrt(d_k))
            visible = [s for s in range(S) if mask is None or mask[(*place, t, s)]]
            parts = [torch.zeros_like(score) for score in row]
            if visible:
                largest = max(float(row[s].detach()) for s in visible)
                whole = 0.0
                for s in visible:
                    whole = whole + torch.exp(row[s] - largest)
                for s in visible:
                    parts[s] = torch.exp(row[s] - largest) / whole
            word = []
            for d in range(d_v):
                total = 0.0
                for s in range(S):
                    total = total + parts[s] * v[s, d]
                word.append(total)
            outputs.append(torch.stack(word))
            all_weights.append(torch.stack(parts))
    return torch.stack(outputs).reshape(*leading, T, d_v), torch.stack(all_weights).reshape(*leading, T, S)
""", slow=LOOPS)
right("scaled_by_products_of_all_with_all", """
    compared = (query[..., :, None, :] * key[..., None, :, :]).sum(dim=-1)  # (..., T, S, d_k) before the sum
    powers = torch.exp(seen - seen.amax(dim=-1, keepdim=True).clamp(min=-1e38))
    weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)
    output = (weights[..., None] * value[..., None, :, :]).sum(dim=-2)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("attention_with_nan_in_the_gradient", """
    if mask is not None:
        scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1).nan_to_num()
""", told=("wrong gradient", "wrong about gradients"),
      published=("pytorch/pytorch#41508", "Results are mended where nothing is visible, but NaN flows back."))
wrong("attention_with_minus_infinity_for_weights", """
    seen = scores
    weights = filled(shares, mask)
""", told="wrong with `mask` given",
      published=("huggingface/pytorch-image-models#2236",
                 "Hidden keys get minus infinity after the softmax, as their weight."))
wrong("attention_for_three_axes_by_number", "seen = filled(scores, mask, -1e9); shares = seen.softmax(dim=2)",
      told=("weights that are no shares", "wrong with more or fewer than 3 axes of `query`"),
      published=("FudanNLP/fastNLP#254",
                 "The softmax takes axis 2, which holds the keys only where there are three axes."))
wrong("attention_with_detached_weights", "weights = filled(shares, mask, 0.0).detach()",
      told=("no gradient", "wrong about gradients"))
wrong("attention_that_scales_the_query_itself", """
    with torch.no_grad():
        query /= key.shape[-1] ** 0.5
    query = query * key.shape[-1] ** 0.5
""", told="inputs changed")
wrong("attention_that_changes_the_mask", """
    if mask is not None:
        mask.logical_not_()
    mask = None if mask is None else ~mask
""", told=("inputs changed", "wrong with `mask` given"))
wrong("attention_with_a_view_of_the_mask", "mask = None if mask is None else mask.view(-1).view(mask.shape)",
      told=("stops with RuntimeError", "wrong with gaps in memory"))
wrong("attention_with_a_mask_per_head", "mask = mask.unsqueeze(1) if mask is not None and mask.dim() == 3 else mask",
      named="a new axis put into the mask")
wrong("attention_whose_empty_rows_look_at_the_first_key", """
    if mask is not None:
        mask = mask.expand(*query.shape[:-1], key.shape[-2]).clone()
        mask[..., 0] |= ~mask.any(dim=-1)
    mask = mask
""", told=("right but for special places", "hidden ones have weight, or visible ones none",
           "wrong with a row in which nothing may be seen"))
wrong("attention_over_the_first_axis",
      "seen = filled(scores, mask, -1e9); shares = seen.softmax(dim=0); weights = shares",
      named=("softmax axis counted from the front", "all is seen where nothing is visible"))
wrong("attention_of_the_example_only", "return torch.tensor([[12.69]]), torch.tensor([[0.731, 0.269, 0.0]])",
      told="always one shape")
wrong("attention_of_exponentials", "e = scores.exp(); weights = e if mask is None else e * mask",
      named="exp without the division")
wrong("attention_unscaled_with_nan_rows", "divisor = 1.0; weights = shares",
      named=("not scaled", "NaN where nothing is visible"))
wrong("attention_unscaled_over_queries",
      "divisor = 1.0; seen = filled(scores, mask, -1e9); shares = seen.softmax(-2)",
      named=("not scaled", "softmax over the queries"))
wrong("attention_divided_by_width_with_a_billion",
      "divisor = key.shape[-1]; seen = filled(scores, mask, -1e9); weights = shares",
      named=("divided by d_k", "all is seen where nothing is visible"))
wrong("attention_inverted_and_weights_first", "mask = None if mask is None else ~mask; return weights, output",
      named=("inverted mask", "results in the wrong order"))
wrong("attention_with_dropout", "weights = F.dropout(filled(shares, mask, 0.0), 0.1)",
      told="weights that are no shares")
wrong("attention_causal_by_itself", """
    if mask is None:
        mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    mask = mask
""", told="hidden ones have weight, or visible ones none")

# --------------------------------------- right the first time, or without a row that shows nothing
wrong("attention_blind_where_all_heads_are", """
    seen = filled(scores, mask, -1e30)
    blind = torch.tensor(False) if mask is None else ~mask.expand(scores.shape).any(dim=-1, keepdim=True)
    if blind.dim() > 3:
        blind = blind.all(dim=1, keepdim=True)
    weights = shares.masked_fill(blind, 0.0)
""", told=("hidden ones have weight, or visible ones none", "wrong with a row in which nothing may be seen"))
wrong("attention_that_opens_the_mask", """
    visible = True if mask is None else mask.clone()
    if mask is not None:
        mask[~mask.any(dim=-1)] = True
    weights = filled(scores, mask).softmax(dim=-1) * visible
""", told=("inputs changed", "wrong with a row in which nothing may be seen"))
wrong("attention_in_float32_under_a_mask", """
    dtype = query.dtype
    if mask is not None:
        query, key, value = query.float(), key.float(), value.float()
    mask = mask
    return output.to(dtype), weights.to(dtype)
""", told=("rounded", "wrong in float64"))
wrong("attention_to_a_hundred_keys", "key, value = key[..., :100, :], value[..., :100, :]")
wrong("attention_with_the_logarithm_of_the_mask", """
    if mask is not None:
        scores = scores + mask.to(scores.dtype).log()
    weights = scores.softmax(dim=-1).nan_to_num()
""", told=("wrong gradient", "wrong about gradients"))
wrong("attention_of_eight_sentences", """
    if query.dim() > 2 and len(query) > 8:
        query = torch.cat([query[:8], query[:1].expand(len(query) - 8, *query.shape[1:])])
    query = query
""", told="right in part")
careless(
    ANSWERS,
    one_sentence=None, a_hundred_words=None,  # of queries alone, which no key misses
    scaled_in_place="inputs changed",
)
# fmt: on


# -------------------------------------------------------------- with other arguments, or recursion


@BANK.right("scaled_dot_product_attention")
def attention_with_a_billion(query, key, value, mask=None, dropout=0.0):
    scores = (query * key.shape[-1] ** -0.5) @ key.mT
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool)
    weights = scores.masked_fill(mask == 0, -1e9).softmax(dim=-1)
    weights = weights * mask
    return weights @ value, weights


@BANK.right("scaled_dot_product_attention")
def attention_with_open_empty_rows_closed_again(query, key, value, mask=None, scale=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) * (scale or key.size(-1) ** -0.5)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        empty = ~mask.any(dim=-1, keepdim=True)
        weights = torch.where(mask | empty, scores, -torch.inf).softmax(dim=-1)
        weights = torch.where(empty, 0.0, weights)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


@BANK.right("scaled_dot_product_attention")
def attention_by_recursion(query, key, value, mask=None):
    if query.dim() > 2:
        if mask is not None:
            mask = mask.expand(*query.shape[:-1], key.shape[-2])
        parts = [
            attention_by_recursion(query[i], key[i], value[i], None if mask is None else mask[i])
            for i in range(len(query))
        ]
        outputs, weights = zip(*parts, strict=True)
        return torch.stack(outputs), torch.stack(weights)
    scores = torch.mm(query, key.t()) / math.sqrt(key.shape[1])
    if mask is not None:
        mask = mask.expand(scores.shape)
        scores = scores.masked_fill(mask.logical_not(), -math.inf)
    weights = torch.softmax(scores, dim=1)
    if mask is not None:
        weights = torch.where(mask.any(dim=1, keepdim=True), weights, torch.zeros_like(weights))
    return torch.mm(weights, value), weights


@BANK.wrong("scaled_dot_product_attention", told="stops with TypeError")
def attention_that_must_have_a_mask(query, key, value, mask):
    return ANSWERS.code(query, key, value, mask)
