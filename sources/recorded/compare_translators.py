"""Recurrent translators beside the transformer of lecture 8, all of about the same size.

    python sources/recorded/compare_translators.py

prints the two tables that lecture 8 shows: what a sentence costs in training, by its length, with the
two rivals taking turns; and one line for each training. It takes about 25 minutes on one core. Seconds
are those of the processor, which still differ by a quarter when others use the machine as well.

Every model has the training of its lecture, with a highest learning rate of 0.005: AdamW for the
transformer, Adam with gradients cut at length 1 for the recurrent models.

- "transformer": 1200 steps of 96 sentences, and what lecture 8 trains with the same seed;
- "attention": lecture 1's model with 64 units, as many sentences in batches of 64;
- "attention, equal time": the same, with as many steps as fit in the transformer's time,
  by what a sentence costs either of them;
- "one vector": lecture 1's model without attention, as many sentences;
- "… of 3–15": trained on sentences of at most 15 German tokens only.
"""

import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils import data
from course_utils.rnn import Seq2Seq, translate
from course_utils.transformer import Transformer, greedy_decode_cached

SEEDS = (1, 2, 3)
SENTENCES = 115_200  # that every model sees, but those which are held to equal time
PEAK = 5e-3  # the highest learning rate, of all models
SHORT = 15  # German tokens, for those that are trained on short sentences only
LENGTHS = (8, 16, 32, 64, 128)

Logits = Callable[[nn.Module, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Kind:
    """How one kind of model is made, asked and trained.

    Attributes:
        make: a fresh model, for numbers of words in the two languages.
        logits: (model, source (B, S), target (B, T)) → (B, T, V).
        write: (model, source (B, S)) → ids (B, L), greedily.
        optimizer: for a model's parameters.
        batch_size: sentences in a step.
        rate: (step from 1, steps) → learning rate.
        longest_gradient: gradients are cut at this length; infinity cuts none.
    """

    make: Callable[[int, int], nn.Module]
    logits: Logits
    write: Callable[[nn.Module, Tensor], Tensor]
    optimizer: Callable[..., torch.optim.Optimizer]
    batch_size: int
    rate: Callable[[int, int], float]
    longest_gradient: float = math.inf


def with_warm_up(step: int, steps: int, warm_up: int = 100) -> float:
    """Lecture 8's: linear warm-up, then a cosine down to zero."""
    progress = max(0, step - warm_up) / (steps - warm_up)
    return PEAK * min(1, step / warm_up) * (1 + math.cos(math.pi * progress)) / 2


def in_one_cycle(step: int, steps: int) -> float:
    """Lecture 1's: up along a cosine in the first tenth, down to nearly zero in the rest."""
    low, turn = PEAK / 25, 0.1 * steps - 1
    at = step - 1
    if at <= turn:
        return PEAK - (PEAK - low) * (1 + math.cos(math.pi * at / turn)) / 2
    return PEAK * (1 + math.cos(math.pi * (at - turn) / (steps - 1 - turn))) / 2


ENDS = {"bos_id": data.BOS_ID, "eos_id": data.EOS_ID, "max_len": 40}


def recurrent(attention_dim: int | None) -> Kind:
    """Lecture 1's model with 64 units and embeddings of 64."""
    return Kind(
        make=lambda german, english: Seq2Seq(german, english, 64, 64, attention_dim),
        logits=lambda model, source, target: model(source, target)[0],
        write=lambda model, source: translate(model, source, **ENDS)[0],
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98)),
        batch_size=64,
        rate=in_one_cycle,
        longest_gradient=1.0,
    )


KINDS = {
    "transformer": Kind(
        make=lambda german, english: Transformer(german, english, 64, 4, 2, 128, dropout=0.0),
        logits=lambda model, source, target: model(source, target),
        write=lambda model, source: greedy_decode_cached(model, source, **ENDS),
        optimizer=partial(torch.optim.AdamW, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1),
        batch_size=96,
        rate=with_warm_up,
    ),
    "attention": recurrent(attention_dim=64),
    "one vector": recurrent(attention_dim=None),
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
    nn.utils.clip_grad_norm_(model.parameters(), kind.longest_gradient)
    optimizer.step()


def trained(kind: Kind, corpus: Corpus, pairs: list[data.Pair], steps: int, seed: int):
    """A model after `steps` steps, and the seconds that it took."""
    torch.manual_seed(seed)
    model = kind.make(*corpus.sizes)
    optimizer = kind.optimizer(model.parameters())
    german, english = corpus.vocabularies
    stream = data.batches(pairs, german, english, batch_size=kind.batch_size, seed=seed)
    start = time.process_time()
    for step, batch in enumerate(islice(stream, steps), start=1):
        optimizer.param_groups[0]["lr"] = kind.rate(step, steps)
        one_step(kind, model, optimizer, batch)
    return model.eval(), time.process_time() - start


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
    model, seconds = trained(kind, corpus, pairs, steps, seed)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    shares = "".join(f"{share:8.3f}" for share in shares_right(kind, model, corpus))
    seen = steps * kind.batch_size
    line = f"{title:<24}{seed:4d}{parameters:12d}{seen:11d}{seconds:9.0f}{shares}"
    sys.stderr.write(line + "\n")  # so that one sees it go on
    return line


def compare(corpus: Corpus, ratio: float) -> None:
    """Train every model with every seed, and print a line for each, model by model.

    `ratio` is what a sentence costs the recurrent model, as a multiple of the transformer's cost.
    """
    lines = defaultdict(list)
    for seed in SEEDS:
        for name, title, pairs, sentences in (
            ("transformer", "transformer", corpus.train, SENTENCES),
            ("attention", "attention", corpus.train, SENTENCES),
            ("attention", "attention, equal time", corpus.train, SENTENCES / ratio),
            ("one vector", "one vector", corpus.train, SENTENCES),
            ("transformer", f"transformer of 3–{SHORT}", corpus.short, SENTENCES),
            ("attention", f"attention of 3–{SHORT}", corpus.short, SENTENCES),
        ):
            steps = round(sentences / KINDS[name].batch_size)
            lines[title].append(measured(name, title, pairs, steps, seed, corpus))
    buckets = "".join(f"{f'{low}–{high}':>8}" for low, high in data.LENGTH_BUCKETS)
    print(f"{'model':<24}seed  parameters  sentences  seconds{'all':>8}{buckets}")
    print(*chain(*lines.values()), sep="\n")


RIVALS = ("transformer", "attention")


def by_turns(corpus: Corpus, batches: Mapping[str, Iterable[data.Batch]]) -> list[float]:
    """Milliseconds a sentence for each of the two rivals, which train one step each in turn.

    A machine that is busy with something else slows both down alike.
    """
    torch.manual_seed(0)
    models = {name: KINDS[name].make(*corpus.sizes) for name in RIVALS}
    optimizers = {
        name: KINDS[name].optimizer(models[name].parameters(), lr=1e-4) for name in RIVALS
    }
    taken, seen = dict.fromkeys(RIVALS, 0.0), dict.fromkeys(RIVALS, 0)
    for turn in zip(*(batches[name] for name in RIVALS), strict=False):
        for name, batch in zip(RIVALS, turn, strict=True):
            start = time.process_time()
            one_step(KINDS[name], models[name], optimizers[name], batch)
            taken[name] += 1000 * (time.process_time() - start)
            seen[name] += len(batch.source)
    return [taken[name] / seen[name] for name in RIVALS]


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
    streams = {
        name: islice(
            data.batches(corpus.train, german, english, KINDS[name].batch_size, seed=1), 120
        )
        for name in RIVALS
    }
    columns = [by_turns(corpus, streams)]
    for length in LENGTHS:
        columns.append(
            by_turns(corpus, dict.fromkeys(RIVALS, batches_of_length(corpus, length, 16, steps=12)))
        )
    titles = "".join(f"{length:8d}" for length in LENGTHS)
    print(f"{'milliseconds a sentence':<24}{'corpus':>8}{titles}")
    for name, row in zip(RIVALS, zip(*columns, strict=True), strict=True):
        print(f"{name:<24}" + "".join(f"{value:8.2f}" for value in row), flush=True)
    return columns[0][1] / columns[0][0]


if __name__ == "__main__":
    torch.set_num_threads(1)  # so that processor time is training time
    everything = Corpus()
    compare(everything, ratio=compare_seconds(everything))
