"""Lecture 5's readers of both neighbours, with other learning rates, longer training and more seeds.

    python sources/recorded/neighbour_heads.py

prints the table that lecture 5 shows: for each number of heads, learning rate and number of steps the
median, the smallest and the largest share of right answers, and in how many of the runs each head keeps to
one side and all sides are covered. It takes about a minute on one core.

- better, worse: right answers on the side that the model answers better, and on the other one;
- both: right answers on both sides at once;
- one side each: every head has more than 0.9 of its weight on one neighbour, and both are covered.
"""

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.attention import MultiHeadAttention

NUM_TOKENS, LENGTH, WIDTH = 10, 10, 32  # vocabulary, T, d_model
TRAININGS = [(0.01, 250), (0.01, 1000), (0.03, 250), (0.0033, 250)]  # learning rate, steps
PAGE, MORE = range(5), range(5, 25)  # the seeds of the lecture's page, and twenty others


class NeighbourReader(nn.Module):
    """Lecture 5's model: queries and keys are made from positions, values from tokens."""

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(NUM_TOKENS, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.attention = MultiHeadAttention(WIDTH, num_heads)
        self.readout = nn.Linear(WIDTH, 2 * NUM_TOKENS)

    def read(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Output (B, T, D) and weights (B, H, T, T); ids is (B, T)."""
        positions = self.positions.weight.expand(len(ids), -1, -1)
        return self.attention(positions, positions, self.tokens(ids))

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, T - 2, 2, tokens): the two ends are left out."""
        output, _ = self.read(ids)
        return self.readout(output)[:, 1:-1].unflatten(-1, (2, NUM_TOKENS))


def sample(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random sequences (count, T) and their neighbours (count, T - 2, 2): left, right."""
    ids = torch.randint(NUM_TOKENS, (count, LENGTH), generator=generator)
    return ids, torch.stack([ids[:, :-2], ids[:, 2:]], dim=-1)


def trained(num_heads: int, rate: float, steps: int, seed: int) -> NeighbourReader:
    """Lecture 5's training."""
    torch.manual_seed(seed)
    model = NeighbourReader(num_heads)
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    for _ in range(steps):
        ids, neighbours = sample(64, generator)
        loss = F.cross_entropy(model(ids).flatten(0, 2), neighbours.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


@torch.no_grad()
def shares(model: NeighbourReader) -> list[float]:
    """Right answers on 1000 new sequences: better side, worse side, both at once."""
    ids, neighbours = sample(1000, torch.Generator().manual_seed(999))
    right = model(ids).argmax(dim=-1) == neighbours  # (1000, T - 2, 2)
    left_right = right.float().mean(dim=(0, 1))
    return [*left_right.sort(descending=True).values.tolist(), right.all(-1).float().mean().item()]


@torch.no_grad()
def one_side_each(model: NeighbourReader) -> bool:
    """Whether every head keeps to one side, and both sides are covered."""
    weights = model.read(torch.zeros(1, LENGTH, dtype=torch.long))[1][0]  # (H, T, T)
    inner = torch.arange(1, LENGTH - 1)
    sides = [weights[:, inner, inner + step].mean(dim=1) for step in (-1, 1)]
    on_sides = torch.stack(sides, dim=1)  # (H, 2)
    return bool((on_sides.amax(dim=1) > 0.9).all() and (on_sides.amax(dim=0) > 0.9).all())


def line(num_heads: int, rate: float, steps: int, seeds: Sequence[int]) -> str:
    """What the runs of one training have in common."""
    models = [trained(num_heads, rate, steps, seed) for seed in seeds]
    rows = torch.tensor([shares(model) for model in models])  # (seeds, 3)
    numbers = "".join(
        f"   {column.median():.2f} {column.min():.2f} {column.max():.2f}" for column in rows.T
    )
    kept = sum(one_side_each(model) for model in models)
    return (
        f"{num_heads:5d}  {rate:.4f}{steps:6d}{len(seeds):6d}{numbers}   {kept:2d} of {len(seeds)}"
    )


def lines() -> Iterator[str]:
    """A line for each number of heads and training, and one for the further seeds of two heads."""
    for num_heads in (1, 2):
        for rate, steps in TRAININGS:
            yield line(num_heads, rate, steps, PAGE)
    yield line(2, *TRAININGS[0], MORE)


if __name__ == "__main__":
    torch.set_num_threads(1)
    heads = "".join(f"   {head:<14}" for head in ("better", "worse", "both"))
    print(f"heads    rate steps seeds{heads}   one side each")
    for printed in lines():
        print(printed, flush=True)
