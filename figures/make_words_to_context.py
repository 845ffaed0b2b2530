"""Draw how one word's context vector is made: similarity, normalisation, weighted sum.

The numbers are those of lecture 2: eight words, seed 123, embedding width 16, query word "you".
"""

import torch
from style import (
    INK,
    LARGE_TEXT,
    MUTED,
    PLAIN_TINT,
    SMALL_TEXT,
    arrow,
    box,
    canvas,
    label,
    line,
    save,
    strip,
)

WORDS = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
WORD_IDS = [0, 7, 1, 2, 5, 6, 4, 3]
QUERY_INDEX = 1
LIMIT = 2.5  # nearly all entries of the embeddings lie between -2.5 and 2.5

LEFT, PITCH = 3.1, 1.3
COLUMNS = [LEFT + PITCH * j for j in range(len(WORDS))]
MIDDLE = (COLUMNS[0] + COLUMNS[-1]) / 2


def numbers():
    """The words' vectors, and the query word's scores, weights and context vector."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        x = torch.nn.Embedding(10, 16)(torch.tensor(WORD_IDS)).detach()  # (T, D)
    scores = x @ x[QUERY_INDEX]  # (T,)
    weights = scores.softmax(dim=0)  # (T,)
    return x.tolist(), scores.tolist(), weights.tolist(), (weights @ x).tolist()


def weight_text(weight):
    """Three digits, and no zero for a weight that is small but not zero."""
    return f"{weight:.3f}" if weight >= 0.0005 else "< 0.001"


def draw():
    """The diagram as a matplotlib Figure."""
    x, scores, weights, z = numbers()
    figure, ax = canvas(13.2, 8.6)
    i = QUERY_INDEX + 1

    for name, y in [
        ("Words", 8.2),
        ("1  Similarity", 5.55),
        ("2  Normalise", 3.95),
        ("3  Weighted sum", 1.75),
    ]:
        label(ax, 0.15, y, name, ha="left", weight="bold")
    label(ax, 0.15, 7.55, "vectors $x^{(j)}$", SMALL_TEXT, MUTED, ha="left")
    label(ax, 0.15, 7.2, "blank = 0, purple > 0", SMALL_TEXT, MUTED, ha="left")
    label(ax, 0.15, 5.15, rf"$\omega_{{{i}j}} = x^{{({i})}} \cdot x^{{(j)}}$", ha="left")
    label(ax, 0.15, 2.95, rf"weights $\alpha_{{{i}j}}$", SMALL_TEXT, MUTED, ha="left")
    label(ax, 0.15, 1.3, rf"$z^{{({i})}} = \sum_j\, \alpha_{{{i}j}}\, x^{{(j)}}$", ha="left")

    bus = 6.55
    for j, column in enumerate(COLUMNS):
        is_query = j == QUERY_INDEX
        if is_query:
            box(ax, column, 7.78, 1.24, 1.44, line=2.4, role="query")
        label(ax, column, 8.2, WORDS[j], SMALL_TEXT, weight="bold" if is_query else "normal")
        label(ax, column, 7.78, rf"$x^{{({j + 1})}}$", SMALL_TEXT)
        strip(ax, column, 7.4, 1.08, 0.36, x[j], LIMIT)
        arrow(ax, (column + 0.22, 7.05 if is_query else 7.2), (column + 0.22, 5.72))
        arrow(ax, (column - 0.22, bus), (column - 0.22, 5.72), line=2.4, role="query")
        box(ax, column, 5.4, 1.1, 0.6, f"{scores[j]:.2f}".replace("-", "−"), role="score")
        arrow(ax, (column, 5.1), (column, 4.27))
        arrow(ax, (column, 3.63), (column, 3.28))
        box(ax, column, 2.95, 1.1, 0.6, weight_text(weights[j]), size=SMALL_TEXT, role="weight")
        # A line as wide as the weight would be invisible for seven of eight words.
        arrow(ax, (column, 2.65), (column, 1.86), INK, 1.2 + 6 * weights[j])
        label(ax, column + 0.17, 2.27, rf"$\times\, x^{{({j + 1})}}$", SMALL_TEXT, ha="left")

    query_column = COLUMNS[QUERY_INDEX]
    for ends in (
        [(query_column - 0.22, 7.05), (query_column - 0.22, bus)],
        [(COLUMNS[0] - 0.22, bus), (COLUMNS[-1] - 0.22, bus)],
    ):
        line(ax, ends, width=2.4, role="query")
    label(ax, 0.15, 6.68, f"$x^{{({i})}}$ is compared with", SMALL_TEXT, ha="left", role="query")
    label(ax, 0.15, 6.36, "every word, itself too", SMALL_TEXT, ha="left", role="query")
    width = COLUMNS[-1] - COLUMNS[0] + 1.1
    box(ax, MIDDLE, 3.95, width, 0.62, "softmax over the eight words", PLAIN_TINT)
    box(ax, MIDDLE, 1.6, width, 0.5, "add up", PLAIN_TINT)
    arrow(ax, (MIDDLE, 1.35), (MIDDLE, 0.82), INK, 2.4)
    strip(ax, MIDDLE, 0.5, 3.2, 0.56, z, LIMIT)
    label(ax, MIDDLE - 1.8, 0.5, rf"$z^{{({i})}}$", LARGE_TEXT, ha="right")
    label(ax, MIDDLE + 1.8, 0.5, 'the context vector of "you"', ha="left")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
