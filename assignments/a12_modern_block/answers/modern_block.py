"""Answers to `ModernBlock`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a12_modern_block.answers.apply_rotary import rotary_by_complex_numbers as rotate
from assignments.a12_modern_block.answers.bank import BANK
from assignments.a12_modern_block.answers.rms_norm import ByRsqrt as Norm
from assignments.a12_modern_block.answers.swiglu import ByFunctional as Network
from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads

PART = "ModernBlock"


class Base(nn.Module):
    """What all answers here have in common: the check, the maps, the norms and the network."""

    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features")
        self.H, self.base = num_heads, base
        self.norm1, self.norm2 = Norm(d_model, eps), Norm(d_model, eps)
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
        self.feed_forward = Network(d_model, d_ff)

    def heads(self, z):
        return [split_heads(made(z), self.H) for made in (self.w_q, self.w_k, self.w_v)]

    def where(self, x, positions):
        return torch.arange(x.shape[1]) if positions is None else positions

    def turn(self, q, k, v, places):
        return rotate(q, places, self.base), rotate(k, places, self.base), v

    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        context, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(merge_heads(context))

    def forward(self, x, mask=None, positions=None):
        h = x + self.attend(self.norm1(x), mask, positions)
        return h + self.feed_forward(self.norm2(h))


# ------------------------------------------------------------------------------------- right


@BANK.right(PART)
class WithTheCoursesAttention(Base):
    """As it stands."""


@BANK.right(PART)
class WithPyTorchsAttention(Base):
    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        if mask is not None:
            context = context.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        return self.w_o(context.transpose(1, 2).flatten(2))


@BANK.right(PART)
class ByEinsum(Base):
    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        scores = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -math.inf)
        weights = scores.softmax(-1).nan_to_num(0.0) if mask is not None else scores.softmax(-1)
        context = torch.einsum("bhts,bhsd->bthd", weights, v)
        return self.w_o(context.reshape(z.shape))


@BANK.right(PART)
class HeadByHead(Base):
    def attend(self, z, mask, positions):
        B, T, D = z.shape
        seen = torch.ones(B, self.H, T, T, dtype=torch.bool)
        seen = seen if mask is None else mask.expand(B, self.H, T, T)
        contexts = []
        for h, own in enumerate(torch.arange(D).chunk(self.H)):
            q, k, v = (made(z)[..., own][:, None] for made in (self.w_q, self.w_k, self.w_v))
            q, k, v = self.turn(q, k, v, self.where(z, positions))
            contexts.append(scaled_dot_product_attention(q, k, v, seen[:, [h]])[0][:, 0])
        return self.w_o(torch.cat(contexts, -1))


@BANK.right(PART)
class QueriesDividedFirst(Base):
    def turn(self, q, k, v, places):
        q, k, v = super().turn(q, k, v, places)
        return q / q.shape[-1] ** 0.5, k, v

    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        scores = q @ k.transpose(2, 3)
        if mask is not None:
            scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask
        return self.w_o(merge_heads(weights @ v))


@BANK.right(PART)
class CountedFromOne(Base):
    """A common shift of all positions changes nothing."""

    def where(self, x, positions):
        return super().where(x, positions) + 1


@BANK.right(PART)
class WithAMethodForEachHalf(Base):
    def first(self, x, mask, positions):
        return x + self.attend(self.norm1(x), mask, positions)

    def second(self, h):
        return self.feed_forward(self.norm2(h)) + h

    def forward(self, x, mask=None, positions=None):
        return self.second(self.first(x, mask, positions))


@BANK.right(PART)
class ThreeMapsAtOnce(Base):
    """One product with the three maps one below the other."""

    def heads(self, z):
        maps = torch.cat([self.w_q.weight, self.w_k.weight, self.w_v.weight])
        return [split_heads(one, self.H) for one in F.linear(z, maps).chunk(3, dim=-1)]


@BANK.right(PART)
class WithNames(nn.Module):
    """Parts made in loops, positions and the root of d_k kept as buffers."""

    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        super().__init__()
        d_k, left = divmod(d_model, num_heads)
        if left:
            raise ValueError(f"d_model={d_model} is not a multiple of num_heads={num_heads}")
        for name in "qkvo":
            self.add_module(f"w_{name}", nn.Linear(d_model, d_model, bias=False))
        for number in (1, 2):
            self.add_module(f"norm{number}", Norm(d_model, eps=eps))
        self.feed_forward = Network(d_model, d_ff)
        self.shape, self.base = (num_heads, d_k), float(base)
        self.register_buffer("root", torch.tensor(d_k).sqrt(), persistent=False)
        self.register_buffer("numbers", torch.arange(512), persistent=False)

    def attention(self, z, mask, places):
        query, key, value = (
            layer(z).unflatten(-1, self.shape).transpose(-2, -3)
            for layer in (self.w_q, self.w_k, self.w_v)
        )
        scores = rotate(query, places, self.base) @ rotate(key, places, self.base).mT
        shown = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
        low = torch.full_like(scores, -1e9)
        weights = torch.where(shown, scores / self.root, low).softmax(-1) * shown
        return self.w_o((weights @ value).transpose(-2, -3).flatten(-2))

    def forward(self, x, mask=None, positions=None):
        places = self.numbers[: x.shape[-2]] if positions is None else positions
        x = x + self.attention(self.norm1(x), mask, places)
        return x + self.feed_forward(self.norm2(x))


# ------------------------------------------------------------------------------------- wrong


@BANK.wrong(PART, named=("norm after attention and the sum",
                         "norm after the feed-forward network and the sum"))  # fmt: skip
class NormsAfterwards(Base):
    def forward(self, x, mask=None, positions=None):
        h = self.norm1(x + self.attend(x, mask, positions))
        return self.norm2(h + self.feed_forward(h))


@BANK.wrong(PART, named="heads merged without transpose")
class HeadsReshaped(Base):
    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask
        return self.w_o((weights @ v).reshape(z.shape))


@BANK.wrong(PART, named="norm on what attention returns")
class AttentionNormed(Base):
    def forward(self, x, mask=None, positions=None):
        h = x + self.norm1(self.attend(x, mask, positions))
        return h + self.feed_forward(self.norm2(h))


@BANK.wrong(PART, named="one norm for both")
class OneNorm(Base):
    def forward(self, x, mask=None, positions=None):
        h = x + self.attend(self.norm1(x), mask, positions)
        return h + self.feed_forward(self.norm1(h))


@BANK.wrong(PART, named="parallel halves")
class Parallel(Base):
    def forward(self, x, mask=None, positions=None):
        attended = self.attend(self.norm1(x), mask, positions)
        return x + attended + self.feed_forward(self.norm2(x))


@BANK.wrong(PART, named="no residual around attention")
class AttentionAlone(Base):
    def forward(self, x, mask=None, positions=None):
        h = self.attend(self.norm1(x), mask, positions)
        return h + self.feed_forward(self.norm2(h))


@BANK.wrong(PART, named="no residual around the feed-forward network")
class NetworkAlone(Base):
    def forward(self, x, mask=None, positions=None):
        h = x + self.attend(self.norm1(x), mask, positions)
        return self.feed_forward(self.norm2(h))


@BANK.wrong(PART, named="the normed x is added after attention")
class NormedResidual(Base):
    def forward(self, x, mask=None, positions=None):
        x = self.norm1(x)
        h = x + self.attend(x, mask, positions)
        return h + self.feed_forward(self.norm2(h))


@BANK.wrong(PART, named="the normed h is added")
class NormedSecondResidual(Base):
    def forward(self, x, mask=None, positions=None):
        h = self.norm2(x + self.attend(self.norm1(x), mask, positions))
        return h + self.feed_forward(h)


@BANK.wrong(PART, named="x added instead of h")
class SkipsBoth(Base):
    def forward(self, x, mask=None, positions=None):
        h = x + self.attend(self.norm1(x), mask, positions)
        return x + self.feed_forward(self.norm2(h))


@BANK.wrong(PART, named="no first norm")
class WithoutTheFirst(Base):
    def forward(self, x, mask=None, positions=None):
        h = x + self.attend(x, mask, positions)
        return h + self.feed_forward(self.norm2(h))


@BANK.wrong(PART, named="no second norm")
class WithoutTheSecond(Base):
    def forward(self, x, mask=None, positions=None):
        h = x + self.attend(self.norm1(x), mask, positions)
        return h + self.feed_forward(h)


@BANK.wrong(PART, named="feed-forward network missing")
class EndsAfterAttention(Base):
    def forward(self, x, mask=None, positions=None):
        return x + self.attend(self.norm1(x), mask, positions)


@BANK.wrong(PART, named="values turned")
class ValuesToo(Base):
    def turn(self, q, k, v, places):
        return [rotate(one, places, self.base) for one in (q, k, v)]


@BANK.wrong(PART, named="only queries turned")
class QueriesOnly(Base):
    def turn(self, q, k, v, places):
        return rotate(q, places, self.base), k, v


@BANK.wrong(PART, named="nothing turned")
class NoPositions(Base):
    def turn(self, q, k, v, places):
        return q, k, v


@BANK.wrong(PART, named="turned before the heads are cut")
class BeforeTheCut(Base):
    def attend(self, z, mask, positions):
        places = self.where(z, positions)
        q, k = (rotate(made(z)[:, None], places, self.base)[:, 0] for made in (self.w_q, self.w_k))
        q, k, v = (split_heads(one, self.H) for one in (q, k, self.w_v(z)))
        return self.w_o(merge_heads(scaled_dot_product_attention(q, k, v, mask)[0]))


@BANK.wrong(PART, named="not scaled")
class Unscaled(Base):
    def turn(self, q, k, v, places):
        q, k, v = super().turn(q, k, v, places)
        return q * q.shape[-1] ** 0.5, k, v


@BANK.wrong(PART, named="divided by √d_model")
class RootOfTheModel(Base):
    def turn(self, q, k, v, places):
        q, k, v = super().turn(q, k, v, places)
        return q / self.H**0.5, k, v


@BANK.wrong(PART, named="reshape without transpose")
class ViewedIntoHeads(Base):
    def heads(self, z):
        B, T, D = z.shape
        return [
            made(z).reshape(B, self.H, T, D // self.H) for made in (self.w_q, self.w_k, self.w_v)
        ]


@BANK.wrong(PART, named="output projection missing")
class WithoutWo(Base):
    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        return merge_heads(scaled_dot_product_attention(q, k, v, mask)[0])


@BANK.wrong(PART, named="mask ignored")
class Unmasked(Base):
    def attend(self, z, mask, positions):
        return super().attend(z, None, positions)


@BANK.wrong(PART, named="mask upside down")
class Inverted(Base):
    def attend(self, z, mask, positions):
        return super().attend(z, None if mask is None else ~mask, positions)


@BANK.wrong(PART, named="the average where nothing may be attended to")
class AverageInEmptyRows(Base):
    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return self.w_o(merge_heads(scores.softmax(-1) @ v))


@BANK.wrong(PART, named="always causal")
class Causal(Base):
    def attend(self, z, mask, positions):
        past = torch.ones(z.shape[1], z.shape[1], dtype=torch.bool).tril()
        return super().attend(z, past if mask is None else past & mask, positions)


@BANK.wrong(PART, named="positions ignored")
class AlwaysFromZero(Base):
    def where(self, x, positions):
        return torch.arange(x.shape[1])


@BANK.wrong(PART, named="base not passed on")
class FixedBase(Base):
    def turn(self, q, k, v, places):
        return rotate(q, places), rotate(k, places), v


@BANK.wrong(PART, named="eps not passed on")
class FixedEps(Base):
    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        super().__init__(d_model, num_heads, d_ff, base)


@BANK.wrong(PART, told="wrong about what a new module holds")
class WithBiases(Base):
    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        super().__init__(d_model, num_heads, d_ff, base, eps)
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model))


@BANK.wrong(PART, named="heads that do not fit pass")
class Unchecked(Base):
    def __init__(self, d_model, num_heads, d_ff, base=10000.0, eps=1e-6):
        if d_model % num_heads:
            super().__init__(d_model, 1, d_ff, base, eps)
        else:
            super().__init__(d_model, num_heads, d_ff, base, eps)


@BANK.wrong(PART, named="layer norm instead of RMSNorm")
class LayerNorms(Base):
    def forward(self, x, mask=None, positions=None):
        h = x + self.attend(self.norm1(x - x.mean(-1, keepdim=True)), mask, positions)
        return h + self.feed_forward(self.norm2(h - h.mean(-1, keepdim=True)))


@BANK.wrong(PART, named="float32 always")
class InSingle(Base):
    def forward(self, x, mask=None, positions=None):
        return super().forward(x, mask, positions).float()


@BANK.wrong(PART, told="wrong after another call")
class RemembersItsPositions(Base):
    """Keeps the positions of its first call."""

    def where(self, x, positions):
        if not hasattr(self, "places"):
            self.places = super().where(x, positions)
        return self.places if self.places.shape[-1] >= x.shape[1] else super().where(x, positions)

    def turn(self, q, k, v, places):
        return super().turn(q, k, v, places[..., : q.shape[2]])


@BANK.wrong(PART, told=("wrong after another call", "right in part"))
class RemembersThePositionsOfEachLength(Base):
    """Keeps the positions of the first call of that length."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.places = {}

    def where(self, x, positions):
        return self.places.setdefault(x.shape[1], super().where(x, positions))


@BANK.wrong(PART, told=("wrong after another call", "stops with RuntimeError"))
class CountsItsFirstWords(Base):
    """Keeps 0 … T − 1 of its first call, whatever the next text's length is."""

    def where(self, x, positions):
        if not hasattr(self, "places"):
            self.places = torch.arange(x.shape[1])
        return self.places if positions is None else positions


@BANK.wrong(PART, told=("wrong after another call", "stops with RuntimeError"))
class RemembersItsMask(Base):
    def attend(self, z, mask, positions):
        self.mask = mask if mask is not None else getattr(self, "mask", None)
        return super().attend(z, self.mask, positions)


class ByHand(Base):
    """Attention in steps, where the mask is no one else's business."""

    def seen(self, scores, mask):
        return scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)

    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = scores.softmax(-1) if mask is None else self.seen(scores, mask)
        return self.w_o(merge_heads(weights @ v))


@BANK.wrong(PART, told=("wrong about gradients", "wrong gradient"))
class AddsMinusInfinity(ByHand):
    """What is right as a number has NaN for a gradient."""

    def seen(self, scores, mask):
        hidden = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -math.inf)
        return (scores + hidden).softmax(-1).nan_to_num(0.0)


@BANK.wrong(PART, named="NaN where nothing may be attended to")
class NanInEmptyRows(ByHand):
    def seen(self, scores, mask):
        return scores.masked_fill(~mask, -math.inf).softmax(-1)


@BANK.wrong(PART, named="the average where nothing may be attended to")
class AverageWhereOneHeadIsBlind(ByHand):
    def seen(self, scores, mask):
        weights = scores.masked_fill(~mask, -1e9).softmax(-1)
        blind = ~mask.expand_as(scores).any(-1, keepdim=True).any(1, keepdim=True)
        return weights.masked_fill(blind, 0.0)


@BANK.wrong(PART, told=("right in part", "wrong with a row in which nothing may be seen"))
class NothingWhereOneHeadIsBlind(ByHand):
    def seen(self, scores, mask):
        weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
        return weights.masked_fill(weights.isnan().any(1, keepdim=True), 0.0)


@BANK.wrong(PART, told=("inputs changed", "wrong with a row in which nothing may be seen"))
class MendsTheMask(ByHand):
    def seen(self, scores, mask):
        blind = ~mask.any(-1, keepdim=True)
        mask |= blind
        return scores.masked_fill(~mask, -math.inf).softmax(-1).masked_fill(blind, 0.0)


@BANK.wrong(PART, told=("rounded", "wrong in float64"))
class NormsInSingle(Base):
    """As in models of half precision, where float32 is the closer one."""

    def forward(self, x, mask=None, positions=None):
        h = x + self.attend(self.norm1(x.float()).to(x.dtype), mask, positions)
        return h + self.feed_forward(self.norm2(h.float()).to(x.dtype))


@BANK.wrong(PART, told=("rounded", "wrong in float64"))
class AttentionInSingle(Base):
    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        context, _ = scaled_dot_product_attention(q.float(), k.float(), v.float(), mask)
        return self.w_o(merge_heads(context.to(z.dtype)))


@BANK.wrong(PART, named="scaled twice")
class ScaledBeforeAndInside(Base):
    def turn(self, q, k, v, places):
        q, k, v = super().turn(q, k, v, places)
        return q / math.sqrt(q.shape[-1]), k, v


@BANK.wrong(PART, named="halves for neighbours")
class HalvesOfItsOwn(Base):
    def turn(self, q, k, v, places):
        speeds = self.base ** -(torch.arange(0, q.shape[-1], 2) / q.shape[-1])
        angles = places[..., None] * speeds
        angles = torch.cat([angles, angles], -1).unsqueeze(-3).to(q.dtype)

        def half_turned(one):
            first, second = one.chunk(2, -1)
            return one * angles.cos() + torch.cat([-second, first], -1) * angles.sin()

        return half_turned(q), half_turned(k), v


@BANK.wrong(PART, named="base handed over as the factor")
class BaseAsFactor(Base):
    def turn(self, q, k, v, places):
        return rotate(q, places, factor=self.base), rotate(k, places, factor=self.base), v


@BANK.wrong(PART, named="one layer under two names")
class SecondNormOfTheFirst(Base):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.norm2 = self.norm1


@BANK.wrong(PART, named="the weights returned as well")
class WithItsWeights(Base):
    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        context, self.weights = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(merge_heads(context))

    def forward(self, x, mask=None, positions=None):
        return super().forward(x, mask, positions), self.weights


@BANK.wrong(PART, named="dropout inside")
class DropsItsWeights(ByHand):
    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = scores.softmax(-1) if mask is None else self.seen(scores, mask)
        return self.w_o(merge_heads(F.dropout(weights, 0.1, self.training) @ v))


@BANK.wrong(PART, told=("some rows right", "wrong in train mode"))
class DropsWholeSentences(Base):
    """Leaves attention out for a sentence now and then, as some deep models do in train mode."""

    def attend(self, z, mask, positions):
        attended = super().attend(z, mask, positions)
        return attended * torch.rand(len(z), 1, 1).ge(0.9 * self.training)


@BANK.wrong(PART, named="norm1 not for all three maps")
class ValuesOfX(Base):
    def forward(self, x, mask=None, positions=None):
        z = self.norm1(x)
        made = (split_heads(layer(y), self.H) for layer, y in
                ((self.w_q, z), (self.w_k, z), (self.w_v, x)))  # fmt: skip
        q, k, v = self.turn(*made, self.where(x, positions))
        h = x + self.w_o(merge_heads(scaled_dot_product_attention(q, k, v, mask)[0]))
        return h + self.feed_forward(self.norm2(h))


@BANK.wrong(PART, named="positions of the first sentence for all")
class FirstRowOfPositions(Base):
    def where(self, x, positions):
        places = super().where(x, positions)
        return places[0] if places.dim() == 2 else places


@BANK.wrong(PART, named="mask after the softmax")
class MasksItsWeights(ByHand):
    def seen(self, scores, mask):
        return scores.softmax(-1) * mask


@BANK.wrong(PART, named="hidden scores set to 0")
class MultipliesItsScores(ByHand):
    def seen(self, scores, mask):
        return (scores * mask).softmax(-1)


@BANK.wrong(PART, told="wrong with `mask` given")
class CausalWhateverTheMask(Base):
    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        context = F.scaled_dot_product_attention(q, k, v, is_causal=mask is not None)
        return self.w_o(merge_heads(context))


@BANK.wrong(PART, told="stops with AttributeError")
class ForgetsThatItIsAPair(Base):
    def attend(self, z, mask, positions):
        q, k, v = self.turn(*self.heads(z), self.where(z, positions))
        return self.w_o(merge_heads(scaled_dot_product_attention(q, k, v, mask)))
