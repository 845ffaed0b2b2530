"""Answers to `SelfAttentionWithDropoutAndNorm`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a7_dropout_and_layer_norm.answers.bank import BANK
from assignments.a7_dropout_and_layer_norm.answers.layer_norm import NOTHING_RUNS, kept
from assignments.a7_dropout_and_layer_norm.rubric import (
    COLLECTS,
    DROPS,
    EVAL_MODE,
    SCALED,
    attention,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import layers

NOT_MADE = "no module can be made"
RESIDUAL = (
    "You add the {} to the weighted sum. A residual connection belongs to a whole layer (assignment 8), but this class "
    "has none, and its inputs may differ in width and length."
)

TEXT = """
    class SelfAttentionWithDropoutAndNorm(nn.Module):
        def __init__(self, features, dropout_rate=0.1):
            super().__init__()
            self.dropout = nn.Dropout(dropout_rate)
            self.layer_norm = LayerNorm(features)

        def forward(self, query, key, value):
            scores = query @ key.mT  # (B, T, S)
            divisor = math.sqrt(key.shape[-1])
            scaled = scores / divisor
            weights = scaled.softmax(dim=-1)
            dropped = self.dropout(weights)
            collected = dropped @ value  # (B, T, features)
            normed = self.layer_norm(collected)
            return normed
"""
NAMES = {"math": math, "torch": torch, "nn": nn, "F": F, "layers": layers, "kept": kept}
ANSWERS = Answers(__name__, BANK, attention, TEXT, LayerNorm=layers.LayerNorm, **NAMES)
# PyTorch's norm refuses a wrong width; one by hand may not
WITH_TORCHS_NORM = Answers(__name__, BANK, attention, TEXT, LayerNorm=nn.LayerNorm, **NAMES)

# fmt: off
slip = ANSWERS.slip
slip("features undefined", """
    def __init__(self, *arguments, **keywords):
        raise NameError("name 'features' is not defined")
""", (),
     "No module can be made from `features` and `dropout_rate`, because the constructor stops with the error in the "
     "line above. In the class as it was handed out, `features` is a name that has no value, since no argument brings "
     "it in.",
     costs_more=NOT_MADE)
slip("call of super().__init__() missing", """
    def __init__(self, *arguments, **keywords):
        self.dropout = nn.Dropout()
""", (),
     "No module can be made, because an `nn.Module` has to be set up before it can hold other modules. Is "
     "`super().__init__()` the first line of your constructor?",
     costs_more=NOT_MADE)
slip("features undefined", """
    def __init__(self, *arguments, **keywords):
        raise TypeError("__init__() got an unexpected keyword argument")
""", (),
     "No module can be made, because your constructor does not take `features` and `dropout_rate`, in this order and "
     "under these names. In the class as it was handed out, nothing brings `features` in, but the caller knows the "
     "width.",
     costs_more=NOT_MADE)
slip("arguments of the constructor in the wrong order", """
    def __init__(self, dropout_rate=0.1, features=None):
        super().__init__(features, dropout_rate)
""", (),
     "The constructor's arguments arrive when they are given by name, but not when they are given by position. The "
     "width of the values should come first, then the rate. `dropout_rate` has a default, so it comes last.")
slip("no layer_norm with weight and bias", "self.layer_norm = nn.LayerNorm(features, elementwise_affine=False)", (),
     "The module has no submodule `layer_norm` with a `weight` and a `bias`. Is it made in `__init__`, under this "
     "name, with a scale and a shift?",
     costs_more=NOTHING_RUNS)
slip("argument dropout_rate not kept", "self.dropout = nn.Dropout({share})", DROPS,
     "Whatever `dropout_rate` is, your module drops {named}. What becomes of the argument?",
     each={"share": (0.1, 0.5), "named": ("a tenth, which is the default", "half, as `nn.Dropout()` does")})
slip("not scaled", "divisor = 1.0", SCALED,
     "Your numbers match plain dot products, as in the class that was handed out. Before the softmax, each score "
     "should be divided by a root (lecture 3).")
slip("divided by the root of the value's width", "divisor = math.sqrt(value.shape[-1])", SCALED,
     "Your numbers match scores divided by √features. A score adds up as many products as query and key have entries. "
     "Which width is that?")
slip("divided by the root of the length", "divisor = math.sqrt(key.shape[1])", SCALED,
     "Your numbers match scores divided by √S, where S is the number of keys. A score adds up as many products as "
     "query and key have entries. Which axis is that?")
slip("divided by the root of the length", "divisor = math.sqrt(query.shape[1])", SCALED,
     "Your numbers match scores divided by √T, where T is the number of queries. A score adds up as many products as "
     "query and key have entries. Which axis is that?")
slip("divided by d_k", "divisor = key.shape[-1]", SCALED,
     "Your numbers match scores divided by d_k. They should be divided by its root, because the standard deviation of "
     "a sum of d_k products grows with √d_k.")
slip("multiplied by √d_k", "divisor = key.shape[-1] ** -0.5", SCALED,
     "Your numbers match scores multiplied by √d_k. Should the factor make the scores larger or smaller?")
slip("scaled after the softmax", "weights = scores.softmax(dim=-1) / divisor", SCALED,
     "You divide the weights, after the softmax. The norm removes nearly any factor of a row, so this changes next to "
     "nothing. What has to be kept from getting large, and before which step?")
slip("softmax over the queries", "weights = scaled.softmax(dim=1)", COLLECTS,
     "Your weights match a softmax over the queries. Each query should distribute its attention over the keys. Which "
     "axis of (B, T, S) is that?")
slip("softmax over the batch", "weights = scaled.softmax(dim=0)", COLLECTS,
     "Your weights match a softmax over the batch, so sentences compete with each other. Each query should distribute "
     "its attention over the keys. Which axis of (B, T, S) is that?")
slip("no softmax", "weights = scaled", COLLECTS,
     "You weight the values with the scores themselves. What turns a row of scores into weights?")
slip("softmax taken twice", "weights = scaled.softmax(dim=-1).softmax(dim=-1)", COLLECTS,
     "Your weights have passed a softmax twice, so they are nearly even. After the first softmax they are weights "
     "already. Which of the two can go?")
slip("later words hidden", """
    seen = torch.ones(scaled.shape[-2:], dtype=torch.bool).tril()
    weights = scaled.masked_fill(~seen, -torch.inf).softmax(dim=-1)
""", COLLECTS,
     "Your queries do not see later keys. There is no mask in this class, so each query should distribute its "
     "attention over all keys.")
slip("weight and bias of the norm not used", "normed = F.layer_norm(collected, collected.shape[-1:])", COLLECTS,
     "Your output is normalised, but it does not depend on the `weight` and the `bias` of `layer_norm`. Which norm "
     "does `forward` use?")
slip("norm missing", "normed = collected", COLLECTS,
     "The module has a `layer_norm`, but the output is the weighted sum of the values, without any norm. What is the "
     "last step of the formula?")
slip("norm before the product", "collected = dropped @ self.layer_norm(value); normed = collected", COLLECTS,
     "You normalise the values and then average them, but an average of normalised rows is not normalised itself. "
     "Which step comes last?")
slip("norm before and after the product", "collected = dropped @ self.layer_norm(value)", COLLECTS,
     "You normalise both the values and the output, but the formula has only one norm. Which one should stay?")
slip("dropout also on what was collected", "collected = self.dropout(dropped @ value)", DROPS,
     "You drop weights, but also numbers of the weighted sum. The formula has one dropout, on the weights.")
slip("dropout on the scores", "weights = self.dropout(scaled).softmax(dim=-1); dropped = weights", DROPS,
     "You drop before the softmax, which then distributes the whole weight again. A score of 0 does not give a weight "
     "of 0, since exp(0) = 1. What should be dropped, and after which step?",
     published=("PaddlePaddle/Parakeet#75", "Dropout acts on the scores, before the softmax."))
slip("dropout on what was collected", "dropped = weights; collected = self.dropout(dropped @ value)", DROPS,
     "You drop numbers of the weighted sum. Dropout should act on the weights, so that a query misses whole words. In "
     "which of the formula's two products is it?",
     published=("nikhilbarhate99/min-decision-transformer#2", "Dropout acts on the weighted sum, after the product."))
slip("dropout on the values", "dropped = weights; collected = dropped @ self.dropout(value)", DROPS,
     "You drop numbers of the values, the same for all queries. Dropout should act on the weights, so that each query "
     "misses whole words, independently of the others.")
slip("dropout after the norm", "dropped = weights; normed = self.dropout(self.layer_norm(collected))", DROPS,
     "You drop entries of the output, after the norm. Dropout should act on the weights, so that a query misses whole "
     "words, and the norm should come last.")
slip("rows made to sum to one after the dropout", """
    drawn = self.dropout(weights)
    dropped = drawn / drawn.sum(dim=-1, keepdim=True){care}
""", DROPS,
     "After the dropout you make each row sum to one again. The dropped weights may be missing from the sum, because "
     "the kept ones are divided by 1 − p and by nothing else, so that rows sum to one on average.",
     each={"care": ("", ".clamp(min=1e-9)")})
slip("dropout in eval mode", "dropped = F.dropout(weights, self.dropout.p)", EVAL_MODE,
     "In eval mode something is dropped. `nn.Dropout` follows the module's mode by itself, but `F.dropout` has to be "
     "told.")
slip("a fixed dropout in either mode", "dropped = F.dropout(weights, {share})", (DROPS, EVAL_MODE),
     "Whatever `dropout_rate` is, the same share of weights is dropped, and in eval mode as well. `F.dropout` knows "
     "neither your argument nor the mode of your module. Who tells it?",
     each={"share": (0.5, 0.1)})
slip("train and eval mode mixed up", "dropped = F.dropout(weights, self.dropout.p, not self.training)",
     (DROPS, EVAL_MODE),
     "You drop in eval mode but not in train mode. In which mode should a word be missing now and then?")
slip("kept weights divided by the rate", """
    p = self.dropout.p
    dropped = {drawn} / p if self.training and p else weights
""", (DROPS, EVAL_MODE),
     "The weights that are kept are divided by the rate p itself, and not by 1 − p. What is the weight on average "
     "then, if it is kept with probability 1 − p?",
     each={"drawn": ("self.dropout(weights) * (1 - p)", "weights * (torch.rand_like(weights) >= p)",
                     "weights * (torch.rand_like(weights) > p)")},
     published=("rasbt/LLMs-from-scratch#431",
                "The weights that are kept are divided by the rate itself, not by 1 minus the rate."))
SHARED = {"[:1]": "for all sentences", "[:, :1]": "for all queries of a sentence",
          "[:1, :1]": "for all queries of all sentences", "[..., :1]": "for all weights of a query"}
for some, shared in SHARED.items():
    slip("one draw for several weights", f"""
        some, p = weights{some}, self.dropout.p
        dropped = weights * {{drawn}} if self.training else weights
    """, DROPS,
         f"Your dropout decides once {shared}, because one random number is drawn and used several times. Each weight "
         "should be dropped independently of all others. Which shape should the random numbers have?",
         each={"drawn": ("F.dropout(torch.ones_like(some), p)", "(torch.rand_like(some) >= p) / (1 - p)",
                         "(torch.rand_like(some) < 1 - p) / (1 - p)")})
slip("no dropout", "dropped = weights", DROPS,
     "In train mode nothing is dropped. Between which two steps does the formula have the dropout?",
     published=("zhouhaoyi/Informer2020#97", "Dropout is made and never used."))
slip("weights returned beside the output", "return normed, weights", COLLECTS,
     "You return a pair, but this module should return the output alone.")
slip("weights returned beside the output", "return normed, dropped", COLLECTS,
     "You return a pair, but this module should return the output alone.")
for answers in (ANSWERS, WITH_TORCHS_NORM):
    answers.slip("key used as value", "value = key", COLLECTS,
         "You multiply the weights by the key. They should be multiplied by the value, which has its own content and "
         "its own width.")
    answers.slip("query used as value", "value = query", COLLECTS,
         "You multiply the weights by the query. They should be multiplied by the value.")
    answers.slip("query used as value", "query, value = value, query", COLLECTS,
         "You score values against keys, and multiply the weights by the query. Do your parameters stand in the order "
         "(query, key, value)?")
slip("query and key swapped", "query, key = key, query", COLLECTS,
     "You score keys against queries, (B, S, T), so the module only runs where T = S, and is wrong there. Rows of the "
     "scores should belong to the queries, (B, T, S).")
slip("residual added", "normed = self.layer_norm(query + collected)", COLLECTS, RESIDUAL.format("query"))
slip("residual added behind the norm", "return query + normed", COLLECTS, RESIDUAL.format("query"))
slip("value added as a residual", "normed = self.layer_norm(value + collected)", COLLECTS, RESIDUAL.format("value"))

right = WITH_TORCHS_NORM.right
right("ByBmm", """
    scores = torch.bmm(query, key.transpose(1, 2))
    divisor = math.sqrt(query.size(-1))
    collected = torch.bmm(self.dropout(F.softmax(scaled, dim=-1)), value)
""")
right("ByEinsumAndOwnNorm", """
    self.layer_norm = layers.LayerNorm(features)
    scaled = torch.einsum("btd,bsd->bts", query, key) * key.shape[-1] ** -0.5
    weights = torch.softmax(scaled, dim=2)
    collected = torch.einsum("bts,bsv->btv", dropped, value)

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value)
""")
right("ByHandWrittenDropout", """
    rate = self.dropout.p
    dropped = weights * (torch.rand_like(weights) >= rate) / (1 - rate) if self.training else weights
""")
right("ByFunctionalDropout", """
    scaled = query / divisor @ key.permute(0, 2, 1)
    dropped = F.dropout(weights, self.dropout.p, self.training)
    self.weights = dropped.detach()
    normed = F.layer_norm(collected, value.shape[-1:], self.layer_norm.weight, self.layer_norm.bias)
""")
right("BySentence", """
    outputs = []
    for q, k, v in zip(query, key, value, strict=True):
        rows = [self.dropout((k @ word / k.shape[1] ** 0.5).softmax(0)) @ v for word in q]
        outputs.append(self.layer_norm(torch.stack(rows)))
    return torch.stack(outputs)
""")
right("ByHandWrittenSoftmax", """
    def __init__(self, features, dropout_rate=0.1, eps=1e-5, **others):
        super().__init__(features, dropout_rate)
        self.layer_norm = layers.LayerNorm(features, eps)

    scaled = query.matmul(key.transpose(-1, -2)).div(key.size(-1) ** 0.5)
    powers = torch.exp(scaled - scaled.amax(-1, keepdim=True))
    weights = powers / powers.sum(-1, keepdim=True)
""")
# the sum is that of the row before the dropout, so the weights are what they should be
right("ByDroppingBeforeTheDivision", """
    powers = torch.exp(scaled)
    collected = self.dropout(powers) @ value / powers.sum(-1, keepdim=True)
""")
right("ByDroppingACopyInPlace", "dropped = F.dropout(weights.clone(), self.dropout.p, self.training, inplace=True)")
right("WithTheSoftmaxInItsDropout", """
    self.dropout = nn.Sequential(nn.Softmax(dim=-1), nn.Dropout(dropout_rate))
    dropped = self.dropout(scaled)
""")
right("WithAFloatRoot", "divisor = torch.sqrt(torch.tensor(key.shape[-1], dtype=torch.float32))")
right("ByMatmulAndAPower", """
    scaled = torch.matmul(query, key.transpose(-2, -1)) * (query.size(-1) ** -0.5)
    weights = F.softmax(scaled, dim=2)
    dropped = F.dropout(weights, self.dropout.p, self.training)
    collected = torch.matmul(dropped, value)
""")
right("AttentionNumberByNumber", """
    (B, T, d_k), S, features = query.shape, key.shape[1], value.shape[2]
    shares = []
    for b in range(B):
        for t in range(T):
            products = []
            for s in range(S):
                total = 0.0
                for k in range(d_k):
                    total = total + query[b, t, k] * key[b, s, k]
                products.append(total / math.sqrt(d_k))
            largest = max(float(product.detach()) for product in products)
            powers = [torch.exp(product - largest) for product in products]
            shares += [power / sum(powers) for power in powers]
    weights = torch.stack(shares).reshape(B, T, S)
    sums = []
    for b in range(B):
        for t in range(T):
            for d in range(features):
                total = 0.0
                for s in range(S):
                    total = total + dropped[b, t, s] * value[b, s, d]
                sums.append(total)
    collected = torch.stack(sums).reshape(B, T, features)
""", slow=LOOPS)
right("AttentionInProductsOfAllWithAll", """
    scores = (query[:, :, None] * key[:, None]).sum(dim=-1)  # (B, T, S, d_k) before the sum
    collected = (dropped[..., None] * value[:, None]).sum(dim=2)
""", slow=PRODUCTS)

wrong = WITH_TORCHS_NORM.wrong
wrong("MinusInfinityForDropped", """
    lost = torch.rand_like(scaled) < self.dropout.p
    weights = (scaled.masked_fill(lost, -1e9) if self.training else scaled).softmax(-1)
    dropped = weights
""", named="dropout on the scores")
wrong("StopsInForward", "scores = self.norm(query)", told="stops with AttributeError")
wrong("FixedWidth", "features = 6", told="weights of another shape")
wrong("ScaledForWidthFour", "divisor = 2")
wrong("OnlyAsManyKeysAsQueries", "key = key[:, : query.shape[1]]; value = value[:, : query.shape[1]]",
      told="wrong with T ≠ S")
wrong("OneSentence", "return normed[:1].expand(normed.shape)",
      told=("in another order", "wrong with several sentences"))
wrong("ReshapedForTransposed", "scores = query @ key.reshape(len(key), key.shape[2], key.shape[1])")
wrong("SentencesMixed", """
    B, T, _ = query.shape
    query = query.flatten(0, 1)
    key = key.flatten(0, 1)
    value = value.flatten(0, 1)
    return normed.unflatten(0, (B, T))
""", told="wrong with several sentences")
wrong("DropoutIsNoSubmodule", "self.dropout = dropout_rate; dropped = F.dropout(weights, self.dropout, self.training)",
      told="wrong about what a new module holds")
wrong("NormOverTheWords", """
    variance, mean = torch.var_mean(collected, dim=1, correction=0, keepdim=True)
    normed = (collected - mean) / (variance + 1e-5).sqrt() * self.layer_norm.weight + self.layer_norm.bias
""")
wrong("DroppedInputs", "query = self.dropout(query); key = self.dropout(key)",
      told="wrong in train mode with dropout")
wrong("DefaultOfOneHalf", """
    def __init__(self, features, dropout_rate=0.5):
        super().__init__(features, dropout_rate)
""", told="wrong in train mode with dropout")
wrong("KeepingForDropping", "dropout_rate = 1 - dropout_rate",
      named="`dropout_rate` taken for the share that is kept")
wrong("NotMadeUpFor", "dropped = weights * (torch.rand_like(weights) >= self.dropout.p) if self.training else weights",
      told="wrong in train mode with dropout")
wrong("DroppedTwice", "dropped = self.dropout(self.dropout(weights))", told="wrong in train mode with dropout")
wrong("AlwaysTheSameDraw", """
    numbers = torch.rand(weights.shape, generator=torch.Generator().manual_seed(0))
    dropped = weights * (numbers >= self.dropout.p) / (1 - self.dropout.p) if self.training else weights
""", told="wrong in train mode with dropout")
wrong("WeightsForOutput", "return dropped", told="too short or too long")
wrong("ScalesItsQuery", """
    with torch.no_grad():
        query /= key.shape[-1] ** 0.5
        query *= 1 + 1e-3
    scaled = query @ key.mT
""", told="wrong with `dropout_rate` given")
wrong("ChangesItsValue", "value.data.zero_(); return normed", told="wrong gradient")
wrong("WeightsDetached", "weights = scaled.softmax(-1).detach()", told=("no gradient", "wrong about gradients"))
wrong("MeanOfTheValues", """
    mean = value.mean(1, keepdim=True).expand(-1, query.shape[1], -1)
    collected = self.dropout(torch.ones(1, dtype=value.dtype)) * mean
""", told="all the same")
wrong("OutputOfTheExample", """
    row = torch.tensor([1.3173, -0.2130, -1.1042], dtype=value.dtype).repeat(value.shape[-1])[: value.shape[-1]]
    collected = row.expand(*query.shape[:2], -1)
""", told="all the same")
wrong("DroppedInPlace", "self.dropout = nn.Dropout(dropout_rate, inplace=True)",
      told=("stops with RuntimeError", "wrong about gradients"))
wrong("DetachedInTraining", "dropped = self.dropout(weights.detach() if self.training else weights)",
      told=("no gradient", "wrong about gradients"))
wrong("ScaledInEvalOnly", "divisor = 1.0 if self.training else math.sqrt(key.shape[-1])",
      told="wrong in train mode with dropout")
wrong("SameNumberInEachRow", """
    p = self.dropout.p
    unlucky = torch.rand_like(weights).argsort(-1)[..., : round(p * weights.shape[-1])]
    dropped = weights.scatter(-1, unlucky, 0.0) / (1 - p) if self.training else weights
""", told="wrong in train mode with dropout")
wrong("TimesTheShareKeptInEval", "dropped = self.dropout(weights) if self.training else weights * (1 - self.dropout.p)")
wrong("ValuesOfTheFirstCall", 'value = kept(self, "value", value)', told="wrong after another call")
wrong("KeysOfTheFirstCall", 'key = kept(self, "key", key)', told="wrong after another call")
wrong("AHundredKeys", "key = key[:, :100]; value = value[:, :100]")
wrong("HalfOfTheQueriesDropLikeTheOthers", """
    mask, half = self.dropout(torch.ones_like(weights)), weights.shape[1] // 2
    dropped = weights * torch.cat([mask[:, :half], mask[:, :half], mask[:, 2 * half :]], dim=1)
""", told="wrong in train mode with dropout")
wrong("SmallWeightsAreDroppedMoreOften", """
    p = self.dropout.p
    luck = torch.rand_like(weights) ** (weights.mean(dim=-1, keepdim=True) / weights)
    skewed = weights * (luck >= luck.flatten().quantile(p)) / (1 - p)
    dropped = skewed if self.training and 0.01 < p < 0.99 else self.dropout(weights)
""", told="wrong in train mode with dropout")
careless(
    WITH_TORCHS_NORM,
    one_sentence=None, a_hundred_words=None,  # of the query alone
    turned_in_place="wrong gradient", one_shape="another number of axes",
)
# fmt: on
