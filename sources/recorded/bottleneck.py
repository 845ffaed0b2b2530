"""Lecture 1's two translators with more seeds, more steps, wider states and other learning rates.

    python sources/recorded/bottleneck.py                 prints the table that lecture 1 shows
    python sources/recorded/bottleneck.py "one vector"    prints these lines of it

Every line is one training. Its last six numbers are the shares of sentences translated right in every
word, of all and by German length. All lines take about half an hour on one core.

- "attention" and "one vector" are trained as in the lecture; seed 0 is what its cells train;
- "… longer": five times as many steps;
- "… 128 units": states of 128 instead of 28, half the learning rate, as many steps;
- "… rate …": three times the learning rate, or three tenths of it.

They are tested on the lecture's 2000 test sentences.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from compare_translators import Corpus, recurrent, shares_right
from torch import nn

from course_utils.rnn import Seq2Seq
from lecture_kit import data

BATCH = 64
TESTED = 2_000
RECURRENT = recurrent(attention_dim=None)  # how any of these models is asked: greedily


@dataclass(frozen=True)
class Run:
    """What is trained: with attention or with one vector, how wide, how long, from which seeds."""

    attends: bool
    steps: int
    units: int = 28
    rate: float = 0.01
    seeds: tuple[int, ...] = (0,)


RUNS = {
    "attention": Run(True, 1200, seeds=(0, 1, 2, 3, 4)),
    "one vector": Run(False, 2000, seeds=(0, 1, 2, 3, 4)),
    "attention, longer": Run(True, 6000),
    "one vector, longer": Run(False, 10_000, seeds=(0, 1, 2)),
    "attention, 128 units": Run(True, 1200, units=128, rate=0.005),
    "one vector, 128 units": Run(False, 2000, units=128, rate=0.005),
    "attention, rate 0.003": Run(True, 1200, rate=0.003),
    "one vector, rate 0.003": Run(False, 2000, rate=0.003),
    "attention, rate 0.03": Run(True, 1200, rate=0.03),
    "one vector, rate 0.03": Run(False, 2000, rate=0.03),
}


def trained(run: Run, corpus: Corpus, seed: int) -> nn.Module:
    """The model after lecture 1's training."""
    torch.manual_seed(seed)
    model = Seq2Seq(*corpus.sizes, 128, run.units, 64 if run.attends else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=run.rate, betas=(0.95, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, run.rate, run.steps, pct_start=0.1)
    german, english = corpus.vocabularies
    stream = data.batches(corpus.train, german, english, batch_size=BATCH, seed=seed)
    for source, target in islice(stream, run.steps):
        logits, _ = model(source, target[:, :-1])  # (B, T, V)
        loss = F.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=data.PAD_ID
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


def lines(name: str, corpus: Corpus) -> Iterator[str]:
    """The lines of one run: one for each seed."""
    run = RUNS[name]
    asked = SimpleNamespace(test=corpus.test[:TESTED], vocabularies=corpus.vocabularies)
    for seed in run.seeds:
        model = trained(run, corpus, seed)
        shares = "".join(f"{share:8.3f}" for share in shares_right(RECURRENT, model, asked))
        yield f"{name:<23}{seed:4d}{run.steps:7d}{shares}"


if __name__ == "__main__":
    torch.set_num_threads(1)  # as the lecture trains
    buckets = "".join(f"{f'{low}–{high}':>8}" for low, high in data.LENGTH_BUCKETS)
    print(f"{'model':<23}seed  steps{'all':>8}{buckets}", flush=True)
    sentences = Corpus()
    for wanted in sys.argv[1:] or RUNS:
        for line in lines(wanted, sentences):
            print(line, flush=True)
