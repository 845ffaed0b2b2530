"""Recurrent translators compared with the transformer of lecture 8, all of about the same size.

    python sources/recorded/compare_translators.py --workers 16
    python sources/recorded/compare_translators.py --workers 2 --other-rates

prints one line for each training. Each takes about half an hour of one core.

Every model is trained as lecture 8 trains: the same batches of 96 sentences in the same order, AdamW, and
a learning rate that climbs to 0.005 in 100 steps and falls along a cosine. Only the model and the
budget of steps differ.

- "transformer, 1200 steps": what lecture 8 trains with the same seed; and with smaller budgets;
- "recurrent + attention, … steps": lecture 1's model with 64 units, with the same budgets;
- "recurrent, one vector": lecture 1's model without attention;
- "… of 3–15": trained on sentences of at most 15 German tokens only;
- "…, 300, 0.01" (with --other-rates): with another highest learning rate.

What a step costs either of them is measured by `time_translators.py`.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice, product
from multiprocessing import get_context

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.rnn import Seq2Seq, translate
from course_utils.transformer import Transformer, greedy_decode_cached
from lecture_kit import data

SEEDS = (1, 2, 3, 4, 5)
STEPS = 1200  # of every model, but those that are given less
BUDGETS = (300, STEPS)
BATCH_SIZE = 96
PEAK = 5e-3  # the highest learning rate
SHORT = 15  # German tokens, for those that are trained on short sentences only

Logits = Callable[[nn.Module, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Kind:
    """How one kind of model is made and asked.

    Attributes:
        make: a fresh model, for numbers of words in the two languages.
        logits: (model, source (B, S), target (B, T)) → (B, T, V).
        write: (model, source (B, S)) → ids (B, L), greedily.
    """

    make: Callable[[int, int], nn.Module]
    logits: Logits
    write: Callable[[nn.Module, Tensor], Tensor]


def rate(step: int, steps: int, peak: float = PEAK, warm_up: int = 100) -> float:
    """Linear warm-up, then a cosine down to zero. Steps count from 1."""
    progress = max(0, step - warm_up) / (steps - warm_up)
    return peak * min(1, step / warm_up) * (1 + math.cos(math.pi * progress)) / 2


def optimizer_for(model: nn.Module) -> torch.optim.Optimizer:
    """The same for every model; the learning rate is set step by step."""
    return torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1
    )


ENDS = {"bos_id": data.BOS_ID, "eos_id": data.EOS_ID, "max_len": 40}


def recurrent(attention_dim: int | None) -> Kind:
    """Lecture 1's model with 64 units and embeddings of 64."""
    return Kind(
        make=lambda german, english: Seq2Seq(german, english, 64, 64, attention_dim),
        logits=lambda model, source, target: model(source, target)[0],
        write=lambda model, source: translate(model, source, **ENDS)[0],
    )


KINDS = {
    "transformer": Kind(
        make=lambda german, english: Transformer(german, english, 64, 4, 2, 128, dropout=0.0),
        logits=lambda model, source, target: model(source, target),
        write=lambda model, source: greedy_decode_cached(model, source, **ENDS),
    ),
    "recurrent + attention": recurrent(attention_dim=64),
    "recurrent, one vector": recurrent(attention_dim=None),
}


class Corpus:
    """The sentences and vocabularies of lecture 8."""

    def __init__(self) -> None:
        splits = data.splits(train=50_000, validation=1_000, test=2_500)
        self.vocabularies = data.vocabularies(splits.train)
        self.sizes = tuple(map(len, self.vocabularies))
        self.train, self.test = splits.train, splits.test
        self.short = [pair for pair in self.train if len(pair.source.split()) <= SHORT]


def one_step(kind: Kind, model: nn.Module, optimizer: torch.optim.Optimizer, batch: data.Batch):
    """One training step by teacher forcing."""
    logits = kind.logits(model, batch.source, batch.target[:, :-1])  # (B, T, V)
    loss = F.cross_entropy(
        logits.flatten(0, 1), batch.target[:, 1:].flatten(), ignore_index=data.PAD_ID
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def trained(
    kind: Kind, corpus: Corpus, pairs: list[data.Pair], steps: int, seed: int, peak: float = PEAK
) -> nn.Module:
    """A model after `steps` steps."""
    torch.manual_seed(seed)
    model = kind.make(*corpus.sizes)
    optimizer = optimizer_for(model)
    german, english = corpus.vocabularies
    stream = data.batches(pairs, german, english, batch_size=BATCH_SIZE, seed=seed)
    for step, batch in enumerate(islice(stream, steps), start=1):
        optimizer.param_groups[0]["lr"] = rate(step, steps, peak)
        one_step(kind, model, optimizer, batch)
    return model.eval()


def shares_right(kind: Kind, model: nn.Module, corpus: Corpus) -> Iterator[float]:
    """The share of test sentences right in every word: of all, then of each group of lengths."""
    hits: dict[tuple[int, int], list[bool]] = {bucket: [] for bucket in data.LENGTH_BUCKETS}
    pairs = sorted(corpus.test, key=lambda pair: len(pair.source.split()))
    for start in range(0, len(pairs), 100):
        part = pairs[start : start + 100]
        ids = kind.write(model, data.collate(part, *corpus.vocabularies).source)
        for pair, row in zip(part, ids, strict=True):
            right = corpus.vocabularies[1].decode(row) == pair.target
            hits[data.length_bucket(pair)].append(right)
    yield sum(map(sum, hits.values())) / len(pairs)
    for group in hits.values():
        yield sum(group) / len(group)


@dataclass(frozen=True)
class Run:
    """One training: a kind of model, the title of its line, and how it is trained."""

    kind: str
    title: str
    seed: int
    steps: int = STEPS
    peak: float = PEAK
    short: bool = False


def plan() -> Iterator[Run]:
    """The trainings of lecture 8's comparison."""
    for name in ("transformer", "recurrent + attention"):
        for steps, seed in product(BUDGETS, SEEDS):
            yield Run(name, f"{name}, {steps} steps", seed, steps)
        for seed in SEEDS:
            yield Run(name, f"{name} of 3–{SHORT}", seed, short=True)
    for seed in SEEDS:
        yield Run("recurrent, one vector", "recurrent, one vector", seed)


def other_rates() -> Iterator[Run]:
    """The two rivals with half and with twice the highest rate, and a short run with four times."""
    for name in ("transformer", "recurrent + attention"):
        for steps, peak, seed in product(BUDGETS, (PEAK / 2, 2 * PEAK), SEEDS[:3]):
            yield Run(name, f"{name}, {steps}, {peak}", seed, steps, peak)
        for seed in SEEDS[:3]:
            yield Run(name, f"{name}, {BUDGETS[0]}, {4 * PEAK}", seed, BUDGETS[0], 4 * PEAK)


def line_of(run: Run) -> str:
    """Train one model: its line of the table."""
    torch.set_num_threads(1)
    kind = KINDS[run.kind]
    pairs = CORPUS.short if run.short else CORPUS.train
    model = trained(kind, CORPUS, pairs, run.steps, run.seed, run.peak)
    size = sum(parameter.numel() for parameter in model.parameters())
    shares = "".join(f"{share:6.3f}" for share in shares_right(kind, model, CORPUS))
    line = f"{run.title:<34}{run.seed:5d}{size:7d}{shares}"
    sys.stderr.write(line + "\n")  # so that one sees it go on
    return line


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--other-rates", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    CORPUS = Corpus()  # once: the workers inherit it
    runs = list(other_rates() if chosen.other_rates else plan())
    with ProcessPoolExecutor(chosen.workers, mp_context=get_context("fork")) as pool:
        waiting = {run: pool.submit(line_of, run) for run in sorted(runs, key=lambda r: -r.steps)}
        groups = "".join(f"{f'{low}–{high}':>6}" for low, high in data.LENGTH_BUCKETS)
        print(f"{'model':<34} seed   size   all{groups}")
        for run in runs:
            print(waiting[run].result(), flush=True)
