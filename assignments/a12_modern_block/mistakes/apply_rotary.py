"""`apply_rotary` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch

from assignments.a12_modern_block.rubric import ANYWHERE, ROTARY_MANNERS, TURNED, rotary
from autograder.checks.mistakes import Steps, called, costs, variants


class Rotary(Steps):
    """The right function in steps, each of which a mistake can change."""

    def answer(self, x, positions, base=10000.0, factor=1.0):
        self.check(x.shape[-1])
        angles = self.pressed(self.placed(positions, x), factor) / self.base(base, factor) ** (
            self.exponents(x.shape[-1])
        )
        cos, sin = self.tables(self.heads(angles, positions, x))
        first, second = self.pairs(x)
        return self.joined(*self.turn(first, second, cos.to(x.dtype), sin.to(x.dtype)))

    def check(self, d_k):
        if d_k % 2:
            raise ValueError(f"d_k = {d_k} is odd")

    def placed(self, positions, x):
        return positions.double()[..., None]

    def pressed(self, positions, factor):
        return positions / factor

    def base(self, base, factor):
        return base

    def exponents(self, d_k):
        return torch.arange(0, d_k, 2).double() / d_k

    def heads(self, angles, positions, x):
        return angles[:, None] if positions.dim() == 2 else angles

    def tables(self, angles):
        return angles.cos(), angles.sin()

    def pairs(self, x):
        return x[..., 0::2], x[..., 1::2]

    def turn(self, first, second, cos, sin):
        return first * cos - second * sin, first * sin + second * cos

    def joined(self, first, second):
        return torch.stack([first, second], dim=-1).flatten(-2)


@rotary.mistakes_in(Rotary.exponents, costs=TURNED)
class RotaryExponents:
    @called("exponent k / d_k")
    def half(self, d_k):
        """Your pair k turns by base^(k / d_k). The exponent is 2k / d_k, where k counts pairs."""
        return torch.arange(d_k // 2).double() / d_k

    @called("exponent 4k / d_k")
    def double(self, d_k):
        """Your pair k turns by base^(4k / d_k), as if k counted features and were doubled once more. The
        exponent is 2k / d_k, where k counts pairs."""
        return 2 * torch.arange(0, d_k, 2).double() / d_k

    @called("powers of base multiplied")
    def upside_down(self, d_k):
        """Your pairs turn faster from one to the next, because you multiply by base^(2k / d_k). The formula
        divides by it."""
        return -torch.arange(0, d_k, 2).double() / d_k

    @called("last pair at the base itself")
    def to_the_end(self, d_k):
        """Your exponents run from 0 to 1, so the last pair turns by position / base. They are 2k / d_k, which
        stays below 1."""
        return torch.linspace(0, 1, d_k // 2).double()

    @called("all pairs at one speed")
    def none(self, d_k):
        """All your pairs turn at the same speed. Pair k is slower by base^(2k / d_k)."""
        return torch.zeros(d_k // 2).double()

    @called("pairs in reverse")
    def reverse(self, d_k):
        """Your last pair turns fastest. The first one does, at the angle of the position itself."""
        return torch.arange(0, d_k, 2).double().flip(0) / d_k

    @called("pairs counted from 1")
    def from_one(self, d_k):
        """Your first pair is slowed down already, because you count pairs from 1. Pair 0 turns by the
        position itself."""
        return torch.arange(2, d_k + 2, 2).double() / d_k


@rotary.mistakes_in(Rotary.base, costs=ANYWHERE)
class RotaryBase:
    @called("base ignored")
    def ignored(self, base, factor):
        """Your `base` is always 10000. It is an argument."""
        return 10000.0


@rotary.mistakes_in(Rotary.pressed, costs=ANYWHERE)
class RotaryPressed:
    @called("factor ignored")
    def ignored(self, positions, factor):
        """Your `factor` is not used. It divides the positions."""
        return positions

    @called("factor multiplied")
    def multiplied(self, positions, factor):
        """You multiply positions by `factor`. It presses them together, so it divides."""
        return positions * factor

    @called("factor divides twice")
    def twice(self, positions, factor):
        """Positions are divided by `factor` twice. Once is what the formula says."""
        return positions / factor**2

    @called("whole-number division by factor")
    def whole(self, positions, factor):
        """You divide positions by `factor` without the rest, so neighbours fall on one position."""
        return positions // factor


@rotary.mistakes_in(Rotary.placed, costs=(TURNED, ANYWHERE))
class RotaryPlaced:
    @called("positions ignored")
    @costs(ANYWHERE)
    def ignored(self, positions, x):
        """Your result does not depend on `positions`. It turns by 0, 1, 2, …, where it should take the
        positions that are given."""
        return torch.arange(x.shape[2]).double()[..., None].expand(*positions.shape, 1)

    @called("positions from 1")
    @costs(TURNED)
    def from_one(self, positions, x):
        """You add 1 to every position. Position 0 turns nothing."""
        return positions.double()[..., None] + 1

    @called("positions of the first sentence for all")
    @costs(ANYWHERE)
    def of_the_first(self, positions, x):
        """All your sentences get the positions of the first one. With (B, T), each row belongs to a
        sentence."""
        same = positions[:1].expand_as(positions) if positions.dim() == 2 else positions
        return same.double()[..., None]


@rotary.mistakes_in(Rotary.heads, costs=ANYWHERE)
class RotaryHeads:
    @called("batch axis taken for heads")
    def batch_for_heads(self, angles, positions, x):
        """Your (B, T) positions meet the axis of the heads, because the angles have no axis for heads. An
        axis of length 1 belongs after the batch."""
        return angles

    @called("positions along the heads")
    @costs(TURNED)
    def along_heads(self, angles, positions, x):
        """Your angle grows from head to head instead of from word to word."""
        if positions.dim() == 2:
            return angles[:, None]
        return angles[torch.arange(x.shape[1]) % len(angles)][:, None]


@rotary.mistakes_in(Rotary.tables, costs=TURNED)
class RotaryTables:
    @called("sine and cosine exchanged")
    def exchanged(self, angles):
        """Sine and cosine are exchanged, so that position 0 does turn."""
        return angles.sin(), angles.cos()

    @called("turned the other way")
    def other_way(self, angles):
        """You turn the other way round, because the minus stands before the other sine."""
        return angles.cos(), -angles.sin()


@rotary.mistakes_in(Rotary.pairs, costs=TURNED)
class RotaryPairs:
    @called("pairs taken from the two halves")
    def halves_and_neighbours(self, x):
        """You take feature k and feature k + d_k / 2 as a pair, and put the results side by side. Neighbours,
        2k and 2k + 1, belong together."""
        half = x.shape[-1] // 2
        return x[..., :half], x[..., half:]


@rotary.mistakes_in(Rotary.joined, costs=TURNED)
class RotaryJoined:
    @called("not turned back into pairs")
    def not_pairs(self, first, second):
        """Your result holds all first features and then all second ones. Each pair goes back to the two
        places from which it came, so first and second are stacked and not concatenated."""
        return torch.cat([first, second], dim=-1)


@rotary.mistakes_in(Rotary.turn, costs=TURNED)
class RotaryTurn:
    @called("second feature from the new first")
    def from_the_new(self, first, second, cos, sin):
        """The second feature of each pair is computed from the first one after it was turned. Both come from
        the old pair."""
        new = first * cos - second * sin
        return new, new * sin + second * cos

    @called("added instead of turned")
    @variants("cosine_first", (True, False))
    def added(self, first, second, cos, sin, cosine_first):
        """You add sine and cosine to the features. They turn the pair, as a rotation does."""
        return (first + cos, second + sin) if cosine_first else (first + sin, second + cos)

    @called("scaled instead of turned")
    def scaled(self, first, second, cos, sin):
        """You multiply one feature by the cosine and the other by the sine, and the pair does not mix. In a
        rotation each new feature is made of both old ones."""
        return first * cos, second * sin

    @called("reflected instead of turned")
    @variants("way", (0, 1))
    def reflected(self, first, second, cos, sin, way):
        """A sign is wrong, so pairs are reflected or stretched instead of turned. The one minus stands
        before the sine in the first line."""
        if way:
            return first * cos + second * sin, first * sin + second * cos
        return first * cos - second * sin, first * sin - second * cos


@rotary.mistake("factor on the base", costs=ANYWHERE)
class FactorOnTheBase(Rotary):
    """Your `factor` multiplies the base. It divides the positions, for all pairs alike."""

    def pressed(self, positions, factor):
        return positions

    def base(self, base, factor):
        return base * factor


@rotary.mistake("exponent over the features of all heads", costs=TURNED)
class WidthOfAllHeads(Rotary):
    """Your exponents are 2k over the features of all heads together. They are 2k / d_k, where d_k is the width
    of one head."""

    def base(self, base, factor):
        return base ** (1 / self.number_of_heads)

    def answer(self, x, positions, base=10000.0, factor=1.0):
        self.number_of_heads = x.shape[1]
        return super().answer(x, positions, base, factor)


@rotary.mistake("halves for neighbours", costs=TURNED)
class Halves(Rotary):
    """You pair feature k with feature k + d_k / 2, as many libraries do. Here neighbours, 2k and 2k + 1,
    form a pair, as in the paper."""

    def pairs(self, x):
        half = x.shape[-1] // 2
        return x[..., :half], x[..., half:]

    def joined(self, first, second):
        return torch.cat([first, second], dim=-1)


@rotary.mistake("the halves' angles on neighbours", costs=TURNED)
class HalvesAngles(Rotary):
    """Your angles are laid out for halves, all speeds and then all speeds again, and meet neighbours. Each
    speed comes twice in a row for them, as by `repeat_interleave`."""

    def answer(self, x, positions, base=10000.0, factor=1.0):
        self.check(x.shape[-1])
        angles = self.pressed(self.placed(positions, x), factor) / base ** self.exponents(
            x.shape[-1]
        )
        angles = self.heads(torch.cat([angles, angles], dim=-1), positions, x)
        cos, sin = (table.to(x.dtype) for table in self.tables(angles))
        other = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
        return x * cos + other * sin


@rotary.mistake("neighbours' angles on the halves", costs=TURNED)
class NeighboursAngles(Rotary):
    """Your angles are laid out for neighbours, each speed twice in a row, and the partner of a feature comes
    from the other half. Features 2k and 2k + 1 are partners, so the partner stands next to its feature."""

    def answer(self, x, positions, base=10000.0, factor=1.0):
        self.check(x.shape[-1])
        angles = self.pressed(self.placed(positions, x), factor) / base ** self.exponents(
            x.shape[-1]
        )
        angles = self.heads(angles.repeat_interleave(2, dim=-1), positions, x)
        cos, sin = (table.to(x.dtype) for table in self.tables(angles))
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-second, first], dim=-1) * sin


@rotary.mistake("float32 always", costs=ROTARY_MANNERS)
class AlwaysSingle(Rotary):
    """Your result is float32 whatever x is. A float64 input gives a float64 result."""

    def answer(self, x, positions, base=10000.0, factor=1.0):
        return super().answer(x, positions, base, factor).float()
