"""Lecture 3's price lists at five widths, with the scale and without, from two initialisations.

    python sources/recorded/price_list.py

prints the table that lecture 3 shows. A line is a setting at the learning rate that gave it the best mean
of five seeds, with the accuracy of each seed: the mean over the last 30 steps of a training, where every
batch is new. It takes about ten minutes on one core. At d_k = 4 the trainings are so sensitive that rounding alone,
as on another processor, can change an accuracy by 0.2.

- "nn.Linear" is PyTorch's initialisation, of variance 1/(3 d_model);
- "unit variance" multiplies it by √3, so that entries of queries and keys have variance 1.

All widths are trained with SGD for 300 steps; three unscaled models also with Adam,
and with SGD for four times as long, at the learning rate that was best before.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NUM_GOODS, NUM_PRICES, WIDTH, SEEDS = 32, 8, 32, range(5)
RATES = {"SGD": (0.03, 0.1, 0.3, 1.0, 3.0), "Adam": (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03)}

_generator = torch.Generator().manual_seed(3)
GERMAN = torch.randn(NUM_GOODS, WIDTH, generator=_generator)
ENGLISH = torch.randn(NUM_GOODS, WIDTH, generator=_generator)
PRICE_VECTORS = torch.randn(NUM_PRICES, WIDTH, generator=_generator)


class Setting(NamedTuple):
    """What is trained, and for how long."""

    optimizer: str
    start: str  # "nn.Linear" or "unit variance"
    scaled: bool
    d_k: int
    steps: int


class PriceList(nn.Module):
    """Lecture 3's model; the scores are divided by `divisor`."""

    def __init__(self, d_k: int, divisor: float) -> None:
        super().__init__()
        self.w_q = nn.Linear(WIDTH, d_k, bias=False)
        self.w_k = nn.Linear(WIDTH, d_k, bias=False)
        self.w_v = nn.Linear(WIDTH, WIDTH, bias=False)
        self.w_o = nn.Linear(WIDTH, NUM_PRICES, bias=False)
        self.divisor = divisor

    def forward(self, prices: Tensor) -> Tensor:
        """prices (lists, goods) -> logits (lists, goods, prices)."""
        query, key = self.w_q(GERMAN), self.w_k(ENGLISH)
        weights = (query @ key.T / self.divisor).softmax(dim=-1)
        return self.w_o(weights @ self.w_v(PRICE_VECTORS[prices]))


def accuracy(setting: Setting, rate: float, seed: int) -> float:
    """The share of right prices in the last 30 steps."""
    torch.manual_seed(seed)
    model = PriceList(setting.d_k, math.sqrt(setting.d_k) if setting.scaled else 1.0)
    if setting.start == "unit variance":
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(math.sqrt(3))
    optimizer = getattr(torch.optim, setting.optimizer)(model.parameters(), lr=rate)
    right = []
    for _ in range(setting.steps):
        prices = torch.randint(NUM_PRICES, (16, NUM_GOODS))
        logits = model(prices)
        loss = F.cross_entropy(logits.flatten(0, 1), prices.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right.append((logits.argmax(dim=-1) == prices).float().mean().item())
    return sum(right[-30:]) / 30


def settings() -> Iterator[Setting]:
    """All widths with SGD; what the unscaled models had not learned with Adam too, and for longer."""
    for start in ("nn.Linear", "unit variance"):
        for scaled in (True, False):
            for d_k in (4, 16, 64, 256, 1024):
                yield Setting("SGD", start, scaled, d_k, 300)
    for start, d_k in (("nn.Linear", 256), ("unit variance", 64), ("unit variance", 256)):
        yield Setting("Adam", start, False, d_k, 300)
        yield Setting("SGD", start, False, d_k, 1200)


def line(setting: Setting, rates: tuple[float, ...]) -> tuple[str, float]:
    """The setting at the best of these learning rates, and that rate."""
    by_rate = {rate: [accuracy(setting, rate, seed) for seed in SEEDS] for rate in rates}
    rate = max(by_rate, key=lambda rate: sum(by_rate[rate]))
    name = f"{setting.optimizer:<5} {setting.start:<14} {'yes' if setting.scaled else 'no':<6}"
    shares = "".join(f"  {share:.2f}" for share in by_rate[rate])
    return f"{name} {setting.d_k:5d} {setting.steps:6d} {rate:6}{shares}", rate


def lines() -> Iterator[str]:
    """All settings; a longer training takes the learning rate that was best for the short one."""
    best = {}
    for one in settings():
        short = one._replace(steps=300)
        text, best[one] = line(one, (best[short],) if short in best else RATES[one.optimizer])
        yield text


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("opt.  initialisation scaled   d_k  steps   rate  accuracy of five seeds")
    for one in lines():
        print(one, flush=True)
