"""Recurrent translators compared with the transformer of lecture 8, all of about the same size.

    python sources/recorded/compare_translators.py

prints the two tables that lecture 8 shows: what a sentence costs in training, by its length, with the
two rivals taking turns; and one line for each training. It takes about 25 minutes on one core.

Every model is trained as lecture 8 trains: the same batches of 96 sentences in the same order, AdamW, and
a learning rate that climbs to 0.005 in 100 steps and falls along a cosine. Only the model differs.

- "transformer": 1200 steps, and what lecture 8 trains with the same seed;
- "recurrent + attention": lecture 1's model with 64 units, as many steps;
- "recurrent + attention, … steps": the same, with as many steps as fit in the transformer's time,
  by what a sentence costs either of them;
- "recurrent, one vector": lecture 1's model without attention, as many steps;
- "… of 3–15": trained on sentences of at most 15 German tokens only.
"""

import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.rnn import Seq2Seq, translate
from course_utils.transformer import Transformer, greedy_decode_cached
from lecture_kit import data

SEEDS = (1, 2, 3)
STEPS = 1200  # of every model, but those which are held to equal time
BATCH_SIZE = 96
PEAK = 5e-3  # the highest learning rate
SHORT = 15  # German tokens, for those that are trained on short sentences only
LENGTHS = (8, 16, 32, 64, 128)

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


def rate(step: int, steps: int, warm_up: int = 100) -> float:
    """Linear warm-up, then a cosine down to zero. Steps count from 1."""
    progress = max(0, step - warm_up) / (steps - warm_up)
    return PEAK * min(1, step / warm_up) * (1 + math.cos(math.pi * progress)) / 2


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


def trained(kind: Kind, corpus: Corpus, pairs: list[data.Pair], steps: int, seed: int):
    """A model after `steps` steps."""
    torch.manual_seed(seed)
    model = kind.make(*corpus.sizes)
    optimizer = optimizer_for(model)
    german, english = corpus.vocabularies
    stream = data.batches(pairs, german, english, batch_size=BATCH_SIZE, seed=seed)
    for step, batch in enumerate(islice(stream, steps), start=1):
        optimizer.param_groups[0]["lr"] = rate(step, steps)
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


def measured(
    name: str, title: str, pairs: list[data.Pair], steps: int, seed: int, corpus: Corpus
) -> str:
    """Train one model: its line of the table."""
    kind = KINDS[name]
    model = trained(kind, corpus, pairs, steps, seed)
    size = sum(parameter.numel() for parameter in model.parameters())
    shares = "".join(f"{share:6.3f}" for share in shares_right(kind, model, corpus))
    line = f"{title:<34}{seed:5d}{size:7d}{shares}"
    sys.stderr.write(line + "\n")  # so that one sees it go on
    return line


def compare(corpus: Corpus, ratio: float) -> None:
    """Train every model with every seed, and print a line for each, model by model.

    `ratio` is what a sentence costs the recurrent model, as a multiple of the transformer's cost.
    """
    lines = defaultdict(list)
    fitting = round(STEPS / ratio)
    for seed in SEEDS:
        for name, title, pairs, steps in (
            ("transformer", "transformer", corpus.train, STEPS),
            ("recurrent + attention", "recurrent + attention", corpus.train, STEPS),
            (
                "recurrent + attention",
                f"recurrent + attention, {fitting} steps",
                corpus.train,
                fitting,
            ),
            ("recurrent, one vector", "recurrent, one vector", corpus.train, STEPS),
            ("transformer", f"transformer of 3–{SHORT}", corpus.short, STEPS),
            ("recurrent + attention", f"recurrent + attention of 3–{SHORT}", corpus.short, STEPS),
        ):
            lines[title].append(measured(name, title, pairs, steps, seed, corpus))
    groups = "".join(f"{f'{low}–{high}':>6}" for low, high in data.LENGTH_BUCKETS)
    print(f"{'model':<34} seed   size   all{groups}")
    print(*chain(*lines.values()), sep="\n")


RIVALS = ("transformer", "recurrent + attention")


def by_turns(corpus: Corpus, batches: Iterable[data.Batch]) -> list[float]:
    """Milliseconds a sentence for each of the two rivals, which train on each batch in turn.

    A machine that is busy with something else slows both down alike.
    """
    torch.manual_seed(0)
    models = {name: KINDS[name].make(*corpus.sizes) for name in RIVALS}
    optimizers = {name: optimizer_for(model) for name, model in models.items()}
    taken, seen = dict.fromkeys(RIVALS, 0.0), 0
    for batch in batches:
        seen += len(batch.source)
        for name in RIVALS:
            start = time.process_time()
            one_step(KINDS[name], models[name], optimizers[name], batch)
            taken[name] += 1000 * (time.process_time() - start)
    return [taken[name] / seen for name in RIVALS]


def batches_of_length(corpus: Corpus, length: int, sentences: int, steps: int) -> list[data.Batch]:
    """Batches of random words, all sentences of one length in both languages."""
    generator = torch.Generator().manual_seed(length)
    low, high = len(data.SPECIALS), min(corpus.sizes)
    ids = torch.randint(low, high, (steps, 2, sentences, length), generator=generator)
    return [data.Batch(one[0], F.pad(one[1], (1, 0), value=data.BOS_ID)) for one in ids]


def compare_seconds(corpus: Corpus) -> float:
    """Print what a sentence costs in training: in the corpus, and by the sentence's length.

    Returns what it costs the recurrent model in the corpus, as a multiple of the transformer's cost.
    """
    german, english = corpus.vocabularies
    stream = data.batches(corpus.train, german, english, BATCH_SIZE, seed=1)
    columns = [by_turns(corpus, islice(stream, 120))]
    for length in LENGTHS:
        columns.append(by_turns(corpus, batches_of_length(corpus, length, sentences=16, steps=12)))
    titles = "".join(f"{length:7d}" for length in LENGTHS)
    print(f"{'ms a sentence':<22} corpus{titles}")
    for name, row in zip(RIVALS, zip(*columns, strict=True), strict=True):
        print(f"{name:<22}" + "".join(f"{value:7.2f}" for value in row), flush=True)
    return columns[0][1] / columns[0][0]


if __name__ == "__main__":
    torch.set_num_threads(1)  # so that processor time is training time
    everything = Corpus()
    compare(everything, ratio=compare_seconds(everything))
