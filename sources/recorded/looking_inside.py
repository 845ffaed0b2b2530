"""What is found inside six models that copy, and how they learned it, for lecture 12.

    python sources/recorded/looking_inside.py

trains a model of one layer and a model of two on random tokens that repeat, six times, and prints four
tables. It takes about four minutes on one core.

curves     share of right tokens after 50, 100, … steps; the single layer has as many weights as two
heads      best induction score of a head in layer 1; the share right without layer 1, and without the
           head of layer 1 that is missed most; the head that is missed most of all, its score, how far
           back it looks and with which weight, and the share right without it
places     the largest weight of a head in layer 0 on the three tokens before the one that asks, and of a
           head in layer 1 on its first copy and on the four places after that; the place whose vector
           before layer 1 has to be put back, counted from the first copy, the share of the answer that it
           brings back, and the most that any other place does
ablations  the set of heads in one layer for which zeros and means differ most, and the shares right
"""

import itertools
import sys

import torch

from course_utils.inside import ablate_heads, induction_score, patch_activation, streams
from course_utils.masks import causal_mask
from course_utils.modern import ModernLanguageModel, attention_maps
from lecture_kit.experiments.repeated_tokens import HEADS, VOCABULARY, distinct, new_model, train

SEEDS = range(6)
STEPS, EVERY = 800, 50
PERIOD, LENGTH, ROWS = 12, 24, 200
PLACE = 5  # of the token in the first copy that is replaced
QUERY = PLACE + PERIOD
FARTHEST = 5  # places after the first copy, and tokens back, that are looked at
IDS = distinct(ROWS, LENGTH, PERIOD, torch.Generator().manual_seed(99))
OTHERS = distinct(ROWS, LENGTH, PERIOD, torch.Generator().manual_seed(98))


def share_right(logits: torch.Tensor) -> float:
    """After how many tokens of the second copy logits (B, T, V) of `IDS` say what followed in the first."""
    said = logits[:, PERIOD:].argmax(dim=-1)  # (B, PERIOD)
    return (said == IDS[:, 1 : PERIOD + 1]).float().mean().item()


def trained(model: ModernLanguageModel, seed: int) -> list[float]:
    """Train it, and say the share of right tokens on the way."""
    curve = []

    def after(step: int) -> None:
        if step % EVERY == 0:
            with torch.no_grad():
                curve.append(share_right(model(IDS)))

    train(model, STEPS, seed, after_step=after)
    return curve


def looks(weights: torch.Tensor, offsets: list[int]) -> torch.Tensor:
    """Weights (H, offsets) on the keys query - offset, on average over queries of the second copy."""
    queries = torch.arange(PERIOD, LENGTH)
    return torch.stack(
        [weights[:, :, queries, queries - offset].mean(dim=(0, 2)) for offset in offsets], dim=-1
    )


def what_heads_say(model: ModernLanguageModel) -> torch.Tensor:
    """The mean output (L, H, d_k) of each head on rows that are used for nothing else."""
    mask = causal_mask(LENGTH)
    contexts = [
        layer.attend(layer.norm1(x), mask)[0].mean(dim=(0, 2))
        for layer, x in zip(model.layers, streams(model, OTHERS), strict=False)
    ]
    return torch.stack(contexts)


def log_probability(logits: torch.Tensor) -> float:
    """Of the token after the replaced one, where the token itself comes again; a mean over rows."""
    row = logits[:, QUERY].log_softmax(dim=-1)
    return row.gather(1, IDS[:, PLACE + 1 : PLACE + 2]).mean().item()


@torch.no_grad()
def heads_line(model: ModernLanguageModel) -> str:
    """The model's line in the table of heads."""
    maps = attention_maps(model, IDS)
    scores = torch.stack([induction_score(weights, PERIOD) for weights in maps])
    without_layer = share_right(ablate_heads(model, IDS, [(1, head) for head in range(HEADS)]))
    without = {
        (layer, head): share_right(ablate_heads(model, IDS, [(layer, head)]))
        for layer in range(2)
        for head in range(HEADS)
    }
    one_away = min(share for (layer, _), share in without.items() if layer == 1)
    needed = min(without, key=lambda pair: without[pair])
    back = looks(maps[needed[0]], list(range(FARTHEST)))[needed[1]]
    return (
        f"{share_right(model(IDS)):7.3f}{scores[1].max():8.3f}{without_layer:12.3f}{one_away:10.3f}"
        f"     {needed[0]}.{needed[1]}{scores[needed]:11.3f}{back.argmax().item():6d}"
        f"{back.max():8.2f}{without[needed]:9.3f}"
    )


@torch.no_grad()
def places_line(model: ModernLanguageModel) -> str:
    """The model's line in the table of places."""
    maps = attention_maps(model, IDS)
    before = looks(maps[0], [1, 2, 3]).amax(dim=0)
    after = looks(maps[1], [PERIOD - further for further in range(FARTHEST)]).amax(dim=0)
    corrupted = IDS.clone()
    corrupted[:, PLACE] = (IDS[:, PLACE] + 1) % VOCABULARY
    clean, broken = log_probability(model(IDS)), log_probability(model(corrupted))
    shares = [
        (log_probability(patch_activation(model, IDS, corrupted, 1, at)) - broken)
        / (clean - broken)
        for at in range(LENGTH)
    ]
    place = max(range(LENGTH), key=lambda at: shares[at])
    elsewhere = max(share for at, share in enumerate(shares) if at != place)
    return (
        "".join(f"{weight:6.2f}" for weight in [*before.tolist(), *after.tolist()])
        + f"{place - PLACE:+7d}{shares[place]:7.2f}{elsewhere:11.2f}"
    )


@torch.no_grad()
def ablations_line(model: ModernLanguageModel) -> str:
    """The model's line in the table of ablations."""
    means = what_heads_say(model)
    sets = [
        [(layer, head) for head in chosen]
        for layer in range(2)
        for size in range(1, HEADS + 1)
        for chosen in itertools.combinations(range(HEADS), size)
    ]
    both = [
        [share_right(ablate_heads(model, IDS, heads, given)) for given in (None, means)]
        for heads in sets
    ]
    gaps = [abs(zeros - by_means) for zeros, by_means in both]
    single = max(gap for gap, heads in zip(gaps, sets, strict=True) if len(heads) == 1)
    most = max(range(len(sets)), key=lambda number: gaps[number])
    names = "+".join(f"{layer}.{head}" for layer, head in sets[most])
    return f"{single:8.3f}  {names:<16}{both[most][0]:6.3f}{both[most][1]:7.3f}"


def main() -> None:
    """Train, look inside, and print the tables."""
    tables: dict[str, list[str]] = {
        "seed layers" + "".join(f"{steps:5d}" for steps in range(EVERY, STEPS + 1, EVERY)): [],
        "seed  right   score  no layer 1  one away  needed  its score  back  weight  without": [],
        "seed    -1    -2    -3    +0    +1    +2    +3    +4  place  share  elsewhere": [],
        "seed  single  heads            zeros  means": [],
    }
    curves, heads, places, ablations = tables.values()
    for seed in SEEDS:
        for layers in (1, 2):
            model = new_model(seed, layers)
            shares = trained(model, seed)
            curves.append(f"{seed:4d}{layers:7d}" + "".join(f"{share:5.2f}" for share in shares))
        heads.append(f"{seed:4d}" + heads_line(model))
        places.append(f"{seed:4d}" + places_line(model))
        ablations.append(f"{seed:4d}" + ablations_line(model))
        print(f"seed {seed} of {len(SEEDS)} done", file=sys.stderr, flush=True)
    for header, lines in tables.items():
        print(header, *lines, sep="\n", end="\n\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
