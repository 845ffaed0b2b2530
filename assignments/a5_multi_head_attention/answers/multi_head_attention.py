"""Answers to `MultiHeadAttention`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a5_multi_head_attention.answers.bank import BANK
from course_utils import attention


class FourMaps(nn.Module):
    """What all answers below share: the four layers. The rest is their own."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def heads(self, x):
        return x.view(len(x), -1, self.num_heads, self.d_k).transpose(1, 2)

    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)

    def contexts_and_weights(self, query, key, value, mask):
        q, k, v = (
            self.heads(self.w_q(query)),
            self.heads(self.w_k(key)),
            self.heads(self.w_v(value)),
        )
        weights = self.softmax(q @ k.mT / self.d_k**0.5, mask)
        return weights @ v, weights

    def forward(self, query, key, value, mask=None):
        contexts, weights = self.contexts_and_weights(query, key, value, mask)
        return self.w_o(contexts.transpose(1, 2).reshape(query.shape)), weights


@BANK.right("MultiHeadAttention")
class AsInTheLecture(FourMaps):
    pass


@BANK.right("MultiHeadAttention")
class WithEinsum(FourMaps):
    def forward(self, query, key, value, mask=None):
        q = self.w_q(query).unflatten(-1, (self.num_heads, self.d_k))
        k = self.w_k(key).unflatten(-1, (self.num_heads, self.d_k))
        v = self.w_v(value).unflatten(-1, (self.num_heads, self.d_k))
        weights = self.softmax(torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(self.d_k), mask)
        return self.w_o(torch.einsum("bhts,bshd->bthd", weights, v).flatten(2)), weights


@BANK.right("MultiHeadAttention")
class WithALoopOverHeads(FourMaps):
    def forward(self, query, key, value, mask=None):
        batch, length, keys = len(query), query.shape[1], key.shape[1]
        if mask is not None:
            mask = mask.expand(batch, self.num_heads, length, keys)
        contexts, all_weights = [], []
        for h in range(self.num_heads):
            rows = slice(h * self.d_k, (h + 1) * self.d_k)
            q = F.linear(query, self.w_q.weight[rows], self.w_q.bias[rows])
            k = F.linear(key, self.w_k.weight[rows], self.w_k.bias[rows])
            v = F.linear(value, self.w_v.weight[rows], self.w_v.bias[rows])
            scores = torch.bmm(q, k.transpose(1, 2)) / self.d_k**0.5
            weights = self.softmax(scores, None if mask is None else mask[:, h])
            contexts.append(weights @ v)
            all_weights.append(weights)
        return self.w_o(torch.cat(contexts, dim=-1)), torch.stack(all_weights, dim=1)


@BANK.right("MultiHeadAttention")
class WithHeadsInTheBatch(FourMaps):
    def forward(self, query, key, value, mask=None):
        batch, length, keys = len(query), query.shape[1], key.shape[1]
        q, k, v = (
            self.heads(layer(x)).reshape(batch * self.num_heads, -1, self.d_k)
            for layer, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        scores = torch.baddbmm(q.new_zeros(1), q, k.mT, beta=0, alpha=self.d_k**-0.5)
        scores = scores.view(batch, self.num_heads, length, keys)
        weights = self.softmax(scores, mask)
        context = torch.bmm(weights.flatten(0, 1), v).view(batch, self.num_heads, length, self.d_k)
        return self.w_o(context.permute(0, 2, 1, 3).reshape(batch, length, self.d_model)), weights


@BANK.right("MultiHeadAttention")
class WithItsOwnSoftmax(FourMaps):
    def softmax(self, scores, mask):
        visible = torch.ones_like(scores) if mask is None else mask.to(scores.dtype)
        e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values) * visible
        total = e.sum(dim=-1, keepdim=True)
        return e / torch.where(total > 0, total, torch.ones_like(total))


@BANK.right("MultiHeadAttention")
class WithNanToNum(FourMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            scores = torch.where(mask, scores, float("-inf"))
        return torch.nan_to_num(torch.softmax(scores, dim=-1))


@BANK.right("MultiHeadAttention")
class WithALargeNumberAndAProduct(FourMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return F.softmax(scores, dim=-1)
        low = torch.finfo(scores.dtype).min
        return F.softmax(scores.masked_fill(mask.logical_not(), low), dim=-1) * mask


@BANK.right("MultiHeadAttention")
class WithAnAdditiveMask(FourMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -1e9)
        return (scores + bias).softmax(-1) * mask


@BANK.right("MultiHeadAttention")
class WithMoreArgumentsAndABuffer(FourMaps):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__(d_model, num_heads)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("scale", torch.tensor(float(self.d_k)).sqrt())

    def softmax(self, scores, mask):
        return self.dropout(super().softmax(scores, mask))

    def heads(self, x):
        return attention.split_heads(x, self.num_heads)


@BANK.right("MultiHeadAttention")
class WithScaledQueries(FourMaps):
    def forward(self, query, key, value, mask=None):
        q = self.heads(self.w_q(query)) * self.d_k**-0.5
        k, v = self.heads(self.w_k(key)), self.heads(self.w_v(value))
        weights = self.softmax(torch.matmul(q, k.transpose(-1, -2)), mask)
        return self.w_o(attention.merge_heads(weights @ v)), weights


@BANK.right("MultiHeadAttention")
class SentenceBySentence(FourMaps):
    def forward(self, query, key, value, mask=None):
        shape = len(query), self.num_heads, query.shape[1], key.shape[1]
        if mask is not None:
            mask = torch.broadcast_to(mask, shape)
        results = [
            super(SentenceBySentence, self).forward(
                query[b : b + 1],
                key[b : b + 1],
                value[b : b + 1],
                None if mask is None else mask[b],
            )
            for b in range(len(query))
        ]
        return [torch.cat(parts) for parts in zip(*results, strict=True)]


@BANK.right("MultiHeadAttention")
class OverVisibleKeysAlone(FourMaps):
    """Number by number: the softmax never sees a hidden score."""

    def forward(self, query, key, value, mask=None):
        q, k, v = self.w_q(query), self.w_k(key), self.w_v(value)
        batch, length, keys = len(q), q.shape[1], k.shape[1]
        if mask is None:
            mask = torch.tensor(True)
        mask = mask.expand(batch, self.num_heads, length, keys)
        weights = q.new_zeros(batch, self.num_heads, length, keys)
        context = torch.zeros_like(q)
        for b, h, t in torch.cartesian_prod(*map(torch.arange, mask.shape[:3])).tolist():
            seen = mask[b, h, t].nonzero()[:, 0]
            share = slice(h * self.d_k, (h + 1) * self.d_k)
            if len(seen):
                scores = k[b, seen, share] @ q[b, t, share] / math.sqrt(self.d_k)
                weights[b, h, t, seen] = scores.softmax(0)
                context[b, t, share] = scores.softmax(0) @ v[b, seen, share]
        return self.w_o(context), weights


@BANK.right("MultiHeadAttention")
class AsASumOverHeads(FourMaps):
    def forward(self, query, key, value, mask=None):
        q, k = self.heads(self.w_q(query)), self.heads(self.w_k(key))
        weights = self.softmax(torch.einsum("bhtd,bhsd->bhts", q, k) / self.d_k**0.5, mask)
        context = torch.einsum("bhts,bhsd->bhtd", weights, self.heads(self.w_v(value)))
        blocks = self.w_o.weight.unflatten(1, (self.num_heads, self.d_k))
        return torch.einsum("bhtd,ohd->bto", context, blocks) + self.w_o.bias, weights


@BANK.wrong("MultiHeadAttention", told=("no gradient", "wrong about gradients"))
class WithFrozenKeys(AsInTheLecture):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_k.requires_grad_(False)


@BANK.wrong("MultiHeadAttention", named="softmax that overflows")
class WithTheFormulaOfTheSoftmax(FourMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        e = torch.exp(scores)
        total = e.sum(-1, keepdim=True)
        return e / torch.where(total == 0, 1.0, total)


@BANK.wrong("MultiHeadAttention", told="right but for special places")
class WithOneMaximumForAllRows(FourMaps):
    def softmax(self, scores, mask):
        e = torch.exp(scores - scores.max()) * (1.0 if mask is None else mask)
        return e / e.sum(-1, keepdim=True).clamp_min(1e-300)


@BANK.wrong("MultiHeadAttention", named="hidden scores set to 0")
class WithASmallNumberForALargeOne(FourMaps):
    def softmax(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, 1e-9)).softmax(-1)


@BANK.wrong("MultiHeadAttention", named="an axis of length 1 dropped")
class OneHeadWithoutAnAxis(FourMaps):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output, weights[:, 0] if self.num_heads == 1 else weights


@BANK.wrong("MultiHeadAttention", told=("stops with RuntimeError", "wrong after another call"))
class KeepsTheContextsOfEarlierCalls(FourMaps):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.contexts = []

    def forward(self, query, key, value, mask=None):
        contexts, weights = self.contexts_and_weights(query, key, value, mask)
        self.contexts.extend(contexts.unbind(1))
        return self.w_o(torch.cat(self.contexts, dim=-1)), weights


@BANK.wrong("MultiHeadAttention", named="one more axis for the mask")
class MaskWithAnAxisForTheHeads(FourMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores, None if mask is None else mask.unsqueeze(1))


@BANK.wrong("MultiHeadAttention", named="a mask of three axes taken for one per sentence")
class MaskWithThreeAxesPerSentence(FourMaps):
    def softmax(self, scores, mask):
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        return super().softmax(scores, mask)


@BANK.wrong("MultiHeadAttention", told=("stops with RuntimeError", "wrong with `mask` given"))
class MaskSubtracted(FourMaps):
    """An error of PyTorch's in every case with a mask, and none of the mistakes over shapes."""

    def softmax(self, scores, mask):
        return super().softmax(scores, None if mask is None else 1 - (1 - mask))


@BANK.wrong(
    "MultiHeadAttention",
    told=("some rows right", "wrong with `mask` given"),
    published="lsdefine/attention-is-all-you-need-keras#36",
)
class MaskOfAnotherSentence(FourMaps):
    """The heads stand in the batch, but the mask is repeated in another order than they."""

    def softmax(self, scores, mask):
        if mask is not None:
            mask = mask.expand(scores.shape)
            repeated = mask[:, 0].repeat(self.num_heads, 1, 1)
            mask = repeated.unflatten(0, scores.shape[:2])
        return super().softmax(scores, mask)


@BANK.wrong("MultiHeadAttention", named="scaled by √d_model", published="lucidrains/vit-pytorch#65")
class ScaledByTheEmbedding(FourMaps):
    """The scale is that of the model's width, not of a head's."""

    def softmax(self, scores, mask):
        return super().softmax(scores / self.num_heads**0.5, mask)


@BANK.wrong("MultiHeadAttention", named="reshape without transpose, both ways")
class OnlyReshaped(FourMaps):
    def heads(self, x):
        return x.view(len(x), self.num_heads, -1, self.d_k)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            self.heads(self.w_q(query)),
            self.heads(self.w_k(key)),
            self.heads(self.w_v(value)),
        )
        weights = self.softmax(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o((weights @ v).reshape(query.shape)), weights


@BANK.wrong("MultiHeadAttention", named="T = S assumed")
class KeysAsLongAsQueries(FourMaps):
    def forward(self, query, key, value, mask=None):
        B, T, _ = query.shape
        q = self.w_q(query).view(B, T, self.num_heads, self.d_k).transpose(1, 2)
        k = self.w_k(key).view(B, T, self.num_heads, self.d_k).transpose(1, 2)
        v = self.w_v(value).view(B, T, self.num_heads, self.d_k).transpose(1, 2)
        weights = self.softmax(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o((weights @ v).transpose(1, 2).reshape(B, T, -1)), weights


@BANK.wrong("MultiHeadAttention", named="T = S assumed")
class MaskForEachHeadOfEachSentence(FourMaps):
    def softmax(self, scores, mask):
        B, H, T, _ = scores.shape
        if mask is not None:
            mask = mask.expand(scores.shape).reshape(B * H, T, T).view(B, H, T, T)
        return super().softmax(scores, mask)


@BANK.wrong("MultiHeadAttention", named="T = S assumed")
class MaskCutOnBothSides(FourMaps):
    def softmax(self, scores, mask):
        T = scores.shape[-2]
        if mask is not None:
            mask = mask[..., :T, :T]
        return super().softmax(scores, mask)


@BANK.wrong("MultiHeadAttention", named="hidden keys shared where nothing is visible")
class WithALargeNumberOnly(FourMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e20)
        return scores.softmax(-1)


@BANK.wrong("MultiHeadAttention", named="NaN where nothing is visible")
class WithAnAddedMinusInfinity(FourMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -torch.inf).to(scores)
        return scores.softmax(-1)


@BANK.wrong("MultiHeadAttention", told=("some rows right", "wrong with `mask` given"))
class WithANumberThatIsNotLargeEnough(FourMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        seen = mask.any(-1, keepdim=True)
        return scores.masked_fill(~mask, -30.0).softmax(-1) * seen


@BANK.wrong("MultiHeadAttention", told=("wrong gradient", "wrong about gradients"))
class WithNanInTheGradient(FourMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -torch.inf)
        return torch.nan_to_num((scores + bias).softmax(-1))


@BANK.wrong("MultiHeadAttention", named="weights averaged over the heads")
class WeightsSummedAndDivided(FourMaps):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output, weights.sum(1) / self.num_heads


@BANK.wrong("MultiHeadAttention", named="output returned without the weights")
class OutputOnly(FourMaps):
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, mask)[0]


@BANK.wrong(
    "MultiHeadAttention", named="no output projection", published="Kyubyong/transformer#117"
)
class NeverMixed(FourMaps):
    """There is no map behind the joined heads."""

    def forward(self, query, key, value, mask=None):
        heads = self.heads(self.w_v(value))
        weights = super().forward(query, key, value, mask)[1]
        return (weights @ heads).transpose(1, 2).flatten(2), weights


@BANK.wrong("MultiHeadAttention", told=("wrong gradient", "wrong about gradients"))
class WeightsDetached(FourMaps):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output, weights.detach()


@BANK.wrong("MultiHeadAttention", told=("no gradient", "wrong about gradients"))
class WithoutGradient(FourMaps):
    def forward(self, query, key, value, mask=None):
        with torch.no_grad():
            return super().forward(query, key, value, mask)


@BANK.wrong("MultiHeadAttention", told=("no gradient", "wrong about gradients"))
class FrozenKeys(FourMaps):
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key.detach(), value, mask)


@BANK.wrong("MultiHeadAttention", told=("another dtype", "wrong in float64"))
class AlwaysFloat32(FourMaps):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output.float(), weights.float()


@BANK.wrong("MultiHeadAttention", told="inputs changed")
class ChangesItsMask(FourMaps):
    def softmax(self, scores, mask):
        weights = super().softmax(scores, mask)
        if mask is not None:
            mask.logical_not_()
        return weights


@BANK.wrong("MultiHeadAttention", told="wrong gradient")
class ChangesItsQuery(FourMaps):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        query.data.mul_(0.5)
        return output, weights


@BANK.wrong("MultiHeadAttention", told=("stops with RuntimeError", "wrong with gaps in memory"))
class OnlyContiguousInputs(FourMaps):
    def forward(self, query, key, value, mask=None):
        query = query.view(-1).view(query.shape)
        return super().forward(query, key, value, mask)


@BANK.wrong("MultiHeadAttention", told="in another order")
class OneSentenceOnly(FourMaps):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query[:1], key[:1], value[:1], mask)
        return output.expand(len(query), -1, -1), weights.expand(len(query), -1, -1, -1)


@BANK.wrong("MultiHeadAttention", told="weights that are not found")
class LayersInsideForward(FourMaps):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        del self.w_q, self.w_k, self.w_v, self.w_o

    def forward(self, query, key, value, mask=None):
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(self.d_model, self.d_model))
        return super().forward(query, key, value, mask)


@BANK.wrong("MultiHeadAttention", told="weights with other names")
class LayersInAList(FourMaps):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        del self.w_q, self.w_k, self.w_v
        self.inputs = [nn.Linear(d_model, d_model) for _ in range(3)]

    def forward(self, query, key, value, mask=None):
        self.w_q, self.w_k, self.w_v = self.inputs
        return super().forward(query, key, value, mask)


@BANK.wrong("MultiHeadAttention", told="weights with other names")
class OtherNames(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.inner = FourMaps(d_model, num_heads)

    def forward(self, query, key, value, mask=None):
        return self.inner(query, key, value, mask)


@BANK.wrong("MultiHeadAttention", told=("weights of another shape", "wrong with several heads"))
class NarrowMaps(FourMaps):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_q = nn.Linear(d_model, self.d_k)


@BANK.wrong("MultiHeadAttention", named="width and heads not compared")
class NoCheckOfTheWidth(FourMaps):
    def __init__(self, d_model, num_heads):
        nn.Module.__init__(self)
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model))


@BANK.wrong("MultiHeadAttention", named="bare assert")
class CheckedByAnAssert(FourMaps):
    def __init__(self, d_model, num_heads):
        assert d_model % num_heads == 0, "embedding size must be divisible by number of heads"
        super().__init__(d_model, num_heads)


@BANK.wrong("MultiHeadAttention", named="error without the numbers")
class RefusedWithoutNumbers(FourMaps):
    def __init__(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError("d_model must be divisible by num_heads")
        super().__init__(d_model, num_heads)


@BANK.wrong("MultiHeadAttention", told="stops with ValueError")
class RefusesEverything(FourMaps):
    def __init__(self, d_model, num_heads):
        raise ValueError(f"{d_model}, {num_heads}")


@BANK.wrong("MultiHeadAttention", named="width and heads not compared")
class RefusesInForward(NoCheckOfTheWidth):
    def forward(self, query, key, value, mask=None):
        if self.d_model % self.num_heads:
            raise ValueError(f"{self.d_model} and {self.num_heads}")
        return super().forward(query, key, value, mask)


@BANK.wrong("MultiHeadAttention", told="stops with ValueError")
class EvenWidthsOnly(FourMaps):
    def __init__(self, d_model, num_heads):
        if d_model % 2:
            raise ValueError(f"{d_model}, {num_heads}")
        super().__init__(d_model, num_heads)


@BANK.wrong("MultiHeadAttention", named="causal although nobody asked")
class AlwaysCausal(FourMaps):
    def softmax(self, scores, mask):
        causal = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        return super().softmax(scores, causal if mask is None else mask & causal)


@BANK.wrong(
    "MultiHeadAttention",
    told=("hidden ones have weight, or visible ones none", "wrong in train mode"),
)
class DropoutThatActs(FourMaps):
    def softmax(self, scores, mask):
        return F.dropout(super().softmax(scores, mask), 0.1, self.training)


@BANK.wrong("MultiHeadAttention", named="the first sentence's mask for all")
class MaskOfTheFirstSentenceForAll(FourMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores, mask[:1] if mask is not None and mask.dim() == 4 else mask)


@BANK.wrong("MultiHeadAttention", named="the first head's mask for all")
class MaskOfTheFirstHeadForAll(FourMaps):
    def softmax(self, scores, mask):
        return super().softmax(
            scores, mask[:, :1] if mask is not None and mask.dim() == 4 else mask
        )


@BANK.wrong("MultiHeadAttention", named="masks of four axes alone")
class MaskWithFourAxesOnly(FourMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            _, _, _, _ = mask.shape
        return super().softmax(scores, mask)


@BANK.wrong("MultiHeadAttention", named="scaled by the root of another axis")
class ScaledByTheLength(FourMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores * (self.d_k / scores.shape[-1]) ** 0.5, mask)


@BANK.wrong("MultiHeadAttention", named="scaled by the root of another axis")
class ScaledByAnAxisThatSplittingMoved(FourMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores * (self.d_k / scores.shape[1]) ** 0.5, mask)


@BANK.wrong("MultiHeadAttention", told=("right but for special places", "wrong with several heads"))
class ProjectedAfterSplitting(FourMaps):
    """Each head works on its own share of the raw features."""

    def forward(self, query, key, value, mask=None):
        q, k, v = (attention.split_heads(x, self.num_heads) for x in (query, key, value))
        q, k, v = (
            self.heads(layer(attention.merge_heads(x)))
            for layer, x in ((self.w_q, q.roll(1, 1)), (self.w_k, k), (self.w_v, v))
        )
        weights = self.softmax(q @ k.mT / self.d_k**0.5, mask)
        return self.w_o(attention.merge_heads(weights @ v)), weights


@BANK.wrong("MultiHeadAttention", named="query and key exchanged")
class QueriesAndKeysSwapped(FourMaps):
    def forward(self, query, key, value, mask=None):
        return super().forward(key, query, value, mask)


@BANK.wrong("MultiHeadAttention", named="the query added to the output")
class WithAResidual(FourMaps):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output + query, weights


@BANK.wrong("MultiHeadAttention")
class OutputOfTheExample(FourMaps):
    def forward(self, query, key, value, mask=None):
        weights = torch.tensor([[[[0.731, 0.269]], [[0.5, 0.5]]]])
        return torch.tensor([[[12.689, 2.0]]]), weights


@BANK.right("MultiHeadAttention")
class WithOneLoopAndWhere(FourMaps):
    def softmax(self, scores, mask):
        if mask is None:
            mask = scores.new_ones(1, dtype=torch.bool)
        hidden = torch.where(mask, scores, torch.full_like(scores, -torch.inf))
        highest = hidden.amax(dim=-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).min)
        e = torch.where(mask, (hidden - highest).exp(), 0.0)
        return e / e.sum(dim=-1, keepdim=True).clamp_min(1e-30)


@BANK.wrong("MultiHeadAttention", named="layers exchanged: w_k and w_v")
class KeysAndValuesExchanged(FourMaps):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_k, self.w_v = self.w_v, self.w_k

    def contexts_and_weights(self, query, key, value, mask):
        q, k, v = (
            self.heads(self.w_q(query)), self.heads(self.w_v(key)), self.heads(self.w_k(value)),
        )  # fmt: skip
        weights = self.softmax(q @ k.mT / self.d_k**0.5, mask)
        return weights @ v, weights


@BANK.wrong("MultiHeadAttention", named="output layer used on the way in")
class OutputLayerForValues(FourMaps):
    def contexts_and_weights(self, query, key, value, mask):
        q, k = self.heads(self.w_q(query)), self.heads(self.w_k(key))
        weights = self.softmax(q @ k.mT / self.d_k**0.5, mask)
        return weights @ self.heads(self.w_o(value)), weights


@BANK.wrong("MultiHeadAttention", named="scores multiplied instead of divided")
class ScaledUp(FourMaps):
    def softmax(self, scores, mask):
        return super().softmax(scores * self.d_k, mask)


@BANK.wrong("MultiHeadAttention", named="NaN where nothing is visible")
class NothingAfterTheSoftmax(FourMaps):
    def softmax(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return torch.softmax(scores, dim=-1)


@BANK.wrong("MultiHeadAttention", named="the query added to the output")
class WithASkip(FourMaps):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return query + output, weights


@BANK.wrong("MultiHeadAttention", named="layers without bias")
class NoBiasAnywhere(FourMaps):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))


@BANK.wrong("MultiHeadAttention", named=("not scaled", "no output projection"))
class UnscaledAndUnmixed(FourMaps):
    def forward(self, query, key, value, mask=None):
        q, k, v = (
            self.heads(self.w_q(query)), self.heads(self.w_k(key)), self.heads(self.w_v(value)),
        )  # fmt: skip
        weights = self.softmax(q @ k.mT, mask)
        return (weights @ v).transpose(1, 2).flatten(2), weights


@BANK.wrong("MultiHeadAttention", named="softmax over the heads")
class GuardedSoftmaxOverTheHeads(FourMaps):
    def softmax(self, scores, mask):
        if mask is None:
            return scores.softmax(1)
        scores = scores.masked_fill(~mask, -torch.inf)
        scores = scores.masked_fill(~mask.any(-1, keepdim=True), 0)
        return scores.softmax(1).masked_fill(~mask, 0)


@BANK.wrong("MultiHeadAttention", named=("mask inverted", "error without the numbers"))
class InvertedMaskAndABareError(FourMaps):
    def __init__(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError("d_model must be divisible by num_heads")
        super().__init__(d_model, num_heads)

    def softmax(self, scores, mask):
        return super().softmax(scores, None if mask is None else ~mask)


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


@BANK.right("MultiHeadAttention")
class WithAMapOverHeads(FourMaps):
    def contexts_and_weights(self, query, key, value, mask):
        shape = len(query), self.num_heads, query.shape[1], key.shape[1]
        mask = torch.tensor(True) if mask is None else mask

        def head(q, k, v, seen):
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
            weights = torch.where(seen, scores.softmax(-1), 0)
            return weights @ v, weights

        q, k, v = self.w_q(query), self.w_k(key), self.w_v(value)
        split = [self.heads(x) for x in (q, k, v)]
        return torch.vmap(head, in_dims=1, out_dims=1)(*split, mask.expand(shape))


@BANK.wrong("MultiHeadAttention", named="stops where no mask is given")
class WithoutADefaultForTheMask(FourMaps):
    def forward(self, query, key, value, mask):
        return super().forward(query, key, value, mask)


@BANK.wrong("MultiHeadAttention", named="weights of the first head alone")
class FirstWeightsAlone(FourMaps):
    def forward(self, query, key, value, mask=None):
        output, weights = super().forward(query, key, value, mask)
        return output, weights.select(1, 0)


@BANK.wrong("MultiHeadAttention", named="one layer for two: w_k does the work of w_v")
class ValuesByTheLayerOfTheKeys(FourMaps):
    def contexts_and_weights(self, query, key, value, mask):
        q, k, v = (
            self.heads(self.w_q(query)),
            self.heads(self.w_k(key)),
            self.heads(self.w_k(value)),
        )
        weights = self.softmax(q @ k.mT / self.d_k**0.5, mask)
        return weights @ v, weights
