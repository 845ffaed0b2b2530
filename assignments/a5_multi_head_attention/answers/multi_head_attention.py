"""Answers to `MultiHeadAttention`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a5_multi_head_attention.answers.bank import BANK
from assignments.a5_multi_head_attention.answers.merge_heads import RESHAPED_OUT
from assignments.a5_multi_head_attention.answers.split_heads import (
    DROPPED,
    INTERLEAVED,
    RESHAPED_IN,
)
from assignments.a5_multi_head_attention.rubric import (
    MANNERS,
    MASKED,
    TO_ITSELF,
    TO_OTHERS,
    WEIGHTS_OF_HEADS,
    multi_head,
)
from assignments.common import hiding
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import attention


def exp_and_sum(scores, mask):
    """A softmax that subtracts nothing before it takes exponentials."""
    exponentials = scores.exp() if mask is None else scores.exp() * mask
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def mapped(x, layer):
    """A linear layer on (B, T, d_model), number by number."""
    words = []
    for word in x.flatten(0, 1):
        numbers = []
        for i in range(layer.weight.shape[0]):
            total = layer.bias[i]
            for k in range(layer.weight.shape[1]):
                total = total + layer.weight[i, k] * word[k]
            numbers.append(total)
        words.append(torch.stack(numbers))
    return torch.stack(words).unflatten(0, x.shape[:2])


ANSWERS = Answers(
    __name__, BANK, multi_head,
    """
    class MultiHeadAttention(attention.MultiHeadAttention):
        def forward(self, query, key, value, mask=None):
            H = self.num_heads
            w_q, w_k, w_v = self.w_q, self.w_k, self.w_v
            projected = w_q(query), w_k(key), w_v(value)  # (B, T, d_model), twice (B, S, d_model)
            q, k, v = (x.unflatten(-1, (H, -1)).transpose(1, 2) for x in projected)  # (B, H, T, d_k), …
            scores = q @ k.mT  # (B, H, T, S)
            divisor = math.sqrt(q.shape[-1])
            scaled = scores / divisor
            weights = attention.masked_softmax(scaled, mask)  # (B, H, T, S)
            context = weights @ v  # (B, H, T, d_k)
            merged = context.transpose(1, 2).flatten(2)  # (B, T, d_model)
            output = self.w_o(merged)
            return output, weights
    """,
    math=math, torch=torch, nn=nn, F=F, attention=attention, hiding=hiding,
    exp_and_sum=exp_and_sum, mapped=mapped,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("scaled by √d_model", "divisor = math.sqrt(query.shape[-1])", (TO_ITSELF, TO_OTHERS),
     "Your numbers match scores divided by √d_model. How many products does one score add up, now that each head sees "
     "only its share of the width?",
     published=("lucidrains/vit-pytorch#65", "The scale is that of the model's width, not of a head's."))
slip("not scaled", "divisor = 1.0", (TO_ITSELF, TO_OTHERS),
     "Your numbers match plain dot products. Before the softmax, each score is divided by the root of a width (lecture "
     "3). Which width do two vectors have within a head?")
slip("divided by d_k", "divisor = q.shape[-1]", (TO_ITSELF, TO_OTHERS),
     "Your numbers match scores divided by d_k. It should be the root of d_k, because the standard deviation of a sum "
     "of d_k products grows with √d_k.")
slip("scaled by the root of another axis", "divisor = math.sqrt(q.shape[{axis}])", (TO_ITSELF, TO_OTHERS),
     "Your numbers match scores divided by the root of the query's length or of the number of heads. It is the root of "
     "a head's width. Which axis of (B, H, T, d_k) is that?",
     each={"axis": (2, 1)})
slip("scaled by the root of another axis", "scaled = scores / math.sqrt(scores.shape[-1])", (TO_ITSELF, TO_OTHERS),
     "Your numbers match scores divided by the root of the number of keys. It is the root of a head's width, which is "
     "the number of products that one score adds up.")
slip("scores multiplied instead of divided", "scaled = scores * math.sqrt(q.shape[-1])", (TO_ITSELF, TO_OTHERS),
     "Your scores are multiplied by √d_k. They are divided by it, so that they stay small however wide a head is.")
slip("scaled twice", "scaled = scores / math.sqrt(q.shape[-1]) / math.sqrt(query.shape[-1])", (TO_ITSELF, TO_OTHERS),
     "Your scores are divided by √d_k and by √d_model. Once is enough, by the root of the width in which two vectors "
     "are compared.")
slip("reshape without transpose, on the way in",
     "q, k, v = (x.reshape(len(x), H, x.shape[1], -1) for x in projected)", (WEIGHTS_OF_HEADS, TO_ITSELF), RESHAPED_IN)
slip("reshape without transpose, both ways", """
    q, k, v = (x.reshape(len(x), H, x.shape[1], -1) for x in projected)
    merged = context.reshape(query.shape)
""", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "All shapes fit, but a reshape leaves the numbers in their order, so your heads hold whole words instead of a "
     "share of every word, and words in different heads never meet. On the way in and on the way out, two axes have to "
     "change places as well.")
slip("heads hold every H-th feature", """
    q, k, v = (x.unflatten(-1, (-1, H)).permute(0, 3, 1, 2) for x in projected)
    merged = context.permute(0, 2, 3, 1).flatten(2)
""", (WEIGHTS_OF_HEADS, TO_ITSELF), INTERLEAVED)
slip("heads attend to heads", """
    q, k, v = (x.unflatten(-1, (H, -1)) for x in projected)
    merged = context.flatten(2)
""", (WEIGHTS_OF_HEADS, TO_OTHERS),
     "At each word, your heads attend to each other, with weights (B, T, H, H). Words should attend to words, in each "
     "head separately, so the last two axes must be words and features when you multiply.")
slip("no output projection", "output = merged", (TO_ITSELF, TO_OTHERS),
     "Your output is that of the heads side by side. The last step is missing, w_o, which combines the heads.",
     published=("Kyubyong/transformer#117", "There is no map behind the joined heads."))
slip("one head's weights for all", "weights = attention.masked_softmax(scaled, mask)[:, :1].expand_as(scaled)",
     (WEIGHTS_OF_HEADS, TO_ITSELF),
     "Every head uses the weights of head 0. Each head has queries and keys of its own, so it has weights of its own.")
slip("no softmax", "weights = scaled if mask is None else scaled * mask", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "Your heads weigh the values with the scores themselves. What makes weights of a row of scores?")
slip("mask after the softmax", "weights = scaled.softmax(-1) * (1.0 if mask is None else mask)", (),
     "Hidden weights are zero, but the visible ones no longer sum to one, because the softmax had already shared out "
     "attention among all keys. Hide the scores before the softmax.")
slip("hidden scores set to 0",
     "weights = (scaled if mask is None else scaled.masked_fill(~mask, {low})).softmax(-1)", (),
     "A hidden score became 0, or as good as 0 (1e-9 is not -1e9), and exp(0) = 1 is a weight like any other. Which "
     "score has the weight 0?",
     each={"low": (0.0, 1e-9)})
slip("softmax that overflows", "weights = exp_and_sum(scaled, mask)", (),
     "With small scores all is right; the exponential of a large one is infinite, and infinity divided by infinity is "
     "NaN. What may be subtracted from a row of scores without changing its weights (assignment 3)?")
slip("one maximum subtracted from all rows", "weights = exp_and_sum(scaled - scaled.max(), mask)", (),
     "Your softmax subtracts the largest score of the whole tensor. In a row far below it, all exponentials become 0, "
     "and 0 divided by 0 is NaN. Each row has a largest score of its own.")
slip("NaN where nothing is visible",
     "weights = (scaled if mask is None else scaled.masked_fill(~mask, -math.inf)).softmax(-1)", (),
     "Masks work, until a query may attend to nothing. Then all its scores are minus infinity, the softmax divides 0 "
     "by 0, and NaN goes everywhere. What has to be done with hidden weights after the softmax?",
     published=("robertknight/rten#1321", "A query from which every key is hidden gets NaN."))
slip("hidden keys shared where nothing is visible",
     "weights = (scaled if mask is None else scaled.masked_fill(~mask, -1e9)).softmax(-1)", (),
     "Masks work, until a query may attend to nothing. Then all its scores are the same large negative number, and the "
     "softmax gives each hidden key 1/S. What has to be done with hidden weights after the softmax?")
slip("causal although nobody asked", """
    past = torch.ones(scaled.shape[-2:], dtype=torch.bool).tril()
    weights = attention.masked_softmax(scaled, past if mask is None else mask & past)
""", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "Your words never see what comes after them, also where no mask asks for that. Which keys are hidden is up to the "
     "mask alone; `None` hides nothing.")
OVER = {"way": ("weights_over", "weights_guarded_over", "weights_bounded_over")}
slip("softmax over the heads", "weights = hiding.{way}(1, scaled, mask)", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "Your weights sum to one over the heads. Within each head, a query shares out its attention over the keys. Which "
     "axis of (B, H, T, S) is that?",
     each=OVER)
slip("softmax over the queries", "weights = hiding.{way}(2, scaled, mask)", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "Your weights sum to one over the queries. Each query shares out its attention over the keys. Which axis of "
     "(B, H, T, S) is that?",
     each=OVER)
slip("softmax over heads and keys together", """
    side_by_side = scaled.transpose(1, 2)
    seen = None if mask is None else mask.expand(scaled.shape).transpose(1, 2).flatten(2)
    weights = hiding.{way}(2, side_by_side.flatten(2), seen).view(side_by_side.shape).transpose(1, 2)
""", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "A query's weights sum to one over all its heads together. Each head has a softmax of its own. Which axes did you "
     "join, and which one holds the keys?",
     each=OVER,
     published=("facebookresearch/detr#247",
                "Heads and keys are flattened into one axis, and the softmax runs over both."))
slip("T = S assumed", "weights = attention.masked_softmax(scaled, None if mask is None else {cut})", (),
     "All is well while there are as many keys as queries, and a mask stops it where there are not. Do you give the "
     "mask the number of queries on both sides? Its last axis holds the keys, S of them.",
     each={"cut": ("mask.expand(scaled.shape).reshape(*scaled.shape[:-1], scaled.shape[-2])",
                   "mask[..., : scaled.shape[-2], : scaled.shape[-2]]")})
slip("softmax over the batch", "weights = hiding.{way}(0, scaled, mask)", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "Your weights sum to one over the sentences of the batch. Each query shares out its attention over the keys. "
     "Which axis of (B, H, T, S) is that?",
     each=OVER)
slip("arguments in the order value, key, query", "query, key, value = value, key, query", (TO_OTHERS, MANNERS),
     "Your `forward` takes value, key, query. Self-attention cannot tell, since all three are the same there; "
     "cross-attention can. The order is query, key, value, mask.")
slip("T = S assumed", "query, key, value = query, key.reshape(query.shape), value.reshape(query.shape)", (),
     "All is well while there are as many keys as queries, and it stops where there are not. Do you take the length of "
     "the keys from the query? Key and value have a length of their own, S.")
slip("key used as value", "query, key, value = query, key, key", (TO_OTHERS, MANNERS),
     "Your values are made from the key, because w_v gets the wrong argument. Does a test with key and value of "
     "different content pass?")
slip("query and key exchanged", "query, key, value = key, query, value", TO_OTHERS,
     "The key asks and the query answers. Self-attention cannot tell, since both are the same there. Which argument "
     "goes through w_q, and which through w_k?")
slip("query used as key and value", "query, key, value = query, query, query", (TO_OTHERS, MANNERS),
     "All three maps get the query, so your module attends to the queries themselves. Key and value may come from "
     "elsewhere.")
slip("stops where no mask is given", """
    def forward(self, query, key, value, mask):
        return super().forward(query, key, value, mask)
""", TO_ITSELF,
     "Your module stops where no mask is given. `mask=None` is the default of the argument, and `None` hides nothing. "
     "Is there a line that needs a tensor there?")
slip("one map for query, key and value", "w_q, w_k, w_v = self.w_q, self.w_q, self.w_q",
     (WEIGHTS_OF_HEADS, TO_ITSELF),
     "All three are projected by w_q. Which layer belongs to the key, which to the value?")
slip("one layer for two: {twice} does the work of {unused}", "w_q, w_k, w_v = {order}", (TO_ITSELF, TO_OTHERS),
     "Your numbers match a module in which {twice} also does the work of {unused}. w_q belongs to the query, w_k to "
     "the key, w_v to the value. Is one of them called twice in `forward`?",
     each={"order": ("self.w_q, self.w_k, self.w_k", "self.w_q, self.w_k, self.w_q", "self.w_q, self.w_q, self.w_v",
                     "self.w_q, self.w_v, self.w_v", "self.w_k, self.w_k, self.w_v", "self.w_v, self.w_k, self.w_v"),
           "twice": ("w_k", "w_q", "w_q", "w_v", "w_k", "w_v"),
           "unused": ("w_v", "w_v", "w_k", "w_k", "w_q", "w_q")})
slip("layers exchanged: {exchanged}", "w_q, w_k, w_v = {order}", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "Your numbers match a module in which {exchanged} have changed places. w_q belongs to the query, w_k to the key, "
     "w_v to the value. Where in `forward`, or under which name in `__init__`, does one take the place of another?",
     each={"order": ("self.w_q, self.w_v, self.w_k", "self.w_k, self.w_q, self.w_v", "self.w_v, self.w_k, self.w_q",
                     "self.w_k, self.w_v, self.w_q", "self.w_v, self.w_q, self.w_k"),
           "exchanged": ("w_k and w_v", "w_q and w_k", "w_q and w_v", "the three layers", "the three layers")})
slip("output layer used on the way in", "w_q, w_k, w_v = {order}", (TO_ITSELF, TO_OTHERS),
     "w_o stands in the place of one of the first three layers. It mixes the merged heads, at the end; query, key and "
     "value have layers of their own.",
     each={"order": ("self.w_o, self.w_k, self.w_v", "self.w_q, self.w_o, self.w_v", "self.w_q, self.w_k, self.w_o")})
slip("scores of keys with queries", "scores = k @ q.mT", (WEIGHTS_OF_HEADS, TO_OTHERS),
     "Your keys ask and your queries answer, because the scores are K Qᵀ, turned round. Rows of the scores are "
     "queries, columns are keys. Which of the two is transposed in the product?")
slip("scaled after the softmax", """
    scaled = scores
    weights = attention.masked_softmax(scores, mask) / math.sqrt(q.shape[-1])
""", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "Your weights are divided by √d_k after the softmax, so they no longer sum to one. It is the scores that are "
     "divided, before.")
slip("the query added to the output", """
    query, key, value = query, key, value  # so that it goes with no other order of them
    output = self.w_o(merged) + query
""", (TO_ITSELF, TO_OTHERS),
     "Your output is that of attention plus the query. Such a sum is the matter of the layer around it (assignment 8); "
     "here only w_o's result is asked.")
slip("merged features taken in turns", "merged = context.permute(0, 2, 3, 1).flatten(2)", (TO_ITSELF, TO_OTHERS),
     "Your merged rows hold feature 0 of every head, then feature 1 of every head. The heads belong side by side, "
     "first all features of head 0, then all of head 1.")
slip("reshape without transpose, on the way out", "merged = context.reshape(query.shape)", (TO_ITSELF, TO_OTHERS),
     RESHAPED_OUT,
     published=("ajhalthor/Transformer-Neural-Network#4",
                "The contexts are reshaped to the model's width without moving the heads back first."))
slip("one layer with four names", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_q = self.w_k = self.w_v = self.w_o
""", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "w_q, w_k, w_v and w_o are the same layer under four names, so whatever one learns, all learn. Make a layer for "
     "each.")
slip("the layer w_o without bias", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
""", (),
     "The four layers are `nn.Linear` as PyTorch makes them, with a bias. Here w_o has none.")
slip("bare assert", """
    def __init__(self, d_model, num_heads):
        assert d_model % num_heads == 0
        super().__init__(d_model, num_heads)
""", (),
     "An assert stops a wrong number of heads, but only while nobody runs Python with `-O`, and it says nothing about "
     "what to mend. Which error says that a value is wrong?")
slip("width and heads not compared", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, 1)
        self.num_heads = num_heads
""", (),
     "Your constructor takes any number of heads. If they do not divide d_model, it should say so at once, with both "
     "numbers, because later errors are hard to trace back.")
slip("error without the numbers", """
    def __init__(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError
        super().__init__(d_model, num_heads)
""", (),
     "The ValueError comes, but its message does not hold both numbers, d_model and num_heads. With them, its reader "
     "knows what to mend.")
slip("layers without bias", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
""", (),
     "The four layers are `nn.Linear` as PyTorch makes them, with a bias. Yours have none.")
slip("layers without bias, but for w_o", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        for name in ("w_q", "w_k", "w_v"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
""", (),
     "The four layers are `nn.Linear` as PyTorch makes them, with a bias. Here only w_o has one.")
slip("values not projected", "projected = self.w_q(query), self.w_k(key), value", (TO_ITSELF, TO_OTHERS),
     "Query and key are projected, the value is not. What is w_v for?")
slip("queries and keys not projected", "projected = query, key, self.w_v(value)", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "The value is projected, query and key are not. What are w_q and w_k for?")
slip("nothing projected", "projected = query, key, value", (WEIGHTS_OF_HEADS, TO_ITSELF),
     "Query, key and value go into the heads as they come. What are w_q, w_k and w_v for?")
slip("output returned without the weights", "return output", (WEIGHTS_OF_HEADS, TO_OTHERS),
     "The output is right, but it comes alone. Return the pair (output, weights).")
slip("results in the wrong order", "return weights, output", (WEIGHTS_OF_HEADS, TO_OTHERS),
     "You return the weights first. The course returns (output, weights).")
slip("an axis of length 1 dropped", "return output{of_output}, weights{of_weights}", (TO_ITSELF, TO_OTHERS), DROPPED,
     each={"of_output": ("", ".squeeze()", ".squeeze(0)"),
           "of_weights": (".squeeze(1)", ".squeeze()", ".squeeze(0)")})
slip("weights of the first head alone", "return output, weights[:, 0]", (WEIGHTS_OF_HEADS, TO_OTHERS),
     "Your weights are those of the first head, (B, T, S). Return those of every head, (B, H, T, S).")
slip("weights averaged over the heads", "return output, weights.mean(dim=1)", (WEIGHTS_OF_HEADS, TO_OTHERS),
     "Your weights are the mean over the heads, (B, T, S), as `nn.MultiheadAttention` gives them by default. Return "
     "those of every head, (B, H, T, S).")
slip("scores returned for weights", """
    weights = attention.masked_softmax(scaled, mask)  # as they are, so that it goes with no other weights
    return output, scaled if mask is None else scaled.masked_fill(~mask, -math.inf)
""", (WEIGHTS_OF_HEADS, TO_OTHERS),
     "The output is right, but what comes with it are the scores before the softmax. Return the weights.")
slip("mask ignored", "mask = None", MASKED,
     "Without a mask all is right; with one, the same comes out as without. Where does the mask enter?")
slip("mask inverted", "mask = None if mask is None else ~mask", MASKED,
     "You hide what the mask allows. In this course, True says that a word may be attended to. "
     "(`nn.MultiheadAttention` has it the other way round.)")
slip("one more axis for the mask", "mask = None if mask is None else mask.unsqueeze(1)", MASKED,
     "You give the mask one more axis for the heads. It comes ready to broadcast to (B, H, T, S); a mask per sentence "
     "is already (B, 1, T, S).")
slip("a mask of three axes taken for one per sentence",
     "mask = mask.unsqueeze(1) if mask is not None and mask.dim() == 3 else mask", MASKED,
     "A mask of three axes gets one more, as if it were (B, T, S). Here three axes are (H, T, S), one mask for each "
     "head, so it is broadcast as it comes.")
slip("masks of four axes alone", """
    if mask is not None:
        _, _, _, _ = mask.shape
    mask = mask
""", MASKED,
     "You ask a mask for four axes, and it stops where there are fewer. A mask may have any shape that broadcasts to "
     "(B, H, T, S), such as (T, S) or (S,), so use it as it comes.")
slip("the first sentence's mask for all", "mask = mask[:1] if mask is not None and mask.dim() == 4 else mask", MASKED,
     "Every sentence gets the mask of the first one. Axis 0 of a mask with four axes belongs to the sentences. Is "
     "there an index 0, or a slice that ends at 1?")
slip("the first head's mask for all", "mask = mask[:, :1] if mask is not None and mask.dim() == 4 else mask", MASKED,
     "Every head gets the mask of the first one. A mask may be (B, H, T, S), with another pattern for each head, so "
     "use it as it comes.")


right = ANSWERS.right
right("WithEinsum", """
    q, k, v = (x.unflatten(-1, (H, -1)) for x in projected)
    scores = torch.einsum("bthd,bshd->bhts", q, k)
    merged = torch.einsum("bhts,bshd->bthd", weights, v).flatten(2)
""")
right("WithALoopOverHeads", """
    d_k = query.shape[-1] // H
    if mask is not None:
        mask = mask.expand(len(query), H, query.shape[1], key.shape[1])
    contexts, all_weights = [], []
    for h in range(H):
        rows = slice(h * d_k, (h + 1) * d_k)
        q, k, v = (
            F.linear(x, layer.weight[rows], layer.bias[rows])
            for x, layer in ((query, self.w_q), (key, self.w_k), (value, self.w_v))
        )
        scores = torch.bmm(q, k.transpose(1, 2)) / d_k**0.5
        weights = attention.masked_softmax(scores, None if mask is None else mask[:, h])
        contexts.append(weights @ v)
        all_weights.append(weights)
    return self.w_o(torch.cat(contexts, dim=-1)), torch.stack(all_weights, dim=1)
""")
right("WithHeadsInTheBatch", """
    flat_q, flat_k, flat_v = (x.flatten(0, 1) for x in (q, k, v))
    scaled = torch.baddbmm(q.new_zeros(1), flat_q, flat_k.mT, beta=0, alpha=q.shape[-1] ** -0.5)
    scaled = scaled.view(len(q), H, q.shape[2], k.shape[2])
    context = torch.bmm(weights.flatten(0, 1), flat_v).view(q.shape)
""")
right("WithItsOwnSoftmax", """
    visible = torch.ones_like(scaled) if mask is None else mask.to(scaled.dtype)
    e = torch.exp(scaled - scaled.max(dim=-1, keepdim=True).values) * visible
    total = e.sum(dim=-1, keepdim=True)
    weights = e / torch.where(total > 0, total, torch.ones_like(total))
""")
right("WithNanToNum", """
    if mask is not None:
        scaled = torch.where(mask, scaled, float("-inf"))
    weights = torch.nan_to_num(torch.softmax(scaled, dim=-1))
""")
right("WithALargeNumberAndAProduct", """
    visible = torch.ones_like(scaled, dtype=torch.bool) if mask is None else mask
    weights = F.softmax(scaled.masked_fill(visible.logical_not(), torch.finfo(scaled.dtype).min), dim=-1) * visible
""")
right("WithAnAdditiveMask", """
    visible = torch.ones_like(scaled, dtype=torch.bool) if mask is None else mask
    bias = torch.zeros(visible.shape, dtype=scaled.dtype).masked_fill(~visible, -1e9)
    weights = (scaled + bias).softmax(-1) * visible
""")
right("WithOneLoopAndWhere", """
    visible = scaled.new_ones(1, dtype=torch.bool) if mask is None else mask
    hidden = torch.where(visible, scaled, torch.full_like(scaled, -torch.inf))
    highest = hidden.amax(dim=-1, keepdim=True).clamp_min(torch.finfo(scaled.dtype).min)
    e = torch.where(visible, (hidden - highest).exp(), 0.0)
    weights = e / e.sum(dim=-1, keepdim=True).clamp_min(1e-30)
""")
right("WithMoreArgumentsAndABuffer", """
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__(d_model, num_heads)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("scale", torch.tensor(float(d_model // num_heads)).sqrt())

    weights = self.dropout(attention.masked_softmax(scaled, mask))
""")
right("WithScaledQueries", """
    q, k, v = (attention.split_heads(x, H) for x in projected)
    scaled = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-1, -2))
    merged = attention.merge_heads(context)
""")
right("SentenceBySentence", """
    def forward(self, query, key, value, mask=None):
        one = super().forward
        if mask is not None:
            mask = torch.broadcast_to(mask, (len(query), self.num_heads, query.shape[1], key.shape[1]))
        results = [
            one(query[b : b + 1], key[b : b + 1], value[b : b + 1], None if mask is None else mask[b])
            for b in range(len(query))
        ]
        return [torch.cat(parts) for parts in zip(*results, strict=True)]
""")
# the softmax never sees a hidden score
right("OverVisibleKeysAlone", """
    q, k, v = projected
    visible = (torch.tensor(True) if mask is None else mask).expand(len(q), H, q.shape[1], k.shape[1])
    weights = q.new_zeros(visible.shape)
    context = torch.zeros_like(q)
    d_k = q.shape[-1] // H
    for b, h, t in torch.cartesian_prod(*map(torch.arange, visible.shape[:3])).tolist():
        seen = visible[b, h, t].nonzero()[:, 0]
        share = slice(h * d_k, (h + 1) * d_k)
        if len(seen):
            scores = k[b, seen, share] @ q[b, t, share] / math.sqrt(d_k)
            weights[b, h, t, seen] = scores.softmax(0)
            context[b, t, share] = scores.softmax(0) @ v[b, seen, share]
    merged = context
""")
right("AsASumOverHeads", """
    context = torch.einsum("bhts,bhsd->bhtd", weights, v)
    blocks = self.w_o.weight.unflatten(1, (H, -1))
    output = torch.einsum("bhtd,ohd->bto", context, blocks) + self.w_o.bias
""")
right("NumberByNumber", """
    (B, T, _), S = query.shape, key.shape[1]
    visible = (torch.tensor(True) if mask is None else mask).expand(B, H, T, S)
    q, k, v = mapped(query, self.w_q), mapped(key, self.w_k), mapped(value, self.w_v)
    d_k = q.shape[-1] // H
    weights = q.new_zeros(B, H, T, S)
    contexts = torch.zeros_like(q)
    for b in range(B):
        for h in range(H):
            features = range(h * d_k, (h + 1) * d_k)
            for t in range(T):
                scores = []
                for s in range(S):
                    if not visible[b, h, t, s]:
                        continue
                    total = 0.0
                    for d in features:
                        total = total + q[b, t, d] * k[b, s, d]
                    scores.append((s, total / math.sqrt(d_k)))
                if not scores:
                    continue
                largest = max(float(score.detach()) for _, score in scores)
                powers = [(s, torch.exp(score - largest)) for s, score in scores]
                whole = sum(power for _, power in powers)
                for s, power in powers:
                    weights[b, h, t, s] = power / whole
                for d in features:
                    total = 0.0
                    for s, power in powers:
                        total = total + power / whole * v[b, s, d]
                    contexts[b, t, d] = total
    return mapped(contexts, self.w_o), weights
""", slow=LOOPS)
right("InProductsOfAllWithAll", """
    def maps(self, x, layer):
        return (x[:, :, None, :] * layer.weight).sum(dim=-1) + layer.bias

    projected = self.maps(query, self.w_q), self.maps(key, self.w_k), self.maps(value, self.w_v)
    q, k, v = (x.unflatten(-1, (H, -1)) for x in projected)
    scores = (q[:, :, None] * k[:, None]).sum(dim=-1).permute(0, 3, 1, 2)  # (B, T, S, H, d_k) before the sum
    merged = torch.einsum("bhts,bshd,hg->btgd", weights, v, torch.eye(H).to(v)).flatten(2)
    output = self.maps(merged, self.w_o)
""", slow=PRODUCTS)

# ------------------------------------------------------------------------------ wrong in other ways
wrong = ANSWERS.wrong
wrong("WithFrozenKeys", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_k.requires_grad_(False)
""", told=("no gradient", "wrong about gradients"))
wrong("WithOneMaximumForAllRows", """
    e = torch.exp(scaled - scaled.max()) * (1.0 if mask is None else mask)
    weights = e / e.sum(-1, keepdim=True).clamp_min(1e-300)
""", told="right but for special places")
wrong("KeepsTheContextsOfEarlierCalls", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.contexts = []

    self.contexts.extend(context.unbind(1))
    merged = torch.cat(self.contexts, dim=-1)
""", told=("stops with RuntimeError", "wrong after another call"))
# an error of PyTorch's in every case with a mask, and none of the mistakes over shapes
wrong("MaskSubtracted", "mask = None if mask is None else 1 - (1 - mask)",
      told=("stops with RuntimeError", "wrong with `mask` given"))
wrong("MaskOfAnotherSentence", """
    if mask is not None:
        mask = mask.expand(scaled.shape)[:, 0].repeat(H, 1, 1).unflatten(0, scaled.shape[:2])
    weights = attention.masked_softmax(scaled, mask)
""", told=("some rows right", "wrong with `mask` given"),
      published=("lsdefine/attention-is-all-you-need-keras#36",
                 "The heads stand in the batch, but the mask is repeated in another order than they."))
wrong("WithANumberThatIsNotLargeEnough", """
    visible = torch.ones_like(scaled, dtype=torch.bool) if mask is None else mask
    weights = scaled.masked_fill(~visible, -30.0).softmax(-1) * visible.any(-1, keepdim=True)
""", told=("some rows right", "wrong with `mask` given"))
wrong("HiddenByTenThousand", """
    visible = torch.ones_like(scaled, dtype=torch.bool) if mask is None else mask
    weights = scaled.masked_fill(~visible, -10000.0).softmax(-1) * visible.any(-1, keepdim=True)
""", told="some rows right",
      published=("huggingface/transformers#10484",
                 "Hidden scores get −10 000, which very low scores of visible keys can undercut."))
wrong("WithNanInTheGradient", """
    bias = 0.0 if mask is None else torch.zeros(mask.shape, dtype=scaled.dtype).masked_fill(~mask, -torch.inf)
    weights = torch.nan_to_num((scaled + bias).softmax(-1))
""", told=("wrong gradient", "wrong about gradients"))
wrong("NanReplacedWhereAHeadIsBlind", """
    if mask is not None:
        scaled = scaled + torch.zeros_like(scaled).masked_fill(~mask, -torch.inf)
    weights = scaled.softmax(dim=-1).nan_to_num()
""", told=("wrong gradient", "wrong about gradients"))
wrong("WeightsDetached", "return output, weights.detach()", told=("wrong gradient", "wrong about gradients"))
wrong("FrozenKeys", "key = key.detach()", told=("no gradient", "wrong about gradients"))
wrong("ChangesItsMask", """
    if mask is not None:
        mask.logical_not_()
    return output, weights
""", told="inputs changed")
wrong("ChangesItsQuery", "query.data.mul_(0.5); return output, weights", told="wrong gradient")
wrong("OneSentenceOnly", """
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query[:1], key[:1], value[:1], mask)
        return output.expand(len(query), -1, -1), weights.expand(len(query), -1, -1, -1)
""", told="in another order")
wrong("LayersInsideForward", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        del self.w_q, self.w_k, self.w_v, self.w_o

    def forward(self, query, key, value, mask=None):
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(query.shape[-1], query.shape[-1]))
        return super().forward(query, key, value, mask)
""", told="weights that are not found")
wrong("LayersInAList", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        del self.w_q, self.w_k, self.w_v
        self.inputs = [nn.Linear(d_model, d_model) for _ in range(3)]

    w_q, w_k, w_v = self.inputs
""", told="weights with other names")
wrong("NarrowMaps", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_q = nn.Linear(d_model, d_model // num_heads)
""", told=("weights of another shape", "wrong with several heads"))
wrong("OneSmallMapForAllHeads", """
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model // num_heads, d_model // num_heads) for _ in range(3))

    q, k, v = (
        layer(attention.split_heads(x, H)) for layer, x in ((w_q, query), (w_k, key), (w_v, value))
    )
""", told=("weights of another shape", "wrong with several heads"),
      published=("MarcoMeter/episodic-transformer-memory-ppo#22",
                 "The raw features are split first, and every head goes through the same map."))
wrong("RefusesEverything", """
    def __init__(self, d_model, num_heads):
        raise ValueError(f"{d_model}, {num_heads}")
""", told="stops with ValueError")
wrong("EvenWidthsOnly", """
    def __init__(self, d_model, num_heads):
        if d_model % 2:
            raise ValueError(f"{d_model}, {num_heads}")
        super().__init__(d_model, num_heads)
""", told="stops with ValueError")
wrong("DropoutThatActs", "weights = F.dropout(attention.masked_softmax(scaled, mask), 0.1, self.training)",
      told=("hidden ones have weight, or visible ones none", "wrong in train mode"))
# each head works on its own share of the raw features
wrong("ProjectedAfterSplitting", """
    turned = attention.merge_heads(attention.split_heads(query, H).roll(1, 1))
    projected = w_q(turned), w_k(key), w_v(value)
""", told=("right but for special places", "wrong with several heads"))
wrong("OutputOfTheExample",
      "return torch.tensor([[[12.689, 2.0]]]), torch.tensor([[[[0.731, 0.269]], [[0.5, 0.5]]]])")
wrong("UnscaledAndUnmixed", "divisor = 1.0; output = merged", named=("not scaled", "no output projection"))
wrong("InvertedMaskAndABareError", """
    def __init__(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError("d_model must be divisible by num_heads")
        super().__init__(d_model, num_heads)

    mask = None if mask is None else ~mask
""", named=("mask inverted", "error without the numbers"))

# ------------------------------------------ right the first time, or without a row that shows nothing
wrong("OneBlindHeadBlindsTheWord", """
    blind = (weights == 0).all(dim=-1).any(dim=1)
    return torch.where(blind.unsqueeze(-1), self.w_o.bias, output), weights
""", told=("right in part", "wrong with a row in which nothing may be seen"))
wrong("OpensTheMask", """
    if mask is not None:
        seen = mask.clone()
        mask[~mask.any(dim=-1)] = True
        mask = seen
    mask = mask
""", told=("inputs changed", "wrong with a row in which nothing may be seen"))
wrong("FirstMaskAlways", """
    if not hasattr(self, "mask"):
        self.mask = mask
    mask = self.mask
""", told=("hidden ones have weight, or visible ones none", "wrong after another call"))
wrong("MasksRememberedByShape", """
    self.masks = getattr(self, "masks", {})
    mask = mask if mask is None else self.masks.setdefault(tuple(mask.shape), mask)
""", told="wrong after another call")
wrong("KeysOfTheFirstCall", """
    if not hasattr(self, "key") or self.key.shape != key.shape:
        self.key = key
    key = self.key
""", told="wrong after another call")
wrong("LengthOfTheFirstCall", """
    self.length = getattr(self, "length", key.shape[1])
    key = key[:, : self.length]
    value = value[:, : self.length]
    mask = mask if mask is None else mask[..., : self.length]
""", told=("too short or too long", "wrong after another call"))
wrong("AHundredKeys", """
    key = key[:, :100]
    value = value[:, :100]
    mask = mask if mask is None else mask[..., :100]
""")
careless(
    ANSWERS,
    one_sentence=None, a_hundred_words=None,  # of the query alone, which no key misses
    turned_in_place="wrong gradient", one_shape="another number of axes",
)
# fmt: on


# --------------------------------------------------------------------------------- whole classes


@BANK.right("MultiHeadAttention")
class AsInTheLecture(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def heads(self, x):
        return x.view(len(x), -1, self.num_heads, self.d_k).transpose(1, 2)

    def attend(self, q, k, v, mask):
        scores = q @ k.mT / self.d_k**0.5
        if mask is None:
            weights = scores.softmax(-1)
        else:
            weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
        return weights @ v, weights

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            self.heads(self.w_q(query)),
            self.heads(self.w_k(key)),
            self.heads(self.w_v(value)),
        )
        contexts, weights = self.attend(q, k, v, mask)
        return self.w_o(contexts.transpose(1, 2).reshape(query.shape)), weights


@BANK.right("MultiHeadAttention")
class WithAMapOverHeads(AsInTheLecture):
    def attend(self, q, k, v, mask):
        def head(q, k, v, seen):
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
            weights = torch.where(seen, scores.softmax(-1), 0)
            return weights @ v, weights

        mask = torch.tensor(True) if mask is None else mask
        mask = mask.expand(*q.shape[:3], k.shape[2])
        return torch.vmap(head, in_dims=1, out_dims=1)(q, k, v, mask)


class SameByAName:
    """The layers stand in a list, and properties have the names that are asked for."""

    w_q = property(lambda self: self.layers[0])
    w_k = property(lambda self: self.layers[1])
    w_v = property(lambda self: self.layers[2])
    w_o = property(lambda self: self.layers[3])


@BANK.right("MultiHeadAttention")
class WithProperties(SameByAName, nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=}, {num_heads=}")
        self.num_heads = num_heads
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        *inputs, last = self.layers
        q, k, v = (
            torch.stack(layer(x).chunk(self.num_heads, dim=-1), dim=1)
            for layer, x in zip(inputs, (query, key, value), strict=True)
        )
        seen = torch.tensor(True) if mask is None else mask
        scores = torch.where(seen, q @ k.mT / q.shape[-1] ** 0.5, -1e30)
        weights = torch.where(seen, scores.log_softmax(-1).exp(), 0)
        return last(torch.cat((weights @ v).unbind(1), dim=-1)), weights


@BANK.wrong("MultiHeadAttention", told="weights with other names")
class OtherNames(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.inner = AsInTheLecture(d_model, num_heads)

    def forward(self, query, key, value, mask=None):
        return self.inner(query, key, value, mask)
