"""Keep the two trained models of lecture 12 that copy tokens, so that a page can carry them and run them.

    python sources/recorded/trained_copiers.py            writes lecture_kit/trained/copiers.json
    python sources/recorded/trained_copiers.py --cost     says what the stored weights cost

Both are trained as lecture 12 trains its models, from the seeds below; together they take half a minute on
one core. Which seed takes which way depends on the machine, so nothing is written where a model does not
do what its name says. What storing costs is counted on 2400 tokens of 200 rows, blocks of 12 that come twice:

    model    seed  looks  weight  score   kB  right before  right after  other tokens
    next        8     +1    0.88   0.95  123          2368         2367             1
    further     3     +3    0.73   0.07  123          2329         2331             2
"""

import argparse
from typing import Any

import torch
from looking_inside import LENGTH, PERIOD, ROWS
from trained_translators import TARGET as TRANSLATORS
from trained_translators import text_of

from course_utils.inside import induction_score
from course_utils.modern import ModernLanguageModel, attention_maps
from lecture_kit.experiments.repeated_tokens import distinct, new_model, train
from lecture_kit.trained.copiers import LAYERS, NAMES
from lecture_kit.trained.translators import packed, unpacked

TARGET = TRANSLATORS.with_name("copiers.json")
SEEDS = dict(zip(NAMES, (8, 3), strict=True))
STEPS = 800


def rows() -> torch.Tensor:
    """Blocks that come twice: (200, 24) int64."""
    return distinct(ROWS, LENGTH, PERIOD, torch.Generator().manual_seed(99))


@torch.no_grad()
def said(model: ModernLanguageModel, ids: torch.Tensor) -> torch.Tensor:
    """The likeliest next token after each one of the second copy: (200, 12) int64."""
    return model(ids)[:, PERIOD:].argmax(dim=-1)


def looks(model: ModernLanguageModel, ids: torch.Tensor) -> tuple[int, float, float]:
    """Where layer 1 looks, and how much.

    Returns:
        how many places after the earlier copy the head looks that looks most firmly, its mean weight
        there, and the best induction score of the layer.
    """
    maps = attention_maps(model, ids)[1]  # (B, H, T, T)
    best = max(
        (maps.diagonal(further - PERIOD, dim1=-2, dim2=-1).mean(dim=(0, 2)).max().item(), further)
        for further in range(5)
    )
    return best[1], best[0], induction_score(maps, PERIOD).max().item()


def models() -> dict[str, ModernLanguageModel]:
    """Both models, trained and looked at."""
    found, ids = {}, rows()
    for name, seed in SEEDS.items():
        model = train(new_model(seed, LAYERS), STEPS, seed).eval()
        further, weight, score = looks(model, ids)
        if (further == 1) != (name == "next") or weight < 0.6 or (name == "next") != (score > 0.6):
            raise SystemExit(
                f"{name}, seed {seed}: expected a model whose layer 1 looks "
                f"{'one place' if name == 'next' else 'two or more places'} after the earlier copy; here "
                f"it looks {further} places after it with a weight of {weight:.2f}, and its best score is "
                f"{score:.2f}. Training differs by machine, so try another seed."
            )
        found[name] = model
    return found


def print_cost(found: dict[str, ModernLanguageModel]) -> None:
    """A line for each model."""
    ids = rows()
    right = ids.roll(-1, dims=1)[:, PERIOD:].clone()
    right[:, -1] = ids[:, 0]  # after the last token the block begins once more
    print("model    seed  looks  weight  score   kB  right before  right after  other tokens")
    for name, model in found.items():
        stored = packed(model.state_dict())
        loaded = new_model(0, LAYERS)
        loaded.load_state_dict(unpacked(stored))
        before, after = said(model, ids), said(loaded.eval(), ids)
        further, weight, score = looks(model, ids)
        print(
            f"{name:<9}{SEEDS[name]:4d}{further:+7d}{weight:8.2f}{score:7.2f}"
            f"{len(stored['bytes']) / 1000:5.0f}{(before == right).sum():14d}"
            f"{(after == right).sum():13d}{(before != after).sum():14d}"
        )


def main() -> None:
    """Write the file, or say what it costs."""
    parser = argparse.ArgumentParser(description="Keep the two trained models of lecture 12.")
    parser.add_argument("--cost", action="store_true", help="count tokens, write nothing")
    cost = parser.parse_args().cost
    torch.set_num_threads(1)
    found = models()
    if cost:
        print_cost(found)
        return
    made: dict[str, Any] = {name: packed(model.state_dict()) for name, model in found.items()}
    TARGET.write_text(text_of(made), encoding="utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
