"""What is found inside six models that copy, and how they learned it, for lecture 12.

    python sources/recorded/looking_inside.py            the tables, in a few minutes on one quiet core
    python sources/recorded/looking_inside.py --rates    other learning rates, and longer training

The first trains a model of one layer and a model of two on random tokens that repeat, six times. All numbers
are of blocks of 12 different tokens that come twice; shares and losses are those of the second copy.

shares     share of right tokens after 50, 100, … steps; the single layer has as many weights as two
losses     the same, in nats
heads      best induction score of a head in layer 1; what is right and lost without layer 1; the least share
           and the largest loss without one of its heads; the head without which the loss is largest, its
           score, how far back it attends, and what is right and lost without it; by how much zeros and means
           differ at most for one head, in shares
sinks      the head of layer 1 that puts most weight on position 0 from the rest of the first copy, that
           weight, and the loss without the head
places     the largest weight of a head in layer 0 on the three tokens before the query, and of a head in
           layer 1 on its first copy and on the four positions after that; the position whose clean vector
           before layer 1 restores most of the answer, counted from the first copy, the share that it
           restores and the most that any other restores; the share that is left when this vector alone is
           the corrupted one, and the least that is left for any other
readings   what the logit lens and linear probes read before layer 1: the token and the answer in the second
           copy, and in the first the token as many positions back as the place lies after the first copy
circuits   the loss when the queries, keys or values of layer 1 read a stream without the heads of layer 0;
           the share of tokens that the best head of layer 1 copies
"""

import argparse
import copy
import sys

import torch
import torch.nn.functional as F

from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_utils.inside import (
    ablate_heads,
    induction_score,
    logit_lens,
    patch_activation,
    streams,
)
from course_utils.masks import causal_mask
from course_utils.modern import ModernLanguageModel, apply_rotary, attention_maps
from lecture_kit.experiments.repeated_tokens import (
    HEADS,
    RATE,
    VOCABULARY,
    distinct,
    new_model,
    train,
)

SEEDS, FEWER_SEEDS = range(6), range(3)
STEPS, EVERY, LONGER = 800, 50, 2400
OTHER_RATES = (1e-3, 1e-2)
PERIOD, LENGTH, ROWS = 12, 24, 200
PLACE = 5  # of the token in the first copy that is replaced
QUERY = PLACE + PERIOD
FARTHEST = 5  # positions after the first copy, and tokens back, that are compared
MASK = causal_mask(LENGTH)
CURVE = "seed layers" + "".join(f"{step:5d}" for step in range(EVERY, STEPS + 1, EVERY))
HEADERS = {
    "shares": CURVE,
    "losses": CURVE,
    "heads": "seed  right   loss   score  no layer 1    one away         needed   score  back  without it"
    "     gap",
    "sinks": "seed  head  weight  all on  without",
    "places": "seed    -1    -2    -3    +0    +1    +2    +3    +4  place  restored  elsewhere  left"
    "  elsewhere",
    "readings": "seed  lens token  answer  probe token  answer  earlier",
    "circuits": "seed   all on  queries    keys   values   copied",
}


def rows(number: int, seed: int) -> torch.Tensor:
    """Blocks of different tokens that come twice: (number, LENGTH) int64."""
    return distinct(number, LENGTH, PERIOD, torch.Generator().manual_seed(seed))


IDS, OTHERS, TO_FIT = rows(ROWS, 99), rows(ROWS, 98), rows(2 * ROWS, 5)
FOLLOWED = IDS[:, 1 : PERIOD + 1]
UNUSED = torch.ones(ROWS, VOCABULARY).scatter(1, IDS, 0.0)  # (B, V): 1 for what a row does not hold
CORRUPTED = IDS.clone()
CORRUPTED[:, PLACE] = torch.multinomial(UNUSED, 1, generator=torch.Generator().manual_seed(7))[:, 0]


def judged(logits: torch.Tensor) -> tuple[float, float]:
    """Share of right tokens in the second copy, and the loss there: logits (B, T, V) of `IDS`."""
    second = logits[:, PERIOD:]  # (B, PERIOD, V)
    right = (second.argmax(dim=-1) == FOLLOWED).float().mean().item()
    return right, F.cross_entropy(second.flatten(0, 1), FOLLOWED.flatten()).item()


def trained(
    model: ModernLanguageModel, seed: int, steps: int = STEPS, rate: float = RATE
) -> list[tuple[float, float]]:
    """Train it, and judge it on the way."""
    curve = []

    def after(step: int) -> None:
        if step % EVERY == 0:
            with torch.no_grad():
                curve.append(judged(model(IDS)))

    train(model, steps, seed, rate=rate, after_step=after)
    return curve


def attended(weights: torch.Tensor, offsets: list[int]) -> torch.Tensor:
    """Weights (H, offsets) on the keys query - offset, on average over queries of the second copy."""
    queries = torch.arange(PERIOD, LENGTH)
    return torch.stack(
        [weights[:, :, queries, queries - offset].mean(dim=(0, 2)) for offset in offsets], dim=-1
    )


def mean_outputs(model: ModernLanguageModel) -> torch.Tensor:
    """The mean output (L, H, d_k) of each head on rows that are used for nothing else."""
    contexts = [
        layer.attend(layer.norm1(x), MASK)[0].mean(dim=(0, 2))
        for layer, x in zip(model.layers, streams(model, OTHERS), strict=False)
    ]
    return torch.stack(contexts)


def log_probability(logits: torch.Tensor) -> float:
    """Of the token after the replaced one, where the token itself comes again; a mean over rows."""
    return -F.cross_entropy(logits[:, QUERY], IDS[:, PLACE + 1]).item()


@torch.no_grad()
def heads_line(model: ModernLanguageModel) -> str:
    """The model's line in the table of heads."""
    maps, means = attention_maps(model, IDS), mean_outputs(model)
    scores = torch.stack([induction_score(weights, PERIOD) for weights in maps])
    share, loss = judged(ablate_heads(model, IDS, [(1, head) for head in range(HEADS)]))
    pairs = [(layer, head) for layer in range(2) for head in range(HEADS)]
    without = {pair: judged(ablate_heads(model, IDS, [pair])) for pair in pairs}
    by_means = {pair: judged(ablate_heads(model, IDS, [pair], means)) for pair in pairs}
    second = [without[1, head] for head in range(HEADS)]
    needed = max(without, key=lambda pair: without[pair][1])
    back = attended(maps[needed[0]], list(range(FARTHEST)))[needed[1]]
    gap = max(abs(without[pair][0] - by_means[pair][0]) for pair in pairs)
    right, own = judged(model(IDS))
    return (
        f"{right:7.3f}{own:7.3f}{scores[1].max():8.3f}{share:8.3f}{loss:7.2f}"
        f"{min(share for share, _ in second):8.3f}{max(loss for _, loss in second):7.3f}"
        f"     {needed[0]}.{needed[1]}{scores[needed]:8.3f}{back.argmax().item():6d}"
        f"{without[needed][0]:9.3f}{without[needed][1]:7.2f}{gap:8.3f}"
    )


@torch.no_grad()
def sinks_line(model: ModernLanguageModel) -> str:
    """The model's line in the table of sinks."""
    weights = attention_maps(model, IDS)[1, :, :, 1:PERIOD, 0].mean(dim=(0, 2))  # (H,)
    head = int(weights.argmax())
    loss = judged(ablate_heads(model, IDS, [(1, head)]))[1]
    return f"   1.{head}{weights[head]:9.2f}{judged(model(IDS))[1]:8.3f}{loss:10.3f}"


def patched_shares(
    model: ModernLanguageModel, source: torch.Tensor, target: torch.Tensor
) -> list[float]:
    """The share of the answer when one vector before layer 1 of `source` is put into `target`."""
    clean, broken = log_probability(model(IDS)), log_probability(model(CORRUPTED))
    return [
        (log_probability(patch_activation(model, source, target, 1, at)) - broken)
        / (clean - broken)
        for at in range(LENGTH)
    ]


@torch.no_grad()
def place_of(model: ModernLanguageModel) -> int:
    """The position whose clean vector before layer 1 restores most."""
    restored = patched_shares(model, IDS, CORRUPTED)
    return max(range(LENGTH), key=lambda at: restored[at])


@torch.no_grad()
def places_line(model: ModernLanguageModel, place: int) -> str:
    """The model's line in the table of places."""
    maps = attention_maps(model, IDS)
    before = attended(maps[0], [1, 2, 3]).amax(dim=0)
    after = attended(maps[1], [PERIOD - further for further in range(FARTHEST)]).amax(dim=0)
    restored = patched_shares(model, IDS, CORRUPTED)
    left = patched_shares(model, CORRUPTED, IDS)
    return (
        "".join(f"{weight:6.2f}" for weight in [*before.tolist(), *after.tolist()])
        + f"{place - PLACE:+7d}{restored.pop(place):10.2f}{max(restored):11.2f}"
        + f"{left.pop(place):6.2f}{min(left):11.2f}"
    )


def probed(x: torch.Tensor, y: torch.Tensor, known: torch.Tensor, wanted: torch.Tensor) -> float:
    """Share of tokens that a linear map reads: fitted to x and y, tried on the others."""
    x, known = (
        torch.cat([part.flatten(0, 1), torch.ones(part.shape[0] * part.shape[1], 1)], dim=1)
        for part in (x, known)
    )
    reading = torch.linalg.lstsq(x, F.one_hot(y.flatten(), VOCABULARY).float()).solution
    return ((known @ reading).argmax(dim=-1) == wanted.flatten()).float().mean().item()


@torch.no_grad()
def readings_line(model: ModernLanguageModel, place: int) -> str:
    """The model's line in the table of readings."""
    lens = logit_lens(model, IDS)[1, :, PERIOD:].argmax(dim=-1)  # (B, PERIOD)
    seen = [(lens == IDS[:, PERIOD:]), (lens == FOLLOWED)]
    fit, test, back = streams(model, TO_FIT)[1], streams(model, IDS)[1], place - PLACE
    copies = [fit[:, PERIOD:], test[:, PERIOD:]]
    probes = [
        probed(copies[0], TO_FIT[:, PERIOD:], copies[1], IDS[:, PERIOD:]),
        probed(copies[0], TO_FIT[:, 1 : PERIOD + 1], copies[1], FOLLOWED),
        probed(
            fit[:, back:PERIOD],
            TO_FIT[:, : PERIOD - back],
            test[:, back:PERIOD],
            IDS[:, : PERIOD - back],
        ),
    ]
    shares = [*(hits.float().mean().item() for hits in seen), *probes]
    return "".join(
        f"{share:{width}.3f}" for share, width in zip(shares, (11, 8, 11, 8, 8), strict=True)
    )


@torch.no_grad()
def circuits_line(model: ModernLanguageModel) -> str:
    """The model's line in the table of circuits."""
    layer, x = model.layers[1], streams(model, IDS)[1]
    silent = copy.deepcopy(model)
    silent.layers[0].w_o.weight.zero_()
    without = streams(silent, IDS)[1]
    losses = []
    for damaged in ("", "q", "k", "v"):
        query, key, value = (
            split_heads(w(layer.norm1(without if name in damaged else x)), HEADS)
            for name, w in zip("qkv", (layer.w_q, layer.w_k, layer.w_v), strict=True)
        )
        query, key = (apply_rotary(part, torch.arange(LENGTH)) for part in (query, key))
        context, _ = scaled_dot_product_attention(query, key, value, MASK)
        h = x + layer.w_o(merge_heads(context))
        losses.append(judged(model.unembed(h + layer.feed_forward(layer.norm2(h))))[1])
    means = torch.stack([x[token == IDS].mean(dim=0) for token in range(VOCABULARY)])
    values = split_heads(layer.w_v(layer.norm1(means)).unsqueeze(0), HEADS)[0]  # (H, V, d_k)
    written = torch.einsum("hvk,dhk->hvd", values, layer.w_o.weight.unflatten(1, (HEADS, -1)))
    copied = (written * model.norm.weight @ model.embedding.weight.T).argmax(dim=-1)  # (H, V)
    share = (copied == torch.arange(VOCABULARY)).float().mean(dim=1).max()
    return "".join(f"{loss:9.2f}" for loss in losses) + f"{share:9.2f}"


def print_rates() -> None:
    """How well other rates and longer training do."""
    print("layers  rate  steps  seed  largest share  last share  last loss")
    for layers, steps in ((2, STEPS), (1, STEPS), (1, LONGER)):
        for rate in OTHER_RATES if steps == STEPS else (RATE,):
            for seed in FEWER_SEEDS:
                curve = trained(new_model(seed, layers), seed, steps, rate)
                most = max(share for share, _ in curve)
                print(
                    f"{layers:6d}{rate:6.3f}{steps:7d}{seed:6d}{most:15.2f}{curve[-1][0]:12.2f}"
                    f"{curve[-1][1]:11.2f}",
                    flush=True,
                )


def print_tables() -> None:
    """Train, look inside, and print the tables."""
    tables: dict[str, list[str]] = {name: [] for name in HEADERS}
    for seed in SEEDS:
        for layers in (1, 2):
            model = new_model(seed, layers)
            curve = trained(model, seed)
            for name, column in (("shares", 0), ("losses", 1)):
                tables[name].append(
                    f"{seed:4d}{layers:7d}" + "".join(f"{point[column]:5.2f}" for point in curve)
                )
        model.eval()
        place = place_of(model)
        for name, line in {
            "heads": heads_line(model),
            "sinks": sinks_line(model),
            "places": places_line(model, place),
            "readings": readings_line(model, place),
            "circuits": circuits_line(model),
        }.items():
            tables[name].append(f"{seed:4d}" + line)
        print(f"seed {seed} of {len(SEEDS)} done", file=sys.stderr, flush=True)
    for name, lines in tables.items():
        print(HEADERS[name], *lines, sep="\n", end="\n\n")


def main() -> None:
    """Print the tables, or how much the rate decides."""
    parser = argparse.ArgumentParser(description="Look inside six models that copy.")
    parser.add_argument("--rates", action="store_true", help="other rates and longer training")
    torch.set_num_threads(1)
    if parser.parse_args().rates:
        print_rates()
    else:
        print_tables()


if __name__ == "__main__":
    main()
