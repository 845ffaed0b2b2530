"""Keep the trained translators of lectures 1 and 8, so that a page can carry them and run them.

    python sources/recorded/trained_translators.py            writes lecture_kit/trained/translators.json
    python sources/recorded/trained_translators.py --cost     says what the stored weights cost

The transformer is trained as lecture 8 trains it, by `learned_maps.py`, and the recurrent network as
lecture 1 does, by `bottleneck.py`; both together take two and a half minutes on one core. What storing
costs is counted on the 2500 held-out sentences of lecture 8:

    translator   stored as      kB   right before   right after   other translations
    transformer   8 bits       306           2492          2492                    0
    transformer  16 bits       577           2492          2492                    0
    recurrent     8 bits       173           2372          2373                   10
    recurrent    16 bits       335           2372          2372                    0

A stored matrix has one scale for each row. Therefore the transformer is kept in 8 bits, and the recurrent
network in 16.
"""

import argparse
import json
from collections.abc import Sequence
from typing import Any

import torch
from bottleneck import RUNS, trained
from compare_translators import Corpus as RecurrentCorpus
from learned_maps import TARGET as MAPS
from learned_maps import Corpus, train
from torch import nn

from lecture_kit import data
from lecture_kit.trained.translators import Translator, new_model, packed, unpacked

TARGET = MAPS.with_name("translators.json")
BITS = {"transformer": 8, "recurrent": 16}
KEPT_SENTENCES = 400  # held-out ones, to draw from and to complete by


def models() -> dict[str, nn.Module]:
    """Both translators, trained."""
    recurrent = trained(RUNS["attention"], RecurrentCorpus(), seed=0)
    return {"transformer": train(Corpus()), "recurrent": recurrent}


def translations(translator: Translator, pairs: Sequence[data.Pair]) -> list[str]:
    """What it writes for each pair's German sentence."""
    written = []
    for start in range(0, len(pairs), 100):
        part = pairs[start : start + 100]
        source = data.collate(part, translator.german, translator.english).source
        written += [translator.english.decode(row) for row in translator.write(source)]
    return written


def print_cost(found: dict[str, nn.Module], corpus: Corpus) -> None:
    """A line for each translator and each number of bits."""
    pairs = sorted(corpus.splits.test, key=lambda pair: len(pair.source.split()))
    right = [pair.target for pair in pairs]
    print("translator   stored as      kB   right before   right after   other translations")
    for name, model in found.items():
        before = translations(Translator(model, corpus.german, corpus.english), pairs)
        for bits in (8, 16):
            stored = packed(model.state_dict(), bits)
            loaded = new_model(name, len(corpus.german), len(corpus.english))
            loaded.load_state_dict(unpacked(stored))
            after = translations(Translator(loaded.eval(), corpus.german, corpus.english), pairs)
            counts = [
                sum(one == other for one, other in zip(written, right, strict=True))
                for written in (before, after)
            ]
            others = sum(one != other for one, other in zip(before, after, strict=True))
            size = len(stored["bytes"]) / 1000
            print(f"{name:<12}{bits:3d} bits{size:10.0f}{counts[0]:15d}{counts[1]:14d}{others:21d}")


def stored(found: dict[str, nn.Module], corpus: Corpus) -> dict[str, Any]:
    """All that is kept."""
    return {
        "german": " ".join(corpus.german.words[len(data.SPECIALS) :]),
        "english": " ".join(corpus.english.words[len(data.SPECIALS) :]),
        "sentences": [pair.source for pair in corpus.splits.test[:KEPT_SENTENCES]],
        **{name: packed(model.state_dict(), BITS[name]) for name, model in found.items()},
    }


def text_of(made: dict[str, Any]) -> str:
    """As JSON, one line for each entry."""
    lines = (
        f'"{name}":' + json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        for name, value in made.items()
    )
    return "{" + ",\n".join(lines) + "}\n"


def main() -> None:
    """Write the file, or say what it costs."""
    parser = argparse.ArgumentParser(
        description="Keep the trained translators of lectures 1 and 8."
    )
    parser.add_argument("--cost", action="store_true", help="count translations, write nothing")
    cost = parser.parse_args().cost
    torch.set_num_threads(1)
    corpus, found = Corpus(), models()
    if cost:
        print_cost(found, corpus)
        return
    TARGET.write_text(text_of(stored(found, corpus)), encoding="utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
