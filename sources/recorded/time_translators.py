"""What a sentence costs in training: the transformer of lecture 8 and lecture 1's recurrent translator.

    python sources/recorded/time_translators.py                  # this machine, 1 thread
    python sources/recorded/time_translators.py --threads 8
    python sources/recorded/time_translators.py --device cuda

prints milliseconds a sentence for both models, on batches of the corpus and on batches whose sentences
all have 8, 16, 32, 64 or 128 tokens. The two models take turns on the same batches, so that a machine
that is busy with something else slows both down. Each line holds the median, the lowest and the
highest of seven repetitions, after one that does not count. With one thread, the seconds are those of
the processor, otherwise those of a clock. It takes about a minute on one core.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import islice

import torch
import torch.nn.functional as F
from compare_translators import BATCH_SIZE, KINDS, Corpus, one_step, optimizer_for

from lecture_kit import data

RIVALS = ("transformer", "recurrent + attention")
REPETITIONS = 7
LENGTHS = (8, 16, 32, 64, 128)
SENTENCES = 32  # in a batch whose sentences all have one length
TOKENS = 128  # of one sentence in a repetition: 16 batches of length 8, one of length 128

Batches = Callable[[], list[data.Batch]]


def name_of(device: str, threads: int) -> str:
    """What the numbers were measured on, for people."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, threads: {threads}"


def seconds_of(rival: str, model, optimizer, batches: list[data.Batch], device: str) -> float:
    """How long one model trains on some batches."""
    alone = device == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    if device == "cuda":
        torch.cuda.synchronize()
    start = clock()
    for batch in batches:
        one_step(KINDS[rival], model, optimizer, batch)
    if device == "cuda":
        torch.cuda.synchronize()
    return clock() - start


def by_turns(corpus: Corpus, batches: Batches, device: str) -> dict[str, list[float]]:
    """Milliseconds a sentence for each rival, one number for each repetition."""
    torch.manual_seed(0)
    models = {name: KINDS[name].make(*corpus.sizes).to(device) for name in RIVALS}
    optimizers = {name: optimizer_for(model) for name, model in models.items()}
    taken: dict[str, list[float]] = {name: [] for name in RIVALS}
    for repetition in range(1 + REPETITIONS):
        part = [data.Batch(*(ids.to(device) for ids in batch)) for batch in batches()]
        sentences = sum(len(batch.source) for batch in part)
        for name in RIVALS:
            seconds = seconds_of(name, models[name], optimizers[name], part, device)
            if repetition > 0:
                taken[name].append(1000 * seconds / sentences)
    return taken


def of_the_corpus(corpus: Corpus) -> Batches:
    """Ten batches as in training, other ones each time."""
    stream = data.batches(corpus.train, *corpus.vocabularies, BATCH_SIZE, seed=1)
    return lambda: list(islice(stream, 10))


def of_length(corpus: Corpus, length: int) -> Batches:
    """Batches of random words, all sentences of one length in both languages."""
    generator = torch.Generator().manual_seed(length)
    low, high = len(data.SPECIALS), min(corpus.sizes)

    def batches() -> list[data.Batch]:
        size = TOKENS // length, 2, SENTENCES, length
        ids = torch.randint(low, high, size, generator=generator)
        return [data.Batch(one[0], F.pad(one[1], (1, 0), value=data.BOS_ID)) for one in ids]

    return batches


def lines(corpus: Corpus, device: str) -> Iterator[str]:
    """The table, line by line."""
    yield f"{'model':<24}{'tokens':>7}{'median':>9}{'lowest':>9}{'highest':>9}"
    columns = {"corpus": of_the_corpus(corpus)}
    columns |= {str(length): of_length(corpus, length) for length in LENGTHS}
    for title, batches in columns.items():
        for name, values in by_turns(corpus, batches, device).items():
            three = statistics.median(values), min(values), max(values)
            yield f"{name:<24}{title:>7}" + "".join(f"{value:9.3f}" for value in three)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    print(name_of(chosen.device, chosen.threads), f"(torch {torch.__version__})")
    for line in lines(Corpus(), chosen.device):
        print(line, flush=True)
