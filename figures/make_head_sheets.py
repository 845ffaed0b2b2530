"""Draw the tensors of one multi-head attention as sheets: one for each sentence and head.

They are those of lecture 5, section 3: two sentences of seven tokens, width 20, four heads, seed 5.
"""

import math

import torch
from style import LARGE_TEXT, MUTED, SMALL_TEXT, arrow, canvas, label, save, strips

from course_utils import attention

HEADS = 4
CELL = 0.14
ACROSS, UP = 0.42, 0.36  # from a head's sheet to the next one behind it
SENTENCES = [4.15, 0.85]  # the bottom of the front sheets
# Of nearly all numbers in x, the queries, the weights, the contexts and the output.
LIMITS = [2.5, 2.5, 0.5, 1.2, 1.2]
# The left edges of x, of the three piles and of the output, and what leads from each to the next.
LEFTS = [0.85, 4.85, 8.0, 11.4, 14.65]
STEPS = ["$W_q$, split", "scores, softmax", "$\\times\\ V$", "merge, $W_o$"]


def inputs():
    """x (B, T, D) and the four maps, each (D, D)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return torch.randn(2, 7, 20), torch.randn(4, 20, 20) / math.sqrt(20)


def numbers():
    """x (B, T, D), query (B, H, T, d_k), weights (B, H, T, T), contexts and output."""
    x, (w_q, w_k, w_v, w_o) = inputs()
    query, key, value = (attention.split_heads(x @ w, HEADS) for w in (w_q, w_k, w_v))
    contexts, weights = attention.scaled_dot_product_attention(query, key, value)
    return x, query, weights, contexts, attention.merge_heads(contexts) @ w_o


def sheet(ax, left, bottom, rows, limit, depth=0):
    """A matrix whose lower left corner is here; a greater depth lies further behind."""
    width, height = len(rows[0]) * CELL, len(rows) * CELL
    middle = left + width / 2, bottom + height / 2
    strips(ax, *middle, width, height, rows, limit, zorder=3 - 1.1 * depth, thin=0.7)


def pile(ax, left, bottom, heads, limit):
    """One sheet for each head, the first in front, and its number at its corner."""
    for depth, rows in enumerate(heads):
        x, y = left + depth * ACROSS, bottom + depth * UP
        sheet(ax, x, y, rows, limit, depth)
        label(ax, x + 0.16, y + len(rows) * CELL + 0.23, f"{depth + 1}", SMALL_TEXT, MUTED)


def draw():
    """The diagram as a matplotlib Figure."""
    figure, ax = canvas(17.7, 7.9)
    tensors = numbers()
    names = ["$x$", "$Q$", "weights", "contexts", "output"]
    roles = ["", "query", "weight", "", ""]
    ends = []
    for left, tensor, name, role, limit in zip(LEFTS, tensors, names, roles, LIMITS, strict=True):
        in_heads = tensor.dim() == 4
        width = tensor.shape[-1] * CELL + (HEADS - 1) * ACROSS * in_heads
        middle = left + width / 2
        ends.append(left + width)
        label(ax, middle, 7.5, name, LARGE_TEXT, weight="bold", role=role)
        label(ax, middle, 7.02, f"({', '.join(map(str, tensor.shape))})", colour=MUTED)
        for number, (bottom, rows) in enumerate(zip(SENTENCES, tensor.tolist(), strict=True), 1):
            if in_heads:
                pile(ax, left, bottom, rows, limit)
            else:
                sheet(ax, left, bottom + 1.5 * UP, rows, limit)
                label(ax, middle, bottom + 1.5 * UP + 1.25, f"sentence {number}", SMALL_TEXT, MUTED)
        wide = ["$d_\\text{model} = 20$", "$d_k = 5$", "$T = 7$", "$d_k = 5$", ""]
        under = SENTENCES[1] - 0.3 + (0 if in_heads else 1.5 * UP)
        label(ax, left + tensor.shape[-1] * CELL / 2, under, wide[names.index(name)], SMALL_TEXT)
    label(ax, LEFTS[0] - 0.15, SENTENCES[1] + 1.5 * UP + 0.49, "$T$", SMALL_TEXT, ha="right")
    for end, left, step in zip(ends, LEFTS[1:], STEPS, strict=False):
        for bottom in SENTENCES:
            y = bottom + 1.5 * UP + 0.49
            arrow(ax, (end + 0.12, y), (left - 0.12, y), line=2.2)
        label(ax, (end + left) / 2, 3.7, step)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
