"""Answers to `apply_rotary`."""

import math

import torch

from assignments.a12_modern_block.answers.bank import BANK
from assignments.a12_modern_block.answers.rms_norm import of_eight
from assignments.a12_modern_block.rubric import ANYWHERE, ROTARY_MANNERS, TURNED, rotary
from assignments.common.slow import turned_by_numbers, turned_by_products
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers


def matrix_of(angle, dtype):
    """What turns a pair by an angle: (2, 2)."""
    cos, sin = math.cos(angle), math.sin(angle)
    return torch.tensor([[cos, -sin], [sin, cos]], dtype=dtype)


ANSWERS = Answers(
    __name__, BANK, rotary,
    """
    def apply_rotary(x, positions, base=10000.0, factor=1.0):
        d_k = x.shape[-1]
        if d_k % 2:
            raise ValueError(f"d_k = {d_k} is odd")
        places = positions.double().unsqueeze(-1)  # (..., T, 1)
        pressed = places / factor
        exponents = torch.arange(0, d_k, 2).double() / d_k
        of_words = pressed / base**exponents  # (..., T, d_k / 2)
        angles = of_words.unsqueeze(1) if positions.dim() == 2 else of_words  # an axis for the heads
        tables = angles.cos(), angles.sin()
        cos, sin = (table.to(x.dtype) for table in tables)
        first, second = x[..., 0::2], x[..., 1::2]
        turned = first * cos - second * sin, first * sin + second * cos
        return torch.stack(turned, dim=-1).flatten(-2)
    """,
    math=math, torch=torch, kept={}, of_eight=of_eight, matrix_of=matrix_of,
    turned_by_numbers=turned_by_numbers, turned_by_products=turned_by_products,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("exponent k / d_k", "exponents = torch.arange(d_k // 2).double() / d_k", TURNED,
     "Your pair k turns by base^(k / d_k). The exponent is 2k / d_k, where k counts pairs.")
slip("exponent 4k / d_k", "exponents = 2 * torch.arange(0, d_k, 2).double() / d_k", TURNED,
     "Your pair k turns by base^(4k / d_k), as if k counted features and were doubled once more. The exponent is 2k / "
     "d_k, where k counts pairs.")
slip("powers of base multiplied", "exponents = -torch.arange(0, d_k, 2).double() / d_k", TURNED,
     "Your pairs turn faster from one to the next, because you multiply by base^(2k / d_k). The formula divides by it.")
slip("last pair at the base itself", "exponents = torch.linspace(0, 1, d_k // 2).double()", TURNED,
     "Your exponents run from 0 to 1, so the last pair turns by position / base. They are 2k / d_k, which stays below "
     "1.")
slip("all pairs at one speed", "exponents = torch.zeros(d_k // 2).double()", TURNED,
     "All your pairs turn at the same speed. Pair k is slower by base^(2k / d_k).")
slip("pairs in reverse", "exponents = torch.arange(0, d_k, 2).double().flip(0) / d_k", TURNED,
     "Your last pair turns fastest. The first one does, at the angle of the position itself.")
slip("pairs counted from 1", "exponents = torch.arange(2, d_k + 2, 2).double() / d_k", TURNED,
     "Your first pair is slowed down already, because you count pairs from 1. Pair 0 turns by the position itself.")
slip("base ignored", "base = 10000.0", ANYWHERE,
     "Your `base` is always 10000. It is an argument.")
slip("factor ignored", "pressed = places", ANYWHERE,
     "Your `factor` is not used. It divides the positions.")
slip("factor multiplied", "pressed = places * factor", ANYWHERE,
     "You multiply positions by `factor`. It presses them together, so it divides.")
slip("factor divides twice", "pressed = places / factor**2", ANYWHERE,
     "Positions are divided by `factor` twice. Once is what the formula says.")
slip("whole-number division by factor", "pressed = places // factor", ANYWHERE,
     "You divide positions by `factor` without the rest, so neighbours fall on one position.")
slip("positions ignored", "places = torch.arange(x.shape[2]).double().expand(positions.shape).unsqueeze(-1)", ANYWHERE,
     "Your result does not depend on `positions`. It turns by 0, 1, 2, …, where it should take the positions that are "
     "given.",
     published=("pytorch/executorch#2010",
                "The table is cut from its beginning, although with a cache the words begin further on."))
slip("positions from 1", "places = positions.double().unsqueeze(-1) + 1", TURNED,
     "You add 1 to every position. Position 0 turns nothing.")
slip("positions of the first sentence for all", """
    same = positions[:1].expand_as(positions) if positions.dim() == 2 else positions
    places = same.double().unsqueeze(-1)
""", ANYWHERE,
     "All your sentences get the positions of the first one. With (B, T), each row belongs to a sentence.")
slip("batch axis taken for heads", "angles = of_words", ANYWHERE,
     "Your (B, T) positions meet the axis of the heads, because the angles have no axis for heads. An axis of length 1 "
     "belongs after the batch.")
slip("positions along the heads", """
    rows = of_words if positions.dim() == 2 else of_words[torch.arange(x.shape[1]) % len(of_words)]
    angles = rows.unsqueeze(1)
""", TURNED,
     "Your angle grows from head to head instead of from word to word.")
slip("sine and cosine exchanged", "tables = angles.sin(), angles.cos()", TURNED,
     "Sine and cosine are exchanged, so that position 0 does turn.")
slip("turned the other way", "tables = angles.cos(), -angles.sin()", TURNED,
     "You turn the other way round, because the minus stands before the other sine.")
slip("pairs taken from the two halves", "first, second = x.chunk(2, dim=-1)", TURNED,
     "You take feature k and feature k + d_k / 2 as a pair, and put the results side by side. Neighbours, 2k and 2k + "
     "1, belong together.")
slip("not turned back into pairs", "return torch.cat(turned, dim=-1)", TURNED,
     "Your result holds all first features and then all second ones. Each pair goes back to the two places from which "
     "it came, so first and second are stacked and not concatenated.")
slip("second feature from the new first", """
    new = first * cos - second * sin
    turned = new, new * sin + second * cos
""", TURNED,
     "The second feature of each pair is computed from the first one after it was turned. Both come from the old pair.")
slip("added instead of turned", "turned = {turned}", TURNED,
     "You add sine and cosine to the features. They turn the pair, as a rotation does.",
     each={"turned": ("(first + cos, second + sin)", "(first + sin, second + cos)")})
slip("scaled instead of turned", "turned = first * cos, second * sin", TURNED,
     "You multiply one feature by the cosine and the other by the sine, and the pair does not mix. In a rotation each "
     "new feature is made of both old ones.")
slip("reflected instead of turned", "turned = {turned}", TURNED,
     "A sign is wrong, so pairs are reflected or stretched instead of turned. The one minus stands before the sine in "
     "the first line.",
     each={"turned": ("(first * cos - second * sin, first * sin - second * cos)",
                      "(first * cos + second * sin, first * sin + second * cos)")})
slip("factor on the base", "base = base * factor; pressed = places", ANYWHERE,
     "Your `factor` multiplies the base. It divides the positions, for all pairs alike.")
slip("exponent over the features of all heads", "base = base ** (1 / x.shape[1])", TURNED,
     "Your exponents are 2k over the features of all heads together. They are 2k / d_k, where d_k is the width of one "
     "head.")
slip("halves for neighbours", "first, second = x.chunk(2, dim=-1); return torch.cat(turned, dim=-1)", TURNED,
     "You pair feature k with feature k + d_k / 2, as many libraries do. Here neighbours, 2k and 2k + 1, form a pair, "
     "as in the paper.",
     published=("karpathy/nanochat#264",
                "Feature k is paired with feature k + d_k / 2, and the rows of W_q and W_k stay in their order."))
slip("the halves' angles on neighbours", """
    wide = torch.cat([of_words, of_words], dim=-1)
    angles = wide.unsqueeze(1) if positions.dim() == 2 else wide
    partner = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    turned = x * cos + partner * sin
    return turned
""", TURNED,
     "Your angles are laid out for halves, all speeds and then all speeds again, and meet neighbours. Each speed comes "
     "twice in a row for them, as by `repeat_interleave`.")
slip("neighbours' angles on the halves", """
    wide = of_words.repeat_interleave(2, dim=-1)
    angles = wide.unsqueeze(1) if positions.dim() == 2 else wide
    first, second = x.chunk(2, dim=-1)
    turned = x * cos + torch.cat([-second, first], dim=-1) * sin
    return turned
""", TURNED,
     "Your angles are laid out for neighbours, each speed twice in a row, and the partner of a feature comes from the "
     "other half. Features 2k and 2k + 1 are partners, so the partner stands next to its feature.",
     published=("raiyanyahya/how-to-train-your-gpt#6",
                "Angles stand twice side by side, as for neighbours, but partners come from the other half."))
slip("float32 always", "return torch.stack(turned, dim=-1).flatten(-2).float()", ROTARY_MANNERS,
     "Your result is float32 whatever x is. A float64 input gives a float64 result.")

right = ANSWERS.right
right("rotary_by_complex_numbers", """
    speeds = torch.tensor([base ** (-2 * k / d_k) for k in range(d_k // 2)], dtype=torch.float64)
    of_words = pressed * speeds
    turning = torch.polar(torch.ones_like(angles), angles)
    if x.dtype == torch.float32:
        turning = turning.to(torch.complex64)
    pairs = torch.view_as_complex(x.contiguous().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turning).flatten(-2)
""")
# tables as wide as x, and a partner for each feature
right("rotary_by_repeated_tables", """
    partner = torch.stack((-second, first), -1).reshape(x.shape)
    return x * cos.repeat_interleave(2, dim=-1) + partner * sin.repeat_interleave(2, dim=-1)
""")
right("rotary_by_matrices", """
    rows = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    return (rows @ x.unflatten(-1, (-1, 2)).unsqueeze(-1)).squeeze(-1).flatten(-2)
""")
right("rotary_written_into_a_new_tensor", """
    out = torch.empty_like(x)
    out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return out
""")
# as other libraries do, with the features in another order before and after
right("rotary_by_halves_in_another_order", """
    order = torch.cat([torch.arange(0, d_k, 2), torch.arange(1, d_k, 2)])
    y = x[..., order]
    partner = torch.cat([-y[..., d_k // 2 :], y[..., : d_k // 2]], -1)
    halves = y * torch.cat([cos, cos], -1) + partner * torch.cat([sin, sin], -1)
    return halves[..., order.argsort()]
""")
right("rotary_in_float32", """
    places = positions.float().unsqueeze(-1)
    exponents = torch.arange(0, d_k, 2).float() / d_k
    of_words = pressed * (1.0 / base**exponents)
    angles = of_words[:, None, :, :] if positions.ndim == 2 else of_words
""")
# speeds as the exponential of a logarithm
right("rotary_by_the_exponential", """
    steps = torch.arange(0, d_k, 2, dtype=torch.float64)
    speeds = torch.exp(-steps / d_k * torch.log(torch.tensor(base, dtype=torch.float64)))
    angles = torch.einsum("...t,k->...tk", positions.double() / factor, speeds).unsqueeze(-3)
    first, second = x.unflatten(-1, (-1, 2)).unbind(-1)
""")
right("rotary_sentence_by_sentence", """
    rows = []
    for b in range(len(x)):
        c, s = (table[b, 0] if positions.dim() == 2 else table for table in (cos, sin))
        one, two = x[b, :, :, 0::2], x[b, :, :, 1::2]
        rows.append(torch.stack((one * c - two * s, two * c + one * s), -1).flatten(-2))
    return torch.stack(rows)
""")
# all pairs of a word at once, by a matrix that has a block for each of them
right("rotary_by_one_matrix_a_word", """
    B, _, T, _ = x.shape
    own = positions if positions.dim() == 2 else positions.repeat(B, 1)
    words = []
    for b in range(B):
        for t in range(T):
            angles = [float(own[b, t]) / factor / base ** (2 * k / d_k) for k in range(d_k // 2)]
            blocks = torch.block_diag(*(matrix_of(angle, x.dtype) for angle in angles))
            words.append(x[b, :, t] @ blocks.mT)
    return torch.stack(words).unflatten(0, (B, T)).movedim(1, 2)
""")
right("rotary_by_vmap", """
    def of_a_pair(pair, angle):
        cos, sin = angle.cos(), angle.sin()
        return torch.stack([pair[0] * cos - pair[1] * sin, pair[0] * sin + pair[1] * cos])

    each = of_a_pair
    for axes in ((0, 0), (0, 0), (0, None), (0, 0)):  # pairs, words, heads, sentences
        each = torch.vmap(each, in_dims=axes)
    own = of_words.to(x.dtype).expand(len(x), *of_words.shape[-2:])
    return each(x.unflatten(-1, (-1, 2)), own).flatten(-2)
""")
right("rotary_feature_by_feature", """
    features, done = x.unbind(-1), []
    places = (positions / factor).unsqueeze(-2)  # an axis for the heads, (1, T) or (B, 1, T)
    for k in range(d_k // 2):
        angle = (places / base ** (2 * k / d_k)).to(x.dtype)
        one, two = features[2 * k], features[2 * k + 1]
        done += [one * angle.cos() - two * angle.sin(), one * angle.sin() + two * angle.cos()]
    return torch.stack(done, dim=-1)
""")
right("turned_number_by_number", "return turned_by_numbers(x, positions, base, factor)", slow=LOOPS)
right("turned_by_matrices", "return turned_by_products(x, positions, base, factor)", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("the_last_feature_as_it_is", """
    d_k = x.shape[-1] // 2 * 2
    first, second = x[..., 0:d_k:2], x[..., 1:d_k:2]
    return torch.cat([torch.stack(turned, dim=-1).flatten(-2), x[..., d_k:]], dim=-1)
""", told="wrong where an error is asked for")
# the first tables for a shape, whatever the positions of the next call are
wrong("tables_kept_by_length", "cos, sin = kept.setdefault((x.shape, x.dtype), [one.to(x.dtype) for one in tables])")
wrong("tables_kept_by_the_shape_of_the_positions", """
    call = positions.shape, d_k, base, factor, x.dtype
    cos, sin = kept.setdefault(call, [one.to(x.dtype) for one in tables])
""", told="right in part")
wrong("looked_up_in_a_long_table", """
    long = torch.arange(8192).double().unsqueeze(-1) / factor / base**exponents
    of_words = long[positions]
""", told=("stops with IndexError", "wrong for far positions"))
wrong("by_single_complex_numbers", """
    single = angles.float()
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
    turning = torch.polar(torch.ones_like(single), single)
    return torch.view_as_real(pairs * turning).flatten(-2).type_as(x)
""", told=("rounded", "wrong in float64"))
wrong("halves_and_a_factor_the_wrong_way", """
    pressed = places * factor
    first, second = x.chunk(2, dim=-1)
    return torch.cat(turned, dim=-1)
""", named=("halves for neighbours", "factor multiplied"))
# takes x for (B, T, H, d_k), as LLaMA's own code does
wrong("words_before_heads", "angles = of_words.unsqueeze(-2)", told="stops with RuntimeError")
# with angles in float32, as most people have them
wrong("rolled_partners", """
    places = positions.unsqueeze(-1)
    exponents = torch.arange(0, d_k, 2) / d_k
    return x * cos.repeat_interleave(2, -1) + x.roll(1, -1) * sin.repeat_interleave(2, -1)
""", told="right in part")
wrong("rotary_for_eight_sentences", "x = of_eight(x)", told="right in part")
careless(ANSWERS, in_float32=None, a_hundred_words=None)  # the one has a name, and the second axis are heads
