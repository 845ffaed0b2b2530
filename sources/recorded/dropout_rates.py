"""Three dropout rates on a task that is easy to overfit, for lecture 7.

    python sources/recorded/dropout_rates.py

prints one line for each rate and seed: loss and accuracy on the test set after 200 steps, and at the step
where the validation loss was smallest. It takes about a minute of one core.

A sequence holds eleven letters of an alphabet of twenty, and its label says whether most of them are among
the first ten. A model of two layers gets 200 sequences to train on, 1000 for validation and 1000 for the
test. 15 % of all labels are flipped, so nobody can be right more often than 85 % of the time. The loss is
measured after every 40 steps.

Shapes: B batch, T = 11 letters, D = 32.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.evaluation import evaluating
from course_utils.layers import TransformerLayer
from course_utils.positional import PositionalEncoding

SEEDS = range(10)
RATES = (0.0, 0.3, 0.7)
NOISE = 0.15  # the share of labels that are flipped
LETTERS, LENGTH, WIDTH = 20, 11, 32
STEPS, EVERY = 200, 40


def votes(size: int) -> tuple[Tensor, Tensor]:
    """Sequences (size, T) and their labels (size,), a share of which is flipped."""
    ids = torch.randint(0, LETTERS, (size, LENGTH))
    labels = ((ids < LETTERS // 2).sum(dim=-1) > LENGTH // 2).long()
    return ids, torch.where(torch.rand(size) < NOISE, 1 - labels, labels)


class Voter(nn.Module):
    """Two transformer layers, the mean over the letters, two classes."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(LETTERS, WIDTH)
        self.positions = PositionalEncoding(WIDTH, dropout, max_len=LENGTH)
        self.layers = nn.Sequential(
            *[TransformerLayer(WIDTH, 4, 2 * WIDTH, dropout=dropout) for _ in range(2)]
        )
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, 2) of letters (B, T)."""
        x = self.layers(self.positions(self.embedding(ids)))  # (B, T, D)
        return self.head(x.mean(dim=1))


def measured(model: nn.Module, ids: Tensor, labels: Tensor) -> tuple[float, float]:
    """Loss and accuracy."""
    with evaluating(model):
        logits = model(ids)  # (B, 2)
        right = (logits.argmax(dim=-1) == labels).float().mean()
        return F.cross_entropy(logits, labels).item(), right.item()


def trained(dropout: float, seed: int) -> list[tuple[float, ...]]:
    """(validation loss, test loss, test accuracy) after every 40 steps."""
    torch.manual_seed(seed)  # the same data and the same initial weights, whatever the rate
    (ids, labels), validation, test = (votes(size) for size in (200, 1000, 1000))
    model = Voter(dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003, fused=True)
    found = []
    for step in range(1, STEPS + 1):
        picked = torch.randint(0, len(ids), (32,))
        optimizer.zero_grad()
        F.cross_entropy(model(ids[picked]), labels[picked]).backward()
        optimizer.step()
        if step % EVERY == 0:
            found.append((measured(model, *validation)[0], *measured(model, *test)))
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    for rate in RATES:
        for seed in SEEDS:
            found = trained(rate, seed)
            numbers = *found[-1][1:], *min(found)[1:]
            print(f"{rate} {seed:2d}", *[f"{x:.3f}" for x in numbers], flush=True)
