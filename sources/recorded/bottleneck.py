"""Lecture 1's two translators with more seeds and with wider states.

    python sources/recorded/bottleneck.py                 prints the table that lecture 1 shows
    python sources/recorded/bottleneck.py "one vector"    prints these lines of it

Every line is one training. Its last five numbers are the shares of sentences translated right in every
word, by German length. Seconds are those of this process on one core, whatever else the machine does;
all lines take about 8 minutes.

- "attention" and "one vector" are trained as in the lecture; seed 0 is what its cells train;
- "… 128 units": states of 128 instead of 28, half the steps or less, half the learning rate.

They are tested on the lecture's 2000 test sentences.
"""

import sys
import time
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
    "attention": Run(True, 1200, seeds=(0, 1, 2)),
    "one vector": Run(False, 2000, seeds=(0, 1, 2)),
    "attention, 128 units": Run(True, 600, units=128, rate=0.005),
    "one vector, 128 units": Run(False, 900, units=128, rate=0.005),
}


def trained(run: Run, corpus: Corpus, seed: int) -> tuple[nn.Module, float]:
    """Lecture 1's training: the model, and the seconds that it took."""
    torch.manual_seed(seed)
    model = Seq2Seq(*corpus.sizes, 128, run.units, 64 if run.attends else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=run.rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, run.rate, run.steps, pct_start=0.1)
    german, english = corpus.vocabularies
    stream = data.batches(corpus.train, german, english, batch_size=BATCH, seed=seed)
    start = time.process_time()
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
    return model.eval(), time.process_time() - start


def lines(name: str, corpus: Corpus) -> Iterator[str]:
    """The lines of one run: one for each seed."""
    run = RUNS[name]
    asked = SimpleNamespace(test=corpus.test[:TESTED], vocabularies=corpus.vocabularies)
    for seed in run.seeds:
        model, seconds = trained(run, corpus, seed)
        shares = "".join(f"{share:8.3f}" for share in shares_right(RECURRENT, model, asked))
        yield f"{name:<23}{seed:4d}{run.steps:7d}{seconds:9.0f}{shares}"


if __name__ == "__main__":
    torch.set_num_threads(1)  # so that processor time is training time
    buckets = "".join(f"{f'{low}–{high}':>8}" for low, high in data.LENGTH_BUCKETS)
    print(f"{'model':<23}seed  steps  seconds{'all':>8}{buckets}", flush=True)
    sentences = Corpus()
    for wanted in sys.argv[1:] or RUNS:
        for line in lines(wanted, sentences):
            print(line, flush=True)
