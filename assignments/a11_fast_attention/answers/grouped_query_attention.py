"""Answers to `GroupedQueryAttention`."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a11_fast_attention.answers.bank import BANK
from assignments.a11_fast_attention.rubric import (
    GROUP_MANNERS,
    GROUP_MASKS,
    GROUP_OUTPUT,
    SHARED,
    group_attention,
)
from assignments.common import hiding
from assignments.common.slow import each_word, mapped, mapped_at_once, weighed, weighed_at_once
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import fast_attention
from course_utils.attention import masked_softmax

ANSWERS = Answers(
    __name__, BANK, group_attention,
    """
    class GroupedQueryAttention(fast_attention.GroupedQueryAttention):
        def forward(self, query, key, value, mask=None):
            H, G = self.num_heads, self.num_kv_heads
            q = self.w_q(query).unflatten(-1, (H, -1)).transpose(1, 2)  # (B, H, T, d_k)
            k = self.w_k(key).unflatten(-1, (G, -1)).transpose(1, 2)  # (B, G, S, d_k)
            v = self.w_v(value).unflatten(-1, (G, -1)).transpose(1, 2)
            keys = k.repeat_interleave(H // G, dim=1)  # (B, H, S, d_k)
            values = v.repeat_interleave(H // G, dim=1)
            divisor = q.shape[-1] ** 0.5
            scores = q @ keys.mT / divisor  # (B, H, T, S)
            given = torch.tensor(True) if mask is None else mask
            seen = given
            weights = hiding.weights_guarded_over(-1, scores, seen)
            context = weights @ values  # (B, H, T, d_k)
            merged = context.transpose(1, 2).flatten(2)  # (B, T, d_model)
            output = self.w_o(merged)
            return output, weights
    """,
    torch=torch, nn=nn, F=F, fast_attention=fast_attention, masked_softmax=masked_softmax, hiding=hiding,
    partial=partial, each_word=each_word, mapped=mapped, mapped_at_once=mapped_at_once, weighed=weighed,
    weighed_at_once=weighed_at_once,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("maps without bias", """
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        for name in "{bare}".split():
            getattr(self, name).bias = None
""", SHARED,
     "The four maps are `nn.Linear` as PyTorch makes them, each with a bias. In your module, at least one of them has "
     "none.",
     each={"bare": ("w_q w_k w_v w_o", "w_q w_k w_v", "w_k w_v", "w_o")})
for kind, own, costs in (("key", "k", SHARED), ("value", "v", GROUP_OUTPUT)):
    slip(f"{kind} heads by remainder", f"{kind}s = {own}.repeat(1, H // G, 1, 1)", costs,
         f"Your query head h uses the {kind} head h mod num_kv_heads, so heads that share one are scattered. "
         "Neighbours share: head h uses h // (num_heads / num_kv_heads), and `repeat_interleave` repeats in this "
         "order.")
    slip(f"the first {kind} head for all", f"{kind}s = {own}[:, :1].expand(-1, H, -1, -1)", costs,
         f"All your query heads use the first {kind} head. Each group of query heads has its own.")
    slip(f"the mean {kind} head for all", f"{kind}s = {own}.mean(dim=1, keepdim=True).expand(-1, H, -1, -1)", costs,
         f"All your query heads use the average {kind} head. Each group of query heads has its own.")
slip("key heads in reverse", "keys = k.flip(1).repeat_interleave(H // G, dim=1)", SHARED,
     "The first query heads use the last key head. The order of groups is that of the key heads.")
slip("heads hold every H-th feature", """
    q = self.w_q(query).unflatten(-1, (-1, H)).permute(0, 3, 1, 2)
    k = self.w_k(key).unflatten(-1, (-1, G)).permute(0, 3, 1, 2)
    v = self.w_v(value).unflatten(-1, (-1, G)).permute(0, 3, 1, 2)
""", SHARED,
     "Your heads take every H-th feature. A head's features stand beside each other, as in assignment 5.")
QUERIES_RESHAPED = "q = self.w_q(query).reshape(len(query), H, query.shape[1], -1)"
KEYS_RESHAPED = (
    "k = self.w_k(key).reshape(len(key), G, key.shape[1], -1);"
    "v = self.w_v(value).reshape(len(value), G, value.shape[1], -1)"
)
slip("reshape without transpose", "{reshaped}", SHARED,
     "Your heads hold whole words instead of a share of each word, because nothing was transposed between the two "
     "reshapes.",
     each={"reshaped": (f"{QUERIES_RESHAPED}; {KEYS_RESHAPED}", QUERIES_RESHAPED, KEYS_RESHAPED)})
slip("query divided before its projection", "query = query / (query.shape[-1] / self.num_heads) ** 0.5", SHARED,
     "You divide `query` itself by √d_k, before `w_q`, whose bias is then as large as before. Divide the scores, and "
     "once.")
slip("not scaled", "divisor = 1.0", SHARED,
     "Your scores are not divided by √d_k.")
slip("divided by the root of another width", "divisor = ({times} * q.shape[-1]) ** 0.5", SHARED,
     "You divide by the root of another width than that of one head: of the model, of all key heads, or of a group. "
     "d_k is d_model / num_heads.",
     each={"times": ("H", "G", "H // G")})
slip("divided by d_k itself", "divisor = q.shape[-1]", SHARED,
     "You divide the scores by d_k. It is divided by its root.")
slip("softmax over the heads", "weights = hiding.weights_over(1, scores, seen)", SHARED,
     "Your softmax runs over the heads. Each head has a row of weights of its own, over the keys.")
slip("softmax over the queries", "weights = hiding.weights_over(2, scores, seen)", SHARED,
     "Your softmax runs over the words that ask. Take it over the keys, `dim=-1`.")
slip("queries of a group averaged", """
    scores = q @ keys.mT / divisor
    mean = scores.unflatten(1, (-1, H // G)).mean(dim=2).repeat_interleave(H // G, dim=1)
    weights = hiding.weights_guarded_over(-1, mean, seen)
""", SHARED,
     "All query heads of a group have the same weights, because their queries or scores were averaged. They share keys "
     "and values, and ask each on its own.")
slip("mask ignored", "weights = scores.softmax(dim=-1)", GROUP_MASKS,
     "Hidden keys get weight. Set their scores to −∞ before the softmax.")
slip("mask the wrong way round",
     "weights = hiding.weights_guarded_over(-1, scores, seen if mask is None else ~seen)", GROUP_MASKS,
     "You hide what the mask shows. In this course True means *may attend*.")
slip("mask after the softmax", "weights = scores.softmax(dim=-1) * seen", GROUP_MASKS,
     "Hidden keys are taken out after the softmax, so the rest no longer sums to one. Hide scores before it, with −∞.")
slip("hidden scores set to 0", "weights = (scores * seen).softmax(dim=-1)", GROUP_MASKS,
     "You set hidden scores to 0, and e⁰ is 1. A score of −∞ gives the weight 0.")
slip("NaN where nothing may be attended to", "weights = scores.masked_fill(~seen, -torch.inf).softmax(dim=-1)",
     GROUP_MASKS,
     "Where a query may attend to nothing, all its scores are −∞, and the softmax divides 0 by 0. Such a query gets "
     "weights of 0: set hidden weights to 0 after the softmax.")
slip("weights where nothing may be attended to", "weights = {hidden}.softmax(dim=-1)", GROUP_MASKS,
     "Where a query may attend to nothing, its scores are all one and the same number, and a softmax turns these into "
     "weights that sum to one all the same. Such a query gets weights of 0: set hidden weights to 0 after the softmax.",
     each={"hidden": ("scores.masked_fill(~seen, -1e9)", "(scores - 1e9 * ~seen)", "(scores - 1e4 * ~seen)")})
slip("NaN in gradients where nothing may be attended to", """
    low = torch.zeros_like(scores).masked_fill(~seen, -torch.inf)
    weights = (scores + low).softmax(dim=-1).nan_to_num(0.0)
""", GROUP_MANNERS,
     "Your numbers are right, but where a query may attend to nothing, the gradients are NaN: they pass through the "
     "softmax of scores that are all −∞, whatever replaces its result. Give such rows finite scores before the "
     "softmax.")
slip("exponentials that overflow", """
    powers = scores.exp() * seen
    total = powers.sum(dim=-1, keepdim=True)
    weights = powers / torch.where(total == 0, 1, total)
""", GROUP_MANNERS,
     "Large scores turn into infinity or NaN, because the exponentials are taken as they are. `softmax` first takes "
     "off the largest score of a row.")
slip("an axis of heads added to every mask", "seen = given.unsqueeze(1) if given.dim() > 2 else given", GROUP_MASKS,
     "You put an axis for the heads into every mask. The mask broadcasts to (B, H, T, S) as it is, and may have this "
     "axis already.")
slip("one head's mask for all", "seen = given[:, :1] if given.dim() == 4 else given", GROUP_MASKS,
     "Of a mask that differs from head to head you use the first head's for all. Every query head has its own row.")
FOR_ALL_HEADS = "given.dim() < 3 or given.shape[-3] == 1"
slip("one mask for each group", f"""
    seen = given if {FOR_ALL_HEADS} else given[..., :: H // G, :, :].repeat_interleave(H // G, dim=-3)
""", GROUP_MASKS,
     "Query heads of a group share one mask in your module. A mask (B, H, T, S) has one for each *query* head.")
slip("mask chosen by the key head", f"seen = given if {FOR_ALL_HEADS} else given[..., torch.arange(H) {{which}}, :, :]",
     GROUP_MASKS,
     "Of a mask that differs from head to head, each of your query heads uses the one with the number of its key head. "
     "Query head h uses mask h of (B, H, T, S).",
     each={"which": ("// (H // G)", "% G")})
slip("heads merged without transpose", "merged = context.reshape(query.shape)", GROUP_OUTPUT,
     "You merge heads by a reshape alone, so a row of the result mixes several words. First bring the words in front "
     "of the heads again.")
slip("features of heads mixed", "merged = context.permute(0, 2, 3, 1).flatten(2)", GROUP_OUTPUT,
     "In a row of the result the heads' features take turns. Those of one head stand beside each other.")
slip("weights of one head for each group", "return output, weights[:, :: H // G]", SHARED,
     "You give back the weights of one query head for each group. Those of every query head are asked for, (B, H, T, "
     "S).")
slip("weights averaged over the heads", "return output, weights.mean(dim=1)", SHARED,
     "You average the weights over the heads. Those of every query head are asked for, (B, H, T, S).")
slip("no weights given back", "return output", SHARED,
     "You return the output alone. The weights of every query head come back as well, as the second result.")
slip("(weights, output) for (output, weights)", "return weights, output", SHARED,
     "Your results come in the other order. First the output, then the weights.")
slip("heads cut and merged without transpose",
     f"{QUERIES_RESHAPED}; {KEYS_RESHAPED}; merged = context.reshape(query.shape)", (SHARED, GROUP_OUTPUT),
     "You cut heads out of the features by a reshape alone and merge them by another, so a head holds whole words "
     "instead of a share of each word. Transpose words and heads in between, both times.")
slip("no output projection", "output = merged", GROUP_OUTPUT,
     "Your output is the merged heads themselves. They still pass through `w_o`.")
slip("keys cut with the number of queries",
     "k = self.w_k(key).view(len(key), query.shape[1], G, q.shape[-1]).transpose(1, 2)", SHARED,
     "You cut keys and values with the number of queries, so your module stops where T ≠ S. Take the length of the "
     "keys from the keys.")
slip("num_kv_heads taken for the size of a group", """
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.num_kv_heads = num_heads // num_kv_heads
        self.w_k, self.w_v = (nn.Linear(d_model, d_model // num_kv_heads) for _ in range(2))
""", SHARED,
     "You take num_kv_heads for the number of query heads in a group. It is the number of key heads, and a group has "
     "num_heads / num_kv_heads query heads. So `w_k` and `w_v` get another width, too.")
slip("w_k and w_v of full width", """
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.w_k, self.w_v = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
""", SHARED,
     "`w_k` and `w_v` have the width of all query heads, so nothing is saved. They make num_kv_heads · d_k features.")
slip("no ValueError", """
    def __init__(self, d_model, num_heads, num_kv_heads):
        even = d_model % num_heads == 0 and num_heads % num_kv_heads == 0
        super().__init__(*((d_model, num_heads, num_kv_heads) if even else (4, 2, 1)))
""", GROUP_MANNERS,
     "Heads that do not share the width evenly, or query heads that do not share the key heads evenly, pass without a "
     "word. Raise a ValueError in the constructor that names both numbers.")
slip("an assert for the ValueError", """
    def __init__(self, d_model, num_heads, num_kv_heads):
        assert d_model % num_heads == 0, f"{d_model} {num_heads}"
        assert num_heads % num_kv_heads == 0, f"{num_heads} {num_kv_heads}"
        super().__init__(d_model, num_heads, num_kv_heads)
""", GROUP_MANNERS,
     "An `assert` raises an AssertionError, and none at all under `python -O`. Raise a ValueError that names both "
     "numbers.")

right = ANSWERS.right
right("InGroups", """
    def __init__(self, d_model, num_heads, num_kv_heads):
        nn.Module.__init__(self)
        for whole, part in ((d_model, num_heads), (num_heads, num_kv_heads)):
            if whole % part:
                raise ValueError(f"{whole} is no multiple of {part}")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        width = d_model // num_heads * num_kv_heads
        self.w_q, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_k, self.w_v = nn.Linear(d_model, width), nn.Linear(d_model, width)

    q = self.w_q(query).unflatten(-1, (G, H // G, -1))
    k = self.w_k(key).unflatten(-1, (G, -1))
    v = self.w_v(value).unflatten(-1, (G, -1))
    scores = torch.einsum("btgrd,bsgd->bgrts", q, k).flatten(1, 2) / q.shape[-1] ** 0.5
    merged = torch.einsum("bgrts,bsgd->btgrd", weights.unflatten(1, (G, H // G)), v).flatten(2)
""")
right("HeadByHead", """
    q = self.w_q(query)
    k = self.w_k(key)
    v = self.w_v(value)
    seen = given.expand(len(query), H, query.shape[1], key.shape[1])
    rows, contexts, d_k = [], [], q.shape[-1] // H
    for h in range(H):
        g = h // (H // G)
        mine, ours = slice(h * d_k, (h + 1) * d_k), slice(g * d_k, (g + 1) * d_k)
        rows.append(masked_softmax(q[..., mine] @ k[..., ours].transpose(1, 2) / d_k**0.5, seen[:, h]))
        contexts.append(rows[-1] @ v[..., ours])
    return self.w_o(torch.cat(contexts, -1)), torch.stack(rows, 1)
""")
right("Expanded", """
    keys = k[:, :, None].expand(-1, -1, H // G, -1, -1).flatten(1, 2)
    values = v[:, :, None].expand(-1, -1, H // G, -1, -1).reshape(len(v), H, v.shape[2], -1)
""")
right("ByIndex", "own = torch.arange(H) * G // H; keys = k[:, own]; values = v[:, own]")
right("WeightsRepeated", """
    def wide(self, layer, x):
        H, G = self.num_heads, self.num_kv_heads
        rows = layer.weight.unflatten(0, (G, -1)).repeat_interleave(H // G, 0)
        bias = layer.bias.unflatten(0, (G, -1)).repeat_interleave(H // G, 0)
        return F.linear(x, rows.flatten(0, 1), bias.flatten()).unflatten(-1, (H, -1)).transpose(1, 2)

    keys = self.wide(self.w_k, key)
    values = self.wide(self.w_v, value)
    scores = q / q.shape[-1] ** 0.5 @ keys.mT
""")
right("ByBatchedProducts", """
    flat_q, flat_k, flat_v = (x.flatten(0, 1) for x in (q, keys, values))
    scores = torch.bmm(flat_q, flat_k.transpose(1, 2)).div(q.shape[-1] ** 0.5).unflatten(0, q.shape[:2])
    context = torch.bmm(weights.flatten(0, 1), flat_v).view(q.shape)
""")
right("LowestNumberAndZero",
      "weights = scores.masked_fill(seen.logical_not(), torch.finfo(scores.dtype).min).softmax(-1) * seen")
right("ByOwnLoopOverGroups", """
    r = H // G
    scores = torch.cat([q[:, g * r : (g + 1) * r] @ k[:, g : g + 1].mT for g in range(G)], 1) * q.shape[-1] ** -0.5
    context = torch.cat([weights[:, g * r : (g + 1) * r] @ v[:, g : g + 1] for g in range(G)], 1)
""")
right("GroupsNumberByNumber", """
    (B, T, D), S = query.shape, key.shape[1]
    seen = given.expand(B, H, T, S)
    outputs, rows, d_k = [], [], D // H
    for b in range(B):
        asked, ours, theirs = (
            each_word(partial(mapped, layer), x[b])
            for layer, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        heads = []
        for h in range(H):
            g = h // (H // G)
            own, shared = slice(h * d_k, (h + 1) * d_k), slice(g * d_k, (g + 1) * d_k)
            heads.append(weighed(asked[:, own], ours[:, shared], theirs[:, shared], seen[b, h]))
        joined = torch.cat([found for found, _ in heads], 1)
        outputs.append(each_word(partial(mapped, self.w_o), joined))
        rows.append(torch.stack([row for _, row in heads]))
    return torch.stack(outputs), torch.stack(rows)
""", slow=LOOPS)
right("GroupsByBroadcasting", """
    q = mapped_at_once(self.w_q, query).unflatten(-1, (H, -1)).transpose(1, 2)
    k = mapped_at_once(self.w_k, key).unflatten(-1, (G, -1)).transpose(1, 2)
    v = mapped_at_once(self.w_v, value).unflatten(-1, (G, -1)).transpose(1, 2)
    serves = (torch.arange(H).unsqueeze(1) // (H // G) == torch.arange(G)).to(k.dtype)  # (H, G)
    keys = torch.einsum("hg,bgsd->bhsd", serves, k)
    values = torch.einsum("hg,bgsd->bhsd", serves, v)
    found = weighed_at_once(q, keys, values, mask)
    weights = found[1]
    context = found[0]
    output = mapped_at_once(self.w_o, merged)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("KeyHeadsTiled", "keys = k.tile(1, H // G, 1, 1); values = v.tile(1, H // G, 1, 1)",
      named=("key heads by remainder", "value heads by remainder"),
      published=("onnx/onnx#7274",
                 "Key heads are tiled, so that query heads meet them in turns instead of in groups."))
wrong("KeyHeadsNotRepeated", "keys = k; values = v", told=("stops with RuntimeError", "wrong with `forward`"),
      published=("state-spaces/mamba#462", "Key and value heads are not repeated at all."))
wrong("MeanOfAllHeads", "keys = k.mean(1, keepdim=True); values = v.mean(1, keepdim=True)",
      named=("the mean key head for all", "the mean value head for all"))
wrong("RepeatedAlongTheWords", """
    keys = k.repeat_interleave(H // G, dim=2).reshape(len(k), H, k.shape[2], -1)
    values = v.repeat_interleave(H // G, dim=2).reshape(len(v), H, v.shape[2], -1)
""", told=("right but for special places", "wrong with `forward`"))
wrong("KeysForValues", "v = self.w_k(value).unflatten(-1, (G, -1)).transpose(1, 2)",
      told="the weights right, the output wrong")
wrong("FiftyBelowAndCleared", "weights = scores.masked_fill(~seen, -50.0).softmax(-1) * seen",
      told=("hidden ones have weight, or visible ones none", "right in part", "some rows right"))
wrong("SoftmaxInFloat32", "weights = masked_softmax(scores.float(), seen).to(scores.dtype)",
      told=("rounded", "wrong in float64"))
wrong("FirstMaskOfEachGroup",
      f"seen = given if {FOR_ALL_HEADS} or given.dim() == 3 else given[:, :: H // G].repeat_interleave(H // G, dim=1)",
      named="one mask for each group")
wrong("MaskInverted", """
    if mask is not None:
        mask.logical_not_()
    return output, weights
""", told="inputs changed")
wrong("RemembersTheMask", "mask = self.mask = getattr(self, 'mask', None) if mask is None else mask",
      told=("hidden ones have weight, or visible ones none", "wrong after another call"))
wrong("RemembersKeys", """
    self.kept = getattr(self, "kept", {})
    key, value = self.kept.setdefault(key.shape, (key, value))
""", told="wrong after another call")
wrong("KeyHeadsUnchecked", """
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_heads if num_heads % num_kv_heads else num_kv_heads)
""", named="no ValueError")
wrong("ErrorWithoutNumbers", """
    def __init__(self, d_model, num_heads, num_kv_heads):
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError("the heads do not fit")
        super().__init__(d_model, num_heads, num_kv_heads)
""", told="wrong where an error is asked for")
wrong("WithAFurtherNorm", """
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.norm = nn.LayerNorm(d_model)
""", told="wrong about what a new module holds")
careless(
    ANSWERS,
    one_sentence=("right in part", "wrong with several sentences"), a_hundred_words="stops with RuntimeError",
    one_shape="another number of axes",
)
